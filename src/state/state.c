/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/state/state.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "src/catalog/settings.h"
#include "src/sys/counters.h"
#include "src/sys/thread.h"

answer_env_t state_env(const conf_t *conf)
{
	const conf_server_t *server = &conf->server;
	return (answer_env_t){
		.nsid = server->nsid,
		.identity = { (const uint8_t *)server->identity, strlen(server->identity) },
		.version = { (const uint8_t *)server->version, strlen(server->version) },
		.udp_payload_max_ipv4 = server->udp_payload_max_ipv4,
		.udp_payload_max_ipv6 = server->udp_payload_max_ipv6,
		.conf = conf,
		.rotate = server->answer_rotation,
		.client_subnet = server->edns_client_subnet,
	};
}

bool state_settings(const state_t *state, knot_name_t name, conf_zone_t *ret_zone)
{
	size_t index;
	if (conf_zone_find(state->conf, name, &index)) {
		*ret_zone = conf_zone(state->conf, index);
		return true;
	}
	const zone_t *zone = zonedb_find(state->zones, name);
	return zone != NULL && catalog_member_settings(state->conf, zone, ret_zone);
}

void state_expect_threads(const conf_t *conf)
{
	/* Where an interface can't have XDP, sockets with as many workers again serve its addresses. Drivers make a
	 * queue for each CPU, rarely more. */
	unsigned sockets = conf->server.udp_workers + conf->server.tcp_workers;
	unsigned interfaces = (unsigned)conf->xdp.listen.count;
	sys_slots_expect(sockets + (interfaces > 0 ? sockets : 0) + interfaces * sys_cpu_count());
}

/* ---- Modules of zones ---- */

static int state_compare_zone_modules(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const state_zone_modules_t *)a)->zone,
		  y = (uintptr_t)((const state_zone_modules_t *)b)->zone;
	return (x > y) - (x < y);
}

const module_chain_t *state_zone_modules(const state_t *state, const zone_t *zone)
{
	if (state->zone_modules_count == 0) {
		return NULL;
	}
	state_zone_modules_t key = { .zone = zone };
	const state_zone_modules_t *found = bsearch(
			&key, state->zone_modules, state->zone_modules_count, sizeof(key), state_compare_zone_modules);
	return found != NULL ? found->chain : NULL;
}

static knot_err_t state_add_zone_modules(state_t *state, const zone_t *zone, conf_modrefs_t modules, size_t *max)
{
	if (state->zone_modules_count == *max) {
		*max = 2 * *max + 16;
		state_zone_modules_t *grown = realloc(state->zone_modules, *max * sizeof(*grown));
		if (grown == NULL) {
			return KNOT_ENOMEM;
		}
		state->zone_modules = grown;
	}
	state_zone_modules_t made = { .zone = zone };
	knot_err_t err = module_chain_new(state->conf, modules, &made.chain);
	if (err == KNOT_OK) {
		state->zone_modules[state->zone_modules_count++] = made;
	}
	return err;
}

/* The settings of the zone at a place of the set. Zones that are configured come in the same order in both; those that
 * are new can't be found by name yet (zonedb_link()). */
static bool state_settings_at(const state_t *state, size_t *conf_at, const zone_t *zone, conf_zone_t *ret_zone)
{
	const conf_t *conf = state->conf;
	if (*conf_at < conf->zone_count && knot_name_eq(conf_zone_name(conf, *conf_at), zone_name(zone))) {
		*ret_zone = conf_zone(conf, (*conf_at)++);
		return true;
	}
	return catalog_member_settings(conf, zone, ret_zone);
}

/* Chains of all zones that have modules. */
static knot_err_t state_make_zone_modules(state_t *state)
{
	if (!conf_has_zone_modules(state->conf)) {
		return KNOT_OK;
	}
	size_t max = 0, conf_at = 0;
	for (size_t i = 0; i < zonedb_count(state->zones); i++) {
		conf_zone_t zone;
		const zone_t *of = zonedb_zones(state->zones)[i];
		bool has = state_settings_at(state, &conf_at, of, &zone) && zone.modules.count > 0;
		knot_err_t err = has ? state_add_zone_modules(state, of, zone.modules, &max) : KNOT_OK;
		if (err != KNOT_OK) {
			return err;
		}
	}
	if (state->zone_modules_count > 0) {
		qsort(state->zone_modules, state->zone_modules_count, sizeof(*state->zone_modules),
				state_compare_zone_modules);
	}
	return KNOT_OK;
}

/* ---- Snapshots ---- */

static void state_free_modules(state_t *state)
{
	for (size_t i = 0; i < state->zone_modules_count; i++) {
		module_chain_free(state->zone_modules[i].chain);
	}
	free(state->zone_modules);
	module_chain_free(state->borrows_modules ? NULL : state->modules);
}

static state_t *state_begin(conf_t *conf, zonedb_t *zones)
{
	static atomic_uint_fast64_t made;
	state_t *state = calloc(1, sizeof(*state));
	if (state != NULL) {
		state->number = 1 + atomic_fetch_add(&made, 1);
		state->conf = conf;
		state->zones = zones;
		state->env = state_env(conf);
	}
	return state;
}

knot_err_t state_new(conf_t *take_conf, zonedb_t *take_zones, state_t **ret_state)
{
	state_t *state = state_begin(take_conf, take_zones);
	if (state == NULL) {
		return KNOT_ENOMEM;
	}
	knot_err_t err = module_chain_new(take_conf, take_conf->global_modules, &state->modules);
	err = err == KNOT_OK ? state_make_zone_modules(state) : err;
	if (err != KNOT_OK) {
		state_free_modules(state);
		free(state);
		return err;
	}
	*ret_state = state;
	return KNOT_OK;
}

knot_err_t state_new_zones(const state_t *old, zonedb_t *take_zones, state_t **ret_state)
{
	conf_t *conf = conf_hold(old->conf);
	if (conf_has_zone_modules(conf)) {
		knot_err_t err = state_new(conf, take_zones, ret_state);
		if (err != KNOT_OK) {
			conf_free(conf);
		}
		return err;
	}
	state_t *state = state_begin(conf, take_zones);
	if (state == NULL) {
		conf_free(conf);
		return KNOT_ENOMEM;
	}
	state->modules = old->modules;
	state->borrows_modules = true;
	*ret_state = state;
	return KNOT_OK;
}

state_t *state_publish(state_root_t *root, state_t *next)
{
	state_t *old = root->state_rcu;
	RCU_PUBLISH(root->state_rcu, next);
	sys_rcu_wait();
	if (next->borrows_modules) {
		next->borrows_modules = false;
		old->modules = NULL;
	}
	return old;
}

void state_free(state_t *state)
{
	if (state != NULL) {
		conf_free(state->conf);
		zonedb_free(state->zones);
		state_free_modules(state);
		free(state);
	}
}
