// SPDX-License-Identifier: GPL-2.0
/*
 * Tests chains of displacements, and the arithmetic of tables.
 *
 * The tests search for keys with given buckets, using the functions of readers, so that an
 * insertion has to move exactly the entries that the test wants.
 *
 * DIVIDE=n does one n-th of the random tests.
 */
#include <pthread.h>

#include "core.h"

static struct random rnd;
static struct ipcuckoo_mem mem;
static struct ipcuckoo_search_node *queue;

/* A kind of table, small enough to read all of it. */
struct shape {
	u32 nbuckets;
	bool keyed;
};

/* Rests of 8, 4, 2 and 1 bits; no rests; narrow; keyed */
static const struct shape shapes[] = {
	{ 4096, false }, { 5002, false }, { 1 << 14, false }, { 60000, false },
	{ 100000, false }, { 131076, false }, { 131078, false }, { 300000, false },
	{ 2098178, false }, { 2500002, false }, { 4096, true }, { 5002, true },
};

static struct ipcuckoo_table *create(u32 nbuckets, bool keyed)
{
	struct ipcuckoo_table *t = plain_table_create(&mem, nbuckets, keyed);

	if (IS_ERR(t)) {
		printf("Bail out! no memory for a table\n");
		exit(1);
	}
	return t;
}

static const char *shape_text(const struct shape *shape)
{
	struct ipcuckoo_table *t = create(shape->nbuckets, shape->keyed);
	static char text[80];

	snprintf(text, sizeof(text), "%u buckets of %u slots, %s of %u bits", t->nbuckets,
		 slots_of_bucket(t), t->keys ? "keys" : "rests",
		 t->keys ? 8 * t->key_size : t->rest_bits);
	ipcuckoo_table_destroy(t);
	return text;
}

static struct ipcuckoo_location locate(const struct ipcuckoo_table *t,
				       const struct ipcuckoo_key *key)
{
	return t->keys ? ipcuckoo_table_locate128(t, key) :
			 ipcuckoo_table_locate32(t, key->lo);
}

static bool probe(const struct ipcuckoo_table *t, const struct ipcuckoo_key *key)
{
	return t->keys ? ipcuckoo_table_probe128(t, key) :
			 ipcuckoo_table_probe32(t, key->lo);
}

/* How many 32-bit permuted keys belong to a bucket. */
static u32 permuted_count(u32 nbuckets, u32 bucket)
{
	u64 end = (((u64)bucket + 1) << 32) + nbuckets - 1;

	return end / nbuckets - permuted_first(nbuckets, bucket, 0);
}

/* A random key whose first bucket is @bucket. */
static struct ipcuckoo_key key_in(const struct ipcuckoo_table *t, u32 bucket)
{
	struct ipcuckoo_key key;

	if (!t->keys)
		return key_of_permuted(t, permuted_first(t->nbuckets, bucket, 0) +
			random_below(&rnd, permuted_count(t->nbuckets, bucket)));
	do {
		key.hi = random_u64(&rnd);
		key.lo = random_u64(&rnd);
	} while (locate(t, &key).bucket[0] != bucket);
	return key;
}

/* A random key with these two buckets, in this order. */
static struct ipcuckoo_key key_between(const struct ipcuckoo_table *t, u32 first,
				       u32 second)
{
	struct ipcuckoo_key key;

	do {
		key = key_in(t, first);
	} while (locate(t, &key).bucket[1] != second);
	return key;
}

static size_t table_bytes(const struct ipcuckoo_table *t, int area)
{
	return t->area[area].size;
}

/* A copy of everything that an insertion may change. */
struct image {
	void *area[2];
	u32 count;
	u64 displaced;
	u32 seq;
};

static struct image image_take(const struct ipcuckoo_table *t,
			       const struct ipcuckoo_guard *guard)
{
	struct image image = { {}, t->count, t->displaced, guard->seq };
	int i;

	for (i = 0; i < 2; i++) {
		image.area[i] = malloc(table_bytes(t, i) + 1);
		if (!image.area[i])
			exit(1);
		if (t->area[i].data)
			memcpy(image.area[i], t->area[i].data, table_bytes(t, i));
	}
	return image;
}

/* Compare the copy with the current state, and free it. */
static void image_expect(struct image *image, const struct ipcuckoo_table *t,
			 const struct ipcuckoo_guard *guard, const char *name)
{
	int i;

	for (i = 0; i < 2; i++) {
		expect(!t->area[i].data ||
		       !memcmp(image->area[i], t->area[i].data,
			       table_bytes(t, i)),
		       "%s: memory %d has not changed", name, i);
		free(image->area[i]);
	}
	expect_equal(t->count, image->count, "%s: count", name);
	expect_equal(t->displaced, image->displaced, "%s: displaced", name);
	expect_equal(guard->seq, image->seq, "%s: sequence", name);
}

