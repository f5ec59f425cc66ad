/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/log_output.h"

#include "src/sys/clock.h"
#include "src/sys/limits.h"
#include "src/sys/lock.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#define JOURNAL_PATH "/run/systemd/journal/socket"
#define SYSLOG_PATH  "/dev/log"

enum { MESSAGE_MAX = 2048 }; /* bytes: head, fields, name of a zone, message */

log_output_t log_output_of(int fd, bool is_own)
{
	struct stat info;
	mode_t mode = fstat(fd, &info) == 0 ? info.st_mode : S_IFREG;
	log_output_kind_t kind = S_ISREG(mode)    ? LOG_OUTPUT_BLOCKING
				 : S_ISSOCK(mode) ? LOG_OUTPUT_SOCKET
				 : is_own         ? LOG_OUTPUT_NONBLOCKING
						  : LOG_OUTPUT_STREAM;
	return (log_output_t){ .kind = kind, .fd = fd };
}

/* True: the descriptor takes bytes or has an error. False: neither in time. */
static bool output_wait_writable(log_output_t *output)
{
	struct pollfd pfd = { .fd = output->fd, .events = POLLOUT };
	int ret;
	do {
		ret = poll(&pfd, 1, atomic_load(&output->is_stalled) ? 0 : SYS_LOG_WAIT_MS);
	} while (ret < 0 && errno == EINTR);
	atomic_store(&output->is_stalled, ret == 0);
	if (ret == 0) {
		errno = EAGAIN;
	}
	return ret != 0;
}

/* Something was taken. If there is room for more, the output isn't stalled, and is waited for again. */
static void output_note_taken(log_output_t *output)
{
	if (atomic_load(&output->is_stalled)) {
		(void)output_wait_writable(output);
	}
}

/* ---- Descriptors ---- */

/*
 * Anything but a file may take part of the text now and the rest later; lines of other threads must not come between.
 * A pipe that is ready takes PIPE_BUF bytes without blocking, unless another process writes to it meanwhile.
 */
static sys_mutex_t stream_lock = SYS_MUTEX_INIT;

static ssize_t output_write_some(log_output_t *output, const char *text, size_t len)
{
	if (output->kind == LOG_OUTPUT_SOCKET) {
		return send(output->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	if (output->kind != LOG_OUTPUT_STREAM) {
		return write(output->fd, text, len);
	}
	if (!output_wait_writable(output)) {
		return -1;
	}
	return write(output->fd, text, len < PIPE_BUF ? len : PIPE_BUF);
}

/* How many bytes were written. */
static size_t output_write_all(log_output_t *output, const char *text, size_t len)
{
	size_t used = 0;
	while (used < len) {
		ssize_t done = output_write_some(output, text + used, len - used);
		if (done > 0) {
			used += (size_t)done;
			atomic_store(&output->is_torn, text[used - 1] != '\n');
			output_note_taken(output);
			continue;
		}
		int errnum = done < 0 ? errno : EIO;
		bool is_full = errnum == EAGAIN &&
			       (output->kind == LOG_OUTPUT_SOCKET || output->kind == LOG_OUTPUT_NONBLOCKING);
		if (errnum == EINTR || (is_full && output_wait_writable(output))) {
			continue;
		}
		atomic_store(&output->errnum, errnum);
		break;
	}
	return used;
}

static size_t output_write_lines(log_output_t *output, const char *text, size_t len)
{
	bool is_whole = !atomic_load(&output->is_torn) || output_write_all(output, "\n", 1) == 1;
	return is_whole ? output_write_all(output, text, len) : 0;
}

size_t log_output_write(log_output_t *output, const char *text, size_t len)
{
	if (output->kind == LOG_OUTPUT_BLOCKING) {
		return output_write_lines(output, text, len);
	}
	sys_mutex_lock_brief(&stream_lock);
	size_t used = output_write_lines(output, text, len);
	sys_mutex_unlock(&stream_lock);
	return used;
}

/* ---- The journal and syslog ---- */

static sys_mutex_t system_lock = SYS_MUTEX_INIT; /* the connections, and what is sent on them */

static bool output_connect_path(log_output_t *output, const char *path, int type) SYS_REQUIRES(system_lock)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		return false;
	}
	if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) != 0) {
		int errnum = errno;
		close(fd);
		errno = errnum;
		return false;
	}
	output->fd = fd;
	output->is_stream = type == SOCK_STREAM;
	return true;
}

