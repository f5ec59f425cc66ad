/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/control.h"

#include "libknot/control/control.h"
#include "src/control/session.h"
#include "src/control/statistics_dump.h"
#include "src/sys/log.h"
#include "src/sys/thread.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	SOCKETS_MAX = 4,        /* as the configuration's schema */
	THREADS_MAX = 8,        /* shared out evenly among the sockets; Knot has as many */
};

typedef struct {
	int fd;                 /* -1: not open */
	const char *path;       /* borrowed */
} socket_t;

/* A thread accepts and serves one connection after the other. */
typedef struct {
	control_t *control;
	const socket_t *socket;
	sys_thread_t thread;
	int fd;                 /* connection being served, -1: none; under control->lock */
} server_thread_t;

struct control {
	control_params_t params;
	socket_t sockets[SOCKETS_MAX];
	size_t socket_count;
	server_thread_t threads[THREADS_MAX];
	size_t thread_count;
	int stop_fd;            /* eventfd: readable once the threads have to end */
	atomic_bool stopping;
	pthread_mutex_t lock;   /* connections */
	pthread_rwlock_t commands;
	statistics_dump_t *dump;    /* owned */
};

/* ---- Sockets ---- */

/* True if a server accepts connections on the socket file: it isn't ours to replace. */
static bool is_alive(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		return false;
	}
	bool alive = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0 || errno == EAGAIN;
	close(fd);
	return alive;
}

static knot_err_t bind_at(int fd, const struct sockaddr_un *addr)
{
	struct stat info;
	if (lstat(addr->sun_path, &info) == 0) {
		if (!S_ISSOCK(info.st_mode)) {
			return KNOT_EEXIST;
		}
		if (is_alive(addr)) {
			return KNOT_EADDRINUSE;
		}
		if (unlink(addr->sun_path) != 0) {
			return knot_err_of_errno(errno);
		}
	}
	/* Nobody may write before the mode is set. */
	mode_t mask = umask(0777);
	int ret = bind(fd, (const struct sockaddr *)addr, sizeof(*addr));
	int errnum = errno;
	umask(mask);
	return ret == 0 ? KNOT_OK : knot_err_of_errno(errnum);
}

