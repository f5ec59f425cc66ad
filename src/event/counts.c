/* SPDX-License-Identifier: BSD-2-Clause */
/* How many zones are in which state. */
#include "src/event/internal.h"

/* Zones that are looked at between taking the lock of the jobs and giving it back: workers wait no longer than that. */
enum { CHUNK = 256 };

static void count(entry_t *entry, server_counts_t *counts)
{
	bool is_served = zone_contents(entry_zone(entry)) != NULL;
	counts->origins[!is_served          ? SERVER_ORIGIN_NONE
			: entry->from_image ? SERVER_ORIGIN_IMAGE
					    : SERVER_ORIGIN_FILE]++;
	counts->pending += entry->job == JOB_PENDING;
	counts->running += entry->job == JOB_RUNNING;
	counts->failed += entry->tried && entry->result != KNOT_OK;
	counts->unsaved += entry->save == SAVE_WAITING || entry->save == SAVE_TAKEN;
	counts->save_failed += entry->save == SAVE_FAILED;
}

server_counts_t server_counts(const server_t *server)
{
	server_counts_t counts = { 0 };
	pthread_mutex_t *lock = (pthread_mutex_t *)&server->jobs.lock;
	for (size_t first = 0, total = 1; first < total; first += CHUNK) {
		pthread_mutex_lock(lock);
		total = zonedb_count(server->zones);
		for (size_t i = first; i < total && i < first + CHUNK; i++) {
			count(entry_of(zonedb_zones(server->zones)[i]), &counts);
		}
		pthread_mutex_unlock(lock);
	}
	return counts;
}
