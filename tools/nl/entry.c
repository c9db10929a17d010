// SPDX-License-Identifier: GPL-2.0-only
#include "nl/entry.h"
#include "nl/request.h"

/* The attribute of each extension, and its option */
static const struct {
	int attr;
	uint32_t option;
} extensions[] = {
	{ IPCUCKOO_A_TIMEOUTS, IPCUCKOO_O_TIMEOUT },
	{ IPCUCKOO_A_COUNTERS, IPCUCKOO_O_COUNTERS },
	{ IPCUCKOO_A_SKBINFOS, IPCUCKOO_O_SKBINFO },
	{ IPCUCKOO_A_COMMENTS, IPCUCKOO_O_COMMENT },
	{ IPCUCKOO_A_NOMATCHES, NL_NOMATCH },
};

#define EXTENSIONS	(sizeof(extensions) / sizeof(extensions[0]))

uint32_t nl_read_options(const struct nlattr **attrs)
{
	uint32_t options = 0;
	size_t i;

	for (i = 0; i < EXTENSIONS; i++)
		if (attrs[extensions[i].attr])
			options |= extensions[i].option;
	return options;
}

int nl_read_entries(const struct nlattr **attrs, void *data)
{
	struct packed *entries = data;
	struct entry_array *array;
	const struct nlattr *attr;
	size_t more;
	int kind;

	for (kind = 0; kind < ENTRY_KINDS; kind++) {
		attr = attrs[IPCUCKOO_A_HOSTS4 + kind];
		if (!attr)
			continue;
		more = mnl_attr_get_payload_len(attr) / entry_size[kind];
		if (packed_grow(entries, kind, more))
			return -ENOMEM;
		array = &entries->kind[kind];
		memcpy(array->data + array->count * entry_size[kind],
		       mnl_attr_get_payload(attr), more * entry_size[kind]);
		array->count += more;
	}
	entries->has_extensions |= nl_read_options(attrs);
	return 0;
}

static void forget_entries(void *data)
{
	packed_clear(data);
}

int nl_entries(struct nl *nl, const char *set, struct packed *entries)
{
	return nl_dump_entries(nl, set, forget_entries, nl_read_entries, entries);
}

/* Read and write big-endian numbers, which need not be aligned. */
static uint64_t get_be(const uint8_t *p, unsigned int bytes)
{
	uint64_t n = 0;

	while (bytes--)
		n = n << 8 | *p++;
	return n;
}

static uint8_t *put_be(uint8_t *p, uint64_t n, unsigned int bytes)
{
	for (p += bytes; bytes--; n >>= 8)
		*--p = n;
	return p;
}

/* NUL-terminated strings, one after the other. */
struct strings {
	const char *next;
	const char *end;
};

/* Take the next string. Return: NULL if it is empty, or if there is none. */
static char *take_string(struct strings *strings)
{
	const char *text = strings->next;

	if (text == strings->end)
		return NULL;
	strings->next += strlen(text) + 1;
	return *text ? (char *)text : NULL;
}

/* Read the extensions of entry number @n of a message. Comments differ in length, so the
 * function must be called for all entries in order.
 */
static struct entry_value read_value(const struct nlattr **attrs, size_t n,
				     struct strings *comments)
{
	const uint8_t *timeouts = NULL, *counters = NULL, *infos = NULL, *nomatches = NULL;
	struct entry_value value = { 0 };
	const struct {
		const uint8_t **data;
		int attr;
		size_t size;
	} arrays[] = {
		{ &timeouts, IPCUCKOO_A_TIMEOUTS, IPCUCKOO_TIMEOUT_SIZE },
		{ &counters, IPCUCKOO_A_COUNTERS, IPCUCKOO_COUNTERS_SIZE },
		{ &infos, IPCUCKOO_A_SKBINFOS, IPCUCKOO_SKBINFO_SIZE },
		{ &nomatches, IPCUCKOO_A_NOMATCHES, IPCUCKOO_NOMATCH_SIZE },
	};
	const struct nlattr *attr;
	unsigned int i;

	for (i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
		attr = attrs[arrays[i].attr];
		if (attr && mnl_attr_get_payload_len(attr) >= (n + 1) * arrays[i].size)
			*arrays[i].data = (const uint8_t *)mnl_attr_get_payload(attr) +
					  n * arrays[i].size;
	}
	if (timeouts)
		value.timeout = get_be(timeouts, 4);
	if (counters) {
		value.packets = get_be(counters, 8);
		value.bytes = get_be(counters + 8, 8);
	}
	if (infos) {
		value.mark = get_be(infos, 8);
		value.prio = get_be(infos + 8, 4);
		value.queue = get_be(infos + 12, 2);
	}
	value.nomatch = nomatches && *nomatches;
	value.comment = take_string(comments);
	return value;
}

