// SPDX-License-Identifier: GPL-2.0-only
/*
 * One question decides: what happens to a packet, given what is attached and what the sets have?
 * chain_verdict() answers it for the attachments as they are, and as they will be. A change is refused if
 * a packet of the session, or from or to an address that the machine needs, is dropped afterwards
 * and was not before.
 *
 * Nobody knows by which device such packets come, so there has to be no device that has an
 * attachment of its own at which they would be dropped. Nor is it known to which ports they go, and
 * the next connection is a new one: so attachments that are limited to some ports, or to new
 * connections, must not drop them, either.
 *
 * How much of the internet is dropped is a matter of the sets alone, whatever is accepted before.
 *
 * The SSH session is found in the environment of the tool. sudo and su may remove it
 * there; then it is that of the nearest ancestor process that has one. Daemons have no
 * session, and nothing is refused to them. If the environment of an ancestor cannot be
 * read, that ancestor counts as one without a session: otherwise every change would be
 * refused to daemons that a supervisor with more rights has started.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/exposure.h"
#include "nl/entry.h"
#include "nl/machine.h"
#include "set/attachment.h"
#include "set/filter.h"
#include "set/guard.h"
#include "set/mask.h"

#define SSH_VARIABLE	"SSH_CONNECTION="
#define ENVIRON_SIZE	(1 << 20)

enum { CLIENT, SERVER, ENDS };

/**
 * struct session - an SSH session
 * @end:	its ends
 * @text:	their addresses as text, as in SSH_CONNECTION
 */
struct session {
	struct end end[ENDS];
	char text[ENDS][64];
};

