/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/internal.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"

timer_db_t *timer_sync_open(const conf_database_t *conf)
{
	timer_db_t *db = timer_db_new(conf->timer_db, conf->timer_db_max_size, 0);
	sys_lmdb_reason_t reason;
	if (db == NULL || conf->timer_db_sync_s == CONF_TIMERS_NEVER) {
		return db;
	}
	knot_err_t err = timer_db_open(db, &reason);
	if (err != KNOT_OK && err != KNOT_ENOENT) {
		log_server(LOG_ERR, "failed to load persistent timers (%s), '%s', %s", knot_strerror(err),
				conf->timer_db, reason.text);
	} else if (err == KNOT_OK && reason.text[0] != '\0') {
		log_server(LOG_WARNING, "persistent timers, '%s' (%s)", conf->timer_db, reason.text);
	}
	return db;
}

timer_values_t timer_sync_read(timer_db_t *db, knot_name_t zone)
{
	timer_values_t values = { .at = { 0 } };
	knot_err_t err = timer_db_read(db, zone, &values);
	if (err != KNOT_OK && err != KNOT_ENOENT) {
		log_zone(LOG_ERR, zone, "failed to load persistent timers (%s)", knot_strerror(err));
	}
	return values;
}

knot_err_t timer_sync_drop(timer_db_t *db, knot_name_t zone, bool (*is_dropped)(knot_name_t zone, void *ctx), void *ctx)
{
	size_t count;
	timer_write_t *write;
	timer_values_t known;
	sys_lmdb_reason_t reason = { .text = "" };
	knot_err_t err = KNOT_OK;
	if (zone.wire == NULL) {
		err = timer_db_drop_if(db, is_dropped, ctx, &count, &reason);
	} else if (timer_db_read(db, zone, &known) != KNOT_ENOENT) {
		err = timer_db_begin(db, &write, &reason);
		if (err == KNOT_OK && (err = timer_write_drop(write, zone, NULL)) == KNOT_OK) {
			err = timer_write_commit(write, &reason);
		} else if (err != KNOT_OK && reason.text[0] == '\0') {
			timer_write_discard(write, &reason);
		}
	}
	if (err != KNOT_OK && zone.wire != NULL) {
		log_zone(LOG_ERR, zone, "failed to purge timers (%s), %s", knot_strerror(err), reason.text);
	} else if (err != KNOT_OK) {
		log_server(LOG_ERR, "control, failed to purge orphan from timer database (%s), %s", knot_strerror(err),
				reason.text);
	}
	return err;
}

/* ---- Writing ---- */

static knot_err_t timer_sync_put_all(
		timer_write_t *write, timer_sync_t *times, bool (*next)(timer_sync_t *ret_times, void *ctx), void *ctx)
{
	knot_err_t err;
	do {
		err = timer_write_put(write, times->zone, &times->values, times->mask);
	} while (err == KNOT_OK && next(times, ctx));
	return err;
}

static void timer_sync_log(knot_name_t of_zone, knot_err_t err, uint64_t ns, const char *reason)
{
	if (err == KNOT_OK && of_zone.wire == NULL) {
		log_server(LOG_INFO, "updated persistent timer DB in %.2f seconds", (double)ns / 1e9);
	} else if (err != KNOT_OK && of_zone.wire == NULL) {
		log_server(LOG_ERR, "failed to update persistent timer DB (%s), %s", knot_strerror(err), reason);
	} else if (err != KNOT_OK) {
		log_zone(LOG_ERR, of_zone, "failed to update persistent timer DB (%s), %s", knot_strerror(err), reason);
	}
}

knot_err_t timer_sync_write(
		timer_db_t *db, knot_name_t of_zone, bool (*next)(timer_sync_t *ret_times, void *ctx), void *ctx)
{
	timer_sync_t times;
	timer_write_t *write;
	sys_lmdb_reason_t reason = { .text = "" };
	uint64_t start_ns = sys_clock_ns();
	if (!next(&times, ctx)) {
		return KNOT_OK;
	}
	knot_err_t err = timer_db_begin(db, &write, &reason);
	if (err == KNOT_OK) {
		err = timer_sync_put_all(write, &times, next, ctx);
		if (err == KNOT_OK) {
			err = timer_write_commit(write, &reason);
		} else {
			timer_write_discard(write, &reason);
		}
	}
	timer_sync_log(of_zone, err, sys_clock_ns() - start_ns, reason.text);
	return err;
}

/* ---- What a server writes ---- */

/** The times of zones from one on. */
typedef struct {
	server_t *server;
	size_t at, end; /* indices of zones */
	uint8_t wire[KNOT_NAME_MAX];
	const entry_t *only; /* NULL: all */
} timer_sync_walk_t;

/* The serial that was signed last, if it is kept here (conf `dnssec-metadata-db`). */
static bool timer_sync_signed(server_t *server, entry_t *entry, uint64_t *ret_value)
{
	conf_zone_t zone;
	RCU_READ_SECTION(guard);
	const zone_contents_t *contents = zone_contents(entry_zone(entry));
	bool is_kept = contents != NULL && state_settings(state_load(&server->root, guard), entry_name(entry), &zone) &&
		       zone.dnssec_signing && zone.metadata_db == CONF_METADATA_TIMER;
	*ret_value = is_kept ? timer_of_serial(contents->serial) : 0;
	return is_kept;
}

