/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Commands that change zones: zone-begin, -set, -unset, -commit, -abort, -serial-set, -history, -revert.
 */
#include "src/control/session.h"

#include "libknot/rr/rrtype.h"
#include "src/event/zone_edit.h"
#include "src/sys/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Transactions ---- */

command_result_t command_zone_begin(session_t *session, const session_zone_t *zone)
{
	return command_result(server_edit_begin(session->server, zone->name, session_filter(session, 'b')));
}

static command_result_t zone_edit_result(session_t *session, knot_err_t err, const server_commit_t *commit)
{
	command_result_t result = { .err = err, .ticket = commit->ticket };
	if (commit->reason[0] != '\0') {
		snprintf(session->reason, sizeof(session->reason), "%s", commit->reason);
		result.reason = session->reason;
	}
	return result;
}

command_result_t command_zone_commit(session_t *session, const session_zone_t *zone)
{
	char who[SESSION_WHO_MAX];
	const server_author_t author = session_author(session, who);
	server_commit_t commit;
	knot_err_t err = server_edit_commit(session->server, zone->name, &author, &commit);
	return zone_edit_result(session, err, &commit);
}

command_result_t command_zone_abort(session_t *session, const session_zone_t *zone)
{
	return command_result(server_edit_abort(session->server, zone->name));
}

/* ---- Changes ---- */

static void zone_edit_log_note(
		const session_zone_t *zone, const edit_words_t *words, knot_err_t err, const edit_note_t *note)
{
	bool is_there = err == KNOT_EISRECORD;
	if (note->owner.wire == NULL || !(note->has_new_ttl || is_there || err == KNOT_ENORECORD)) {
		return;
	}
	char owner[KNOT_NAME_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX];
	(void)knot_name_print(note->owner, owner);
	(void)knot_rrtype_print(note->type, type);
	if (note->has_new_ttl) {
		log_zone(LOG_NOTICE, zone->name, "TTL mismatch, owner %s, type %s, TTL set to %" PRIu32, owner, type,
				note->ttl);
	}
	if (err != KNOT_OK) {
		log_zone(LOG_DEBUG, zone->name, "node %s, type %s, data '%s', cannot %s RR", owner, type, words->data,
				is_there ? "add existing" : "remove nonexisting");
	}
}

static command_result_t zone_edit_change(session_t *session, const session_zone_t *zone,
		knot_err_t (*edit_by)(const edit_t *changes, const edit_words_t *words, edit_note_t *ret_note))
{
	server_edit_t *edit;
	edit_t changes;
	knot_err_t err = server_edit_enter(session->server, zone->name, &edit, &changes);
	if (err != KNOT_OK) {
		return command_result(err);
	}
	const edit_words_t words = {
		.owner = session->args[KNOT_CTL_IDX_OWNER],
		.ttl = session->args[KNOT_CTL_IDX_TTL],
		.type = session->args[KNOT_CTL_IDX_TYPE],
		.data = session->args[KNOT_CTL_IDX_DATA],
	};
	edit_note_t note;
	err = edit_by(&changes, &words, &note);
	server_edit_leave(session->server, edit);
	zone_edit_log_note(zone, &words, err, &note);
	return (command_result_t){ .err = err, .reason = err == KNOT_EPARSEFAIL ? note.reason : NULL };
}

command_result_t command_zone_set(session_t *session, const session_zone_t *zone)
{
	return zone_edit_change(session, zone, edit_set);
}

command_result_t command_zone_unset(session_t *session, const session_zone_t *zone)
{
	return zone_edit_change(session, zone, edit_unset);
}

/* ---- zone-serial-set ---- */

enum { INCREMENT_MAX = INT32_MAX }; /* RFC 1982 3.1: the most that may be added */

static bool zone_edit_scan_serial(const char *text, uint32_t max, uint32_t *ret_number)
{
	uint64_t number = 0;
	const char *p = text;
	for (; *p >= '0' && *p <= '9' && p - text < 10; p++) {
		number = 10 * number + (uint64_t)(*p - '0');
	}
	*ret_number = (uint32_t)number;
	return p != text && *p == '\0' && number <= max;
}

