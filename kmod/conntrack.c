// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first attachment that acts on new connections only switches connection tracking on in its
 * network namespace, as a rule of iptables with "-m conntrack" does. It stays on until the
 * namespace ends or the module is unloaded: what is not tracked for a while would count as new
 * afterwards, and unregistering the hooks would drop packets that wait in an NFQUEUE (point.c).
 *
 * The functions of nf_conntrack are looked up when they are needed, so that this module can be
 * loaded without it.
 */
#include <linux/module.h>
#include <linux/netfilter.h>

#include "conntrack.h"
#include "load.h"
#include "net.h"

#define FAMILY	(IS_ENABLED(CONFIG_IPV6) ? NFPROTO_INET : NFPROTO_IPV4)

#if IS_ENABLED(CONFIG_NF_CONNTRACK)

static bool is_there(void)
{
	if (!symbol_get(nf_ct_netns_get))
		return false;
	symbol_put(nf_ct_netns_get);
	return true;
}

/**
 * ipcuckoo_conntrack_check() - is connection tracking there? If not, load it
 *
 * Context: process context.
 * Return: 0; -EAGAIN while it is being loaded, so that the caller should try again soon;
 * -EPROTONOSUPPORT if the kernel has none.
 */
int ipcuckoo_conntrack_check(void)
{
	int err;

	if (is_there())
		return 0;
	err = ipcuckoo_load(IPCUCKOO_LOAD_CONNTRACK);
	if (err != -ENOENT)
		return err;
	/* It may have been loaded meanwhile. */
	return is_there() ? 0 : -EPROTONOSUPPORT;
}

/**
 * ipcuckoo_conntrack_begin() - switch connection tracking on in a network namespace
 * @pernet:	namespace, whose mutex is held
 *
 * Context: process context; may sleep.
 * Return: 0; -EAGAIN if nf_conntrack is not loaded; or an error of nf_ct_netns_get().
 */
int ipcuckoo_conntrack_begin(struct ipcuckoo_net *pernet)
{
	int (*get)(struct net *net, u8 family);
	int err;

	lockdep_assert_held(&pernet->mutex);
	if (pernet->conntrack)
		return 0;
	get = symbol_get(nf_ct_netns_get);
	if (!get)
		return -EAGAIN;
	err = get(pernet->net, FAMILY);
	if (err)
		symbol_put(nf_ct_netns_get);
	else
		pernet->conntrack = true;
	return err;
}

/**
 * ipcuckoo_conntrack_end() - undo ipcuckoo_conntrack_begin()
 * @pernet:	namespace that ends
 *
 * Others may still need connection tracking there: then it stays on.
 */
void ipcuckoo_conntrack_end(struct ipcuckoo_net *pernet)
{
	void (*put)(struct net *net, u8 family);

	if (!pernet->conntrack)
		return;
	/* The reference of ipcuckoo_conntrack_begin() keeps nf_conntrack loaded. */
	put = symbol_get(nf_ct_netns_put);
	if (!WARN_ON_ONCE(!put)) {
		put(pernet->net, FAMILY);
		symbol_put(nf_ct_netns_put);
	}
	symbol_put(nf_ct_netns_get);
	pernet->conntrack = false;
}

#else

int ipcuckoo_conntrack_check(void)
{
	return -EPROTONOSUPPORT;
}

int ipcuckoo_conntrack_begin(struct ipcuckoo_net *pernet)
{
	return -EPROTONOSUPPORT;
}

void ipcuckoo_conntrack_end(struct ipcuckoo_net *pernet)
{
}

#endif
