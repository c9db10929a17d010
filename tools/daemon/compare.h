/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which sources are worth having: what each of a set has that no other one has, what it shares with
 * which, and how many packets its entries have matched. The stored contents are compared, by whoever
 * asks, so that the daemon that runs has nothing to do with it.
 */
#ifndef IPCUCKOOD_COMPARE_H
#define IPCUCKOOD_COMPARE_H

#include <stdbool.h>

struct config;

/* Print it. @dir: where contents are stored; @format: "json", "prometheus", or another word for text. Return: whether all sources have stored contents */
bool compare_sources(struct config *config, const char *dir, const char *format);

#endif /* IPCUCKOOD_COMPARE_H */
