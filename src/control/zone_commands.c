/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Commands for zones: status, reload, flush, freeze, thaw.
 */
#include "src/control/session.h"

#include "libknot/base/number.h"
#include "src/event/zone_edit.h"
#include "src/event/zone_flush.h"
#include "src/event/zone_sign.h"
#include "src/sys/clock.h"
#include "src/sys/interval.h"
#include "src/sys/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- zone-status ---- */

enum { FIELD_TEXT_MAX = KNOT_NAME_TEXT_MAX + 64 + FAULT_REASON_MAX };

typedef struct {
	session_t *session;
	const session_zone_t *zone;
	bool has_contents;
	uint32_t serial;
	bool has_frozen_transfers;
	bool is_failed;
	server_fault_t fault; /* if it failed */
	char catalog[FIELD_TEXT_MAX];
} zone_facts_t;

static void zone_command_print_role(const zone_facts_t *facts, int event, char text[static FIELD_TEXT_MAX])
{
	(void)event;
	bool is_secondary = server_is_secondary(facts->session->server, facts->zone->name);
	snprintf(text, FIELD_TEXT_MAX, "%s", is_secondary ? "slave" : "master");
}

static void zone_command_print_serial(const zone_facts_t *facts, int event, char text[static FIELD_TEXT_MAX])
{
	(void)event;
	if (facts->has_contents) {
		snprintf(text, FIELD_TEXT_MAX, "%" PRIu32, facts->serial);
	} else {
		snprintf(text, FIELD_TEXT_MAX, "-");
	}
}

static void zone_command_print_catalog(const zone_facts_t *facts, int event, char text[static FIELD_TEXT_MAX])
{
	(void)event;
	snprintf(text, FIELD_TEXT_MAX, "%s", facts->catalog);
}

static void zone_command_write_catalog(
		const char *mark, knot_name_t catalog, knot_bytes_t group, char text[static FIELD_TEXT_MAX])
{
	char name[KNOT_NAME_TEXT_MAX];
	(void)knot_name_print(catalog, name);
	(void)snprintf(text, FIELD_TEXT_MAX, "%s%s%s%.*s", mark, name, group.len > 0 ? "#" : "", (int)group.len,
			group.len > 0 ? (const char *)group.data : "");
}

/* Role of the zone in catalogs, or the catalog that lists it. Within a read section. */
static void zone_command_find_catalog(const state_t *state, const zone_t *zone, char text[static FIELD_TEXT_MAX])
{
	const zone_member_t *member = zone_member(zone);
	conf_zone_t conf;
	if (member != NULL) {
		zone_command_write_catalog("", zone_member_catalog(member), zone_member_group(member), text);
		return;
	}
	bool has = state_settings(state, zone_name(zone), &conf);
	conf_catalog_role_t role = has ? conf.catalog_role : CONF_CATALOG_NONE;
	if (role == CONF_CATALOG_MEMBER) {
		const char *group = conf.catalog_group != NULL ? conf.catalog_group : "";
		zone_command_write_catalog("@", knot_name_of(conf.catalog_zone.data),
				(knot_bytes_t){ (const uint8_t *)group, strlen(group) }, text);
		return;
	}
	snprintf(text, FIELD_TEXT_MAX, "%s",
			role == CONF_CATALOG_INTERPRET  ? "interpret"
			: role == CONF_CATALOG_GENERATE ? "generate"
							: "-");
}

static void zone_command_print_transaction(const zone_facts_t *facts, int event, char text[static FIELD_TEXT_MAX])
{
	(void)event;
	bool is_open = server_edit_is_open(facts->session->server, facts->zone->name);
	bool is_validated = !is_open && server_is_validated(facts->session->server, facts->zone->name);
	snprintf(text, FIELD_TEXT_MAX, "%s", is_open ? "open" : is_validated ? "open-external" : "-");
}

/* It takes effect at once: there is no "freezing" or "thawing". */
static void zone_command_print_freeze(const zone_facts_t *facts, int event, char text[static FIELD_TEXT_MAX])
{
	(void)event;
	bool is_frozen = server_zone_is_frozen(facts->session->server, facts->zone->name);
	snprintf(text, FIELD_TEXT_MAX, "%s", is_frozen ? "yes" : "-");
}

