/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event `re-sign`: keys are rolled, signatures that will expire are renewed, and the whole zone is looked at. What
 * changes the zone otherwise is signed with that change (publish.c).
 */
#include "src/event/zone_sign.h"

#include "src/event/signing.h"
#include "src/event/turn.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"

#include <stdlib.h>
#include <string.h>

/* ---- The event ---- */

static knot_err_t sign_publish(const turn_t *turn)
{
	update_t update;
	bool is_dropping = (turn->how & EVENT_DROPS_SIGNATURES) != 0;
	log_zone(LOG_INFO, turn->name, "DNSSEC, %s",
			is_dropping ? "dropping previous signatures, re-signing zone" : "signing zone");
	knot_err_t err = update_begin(turn->name, UPDATE_SIGNER, turn->current, &update);
	if (err == KNOT_OK) {
		err = turn_publish(turn, &update);
		update_end(&update);
	}
	return err;
}

knot_err_t server_run_sign(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	const server_author_t author = { .who = "", .is_forced = (how & EVENT_BY_FORCE) != 0 };
	server_commit_t commit = { .reason = "" };
	turn_t turn = { .server = server,
		.entry = entry,
		.name = entry_name(entry),
		.author = &author,
		.commit = &commit,
		.how = how,
		.current = zone_contents(entry_zone(entry)) };
	outcome->load = LOAD_UNCHANGED;
	if (turn.current == NULL || !signing_is_wanted(server, turn.name)) {
		outcome->keeps_result = true;
		return KNOT_OK;
	}
	knot_err_t err = turn_may_change(server, entry) ? load_settings(&server->root, turn.name, &turn.settings)
							: KNOT_EAGAIN;
	err = err == KNOT_OK ? sign_publish(&turn) : err;
	err = err == KNOT_OK ? commit.flaw : err;
	bool is_new = zone_contents(entry_zone(entry)) != turn.current;
	outcome->load = is_new ? LOAD_EDITED : LOAD_UNCHANGED;
	outcome->reason = err != KNOT_OK && commit.reason[0] != '\0' ? strdup(commit.reason) : NULL;
	return err;
}

/* What is served after a load may be signed by an older policy, or by nobody. */
void server_plan_sign(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	if ((ended != EVENT_LOAD && ended != EVENT_BACKUP) || zone_contents(entry_zone(entry)) == NULL) {
		return;
	}
	bool is_done = entry->is_signed && outcome.load != LOAD_UNCHANGED;
	if (!is_done && signing_is_wanted(server, entry_name(entry))) {
		(void)jobs_plan(&server->jobs, entry, EVENT_DNSSEC, sys_clock_ms(), 0);
	}
}

/* ---- Commands ---- */

knot_err_t server_zone_check_signing(server_t *server, knot_name_t name)
{
	conf_zone_t zone;
	RCU_READ_SECTION(guard);
	const state_t *state = state_load(&server->root, guard);
	const zone_t *found = zonedb_find(state->zones, name);
	if (found == NULL || !state_settings(state, name, &zone)) {
		return KNOT_ENOZONE;
	}
	if (!zone.dnssec_signing) {
		return KNOT_ENOTSUP;
	}
	return zone_contents(found) != NULL ? KNOT_OK : KNOT_EEMPTYZONE;
}

knot_err_t server_zone_sign(server_t *server, knot_name_t name, unsigned how, server_ticket_t *ret_ticket)
{
	knot_err_t err = server_zone_check_signing(server, name);
	return err == KNOT_OK ? server_zone_ask(server, name, EVENT_DNSSEC, how, ret_ticket) : err;
}

static knot_err_t sign_confirm(const turn_t *turn, void *ctx)
{
	const uint32_t *delay_s = ctx;
	return turn->current != NULL
			       ? signing_confirm(turn->server, entry_zone(turn->entry), turn->current, NULL, *delay_s)
			       : KNOT_EEMPTYZONE;
}

knot_err_t server_zone_confirm_ksk(server_t *server, knot_name_t name, uint32_t delay_s)
{
	static const server_author_t author = { .who = "" };
	server_commit_t commit = { .reason = "" };
	knot_err_t err = server_zone_check_signing(server, name);
	err = err == KNOT_OK ? turn_run(server, name, &author, false, sign_confirm, &delay_s, &commit) : err;
	return err == KNOT_OK ? server_zone_ask(server, name, EVENT_DNSSEC, 0, NULL) : err;
}
