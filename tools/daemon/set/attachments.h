/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the sets act on packets: the attachments that "attach" of "[set NAME]" asks for are kept, and
 * those of all sets are watched, so that nobody takes a set for good that drops nothing.
 */
#ifndef IPCUCKOOD_ATTACHMENTS_H
#define IPCUCKOOD_ATTACHMENTS_H

#include "daemon/set/target.h"

/* Parse the lines of "attach". Return: NULL, or what is wrong, allocated. */
char *attachments_parse(struct target *target);

/* Look where @number sets act on packets, and attach those that are not attached as
 * their sections say. Sets target->acts and target->idle. Return: whether to look again in a second,
 * because that was refused.
 */
bool attachments_keep(struct daemon *daemon, struct target *const *targets, size_t number);

/* The section @was of a set was replaced by @is, or by none if that is NULL: remove the attachments that
 * it asked for, and the new one does not.
 */
void attachments_remove(struct daemon *daemon, const struct target *was, const struct target *is);

#endif /* IPCUCKOOD_ATTACHMENTS_H */
