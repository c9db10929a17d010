/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A netlink client for tests: it can send any request, invalid ones included, and keeps
 * everything that the kernel answers.
 */
#ifndef _CLIENT_H
#define _CLIENT_H

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ipcuckoo.h"

#ifndef NETLINK_GET_STRICT_CHK
#define NETLINK_GET_STRICT_CHK	12
#endif

#define CLIENT_BUFFER	(128 << 10)

/* How many IPv4 hosts a request may have here: an attribute of netlink is shorter than 64 KiB. */
#define HOSTS4_MAX	16000

/* client_read() got no answer. The value is not the negative of any errno. */
#define NO_ANSWER	(-9999)

/* answer.at and answer.missing: no attribute. Not 0, which is the number of an attribute. */
#define NO_ATTR		(-1)

/**
 * struct client - a socket and its buffers
 * @nl:		the socket, of libmnl
 * @family:	number of the generic netlink family
 * @seq:	sequence number of the last request
 * @room:	size of the buffer for one datagram; the kernel fills the messages of a dump up
 *		to the largest size that the socket has ever received with
 * @out:	the request
 * @in:		the answer
 */
struct client {
	struct mnl_socket *nl;
	uint16_t family;
	uint32_t seq;
	size_t room;
	char out[CLIENT_BUFFER] __attribute__((aligned(8)));
	char in[CLIENT_BUFFER] __attribute__((aligned(8)));
};

/**
 * struct answer - the kernel's answer to a request
 * @error:	0 or a negative errno
 * @message:	sentence of the extended acknowledgement
 * @at:		type of the attribute at fault, or NO_ATTR
 * @missing:	type of the attribute that is missing, or NO_ATTR
 * @missing_in:	the nest of the request in which it is missing, or NULL
 * @has_cookie:	the extended acknowledgement has a cookie
 * @cookie:	the index in the cookie
 * @attr:	attributes of the reply, in the client's buffer
 * @interrupted: NLM_F_DUMP_INTR was set in a message of the dump
 */
struct answer {
	int error;
	char message[512];
	int at;
	int missing;
	const struct nlattr *missing_in;
	bool has_cookie;
	uint32_t cookie;
	const struct nlattr *attr[IPCUCKOO_A_MAX + 1];
	bool interrupted;
};

static inline struct nlmsghdr *client_begin_as(struct client *c, uint16_t type,
					       uint8_t cmd, uint16_t flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(c->out);
	struct genlmsghdr *genl;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = ++c->seq;
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = cmd;
	genl->version = IPCUCKOO_FAMILY_VERSION;
	return nlh;
}

static inline struct nlmsghdr *client_begin(struct client *c, uint8_t cmd)
{
	return client_begin_as(c, c->family, cmd, NLM_F_ACK);
}

static inline void client_read_ack(struct client *c, const struct nlmsghdr *nlh,
				   struct answer *answer)
{
	const struct nlmsgerr *ack = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr, *asked;
	size_t skip = sizeof(*ack);
	uint32_t offset;

	answer->error = ack->error;
	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		skip += MNL_ALIGN(ack->msg.nlmsg_len) - sizeof(ack->msg);
	mnl_attr_for_each(attr, nlh, skip) {
		switch (mnl_attr_get_type(attr)) {
		case NLMSGERR_ATTR_MSG:
			snprintf(answer->message, sizeof(answer->message), "%s",
				 mnl_attr_get_str(attr));
			break;
		case NLMSGERR_ATTR_OFFS:
			offset = mnl_attr_get_u32(attr);
			mnl_attr_for_each(asked, (struct nlmsghdr *)c->out, GENL_HDRLEN)
				if ((char *)asked == c->out + offset)
					answer->at = mnl_attr_get_type(asked);
			break;
		case NLMSGERR_ATTR_MISS_TYPE:
			answer->missing = mnl_attr_get_u32(attr);
			break;
		case NLMSGERR_ATTR_MISS_NEST:
			answer->missing_in = (void *)(c->out + mnl_attr_get_u32(attr));
			break;
		case NLMSGERR_ATTR_COOKIE:
			answer->has_cookie = true;
			memcpy(&answer->cookie, mnl_attr_get_payload(attr),
			       sizeof(answer->cookie));
			break;
		}
	}
}

