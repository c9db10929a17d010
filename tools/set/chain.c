// SPDX-License-Identifier: GPL-2.0-only
#include "nl/entry.h"
#include "set/attachment.h"
#include "set/chain.h"
#include "set/mask.h"

/* What an address is in */

/* What a set will have of a prefix: it has an entry, an exception, or neither, whatever is in the
 * kernel; or that, whatever it is.
 */
enum fate { FATE_IN, FATE_HOLE, FATE_OUT, FATE_SAME };

static enum fate fate_of(const struct guard_set *set, enum entry_kind kind, const uint8_t *entry)
{
	if (set->in && packed_has(set->in, kind, entry))
		return FATE_IN;
	if (set->holes && packed_has(set->holes, kind, entry))
		return FATE_HOLE;
	if (set->out && packed_has(set->out, kind, entry))
		return FATE_OUT;
	return FATE_SAME;
}

/* Whether a set changes only in the way that guard_set has entries for. */
static bool has_changes(const struct guard_set *set)
{
	return set->in || set->holes || set->out;
}

enum entry_kind prefix_of(const struct guard_set *set, const struct end *end, unsigned int len,
			  uint8_t entry[IPCUCKOO_NET6_SIZE])
{
	enum entry_kind kind = entry_prefix(end->family == IPCUCKOO_FAMILY_INET6, end->address, len,
					    entry);
	struct packed one = packed_one(kind, entry);

	if (!is_net(kind) && set->kind)
		mask_hosts(set->kind, &one);
	return kind;
}

static bool has_prefixes(const struct guard_set *set)
{
	return !set->kind || set->kind->type == IPCUCKOO_TYPE_HASH_NET;
}

bool touches(const struct guard_set *set, const struct end *end)
{
	unsigned int len = end->family == IPCUCKOO_FAMILY_INET ? 32 : 128;
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	enum entry_kind kind;

	if (!end->family || !has_changes(set))
		return false;
	for (;; len--) {
		kind = prefix_of(set, end, len, entry);
		if (fate_of(set, kind, entry) != FATE_SAME)
			return true;
		if (!len || !has_prefixes(set))
			return false;
	}
}

/* Ask the kernel about an entry of a set. Return: 1 if the set has the entry, or one that covers a
 * host, or an exception; 0 if not; or a negative errno.
 */
static int ask_kernel(struct tool *tool, const struct guard_set *set, enum entry_kind kind,
		      uint8_t *entry, struct nl_test *test)
{
	struct packed one = packed_one(kind, entry);
	int err;

	if (!*set->name)
		return 0;
	err = nl_entry_test(tool->nl, set->name, &one, test);
	/* There is no such set, or it cannot hold the address. */
	if (err == -ENOENT || err == -EAFNOSUPPORT || err == -EOPNOTSUPP)
		return 0;
	return err ? err : test->found || test->nomatch;
}

/* Whether a set contains an address: the longest entry that covers it decides. @length: set to
 * that of the entry, if it does. Return: 1, 0, or a negative errno if the kernel could not be
 * asked.
 */
static int contains(struct tool *tool, const struct guard_set *set, const struct end *end,
		    unsigned int *length)
{
	unsigned int bits = end->family == IPCUCKOO_FAMILY_INET ? 32 : 128, top = bits;
	uint8_t entry[IPCUCKOO_NET6_SIZE];
	struct nl_test test = { 0 };
	enum entry_kind kind;
	enum fate fate;
	int there;

	if (!end->family)
		return 0;
	*length = bits;
	kind = prefix_of(set, end, bits, entry);
	there = ask_kernel(tool, set, kind, entry, &test);
	if (there < 0 || !has_changes(set))
		return there < 0 ? there : there && test.found;
	/* The longest entry that the kernel has. In a set of hosts, it is the host. */
	if (there && has_prefixes(set))
		top = test.prefix_len;
	for (;; --*length) {
		kind = prefix_of(set, end, *length, entry);
		fate = fate_of(set, kind, entry);
		if (fate == FATE_IN || fate == FATE_HOLE)
			return fate == FATE_IN;
		/* Deleted, so that shorter ones decide: the kernel is asked for each of these. */
		if (there && *length < top && fate == FATE_SAME) {
			there = ask_kernel(tool, set, kind, entry, &test);
			if (there < 0)
				return there;
			if (there)
				return test.found;
			there = 1;
		} else if (there && *length == top && fate == FATE_SAME) {
			return test.found;
		}
		if (!*length || !has_prefixes(set))
			return 0;
	}
}

