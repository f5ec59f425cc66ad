/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Questions of a zone to other servers that take longer than its turn should: DS check, DS push, DNSKEY sync, NOTIFY of
 * CDS. Internal to src/event.
 *
 * An event begins one and returns. Its callbacks come from the thread of src/remote, ask what comes next, and end it,
 * which plans the event again if need be. What was found out may be kept until the event has the zone's turn again. A
 * zone has at most one of an event. Owner: from question_begin() on the server's list; until then, and from
 * question_take() on, the caller.
 */
#pragma once

#include "src/event/internal.h"

typedef struct question question_t;

struct question {
	remote_request_t request; /* first: callbacks get it */
	question_t *next;
	server_t *server;
	conf_t *conf; /* held: remotes are borrowed from it */
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t zone; /* of wire[] */
	event_t event;
	const char *what; /* "DS check", for the log */
	bool is_over;     /* under the lock of the jobs: it is kept for the event */
};

/** The remotes of groups, in order: how many, and the n-th; NULL: there are fewer. */
size_t question_count_remotes(const conf_groups_t *groups);
const conf_remote_t *question_remote(const conf_groups_t *groups, size_t n);

/** Make one. size: bytes of the struct that begins with it, all else zero. NULL: out of memory. */
void *question_new(server_t *server, conf_t *conf, knot_name_t zone, event_t event, const char *what, size_t size);

/** Free one that isn't on the list. */
void question_free(question_t *take_question);

/** Put it on the server's list. */
void question_begin(question_t *question) SYS_EXCLUDES(question->server->jobs.lock);

/** The zone's, if it is over, is the caller's then. *ret_is_busy: it goes on. */
question_t *question_take(server_t *server, knot_name_t zone, event_t event, bool *ret_is_busy)
		SYS_EXCLUDES(server->jobs.lock);

/** True if none goes on; else the event comes again when that may have ended. */
bool question_may_begin(server_t *server, entry_t *entry, event_t event) SYS_EXCLUDES(server->jobs.lock);

/** When the event comes again. */
typedef struct {
	bool is_again;
	bool is_kept; /* the event is to find the question */
	uint64_t wait_ms;
} question_end_t;

/** End it, in the thread of src/remote. err: of the last request; KNOT_ESTOPPED: the server ends, and nothing is
 * planned. */
void question_end(question_t *take_question, question_end_t how, knot_err_t err);

/** Ask an address of `remote` what request.query says. If it can't be asked, request.on_end() is called at once. */
void question_ask(question_t *question, const conf_remote_t *remote, unsigned address);

/** Ask the next address of the remote; false: there is none. */
bool question_ask_next_address(question_t *question);

/** "DS check, outgoing, remote 192.0.2.1@53 TCP, …" */
__attribute__((format(printf, 3, 4))) void question_log(const question_t *question, int level, const char *format, ...);

/** Free all, before the server is freed. */
void questions_free(server_t *server);
