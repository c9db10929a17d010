// SPDX-License-Identifier: GPL-2.0
/*
 * Tests requests about entries, shadows and attachments: EXIST, batches that are applied completely
 * or not at all, limits, and which socket owns a shadow.
 */
#define _GNU_SOURCE
#include "fixture.h"

static void test_exist(void)
{
	const struct piece exist = U32(FLAGS, IPCUCKOO_F_EXIST);
	struct answer answer;
	uint64_t id;

	make_sets();
	ask(&answer, IPCUCKOO_CMD_ENTRY_ADD, "hosts", PIECE(RAW(HOSTS4, "\1\1\1\1\xc0\0\2\1")),
	    exist);
	expect_changed(&answer, "one new entry, one that is a member", 1, 1);
	ask(&answer, IPCUCKOO_CMD_ENTRY_ADD, "hosts",
	    PIECE(RAW(HOSTS4, "\2\1\1\1\2\1\1\2\2\1\1\1")), NONE);
	expect_changed(&answer, "an entry twice in a batch", 2, 1);
	ask(&answer, IPCUCKOO_CMD_ENTRY_DEL, "hosts",
	    PIECE(RAW(HOSTS4, "\2\1\1\1\2\1\1\2\2\1\1\1")), NONE);
	expect_changed(&answer, "deleted entries, one of them twice", 2, 1);
	ask(&answer, IPCUCKOO_CMD_ENTRY_DEL, "hosts", PIECE(RAW(HOSTS4, "\1\1\1\1\5\5\5\5")),
	    exist);
	expect_changed(&answer, "a deleted entry, and a non-member", 1, 1);
	expect_equal(figure(cl, "hosts", IPCUCKOO_A_ENTRIES), 1, "entries in the end");
	expect_equal(ask(&answer, IPCUCKOO_CMD_SET_DEL, "nothere", exist, NONE), 0,
		     "SET_DEL of a set that does not exist, EXIST");
	ktap_case("entries: EXIST, and duplicates in a batch");

	ask(&answer, IPCUCKOO_CMD_ATTACH, "hosts", PIECE(U8(DIRECTION, 1)),
	    PIECE(U8(VERDICT, 1)));
	id = answer_number(&answer, IPCUCKOO_A_ATTACHMENT);
	expect(!answer.error && id && id != UINT64_MAX, "an attachment has a number");
	client_begin(cl, IPCUCKOO_CMD_ATTACH);
	mnl_attr_put_strz((void *)cl->out, IPCUCKOO_A_SET, "hosts");
	mnl_attr_put_u8((void *)cl->out, IPCUCKOO_A_DIRECTION, 1);
	mnl_attr_put_u8((void *)cl->out, IPCUCKOO_A_VERDICT, 1);
	mnl_attr_put_u32((void *)cl->out, IPCUCKOO_A_FLAGS, IPCUCKOO_F_EXIST);
	expect_equal(client_ask(cl, &answer), 0, "ATTACH of an attachment that exists, EXIST");
	expect_equal(answer_number(&answer, IPCUCKOO_A_ATTACHMENT), id,
		     "it returns the number of that attachment");
	ask(&answer, IPCUCKOO_CMD_DETACH, NULL,
	    PIECE(U32(ATTACHMENT, (uint32_t)id)), NONE);
	expect_equal(answer.error, 0, "DETACH by number");
	ask(&answer, IPCUCKOO_CMD_DETACH, NULL, PIECE(U32(ATTACHMENT, (uint32_t)id)), exist);
	expect_equal(answer.error, 0, "DETACH of no attachment, EXIST");
	expect_equal(answer_number(&answer, IPCUCKOO_A_CHANGED), 0, "detached");
	ktap_case("attachments: EXIST");
}

static void try_test(const char *what, const char *set, struct piece entry, int len)
{
	struct answer answer;

	ask(&answer, IPCUCKOO_CMD_ENTRY_TEST, set, entry, NONE);
	expect_equal(answer.error, 0, "%s", what);
	expect_equal(answer_number(&answer, IPCUCKOO_A_FOUND), len >= 0, "%s: found", what);
	if (len >= 0)
		expect_equal(answer_number(&answer, IPCUCKOO_A_PREFIX_LEN), len,
			     "%s: prefix length", what);
	else
		expect(!answer.attr[IPCUCKOO_A_PREFIX_LEN], "%s: no prefix length", what);
}

