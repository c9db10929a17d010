// SPDX-License-Identifier: GPL-2.0
/*
 * Changes sets while churn.sh has packets flow through them.
 *
 *   churn-writer lists DIR		write the lists of members and of non-members
 *   churn-writer hosts SET LANE COUNT	add and delete up to COUNT hosts
 *   churn-writer nets SET LANE COUNT	add and delete up to COUNT prefixes
 *   churn-writer nested SET		let nested prefixes replace each other
 *   churn-writer replace SET FILE	replace the contents, again and again
 *   churn-writer swap SET FILE		load a set of another name, and swap it
 *   churn-writer procfs SET LANE	add and delete through /proc
 *   churn-writer attach SET OTHER	attach and detach sets
 *   churn-writer states SET		check that each dump shows one state
 *   churn-writer destroy		destroy sets during a dump
 *   churn-writer kill SET		kill processes that fill shadows
 *   churn-writer pour DEV MAC		send packets whose fate does not matter
 *
 * All except lists run until SIGTERM or for the seconds given with -t, and leave the sets as they
 * found them. A lane is 0 or 1: two writers with different lanes never change the same entry, so
 * each knows what the kernel has to answer.
 *
 * Members are always in the sets, non-members never, and entries of a lane are added and deleted.
 * Their addresses are interleaved, so that they share hint words, buckets and halves of keys:
 *
 *   64.0.0.0/4		hosts; last two bits 0: member, 1: non-member, else of a lane
 *   80.0.0.0/4		prefixes; a /22 has members, non-members, or entries of a lane
 *   112.0.0.0/4	nested prefixes, one of each two is always in the set
 *   144.0.0.0, 2500::	hosts that are added and deleted through /proc
 *   2400::/8		hosts, (high[a], low[b]); a member if a = b, of a lane if b follows a
 *			closely, else a non-member
 *   2a00::/8		prefixes; a /56 has members, non-members, or entries of a lane
 *   3000::/8		nested prefixes
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "frames.h"
#include "ipcuckoo.h"
#include "lists.h"

#define MEMBERS		1500	/* hosts that are always in a set, of each kind */
#define NETS		400	/* prefixes that are always in a set, of each family */
#define NON_MEMBERS	4000	/* of each family */
#define HALVES		4096	/* halves of keys of IPv6 hosts; a power of two */
#define CLOSE		256	/* how far the second halves of a lane may follow the first */
#define BATCH		1000
#define GROUP		12000	/* hosts that are added and deleted together */
#define REPORTED_MAX	5

#define REQUEST_SIZE	(1 << 18)

static uint64_t seed = 1;
static double seconds = 3600;
static double began;
static volatile sig_atomic_t stop;
static unsigned long wrong;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static bool go_on(void)
{
	return !stop && now() - began < seconds;
}

/* Like go_on(), but continue for up to two more minutes, because the machine may be slow, until
 * @seen: until what the caller waits for has happened.
 */
static bool go_on_until(bool seen)
{
	return go_on() || (!stop && !seen && now() - began < seconds + 120);
}

#define report(...) do {				\
	if (wrong++ < REPORTED_MAX) {			\
		printf("wrong: " __VA_ARGS__);	\
		putchar('\n');			\
	}					\
} while (0)

/* Addresses */

static uint64_t mix(uint64_t x)
{
	x = (x + seed * 0x632be59bd9b4e019 + 1) * 0x9e3779b97f4a7c15;
	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9;
	return x ^ x >> 32;
}

enum {
	MEMBER,
	NON_MEMBER,
	LANE,		/* LANE + 1 is the second lane */
};

static uint32_t host4(uint32_t i, unsigned int class)
{
	return 64U << 24 | ((uint32_t)mix(i) & 0x0ffffffc) | class;
}

static addr_t halves(uint32_t a, uint32_t b, unsigned int class)
{
	uint64_t high = 0x24ULL << 56 | mix(a % HALVES + (1ULL << 40)) >> 8;
	uint64_t low = mix(b % HALVES + (2ULL << 40)) << 2 | class;

	return (addr_t)high << 64 | low;
}

static addr_t host6(uint32_t i, unsigned int class)
{
	uint32_t r = mix(i + (3ULL << 40));

	switch (class) {
	case MEMBER:
		return halves(i, i, MEMBER);
	case NON_MEMBER:
		/* Both halves also occur in members, and in hosts of the lanes. */
		return halves(i, i + CLOSE + r % (HALVES - 2 * CLOSE), r >> 24 & 3);
	default:
		return halves(i, i + i / HALVES % CLOSE, class);
	}
}

/* The block of each class, of four neighbouring blocks. */
static const uint8_t block_of[] = { [MEMBER] = 0, [NON_MEMBER] = 2, [LANE] = 1, 3 };

/* Address number @i of a class. *len is set to the length of a prefix around it that is inside of
 * the block of the class.
 */
static addr_t net4(uint32_t i, unsigned int class, unsigned int *len)
{
	uint64_t r = mix(i + ((4ULL + class) << 40));

	*len = 22 + (r >> 32) % 10;
	return 80U << 24 | ((uint32_t)r & 0x0ffff3ff) | block_of[class] << 10;
}

static addr_t net6(uint32_t i, unsigned int class, unsigned int *len)
{
	uint64_t r = mix(i + ((8ULL + class) << 40)), low = mix(r);

	*len = 56 + (low >> 7) % 72;
	return (addr_t)(0x2aULL << 56 | (r >> 8 & ~(3ULL << 8)) |
			block_of[class] << 8) << 64 | low;
}

