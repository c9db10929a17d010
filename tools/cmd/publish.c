// SPDX-License-Identifier: GPL-2.0-only
/*
 * publish and fleet: ask ipcuckood about a list that a fleet shares in Redis. ipcuckood has the
 * connection to Redis; what waits there outlives this command.
 */
#include <limits.h>
#include <stdlib.h>
#include <time.h>

#include "cli/daemon.h"
#include "cli/options.h"
#include "cmd/commands.h"
#include "set/bulk.h"

/* No larger file is read. */
#define FILE_MOST	(256u << 20)

/**
 * struct publish - one run of publish
 * @tool:	the run
 * @control:	the control socket; NULL: the usual one
 * @timeout:	seconds, as the command line has them; NULL: none
 * @comment:	the comment of the entries, or NULL
 * @del:	--delete
 * @empty:	--empty: the list may be empty
 */
struct publish {
	struct tool *tool;
	const char *control;
	const char *timeout;
	const char *comment;
	bool del;
	bool empty;
};

/* @out: gets the answer; NULL: it is not printed */
static int ask(const struct tool *tool, const char *control, const char *line, const void *body,
	       size_t size, FILE *out)
{
	int fd;

	if (!control)
		control = CONTROL_PATH;
	fd = daemon_connect(control, ANSWER_SECONDS);
	if (fd >= 0)
		return daemon_ask(fd, line, body, size, out, tool->quiet ? NULL : stderr);
	return fail(tool, fd == -EACCES || fd == -EPERM ? STATUS_DENIED : STATUS_ABSENT,
		    "%s: no ipcuckood answers there: %s; is it running? systemctl status ipcuckood",
		    control, strerror(-fd));
}

static int send_body(const struct publish *publish, const char *list, const char *how,
		     const char *body, size_t size)
{
	const struct tool *tool = publish->tool;
	char line[256];

	snprintf(line, sizeof(line), "publish %s %s%s%s %zu", list, how, tool->json ? " json" : "",
		 tool->force ? " force" : "", size);
	return ask(tool, publish->control, line, body, size,
		   tool->json || !tool->quiet ? stdout : NULL);
}

/* All of a file, which is allocated. A file of which only a part can be read is no list. */
static int read_file(const struct tool *tool, char **body, size_t *size)
{
	bool standard = !strcmp(tool->file, "-");
	FILE *f = standard ? stdin : fopen(tool->file, "re");
	const char *name = standard ? "(standard input)" : tool->file;
	size_t room = 1 << 16, got;
	int status = STATUS_OK;
	char *grown;

	*body = NULL;
	*size = 0;
	if (!f)
		return fail(tool, STATUS_USAGE, "%s: %s", name, strerror(errno));
	do {
		grown = *size < FILE_MOST ? realloc(*body, room) : NULL;
		if (!grown)
			break;
		*body = grown;
		got = fread(*body + *size, 1, room - *size, f);
		*size += got;
		room *= 2;
	} while (got && !ferror(f));
	if (!grown)
		status = fail(tool, STATUS_USAGE, "%s is larger than %u MB, or than the memory",
			      name, FILE_MOST >> 20);
	else if (ferror(f))
		status = fail(tool, STATUS_USAGE,
			      "%s cannot be read: %s; nothing was published", name, strerror(errno));
	if (!standard)
		fclose(f);
	return status;
}

static int publish_file(const struct publish *publish, const char *list)
{
	const struct tool *tool = publish->tool;
	char *body;
	size_t size;
	int status;

	if (publish->del || publish->timeout || publish->comment)
		return fail(tool, STATUS_USAGE,
			    "--file replaces the whole list; write when an entry expires, and its comment, into the file: 192.0.2.7,1795561103,scanner");
	status = read_file(tool, &body, &size);
	if (!status)
		status = send_body(publish, list, publish->empty ? "clear" : "replace", body, size);
	free(body);
	return status;
}

