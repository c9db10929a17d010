// SPDX-License-Identifier: GPL-2.0-only
/*
 * The unmodified look-ups of the module, with a counter of retries: cpu_relax(), which a look-up
 * calls only right before it starts again, increments it. Only for one reader: the counter is not
 * atomic.
 */
#include <linux/module.h>
#include <linux/processor.h>

#include "entries.h"

static unsigned long lab_retries;
module_param(lab_retries, ulong, 0444);
MODULE_PARM_DESC(lab_retries, "look-ups that began again");

#define cpu_relax()	((void)lab_retries++)

#include "kmod/lookup.c"
