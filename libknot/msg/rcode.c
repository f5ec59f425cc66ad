/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/msg/rcode.h"

#include <assert.h>

const char *knot_rcode_slot_name(unsigned slot)
{
	static const char *const names[KNOT_RCODE_SLOTS] = {
#define RCODE_TEXT(name, number, text) [number] = text,
		KNOT_RCODE_ROWS(RCODE_TEXT)
#undef RCODE_TEXT
				[KNOT_RCODE_SLOT_BADSIG] = "BADSIG",
		[KNOT_RCODE_SLOT_OTHER] = "other",
	};
	assert(slot < KNOT_RCODE_SLOTS);
	return names[slot];
}
