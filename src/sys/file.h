/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Files that are opened while the process may still be root, in directories that belong to the user it becomes.
 *
 * The owner of such a directory can put a link there, so root must never change the owner of a link's target. No
 * state, any thread.
 */
#pragma once

#include "libknot/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * Open or create a file, close-on-exec, and give it to uid:gid when running as root. Anything but a regular file with
 * one name (a device, a hard link) is opened and keeps its owner. flags: of open(2), O_CREAT included if wanted. mode:
 * of a new file, less umask.
 * Errors are errno codes, to be reported with the path; ELOOP: `path` is a symbolic link.
 */
KNOT_MUST_USE knot_err_t sys_file_open(const char *path, int flags, mode_t mode, uid_t uid, gid_t gid, int *ret_fd);

/**
 * Text of an error that opening `path` gave: knot_strerror(), but a text of its own for a symbolic link that was not
 * followed or leads nowhere. Static.
 */
const char *sys_file_strerror(const char *path, knot_err_t err);

/**
 * After rename(2) to `path`: flush the folder that it is in, so that the new name is on the disk. Flush the file itself
 * before the rename, or a power cut may leave the name without contents. A folder that can be written but not read
 * (mode 0300) costs a flush of its whole file system. Errors are errno codes.
 */
KNOT_MUST_USE knot_err_t sys_file_sync_folder(const char *path);

/**
 * Open /dev/null in place of standard streams that are closed: the next socket or file would get such a number, and
 * with it what is written to the stream. Reading and writing it fails as with the closed one. Call it first in main().
 * False: it can't be opened.
 */
KNOT_MUST_USE bool sys_file_hold_streams(void);

/**
 * What was printed goes out. False: some of it couldn't be written to standard output, which is said on standard error
 * the first time. Call it last in main().
 */
KNOT_MUST_USE bool sys_file_end_output(void);

/** Write all bytes, with as many calls of write(2) as that takes. Errors are errno codes. */
KNOT_MUST_USE knot_err_t sys_file_write(int fd, const void *bytes, size_t len);

/**
 * Replace a file, or make it: readers find the whole old contents or the whole new ones, also after a power cut. A
 * symbolic link is replaced, not followed. mode: of the new file. Errors are errno codes; the old file is then
 * unchanged. ret_is_made: the temporary file beside it could be made, so a later step failed.
 */
KNOT_MUST_USE knot_err_t sys_file_replace(
		const char *path, const void *bytes, size_t len, mode_t mode, bool *ret_is_made);
