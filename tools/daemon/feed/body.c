// SPDX-License-Identifier: GPL-2.0-only
/*
 * gzip is decompressed by zlib while it arrives: libarchive would have to be loaded for it, and does
 * not check its checksum. Archives may be compressed with it, too.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "daemon/feed/body.h"
#include "daemon/feed/unpack.h"

/* Bytes that are decompressed at once */
#define PIECE_SIZE	(32 << 10)

/* Members of an archive that are not read may have this many times the size of the largest feed. */
#define SKIP_COST	16

/* For zlib: the largest window, and a header of gzip */
#define GZIP_WINDOW	(15 + 16)

/**
 * struct body - a body that arrives
 * @format:	how to read it
 * @parser:	reads it
 * @feed:	gets the entries
 * @fault:	what is wrong
 * @limit:	maximum number of bytes
 * @received:	bytes that arrived
 * @size:	bytes after decompression
 * @began:	the first bytes are in @head or were read
 * @head:	the first byte, until the second one shows whether it is gzip
 * @head_len:	1 if @head is in use
 * @gzip:	it is compressed, and @zlib decompresses it
 * @ended:	the end of the compressed data was there
 * @looked:	the first bytes after decompression are in @start, or were read
 * @start:	these bytes, until there are enough to see whether it is an archive
 * @start_len:	number of them
 * @archive:	it is one, and is stored in this file
 * @why:	why it is of no use
 */
struct body {
	const struct format *format;
	struct parser *parser;
	struct feed *feed;
	struct feed_fault fault;
	uint64_t limit;
	uint64_t received;
	uint64_t size;
	bool began;
	char head;
	size_t head_len;
	bool gzip;
	bool ended;
	z_stream zlib;
	bool looked;
	char start[UNPACK_START_SIZE];
	size_t start_len;
	FILE *archive;
	char why[BODY_WHY_SIZE];
	char piece[PIECE_SIZE];
};

struct body *body_new(const struct format *format, struct feed *feed, uint64_t limit)
{
	struct body *body = calloc(1, sizeof(*body));

	if (!body)
		return NULL;
	body->format = format;
	body->feed = feed;
	body->limit = limit;
	body->parser = parser_new(format, feed, &body->fault, limit);
	if (body->parser)
		return body;
	free(body);
	return NULL;
}

void body_free(struct body *body)
{
	if (!body)
		return;
	if (body->gzip)
		inflateEnd(&body->zlib);
	if (body->archive)
		fclose(body->archive);
	parser_free(body->parser);
	free(body);
}

const char *body_why(const struct body *body)
{
	return body->why;
}

uint64_t body_size(const struct body *body)
{
	return body->size;
}

static bool is_too_large(struct body *body, uint64_t size)
{
	if (size <= body->limit)
		return false;
	snprintf(body->why, sizeof(body->why),
		 "has more than %llu MB%s; if that is right, raise max-size",
		 (unsigned long long)(body->limit >> 20),
		 body->gzip || body->archive ? " when it is decompressed" : "");
	return true;
}

/* Whether the parser is content. */
static bool judge(struct body *body, int err)
{
	const struct feed_fault *fault = &body->fault;

	if (!err)
		return true;
	if (err == -EFBIG)
		snprintf(body->why, sizeof(body->why),
			 "%s %lu: %s; if that is right, raise max-entries", body->feed->unit,
			 fault->line, fault->why);
	else if (err == -ENOMEM)
		snprintf(body->why, sizeof(body->why), "is too large for the memory there is");
	else if (fault->line)
		snprintf(body->why, sizeof(body->why), "%s %lu: %s", body->feed->unit,
			 fault->line, fault->why);
	else
		snprintf(body->why, sizeof(body->why), "%s", fault->why);
	return false;
}

static bool fail_store(struct body *body)
{
	snprintf(body->why, sizeof(body->why), "is an archive that cannot be stored: %s",
		 strerror(errno));
	return false;
}

/* An archive is read when all of it is there. */
static bool store(struct body *body, const char *data, size_t len)
{
	return fwrite(data, 1, len, body->archive) == len || fail_store(body);
}

