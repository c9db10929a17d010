/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory from malloc(), so that the address sanitizer knows every object. Allocated memory is
 * poisoned, unless it has to be zero; freed memory is always poisoned.
 */
#ifndef _SHIM_LINUX_SLAB_H
#define _SHIM_LINUX_SLAB_H

#include <linux/types.h>

#define GFP_KERNEL		0x1U	/* may sleep */
#define __GFP_ACCOUNT		0x2U
#define GFP_KERNEL_ACCOUNT	(GFP_KERNEL | __GFP_ACCOUNT)
#define GFP_ATOMIC		0x20U
#define __GFP_ZERO		0x4U
#define __GFP_NOWARN		0x8U
#define __GFP_RETRY_MAYFAIL	0x10U

void *kmalloc(size_t size, gfp_t gfp);
void *kmemdup(const void *from, size_t size, gfp_t gfp);
void *kmalloc_array(size_t n, size_t size, gfp_t gfp);
size_t kmalloc_size_roundup(size_t size);
void kfree(const void *p);

static inline bool gfpflags_allow_blocking(gfp_t gfp)
{
	return gfp & GFP_KERNEL;
}

static inline void *kzalloc(size_t size, gfp_t gfp)
{
	return kmalloc(size, gfp | __GFP_ZERO);
}

struct kmem_cache {
	size_t size;
};

#define SLAB_ACCOUNT	0
#define KBUILD_MODNAME	"core"

static inline struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align,
						   unsigned int flags, void (*ctor)(void *))
{
	static struct kmem_cache cache;

	(void)name, (void)align, (void)flags, (void)ctor;
	cache.size = size;
	return &cache;
}

static inline void *kmem_cache_zalloc(struct kmem_cache *cache, gfp_t gfp)
{
	return kzalloc(cache->size, gfp);
}

static inline void kmem_cache_free(struct kmem_cache *cache, void *p)
{
	(void)cache;
	kfree(p);
}

static inline void kmem_cache_destroy(struct kmem_cache *cache)
{
	(void)cache;
}

static inline void kvfree(const void *p)
{
	kfree(p);
}

/* Which allocation fails: 1 is the next one; 0: none. It is 0 again after the allocation has
 * failed.
 */
extern unsigned long shim_fail_at;

/* Number of objects that exist, and of all allocations so far. */
extern unsigned long shim_objects, shim_allocations;

#endif /* _SHIM_LINUX_SLAB_H */
