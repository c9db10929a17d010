// SPDX-License-Identifier: GPL-2.0-only
/*
 * list and save: sets and their members. A set of a million is read packed,
 * sorted in place, and written through one buffer; its members never exist as
 * objects.
 */
#include <inttypes.h>
#include <netdb.h>
#include <stdlib.h>

#include "cli/options.h"
#include "cli/redirect.h"
#include "layout/show.h"
#include "nl/attachment.h"
#include "nl/entry.h"
#include "set/attachment.h"
#include "set/filter.h"
#include "set/mask.h"

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
				    enum item_kind kind)
{
	struct header_item *item = (*next)++;

	item->word = word;
	item->kind = kind;
	item->text[0] = '\0';
	return item;
}

static void add_word(struct header_item **next, const char *word,
		     const char *value)
{
	snprintf(add_item(next, word, ITEM_WORD)->text, sizeof((*next)->text),
		 "%s", value);
}

static void add_number(struct header_item **next, const char *word,
		       uint64_t value)
{
	snprintf(add_item(next, word, ITEM_NUMBER)->text, sizeof((*next)->text),
		 "%llu", (unsigned long long)value);
}

static void add_exact(struct header_item **next, const struct nl_set *set)
{
	char seed[16], mask[ADDRESS_TEXT_SIZE];

	add_number(next, "hashsize", set->hashsize);
	/* No limit is the highest one, to all who read this. */
	add_number(next, "maxelem", set->maxelem ? set->maxelem : UINT32_MAX);
	if (set->netmask)
		add_number(next, "netmask", set->netmask);
	if (set->has_bitmask)
		add_word(next, "bitmask", mask_text(set, mask));
	if (set->options & IPCUCKOO_O_TIMEOUT)
		add_number(next, "timeout", set->timeout);
	if (set->options & IPCUCKOO_O_COUNTERS)
		add_item(next, "counters", ITEM_FLAG);
	if (set->options & IPCUCKOO_O_COMMENT)
		add_item(next, "comment", ITEM_FLAG);
	if (set->flags & IPCUCKOO_F_FORCEADD)
		add_item(next, "forceadd", ITEM_FLAG);
	if (set->options & IPCUCKOO_O_SKBINFO)
		add_item(next, "skbinfo", ITEM_FLAG);
	add_number(next, "bucketsize", set->bucketsize);
	snprintf(seed, sizeof(seed), "0x%08x", set->initval);
	add_word(next, "initval", seed);
}

static void add_filter(struct header_item **next, const struct nl_set *set)
{
	if (set->maxelem)
		add_number(next, "maxelem", set->maxelem);
	add_number(next, "bits", set->bits);
	add_number(next, "capacity", set->capacity);
	if (is_multi(set))
		add_item(next, "multi", ITEM_FLAG);
}

size_t header_items(const struct nl_set *set,
		    struct header_item items[HEADER_ITEMS])
{
	struct header_item *next = items;

	add_word(&next, "family", meaning_word(family_words, set->family));
	if (is_approximate(set))
		add_filter(&next, set);
	else
		add_exact(&next, set);
	return next - items;
}

static void add_info(struct header_item **next, const struct entry_value *value)
{
	uint32_t mask = value->mark >> 32, mark = value->mark;
	struct header_item *item;

	if (value->mark) {
		item = add_item(next, "skbmark", ITEM_WORD);
		if (mask == UINT32_MAX)
			snprintf(item->text, sizeof(item->text), "0x%x", mark);
		else
			snprintf(item->text, sizeof(item->text), "0x%x/0x%x", mark, mask);
	}
	if (value->prio) {
		item = add_item(next, "skbprio", ITEM_WORD);
		snprintf(item->text, sizeof(item->text), "%x:%x", value->prio >> 16,
			 value->prio & 0xffff);
	}
	if (value->queue)
		add_number(next, "skbqueue", value->queue);
}

