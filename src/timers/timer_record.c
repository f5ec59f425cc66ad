/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/timers/timer_record.h"

#include <assert.h>

enum { ID_LAST_MASTER = 0x8b };

static const uint8_t ids[TIMER_COUNT] = {
#define TIMER(name, id, what) [TIMER_##name] = (id),
#include "src/timers/timers.def"
#undef TIMER
};

/* The kind of an id; TIMER_COUNT: unknown. */
static timer_kind_t timer_kind_of(uint8_t id)
{
	timer_kind_t kind = 0;
	while (kind < TIMER_COUNT && ids[kind] != id) {
		kind++;
	}
	return kind;
}

static bool timer_keep_unknown(timer_record_t *record, const uint8_t *field)
{
	if (record->unknown_len == sizeof(record->unknown)) {
		return false;
	}
	memcpy(record->unknown + record->unknown_len, field, TIMER_FIELD_LEN);
	record->unknown_len += TIMER_FIELD_LEN;
	return true;
}

knot_err_t timer_record_read(knot_bytes_t bytes, timer_record_t *ret_record)
{
	timer_record_t record = { 0 };
	knot_reader_t in = knot_reader_of(bytes);
	while (!in.failed && in.pos < in.len) {
		const uint8_t *field = in.data + in.pos;
		uint8_t id = knot_read_u8(&in);
		if (id == ID_LAST_MASTER) {
			const uint8_t *master = knot_read(&in, TIMER_MASTER_LEN);
			if (master != NULL) {
				memcpy(record.values.last_master, master, TIMER_MASTER_LEN);
			}
			continue;
		}
		uint64_t value = knot_read_u64(&in);
		timer_kind_t kind = timer_kind_of(id);
		if (kind < TIMER_COUNT) {
			record.values.at[kind] = value;
		} else if (!in.failed && !timer_keep_unknown(&record, field)) {
			return KNOT_EMALF;
		}
	}
	if (in.failed) {
		return KNOT_EMALF;
	}
	*ret_record = record;
	return KNOT_OK;
}

static bool timer_is_unset(const uint8_t master[static TIMER_MASTER_LEN])
{
	static const uint8_t none[TIMER_MASTER_LEN];
	return memcmp(master, none, sizeof(none)) == 0;
}

void timer_record_set(timer_record_t *record, const timer_values_t *values, uint32_t mask)
{
	assert(mask >> TIMER_COUNT <= 1);
	for (timer_kind_t kind = 0; kind < TIMER_COUNT; kind++) {
		if ((mask >> kind & 1) != 0) {
			record->values.at[kind] = values->at[kind];
		}
	}
	if ((mask & TIMER_LAST_MASTER_BIT) != 0) {
		memcpy(record->values.last_master, values->last_master, TIMER_MASTER_LEN);
	}
}

size_t timer_record_write(const timer_record_t *record, uint8_t ret_bytes[static TIMER_RECORD_MAX])
{
	assert(record->unknown_len <= sizeof(record->unknown));
	knot_writer_t out = knot_writer_of((knot_mut_bytes_t){ ret_bytes, TIMER_RECORD_MAX });
	for (timer_kind_t kind = 0; kind < TIMER_COUNT; kind++) {
		if (record->values.at[kind] != 0) {
			knot_write_u8(&out, ids[kind]);
			knot_write_u64(&out, record->values.at[kind]);
		}
	}
	knot_write(&out, record->unknown, record->unknown_len);
	if (!timer_is_unset(record->values.last_master)) {
		/* Last, as versions of Knot DNS that don't know it take it for fields. */
		knot_write_u8(&out, ID_LAST_MASTER);
		knot_write(&out, record->values.last_master, TIMER_MASTER_LEN);
	}
	assert(!out.failed);
	return out.len;
}
