/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BPF program that runs what is attached at XDP of a device. The kernel module does not attach
 * it, so whoever attaches a set there does.
 */
#ifndef IPCUCKOO_TOOL_PROGRAM_H
#define IPCUCKOO_TOOL_PROGRAM_H

#include "cli/tool.h"
#include "nl/attachment.h"

/* If @attachment is at XDP and its device lacks our program, attach it. Otherwise do nothing. If
 * there is no such device, print a warning. Takes a lock that keeps other runs from removing the
 * program: call program_unlock() when the set is attached, or was not. With --spare, this does
 * nothing: the program runs what is attached in the module ipcuckoo, not in ipcuckoo_spare. Return:
 * an exit status, after a message.
 */
int program_attach(const struct tool *tool, const struct nl_attachment *attachment);

/* The set is attached now. Another run that has gone on without the lock may have removed the program
 * before: attach it again then. Return: as for program_attach().
 */
int program_confirm(const struct tool *tool, const struct nl_attachment *attachment);

/* If there may be programs, keep other runs from attaching and removing them. Whoever detaches sets
 * calls this first, then program_tidy(), then program_unlock(): until then, no other run attaches sets
 * at XDP.
 */
void program_lock(const struct tool *tool);

/* Let other runs attach and remove programs. */
void program_unlock(void);

/* Remove the program from the devices of some attachments, or with @everywhere from all devices, if
 * nothing is attached at XDP there any more; also if they were renamed. If that fails, print a
 * warning: the program passes all packets then. May take the lock: call program_unlock() afterwards.
 */
void program_tidy(const struct tool *tool, const struct nl_attachment *attachments, size_t count,
		  bool everywhere);

#endif /* IPCUCKOO_TOOL_PROGRAM_H */
