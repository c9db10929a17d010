// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints the BTF type ids of functions of a module:
 *
 *	type_ids BASE TYPES FUNCTION...
 *
 * BASE is the BTF of vmlinux, TYPES that of the module. The type ids of TYPES continue after the
 * last type id of vmlinux. Prints a header for main.c, with the type ids in ascending order, as the
 * kernel finds them by binary search. Runs on the machine that builds the module; types.sh compiles
 * and runs it. The kernel's documentation, bpf/btf.rst, describes the format.
 */
#include <errno.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Since Linux 6.0. */
#define KIND_ENUM64	19

struct blob {
	const char *path;
	const struct btf_header *header;
	const char *types;
	const char *strings;
};

static void die(const char *path, const char *reason)
{
	fprintf(stderr, "type_ids: %s: %s\n", path, reason);
	exit(1);
}

static struct blob read_blob(const char *path)
{
	struct blob blob = { .path = path };
	FILE *file = fopen(path, "rb");
	size_t size = 0, room = 0, got;
	char *data = NULL;

	if (!file)
		die(path, strerror(errno));
	do {
		room += 1 << 20;
		data = realloc(data, room);
		if (!data)
			die(path, "no memory");
		got = fread(data + size, 1, room - size, file);
		size += got;
	} while (got);
	fclose(file);
	blob.header = (const void *)data;
	if (size < sizeof(*blob.header) || blob.header->magic != BTF_MAGIC)
		die(path, "no BTF, or of a machine with the other byte order");
	blob.types = data + blob.header->hdr_len + blob.header->type_off;
	blob.strings = data + blob.header->hdr_len + blob.header->str_off;
	if (blob.types + blob.header->type_len > data + size ||
	    blob.strings + blob.header->str_len > data + size)
		die(path, "the file is cut off");
	return blob;
}

/* Bytes of a type, its members included. */
static size_t type_size(const struct blob *blob, const struct btf_type *type)
{
	static const struct {
		size_t fixed, member;
	} extra[] = {
		[BTF_KIND_INT] = { 4, 0 },
		[BTF_KIND_ARRAY] = { sizeof(struct btf_array), 0 },
		[BTF_KIND_STRUCT] = { 0, sizeof(struct btf_member) },
		[BTF_KIND_UNION] = { 0, sizeof(struct btf_member) },
		[BTF_KIND_ENUM] = { 0, sizeof(struct btf_enum) },
		[BTF_KIND_FUNC_PROTO] = { 0, sizeof(struct btf_param) },
		[BTF_KIND_VAR] = { sizeof(struct btf_var), 0 },
		[BTF_KIND_DATASEC] = { 0, sizeof(struct btf_var_secinfo) },
		[BTF_KIND_DECL_TAG] = { sizeof(struct btf_decl_tag), 0 },
		[KIND_ENUM64] = { 0, 12 },
	};
	unsigned int kind = BTF_INFO_KIND(type->info);

	if (!kind || kind > KIND_ENUM64)
		die(blob->path, "the BTF has a kind of type that type_ids.c does not know");
	return sizeof(*type) + extra[kind].fixed +
	       extra[kind].member * BTF_INFO_VLEN(type->info);
}

static const struct btf_type *next_type(const struct blob *blob, const struct btf_type *type)
{
	const char *next = type ? (const char *)type + type_size(blob, type) : blob->types;

	return next < blob->types + blob->header->type_len ? (const void *)next : NULL;
}

static unsigned int count_types(const struct blob *blob)
{
	const struct btf_type *type = NULL;
	unsigned int count = 0;

	while ((type = next_type(blob, type)))
		count++;
	return count;
}

/* A name whose offset is within the strings of the base is a name of the base. Functions of the
 * module have none of these.
 */
static const char *type_name(const struct blob *base, const struct blob *module,
			     const struct btf_type *type)
{
	return type->name_off < base->header->str_len ? "" :
	       module->strings + (type->name_off - base->header->str_len);
}

/* Functions for XDP programs have this prefix; the other functions are for tc programs. */
static bool is_for_xdp(const char *name)
{
	return !strncmp(name, "bpf_xdp_", 8);
}

static bool is_one_of(const char *name, char **names)
{
	while (*names && strcmp(name, *names))
		names++;
	return *names;
}

/* Prints the ids of the functions among @names that are for XDP, or of the others. Return: how many
 * these are.
 */
static int print_ids(const struct blob *base, const struct blob *module, char **names, bool xdp)
{
	const struct btf_type *type = NULL;
	/* Type id 0 is void. */
	unsigned int id = count_types(base) + 1;
	const char *name;
	int found = 0;

	printf("#define IPCUCKOO_%s_KFUNC_IDS", xdp ? "XDP" : "SKB");
	for (; (type = next_type(module, type)); id++) {
		name = type_name(base, module, type);
		if (BTF_INFO_KIND(type->info) != BTF_KIND_FUNC || !is_one_of(name, names) ||
		    is_for_xdp(name) != xdp)
			continue;
		printf(" { %u, IPCUCKOO_KFUNC_FLAGS },", id);
		found++;
	}
	printf("\n#define IPCUCKOO_%s_KFUNCS %d\n", xdp ? "XDP" : "SKB", found);
	return found;
}

int main(int argc, char **argv)
{
	struct blob base, module;
	int found;

	if (argc < 4) {
		fprintf(stderr, "usage: type_ids BASE TYPES FUNCTION...\n");
		return 2;
	}
	base = read_blob(argv[1]);
	module = read_blob(argv[2]);
	found = print_ids(&base, &module, argv + 3, true);
	found += print_ids(&base, &module, argv + 3, false);
	if (found != argc - 3)
		die(argv[2], "a kfunc is missing from the BTF or occurs twice");
	return 0;
}
