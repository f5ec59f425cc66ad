/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Definitions that come before the C library's. They make the system call themselves, so that there is no other
 * function to find; a sanitizer's interceptors are passed by, which costs its checks of the arguments only.
 */
#include "tests/sim/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

disk_control_t *disk_control;
int disk_log = -1;

/* The name within the folder, "" if `path` is elsewhere. */
static void name_within(const char *path, char ret_name[static 32])
{
	size_t len = strlen(disk_control->folder);
	ret_name[0] = '\0';
	if (strncmp(path, disk_control->folder, len) == 0 && path[len] == '/') {
		snprintf(ret_name, 32, "%s", path + len + 1);
	}
}

static bool is_watched(int fd, char ret_name[static 32])
{
	char link[64], path[600];
	if (disk_control == NULL || fd == disk_log) {
		return false;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, path, sizeof(path) - 1);
	if (len <= 0) {
		return false;
	}
	path[len] = '\0';
	name_within(path, ret_name);
	return ret_name[0] != '\0';
}

static void end_process(void)
{
	kill(getpid(), SIGKILL);
	for (;;) {
		pause();
	}
}

/* What becomes of a call. */
typedef enum { CALL_GOES_ON, CALL_ENDS, CALL_FAILS, CALL_FAILS_LATE } fate_t;

/* Counts a call. CALL_ENDS: the process ends in the middle of it or after it; before it, this doesn't return.
 * CALL_FAILS: errno is set. CALL_FAILS_LATE: it happens, and then fails. */
static fate_t fate_of(disk_kind_t kind)
{
	uint32_t number = atomic_fetch_add(&disk_control->calls, 1) + 1;
	if (number <= DISK_CALLS_MAX) {
		disk_control->kinds[number - 1] = (uint8_t)kind;
	}
	if (disk_control->fail_at != 0 && number >= disk_control->fail_at &&
			number - disk_control->fail_at < disk_control->fail_count) {
		errno = disk_control->fail_errno;
		bool is_late = number - disk_control->fail_at < disk_control->fail_late;
		return is_late && (kind == DISK_WRITE || kind == DISK_SYNC) ? CALL_FAILS_LATE : CALL_FAILS;
	}
	if (number != disk_control->kill_at) {
		return CALL_GOES_ON;
	}
	if (disk_control->when == DISK_BEFORE) {
		end_process();
	}
	return CALL_ENDS;
}

static void log_entry(disk_entry_t *entry, const char *file, const uint8_t *data)
{
	if (disk_log >= 0) {
		memcpy(entry->file, file, sizeof(entry->file));
		static uint8_t zeros[8];
		size_t len = data != NULL ? entry->len : 0;
		struct iovec parts[] = { { entry, sizeof(*entry) }, { (void *)data, len }, { zeros, -len % 8 } };
		syscall(SYS_writev, disk_log, parts, 3);
	}
}

static int fail_late(void)
{
	errno = disk_control->fail_errno;
	return -1;
}

/* `off` -1: at the file's position. */
static ssize_t write_at(int fd, const void *data, size_t len, off_t off)
{
	return off < 0 ? syscall(SYS_write, fd, data, len) : syscall(SYS_pwrite64, fd, data, len, off);
}

static ssize_t watched_write(int fd, const void *data, size_t len, off_t off)
{
	char file[32] = "";
	if (!is_watched(fd, file)) {
		return write_at(fd, data, len, off);
	}
	fate_t fate = fate_of(DISK_WRITE);
	if (fate == CALL_FAILS) {
		return -1;
	}
	bool ends = fate == CALL_ENDS;
	disk_entry_t entry = { .kind = DISK_WRITE, .off = (uint64_t)(off < 0 ? lseek(fd, 0, SEEK_CUR) : off) };
	size_t count = ends && disk_control->when == DISK_HALF ? len / 2 : len;
	ssize_t done = write_at(fd, data, count, off);
	if (done > 0) {
		entry.len = (uint64_t)done;
		entry.is_durable = count == len && fate != CALL_FAILS_LATE && (fcntl(fd, F_GETFL) & O_DSYNC) != 0;
		log_entry(&entry, file, data);
	}
	if (ends) {
		end_process();
	}
	return fate == CALL_FAILS_LATE ? fail_late() : done;
}

/* As one write of all parts. */
static ssize_t watched_writev(int fd, const struct iovec *parts, int count, off_t off)
{
	char file[32] = "";
	if (!is_watched(fd, file)) {
		return off < 0 ? syscall(SYS_writev, fd, parts, count) : syscall(SYS_pwritev, fd, parts, count, off, 0);
	}
	size_t len = 0;
	for (int i = 0; i < count; i++) {
		len += parts[i].iov_len;
	}
	uint8_t *all = malloc(len + 1), *to = all;
	if (all == NULL) {
		abort();
	}
	for (int i = 0; i < count; i++) {
		memcpy(to, parts[i].iov_base, parts[i].iov_len);
		to += parts[i].iov_len;
	}
	ssize_t done = watched_write(fd, all, len, off);
	free(all);
	return done;
}

