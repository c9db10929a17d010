// SPDX-License-Identifier: GPL-2.0
/*
 * The netlink protocol in the hands of people who mean no good, or may not:
 * messages that are none, callers without the capability, random bytes.
 */
#define _GNU_SOURCE
#include <grp.h>
#include <sched.h>
#include <sys/wait.h>

#include "fixture.h"

/* Messages that are none */

static void try_raw(const char *what, const void *data, size_t size, int want)
{
	struct state before = get_state();
	struct answer answer;

	cl->seq++;
	((struct nlmsghdr *)data)->nlmsg_seq = cl->seq;
	expect_equal(client_send(cl, data, size), 0, "%s: sent", what);
	if (want == NO_ANSWER) {
		expect(!client_wait(cl, 50), "%s: not even an answer", what);
	} else {
		client_read(cl, &answer);
		expect(error_is(answer.error, want), "%s: expected %d, got %d", what, want,
		       answer.error);
	}
	expect(unchanged(&before), "%s: nothing has changed", what);
}

static struct nlmsghdr *entry_message(char *data)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_ENTRY_ADD);

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "hosts");
	put_hosts4(nlh, 0x01020304, 4);
	memcpy(data, nlh, nlh->nlmsg_len);
	return (struct nlmsghdr *)data;
}

static void test_truncated(void)
{
	char data[256] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = entry_message(data);
	uint32_t size = nlh->nlmsg_len, i;

	make_sets();
	for (i = sizeof(*nlh); i < size; i += 4) {
		entry_message(data);
		nlh->nlmsg_len = i;
		try_raw("cut short", data, i, MALFORMED);
	}
	ktap_case("a message cut short after every word of it");

	entry_message(data);
	nlh->nlmsg_len = size + 64;
	try_raw("longer than it is", data, size, NO_ANSWER);
	nlh->nlmsg_len = sizeof(*nlh) - 1;
	try_raw("shorter than a header", data, size, NO_ANSWER);
	nlh->nlmsg_len = 0;
	try_raw("no length", data, size, NO_ANSWER);
	ktap_case("lengths of messages that lie");
}

static void test_lying_lengths(void)
{
	static const uint16_t lengths[] = { 0, 1, 3, 5, 21, 24, 255, 4096, 0x7fff, 0xffff };
	char data[256] __attribute__((aligned(8)));
	struct nlmsghdr *nlh;
	struct nlattr *attr;
	size_t i;

	make_sets();
	for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		nlh = entry_message(data);
		attr = mnl_nlmsg_get_payload_offset(nlh, GENL_HDRLEN);
		attr->nla_len = lengths[i];
		try_raw("name", data, nlh->nlmsg_len, MALFORMED);
		nlh = entry_message(data);
		attr = mnl_attr_next(mnl_nlmsg_get_payload_offset(nlh, GENL_HDRLEN));
		attr->nla_len = lengths[i];
		try_raw("entries", data, nlh->nlmsg_len, MALFORMED);
	}
	ktap_case("lengths of attributes that lie");

	for (i = 0; i < 256; i++) {
		if (i >= IPCUCKOO_CMD_INFO && i <= IPCUCKOO_CMD_MAX && i != IPCUCKOO_CMD_EVENT)
			continue;
		nlh = entry_message(data);
		((struct genlmsghdr *)mnl_nlmsg_get_payload(nlh))->cmd = i;
		try_raw("command", data, nlh->nlmsg_len, EOPNOTSUPP);
	}
	ktap_case("commands that are none");

	nlh = entry_message(data);
	((struct genlmsghdr *)mnl_nlmsg_get_payload(nlh))->reserved = 1;
	try_raw("reserved bits", data, nlh->nlmsg_len, EINVAL);
	nlh = entry_message(data);
	nlh->nlmsg_flags |= 0x8000;
	try_raw("unknown flags", data, nlh->nlmsg_len, EINVAL);
	ktap_case("headers with bits that mean nothing");
}

/* Who may */