static void test_test(void)
{
	struct answer answer;

	make_sets();
	ask(&answer, IPCUCKOO_CMD_ENTRY_ADD, "any", PIECE(RAW(NETS4, "\x0a\1\0\0\x10")), NONE);
	ask(&answer, IPCUCKOO_CMD_ENTRY_ADD, "any", PIECE({ AT(HOSTS6), 16, MAPPED }), NONE);
	expect_equal(answer.error, 0, "an IPv4-mapped address in family any");
	ask(&answer, IPCUCKOO_CMD_ENTRY_ADD, "any", PIECE(RAW(HOSTS4, "\x0a\1\2\3")), NONE);
	expect_equal(answer.error, -EEXIST, "it is the IPv4 address");
	try_test("a host", "hosts", PIECE(RAW(HOSTS4, "\xc0\0\2\1")), 32);
	try_test("its neighbour", "hosts", PIECE(RAW(HOSTS4, "\xc0\0\2\2")), -1);
	try_test("a host as a prefix", "any", PIECE(RAW(NETS4, "\x0a\1\2\3\x20")), 32);
	try_test("the longest prefix", "any", PIECE(RAW(HOSTS4, "\x0a\1\2\4")), 16);
	try_test("the other prefix", "any", PIECE(RAW(HOSTS4, "\x0a\2\2\4")), 8);
	try_test("none", "any", PIECE(RAW(HOSTS4, "\x0b\2\2\4")), -1);
	try_test("a prefix that is an entry", "any", PIECE(RAW(NETS4, "\x0a\1\0\0\x10")), 16);
	try_test("a prefix inside of an entry is a non-member", "any",
		 PIECE(RAW(NETS4, "\x0a\1\1\0\x18")), -1);
	try_test("a prefix around an entry is a non-member", "any",
		 PIECE(RAW(NETS4, "\x08\0\0\0\7")), -1);
	try_test("IPv6", "nets6", PIECE({ AT(HOSTS6), 16, HOST6 }), 32);
	ktap_case("ENTRY_TEST finds the longest match of a host, and prefixes that are entries");
}

static void test_batches(void)
{
	enum { COUNT = 3000 };
	uint8_t nets[COUNT * IPCUCKOO_NET4_SIZE];
	const struct piece piece = { IPCUCKOO_A_NETS4, sizeof(nets), nets };
	struct state before;
	struct answer answer;
	uint32_t i;

	make_sets();
	for (i = 0; i < COUNT; i++) {
		put_be32(nets + 5 * i, 0x20000000 + (i << 8));
		nets[5 * i + 4] = 24;
	}
	nets[5 * (COUNT - 1) + 4] = 33;
	before = get_state();
	ask(&answer, IPCUCKOO_CMD_ENTRY_ADD, "any", piece, NONE);
	expect_equal(answer.error, -EINVAL, "the last entry is invalid");
	expect(answer.has_cookie, "there is a cookie");
	expect_equal(answer.cookie, COUNT - 1, "the index of the invalid entry");
	expect(unchanged(&before), "nothing has changed");
	nets[5 * (COUNT - 1) + 4] = 24;
	ask(&answer, IPCUCKOO_CMD_ENTRY_ADD, "any", piece, NONE);
	expect_changed(&answer, "all entries are valid", COUNT, 0);
	before = get_state();
	put_be32(nets + 5 * (COUNT - 1), 0x30000000);
	ask(&answer, IPCUCKOO_CMD_ENTRY_DEL, "any", piece, NONE);
	expect_equal(answer.error, -ENOENT, "the last entry is a non-member");
	expect_equal(answer.cookie, COUNT - 1, "the index of the non-member");
	expect(unchanged(&before), "nothing has changed");
	ktap_case("a batch of %d is applied completely or not at all", COUNT);
}