static int watched_sync(int fd, long number)
{
	char file[32] = "";
	bool is_ours = is_watched(fd, file);
	fate_t fate = is_ours ? fate_of(DISK_SYNC) : CALL_GOES_ON;
	if (fate == CALL_FAILS) {
		return -1;
	}
	int done = (int)syscall(number, fd);
	if (is_ours && done == 0 && fate != CALL_FAILS_LATE) {
		disk_entry_t entry = { .kind = DISK_SYNC };
		log_entry(&entry, file, NULL);
	}
	if (fate == CALL_ENDS) {
		end_process();
	}
	return fate == CALL_FAILS_LATE ? fail_late() : done;
}

/* ---- What stands before the C library's ---- */

SHOWN ssize_t pwrite(int fd, const void *data, size_t len, off_t off)
{
	return watched_write(fd, data, len, off);
}

SHOWN ssize_t write(int fd, const void *data, size_t len)
{
	return watched_write(fd, data, len, -1);
}

SHOWN ssize_t writev(int fd, const struct iovec *parts, int count)
{
	return watched_writev(fd, parts, count, -1);
}

SHOWN ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t off)
{
	return watched_writev(fd, parts, count, off);
}

SHOWN int fdatasync(int fd)
{
	return watched_sync(fd, SYS_fdatasync);
}

SHOWN int fsync(int fd)
{
	return watched_sync(fd, SYS_fsync);
}

/* Whose pages these are is not known: all count while a folder is watched. */
SHOWN int msync(void *start, size_t len, int flags)
{
	fate_t fate = disk_control != NULL ? fate_of(DISK_SYNC) : CALL_GOES_ON;
	if (fate == CALL_FAILS) {
		return -1;
	}
	int done = (int)syscall(SYS_msync, start, len, flags);
	if (fate == CALL_ENDS) {
		end_process();
	}
	return fate == CALL_FAILS_LATE ? fail_late() : done;
}

SHOWN int ftruncate(int fd, off_t len)
{
	char file[32] = "";
	bool is_ours = is_watched(fd, file);
	fate_t fate = is_ours ? fate_of(DISK_TRUNCATE) : CALL_GOES_ON;
	if (fate == CALL_FAILS) {
		return -1;
	}
	int done = (int)syscall(SYS_ftruncate, fd, len);
	if (is_ours && done == 0) {
		disk_entry_t entry = { .kind = DISK_TRUNCATE, .len = (uint64_t)len };
		log_entry(&entry, file, NULL);
	}
	if (fate == CALL_ENDS) {
		end_process();
	}
	return done;
}

static bool is_named(const char *path)
{
	char file[32] = "";
	if (disk_control != NULL) {
		size_t len = strlen(disk_control->folder);
		name_within(path, file);
		return file[0] != '\0' || (strncmp(path, disk_control->folder, len) == 0 && path[len] == '\0');
	}
	return false;
}

/* A file has another name, or none. */
static void log_name(const char *from, const char *to)
{
	char file[32] = "", new_file[32] = "";
	if (disk_control != NULL && disk_log >= 0) {
		name_within(from, file);
		name_within(to, new_file);
	}
	if (file[0] != '\0') {
		disk_entry_t entry = { .kind = DISK_NAME, .len = strlen(new_file) + 1 };
		log_entry(&entry, file, (const uint8_t *)new_file);
	}
}

SHOWN int rename(const char *from, const char *to)
{
	fate_t fate = is_named(from) ? fate_of(DISK_NAME) : CALL_GOES_ON;
	if (fate == CALL_FAILS) {
		return -1;
	}
	int done = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
	if (done == 0) {
		log_name(from, to);
	}
	if (fate == CALL_ENDS) {
		end_process();
	}
	return done;
}

/* Relative to the watched folder itself, or any way that leads into it. */
static bool is_named_at(int folder_fd, const char *path)
{
	char link[64], folder[600];
	if (disk_control == NULL || folder_fd == AT_FDCWD || path[0] == '/') {
		return is_named(path);
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", folder_fd);
	ssize_t len = readlink(link, folder, sizeof(folder) - 1);
	folder[len > 0 ? len : 0] = '\0';
	return strcmp(folder, disk_control->folder) == 0;
}

SHOWN int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	fate_t fate = is_named_at(from_fd, from) ? fate_of(DISK_NAME) : CALL_GOES_ON;
	if (fate == CALL_FAILS) {
		return -1;
	}
	int done = (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
	if (fate == CALL_ENDS) {
		end_process();
	}
	return done;
}

SHOWN int unlink(const char *path)
{
	fate_t fate = is_named(path) ? fate_of(DISK_NAME) : CALL_GOES_ON;
	if (fate == CALL_FAILS) {
		return -1;
	}
	int done = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
	if (done == 0) {
		log_name(path, "");
	}
	if (fate == CALL_ENDS) {
		end_process();
	}
	return done;
}

SHOWN int unlinkat(int folder_fd, const char *path, int flags)
{
	fate_t fate = is_named_at(folder_fd, path) ? fate_of(DISK_NAME) : CALL_GOES_ON;
	if (fate == CALL_FAILS) {
		return -1;
	}
	int done = (int)syscall(SYS_unlinkat, folder_fd, path, flags);
	if (fate == CALL_ENDS) {
		end_process();
	}
	return done;
}
