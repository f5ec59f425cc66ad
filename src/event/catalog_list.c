/* SPDX-License-Identifier: BSD-2-Clause */
/* Generated catalogs: the zones of the configuration that name them, as edits of their versions. */
#include <stdlib.h>
#include <string.h>

#include "src/catalog/generate.h"
#include "src/event/catalogs.h"
#include "src/event/turn.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"

/** Times of members that come and go. */
typedef struct {
	server_t *server;
	uint64_t now_s;
	members_t changes; /* MEMBER_COMES: its time is to be stored; MEMBER_GOES: forgotten */
	size_t taken;
	knot_err_t err;
} catalog_times_kept_t;

static uint64_t catalog_list_since(knot_name_t member, void *ctx)
{
	catalog_times_kept_t *times = ctx;
	uint64_t since_s = timer_sync_read(times->server->timers, member).at[TIMER_CATALOG_MEMBER];
	if (since_s != 0) {
		return since_s;
	}
	knot_err_t err = members_put(&times->changes, MEMBER_COMES, member, member, (knot_bytes_t){ NULL, 0 });
	times->err = times->err == KNOT_OK ? err : times->err;
	return times->now_s;
}

static void catalog_list_gone(knot_name_t member, void *ctx)
{
	catalog_times_kept_t *times = ctx;
	knot_err_t err = members_put(&times->changes, MEMBER_GOES, member, member, (knot_bytes_t){ NULL, 0 });
	times->err = times->err == KNOT_OK ? err : times->err;
}

static bool catalog_list_next_time(timer_sync_t *ret_times, void *ctx)
{
	catalog_times_kept_t *times = ctx;
	if (times->taken == times->changes.count) {
		return false;
	}
	const member_change_t *change = &times->changes.changes[times->taken++];
	*ret_times = (timer_sync_t){ .zone = members_name(change), .mask = 1u << TIMER_CATALOG_MEMBER };
	ret_times->values.at[TIMER_CATALOG_MEMBER] = change->kind == MEMBER_COMES ? times->now_s : 0;
	return true;
}

/* The zones that are to be listed. */
static knot_err_t catalog_list_gather(const conf_t *conf, knot_name_t catalog, catalog_set_t *wanted)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < conf->zone_count && err == KNOT_OK; i++) {
		const conf_zone_t zone = conf_zone(conf, i);
		if (zone.catalog_role != CONF_CATALOG_MEMBER || zone.catalog_zone.len != catalog.len ||
				memcmp(zone.catalog_zone.data, catalog.wire, catalog.len) != 0) {
			continue;
		}
		catalog_member_t member = { .member = zone.name, .owner = catalog };
		if (zone.catalog_group != NULL) {
			member.group = (knot_bytes_t){ (const uint8_t *)zone.catalog_group,
				strlen(zone.catalog_group) };
		}
		err = catalog_set_put(wanted, &member);
	}
	return err;
}

static knot_err_t catalog_list_edit(
		const turn_t *turn, update_t *update, catalog_set_t *wanted, catalog_times_kept_t *kept)
{
	const catalog_times_t times = { catalog_list_since, catalog_list_gone, kept };
	knot_err_t err = turn->current == NULL ? catalog_put_head(update->txn, turn->name, (uint32_t)kept->now_s)
					       : KNOT_OK;
	err = err == KNOT_OK ? catalog_list_members(update->txn, turn->name, turn->current, wanted, &times) : err;
	return err == KNOT_OK ? kept->err : err;
}

static knot_err_t catalog_list_commit(turn_t *turn, catalog_set_t *wanted, bool *ret_is_new)
{
	update_t update;
	catalog_times_kept_t kept = { .server = turn->server, .now_s = sys_clock_wall() };
	knot_err_t err = update_begin(turn->name, UPDATE_CATALOG, turn->current, &update);
	if (err != KNOT_OK) {
		return err;
	}
	char before[16] = "none";
	if (turn->current != NULL) {
		snprintf(before, sizeof(before), "%u", turn->current->serial);
	}
	const zone_contents_t *was = turn->current;
	err = catalog_list_edit(turn, &update, wanted, &kept);
	err = err == KNOT_OK ? turn_publish(turn, &update) : err;
	update_end(&update);
	*ret_is_new = zone_contents(entry_zone(turn->entry)) != was;
	if (err == KNOT_OK && *ret_is_new) {
		const zone_contents_t *now = zone_contents(entry_zone(turn->entry));
		log_zone(LOG_INFO, turn->name, "loaded, serial %s -> %u, %llu bytes", before, now->serial,
				(unsigned long long)now->wire_size);
	}
	if (err == KNOT_OK && kept.changes.count > 0) {
		err = timer_sync_write(turn->server->timers, turn->name, catalog_list_next_time, &kept);
	}
	members_done(&kept.changes);
	return err;
}

knot_err_t catalogs_list(server_t *server, entry_t *entry, bool is_first, bool *ret_is_new)
{
	static const server_author_t author = { .who = "" };
	server_commit_t commit = { 0 };
	turn_t turn = { .server = server,
		.entry = entry,
		.name = entry_name(entry),
		.current = zone_contents(entry_zone(entry)),
		.author = &author,
		.commit = &commit };
	catalog_set_t wanted = { .count = 0 };
	conf_t *conf;
	{
		RCU_READ_SECTION(guard);
		conf = conf_hold(state_load(&server->root, guard)->conf);
	}
	*ret_is_new = false;
	knot_err_t err = load_settings(&server->root, turn.name, &turn.settings);
	if (is_first) {
		turn.settings.serials.policy = CONF_SERIAL_UNIXTIME;
	}
	err = err == KNOT_OK ? catalog_list_gather(conf, turn.name, &wanted) : err;
	err = err == KNOT_OK ? catalog_list_commit(&turn, &wanted, ret_is_new) : err;
	if (err != KNOT_OK) {
		log_zone(LOG_ERR, turn.name, "failed to initialize catalog zone (%s)", knot_strerror(err));
	}
	catalog_set_done(&wanted);
	conf_free(conf);
	return err;
}