/**
 * struct entry - an address or a prefix
 * @addr:	address
 * @len:	prefix length
 * @v6:		IPv6, not IPv4
 */
struct entry {
	addr_t addr;
	uint8_t len;
	bool v6;
};

static struct entry host(uint32_t i, unsigned int class)
{
	bool v6 = i & 1;

	return (struct entry){
		.addr = v6 ? host6(i / 2, class) : host4(i / 2, class),
		.len = addr_bits(v6), .v6 = v6,
	};
}

static struct entry net(uint32_t i, unsigned int class)
{
	bool v6 = i & 1;
	unsigned int len;
	addr_t addr = v6 ? net6(i / 2, class, &len) : net4(i / 2, class, &len);

	return (struct entry){
		.addr = addr & ~host_mask(v6, len), .len = len, .v6 = v6,
	};
}

/* Lengths of nested prefixes. At least one of both is always in the set, so addresses in the inner
 * one always match.
 */
static const uint8_t nestings[][3] = {
	/* IPv6, outer, inner */
	{ 0, 8, 16 }, { 0, 12, 24 }, { 0, 16, 24 }, { 0, 20, 24 }, { 0, 20, 32 },
	{ 0, 24, 32 }, { 0, 25, 29 }, { 0, 16, 32 },
	{ 1, 12, 32 }, { 1, 20, 40 }, { 1, 32, 48 }, { 1, 48, 64 }, { 1, 44, 128 },
	{ 1, 64, 96 }, { 1, 64, 128 }, { 1, 16, 128 },
};

#define NESTINGS	(sizeof(nestings) / sizeof(*nestings))
#define INSTANCES	4	/* of each */
#define PAIRS		(NESTINGS * INSTANCES)

static struct entry nested(unsigned int pair, bool inner)
{
	const uint8_t *n = nestings[pair / INSTANCES];
	unsigned int i = pair % INSTANCES, k = pair / INSTANCES;
	struct entry e = { .v6 = n[0], .len = n[1 + inner] };

	/* There is no room for a second instance of the shortest prefixes. */
	if (k == 0 || k == 8)
		i = 0;
	if (e.v6)
		e.addr = (addr_t)(0x3000 + (k - 8) * 0x40 + 2 * i) << 112 |
			 (addr_t)0x0db8512377779999 << 48 | 0x1234;
	else
		e.addr = (112 + k) << 24 | (i * 64 + 33) << 16 | 0x5533;
	e.addr &= ~host_mask(e.v6, e.len);
	return e;
}

static bool nested_double(unsigned int pair)
{
	return pair % INSTANCES &&
	       (pair / INSTANCES == 0 || pair / INSTANCES == 8);
}

/* Netlink */

static struct mnl_socket *nl;
static uint16_t family;
static uint32_t nl_seq;
static uint8_t request[REQUEST_SIZE];
static uint8_t answer[REQUEST_SIZE];

/* The attributes of the last answer. */
static uint64_t got[IPCUCKOO_A_MAX + 1];

static struct mnl_socket *nl_open(void)
{
	struct mnl_socket *s = mnl_socket_open(NETLINK_GENERIC);

	if (!s || mnl_socket_bind(s, 0, MNL_SOCKET_AUTOPID))
		err(2, "netlink");
	return s;
}

static struct nlmsghdr *message(uint16_t type, uint16_t flags, uint8_t cmd)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(request);
	struct genlmsghdr *g;

	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | flags;
	h->nlmsg_seq = ++nl_seq;
	g = mnl_nlmsg_put_extra_header(h, sizeof(*g));
	g->cmd = cmd;
	g->version = 1;
	return h;
}

static struct nlmsghdr *command(uint8_t cmd, const char *set)
{
	struct nlmsghdr *h = message(family, NLM_F_ACK, cmd);

	if (set)
		mnl_attr_put_strz(h, IPCUCKOO_A_SET, set);
	return h;
}

static int take_attr(const struct nlattr *a, void *data)
{
	uint16_t type = mnl_attr_get_type(a);

	(void)data;
	if (type > IPCUCKOO_A_MAX)
		return MNL_CB_OK;
	if (mnl_attr_get_payload_len(a) == 8)
		memcpy(&got[type], mnl_attr_get_payload(a), 8);
	else if (mnl_attr_get_payload_len(a) == 4)
		got[type] = mnl_attr_get_u32(a);
	return MNL_CB_OK;
}

static int take(const struct nlmsghdr *h, void *data)
{
	(void)data;
	mnl_attr_parse(h, sizeof(struct genlmsghdr), take_attr, NULL);
	return MNL_CB_OK;
}

/* Send a request and wait for its acknowledgment. Returns 0 or an errno. */
static int talk(struct nlmsghdr *h, mnl_cb_t cb, void *data)
{
	int n, ret = MNL_CB_OK;

	memset(got, 0, sizeof(got));
	if (mnl_socket_sendto(nl, h, h->nlmsg_len) < 0)
		err(2, "send");
	while (ret > 0) {
		n = mnl_socket_recvfrom(nl, answer, sizeof(answer));
		if (n < 0)
			err(2, "recv");
		ret = mnl_cb_run(answer, n, h->nlmsg_seq,
				 mnl_socket_get_portid(nl), cb, data);
	}
	return ret < 0 ? errno : 0;
}

/* A request that has waited too long for others fails with EAGAIN, and has changed nothing. Send it again, as
 * long as the tool does.
 */
