// SPDX-License-Identifier: GPL-2.0-only
/*
 * What iptables and ip6tables load to understand "-m ipcuckoo": reads the options of a rule, and
 * prints them. The kernel's side is kmod/xt/match.c, what both exchange uapi/xt_ipcuckoo.h.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xtables.h>

#include "../../uapi/xt_ipcuckoo.h"

/* What getopt returns for an option. */
enum {
	OPT_MATCH_SET = '1',
	OPT_RETURN_NOMATCH,
	OPT_UPDATE_COUNTERS,
	OPT_APPROXIMATE,
};

static const struct option options[] = {
	{ "match-set", required_argument, NULL, OPT_MATCH_SET },
	{ "return-nomatch", no_argument, NULL, OPT_RETURN_NOMATCH },
	{ "update-counters", no_argument, NULL, OPT_UPDATE_COUNTERS },
	{ "approximate", no_argument, NULL, OPT_APPROXIMATE },
	{ NULL, 0, NULL, 0 }
};

static void print_help(void)
{
	fputs("ipcuckoo match options:\n"
	      "[!] --match-set NAME src|dst  the source or destination address matches the\n"
	      "                              set NAME, made with \"ipcuckoo create\"\n"
	      "    --return-nomatch          in a set hash:net, an address matches if an\n"
	      "                              entry with nomatch decides about it\n"
	      "  ! --update-counters         do not count packets for entries of the set\n"
	      "    --approximate             accept a set filter:ip, which also matches\n"
	      "                              some addresses that are not in it\n",
	      stdout);
}

static struct xt_ipcuckoo_info *info_of(const struct xt_entry_match *match)
{
	return (void *)match->data;
}

static uint32_t parse_direction(const char *word)
{
	if (word && !strcmp(word, "src"))
		return 0;
	if (word && !strcmp(word, "dst"))
		return XT_IPCUCKOO_DST;
	xtables_error(PARAMETER_PROBLEM,
		      "ipcuckoo: --match-set needs the name of a set and a direction: --match-set NAME src, or --match-set NAME dst");
}

/* Refuse a set of another family. @line: what the kernel lists about a set: name, type, family */
static void check_family(const char *set, bool v6, const char *line)
{
	char family[8];

	if (sscanf(line, "%*s %*s %7s", family) != 1 || !strcmp(family, "any") ||
	    !strcmp(family, v6 ? "inet6" : "inet"))
		return;
	xtables_error(PARAMETER_PROBLEM,
		      "ipcuckoo: the set %s has no IPv%d addresses: use a set that was created with \"family any\", or with \"family %s\"",
		      set, v6 ? 6 : 4, v6 ? "inet6" : "inet");
}

/* Does a line of the kernel's list begin with this name? It has \ooo for blanks and backslashes. */
static bool is_line_of(const char *line, const char *set)
{
	unsigned int octal;

	for (; *set; set++, line += *line == '\\' ? 4 : 1) {
		octal = (unsigned char)*line;
		if (*line == '\\' && sscanf(line, "\\%3o", &octal) != 1)
			return false;
		if (octal != (unsigned char)*set)
			return false;
	}
	return *line == ' ';
}

/* The kernel refuses a set that does not exist, or is of another family, but tells iptables only a
 * number; and not at all with iptables-restore --test. So look for it here. If the module is not
 * loaded, or lists no sets (a kernel without procfs), the kernel decides alone.
 */
static void check_set(const char *set, bool v6)
{
	FILE *sets = fopen("/proc/net/ipcuckoo/sets", "re");
	bool found = false, read = false;
	char *line = NULL;
	size_t size = 0;

	while (sets && !found && getline(&line, &size, sets) >= 0) {
		/* The first line explains the others. */
		found = read && is_line_of(line, set);
		read = true;
	}
	if (sets)
		fclose(sets);
	if (found)
		check_family(set, v6, line);
	free(line);
	if (read && !found)
		xtables_error(PARAMETER_PROBLEM,
			      "ipcuckoo: there is no set %s: make it with \"ipcuckoo create %s hash:net family any\"",
			      set, set);
}

/* The second word of --match-set is not known to getopt, which has set optind to it. */
static void parse_set(struct xt_ipcuckoo_info *info, bool v6, char **argv)
{
	if (!*optarg || strlen(optarg) >= sizeof(info->set))
		xtables_error(PARAMETER_PROBLEM,
			      "ipcuckoo: \"%s\" is not the name of a set: it has 1 to %zu characters",
			      optarg, sizeof(info->set) - 1);
	memset(info->set, 0, sizeof(info->set));
	memcpy(info->set, optarg, strlen(optarg));
	info->flags |= parse_direction(argv[optind]);
	optind++;
	check_set(info->set, v6);
}

