/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/publish.h"

#include "src/sys/log.h"

static void publish_contents(zone_t *zone, zone_contents_t *take_contents)
{
	zone_contents_t *old = zone_publish(zone, take_contents);
	if (old != NULL) {
		sys_rcu_wait();
		zone_contents_free(old);
	}
}

static void publish_step(zone_contents_t *take_contents, void *ctx)
{
	publish_t *publish = ctx;
	source_clear(publish->source);
	*publish->source = publish->next;
	publish->next = (load_source_t){ 0 };
	publish_contents(publish->zone, take_contents);
}

knot_err_t publish_update(publish_t *publish, update_t *update, const zone_contents_t *base,
		const update_policy_t *policy, update_effects_t *ret_effects)
{
	const update_env_t env = { .publish = publish_step, .ctx = publish };
	knot_err_t err = update_commit(update, base, policy, &env, ret_effects);
	source_clear(&publish->next);
	if (err == KNOT_OK && ret_effects->is_published) {
		log_zone(LOG_DEBUG, update->origin, "update, source %s, serial %u, records: %u removed, %u added",
				update_source_name(update->source), ret_effects->serial_to, ret_effects->removed,
				ret_effects->added);
	}
	return err;
}

void publish_drop(zone_t *zone, load_source_t *source)
{
	source_clear(source);
	log_zone(LOG_INFO, zone_name(zone), "zone expired");
	publish_contents(zone, NULL);
}
