// SPDX-License-Identifier: GPL-2.0
/*
 * Starts a program many times without loading it each time. Loading ipset takes three times as long
 * as running it, and the drop-in tests run it some ten thousand times.
 *
 * This library is preloaded into the program. It replaces main() by a loop, which forks for each
 * request; the child runs the program's own main() with the words of the request. So the code that
 * runs is the program's, from a state that no earlier run has changed.
 *
 *	ZYGOTE="3 4" LD_PRELOAD=zygote.so LD_BIND_NOW=1 ipset
 *
 * reads requests from file descriptor 3: the length of the rest, then the words, each with a 0 byte
 * after it. Answers each on 4 with the child's status, as waitpid() has it. Ends at end of file.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MOST_BYTES = 1 << 16,
	MOST_WORDS = 256,
};

typedef int main_fn(int argc, char **argv, char **envp);
typedef int start_fn(main_fn *main, int argc, char **argv, void (*init)(void),
		     void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

static main_fn *program;
static char buffer[MOST_BYTES];
static char *words[MOST_WORDS + 1];

static void die(const char *text)
{
	fprintf(stderr, "zygote: %s\n", text);
	_exit(125);
}

/* Reads @size bytes; returns 0 at end of file. */
static int read_all(int fd, void *data, size_t size)
{
	size_t have = 0;
	ssize_t n;

	while (have < size) {
		n = read(fd, (char *)data + have, size - have);
		if (n < 0)
			die("cannot read a request");
		if (n == 0)
			return 0;
		have += n;
	}
	return 1;
}

/* Sets @words from the next request; returns their number, or 0 at the end. */
static int next_request(int fd)
{
	uint32_t size, at;
	int count = 0;

	if (!read_all(fd, &size, sizeof(size)))
		return 0;
	if (!size || size > sizeof(buffer) || !read_all(fd, buffer, size) || buffer[size - 1])
		die("a bad request");
	for (at = 0; at < size; at++) {
		if (at && buffer[at - 1])
			continue;
		if (count == MOST_WORDS)
			die("a request with too many words");
		words[count++] = buffer + at;
	}
	words[count] = NULL;
	return count;
}

static int serve(int argc, char **argv, char **envp)
{
	const char *fds = getenv("ZYGOTE");
	int in, out, count, status;
	pid_t pid;

	(void)argc;
	(void)argv;
	if (!fds || sscanf(fds, "%d %d", &in, &out) != 2)
		die("ZYGOTE does not name two file descriptors");
	while ((count = next_request(in))) {
		pid = fork();
		if (pid < 0)
			die("cannot fork");
		if (!pid) {
			close(in);
			close(out);
			return program(count, words, envp);
		}
		if (waitpid(pid, &status, 0) != pid)
			die("the child is lost");
		if (write(out, &status, sizeof(status)) != sizeof(status))
			die("cannot answer");
	}
	_exit(0);
}

/* The C library's start code calls this, with the program's main(). */
int __libc_start_main(main_fn *main, int argc, char **argv, void (*init)(void),
		      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
int __libc_start_main(main_fn *main, int argc, char **argv, void (*init)(void),
		      void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
	start_fn *start;

	*(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
	if (!start)
		die("there is no __libc_start_main");
	program = main;
	return start(serve, argc, argv, init, fini, rtld_fini, stack_end);
}
