// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests how much of the internet entries cover (tools/lib/exposure.c): known cases, and random
 * entries, compared with a map.
 *
 * Links exposure.c, packed.c and address.c of ../../tools/lib.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <err.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/ktap.h"
#include "../../uapi/ipcuckoo.h"
#include "../../tools/lib/exposure.h"

static uint64_t random_state;

static uint32_t random32(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	return (z ^ z >> 27) * 0x94d049bb133111ebull >> 32;
}

static void add(struct packed *entries, const char *text)
{
	struct address_range range;
	char why[ADDRESS_WHY_SIZE];

	if (address_parse(text, strlen(text), &range, why) ||
	    packed_add_range(entries, &range, false))
		errx(1, "%s: %s", text, why);
}

static struct packed parse(const char *words)
{
	struct packed entries = { 0 };
	char *copy = strdup(words), *rest = copy, *word;

	while ((word = strsep(&rest, " ")))
		if (*word)
			add(&entries, word);
	free(copy);
	packed_sort(&entries);
	packed_dedup(&entries);
	return entries;
}

#define ALL4	(0x100000000ull - (3 * (1ull << 24) + (1ull << 22) + (1ull << 20) + 2 * 65536 + \
				   (1ull << 29)))

static void test_sizes(void)
{
	static const struct {
		const char *entries;
		uint64_t v4, v6;
	} cases[] = {
		{ "", 0, 0 },
		{ "0.0.0.0/0", ALL4, 0 },
		{ "0.0.0.0/1 128.0.0.0/1", ALL4, 0 },
		{ "0.0.0.0-255.255.255.254", ALL4, 0 },
		{ "0.0.0.0/0 192.0.2.0/24 192.0.2.1", ALL4, 0 },
		{ "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 127.0.0.1 224.0.0.0/3 0.0.0.0", 0, 0 },
		{ "10.1.0.0/16 10.2.3.4 240.0.0.0/4 255.255.255.255", 0, 0 },
		{ "8.0.0.0/7", 1 << 25, 0 },
		{ "10.0.0.0/7", 1 << 24, 0 },
		{ "192.0.2.0/24 192.0.2.0/25 192.0.2.7 192.0.3.0 192.0.1.255", 258, 0 },
		{ "198.51.100.1 198.51.100.2 198.51.100.3", 3, 0 },
		{ "::/0", 0, 1ull << 45 },
		{ "::/1", 0, 1ull << 45 },
		{ "8000::/1", 0, 0 },
		{ "::/2", 0, 1ull << 45 },
		{ "4000::/2", 0, 0 },
		{ "2000::/3", 0, 1ull << 45 },
		{ "fe80::/10 ff00::/8 fc00::/7 ::1", 0, 0 },
		{ "2001:db8::/32", 0, 65536 },
		{ "2001:db8::/48 2001:db8::/64 2001:db8::1", 0, 1 },
		{ "2001:db8::1 2001:db8::2 2001:db8:0:1::/64 2001:db8:1::1", 0, 2 },
		{ "192.0.2.1 2001:db8::1 2a00::/12", 1, (1ull << 36) + 1 },
		{ "64:ff9b::/96", 0, 1ull << 40 },
		{ "64:ff9b::/96 64:ff9b::808:808 64:ff9b::800:0/104", 0, 1ull << 40 },
		{ "64:ff9b::101:101 64:ff9b::800:0/104 64:ff9b::900:0/104", 0, (1ull << 33) + 1 },
		{ "64:ff9b::808:808 64:ff9b::808:807", 0, 2 },
		{ "64:ff9b::/32", 0, 1ull << 40 },
		{ "64:ff9a::/32 64:ff9b:1::/48 ::ffff:0:0/96", 0, 0 },
	};
	struct exposure size;
	struct packed entries;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		entries = parse(cases[i].entries);
		size = exposure_measure(&entries);
		expect(size.size[EXPOSURE_V4] == cases[i].v4 &&
		       size.size[EXPOSURE_V6] == cases[i].v6,
		       "\"%s\": %" PRIu64 " and %" PRIu64, cases[i].entries,
		       size.size[EXPOSURE_V4], size.size[EXPOSURE_V6]);
		packed_free(&entries);
	}
	ktap_case("what entries cover");
}

