// SPDX-License-Identifier: GPL-2.0-only
/* Exports functions to the module that measures them, beside those that kmod/exports.c exports. */
#include <linux/export.h>

#include "set.h"

EXPORT_SYMBOL_GPL(ipcuckoo_set_get);
