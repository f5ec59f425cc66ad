/* SPDX-License-Identifier: BSD-2-Clause */
/** The command zone-child-check. */
#include "src/control/session.h"

#include <stdio.h>

command_result_t command_zone_child_check(session_t *session, const session_zone_t *zone)
{
	const char *text = session->args[KNOT_CTL_IDX_OWNER];
	uint8_t wire[KNOT_NAME_MAX];
	char name[KNOT_NAME_TEXT_MAX];
	knot_name_t child;
	server_child_result_t checked;
	if (text == NULL || knot_name_scan(knot_str_of(text), zone->name, wire, &child) != KNOT_OK ||
			!knot_name_in(child, zone->name) || child.label_count == zone->name.label_count) {
		return command_result(KNOT_EPARAM);
	}
	knot_err_t err = server_child_check(session->server, zone->name, child, session_flag(session, 'F'), &checked);
	if (err != KNOT_OK) {
		return command_result(err);
	}
	if (checked.is_refused) {
		snprintf(session->reason, sizeof(session->reason), "%s", checked.said);
		return (command_result_t){ .err = KNOT_EDENIED, .reason = session->reason };
	}
	(void)knot_name_print(child, name);
	const session_field_t fields[] = { { "child", name }, { "result", checked.said } };
	session_send_fields(session, zone, fields, KNOT_LEN(fields));
	return command_result(KNOT_OK);
}
