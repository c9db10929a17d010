// SPDX-License-Identifier: GPL-2.0
/*
 * Tests extensions: options of sets, timeouts, counters, comments and skbinfo that are dumped as
 * they were sent, exceptions, and invalid requests about them.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>

#include "fixture.h"

#ifndef SO_RCVMARK
#define SO_RCVMARK	75
#endif

#define ALL_OPTIONS	(IPCUCKOO_O_TIMEOUT | IPCUCKOO_O_COUNTERS | \
			 IPCUCKOO_O_COMMENT | IPCUCKOO_O_SKBINFO)

static int new_set(const char *name, uint8_t type, uint8_t family, uint32_t options,
		   uint32_t timeout, struct answer *answer)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_SET_NEW);

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, type);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, family);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_OPTIONS, options);
	if (timeout)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_TIMEOUT, timeout);
	return client_ask(cl, answer);
}

static void remake(const char *name, uint8_t type, uint32_t options, uint32_t timeout)
{
	struct answer answer;

	set_request(cl, IPCUCKOO_CMD_SET_DEL, name);
	if (new_set(name, type, IPCUCKOO_FAMILY_INET, options, timeout, &answer))
		errx(1, "cannot create a set: %s", answer.message);
}

/* ENTRY_ADD, or SHADOW_ADD if @shadow is not 0, with up to four attributes. */
static int add(struct answer *answer, const char *set, uint32_t shadow, uint32_t flags,
	       const struct piece *pieces, int count)
{
	struct nlmsghdr *nlh = client_begin(cl, shadow ? IPCUCKOO_CMD_SHADOW_ADD :
						IPCUCKOO_CMD_ENTRY_ADD);

	if (shadow)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, shadow);
	else
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, set);
	if (flags)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, flags);
	for (; count--; pieces++)
		mnl_attr_put(nlh, pieces->type, pieces->size, pieces->data);
	return client_ask(cl, answer);
}

#define PIECES(...)	((const struct piece[]){ __VA_ARGS__ }), \
			sizeof((const struct piece[]){ __VA_ARGS__ }) / sizeof(struct piece)

/* The contents of a dump. */
struct dumped {
	uint32_t entries;
	uint32_t host[8];
	uint32_t timeout[8];
	uint64_t packets[8];
	uint64_t bytes[8];
	uint8_t info[8][IPCUCKOO_SKBINFO_SIZE];
	char comment[8][IPCUCKOO_COMMENT_MAX + 1];
	uint8_t nomatch[8];
	uint32_t nets;
};

static uint64_t get_be(const uint8_t *p, int bytes)
{
	uint64_t n = 0;

	while (bytes--)
		n = n << 8 | *p++;
	return n;
}

static const uint8_t *payload(const struct answer *answer, int type, size_t size)
{
	const struct nlattr *attr = answer->attr[type];

	if (!attr)
		return NULL;
	expect_equal(mnl_attr_get_payload_len(attr), size, "size of attribute %d", type);
	return mnl_attr_get_payload(attr);
}

static void read_dumped(const struct answer *a, struct dumped *d)
{
	const struct nlattr *attr = a->attr[IPCUCKOO_A_HOSTS4];
	uint32_t n = attr ? mnl_attr_get_payload_len(attr) / 4 : 0, i;
	const uint8_t *hosts = attr ? mnl_attr_get_payload(attr) : NULL, *p;
	const char *comment;

	d->nets += a->attr[IPCUCKOO_A_NETS4] ?
		   mnl_attr_get_payload_len(a->attr[IPCUCKOO_A_NETS4]) / 5 : 0;
	if (d->nets && a->attr[IPCUCKOO_A_NETS4]) {
		p = payload(a, IPCUCKOO_A_NOMATCHES, d->nets);
		for (i = 0; p && i < d->nets && i < 8; i++)
			d->nomatch[i] = p[i];
	}
	comment = a->attr[IPCUCKOO_A_COMMENTS] ?
		  mnl_attr_get_payload(a->attr[IPCUCKOO_A_COMMENTS]) : NULL;
	for (i = 0; i < n; i++) {
		uint32_t at = d->entries++;

		if (at >= 8)
			continue;
		d->host[at] = get_be(hosts + 4 * i, 4);
		if ((p = payload(a, IPCUCKOO_A_TIMEOUTS, 4 * n)))
			d->timeout[at] = get_be(p + 4 * i, 4);
		if ((p = payload(a, IPCUCKOO_A_COUNTERS, 16 * n))) {
			d->packets[at] = get_be(p + 16 * i, 8);
			d->bytes[at] = get_be(p + 16 * i + 8, 8);
		}
		if ((p = payload(a, IPCUCKOO_A_SKBINFOS, 16 * n)))
			memcpy(d->info[at], p + 16 * i, 16);
		if (comment) {
			strcpy(d->comment[at], comment);
			comment += strlen(comment) + 1;
		}
	}
}

