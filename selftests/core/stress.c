// SPDX-License-Identifier: GPL-2.0
/*
 * A reader beside a writer that changes the set as fast as it can.
 *
 * The reader looks up addresses that always match, because they or one of several prefixes are in
 * the set at any time, and addresses that never match. So every wrong answer is an error, and the
 * test need not know what the writer did at that time. In each mode, the writer repeats the changes
 * that one part of the protocol exists for. Its table is as small as possible, so that reader and
 * writer often access the same slots.
 *
 *	stress [MODE...]	all modes by default
 *
 * LOOKUPS	number of look-ups in each mode (10,000,000)
 * SECONDS	time limit of each mode (60); fewer look-ups are a failure
 * MUTANT=name     the code under test is a mutant: a wrong answer is expected, and the name of the
 * case
 *		has the number of the look-up that was wrong
 */
#include <pthread.h>

#include <linux/ktime.h>

#include "core.h"
#include "prefetch.h"

enum {
	BATCH		= 64,	/* look-ups in one read-side section */
	MEMBERS_MAX	= 1 << 20,
	NON_MEMBERS_MAX	= 256,
	CHURN_MAX	= 65536,
};

static struct ipcuckoo_mem mem;

struct addr {
	struct ipcuckoo_key key;
	bool v6;
};

/**
 * struct stress - a mode that runs
 * @set:	the set
 * @other:	a set in which the reader looks each address up first, and finds it; NULL in most
 *		modes
 * @members:	addresses that always match
 * @non_members: addresses that never match
 * @churn:	entries that are added and deleted
 * @nmembers, @n_non_members, @nchurn:	number of each
 * @visits:	also look up addresses in @churn: they may match or not, but if they match,
 *		they must have their own extensions
 * @floor:	records with a smaller number belong to entries that have expired
 * @turn:	the member whose timeout is renewed next
 * @len:	the length of fresh entries, of IPv4 and IPv6; 0 for hosts
 * @limit:	number of look-ups to do
 * @deadline:	time at which to stop in any case
 * @lookups:	number of look-ups done
 * @hits:	number of matches of members, which their records must have counted
 * @changes:	number of changes by the writer
 * @wrong:	there was a wrong answer
 * @culprit:	the address of the wrong answer
 * @stop:	set by the reader at its end
 */
struct stress {
	struct ipcuckoo_entries set;
	struct ipcuckoo_entries *other;
	struct random random;
	struct addr *members, *non_members;
	struct ipcuckoo_entry *churn;
	u32 nmembers, n_non_members, nchurn;
	bool visits;
	u32 floor;
	u32 turn;
	u8 len[2];
	u64 limit;
	double deadline;
	u64 lookups;
	u64 hits;
	u64 changes;
	bool wrong;
	struct addr culprit;
	bool stop;
};

struct mode {
	const char *name;
	void (*prepare)(struct stress *s);
	void (*change)(struct stress *s);
};

/* Entries */

static struct ipcuckoo_entry host_entry(const struct addr *a)
{
	return (struct ipcuckoo_entry){ a->key, family_bits(a->v6), a->v6 };
}

/* Addresses of different roles differ in their first two bits. The rest is random, in both halves
 * of an IPv6 address. TRANSIENT entries are added and deleted.
 */
enum role { MEMBER = 1, NON_MEMBER = 2, TRANSIENT = 3 };

static struct addr random_addr(struct stress *s, enum role role, bool v6)
{
	struct addr a = { .v6 = v6 };

	if (v6) {
		a.key.hi = random_u64(&s->random) >> 2 | (u64)role << 62;
		a.key.lo = random_u64(&s->random);
	} else {
		a.key.lo = random_u32(&s->random) >> 2 | (u32)role << 30;
	}
	return a;
}

static void must(int err, const char *what)
{
	if (!err)
		return;
	printf("Bail out! %s: %d\n", what, err);
	exit(1);
}

static void add(struct stress *s, const struct ipcuckoo_entry *entry)
{
	must(ipcuckoo_entries_add(&s->set, entry), "add");
	s->changes++;
}

static void del(struct stress *s, const struct ipcuckoo_entry *entry)
{
	must(ipcuckoo_entries_del(&s->set, entry), "del");
	s->changes++;
}

/* The mark of an entry: a hash of its address, and a number */
static u32 mark_of(const struct ipcuckoo_key *key)
{
	return (key->hi ^ key->lo ^ key->hi >> 32) * GOLDEN_RATIO_32;
}

static int add_with_value(struct stress *s, const struct ipcuckoo_entry *entry, u32 timeout,
		     u32 number, bool nomatch)
{
	struct ipcuckoo_entry_attrs attrs = ipcuckoo_entry_attrs_default(timeout);
	struct ipcuckoo_value value;
	int err;

	attrs.nomatch = nomatch;
	attrs.info.mark = (u64)mark_of(&entry->addr) << 32 | number;
	must(ipcuckoo_value_make(&value, s->set.options, &attrs, &mem), "make");
	err = ipcuckoo_entries_add_value(&s->set, entry, &value);
	if (err == -EEXIST)
		err = ipcuckoo_entries_update(&s->set, entry, &value, &attrs) ?: -EEXIST;
	if (err)
		ipcuckoo_record_put(value.record, &mem);
	s->changes++;
	return err;
}

static void add_exception(struct stress *s, const struct ipcuckoo_entry *entry)
{
	must(add_with_value(s, entry, 0, 0, true), "add an exception");
}

static void move_clock(u32 seconds)
{
	__atomic_store_n(&shim_seconds, shim_seconds + seconds, __ATOMIC_RELEASE);
}

static void reserve(struct stress *s, enum ipcuckoo_kind kind, u32 n)
{
	u32 more[IPCUCKOO_KINDS] = {};

	more[kind] = n;
	must(ipcuckoo_entries_reserve(&s->set, more), "reserve");
}

static void member(struct stress *s, struct addr a)
{
	s->members[s->nmembers++] = a;
}

