// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "../../uapi/ipcuckoo.h"
#include "lib/packed.h"

/* First size of an array in bytes. malloc() maps arrays of this size, so that realloc()
 * need not copy them. Fuzzers define a smaller size, so that it does.
 */
#ifndef FIRST_ROOM
#define FIRST_ROOM	(256u << 10)
#endif

/* Up to this many entries, an insertion sort is faster than sorting by bytes. */
#define SMALL_SORT	32

/* Hosts of IPv4 that are sorted in passes, from one array to another and back: 256 KiB. */
#define SPARE_HOSTS	65536

const uint8_t entry_size[ENTRY_KINDS] = {
	[ENTRY_HOST4]	= IPCUCKOO_HOST4_SIZE,
	[ENTRY_HOST6]	= IPCUCKOO_HOST6_SIZE,
	[ENTRY_NET4]	= IPCUCKOO_NET4_SIZE,
	[ENTRY_NET6]	= IPCUCKOO_NET6_SIZE,
};

/**
 * packed_grow - grow an array
 * @entries:	the entries
 * @kind:	the array
 * @more:	minimum number of entries that can be added afterwards
 *
 * Return: 0 or -ENOMEM.
 */
int packed_grow(struct packed *entries, enum entry_kind kind, size_t more)
{
	struct entry_array *array = &entries->kind[kind];
	size_t size = entry_size[kind];
	size_t room = array->room ? array->room : FIRST_ROOM / size;
	uint8_t *data;

	while (room - array->count < more) {
		if (room > SIZE_MAX / size / 2)
			return -ENOMEM;
		room *= 2;
	}
	data = realloc(array->data, room * size);
	if (!data)
		return -ENOMEM;
	array->data = data;
	array->room = room;
	return 0;
}

/* Add an entry, packed. Return: 0 or -ENOMEM. */
int packed_add(struct packed *entries, enum entry_kind kind, const uint8_t *entry)
{
	struct entry_array *array = &entries->kind[kind];

	if (array->count == array->room && packed_grow(entries, kind, 1))
		return -ENOMEM;
	memcpy(array->data + array->count++ * entry_size[kind], entry, entry_size[kind]);
	return 0;
}

/* Remove all entries, but do not free the memory. */
void packed_clear(struct packed *entries)
{
	int kind;

	for (kind = 0; kind < ENTRY_KINDS; kind++)
		entries->kind[kind].count = 0;
	entries->has_extensions = false;
}

void packed_free(struct packed *entries)
{
	int kind;

	for (kind = 0; kind < ENTRY_KINDS; kind++)
		free(entries->kind[kind].data);
	memset(entries, 0, sizeof(*entries));
}

size_t packed_count(const struct packed *entries)
{
	size_t count = 0;
	int kind;

	for (kind = 0; kind < ENTRY_KINDS; kind++)
		count += entries->kind[kind].count;
	return count;
}

/* Add a prefix as an entry; as a host if it has only one address. */
static int add_block(struct packed *entries, const struct u128 *first,
		     uint8_t family, unsigned int prefix_len)
{
	bool v4 = family == IPCUCKOO_FAMILY_INET;
	struct entry_array *array;
	enum entry_kind kind;
	uint8_t *to;

	if (prefix_len == (v4 ? 32 : 128))
		kind = v4 ? ENTRY_HOST4 : ENTRY_HOST6;
	else
		kind = v4 ? ENTRY_NET4 : ENTRY_NET6;
	array = &entries->kind[kind];
	if (array->count == array->room && packed_grow(entries, kind, 1))
		return -ENOMEM;
	to = array->data + array->count++ * entry_size[kind];
	address_store(first, family, to);
	if (is_net(kind))
		to[v4 ? 4 : 16] = prefix_len;
	return 0;
}

/**
 * packed_add_range - add a range as the fewest possible prefixes, or as hosts
 * @entries:	the entries
 * @range:	the range
 * @hosts_only:	add every address as a host; the caller limits their number
 *
 * Return: 0 or -ENOMEM.
 */
