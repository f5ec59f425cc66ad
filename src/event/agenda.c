/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The heap's order is one number per event, so that a comparison is one instruction and equal times keep their order:
 *
 *   key    parked 1 | due_ms 40 (34 years of uptime; later is then) | number 23
 *   what   number, high part 4 | - 1 | how 6 | event 5 | zone 48
 *
 * A number that wraps (each 8 million plans) may swap events of the same millisecond, nothing else. The index has the
 * places of the heap, not the keys, which it compares there: 4 bytes per slot.
 */
#include "src/event/agenda.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

enum {
	ARITY = 4,
	ZONE_BITS = 48,
	EVENT_BITS = 5,
	HOW_BITS = 6,
	NUMBER_BITS = 27,
	ORDER_BITS = 23, /* of the number, in the key */
	DUE_BITS = 40,
	INDEX_MIN = 64,
	LONG_MIN = 16 * 1024, /* events: less isn't worth giving back */
	LONG_PART = 8,
};

#define BITS(count) ((UINT64_C(1) << (count)) - 1)

static const uint64_t parked_bit = UINT64_C(1) << (ORDER_BITS + DUE_BITS);
static const uint64_t id_mask = BITS(ZONE_BITS + EVENT_BITS);
enum { HOW_AT = ZONE_BITS + EVENT_BITS, NUMBER_AT = 60 };

typedef struct agenda_slot {
	uint64_t key, what;
} slot_t;

_Static_assert((int)ORDER_BITS + DUE_BITS + 1 == 64 && NUMBER_AT + NUMBER_BITS - ORDER_BITS == 64, "see above");

/* ---- Slots ---- */

static uint64_t agenda_id(const entry_t *zone, event_t event)
{
	uint64_t address = (uintptr_t)zone;
	assert(address == (address & BITS(ZONE_BITS)) && event < EVENT_NONE);
	return address | (uint64_t)event << ZONE_BITS;
}

static uint32_t agenda_slot_number(slot_t slot)
{
	return (uint32_t)(slot.what >> NUMBER_AT << ORDER_BITS | (slot.key & BITS(ORDER_BITS)));
}

static uint64_t agenda_slot_due(slot_t slot)
{
	return slot.key >> ORDER_BITS & BITS(DUE_BITS);
}

static agenda_ticket_t agenda_ticket_of(uint32_t number, event_t event)
{
	return number << EVENT_BITS | (uint32_t)event;
}

static agenda_item_t agenda_item_of(slot_t slot)
{
	event_t event = (event_t)(slot.what >> ZONE_BITS & BITS(EVENT_BITS));
	return (agenda_item_t){
		.zone = (entry_t *)(uintptr_t)(slot.what & BITS(ZONE_BITS)),
		.event = event,
		.how = (unsigned)(slot.what >> HOW_AT & BITS(HOW_BITS)),
		.due_ms = agenda_slot_due(slot),
		.ticket = agenda_ticket_of(agenda_slot_number(slot), event),
		.is_parked = (slot.key & parked_bit) != 0,
	};
}

static uint32_t agenda_number_next(agenda_t *agenda)
{
	agenda->last = (agenda->last + 1) & BITS(NUMBER_BITS);
	agenda->last += agenda->last == 0;
	return agenda->last;
}

agenda_ticket_t agenda_ticket(agenda_t *agenda, event_t event)
{
	return agenda_ticket_of(agenda_number_next(agenda), event);
}

/* ---- The index ---- */

