/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The folder of a backup, in Knot's layout: its parts, its label and its lock. Internal to src/event.
 *
 * A folder is a backup when it has a label, which is written last, and no lock, which is removed after that. So what
 * was interrupted can't be taken for one. It logs nothing; one thread at a time. Layout: doc/formats/backup.md.
 */
#pragma once

#include "src/conf/conf.h"

#include <limits.h>

/** Parts of a backup; bits, in the order of the label. */
enum {
	BACKUP_ZONEFILE = 1,
	BACKUP_JOURNAL = 2,
	BACKUP_TIMERS = 4,
	BACKUP_KASPDB = 8,
	BACKUP_KEYSONLY = 16,
	BACKUP_CATALOG = 32,
	BACKUP_QUIC = 64,
	BACKUP_PARTS = 7, /* how many there are */
};

enum {
	BACKUP_FORMAT_OLD = 1, /* no label; zone files are in the folder itself */
	BACKUP_FORMAT = 2,
	BACKUP_IDENTITY_MAX = 256,
	BACKUP_NAMES_MAX = 128,
};

typedef struct {
	char path[PATH_MAX]; /* as the command names it */
	bool is_restore;
	unsigned format; /* BACKUP_FORMAT… */
	unsigned parts;  /* of the backup: those that are being made, or those that the label names */
	int lock_fd;     /* the lock file, flock()ed while the backup is being made; -1: none */
	uint64_t started_s;
	char identity[BACKUP_IDENTITY_MAX]; /* of the server */
} backup_dir_t;

/** Names of parts as a list, "journal, timers". */
void backup_parts_print(unsigned parts, char ret_text[static BACKUP_NAMES_MAX]);

/** True if the folder is the one of the server's own databases, or they are in it. */
bool backup_dir_is_storage(const char *path, const conf_database_t *conf);

/**
 * Begin a backup: make the folder, whose parent must exist, and its lock. dir: path, parts and identity are set.
 * is_forced: remove a backup that is there. KNOT_EEXIST: there is one, be it incomplete, or something else.
 * KNOT_ECTLBUSY: one is being made there. Negated errno.
 */
KNOT_MUST_USE knot_err_t backup_dir_begin(backup_dir_t *dir, bool is_forced);

/** End a backup: write the label, then remove the lock. Negated errno: it isn't one, the lock stays. */
KNOT_MUST_USE knot_err_t backup_dir_end(backup_dir_t *dir, size_t zone_count);

/** Leave it as it is, with its lock. */
void backup_dir_leave(backup_dir_t *dir);

/**
 * Look at a backup to restore. dir: path is set; gets format and parts. wanted: parts that are to be restored.
 * is_forced: without a label it is one of BACKUP_FORMAT_OLD with all parts. KNOT_ENOENT, -ENOTDIR. KNOT_ECTLBUSY: it
 * has a lock. KNOT_EMALF: no label, or a damaged one. KNOT_ENOTSUP: of a later format. KNOT_ECPUCOMPAT: databases are
 * wanted, which another kind of machine has written.
 */
KNOT_MUST_USE knot_err_t backup_dir_open(backup_dir_t *dir, unsigned wanted, bool is_forced);

/** Path of something in the folder. False: it is too long. */
bool backup_dir_path(const backup_dir_t *dir, const char *name, char ret_path[static PATH_MAX]);

/* ---- backup_label.c ---- */

/** What a label says that matters when it is restored. */
typedef struct {
	unsigned format;
	unsigned parts;
	bool is_foreign; /* another kind of machine wrote it */
} backup_label_t;

/** Write the label of a backup to `path`, durably. */
KNOT_MUST_USE knot_err_t backup_label_write(const backup_dir_t *dir, const char *path, size_t zone_count);

/** Read a label. KNOT_ENOENT: there is none. KNOT_EMALF: it is damaged, or no label. */
KNOT_MUST_USE knot_err_t backup_label_read(const char *path, backup_label_t *ret_label);
