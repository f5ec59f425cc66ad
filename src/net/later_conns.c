/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/later_conns.h"

#include <assert.h>
#include <stdlib.h>

enum { ROOM_MIN = 64 };

/* The slot that a connection would have if it were alone. Connections are numbers that the stack chooses. */
static size_t later_conns_home(const later_conns_t *conns, uint64_t conn)
{
	return (size_t)((conn * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (conns->room - 1);
}

/* Its slot, or the free one where it would go. */
static size_t later_conns_seek(const later_conns_t *conns, uint64_t conn)
{
	size_t at = later_conns_home(conns, conn);
	while (conns->slots[at].conn != 0 && conns->slots[at].conn != conn) {
		at = (at + 1) & (conns->room - 1);
	}
	return at;
}

void later_conns_done(later_conns_t *conns)
{
	free(conns->slots);
	*conns = (later_conns_t){ 0 };
}

later_conn_t *later_conns_find(const later_conns_t *conns, uint64_t conn)
{
	if (conns->used == 0) {
		return NULL;
	}
	later_conn_t *slot = &conns->slots[later_conns_seek(conns, conn)];
	return slot->conn != 0 ? slot : NULL;
}

/* Twice the room, or the first. */
static knot_err_t later_conns_grow(later_conns_t *conns)
{
	later_conns_t larger = { .room = conns->room > 0 ? 2 * conns->room : ROOM_MIN, .used = conns->used };
	larger.slots = calloc(larger.room, sizeof(*larger.slots));
	if (larger.slots == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i < conns->room; i++) {
		if (conns->slots[i].conn != 0) {
			larger.slots[later_conns_seek(&larger, conns->slots[i].conn)] = conns->slots[i];
		}
	}
	free(conns->slots);
	*conns = larger;
	return KNOT_OK;
}

knot_err_t later_conns_add(later_conns_t *conns, uint64_t conn)
{
	assert(conn != 0);
	later_conn_t *known = later_conns_find(conns, conn);
	if (known != NULL) {
		known->count++;
		return KNOT_OK;
	}
	if (2 * conns->used >= conns->room) {
		knot_err_t err = later_conns_grow(conns);
		if (err != KNOT_OK) {
			return err;
		}
	}
	conns->slots[later_conns_seek(conns, conn)] = (later_conn_t){ .conn = conn, .count = 1 };
	conns->used++;
	return KNOT_OK;
}

/* Free a slot, and move those up that would no longer be found behind it. */
static void later_conns_remove(later_conns_t *conns, size_t hole)
{
	size_t mask = conns->room - 1;
	for (size_t at = (hole + 1) & mask; conns->slots[at].conn != 0; at = (at + 1) & mask) {
		size_t home = later_conns_home(conns, conns->slots[at].conn);
		if (((at - home) & mask) >= ((at - hole) & mask)) {
			conns->slots[hole] = conns->slots[at];
			hole = at;
		}
	}
	conns->slots[hole] = (later_conn_t){ 0 };
	conns->used--;
}

later_conn_t later_conns_sub(later_conns_t *conns, uint64_t conn)
{
	later_conn_t *known = later_conns_find(conns, conn);
	if (known == NULL) {
		return (later_conn_t){ 0 };
	}
	assert(known->count > 0);
	known->count--;
	later_conn_t left = *known;
	if (left.count == 0) {
		later_conns_remove(conns, (size_t)(known - conns->slots));
	}
	return left;
}
