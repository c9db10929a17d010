// SPDX-License-Identifier: GPL-2.0-only
/* The commands that are written to the file of a set: see procfs.c. */
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/inet.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include "change.h"
#include "compat.h"
#include "procfs_command.h"
#include "set.h"

/* The longest command. */
#define LINE_MAX	sizeof("+ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128")

enum command_type {
	COMMAND_ADD = '+',
	COMMAND_DEL = '-',
	COMMAND_FLUSH = '/',
};

struct command {
	char type;
	struct ipcuckoo_entry entry;
};

/* Are all numbers of an address or prefix written in the one usual way? in4_pton() and
 * in6_pton() also accept octets with leading zeros, which other parsers read as octal, and
 * groups of more than four digits; kstrtou8() accepts lengths with leading zeros.
 */
static bool plain_numbers(const char *text)
{
	const char *number = text;
	size_t digits;
	bool decimal;

	for (; *number; number += max_t(size_t, digits, 1)) {
		digits = strspn(number, "0123456789abcdefABCDEF");
		decimal = number[digits] == '.' ||
			  (number > text && strchr("./", number[-1]));
		if (digits > 4 || (decimal && digits > 1 && *number == '0'))
			return false;
	}
	return true;
}

static int parse_entry(const char *text, struct ipcuckoo_entry *entry)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? slash - text : strlen(text);
	const char *end;
	u8 addr[16];

	if (!plain_numbers(text))
		return -EINVAL;
	entry->v6 = strnchr(text, len, ':');
	entry->len = entry->v6 ? 128 : 32;
	if (entry->v6 ? !in6_pton(text, len, addr, -1, &end) :
			!in4_pton(text, len, addr, -1, &end))
		return -EINVAL;
	if (end != text + len)
		return -EINVAL;
	if (slash && (!isdigit(slash[1]) || kstrtou8(slash + 1, 10, &entry->len)))
		return -EINVAL;
	entry->addr.hi = entry->v6 ? get_unaligned_be64(addr) : 0;
	entry->addr.lo = entry->v6 ? get_unaligned_be64(addr + 8) :
				     get_unaligned_be32(addr);
	return 0;
}

static int parse_command(const struct ipcuckoo_set *set, const char *line,
			 struct command *command)
{
	int err;

	command->type = *line;
	switch (*line) {
	case COMMAND_FLUSH:
		return line[1] ? -EINVAL : 0;
	case COMMAND_DEL:
		if (!ipcuckoo_set_deletes(set))
			return -EOPNOTSUPP;
		fallthrough;
	case COMMAND_ADD:
		err = parse_entry(line + 1, &command->entry);
		return err ?: ipcuckoo_set_normalize(set, &command->entry);
	default:
		return -EINVAL;
	}
}

/* Add an entry to the scratch contents @e, or delete one. To add an entry that exists, or to
 * delete one that does not, is no error. A command has no extensions: an entry that is added
 * gets the default timeout of the set. Return: 0 or a negative errno.
 */
static int apply_command(struct ipcuckoo_set *set, struct ipcuckoo_entries *e,
			 struct command *command)
{
	const struct ipcuckoo_entry_attrs attrs = ipcuckoo_entry_attrs_default(set->timeout);
	int err;

	if (command->type == COMMAND_ADD) {
		err = ipcuckoo_change_add_one(set, e, &command->entry, &attrs);
		return err == -EEXIST ? 0 : err;
	}
	err = ipcuckoo_change_del_one(set, e, &command->entry);
	return err == -ENOENT ? 0 : err;
}

/* Apply a single command to the set's contents directly, as a batch of one entry. */
static int apply_single(struct ipcuckoo_set *set, const struct command *command)
{
	struct ipcuckoo_change_result result;
	struct ipcuckoo_batch batch;
	u8 data[IPCUCKOO_NET6_SIZE];

	if (command->type == COMMAND_FLUSH)
		return ipcuckoo_set_flush(set);
	ipcuckoo_batch_single(&batch, data, &command->entry);
	return command->type == COMMAND_ADD ?
	       ipcuckoo_change_add(set, &batch, true, &result) :
	       ipcuckoo_change_del(set, &batch, true, &result);
}

/* The index behind the last flush; the flush makes all commands before it needless. Return:
 * 0 if there is no flush.
 */
static size_t after_flush(const struct command *commands, size_t count)
{
	while (count && commands[count - 1].type != COMMAND_FLUSH)
		count--;
	return count;
}

/* Apply several commands to scratch contents, which then replace those of the set: so
 * packets see all changes in one step. Commands before a flush are skipped.
 */
static int apply_commands(struct ipcuckoo_set *set, struct command *commands,
			  size_t count)
{
	struct ipcuckoo_entries *next = ipcuckoo_change_scratch_create(set);
	size_t i = after_flush(commands, count);
	int err = 0;

	if (IS_ERR(next))
		return PTR_ERR(next);
	if (!i)
		err = ipcuckoo_entries_copy(next, &set->entries);
	for (; i < count && !err; i++) {
		err = fatal_signal_pending(current) ? -EINTR :
		      apply_command(set, next, &commands[i]);
		cond_resched();
	}
	if (!err)
		ipcuckoo_set_replace(set, next);
	ipcuckoo_change_scratch_destroy(next);
	return err;
}

static size_t count_lines(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/**
 * ipcuckoo_proc_run() - parse and apply the commands of a write
 * @set:	set
 * @text:	commands, each terminated by a newline; modified
 *
 * Context: process context; takes the set's mutex.
 * Return: 0; -ENOENT if the set was destroyed, or another error of uapi/ipcuckoo.h, and
 * then nothing has changed.
 */
int ipcuckoo_proc_run(struct ipcuckoo_set *set, char *text)
{
	size_t count = 0, lines = count_lines(text);
	struct command *commands;
	char *line;
	int err = 0;

	commands = kvmalloc_array(lines, sizeof(*commands), GFP_KERNEL_ACCOUNT);
	if (!commands)
		return -ENOMEM;
	for (; count < lines && !err; count++) {
		line = strsep(&text, "\n");
		err = strlen(line) < LINE_MAX ?
		      parse_command(set, line, &commands[count]) : -EINVAL;
		cond_resched();
	}
	if (!err)
		err = ipcuckoo_set_lock(set);
	if (!err) {
		err = count == 1 ? apply_single(set, commands) :
				   apply_commands(set, commands, count);
		ipcuckoo_set_unlock(set);
	}
	kvfree(commands);
	return err;
}
