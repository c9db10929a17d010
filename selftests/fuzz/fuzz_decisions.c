// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes what the daemon does with CrowdSec. If the first byte is odd, the rest is an answer of the
 * Local API: when it arrives at once and when it arrives in parts, the same decisions must be read,
 * up to the same fault. If it is even, the rest is a series of changes of decisions, three bytes
 * each, which are also made to a plain array; both must have the same decisions.
 */
#define FUZZ_INSIDE
#include <stdio.h>

#include "fuzz.h"
#include "../../tools/daemon/crowdsec/answer.h"
#include "../../tools/daemon/crowdsec/decisions.h"

#define SIZE_MOST	(64 << 10)

/* What was read, as text */
struct reading {
	char *text;
	size_t size;
	FILE *f;
	size_t left;
};

/* A duration that was understood, written as a number, has to be the same. */
static void check_duration(const char *text)
{
	char again[40];
	int64_t ns, same;

	if (!answer_parse_duration(text, &ns))
		return;
	if ((ns < 0) != (*text == '-') && ns)
		abort();
	snprintf(again, sizeof(again), "%lldns", (long long)ns);
	if (!answer_parse_duration(again, &same) || same != ns)
		abort();
}

static int note(void *owner, const struct answer_decision *decision)
{
	struct reading *reading = owner;

	check_duration(decision->duration);
	fprintf(reading->f, "%d %llu %s %s %s %s %s %s\n", decision->deleted,
		(unsigned long long)decision->id, decision->origin, decision->type,
		decision->scope, decision->value, decision->scenario, decision->duration);
	return reading->left-- ? 0 : -ENOMEM;
}

/* Return: whether it is an answer. */
static bool read_answer(struct reading *reading, const uint8_t *data, size_t size, size_t part,
			uint8_t choice)
{
	struct answer *answer = answer_new(choice & 2, SIZE_MOST, note, reading);
	bool good = true;
	size_t some;

	reading->left = choice & 4 ? choice >> 3 : SIZE_MOST;
	reading->f = open_memstream(&reading->text, &reading->size);
	if (!answer || !reading->f)
		abort();
	for (; size && good; data += some, size -= some) {
		some = part < size ? part : size;
		good = answer_push(answer, (const char *)data, some);
		/* Nothing but the limit of left, or a reason */
		if (!good && !answer_why(answer)[0] && reading->left != SIZE_MAX)
			abort();
	}
	good = good && answer_end(answer);
	if (answer_size(answer) > SIZE_MOST && good)
		abort();
	answer_free(answer);
	fclose(reading->f);
	return good;
}

/* Is there a sign behind a digit, as in -1-5? json-c refuses that, but if "-5" arrives later, it
 * ignores it (0.16).
 */
static bool has_odd_number(const uint8_t *data, size_t size)
{
	bool text = false;
	size_t i;

	for (i = 0; i < size; i++) {
		if (data[i] == '"')
			text = !text;
		else if (text && data[i] == '\\')
			i++;
		else if (!text && i && (data[i] == '-' || data[i] == '+') && data[i - 1] &&
			 strchr("0123456789.+-", data[i - 1]))
			return true;
	}
	return false;
}

static void fuzz_answer(uint8_t choice, const uint8_t *data, size_t size)
{
	struct reading whole = { 0 }, parts = { 0 };
	bool good = read_answer(&whole, data + 1, size - 1, size, choice);
	bool same = read_answer(&parts, data + 1, size - 1, 1 + data[0] % 64, choice) == good &&
		    whole.size == parts.size && !memcmp(whole.text, parts.text, whole.size);

	if (!same && !has_odd_number(data + 1, size - 1))
		abort();
	free(whole.text);
	free(parts.text);
}

#define ENTRIES	16
#define IDS	8

/* The reference: when each decision ends; 0: it is not there. */
struct plain {
	uint32_t ends[ENTRIES][IDS];
};

static void fill_entry(struct decision *decision, unsigned int n)
{
	memset(decision->entry, 0, sizeof(decision->entry));
	decision->kind = n % ENTRY_KINDS;
	decision->entry[0] = 10;
	decision->entry[2] = n / ENTRY_KINDS;
	if (is_net(decision->kind))
		decision->entry[entry_size[decision->kind] - 1] = 24;
}

