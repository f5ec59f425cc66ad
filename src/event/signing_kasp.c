/* SPDX-License-Identifier: BSD-2-Clause */
/* The server's key database, which all zones share: its opening, serials in it, and workers that wait for it. */
#include "src/event/signing.h"

#include "src/sys/clock.h"
#include "src/sys/log.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

bool signing_has_kasp(const server_t *server)
{
	char path[PATH_MAX];
	struct stat info;
	int len = snprintf(path, sizeof(path), "%s/data.mdb", server->started->database.kasp_db);
	return len > 0 && len < (int)sizeof(path) && stat(path, &info) == 0;
}

static knot_err_t signing_open_kasp(server_t *server) SYS_REQUIRES(server->kasp_lock)
{
	char *reason = server->kasp_reason;
	const conf_database_t *database = &server->started->database;
	const kasp_params_t params = { .path = database->kasp_db, .size_max = database->kasp_db_max_size };
	knot_err_t err = kasp_open(&params, reason, &server->kasp);
	if (err != KNOT_OK) {
		log_server(LOG_ERR, "failed to open KASP database '%s' (%s)%s%s", database->kasp_db, knot_strerror(err),
				reason[0] != '\0' ? ", " : "", reason);
	}
	return err;
}

knot_err_t signing_kasp(server_t *server, kasp_t **ret_kasp)
{
	sys_mutex_lock(&server->kasp_lock);
	knot_err_t err = KNOT_OK;
	if (server->kasp == NULL) {
		err = signing_open_kasp(server);
	} else if (!kasp_is_in_place(server->kasp)) {
		/* It can't be opened beside the old one, which others may be reading: LMDB's locks are the process's.
		 */
		err = KNOT_EFILE;
		snprintf(server->kasp_reason, KASP_REASON_MAX,
				"KASP database '%.150s' was removed or replaced, restart the server to use it",
				server->started->database.kasp_db);
	}
	*ret_kasp = server->kasp;
	sys_mutex_unlock(&server->kasp_lock);
	return err;
}

/* ---- Serials ---- */

void signing_put_serial(kasp_t *kasp, uint8_t kind, knot_name_t name, uint32_t serial)
{
	kasp_txn_t *txn;
	knot_err_t err = kasp_begin(kasp, true, &txn);
	if (err == KNOT_OK) {
		err = kasp_put_serial(txn, kind, name, serial);
		if (err == KNOT_OK) {
			err = kasp_commit(txn);
		} else {
			kasp_abort(txn);
		}
	}
	if (err != KNOT_OK) {
		log_zone(LOG_WARNING, name, "DNSSEC, failed to note the serial %u (%s)", serial, knot_strerror(err));
	}
}

bool signing_primary_serial(server_t *server, knot_name_t name, uint32_t *ret_serial)
{
	kasp_t *kasp;
	kasp_txn_t *txn;
	if (signing_kasp(server, &kasp) != KNOT_OK || kasp_begin(kasp, false, &txn) != KNOT_OK) {
		return false;
	}
	knot_err_t err = kasp_get_serial(txn, KASP_PRIMARY_SERIAL, name, ret_serial);
	kasp_abort(txn);
	return err == KNOT_OK;
}

void signing_note_primary_serial(server_t *server, knot_name_t name, uint32_t serial)
{
	kasp_t *kasp;
	if (signing_kasp(server, &kasp) == KNOT_OK) {
		signing_put_serial(kasp, KASP_PRIMARY_SERIAL, name, serial);
	}
}

/* ---- Waiting ---- */

static void signing_tell_stall(knot_name_t zone)
{
	log_zone(LOG_WARNING, zone,
			"DNSSEC, signing waits for the KASP database or a keystore, another process or a token may "
			"hold it");
}

void server_look_for_stalls(server_t *server)
{
	jobs_look_for_stalls(&server->jobs, sys_clock_ms(), signing_tell_stall);
}