static int ask(struct nlmsghdr *h)
{
	time_t end = time(NULL) + 30;
	int code;

	do {
		code = talk(h, take, NULL);
	} while (code == EAGAIN && time(NULL) < end);
	return code;
}

/* Send a request that must succeed. */
static void must(struct nlmsghdr *h, const char *what)
{
	int code = ask(h);

	if (code)
		report("%s: %s", what, strerror(code));
}

static int take_family(const struct nlattr *a, void *data)
{
	(void)data;
	if (mnl_attr_get_type(a) == CTRL_ATTR_FAMILY_ID)
		family = mnl_attr_get_u16(a);
	return MNL_CB_OK;
}

static int take_ctrl(const struct nlmsghdr *h, void *data)
{
	return mnl_attr_parse(h, sizeof(struct genlmsghdr), take_family, data);
}

static void nl_begin(void)
{
	struct nlmsghdr *h;
	int code;

	nl = nl_open();
	h = message(GENL_ID_CTRL, NLM_F_ACK, CTRL_CMD_GETFAMILY);
	mnl_attr_put_strz(h, CTRL_ATTR_FAMILY_NAME, IPCUCKOO_FAMILY_NAME);
	code = talk(h, take_ctrl, NULL);
	if (code)
		errx(2, "no such family: %s", strerror(code));
}

static void put_entries(struct nlmsghdr *h, const struct entry *e,
			unsigned int count)
{
	static const uint16_t attrs[2][2] = {
		{ IPCUCKOO_A_HOSTS4, IPCUCKOO_A_NETS4 },
		{ IPCUCKOO_A_HOSTS6, IPCUCKOO_A_NETS6 },
	};
	static uint8_t data[1 << 16];
	unsigned int v6, nets, i, size;

	for (v6 = 0; v6 < 2; v6++) {
		for (nets = 0; nets < 2; nets++) {
			size = 0;
			for (i = 0; i < count; i++) {
				if (e[i].v6 != v6 || nets != (e[i].len < addr_bits(v6)))
					continue;
				addr_store(data + size, e[i].addr, v6);
				size += v6 ? 16 : 4;
				if (nets)
					data[size++] = e[i].len;
			}
			if (size)
				mnl_attr_put(h, attrs[v6][nets], size, data);
		}
	}
}

/* Add or delete entries. Returns how many of them were added or deleted. */
static unsigned int change(uint8_t cmd, const char *set, const struct entry *e,
			   unsigned int count)
{
	struct nlmsghdr *h = command(cmd, set);

	if (!count)
		return 0;
	mnl_attr_put_u32(h, IPCUCKOO_A_FLAGS, IPCUCKOO_F_EXIST);
	put_entries(h, e, count);
	must(h, cmd == IPCUCKOO_CMD_ENTRY_ADD ? "add" : "delete");
	return got[IPCUCKOO_A_CHANGED];
}

static void create(const char *set, uint8_t type, uint8_t fam)
{
	struct nlmsghdr *h = command(IPCUCKOO_CMD_SET_NEW, set);

	mnl_attr_put_u8(h, IPCUCKOO_A_TYPE, type);
	mnl_attr_put_u8(h, IPCUCKOO_A_FAMILY, fam);
	must(h, "create");
}

static uint64_t memory_used(void)
{
	must(command(IPCUCKOO_CMD_INFO, NULL), "info");
	return got[IPCUCKOO_A_MEMORY];
}

/* Lists */

static FILE *open_file(const char *dir, const char *name)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f)
		err(2, "%s", path);
	return f;
}

static void put_line(FILE *f, struct entry e)
{
	fprintf(f, "%s/%u\n", addr_text(e.addr, e.v6), e.len);
}

static int lists(const char *dir)
{
	FILE *hosts = open_file(dir, "hosts"), *nets = open_file(dir, "nets");
	FILE *pairs = open_file(dir, "nested");
	FILE *never = open_file(dir, "non-members");
	FILE *beside = open_file(dir, "beside");
	unsigned int len;
	struct entry e;
	uint32_t i;

	for (i = 0; i < 2 * MEMBERS; i++)
		put_line(hosts, host(i, MEMBER));
	for (i = 0; i < 2 * NETS; i++)
		put_line(nets, net(i, MEMBER));
	for (i = 0; i < PAIRS; i++) {
		if (nested_double(i))
			continue;
		put_line(pairs, nested(i, true));
		e = nested(i, false);
		fprintf(beside, "%s\n", addr_text(e.addr - 1, e.v6));
		fprintf(beside, "%s\n", addr_text((e.addr | host_mask(e.v6, e.len)) + 1,
						  e.v6));
	}
	for (i = 0; i < NON_MEMBERS; i++) {
		put_line(never, host(i, NON_MEMBER));
		if (i & 1)
			fprintf(never, "%s\n", addr_text(net4(i, NON_MEMBER, &len), false));
		else
			fprintf(never, "%s\n", addr_text(net6(i, NON_MEMBER, &len), true));
	}
	return fclose(hosts) || fclose(nets) || fclose(pairs) ||
	       fclose(never) || fclose(beside) ? 2 : 0;
}

/* Entries that are added and deleted */

/* Add or delete the entries with these numbers, and check that the kernel changes as many as the
 * model expects.
 */