static void non_member(struct stress *s, struct addr a)
{
	s->non_members[s->n_non_members++] = a;
}

/* A host, or prefix, that is not in the set yet */
static struct ipcuckoo_entry fresh_entry(struct stress *s, enum role role, bool v6)
{
	struct ipcuckoo_entry entry;
	struct addr a;

	do {
		a = random_addr(s, role, v6);
		entry = host_entry(&a);
		entry.len = s->len[v6] ?: entry.len;
		entry.addr = cut(a.key, v6, entry.len);
	} while (ipcuckoo_entries_has(&s->set, &entry));
	return entry;
}

/* Add @n entries to a table of that capacity; @nchurn of them are replaced again and again. */
static void prepare_moves(struct stress *s, bool v6, u32 n, u32 nchurn)
{
	struct ipcuckoo_entry entry;
	u32 i;

	entry = fresh_entry(s, MEMBER, v6);
	reserve(s, ipcuckoo_entry_kind(&entry), n);
	for (i = 0; i < n; i++) {
		entry = fresh_entry(s, i < nchurn ? TRANSIENT : MEMBER, v6);
		add(s, &entry);
		if (i < nchurn)
			s->churn[s->nchurn++] = entry;
		else
			member(s, (struct addr){ entry.addr, v6 });
	}
	ipcuckoo_entries_trim(&s->set);
	for (i = 0; i < 16; i++)
		non_member(s, random_addr(s, NON_MEMBER, v6));
}

/* Replace an entry by another one. The table is so full that this needs displacements. If these fail,
 * the table grows, and is trimmed afterwards.
 */
static void change_entry(struct stress *s, bool v6)
{
	struct ipcuckoo_entry *entry = &s->churn[random_below(&s->random, s->nchurn)];
	u32 layout = s->set.layout;

	del(s, entry);
	*entry = fresh_entry(s, TRANSIENT, v6);
	add(s, entry);
	if (s->set.layout != layout)
		ipcuckoo_entries_trim(&s->set);
}

static void prepare_v4_move(struct stress *s)
{
	prepare_moves(s, false, 61, 12);
}

static void prepare_v6_move(struct stress *s)
{
	prepare_moves(s, true, 61, 12);
}

/* Prefixes of one length */
static void prepare_v4_nets(struct stress *s)
{
	s->len[false] = 24;
	prepare_moves(s, false, 61, 12);
}

static void prepare_v6_nets(struct stress *s)
{
	s->len[true] = 48;
	prepare_moves(s, true, 61, 12);
}

/* Only a large table has no rests. */
static void prepare_v4_whole(struct stress *s)
{
	prepare_moves(s, false, 1000000, 60000);
}

static void change_v4(struct stress *s)
{
	change_entry(s, false);
}

static void change_v6(struct stress *s)
{
	change_entry(s, true);
}

/* Lengths of prefixes that replace each other around one network: it is always covered. */
static const u8 turns4[] = { 24, 20, 32, 22, 8, 28, 14 };
static const u8 turns6[] = { 48, 32, 128, 40, 12, 64, 22 };

static void prepare_nested(struct stress *s, bool v6)
{
	struct addr a = random_addr(s, MEMBER, v6);
	struct ipcuckoo_entry entry = host_entry(&a);
	u32 i;

	add(s, &entry);
	member(s, a);
	for (i = 0; i < ARRAY_SIZE(turns4); i++) {
		u8 len = v6 ? turns6[i] : turns4[i];

		s->churn[s->nchurn++] = (struct ipcuckoo_entry){
			cut(a.key, v6, len), len, v6,
		};
	}
	for (i = 0; i < 4; i++)
		non_member(s, random_addr(s, NON_MEMBER, v6));
	/* Begin and end each round with the first prefix. */
	add(s, &s->churn[0]);
	del(s, &entry);
}

static void change_nested(struct stress *s)
{
	u32 i;

	for (i = 0; i < s->nchurn; i++) {
		add(s, &s->churn[(i + 1) % s->nchurn]);
		del(s, &s->churn[i]);
	}
}

/* Entries of both families that replace each other and cover the same mapped address */
static void prepare_mapped(struct stress *s)
{
	struct addr a = { .v6 = true };
	struct ipcuckoo_entry entry;
	u32 i;

	a.key.lo = 0xffffULL << 32 | random_u32(&s->random);
	member(s, a);
	for (i = 0; i < ARRAY_SIZE(turns4); i++) {
		entry = (struct ipcuckoo_entry){ .len = turns4[i] };
		entry.v6 = i & 1;
		if (entry.v6)
			entry.len += 40;
		entry.addr = cut(entry.v6 ? a.key : key4(a.key.lo), entry.v6, entry.len);
		s->churn[s->nchurn++] = entry;
	}
	for (i = 0; i < 4; i++)
		non_member(s, random_addr(s, NON_MEMBER, true));
	add(s, &s->churn[0]);
}

static void prepare_v4_nested(struct stress *s)
{
	prepare_nested(s, false);
}

static void prepare_v6_nested(struct stress *s)
{
	prepare_nested(s, true);
}

/* Two IPv6 hosts that alternate in one slot, and a non-member that has the first half of one and
 * the second half of the other, and the same bucket and remainder. Only the sequence tells a reader
 * that the halves it has read are of two keys.
 */
static void prepare_v6_reuse(struct stress *s)
{
	const struct ipcuckoo_version *v;
	struct ipcuckoo_location p, q;
	struct addr a, b, mixed;

	reserve(s, IPCUCKOO_HOSTS6, 4);
	v = rcu_access_pointer(s->set.version);
	a = random_addr(s, TRANSIENT, true);
	p = ipcuckoo_table_locate128(v->table[IPCUCKOO_HOSTS6], &a.key);
	do {
		mixed = a;
		mixed.key.lo = random_u64(&s->random);
		q = ipcuckoo_table_locate128(v->table[IPCUCKOO_HOSTS6], &mixed.key);
	} while (p.rem != q.rem || p.bucket[0] != q.bucket[0]);
	do {
		b = random_addr(s, TRANSIENT, true);
		b.key.lo = mixed.key.lo;
		q = ipcuckoo_table_locate128(v->table[IPCUCKOO_HOSTS6], &b.key);
	} while (p.bucket[0] != q.bucket[0]);
	non_member(s, mixed);
	s->churn[s->nchurn++] = host_entry(&a);
	s->churn[s->nchurn++] = host_entry(&b);
}

