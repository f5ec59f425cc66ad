/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of a zone, into a backup and out of it. */
#include <stdio.h>
#include <sys/stat.h>

#include "src/event/backup_internal.h"
#include "src/event/flush.h"
#include "src/event/publish.h"
#include "src/event/signing.h"
#include "src/sys/log.h"

/* Knot's words: "backup, zone file failed (…)". */
static knot_err_t backup_note_part(
		const server_backup_t *backup, knot_name_t name, const char *part, knot_err_t err, const char *reason)
{
	if (err != KNOT_OK) {
		log_zone(LOG_WARNING, name, "%s, %s failed (%s)%s%s", backup->dir.is_restore ? "restore" : "backup",
				part, knot_strerror(err), reason[0] != '\0' ? ", " : "", reason);
	}
	return err;
}

/* The zone's file in the backup. */
static knot_err_t backup_zone_path(
		const server_t *server, const server_backup_t *backup, knot_name_t name, char ret_path[static PATH_MAX])
{
	char folder[PATH_MAX];
	if (backup->dir.format <= BACKUP_FORMAT_OLD) {
		return server_path_in_folder(server, name, backup->dir.path, ret_path);
	}
	return backup_dir_path(&backup->dir, "zonefiles", folder)
			       ? server_path_in_folder(server, name, folder, ret_path)
			       : KNOT_ESPACE;
}

/* ---- Backup ---- */

static knot_err_t backup_save_file(server_t *server, server_backup_t *backup, entry_t *entry)
{
	char path[PATH_MAX];
	load_settings_t settings;
	knot_name_t name = entry_name(entry);
	const zone_contents_t *contents = zone_contents(entry_zone(entry));
	knot_err_t err = load_settings(&server->root, name, &settings);
	err = err == KNOT_OK ? backup_zone_path(server, backup, name, path) : err;
	if (err == KNOT_OK && settings.sync_s >= 0 && contents == NULL) {
		log_zone(LOG_NOTICE, name, "empty zone, skipping a zone file backup");
	} else if (err == KNOT_OK && settings.sync_s >= 0) {
		err = flush_to_file(contents, &settings.skip, path, 0, FLUSH_SYNCS_LATER, NULL);
	} else if (err == KNOT_OK && (err = flush_copy_file(settings.path, path, FLUSH_SYNCS_LATER)) == KNOT_ENOENT) {
		log_zone(LOG_NOTICE, name, "no zone file, skipping a zone file backup");
		err = KNOT_OK;
	}
	return backup_note_part(backup, name, "zone file", err, "");
}

/* The backup's journal, made with the first zone that has one. */
static knot_err_t backup_get_journal(
		server_backup_t *backup, journal_knot_writer_t **ret_writer, journal_reason_t *ret_reason)
{
	char path[PATH_MAX];
	knot_err_t err = KNOT_OK;
	sys_mutex_lock(&backup->lock);
	if (backup->journal == NULL) {
		err = backup_dir_path(&backup->dir, "journal", path)
				      ? journal_knot_make(path, backup->journal_max, &backup->journal, ret_reason)
				      : KNOT_ESPACE;
	}
	*ret_writer = backup->journal;
	sys_mutex_unlock(&backup->lock);
	return err;
}

static knot_err_t backup_save_journal(server_t *server, server_backup_t *backup, entry_t *entry)
{
	journal_info_t info;
	journal_knot_writer_t *writer;
	journal_reason_t reason = { .text = "" };
	knot_name_t name = entry_name(entry);
	knot_err_t err = journal_info(server->journal, name, &info);
	if (err == KNOT_ENOENT) {
		return KNOT_OK;
	}
	err = err == KNOT_OK ? backup_get_journal(backup, &writer, &reason) : err;
	err = err == KNOT_OK ? journal_knot_copy(writer, server->journal, name, &reason) : err;
	return backup_note_part(backup, name, "journal", err == KNOT_ENOENT ? KNOT_OK : err, reason.text);
}

/* The backup's timers; opened when they are needed first. NULL: out of memory, or the path is too long. */
static timer_db_t *backup_get_timers(server_backup_t *backup)
{
	char path[PATH_MAX];
	sys_mutex_lock(&backup->lock);
	if (backup->timers == NULL && backup_dir_path(&backup->dir, "timers", path)) {
		backup->timers = timer_db_new(path, backup->timers_max,
				backup->dir.is_restore ? TIMER_DB_READ_ONLY : TIMER_DB_UNSYNCED);
	}
	timer_db_t *timers = backup->timers;
	sys_mutex_unlock(&backup->lock);
	return timers;
}

/* Put a record in place of a zone's. */
static knot_err_t backup_put_record(
		timer_db_t *db, knot_name_t name, const timer_record_t *record, sys_lmdb_reason_t *ret_reason)
{
	timer_write_t *write;
	knot_err_t err = timer_db_begin(db, &write, ret_reason);
	if (err != KNOT_OK) {
		return err;
	}
	err = timer_write_record(write, name, record);
	if (err != KNOT_OK) {
		timer_write_discard(write, ret_reason);
		return err;
	}
	return timer_write_commit(write, ret_reason);
}