static knot_err_t zone_edit_send_serial(session_t *session, const session_zone_t *zone)
{
	char serial[16];
	{
		RCU_READ_SECTION(guard);
		const zone_t *found = zonedb_find(state_load(server_state(session->server), guard)->zones, zone->name);
		const zone_contents_t *contents = found != NULL ? zone_contents(found) : NULL;
		if (contents == NULL) {
			return found != NULL ? KNOT_EEMPTYZONE : KNOT_ENOZONE;
		}
		snprintf(serial, sizeof(serial), "%" PRIu32, contents->serial);
	}
	knot_ctl_data_t unit = { [KNOT_CTL_IDX_ZONE] = zone->text, [KNOT_CTL_IDX_DATA] = serial };
	session_send(session, KNOT_CTL_TYPE_DATA, &unit);
	return KNOT_OK;
}

command_result_t command_zone_serial_set(session_t *session, const session_zone_t *zone)
{
	const char *number = session->args[KNOT_CTL_IDX_DATA], *mode = session->args[KNOT_CTL_IDX_TYPE];
	if (number == NULL) {
		return command_result(zone_edit_send_serial(session, zone));
	}
	char who[SESSION_WHO_MAX];
	const server_author_t author = session_author(session, who);
	server_serial_t serial = { .is_increment = mode != NULL && *mode == '+' };
	bool is_mode = mode == NULL || strcmp(mode, "=") == 0 || strcmp(mode, "+") == 0;
	if (!is_mode || !zone_edit_scan_serial(
					number, serial.is_increment ? INCREMENT_MAX : UINT32_MAX, &serial.number)) {
		return command_result(KNOT_EPARAM);
	}
	server_commit_t commit;
	knot_err_t err = server_set_serial(session->server, zone->name, &serial, &author, &commit);
	return zone_edit_result(session, err, &commit);
}

/* ---- zone-history, zone-revert ---- */

enum { HISTORY_TEXT_MAX = 64 };

static void zone_edit_send_version(session_t *session, const session_zone_t *zone, const history_version_t *version)
{
	char serial[HISTORY_TEXT_MAX], when[HISTORY_TEXT_MAX], removed[HISTORY_TEXT_MAX], added[HISTORY_TEXT_MAX],
			size[HISTORY_TEXT_MAX];
	snprintf(serial, sizeof(serial), "%" PRIu32, version->serial_to);
	session_print_time(session, version->time_s, when, sizeof(when));
	snprintf(removed, sizeof(removed), "%" PRIu32, version->removed);
	snprintf(added, sizeof(added), "%" PRIu32, version->added);
	snprintf(size, sizeof(size), "%" PRIu64, version->zone_size);
	const session_field_t fields[] = { { "serial", serial }, { "time", when }, { "source", version->source },
		{ "by", version->who[0] != '\0' ? version->who : "-" }, { "removed", removed }, { "added", added },
		{ "size", size } };
	session_send_fields(session, zone, fields, KNOT_LEN(fields));
}

command_result_t command_zone_history(session_t *session, const session_zone_t *zone)
{
	history_version_t *versions = NULL;
	size_t count = 0;
	knot_err_t err = server_read_history(session->server, zone->name, &versions, &count);
	for (size_t i = 0; i < count && !session->broken; i++) {
		zone_edit_send_version(session, zone, &versions[i]);
	}
	free(versions);
	return command_result(err);
}

command_result_t command_zone_revert(session_t *session, const session_zone_t *zone)
{
	const char *number = session->args[KNOT_CTL_IDX_DATA], *mode = session->args[KNOT_CTL_IDX_TYPE];
	char who[SESSION_WHO_MAX];
	const server_author_t author = session_author(session, who);
	history_target_t target = { .has_serial = number != NULL };
	bool is_step = mode != NULL && strcmp(mode, "=") != 0;
	if (is_step || (number != NULL && !zone_edit_scan_serial(number, UINT32_MAX, &target.serial))) {
		return command_result(KNOT_EPARAM);
	}
	server_commit_t commit;
	knot_err_t err = server_revert(session->server, zone->name, &target, &author, &commit);
	return zone_edit_result(session, err, &commit);
}
