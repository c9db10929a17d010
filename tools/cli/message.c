// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages: what happened, and what to do about it. They go to stderr, begin
 * with the name of the tool, and are held back by -q. Where ipset has a sentence
 * for what happened ours begins with it.
 */
#include <linux/capability.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/command.h"

/* Longer words are no misspellings of ours. */
#define NEAREST_SIZE	64

/* Behind the first line, for ipset's sentence comes first. */
static void print_with_file(const char *file, const char *format, va_list args)
{
	char *text = NULL;
	int len = vasprintf(&text, format, args) < 0 ? 0 : strcspn(text, "\n");

	if (len)
		fprintf(stderr, "%.*s (file %s)%s", len, text, file, text + len);
	free(text);
}

static void print_name(void)
{
	fflush(stdout);
	fputs("ipcuckoo v" IPCUCKOO_TOOL_VERSION ": ", stderr);
}

static void print_message(const struct tool *tool, const char *before,
			  const char *format, va_list args)
{
	print_name();
	if (tool->line)
		fprintf(stderr, "Error in line %lu: ", tool->line);
	fputs(before, stderr);
	if (tool->line && tool->file)
		print_with_file(tool->file, format, args);
	else
		vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

/**
 * fail - say why the command failed
 * @tool:	the run
 * @status:	the status to exit with
 * @format:	as printf()'s
 *
 * Return: @status.
 */
int fail(const struct tool *tool, int status, const char *format, ...)
{
	va_list args;

	if (!tool->quiet) {
		va_start(args, format);
		print_message(tool, "", format, args);
		va_end(args);
	}
	return status;
}

/**
 * fail_syntax - say that a value cannot be understood
 * @tool:	the run
 * @format:	as printf()'s
 *
 * Return: STATUS_SYNTAX.
 */
int fail_syntax(const struct tool *tool, const char *format, ...)
{
	va_list args;

	if (!tool->quiet) {
		va_start(args, format);
		print_message(tool, "Syntax error: ", format, args);
		va_end(args);
	}
	return STATUS_SYNTAX;
}

/* What is no error, in a line either. */
void warn(const struct tool *tool, const char *format, ...)
{
	va_list args;

	if (tool->quiet)
		return;
	print_name();
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

int fail_memory(const struct tool *tool)
{
	return fail(tool, STATUS_REFUSED, "out of memory");
}

int fail_usage(const struct tool *tool)
{
	const struct command *command = tool->command;

	return fail(tool, STATUS_USAGE,
		    "wrong words for %s\nusage: ipcuckoo %s %s\nTry `ipcuckoo help %s' for more information.",
		    command->name, command->name, command->usage,
		    command->name);
}

/* Say that a command has too few words: how many there are. */
int fail_missing(const struct tool *tool, int words)
{
	const struct command *command = tool->command;

	return fail(tool, STATUS_USAGE,
		    "Missing %smandatory argument to command %s\nusage: ipcuckoo %s %s\nTry `ipcuckoo help %s' for more information.",
		    words ? "second " : "", command->name, command->name,
		    command->usage, command->name);
}

/* How many letters to change, add or leave out between two words. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[NEAREST_SIZE + 1], above, corner, best;
	size_t a_len = strlen(a), b_len = strlen(b), i, j;

	if (a_len > NEAREST_SIZE || b_len > NEAREST_SIZE)
		return NEAREST_SIZE;
	for (j = 0; j <= b_len; j++)
		row[j] = j;
	for (i = 1; i <= a_len; i++) {
		corner = row[0];
		row[0] = i;
		for (j = 1; j <= b_len; j++) {
			above = row[j];
			best = corner + (a[i - 1] != b[j - 1]);
			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			corner = above;
			row[j] = best;
		}
	}
	return row[b_len];
}

/**
 * nearest_hint - guess what was meant
 * @word:	an unknown word
 * @others:	the known ones
 * @count:	how many
 *
 * Return: "; did you mean ...?", or an empty string if none is near. It stays
 * valid until the next call.
 */
const char *nearest_hint(const char *word, const char *const *others,
			 size_t count)
{
	static char hint[NEAREST_SIZE + 32];
	unsigned int best = strlen(word) / 3 + 2, d;
	const char *nearest = NULL;
	size_t i;

	for (i = 0; i < count; i++) {
		d = distance(word, others[i]);
		if (d < best && d < strlen(others[i])) {
			best = d;
			nearest = others[i];
		}
	}
	if (!nearest)
		return "";
	snprintf(hint, sizeof(hint), "; did you mean \"%s\"?", nearest);
	return hint;
}

static int fail_no_set(const struct tool *tool, const char *name)
{
	const char **names = NULL;
	struct nl_set *sets;
	size_t count, i;
	int status;

	if (nl_sets(tool->nl, &sets, &count) < 0)
		count = 0;
	if (count)
		names = calloc(count, sizeof(*names));
	for (i = 0; names && i < count; i++)
		names[i] = sets[i].name;
	if (name[0] == '-')
		status = fail(tool, STATUS_REFUSED,
			      "The set with the given name does not exist: \"%s\", and %s has no such option%s\nTry `ipcuckoo help %s' for more information.",
			      name, tool->command->name,
			      nearest_hint(name, names, names ? count : 0),
			      tool->command->name);
	else if (!names)
		status = fail(tool, STATUS_REFUSED,
			      "The set with the given name does not exist: \"%s\"; make it with: ipcuckoo create %s hash:ip",
			      name, name);
	else
		status = fail(tool, STATUS_REFUSED,
			      "The set with the given name does not exist: \"%s\"%s\nSee ipcuckoo list -n, or make it with: ipcuckoo create %s hash:ip",
			      name, nearest_hint(name, names, count), name);
	free(names);
	free(sets);
	return status;
}

/* The kernel's errors in our words, and what may help: %s is the set. */
static const struct {
	int code;
	const char *words;
	const char *advice;
} errors[] = {
	{ -EBUSY, "it is attached", "ipcuckoo detach %s ends that" },
	{ -ENOSPC, "Hash is full, cannot add more elements",
	  "see ipcuckoo list -t %s" },
	{ -EDQUOT, "the memory limit of the network namespace is reached",
	  "destroy or flush a set, or raise the module's parameter" },
	{ -ENOMEM, "the kernel has no memory", NULL },
	{ -ESTALE, "the set was changed by others meanwhile", "try again" },
	{ -EAFNOSUPPORT, "the address is not of the set's family", NULL },
	{ -EOPNOTSUPP, "the set's type does not allow that",
	  "is the module older than the tool? see ipcuckoo version" },
	{ -EINVAL, "the kernel finds it invalid",
	  "is the module older than the tool? see ipcuckoo version" },
};

static void give_advice(char *to, size_t size, const char *advice,
			const char *set)
{
	const char *gap = strstr(advice, "%s");

	if (gap)
		snprintf(to, size, " (%.*s%s%s)", (int)(gap - advice), advice,
			 set, gap + 2);
	else
		snprintf(to, size, " (%s)", advice);
}

static bool has_net_admin(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};

	return !syscall(SYS_capget, &header, data) &&
	       data[0].effective & 1U << CAP_NET_ADMIN;
}

/* The module's parameter userns: 'Y' or 'N', or 0 where it cannot be read. */
static char parameter_userns(void)
{
	FILE *f = fopen("/sys/module/ipcuckoo/parameters/userns", "re");
	int c = f ? getc(f) : EOF;

	if (f)
		fclose(f);
	return c == EOF ? 0 : c;
}

/* Whoever has the capability and is refused has it in a user namespace that the
 * module does not listen to.
 */
static int fail_permission(const struct tool *tool)
{
	const char *why = "this needs root or CAP_NET_ADMIN";

	if (has_net_admin() && parameter_userns() == 'Y')
		why = "you are root of a user namespace to which this network namespace does not belong; make one with unshare --net";
	else if (has_net_admin())
		why = "you are root of a user namespace only, and the module's parameter userns=N keeps these out; run this as root of the machine, or load the module with userns=1";
	return fail(tool, STATUS_DENIED,
		    "Kernel error received: Operation not permitted (%s)", why);
}

/**
 * fail_kernel - say why the kernel refused
 * @tool:	the run; the error is that of its last request
 * @set:	the set it was about, or NULL
 * @format:	what could not be done, as printf()'s
 *
 * Return: the status to exit with.
 */
int fail_kernel(const struct tool *tool, const char *set, const char *format,
		...)
{
	const struct nl_error error = *nl_error(tool->nl);
	const char *words, *advice = NULL;
	char what[256], help[128] = "";
	struct nl_set unused;
	va_list args;
	size_t i;

	if (error.code == -EPERM || error.code == -EACCES)
		return fail_permission(tool);
	if (error.code == -ENOENT && set &&
	    nl_set_get(tool->nl, set, &unused) == -ENOENT)
		return fail_no_set(tool, set);
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	words = strerror(-error.code);
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].code == error.code) {
			words = errors[i].words;
			advice = errors[i].advice;
		}
	}
	/* The kernel's own sentence is the more precise one. */
	if (error.message[0]) {
		words = error.message;
		if (error.code == -EINVAL || error.code == -EOPNOTSUPP)
			advice = NULL;
	}
	if (advice)
		give_advice(help, sizeof(help), advice, set ? set : "--all");
	return fail(tool, STATUS_REFUSED, "%s: %s%s", what, words, help);
}

