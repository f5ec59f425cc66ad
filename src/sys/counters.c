/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/counters.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

_Thread_local unsigned sys_thread_slot_own;

/* One flag per slot; slot 0 is the shared one and never given out. Taken rarely (thread start), so a scan is fine. */
static atomic_bool slot_taken[SYS_SLOTS_MAX];
static atomic_uint slot_count = 1 + SYS_SLOTS_DEFAULT;
static atomic_uint slot_highest; /* the highest ever taken: no row behind it has been written to */

void sys_slots_reserve(unsigned thread_count)
{
	atomic_store(&slot_count, thread_count < SYS_SLOTS_MAX ? 1 + thread_count : SYS_SLOTS_MAX);
}

/* Stores the larger value; returns at the latest when another thread has stored one as large. */
static void raise_to(atomic_uint *number, unsigned value)
{
	unsigned before = atomic_load(number);
	while (before < value && !atomic_compare_exchange_weak(number, &before, value)) {}
}

void sys_slots_expect(unsigned thread_count)
{
	raise_to(&slot_count, thread_count < SYS_SLOTS_MAX ? 1 + thread_count : SYS_SLOTS_MAX);
}

unsigned sys_slot_take(void)
{
	unsigned count = atomic_load(&slot_count);
	for (unsigned i = 1; i < count && sys_thread_slot_own == 0; i++) {
		bool expected = false;
		if (atomic_compare_exchange_strong(&slot_taken[i], &expected, true)) {
			raise_to(&slot_highest, i);
			sys_thread_slot_own = i;
		}
	}
	return sys_thread_slot_own;
}

void sys_slot_give(void)
{
	if (sys_thread_slot_own != 0) {
		/* Sequentially consistent: the next taker of the row sees all that was added to it. */
		atomic_store(&slot_taken[sys_thread_slot_own], false);
		sys_thread_slot_own = 0;
	}
}

sys_counters_t *sys_counters_new(unsigned count)
{
	assert(count > 0);
	enum { LINE_CELLS = SYS_CACHE_LINE / sizeof(uint64_t) };
	sys_counters_t *counters = malloc(sizeof(*counters));
	if (counters == NULL) {
		return NULL;
	}
	counters->count = count;
	counters->slot_count = atomic_load(&slot_count);
	counters->stride = (count + LINE_CELLS - 1) / LINE_CELLS * LINE_CELLS;
	/* Not aligned_alloc() and memset(): pages of rows that no thread has yet stay untouched. */
	counters->memory = calloc((size_t)counters->slot_count * counters->stride + LINE_CELLS, sizeof(uint64_t));
	if (counters->memory == NULL) {
		free(counters);
		return NULL;
	}
	uintptr_t start = ((uintptr_t)counters->memory + SYS_CACHE_LINE - 1) & ~(uintptr_t)(SYS_CACHE_LINE - 1);
	counters->cells = (_Atomic uint64_t *)start;
	return counters;
}

void sys_counters_add_shared(sys_counters_t *counters, unsigned index, uint64_t n)
{
	atomic_fetch_add_explicit(&counters->cells[index], n, memory_order_relaxed);
}

void sys_counters_free(sys_counters_t *counters)
{
	if (counters != NULL) {
		free(counters->memory);
		free(counters);
	}
}

uint64_t sys_counters_sum(const sys_counters_t *counters, unsigned index)
{
	assert(index < counters->count);
	uint64_t sum = 0;
	unsigned count = atomic_load(&slot_highest) + 1;
	count = count < counters->slot_count ? count : counters->slot_count;
	for (unsigned slot = 0; slot < count; slot++) {
		sum += atomic_load_explicit(
				&counters->cells[slot * (size_t)counters->stride + index], memory_order_relaxed);
	}
	return sum;
}
