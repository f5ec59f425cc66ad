/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Traffic by zone and by type, counted only while a looker is active.
 *
 * A looker (a control connection that runs `top`) has a set of tables, one row per thread that has a slot of counters
 * (sys/counters.h). The tables of all lookers are published as one list; a worker loads the list once per batch, and
 * where it is NULL that is all that looking costs. A table is bounded: Space-Saving (Metwally, Agrawal, El Abbadi:
 * Efficient Computation of Frequent and Top-k Elements in Data Streams, 2005) within sets of 8 entries, so that a
 * count is a search of two or three cache lines. The reported count of an entry is a lower bound: its count without
 * what it took over from the entry that it replaced.
 *
 * To take the counts, a looker swaps in a fresh set of tables, waits until no worker uses the old one, and then reads
 * that. Zones are known by their address, which is good for one snapshot of the state: a row says of which. Threads:
 * workers count in their own row; lookers call from any thread, one mutex holds them apart.
 */
#pragma once

#include "src/state/state.h"
#include "src/sys/lock.h"

enum {
	LOOKS_MAX = 4, /* lookers at a time: each costs every packet a count */
	LOOK_WAYS = 8,
	LOOK_ZONE_SETS = 64, /* 512 zones per thread */
	LOOK_TYPE_SETS = 16, /* 128 types per thread: more than there are */
	LOOK_TOP = 20,       /* entries that a looker gets */
};

enum { LOOK_TYPE_KEY = 1 << 16 }; /* added to a type to make it a key */

/** What was counted. */
typedef struct {
	uint64_t key; /* address of a zone, or LOOK_TYPE_KEY + type; 0: the entry is free */
	uint64_t count;
	uint64_t taken_over; /* the part of `count` that may have been others' */
} look_entry_t;

/** One thread's. */
typedef struct {
	uint64_t state; /* number of the snapshot that the zones are of; 0: nothing was counted */
	look_entry_t zones[LOOK_ZONE_SETS][LOOK_WAYS];
	look_entry_t types[LOOK_TYPE_SETS][LOOK_WAYS];
} look_row_t;

/** The tables in use; never changes once published. */
typedef struct {
	unsigned slot_count;         /* rows of each */
	unsigned count;              /* lookers */
	look_row_t *rows[LOOKS_MAX]; /* of each looker: slot_count of them */
} look_list_t;

typedef struct look look_t;

/** All lookers of a net_t. */
typedef struct {
	look_list_t *list_rcu;                         /* NULL: there is no looker */
	look_list_t lists[2];                          /* the one that isn't published is free */
	sys_mutex_t lock;                              /* of changes of the lists and of what is below */
	look_t *looks[LOOKS_MAX] SYS_GUARDED_BY(lock); /* owned by the lookers */
	unsigned count SYS_GUARDED_BY(lock);
	unsigned slot_count; /* constant */
} looks_t;

/** Count `key` (not 0) in a table of `set_count` sets, a power of two. No allocation; one thread. */
void look_count(look_entry_t (*sets)[LOOK_WAYS], unsigned set_count, uint64_t key);

/**
 * The calling thread's rows of all lookers for a batch that is answered from snapshot `state`, made ready for it.
 * Returns how many there are: 0 for a thread without a slot, whose requests are not counted. Within the read section
 * that `list` was loaded in.
 */
unsigned look_rows(const look_list_t *list, uint64_t state, look_row_t *ret_rows[static LOOKS_MAX]);

/** One that was counted. */
typedef struct {
	uint64_t count;              /* requests, at least; since the last look_take() */
	uint16_t type;               /* of a type */
	uint8_t name[KNOT_NAME_MAX]; /* of a zone: its wire form */
} look_top_t;

/** The largest ones, largest first. */
typedef struct {
	unsigned zone_count, type_count;
	look_top_t zones[LOOK_TOP], types[LOOK_TOP];
} look_result_t;

/** slot_count: rows that tables get, as other sets of counters have. */
void looks_init(looks_t *looks, unsigned slot_count);

/** After all lookers have stopped. */
void looks_done(looks_t *looks);

/** Begin to look. KNOT_ENOMEM. KNOT_EBUSY: LOOKS_MAX look already. End with look_stop(). */
KNOT_MUST_USE knot_err_t look_start(looks_t *looks, look_t **ret_look) SYS_EXCLUDES(looks->lock);

/**
 * What was counted since look_start() or the last call; nothing of a thread that has answered from an older state than
 * `root` publishes now. Waits for readers, so not within a read section. KNOT_ENOMEM: what was counted is lost.
 */
KNOT_MUST_USE knot_err_t look_take(looks_t *looks, look_t *look, const state_root_t *root, look_result_t *ret_result)
		SYS_EXCLUDES(looks->lock);

/** End looking. Waits for readers. NULL is allowed. */
void look_stop(looks_t *looks, look_t *take_look) SYS_EXCLUDES(looks->lock);