static uint32_t longest(const struct plain *plain, unsigned int n)
{
	uint32_t end = 0;
	int id;

	for (id = 0; id < IDS; id++)
		if (plain->ends[n][id] > end)
			end = plain->ends[n][id];
	return end;
}

/* Entries that a walk has called for */
struct walk {
	const struct plain *plain;
	uint32_t called;
	bool touched;
};

static int visit(void *owner, const struct decision *found, enum entry_kind kind,
		 const uint8_t *entry)
{
	unsigned int n = entry[2] * ENTRY_KINDS + kind;
	struct walk *walk = owner;

	if (n >= ENTRIES || walk->called & 1u << n || (found && found->kind != kind) ||
	    (!found && !walk->touched) || longest(walk->plain, n) != (found ? found->expires : 0))
		abort();
	walk->called |= 1u << n;
	return 0;
}

static void check_all(const struct decisions *list, const struct plain *plain,
		      const struct decisions *touched)
{
	struct walk all = { .plain = plain }, some = { .plain = plain, .touched = true };
	struct decision decision = { 0 };
	size_t count = 0, here, there;
	const struct decision *found;
	unsigned int n;
	int id;

	decisions_walk(list, visit, &all);
	decisions_walk_touched(list, touched, visit, &some);
	for (n = 0; n < ENTRIES; n++) {
		for (id = 0, here = 0; id < IDS; id++)
			here += plain->ends[n][id] > 0;
		count += here;
		fill_entry(&decision, n);
		found = decisions_find(list, decision.kind, decision.entry, &there);
		if (here != there || !found != !here || !found != !(all.called & 1u << n))
			abort();
		for (; there--; found++)
			if (plain->ends[n][found->id] != found->expires)
				abort();
		found = decisions_find(touched, decision.kind, decision.entry, &there);
		if (!found != !(some.called & 1u << n))
			abort();
	}
	if (count != list->count)
		abort();
}

/* New decisions and others that have ended, as the daemon takes them from an answer */
static void apply(struct decisions *list, struct decisions *new, struct decisions *gone,
		  struct plain *plain, uint32_t now)
{
	unsigned int n;
	size_t i;
	int id;

	decisions_sort(new);
	decisions_sort(gone);
	if (decisions_merge(list, new))
		abort();
	decisions_remove(list, gone, now);
	for (i = 0; i < gone->count; i++)
		plain->ends[gone->at[i].entry[2] * ENTRY_KINDS + gone->at[i].kind]
			   [gone->at[i].id] = 0;
	for (n = 0; n < ENTRIES; n++)
		for (id = 0; id < IDS; id++)
			if (plain->ends[n][id] <= now)
				plain->ends[n][id] = 0;
	check_all(list, plain, gone);
	check_all(list, plain, new);
	new->count = 0;
	gone->count = 0;
}

static void fuzz_changes(const uint8_t *data, size_t size)
{
	struct decisions list = { 0 }, new = { 0 }, gone = { 0 };
	struct plain plain = { 0 };
	struct decision decision;
	unsigned int n;
	size_t i;

	for (i = 0; i + 3 <= size; i += 3) {
		memset(&decision, 0, sizeof(decision));
		n = data[i + 1] % ENTRIES;
		fill_entry(&decision, n);
		decision.id = data[i + 1] / ENTRIES % IDS;
		/* That of a decision never changes, unless a server lies: here it does not. */
		decision.expires = 1 + (n * 31 + decision.id * 7) % 200;
		if (data[i] % 8 == 0) {
			apply(&list, &new, &gone, &plain, data[i + 2] / 4);
		} else if (data[i] % 8 < 3) {
			if (decisions_add(&gone, &decision))
				abort();
		} else {
			if (decisions_add(&new, &decision))
				abort();
			plain.ends[n][decision.id] = decision.expires;
		}
	}
	apply(&list, &new, &gone, &plain, 0);
	decisions_free(&list);
	decisions_free(&new);
	decisions_free(&gone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3)
		return 0;
	if (data[0] & 1)
		fuzz_answer(data[0], data + 1, size - 1);
	else
		fuzz_changes(data + 1, size - 1);
	return 0;
}
