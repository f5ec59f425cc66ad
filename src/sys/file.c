/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

knot_err_t sys_file_open(const char *path, int flags, mode_t mode, uid_t uid, gid_t gid, int *ret_fd)
{
	int fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, mode);
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	struct stat info;
	bool is_ours = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1;
	if (geteuid() == 0 && is_ours && fchown(fd, uid, gid) != 0) {
		int err = errno;
		close(fd);
		return knot_err_of_errno(err);
	}
	*ret_fd = fd;
	return KNOT_OK;
}

const char *sys_file_strerror(const char *path, knot_err_t err)
{
	struct stat info;
	bool is_candidate = err == knot_err_of_errno(ELOOP) || err == KNOT_ENOENT;
	if (!is_candidate || lstat(path, &info) != 0 || !S_ISLNK(info.st_mode)) {
		return knot_strerror(err);
	}
	return err == KNOT_ENOENT ? "is a symbolic link whose target does not exist"
				  : "is a symbolic link, which is not followed here";
}

/* Linux flushes one folder only through a descriptor open for reading, and O_PATH is none. What is left without the
 * right to read is all of the file system: slower, and as durable. */
static knot_err_t file_sync_system(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	knot_err_t err = syncfs(fd) == 0 ? KNOT_OK : knot_err_of_errno(errno);
	close(fd);
	return err;
}

knot_err_t sys_file_sync_folder(const char *path)
{
	char folder[PATH_MAX];
	snprintf(folder, sizeof(folder), "%s", path);
	char *end = strrchr(folder, '/');
	if (end == NULL) {
		snprintf(folder, sizeof(folder), ".");
	} else {
		end[end == folder ? 1 : 0] = '\0';
	}
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		return errno == EACCES ? file_sync_system(path) : knot_err_of_errno(errno);
	}
	/* Some file systems can't; the rename is as durable there as they make it. */
	knot_err_t err = fsync(fd) == 0 || errno == EINVAL || errno == EROFS ? KNOT_OK : knot_err_of_errno(errno);
	close(fd);
	return err;
}

bool sys_file_hold_streams(void)
{
	bool is_good = true;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && is_good; fd++) {
		is_good = fcntl(fd, F_GETFD) >= 0 || open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) == fd;
	}
	return is_good;
}

bool sys_file_end_output(void)
{
	static bool is_said;
	int errnum = fflush(stdout) != 0 ? errno : 0;
	bool is_good = errnum == 0 && !ferror(stdout);
	if (!is_good && !is_said) {
		is_said = true;
		fprintf(stderr, "error: failed to write to standard output%s%s%s\n", errnum != 0 ? " (" : "",
				errnum != 0 ? strerror(errnum) : "", errnum != 0 ? ")" : "");
	}
	return is_good;
}

knot_err_t sys_file_write(int fd, const void *bytes, size_t len)
{
	const char *rest = bytes;
	while (len > 0) {
		ssize_t written = write(fd, rest, len);
		if (written < 0 && errno != EINTR) {
			return knot_err_of_errno(errno);
		}
		if (written > 0) {
			rest += written;
			len -= (size_t)written;
		}
	}
	return KNOT_OK;
}

/* Write and flush the contents of a new file before it gets its name. */
static knot_err_t file_fill(int fd, const void *bytes, size_t len, mode_t mode)
{
	if (fchmod(fd, mode) != 0) {
		return knot_err_of_errno(errno);
	}
	knot_err_t err = sys_file_write(fd, bytes, len);
	return err != KNOT_OK ? err : fsync(fd) == 0 ? KNOT_OK : knot_err_of_errno(errno);
}

knot_err_t sys_file_replace(const char *path, const void *bytes, size_t len, mode_t mode, bool *ret_is_made)
{
	char beside[PATH_MAX];
	int path_len = snprintf(beside, sizeof(beside), "%s.XXXXXX", path);
	*ret_is_made = false;
	if (path_len < 0 || (size_t)path_len >= sizeof(beside)) {
		return KNOT_ESPACE;
	}
	int fd = mkostemp(beside, O_CLOEXEC);
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	*ret_is_made = true;
	knot_err_t err = file_fill(fd, bytes, len, mode);
	if (close(fd) != 0 && err == KNOT_OK) {
		err = knot_err_of_errno(errno);
	}
	if (err == KNOT_OK && rename(beside, path) != 0) {
		err = knot_err_of_errno(errno);
	}
	if (err != KNOT_OK) {
		(void)unlink(beside);
		return err;
	}
	return sys_file_sync_folder(path);
}
