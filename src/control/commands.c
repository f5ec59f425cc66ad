/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Commands for the server as a whole.
 */
#include "src/control/counters.h"
#include "src/control/session.h"
#include "src/sys/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

/* ---- status ---- */

enum { STATUS_TEXT_MAX = 1024 };

static void status_version(session_t *session, char text[static STATUS_TEXT_MAX])
{
	(void)session;
	snprintf(text, STATUS_TEXT_MAX, "Version: %s", PACKAGE_VERSION);
}

static void status_workers(session_t *session, char text[static STATUS_TEXT_MAX])
{
	net_workers_t net = net_workers(session->net);
	server_workers_t background = server_workers(session->server);
	snprintf(text, STATUS_TEXT_MAX,
			"UDP workers: %u, TCP workers: %u, XDP workers: %u, background workers: %u (running: %u, "
			"pending: %zu)",
			net.udp, net.tcp, net.xdp, background.workers, background.running, background.pending);
}

static void status_configure(session_t *session, char text[static STATUS_TEXT_MAX])
{
	(void)session;
	snprintf(text, STATUS_TEXT_MAX,
			"Version: %s\nCompiler: %s\nRun dir: %s\nStorage dir: %s\nConfig dir: %s\nXDP support: yes",
			PACKAGE_STRING, __VERSION__, KNOT_RUN_DIR, KNOT_STORAGE_DIR, KNOT_CONFIG_DIR);
}

static void status_cert_key(session_t *session, char text[static STATUS_TEXT_MAX])
{
	(void)session;
	snprintf(text, STATUS_TEXT_MAX, "-"); /* no TLS or QUIC, no key */
}

static const struct {
	const char *name;
	void (*print)(session_t *session, char text[static STATUS_TEXT_MAX]);
} status_details[] = {
	{ "version", status_version },
	{ "workers", status_workers },
	{ "configure", status_configure },
	{ "cert-key", status_cert_key },
};

command_result_t command_status(session_t *session)
{
	knot_ctl_data_t reply;
	memcpy(reply, session->args, sizeof(reply));
	const char *detail = session->args[KNOT_CTL_IDX_TYPE];
	if (detail == NULL || *detail == '\0') {
		if (server_is_loading(session->server)) {
			reply[KNOT_CTL_IDX_FILTERS] = "l";
		}
		session_send(session, KNOT_CTL_TYPE_DATA, &reply);
		return command_result(KNOT_OK);
	}
	for (size_t i = 0; i < KNOT_LEN(status_details); i++) {
		if (strcasecmp(status_details[i].name, detail) == 0) {
			char text[STATUS_TEXT_MAX];
			status_details[i].print(session, text);
			reply[KNOT_CTL_IDX_DATA] = text;
			session_send(session, KNOT_CTL_TYPE_DATA, &reply);
			return command_result(KNOT_OK);
		}
	}
	return command_result(KNOT_EPARAM);
}

/* ---- stop, reload ---- */

command_result_t command_stop(session_t *session)
{
	(void)session;
	return (command_result_t){ .effects = COMMAND_DID_STOP };
}

typedef struct {
	session_t *session;
	uint64_t since_s;
	sys_log_captured_t *lines; /* gets a line for each zone */
} failed_zones_t;

static void command_note_failed_zone(knot_name_t name, const server_fault_t *fault, void *ctx)
{
	failed_zones_t *failed = ctx;
	if (fault->last_s < failed->since_s || failed->lines->count++ >= SYS_LOG_CAPTURE_MAX) {
		return;
	}
	char zone[KNOT_NAME_TEXT_MAX];
	(void)knot_name_print(name, zone);
	char *text = failed->lines->lines[failed->lines->count - 1].text;
	snprintf(text, SYS_LOG_MESSAGE_MAX, "[%.160s] %.60s%s%.280s", zone, knot_strerror(fault->err),
			fault->reason[0] != '\0' ? ", " : "", fault->reason);
}

/* Wait for what the reload started, and note the zones that failed since. */
static void command_wait_for_zones(session_t *session, uint64_t since_s, sys_log_captured_t *lines)
{
	session_unlock(session);
	server_wait_idle(session->server);
	failed_zones_t failed = { session, since_s, lines };
	server_each_fault(session->server, command_note_failed_zone, &failed);
}

