/* SPDX-License-Identifier: BSD-2-Clause */
/** What the files of derive.h share. Internal to derive*.c. */
#pragma once

#include "src/update/derive.h"

/** Put a mark. target: len 0: none. False: out of memory. */
bool derive_mark(derive_marks_t *marks, knot_name_t owner, knot_name_t target);

/** True if records of a source with this type are copied by `include`. */
bool derive_takes(uint16_t type, bool is_apex);

/** The owner in `zone` of the PTR record for an address record. False: it has none there. */
bool derive_owner_of(
		knot_name_t zone, const zone_rr_t *rr, uint8_t ret_wire[static KNOT_NAME_MAX], knot_name_t *ret_owner);

/** The longest source that a name is in, or NULL. */
const derive_source_t *derive_source_of(const derive_t *derive, knot_name_t name);

/** Records of one name, or as many of them as matter. All zero: none. */
typedef struct {
	struct derive_record {
		uint16_t type;
		uint32_t ttl;
		size_t at, len; /* of the RDATA in data[] */
	} * records;            /* owned */
	size_t count, max;
	uint8_t *data; /* owned */
	size_t data_len, data_max;
} derive_records_t;

void derive_records_done(derive_records_t *records);

/** Forget the records, keep the memory. */
void derive_records_clear(derive_records_t *records);

/** KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t derive_records_put(derive_records_t *records, uint16_t type, uint32_t ttl, knot_bytes_t rdata);

/** By type and RDATA; those that are there twice once, with the lower TTL. */
void derive_records_sort(derive_records_t *records);

/** True if sorted records are the same, TTLs too. */
bool derive_records_eq(const derive_records_t *a, const derive_records_t *b);

/** Make records `now` of a name those of `wanted`, both sorted. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t derive_records_replace(
		zone_txn_t *txn, knot_name_t owner, const derive_records_t *now, const derive_records_t *wanted);

/** What goes on. */
typedef struct {
	const derive_t *derive;
	const zone_contents_t *base;
	zone_txn_t *txn;
	uint8_t *scratch[2]; /* owned, KNOT_RDATA_MAX bytes: of a walk, and of a search within it */
	derive_marks_t marks;
	derive_records_t now, wanted;
	bool has_cname, is_below_dname; /* of the name that was looked at last */
	knot_err_t err;
} derive_run_t;
