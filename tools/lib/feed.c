// SPDX-License-Identifier: GPL-2.0-only
/*
 * Feeds are read as people publish them: with comments after # or ;, blank lines, CR LF,
 * and columns after the address. Most lines are a plain IPv4 address, and a file may have
 * millions of them, so a fast scanner reads these lines. All other lines go to a slower
 * parser, which also finds out what is wrong with a line.
 *
 * Files are read, not mapped. So pipes work in the same way, and only one buffer of the
 * file is in memory.
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../uapi/ipcuckoo.h"
#include "lib/feed.h"

/* Number of bytes read at once, and maximum length of a line. Fuzzers define a smaller
 * size, so that lines arrive in parts.
 */
#ifndef BUFFER_SIZE
#define BUFFER_SIZE	(256u << 10)
#endif

/**
 * struct reader - a file being read
 * @feed:	the feed that gets the entries
 * @fault:	filled in when a line is wrong
 * @skip_rest:	the buffer begins inside a line that is too long: skip its rest
 * @open:	where the last line of a file ends without a newline; or NULL. The daemon, whose feeds
 *		arrive in parts, has min-length instead
 * @began:	feed_check_start() has checked the first bytes
 */
struct reader {
	struct feed *feed;
	struct feed_fault *fault;
	bool skip_rest;
	const char *open;
	bool began;
};

/**
 * struct feed_stream - a feed that arrives in parts
 * @reader:	reads the lines
 * @have:	number of bytes in @data
 * @data:	what arrived and was not read yet; has room for a newline behind it
 */
struct feed_stream {
	struct reader reader;
	size_t have;
	char data[BUFFER_SIZE + 1];
};

enum {
	BLANK		= 1 << 0,
	ENDS_ENTRY	= 1 << 1,
};

/* Characters that are not part of an entry: blanks, and those that end an entry. */
static const uint8_t meaning[256] = {
	[' ']	= BLANK | ENDS_ENTRY,
	['\t']	= BLANK | ENDS_ENTRY,
	['\v']	= BLANK | ENDS_ENTRY,
	['\f']	= BLANK | ENDS_ENTRY,
	[',']	= ENDS_ENTRY,
	['#']	= ENDS_ENTRY,
	[';']	= ENDS_ENTRY,
};

/* Would @more entries exceed the limit? For a set of hosts that is known before a range is added. How
 * many prefixes a range becomes is known afterwards only.
 */
static bool is_above_limit(const struct feed *feed, uint64_t more, char why[ADDRESS_WHY_SIZE])
{
	if (!feed->limit || packed_count(&feed->entries) + more <= feed->limit)
		return false;
	snprintf(why, ADDRESS_WHY_SIZE, "there are more than %zu entries", feed->limit);
	return true;
}

/**
 * feed_add - add one address, prefix or range
 * @feed:	the feed that gets the entries
 * @text:	the text, without blanks around it
 * @len:	length of the text
 * @why:	on error, set to the reason
 *
 * Return: 0; -EINVAL; -EFBIG if there are more entries than feed->limit, perhaps with those of the
 * text; or -ENOMEM.
 */
int feed_add(struct feed *feed, const char *text, size_t len,
	     char why[ADDRESS_WHY_SIZE])
{
	struct address_range range;
	int err;

	err = address_parse(text, len, &range, why);
	if (!err)
		err = address_fit(&range, feed->family, why);
	if (err)
		return err;
	if (feed->hosts_only && address_count(&range) > feed->expand_limit) {
		snprintf(why, ADDRESS_WHY_SIZE,
			 "stands for more than %llu addresses; a hash:net set takes it as it is%s",
			 (unsigned long long)feed->expand_limit,
			 feed->has_expand &&
			 feed->expand_limit < FEED_EXPAND_MOST ?
			 ", --expand adds every one" : "");
		return -EINVAL;
	}
	if (is_above_limit(feed, feed->hosts_only ? address_count(&range) : 1, why))
		return -EFBIG;
	err = packed_add_range(&feed->entries, &range, feed->hosts_only);
	if (err) {
		snprintf(why, ADDRESS_WHY_SIZE, "out of memory");
		return err;
	}
	feed->masked += range.masked;
	return is_above_limit(feed, 0, why) ? -EFBIG : 0;
}