static void test_maxelem(void)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_SET_NEW);
	struct answer answer;
	uint32_t shadow;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "small");
	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, IPCUCKOO_TYPE_HASH_IP);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, IPCUCKOO_FAMILY_INET);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_MAXELEM, 100);
	expect_equal(client_ask(cl, &answer), 0, "a set with a limit");
	expect_equal(figure(cl, "small", IPCUCKOO_A_MAXELEM), 100, "the limit");
	expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "small", 1, 101), -ENOSPC,
		     "one entry too many");
	expect_equal(figure(cl, "small", IPCUCKOO_A_ENTRIES), 0, "entries then");
	expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "small", 1, 90), 0, "90");
	expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "small", 100, 11), -ENOSPC,
		     "11 more");
	ask(&answer, IPCUCKOO_CMD_ENTRY_ADD, "small",
	    PIECE(RAW(HOSTS4, "\1\0\0\1\1\0\0\1\1\0\0\1\1\0\0\1\1\0\0\1\1\0\0\1"
			     "\1\0\0\1\1\0\0\1\1\0\0\1\1\0\0\1\1\0\0\1\1\0\0\1")), NONE);
	expect_changed(&answer, "12 times the same entry", 1, 11);
	expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "small", 200, 9), 0,
		     "up to the limit");
	expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "small", 300, 1), -ENOSPC,
		     "full");
	shadow = shadow_new(cl, "small", 0);
	expect_equal(shadow_hosts(cl, shadow, 1, 101), -ENOSPC, "a shadow has the same limit");
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_DEL, shadow, 0), 0,
		     "the shadow is deleted");
	expect_equal(figure(cl, "small", IPCUCKOO_A_ENTRIES), 100, "entries in the end");
	set_request(cl, IPCUCKOO_CMD_SET_DEL, "small");
	ktap_case("maxelem");
}

static int two_sets(uint8_t cmd, const char *set, const char *other)
{
	struct answer answer;

	return ask(&answer, cmd, set, PIECE({ IPCUCKOO_A_SET_TO, strlen(other) + 1, other }),
		   NONE);
}

static int set_limit(const char *set, uint32_t limit)
{
	struct answer answer;

	return ask(&answer, IPCUCKOO_CMD_SET_CHANGE, set, PIECE(U32(MAXELEM, limit)), NONE);
}

static void test_change(void)
{
	uint32_t shadow;

	make_sets();
	expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "hosts", 1, 9), 0, "ten hosts");
	expect_equal(set_limit("hosts", 10), 0, "a limit of as many entries as there are");
	expect_equal(figure(cl, "hosts", IPCUCKOO_A_MAXELEM), 10, "the limit");
	expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "hosts", 100, 1), -ENOSPC, "full");
	expect_equal(set_limit("hosts", 9), -ERANGE, "a limit below the number of entries");
	expect_equal(figure(cl, "hosts", IPCUCKOO_A_MAXELEM), 10, "the limit then");
	expect_equal(set_limit("hosts", 11), 0, "raised");
	expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "hosts", 100, 1), 0, "one more");
	expect_equal(set_limit("hosts", 0), 0, "no limit");
	shadow = shadow_new(cl, "hosts", 0);
	expect_equal(shadow_hosts(cl, shadow, 1, 50), 0, "fill a shadow");
	expect_equal(set_limit("hosts", 20), 0,
		     "a limit below the number of entries in the shadow");
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_COMMIT, shadow, 0), -ENOSPC,
		     "the shadow is not committed");
	shadow_request(cl, IPCUCKOO_CMD_SHADOW_DEL, shadow, 0);
	expect_equal(figure(cl, "hosts", IPCUCKOO_A_ENTRIES), 11, "entries in the end");
	ktap_case("SET_CHANGE");
}

static void test_rename(void)
{
	uint32_t shadow;

	make_sets();
	shadow = shadow_new(cl, "any", 0);
	shadow_hosts(cl, shadow, 1, 5);
	expect_equal(two_sets(IPCUCKOO_CMD_SET_RENAME, "any", "a"), 0, "rename an attached set");
	expect_equal(figure(cl, "any", IPCUCKOO_A_ENTRIES), UINT64_MAX,
		     "the old name does not exist");
	expect_equal(figure(cl, "a", IPCUCKOO_A_ENTRIES), 1, "entries by the new name");
	expect_equal(figure(cl, "a", IPCUCKOO_A_ATTACHMENTS), 1, "the attachment stays");
	expect_equal(set_request(cl, IPCUCKOO_CMD_SET_DEL, "a"), -EBUSY,
		     "an attached set is not deleted");
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_COMMIT, shadow, 0), 0,
		     "its shadow is committed");
	expect_equal(figure(cl, "a", IPCUCKOO_A_ENTRIES), 5, "entries then");
	expect_equal(set_new(cl, "any", IPCUCKOO_TYPE_HASH_NET, IPCUCKOO_FAMILY_ANY), 0,
		     "the old name is free");
	expect_equal(figure(cl, NULL, IPCUCKOO_A_SETS), 4, "sets");
	ktap_case("SET_RENAME");
}

