/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/ds_check.h"

#include "libdnssec/digest.h"
#include "libknot/msg/message.h"
#include "libknot/msg/rcode.h"
#include "src/event/question.h"
#include "src/event/signing.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/transfer/stream_in.h"

#include <string.h>

/* What a parent has. */
typedef enum { PARENT_NEGATIVE, PARENT_POSITIVE, PARENT_FAILED } parent_t;

typedef struct {
	question_t base;     /* first */
	signing_keys_t keys; /* what to look for */
	const conf_groups_t *parents;
	uint32_t interval_s; /* conf `check-interval` */
	uint32_t delay_s;    /* conf `parent-delay` */
	uint32_t ttl_s;      /* the longest of the DS records */
	parent_t parent;     /* of the answer */
	size_t at;           /* which parent is asked */
} ds_check_t;

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

/* RFC 4034 3.1: the TTL that the parent has, whatever a cache says. 0: not of a signature of DS records. */
static uint32_t ds_check_read_ttl(knot_bytes_t rrsig)
{
	enum { TTL_AT = 4 };
	bool covers = rrsig.len >= TTL_AT + 4 && load_be16(rrsig.data) == KNOT_TYPE_DS;
	return covers ? load_be32(rrsig.data + TTL_AT) : 0;
}

/* RFC 2181 8: what would be negative is nothing. The longest counts, as the old key has to stay for so long. */
static void ds_check_take_ttl(ds_check_t *run, uint32_t ttl_s)
{
	if (ttl_s <= INT32_MAX && ttl_s > run->ttl_s) {
		run->ttl_s = ttl_s;
	}
}

static parent_t ds_check_read(ds_check_t *run, knot_message_t *message)
{
	knot_message_rr_t rr;
	bool has_new = false, has_old = false, has_question = false;
	while (knot_message_next(message, &rr)) {
		const knot_bytes_t rdata = { message->wire.data + rr.rdata_off, rr.rdata_len };
		bool is_wanted = rr.class == KNOT_CLASS_IN && knot_name_eq(rr.owner, run->base.zone);
		has_question = has_question ||
			       (is_wanted && rr.section == KNOT_SECTION_QUESTION && rr.type == KNOT_TYPE_DS);
		if (rr.section != KNOT_SECTION_ANSWER || !is_wanted) {
			continue;
		}
		if (rr.type == KNOT_TYPE_RRSIG) {
			ds_check_take_ttl(run, ds_check_read_ttl(rdata));
		} else if (rr.type == KNOT_TYPE_DS) {
			ds_check_take_ttl(run, rr.ttl);
			has_new = has_new || ds_check_matches(run->base.zone, &run->keys.ready, rdata);
			has_old = has_old || ds_check_matches(run->base.zone, &run->keys.leaving, rdata);
		}
	}
	if (message->failed || !has_question) {
		return PARENT_FAILED;
	}
	return has_new && !has_old ? PARENT_POSITIVE : PARENT_NEGATIVE;
}

static remote_verdict_t ds_check_on_message(remote_request_t *request, knot_bytes_t bytes)
{
	ds_check_t *run = (ds_check_t *)request;
	knot_message_t message;
	char rcode[STREAM_IN_RCODE_TEXT_MAX];
	run->parent = PARENT_FAILED;
	if (knot_message_begin(bytes, &message) != KNOT_OK) {
		question_log(&run->base, LOG_WARNING, "failed (%s)", knot_strerror(KNOT_EMALF));
		return REMOTE_DONE;
	}
	unsigned code = message.flags & KNOT_RCODE_MASK;
	if (code != KNOT_RCODE_NOERROR) {
		stream_in_print_rcode((uint16_t)code, rcode);
		question_log(&run->base, code == KNOT_RCODE_NXDOMAIN ? LOG_NOTICE : LOG_WARNING, "failed (%s)", rcode);
		return REMOTE_DONE;
	}
	run->parent = ds_check_read(run, &message);
	if (run->parent == PARENT_FAILED) {
		question_log(&run->base, LOG_WARNING, "failed (%s)", knot_strerror(KNOT_EMALF));
	} else {
		question_log(&run->base, LOG_INFO, "KSK submission check: %s",
				run->parent == PARENT_POSITIVE ? "positive" : "negative");
	}
	return REMOTE_DONE;
}

/* ---- A run ---- */

