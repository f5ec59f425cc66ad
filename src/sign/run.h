/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: one run of the signer: RRsets come in, are signed piece by piece in threads, and what became of them goes
 * to its destination: to a sink everything that stays and is new, to a transaction only what differs.
 */
#pragma once

#include "src/sign/name.h"
#include "src/sign/pool.h"

/** A name of the NSEC3 chain. */
typedef struct {
	uint8_t hash[ZONE_NSEC3_HASH_LEN];
	uint32_t bitmap; /* of the caller, see sign_run_hash() */
} sign_link_t;

/** What waits, and is then given to the threads at once. */
typedef struct {
	sign_mem_t mem;      /* of the sets and names */
	sign_set_t *sets;    /* owned */
	sign_hash_t *hashes; /* owned: names to be hashed */
	size_t set_count, set_max, hash_count, hash_max;
} sign_piece_t;

typedef struct {
	zone_txn_t *txn;         /* borrowed: the records as they are now */
	const sign_sink_t *sink; /* borrowed: gets the signed zone; NULL: the transaction is changed */
	const sign_plan_t *plan; /* borrowed */
	knot_name_t origin;      /* lower case, of the transaction */
	uint32_t chain_ttl;      /* seconds, of NSEC, NSEC3 and NSEC3PARAM */
	sign_pool_t *pool;       /* owned */
	sign_piece_t pieces[2];  /* one in work, one that is filled */
	unsigned filling;        /* number of the latter */
	bool is_working;         /* the other one is */
	sign_link_t *links;      /* owned: those that were hashed, in no order */
	size_t link_count, link_max;
	bool is_changed;
} sign_run_t;

/** KNOT_ENOSOA: the zone has none. KNOT_ENAMELEN: names of NSEC3 would be too long. KNOT_ENOMEM. On failure, too,
 * sign_run_done() is due. */
KNOT_MUST_USE knot_err_t sign_run_init(
		sign_run_t *run, zone_txn_t *txn, const sign_sink_t *sink, const sign_plan_t *plan);
void sign_run_done(sign_run_t *run);

/** What becomes of the NSEC records that a name has. */
typedef enum {
	SIGN_NSEC_KEPT, /* they are as others */
	SIGN_NSEC_GOES,
	SIGN_NSEC_WAITS, /* sign_run_give() is to follow */
	SIGN_NSEC_APART, /* they, and their signatures, are added by themselves */
} sign_nsec_t;

/** Add the RRsets of a name. *ret_set: with SIGN_NSEC_WAITS the number of the set that waits. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t sign_run_add(
		sign_run_t *run, const sign_name_t *name, sign_place_t place, sign_nsec_t nsec, size_t *ret_set);

/** Add one RRset of a name. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t sign_run_add_set(
		sign_run_t *run, const sign_name_t *name, uint16_t type, bool is_signed, size_t *ret_set);

/** The set that waits is to be this one record, with the TTL of the chain. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t sign_run_give(sign_run_t *run, size_t set, knot_bytes_t rdata);

/** All records of a set go. */
void sign_run_drop(sign_run_t *run, size_t set);

/** Add a name to be hashed. name: copied. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t sign_run_hash(sign_run_t *run, knot_name_t name, uint32_t bitmap);

/** If enough waits, pass it on to be hashed and signed while more comes. Sets before have been delivered then, and the
 * numbers of sets are no more. Errors as sign_run_flush(). */
KNOT_MUST_USE knot_err_t sign_run_pass(sign_run_t *run);

/** Do everything that waits: hash, sign, and deliver the sets. KNOT_ENOMEM, errors of libdnssec. */
KNOT_MUST_USE knot_err_t sign_run_flush(sign_run_t *run);

/** What was done, after sign_run_flush(). */
sign_result_t sign_run_result(const sign_run_t *run);
