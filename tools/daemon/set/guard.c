// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/set/guard.h"
#include "daemon/set/merged.h"
#include "lib/exposure.h"
#include "nl/machine.h"

/**
 * struct verdict - what is found out about entries
 * @source:	their source
 * @refused:	those that are not allowed, sorted
 * @too_much:	those of them that are more than one change may add, sorted
 * @why:	the first reason for an entry that has not been kept out before, or else for another one;
 *		or NULL
 * @named:	the entry that it names
 * @is_new:	this one has not been kept out before
 */
struct verdict {
	const struct source *source;
	struct packed refused;
	struct packed too_much;
	char *why;
	struct member named;
	bool is_new;
};

/* Also if the set gets nothing of the source at the moment: guard_total() may find that it fits
 * again.
 */
static bool in_force(const struct source *source, enum entry_kind kind, const uint8_t *entry)
{
	struct member member;

	return contents_find(&source->contents, kind, entry, &member) &&
	       !packed_has(&source->kept_out, kind, entry);
}

/* @why: allocated */
static void give_reason(struct verdict *verdict, char *why, enum entry_kind kind, const uint8_t *entry)
{
	bool is_new = !packed_has(&verdict->source->kept_out, kind, entry);

	if (verdict->why && (verdict->is_new || !is_new)) {
		free(why);
		return;
	}
	free(verdict->why);
	verdict->why = why;
	verdict->is_new = is_new;
	verdict->named.kind = kind;
	memcpy(verdict->named.entry, entry, entry_size[kind]);
}

static enum entry_kind host_of(const struct machine_address *address)
{
	return address->family == IPCUCKOO_FAMILY_INET ? ENTRY_HOST4 : ENTRY_HOST6;
}

/* Refuse the entries that have an address, but for those to which somebody agreed. */
static int refuse_covering(struct verdict *verdict, const struct contents *contents,
			   const struct machine_address *address)
{
	const struct packed *agreed = &verdict->source->agreed;
	bool v6 = address->family == IPCUCKOO_FAMILY_INET6;
	unsigned int len = v6 ? 128 : 32;
	char name[ADDRESS_TEXT_SIZE], text[ADDRESS_TEXT_SIZE];
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	struct member member;
	enum entry_kind kind;
	int err = 0;

	*entry_format(name, host_of(address), address->address) = '\0';
	for (; !err; len--) {
		kind = entry_prefix(v6, address->address, len, entry);
		if (contents_find(contents, kind, entry, &member) && !packed_has(agreed, kind, entry)) {
			*entry_format(text, kind, entry) = '\0';
			give_reason(verdict, is_net(kind) ?
				    need_text("%s has %s, %s", text, name, address->what) :
				    need_text("%s is %s", name, address->what), kind, entry);
			err = packed_add(&verdict->refused, kind, entry);
		}
		if (!len)
			break;
	}
	return err;
}

/* The addresses that the machine needs */
struct needed {
	struct machine_address *addresses;
	size_t count;
};

static struct needed read_needed(void)
{
	struct needed needed;

	needed.count = machine_addresses(&needed.addresses);
	return needed;
}

/* Refuse what would drop addresses that the machine needs, unless an exception keeps them. Packets
 * of loopback devices are not dropped.
 */
static void check_addresses(struct verdict *verdict, const struct contents *contents,
			    const struct needed *needed)
{
	const struct packed *exceptions = &verdict->source->target->exceptions;
	const struct machine_address *address;
	size_t i;

	for (i = 0; i < needed->count; i++) {
		address = &needed->addresses[i];
		if (!address->loopback &&
		    !packed_covers(exceptions, host_of(address), address->address))
			need_memory(refuse_covering(verdict, contents, address));
	}
	packed_unique(&verdict->refused);
}

/* The same for the addresses of this moment */
static void check_machine(struct verdict *verdict, const struct contents *contents)
{
	struct needed needed = read_needed();

	check_addresses(verdict, contents, &needed);
	free(needed.addresses);
}