static void test_swap(void)
{
	struct answer answer;
	uint32_t shadow;

	make_sets();
	expect_equal(set_new(cl, "b", IPCUCKOO_TYPE_HASH_NET, IPCUCKOO_FAMILY_ANY), 0, "a set");
	expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "b", 1, 7), 0, "fill it");
	expect_equal(set_limit("b", 8), 0, "with a limit");
	shadow = shadow_new(cl, "any", 0);
	shadow_hosts(cl, shadow, 1, 3);
	expect_equal(two_sets(IPCUCKOO_CMD_SET_SWAP, "any", "b"), 0, "swap, one set is attached");
	expect_equal(figure(cl, "any", IPCUCKOO_A_ENTRIES), 7, "entries");
	expect_equal(figure(cl, "b", IPCUCKOO_A_ENTRIES), 1, "entries of the other");
	expect_equal(figure(cl, "any", IPCUCKOO_A_MAXELEM), 8, "the limit moves");
	expect_equal(figure(cl, "any", IPCUCKOO_A_ATTACHMENTS), 1,
		     "the attachments stay with the name");
	expect_equal(figure(cl, "b", IPCUCKOO_A_ATTACHMENTS), 0, "attachments of the other");
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_COMMIT, shadow, IPCUCKOO_F_OVERRIDE),
		     -ESTALE, "a shadow from before is not committed");
	shadow_request(cl, IPCUCKOO_CMD_SHADOW_DEL, shadow, 0);
	expect_equal(set_request(cl, IPCUCKOO_CMD_SET_DEL, "b"), 0,
		     "the other set can be destroyed");
	expect_equal(set_request(cl, IPCUCKOO_CMD_SET_DEL, "any"), -EBUSY,
		     "the attached set cannot be destroyed");
	expect_equal(two_sets(IPCUCKOO_CMD_SET_SWAP, "any", "any"), 0, "a set with itself");
	set_new(cl, "b", IPCUCKOO_TYPE_HASH_NET, IPCUCKOO_FAMILY_ANY);
	expect_equal(attach(cl, "b", IPCUCKOO_DIR_DST, IPCUCKOO_VERDICT_DROP), 0, "attach both");
	expect_equal(two_sets(IPCUCKOO_CMD_SET_SWAP, "b", "any"), 0,
		     "swap, both sets are attached");
	expect_equal(figure(cl, "b", IPCUCKOO_A_ENTRIES), 7, "entries then");
	ask(&answer, IPCUCKOO_CMD_DETACH, "b", PIECE(U8(VERDICT, IPCUCKOO_VERDICT_DROP)), NONE);
	expect_equal(answer_number(&answer, IPCUCKOO_A_CHANGED), 1,
		     "each name still has its attachments");
	ktap_case("SET_SWAP");
}

/* Shadows */