static inline void client_read_attrs(const struct nlmsghdr *nlh,
				     struct answer *answer)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, GENL_HDRLEN)
		if (mnl_attr_get_type(attr) <= IPCUCKOO_A_MAX)
			answer->attr[mnl_attr_get_type(attr)] = attr;
}

static inline bool client_wait(struct client *c, int ms)
{
	struct pollfd pfd = { mnl_socket_get_fd(c->nl), POLLIN, 0 };

	return poll(&pfd, 1, ms) == 1;
}

/* Read until the acknowledgement. If there is a reply, it comes before the acknowledgement. */
static inline int client_read(struct client *c, struct answer *answer)
{
	const struct nlmsghdr *nlh;
	size_t room = sizeof(c->in);
	char *to = c->in;
	ssize_t size;
	int left;

	memset(answer, 0, sizeof(*answer));
	answer->error = NO_ANSWER;
	answer->at = NO_ATTR;
	answer->missing = NO_ATTR;
	while (room > c->room && client_wait(c, 20000)) {
		size = recv(mnl_socket_get_fd(c->nl), to, c->room, 0);
		if (size < 0) {
			answer->error = -errno;
			break;
		}
		left = size;
		for (nlh = (void *)to; mnl_nlmsg_ok(nlh, left);
		     nlh = mnl_nlmsg_next(nlh, &left)) {
			if (nlh->nlmsg_seq != c->seq)
				continue;
			if (nlh->nlmsg_type == NLMSG_ERROR) {
				client_read_ack(c, nlh, answer);
				return answer->error;
			}
			client_read_attrs(nlh, answer);
		}
		to += MNL_ALIGN(size);
		room -= MNL_ALIGN(size);
	}
	return answer->error;
}

static inline int client_send(struct client *c, const void *data, size_t size)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	return sendto(mnl_socket_get_fd(c->nl), data, size, 0,
		      (struct sockaddr *)&kernel, sizeof(kernel)) < 0 ? -errno : 0;
}

/* Read a dump to its end, and forget what it has. Since Linux 6.9 the end can be in one packet with the
 * last messages. Return: whether the dump has succeeded.
 */
static inline bool client_skip_dump(struct client *c)
{
	struct nlmsghdr *nlh;
	ssize_t size;
	int left;

	while ((size = recv(mnl_socket_get_fd(c->nl), c->in, c->room, 0)) > 0) {
		left = size;
		for (nlh = (void *)c->in; mnl_nlmsg_ok(nlh, left);
		     nlh = mnl_nlmsg_next(nlh, &left))
			if (nlh->nlmsg_type == NLMSG_DONE || nlh->nlmsg_type == NLMSG_ERROR)
				return nlh->nlmsg_type == NLMSG_DONE;
	}
	return false;
}

/* Send the request once, and read its answer. */
static inline int client_ask_once(struct client *c, struct answer *answer)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)c->out;
	int error = client_send(c, nlh, nlh->nlmsg_len);

	return error ? error : client_read(c, answer);
}

/* Send the request and read its answer; as long as the kernel says EAGAIN, send it again. Each answer
 * may take the quarter of a second for which a request waits for others.
 */
static inline int client_ask(struct client *c, struct answer *answer)
{
	int left = 1000, error;

	do
		error = client_ask_once(c, answer);
	while (error == -EAGAIN && left-- && !usleep(10000));
	return error;
}

static inline int client_resolve(struct client *c)
{
	struct nlmsghdr *nlh = client_begin_as(c, GENL_ID_CTRL, CTRL_CMD_GETFAMILY,
					       NLM_F_ACK);
	struct answer answer;
	int error;

	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, IPCUCKOO_FAMILY_NAME);
	error = client_ask(c, &answer);
	if (!error)
		c->family = mnl_attr_get_u16(answer.attr[CTRL_ATTR_FAMILY_ID]);
	return error;
}