static void zone_command_print_xfr_freeze(const zone_facts_t *facts, int event, char text[static FIELD_TEXT_MAX])
{
	(void)event;
	snprintf(text, FIELD_TEXT_MAX, "%s", facts->has_frozen_transfers ? "yes" : "-");
}

void session_send_fields(session_t *session, const session_zone_t *zone, const session_field_t *fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		knot_ctl_data_t unit = { [KNOT_CTL_IDX_ZONE] = zone->text,
			[KNOT_CTL_IDX_TYPE] = fields[i].name,
			[KNOT_CTL_IDX_DATA] = fields[i].text };
		session_send(session, i == 0 ? KNOT_CTL_TYPE_DATA : KNOT_CTL_TYPE_EXTRA, &unit);
	}
}

void session_print_time(const session_t *session, uint64_t when_s, char *text, size_t max)
{
	if (session_flag(session, 'u') || session_filter(session, 'u')) {
		snprintf(text, max, "%" PRIu64, when_s);
	} else {
		sys_interval_print((int64_t)when_s - (int64_t)sys_clock_wall(), text, max);
	}
}

static void zone_command_print_contents(const zone_facts_t *facts, int event, char text[static FIELD_TEXT_MAX])
{
	(void)event;
	static const char *const origins[] = {
		[SERVER_ORIGIN_NONE] = "-",
		[SERVER_ORIGIN_FILE] = "file",
		[SERVER_ORIGIN_IMAGE] = "image",
	};
	snprintf(text, FIELD_TEXT_MAX, "%s", origins[server_zone_origin(facts->session->server, facts->zone->name)]);
}

static void zone_command_print_event(const zone_facts_t *facts, int event, char text[static FIELD_TEXT_MAX])
{
	server_event_status_t status = server_zone_event(facts->session->server, facts->zone->name, (event_t)event);
	if (status.state == SERVER_EVENT_IDLE) {
		snprintf(text, FIELD_TEXT_MAX, "-");
		return;
	}
	static const char *const formats[] = {
		[SERVER_EVENT_PLANNED] = "%s",
		[SERVER_EVENT_PENDING] = "pending(%s)",
		[SERVER_EVENT_RUNNING] = "running(%s)",
		[SERVER_EVENT_FROZEN] = "frozen(%s)",
	};
	char when[32];
	session_print_time(facts->session, status.since_s, when, sizeof(when));
	snprintf(text, FIELD_TEXT_MAX, formats[status.state], when);
}

/* "failed -5m3s, parser failed, file 'x', line 5, invalid IPv4 address". */
static void zone_command_print_error(const zone_facts_t *facts, int event, char text[static FIELD_TEXT_MAX])
{
	(void)event;
	if (!facts->is_failed) {
		snprintf(text, FIELD_TEXT_MAX, "-");
		return;
	}
	char when[32];
	session_print_time(facts->session, facts->fault.first_s, when, sizeof(when));
	snprintf(text, FIELD_TEXT_MAX, "failed %s, %s%s%s", when, knot_strerror(facts->fault.err),
			facts->fault.reason[0] != '\0' ? ", " : "", facts->fault.reason);
}

/* Ours, and no fields of Knot's: sent only if asked for, so that zone-status looks as scripts know it. */
#define FILTER_CONTENTS 'o'
#define FILTER_ERROR    'x'
/* No field: only zones that failed; with the field error. */
#define FILTER_FAILED 'X'

