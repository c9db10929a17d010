// SPDX-License-Identifier: GPL-2.0
/*
 * Keeps the files of sets open while commits create, destroy, rename, swap and flush the sets. An
 * open file belongs to the set that had its name when it was opened, even if commits give the set
 * another name. Once the set is destroyed, the file can be neither read nor written, even if
 * another set has the name by then. Random commits are also applied to a model, and the files must
 * show what the model says.
 */
#define _GNU_SOURCE
#include <dirent.h>

#include "commit.h"
#include "fixture.h"

#define DIRECTORY	"/proc/net/ipcuckoo/set"

/* CHANGES: the maximum number of changes of a commit. */
enum { NAMES = 6, FILES = 10, ROUNDS = 3000, CHANGES = 6 };

/* The sets of the model, numbered from 1 in the order in which they are created. */
static struct {
	bool destroyed;
	uint32_t entries;
} sets[ROUNDS * CHANGES + 1];

static int set_count;

/* The number of a set that a commit creates, until the commit has succeeded. */
#define NEW	(-1)

/* For each name, the number of the set that has it; 0: none. */
struct names {
	int set[NAMES];
};

static struct names now;

/* The open files. */
static struct {
	int fd;
	int set;		/* the set to which the file belongs; 0: the file is closed */
	int name;		/* the name by which it was opened */
} files[FILES];

static const char *name_of(int i)
{
	static const char names[NAMES][2] = { "a", "b", "c", "d", "e", "f" };

	return names[i];
}

static const char *path_of(int i)
{
	static char path[64];

	snprintf(path, sizeof(path), DIRECTORY "/%s", name_of(i));
	return path;
}

static int name_of_set(int set)
{
	int i;

	for (i = 0; i < NAMES && now.set[i] != set; i++)
		;
	return i;
}

/* Files */

static void open_file(int round, int file, int i)
{
	int fd = open(path_of(i), O_RDWR | O_CLOEXEC);

	if (files[file].set)
		close(files[file].fd);
	files[file].set = 0;
	expect(now.set[i] ? fd >= 0 : fd < 0 && errno == ENOENT,
	       "round %d: open %s: error %d, %s has the name", round, name_of(i),
	       fd < 0 ? errno : 0, now.set[i] ? "a set" : "no set");
	if (fd < 0)
		return;
	files[file].fd = fd;
	files[file].set = now.set[i];
	files[file].name = i;
}

static void close_file(int file)
{
	if (files[file].set)
		close(files[file].fd);
	files[file].set = 0;
}

/* Expect that a name has no file if no set has the name and no process has the file open. The
 * kernel removes such a file some time after it was closed.
 */
static void expect_removed(int round)
{
	int file, i;

	for (i = 0; i < NAMES; i++) {
		for (file = 0; file < FILES; file++)
			if (files[file].set && files[file].name == i)
				break;
		if (!now.set[i] && file == FILES)
			expect(wait_until(access(path_of(i), F_OK), 1),
			       "round %d: the file of %s is removed", round, name_of(i));
	}
}

static void write_file(int round, int file)
{
	static uint32_t host;
	int set = files[file].set;
	char line[32];
	ssize_t size;

	if (!set)
		return;
	host++;
	snprintf(line, sizeof(line), "+10.%u.%u.%u\n", host >> 16, host >> 8 & 255, host & 255);
	size = write(files[file].fd, line, strlen(line));
	if (sets[set].destroyed)
		expect(size < 0 && errno == ENOENT, "round %d: writing to a destroyed set fails",
		       round);
	else
		expect_equal(size, strlen(line), "round %d: bytes written to %s", round,
			     name_of(name_of_set(set)));
	sets[set].entries += !sets[set].destroyed;
}

