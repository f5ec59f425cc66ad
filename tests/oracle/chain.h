/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * For the oracle: what a signer outside would add to a zone: DNSKEY, NSEC or NSEC3 records, and signatures, whose bytes
 * are made up. Read from a compiled zone without them.
 */
#pragma once

#include "src/zone/contents.h"

enum { CHAIN_NOW_S = 1700000000 }; /* seconds since 1970: within the validity of all signatures */

typedef enum {
	CHAIN_NONE, /* denial by what records of the world there are */
	CHAIN_NSEC,
	CHAIN_NSEC3,
	CHAIN_OPT_OUT,
	CHAIN_SALTED, /* NSEC3 with other parameters */
	CHAIN_COUNT,
} chain_kind_t;

/** A record. Its bytes are the chain's. */
typedef struct {
	knot_name_t owner;
	uint16_t type;
	knot_bytes_t rdata;
} chained_t;

typedef struct chain_memory chain_memory_t;

/** Records in an order that chain_cmp() gives. Zeroed is empty. */
typedef struct {
	chained_t *records; /* owned */
	size_t count, max;
	chain_memory_t *memory; /* owned */
} chain_t;

/** Ends the program unless it holds. */
void chain_check(bool holds, const char *what);

/** missing: the number of the record that is left out, modulo their count; 0: none is. */
chain_t chain_make(const zone_contents_t *plain, chain_kind_t kind, unsigned missing);

void chain_done(chain_t *chain);

int chain_cmp(const chained_t *a, const chained_t *b);

enum { CHAIN_BITMAP_MAX = 512, CHAIN_TYPES_MAX = 64 };

/** The bitmap of types (ascending). Returns its length. */
size_t chain_bitmap(const uint16_t *types, size_t count, uint8_t ret_bitmap[static CHAIN_BITMAP_MAX]);

/** RDATA of an RRSIG with made-up signature. Returns its length. */
size_t chain_rrsig(uint16_t type, unsigned label_count, knot_name_t signer, uint32_t signature, uint8_t *ret_rdata);

/** RDATA of an NSEC3 whose chain has no salt. Returns its length. */
size_t chain_nsec3(const zone_nsec3_params_t *params, bool is_opt_out, const uint8_t *next_hash, const uint16_t *types,
		size_t count, uint8_t *ret_rdata);
