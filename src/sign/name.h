/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: the records of one name as they are now, and what follows for signing: which types are signed, what stands
 * in the bitmap, whether the name is in the chain. One owner.
 */
#pragma once

#include "src/sign/set.h"
#include "src/zone/txn.h"

enum { SIGN_TYPE_DELEG = 61440 }; /* draft-ietf-deleg: at a cut, signed as DS */

/** Where a name is: RFC 4035 2.2, 2.3. */
typedef enum {
	SIGN_PLACE_AUTH,
	SIGN_PLACE_CUT,   /* delegation point */
	SIGN_PLACE_BELOW, /* below one */
} sign_place_t;

/** Records of the NSEC3 chain have names of their own and come apart from the others at a name. */
typedef enum { SIGN_PART_REST, SIGN_PART_NSEC3 } sign_part_t;

/** Zero: none. Keep it for the next name: its memory is used again. */
typedef struct {
	knot_name_t owner; /* lower case */
	sign_part_t part;
	sign_rr_t *rrs; /* owned; types ascending, signatures last */
	size_t count, max;
	sign_mem_t mem;
	uint8_t wire[KNOT_NAME_MAX];
} sign_name_t;

/** Begin with a name in lower case. */
void sign_name_begin(sign_name_t *name, knot_name_t owner, sign_part_t part);

/** Take a copy of a record if it is of this part. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t sign_name_add(sign_name_t *name, const zone_rr_t *rr);

/** The records as they are now in the transaction, or were in a version (NULL: none). KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t sign_name_load(sign_name_t *name, const zone_txn_t *txn, knot_name_t owner, sign_part_t part);
KNOT_MUST_USE knot_err_t sign_name_load_base(
		sign_name_t *name, const zone_contents_t *base, knot_name_t owner, sign_part_t part);

void sign_name_done(sign_name_t *name);

/** Believe all signatures. */
void sign_name_trust(sign_name_t *name);

/** What signatures are by what the name had before: if the version's are trusted, those of the same records are good;
 * those of others are stale. */
void sign_name_compare(sign_name_t *name, const sign_name_t *before, bool is_trusted);

bool sign_name_has(const sign_name_t *name, uint16_t type);

/** Whether the name has records but those that signing makes everywhere: NSEC, NSEC3 and signatures. */
bool sign_name_has_data(const sign_name_t *name);

/** Whether records of a type at such a place are signed. */
bool sign_place_signs(sign_place_t place, uint16_t type);

/** Whether the name is in a chain: of NSEC (RFC 4035 2.3), or of NSEC3 for data of its own (RFC 5155 7.1). */
bool sign_name_is_member(const sign_name_t *name, sign_place_t place, const sign_plan_t *plan);

/** The bitmap of the NSEC or NSEC3 of the name, by the plan; returns its length. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t sign_name_bitmap(const sign_name_t *name, sign_place_t place, sign_chain_t chain,
		uint8_t ret_bitmap[static SIGN_BITMAP_MAX], size_t *ret_len);