/* A line for each entry. Return: NULL if there is no memory. */
static char *write_lines(const struct publish *publish, const struct packed *entries,
			 long long expires, size_t *size)
{
	char text[ADDRESS_TEXT_SIZE], *body = NULL;
	struct entry_ref ref;
	FILE *f = open_memstream(&body, size);

	if (!f)
		return NULL;
	for (ref.kind = 0; ref.kind < ENTRY_KINDS; ref.kind++) {
		for (ref.index = 0; ref.index < entries->kind[ref.kind].count; ref.index++) {
			fputs(entry_text(entries, ref, text), f);
			if (!publish->del && (expires || publish->comment))
				fprintf(f, ",%lld,%s", expires, publish->comment ? : "");
			fputc('\n', f);
		}
	}
	if (!fclose(f))
		return body;
	free(body);
	return NULL;
}

static int publish_entries(const struct publish *publish, const char *list, struct words *words)
{
	const struct nl_set set = {
		.name = "", .type = IPCUCKOO_TYPE_HASH_NET, .family = IPCUCKOO_FAMILY_ANY,
	};
	const struct tool *tool = publish->tool;
	struct packed entries = { 0 };
	long long expires = 0;
	size_t size;
	char *body;
	int status;

	if (publish->timeout) {
		status = parse_time(tool, "timeout", publish->timeout, 0, IPCUCKOO_TIMEOUT_MAX,
				    &expires);
		if (status)
			return status;
		expires = expires ? time(NULL) + expires : 0;
	}
	status = bulk_read(publish->tool, &set, words->word + 1, words->count - 1, NULL, &entries);
	if (!status) {
		body = write_lines(publish, &entries, expires, &size);
		status = body ? send_body(publish, list, publish->del ? "del" : "add", body, size) :
				fail_memory(tool);
		free(body);
	}
	packed_free(&entries);
	return status;
}

/* A name of a list is a word of a line to the daemon. */
static bool is_list(const char *name)
{
	return *name && strcmp(name, "-") && strlen(name) < 100 && !strpbrk(name, " \t\n");
}

int run_publish(struct tool *tool, struct words *words)
{
	struct publish publish = { .tool = tool };
	const struct keyword keywords[] = {
		{ .word = "timeout", .value = &publish.timeout },
		{ .word = "comment", .value = &publish.comment },
		{ .word = "--delete", .flag = &publish.del },
		{ .word = "--empty", .flag = &publish.empty },
		{ .word = "--control", .value = &publish.control },
		{ .word = NULL }
	};
	int status = parse_words(tool, words, keywords, 1, INT_MAX);

	if (status)
		return status;
	if (!is_list(words->word[0]))
		return fail(tool, STATUS_USAGE, "\"%s\" is no name of a list", words->word[0]);
	if (publish.comment && (!is_comment(publish.comment) ||
				strlen(publish.comment) > IPCUCKOO_COMMENT_MAX))
		return fail(tool, STATUS_USAGE,
			    "the comment has a double quote or a control character, or is longer than %u bytes",
			    IPCUCKOO_COMMENT_MAX);
	if (publish.del && (publish.timeout || publish.comment))
		return fail(tool, STATUS_USAGE, "--delete takes neither timeout nor comment");
	if (tool->file && words->count == 1)
		return publish_file(&publish, words->word[0]);
	if (tool->file || publish.empty)
		return fail(tool, STATUS_USAGE,
			    "name entries to publish them, or --file FILE to replace the list; --empty is for --file");
	if (words->count == 1)
		return fail(tool, STATUS_USAGE,
			    "which entries? name some, or --file FILE, which replaces the list");
	return publish_entries(&publish, words->word[0], words);
}

int run_fleet(struct tool *tool, struct words *words)
{
	const char *control = NULL, *list;
	const struct keyword keywords[] = {
		{ .word = "--control", .value = &control },
		{ .word = NULL }
	};
	int status = parse_words(tool, words, keywords, 1, 2);
	char line[256];

	if (status)
		return status;
	if (strcmp(words->word[0], "status"))
		return fail(tool, STATUS_USAGE, "fleet has no command \"%s\"; write fleet status",
			    words->word[0]);
	list = words->count > 1 ? words->word[1] : "-";
	if (words->count > 1 && !is_list(list))
		return fail(tool, STATUS_USAGE, "\"%s\" is no name of a list", list);
	snprintf(line, sizeof(line), "fleet %s %s", list, tool->json ? "json" : "text");
	return ask(tool, control, line, NULL, 0, stdout);
}