static struct dumped dump(const char *set)
{
	struct nlmsghdr *nlh = client_begin_as(cl, cl->family, IPCUCKOO_CMD_ENTRY_GET,
					       NLM_F_DUMP);
	struct dumped d = { 0 };
	struct answer answer;
	bool done = false;
	ssize_t size;
	int left;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, set);
	client_send(cl, nlh, nlh->nlmsg_len);
	while (!done && client_wait(cl, 20000)) {
		size = recv(mnl_socket_get_fd(cl->nl), cl->in, cl->room, 0);
		if (size < 0)
			err(1, "dump");
		left = size;
		for (nlh = (void *)cl->in; mnl_nlmsg_ok(nlh, left);
		     nlh = mnl_nlmsg_next(nlh, &left)) {
			if (nlh->nlmsg_type == NLMSG_DONE || nlh->nlmsg_type == NLMSG_ERROR) {
				done = true;
				break;
			}
			memset(&answer, 0, sizeof(answer));
			client_read_attrs(nlh, &answer);
			read_dumped(&answer, &d);
		}
	}
	expect(done, "the dump ends");
	return d;
}

static void test_options(void)
{
	struct answer answer;

	remake("t", IPCUCKOO_TYPE_HASH_IP, ALL_OPTIONS, 600);
	expect_equal(figure(cl, "t", IPCUCKOO_A_OPTIONS), ALL_OPTIONS, "OPTIONS of the set");
	expect_equal(figure(cl, "t", IPCUCKOO_A_TIMEOUT), 600, "TIMEOUT of the set");
	expect_equal(new_set("t", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET, ALL_OPTIONS,
			     601, &answer), -EEXIST, "another timeout");
	expect_equal(new_set("u", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET,
			     IPCUCKOO_O_COUNTERS, 5, &answer), -EINVAL,
		     "a timeout without the option");
	expect_equal(answer.at, IPCUCKOO_A_TIMEOUT, "the attribute at fault");
	expect_equal(new_set("u", IPCUCKOO_TYPE_FILTER_IP, IPCUCKOO_FAMILY_INET,
			     IPCUCKOO_O_COUNTERS, 0, &answer), -EOPNOTSUPP,
		     "a filter has no extensions");
	new_set("u", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET, 1 << 20, 0, &answer);
	expect(error_is(answer.error, MALFORMED), "no such option: %d", answer.error);
	new_set("u", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET, IPCUCKOO_O_TIMEOUT,
		IPCUCKOO_TIMEOUT_MAX + 1u, &answer);
	expect(error_is(answer.error, MALFORMED), "too long a timeout: %d", answer.error);
	ktap_case("sets are created with options");
}