static void move(const char *set, struct entry (*make)(uint32_t, unsigned int),
		 unsigned int class, bool *in, const uint32_t *numbers,
		 unsigned int count, bool add)
{
	static struct entry batch[BATCH];
	unsigned int i, due = 0, done;

	for (i = 0; i < count; i++) {
		batch[i] = make(numbers[i], class);
		due += in[numbers[i]] != add;
		in[numbers[i]] = add;
	}
	done = change(add ? IPCUCKOO_CMD_ENTRY_ADD : IPCUCKOO_CMD_ENTRY_DEL,
		      set, batch, count);
	if (done != due)
		report("%s of %u entries changed %u, not %u", add ? "addition" :
		     "deletion", count, done, due);
}

/* Prefixes of different addresses may be the same after they were shortened: keep each once. */
static int order_entries(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct entry));
}

static bool *number_twins(struct entry (*make)(uint32_t, unsigned int),
			  unsigned int class, uint32_t *count)
{
	struct entry *e = calloc(*count, sizeof(*e)), *sorted;
	bool *twin = calloc(*count, sizeof(*twin));
	uint32_t i;

	sorted = calloc(*count, sizeof(*sorted));
	if (!e || !twin || !sorted)
		err(2, "calloc");
	for (i = 0; i < *count; i++) {
		struct entry x = make(i, class);

		/* Set all bytes, because padding is compared, too. */
		e[i].addr = x.addr;
		e[i].len = x.len;
		e[i].v6 = x.v6;
	}
	memcpy(sorted, e, *count * sizeof(*e));
	qsort(sorted, *count, sizeof(*e), order_entries);
	for (i = 0; i < *count; i++) {
		struct entry *at = bsearch(&e[i], sorted, *count, sizeof(*e),
					   order_entries);

		twin[i] = (at > sorted && !order_entries(at - 1, at)) ||
			  (at + 1 < sorted + *count && !order_entries(at + 1, at));
	}
	free(sorted);
	free(e);
	return twin;
}

/* Mostly add entries for a while, then mostly delete them, so that the tables grow and shrink. */
static int come_and_go(const char *set, struct entry (*make)(uint32_t, unsigned int),
		       unsigned int lane, uint32_t count)
{
	unsigned int class = LANE + lane, n, i;
	unsigned long changes = 0, messages = 0;
	bool *in = calloc(count, sizeof(*in));
	bool *twin = number_twins(make, class, &count);
	uint32_t numbers[BATCH];
	unsigned int growing = 90;
	uint32_t number;

	while (go_on()) {
		/* Single changes, and batches of changes. */
		n = rng_below(3) ? 1 : 1 + rng_below(BATCH);
		if (!rng_below(40))
			growing = growing > 50 ? 10 : 90;
		number = rng_below(count);
		for (i = 0; i < n; i++) {
			while (twin[number % count])
				number++;
			numbers[i] = number % count;
			number = n > 1 ? number + 1 : 0;
		}
		move(set, make, class, in, numbers, n, rng_below(100) < growing);
		changes += n;
		messages++;
	}
	for (i = n = 0; i < count; i++) {
		if (in[i])
			numbers[n++] = i;
		if (n == BATCH || i + 1 == count) {
			move(set, make, class, in, numbers, n, false);
			n = 0;
		}
	}
	printf("%s: %lu entries added or deleted in %lu messages\n", set, changes,
	       messages);
	return wrong ? 1 : 0;
}

static int take_over(const char *set)
{
	static bool in[PAIRS][2];
	unsigned long changes = 0;
	unsigned int pair, which;
	struct entry e;

	for (pair = 0; pair < PAIRS; pair++)
		in[pair][1] = true;
	while (go_on()) {
		pair = rng_below(PAIRS);
		if (nested_double(pair))
			continue;
		which = rng_below(2);
		/* Add one of the two prefixes, then delete the other one. */
		if (!in[pair][which]) {
			e = nested(pair, which);
			if (change(IPCUCKOO_CMD_ENTRY_ADD, set, &e, 1) != 1)
				report("a prefix could not be added");
			in[pair][which] = true;
			changes++;
		}
		if (in[pair][!which]) {
			e = nested(pair, !which);
			if (change(IPCUCKOO_CMD_ENTRY_DEL, set, &e, 1) != 1)
				report("a prefix could not be deleted");
			in[pair][!which] = false;
			changes++;
		}
	}
	for (pair = 0; pair < PAIRS; pair++) {
		struct entry inner = nested(pair, true), outer = nested(pair, false);

		if (nested_double(pair))
			continue;
		change(IPCUCKOO_CMD_ENTRY_ADD, set, &inner, 1);
		change(IPCUCKOO_CMD_ENTRY_DEL, set, &outer, 1);
	}
	printf("%s: %lu prefixes added or deleted\n", set, changes);
	return wrong ? 1 : 0;
}

/* Shadows */

static uint32_t shadow_new(const char *set, uint32_t flags, uint32_t capacity)
{
	struct nlmsghdr *h = command(IPCUCKOO_CMD_SHADOW_NEW, set);

	if (flags)
		mnl_attr_put_u32(h, IPCUCKOO_A_FLAGS, flags);
	if (capacity)
		mnl_attr_put_u32(h, IPCUCKOO_A_CAPACITY_HOSTS4, capacity);
	must(h, "a shadow");
	return got[IPCUCKOO_A_SHADOW];
}

static void shadow_add(uint32_t shadow, const struct entry *e, unsigned int count)
{
	struct nlmsghdr *h = command(IPCUCKOO_CMD_SHADOW_ADD, NULL);

	mnl_attr_put_u32(h, IPCUCKOO_A_SHADOW, shadow);
	put_entries(h, e, count);
	must(h, "an addition to a shadow");
}

