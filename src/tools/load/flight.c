/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/flight.h"

#include <assert.h>
#include <stdlib.h>

uint64_t flight_window(double rate, uint64_t timeout_ns, uint32_t ports_max, uint32_t *ret_ports)
{
	double wanted = rate * (double)timeout_ns / 1e9 * 1.25;
	uint64_t window = FLIGHT_WINDOW_MIN;
	while (window < FLIGHT_WINDOW_MAX && (double)window < wanted) {
		window *= 2;
	}
	/* ports × 65536 is to be a multiple of the window: else numbers would jump where ids begin again. */
	while (window > 65536 && window / 65536 > ports_max) {
		window /= 2;
	}
	uint32_t multiple = window > 65536 ? (uint32_t)(window / 65536) : 1;
	*ret_ports = ports_max / multiple * multiple;
	return window;
}

bool flight_init(flight_t *flight, uint64_t window, uint32_t ports, bool shared)
{
	assert((window & (window - 1)) == 0 && ports > 0 && (uint64_t)ports * 65536 % window == 0);
	*flight = (flight_t){
		.slots = calloc(window, sizeof(flight_slot_t)), .mask = window - 1, .ports = ports, .shared = shared
	};
	return flight->slots != NULL;
}

void flight_done(flight_t *flight)
{
	free(flight->slots);
	*flight = (flight_t){ 0 };
}

flight_verdict_t flight_receive(
		flight_t *flight, flight_slot_t *slot, const flight_reply_t *reply, flight_slot_t *ret_query)
{
	uint64_t word = __atomic_load_n(&slot->number, __ATOMIC_ACQUIRE);
	const uint64_t number = word >> 2;
	const flight_slot_t query = { number, slot->due_ns, slot->sent_ns, slot->query, slot->question };
	if ((word & FLIGHT_STATE) == 0 || flight_port(flight, number) != reply->port ||
			flight_id(flight, number) != reply->id ||
			(reply->has_question && query.question != reply->question)) {
		return FLIGHT_UNEXPECTED;
	}
	*ret_query = query;
	if ((word & FLIGHT_STATE) != FLIGHT_WAITING) {
		return (word & FLIGHT_STATE) == FLIGHT_ANSWERED ? FLIGHT_DUPLICATE : FLIGHT_LATE;
	}
	const uint64_t after = number << 2 | FLIGHT_ANSWERED;
	if (!flight->shared) {
		__atomic_store_n(&slot->number, after, __ATOMIC_RELAXED);
	} else if (!__atomic_compare_exchange_n(
				   &slot->number, &word, after, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		/* Another thread's, at the same moment: it was answered twice, or the slot was just taken again. */
		return word >> 2 == number ? FLIGHT_DUPLICATE : FLIGHT_LATE;
	}
	const bool is_late = reply->now_ns > query.sent_ns && reply->now_ns - query.sent_ns > reply->timeout_ns;
	return is_late ? FLIGHT_LATE : FLIGHT_MATCHED;
}

bool flight_give_up(flight_t *flight, uint64_t number)
{
	flight_slot_t *slot = &flight->slots[number & flight->mask];
	uint64_t expected = number << 2 | FLIGHT_WAITING;
	return __atomic_compare_exchange_n(&slot->number, &expected, number << 2 | FLIGHT_GIVEN_UP, false,
			__ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

uint64_t flight_waiting(const flight_t *flight, uint64_t since_ns)
{
	uint64_t waiting = 0;
	for (uint64_t i = 0; i <= flight->mask; i++) {
		const flight_slot_t *slot = &flight->slots[i];
		bool waits = (__atomic_load_n(&slot->number, __ATOMIC_RELAXED) & FLIGHT_STATE) == FLIGHT_WAITING;
		waiting += waits && slot->sent_ns >= since_ns;
	}
	return waiting;
}
