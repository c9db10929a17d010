// SPDX-License-Identifier: GPL-2.0-only
/* version: prints the versions of the tool and of the module. */
#include "cli/output.h"
#include "cmd/commands.h"
#include "release.h"

/*
 * Programs that run ipset search the line that it prints for a version and a protocol
 * version, and need at least 6 for both. ipcuckoo has the commands of the ipset version
 * below, and is tested against it. If it is run with the name "ipset", it prints exactly
 * what that ipset prints; otherwise its own version, and ipset's protocol version.
 */
#define IPSET_VERSION	"7.17"
#define IPSET_PROTOCOL	", protocol version: 7"

static bool called_ipset(void)
{
	return !strcmp(program_invocation_short_name, "ipset");
}

/* @module: " (module ...)", or "". */
static void print_version_line(const char *module)
{
	if (called_ipset())
		puts("ipset v" IPSET_VERSION IPSET_PROTOCOL);
	else
		printf("ipcuckoo v" IPCUCKOO_VERSION "%s" IPSET_PROTOCOL "\n", module);
}

int print_tool_version(const struct tool *tool)
{
	struct json_object *object;

	if (!tool->json) {
		print_version_line("");
		return STATUS_OK;
	}
	object = json_object_new_object();
	json_add_string(object, "tool", IPCUCKOO_VERSION);
	json_print(object);
	return STATUS_OK;
}

int run_version(struct tool *tool, struct words *words)
{
	struct json_object *object;
	struct nl_info info;
	char module[96];
	bool known;
	int status;

	status = parse_words(tool, words, no_keywords, 0, 0);
	/* Do not ask the kernel: if the module is not loaded, that takes long. */
	if (!status && called_ipset() && !tool->json)
		return print_tool_version(tool);
	if (status)
		return status;
	known = !open_module(tool) && !nl_info(tool->nl, &info);
	if (tool->json) {
		object = json_object_new_object();
		json_add_string(object, "tool", IPCUCKOO_VERSION);
		if (known)
			json_add_string(object, "module", info.version);
		else
			json_object_object_add(object, "module", NULL);
		json_print(object);
		return STATUS_OK;
	}
	if (known)
		snprintf(module, sizeof(module), " (module v%s)", info.version);
	else
		snprintf(module, sizeof(module), " (module %s)", tool->nl ?
			 "loaded, its version needs root to read" : "not loaded");
	print_version_line(module);
	return STATUS_OK;
}
