/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The decisions of CrowdSec that are in force. Several of them may concern one entry of a set: it
 * stays until the last of them ends, and expires with the longest one.
 *
 * They are a sorted array, 32 bytes for each, in which those of an entry follow each other. So a
 * million of them takes 32 MB, and no list of decisions, whatever its sender wants, makes a change
 * take longer than a pass through the array.
 */
#ifndef IPCUCKOOD_DECISIONS_H
#define IPCUCKOOD_DECISIONS_H

#include "daemon/set/contents.h"

/* The most labels; decisions with other ones have the label 0. */
#define LABELS_MOST	4096

/**
 * struct label - where a decision is from
 * @origin:	"crowdsec", "cscli", "CAPI", "lists"
 * @scenario:	"crowdsecurity/ssh-bf"
 */
struct label {
	char *origin;
	char *scenario;
};

struct labels;

/**
 * struct decision - a decision about an entry
 * @id:		its number in CrowdSec
 * @expires:	when it ends, in seconds since 1970
 * @label:	number of its label, for label_get()
 * @kind:	kind of the entry
 * @entry:	the entry, packed
 */
struct decision {
	uint64_t id;
	uint32_t expires;
	uint16_t label;
	uint8_t kind;
	uint8_t entry[IPCUCKOO_NET6_SIZE];
};

/* Zeros are no decisions. */
struct decisions {
	struct decision *at;
	size_t count;
	size_t room;
};

/* Called for an entry with its longest decision; NULL: it has none. Return: 0 or a negative errno,
 * which ends the walk.
 */
typedef int decisions_fn(void *owner, const struct decision *longest, enum entry_kind kind,
			 const uint8_t *entry);

/* Add a decision at the end; decisions_sort() brings it where it belongs. Return: 0 or -ENOMEM. */
int decisions_add(struct decisions *list, const struct decision *decision);
/* Sort, and remove what is there twice. */
void decisions_sort(struct decisions *list);
/* Remove decisions: those of @gone, and those that have expired. Both are sorted. */
void decisions_remove(struct decisions *list, const struct decisions *gone, uint32_t now);
/* Whether an entry keeps another decision than those of @gone, though one of them would have lasted
 * until after @until: somebody has deleted it. Both are sorted; @gone is not removed yet.
 */
bool decisions_outlived(const struct decisions *list, const struct decisions *gone, uint32_t until);
/* Take over those of @more. Both are sorted. Return: 0 or -ENOMEM; then nothing has changed. */
int decisions_merge(struct decisions *list, const struct decisions *more);
/* Call @call for each entry. Return: what it returned last. */
int decisions_walk(const struct decisions *list, decisions_fn *call, void *owner);
/* Call @call for each entry that @touched has. Both are sorted. Return: as decisions_walk(). */
int decisions_walk_touched(const struct decisions *list, const struct decisions *touched,
			   decisions_fn *call, void *owner);
/* The decisions about an entry, and their number; NULL if there are none. */
const struct decision *decisions_find(const struct decisions *list, enum entry_kind kind,
				      const uint8_t *entry, size_t *count);
/* Add @seconds, which may be negative, to the time at which each decision ends. */
void decisions_shift(struct decisions *list, int64_t seconds);
void decisions_free(struct decisions *list);

struct labels *labels_new(void);
/* The number of a label, which is added if it is new. Long texts are cut off. */
uint16_t labels_add(struct labels *labels, const char *origin, const char *scenario);
const struct label *labels_get(const struct labels *labels, uint16_t number);
size_t labels_count(const struct labels *labels);
void labels_free(struct labels *labels);

#endif /* IPCUCKOOD_DECISIONS_H */
