// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SSH session is found in the environment of the tool. sudo and su may remove it
 * there; then it is that of the nearest ancestor process that has one. Daemons have no
 * session, and nothing is refused to them. If the environment of an ancestor cannot be
 * read, that ancestor counts as one without a session: otherwise every change would be
 * refused to daemons that a supervisor with more rights has started.
 */
#include <stdlib.h>
#include <unistd.h>

#include "nl/entry.h"
#include "set/guard.h"
#include "set/mask.h"

#define SSH_VARIABLE	"SSH_CONNECTION="
#define ENVIRON_SIZE	(1 << 20)

enum { CLIENT, SERVER, ENDS };

/**
 * struct session - an SSH session
 * @end:	the addresses of its ends
 * @text:	the same as text, as in SSH_CONNECTION
 */
struct session {
	struct address_range end[ENDS];
	char text[ENDS][64];
};

/* Parse "CLIENT PORT SERVER PORT". Zones of link-local addresses are cut off. */
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

static size_t read_proc(pid_t pid, const char *name, char *data, size_t size)
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
	size_t len = read_proc(pid, "environ", data, ENVIRON_SIZE), at;

	for (at = 0; at < len; at += strlen(data + at) + 1)
		if (!strncmp(data + at, SSH_VARIABLE, strlen(SSH_VARIABLE)))
			return parse_session(data + at + strlen(SSH_VARIABLE),
					     session);
	return false;
}

/* The fourth field of /proc/PID/stat. The second field, the name of the program in
 * parentheses, can contain any characters.
 */
static pid_t parent_of(pid_t pid, char *data)
{
	const char *name_end;
	int parent = 0;

	if (!read_proc(pid, "stat", data, ENVIRON_SIZE))
		return 0;
	name_end = strrchr(data, ')');
	if (!name_end || sscanf(name_end + 1, " %*c %d", &parent) != 1)
		return 0;
	return parent;
}

static bool find_session(struct session *session)
{
	const char *here = getenv("SSH_CONNECTION");
	static char data[ENVIRON_SIZE];
	pid_t pid;

	if (here)
		return parse_session(here, session);
	for (pid = getppid(); pid > 1; pid = parent_of(pid, data))
		if (session_of(pid, data, session))
			return true;
	return false;
}

/* Whether an attachment drops packets of the session if its set contains this end. */
static bool endangers(const struct nl_attachment *attachment, int end)
{
	if (attachment->verdict != IPCUCKOO_VERDICT_DROP)
		return false;
	if (end == SERVER)
		return attachment->direction & IPCUCKOO_DIR_DST;
	return attachment->direction & IPCUCKOO_DIR_SRC ||
	       attachment->place <= IPCUCKOO_PLACE_IP;
}

static bool has_bits(const uint8_t *a, const uint8_t *b, unsigned int bits)
{
	unsigned int bytes = bits / 8;

	return !memcmp(a, b, bytes) &&
	       (!(bits % 8) || !((a[bytes] ^ b[bytes]) >> (8 - bits % 8)));
}

/* Whether two hosts are the same to a set with this mask. */
static bool same_host(const uint8_t *a, const uint8_t *b, const uint8_t *mask,
		      unsigned int bytes)
{
	unsigned int i;

	for (i = 0; i < bytes; i++)
		if ((a[i] ^ b[i]) & mask[i])
			return false;
	return true;
}

/**
 * struct cover - the entries that cover an address
 * @host:	kind of hosts of this family
 * @net:	kind of prefixes of this family
 * @bits:	number of bits of an address
 * @address:	the address, in network byte order
 * @at:		for each prefix length, whether an entry of this length covers the address
 */
struct cover {
	enum entry_kind host;
	enum entry_kind net;
	unsigned int bits;
	uint8_t address[IPCUCKOO_HOST6_SIZE];
	bool at[8 * IPCUCKOO_HOST6_SIZE + 1];
};

static struct cover begin_cover(const struct address_range *end)
{
	bool v4 = end->family == IPCUCKOO_FAMILY_INET;
	struct cover cover = {
		.host = v4 ? ENTRY_HOST4 : ENTRY_HOST6,
		.net = v4 ? ENTRY_NET4 : ENTRY_NET6,
		.bits = v4 ? 32 : 128,
	};

	address_store(&end->first, end->family, cover.address);
	return cover;
}

/* Fill in cover->at. Return: whether any of the entries covers the address. */
static bool find_cover(const struct packed *entries, const struct nl_set *set,
		       struct cover *cover)
{
	const struct entry_array *hosts = &entries->kind[cover->host];
	const struct entry_array *nets = &entries->kind[cover->net];
	uint8_t mask[IPCUCKOO_HOST6_SIZE];
	const uint8_t *entry;
	size_t i;
	bool any;

	if (!mask_bits(set, mask))
		memset(mask, 0xff, sizeof(mask));
	for (i = 0; i < hosts->count && !cover->at[cover->bits]; i++) {
		entry = hosts->data + i * entry_size[cover->host];
		cover->at[cover->bits] = same_host(entry, cover->address, mask,
						   cover->bits / 8);
	}
	any = cover->at[cover->bits];
	for (i = 0; i < nets->count; i++) {
		entry = nets->data + i * entry_size[cover->net];
		if (has_bits(entry, cover->address, entry[cover->bits / 8]))
			any = cover->at[entry[cover->bits / 8]] = true;
	}
	return any;
}

bool guard_is_no(int err)
{
	return err == -ENOENT || err == -EAFNOSUPPORT || err == -EOPNOTSUPP;
}

/* Ask the kernel whether the prefix of length @len is an entry, and whether it is an
 * exception. Return: 1, 0, or a negative errno.
 */
