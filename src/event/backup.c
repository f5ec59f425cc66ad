/* SPDX-License-Identifier: BSD-2-Clause */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/event/backup_internal.h"
#include "src/sys/log.h"

/** A zone that waits. */
typedef struct {
	const entry_t *entry; /* only compared */
	server_backup_t *backup;
} backup_wait_t;

/* ---- Beginning ---- */

/* Parts that this server knows nothing of: a backup has none of them, and what another server has put there stays. */
static const struct {
	unsigned part;
	const char *folder;
} foreign_parts[] = {
	{ BACKUP_CATALOG, "catalog" },
	{ BACKUP_QUIC, "quic" },
};

static bool backup_has_folder(const server_backup_t *backup, const char *name)
{
	char path[PATH_MAX];
	struct stat info;
	return backup_dir_path(&backup->dir, name, path) && stat(path, &info) == 0;
}

static void backup_log(const server_backup_ask_t *ask, int level, const char *text)
{
	if (ask->zone.wire != NULL) {
		log_control_zone(level, ask->zone, "%s", text);
	} else {
		log_control(level, "%s", text);
	}
}

static knot_err_t backup_check_foreign(const server_backup_t *backup, const server_backup_ask_t *ask)
{
	for (size_t i = 0; i < KNOT_LEN(foreign_parts); i++) {
		unsigned part = foreign_parts[i].part & backup->parts;
		if (part == 0 || !backup_has_folder(backup, foreign_parts[i].folder)) {
			continue;
		}
		char text[96];
		snprintf(text, sizeof(text), "restore, '%s' in the backup isn't supported%s", foreign_parts[i].folder,
				(part & ask->asked) != 0 ? "" : ", left out");
		backup_log(ask, LOG_WARNING, text);
		if ((part & ask->asked) != 0) {
			return KNOT_ENOTSUP;
		}
	}
	return KNOT_OK;
}

static knot_err_t backup_open(server_backup_t *backup, const server_backup_ask_t *ask)
{
	char missing[BACKUP_NAMES_MAX], text[BACKUP_NAMES_MAX + 32];
	knot_err_t err = backup_dir_open(&backup->dir, ask->parts, ask->is_forced);
	if (err != KNOT_OK) {
		return err;
	}
	if ((ask->asked & ~backup->dir.parts) != 0) {
		backup_parts_print(ask->asked & ~backup->dir.parts, missing);
		snprintf(text, sizeof(text), "missing in backup: %s", missing);
		backup_log(ask, LOG_WARNING, text);
		return KNOT_ENOTINBACKUP;
	}
	/* Parts of the defaults that weren't backed up stay as they are. */
	backup->parts &= backup->dir.parts;
	return backup_check_foreign(backup, ask);
}

static knot_err_t backup_prepare(const server_t *server, server_backup_t *backup, const server_backup_ask_t *ask)
{
	RCU_READ_SECTION(guard);
	const conf_t *conf = state_load(&server->root, guard)->conf;
	backup->journal_max = conf->database.journal_db_max_size;
	backup->timers_max = conf->database.timer_db_max_size;
	backup->keys_max = conf->database.kasp_db_max_size;
	snprintf(backup->dir.identity, sizeof(backup->dir.identity), "%s", conf->server.identity);
	if (backup_dir_is_storage(backup->dir.path, &conf->database)) {
		backup_log(ask, LOG_ERR,
				ask->is_restore ? "restore from the database storage directory not allowed"
						: "backup to the database storage directory not allowed");
		return KNOT_EINVAL;
	}
	return KNOT_OK;
}

static knot_err_t backup_start(const server_t *server, server_backup_t *backup, const server_backup_ask_t *ask)
{
	if (ask->path == NULL || ask->path[0] == '\0') {
		return KNOT_EPARAMMISSING;
	}
	if (snprintf(backup->dir.path, sizeof(backup->dir.path), "%s", ask->path) >= (int)sizeof(backup->dir.path)) {
		return KNOT_ESPACE;
	}
	backup->dir.is_restore = ask->is_restore;
	backup->dir.parts = backup->parts = ask->parts;
	knot_err_t err = backup_prepare(server, backup, ask);
	if (err != KNOT_OK) {
		return err;
	}
	return ask->is_restore ? backup_open(backup, ask) : backup_dir_begin(&backup->dir, ask->is_forced);
}

static void backup_free(server_backup_t *take_backup) SYS_UNCHECKED_LOCKS
{
	timer_db_close(take_backup->timers);
	sys_mutex_done(&take_backup->lock);
	backup_dir_leave(&take_backup->dir);
	free(take_backup);
}