/* Returns NULL, with errno set, if the kernel does not know the family. */
static inline struct client *client_open_room(size_t room)
{
	struct client *c = calloc(1, sizeof(*c));
	int on = 1, error;

	c->room = room;
	c->nl = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!c->nl || mnl_socket_bind(c->nl, 0, MNL_SOCKET_AUTOPID))
		err(2, "netlink");
	mnl_socket_setsockopt(c->nl, NETLINK_EXT_ACK, &on, sizeof(on));
	mnl_socket_setsockopt(c->nl, NETLINK_CAP_ACK, &on, sizeof(on));
	mnl_socket_setsockopt(c->nl, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
	error = client_resolve(c);
	if (!error)
		return c;
	mnl_socket_close(c->nl);
	free(c);
	errno = -error;
	return NULL;
}

static inline struct client *client_open(void)
{
	return client_open_room(CLIENT_BUFFER / 2 - 1);
}

static inline void client_close(struct client *c)
{
	mnl_socket_close(c->nl);
	free(c);
}

static inline struct client *client_open_or_die(void)
{
	struct client *c = client_open();

	if (!c)
		err(2, "the family %s", IPCUCKOO_FAMILY_NAME);
	return c;
}

static inline uint64_t answer_number(const struct answer *answer, int type)
{
	const struct nlattr *attr = answer->attr[type];

	if (!attr)
		return UINT64_MAX;
	switch (mnl_attr_get_payload_len(attr)) {
	case 1:
		return mnl_attr_get_u8(attr);
	case 4:
		return mnl_attr_get_u32(attr);
	default:
		return mnl_attr_get_u64(attr);
	}
}

/* Entries */

static inline void put_be32(uint8_t *to, uint32_t value)
{
	to[0] = value >> 24;
	to[1] = value >> 16;
	to[2] = value >> 8;
	to[3] = value;
}

/* Append @count consecutive hosts, HOSTS4_MAX at most; @first is the first one. */
static inline void put_hosts4(struct nlmsghdr *nlh, uint32_t first, uint32_t count)
{
	uint8_t data[4 * HOSTS4_MAX];
	uint32_t i;

	if (count > HOSTS4_MAX)
		errx(2, "%u hosts are too many for a request", count);
	for (i = 0; i < count; i++)
		put_be32(data + 4 * i, first + i);
	mnl_attr_put(nlh, IPCUCKOO_A_HOSTS4, 4 * count, data);
}

static inline void put_net4(struct nlmsghdr *nlh, uint32_t addr, uint8_t len)
{
	uint8_t data[IPCUCKOO_NET4_SIZE];

	put_be32(data, addr);
	data[4] = len;
	mnl_attr_put(nlh, IPCUCKOO_A_NETS4, sizeof(data), data);
}

/* Requests that most tests need. */

/* Create a set with the extensions @options: a mask of IPCUCKOO_O_... */
static inline int set_new_options(struct client *c, const char *name, uint8_t type,
				  uint8_t family, uint32_t options)
{
	struct nlmsghdr *nlh = client_begin(c, IPCUCKOO_CMD_SET_NEW);
	struct answer answer;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, type);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, family);
	if (options)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_OPTIONS, options);
	return client_ask(c, &answer);
}

static inline int set_new(struct client *c, const char *name, uint8_t type,
			  uint8_t family)
{
	return set_new_options(c, name, type, family, 0);
}

static inline int set_request(struct client *c, uint8_t cmd, const char *name)
{
	struct nlmsghdr *nlh = client_begin(c, cmd);
	struct answer answer;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	return client_ask(c, &answer);
}

/* SET_RENAME or SET_SWAP */
static inline int two_names(struct client *c, uint8_t cmd, const char *name, const char *to)
{
	struct nlmsghdr *nlh = client_begin(c, cmd);
	struct answer answer;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET_TO, to);
	return client_ask(c, &answer);
}

static inline int everything(struct client *c, uint8_t cmd)
{
	struct nlmsghdr *nlh = client_begin(c, cmd);
	struct answer answer;

	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_ALL);
	return client_ask(c, &answer);
}

/* ENTRY_ADD or ENTRY_DEL of consecutive hosts. */
static inline int hosts_request(struct client *c, uint8_t cmd, const char *name,
				uint32_t first, uint32_t count)
{
	struct nlmsghdr *nlh = client_begin(c, cmd);
	struct answer answer;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	put_hosts4(nlh, first, count);
	return client_ask(c, &answer);
}

