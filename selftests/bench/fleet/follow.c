// SPDX-License-Identifier: GPL-2.0
/*
 * Simulates the followers of a list in Redis: the protocol of ipcuckood, without sets and kernels.
 *
 *   follow [-r] [-s] [-n CHANGES] FOLLOWERS PUBLISH-PORT PORT...
 *
 * All followers connect to the PORTs in turn, read the head of the list "feed", with -s its
 * snapshot, too, and wait for changes. Then so many changes are published at PUBLISH-PORT, one
 * after the other, each when all followers have read the one before. With -r each follower reports
 * every change, by a connection that it keeps for some seconds, as ipcuckood does.
 *
 * Prints a line when all have joined, with the seconds that took, and goes on when it reads a line.
 * Then it prints a line of JSON: for the median of the changes, the seconds until followers had
 * read it (median, 99th percentile, last); and ends when it reads another line. One process does
 * all of it, so the seconds are those of Redis and of this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "daemon/redis/list.h"
#include "daemon/redis/script.h"

#define KEY		"ipcuckoo:{feed}:"
#define PIECE		(256u << 10)
#define PIECES_AHEAD	4
/* So many connections are made at once: the kernel's queue of new ones is limited. */
#define CONNECTING_MOST	200
/* What the publisher of ipcuckood has: a report after 150 to 300 ms, by a connection for 5 s */
#define REPORT_LEAST	0.150
#define LINGER		5.0
/* A follower that waits so long has failed. */
#define SECONDS_MOST	300

enum step { CONNECT, HEAD, SNAPSHOT, FOLLOW };

/**
 * struct follower - a follower
 * @fd:		its connection
 * @step:	what it does
 * @reader:	reads replies
 * @version:	version of the snapshot
 * @bytes, @asked, @have: its size, and how much of it has been asked for, and has come
 * @id:		id of the last change
 * @seq:	its number
 * @read_at:	when that was read
 * @report_fd:	the connection for reports; -1: none
 * @report_at:	when to send the next report; 0: not
 * @close_at:	when to close that connection
 */
struct follower {
	int fd;
	enum step step;
	redisReader *reader;
	char version[48];
	uint64_t bytes, asked, have;
	char id[48];
	uint64_t seq;
	double read_at;
	int report_fd;
	double report_at;
	double close_at;
};

static struct follower *followers;
static unsigned int count;
static bool reports, snapshots;
static int loop;
static uint64_t joined, reported;

static void die(const char *what)
{
	fprintf(stderr, "follow: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static int start_connect(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0)
		die("no more sockets");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) && errno != EINPROGRESS)
		die("no connection");
	return fd;
}

static void send_words(int fd, int words, const char **word)
{
	char *text;
	int len = redisFormatCommandArgv(&text, words, word, NULL);

	if (len < 0 || write(fd, text, len) != len)
		die("a command cannot be sent");
	redisFreeCommand(text);
}

static void ask_pieces(struct follower *f)
{
	char key[128], first[24], last[24];
	const char *words[] = { "GETRANGE", key, first, last };

	snprintf(key, sizeof(key), KEY "snapshot:%s", f->version);
	while (f->asked < f->bytes && f->asked - f->have < PIECES_AHEAD * PIECE) {
		snprintf(first, sizeof(first), "%llu", (unsigned long long)f->asked);
		f->asked += PIECE;
		snprintf(last, sizeof(last), "%llu", (unsigned long long)f->asked - 1);
		send_words(f->fd, 4, words);
	}
}

static void follow(struct follower *f)
{
	const char *words[] = { "XREAD", "COUNT", "64", "BLOCK", "600000", "STREAMS",
				KEY "changes", f->id };

	if (f->step != FOLLOW)
		joined++;
	f->step = FOLLOW;
	send_words(f->fd, 8, words);
}

static void take_head(struct follower *f, const redisReply *reply)
{
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 4 ||
	    reply->element[0]->type != REDIS_REPLY_STRING)
		die("there is no list");
	snprintf(f->version, sizeof(f->version), "%s", reply->element[0]->str);
	f->bytes = strtoull(reply->element[1]->str, NULL, 10);
	f->seq = strtoull(reply->element[2]->str, NULL, 10);
	snprintf(f->id, sizeof(f->id), "%s", reply->element[3]->str);
	if (snapshots) {
		f->step = SNAPSHOT;
		ask_pieces(f);
	} else {
		follow(f);
	}
}

