// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "daemon/base/log.h"
#include "daemon/base/memory.h"
#include "daemon/set/kernel.h"
#include "nl/commit.h"
#include "nl/shadow.h"

/* Entries that are handed to the kernel at once: a message is full of IPv4 hosts, and holds fewer
 * of others.
 */
#define CHUNK	16384

/* ipcuckoo-upgrade holds a lock on this file while it runs. */
#define UPGRADE_LOCK	"/run/ipcuckoo-upgrade"

/* The name that a new set has in the request that swaps it with an old one. Names of sets in the
 * configuration have no "~".
 */
#define NEW_SET	"ipcuckood~new"

static char *explain(int code, const struct nl_error *error, const char *set)
{
	char reason[KERNEL_REASON_SIZE];

	switch (code) {
	case -ENOPROTOOPT:
	case -EPROTONOSUPPORT:
		return need_text("the kernel module is not loaded; run: modprobe ipcuckoo");
	case -EPERM:
	case -EACCES:
		return need_text("the kernel refuses it: ipcuckood needs CAP_NET_ADMIN; start it by its unit, or as root");
	case -ENOSPC:
		return need_text("the set is full; raise maxelem in the configuration, and run: ipcuckoo change %s maxelem N",
				 set);
	}
	if (!error || error->code != code)
		return need_text("cannot talk to the kernel: %s", strerror(-code));
	kernel_reason(error, set, reason, sizeof(reason));
	return need_text("the kernel refuses it: %s", reason);
}

/* Why the last request failed. If the connection is of no use any more, close it. */
static char *why_failed(struct target *target, int code)
{
	struct daemon *daemon = target->daemon;
	char *why = explain(code, daemon->nl ? nl_error(daemon->nl) : NULL, target->name);

	/* After a module was loaded anew, its family has another id. */
	if (code == -ENOENT || code == -ENODEV || code == -EBADF)
		kernel_close(daemon);
	return why;
}

void kernel_close(struct daemon *daemon)
{
	nl_close(daemon->nl);
	daemon->nl = NULL;
}

/* The extensions that the sources need */
static uint32_t needed_options(const struct target *target)
{
	return (target->timeouts ? IPCUCKOO_O_TIMEOUT : 0) |
	       (target->comments ? IPCUCKOO_O_COMMENT : 0) |
	       (target->counters ? IPCUCKOO_O_COUNTERS : 0);
}

static const char *lacking_word(const struct target *target)
{
	return target->lacking & IPCUCKOO_O_COMMENT ? "comments" :
	       target->lacking & IPCUCKOO_O_COUNTERS ? "counters" : "timeouts";
}

/* The daemon has changed the set, whose generation was @before: by @least at least, and by @most at
 * most. A generation beyond that has a change of somebody else in it, which the daemon does not know.
 */
static void note_change(struct target *target, uint64_t before, uint64_t least, uint64_t most)
{
	struct nl_set set;

	target->generation = 0;
	if (nl_set_get(target->daemon->nl, target->name, &set))
		return;
	target->entries = set.entries;
	target->rules = set.rules;
	if (set.generation - before >= least && set.generation - before <= most)
		target->generation = set.generation;
}

static int open_connection(struct daemon *daemon)
{
	daemon->connections++;
	return nl_open(&daemon->nl, IPCUCKOO_FAMILY_NAME);
}

static uint64_t generation(struct target *target)
{
	struct nl_set set = { 0 };

	nl_set_get(target->daemon->nl, target->name, &set);
	return set.generation;
}

bool kernel_is_upgraded(void)
{
	int fd = open(UPGRADE_LOCK, O_RDONLY | O_CLOEXEC);
	bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return locked;
}

bool kernel_is_there(struct daemon *daemon)
{
	return daemon->nl || !open_connection(daemon);
}

bool kernel_find_change(struct target *target, char what[KERNEL_CHANGE_SIZE])
{
	struct daemon *daemon = target->daemon;
	uint32_t entries = target->entries;
	struct nl_set set;
	int err = kernel_is_there(daemon) ? nl_set_get(daemon->nl, target->name, &set) : -ENOENT;

	if (err == -ENOENT) {
		if (!daemon->nl || nl_error(daemon->nl)->attribute != IPCUCKOO_A_SET) {
			kernel_close(daemon);
			snprintf(what, KERNEL_CHANGE_SIZE, "the module was unloaded");
		} else {
			snprintf(what, KERNEL_CHANGE_SIZE, "somebody else has destroyed or renamed it");
		}
		return true;
	}
	/* What is only slow or short of memory is asked again. */
	if (err)
		return false;
	target->entries = set.entries;
	target->rules = set.rules;
	if (set.generation == target->generation)
		return false;
	snprintf(what, KERNEL_CHANGE_SIZE,
		 "somebody else has changed it: it had %u entries, and has %u", entries, set.entries);
	return true;
}