int packed_add_range(struct packed *entries,
		     const struct address_range *range, bool hosts_only)
{
	unsigned int bits = range->family == IPCUCKOO_FAMILY_INET ? 32 : 128;
	struct address_range rest = *range;
	unsigned int prefix_len;
	struct u128 next;
	int err;

	for (;;) {
		prefix_len = hosts_only ? bits : address_block(&rest);
		err = add_block(entries, &rest.first, rest.family, prefix_len);
		if (err)
			return err;
		next = u128_add_block(rest.first, bits - prefix_len);
		/* next has wrapped around if the range ends with the highest address. */
		if (u128_compare(next, rest.first) <= 0 ||
		    u128_compare(next, rest.last) > 0)
			return 0;
		rest.first = next;
	}
}

static inline void swap_entries(uint8_t *a, uint8_t *b, size_t size)
{
	uint8_t spare[IPCUCKOO_NET6_SIZE];

	/* With constant sizes, the compiler replaces memcpy() by single moves. */
	switch (size) {
	case IPCUCKOO_HOST4_SIZE:
		memcpy(spare, a, IPCUCKOO_HOST4_SIZE);
		memcpy(a, b, IPCUCKOO_HOST4_SIZE);
		memcpy(b, spare, IPCUCKOO_HOST4_SIZE);
		break;
	case IPCUCKOO_HOST6_SIZE:
		memcpy(spare, a, IPCUCKOO_HOST6_SIZE);
		memcpy(a, b, IPCUCKOO_HOST6_SIZE);
		memcpy(b, spare, IPCUCKOO_HOST6_SIZE);
		break;
	default:
		memcpy(spare, a, size);
		memcpy(a, b, size);
		memcpy(b, spare, size);
	}
}

static void sort_small(uint8_t *data, size_t count, size_t size)
{
	uint8_t *at, *end = data + count * size, *to;

	for (at = data + size; at < end; at += size)
		for (to = at; to > data && memcmp(to - size, to, size) > 0;
		     to -= size)
			swap_entries(to - size, to, size);
}

/*
 * Swap each entry into the part of the array for its byte @byte (one pass of American flag sort).
 * @tail is set to the ends of the parts. Inlined, so that there is a copy for hosts of IPv4.
 */
static inline __attribute__((always_inline))
void sort_parts(uint8_t *data, size_t count, size_t size, size_t byte, size_t tail[256])
{
	size_t head[256], at, i;
	unsigned int b, to;

	memset(tail, 0, 256 * sizeof(*tail));
	for (i = 0; i < count; i++)
		tail[data[i * size + byte]]++;
	for (at = 0, b = 0; b < 256; b++) {
		head[b] = at;
		at += tail[b];
		tail[b] = at;
	}
	for (b = 0; b < 256; b++) {
		while (head[b] < tail[b]) {
			to = data[head[b] * size + byte];
			if (to == b)
				head[b]++;
			else
				swap_entries(data + head[b] * size,
					     data + head[to]++ * size, size);
		}
	}
}

/* Sort IPv4 hosts by the bytes from @byte on, with a stable pass for each, the last byte first. */
static void sort_passes4(uint8_t *data, size_t count, size_t byte, uint32_t *spare)
{
	uint32_t *from = (uint32_t *)data, *to = spare, *swap;
	size_t at[256], i, sum, n, last;
	unsigned int b;

	for (last = sizeof(*spare); last-- > byte; ) {
		memset(at, 0, sizeof(at));
		for (i = 0; i < count; i++)
			at[((uint8_t *)(from + i))[last]]++;
		for (sum = 0, b = 0; b < 256; b++) {
			n = at[b];
			at[b] = sum;
			sum += n;
		}
		for (i = 0; i < count; i++)
			to[at[((uint8_t *)(from + i))[last]]++] = from[i];
		swap = from;
		from = to;
		to = swap;
	}
	if (from == spare)
		memcpy(data, spare, count * sizeof(*spare));
}

/*
 * Sort entries by the bytes from @byte on: into parts by this byte, in place, so that a list of
 * millions needs no second array; then each part by the next byte. Most entries of lists are IPv4
 * hosts. As soon as a part of them fits in @spare, of SPARE_HOSTS hosts, it is sorted in passes,
 * which is six times as fast as going on in place.
 */