static void read_file(int round, int file)
{
	char text[600] = "", want[64], *entries;
	int set = files[file].set;
	ssize_t size;

	if (!set)
		return;
	size = pread(files[file].fd, text, sizeof(text) - 1, 0);
	if (sets[set].destroyed) {
		expect(size < 0 && errno == ENOENT, "round %d: reading a destroyed set fails",
		       round);
		return;
	}
	snprintf(want, sizeof(want), "name %s\n", name_of(name_of_set(set)));
	expect(!strncmp(text, want, strlen(want)), "round %d: the file says %.8s, the name is %s",
	       round, text, name_of(name_of_set(set)));
	entries = strstr(text, "\nentries ");
	expect_equal(entries ? atoi(entries + 9) : -1, sets[set].entries,
		     "round %d: entries of %s", round, name_of(name_of_set(set)));
}

/* Commits */

struct change {
	uint8_t cmd;
	uint32_t shadow;
	uint32_t hosts;
	int i;
	int j;
};

/* Apply a change to @names and, if the commit has succeeded (@commit), to the sets. Returns false
 * if the kernel must refuse the change.
 */
static bool apply(struct names *names, const struct change *c, bool commit)
{
	int *of = &names->set[c->i], *to = &names->set[c->j], old;

	switch (c->cmd) {
	case IPCUCKOO_CMD_SET_NEW:
		if (*of)
			return false;
		*of = commit ? ++set_count : NEW;
		if (commit)
			sets[set_count].entries = c->hosts;
		return true;
	case IPCUCKOO_CMD_SET_DEL:
		if (*of && commit)
			sets[*of].destroyed = true;
		old = *of;
		*of = 0;
		return old;
	case IPCUCKOO_CMD_SET_FLUSH:
		if (*of && commit)
			sets[*of].entries = 0;
		return *of;
	default:
		old = *to;
		if (!*of || !old != (c->cmd == IPCUCKOO_CMD_SET_RENAME))
			return false;
		*to = *of;
		*of = c->i == c->j ? *of : old;
		return true;
	}
}

/* Draw a change that is possible if sets have these names. */
static struct change draw(const struct names *names)
{
	static const uint8_t commands[] = {
		IPCUCKOO_CMD_SET_NEW, IPCUCKOO_CMD_SET_NEW, IPCUCKOO_CMD_SET_DEL,
		IPCUCKOO_CMD_SET_RENAME, IPCUCKOO_CMD_SET_SWAP, IPCUCKOO_CMD_SET_FLUSH,
	};
	struct names copy;
	struct change c;

	do {
		c = (struct change){
			.cmd = commands[rng() % sizeof(commands)],
			.i = rng() % NAMES,
			.j = rng() % NAMES,
		};
		copy = *names;
	} while (!apply(&copy, &c, false));
	if (c.cmd == IPCUCKOO_CMD_SET_NEW && rng() % 2) {
		c.shadow = shadow_create(cl, IPCUCKOO_TYPE_HASH_IP);
		c.hosts = 1 + rng() % 20;
		expect_equal(shadow_hosts(cl, c.shadow, 0x0b000000, c.hosts), 0, "a shadow");
	}
	return c;
}

static void put_change(struct nlmsghdr *nlh, const struct change *c)
{
	bool two = c->cmd == IPCUCKOO_CMD_SET_RENAME || c->cmd == IPCUCKOO_CMD_SET_SWAP;

	if (c->shadow)
		put_new_filled(nlh, name_of(c->i), c->shadow);
	else if (c->cmd == IPCUCKOO_CMD_SET_NEW)
		put_new(nlh, name_of(c->i), IPCUCKOO_TYPE_HASH_IP, 0);
	else
		put_named(nlh, c->cmd, name_of(c->i), two ? name_of(c->j) : NULL, 0);
}