/* The IPv4 address with this bucket, remainder and rest; false if there is none. */
static bool addr_at(const struct ipcuckoo_table *t, u32 bucket, u32 rem,
		    u32 rest, struct addr *a)
{
	u64 second = (u64)rem << 32 | (u64)rest << t->rest_shift;
	u32 low = (second + t->rems - 1) / t->rems;
	struct ipcuckoo_location p;

	a->v6 = false;
	a->key = key_of_permuted(t, permuted_first(t->nbuckets, bucket, low));
	p = ipcuckoo_table_locate32(t, a->key.lo);
	return p.bucket[0] == bucket && p.rem == rem && p.rest == rest;
}

/* How many different rests there are for a remainder. */
static u32 rests_of(const struct ipcuckoo_table *t)
{
	return 1U << (32 - t->rest_shift);
}

/* Create the smallest table of a kind whose rests have @bits bits. */
static const struct ipcuckoo_table *reserve_rests(struct stress *s, enum ipcuckoo_kind kind,
						  u32 bits)
{
	const struct ipcuckoo_table *t;
	u32 n = 4;

	do {
		reserve(s, kind, n);
		t = rcu_access_pointer(s->set.version)->table[kind];
		n *= 2;
	} while (t->rest_bits > bits);
	must(t->rest_bits != bits, "no table with rests of this width");
	return t;
}

/* The IPv4 entry with this bucket, remainder and rest; false if there is none, or if it is a prefix
 * that has no length of its own in hints.
 */
static bool entry_at(const struct ipcuckoo_table *t, enum ipcuckoo_kind kind, u32 bucket, u32 rem,
		     u32 rest, struct ipcuckoo_entry *entry)
{
	struct addr a;

	/* No prefix has the code 0. */
	if (!addr_at(t, bucket, rem, rest, &a) || !a.key.lo)
		return false;
	*entry = ipcuckoo_entry_decode(kind, &a.key);
	return entry->len > IPCUCKOO_HINT_NARROW;
}

/* Add an entry with this first bucket and remainder. Return: its address. */
static struct addr any_at(struct stress *s, const struct ipcuckoo_table *t, enum ipcuckoo_kind kind,
			  u32 bucket, u32 rem)
{
	struct ipcuckoo_entry entry;

	while (!entry_at(t, kind, bucket, rem, random_below(&s->random, rests_of(t)), &entry))
		;
	add(s, &entry);
	return (struct addr){ .key = entry.addr };
}

/* As prepare_v6_reuse(), with the remainder of one IPv4 entry and the rest of another; both
 * combinations, @mixed, are non-members. The other slots of the bucket have members, and so have
 * all slots whose rests are in the same u16, which each change writes. Each other bucket has an
 * entry, so that the table does not shrink. The first of the two is in the set until the caller
 * calls free_slot(). Return: the table.
 */
static const struct ipcuckoo_table *prepare_rests(struct stress *s, enum ipcuckoo_kind kind,
						  u32 bits, struct ipcuckoo_entry mixed[2])
{
	const struct ipcuckoo_table *t = reserve_rests(s, kind, bits);
	u32 per_bucket = slots_of_bucket(t), buckets = max(16 / bits / per_bucket, 1U);
	u32 slots = buckets * per_bucket, slot = random_below(&s->random, slots);
	u32 first = random_below(&s->random, t->nbuckets / buckets) * buckets;
	u32 bucket = first + slot / per_bucket, ones = rests_of(t) - 1, rem, rest, i;
	struct ipcuckoo_entry a, b;

	do {
		rem = random_below(&s->random, t->rems - slots - 1);
		rest = random_below(&s->random, ones + 1);
	} while (!entry_at(t, kind, bucket, rem, rest, &a) ||
		 !entry_at(t, kind, bucket, rem + 1, ~rest & ones, &b) ||
		 !entry_at(t, kind, bucket, rem, ~rest & ones, &mixed[0]) ||
		 !entry_at(t, kind, bucket, rem + 1, rest, &mixed[1]));
	s->churn[s->nchurn++] = a;
	s->churn[s->nchurn++] = b;
	for (i = 0; i < 2; i++)
		non_member(s, (struct addr){ .key = mixed[i].addr });
	for (i = 0; i < slots; i++) {
		if (i == slot)
			add(s, &s->churn[0]);
		else
			member(s, any_at(s, t, kind, first + i / per_bucket, rem + 2 + i));
	}
	for (i = 0; i < t->nbuckets; i++)
		if (i < first || i >= first + buckets)
			any_at(s, t, kind, i, rem);
	return t;
}

/* Delete the first of the two entries that the writer then adds and deletes in turn: its slot is
 * the only free one in their bucket.
 */
static void free_slot(struct stress *s, enum ipcuckoo_kind kind, const struct ipcuckoo_table *t)
{
	del(s, &s->churn[0]);
	must(t != rcu_access_pointer(s->set.version)->table[kind], "the table was replaced");
}

static void prepare_v4_reuse(struct stress *s, u32 bits)
{
	struct ipcuckoo_entry mixed[2];
	const struct ipcuckoo_table *t = prepare_rests(s, IPCUCKOO_HOSTS4, bits, mixed);

	free_slot(s, IPCUCKOO_HOSTS4, t);
}