static u64 slot_word(const struct ipcuckoo_table *t, u32 bucket, unsigned int i)
{
	if (t->narrow)
		return t->words[bucket] >> 12 * i & 0xfff;
	return (u16)(t->words[bucket] >> 16 * i);
}

static unsigned int used_slots(const struct ipcuckoo_table *t, u32 bucket)
{
	unsigned int i, used = 0;

	for (i = 0; i < slots_of_bucket(t); i++)
		used += !!slot_word(t, bucket, i);
	return used;
}

/* A tree of full buckets: each entry in a bucket of one level can only move to a bucket of the next
 * level. The buckets of the last level are empty. An insertion at the root must move exactly one
 * entry of each level.
 */
struct tree {
	struct ipcuckoo_table *t;
	struct ipcuckoo_guard guard;
	struct ipcuckoo_key root;
	u8 *level;		/* level of each bucket, from 1; 0 if it is not in the tree */
	u32 *buckets;		/* buckets of the tree, by level */
	u32 width;		/* number of buckets in the last level */
	u32 nbuckets;		/* number of buckets in all levels */
	struct ipcuckoo_key *keys;
	u32 nkeys;
};

static struct ipcuckoo_key random_key(const struct ipcuckoo_table *t)
{
	struct ipcuckoo_key key = key4(random_u32(&rnd));

	if (t->keys) {
		key.hi = random_u64(&rnd);
		key.lo = random_u64(&rnd);
	}
	return key;
}

/* Fill the buckets of the last level with entries whose other buckets are not in the tree yet.
 * These become the next level. If that stays empty, entries may share them: narrow tables have few
 * different remainders, with which few buckets can be reached.
 */
static void tree_fill(struct tree *tree, int level, bool stays_empty)
{
	u32 slots = slots_of_bucket(tree->t), missing = tree->width * slots, first;
	struct ipcuckoo_location p;
	struct ipcuckoo_key key;

	first = tree->nbuckets - tree->width;
	tree->width = missing;
	while (missing) {
		/* Random keys are rarely in one of a few buckets. */
		key = tree->t->keys ? random_key(tree->t) :
		      key_in(tree->t, tree->buckets[first + (missing - 1) / slots]);
		p = locate(tree->t, &key);
		if (tree->level[p.bucket[0]] != level ||
		    (tree->level[p.bucket[1]] &&
		     (!stays_empty || tree->level[p.bucket[1]] != level + 1)) ||
		    used_slots(tree->t, p.bucket[0]) == slots || ipcuckoo_table_has(tree->t, &key))
			continue;
		tree->level[p.bucket[1]] = level + 1;
		tree->buckets[tree->nbuckets++] = p.bucket[1];
		expect_equal(plain_table_insert(tree->t, &tree->guard, &key,
						   queue), 0, "insertion");
		tree->keys[tree->nkeys++] = key;
		missing--;
	}
}

/* Create @depth levels of full buckets, so that an insertion needs as many moves. */
static void tree_grow(struct tree *tree, const struct shape *shape, int depth)
{
	struct ipcuckoo_location p;
	int level;

	ipcuckoo_guard_init(&tree->guard);
	tree->t = create(shape->nbuckets, shape->keyed);
	tree->level = calloc(shape->nbuckets, 1);
	tree->buckets = calloc(2 * shape->nbuckets, sizeof(*tree->buckets));
	tree->keys = calloc(shape->nbuckets, sizeof(*tree->keys));
	tree->nkeys = 0;
	if (!tree->level || !tree->buckets || !tree->keys)
		exit(1);
	tree->root = random_key(tree->t);
	p = locate(tree->t, &tree->root);
	tree->level[p.bucket[0]] = 1;
	tree->level[p.bucket[1]] = 1;
	tree->buckets[0] = p.bucket[0];
	tree->buckets[1] = p.bucket[1];
	tree->nbuckets = 2;
	tree->width = 2;
	for (level = 1; level <= depth; level++)
		tree_fill(tree, level, level == depth);
	expect_equal(tree->t->displaced, 0, "displaced while the tree grew");
}

static void tree_fell(struct tree *tree)
{
	ipcuckoo_table_destroy(tree->t);
	free(tree->level);
	free(tree->buckets);
	free(tree->keys);
}

