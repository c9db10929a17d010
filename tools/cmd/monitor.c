// SPDX-License-Identifier: GPL-2.0-only
/*
 * monitor: prints a line for each event as it happens, without buffering.
 */
#include <poll.h>
#include <signal.h>
#include <stdio_ext.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/output.h"
#include "cmd/commands.h"
#include "layout/show.h"
#include "lib/escape.h"
#include "nl/event.h"
#include "set/attachment.h"

static const struct meaning event_words[] = {
	{ "new",	IPCUCKOO_EVENT_SET_NEW },
	{ "destroyed",	IPCUCKOO_EVENT_SET_DESTROYED },
	{ "flushed",	IPCUCKOO_EVENT_SET_FLUSHED },
	{ "replaced",	IPCUCKOO_EVENT_SET_REPLACED },
	{ "added",	IPCUCKOO_EVENT_ENTRIES_ADDED },
	{ "updated",	IPCUCKOO_EVENT_ENTRIES_UPDATED },
	{ "deleted",	IPCUCKOO_EVENT_ENTRIES_DELETED },
	{ "expired",	IPCUCKOO_EVENT_ENTRIES_EXPIRED },
	{ "attached",	IPCUCKOO_EVENT_ATTACHED },
	{ "detached",	IPCUCKOO_EVENT_DETACHED },
	{ "state",	IPCUCKOO_EVENT_STATE_CHANGED },
	{ "renamed",	IPCUCKOO_EVENT_SET_RENAMED },
	{ "swapped",	IPCUCKOO_EVENT_SET_SWAPPED },
	{ "changed",	IPCUCKOO_EVENT_SET_CHANGED },
	{ NULL, 0 }
};

static bool is_attachment(const struct nl_event *event)
{
	return event->type == IPCUCKOO_EVENT_ATTACHED ||
	       event->type == IPCUCKOO_EVENT_DETACHED ||
	       event->type == IPCUCKOO_EVENT_STATE_CHANGED;
}

static int print_entry(enum entry_kind kind, const uint8_t *entry, void *data)
{
	char text[ADDRESS_TEXT_SIZE], *end = entry_format(text, kind, entry);

	(void)data;
	fputc(' ', stdout);
	fwrite(text, end - text, 1, stdout);
	return 0;
}

/* Print entries with their extensions, a line for each, which ends as that of save does. */
static void print_extended(struct tool *tool, const struct nl_event *event)
{
	struct listing listing = { .tool = tool, .set = &event->set };
	char name[ESCAPED_SIZE(IPCUCKOO_NAME_SIZE)];
	const struct extended_entry *entry;
	bool terminal = isatty(STDOUT_FILENO);
	size_t i;

	escape_text(event->set.name, " ", "\\x", name);
	for (i = 0; i < event->extended.count; i++) {
		entry = &event->extended.at[i];
		printf("%s %s", meaning_word(event_words, event->type), name);
		print_entry(entry->kind, entry->entry, NULL);
		listing.value = &entry->value;
		/* Other programs may have given it a comment with control characters. */
		listing.terminal = terminal ||
				   (entry->value.comment && !is_comment(entry->value.comment));
		print_value(&listing);
	}
}

static void print_event(const struct nl_event *event)
{
	char text[ATTACHMENT_TEXT_SIZE], state[STATE_TEXT_SIZE];
	char name[ESCAPED_SIZE(IPCUCKOO_NAME_SIZE)];
	const struct nl_set *set = &event->set;

	printf("%s %s", meaning_word(event_words, event->type),
	       escape_text(set->name, " ", "\\x", name));
	if (is_attachment(event))
		printf(" %s", attachment_text(&event->attachment, text));
	else if (event->type == IPCUCKOO_EVENT_SET_NEW)
		printf(" %s family %s", meaning_word(type_words, set->type),
		       meaning_word(family_words, set->family));
	else if (event->type == IPCUCKOO_EVENT_SET_REPLACED)
		printf(" %u entries", set->entries);
	else if (event->type == IPCUCKOO_EVENT_SET_CHANGED)
		printf(" maxelem %u", set->maxelem);
	else if (event->to[0])
		printf(" %s", escape_text(event->to, " ", "\\x", name));
	if (event->type == IPCUCKOO_EVENT_STATE_CHANGED)
		printf(": %s", state_text(&event->attachment, state));
	packed_walk(&event->entries, print_entry, NULL);
	fputc('\n', stdout);
}

static int add_entry(enum entry_kind kind, const uint8_t *entry, void *data)
{
	char text[ADDRESS_TEXT_SIZE], *end = entry_format(text, kind, entry);

	json_object_array_add(data, json_object_new_string_len(text, end - text));
	return 0;
}

/* The entries with their extensions, as list prints members */
static struct json_object *json_members(struct tool *tool, const struct nl_event *event)
{
	struct listing listing = { .tool = tool, .set = &event->set };
	struct json_object *members = json_object_new_array(), *member;
	struct header_item items[HEADER_ITEMS];
	const struct extended_entry *entry;
	char text[ADDRESS_TEXT_SIZE];
	size_t i;

