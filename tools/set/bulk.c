// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel applies a message completely, or not at all, and most changes are one
 * message. A larger change is collected in a shadow, which is then committed. The commit
 * fails if someone has changed the set since the shadow was created; then everything
 * starts again.
 */
#include "cli/hint.h"
#include "cli/host.h"
#include "cli/output.h"
#include "lib/feed.h"
#include "nl/shadow.h"
#include "set/bulk.h"
#include "set/filter.h"
#include "set/guard.h"
#include "set/mask.h"

int bulk_read_entry(const struct tool *tool, struct feed *feed, const char *word,
		    char why[ADDRESS_WHY_SIZE])
{
	int err = feed_add(feed, word, strlen(word), why);
	char text[HOST_TEXT_SIZE];

	if (err != -EINVAL || !host_resolve(tool, word, feed->family, text))
		return err;
	return feed_add(feed, text, strlen(text), why);
}

/* If the text after the slash is not a prefix length, print ipset's message. Return:
 * whether the message was printed.
 */
static bool fail_prefix_len(const struct tool *tool, const char *word)
{
	const char *slash = strchr(word, '/');
	struct address_range range;
	char why[ADDRESS_WHY_SIZE], quoted[64];

	if (!slash || !slash[1] || strchr(slash, '-') ||
	    address_parse(word, slash - word, &range, why) ||
	    !address_parse(word, strlen(word), &range, why))
		return false;
	address_quote(quoted, sizeof(quoted), slash + 1, strlen(slash + 1));
	if (!slash[1 + strspn(slash + 1, "0123456789")])
		fail_syntax(tool, "'%s' is out of range 0-%u (%s)", quoted,
			    range.family == IPCUCKOO_FAMILY_INET ? 32 : 128, why);
	else
		fail_syntax(tool, "'%s' is invalid as number (%s)", quoted, why);
	return true;
}

/* If a bracket around a host name is not closed, or is followed by anything but a range or
 * a prefix length, print ipset's message. Return: whether the message was printed.
 */
static bool fail_bracket(const struct tool *tool, const char *word,
			 const char *quoted)
{
	const char *end = strchr(word, ']');

	if (*word != '[')
		return false;
	if (!end)
		fail_syntax(tool, "cannot find closing escape character ']' in %s",
			    quoted);
	else if (end[1] && end[1] != '-' && end[1] != '/')
		fail_syntax(tool, "range separator expected after '%.*s'",
			    (int)(end + 1 - word), quoted);
	else
		return false;
	return true;
}

/* Print ipset's message for a word that is no entry, with the reason in parentheses.
 * Return: STATUS_SYNTAX.
 */
int bulk_fail_entry(const struct tool *tool, const struct nl_set *set,
		    const char *word, const char *why)
{
	char quoted[64];

	address_quote(quoted, sizeof(quoted), word, strlen(word));
	if (strchr(word, ','))
		return fail_syntax(tool,
				   "Elem separator in %s, but settype %s supports none. Write blanks between entries.",
				   quoted, meaning_word(type_words, set->type));
	if (fail_prefix_len(tool, word) || fail_bracket(tool, word, quoted))
		return STATUS_SYNTAX;
	return fail_syntax(tool, "cannot parse %s: resolving to %s address failed (%s)%s",
			   quoted, set->family == IPCUCKOO_FAMILY_ANY ? "any" :
			   set->family == IPCUCKOO_FAMILY_INET6 ? "IPv6" : "IPv4",
			   why, entry_hint(tool->command, word));
}

uint64_t bulk_expand_limit(const struct nl_set *set, bool expand)
{
	if (expand || set->maxelem > FEED_EXPAND_MOST)
		return FEED_EXPAND_MOST;
	return set->maxelem > FEED_EXPAND_LIMIT ? set->maxelem : FEED_EXPAND_LIMIT;
}

void bulk_sort(const struct nl_set *set, struct packed *entries)
{
	mask_hosts(set, entries);
	packed_sort(entries);
	if (!is_multi(set))
		packed_dedup(entries);
}