static void tree_expect_keys(const struct tree *tree)
{
	u32 i;

	for (i = 0; i < tree->nkeys; i++)
		expect(probe(tree->t, &tree->keys[i]) &&
		       ipcuckoo_table_has(tree->t, &tree->keys[i]),
		       "key %u of %u is in the table", i, tree->nkeys);
}

/* An insertion moves as many entries as the tree has levels, and bumps the sequence once for each
 * of them (twice with keys or rests).
 */
static void test_tree(const struct shape *shape, int depth)
{
	struct tree tree;

	tree_grow(&tree, shape, depth);
	expect_equal(plain_table_insert(tree.t, &tree.guard, &tree.root, queue),
		     0, "insertion at the root");
	expect_equal(tree.t->displaced, depth, "displaced");
	expect_equal(tree.guard.seq, depth << (tree.t->keys || tree.t->rests),
		     "steps");
	expect_equal(tree.t->count, tree.nkeys + 1, "count");
	expect(probe(tree.t, &tree.root), "the new key is in the table");
	tree_expect_keys(&tree);
	expect_equal(plain_table_insert(tree.t, &tree.guard, &tree.root, queue),
		     -EEXIST, "the same insertion again");
	tree_fell(&tree);
}

/* The search is bounded: six levels have more buckets than it reads. */
static void test_tree_too_deep(const struct shape *shape)
{
	struct image image;
	struct tree tree;

	tree_grow(&tree, shape, 6);
	image = image_take(tree.t, &tree.guard);
	expect_equal(plain_table_insert(tree.t, &tree.guard, &tree.root, queue),
		     -ENOSPC, "insertion at the root");
	image_expect(&image, tree.t, &tree.guard, "failed insertion");
	tree_expect_keys(&tree);
	expect(!probe(tree.t, &tree.root), "the refused key is not in the table");
	tree_fell(&tree);
}

/* Number of buckets behind the last level of a tree */
static u32 leaves(const struct shape *shape, int depth)
{
	bool narrow = !shape->keyed && shape->nbuckets >= IPCUCKOO_BUCKETS_NARROW;
	u32 n = 2;

	while (depth--)
		n *= narrow ? 5 : 4;
	return n;
}

static void test_trees(void)
{
	struct shape large;
	int depth;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		for (depth = 0; depth <= 5 && leaves(&shapes[i], depth) <= shapes[i].nbuckets / 2;
		     depth++)
			test_tree(&shapes[i], depth);
		ktap_case("chains of up to %d moves: %s", depth - 1, shape_text(&shapes[i]));
	}
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		/* Six levels have more buckets than the small tables. */
		large = shapes[i];
		large.nbuckets = max(large.nbuckets, 3 * leaves(&large, 6) + 2 * i);
		test_tree_too_deep(&large);
		ktap_case("a chain of six is refused and nothing changed: %s", shape_text(&large));
	}
}

/* Eight entries (ten in a narrow table) fill the two buckets that they all have. One more must be
 * refused, and the search must end.
 */
static void test_closed(u32 nbuckets, bool keyed)
{
	struct ipcuckoo_table *t = create(nbuckets, keyed);
	int n = 2 * slots_of_bucket(t), i, j;
	struct ipcuckoo_guard guard;
	struct ipcuckoo_key keys[11];
	struct ipcuckoo_location p;
	struct image image;

	ipcuckoo_guard_init(&guard);
	keys[0] = random_key(t);
	p = locate(t, &keys[0]);
	for (i = 1; i < n + 1; i++) {
		keys[i] = key_between(t, p.bucket[i & 1], p.bucket[!(i & 1)]);
		for (j = 0; memcmp(&keys[i], &keys[j], sizeof(keys[i])); j++)
			;
		i -= j < i;
	}
	for (i = 0; i < n; i++)
		expect_equal(plain_table_insert(t, &guard, &keys[i], queue), 0,
			     "insertion %d", i);
	image = image_take(t, &guard);
	expect_equal(plain_table_insert(t, &guard, &keys[n], queue), -ENOSPC,
		     "the last entry");
	image_expect(&image, t, &guard, "the last entry");
	expect_equal(ipcuckoo_table_delete(t, &guard, &keys[3]), 0, "deletion");
	expect_equal(plain_table_insert(t, &guard, &keys[n], queue), 0,
		     "the last entry after one was deleted");
	for (i = 0; i < n + 1; i++)
		expect_equal(probe(t, &keys[i]), i != 3, "key %d", i);
	ipcuckoo_table_destroy(t);
}

