/* SPDX-License-Identifier: GPL-2.0 */
/* For tests: let one allocation of the kernel fail, on kernels with fault injection. */
#ifndef _FAULTS_H
#define _FAULTS_H

#include <sys/mman.h>

#include "client.h"

#define FAULTS	"/sys/kernel/debug"

static int fail_nth;

/* Let the @n-th allocation of this thread from now on fail; 0: none. */
static inline void arm(unsigned int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", n);
	if (pwrite(fail_nth, text, strlen(text), 0) < 0)
		err(2, "fail-nth");
}

/* Turn that off. Returns whether an allocation has failed. */
static inline bool disarm(void)
{
	char text[16] = "";

	if (pread(fail_nth, text, sizeof(text) - 1, 0) < 0)
		err(2, "fail-nth");
	arm(0);
	return !atoi(text);
}

static inline void fault_setting(const char *path, const char *value)
{
	char name[128];
	int fd;

	snprintf(name, sizeof(name), FAULTS "/%s", path);
	fd = open(name, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		err(2, "%s", name);
	close(fd);
}

/* Open the file, and lock all memory, so that arm() does not let page faults fail. */
static inline void open_fail_nth(void)
{
	fail_nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		err(2, "mlockall");
}

/* Set up fault injection for all allocations, without messages in the log. Returns false, and
 * skips the program, if this kernel has none.
 */
static inline bool faults_begin(void)
{
	open_fail_nth();
	if (fail_nth < 0 || access(FAULTS "/failslab", F_OK)) {
		printf("1..0 # SKIP this kernel has no fault injection\n");
		return false;
	}
	fault_setting("failslab/verbose", "0");
	fault_setting("failslab/ignore-gfp-wait", "N");
	fault_setting("fail_page_alloc/verbose", "0");
	fault_setting("fail_page_alloc/ignore-gfp-wait", "N");
	fault_setting("fail_page_alloc/ignore-gfp-highmem", "N");
	fault_setting("fail_page_alloc/min-order", "0");
	return true;
}

/* Is the error due to a lack of memory? A lost message can also mean a lost answer. */
static inline bool is_shortage(int error)
{
	return error == -ENOMEM || error == -ENOBUFS || error == NO_ANSWER;
}

#endif /* _FAULTS_H */