static void test_shadow(void)
{
	struct answer answer;
	uint32_t shadow;

	make_sets();
	shadow = shadow_new(cl, "hosts", 0);
	expect(shadow, "a shadow has a number");
	expect_equal(shadow_hosts(cl, shadow, 100, 50), 0, "fill it");
	expect_equal(shadow_hosts(cl, shadow, 120, 50), 0, "overlaps are no error");
	expect_equal(figure(cl, "hosts", IPCUCKOO_A_ENTRIES), 1, "entries before the commit");
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_COMMIT, shadow, 0), 0, "commit");
	expect_equal(figure(cl, "hosts", IPCUCKOO_A_ENTRIES), 70, "entries after it");
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_COMMIT, shadow, 0), -ENOENT,
		     "the shadow does not exist any more");
	ktap_case("a shadow becomes the contents");

	shadow = shadow_new(cl, "hosts", IPCUCKOO_F_APPEND);
	shadow_hosts(cl, shadow, 1000, 10);
	client_begin(cl, IPCUCKOO_CMD_SHADOW_COMMIT);
	mnl_attr_put_u32((void *)cl->out, IPCUCKOO_A_SHADOW, shadow);
	expect_equal(client_ask(cl, &answer), 0, "commit");
	expect_equal(answer_number(&answer, IPCUCKOO_A_ENTRIES), 80, "ENTRIES of the answer");
	expect_changed(&answer, "the answer", 10, 0);
	expect_equal(figure(cl, "hosts", IPCUCKOO_A_ENTRIES), 80, "entries");
	ktap_case("APPEND keeps the entries of the set");

	shadow = shadow_new(cl, "hosts", 0);
	shadow_hosts(cl, shadow, 1, 5);
	hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "hosts", 5000, 1);
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_COMMIT, shadow, 0), -ESTALE,
		     "commit after a change");
	expect_equal(figure(cl, "hosts", IPCUCKOO_A_ENTRIES), 81, "entries then");
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_COMMIT, shadow, 0), -ESTALE,
		     "commit once more");
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_COMMIT, shadow,
				    IPCUCKOO_F_OVERRIDE), 0, "OVERRIDE");
	expect_equal(figure(cl, "hosts", IPCUCKOO_A_ENTRIES), 5, "entries after it");
	ktap_case("COMMIT after a change: ESTALE, or OVERRIDE");
}

static int shadow_remove(uint32_t shadow, uint32_t first, uint32_t count, uint32_t flags,
			 struct answer *answer)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_SHADOW_REMOVE);

	mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, shadow);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, flags);
	put_hosts4(nlh, first, count);
	return client_ask(cl, answer);
}

static void test_shadow_remove(void)
{
	struct answer answer;
	uint64_t memory;
	uint32_t shadow;

	make_sets();
	set_request(cl, IPCUCKOO_CMD_SET_FLUSH, "hosts");
	hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "hosts", 1, 10000);
	memory = figure(cl, "hosts", IPCUCKOO_A_MEMORY);
	shadow = shadow_new(cl, "hosts", IPCUCKOO_F_APPEND);
	expect_equal(shadow_remove(shadow, 101, 5000, 0, &answer), 0, "remove some");
	expect_changed(&answer, "of members", 5000, 0);
	expect_equal(shadow_remove(shadow, 99, 10, 0, &answer), -ENOENT,
		     "of members and non-members");
	expect_equal(answer.at, IPCUCKOO_A_HOSTS4, "at fault");
	expect(answer.has_cookie && answer.cookie == 2,
	       "the third entry is at fault: %u", answer.cookie);
	expect_equal(shadow_remove(shadow, 90, 20, IPCUCKOO_F_EXIST, &answer), 0, "EXIST");
	expect_changed(&answer, "of some non-members, EXIST", 9, 11);
	expect_equal(shadow_hosts(cl, shadow, 200, 10), 0, "add some again");
	expect_equal(figure(cl, "hosts", IPCUCKOO_A_ENTRIES), 10000, "entries before the commit");
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_COMMIT, shadow, 0), 0, "commit");
	expect_equal(figure(cl, "hosts", IPCUCKOO_A_ENTRIES), 4999, "entries after it");
	expect(figure(cl, "hosts", IPCUCKOO_A_MEMORY) < memory * 6 / 10, "memory after it");
	ktap_case("entries are removed from a shadow");

	expect_equal(set_new(cl, "filter", IPCUCKOO_TYPE_FILTER_IP, IPCUCKOO_FAMILY_INET), 0,
		     "a filter");
	shadow = shadow_new(cl, "filter", IPCUCKOO_F_APPEND);
	expect_equal(shadow_remove(shadow, 1, 1, IPCUCKOO_F_EXIST, &answer), -EOPNOTSUPP,
		     "remove from a filter");
	expect_equal(answer.at, IPCUCKOO_A_SHADOW, "at fault");
	shadow_request(cl, IPCUCKOO_CMD_SHADOW_DEL, shadow, 0);
	ktap_case("entries cannot be removed from a filter that is not multi");
}

