// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <time.h>

#include "daemon/base/memory.h"
#include "daemon/redis/publication.h"
#include "lib/feed.h"

#define LINE_SIZE	1024

/**
 * struct line - a line
 * @text:	its entry
 * @expires:	when that expires, or 0
 * @comment:	its comment, or NULL
 */
struct line {
	char *text;
	uint32_t expires;
	const char *comment;
};

/* What is being read. @signature: what comments end with, or "" */
struct publication {
	bool del;
	bool replace;
	char signature[IPCUCKOO_COMMENT_MAX + 1];
	struct list_bytes *bytes;
	struct packed *added;
	size_t count;
	struct contents contents;
	struct packed plain;
};

/* Return: whether the line is right; its text is NULL if there is nothing in it. */
static bool cut_line(char *text, struct line *line)
{
	char *expires = strchr(text, ','), *comment = NULL;
	uint64_t number = 0;

	memset(line, 0, sizeof(*line));
	text += strspn(text, " \t\r");
	if (!*text || *text == '#' || *text == ';')
		return true;
	line->text = text;
	if (!expires)
		return true;
	*expires++ = '\0';
	comment = strchr(expires, ',');
	if (comment)
		*comment++ = '\0';
	if (!list_number(expires, strlen(expires), &number) || number > UINT32_MAX)
		return false;
	line->expires = number;
	line->comment = comment && *comment ? comment : NULL;
	return !line->comment || strlen(line->comment) <= IPCUCKOO_COMMENT_MAX;
}

/* Who publishes, and when. Neither the stream nor the snapshot has room for it that older daemons
 * would not refuse; comments they take.
 */
static void sign(struct publication *publication, const char *host)
{
	char at[32];
	time_t now = now_seconds();

	strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	snprintf(publication->signature, sizeof(publication->signature), "by %.200s at %s", host, at);
}

/* A comment that leaves no room for the signature stays as it is. */
static void sign_comment(const struct publication *publication, struct line *line, char *text)
{
	const char *signature = publication->signature;

	if (!line->comment && *signature)
		line->comment = signature;
	else if (*signature && strlen(line->comment) + strlen(signature) + 2 <= IPCUCKOO_COMMENT_MAX)
		line->comment = strcat(strcat(strcpy(text, line->comment), ", "), signature);
}

/* Return: 0 or -ENOMEM. */
static int take_member(struct publication *publication, const struct member *member)
{
	struct source_change change = { .del = publication->del, .member = *member };

	publication->count++;
	if (!publication->del &&
	    packed_add(publication->added, member->kind, member->entry))
		return -ENOMEM;
	if (!publication->replace)
		return list_pack_change(publication->bytes, &change);
	if (!member->expires && !member->comment)
		return packed_add(&publication->plain, member->kind, member->entry);
	return contents_add(&publication->contents, member);
}

static int take_entries(struct publication *publication, const struct packed *entries,
			const struct line *line)
{
	struct member member = { .expires = line->expires, .comment = line->comment };
	struct entry_ref ref;
	int err = 0;

	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++) {
		for (ref.index = 0; ref.index < entries->kind[ref.kind].count; ref.index++) {
			if (err)
				return err;
			member.kind = ref.kind;
			memcpy(member.entry, entry_at(entries, ref), entry_size[ref.kind]);
			err = take_member(publication, &member);
		}
	}
	return err;
}