void server_backup_log_failure(const server_backup_ask_t *ask, knot_err_t err)
{
	char text[128];
	snprintf(text, sizeof(text), "%s init failed (%s)", ask->is_restore ? "restore" : "backup", knot_strerror(err));
	backup_log(ask, LOG_ERR, text);
}

knot_err_t server_backup_begin(server_t *server, const server_backup_ask_t *ask, server_backup_t **ret_backup)
{
	server_backup_t *backup = calloc(1, sizeof(*backup));
	if (backup == NULL) {
		return KNOT_ENOMEM;
	}
	backup->dir.lock_fd = -1;
	backup->holds = 1;
	sys_mutex_init(&backup->lock);
	knot_err_t err = backup_start(server, backup, ask);
	if (err != KNOT_OK) {
		server_backup_log_failure(ask, err);
		backup_free(backup);
		return err;
	}
	sys_mutex_lock(&server->jobs.lock);
	backup->next = server->backups.first;
	server->backups.first = backup;
	sys_mutex_unlock(&server->jobs.lock);
	*ret_backup = backup;
	return KNOT_OK;
}

/* ---- Holding; under the lock of the jobs ---- */

static int backup_compare(const void *one, const void *other)
{
	uintptr_t a = (uintptr_t)((const backup_wait_t *)one)->entry;
	uintptr_t b = (uintptr_t)((const backup_wait_t *)other)->entry;
	return a < b ? -1 : a > b;
}

static server_backup_t *backup_of(const server_t *server, const entry_t *entry) SYS_REQUIRES(server->jobs.lock)
{
	const backup_wait_t key = { .entry = entry };
	backup_wait_t *const *found = tfind(&key, &server->backups.zones, backup_compare);
	return found != NULL ? (*found)->backup : NULL;
}

bool server_is_restoring(const server_t *server, const entry_t *entry)
{
	const server_backup_t *backup = backup_of(server, entry);
	return backup != NULL && backup->dir.is_restore;
}

static knot_err_t backup_add(server_t *server, server_backup_t *backup, const entry_t *entry)
		SYS_REQUIRES(server->jobs.lock)
{
	backup_wait_t *wait = malloc(sizeof(*wait));
	if (wait == NULL) {
		return KNOT_ENOMEM;
	}
	*wait = (backup_wait_t){ entry, backup };
	if (tsearch(wait, &server->backups.zones, backup_compare) == NULL) {
		free(wait);
		return KNOT_ENOMEM;
	}
	backup->holds++;
	return KNOT_OK;
}

static void backup_remove(server_t *server, const entry_t *entry) SYS_REQUIRES(server->jobs.lock)
{
	const backup_wait_t key = { .entry = entry };
	backup_wait_t *const *found = tfind(&key, &server->backups.zones, backup_compare);
	if (found != NULL) {
		backup_wait_t *wait = *found;
		(void)tdelete(&key, &server->backups.zones, backup_compare);
		free(wait);
	}
}

/* Let go. True: that was the last hold, so the caller ends it, without the lock. */
static bool backup_let_go(server_t *server, server_backup_t *backup) SYS_REQUIRES(server->jobs.lock)
{
	if (--backup->holds > 0) {
		return false;
	}
	server_backup_t **at = &server->backups.first;
	while (*at != backup) {
		at = &(*at)->next;
	}
	*at = backup->next;
	return true;
}

/* ---- Ending ---- */

static void backup_finish(server_backup_t *take_backup) SYS_UNCHECKED_LOCKS
{
	server_backup_t *backup = take_backup;
	journal_reason_t reason;
	knot_err_t err = journal_knot_finish(backup->journal, &reason);
	backup->journal = NULL;
	timer_db_close(backup->timers);
	backup->timers = NULL;
	kasp_close(backup->keys);
	backup->keys = NULL;
	err = backup->err != KNOT_OK ? backup->err : err;
	if (!backup->dir.is_restore && err == KNOT_OK) {
		err = backup_dir_end(&backup->dir, backup->zone_count);
		if (err != KNOT_OK) {
			log_control(LOG_ERR, "failed to create a backup label in %s (%s)", backup->dir.path,
					knot_strerror(err));
		}
	}
	backup_free(backup);
}

void server_backup_end(server_t *server, server_backup_t *backup)
{
	sys_mutex_lock(&server->jobs.lock);
	bool is_last = backup_let_go(server, backup);
	sys_mutex_unlock(&server->jobs.lock);
	if (is_last) {
		backup_finish(backup);
	}
}

static void backup_note_failure(server_backup_t *backup, knot_err_t err)
{
	if (backup->err == KNOT_OK && !backup->dir.is_restore) {
		backup->err = err;
	}
}

