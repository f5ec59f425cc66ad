/* SPDX-License-Identifier: BSD-2-Clause */
/** The records of a version while it is spoilt: listed, drawn, removed, and signed again with true keys. */
#pragma once

#include "libdnssec/key.h"
#include "src/zone/records.h"
#include "src/zone/txn.h"
#include "tests/sim/tcp_random.h"

/** A record. */
typedef struct {
	knot_name_t owner;
	uint16_t type;
	uint32_t ttl;
	uint8_t *rdata; /* owned, with the name behind it */
	size_t len;
} sim_rr_t;

/** Zero: none. */
typedef struct {
	sim_rr_t *rrs; /* owned */
	size_t count, max;
} sim_rrs_t;

/** All records of a version. Ends the program without memory, as all functions here. */
sim_rrs_t sim_rrs_of(const zone_contents_t *zone);
void sim_rrs_free(sim_rrs_t *rrs);

/** What is spoilt, and with what. */
typedef struct {
	sim_random_t *random;
	zone_txn_t *txn;
	sim_rrs_t rrs; /* of the version before */
	knot_name_t origin;
	const dnssec_key_t *ksk, *zsk; /* with private keys; the same of a CSK */
	const dnssec_key_t *other;     /* another zone's */
	uint64_t now_s;
	bool is_failed; /* an edit that must succeed failed */
} sim_spoil_t;

/** Draw one that is wanted; NULL: there is none. */
const sim_rr_t *sim_rrs_draw(sim_spoil_t *spoil, bool (*is_wanted)(const sim_spoil_t *spoil, const sim_rr_t *rr));

/** The type that a signature covers; 0: it isn't one. */
uint16_t sim_rr_covers(const sim_rr_t *rr);

/** True if the version has such a set. */
bool sim_has_set(const sim_spoil_t *spoil, knot_name_t owner, uint16_t type);

void sim_put(sim_spoil_t *spoil, const sim_rr_t *rr);
void sim_remove(sim_spoil_t *spoil, const sim_rr_t *rr);

/** Remove a set, its signatures, or both. */
void sim_remove_set(sim_spoil_t *spoil, knot_name_t owner, uint16_t type);
void sim_remove_signatures(sim_spoil_t *spoil, knot_name_t owner, uint16_t type);

/** Put a copy of the record with other RDATA in its place. */
void sim_replace(sim_spoil_t *spoil, const sim_rr_t *rr, const uint8_t *rdata, size_t len);

/** What is wrong with a signature that is otherwise right. Zero: nothing. */
typedef struct {
	int ttl, labels;         /* are added to what is right */
	int64_t shift_s;         /* of inception and expiration */
	int tag;                 /* is added */
	bool has_other_signer;   /* the name of the zone above */
	const dnssec_key_t *key; /* NULL: the right one */
	const dnssec_key_t *by;  /* whose private key is used; NULL: of the same */
	bool keeps_others;       /* the signatures that are there stay */
} sim_signing_t;

/** Sign a set as it is in the transaction now. */
void sim_sign(sim_spoil_t *spoil, knot_name_t owner, uint16_t type, const sim_signing_t *how);
