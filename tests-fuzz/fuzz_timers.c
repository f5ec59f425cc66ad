/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of the timer database: what is read is written in a form that is read as the same. */
#include "src/timers/timer_record.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static timer_record_t record, again;
	if (timer_record_read((knot_bytes_t){ data, len }, &record) != KNOT_OK) {
		return 0;
	}
	uint8_t bytes[TIMER_RECORD_MAX];
	size_t written = timer_record_write(&record, bytes);
	if (written > len || timer_record_read((knot_bytes_t){ bytes, written }, &again) != KNOT_OK ||
			memcmp(&record, &again, sizeof(record)) != 0) {
		abort();
	}
	return 0;
}
