// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench-filters: compares the published filters with each other, with what was
 * published about them, and with our filter and tables.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "report.h"

/* A non-member is a key that differs from all entries, and there are 2^32. */
#define NON_MEMBERS	20000000

static int usage(const char *name)
{
	fprintf(stderr,
		"Usage: %s [-q] [-o DIRECTORY] [-s SEED]\n"
		"  -q  quick: a tenth of the work, wider errors\n"
		"  -o  where filters.json and the tables go (.)\n"
		"  -s  seed of all that is random (1)\n", name);
	return 2;
}

int main(int argc, char **argv)
{
	struct bench bench = {
		.seed = 1, .rounds = 9, .non_members = NON_MEMBERS,
	};
	const char *directory = ".";
	int option;

	while ((option = getopt(argc, argv, "qo:s:")) != -1) {
		switch (option) {
		case 'q':
			bench.quick = true;
			bench.rounds = 3;
			bench.non_members = NON_MEMBERS / 10;
			break;
		case 'o':
			directory = optarg;
			break;
		case 's':
			bench.seed = strtoull(optarg, NULL, 0);
			break;
		default:
			return usage(argv[0]);
		}
	}
	if (optind < argc)
		return usage(argv[0]);
	report_begin(directory, bench.seed, bench.quick);
	bench_overview(&bench);
	bench_choices(&bench);
	bench_load(&bench);
	bench_rate(&bench);
	bench_reads(&bench);
	bench_copies(&bench);
	bench_delete(&bench);
	bench_space(&bench);
	bench_matrix(&bench);
	return report_end();
}