/* Refuse the widest entry of a family, and all that are as wide: none of these is better. */
static int refuse_widest(struct verdict *verdict, const struct packed *entries,
			 struct entry_ref widest)
{
	unsigned int bytes = entry_size[widest.kind] - 1;
	struct entry_ref ref = { .kind = widest.kind };
	const uint8_t *entry, *most = entry_at(entries, widest);
	int err = 0;

	for (; ref.index < entries->kind[ref.kind].count && !err; ref.index++) {
		entry = entry_at(entries, ref);
		if (!is_net(ref.kind) || entry[bytes] <= most[bytes])
			err = packed_add(&verdict->refused, ref.kind, entry);
	}
	packed_unique(&verdict->refused);
	return err;
}

/* What the sources of a set have together, but for those that are left out. */
static struct packed collect(const struct target *target)
{
	struct packed entries = { 0 }, rest = { 0 };

	need_memory(merged_collect(target, true, &entries));
	need_memory(packed_without(&entries, &target->exceptions, &rest));
	packed_free(&entries);
	return rest;
}

/* The same without those of the source that are not in @next; NULL: with all of them. */
static struct packed collect_staying(const struct source *source, const struct contents *next)
{
	struct target others = *source->target;
	struct contents_cursor cursor = { 0 };
	struct member member;
	struct packed rest;
	size_t i;

	if (!next)
		return collect(source->target);
	others.sources = need_zeros(others.source_count * sizeof(*others.sources));
	others.source_count = 0;
	for (i = 0; i < source->target->source_count; i++)
		if (source->target->sources[i] != source)
			others.sources[others.source_count++] = source->target->sources[i];
	rest = collect(&others);
	free(others.sources);
	while (contents_next(next, &cursor, &member))
		if (in_force(source, member.kind, member.entry))
			need_memory(packed_add(&rest, member.kind, member.entry));
	packed_unique(&rest);
	return rest;
}

static char *text_excess(const struct target *target, const struct packed *entries,
			 const struct exposure_excess *excess, bool total)
{
	char text[EXPOSURE_TEXT_SIZE];

	exposure_text(entries, excess, text);
	if (!total)
		return need_copy(text);
	/* The rest of the text says what one change may add. */
	*strchrnul(text, ';') = '\0';
	return need_text("%s; max-total%s leaves only %llu for it in [set %s]", text,
			 excess->family == EXPOSURE_V6 ? "6" : "", (unsigned long long)excess->most,
			 target->name);
}

/* Refuse the widest of @fresh until the rest covers no more than @most of what @there does not. */
static void refuse_excess(struct verdict *verdict, const struct packed *fresh,
			  const struct packed *there, const struct exposure *most, bool total)
{
	struct exposure_excess excess;
	struct packed rest = { 0 };
	int over;

	for (;;) {
		need_memory(packed_missing(fresh, &verdict->refused, &rest));
		over = exposure_check(&rest, there, most, &excess);
		if (over <= 0)
			break;
		give_reason(verdict, text_excess(verdict->source->target, &rest, &excess, total),
			    excess.widest.kind, entry_at(&rest, excess.widest));
		need_memory(refuse_widest(verdict, &rest, excess.widest));
		packed_free(&rest);
	}
	need_memory(over);
	packed_free(&rest);
}

static struct exposure spare_of(const struct target *target, const struct packed *there)
{
	struct exposure spare = exposure_of_lengths(target->max_total, target->max_total6);
	struct exposure size = exposure_measure(there);
	int i;

	for (i = 0; i < EXPOSURE_FAMILIES; i++)
		spare.size[i] -= size.size[i] < spare.size[i] ? size.size[i] : spare.size[i];
	return spare;
}

/* Refuse what one change may not add. What was too much before stays so, whatever comes with it the next
 * time, until the configuration allows more.
 */
