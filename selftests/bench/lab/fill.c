// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads hosts from stdin, one a line, and adds them to an existing set of ipset or nftables; for
 * ipset prefixes, too:
 *
 *   fill ipset 4|6 SET
 *   fill nft 4|6 TABLE SET [netdev]
 *
 * The TABLE is one of the addresses' family, or of netdev.
 *
 * Sends the same requests as ipset and nft, but parses lines faster: with these programs, ten
 * million lines would take longer than all measurements. The resulting sets are the same.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/ipset/ip_set.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

/* The length of an attribute has 16 bits: a list has room for so many hosts, of both families. */
#define HOSTS		1000
#define MESSAGE		(64 * 1024)

/* @len: length of a prefix, 0 for a host */
struct item {
	unsigned char addr[16];
	uint8_t len;
};

static struct mnl_socket *nl;
static char buffer[MESSAGE + 4096];
static bool v6;
static uint32_t seq;

static void die(const char *what)
{
	fprintf(stderr, "fill: %s: %s\n", what, strerror(errno));
	exit(1);
}

static size_t address_size(void)
{
	return v6 ? 16 : 4;
}

static struct nlmsghdr *message(void *at, uint16_t type, uint16_t flags, uint8_t family,
				uint16_t res_id)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(at);
	struct nfgenmsg *nfg;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = ++seq;
	nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));
	nfg->nfgen_family = family;
	nfg->version = NFNETLINK_V0;
	nfg->res_id = htons(res_id);
	return nlh;
}

/* Send a batch, and wait for its acknowledgement. */
static void send_lot(const void *data, size_t size)
{
	static char answer[MESSAGE];
	const struct nlmsghdr *nlh = (const void *)answer;
	const struct nlmsgerr *err;
	ssize_t got;

	if (mnl_socket_sendto(nl, data, size) < 0)
		die("cannot send");
	got = mnl_socket_recvfrom(nl, answer, sizeof(answer));
	if (got < 0)
		die("cannot receive");
	if (!mnl_nlmsg_ok(nlh, got) || nlh->nlmsg_type != NLMSG_ERROR) {
		errno = EPROTO;
		die("strange answer");
	}
	err = mnl_nlmsg_get_payload(nlh);
	if (err->error) {
		errno = -err->error;
		die("refused");
	}
}

static void ipset_lot(char **argv, const struct item *items, unsigned int count)
{
	struct nlmsghdr *nlh = message(buffer, NFNL_SUBSYS_IPSET << 8 | IPSET_CMD_ADD, NLM_F_ACK,
				       v6 ? NFPROTO_IPV6 : NFPROTO_IPV4, 0);
	struct nlattr *adt, *data, *ip;
	unsigned int i;

	mnl_attr_put_u8(nlh, IPSET_ATTR_PROTOCOL, IPSET_PROTOCOL);
	mnl_attr_put_strz(nlh, IPSET_ATTR_SETNAME, argv[0]);
	mnl_attr_put_u32(nlh, IPSET_ATTR_LINENO, 0);
	adt = mnl_attr_nest_start(nlh, IPSET_ATTR_ADT);
	for (i = 0; i < count; i++) {
		data = mnl_attr_nest_start(nlh, IPSET_ATTR_DATA);
		ip = mnl_attr_nest_start(nlh, IPSET_ATTR_IP);
		mnl_attr_put(nlh, NLA_F_NET_BYTEORDER |
			     (v6 ? IPSET_ATTR_IPADDR_IPV6 : IPSET_ATTR_IPADDR_IPV4),
			     address_size(), items[i].addr);
		mnl_attr_nest_end(nlh, ip);
		if (items[i].len)
			mnl_attr_put_u8(nlh, IPSET_ATTR_CIDR, items[i].len);
		mnl_attr_put_u32(nlh, NLA_F_NET_BYTEORDER | IPSET_ATTR_LINENO, htonl(i + 1));
		mnl_attr_nest_end(nlh, data);
	}
	mnl_attr_nest_end(nlh, adt);
	send_lot(nlh, nlh->nlmsg_len);
}

static void nft_lot(char **argv, const struct item *items, unsigned int count)
{
	char *at = buffer;
	struct nlmsghdr *nlh;
	struct nlattr *list, *element, *key;
	unsigned int i;

	nlh = message(at, NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
	at += nlh->nlmsg_len;
	nlh = message(at, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWSETELEM,
		      NLM_F_CREATE | NLM_F_ACK,
		      argv[2] ? NFPROTO_NETDEV : v6 ? NFPROTO_IPV6 : NFPROTO_IPV4, 0);
	mnl_attr_put_strz(nlh, NFTA_SET_ELEM_LIST_TABLE, argv[0]);
	mnl_attr_put_strz(nlh, NFTA_SET_ELEM_LIST_SET, argv[1]);
	list = mnl_attr_nest_start(nlh, NFTA_SET_ELEM_LIST_ELEMENTS);
	for (i = 0; i < count; i++) {
		element = mnl_attr_nest_start(nlh, NFTA_LIST_ELEM);
		key = mnl_attr_nest_start(nlh, NFTA_SET_ELEM_KEY);
		mnl_attr_put(nlh, NFTA_DATA_VALUE, address_size(), items[i].addr);
		mnl_attr_nest_end(nlh, key);
		mnl_attr_nest_end(nlh, element);
	}
	mnl_attr_nest_end(nlh, list);
	at += nlh->nlmsg_len;
	nlh = message(at, NFNL_MSG_BATCH_END, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
	at += nlh->nlmsg_len;
	send_lot(buffer, at - buffer);
}

static void parse(char *line, bool prefixes, struct item *item)
{
	char *slash = strchr(line, '/');

	if (slash)
		*slash = 0;
	item->len = slash ? atoi(slash + 1) : 0;
	if (inet_pton(v6 ? AF_INET6 : AF_INET, line, item->addr) != 1 || (slash && !prefixes)) {
		errno = EINVAL;
		die(line);
	}
}

static unsigned int read_lot(bool prefixes, struct item *items)
{
	unsigned int count = 0;
	char line[64];

	while (count < HOSTS && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		parse(line, prefixes, &items[count++]);
	}
	return count;
}

int main(int argc, char **argv)
{
	void (*lot)(char **argv, const struct item *items, unsigned int count) = NULL;
	static struct item items[HOSTS];
	unsigned int count;
	int size = 2 * MESSAGE;

	if (argc == 4 && !strcmp(argv[1], "ipset"))
		lot = ipset_lot;
	else if ((argc == 5 || (argc == 6 && !strcmp(argv[5], "netdev"))) &&
		 !strcmp(argv[1], "nft"))
		lot = nft_lot;
	if (!lot) {
		fprintf(stderr, "usage: fill ipset 4|6 SET | fill nft 4|6 TABLE SET [netdev]\n");
		return 2;
	}
	v6 = !strcmp(argv[2], "6");
	nl = mnl_socket_open(NETLINK_NETFILTER);
	if (!nl || mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0)
		die("no netlink");
	setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	while ((count = read_lot(lot == ipset_lot, items)))
		lot(argv + 3, items, count);
	if (ferror(stdin))
		die("cannot read");
	return 0;
}