/* May the character be in an address or a prefix? */
static bool is_part(char c)
{
	return c && strchr("0123456789abcdefABCDEF.:/", c);
}

/* Whether a text looks like an address, perhaps a wrong one, not like a word or number. */
static bool looks_like_address(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (!is_part(text[i]))
			return false;
	return memchr(text, '.', len) || memchr(text, ':', len);
}

static bool begins_comment(const char *p, const char *end)
{
	return *p == '#' || *p == ';' || (end - p > 1 && p[0] == '/' && p[1] == '/');
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && meaning[(uint8_t)*p] & BLANK)
		p++;
	return p;
}

static const char *skip_entry(const char *p, const char *end)
{
	while (p < end && !(meaning[(uint8_t)*p] & ENDS_ENTRY))
		p++;
	return p;
}

/* Join "A - B", a range with blanks around the dash, to "A-B" in @joined. Return: length of the
 * range, and where it ends in the line; 0 if the line is not such a range.
 */
static size_t join_range(const char *first, const char **entry_end, const char *end,
			 char joined[FEED_ENTRY_SIZE])
{
	const char *first_end = *entry_end, *dash = skip_blanks(first_end, end), *last, *last_end;
	bool open = first_end > first && first_end[-1] == '-';
	size_t len = first_end - first - open, last_len;

	if (dash == first_end)
		return 0;
	if (open)
		dash--;
	else if (dash == end || *dash != '-')
		return 0;
	last = skip_blanks(dash + 1, end);
	last_end = skip_entry(last, end);
	last_len = last_end - last;
	if (!looks_like_address(first, len) ||
	    !looks_like_address(last, last_len) || len + last_len + 1 > FEED_ENTRY_SIZE)
		return 0;
	*entry_end = last_end;
	memcpy(joined, first, len);
	joined[len] = '-';
	memcpy(joined + len + 1, last, last_len);
	return len + 1 + last_len;
}

/* Is it a line of a hosts file, which names a host that has no address of its own? */
static bool is_hosts_line(const char *first, const char *first_end, const char *end)
{
	static const char *const nowhere[] = { "0.0.0.0", "127.0.0.1", "::", "::1" };
	const char *name = skip_blanks(first_end, end), *p;
	size_t len = first_end - first, i;

	for (i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++)
		if (len == strlen(nowhere[i]) && !memcmp(first, nowhere[i], len))
			break;
	if (i == sizeof(nowhere) / sizeof(nowhere[0]) || name == first_end)
		return false;
	for (p = name; p < end && (isalnum((unsigned char)*p) || strchr("-_.", *p)); p++)
		;
	if (p < end && !(meaning[(uint8_t)*p] & ENDS_ENTRY))
		return false;
	return memchr(name, '.', p - name) || (p - name >= 9 && !memcmp(name, "localhost", 9)) ||
	       (p - name >= 4 && !memcmp(name, "ip6-", 4));
}

/* An address, or a prefix or a port behind one: is there anything that a list could mean by it? */
static bool is_address(const char *text, size_t len)
{
	const char *slash = memchr(text, '/', len), *colon = memchr(text, ':', len);
	struct address_range range;
	char why[ADDRESS_WHY_SIZE];

	if (slash == text)
		return len > 1 && isdigit((unsigned char)text[1]);
	if (slash)
		len = slash - text;
	if (colon && memchr(text, '.', len) && colon > (char *)memchr(text, '.', len))
		len = colon - text;
	return looks_like_address(text, len) && !address_parse(text, len, &range, why);
}

/* Find another address behind the first one, in text that is no comment: one of the two would be
 * lost. Return: its length, and where it is; or 0.
 */