/* In ipset's order, and as it has them: what is 0 is left out of skbinfo. */
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
		add_item(&next, "nomatch", ITEM_FLAG);
	if (options & IPCUCKOO_O_COUNTERS) {
		add_number(&next, "packets", value->packets);
		add_number(&next, "bytes", value->bytes);
	}
	if (value->comment) {
		item = add_item(&next, "comment", ITEM_WORD);
		snprintf(item->text, sizeof(item->text), "\"%s\"", value->comment);
	}
	add_info(&next, value);
	return next - items;
}

int walk_members(struct listing *listing, const struct packed *entries,
		 int (*visit)(enum entry_kind kind, const uint8_t *entry,
			      void *listing))
{
	const struct valued *valued = &listing->valued;
	int err = 0;
	size_t i;

	if (!entries->kept)
		return packed_walk(entries, visit, listing);
	for (i = 0; i < valued->count && !err; i++) {
		listing->value = &valued->at[i].value;
		err = visit(valued->at[i].kind, valued->at[i].entry, listing);
	}
	listing->value = NULL;
	return err;
}

/* The name of a host in the place of its address, if it has one, as ipset has it
 * and takes it: a name with a dash in brackets, the length of a prefix behind it.
 * Return: its end, or NULL.
 */
static char *resolve(enum entry_kind kind, const uint8_t *entry,
		     char text[MEMBER_TEXT_SIZE])
{
	bool net = kind == ENTRY_NET4 || kind == ENTRY_NET6;
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in four = { .sin_family = AF_INET };
	char name[NI_MAXHOST], *end;
	int err;

	if (kind == ENTRY_HOST4 || kind == ENTRY_NET4) {
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
	return net ? end + sprintf(end, "/%u", entry[entry_size[kind] - 1]) : end;
}

char *member_text(const struct listing *listing, enum entry_kind kind,
		  const uint8_t *entry, char text[MEMBER_TEXT_SIZE])
{
	char *end = listing->tool->resolve ? resolve(kind, entry, text) : NULL;

	return end ? end : entry_format(text, kind, entry);
}

/* Entries that ipset cannot hold: a zero address as a host, and all there is. */
static int find_alien(enum entry_kind kind, const uint8_t *entry, void *data)
{
	static const uint8_t zero[16];
	const struct listing *listing = data;
	bool net = kind == ENTRY_NET4 || kind == ENTRY_NET6;
	size_t size = entry_size[kind];

	if (net)
		return !entry[size - 1];
	return listing->set->type == IPCUCKOO_TYPE_HASH_IP &&
	       !memcmp(entry, zero, size);
}

/* Seconds that ipset can wait: the kernel's timers end after 2^31 ms. */
#define ALIEN_TIMEOUT	(INT32_MAX / 1000)

/* Whether ipset could hold the timeouts of a set. */
static int check_timeouts(struct listing *listing)
{
	const struct nl_set *set = listing->set;
	uint32_t longest = set->timeout;
	size_t i;

	for (i = 0; i < listing->valued.count; i++)
		if (listing->valued.at[i].value.timeout > longest)
			longest = listing->valued.at[i].value.timeout;
	if (longest <= ALIEN_TIMEOUT)
		return STATUS_OK;
	return fail(listing->tool, STATUS_REFUSED,
		    "ipset cannot hold the set %s: %" PRIu32 " seconds are left of a timeout, and it knows %d at most",
		    set->name, longest, ALIEN_TIMEOUT);
}

/* Whether ipset could hold a set. */
static int check_alien(struct listing *listing, const struct packed *entries)
{
	const struct nl_set *set = listing->set;

	if (is_approximate(set))
		return fail(listing->tool, STATUS_REFUSED,
			    "ipset cannot hold the set %s: it has no type filter:ip",
			    set->name);
	if (set->family == IPCUCKOO_FAMILY_ANY)
		return fail(listing->tool, STATUS_REFUSED,
			    "ipset cannot hold the set %s: it has no family any",
			    set->name);
	if (entries && walk_members(listing, entries, find_alien))
		return fail(listing->tool, STATUS_REFUSED,
			    "ipset cannot hold the set %s: %s is an entry",
			    set->name, set->type == IPCUCKOO_TYPE_HASH_IP ?
			    "a zero address" : "a prefix of length 0");
	return check_timeouts(listing);
}

/* Whether restore could read the comments. Ours are; the kernel takes others. */
static int check_comments(const struct listing *listing)
{
	const struct valued *valued = &listing->valued;
	char text[ADDRESS_TEXT_SIZE];
	size_t i;

	for (i = 0; i < valued->count; i++) {
		const struct valued_entry *entry = &valued->at[i];

		if (!entry->value.comment || is_comment(entry->value.comment))
			continue;
		*entry_format(text, entry->kind, entry->entry) = '\0';
		return fail(listing->tool, STATUS_REFUSED,
			    "the set %s cannot be saved: the comment of %s has a quote or a control character, which restore cannot read",
			    listing->set->name, text);
	}
	return STATUS_OK;
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

static void print_set(struct listing *listing, const struct packed *entries)
{
	const struct layout *layout = listing->layout;
	bool save = layout == &layout_save;

	listing->count++;
	listing->members = 0;
	layout->header(listing);
	if (!listing->tool->terse || save)
		layout->members(listing, entries);
	if (layout->close)
		layout->close(listing);
}

/* The members, or, if anything is kept for them, the members with that, which is
 * another dump: some may have expired since the first.
 */
static int read_entries(struct listing *listing, struct packed *entries)
{
	const char *name = listing->set->name;
	struct tool *tool = listing->tool;
	int err, torn;

	err = nl_entries(tool->nl, name, entries);
	torn = err > 0;
	if (err >= 0 && entries->kept) {
		packed_free(entries);
		entries->kept = true;
		err = nl_valued_entries(tool->nl, name, &listing->valued);
		torn |= err > 0;
	}
	if (err < 0)
		return fail_kernel(tool, name, "cannot list set %s", name);
	if (torn) {
		listing->torn = true;
		warn(tool,
		     "the set %s changed while it was read, every time: the list is not of one moment",
		     name);
	}
	packed_sort(entries);
	return STATUS_OK;
}

/* Print a set, or with @check only see whether ipset could hold it. The header counts
 * the members that are printed: some may have expired, or others may have changed the
 * set, since the kernel counted them.
 */
static int show_set(struct listing *listing, const struct nl_set *set, bool check)
{
	bool headers = listing->tool->terse && listing->layout != &layout_save;
	bool exact = !is_approximate(set);
	struct packed entries = { 0 };
	struct nl_set shown = *set;
	int status = STATUS_OK;

	listing->set = &shown;
	if (!headers && exact)
		status = read_entries(listing, &entries);
	if (!status && !headers && exact)
		shown.entries = entries.kept ? listing->valued.count :
						packed_count(&entries);
	if (!status && listing->layout == &layout_save)
		status = check_comments(listing);
	if (!status && check)
		status = check_alien(listing, &entries);
	else if (!status)
		print_set(listing, exact ? &entries : NULL);
	packed_free(&entries);
	valued_free(&listing->valued);
	listing->set = set;
	return status;
}

static int show_sets(struct listing *listing, const struct nl_set *sets,
		     size_t count)
{
	const struct layout *layout = listing->layout;
	bool names = listing->tool->names && layout->name;
	int status = STATUS_OK;
	size_t i;

	for (i = 0; i < count && !status && listing->ipset; i++)
		status = show_set(listing, &sets[i], true);
	if (status)
		return status;
	if (!names && layout != &layout_save &&
	    nl_attachments(listing->tool->nl, &listing->attachments,
			   &listing->attachment_count) < 0)
		return fail_kernel(listing->tool, NULL, "cannot list what is attached");
	if (layout->begin)
		layout->begin(listing);
	for (i = 0; i < count && !status; i++) {
		if (!names) {
			status = show_set(listing, &sets[i], false);
			continue;
		}
		listing->set = &sets[i];
		listing->count++;
		layout->name(listing);
	}
	if (layout->end)
		layout->end(listing);
	free(listing->attachments);
	if (!status && listing->torn)
		status = STATUS_REFUSED;
	return status;
}

static const struct nl_set *find(const char *name, const struct nl_set *sets,
				 size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(sets[i].name, name))
			return &sets[i];
	return NULL;
}

/* What attaches the sets that were printed again. Who attached an approximate
 * one was asked.
 */
static int show_attachments(struct listing *listing, const struct nl_set *sets,
			    size_t count)
{
	char text[ATTACHMENT_TEXT_SIZE];
	struct nl_attachment *all;
	const struct nl_set *set;
	size_t attached, i;
	int err, status = STATUS_OK;

	err = nl_attachments(listing->tool->nl, &all, &attached);
	if (err < 0)
		return fail_kernel(listing->tool, NULL, "cannot list what is attached");
	if (err > 0) {
		listing->torn = true;
		warn(listing->tool,
		     "attachments came and went while they were read: the list is not of one moment");
	}
	for (i = 0; i < attached && !status; i++) {
		set = find(all[i].set, sets, count);
		if (strchr(all[i].dev, '"'))
			status = fail(listing->tool, STATUS_REFUSED,
				      "the device %s has a quote in its name, which restore cannot read",
				      all[i].dev);
		else if (set)
			printf("attach %s%s%s %s\n",
			       is_approximate(set) ? "--approximate " : "",
			       needs_dashes(set->name) ? "-- " : "", set->name,
			       attachment_text(&all[i], text));
	}
	free(all);
	return status;
}

static int show_all(struct listing *listing)
{
	struct tool *tool = listing->tool;
	struct nl_set *sets;
	int err, status;
	size_t count;

	err = nl_sets(tool->nl, &sets, &count);
	if (err < 0)
		return fail_kernel(tool, NULL, "cannot list the sets");
	if (err > 0) {
		listing->torn = true;
		warn(tool,
		     "sets came and went while they were read: the list is not of one moment");
	}
	status = show_sets(listing, sets, count);
	if (!status && listing->attached)
		status = show_attachments(listing, sets, count);
	free(sets);
	if (!status && listing->torn)
		status = STATUS_REFUSED;
	return status;
}

static const struct layout *find_layout(const struct tool *tool,
					const struct layout *otherwise)
{
	switch (tool->output) {
	case OUTPUT_PLAIN:
		return &layout_plain;
	case OUTPUT_SAVE:
		return &layout_save;
	case OUTPUT_XML:
		return &layout_xml;
	case OUTPUT_JSON:
		return &layout_json;
	default:
		return tool->json ? &layout_json : otherwise;
	}
}

/* Attachments are told as commands only, and all together. */
static int check_attached(const struct listing *listing, const struct words *words)
{
	if (words->count)
		return fail(listing->tool, STATUS_USAGE, "give the name of one set, or --all");
	if (listing->layout != &layout_save || listing->ipset)
		return fail(listing->tool, STATUS_USAGE,
			    "save --all prints what restore reads: neither JSON, XML nor ipset have attachments");
	return STATUS_OK;
}

static int show(struct listing *listing, struct words *words,
		const struct keyword *keywords)
{
	struct tool *tool = listing->tool;
	struct redirect redirect;
	struct nl_set set;
	int status;

	status = parse_words(tool, words, keywords, 0, 1);
	if (!status && listing->attached)
		status = check_attached(listing, words);
	if (!status && words->count)
		status = find_set(tool, words->word[0], &set);
	if (!status)
		status = connect_module(tool);
	if (!status)
		status = redirect_begin(tool, &redirect);
	if (status)
		return status;
	status = words->count ? show_sets(listing, &set, 1) : show_all(listing);
	return redirect_end(tool, &redirect, status);
}

int run_list(struct tool *tool, struct words *words)
{
	struct listing listing = {
		.tool = tool, .layout = find_layout(tool, &layout_plain),
	};
	const struct keyword keywords[] = {
		{ .word = "--verbose", .flag = &listing.verbose },
		{ .word = NULL }
	};

	return show(&listing, words, keywords);
}

int run_save(struct tool *tool, struct words *words)
{
	struct listing listing = {
		.tool = tool, .layout = find_layout(tool, &layout_save),
	};
	const struct keyword keywords[] = {
		{ .word = "--ipset", .flag = &listing.ipset },
		{ .word = "--all", .flag = &listing.attached },
		{ .word = NULL }
	};

	return show(&listing, words, keywords);
}
