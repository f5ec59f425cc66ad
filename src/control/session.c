/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/session.h"

#include "src/event/conf_edit.h"
#include "src/event/zone_edit.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/sys/thread.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	LOCKED_WAIT_MS = 5000, /* where control.timeout is 0: its default */
	LOCKED_LIMITS = 4,     /* times that limit: how long a block may keep the lock, with all that its units take */
};

/* A row of commands.def. */
typedef struct {
	const char *name;
	command_flags_t flags;
	session_command_t run;       /* this and `zone` NULL: for zones, known, not supported yet */
	session_zone_command_t zone; /* runs for each zone of the block */
} command_t;

/*
 * COMMAND_FREE is for what lists (and is as long as there are zones), so that other commands don't wait for its reader;
 * the server's own locks and read sections are enough for it.
 */
#define RUN(function)                          .run = (function)
#define ZONES(function)                        .zone = (function)
#define SERVER_COMMAND(word, how, bits, ...)   { .name = (word), .flags = (bits), how },
#define INTERNAL_COMMAND(word, how, bits, ...) { .name = (word), .flags = (bits), how },
#define ABSENT_COMMAND(word, bits, ...)        { .name = (word), .flags = (bits) },
static const command_t commands[] = {
#include "libknot/control/commands.def"
};

static const command_t *session_find_command(const char *name)
{
	for (size_t i = 0; name != NULL && i < KNOT_LEN(commands); i++) {
		if (strcmp(commands[i].name, name) == 0) {
			return &commands[i];
		}
	}
	return NULL;
}

/* ---- Units ---- */

/* How long all of a block may be waited for while it keeps others waiting. */
static int session_locked_wait_max_ms(const session_t *session)
{
	return session->timeout_ms > 0 ? session->timeout_ms : LOCKED_WAIT_MS;
}

/*
 * A client that makes others wait for the rest of a block has one time limit for all of it, not one per unit: by
 * sending little and seldom it would keep the lock otherwise.
 */
static void session_limit_wait(session_t *session)
{
	int64_t left_ms = session_locked_wait_max_ms(session) - (int64_t)session->locked_wait_ms;
	knot_ctl_set_call_timeout(session->ctl, left_ms > 1 ? (int)left_ms : 1);
}

/* After what began at begin_ms, under session_limit_wait(). */
static void session_end_limit(session_t *session, uint64_t begin_ms)
{
	session->locked_wait_ms += sys_clock_ms() - begin_ms;
	knot_ctl_set_call_timeout(session->ctl, 0);
}

static void session_end_connection(session_t *session)
{
	session->broken = true;
	session->type = KNOT_CTL_TYPE_END;
}

/* Whether the block may go on with a unit: one without end must keep neither the lock nor what it fills. Logs. */
static bool session_may_go_on(const session_t *session)
{
	static sys_log_repeats_t repeats;
	const char *what = NULL;
	if (session->is_locked && sys_clock_ms() - session->locked_since_ms >
						  LOCKED_LIMITS * (uint64_t)session_locked_wait_max_ms(session)) {
		what = "kept other commands waiting for too long";
	} else if (session->block_bytes > SESSION_BLOCK_MAX) {
		what = "was too large";
	}
	if (what != NULL) {
		sys_log_repeated(&repeats, SYS_LOG_CONTROL, LOG_WARNING,
				"control, closed a connection whose block of units %s", what);
	}
	return what == NULL;
}

static size_t session_unit_cost(const session_t *session)
{
	size_t cost = SESSION_UNIT_COST;
	for (size_t i = 0; i < KNOT_LEN(session->args); i++) {
		cost += session->args[i] != NULL ? strlen(session->args[i]) : 0;
	}
	return cost;
}

/* Replies and errors name the zone as Knot does, in lower case. */
static void session_lower_zone(session_t *session)
{
	const char *given = session->args[KNOT_CTL_IDX_ZONE];
	size_t len = given != NULL ? strlen(given) : 0;
	if (given == NULL || len >= sizeof(session->zone)) {
		return;
	}
	for (size_t i = 0; i <= len; i++) {
		bool is_upper = given[i] >= 'A' && given[i] <= 'Z';
		session->zone[i] = (char)(is_upper ? given[i] - 'A' + 'a' : given[i]);
	}
	session->args[KNOT_CTL_IDX_ZONE] = session->zone;
}

