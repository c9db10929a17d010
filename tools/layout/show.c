// SPDX-License-Identifier: GPL-2.0-only
#include <netdb.h>

#include "layout/show.h"
#include "set/attachment.h"
#include "set/options.h"

double load_factor(const struct nl_set *set)
{
	return set->slots ? (double)set->entries / set->slots : 0;
}

double bits_per_entry(const struct nl_set *set)
{
	return set->entries ? 8.0 * set->memory / set->entries : 0;
}

unsigned int type_revision(unsigned int type)
{
	switch (type) {
	case IPCUCKOO_TYPE_HASH_IP:
		return 6;
	case IPCUCKOO_TYPE_HASH_NET:
		return 7;
	}
	return 0;
}

static struct header_item *add_item(struct header_item **next, const char *word,
				    enum value_kind kind)
{
	struct header_item *item = (*next)++;

	item->word = word;
	item->label = NULL;
	item->kind = kind;
	item->text[0] = '\0';
	return item;
}

static void add_number(struct header_item **next, const char *word,
		       uint64_t value)
{
	snprintf(add_item(next, word, VALUE_NUMBER)->text, sizeof((*next)->text),
		 "%llu", (unsigned long long)value);
}

size_t header_items(const struct nl_set *set,
		    struct header_item items[HEADER_ITEMS])
{
	struct header_item *next = items;
	const struct option_spec *option;

	for (option = set_options; option->word && next < items + HEADER_ITEMS; option++) {
		next->word = option->word;
		next->label = option->label;
		next->kind = option->kind;
		next += show_option(option, set, next->text);
	}
	return next - items;
}

static void add_info(struct header_item **next, const struct entry_value *value)
{
	uint32_t mask = value->mark >> 32, mark = value->mark;
	struct header_item *item;

	if (value->mark) {
		item = add_item(next, "skbmark", VALUE_WORD);
		if (mask == UINT32_MAX)
			snprintf(item->text, sizeof(item->text), "0x%x", mark);
		else
			snprintf(item->text, sizeof(item->text), "0x%x/0x%x", mark, mask);
	}
	if (value->prio) {
		item = add_item(next, "skbprio", VALUE_WORD);
		snprintf(item->text, sizeof(item->text), "%x:%x", value->prio >> 16,
			 value->prio & 0xffff);
	}
	if (value->queue)
		add_number(next, "skbqueue", value->queue);
}

/* In ipset's order. As ipset does, leave out parts of skbinfo that are 0. */
size_t value_items(const struct listing *listing,
		   struct header_item items[HEADER_ITEMS])
{
	const struct entry_value *value = listing->value;
	uint32_t options = listing->set->options;
	struct header_item *next = items, *item;

	if (!value)
		return 0;
	if (options & IPCUCKOO_O_TIMEOUT)
		add_number(&next, "timeout", value->timeout);
	if (value->nomatch)
		add_item(&next, "nomatch", VALUE_FLAG);
	if (options & IPCUCKOO_O_COUNTERS) {
		add_number(&next, "packets", value->packets);
		add_number(&next, "bytes", value->bytes);
	}
	if (value->comment) {
		item = add_item(&next, "comment", VALUE_TEXT);
		snprintf(item->text, sizeof(item->text), "%s", value->comment);
	}
	add_info(&next, value);
	return next - items;
}

int walk_members(struct listing *listing, const struct packed *entries,
		 int (*visit)(enum entry_kind kind, const uint8_t *entry,
			      void *listing))
{
	const struct extended *extended = &listing->extended;
	int err = 0;
	size_t i;

	if (!entries->has_extensions)
		return packed_walk(entries, visit, listing);
	for (i = 0; i < extended->count && !err; i++) {
		listing->value = &extended->at[i].value;
		err = visit(extended->at[i].kind, extended->at[i].entry, listing);
	}
	listing->value = NULL;
	return err;
}

/* Write the host name of an address in ipset's syntax: brackets around a name with a dash,
 * and the prefix length after the name. Return: the end of the text; NULL if the address
 * has no name.
 */
static char *resolve(enum entry_kind kind, const uint8_t *entry,
		     char text[MEMBER_TEXT_SIZE])
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in four = { .sin_family = AF_INET };
	char name[NI_MAXHOST], *end;
	int err;

	if (!is_v6(kind)) {
		memcpy(&four.sin_addr, entry, 4);
		err = getnameinfo((void *)&four, sizeof(four), name,
				  sizeof(name), NULL, 0, NI_NAMEREQD);
	} else {
		memcpy(&six.sin6_addr, entry, 16);
		err = getnameinfo((void *)&six, sizeof(six), name, sizeof(name),
				  NULL, 0, NI_NAMEREQD);
	}
	if (err)
		return NULL;
	end = text + sprintf(text, strchr(name, '-') ? "[%s]" : "%s", name);
	return is_net(kind) ? end + sprintf(end, "/%u", entry[entry_size[kind] - 1]) : end;
}

char *member_text(const struct listing *listing, enum entry_kind kind,
		  const uint8_t *entry, char text[MEMBER_TEXT_SIZE])
{
	char *end = listing->tool->resolve ? resolve(kind, entry, text) : NULL;

	return end ? end : entry_format(text, kind, entry);
}

const struct nl_attachment *next_inactive(const struct listing *listing, size_t *from)
{
	const struct nl_attachment *at;

	while (*from < listing->attachment_count) {
		at = &listing->attachments[(*from)++];
		if (!strcmp(at->set, listing->set->name) && !is_active(at))
			return at;
	}
	return NULL;
}