/* Fill up @bucket. *@first is the first of the keys added. */
static void fill_bucket(struct ipcuckoo_table *t, struct ipcuckoo_guard *guard,
			u32 bucket, struct ipcuckoo_key *first)
{
	struct ipcuckoo_key key;
	bool begun = false;

	while (used_slots(t, bucket) < slots_of_bucket(t)) {
		key = key_in(t, bucket);
		if (plain_table_insert(t, guard, &key, queue))
			continue;
		if (first && !begun)
			*first = key;
		begun = true;
	}
}

/* An entry is displaced from its first bucket to its second, by an insertion into its full first
 * bucket, and then displaced back. It is in slot 0 both times, where the search looks first.
 */
static void test_there_and_back(const struct shape *shape)
{
	struct ipcuckoo_table *t = create(shape->nbuckets, shape->keyed);
	struct ipcuckoo_key wanderer, pusher[2], guest;
	struct ipcuckoo_guard guard;
	struct ipcuckoo_location p, q;
	u64 home;
	int i;

	ipcuckoo_guard_init(&guard);
	wanderer = random_key(t);
	p = locate(t, &wanderer);
	for (i = 0; i < 2; i++) {
		do {
			pusher[i] = key_in(t, p.bucket[i]);
			q = locate(t, &pusher[i]);
		} while (q.bucket[1] == p.bucket[!i]);
		fill_bucket(t, &guard, q.bucket[1], NULL);
	}
	plain_table_insert(t, &guard, &wanderer, queue);
	home = slot_word(t, p.bucket[0], 0);
	fill_bucket(t, &guard, p.bucket[0], NULL);
	fill_bucket(t, &guard, p.bucket[1], &guest);
	if (ipcuckoo_table_has(t, &pusher[0]) || ipcuckoo_table_has(t, &pusher[1])) {
		/* The same key was drawn again, to fill a bucket: begin again. */
		ipcuckoo_table_destroy(t);
		test_there_and_back(shape);
		return;
	}
	expect_equal(t->displaced, 0, "displaced so far");

	expect_equal(ipcuckoo_table_delete(t, &guard, &guest), 0, "deletion");
	expect_equal(plain_table_insert(t, &guard, &pusher[0], queue), 0, "push");
	expect_equal(t->displaced, 1, "displaced");
	expect(slot_word(t, p.bucket[1], 0) != home &&
	       slot_word(t, p.bucket[1], 0), "it is in its second bucket");
	expect(probe(t, &wanderer), "it is found in its second bucket");

	expect_equal(ipcuckoo_table_delete(t, &guard, &pusher[0]), 0, "deletion");
	expect_equal(plain_table_insert(t, &guard, &pusher[1], queue), 0, "push");
	expect_equal(t->displaced, 2, "displaced");
	expect_equal(slot_word(t, p.bucket[0], 0), home, "slot in the first bucket");
	expect(probe(t, &wanderer), "it is found in its first bucket");
	expect_equal(plain_table_insert(t, &guard, &wanderer, queue), -EEXIST,
		     "the same insertion again");
	ipcuckoo_table_destroy(t);
}

/* In the smallest table, the entries of each bucket can only move to one other bucket: every
 * insertion must end, and must not lose an entry.
 */
static void test_smallest(bool keyed)
{
	struct ipcuckoo_table *t = create(IPCUCKOO_BUCKETS_MIN, keyed);
	struct ipcuckoo_guard guard;
	struct ipcuckoo_key keys[16];
	struct image image;
	u32 i, n = 0, refused = 0;
	int err;

	ipcuckoo_guard_init(&guard);
	while (refused < 100) {
		struct ipcuckoo_key key = random_key(t);

		image = image_take(t, &guard);
		err = plain_table_insert(t, &guard, &key, queue);
		if (err) {
			expect_equal(err, -ENOSPC, "insertion");
			image_expect(&image, t, &guard, "refused insertion");
			refused++;
			continue;
		}
		free(image.area[0]);
		free(image.area[1]);
		keys[n++] = key;
		for (i = 0; i < n; i++)
			expect(probe(t, &keys[i]), "key %u of %u is in the table", i, n);
	}
	expect_equal(t->count, n, "count");
	ipcuckoo_table_destroy(t);
}