static bool session_receive_unit(session_t *session)
{
	uint64_t begin_ms = sys_clock_ms();
	if (session->is_locked) {
		session_limit_wait(session);
	}
	peer_wait_begin(session->wait, PEER_WAIT_INPUT,
			session->skip_since_ms != 0 ? session->skip_since_ms : begin_ms);
	knot_err_t err = knot_ctl_receive(session->ctl, &session->type, &session->args);
	if (!peer_wait_end(session->wait)) {
		err = KNOT_ECONNCLOSED;
	}
	if (session->is_locked) {
		session_end_limit(session, begin_ms);
	}
	if (err != KNOT_OK) {
		if (err != KNOT_ECONNCLOSED) {
			log_control(LOG_DEBUG, "control, failed to receive (%s)", knot_strerror(err));
		}
		session_end_connection(session);
		return false;
	}
	bool is_end = session->type == KNOT_CTL_TYPE_BLOCK || session->type == KNOT_CTL_TYPE_END;
	if (!is_end && !session_may_go_on(session)) {
		session_end_connection(session);
		return false;
	}
	session_lower_zone(session);
	session->block_bytes += session_unit_cost(session);
	return true;
}

bool session_next(session_t *session)
{
	return !session->broken && session_receive_unit(session) && session->type == KNOT_CTL_TYPE_DATA;
}

void session_send(session_t *session, knot_ctl_type_t type, knot_ctl_data_t *data)
{
	if (session->broken) {
		return;
	}
	uint64_t begin_ms = sys_clock_ms();
	bool is_waited_for = session->is_locked || session->is_holding;
	if (is_waited_for) {
		session_limit_wait(session);
	}
	peer_wait_begin(session->wait, PEER_WAIT_ROOM, begin_ms);
	knot_err_t err = knot_ctl_send(session->ctl, type, data);
	if (!peer_wait_end(session->wait)) {
		err = KNOT_ECONNCLOSED;
	}
	if (is_waited_for) {
		session_end_limit(session, begin_ms);
	}
	if (err != KNOT_OK) {
		log_control(LOG_DEBUG, "control, failed to send (%s)", knot_strerror(err));
		session->broken = true;
	}
}

void session_send_error(session_t *session, const char *text)
{
	knot_ctl_data_t reply;
	memcpy(reply, session->args, sizeof(reply));
	reply[KNOT_CTL_IDX_ERROR] = text;
	session_send(session, KNOT_CTL_TYPE_DATA, &reply);
}

server_author_t session_author(const session_t *session, char room[static SESSION_WHO_MAX])
{
	room[0] = '\0';
	if (session->has_uid) {
		snprintf(room, SESSION_WHO_MAX, "uid %" PRIu32, (uint32_t)session->uid);
	}
	return (server_author_t){ .who = room, .is_forced = session_flag(session, 'F') };
}

command_result_t session_failure(session_t *session, knot_err_t err, const sys_log_captured_t *lines)
{
	assert(err != KNOT_OK);
	command_result_t result = command_result(err);
	if (lines->count > 0) {
		char reason[FAULT_REASON_MAX];
		fault_reason_print(lines->lines[0].text, err, reason);
		snprintf(session->reason, sizeof(session->reason), "%s", reason);
		result.reason = session->reason;
	}
	return result;
}

bool session_wants_warnings(const session_t *session)
{
	return session_filter(session, 'w');
}

void session_send_warning(session_t *session, const char *text)
{
	knot_ctl_data_t unit = { [KNOT_CTL_IDX_TYPE] = "warning", [KNOT_CTL_IDX_DATA] = text };
	if (session_wants_warnings(session)) {
		session_send(session, KNOT_CTL_TYPE_DATA, &unit);
	}
}

void session_send_warnings(session_t *session, const sys_log_captured_t *lines)
{
	for (size_t i = 0; i < lines->count && i < SYS_LOG_CAPTURE_MAX; i++) {
		session_send_warning(session, lines->lines[i].text);
	}
	if (lines->count > SYS_LOG_CAPTURE_MAX) {
		char text[64];
		snprintf(text, sizeof(text), "%zu more, see the log", lines->count - SYS_LOG_CAPTURE_MAX);
		session_send_warning(session, text);
	}
}

