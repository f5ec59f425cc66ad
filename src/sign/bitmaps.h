/* SPDX-License-Identifier: BSD-2-Clause */
/** Internal: the different bitmaps of a chain, each once: a zone has many names and few kinds of them. One owner. */
#pragma once

#include "src/sign/mem.h"

/** Zero: none. */
typedef struct {
	knot_bytes_t *at; /* owned; the bytes are of `mem` */
	uint32_t *slots;  /* owned: hash table of numbers + 1 */
	uint32_t count, max;
	uint32_t slot_count; /* a power of two, more than twice `count` */
	sign_mem_t mem;
} sign_bitmaps_t;

/** The number of a bitmap, which is copied if it's new. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t sign_bitmaps_put(sign_bitmaps_t *bitmaps, knot_bytes_t bitmap, uint32_t *ret_number);

void sign_bitmaps_done(sign_bitmaps_t *bitmaps);
