/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/ds_check.h"

#include "libdnssec/digest.h"
#include "libknot/msg/message.h"
#include "libknot/msg/rcode.h"
#include "src/event/signing.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/transfer/stream_in.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a parent has. */
typedef enum { PARENT_NEGATIVE, PARENT_POSITIVE, PARENT_FAILED } parent_t;

struct ds_check {
	remote_request_t request; /* first: callbacks get it */
	struct ds_check *next;
	server_t *server;
	conf_t *conf; /* held */
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t zone;    /* of wire[] */
	signing_keys_t keys; /* what to look for */
	uint32_t interval_s; /* conf `check-interval` */
	uint32_t delay_s;    /* conf `parent-delay` */
	uint32_t ttl_s;      /* the longest of the DS records */
	parent_t parent;     /* of the answer */
	bool is_over;        /* under the lock of the jobs: all parents are positive */
	size_t at, count;
	const conf_remote_t *parents[];
};

bool ds_check_is_due(const conf_policy_t *policy, const keys_set_t *set, uint64_t now_s)
{
	bool is_due = false;
	if (policy->submission.count == 0 || policy->submission.data[0]->parents.count == 0 || policy->is_manual) {
		return false;
	}
	for (size_t i = 0; i < set->count && !is_due; i++) {
		is_due = keys_use(set->keys, set->count, i, now_s).is_ready;
	}
	return is_due;
}

/* ---- Runs of zones ---- */

static void ds_check_free(ds_check_t *take_run)
{
	conf_free(take_run->conf);
	free(take_run);
}

void ds_checks_free(server_t *server) SYS_UNCHECKED_LOCKS
{
	while (server->ds_checks != NULL) {
		ds_check_t *first = server->ds_checks;
		server->ds_checks = first->next;
		ds_check_free(first);
	}
}

static ds_check_t **ds_check_find(server_t *server, knot_name_t zone) SYS_REQUIRES(server->jobs.lock)
{
	ds_check_t **at = &server->ds_checks;
	while (*at != NULL && !knot_name_eq((*at)->zone, zone)) {
		at = &(*at)->next;
	}
	return at;
}

/* The zone's run, if it is over, is the caller's. *ret_busy: it goes on. */
static ds_check_t *ds_check_take(server_t *server, knot_name_t zone, bool *ret_busy)
{
	sys_mutex_lock(&server->jobs.lock);
	ds_check_t **at = ds_check_find(server, zone), *run = *at;
	*ret_busy = run != NULL && !run->is_over;
	if (run != NULL && run->is_over) {
		*at = run->next;
	} else {
		run = NULL;
	}
	sys_mutex_unlock(&server->jobs.lock);
	return run;
}

/* ---- An answer ---- */

/* True if the DS is that of the key. */
static bool ds_check_matches(knot_name_t zone, const signing_dnskey_t *key, knot_bytes_t ds)
{
	enum { DIGEST_TYPE_AT = 3, DIGEST_AT = 4 };
	uint8_t wanted[DNSSEC_DS_MAX];
	size_t len;
	return ds.len > DIGEST_AT && key->len > 0 &&
	       dnssec_ds_make(ds.data[DIGEST_TYPE_AT], zone, (knot_bytes_t){ key->rdata, key->len }, wanted, &len) ==
			       KNOT_OK &&
	       len == ds.len && memcmp(wanted, ds.data, len) == 0;
}

/* RFC 4034 3.1: the TTL that the parent has, whatever a cache says. */
static bool ds_check_read_ttl(knot_bytes_t rrsig, uint32_t *ret_ttl_s)
{
	enum { TTL_AT = 4 };
	bool covers = rrsig.len >= TTL_AT + 4 && load_be16(rrsig.data) == KNOT_TYPE_DS;
	if (covers) {
		*ret_ttl_s = load_be32(rrsig.data + TTL_AT);
	}
	return covers;
}

