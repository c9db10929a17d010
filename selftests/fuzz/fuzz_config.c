// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes the configuration of ipcuckood. Files that it names have the same contents as itself. What
 * was read must be the same when it is read again.
 */
#define FUZZ_INSIDE
#include <stdbool.h>

#include "fuzz.h"
#include "../../tools/daemon/config.h"
#include "../../tools/daemon/set/source.h"
#include "../../tools/daemon/set/target.h"

static struct config *read_text(const uint8_t *data, size_t size)
{
	FILE *f = fmemopen((void *)data, size, "r");
	struct config *config;

	if (!f)
		abort();
	config = config_read_stream(f, "config");
	fclose(f);
	return config;
}

static void check_same(const struct config *a, const struct config *b)
{
	const struct source *x, *y;
	size_t i;

	if (a->target_count != b->target_count || a->source_count != b->source_count)
		abort();
	for (i = 0; i < a->target_count; i++)
		if (!value_same_all(target_keys, a->targets[i], b->targets[i]))
			abort();
	for (i = 0; i < a->source_count; i++) {
		x = a->sources[i];
		y = b->sources[i];
		if (!x->target || x->kind != y->kind || strcmp(x->name, y->name) ||
		    !value_same_all(source_keys, x, y) || !value_same_all(x->kind->keys, x, y))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config *config, *again;

	if (!size)
		return 0;
	outside = (struct outside){ .file = data, .file_size = size };
	config = read_text(data, size);
	again = read_text(data, size);
	if (!config != !again)
		abort();
	if (config)
		check_same(config, again);
	config_free(config);
	config_free(again);
	return 0;
}
