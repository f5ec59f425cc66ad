/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/control.h"

#include "libknot/control/control.h"
#include "src/control/metrics.h"
#include "src/control/session.h"
#include "src/control/slots.h"
#include "src/control/statistics_dump.h"
#include "src/net/listen.h"
#include "src/sys/log.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct control {
	control_params_t params;
	int fds[SLOTS_SOCKETS_MAX];           /* listening */
	const char *paths[SLOTS_SOCKETS_MAX]; /* borrowed */
	struct stat files[SLOTS_SOCKETS_MAX]; /* what was made there */
	size_t socket_count;
	slots_t *slots;          /* owned */
	sys_rwlock_t commands;   /* held alone or shared by the commands that run, see session.h */
	statistics_dump_t *dump; /* owned */
	metrics_t *metrics;      /* owned */
};

/* ---- Sockets ---- */

static knot_err_t control_bind_path(int fd, const struct sockaddr_un *addr)
{
	struct stat info;
	if (lstat(addr->sun_path, &info) == 0) {
		if (!S_ISSOCK(info.st_mode)) {
			return KNOT_EEXIST;
		}
		if (listen_is_served(addr, SOCK_STREAM)) {
			return KNOT_EADDRINUSE;
		}
		if (unlink(addr->sun_path) != 0) {
			return knot_err_of_errno(errno);
		}
	}
	/* Linux gives the file the socket's mode, unix(7): no other user may ever write, and other threads, which make
	 * files, see no other umask. */
	if (fchmod(fd, S_IWUSR | S_IWGRP) != 0 || bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) != 0) {
		return knot_err_of_errno(errno);
	}
	return KNOT_OK;
}

static knot_err_t control_open_socket(const control_params_t *params, const char *path, int *ret_fd)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = strlen(path);
	if (len >= sizeof(addr.sun_path)) {
		return KNOT_ESPACE;
	}
	memcpy(addr.sun_path, path, len + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	knot_err_t err = control_bind_path(fd, &addr);
	/* By name, and the folder is not root's: no link in the socket's place is followed. */
	if (err == KNOT_OK && ((geteuid() == 0 && lchown(path, params->uid, params->gid) != 0) ||
					      listen(fd, (int)params->backlog) != 0)) {
		err = knot_err_of_errno(errno);
		(void)unlink(path);
	}
	if (err != KNOT_OK) {
		close(fd);
		return err;
	}
	*ret_fd = fd;
	return KNOT_OK;
}

/* Behind the reason: what to do. */
static const char *control_hint_of(knot_err_t err)
{
	static const struct {
		knot_err_t err;
		const char *hint;
	} hints[] = {
		{ KNOT_ENOENT, ", create its folder" },
		{ KNOT_EACCES, ", the server's user must be allowed to write to its folder" },
		{ KNOT_ESPACE, ", the path may have 107 bytes at most" },
		{ KNOT_EADDRINUSE, ", another server uses it" },
		{ KNOT_EEXIST, ", a file in its place is not a socket" },
	};
	for (size_t i = 0; i < KNOT_LEN(hints); i++) {
		if (hints[i].err == err) {
			return hints[i].hint;
		}
	}
	return "";
}

static knot_err_t control_open_sockets(control_t *control)
{
	for (size_t i = 0; i < control->params.listen.count && i < SLOTS_SOCKETS_MAX; i++) {
		const char *path = control->params.listen.data[i];
		log_control(LOG_INFO, "control, binding to '%s'", path);
		int fd;
		knot_err_t err = control_open_socket(&control->params, path, &fd);
		if (err != KNOT_OK) {
			log_control(LOG_CRIT, "control, failed to bind socket '%s' (%s)%s", path, knot_strerror(err),
					control_hint_of(err));
			return err;
		}
		control->paths[control->socket_count] = path;
		if (lstat(path, &control->files[control->socket_count]) != 0) {
			control->files[control->socket_count] = (struct stat){ .st_ino = 0 };
		}
		control->fds[control->socket_count++] = fd;
	}
	return KNOT_OK;
}

