/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/relay.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

_Static_assert((RELAY_SLOTS & (RELAY_SLOTS - 1)) == 0, "positions are masked");

/*
 * `turn` says whose a slot is. Position p uses slot p mod RELAY_SLOTS: turn == p: free for the sender that gets p;
 * turn == p + 1: filled, for the receiver, which sets it to p + RELAY_SLOTS.
 */
typedef struct {
	atomic_size_t turn;
	size_t len;
} slot_t;

enum { LINE = 64 };

struct relay {
	int wake_fd; /* owned */
	_Alignas(LINE) atomic_size_t send_at;
	_Alignas(LINE) size_t take_at; /* the receiver's */
	atomic_bool sleeps;
	_Alignas(LINE) slot_t slots[RELAY_SLOTS];
	_Alignas(LINE) uint8_t frames[RELAY_SLOTS][RELAY_FRAME_MAX]; /* takes no memory before it is used */
};

knot_err_t relay_new(relay_t **ret_relay)
{
	relay_t *relay = aligned_alloc(LINE, sizeof(*relay));
	if (relay == NULL) {
		return KNOT_ENOMEM;
	}
	relay->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (relay->wake_fd < 0) {
		free(relay);
		return knot_err_of_errno(errno);
	}
	relay->take_at = 0;
	atomic_init(&relay->send_at, 0);
	atomic_init(&relay->sleeps, false);
	for (size_t i = 0; i < RELAY_SLOTS; i++) {
		atomic_init(&relay->slots[i].turn, i);
	}
	*ret_relay = relay;
	return KNOT_OK;
}

void relay_free(relay_t *take_relay)
{
	if (take_relay != NULL) {
		close(take_relay->wake_fd);
		free(take_relay);
	}
}

static slot_t *relay_find_slot(relay_t *relay, size_t position)
{
	return &relay->slots[position & (RELAY_SLOTS - 1)];
}

/* The next position, for this sender alone. False: full. */
static bool relay_claim_position(relay_t *relay, size_t *ret_position)
{
	size_t at = atomic_load_explicit(&relay->send_at, memory_order_relaxed);
	for (;;) {
		size_t turn = atomic_load_explicit(&relay_find_slot(relay, at)->turn, memory_order_acquire);
		if (turn == at) {
			if (atomic_compare_exchange_weak_explicit(
					    &relay->send_at, &at, at + 1, memory_order_relaxed, memory_order_relaxed)) {
				*ret_position = at;
				return true;
			}
		} else if ((ptrdiff_t)(turn - at) < 0) {
			return false; /* not taken yet since the last time round */
		} else {
			at = atomic_load_explicit(&relay->send_at, memory_order_relaxed);
		}
	}
}

bool relay_send(relay_t *relay, const uint8_t *frame, size_t len)
{
	assert(len <= RELAY_FRAME_MAX);
	size_t at;
	if (!relay_claim_position(relay, &at)) {
		return false;
	}
	slot_t *slot = relay_find_slot(relay, at);
	memcpy(relay->frames[at & (RELAY_SLOTS - 1)], frame, len);
	slot->len = len;
	/* Sequentially consistent, as are the accesses to `sleeps`: either the receiver, about to sleep, sees the slot,
	 * or we see that it sleeps. */
	atomic_store(&slot->turn, at + 1);
	if (atomic_load(&relay->sleeps) && atomic_exchange(&relay->sleeps, false)) {
		(void)eventfd_write(relay->wake_fd, 1);
	}
	return true;
}

bool relay_has(const relay_t *relay)
{
	const slot_t *slot = &relay->slots[relay->take_at & (RELAY_SLOTS - 1)];
	return atomic_load_explicit(&slot->turn, memory_order_acquire) == relay->take_at + 1;
}

size_t relay_take(relay_t *relay, uint8_t *frame)
{
	if (!relay_has(relay)) {
		return 0;
	}
	slot_t *slot = relay_find_slot(relay, relay->take_at);
	size_t len = slot->len;
	memcpy(frame, relay->frames[relay->take_at & (RELAY_SLOTS - 1)], len);
	atomic_store_explicit(&slot->turn, relay->take_at + RELAY_SLOTS, memory_order_release);
	relay->take_at++;
	assert(len <= RELAY_FRAME_MAX);
	return len;
}

int relay_fd(const relay_t *relay)
{
	return relay->wake_fd;
}

void relay_wake(const relay_t *relay)
{
	(void)eventfd_write(relay->wake_fd, 1);
}

bool relay_sleep(relay_t *relay)
{
	atomic_store(&relay->sleeps, true);
	if (atomic_load(&relay_find_slot(relay, relay->take_at)->turn) != relay->take_at + 1) {
		return true;
	}
	atomic_store(&relay->sleeps, false);
	return false;
}

void relay_awake(relay_t *relay, bool is_woken)
{
	atomic_store(&relay->sleeps, false);
	eventfd_t count;
	if (is_woken) {
		(void)eventfd_read(relay->wake_fd, &count);
	}
}
