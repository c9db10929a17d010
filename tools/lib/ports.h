/* SPDX-License-Identifier: GPL-2.0-only */
/* Ports of TCP, UDP or SCTP: reads and prints "22,80-90". */
#ifndef IPCUCKOO_TOOL_PORTS_H
#define IPCUCKOO_TOOL_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../uapi/ipcuckoo.h"

#define PORTS_TEXT_SIZE	(IPCUCKOO_PORTS_MAX * sizeof("65535-65535,"))

/* From @first to @last */
struct port_range {
	uint16_t first;
	uint16_t last;
};

/**
 * struct ports - ports of a protocol
 * @protocol:	IPPROTO_TCP, IPPROTO_UDP or IPPROTO_SCTP; 0: no ports
 * @count:	number of ranges
 * @range:	in ascending order; between two of them is a port that is in none
 */
struct ports {
	uint8_t protocol;
	uint8_t count;
	struct port_range range[IPCUCKOO_PORTS_MAX];
};

/* The number of a protocol, "tcp"; 0 if it has no ports. */
uint8_t ports_protocol(const char *word);
/* Its name */
const char *ports_protocol_text(uint8_t protocol);
/* Read ports and ranges, "22,80-90,https", for @ports->protocol. 80:90, as in iptables, is a range, too.
 * Return: NULL, or a word of @text that is no port. @ports->count is 0 if there are too many of them.
 */
const char *ports_read(struct ports *ports, char *text);
const char *ports_text(const struct ports *ports, char text[PORTS_TEXT_SIZE]);
/* Whether @a has all ports of @b. */
bool ports_include(const struct ports *a, const struct ports *b);
bool ports_same(const struct ports *a, const struct ports *b);

#endif /* IPCUCKOO_TOOL_PORTS_H */