static knot_err_t open_socket(const control_params_t *params, const char *path, int *ret_fd)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = strlen(path);
	if (len >= sizeof(addr.sun_path)) {
		return KNOT_ERANGE;
	}
	memcpy(addr.sun_path, path, len + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	knot_err_t err = bind_at(fd, &addr);
	if (err == KNOT_OK && ((geteuid() == 0 && chown(path, params->uid, params->gid) != 0) ||
	                       chmod(path, S_IWUSR | S_IWGRP) != 0 || listen(fd, (int)params->backlog) != 0)) {
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

static knot_err_t open_sockets(control_t *control)
{
	for (size_t i = 0; i < control->params.listen.count && i < SOCKETS_MAX; i++) {
		const char *path = control->params.listen.data[i];
		log_control(LOG_INFO, "control, binding to '%s'", path);
		int fd;
		knot_err_t err = open_socket(&control->params, path, &fd);
		if (err != KNOT_OK) {
			log_control(LOG_CRIT, "control, failed to bind socket '%s' (%s)", path, knot_strerror(err));
			return err;
		}
		control->sockets[control->socket_count++] = (socket_t){ fd, path };
	}
	return KNOT_OK;
}

/* ---- Connections ---- */

static void set_connection(server_thread_t *self, int fd)
{
	pthread_mutex_lock(&self->control->lock);
	self->fd = fd;
	pthread_mutex_unlock(&self->control->lock);
}

static int timeout_ms(const control_t *control)
{
	RCU_READ_SECTION(guard);
	uint32_t timeout_s = state_load(server_state(control->params.server), guard)->conf->control.timeout_s;
	return timeout_s < 2000000 ? (int)(timeout_s * 1000) : 2000000000;
}

static void serve(server_thread_t *self, knot_ctl_t *ctl, int fd)
{
	control_t *control = self->control;
	knot_ctl_set_timeout(ctl, timeout_ms(control));
	knot_ctl_adopt(ctl, fd);
	set_connection(self, fd);
	session_t session = {
		.server = control->params.server, .net = control->params.net, .ctl = ctl, .lock = &control->commands,
	};
	if (!atomic_load(&control->stopping)) {
		session_serve(&session);
	}
	set_connection(self, -1);
	knot_ctl_close(ctl);
	if (session.reloaded) {
		control_conf_changed(control);
	}
	if (session.stop) {
		/* The way that a service manager takes. */
		(void)kill(getpid(), SIGTERM);
	}
}

static void run(void *arg)
{
	server_thread_t *self = arg;
	control_t *control = self->control;
	knot_ctl_t *ctl = knot_ctl_alloc();
	if (ctl == NULL) {
		log_control(LOG_ERR, "control, failed to start (%s)", knot_strerror(KNOT_ENOMEM));
		return;
	}
	struct pollfd fds[] = {
		{ .fd = self->socket->fd, .events = POLLIN },
		{ .fd = control->stop_fd, .events = POLLIN },
	};
	while (!atomic_load(&control->stopping)) {
		if (poll(fds, KNOT_LEN(fds), -1) <= 0 || fds[0].revents == 0) {
			continue;
		}
		/* All threads of a socket wake; the first one gets the connection. */
		int fd = accept4(self->socket->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0) {
			serve(self, ctl, fd);
		} else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
			log_control(LOG_ERR, "control, failed to accept (%s)", knot_strerror(knot_err_of_errno(errno)));
			/* No descriptors, no memory: don't spin, but end when told. */
			(void)poll(&fds[1], 1, 1000);
		}
	}
	knot_ctl_free(ctl);
}

/* ---- Life ---- */

knot_err_t control_new(const control_params_t *params, control_t **ret_control)
{
	control_t *control = calloc(1, sizeof(*control));
	if (control == NULL) {
		return KNOT_ENOMEM;
	}
	control->params = *params;
	pthread_mutex_init(&control->lock, NULL);
	pthread_rwlockattr_t attr;
	pthread_rwlockattr_init(&attr);
	/* A stream of readers must not keep a reload out for ever. */
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&control->commands, &attr);
	pthread_rwlockattr_destroy(&attr);
	control->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	control->dump = statistics_dump_new(params->server, params->net);
	knot_err_t err = control->stop_fd < 0 ? knot_err_of_errno(errno)
	               : control->dump == NULL ? KNOT_ENOMEM : open_sockets(control);
	if (err != KNOT_OK) {
		control_free(control);
		return err;
	}
	*ret_control = control;
	return KNOT_OK;
}

knot_err_t control_start(control_t *control)
{
	size_t each = control->socket_count > 0 ? THREADS_MAX / control->socket_count : 0;
	for (size_t i = 0; i < each * control->socket_count; i++) {
		server_thread_t *thread = &control->threads[i];
		*thread = (server_thread_t){
			.control = control, .socket = &control->sockets[i / each], .fd = -1,
			.thread = { .cpu = -1, .run = run, .arg = thread },
		};
		snprintf(thread->thread.name, sizeof(thread->thread.name), "control-%u", (unsigned)(i % 1000));
		knot_err_t err = sys_thread_start(&thread->thread);
		if (err != KNOT_OK) {
			log_control(LOG_CRIT, "control, failed to start a thread (%s)", knot_strerror(err));
			return err;
		}
		control->thread_count++;
	}
	return statistics_dump_start(control->dump);
}

void control_conf_changed(control_t *control)
{
	statistics_dump_reconfigure(control->dump);
}

void control_stop(control_t *control)
{
	atomic_store(&control->stopping, true);
	uint64_t one = 1;
	(void)!write(control->stop_fd, &one, sizeof(one));
	pthread_mutex_lock(&control->lock);
	for (size_t i = 0; i < control->thread_count; i++) {
		if (control->threads[i].fd >= 0) {
			(void)shutdown(control->threads[i].fd, SHUT_RDWR);
		}
	}
	pthread_mutex_unlock(&control->lock);
	for (size_t i = 0; i < control->thread_count; i++) {
		sys_thread_join(&control->threads[i].thread);
	}
	control->thread_count = 0;
	statistics_dump_stop(control->dump);
}

void control_free(control_t *control)
{
	if (control == NULL) {
		return;
	}
	for (size_t i = 0; i < control->socket_count; i++) {
		close(control->sockets[i].fd);
		(void)unlink(control->sockets[i].path);
	}
	if (control->stop_fd >= 0) {
		close(control->stop_fd);
	}
	statistics_dump_free(control->dump);
	pthread_rwlock_destroy(&control->commands);
	pthread_mutex_destroy(&control->lock);
	free(control);
}
