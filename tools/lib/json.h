/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IPCUCKOO_TOOL_JSON_H
#define IPCUCKOO_TOOL_JSON_H

#include <json-c/json.h>

/* A string, like json_object_new_string(), which makes invalid JSON of text that is no valid UTF-8:
 * here U+FFFD replaces what is no character. NULL, which json-c takes for null, if there is no
 * memory.
 */
struct json_object *json_new_text(const char *text);

#endif /* IPCUCKOO_TOOL_JSON_H */
