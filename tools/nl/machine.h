/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The addresses that this machine needs: its own, those of the gateways of its default routes,
 * those of its resolvers, and one of each kind that no machine can do without. They are read each
 * time, because addresses and routes change.
 */
#ifndef IPCUCKOO_TOOL_NL_MACHINE_H
#define IPCUCKOO_TOOL_NL_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../uapi/ipcuckoo.h"

/**
 * struct machine_address - an address that this machine needs
 * @family:	IPCUCKOO_FAMILY_*
 * @address:	the address, in network byte order
 * @what:	"a resolver of this machine"
 * @source:	packets come from it
 * @destination: packets are sent to it
 * @loopback:	only through the loopback device
 */
struct machine_address {
	uint8_t family;
	uint8_t address[IPCUCKOO_HOST6_SIZE];
	const char *what;
	bool source;
	bool destination;
	bool loopback;
};

/* Read them into an array that the caller frees. What cannot be read is left out. Return: how many
 * there are.
 */
size_t machine_addresses(struct machine_address **addresses);

#endif /* IPCUCKOO_TOOL_NL_MACHINE_H */