static void test_values(void)
{
	static const char info[] = "\0\0\0\xff\0\0\0\1\0\0\0\5\0\7\0\0"
				   "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
	static const char counters[] = "\0\0\0\0\0\0\0\3\0\0\0\0\0\0\1\0"
				       "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
	struct answer answer;
	struct dumped d;
	int a, b;

	remake("t", IPCUCKOO_TYPE_HASH_IP, ALL_OPTIONS, 600);
	add(&answer, "t", 0, 0, PIECES(
		RAW(HOSTS4, "\1\1\1\1\2\2\2\2"), RAW(TIMEOUTS, "\0\0\0\0\0\0\0\x64"),
		{ IPCUCKOO_A_COUNTERS, 32, counters }, { IPCUCKOO_A_SKBINFOS, 32, info },
		RAW(COMMENTS, "first\0\0")));
	expect_changed(&answer, "two entries with all extensions", 2, 0);
	add(&answer, "t", 0, 0, PIECES(RAW(HOSTS4, "\3\3\3\3")));
	expect_changed(&answer, "an entry without extensions", 1, 0);
	d = dump("t");
	expect_equal(d.entries, 3, "entries in the dump");
	for (a = 0; a < 3 && d.host[a] != 0x01010101; a++)
		;
	expect_equal(d.timeout[a], 0, "1.1.1.1 stays");
	expect_equal(d.packets[a], 3, "its packets");
	expect_equal(d.bytes[a], 256, "its bytes");
	expect(!memcmp(d.info[a], info, 16), "its skbinfo");
	expect(!strcmp(d.comment[a], "first"), "its comment: %s", d.comment[a]);
	for (b = 0; b < 3 && d.host[b] != 0x02020202; b++)
		;
	expect(d.timeout[b] >= 98 && d.timeout[b] <= 100, "timeout of 2.2.2.2: %u", d.timeout[b]);
	expect(!d.comment[b][0], "its comment: %s", d.comment[b]);
	for (b = 0; b < 3 && d.host[b] != 0x03030303; b++)
		;
	expect(d.timeout[b] >= 598 && d.timeout[b] <= 600, "timeout of 3.3.3.3: %u",
	       d.timeout[b]);
	ktap_case("a dump has the extensions as they were sent");

	add(&answer, "t", 0, 0, PIECES(RAW(HOSTS4, "\1\1\1\1")));
	expect_equal(answer.error, -EEXIST, "the same entries");
	add(&answer, "t", 0, IPCUCKOO_F_EXIST, PIECES(
		RAW(HOSTS4, "\1\1\1\1\4\4\4\4\4\4\4\4"),
		RAW(TIMEOUTS, "\0\0\0\x32\0\0\0\x32\0\0\0\x33"),
		RAW(COMMENTS, "second\0new\0newer\0")));
	expect_changed(&answer, "the same entries with EXIST, one of them twice", 1, 2);
	d = dump("t");
	for (a = 0; a < 4 && d.host[a] != 0x01010101; a++)
		;
	expect(d.timeout[a] >= 48 && d.timeout[a] <= 50, "timeout of 1.1.1.1: %u", d.timeout[a]);
	expect_equal(d.packets[a], 3, "its packet counter is kept");
	expect(!strcmp(d.comment[a], "second"), "its comment: %s", d.comment[a]);
	for (a = 0; a < 4 && d.host[a] != 0x04040404; a++)
		;
	expect(!strcmp(d.comment[a], "newer"), "the last comment stays: %s", d.comment[a]);
	ktap_case("EXIST replaces extensions, except counters that are not given");
}

/* Test the counters of an entry, added directly, or through a shadow that is committed. */
static void test_counters(void)
{
	static const char keep_packets[] = "\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\4";
	static const char keep_bytes[] = "\0\0\0\0\0\0\0\5\xff\xff\xff\xff\xff\xff\xff\xff";
	const struct piece host = RAW(HOSTS4, "\1\1\1\1");
	struct answer answer;
	struct dumped d;
	uint32_t shadow;
	int i;

	for (i = 0; i < 2; i++) {
		remake("t", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_O_COUNTERS, 0);
		shadow = 0;
		add(&answer, "t", 0, 0, PIECES(host, { IPCUCKOO_A_COUNTERS, 16, keep_packets }));
		expect_changed(&answer, "only the byte counter", 1, 0);
		d = dump("t");
		expect_equal(d.packets[0], 0, "the packet counter begins at 0");
		expect_equal(d.bytes[0], 4, "the byte counter is set");
		if (i)
			shadow = shadow_new(cl, "t", IPCUCKOO_F_APPEND);
		add(&answer, "t", shadow, shadow ? 0 : IPCUCKOO_F_EXIST,
		    PIECES(host, { IPCUCKOO_A_COUNTERS, 16, keep_bytes }));
		expect_changed(&answer, "only the packet counter, EXIST", 0, 1);
		if (shadow)
			shadow_request(cl, IPCUCKOO_CMD_SHADOW_COMMIT, shadow, 0);
		d = dump("t");
		expect_equal(d.packets[0], 5, "the packet counter is set");
		expect_equal(d.bytes[0], 4, "the byte counter is kept");
	}
	ktap_case("a counter that is not given is kept, or begins at 0");
}