/* What happens to a packet */

bool decides(const struct nl_attachment *attachment)
{
	return attachment->verdict == IPCUCKOO_VERDICT_DROP ||
	       attachment->verdict == IPCUCKOO_VERDICT_ACCEPT;
}

static bool sees(const struct nl_attachment *attachment, const struct packet *packet)
{
	if (packet->out && (attachment->place > IPCUCKOO_PLACE_IP ||
			    !(attachment->direction & IPCUCKOO_DIR_DST)))
		return false;
	if (packet->loopback && !(attachment->flags & IPCUCKOO_F_LOOPBACK))
		return false;
	if (is_limited(attachment) && !(packet->like && covers_limits(attachment, packet->like)))
		return false;
	return !attachment->dev[0] || same_device(attachment->dev, packet->dev);
}

/* Whether an attachment is the first one that is limited as it is. */
static bool is_first(const struct world *world, const struct seen *seen)
{
	const struct seen *before;

	for (before = world->seen; before < seen; before++)
		if (same_limits(&before->attachment, &seen->attachment))
			return false;
	return true;
}

const struct nl_attachment *next_kind(const struct world *world, const struct nl_attachment *like)
{
	const struct seen *seen = world->seen, *end = seen + world->count;

	while (like && &seen++->attachment != like)
		;
	for (; seen < end; seen++)
		if (is_limited(&seen->attachment) && is_first(world, seen))
			return &seen->attachment;
	return NULL;
}

/* Whether an attachment acts on a packet. Return: as contains(). */
static int matches(struct tool *tool, const struct seen *seen, const struct packet *packet,
		   struct cause *cause)
{
	int found = 0;

	cause->seen = seen;
	cause->end = &packet->source;
	if (seen->attachment.direction & IPCUCKOO_DIR_SRC)
		found = contains(tool, &seen->set, cause->end, &cause->length);
	if (found || !(seen->attachment.direction & IPCUCKOO_DIR_DST))
		return found;
	cause->end = &packet->destination;
	return contains(tool, &seen->set, cause->end, &cause->length);
}

/* Whether two attachments are in one chain, which accept ends. */
static bool same_chain(const struct nl_attachment *a, const struct nl_attachment *b)
{
	if (!same_place(a, b) || (a->place > IPCUCKOO_PLACE_IP && strcmp(a->dev, b->dev)))
		return false;
	return a->place == IPCUCKOO_PLACE_XDP || a->priority == b->priority;
}

/* Whether an attachment in front of @drop in its chain, @accept, lets the packet pass. Return: as
 * contains().
 */
static int is_accepted(struct tool *tool, const struct world *world, const struct seen *drop,
		       const struct packet *packet, const struct seen **accept)
{
	struct cause unused;
	struct seen *seen;
	int found = 0;

	for (seen = world->seen; seen < drop && !found; seen++)
		if (seen->attachment.verdict == IPCUCKOO_VERDICT_ACCEPT &&
		    same_chain(&seen->attachment, &drop->attachment) &&
		    sees(&seen->attachment, packet)) {
			found = matches(tool, seen, packet, &unused);
			*accept = seen;
		}
	return found;
}

int chain_verdict(struct tool *tool, const struct world *world, const struct packet *packet,
		  struct cause *cause)
{
	const struct seen *accept;
	struct seen *seen;
	int found, accepted;

	cause->accept = NULL;
	for (seen = world->seen; seen < world->seen + world->count; seen++) {
		if (seen->attachment.verdict != IPCUCKOO_VERDICT_DROP ||
		    !sees(&seen->attachment, packet))
			continue;
		found = matches(tool, seen, packet, cause);
		if (!found)
			continue;
		accepted = found < 0 ? 0 : is_accepted(tool, world, seen, packet, &accept);
		if (accepted < 1)
			return accepted < 0 ? accepted : found;
		cause->accept = accept;
	}
	return 0;
}
