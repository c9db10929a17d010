/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A target is a set in the kernel that the daemon keeps: "[set NAME]". It has the entries of all
 * its sources, without those that an exception covers.
 *
 * An entry that several sources have stays until the last of them drops it; it expires with the
 * last of them, and has the comment of the first one that has a comment. Exceptions of a hash:net
 * set are in the set as entries with nomatch, so that they also make holes in wider prefixes.
 *
 * Until each source has had contents once, entries are only added: what is in the set from before
 * the daemon started stays in force. Afterwards the set has exactly what the sources say. What others
 * do to it (change, flush, destroy, rename, swap it, load the module anew) is found at the next event by
 * the set's generation, which no other set and no other contents have had, and undone.
 *
 * If the kernel refuses a change, the target stays "behind": it says so, and replaces the whole set
 * as soon as that works.
 */
#ifndef IPCUCKOOD_TARGET_H
#define IPCUCKOOD_TARGET_H

#include "daemon/base/daemon.h"
#include "daemon/base/timer.h"
#include "daemon/conf/section.h"
#include "daemon/set/contents.h"
#include "lib/exposure.h"
#include "lib/feed.h"
#include "nl/attachment.h"

struct aggregate_rule;
struct source;

/**
 * struct target - a set that the daemon keeps
 *
 * Read from the configuration:
 * @name:	name of the set
 * @type:	IPCUCKOO_TYPE_HASH_IP or IPCUCKOO_TYPE_HASH_NET
 * @family:	IPCUCKOO_FAMILY_*
 * @maxelem:	limit of the number of entries of a set that the daemon creates; 0: none
 * @counters:	create the set with counters
 * @timeouts:	create the set with timeouts; also if a source or an entry needs them
 * @comments:	create the set with comments; also if a source or an entry needs them
 * @except:	exceptions, as words
 * @protect:	sources cannot block what the guard keeps (guard.h)
 * @max_growth:	one change may add as much of IPv4 as a prefix of this length covers
 * @max_growth6: the same of IPv6
 * @max_total:	the sources may have as much of IPv4 together as a prefix of this length covers
 * @max_total6:	the same of IPv6
 * @except_files: files with exceptions
 * @aggregate:	which networks are listed while how many of their hosts are: aggregate.h
 * @attach:	how the set is attached, as the words of "ipcuckoo attach" behind its name
 *
 * The rest:
 * @daemon:	the daemon; NULL while the configuration is only checked
 * @exceptions:	the exceptions, sorted, as prefixes and hosts
 * @aggregates:	@aggregate, parsed
 * @aggregate_count: how many these are
 * @networks:	one of the sources: the networks that these list; or NULL
 * @spare:	how much more the sources may have together, at least: guard_total()
 * @sources:	the sources; NULL ends them
 * @options:	extensions of the kernel's set: enum ipcuckoo_option
 * @default_timeout: the kernel's set gives this timeout to entries that come without one
 * @lacking:	extensions that it needs and does not have: it is replaced by another set
 * @own:	the daemon has created the set, and nobody else has changed it since
 * @generation:	that of the kernel's set after the last change of the daemon. If the set has another
 *		one, somebody else has changed it; 0: unknown, so that the set is made anew
 * @rules:	number of rules of the kernel that look the set up
 * @repairs:	how often somebody else had changed the set
 * @repaired:	when that was found last: monotonic_seconds()
 * @quick:	how often in a row that was soon after the time before
 * @contested:	they do it again and again
 * @attachments: @attach, parsed
 * @attachment_count: how many these are
 * @elsewhere:	"attach = no": something that the kernel cannot know of looks the set up
 * @was_attached: all of @attachments were there
 * @refused_attach: one of them could not be made
 * @acts:	packets are looked up in the set
 * @idle:	why they are not, or not everywhere; NULL otherwise
 * @behind:	the kernel's set is not what the sources say
 * @problem:	why it is behind; NULL if it is not
 * @applied_at:	when the kernel's set was changed last, in seconds since 1970; 0: never
 * @entries:	entries that the kernel's set had then
 * @failures:	number of refused changes
 */
struct target {
	char *name;
	int type;
	int family;
	uint64_t maxelem;
	bool counters;
	bool timeouts;
	bool comments;
	char **except;
	bool protect;
	uint64_t max_growth;
	uint64_t max_growth6;
	uint64_t max_total;
	uint64_t max_total6;
	char **except_files;
	char **aggregate;
	char **attach;

	struct daemon *daemon;
	struct packed exceptions;
	struct aggregate_rule *aggregates;
	size_t aggregate_count;
	struct source *networks;
	struct exposure spare;
	struct source **sources;
	size_t source_count;
	uint32_t options;
	uint32_t default_timeout;
	uint32_t lacking;
	bool own;
	uint64_t generation;
	uint32_t rules;
	uint64_t repairs;
	double repaired;
	unsigned int quick;
	bool contested;
	struct nl_attachment *attachments;
	size_t attachment_count;
	bool elsewhere;
	bool was_attached;
	bool refused_attach;
	bool acts;
	char *idle;
	bool behind;
	char *problem;
	uint32_t applied_at;
	uint32_t entries;
	uint64_t failures;
	unsigned int attempts;
	struct timer retry;
};

extern const struct config_key target_keys[];

void target_check(struct target *target, struct section *section);
void target_free(struct target *target);

/* Begin to keep the set: create it if it does not exist. Called once, before its sources start. */
void target_start(struct target *target, struct daemon *daemon);
void target_stop(struct target *target);

/* Make the set what its sources say, in one step. */
void target_apply(struct target *target);
/* The same after @touched entries changed, sorted; they are used up. @atomic: in one step, also if
 * additions and deletions do not fit into one message; otherwise additions come first. @add_only: delete
 * nothing.
 */
void target_apply_some(struct target *target, struct packed *touched, bool atomic, bool add_only);
/* Look whether the kernel's set still is what the daemon has made of it, and make it so again. Return:
 * whether to look again in a second.
 */
bool target_verify(struct target *target);

/* The set needs to store timeout and comment of this entry, or of all of these. If it does not, the
 * next change replaces it by one that does.
 */
void target_need(struct target *target, const struct member *member);
void target_need_all(struct target *target, const struct contents *contents);

/* Prepare to parse entries for the set: family, expansion of prefixes, limits. */
void target_prepare(const struct target *target, struct feed *feed);
/* Whether each source has had contents. */
bool target_complete(const struct target *target);
/* Whether the kernel's set has nothing but what its sources say: all have had contents, or the daemon has
 * created the set.
 */
bool target_settled(const struct target *target);

#endif /* IPCUCKOOD_TARGET_H */