static void refuse_inverted(const char *option, int invert)
{
	if (invert)
		xtables_error(PARAMETER_PROBLEM, "ipcuckoo: \"!\" cannot precede %s", option);
}

static int parse(int c, char **argv, int invert, unsigned int *seen, bool v6,
		 struct xt_ipcuckoo_info *info)
{
	unsigned int bit;

	if (c < OPT_MATCH_SET || c > OPT_APPROXIMATE)
		return 0;
	bit = 1U << (c - OPT_MATCH_SET);
	if (*seen & bit)
		xtables_error(PARAMETER_PROBLEM, "ipcuckoo: --%s can be given only once",
			      options[c - OPT_MATCH_SET].name);
	*seen |= bit;
	switch (c) {
	case OPT_MATCH_SET:
		parse_set(info, v6, argv);
		if (invert)
			info->flags |= XT_IPCUCKOO_INVERT;
		break;
	case OPT_RETURN_NOMATCH:
		refuse_inverted("--return-nomatch", invert);
		info->flags |= XT_IPCUCKOO_RETURN_NOMATCH;
		break;
	case OPT_UPDATE_COUNTERS:
		if (invert)
			info->flags |= XT_IPCUCKOO_NO_UPDATE;
		break;
	case OPT_APPROXIMATE:
		refuse_inverted("--approximate", invert);
		info->flags |= XT_IPCUCKOO_APPROXIMATE;
		break;
	}
	return 1;
}

static int parse4(int c, char **argv, int invert, unsigned int *seen, const void *entry,
		  struct xt_entry_match **match)
{
	(void)entry;
	return parse(c, argv, invert, seen, false, info_of(*match));
}

static int parse6(int c, char **argv, int invert, unsigned int *seen, const void *entry,
		  struct xt_entry_match **match)
{
	(void)entry;
	return parse(c, argv, invert, seen, true, info_of(*match));
}

static void check(unsigned int seen)
{
	if (!(seen & 1U << (OPT_MATCH_SET - OPT_MATCH_SET)))
		xtables_error(PARAMETER_PROBLEM,
			      "ipcuckoo: give --match-set NAME src, or --match-set NAME dst");
}

/* Print a rule as iptables -S does, with "--" as @dashes, or as iptables -L does, with "". */
static void put(const struct xt_ipcuckoo_info *info, const char *dashes)
{
	printf("%s %smatch-set", info->flags & XT_IPCUCKOO_INVERT ? " !" : "", dashes);
	xtables_save_string(info->set);
	printf(" %s", info->flags & XT_IPCUCKOO_DST ? "dst" : "src");
	if (info->flags & XT_IPCUCKOO_RETURN_NOMATCH)
		printf(" %sreturn-nomatch", dashes);
	if (info->flags & XT_IPCUCKOO_NO_UPDATE)
		printf(" ! %supdate-counters", dashes);
	if (info->flags & XT_IPCUCKOO_APPROXIMATE)
		printf(" %sapproximate", dashes);
}

static void print(const void *ip, const struct xt_entry_match *match, int numeric)
{
	(void)ip;
	(void)numeric;
	fputs(" ipcuckoo", stdout);
	put(info_of(match), "");
}

static void save(const void *ip, const struct xt_entry_match *match)
{
	(void)ip;
	put(info_of(match), "--");
}

#define MATCH(of_family, parser) {					\
	.version = XTABLES_VERSION,					\
	.name = "ipcuckoo",						\
	.revision = 0,							\
	.family = of_family,						\
	.size = XT_ALIGN(sizeof(struct xt_ipcuckoo_info)),		\
	.userspacesize = offsetof(struct xt_ipcuckoo_info, referral),	\
	.help = print_help,						\
	.parse = parser,						\
	.final_check = check,						\
	.print = print,							\
	.save = save,							\
	.extra_opts = options,						\
}

/* iptables passes over those that are not of its family. */
static struct xtables_match matches[] = {
	MATCH(NFPROTO_IPV4, parse4),
	MATCH(NFPROTO_IPV6, parse6),
};

/* iptables loads this library when it reads "-m ipcuckoo". */
static void __attribute__((constructor)) begin(void)
{
	xtables_register_matches(matches, sizeof(matches) / sizeof(matches[0]));
}