static size_t find_second(const char *p, const char *end, const char **found)
{
	const char *start;

	while (p < end && !begins_comment(p, end)) {
		for (start = p; p < end && is_part(*p); p++)
			;
		if (p == start) {
			/* Digits of a word are no address. */
			while (p < end && (isalnum((unsigned char)*p) || *p == '_'))
				p++;
			p += p == start;
			continue;
		}
		if (p < end && (isalnum((unsigned char)*p) || *p == '_'))
			continue;
		if (is_address(start, p - start)) {
			*found = start;
			return p - start;
		}
	}
	return 0;
}

/**
 * feed_cut_entry - find the entry of a line
 * @line:	the line, without blanks at its beginning; on success, set to the entry
 * @end:	where it ends, and on success the entry
 * @joined:	room for a range that has blanks around its dash
 * @why:	on error, set to the reason
 *
 * Behind the entry may be other columns and comments, but no second entry, which would be lost.
 *
 * Return: 0 or -EINVAL.
 */
int feed_cut_entry(const char **line, const char **end, char joined[FEED_ENTRY_SIZE],
		   char why[ADDRESS_WHY_SIZE])
{
	const char *first_end = skip_entry(*line, *end), *second = NULL;
	size_t len;

	if (is_hosts_line(*line, first_end, *end)) {
		snprintf(why, ADDRESS_WHY_SIZE,
			 "a hosts file names hosts, which a resolver blocks, as dnsmasq --addn-hosts=FILE does; a list has addresses");
		return -EINVAL;
	}
	len = join_range(*line, &first_end, *end, joined);
	if (find_second(first_end, *end, &second)) {
		snprintf(why, ADDRESS_WHY_SIZE,
			 "has two addresses: write one in each line, a range as A-B, a netmask as A/24, text behind #; ipcuckood reads columns (format = csv)");
		return -EINVAL;
	}
	if (len)
		*line = joined;
	*end = len ? joined + len : first_end;
	return 0;
}

/**
 * feed_wrong_line - count and report the current line, which is wrong, and skip it
 * @feed:	the feed
 * @fault:	why the line is wrong; the function fills in the rest
 * @text:	what is wrong in the line
 * @len:	length of @text
 */
void feed_wrong_line(struct feed *feed, struct feed_fault *fault, const char *text, size_t len)
{
	fault->line = feed->lines;
	address_quote(fault->text, sizeof(fault->text), text, len);
	feed->skipped++;
	if (feed->report)
		feed->report(feed, fault);
}

static void note_origin(struct feed *feed, unsigned long line, bool before)
{
	if (feed->origin)
		origin_note(feed->origin, &feed->entries, line, before);
}

/* Add an entry of the current line; if it is wrong, count and report it. Return: 0, or a negative errno
 * if the feed cannot go on.
 */
int feed_take(struct feed *feed, struct feed_fault *fault, const char *text, size_t len)
{
	int err = feed_add(feed, text, len, fault->why);

	if (err == -EINVAL) {
		feed_wrong_line(feed, fault, text, len);
		return 0;
	}
	note_origin(feed, feed->lines, false);
	fault->line = feed->lines;
	return err;
}

/* Count and report the current line as wrong. Return: 0; the feed goes on. */
int feed_refuse(struct feed *feed, struct feed_fault *fault, const char *text, const char *why)
{
	snprintf(fault->why, sizeof(fault->why), "%s", why);
	feed_wrong_line(feed, fault, text, strlen(text));
	return 0;
}

/* A text without the blanks around it; it is changed. */
char *feed_trim(char *text)
{
	static const char blanks[] = " \t\r";
	size_t len;

	text += strspn(text, blanks);
	for (len = strlen(text); len && strchr(blanks, text[len - 1]); len--)
		text[len - 1] = '\0';
	return text;
}

/* Store the number and the text of a wrong line in reader->fault. If the feed skips wrong
 * lines, and @err is -EINVAL, skip it. Return: 0 if the line is skipped, or @err.
 */
