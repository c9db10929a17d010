// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "lib/duration.h"

/* From the longest unit to the shortest */
static const struct unit {
	char letter;
	uint32_t seconds;
} units[] = {
	{ 'w', 7 * 86400 }, { 'd', 86400 }, { 'h', 3600 }, { 'm', 60 }, { 's', 1 }, { 0, 0 }
};

/* Read a number without leading zeros, which people take for octal, or not. */
static bool parse_count(const char **text, uint64_t *count)
{
	const char *p = *text;
	unsigned int digit;

	*count = 0;
	for (; *p >= '0' && *p <= '9'; p++) {
		digit = *p - '0';
		if (*count > (UINT64_MAX - digit) / 10)
			return false;
		*count = *count * 10 + digit;
	}
	if (p == *text || (**text == '0' && p > *text + 1))
		return false;
	*text = p;
	return true;
}

bool duration_parse(const char *text, uint64_t *seconds)
{
	const struct unit *unit = units;
	uint64_t count;

	*seconds = 0;
	if (!parse_count(&text, &count))
		return false;
	if (!*text) {
		*seconds = count;
		return true;
	}
	/* Each unit is shorter than the one before it. */
	for (;;) {
		while (unit->letter && unit->letter != *text)
			unit++;
		if (!unit->letter || count > (UINT64_MAX - *seconds) / unit->seconds)
			return false;
		*seconds += count * unit->seconds;
		unit++;
		if (!*++text)
			return true;
		if (!parse_count(&text, &count))
			return false;
	}
}

const char *duration_format(uint64_t seconds, char to[DURATION_TEXT_SIZE])
{
	const struct unit *unit = units;

	while (seconds % unit->seconds)
		unit++;
	snprintf(to, DURATION_TEXT_SIZE, "%llu%c", (unsigned long long)(seconds / unit->seconds),
		 seconds ? unit->letter : 's');
	return to;
}