static bool output_connect_system(log_output_t *output) SYS_REQUIRES(system_lock)
{
	if (output->kind == LOG_OUTPUT_JOURNAL) {
		return output_connect_path(output, JOURNAL_PATH, SOCK_DGRAM);
	}
	return output_connect_path(output, SYSLOG_PATH, SOCK_DGRAM) ||
	       (errno == EPROTOTYPE && output_connect_path(output, SYSLOG_PATH, SOCK_STREAM));
}

static void output_disconnect_system(log_output_t *output) SYS_REQUIRES(system_lock)
{
	if (output->fd >= 0) {
		close(output->fd);
		output->fd = -1;
	}
}

/* "KEY=value\n" each: no value has a newline. */
static size_t output_put_journal(char *out, int level, const char *zone, const char *field, const char *message)
{
	int len = snprintf(out, MESSAGE_MAX, "PRIORITY=%d\nSYSLOG_IDENTIFIER=%s\nMESSAGE=%s\n%s%s%s%s%s", level,
			program_invocation_short_name, message, zone != NULL ? "ZONE=" : "", zone != NULL ? zone : "",
			zone != NULL ? "\n" : "", field != NULL ? field : "", field != NULL ? "\n" : "");
	return len < MESSAGE_MAX ? (size_t)len : MESSAGE_MAX - 1;
}

/* "<30>Jan 31 12:00:00 knot[123]: message"; on a stream, a NUL ends it. */
static size_t output_put_syslog(char *out, int level, const char *message, bool is_stream)
{
	char stamp[32] = "";
	struct tm local;
	time_t now = (time_t)sys_clock_wall();
	if (localtime_r(&now, &local) != NULL) {
		(void)strftime(stamp, sizeof(stamp), "%b %e %T", &local);
	}
	int len = snprintf(out, MESSAGE_MAX, "<%d>%s knot[%d]: %s", LOG_DAEMON | level, stamp, (int)getpid(), message);
	size_t used = len < MESSAGE_MAX ? (size_t)len : MESSAGE_MAX - 1;
	return used + (is_stream ? 1 : 0);
}

static size_t output_put_message(const log_output_t *output, char *out, int level, const char *zone, const char *field,
		const char *message)
{
	return output->kind == LOG_OUTPUT_JOURNAL ? output_put_journal(out, level, zone, field, message)
						  : output_put_syslog(out, level, message, output->is_stream);
}

/* Send on the existing connection. If only part of a message went to a stream, close the connection. */
static bool output_send_message(log_output_t *output, const char *text, size_t len) SYS_REQUIRES(system_lock)
{
	do {
		ssize_t sent = send(output->fd, text, len, MSG_NOSIGNAL);
		if (sent == (ssize_t)len) {
			output_note_taken(output);
			return true;
		}
		if (sent >= 0) {
			output_disconnect_system(output);
			errno = EAGAIN;
			return false;
		}
	} while (errno == EINTR || (errno == EAGAIN && output_wait_writable(output)));
	return false;
}

bool log_output_send(log_output_t *output, int level, const char *zone, const char *field, const char *message)
{
	char text[MESSAGE_MAX + 1];
	sys_mutex_lock_brief(&system_lock);
	bool is_old = output->fd >= 0;
	bool is_sent = (is_old || output_connect_system(output)) &&
		       output_send_message(output, text, output_put_message(output, text, level, zone, field, message));
	if (!is_sent && is_old && errno != EAGAIN) {
		/* The listener is gone; maybe another one listens there now. */
		output_disconnect_system(output);
		is_sent = output_connect_system(output) &&
			  output_send_message(
					  output, text, output_put_message(output, text, level, zone, field, message));
	}
	if (!is_sent) {
		atomic_store(&output->errnum, errno);
	}
	sys_mutex_unlock(&system_lock);
	return is_sent;
}

void log_output_close(log_output_t *output)
{
	if (output->kind == LOG_OUTPUT_JOURNAL || output->kind == LOG_OUTPUT_SYSLOG) {
		sys_mutex_lock_brief(&system_lock);
		output_disconnect_system(output);
		sys_mutex_unlock(&system_lock);
	}
}
