/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/event.h"

#include <assert.h>

static const event_row_t rows[EVENT_COUNT] = {
#define EVENT(id, name, rules, run, plan) [EVENT_##id] = { name, rules },
#define EVENT_ABSENT(id, name, rules)     [EVENT_##id] = { name, (rules) | EVENT_IS_ABSENT },
#include "src/event/event.def"
#undef EVENT
#undef EVENT_ABSENT
};

const event_row_t *event_row(event_t event)
{
	assert(event < EVENT_COUNT);
	return &rows[event];
}
