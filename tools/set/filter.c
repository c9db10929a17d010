// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "set/filter.h"

/* Number of slots that a look-up reads: two buckets of four slots. */
#define SLOTS_SEEN	8

/* The false-positive rate; uapi/ipcuckoo.h explains the formula. */
static double rate_at(double load, unsigned int bits)
{
	/* Not a shift: another version of the module may send any number of bits. */
	return SLOTS_SEEN * load / (ldexp(1, bits) - 1);
}

uint32_t filter_room(const struct nl_set *set)
{
	bool limited = set->maxelem && set->maxelem < set->capacity;

	return limited ? set->maxelem : set->capacity;
}

double filter_rate_now(const struct nl_set *set)
{
	return rate_at((double)set->entries / set->slots, set->bits);
}

double filter_rate_full(const struct nl_set *set)
{
	return rate_at((double)filter_room(set) / set->slots, set->bits);
}

const char *rate_text(double rate, char text[RATE_TEXT_SIZE])
{
	snprintf(text, RATE_TEXT_SIZE, "%.3g %%", rate * 100);
	return text;
}

/* Parse a decimal fraction or a percentage. strtod() also accepts leading blanks, signs,
 * hexadecimal numbers, "inf" and "nan". In all these cases it reads further than the
 * characters of a decimal number reach, or the result is not between 0 and 1.
 */
static int parse_rate(const struct tool *tool, const char *word, double *rate)
{
	const char *unit = word + strspn(word, "0123456789.eE-");
	bool percent = !strcmp(unit, "%");
	char *end;

	*rate = strtod(word, &end);
	if (percent)
		*rate /= 100;
	if (end == unit && (percent || !*unit) && *rate > 0 && *rate < 1)
		return STATUS_OK;
	return fail_syntax(tool,
			   "\"%s\" is no fpp: a number between 0 and 1, such as 0.001 or 0.1%%",
			   word);
}

static int parse_bits(const struct tool *tool, const char *word, uint8_t *width)
{
	static const struct meaning widths[] = {
		{ "8", 8 }, { "16", 16 }, { "32", 32 }, { NULL, 0 }
	};
	int value, status;

	status = parse_meaning(tool, "unknown number of bits \"", "\"", widths, word, &value);
	if (!status)
		*width = value;
	return status;
}

int parse_width(const struct tool *tool, const char *bits, const char *fpp,
		uint8_t *width)
{
	const double load = IPCUCKOO_FILTER_LOAD / 1000.0;
	uint8_t narrowest = 8;
	double rate;
	int status;

	*width = 0;
	status = bits ? parse_bits(tool, bits, width) : STATUS_OK;
	if (status || !fpp)
		return status;
	status = parse_rate(tool, fpp, &rate);
	if (status)
		return status;
	while (narrowest <= 32 && rate_at(load, narrowest) > rate)
		narrowest *= 2;
	if (narrowest > 32)
		return fail_syntax(tool,
				   "fpp %s: fingerprints of 32 bits make it %.2g; hash:ip is exact",
				   fpp, rate_at(load, 32));
	if (*width && *width < narrowest)
		return fail_syntax(tool,
				   "bits %s make an fpp of %.3g, more than %s: leave bits out, or say bits %u",
				   bits, rate_at(load, *width), fpp, narrowest);
	if (!*width)
		*width = narrowest;
	return STATUS_OK;
}