static void test_refused(void)
{
	static const struct {
		const char *what;
		const char *set;
		struct piece piece;
		int error;
	} cases[] = {
		{ "too few timeouts", "t", RAW(TIMEOUTS, "\0\0\0\1"), EINVAL },
		{ "an incomplete timeout", "t", RAW(TIMEOUTS, "\0\0\0\1\0\0\0\1\0"), EINVAL },
		{ "too long a timeout", "t", RAW(TIMEOUTS, "\0\0\0\1\xff\0\0\1"), ERANGE },
		{ "too few counters", "t", RAW(COUNTERS, "\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1"),
		  EINVAL },
		{ "one comment", "t", RAW(COMMENTS, "one\0"), EINVAL },
		{ "three comments", "t", RAW(COMMENTS, "one\0two\0three\0"), EINVAL },
		{ "a comment without an end", "t", RAW(COMMENTS, "one\0two"), EINVAL },
		{ "NOMATCHES for hosts", "t", RAW(NOMATCHES, "\0\1"), EOPNOTSUPP },
		{ "timeouts, but no such option", "hosts", RAW(TIMEOUTS, "\0\0\0\1\0\0\0\1"),
		  EOPNOTSUPP },
		{ "comments, but no such option", "hosts", RAW(COMMENTS, "one\0two\0"), EOPNOTSUPP },
	};
	struct answer answer;
	uint32_t shadow;
	unsigned int i;

	make_sets();
	remake("t", IPCUCKOO_TYPE_HASH_IP, ALL_OPTIONS, 0);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		add(&answer, cases[i].set, 0, 0,
		    PIECES(RAW(HOSTS4, "\1\1\1\1\2\2\2\2"), cases[i].piece));
		expect_equal(answer.error, -cases[i].error, "%s", cases[i].what);
		expect_equal(answer.at, cases[i].piece.type, "%s: at fault", cases[i].what);
		expect(answer.message[0], "%s: there is a message", cases[i].what);
		shadow = shadow_new(cl, cases[i].set, 0);
		add(&answer, NULL, shadow, 0,
		    PIECES(RAW(HOSTS4, "\1\1\1\1\2\2\2\2"), cases[i].piece));
		expect_equal(answer.error, -cases[i].error, "shadow, %s", cases[i].what);
		shadow_request(cl, IPCUCKOO_CMD_SHADOW_DEL, shadow, 0);
	}
	expect_equal(figure(cl, "t", IPCUCKOO_A_ENTRIES), 0, "entries in the end");
	ktap_case("invalid extensions are refused with a message");
}

static bool found(const char *set, const char *host)
{
	struct answer answer;

	ask(&answer, IPCUCKOO_CMD_ENTRY_TEST, set, PIECE({ AT(HOSTS4), 4, host }), NONE);
	return answer_number(&answer, IPCUCKOO_A_FOUND) == 1;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void test_end(void)
{
	struct answer answer;
	double began;

	remake("t", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_O_TIMEOUT, 0);
	add(&answer, "t", 0, 0, PIECES(RAW(HOSTS4, "\1\1\1\1\2\2\2\2"),
				       RAW(TIMEOUTS, "\0\0\3\xe8\0\0\0\0")));
	expect(found("t", "\1\1\1\1"), "the entry is a member");
	began = now();
	add(&answer, "t", 0, IPCUCKOO_F_EXIST,
	    PIECES(RAW(HOSTS4, "\1\1\1\1"), RAW(TIMEOUTS, "\0\0\0\2")));
	expect(wait_until(!found("t", "\1\1\1\1"), 3), "the entry expires");
	expect(now() - began >= 2, "but not before its timeout: after %.3f s", now() - began);
	expect_equal(dump("t").entries, 1, "the dump does not show it");
	expect(found("t", "\2\2\2\2"), "the other entry does not expire");
	add(&answer, "t", 0, 0, PIECES(RAW(HOSTS4, "\1\1\1\1"), RAW(TIMEOUTS, "\0\0\3\xe8")));
	expect_changed(&answer, "it can be added again", 1, 0);
	expect(found("t", "\1\1\1\1"), "it is a member again");
	add(&answer, "t", 0, IPCUCKOO_F_EXIST,
	    PIECES(RAW(HOSTS4, "\1\1\1\1"), RAW(TIMEOUTS, "\0\0\0\1")));
	expect(wait_until(figure(cl, "t", IPCUCKOO_A_ENTRIES) == 1, 30), "it expires");
	expect(wait_until(figure(cl, "t", IPCUCKOO_A_EXPIRED) == 1, 30),
	       "the expired entry is removed, and counted");
	add(&answer, "t", 0, 0, PIECES(RAW(HOSTS4, "\5\5\5\5"), RAW(TIMEOUTS, "\x7f\xff\xff\xff")));
	expect_changed(&answer, "68 years", 1, 0);
	expect(found("t", "\5\5\5\5"), "a long timeout has not expired");
	ktap_case("entries expire in time, and are removed");
}

static void test_full(void)
{
	struct nlmsghdr *nlh;
	struct answer answer;

	set_request(cl, IPCUCKOO_CMD_SET_DEL, "t");
	nlh = client_begin(cl, IPCUCKOO_CMD_SET_NEW);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "t");
	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, IPCUCKOO_TYPE_HASH_IP);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, IPCUCKOO_FAMILY_INET);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_MAXELEM, 2);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_OPTIONS, IPCUCKOO_O_TIMEOUT);
	expect_equal(client_ask(cl, &answer), 0, "a set with a limit of two entries");
	add(&answer, "t", 0, 0, PIECES(RAW(HOSTS4, "\1\1\1\1\2\2\2\2"),
				       RAW(TIMEOUTS, "\0\0\3\xe8\0\0\0\0")));
	expect_changed(&answer, "both", 2, 0);
	add(&answer, "t", 0, 0, PIECES(RAW(HOSTS4, "\3\3\3\3")));
	expect_equal(answer.error, -ENOSPC, "a third entry");
	add(&answer, "t", 0, IPCUCKOO_F_EXIST,
	    PIECES(RAW(HOSTS4, "\1\1\1\1"), RAW(TIMEOUTS, "\0\0\0\1")));
	expect(wait_until(!found("t", "\1\1\1\1"), 4), "one entry expires");
	add(&answer, "t", 0, 0, PIECES(RAW(HOSTS4, "\3\3\3\3")));
	expect_changed(&answer, "a new entry can be added immediately", 1, 0);
	ktap_case("expired entries do not count towards the limit");
}