static char *create(struct target *target)
{
	struct nl_set set = {
		.type = target->type, .family = target->family, .maxelem = target->maxelem,
		.options = needed_options(target),
	};
	int err;

	if (kernel_is_upgraded())
		return need_text("ipcuckoo-upgrade is replacing the module, and has not made the set yet");
	strcpy(set.name, target->name);
	target->options = set.options;
	target->lacking = 0;
	target->default_timeout = 0;
	if (target->daemon->dry_run) {
		log_info("[set %s] does not exist, and would be created", target->name);
		return NULL;
	}
	err = nl_set_new(target->daemon->nl, &set, true, 0);
	if (err)
		return why_failed(target, err);
	log_info("[set %s] did not exist, and was created", target->name);
	target->generation = generation(target);
	target->own = true;
	return NULL;
}

/* Is the set that exists one that the daemon can keep? */
static char *check_set(const struct target *target, const struct nl_set *set)
{
	static const char advice[] =
		"change the configuration, or rename the set and let ipcuckood create it";

	if (is_ipset(set))
		return need_text("it is a set of ipset, which ipcuckood does not keep; %s", advice);
	if (set->type != target->type || set->family != target->family)
		return need_text("it is of the type %s, family %s, and the configuration says %s, %s; %s",
				 meaning_word(type_words, set->type),
				 meaning_word(family_words, set->family),
				 meaning_word(type_words, target->type),
				 meaning_word(family_words, target->family), advice);
	if (set->netmask || (set->flags & IPCUCKOO_F_FORCEADD))
		return need_text("it has a netmask or forceadd, with which it cannot be kept exactly; %s",
				 advice);
	return NULL;
}

char *kernel_open(struct target *target)
{
	struct daemon *daemon = target->daemon;
	struct nl_set set = { 0 };
	char *why;
	int err = 0;

	if (!daemon->nl)
		err = open_connection(daemon);
	if (!err)
		err = nl_set_get(daemon->nl, target->name, &set);
	/* Without the module, the family's id is unknown, too: that is no missing set. */
	if (err == -ENOENT && nl_error(daemon->nl)->attribute == IPCUCKOO_A_SET)
		return create(target);
	if (err == -ENOENT) {
		kernel_close(daemon);
		err = open_connection(daemon);
		if (!err)
			err = nl_set_get(daemon->nl, target->name, &set);
		if (err == -ENOENT)
			return create(target);
	}
	if (err)
		return why_failed(target, err);
	why = check_set(target, &set);
	target->options = set.options;
	target->lacking = needed_options(target) & ~set.options;
	target->default_timeout = set.timeout;
	target->entries = set.entries;
	target->generation = set.generation;
	target->rules = set.rules;
	return why;
}

/* The extensions of the entries that come from sources */
static uint32_t source_options(const struct target *target)
{
	return (target->options & (IPCUCKOO_O_TIMEOUT | IPCUCKOO_O_COMMENT)) |
	       (target->type == IPCUCKOO_TYPE_HASH_NET ? NL_NOMATCH : 0);
}

/* Send entries with their extensions @options, to the set or to a shadow. @sum: counts what has
 * changed. Return: 0 or a negative errno.
 */
static int send_extended(struct target *target, const char *set, uint32_t shadow,
			 const struct extended *entries, uint32_t options, struct nl_change *sum)
{
	struct nl_extended extended = { .entries = entries, .options = options };
	struct nl_change change = { 0 };
	int more = entries->count > 0;

	while (more > 0) {
		more = nl_extended_add(target->daemon->nl, set, shadow, &extended,
				       set ? IPCUCKOO_F_EXIST : 0, &change);
		if (more >= 0 && sum) {
			sum->changed += change.changed;
			sum->unchanged += change.unchanged;
		}
	}
	return more;
}

static int remove_from_shadow(struct target *target, uint32_t shadow, const struct packed *entries)
{
	struct nl_cursor cursor = { 0 };
	struct nl_change change;
	int more = packed_count(entries) > 0;

	while (more > 0)
		more = nl_shadow_remove(target->daemon->nl, shadow, entries, &cursor,
					IPCUCKOO_F_EXIST, &change);
	return more;
}

static int add_to_shadow(struct target *target, uint32_t shadow, const struct packed *entries)
{
	struct nl_cursor cursor = { 0 };
	struct nl_change change;
	int more = packed_count(entries) > 0;

	while (more > 0)
		more = nl_shadow_add(target->daemon->nl, shadow, entries, &cursor, &change);
	return more;
}

