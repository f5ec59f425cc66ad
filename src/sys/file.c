/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/file.h"

#include <fcntl.h>
#include <stdbool.h>
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
