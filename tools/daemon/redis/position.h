/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far a source has followed its list. That is stored in the notes of the source, so it is on
 * disk together with the contents to which it belongs.
 */
#ifndef IPCUCKOOD_POSITION_H
#define IPCUCKOOD_POSITION_H

#include "daemon/redis/list.h"

/**
 * position_store() - remember a position
 * @source:	the source; the contents of the position have to be delivered next
 * @list:	name of the list
 * @position:	how far it has been read
 */
void position_store(struct source *source, const char *list,
		    const struct list_position *position);

/**
 * position_load() - read the position to which the contents of a source belong
 * @source:	the source
 * @list:	name of the list
 * @position:	result; all zeros if there is none
 *
 * Return: whether there is one. There is none if the contents are those of another list, or if the
 * set took other entries when they were stored.
 */
bool position_load(const struct source *source, const char *list,
		   struct list_position *position);

/**
 * position_is_same() - compare two positions
 * @a:		a position
 * @b:		another one
 *
 * Return: whether they are the same.
 */
bool position_is_same(const struct list_position *a, const struct list_position *b);

/**
 * position_note_lag() - set the lag of a source
 * @source:	the source
 * @position:	its position: the lag is the time since the last change of it was published. The
 *		clocks of Redis and of this machine may differ
 */
void position_note_lag(struct source *source, const struct list_position *position);

#endif /* IPCUCKOOD_POSITION_H */
