// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attaches a program of maps.bpf.c to a device, in the kernel's generic mode, after it has filled
 * the program's map from a file, an entry a line:
 *
 *   maps OBJECT PROGRAM DEVICE ENTRIES FILE
 *
 * ENTRIES is the size of the map, 0 if the program has none. The program is there until the device
 * is deleted.
 *
 *   maps OBJECT frames_PROGRAM DEVICE ENTRIES FILE ADDRESSES
 *
 * runs the program in place of attaching it, in test runs of the kernel: with frames in pages, as a
 * driver has them that has received them on the device. It writes "ready", and then obeys lines of
 * stdin:
 *
 *   from FILE	where the frames come from: as many addresses as ADDRESSES says, a power of two, of 4
 *		bytes each
 *   batch COUNT	how many frames follow each other before the kernel handles those that were not
 *		dropped; 64 by default
 *   run COUNT	runs so many frames, each with the next address. Writes how many microseconds this
 *		took, and how many frames were dropped
 *
 *   maps has-rhash
 *
 * The exit status is 0 if the kernel has the maps of rhash4 and rhash6.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
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

#define FRAMES		"frames_"
/* Where frames go, as in pps */
#define TARGET		"198.18.0.1"
#define PORT		9
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

static unsigned int read_batch(FILE *from, const struct layout *layout, unsigned char *keys)
{
	unsigned int count = 0;
	char line[64];

	for (; count < BATCH && fgets(line, sizeof(line), from); count++) {
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

static unsigned int fill(int map, FILE *from, const struct layout *layout)
{
	static unsigned char keys[BATCH * KEY_MAX], values[BATCH * sizeof(uint64_t)];
	uint64_t flags = SOURCE | DESTINATION;
	unsigned int count, i, sum = 0;

	/* One processor: a batch has one value an element, also of maps with one for each. */
	for (i = 0; layout->flags && i < BATCH; i++)
		memcpy(values + i * sizeof(flags), &flags, sizeof(flags));
	while ((count = read_batch(from, layout, keys))) {
		add(map, layout, keys, values, count);
		sum += count;
	}
	return sum;
}

static FILE *open_file(const char *path)
{
	FILE *f = fopen(path, "r");

	if (!f)
		die(path, errno);
	return f;
}

/* The name of a program without "frames_" in front: programs of both names use the same map. */
static const char *kind_of(const char *program)
{
	return program + (strncmp(program, FRAMES, strlen(FRAMES)) ? 0 : strlen(FRAMES));
}

/*
 * Loads the object with nothing but one program and its maps. With @frames, that is the number of its
 * addresses.
 */
static struct bpf_object *load(const char *path, const char *name, unsigned int entries,
			       unsigned int frames)
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
		if (!strcmp(bpf_map__name(map) + strlen("map_"), kind_of(name)))
			bpf_map__set_max_entries(map, entries);
		else if (frames && !strcmp(bpf_map__name(map), "addresses"))
			bpf_map__set_max_entries(map, frames);
		else if (strcmp(bpf_map__name(map), frames ? "progress_of" : "fates"))
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

/* As in maps.bpf.c */
struct progress {
	uint64_t dropped;
	uint32_t mask;
	uint32_t next;
	uint32_t sum;
};

/* A packet of UDP */
struct frame {
	struct ethhdr eth;
	struct iphdr ip;
	struct udphdr udp;
	char data[60 - sizeof(struct ethhdr) - sizeof(struct iphdr) - sizeof(struct udphdr)];
} __attribute__((packed));

/* Elements of the array are 8 bytes apart. */
static void read_addresses(int map, const char *path, unsigned int count)
{
	size_t size = count * sizeof(uint64_t);
	uint64_t *to = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	FILE *f = open_file(path);
	unsigned int i;

	if (to == MAP_FAILED)
		die("the map of addresses", errno);
	for (i = 0; i < count; i++)
		if (fread(to + i, sizeof(uint32_t), 1, f) != 1)
			die(path, EIO);
	munmap(to, size);
	fclose(f);
}

/* Makes a frame that the device receives, without a source and a checksum. */
static void make_frame(const char *device, struct frame *frame)
{
	struct ifreq request = {};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	strncpy(request.ifr_name, device, sizeof(request.ifr_name) - 1);
	if (fd < 0 || ioctl(fd, SIOCGIFHWADDR, &request))
		die(device, errno);
	close(fd);
	*frame = (struct frame){
		.eth.h_proto = htons(ETH_P_IP),
		.ip = {
			.version = 4,
			.ihl = 5,
			.tot_len = htons(sizeof(*frame) - sizeof(frame->eth)),
			.ttl = 64,
			.protocol = IPPROTO_UDP,
			.daddr = inet_addr(TARGET),
		},
		.udp = {
			.source = htons(PORT),
			.dest = htons(PORT),
			.len = htons(sizeof(frame->udp) + sizeof(frame->data)),
		},
	};
	memcpy(frame->eth.h_dest, request.ifr_hwaddr.sa_data, ETH_ALEN);
}

/* The sum of the 16-bit words of the IP header */
static uint32_t sum_words(const struct frame *frame)
{
	uint16_t words[sizeof(frame->ip) / sizeof(uint16_t)];
	uint32_t sum = 0;
	unsigned int i;

	memcpy(words, &frame->ip, sizeof(words));
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		sum += words[i];
	return sum;
}

/* Runs the program with @count frames, @batch at a time. Return: the microseconds. */
static double run(int program, const char *device, struct frame *frame, unsigned int count,
		  unsigned int batch)
{
	struct xdp_md context = {
		.data_end = sizeof(*frame),
		.ingress_ifindex = if_nametoindex(device),
	};
	LIBBPF_OPTS(bpf_test_run_opts, opts,
		    .data_in = frame, .data_size_in = sizeof(*frame),
		    .ctx_in = &context, .ctx_size_in = sizeof(context),
		    .repeat = count, .batch_size = batch, .flags = BPF_F_TEST_XDP_LIVE_FRAMES);
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	if (bpf_prog_test_run_opts(program, &opts))
		die("the program cannot be run", errno);
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (end.tv_sec - begin.tv_sec) * 1e6 + (end.tv_nsec - begin.tv_nsec) / 1e3;
}

static void serve(struct bpf_object *object, int program, const char *device,
		  unsigned int addresses)
{
	int list = bpf_object__find_map_fd_by_name(object, "addresses");
	int map = bpf_object__find_map_fd_by_name(object, "progress_of");
	struct progress progress = {};
	char word[8], argument[64];
	unsigned int first = 0, batch = 0;
	struct frame frame;
	double us;

	make_frame(device, &frame);
	progress.mask = addresses - 1;
	progress.sum = sum_words(&frame);
	printf("ready\n");
	fflush(stdout);
	while (scanf("%7s %63s", word, argument) == 2) {
		if (!strcmp(word, "from")) {
			read_addresses(list, argument, addresses);
			continue;
		}
		if (!strcmp(word, "batch")) {
			batch = strtoul(argument, NULL, 10);
			continue;
		}
		progress.dropped = 0;
		if (bpf_map_update_elem(map, &first, &progress, BPF_ANY))
			die("progress", errno);
		us = run(program, device, &frame, strtoul(argument, NULL, 10), batch);
		if (bpf_map_lookup_elem(map, &first, &progress))
			die("progress", errno);
		printf("%.0f %llu\n", us, (unsigned long long)progress.dropped);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	unsigned int entries = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
	unsigned int addresses = argc == 7 ? strtoul(argv[6], NULL, 10) : 0;
	struct bpf_program *program;
	struct bpf_object *object;
	struct layout layout;
	char name[32];
	FILE *from;
	int err;

	if (argc == 2 && !strcmp(argv[1], "has-rhash"))
		return !has_rhash();
	if (argc != 6 && argc != 7) {
		fprintf(stderr,
			"usage: maps OBJECT PROGRAM DEVICE ENTRIES FILE [ADDRESSES] | maps has-rhash\n");
		return 2;
	}
	object = load(argv[1], argv[2], entries, addresses);
	program = bpf_object__find_program_by_name(object, argv[2]);
	if (!program)
		die(argv[2], ENOENT);
	if (entries) {
		layout = layout_of(kind_of(argv[2]));
		snprintf(name, sizeof(name), "map_%s", kind_of(argv[2]));
		from = open_file(argv[5]);
		if (fill(bpf_object__find_map_fd_by_name(object, name), from, &layout) != entries)
			die("the file has another number of entries", EINVAL);
		fclose(from);
	}
	if (addresses) {
		serve(object, bpf_program__fd(program), argv[3], addresses);
		return 0;
	}
	err = bpf_xdp_attach(if_nametoindex(argv[3]), bpf_program__fd(program),
			     XDP_FLAGS_SKB_MODE, NULL);
	if (err)
		die(argv[3], err);
	bpf_object__close(object);
	return 0;
}
