/* SPDX-License-Identifier: GPL-2.0 */
/* The C library's <errno.h> comes here too: nothing to add. */
#include_next <linux/errno.h>