static bool session_has_letter(const char *letters, char letter)
{
	return letters != NULL && strchr(letters, letter) != NULL;
}

bool session_flag(const session_t *session, char letter)
{
	return session_has_letter(session->args[KNOT_CTL_IDX_FLAGS], letter);
}

bool session_filter(const session_t *session, char letter)
{
	return session_has_letter(session->args[KNOT_CTL_IDX_FILTERS], letter);
}

/* ---- The lock ---- */

/* How a command has the lock while it runs. */
typedef enum { LOCK_NONE, LOCK_SHARED, LOCK_ALONE } lock_need_t;

/* Unchecked, as is session_unlock(): a command may give the lock back early, and is_locked and is_alone know. */
static knot_err_t session_take_lock(session_t *session, bool alone) SYS_UNCHECKED_LOCKS
{
	assert(!session->is_locked && !session->is_holding);
	uint32_t timeout_s;
	{
		RCU_READ_SECTION(guard);
		timeout_s = state_load(server_state(session->server), guard)->conf->control.timeout_s;
	}
	struct timespec end = sys_clock_until(SYS_RWLOCK_CLOCK, (uint64_t)timeout_s * 1000);
	session->is_locked = alone ? sys_rwlock_write_until(session->lock, &end)
				   : sys_rwlock_read_until(session->lock, &end);
	session->is_alone = session->is_locked && alone;
	session->locked_since_ms = sys_clock_ms();
	session->locked_wait_ms = 0;
	if (session->is_alone) {
		knot_ctl_set_buffer(session->ctl, SESSION_BUFFER_MAX);
	}
	return session->is_locked ? KNOT_OK : KNOT_ECTLBUSY;
}

void session_unlock(session_t *session) SYS_UNCHECKED_LOCKS
{
	assert(!session->is_holding);
	if (!session->is_locked) {
		return;
	}
	if (session->is_alone) {
		sys_rwlock_end_write(session->lock);
	} else {
		sys_rwlock_end_read(session->lock);
	}
	session->is_locked = session->is_alone = false;
	knot_ctl_set_buffer(session->ctl, 0);
}

void session_hold(session_t *session)
{
	assert(!session->is_holding);
	session->is_holding = true;
	if (!session->is_locked) {
		session->locked_wait_ms = 0;
	}
	knot_ctl_set_buffer(session->ctl, SESSION_BUFFER_MAX);
}

void session_release(session_t *session)
{
	assert(session->is_holding);
	session->is_holding = false;
	knot_ctl_set_buffer(session->ctl, session->is_alone ? SESSION_BUFFER_MAX : 0);
}

knot_err_t session_be_alone(session_t *session)
{
	if (session->is_alone) {
		return KNOT_OK;
	}
	session_unlock(session);
	return session_take_lock(session, true);
}

/* ---- Zones ---- */

/* Texts of all zone names, one after the other, each with its NUL. */
typedef struct {
	char *text; /* owned */
	size_t len, max;
	size_t count; /* names */
	bool failed;
} names_t;

static bool session_collect_name(zone_t *zone, void *ctx)
{
	names_t *names = ctx;
	char text[KNOT_NAME_TEXT_MAX];
	size_t len = knot_name_print(zone_name(zone), text) + 1;
	if (names->max - names->len < len) {
		size_t max = 2 * names->max + sizeof(text);
		char *grown = realloc(names->text, max);
		if (grown == NULL) {
			names->failed = true;
			return false;
		}
		names->text = grown;
		names->max = max;
	}
	memcpy(names->text + names->len, text, len);
	names->len += len;
	names->count++;
	return true;
}

/* The names are copied first, so that no read section lasts as long as the command does. */
static knot_err_t session_collect_names(session_t *session, names_t *ret_names)
{
	names_t names = { 0 };
	{
		RCU_READ_SECTION(guard);
		zonedb_each(state_load(server_state(session->server), guard)->zones, session_collect_name, &names);
	}
	if (names.failed) {
		free(names.text);
		return KNOT_ENOMEM;
	}
	*ret_names = names;
	return KNOT_OK;
}

