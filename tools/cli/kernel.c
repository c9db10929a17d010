// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connects to the module, asks about a set, and prints why a request was refused and what
 * may help.
 */
#include <linux/capability.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/command.h"
#include "lib/address.h"
#include "lib/nearest.h"

#define MAKE_OTHERS \
	" (hosts and prefixes, IPv4 and IPv6; ipcuckoo help create shows other types and families)"

/* A set that was perhaps meant. What loses data is proposed only if one letter is wrong. */
static const char *set_hint(const struct tool *tool, const char *name, const char *const *names,
			    size_t count)
{
	unsigned int slips;
	const char *nearest = nearest_word(name, names, count, &slips);

	if (!strcmp(name, "all") && !strncmp(tool->command->usage, "[NAME", 5) &&
	    !(tool->command->flags & COMMAND_LOSES))
		return "; without a name, the command is about all sets";
	return nearest && tool->command->flags & COMMAND_LOSES && slips != 1 ? "" :
	       nearest_hint(name, names, count);
}

static int fail_no_set(const struct tool *tool, const char *name)
{
	struct address_range range;
	char why[ADDRESS_WHY_SIZE];
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
	else if (!address_parse(name, strlen(name), &range, why))
		status = fail(tool, STATUS_REFUSED,
			      "The set with the given name does not exist: \"%s\"; the name of a set comes before an address, as in: ipcuckoo %s %s %s",
			      name, strstr(tool->command->usage, "ENTRY") ?
			      tool->command->name : "test", count ? sets[0].name : "NAME", name);
	else if (!strncmp(tool->command->usage, "NAME FILE", 9) && !access(name, F_OK))
		status = fail(tool, STATUS_REFUSED,
			      "The set with the given name does not exist: \"%s\"; the name of a set comes before files, as in: ipcuckoo %s %s %s",
			      name, tool->command->name, count ? sets[0].name : "NAME", name);
	else if (!names)
		status = fail(tool, STATUS_REFUSED,
			      "The set with the given name does not exist: \"%s\"; make it with: ipcuckoo create %s hash:net family any" MAKE_OTHERS,
			      name, name);
	else
		status = fail(tool, STATUS_REFUSED,
			      "The set with the given name does not exist: \"%s\"%s\nSee ipcuckoo list -n, or make it with: ipcuckoo create %s hash:net family any" MAKE_OTHERS,
			      name, set_hint(tool, name, names, count), name);
	free(names);
	free(sets);
	return status;
}

/* Messages for errors of the kernel, and advice: %s is the name of the set. */
static const struct {
	int code;
	const char *words;
	const char *advice;
} errors[] = {
	{ -EBUSY, "it is attached, or rules of iptables refer to it",
	  "first detach it: ipcuckoo detach %s; and delete the rules" },
	{ -ENOSPC, "Hash is full, cannot add more elements",
	  "see ipcuckoo list -t %s" },
	{ -EDQUOT, "the memory limit of the network namespace is reached",
	  "destroy or flush a set, or raise the limit: see MODULE PARAMETERS in ipcuckoo(8)" },
	{ -ENOMEM, "the kernel is out of memory", NULL },
	{ -ESTALE, "another process has changed the set meanwhile", "try again" },
	{ -EAFNOSUPPORT, "the address is not of the set's family", NULL },
	{ -EOPNOTSUPP, "the set's type does not allow that",
	  "is the module older than the tool? see ipcuckoo version" },
	{ -EINVAL, "the kernel refuses it as invalid",
	  "is the module older than the tool? see ipcuckoo version" },
};

/* Whether generic netlink has refused a flag or an attribute that the module does not know. */
static bool is_unknown(const char *message)
{
	return !strcmp(message, "reserved bit set") || !strcmp(message, "Unknown attribute type");
}

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

/* The module parameter userns: 'Y' or 'N'; 0 if it cannot be read. */
static char parameter_userns(void)
{
	FILE *f = fopen("/sys/module/ipcuckoo/parameters/userns", "re");
	int c = f ? getc(f) : EOF;

	if (f)
		fclose(f);
	return c == EOF ? 0 : c;
}

/* If the user has CAP_NET_ADMIN and is refused, it is that of a user namespace from which
 * the module accepts no requests.
 */
static int fail_permission(const struct tool *tool)
{
	const char *why;
	char userns = parameter_userns();

	if (!has_net_admin())
		why = "this needs root or CAP_NET_ADMIN";
	else if (!userns)
		why = "you are root only inside a user namespace, from which the module accepts no requests: its parameter userns, which cannot be read here, is probably N; run this as root of the machine, or load the module with userns=1";
	else if (userns == 'Y')
		why = "this network namespace does not belong to your user namespace; create one that does with unshare --net";
	else
		why = "you are root only inside a user namespace, from which the module accepts no requests (userns=N); run this as root of the machine, or load the module with userns=1";
	return fail(tool, STATUS_DENIED,
		    "Kernel error received: Operation not permitted (%s)", why);
}

/**
 * kernel_reason - write why the kernel refused a request, and what may help
 * @error:	the error of the request
 * @set:	the set of the request, or NULL
 * @to:		gets the text
 * @size:	size of @to
 */