/* Parse "CLIENT PORT SERVER PORT". Zones of link-local addresses are cut off. */
static bool parse_session(const char *text, struct session *session)
{
	int end;

	if (sscanf(text, "%63s %*s %63s", session->text[CLIENT],
		   session->text[SERVER]) != 2)
		return false;
	for (end = 0; end < ENDS; end++) {
		session->text[end][strcspn(session->text[end], "%")] = '\0';
		if (!address_read_host(session->text[end], &session->end[end].family,
				       session->end[end].address))
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

/* Before and after the change */

/**
 * struct guarded - a change, and what is attached before and after it
 * @tool:	the run
 * @now:	what is attached now
 * @then:	what will be attached
 * @detached:	some attachments go
 */
struct guarded {
	struct tool *tool;
	struct world now;
	struct world then;
	bool detached;
};

/* Whether nl_detach() removes an attachment. */
static bool is_selected(const struct nl_attachment *attachment, const struct nl_attachment *by)
{
	if (by->id)
		return attachment->id == by->id;
	return !strcmp(attachment->set, by->set) &&
	       (!by->direction || attachment->direction == by->direction) &&
	       (!by->verdict || attachment->verdict == by->verdict) &&
	       (!by->place || attachment->place == by->place) &&
	       (!by->has_mark || (attachment->mark == by->mark &&
				  attachment->mark_mask == by->mark_mask)) &&
	       (!by->has_order || attachment->order == by->order) &&
	       (!by->has_priority || attachment->priority == by->priority) &&
	       (!by->dev[0] || !strcmp(attachment->dev, by->dev)) &&
	       (!by->ports.protocol || ports_same(&attachment->ports, &by->ports)) &&
	       (!(by->flags & IPCUCKOO_F_LOOPBACK) || attachment->flags & IPCUCKOO_F_LOOPBACK) &&
	       (!(by->flags & IPCUCKOO_F_NEW) || attachment->flags & IPCUCKOO_F_NEW);
}

/* Whether @fresh, made with --replace, takes the place of an attachment. */
static bool is_replaced(const struct nl_attachment *attachment, const struct nl_attachment *fresh)
{
	return fresh->flags & IPCUCKOO_F_REPLACE && !strcmp(attachment->set, fresh->set) &&
	       attachment->direction == fresh->direction && same_place(attachment, fresh) &&
	       (attachment->verdict == IPCUCKOO_VERDICT_PREFETCH) ==
	       (fresh->verdict == IPCUCKOO_VERDICT_PREFETCH) &&
	       !strcmp(attachment->dev, fresh->dev);
}

static bool is_removed(const struct guard_change *change, const struct nl_attachment *attachment)
{
	size_t i;

	if (change->detach && is_selected(attachment, change->detach))
		return true;
	for (i = 0; i < change->count; i++)
		if (is_replaced(attachment, change->attach[i].attachment))
			return true;
	return false;
}

/* The default is a parameter of the module. */
static int32_t default_priority(const struct tool *tool)
{
	int32_t priority = -450;
	FILE *file = fopen(tool->spare ? "/sys/module/ipcuckoo_spare/parameters/priority" :
					 "/sys/module/ipcuckoo/parameters/priority", "re");

	if (file && fscanf(file, "%" SCNd32, &priority) != 1)
		priority = -450;
	if (file)
		fclose(file);
	return priority;
}

/* What the kernel will make of an attachment */
static void complete(const struct tool *tool, struct nl_attachment *attachment)
{
	if (!attachment->has_order)
		attachment->order = attachment->verdict == IPCUCKOO_VERDICT_ACCEPT ?
				    IPCUCKOO_ORDER_ACCEPT : IPCUCKOO_ORDER_DROP;
	if (!attachment->has_priority)
		attachment->priority = default_priority(tool);
	if (attachment->flags & IPCUCKOO_F_NEW && attachment->priority < IPCUCKOO_PRIORITY_NEW)
		attachment->priority = IPCUCKOO_PRIORITY_NEW;
}

/* Insert an attachment behind those of the same or a lower order. */
static void insert(const struct tool *tool, struct world *world, const struct guard_attach *attach)
{
	struct seen fresh = {
		.attachment = *attach->attachment, .set = attach->set, .line = attach->line,
		.other = true,
	};
	size_t at = world->count++;

	complete(tool, &fresh.attachment);
	for (; at && world->seen[at - 1].attachment.order > fresh.attachment.order; at--)
		world->seen[at] = world->seen[at - 1];
	world->seen[at] = fresh;
}

/* The kernel refuses to attach a set of ip_set, whatever is in it: its answer says why. */
static bool is_of_ip_set(const struct tool *tool, const char *name)
{
	struct nl_set set;

	return !nl_set_get(tool->nl, name, &set) && is_ipset(&set);
}

static void look_at(struct guarded *guarded, const struct guard_change *change,
		    const struct nl_attachment *attachment)
{
	struct seen *now = &guarded->now.seen[guarded->now.count], *then;

	if (!decides(attachment))
		return;
	guarded->now.count++;
	now->attachment = *attachment;
	strcpy(now->set.name, attachment->set);
	if (is_removed(change, attachment)) {
		guarded->detached = true;
		return;
	}
	then = &guarded->then.seen[guarded->then.count++];
	*then = *now;
	if (change->becomes)
		change->becomes(change->data, attachment->set, &then->set);
	then->other = strcmp(then->set.name, now->set.name);
}

/* Read what is attached. Return: STATUS_OK, or another status after a message. */
static int look(struct guarded *guarded, const struct guard_change *change)
{
	const struct guard_attach *attach;
	struct nl_attachment *all = NULL;
	size_t count = 0, i;

	if (nl_attachments(guarded->tool->nl, &all, &count) < 0)
		return fail_kernel(guarded->tool, NULL, "cannot read the attachments");
	guarded->now.seen = calloc(count + 1, sizeof(*guarded->now.seen));
	guarded->then.seen = calloc(count + change->count + 1, sizeof(*guarded->then.seen));
	if (!guarded->now.seen || !guarded->then.seen) {
		free(all);
		return fail_memory(guarded->tool);
	}
	for (i = 0; i < count; i++)
		look_at(guarded, change, &all[i]);
	for (i = 0; i < change->count; i++) {
		attach = &change->attach[i];
		/* A line of restore may say --force for what it attaches. */
		if (decides(attach->attachment) &&
		    !(attach->line && attach->line->force &&
		      attach->attachment->verdict == IPCUCKOO_VERDICT_DROP) &&
		    !is_of_ip_set(guarded->tool, attach->attachment->set))
			insert(guarded->tool, &guarded->then, attach);
	}
	free(all);
	return STATUS_OK;
}

/* Whether the change can mean anything for packets with this address. */
static bool concerns(const struct guarded *guarded, const struct end *end)
{
	const struct seen *seen;

	if (guarded->detached)
		return true;
	for (seen = guarded->then.seen; seen < guarded->then.seen + guarded->then.count; seen++)
		if (seen->other || touches(&seen->set, end))
			return true;
	return false;
}

/* Whether the change makes the attachments drop a packet that they let pass now. Return: as
 * contains().
 */
static int gets_worse(const struct guarded *guarded, const struct packet *packet,
		      struct cause *cause)
{
	struct cause unused;
	int found = chain_verdict(guarded->tool, &guarded->then, packet, cause);

	if (found > 0 && chain_verdict(guarded->tool, &guarded->now, packet, &unused) > 0)
		return 0;
	return found;
}

/* The same for packets of all kinds to which attachments are limited, and those of none */
static int any_gets_worse(const struct guarded *guarded, struct packet *packet,
			  struct cause *cause)
{
	const struct world *worlds[] = { &guarded->now, &guarded->then };
	int found, i;

	packet->like = NULL;
	found = gets_worse(guarded, packet, cause);
	for (i = 0; i < 2 && !found; i++)
		while (!found && (packet->like = next_kind(worlds[i], packet->like)))
			found = gets_worse(guarded, packet, cause);
	return found;
}

/* The same for each device by which the packet may come or go. */
static int gets_worse_somewhere(const struct guarded *guarded, struct packet *packet,
				struct cause *cause)
{
	const struct world *worlds[] = { &guarded->now, &guarded->then };
	int found, i;
	size_t at;

	packet->dev = packet->loopback ? "lo" : "";
	found = any_gets_worse(guarded, packet, cause);
	for (i = 0; i < 2 && !packet->loopback; i++) {
		for (at = 0; at < worlds[i]->count && !found; at++) {
			packet->dev = worlds[i]->seen[at].attachment.dev;
			if (packet->dev[0])
				found = any_gets_worse(guarded, packet, cause);
		}
	}
	return found;
}

/* Where the input has an entry of a change, for the beginning of a message. */
static void input_place(struct tool *tool, const struct guard_set *set, enum entry_kind kind,
		       const uint8_t *entry, char text[GUARD_TEXT_SIZE])
{
	*text = '\0';
	if (set->where && set->in && packed_has(set->in, kind, entry))
		set->where(tool, set->data, kind, entry, text, GUARD_TEXT_SIZE);
}

/* The same with the entry, if it is a prefix that the change adds. */
static const char *cause_text(struct tool *tool, const struct cause *cause,
			      char text[GUARD_TEXT_SIZE])
{
	const struct guard_set *set = &cause->seen->set;
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	enum entry_kind kind = prefix_of(set, cause->end, cause->length, entry);
	char name[ADDRESS_TEXT_SIZE];
	size_t len;

	input_place(tool, set, kind, entry, text);
	len = strlen(text);
	if (set->in && is_net(kind) && packed_has(set->in, kind, entry)) {
		*entry_format(name, kind, entry) = '\0';
		snprintf(text + len, GUARD_TEXT_SIZE - len, "%s: ", name);
	}
	return text;
}

/* The same set may be attached already, and once more by the change: then that is what to name. */
static const struct seen *find_made(const struct guarded *guarded, const struct seen *drop)
{
	const struct seen *seen = guarded->then.seen, *end = seen + guarded->then.count;

	for (; seen < end; seen++)
		if (seen->line && seen->attachment.verdict == IPCUCKOO_VERDICT_DROP &&
		    !strcmp(seen->attachment.set, drop->attachment.set))
			return seen;
	return drop;
}

/* @who: "the client of your SSH session"; @out: what that means: "; you would be locked out";
 * @found: 1, or a negative errno
 */
static int refuse(const struct guarded *guarded, const struct cause *cause, const char *address,
		  const char *who, const char *out, int found)
{
	const struct seen *seen = find_made(guarded, cause->seen);
	struct tool *tool = guarded->tool;
	char text[GUARD_TEXT_SIZE];

	if (found < 0)
		return fail(tool, STATUS_REFUSED,
			    "cannot find out whether %s, %s, would be dropped by the set %s: %s; nothing was changed (--force does it all the same)",
			    address, who, seen->attachment.set, strerror(-found));
	if (seen->line)
		return fail(seen->line, STATUS_REFUSED,
			    "Set %s cannot be attached: %s is in it, %s%s (--force does it all the same)",
			    seen->attachment.set, address, who, out);
	cause_text(tool, cause, text);
	return fail(tool, STATUS_REFUSED,
		    "%s%s, %s, would be dropped by the set %s; nothing was changed (--force does it all the same)",
		    text, address, who, seen->attachment.set);
}

/* The session */

/* A connection of the machine with itself goes through the loopback device. */
static bool is_local(const struct end *a, const struct end *b)
{
	static const uint8_t one[IPCUCKOO_HOST6_SIZE] = { [15] = 1 };

	if (a->family == IPCUCKOO_FAMILY_INET)
		return a->address[0] == 127 || !memcmp(a->address, b->address, 4);
	return !memcmp(a->address, one, sizeof(one)) ||
	       !memcmp(a->address, b->address, sizeof(one));
}

static int check_session(const struct guarded *guarded)
{
	static const char *const who[] = {
		[CLIENT] = "the client of your SSH session",
		[SERVER] = "the server of your SSH session",
	};
	struct packet packet = { 0 };
	struct session session;
	struct cause cause;
	int out, end, found;

	if (!find_session(&session) ||
	    (!concerns(guarded, &session.end[CLIENT]) && !concerns(guarded, &session.end[SERVER])))
		return STATUS_OK;
	packet.loopback = is_local(&session.end[CLIENT], &session.end[SERVER]);
	for (out = 0; out < 2; out++) {
		packet.out = out;
		packet.source = session.end[out ? SERVER : CLIENT];
		packet.destination = session.end[out ? CLIENT : SERVER];
		found = gets_worse_somewhere(guarded, &packet, &cause);
		if (!found)
			continue;
		end = (cause.end == &packet.source) == (packet.out != 0) ? SERVER : CLIENT;
		return refuse(guarded, &cause, session.text[end], who[end],
			      "; you would be locked out", found);
	}
	return STATUS_OK;
}

/* What the machine needs */

static int check_address(const struct guarded *guarded, const struct machine_address *address)
{
	bool v6 = address->family == IPCUCKOO_FAMILY_INET6;
	struct end end = { .family = address->family };
	struct packet packet = { .loopback = address->loopback };
	char text[ADDRESS_TEXT_SIZE];
	struct cause cause;
	int found = 0, way;

	memcpy(end.address, address->address, sizeof(end.address));
	if (!concerns(guarded, &end))
		return STATUS_OK;
	/* What comes in and goes out, from the address and then to it */
	for (way = 0; way < 4 && !found; way++) {
		if (!(way < 2 ? address->source : address->destination))
			continue;
		packet.out = way % 2;
		packet.source = way < 2 ? end : (struct end){ 0 };
		packet.destination = way < 2 ? (struct end){ 0 } : end;
		found = gets_worse_somewhere(guarded, &packet, &cause);
	}
	*entry_format(text, v6 ? ENTRY_HOST6 : ENTRY_HOST4, end.address) = '\0';
	return found ? refuse(guarded, &cause, text, address->what, "", found) : STATUS_OK;
}

static int check_machine(const struct guarded *guarded)
{
	struct machine_address *addresses;
	size_t count = machine_addresses(&addresses), i;
	int status = STATUS_OK;

	for (i = 0; i < count && !status; i++)
		status = check_address(guarded, &addresses[i]);
	free(addresses);
	return status;
}

/* The internet */

/* As an entry of a set with a mask means all addresses that the mask makes the same, it counts as a
 * prefix of as many bits as the mask has.
 */
static int add_member(struct packed *to, const struct nl_set *set, enum entry_kind kind,
		      const uint8_t *entry)
{
	uint8_t net[IPCUCKOO_NET6_SIZE], mask[IPCUCKOO_HOST6_SIZE];
	unsigned int i, bits = 0;

	if (is_net(kind) || !mask_bits(set, mask))
		return packed_add(to, kind, entry);
	for (i = 0; i < entry_size[kind]; i++)
		bits += __builtin_popcount(mask[i]);
	if (bits == 8u * entry_size[kind])
		return packed_add(to, kind, entry);
	memcpy(net, entry, entry_size[kind]);
	net[entry_size[kind]] = bits;
	return packed_add(to, kind + ENTRY_NET4, net);
}

static int add_members(struct packed *to, const struct nl_set *set, const struct packed *from)
{
	struct entry_ref ref;
	int err = 0;

	for (ref.kind = 0; from && ref.kind < ENTRY_KINDS; ref.kind++)
		for (ref.index = 0; ref.index < from->kind[ref.kind].count && !err; ref.index++)
			err = add_member(to, set, ref.kind, entry_at(from, ref));
	return err;
}

/* Read the entries that a set in the kernel has, without its exceptions. Return: 0 or a negative
 * errno.
 */
static int read_members(struct tool *tool, const struct nl_set *set, struct packed *to)
{
	struct extended extended = { 0 };
	struct packed all = { 0 };
	int err = nl_entries(tool->nl, set->name, &all);
	size_t i;

	if (err >= 0 && all.has_extensions)
		err = nl_extended_entries(tool->nl, set->name, &extended);
	if (err >= 0 && !all.has_extensions)
		err = add_members(to, set, &all);
	for (i = 0; i < extended.count && err >= 0; i++)
		if (!extended.at[i].value.nomatch)
			err = add_member(to, set, extended.at[i].kind, extended.at[i].entry);
	packed_free(&all);
	extended_free(&extended);
	return err < 0 ? err : 0;
}

/* Whether hosts are all that a set has, and they are few: then it need not be read, which takes a
 * second for millions.
 */
static bool is_small(const struct nl_set *set)
{
	uint8_t mask[IPCUCKOO_HOST6_SIZE];

	return set->entries == set->hosts && !mask_bits(set, mask) &&
	       set->hosts <= exposure_most.size[EXPOSURE_V4];
}

/* Add the entries of a set in the kernel, unless it is NULL, "", or not there. Return: as
 * read_members().
 */
static int add_kernel(struct tool *tool, const char *name, struct packed *to, bool small_too)
{
	struct nl_set set;
	int err;

	if (!name || !*name)
		return 0;
	err = nl_set_get(tool->nl, name, &set);
	if (err || is_approximate(&set) || (!small_too && is_small(&set)))
		return err == -ENOENT ? 0 : err;
	return read_members(tool, &set, to);
}

/* @now: the set that the attachments of this name look up now, if one of them drops; or NULL */
static int check_growth(const struct guarded *guarded, const struct seen *then, const char *now)
{
	const struct guard_set *set = &then->set;
	/* What another set has in the kernel comes with it. */
	bool other = *set->name && (!now || strcmp(set->name, now));
	struct packed fresh = { 0 }, old = { 0 };
	struct tool *tool = guarded->tool;
	struct exposure_excess excess;
	char text[EXPOSURE_TEXT_SIZE], place[GUARD_TEXT_SIZE];
	uint8_t mask[IPCUCKOO_HOST6_SIZE];
	int over = 0, status = STATUS_OK;

	if (!other && !set->in)
		return STATUS_OK;
	/* Most changes are small: of these, nothing is copied. */
	if (!other && !mask_bits(set->kind, mask) &&
	    !exposure_check(set->in, NULL, &exposure_most, &excess))
		return STATUS_OK;
	if (other)
		over = add_kernel(tool, set->name, &fresh, false);
	if (over >= 0)
		over = add_members(&fresh, set->kind, set->in);
	packed_unique(&fresh);
	if (over >= 0)
		over = exposure_check(&fresh, NULL, &exposure_most, &excess);
	if (over > 0) {
		over = add_kernel(tool, now, &old, true);
		packed_unique(&old);
		if (!over)
			over = exposure_check(&fresh, &old, &exposure_most, &excess);
	}
	if (over < 0) {
		status = fail(tool, STATUS_REFUSED,
			      "cannot find out how much of the internet would be dropped by the set %s: %s; nothing was changed (--force does it all the same)",
			      then->attachment.set, strerror(-over));
	} else if (over) {
		input_place(tool, set, excess.widest.kind, entry_at(&fresh, excess.widest), place);
		status = fail(then->line ? then->line : tool, STATUS_REFUSED,
			      "%sthe set %s %s; nothing was changed (--force does it all the same)",
			      place, then->attachment.set, exposure_text(&fresh, &excess, text));
	}
	packed_free(&fresh);
	packed_free(&old);
	return status;
}

static void take_out(struct packed *entries, struct entry_ref ref)
{
	struct entry_array *array = &entries->kind[ref.kind];
	uint8_t *entry = array->data + ref.index * entry_size[ref.kind];

	memmove(entry, entry + entry_size[ref.kind], (--array->count - ref.index) * entry_size[ref.kind]);
}

/* Take out an entry that is counted as @member, which is a prefix also if it is a host and the set has
 * a mask.
 */
static void take_out_member(struct packed *entries, enum entry_kind kind, const uint8_t *member)
{
	struct entry_ref ref = { .kind = kind };

	if (!packed_find(entries, ref.kind, member, &ref.index)) {
		ref.kind -= ENTRY_NET4;
		if (!packed_find(entries, ref.kind, member, &ref.index))
			return;
	}
	take_out(entries, ref);
}

void guard_narrow(struct tool *tool, const struct nl_set *set, struct packed *entries,
		  void (*refuse)(void *to, size_t count, const char *message), void *to)
{
	char why[EXPOSURE_TEXT_SIZE], name[ADDRESS_TEXT_SIZE], text[GUARD_TEXT_SIZE];
	struct packed all = { 0 }, old = { 0 }, fresh = { 0 };
	int over = add_members(&all, set, entries);
	struct exposure_excess excess;
	const uint8_t *member;

	packed_unique(&all);
	if (over >= 0)
		over = exposure_check(&all, NULL, &exposure_most, &excess);
	if (over > 0) {
		over = add_kernel(tool, set->name, &old, true);
		packed_unique(&old);
		if (!over)
			over = packed_without(&all, &old, &fresh);
		if (!over)
			over = exposure_check(&fresh, NULL, &exposure_most, &excess);
	}
	/* Hosts cannot be so many unless a prefix was expanded: they go together. */
	while (over > 0 && is_net(excess.widest.kind)) {
		member = entry_at(&fresh, excess.widest);
		*entry_format(name, excess.widest.kind, member) = '\0';
		snprintf(text, sizeof(text), "%s was not added: the set %s %s (--force does it all the same)",
			 name, set->name, exposure_text(&fresh, &excess, why));
		refuse(to, 1, text);
		take_out_member(entries, excess.widest.kind, member);
		take_out(&fresh, excess.widest);
		over = exposure_check(&fresh, NULL, &exposure_most, &excess);
	}
	if (over) {
		if (over < 0)
			snprintf(why, sizeof(why), "may drop too much of the internet, which cannot be found out: %s",
				 strerror(-over));
		else
			exposure_text(&fresh, &excess, why);
		snprintf(text, sizeof(text), "%zu entries were not added: the set %s %s (--force does it all the same)",
			 packed_count(entries), set->name, why);
		refuse(to, packed_count(entries), text);
		packed_clear(entries);
	}
	packed_free(&all);
	packed_free(&old);
	packed_free(&fresh);
}

/* An attachment of a set of this name that drops, of the first @count of a world; NULL: none */
static const struct seen *find_drop(const struct seen *seen, size_t count, const char *name)
{
	for (; count--; seen++)
		if (seen->attachment.verdict == IPCUCKOO_VERDICT_DROP &&
		    !strcmp(seen->attachment.set, name))
			return seen;
	return NULL;
}

static int check_internet(const struct guarded *guarded)
{
	const struct world *now = &guarded->now, *then = &guarded->then;
	const struct seen *seen, *before;
	int status = STATUS_OK;
	size_t i;

	for (i = 0; i < then->count && !status; i++) {
		seen = &then->seen[i];
		if (seen->attachment.verdict != IPCUCKOO_VERDICT_DROP ||
		    (!seen->other && !seen->set.in) ||
		    find_drop(then->seen, i, seen->attachment.set))
			continue;
		before = find_drop(now->seen, now->count, seen->attachment.set);
		status = check_growth(guarded, seen, before ? before->set.name : NULL);
	}
	return status;
}

int guard(struct tool *tool, const struct guard_change *change)
{
	struct guarded guarded = { .tool = tool };
	int status;

	if (tool->force)
		return STATUS_OK;
	status = look(&guarded, change);
	if (!status)
		status = check_session(&guarded);
	if (!status)
		status = check_internet(&guarded);
	if (!status)
		status = check_machine(&guarded);
	free(guarded.now.seen);
	free(guarded.then.seen);
	return status;
}
