/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What the parts of knotc share: the options of a run, and how one action is run.
 */
#pragma once

#include "src/conf/conf.h"
#include "src/tools/ctl/output.h"
#include "src/tools/ctl/transactions.h"

enum { KNOTC_PATH_MAX = 4096, KNOTC_TIMEOUT_MAX_S = 86400 /* of -t */ };

/** The control socket that the configuration names, once it was looked up. */
typedef struct {
	char path[KNOTC_PATH_MAX]; /* "": not yet */
} socket_found_t;

typedef struct {
	const char *config; /* -c, or NULL */
	const char *confdb; /* -C, or NULL */
	unsigned confdb_size_mib;
	const char *socket; /* -s, or NULL: the first of the configuration */
	/* Borrowed: filled by the first action that needs it, so that a script of a thousand lines, or a prompt, reads
	 * the configuration once. Actions that write a configuration empty it. */
	socket_found_t *socket_found;
	transactions_t *transactions; /* borrowed: follows the replies of a prompt; NULL: there is none */
	int timeout_ms;               /* 0: none */
	bool timeout_given;
	request_flags_t flags;
	format_t format;
	bool extended;
	bool color;
	bool verbose;
	bool is_completion; /* print what completes the words, for a shell, instead of running them */
} params_t;

/** Run one action with its words. False: it failed; what is wrong has been printed. */
bool knotc_run(const params_t *params, int argc, char *const argv[]);

enum { KNOTC_ERROR_MAX = 512 };

/** Gets the units of a reply; what it needs longer it copies. */
typedef void (*knotc_unit_t)(void *ctx, knot_ctl_type_t type, const knot_ctl_data_t *unit);

/** Send a request; false and a message in `ret_error` if there was no whole reply. */
bool knotc_exchange(const params_t *params, const request_t *request, knotc_unit_t on_unit, void *ctx,
		char ret_error[static KNOTC_ERROR_MAX]);

/**
 * The same in steps, for several requests on one connection; free it with knot_ctl_free(). NULL: `ret_error` says why.
 */
knot_ctl_t *knotc_connect(const params_t *params, char ret_error[static KNOTC_ERROR_MAX]);
KNOT_MUST_USE knot_err_t knotc_block(knot_ctl_t *ctl, const request_t *request, knotc_unit_t on_unit, void *ctx,
		char ret_error[static KNOTC_ERROR_MAX]);

/** `conf-check`: load the configuration and print its faults. */
bool knotc_conf_check(const params_t *params);

/** `conf-init`, `conf-import`, `conf-export`. */
bool knotc_conf_init(const params_t *params);
bool knotc_conf_import(const params_t *params, const request_t *request);
bool knotc_conf_export(const params_t *params, const request_t *request);

/** `zone-check` of the zones that a request names, or of all. */
bool knotc_zone_check(const params_t *params, const request_t *request);

/** `xdp-capture`: write frames to a file until a signal, the number of frames or the server ends it. */
bool knotc_xdp_capture(const params_t *params, const action_t *action, const request_t *request);

/** Make a unit of each rule in the file of `xdp-block add +file`. False: the faults have been printed. */
bool knotc_read_blocks(request_t *request);

/** `xdp-check` of the interface that the request names, or of those of the configuration. */
bool knotc_xdp_check(const params_t *params, const action_t *action, const request_t *request);

/** Where the configuration is. */
typedef struct {
	bool is_db;
	const char *path;
} conf_source_t;

/** -C, else -c, else the default database if there is one, else the default file. */
conf_source_t knotc_conf_source(const params_t *params);

/** Load it; faults go to `sink`. Free it with conf_free(). host: see conf_load(). */
knot_err_t knotc_conf(const params_t *params, const conf_host_t *host, conf_sink_t sink, conf_t **ret_conf);

/** The message for a failure of knotc_conf(). */
void knotc_conf_failure(const conf_source_t *source, knot_err_t err, char ret_error[static KNOTC_ERROR_MAX]);

/** A sink: errors and warnings to stderr, notices to stdout, as the log does without targets. */
void knotc_tell(void *ctx, const conf_fault_t *fault);

/** End a local action, in JSON with the members of a server's reply. text: printed on success; NULL: nothing. Returns
 * is_good. */
bool knotc_finish(const params_t *params, const char *command, const char *text, bool is_good);

/** Load it for a local action; prints its errors, and that loading failed. */
bool knotc_load_conf(const params_t *params, conf_t **ret_conf);

/** `top`: a screen of rates, or samples as text, until a key, a signal or the number of samples ends it. */
bool knotc_top(const params_t *params, const action_t *action, const request_t *request);

/** The socket to use: -s, or that of the configuration, which is read at most once. False: ret_error says why. */
bool knotc_socket(const params_t *params, char ret_path[static KNOTC_PATH_MAX], char ret_error[static KNOTC_ERROR_MAX]);

/** Read lines and run them until `exit` or the end of input. */
int knotc_interactive(const params_t *params);

/**
 * Print what can stand in the place of the last of these words, one a line: `knotc --complete`, which the completion
 * scripts of shells call (distro/completion). Returns the exit status.
 */
int knotc_complete(const params_t *params, int argc, char *const argv[]);

/** `knotc -h`. */
void knotc_print_help(FILE *out);

/** The part of `knotc -h` about actions. */
void knotc_print_actions(FILE *out);

/** `help`: explain the action of this name, or list all (NULL). False: there is none, which an error says. */
bool knotc_help(const char *name);
