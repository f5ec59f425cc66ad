/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/state/state.h"

#include <stdatomic.h>
#include <stdlib.h>

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

/* The zone of the configuration's index: that of the set at the same place, as its new zones can't be found by name yet
 * (zonedb_link()). */
static const zone_t *state_zone_at(const state_t *state, size_t index, knot_name_t name)
{
	const zone_t *zone = index < zonedb_count(state->zones) ? zonedb_zones(state->zones)[index] : NULL;
	return zone != NULL && knot_name_eq(zone_name(zone), name) ? zone : zonedb_find(state->zones, name);
}

static knot_err_t state_add_zone_modules(state_t *state, size_t index, const conf_zone_t *conf_zone, size_t *max)
{
	if (state->zone_modules_count == *max) {
		*max = 2 * *max + 16;
		state_zone_modules_t *grown = realloc(state->zone_modules, *max * sizeof(*grown));
		if (grown == NULL) {
			return KNOT_ENOMEM;
		}
		state->zone_modules = grown;
	}
	state_zone_modules_t made = { .zone = state_zone_at(state, index, conf_zone->name) };
	knot_err_t err = made.zone != NULL ? module_chain_new(state->conf, conf_zone->modules, &made.chain)
					   : KNOT_ENOZONE;
	if (err == KNOT_OK) {
		state->zone_modules[state->zone_modules_count++] = made;
	}
	return err;
}

/* Chains of all zones that have modules. */
static knot_err_t state_make_zone_modules(state_t *state)
{
	if (!conf_has_zone_modules(state->conf)) {
		return KNOT_OK;
	}
	size_t max = 0;
	for (size_t i = 0; i < state->conf->zone_count; i++) {
		conf_zone_t zone = conf_zone(state->conf, i);
		knot_err_t err = zone.modules.count > 0 ? state_add_zone_modules(state, i, &zone, &max) : KNOT_OK;
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
	module_chain_free(state->modules);
}

knot_err_t state_new(conf_t *take_conf, zonedb_t *take_zones, state_t **ret_state)
{
	state_t *state = calloc(1, sizeof(*state));
	if (state == NULL) {
		return KNOT_ENOMEM;
	}
	static atomic_uint_fast64_t made;
	state->number = 1 + atomic_fetch_add(&made, 1);
	state->conf = take_conf;
	state->zones = take_zones;
	state->env = state_env(take_conf);
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

state_t *state_publish(state_root_t *root, state_t *next)
{
	state_t *old = root->state_rcu;
	RCU_PUBLISH(root->state_rcu, next);
	sys_rcu_wait();
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
