/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Backing up and restoring zones, in the folders of Knot DNS: what `zone-backup` and `zone-restore` begin, and events
 * do zone by zone.
 *
 * A backup is held by the command that begins it and by each zone that waits for its event; whoever lets go last ends
 * it. A zone waits for one backup at a time. Its parts are of one version, as nothing else changes the zone in its
 * turn. Any thread registered for RCU, outside of read sections. Why so: doc/adr/0048-backup.md.
 */
#pragma once

#include "src/event/backup_dir.h"
#include "src/event/server.h"

typedef struct server_backup server_backup_t;

typedef struct {
	void *zones;            /* owned: a tree of zones that wait, of tsearch(3), by address of the entry */
	server_backup_t *first; /* owned: a list of those that are held */
} backups_t;

/** What a command asks for. Parts: BACKUP_…. */
typedef struct {
	const char *path; /* of the folder; NULL: none was given */
	unsigned parts;   /* to be backed up or restored */
	unsigned asked;   /* those of them that the command names, which the backup must have */
	bool is_restore;
	bool is_forced;
	knot_name_t zone; /* for the log: of the first unit; wire NULL: all */
} server_backup_ask_t;

/**
 * Begin. Logs why it failed. KNOT_EPARAMMISSING: no folder. KNOT_EPARAM: the folder is the server's own.
 * KNOT_ENOTINBACKUP: a part that is asked isn't there. KNOT_ENOTSUP: a part that is asked isn't supported. Errors of
 * backup_dir_begin() and backup_dir_open().
 */
KNOT_MUST_USE knot_err_t server_backup_begin(
		server_t *server, const server_backup_ask_t *ask, server_backup_t **ret_backup);

/** Log that it could not begin. */
void server_backup_log_failure(const server_backup_ask_t *ask, knot_err_t err);

/**
 * Back up or restore a zone; ret_ticket: to wait for it. KNOT_ENOZONE. KNOT_EPROGRESS: it waits for another one
 * already. KNOT_ETXNMANY: a transaction on it is open, which restoring would undo. Both are logged.
 */
KNOT_MUST_USE knot_err_t server_backup_zone(
		server_t *server, server_backup_t *backup, knot_name_t name, server_ticket_t *ret_ticket);

/** Let go: no more zones follow. */
void server_backup_end(server_t *server, server_backup_t *backup);
