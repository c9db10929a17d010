// SPDX-License-Identifier: GPL-2.0
/* Fuzzes command lines, several in an input, one a line: options, entries, types, verdicts. */
#define FUZZ_INSIDE
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const words[] = { "-", NULL };

	outside = (struct outside){ .file = data, .file_size = size };
	run_tool(words);
	return 0;
}
