/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/ctl/knotc.h"
#include "src/tools/ctl/message.h"
#include "src/zone/idna.h"
#include "libknot/name/name.h"

#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_DEFAULT_MS = 60000 };

/* What to do about a socket that can't be connected to, or a connection that ended; NULL: nothing comes to mind. */
static const char *run_find_hint(knot_err_t err)
{
	static const struct {
		knot_err_t err;
		const char *hint;
	} hints[] = {
		{ KNOT_ETIMEOUT, "the server is busy or hangs, -t waits longer" },
		{ KNOT_ECONNCLOSED, "the server ended, or has too many connections" },
		{ KNOT_ENOENT, "is knotd running?" },
		{ KNOT_ECONNREFUSED, "is knotd running?" },
		{ KNOT_EACCES, "be a member of group knot, or root" },
		{ KNOT_ESPACE, "the path may have 107 bytes at most" },
	};
	for (size_t i = 0; i < KNOT_LEN(hints); i++) {
		if (hints[i].err == err) {
			return hints[i].hint;
		}
	}
	return NULL;
}

static bool run_fail(char error[static KNOTC_ERROR_MAX], const char *what, knot_err_t err)
{
	const char *hint = run_find_hint(err);
	snprintf(error, KNOTC_ERROR_MAX, "%s (%s)%s%s", what, knot_strerror(err), hint != NULL ? ", " : "",
			hint != NULL ? hint : "");
	return false;
}

static knot_err_t run_send_request(knot_ctl_t *ctl, const request_t *request)
{
	int err = KNOT_OK;
	for (size_t i = 0; i < request->count && err == KNOT_OK; i++) {
		err = knot_ctl_send(ctl, KNOT_CTL_TYPE_DATA, &request->units[i]);
	}
	return err == KNOT_OK ? knot_ctl_send(ctl, KNOT_CTL_TYPE_BLOCK, NULL) : err;
}

static knot_err_t run_receive_reply(knot_ctl_t *ctl, knotc_unit_t on_unit, void *ctx)
{
	while (true) {
		knot_ctl_type_t type;
		knot_ctl_data_t unit;
		int err = knot_ctl_receive(ctl, &type, &unit);
		if (err != KNOT_OK || type == KNOT_CTL_TYPE_BLOCK || type == KNOT_CTL_TYPE_END) {
			return err;
		}
		on_unit(ctx, type, (const knot_ctl_data_t *)&unit);
	}
}

knot_ctl_t *knotc_connect(const params_t *params, char ret_error[static KNOTC_ERROR_MAX])
{
	char path[KNOTC_PATH_MAX];
	if (!knotc_socket(params, path, ret_error)) {
		return NULL;
	}
	if (params->verbose) {
		message_debug("socket '%s'", path);
	}
	knot_ctl_t *ctl = knot_ctl_alloc();
	if (ctl == NULL) {
		(void)run_fail(ret_error, "failed to control", KNOT_ENOMEM);
		return NULL;
	}
	/* With -b there is no time limit unless -t sets one: events take as long as they take. */
	int timeout_ms = params->timeout_given ? params->timeout_ms : params->flags.blocking ? 0 : TIMEOUT_DEFAULT_MS;
	knot_ctl_set_timeout(ctl, timeout_ms);
	int err = knot_ctl_connect(ctl, path);
	if (err != KNOT_OK) {
		char what[KNOTC_PATH_MAX + 64];
		snprintf(what, sizeof(what), "failed to connect to socket '%.380s'", path);
		(void)run_fail(ret_error, what, err);
		knot_ctl_free(ctl);
		return NULL;
	}
	return ctl;
}

knot_err_t knotc_block(knot_ctl_t *ctl, const request_t *request, knotc_unit_t on_unit, void *ctx,
		char ret_error[static KNOTC_ERROR_MAX])
{
	knot_err_t err = run_send_request(ctl, request);
	if (err == KNOT_OK) {
		err = run_receive_reply(ctl, on_unit, ctx);
	}
	if (err != KNOT_OK) {
		(void)run_fail(ret_error, "failed to control", err);
	}
	return err;
}

bool knotc_exchange(const params_t *params, const request_t *request, knotc_unit_t on_unit, void *ctx,
		char ret_error[static KNOTC_ERROR_MAX])
{
	knot_ctl_t *ctl = knotc_connect(params, ret_error);
	if (ctl == NULL) {
		return false;
	}
	bool is_good = knotc_block(ctl, request, on_unit, ctx, ret_error) == KNOT_OK;
	if (is_good) {
		(void)!knot_ctl_send(ctl, KNOT_CTL_TYPE_END, NULL);
	}
	knot_ctl_free(ctl);
	return is_good;
}

/** Where the units of a reply go. */
typedef struct {
	output_t output;
	transactions_reply_t transactions;
} run_reply_t;

static void run_print_unit(void *ctx, knot_ctl_type_t type, const knot_ctl_data_t *unit)
{
	run_reply_t *reply = ctx;
	transactions_reply_unit(&reply->transactions, unit);
	output_unit(&reply->output, type, unit);
}

