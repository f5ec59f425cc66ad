/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The timers of one zone, as values and as the record of Knot's timer database.
 *
 * A record is a list of {u8 id, u64 value}, big endian, and at its end {u8 0x8b, 28 bytes}: the address of the last
 * primary, as the machine's struct sockaddr_in6. What is read is written again, also ids of a later version and the
 * address, so that a change from one server to the other, and back, loses nothing. Pure; no state, any thread.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"

typedef enum {
#define TIMER(name, id, what) TIMER_##name,
#include "src/timers/timers.def"
#undef TIMER
	TIMER_COUNT
} timer_kind_t;

enum { TIMER_MASTER_LEN = 28 };

/** All zero: nothing is set. */
typedef struct {
	uint64_t at[TIMER_COUNT];              /* by timer_kind_t */
	uint8_t last_master[TIMER_MASTER_LEN]; /* address of the last primary: a struct sockaddr_in, sockaddr_in6 */
} timer_values_t;

enum {
	/* In a set of kinds (1 << timer_kind_t): last_master. */
	TIMER_LAST_MASTER_BIT = 1 << TIMER_COUNT,
	TIMER_FIELD_LEN = 9,
	TIMER_UNKNOWN_MAX = 32, /* fields of unknown ids; a record with more is damaged */
	TIMER_RECORD_MAX = (TIMER_COUNT + TIMER_UNKNOWN_MAX) * TIMER_FIELD_LEN + 1 + TIMER_MASTER_LEN, /* bytes */
};

/** A record as fields. All zero: an empty one. */
typedef struct {
	timer_values_t values;
	uint8_t unknown[TIMER_UNKNOWN_MAX * TIMER_FIELD_LEN]; /* as read */
	size_t unknown_len;
} timer_record_t;

/** Take over the values that `mask` names: 1 << timer_kind_t, TIMER_LAST_MASTER_BIT. */
void timer_record_set(timer_record_t *record, const timer_values_t *values, uint32_t mask);

/** Read a record. KNOT_EMALF: damaged; nothing of it is to be used. */
KNOT_MUST_USE knot_err_t timer_record_read(knot_bytes_t bytes, timer_record_t *ret_record);

/** Write a record, without values that are 0. Returns its length; 0: nothing is set, so no record is needed. */
size_t timer_record_write(const timer_record_t *record, uint8_t ret_bytes[static TIMER_RECORD_MAX]);

/** A serial as a value: bit 32 tells it from "unset". */
static inline uint64_t timer_of_serial(uint32_t serial)
{
	return UINT64_C(1) << 32 | serial;
}

/** The serial of a value. False: unset. */
static inline bool timer_is_serial(uint64_t value, uint32_t *ret_serial)
{
	*ret_serial = (uint32_t)value;
	return (value >> 32 & 1) != 0;
}