static int fault_at(struct reader *reader, const char *text, size_t len,
		    int err)
{
	struct feed_fault *fault = reader->fault;

	if (err == -EINVAL && reader->feed->skip_invalid) {
		feed_wrong_line(reader->feed, fault, text, len);
		return 0;
	}
	fault->line = reader->feed->lines;
	address_quote(fault->text, sizeof(fault->text), text, len);
	return err;
}

static int __attribute__((format(printf, 4, 5)))
refuse_line(struct reader *reader, const char *text, size_t len, const char *why, ...)
{
	va_list args;

	va_start(args, why);
	vsnprintf(reader->fault->why, ADDRESS_WHY_SIZE, why, args);
	va_end(args);
	return fault_at(reader, text, len, -EINVAL);
}

static int too_long(struct reader *reader, const char *text, size_t len)
{
	return refuse_line(reader, text, len, "the line is longer than %u bytes", BUFFER_SIZE);
}

/* A line of another format. Return: 0 or a negative errno. */
static int take_other(struct reader *reader, const char *text, size_t len)
{
	char *line;
	int err;

	if (memchr(text, '\0', len))
		return refuse_line(reader, text, len, "there is a NUL in this line");
	line = strndup(text, len);
	err = line ? reader->feed->take(reader->feed, reader->fault, feed_trim(line)) : -ENOMEM;
	free(line);
	return err;
}

/* Read any line, [p, end) without its newline. @cut: the line is longer than that. */
static int read_line(struct reader *reader, const char *p, const char *end,
		     bool cut)
{
	char joined[FEED_ENTRY_SIZE];
	bool last = end == reader->open;
	const char *first, *first_end, *entry;
	size_t len = end - p;
	int err;

	/* read_lines() has read those before, and they had an address each. */
	note_origin(reader->feed, reader->feed->lines, true);
	while (!cut && len && p[len - 1] == '\r')
		len--;
	/* In files from old Macs it ends a line: all but the first of these lines would be ignored. */
	if (memchr(p, '\r', len))
		return refuse_line(reader, p, len,
				   "a carriage return inside the line: old Mac line ends?");
	end = p + len;
	first = skip_blanks(p, end);
	if (first == end && cut)
		return too_long(reader, p, end - p);
	if (first == end || begins_comment(first, end)) {
		reader->feed->blank++;
		return 0;
	}
	if (reader->feed->take && !cut)
		return take_other(reader, first, end - first);
	first_end = reader->feed->take ? end : skip_entry(first, end);
	if (cut && first_end == end)
		return too_long(reader, first, first_end - first);
	/* 10.0.0.0/2 is far more than 10.0.0.0/24. */
	if (last && first_end == end && address_may_be_cut(first, end - first))
		return refuse_line(reader, first, end - first,
				   "the list ends here without a newline: is the prefix cut off? if not, end the line");
	entry = first;
	first_end = end;
	err = feed_cut_entry(&entry, &first_end, joined, reader->fault->why);
	if (err)
		return fault_at(reader, first, end - first, err);
	err = feed_add(reader->feed, entry, first_end - entry, reader->fault->why);
	note_origin(reader->feed, reader->feed->lines, false);
	return err ? fault_at(reader, entry, first_end - entry, err) : 0;
}

static inline bool scan_octet(const char **text, uint32_t *octet)
{
	const unsigned char *p = (const unsigned char *)*text;
	uint32_t digit = *p - '0', value;

	if (digit > 9)
		return false;
	value = digit;
	digit = *++p - '0';
	if (digit <= 9) {
		if (!value)
			return false;
		value = value * 10 + digit;
		digit = *++p - '0';
		if (digit <= 9) {
			value = value * 10 + digit;
			p++;
			if (value > 255)
				return false;
		}
	}
	*octet = value;
	*text = (const char *)p;
	return true;
}

