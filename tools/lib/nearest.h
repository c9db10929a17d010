/* SPDX-License-Identifier: GPL-2.0-only */
/* Guesses which word was misspelt. */
#ifndef IPCUCKOO_TOOL_NEAREST_H
#define IPCUCKOO_TOOL_NEAREST_H

#include <stddef.h>

const char *nearest_hint(const char *word, const char *const *others, size_t count);

#endif /* IPCUCKOO_TOOL_NEAREST_H */