static int is_entry(struct tool *tool, const char *set, const struct cover *cover,
		     unsigned int len, bool *nomatch)
{
	enum entry_kind kind = len == cover->bits ? cover->host : cover->net;
	uint8_t entry[IPCUCKOO_NET6_SIZE] = { 0 };
	struct packed one = { 0 };
	struct nl_test test;
	int err;

	memcpy(entry, cover->address, (len + 7) / 8);
	if (len % 8)
		entry[len / 8] &= 0xff << (8 - len % 8);
	if (len < cover->bits)
		entry[cover->bits / 8] = len;
	one.kind[kind].data = entry;
	one.kind[kind].count = 1;
	err = nl_entry_test(tool->nl, set, &one, &test);
	if (err)
		return guard_is_no(err) ? 0 : err;
	*nomatch = test.nomatch;
	/* A host is also found if a prefix covers it. */
	return (test.found || test.nomatch) &&
	       (len < cover->bits || test.prefix_len == len);
}

/* Whether the set contains the address now. Return: as guard_has. */
static int has_now(struct tool *tool, const void *set, const struct address_range *end)
{
	struct cover cover = begin_cover(end);
	struct packed one = { 0 };
	struct nl_test test;
	int err;

	one.kind[cover.host].data = cover.address;
	one.kind[cover.host].count = 1;
	err = nl_entry_test(tool->nl, set, &one, &test);
	if (err)
		return guard_is_no(err) ? 0 : err;
	return test.found;
}

/* Whether the set will contain the address because of the change. The longest entry that
 * covers the address decides. Return: as guard_has.
 */
static int has_then(struct tool *tool, const struct nl_set *set,
		     const struct address_range *end,
		     const struct guard_change *change)
{
	struct cover cover = begin_cover(end);
	unsigned int len = cover.bits;
	bool nomatch = false;
	int there;

	if (!find_cover(change->entries, set, &cover))
		return false;
	there = change->add ? 0 : has_now(tool, set->name, end);
	if (there)
		return there < 0 ? there : false;
	for (;; len--) {
		if (cover.at[len] && change->add)
			return !change->nomatch;
		if (!cover.at[len] && !change->replace)
			there = is_entry(tool, set->name, &cover, len, &nomatch);
		if (there)
			return there < 0 ? there : !nomatch;
		if (!len || (set->type && set->type != IPCUCKOO_TYPE_HASH_NET))
			return false;
	}
}

static const char *end_text(int end)
{
	return end == CLIENT ? "the client of" : "the server of";
}

/* Refuse what may lock the user out: @found is 1 if it does, a negative errno if that could
 * not be found out.
 */
static int refuse(const struct tool *tool, const struct session *session, int end,
		  const char *set, int found)
{
	if (found < 0)
		return fail(tool, STATUS_REFUSED,
			    "cannot find out whether %s, %s your SSH session, would be dropped by the set %s: %s; nothing was changed (--force does it all the same)",
			    session->text[end], end_text(end), set, strerror(-found));
	return fail(tool, STATUS_REFUSED,
		    "%s, %s your SSH session, would be dropped by the set %s; nothing was changed (--force does it all the same)",
		    session->text[end], end_text(end), set);
}

int guard_attach(struct tool *tool, const struct nl_attachment *attachment,
		 guard_has *has, const void *set)
{
	struct session session;
	int end, found = 0;

	if (!has) {
		has = has_now;
		set = attachment->set;
	}
	if (tool->force || attachment->verdict != IPCUCKOO_VERDICT_DROP ||
	    !find_session(&session))
		return STATUS_OK;
	for (end = 0; end < ENDS && !found; end++)
		if (endangers(attachment, end))
			found = has(tool, set, &session.end[end]);
	if (!found)
		return STATUS_OK;
	end--;
	if (found < 0)
		return refuse(tool, &session, end, attachment->set, found);
	return fail(tool, STATUS_REFUSED,
		    "Set %s cannot be attached: %s is in it, %s your SSH session; you would be locked out (--force does it all the same)",
		    attachment->set, session.text[end], end_text(end));
}

static int check_change(struct tool *tool, const struct nl_set *set,
			const struct guard_change *change,
			const struct session *session,
			const struct nl_attachment *attachment)
{
	int end, found;

	for (end = 0; end < ENDS; end++) {
		if (!endangers(attachment, end))
			continue;
		found = has_then(tool, set, &session->end[end], change);
		if (found)
			return refuse(tool, session, end, set->name, found);
	}
	return STATUS_OK;
}

int guard_entries(struct tool *tool, const char *name,
		  const struct guard_change *change)
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
	if (change->blocked)
		status = check_change(tool, &set, change, &session, &block);
	for (i = 0; i < count && !status; i++) {
		if (strcmp(all[i].set, name))
			continue;
		if (!set.type)
			status = find_set(tool, name, &set);
		if (!status)
			status = check_change(tool, &set, change, &session, &all[i]);
	}
	free(all);
	return status;
}

int guard_names(struct tool *tool, const void *(*becomes)(const void *data, const char *name),
		const void *data, guard_has *has)
{
	struct nl_attachment *all = NULL;
	struct session session;
	int status = STATUS_OK, end, found;
	size_t count = 0, i;
	const void *set;

	if (tool->force || !find_session(&session))
		return STATUS_OK;
	if (nl_attachments(tool->nl, &all, &count) < 0)
		return fail_kernel(tool, NULL, "cannot read the attachments");
	for (i = 0; i < count && !status; i++) {
		set = becomes(data, all[i].set);
		for (end = 0; set && end < ENDS && !status; end++) {
			if (!endangers(&all[i], end))
				continue;
			found = (has ? has : has_now)(tool, set, &session.end[end]);
			if (found)
				status = refuse(tool, &session, end, all[i].set, found);
		}
	}
	free(all);
	return status;
}
