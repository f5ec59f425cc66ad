/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Names of zones, one behind the other: those that a walk through a database has chosen, to be removed when it is over.
 * Internal to src/event. No locks.
 */
#pragma once

#include "libknot/name/name.h"

/** Zero but for the first two at first; freed with name_list_free(). */
typedef struct {
	bool (*wanted)(knot_name_t name, void *ctx);
	void *ctx;
	uint8_t *wires; /* owned */
	size_t len, max;
	size_t pos;   /* of the next one to take */
	bool is_full; /* there is no memory for more */
} name_list_t;

/** Add the name if it is wanted; ctx: the list. A visit of a walk: false ends it, as there is no memory. */
bool name_list_visit(knot_name_t name, void *ctx);

/** Take up to `max` names, valid until the list is freed. 0: there are no more. */
size_t name_list_take(name_list_t *list, knot_name_t *ret_names, size_t max);

void name_list_free(name_list_t *list);
