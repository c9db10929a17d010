// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes list files, and the addresses in them. The first byte selects the type and family of the
 * set. Each input is read twice: as it is, and with a blank before each line, which changes nothing
 * except that the fast scanner of plain addresses does not apply. Both must find the same entries.
 * The entries are also written and read again.
 */
#define FUZZ_INSIDE
#include <stdbool.h>

#include "fuzz.h"
#include "../../uapi/ipcuckoo.h"

enum { HOSTS_ONLY = 1 << 2, SKIP_INVALID = 1 << 3 };

static struct feed new_feed(uint8_t set)
{
	return (struct feed){
		.family = set % 4 ? set % 4 : IPCUCKOO_FAMILY_ANY,
		.hosts_only = set & HOSTS_ONLY,
		.expand_limit = FEED_EXPAND_LIMIT,
		.has_expand = true,
		.skip_invalid = set & SKIP_INVALID,
	};
}

static int read_text(struct feed *feed, const char *text, size_t size,
		     struct feed_fault *fault)
{
	int err;

	outside = (struct outside){ .file = (const uint8_t *)text, .file_size = size };
	err = feed_read(feed, "list", fault);
	packed_sort(&feed->entries);
	return err;
}

static void check_same(const struct packed *a, const struct packed *b)
{
	int kind;

	for (kind = 0; kind < ENTRY_KINDS; kind++) {
		const struct entry_array *x = &a->kind[kind], *y = &b->kind[kind];

		if (x->count != y->count ||
		    (x->count && memcmp(x->data, y->data, x->count * entry_size[kind])))
			abort();
	}
}

static int write_entry(enum entry_kind kind, const uint8_t *entry, void *data)
{
	char text[ADDRESS_TEXT_SIZE + 1], *end = entry_format(text, kind, entry);

	*end++ = '\n';
	fwrite(text, 1, end - text, data);
	return 0;
}

/* The entries, written as text, must be read as the same entries, without a fault. */
static void check_written(const struct feed *feed, uint8_t set)
{
	struct feed again = new_feed(set);
	struct feed_fault fault;
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		abort();
	packed_walk(&feed->entries, write_entry, file);
	fclose(file);
	if (read_text(&again, text, size, &fault))
		abort();
	check_same(&feed->entries, &again.entries);
	feed_free(&again);
	free(text);
}

/* Is there a line that is too long, or would be with one more blank? */
static bool has_long_line(const uint8_t *data, size_t size)
{
	const uint8_t *end;

	for (; size; size -= end - data, data = end) {
		end = memchr(data, '\n', size);
		end = end ? end + 1 : data + size;
		if (end - data + 2 > BUFFER_SIZE)
			return true;
	}
	return false;
}

/* Is the file recognised by its first bytes (or does it begin with a BOM)? Not after a blank. */
static bool has_magic(const uint8_t *data, size_t size, int err,
		      const struct feed_fault *fault)
{
	return (err && !fault->line) || (size >= 3 && !memcmp(data, "\xef\xbb\xbf", 3));
}

static char *put_blanks(const uint8_t *data, size_t size, size_t *len)
{
	char *text = malloc(2 * size + 1);
	size_t i;

	if (!text)
		abort();
	for (i = 0, *len = 0; i < size; i++) {
		if (!i || data[i - 1] == '\n')
			text[(*len)++] = ' ';
		text[(*len)++] = data[i];
	}
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed_fault fault[2];
	struct feed fast, slow;
	int err[2];
	char *text;
	size_t len;
	uint8_t set;

	if (!size)
		return 0;
	set = *data++;
	size--;
	fast = new_feed(set);
	slow = new_feed(set);
	err[0] = read_text(&fast, (const char *)data, size, &fault[0]);
	text = put_blanks(data, size, &len);
	err[1] = read_text(&slow, text, len, &fault[1]);
	if (!has_long_line(data, size) && !has_magic(data, size, err[0], &fault[0])) {
		if (err[0] != err[1] || fast.lines != slow.lines ||
		    fast.skipped != slow.skipped || fast.masked != slow.masked)
			abort();
		check_same(&fast.entries, &slow.entries);
	}
	check_written(&fast, set);
	feed_free(&fast);
	feed_free(&slow);
	free(text);
	return 0;
}