static void ds_check_ask(ds_check_t *run, size_t parent)
{
	const conf_remote_t *remote = question_remote(run->parents, parent);
	run->at = parent;
	run->base.request.query = (remote_query_t){ .opcode = KNOT_OPCODE_QUERY,
		.type = KNOT_TYPE_DS,
		.zone = run->base.zone,
		.is_recursive = true,
		.has_edns = !remote->no_edns,
		.wants_signatures = true };
	question_ask(&run->base, remote, 0);
}

/* Without an answer the next address of the parent is asked; with one, the next parent. Then the key is confirmed in
 * the zone's turn, or they are asked again later. */
static void ds_check_on_end(remote_request_t *request, knot_err_t err)
{
	ds_check_t *run = (ds_check_t *)request;
	if (err != KNOT_OK && err != KNOT_ESTOPPED) {
		run->parent = PARENT_FAILED;
		question_log(&run->base, LOG_WARNING, "failed (%s)", knot_strerror(err));
		if (question_ask_next_address(&run->base)) {
			return;
		}
	}
	bool is_positive = err == KNOT_OK && run->parent == PARENT_POSITIVE;
	if (is_positive && question_remote(run->parents, run->at + 1) != NULL) {
		ds_check_ask(run, run->at + 1);
		return;
	}
	question_end_t how = {
		.is_again = true, .is_kept = is_positive, .wait_ms = is_positive ? 0 : run->interval_s * UINT64_C(1000)
	};
	question_end(&run->base, how, err);
}

/* Of the parents that the configuration has; NULL: none, or no memory. */
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
	if (submission == NULL || question_count_remotes(&submission->parents) == 0) {
		return NULL;
	}
	ds_check_t *run = question_new(server, state->conf, name, EVENT_DS_CHECK, "DS check", sizeof(*run));
	if (run != NULL) {
		run->base.request.on_message = ds_check_on_message;
		run->base.request.on_end = ds_check_on_end;
		run->parents = &submission->parents;
		run->interval_s = submission->check_interval_s;
		run->delay_s = submission->parent_delay_s;
	}
	return run;
}

static void ds_check_begin(server_t *server, entry_t *entry)
{
	ds_check_t *run = ds_check_new(server, entry_name(entry));
	if (run == NULL) {
		return;
	}
	if (!signing_find_keys(server, entry_zone(entry), &run->keys)) {
		question_free(&run->base);
		return;
	}
	question_begin(&run->base);
	ds_check_ask(run, 0);
}

/* The key that was asked about, and no other one that may wait by now. KNOT_ENOREADY: it doesn't wait any more. */
static knot_err_t ds_check_confirm(server_t *server, entry_t *entry, const ds_check_t *run)
{
	const zone_contents_t *contents = zone_contents(entry_zone(entry));
	uint64_t delay_s = (uint64_t)run->ttl_s + run->delay_s;
	if (contents == NULL) {
		return KNOT_OK;
	}
	knot_err_t err = signing_confirm(server, entry_zone(entry), contents, &run->keys.ready,
			delay_s < UINT32_MAX ? (uint32_t)delay_s : UINT32_MAX);
	uint64_t wait_ms = run->interval_s * UINT64_C(1000);
	sys_mutex_lock(&server->jobs.lock);
	if (err == KNOT_OK) {
		(void)jobs_ask(&server->jobs, entry, EVENT_DNSSEC, 0);
	} else if (err != KNOT_ENOREADY && err != KNOT_ENOTSUP) {
		(void)jobs_plan(&server->jobs, entry, EVENT_DS_CHECK, sys_clock_ms() + wait_ms, 0);
	}
	sys_mutex_unlock(&server->jobs.lock);
	return err == KNOT_ENOTSUP ? KNOT_OK : err;
}

knot_err_t server_run_ds_check(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	bool is_busy;
	(void)how;
	outcome->load = LOAD_UNCHANGED;
	outcome->keeps_result = true;
	ds_check_t *run = (ds_check_t *)question_take(server, entry_name(entry), EVENT_DS_CHECK, &is_busy);
	knot_err_t err = run == NULL && !is_busy ? KNOT_ENOREADY : KNOT_OK;
	if (run != NULL) {
		err = ds_check_confirm(server, entry, run);
		question_free(&run->base);
	}
	if (err == KNOT_ENOREADY) {
		ds_check_begin(server, entry);
		return KNOT_OK;
	}
	return err;
}

/* Planned by signing_end(), which knows the keys, and by the end of a run. */
void server_plan_ds_check(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	(void)server, (void)entry, (void)ended, (void)outcome;
}
