// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes the kernel's answers, and what the tool prints of them. The first byte of the input
 * selects the command; outside.c makes the answers from the rest.
 */
#define FUZZ_INSIDE
#include "fuzz.h"

#define WORDS		8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const commands[][WORDS] = {
		{ "list" }, { "list", "-j" }, { "list", "-o", "xml" }, { "list", "-r", "a" },
		{ "list", "--verbose" }, { "save" }, { "save", "--ipset" }, { "list", "-n" },
		{ "stats" }, { "stats", "-j" }, { "stats", "--prometheus" }, { "version" },
		{ "monitor" }, { "monitor", "-j" },
		{ "test", "a", "192.0.2.1" }, { "count", "f", "192.0.2.1" },
		{ "add", "a", "192.0.2.1", "192.0.2.2" }, { "del", "a", "192.0.2.1" },
		{ "attach", "a", "src", "drop" }, { "detach", "a" },
		{ "load", "a", "list" }, { "load", "a", "list", "--append" },
		{ "destroy" }, { "swap", "a", "b" },
		{ "block", "192.0.2.1" }, { "unblock", "192.0.2.1" },
		{ "restore" },
		{ "top" }, { "top", "-j" }, { "top", "a", "--first", "1" },
		{ "save", "--all" }, { "list", "-t", "a" }, { "list", "-t", "-j" },
		{ "list", "-o", "xml", "--verbose" },
		{ "test", "-j", "a", "192.0.2.0/24" }, { "test", "a", "192.0.2.1", "nomatch" },
		{ "add", "a", "192.0.2.1", "timeout", "5", "-exist" },
		{ "create", "a", "hash:ip", "timeout", "5" }, { "change", "a", "maxelem", "7" },
		{ "attach", "b", "both", "mark", "1", "--replace" }, { "detach", "--all" },
		{ "restore", "--check" }, { "why", "192.0.2.1" }, { "why", "-j", "192.0.2.1" },
	};
	static const uint8_t file[] =
		"create r hash:net timeout 9 comment\n"
		"add r 192.0.2.0/24 timeout 5 comment \"a b\"\n"
		"attach r src count\n"
		"flush a\nadd a 192.0.2.3\n"
		"del b 192.0.2.4\nadd b 192.0.2.5\n"
		"swap a b\nrename b z\ndestroy z\n";
	static const uint8_t list[] = "192.0.2.3\n192.0.2.4\n";
	const char *const *words;

	if (!size)
		return 0;
	words = commands[data[0] % (sizeof(commands) / sizeof(commands[0]))];
	outside = (struct outside){ .answers = data + 1, .size = size - 1 };
	outside.file = words[0][0] == 'r' ? file : list;
	outside.file_size = words[0][0] == 'r' ? sizeof(file) - 1 : sizeof(list) - 1;
	run_tool(words);
	return 0;
}
