/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Feeds of JSON, read by libjq: whole documents, one in each line, or one behind the other. A
 * filter, a program for jq, yields the addresses of each.
 */
#ifndef IPCUCKOOD_JSON_FEED_H
#define IPCUCKOOD_JSON_FEED_H

#include "daemon/feed/format.h"

struct json_feed;

/* @format: its filter, or its fields, from which one is made. @memory: about the most memory that a
 * document may take. Return: NULL if there is no memory.
 */
struct json_feed *json_feed_new(const struct format *format, struct feed *feed,
				struct feed_fault *fault, uint64_t memory);
/* Return: 0 or a negative errno; then this is no such feed, and the rest is of no use. */
int json_feed_push(struct json_feed *json, const char *data, size_t len);
int json_feed_end(struct json_feed *json);
void json_feed_free(struct json_feed *json);

/* Whether the filter of a feed is right. Return: NULL, or what is wrong, for the caller to free. */
char *json_feed_check(const char *filter);

#endif /* IPCUCKOOD_JSON_FEED_H */