/* Add @mixed to the other set, and make that set if there is none. The set under test does not have
 * @mixed. The reader asks the other set first. So @mixed is the entry that matched last when the
 * reader asks the set under test. Both sets also get a prefix of length @len near @mixed. Its mark
 * is in the same word of the hint, but it does not cover @mixed. Each call needs another @len,
 * because a look-up tries the entry that matched last only if the prefixes of the set have several
 * lengths.
 */
static void add_to_other(struct stress *s, const struct ipcuckoo_entry *mixed, u8 len)
{
	struct ipcuckoo_entry near = {
		.addr = cut(mixed->addr, mixed->v6, len), .len = len, .v6 = mixed->v6,
	};

	if (!s->other) {
		s->other = calloc(1, sizeof(*s->other));
		if (!s->other)
			exit(1);
		must(ipcuckoo_entries_init(s->other, &mem, true), "init");
		mutex_lock(&s->other->mutex);
	}
	if (mixed->v6)
		near.addr.hi ^= 1ULL << (64 - len);
	else
		near.addr.lo ^= 1U << (32 - len);
	add(s, &near);
	must(ipcuckoo_entries_add(s->other, &near), "add");
	if (!ipcuckoo_entries_has(s->other, mixed))
		must(ipcuckoo_entries_add(s->other, mixed), "add");
	/* The other set does not have the members. */
	s->nmembers = 0;
}

/* As prepare_v4_reuse(), with prefixes. In a narrow table, the reader would not probe for the last
 * entry alone.
 */
static void prepare_v4_last(struct stress *s)
{
	struct ipcuckoo_entry mixed[2];
	const struct ipcuckoo_table *t = prepare_rests(s, IPCUCKOO_NETS4, 8, mixed);

	add_to_other(s, &mixed[0], 17);
	add_to_other(s, &mixed[1], 18);
	free_slot(s, IPCUCKOO_NETS4, t);
}

/* As prepare_v6_reuse(), but the other set has the non-member that is mixed of two keys. */
static void prepare_v6_last(struct stress *s)
{
	struct ipcuckoo_entry mixed;

	prepare_v6_reuse(s);
	mixed = host_entry(&s->non_members[0]);
	add_to_other(s, &mixed, 40);
	add_to_other(s, &mixed, 41);
}

static void prepare_v4_reuse16(struct stress *s)
{
	prepare_v4_reuse(s, 16);
}

static void prepare_v4_reuse8(struct stress *s)
{
	prepare_v4_reuse(s, 8);
}

static void prepare_v4_reuse4(struct stress *s)
{
	prepare_v4_reuse(s, 4);
}

static void prepare_v4_reuse2(struct stress *s)
{
	prepare_v4_reuse(s, 2);
}

static void prepare_v4_reuse1(struct stress *s)
{
	prepare_v4_reuse(s, 1);
}

/* A random host of a role whose first bucket is @bucket. */
static struct addr host_in(struct stress *s, const struct ipcuckoo_table *t, u32 bucket,
			   enum role role)
{
	u32 first = permuted_first(t->nbuckets, bucket, 0), count;
	struct addr a = {};

	count = permuted_first(t->nbuckets, bucket, U32_MAX) - first;
	do {
		a.key = key_of_permuted(t, first + random_below(&s->random, count));
	} while (a.key.lo >> 30 != role);
	return a;
}

/* Add a member whose first bucket is @bucket, if it is not there yet. */
static struct ipcuckoo_entry member_in(struct stress *s, const struct ipcuckoo_table *t, u32 bucket)
{
	struct addr a = host_in(s, t, bucket, MEMBER);
	struct ipcuckoo_entry entry = host_entry(&a);

	if (!ipcuckoo_entries_has(&s->set, &entry)) {
		add(s, &entry);
		member(s, a);
	}
	return entry;
}

static bool is_full(const struct ipcuckoo_table *t, u32 bucket)
{
	u64 word = t->words[bucket];

	return !(t->narrow ? ipcuckoo_zero_lanes(word, 12) : ipcuckoo_zero_lanes(word, 16));
}

/* Choose a transient host whose first bucket is @bucket, and fill both of its buckets with
 * members. To add it, an entry of @bucket has to be moved.
 */
static void prepare_push(struct stress *s, const struct ipcuckoo_table *t, u32 bucket)
{
	struct addr a = host_in(s, t, bucket, TRANSIENT);
	struct ipcuckoo_location p = ipcuckoo_table_locate32(t, a.key.lo);
	int choice;

	s->churn[s->nchurn++] = host_entry(&a);
	for (choice = 0; choice < 2; choice++)
		while (!is_full(t, p.bucket[choice]))
			member_in(s, t, p.bucket[choice]);
}

/* The host with this bucket and remainder; false if there is none, or if it could be a member. */
static bool stranger_at(const struct ipcuckoo_table *t, u32 bucket, u32 rem, struct addr *a)
{
	return addr_at(t, bucket, rem, 0, a) && a->key.lo >> 30 != MEMBER;
}

/* Choose a transient host that will be in the third slot of a bucket, of which each half of the
 * word has a part. Hosts whose slots would be one of the parts alone are non-members.
 */
static void prepare_halves(struct stress *s, const struct ipcuckoo_table *t)
{
	struct addr a, low, high;
	u32 bucket, slot;

	do {
		bucket = random_below(&s->random, t->nbuckets);
		slot = random_below(&s->random, t->rems) + 1;
	} while (t->words[bucket] || !(slot & 0xff) || !(slot & 0xf00) ||
		 !stranger_at(t, bucket, slot - 1, &a) ||
		 !stranger_at(t, bucket, (slot & 0xff) - 1, &low) ||
		 !stranger_at(t, bucket, (slot & 0xf00) - 1, &high));
	while (!(t->words[bucket] >> 12))
		member_in(s, t, bucket);
	s->churn[s->nchurn++] = host_entry(&a);
	non_member(s, low);
	non_member(s, high);
}

/* A table that is narrow, because it is made for very many entries, but has few of them: a member
 * that two transient hosts push from one of its buckets to the other and back. It is in the first
 * slot of both, where a search begins.
 */
