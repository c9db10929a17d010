/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Host names in the place of addresses, as ipset takes them: alone, before a
 * prefix length, as an end of a range; in brackets if they have dashes.
 */
#ifndef IPCUCKOO_TOOL_HOST_H
#define IPCUCKOO_TOOL_HOST_H

#include <arpa/inet.h>

#include "cli/tool.h"

/* Two addresses and a dash between them, or a slash and a number behind. */
#define HOST_TEXT_SIZE	(2 * INET6_ADDRSTRLEN + 16)

/* It looks like the name of a host without a dot and a digit in front: behind an
 * entry such a word is a keyword that is misspelt, and others are entries.
 */
bool host_looks_like_keyword(const char *word);

/* Put addresses in the place of the names of a word. Asks the resolver, and
 * says so if a name has several addresses: the first counts.
 * Return: whether @text is without names now.
 */
bool host_resolve(const struct tool *tool, const char *word, uint8_t family,
		  char text[HOST_TEXT_SIZE]);

#endif /* IPCUCKOO_TOOL_HOST_H */
