// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generates members of sets, and the addresses of packets:
 *
 *   generate members 4|6 SEED COUNT [FIRST LAST]
 *	COUNT different hosts as text, without 0.0.0.0; or those with the
 *	numbers FIRST to LAST - 1
 *   generate traffic 4|6 SEED COUNT ANSWER KIND hosts MEMBERS
 *   generate traffic 4|6 SEED COUNT ANSWER KIND list FILE
 *	COUNT addresses in network byte order, for a set with that number of
 *	members of the same seed, or with the prefixes in a file
 *
 * ANSWER says what a look-up of each address has to find: "hit", "miss", or
 * "near", a miss beside a member: it differs by one in the last octet or in a
 * bit, or is just outside of a prefix. KIND is "uniform", "zipf" (addresses that
 * repeat with frequencies of Zipf's law) or "flow" (a single address; a hit in one of
 * the longest prefixes, or a host if the list has hosts, as ipset looks for these first).
 *
 * Members are the values of a keyed permutation at 0 to MEMBERS - 1. With its
 * inverse, the program knows whether an address is a member.
 */
#include <arpa/inet.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 addr_t;

#define ROUNDS		6
#define ZIPF_EXPONENT	1.1
#define ZIPF_ADDRESSES	(1u << 20)

static bool v6;
static uint64_t state;
static uint64_t round_key[ROUNDS];

static void die(const char *what, const char *name)
{
	fprintf(stderr, "generate: %s%s%s\n", what, name ? ": " : "", name ?: "");
	exit(2);
}

/* The finaliser of splitmix64 [Steele 2014]. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

static uint64_t draw(void)
{
	state += 0x9e3779b97f4a7c15;
	return mix(state);
}

/* A random number from 0 to n - 1 */
static uint64_t below(uint64_t n)
{
	return (addr_t)draw() * n >> 64;
}

/* --- members: a Feistel network over 32 (64) bits --- */

static uint64_t half_mask(void)
{
	return v6 ? UINT32_MAX : UINT16_MAX;
}

static unsigned int half_bits(void)
{
	return v6 ? 32 : 16;
}

static uint64_t permute(uint64_t x)
{
	uint64_t l = x >> half_bits(), r = x & half_mask(), t;

	for (int i = 0; i < ROUNDS; i++) {
		t = l ^ (mix(r + round_key[i]) & half_mask());
		l = r;
		r = t;
	}
	return l << half_bits() | r;
}

static uint64_t unpermute(uint64_t y)
{
	uint64_t l = y >> half_bits(), r = y & half_mask(), t;

	for (int i = ROUNDS - 1; i >= 0; i--) {
		t = r ^ (mix(l + round_key[i]) & half_mask());
		r = l;
		l = t;
	}
	return l << half_bits() | r;
}

/* ipset cannot store 0.0.0.0: choose a permutation by which it is not a member. */
static void seed_members(uint64_t seed, uint64_t members)
{
	state = mix(seed);
	do {
		for (int i = 0; i < ROUNDS; i++)
			round_key[i] = draw();
	} while (!v6 && unpermute(0) < members);
}

/* The address for a value of the permutation. In IPv6, the value is the low half, and the high half
 * is computed from it; adjacent addresses have the same.
 */
static addr_t address(uint64_t value)
{
	if (!v6)
		return value;
	return (addr_t)(mix(value >> 8) >> 3 | 1ULL << 61) << 64 | value;
}

static addr_t draw_host(const char *answer, uint64_t members)
{
	const uint64_t all = v6 ? UINT64_MAX : UINT32_MAX;
	uint64_t value;

	if (!strcmp(answer, "hit"))
		return address(permute(below(members)));
	if (!strcmp(answer, "miss"))
		return address(permute(members + below(all - members)));
	do {
		value = permute(below(members));
		value = v6 ? value ^ 1 : value ^ (value & 1 ? 2 : 1);
	} while (unpermute(value) < members);
	return address(value);
}

/* --- prefixes from a file --- */

struct range {
	addr_t first;
	addr_t last;
};

static struct range *prefixes, *merged;
static size_t prefix_count, merged_count;

static unsigned int bits(void)
{
	return v6 ? 128 : 32;
}

static addr_t mask(unsigned int len)
{
	return len ? (~(addr_t)0 >> (128 - bits())) >> (bits() - len) << (bits() - len) : 0;
}

static void add_line(char *line)
{
	unsigned char raw[16];
	char *slash = strchr(line, '/');
	unsigned int len = bits();
	addr_t a = 0;

	if (slash) {
		*slash = 0;
		len = atoi(slash + 1);
	}
	if (inet_pton(v6 ? AF_INET6 : AF_INET, line, raw) != 1 || len > bits())
		die("not an address", line);
	for (unsigned int i = 0; i < bits() / 8; i++)
		a = a << 8 | raw[i];
	if (!(prefix_count & (prefix_count - 1)))
		prefixes = realloc(prefixes, 2 * (prefix_count + 1) * sizeof(*prefixes));
	if (!prefixes)
		die("no memory", NULL);
	prefixes[prefix_count].first = a & mask(len);
	prefixes[prefix_count++].last = a | (mask(bits()) & ~mask(len));
}

static int by_first(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

static void read_list(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[256];

	if (!f)
		die("cannot open", path);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "# \t\r\n")] = 0;
		if (*line)
			add_line(line);
	}
	fclose(f);
	if (!prefix_count)
		die("no prefix in", path);
	merged = malloc(prefix_count * sizeof(*merged));
	if (!merged)
		die("no memory", NULL);
	memcpy(merged, prefixes, prefix_count * sizeof(*merged));
	qsort(merged, prefix_count, sizeof(*merged), by_first);
	merged_count = 1;
	for (size_t i = 1; i < prefix_count; i++) {
		struct range *m = &merged[merged_count - 1];

		if (merged[i].first > m->last)
			merged[merged_count++] = merged[i];
		else if (merged[i].last > m->last)
			m->last = merged[i].last;
	}
}