static void test_displacement(void)
{
	u32 i, j, n = ktap_share(20), tables = ktap_share(50);

	test_trees();
	for (i = 0; i < 10; i++) {
		test_closed(64, false);
		test_closed(38, false);
		test_closed(64, true);
		test_closed(38, true);
	}
	ktap_case("of entries with the same two buckets, one more than their slots is refused");
	for (i = 0; i < ARRAY_SIZE(shapes); i++)
		for (j = 0; j < n; j++)
			test_there_and_back(&shapes[i]);
	ktap_case("an entry that is displaced and displaced back is unchanged");
	for (i = 0; i < tables; i++) {
		test_smallest(false);
		test_smallest(true);
	}
	ktap_case("the smallest table, filled until it refuses");
}

/* Arithmetic */

static void test_bijection(void)
{
	struct ipcuckoo_bijection b;
	u32 inverse[3], words = ktap_share(50000), i, j, x;

	for (i = 0; i < 100; i++) {
		get_random_bytes(&b, sizeof(b));
		for (j = 0; j < 3; j++) {
			b.mul[j] = i ? b.mul[j] | 1 : j == 1 ? U32_MAX : 1;
			inverse[j] = ipcuckoo_inverse(b.mul[j]);
			expect_equal(b.mul[j] * inverse[j], 1U, "inverse of %u",
				     b.mul[j]);
		}
		for (j = 0; j < words; j++) {
			x = j < 64 ? (j < 32 ? 1U << j : ~(1U << (j - 32))) :
				     random_u32(&rnd);
			expect_equal(ipcuckoo_unpermute(&b, inverse,
							ipcuckoo_permute(&b, x)),
				     x, "round trip");
		}
	}
	ktap_case("the permutation can be undone");
}

static const u32 bucket_counts[] = {
	4, 6, 10, 64, 512, 514, 1024, 5002, 8192, 8194, 32768, 32770, 65534, 65538, 65540,
	131072, 131076, 131078, 131080, 1 << 18, (1 << 18) + 2, 300000, 500000, 1 << 20,
	(1 << 20) + 1234, 2098176, 2098178, 2098180, 3000000, 1 << 22,
};

/* In larger tables, about so many buckets are tested. All have the same arithmetic, so that this takes
 * the square of a share.
 */
static u32 buckets_to_test(void)
{
	return ktap_share(ktap_share(2000000));
}

/* The two buckets of an entry differ, and the alternate of each is the other one. */
static void test_alternates(void)
{
	struct ipcuckoo_table t = {};
	u32 buckets = buckets_to_test(), i, j, bucket, alt, rem, step;

	for (i = 0; i < ARRAY_SIZE(bucket_counts); i++) {
		t.nbuckets = bucket_counts[i];
		step = 1 + t.nbuckets / buckets;
		for (bucket = 0; bucket < t.nbuckets; bucket += step) {
			for (j = 0; j < 16; j++) {
				rem = (j < 2 ? -j : random_u32(&rnd)) % IPCUCKOO_REMS;
				alt = ipcuckoo_table_alt(&t, bucket, rem);
				expect(alt != bucket && alt < t.nbuckets &&
				       ipcuckoo_table_alt(&t, alt, rem) == bucket,
				       "%u buckets: alternate of %u with %u is %u",
				       t.nbuckets, bucket, rem, alt);
			}
		}
	}
	ktap_case("the other bucket of the other bucket is the first");
}

static void set_slot(struct ipcuckoo_table *t, u32 bucket, unsigned int i,
		     u32 slot, u32 rest)
{
	u64 bit = ((u64)bucket * slots_of_bucket(t) + i) * t->rest_bits;

	t->words[bucket] = (u64)slot << (t->narrow ? 12 : 16) * i;
	if (t->rests)
		t->rests[bit / 16] = rest << bit % 16;
}

/* What a slot holds. */
static u32 slot_with(const struct ipcuckoo_table *t, u32 rem, bool second)
{
	return (rem + 1) | second << (t->narrow ? 11 : 15);
}

