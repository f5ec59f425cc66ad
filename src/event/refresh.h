/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A refresh of a zone on its way: the machine of src/transfer/refresh.h joined with src/remote, the zone and the log.
 * Internal to src/event/refresh*.c.
 *
 * The run has the zone's turn until it ends. It is stepped by one thread at a time: the worker that begins it, the
 * thread "remote" when an answer comes, a worker again when a transfer is applied.
 */
#pragma once

#include "src/event/internal.h"
#include "src/remote/remote.h"
#include "src/transfer/refresh.h"
#include "src/update/update.h"
#include "src/zone/builder.h"

/** What a transfer needs. */
typedef struct {
	stream_in_t stream;
	zone_builder_t *builder; /* owned: of a whole zone */
	bool has_update;
	bool is_void;    /* the contents that it changes were dropped: the rest of it is read and forgotten */
	update_t update; /* if has_update: of changes */
	bool is_benevolent, is_begun;
	bool ignores_zonemd; /* of IXFR: the zone has its own record */
	bool is_signed;      /* the zone is signed here: serials, signatures and chain are its own */
	uint64_t begun_ns;
	uint8_t soa[KNOT_SOA_LEN_MAX]; /* of IXFR: ours */
} refresh_transfer_t;

typedef struct {
	remote_request_t request;      /* first: callbacks get it */
	bool is_notified;              /* a primary asked for the run */
	bool has_expired;              /* while it goes on */
	char reason[FAULT_REASON_MAX]; /* what failed last: "remote p, address 192.0.2.1@53, failed (…)" */
	job_step_t step;
	server_t *server;
	entry_t *entry;
	conf_t *conf;                  /* held */
	const conf_remote_t **remotes; /* owned */
	refresh_remote_t *facts;       /* owned */
	refresh_params_t params;
	refresh_t refresh;
	refresh_action_t action;
	soa_answer_t answer;
	refresh_transfer_t *transfer; /* owned; NULL: none is on its way */
} refresh_run_t;

/* ---- refresh.c ---- */

/** Drop the zone's contents, as it has expired. In its turn, without locks. */
void refresh_drop_contents(server_t *server, entry_t *entry);

/* ---- refresh_log.c ---- */

/** Log a line of an answer's: "AXFR, incoming, remote …, <text>". */
__attribute__((format(printf, 4, 5))) void refresh_log(
		const refresh_run_t *run, int level, const char *operation, const char *format, ...);

/** Log what the machine says. */
void refresh_log_notes(refresh_run_t *run, const refresh_step_t *step);

/** Log the end of a stream; has_failed says so for another reason than the stream's own. */
void refresh_log_stream(const refresh_run_t *run);

/** "AXFR, incoming" or "IXFR, incoming". */
const char *refresh_operation(const refresh_run_t *run);

/* ---- refresh_apply.c ---- */

/** Begin to read a transfer, with the first message of it. */
void refresh_begin_transfer(refresh_run_t *run);

/** Drop what has come of one. */
void refresh_drop_transfer(refresh_run_t *run);

/** Drop the contents if the zone's time is over: a slow primary doesn't hold that up. By the run's thread. */
void refresh_look_at_expire(refresh_run_t *run);

/** Apply what has come whole. In a worker. */
refresh_event_t refresh_apply(refresh_run_t *run);

/** The settings of the run's zone. False: it is gone. */
bool refresh_settings(const refresh_run_t *run, conf_zone_t *ret_zone);

/** The zone's items about times. */
timers_conf_t refresh_conf_of(const conf_zone_t *zone);

/** The SOA of a version. */
timers_soa_t refresh_timers_of(const zone_contents_t *contents, knot_name_t name);

/** Its RDATA; 0: none. ret_ttl may be NULL. */
size_t refresh_copy_soa(const zone_contents_t *contents, knot_name_t name, uint8_t ret_soa[static KNOT_SOA_LEN_MAX],
		uint32_t *ret_ttl);
