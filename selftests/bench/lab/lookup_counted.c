// SPDX-License-Identifier: GPL-2.0-only
/*
 * The product's look-ups as they are, but that each which has to be repeated is
 * counted: right before it begins again, and nowhere else, it relaxes. For one
 * reader, or the count would lack some.
 */
#include <linux/module.h>
#include <linux/processor.h>

#include "entries.h"

static unsigned long lab_retries;
module_param(lab_retries, ulong, 0444);
MODULE_PARM_DESC(lab_retries, "look-ups that began again");

#define cpu_relax()	((void)lab_retries++)

#include "kmod/lookup.c"
