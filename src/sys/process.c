/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/process.h"

#include "src/sys/clock.h"

#include <assert.h>
#include <cap-ng.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "libknot/base/number.h"
#include "src/sys/file.h"

static int daemon_ready_fd = -1;

/* The parent: leave as soon as the child is ready or gone. */
static void wait_for_child(int fd, pid_t child)
{
	char byte;
	ssize_t got;
	do {
		got = read(fd, &byte, 1);
	} while (got < 0 && errno == EINTR);
	if (got == 1) {
		_exit(EXIT_SUCCESS);
	}
	waitpid(child, NULL, 0);
	_exit(EXIT_FAILURE);
}

knot_err_t sys_daemonize(const char *dir)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) != 0) {
		return knot_err_of_errno(errno);
	}
	pid_t child = fork();
	if (child < 0) {
		int err = errno;
		close(fds[0]);
		close(fds[1]);
		return knot_err_of_errno(err);
	}
	if (child > 0) {
		close(fds[1]);
		wait_for_child(fds[0], child);
	}
	close(fds[0]);
	daemon_ready_fd = fds[1];
	if (setsid() < 0 || chdir(dir) != 0) {
		return knot_err_of_errno(errno);
	}
	return KNOT_OK;
}

void sys_daemon_ready(void)
{
	if (daemon_ready_fd < 0) {
		return;
	}
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		close(null);
	}
	char byte = 1;
	ssize_t put = write(daemon_ready_fd, &byte, 1);
	(void)put; /* the parent may be gone: then no process waits */
	close(daemon_ready_fd);
	daemon_ready_fd = -1;
}

/* The PID in a pid file; 0 if there is none. A server that must not remove its file leaves it empty. */
static pid_t read_pid(int fd, bool *ret_is_empty)
{
	char text[24] = { 0 };
	ssize_t got = pread(fd, text, sizeof(text) - 1, 0);
	*ret_is_empty = got <= 0;
	if (got <= 0) {
		return 0;
	}
	uint64_t pid;
	size_t len;
	return knot_number_begin(knot_str_of(text), INT_MAX, &pid, &len) == KNOT_NUMBER_OK ? (pid_t)pid : 0;
}

/* PIDs are reused: a living process that isn't a knotd is not the one that wrote the file. */
static bool is_living_server(pid_t pid)
{
	if (pid <= 0 || pid == getpid() || (kill(pid, 0) != 0 && errno != EPERM)) {
		return false;
	}
	char path[40], theirs[32] = { 0 };
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return true;
	}
	ssize_t got = read(fd, theirs, sizeof(theirs) - 1);
	close(fd);
	return got <= 0 || strstr(theirs, "knotd") != NULL;
}

static knot_err_t write_pid(int fd)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%d", (int)getpid());
	if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)len, 0) != len) {
		return knot_err_of_errno(errno);
	}
	return KNOT_OK;
}

knot_err_t sys_pidfile_create(
		const char *path, uid_t uid, gid_t gid, sys_pidfile_t *ret_file, pid_t *ret_other, bool *ret_stale)
{
	int fd;
	knot_err_t err = sys_file_open(path, O_RDWR | O_CREAT, 0640, uid, gid, &fd);
	if (err != KNOT_OK) {
		return err;
	}
	bool is_empty;
	pid_t pid = read_pid(fd, &is_empty);
	/* The lock detects a living instance of ours for sure; the PID detects any other server that writes this file.
	 */
	if (flock(fd, LOCK_EX | LOCK_NB) != 0 || is_living_server(pid)) {
		*ret_other = pid;
		err = KNOT_EBUSY;
	} else {
		err = write_pid(fd);
	}
	char *copy = err == KNOT_OK ? strdup(path) : NULL;
	if (copy == NULL) {
		err = err != KNOT_OK ? err : KNOT_ENOMEM;
		if (err != KNOT_EBUSY) {
			unlink(path); /* ours, and not whole */
		}
		close(fd);
		return err;
	}
	*ret_stale = !is_empty && pid != getpid();
	*ret_file = (sys_pidfile_t){ .fd = fd, .path = copy };
	return KNOT_OK;
}

void sys_pidfile_remove(sys_pidfile_t *file)
{
	if (file->fd >= 0) {
		/* Another server may have made one, for example after the folder was removed. */
		struct stat ours, there;
		bool is_ours = fstat(file->fd, &ours) == 0 && lstat(file->path, &there) == 0 &&
			       ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
		/* After the user switch the directory may be read-only to us: then leave a file without a PID. */
		if (is_ours && unlink(file->path) != 0) {
			(void)!ftruncate(file->fd, 0);
		}
		close(file->fd);
		free(file->path);
		*file = (sys_pidfile_t){ .fd = -1 };
	}
}

knot_err_t sys_drop_privileges(uid_t uid, gid_t gid)
{
	bool same_ids = uid == geteuid() && gid == getegid();
	if (same_ids && !capng_have_capabilities(CAPNG_SELECT_CAPS)) {
		return KNOT_OK;
	}
	if (!same_ids) {
		const struct passwd *user = getpwuid(uid);
		if (user != NULL ? initgroups(user->pw_name, gid) != 0 : setgroups(0, NULL) != 0) {
			return knot_err_of_errno(errno);
		}
		if (setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0) {
			return knot_err_of_errno(errno);
		}
	}
	capng_clear(CAPNG_SELECT_BOTH);
	if (uid == 0) {
		/* root that stays root still reads zone files and reopens logs that belong to others. */
		const capng_type_t held = CAPNG_EFFECTIVE | CAPNG_PERMITTED;
		capng_updatev(CAPNG_ADD, held, CAP_DAC_OVERRIDE, CAP_CHOWN, CAP_FOWNER, -1);
	}
	if (capng_apply(CAPNG_SELECT_CAPS) < 0) {
		return KNOT_EPERM;
	}
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return KNOT_OK;
}

void sys_memory_init(void)
{
	enum { LARGE = 128 * 1024 }; /* glibc's own limit before it moves */
	(void)mallopt(M_MMAP_THRESHOLD, LARGE);
}

void sys_memory_trim(void)
{
	(void)malloc_trim(0);
}

static _Atomic uint64_t pulse_ms; /* sys_clock_ms() of the last beat */

void sys_pulse_beat(void)
{
	atomic_store(&pulse_ms, sys_clock_ms());
}

uint64_t sys_pulse_age_ms(void)
{
	uint64_t last_ms = atomic_load(&pulse_ms), now_ms = sys_clock_ms();
	return last_ms != 0 && now_ms > last_ms ? now_ms - last_ms : 0;
}

void sys_notify_ready(void)
{
	(void)sd_notify(0, "READY=1");
}

void sys_notify_reloading(void)
{
	(void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, sys_clock_ns() / 1000);
}

void sys_notify_stopping(void)
{
	(void)sd_notify(0, "STOPPING=1\nSTATUS=");
}

void sys_notify_status(const char *text)
{
	assert(strchr(text, '\n') == NULL); /* a line of another field would begin */
	(void)sd_notifyf(0, "STATUS=%s", text);
}

bool sys_notify_is_heard(void)
{
	return getenv("NOTIFY_SOCKET") != NULL;
}

uint64_t sys_watchdog_interval_ms(void)
{
	uint64_t timeout_us;
	return sd_watchdog_enabled(0, &timeout_us) > 0 ? timeout_us / 2000 : 0;
}

void sys_notify_alive(void)
{
	(void)sd_notify(0, "WATCHDOG=1");
}
