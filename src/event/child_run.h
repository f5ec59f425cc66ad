/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * One check of a child: who is asked for what, and what the answers mean. Internal to src/event.
 *
 * A run is made and decided in the parent zone's turn by a worker, and asks in between without holding the zone; then
 * the thread of src/remote has it. All servers of the child are asked side by side, each at all of its addresses, over
 * TCP; a resolver, if there is one, for addresses of name servers and for signals. A run ends after CHILD_RUN_MS,
 * whatever servers do. src/delegation decides. RFC 7344, 7477, 8078, 9615.
 */
#pragma once

#include "src/delegation/child_csync.h"
#include "src/event/internal.h"

enum { CHILD_RUN_MS = 30 * 1000, CHILD_NS_MAX = CHILD_HOSTS_MAX, CHILD_PORT = 53 };

/** What is looked at: bits. */
enum { CHILD_WANTS_DS = 1, CHILD_WANTS_CSYNC = 2 };

typedef struct child_run child_run_t;

/** What a run begins with. */
typedef struct {
	server_t *server;
	conf_t *conf; /* `rules` and their remotes are borrowed from it; held by the run */
	const conf_delegation_t *rules;
	knot_name_t parent, child;       /* lower case; copied */
	const zone_contents_t *contents; /* of the parent; read during child_run_new() */
	unsigned wants;                  /* CHILD_WANTS_… */
	bool is_approved;                /* by an operator */
	bool has_inception, has_serial;  /* of what was accepted last */
	uint32_t inception, serial;
	void (*on_done)(child_run_t *run); /* it waits for child_run_decide(), or is stopped. With any thread, no lock
					    */
} child_run_params_t;

/** A set of records as the parent has it, and its TTL. */
typedef struct {
	uint32_t ttl;
	reply_set_t set;
} child_present_t;

/** What came of it. */
typedef struct {
	unsigned wants;
	child_present_t ds, ns;      /* as they were when it began: what is changed must still be so */
	child_ds_answer_t ds_answer; /* of WANTS_DS */
	child_csync_answer_t csync_answer;
} child_result_t;

/**
 * Read the delegation. KNOT_ENOENT: there is no such delegation. KNOT_ENOTSUP: with the reason: the run can't be made.
 * KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t child_run_new(
		const child_run_params_t *params, char reason[static CHILD_REASON_MAX], child_run_t **ret_run);

/** Begin to ask. */
void child_run_start(child_run_t *run);

/** Decide as far as it goes. False: the run asks again, and on_done() comes once more. KNOT_OK only with true. */
bool child_run_decide(child_run_t *run);

/** True if the server ends: nothing is decided. */
bool child_run_is_stopped(const child_run_t *run);

/** The server it is of. */
server_t *child_run_server(const child_run_t *run);

/** The child's name, and the result once child_run_decide() gave true. */
knot_name_t child_run_child(const child_run_t *run);
const child_result_t *child_run_result(const child_run_t *run);

/** Of a run that doesn't ask. NULL is allowed. */
void child_run_free(child_run_t *take_run);