static void test_shadow_owner(void)
{
	struct client *other = client_open_or_die();
	uint64_t memory;
	uint32_t shadow;

	make_sets();
	shadow = shadow_new(other, "hosts", 0);
	expect_equal(shadow_hosts(other, shadow, 1, 10000), 0, "fill it");
	memory = figure(cl, NULL, IPCUCKOO_A_MEMORY) - 10000 * 2;
	expect_equal(shadow_hosts(cl, shadow, 1, 1), -ENOENT, "SHADOW_ADD by another socket");
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_COMMIT, shadow, 0), -ENOENT,
		     "SHADOW_COMMIT by another socket");
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_DEL, shadow, 0), -ENOENT,
		     "SHADOW_DEL by another socket");
	client_close(other);
	expect(wait_until(figure(cl, NULL, IPCUCKOO_A_MEMORY) <= memory, 5),
	       "closing the socket frees its memory");
	ktap_case("a shadow belongs to its socket");

	shadow = shadow_new(cl, "hosts", 0);
	shadow_hosts(cl, shadow, 1, 10000);
	expect_equal(set_request(cl, IPCUCKOO_CMD_SET_DEL, "hosts"), 0,
		     "a set with a shadow can be destroyed");
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_COMMIT, shadow, 0), -ENOENT,
		     "the shadow cannot be committed then");
	set_new(cl, "hosts", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET);
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_COMMIT, shadow,
				    IPCUCKOO_F_OVERRIDE), -ENOENT,
		     "the shadow cannot be committed into a new set of that name");
	shadow_request(cl, IPCUCKOO_CMD_SHADOW_DEL, shadow, 0);
	expect_equal(figure(cl, "hosts", IPCUCKOO_A_ENTRIES), 0, "entries of the new set");
	ktap_case("a shadow whose set was destroyed");
}

/* A capacity is a hint: unusual values may be refused or take time, but must do no harm. */
static void test_capacity(void)
{
	static const uint32_t capacities[] = { 0, 1, 1 << 20, 1 << 28, UINT32_MAX };
	struct nlmsghdr *nlh;
	struct answer answer;
	uint32_t shadow;
	size_t i, kind;

	make_sets();
	for (i = 0; i < sizeof(capacities) / sizeof(*capacities); i++) {
		for (kind = 0; kind < 4; kind++) {
			nlh = client_begin(cl, IPCUCKOO_CMD_SHADOW_NEW);
			mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "any");
			mnl_attr_put_u32(nlh, IPCUCKOO_A_CAPACITY_HOSTS4 + kind, capacities[i]);
			client_ask(cl, &answer);
			expect(!answer.error || answer.error == -EDQUOT ||
			       answer.error == -ENOMEM || answer.error == -ENOSPC,
			       "a capacity of %u: %d", capacities[i], answer.error);
			if (answer.error)
				continue;
			shadow = answer_number(&answer, IPCUCKOO_A_SHADOW);
			expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_DEL, shadow, 0),
				     0, "delete it");
		}
	}
	ktap_case("capacities of any size");
}

/* SET_NEW, or SHADOW_NEW with CREATE, of a set with a description, if it is not NULL. */
static int describe(uint8_t cmd, const char *name, const char *text, uint32_t flags,
		    struct answer *answer)
{
	struct nlmsghdr *nlh = client_begin(cl, cmd);

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, IPCUCKOO_TYPE_HASH_IP);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, IPCUCKOO_FAMILY_INET);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, flags);
	if (text)
		mnl_attr_put_strz(nlh, IPCUCKOO_A_DESCRIPTION, text);
	return client_ask(cl, answer);
}

static bool is_described(const char *name, const char *text)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_SET_GET);
	const struct nlattr *attr;
	struct answer answer;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	if (client_ask(cl, &answer))
		return false;
	attr = answer.attr[IPCUCKOO_A_DESCRIPTION];
	return text ? attr && !strcmp(mnl_attr_get_str(attr), text) : !attr;
}