static void in_child(const char *what, int (*run)(void))
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(run());
	waitpid(pid, &status, 0);
	expect(WIFEXITED(status) && !WEXITSTATUS(status), "%s: step %d failed", what,
	       WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void become_nobody(void)
{
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
		_exit(100);
}

/* Every command, with what it takes, is refused. Returns 0 or its number. */
static int all_refused(struct client *c, uint16_t flags)
{
	struct nlmsghdr *nlh;
	struct answer answer;
	uint8_t cmd;

	for (cmd = IPCUCKOO_CMD_INFO; cmd <= IPCUCKOO_CMD_MAX; cmd++) {
		/* The kernel says that one. */
		if (cmd == IPCUCKOO_CMD_EVENT)
			continue;
		nlh = client_begin(c, cmd);
		nlh->nlmsg_flags |= flags;
		if (cmd == IPCUCKOO_CMD_ENTRY_GET || cmd == IPCUCKOO_CMD_ATTACH_GET)
			nlh->nlmsg_flags |= NLM_F_DUMP;
		if (cmd != IPCUCKOO_CMD_INFO && cmd != IPCUCKOO_CMD_ATTACH_GET)
			mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "hosts");
		if (client_ask(c, &answer) != -EPERM)
			return cmd;
	}
	return 0;
}

static int nobody_runs(void)
{
	struct client *c;

	become_nobody();
	c = client_open();
	return c ? all_refused(c, 0) : 101;
}

/* A socket of root's in other hands. */
static int nobody_with_socket(void)
{
	struct client *c = client_open_or_die();

	become_nobody();
	return all_refused(c, 0);
}

static int other_user_ns(void)
{
	struct client *c;

	become_nobody();
	if (unshare(CLONE_NEWUSER))
		return 102;
	c = client_open();
	return c ? all_refused(c, 0) : 101;
}

/* Root in a namespace of one's own is as good as root. */
static int own_net_ns(void)
{
	struct client *c;

	become_nobody();
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return 102;
	c = client_open();
	if (!c)
		return 101;
	if (figure(c, NULL, IPCUCKOO_A_SETS) != 0)
		return 103;
	if (set_new(c, "mine", IPCUCKOO_TYPE_HASH_NET, IPCUCKOO_FAMILY_ANY))
		return 104;
	if (hosts_request(c, IPCUCKOO_CMD_ENTRY_ADD, "mine", 1, 1000))
		return 105;
	if (attach(c, "mine", IPCUCKOO_DIR_SRC, IPCUCKOO_VERDICT_DROP))
		return 106;
	return set_request(c, IPCUCKOO_CMD_SET_GET, "hosts") == -ENOENT ? 0 : 107;
}

static void test_permissions(void)
{
	struct state before;

	make_sets();
	before = get_state();
	in_child("nobody", nobody_runs);
	in_child("nobody with a socket of root's", nobody_with_socket);
	in_child("root of another user namespace", other_user_ns);
	in_child("root of a network namespace of one's own", own_net_ns);
	expect(unchanged(&before), "nothing has changed");
	ktap_case("who has no CAP_NET_ADMIN here may do nothing, reading included");
}

/* Random messages */

static const uint16_t attr_sizes[] = { 0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 20, 31, 32, 33, 64,
				       255, 1000 };

static void put_random_attr(struct nlmsghdr *nlh)
{
	static const char * const some_names[] = { "hosts", "nets6", "any", "x", "y", ".", "" };
	uint16_t type = 1 + rng() % (IPCUCKOO_A_MAX + (rng() % 8 ? 0 : 20)), size, i;
	uint8_t data[1024];

	switch (rng() % 4) {
	case 0:
		for (size = attr_sizes[rng() % 17], i = 0; i < size; i++)
			data[i] = rng();
		break;
	case 1:
		put_be32(data, htobe32(rng() % 5));
		size = 4;
		break;
	case 2:
		data[0] = rng() % 5;
		size = 1;
		break;
	default:
		for (size = 20 * (1 + rng() % 40), i = 0; i < size; i++)
			data[i] = rng() % 3 ? rng() % 16 : 0;
		break;
	}
	mnl_attr_put(nlh, type, size, data);
	if (rng() % 2)
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, some_names[rng() % 7]);
}

