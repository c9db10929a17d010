// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SSH session is the one of the environment or, as sudo and su take that
 * away, of the nearest process above that has one. Daemons have none, and are
 * never refused anything.
 */
#include <stdlib.h>
#include <unistd.h>

#include "guard.h"
#include "mask.h"

#define SSH_VARIABLE	"SSH_CONNECTION="
#define ENVIRON_SIZE	(1 << 20)

enum { CLIENT, SERVER, ENDS };

/**
 * struct session - an SSH session
 * @end:	the addresses of its ends
 * @text:	the same, as they were told
 */
struct session {
	struct address_range end[ENDS];
	char text[ENDS][64];
};

/* "CLIENT PORT SERVER PORT"; link-local addresses have a zone, which is cut. */
static bool parse_session(const char *text, struct session *session)
{
	char why[ADDRESS_WHY_SIZE];
	int end;

	if (sscanf(text, "%63s %*s %63s", session->text[CLIENT],
		   session->text[SERVER]) != 2)
		return false;
	for (end = 0; end < ENDS; end++) {
		session->text[end][strcspn(session->text[end], "%")] = '\0';
		if (address_parse(session->text[end],
				  strlen(session->text[end]),
				  &session->end[end], why))
			return false;
	}
	return true;
}

static size_t read_file(pid_t pid, const char *name, char *data, size_t size)
{
	char path[64];
	size_t len;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	file = fopen(path, "re");
	if (!file)
		return 0;
	len = fread(data, 1, size - 1, file);
	fclose(file);
	data[len] = '\0';
	return len;
}

static bool session_of(pid_t pid, char *data, struct session *session)
{
	size_t len = read_file(pid, "environ", data, ENVIRON_SIZE), at;

	for (at = 0; at < len; at += strlen(data + at) + 1)
		if (!strncmp(data + at, SSH_VARIABLE, strlen(SSH_VARIABLE)))
			return parse_session(data + at + strlen(SSH_VARIABLE),
					     session);
	return false;
}

/* The fourth word of stat; the second is in parentheses, and may be anything. */
static pid_t parent_of(pid_t pid, char *data)
{
	const char *name_end;
	int parent = 0;

	if (!read_file(pid, "stat", data, ENVIRON_SIZE))
		return 0;
	name_end = strrchr(data, ')');
	if (!name_end || sscanf(name_end + 1, " %*c %d", &parent) != 1)
		return 0;
	return parent;
}

static bool find_session(struct session *session)
{
	const char *here = getenv("SSH_CONNECTION");
	bool found = false;
	char *data;
	pid_t pid;

	if (here)
		return parse_session(here, session);
	data = malloc(ENVIRON_SIZE);
	for (pid = getppid(); data && pid > 1 && !found;
	     pid = parent_of(pid, data))
		found = session_of(pid, data, session);
	free(data);
	return found;
}

/* The ends of a session whose packets the attachment drops. */
static bool endangers(const struct nl_attachment *attachment, int end)
{
	if (attachment->verdict != IPCUCKOO_VERDICT_DROP)
		return false;
	if (end == SERVER)
		return attachment->direction & IPCUCKOO_DIR_DST;
	return attachment->direction & IPCUCKOO_DIR_SRC ||
	       attachment->place != IPCUCKOO_PLACE_INGRESS;
}

static bool has_bits(const uint8_t *a, const uint8_t *b, unsigned int bits)
{
	unsigned int bytes = bits / 8;

	return !memcmp(a, b, bytes) &&
	       (!(bits % 8) || !((a[bytes] ^ b[bytes]) >> (8 - bits % 8)));
}

/* Whether two hosts are one to a set. */
static bool same_host(const uint8_t *a, const uint8_t *b, const uint8_t *mask,
		      unsigned int bytes)
{
	unsigned int i;

	for (i = 0; i < bytes; i++)
		if ((a[i] ^ b[i]) & mask[i])
			return false;
	return true;
}

