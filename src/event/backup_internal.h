/* SPDX-License-Identifier: BSD-2-Clause */
/** A backup that goes on. Internal to src/event/backup*.c. */
#pragma once

#include "src/event/internal.h"
#include "src/journal/knot_write.h"

struct server_backup {
	server_backup_t *next; /* in the server's list */
	backup_dir_t dir;
	unsigned parts;                   /* BACKUP_…: to be done */
	unsigned holds;                   /* under the lock of the jobs: zones that wait, and the command */
	size_t zone_count;                /* under the lock of the jobs: zones that were done */
	knot_err_t err;                   /* under the lock of the jobs: the first failure; a backup is no use then */
	sys_mutex_t lock;                 /* of the databases being opened */
	uint64_t journal_max, timers_max; /* bytes of databases */
	journal_knot_writer_t *journal SYS_GUARDED_BY(lock); /* owned; NULL: nothing was to be written yet */
	timer_db_t *timers SYS_GUARDED_BY(lock);             /* owned; NULL: not open */
	uint64_t keys_max;                                   /* bytes of the database of keys */
	kasp_t *keys SYS_GUARDED_BY(lock);                   /* owned; NULL: not open */
};

/** Back up a zone, restore a zone. In its turn. Both log what failed. */
KNOT_MUST_USE knot_err_t backup_zone_save(server_t *server, server_backup_t *backup, entry_t *entry)
		SYS_EXCLUDES(server->jobs.lock);
KNOT_MUST_USE knot_err_t backup_zone_restore(server_t *server, server_backup_t *backup, entry_t *entry,
		job_outcome_t *outcome) SYS_EXCLUDES(server->jobs.lock);