/* A zone without any times gets one all the same: Knot DNS restores no zone that has no record. */
static knot_err_t backup_save_timers(server_t *server, server_backup_t *backup, entry_t *entry)
{
	timer_record_t record;
	uint8_t bytes[TIMER_RECORD_MAX];
	sys_lmdb_reason_t reason = { .text = "" };
	timer_db_t *timers = backup_get_timers(backup);
	knot_err_t err = timers != NULL ? server_read_times(server, entry, &record) : KNOT_ENOMEM;
	if (err == KNOT_OK && timer_record_write(&record, bytes) == 0) {
		record.values.at[TIMER_LAST_FLUSH] = backup->dir.started_s;
	}
	err = err == KNOT_OK ? backup_put_record(timers, entry_name(entry), &record, &reason) : err;
	return backup_note_part(backup, entry_name(entry), "timers", err, reason.text);
}

/* The backup's key database; opened when it is needed first. */
static knot_err_t backup_get_keys(server_backup_t *backup, kasp_t **ret_keys, char *reason)
{
	char path[PATH_MAX];
	knot_err_t err = KNOT_OK;
	sys_mutex_lock(&backup->lock);
	if (backup->keys == NULL) {
		const kasp_params_t params = {
			.path = path, .size_max = backup->keys_max, .read_only = backup->dir.is_restore
		};
		err = backup_dir_path(&backup->dir, "keys", path) ? kasp_open(&params, reason, &backup->keys)
								  : KNOT_ESPACE;
	}
	*ret_keys = backup->keys;
	sys_mutex_unlock(&backup->lock);
	return err;
}

/* Keys of the zone, to the backup or from there. Those of a zone that has none stay as they are. */
static knot_err_t backup_copy_keys(server_t *server, server_backup_t *backup, entry_t *entry)
{
	kasp_t *keys;
	char folder[PATH_MAX], reason[KASP_REASON_MAX] = "";
	bool is_restore = backup->dir.is_restore, only_keys = (backup->parts & BACKUP_KASPDB) == 0;
	bool is_wanted = (backup->parts & (BACKUP_KASPDB | BACKUP_KEYSONLY)) != 0;
	if (!is_wanted || (!is_restore && !signing_has_kasp(server))) {
		return KNOT_OK;
	}
	if (!backup_dir_path(&backup->dir, "keys/keys", folder)) {
		return backup_note_part(backup, entry_name(entry), "keys", KNOT_ESPACE, "");
	}
	knot_err_t err = backup_get_keys(backup, &keys, reason);
	if (err == KNOT_OK) {
		err = is_restore ? signing_restore_keys(server, entry_zone(entry), keys, folder, only_keys)
				 : signing_save_keys(server, entry_zone(entry), keys, folder, only_keys);
	}
	return backup_note_part(backup, entry_name(entry), "keys", err == KNOT_ENOENT ? KNOT_OK : err, reason);
}

knot_err_t backup_zone_save(server_t *server, server_backup_t *backup, entry_t *entry)
{
	knot_err_t err = KNOT_OK;
	if ((backup->parts & BACKUP_ZONEFILE) != 0) {
		err = backup_save_file(server, backup, entry);
	}
	if (err == KNOT_OK && (backup->parts & BACKUP_JOURNAL) != 0) {
		err = backup_save_journal(server, backup, entry);
	}
	if (err == KNOT_OK && (backup->parts & BACKUP_TIMERS) != 0) {
		err = backup_save_timers(server, backup, entry);
	}
	return err == KNOT_OK ? backup_copy_keys(server, backup, entry) : err;
}

/* ---- Restoring ---- */

/** What the backup has of a zone. Looked at before anything of the zone is touched. */
typedef struct {
	char file[PATH_MAX]; /* path in the backup */
	bool has_file;
	char journal[PATH_MAX]; /* path of the database in the backup */
	bool has_journal;
	timer_record_t times;
	bool has_times;
} backup_found_t;

static knot_err_t backup_look_for_journal(const server_backup_t *backup, knot_name_t name, backup_found_t *found)
{
	struct stat info;
	journal_knot_t *knot;
	journal_knot_info_t known;
	journal_reason_t reason = { .text = "" };
	if (!backup_dir_path(&backup->dir, "journal/data.mdb", found->journal)) {
		return KNOT_ESPACE;
	}
	if (stat(found->journal, &info) != 0) {
		return KNOT_OK; /* there was nothing to be copied */
	}
	knot_err_t err = journal_knot_open_copy(found->journal, &knot, &reason);
	if (err == KNOT_OK) {
		err = journal_knot_info(knot, name, &known);
		journal_knot_close(knot);
	}
	found->has_journal = err == KNOT_OK;
	return backup_note_part(backup, name, "journal", err == KNOT_ENOENT ? KNOT_OK : err, reason.text);
}

