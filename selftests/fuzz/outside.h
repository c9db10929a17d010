/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The surroundings of the tool, for fuzzers. This header is included before each source of the
 * tool. It replaces sockets, files and host names by functions of outside.c, so that nothing real
 * is touched and the same input always has the same result.
 */
#ifndef FUZZ_OUTSIDE_H
#define FUZZ_OUTSIDE_H

#include <fcntl.h>
#include <ifaddrs.h>
#include <libmnl/libmnl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../tools/lib/feed.h"

/* Small limits, so that the fuzzer reaches them sooner than those of 65536 hosts. */
#undef FEED_EXPAND_LIMIT
#undef FEED_EXPAND_MOST
#define FEED_EXPAND_LIMIT	64ull
#define FEED_EXPAND_MOST	256ull

/* Number of bytes that are read from a file at once */
#define BUFFER_SIZE		512u

/* Initial size of a buffer for entries, in bytes; a larger one is allocated when it is full */
#define FIRST_ROOM		64u

/* Bytes of entries in a message; and up to how many changes of a set are made without reading it */
#define ENTRIES_SIZE		512
#define CHANGES_SIZE		128
#define FEW			8

/**
 * struct outside - the surroundings of the tool
 * @answers:	bytes from which the kernel's answers are made, see outside.c; NULL for a kernel
 *		with a few sets, which does everything that is requested
 * @size:	number of bytes left
 * @file:	content of every file and of standard input
 * @file_size:	number of its bytes
 */
struct outside {
	const uint8_t *answers;
	size_t size;
	const uint8_t *file;
	size_t file_size;
};

extern struct outside outside;

/* Run the tool with these arguments; a NULL follows the last one. */
void run_tool(const char *const *words);

int outside_open(const char *path, int flags);
FILE *outside_fopen(const char *path, const char *mode);
int outside_mkostemp(char *path, int flags);
int outside_rename(const char *from, const char *to);
int outside_unlink(const char *path);
FILE *outside_stdin(void);
int outside_poll(struct pollfd *polled, nfds_t count, int timeout);
int outside_sigprocmask(int how, const sigset_t *set, sigset_t *old);
int outside_getaddrinfo(const char *name, const char *service,
			const struct addrinfo *hints, struct addrinfo **found);
int outside_getnameinfo(const struct sockaddr *address, socklen_t size, char *host,
			socklen_t host_size, char *service, socklen_t service_size,
			int flags);
struct mnl_socket *outside_socket_open(int bus, int flags);
int outside_socket_bind(struct mnl_socket *socket, unsigned int groups, pid_t pid);
int outside_socket_close(struct mnl_socket *socket);
int outside_socket_fd(const struct mnl_socket *socket);
unsigned int outside_socket_portid(const struct mnl_socket *socket);
int outside_socket_option(const struct mnl_socket *socket, int option, void *value,
			  socklen_t size);
ssize_t outside_send(const struct mnl_socket *socket, const void *message, size_t size);
ssize_t outside_receive(const struct mnl_socket *socket, void *to, size_t size);

/* No ipcuckood answers. */
int outside_connect(int fd, const struct sockaddr *address, socklen_t size);

/* The headers that declare these functions are included above, because glibc redirects some
 * declarations to names of its own, and would redirect our functions, too.
 */
#ifndef FUZZ_INSIDE
#define open(path, flags)			outside_open(path, flags)
#define fopen(path, mode)			outside_fopen(path, mode)
#define mkostemp(path, flags)			outside_mkostemp(path, flags)
#define rename(from, to)			outside_rename(from, to)
#define unlink(path)				outside_unlink(path)
#undef stdin
#define stdin					outside_stdin()
#define poll(polled, count, timeout)		outside_poll(polled, count, timeout)
#define connect(fd, address, size)		outside_connect(fd, address, size)
#define sigprocmask(how, set, old)		outside_sigprocmask(how, set, old)
#define getaddrinfo(name, service, hints, found) \
	outside_getaddrinfo(name, service, hints, found)
/* The machine has no addresses. */
#define getifaddrs(list)				(*(list) = NULL, -1)
#define getnameinfo(...)			outside_getnameinfo(__VA_ARGS__)
#define mnl_socket_open2(bus, flags)		outside_socket_open(bus, flags)
#define mnl_socket_bind(socket, groups, pid)	outside_socket_bind(socket, groups, pid)
#define mnl_socket_close(socket)		outside_socket_close(socket)
#define mnl_socket_get_fd(socket)		outside_socket_fd(socket)
#define mnl_socket_get_portid(socket)		outside_socket_portid(socket)
#define mnl_socket_setsockopt(socket, option, value, size) \
	outside_socket_option(socket, option, value, size)
#define mnl_socket_sendto(socket, message, size) outside_send(socket, message, size)
#define mnl_socket_recvfrom(socket, to, size)	outside_receive(socket, to, size)
#endif

#endif /* FUZZ_OUTSIDE_H */