static void session_print_age(uint64_t since_s, char *text, size_t max)
{
	uint64_t now_s = sys_clock_wall();
	uint64_t age_s = now_s > since_s ? now_s - since_s : 0;
	static const struct {
		uint64_t seconds;
		const char *unit;
	} units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "m" }, { 1, "s" } };
	size_t i = 0;
	while (i + 1 < KNOT_LEN(units) && age_s < units[i].seconds) {
		i++;
	}
	snprintf(text, max, "%" PRIu64 "%s", age_s / units[i].seconds, units[i].unit);
}

/* Which transaction is in the way, and how to end it. name: of the zone that it is about, wire NULL: of none. */
static const char *session_print_open(session_t *session, knot_name_t name)
{
	char age[24];
	server_open_t open;
	uint64_t conf_since_s = server_conf_open_since(session->server);
	if (conf_since_s != 0) {
		session_print_age(conf_since_s, age, sizeof(age));
		snprintf(session->reason, sizeof(session->reason),
				"configuration, open for %s, end it with 'conf-commit' or 'conf-abort'", age);
	} else if (server_edit_find_open(session->server, name, &open)) {
		session_print_age(open.since_s, age, sizeof(age));
		snprintf(session->reason, sizeof(session->reason),
				"zone %s, open for %s, end it with 'zone-commit %.255s' or 'zone-abort %.255s'",
				open.zone, age, open.zone, open.zone);
	} else {
		return NULL; /* it has ended meanwhile */
	}
	return session->reason;
}

/* "parser failed, invalid IPv4 address": the error, and the reason that the command gave. */
static void session_print_error(
		session_t *session, knot_name_t name, knot_err_t err, const char *reason, char *text, size_t max)
{
	if (err == KNOT_ETXNMANY) {
		reason = session_print_open(session, name);
	}
	snprintf(text, max, "%s%s%s", knot_strerror(err), reason != NULL ? ", " : "", reason != NULL ? reason : "");
}

static void session_report_zone_error(session_t *session, knot_name_t name, knot_err_t err, const char *reason)
{
	char text[SESSION_REASON_MAX + 64];
	session_print_error(session, name, err, reason, text, sizeof(text));
	log_control_zone(LOG_ERR, name, "control, error (%s)", text);
	session_send_error(session, text);
}

/* One command on one name of the list; adds to *result. Returns the ticket to wait for. */
static server_ticket_t session_run_named(
		session_t *session, const char *text, session_zone_command_t run, knot_err_t *result)
{
	uint8_t wire[KNOT_NAME_MAX];
	session_zone_t zone = { .text = text };
	command_result_t got = command_result(knot_name_scan(knot_str_of(text), knot_name_root, wire, &zone.name));
	if (got.err == KNOT_OK) {
		got = run(session, &zone);
	}
	/* A zone that a reload removed meanwhile isn't one of all zones any more; of all transactions, those that are
	 * open are meant, and of a refresh the zones that have primaries. */
	bool is_meant = got.err != KNOT_ENOZONE && got.err != KNOT_ETXNNONE && got.err != KNOT_ENOTSUP;
	if (got.err != KNOT_OK && is_meant) {
		*result = KNOT_ECTLZONES;
	}
	return got.err == KNOT_OK ? got.ticket : 0;
}

/* What the zone's job came to, with the reason that the server keeps of a failure. */
static command_result_t session_wait_for_job(session_t *session, knot_name_t name, server_ticket_t ticket)
{
	command_result_t result =
			command_result(ticket != 0 ? server_zone_wait(session->server, name, ticket) : KNOT_OK);
	server_fault_t fault;
	if (result.err != KNOT_OK && server_zone_fault(session->server, name, &fault) && fault.err == result.err &&
			fault.reason[0] != '\0') {
		snprintf(session->reason, sizeof(session->reason), "%s", fault.reason);
		result.reason = session->reason;
	}
	return result;
}

/* Wait for the jobs of all zones of a list; adds to *result. */
static void session_wait_for_all(
		session_t *session, const names_t *names, const server_ticket_t *tickets, knot_err_t *result)
{
	size_t pos = 0;
	for (size_t i = 0; i < names->count && !session->broken; i++) {
		uint8_t wire[KNOT_NAME_MAX];
		knot_name_t name;
		const char *text = names->text + pos;
		pos += strlen(text) + 1;
		if (tickets[i] != 0 && knot_name_scan(knot_str_of(text), knot_name_root, wire, &name) == KNOT_OK &&
				session_wait_for_job(session, name, tickets[i]).err != KNOT_OK) {
			*result = KNOT_ECTLZONES;
		}
	}
}