/* ---- Connections ---- */

static int control_read_timeout_ms(const control_t *control)
{
	RCU_READ_SECTION(guard);
	uint32_t timeout_s = state_load(server_state(control->params.server), guard)->conf->control.timeout_s;
	return timeout_s < 2000000 ? (int)(timeout_s * 1000) : 2000000000;
}

/* A connection of a slot. */
static void control_serve_connection(void *ctx, int take_fd, unsigned socket, peer_wait_t *wait)
{
	control_t *control = ctx;
	knot_ctl_t *ctl = knot_ctl_alloc();
	if (ctl == NULL) {
		log_control(LOG_ERR, "control, failed to serve a connection (%s)", knot_strerror(KNOT_ENOMEM));
		close(take_fd);
		return;
	}
	const int limit_ms = control_read_timeout_ms(control);
	knot_ctl_set_timeout(ctl, limit_ms);
	knot_ctl_adopt(ctl, take_fd);
	session_t session = {
		.control = control,
		.server = control->params.server,
		.net = control->params.net,
		.ctl = ctl,
		.lock = &control->commands,
		.socket = socket,
		.wait = wait,
		.timeout_ms = limit_ms,
	};
	struct ucred peer;
	socklen_t len = sizeof(peer);
	session.has_uid = getsockopt(take_fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0;
	session.uid = session.has_uid ? peer.uid : 0;
	session_serve(&session);
	knot_ctl_free(ctl);
	if (session.stop) {
		/* The way that a service manager takes. */
		(void)kill(getpid(), SIGTERM);
	}
}

/* ---- Life ---- */

knot_err_t control_new(const control_params_t *params, control_t **ret_control)
{
	control_t *control = calloc(1, sizeof(*control));
	if (control == NULL) {
		return KNOT_ENOMEM;
	}
	control->params = *params;
	sys_rwlock_init_for_writers(&control->commands); /* a stream of readers must not keep a reload out for ever */
	control->dump = statistics_dump_new(params->server, params->net);
	knot_err_t err = control->dump == NULL ? KNOT_ENOMEM
					       : metrics_new(params->server, params->net, &control->metrics);
	err = err == KNOT_OK ? control_open_sockets(control) : err;
	if (err == KNOT_OK) {
		control->slots = slots_new(control->fds, control->socket_count, control_serve_connection, control);
		err = control->slots != NULL ? KNOT_OK : KNOT_ENOMEM;
	}
	if (err != KNOT_OK) {
		control_free(control);
		return err;
	}
	*ret_control = control;
	return KNOT_OK;
}

knot_err_t control_start(control_t *control)
{
	knot_err_t err = slots_start(control->slots);
	err = err == KNOT_OK ? statistics_dump_start(control->dump) : err;
	return err == KNOT_OK ? metrics_start(control->metrics) : err;
}

void control_conf_changed(control_t *control)
{
	statistics_dump_reconfigure(control->dump);
	metrics_reconfigure(control->metrics);
}

void control_stop(control_t *control)
{
	slots_stop(control->slots);
	statistics_dump_stop(control->dump);
	metrics_stop(control->metrics);
}

void control_free(control_t *control)
{
	if (control == NULL) {
		return;
	}
	for (size_t i = 0; i < control->socket_count; i++) {
		close(control->fds[i]);
		/* Unless another program has put its own there, after the folder went, say. */
		struct stat info;
		if (lstat(control->paths[i], &info) == 0 && info.st_ino == control->files[i].st_ino &&
				info.st_dev == control->files[i].st_dev) {
			(void)unlink(control->paths[i]);
		}
	}
	slots_free(control->slots);
	statistics_dump_free(control->dump);
	metrics_free(control->metrics);
	sys_rwlock_done(&control->commands);
	free(control);
}
