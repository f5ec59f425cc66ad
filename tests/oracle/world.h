/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * For the oracle: worlds. A world is a set of records that may be in a zone, with owners and targets from few names, so
 * that cuts, glue, wildcards, empty non-terminals, aliases and denial come and go under each other. A state says which
 * of them are in the zone, and by which chain the zone is signed; the records of a chain follow from the others.
 *
 * All follows from a number, the seed. Failures end the program.
 */
#pragma once

#include "src/zone/txn.h"
#include "tests/oracle/chain.h"

enum {
	WORLD_NAMES_MAX = 14,
	WORLD_RECORDS_MAX = 120,
	WORLD_LINE_MAX = 300,
	WORLD_TTLS = 3,
};

/** Random numbers of one stream. */
uint64_t world_number(uint64_t *random);
unsigned world_draw(uint64_t *random, unsigned below);

typedef struct {
	char line[WORLD_LINE_MAX]; /* of a zone file */
	uint8_t owner_wire[KNOT_NAME_MAX];
	knot_name_t owner;
	uint16_t type;
	unsigned group; /* number of the first record of its RRset */
	uint8_t rdata[WORLD_LINE_MAX];
	size_t rdata_len;
} world_record_t;

typedef struct {
	zone_build_params_t params;
	char names[WORLD_NAMES_MAX][KNOT_NAME_MAX]; /* relative to the apex */
	unsigned name_count;
	world_record_t records[WORLD_RECORDS_MAX];
	size_t count;
	bool is_signed;      /* chains are made; else NSEC and NSEC3 are records like others */
	unsigned change_max; /* of records in a commit */
} world_t;

typedef struct {
	bool is_in[WORLD_RECORDS_MAX];
	uint8_t ttls[WORLD_RECORDS_MAX]; /* by group */
	uint8_t chain;                   /* chain_kind_t */
	uint16_t missing;                /* number of the record of the chain that isn't there; 0: all are */
	uint64_t seed;                   /* of what is drawn to look at the commit */
} world_state_t;

extern const knot_name_t world_origin;

/** The lines' types that a world draws from: one of each type, so that a test finds out which are missing. */
extern const char *const world_simple_rdata[];
extern const size_t world_simple_rdata_count;

/** Make the world of a seed. */
void world_make(world_t *w, uint64_t seed);

/** The state that a zone begins with. */
void world_begin(const world_t *w, uint64_t *random, world_state_t *ret_state);

/** The state after a random change. */
void world_change(const world_t *w, uint64_t *random, const world_state_t *before, world_state_t *ret_after);

/** The records of the state's chain, to be freed with chain_done(). serial: the signature of the SOA follows from it.
 */
chain_t world_chain(const world_t *w, const world_state_t *state, uint32_t serial);

/** Build the zone of a state from its records alone. Errors are those of zone_txn_build(). */
knot_err_t world_build(const world_t *w, const world_state_t *state, const chain_t *chain, uint32_t serial,
		const zone_build_params_t *params, zone_contents_t **ret_zone);

/** A commit: what was there, and what is to be. */
typedef struct {
	const world_state_t *before, *after;
	const chain_t *chain_before, *chain_after;
} world_step_t;

/** Make a version after `base`, which is that of step->before, by what changes. As above. */
knot_err_t world_commit(const world_t *w, const zone_contents_t *base, const world_step_t *step, uint32_t serial,
		const zone_build_params_t *params, zone_contents_t **ret_zone);

/** True if a record, or the TTL of its RRset, differs. */
bool world_differs(const world_t *w, size_t record, const world_state_t *a, const world_state_t *b);

/** The RDATA of the SOA. */
knot_bytes_t world_soa(uint32_t serial, uint8_t ret_rdata[static 32]);
