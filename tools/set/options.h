/* SPDX-License-Identifier: GPL-2.0-only */
/* The options of sets: parsing, printing. nl/option.h describes their table. */
#ifndef IPCUCKOO_TOOL_SET_OPTIONS_H
#define IPCUCKOO_TOOL_SET_OPTIONS_H

#include "cli/tool.h"
#include "nl/option.h"

/* Parse the options in @words, behind the name and the type of the set. @has_maxelem: set
 * to whether maxelem was given. Return: STATUS_OK, or another status after a message.
 */
int parse_set_options(const struct tool *tool, struct words *words, struct nl_set *set,
		      bool *has_maxelem);

/* The limit that "maxelem N" means. */
uint32_t parse_limit(uint32_t number);

/* Write the value of an option to @text. Return: whether lists show the option. */
bool show_option(const struct option_spec *option, const struct nl_set *set,
		 char text[OPTION_TEXT_SIZE]);

#endif /* IPCUCKOO_TOOL_SET_OPTIONS_H */
