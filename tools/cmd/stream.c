// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cmd/stream.h"
#include "lib/monotonic.h"

/* So long an entry waits for others, in seconds; so many are applied at once; and of those that are
 * refused then, so many get a message.
 */
#define DELAY		0.1
#define ENTRIES_MOST	4096
#define REPORT_MOST	10

/**
 * struct stream - entries that come line by line
 * @feed:	the entries that are not applied yet
 * @since:	when the first of them came
 * @reported:	how many messages there were about those that are being applied
 * @silent:	how many of these were refused without a message
 * @status:	of the first message
 */
struct stream {
	struct tool *tool;
	struct feed *feed;
	const struct stream_target *target;
	double since;
	size_t reported;
	size_t silent;
	int status;
};

static struct stream *reporting;

static void report(const struct feed *feed, const struct feed_fault *fault)
{
	(void)feed;
	if (!reporting->status)
		reporting->status = STATUS_SYNTAX;
	fail(reporting->tool, STATUS_SYNTAX, "line %lu: %s: %s", fault->line, fault->text, fault->why);
}

static void count_refused(struct stream *stream, size_t count, int status)
{
	if (stream->reported < REPORT_MOST)
		stream->reported++;
	else
		stream->silent += count;
	if (!stream->status)
		stream->status = status;
}

static void refuse(void *to, size_t count, const char *message)
{
	struct stream *stream = to;

	if (stream->reported < REPORT_MOST)
		fail(stream->tool, STATUS_REFUSED, "%s", message);
	count_refused(stream, count, STATUS_REFUSED);
}

/* Append a half of the entries of each kind, or one entry if there is one. */
static int append_half(const struct packed *entries, bool second, struct packed *half)
{
	size_t before = 0, middle = (packed_count(entries) + 1) / 2;
	struct entry_ref ref;
	int err = 0;

	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++)
		for (ref.index = 0; ref.index < entries->kind[ref.kind].count && !err; ref.index++)
			if ((before++ >= middle) == second)
				err = packed_add(half, ref.kind, entry_at(entries, ref));
	return err;
}

/* Apply entries all at once. If that fails, narrow them; or else apply the halves of them, so that a message
 * is about one entry, and the others are applied.
 */
static void apply(struct stream *stream, struct packed *entries)
{
	const struct stream_target *target = stream->target;
	size_t count = packed_count(entries);
	struct tool tool = *stream->tool;
	struct packed half;
	int status, i;

	if (!count)
		return;
	tool.quiet |= count > 1 || stream->reported >= REPORT_MOST;
	status = target->apply(&tool, entries, target->data);
	if (!status)
		return;
	if (count == 1) {
		count_refused(stream, 1, status);
		return;
	}
	target->narrow(&tool, entries, refuse, stream, target->data);
	if (packed_count(entries) < count) {
		apply(stream, entries);
		return;
	}
	for (i = 0; i < 2; i++) {
		half = (struct packed){ 0 };
		if (append_half(entries, i, &half))
			stream->status = fail_memory(stream->tool);
		else
			apply(stream, &half);
		packed_free(&half);
	}
}

/* Connect anew, as the module may be another one by now, and look the set up. Return: whether it is there;
 * if not, a message says how many entries were lost.
 */
static bool find(struct stream *stream, size_t count)
{
	struct tool tool = *stream->tool;
	char *why = NULL;
	int status;

	nl_close(tool.nl);
	tool.nl = NULL;
	tool.said = &why;
	status = stream->target->find(&tool, stream->target->data);
	stream->tool->nl = tool.nl;
	if (status)
		fail(stream->tool, status, "%zu %s not %s: %s", count, count > 1 ? "entries were" : "entry was",
		     stream->target->done, why ? : strerror(ENOMEM));
	if (!stream->status)
		stream->status = status;
	free(why);
	return !status;
}

static void flush(struct stream *stream)
{
	struct packed entries = stream->feed->entries;
	size_t count = packed_count(&entries);

	stream->feed->entries = (struct packed){ 0 };
	stream->reported = 0;
	stream->silent = 0;
	if (count && find(stream, count))
		apply(stream, &entries);
	if (stream->silent)
		fail(stream->tool, stream->status, "%zu more %s not %s", stream->silent,
		     stream->silent > 1 ? "entries were" : "entry was", stream->target->done);
	packed_free(&entries);
}

/* Milliseconds until what has come is applied; -1: nothing has */
static int left_ms(const struct stream *stream)
{
	double left = stream->since + DELAY - monotonic_seconds();

	if (!packed_count(&stream->feed->entries))
		return -1;
	return left > 0 ? left * 1000 + 1 : 0;
}

/* @signals: a descriptor that can be read when a signal has come that ends the stream; what is in the pipe
 * by then, of which one read takes all, is still applied. Return: 0 at the end, or a negative errno.
 */
static int read_all(struct stream *stream, struct feed_stream *lines, int fd, int signals)
{
	struct pollfd fds[] = { { .fd = fd, .events = POLLIN }, { .fd = signals, .events = POLLIN } };
	static char data[64 << 10];
	ssize_t len;
	bool before;

	for (;;) {
		if (poll(fds, 2, left_ms(stream)) < 0)
			continue;
		if (!fds[0].revents) {
			flush(stream);
			if (fds[1].revents)
				return 0;
			continue;
		}
		len = read(fd, data, sizeof(data));
		if (len < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (len < 0) {
			len = -errno;
			flush(stream);
			return len;
		}
		before = packed_count(&stream->feed->entries);
		len = len ? feed_push(lines, data, len) ? : feed_flush(lines) ? : 1 : feed_end(lines);
		if (!before)
			stream->since = monotonic_seconds();
		if (len <= 0 || fds[1].revents || !left_ms(stream) ||
		    packed_count(&stream->feed->entries) >= ENTRIES_MOST)
			flush(stream);
		if (len <= 0 || fds[1].revents)
			return len < 0 ? len : 0;
	}
}

int stream_run(struct tool *tool, struct feed *feed, const struct stream_target *target)
{
	struct stream stream = { .tool = tool, .feed = feed, .target = target };
	int fd = strcmp(tool->file, "-") ? open(tool->file, O_RDONLY | O_CLOEXEC) : STDIN_FILENO, err;
	struct feed_fault fault = { .file = tool->file };
	struct feed_stream *lines;
	sigset_t ends, before;
	int signals;

	if (fd < 0)
		return fail(tool, STATUS_REFUSED, "%s cannot be opened: %s", tool->file, strerror(errno));
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, &before);
	signals = signalfd(-1, &ends, SFD_CLOEXEC);
	if (signals < 0)
		return fail(tool, STATUS_REFUSED, "cannot wait for signals: %s", strerror(errno));
	reporting = &stream;
	feed->skip_invalid = true;
	feed->report = report;
	lines = feed_open(feed, &fault);
	err = lines ? read_all(&stream, lines, fd, signals) : -ENOMEM;
	feed_close(lines);
	close(signals);
	while (sigtimedwait(&ends, NULL, &(struct timespec){ 0 }) > 0)
		;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (fd != STDIN_FILENO)
		close(fd);
	if (err == -EINVAL)
		return fail(tool, STATUS_SYNTAX, "%s: %s", tool->file, fault.why);
	if (err)
		return fail(tool, STATUS_REFUSED, "%s cannot be read: %s", tool->file, strerror(-err));
	return stream.status;
}
