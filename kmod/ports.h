/* SPDX-License-Identifier: GPL-2.0-only */
/* Ports of an attachment that acts only on packets that go to them. */
#ifndef _IPCUCKOO_PORTS_H
#define _IPCUCKOO_PORTS_H

#include <linux/types.h>

#include "ipcuckoo.h"

/* From @first to @last */
struct ipcuckoo_port_range {
	u16 first;
	u16 last;
};

/**
 * struct ipcuckoo_ports - a set of ports
 * @count:	number of ranges
 * @range:	the ranges, in ascending order; between two of them is a port that is in none, so
 *		that the same ports are always the same ranges
 */
struct ipcuckoo_ports {
	u8 count;
	struct ipcuckoo_port_range range[IPCUCKOO_PORTS_MAX];
};

/* Reads @size bytes of @packet, from @at bytes after the beginning of its IP header on. Return: a
 * pointer to the bytes, perhaps @copy; or NULL if the packet is shorter.
 */
typedef const void *(*ipcuckoo_read_fn)(const void *packet, unsigned int at, unsigned int size,
					void *copy);

bool ipcuckoo_ports_read(struct ipcuckoo_ports *ports, const u8 *data, unsigned int size);
bool ipcuckoo_ports_same(const struct ipcuckoo_ports *a, const struct ipcuckoo_ports *b);
bool ipcuckoo_ports_match(const struct ipcuckoo_ports *ports, u8 protocol, bool later, bool v6,
			  const void *packet, ipcuckoo_read_fn read);

#endif /* _IPCUCKOO_PORTS_H */