/* Append the attributes that every ATTACH must have. */
static inline void put_rule(struct nlmsghdr *nlh, const char *name, uint8_t dir, uint8_t verdict)
{
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_DIRECTION, dir);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_VERDICT, verdict);
}

static inline int attach(struct client *c, const char *name, uint8_t dir,
			 uint8_t verdict)
{
	struct nlmsghdr *nlh = client_begin(c, IPCUCKOO_CMD_ATTACH);
	struct answer answer;

	put_rule(nlh, name, dir, verdict);
	return client_ask(c, &answer);
}

/* The value of an attribute: of the set @name, or of the namespace (INFO) if @name is NULL. */
static inline uint64_t figure(struct client *c, const char *name, int type)
{
	struct nlmsghdr *nlh = client_begin(c, name ? IPCUCKOO_CMD_SET_GET :
						      IPCUCKOO_CMD_INFO);
	struct answer answer;

	if (name)
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	return client_ask(c, &answer) ? UINT64_MAX : answer_number(&answer, type);
}

static inline uint32_t shadow_new(struct client *c, const char *name,
				  uint32_t flags)
{
	struct nlmsghdr *nlh = client_begin(c, IPCUCKOO_CMD_SHADOW_NEW);
	struct answer answer;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	if (flags)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, flags);
	return client_ask(c, &answer) ? 0 : answer_number(&answer, IPCUCKOO_A_SHADOW);
}

/* Add consecutive hosts to a shadow, with as many requests as that takes. Return: 0, or the error of
 * the first request that failed.
 */
static inline int shadow_hosts(struct client *c, uint32_t shadow, uint32_t first,
			       uint32_t count)
{
	struct nlmsghdr *nlh;
	struct answer answer;
	uint32_t n;
	int error;

	do {
		n = count < HOSTS4_MAX ? count : HOSTS4_MAX;
		nlh = client_begin(c, IPCUCKOO_CMD_SHADOW_ADD);
		mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, shadow);
		put_hosts4(nlh, first, n);
		error = client_ask(c, &answer);
		first += n;
		count -= n;
	} while (!error && count);
	return error;
}

static inline int shadow_request(struct client *c, uint8_t cmd, uint32_t shadow,
				 uint32_t flags)
{
	struct nlmsghdr *nlh = client_begin(c, cmd);
	struct answer answer;

	mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, shadow);
	if (flags)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, flags);
	return client_ask(c, &answer);
}

/* The module */

static inline void module_load(const char *parameters)
{
	const char *path = getenv("IPCUCKOO_KO");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0 || syscall(SYS_finit_module, fd, parameters, 0))
		err(2, "cannot load the module %s", path ? path : "(IPCUCKOO_KO is not set)");
	close(fd);
}

static inline int module_unload(void)
{
	return syscall(SYS_delete_module, IPCUCKOO_FAMILY_NAME, O_NONBLOCK) ? -errno : 0;
}

#define MODULE_AREAS	"/proc/vmallocinfo"

/* Can module_areas() be called? A kernel without procfs does not tell. */
static inline bool module_areas_known(void)
{
	return !access(MODULE_AREAS, F_OK);
}

/* How many areas of vmalloc memory the module has, in all namespaces. */
static inline unsigned int module_areas(void)
{
	unsigned int count = 0, lines = 0;
	FILE *f = fopen(MODULE_AREAS, "re");
	char line[512];

	if (!f)
		err(2, MODULE_AREAS);
	for (; fgets(line, sizeof(line), f); lines++)
		count += !!strstr(line, "[" IPCUCKOO_FAMILY_NAME "]");
	if (ferror(f) || !lines)
		errx(2, MODULE_AREAS " cannot be read");
	fclose(f);
	return count;
}

/* Wait until @condition holds. The time limit is ten times @seconds, because other programs may
 * keep the machine busy.
 */
#define wait_until(condition, seconds) ({				\
	int wait_left = (seconds) * 500;				\
	while (!(condition) && wait_left--)				\
		usleep(20000);						\
	wait_left >= 0;							\
})

#endif /* _CLIENT_H */