/* Write @key directly into one of its buckets; the table must list it. */
static void check_key_at(struct ipcuckoo_table *t, struct ipcuckoo_key key,
			 u32 bucket)
{
	struct ipcuckoo_location p = ipcuckoo_table_locate32(t, key.lo);
	unsigned int i = random_below(&rnd, slots_of_bucket(t));
	int second = random_below(&rnd, 2);
	struct ipcuckoo_key got = { 1, 1 };
	u64 pos;

	expect_equal(p.bucket[0], bucket, "%u buckets: bucket", t->nbuckets);
	expect(p.rem < (t->narrow ? 2047U : 32767U), "%u buckets: remainder %u", t->nbuckets,
	       p.rem);
	expect(p.rest < 1U << t->rest_bits, "%u buckets: rest %u", t->nbuckets,
	       p.rest);
	bucket = p.bucket[second];
	set_slot(t, bucket, i, slot_with(t, p.rem, second), p.rest);
	pos = (u64)bucket * slots_of_bucket(t);
	expect(ipcuckoo_table_next(t, &pos, &got) && got.lo == key.lo && !got.hi,
	       "%u buckets, bucket %u, remainder %u: expected key %llx, got %llx",
	       t->nbuckets, p.bucket[0], p.rem, key.lo, got.lo);
	expect_equal(pos, (u64)bucket * slots_of_bucket(t) + i + 1, "position");
	expect(ipcuckoo_table_probe32(t, key.lo), "key %llx is not found", key.lo);
	if (t->rests) {
		set_slot(t, bucket, i, slot_with(t, p.rem, second),
			 ~p.rest & ((1U << t->rest_bits) - 1));
		expect(!ipcuckoo_table_probe32(t, key.lo),
		       "key %llx is found although the rest differs", key.lo);
	}
	set_slot(t, bucket, i, 0, 0);
}

/* Test every bucket, with its first, its last and some other keys. */
static void test_key_at(void)
{
	u32 buckets = buckets_to_test(), i, j, bucket, first, count, step;
	struct ipcuckoo_table *t;

	for (i = 0; i < ARRAY_SIZE(bucket_counts); i++) {
		t = create(bucket_counts[i], false);
		step = 1 + t->nbuckets / buckets;
		for (bucket = 0; bucket < t->nbuckets; bucket += step) {
			first = permuted_first(t->nbuckets, bucket, 0);
			count = permuted_count(t->nbuckets, bucket);
			expect(count <= (u64)t->rems << t->rest_bits,
			       "%u buckets: %u keys in bucket %u", t->nbuckets,
			       count, bucket);
			for (j = 0; j < 4; j++)
				check_key_at(t, key_of_permuted(t, first +
					(j < 2 ? j * (count - 1) :
					 random_below(&rnd, count))), bucket);
		}
		ipcuckoo_table_destroy(t);
	}
	ktap_case("the key of an entry can be computed from its bucket and slot");
}

/* The low and the high word of the product of @word and both words of @seed, computed bit by bit. */
static void product_of(u32 word, const u32 seed[2], u32 product[2])
{
	u64 sum = 0, shifted = (u64)seed[1] << 32 | seed[0];
	u32 i;

	for (i = 0; i < 32; i++, shifted <<= 1)
		if (word >> i & 1)
			sum += shifted;
	product[0] = sum;
	product[1] = sum >> 32;
}

static void test_hash(void)
{
	u32 seed[2], other, i, product[2];
	struct ipcuckoo_key key;

	for (i = 0; i < 1000; i++) {
		key.hi = random_u64(&rnd);
		key.lo = random_u64(&rnd);
		seed[0] = random_u32(&rnd);
		seed[1] = random_u32(&rnd);
		product_of(key.lo, seed, product);
		expect_equal(ipcuckoo_hash128(&key, seed, &other),
			     jhash_3words((key.hi >> 32) + product[1], key.hi + product[0],
					  (key.lo >> 32) + seed[1], seed[0]),
			     "hash of %llx:%llx", key.hi, key.lo);
	}
	ktap_case("the hash of 128 bits begins with that of jhash_3words()");
}

/* Test keys that differ in the top bits of their words: no secret number must make many of them the
 * same.
 */
static void test_hash_top(void)
{
	static u64 hashes[256];
	u32 seed[2], rounds = ktap_share(1000), other, i, j, round, same = 0;
	struct ipcuckoo_key base, key;

	for (round = 0; round < rounds; round++) {
		base = (struct ipcuckoo_key){ random_u64(&rnd), random_u64(&rnd) };
		seed[0] = random_u32(&rnd);
		seed[1] = random_u32(&rnd);
		for (i = 0; i < 256; i++) {
			key.hi = base.hi ^ (u64)(i & 3) << 62 ^ (u64)(i >> 2 & 3) << 30;
			key.lo = base.lo ^ (u64)(i >> 4 & 3) << 62 ^ (u64)(i >> 6) << 30;
			hashes[i] = (u64)ipcuckoo_hash128(&key, seed, &other) << 32;
			hashes[i] |= other;
			for (j = 0; j < i; j++)
				same += hashes[j] == hashes[i];
		}
	}
	expect_equal(same, 0, "pairs of keys with the same hash");
	ktap_case("keys that differ in the top bits of their words have different hashes");
}

