/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The server's side of the control sockets, and the periodic dump of statistics.
 *
 * control_new() binds the sockets (mode 0220: users that may write may control), control_start() starts the threads
 * that accept connections and run commands; every command is a row of commands.def. Calls down to event/ (zones,
 * reload), net/ and modules/ (counters). Commands are readers or writers of one lock with a time limit. Not here: the
 * process: `stop` sends SIGTERM to it.
 */
#pragma once

#include "src/event/server.h"
#include "src/net/net.h"

typedef struct control control_t;

typedef struct {
	server_t *server;   /* borrowed for the control's life */
	net_t *net;         /* as above */
	conf_strs_t listen; /* 1–4 paths; borrowed for the control's life. conf->control.listen, or knotd's -s */
	unsigned backlog;   /* of listen(2) */
	uid_t uid;          /* owner of the sockets when running as root */
	gid_t gid;
} control_params_t;

/**
 * Bind the sockets; logs `control, binding to 'path'`. A failure is logged as one line that names the path, nothing
 * stays open. Old socket files are replaced, unless a server answers on them (KNOT_EADDRINUSE).
 */
KNOT_MUST_USE knot_err_t control_new(const control_params_t *params, control_t **ret_control);

/** Start the threads: up to 8 connections are served at a time. Also starts the statistics dump if configured. */
KNOT_MUST_USE knot_err_t control_start(control_t *control);

/** A new configuration was published, but by no command (SIGHUP): the statistics timer follows it. */
void control_conf_changed(control_t *control);

/** End open connections and all threads. After server_stop(), which ends what commands wait for. */
void control_stop(control_t *control);

/** Close the sockets, remove their files. After control_stop(). NULL is allowed. */
void control_free(control_t *control);
