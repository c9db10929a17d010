/* SPDX-License-Identifier: GPL-2.0-only */
/* The scripts that run in Redis, each in one step. They write nothing if they refuse. */
#ifndef IPCUCKOOD_SCRIPT_H
#define IPCUCKOOD_SCRIPT_H

#include <stdbool.h>

/* A publication that comes again within so many seconds is known by its token.
 */
#define SCRIPT_TOKEN_SECONDS	21600

/* Publish changes. KEYS: head, changes, done. ARGV: format, most, changes */
extern const char script_change[];
/* Publish a whole list. KEYS: head, changes, done, the new snapshot. ARGV: format, version, size,
 * keep, how keys of snapshots begin
 */
extern const char script_replace[];
/* Renew the snapshot. KEYS: head, changes, the new snapshot. ARGV: format, version, size, keep, how
 * keys of snapshots begin, the old version, number and id of the last change in the snapshot
 */
extern const char script_renew[];

/* An error of a script or of Redis as Redis 7 sends it. Before, an error of a command in a script is
 * the end of another text:
 * "ERR Error running script (call to f_...): @user_script:1: @user_script: 1: -READONLY ..."
 */
const char *script_bare_error(const char *error);
/* Whether an error says that another server, or this one soon, can be written to. */
bool script_is_elsewhere(const char *error);
/* Whether an error says that Redis can never take the data, whatever is done there. */
bool script_is_final(const char *error);
/* What an error of a script or of Redis means for a list, and what to do. Allocated. */
char *script_error(const char *list, const char *error);

#endif /* IPCUCKOOD_SCRIPT_H */
