/* SPDX-License-Identifier: GPL-2.0-only */
/* Asks Redis Sentinel where the primary and its replicas are now. */
#ifndef IPCUCKOOD_SENTINEL_H
#define IPCUCKOOD_SENTINEL_H

#include "daemon/engine.h"

struct sentinel;

/* The answer: addresses to try in turn, allocated, NULL ends them; or NULL, and why there are none.
 * It comes once; the question is over then.
 */
typedef void sentinel_fn(void *owner, char **servers, const char *why);

/* Ask the addresses in config->sentinel. @write: for the primary; otherwise for its replicas, in
 * any order, and then the primary. The configuration has to stay.
 */
struct sentinel *sentinel_ask(sd_event *event, const struct engine_config *config, bool write,
			      sentinel_fn *done, void *owner);
/* Give the question up. NULL is ignored. */
void sentinel_close(struct sentinel *sentinel);

#endif /* IPCUCKOOD_SENTINEL_H */
