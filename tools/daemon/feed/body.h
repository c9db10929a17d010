/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The body of an answer: decompressed if it is a gzip file, limited, and parsed while it arrives; an
 * archive when it has arrived, from a temporary file. It is never in memory as a whole, but for a
 * document of JSON.
 */
#ifndef IPCUCKOOD_BODY_H
#define IPCUCKOOD_BODY_H

#include "daemon/feed/format.h"

#define BODY_WHY_SIZE	512

struct body;

/* @limit: maximum number of bytes, before and after decompression. Return: NULL if there is no
 * memory.
 */
struct body *body_new(const struct format *format, struct feed *feed, uint64_t limit);
/* Return: false if the body is of no use; body_why() says why. */
bool body_push(struct body *body, const char *data, size_t len);
bool body_end(struct body *body);
const char *body_why(const struct body *body);
/* Bytes of the body, after decompression. */
uint64_t body_size(const struct body *body);
void body_free(struct body *body);

#endif /* IPCUCKOOD_BODY_H */