void server_backup_forget(server_t *server, entry_t *entry)
{
	server_backup_t *backup = backup_of(server, entry);
	bool is_at_work = entry->is_running && agenda_event_of(entry->ticket) == EVENT_BACKUP;
	if (backup == NULL || is_at_work) {
		return; /* its worker lets go */
	}
	backup_remove(server, entry);
	backup_note_failure(backup, KNOT_ENOZONE);
	if (backup_let_go(server, backup)) {
		/* Nothing is written, as it failed. */
		backup_finish(backup);
	}
}

void server_backup_stop(server_t *server)
{
	sys_mutex_lock(&server->jobs.lock);
	for (server_backup_t *backup = server->backups.first; backup != NULL; backup = backup->next) {
		backup_note_failure(backup, KNOT_ESTOPPED);
		log_server(LOG_WARNING, "%s '%s' in progress, terminating, will be incomplete",
				backup->dir.is_restore ? "restore from" : "backup to", backup->dir.path);
	}
	while (server->backups.zones != NULL) {
		backup_wait_t *wait = *(backup_wait_t **)server->backups.zones;
		server_backup_t *backup = wait->backup;
		backup_remove(server, wait->entry);
		if (backup_let_go(server, backup)) {
			backup_finish(backup);
		}
	}
	sys_mutex_unlock(&server->jobs.lock);
}

/* ---- Zones ---- */

knot_err_t server_backup_zone(server_t *server, server_backup_t *backup, knot_name_t name, server_ticket_t *ret_ticket)
{
	knot_err_t err = KNOT_OK;
	sys_mutex_lock(&server->jobs.lock);
	entry_t *entry = server_find_entry(server, name);
	if (entry == NULL) {
		err = KNOT_ENOZONE;
	} else if (backup_of(server, entry) != NULL) {
		err = KNOT_EPROGRESS;
	} else if (backup->dir.is_restore && entry->edited) {
		err = KNOT_ETXNMANY;
	} else if (server->jobs.stopping) {
		err = KNOT_ECTLBUSY;
	} else if ((err = backup_add(server, backup, entry)) == KNOT_OK) {
		*ret_ticket = jobs_ask(&server->jobs, entry, EVENT_BACKUP, EVENT_BY_OPERATOR);
	}
	if (err == KNOT_ENOMEM) {
		backup_note_failure(backup, err);
	}
	sys_mutex_unlock(&server->jobs.lock);
	if (err == KNOT_EPROGRESS) {
		log_zone(LOG_WARNING, name, "backup or restore already in progress, skipping zone");
	} else if (err == KNOT_ETXNMANY) {
		log_zone(LOG_WARNING, name, "restoring backup not possible due to open control transaction");
	}
	return err;
}

/* The backup that the zone waits for, and whether it has failed already. NULL: none. */
static server_backup_t *backup_take(server_t *server, const entry_t *entry, knot_err_t *ret_err)
{
	sys_mutex_lock(&server->jobs.lock);
	server_backup_t *backup = backup_of(server, entry);
	*ret_err = backup != NULL ? backup->err : KNOT_OK;
	sys_mutex_unlock(&server->jobs.lock);
	return backup;
}

/* The zone is done. */
static void backup_give_back(server_t *server, server_backup_t *backup, const entry_t *entry, knot_err_t err)
{
	sys_mutex_lock(&server->jobs.lock);
	if (err == KNOT_OK) {
		backup->zone_count++;
	} else {
		backup_note_failure(backup, err);
	}
	backup_remove(server, entry);
	bool is_last = backup_let_go(server, backup);
	sys_mutex_unlock(&server->jobs.lock);
	if (is_last) {
		backup_finish(backup);
	}
}

knot_err_t server_run_backup(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	(void)how;
	knot_err_t err;
	server_backup_t *backup = backup_take(server, entry, &err);
	if (backup == NULL) {
		outcome->keeps_result = true;
		return KNOT_OK;
	}
	bool is_restore = backup->dir.is_restore;
	if (err == KNOT_OK) {
		err = is_restore ? backup_zone_restore(server, backup, entry, outcome)
				 : backup_zone_save(server, backup, entry);
	}
	if (err == KNOT_OK) {
		log_zone(LOG_INFO, entry_name(entry), "zone %s '%s'", is_restore ? "restored from" : "backed up to",
				backup->dir.path);
	} else {
		log_zone(LOG_WARNING, entry_name(entry), "zone %s failed (%s)", is_restore ? "restore" : "backup",
				knot_strerror(err));
	}
	backup_give_back(server, backup, entry, err);
	return err;
}

void server_plan_backup(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	if (ended == EVENT_BACKUP && outcome.load == LOAD_DROPPED) {
		(void)jobs_ask(&server->jobs, entry, EVENT_LOAD, EVENT_BY_OPERATOR);
	}
}