static void test_exceptions(void)
{
	struct answer answer;
	struct dumped d;

	remake("t", IPCUCKOO_TYPE_HASH_NET, 0, 0);
	add(&answer, "t", 0, 0, PIECES(RAW(NETS4, "\x0a\0\0\0\x08")));
	expect(found("t", "\x0a\1\1\1"), "10/8 covers 10.1.1.1");
	add(&answer, "t", 0, 0, PIECES(RAW(NETS4, "\x0a\1\0\0\x10"), RAW(NOMATCHES, "\1")));
	expect_changed(&answer, "an exception", 1, 0);
	expect(!found("t", "\x0a\1\1\1"), "10.1.1.1 is excepted");
	expect(found("t", "\x0a\2\1\1"), "10.2.1.1 is not excepted");
	add(&answer, "t", 0, 0, PIECES(RAW(HOSTS4, "\x0a\1\1\2")));
	expect(found("t", "\x0a\1\1\2"), "10.1.1.2 is covered again");
	d = dump("t");
	expect_equal(d.nets, 2, "prefixes in the dump");
	expect_equal(d.nomatch[0] + d.nomatch[1], 1, "exceptions in the dump");
	add(&answer, "t", 0, IPCUCKOO_F_EXIST,
	    PIECES(RAW(NETS4, "\x0a\1\0\0\x10"), RAW(NOMATCHES, "\0")));
	expect(found("t", "\x0a\1\1\1"), "it is not an exception any more");
	add(&answer, "t", 0, IPCUCKOO_F_EXIST,
	    PIECES(RAW(NETS4, "\x0a\1\0\0\x10"), RAW(NOMATCHES, "\1")));
	expect(!found("t", "\x0a\1\1\1"), "it is an exception again");
	add(&answer, "t", 0, IPCUCKOO_F_EXIST, PIECES(RAW(NETS4, "\x0a\1\0\0\x10")));
	expect(found("t", "\x0a\1\1\1"), "added without NOMATCHES it is not an exception");
	add(&answer, "t", 0, IPCUCKOO_F_EXIST,
	    PIECES(RAW(NETS4, "\x0a\1\0\0\x10"), RAW(NOMATCHES, "\1")));
	ask(&answer, IPCUCKOO_CMD_ENTRY_TEST, "t", PIECE(RAW(HOSTS4, "\x0a\1\1\1")), NONE);
	expect_equal(answer_number(&answer, IPCUCKOO_A_PREFIX_LEN), 16,
		     "the answer has its prefix length");
	expect_equal(answer_number(&answer, IPCUCKOO_A_NOMATCHES), 1,
		     "the answer says that it is an exception");
	ask(&answer, IPCUCKOO_CMD_ENTRY_TEST, "t", PIECE(RAW(HOSTS4, "\x0b\1\1\1")), NONE);
	expect(!answer.attr[IPCUCKOO_A_PREFIX_LEN] && !answer.attr[IPCUCKOO_A_NOMATCHES],
	       "the answer for a non-member has neither");
	ktap_case("exceptions");
}

