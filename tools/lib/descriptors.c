// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <unistd.h>

#include "lib/descriptors.h"

void reserve_standard_descriptors(void)
{
	int fd;

	/* open() returns the lowest number that is free. A descriptor for writing cannot be read, and
	 * the other way round.
	 */
	do {
		fd = open("/dev/null", fcntl(STDIN_FILENO, F_GETFD) < 0 ? O_WRONLY : O_RDONLY);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}
