/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/key_plan.h"

#include "src/event/signing.h"
#include "src/sys/clock.h"

/* The configuration is held on success. */
static knot_err_t key_plan_find(server_t *server, knot_name_t name, conf_t **ret_conf, const conf_policy_t **ret_policy)
{
	conf_zone_t zone;
	RCU_READ_SECTION(guard);
	const state_t *state = state_load(&server->root, guard);
	if (!state_settings(state, name, &zone)) {
		return KNOT_ENOZONE;
	}
	if (!zone.dnssec_signing) {
		return KNOT_ENOTSUP;
	}
	*ret_conf = conf_hold(state->conf);
	*ret_policy = conf_zone_policy(state->conf, &zone);
	return KNOT_OK;
}

knot_err_t server_plan_keys(server_t *server, knot_name_t name, keys_plan_t *ret_plan)
{
	conf_t *conf;
	zone_keys_t keys;
	zone_keys_env_t env = {
		.zone = name, .kasp_path = server->started->database.kasp_db, .now_s = sys_clock_wall()
	};
	knot_err_t err = key_plan_find(server, name, &conf, &env.policy);
	if (err != KNOT_OK) {
		return err;
	}
	env.conf = conf;
	err = signing_kasp(server, &env.kasp);
	err = err == KNOT_OK ? zone_keys_load(&env, &keys) : err;
	if (err == KNOT_OK) {
		const keys_plan_params_t params = keys_plan_params(env.policy, name, &keys, env.now_s);
		err = keys_plan(&keys.set, &params, ret_plan);
		zone_keys_done(&keys);
	}
	conf_free(conf);
	return err;
}
