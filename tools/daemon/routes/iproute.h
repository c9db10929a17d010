/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of routing tables and of routing protocols, as iproute2 has them. */
#ifndef IPCUCKOOD_IPROUTE_H
#define IPCUCKOOD_IPROUTE_H

#include <stdbool.h>
#include <stdint.h>

/* Each looks up a name, or reads a number. Return: whether it is one, from 1 on. */
bool iproute_table(const char *text, uint32_t *number);
bool iproute_protocol(const char *text, uint32_t *number);

#endif /* IPCUCKOOD_IPROUTE_H */
