// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes the bodies of feeds, in all formats, compressed, in archives, or not. The first byte selects the format,
 * the second one type and family of the set, and more keys, the third one the separator, and how the body
 * is cut into parts. A body
 * that arrives at once, and one that arrives in parts, must both be refused, or have the same entries.
 */
#define FUZZ_INSIDE
#include <stdbool.h>

#include "fuzz.h"
#include "../../tools/daemon/feed/body.h"
#include "../../uapi/ipcuckoo.h"

#define SIZE_MOST	(64 << 10)
#define ENTRIES_MOST	1000

static struct format new_format(uint8_t choice, uint8_t set, uint8_t part)
{
	static char *match[] = { "XX", "1", NULL };
	static const char separators[] = { ',', ';', '\t', ' ', '|' };
	static char *filters[] = { ".[]", "..|strings", ".a[]?.b", ".a, .b" };
	int kind = choice % 8;
	bool numbers = choice & 0x10;

	return (struct format){
		.kind = kind,
		.separator = separators[part % 5],
		.field = numbers ? "1" : "ip",
		.to = choice & 0x20 ? (numbers ? "2" : "a.b") : NULL,
		.match_field = choice & 0x40 ? (numbers ? "3" : "cc") : NULL,
		.match = choice & 0x40 ? match : NULL,
		.count = choice & 0x80 && set & 0x10 ? "2" : NULL,
		.mask = choice & 0x80 && set & 0x20 ? "2" : NULL,
		.wildcard = choice & 0x80 && set & 0x40 ? "2" : NULL,
		.where = choice & 0x80 && set & 0x80 ? "3 >= 5" : NULL,
		.integers = set & 0x08 && kind == FORMAT_CSV,
		.member = set & 0x08 ? "*" : NULL,
		.filter = kind == FORMAT_JSON && set & 0x80 ? filters[set >> 4 & 3] : NULL,
	};
}

static struct feed new_feed(uint8_t set)
{
	return (struct feed){
		.family = set % 4 ? set % 4 : IPCUCKOO_FAMILY_ANY,
		.hosts_only = set & 1 << 2,
		.expand_limit = FEED_EXPAND_LIMIT,
		.limit = ENTRIES_MOST,
	};
}

/* Return: whether it is a feed. */
static bool read_body(const struct format *format, struct feed *feed, const uint8_t *data,
		      size_t size, size_t part)
{
	struct body *body = body_new(format, feed, SIZE_MOST);
	bool good = true;
	size_t some;

	if (!body)
		abort();
	for (; size && good; data += some, size -= some) {
		some = part < size ? part : size;
		good = body_push(body, (const char *)data, some);
	}
	good = good && body_end(body);
	if (!good && !body_why(body)[0])
		abort();
	if (body_size(body) > SIZE_MOST && good)
		abort();
	body_free(body);
	packed_sort(&feed->entries);
	return good;
}

static void check_same(const struct feed *a, const struct feed *b)
{
	const struct entry_array *x, *y;
	int kind;

	if (a->lines != b->lines || a->blank != b->blank || a->skipped != b->skipped)
		abort();
	for (kind = 0; kind < ENTRY_KINDS; kind++) {
		x = &a->entries.kind[kind];
		y = &b->entries.kind[kind];
		if (x->count != y->count ||
		    (x->count && memcmp(x->data, y->data, x->count * entry_size[kind])))
			abort();
	}
	if (packed_count(&a->entries) > ENTRIES_MOST)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct format format;
	struct feed whole, parts;
	bool good;

	if (size < 4)
		return 0;
	format = new_format(data[0], data[1], data[2]);
	whole = new_feed(data[1]);
	parts = new_feed(data[1]);
	good = read_body(&format, &whole, data + 3, size - 3, size);
	if (read_body(&format, &parts, data + 3, size - 3, 1 + data[2]) != good)
		abort();
	if (good)
		check_same(&whole, &parts);
	feed_free(&whole);
	feed_free(&parts);
	return 0;
}
