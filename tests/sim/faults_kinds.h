/* SPDX-License-Identifier: BSD-2-Clause */
/** Faults in a version between the signer and the proof: a row each. */
#pragma once

#include "tests/sim/faults_records.h"

/** Which zones a fault is for. */
enum {
	SIM_NSEC = 1,
	SIM_NSEC3 = 2,
	SIM_OPT_OUT = 4, /* NSEC3 with opt-out */
	SIM_ZONEMD = 8,
	SIM_CHAINS = SIM_NSEC | SIM_NSEC3 | SIM_OPT_OUT,
};

typedef struct {
	const char *name;
	unsigned zones;                    /* SIM_…: of one of these */
	bool (*spoil)(sim_spoil_t *spoil); /* false: the version has nothing of the kind */
	bool is_harmless;                  /* the version stays valid, and has to be published */
} sim_kind_t;

extern const sim_kind_t sim_kinds[];
extern const size_t sim_kind_count;