static bool run_remote(const params_t *params, const action_t *action, const request_t *request)
{
	run_reply_t reply = { .output = {
					      .out = stdout,
					      .action = action,
					      .format = params->format,
					      .extended = params->extended,
					      .color = params->color,
					      .all_zones = request->all_zones,
					      .detail = action->layout == LAYOUT_STATUS
									? request->units[0][KNOT_CTL_IDX_TYPE]
									: NULL,
					      .zeros = params->flags.force,
			      } };
	char error[KNOTC_ERROR_MAX];
	output_begin(&reply.output);
	transactions_reply_begin(&reply.transactions, params->transactions, action, request);
	bool is_whole = knotc_exchange(params, request, run_print_unit, &reply, error);
	transactions_reply_end(&reply.transactions, is_whole);
	bool is_good = output_end(&reply.output, is_whole ? NULL : error);
	(void)fflush(stdout);
	if (!is_whole && params->format != FORMAT_JSON) {
		(void)message_error("%s", error);
	}
	return is_good;
}

/* name: of one action; NULL: all. */
static bool run_help(const params_t *params, const char *name)
{
	if (params->format != FORMAT_JSON || (name != NULL && action_find(name) == NULL)) {
		return knotc_help(name);
	}
	reply_t reply;
	reply_begin(&reply, stdout, "help", NULL);
	for (size_t i = 0; i < action_count; i++) {
		if (name == NULL || action_find(name) == &actions[i]) {
			reply_action(&reply, &actions[i]);
		}
	}
	reply_end(&reply, NULL, true);
	return true;
}

static bool run_local(const params_t *params, const action_t *action, const request_t *request)
{
	switch (action->local) {
	case LOCAL_CONF_CHECK: return knotc_conf_check(params);
	case LOCAL_ZONE_CHECK: return knotc_zone_check(params, request);
	case LOCAL_CONF_INIT: return knotc_conf_init(params);
	case LOCAL_CONF_IMPORT: return knotc_conf_import(params, request);
	case LOCAL_CONF_EXPORT: return knotc_conf_export(params, request);
	case LOCAL_XDP_CAPTURE: return knotc_xdp_capture(params, action, request);
	case LOCAL_TOP: return knotc_top(params, action, request);
	case LOCAL_XDP_CHECK: return knotc_xdp_check(params, action, request);
	case LOCAL_HELP: return run_help(params, request->units[0][KNOT_CTL_IDX_ITEM]);
	case LOCAL_EXIT:
	case LOCAL_NONE: return false;
	}
	return false;
}

/* -b and -f may stand right behind the action. */
static int run_take_flags(request_flags_t *flags, int argc, char *const argv[])
{
	int i = 1;
	for (; i < argc; i++) {
		if (strcmp(argv[i], "-b") == 0 || strcmp(argv[i], "--blocking") == 0) {
			flags->blocking = true;
		} else if (strcmp(argv[i], "-f") == 0 || strcmp(argv[i], "--force") == 0) {
			flags->force = true;
		} else {
			break;
		}
	}
	return i;
}

/*
 * End an action that failed before a request. JSON output has a reply all the same, with the errors. Returns false.
 */
static bool run_end(const params_t *params, const char *command, const char *usage)
{
	if (params->format == FORMAT_JSON) {
		reply_t reply;
		if (usage != NULL) {
			message_tell(&(message_t){ .level = MESSAGE_NOTICE, .members = { [MESSAGE_TEXT] = usage } });
		}
		reply_begin(&reply, stdout, command, NULL);
		reply_end(&reply, NULL, false);
	} else if (usage != NULL) {
		fprintf(stderr, "%s\n", usage);
	}
	return false;
}

/* Names that were typed in another script, as the server has them: `zone-status bücher.example`. */
static void run_convert_names(request_t *request)
{
	static const knot_ctl_idx_t names[] = { KNOT_CTL_IDX_ZONE, KNOT_CTL_IDX_OWNER };
	for (size_t i = 0; i < request->count; i++) {
		knot_ctl_data_t *unit = &request->units[i];
		/* Without a zone the owner is something else: a path. */
		for (size_t j = 0; j < KNOT_LEN(names) && (*unit)[KNOT_CTL_IDX_ZONE] != NULL; j++) {
			char ascii[KNOT_NAME_TEXT_MAX];
			const char *name = (*unit)[names[j]];
			if (name != NULL && zone_idna_to_ascii(name, ascii, sizeof(ascii))) {
				(*unit)[names[j]] = request_keep_all(request, ascii);
			}
		}
	}
}

bool knotc_run(const params_t *given, int argc, char *const argv[])
{
	params_t params = *given;
	const action_t *action = action_find(argv[0]);
	messages_keep(params.format == FORMAT_JSON);
	if (action == NULL) {
		(void)message_error("invalid command '%s'", argv[0]);
		return run_end(&params, argv[0], NULL);
	}
	if (action->local == LOCAL_EXIT) {
		return run_end(&params, argv[0], NULL); /* there is no prompt to leave */
	}
	int first = run_take_flags(&params.flags, argc, argv);
	request_t request;
	char error[ACTION_ERROR_MAX];
	if (!action_request(action, params.flags, argv + first, (size_t)(argc - first), &request, error)) {
		char usage[ACTION_ERROR_MAX];
		snprintf(usage, sizeof(usage), "Usage: knotc %s%s%s", action->name, action->usage != NULL ? " " : "",
				action->usage != NULL ? action->usage : "");
		(void)message_error("%s", error);
		return run_end(&params, action->name, (action->flags & COMMAND_OURS) != 0 ? usage : NULL);
	}
	run_convert_names(&request);
	bool is_good = request.file == NULL || knotc_read_blocks(&request);
	if (is_good) {
		is_good = action->local == LOCAL_NONE ? run_remote(&params, action, &request)
						      : run_local(&params, action, &request);
	}
	if (messages_wait()) {
		(void)run_end(&params, action->name, NULL);
	}
	request_free(&request);
	return is_good;
}
