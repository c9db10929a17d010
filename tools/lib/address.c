// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parses one address, prefix or range, strictly: a text that is not clearly an address is
 * refused, with the place of the error and the reason. Host names are not resolved.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <errno.h>

#include "../../uapi/ipcuckoo.h"
#include "lib/address.h"

#define MAPPED_PREFIX	0xffffull	/* bits 32 to 63 of ::ffff:0:0/96 */

static int __attribute__((format(printf, 2, 3)))
refuse(char why[ADDRESS_WHY_SIZE], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, ADDRESS_WHY_SIZE, format, args);
	va_end(args);
	return -EINVAL;
}

/* A character for messages: in quotes, or as \xNN if it is not printable. */
static const char *show_char(unsigned char c, char buffer[8])
{
	if (c > ' ' && c < 0x7f)
		snprintf(buffer, 8, "'%c'", c);
	else
		snprintf(buffer, 8, "\\x%02x", c);
	return buffer;
}

/**
 * address_quote - copy text for a message
 * @to:		the buffer
 * @size:	size of the buffer, at least 8
 * @text:	text from the user, perhaps binary
 * @len:	length of the text
 *
 * Control and non-ASCII bytes become \xNN, so that no file can send control sequences to
 * the terminal. If the text does not fit, it is cut, and "..." marks the cut.
 */
void address_quote(char *to, size_t size, const char *text, size_t len)
{
	char *end = to + size - 4;
	unsigned char c;
	size_t i;

	for (i = 0; i < len; i++) {
		c = text[i];
		if (c >= ' ' && c < 0x7f) {
			if (to + 1 > end)
				break;
			*to++ = c;
		} else {
			if (to + 4 > end)
				break;
			to += sprintf(to, "\\x%02x", c);
		}
	}
	strcpy(to, i < len ? "..." : "");
}

int u128_compare(struct u128 a, struct u128 b)
{
	if (a.hi != b.hi)
		return a.hi < b.hi ? -1 : 1;
	if (a.lo != b.lo)
		return a.lo < b.lo ? -1 : 1;
	return 0;
}

struct u128 u128_add_block(struct u128 a, unsigned int log2)
{
	uint64_t before = a.lo;

	if (log2 >= 128)
		return a;
	if (log2 >= 64) {
		a.hi += 1ull << (log2 - 64);
	} else {
		a.lo += 1ull << log2;
		a.hi += a.lo < before;
	}
	return a;
}

static struct u128 subtract(struct u128 a, struct u128 b)
{
	struct u128 result = { a.hi - b.hi - (a.lo < b.lo), a.lo - b.lo };

	return result;
}

/* A number whose low @free bits are 1: the host bits of a prefix. */
static struct u128 host_bits(unsigned int free)
{
	struct u128 bits = { 0, 0 };

	if (free > 64) {
		bits.lo = UINT64_MAX;
		bits.hi = UINT64_MAX >> (128 - free);
	} else if (free) {
		bits.lo = UINT64_MAX >> (64 - free);
	}
	return bits;
}

