/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Zones whose changes are functions of their serials, what was promised of them, and the processes that store and
 * compare: for journal_sim.
 */
#pragma once

#include "src/journal/journal.h"
#include "tests/sim/disk.h"
#include "tests/sim/tcp_random.h"

enum { SIM_ZONES = 12, SIM_DEPTH = 6, SIM_THREADS = 3, SIM_TRANSACTION = 40000 };

/** What a zone's journal must have. Version n of a zone is the record n. */
typedef struct {
	uint32_t last;                        /* serial of the last version; 0: nothing was stored yet */
	uint32_t file;                        /* serial of the zone file: the changes after it must be there */
	bool has_whole;                       /* the journal has a whole zone, so the file doesn't matter */
	bool is_empty;                        /* dropped, and nothing stored since */
	uint32_t images[JOURNAL_BORDERS_MAX]; /* versions stored elsewhere, 0: none: changes must lead on from them */
} journal_state_t;

typedef struct {
	journal_state_t is;
	journal_state_t perhaps; /* a call has begun, or has failed: one of the two */
	journal_state_t refused; /* an earlier call has failed, and so have those since: or this one */
	bool has_perhaps, has_refused;
} journal_promise_t;

/** Shared by all processes. */
typedef struct {
	disk_control_t disk;
	char folder[300];
	uint64_t size_max;
	journal_promise_t promises[SIM_ZONES];
	_Atomic uint64_t appends, merges, background, borders, flushes, wholes, drops, refused, verified, damaged,
			set_aside;
	char fault[300];
} journal_world_t;

/** What to do. */
typedef struct {
	uint64_t script; /* seed */
	unsigned steps;
	bool in_threads;
	bool may_fail;     /* the disk or the map is full: calls may fail */
	bool must_recover; /* in the end, when all but one zone have been dropped, a change must be stored */
	bool goes_on;      /* after a call that failed, as a server does that serves the version before; in the end
			      the disk works, and a change of each zone must be stored */
	bool stops;        /* or what was refused must not be there when it has been closed */
} journal_work_t;

/** Note a fault, unless there is one; returns false. */
bool journal_fault(journal_world_t *world, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Run in a process of their own. work: store what the script says. False: a fault. */
bool journal_work(journal_world_t *world, const journal_work_t *work);

/** Compare all with what was promised; is_damaged: anything may be missing, but nothing wrong. What is found becomes
 * the promise. */
bool journal_verify(journal_world_t *world, bool is_damaged);