static void test_description(void)
{
	char longest[IPCUCKOO_DESCRIPTION_MAX + 1] = "";
	uint64_t before = figure(cl, NULL, IPCUCKOO_A_MEMORY), charged, own;
	struct answer answer;
	struct nlmsghdr *nlh;
	uint32_t shadow;

	memset(longest, '\xff', IPCUCKOO_DESCRIPTION_MAX);
	expect_equal(describe(IPCUCKOO_CMD_SET_NEW, "d", NULL, 0, &answer), 0, "a set without");
	expect(is_described("d", NULL), "it has none");
	charged = figure(cl, NULL, IPCUCKOO_A_MEMORY) - before;
	own = figure(cl, "d", IPCUCKOO_A_MEMORY);
	expect_equal(set_request(cl, IPCUCKOO_CMD_SET_DEL, "d"), 0, "it is destroyed");
	expect(wait_until(figure(cl, NULL, IPCUCKOO_A_MEMORY) <= before, 5), "its memory is back");
	expect_equal(describe(IPCUCKOO_CMD_SET_NEW, "d", longest, 0, &answer), 0, "the longest");
	expect(is_described("d", longest), "a set has it");
	/* Without checks in the kernel, a set fills its allocation, and the text needs more. */
	charged = figure(cl, NULL, IPCUCKOO_A_MEMORY) - before - charged;
	own = figure(cl, "d", IPCUCKOO_A_MEMORY) - own;
	expect_equal(charged, own, "what the description takes is charged");
	expect(own >= IPCUCKOO_DESCRIPTION_MAX || own == 0, "%llu bytes", (unsigned long long)own);
	expect_equal(describe(IPCUCKOO_CMD_SET_NEW, "d", "other", IPCUCKOO_F_EXIST, &answer), 0,
		     "EXIST with another one");
	expect(is_described("d", longest), "the set keeps its own");
	expect_equal(set_request(cl, IPCUCKOO_CMD_SET_DEL, "d"), 0, "it is destroyed");
	expect(wait_until(figure(cl, NULL, IPCUCKOO_A_MEMORY) <= before, 5), "all memory is back");

	expect_equal(describe(IPCUCKOO_CMD_SHADOW_NEW, "d", "of a shadow", IPCUCKOO_F_CREATE,
			      &answer), 0, "a shadow with one");
	shadow = answer_number(&answer, IPCUCKOO_A_SHADOW);
	nlh = client_begin(cl, IPCUCKOO_CMD_SET_NEW);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "d");
	mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, shadow);
	expect_equal(client_ask(cl, &answer), 0, "its set is created: %s", answer.message);
	expect(is_described("d", "of a shadow"), "it has the description");
	expect_equal(describe(IPCUCKOO_CMD_SET_NEW, "e", "", 0, &answer), 0, "an empty one");
	expect(is_described("e", NULL), "is none");
	set_request(cl, IPCUCKOO_CMD_SET_DEL, "d");
	set_request(cl, IPCUCKOO_CMD_SET_DEL, "e");
	ktap_case("descriptions of sets");
}

/* Request more memory than there is, without a memory limit of the module. The OOM killer must not
 * run because of it.
 */
static void test_memory(void)
{
	unsigned int i, refused = 0;
	struct nlmsghdr *nlh;
	struct answer answer;
	uint64_t before;

	everything(cl, IPCUCKOO_CMD_DETACH);
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	client_close(cl);
	expect(wait_until(!module_unload(), 20), "the module can be unloaded");
	module_load("");
	cl = client_open_or_die();
	set_new(cl, "hosts", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET);
	before = figure(cl, NULL, IPCUCKOO_A_MEMORY);
	for (i = 0; i < 50; i++) {
		nlh = client_begin(cl, IPCUCKOO_CMD_SHADOW_NEW);
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "hosts");
		mnl_attr_put_u32(nlh, IPCUCKOO_A_CAPACITY_HOSTS4, UINT32_MAX);
		client_ask(cl, &answer);
		expect(!answer.error || answer.error == -ENOMEM, "a capacity of 2^32 hosts: %d",
		       answer.error);
		refused += !!answer.error;
	}
	printf("# %u shadows for 2^32 hosts each, %u refused\n", i, refused);
	client_close(cl);
	cl = client_open_or_die();
	expect(wait_until(figure(cl, NULL, IPCUCKOO_A_MEMORY) == before, 20),
	       "all memory is freed");
	expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "hosts", 1, 1000), 0,
		     "smaller requests succeed afterwards");
	ktap_case("a request for more memory than there is");
}

int main(void)
{
	bool slow = getenv("IPCUCKOO_KERNEL") && strcmp(getenv("IPCUCKOO_KERNEL"), "stock");

	fixture_begin("netlink-sets");
	test_exist();
	test_test();
	test_batches();
	test_maxelem();
	test_change();
	test_rename();
	test_swap();
	test_shadow();
	test_shadow_remove();
	test_shadow_owner();
	test_capacity();
	test_description();
	if (!slow)
		test_memory();
	return fixture_end();
}