int bulk_read(struct tool *tool, const struct nl_set *set, char **word,
	      int count, const bool *expand, struct packed *entries)
{
	struct feed feed = {
		.family = set->family,
		.hosts_only = set->type != IPCUCKOO_TYPE_HASH_NET,
		.expand_limit = bulk_expand_limit(set, expand && *expand),
		.has_expand = expand,
	};
	char why[ADDRESS_WHY_SIZE];
	int err, i;

	for (i = 0; i < count; i++) {
		if (i && host_looks_like_keyword(word[i])) {
			feed_free(&feed);
			return fail_unknown(tool, word[i]);
		}
		err = bulk_read_entry(tool, &feed, word[i], why);
		if (!err)
			continue;
		feed_free(&feed);
		return bulk_fail_entry(tool, set, word[i], why);
	}
	bulk_sort(set, &feed.entries);
	*entries = feed.entries;
	return STATUS_OK;
}

static int fail_added(const struct bulk *bulk, const char *text)
{
	return fail(bulk->tool, STATUS_REFUSED,
		    "Element cannot be added to the set: it's already added%s (%s, set %s; -exist accepts that)",
		    bulk->approximate ?
		    ", or has the fingerprint of one that is" : "", text,
		    bulk->set);
}

static int fail_not_added(const struct bulk *bulk, const char *text)
{
	return fail(bulk->tool, STATUS_NO,
		    "Element cannot be deleted from the set: it's not added (%s, set %s; -exist accepts that)",
		    text, bulk->set);
}

/* Print how full a filter is that cannot take more entries. */
static int fail_filter_full(const struct bulk *bulk, const char *text)
{
	const struct tool *tool = bulk->tool;
	struct nl_set set;
	uint32_t room;

	if (nl_set_get(tool->nl, bulk->set, &set))
		return fail_kernel(tool, bulk->set, "cannot read the set %s",
				   bulk->set);
	room = filter_room(&set);
	if (set.entries >= room)
		return fail(tool, STATUS_REFUSED,
			    "%s cannot be added to the set %s: it is full, with %u entries, at a load factor of %.3f; make a larger one",
			    text, bulk->set, set.entries,
			    (double)set.entries / set.slots);
	return fail(tool, STATUS_REFUSED,
		    "%s cannot be added to the set %s: it has %u entries and room for %u, a load factor of %.3f; make a larger one",
		    text, bulk->set, set.entries, room, (double)room / set.slots);
}

/* Print why the kernel refused a change, and which entry caused it, if known. */
static int fail_refused(const struct bulk *bulk, bool add)
{
	const struct nl_error *error = nl_error(bulk->tool->nl);
	char text[ADDRESS_TEXT_SIZE];
	struct entry_ref ref;
	bool known = nl_error_entry(bulk->tool->nl, bulk->entries, &ref);

	if (known)
		entry_text(bulk->entries, ref, text);
	else
		strcpy(text, "One of the elements");
	if (error->code == -EEXIST && add)
		return fail_added(bulk, text);
	if (error->code == -ENOENT && !add &&
	    error->attribute != IPCUCKOO_A_SET)
		return fail_not_added(bulk, text);
	if (error->code == -ENOSPC && !bulk->approximate)
		return fail(bulk->tool, STATUS_REFUSED,
			    "Hash is full, cannot add more elements (%s, set %s; ipcuckoo change %s maxelem N raises its limit)",
			    known ? text : "all of them", bulk->set, bulk->set);
	if (error->code == -ENOSPC)
		return fail_filter_full(bulk, known ? text : "All of the elements");
	if (!known)
		return fail_kernel(bulk->tool, bulk->set,
				   "cannot change the set %s", bulk->set);
	return fail_kernel(bulk->tool, bulk->set,
			   "%s cannot be %s the set %s", text,
			   add ? "added to" : "deleted from", bulk->set);
}

/* How many of the entries have been sent: @extended if they have extensions (bulk->value),
 * else @cursor.
 */
struct place {
	struct nl_cursor cursor;
	struct nl_extended extended;
};

/* Delete the shadow of a failed change, so that it does not stay while "-" runs more
 * commands. nl_error() still returns the error of the change. Return: @err.
 */
static int drop_shadow(struct bulk *bulk, uint32_t shadow, int err)
{
	const struct nl_error error = *nl_error(bulk->tool->nl);

	nl_shadow_del(bulk->tool->nl, shadow);
	nl_set_error(bulk->tool->nl, &error);
	return err;
}

static int add_some(struct bulk *bulk, uint32_t shadow, struct place *place,
		    struct nl_change *change)
{
	struct nl *nl = bulk->tool->nl;

	return bulk->value ?
	       nl_extended_add(nl, NULL, shadow, &place->extended, 0, change) :
	       nl_shadow_add(nl, shadow, bulk->entries, &place->cursor, change);
}

