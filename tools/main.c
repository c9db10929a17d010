// SPDX-License-Identifier: GPL-2.0-only
/*
 * ipcuckoo: controls the ipcuckoo kernel module. Start reading at the table of commands
 * in cmd/commands.c.
 */
#include "cmd/commands.h"
#include "lib/descriptors.h"

int main(int argc, char **argv)
{
	struct words words = { .word = argv + 1, .count = argc - 1 };
	static char buffer[64 << 10];
	struct tool tool = { 0 };
	int status;

	reserve_standard_descriptors();
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	status = run_words(&tool, &words);
	nl_close(tool.nl);
	if ((fflush(stdout) || ferror(stdout)) && status <= STATUS_NO)
		status = exit_status(tool.command,
				     fail(&tool, STATUS_REFUSED,
					  "the output cannot be written: %s",
					  strerror(errno)));
	return status;
}
