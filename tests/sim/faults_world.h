/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A server with signed zones in this process, and what can go wrong between its signer and its proof.
 *
 * The linker puts functions of this file in front of those of the server that are named below (`--wrap`), so that the
 * code under test is the server's own.
 */
#pragma once

#include "src/event/server.h"
#include "src/keys/zone_keys.h"
#include "tests/sim/faults_kinds.h"

/** What a zone is for, beside its chain. */
typedef enum {
	SIM_PLAIN,  /* KSK and ZSK, or a CSK */
	SIM_ROLLS,  /* with a KSK and a ZSK more that don't sign the zone yet */
	SIM_TAGS,   /* somebody has another private key with the tag of the ZSK */
	SIM_STORES, /* with three keystores */
} sim_use_t;

enum { SIM_ROLE_KEYS = 4 };

typedef struct {
	const char *name;
	unsigned set; /* SIM_NSEC … */
	uint8_t algorithm;
	unsigned names;
	bool is_single;
	sim_use_t use;
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t origin;
	zone_keys_t keys;                               /* owned: opened */
	const dnssec_key_t *ksk, *zsk;                  /* of these */
	dnssec_key_t *other;                            /* owned: of nobody */
	char ids[SIM_ROLE_KEYS][DNSSEC_KEY_ID_MAX + 1]; /* KSK, ZSK, further KSK, further ZSK; "": there is none */
	unsigned file_serial;
} sim_zone_t;

/** How a version comes to be. */
typedef enum { SIM_BY_EDIT, SIM_BY_SIGNER, SIM_BY_FILE, SIM_WAYS } sim_way_t;

/** What became of a version. */
typedef enum {
	SIM_PUBLISHED,
	SIM_BY_PROOF, /* refused by the proof */
	SIM_BY_RAIL,  /* … by a guard rail */
	SIM_BY_KEYS,  /* … as its keys can't be used, or fail */
	SIM_MISSED,   /* nothing was injected */
	SIM_OUTCOMES
} sim_outcome_t;

/** What is wrong with private keys. */
typedef enum {
	SIM_KEYS_FINE,
	SIM_KEYS_SWAPPED, /* the store gives another one */
	SIM_KEYS_SESSION, /* one signature of three is made with another one */
	SIM_KEYS_GARBLED, /* one of three has a bit flipped */
	SIM_KEYS_DYING,   /* the store fails after some signatures */
} sim_keys_t;

typedef struct {
	sim_random_t random;
	server_t *server;
	sim_zone_t *zones;
	size_t zone_count;
	uint64_t now_s;
	char dir[64];
	bool is_blind; /* neither proof nor rail look: for the test of the simulation itself */
} sim_world_t;

/** Make and start it. Ends the program if that fails. */
void sim_world_begin(sim_world_t *world, uint64_t seed);
void sim_world_end(sim_world_t *world);

/** Zones that a row may use. */
sim_zone_t *sim_world_draw(sim_world_t *world, unsigned set, sim_use_t use);

/** Make a version with a fault, or both NULL and SIM_KEYS_FINE: with none. ret_serial_moved: another serial is served.
 */
sim_outcome_t sim_world_commit(sim_world_t *world, sim_zone_t *zone, sim_way_t way, bool (*spoil)(sim_spoil_t *spoil),
		sim_keys_t keys, bool *ret_serial_moved);

/** Prove what is served in the background, as is done of large zones, and wait for what follows. */
void sim_world_sweep(sim_world_t *world, sim_zone_t *zone);

/** The whole served version is proven. KNOT_OK, or what is wrong. */
knot_err_t sim_world_check(sim_world_t *world, const sim_zone_t *zone);

/** The same of its ZONEMD record. */
knot_err_t sim_world_check_digest(sim_world_t *world, const sim_zone_t *zone);

/** Write what is served to `<folder>/<zone>zone`. */
void sim_world_dump(sim_world_t *world, const sim_zone_t *zone, const char *folder);

/** The error of the last commit. */
knot_err_t sim_world_error(void);

/* ---- The key database, while the server has it ---- */

/** Read the keys of a zone. Free with keys_set_done(). */
keys_set_t sim_world_keys(sim_world_t *world, const sim_zone_t *zone);

/** Put other keys in place of those. */
void sim_world_put_keys(sim_world_t *world, const sim_zone_t *zone, const keys_set_t *before, const keys_set_t *set);