static size_t agenda_home(const agenda_t *agenda, uint64_t id)
{
	return (size_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (agenda->index_len - 1);
}

/* Where in the index the event is, or would be: then the index has 0 there. */
static size_t agenda_seek(const agenda_t *agenda, uint64_t id)
{
	size_t at = agenda_home(agenda, id);
	while (agenda->index[at] != 0 && (agenda->slots[agenda->index[at] - 1].what & id_mask) != id) {
		at = (at + 1) & (agenda->index_len - 1);
	}
	return at;
}

/* Take a place out of the index; others move up, so that no search ends too early. */
static void agenda_index_remove(agenda_t *agenda, size_t hole)
{
	size_t mask = agenda->index_len - 1;
	for (size_t at = (hole + 1) & mask; agenda->index[at] != 0; at = (at + 1) & mask) {
		size_t home = agenda_home(agenda, agenda->slots[agenda->index[at] - 1].what & id_mask);
		if (((at - home) & mask) >= ((at - hole) & mask)) {
			agenda->index[hole] = agenda->index[at];
			hole = at;
		}
	}
	agenda->index[hole] = 0;
}

/* Make it of another length. */
static void agenda_index_rebuild(agenda_t *agenda, size_t len)
{
	memset(agenda->index, 0, (len > agenda->index_len ? len : agenda->index_len) * sizeof(*agenda->index));
	agenda->index_len = len;
	for (size_t i = 0; i < agenda->count; i++) {
		agenda->index[agenda_seek(agenda, agenda->slots[i].what & id_mask)] = (uint32_t)i + 1;
	}
}

static size_t agenda_index_len(size_t count)
{
	size_t len = INDEX_MIN;
	while (len / 4 * 3 < count) {
		len *= 2;
	}
	return len;
}

/* ---- The heap ---- */

/*
 * Put a slot, which is at `at` of the index, into the hole of the heap, which moves up and down until the order is
 * right. While slots move, the index entry of `slot` itself is stale: no search looks for it.
 */
static void agenda_sift(agenda_t *agenda, size_t hole, slot_t slot, size_t at)
{
	for (size_t up; hole > 0 && agenda->slots[up = (hole - 1) / ARITY].key > slot.key; hole = up) {
		agenda->index[agenda_seek(agenda, agenda->slots[up].what & id_mask)] = (uint32_t)hole + 1;
		agenda->slots[hole] = agenda->slots[up];
	}
	for (;;) {
		size_t least = 0, first = hole * ARITY + 1;
		uint64_t key = slot.key;
		for (size_t down = first; down < first + ARITY && down < agenda->count; down++) {
			if (agenda->slots[down].key < key) {
				key = agenda->slots[down].key;
				least = down;
			}
		}
		if (least == 0) {
			break;
		}
		agenda->index[agenda_seek(agenda, agenda->slots[least].what & id_mask)] = (uint32_t)hole + 1;
		agenda->slots[hole] = agenda->slots[least];
		hole = least;
	}
	agenda->slots[hole] = slot;
	agenda->index[at] = (uint32_t)hole + 1;
}

static void agenda_remove(agenda_t *agenda, size_t at)
{
	size_t hole = agenda->index[at] - 1;
	agenda_index_remove(agenda, at);
	slot_t last = agenda->slots[agenda->count - 1];
	if (hole != agenda->count - 1) {
		size_t last_at = agenda_seek(agenda, last.what & id_mask);
		agenda->count--;
		agenda_sift(agenda, hole, last, last_at);
	} else {
		agenda->count--;
	}
}

static slot_t *agenda_get(const agenda_t *agenda, const entry_t *zone, event_t event, size_t *ret_at)
{
	if (agenda->count == 0) {
		return NULL;
	}
	*ret_at = agenda_seek(agenda, agenda_id(zone, event));
	return agenda->index[*ret_at] != 0 ? &agenda->slots[agenda->index[*ret_at] - 1] : NULL;
}

/* ---- Room ---- */

static size_t agenda_heap_bytes(size_t room)
{
	return room * sizeof(slot_t);
}

static size_t agenda_index_bytes(size_t room)
{
	return agenda_index_len(room) * sizeof(uint32_t);
}

static void *agenda_map(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

void agenda_deinit(agenda_t *agenda)
{
	if (agenda->room > 0) {
		munmap(agenda->slots, agenda_heap_bytes(agenda->room));
		munmap(agenda->index, agenda_index_bytes(agenda->room));
	}
	*agenda = (agenda_t){ 0 };
}

knot_err_t agenda_reserve(agenda_t *agenda, size_t room)
{
	if (room <= agenda->room) {
		return KNOT_OK;
	}
	room += room / 4; /* so that a zone more seldom moves the events of all */
	slot_t *slots = agenda_map(agenda_heap_bytes(room));
	if (slots == MAP_FAILED) {
		return KNOT_ENOMEM;
	}
	uint32_t *index = agenda_map(agenda_index_bytes(room));
	if (index == MAP_FAILED) {
		munmap(slots, agenda_heap_bytes(room));
		return KNOT_ENOMEM;
	}
	agenda_t grown = { .slots = slots, .index = index, .room = room, .count = agenda->count };
	grown.longest = agenda->longest;
	grown.last = agenda->last;
	if (agenda->count > 0) {
		memcpy(slots, agenda->slots, agenda->count * sizeof(*slots));
	}
	agenda_index_rebuild(&grown, agenda_index_len(agenda->count));
	agenda_deinit(agenda);
	*agenda = grown;
	return KNOT_OK;
}

bool agenda_was_long(const agenda_t *agenda)
{
	return agenda->longest >= LONG_MIN && agenda->count < agenda->longest / LONG_PART;
}

void agenda_trim(agenda_t *agenda)
{
	if (agenda->room == 0) {
		return;
	}
	enum { PAGE = 4096 };
	agenda_index_rebuild(agenda, agenda_index_len(agenda->count));
	size_t heap = (agenda_heap_bytes(agenda->count) + PAGE - 1) / PAGE * PAGE;
	size_t index = (agenda->index_len * sizeof(uint32_t) + PAGE - 1) / PAGE * PAGE;
	size_t heap_all = agenda_heap_bytes(agenda->room), index_all = agenda_index_bytes(agenda->room);
	if (heap < heap_all) {
		(void)madvise((char *)agenda->slots + heap, heap_all - heap, MADV_DONTNEED);
	}
	if (index < index_all) {
		(void)madvise((char *)agenda->index + index, index_all - index, MADV_DONTNEED);
	}
	agenda->longest = agenda->count;
}

/* ---- Events ---- */

agenda_ticket_t agenda_plan(agenda_t *agenda, entry_t *zone, event_t event, uint64_t due_ms, unsigned how)
{
	size_t at;
	uint64_t due = due_ms < BITS(DUE_BITS) ? due_ms : BITS(DUE_BITS);
	slot_t *found = agenda_get(agenda, zone, event, &at);
	if (found != NULL) {
		found->what |= (uint64_t)how << HOW_AT;
		if (agenda_slot_due(*found) <= due) {
			return agenda_item_of(*found).ticket;
		}
	}
	uint32_t number = agenda_number_next(agenda);
	slot_t slot = {
		.key = due << ORDER_BITS | (number & BITS(ORDER_BITS)),
		.what = agenda_id(zone, event) | (uint64_t)how << HOW_AT |
			(uint64_t)(number >> ORDER_BITS) << NUMBER_AT,
	};
	size_t hole;
	if (found != NULL) {
		slot.what |= found->what & (BITS(HOW_BITS) << HOW_AT);
		slot.key |= found->key & parked_bit;
		hole = (size_t)(found - agenda->slots);
	} else {
		assert(agenda->count < agenda->room);
		if (agenda->index_len / 4 * 3 < agenda->count + 1) {
			agenda_index_rebuild(agenda, 2 * agenda->index_len);
		}
		at = agenda_seek(agenda, slot.what & id_mask);
		hole = agenda->count++;
		agenda->longest = agenda->count > agenda->longest ? agenda->count : agenda->longest;
	}
	agenda_sift(agenda, hole, slot, at);
	return agenda_ticket_of(number, event);
}

bool agenda_cancel(agenda_t *agenda, entry_t *zone, event_t event)
{
	size_t at;
	bool is_planned = agenda_get(agenda, zone, event, &at) != NULL;
	if (is_planned) {
		agenda_remove(agenda, at);
	}
	return is_planned;
}

bool agenda_find(const agenda_t *agenda, const entry_t *zone, event_t event, agenda_item_t *ret_item)
{
	size_t at;
	const slot_t *found = agenda_get(agenda, zone, event, &at);
	if (found != NULL) {
		*ret_item = agenda_item_of(*found);
	}
	return found != NULL;
}

bool agenda_first(const agenda_t *agenda, agenda_item_t *ret_item)
{
	if (agenda->count == 0 || (agenda->slots[0].key & parked_bit) != 0) {
		return false;
	}
	*ret_item = agenda_item_of(agenda->slots[0]);
	return true;
}

static void agenda_set_parked(agenda_t *agenda, const entry_t *zone, event_t event, bool is_parked)
{
	size_t at;
	slot_t *found = agenda_get(agenda, zone, event, &at);
	assert(found != NULL);
	slot_t slot = *found;
	slot.key = is_parked ? slot.key | parked_bit : slot.key & ~parked_bit;
	if (slot.key != found->key) {
		agenda_sift(agenda, (size_t)(found - agenda->slots), slot, at);
	}
}

void agenda_park(agenda_t *agenda, entry_t *zone, event_t event)
{
	agenda_set_parked(agenda, zone, event, true);
}

void agenda_release(agenda_t *agenda, entry_t *zone, event_t event)
{
	agenda_set_parked(agenda, zone, event, false);
}

/* Those at and below `at` of the heap: what isn't due has nothing due below it. */
static size_t agenda_count_below(const agenda_t *agenda, size_t at, uint64_t key_end)
{
	if (at >= agenda->count || agenda->slots[at].key >= key_end) {
		return 0;
	}
	size_t count = 1;
	for (size_t down = at * ARITY + 1; down <= at * ARITY + ARITY; down++) {
		count += agenda_count_below(agenda, down, key_end);
	}
	return count;
}

size_t agenda_count_due(const agenda_t *agenda, uint64_t now_ms)
{
	uint64_t due = now_ms < BITS(DUE_BITS) ? now_ms + 1 : BITS(DUE_BITS);
	return agenda_count_below(agenda, 0, due << ORDER_BITS);
}