static void test_limits(void)
{
	static const struct {
		const char *entries, *old, *widest;
		uint64_t size;
	} cases[] = {
		{ "0.0.0.0/0", "", "0.0.0.0/0", ALL4 },
		{ "8.0.0.0/8", "", NULL, 0 },
		{ "8.0.0.0/8 9.0.0.0", "", "8.0.0.0/8", (1 << 24) + 1 },
		{ "8.0.0.0/8 8.1.0.0/16 8.1.2.3", "", NULL, 0 },
		{ "10.0.0.0/8 8.0.0.0/8 224.0.0.0/3", "", NULL, 0 },
		{ "4.0.0.0/7", "4.0.0.0/8", NULL, 0 },
		{ "4.0.0.0/6", "4.0.0.0/7 6.0.0.0", "4.0.0.0/6", (1 << 25) - 1 },
		{ "4.0.0.0/6 0.0.0.0/1", "0.0.0.0/1", NULL, 0 },
		{ "4.0.0.0/6 64.0.0.0/6", "4.0.0.0/6", "64.0.0.0/6", 1 << 26 },
		{ "4.0.0.0/9 5.0.0.0/8", "8.0.0.0/8", "5.0.0.0/8", 3 << 23 },
		{ "::/0", "", "::/0", 1ull << 45 },
		{ "2a00::/16", "", NULL, 0 },
		{ "2a00::/15", "", "2a00::/15", 1ull << 33 },
		{ "2a00::/15", "2a01::/16", NULL, 0 },
		{ "8000::/1 192.0.2.1", "", NULL, 0 },
		{ "64:ff9b::800:0/104", "", NULL, 0 },
		{ "64:ff9b::/96", "", "64:ff9b::/96", 1ull << 40 },
	};
	struct exposure_excess excess;
	struct packed entries, old;
	char text[ADDRESS_TEXT_SIZE];
	bool good;
	size_t i;
	int over;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		entries = parse(cases[i].entries);
		old = parse(cases[i].old);
		over = exposure_check(&entries, *cases[i].old ? &old : NULL, &exposure_most, &excess);
		good = over == !!cases[i].widest;
		if (over == 1 && good)
			good = excess.size == cases[i].size &&
			       !strcmp(cases[i].widest, entry_text(&entries, excess.widest, text));
		expect(good, "\"%s\", and before \"%s\": %d", cases[i].entries, cases[i].old, over);
		packed_free(&entries);
		packed_free(&old);
	}
	ktap_case("what is too much in one change");
}

/* Random entries, in a map with a bit for each /16 of IPv4 and a count of hosts in others. */
static void test_random(void)
{
	static bool map[1 << 16], both[1 << 16];
	struct packed entries, old;
	struct exposure_excess excess;
	struct exposure most = { 0 };
	uint64_t want, have;
	unsigned int round, n, i, of;
	uint32_t first, length, at;
	uint8_t entry[IPCUCKOO_NET4_SIZE];

	for (round = 0; round < 400 && !ktap_failing(); round++) {
		entries = (struct packed){ 0 };
		old = (struct packed){ 0 };
		memset(map, 0, sizeof(map));
		memset(both, 0, sizeof(both));
		n = random32() % 40;
		for (i = 0; i < n; i++) {
			of = random32() % 2;
			length = 1 + random32() % 16;
			first = length ? random32() & -(1u << (32 - length)) : 0;
			entry[0] = first >> 24;
			entry[1] = first >> 16;
			entry[2] = first >> 8;
			entry[3] = first;
			entry[4] = length;
			if (packed_add(of ? &old : &entries, ENTRY_NET4, entry))
				errx(1, "no memory");
			for (at = first >> 16; at < (first >> 16) + (1u << (16 - length)); at++)
				*(of ? &map[at] : &both[at]) = true;
		}
		packed_sort(&entries);
		packed_dedup(&entries);
		packed_sort(&old);
		packed_dedup(&old);
		for (want = 0, at = 0; at < 1 << 16; at++) {
			unsigned int a = at >> 8, b = at & 0xff;

			if (!a || a == 10 || a == 127 || a >= 224 || (a == 100 && b >= 64 && b < 128) ||
			    (a == 169 && b == 254) || (a == 172 && b >= 16 && b < 32) ||
			    (a == 192 && b == 168))
				continue;
			want += both[at] && !map[at] ? 65536 : 0;
		}
		have = exposure_check(&entries, &old, &most, &excess) ? excess.size : 0;
		expect(have == want, "round %u: %" PRIu64 " wanted, %" PRIu64, round, want, have);
		expect(exposure_bound(&entries).size[EXPOSURE_V4] >=
		       exposure_measure(&entries).size[EXPOSURE_V4], "round %u: the bound is less", round);
		packed_free(&entries);
		packed_free(&old);
	}
	ktap_case("random entries, compared with a map");
}

static void test_text(void)
{
	struct packed entries = parse("2a00::/12 4.0.0.0/6");
	char text[EXPOSURE_TEXT_SIZE];
	struct exposure_excess excess;

	exposure_check(&entries, NULL, &exposure_most, &excess);
	exposure_text(&entries, &excess, text);
	expect(!strcmp(text, "would drop 67108864 more addresses of IPv4, most of them by 4.0.0.0/6; one change may add 16777216, a /8"),
	       "IPv4: %s", text);
	packed_free(&entries);
	entries = parse("2a00::/12");
	exposure_check(&entries, NULL, &exposure_most, &excess);
	exposure_text(&entries, &excess, text);
	expect(!strcmp(text, "would drop 68719476736 more /48s of IPv6, most of them by 2a00::/12; one change may add 4294967296, a /16"),
	       "IPv6: %s", text);
	packed_free(&entries);
	ktap_case("what is said about it");
}

int main(void)
{
	random_state = ktap_begin("test_exposure");
	test_sizes();
	test_limits();
	test_random();
	test_text();
	return ktap_end();
}
