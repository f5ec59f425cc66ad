/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What the processes of the crash test share: which versions were published, and what the store has promised of them.
 *
 * A publisher process makes versions and saves them until it is killed; what it is about to save stands here before the
 * call, and what the store has said is saved after it. A verifier process opens what is left and compares. Memory is
 * shared, so that it survives the process that dies.
 */
#pragma once

#include "tests/sim/image_zones.h"
#include "tests/sim/disk.h"
#include "src/store/store.h"

enum {
	SIM_SERIALS = 1 << 17, /* of a world; serials are used once, whatever zone */
	SIM_FAULT_MAX = 512,
	SIM_FORMAT = 7, /* the number that images are saved with */
};

/** What may be found of a zone after a crash. */
typedef struct {
	uint32_t saved;    /* serial of the version that the last save has promised; 0: no image */
	uint32_t pending;  /* serial being saved */
	uint8_t is_saving; /* a save or removal has begun and not come back */
	uint8_t is_removing;
} sim_promise_t;

typedef struct {
	/* Of the whole run. */
	uint64_t saves, removals, skipped, steps, verified, empty, bytes;
	uint64_t refused;          /* damaged images that were recognised */
	uint64_t errors;           /* saves and removals that failed */
	uint64_t hidden;           /* images that were lost and nothing said so */
	uint64_t set_aside;        /* environments that were recognised as damaged when opened */
	char fault[SIM_FAULT_MAX]; /* the first one */
	disk_control_t disk;

	/* Of this world. */
	uint64_t seed;
	char folder[256];
	uint64_t size_max; /* bytes: of the map */
	bool has_large;    /* the large zone takes part */
	uint32_t last_serial;
	sim_promise_t promises[SIM_ZONES];
	uint8_t zone_of[SIM_SERIALS];      /* zone + 1 that the serial was published for; 0: none */
	uint64_t digests[SIM_SERIALS];     /* of the version; 0: not known yet */
	uint64_t raw_digests[SIM_SERIALS]; /* of the stored bytes that were found to be the version */
} sim_world_t;

/** Notes the first fault; returns false. */
bool sim_fault(sim_world_t *world, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** How strict the verifier is. */
typedef enum {
	SIM_AS_PROMISED,    /* each image is the one of the last save, or of the one that was interrupted */
	SIM_OR_REFUSED,     /* or the store or zone/image.c says what is wrong with it */
	SIM_ANY_OR_REFUSED, /* as before, and older versions are right: pages of the past were put in */
} sim_strictness_t;

/**
 * Opens the environment, reads every image, compares, and sets the promises to what is there. In a process of its own.
 * Returns false after sim_fault().
 */
bool sim_verify(sim_world_t *world, sim_strictness_t strictness);

/** What a publisher does. */
typedef struct {
	uint64_t script;  /* all else follows from this */
	unsigned batches; /* calls of the store */
	bool rebuilds;    /* first saves a version of each zone that has no image or a damaged one, as a daemon would */
} sim_work_t;

/**
 * Opens the environment, continues with what is there, publishes and saves. The shim counts and logs from the opening
 * on. Returns false after sim_fault().
 */
bool sim_publish(sim_world_t *world, const sim_work_t *work);
