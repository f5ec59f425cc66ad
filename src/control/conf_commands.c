/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Commands for the configuration: what is followed, and the transaction that changes it.
 */
#include "src/conf/io.h"
#include "src/control/session.h"
#include "src/event/conf_edit.h"
#include "src/sys/log.h"

#include <stdio.h>

enum {
	LOGGED_UNITS_MAX = 16, /* units of a block that the log names; a block may have millions */
};

/* ---- Units ---- */

static conf_where_t conf_commands_make_where(const session_t *session)
{
	return (conf_where_t){
		.section = session->args[KNOT_CTL_IDX_SECTION],
		.id = session->args[KNOT_CTL_IDX_ID],
		.item = session->args[KNOT_CTL_IDX_ITEM],
	};
}

static void conf_commands_log_item(const session_t *session)
{
	conf_where_t where = conf_commands_make_where(session);
	if (where.section == NULL || !sys_log_wants(SYS_LOG_CONTROL, LOG_DEBUG)) {
		return;
	}
	bool has_id = where.id != NULL && *where.id != '\0', has_item = where.item != NULL && *where.item != '\0';
	log_control(LOG_DEBUG, "control, config item '%s%s%s%s%s%s'", where.section, has_id ? "[" : "",
			has_id ? where.id : "", has_id ? "]" : "", has_item ? "." : "", has_item ? where.item : "");
}

static bool conf_commands_send_unit(const conf_unit_t *unit, void *ctx)
{
	session_t *session = ctx;
	const char sign[2] = { unit->sign };
	const char *marker = unit->sign != 0 ? sign : NULL;
	/* The sign is a flag to clients of Knot 3.2, a filter to later ones. */
	knot_ctl_data_t data = {
		[KNOT_CTL_IDX_FLAGS] = marker,
		[KNOT_CTL_IDX_SECTION] = unit->section,
		[KNOT_CTL_IDX_ITEM] = unit->item,
		[KNOT_CTL_IDX_ID] = unit->id,
		[KNOT_CTL_IDX_DATA] = unit->data,
		[KNOT_CTL_IDX_FILTERS] = marker,
	};
	session_send(session, unit->is_next ? KNOT_CTL_TYPE_EXTRA : KNOT_CTL_TYPE_DATA, &data);
	return !session->broken;
}

/** Something done with a unit of the block. txn: NULL if the command needs none. */
typedef knot_err_t (*unit_command_t)(session_t *session, conf_txn_t *txn);

/** Each unit of the block until one fails, which is the one that the error is about. */
static knot_err_t conf_commands_each_unit(session_t *session, conf_txn_t *txn, unit_command_t run)
{
	knot_err_t err;
	size_t count = 0;
	bool changes = (session->command_flags & COMMAND_CHANGES) != 0;
	do {
		if (changes && count > 0 && count < LOGGED_UNITS_MAX) {
			session_log_received(session);
		}
		count++;
		conf_commands_log_item(session);
		err = run(session, txn);
	} while (err == KNOT_OK && session_next(session));
	if (changes && count > LOGGED_UNITS_MAX) {
		log_control(LOG_INFO, "control, received command '%s', %zu more items", session->command,
				count - LOGGED_UNITS_MAX);
	}
	return err;
}

/* ---- Reading ---- */

/** A reader of the published configuration. It is held: a read section must not wait for a peer. */
static knot_err_t conf_commands_read_published(session_t *session,
		knot_err_t (*read)(conf_view_t view, const conf_where_t *where, conf_unit_cb cb, void *ctx))
{
	conf_where_t where = conf_commands_make_where(session);
	conf_t *conf;
	{
		RCU_READ_SECTION(guard);
		conf = conf_hold(state_load(server_state(session->server), guard)->conf);
	}
	knot_err_t err = read((conf_view_t){ .store = conf->store }, &where, conf_commands_send_unit, session);
	conf_free(conf);
	return err;
}

static conf_view_t conf_commands_make_view(const conf_txn_t *txn)
{
	return (conf_view_t){ .store = conf_txn_base(txn), .txn = txn };
}

