/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BPF program that runs what is attached at XDP of a device. The kernel module does not attach
 * it, so whoever attaches a set there does.
 */
#ifndef IPCUCKOO_TOOL_PROGRAM_H
#define IPCUCKOO_TOOL_PROGRAM_H

#include "cli/tool.h"
#include "nl/attachment.h"

/* Attach the program where an attachment needs it, and there is none. Nothing needs it that is
 * not at XDP. If there is no such device, print a warning. Return: an exit status, after a message.
 */
int program_attach(const struct tool *tool, const struct nl_attachment *attachment);

/* Remove the program from the devices of some attachments, if nothing is attached at XDP there any
 * more. If that fails, print a warning: the program passes all packets then.
 */
void program_tidy(const struct tool *tool, const struct nl_attachment *attachments,
		  size_t count);

#endif /* IPCUCKOO_TOOL_PROGRAM_H */
