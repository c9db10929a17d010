// SPDX-License-Identifier: GPL-2.0-only
/* Exports functions of the module to the module that measures them. */
#include <linux/export.h>

#include "net.h"
#include "set.h"

EXPORT_SYMBOL_GPL(ipcuckoo_net_id);
EXPORT_SYMBOL_GPL(ipcuckoo_set_get);
EXPORT_SYMBOL_GPL(ipcuckoo_set_put);
EXPORT_SYMBOL_GPL(ipcuckoo_set_match4);
EXPORT_SYMBOL_GPL(ipcuckoo_set_match6);