/* Scan four octets. The caller checks that the line ends after them. */
static inline bool scan_address4(const char **text, uint32_t *address)
{
	const char *p = *text;
	uint32_t a, b, c, d;

	if (!scan_octet(&p, &a) || *p++ != '.' || !scan_octet(&p, &b) ||
	    *p++ != '.' || !scan_octet(&p, &c) || *p++ != '.' ||
	    !scan_octet(&p, &d))
		return false;
	*address = a << 24 | b << 16 | c << 8 | d;
	*text = p;
	return true;
}

/*
 * Read complete lines. Every line in [p, end) ends with a newline, so the fast scanner
 * need not check for the end: it stops at the newline.
 */
static int read_lines(struct reader *reader, const char *p, const char *end)
{
	struct feed *feed = reader->feed;
	bool v4 = feed->family & IPCUCKOO_FAMILY_INET && !feed->take;
	const char *line, *newline;
	uint32_t address;
	int err;

	while (p < end) {
		line = p;
		feed->lines++;
		if (v4 && scan_address4(&p, &address) &&
		    (*p == '\n' || (*p == '\r' && p[1] == '\n'))) {
			p += *p == '\r' ? 2 : 1;
			err = packed_add_host4(&feed->entries, address);
			if (!err)
				continue;
			snprintf(reader->fault->why, ADDRESS_WHY_SIZE,
				 "out of memory");
			return fault_at(reader, line, p - line - 1, err);
		}
		newline = memchr(p, '\n', end - p);
		err = read_line(reader, line, newline, false);
		if (err)
			return err;
		p = newline + 1;
	}
	return 0;
}

/* The text behind blanks and ends of lines. */
static const char *skip_space(const char *p, const char *end)
{
	while (p < end && (*p == '\n' || *p == '\r' || meaning[(uint8_t)*p] & BLANK))
		p++;
	return p;
}

/* Does the text begin as a web page or as XML does, after blanks? */
static bool is_markup(const char *data, size_t len)
{
	const char *end = data + len;

	data = skip_space(data, end);
	return end - data > 1 && *data == '<' &&
	       (data[1] == '!' || data[1] == '?' || (data[1] | 0x20) == 'h');
}

/* Does it begin as JSON does? A list may begin with an address in brackets, which is wrong as well. */
static bool is_json(const char *data, size_t len)
{
	const char *end = data + len;

	data = skip_space(data, end);
	if (data < end && *data == '[')
		data = skip_space(data + 1, end);
	else if (data == end || *data != '{')
		return false;
	return data == end || (*data && strchr("{[\"]", *data));
}

static bool begins_with(const char *data, size_t len, const char *word)
{
	size_t word_len = strlen(word);

	return len > word_len && !memcmp(data, word, word_len) && data[word_len] == ' ';
}

/* Refuse what is no plain list, and what nobody would take for CSV or JSON. */
static int check_plain(const char *data, size_t len, struct feed_fault *fault)
{
	const char *why = NULL, *end = data + len;

	while (data < end && *data == '#') {
		data = memchr(data, '\n', end - data);
		data = data ? data + 1 : end;
	}
	len = end - data;
	if (is_json(data, len)) {
		why = "is JSON, and a list has an address in each line";
		fault->convert = "jq -r '.. | strings | select(test(\"^[0-9a-fA-F]*[.:][0-9a-fA-F.:]*(/[0-9]+)?$\"))'";
	} else if (begins_with(data, len, "create") || begins_with(data, len, "add")) {
		why = "has commands, as save prints them, which ipcuckoo restore -file FILE runs";
		fault->convert = "sed -n 's/^add [^ ]* \\([^ ]*\\).*/\\1/p'";
	}
	if (!why)
		return 0;
	snprintf(fault->why, ADDRESS_WHY_SIZE, "%s", why);
	return -EINVAL;
}

/**
 * feed_check_start - refuse what is no list, by its first bytes
 * @data:	the first bytes, some hundred if there are as many
 * @len:	number of bytes
 * @skip:	set to the length of a byte order mark
 * @fault:	set to the reason, and to what makes a list of the file
 *
 * Return: 0 or -EINVAL.
 */
