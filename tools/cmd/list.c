// SPDX-License-Identifier: GPL-2.0-only
/*
 * list and save: print sets and their members. Members are read in packed form, sorted
 * in place, and written through one buffer. A set may have millions of them, so there is
 * no object for each.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/globals.h"
#include "cli/options.h"
#include "cli/redirect.h"
#include "cmd/commands.h"
#include "layout/show.h"
#include "lib/escape.h"
#include "nl/attachment.h"
#include "nl/entry.h"
#include "set/attachment.h"
#include "set/filter.h"
#include "set/mask.h"

/* Whether ipset cannot store an entry: a prefix of length 0, or, in a set of hosts, an
 * address of zeros.
 */
static int find_alien(enum entry_kind kind, const uint8_t *entry, void *data)
{
	static const uint8_t zero[16];
	const struct listing *listing = data;
	size_t size = entry_size[kind];

	if (is_net(kind))
		return !entry[size - 1];
	return listing->set->type == IPCUCKOO_TYPE_HASH_IP &&
	       !memcmp(entry, zero, size);
}

/* The longest timeout of ipset in seconds: its timers count up to 2^31 ms. */
#define ALIEN_TIMEOUT	(INT32_MAX / 1000)

/* Refuse to save a set for ipset if ipset cannot store its timeouts. */
static int check_timeouts(struct listing *listing)
{
	const struct nl_set *set = listing->set;
	uint32_t longest = set->timeout;
	size_t i;

	for (i = 0; i < listing->extended.count; i++)
		if (listing->extended.at[i].value.timeout > longest)
			longest = listing->extended.at[i].value.timeout;
	if (longest <= ALIEN_TIMEOUT)
		return STATUS_OK;
	return fail(listing->tool, STATUS_REFUSED,
		    "ipset cannot hold the set %s: it has a timeout of %" PRIu32 " seconds, and ipset allows %d at most",
		    set->name, longest, ALIEN_TIMEOUT);
}

/* Does hash:ip of ipset have the option bitmask here? The kernel's own has it since 6.3. */
static bool ipset_has_bitmask(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;

	if (!access("/sys/module/ipcuckoo_ipset", F_OK))
		return true;
	return !uname(&name) && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 3));
}

/* Refuse to save a set for ipset if ipset cannot store it. */
static int check_alien(struct listing *listing, const struct packed *entries)
{
	const struct option_spec *option = set_options;
	const struct nl_set *set = listing->set;

	if (is_approximate(set))
		return fail(listing->tool, STATUS_REFUSED,
			    "ipset cannot hold the set %s: ipset has no type filter:ip",
			    set->name);
	for (; option->word; option++)
		if (option->label && has_value(option, set))
			return fail(listing->tool, STATUS_REFUSED,
				    "ipset cannot hold the set %s: ipset has no option %s",
				    set->name, option->word);
	if (set->family == IPCUCKOO_FAMILY_ANY)
		return fail(listing->tool, STATUS_REFUSED,
			    "ipset cannot hold the set %s: ipset has no family any",
			    set->name);
	if (has_bitmask(set) && !ipset_has_bitmask())
		return fail(listing->tool, STATUS_REFUSED,
			    "ipset cannot hold the set %s: its hash:ip has no option bitmask before Linux 6.3",
			    set->name);
	if (entries && walk_members(listing, entries, find_alien))
		return fail(listing->tool, STATUS_REFUSED,
			    "ipset cannot hold the set %s: it has %s as an entry",
			    set->name, set->type == IPCUCKOO_TYPE_HASH_IP ?
			    "a zero address" : "a prefix of length 0");
	return check_timeouts(listing);
}

/* A set of ip_set may have a name that restore cannot read. Refuse to save it; leave it out if all sets
 * are saved.
 */
static int check_name(struct listing *listing)
{
	char name[ESCAPED_SIZE(IPCUCKOO_NAME_SIZE)];

	if (is_set_name(listing->set->name))
		return STATUS_OK;
	escape_text(listing->set->name, "", "\\x", name);
	if (listing->named)
		return fail(listing->tool, STATUS_REFUSED,
			    "the set \"%s\" of ip_set cannot be saved: restore cannot read such a name",
			    name);
	warn(listing->tool,
	     "Warning: the set \"%s\" of ip_set is left out: restore cannot read such a name", name);
	listing->gone = true;
	return STATUS_OK;
}

/* Refuse to save comments that restore cannot read. The tool does not create such
 * comments, but the kernel accepts them from other programs.
 */
