// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints parts of the manual. man formats the page that is installed, as text if it does not write to a
 * terminal; a section is the lines from its heading to the next line that is indented as little.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/manual.h"
#include "lib/nearest.h"

#define COUNT(table)	(sizeof(table) / sizeof((table)[0]))

/* man indents headings of sections not at all, of subsections by 2 or 3, and text more. */
#define HEADING_INDENT	4

/* The sections of ipcuckoo(8), and the subsections but for those of COMMANDS: test_manual compares them. */
static const char *const sections[] = {
	"QUICK START", "DESCRIPTION", "Names and numbers", "OPTIONS", "COMMANDS", "GUARD",
	"SET TYPES", "CREATE OPTIONS", "ENTRIES", "ENTRY OPTIONS", "ATTACHMENTS", "Direction",
	"Verdict", "Containers and bridges", "Packets that are not seen", "Ingress", "Large sets",
	"Attachments that see no packets", "Marks", "Packets that are seen twice",
	"Hooks and queued packets", "Tracing", "APPROXIMATE SETS", "LIST FILES", "OUTPUT FORMATS",
	"Columns of stats", "Prometheus", "Lines of monitor", "AT BOOT",
	"What is not blocked at boot", "PACKAGES AND KERNEL UPDATES", "SECURE BOOT",
	"RULES OF IPTABLES", "FAIL2BAN AND CROWDSEC", "MODULE PARAMETERS", "ENVIRONMENT", "FILES", "EXIT STATUS",
	"DIFFERENCES FROM IPSET", "EXAMPLES",
};

/* The other pages: ipcuckoo-@name(@section) */
static const struct {
	const char *name;
	char section;
} pages[] = {
	{ "bpf", '7' },
	{ "ipset", '7' },
	{ "migrate", '7' },
	{ "upgrade", '8' },
	{ "xdp", '7' },
};

static const char *topic_name(size_t i)
{
	return i < COUNT(pages) ? pages[i].name : sections[i - COUNT(pages)];
}

#define TOPICS	(COUNT(pages) + COUNT(sections))

/* Names are compared without case, and with "-" for a blank. */
static char plain_letter(char letter)
{
	return letter == '-' || letter == '\n' ? ' ' : tolower((unsigned char)letter);
}

/* Does @text begin with @name? */
static bool begins(const char *text, const char *name)
{
	for (; *name; text++, name++)
		if (plain_letter(*text) != plain_letter(*name))
			return false;
	return true;
}

static bool is_same(const char *text, const char *name)
{
	return begins(text, name) && (!text[strlen(name)] || text[strlen(name)] == '\n');
}

/* Return: the number of the topic, or TOPICS. */
static size_t find_topic(const char *name)
{
	size_t i;

	for (i = 0; i < TOPICS && !is_same(topic_name(i), name); i++)
		;
	return i;
}

bool is_topic(const char *name)
{
	return find_topic(name) < TOPICS;
}

void print_topics(FILE *to)
{
	const char *name;
	size_t i;

	for (i = 0; i < TOPICS; i++) {
		for (name = topic_name(i); *name; name++)
			putc(*name == ' ' ? '-' : plain_letter(*name), to);
		putc('\n', to);
	}
}

const char *topic_hint(const char *name)
{
	static char hint[128];
	const char *names[TOPICS], *word;
	size_t i;

	for (i = 0; i < TOPICS; i++) {
		names[i] = word = topic_name(i);
		/* One of several words of a name; small words are in many names. */
		while (strlen(name) > 2 && word) {
			if (begins(word, name)) {
				snprintf(hint, sizeof(hint), "; did you mean \"%s\"?", names[i]);
				return hint;
			}
			word = strchr(word, ' ');
			word += !!word;
		}
	}
	return nearest_hint(name, names, TOPICS);
}

/* Remove what makes letters bold or underlined, where man has left it: a letter and a backspace. */
static void remove_overstrikes(char *line)
{
	char *from, *to = line;

	for (from = line; *from; from++) {
		if (*from != '\b') {
			*to++ = *from;
			continue;
		}
		/* A letter of UTF-8 may have several bytes. */
		while (to > line && (*--to & 0xc0) == 0x80)
			;
	}
	*to = '\0';
}

/* Print a section. @heading: NULL for all of the page. @lines: gets how many lines the page has, up to
 * the end of the section. Return: whether the page has the section.
 */
static bool print_section(FILE *page, const char *heading, size_t *lines)
{
	size_t size = 0, indent, depth = 0, blank = 0;
	bool inside = !heading;
	char *line = NULL;

	for (*lines = 0; getline(&line, &size, page) > 0; ++*lines) {
		remove_overstrikes(line);
		indent = strspn(line, " ");
		if (line[indent] == '\n') {
			blank++;
			continue;
		}
		if (inside && heading && indent <= depth)
			break;
		if (!inside) {
			inside = indent <= HEADING_INDENT && is_same(line + indent, heading);
			depth = indent;
			blank = 0;
		}
		if (!inside)
			continue;
		for (; blank; blank--)
			putchar('\n');
		fputs(line, stdout);
	}
	/* man has not failed if nobody reads the rest. */
	while (getline(&line, &size, page) > 0)
		;
	free(line);
	return inside;
}

const char *print_topic(const char *name)
{
	static char why[256];
	size_t i = find_topic(name), lines;
	bool whole = i < COUNT(pages), found;
	char section = whole ? pages[i].section : '8';
	char command[128], page[64];
	FILE *output;
	int failed;

	snprintf(page, sizeof(page), "ipcuckoo%s%s", whole ? "-" : "", whole ? pages[i].name : "");
	snprintf(command, sizeof(command), "MAN_KEEP_FORMATTING= exec man %c %s 2>/dev/null",
		 section, page);
	output = popen(command, "re");
	if (!output) {
		snprintf(why, sizeof(why), "man cannot be run: %s", strerror(errno));
		return why;
	}
	found = print_section(output, whole ? NULL : topic_name(i), &lines);
	failed = pclose(output);
	if (found && lines && !failed)
		return NULL;
	if (lines && failed)
		snprintf(why, sizeof(why),
			 "man has failed, so that the rest may be missing; to see why, run: man %c %s",
			 section, page);
	else if (!lines)
		snprintf(why, sizeof(why),
			 "man has no page %s(%c): install man, and the manual pages of ipcuckoo",
			 page, section);
	else
		snprintf(why, sizeof(why),
			 "the page %s(%c) that man prints has no section \"%s\": it is of another version of ipcuckoo, or man cannot print it",
			 page, section, topic_name(i));
	return why;
}
