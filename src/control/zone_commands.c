/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Commands for zones: status, reload, read.
 */
#include "src/control/session.h"

#include "libknot/rr/rrtype.h"
#include "libknot/text/rdata_text.h"
#include "src/sys/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- zone-status ---- */

enum { FIELD_TEXT_MAX = 64 };

typedef struct {
	session_t *session;
	const session_zone_t *zone;
	bool has_contents;
	uint32_t serial;
} zone_facts_t;

static void print_role(const zone_facts_t *facts, int event, char text[static FIELD_TEXT_MAX])
{
	(void)facts, (void)event;
	snprintf(text, FIELD_TEXT_MAX, "master");
}

static void print_serial(const zone_facts_t *facts, int event, char text[static FIELD_TEXT_MAX])
{
	(void)event;
	if (facts->has_contents) {
		snprintf(text, FIELD_TEXT_MAX, "%" PRIu32, facts->serial);
	} else {
		snprintf(text, FIELD_TEXT_MAX, "-");
	}
}

/* Of what the server can't be asked to do (transactions, freezing, catalogs, most events) nothing is ever under way. */
static void print_none(const zone_facts_t *facts, int event, char text[static FIELD_TEXT_MAX])
{
	(void)facts, (void)event;
	snprintf(text, FIELD_TEXT_MAX, "-");
}

/* "+23h58m1s": sign, then the units that aren't 0. */
static void print_interval(int64_t seconds, char *text, size_t max)
{
	static const struct {
		char letter;
		int64_t seconds;
	} units[] = {
		{ 'Y', 365 * 86400 }, { 'M', 30 * 86400 }, { 'D', 86400 }, { 'h', 3600 }, { 'm', 60 }, { 's', 1 },
	};
	size_t len = (size_t)snprintf(text, max, "%c", seconds < 0 ? '-' : '+');
	int64_t left = seconds < 0 ? -seconds : seconds;
	for (size_t i = 0; i < KNOT_LEN(units) && len < max; i++) {
		int64_t count = left / units[i].seconds;
		left %= units[i].seconds;
		bool is_only = units[i].seconds == 1 && len == 1;
		if (count > 0 || is_only) {
			len += (size_t)snprintf(text + len, max - len, "%" PRId64 "%c", count, units[i].letter);
		}
	}
}

void session_print_time(const session_t *session, uint64_t when_s, char *text, size_t max)
{
	if (session_filter(session, 'u')) {
		snprintf(text, max, "%" PRIu64, when_s);
	} else {
		print_interval((int64_t)when_s - (int64_t)sys_clock_wall(), text, max);
	}
}

static void print_contents(const zone_facts_t *facts, int event, char text[static FIELD_TEXT_MAX])
{
	(void)event;
	static const char *const origins[] = {
		[SERVER_ORIGIN_NONE] = "-", [SERVER_ORIGIN_FILE] = "file", [SERVER_ORIGIN_IMAGE] = "image",
	};
	snprintf(text, FIELD_TEXT_MAX, "%s", origins[server_zone_origin(facts->session->server, facts->zone->name)]);
}

static void print_event(const zone_facts_t *facts, int event, char text[static FIELD_TEXT_MAX])
{
	server_event_status_t status = server_zone_event(facts->session->server, facts->zone->name,
	                                                 (server_event_t)event);
	if (status.state == SERVER_EVENT_IDLE) {
		snprintf(text, FIELD_TEXT_MAX, "-");
		return;
	}
	char when[FIELD_TEXT_MAX - 16];
	session_print_time(facts->session, status.since_s, when, sizeof(when));
	snprintf(text, FIELD_TEXT_MAX, "%s(%s)", status.state == SERVER_EVENT_RUNNING ? "running" : "pending", when);
}

