/* SPDX-License-Identifier: BSD-2-Clause */
/* How many zones are in which state. */
#include "src/event/internal.h"

#include <string.h>

/* Zones that are looked at between taking the lock of the jobs and giving it back: workers wait no longer than that. */
enum { CHUNK = 256 };

static void counts_add_entry(const server_t *server, entry_t *entry, server_counts_t *counts)
		SYS_REQUIRES(server->jobs.lock)
{
	bool is_served = zone_contents(entry_zone(entry)) != NULL;
	counts->origins[!is_served          ? SERVER_ORIGIN_NONE
			: entry->from_image ? SERVER_ORIGIN_IMAGE
					    : SERVER_ORIGIN_FILE]++;
	counts->pending += !entry->is_running && jobs_is_pending(&server->jobs, entry, entry->events);
	counts->running += entry->is_running;
	counts->failed += entry->result != KNOT_OK;
	counts->unsaved += entry->save == SAVE_WAITING || entry->save == SAVE_TAKEN;
	counts->save_failed += entry->save == SAVE_FAILED;
}

server_counts_t server_counts(const server_t *server)
{
	server_counts_t counts = { 0 };
	for (size_t first = 0, total = 1; first < total; first += CHUNK) {
		sys_mutex_lock(server_lock(server));
		total = zonedb_count(server->zones);
		for (size_t i = first; i < total && i < first + CHUNK; i++) {
			counts_add_entry(server, entry_of(zonedb_zones(server->zones)[i]), &counts);
		}
		sys_mutex_unlock(server_lock(server));
	}
	return counts;
}

/* Index of the first zone behind `after`. Under lock. */
static size_t counts_find_behind(const server_t *server, const uint8_t *after)
{
	size_t low = 0, high = zonedb_count(server->zones);
	while (after != NULL && low < high) {
		size_t middle = low + (high - low) / 2;
		if (knot_name_cmp(zone_name(zonedb_zones(server->zones)[middle]), knot_name_of(after)) <= 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static server_zone_health_t counts_health_of(const server_t *server, entry_t *entry)
{
	const rest_t *rest = rests_find(&server->rests, entry_name(entry));
	server_zone_health_t health = {
		.is_tried = entry->tried,
		.is_failed = entry->result != KNOT_OK,
		.is_served = zone_contents(entry_zone(entry)) != NULL,
		.since_s = entry->since_s,
	};
	if (rest != NULL && rest->refreshed_from != NULL) {
		health.refreshed_s = rest->refreshed_s;
		health.refreshed_from = rest->refreshed_from->id;
	}
	knot_name_t name = entry_name(entry);
	memcpy(health.name, name.wire, name.len);
	return health;
}

size_t server_zone_healths(const server_t *server, const uint8_t *after, bool failed_only,
		server_zone_health_t *ret_healths, size_t max)
{
	uint8_t last[KNOT_NAME_MAX];
	size_t found = 0;
	for (bool is_more = true; is_more && found < max;) {
		sys_mutex_lock(server_lock(server));
		size_t first = counts_find_behind(server, after), total = zonedb_count(server->zones), i = first;
		for (; i < total && i < first + CHUNK && found < max; i++) {
			entry_t *entry = entry_of(zonedb_zones(server->zones)[i]);
			if (!failed_only || entry->result != KNOT_OK) {
				ret_healths[found++] = counts_health_of(server, entry);
			}
		}
		is_more = i < total;
		if (i > first) { /* search by name: zones come and go between two chunks */
			knot_name_t name = zone_name(zonedb_zones(server->zones)[i - 1]);
			memcpy(last, name.wire, name.len);
			after = last;
		}
		sys_mutex_unlock(server_lock(server));
	}
	return found;
}

/** Primaries on their way to a caller. */
typedef struct {
	server_primary_t *rows; /* NULL: only count */
	size_t count;
} counts_primaries_t;

static void counts_take_primary(const rest_remote_t *remote, void *ctx)
{
	counts_primaries_t *primaries = ctx;
	if (primaries->rows != NULL) {
		primaries->rows[primaries->count] = (server_primary_t){ remote->id, remote->last_s };
	}
	primaries->count++;
}

knot_err_t server_primaries(const server_t *server, server_primary_t **ret_primaries, size_t *ret_count)
{
	counts_primaries_t primaries = { 0 };
	sys_mutex_lock(server_lock(server));
	rests_each_remote(&server->rests, counts_take_primary, &primaries);
	primaries.rows = calloc(primaries.count + 1, sizeof(*primaries.rows));
	if (primaries.rows != NULL) {
		primaries.count = 0;
		rests_each_remote(&server->rests, counts_take_primary, &primaries);
	}
	sys_mutex_unlock(server_lock(server));
	if (primaries.rows == NULL) {
		return KNOT_ENOMEM;
	}
	*ret_primaries = primaries.rows;
	*ret_count = primaries.count;
	return KNOT_OK;
}
