/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/state/state.h"

#include <stdlib.h>

#include "src/sys/counters.h"
#include "src/sys/thread.h"

answer_env_t state_env(const conf_t *conf)
{
	const conf_server_t *server = &conf->server;
	return (answer_env_t){
		.nsid = server->nsid,
		.identity = {(const uint8_t *)server->identity, strlen(server->identity)},
		.version = { (const uint8_t *)server->version, strlen(server->version) },
		.udp_payload_max_ipv4 = server->udp_payload_max_ipv4,
		.udp_payload_max_ipv6 = server->udp_payload_max_ipv6,
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

knot_err_t state_new(conf_t *take_conf, zonedb_t *take_zones, state_t **ret_state)
{
	state_t *state = calloc(1, sizeof(*state));
	if (state == NULL) {
		return KNOT_ENOMEM;
	}
	knot_err_t err = module_chain_new(take_conf, take_conf->global_modules, &state->modules);
	if (err != KNOT_OK) {
		free(state);
		return err;
	}
	state->conf = take_conf;
	state->zones = take_zones;
	state->env = state_env(take_conf);
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
		module_chain_free(state->modules);
		free(state);
	}
}
