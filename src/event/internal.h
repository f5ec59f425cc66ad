/* SPDX-License-Identifier: BSD-2-Clause */
/** The server's fields, for the parts of src/event that work on them. Internal to src/event. */
#pragma once

#include <limits.h>
#include <stdatomic.h>

#include "src/event/backup.h"
#include "src/event/catalogs.h"
#include "src/event/changes.h"
#include "src/event/conf_edit.h"
#include "src/event/derivations.h"
#include "src/event/edits.h"
#include "src/event/external.h"
#include "src/event/renewal.h"
#include "src/event/rests.h"
#include "src/event/saves.h"
#include "src/event/takeover.h"
#include "src/event/timer_sync.h"
#include "src/event/updates.h"
#include "src/event/zone_edit.h"
#include "src/event/zone_set.h"
#include "src/kasp/kasp.h"
#include "src/remote/remote.h"
#include "src/sys/jump.h"

/* Zones handled each time the lock of the jobs is held: it bounds how long workers wait for it. */
enum { SERVER_CHUNK = 256 };

enum { SERVER_QUESTION_LISTS = 4096 };

/** The open transaction of the configuration; under the reload lock. See conf_edit.c. */
typedef struct {
	conf_txn_t *txn;          /* owned; NULL: none is open */
	conf_store_t *base;       /* owned: the configuration that it began with, if that isn't the published one */
	unsigned owner;           /* the owner that began it */
	uint64_t version;         /* of the database as it was published */
	atomic_bool is_open;      /* true while there is a transaction, for threads without the lock */
	_Atomic uint64_t since_s; /* wall clock: when it began; for threads without the lock */
} conf_open_t;

/** What remains to be done to compact the memory of a zone. See compact.c. */
typedef struct compaction compaction_t;

struct server {
	state_root_t root;
	server_params_t params;
	jobs_t jobs;
	saves_t saves;
	takeover_t takeover;                             /* of Knot's journal */
	timer_db_t *timers;                              /* owned; takes care of its threads itself */
	journal_t *journal;                              /* owned; takes care of its threads itself */
	transfer_service_t *transfers;                   /* owned: its thread serves workers */
	sys_mutex_t reload_lock;                         /* one reload at a time */
	const zonedb_t *zones SYS_GUARDED_BY(jobs.lock); /* borrowed from the published state; replaced by a reload;
							    under the lock of the jobs */
	int loaded_fd;                                   /* owned: eventfd */
	conf_t *started; /* owned: the configuration of the start, see conf_copy_groups() */
	conf_open_t edit SYS_GUARDED_BY(reload_lock);
	edits_t edits;         /* open transactions on zones */
	externals_t externals; /* versions that another program decides about */
	updates_t updates;     /* requests for dynamic updates that wait */
	catalogs_t catalogs;
	remote_t *remote;                                    /* owned; takes care of its threads itself */
	notices_t *notices;                                  /* owned: NOTIFYs that came */
	derivations_t derivations SYS_GUARDED_BY(jobs.lock); /* zones that are made of others */
	rests_t rests SYS_GUARDED_BY(jobs.lock);             /* of zones with primaries or secondaries */
	faults_t faults SYS_GUARDED_BY(jobs.lock);           /* reasons of zones whose last job failed */
	sys_jump_t jump SYS_GUARDED_BY(jobs.lock);           /* of the wall clock */
	uint64_t jumped_ms SYS_GUARDED_BY(jobs.lock);        /* when it did so last by hours; 0: never */
	uint64_t expired_ms SYS_GUARDED_BY(jobs.lock);       /* when an entry's had_expired was set last */
	uint64_t refusals SYS_GUARDED_BY(jobs.lock);         /* versions that a guard rail held back */
	uint64_t unproven SYS_GUARDED_BY(jobs.lock);         /* versions that aren't validly signed */
	compaction_t *compactions SYS_GUARDED_BY(jobs.lock); /* owned: a list */
	backups_t backups SYS_GUARDED_BY(jobs.lock);         /* that are being made or restored */
	renewal_t renewal SYS_GUARDED_BY(jobs.lock);         /* a zone that is built from scratch */
	struct question *questions[SERVER_QUESTION_LISTS] SYS_GUARDED_BY(jobs.lock); /* owned: by the zone's name */
	struct children *children SYS_GUARDED_BY(jobs.lock);                         /* owned */
	sys_mutex_t kasp_lock;
	kasp_t *kasp SYS_GUARDED_BY(kasp_lock); /* owned: the database of keys; NULL: not opened yet */
	char kasp_reason[KASP_REASON_MAX] SYS_GUARDED_BY(kasp_lock); /* why it couldn't be used the last time */
	uint64_t trash_due_s SYS_GUARDED_BY(
			kasp_lock); /* when to look for keys that are in the trash for long enough */
	atomic_uint merges;         /* of journals, that go on now */
};