/* Entries on their way to the kernel. Those that have nothing but an address are packed, which
 * takes less time; a set without timeouts and comments has no others but exceptions.
 */
struct chunk {
	struct packed plain;
	struct extended extended;
	bool has_values;
};

static int chunk_add(struct chunk *chunk, const struct extended_entry *entry)
{
	if (!chunk->has_values && !entry->value.nomatch)
		return packed_add(&chunk->plain, entry->kind, entry->entry);
	chunk->extended.at[chunk->extended.count++] = *entry;
	return 0;
}

static int fill_plain(struct target *target, uint32_t shadow, const struct kernel_entries *entries)
{
	const struct packed *plain;
	int err;

	do {
		err = entries->plain(entries->cursor, &plain);
		if (err > 0)
			err = add_to_shadow(target, shadow, plain) ? : 1;
	} while (err > 0);
	return err;
}

/* Send all entries to a shadow. Of those that come one by one, only a chunk is in memory. */
static int fill_shadow(struct target *target, uint32_t shadow, const struct kernel_entries *entries)
{
	struct chunk chunk = {
		.has_values = target->options & (IPCUCKOO_O_TIMEOUT | IPCUCKOO_O_COMMENT),
	};
	struct extended_entry entry;
	int err = fill_plain(target, shadow, entries), i;
	bool more = true;

	if (err)
		return err;
	chunk.extended.at = malloc(CHUNK * sizeof(*chunk.extended.at));
	if (!chunk.extended.at)
		return -ENOMEM;
	while (more && !err) {
		packed_clear(&chunk.plain);
		chunk.extended.count = 0;
		for (i = 0; i < CHUNK && !err; i++) {
			more = entries->next(entries->cursor, &entry);
			if (!more)
				break;
			err = chunk_add(&chunk, &entry);
		}
		if (!err)
			err = add_to_shadow(target, shadow, &chunk.plain);
		if (!err)
			err = send_extended(target, NULL, shadow, &chunk.extended,
					    source_options(target), NULL);
	}
	packed_free(&chunk.plain);
	free(chunk.extended.at);
	return err;
}

/* Delete a shadow after another request has failed; its error stays the last one. */
static void drop_shadow(struct target *target, uint32_t shadow)
{
	struct nl *nl = target->daemon->nl;
	struct nl_error error = *nl_error(nl);

	nl_shadow_del(nl, shadow);
	nl_set_error(nl, &error);
}

/* Commit a shadow after @err is 0, or else delete it. */
static int end_shadow(struct target *target, uint32_t shadow, int err, uint32_t flags)
{
	uint64_t before = err ? 0 : generation(target);
	struct nl_change change;

	if (!err)
		err = nl_shadow_commit(target->daemon->nl, shadow, flags, &change);
	if (err)
		drop_shadow(target, shadow);
	else
		note_change(target, before, 1, 1);
	return err;
}

/* Replace the entries of the set. @flags: IPCUCKOO_F_APPEND keeps those that it has, too. */
static int replace(struct target *target, const struct kernel_entries *entries, uint32_t flags)
{
	uint32_t shadow;
	int err;

	err = nl_shadow_new(target->daemon->nl, target->name, &entries->coming, flags, &shadow);
	if (err)
		return err;
	err = fill_shadow(target, shadow, entries);
	/* What others change in the meantime is replaced, too. */
	return end_shadow(target, shadow, err, IPCUCKOO_F_OVERRIDE);
}

/**
 * struct old - the entries of a set that another set replaces
 * @plain:	the entries, if none of them has extensions: they take less memory there
 * @extended:	the entries, otherwise
 * @options:	the extensions that are sent with @extended
 */
struct old {
	struct packed plain;
	struct extended extended;
	uint32_t options;
};

static int read_old(struct target *target, const struct nl_set *set, struct old *old)
{
	struct nl *nl = target->daemon->nl;
	int err = nl_entries(nl, target->name, &old->plain);

	old->options = set->options | (set->type == IPCUCKOO_TYPE_HASH_NET ? NL_NOMATCH : 0);
	if (err < 0 || !old->plain.has_extensions)
		return err;
	packed_free(&old->plain);
	return nl_extended_entries(nl, target->name, &old->extended);
}

static void free_old(struct old *old)
{
	packed_free(&old->plain);
	extended_free(&old->extended);
}

/* Of an entry that comes twice, the second one stays. */
static int fill_new(struct target *target, uint32_t shadow, const struct old *old,
		    const struct kernel_entries *entries)
{
	int err = add_to_shadow(target, shadow, &old->plain);

	if (!err)
		err = send_extended(target, NULL, shadow, &old->extended, old->options, NULL);
	return err ? err : fill_shadow(target, shadow, entries);
}

