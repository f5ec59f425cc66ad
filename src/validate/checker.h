/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: what one thread needs to check names of a version: verifiers, memory for a set as it is signed, and what it
 * has found. Checkers share nothing but the version, its keys and the options, which nobody changes meanwhile.
 */
#pragma once

#include "libdnssec/sign.h"
#include "src/sign/name.h"
#include "src/validate/keys.h"
#include "src/validate/validate.h"

/** A signature that expires. Zero: none. */
typedef struct {
	uint64_t expires_s;
	knot_name_t owner; /* in the version */
	uint16_t type;
} validate_expiration_t;

/** Faults that a checker goes on behind. Zero: the first one ends it. */
typedef struct {
	struct {
		validate_fault_t fault;
		uint64_t order;
	} * list; /* owned */
	size_t count, room, max;
	uint64_t left_out[VALIDATE_KINDS]; /* not listed */
	uint64_t order;                    /* of what is looked at; ascending for each checker */
} validate_list_t;

typedef struct {
	const zone_contents_t *zone;       /* borrowed */
	const validate_options_t *options; /* borrowed */
	const validate_keys_t *keys;       /* borrowed */
	struct {
		dnssec_verifier_t *verifier; /* owned; NULL: not needed yet */
		uint64_t count;              /* signatures that it has verified */
	} * hands;                           /* owned: one for each key */
	uint8_t *data;                       /* owned: a set as it is signed, RFC 4034 3.1.8.1 */
	size_t data_len, data_max;
	bool has_data;          /* that of the set that is looked at */
	uint8_t *scratch, *sig; /* owned: records: VALIDATE_NSEC3_SCRATCH bytes; signatures: KNOT_RDATA_MAX bytes */
	uint16_t *types;        /* owned */
	size_t type_max;
	uint64_t rrsig_count, verified_count;
	bool verifies_together; /* several signatures at once: what is wrong may be told of later, without a place */
	bool is_unsure;         /* one of several is wrong */
	validate_expiration_t first; /* to expire */
	validate_fault_t fault;
	validate_list_t all;
	/* Of the NSEC3 chain, names.c: whether the last parent that was looked for is in it. */
	knot_name_t parent;
	bool has_parent;
} validate_checker_t;

/** KNOT_ENOMEM; validate_checker_done() is due, too. */
KNOT_MUST_USE knot_err_t validate_checker_init(validate_checker_t *checker, const zone_contents_t *zone,
		const validate_options_t *options, const validate_keys_t *keys);
void validate_checker_done(validate_checker_t *checker);

/** Verify what waits for others to be verified together; what is wrong: checker->is_unsure. KNOT_ENOMEM, KNOT_ECRYPTO.
 */
KNOT_MUST_USE knot_err_t validate_checker_settle(validate_checker_t *checker);

/** The place of an error in validate_kinds; VALIDATE_KINDS: it has none. */
unsigned validate_kind(knot_err_t err);

/** Note a fault. Returns it, or KNOT_OK if the checker is to go on; KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t validate_checker_fault(
		validate_checker_t *checker, knot_err_t err, knot_name_t owner, uint16_t type);

/**
 * Check the signatures of a node's RRsets, and that none is there that mustn't be. before: what the node was in the
 * version `base` and at the same place; signatures of sets that haven't changed since aren't verified. NULL: it wasn't.
 * Errors as validate_zone().
 */
KNOT_MUST_USE knot_err_t validate_signatures(validate_checker_t *checker, const zone_node_t *node, sign_place_t place,
		const zone_contents_t *base, const zone_node_t *before);

/** The bitmap that the NSEC or NSEC3 of a name is to have: RRSIG by what is there, as Knot does. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t validate_bitmap(validate_checker_t *checker, const zone_node_t *node, sign_place_t place,
		sign_chain_t chain, uint8_t ret_bitmap[static SIGN_BITMAP_MAX], size_t *ret_len);

/** Where a name of the tree `auth` is. */
static inline sign_place_t validate_place(const zone_node_t *node)
{
	return node->flags & ZONE_NODE_CUT ? SIGN_PLACE_CUT : SIGN_PLACE_AUTH;
}

/** Whether a node has records but those that signing makes everywhere. */
bool validate_has_data(const zone_contents_t *zone, const zone_node_t *node);