/** The lock of the jobs, also for a const server. */
static inline sys_mutex_t *server_lock(const server_t *server) SYS_RETURNS_LOCK(server->jobs.lock)
{
	return (sys_mutex_t *)(uintptr_t)&server->jobs.lock;
}

/** The entry of a zone, or NULL: not configured. Under the lock of the jobs. */
entry_t *server_find_entry(const server_t *server, knot_name_t name) SYS_REQUIRES(server->jobs.lock);

/**
 * Work on the zone in the calling thread: no worker has it until jobs_end(). Under the lock of the jobs, which is
 * released while waiting. KNOT_ENOZONE: not configured. KNOT_ECTLBUSY: the server stops.
 */
KNOT_MUST_USE knot_err_t server_begin_work(server_t *server, knot_name_t name, entry_t **ret_entry)
		SYS_REQUIRES(server->jobs.lock);

/** Path and settings_number() of a zone's file. KNOT_ENOZONE: not configured. Not under the lock of the jobs. */
KNOT_MUST_USE knot_err_t server_zone_file(const server_t *server, knot_name_t name, char ret_path[static PATH_MAX],
		uint64_t *ret_settings) SYS_EXCLUDES(server->jobs.lock);

/** Path of a zone's file in another folder, by the default name. KNOT_EPARAM: folder is "". KNOT_ENOZONE, KNOT_ESPACE.
 */
KNOT_MUST_USE knot_err_t server_path_in_folder(
		const server_t *server, knot_name_t name, const char *folder, char ret_path[static PATH_MAX]);

/** The start doesn't wait for the zone, which is loaded but waits for something outside. In its turn. */
void server_note_tried(server_t *server, entry_t *entry) SYS_EXCLUDES(server->jobs.lock);

/** The wall clock's time of sys_clock_ms(). */
uint64_t server_wall_of(uint64_t when_ms);

/** Everything that a configuration needs before it can be published. */
typedef struct {
	state_t *state;
	size_t fresh;     /* zones that are new */
	bool same_zones;  /* the set of zones is the old one */
	zone_t **leaving; /* owned: members of catalogs that are configured now */
	size_t leaving_count;
} server_build_t;

/** Build the state of a configuration, with the zones of `old` that stay, and members of catalogs that come (sorted, or
 * NULL). On failure nothing is kept and the caller still owns `conf`. */
KNOT_MUST_USE knot_err_t server_build(conf_t *conf, const zonedb_t *old, members_t *members, server_build_t *ret_build);

/** How a new configuration is applied. */
typedef struct {
	const conf_txn_t *txn; /* what differs from the published configuration; NULL: unknown, so all zones and their
				  files are checked */
	knot_err_t (*keep)(void *ctx); /* store it durably, when nothing else can fail; NULL: nothing to do. On failure
					  nothing changes */
	void *ctx;
} server_change_t;

/** Apply a configuration, which the server owns afterwards. On failure it is freed and nothing changes. Under the
 * reload lock. */
KNOT_MUST_USE knot_err_t server_apply(server_t *server, conf_t *take_conf, const server_change_t *change)
		SYS_REQUIRES(server->reload_lock);

/** Wait until the zone has no running or waiting job. Under the lock of the jobs and with errors as above. */
KNOT_MUST_USE knot_err_t server_wait_for_rest(server_t *server, knot_name_t name, entry_t **ret_entry)
		SYS_REQUIRES(server->jobs.lock);

/* ---- zone_edit.c ---- */

/** Abort the zone's transaction, if there is one. Under the lock of the jobs. The caller frees what is returned after
 * releasing the lock; may be NULL. */
server_edit_t *server_edit_drop(server_t *server, knot_name_t name) SYS_REQUIRES(server->jobs.lock);
void server_edit_free(server_t *server, server_edit_t *take_edit);

