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
 * @exist:	succeed if there is nothing to do. CREATE: a set with the same options exists;
 *		DESTROY, FLUSH: the set does not exist; ATTACH: an equal attachment exists
 * @same_maxelem: CREATE: compare the limits of sets, too, to decide whether options are the
 *		same
 * @same_order:	ATTACH: compare the orders of attachments, too, to decide whether they are
 *		equal
 * @override:	REPLACE: commit the shadow even if the set has changed since the shadow was
 *		made
 * @name:	name of the set, which ipcuckoo_names_valid() accepts; NULL with REPLACE
 * @to:		RENAME: the new name; SWAP: the name of the other set
 * @set:	CREATE: the new set, which is not in the tree yet; the caller must put its
 *		reference afterwards. Other kinds: the set that changes; filled in by the
 *		commit, without a reference
 * @other:	SWAP: the other set; filled in by the commit
 * @shadow:	REPLACE: the shadow; CREATE: the shadow whose entries the new set gets, or
 *		NULL. The caller has a reference
 * @at:		ATTACH: the attachment, made by ipcuckoo_attach_prepare(). The commit sets it
 *		to NULL if it has taken the attachment over
 * @id:		ATTACH: number of the new attachment, or of the equal one that exists; filled
 *		in by the commit
 * @set_name:	REPLACE: name of the set after the changes before this one; filled in by the
 *		commit
 * @empty:	DESTROY, FLUSH: empty contents, which the commit allocates before it locks
 *		anything, and then swaps in
 * @done:	filled in by the commit: the change was made. False if it failed, or if there
 *		was nothing to do
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
