/* SPDX-License-Identifier: GPL-2.0 */
/* The C library's <errno.h> includes this file, too. There is nothing to add. */
#include_next <linux/errno.h>