static void take_piece(struct follower *f, const redisReply *reply)
{
	if (reply->type != REDIS_REPLY_STRING)
		die("the snapshot is missing");
	f->have += reply->len;
	if (f->have == f->bytes)
		follow(f);
	else
		ask_pieces(f);
}

static void take_changes(struct follower *f, const redisReply *reply)
{
	const redisReply *entries, *entry;
	size_t i;

	if (reply->type != REDIS_REPLY_ARRAY)
		die("no changes come");
	entries = reply->element[0]->element[1];
	for (i = 0; i < entries->elements; i++) {
		entry = entries->element[i];
		if (strtoull(entry->element[1]->element[1]->str, NULL, 10) != f->seq + 1)
			die("a change is missing");
		f->seq++;
		snprintf(f->id, sizeof(f->id), "%s", entry->element[0]->str);
	}
	f->read_at = now();
	if (reports && !f->report_at)
		f->report_at = f->read_at + REPORT_LEAST * (1 + drand48());
	follow(f);
}

static void take_reply(struct follower *f, const redisReply *reply)
{
	if (reply->type == REDIS_REPLY_ERROR) {
		fprintf(stderr, "follow: %s\n", reply->str);
		exit(1);
	}
	if (f->step == HEAD)
		take_head(f, reply);
	else if (f->step == SNAPSHOT)
		take_piece(f, reply);
	else
		take_changes(f, reply);
}

static void on_readable(struct follower *f)
{
	static char data[1 << 16];
	ssize_t size = read(f->fd, data, sizeof(data));
	void *reply;

	if (size <= 0 && errno != EAGAIN)
		die("the connection was closed");
	if (size > 0 && redisReaderFeed(f->reader, data, size) != REDIS_OK)
		die("a reply cannot be read");
	for (;;) {
		if (redisReaderGetReply(f->reader, &reply) != REDIS_OK)
			die("a reply cannot be read");
		if (!reply)
			return;
		take_reply(f, reply);
		freeReplyObject(reply);
	}
}

static void on_connected(struct follower *f)
{
	const char *words[] = { "HMGET", KEY "head", "version", "bytes", "snapshot-seq",
				"snapshot-id" };
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = f };

	f->step = HEAD;
	epoll_ctl(loop, EPOLL_CTL_MOD, f->fd, &event);
	send_words(f->fd, 6, words);
}

/* Connections for reports are not in the loop: what they send is small, and nobody waits for it. */
static void report(struct follower *f, int port, double at)
{
	char host[32], text[256], data[256];
	const char *words[] = { "HSET", KEY "fleet", host, text };
	int len;
	char *command;

	if (f->report_fd >= 0 && f->report_at && at >= f->report_at) {
		snprintf(host, sizeof(host), "firewall-%u", (unsigned int)(f - followers));
		snprintf(text, sizeof(text),
			 "{\"seq\":%llu,\"id\":\"%s\",\"version\":\"%s\",\"entries\":1000000,"
			 "\"behind\":false,\"at\":%ld,\"heartbeat\":60}",
			 (unsigned long long)f->seq, f->id, f->version, (long)time(NULL));
		len = redisFormatCommandArgv(&command, 4, words, NULL);
		/* It may not be connected yet. */
		if (write(f->report_fd, command, len) == len) {
			f->report_at = 0;
			f->close_at = at + LINGER;
			reported++;
		}
		redisFreeCommand(command);
	} else if (f->report_fd < 0 && f->report_at && at >= f->report_at) {
		f->report_fd = start_connect(port);
	} else if (f->report_fd >= 0 && !f->report_at && at >= f->close_at) {
		if (read(f->report_fd, data, sizeof(data)) <= 0 || data[0] != ':')
			die("a report was refused");
		close(f->report_fd);
		f->report_fd = -1;
	}
}

/* Handle what has happened; wait for it up to @ms. */
static void turn(int ms, int port)
{
	static double last;
	struct epoll_event events[512];
	double at;
	unsigned int f;
	int n = epoll_wait(loop, events, 512, ms), i;

	for (i = 0; i < n; i++) {
		struct follower *follower = events[i].data.ptr;

		if (follower->step == CONNECT)
			on_connected(follower);
		else
			on_readable(follower);
	}
	at = now();
	if (!reports || at < last + 0.005)
		return;
	last = at;
	for (f = 0; f < count; f++)
		report(&followers[f], port, at);
}