/* Get the strings that an attribute holds, one after the other, for take_string(). None if
 * there is no attribute (NULL), or if its last byte is not NUL.
 */
static struct strings get_strings(const struct nlattr *attr)
{
	const char *text = attr ? mnl_attr_get_payload(attr) : NULL;
	size_t len = attr ? mnl_attr_get_payload_len(attr) : 0;

	if (!len || text[len - 1])
		return (struct strings){ NULL, NULL };
	return (struct strings){ text, text + len };
}

int nl_read_extended(const struct nlattr **attrs, void *data)
{
	struct strings comments = get_strings(attrs[IPCUCKOO_A_COMMENTS]);
	struct extended *entries = data;
	struct entry_value value;
	const struct nlattr *attr;
	const uint8_t *entry;
	size_t n = 0, i, count;
	int kind, err;

	for (kind = 0; kind < ENTRY_KINDS; kind++) {
		attr = attrs[IPCUCKOO_A_HOSTS4 + kind];
		count = attr ? mnl_attr_get_payload_len(attr) / entry_size[kind] : 0;
		entry = attr ? mnl_attr_get_payload(attr) : NULL;
		for (i = 0; i < count; i++, n++, entry += entry_size[kind]) {
			value = read_value(attrs, n, &comments);
			err = extended_add(entries, kind, entry, &value);
			if (err)
				return err;
		}
	}
	return 0;
}

static void forget_extended(void *data)
{
	extended_free(data);
}

int nl_extended_entries(struct nl *nl, const char *set, struct extended *entries)
{
	int err = nl_dump_entries(nl, set, forget_extended, nl_read_extended, entries);

	if (err >= 0 && extended_sort(entries))
		return -ENOMEM;
	return err;
}

/* Number of the first entry that does not fit into a message that begins with entry
 * number @from.
 */
static size_t extended_end(const struct extended *entries, size_t from)
{
	size_t heads = 10 * (MNL_ATTR_HDRLEN + MNL_ALIGNTO), size = heads;

	for (; from < entries->count; from++) {
		size += extended_size(&entries->at[from]);
		if (size > ENTRIES_SIZE)
			break;
	}
	return from;
}

bool nl_extended_fits(const struct extended *entries)
{
	return extended_end(entries, 0) == entries->count;
}

static uint8_t *put_value(uint8_t *to, const struct entry_value *value, int attr)
{
	const char *comment = value->comment ? value->comment : "";

	switch (attr) {
	case IPCUCKOO_A_TIMEOUTS:
		put_be(to, value->timeout, 4);
		return to + IPCUCKOO_TIMEOUT_SIZE;
	case IPCUCKOO_A_COUNTERS:
		put_be(to, value->packets, 8);
		put_be(to + 8, value->bytes, 8);
		return to + IPCUCKOO_COUNTERS_SIZE;
	case IPCUCKOO_A_SKBINFOS:
		put_be(to, value->mark, 8);
		put_be(to + 8, value->prio, 4);
		put_be(to + 12, value->queue, 2);
		put_be(to + 14, 0, 2);
		return to + IPCUCKOO_SKBINFO_SIZE;
	case IPCUCKOO_A_COMMENTS:
		return (uint8_t *)stpcpy((char *)to, comment) + 1;
	default:
		*to = value->nomatch;
		return to + IPCUCKOO_NOMATCH_SIZE;
	}
}

/*
 * Append one attribute. If @kind is not -1, it contains the entries of that kind. Else it
 * contains an extension, @type, of all entries, in the order of the protocol: sorted by
 * kind.
 */
static void put_extended(struct nlmsghdr *nlh, const struct extended *entries,
			 size_t from, size_t end, int type, int kind)
{
	struct nlattr *attr = mnl_nlmsg_get_payload_tail(nlh);
	uint8_t *to = mnl_attr_get_payload(attr);
	int k;
	size_t i;

	for (k = 0; k < ENTRY_KINDS; k++) {
		for (i = from; i < end; i++) {
			const struct extended_entry *at = &entries->at[i];

			if ((int)at->kind != k || (kind >= 0 && k != kind))
				continue;
			if (kind >= 0)
				to = (uint8_t *)memcpy(to, at->entry, entry_size[k]) +
				     entry_size[k];
			else
				to = put_value(to, &at->value, type);
		}
	}
	attr->nla_type = type;
	attr->nla_len = to - (uint8_t *)attr;
	if (attr->nla_len > MNL_ATTR_HDRLEN)
		nlh->nlmsg_len += MNL_ALIGN(attr->nla_len);
}

int nl_extended_add(struct nl *nl, const char *set, uint32_t shadow,
		    struct nl_extended *extended, uint32_t flags, struct nl_change *change)
{
	size_t end = extended_end(extended->entries, extended->from);
	struct nlmsghdr *nlh;
	unsigned int i;
	int kind, err;