/* ---- What events do: two functions per row of event.def ---- */

/*
 * run: in the zone's turn, without locks. how: EVENT_BY_…. outcome: filled in by what was done. The caller logs that
 * the event failed. plan: after a job of the zone, under the lock of the jobs. ended: what the job was, EVENT_NONE: a
 * command's work.
 */
#define EVENT(id, name, rules, run, plan)                                                                              \
	knot_err_t run(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)                         \
			SYS_EXCLUDES(server->jobs.lock);                                                               \
	void plan(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)                              \
			SYS_REQUIRES(server->jobs.lock);
#define EVENT_ABSENT(id, name, rules)
#include "src/event/event.def"
#undef EVENT
#undef EVENT_ABSENT

/* ---- backup.c ---- */

/** The zone is being removed: it won't be in the backup that waits for it. */
void server_backup_forget(server_t *server, entry_t *entry) SYS_REQUIRES(server->jobs.lock);

/** True if the zone waits for being restored, or is. */
bool server_is_restoring(const server_t *server, const entry_t *entry) SYS_REQUIRES(server->jobs.lock);

/** Leave backups incomplete, before the process ends: after jobs_stop(). */
void server_backup_stop(server_t *server) SYS_EXCLUDES(server->jobs.lock);
/* ---- notify.c ---- */

/** Plan refreshes of zones whose primaries sent NOTIFY. ctx: the server. With one thread: "remote". */
void server_take_notices(void *ctx);

/** Remember what the timer database says, before the zone is loaded for the first time. */
void server_restore_notify(server_t *server, entry_t *entry, uint64_t last_notified) SYS_REQUIRES(server->jobs.lock);

/* ---- compact.c ---- */

/** Forget what remains to be done for a zone that is being removed, or whose contents are dropped. In its turn, unless
 * it is removed. */
void server_compact_forget(server_t *server, entry_t *entry) SYS_REQUIRES(server->jobs.lock);

/** Free server->compactions. After jobs_stop(). */
void server_compact_deinit(server_t *server) SYS_EXCLUDES(server->jobs.lock);

/* ---- zone_flush.c ---- */

/** Write the files of all zones that are ahead of them, before the process ends: after jobs_stop(). Waits for commands
 * that work on a zone. */
void server_flush_all(server_t *server) SYS_EXCLUDES(server->jobs.lock);

/** Write the times of all zones as `timer-db-sync` says, before the process ends: after server_flush_all(). */
void server_write_timers(server_t *server) SYS_EXCLUDES(server->jobs.lock);

/** The times of a zone as they are now, those that aren't written yet included. In its turn. KNOT_EMALF, KNOT_EFILE …:
 * what was written can't be read. */
KNOT_MUST_USE knot_err_t server_read_times(server_t *server, entry_t *entry, timer_record_t *ret_record)
		SYS_EXCLUDES(server->jobs.lock);

/** Follow the times of a zone that the database has: before it is loaded for the first time, and when they were
 * restored. In its turn. */
void server_follow_times(server_t *server, entry_t *entry) SYS_EXCLUDES(server->jobs.lock);

/** Log each zone whose changes are in neither its file nor its image. After server_flush_all() and images_stop(). */
void server_report_lost(server_t *server) SYS_EXCLUDES(server->jobs.lock);

/* Under the lock of the jobs: */

/** Plan writing the zone file by a `zonefile-sync`, in seconds, that may be another than in the configuration before;
 * NULL: it is the same.
 */
void server_replan_flush(server_t *server, entry_t *entry, const conf_t *before, int64_t sync_s)
		SYS_REQUIRES(server->jobs.lock);

/**
 * Plan it by the time of the last attempt, before the zone is loaded for the first time; UNIX time, 0: unknown. Else a
 * period begins with the load.
 */
void server_restore_flush(server_t *server, entry_t *entry, uint64_t last_s) SYS_REQUIRES(server->jobs.lock);

/** When writing it was last tried, UNIX time; 0: unknown, or `zonefile-sync` asks for no period. */
uint64_t server_last_flush(const server_t *server, entry_t *entry) SYS_REQUIRES(server->jobs.lock);

/** The ticket of writing the zone file, if that is due now and nothing holds it back; 0: it isn't. */
server_ticket_t server_flush_ticket(const server_t *server, const entry_t *entry) SYS_REQUIRES(server->jobs.lock);
