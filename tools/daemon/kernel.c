// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "daemon/kernel.h"
#include "daemon/log.h"
#include "daemon/memory.h"
#include "nl/entry.h"
#include "nl/shadow.h"

/* Entries that are handed to the kernel at once. A message holds more entries of IPv4 hosts, and
 * fewer that have long comments.
 */
#define CHUNK	4096

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

static char *create(struct target *target)
{
	struct nl_set set = {
		.type = target->type, .family = target->family, .maxelem = target->maxelem,
	};
	int err;

	strcpy(set.name, target->name);
	if (target->timeouts)
		set.options |= IPCUCKOO_O_TIMEOUT;
	if (target->comments)
		set.options |= IPCUCKOO_O_COMMENT;
	target->options = set.options;
	if (target->daemon->dry_run) {
		log_info("[set %s] does not exist, and would be created", target->name);
		return NULL;
	}
	err = nl_set_new(target->daemon->nl, &set, true, 0);
	if (err)
		return why_failed(target, err);
	log_info("[set %s] did not exist, and was created; it acts on packets when it is attached: ipcuckoo attach %s src drop",
		 target->name, target->name);
	return NULL;
}

/* Is the set that exists one that the daemon can keep? */
static char *check_set(const struct target *target, const struct nl_set *set)
{
	static const char advice[] = "change the configuration, or rename the set and let ipcuckood create it";

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
	if (target->timeouts && !(set->options & IPCUCKOO_O_TIMEOUT))
		return need_text("it has no timeouts, and its sources need them; %s", advice);
	if (target->comments && !(set->options & IPCUCKOO_O_COMMENT))
		return need_text("it has no comments, and its sources need them; %s", advice);
	return NULL;
}

char *kernel_open(struct target *target)
{
	struct daemon *daemon = target->daemon;
	struct nl_set set = { 0 };
	char *why;
	int err = 0;

	if (!daemon->nl)
		err = nl_open(&daemon->nl, IPCUCKOO_FAMILY_NAME);
	if (!err)
		err = nl_set_get(daemon->nl, target->name, &set);
	/* Without the module, the family's id is unknown, too: that is no missing set. */
	if (err == -ENOENT && nl_error(daemon->nl)->attribute == IPCUCKOO_A_SET)
		return create(target);
	if (err == -ENOENT) {
		kernel_close(daemon);
		err = nl_open(&daemon->nl, IPCUCKOO_FAMILY_NAME);
		if (!err)
			err = nl_set_get(daemon->nl, target->name, &set);
		if (err == -ENOENT)
			return create(target);
	}
	if (err)
		return why_failed(target, err);
	why = check_set(target, &set);
	target->options = set.options;
	target->entries = set.entries;
	return why;
}

/* Send entries with their extensions, to the set or to a shadow. Return: 0 or a negative errno. */
static int send_extended(struct target *target, const char *set, uint32_t shadow,
			 const struct extended *entries)
{
	struct nl_extended extended = {
		.entries = entries,
		.options = (target->options & (IPCUCKOO_O_TIMEOUT | IPCUCKOO_O_COMMENT)) |
			   (target->type == IPCUCKOO_TYPE_HASH_NET ? NL_NOMATCH : 0),
	};
	struct nl_change change;
	int more = entries->count > 0;

	while (more > 0)
		more = nl_extended_add(target->daemon->nl, set, shadow, &extended,
				       set ? IPCUCKOO_F_EXIST : 0, &change);
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

/* Send all entries that @next gives to a shadow. Only a chunk of them is in memory. */
static int fill_shadow(struct target *target, uint32_t shadow, kernel_next_fn *next, void *cursor)
{
	struct extended_entry *at = malloc(CHUNK * sizeof(*at));
	struct extended chunk = { .at = at };
	bool more = true;
	int err = 0;

	if (!at)
		return -ENOMEM;
	while (more && !err) {
		for (chunk.count = 0; chunk.count < CHUNK && more; chunk.count += more)
			more = next(cursor, &at[chunk.count]);
		err = send_extended(target, NULL, shadow, &chunk);
	}
	free(at);
	return err;
}

/* Commit a shadow after @err is 0, or else delete it. */
static int end_shadow(struct target *target, uint32_t shadow, int err, uint32_t flags)
{
	struct nl *nl = target->daemon->nl;
	struct nl_change change;
	struct nl_error error;

	if (!err)
		err = nl_shadow_commit(nl, shadow, flags, &change);
	if (!err) {
		target->entries = change.entries;
		return 0;
	}
	error = *nl_error(nl);
	nl_shadow_del(nl, shadow);
	nl_set_error(nl, &error);
	return err;
}

char *kernel_replace(struct target *target, kernel_next_fn *next, void *cursor,
		     const struct packed *coming, bool append)
{
	uint32_t shadow;
	int err;

	err = nl_shadow_new(target->daemon->nl, target->name, coming,
			    append ? IPCUCKOO_F_APPEND : 0, &shadow);
	if (!err) {
		err = fill_shadow(target, shadow, next, cursor);
		/* What others change in the meantime is replaced, too. */
		err = end_shadow(target, shadow, err, IPCUCKOO_F_OVERRIDE);
	}
	return err ? why_failed(target, err) : NULL;
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
	err = send_extended(target, NULL, shadow, add);
	if (!err)
		err = remove_from_shadow(target, shadow, del);
	return end_shadow(target, shadow, err, 0);
}

/* Additions first, so that nothing gets through in between that both have. */
static int change_set(struct target *target, const struct extended *add, const struct packed *del)
{
	struct nl_change change;
	int err;

	err = send_extended(target, target->name, 0, add);
	if (err || !packed_count(del))
		return err;
	return nl_entry_del(target->daemon->nl, target->name, del, IPCUCKOO_F_EXIST, &change);
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