static knot_err_t conf_commands_read_unit(session_t *session, conf_txn_t *txn)
{
	(void)txn;
	return conf_commands_read_published(session, conf_io_read);
}

command_result_t command_conf_read(session_t *session)
{
	return command_result(conf_commands_each_unit(session, NULL, conf_commands_read_unit));
}

static command_result_t conf_commands_list_zone(session_t *session, const session_zone_t *zone)
{
	knot_ctl_data_t unit = { [KNOT_CTL_IDX_SECTION] = "zone", [KNOT_CTL_IDX_ID] = zone->text };
	session_send(session, KNOT_CTL_TYPE_DATA, &unit);
	return command_result(KNOT_OK);
}

static knot_err_t conf_commands_list_unit(session_t *session, conf_txn_t *txn)
{
	(void)txn;
	if (session_filter(session, 'z')) {
		session->args[KNOT_CTL_IDX_ZONE] = NULL;
		return session_each_zone(session, conf_commands_list_zone, false);
	}
	conf_where_t where = conf_commands_make_where(session);
	/* Filters, to clients of Knot 3.2 flags. */
	bool of_schema = session_filter(session, 's') || session_flag(session, 's');
	bool of_txn = session_filter(session, 't') || session_flag(session, 't');
	if (of_txn) {
		knot_err_t err = session_be_alone(session);
		err = err == KNOT_OK ? server_conf_txn(session->server, session->socket, &txn) : err;
		if (err != KNOT_OK) {
			return err;
		}
	}
	if (of_schema) {
		return conf_io_list_schema(&where, conf_commands_send_unit, session);
	}
	return of_txn ? conf_io_list(conf_commands_make_view(txn), &where, conf_commands_send_unit, session)
		      : conf_commands_read_published(session, conf_io_list);
}

command_result_t command_conf_list(session_t *session)
{
	return command_result(conf_commands_each_unit(session, NULL, conf_commands_list_unit));
}

static knot_err_t conf_commands_get_unit(session_t *session, conf_txn_t *txn)
{
	conf_where_t where = conf_commands_make_where(session);
	return conf_io_read(conf_commands_make_view(txn), &where, conf_commands_send_unit, session);
}

static knot_err_t conf_commands_diff_unit(session_t *session, conf_txn_t *txn)
{
	conf_where_t where = conf_commands_make_where(session);
	return conf_io_diff(conf_commands_make_view(txn), &where, conf_commands_send_unit, session);
}

static knot_err_t conf_commands_run_in_txn(session_t *session, unit_command_t run)
{
	session_assert_alone(session);
	conf_txn_t *txn;
	knot_err_t err = server_conf_txn(session->server, session->socket, &txn);
	return err == KNOT_OK ? conf_commands_each_unit(session, txn, run) : err;
}

command_result_t command_conf_get(session_t *session)
{
	return command_result(conf_commands_run_in_txn(session, conf_commands_get_unit));
}

command_result_t command_conf_diff(session_t *session)
{
	return command_result(conf_commands_run_in_txn(session, conf_commands_diff_unit));
}

/* ---- Changing ---- */

static conf_edit_t conf_commands_make_edit(const session_t *session)
{
	conf_where_t where = conf_commands_make_where(session);
	return (conf_edit_t){ where.section, where.id, where.item, session->args[KNOT_CTL_IDX_DATA] };
}

static knot_err_t conf_commands_set_unit(session_t *session, conf_txn_t *txn)
{
	conf_edit_t edit = conf_commands_make_edit(session);
	return conf_txn_set(txn, &edit, server_conf_sink());
}

static knot_err_t conf_commands_unset_unit(session_t *session, conf_txn_t *txn)
{
	conf_edit_t edit = conf_commands_make_edit(session);
	return conf_txn_unset(txn, &edit);
}