/* All zones are started before the first is waited for. */
static knot_err_t session_run_all(session_t *session, session_zone_command_t run, bool wait)
{
	names_t names;
	knot_err_t result = session_collect_names(session, &names);
	if (result != KNOT_OK) {
		return result;
	}
	server_ticket_t *tickets = wait ? calloc(names.count + 1, sizeof(*tickets)) : NULL;
	if (wait && tickets == NULL) {
		free(names.text);
		return KNOT_ENOMEM;
	}
	size_t pos = 0;
	for (size_t i = 0; i < names.count && !session->broken; i++, pos += strlen(names.text + pos) + 1) {
		server_ticket_t ticket = session_run_named(session, names.text + pos, run, &result);
		if (wait) {
			tickets[i] = ticket;
		}
	}
	if (wait) {
		session_unlock(session);
		session_wait_for_all(session, &names, tickets, &result);
	}
	free(tickets);
	free(names.text);
	return result;
}

/* The name of the zone that the unit is for, in lower case. */
knot_err_t session_scan_zone(
		const session_t *session, uint8_t wire[static KNOT_NAME_MAX], char *text, session_zone_t *ret_zone)
{
	knot_name_t name;
	const char *given = session->args[KNOT_CTL_IDX_ZONE];
	if (strcmp(given, "@") == 0) {
		return KNOT_ENOZONE;
	}
	if (knot_name_scan(knot_str_of(given), knot_name_root, wire, &name) != KNOT_OK) {
		return KNOT_EPARAM;
	}
	knot_name_lower(name, wire);
	name = knot_name_of(wire);
	(void)knot_name_print(name, text);
	*ret_zone = (session_zone_t){ name, text };
	return KNOT_OK;
}

static bool session_has_zone(const session_t *session, knot_name_t name)
{
	RCU_READ_SECTION(guard);
	return zonedb_find(state_load(server_state(session->server), guard)->zones, name) != NULL;
}

/*
 * Run a command on the zone of one unit. wait: for the job that `run` starts, without the session's lock; so the lock
 * is taken here if the block's first unit had it.
 */
static void session_run_unit(session_t *session, session_zone_command_t run, bool wait, lock_need_t need)
{
	uint8_t wire[KNOT_NAME_MAX];
	char text[KNOT_NAME_TEXT_MAX];
	session_zone_t zone = { .name = { 0 } };
	command_result_t got = command_result(session_scan_zone(session, wire, text, &zone));
	if (got.err == KNOT_OK && need != LOCK_NONE && !session->is_locked) {
		got.err = session_take_lock(session, need == LOCK_ALONE);
	}
	if (got.err == KNOT_OK) {
		got = session_has_zone(session, zone.name) ? run(session, &zone) : command_result(KNOT_ENOZONE);
	}
	if (got.err == KNOT_OK && wait) {
		session_unlock(session);
		got = session_wait_for_job(session, zone.name, got.ticket);
	}
	if (got.err != KNOT_OK) {
		session_report_zone_error(session, zone.name, got.err, got.reason);
	}
}

/* wait: for the jobs that `run` starts. */
static knot_err_t session_run_zones(session_t *session, session_zone_command_t run, bool wait)
{
	if (session->args[KNOT_CTL_IDX_ZONE] == NULL) {
		return session_run_all(session, run, wait);
	}
	const lock_need_t need = session->is_alone ? LOCK_ALONE : session->is_locked ? LOCK_SHARED : LOCK_NONE;
	bool is_more;
	do {
		session_run_unit(session, run, wait, need);
		is_more = session_next(session) && session->args[KNOT_CTL_IDX_ZONE] != NULL;
		if (is_more) {
			session_log_received(session);
		}
	} while (is_more);
	return KNOT_OK;
}

knot_err_t session_each_zone(session_t *session, session_zone_command_t run, bool waits)
{
	return session_run_zones(session, run, waits);
}