static void prepare_v4_narrow(struct stress *s)
{
	struct ipcuckoo_entry pushed, first;
	struct ipcuckoo_location p;
	struct ipcuckoo_table *t;
	struct addr a;
	int i;

	reserve(s, IPCUCKOO_HOSTS4, max_t(u32, IPCUCKOO_BUCKETS_NARROW, 1 << 20) * IPCUCKOO_SLOTS);
	t = rcu_access_pointer(s->set.version)->table[IPCUCKOO_HOSTS4];
	must(!t->narrow, "the table is not narrow");
	t->shrink_below = 0;
	pushed = member_in(s, t, random_below(&s->random, t->nbuckets));
	p = ipcuckoo_table_locate32(t, pushed.addr.lo);
	prepare_push(s, t, p.bucket[0]);
	a = host_in(s, t, p.bucket[1], TRANSIENT);
	first = host_entry(&a);
	add(s, &first);
	prepare_push(s, t, p.bucket[1]);
	del(s, &first);
	prepare_halves(s, t);
	for (i = 0; i < 16; i++)
		non_member(s, random_addr(s, NON_MEMBER, false));
}

static void change_reuse(struct stress *s)
{
	u32 i;

	for (i = 0; i < s->nchurn; i++) {
		add(s, &s->churn[i]);
		del(s, &s->churn[i]);
	}
}

/* Make a random prefix of a host; its addresses keep the role of the host. */
static void shorten(struct stress *s, struct ipcuckoo_entry *entry)
{
	entry->len = 6 + random_below(&s->random, entry->len - 6);
	entry->addr = cut(entry->addr, entry->v6, entry->len);
}

/* All other changes of what readers use: tables grow and shrink, hints grow and are rebuilt, the
 * contents are replaced; with hosts and prefixes of both families.
 */
static void prepare_remake(struct stress *s)
{
	struct ipcuckoo_entry entry;
	struct addr a;
	u32 i;

	for (i = 0; i < 80; i++) {
		bool v6 = i & 1, net = i & 2;

		do {
			a = random_addr(s, MEMBER, v6);
			entry = host_entry(&a);
			if (net)
				shorten(s, &entry);
		} while (ipcuckoo_entries_has(&s->set, &entry));
		add(s, &entry);
		member(s, a);
		non_member(s, random_addr(s, NON_MEMBER, v6));
	}
}

/* Replace the set by a shadow with all entries except transient ones. */
static void replace(struct stress *s)
{
	struct ipcuckoo_entries *shadow = calloc(1, sizeof(*shadow));
	struct ipcuckoo_entry entry;
	u64 pos = 0;

	if (!shadow)
		exit(1);
	must(ipcuckoo_entries_init(shadow, &mem, false), "shadow");
	mutex_lock(&shadow->mutex);
	while (plain_entries_next(&s->set, &pos, &entry)) {
		u32 role = entry.v6 ? entry.addr.hi >> 62 : entry.addr.lo >> 30;

		if (role == MEMBER)
			must(ipcuckoo_entries_add(shadow, &entry), "add to a shadow");
	}
	ipcuckoo_entries_replace(&s->set, shadow);
	mutex_unlock(&shadow->mutex);
	ipcuckoo_entries_exit(shadow);
	free(shadow);
	s->nchurn = 0;
}

static void change_remake(struct stress *s)
{
	u32 n = 50 + random_below(&s->random, 3000), i;

	for (i = 0; i < n; i++) {
		struct ipcuckoo_entry entry;

		entry = fresh_entry(s, TRANSIENT, random_below(&s->random, 2));
		if (random_below(&s->random, 3))
			shorten(s, &entry);
		if (ipcuckoo_entries_has(&s->set, &entry))
			continue;
		add(s, &entry);
		s->churn[s->nchurn++] = entry;
	}
	if (random_below(&s->random, 2))
		must(ipcuckoo_entries_trim(&s->set), "trim");
	if (random_below(&s->random, 4)) {
		while (s->nchurn)
			del(s, &s->churn[--s->nchurn]);
		must(ipcuckoo_entries_trim(&s->set), "trim");
	} else {
		replace(s);
	}
}

/* A filter of the minimum size, 64 slots with any width, as full as possible: it gets a higher
 * capacity. There are no non-members, because some of them would match.
 */
static void prepare_filter(struct stress *s, u8 bits)
{
	struct ipcuckoo_filter *f;
	struct ipcuckoo_entry entry;
	u32 i;

	s->set.shape = (struct ipcuckoo_filter_shape){ 1, bits, true };
	reserve(s, IPCUCKOO_HOSTS4, 0);
	f = rcu_access_pointer(s->set.version)->filter;
	f->shape.capacity = 64;
	for (i = 0; i < 60; i++) {
		entry = fresh_entry(s, i < 12 ? TRANSIENT : MEMBER, i & 1);
		if (ipcuckoo_entries_add(&s->set, &entry))
			continue;
		if (i < 12)
			s->churn[s->nchurn++] = entry;
		else
			member(s, (struct addr){ entry.addr, entry.v6 });
	}
}

/* Replace an element by another one, if a displacement makes room for it. */
static void change_filter(struct stress *s)
{
	struct ipcuckoo_entry *entry = &s->churn[random_below(&s->random, s->nchurn)];

	del(s, entry);
	do {
		*entry = fresh_entry(s, TRANSIENT, random_below(&s->random, 2));
	} while (ipcuckoo_entries_add(&s->set, entry));
}

/* The first bucket of an element, found with a filter of 8 bits that has only this element. */
static u32 first_bucket(struct stress *s, const struct ipcuckoo_entry *entry)
{
	const struct ipcuckoo_filter *f = rcu_access_pointer(s->set.version)->filter;
	const u32 *words = f->words;
	u32 i = 0;

	add(s, entry);
	while (!words[i])
		i++;
	del(s, entry);
	return i;
}

/* Two elements with the same fingerprint and the same two buckets, where the first bucket of the
 * one is the second of the other. The filter cannot tell them apart, but prefers different buckets
 * for their copies.
 */