/* What makes a message of a command sound, some of it left out. */
static void put_likely_attrs(struct nlmsghdr *nlh, uint8_t cmd)
{
	static const char * const some_names[] = { "hosts", "nets6", "any", "x", "y" };
	uint8_t net[5] = { rng(), rng(), 0, 0, rng() % 40 };

	if (rng() % 16 && cmd != IPCUCKOO_CMD_INFO)
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, some_names[rng() % 5]);
	switch (cmd) {
	case IPCUCKOO_CMD_SET_NEW:
		mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, 1 + rng() % 2);
		mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, 1 + rng() % 3);
		break;
	case IPCUCKOO_CMD_ENTRY_ADD:
	case IPCUCKOO_CMD_ENTRY_DEL:
	case IPCUCKOO_CMD_SHADOW_ADD:
		if (rng() % 2)
			put_hosts4(nlh, rng() % 4096, 1 + rng() % 64);
		else
			mnl_attr_put(nlh, IPCUCKOO_A_NETS4, 5, net);
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, rng() % 2);
		break;
	case IPCUCKOO_CMD_ENTRY_TEST:
		put_hosts4(nlh, rng() % 4096, 1);
		break;
	case IPCUCKOO_CMD_ATTACH:
		mnl_attr_put_u8(nlh, IPCUCKOO_A_DIRECTION, 1 + rng() % 3);
		mnl_attr_put_u8(nlh, IPCUCKOO_A_VERDICT, 1 + rng() % 4);
		break;
	case IPCUCKOO_CMD_SHADOW_COMMIT:
	case IPCUCKOO_CMD_SHADOW_DEL:
		mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, rng() % 100);
		break;
	}
}

static void mutate(struct nlmsghdr *nlh)
{
	uint8_t *data = mnl_nlmsg_get_payload(nlh);
	uint32_t size = nlh->nlmsg_len - sizeof(*nlh);
	int n = rng() % 4;

	while (n--)
		data[rng() % size] = rng() % 2 ? rng() : rng() % 4;
	if (!(rng() % 16))
		nlh->nlmsg_len -= rng() % 32 % (size - 1);
	/* A set that grows for ever would be found by the memory limit only. */
	data[1] = 1;
}

static void drain(struct client *c)
{
	while (recv(mnl_socket_get_fd(c->nl), c->in, sizeof(c->in), MSG_DONTWAIT) > 0 ||
	       errno == ENOBUFS || errno == EINTR)
		;
}

static void test_random(unsigned long count)
{
	unsigned long good = 0, bad = 0, mute = 0, i;
	struct nlmsghdr *nlh;
	struct answer answer;
	uint8_t cmd;
	int error, n;

	make_sets();
	for (i = 0; i < count; i++) {
		cmd = 1 + rng() % IPCUCKOO_CMD_MAX;
		nlh = client_begin(cl, cmd);
		if (rng() % 4)
			put_likely_attrs(nlh, cmd);
		else
			for (n = rng() % 6; n; n--)
				put_random_attr(nlh);
		if (rng() % 2)
			mutate(nlh);
		if (!(rng() % 32))
			nlh->nlmsg_flags |= NLM_F_DUMP;
		error = client_send(cl, nlh, nlh->nlmsg_len);
		if (!error && nlh->nlmsg_flags & NLM_F_DUMP) {
			drain(cl);
			mute++;
			continue;
		}
		if (!error)
			error = client_read(cl, &answer);
		expect(error != NO_ANSWER, "message %lu has an answer", i);
		if (error)
			bad++;
		else
			good++;
		if (!(i % 5000))
			make_sets();
	}
	printf("# %lu messages: %lu done, %lu refused, %lu dumps\n", count, good, bad, mute);
	make_sets();
	expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "hosts", 1, 100), 0,
		     "sound messages are understood afterwards");
	ktap_case("%lu random and mutated messages", count);
}

int main(void)
{
	bool slow = getenv("IPCUCKOO_KERNEL") && strcmp(getenv("IPCUCKOO_KERNEL"), "stock");

	fixture_begin("netlink-hostile");
	test_truncated();
	test_lying_lengths();
	test_permissions();
	test_random(ktap_option("MESSAGES", slow ? 15000 : 50000));
	return fixture_end();
}