/* Return: NULL, or what is wrong. */
static char *take_line(struct publication *publication, struct feed *feed, char *text,
		       unsigned long number)
{
	char why[ADDRESS_WHY_SIZE], quoted[64], joined[FEED_ENTRY_SIZE];
	char comment[IPCUCKOO_COMMENT_MAX + 1];
	const char *entry, *end;
	struct line line;
	int err;

	if (!cut_line(text, &line))
		return need_text("line %lu: behind an entry, write the second at which it expires, and a comment of at most %u bytes: 192.0.2.7,1795561103,scanner",
				 number, IPCUCKOO_COMMENT_MAX);
	if (!line.text)
		return NULL;
	sign_comment(publication, &line, comment);
	packed_clear(&feed->entries);
	entry = line.text;
	end = entry + strcspn(entry, "\r");
	err = feed_cut_entry(&entry, &end, joined, why);
	if (!err)
		err = feed_add(feed, entry, end - entry, why);
	if (!err)
		err = take_entries(publication, &feed->entries, &line);
	if (!err)
		return NULL;
	if (err == -ENOMEM)
		return need_copy("out of memory");
	address_quote(quoted, sizeof(quoted), line.text, strlen(line.text));
	return need_text("line %lu: %s: %s", number, quoted, why);
}

static char *read_lines(struct publication *publication, const char *body, size_t size)
{
	struct feed feed = { .family = IPCUCKOO_FAMILY_ANY };
	const char *end = body + size, *next;
	char text[LINE_SIZE], *wrong = NULL;
	unsigned long number = 0;
	size_t len;

	for (; body < end && !wrong; body = next) {
		next = memchr(body, '\n', end - body);
		len = (next ? next : end) - body;
		next = next ? next + 1 : end;
		number++;
		if (len >= sizeof(text) || memchr(body, '\0', len)) {
			wrong = need_text("line %lu is longer than %zu bytes, or has a zero in it",
					  number, sizeof(text) - 1);
			break;
		}
		memcpy(text, body, len);
		text[len] = '\0';
		wrong = take_line(publication, &feed, text, number);
		if (!wrong && !publication->replace && publication->bytes->size > LIST_CHANGES_MOST)
			wrong = need_text("too many entries for one step; publish fewer at a time, or the whole list with --file FILE");
	}
	feed_free(&feed);
	return wrong;
}

/* A whole list: an entry that is there with a value is not there without, too. */
static char *pack_all(struct publication *publication)
{
	struct contents_cursor cursor = { 0 };
	struct contents plain = { 0 }, both = { 0 };
	struct packed left = { 0 };
	struct member member, other;
	int err = 0;

	contents_take(&plain, &publication->plain);
	while (!err && contents_next(&plain, &cursor, &member))
		if (!contents_find(&publication->contents, member.kind, member.entry, &other))
			err = packed_add(&left, member.kind, member.entry);
	both = publication->contents;
	memset(&publication->contents, 0, sizeof(publication->contents));
	contents_take(&both, &left);
	publication->count = contents_count(&both);
	if (!err)
		err = list_pack_snapshot(publication->bytes, &both, now_seconds());
	packed_free(&left);
	contents_free(&plain);
	contents_free(&both);
	return err ? need_copy("out of memory") : NULL;
}

bool publication_is_whole(const struct request *request)
{
	return !strcmp(request->how, "replace") || !strcmp(request->how, "clear");
}

char *publication_read(const struct request *request, const char *host, struct list_bytes *bytes,
		       size_t *count, struct packed *added)
{
	struct publication publication = {
		.del = !strcmp(request->how, "del"), .bytes = bytes,
		.replace = publication_is_whole(request), .added = added,
	};
	char *wrong;

	if (!publication.del && !publication.replace && strcmp(request->how, "add"))
		return need_text("publish: say add, del, replace or clear, and not \"%s\"",
				 request->how);
	if (host && !publication.del && !publication.replace)
		sign(&publication, host);
	wrong = read_lines(&publication, request->body, request->body ? request->size : 0);
	if (!wrong && publication.replace)
		wrong = pack_all(&publication);
	if (!wrong && !bytes->size && strcmp(request->how, "clear"))
		wrong = need_copy("there is no entry in the list; say --empty if it shall be empty");
	contents_free(&publication.contents);
	packed_free(&publication.plain);
	packed_unique(added);
	*count = publication.count;
	return wrong;
}