/* Test lanes with values at which a carry could give a wrong result. */
static void test_zero_lanes(void)
{
	static const u16 values[] = { 0, 1, 2, 0x7fff, 0x8000, 0x8001, 0xffff, 0x100 };
	static const u16 narrow[] = { 0, 1, 2, 0x7ff, 0x800, 0x801, 0xfff, 0x100 };
	u32 i, lane, first;
	u64 x, zero;

	for (i = 0; i < 8 * 8 * 8 * 8; i++) {
		x = 0;
		first = 64;
		for (lane = 4; lane--; ) {
			x = x << 16 | values[i >> 3 * lane & 7];
			if (!(u16)x)
				first = 16 * lane;
		}
		zero = ipcuckoo_zero_lanes(x, 16);
		expect_equal(zero ? __ffs64(zero) : 79, first + 15,
			     "first zero of %016llx", x);
	}
	expect_equal(0xc123 * IPCUCKOO_LANES(16), 0xc123c123c123c123ULL, "lanes");
	for (i = 0; i < 8 * 8 * 8 * 8 * 8 * 2; i++) {
		/* The highest bits, which are in no lane, are 0 or 1. */
		x = i & 1 ? 15 : 0;
		first = 60;
		for (lane = 5; lane--; ) {
			x = x << 12 | narrow[i >> (3 * lane + 1) & 7];
			if (!(x & 0xfff))
				first = 12 * lane;
		}
		zero = ipcuckoo_zero_lanes(x, 12);
		expect_equal(zero ? __ffs64(zero) : 71, first + 11,
			     "first zero of %016llx", x);
	}
	expect_equal(0x823 * IPCUCKOO_LANES(12), 0x823823823823823ULL, "lanes");
	ktap_case("lanes that are zero are found");
}

static u32 slots_in(u32 n, bool keyed)
{
	return !keyed && n >= 2098178 && sizeof(long) == 8 ? 5 : 4;
}

/* Size of a bucket in bits. Without whole keys, each of four slots has 16 bits, with 32,767 possible
 * remainders, and a rest: the bits of the key that neither bucket number nor remainder tell, rounded
 * up to a power of two. There is none if the bucket has five slots.
 */
static u64 bits_of_bucket(u32 n, bool keyed)
{
	u32 told = ilog2(n * 32767ULL), rest = 1;

	if (keyed)
		return 4 * 128;
	if (told >= 32)
		return 64;
	while (rest < 32 - told)
		rest *= 2;
	return 4 * (16 + rest);
}

static size_t bytes_of_buckets(u32 n, bool keyed)
{
	return (n * bits_of_bucket(n, keyed) + 15) / 16 * 2;
}

static void check_buckets(u64 entries, bool keyed)
{
	/* From these numbers on, rests have fewer bits. */
	static const u32 steps[] = { 514, 8194, 32770, 65540, 131078 };
	u32 n = ipcuckoo_table_buckets(entries, keyed ? IPCUCKOO_KEY128 :
					   IPCUCKOO_KEY32, 0), i;
	size_t size = bytes_of_buckets(n, keyed), room = ipcuckoo_area_round(size);
	u64 slots = (u64)n * slots_in(n, keyed);

	expect(!(n & 1) && n >= IPCUCKOO_BUCKETS_MIN && n <= IPCUCKOO_BUCKETS_MAX,
	       "%u buckets for %llu entries", n, entries);
	expect(entries * 1000 <= slots * IPCUCKOO_LOAD_TARGET ||
	       n == IPCUCKOO_BUCKETS_MAX, "%u buckets for %llu entries", n, entries);
	for (i = 0; i < ARRAY_SIZE(steps); i++)
		expect(keyed || n >= steps[i] ||
		       room < ipcuckoo_area_round(bytes_of_buckets(steps[i], false)),
		       "%u buckets: %u would be no larger", n, steps[i]);
	expect(n == IPCUCKOO_BUCKETS_MAX || room - size < 3 * bits_of_bucket(n, keyed) / 8,
	       "%u buckets of %zu bytes leave some of their memory unused", n, size);
}

