// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <ctype.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ports.h"

#define PORT_MAX	65535

static const struct {
	const char *word;
	uint8_t number;
} protocols[] = {
	{ "tcp", IPPROTO_TCP },
	{ "udp", IPPROTO_UDP },
	{ "sctp", IPPROTO_SCTP },
};

#define PROTOCOLS	(sizeof(protocols) / sizeof(protocols[0]))

uint8_t ports_protocol(const char *word)
{
	size_t i;

	for (i = 0; i < PROTOCOLS; i++)
		if (!strcmp(protocols[i].word, word))
			return protocols[i].number;
	return 0;
}

const char *ports_protocol_text(uint8_t protocol)
{
	size_t i;

	for (i = 0; i < PROTOCOLS; i++)
		if (protocols[i].number == protocol)
			return protocols[i].word;
	return "unknown";
}

/* Read a number of one port. Return: where it ends; NULL if there is none. */
static const char *read_number(const char *text, uint16_t *port)
{
	char *end;
	unsigned long number;

	if (!isdigit((unsigned char)*text))
		return NULL;
	number = strtoul(text, &end, 10);
	*port = number;
	return number <= PORT_MAX ? end : NULL;
}

/* Read "22", "80-90", "80:90" or "https". Return: whether it is one of these. */
static bool read_range(const char *text, uint8_t protocol, struct port_range *range)
{
	const char *end = read_number(text, &range->first);
	const struct servent *service;

	if (!end) {
		service = isdigit((unsigned char)*text) ? NULL :
			  getservbyname(text, ports_protocol_text(protocol));
		range->first = service ? ntohs(service->s_port) : 0;
		range->last = range->first;
		return service;
	}
	range->last = range->first;
	if (*end == '-' || *end == ':')
		end = read_number(end + 1, &range->last);
	return end && !*end && range->first <= range->last;
}

static int compare_ranges(const void *a, const void *b)
{
	return ((const struct port_range *)a)->first - ((const struct port_range *)b)->first;
}

/* Make one range of those that overlap, or have no port between them. */
static size_t join_ranges(struct port_range *range, size_t count)
{
	size_t left = 0, i;

	qsort(range, count, sizeof(*range), compare_ranges);
	for (i = 0; i < count; i++) {
		if (!left || range[i].first > range[left - 1].last + 1)
			range[left++] = range[i];
		else if (range[i].last > range[left - 1].last)
			range[left - 1].last = range[i].last;
	}
	return left;
}

const char *ports_read(struct ports *ports, char *text)
{
	struct port_range range[16 * IPCUCKOO_PORTS_MAX];
	size_t count = 0;
	char *word;

	ports->count = 0;
	while ((word = strsep(&text, ","))) {
		if (count == sizeof(range) / sizeof(range[0]))
			return NULL;
		if (!read_range(word, ports->protocol, &range[count++]))
			return word;
	}
	count = join_ranges(range, count);
	if (count > IPCUCKOO_PORTS_MAX)
		return NULL;
	ports->count = count;
	memcpy(ports->range, range, count * sizeof(*range));
	return NULL;
}

const char *ports_text(const struct ports *ports, char text[PORTS_TEXT_SIZE])
{
	const struct port_range *range;
	size_t len = 0, i;

	*text = '\0';
	for (i = 0; i < ports->count; i++) {
		range = &ports->range[i];
		len += snprintf(text + len, PORTS_TEXT_SIZE - len, "%s%u", i ? "," : "", range->first);
		if (range->last != range->first)
			len += snprintf(text + len, PORTS_TEXT_SIZE - len, "-%u", range->last);
	}
	return text;
}

bool ports_include(const struct ports *a, const struct ports *b)
{
	size_t i, j;

	for (i = 0; i < b->count; i++) {
		for (j = 0; j < a->count; j++)
			if (a->range[j].first <= b->range[i].first && a->range[j].last >= b->range[i].last)
				break;
		if (j == a->count)
			return false;
	}
	return a->protocol == b->protocol;
}

bool ports_same(const struct ports *a, const struct ports *b)
{
	return a->protocol == b->protocol && a->count == b->count &&
	       !memcmp(a->range, b->range, a->count * sizeof(*a->range));
}
