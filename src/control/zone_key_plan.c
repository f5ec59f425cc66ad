/* SPDX-License-Identifier: BSD-2-Clause */
/** The command zone-key-plan. */
#include "src/control/session.h"

#include "src/event/key_plan.h"

#include <stdio.h>

enum { KEY_TEXT_MAX = DNSSEC_KEY_ID_MAX + 1 };

static void key_plan_send(
		session_t *session, const session_zone_t *zone, const keys_plan_t *plan, const keys_event_t *event)
{
	const kasp_key_t *key = &plan->keys.keys[event->key];
	char when[KEY_TEXT_MAX], name[KEY_TEXT_MAX];
	bool is_old = event->key < plan->old_count;
	session_print_time(session, event->at_s, when, sizeof(when));
	if (is_old) {
		snprintf(name, sizeof(name), "%u", key->tag);
	} else {
		snprintf(name, sizeof(name), "%s", key->id);
	}
	const session_field_t fields[] = { { "time", when },
		{ "role", key->is_ksk && key->is_zsk ? "CSK"
				: key->is_ksk        ? "KSK"
						     : "ZSK" },
		{ "key", name }, { "action", keys_event_name(event) }, { "why", event->why } };
	session_send_fields(session, zone, fields, KNOT_LEN(fields));
}

command_result_t command_zone_key_plan(session_t *session, const session_zone_t *zone)
{
	keys_plan_t plan;
	knot_err_t err = server_plan_keys(session->server, zone->name, &plan);
	if (err != KNOT_OK) {
		return command_result(err);
	}
	for (size_t i = 0; i < plan.count && !session->broken; i++) {
		key_plan_send(session, zone, &plan, &plan.events[i]);
	}
	keys_plan_done(&plan);
	return command_result(KNOT_OK);
}
