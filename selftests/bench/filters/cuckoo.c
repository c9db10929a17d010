// SPDX-License-Identifier: GPL-2.0-only
/*
 * The classic cuckoo filter.
 *
 * B. Fan, D. Andersen, M. Kaminsky, M. Mitzenmacher: Cuckoo Filter: Practically
 * Better Than Bloom. CoNEXT 2014. Parameters and details are those of the
 * implementation most used in Go (seiflotfy/cuckoofilter) and of articles on
 * it: four slots, 8 bits, the fingerprint hash mod 255 + 1 with 0 for an empty
 * slot, the first bucket from the high half of the same hash, a table of the
 * fingerprints' hashes, a power of two of buckets, 500 evictions.
 *
 * A bucket stores only fingerprints. The other bucket of a fingerprint is this bucket xor
 * the hash of the fingerprint, so that it can be moved without its key.
 *
 * As published, an insertion that fails has stored the new entry, but drops the
 * fingerprint that it evicted last: a false negative. With undo, the evictions are undone
 * instead, and nothing is lost.
 */
#include <math.h>
#include <stdlib.h>

#include "bits.h"
#include "cuckoo.h"

static u64 round_up_pow2(u64 n)
{
	u64 power = 1;

	while (power < n)
		power *= 2;
	return power;
}

static u64 compute_hash(const struct cuckoo *cuckoo, u32 fp)
{
	return cuckoo->unhashed ? fp : hash64(HASH_STEP, fp);
}

static u64 hash_of(const struct cuckoo *cuckoo, u32 fp)
{
	return fp < CUCKOO_SMALL ? cuckoo->alt[fp] : compute_hash(cuckoo, fp);
}

/**
 * cuckoo_create() - create a cuckoo filter
 * @params:	n, b, f, kicks, undo, unhashed
 * @store:	how to pack fingerprints
 */
struct filter *cuckoo_create(const struct filter_params *params,
			     const struct cuckoo_store *store)
{
	struct cuckoo *cuckoo = filter_alloc(sizeof(*cuckoo));
	u64 buckets = round_up_pow2(params->n) / params->b;
	u32 fp;

	if (!buckets)
		buckets = 1;
	cuckoo->store = store;
	cuckoo->mask = buckets - 1;
	cuckoo->b = params->b;
	cuckoo->f = params->f;
	cuckoo->kicks = params->kicks;
	cuckoo->unhashed = params->unhashed;
	cuckoo->random = random_seed(params->seed);
	cuckoo->bucket_bits = store->bits(cuckoo);
	cuckoo->words = filter_alloc(bits_size(buckets * cuckoo->bucket_bits));
	if (params->undo)
		cuckoo->log = filter_alloc(params->kicks *
					   sizeof(*cuckoo->log));
	for (fp = 0; fp < CUCKOO_SMALL; fp++)
		cuckoo->alt[fp] = compute_hash(cuckoo, fp);
	return &cuckoo->filter;
}

void cuckoo_destroy(struct filter *filter)
{
	struct cuckoo *cuckoo = (struct cuckoo *)filter;

	free(cuckoo->words);
	free(cuckoo->log);
	free(cuckoo);
}

static u64 other_bucket(const struct cuckoo *cuckoo, u64 bucket, u32 fp)
{
	return (bucket ^ hash_of(cuckoo, fp)) & cuckoo->mask;
}

struct cuckoo_place cuckoo_place(const struct cuckoo *cuckoo, u32 key)
{
	u64 hash = hash64(cuckoo->filter.seed, key);
	struct cuckoo_place place;

	place.fp = hash % ((1ULL << cuckoo->f) - 1) + 1;
	place.bucket[0] = hash >> 32 & cuckoo->mask;
	place.bucket[1] = other_bucket(cuckoo, place.bucket[0], place.fp);
	return place;
}

/* Replace @out by @in in a bucket. Returns whether @out was there. */
static bool exchange(struct cuckoo *cuckoo, u64 bucket, u32 out, u32 in)
{
	u32 fp[CUCKOO_SLOTS_MAX];
	unsigned int i;

	cuckoo->store->get(cuckoo, bucket, fp);
	for (i = 0; i < cuckoo->b; i++) {
		if (fp[i] != out)
			continue;
		fp[i] = in;
		cuckoo->store->put(cuckoo, bucket, fp);
		return true;
	}
	return false;
}

static bool place_free(struct cuckoo *cuckoo, u64 bucket, u32 fp)
{
	return exchange(cuckoo, bucket, 0, fp);
}

/* Replace a random fingerprint by @in, and return the old one. */
static u32 evict(struct cuckoo *cuckoo, u64 bucket, u32 in)
{
	u32 fp[CUCKOO_SLOTS_MAX], out;
	u32 slot = random_below(&cuckoo->random, cuckoo->b);

	cuckoo->store->get(cuckoo, bucket, fp);
	out = fp[slot];
	fp[slot] = in;
	cuckoo->store->put(cuckoo, bucket, fp);
	return out;
}

static int place_by_force(struct cuckoo *cuckoo, u64 bucket, u32 fp)
{
	struct cuckoo_kick kick;
	unsigned int i;

	for (i = 0; i < cuckoo->kicks; i++) {
		kick.bucket = bucket;
		kick.in = fp;
		kick.out = evict(cuckoo, bucket, fp);
		if (cuckoo->log)
			cuckoo->log[i] = kick;
		cuckoo->kicked++;
		fp = kick.out;
		bucket = other_bucket(cuckoo, bucket, fp);
		if (place_free(cuckoo, bucket, fp))
			return 0;
	}
	if (!cuckoo->log) {
		cuckoo->dropped++;
		return -ENOSPC;
	}
	while (i--) {
		kick = cuckoo->log[i];
		exchange(cuckoo, kick.bucket, kick.in, kick.out);
	}
	return -ENOSPC;
}

