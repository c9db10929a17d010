/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The search for a free slot, for all tables of buckets with a few slots whose entries can
 * move to one other bucket: the exact table (table.c) and the filter (filter.c). They
 * implement the move of one entry. The order of moves, on which readers rely, is
 * implemented once, here. The functions are inlined, so that each table has a copy with
 * direct calls.
 */
#ifndef _IPCUCKOO_SEARCH_H
#define _IPCUCKOO_SEARCH_H

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/types.h>

#include "table.h"

/* A bucket that the search has reached, and the slot through which it did. */
struct ipcuckoo_search_node {
	u32 bucket;
	u16 parent;	/* index in the queue */
	u8 slot;	/* slot of the parent whose entry would move to this bucket */
	u8 root;	/* one of the two buckets of the new entry */
};

static_assert(IPCUCKOO_SEARCH <= U16_MAX);

/**
 * struct ipcuckoo_path - a series of entries that can move, each to its other bucket
 * @node:	index in the queue of the last bucket of the path
 * @slot:	the slot of that bucket whose entry moves first
 * @dst:	the bucket to which it moves, which has a free slot
 */
struct ipcuckoo_path {
	u16 node;
	unsigned int slot;
	u32 dst;
};

/**
 * struct ipcuckoo_search_ops - operations of a table that the search uses
 * @alt:	return the other bucket of the entry in a used slot
 * @free:	return a free slot of a bucket, or -1
 * @move:	copy an entry to a free slot of its other bucket, then make its old slot
 *		reusable. At each moment readers must find the entry in one of the two
 * @copies:	can there be many entries with the same two buckets? They would fill the
 *		queue with these buckets, so no bucket is queued twice then, which costs a
 *		search that fails some tens of microseconds. Without copies, or if this is
 *		NULL, a bucket is rarely queued twice, so the search checks only its path
 */
struct ipcuckoo_search_ops {
	u32 (*alt)(const void *table, u32 bucket, unsigned int slot);
	int (*free)(const void *table, u32 bucket);
	void (*move)(void *table, struct ipcuckoo_guard *guard, u32 from,
		     unsigned int from_slot, u32 to, unsigned int to_slot);
	bool (*copies)(const void *table);
};

/* A path must not visit a bucket twice: the second move into the bucket would take the
 * slot that the first one used.
 */
static inline bool ipcuckoo_search_on_path(const struct ipcuckoo_search_node *queue,
					   u16 node, u32 bucket)
{
	while (queue[node].bucket != bucket) {
		if (queue[node].root)
			return false;
		node = queue[node].parent;
	}
	return true;
}

static inline bool ipcuckoo_search_queued(const struct ipcuckoo_search_node *queue,
					  unsigned int tail, u32 bucket)
{
	while (tail--)
		if (queue[tail].bucket == bucket)
			return true;
	return false;
}

/* Find the shortest path from one of the two buckets in @root to a free slot, breadth
 * first, in a table of buckets with @slots slots. Changes nothing in the table. Return:
 * false if there is none within the bound.
 */
static __always_inline bool
ipcuckoo_search(const void *table, const struct ipcuckoo_search_ops *ops,
		unsigned int slots, const u32 root[2],
		struct ipcuckoo_search_node *queue, struct ipcuckoo_path *path)
{
	unsigned int tail = 2;
	u32 bucket;

	queue[0] = (struct ipcuckoo_search_node){ root[0], .root = 1 };
	queue[1] = (struct ipcuckoo_search_node){ root[1], .root = 1 };
	for (path->node = 0; path->node < tail; path->node++) {
		bucket = queue[path->node].bucket;
		for (path->slot = 0; path->slot < slots; path->slot++) {
			path->dst = ops->alt(table, bucket, path->slot);
			if (ops->free(table, path->dst) >= 0)
				return true;
			if (tail == IPCUCKOO_SEARCH ||
			    (ops->copies && ops->copies(table) ?
			     ipcuckoo_search_queued(queue, tail, path->dst) :
			     ipcuckoo_search_on_path(queue, path->node, path->dst)))
				continue;
			queue[tail++] = (struct ipcuckoo_search_node){
				path->dst, .parent = path->node,
				.slot = path->slot,
			};
		}
	}
	return false;
}

/* Move every entry of a path to the next bucket, beginning at the end of the path. This
 * makes a slot of a root free for the new entry. Sets @slot to this slot, and returns
 * which of the two roots it is.
 */
static __always_inline u16
ipcuckoo_search_move(void *table, const struct ipcuckoo_search_ops *ops,
		     struct ipcuckoo_guard *guard,
		     const struct ipcuckoo_search_node *queue,
		     const struct ipcuckoo_path *path, unsigned int *slot)
{
	unsigned int to_slot = ops->free(table, path->dst);
	u32 bucket, dst = path->dst;
	u16 node = path->node;

	for (*slot = path->slot; ; *slot = queue[node].slot, node = queue[node].parent) {
		bucket = queue[node].bucket;
		ops->move(table, guard, bucket, *slot, dst, to_slot);
		if (queue[node].root)
			return node;
		dst = bucket;
		to_slot = *slot;
	}
}

#endif /* _IPCUCKOO_SEARCH_H */
