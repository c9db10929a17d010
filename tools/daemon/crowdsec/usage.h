/* SPDX-License-Identifier: GPL-2.0-only */
/* Usage metrics: what a bouncer tells CrowdSec about itself from time to time. CrowdSec takes them
 * from 1.6.3 on, and "cscli metrics" shows them.
 */
#ifndef IPCUCKOOD_USAGE_H
#define IPCUCKOOD_USAGE_H

#include "daemon/crowdsec/decisions.h"
#include "daemon/crowdsec/lapi.h"

/**
 * struct usage_config - whom to tell, and what
 * @daemon:	the daemon
 * @lapi:	the Local API
 * @source:	name of the source, for messages
 * @every:	seconds between two reports
 * @now:	the decisions that are in force
 * @labels:	where they are from; it may become another pointer, and is NULL at first
 */
struct usage_config {
	struct daemon *daemon;
	const struct lapi *lapi;
	const char *source;
	uint64_t every;
	const struct decisions *now;
	struct labels *const *labels;
};

struct usage;

/* Begin to report; the first time after @every seconds. */
struct usage *usage_start(const struct usage_config *config);
void usage_stop(struct usage *usage);
/* "waiting", "sent", "failing", or "not taken" by this CrowdSec; "off" if @usage is NULL. */
const char *usage_state(const struct usage *usage);

#endif /* IPCUCKOOD_USAGE_H */