int cuckoo_add(struct filter *filter, u32 key)
{
	struct cuckoo *cuckoo = (struct cuckoo *)filter;
	struct cuckoo_place place = cuckoo_place(cuckoo, key);
	u64 start;
	int err;

	if (place_free(cuckoo, place.bucket[0], place.fp) ||
	    place_free(cuckoo, place.bucket[1], place.fp)) {
		filter->count++;
		return 0;
	}
	start = place.bucket[random_below(&cuckoo->random, 2)];
	err = place_by_force(cuckoo, start, place.fp);
	if (!err)
		filter->count++;
	return err;
}

int cuckoo_del(struct filter *filter, u32 key)
{
	struct cuckoo *cuckoo = (struct cuckoo *)filter;
	struct cuckoo_place place = cuckoo_place(cuckoo, key);

	if (!exchange(cuckoo, place.bucket[0], place.fp, 0) &&
	    !exchange(cuckoo, place.bucket[1], place.fp, 0))
		return -ENOENT;
	filter->count--;
	return 0;
}

bool cuckoo_test(const struct filter *filter, u32 key)
{
	const struct cuckoo *cuckoo = (const struct cuckoo *)filter;
	struct cuckoo_place place = cuckoo_place(cuckoo, key);
	u32 fp[2 * CUCKOO_SLOTS_MAX];
	bool found = false;
	unsigned int i;

	cuckoo->store->get(cuckoo, place.bucket[0], fp);
	cuckoo->store->get(cuckoo, place.bucket[1], fp + cuckoo->b);
	for (i = 0; i < 2 * cuckoo->b; i++)
		found |= fp[i] == place.fp;
	return found;
}

/**
 * cuckoo_reads() - how many buckets a look-up has to read
 * @filter:	a cuckoo filter
 * @key:	the key
 *
 * Return: 1 if the first bucket has the fingerprint, else 2. test() always reads both,
 * because it does not wait for the first one.
 */
unsigned int cuckoo_reads(const struct filter *filter, u32 key)
{
	const struct cuckoo *cuckoo = (const struct cuckoo *)filter;
	struct cuckoo_place place = cuckoo_place(cuckoo, key);
	u32 fp[CUCKOO_SLOTS_MAX];
	unsigned int i;

	cuckoo->store->get(cuckoo, place.bucket[0], fp);
	for (i = 0; i < cuckoo->b; i++)
		if (fp[i] == place.fp)
			return 1;
	return place.bucket[0] == place.bucket[1] ? 1 : 2;
}

u64 cuckoo_bits(const struct filter *filter)
{
	const struct cuckoo *cuckoo = (const struct cuckoo *)filter;

	return (cuckoo->mask + 1) * cuckoo->bucket_bits;
}

u64 cuckoo_slots(const struct filter *filter)
{
	const struct cuckoo *cuckoo = (const struct cuckoo *)filter;

	return (cuckoo->mask + 1) * cuckoo->b;
}

/* A look-up compares with the fingerprints in two buckets, each of which is equal with probability
 * 1 / (2^f - 1): 1-(1-2^-f)^(2b), but for the slots that are used.
 */
double cuckoo_rate(u64 count, u64 buckets, unsigned int f)
{
	double compared = 2.0 * count / buckets;

	return -expm1(compared * log1p(-1 / (ldexp(1, f) - 1)));
}

double cuckoo_fpp(const struct filter *filter)
{
	const struct cuckoo *cuckoo = (const struct cuckoo *)filter;

	return cuckoo_rate(filter->count, cuckoo->mask + 1, cuckoo->f);
}

static unsigned int plain_bits(const struct cuckoo *cuckoo)
{
	return cuckoo->b * cuckoo->f;
}

static void plain_get(const struct cuckoo *cuckoo, u64 bucket, u32 *fp)
{
	u64 at = bucket * cuckoo->bucket_bits;
	unsigned int i;

	for (i = 0; i < cuckoo->b; i++, at += cuckoo->f)
		fp[i] = field_get(cuckoo->words, at, cuckoo->f);
}

static void plain_put(struct cuckoo *cuckoo, u64 bucket, const u32 *fp)
{
	u64 at = bucket * cuckoo->bucket_bits;
	unsigned int i;

	for (i = 0; i < cuckoo->b; i++, at += cuckoo->f)
		field_set(cuckoo->words, at, cuckoo->f, fp[i]);
}

static struct filter *create(const struct filter_params *params)
{
	static const struct cuckoo_store plain = {
		plain_bits, plain_get, plain_put
	};

	return cuckoo_create(params, &plain);
}

const struct filter_ops filter_cuckoo = {
	.name = "cuckoo",
	.source = "Fan, Andersen, Kaminsky, Mitzenmacher, CoNEXT 2014",
	.multi = true,
	.create = create,
	.destroy = cuckoo_destroy,
	.add = cuckoo_add,
	.del = cuckoo_del,
	.test = cuckoo_test,
	.bits = cuckoo_bits,
	.fpp = cuckoo_fpp,
};
