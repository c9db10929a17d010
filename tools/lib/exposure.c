// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>

#include "../../uapi/ipcuckoo.h"
#include "lib/exposure.h"

/* Networks of this length are counted in IPv6. */
#define SITE_LENGTH	48

const struct exposure exposure_most = {
	.size = { 1ull << (32 - EXPOSURE_LENGTH4), 1ull << (SITE_LENGTH - EXPOSURE_LENGTH6) },
};

/* No host of the internet has these addresses. */
static const struct {
	uint32_t first;
	unsigned int length;
} special4[] = {
	{ 0x00000000, 8 },	/* this network */
	{ 0x0a000000, 8 },	/* private */
	{ 0x64400000, 10 },	/* shared, of providers */
	{ 0x7f000000, 8 },	/* loopback */
	{ 0xa9fe0000, 16 },	/* link-local */
	{ 0xac100000, 12 },	/* private */
	{ 0xc0a80000, 16 },	/* private */
	{ 0xe0000000, 3 },	/* multicast and reserved */
};

/* Whether a prefix of IPv4 has another one inside, or is the same. */
static bool holds4(uint32_t first, unsigned int length, uint32_t inner, unsigned int inner_length)
{
	return length <= inner_length && (!length || (first ^ inner) >> (32 - length) == 0);
}

/* How much a prefix of IPv4 covers. */
static uint64_t size4(uint32_t first, unsigned int length)
{
	uint64_t size = 1ull << (32 - length);
	size_t i;

	for (i = 0; i < sizeof(special4) / sizeof(special4[0]); i++) {
		if (holds4(special4[i].first, special4[i].length, first, length))
			return 0;
		if (holds4(first, length, special4[i].first, special4[i].length))
			size -= 1ull << (32 - special4[i].length);
	}
	return size;
}

/* 64:ff9b::/96: behind NAT64, its addresses are those of IPv4 (RFC 6052). */
#define NAT64_LENGTH	96
static const uint8_t nat64[NAT64_LENGTH / 8] = { 0x00, 0x64, 0xff, 0x9b };

static bool is_nat64(const uint8_t *entry, unsigned int length)
{
	return length >= NAT64_LENGTH && !memcmp(entry, nat64, sizeof(nat64));
}

/* How much of the addresses behind NAT64 a prefix of IPv6 covers, in as many sites as are the same share
 * of what may be covered: a /104 is a 256th of IPv4. A host is one site.
 */
static uint64_t size_nat64(const uint8_t *entry, unsigned int length)
{
	unsigned int bytes = length / 8, bits = length % 8;

	if (is_nat64(entry, length))
		return length < 128 ? exposure_most.size[EXPOSURE_V6] << EXPOSURE_LENGTH4 >>
				      (length - NAT64_LENGTH) : 1;
	return length < NAT64_LENGTH && !memcmp(entry, nat64, bytes) &&
	       (!bits || !((entry[bytes] ^ nat64[bytes]) >> (8 - bits))) ?
	       exposure_most.size[EXPOSURE_V6] << EXPOSURE_LENGTH4 : 0;
}

/* How much a prefix of IPv6 covers; a longer one than a site counts as one. */
static uint64_t size6(const uint8_t *entry, unsigned int length)
{
	/* 2000::/3 is inside. */
	if (length < 3)
		return length && (entry[0] ^ 0x20) >> (8 - length) ? 0 : 1ull << (SITE_LENGTH - 3);
	if (entry[0] >> 5 != 1)
		return size_nat64(entry, length);
	return length < SITE_LENGTH ? 1ull << (SITE_LENGTH - length) : 1;
}

static unsigned int length_of(enum entry_kind kind, const uint8_t *entry)
{
	unsigned int bytes = is_v6(kind) ? IPCUCKOO_HOST6_SIZE : IPCUCKOO_HOST4_SIZE;

	return is_net(kind) ? entry[bytes] : 8 * bytes;
}

static uint64_t size_of(enum entry_kind kind, const uint8_t *entry)
{
	unsigned int length = length_of(kind, entry);

	return is_v6(kind) ? size6(entry, length) :
	       size4((uint32_t)entry[0] << 24 | entry[1] << 16 | entry[2] << 8 | entry[3], length);
}

struct exposure exposure_of_lengths(unsigned int length4, unsigned int length6)
{
	struct exposure result = { .size = { 1ull << (32 - length4), 1 } };

	if (length6 < SITE_LENGTH)
		result.size[EXPOSURE_V6] = 1ull << (SITE_LENGTH - length6);
	return result;
}

/**
 * struct measure - entries that are being measured, in the order of their addresses
 * @total:	the result
 * @cover:	the last entry that no other one covers; NULL before the first one
 * @kind:	its kind
 */
struct measure {
	struct exposure total;
	const uint8_t *cover;
	enum entry_kind kind;
};

/* Two prefixes are either disjoint, or one has the other inside: so only the last one that is not
 * inside another one can have the next one inside. Entries of IPv6 in one site count as it, but for
 * those behind NAT64.
 */
