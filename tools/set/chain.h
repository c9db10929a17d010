/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens to a packet, given what is attached and what the sets have, now or after a change.
 */
#ifndef IPCUCKOO_TOOL_CHAIN_H
#define IPCUCKOO_TOOL_CHAIN_H

#include "cli/tool.h"
#include "lib/packed.h"
#include "nl/attachment.h"

/**
 * struct guard_set - what an attachment will look addresses up in: the entries that a set in the
 *		      kernel has now, and changes of them
 * @name:	the set in the kernel; "" for none, because it is new or all of its entries go
 * @kind:	type and mask of the set; needed if entries change
 * @in:		entries that will be in the set. All of these are sorted; NULL for none
 * @holes:	exceptions that will be in the set
 * @out:	entries that will not be in the set
 * @where:	says where the input has one of these entries: sets the line in @tool, or writes
 *		"FILE:LINE: "; NULL if it is no file
 * @data:	for @where
 */
struct guard_set {
	char name[IPCUCKOO_NAME_SIZE];
	const struct nl_set *kind;
	const struct packed *in;
	const struct packed *holes;
	const struct packed *out;
	void (*where)(struct tool *tool, const void *data, enum entry_kind kind,
		      const uint8_t *entry, char *text, size_t size);
	const void *data;
};

/**
 * struct end - an end of a connection
 * @family:	IPCUCKOO_FAMILY_*; 0 for any address that is in no set
 * @address:	the address, in network byte order
 */
struct end {
	uint8_t family;
	uint8_t address[IPCUCKOO_HOST6_SIZE];
};

/**
 * struct seen - an attachment that sees packets
 * @attachment:	the attachment
 * @set:	what it looks addresses up in
 * @line:	the command that attaches it; NULL if it is there already
 * @other:	what it looks up is not the set that it looked up before, with changes of entries
 */
struct seen {
	struct nl_attachment attachment;
	struct guard_set set;
	const struct tool *line;
	bool other;
};

/* All attachments, in the order in which they run */
struct world {
	struct seen *seen;
	size_t count;
};

/**
 * struct packet - a packet
 * @source:	where it comes from
 * @destination: where it goes
 * @out:	this machine sends it
 * @dev:	the device by which it comes or goes; "" for one that no attachment names
 * @loopback:	that is a loopback device
 * @like:	it is one of the packets on which this attachment acts, which is limited to some
 *		(is_limited()); others act on it only if they act on all that are of this kind.
 *		NULL: no attachment acts on it that is limited
 */
struct packet {
	struct end source;
	struct end destination;
	bool out;
	const char *dev;
	bool loopback;
	const struct nl_attachment *like;
};

/**
 * struct cause - why a packet is dropped, or not
 * @seen:	the attachment that drops it
 * @end:	its address that is in the set
 * @length:	length of the entry that covers the address
 * @accept:	an attachment that lets the packet pass in front of one that would drop it; NULL: none
 */
struct cause {
	const struct seen *seen;
	const struct end *end;
	unsigned int length;
	const struct seen *accept;
};

/* Whether an attachment can decide on packets: others only count, mark or prefetch. */
bool decides(const struct nl_attachment *attachment);

/* Whether the attachments drop a packet. Return: 1, 0, or a negative errno if the kernel could not be
 * asked.
 */
int chain_verdict(struct tool *tool, const struct world *world, const struct packet *packet,
		  struct cause *cause);

/* The next kind of packets for struct packet.like, to which attachments are limited: the first one after
 * NULL, NULL after the last one.
 */
const struct nl_attachment *next_kind(const struct world *world, const struct nl_attachment *like);

/* The prefix of an address; a host, as the set stores it, if @len is all of it. */
enum entry_kind prefix_of(const struct guard_set *set, const struct end *end, unsigned int len,
			  uint8_t entry[IPCUCKOO_NET6_SIZE]);

/* Whether the change is about an entry that covers the address. */
bool touches(const struct guard_set *set, const struct end *end);

#endif /* IPCUCKOO_TOOL_CHAIN_H */
