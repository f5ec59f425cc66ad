/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sign/mem.h"

#include <stddef.h>
#include <stdlib.h>

enum { BLOCK_SIZE = 64 * 1024 };

struct sign_block {
	sign_block_t *next;
	size_t size; /* of bytes[] */
	_Alignas(max_align_t) uint8_t bytes[];
};

/* A block with room for `len` bytes behind the one in use. */
static bool mem_grow(sign_mem_t *mem, size_t len)
{
	sign_block_t **link = mem->now != NULL ? &mem->now->next : &mem->first;
	if (*link == NULL || (*link)->size < len) {
		size_t size = len > BLOCK_SIZE ? len : BLOCK_SIZE;
		sign_block_t *block = malloc(sizeof(*block) + size);
		if (block == NULL) {
			return false;
		}
		block->next = *link;
		block->size = size;
		*link = block;
	}
	mem->now = *link;
	mem->used = 0;
	return true;
}

void *sign_mem_alloc(sign_mem_t *mem, size_t len)
{
	size_t step = (len + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
	if (mem->now == NULL || step > mem->now->size - mem->used) {
		if (!mem_grow(mem, step)) {
			mem->failed = true;
			return NULL;
		}
	}
	void *at = mem->now->bytes + mem->used;
	mem->used += step;
	mem->total += step;
	return at;
}

knot_bytes_t sign_mem_copy(sign_mem_t *mem, knot_bytes_t bytes)
{
	uint8_t *copy = sign_mem_alloc(mem, bytes.len);
	if (copy != NULL && bytes.len > 0) {
		memcpy(copy, bytes.data, bytes.len);
	}
	return (knot_bytes_t){ copy, bytes.len };
}

knot_name_t sign_mem_name(sign_mem_t *mem, knot_name_t name)
{
	uint8_t *wire = sign_mem_alloc(mem, name.len);
	if (wire != NULL) {
		knot_name_lower(name, wire);
	}
	return (knot_name_t){ wire, name.len, name.label_count };
}

void sign_mem_reset(sign_mem_t *mem)
{
	mem->now = NULL;
	mem->used = 0;
	mem->total = 0;
}

void sign_mem_done(sign_mem_t *mem)
{
	while (mem->first != NULL) {
		sign_block_t *next = mem->first->next;
		free(mem->first);
		mem->first = next;
	}
	*mem = (sign_mem_t){ 0 };
}