/* Keep only the longest prefixes (or the hosts), to draw hits from. listed() knows all of them. */
static void keep_longest(void)
{
	addr_t size, least = ~(addr_t)0;
	size_t n = 0;

	for (size_t i = 0; i < prefix_count; i++) {
		size = prefixes[i].last - prefixes[i].first;
		if (size < least) {
			least = size;
			n = 0;
		}
		if (size == least)
			prefixes[n++] = prefixes[i];
	}
	prefix_count = n;
}

static bool listed(addr_t a)
{
	size_t low = 0, high = merged_count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (merged[mid].last < a)
			low = mid + 1;
		else
			high = mid;
	}
	return low < merged_count && merged[low].first <= a;
}

static addr_t draw_any(void)
{
	if (!v6)
		return below(UINT32_MAX) + 1;
	return (addr_t)(draw() >> 3 | 1ULL << 61) << 64 | draw();
}

static addr_t draw_listed(const char *answer)
{
	const struct range *r;
	addr_t a;

	if (!strcmp(answer, "hit")) {
		r = &prefixes[below(prefix_count)];
		a = (addr_t)draw() << 64 | draw();
		return r->first + (r->last - r->first == ~(addr_t)0 ? a :
				   a % (r->last - r->first + 1));
	}
	do {
		if (!strcmp(answer, "miss")) {
			a = draw_any();
		} else {
			r = &prefixes[below(prefix_count)];
			a = draw() & 1 ? r->last + 1 : r->first - 1;
			a &= mask(bits());
		}
	} while (listed(a) || !a);
	return a;
}

/* --- traffic --- */

static addr_t draw_address(const char *answer, uint64_t members)
{
	return prefix_count ? draw_listed(answer) : draw_host(answer, members);
}

static void print_raw(addr_t a)
{
	unsigned char raw[16];

	for (unsigned int i = bits() / 8; i-- > 0; a >>= 8)
		raw[i] = a;
	fwrite(raw, bits() / 8, 1, stdout);
}

/* The cumulated frequencies of ranks 1 to n */
static double *zipf(size_t n)
{
	double *sum = malloc(n * sizeof(*sum)), total = 0;

	if (!sum)
		die("no memory", NULL);
	for (size_t i = 0; i < n; i++)
		sum[i] = total += pow(i + 1, -ZIPF_EXPONENT);
	for (size_t i = 0; i < n; i++)
		sum[i] /= total;
	return sum;
}

static size_t rank(const double *sum, size_t n)
{
	double x = (draw() >> 11) * 0x1p-53;
	size_t low = 0, high = n - 1;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (sum[mid] <= x)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void traffic(uint64_t count, const char *answer, const char *kind,
		    uint64_t members)
{
	size_t n = strcmp(kind, "flow") ? ZIPF_ADDRESSES : 1;
	double *sum;
	addr_t *pool;

	if (!strcmp(kind, "uniform")) {
		while (count--)
			print_raw(draw_address(answer, members));
		return;
	}
	pool = malloc(n * sizeof(*pool));
	if (!pool)
		die("no memory", NULL);
	if (n == 1 && prefix_count && !strcmp(answer, "hit"))
		keep_longest();
	for (size_t i = 0; i < n; i++)
		pool[i] = draw_address(answer, members);
	sum = zipf(n);
	while (count--)
		print_raw(pool[rank(sum, n)]);
}

static void members(uint64_t first, uint64_t last)
{
	char text[INET6_ADDRSTRLEN];
	unsigned char raw[16];

	for (uint64_t n = first; n < last; n++) {
		addr_t a = address(permute(n));

		for (unsigned int i = bits() / 8; i-- > 0; a >>= 8)
			raw[i] = a;
		inet_ntop(v6 ? AF_INET6 : AF_INET, raw, text, sizeof(text));
		puts(text);
	}
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);

	if (!*text || *end)
		die("not a number", text);
	return n;
}

static const char *one_of(const char *word, const char *words)
{
	const char *p = strstr(words, word);

	if (!*word || !p || (p != words && p[-1] != ' ') ||
	    (p[strlen(word)] != ' ' && p[strlen(word)]))
		die("not one of hit miss near, uniform zipf flow", word);
	return word;
}

int main(int argc, char **argv)
{
	uint64_t seed, count;

	if (argc < 5)
		die("usage: generate members|traffic 4|6 SEED COUNT ...", NULL);
	v6 = !strcmp(argv[2], "6");
	seed = number(argv[3]);
	count = number(argv[4]);
	if (!strcmp(argv[1], "members") && (argc == 5 || argc == 7)) {
		seed_members(seed, count);
		members(argc == 7 ? number(argv[5]) : 0, argc == 7 ? number(argv[6]) : count);
	} else if (!strcmp(argv[1], "traffic") && argc == 9) {
		const char *answer = one_of(argv[5], "hit miss near");
		const char *kind = one_of(argv[6], "uniform zipf flow");
		uint64_t n = 0;

		if (!strcmp(argv[7], "list")) {
			read_list(argv[8]);
		} else {
			n = number(argv[8]);
			seed_members(seed, n);
		}
	/* So that other answers and kinds have different addresses. */
		state = mix(seed + 1) + mix(answer[0] << 8 | kind[0]);
		traffic(count, answer, kind, n);
	} else {
		die("usage: generate members|traffic 4|6 SEED COUNT ...", NULL);
	}
	if (fflush(stdout) || ferror(stdout))
		die("cannot write", NULL);
	return 0;
}
