/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Host names instead of addresses, where ipset takes them: alone, before a prefix
 * length, or as an end of a range. A name with a dash is written in brackets.
 */
#ifndef IPCUCKOO_TOOL_HOST_H
#define IPCUCKOO_TOOL_HOST_H

#include <arpa/inet.h>

#include "cli/tool.h"

/* Room for "ADDRESS-ADDRESS" or "ADDRESS/LEN". */
#define HOST_TEXT_SIZE	(2 * INET6_ADDRSTRLEN + 16)

/* Whether a word looks like a misspelt keyword: like a host name, but without a dot
 * and without a digit at its beginning. Other words after an entry are entries.
 */
bool host_looks_like_keyword(const char *word);

/* Copy @word to @text, with addresses instead of host names. If the resolver finds
 * several addresses for a name, take the first and print a warning.
 * Return: false if a name could not be resolved.
 */
bool host_resolve(const struct tool *tool, const char *word, uint8_t family,
		  char text[HOST_TEXT_SIZE]);

#endif /* IPCUCKOO_TOOL_HOST_H */