command_result_t command_reload(session_t *session)
{
	session_assert_alone(session);
	uint64_t begin_s = sys_clock_wall();
	sys_log_captured_t lines;
	sys_log_capture(&lines);
	knot_err_t err = server_reload(session->server);
	if (err == KNOT_OK) {
		(void)net_reconfigure(session->net); /* the configuration is in force; what failed becomes warnings */
	}
	sys_log_end_capture();
	if (err != KNOT_OK) {
		return session_failure(session, err, &lines);
	}
	if (session_flag(session, 'B')) {
		command_wait_for_zones(session, begin_s, &lines);
	}
	session_send_warnings(session, &lines);
	return (command_result_t){ .effects = COMMAND_DID_CONF };
}

/* ---- stats ---- */

typedef struct {
	session_t *session;
	const char *zone;           /* text, or NULL */
	const char *section, *item; /* wanted, or NULL */
	bool zeros;
	bool is_known;  /* some counter is of the wanted section and item */
	char last[128]; /* section and item of the unit before */
} listing_t;

static bool command_send_counter(const counter_t *counter, void *ctx)
{
	listing_t *listing = ctx;
	if ((listing->section != NULL && strcasecmp(listing->section, counter->section) != 0) ||
			(listing->item != NULL && strcasecmp(listing->item, counter->item) != 0)) {
		return true;
	}
	listing->is_known = true;
	if (counter->value == 0 && !listing->zeros) {
		return true;
	}
	char key[sizeof(listing->last)], value[24];
	snprintf(key, sizeof(key), "%s.%s", counter->section, counter->item);
	snprintf(value, sizeof(value), "%" PRIu64, counter->value);
	knot_ctl_data_t unit = {
		[KNOT_CTL_IDX_SECTION] = counter->section,
		[KNOT_CTL_IDX_ITEM] = counter->item,
		[KNOT_CTL_IDX_ID] = counter->id,
		[KNOT_CTL_IDX_ZONE] = listing->zone,
		[KNOT_CTL_IDX_DATA] = value,
	};
	/* The first of a group is DATA, the others are EXTRA. */
	bool is_more = counter->id != NULL && strcmp(key, listing->last) == 0;
	memcpy(listing->last, key, sizeof(key));
	session_send(listing->session, is_more ? KNOT_CTL_TYPE_EXTRA : KNOT_CTL_TYPE_DATA, &unit);
	return !listing->session->broken;
}

static listing_t command_make_listing(session_t *session, const char *zone)
{
	return (listing_t){
		.session = session,
		.zone = zone,
		.zeros = session_flag(session, 'F'),
		.section = session->args[KNOT_CTL_IDX_SECTION],
		.item = session->args[KNOT_CTL_IDX_ITEM],
		.is_known = session->args[KNOT_CTL_IDX_SECTION] == NULL,
	};
}

command_result_t command_stats(session_t *session)
{
	listing_t listing = command_make_listing(session, NULL);
	counters_reading_t *reading = counters_read(session->server, session->net);
	if (reading == NULL) {
		return command_result(KNOT_ENOMEM);
	}
	session_hold(session);
	{
		RCU_READ_SECTION(guard);
		const state_t *state = state_load(server_state(session->server), guard);
		(void)counters_server(state, session->net, reading, command_send_counter, &listing);
	}
	session_release(session);
	counters_reading_free(reading);
	return command_result(listing.is_known ? KNOT_OK : KNOT_EPARAM);
}

command_result_t command_zone_stats(session_t *session, const session_zone_t *zone)
{
	listing_t listing = command_make_listing(session, zone->text);
	bool is_there;
	session_hold(session);
	{
		RCU_READ_SECTION(guard);
		const state_t *state = state_load(server_state(session->server), guard);
		const zone_t *found = zonedb_find(state->zones, zone->name);
		is_there = found != NULL;
		if (is_there) {
			(void)counters_zone(state, found, true, command_send_counter, &listing);
		}
	}
	session_release(session);
	return command_result(!is_there ? KNOT_ENOZONE : listing.is_known ? KNOT_OK : KNOT_EPARAM);
}