static void prepare_copies(struct stress *s)
{
	struct addr a = random_addr(s, MEMBER, false), b;
	struct ipcuckoo_entry first = host_entry(&a), second;
	bool same;

	s->set.shape = (struct ipcuckoo_filter_shape){ 64, 8, true };
	do {
		b = random_addr(s, MEMBER, true);
		second = host_entry(&b);
		add(s, &first);
		same = ipcuckoo_entries_has(&s->set, &second);
		del(s, &first);
	} while (!same || first_bucket(s, &first) == first_bucket(s, &second));
	add(s, &first);
	member(s, a);
	member(s, b);
	s->churn[s->nchurn++] = second;
	s->churn[s->nchurn++] = first;
}

/* Add a copy and delete one: there is always at least one. */
static void change_copies(struct stress *s)
{
	u32 i;

	for (i = 0; i < s->nchurn; i++) {
		add(s, &s->churn[i]);
		del(s, &s->churn[i]);
	}
}

static void prepare_filter8(struct stress *s)
{
	prepare_filter(s, 8);
}

static void prepare_filter16(struct stress *s)
{
	prepare_filter(s, 16);
}

static void prepare_filter32(struct stress *s)
{
	prepare_filter(s, 32);
}

/* Exceptions, added and deleted around a member that always matches and a non-member that never
 * does; see ipcuckoo_entries_add_value(). The entries are, from the shortest: for the member, an
 * entry, an exception, and a longer entry; for the non-member, an entry, an exception, and a longer
 * exception.
 */
enum { BASE, EXCEPT, LONGER, NAROUND };

static void prepare_except(struct stress *s, bool v6)
{
	static const u8 lens4[] = { 20, 24, 28 }, lens6[] = { 30, 44, 60 };
	u32 i, j;

	for (i = 0; i < 2; i++) {
		struct addr a = random_addr(s, i ? NON_MEMBER : MEMBER, v6);

		for (j = 0; j < NAROUND; j++) {
			u8 len = v6 ? lens6[j] : lens4[j];

			s->churn[s->nchurn++] = (struct ipcuckoo_entry){
				cut(a.key, v6, len), len, v6,
			};
		}
		if (i)
			non_member(s, a);
		else
			member(s, a);
	}
	add(s, &s->churn[BASE]);
}

static void change_except(struct stress *s)
{
	const struct ipcuckoo_entry *in = s->churn, *out = in + NAROUND;

	/* A reader that sees the exception must also see the longer entry. */
	add(s, &in[LONGER]);
	add_exception(s, &in[EXCEPT]);
	del(s, &in[EXCEPT]);
	del(s, &in[LONGER]);
	/* A reader that sees the shorter entry must also see the exception. */
	add_exception(s, &out[EXCEPT]);
	add(s, &out[BASE]);
	/* Behind a longer exception, an exception becomes an ordinary entry, and an exception
	 * again.
	 */
	add_exception(s, &out[LONGER]);
	add_with_value(s, &out[EXCEPT], 0, 0, false);
	add_with_value(s, &out[EXCEPT], 0, 0, true);
	del(s, &out[LONGER]);
	del(s, &out[BASE]);
	del(s, &out[EXCEPT]);
}

static void prepare_v4_except(struct stress *s)
{
	prepare_except(s, false);
}

static void prepare_v6_except(struct stress *s)
{
	prepare_except(s, true);
}

/* Short exceptions, with many marks; no version has known of exceptions before. */
static void prepare_first(struct stress *s)
{
	bool v6;

	for (v6 = false; ; v6 = true) {
		struct addr a = random_addr(s, NON_MEMBER, v6);

		non_member(s, a);
		s->churn[s->nchurn++] = (struct ipcuckoo_entry){ cut(a.key, v6, 1), 1, v6 };
		if (v6)
			break;
	}
}

static void change_first(struct stress *s)
{
	u32 i;

	for (i = 0; i < s->nchurn; i++) {
		add_exception(s, &s->churn[i]);
		del(s, &s->churn[i]);
		must(ipcuckoo_entries_trim(&s->set), "trim");
	}
}

/* Hosts with records. They would expire if their timeouts were not renewed. Transient hosts in the
 * table displace them.
 */
#define REFRESHED	100

static void prepare_values(struct stress *s, bool v6)
{
	struct ipcuckoo_entry entry;
	u32 i;

	s->set.options = IPCUCKOO_O_TIMEOUT | IPCUCKOO_O_COUNTERS | IPCUCKOO_O_SKBINFO;
	s->visits = true;
	reserve(s, v6 ? IPCUCKOO_HOSTS6 : IPCUCKOO_HOSTS4, 61);
	for (i = 0; i < 49 + 24 + 4; i++) {
		enum role role = i < 49 ? MEMBER : i < 49 + 24 ? TRANSIENT : NON_MEMBER;

		entry = fresh_entry(s, role, v6);
		if (role == TRANSIENT) {
			s->churn[s->nchurn++] = entry;
			continue;
		}
		must(add_with_value(s, &entry, role == MEMBER ? REFRESHED : 1, 0, false), "add");
		if (role == MEMBER)
			member(s, (struct addr){ entry.addr, v6 });
		else
			non_member(s, (struct addr){ entry.addr, v6 });
	}
	/* The non-members expire before the reader starts. */
	move_clock(2);
}

static void change_values(struct stress *s)
{
	struct ipcuckoo_entry *entry = &s->churn[random_below(&s->random, s->nchurn)];
	struct ipcuckoo_entry next = host_entry(&s->members[s->turn++ % s->nmembers]);
	u32 layout = s->set.layout;
	u64 pos = 0;

	if (add_with_value(s, &next, REFRESHED, 0, false) != -EEXIST)
		must(-ENOENT, "a member has expired");
	if (ipcuckoo_entries_has(&s->set, entry))
		del(s, entry);
	else if (ipcuckoo_usage_total(&s->set) < 61)
		add_with_value(s, entry, random_below(&s->random, 20), 0, false);
	if (!random_below(&s->random, 4))
		move_clock(1);
	if (!random_below(&s->random, 16))
		while (ipcuckoo_gc_part(&s->set, &pos, 64, NULL, NULL))
			;
	if (s->set.layout != layout)
		ipcuckoo_entries_trim(&s->set);
}

