/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Commands zone-backup and zone-restore.
 */
#include "src/control/session.h"
#include "src/event/backup.h"

/* A letter asks for a part, its capital leaves it out. */
static const struct {
	char letter;
	unsigned part;
} zone_backup_filters[] = {
	{ 'z', BACKUP_ZONEFILE },
	{ 'j', BACKUP_JOURNAL },
	{ 't', BACKUP_TIMERS },
	{ 'k', BACKUP_KASPDB },
	{ 'o', BACKUP_KEYSONLY },
	{ 'c', BACKUP_CATALOG },
	{ 'q', BACKUP_QUIC },
};

/* KNOT_EPARAMCONFL: a part is both asked for and left out. */
static knot_err_t zone_backup_scan_parts(const session_t *session, unsigned defaults, server_backup_ask_t *ask)
{
	unsigned without = 0;
	for (size_t i = 0; i < KNOT_LEN(zone_backup_filters); i++) {
		char letter = zone_backup_filters[i].letter;
		unsigned part = zone_backup_filters[i].part;
		ask->asked |= session_filter(session, letter) ? part : 0;
		without |= session_filter(session, (char)(letter - 'a' + 'A')) ? part : 0;
	}
	if ((ask->asked & without) != 0) {
		return KNOT_EPARAMCONFL;
	}
	ask->parts = ((ask->asked & BACKUP_KEYSONLY) != 0 ? 0 : defaults & ~without) | ask->asked;
	if ((ask->parts & BACKUP_KASPDB) != 0) {
		ask->parts &= ~(unsigned)BACKUP_KEYSONLY; /* they are in the database */
		ask->asked &= ~(unsigned)BACKUP_KEYSONLY;
	}
	return KNOT_OK;
}

static command_result_t zone_backup_zone(session_t *session, const session_zone_t *zone)
{
	command_result_t result = { .ticket = 0 };
	result.err = server_backup_zone(session->server, session->backup, zone->name, &result.ticket);
	return result;
}

/* A failure of the beginning is no zone's, so the reply has none. */
static knot_err_t zone_backup_begin(session_t *session, server_backup_ask_t *ask, knot_err_t err)
{
	uint8_t wire[KNOT_NAME_MAX];
	char text[KNOT_NAME_TEXT_MAX];
	session_zone_t zone = { .name = { 0 } };
	if (session->args[KNOT_CTL_IDX_ZONE] != NULL && session_scan_zone(session, wire, text, &zone) == KNOT_OK) {
		ask->zone = zone.name;
	}
	ask->is_forced = session_flag(session, 'F');
	ask->path = session_filter(session, 'd') ? session->args[KNOT_CTL_IDX_DATA] : NULL;
	if (err == KNOT_OK) {
		err = server_backup_begin(session->server, ask, &session->backup);
	} else {
		server_backup_log_failure(ask, err);
	}
	if (err != KNOT_OK) {
		session->args[KNOT_CTL_IDX_ZONE] = NULL;
	}
	return err;
}

static command_result_t zone_backup_run(session_t *session, unsigned defaults, bool is_restore)
{
	session_assert_alone(session);
	server_backup_ask_t ask = { .is_restore = is_restore };
	knot_err_t err = zone_backup_scan_parts(session, defaults, &ask);
	err = zone_backup_begin(session, &ask, err);
	if (err == KNOT_OK) {
		err = session_each_zone(session, zone_backup_zone, session_flag(session, 'B'));
		server_backup_end(session->server, session->backup);
		session->backup = NULL;
	}
	return command_result(err);
}

command_result_t command_zone_backup(session_t *session)
{
	return zone_backup_run(
			session, BACKUP_ZONEFILE | BACKUP_TIMERS | BACKUP_KASPDB | BACKUP_CATALOG | BACKUP_QUIC, false);
}

command_result_t command_zone_restore(session_t *session)
{
	return zone_backup_run(session, BACKUP_ZONEFILE | BACKUP_TIMERS | BACKUP_KASPDB | BACKUP_CATALOG, true);
}