/** A block is done as a whole or not at all; one whose peer went before its end is not. */
static knot_err_t conf_commands_change_txn(session_t *session, unit_command_t run)
{
	session_assert_alone(session);
	conf_txn_t *txn;
	knot_err_t err = server_conf_txn(session->server, session->socket, &txn);
	err = err == KNOT_OK ? conf_txn_push(txn) : err;
	if (err != KNOT_OK) {
		return err;
	}
	err = conf_commands_each_unit(session, txn, run);
	if (err == KNOT_OK && !session->broken) {
		conf_txn_pop(txn);
	} else {
		conf_txn_undo(txn);
	}
	return err;
}

command_result_t command_conf_set(session_t *session)
{
	return command_result(conf_commands_change_txn(session, conf_commands_set_unit));
}

command_result_t command_conf_unset(session_t *session)
{
	return command_result(conf_commands_change_txn(session, conf_commands_unset_unit));
}

/* ---- The transaction ---- */

/** The error reply of a begin or a commit: the first error with its place. */
typedef struct {
	session_t *session;
	bool is_sent;
} faults_report_t;

static void conf_commands_send_fault(void *ctx, const conf_fault_t *fault)
{
	faults_report_t *faults = ctx;
	conf_sink_t log = server_conf_sink();
	log.fault(log.ctx, fault);
	if (fault->severity != CONF_ERROR || faults->is_sent) {
		return;
	}
	faults->is_sent = true;
	/* What is not about an item, of the database say, is understood only as a whole. */
	bool has_place = fault->section != NULL && fault->reason != NULL;
	knot_ctl_data_t reply = {
		[KNOT_CTL_IDX_ERROR] = has_place ? fault->reason : fault->text,
		[KNOT_CTL_IDX_SECTION] = fault->section,
		[KNOT_CTL_IDX_ID] = fault->id,
		[KNOT_CTL_IDX_ITEM] = fault->item,
		[KNOT_CTL_IDX_DATA] = fault->value,
	};
	session_send(faults->session, KNOT_CTL_TYPE_DATA, &reply);
}

/** What the command returns: an error that was sent as a fault is not sent again as its code. */
static knot_err_t conf_commands_drop_sent(const faults_report_t *faults, knot_err_t err)
{
	if (err == KNOT_OK || !faults->is_sent) {
		return err;
	}
	log_control(LOG_DEBUG, "control, command '%s' (%s)", faults->session->args[KNOT_CTL_IDX_CMD],
			knot_strerror(err));
	return KNOT_OK;
}

/* What is committed is gone with the next reload: that is easy to miss where it is only in the log. */
static void conf_commands_warn_of_file(session_t *session)
{
	if (!server_conf_is_kept(session->server)) {
		session_send_warning(session,
				"the configuration is a text file, not a database: what is committed lasts "
				"only until the next reload or start");
	}
}

command_result_t command_conf_begin(session_t *session)
{
	session_assert_alone(session);
	faults_report_t report = { .session = session };
	knot_err_t err = server_conf_begin(
			session->server, session->socket, (conf_sink_t){ conf_commands_send_fault, &report });
	if (err == KNOT_OK) {
		conf_commands_warn_of_file(session);
	}
	return command_result(conf_commands_drop_sent(&report, err));
}

command_result_t command_conf_abort(session_t *session)
{
	session_assert_alone(session);
	return command_result(server_conf_abort(session->server, session->socket));
}

command_result_t command_conf_commit(session_t *session)
{
	session_assert_alone(session);
	faults_report_t report = { .session = session };
	sys_log_captured_t lines;
	sys_log_capture(&lines);
	knot_err_t err = server_conf_commit(
			session->server, session->socket, (conf_sink_t){ conf_commands_send_fault, &report });
	if (err == KNOT_OK) {
		(void)net_reconfigure(session->net); /* the configuration is in force; what failed becomes warnings */
	}
	sys_log_end_capture();
	if (err != KNOT_OK) {
		return report.is_sent ? command_result(conf_commands_drop_sent(&report, err))
				      : session_failure(session, err, &lines);
	}
	conf_commands_warn_of_file(session);
	session_send_warnings(session, &lines);
	return (command_result_t){ .effects = COMMAND_DID_CONF };
}