static double join(char **ports, int port_count, int publish_port)
{
	double begin = now();
	unsigned int i, begun = 0;

	for (i = 0; i < count; i++)
		followers[i].report_fd = -1;
	while (joined < count) {
		for (; begun < count && begun - joined < CONNECTING_MOST; begun++) {
			struct follower *f = &followers[begun];
			struct epoll_event event = { .events = EPOLLOUT, .data.ptr = f };

			f->reader = redisReaderCreate();
			f->fd = start_connect(atoi(ports[begun % port_count]));
			epoll_ctl(loop, EPOLL_CTL_ADD, f->fd, &event);
		}
		turn(100, publish_port);
		if (now() > begin + SECONDS_MOST)
			die("not all have joined");
	}
	return now() - begin;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Publish a change as ipcuckood does, with its script. Return: its number. */
static uint64_t publish(redisContext *redis, unsigned int number)
{
	unsigned char change[5] = { 0, 203, 0, number >> 8, number };
	redisReply *reply;
	uint64_t seq;

	reply = redisCommand(redis,
			     "EVAL %s 3 " KEY "head " KEY "changes " KEY "done:%08x%08lx %d 800000 %b",
			     script_change, number, (long)now(), LIST_FORMAT, change,
			     sizeof(change));
	if (!reply || reply->type != REDIS_REPLY_STRING)
		die("nothing can be published");
	seq = strtoull(reply->str, NULL, 10);
	freeReplyObject(reply);
	return seq;
}

static void print_times(const char *name, double *times, unsigned int changes)
{
	qsort(times, changes, sizeof(*times), compare);
	printf("\"%s\": %.6f", name, times[changes / 2]);
}

static void wait_for_line(void)
{
	fflush(stdout);
	while (getchar() != '\n' && !feof(stdin))
		;
}

static void measure(redisContext *redis, unsigned int changes, int port)
{
	double *half = calloc(changes, sizeof(*half)), *most = calloc(changes, sizeof(*most));
	double *last = calloc(changes, sizeof(*last)), *times = calloc(count, sizeof(*times));
	unsigned int change, i, left;
	double begin, end;
	uint64_t seq;

	for (change = 0; change < changes; change++) {
		begin = now();
		seq = publish(redis, change);
		do {
			turn(1000, port);
			for (left = 0, i = 0; i < count && !left; i++)
				left = followers[i].seq < seq;
		} while (left && now() < begin + SECONDS_MOST);
		if (left)
			die("a follower has not read a change");
		for (i = 0; i < count; i++)
			times[i] = followers[i].read_at - begin;
		qsort(times, count, sizeof(*times), compare);
		half[change] = times[count / 2];
		most[change] = times[count * 99 / 100];
		last[change] = times[count - 1];
		/* Reports are sent meanwhile. */
		for (end = now() + (reports ? 0.6 : 0.1); now() < end; )
			turn(5, port);
	}
	printf("{\"followers\": %u, \"changes\": %u, \"reports\": %llu, ", count, changes,
	       (unsigned long long)reported);
	print_times("median", half, changes);
	printf(", ");
	print_times("p99", most, changes);
	printf(", ");
	print_times("last", last, changes);
	printf("}\n");
}

int main(int argc, char **argv)
{
	struct rlimit limit;
	unsigned int changes = 20;
	redisContext *redis;
	int option;

	while ((option = getopt(argc, argv, "rsn:")) != -1) {
		if (option == 'r')
			reports = true;
		else if (option == 's')
			snapshots = true;
		else if (option == 'n')
			changes = atoi(optarg);
		else
			return 2;
	}
	if (argc - optind < 3 || !changes)
		return 2;
	count = atoi(argv[optind]);
	followers = calloc(count, sizeof(*followers));
	loop = epoll_create1(EPOLL_CLOEXEC);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	redis = redisConnect("127.0.0.1", atoi(argv[optind + 1]));
	if (!count || !followers || loop < 0 || !redis || redis->err)
		die("cannot begin");
	printf("%.3f\n", join(argv + optind + 2, argc - optind - 2, atoi(argv[optind + 1])));
	wait_for_line();
	measure(redis, changes, atoi(argv[optind + 1]));
	wait_for_line();
	return 0;
}
