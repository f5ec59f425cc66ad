/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: one RRset with its signatures, and the work on it: which signatures are kept, go and are made.
 *
 * A signer belongs to one thread. Sets are independent of each other, so threads share nothing but the plan.
 */
#pragma once

#include "libdnssec/sign.h"
#include "src/sign/mem.h"
#include "src/sign/plan.h"
#include "src/sign/rdata.h"

/** What is known of a signature before it is looked at. */
typedef enum {
	SIGN_BELIEF_NONE,
	SIGN_BELIEF_GOOD,  /* of these records, made or verified by us */
	SIGN_BELIEF_STALE, /* of other records than those that are there now */
} sign_belief_t;

typedef struct {
	knot_bytes_t rdata;
	uint32_t ttl;
	uint16_t type;
	uint8_t belief; /* sign_belief_t, of signatures */
	bool is_new;    /* isn't there yet */
	bool goes;      /* is there and won't be any more */
} sign_rr_t;

/** An RRset, or signatures of a type that isn't there (rr_count 0). Memory: of who made it, `made`: the signer's. */
typedef struct {
	knot_name_t owner; /* lower case */
	uint16_t type;
	bool is_signed; /* is to have signatures; false: those it has go */
	sign_rr_t *rrs; /* in canonical order, those that go included */
	sign_rr_t *sigs;
	sign_rr_t *made; /* by sign_set() */
	size_t rr_count, sig_count, made_count;
} sign_set_t;

typedef struct sign_signer sign_signer_t;

/** plan, origin (lower case): borrowed. NULL: out of memory. */
sign_signer_t *sign_signer_new(const sign_plan_t *plan, knot_name_t origin);
void sign_signer_free(sign_signer_t *take_signer);

/** Decide about the signatures of a set and make those that it needs. Errors of libdnssec, KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t sign_set(sign_signer_t *signer, sign_set_t *set);

/** Begin with another piece of work. The signatures made for the one before stay until the next call. */
void sign_signer_next(sign_signer_t *signer);

/** How many signatures it has made, and when the first of those made and kept expires (0: none), until now. */
uint64_t sign_signer_count(const sign_signer_t *signer);
uint64_t sign_signer_expiration_s(const sign_signer_t *signer);

/** True for the types whose sets of the apex a key-signing key signs: DNSKEY, CDS, CDNSKEY. */
bool sign_is_key_type(uint16_t type);
