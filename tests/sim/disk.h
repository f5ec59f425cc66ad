/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Stands between a process and the files of one folder: counts the calls that change them, ends the process at one of
 * them or lets it fail, and keeps a log of what was written and synced, from which the disk after a power failure can
 * be made.
 *
 * Linked into a program (image_sim) its definitions of pwrite(), fdatasync() … are found before the C library's, by
 * shared libraries such as LMDB too. As a shared library (disk_shim, LD_PRELOAD) it does so for a program as it is, set
 * by environment variables:
 *
 *     DISK_FOLDER   the folder (absolute, without symbolic links); without it nothing happens
 *     DISK_KILL_AT  number of the call, from 1, at which SIGKILL is sent; 0 or unset: never
 *     DISK_WHEN     before, half, after
 *     DISK_COUNT    a file that gets a disk_control_t, for the parent process to read
 *     DISK_LOG      a file that gets the log; names in it are relative to the folder, also of files in folders below
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

typedef enum {
	DISK_BEFORE, /* the call doesn't happen */
	DISK_HALF,   /* the first half of what was to be written is; only for calls that write */
	DISK_AFTER,  /* the call happens and never returns */
	DISK_WHEN_COUNT,
} disk_when_t;

typedef enum {
	DISK_WRITE,    /* pwrite, write, writev, pwritev */
	DISK_SYNC,     /* fdatasync, fsync, msync */
	DISK_TRUNCATE, /* ftruncate */
	DISK_NAME,     /* rename, unlink */
	DISK_KIND_COUNT,
} disk_kind_t;

enum { DISK_CALLS_MAX = 8192 };

/** Shared with the process that watches. */
typedef struct {
	_Atomic uint32_t calls; /* that change files of the folder, so far */
	uint32_t kill_at;       /* 0: never */
	uint32_t when;          /* disk_when_t */
	uint32_t fail_at;       /* from this call on, `fail_count` calls fail with `fail_errno`; 0: none */
	uint32_t fail_count;
	int fail_errno;
	uint8_t kinds[DISK_CALLS_MAX]; /* disk_kind_t of the first calls */
	char folder[512];
	uint32_t fail_late; /* so many of the failing calls, if they write or sync, happen and report it all the same.
			       Last: crash_sim.py knows where the others are */
} disk_control_t;

/** NULL: nothing is watched. Inherited by fork(). */
extern disk_control_t *disk_control;

/** Where the log goes, or -1. Closed by its owner. */
extern int disk_log;

/**
 * Of the log; after a write follow `len` bytes, after a new name (DISK_NAME, of paths that were given as a whole) the
 * name with its NUL, "" if the file is gone, and zeros up to a multiple of 8.
 */
typedef struct {
	uint32_t kind;       /* disk_kind_t */
	uint32_t is_durable; /* a write through O_DSYNC that has returned */
	uint64_t off, len;   /* bytes; of a truncation len is the new length */
	char file[32];       /* name within the folder */
} disk_entry_t;
