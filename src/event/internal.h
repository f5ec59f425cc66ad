/* SPDX-License-Identifier: BSD-2-Clause */
/** The server's fields, for the parts of src/event that work on them. Within src/event only. */
#pragma once

#include <stdatomic.h>

#include "src/event/conf_edit.h"
#include "src/event/saves.h"

/* Zones that are looked at between taking the lock of the jobs and giving it back: workers wait no longer than that. */
enum { SERVER_CHUNK = 256 };

/** The open transaction of the configuration; under the reload lock. See conf_edit.c. */
typedef struct {
	conf_txn_t *txn;         /* owned; NULL: none is open */
	conf_store_t *base;      /* owned: what it began with, if that isn't what is published */
	unsigned owner;          /* who began it */
	uint64_t version;        /* of the database as it was published */
	atomic_bool is_open;     /* that there is a transaction, for those without the lock */
} conf_open_t;

struct server {
	state_root_t root;
	server_params_t params;
	jobs_t jobs;
	saves_t saves;
	pthread_mutex_t reload_lock; /* one reload at a time; taken before the lock of the jobs */
	const zonedb_t *zones;       /* borrowed from the published state; replaced by a reload; under the lock of the jobs */
	int loaded_fd;               /* owned: eventfd */
	conf_open_t edit;
};

/** The entry of a zone, or NULL: not configured. Under the lock of the jobs. */
entry_t *server_find_entry(const server_t *server, knot_name_t name);

/**
 * Take the zone out of the hands of the workers, to be given back with jobs_end(). Under the lock of the jobs, which is given up while
 * waiting. KNOT_ENOZONE: not configured. KNOT_ECTLBUSY: the server stops.
 */
KNOT_MUST_USE knot_err_t server_begin_work(server_t *server, knot_name_t name, entry_t **ret_entry);

/** Everything that a configuration needs before it can be published. */
typedef struct {
	state_t *state;
	size_t fresh;    /* zones that are new */
	bool same_zones; /* the set of zones is the old one */
} server_build_t;

/** Build the state of a configuration, with the zones of `old` that stay. On failure nothing is left and conf is still the caller's. */
KNOT_MUST_USE knot_err_t server_build(conf_t *conf, const zonedb_t *old, server_build_t *ret_build);

/** How a configuration comes to be followed. */
typedef struct {
	const conf_txn_t *txn;         /* what differs from the published one; NULL: not known, all zones and their files are looked at */
	knot_err_t (*keep)(void *ctx); /* make it last, when nothing else can fail; NULL: nothing to be done. On failure nothing changes */
	void *ctx;
} server_change_t;

/** Follow a configuration, which is the server's afterwards; freed on failure, when nothing changed. Under the reload lock. */
KNOT_MUST_USE knot_err_t server_apply(server_t *server, conf_t *take_conf, const server_change_t *change);
