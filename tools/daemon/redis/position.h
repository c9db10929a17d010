/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far a source has followed its list. That is stored in the notes of the source, so it is on
 * disk together with the contents to which it belongs.
 */
#ifndef IPCUCKOOD_POSITION_H
#define IPCUCKOOD_POSITION_H

#include "daemon/redis/list.h"

/* Remember a position; the contents that belong to it have to be delivered next. */
void position_store(struct source *source, const char *list,
		    const struct list_position *position);

/* Read the position to which the contents of a source belong. Return: whether there is one;
 * otherwise it is all zeros. There is none if the contents are those of another list, or if the set
 * took other entries when they were stored.
 */
bool position_load(const struct source *source, const char *list,
		   struct list_position *position);

bool position_is_same(const struct list_position *a, const struct list_position *b);

/* Set the lag of a source: the time since the last change was published. The clocks of Redis and of
 * this machine may differ.
 */
void position_note_lag(struct source *source, const struct list_position *position);

#endif /* IPCUCKOOD_POSITION_H */
