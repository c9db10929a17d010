// SPDX-License-Identifier: GPL-2.0
/*
 * Loads a program of an object file of BPF, with libbpf:
 *
 *   bpf-load call OBJECT PROGRAM SET-ID		run PROGRAM on a packet, print its result
 *   bpf-load serve OBJECT PREFIX		load the programs whose names begin with PREFIX, and obey
 *						each line of standard input:
 *     ask SET-ID ADDRESS FLAGS			run ask_xdp and ask_tc on a packet in this
 *						network namespace, print both results
 *     watch SET-ID ADDRESS FLAGS		print "watching", run ask_again until the next line is
 *						there, and print its result
 *     fragments BYTES ADDRESS TAGS		run what is attached at lo in XDP for a frame from
 *						ADDRESS with TAGS VLAN tags, of which only the first
 *						BYTES are not in fragments, print the verdict
 *						and the length of the packet
 *     port BYTES ADDRESS PORT			the same for a packet of IPv6 to this port of TCP, behind
 *						200 bytes of extension headers, without tags and length
 *   bpf-load run OBJECT PROGRAM SET-ID xdp|generic|tc DEVICE...
 *						attach PROGRAM to the devices, print "attached",
 *						and detach it when standard input ends
 *   bpf-load run OBJECT PROGRAM SET-ID libxdp DEVICE
 *						the same, with libxdp
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xdp/libxdp.h>

#define DEVICES_MAX	4

/* Variables of the programs */
struct question {
	uint32_t set;
	uint32_t flags;
	uint32_t v6;
	unsigned char addr[16];
};

static void die(const char *what, int err)
{
	fprintf(stderr, "bpf-load: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

/* Finds a global variable of the object. Return: the map that has it, and @at is set to its offset in
 * the map's value; or NULL.
 */
static struct bpf_map *find_variable(struct bpf_object *object, const char *name, size_t *at)
{
	const struct btf *btf = bpf_object__btf(object);
	const struct btf_var_secinfo *var;
	const struct btf_type *type;
	struct bpf_map *map;
	int i;

	bpf_object__for_each_map(map, object) {
		/* A map of variables has the value type of its section. */
		type = btf__type_by_id(btf, bpf_map__btf_value_type_id(map));
		if (!type || !btf_is_datasec(type))
			continue;
		var = btf_var_secinfos(type);
		for (i = 0; i < btf_vlen(type); i++, var++) {
			*at = var->offset;
			if (!strcmp(btf__name_by_offset(btf, btf__type_by_id(btf, var->type)->name_off),
				    name))
				return map;
		}
	}
	return NULL;
}

/* Sets a global variable, if the object has it, before or after the object was loaded. */
static void set_variable(struct bpf_object *object, const char *name, const void *value,
			 size_t size)
{
	size_t at, room;
	struct bpf_map *map = find_variable(object, name, &at);
	char *data = map ? (char *)bpf_map__initial_value(map, &room) : NULL;
	unsigned int key = 0;

	if (!data)
		return;
	memcpy(data + at, value, size);
	if (bpf_map__fd(map) >= 0 && bpf_map_update_elem(bpf_map__fd(map), &key, data, BPF_ANY))
		die(name, errno);
}

static void set_question(struct bpf_object *object, const struct question *question)
{
	set_variable(object, "set", &question->set, sizeof(question->set));
	set_variable(object, "flags", &question->flags, sizeof(question->flags));
	set_variable(object, "v6", &question->v6, sizeof(question->v6));
	set_variable(object, "addr", question->addr, sizeof(question->addr));
}

/* Opens the object, without the programs whose names do not begin with @only. */
static struct bpf_object *open_object(const char *path, const char *only,
				      const struct question *question)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;

	if (!object)
		die(path, errno);
	bpf_object__for_each_program(program, object)
		if (strncmp(bpf_program__name(program), only, strlen(only)))
			bpf_program__set_autoload(program, false);
	set_question(object, question);
	return object;
}

static struct bpf_object *load(const char *path, const char *only,
			       const struct question *question)
{
	struct bpf_object *object = open_object(path, only, question);
	int err = bpf_object__load(object);

	if (err)
		die("the program cannot be loaded", err);
	return object;
}

static int find_program(struct bpf_object *object, const char *name)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, name);

	if (!program)
		die(name, ENOENT);
	return bpf_program__fd(program);
}