static int shadow_commit(uint32_t shadow, uint32_t flags)
{
	struct nlmsghdr *h = command(IPCUCKOO_CMD_SHADOW_COMMIT, NULL);

	mnl_attr_put_u32(h, IPCUCKOO_A_SHADOW, shadow);
	if (flags)
		mnl_attr_put_u32(h, IPCUCKOO_A_FLAGS, flags);
	return ask(h);
}

/* The entries of a file, both families, in any order. */
static struct entry *read_entries(const char *path, unsigned int *count)
{
	struct list list[2] = {};
	struct entry *entries;
	unsigned int v6, n = 0;
	size_t i;

	list_read(list, path);
	entries = calloc(list[0].count + list[1].count + 1, sizeof(*entries));
	if (!entries)
		err(2, "calloc");
	for (v6 = 0; v6 < 2; v6++) {
		for (i = 0; i < list[v6].count; i++, n++) {
			addr_t span = list[v6].entries[i].last -
				      list[v6].entries[i].first;

			entries[n].addr = list[v6].entries[i].first;
			entries[n].v6 = v6;
			entries[n].len = addr_bits(v6);
			for (; span; span >>= 1)
				entries[n].len--;
		}
	}
	*count = n;
	return entries;
}

static void fill_shadow(uint32_t shadow, const struct entry *e, unsigned int count)
{
	unsigned int n;

	for (; count; e += n, count -= n) {
		n = count < BATCH ? count : BATCH;
		shadow_add(shadow, e, n);
	}
}

/* Commit all members, and some random entries of lane 0, again and again. */
static int replace(const char *set, const char *file)
{
	static struct entry more[BATCH];
	unsigned int count, i, rounds = 0, begin, batches;
	struct entry *always = read_entries(file, &count);
	uint32_t shadow;
	int code;

	while (go_on()) {
		shadow = shadow_new(set, 0, rng_below(3) ? 0 : rng_below(20000));
		batches = rng_below(12);
		while (batches--) {
			begin = rng_below(100000);
			for (i = 0; i < BATCH; i++)
				more[i] = host(begin + i, LANE);
			shadow_add(shadow, more, BATCH);
		}
		fill_shadow(shadow, always, count);
		code = shadow_commit(shadow, IPCUCKOO_F_OVERRIDE);
		if (code)
			report("a commit: %s", strerror(code));
		rounds++;
	}
	shadow = shadow_new(set, 0, 0);
	fill_shadow(shadow, always, count);
	if (shadow_commit(shadow, 0))
		report("the last commit failed");
	printf("%s: replaced %u times\n", set, rounds);
	return wrong ? 1 : 0;
}

static void two_sets(uint8_t cmd, const char *set, const char *other)
{
	struct nlmsghdr *h = command(cmd, set);

	mnl_attr_put_strz(h, IPCUCKOO_A_SET_TO, other);
	must(h, "rename or swap");
}

/* Both sets have all members. After each swap, the set that was swapped out is flushed or
 * destroyed at once.
 */
static int swap_sets(const char *set, const char *file)
{
	unsigned int count, rounds = 0, i;
	struct entry *always = read_entries(file, &count);
	static struct entry more[BATCH];
	uint32_t shadow;

	create("spare", IPCUCKOO_TYPE_HASH_NET, IPCUCKOO_FAMILY_ANY);
	while (go_on()) {
		shadow = shadow_new("spare", 0, count);
		fill_shadow(shadow, always, count);
		for (i = 0; i < BATCH; i++)
			more[i] = host(rng_below(100000), LANE);
		if (rng_below(2))
			shadow_add(shadow, more, BATCH);
		if (shadow_commit(shadow, 0))
			report("a commit to the spare set failed");
		two_sets(IPCUCKOO_CMD_SET_RENAME, "spare", "next");
		two_sets(IPCUCKOO_CMD_SET_SWAP, "next", set);
		if (rng_below(2)) {
			must(command(IPCUCKOO_CMD_SET_FLUSH, "next"), "flush");
			two_sets(IPCUCKOO_CMD_SET_RENAME, "next", "spare");
		} else {
			must(command(IPCUCKOO_CMD_SET_DEL, "next"), "destroy");
			create("spare", IPCUCKOO_TYPE_HASH_NET, IPCUCKOO_FAMILY_ANY);
		}
		rounds++;
	}
	must(command(IPCUCKOO_CMD_SET_DEL, "spare"), "destroy");
	shadow = shadow_new(set, 0, 0);
	fill_shadow(shadow, always, count);
	if (shadow_commit(shadow, 0))
		report("the last commit failed");
	printf("%s: swapped in %u rounds\n", set, rounds);
	return wrong ? 1 : 0;
}

/* Write lines to /proc: a single line is applied directly, several go through a shadow. */
static int procfs(const char *set, unsigned int lane)
{
	char path[128], text[4096];
	unsigned long writes = 0;
	unsigned int n = 0, i, size;
	bool add = true, v6;
	int fd;

	snprintf(path, sizeof(path), "/proc/net/ipcuckoo/set/%s", set);
	fd = open(path, O_RDWR);
	if (fd < 0)
		err(2, "%s", path);
	while (go_on() || !add) {
		/* Each write deletes what the one before has added. */
		if (add)
			n = 1 + rng_below(20) * rng_below(2);
		for (i = size = 0; i < n; i++) {
			v6 = i & 1;
			size += snprintf(text + size, sizeof(text) - size, "%c%s\n",
					 add ? '+' : '-',
					 addr_text((v6 ? (addr_t)0x25 << 120 :
						    144U << 24) + i * 4 + lane, v6));
		}
		if (write(fd, text, size) != (ssize_t)size)
			report("a write of %u lines: %s", n, strerror(errno));
		add = !add;
		writes++;
	}
	close(fd);
	printf("%s: %lu writes to its file\n", set, writes);
	return wrong ? 1 : 0;
}

