// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "lib/json.h"
#include "lib/utf8.h"

struct json_object *json_new_text(const char *text)
{
	struct json_object *object;
	char *valid;

	if (utf8_is_valid(text))
		return json_object_new_string(text);
	valid = utf8_repair(text);
	object = valid ? json_object_new_string(valid) : NULL;
	free(valid);
	return object;
}
