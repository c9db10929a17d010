// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Prefix lengths under an address
 *
 * Problem
 * -------
 *
 * An address matches a prefix if the address, cut to the prefix's length, is an entry. Real
 * lists have 20 to 30 different lengths. ipset's hash:net is slow because it looks up each
 * of them. But most addresses are under no prefix at all, and most of the others under
 * prefixes of one or two lengths.
 *
 * Structure
 * ---------
 *
 * The first level is an array of words, indexed by the first bits of the address; their
 * number is the stride. (Large hints of IPv4 have a shorter stride for multicast and reserved
 * addresses, which saves nearly an eighth of the array.) The word of an address has
 *
 *  - COVER if a prefix no longer than the stride covers the address. Such a prefix sets
 *    COVER in all words that it covers. COVER is exact: it is the answer of a look-up in
 *    sets without exceptions and timeouts;
 *  - HOSTS if there are hosts under the word;
 *  - for IPv4, a bit for each longer length of which there are prefixes under the word;
 *  - for IPv6, such bits up to length 20, and DEEPER if there are longer prefixes.
 *
 * The prefixes of IPv6 lists are concentrated in small parts of the address space:
 * 2a00::/16 alone has prefixes of all lengths, but 2a00:1234::/28 has prefixes of only one or
 * two. So there are further levels, at the lengths in ipcuckoo_hint_level[]. A word of such a
 * level has bits for the lengths up to the next level, and DEEPER. The words of all these
 * levels are in one hash table, which stores no keys: different prefixes can have the same
 * word, which then has the bits of all of them. If a reader finds bits of other prefixes, it
 * ignores those that are not for lengths of its level; for the others it probes in vain.
 *
 * In many lists all prefixes have one length. Then @only is that length, and a look-up that
 * finds any mark of a prefix in the first level probes for it alone.
 *
 * All marks but COVER are hints: a mark without an entry makes a reader probe in vain; an
 * entry without its mark would make a reader miss it. So a mark is set when its entry is
 * in the table, and is never cleared. If too many marks are stale, the hint is rebuilt
 * (rebuild.c).
 *
 * Concurrency
 * -----------
 *
 * Only the writer changes words. Setting marks needs no bump of the sequence number: the
 * addition takes effect when the last mark is set. @only is such a mark: it becomes 0 when a
 * prefix of a second length is added, and stays 0. Clearing COVER is the last step of a
 * deletion; the bump came before, when the prefix was removed from the table.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "hint.h"

/* The prefix lengths at which the deep levels begin; the last one is the end. Steps of four
 * where real IPv6 lists are dense, wider ones beyond; none spans more than the 15 lengths
 * that fit beside DEEPER in a word.
 */
const u8 ipcuckoo_hint_level[IPCUCKOO_HINT_LEVELS + 1] = {
	20, 24, 28, 32, 40, 52, 67, 82, 97, 112, 127,
};

/* The maximum number of prefixes for each stride. With these strides, the first level takes 1, 16
 * and 116 KiB (64 KiB instead of 116 for IPv6): more memory for more prefixes.
 */
static const struct {
	u8 stride;
	u32 prefixes;
} strides[] = {
	{ 8, 64 },
	{ 12, 1024 },
	{ 16, U32_MAX },
};

/* Deep words per prefix. A prefix marks a few words, and shares most with other prefixes. */
#define DEEP_PER_PREFIX		4
#define DEEP_MIN		16
#define DEEP_BITS_MAX		26

static unsigned int choose_stride(u32 prefixes)
{
	unsigned int i = 0;

	while (prefixes > strides[i].prefixes)
		i++;
	return i;
}

static unsigned int choose_deep_bits(u32 prefixes)
{
	return min(ilog2(max_t(u32, prefixes, DEEP_MIN)) +
		   ilog2(DEEP_PER_PREFIX), DEEP_BITS_MAX);
}

/* The size of the first level. */
static size_t top_size(u8 stride, bool deep)
{
	if (stride != IPCUCKOO_HINT_NARROW)
		return sizeof(u32) << stride;
	if (deep)
		return sizeof(u8) << stride;
	return sizeof(u16) * IPCUCKOO_HINT_CELLS4 + sizeof(u32) * IPCUCKOO_HINT_HIGH_WORDS;
}