static void sort_from(uint8_t *data, size_t count, size_t size, size_t byte, uint32_t *spare)
{
	bool hosts4 = size == IPCUCKOO_HOST4_SIZE;
	size_t tail[256], at;
	unsigned int b;

	if (count <= SMALL_SORT) {
		sort_small(data, count, size);
		return;
	}
	if (hosts4 && count <= SPARE_HOSTS) {
		sort_passes4(data, count, byte, spare);
		return;
	}
	if (hosts4)
		sort_parts(data, count, IPCUCKOO_HOST4_SIZE, byte, tail);
	else
		sort_parts(data, count, size, byte, tail);
	if (++byte == size)
		return;
	for (at = 0, b = 0; b < 256; at = tail[b++])
		if (tail[b] - at > 1)
			sort_from(data + at * size, tail[b] - at, size, byte, spare);
}

/**
 * packed_sort - sort each array by address, then by prefix length
 * @entries:	the entries
 */
void packed_sort(struct packed *entries)
{
	uint32_t spare[SPARE_HOSTS];
	struct entry_array *array;
	int kind;

	for (kind = 0; kind < ENTRY_KINDS; kind++) {
		array = &entries->kind[kind];
		if (array->count > 1)
			sort_from(array->data, array->count, entry_size[kind], 0, spare);
	}
}

/* Inlined, so that there is a copy for hosts of IPv4. */
static inline __attribute__((always_inline))
size_t dedup(struct entry_array *array, size_t size)
{
	uint8_t *last = array->data, *at, *end;
	size_t before = array->count;

	/* An empty array may be NULL, to which nothing can be added. */
	if (!before)
		return 0;
	end = last + before * size;
	for (at = last + size; at < end; at += size) {
		if (!memcmp(last, at, size))
			continue;
		last += size;
		if (last != at)
			memcpy(last, at, size);
	}
	array->count = (last - array->data) / size + 1;
	return before - array->count;
}

/**
 * packed_dedup - remove repeated entries
 * @entries:	sorted entries
 *
 * Return: number of entries removed.
 */
size_t packed_dedup(struct packed *entries)
{
	size_t dropped = 0;
	int kind;

	for (kind = 0; kind < ENTRY_KINDS; kind++)
		dropped += kind == ENTRY_HOST4 ?
			   dedup(&entries->kind[kind], IPCUCKOO_HOST4_SIZE) :
			   dedup(&entries->kind[kind], entry_size[kind]);
	return dropped;
}

/**
 * packed_find - find an entry
 * @entries:	sorted entries
 * @kind:	kind of the entry
 * @entry:	the entry, packed
 * @at:		set to its number in the array of its kind, if it is there
 *
 * Return: whether the entry is one of @entries.
 */
bool packed_find(const struct packed *entries, enum entry_kind kind, const uint8_t *entry,
		 size_t *at)
{
	const struct entry_array *array = &entries->kind[kind];
	size_t size = entry_size[kind], from = 0, to = array->count;
	int order;

	while (from < to) {
		*at = from + (to - from) / 2;
		order = memcmp(entry, array->data + *at * size, size);
		if (!order)
			return true;
		if (order < 0)
			to = *at;
		else
			from = *at + 1;
	}
	return false;
}

bool packed_has(const struct packed *entries, enum entry_kind kind, const uint8_t *entry)
{
	size_t at;

	return packed_find(entries, kind, entry, &at);
}

/**
 * packed_unique - sort entries, and remove those that come more than once
 * @entries:	entries in any order
 *
 * Return: the number of entries removed.
 */
size_t packed_unique(struct packed *entries)
{
	packed_sort(entries);
	return packed_dedup(entries);
}

/**
 * packed_append - add all entries of another list
 * @entries:	gets them, behind its own
 * @more:	the other list
 *
 * Return: 0, or -ENOMEM; then some may have been added.
 */
