/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Files that are opened while the process may still be root, in directories that belong to the user it becomes.
 *
 * Whoever owns such a directory can put a link there: nothing that a link leads to may be given away.
 */
#pragma once

#include "libknot/base/err.h"

#include <sys/types.h>

/**
 * Open or create a file, close-on-exec, and give it to uid:gid when running as root. What isn't a regular file of just
 * one name (a device, a hard link) is opened and keeps its owner.
 * flags: of open(2), O_CREAT included if wanted. mode: of a new file, less umask.
 * Errors are errno codes, say them with the path; that of ELOOP: `path` is a symbolic link.
 */
KNOT_MUST_USE knot_err_t sys_file_open(const char *path, int flags, mode_t mode, uid_t uid, gid_t gid, int *ret_fd);
