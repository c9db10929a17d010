// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changes a set one entry at a time, at a given rate of updates a second, until it gets a signal:
 *
 *	updates SET-FILE LIST RATE
 *
 * SET-FILE is a file in /proc/net/ipcuckoo/set/. LIST has members of the set, one a line, which are
 * deleted and added again. RATE 0 means as fast as possible. Prints a line when it begins, and the
 * rate at the end.
 */
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_SIZE	64

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Read the lines; each has room for the "+" or "-" before it. */
static size_t read_list(const char *path, char (**lines)[LINE_SIZE])
{
	FILE *file = fopen(path, "r");
	size_t count = 0;
	char *got;

	if (!file)
		err(2, "%s", path);
	do {
		*lines = realloc(*lines, (count + 1) * LINE_SIZE);
		if (!*lines)
			err(2, "memory");
		got = fgets((*lines)[count] + 1, LINE_SIZE - 1, file);
		count += !!got;
	} while (got);
	fclose(file);
	if (!count)
		errx(2, "%s is empty", path);
	return count;
}

static void update(int fd, char *line, char sign)
{
	line[0] = sign;
	if (write(fd, line, strlen(line)) < 0)
		err(2, "%s", line);
}

int main(int argc, char **argv)
{
	char (*lines)[LINE_SIZE] = NULL;
	double begin, rate;
	size_t count, n;
	int fd;

	if (argc != 4)
		errx(2, "usage: updates SET-FILE LIST RATE");
	fd = open(argv[1], O_WRONLY);
	if (fd < 0)
		err(2, "%s", argv[1]);
	count = read_list(argv[2], &lines);
	rate = atof(argv[3]);
	signal(SIGTERM, on_signal);
	puts("begun");
	fflush(stdout);
	begin = now();
	/* Delete and add each entry; do not end between the two. */
	for (n = 0; !stop || n & 1; n++) {
		while (rate && !stop && n > (now() - begin) * rate)
			usleep(1000000 / rate / 2);
		update(fd, lines[n / 2 % count], n & 1 ? '+' : '-');
	}
	printf("%.0f\n", n / (now() - begin));
	return 0;
}
