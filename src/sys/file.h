/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Files that are opened while the process may still be root, in directories that belong to the user it becomes.
 *
 * Whoever owns such a directory can put a link there: nothing that a link leads to may be given away.
 */
#pragma once

#include "libknot/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * Open or create a file, close-on-exec, and give it to uid:gid when running as root. What isn't a regular file of just
 * one name (a device, a hard link) is opened and keeps its owner.
 * flags: of open(2), O_CREAT included if wanted. mode: of a new file, less umask.
 * Errors are errno codes, say them with the path; that of ELOOP: `path` is a symbolic link.
 */
KNOT_MUST_USE knot_err_t sys_file_open(const char *path, int flags, mode_t mode, uid_t uid, gid_t gid, int *ret_fd);

/**
 * Text of an error that opening `path` gave: knot_strerror(), but for a symbolic link that was not followed, or leads
 * nowhere, words that say so. Static.
 */
const char *sys_file_strerror(const char *path, knot_err_t err);

/**
 * After rename(2): flush the folder that `path` is in, so that its names are on the disk. The file itself must have
 * been flushed before it was renamed, or its name may come to lead to nothing in a power cut. Errors are errno codes.
 */
KNOT_MUST_USE knot_err_t sys_file_sync_folder(const char *path);

/** Write all bytes, whatever write(2) takes at once. Errors are errno codes. */
KNOT_MUST_USE knot_err_t sys_file_write(int fd, const void *bytes, size_t len);

/**
 * Replace a file, or make it: readers, and who looks after a power cut, find the old contents or the new ones, whole. A
 * symbolic link is replaced, not followed. mode: of the new file. Errors are errno codes; the old file is as it was
 * then. ret_is_made: a file could be made beside it, so that what failed came later.
 */
KNOT_MUST_USE knot_err_t sys_file_replace(
		const char *path, const void *bytes, size_t len, mode_t mode, bool *ret_is_made);
