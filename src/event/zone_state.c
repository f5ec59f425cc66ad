/* SPDX-License-Identifier: BSD-2-Clause */
/* What the server says of one zone: where its contents come from, its file and image, its events, its failure. */
#include <stdio.h>

#include "src/event/internal.h"
#include "src/sys/clock.h"

knot_err_t server_zone_file(
		const server_t *server, knot_name_t name, char ret_path[static PATH_MAX], uint64_t *ret_settings)
{
	RCU_READ_SECTION(guard);
	conf_zone_t zone;
	if (!state_settings(state_load(&server->root, guard), name, &zone)) {
		return KNOT_ENOZONE;
	}
	*ret_settings = settings_number(&zone);
	return conf_zone_file(&zone, ret_path, PATH_MAX);
}

server_origin_t server_zone_origin(const server_t *server, knot_name_t name)
{
	server_origin_t origin = SERVER_ORIGIN_NONE;
	sys_mutex_lock(server_lock(server));
	entry_t *entry = server_find_entry(server, name);
	if (entry != NULL && zone_contents(entry_zone(entry)) != NULL) {
		origin = entry->from_image ? SERVER_ORIGIN_IMAGE : SERVER_ORIGIN_FILE;
	}
	sys_mutex_unlock(server_lock(server));
	return origin;
}

knot_err_t server_zone_image(const server_t *server, knot_name_t name, images_info_t *ret_info)
{
	images_query_t query = { .name = name };
	char path[PATH_MAX];
	knot_err_t err = server_zone_file(server, name, path, &query.settings);
	if (err == KNOT_OK) {
		query.path = path;
		images_info(server->saves.images, &query, ret_info);
	}
	return err;
}

uint64_t server_wall_of(uint64_t when_ms)
{
	uint64_t now_ms = sys_clock_ms(), now_s = sys_clock_wall();
	return when_ms > now_ms ? now_s + (when_ms - now_ms + 999) / 1000 : now_s - (now_ms - when_ms) / 1000;
}

static server_event_status_t zone_state_of_event(const server_t *server, const entry_t *entry, event_t event)
		SYS_REQUIRES(server->jobs.lock)
{
	agenda_item_t item;
	if (entry->is_running && agenda_event_of(entry->ticket) == event) {
		return (server_event_status_t){ SERVER_EVENT_RUNNING, entry->since_s };
	}
	if (!jobs_find(&server->jobs, entry, event, &item)) {
		return (server_event_status_t){ .state = SERVER_EVENT_IDLE };
	}
	return (server_event_status_t){
		.state = jobs_is_held(entry, &item)      ? SERVER_EVENT_FROZEN
			 : item.due_ms <= sys_clock_ms() ? SERVER_EVENT_PENDING
							 : SERVER_EVENT_PLANNED,
		.since_s = item.due_ms > JOBS_DUE_BY_OPERATOR ? server_wall_of(item.due_ms) : sys_clock_wall(),
	};
}

server_event_status_t server_zone_event(const server_t *server, knot_name_t name, event_t event)
{
	server_event_status_t status = { .state = SERVER_EVENT_IDLE };
	sys_mutex_lock(server_lock(server));
	const entry_t *entry = server_find_entry(server, name);
	if (entry != NULL) {
		status = zone_state_of_event(server, entry, event);
	}
	sys_mutex_unlock(server_lock(server));
	return status;
}

/* ---- Zones in trouble ---- */

/* Under lock. */
static bool zone_state_of_fault(const server_t *server, const entry_t *entry, server_fault_t *ret_fault)
		SYS_REQUIRES(server->jobs.lock)
{
	if (entry->result == KNOT_OK) {
		return false;
	}
	const fault_facts_t *facts = faults_find(&server->faults, zone_name(entry_zone((entry_t *)entry)));
	ret_fault->err = entry->result;
	ret_fault->first_s = facts != NULL ? facts->since_s : entry->since_s;
	ret_fault->last_s = entry->since_s;
	snprintf(ret_fault->reason, sizeof(ret_fault->reason), "%s", facts != NULL ? facts->reason : "");
	return true;
}

bool server_zone_fault(const server_t *server, knot_name_t name, server_fault_t *ret_fault)
{
	sys_mutex_lock(server_lock(server));
	const entry_t *entry = server_find_entry(server, name);
	bool is_failed = entry != NULL && zone_state_of_fault(server, entry, ret_fault);
	sys_mutex_unlock(server_lock(server));
	return is_failed;
}

void server_each_fault(const server_t *server, void (*visit)(knot_name_t name, const server_fault_t *fault, void *ctx),
		void *ctx)
{
	for (size_t first = 0, total = 1; first < total; first += SERVER_CHUNK) {
		sys_mutex_lock(server_lock(server));
		total = zonedb_count(server->zones);
		for (size_t i = first; i < total && i < first + SERVER_CHUNK; i++) {
			zone_t *zone = zonedb_zones(server->zones)[i];
			server_fault_t fault;
			if (zone_state_of_fault(server, entry_of(zone), &fault)) {
				visit(zone_name(zone), &fault, ctx);
			}
		}
		sys_mutex_unlock(server_lock(server));
	}
}