static knot_err_t backup_look_for_times(server_backup_t *backup, knot_name_t name, backup_found_t *found)
{
	sys_lmdb_reason_t reason = { .text = "" };
	timer_db_t *timers = backup_get_timers(backup);
	knot_err_t err = timers != NULL ? timer_db_open(timers, &reason) : KNOT_ENOMEM;
	err = err == KNOT_OK ? timer_db_read_record(timers, name, &found->times) : err;
	found->has_times = err == KNOT_OK;
	bool is_none = err == KNOT_ENOENT && reason.text[0] == '\0';
	return backup_note_part(backup, name, "timers", is_none ? KNOT_OK : err, "");
}

static knot_err_t backup_look(const server_t *server, server_backup_t *backup, knot_name_t name, backup_found_t *found)
{
	struct stat info;
	knot_err_t err = backup_zone_path(server, backup, name, found->file);
	found->has_file = err == KNOT_OK && (backup->parts & BACKUP_ZONEFILE) != 0 && stat(found->file, &info) == 0;
	if (err == KNOT_OK && (backup->parts & BACKUP_JOURNAL) != 0) {
		err = backup_look_for_journal(backup, name, found);
	}
	if (err == KNOT_OK && (backup->parts & BACKUP_TIMERS) != 0) {
		err = backup_look_for_times(backup, name, found);
	}
	const unsigned known = BACKUP_ZONEFILE | BACKUP_JOURNAL | BACKUP_TIMERS;
	if (err == KNOT_OK && (backup->parts & known) != 0 && !found->has_file && !found->has_journal &&
			!found->has_times) {
		err = KNOT_ENOTINBACKUP; /* the zone stays as it is: it came later */
	}
	return err;
}

/* Serve nothing, and forget what only this server keeps of the contents. */
static void backup_empty_zone(server_t *server, entry_t *entry)
{
	size_t removed;
	knot_name_t name = entry_name(entry);
	sys_mutex_lock(&server->jobs.lock);
	entry->save = SAVE_NONE;
	server_compact_forget(server, entry);
	sys_mutex_unlock(&server->jobs.lock);
	publish_clear(entry_zone(entry), &entry->source);
	if (images_remove(server->saves.images, &name, 1, &removed) != KNOT_OK) {
		log_zone(LOG_WARNING, name, "restore, failed to remove the image");
	}
}

static knot_err_t backup_put_file(
		server_t *server, const server_backup_t *backup, knot_name_t name, const backup_found_t *found)
{
	load_settings_t settings;
	knot_err_t err = load_settings(&server->root, name, &settings);
	if (err == KNOT_OK && found->has_file) {
		err = flush_copy_file(found->file, settings.path, 0);
	} else if (err == KNOT_OK) {
		log_zone(LOG_NOTICE, name, "no zone file, skipping a zone file restore");
		err = load_remove_file(&server->root, name);
	}
	return backup_note_part(backup, name, "zone file", err, "");
}

static knot_err_t backup_put_journal(
		server_t *server, const server_backup_t *backup, knot_name_t name, const backup_found_t *found)
{
	takeover_result_t taken = { 0 };
	knot_err_t err = changes_drop(server->journal, name);
	if (err == KNOT_OK && found->has_journal) {
		err = takeover_from(found->journal, server->journal, name, &taken);
	}
	if (err != KNOT_OK && changes_drop(server->journal, name) != KNOT_OK) { /* half of it is none */
		log_zone(LOG_WARNING, name, "restore, the journal is incomplete");
	}
	return backup_note_part(backup, name, "journal", err, taken.reason.text);
}

static knot_err_t backup_put_times(
		server_t *server, const server_backup_t *backup, entry_t *entry, const backup_found_t *found)
{
	sys_lmdb_reason_t reason = { .text = "" };
	knot_err_t err = backup_put_record(server->timers, entry_name(entry), &found->times, &reason);
	if (err == KNOT_OK) {
		server_follow_times(server, entry);
	}
	return backup_note_part(backup, entry_name(entry), "timers", err, reason.text);
}

knot_err_t backup_zone_restore(server_t *server, server_backup_t *backup, entry_t *entry, job_outcome_t *outcome)
{
	knot_name_t name = entry_name(entry);
	backup_found_t found = { .has_file = false };
	knot_err_t err = backup_look(server, backup, name, &found);
	if (err != KNOT_OK) {
		return err;
	}
	/* The file first: if there is no room for it, everything stays as it is. */
	const unsigned contents = BACKUP_ZONEFILE | BACKUP_JOURNAL;
	if ((backup->parts & BACKUP_ZONEFILE) != 0) {
		err = backup_put_file(server, backup, name, &found);
	}
	if (err != KNOT_OK) {
		return err;
	}
	backup_empty_zone(server, entry);
	outcome->load = LOAD_DROPPED;
	/* Changes since another version lead nowhere from a file that was restored. */
	if ((backup->parts & contents) != 0) {
		err = backup_put_journal(server, backup, name, &found);
	}
	if (err == KNOT_OK && (backup->parts & BACKUP_TIMERS) != 0) {
		err = backup_put_times(server, backup, entry, &found);
	}
	return err == KNOT_OK ? backup_copy_keys(server, backup, entry) : err;
}
