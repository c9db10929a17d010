/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Commits: changes of sets and their names that take effect together, or not at all. Sets
 * are created, destroyed, renamed and swapped in no other way; except that names.c destroys
 * all sets at once.
 */
#ifndef _IPCUCKOO_COMMIT_H
#define _IPCUCKOO_COMMIT_H

#include <linux/types.h>

#include "ipcuckoo.h"

struct ipcuckoo_attachment;
struct ipcuckoo_net;
struct ipcuckoo_set;
struct ipcuckoo_shadow;
struct ipcuckoo_version;

/**
 * enum ipcuckoo_commit_kind - what a change does
 * @IPCUCKOO_COMMIT_CREATE: a set that was made gets its name, and is found by it
 * @IPCUCKOO_COMMIT_DESTROY: a set is destroyed
 * @IPCUCKOO_COMMIT_RENAME: a set gets another name; its attachments stay attached
 * @IPCUCKOO_COMMIT_SWAP: two sets exchange their names; attachments stay with the names
 * @IPCUCKOO_COMMIT_FLUSH: all entries of a set are deleted
 * @IPCUCKOO_COMMIT_REPLACE: a shadow becomes the contents of its set
 * @IPCUCKOO_COMMIT_ATTACH: a set acts on packets
 */
enum ipcuckoo_commit_kind {
	IPCUCKOO_COMMIT_CREATE,
	IPCUCKOO_COMMIT_DESTROY,
	IPCUCKOO_COMMIT_RENAME,
	IPCUCKOO_COMMIT_SWAP,
	IPCUCKOO_COMMIT_FLUSH,
	IPCUCKOO_COMMIT_REPLACE,
	IPCUCKOO_COMMIT_ATTACH,
};

/**
 * struct ipcuckoo_commit_change - one change of a commit
 * @kind:	what it does
 * @exist:	CREATE: a set with the same options is no error; DESTROY, FLUSH: no set is
 *		no error; ATTACH: an attachment that does the same is no error
 * @same_maxelem: CREATE: the same options include the limit
 * @same_order:	ATTACH: to do the same includes the order
 * @override:	REPLACE: even if the set has changed since the shadow was made
 * @name:	name of the set; a valid one. Not of REPLACE
 * @to:		RENAME: the new name; SWAP: the name of the other set
 * @set:	CREATE: the new set, which nobody else knows; the caller's reference stays
 *		the caller's. Of the others: set by the commit
 * @other:	SWAP: the other set; set by the commit
 * @shadow:	REPLACE: the shadow, held by the caller; CREATE: the contents of the new
 *		set, or NULL
 * @at:		ATTACH: the attachment, as ipcuckoo_attach_prepare() has made it; NULL once
 *		the commit has taken it. Its number is in @id
 * @id:		ATTACH: number of the attachment, also if there is one that does the same
 * @set_name:	REPLACE: the name that the set has at this change; set by the commit
 * @empty:	DESTROY, FLUSH: for the commit
 * @done:	for the commit
 */
struct ipcuckoo_commit_change {
	enum ipcuckoo_commit_kind kind;
	bool exist;
	bool same_maxelem;
	bool same_order;
	bool override;
	const char *name;
	const char *to;
	struct ipcuckoo_set *set;
	struct ipcuckoo_set *other;
	struct ipcuckoo_shadow *shadow;
	struct ipcuckoo_attachment *at;
	u32 id;
	char set_name[IPCUCKOO_NAME_SIZE];
	struct ipcuckoo_version *empty;
	bool done;
};

int ipcuckoo_commit(struct ipcuckoo_net *pernet, struct ipcuckoo_commit_change *changes,
		    unsigned int count, bool check, unsigned int *at);

#endif /* _IPCUCKOO_COMMIT_H */