static int check_comments(const struct listing *listing)
{
	const struct extended *extended = &listing->extended;
	char text[ADDRESS_TEXT_SIZE];
	size_t i;

	for (i = 0; i < extended->count; i++) {
		const struct extended_entry *entry = &extended->at[i];

		if (!entry->value.comment || is_comment(entry->value.comment))
			continue;
		*entry_format(text, entry->kind, entry->entry) = '\0';
		return fail(listing->tool, STATUS_REFUSED,
			    "the set %s cannot be saved: the comment of %s has a quote or a control character, which restore cannot read",
			    listing->set->name, text);
	}
	return STATUS_OK;
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

/* Read the members. If they have extensions, read the members again with them; some may
 * have expired between the two dumps. If all sets are listed, one that others have destroyed
 * meanwhile is left out.
 */
static int read_members(struct listing *listing, struct packed *entries)
{
	const char *name = listing->set->name;
	struct tool *tool = listing->tool;
	int err, torn;

	err = nl_entries(tool->nl, name, entries);
	torn = err > 0;
	if (err >= 0 && entries->has_extensions) {
		packed_free(entries);
		entries->has_extensions = true;
		err = nl_extended_entries(tool->nl, name, &listing->extended);
		torn |= err > 0;
	}
	listing->gone = err == -ENOENT && !listing->named;
	if (listing->gone)
		return STATUS_OK;
	if (err < 0)
		return fail_kernel(tool, name, "cannot list set %s", name);
	if (torn) {
		listing->torn = true;
		warn(tool,
		     "the set %s was changed during every attempt to read it, and the kernel cannot copy it: the list may mix old and new entries",
		     name);
	}
	packed_sort(entries);
	return STATUS_OK;
}

/* Print a set; with @check, only check that ipset can store it. The header shows the
 * number of members that are printed. The number from the kernel may be out of date:
 * members may have expired, or other processes may have changed the set.
 */
static int show_set(struct listing *listing, const struct nl_set *set, bool check)
{
	bool headers = listing->tool->terse && listing->layout != &layout_save;
	bool exact = !is_approximate(set);
	struct packed entries = { 0 };
	struct nl_set shown = *set;
	int status = STATUS_OK;

	listing->set = &shown;
	listing->gone = false;
	/* Older kernels know only netmasks. */
	if (listing->ipset)
		mask_make_netmask(&shown);
	if (!headers && exact)
		status = read_members(listing, &entries);
	if (!status && !headers && exact)
		shown.entries = entries.has_extensions ? listing->extended.count :
				packed_count(&entries);
	if (!status && listing->layout == &layout_save)
		status = check_name(listing);
	if (!status && listing->layout == &layout_save)
		status = check_comments(listing);
	if (!status && check)
		status = check_alien(listing, &entries);
	else if (!status && !listing->gone)
		print_set(listing, exact ? &entries : NULL);
	packed_free(&entries);
	extended_free(&listing->extended);
	listing->set = set;
	return status;
}

/* Sets that are gone lose their names, so that no attachment of such a name is printed either. */
static int show_sets(struct listing *listing, struct nl_set *sets, size_t count)
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
			if (listing->gone)
				sets[i].name[0] = '\0';
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

/* Print the commands that attach the sets. Approximate sets get --approximate: whoever
 * attached them had to agree.
 */
static int show_attachments(struct listing *listing, const struct nl_set *sets,
			    size_t count)
{
	char text[ATTACHMENT_TEXT_SIZE];
	struct nl_attachment *all;
	const struct nl_set *set;
	size_t attached, i;
	int err;

	err = nl_attachments(listing->tool->nl, &all, &attached);
	if (err < 0)
		return fail_kernel(listing->tool, NULL, "cannot list what is attached");
	if (err > 0) {
		listing->torn = true;
		warn(listing->tool,
		     "attachments were changed during every attempt to read them: the list may mix old and new ones");
	}
	for (i = 0; i < attached; i++) {
		set = find(all[i].set, sets, count);
		if (set)
			printf("attach %s%s%s %s\n",
			       is_approximate(set) ? "--approximate " : "",
			       needs_dashes(set->name) ? "-- " : "", set->name,
			       attachment_text(&all[i], text));
	}
	free(all);
	return STATUS_OK;
}

/* What is saved is to be restored beside what "ipset save" prints. Return: the number of sets left. */
static size_t leave_out_ipset(struct nl_set *sets, size_t count)
{
	size_t i, left = 0;

	for (i = 0; i < count; i++)
		if (!is_ipset(&sets[i]))
			sets[left++] = sets[i];
	return left;
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
		     "sets were changed during every attempt to read them: the list may mix old and new ones");
	}
	if (listing->own)
		count = leave_out_ipset(sets, count);
	if (listing->attached)
		puts(SAVE_BEGIN);
	status = show_sets(listing, sets, count);
	if (!status && listing->attached)
		status = show_attachments(listing, sets, count);
	if (!status && listing->attached)
		puts(SAVE_END);
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

/* Attachments can only be saved as commands, and only those of all sets. */
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
	if (!status && words->count && strchr(words->word[0], '/') && listing->own)
		return fail(tool, STATUS_USAGE, "%s is no name of a set; to save all sets into a file: ipcuckoo save --all -file %s",
			    words->word[0], words->word[0]);
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
	listing->named = words->count;
	listing->terminal = listing->layout == &layout_plain && isatty(STDOUT_FILENO);
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
		.tool = tool, .layout = find_layout(tool, &layout_save), .own = true,
	};
	const struct keyword keywords[] = {
		{ .word = "--ipset", .flag = &listing.ipset },
		{ .word = "--all", .flag = &listing.attached },
		{ .word = NULL }
	};

	return show(&listing, words, keywords);
}