static bool timer_sync_fill(server_t *server, entry_t *entry, timer_sync_t *ret_times) SYS_REQUIRES(server->jobs.lock)
{
	uint64_t flush_s = entry->tried ? server_last_flush(server, entry) : 0;
	*ret_times = (timer_sync_t){ .zone = entry_name(entry), .mask = flush_s != 0 ? 1u << TIMER_LAST_FLUSH : 0 };
	const rest_t *rest = entry->tried ? rests_find(&server->rests, entry_name(entry)) : NULL;
	if (rest != NULL) {
		timers_state_put(&rest->timers, &ret_times->values);
		ret_times->mask |= 1u << TIMER_NEXT_REFRESH | 1u << TIMER_NEXT_EXPIRE | 1u << TIMER_MASTER_PIN_HIT |
				   1u << TIMER_LAST_REFRESH_OK | 1u << TIMER_LAST_NOTIFIED | TIMER_LAST_MASTER_BIT;
		ret_times->values.at[TIMER_LAST_NOTIFIED] = rest->last_notified;
	}
	if (entry->is_signed) {
		agenda_item_t push;
		bool is_planned = jobs_find(&server->jobs, entry, EVENT_DS_PUSH, &push);
		ret_times->mask |= 1u << TIMER_NEXT_DS_PUSH;
		ret_times->values.at[TIMER_NEXT_DS_PUSH] = is_planned ? server_wall_of(push.due_ms) : 0;
		bool has_serial = timer_sync_signed(server, entry, &ret_times->values.at[TIMER_LAST_SIGNED]);
		ret_times->mask |= has_serial ? 1u << TIMER_LAST_SIGNED : 0;
	}
	ret_times->values.at[TIMER_LAST_FLUSH] = flush_s;
	return ret_times->mask != 0;
}

/* The set of zones stays: under the reload lock, or within the only zone's job. */
static bool timer_sync_next(timer_sync_t *ret_times, void *ctx)
{
	timer_sync_walk_t *walk = ctx;
	bool is_found = false;
	sys_mutex_lock(&walk->server->jobs.lock);
	while (!is_found && walk->at < walk->end) {
		zone_t *zone = zonedb_zones(walk->server->zones)[walk->at++];
		is_found = timer_sync_fill(walk->server, entry_of(zone), ret_times);
	}
	sys_mutex_unlock(&walk->server->jobs.lock);
	return is_found;
}

static bool timer_sync_next_only(timer_sync_t *ret_times, void *ctx)
{
	timer_sync_walk_t *walk = ctx;
	if (walk->at++ > 0) {
		return false;
	}
	sys_mutex_lock(&walk->server->jobs.lock);
	bool is_found = timer_sync_fill(walk->server, (entry_t *)walk->only, ret_times);
	sys_mutex_unlock(&walk->server->jobs.lock);
	return is_found;
}

knot_err_t server_read_times(server_t *server, entry_t *entry, timer_record_t *ret_record)
{
	timer_sync_t now;
	*ret_record = (timer_record_t){ 0 };
	knot_err_t err = timer_db_read_record(server->timers, entry_name(entry), ret_record);
	if (err != KNOT_OK && err != KNOT_ENOENT) {
		return err;
	}
	sys_mutex_lock(&server->jobs.lock);
	(void)timer_sync_fill(server, entry, &now);
	sys_mutex_unlock(&server->jobs.lock);
	timer_record_set(ret_record, &now.values, now.mask);
	return KNOT_OK;
}

static int64_t timer_sync_seconds(const server_t *server)
{
	RCU_READ_SECTION(guard);
	return state_load(&server->root, guard)->conf->database.timer_db_sync_s;
}

knot_err_t server_run_timers(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	(void)how, (void)outcome;
	timer_sync_walk_t walk = { .server = server, .only = entry };
	/* Logged. The zone is fine: its times are written with the next attempt, or when the server stops. */
	(void)timer_sync_write(server->timers, entry_name(entry), timer_sync_next_only, &walk);
	return KNOT_OK;
}

void server_plan_timers(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	(void)outcome;
	bool has_new = ended == EVENT_FLUSH || ended == EVENT_REFRESH || ended == EVENT_EXPIRE || ended == EVENT_NOTIFY;
	int64_t sync_s = has_new ? timer_sync_seconds(server) : CONF_TIMERS_NEVER;
	if (sync_s >= 0) {
		(void)jobs_plan(&server->jobs, entry, EVENT_TIMERS, sys_clock_ms() + (uint64_t)sync_s * 1000, 0);
	}
}

void server_write_timers(server_t *server)
{
	if (timer_sync_seconds(server) == CONF_TIMERS_NEVER) {
		return;
	}
	sys_mutex_lock(&server->reload_lock);
	sys_mutex_lock(&server->jobs.lock);
	timer_sync_walk_t walk = { .server = server, .end = zonedb_count(server->zones) };
	sys_mutex_unlock(&server->jobs.lock);
	(void)timer_sync_write(server->timers, (knot_name_t){ 0 }, timer_sync_next, &walk);
	sys_mutex_unlock(&server->reload_lock);
}
