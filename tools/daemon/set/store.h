/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Contents and notes of sources on disk, one file each: DIRECTORY/NAME.list. The file is a list
 * that "ipcuckoo load" can read, too.
 */
#ifndef IPCUCKOOD_STORE_H
#define IPCUCKOOD_STORE_H

#include "daemon/set/source.h"

/* Replace the file in one step. Return: 0 or a negative errno; the contents are in force all the same. */
int store_save(const struct source *source, const char *dir);
/* Read contents, notes and times. What is wrong is printed, and nothing is read then. Return:
 * whether there was something.
 */
bool store_load(struct source *source, const char *dir);

#endif /* IPCUCKOOD_STORE_H */