static void prepare_v4_values(struct stress *s)
{
	prepare_values(s, false);
}

static void prepare_v6_values(struct stress *s)
{
	prepare_values(s, true);
}

/* An entry that expires and is added again before it is removed: readers must not see its old
 * record again.
 */
static void prepare_revive(struct stress *s)
{
	s->set.options = IPCUCKOO_O_TIMEOUT | IPCUCKOO_O_SKBINFO;
	s->visits = true;
	s->churn[s->nchurn++] = fresh_entry(s, TRANSIENT, false);
}

static void change_revive(struct stress *s)
{
	must(add_with_value(s, s->churn, 1, s->floor, false), "add an expired entry");
	move_clock(2);
	__atomic_store_n(&s->floor, s->floor + 1, __ATOMIC_RELEASE);
}

/* An entry that is deleted and added again, in the same slot, with another record: a reader that
 * sees the slot must get the right record. The new record is allocated first, so that it is not in
 * the memory of the old one.
 */
static void change_renew(struct stress *s)
{
	struct ipcuckoo_entry_attrs attrs = ipcuckoo_entry_attrs_default(0);
	struct ipcuckoo_value value;

	attrs.info.mark = (u64)mark_of(&s->churn->addr) << 32 | (s->floor + 1);
	must(ipcuckoo_value_make(&value, s->set.options, &attrs, &mem), "make");
	if (s->floor)
		del(s, s->churn);
	__atomic_store_n(&s->floor, s->floor + 1, __ATOMIC_RELEASE);
	must(ipcuckoo_entries_add_value(&s->set, s->churn, &value), "add again");
	s->changes++;
}

static const struct mode modes[] = {
	{ "v4-move", prepare_v4_move, change_v4 },
	{ "v6-move", prepare_v6_move, change_v6 },
	{ "v4-nets", prepare_v4_nets, change_v4 },
	{ "v6-nets", prepare_v6_nets, change_v6 },
	{ "v4-whole", prepare_v4_whole, change_v4 },
	{ "v4-narrow", prepare_v4_narrow, change_reuse },
	{ "v4-nested", prepare_v4_nested, change_nested },
	{ "v6-nested", prepare_v6_nested, change_nested },
	{ "mapped", prepare_mapped, change_nested },
	{ "v6-reuse", prepare_v6_reuse, change_reuse },
	{ "v4-reuse16", prepare_v4_reuse16, change_reuse },
	{ "v4-reuse8", prepare_v4_reuse8, change_reuse },
	{ "v4-reuse4", prepare_v4_reuse4, change_reuse },
	{ "v4-reuse2", prepare_v4_reuse2, change_reuse },
	{ "v4-reuse1", prepare_v4_reuse1, change_reuse },
	{ "v4-last", prepare_v4_last, change_reuse },
	{ "v6-last", prepare_v6_last, change_reuse },
	{ "remake", prepare_remake, change_remake },
	{ "v4-except", prepare_v4_except, change_except },
	{ "v6-except", prepare_v6_except, change_except },
	{ "first-except", prepare_first, change_first },
	{ "v4-values", prepare_v4_values, change_values },
	{ "v6-values", prepare_v6_values, change_values },
	{ "revive", prepare_revive, change_revive },
	{ "renew", prepare_revive, change_renew },
	{ "filter8-move", prepare_filter8, change_filter },
	{ "filter16-move", prepare_filter16, change_filter },
	{ "filter32-move", prepare_filter32, change_filter },
	{ "filter-copies", prepare_copies, change_copies },
};

/* Threads */

/* Does the record belong to the address, and is it current? If so, count a packet in it. */
static bool own_record(struct ipcuckoo_record *record, u32 options, const struct addr *a,
		       u32 floor)
{
	const struct ipcuckoo_skbinfo *info = ipcuckoo_record_info(record, options);
	struct ipcuckoo_hits *hits;
	u64 mark;

	if (!info)
		return false;
	mark = READ_ONCE(info->mark);
	if (mark >> 32 != mark_of(&a->key) || (u32)mark < floor)
		return false;
	hits = ipcuckoo_record_hits(record, options);
	if (hits)
		atomic64_add(1, &hits->packets);
	return true;
}

static void fetch(struct stress *s, const struct addr *a)
{
	rcu_read_lock();
	if (a->v6)
		ipcuckoo_prefetch6(&s->set, &a->key);
	else
		ipcuckoo_prefetch4(&s->set, a->key.lo);
	rcu_read_unlock();
}

/* Does an address match? Sets @wrong if the record is of another entry. Gets the record as packets
 * do.
 */
static bool matches(struct stress *s, const struct addr *a, bool *wrong)
{
	u32 floor = __atomic_load_n(&s->floor, __ATOMIC_ACQUIRE);
	struct ipcuckoo_record *record;

	if (a->key.lo % 16 == 0)
		fetch(s, a);
	if (s->other)
		must(!match(s->other, &a->key, a->v6), "the other set does not have the address");
	if (!(s->set.options & IPCUCKOO_RECORD_OPTIONS))
		return match(&s->set, &a->key, a->v6);
	if (ipcuckoo_entries_decide(&s->set, &a->key, a->v6, false, &record) != IPCUCKOO_MATCH)
		return false;
	*wrong = !own_record(record, s->set.options, a, floor);
	return true;
}

static bool visit(struct stress *s, struct random *random, bool *wrong)
{
	const struct ipcuckoo_entry *entry = &s->churn[random_below(random, s->nchurn)];

	s->culprit = (struct addr){ entry->addr, entry->v6 };
	return matches(s, &s->culprit, wrong);
}

