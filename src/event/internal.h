/* SPDX-License-Identifier: BSD-2-Clause */
/** The server's fields, for the parts of src/event that work on them. Within src/event only. */
#pragma once

#include "src/event/saves.h"

struct server {
	state_root_t root;
	server_params_t params;
	jobs_t jobs;
	saves_t saves;
	pthread_mutex_t reload_lock; /* one reload at a time; taken before the lock of the jobs */
	const zonedb_t *zones;       /* borrowed from the published state; replaced by a reload; under the lock of the jobs */
	int loaded_fd;               /* owned: eventfd */
};

/** The entry of a zone, or NULL: not configured. Under the lock of the jobs. */
entry_t *server_find_entry(const server_t *server, knot_name_t name);

/**
 * Take the zone out of the hands of the workers, to be given back with jobs_end(). Under the lock of the jobs, which is given up while
 * waiting. KNOT_ENOZONE: not configured. KNOT_ECTLBUSY: the server stops.
 */
KNOT_MUST_USE knot_err_t server_begin_work(server_t *server, knot_name_t name, entry_t **ret_entry);
