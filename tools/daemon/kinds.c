// SPDX-License-Identifier: GPL-2.0-only
/* The kinds of sources. */
#include "daemon/feed.h"

const struct source_kind *const source_kinds[] = {
	&feed_kind,
	NULL
};
