/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IPCUCKOO_TOOL_WHY_H
#define IPCUCKOO_TOOL_WHY_H

#include <json-c/json.h>

/* Print what why has found out, for people. The texts in @answer are changed: what others have written
 * cannot act on the terminal.
 */
void print_why(struct json_object *answer);

#endif /* IPCUCKOO_TOOL_WHY_H */