/* Attachments */

static uint32_t attach(const char *set, uint8_t dir, uint8_t verdict, int32_t order,
		       const char *dev)
{
	struct nlmsghdr *h = command(IPCUCKOO_CMD_ATTACH, set);

	mnl_attr_put_u8(h, IPCUCKOO_A_DIRECTION, dir);
	mnl_attr_put_u8(h, IPCUCKOO_A_VERDICT, verdict);
	if (verdict == IPCUCKOO_VERDICT_MARK)
		mnl_attr_put_u32(h, IPCUCKOO_A_MARK, order & 0xff);
	mnl_attr_put_u32(h, IPCUCKOO_A_ORDER, order);
	if (verdict == IPCUCKOO_VERDICT_PREFETCH)
		mnl_attr_put_u8(h, IPCUCKOO_A_PLACE, IPCUCKOO_PLACE_INGRESS);
	if (dev)
		mnl_attr_put_strz(h, IPCUCKOO_A_DEV, dev);
	must(h, "attach");
	return got[IPCUCKOO_A_ATTACHMENT];
}

static void detach(uint32_t id)
{
	struct nlmsghdr *h = command(IPCUCKOO_CMD_DETACH, NULL);

	mnl_attr_put_u32(h, IPCUCKOO_A_ATTACHMENT, id);
	must(h, "detach");
}

/* At any time, at least one of two attachments, or the one with direction src before and after
 * that, drops the members of @set. @other is attached in many ways that let packets pass, and for
 * @set the processor prefetches from time to time.
 */
static int attachments(const char *set, const char *other)
{
	static const uint8_t verdicts[] = {
		IPCUCKOO_VERDICT_COUNT, IPCUCKOO_VERDICT_MARK,
		IPCUCKOO_VERDICT_ACCEPT,
	};
	static const char * const devs[] = { NULL, "c0", "s0", "none0" };
	uint32_t drop[2] = {}, ids[9] = {};
	unsigned long changes = 0;
	struct nlmsghdr *h;
	unsigned int i;

	drop[0] = attach(set, IPCUCKOO_DIR_BOTH, IPCUCKOO_VERDICT_DROP, 0, "c0");
	h = command(IPCUCKOO_CMD_DETACH, set);
	mnl_attr_put_u8(h, IPCUCKOO_A_DIRECTION, IPCUCKOO_DIR_SRC);
	must(h, "detach");
	while (go_on()) {
		if (!rng_below(3)) {
			i = !drop[1];
			drop[i] = attach(set, IPCUCKOO_DIR_BOTH,
					 IPCUCKOO_VERDICT_DROP,
					 (int32_t)rng_below(1000) - 500,
					 i ? NULL : "c0");
			detach(drop[!i]);
			drop[!i] = 0;
			changes += 2;
			continue;
		}
		i = rng_below(9);
		if (ids[i]) {
			detach(ids[i]);
			ids[i] = 0;
		} else if (i == 8) {
			ids[i] = attach(set, IPCUCKOO_DIR_BOTH, IPCUCKOO_VERDICT_PREFETCH, 0, "c0");
		} else {
			ids[i] = attach(other, 1 + i % 3,
					verdicts[i < 4 ? 0 : i < 6 ? 1 : 2],
					(int32_t)rng_below(1000) - 500, devs[i % 4]);
		}
		changes++;
	}
	for (i = 0; i < 9; i++)
		if (ids[i])
			detach(ids[i]);
	attach(set, IPCUCKOO_DIR_SRC, IPCUCKOO_VERDICT_DROP, IPCUCKOO_ORDER_DROP, NULL);
	detach(drop[!!drop[1]]);
	printf("%s: %lu attachments created or removed\n", set, changes);
	return wrong ? 1 : 0;
}

/* Dumps */

/**
 * struct dump - the result of a dump
 * @hosts:	IPv4 hosts, in the order of the dump
 * @count:	number of hosts
 * @interrupted: the kernel said that the dump was interrupted
 */
struct dump {
	uint32_t hosts[4 * GROUP];
	unsigned int count;
	bool interrupted;
};

static int take_hosts(const struct nlattr *a, void *data)
{
	const uint8_t *at = mnl_attr_get_payload(a);
	const uint8_t *end = at + mnl_attr_get_payload_len(a);
	struct dump *dump = data;

	if (mnl_attr_get_type(a) != IPCUCKOO_A_HOSTS4)
		return MNL_CB_OK;
	for (; at + 4 <= end && dump->count < 4 * GROUP; at += 4)
		dump->hosts[dump->count++] = addr_load(at, false);
	return MNL_CB_OK;
}

static int take_dump(const struct nlmsghdr *h, void *data)
{
	struct dump *dump = data;

	if (h->nlmsg_flags & NLM_F_DUMP_INTR)
		dump->interrupted = true;
	return mnl_attr_parse(h, sizeof(struct genlmsghdr), take_hosts, dump);
}