/**
 * ipcuckoo_hint_size() - how much memory would the words of a hint take?
 * @prefixes:	number of prefixes
 * @deep:	for IPv6
 *
 * Return: bytes, rounding included.
 */
size_t ipcuckoo_hint_size(u32 prefixes, bool deep)
{
	u8 stride = strides[choose_stride(prefixes)].stride;
	size_t size = ipcuckoo_area_round(top_size(stride, deep));

	if (deep)
		size += ipcuckoo_area_round(sizeof(u16) <<
					    choose_deep_bits(prefixes));
	return size;
}

/**
 * ipcuckoo_hint_create() - make an empty hint
 * @mem:	account to charge
 * @prefixes:	number of prefixes that it must be large enough for
 * @deep:	for IPv6
 * @how:	what to do if that exceeds the memory limit
 *
 * Context: process context, may sleep.
 * Return: the hint, or ERR_PTR(-ENOMEM, -EDQUOT or -EINTR).
 */
struct ipcuckoo_hint *ipcuckoo_hint_create(struct ipcuckoo_mem *mem,
					   u32 prefixes, bool deep,
					   enum ipcuckoo_charge how)
{
	unsigned int i = choose_stride(prefixes);
	struct ipcuckoo_hint *h;
	int err;

	h = ipcuckoo_object_alloc(mem, sizeof(*h), how);
	if (IS_ERR(h))
		return h;
	h->mem = mem;
	h->stride = strides[i].stride;
	h->capacity = strides[i].prefixes;
	err = ipcuckoo_area_alloc(&h->area[0], mem, top_size(h->stride, deep), how);
	if (!err && deep) {
		h->deep_bits = choose_deep_bits(prefixes);
		h->capacity = min_t(u64, h->capacity,
				    2ULL * max_t(u32, prefixes, DEEP_MIN));
		h->seed = get_random_u64();
		err = ipcuckoo_area_alloc(&h->area[1], mem,
					  sizeof(u16) << h->deep_bits, how);
	}
	if (err) {
		ipcuckoo_hint_destroy(h);
		return ERR_PTR(err);
	}
	h->top = h->area[0].data;
	if (h->stride == IPCUCKOO_HINT_NARROW && !deep)
		h->high = (u32 *)((u16 *)h->top + IPCUCKOO_HINT_CELLS4);
	h->deep = h->area[1].data;
	return h;
}

/**
 * ipcuckoo_hint_destroy() - free a hint that has no readers
 * @h:		hint, or NULL
 */
void ipcuckoo_hint_destroy(struct ipcuckoo_hint *h)
{
	if (!h)
		return;
	ipcuckoo_area_free(&h->area[1], h->mem);
	ipcuckoo_area_free(&h->area[0], h->mem);
	ipcuckoo_object_free(h, h->mem, sizeof(*h));
}

/**
 * ipcuckoo_hint_memory() - how much memory does a hint take?
 * @h:		hint, or NULL
 *
 * Return: bytes, rounding included.
 */
size_t ipcuckoo_hint_memory(const struct ipcuckoo_hint *h)
{
	return h ? kmalloc_size_roundup(sizeof(*h)) +
		   h->area[0].size + h->area[1].size : 0;
}

#define mark(word, bits) ({					\
	typeof(word) mark_word = (word);			\
								\
	if (~*mark_word & (bits))				\
		WRITE_ONCE(*mark_word, *mark_word | (bits));	\
})

#define clear_cover(word) ({					\
	typeof(word) clear_word = (word);			\
								\
	WRITE_ONCE(*clear_word, *clear_word & ~IPCUCKOO_HINT_COVER);	\
})

/* Is the word of an address one of @high? */
static bool is_high(const struct ipcuckoo_hint *h, u64 hi)
{
	return ipcuckoo_hint_stride(h, hi) != h->stride;
}

static void mark_high(struct ipcuckoo_hint *h, u64 hi, u32 bits)
{
	u16 *last = (u16 *)h->top + IPCUCKOO_HINT_HIGH_CELL;

	mark(ipcuckoo_hint_high(h, hi >> 32), bits);
	mark(last, (bits & IPCUCKOO_HINT_HOSTS) |
	     (bits & ~IPCUCKOO_HINT_HOSTS ? IPCUCKOO_HINT_HIGH_ANY : 0));
}