static parent_t ds_check_read(ds_check_t *run, knot_message_t *message)
{
	knot_message_rr_t rr;
	bool has_new = false, has_old = false, has_original = false;
	uint32_t ttl_s = 0, original_s = 0;
	while (knot_message_next(message, &rr)) {
		const knot_bytes_t rdata = { message->wire.data + rr.rdata_off, rr.rdata_len };
		if (rr.section != KNOT_SECTION_ANSWER || !knot_name_eq(rr.owner, run->zone)) {
			continue;
		}
		if (rr.type == KNOT_TYPE_RRSIG) {
			has_original = ds_check_read_ttl(rdata, &original_s) || has_original;
		} else if (rr.type == KNOT_TYPE_DS) {
			ttl_s = rr.ttl > ttl_s ? rr.ttl : ttl_s;
			has_new = has_new || ds_check_matches(run->zone, &run->keys.ready, rdata);
			has_old = has_old || ds_check_matches(run->zone, &run->keys.leaving, rdata);
		}
	}
	ttl_s = has_original ? original_s : ttl_s;
	run->ttl_s = ttl_s > run->ttl_s ? ttl_s : run->ttl_s;
	if (message->failed) {
		return PARENT_FAILED;
	}
	return has_new && !has_old ? PARENT_POSITIVE : PARENT_NEGATIVE;
}

__attribute__((format(printf, 3, 4))) static void ds_check_log(
		const ds_check_t *run, int level, const char *format, ...)
{
	char text[128], peer[REMOTE_PEER_TEXT_MAX];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	const remote_request_t *request = &run->request;
	remote_print_peer(request->remote, request->address, request->is_pooled ? " TCP/pool" : " TCP", peer);
	log_zone(level, run->zone, "DS check, outgoing, %s%s", peer, text);
}

static remote_verdict_t ds_check_on_message(remote_request_t *request, knot_bytes_t bytes)
{
	ds_check_t *run = (ds_check_t *)request;
	knot_message_t message;
	char rcode[STREAM_IN_RCODE_TEXT_MAX];
	run->parent = PARENT_FAILED;
	if (knot_message_begin(bytes, &message) != KNOT_OK) {
		ds_check_log(run, LOG_WARNING, "failed (%s)", knot_strerror(KNOT_EMALF));
		return REMOTE_DONE;
	}
	unsigned code = message.flags & KNOT_RCODE_MASK;
	if (code != KNOT_RCODE_NOERROR) {
		stream_in_print_rcode((uint16_t)code, rcode);
		ds_check_log(run, code == KNOT_RCODE_NXDOMAIN ? LOG_NOTICE : LOG_WARNING, "failed (%s)", rcode);
		return REMOTE_DONE;
	}
	run->parent = ds_check_read(run, &message);
	if (run->parent == PARENT_FAILED) {
		ds_check_log(run, LOG_WARNING, "failed (%s)", knot_strerror(KNOT_EMALF));
	} else {
		ds_check_log(run, LOG_INFO, "KSK submission check: %s",
				run->parent == PARENT_POSITIVE ? "positive" : "negative");
	}
	return REMOTE_DONE;
}

/* ---- A run ---- */

/* Confirm the key in the zone's turn, or look again later. server: the run's. */
static void ds_check_end(server_t *server, ds_check_t *run, bool is_stopped)
{
	bool is_positive = run->parent == PARENT_POSITIVE;
	sys_mutex_lock(&server->jobs.lock);
	ds_check_t **at = ds_check_find(server, run->zone);
	entry_t *entry = server_find_entry(server, run->zone);
	run->is_over = is_positive && !is_stopped && entry != NULL;
	bool is_kept = run->is_over;
	if (!is_kept) {
		*at = run->next;
	}
	if (entry != NULL && !is_stopped) {
		uint64_t wait_ms = is_positive ? 0 : run->interval_s * UINT64_C(1000);
		(void)jobs_plan(&server->jobs, entry, EVENT_DS_CHECK, sys_clock_ms() + wait_ms, 0);
	}
	sys_mutex_unlock(&server->jobs.lock);
	if (!is_kept) {
		ds_check_free(run);
	}
}

static void ds_check_on_end(remote_request_t *request, knot_err_t err);

static void ds_check_ask(ds_check_t *run)
{
	remote_request_t *request = &run->request;
	request->on_message = ds_check_on_message;
	request->on_end = ds_check_on_end;
	request->remote = run->parents[run->at];
	request->query = (remote_query_t){ .opcode = KNOT_OPCODE_QUERY,
		.type = KNOT_TYPE_DS,
		.zone = run->zone,
		.is_recursive = true,
		.has_edns = !request->remote->no_edns,
		.wants_signatures = true };
	knot_err_t err = remote_ask(run->server->remote, request);
	if (err != KNOT_OK) {
		ds_check_on_end(request, err);
	}
}

