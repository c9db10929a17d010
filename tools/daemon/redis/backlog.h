/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What waits to be published, on disk, so that it is published also if the daemon ends before Redis
 * answers. Each publication has a token, by which Redis knows it when it comes again.
 */
#ifndef IPCUCKOOD_BACKLOG_H
#define IPCUCKOOD_BACKLOG_H

#include "daemon/redis/list.h"

#define TOKEN_SIZE	33

/**
 * struct backlog_change - changes that are published in one step
 * @token:	names the publication
 * @bytes:	the changes, packed
 * @count:	how many there are
 * @since:	since when they wait, in seconds since 1970
 * @sent_at:	when they were sent for the first time; 0: never
 */
struct backlog_change {
	char token[TOKEN_SIZE];
	struct list_bytes bytes;
	size_t count;
	uint32_t since;
	uint32_t sent_at;
};

struct backlog;

/* Open the file of a source and a list in @dir, and read what waits. */
struct backlog *backlog_open(const char *dir, const char *source, const char *list);
/* Take the next of the changes that were read, in their order. Return: false at the end. */
bool backlog_take(struct backlog *backlog, struct backlog_change *change);
/* Note that changes wait, have been sent, or need not wait any more. Return: whether it is on the
 * disk; if not, a message says why.
 */
bool backlog_add(struct backlog *backlog, const struct backlog_change *change);
bool backlog_sent(struct backlog *backlog, const char *token, uint32_t at);
bool backlog_done(struct backlog *backlog, const char *token);
/* NULL is ignored. */
void backlog_close(struct backlog *backlog);

/* Say which files in @dir none of the sources opens. Return: their paths; NULL ends them if there are any. */
struct source;
char **backlog_find_left(const char *dir, struct source *const *sources, size_t count);

#endif /* IPCUCKOOD_BACKLOG_H */
