/* SPDX-License-Identifier: GPL-2.0-only */
/* Which sources are the reason for an address to be in a set. */
#ifndef IPCUCKOOD_WHY_H
#define IPCUCKOOD_WHY_H

#include <stdbool.h>

struct config;

/*
 * For each set, the sources that have entries which cover an address, as JSON, allocated:
 *
 *   { "namespace": N, "sets": [ { SET, "except": "PREFIX", "sources": [ { SOURCE, "covered_by": [
 *     { "entry": "PREFIX", "expires": SECOND, "comment": "TEXT", "kept_out": BOOL,
 *       "decisions": [ { "id": N, "origin": "TEXT", "scenario": "TEXT", "expires": SECOND } ] }
 *   ] } ] } ] }
 *
 * SET and SOURCE are what "status --json" has of them. "except" is the exception of the configuration that
 * covers the address, if one does. An entry that never expires has no "expires". "kept_out": the guard does
 * not let the entry into the set. Decisions are those of CrowdSec. If @address is none, *@done becomes
 * false, and the text says so.
 */
char *why_json(const struct config *config, const char *address, bool *done);

#endif /* IPCUCKOOD_WHY_H */
