/* SPDX-License-Identifier: GPL-2.0-only */
/* Guesses which known word a user meant. */
#ifndef IPCUCKOO_TOOL_NEAREST_H
#define IPCUCKOO_TOOL_NEAREST_H

#include <stddef.h>

const char *nearest_word(const char *word, const char *const *others, size_t count,
			 unsigned int *slips);
const char *nearest_hint(const char *word, const char *const *others, size_t count);

#endif /* IPCUCKOO_TOOL_NEAREST_H */