/* Run a dump to its end. libmnl would stop with EINTR after a message with NLM_F_DUMP_INTR. */
static int run_dump(struct nlmsghdr *h, struct dump *dump,
		    void (*between)(const void *data), const void *data)
{
	struct nlmsghdr *at;
	int n;

	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	dump->count = 0;
	dump->interrupted = false;
	if (mnl_socket_sendto(nl, h, h->nlmsg_len) < 0)
		err(2, "send");
	for (;;) {
		n = mnl_socket_recvfrom(nl, answer, sizeof(answer));
		if (n < 0)
			err(2, "recv");
		for (at = (void *)answer; mnl_nlmsg_ok(at, n);
		     at = mnl_nlmsg_next(at, &n)) {
			if (at->nlmsg_flags & NLM_F_DUMP_INTR)
				dump->interrupted = true;
			if (at->nlmsg_type == NLMSG_DONE ||
			    at->nlmsg_type == NLMSG_ERROR)
				return -*(int *)mnl_nlmsg_get_payload(at);
			take_dump(at, dump);
		}
		if (between)
			between(data);
		between = NULL;
	}
}

static int order_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The number of the state: 2k has only the hosts of group k, 2k + 1 those of groups k and k + 1. */
static long state_of(struct dump *dump)
{
	uint32_t *x = dump->hosts;
	unsigned int i;

	qsort(x, dump->count, sizeof(*x), order_u32);
	if (dump->count != GROUP && dump->count != 2 * GROUP)
		return -1;
	for (i = 0; i < dump->count; i++)
		if (x[i] != (((x[0] >> 16) + i / GROUP) << 16 | i % GROUP))
			return -1;
	return 2L * (x[0] >> 16) + (dump->count > GROUP);
}

static void change_group(const char *set, uint8_t cmd, uint32_t k)
{
	static struct entry e[GROUP];
	unsigned int i;

	for (i = 0; i < GROUP; i++)
		e[i] = (struct entry){ .addr = k << 16 | i, .len = 32 };
	if (change(cmd, set, e, GROUP) != GROUP)
		report("a group of hosts did not change as a whole");
}

static void replace_group(const char *set, uint32_t k)
{
	static struct entry e[BATCH];
	uint32_t shadow = shadow_new(set, 0, 0);
	unsigned int i, n;

	for (i = 0; i < GROUP; i += n) {
		for (n = 0; n < BATCH; n++)
			e[n] = (struct entry){ .addr = k << 16 | (i + n), .len = 32 };
		shadow_add(shadow, e, n);
	}
	if (shadow_commit(shadow, 0))
		report("a group of hosts could not be replaced");
}

/* progress[0]: the set has this state or a later one; progress[1]: this state or an earlier one. */
static void change_states(const char *set, volatile long *progress)
{
	uint32_t k = 1;

	nl_begin();
	while (!stop) {
		if (rng_below(4)) {
			progress[1] = 2 * k + 1;
			change_group(set, IPCUCKOO_CMD_ENTRY_ADD, k + 1);
			progress[0] = 2 * k + 1;
			usleep(rng_below(20000));
			progress[1] = 2 * k + 2;
			change_group(set, IPCUCKOO_CMD_ENTRY_DEL, k);
		} else {
			progress[1] = 2 * k + 2;
			replace_group(set, k + 1);
		}
		progress[0] = 2 * k + 2;
		usleep(rng_below(100000));
		k++;
	}
	exit(wrong ? 1 : 0);
}

static int states(const char *set)
{
	unsigned int whole = 0, interrupted = 0;
	volatile long *progress;
	static struct dump dump;
	long low, state;
	int status;
	pid_t pid;

	change_group(set, IPCUCKOO_CMD_ENTRY_ADD, 1);
	progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (progress == MAP_FAILED)
		err(2, "mmap");
	progress[0] = progress[1] = 2;
	fflush(stdout);
	pid = fork();
	if (!pid)
		change_states(set, progress);
	while (go_on_until(whole && interrupted)) {
		low = progress[0];
		status = run_dump(command(IPCUCKOO_CMD_ENTRY_GET, set), &dump,
				  NULL, NULL);
		if (status)
			report("a dump: %s", strerror(status));
		if (dump.interrupted) {
			interrupted++;
			continue;
		}
		whole++;
		state = state_of(&dump);
		if (state < low || state > progress[1])
			report("a dump of %u hosts is of state %ld, not of %ld to %ld",
			     dump.count, state, low, progress[1]);
	}
	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	if (status)
		report("the writer ended with status %#x", status);
	if (!whole || !interrupted)
		report("some dumps should be complete, and some interrupted");
	printf("%s: %u dumps of one state each, %u interrupted, %ld states\n",
	       set, whole, interrupted, progress[0]);
	return wrong ? 1 : 0;
}

/* Destroy the set after the first part of a dump. */
static void destroy_set(const void *data)
{
	struct mnl_socket *mine = nl;

	nl = nl_open();
	if (mnl_socket_sendto(nl, data, ((const struct nlmsghdr *)data)->nlmsg_len) < 0)
		err(2, "send");
	mnl_socket_close(nl);
	nl = mine;
}

static int destroy(void)
{
	unsigned int rounds = 0, cut = 0;
	static struct dump dump;
	static uint8_t copy[256];
	struct nlmsghdr *h;
	int code;

	while (go_on_until(cut)) {
		create("victim", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET);
		change_group("victim", IPCUCKOO_CMD_ENTRY_ADD, 1);
		change_group("victim", IPCUCKOO_CMD_ENTRY_ADD, 2);
		h = command(IPCUCKOO_CMD_SET_DEL, "victim");
		memcpy(copy, h, h->nlmsg_len);
		code = run_dump(command(IPCUCKOO_CMD_ENTRY_GET, "victim"), &dump,
				destroy_set, copy);
		if (code && code != ENOENT)
			report("a dump of a set that is destroyed: %s", strerror(code));
		if (!code && dump.count != 2 * GROUP && !dump.interrupted)
			report("a dump of a set that is destroyed has %u hosts and no error",
			     dump.count);
		cut += code == ENOENT;
		rounds++;
	}
	if (!cut)
		report("no dump was interrupted");
	printf("%u sets destroyed, %u dumps of them interrupted\n", rounds, cut);
	return wrong ? 1 : 0;
}

