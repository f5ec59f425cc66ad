/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * An UPDATE message that is being put together (RFC 2136): its zone, and records in the order in which they were asked
 * for. Grows on the heap; pure, one thread.
 */
#pragma once

#include "libknot/msg/writer.h"

/** Sections of an UPDATE, by the names that RFC 2136 2 gives them. */
enum { DRAFT_PREREQUISITE = KNOT_SECTION_ANSWER, DRAFT_UPDATE = KNOT_SECTION_AUTHORITY };

typedef struct {
	size_t off; /* of the owner in `bytes`; RDATA follows */
	uint32_t ttl;
	uint16_t type, class, rdata_len;
	uint8_t owner_len, section;
} draft_rr_t;

/** Starts as zeros. */
typedef struct {
	uint8_t zone_wire[KNOT_NAME_MAX];
	knot_name_t zone;  /* in zone_wire; len 0: none was given */
	draft_rr_t *items; /* owned */
	size_t count, room;
	uint8_t *bytes; /* owned */
	size_t len, bytes_room;
} draft_t;

/** The message is of this zone. */
void draft_set_zone(draft_t *draft, knot_name_t zone);

/** One more record. section: DRAFT_*. KNOT_ENOMEM: there is none. */
KNOT_MUST_USE knot_err_t draft_add(draft_t *draft, knot_section_t section, knot_name_t owner, uint16_t type,
		uint16_t class, uint32_t ttl, knot_bytes_t rdata);

/** Forget all records; the zone stays. */
void draft_clear(draft_t *draft);

void draft_free(draft_t *draft);

/**
 * Write the message behind its header into `w`, which has begun; `zone_class` is that of the zone. `tail` bytes stay
 * free for what follows. KNOT_ESPACE: the records from that of the index `*ret_fit` on don't fit.
 */
KNOT_MUST_USE knot_err_t draft_write(
		const draft_t *draft, uint16_t zone_class, size_t tail, knot_msg_writer_t *w, size_t *ret_fit);
