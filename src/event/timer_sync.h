/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Times of zones that outlive the process: when they are read from and written to the timer database
 * (src/timers/timer_db.h). Internal to src/event.
 *
 * Read before a zone is loaded for the first time, and written as `timer-db-sync` says: after each attempt to write a
 * zone file, some seconds after it, or when the server stops. Only zones whose load was tried are written.
 */
#pragma once

#include "src/conf/conf.h"
#include "src/timers/timer_db.h"

/** Open the database of a configuration. Logs what is wrong with it. NULL: out of memory. */
timer_db_t *timer_sync_open(const conf_database_t *conf);

/** The timers of a zone; all unset if there are none, or if they can't be read, which is logged. */
timer_values_t timer_sync_read(timer_db_t *db, knot_name_t zone);

/** Remove the timers of a zone, or (wire NULL) of all that `is_dropped`. Logs a failure. */
KNOT_MUST_USE knot_err_t timer_sync_drop(
		timer_db_t *db, knot_name_t zone, bool (*is_dropped)(knot_name_t zone, void *ctx), void *ctx);

/** Times of a zone to be written. */
typedef struct {
	knot_name_t zone;
	timer_values_t values;
	uint32_t mask; /* which of them are known, as timer_record_set() has it */
} timer_sync_t;

/**
 * Write those that `next` returns, until it returns false, in one transaction. of_zone: wire NULL, or the only zone,
 * for the log. Nothing is made if there is nothing to write. Failures are logged.
 */
knot_err_t timer_sync_write(
		timer_db_t *db, knot_name_t of_zone, bool (*next)(timer_sync_t *ret_times, void *ctx), void *ctx);