	nlh = set ? nl_start_for_set(nl, IPCUCKOO_CMD_ENTRY_ADD, set, flags) :
		    nl_start_for_shadow(nl, IPCUCKOO_CMD_SHADOW_ADD, shadow, 0);
	memset(change, 0, sizeof(*change));
	nl->sent = extended->sent;
	for (kind = 0; kind < ENTRY_KINDS; kind++)
		put_extended(nlh, extended->entries, extended->from, end,
			     IPCUCKOO_A_HOSTS4 + kind, kind);
	for (i = 0; i < EXTENSIONS; i++)
		if (extended->options & extensions[i].option)
			put_extended(nlh, extended->entries, extended->from, end,
				     extensions[i].attr, -1);
	for (; extended->from < end; extended->from++)
		extended->sent.at[extended->entries->at[extended->from].kind]++;
	err = nl_talk(nl, nl_read_change, change);
	return err ? err : end < extended->entries->count;
}

/* Append as many entries as fit into the message, beginning at the cursor, and advance
 * the cursor. Return: 1 if entries are left, else 0.
 */
int nl_put_entries(struct nl *nl, struct nlmsghdr *nlh,
		   const struct packed *entries, struct nl_cursor *cursor)
{
	size_t budget = ENTRIES_SIZE, count, size;
	const struct entry_array *array;
	int kind, left = 0;

	nl->sent = *cursor;
	for (kind = 0; kind < ENTRY_KINDS; kind++) {
		array = &entries->kind[kind];
		size = entry_size[kind];
		count = array->count - cursor->at[kind];
		if (!count)
			continue;
		if (budget < MNL_ATTR_HDRLEN + MNL_ALIGN(size))
			return 1;
		if (count > (budget - MNL_ATTR_HDRLEN) / size) {
			count = (budget - MNL_ATTR_HDRLEN) / size;
			left = 1;
		}
		mnl_attr_put(nlh, IPCUCKOO_A_HOSTS4 + kind, count * size,
			     array->data + cursor->at[kind] * size);
		cursor->at[kind] += count;
		size = MNL_ATTR_HDRLEN + MNL_ALIGN(count * size);
		budget -= size < budget ? size : budget;
	}
	return left;
}

bool nl_fits(const struct packed *entries)
{
	size_t size = 0;
	int kind;

	for (kind = 0; kind < ENTRY_KINDS; kind++)
		if (entries->kind[kind].count)
			size += MNL_ATTR_HDRLEN +
				MNL_ALIGN(entries->kind[kind].count *
					  entry_size[kind]);
	return size <= ENTRIES_SIZE;
}

static int change_entries(struct nl *nl, uint8_t cmd, const char *set,
			  const struct packed *entries, uint32_t flags,
			  struct nl_change *change)
{
	struct nl_cursor cursor = { 0 };
	struct nlmsghdr *nlh = nl_start_for_set(nl, cmd, set, flags);

	memset(change, 0, sizeof(*change));
	if (nl_put_entries(nl, nlh, entries, &cursor))
		return nl_fail(nl, -EMSGSIZE);
	return nl_talk(nl, nl_read_change, change);
}

int nl_entry_add(struct nl *nl, const char *set, const struct packed *entries,
		 uint32_t flags, struct nl_change *change)
{
	return change_entries(nl, IPCUCKOO_CMD_ENTRY_ADD, set, entries, flags,
			      change);
}

int nl_entry_del(struct nl *nl, const char *set, const struct packed *entries,
		 uint32_t flags, struct nl_change *change)
{
	return change_entries(nl, IPCUCKOO_CMD_ENTRY_DEL, set, entries, flags,
			      change);
}

static int read_test(const struct nlattr **attrs, void *data)
{
	struct strings none = { NULL, NULL };
	struct nl_test *test = data;

	test->has_value = nl_read_options(attrs) & ~NL_NOMATCH;
	test->value = read_value(attrs, 0, &none);
	nl_string(attrs, IPCUCKOO_A_COMMENTS, test->comment, sizeof(test->comment));
	test->found = nl_uint(attrs, IPCUCKOO_A_FOUND);
	test->nomatch = attrs[IPCUCKOO_A_NOMATCHES];
	test->copies = nl_uint(attrs, IPCUCKOO_A_COPIES);
	test->prefix_len = nl_uint(attrs, IPCUCKOO_A_PREFIX_LEN);
	return 0;
}

int nl_entry_test(struct nl *nl, const char *set, const struct packed *entry,
		  struct nl_test *test)
{
	struct nl_cursor cursor = { 0 };
	struct nlmsghdr *nlh = nl_start_for_set(nl, IPCUCKOO_CMD_ENTRY_TEST, set,
						0);

	memset(test, 0, sizeof(*test));
	nl_put_entries(nl, nlh, entry, &cursor);
	return nl_talk(nl, read_test, test);
}
