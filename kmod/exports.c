// SPDX-License-Identifier: GPL-2.0-only
/*
 * What other modules of this tree may use of this one: ipcuckoo_ipset (ipset/),
 * xt_ipcuckoo (xt/) and ipcuckoo_bpf (bpf/).
 *
 * The spare module has no exports. Two modules cannot export the same symbols, and no other module
 * uses the spare one.
 */
#include <linux/export.h>

#include "change.h"
#include "entries.h"
#include "hook.h"
#include "ids.h"
#include "lock.h"
#include "lookup.h"
#include "mem.h"
#include "names.h"
#include "net.h"
#include "referral.h"
#include "usage.h"

EXPORT_SYMBOL_GPL(ipcuckoo_area_alloc);
EXPORT_SYMBOL_GPL(ipcuckoo_area_free);
EXPORT_SYMBOL_GPL(ipcuckoo_change_add_in_place);
EXPORT_SYMBOL_GPL(ipcuckoo_change_add_live);
EXPORT_SYMBOL_GPL(ipcuckoo_change_del_in_place);
EXPORT_SYMBOL_GPL(ipcuckoo_change_del_live);
EXPORT_SYMBOL_GPL(ipcuckoo_change_failed);
EXPORT_SYMBOL_GPL(ipcuckoo_check_abi);
EXPORT_SYMBOL_GPL(ipcuckoo_entries_decide);
EXPORT_SYMBOL_GPL(ipcuckoo_entries_expect);
EXPORT_SYMBOL_GPL(ipcuckoo_entries_expires);
EXPORT_SYMBOL_GPL(ipcuckoo_entries_fetch);
EXPORT_SYMBOL_GPL(ipcuckoo_entries_fetch_from);
EXPORT_SYMBOL_GPL(ipcuckoo_entries_get);
EXPORT_SYMBOL_GPL(ipcuckoo_entries_match4);
EXPORT_SYMBOL_GPL(ipcuckoo_entries_match6);
EXPORT_SYMBOL_GPL(ipcuckoo_entries_match_mapped);
EXPORT_SYMBOL_GPL(ipcuckoo_entries_next_value);
EXPORT_SYMBOL_GPL(ipcuckoo_entries_tidy);
#if IS_ENABLED(CONFIG_BPF_SYSCALL)
EXPORT_SYMBOL_GPL(ipcuckoo_hook_xdp);
#endif
EXPORT_SYMBOL_GPL(ipcuckoo_ids_find);
EXPORT_SYMBOL_GPL(ipcuckoo_ids_use);
EXPORT_SYMBOL_GPL(ipcuckoo_lock_contents_anyway);
EXPORT_SYMBOL_GPL(ipcuckoo_lock_limit);
EXPORT_SYMBOL_GPL(ipcuckoo_lock_names_anyway);
EXPORT_SYMBOL_GPL(ipcuckoo_lock_wanted);
EXPORT_SYMBOL_GPL(ipcuckoo_mem_charge_as);
EXPORT_SYMBOL_GPL(ipcuckoo_mem_release);
EXPORT_SYMBOL_GPL(ipcuckoo_mem_retire);
EXPORT_SYMBOL_GPL(ipcuckoo_mem_uncharge);
EXPORT_SYMBOL_GPL(ipcuckoo_names_discard);
EXPORT_SYMBOL_GPL(ipcuckoo_names_hide);
EXPORT_SYMBOL_GPL(ipcuckoo_names_show);
EXPORT_SYMBOL_GPL(ipcuckoo_names_valid);
EXPORT_SYMBOL_GPL(ipcuckoo_net_id);
EXPORT_SYMBOL_GPL(ipcuckoo_net_set_sync);
EXPORT_SYMBOL_GPL(ipcuckoo_object_alloc);
EXPORT_SYMBOL_GPL(ipcuckoo_object_free);
EXPORT_SYMBOL_GPL(ipcuckoo_record_comment);
EXPORT_SYMBOL_GPL(ipcuckoo_record_get);
EXPORT_SYMBOL_GPL(ipcuckoo_record_put);
EXPORT_SYMBOL_GPL(ipcuckoo_referral_get);
EXPORT_SYMBOL_GPL(ipcuckoo_referral_put);
EXPORT_SYMBOL_GPL(ipcuckoo_set_alloc);
EXPORT_SYMBOL_GPL(ipcuckoo_set_find);
EXPORT_SYMBOL_GPL(ipcuckoo_set_flush);
EXPORT_SYMBOL_GPL(ipcuckoo_set_lock);
EXPORT_SYMBOL_GPL(ipcuckoo_set_memory);
EXPORT_SYMBOL_GPL(ipcuckoo_set_name);
EXPORT_SYMBOL_GPL(ipcuckoo_set_put);
EXPORT_SYMBOL_GPL(ipcuckoo_set_unlock);
EXPORT_SYMBOL_GPL(ipcuckoo_unlock_contents);
EXPORT_SYMBOL_GPL(ipcuckoo_unlock_names);
EXPORT_SYMBOL_GPL(ipcuckoo_usage_crowded);
EXPORT_SYMBOL_GPL(ipcuckoo_usage_live);
EXPORT_SYMBOL_GPL(ipcuckoo_usage_longest);
EXPORT_SYMBOL_GPL(ipcuckoo_usage_total);
EXPORT_SYMBOL_GPL(ipcuckoo_usage_with_len);
EXPORT_SYMBOL_GPL(ipcuckoo_userns);