static void check_growth(struct verdict *verdict, const struct packed *fresh)
{
	const struct target *target = verdict->source->target;
	const struct exposure most = exposure_of_lengths(target->max_growth, target->max_growth6);
	const struct packed *too_much = &verdict->source->too_much;
	struct packed there = { 0 }, before = { 0 };
	struct exposure size = exposure_bound(fresh);
	char text[ADDRESS_TEXT_SIZE];
	struct entry_ref ref;

	need_memory(packed_append(&before, &verdict->refused));
	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++) {
		for (ref.index = 0; ref.index < too_much->kind[ref.kind].count; ref.index++) {
			if (!packed_has(fresh, ref.kind, entry_at(too_much, ref)))
				continue;
			give_reason(verdict, need_text("%s was more than max-growth allows one change to add",
						       entry_text(too_much, ref, text)),
				    ref.kind, entry_at(too_much, ref));
			need_memory(packed_add(&verdict->refused, ref.kind, entry_at(too_much, ref)));
		}
	}
	packed_unique(&verdict->refused);
	if (exposure_exceeds(&size, &most) >= 0) {
		there = collect(target);
		refuse_excess(verdict, fresh, &there, &most, false);
		packed_free(&there);
	}
	need_memory(packed_missing(&verdict->refused, &before, &verdict->too_much));
	packed_free(&before);
}

/* Refuse what is too much of entries that are not in force yet, by max-growth and by max-total. What
 * exceptions cover never is in force. @next: the contents that the source gets; NULL: what it has stays
 */
static void check_internet(struct verdict *verdict, const struct packed *entries,
			   const struct contents *next)
{
	const struct target *target = verdict->source->target;
	struct packed fresh = { 0 }, there;
	struct exposure size, most;

	need_memory(packed_without(entries, &target->exceptions, &fresh));
	check_growth(verdict, &fresh);
	size = exposure_bound(&fresh);
	if (exposure_exceeds(&size, &target->spare) >= 0) {
		there = collect_staying(verdict->source, next);
		most = spare_of(target, &there);
		refuse_excess(verdict, &fresh, &there, &most, true);
		packed_free(&there);
	}
	packed_free(&fresh);
}

/* The source gets these contents. @whole: instead of those that it has */
static void check_contents(struct verdict *verdict, const struct contents *contents, bool whole)
{
	const struct source *source = verdict->source;
	struct contents_cursor cursor = { 0 };
	struct packed fresh = { 0 };
	struct member member;

	while (contents_next(contents, &cursor, &member))
		if (!in_force(source, member.kind, member.entry))
			need_memory(packed_add(&fresh, member.kind, member.entry));
	packed_unique(&fresh);
	check_internet(verdict, &fresh, whole ? contents : NULL);
	packed_free(&fresh);
}

char *guard_doubt(const struct source *source, const struct packed *entries, bool whole,
		  struct member *named)
{
	const struct contents contents = { .plain = *entries };
	struct verdict verdict = { .source = source };

	if (!source->target->protect)
		return NULL;
	check_machine(&verdict, &contents);
	check_contents(&verdict, &contents, whole);
	packed_free(&verdict.refused);
	packed_free(&verdict.too_much);
	*named = verdict.named;
	return verdict.why;
}

/* How much of the internet the sources of a set have together, but for those that are left out */
static struct exposure measure(const struct target *target)
{
	struct packed entries = collect(target);
	struct exposure size = exposure_measure(&entries);

	packed_free(&entries);
	return size;
}

/* The same or more, found without sorting all of the entries. */
static struct exposure measure_roughly(const struct target *target)
{
	struct exposure size, more;
	struct packed entries = { 0 };
	size_t i;
	int j;

	need_memory(merged_collect(target, false, &entries));
	size = exposure_bound(&entries);
	packed_free(&entries);
	for (i = 0; i < target->source_count; i++) {
		more = exposure_bound(&target->sources[i]->contents.plain);
		for (j = 0; j < EXPOSURE_FAMILIES; j++)
			size.size[j] += more.size[j];
	}
	return size;
}

/* What a source has of a family */
struct share {
	struct source *source;
	uint64_t size;
};

static int compare_shares(const void *a, const void *b)
{
	const struct share *one = a, *other = b;

	return (one->size < other->size) - (one->size > other->size);
}

/* The sources that have any, the largest first. Return: how many these are. */
static size_t list_shares(const struct target *target, int family, struct share *shares)
{
	struct target one = *target;
	size_t count = 0, i;

	one.source_count = 1;
	for (i = 0; i < target->source_count; i++) {
		one.sources = &target->sources[i];
		shares[count].source = target->sources[i];
		shares[count].size = measure(&one).size[family];
		count += shares[count].size > 0;
	}
	qsort(shares, count, sizeof(*shares), compare_shares);
	return count;
}

