// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attaches a program of maps.bpf.c to a device, in the kernel's generic mode, after it has filled
 * the program's map from stdin, an entry a line:
 *
 *   maps OBJECT PROGRAM DEVICE ENTRIES
 *
 * ENTRIES is the size of the map, 0 if the program has none. The program is there until the device
 * is deleted.
 *
 *   maps has-rhash
 *
 * The exit status is 0 if the kernel has the maps of rhash4 and rhash6.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Elements of one system call */
#define BATCH		4096

/*
 * How often to try again, a millisecond later each time, when there is no memory for an element. Some
 * maps of Linux 7 take elements from a cache, which User Mode Linux fills up only when its clock
 * ticks. A map that grows may be busy with that.
 */
#define TRIES		1000

#define KEY_MAX		20
/* BPF_MAP_TYPE_RHASH, as in maps.bpf.c */
#define RHASH		35
#define SOURCE		1
#define DESTINATION	2

/* What the map of a program has as keys and values */
struct layout {
	bool v6, prefixes, flags;
	size_t key_size, value_size;
};

static void die(const char *what, int err)
{
	fprintf(stderr, "maps: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

static struct layout layout_of(const char *program)
{
	struct layout layout = {
		.v6 = program[strlen(program) - 1] == '6',
		.prefixes = !strncmp(program, "lpm", 3),
		.flags = !strncmp(program, "filter", 6),
	};

	layout.key_size = (layout.prefixes ? sizeof(uint32_t) : 0) + (layout.v6 ? 16 : 4);
	layout.value_size = layout.flags ? sizeof(uint64_t) : 1;
	return layout;
}

static void parse(const struct layout *layout, char *line, unsigned char *key)
{
	char *slash = strchr(line, '/');
	uint32_t len = layout->v6 ? 128 : 32;

	if (slash) {
		*slash = 0;
		len = strtoul(slash + 1, NULL, 10);
	}
	if (layout->prefixes) {
		memcpy(key, &len, sizeof(len));
		key += sizeof(len);
	}
	if ((slash && !layout->prefixes) ||
	    inet_pton(layout->v6 ? AF_INET6 : AF_INET, line, key) != 1)
		die(line, EINVAL);
}

static unsigned int read_batch(const struct layout *layout, unsigned char *keys)
{
	unsigned int count = 0;
	char line[64];

	for (; count < BATCH && fgets(line, sizeof(line), stdin); count++) {
		line[strcspn(line, "\n")] = 0;
		parse(layout, line, keys + count * layout->key_size);
	}
	return count;
}

/* Adds the elements of a batch. */
static void add(int map, const struct layout *layout, const unsigned char *keys,
		const unsigned char *values, unsigned int count)
{
	const struct timespec ms = { .tv_nsec = 1000 * 1000 };
	unsigned int done, tries = 0;

	while (count) {
		done = count;
		if (bpf_map_update_batch(map, keys, values, &done, NULL)) {
			if ((errno != ENOMEM && errno != EBUSY) || tries == TRIES)
				die("the map cannot be filled", errno);
			tries = done ? 0 : tries + 1;
			nanosleep(&ms, NULL);
		} else if (done != count) {
			die("the map cannot be filled", errno);
		}
		count -= done;
		keys += done * layout->key_size;
		values += done * layout->value_size;
	}
}

static unsigned int fill(int map, const struct layout *layout)
{
	static unsigned char keys[BATCH * KEY_MAX], values[BATCH * sizeof(uint64_t)];
	uint64_t flags = SOURCE | DESTINATION;
	unsigned int count, i, sum = 0;

	/* One processor: a batch has one value an element, also of maps with one for each. */
	for (i = 0; layout->flags && i < BATCH; i++)
		memcpy(values + i * sizeof(flags), &flags, sizeof(flags));
	while ((count = read_batch(layout, keys))) {
		add(map, layout, keys, values, count);
		sum += count;
	}
	return sum;
}

/* Loads the object with nothing but one program and its map. */
static struct bpf_object *load(const char *path, const char *name, unsigned int entries)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;
	struct bpf_map *map;
	int err;

	if (!object)
		die(path, errno);
	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, !strcmp(bpf_program__name(program), name));
	bpf_object__for_each_map(map, object)
		if (!strcmp(bpf_map__name(map) + strlen("map_"), name))
			bpf_map__set_max_entries(map, entries);
		else if (strcmp(bpf_map__name(map), "fates"))
			bpf_map__set_autocreate(map, false);
	err = bpf_object__load(object);
	if (err)
		die("the program cannot be loaded", err);
	return object;
}

static bool has_rhash(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	int map = bpf_map_create(RHASH, "rhash", sizeof(uint32_t), 1, 1, &opts);

	if (map < 0)
		return false;
	close(map);
	return true;
}

int main(int argc, char **argv)
{
	unsigned int entries = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;
	struct bpf_program *program;
	struct bpf_object *object;
	struct layout layout;
	char name[32];
	int err;

	if (argc == 2 && !strcmp(argv[1], "has-rhash"))
		return !has_rhash();
	if (argc != 5) {
		fprintf(stderr, "usage: maps OBJECT PROGRAM DEVICE ENTRIES | maps has-rhash\n");
		return 2;
	}
	object = load(argv[1], argv[2], entries);
	program = bpf_object__find_program_by_name(object, argv[2]);
	if (!program)
		die(argv[2], ENOENT);
	if (entries) {
		layout = layout_of(argv[2]);
		snprintf(name, sizeof(name), "map_%s", argv[2]);
		if (fill(bpf_object__find_map_fd_by_name(object, name), &layout) != entries)
			die("stdin has another number of entries", EINVAL);
	}
	err = bpf_xdp_attach(if_nametoindex(argv[3]), bpf_program__fd(program),
			     XDP_FLAGS_SKB_MODE, NULL);
	if (err)
		die(argv[3], err);
	bpf_object__close(object);
	return 0;
}