	for (i = 0; i < event->extended.count; i++) {
		entry = &event->extended.at[i];
		*entry_format(text, entry->kind, entry->entry) = '\0';
		member = json_object_new_object();
		json_add_string(member, "elem", text);
		listing.value = &entry->value;
		json_add_items(member, items, value_items(&listing, items));
		json_object_array_add(members, member);
	}
	return members;
}

static void print_json_event(struct tool *tool, const struct nl_event *event)
{
	struct json_object *object = json_object_new_object(), *entries;
	const struct nl_set *set = &event->set;

	json_add_string(object, "event", meaning_word(event_words, event->type));
	json_add_string(object, "set", set->name);
	if (is_attachment(event)) {
		json_object_object_add(object, "attachment",
				       json_attachment(&event->attachment));
		json_print(object);
		return;
	}
	if (event->to[0]) {
		json_add_string(object, "to", event->to);
		json_print(object);
		return;
	}
	if (set->type) {
		json_add_string(object, "type",
				meaning_word(type_words, set->type));
		json_add_string(object, "family",
				meaning_word(family_words, set->family));
		json_add_uint(object, "maxelem", set->maxelem);
	}
	json_add_uint(object, "count", set->entries);
	json_add_uint(object, "generation", set->generation);
	if (packed_count(&event->entries)) {
		entries = json_object_new_array();
		packed_walk(&event->entries, add_entry, entries);
		json_object_object_add(object, "entries", entries);
	}
	if (event->extended.count)
		json_object_object_add(object, "members", json_members(tool, event));
	json_print(object);
}

/* Print a line about the monitor itself. As JSON, it has @word alone. */
static void print_notice(const struct tool *tool, const char *word, const char *text)
{
	struct json_object *object;

	if (!tool->json) {
		printf("%s: %s\n", word, text);
		return;
	}
	object = json_object_new_object();
	json_add_string(object, "event", word);
	json_print(object);
}

/* Read one event and print it, or set @lost if the kernel dropped some. Return:
 * STATUS_OK, or another status after a message.
 */
static int take_event(struct tool *tool, struct nl_event *event, bool *lost)
{
	int err = nl_event(tool->nl, event);

	if (err == -EAGAIN || err == -EINTR)
		return STATUS_OK;
	if (err == -ENODEV)
		return fail(tool, STATUS_ABSENT, "the kernel module was unloaded");
	if (err == -ENOBUFS)
		*lost = true;
	else if (err)
		return fail_kernel(tool, NULL, "cannot read events");
	else if (tool->json)
		print_json_event(tool, event);
	else if (event->extended.count)
		print_extended(tool, event);
	else
		print_event(event);
	return STATUS_OK;
}

/* Return: true if the lines were written. If the reader of the output has closed the
 * pipe, that is not an error, so discard the output, and main() will not report it.
 */
static bool write_lines(void)
{
	if (!fflush(stdout))
		return true;
	if (errno == EPIPE) {
		__fpurge(stdout);
		clearerr(stdout);
	}
	return false;
}

/*
 * Say that the socket receives events, so that a script knows when it can list the sets
 * without missing a change. Then print events until a signal arrives, or nobody reads the
 * output any more. The latter shows as an error of fflush() or, while there is nothing to
 * write, in poll().
 *
 * A socket that has overflowed gets no event until all events in it have been read, and
 * the kernel reports the overflow only once. So the overrun is printed when the socket is
 * empty: no event is lost between that line and the next overrun.
 */
static int watch(struct tool *tool, int signals)
{
	struct pollfd polled[] = {
		{ .fd = nl_fd(tool->nl), .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
		{ .fd = STDOUT_FILENO, .events = 0 },
	};
	struct nl_event event = { 0 };
	int status = STATUS_OK;
	bool lost = false, written;

	print_notice(tool, "listening", nl_events_have_values(tool->nl) ?
		     "changes are printed from now on" :
		     "changes are printed from now on, without the values of entries: the module is older than this tool");
	written = write_lines();
	while (written && !status && !polled[1].revents && !polled[2].revents) {
		if (poll(polled, 3, lost ? 0 : -1) < 0 && errno != EINTR)
			return fail(tool, STATUS_REFUSED, "cannot wait: %s",
				    strerror(errno));
		if (polled[0].revents) {
			status = take_event(tool, &event, &lost);
		} else if (lost) {
			print_notice(tool, "overrun",
				  "events were lost; list the sets again to see their state");
			lost = false;
		}
		written = write_lines();
	}
	nl_event_free(&event);
	return status;
}

int run_monitor(struct tool *tool, struct words *words)
{
	int err, signals, status;
	sigset_t ends;

	status = parse_words(tool, words, no_keywords, 0, 0);
	if (!status)
		status = connect_module(tool);
	if (status)
		return status;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
	signals = signalfd(-1, &ends, SFD_CLOEXEC);
	if (signals < 0)
		return fail(tool, STATUS_REFUSED, "cannot wait for signals: %s",
			    strerror(errno));
	err = nl_listen(tool->nl);
	status = err ? fail_kernel(tool, NULL, "cannot listen to events") :
		       watch(tool, signals);
	close(signals);
	return status;
}