/* Leave out the sources that have the most of a family, as few as possible, so that the others have no
 * more than @most of it. Return: what the others have.
 */
static struct exposure leave_out(const struct target *target, int family, uint64_t size, uint64_t most)
{
	struct share *shares = need_zeros((target->source_count + 1) * sizeof(*shares));
	size_t count = list_shares(target, family, shares), few = 0, many = count, middle, i;
	const char *six = family == EXPOSURE_V6 ? "6" : "";
	char *why = need_text("the set gets nothing of it, which is one of the largest: all sources of [set %s] would drop %llu %s, and max-total%s allows %llu; correct it, or say what shall be allowed, such as max-total%s = 0 for any",
			      target->name, (unsigned long long)size, exposure_units[family], six,
			      (unsigned long long)most, six);
	struct exposure rest = { 0 };

	while (few < many) {
		middle = (few + many) / 2;
		for (i = 0; i < count; i++)
			shares[i].source->left_out = i < middle ? why : NULL;
		rest = measure(target);
		if (rest.size[family] > most)
			few = middle + 1;
		else
			many = middle;
	}
	for (i = 0; i < count; i++)
		shares[i].source->left_out = i < many ? need_copy(why) : NULL;
	free(why);
	free(shares);
	return measure(target);
}

/* Forget why a source was left out before. Return: whether that is otherwise now. */
static bool note_left_out(const struct source *source, char *before)
{
	bool changed = !before != !source->left_out;

	free(before);
	if (changed && source->left_out)
		log_error("[%s %s] %s", source->kind->word, source->name, source->left_out);
	else if (changed)
		log_info("[%s %s] is put into the set again", source->kind->word, source->name);
	return changed;
}

bool guard_total(struct target *target)
{
	const struct exposure most = exposure_of_lengths(target->max_total, target->max_total6);
	char **before;
	bool changed = false, complete = true;
	struct exposure size;
	int family;
	size_t i;

	target->spare = (struct exposure){ .size = { UINT64_MAX, UINT64_MAX } };
	if (!target->protect)
		return false;
	before = need_zeros((target->source_count + 1) * sizeof(*before));
	for (i = 0; i < target->source_count; i++) {
		before[i] = target->sources[i]->left_out;
		target->sources[i]->left_out = NULL;
	}
	size = measure_roughly(target);
	if (exposure_exceeds(&size, &most) >= 0)
		size = measure(target);
	while ((family = exposure_exceeds(&size, &most)) >= 0) {
		size = leave_out(target, family, size.size[family], most.size[family]);
		complete = false;
	}
	target->spare = complete ? most : size;
	exposure_take(&target->spare, &size);
	for (i = 0; i < target->source_count; i++)
		changed |= note_left_out(target->sources[i], before[i]);
	free(before);
	return changed;
}

/* The notes of a source with what is kept out, and with what was agreed to */
#define KEPT_OUT_NOTE	"kept-out"
#define AGREED_NOTE	"agreed"
#define TOO_MUCH_NOTE	"too-much"

/* What max-growth is, as the first word of the note with what it kept out */
static char *growth_text(const struct target *target)
{
	return need_text("max-growth:%llu,%llu", (unsigned long long)target->max_growth,
			 (unsigned long long)target->max_growth6);
}

/* @first: the first word; or "" */
static void note(struct source *source, const char *key, const char *first,
		 const struct packed *entries)
{
	char text[ADDRESS_TEXT_SIZE], *all = NULL;
	struct entry_ref ref;
	size_t size;
	FILE *f;

	if (!packed_count(entries)) {
		notes_set(&source->notes, key, NULL);
		return;
	}
	f = open_memstream(&all, &size);
	need_memory(!f);
	if (*first)
		fprintf(f, "%s ", first);
	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++)
		for (ref.index = 0; ref.index < entries->kind[ref.kind].count; ref.index++)
			fprintf(f, "%s ", entry_text(entries, ref, text));
	need_memory(fclose(f));
	notes_set(&source->notes, key, all);
	free(all);
}

