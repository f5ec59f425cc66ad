/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/tcp/slab.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	CHUNKS_FIRST = 8, /* places of the table */
	CHUNK_FIRST = 1,  /* place 0 of the table stays vacant, so that no item has number 0 */
};

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
	assert(item_size >= sizeof(uint32_t) && shift < 32);
	*slab = (kxdp_slab_t){
		.item_size = (uint32_t)item_size,
		.shift = shift,
		.partial = KXDP_SLAB_NO_CHUNK,
		.empty = KXDP_SLAB_NO_CHUNK,
		.vacant = KXDP_SLAB_NO_CHUNK,
		.chunk_end = CHUNK_FIRST,
	};
}

void kxdp_slab_done(kxdp_slab_t *slab)
{
	for (uint32_t i = CHUNK_FIRST; i < slab->chunk_end; i++) {
		kxdp_unmap(slab->chunks[i], kxdp_slab_chunk_len(slab));
	}
	free(slab->chunks);
	free(slab->infos);
	slab->chunks = NULL;
	slab->infos = NULL;
	slab->chunk_end = CHUNK_FIRST;
}

/* Other threads read it. */
static void slab_set_memory(kxdp_slab_t *slab)
{
	uint64_t tables = slab->chunk_room * (sizeof(slab->chunks[0]) + sizeof(slab->infos[0]));
	__atomic_store_n(&slab->memory, kxdp_slab_mapped(slab) + tables, __ATOMIC_RELAXED);
}

/* ---- chunks ---- */

static void slab_link_chunk(kxdp_slab_t *slab, uint32_t *head, uint32_t chunk)
{
	kxdp_slab_chunk_t *info = &slab->infos[chunk];
	info->prev = KXDP_SLAB_NO_CHUNK;
	info->next = *head;
	if (*head != KXDP_SLAB_NO_CHUNK) {
		slab->infos[*head].prev = chunk;
	}
	*head = chunk;
}

static void slab_unlink_chunk(kxdp_slab_t *slab, uint32_t *head, uint32_t chunk)
{
	const kxdp_slab_chunk_t *info = &slab->infos[chunk];
	if (info->prev != KXDP_SLAB_NO_CHUNK) {
		slab->infos[info->prev].next = info->next;
	} else {
		assert(*head == chunk);
		*head = info->next;
	}
	if (info->next != KXDP_SLAB_NO_CHUNK) {
		slab->infos[info->next].prev = info->prev;
	}
}

static bool slab_grow_tables(kxdp_slab_t *slab)
{
	uint32_t room = slab->chunk_room > 0 ? 2 * slab->chunk_room : CHUNKS_FIRST;
	uint8_t **chunks = realloc(slab->chunks, room * sizeof(chunks[0]));
	if (chunks == NULL) {
		return false;
	}
	slab->chunks = chunks;
	slab->chunks[0] = NULL;
	kxdp_slab_chunk_t *infos = realloc(slab->infos, room * sizeof(infos[0]));
	if (infos == NULL) {
		return false;
	}
	slab->infos = infos;
	slab->chunk_room = room;
	slab_set_memory(slab);
	return true;
}

/* One more chunk, in `empty`. False: no memory, or no numbers. */
static bool slab_map_chunk(kxdp_slab_t *slab)
{
	bool is_vacant = slab->vacant != KXDP_SLAB_NO_CHUNK;
	uint32_t chunk = is_vacant ? slab->vacant : slab->chunk_end;
	if (chunk > UINT32_MAX >> slab->shift || (chunk >= slab->chunk_room && !slab_grow_tables(slab))) {
		return false;
	}
	uint8_t *bytes = kxdp_map(kxdp_slab_chunk_len(slab));
	if (bytes == NULL) {
		return false;
	}
	if (is_vacant) {
		slab->vacant = slab->infos[chunk].next;
	} else {
		slab->chunk_end++;
	}
	slab->chunks[chunk] = bytes;
	slab->infos[chunk] = (kxdp_slab_chunk_t){ 0 };
	slab_link_chunk(slab, &slab->empty, chunk);
	slab->empty_count++;
	slab->mapped_count++;
	slab_set_memory(slab);
	return true;
}

void kxdp_slab_trim(kxdp_slab_t *slab, uint32_t keep, uint32_t most)
{
	if (slab->spare != 0) {
		kxdp_slab_give_back_slowly(slab, slab->spare);
		slab->spare = 0;
	}
	for (; slab->empty_count > keep && most > 0; most--) {
		uint32_t chunk = slab->empty;
		assert(slab->infos[chunk].used == 0);
		slab_unlink_chunk(slab, &slab->empty, chunk);
		slab->empty_count--;
		slab->mapped_count--;
		kxdp_unmap(slab->chunks[chunk], kxdp_slab_chunk_len(slab));
		slab->chunks[chunk] = NULL;
		slab->infos[chunk].next = slab->vacant;
		slab->vacant = chunk;
		slab_set_memory(slab);
	}
}

/* ---- items ---- */

uint32_t kxdp_slab_take_slowly(kxdp_slab_t *slab)
{
	uint32_t chunk = slab->partial;
	if (chunk == KXDP_SLAB_NO_CHUNK) {
		if (slab->empty == KXDP_SLAB_NO_CHUNK && !slab_map_chunk(slab)) {
			return 0;
		}
		chunk = slab->empty;
		slab_unlink_chunk(slab, &slab->empty, chunk);
		slab->empty_count--;
		slab_link_chunk(slab, &slab->partial, chunk);
	}
	kxdp_slab_chunk_t *info = &slab->infos[chunk];
	uint32_t number = info->free_head;
	if (number != 0) {
		memcpy(&info->free_head, kxdp_slab_at(slab, number), sizeof(info->free_head));
	} else {
		assert(info->fresh < 1u << slab->shift);
		number = chunk << slab->shift | info->fresh++;
	}
	if (++info->used == 1u << slab->shift) {
		slab_unlink_chunk(slab, &slab->partial, chunk);
	}
	return number;
}

void kxdp_slab_give_back_slowly(kxdp_slab_t *slab, uint32_t number)
{
	assert(number != 0 && kxdp_slab_has(slab, number));
	uint32_t chunk = number >> slab->shift;
	kxdp_slab_chunk_t *info = &slab->infos[chunk];
	assert(info->used > 0);
	memcpy(kxdp_slab_at(slab, number), &info->free_head, sizeof(info->free_head));
	info->free_head = number;
	bool was_full = info->used == 1u << slab->shift;
	if (--info->used == 0) {
		if (!was_full) {
			slab_unlink_chunk(slab, &slab->partial, chunk);
		}
		slab_link_chunk(slab, &slab->empty, chunk);
		slab->empty_count++;
	} else if (was_full) {
		slab_link_chunk(slab, &slab->partial, chunk);
	}
}