/* Create a set from the shadow, swap it with the old one, and destroy the old one, in one step:
 * nobody else sees the name of the new set, and an interruption leaves none of that name.
 */
static int swap_in(struct target *target, uint32_t shadow)
{
	struct nl *nl = target->daemon->nl;
	int err = nl_commit_begin(nl, 0);

	if (!err)
		err = nl_set_new_filled(nl, NEW_SET, shadow);
	if (!err)
		err = nl_set_swap(nl, NEW_SET, target->name);
	if (!err)
		err = nl_set_del(nl, NEW_SET, 0);
	return err ? err : nl_commit_send(nl);
}

/*
 * The set lacks an extension: fill a set that has it, and swap the two, so that packets and rules
 * see the old contents or the new ones. What attaches the set keeps it.
 */
static int replace_set(struct target *target, const struct kernel_entries *entries, bool append)
{
	struct nl *nl = target->daemon->nl;
	struct old old = { 0 };
	uint32_t shadow = 0;
	struct nl_set set;
	int err;

	err = nl_set_get(nl, target->name, &set);
	if (!err && append)
		err = read_old(target, &set, &old);
	if (err >= 0) {
		strcpy(set.name, NEW_SET);
		set.options |= target->lacking;
		target->options = set.options;
		err = nl_shadow_create(nl, &set, true, &entries->coming, &shadow);
	}
	if (!err)
		err = fill_new(target, shadow, &old, entries);
	if (!err)
		err = swap_in(target, shadow);
	if (err && shadow)
		drop_shadow(target, shadow);
	/* A new set: what was changed between the swap and this cannot be told from it. */
	if (!err)
		note_change(target, generation(target), 0, 0);
	free_old(&old);
	return err;
}

char *kernel_replace(struct target *target, const struct kernel_entries *entries, bool append)
{
	int err;

	if (target->lacking)
		err = replace_set(target, entries, append);
	else
		err = replace(target, entries, append ? IPCUCKOO_F_APPEND : 0);
	if (target->lacking && (err == -EEXIST || err == -ENOTUNIQ))
		return need_text("it has to be replaced by one that stores %s, and for that ipcuckood needs the name " NEW_SET ", which another set has; run: ipcuckoo rename " NEW_SET " NAME",
				 lacking_word(target));
	if (err)
		return why_failed(target, err);
	if (target->lacking)
		log_info("[set %s] has %s now, which its sources need: it was replaced by another set",
			 target->name, lacking_word(target));
	target->lacking = 0;
	return NULL;
}

/* All changes in one step. Return: -ESTALE if others have changed the set meanwhile. */
static int change_shadow(struct target *target, const struct extended *add,
			 const struct packed *del)
{
	static const struct packed none;
	uint32_t shadow;
	int err;

	err = nl_shadow_new(target->daemon->nl, target->name, &none, IPCUCKOO_F_APPEND, &shadow);
	if (err)
		return err;
	err = send_extended(target, NULL, shadow, add, source_options(target), NULL);
	if (!err)
		err = remove_from_shadow(target, shadow, del);
	return end_shadow(target, shadow, err, 0);
}

/* Additions first, so that nothing gets through in between that both have. */
static int change_set(struct target *target, const struct extended *add, const struct packed *del)
{
	struct nl_change added = { 0 }, deleted = { 0 };
	uint64_t before = target->generation, most;
	int err;

	err = send_extended(target, target->name, 0, add, source_options(target), &added);
	if (!err && packed_count(del))
		err = nl_entry_del(target->daemon->nl, target->name, del, IPCUCKOO_F_EXIST, &deleted);
	/* An entry that was there and has a value, such as a timeout, counts as a change, too. */
	most = added.changed + deleted.changed +
	       (target->options || target->type == IPCUCKOO_TYPE_HASH_NET ? added.unchanged : 0);
	if (!err)
		note_change(target, before, added.changed + deleted.changed, most);
	return err;
}

char *kernel_change(struct target *target, const struct extended *add, const struct packed *del,
		    bool atomic)
{
	int err = -ESTALE, attempts = NL_ATTEMPTS;

	/* The kernel does all of a message, or nothing. */
	if (nl_fits(del) && (!atomic || !add->count ||
			     (nl_extended_fits(add) && !packed_count(del))))
		err = change_set(target, add, del);
	else
		while (err == -ESTALE && attempts--)
			err = change_shadow(target, add, del);
	return err ? why_failed(target, err) : NULL;
}

char *kernel_read(struct target *target, struct packed *entries)
{
	int err = nl_entries(target->daemon->nl, target->name, entries);

	if (err < 0 && err != -ENOENT)
		return why_failed(target, err);
	packed_sort(entries);
	return NULL;
}