int feed_check_start(const char *data, size_t len, size_t *skip, struct feed_fault *fault)
{
	static const struct {
		const char *magic;
		unsigned char len;
		const char *why;
		const char *convert;
	} kinds[] = {
		{ "\xef\xbb\xbf",	3, NULL, NULL },
		{ "\xff\xfe",		2, "is UTF-16, not UTF-8", "iconv -f UTF-16 -t UTF-8" },
		{ "\xfe\xff",		2, "is UTF-16, not UTF-8", "iconv -f UTF-16 -t UTF-8" },
		{ "\x1f\x8b",		2, "is compressed", "zcat" },
		{ "BZh",		3, "is compressed", "bzcat" },
		{ "\xfd" "7zXZ",	5, "is compressed", "xzcat" },
		{ "\x28\xb5\x2f\xfd",	4, "is compressed", "zstdcat" },
		{ "\x04\x22\x4d\x18",	4, "is compressed", "lz4cat" },
		{ "PK\x03\x04",		4, "is a zip archive", "funzip" },
		{ "7z\xbc\xaf",		4, "is a 7z archive", "7z e -so" },
	};
	unsigned int i;

	*skip = 0;
	fault->convert = NULL;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (len < kinds[i].len ||
		    memcmp(data, kinds[i].magic, kinds[i].len))
			continue;
		if (kinds[i].why) {
			snprintf(fault->why, ADDRESS_WHY_SIZE, "%s", kinds[i].why);
			fault->convert = kinds[i].convert;
			return -EINVAL;
		}
		*skip = kinds[i].len;
		break;
	}
	/* An old kind of tar, for instance */
	if (memmem(data, len < 512 ? len : 512, "\0\0\0\0", 4)) {
		snprintf(fault->why, ADDRESS_WHY_SIZE, "is no text, as a list is: it has zeros in a row");
		return -EINVAL;
	}
	if (!is_markup(data + *skip, len - *skip))
		return 0;
	snprintf(fault->why, ADDRESS_WHY_SIZE, "is a web page (HTML) or XML, no list of addresses");
	return -EINVAL;
}

/*
 * Read the complete lines in the buffer. Return: the number of bytes processed, or a
 * negative errno.
 */
static ssize_t take_lines(struct reader *reader, const char *data, size_t len)
{
	const char *end, *p = data;
	size_t skip;
	int err;

	if (!reader->began) {
		reader->began = true;
		err = feed_check_start(data, len, &skip, reader->fault);
		if (!err && !reader->feed->take)
			err = check_plain(data + skip, len - skip, reader->fault);
		if (err) {
			reader->fault->line = 0;
			return err;
		}
		p += skip;
	}
	if (reader->skip_rest) {
		end = memchr(p, '\n', data + len - p);
		if (!end)
			return len;
		reader->skip_rest = false;
		p = end + 1;
	}
	end = memrchr(p, '\n', data + len - p);
	if (end) {
		err = read_lines(reader, p, end + 1);
		if (!err && is_above_limit(reader->feed, 0, reader->fault->why))
			err = fault_at(reader, p, 0, -EFBIG);
		return err ? err : end + 1 - data;
	}
	if (len < BUFFER_SIZE)
		return p - data;
	reader->feed->lines++;
	reader->skip_rest = true;
	err = read_line(reader, p, data + len, true);
	return err ? err : (ssize_t)len;
}

/* Read until the buffer is full, or to the end of the file. Return: number of bytes in
 * the buffer, or a negative errno.
 */
