/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/trash_sweep.h"

#include "src/keys/trash.h"
#include "src/sys/log.h"

static bool trash_is_due(server_t *server, uint64_t now_s)
{
	sys_mutex_lock(&server->kasp_lock);
	bool is_due = now_s >= server->trash_due_s;
	if (is_due) {
		server->trash_due_s = now_s + TRASH_SWEEP_S;
	}
	sys_mutex_unlock(&server->kasp_lock);
	return is_due;
}

/* The keystores of a zone that isn't configured any more are the default ones. */
static knot_err_t trash_discard(const zone_keys_env_t *like, const keys_trash_item_t *item)
{
	const conf_keystore_t *failed;
	conf_zone_t zone = { .policy = { .count = 0 } };
	size_t index;
	zone_keys_env_t env = *like;
	env.zone = knot_name_of(item->zone);
	if (conf_zone_find(env.conf, env.zone, &index)) {
		zone = conf_zone(env.conf, index);
	}
	env.policy = conf_zone_policy(env.conf, &zone);
	knot_err_t err = keys_trash_discard(&env, item->trash.id, &failed);
	if (err != KNOT_OK && failed != NULL) {
		log_server(LOG_WARNING, "keystore %s, attempt to remove key %s failed (%s)",
				failed->id[0] != '\0' ? failed->id : "default", item->trash.id, knot_strerror(err));
	}
	return err;
}

void trash_sweep(server_t *server, const zone_keys_env_t *like)
{
	keys_trash_t trash;
	if (!trash_is_due(server, like->now_s)) {
		return;
	}
	knot_err_t err = keys_trash_read(like->kasp, (knot_name_t){ 0 }, &trash);
	for (size_t i = 0; i < trash.count; i++) {
		if (trash.items[i].trash.discard_s > like->now_s) {
			continue;
		}
		knot_err_t failed = trash_discard(like, &trash.items[i]);
		err = failed != KNOT_OK ? failed : err;
	}
	keys_trash_done(&trash);
	if (err != KNOT_OK) {
		log_server(LOG_WARNING, "DNSSEC, background key trash garbage collector failed (%s)",
				knot_strerror(err));
	} else {
		log_server(LOG_DEBUG, "DNSSEC, background key trash garbage collector finished");
	}
}