/**
 * connect_module - open the connection to the kernel module
 * @tool:	the run
 *
 * Done once the words are understood: wrong words are wrong also where the
 * module is not loaded.
 *
 * Return: STATUS_OK, or the status to exit with, after a message.
 */
int connect_module(struct tool *tool)
{
	int err;

	if (tool->nl)
		return STATUS_OK;
	err = nl_open(&tool->nl);
	switch (err) {
	case 0:
		return STATUS_OK;
	case -ENOPROTOOPT:
	case -EPROTONOSUPPORT:
		return fail(tool, STATUS_ABSENT,
			    "the kernel module is not loaded; run modprobe ipcuckoo (or make load in its source)");
	case -EPERM:
	case -EACCES:
		return fail_permission(tool);
	}
	return fail(tool, STATUS_REFUSED, "cannot talk to the kernel: %s",
		    strerror(-err));
}

/**
 * find_set - connect, and ask about a set
 * @tool:	the run
 * @name:	the set
 * @set:	the answer
 *
 * Return: STATUS_OK, or the status to exit with, after a message.
 */
int find_set(struct tool *tool, const char *name, struct nl_set *set)
{
	int status;

	status = parse_name(tool, name);
	if (!status)
		status = connect_module(tool);
	if (status)
		return status;
	if (nl_set_get(tool->nl, name, set))
		return fail_kernel(tool, name, "cannot read set \"%s\"", name);
	return STATUS_OK;
}