/* Set bits in the word of the first level for an address. A word can be stored in a narrow cell,
 * in which some bits have other positions (hint.h).
 */
static void mark_top(struct ipcuckoo_hint *h, u64 hi, u32 bits)
{
	u32 flags = bits & IPCUCKOO_HINT_FLAGS;
	u64 i = hi >> (64 - h->stride);

	if (is_high(h, hi))
		mark_high(h, hi, bits);
	else if (h->stride != IPCUCKOO_HINT_NARROW)
		mark((u32 *)h->top + i, bits);
	else if (h->deep)
		mark((u8 *)h->top + i, flags | (bits >> (IPCUCKOO_HINT_NARROW - 1) & 0x3c) |
		     (bits & IPCUCKOO_HINT_DEEPER) >> 24);
	else
		mark((u16 *)h->top + i, flags | (bits >> (IPCUCKOO_HINT_NARROW - 1) & 0xfffc) |
		     (bits & BIT(31)) >> 16);
}

/**
 * ipcuckoo_hint_add_host() - mark a host
 * @h:		hint
 * @hi:		the first 64 bits of its address, an IPv4 address at the top
 */
void ipcuckoo_hint_add_host(struct ipcuckoo_hint *h, u64 hi)
{
	mark_top(h, hi, IPCUCKOO_HINT_HOSTS);
}

/* Mark a prefix in the deep levels. */
static void mark_deep(struct ipcuckoo_hint *h, const struct ipcuckoo_key *addr,
		      unsigned int len)
{
	unsigned int level;
	u16 *word;

	for (level = 0; len > ipcuckoo_hint_level[level]; level++) {
		word = ipcuckoo_hint_deep_word(h, level, addr);
		if (len > ipcuckoo_hint_level[level + 1])
			mark(word, BIT(15));
		else
			mark(word, BIT(len - ipcuckoo_hint_level[level] - 1));
	}
}

/**
 * ipcuckoo_hint_add_prefix() - mark a prefix
 * @h:		hint
 * @addr:	its address, an IPv4 address at the top of addr->hi
 * @len:	its length, less than that of an address
 *
 * Context: the writer; the prefix is in the table already.
 */
void ipcuckoo_hint_add_prefix(struct ipcuckoo_hint *h,
			      const struct ipcuckoo_key *addr,
			      unsigned int len)
{
	u64 hi = addr->hi, last;

	if (len <= ipcuckoo_hint_stride(h, hi)) {
		last = hi | ~0ULL >> len;
		/* Behind the last word of the address space, @hi wraps around to 0. */
		do {
			mark_top(h, hi, IPCUCKOO_HINT_COVER);
			hi += BIT_ULL(64 - ipcuckoo_hint_stride(h, hi));
		} while (hi && hi < last);
		return;
	}
	if (!h->first) {
		h->first = len;
		WRITE_ONCE(h->only, len);
	} else if (len != h->first) {
		WRITE_ONCE(h->only, 0);
	}
	if (!h->deep || len <= ipcuckoo_hint_level[0]) {
		mark_top(h, hi, BIT(len));
		return;
	}
	mark_deep(h, addr, len);
	mark_top(h, hi, IPCUCKOO_HINT_DEEPER);
}

/**
 * ipcuckoo_hint_uncover() - clear COVER in a word of the first level
 * @h:		hint
 * @hi:		the first 64 bits of its addresses; the caller has checked that no prefix which is
 *		still in the table needs COVER in it
 *
 * Context: the writer, after it has deleted the prefix from its table.
 */
void ipcuckoo_hint_uncover(struct ipcuckoo_hint *h, u64 hi)
{
	u64 i = hi >> (64 - h->stride);

	if (is_high(h, hi))
		clear_cover(ipcuckoo_hint_high(h, hi >> 32));
	else if (h->stride != IPCUCKOO_HINT_NARROW)
		clear_cover((u32 *)h->top + i);
	else if (h->deep)
		clear_cover((u8 *)h->top + i);
	else
		clear_cover((u16 *)h->top + i);
}