int packed_append(struct packed *entries, const struct packed *more)
{
	struct entry_array *array;
	enum entry_kind kind;
	size_t count;

	for (kind = 0; kind < ENTRY_KINDS; kind++) {
		array = &entries->kind[kind];
		count = more->kind[kind].count;
		if (!count)
			continue;
		if (packed_grow(entries, kind, count))
			return -ENOMEM;
		memcpy(array->data + array->count * entry_size[kind], more->kind[kind].data,
		       count * entry_size[kind]);
		array->count += count;
	}
	return 0;
}

/**
 * entry_prefix - the prefix of some length that covers an address
 * @v6:		the address is one of IPv6
 * @address:	the address, in network byte order
 * @len:	length of the prefix
 * @entry:	room for any entry: set to the prefix, packed; or to the host, if @len is all of the
 *		address
 *
 * Return: the kind of @entry.
 */
enum entry_kind entry_prefix(bool v6, const uint8_t *address, unsigned int len, uint8_t *entry)
{
	unsigned int bytes = v6 ? 16 : 4;

	memset(entry, 0, bytes + 1);
	memcpy(entry, address, (len + 7) / 8);
	if (len == 8 * bytes)
		return v6 ? ENTRY_HOST6 : ENTRY_HOST4;
	if (len % 8)
		entry[len / 8] &= 0xff << (8 - len % 8);
	entry[bytes] = len;
	return v6 ? ENTRY_NET6 : ENTRY_NET4;
}

/**
 * packed_covers - whether one of some entries covers an entry, or is the same
 * @entries:	sorted entries
 * @kind:	kind of the entry
 * @entry:	the entry, packed
 */
bool packed_covers(const struct packed *entries, enum entry_kind kind, const uint8_t *entry)
{
	enum entry_kind host = is_v6(kind) ? ENTRY_HOST6 : ENTRY_HOST4;
	enum entry_kind net = is_v6(kind) ? ENTRY_NET6 : ENTRY_NET4;
	unsigned int size = entry_size[host], len;
	uint8_t prefix[IPCUCKOO_NET6_SIZE];

	if (!is_net(kind) && packed_has(entries, host, entry))
		return true;
	if (!entries->kind[net].count)
		return false;
	memcpy(prefix, entry, size);
	len = is_net(kind) ? entry[size] : 8 * size - 1;
	if (!is_net(kind))
		prefix[size - 1] &= 0xfe;
	for (;; len--) {
		prefix[size] = len;
		if (packed_has(entries, net, prefix))
			return true;
		if (!len)
			return false;
		prefix[(len - 1) / 8] &= ~(0x80 >> (len - 1) % 8);
	}
}

/* As memcmp(), but most entries are hosts of IPv4, for which the call would take longer than to
 * compare.
 */
static inline int compare(const uint8_t *a, const uint8_t *b, size_t size)
{
	uint32_t x, y;

	if (size != sizeof(x))
		return memcmp(a, b, size);
	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	x = be32toh(x);
	y = be32toh(y);
	return (x > y) - (x < y);
}

/* The number of the first entry from @from on that is not less than @entry: look 1, 2, 4, ... entries
 * further, and then between the last two, so that a few steps take a few comparisons, and many not many
 * more.
 */