static int read_result(struct bpf_object *object)
{
	size_t at;
	struct bpf_map *map = find_variable(object, "result", &at);
	unsigned int key = 0;
	char value[64];
	int result;

	if (!map || bpf_map__value_size(map) > sizeof(value) ||
	    bpf_map_lookup_elem(bpf_map__fd(map), &key, value))
		die("the result cannot be read", errno);
	memcpy(&result, value + at, sizeof(result));
	return result;
}

static int run_program(struct bpf_object *object, const char *name, int times)
{
	unsigned char packet[64] = { [12] = 0x08, [14] = 0x45 }, out[128];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = packet, .data_size_in = sizeof(packet),
		    .data_out = out, .data_size_out = sizeof(out), .repeat = times);
	int err = bpf_prog_test_run_opts(find_program(object, name), &opts);

	if (err)
		die(name, err);
	return read_result(object);
}

static int call(char **argv)
{
	struct question question = { .set = strtoul(argv[2], NULL, 10) };
	struct bpf_object *object = load(argv[0], argv[1], &question);

	printf("%d\n", run_program(object, argv[1], 1));
	bpf_object__close(object);
	return 0;
}

static void ask(struct bpf_object *object)
{
	int xdp = run_program(object, "ask_xdp", 1), tc = run_program(object, "ask_tc", 1);

	printf("xdp %d tc %d\n", xdp, tc);
}

static void watch(struct bpf_object *object)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	int result = 0;

	set_variable(object, "result", &result, sizeof(result));
	result = run_program(object, "ask_again", 1);
	puts("watching");
	while (!poll(&input, 1, 0))
		result = run_program(object, "ask_again", 10000);
	printf("%d\n", result);
}

/* Runs run_fragments. Return: its answer */
static int run_test(struct bpf_object *object, uint32_t bytes, unsigned char *frame, size_t size)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = size, .repeat = 1);
	int err;

	set_variable(object, "flags", &bytes, sizeof(bytes));
	err = bpf_prog_test_run_opts(find_program(object, "run_fragments"), &opts);
	if (err)
		die("run_fragments", err);
	return read_result(object);
}

static unsigned char frame[9000];

/* Begin a frame. Return: where its IP header is */
static unsigned char *begin(struct bpf_object *object, uint32_t bytes, const struct question *from,
			    uint32_t tags)
{
	unsigned char *at;
	int linear;

	memset(frame, 0, sizeof(frame));
	linear = run_test(object, 0, frame, sizeof(frame));
	if (linear < (int)bytes || linear >= (int)sizeof(frame))
		die("the kernel does not put the frame into fragments", EINVAL);
	/* run_fragments cuts off the bytes before this frame. */
	for (at = frame + linear - bytes + 12; tags; tags--, at += 4)
		at[0] = 0x81;
	memcpy(at, from->v6 ? "\x86\xdd\x60" : "\x08\x00\x45", 3);
	memcpy(at + 2 + (from->v6 ? 8 : 12), from->addr, from->v6 ? 16 : 4);
	return at + 2;
}

static void fragments(struct bpf_object *object, uint32_t bytes, const struct question *from,
		      uint32_t tags)
{
	unsigned char *ip = begin(object, bytes, from, tags);

	printf("%d %td\n", run_test(object, bytes, frame, sizeof(frame)),
	       frame + sizeof(frame) - ip);
}

static void port(struct bpf_object *object, uint32_t bytes, const struct question *from,
		 uint32_t number)
{
	unsigned char *ip = begin(object, bytes, from, 0);

	ip[5] = 200 + 20;
	ip[6] = IPPROTO_DSTOPTS;
	ip[40] = IPPROTO_TCP;
	ip[41] = 200 / 8 - 1;
	ip[240 + 2] = number >> 8;
	ip[240 + 3] = number;
	printf("%d\n", run_test(object, bytes, frame, sizeof(frame)));
}