static int remove_some(struct bulk *bulk, uint32_t shadow, struct place *place,
		       struct nl_change *change)
{
	return nl_shadow_remove(bulk->tool->nl, shadow, bulk->entries,
				&place->cursor,
				bulk->tool->exist ? IPCUCKOO_F_EXIST : 0, change);
}

static void fill_guard_set(const struct bulk *bulk, enum bulk_kind kind, struct guard_set *set)
{
	set->kind = bulk->kind;
	if (kind == BULK_DEL)
		set->out = bulk->entries;
	else if (bulk->value && bulk->value->nomatch)
		set->holes = bulk->entries;
	else
		set->in = bulk->entries;
	if (kind == BULK_LOAD && !bulk->append)
		set->name[0] = '\0';
	set->where = bulk->where;
	set->data = bulk;
}

struct bulk_change {
	const struct bulk *bulk;
	enum bulk_kind kind;
};

static void becomes(const void *data, const char *name, struct guard_set *set)
{
	const struct bulk_change *change = data;

	if (!strcmp(name, change->bulk->set))
		fill_guard_set(change->bulk, change->kind, set);
}

int bulk_guard(const struct bulk *bulk, enum bulk_kind kind, const struct nl_attachment *attach)
{
	const struct bulk_change data = { .bulk = bulk, .kind = kind };
	struct guard_attach made = { .attachment = attach };
	struct guard_change change = { .becomes = becomes, .data = &data };

	if (attach) {
		strcpy(made.set.name, bulk->set);
		fill_guard_set(bulk, kind, &made.set);
		change.attach = &made;
		change.count = 1;
	} else if (!bulk->kind->attachments) {
		return STATUS_OK;
	}
	return guard(bulk->tool, &change);
}

/* Create a shadow with @flags, and change it with @some, message by message. Return: 0,
 * or a negative errno; the shadow has been deleted then.
 */
static int begin_shadow(struct bulk *bulk, uint32_t flags, uint32_t *shadow,
			int (*some)(struct bulk *bulk, uint32_t shadow,
				    struct place *place, struct nl_change *change))
{
	static const struct packed none;
	struct place place = {
		.extended = { .entries = &bulk->extended, .options = bulk->extensions },
	};
	size_t all = packed_count(bulk->entries), done = 0;
	struct nl_change change;
	int more;

	bulk->change.changed = 0;
	bulk->change.unchanged = 0;
	more = nl_shadow_new(bulk->tool->nl, bulk->set,
			     some == add_some ? bulk->entries : &none, flags, shadow);
	if (more || !all)
		return more;
	do {
		more = some(bulk, *shadow, &place, &change);
		if (more < 0)
			return drop_shadow(bulk, *shadow, more);
		bulk->change.changed += change.changed;
		bulk->change.unchanged += change.unchanged;
		done += change.changed + change.unchanged;
		if (bulk->progress)
			bulk->progress(bulk->progress_data, done, all);
	} while (more);
	return 0;
}

/* Commit a shadow, or delete it if that fails. Return: 0 or a negative errno. */
static int commit_shadow(struct bulk *bulk, uint32_t shadow)
{
	struct nl *nl = bulk->tool->nl;
	struct nl_change change;
	int err;

	err = nl_shadow_commit(nl, shadow,
			       bulk->override ? IPCUCKOO_F_OVERRIDE : 0,
			       &change);
	if (err)
		return drop_shadow(bulk, shadow, err);
	bulk->change.entries = change.entries;
	return 0;
}

static int try_load(struct bulk *bulk)
{
	uint32_t shadow;
	int err;

	err = begin_shadow(bulk, bulk->append ? IPCUCKOO_F_APPEND : 0, &shadow,
			   add_some);
	return err ? err : commit_shadow(bulk, shadow);
}

/* Call @try, again as long as it fails because others have changed the set, up to
 * NL_ATTEMPTS times. @try returns 0, a negative errno, or a status after a message.
 */
static int try_often(struct bulk *bulk, int (*try)(struct bulk *bulk), bool add,
		     const char *advice)
{
	int err;

	for (bulk->restarts = 0; bulk->restarts < NL_ATTEMPTS; bulk->restarts++) {
		err = try(bulk);
		if (err != -ESTALE)
			return err < 0 ? fail_refused(bulk, add) : err;
	}
	return fail(bulk->tool, STATUS_REFUSED,
		    "others kept changing the set %s, %d times in a row; nothing was changed (%s)",
		    bulk->set, NL_ATTEMPTS, advice);
}