/* In the order of the reply. */
static const struct {
	const char *name;
	char filter;
	int event;
	void (*print)(const zone_facts_t *facts, int event, char text[static FIELD_TEXT_MAX]);
} status_fields[] = {
	{ "role", 'r', 0, zone_command_print_role },
	{ "serial", 's', 0, zone_command_print_serial },
	{ "transaction", 't', 0, zone_command_print_transaction },
	{ "freeze", 'f', 0, zone_command_print_freeze },
	{ "XFR-freeze", 'f', 0, zone_command_print_xfr_freeze },
	{ "catalog", 'c', 0, zone_command_print_catalog },
/* A row of the table of events; those that are hidden aren't sent. */
#define EVENT(id, name, rules, run, plan)                                                                              \
	{ name, (rules)&EVENT_IS_HIDDEN ? '\0' : 'e', EVENT_##id, zone_command_print_event },
#define EVENT_ABSENT(id, name, rules) EVENT(id, name, rules, NULL, NULL)
#include "src/event/event.def"
#undef EVENT
#undef EVENT_ABSENT
	{ "contents", FILTER_CONTENTS, 0, zone_command_print_contents },
	{ "error", FILTER_ERROR, 0, zone_command_print_error },
};

/* True if FILTERS name no field at all: then all are meant. "u" says how times are printed, "X" which zones. */
static bool zone_command_wants_all(const session_t *session)
{
	const char *filters = session->args[KNOT_CTL_IDX_FILTERS];
	return filters == NULL || strspn(filters, (const char[]){ 'u', FILTER_FAILED, '\0' }) == strlen(filters);
}

static bool zone_command_wants_field(const session_t *session, char filter)
{
	if (filter == '\0') {
		return false;
	}
	if (filter == FILTER_ERROR) {
		return session_filter(session, FILTER_ERROR) || session_filter(session, FILTER_FAILED);
	}
	return session_filter(session, filter) || (zone_command_wants_all(session) && filter != FILTER_CONTENTS);
}

command_result_t command_zone_status(session_t *session, const session_zone_t *zone)
{
	zone_facts_t facts = { .session = session, .zone = zone };
	{
		RCU_READ_SECTION(guard);
		const state_t *state = state_load(server_state(session->server), guard);
		const zone_t *found = zonedb_find(state->zones, zone->name);
		if (found == NULL) {
			return command_result(KNOT_ENOZONE);
		}
		const zone_contents_t *contents = zone_contents(found);
		facts.has_contents = contents != NULL;
		facts.has_frozen_transfers = zone_has_frozen_transfers(found);
		facts.serial = contents != NULL ? contents->serial : 0;
		zone_command_find_catalog(state, found, facts.catalog);
	}
	facts.is_failed = server_zone_fault(session->server, zone->name, &facts.fault);
	if (session_filter(session, FILTER_FAILED) && !facts.is_failed) {
		return command_result(KNOT_OK);
	}
	/* Markers are read from FLAGS by clients of Knot 3.2 and from FILTERS by later ones. */
	const char *markers = facts.has_contents ? "" : "e";
	knot_ctl_type_t type = KNOT_CTL_TYPE_DATA;
	for (size_t i = 0; i < KNOT_LEN(status_fields); i++) {
		if (!zone_command_wants_field(session, status_fields[i].filter)) {
			continue;
		}
		char text[FIELD_TEXT_MAX];
		status_fields[i].print(&facts, status_fields[i].event, text);
		knot_ctl_data_t unit = {
			[KNOT_CTL_IDX_FLAGS] = markers,
			[KNOT_CTL_IDX_ZONE] = zone->text,
			[KNOT_CTL_IDX_TYPE] = status_fields[i].name,
			[KNOT_CTL_IDX_DATA] = text,
			[KNOT_CTL_IDX_FILTERS] = markers,
		};
		session_send(session, type, &unit);
		type = KNOT_CTL_TYPE_EXTRA;
	}
	return command_result(KNOT_OK);
}

/* ---- zone-reload ---- */

command_result_t command_zone_reload(session_t *session, const session_zone_t *zone)
{
	command_result_t result = { .ticket = 0 };
	result.err = server_zone_ask(session->server, zone->name, EVENT_LOAD,
			session_flag(session, 'F') ? EVENT_BY_FORCE : 0,
			session_flag(session, 'B') ? &result.ticket : NULL);
	return result;
}

/* ---- zone-refresh, zone-retransfer ---- */

static command_result_t zone_command_refresh(session_t *session, const session_zone_t *zone, bool is_retransfer)
{
	command_result_t result = { .ticket = 0 };
	result.err = server_zone_refresh(
			session->server, zone->name, is_retransfer, session_flag(session, 'B') ? &result.ticket : NULL);
	return result;
}

command_result_t command_zone_refresh(session_t *session, const session_zone_t *zone)
{
	return zone_command_refresh(session, zone, false);
}

command_result_t command_zone_retransfer(session_t *session, const session_zone_t *zone)
{
	return zone_command_refresh(session, zone, true);
}

command_result_t command_zone_notify(session_t *session, const session_zone_t *zone)
{
	command_result_t result = { .ticket = 0 };
	result.err = server_zone_ask(session->server, zone->name, EVENT_NOTIFY, 0,
			session_flag(session, 'B') ? &result.ticket : NULL);
	return result;
}

/* ---- zone-sign, zone-keys-load, zone-key-rollover, zone-ksk-submitted ---- */

static command_result_t zone_command_sign(session_t *session, const session_zone_t *zone, unsigned how)
{
	command_result_t result = { .ticket = 0 };
	how |= session_flag(session, 'F') ? EVENT_BY_FORCE : 0;
	result.err = server_zone_sign(
			session->server, zone->name, how, session_flag(session, 'B') ? &result.ticket : NULL);
	return result;
}

command_result_t command_zone_sign(session_t *session, const session_zone_t *zone)
{
	return zone_command_sign(session, zone, EVENT_DROPS_SIGNATURES);
}

command_result_t command_zone_keys_load(session_t *session, const session_zone_t *zone)
{
	const command_result_t result = zone_command_sign(session, zone, 0);
	if (result.err == KNOT_EEMPTYZONE) {
		log_zone(LOG_NOTICE, zone->name, "zone is not loaded yet");
	}
	return result;
}

command_result_t command_zone_key_rollover(session_t *session, const session_zone_t *zone)
{
	const char *type = session->args[KNOT_CTL_IDX_TYPE];
	if (type != NULL && strncasecmp(type, "ksk", 3) == 0) {
		return zone_command_sign(session, zone, EVENT_ROLLS_KSK);
	}
	if (type != NULL && strncasecmp(type, "zsk", 3) == 0) {
		return zone_command_sign(session, zone, EVENT_ROLLS_ZSK);
	}
	knot_err_t err = server_zone_check_signing(session->server, zone->name);
	return command_result(err == KNOT_OK ? KNOT_EINVAL : err);
}

command_result_t command_zone_ksk_submitted(session_t *session, const session_zone_t *zone)
{
	uint32_t delay_s = 0;
	if (session_filter(session, 't')) {
		const char *text = session->args[KNOT_CTL_IDX_DATA];
		uint64_t number;
		if (text == NULL || !knot_number_of(text, 0, UINT32_MAX, &number)) {
			return command_result(KNOT_EINVAL);
		}
		delay_s = (uint32_t)number;
	}
	return command_result(server_zone_confirm_ksk(session->server, zone->name, delay_s));
}

command_result_t command_zone_validate(session_t *session, const session_zone_t *zone)
{
	command_result_t result = { .ticket = 0 };
	result.err = server_zone_validate(
			session->server, zone->name, session_flag(session, 'B') ? &result.ticket : NULL);
	return result;
}

/* ---- zone-flush ---- */

command_result_t command_zone_flush(session_t *session, const session_zone_t *zone)
{
	if (session_filter(session, 'd')) {
		const char *folder = session->args[KNOT_CTL_IDX_DATA];
		return command_result(
				folder != NULL ? server_zone_dump(session->server, zone->name, folder) : KNOT_EINVAL);
	}
	command_result_t result = { .ticket = 0 };
	result.err = server_zone_flush(session->server, zone->name, session_flag(session, 'F'), &result.ticket);
	return result;
}

/* ---- zone-freeze, zone-thaw ---- */

static command_result_t zone_command_freeze(session_t *session, const session_zone_t *zone, bool is_frozen)
{
	command_result_t result = { .ticket = 0 };
	result.err = server_zone_freeze(session->server, zone->name, is_frozen, &result.ticket);
	return result;
}

command_result_t command_zone_freeze(session_t *session, const session_zone_t *zone)
{
	return zone_command_freeze(session, zone, true);
}

command_result_t command_zone_xfr_freeze(session_t *session, const session_zone_t *zone)
{
	return command_result(server_zone_freeze_transfers(session->server, zone->name, true));
}

command_result_t command_zone_xfr_thaw(session_t *session, const session_zone_t *zone)
{
	return command_result(server_zone_freeze_transfers(session->server, zone->name, false));
}

command_result_t command_zone_thaw(session_t *session, const session_zone_t *zone)
{
	return zone_command_freeze(session, zone, false);
}
