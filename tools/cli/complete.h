/* SPDX-License-Identifier: GPL-2.0-only */
/* Says how a command line may go on, for the completion of shells. */
#ifndef IPCUCKOO_TOOL_COMPLETE_H
#define IPCUCKOO_TOOL_COMPLETE_H

/* @known: the grammar of all commands, as "ipcuckoo help --words" prints it
 * @word: the words behind the name of the program, up to the cursor; the last one, perhaps "", is
 *	  what is typed now
 */
void complete(const char *known, char *const *word, int count);

#endif /* IPCUCKOO_TOOL_COMPLETE_H */