static void test_shadow(void)
{
	struct answer answer;
	struct dumped d;
	uint32_t shadow;

	remake("t", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_O_COMMENT | IPCUCKOO_O_COUNTERS, 0);
	add(&answer, "t", 0, 0, PIECES(RAW(HOSTS4, "\1\1\1\1"), RAW(COMMENTS, "live\0")));
	shadow = shadow_new(cl, "t", IPCUCKOO_F_APPEND);
	add(&answer, NULL, shadow, 0, PIECES(RAW(HOSTS4, "\1\1\1\1\2\2\2\2"),
					     RAW(COMMENTS, "shadow\0new\0")));
	expect_equal(answer.error, 0, "SHADOW_ADD");
	d = dump("t");
	expect(!strcmp(d.comment[0], "live"), "the set is not changed: %s", d.comment[0]);
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_COMMIT, shadow, 0), 0, "commit");
	d = dump("t");
	expect_equal(d.entries, 2, "entries now");
	expect(!strcmp(d.comment[d.host[0] != 0x01010101], "shadow"), "the comment of the shadow");
	shadow = shadow_new(cl, "t", IPCUCKOO_F_APPEND);
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_DEL, shadow, 0), 0, "delete a shadow");
	expect(!strcmp(dump("t").comment[d.host[0] != 0x01010101], "shadow"),
	       "the set still has the comment");
	shadow = shadow_new(cl, "t", IPCUCKOO_F_APPEND);
	ask(&answer, IPCUCKOO_CMD_SHADOW_REMOVE, NULL, PIECE(U32(SHADOW, shadow)),
	    PIECE(RAW(HOSTS4, "\2\2\2\2")));
	expect_changed(&answer, "remove an entry from a shadow", 1, 0);
	expect_equal(dump("t").entries, 2, "the set still has the entry");
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_COMMIT, shadow, 0), 0, "commit");
	d = dump("t");
	expect_equal(d.entries, 1, "after the commit it has not");
	expect(!strcmp(d.comment[0], "shadow"), "the comment of the other entry: %s", d.comment[0]);
	set_request(cl, IPCUCKOO_CMD_SET_FLUSH, "t");
	expect_equal(dump("t").entries, 0, "flushed");
	ktap_case("shadows share the extensions of the set");
}

static void test_many(void)
{
	enum { COUNT = 5000 };
	static uint8_t hosts[4 * COUNT], timeouts[4 * COUNT];
	static char comments[COUNT * 12];
	struct answer answer;
	char *to = comments;
	uint32_t i, round;

	remake("t", IPCUCKOO_TYPE_HASH_IP, ALL_OPTIONS, 0);
	for (round = 0; round < 4; round++) {
		to = comments;
		for (i = 0; i < COUNT; i++) {
			put_be32(hosts + 4 * i, 0x20000000 + round * COUNT + i);
			put_be32(timeouts + 4 * i, i % 3 ? 0 : 1 + i % 2);
			to += sprintf(to, "%u", i) + 1;
		}
		add(&answer, "t", 0, 0, PIECES({ IPCUCKOO_A_HOSTS4, sizeof(hosts), hosts },
			{ IPCUCKOO_A_TIMEOUTS, sizeof(timeouts), timeouts },
			{ IPCUCKOO_A_COMMENTS, to - comments, comments }));
		expect_equal(answer.error, 0, "round %u: %s", round, answer.message);
	}
	/* Between expiry and removal, an entry is in neither of the two numbers. */
	expect(wait_until(figure(cl, "t", IPCUCKOO_A_ENTRIES) +
			  figure(cl, "t", IPCUCKOO_A_EXPIRED) == 4 * COUNT, 20),
	       "number of entries and of expired entries");
	i = 4 * ((COUNT + 2) / 3);
	expect(wait_until(figure(cl, "t", IPCUCKOO_A_ENTRIES) == 4 * COUNT - i, 40),
	       "a third expires and is removed: %llu are left",
	       (unsigned long long)figure(cl, "t", IPCUCKOO_A_ENTRIES));
	expect(wait_until(figure(cl, "t", IPCUCKOO_A_EXPIRED) == i, 40), "a third is removed");
	expect_equal(dump("t").entries, 4 * COUNT - i, "entries in the dump");
	ktap_case("twenty thousand entries with all extensions");
}

