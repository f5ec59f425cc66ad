/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * When which event of which zone is due: one heap of (due, zone, event), and an index to find an event in it. Internal
 * to src/event.
 *
 * A zone without a planned event takes no memory here, a planned event 16 bytes in the heap and 5 to 11 in the index.
 * Room is address space, reserved beforehand, so planning can't fail; pages come with use and go back by agenda_trim().
 * Events that are due and may not run yet are parked: they keep their time, and stand behind all others until they are
 * released. Cost: O(log n) to plan, cancel, park and release, with one miss of the cache per level of a heap of four
 * children.
 *
 * It doesn't look into zones: their addresses are keys. Not thread-safe: under the lock of the jobs.
 */
#pragma once

#include "libknot/base/err.h"
#include "src/event/event.h"

#include <stddef.h>

/** The state of a zone (entry.h), of which only the address is used. */
typedef struct zone_entry entry_t;

/** Identifies a planned event until it has ended: the event in the five low bits, a number above; never 0. */
typedef uint32_t agenda_ticket_t;

typedef struct {
	struct agenda_slot *slots; /* owned, mapped: the heap */
	uint32_t *index;           /* owned, mapped: places in the heap, from 1; open addressing */
	size_t room;               /* events that fit */
	size_t count;
	size_t index_len; /* a power of 2, of which three quarters are in use at most; 0: there is no room */
	size_t longest;   /* count at its largest since the last agenda_trim() */
	uint32_t last;    /* number of the last ticket */
} agenda_t;

/** A planned event. */
typedef struct {
	entry_t *zone;
	event_t event;
	unsigned how; /* EVENT_BY_… */
	uint64_t due_ms;
	agenda_ticket_t ticket;
	bool is_parked;
} agenda_item_t;

/** Free what it holds. An all-zero agenda is empty. */
void agenda_deinit(agenda_t *agenda);

/** Make room for `room` events in all. KNOT_ENOMEM: it is as before. */
KNOT_MUST_USE knot_err_t agenda_reserve(agenda_t *agenda, size_t room);

/**
 * Plan an event at `due_ms`, sys_clock_ms(). If it is planned already, the earlier of both times holds, and what `how`
 * says is added. Events of the same time come in the order of planning. There must be room. Returns its ticket; planned
 * for an earlier time, an event gets a new one.
 */
agenda_ticket_t agenda_plan(agenda_t *agenda, entry_t *zone, event_t event, uint64_t due_ms, unsigned how);

/** Forget an event; false: it wasn't planned. */
bool agenda_cancel(agenda_t *agenda, entry_t *zone, event_t event);

/** Look at a planned event; false: it isn't planned. */
bool agenda_find(const agenda_t *agenda, const entry_t *zone, event_t event, agenda_item_t *ret_item);

/** The event that comes first and isn't parked; false: there is none. */
bool agenda_first(const agenda_t *agenda, agenda_item_t *ret_item);

/** Put a planned event behind all others, without a change of its time; release it. */
void agenda_park(agenda_t *agenda, entry_t *zone, event_t event);
void agenda_release(agenda_t *agenda, entry_t *zone, event_t event);

/** The number of events that are due at `now_ms` and not parked. Cost: O(their number). */
size_t agenda_count_due(const agenda_t *agenda, uint64_t now_ms);

/** True if much of the memory that it took isn't needed any more. */
bool agenda_was_long(const agenda_t *agenda);

/** Give that back. Cost: O(events). */
void agenda_trim(agenda_t *agenda);

/** The event of a ticket. */
static inline event_t agenda_event_of(agenda_ticket_t ticket)
{
	return (event_t)(ticket & 31);
}

/** A ticket for work that isn't planned but begins now. */
agenda_ticket_t agenda_ticket(agenda_t *agenda, event_t event);
