// SPDX-License-Identifier: GPL-2.0
/*
 * Prints numbers of IPv4 hosts at which memory per host is interesting: for each doubling, the
 * number whose table is the largest in relation to its contents, according to the core's own
 * functions; and both ends.
 *
 *	sizes FROM TO
 */
#include "bench.h"

/* Size of a table that is created for @n entries. Similar numbers have tables of the same size. */
static size_t table_bytes(u32 n)
{
	static struct ipcuckoo_mem mem;
	static size_t bytes;
	static u32 last;
	u32 buckets = ipcuckoo_table_buckets(n, IPCUCKOO_KEY32, 0);
	struct ipcuckoo_table *table;

	if (buckets != last) {
		table = plain_table_create(&mem, buckets, false);
		if (IS_ERR(table))
			bench_die("out of memory");
		bytes = ipcuckoo_table_memory(table);
		ipcuckoo_table_destroy(table);
		last = buckets;
	}
	return bytes;
}

int main(int argc, char **argv)
{
	u32 from = argc == 3 ? strtoul(argv[1], NULL, 0) : 0;
	u32 to = argc == 3 ? strtoul(argv[2], NULL, 0) : 0;
	u32 n, worst = from, end = 2 * from;
	double bytes, most = 0;

	if (!from || to < from)
		bench_die("usage: sizes FROM TO");
	printf("%u\n", from);
	for (n = from + 1; n <= to; n++) {
		bytes = (double)table_bytes(n) / n;
		if (bytes > most) {
			most = bytes;
			worst = n;
		}
		if (n < end && n < to)
			continue;
		if (worst < to)
			printf("%u\n", worst);
		end *= 2;
		most = 0;
	}
	printf("%u\n", to);
	return 0;
}
