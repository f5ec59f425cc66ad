/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sign/bitmaps.h"

#include <stdlib.h>

#include "libknot/base/siphash.h"

/* The slot of a bitmap: that of its number, or the empty one where it belongs. */
static uint32_t *bitmaps_slot(const sign_bitmaps_t *b, knot_bytes_t bitmap)
{
	for (uint64_t at = knot_siphash24(0, 0, bitmap);; at++) {
		uint32_t *slot = &b->slots[at & (b->slot_count - 1)];
		const knot_bytes_t *here = *slot != 0 ? &b->at[*slot - 1] : NULL;
		if (here == NULL || (here->len == bitmap.len && memcmp(here->data, bitmap.data, bitmap.len) == 0)) {
			return slot;
		}
	}
}

static knot_err_t bitmaps_grow(sign_bitmaps_t *b)
{
	enum { FIRST = 64 };
	uint32_t max = b->max > 0 ? 2 * b->max : FIRST;
	knot_bytes_t *at = realloc(b->at, max * sizeof(*at));
	uint32_t *slots = calloc(4 * (size_t)max, sizeof(*slots));
	if (at != NULL) {
		b->at = at;
	}
	if (at == NULL || slots == NULL) {
		free(slots);
		return KNOT_ENOMEM;
	}
	free(b->slots);
	b->slots = slots;
	b->slot_count = 4 * max;
	b->max = max;
	for (uint32_t i = 0; i < b->count; i++) {
		*bitmaps_slot(b, b->at[i]) = i + 1;
	}
	return KNOT_OK;
}

knot_err_t sign_bitmaps_put(sign_bitmaps_t *b, knot_bytes_t bitmap, uint32_t *ret_number)
{
	knot_err_t err = b->count == b->max ? bitmaps_grow(b) : KNOT_OK;
	if (err != KNOT_OK) {
		return err;
	}
	uint32_t *slot = bitmaps_slot(b, bitmap);
	if (*slot == 0) {
		knot_bytes_t copy = sign_mem_copy(&b->mem, bitmap);
		if (copy.data == NULL) {
			return KNOT_ENOMEM;
		}
		b->at[b->count++] = copy;
		*slot = b->count;
	}
	*ret_number = *slot - 1;
	return KNOT_OK;
}

void sign_bitmaps_done(sign_bitmaps_t *b)
{
	free(b->at);
	free(b->slots);
	sign_mem_done(&b->mem);
	*b = (sign_bitmaps_t){ 0 };
}
