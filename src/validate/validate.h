/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Proof that a version of a zone is validly signed: its signatures by its own keys, and its chain of NSEC or NSEC3.
 *
 * Pure reads of versions, which must stay meanwhile; a version's DNSKEY set is all that is known of keys, and time is a
 * value that the caller gives. Any thread; others help with whole zones. Cost: that of verifying the signatures that
 * are looked at, and of hashing the names of a zone with NSEC3; memory for 28 bytes for each name of an NSEC3 chain.
 * What is checked and what isn't: doc/adr/0062-validation.md. RFC 4034, 4035 2, 5155 7.1, 6840 5.11.
 */
#pragma once

#include "libknot/base/err.h"
#include "src/zone/contents.h"

/** Zero, but for the time: everything, by the calling thread alone. */
typedef struct {
	uint64_t now_s;      /* seconds since 1970 */
	uint64_t margin_s;   /* a signature that expires within it is a fault, too, unless there are others */
	bool ignores_times;  /* signatures needn't be within their validity period */
	bool only_times;     /* signatures' times and nothing else: no chain, no cryptography */
	bool all_algorithms; /* RFC 4035 2.2: a set has a valid signature of each algorithm in the DNSKEY set, not just
				one signature */
	/**
	 * Verify one of so many signatures; 0 and 1: all. Those of the apex, the first `sample_after` of each key and
	 * those of keys with a tag in common are always verified, and of the others all fields but the signature itself
	 * are looked at. Which ones it is follows from owner, type and sample_seed: after `sample` checks with seeds
	 * that follow each other, all have been verified.
	 */
	unsigned sample;
	unsigned sample_after; /* by each thread; 0: 8 */
	uint64_t sample_seed;
	unsigned thread_count; /* 0 and 1: the calling one */
	/* More iterations of NSEC3 are a fault of the parameters: each name costs as many hashes. 0: no limit. */
	unsigned iterations_max;
} validate_options_t;

/** RFC 5155 10.3: the most that any key size allows. */
enum { VALIDATE_ITERATIONS_MAX = 2500 };

/** A fault and its place. Zero: none. */
typedef struct {
	knot_err_t err;
	knot_name_t owner; /* in the version; len 0: there is no place */
	uint16_t type;     /* KNOT_TYPE_ANY: a missing NSEC or NSEC3 */
} validate_fault_t;

enum { VALIDATE_KINDS = 8 }; /* of faults that have a place */

/** Faults in the order in which validate_zone() would come upon them: the chain, then signatures. Zero: none. */
typedef struct {
	validate_fault_t *faults; /* owned */
	size_t count;
	uint64_t left_out[VALIDATE_KINDS]; /* there are so many more, by validate_kinds */
} validate_faults_t;

/** Errors that say what is wrong with a zone at one place, and nothing of others. */
extern const knot_err_t validate_kinds[VALIDATE_KINDS];

/** What was found. */
typedef struct {
	bool has_hint;                  /* the fault has a place, as others than those of keys and parameters have: */
	uint8_t owner[KNOT_NAME_MAX];   /* wire form, lower case */
	uint16_t type;                  /* KNOT_TYPE_ANY: a missing NSEC or NSEC3 */
	bool is_whole;                  /* all of the zone was looked at */
	uint64_t rrsig_count;           /* signatures looked at */
	uint64_t verified_count;        /* of these verified by their key */
	uint64_t earliest_expiration_s; /* of the signatures looked at; 0: there is none */
} validate_result_t;

/**
 * Prove the whole zone. The chain is looked at first, then signatures; the first fault ends it.
 *
 * KNOT_ENOSIGNKEYS: there is no DNSKEY. KNOT_EPUBLICKEY: one of them isn't a key. KNOT_ENSEC3PARAM: not exactly one
 * that can be used, or too many iterations. KNOT_ENONSEC, KNOT_ENSECBITMAP, KNOT_ENSECCHAIN, KNOT_EOPTOUT,
 * KNOT_EEXTRANSEC: the chain. KNOT_ENOSIG: a set has no valid signature, or has one and mustn't. KNOT_ESIGNATURE: it
 * has a valid one and one that is wrong, or too many. KNOT_EKEYTAGS: too many keys had to be tried for a signature.
 * KNOT_EEXPIRES: all is well, but something expires within margin_s. KNOT_ENOMEM, KNOT_ECRYPTO: nothing can be said.
 * *ret_result is written in any case.
 */
KNOT_MUST_USE knot_err_t validate_zone(
		const zone_contents_t *zone, const validate_options_t *options, validate_result_t *ret_result);

/**
 * Prove a version, given that `base` (NULL: none) was proven by the same options: what differs, and the chain beside
 * it. The whole zone, if there is no base, or the DNSKEY set, the NSEC3PARAM or the TTL of the chain differ. Signatures
 * that were there before, of the same records, are looked at, but not verified again. Cost: that of the difference, if
 * the versions come from one another. Errors as above.
 */
KNOT_MUST_USE knot_err_t validate_change(const zone_contents_t *base, const zone_contents_t *zone,
		const validate_options_t *options, validate_result_t *ret_result);

/**
 * Go on behind faults, and list them, the first fault_max of them. Errors as validate_zone() only where nothing more
 * can be said of a zone: of keys and parameters, KNOT_ENOMEM, KNOT_ECRYPTO; else KNOT_OK. *ret_faults is written in
 * any case; its names are those of the version. Memory: fault_max faults for each thread.
 */
KNOT_MUST_USE knot_err_t validate_zone_list(const zone_contents_t *zone, const validate_options_t *options,
		size_t fault_max, validate_faults_t *ret_faults);
void validate_faults_done(validate_faults_t *faults);