static size_t not_less(const struct entry_array *array, size_t size, size_t from,
		       const uint8_t *entry)
{
	size_t step = 1, to;

	while (from + step <= array->count &&
	       compare(array->data + (from + step - 1) * size, entry, size) < 0) {
		from += step;
		step *= 2;
	}
	to = from + step - 1 < array->count ? from + step - 1 : array->count;
	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (compare(array->data + middle * size, entry, size) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/**
 * packed_not_less - find where the entries from some entry on begin
 * @entries:	sorted entries
 * @kind:	kind of the entry
 * @entry:	the entry, packed, which need not be there
 *
 * Return: the number of the first entry of this kind that is not less; their count if all are.
 */
size_t packed_not_less(const struct packed *entries, enum entry_kind kind, const uint8_t *entry)
{
	return not_less(&entries->kind[kind], entry_size[kind], 0, entry);
}

/* Go on to the next entry that both lists have, or to the end of one. Lists of similar length: a
 * loop without branches to guess, which the processor would guess wrong every other time.
 */
static void step_to_same(const struct entry_array *x, const struct entry_array *y, size_t size,
			 size_t *i, size_t *j)
{
	const uint8_t *a = x->data + *i * size, *a_end = x->data + x->count * size;
	const uint8_t *b = y->data + *j * size, *b_end = y->data + y->count * size;
	int order = 1;

	while (order && a < a_end && b < b_end) {
		order = compare(a, b, size);
		a += order < 0 ? size : 0;
		b += order > 0 ? size : 0;
	}
	*i = (a - x->data) / size;
	*j = (b - y->data) / size;
}

/* The same for lists of different length */
static void jump_to_same(const struct entry_array *x, const struct entry_array *y, size_t size,
			 size_t *i, size_t *j)
{
	int order = 1;

	while (order && *i < x->count && *j < y->count) {
		order = compare(x->data + *i * size, y->data + *j * size, size);
		if (order < 0)
			*i = not_less(x, size, *i + 1, y->data + *j * size);
		else if (order > 0)
			*j = not_less(y, size, *j + 1, x->data + *i * size);
	}
}

/**
 * packed_match - find the entries that two lists have in common
 * @a:		sorted entries, none repeated
 * @b:		sorted entries, none repeated
 * @visit:	called for each of them, with its numbers in both arrays of its kind
 * @data:	its last argument
 */
void packed_match(const struct packed *a, const struct packed *b,
		  void (*visit)(enum entry_kind kind, size_t in_a, size_t in_b, void *data), void *data)
{
	const struct entry_array *x, *y;
	enum entry_kind kind;
	size_t i, j;

	for (kind = 0; kind < ENTRY_KINDS; kind++) {
		x = &a->kind[kind];
		y = &b->kind[kind];
		for (i = 0, j = 0;; i++, j++) {
			if (x->count / 8 > y->count || y->count / 8 > x->count)
				jump_to_same(x, y, entry_size[kind], &i, &j);
			else
				step_to_same(x, y, entry_size[kind], &i, &j);
			if (i == x->count || j == y->count)
				break;
			visit(kind, i, j, data);
		}
	}
}

/**
 * packed_missing - append the entries that another list does not have
 * @entries:	sorted entries, none repeated
 * @in:		the other list, sorted
 * @missing:	gets the entries
 *
 * Return: 0 or -ENOMEM.
 */
int packed_missing(const struct packed *entries, const struct packed *in, struct packed *missing)
{
	const struct entry_array *array, *other;
	const uint8_t *entry;
	enum entry_kind kind;
	size_t size, i, at;

	for (kind = 0; kind < ENTRY_KINDS; kind++) {
		array = &entries->kind[kind];
		other = &in->kind[kind];
		size = entry_size[kind];
		for (i = 0, at = 0; i < array->count; i++) {
			entry = array->data + i * size;
			at = not_less(other, size, at, entry);
			if (at < other->count && !memcmp(other->data + at * size, entry, size))
				continue;
			if (packed_add(missing, kind, entry))
				return -ENOMEM;
		}
	}
	return 0;
}

/* Reads the sorted arrays of hosts and of prefixes of a family in one order. */
struct merge {
	const struct entry_array *hosts, *nets;
	size_t host, net;
	enum entry_kind host_kind;
};

static void merge_start(struct merge *merge, const struct packed *entries,
			enum entry_kind host_kind)
{
	merge->host_kind = host_kind;
	merge->hosts = &entries->kind[host_kind];
	merge->nets = &entries->kind[host_kind + ENTRY_NET4];
	merge->host = 0;
	merge->net = 0;
}

/* The next entry by address; a prefix comes before a host with the same address. NULL at
 * the end.
 */
static const uint8_t *merge_next(struct merge *merge, enum entry_kind *kind)
{
	size_t size = entry_size[merge->host_kind];
	const uint8_t *host = NULL, *net = NULL;

	if (merge->host < merge->hosts->count)
		host = merge->hosts->data + merge->host * size;
	if (merge->net < merge->nets->count)
		net = merge->nets->data + merge->net * (size + 1);
	if (net && (!host || memcmp(net, host, size) <= 0)) {
		merge->net++;
		*kind = merge->host_kind + ENTRY_NET4;
		return net;
	}
	if (host)
		merge->host++;
	*kind = merge->host_kind;
	return host;
}

static bool prefix_holds(const uint8_t *net, const uint8_t *address,
			 unsigned int len)
{
	unsigned int bytes = len / 8, bits = len % 8;

	if (memcmp(net, address, bytes))
		return false;
	return !bits || !((net[bytes] ^ address[bytes]) >> (8 - bits));
}

/**
 * packed_covered - count the entries that another entry covers
 * @entries:	sorted entries without repeated ones
 *
 * Two prefixes are either disjoint, or one contains the other. So, in order of addresses,
 * only the last prefix that is not covered itself can cover the next entry.
 *
 * Return: the number of covered entries.
 */
size_t packed_covered(const struct packed *entries)
{
	static const enum entry_kind family[] = { ENTRY_HOST4, ENTRY_HOST6 };
	const uint8_t *entry, *cover;
	enum entry_kind kind;
	struct merge merge;
	size_t covered = 0;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		size_t size = entry_size[family[i]];

		if (!entries->kind[family[i] + ENTRY_NET4].count)
			continue;
		cover = NULL;
		merge_start(&merge, entries, family[i]);
		while ((entry = merge_next(&merge, &kind))) {
			if (cover && prefix_holds(cover, entry, cover[size]))
				covered++;
			else if (is_net(kind))
				cover = entry;
		}
	}
	return covered;
}

/* The number of sorted entries that are less than @key, which is as long as an entry. */
static size_t count_less(const struct entry_array *array, size_t size, const uint8_t *key)
{
	size_t from = 0, to = array->count, at;

	while (from < to) {
		at = from + (to - from) / 2;
		if (memcmp(array->data + at * size, key, size) < 0)
			from = at + 1;
		else
			to = at;
	}
	return from;
}

/* The range of the array of @kind that @except, an entry of the same family, is or covers: it
 * begins at *@from, and ends before *@to. In sorted arrays, what a prefix covers is in one place.
 */
static void find_covered(const struct packed *entries, enum entry_kind kind, const uint8_t *except,
			 enum entry_kind except_kind, size_t *from, size_t *to)
{
	const struct entry_array *array = &entries->kind[kind];
	uint8_t first[IPCUCKOO_NET6_SIZE], last[IPCUCKOO_NET6_SIZE];
	unsigned int bytes = is_v6(kind) ? 16 : 4, bit, len;

	len = is_net(except_kind) ? except[bytes] : 8 * bytes;
	memcpy(first, except, bytes);
	memcpy(last, except, bytes);
	for (bit = len; bit < 8 * bytes; bit++)
		last[bit / 8] |= 0x80 >> bit % 8;
	first[bytes] = len;
	last[bytes] = 0xff;
	*from = count_less(array, entry_size[kind], first);
	*to = count_less(array, entry_size[kind], last);
	/* No prefix is as long as 0xff, but a host may be the last address itself. */
	if (!is_net(kind) && *to < array->count &&
	    !memcmp(array->data + *to * entry_size[kind], last, bytes))
		++*to;
}

static int copy_range(const struct packed *entries, enum entry_kind kind, size_t from, size_t to,
		      struct packed *rest)
{
	size_t size = entry_size[kind];
	struct entry_array *array = &rest->kind[kind];

	if (to <= from)
		return 0;
	/* At once for all that can come, as realloc() may copy. */
	if (packed_grow(rest, kind, entries->kind[kind].count - from))
		return -ENOMEM;
	memcpy(array->data + array->count * size, entries->kind[kind].data + from * size,
	       (to - from) * size);
	array->count += to - from;
	return 0;
}

/**
 * packed_without - copy entries, without those that others cover
 * @entries:	sorted entries
 * @except:	sorted entries: those that are equal to one of them or inside are left out
 * @rest:	the copy, sorted; empty before
 *
 * Return: 0, or -ENOMEM; then @rest has a part of them.
 */
int packed_without(const struct packed *entries, const struct packed *except, struct packed *rest)
{
	enum entry_kind kind, except_kind;
	const uint8_t *hole;
	struct merge merge;
	size_t at, from, to;
	int err = 0;

	for (kind = 0; kind < ENTRY_KINDS && !err; kind++) {
		merge_start(&merge, except, is_v6(kind) ? ENTRY_HOST6 : ENTRY_HOST4);
		for (at = 0; !err && (hole = merge_next(&merge, &except_kind)); ) {
			if (is_net(kind) && !is_net(except_kind))
				continue;
			find_covered(entries, kind, hole, except_kind, &from, &to);
			err = copy_range(entries, kind, at, from, rest);
			if (to > at)
				at = to;
		}
		if (!err)
			err = copy_range(entries, kind, at, entries->kind[kind].count, rest);
	}
	return err;
}

/**
 * entry_format - write an entry as text
 * @to:		a buffer of ADDRESS_TEXT_SIZE bytes
 * @kind:	kind of the entry
 * @entry:	the entry, packed
 *
 * Writes no NUL. Return: the end of the text.
 */
char *entry_format(char *to, enum entry_kind kind, const uint8_t *entry)
{
	unsigned int prefix_len;

	to = is_v6(kind) ? address_format6(to, entry) : address_format4(to, entry);
	if (!is_net(kind))
		return to;
	prefix_len = entry[entry_size[kind] - 1];
	*to++ = '/';
	if (prefix_len >= 100)
		*to++ = '0' + prefix_len / 100;
	if (prefix_len >= 10)
		*to++ = '0' + prefix_len / 10 % 10;
	*to++ = '0' + prefix_len % 10;
	return to;
}

const char *entry_text(const struct packed *entries, struct entry_ref ref,
		       char text[ADDRESS_TEXT_SIZE])
{
	*entry_format(text, ref.kind, entry_at(entries, ref)) = '\0';
	return text;
}

const char *match_text(const struct packed *entries, struct entry_ref ref,
		       uint8_t prefix_len, char text[ADDRESS_TEXT_SIZE])
{
	bool v4 = !is_v6(ref.kind);
	unsigned int bytes = v4 ? 4 : 16, i;
	uint8_t net[IPCUCKOO_NET6_SIZE];
	enum entry_kind kind;

	memcpy(net, entry_at(entries, ref), bytes);
	if (prefix_len >= bytes * 8) {
		kind = v4 ? ENTRY_HOST4 : ENTRY_HOST6;
	} else {
		kind = v4 ? ENTRY_NET4 : ENTRY_NET6;
		net[prefix_len / 8] &= ~(0xff >> prefix_len % 8);
		for (i = prefix_len / 8 + 1; i < bytes; i++)
			net[i] = 0;
		net[bytes] = prefix_len;
	}
	*entry_format(text, kind, net) = '\0';
	return text;
}

struct entry_ref first_entry(const struct packed *entries)
{
	struct entry_ref ref = { 0, 0 };

	while (ref.kind < ENTRY_NET6 && !entries->kind[ref.kind].count)
		ref.kind++;
	return ref;
}

/**
 * packed_walk - call a function for each entry
 * @entries:	sorted entries
 * @visit:	the function; another result than 0 ends the walk
 * @data:	argument for @visit
 *
 * IPv4 comes before IPv6. In a family, hosts and prefixes are visited in one order.
 *
 * Return: 0, or the result of @visit that ended the walk.
 */
int packed_walk(const struct packed *entries,
		int (*visit)(enum entry_kind kind, const uint8_t *entry,
			     void *data),
		void *data)
{
	enum entry_kind host_kind, kind;
	const uint8_t *entry;
	struct merge merge;
	int err;

	for (host_kind = ENTRY_HOST4; host_kind <= ENTRY_HOST6; host_kind++) {
		merge_start(&merge, entries, host_kind);
		while ((entry = merge_next(&merge, &kind))) {
			err = visit(kind, entry, data);
			if (err)
				return err;
		}
	}
	return 0;
}
