// SPDX-License-Identifier: GPL-2.0
/* Fuzzes the files that restore reads, and the transactions that it makes of them. */
#define FUZZ_INSIDE
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const words[] = { "restore", NULL };

	outside = (struct outside){ .file = data, .file_size = size };
	run_tool(words);
	return 0;
}
