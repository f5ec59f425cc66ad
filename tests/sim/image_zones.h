/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The zones of the crash test. A version is a pure function of a seed, a zone and a serial, so that a process that
 * knows these three knows every record, without having seen the version.
 *
 * A zone has slots; slot n has some records or none, chosen by (seed, zone, n, turn), where the turn goes up with the
 * serial every few versions. Two versions near each other differ in few slots: what a transaction changes.
 */
#pragma once

#include "src/zone/txn.h"

enum { SIM_ZONES = 11 };

typedef enum {
	SIM_SMALL,   /* five records, built from scratch each time */
	SIM_GROWING, /* changed by transactions */
	SIM_REBUILT, /* many records, built from scratch each time */
	SIM_PASSING, /* is removed now and then */
	SIM_SIGNED,  /* transactions; has a chain of NSEC3 and signatures */
	SIM_LARGE,   /* more than the store writes in one transaction; only in worlds that ask for it */
} sim_zone_kind_t;

typedef struct {
	const char *name; /* presentation form */
	sim_zone_kind_t kind;
	uint32_t slots;
	uint32_t period; /* versions between two changes of a slot */
} sim_zone_row_t;

extern const sim_zone_row_t sim_zone_rows[SIM_ZONES];

typedef struct {
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
} sim_name_t;

/** The zone's apex; ret must stay where it is. */
knot_name_t sim_zone_name(unsigned zone, sim_name_t *ret);

/** The version, built from text. Never NULL: ends the process when it can't be built. */
zone_contents_t *sim_zone_build(uint64_t seed, unsigned zone, uint32_t serial);

/** The version `serial` as a transaction on `base`, which is version `from`. Never NULL. */
zone_contents_t *sim_zone_step(
		uint64_t seed, unsigned zone, const zone_contents_t *base, uint32_t from, uint32_t serial);

/** Of everything that readers can see of a version. */
uint64_t sim_zone_digest(const zone_contents_t *contents);