void guard_note(struct source *source)
{
	char *growth = growth_text(source->target);

	note(source, KEPT_OUT_NOTE, "", &source->kept_out);
	note(source, AGREED_NOTE, "", &source->agreed);
	note(source, TOO_MUCH_NOTE, growth, &source->too_much);
	free(growth);
}

char *guard_text(const struct source *source)
{
	size_t count = packed_count(&source->kept_out);

	if (source->left_out)
		return need_copy(source->left_out);
	if (!count)
		return NULL;
	return need_text("%zu entr%s not put into the set: %s; if that is right, change except, max-growth, max-total or protect in [set %s] of the configuration",
			 count, count == 1 ? "y is" : "ies are", source->kept_out_why,
			 source->target->name);
}

/* Take over what is left out. @why: the reason, which is printed once as long as it stays the same;
 * NULL for that of before
 */
static void keep_out(struct source *source, struct packed *kept_out, char *why)
{
	bool same = !why || (source->kept_out_why && !strcmp(why, source->kept_out_why));
	bool had = packed_count(&source->kept_out);
	char *text;

	packed_free(&source->kept_out);
	source->kept_out = *kept_out;
	if (!same) {
		free(source->kept_out_why);
		source->kept_out_why = why;
		text = guard_text(source);
		log_error("[%s %s] %s", source->kind->word, source->name, text);
		free(text);
	} else {
		free(why);
	}
	if (packed_count(kept_out))
		return;
	if (had)
		log_info("[%s %s] none of its entries is kept out of the set any more",
			 source->kind->word, source->name);
	free(source->kept_out_why);
	source->kept_out_why = NULL;
}

void guard_agree(struct source *source, const struct packed *entries)
{
	const struct contents contents = { .plain = *entries };
	struct verdict verdict = { .source = source };

	packed_free(&source->agreed);
	check_machine(&verdict, &contents);
	source->agreed = verdict.refused;
	free(verdict.why);
}

/* Forget that somebody agreed to entries that the source has no more. */
static void forget_agreed(struct source *source, const struct contents *next)
{
	struct packed before = source->agreed;
	struct member member;
	struct entry_ref ref;

	source->agreed = (struct packed){ 0 };
	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++)
		for (ref.index = 0; ref.index < before.kind[ref.kind].count; ref.index++)
			if (contents_find(next, ref.kind, entry_at(&before, ref), &member))
				need_memory(packed_add(&source->agreed, ref.kind,
						       entry_at(&before, ref)));
	packed_free(&before);
}

void guard_deliver(struct source *source, const struct contents *next)
{
	const struct source_kind *kind = source->kind;
	struct verdict verdict = { .source = source };

	forget_agreed(source, next);
	if (source->target->protect && !kind->doubts) {
		check_machine(&verdict, next);
		if (!kind->limits)
			check_contents(&verdict, next, true);
	}
	packed_free(&source->too_much);
	source->too_much = verdict.too_much;
	keep_out(source, &verdict.refused, verdict.why);
}

/* The last change of an entry counts. */
void guard_change(struct source *source, const struct source_change *changes, size_t count)
{
	struct packed fresh = { 0 }, changed = { 0 }, left = { 0 }, too_much = { 0 };
	struct verdict verdict = { .source = source };
	struct contents seen = { 0 }, next = { 0 };
	const struct member *member;
	struct member there;

	if (!source->target->protect)
		return;
	while (count--) {
		member = &changes[count].member;
		if (contents_find(&seen, member->kind, member->entry, &there))
			continue;
		need_memory(contents_add(&seen, member));
		need_memory(packed_add(&changed, member->kind, member->entry));
		if (!changes[count].del && !in_force(source, member->kind, member->entry))
			need_memory(packed_add(&fresh, member->kind, member->entry));
	}
	packed_unique(&fresh);
	packed_unique(&changed);
	next.plain = fresh;
	if (packed_count(&fresh))
		check_machine(&verdict, &next);
	if (!source->kind->limits)
		check_internet(&verdict, &fresh, NULL);
	need_memory(packed_missing(&source->too_much, &changed, &too_much));
	need_memory(packed_append(&too_much, &verdict.too_much));
	packed_unique(&too_much);
	packed_free(&source->too_much);
	source->too_much = too_much;
	/* What did not change stays left out. */
	need_memory(packed_missing(&source->kept_out, &changed, &left));
	need_memory(packed_append(&left, &verdict.refused));
	packed_unique(&left);
	if (verdict.why || packed_count(&left) != packed_count(&source->kept_out))
		keep_out(source, &left, verdict.why);
	else
		packed_free(&left);
	packed_free(&fresh);
	packed_free(&changed);
	packed_free(&verdict.refused);
	packed_free(&verdict.too_much);
	contents_free(&seen);
}