/* Without an answer the next address of the parent is asked; with one, the next parent. */
static void ds_check_on_end(remote_request_t *request, knot_err_t err)
{
	ds_check_t *run = (ds_check_t *)request;
	bool is_stopped = err == KNOT_ESTOPPED;
	if (err != KNOT_OK && !is_stopped) {
		run->parent = PARENT_FAILED;
		ds_check_log(run, LOG_WARNING, "failed (%s)", knot_strerror(err));
		if (request->address + 1u < request->remote->addresses.count) {
			request->address++;
			ds_check_ask(run);
			return;
		}
	}
	if (!is_stopped && run->parent == PARENT_POSITIVE && ++run->at < run->count) {
		request->address = 0;
		ds_check_ask(run);
		return;
	}
	ds_check_end(run->server, run, is_stopped);
}

/* The parents that the configuration has; NULL: none, or no memory. */
static ds_check_t *ds_check_new(server_t *server, knot_name_t name)
{
	conf_zone_t zone;
	RCU_READ_SECTION(guard);
	const state_t *state = state_load(&server->root, guard);
	if (!state_settings(state, name, &zone)) {
		return NULL;
	}
	const conf_policy_t *policy = conf_zone_policy(state->conf, &zone);
	const conf_submission_t *submission = policy->submission.count > 0 ? policy->submission.data[0] : NULL;
	size_t count = 0;
	for (size_t i = 0; submission != NULL && i < submission->parents.count; i++) {
		count += submission->parents.data[i]->count;
	}
	ds_check_t *run = count > 0 ? calloc(1, sizeof(*run) + count * sizeof(run->parents[0])) : NULL;
	if (run == NULL) {
		return NULL;
	}
	for (size_t i = 0; i < submission->parents.count; i++) {
		for (size_t j = 0; j < submission->parents.data[i]->count; j++) {
			run->parents[run->count++] = submission->parents.data[i]->remotes[j];
		}
	}
	memcpy(run->wire, name.wire, name.len);
	run->zone = (knot_name_t){ run->wire, name.len, name.label_count };
	run->server = server;
	run->conf = conf_hold(state->conf);
	run->interval_s = submission->check_interval_s;
	run->delay_s = submission->parent_delay_s;
	return run;
}

static void ds_check_begin(server_t *server, entry_t *entry)
{
	ds_check_t *run = ds_check_new(server, entry_name(entry));
	if (run == NULL) {
		return;
	}
	if (!signing_find_keys(server, entry_zone(entry), &run->keys)) {
		ds_check_free(run);
		return;
	}
	sys_mutex_lock(&server->jobs.lock);
	run->next = server->ds_checks;
	server->ds_checks = run;
	sys_mutex_unlock(&server->jobs.lock);
	ds_check_ask(run);
}

static knot_err_t ds_check_confirm(server_t *server, entry_t *entry, const ds_check_t *run)
{
	const zone_contents_t *contents = zone_contents(entry_zone(entry));
	uint64_t delay_s = (uint64_t)run->ttl_s + run->delay_s;
	if (contents == NULL) {
		return KNOT_OK;
	}
	knot_err_t err = signing_confirm(
			server, entry_zone(entry), contents, delay_s < UINT32_MAX ? (uint32_t)delay_s : UINT32_MAX);
	if (err == KNOT_OK) {
		sys_mutex_lock(&server->jobs.lock);
		(void)jobs_ask(&server->jobs, entry, EVENT_DNSSEC, 0);
		sys_mutex_unlock(&server->jobs.lock);
	}
	return err == KNOT_ENOREADY || err == KNOT_ENOTSUP ? KNOT_OK : err;
}

knot_err_t server_run_ds_check(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	bool is_busy;
	(void)how;
	outcome->load = LOAD_UNCHANGED;
	outcome->keeps_result = true;
	ds_check_t *run = ds_check_take(server, entry_name(entry), &is_busy);
	if (run == NULL && !is_busy) {
		ds_check_begin(server, entry);
	}
	if (run == NULL) {
		return KNOT_OK;
	}
	knot_err_t err = ds_check_confirm(server, entry, run);
	ds_check_free(run);
	return err;
}

/* Planned by signing_end(), which knows the keys, and by the end of a run. */
void server_plan_ds_check(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	(void)server, (void)entry, (void)ended, (void)outcome;
}
