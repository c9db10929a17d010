/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a client wants to publish: lines of text, which are the body of a request.
 *
 *   192.0.2.7
 *   198.51.100.0/24,1795561103
 *   203.0.113.9,0,a comment
 *
 * A line is an entry, the second at which it expires (0: never), and its comment, as in the files
 * in which the daemon stores contents. Empty lines, and what is behind "#" or ";", are ignored.
 */
#ifndef IPCUCKOOD_PUBLICATION_H
#define IPCUCKOOD_PUBLICATION_H

#include "daemon/base/request.h"
#include "daemon/redis/list.h"

/* Does the request replace the whole list? */
bool publication_is_whole(const struct request *request);

/* Read and pack the body, as the arguments of the request say: "add" and "del" as changes,
 * "replace" as a snapshot, and "clear" as one that may be empty. @added: gets what the list shall
 * have, sorted. @host: comments of what is added name it, and the time, as publisher; or NULL. Return:
 * NULL, or what is wrong, allocated.
 */
char *publication_read(const struct request *request, const char *host, struct list_bytes *bytes,
		       size_t *count, struct packed *added);

#endif /* IPCUCKOOD_PUBLICATION_H */