/* In the order of the reply. */
static const struct {
	const char *name;
	char filter;
	int event;
	void (*print)(const zone_facts_t *facts, int event, char text[static FIELD_TEXT_MAX]);
} status_fields[] = {
	{ "role", 'r', 0, print_role },
	{ "serial", 's', 0, print_serial },
	{ "transaction", 't', 0, print_none },
	{ "freeze", 'f', 0, print_none },
	{ "XFR-freeze", 'f', 0, print_none },
	{ "catalog", 'c', 0, print_none },
	{ "load", 'e', SERVER_EVENT_LOAD, print_event },
	{ "refresh", 'e', 0, print_none },
	{ "update", 'e', 0, print_none },
	{ "expiration", 'e', 0, print_none },
	{ "purge", 'e', 0, print_none },
	{ "flush", 'e', 0, print_none },
	{ "backup/restore", 'e', 0, print_none },
	{ "notify", 'e', 0, print_none },
	{ "re-sign", 'e', 0, print_none },
	{ "DNSSEC-validate", 'e', 0, print_none },
	{ "DS-check", 'e', 0, print_none },
	{ "DS-push", 'e', 0, print_none },
	{ "DNSKEY-sync", 'e', 0, print_none },
	{ "contents", 'o', 0, print_contents },     /* ours */
};

/* True if FILTERS name no field at all: then all are meant ("u" only says how times are printed). */
static bool wants_all(const session_t *session)
{
	const char *filters = session->args[KNOT_CTL_IDX_FILTERS];
	return filters == NULL || strspn(filters, "u") == strlen(filters);
}

static knot_err_t zone_status(session_t *session, const session_zone_t *zone)
{
	zone_facts_t facts = { .session = session, .zone = zone };
	{
		RCU_READ_SECTION(guard);
		const zone_t *found = zonedb_find(state_load(server_state(session->server), guard)->zones, zone->name);
		if (found == NULL) {
			return KNOT_ENOZONE;
		}
		const zone_contents_t *contents = zone_contents(found);
		facts.has_contents = contents != NULL;
		facts.serial = contents != NULL ? contents->serial : 0;
	}
	/* Markers are read from FLAGS by clients of Knot 3.2 and from FILTERS by later ones. */
	const char *markers = facts.has_contents ? "" : "e";
	knot_ctl_type_t type = KNOT_CTL_TYPE_DATA;
	for (size_t i = 0; i < KNOT_LEN(status_fields); i++) {
		if (!wants_all(session) && !session_filter(session, status_fields[i].filter)) {
			continue;
		}
		char text[FIELD_TEXT_MAX];
		status_fields[i].print(&facts, status_fields[i].event, text);
		knot_ctl_data_t unit = {
			[KNOT_CTL_IDX_FLAGS] = markers, [KNOT_CTL_IDX_ZONE] = zone->text,
			[KNOT_CTL_IDX_TYPE] = status_fields[i].name, [KNOT_CTL_IDX_DATA] = text,
			[KNOT_CTL_IDX_FILTERS] = markers,
		};
		session_send(session, type, &unit);
		type = KNOT_CTL_TYPE_EXTRA;
	}
	return KNOT_OK;
}

knot_err_t command_zone_status(session_t *session)
{
	return session_each_zone(session, zone_status, NULL);
}

/* ---- zone-reload ---- */

static knot_err_t zone_reload(session_t *session, const session_zone_t *zone)
{
	return server_zone_reload(session->server, zone->name, &session->ticket);
}

static knot_err_t zone_reload_wait(session_t *session, const session_zone_t *zone)
{
	return server_zone_wait(session->server, zone->name, session->ticket);
}

knot_err_t command_zone_reload(session_t *session)
{
	return session_each_zone(session, zone_reload, zone_reload_wait);
}

/* ---- zone-read ---- */

typedef struct {
	session_t *session;
	const session_zone_t *zone;
	bool has_type;
	uint16_t type;
	uint8_t *rdata;         /* owned, KNOT_RDATA_MAX bytes */
	char *text;             /* owned, KNOT_RDATA_TEXT_MAX bytes */
} reading_t;