/* Make a random commit. One in six fails, because of another change at its end. */
static void commit(int round)
{
	int count = 1 + rng() % CHANGES, at;
	bool fails = !(rng() % 6);
	struct names next = now;
	struct change change[CHANGES];
	struct nlmsghdr *nlh;
	struct answer answer;

	for (at = 0; at < count; at++) {
		change[at] = draw(&next);
		apply(&next, &change[at], false);
	}
	nlh = commit_begin(cl);
	for (at = 0; at < count; at++)
		put_change(nlh, &change[at]);
	if (fails)
		put_named(nlh, IPCUCKOO_CMD_SET_DEL, "none", NULL, 0);
	expect_equal(commit_ask(cl, &answer), fails ? -ENOENT : 0, "round %d: %s", round,
		     answer.message);
	for (at = 0; at < count; at++) {
		if (!fails)
			apply(&now, &change[at], true);
		else if (change[at].shadow)
			shadow_request(cl, IPCUCKOO_CMD_SHADOW_DEL, change[at].shadow, 0);
	}
	expect_removed(round);
}

/* Does the directory have the files of all sets, and no others? */
static bool listed(void)
{
	DIR *dir = opendir(DIRECTORY);
	int count = 0, want = 0, i;
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	for (i = 0; i < NAMES; i++) {
		want += !!now.set[i];
		if (now.set[i] && access(path_of(i), F_OK))
			return false;
	}
	return dir && count == want;
}

static void test_random(void)
{
	unsigned long commits = 0;
	int round, file;

	for (round = 0; round < ROUNDS && !ktap_failing(); round++) {
		file = rng() % FILES;
		switch (rng() % 6) {
		case 0:
			open_file(round, file, rng() % NAMES);
			break;
		case 1:
			if (!(rng() % 3))
				close_file(file);
			break;
		case 2:
			write_file(round, file);
			break;
		case 3:
		case 4:
			read_file(round, file);
			break;
		default:
			commit(round);
			commits++;
			break;
		}
	}
	for (file = 0; file < FILES; file++) {
		read_file(round, file);
		close_file(file);
	}
	printf("# %lu commits, %d sets\n", commits, set_count);
	expect(wait_until(listed(), 5), "after all files are closed, each set has its file");
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	now = (struct names){};
	expect(wait_until(listed(), 5), "without sets, there are no files");
	ktap_case("an open file belongs to the same set, whatever names commits give to it");
}

/* Reading the rest of a file does not show what has changed since the first part was read. */
static void test_parts(void)
{
	char text[600], parts[600];
	struct nlmsghdr *nlh;
	struct answer answer;
	ssize_t size, part;
	int fd;

	expect_equal(set_new(cl, "a", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET), 0, "a");
	fd = open(DIRECTORY "/a", O_RDONLY | O_CLOEXEC);
	size = pread(fd, text, sizeof(text), 0);
	part = read(fd, parts, 10);
	nlh = commit_begin(cl);
	put_named(nlh, IPCUCKOO_CMD_SET_RENAME, "a", "b", 0);
	put_named(nlh, IPCUCKOO_CMD_SET_DEL, "b", NULL, 0);
	put_new(nlh, "a", IPCUCKOO_TYPE_HASH_IP, 0);
	expect_equal(commit_ask(cl, &answer), 0, "COMMIT: %s", answer.message);
	part += read(fd, parts + part, sizeof(parts) - part);
	expect(size > 10 && part == size && !memcmp(text, parts, size),
	       "both parts are of the same text");
	expect(pread(fd, text, sizeof(text), 0) < 0 && errno == ENOENT,
	       "reading from the beginning fails: the set was destroyed");
	close(fd);
	expect(!access(DIRECTORY "/a", F_OK), "the new set of the same name has a file");
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	ktap_case("a file is read in two parts, and its set is destroyed between them");
}

int main(void)
{
	fixture_begin("commit-files");
	if (access("/proc/net/ipcuckoo", F_OK)) {
		printf("1..0 # SKIP no procfs\n");
		client_close(cl);
		return module_unload() ? 1 : 4;
	}
	test_random();
	test_parts();
	return fixture_end();
}