static int measure_entry(enum entry_kind kind, const uint8_t *entry, void *data)
{
	struct measure *measure = data;
	unsigned int length, bytes, bits;

	if (measure->cover && is_v6(measure->kind) == is_v6(kind)) {
		length = length_of(measure->kind, measure->cover);
		if (is_v6(kind) && length > SITE_LENGTH && !is_nat64(measure->cover, length))
			length = SITE_LENGTH;
		bytes = length / 8;
		bits = length % 8;
		if (!memcmp(measure->cover, entry, bytes) &&
		    (!bits || !((measure->cover[bytes] ^ entry[bytes]) >> (8 - bits))))
			return 0;
	}
	measure->cover = entry;
	measure->kind = kind;
	measure->total.size[is_v6(kind)] += size_of(kind, entry);
	return 0;
}

struct exposure exposure_measure(const struct packed *entries)
{
	struct measure measure = { 0 };

	packed_walk(entries, measure_entry, &measure);
	return measure.total;
}

struct exposure exposure_bound(const struct packed *entries)
{
	struct exposure result = { 0 };
	const struct entry_array *array;
	unsigned int bits, length;
	enum entry_kind kind;
	size_t i, size;

	for (kind = ENTRY_HOST4; kind <= ENTRY_HOST6; kind++)
		result.size[is_v6(kind)] = entries->kind[kind].count;
	for (kind = ENTRY_NET4; kind < ENTRY_KINDS; kind++) {
		array = &entries->kind[kind];
		size = entry_size[kind];
		bits = is_v6(kind) ? SITE_LENGTH : 32;
		for (i = 0; i < array->count; i++) {
			length = array->data[i * size + size - 1];
			if (is_v6(kind))
				result.size[EXPOSURE_V6] += size_nat64(array->data + i * size, length);
			result.size[is_v6(kind)] += 1ull << (length < bits ? bits - length : 0);
		}
	}
	return result;
}

const char *const exposure_units[EXPOSURE_FAMILIES] = { "addresses of IPv4", "/48s of IPv6" };

int exposure_exceeds(const struct exposure *size, const struct exposure *most)
{
	int i;

	for (i = 0; i < EXPOSURE_FAMILIES; i++)
		if (size->size[i] > most->size[i])
			return i;
	return -1;
}

bool exposure_take(struct exposure *left, const struct exposure *size)
{
	int i;

	if (exposure_exceeds(size, left) >= 0)
		return false;
	for (i = 0; i < EXPOSURE_FAMILIES; i++)
		left->size[i] -= size->size[i];
	return true;
}

/* What @entries cover and @old do not. Return: 0 or -ENOMEM. */
static int measure_more(const struct packed *entries, const struct packed *old,
			struct exposure *more)
{
	struct exposure before = exposure_measure(old);
	struct packed all = { 0 };
	int err = packed_append(&all, old), i;

	if (!err)
		err = packed_append(&all, entries);
	packed_unique(&all);
	*more = exposure_measure(&all);
	for (i = 0; i < EXPOSURE_FAMILIES; i++)
		more->size[i] -= before.size[i];
	packed_free(&all);
	return err;
}

/* The entry that covers the most, of those that are not among the old ones. */
static struct entry_ref find_widest(const struct packed *entries, const struct packed *old,
				    int family)
{
	struct entry_ref ref, widest = { .kind = family };
	uint64_t most = 0, size;
	const uint8_t *entry;

	for (ref.kind = family; ref.kind < ENTRY_KINDS; ref.kind += ENTRY_NET4) {
		for (ref.index = 0; ref.index < entries->kind[ref.kind].count; ref.index++) {
			entry = entry_at(entries, ref);
			size = size_of(ref.kind, entry);
			if (size <= most || (old && packed_has(old, ref.kind, entry)))
				continue;
			most = size;
			widest = ref;
		}
	}
	return widest;
}

int exposure_check(const struct packed *entries, const struct packed *old,
		   const struct exposure *most, struct exposure_excess *excess)
{
	struct exposure size = exposure_bound(entries);
	int err = 0;

	if (exposure_exceeds(&size, most) < 0)
		return 0;
	if (old)
		err = measure_more(entries, old, &size);
	else
		size = exposure_measure(entries);
	excess->family = exposure_exceeds(&size, most);
	if (err || excess->family < 0)
		return err;
	excess->size = size.size[excess->family];
	excess->most = most->size[excess->family];
	excess->widest = find_widest(entries, old, excess->family);
	return 1;
}

const char *exposure_text(const struct packed *entries, const struct exposure_excess *excess,
			  char text[EXPOSURE_TEXT_SIZE])
{
	unsigned int length = excess->family == EXPOSURE_V6 ? SITE_LENGTH : 32;
	char entry[ADDRESS_TEXT_SIZE];
	uint64_t size;

	for (size = excess->most; size > 1; size /= 2)
		length--;
	entry_text(entries, excess->widest, entry);
	snprintf(text, EXPOSURE_TEXT_SIZE,
		 "would drop %" PRIu64 " more %s, most of them by %s; one change may add %" PRIu64
		 ", a /%u",
		 excess->size, exposure_units[excess->family], entry, excess->most, length);
	return text;
}
