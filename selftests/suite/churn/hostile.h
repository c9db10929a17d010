/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions for programs that unload the module, or destroy a network namespace, while it is in
 * use: by sets with entries that expire, packets that match, dumps that are never read to the end,
 * and files that stay open.
 */
#ifndef _HOSTILE_H
#define _HOSTILE_H

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "client.h"
#include "ktap.h"

/* Programs do less on emulated kernels that check themselves. */
static inline bool hostile_slow(void)
{
	const char *kernel = getenv("IPCUCKOO_KERNEL");

	return kernel && (strstr(kernel, "debug") || !strcmp(kernel, "kcsan"));
}

#define HOSTILE_PORT	4711

/* A socket to send packets to this machine. Each packet passes PRE_ROUTING and LOCAL_OUT of the
 * namespace in which the socket was created.
 */
static inline int hostile_packets(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(HOSTILE_PORT) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)))
		err(2, "a socket");
	return fd;
}

/* Send packets. Ignore errors: nothing listens on the port, so ICMP errors come back. */
static inline void hostile_send(int fd, unsigned int count)
{
	while (count--)
		if (send(fd, "", 1, MSG_DONTWAIT) < 0 && errno == ENETDOWN)
			break;
}

static inline int hostile_loopback_up(void)
{
	struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int error = fd < 0 || ioctl(fd, SIOCSIFFLAGS, &req) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return error;
}

/* Create a set with hosts that expire at different seconds, the last one after @seconds. */
static inline int hostile_set(struct client *c, const char *name, uint32_t hosts,
			      uint32_t seconds)
{
	struct nlmsghdr *nlh = client_begin(c, IPCUCKOO_CMD_SET_NEW);
	uint32_t *timeouts = calloc(hosts, sizeof(*timeouts)), i;
	struct answer answer;
	int error;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, IPCUCKOO_TYPE_HASH_NET);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, IPCUCKOO_FAMILY_ANY);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_OPTIONS, IPCUCKOO_O_TIMEOUT | IPCUCKOO_O_COUNTERS);
	error = client_ask(c, &answer);
	for (i = 0; i < hosts; i++)
		put_be32((uint8_t *)&timeouts[i], 1 + i % seconds);
	nlh = client_begin(c, IPCUCKOO_CMD_ENTRY_ADD);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	put_hosts4(nlh, 0x7f000001, hosts);
	mnl_attr_put(nlh, IPCUCKOO_A_TIMEOUTS, hosts * sizeof(*timeouts), timeouts);
	free(timeouts);
	return error ? error : client_ask(c, &answer);
}

/* Count packets to this machine, of device @dev or of all if it is NULL. */
static inline int hostile_attach(struct client *c, const char *name, const char *dev,
				 uint8_t place)
{
	struct nlmsghdr *nlh = client_begin(c, IPCUCKOO_CMD_ATTACH);
	struct answer answer;

	put_rule(nlh, name, IPCUCKOO_DIR_BOTH, IPCUCKOO_VERDICT_COUNT);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_PLACE, place);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_LOOPBACK | IPCUCKOO_F_EXIST);
	if (dev)
		mnl_attr_put_strz(nlh, IPCUCKOO_A_DEV, dev);
	return client_ask(c, &answer);
}

/* Start a dump, read one datagram, and leave the rest unread. */
static inline void hostile_half_dump(struct client *c, uint8_t cmd, const char *name)
{
	struct nlmsghdr *nlh = client_begin(c, cmd);

	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	if (name)
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	if (!client_send(c, nlh, nlh->nlmsg_len) && client_wait(c, 1000))
		(void)!recv(mnl_socket_get_fd(c->nl), c->in, c->room, MSG_DONTWAIT);
}

/* The number of references to the module, or -1 if it is not loaded. */
static inline int hostile_references(void)
{
	FILE *f = fopen("/sys/module/" IPCUCKOO_FAMILY_NAME "/refcnt", "re");
	int count = -1;

	if (f && fscanf(f, "%d", &count) != 1)
		count = -1;
	if (f)
		fclose(f);
	return count;
}

/* A case, the last one: detaches and deletes everything, closes @c, and unloads the module. */
static inline void hostile_end(struct client *c)
{
	everything(c, IPCUCKOO_CMD_DETACH);
	everything(c, IPCUCKOO_CMD_SET_DEL);
	expect(wait_until(figure(c, NULL, IPCUCKOO_A_MEMORY) == 0, 10), "all memory is freed");
	client_close(c);
	expect(wait_until(!module_unload(), 20), "the module can be unloaded");
	ktap_case("all memory was freed, and the module can be unloaded");
}

#endif /* _HOSTILE_H */
