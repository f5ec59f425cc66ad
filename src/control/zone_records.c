/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Commands that list records: zone-read of what is served, zone-get and zone-diff of an open transaction, zone-diff of
 * the zone file.
 */
#include "src/control/session.h"

#include "libknot/rr/rrtype.h"
#include "libknot/text/rdata_text.h"
#include "src/event/zone_edit.h"
#include "src/zone/diff.h"
#include "src/zone/image.h"
#include "src/zone/records.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
	session_t *session;
	const session_zone_t *zone;
	const char *marker; /* FILTERS of the reply: "+", "-" or NULL */
	bool has_type;
	uint16_t type;
	knot_name_t owner; /* of owner_wire[], lower case; wire NULL: all */
	uint8_t owner_wire[KNOT_NAME_MAX];
	char *text; /* owned, KNOT_RDATA_TEXT_MAX bytes */
} reading_t;

static bool zone_records_send_record(const zone_rr_t *rr, void *ctx)
{
	reading_t *reading = ctx;
	if (reading->has_type && reading->type != rr->type) {
		return true;
	}
	char owner[KNOT_NAME_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX], ttl[16];
	(void)knot_name_print(rr->owner, owner);
	(void)knot_rrtype_print(rr->type, type);
	size_t len = knot_rdata_print(rr->type, rr->rdata, reading->text, KNOT_RDATA_TEXT_MAX);
	snprintf(ttl, sizeof(ttl), "%" PRIu32, rr->ttl);
	knot_ctl_data_t unit = {
		[KNOT_CTL_IDX_ZONE] = reading->zone->text,
		[KNOT_CTL_IDX_OWNER] = owner,
		[KNOT_CTL_IDX_TTL] = ttl,
		[KNOT_CTL_IDX_TYPE] = type,
		[KNOT_CTL_IDX_DATA] = reading->text,
		/* Read from FLAGS by clients of Knot 3.2, from FILTERS by later ones. */
		[KNOT_CTL_IDX_FLAGS] = reading->marker,
		[KNOT_CTL_IDX_FILTERS] = reading->marker,
	};
	/* A text longer than a control item can carry: the record is there, its data can't be shown. */
	if (len > UINT16_MAX) {
		unit[KNOT_CTL_IDX_DATA] = NULL;
	}
	session_send(reading->session, KNOT_CTL_TYPE_DATA, &unit);
	return !reading->session->broken;
}

/* What the unit asks for. The text is to be freed. */
static knot_err_t zone_records_begin_reading(session_t *session, const session_zone_t *zone, reading_t *ret_reading)
{
	const char *owner = session->args[KNOT_CTL_IDX_OWNER], *type = session->args[KNOT_CTL_IDX_TYPE];
	*ret_reading = (reading_t){ .session = session, .zone = zone, .has_type = type != NULL };
	if (owner != NULL) {
		knot_name_t name;
		/* As Knot: no owner is all names, an empty one the apex. */
		owner = *owner != '\0' ? owner : "@";
		if (knot_name_scan(knot_str_of(owner), zone->name, ret_reading->owner_wire, &name) != KNOT_OK) {
			return KNOT_EPARAM;
		}
		knot_name_lower(name, ret_reading->owner_wire);
		ret_reading->owner = knot_name_of(ret_reading->owner_wire);
	}
	if (type != NULL && knot_rrtype_scan(knot_str_of(type), &ret_reading->type) != KNOT_OK) {
		return KNOT_EPARAM;
	}
	ret_reading->text = malloc(KNOT_RDATA_TEXT_MAX);
	return ret_reading->text != NULL ? KNOT_OK : KNOT_ENOMEM;
}

/* ---- zone-read ---- */

static knot_err_t zone_records_read_contents(reading_t *reading, const zone_contents_t *contents, uint8_t *scratch)
{
	if (reading->owner.wire == NULL) {
		(void)zone_each_record(contents, scratch, zone_records_send_record, reading);
		return KNOT_OK;
	}
	if (zone_find_node(contents, reading->owner) == NULL) {
		return KNOT_ENONODE;
	}
	(void)zone_each_of_name(contents, reading->owner, scratch, zone_records_send_record, reading);
	return KNOT_OK;
}

/* The zone's version: held, since a read section must not wait for a peer. ret_held: NULL: no contents; else free it
 * with zone_contents_free(). */
static knot_err_t zone_records_hold_contents(session_t *session, const session_zone_t *zone, zone_contents_t **ret_held)
{
	RCU_READ_SECTION(guard);
	const zone_t *found = zonedb_find(state_load(server_state(session->server), guard)->zones, zone->name);
	const zone_contents_t *contents = found != NULL ? zone_contents(found) : NULL;
	zone_contents_t *held = contents != NULL ? zone_image_hold(contents) : NULL;
	if (found == NULL || (contents != NULL && held == NULL)) {
		return found == NULL ? KNOT_ENOZONE : KNOT_ENOMEM;
	}
	*ret_held = held;
	return KNOT_OK;
}

