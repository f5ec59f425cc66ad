/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: memory of small zones. Blocks of one size lie side by side in slabs, so that a million of them waste no
 * memory: in the general heap, the temporary memory of loading left holes of 280 bytes for each zone of 470 bytes. Any
 * thread; one lock, held for some instructions, and one system call for each slab.
 */
#pragma once

#include <stddef.h>

/* Sanitizers see only what the heap gives, so there all blocks come from it. */
#if defined(__SANITIZE_ADDRESS__)
#define ZONE_SLAB_OFF 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ZONE_SLAB_OFF 1
#endif
#endif

/** Memory for `len` bytes, aligned to 8. NULL: out of memory. */
void *zone_slab_alloc(size_t len);

/** Free what zone_slab_alloc(len) gave. */
void zone_slab_free(void *take_block, size_t len);
