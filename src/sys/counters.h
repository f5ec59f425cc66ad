/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Counters that threads add to without a lock, an atomic read-modify-write or a shared cache line.
 *
 * A set has `count` counters; what they mean is in counters.def, the table of all of them. Each thread that took a
 * slot has a row of its own, padded to cache lines; a reader sums the rows. Threads without a slot (control,
 * background work, more threads than slots were reserved) share row 0 and add atomically, so no count is lost, it only
 * costs more. A sum is exact once the adding threads are quiet; while they run it adds values of slightly different
 * moments.
 *
 * Slots: knotd reserves them before it makes sets or workers, and more of them before a configuration that wants more
 * workers. A worker takes a slot when it starts and gives it back when it ends; the next taker adds to the same row.
 * With too few slots nothing is lost, see above. In sets of several pages, rows that no thread has used cost address
 * space, not memory.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SYS_SLOTS_MAX = 2048,   /* 256 UDP + 256 TCP workers, XDP queues of several interfaces, with room to spare */
	SYS_SLOTS_DEFAULT = 16, /* if knotd reserved none */
	SYS_CACHE_LINE = 64,    /* bytes */
};

/** How a counter moves. */
typedef enum {
	SYS_COUNTER_COUNT, /* only grows */
	SYS_COUNTER_LEVEL, /* a current value */
	SYS_COUNTER_BYTES, /* a current value in bytes */
} sys_counter_kind_t;

/** What a counter is: a row of counters.def, or of one of the tables that it names. All static. */
typedef struct {
	const char *section; /* "server" */
	const char *item;    /* "tcp-io-timeout" */
	sys_counter_kind_t kind;
	const char *help; /* one sentence without a final dot */
} sys_counter_info_t;

typedef struct sys_counters {
	unsigned count;          /* counters in the set */
	unsigned slot_count;     /* rows, the shared row 0 included */
	unsigned stride;         /* counters from one row to the next: whole cache lines */
	_Atomic uint64_t *cells; /* slot_count * stride, cache-line aligned, in: */
	void *memory;            /* owned */
} sys_counters_t;

/** Slot of the calling thread; 0: none taken, the shared row. */
extern _Thread_local unsigned sys_thread_slot_own;

static inline unsigned sys_thread_slot(void)
{
	return sys_thread_slot_own;
}

/**
 * Set how many threads will want a slot at the same time (1–SYS_SLOTS_MAX - 1; larger values are cut). Sets made
 * before keep their size: threads with later slots use their shared row. Call at start, from one thread.
 */
void sys_slots_reserve(unsigned thread_count);

/** The same, but never fewer than before: threads may run, and others may make sets at the same time. */
void sys_slots_expect(unsigned thread_count);

/** Take a free slot for the calling thread unless it has one. Returns the slot; 0 when all are taken (still correct,
 * but slower). */
unsigned sys_slot_take(void);

/** Give the calling thread's slot back. Call before the thread ends. */
void sys_slot_give(void);

/** A set of `count` counters (at least 1), all 0, or NULL: no memory. Owned by the caller. */
sys_counters_t *sys_counters_new(unsigned count);

/** Free a set that no thread uses any more. NULL is allowed. */
void sys_counters_free(sys_counters_t *counters);

/** What sys_counters_add() does for a thread without a row of its own: an atomic addition to the shared row. */
void sys_counters_add_shared(sys_counters_t *counters, unsigned index, uint64_t n);

/** The calling thread's row of a set, for several additions in a row (sys_counters_add_own()); NULL: it has none. */
static inline _Atomic uint64_t *sys_counters_own_row(const sys_counters_t *counters)
{
	unsigned slot = sys_thread_slot();
	bool is_own = slot != 0 && slot < counters->slot_count;
	return is_own ? &counters->cells[slot * (size_t)counters->stride] : NULL;
}

/** Add `n` to counter `index` of the calling thread's own row: a load and a store. */
static inline void sys_counters_add_own(_Atomic uint64_t *row, unsigned index, uint64_t n)
{
	atomic_store_explicit(
			&row[index], atomic_load_explicit(&row[index], memory_order_relaxed) + n, memory_order_relaxed);
}

/** Add `n` to counter `index` (below `count`). Any thread; a load and a store in the thread's own line. */
static inline void sys_counters_add(sys_counters_t *counters, unsigned index, uint64_t n)
{
	_Atomic uint64_t *row = sys_counters_own_row(counters);
	if (__builtin_expect(row == NULL, 0)) {
		sys_counters_add_shared(counters, index, n);
		return;
	}
	sys_counters_add_own(row, index, n);
}

/** Add 1 to counter `index` and return what it is now: of the calling thread alone, or of all threads without a row. */
static inline uint64_t sys_counters_next(sys_counters_t *counters, unsigned index)
{
	_Atomic uint64_t *row = sys_counters_own_row(counters);
	if (__builtin_expect(row == NULL, 0)) {
		return atomic_fetch_add_explicit(&counters->cells[index], 1, memory_order_relaxed) + 1;
	}
	sys_counters_add_own(row, index, 1);
	return atomic_load_explicit(&row[index], memory_order_relaxed);
}

/** Sum of counter `index` over all rows. Any thread. Cost: one load per row. */
uint64_t sys_counters_sum(const sys_counters_t *counters, unsigned index);