/* Look at the first bytes, then read them. */
static bool look(struct body *body)
{
	body->looked = true;
	if (!unpack_is_archive(body->start, body->start_len))
		return judge(body, parser_push(body->parser, body->start, body->start_len));
	body->archive = tmpfile();
	return body->archive ? store(body, body->start, body->start_len) : fail_store(body);
}

static bool parse(struct body *body, const char *data, size_t len)
{
	size_t some;

	body->size += len;
	if (is_too_large(body, body->size))
		return false;
	if (!body->looked) {
		some = UNPACK_START_SIZE - body->start_len;
		if (some > len)
			some = len;
		memcpy(body->start + body->start_len, data, some);
		body->start_len += some;
		if (body->start_len < UNPACK_START_SIZE)
			return true;
		if (!look(body))
			return false;
		data += some;
		len -= some;
	}
	if (body->archive)
		return store(body, data, len);
	return judge(body, parser_push(body->parser, data, len));
}

static bool begin_member(void *owner)
{
	struct body *body = owner;

	parser_free(body->parser);
	body->parser = parser_new(body->format, body->feed, &body->fault, body->limit);
	return judge(body, body->parser ? 0 : -ENOMEM);
}

static bool take_member(void *owner, const char *data, size_t len)
{
	struct body *body = owner;

	body->size += len;
	return !is_too_large(body, body->size) && judge(body, parser_push(body->parser, data, len));
}

static bool end_member(void *owner)
{
	struct body *body = owner;

	return judge(body, parser_end(body->parser));
}

static bool read_archive(struct body *body)
{
	const struct unpack unpack = {
		.member = body->format->member, .password_file = body->format->password_file,
		.skip_most = SKIP_COST * body->limit,
		.begin = begin_member, .data = take_member, .end = end_member, .owner = body,
	};

	if (fflush(body->archive))
		return fail_store(body);
	body->size = 0;
	return unpack_read(&unpack, fileno(body->archive), body->why, sizeof(body->why));
}

/* Several compressed files may follow each other, as "cat a.gz b.gz" makes them. */
static bool decompress(struct body *body, const char *data, size_t len)
{
	z_stream *zlib = &body->zlib;
	int err;

	zlib->next_in = (Bytef *)data;
	zlib->avail_in = len;
	do {
		if (body->ended && inflateReset(zlib) == Z_OK)
			body->ended = false;
		zlib->next_out = (Bytef *)body->piece;
		zlib->avail_out = PIECE_SIZE;
		err = inflate(zlib, Z_NO_FLUSH);
		if (err != Z_OK && err != Z_STREAM_END && err != Z_BUF_ERROR) {
			snprintf(body->why, sizeof(body->why), "is a gzip file that is damaged");
			return false;
		}
		body->ended = err == Z_STREAM_END;
		if (!parse(body, body->piece, PIECE_SIZE - zlib->avail_out))
			return false;
	} while (zlib->avail_in || !zlib->avail_out);
	return true;
}

static bool take(struct body *body, const char *data, size_t len)
{
	if (!len)
		return true;
	return body->gzip ? decompress(body, data, len) : parse(body, data, len);
}

/* Look at the first two bytes. */
static bool begin(struct body *body, char second)
{
	body->began = true;
	body->gzip = body->head == '\x1f' && second == '\x8b' &&
		     inflateInit2(&body->zlib, GZIP_WINDOW) == Z_OK;
	return take(body, &body->head, body->head_len);
}

bool body_push(struct body *body, const char *data, size_t len)
{
	body->received += len;
	if (is_too_large(body, body->received))
		return false;
	if (!body->began && len && !body->head_len) {
		body->head = *data++;
		body->head_len = 1;
		len--;
	}
	if (!body->began && len && !begin(body, *data))
		return false;
	return take(body, data, len);
}

bool body_end(struct body *body)
{
	if (!body->began && body->head_len && !begin(body, 0))
		return false;
	if (body->gzip && !body->ended) {
		snprintf(body->why, sizeof(body->why), "is a gzip file that is cut off");
		return false;
	}
	if (!body->looked && !look(body))
		return false;
	return body->archive ? read_archive(body) : judge(body, parser_end(body->parser));
}
