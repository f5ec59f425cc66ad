/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The zones of a running server: their set, and when and in which order work is done on them.
 *
 * Owns the published state, the zones, and the pool of background workers with the times of all events; a zone has one
 * job at a time, so it has one writer without a mutex of its own. Not here: sockets (net/), commands (control/), the
 * process (knotd/). Every function may be called from any thread registered for RCU, outside of read sections.
 */
#pragma once

#include "src/conf/db.h"
#include "src/event/event.h"
#include "src/event/faults.h"
#include "src/event/images.h"
#include "src/state/state.h"
#include "src/transfer/out_service.h"

typedef struct server server_t;

typedef struct {
	const char *conf_path; /* borrowed for the server's life: the file that a reload reads, or the folder of `db` */
	conf_db_t *db;         /* borrowed for the server's life: the configuration's database; NULL: it is a file */
	uint64_t db_version;   /* of the database when the configuration was read */
	const conf_host_t *host; /* borrowed for the server's life */
	uid_t uid;               /* owner of log files that a reload opens */
	gid_t gid;
} server_params_t;

/** A server with the zones of a configuration, none loaded. take_conf: owned by the server on success. */
KNOT_MUST_USE knot_err_t server_new(conf_t *take_conf, const server_params_t *params, server_t **ret_server);

/** Start the background workers. */
KNOT_MUST_USE knot_err_t server_start(server_t *server);

/** Let running jobs end, forget the others, end the workers. Nothing is scheduled afterwards. */
void server_stop(server_t *server);

/** Free everything; after server_stop() and with no reader left. NULL is allowed. */
void server_free(server_t *server);

/** What serves transfers of the server's zones, from server_start() until server_free(). */
transfer_service_t *server_transfers(const server_t *server);

/** See whether workers wait for a key database or a keystore, and let others work in their places. Every few seconds.
 */
void server_look_for_stalls(server_t *server);

/** See whether the wall clock was set, and plan again what is planned by it. At least each minute; not within a read
 * section. */
void server_look_at_clock(server_t *server);

/** Where workers load the state. */
const state_root_t *server_state(const server_t *server);

/** The sink for faults of a configuration: it logs them in Knot's words. */
conf_sink_t server_conf_sink(void);

/** Open the log targets of a configuration. Errors are logged to the remaining targets. */
knot_err_t server_open_logs(const conf_t *conf, uid_t uid, gid_t gid);

/* ---- Zones ---- */

/** Schedule the loading of every zone; logs `loading N zones`. Once, at start. */
void server_load_zones(server_t *server);

/** True until every zone was loaded or tried once: `status` then says that it is loading. */
bool server_is_loading(const server_t *server);

/** A descriptor that becomes readable for poll(2) once server_is_loading() was false after a job ended; -1: there is
 * none. */
int server_loaded_fd(const server_t *server);

/** Call it once, when server_is_loading() was false for the first time. Not within a read section. */
void server_note_loaded(server_t *server);

/** Wait until server_is_loading() is false or `timeout_ms` have passed. */
bool server_wait_loaded(server_t *server, unsigned timeout_ms);

/** Identifies a scheduled job to wait for. */
typedef uint32_t server_ticket_t;

/**
 * Plan an event of a zone for now, as an operator requests it. name: any case. how: EVENT_BY_FORCE or 0. EVENT_LOAD:
 * nothing is read if its files and settings are unchanged; forced, guard rails don't hold it up. While a transaction on
 * the zone is open, an event that waits for it isn't run: with ret_ticket, which means that the caller waits, the error
 * is KNOT_ETXNMANY; with NULL it runs when the transaction has ended. KNOT_ENOZONE: not configured.
 */
KNOT_MUST_USE knot_err_t server_zone_ask(
		server_t *server, knot_name_t name, event_t event, unsigned how, server_ticket_t *ret_ticket);

/** Wait for the job and return its result. KNOT_OK at once if the zone is gone, or if the job is held back meanwhile,
 * as the zone was frozen. Only server_stop() ends the wait early. */
knot_err_t server_zone_wait(server_t *server, knot_name_t name, server_ticket_t ticket);

/** True if the zone is configured and has primaries. */
bool server_is_secondary(const server_t *server, knot_name_t name);