/* Loading takes seconds on an emulated processor: libbpf reads all types of the kernel. */
static int serve(char **argv)
{
	struct question question = {};
	struct bpf_object *object = load(argv[0], argv[1], &question);
	char line[128], what[16], address[64];
	uint32_t number;

	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		/* An empty line has only ended watch(). */
		if (*line == '\n')
			continue;
		if (sscanf(line, "%15s %u %63s %u", what, &number, address, &question.flags) != 4)
			die(line, EINVAL);
		question.set = number;
		question.v6 = !!strchr(address, ':');
		if (inet_pton(question.v6 ? AF_INET6 : AF_INET, address, question.addr) != 1)
			die(address, EINVAL);
		set_question(object, &question);
		if (!strcmp(what, "ask"))
			ask(object);
		else if (!strcmp(what, "watch"))
			watch(object);
		else if (!strcmp(what, "fragments"))
			fragments(object, number, &question, question.flags);
		else if (!strcmp(what, "port"))
			port(object, number, &question, question.flags);
		else
			die(what, EINVAL);
	}
	bpf_object__close(object);
	return 0;
}

static int change(const char *how, int ifindex, int fd, int attach)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex, .attach_point = BPF_TC_INGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = fd, .handle = 1, .priority = 1);
	int err;

	if (strcmp(how, "tc"))
		return bpf_xdp_attach(ifindex, attach ? fd : -1,
				      strcmp(how, "xdp") ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE,
				      NULL);
	if (!attach) {
		hook.attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS;
		return bpf_tc_hook_destroy(&hook);
	}
	err = bpf_tc_hook_create(&hook);
	return err ?: bpf_tc_attach(&hook, &opts);
}

/* Print "attached", and return when standard input ends. */
static void hold(void)
{
	char byte;

	puts("attached");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
}

static int run_libxdp(char **argv)
{
	struct question question = { .set = strtoul(argv[2], NULL, 10) };
	struct bpf_object *object = open_object(argv[0], argv[1], &question);
	DECLARE_LIBXDP_OPTS(xdp_program_opts, opts, .obj = object, .prog_name = argv[1]);
	struct xdp_program *program = xdp_program__create(&opts);
	int err = libxdp_get_error(program), ifindex = if_nametoindex(argv[4]);

	if (!err)
		err = xdp_program__attach(program, ifindex, XDP_MODE_NATIVE, 0);
	if (err)
		die(argv[4], err);
	hold();
	err = xdp_program__detach(program, ifindex, XDP_MODE_NATIVE, 0);
	if (err)
		die("it cannot be detached", err);
	return 0;
}

static int run(char **argv)
{
	struct question question = { .set = strtoul(argv[2], NULL, 10) };
	struct bpf_object *object = load(argv[0], argv[1], &question);
	int fd = find_program(object, argv[1]), ifindex[DEVICES_MAX], count = 0, i, err;

	for (; argv[4 + count] && count < DEVICES_MAX; count++) {
		ifindex[count] = if_nametoindex(argv[4 + count]);
		if (!ifindex[count])
			die(argv[4 + count], errno);
		err = change(argv[3], ifindex[count], fd, 1);
		if (err)
			die(argv[4 + count], err);
	}
	hold();
	for (i = 0; i < count; i++)
		change(argv[3], ifindex[i], fd, 0);
	bpf_object__close(object);
	return 0;
}

static int print_warning(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

int main(int argc, char **argv)
{
	libbpf_set_print(print_warning);
	if (argc == 5 && !strcmp(argv[1], "call"))
		return call(argv + 2);
	if (argc == 4 && !strcmp(argv[1], "serve"))
		return serve(argv + 2);
	if (argc == 7 && !strcmp(argv[1], "run") && !strcmp(argv[5], "libxdp"))
		return run_libxdp(argv + 2);
	if (argc >= 7 && !strcmp(argv[1], "run"))
		return run(argv + 2);
	fprintf(stderr, "usage: bpf-load call OBJECT PROGRAM SET-ID |\n"
		"       bpf-load serve OBJECT PREFIX |\n"
		"       bpf-load run OBJECT PROGRAM SET-ID xdp|generic|tc|libxdp DEVICE...\n");
	return 2;
}
