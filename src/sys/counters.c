/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/counters.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

_Thread_local unsigned sys_thread_slot_own;

/* One flag per slot; slot 0 is the shared one and never given out. Taken rarely (thread start), so a scan is fine. */
static atomic_bool slot_taken[SYS_SLOTS_MAX];
static unsigned slot_count = 1 + SYS_SLOTS_DEFAULT;

void sys_slots_reserve(unsigned thread_count)
{
	slot_count = thread_count < SYS_SLOTS_MAX ? 1 + thread_count : SYS_SLOTS_MAX;
}

unsigned sys_slot_take(void)
{
	for (unsigned i = 1; i < slot_count && sys_thread_slot_own == 0; i++) {
		bool expected = false;
		if (atomic_compare_exchange_strong(&slot_taken[i], &expected, true)) {
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
	counters->slot_count = slot_count;
	counters->stride = (count + LINE_CELLS - 1) / LINE_CELLS * LINE_CELLS;
	size_t size = (size_t)counters->slot_count * counters->stride * sizeof(uint64_t);
	counters->cells = aligned_alloc(SYS_CACHE_LINE, size);
	if (counters->cells == NULL) {
		free(counters);
		return NULL;
	}
	memset((void *)counters->cells, 0, size);
	return counters;
}

void sys_counters_free(sys_counters_t *counters)
{
	if (counters != NULL) {
		free((void *)counters->cells);
		free(counters);
	}
}

uint64_t sys_counters_sum(const sys_counters_t *counters, unsigned index)
{
	assert(index < counters->count);
	uint64_t sum = 0;
	for (unsigned slot = 0; slot < counters->slot_count; slot++) {
		sum += atomic_load_explicit(&counters->cells[slot * (size_t)counters->stride + index],
					    memory_order_relaxed);
	}
	return sum;
}