static void fill_for_ever(const char *set)
{
	static struct entry e[BATCH];
	uint32_t shadow, i, n = 0;

	nl_begin();
	/* On a slow machine this process is killed before its entries use more memory than BESIDE;
	 * a table of this capacity does so immediately.
	 */
	shadow = shadow_new(set, rng_below(2) ? IPCUCKOO_F_APPEND : 0,
			    rng_below(2) ? 100000 : 0);
	for (;;) {
		for (i = 0; i < BATCH; i++, n++)
			e[i] = host(n % (1 << 20), LANE);
		shadow_add(shadow, e, BATCH);
	}
}

/* The memory of attachments, which another process creates and removes meanwhile, is charged, too,
 * but is less than this. If killed shadows leaked memory, the sum would soon exceed it.
 */
#define BESIDE	(16 * 1024)

static int kill_filler(const char *set)
{
	uint64_t limit = memory_used() + BESIDE, most = 0, used;
	unsigned int rounds = 0;
	double patience;
	pid_t pid;

	while (go_on_until(most > limit)) {
		fflush(stdout);
		pid = fork();
		if (!pid) {
			rng_seed(seed + rounds);
			fill_for_ever(set);
		}
		usleep(20000 + rng_below(150000));
		used = memory_used();
		most = used > most ? used : most;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		rounds++;
		for (patience = now() + 200; now() < patience; usleep(10000)) {
			used = memory_used();
			if (used <= limit)
				break;
		}
		if (used > limit) {
			report("memory is %lu after a filling process was killed, more than %lu",
			     (unsigned long)used, (unsigned long)limit);
			break;
		}
	}
	if (most <= limit)
		report("no shadow has used memory");
	printf("%s: %u processes with a half full shadow killed\n", set, rounds);
	return wrong ? 1 : 0;
}

/* Send packets of members and non-members, with pauses for other processes. The device may
 * disappear and appear again.
 */
static int pour(const char *dev, uint8_t mac)
{
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET, .sll_halen = 6,
		.sll_addr = { 2, 0, 0, 0, 0, mac },
	};
	struct frame f = { .kind = KIND_UDP };
	uint8_t data[FRAME_SIZE];
	unsigned long sent = 0;
	int fd = socket(AF_PACKET, SOCK_DGRAM, 0);
	uint32_t i;

	if (fd < 0)
		err(2, "socket");
	for (i = 0; go_on(); i++) {
		struct entry e = host(i % (2 * MEMBERS), i & 8 ? MEMBER : NON_MEMBER);

		f.v6 = e.v6;
		f.src = e.addr;
		f.dst = e.v6 ? (addr_t)0x20010db80005 << 80 | 1 : 0xcb007101;
		f.id = i;
		to.sll_protocol = htons(e.v6 ? ETH_P_IPV6 : ETH_P_IP);
		to.sll_ifindex = if_nametoindex(dev);
		if (!to.sll_ifindex ||
		    sendto(fd, data, frame_put(&f, data), 0,
			   (struct sockaddr *)&to, sizeof(to)) < 0)
			usleep(1000);
		else
			sent++;
		if (!(i % 8))
			usleep(1000);
	}
	printf("%lu packets poured\n", sent);
	return sent ? 0 : 1;
}

static void on_signal(int signal)
{
	(void)signal;
	stop = 1;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(2, "sched_setaffinity");
}

static int run(int argc, char **argv)
{
	const char *name = argv[0], *a = argv[1], *b = argc > 2 ? argv[2] : NULL;

	if (argc == 2 && !strcmp(name, "lists"))
		return lists(a);
	if (argc == 3 && !strcmp(name, "pour"))
		return pour(a, strtoul(b, NULL, 16));
	nl_begin();
	if (argc == 1 && !strcmp(name, "destroy"))
		return destroy();
	if (argc == 2 && !strcmp(name, "nested"))
		return take_over(a);
	if (argc == 2 && !strcmp(name, "states"))
		return states(a);
	if (argc == 2 && !strcmp(name, "kill"))
		return kill_filler(a);
	if (argc == 3 && !strcmp(name, "replace"))
		return replace(a, b);
	if (argc == 3 && !strcmp(name, "swap"))
		return swap_sets(a, b);
	if (argc == 3 && !strcmp(name, "procfs"))
		return procfs(a, atoi(b));
	if (argc == 3 && !strcmp(name, "attach"))
		return attachments(a, b);
	if (argc == 4 && !strcmp(name, "hosts"))
		return come_and_go(a, host, atoi(b), atoi(argv[3]));
	if (argc == 4 && !strcmp(name, "nets"))
		return come_and_go(a, net, atoi(b), atoi(argv[3]));
	errx(2, "unknown command");
}

int main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "c:s:t:")) != -1) {
		switch (c) {
		case 'c': pin(atoi(optarg)); break;
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 't': seconds = atof(optarg); break;
		default: return 2;
		}
	}
	if (optind == argc)
		errx(2, "no command");
	began = now();
	rng_seed(seed);
	signal(SIGTERM, on_signal);
	return run(argc - optind, argv + optind);
}