static bool covers(const struct packed *entries, const struct nl_set *set,
		   const struct address_range *end)
{
	bool v4 = end->family == IPCUCKOO_FAMILY_INET;
	enum entry_kind kinds[] = {
		v4 ? ENTRY_HOST4 : ENTRY_HOST6, v4 ? ENTRY_NET4 : ENTRY_NET6
	};
	unsigned int bytes = v4 ? 4 : 16, k;
	uint8_t address[16], mask[16];
	const uint8_t *entry;
	size_t i;

	if (!mask_bits(set, mask))
		memset(mask, 0xff, sizeof(mask));
	address_store(&end->first, end->family, address);
	for (k = 0; k < 2; k++) {
		entry = entries->kind[kinds[k]].data;
		for (i = 0; i < entries->kind[kinds[k]].count; i++) {
			if (k ? has_bits(entry, address, entry[bytes]) :
				same_host(entry, address, mask, bytes))
				return true;
			entry += entry_size[kinds[k]];
		}
	}
	return false;
}

/* Whether the set has it. What cannot be asked is not there. */
static bool has_now(struct tool *tool, const void *set, const struct address_range *end)
{
	enum entry_kind kind = end->family == IPCUCKOO_FAMILY_INET ?
			       ENTRY_HOST4 : ENTRY_HOST6;
	struct packed one = { 0 };
	struct nl_test test;
	uint8_t address[16];

	address_store(&end->first, end->family, address);
	one.kind[kind].data = address;
	one.kind[kind].count = 1;
	return !nl_entry_test(tool->nl, set, &one, &test) && test.found;
}

int guard_attach(struct tool *tool, const struct nl_attachment *attachment,
		 bool (*has)(struct tool *tool, const void *set,
			     const struct address_range *address),
		 const void *set)
{
	struct session session;
	int end;

	if (!has) {
		has = has_now;
		set = attachment->set;
	}
	if (tool->force || attachment->verdict != IPCUCKOO_VERDICT_DROP ||
	    !find_session(&session))
		return STATUS_OK;
	for (end = 0; end < ENDS; end++)
		if (endangers(attachment, end) &&
		    has(tool, set, &session.end[end]))
			return fail(tool, STATUS_REFUSED,
				    "Set %s cannot be attached: %s is in it, %s your SSH session; you would be locked out (--force does it all the same)",
				    attachment->set, session.text[end],
				    end == CLIENT ? "the client of" :
				    "the server of");
	return STATUS_OK;
}

static int check_entries(struct tool *tool, const struct nl_set *set,
			 const struct packed *entries,
			 const struct session *session,
			 const struct nl_attachment *attachment)
{
	int end;

	for (end = 0; end < ENDS; end++)
		if (endangers(attachment, end) &&
		    covers(entries, set, &session->end[end]))
			return fail(tool, STATUS_REFUSED,
				    "%s, %s your SSH session, would be dropped by the set %s; nothing was changed (--force does it all the same)",
				    session->text[end], end == CLIENT ?
				    "the client of" : "the server of", set->name);
	return STATUS_OK;
}

int guard_entries(struct tool *tool, const char *name,
		  const struct packed *entries, bool blocked)
{
	const struct nl_attachment block = {
		.direction = IPCUCKOO_DIR_SRC,
		.verdict = IPCUCKOO_VERDICT_DROP,
		.place = IPCUCKOO_PLACE_INGRESS,
	};
	struct nl_attachment *all = NULL;
	struct nl_set set = { 0 };
	struct session session;
	int status = STATUS_OK;
	size_t count = 0, i;

	if (tool->force || !find_session(&session))
		return STATUS_OK;
	if (nl_attachments(tool->nl, &all, &count) < 0)
		return fail_kernel(tool, NULL, "cannot read the attachments");
	snprintf(set.name, sizeof(set.name), "%s", name);
	if (blocked)
		status = check_entries(tool, &set, entries, &session, &block);
	for (i = 0; i < count && !status; i++) {
		if (strcmp(all[i].set, name))
			continue;
		if (!set.type)
			status = find_set(tool, name, &set);
		if (!status)
			status = check_entries(tool, &set, entries, &session,
					       &all[i]);
	}
	free(all);
	return status;
}