/**
 * Plan a refresh for now, as an operator requests it. is_retransfer: the whole zone, whatever its serial. ret_ticket:
 * may be NULL. KNOT_ENOTSUP: it has no primaries. Others as server_zone_ask().
 */
KNOT_MUST_USE knot_err_t server_zone_refresh(
		server_t *server, knot_name_t name, bool is_retransfer, server_ticket_t *ret_ticket);

/** What server_zone_purge() removes. */
enum {
	SERVER_PURGE_CONTENTS = 1, /* what is served */
	SERVER_PURGE_FILE = 2,     /* the zone file */
	SERVER_PURGE_IMAGE = 4,
	SERVER_PURGE_JOURNAL = 8,
	SERVER_PURGE_TIMERS = 16,
	SERVER_PURGE_KEYS = 32,
	SERVER_PURGE_KASP = 64, /* what else the key database has */
};

/**
 * Remove the parts of a zone that `what` names, and with its contents an open transaction. Waits for its running job
 * and for its image being saved. Logs what was removed. KNOT_ENOZONE: not configured. KNOT_ECTLBUSY: the server stops.
 * Otherwise the first failure; the other parts were still tried.
 */
KNOT_MUST_USE knot_err_t server_zone_purge(server_t *server, knot_name_t name, unsigned what);

/** Remove images and journals of zones that aren't configured: of `name`, or of all (wire NULL). */
KNOT_MUST_USE knot_err_t server_purge_orphans(server_t *server, knot_name_t name);

/**
 * Remove the images of all zones that are configured: as server_zone_purge() for each would, but in few transactions.
 */
KNOT_MUST_USE knot_err_t server_purge_images(server_t *server);

typedef enum { SERVER_ORIGIN_NONE, SERVER_ORIGIN_FILE, SERVER_ORIGIN_IMAGE } server_origin_t;

/** Where the served contents were taken from; NONE: there are none. */
server_origin_t server_zone_origin(const server_t *server, knot_name_t name);

/** Numbers of zones by their state. */
typedef struct {
	size_t origins[SERVER_ORIGIN_IMAGE + 1]; /* by where what is served came from; NONE: nothing is served */
	size_t pending, running;                 /* with a job that waits, or runs */
	size_t failed;                           /* whose last job failed, whatever is served */
	size_t unsaved;                          /* whose newest version waits to be saved as an image */
	size_t save_failed;                      /* … could not be saved */
} server_counts_t;

/** Count now; during a reload some zones may be counted twice or not at all. O(zones). */
server_counts_t server_counts(const server_t *server);

/** The health of a zone. */
typedef struct {
	uint8_t name[KNOT_NAME_MAX];
	bool is_tried;  /* a load or change has ended */
	bool is_failed; /* the last one failed, whatever is served */
	bool is_served;
	uint64_t since_s; /* wall clock: when the last load or change began, or was requested if it waits */
	/* Of a secondary zone: wall clock, when a primary last had just what the zone has, 0: not since the start; and
	 * the id of that primary, valid as long as the server */
	uint64_t refreshed_s;
	const char *refreshed_from;
} server_zone_health_t;

/**
 * Up to `max` zones in canonical order, those behind `after` (NULL: from the first on). failed_only: leave out zones
 * whose last load or change did not fail. Returns their number; less than `max`: there are no more. Takes the lock of
 * the jobs for a bounded number of zones at a time; not within a read section.
 */
size_t server_zone_healths(const server_t *server, const uint8_t *after, bool failed_only,
		server_zone_health_t *ret_healths, size_t max);

/** A primary of the section remote. */
typedef struct {
	const char *id;  /* valid as long as the server */
	uint64_t last_s; /* wall clock: when it last had just what some zone has, or gave it that */
} server_primary_t;

/** The primaries that have done so since the start, in order of their ids. Caller frees *ret_primaries. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t server_primaries(const server_t *server, server_primary_t **ret_primaries, size_t *ret_count);

/** Why the last job of a zone failed. */
typedef struct {
	knot_err_t err;
	uint64_t first_s; /* wall clock: when the first job that failed so, without another result since, began */
	uint64_t last_s;  /* wall clock: when the last job of the zone began */
	char reason[FAULT_REASON_MAX]; /* details, such as file and line; follows the text of `err`. "": none are known
					*/
} server_fault_t;

