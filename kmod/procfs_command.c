// SPDX-License-Identifier: GPL-2.0-only
/* The commands that are written to the file of a set: see procfs.c. */
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/inet.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include "change.h"
#include "compat.h"
#include "lock.h"
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

/**
 * struct script - the commands of a write, which are valid
 * @lines:	commands, each terminated by a null byte, without those before the last flush, which
 *		it makes needless
 * @end:	behind the last command
 * @count:	number of all commands
 * @flushes:	one of them is a flush
 */
struct script {
	const char *lines;
	const char *end;
	size_t count;
	bool flushes;
};

/* Check all commands of @text, before the first one is applied. They are parsed again when they
 * are applied, because parsed ones would take up to sixteen times the memory of the text.
 */
static int parse_script(const struct ipcuckoo_set *set, char *text, struct script *script)
{
	struct command command;
	const char *line;
	int err;

	script->lines = text;
	for (line = strsep(&text, "\n"); text; line = strsep(&text, "\n")) {
		err = strlen(line) < LINE_MAX ? parse_command(set, line, &command) : -EINVAL;
		if (err)
			return err;
		script->count++;
		if (command.type == COMMAND_FLUSH) {
			script->flushes = true;
			script->lines = text;
		}
		cond_resched();
	}
	script->end = line;
	return 0;
}

/* Apply a single command to the set's contents directly, as a batch of one entry. */
static int apply_single(struct ipcuckoo_set *set, const struct script *script)
{
	struct ipcuckoo_change_result result;
	struct ipcuckoo_batch batch;
	struct command command;
	u8 data[IPCUCKOO_NET6_SIZE];
	int err;

	if (script->flushes)
		return ipcuckoo_set_flush(set);
	err = parse_command(set, script->lines, &command);
	if (err)
		return err;
	ipcuckoo_batch_single(&batch, data, &command.entry);
	return command.type == COMMAND_ADD ?
	       ipcuckoo_change_add(set, &batch, true, &result) :
	       ipcuckoo_change_del(set, &batch, true, &result);
}

/* Apply several commands to scratch contents, which then replace those of the set: so
 * packets see all changes in one step.
 */
static int apply_script(struct ipcuckoo_set *set, const struct script *script)
{
	struct ipcuckoo_entries *next = ipcuckoo_change_scratch_create(set);
	struct command command;
	const char *line;
	int err = 0;

	if (IS_ERR(next))
		return PTR_ERR(next);
	if (!script->flushes)
		err = ipcuckoo_entries_copy(next, &set->entries);
	for (line = script->lines; line != script->end && !err; line += strlen(line) + 1) {
		err = fatal_signal_pending(current) ? -EINTR :
		      parse_command(set, line, &command) ?:
		      apply_command(set, next, &command);
		cond_resched();
	}
	if (!err)
		ipcuckoo_set_replace(set, next);
	ipcuckoo_change_scratch_destroy(next);
	return err;
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
	struct script script = {};
	int err = parse_script(set, text, &script) ?: ipcuckoo_set_lock(set, IPCUCKOO_LAST);

	if (err)
		return err;
	err = script.count == 1 ? apply_single(set, &script) : apply_script(set, &script);
	ipcuckoo_set_unlock(set);
	return err;
}
