/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/queue.h"

#include <assert.h>
#include <sys/mman.h>

enum { GIVE_BACK_MIN = 16 * 1024 }; /* entries */

static size_t queue_bytes_of(size_t room)
{
	return room * sizeof(entry_t *);
}

void queue_deinit(queue_t *queue)
{
	if (queue->ring != NULL) {
		munmap(queue->ring, queue_bytes_of(queue->room));
	}
	*queue = (queue_t){ 0 };
}

knot_err_t queue_reserve(queue_t *queue, size_t room)
{
	if (room <= queue->room) {
		return KNOT_OK;
	}
	entry_t **ring = mmap(NULL, queue_bytes_of(room), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ring == MAP_FAILED) {
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i < queue->count; i++) {
		ring[i] = queue->ring[(queue->first + i) % queue->room];
	}
	if (queue->ring != NULL) {
		munmap(queue->ring, queue_bytes_of(queue->room));
	}
	queue->ring = ring;
	queue->room = room;
	queue->first = 0;
	return KNOT_OK;
}

void queue_put(queue_t *queue, entry_t *entry)
{
	assert(queue->count < queue->room);
	size_t at = queue->first + queue->count;
	queue->ring[at < queue->room ? at : at - queue->room] = entry;
	queue->count++;
	queue->longest = queue->count > queue->longest ? queue->count : queue->longest;
}

entry_t *queue_take(queue_t *queue)
{
	if (queue->count == 0) {
		return NULL;
	}
	entry_t *entry = queue->ring[queue->first++];
	queue->first = queue->first < queue->room ? queue->first : 0;
	if (--queue->count == 0) {
		queue->first = 0;
		if (queue->longest >= GIVE_BACK_MIN) {
			(void)madvise(queue->ring, queue_bytes_of(queue->room), MADV_DONTNEED);
			queue->was_long = true;
		}
		queue->longest = 0;
	}
	return entry;
}