static void send_records(reading_t *reading, const char *owner, const zone_node_t *node, const zone_rrset_t *set,
                         bool sigs)
{
	uint16_t type = sigs ? KNOT_TYPE_RRSIG : zone_rrset_type(set);
	if (reading->has_type && reading->type != type) {
		return;
	}
	char type_text[KNOT_TYPE_TEXT_MAX], ttl_text[16];
	(void)knot_rrtype_print(type, type_text);
	zone_rr_iter_t iter = zone_rr_begin(node, set, sigs);
	uint32_t ttl;
	knot_bytes_t rdata;
	while (!reading->session->broken &&
	       zone_rr_next(&iter, (knot_mut_bytes_t){ reading->rdata, KNOT_RDATA_MAX }, &ttl, &rdata)) {
		(void)knot_rdata_print(type, rdata, reading->text, KNOT_RDATA_TEXT_MAX);
		snprintf(ttl_text, sizeof(ttl_text), "%" PRIu32, ttl);
		knot_ctl_data_t unit = {
			[KNOT_CTL_IDX_ZONE] = reading->zone->text, [KNOT_CTL_IDX_OWNER] = owner,
			[KNOT_CTL_IDX_TTL] = ttl_text, [KNOT_CTL_IDX_TYPE] = type_text, [KNOT_CTL_IDX_DATA] = reading->text,
		};
		/* A text longer than a control item can carry: the record is there, its data can't be shown. */
		if (strlen(reading->text) > UINT16_MAX) {
			unit[KNOT_CTL_IDX_DATA] = NULL;
		}
		session_send(reading->session, KNOT_CTL_TYPE_DATA, &unit);
	}
}

static void send_node(reading_t *reading, const zone_arena_view_t *arena, const zone_node_t *node)
{
	char owner[KNOT_NAME_TEXT_MAX];
	(void)knot_name_print(zone_node_owner(node), owner);
	unsigned count = zone_node_rrset_count(node);
	for (unsigned i = 0; i < count; i++) {
		send_records(reading, owner, node, zone_node_rrset_at(arena, node, i), false);
	}
	for (unsigned i = 0; i < count; i++) {
		send_records(reading, owner, node, zone_node_rrset_at(arena, node, i), true);
	}
}

/* owner: wire NULL: the whole zone. */
static knot_err_t read_contents(reading_t *reading, const zone_contents_t *contents, knot_name_t owner)
{
	if (owner.wire != NULL) {
		const zone_node_t *node = zone_find_node(contents, owner);
		if (node == NULL) {
			return KNOT_ENONODE;
		}
		send_node(reading, &contents->arena, node);
		return KNOT_OK;
	}
	zone_node_iter_t iter;
	zone_nodes_begin(contents, &iter);
	for (const zone_node_t *node; (node = zone_nodes_next(contents, &iter)) != NULL && !reading->session->broken;) {
		send_node(reading, &contents->arena, node);
	}
	return KNOT_OK;
}

static knot_err_t zone_read(session_t *session, const session_zone_t *zone)
{
	reading_t reading = { .session = session, .zone = zone };
	const char *owner_text = session->args[KNOT_CTL_IDX_OWNER], *type_text = session->args[KNOT_CTL_IDX_TYPE];
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t owner = { 0 };
	if (owner_text != NULL) {
		if (knot_name_scan(knot_str_of(owner_text), zone->name, wire, &owner) != KNOT_OK) {
			return KNOT_EPARAM;
		}
		knot_name_lower(owner, wire);
		owner = knot_name_of(wire);
	}
	if (type_text != NULL) {
		reading.has_type = true;
		if (knot_rrtype_scan(knot_str_of(type_text), &reading.type) != KNOT_OK) {
			return KNOT_EPARAM;
		}
	}
	reading.rdata = malloc(KNOT_RDATA_MAX);
	reading.text = malloc(KNOT_RDATA_TEXT_MAX);
	knot_err_t err = KNOT_ENOMEM;
	if (reading.rdata != NULL && reading.text != NULL) {
		knot_ctl_set_buffer(session->ctl, SESSION_BUFFER_MAX);
		{
			RCU_READ_SECTION(guard);
			const zone_t *found = zonedb_find(state_load(server_state(session->server), guard)->zones, zone->name);
			const zone_contents_t *contents = found != NULL ? zone_contents(found) : NULL;
			err = found == NULL ? KNOT_ENOZONE
			    : contents != NULL ? read_contents(&reading, contents, owner)
			    : owner_text != NULL ? KNOT_ENONODE : KNOT_OK;
		}
		knot_ctl_set_buffer(session->ctl, 0);
	}
	free(reading.rdata);
	free(reading.text);
	return err;
}

knot_err_t command_zone_read(session_t *session)
{
	return session_each_zone(session, zone_read, NULL);
}