/* A socket on lo, which is down in a new machine. */
static int bound_socket(struct sockaddr_in *to)
{
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;
	struct timeval second = { .tv_sec = 1 };
	socklen_t size = sizeof(*to);

	*to = (struct sockaddr_in){ .sin_family = AF_INET };
	to->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (s < 0 || bind(s, (void *)to, size) || getsockname(s, (void *)to, &size) ||
	    setsockopt(s, SOL_SOCKET, SO_RCVMARK, &on, sizeof(on)) ||
	    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second)))
		err(1, "socket");
	return s;
}

/* The mark of a packet of @size bytes of data from 127.0.0.1; -1 if none arrives. */
static int64_t packet(int s, const struct sockaddr_in *to, size_t size)
{
	char data[2000] = { 0 }, control[CMSG_SPACE(sizeof(uint32_t))];
	struct iovec iov = { data, sizeof(data) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;
	uint32_t mark = 0;

	sendto(s, data, size, 0, (const void *)to, sizeof(*to));
	if (recvmsg(s, &msg, 0) < 0)
		return -1;
	for (cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg))
		if (cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SO_MARK)
			memcpy(&mark, CMSG_DATA(cmsg), sizeof(mark));
	return mark;
}

static void attach_loopback(uint8_t verdict)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_ATTACH);
	struct answer answer;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "t");
	mnl_attr_put_u8(nlh, IPCUCKOO_A_DIRECTION, IPCUCKOO_DIR_SRC);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_VERDICT, verdict);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_LOOPBACK);
	if (verdict == IPCUCKOO_VERDICT_MARK) {
		mnl_attr_put_u32(nlh, IPCUCKOO_A_MARK, 0x100);
		mnl_attr_put_u32(nlh, IPCUCKOO_A_MARK_MASK, 0xf00);
	}
	if (client_ask(cl, &answer))
		errx(1, "attach: %s", answer.message);
}

static void test_packets(void)
{
	static const char info[] = "\0\0\0\xff\0\0\0\x42\0\0\0\0\0\0\0";
	const struct piece exist = U32(FLAGS, IPCUCKOO_F_EXIST);
	struct sockaddr_in to;
	struct answer answer;
	struct dumped d;
	int s, i;

	if (system("ip link set lo up"))
		errx(1, "lo");
	s = bound_socket(&to);
	everything(cl, IPCUCKOO_CMD_DETACH);
	remake("t", IPCUCKOO_TYPE_HASH_NET, ALL_OPTIONS, 0);
	add(&answer, "t", 0, 0, PIECES(RAW(HOSTS4, "\x7f\0\0\1")));
	add(&answer, "t", 0, 0, PIECES(RAW(NETS4, "\x7f\0\0\0\x08")));
	attach_loopback(IPCUCKOO_VERDICT_MARK);
	for (i = 0; i < 10; i++)
		expect_equal(packet(s, &to, 100), 0x100, "mark of the attachment");
	d = dump("t");
	expect_equal(d.packets[0], 10, "packets of the longest entry");
	expect_equal(d.bytes[0], 1280, "bytes");
	add(&answer, "t", 0, IPCUCKOO_F_EXIST,
	    PIECES(RAW(HOSTS4, "\x7f\0\0\1"), { IPCUCKOO_A_SKBINFOS, 16, info }));
	expect_equal(packet(s, &to, 100), 0x42, "mark of the entry");
	expect_equal(dump("t").packets[0], 11, "the packet counter continues");
	ask(&answer, IPCUCKOO_CMD_ENTRY_DEL, "t", PIECE(RAW(HOSTS4, "\x7f\0\0\1")), exist);
	expect_equal(packet(s, &to, 100), 0x100, "the prefix has no skbmark");
	ktap_case("packets are counted and marked by the longest entry that matches");

	everything(cl, IPCUCKOO_CMD_DETACH);
	attach_loopback(IPCUCKOO_VERDICT_DROP);
	expect_equal(packet(s, &to, 1), -1, "dropped");
	add(&answer, "t", 0, 0, PIECES(RAW(HOSTS4, "\x7f\0\0\1"), RAW(NOMATCHES, "\1")));
	expect_equal(packet(s, &to, 1), 0, "excepted");
	everything(cl, IPCUCKOO_CMD_DETACH);
	remake("t", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_O_TIMEOUT, 0);
	add(&answer, "t", 0, 0, PIECES(RAW(HOSTS4, "\x7f\0\0\1"), RAW(TIMEOUTS, "\0\0\3\xe8")));
	attach_loopback(IPCUCKOO_VERDICT_DROP);
	expect_equal(packet(s, &to, 1), -1, "packets are dropped before the timeout");
	add(&answer, "t", 0, IPCUCKOO_F_EXIST,
	    PIECES(RAW(HOSTS4, "\x7f\0\0\1"), RAW(TIMEOUTS, "\0\0\0\1")));
	expect(wait_until(packet(s, &to, 1) == 0, 1), "packets pass after the timeout");
	close(s);
	everything(cl, IPCUCKOO_CMD_DETACH);
	ktap_case("packets obey exceptions and timeouts");
}