static ssize_t fill(int fd, char *data, size_t have)
{
	ssize_t got;

	while (have < BUFFER_SIZE) {
		got = read(fd, data + have, BUFFER_SIZE - have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		have += got;
	}
	return have;
}

static int read_all(struct reader *reader, int fd, char *data)
{
	ssize_t have = 0, done;
	bool last = false;

	while (!last) {
		have = fill(fd, data, have);
		if (have < 0) {
			reader->fault->line = 0;
			snprintf(reader->fault->why, ADDRESS_WHY_SIZE,
				 "cannot be read: %s", strerror(-have));
			return have;
		}
		last = have < (ssize_t)BUFFER_SIZE;
		/* Terminate the last line; the buffer has one more byte for that. */
		if (last && have && data[have - 1] != '\n') {
			reader->open = data + have;
			data[have++] = '\n';
		}
		done = take_lines(reader, data, have);
		if (done < 0)
			return done;
		have -= done;
		memmove(data, data + done, have);
	}
	return 0;
}

/**
 * feed_read - add the entries of a file
 * @feed:	the feed that gets the entries
 * @path:	the file; "-" for standard input
 * @fault:	on error, set to line and reason; line 0 is the file itself
 *
 * Return: 0, -EINVAL for a wrong line, or another negative errno.
 */
int feed_read(struct feed *feed, const char *path, struct feed_fault *fault)
{
	struct reader reader = { .feed = feed, .fault = fault };
	bool standard = !strcmp(path, "-");
	int fd = STDIN_FILENO, err;
	char *data;

	fault->file = standard ? "(standard input)" : path;
	fault->line = 0;
	fault->text[0] = '\0';
	fault->convert = NULL;
	feed->lines = 0;
	feed->blank = 0;
	if (!standard)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		snprintf(fault->why, sizeof(fault->why),
			 "cannot be opened: %s", strerror(errno));
		return err;
	}
	data = malloc(BUFFER_SIZE + 1);
	if (data) {
		err = read_all(&reader, fd, data);
	} else {
		snprintf(fault->why, sizeof(fault->why),
			 "cannot be read: out of memory");
		err = -ENOMEM;
	}
	free(data);
	if (!standard)
		close(fd);
	return err;
}

/**
 * feed_open - begin to read a feed that arrives in parts
 * @feed:	the feed that gets the entries
 * @fault:	when feed_push() or feed_end() fails, set to line and reason; fault->file is
 *		that of the caller
 *
 * Return: the stream, which ends with feed_close(); NULL if there is no memory.
 */
struct feed_stream *feed_open(struct feed *feed, struct feed_fault *fault)
{
	struct feed_stream *stream = malloc(sizeof(*stream));

	if (!stream)
		return NULL;
	stream->reader = (struct reader){ .feed = feed, .fault = fault };
	stream->have = 0;
	fault->line = 0;
	fault->text[0] = '\0';
	fault->convert = NULL;
	return stream;
}

static int take_buffer(struct feed_stream *stream)
{
	ssize_t done = take_lines(&stream->reader, stream->data, stream->have);

	if (done < 0)
		return done;
	stream->have -= done;
	memmove(stream->data, stream->data + done, stream->have);
	return 0;
}

/**
 * feed_push - read the next part
 * @stream:	the stream
 * @data:	the part
 * @len:	number of bytes
 *
 * Return: 0, -EINVAL for a wrong line, or another negative errno.
 */
int feed_push(struct feed_stream *stream, const char *data, size_t len)
{
	size_t some;
	int err = 0;

	for (; len && !err; data += some, len -= some) {
		some = BUFFER_SIZE - stream->have;
		if (some > len)
			some = len;
		memcpy(stream->data + stream->have, data, some);
		stream->have += some;
		if (stream->have == BUFFER_SIZE)
			err = take_buffer(stream);
	}
	return err;
}

/* Read the complete lines of the parts that have come. Return: as feed_push(). */
int feed_flush(struct feed_stream *stream)
{
	return take_buffer(stream);
}

/* Read what is left, after the last part. Return: as feed_push(). */
int feed_end(struct feed_stream *stream)
{
	struct feed *feed = stream->reader.feed;
	int err = 0;

	if (stream->have && stream->data[stream->have - 1] != '\n')
		stream->data[stream->have++] = '\n';
	if (stream->have)
		err = take_buffer(stream);
	note_origin(feed, feed->lines + 1, true);
	return err;
}

void feed_close(struct feed_stream *stream)
{
	free(stream);
}

void feed_free(struct feed *feed)
{
	packed_free(&feed->entries);
}
