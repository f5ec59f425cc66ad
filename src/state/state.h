/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * All that answers depend on, as one immutable snapshot behind one published pointer.
 *
 * A worker loads the pointer once per batch within an RCU read section and sees a configuration, the zones, the answer
 * environment and the modules that belong together. A reload builds the next snapshot, publishes it, waits for the
 * readers and frees the old one. Zone contents are published in the zones themselves (zone/zonedb.h): loading a zone
 * makes no new state. One writer at a time (event/server.h holds the lock); readers: any thread registered for RCU.
 */
#pragma once

#include "src/answer/answer.h"
#include "src/conf/conf.h"
#include "src/modules/module.h"
#include "src/state/notices.h"
#include "src/sys/rcu.h"
#include "src/zone/zonedb.h"

/** The modules of one zone. */
typedef struct {
	const zone_t *zone;
	module_chain_t *chain; /* owned */
} state_zone_modules_t;

typedef struct state {
	uint64_t number;         /* of this snapshot: 1, 2, …; unique in the process */
	conf_t *conf;            /* owned */
	zonedb_t *zones;         /* owned: the set; zones that stay are shared with the next state */
	answer_env_t env;        /* its bytes are borrowed from conf */
	notices_t *notices;      /* borrowed: where NOTIFYs go that are accepted; set before it is published */
	module_chain_t *modules; /* owned: of template `default`, for every query; NULL: none */
	bool borrows_modules;    /* the snapshot before owns them until this one is published */
	state_zone_modules_t *zone_modules; /* owned: of zones that have modules of their own, by address of the zone */
	size_t zone_modules_count;
} state_t;

/** The process has one; owned by the server. */
typedef struct {
	state_t *state_rcu;
} state_root_t;

/** The current snapshot, valid until the end of the section. Never NULL once the server exists. */
static inline const state_t *state_load(const state_root_t *root, rcu_guard_t guard)
{
	return RCU_LOAD(guard, root->state_rcu);
}

/** The settings of a zone by its name, which is configured or a member of a catalog. False: there is none. Within a
 * read section of the snapshot, which *ret_zone mustn't outlive. */
bool state_settings(const state_t *state, knot_name_t name, conf_zone_t *ret_zone);

/** The chain of a zone's own modules, or NULL. Cost: O(log n) in the zones that have modules; none if no zone has any.
 */
const module_chain_t *state_zone_modules(const state_t *state, const zone_t *zone);

/** True if a request may pass modules. */
static inline bool state_has_modules(const state_t *state)
{
	return state->modules != NULL || state->zone_modules_count > 0;
}

/** The chains that a request to `zone` (NULL: to none) passes. Cost: as state_zone_modules(). */
static inline module_chains_t state_modules_of(const state_t *state, const zone_t *zone)
{
	return (module_chains_t){ .server = state->modules,
		.zone = zone != NULL ? state_zone_modules(state, zone) : NULL,
		.zones = state->zones };
}

/**
 * Make a snapshot with its modules, global ones and those of zones. The snapshot owns take_conf and take_zones on
 * success, otherwise the caller keeps them. KNOT_ENOMEM, or what module_chain_new() gives.
 */
KNOT_MUST_USE knot_err_t state_new(conf_t *take_conf, zonedb_t *take_zones, state_t **ret_state);

/**
 * Make a snapshot like `old`, with the same configuration, but another set of zones, which it owns on success. Modules
 * go on with what they have counted unless zones have some of their own. KNOT_ENOMEM, or what module_chain_new() gives.
 */
KNOT_MUST_USE knot_err_t state_new_zones(const state_t *old, zonedb_t *take_zones, state_t **ret_state);

/** Publish `next`, wait until no reader has the old one, and give the old one back (NULL at first). Blocks. */
state_t *state_publish(state_root_t *root, state_t *next);

/** Free a snapshot that no reader has, with its configuration, modules and set of zones, not the zones. NULL is
 * allowed. */
void state_free(state_t *state);

/** Reserve a row of the counters for each thread that the configuration may start. Call it before making its state. */
void state_expect_threads(const conf_t *conf);

/** The answer environment of a configuration: a view, valid as long as `conf`. Pure. */
answer_env_t state_env(const conf_t *conf);
