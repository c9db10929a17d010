// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "daemon/body.h"

/* Bytes that are decompressed at once */
#define PIECE_SIZE	(32 << 10)

/* For zlib: the largest window, and a header of gzip */
#define GZIP_WINDOW	(15 + 16)

/**
 * struct body - a body that arrives
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
 * @why:	why it is of no use
 */
struct body {
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
	char why[BODY_WHY_SIZE];
	char piece[PIECE_SIZE];
};

struct body *body_new(const struct format *format, struct feed *feed, uint64_t limit)
{
	struct body *body = calloc(1, sizeof(*body));

	if (!body)
		return NULL;
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
		 body->gzip ? " when it is decompressed" : "");
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

static bool parse(struct body *body, const char *data, size_t len)
{
	body->size += len;
	return !is_too_large(body, body->size) && judge(body, parser_push(body->parser, data, len));
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
	return judge(body, parser_end(body->parser));
}