/** True if an event of the zone failed, such as loading it or writing its file, and since then neither that nor what
 * renews its contents has succeeded. */
bool server_zone_fault(const server_t *server, knot_name_t name, server_fault_t *ret_fault);

/**
 * Visit all zones whose last job failed, in canonical order. visit: called under the lock of the jobs, so brief, and
 * no function of the server is called from it. During a reload some zones may be visited twice or not at all.
 * O(zones).
 */
void server_each_fault(const server_t *server, void (*visit)(knot_name_t name, const server_fault_t *fault, void *ctx),
		void *ctx);

/** The stored image of a configured zone. KNOT_ENOZONE: not configured. */
KNOT_MUST_USE knot_err_t server_zone_image(const server_t *server, knot_name_t name, images_info_t *ret_info);

typedef struct {
	enum {
		SERVER_EVENT_IDLE,
		SERVER_EVENT_PLANNED,
		SERVER_EVENT_PENDING,
		SERVER_EVENT_RUNNING,
		SERVER_EVENT_FROZEN, /* waits until the zone is thawed, or its transaction ends */
	} state;
	uint64_t since_s; /* wall clock: when it was or is due; if it runs, when it began */
} server_event_status_t;

/** State of a zone's event, for zone-status. Idle also if the zone isn't configured, or the event is absent. */
server_event_status_t server_zone_event(const server_t *server, knot_name_t name, event_t event);

/** Read a configuration from its database and check it. Faults are logged. The caller owns *ret_conf. */
KNOT_MUST_USE knot_err_t server_read_conf_db(
		conf_db_t *db, const conf_host_t *host, uint64_t *ret_version, conf_t **ret_conf);

/* ---- Children ---- */

/** What an operator's check of a child found. */
typedef struct {
	bool is_refused;
	char said[512]; /* what was changed, or why nothing was */
} server_child_result_t;

/**
 * Check a child of a zone with `delegation` now, as NOTIFYs of CDS and CSYNC would have it done, and change what is to
 * be changed. Waits for the end, half a minute at most. is_approved: a CSYNC record needn't be immediate (RFC 7477
 * 2.1.1.2). KNOT_ENOTSUP: the zone has no `delegation`, or isn't the one above the child. KNOT_ENOZONE: it is gone
 * meanwhile. KNOT_ESPACE: too many wait. KNOT_ECTLBUSY: the server stops, or the
 * zone is frozen; KNOT_ETXNMANY: a transaction on it is open: the check waits for its end, the caller doesn't.
 */
KNOT_MUST_USE knot_err_t server_child_check(server_t *server, knot_name_t zone, knot_name_t child, bool is_approved,
		server_child_result_t *ret_result);

/** Since the start. */
typedef struct {
	uint64_t checks;  /* that have ended */
	uint64_t changes; /* of DS, or of NS and glue */
	uint64_t refused; /* checks that found something to be refused */
	uint64_t dropped; /* NOTIFYs about children that were ignored because of limits */
} server_children_t;

server_children_t server_children(const server_t *server);

/* ---- Reload ---- */

/**
 * Read the configuration again, publish it, load zones that are new or whose file or settings changed. Logs as Knot
 * does. On a fault nothing changes and its code is returned. One reload runs at a time; other callers wait. Zones are
 * loading in the background when this returns. KNOT_ETXNMANY: a transaction is open, on the configuration or on a
 * zone.
 */
KNOT_MUST_USE knot_err_t server_reload(server_t *server);

/** Load zones whose file changed, and those that have no contents; the configuration stays (SIGUSR1). */
void server_reload_zones(server_t *server);

/** Wait until no job is scheduled or running (`knotc -b reload`). */
void server_wait_idle(server_t *server);

typedef struct {
	unsigned workers; /* background workers */
	unsigned running; /* jobs that run now */
	size_t pending;   /* jobs that wait */
} server_workers_t;

server_workers_t server_workers(const server_t *server);

/** What failed since the start. */
typedef struct {
	uint64_t errors;   /* zone jobs: `server.zone-update-error` in stats */
	uint64_t refusals; /* versions that a guard rail held back: `server.zone-publish-refused` */
	uint64_t unproven; /* versions that aren't validly signed: `server.zone-proof-refused` */
} server_failures_t;

server_failures_t server_failures(const server_t *server);
