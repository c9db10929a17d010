// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <unistd.h>

#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/set/guard.h"
#include "daemon/set/merged.h"
#include "lib/exposure.h"
#include "nl/machine.h"

/**
 * struct verdict - what is found out about entries
 * @source:	their source
 * @entries:	the entries, sorted; NULL: all that are in force
 * @refused:	those that are not allowed, sorted
 * @why:	the first reason, or NULL
 * @named:	the entry that it names
 */
struct verdict {
	const struct source *source;
	const struct packed *entries;
	struct packed refused;
	char *why;
	struct member named;
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

/* Take the first reason, which is allocated. */
static void give_reason(struct verdict *verdict, char *why, enum entry_kind kind, const uint8_t *entry)
{
	if (verdict->why) {
		free(why);
		return;
	}
	verdict->why = why;
	verdict->named.kind = kind;
	memcpy(verdict->named.entry, entry, entry_size[kind]);
}

static bool is_judged(const struct verdict *verdict, enum entry_kind kind, const uint8_t *entry)
{
	return verdict->entries ? packed_has(verdict->entries, kind, entry) :
				  in_force(verdict->source, kind, entry);
}

static enum entry_kind host_of(const struct machine_address *address)
{
	return address->family == IPCUCKOO_FAMILY_INET ? ENTRY_HOST4 : ENTRY_HOST6;
}

static int refuse_covering(struct verdict *verdict, const struct machine_address *address)
{
	bool v6 = address->family == IPCUCKOO_FAMILY_INET6;
	unsigned int len = v6 ? 128 : 32;
	char name[ADDRESS_TEXT_SIZE], text[ADDRESS_TEXT_SIZE];
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	enum entry_kind kind;
	int err = 0;

	*entry_format(name, host_of(address), address->address) = '\0';
	for (; !err; len--) {
		kind = entry_prefix(v6, address->address, len, entry);
		if (is_judged(verdict, kind, entry)) {
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

/* Refuse what would drop addresses that the machine needs, unless an exception keeps them. Packets
 * of loopback devices are not dropped.
 */
static int check_addresses(struct verdict *verdict, const struct machine_address *addresses,
			   size_t count)
{
	const struct packed *exceptions = &verdict->source->target->exceptions;
	size_t i;
	int err = 0;

	for (i = 0; i < count && !err; i++)
		if (!addresses[i].loopback &&
		    !packed_covers(exceptions, host_of(&addresses[i]), addresses[i].address))
			err = refuse_covering(verdict, &addresses[i]);
	packed_unique(&verdict->refused);
	return err;
}

static int check_machine(struct verdict *verdict)
{
	struct machine_address *addresses;
	size_t count = machine_addresses(&addresses);
	int err = check_addresses(verdict, addresses, count);

	free(addresses);
	return err;
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

/* Refuse the widest entries until the rest is not too much. */
static int check_internet(struct verdict *verdict)
{
	const struct target *target = verdict->source->target;
	struct exposure most = exposure_of_lengths(target->max_growth, target->max_growth6);
	struct packed rest = { 0 }, there = { 0 };
	char text[EXPOSURE_TEXT_SIZE];
	struct exposure_excess excess;
	int over = packed_missing(verdict->entries, &verdict->refused, &rest);

	if (!over)
		over = exposure_check(&rest, NULL, &most, &excess);
	if (over > 0)
		over = merged_collect(target, true, &there) ? : exposure_check(&rest, &there, &most, &excess);
	while (over > 0) {
		give_reason(verdict, need_copy(exposure_text(&rest, &excess, text)),
			    excess.widest.kind, entry_at(&rest, excess.widest));
		over = refuse_widest(verdict, &rest, excess.widest);
		packed_free(&rest);
		if (!over)
			over = packed_missing(verdict->entries, &verdict->refused, &rest);
		if (!over)
			over = exposure_check(&rest, &there, &most, &excess);
	}
	packed_free(&rest);
	packed_free(&there);
	return over;
}

/* Find out which of @entries, which are not in force, are not allowed. What exceptions cover never
 * is in force.
 */
static void judge(struct verdict *verdict, const struct packed *entries)
{
	struct packed rest = { 0 };

	need_memory(packed_without(entries, &verdict->source->target->exceptions, &rest));
	verdict->entries = &rest;
	if (packed_count(&rest)) {
		need_memory(check_machine(verdict));
		need_memory(check_internet(verdict));
	}
	verdict->entries = NULL;
	packed_free(&rest);
}

char *guard_doubt(const struct source *source, const struct packed *entries, struct member *named)
{
	struct verdict verdict = { .source = source };
	struct packed fresh = { 0 };
	struct entry_ref ref;

	if (!source->target->protect)
		return NULL;
	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++)
		for (ref.index = 0; ref.index < entries->kind[ref.kind].count; ref.index++)
			if (!in_force(source, ref.kind, entry_at(entries, ref)))
				need_memory(packed_add(&fresh, ref.kind, entry_at(entries, ref)));
	judge(&verdict, &fresh);
	packed_free(&fresh);
	packed_free(&verdict.refused);
	*named = verdict.named;
	return verdict.why;
}

/* What the sources have together, but for those that are left out. */
static struct exposure measure(const struct target *target)
{
	struct packed entries = { 0 }, rest = { 0 };
	struct exposure size;

	need_memory(merged_collect(target, true, &entries));
	need_memory(packed_without(&entries, &target->exceptions, &rest));
	size = exposure_measure(&rest);
	packed_free(&entries);
	packed_free(&rest);
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

static struct source *find_largest(const struct target *target, int family)
{
	struct source *largest = NULL;
	struct target one = *target;
	struct exposure size;
	uint64_t most = 0;
	size_t i;

	one.source_count = 1;
	for (i = 0; i < target->source_count; i++) {
		one.sources = &target->sources[i];
		size = measure(&one);
		if (size.size[family] <= most)
			continue;
		most = size.size[family];
		largest = target->sources[i];
	}
	return largest;
}

static void leave_out(const struct target *target, int family, uint64_t size, uint64_t most)
{
	struct source *source = find_largest(target, family);

	source->left_out = need_text("the set gets nothing of it: all sources of [set %s] would drop %llu %s, of which it has the most; max-total%s allows %llu; correct it, or say what shall be allowed, such as max-total%s = 0 for any",
				     target->name, (unsigned long long)size,
				     exposure_units[family], family == EXPOSURE_V6 ? "6" : "",
				     (unsigned long long)most, family == EXPOSURE_V6 ? "6" : "");
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
	for (; (family = exposure_exceeds(&size, &most)) >= 0; size = measure(target)) {
		leave_out(target, family, size.size[family], most.size[family]);
		complete = false;
	}
	target->spare = complete ? most : size;
	exposure_take(&target->spare, &size);
	for (i = 0; i < target->source_count; i++)
		changed |= note_left_out(target->sources[i], before[i]);
	free(before);
	return changed;
}

char *guard_note(const struct source *source)
{
	char text[ADDRESS_TEXT_SIZE], *all = NULL;
	struct entry_ref ref;
	size_t size;
	FILE *f;

	if (!packed_count(&source->kept_out))
		return NULL;
	f = open_memstream(&all, &size);
	need_memory(!f);
	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++)
		for (ref.index = 0; ref.index < source->kept_out.kind[ref.kind].count; ref.index++)
			fprintf(f, "%s ", entry_text(&source->kept_out, ref, text));
	need_memory(fclose(f));
	return all;
}

char *guard_text(const struct source *source)
{
	size_t count = packed_count(&source->kept_out);

	if (source->left_out)
		return need_copy(source->left_out);
	if (!count)
		return NULL;
	return need_text("%zu entr%s not put into the set: %s; if that is right, name it in except, or say max-growth = 0 or protect = no in [set %s] of the configuration",
			 count, count == 1 ? "y is" : "ies are", source->kept_out_why,
			 source->target->name);
}

/* Take over what is left out. @why: the reason, which is printed once as long as it stays the same;
 * NULL for that of before
 */
static void keep_out(struct source *source, struct packed *kept_out, char *why)
{
	bool same = !why || (source->kept_out_why && !strcmp(why, source->kept_out_why));
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
	free(source->kept_out_why);
	source->kept_out_why = NULL;
}

static bool is_guarded(const struct source *source)
{
	return source->target->protect && !source->kind->judges;
}

void guard_deliver(struct source *source, const struct contents *next)
{
	struct verdict verdict = { .source = source };
	struct contents_cursor cursor = { 0 };
	struct packed fresh = { 0 };
	struct member member;

	if (is_guarded(source)) {
		while (contents_next(next, &cursor, &member))
			if (!in_force(source, member.kind, member.entry))
				need_memory(packed_add(&fresh, member.kind, member.entry));
		packed_unique(&fresh);
		judge(&verdict, &fresh);
		packed_free(&fresh);
	}
	keep_out(source, &verdict.refused, verdict.why);
}

/* The last change of an entry counts. */
void guard_change(struct source *source, const struct source_change *changes, size_t count)
{
	struct packed fresh = { 0 }, changed = { 0 }, left = { 0 };
	struct verdict verdict = { .source = source };
	struct contents seen = { 0 };
	const struct member *member;
	struct member there;

	if (!is_guarded(source))
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
	judge(&verdict, &fresh);
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
	contents_free(&seen);
}

void guard_start(struct source *source, const char *text)
{
	struct feed feed = { .family = IPCUCKOO_FAMILY_ANY };
	struct verdict verdict = { .source = source };
	char why[ADDRESS_WHY_SIZE];
	size_t len;

	if (!text || !source->target->protect)
		return;
	for (; *text; text += len + !!text[len]) {
		len = strcspn(text, " ");
		if (len)
			feed_add(&feed, text, len, why);
	}
	packed_unique(&feed.entries);
	/* Not in force yet, so that they count as new. */
	source->kept_out = feed.entries;
	judge(&verdict, &feed.entries);
	keep_out(source, &verdict.refused, verdict.why);
}

/* The addresses that the machine needed when guard_look() looked last, also in an earlier run; and
 * those that it had not needed then.
 */
static struct packed known;
static bool are_known;
static struct machine_address *added;
static size_t added_count;

static char *addresses_path(const struct daemon *daemon, const char *ending)
{
	return need_text("%s/addresses%s", daemon->state_dir, ending);
}

/* What an earlier run knew; nothing if there was none. */
static void load_known(const struct daemon *daemon)
{
	struct feed feed = { .family = IPCUCKOO_FAMILY_ANY };
	char *path = addresses_path(daemon, "");
	struct feed_fault fault;

	are_known = !feed_read(&feed, path, &fault);
	known = feed.entries;
	packed_unique(&known);
	free(path);
}

/* If this fails, the next run takes the addresses for those of before. */
static void store_known(const struct daemon *daemon)
{
	char *path = addresses_path(daemon, ""), *temporary = addresses_path(daemon, ".new");
	char text[ADDRESS_TEXT_SIZE];
	struct entry_ref ref;
	FILE *f = fopen(temporary, "we");

	for (ref.kind = 0; f && ref.kind < ENTRY_KINDS; ref.kind++)
		for (ref.index = 0; ref.index < known.kind[ref.kind].count; ref.index++)
			fprintf(f, "%s\n", entry_text(&known, ref, text));
	if (!f || fclose(f) || rename(temporary, path))
		unlink(temporary);
	free(temporary);
	free(path);
}

bool guard_look(const struct daemon *daemon)
{
	struct packed now = { 0 }, gone = { 0 };
	size_t count, i;
	bool changed;

	if (!are_known && daemon->state_dir)
		load_known(daemon);
	free(added);
	count = machine_addresses(&added);
	added_count = 0;
	for (i = 0; i < count; i++) {
		need_memory(packed_add(&now, host_of(&added[i]), added[i].address));
		if (are_known && !packed_has(&known, host_of(&added[i]), added[i].address))
			added[added_count++] = added[i];
	}
	packed_unique(&now);
	need_memory(packed_missing(&known, &now, &gone));
	changed = added_count || packed_count(&gone);
	packed_free(&gone);
	packed_free(&known);
	known = now;
	if (daemon->state_dir && (changed || !are_known))
		store_known(daemon);
	are_known = true;
	return changed;
}

bool guard_follow(struct source *source)
{
	struct verdict verdict = { .source = source };
	struct packed kept_out = { 0 };
	size_t before = packed_count(&source->kept_out), again;
	char *why;

	if (!source->target->protect)
		return false;
	need_memory(packed_append(&kept_out, &source->kept_out));
	judge(&verdict, &kept_out);
	packed_free(&kept_out);
	again = packed_count(&verdict.refused);
	why = verdict.why;
	verdict.why = NULL;
	/* What is in force was allowed, but for the new addresses. */
	need_memory(check_addresses(&verdict, added, added_count));
	if (verdict.why)
		free(why);
	else
		verdict.why = why;
	if (again == before && packed_count(&verdict.refused) == again) {
		packed_free(&verdict.refused);
		free(verdict.why);
		return false;
	}
	keep_out(source, &verdict.refused, verdict.why);
	return true;
}

void guard_free(struct source *source)
{
	packed_free(&source->kept_out);
	free(source->kept_out_why);
	free(source->left_out);
}
