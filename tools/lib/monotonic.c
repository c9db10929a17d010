// SPDX-License-Identifier: GPL-2.0-only
#include <time.h>

#include "lib/monotonic.h"

double monotonic_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}