void kernel_reason(const struct nl_error *error, const char *set, char *to, size_t size)
{
	const char *words = strerror(-error->code), *advice = NULL;
	char help[128] = "";
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].code == error->code) {
			words = errors[i].words;
			advice = errors[i].advice;
		}
	}
	/* A message of the kernel is more precise. */
	if (is_unknown(error->message)) {
		words = "the module does not know all that is asked for";
	} else if (error->message[0]) {
		words = error->message;
		if (error->code == -EINVAL || error->code == -EOPNOTSUPP)
			advice = NULL;
	}
	if (advice)
		give_advice(help, sizeof(help), advice, set ? set : "--all");
	snprintf(to, size, "%s%s", words, help);
}

/**
 * fail_kernel - print why the kernel refused the last request
 * @tool:	the run
 * @set:	the set of the request, or NULL
 * @format:	what could not be done, as for printf()
 *
 * Return: the exit status.
 */
int fail_kernel(const struct tool *tool, const char *set, const char *format,
		...)
{
	const struct nl_error error = *nl_error(tool->nl);
	char what[256], reason[KERNEL_REASON_SIZE];
	struct nl_set unused;
	va_list args;

	if (error.code == -EPERM || error.code == -EACCES)
		return fail_permission(tool);
	if (error.code == -ENOENT && set &&
	    nl_set_get(tool->nl, set, &unused) == -ENOENT)
		return fail_no_set(tool, set);
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	kernel_reason(&error, set, reason, sizeof(reason));
	return fail(tool, STATUS_REFUSED, "%s: %s", what, reason);
}

/* A variable of the firmware: four bytes of attributes, then 1 if Secure Boot is on */
#define SECURE_BOOT	"/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

/* Read the first bytes of a small file. Return: how many; 0 if it cannot be read. */
static size_t read_start(const char *path, char *to, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t len = f ? fread(to, 1, size, f) : 0;

	if (f)
		fclose(f);
	return len;
}

static bool is_secure_boot(void)
{
	char value[5];

	return read_start(SECURE_BOOT, value, sizeof(value)) == sizeof(value) &&
	       value[4] == 1;
}

/* Does the kernel refuse a module unless a key that it trusts has signed it? It does if it
 * is locked down, as with Secure Boot, or with module.sig_enforce=1.
 */
static bool is_signature_needed(void)
{
	char text[64] = "";

	if (read_start("/sys/module/module/parameters/sig_enforce", text, 1) && text[0] == 'Y')
		return true;
	/* "none [integrity] confidentiality": the mode in brackets is in force. */
	if (!read_start("/sys/kernel/security/lockdown", text, sizeof(text) - 1))
		return is_secure_boot();
	return !strstr(text, "[none]");
}

/* The kernel does not say why the module is not loaded. Only modprobe does, in words that do
 * not tell an operator what to do about a signature.
 */
static int fail_absent(const struct tool *tool)
{
	const char *signature = "";

	if (tool->spare)
		return fail(tool, STATUS_ABSENT,
			    "the kernel module ipcuckoo_spare is not loaded; leave out --spare");
	if (is_signature_needed())
		signature = is_secure_boot() ?
			"\nSecure Boot is on: the kernel refuses the module until the key that signed it is enrolled. If modprobe fails, run mokutil --import /var/lib/dkms/mok.pub, restart the machine, and choose Enroll MOK; see SECURE BOOT in ipcuckoo(8)" :
			"\nThis kernel refuses modules that are not signed with a key it trusts. If modprobe fails, sign the module with such a key; see SECURE BOOT in ipcuckoo(8)";
	return fail(tool, STATUS_ABSENT,
		    "the kernel module is not loaded; run modprobe ipcuckoo (or make load in its source)%s",
		    signature);
}

/**
 * open_module - open the connection to the kernel module, and print no message
 * @tool:	the run
 *
 * Return: 0, or the error of nl_open().
 */
int open_module(struct tool *tool)
{
	if (tool->nl)
		return 0;
	return nl_open(&tool->nl, tool->spare ? IPCUCKOO_SPARE_FAMILY_NAME :
						  IPCUCKOO_FAMILY_NAME);
}

/**
 * connect_module - open the connection to the kernel module
 * @tool:	the run
 *
 * Called after the command line is parsed, so that a wrong command line is reported even
 * if the module is not loaded.
 *
 * Return: STATUS_OK, or the exit status after a message.
 */
int connect_module(struct tool *tool)
{
	int err = open_module(tool);

	switch (err) {
	case 0:
		return STATUS_OK;
	case -ENOPROTOOPT:
	case -EPROTONOSUPPORT:
		return fail_absent(tool);
	case -EPERM:
	case -EACCES:
		return fail_permission(tool);
	}
	return fail(tool, STATUS_REFUSED, "cannot talk to the kernel: %s",
		    strerror(-err));
}

/* Is it the name of a set that exists? ip_set gives its sets names that ours cannot have. */
static bool is_foreign_set(struct tool *tool, const char *name, struct nl_set *set)
{
	size_t len = strlen(name);

	return len && len < IPCUCKOO_NAME_SIZE && !open_module(tool) &&
	       !nl_set_get(tool->nl, name, set);
}

/**
 * find_set - connect to the module, and ask about a set
 * @tool:	the run
 * @name:	name of the set
 * @set:	the answer
 *
 * Return: STATUS_OK, or the exit status after a message.
 */
int find_set(struct tool *tool, const char *name, struct nl_set *set)
{
	int status;

	if (!is_set_name(name) && is_foreign_set(tool, name, set))
		return STATUS_OK;
	status = parse_name(tool, name);
	if (!status)
		status = connect_module(tool);
	if (status)
		return status;
	if (nl_set_get(tool->nl, name, set))
		return fail_kernel(tool, name, "cannot read set \"%s\"", name);
	return STATUS_OK;
}