static void test_buckets(void)
{
	u64 all = ktap_share(200000), entries, step;

	for (entries = 0; entries < all; entries++) {
		check_buckets(entries, false);
		check_buckets(entries, true);
	}
	for (step = 1; entries < 1ULL << 32; entries += step++) {
		check_buckets(entries, false);
		check_buckets(entries, true);
	}
	check_buckets(U32_MAX, false);
	check_buckets((u64)U32_MAX * 5, true);
	expect(4ULL * ipcuckoo_table_buckets(12000000, IPCUCKOO_KEY32, IPCUCKOO_EXT_NOMATCH) *
	       IPCUCKOO_LOAD_TARGET >= 12000000 * 1000ULL, "a table with extensions is not narrow");
	ktap_case("numbers of buckets are even and sufficient, and use all memory of the pages");
}

static void test_areas(void)
{
	struct ipcuckoo_area area = {};
	u32 sizes = ktap_share(100000), i;
	size_t size, real;

	for (i = 0; i < sizes; i++) {
		size = i < 10000 ? i + 1 : random_u32(&rnd) >> random_below(&rnd, 24);
		size += !size;
		real = ipcuckoo_area_round(size);
		expect(real >= size && ipcuckoo_area_round(real) == real,
		       "%zu rounded to %zu", size, real);
		expect(real - size < PAGE_SIZE + (size + PAGE_SIZE - 1) / 64,
		       "%zu rounded to %zu", size, real);
	}
	expect_equal(ipcuckoo_area_alloc(&area, &mem, PAGE_SIZE + 1, IPCUCKOO_CHARGE_WAIT), 0,
		     "allocation");
	expect_equal(area.size, 2 * PAGE_SIZE, "size");
	expect_equal(atomic_long_read(&mem.used), 2 * PAGE_SIZE, "bytes charged");
	ipcuckoo_area_free(&area, &mem);
	expect(!area.data && !area.size, "an area that was freed is not empty");
	mem.limit = 2 * PAGE_SIZE - 1;
	expect_equal(ipcuckoo_area_alloc(&area, &mem, PAGE_SIZE + 1, IPCUCKOO_CHARGE_WAIT), -EDQUOT,
		     "an allocation beyond the limit");
	mem.limit = 2 * PAGE_SIZE;
	expect_equal(ipcuckoo_area_alloc(&area, &mem, PAGE_SIZE + 1, IPCUCKOO_CHARGE_WAIT), 0,
		     "an allocation up to the limit");
	ipcuckoo_area_free(&area, &mem);
	mem.limit = 0;
	shim_fail_at = 1;
	expect_equal(ipcuckoo_area_alloc(&area, &mem, PAGE_SIZE + 1, IPCUCKOO_CHARGE_WAIT), -ENOMEM,
		     "out of memory");
	ktap_case("memory is rounded, charged, limited");
}

static bool charging_ends;

static void *charge_too_much(void *unused)
{
	while (!READ_ONCE(charging_ends))
		expect(!ipcuckoo_mem_charge_as(&mem, PAGE_SIZE + 1, IPCUCKOO_CHARGE_TRY),
		       "a charge beyond the limit");
	return unused;
}

/* While another thread tries to charge more than the limit, what fits is charged. */
static void test_charges(void)
{
	pthread_t thread;
	u32 charges = ktap_share(1000000), i, refused = 0;

	mem.limit = PAGE_SIZE;
	charging_ends = false;
	if (pthread_create(&thread, NULL, charge_too_much, NULL))
		exit(1);
	for (i = 0; i < charges; i++) {
		if (ipcuckoo_mem_charge_as(&mem, PAGE_SIZE, IPCUCKOO_CHARGE_TRY))
			ipcuckoo_mem_uncharge(&mem, PAGE_SIZE);
		else
			refused++;
	}
	WRITE_ONCE(charging_ends, true);
	pthread_join(thread, NULL);
	mem.limit = 0;
	expect_equal(refused, 0, "charges refused that fit");
	expect_equal(atomic_long_read(&mem.used), 0, "bytes charged");
	ktap_case("a charge that is refused does not disturb others");
}

int main(void)
{
	u64 seed = ktap_begin("test_chains");

	rnd = random_seed(seed);
	shim_random_seed(seed);
	ipcuckoo_mem_open(&mem, 0, ipcuckoo_record_reap);
	queue = ipcuckoo_search_alloc(GFP_KERNEL);
	test_bijection();
	test_hash();
	test_hash_top();
	test_alternates();
	test_key_at();
	test_zero_lanes();
	/* Its arithmetic is that of the real number. */
	if (IPCUCKOO_BUCKETS_NARROW > 1 << 20)
		test_buckets();
	test_areas();
	test_charges();
	test_displacement();
	ipcuckoo_search_free(queue);
	expect_nothing_left(&mem);
	ktap_case("all memory was freed");
	return ktap_end();
}
