// SPDX-License-Identifier: GPL-2.0-only
#include "lib/origin.h"

/* Whether an entry is the next one of the last run. */
static bool continues(const struct origin *origin, const struct origin_run *next)
{
	const struct origin_run *last = origin->runs + origin->count;

	return last-- != origin->runs && last->kind == next->kind && !last->same && !next->same &&
	       last->line + (next->index - last->index) == next->line;
}

void origin_note(struct origin *origin, const struct packed *entries, unsigned long line, bool before)
{
	struct origin_run run = { .kind = 0 };
	size_t more;

	for (; run.kind < ENTRY_KINDS; run.kind++) {
		run.index = origin->noted[run.kind];
		more = entries->kind[run.kind].count - run.index;
		if (!more || origin->count == ORIGIN_RUNS_MOST)
			continue;
		run.line = before ? line - more : line;
		run.same = !before && more > 1;
		if (!continues(origin, &run))
			origin->runs[origin->count++] = run;
		origin->noted[run.kind] += more;
	}
}

unsigned long origin_line(const struct origin *origin, const struct packed *entries,
			  enum entry_kind kind, const uint8_t *entry)
{
	size_t size = entry_size[kind], at = 0, i = origin->count;
	const struct origin_run *run;

	while (at < origin->noted[kind] && memcmp(entries->kind[kind].data + at * size, entry, size))
		at++;
	while (at < origin->noted[kind] && i--) {
		run = &origin->runs[i];
		if (run->kind == kind && run->index <= at)
			return run->line + (run->same ? 0 : at - run->index);
	}
	return 0;
}
