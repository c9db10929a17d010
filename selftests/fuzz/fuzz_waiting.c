// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes the file of changes that wait to be published. What is taken from it are packed changes that
 * can be read, each once. Then they are sent and done.
 */
#include <stdbool.h>
#include <string.h>

#include "fuzz.h"
#include "../../tools/daemon/redis/backlog.h"

#define CHANGES	64

static void check(const struct backlog_change *change)
{
	struct list_limits limits = { .family = IPCUCKOO_FAMILY_ANY, .most = UINT64_MAX };
	struct list_changes changes = { 0 };
	char why[LIST_WHY_SIZE];

	if (list_parse_changes(change->bytes.data, change->bytes.size, &limits, &changes, why) ||
	    changes.count != change->count || strlen(change->token) >= TOKEN_SIZE)
		abort();
	list_free_changes(&changes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char tokens[CHANGES][TOKEN_SIZE];
	struct backlog_change change;
	struct backlog *backlog;
	size_t count = 0, i;

	outside = (struct outside){ .file = data, .file_size = size };
	backlog = backlog_open("state", "fuzz", "list");
	while (backlog_take(backlog, &change)) {
		check(&change);
		for (i = 0; i < count; i++)
			if (!strcmp(tokens[i], change.token))
				abort();
		if (count < CHANGES)
			memcpy(tokens[count++], change.token, TOKEN_SIZE);
		free(change.bytes.data);
	}
	for (i = 0; i < count; i++) {
		backlog_sent(backlog, tokens[i], 7);
		backlog_done(backlog, tokens[i]);
		/* It is not there any more, which is no harm. */
		backlog_done(backlog, tokens[i]);
	}
	backlog_close(backlog);
	return 0;
}
