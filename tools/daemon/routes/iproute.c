// SPDX-License-Identifier: GPL-2.0-only
/*
 * A line of these files is a number and a name; "#" begins a comment. A file in /etc comes before
 * that of the distribution, and both may have a directory with more of them.
 */
#include <errno.h>
#include <glob.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/routes/iproute.h"

/* A name that is known without any file */
struct known {
	const char *name;
	uint32_t number;
};

static const struct known tables[] = {
	{ "default", RT_TABLE_DEFAULT }, { "main", RT_TABLE_MAIN }, { "local", RT_TABLE_LOCAL },
	{ NULL, 0 }
};

static const struct known protocols[] = {
	{ "kernel", RTPROT_KERNEL }, { "boot", RTPROT_BOOT }, { "static", RTPROT_STATIC },
	{ "zebra", RTPROT_ZEBRA }, { "bird", RTPROT_BIRD }, { "bgp", 186 }, { NULL, 0 }
};

static bool parse(const char *text, uint32_t most, uint32_t *number)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = *text >= '0' && *text <= '9' ? strtoull(text, &end, 0) : 0;
	if (!value || *end || errno || value > most)
		return false;
	*number = value;
	return true;
}

static bool find_in_file(const char *path, const char *name, uint32_t most, uint32_t *number)
{
	FILE *f = fopen(path, "re");
	char line[512], value[64], word[256];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "#\n")] = '\0';
		found = sscanf(line, "%63s %255s", value, word) == 2 && !strcmp(word, name) &&
			parse(value, most, number);
	}
	if (f)
		fclose(f);
	return found;
}

static bool find(const char *file, const char *name, uint32_t most, uint32_t *number)
{
	static const char *const patterns[] = {
		"/etc/iproute2/%s", "/etc/iproute2/%s.d/*.conf", "/usr/share/iproute2/%s",
		"/usr/share/iproute2/%s.d/*.conf", "/usr/lib/iproute2/%s",
	};
	glob_t paths = { 0 };
	bool found = false;
	char pattern[64];
	size_t i, j;

	for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]) && !found; i++) {
		snprintf(pattern, sizeof(pattern), patterns[i], file);
		if (glob(pattern, 0, NULL, &paths))
			continue;
		for (j = 0; j < paths.gl_pathc && !found; j++)
			found = find_in_file(paths.gl_pathv[j], name, most, number);
		globfree(&paths);
	}
	return found;
}

static bool look_up(const char *text, const char *file, const struct known *known, uint32_t most,
		    uint32_t *number)
{
	if (parse(text, most, number) || find(file, text, most, number))
		return true;
	while (known->name && strcmp(known->name, text))
		known++;
	*number = known->number;
	return known->name;
}

bool iproute_table(const char *text, uint32_t *number)
{
	return look_up(text, "rt_tables", tables, UINT32_MAX, number);
}

bool iproute_protocol(const char *text, uint32_t *number)
{
	return look_up(text, "rt_protos", protocols, UINT8_MAX, number);
}