/* Returns false after a wrong answer. */
static bool read_batch(struct stress *s, struct random *random)
{
	bool member, matched, wrong = false;
	const struct addr *a;
	u32 i;

	for (i = 0; i < BATCH; i++) {
		if (s->visits && i & 1) {
			visit(s, random, &wrong);
			s->lookups++;
			if (wrong)
				return false;
			continue;
		}
		if (!s->nmembers && !s->n_non_members)
			continue;
		member = s->nmembers && (i & 7 || !s->n_non_members);
		if (member)
			a = &s->members[random_below(random, s->nmembers)];
		else
			a = &s->non_members[random_below(random, s->n_non_members)];
		matched = matches(s, a, &wrong);
		s->lookups++;
		s->hits += matched;
		if (unlikely(matched != member || wrong)) {
			s->culprit = *a;
			return false;
		}
	}
	return true;
}

static void *reader(void *arg)
{
	struct random random = random_seed(ktap.seed);
	struct stress *s = arg;
	u64 n;

	for (n = 1; !s->wrong && s->lookups < s->limit; n++) {
		rcu_read_lock();
		s->wrong = !read_batch(s, &random);
		rcu_read_unlock();
		if (!(n & 1023) && ktap_seconds() > s->deadline)
			break;
	}
	__atomic_store_n(&s->stop, true, __ATOMIC_RELEASE);
	shim_reader_unregister();
	return NULL;
}

static struct stress *prepare(const struct mode *mode)
{
	struct stress *s = calloc(1, sizeof(*s));

	if (!s)
		exit(1);
	s->members = calloc(MEMBERS_MAX, sizeof(*s->members));
	s->non_members = calloc(NON_MEMBERS_MAX, sizeof(*s->non_members));
	s->churn = calloc(CHURN_MAX, sizeof(*s->churn));
	if (!s->members || !s->non_members || !s->churn)
		exit(1);
	s->random = random_seed(ktap.seed);
	s->limit = ktap_option("LOOKUPS", 10000000);
	must(ipcuckoo_entries_init(&s->set, &mem, true), "init");
	mutex_lock(&s->set.mutex);
	mode->prepare(s);
	s->changes = 0;
	return s;
}

static void finish(struct stress *s)
{
	set_exit(&s->set);
	if (s->other)
		set_exit(s->other);
	free(s->other);
	free(s->members);
	free(s->non_members);
	free(s->churn);
	free(s);
}

/* Check that the records have counted all packets of members, even when entries moved. */
static void check_hits(struct stress *s, const struct mode *mode)
{
	struct ipcuckoo_value value;
	struct ipcuckoo_entry entry;
	u64 hits = 0;
	u32 i;

	if (!(s->set.options & IPCUCKOO_O_COUNTERS))
		return;
	for (i = 0; i < s->nmembers; i++) {
		entry = host_entry(&s->members[i]);
		if (expect(ipcuckoo_entries_get(&s->set, &entry, &value), "%s: %s is a member",
			   mode->name, entry_text(&entry)))
			hits += atomic64_read(&ipcuckoo_record_hits(value.record,
								    s->set.options)->packets);
	}
	expect(hits == s->hits || s->wrong, "%s: all of %llu hits of members are counted: %llu",
	       mode->name, s->hits, hits);
}

/* Print the case: were all answers right, or, with a mutant, was one of them wrong? */
static void judge(struct stress *s, const struct mode *mode)
{
	const char *mutant = getenv("MUTANT");
	struct ipcuckoo_entry culprit = host_entry(&s->culprit);
	bool enough = s->lookups >= s->limit;

	if (mutant) {
		expect(s->wrong, "%s: a wrong answer in %llu look-ups", mutant,
		       s->lookups);
		ktap_case("%s: answers wrongly in look-up %llu", mode->name,
			  s->lookups);
		return;
	}
	expect(!s->wrong, "%s: look-up %llu, of %s, has the right answer",
	       mode->name, s->lookups, entry_text(&culprit));
	expect(s->wrong || enough, "%s: %llu look-ups in time, of %llu",
	       mode->name, s->lookups, s->limit);
	check_hits(s, mode);
	ktap_case("%s: %llu look-ups, %d wrong, %llu had to take the lock; %llu changes, %llu displaced, %u new versions",
		  mode->name, s->lookups, s->wrong,
		  ipcuckoo_usage_fallbacks(&s->set), s->changes,
		  ipcuckoo_usage_displaced(&s->set), s->set.layout);
}

static void run(const struct mode *mode)
{
	struct stress *s = prepare(mode);
	double start = ktap_seconds();
	pthread_t thread;
	u32 steps = 0;

	s->deadline = start + ktap_option("SECONDS", 60);
	if (pthread_create(&thread, NULL, reader, s))
		exit(1);
	while (!__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE)) {
		mode->change(s);
		/* A callback frees all records that have retired, so call it sometimes. */
		if (s->set.options & IPCUCKOO_RECORD_OPTIONS && !(++steps % 8))
			rcu_barrier();
	}
	pthread_join(thread, NULL);
	printf("# %s: %.1f s\n", mode->name, ktap_seconds() - start);
	judge(s, mode);
	finish(s);
}

int main(int argc, char **argv)
{
	u32 i, j, runs = 0;

	shim_random_seed(ktap_begin("stress"));
	shim_rcu_batch = 64;
	ipcuckoo_value_init();
	ipcuckoo_mem_open(&mem, 0, ipcuckoo_record_reap);
	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		for (j = 1; j < (u32)argc && strcmp(argv[j], modes[i].name); j++)
			;
		if (argc > 1 && j == (u32)argc)
			continue;
		run(&modes[i]);
		runs++;
	}
	if (runs < (u32)argc - 1) {
		printf("Bail out! there is no such mode\n");
		return 1;
	}
	expect_nothing_left(&mem);
	ktap_case("all memory was freed");
	return ktap_end();
}