command_result_t command_zone_read(session_t *session, const session_zone_t *zone)
{
	reading_t reading;
	knot_err_t err = zone_records_begin_reading(session, zone, &reading);
	if (err != KNOT_OK) {
		return command_result(err);
	}
	zone_contents_t *held = NULL;
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	err = scratch != NULL ? zone_records_hold_contents(session, zone, &held) : KNOT_ENOMEM;
	if (err == KNOT_OK) {
		err = held != NULL                 ? zone_records_read_contents(&reading, held, scratch)
		      : reading.owner.wire != NULL ? KNOT_ENONODE
						   : KNOT_OK;
	}
	zone_contents_free(held);
	free(scratch);
	free(reading.text);
	return command_result(err);
}

/* ---- zone-get, zone-diff ---- */

static knot_err_t zone_records_get_records(reading_t *reading, zone_txn_t *txn)
{
	if (reading->owner.wire == NULL) {
		return zone_txn_each(txn, zone_records_send_record, reading);
	}
	knot_err_t err = zone_txn_each_of(txn, reading->owner, zone_records_send_record, reading);
	return err == KNOT_ENONODE ? zone_txn_find(txn, reading->owner) : err;
}

static knot_err_t zone_records_diff_records(reading_t *reading, zone_txn_t *txn)
{
	reading->marker = "-";
	knot_err_t err = zone_txn_diff(txn, false, zone_records_send_record, reading);
	reading->marker = "+";
	return err == KNOT_OK ? zone_txn_diff(txn, true, zone_records_send_record, reading) : err;
}

static knot_err_t zone_records_read_transaction(
		session_t *session, const session_zone_t *zone, knot_err_t (*read)(reading_t *reading, zone_txn_t *txn))
{
	server_edit_t *edit;
	edit_t changes;
	reading_t reading;
	knot_err_t err = server_edit_enter(session->server, zone->name, &edit, &changes);
	if (err != KNOT_OK) {
		return err;
	}
	session_hold(session);
	err = zone_records_begin_reading(session, zone, &reading);
	err = err == KNOT_OK ? read(&reading, changes.txn) : err;
	server_edit_leave(session->server, edit);
	session_release(session);
	free(reading.text);
	return err;
}

command_result_t command_zone_get(session_t *session, const session_zone_t *zone)
{
	return command_result(zone_records_read_transaction(session, zone, zone_records_get_records));
}

/* ---- zone-diff +file ---- */

typedef struct {
	reading_t *reading;
	bool wants_added;
} file_pass_t;

static bool zone_records_send_difference(const zone_rr_t *rr, bool is_added, void *ctx)
{
	const file_pass_t *pass = ctx;
	return is_added != pass->wants_added || zone_records_send_record(rr, pass->reading);
}

/* As the other lists: what goes, then what comes. */
static knot_err_t zone_records_diff_versions(
		reading_t *reading, const zone_contents_t *served, const zone_contents_t *file)
{
	file_pass_t pass = { .reading = reading };
	reading->marker = "-";
	knot_err_t err = zone_diff(served, file, zone_records_send_difference, &pass);
	pass.wants_added = true;
	reading->marker = "+";
	return err == KNOT_OK ? zone_diff(served, file, zone_records_send_difference, &pass) : err;
}

static command_result_t zone_records_diff_file(session_t *session, const session_zone_t *zone)
{
	char reason[FAULT_REASON_MAX] = "";
	zone_contents_t *served = NULL, *file = NULL;
	reading_t reading;
	knot_err_t err = zone_records_begin_reading(session, zone, &reading);
	if (err != KNOT_OK) {
		return command_result(err);
	}
	err = zone_records_hold_contents(session, zone, &served);
	err = err == KNOT_OK && served == NULL ? KNOT_EEMPTYZONE : err;
	err = err == KNOT_OK ? server_build_file(session->server, zone->name, reason, &file) : err;
	if (err == KNOT_OK) {
		err = zone_records_diff_versions(&reading, served, file);
		zone_contents_free(file);
	}
	zone_contents_free(served);
	free(reading.text);
	snprintf(session->reason, sizeof(session->reason), "%s", reason);
	return (command_result_t){ .err = err, .reason = reason[0] != '\0' ? session->reason : NULL };
}

command_result_t command_zone_diff(session_t *session, const session_zone_t *zone)
{
	if (session_filter(session, 'f')) {
		return zone_records_diff_file(session, zone);
	}
	return command_result(zone_records_read_transaction(session, zone, zone_records_diff_records));
}