static unsigned int width(uint8_t family)
{
	return family == IPCUCKOO_FAMILY_INET ? 32 : 128;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The value of a hex digit; -1 for other characters. A table, because feeds are long. */
static int hex_digit(char c)
{
	static const uint8_t one_more[256] = {
		['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,
		['5'] = 6,  ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10,
		['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15,
		['f'] = 16, ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14,
		['E'] = 15, ['F'] = 16,
	};

	return one_more[(uint8_t)c] - 1;
}

/* Parse octet number @n of an address, and advance *text past it. */
static int parse_octet(const char **text, const char *end, int n,
		       uint32_t *octet, char *why)
{
	const char *start = *text, *p = start;
	uint32_t value = 0;
	char c[8];

	while (p < end && is_digit(*p)) {
		value = value * 10 + (*p++ - '0');
		if (value > 255)
			return refuse(why, "octet %d is greater than 255", n);
	}
	if (p < end && *p != '.')
		return refuse(why, "octet %d has %s where a digit belongs", n,
			      show_char(*p, c));
	if (p == start)
		return refuse(why, "octet %d is empty", n);
	if (*start == '0' && p - start > 1)
		return refuse(why,
			      "octet %d has a leading zero: octal or decimal?",
			      n);
	*octet = value;
	*text = p;
	return 0;
}

static int parse4(const char *text, const char *end, uint32_t *address,
		  char *why)
{
	const char *p = text;
	uint32_t octet = 0;
	int n = 0, err;

	*address = 0;
	for (;;) {
		err = parse_octet(&p, end, ++n, &octet, why);
		if (err)
			return err;
		if (n <= 4)
			*address = *address << 8 | octet;
		if (p == end)
			break;
		p++;
	}
	if (n != 4)
		return refuse(why, "%d octet%s where an IPv4 address has 4", n,
			      n > 1 ? "s" : "");
	return 0;
}

/* The groups of an IPv6 address as written. @gap: index of the group after "::"; -1 if
 * there is no "::".
 */
struct groups {
	uint16_t value[8];
	int count;
	int gap;
};

/* Parse an IPv4 address at the end of an IPv6 address, as in ::ffff:192.0.2.1 */
static int parse_tail4(const char *text, const char *end, struct groups *groups,
		       char *why)
{
	uint32_t address;
	int err;

	if (groups->count > 6)
		return refuse(why, "no room for an IPv4 address at the end");
	err = parse4(text, end, &address, why);
	if (err)
		return err;
	groups->value[groups->count++] = address >> 16;
	groups->value[groups->count++] = address & 0xffff;
	return 0;
}

/* Parse one group, or an IPv4 address at the end, and advance *text past it. */
static int parse_group(const char **text, const char *end,
		       struct groups *groups, char *why)
{
	const char *start = *text, *p = start;
	uint32_t value = 0;
	char c[8];

	if (groups->count == 8)
		return refuse(why, "more than 8 groups");
	while (p < end && hex_digit(*p) >= 0) {
		if (p - start == 4)
			return refuse(why, "group %d has more than 4 digits",
				      groups->count + 1);
		value = value << 4 | hex_digit(*p++);
	}
	if (p < end && *p == '.' && p > start) {
		*text = end;
		return parse_tail4(start, end, groups, why);
	}
	if (p < end && *p != ':')
		return refuse(why, "group %d has %s where a hex digit belongs",
			      groups->count + 1, show_char(*p, c));
	groups->value[groups->count++] = value;
	*text = p;
	return 0;
}

static int parse_groups(const char *p, const char *end, struct groups *groups,
			char *why)
{
	int err;

	groups->count = 0;
	groups->gap = -1;
	if (end - p >= 2 && p[0] == ':' && p[1] == ':') {
		groups->gap = 0;
		p += 2;
	} else if (*p == ':') {
		return refuse(why, "begins with a single colon");
	}
	while (p < end) {
		if (*p == ':')
			return refuse(why, "more than two colons in a row");
		err = parse_group(&p, end, groups, why);
		if (err)
			return err;
		if (p == end)
			break;
		if (++p == end)
			return refuse(why, "ends with a single colon");
		if (*p == ':') {
			if (groups->gap >= 0)
				return refuse(why, "more than one \"::\"");
			groups->gap = groups->count;
			p++;
		}
	}
	return 0;
}

static int parse6(const char *text, const char *end, struct u128 *address,
		  char *why)
{
	struct groups groups;
	uint64_t half[2] = { 0, 0 };
	int err, i, at;

	err = parse_groups(text, end, &groups, why);
	if (err)
		return err;
	if (groups.gap < 0 && groups.count != 8)
		return refuse(why, "%d groups where an IPv6 address has 8",
			      groups.count);
	if (groups.gap >= 0 && groups.count == 8)
		return refuse(why, "8 groups leave nothing for \"::\"");
	for (i = 0; i < groups.count; i++) {
		at = i;
		if (groups.gap >= 0 && i >= groups.gap)
			at += 8 - groups.count;
		half[at / 4] |= (uint64_t)groups.value[i] << (48 - at % 4 * 16);
	}
	address->hi = half[0];
	address->lo = half[1];
	return 0;
}

/* The reason for common mistakes in texts with a colon; NULL if there is none. */
static const char *mistaken6(const char *text, size_t len)
{
	const char *colon = memchr(text, ':', len);
	const char *dot = memchr(text, '.', len);

	if (*text == '[')
		return "brackets do not belong around an address here";
	if (memchr(text, '%', len))
		return "a zone (%...) has no meaning in a set";
	if (dot && dot < colon)
		return "a port does not belong behind an address here";
	return NULL;
}

static int parse_address(const char *text, size_t len, struct u128 *address,
			 uint8_t *family, char *why)
{
	const char *mistaken;
	uint32_t address4;
	int err;

	if (!len)
		return refuse(why, "no address");
	if (memchr(text, ':', len)) {
		mistaken = mistaken6(text, len);
		if (mistaken)
			return refuse(why, "%s", mistaken);
		*family = IPCUCKOO_FAMILY_INET6;
		return parse6(text, text + len, address, why);
	}
	if (!is_digit(*text) && *text != '.')
		return refuse(why,
			      "not an IP address");
	err = parse4(text, text + len, &address4, why);
	if (err)
		return err;
	*family = IPCUCKOO_FAMILY_INET;
	address->hi = 0;
	address->lo = address4;
	return 0;
}

/* Say which prefix length a netmask stands for. */
static int refuse_netmask(const char *text, size_t len, unsigned int max, char *why)
{
	struct u128 mask, ones = host_bits(max), zeros;
	unsigned int bits;
	uint8_t family;

	if (parse_address(text, len, &mask, &family, why) || width(family) != max)
		return refuse(why, "the prefix length is no number from 0 to %u", max);
	for (bits = 0; bits <= max; bits++) {
		zeros = host_bits(max - bits);
		if (mask.hi == (ones.hi & ~zeros.hi) && mask.lo == (ones.lo & ~zeros.lo))
			return refuse(why, "a netmask: write the prefix length, /%u", bits);
	}
	return refuse(why, "a netmask whose bits do not stand in a row is no prefix");
}

static int parse_prefix_len(const char *text, size_t len, unsigned int max,
			    unsigned int *prefix_len, char *why)
{
	unsigned int value = 0;
	size_t i;

	if (!len)
		return refuse(why, "no prefix length behind the slash");
	if (memchr(text, '.', len) || memchr(text, ':', len))
		return refuse_netmask(text, len, max, why);
	for (i = 0; i < len; i++) {
		if (!is_digit(text[i]))
			return refuse(why,
				      "the prefix length is no number from 0 to %u",
				      max);
		value = value * 10 + (text[i] - '0');
		if (value > max)
			return refuse(why, "prefix length is greater than %u",
				      max);
	}
	if (len > 1 && *text == '0')
		return refuse(why, "the prefix length has a leading zero");
	*prefix_len = value;
	return 0;
}

static int parse_prefix(const char *text, size_t len, const char *slash,
			struct address_range *range, char *why)
{
	unsigned int prefix_len = 0;
	struct u128 bits, address = { 0, 0 };
	int err;

	err = parse_address(text, slash - text, &address, &range->family, why);
	if (err)
		return err;
	err = parse_prefix_len(slash + 1, text + len - slash - 1,
			       width(range->family), &prefix_len, why);
	if (err)
		return err;
	bits = host_bits(width(range->family) - prefix_len);
	range->masked = (address.hi & bits.hi) || (address.lo & bits.lo);
	/* Probably not what was meant, and the whole world if it is taken. */
	if (!prefix_len && range->masked)
		return refuse(why, "/0 means every address: if that is meant, write %s/0",
			      range->family == IPCUCKOO_FAMILY_INET ? "0.0.0.0" : "::");
	range->first.hi = address.hi & ~bits.hi;
	range->first.lo = address.lo & ~bits.lo;
	range->last.hi = address.hi | bits.hi;
	range->last.lo = address.lo | bits.lo;
	return 0;
}

bool address_may_be_cut(const char *text, size_t len)
{
	const char *slash = memchr(text, '/', len), *end = text + len, *p;
	unsigned int most = memchr(text, ':', len) ? 128 : 32, value = 0;

	for (p = slash ? slash + 1 : end; p < end && is_digit(*p) && value <= most; p++)
		value = value * 10 + (*p - '0');
	return p == end && value && value * 10 <= most;
}

static int parse_range(const char *text, size_t len, const char *dash,
		       struct address_range *range, char *why)
{
	const char *second = dash + 1;
	uint8_t family = 0;
	int err;

	if (memchr(text, '/', len))
		return refuse(why,
			      "the ends of a range are addresses, not prefixes");
	if (dash == text)
		return refuse(why, "the range has no first address");
	if (second == text + len)
		return refuse(why, "the range has no last address");
	err = parse_address(text, dash - text, &range->first, &range->family,
			    why);
	if (err)
		return err;
	err = parse_address(second, text + len - second, &range->last, &family,
			    why);
	if (err)
		return err;
	if (family != range->family)
		return refuse(why, "the range mixes IPv4 and IPv6");
	if (u128_compare(range->first, range->last) > 0)
		return refuse(why, "the range runs backwards");
	return 0;
}

/**
 * address_parse - read one address, prefix (A/LEN) or range (A-B)
 * @text:	the text, without blanks around it; need not end with a NUL
 * @len:	length of the text
 * @range:	the result
 * @why:	on error, set to the reason
 *
 * Return: 0 or -EINVAL.
 */
int address_parse(const char *text, size_t len, struct address_range *range,
		  char why[ADDRESS_WHY_SIZE])
{
	const char *mark;
	int err;

	range->masked = false;
	mark = memchr(text, '-', len);
	if (mark && (mark == text || is_digit(*text) ||
		     memchr(text, ':', len)))
		return parse_range(text, len, mark, range, why);
	mark = memchr(text, '/', len);
	if (mark)
		return parse_prefix(text, len, mark, range, why);
	err = parse_address(text, len, &range->first, &range->family, why);
	if (!err)
		range->last = range->first;
	return err;
}

static unsigned int trailing_zeros(struct u128 a)
{
	if (a.lo)
		return __builtin_ctzll(a.lo);
	return a.hi ? 64 + __builtin_ctzll(a.hi) : 128;
}

/* log2 of @a + 1, rounded down; @a + 1 may be 2^128. */
static unsigned int log2_next(struct u128 a)
{
	a.lo++;
	a.hi += !a.lo;
	if (a.hi)
		return 127 - __builtin_clzll(a.hi);
	return a.lo ? 63 - __builtin_clzll(a.lo) : 128;
}

unsigned int address_block(const struct address_range *range)
{
	unsigned int aligned = trailing_zeros(range->first);
	unsigned int fits = log2_next(subtract(range->last, range->first));
	unsigned int bits = width(range->family);

	if (aligned > bits)
		aligned = bits;
	return bits - (aligned < fits ? aligned : fits);
}

static bool is_prefix(const struct address_range *range)
{
	unsigned int free = width(range->family) - address_block(range);
	struct u128 size = subtract(range->last, range->first);

	return !u128_compare(size, host_bits(free));
}

static bool is_mapped(struct u128 address)
{
	return !address.hi && address.lo >> 32 == MAPPED_PREFIX;
}

/**
 * address_fit - check that a range fits the family of a set
 * @range:	the range; in a set of family any, IPv4-mapped IPv6 addresses become IPv4
 * @family:	IPCUCKOO_FAMILY_* of the set
 * @why:	on error, set to the reason
 *
 * A range that contains mapped and other addresses is refused unless it is one prefix: it
 * would be split, and some of the parts would become IPv4. The prefix of all mapped
 * addresses, which lists of IPv6 bogons contain, would become all of IPv4; it is refused,
 * too.
 *
 * Return: 0 or -EINVAL.
 */
int address_fit(struct address_range *range, uint8_t family,
		char why[ADDRESS_WHY_SIZE])
{
	static const struct u128 mapped_first = { 0, MAPPED_PREFIX << 32 };
	static const struct u128 mapped_last = {
		0, MAPPED_PREFIX << 32 | UINT32_MAX
	};

	if (range->family == IPCUCKOO_FAMILY_INET) {
		if (family & IPCUCKOO_FAMILY_INET)
			return 0;
		return refuse(why,
			      "an IPv4 address, but the set's family is inet6");
	}
	if (!(family & IPCUCKOO_FAMILY_INET6))
		return refuse(why,
			      "an IPv6 address, but the set's family is inet");
	if (u128_compare(range->last, mapped_first) < 0 ||
	    u128_compare(range->first, mapped_last) > 0)
		return 0;
	if (!is_mapped(range->first) || !is_mapped(range->last)) {
		if (is_prefix(range))
			return 0;
		return refuse(why,
			      "the range overlaps ::ffff:0:0/96, which means IPv4");
	}
	if (!(family & IPCUCKOO_FAMILY_INET))
		return refuse(why,
			      "IPv4 mapped into IPv6, but the set's family is inet6");
	if (!u128_compare(range->first, mapped_first) &&
	    !u128_compare(range->last, mapped_last))
		return refuse(why,
			      "would be all of IPv4; say 0.0.0.0/0 if that is meant");
	range->family = IPCUCKOO_FAMILY_INET;
	range->first.lo &= UINT32_MAX;
	range->last.lo &= UINT32_MAX;
	return 0;
}

bool address_is_host(const struct address_range *range)
{
	return !u128_compare(range->first, range->last);
}

uint64_t address_count(const struct address_range *range)
{
	struct u128 size = subtract(range->last, range->first);

	return size.hi || size.lo == UINT64_MAX ? UINT64_MAX : size.lo + 1;
}

void address_store(const struct u128 *address, uint8_t family, uint8_t *to)
{
	int bytes = width(family) / 8, i;

	for (i = 0; i < bytes; i++) {
		int shift = (bytes - 1 - i) * 8;

		to[i] = shift >= 64 ? address->hi >> (shift - 64) :
				      address->lo >> shift;
	}
}

bool address_read_host(const char *text, uint8_t *family, uint8_t *to)
{
	char why[ADDRESS_WHY_SIZE];
	struct address_range range;

	if (address_parse(text, strlen(text), &range, why) ||
	    address_fit(&range, IPCUCKOO_FAMILY_ANY, why) || !address_is_host(&range))
		return false;
	*family = range.family;
	address_store(&range.first, range.family, to);
	return true;
}

static char *format_octet(char *to, unsigned int octet)
{
	if (octet >= 100) {
		*to++ = '0' + octet / 100;
		octet %= 100;
		*to++ = '0' + octet / 10;
	} else if (octet >= 10) {
		*to++ = '0' + octet / 10;
	}
	*to++ = '0' + octet % 10;
	return to;
}

char *address_format4(char *to, const uint8_t from[4])
{
	int i;

	for (i = 0; i < 4; i++) {
		to = format_octet(to, from[i]);
		*to++ = '.';
	}
	return to - 1;
}

static char *format_group(char *to, unsigned int group)
{
	static const char digits[] = "0123456789abcdef";
	int shift = 12;

	while (shift && !(group >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		*to++ = digits[group >> shift & 15];
	return to;
}

/* Find the longest run of at least two zero groups; of equal runs, the first (RFC 5952).
 * Return: index of its first group, or -1.
 */
static int longest_zeros(const uint16_t group[8], int *len)
{
	int at = -1, i, run = 0;

	*len = 1;
	for (i = 0; i < 8; i++) {
		run = group[i] ? 0 : run + 1;
		if (run > *len) {
			*len = run;
			at = i + 1 - run;
		}
	}
	return at;
}

char *address_format6(char *to, const uint8_t from[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	uint16_t group[8];
	int gap, i, len;

	if (!memcmp(from, mapped, sizeof(mapped))) {
		memcpy(to, "::ffff:", 7);
		return address_format4(to + 7, from + 12);
	}
	for (i = 0; i < 8; i++)
		group[i] = from[2 * i] << 8 | from[2 * i + 1];
	gap = longest_zeros(group, &len);
	for (i = 0; i < 8; i++) {
		if (i == gap) {
			*to++ = ':';
			if (i + len == 8)
				*to++ = ':';
			i += len - 1;
			continue;
		}
		if (i)
			*to++ = ':';
		to = format_group(to, group[i]);
	}
	return to;
}
