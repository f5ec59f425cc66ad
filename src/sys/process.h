/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The process as the system sees it: daemon, pid file, user and capabilities, messages to the service manager.
 *
 * Owns the pid file and the connection to the parent until the start has succeeded. Call it from the main thread at
 * start and stop, unless a function says "any thread". Failures are return values; the caller logs.
 */
#pragma once

#include "libknot/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * Go to the background: fork, new session, standard streams to /dev/null, working directory `dir`.
 * Returns in the child. The parent leaves with status 0 once the child called sys_daemon_ready(), with 1 if it ended
 * before.
 */
KNOT_MUST_USE knot_err_t sys_daemonize(const char *dir);

/** Report to the waiting parent of sys_daemonize() that the start succeeded. Does nothing without a parent. */
void sys_daemon_ready(void);

typedef struct {
	int fd;     /* -1: none held */
	char *path; /* owned */
} sys_pidfile_t;

/**
 * Create the pid file (mode 0640) with our PID, a decimal number without newline.
 * KNOT_EBUSY: *ret_other is the PID of a living process that wrote it: another instance, don't start. A file left by a
 * dead process, or with anything else in it, is replaced; *ret_stale says so unless it was empty. Other errors: errno
 * codes, to be reported with the path.
 */
KNOT_MUST_USE knot_err_t sys_pidfile_create(
		const char *path, uid_t uid, gid_t gid, sys_pidfile_t *ret_file, pid_t *ret_other, bool *ret_stale);

/** Remove the file and forget it. */
void sys_pidfile_remove(sys_pidfile_t *file);

/**
 * Become uid:gid with the supplementary groups of that user, and drop every capability (root keeps those over files).
 * All threads started later inherit it: call before any, after everything that needs a privilege. With our own ids and
 * no capabilities it does nothing.
 */
KNOT_MUST_USE knot_err_t sys_drop_privileges(uid_t uid, gid_t gid);

/**
 * Set up malloc() so that freed memory goes back to the system: large blocks always get pages of their own. (Otherwise
 * glibc moves them into the heap once one was freed, and every reload leaves a hole there.) Call it before threads
 * start.
 */
void sys_memory_init(void);

/** Give free memory of the heap back. Call it after much work only, as it walks the whole heap. Any thread. */
void sys_memory_trim(void);

/**
 * Note that the main loop moves: call it in each round. Also call it once before, in main(): the age counts from the
 * first call.
 */
void sys_pulse_beat(void);

/** Milliseconds since the last beat; 0: there was none. Any thread. */
uint64_t sys_pulse_age_ms(void);

/**
 * sd_notify(3): READY=1; RELOADING=1 with the time that Type=notify-reload wants; STOPPING=1. They do nothing without
 * a service manager. Any thread.
 */
void sys_notify_ready(void);
void sys_notify_reloading(void);
void sys_notify_stopping(void);

/** Set the line that `systemctl status` shows. Does nothing without a service manager. */
void sys_notify_status(const char *text);

/** True if a service manager listens: if not, the caller needn't compose a status. */
bool sys_notify_is_heard(void);

/** How often sys_notify_alive() has to be called, in milliseconds: half of the watchdog's time; 0: there is none. */
uint64_t sys_watchdog_interval_ms(void);

/**
 * WATCHDOG=1. Call it from the main loop, after checking that the other threads move: a service manager restarts a
 * server that doesn't call it.
 */
void sys_notify_alive(void);
