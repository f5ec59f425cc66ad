/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/inbox.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/*
 * A lock per queue: only cards that spread connections otherwise than they were sent need it at all, and then a
 * lock that is hardly ever contended costs less than the copy.
 */
struct inbox {
	pthread_mutex_t lock;
	int fd;              /* owned: eventfd */
	bool is_waited;      /* under the lock: the owner sleeps */
	uint32_t head, tail; /* under the lock; their difference is atomic enough to look whether there is anything */
	inbox_segment_t taken;
	inbox_segment_t slots[INBOX_SLOTS];
};

inbox_t *inbox_new(void)
{
	inbox_t *inbox = calloc(1, sizeof(*inbox));
	if (inbox == NULL) {
		return NULL;
	}
	pthread_mutex_init(&inbox->lock, NULL);
	inbox->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (inbox->fd < 0) {
		int errnum = errno;
		inbox_free(inbox);
		errno = errnum;
		return NULL;
	}
	return inbox;
}

void inbox_free(inbox_t *inbox)
{
	if (inbox != NULL) {
		if (inbox->fd >= 0) {
			close(inbox->fd);
		}
		pthread_mutex_destroy(&inbox->lock);
		free(inbox);
	}
}

bool inbox_put(inbox_t *inbox, const kxdp_flow_t *flow, const uint8_t *bytes, size_t len)
{
	if (len > INBOX_SEGMENT_MAX) {
		return false;
	}
	pthread_mutex_lock(&inbox->lock);
	bool has_room = inbox->head - inbox->tail < INBOX_SLOTS;
	if (has_room) {
		inbox_segment_t *slot = &inbox->slots[inbox->head % INBOX_SLOTS];
		slot->flow = *flow;
		slot->len = (uint16_t)len;
		memcpy(slot->bytes, bytes, len);
		__atomic_store_n(&inbox->head, inbox->head + 1, __ATOMIC_RELEASE);
	}
	bool wakes = inbox->is_waited;
	inbox->is_waited = false;
	pthread_mutex_unlock(&inbox->lock);
	if (wakes) {
		(void)eventfd_write(inbox->fd, 1);
	}
	return has_room;
}

const inbox_segment_t *inbox_take(inbox_t *inbox)
{
	if (__atomic_load_n(&inbox->head, __ATOMIC_ACQUIRE) == inbox->tail) {
		return NULL;
	}
	pthread_mutex_lock(&inbox->lock);
	const inbox_segment_t *slot = &inbox->slots[inbox->tail % INBOX_SLOTS];
	inbox->taken.flow = slot->flow;
	inbox->taken.len = slot->len;
	memcpy(inbox->taken.bytes, slot->bytes, slot->len);
	inbox->tail++;
	pthread_mutex_unlock(&inbox->lock);
	return &inbox->taken;
}

int inbox_fd(const inbox_t *inbox)
{
	return inbox->fd;
}

bool inbox_begin_wait(inbox_t *inbox)
{
	pthread_mutex_lock(&inbox->lock);
	bool is_empty = inbox->head == inbox->tail;
	inbox->is_waited = is_empty;
	pthread_mutex_unlock(&inbox->lock);
	return is_empty;
}

void inbox_end_wait(inbox_t *inbox)
{
	eventfd_t unused;
	pthread_mutex_lock(&inbox->lock);
	inbox->is_waited = false;
	pthread_mutex_unlock(&inbox->lock);
	(void)eventfd_read(inbox->fd, &unused);
}
