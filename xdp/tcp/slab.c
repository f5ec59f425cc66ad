/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/tcp/slab.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *kxdp_map(size_t len)
{
	void *bytes = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return bytes != MAP_FAILED ? bytes : NULL;
}

void kxdp_unmap(void *bytes, size_t len)
{
	if (bytes != NULL) {
		(void)munmap(bytes, len);
	}
}

void kxdp_slab_init(kxdp_slab_t *slab, size_t item_size, uint32_t shift)
{
	assert(item_size >= sizeof(uint32_t));
	*slab = (kxdp_slab_t){ .item_size = (uint32_t)item_size, .shift = shift, .used_end = 1 };
}

static size_t chunk_len(const kxdp_slab_t *slab)
{
	return (size_t)slab->item_size << slab->shift;
}

void kxdp_slab_done(kxdp_slab_t *slab)
{
	for (uint32_t i = 0; i < slab->chunk_count; i++) {
		kxdp_unmap(slab->chunks[i], chunk_len(slab));
	}
	free(slab->chunks);
	slab->chunks = NULL;
	slab->chunk_count = 0;
}

/* Other threads read it. */
static void add_memory(kxdp_slab_t *slab, uint64_t len)
{
	__atomic_store_n(&slab->memory, slab->memory + len, __ATOMIC_RELAXED);
}

static bool grow(kxdp_slab_t *slab)
{
	if (slab->chunk_count == slab->chunk_room) {
		uint32_t room = slab->chunk_room > 0 ? 2 * slab->chunk_room : 8;
		uint8_t **chunks = realloc(slab->chunks, room * sizeof(chunks[0]));
		if (chunks == NULL) {
			return false;
		}
		add_memory(slab, (room - slab->chunk_room) * sizeof(chunks[0]));
		slab->chunks = chunks;
		slab->chunk_room = room;
	}
	uint8_t *chunk = kxdp_map(chunk_len(slab));
	if (chunk == NULL) {
		return false;
	}
	slab->chunks[slab->chunk_count++] = chunk;
	add_memory(slab, chunk_len(slab));
	return true;
}

uint32_t kxdp_slab_take(kxdp_slab_t *slab)
{
	uint32_t number = slab->free_head;
	if (number != 0) {
		memcpy(&slab->free_head, kxdp_slab_at(slab, number), sizeof(slab->free_head));
		return number;
	}
	if (slab->used_end >> slab->shift >= slab->chunk_count && !grow(slab)) {
		return 0;
	}
	return slab->used_end++;
}

void kxdp_slab_give_back(kxdp_slab_t *slab, uint32_t number)
{
	memcpy(kxdp_slab_at(slab, number), &slab->free_head, sizeof(slab->free_head));
	slab->free_head = number;
}
