// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "cli/kept.h"
#include "cli/output.h"
#include "daemon/base/memory.h"
#include "daemon/config.h"
#include "daemon/set/guard.h"
#include "daemon/set/merged.h"
#include "daemon/status.h"
#include "daemon/why.h"

/**
 * struct asked - the address that is asked about
 * @v6:		it is one of IPv6
 * @address:	the address, in network byte order
 */
struct asked {
	bool v6;
	uint8_t address[IPCUCKOO_HOST6_SIZE];
};

/* The next prefix that covers the address, from the longest to the shortest one. @len: begins with -1.
 * Return: false at the end.
 */
static bool next_prefix(const struct asked *asked, int *len, enum entry_kind *kind,
			uint8_t entry[IPCUCKOO_NET6_SIZE])
{
	*len = *len < 0 ? (asked->v6 ? 128 : 32) : *len - 1;
	if (*len < 0)
		return false;
	*kind = entry_prefix(asked->v6, asked->address, *len, entry);
	return true;
}

static struct json_object *entry_text_object(enum entry_kind kind, const uint8_t *entry)
{
	char text[ADDRESS_TEXT_SIZE];

	*entry_format(text, kind, entry) = '\0';
	return json_object_new_string(text);
}

static struct json_object *entry_object(const struct source *source, const struct member *member)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "entry", entry_text_object(member->kind, member->entry));
	if (member->expires)
		json_add_int(object, "expires", member->expires);
	json_add_string(object, "comment", member->comment);
	json_add_bool(object, "kept_out", guard_keeps_out(source, member->kind, member->entry));
	if (source->kind->explain)
		source->kind->explain(source, member, object);
	return object;
}

static struct json_object *ask_source(const struct asked *asked, const struct source *source)
{
	struct json_object *array = json_object_new_array();
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	uint32_t now = now_seconds();
	struct member member;
	enum entry_kind kind;
	int len = -1;

	while (next_prefix(asked, &len, &kind, entry)) {
		if (!contents_find(&source->contents, kind, entry, &member))
			continue;
		merged_complete(source, &member);
		if (!member_expired(&member, now))
			json_object_array_add(array, entry_object(source, &member));
	}
	return array;
}

static void add_exception(const struct asked *asked, const struct target *target,
			  struct json_object *object)
{
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	enum entry_kind kind;
	int len = -1;

	while (next_prefix(asked, &len, &kind, entry)) {
		if (!packed_has(&target->exceptions, kind, entry))
			continue;
		json_object_object_add(object, "except", entry_text_object(kind, entry));
		return;
	}
}

static struct json_object *ask_target(const struct asked *asked, const struct target *target)
{
	struct json_object *object = status_of_target(target), *one, *covered;
	struct json_object *sources = json_object_new_array();
	size_t i;

	add_exception(asked, target, object);
	for (i = 0; i < target->source_count; i++) {
		covered = ask_source(asked, target->sources[i]);
		if (!json_object_array_length(covered)) {
			json_object_put(covered);
			continue;
		}
		one = status_of_source(target->sources[i]);
		json_object_object_add(one, "covered_by", covered);
		json_object_array_add(sources, one);
	}
	json_object_object_add(object, "sources", sources);
	return object;
}

char *why_json(const struct config *config, const char *address, bool *done)
{
	struct json_object *object, *sets;
	struct asked asked = { 0 };
	uint8_t family;
	size_t i;

	*done = address_read_host(address, &family, asked.address);
	asked.v6 = *done && family == IPCUCKOO_FAMILY_INET6;
	if (!*done)
		return need_text("\"%s\" is no address; ask: why ADDRESS", address);
	status_begin();
	object = json_object_new_object();
	sets = json_object_new_array();
	json_add_int(object, "namespace", own_namespace());
	for (i = 0; i < config->target_count; i++)
		json_object_array_add(sets, ask_target(&asked, config->targets[i]));
	json_object_object_add(object, "sets", sets);
	return need_json(object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}