/* Test that an entry that is added to a full set replaces another one. */
static void test_forceadd(void)
{
	enum { LIMIT = 100 };
	struct nlmsghdr *nlh;
	struct answer answer;
	uint8_t host[4];
	uint32_t i, shadow;

	set_request(cl, IPCUCKOO_CMD_SET_DEL, "t");
	nlh = client_begin(cl, IPCUCKOO_CMD_SET_NEW);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "t");
	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, IPCUCKOO_TYPE_HASH_IP);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, IPCUCKOO_FAMILY_INET);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_MAXELEM, LIMIT);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_FORCEADD);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_OPTIONS, ALL_OPTIONS);
	expect_equal(client_ask(cl, &answer), 0, "a set");
	expect_equal(figure(cl, "t", IPCUCKOO_A_FLAGS), IPCUCKOO_F_FORCEADD, "FLAGS of the set");
	expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "t", 1, LIMIT), 0, "fill it");
	for (i = 0; i < 5 * LIMIT; i++) {
		put_be32(host, 1000 + i);
		add(&answer, "t", 0, 0, PIECES({ IPCUCKOO_A_HOSTS4, 4, host },
					       RAW(COMMENTS, "later\0")));
		expect_changed(&answer, "one entry more", 1, 0);
		expect(found("t", (char *)host), "the entry is a member");
		add(&answer, "t", 0, 0, PIECES({ IPCUCKOO_A_HOSTS4, 4, host }));
		expect_equal(answer.error, -EEXIST, "the same entries");
		if (ktap_failing())
			break;
	}
	expect_equal(dump("t").entries, LIMIT, "entries");
	expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "t", 5000, 10 * LIMIT), 0,
		     "more than the limit in one request");
	put_be32(host, 5000 + 10 * LIMIT - 1);
	expect(found("t", (char *)host), "the last entry is a member");
	expect_equal(dump("t").entries, LIMIT, "entries then");
	shadow = shadow_new(cl, "t", IPCUCKOO_F_APPEND);
	expect_equal(shadow_hosts(cl, shadow, 9000, 10 * LIMIT), 0,
		     "more than the limit in a shadow");
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_COMMIT, shadow, 0), 0, "commit");
	put_be32(host, 9000 + 10 * LIMIT - 1);
	expect(found("t", (char *)host), "the last entry of the shadow is a member");
	expect_equal(figure(cl, "t", IPCUCKOO_A_ENTRIES), LIMIT, "entries in the end");
	expect_equal(figure(cl, "t", IPCUCKOO_A_FAILED_FULL), 0, "FAILED_FULL is not counted");
	ktap_case("FORCEADD: an entry that is added replaces another one");
}

int main(void)
{
	fixture_begin("netlink-values");
	test_options();
	test_values();
	test_counters();
	test_refused();
	test_end();
	test_full();
	test_exceptions();
	test_shadow();
	test_packets();
	test_many();
	test_forceadd();
	return fixture_end();
}