/**
 * bulk_load - replace the entries of a set, or add to them, with a shadow
 * @bulk:	the change
 *
 * Entries that exist already are no error; bulk->change.unchanged counts them.
 *
 * Return: a status, after a message if it is not STATUS_OK.
 */
int bulk_load(struct bulk *bulk)
{
	return try_often(bulk, try_load, true,
			 "try again, or use --override to discard what they change");
}

/* Add more entries than fit into a message: to a shadow that begins with the entries of
 * the set, and commit it. A shadow accepts entries that exist already; without -exist,
 * drop the shadow if there were any, and fail. Return: as @try of try_often().
 */
static int try_add(struct bulk *bulk)
{
	struct tool *tool = bulk->tool;
	uint32_t shadow;
	int err;

	err = begin_shadow(bulk, IPCUCKOO_F_APPEND, &shadow, add_some);
	if (!err && bulk->change.unchanged && !tool->exist) {
		nl_shadow_del(tool->nl, shadow);
		err = -EEXIST;
	} else if (!err) {
		err = commit_shadow(bulk, shadow);
	}
	if (err != -EEXIST)
		return err;
	return fail(tool, STATUS_REFUSED,
		    "Element cannot be added to the set: it's already added (%u of %zu, set %s; nothing was changed; -exist accepts that)",
		    bulk->change.unchanged, packed_count(bulk->entries), bulk->set);
}

static bool is_one_message(const struct bulk *bulk)
{
	return bulk->value ? nl_extended_fits(&bulk->extended) : nl_fits(bulk->entries);
}

static int add_message(struct bulk *bulk)
{
	struct nl_extended extended = { .entries = &bulk->extended, .options = bulk->extensions };
	uint32_t flags = bulk->tool->exist ? IPCUCKOO_F_EXIST : 0;
	struct nl *nl = bulk->tool->nl;

	return bulk->value ?
	       nl_extended_add(nl, bulk->set, 0, &extended, flags, &bulk->change) :
	       nl_entry_add(nl, bulk->set, bulk->entries, flags, &bulk->change);
}

static int add(struct bulk *bulk)
{
	if (bulk->value &&
	    extended_add_packed(&bulk->extended, bulk->entries, bulk->value))
		return fail_memory(bulk->tool);
	if (is_one_message(bulk))
		return add_message(bulk) ? fail_refused(bulk, true) : STATUS_OK;
	return try_often(bulk, try_add, true, "try again");
}

/**
 * bulk_add - add entries to a set
 * @bulk:	the change
 *
 * An entry that exists already is an error, unless the run has -exist.
 *
 * Return: a status, after a message if it is not STATUS_OK.
 */
int bulk_add(struct bulk *bulk)
{
	int status = add(bulk);

	extended_free(&bulk->extended);
	return status;
}

/* Delete more entries than fit into a message: from a shadow, which is committed if it
 * has changed.
 */
static int try_del(struct bulk *bulk)
{
	uint32_t shadow;
	int err;

	err = begin_shadow(bulk, IPCUCKOO_F_APPEND, &shadow, remove_some);
	if (err || bulk->change.changed)
		return err ? err : commit_shadow(bulk, shadow);
	return nl_shadow_del(bulk->tool->nl, shadow);
}

/**
 * bulk_del - delete entries from a set
 * @bulk:	the change
 *
 * An entry that does not exist is an error, unless the run has -exist.
 *
 * Return: a status, after a message if it is not STATUS_OK.
 */
int bulk_del(struct bulk *bulk)
{
	struct tool *tool = bulk->tool;
	int err;

	if (nl_fits(bulk->entries)) {
		err = nl_entry_del(tool->nl, bulk->set, bulk->entries,
				   tool->exist ? IPCUCKOO_F_EXIST : 0,
				   &bulk->change);
		return err ? fail_refused(bulk, false) : STATUS_OK;
	}
	return try_often(bulk, try_del, false, "try again");
}

void bulk_print_json(const char *set, const char *done, const struct nl_change *change)
{
	struct json_object *object = json_object_new_object();

	json_add_string(object, "set", set);
	json_add_uint(object, done, change->changed);
	json_add_uint(object, "unchanged", change->unchanged);
	json_print(object);
}
