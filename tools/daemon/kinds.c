// SPDX-License-Identifier: GPL-2.0-only
/* The kinds of sources. Some need a library, and are left out if it was not there. */
#include "daemon/copy/copy.h"
#include "daemon/crowdsec/crowdsec.h"
#include "daemon/feed/feed.h"
#include "daemon/redis/redis.h"
#include "daemon/routes/routes.h"

const struct source_kind *const source_kinds[] = {
	&feed_kind,
	&routes_kind,
	&copy_kind,
	&crowdsec_kind,
#ifdef IPCUCKOO_REDIS
	&redis_kind,
#endif
	NULL
};

const char *source_kind_missing(const char *word)
{
#ifndef IPCUCKOO_REDIS
	if (!strcmp(word, "redis"))
		return "this ipcuckood was built without hiredis; install libhiredis-dev (hiredis-devel), and build it again";
#endif
	(void)word;
	return NULL;
}