/* The addresses that the machine needed when guard_look() looked last */
static struct needed needed;

bool guard_look(void)
{
	struct needed before = needed;
	struct packed old = { 0 }, now = { 0 }, different = { 0 };
	bool changed;
	size_t i;

	needed = read_needed();
	for (i = 0; i < before.count; i++)
		need_memory(packed_add(&old, host_of(&before.addresses[i]), before.addresses[i].address));
	for (i = 0; i < needed.count; i++)
		need_memory(packed_add(&now, host_of(&needed.addresses[i]), needed.addresses[i].address));
	packed_unique(&old);
	packed_unique(&now);
	need_memory(packed_missing(&old, &now, &different));
	need_memory(packed_missing(&now, &old, &different));
	changed = packed_count(&different);
	packed_free(&old);
	packed_free(&now);
	packed_free(&different);
	free(before.addresses);
	return changed;
}

bool guard_follow(struct source *source)
{
	struct verdict verdict = { .source = source };
	size_t before = packed_count(&source->kept_out);
	struct packed kept_out = { 0 }, allowed = { 0 };
	bool same;

	if (!source->target->protect)
		return false;
	check_addresses(&verdict, &source->contents, &needed);
	/* What is kept out counts as new. */
	need_memory(packed_append(&kept_out, &source->kept_out));
	if (!source->kind->limits)
		check_internet(&verdict, &kept_out, NULL);
	packed_free(&kept_out);
	packed_free(&source->too_much);
	source->too_much = verdict.too_much;
	need_memory(packed_missing(&source->kept_out, &verdict.refused, &allowed));
	same = !packed_count(&allowed) && packed_count(&verdict.refused) == before;
	packed_free(&allowed);
	/* The source that has just started has no reason yet. */
	if (same && (!before || source->kept_out_why)) {
		packed_free(&verdict.refused);
		free(verdict.why);
		return false;
	}
	keep_out(source, &verdict.refused, verdict.why);
	return true;
}

static struct packed read_note(const struct source *source, const char *key)
{
	const char *text = notes_get(source->notes, key);
	struct feed feed = { .family = IPCUCKOO_FAMILY_ANY };
	char why[ADDRESS_WHY_SIZE];
	size_t len;

	for (; text && *text; text += len + !!text[len]) {
		len = strcspn(text, " ");
		if (len)
			feed_add(&feed, text, len, why);
	}
	packed_unique(&feed.entries);
	return feed.entries;
}

void guard_load(struct source *source)
{
	const char *before = notes_get(source->notes, TOO_MUCH_NOTE);
	char *growth = growth_text(source->target);

	source->agreed = read_note(source, AGREED_NOTE);
	if (source->target->protect)
		source->kept_out = read_note(source, KEPT_OUT_NOTE);
	if (source->target->protect && before && strcspn(before, " ") == strlen(growth) &&
	    !strncmp(before, growth, strlen(growth)))
		source->too_much = read_note(source, TOO_MUCH_NOTE);
	free(growth);
}

void guard_start(struct source *source)
{
	guard_follow(source);
	if (source->target->protect)
		guard_note(source);
}

void guard_free(struct source *source)
{
	packed_free(&source->kept_out);
	packed_free(&source->agreed);
	packed_free(&source->too_much);
	free(source->kept_out_why);
	free(source->left_out);
}