/* ---- Blocks ---- */

static bool session_must_be_alone(const session_t *session, const command_t *command)
{
	return (command->flags & COMMAND_ALONE) != 0 ||
	       ((command->flags & COMMAND_ALONE_T) != 0 &&
			       (session_filter(session, 't') || session_flag(session, 't')));
}

static command_result_t session_refuse_zone(session_t *session, const session_zone_t *zone)
{
	(void)session, (void)zone;
	return command_result(KNOT_ENOTSUP);
}

static command_result_t session_call_command(session_t *session, const command_t *command)
{
	if (command->run != NULL) {
		return command->run(session);
	}
	if (command->zone == NULL && session->args[KNOT_CTL_IDX_ZONE] == NULL) {
		return command_result(KNOT_ENOTSUP);
	}
	return command_result(session_run_zones(session, command->zone != NULL ? command->zone : session_refuse_zone,
			(command->flags & COMMAND_WAITS) != 0 && session_flag(session, 'B')));
}

/* What the command left to do, and its error to the client and the log. */
static void session_end_command(session_t *session, const command_t *command, const command_result_t *result)
{
	session->stop |= (result->effects & COMMAND_DID_STOP) != 0;
	if ((result->effects & COMMAND_DID_CONF) != 0) {
		control_conf_changed(session->control);
	}
	if (result->err == KNOT_OK) {
		return;
	}
	char text[SESSION_REASON_MAX + 64];
	session_print_error(session, (knot_name_t){ 0 }, result->err, result->reason, text, sizeof(text));
	if (result->err == KNOT_ECTLZONES) {
		/* One line for all of them: what went wrong in a zone is logged with it. */
		log_control(LOG_ERR, "control, error (%s)", text);
	} else {
		log_control(LOG_DEBUG, "control, command '%s' (%s)", command->name, text);
	}
	session_send_error(session, text);
}

static void session_run_command(session_t *session, const command_t *command)
{
	session->command = command->name;
	session->command_flags = command->flags;
	session_log_received(session);
	sys_thread_step_aside();
	bool is_alone = session_must_be_alone(session, command);
	knot_err_t err = (command->flags & COMMAND_FREE) != 0 && !is_alone ? KNOT_OK
									   : session_take_lock(session, is_alone);
	if (err != KNOT_OK) {
		/* As Knot: the reply is an empty block. */
		log_control(LOG_WARNING, "control, command '%s' gave up (%s)", command->name, knot_strerror(err));
		return;
	}
	command_result_t result = session_call_command(session, command);
	session_unlock(session);
	session_end_command(session, command, &result);
}

/* Skip units of the block that the command didn't want. A client that sends them without end counts as one that waits,
 * since the first of them. */
static void session_skip_rest(session_t *session)
{
	session->skip_since_ms = sys_clock_ms();
	while (!session->broken && session->type != KNOT_CTL_TYPE_BLOCK && session->type != KNOT_CTL_TYPE_END) {
		(void)session_next(session);
	}
	session->skip_since_ms = 0;
}

static void session_serve_blocks(session_t *session)
{
	while (!session->broken && !session->stop && session_receive_unit(session) &&
			session->type != KNOT_CTL_TYPE_END) {
		if (session->type == KNOT_CTL_TYPE_BLOCK) {
			session->block_bytes = 0;
		}
		if (session->type != KNOT_CTL_TYPE_DATA) {
			continue;
		}
		const command_t *command = session_find_command(session->args[KNOT_CTL_IDX_CMD]);
		if (command != NULL) {
			session_run_command(session, command);
		} else {
			/* As Knot: no reply, so that the client's time runs out. */
			log_control(LOG_DEBUG, "control, unknown command");
		}
		session_skip_rest(session);
		session->block_bytes = 0;
		if (command != NULL && session->type == KNOT_CTL_TYPE_BLOCK) {
			session_send(session, KNOT_CTL_TYPE_BLOCK, NULL);
		}
		if (session->type == KNOT_CTL_TYPE_END) {
			return;
		}
	}
	if (session->stop) {
		session_send(session, KNOT_CTL_TYPE_END, NULL);
	}
}

void session_serve(session_t *session)
{
	session_serve_blocks(session);
	xdp_capture_end(session);
	top_end(session);
}
