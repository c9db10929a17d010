// SPDX-License-Identifier: GPL-2.0-only
#include "nl/option.h"
#include "nl/request.h"
#include "nl/set.h"

/* The size of the value of an option that is sent. */
static size_t sent_size(const struct option_spec *option, const struct nl_set *set)
{
	if (option->kind == VALUE_TEXT)
		return strlen(option_field(option, set)) + 1;
	if (option->size == IPCUCKOO_HOST6_SIZE && set->family != IPCUCKOO_FAMILY_INET6)
		return IPCUCKOO_HOST4_SIZE;
	return option->size;
}

void nl_put_set(struct nlmsghdr *nlh, const struct nl_set *set, bool has_maxelem)
{
	const struct option_spec *option;

	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, set->type);
	if (set->options)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_OPTIONS, set->options);
	for (option = set_options; option->word; option++)
		if (option->attr == IPCUCKOO_A_MAXELEM ? has_maxelem : has_value(option, set))
			mnl_attr_put(nlh, option->attr, sent_size(option, set),
				     option_field(option, set));
}

int nl_set_new(struct nl *nl, const struct nl_set *set, bool has_maxelem,
	       uint32_t flags)
{
	nl_put_set(nl_start_for_set(nl, IPCUCKOO_CMD_SET_NEW, set->name,
				    flags | set->flags), set, has_maxelem);
	return nl_talk(nl, NULL, NULL);
}

int nl_set_new_filled(struct nl *nl, const char *name, uint32_t shadow)
{
	struct nlmsghdr *nlh = nl_start_for_set(nl, IPCUCKOO_CMD_SET_NEW, name, 0);

	mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, shadow);
	return nl_talk(nl, NULL, NULL);
}

static void read_option(const struct nlattr **attrs, const struct option_spec *option,
			struct nl_set *set)
{
	size_t size = attrs[option->attr] ? mnl_attr_get_payload_len(attrs[option->attr]) : 0;
	void *field = option_field(option, set);

	memset(field, 0, option->size);
	if (option->kind == VALUE_TEXT)
		nl_string(attrs, option->attr, field, option->size);
	else if (option->size == sizeof(uint8_t))
		*(uint8_t *)field = nl_uint(attrs, option->attr);
	else if (option->size == sizeof(uint32_t))
		*(uint32_t *)field = nl_uint(attrs, option->attr);
	else if (size && size <= option->size)
		memcpy(field, mnl_attr_get_payload(attrs[option->attr]), size);
}

static const uint16_t failed_attrs[FAILURES] = {
	[FAILURE_FULL] = IPCUCKOO_A_FAILED_FULL,
	[FAILURE_COPIES] = IPCUCKOO_A_FAILED_COPIES,
	[FAILURE_QUOTA] = IPCUCKOO_A_FAILED_QUOTA,
	[FAILURE_MEMORY] = IPCUCKOO_A_FAILED_MEMORY,
	[FAILURE_EXIST] = IPCUCKOO_A_FAILED_EXIST,
	[FAILURE_PENDING] = IPCUCKOO_A_FAILED_PENDING,
};

int nl_read_set(const struct nlattr **attrs, void *data)
{
	const struct option_spec *option;
	struct nl_set *set = data;
	int i;

	nl_string(attrs, IPCUCKOO_A_SET, set->name, sizeof(set->name));
	set->type = nl_uint(attrs, IPCUCKOO_A_TYPE);
	set->flags = nl_uint(attrs, IPCUCKOO_A_FLAGS);
	set->options = nl_uint(attrs, IPCUCKOO_A_OPTIONS);
	for (option = set_options; option->word; option++)
		if (option->attr)
			read_option(attrs, option, set);
	set->expired = nl_uint(attrs, IPCUCKOO_A_EXPIRED);
	set->entries = nl_uint(attrs, IPCUCKOO_A_ENTRIES);
	set->hosts = nl_uint(attrs, IPCUCKOO_A_HOSTS);
	set->memory = nl_uint(attrs, IPCUCKOO_A_MEMORY);
	set->slots = nl_uint(attrs, IPCUCKOO_A_SLOTS);
	set->attachments = nl_uint(attrs, IPCUCKOO_A_ATTACHMENTS);
	set->id = nl_uint(attrs, IPCUCKOO_A_SET_ID);
	set->rules = nl_uint(attrs, IPCUCKOO_A_RULES);
	set->generation = nl_uint(attrs, IPCUCKOO_A_GENERATION);
	set->growths = nl_uint(attrs, IPCUCKOO_A_GROWTHS);
	set->rekeys = nl_uint(attrs, IPCUCKOO_A_REKEYS);
	set->displaced = nl_uint(attrs, IPCUCKOO_A_DISPLACED);
	set->fallbacks = nl_uint(attrs, IPCUCKOO_A_FALLBACKS);
	set->retries = nl_uint(attrs, IPCUCKOO_A_RETRIES);
	for (i = 0; i < FAILURES; i++)
		set->failed[i] = nl_uint(attrs, failed_attrs[i]);
	return 0;
}

int nl_set_get(struct nl *nl, const char *name, struct nl_set *set)
{
	memset(set, 0, sizeof(*set));
	nl_start_for_set(nl, IPCUCKOO_CMD_SET_GET, name, 0);
	return nl_talk(nl, nl_read_set, set);
}

int nl_set_del(struct nl *nl, const char *name, uint32_t flags)
{
	nl_start_for_set(nl, IPCUCKOO_CMD_SET_DEL, name, flags);
	return nl_talk(nl, NULL, NULL);
}

int nl_set_flush(struct nl *nl, const char *name)
{
	nl_start_for_set(nl, IPCUCKOO_CMD_SET_FLUSH, name, 0);
	return nl_talk(nl, NULL, NULL);
}

static int request_two_sets(struct nl *nl, uint8_t cmd, const char *name,
			    const char *other)
{
	struct nlmsghdr *nlh = nl_start_for_set(nl, cmd, name, 0);

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET_TO, other);
	return nl_talk(nl, NULL, NULL);
}

int nl_set_rename(struct nl *nl, const char *name, const char *to)
{
	return request_two_sets(nl, IPCUCKOO_CMD_SET_RENAME, name, to);
}

int nl_set_swap(struct nl *nl, const char *name, const char *other)
{
	return request_two_sets(nl, IPCUCKOO_CMD_SET_SWAP, name, other);
}

int nl_set_change(struct nl *nl, const char *name, uint32_t maxelem)
{
	struct nlmsghdr *nlh = nl_start_for_set(nl, IPCUCKOO_CMD_SET_CHANGE, name, 0);

	mnl_attr_put_u32(nlh, IPCUCKOO_A_MAXELEM, maxelem);
	return nl_talk(nl, NULL, NULL);
}

int nl_sets(struct nl *nl, struct nl_set **sets, size_t *count)
{
	int err;

	*sets = nl_gather(nl, IPCUCKOO_CMD_SET_GET, nl_read_set, sizeof(**sets), count,
			  &err);
	return err;
}
