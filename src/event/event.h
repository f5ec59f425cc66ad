/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Events of zones: what may happen to a zone, a row each (event.def). When something happens is in agenda.h, who does
 * it in jobs.h. Constant, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum {
#define EVENT(id, name, rules, run, plan) EVENT_##id,
#define EVENT_ABSENT(id, name, rules)     EVENT_##id,
#include "src/event/event.def"
#undef EVENT
#undef EVENT_ABSENT
	EVENT_COUNT,
	/** The zone is worked on by a thread that is no worker, such as that of a command. */
	EVENT_NONE = 31,
} event_t;

_Static_assert((int)EVENT_COUNT < (int)EVENT_NONE, "a set of events has 32 bits, a ticket has five for the event");

/** A set of events: bit 1 << event. */
typedef uint32_t event_set_t;

/** Rules of a row. */
enum {
	EVENT_FREEZES = 1,        /* waits while the zone is frozen, unless an operator requested it */
	EVENT_WAITS_FOR_EDIT = 2, /* waits while a transaction on the zone is open */
	EVENT_PERSISTS = 4,       /* its time outlives the process */
	EVENT_IS_HIDDEN = 8,      /* internal: zone-status doesn't show it */
	EVENT_IS_ABSENT = 16,     /* there is no code for it */
};

/** How an event was requested. */
enum {
	EVENT_BY_OPERATOR =
			1,  /* by a command that names it: it runs even when the zone is frozen, and isn't cancelled */
	EVENT_BY_FORCE = 2, /* the command has the flag force */
	/* Of EVENT_DNSSEC: all signatures are made again, or a rollover is begun. */
	EVENT_DROPS_SIGNATURES = 4,
	EVENT_ROLLS_KSK = 8,
	EVENT_ROLLS_ZSK = 16,
	EVENT_MENDS = 32, /* what is served isn't valid: nothing that caches have of it holds another version back */
};

typedef struct {
	const char *name;
	unsigned rules;
} event_row_t;

/** The row of an event. */
const event_row_t *event_row(event_t event);
