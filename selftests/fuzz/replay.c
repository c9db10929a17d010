// SPDX-License-Identifier: GPL-2.0
/*
 * replay FILE...: runs files through a fuzzer's function, without libFuzzer. Prints KTAP, a case
 * for each file. A failure ends the program at that file, with the sanitizer's report.
 */
#include <fcntl.h>
#include <sanitizer/common_interface_defs.h>
#include <string.h>
#include <unistd.h>

#define FUZZ_INSIDE
#include "fuzz.h"

#define MOST	(1 << 20)

static void run_file(const char *path)
{
	uint8_t *data = malloc(MOST), *exact;
	int fd = open(path, O_RDONLY);
	ssize_t size = fd < 0 || !data ? -1 : read(fd, data, MOST);

	if (size < 0)
		abort();
	close(fd);
	/* A buffer of exactly that size, so that the sanitizer finds reads beyond its end. */
	exact = malloc(size);
	memcpy(exact, data, size);
	free(data);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

int main(int argc, char **argv)
{
	int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO), null, i;

	null = open("/dev/null", O_WRONLY);
	if (out < 0 || err < 0 || null < 0 || argc < 2)
		return 1;
	/* Discard the output of the tool. */
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	__sanitizer_set_report_fd((void *)(uintptr_t)err);
	dprintf(out, "TAP version 13\n1..%d\n", argc - 1);
	for (i = 1; i < argc; i++) {
		run_file(argv[i]);
		dprintf(out, "ok %d %s\n", i, strrchr(argv[i], '/') + 1);
	}
	return 0;
}
