/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/ds_push.h"

#include "libknot/msg/message.h"
#include "libknot/msg/rcode.h"
#include "src/event/question.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/transfer/stream_in.h"

#include <string.h>
#include <xxhash.h>

enum { DS_PUSH_RETRY_S = 600 };

/* The update has at most as many records as are compared, and each may have a name that is spelled out. */
enum { DS_PUSH_MESSAGE_MAX = 1024 + DS_PUSH_CDS_MAX * (KNOT_NAME_MAX + 64) };

typedef struct {
	question_t base; /* first */
	conf_groups_t targets;
	size_t at;         /* which one is asked */
	unsigned stripped; /* labels of the zone's name, of which the rest is asked for */
	bool is_update;    /* the last step: the update was sent */
	bool is_found;     /* `parent` is the name of the parent zone */
	bool has_failed;   /* a server wasn't reached */
	uint8_t parent_wire[KNOT_NAME_MAX];
	knot_name_t parent;
	uint32_t ttl_s; /* of the DNSKEY records */
	uint8_t message[DS_PUSH_MESSAGE_MAX];
	size_t cds_count;
	struct {
		uint8_t rdata[64]; /* of CDS: 4 bytes and a digest of 48 at most */
		uint8_t len;
	} cds[DS_PUSH_CDS_MAX];
} ds_push_t;

conf_groups_t ds_push_targets(const conf_policy_t *policy, const conf_zone_t *zone)
{
	return zone->ds_push.data != NULL ? zone->ds_push : policy->ds_push;
}

/* ---- When ---- */

static bool ds_push_take_hash(const zone_rr_t *rr, void *ctx)
{
	ds_push_cds_t *cds = ctx;
	if (rr->type == KNOT_TYPE_CDS && cds->count < DS_PUSH_CDS_MAX) {
		cds->hashes[cds->count++] = XXH3_64bits(rr->rdata.data, rr->rdata.len);
	}
	return true;
}

ds_push_cds_t ds_push_read(const zone_contents_t *contents)
{
	ds_push_cds_t cds = { .count = 0 };
	/* Without memory, nothing: then the push comes once more than needed. */
	if (contents != NULL && zone_read_apex(contents, ds_push_take_hash, &cds) != KNOT_OK) {
		cds.count = 0;
	}
	return cds;
}

static bool ds_push_lacks(const ds_push_cds_t *of, const ds_push_cds_t *in)
{
	for (size_t i = 0; i < of->count; i++) {
		bool is_in = false;
		for (size_t j = 0; j < in->count && !is_in; j++) {
			is_in = in->hashes[j] == of->hashes[i];
		}
		if (!is_in) {
			return true;
		}
	}
	return false;
}

void ds_push_follow(server_t *server, entry_t *entry, const ds_push_cds_t *before, const ds_push_cds_t *after,
		uint32_t delay_s)
{
	sys_mutex_lock(&server->jobs.lock);
	if (ds_push_lacks(after, before)) {
		(void)jobs_plan(&server->jobs, entry, EVENT_DS_PUSH, sys_clock_ms() + delay_s * UINT64_C(1000), 0);
	} else if (ds_push_lacks(before, after)) {
		jobs_cancel(&server->jobs, entry, EVENT_DS_PUSH);
	}
	sys_mutex_unlock(&server->jobs.lock);
}

void ds_push_restore(server_t *server, entry_t *entry, uint64_t when_s)
{
	uint64_t now_s = sys_clock_wall();
	if (when_s != 0) {
		uint64_t wait_s = when_s > now_s ? when_s - now_s : 0;
		(void)jobs_plan(&server->jobs, entry, EVENT_DS_PUSH, sys_clock_ms() + wait_s * 1000, 0);
	}
}

/* ---- The update ---- */

static knot_err_t ds_push_put(const ds_push_t *push, knot_msg_writer_t *w)
{
	knot_err_t err = knot_msg_put_question(w, push->parent, KNOT_TYPE_SOA, KNOT_CLASS_IN);
	if (err == KNOT_OK) {
		err = knot_msg_put_rr(w, KNOT_SECTION_AUTHORITY, push->base.zone, KNOT_TYPE_DS, KNOT_CLASS_ANY, 0,
				(knot_bytes_t){ .len = 0 });
	}
	static const uint8_t none[] = { 0, 0, 0, 0, 0 }; /* RFC 8078 4: no DS at all */
	for (size_t i = 0; i < push->cds_count && err == KNOT_OK; i++) {
		knot_bytes_t rdata = { push->cds[i].rdata, push->cds[i].len };
		if (rdata.len != sizeof(none) || memcmp(rdata.data, none, sizeof(none)) != 0) {
			err = knot_msg_put_rr(w, KNOT_SECTION_AUTHORITY, push->base.zone, KNOT_TYPE_DS, KNOT_CLASS_IN,
					push->ttl_s, rdata);
		}
	}
	return err;
}

static knot_err_t ds_push_make(ds_push_t *push)
{
	knot_msg_writer_t w;
	knot_msg_begin(&w, (knot_mut_bytes_t){ push->message, sizeof(push->message) });
	knot_err_t err = ds_push_put(push, &w);
	if (err != KNOT_OK) {
		return err;
	}
	size_t len = knot_msg_finish(&w, 0, KNOT_OPCODE_UPDATE << 11);
	push->base.request.query = (remote_query_t){ .opcode = KNOT_OPCODE_UPDATE,
		.type = KNOT_TYPE_SOA,
		.zone = push->parent,
		.message = { push->message, len } };
	return KNOT_OK;
}

/* ---- Answers ---- */

/* The zone is the one that was asked for: what else an answer has needn't even be an ancestor of the child. */
static void ds_push_find_parent(ds_push_t *push, knot_bytes_t bytes)
{
	knot_message_t message;
	knot_message_rr_t rr;
	if (knot_message_begin(bytes, &message) != KNOT_OK || (message.flags & KNOT_RCODE_MASK) != KNOT_RCODE_NOERROR) {
		return;
	}
	while (!push->is_found && knot_message_next(&message, &rr)) {
		if (rr.section == KNOT_SECTION_ANSWER && rr.type == KNOT_TYPE_SOA && rr.class == KNOT_CLASS_IN &&
				knot_name_eq(rr.owner, push->base.request.query.zone)) {
			memcpy(push->parent_wire, rr.owner.wire, rr.owner.len);
			push->parent = (knot_name_t){ push->parent_wire, rr.owner.len, rr.owner.label_count };
			push->is_found = true;
		}
	}
}

static remote_verdict_t ds_push_on_message(remote_request_t *request, knot_bytes_t bytes)
{
	ds_push_t *push = (ds_push_t *)request;
	char text[STREAM_IN_RCODE_TEXT_MAX];
	if (!push->is_update) {
		ds_push_find_parent(push, bytes);
		return REMOTE_DONE;
	}
	unsigned rcode = load_be16(bytes.data + 2) & KNOT_RCODE_MASK;
	if (rcode == KNOT_RCODE_NOERROR) {
		question_log(&push->base, LOG_INFO, "success");
	} else {
		stream_in_print_rcode((uint16_t)rcode, text);
		question_log(&push->base, LOG_WARNING, "server responded with error '%s'", text);
	}
	return REMOTE_DONE;
}

/* ---- Steps ---- */

static void ds_push_ask_soa(ds_push_t *push, unsigned stripped, const conf_remote_t *remote, unsigned address)
{
	push->stripped = stripped;
	push->is_update = push->is_found = false;
	push->base.request.query = (remote_query_t){ .opcode = KNOT_OPCODE_QUERY,
		.type = KNOT_TYPE_SOA,
		.zone = knot_name_strip(push->base.zone, stripped),
		.has_edns = !remote->no_edns };
	question_ask(&push->base, remote, address);
}

static void ds_push_next_target(ds_push_t *push, knot_err_t err)
{
	const conf_remote_t *remote = err != KNOT_ESTOPPED ? question_remote(&push->targets, ++push->at) : NULL;
	if (remote != NULL) {
		ds_push_ask_soa(push, 1, remote, 0);
		return;
	}
	question_end_t how = { .is_again = push->has_failed, .wait_ms = DS_PUSH_RETRY_S * UINT64_C(1000) };
	question_end(&push->base, how, err);
}

static void ds_push_send(ds_push_t *push)
{
	remote_request_t *request = &push->base.request;
	knot_err_t err = ds_push_make(push);
	if (err != KNOT_OK) {
		question_log(&push->base, LOG_WARNING, "failed (%s)", knot_strerror(err));
		ds_push_next_target(push, err);
		return;
	}
	push->is_update = true;
	question_ask(&push->base, request->remote, request->address);
}

static void ds_push_on_end(remote_request_t *request, knot_err_t err)
{
	ds_push_t *push = (ds_push_t *)request;
	if (err != KNOT_OK && err != KNOT_ESTOPPED) {
		question_log(&push->base, LOG_WARNING, "failed (%s)", knot_strerror(err));
		if (request->address + 1u < request->remote->addresses.count) {
			ds_push_ask_soa(push, 1, request->remote, request->address + 1);
			return;
		}
		push->has_failed = true;
	}
	if (err != KNOT_OK || push->is_update) {
		ds_push_next_target(push, err);
	} else if (push->is_found) {
		ds_push_send(push);
	} else if (push->stripped < push->base.zone.label_count) {
		ds_push_ask_soa(push, push->stripped + 1, request->remote, request->address);
	} else {
		question_log(&push->base, LOG_WARNING, "unable to query parent SOA");
		push->has_failed = true;
		ds_push_next_target(push, KNOT_OK);
	}
}

/* ---- The event ---- */

static bool ds_push_take_record(const zone_rr_t *rr, void *ctx)
{
	ds_push_t *push = ctx;
	if (rr->type == KNOT_TYPE_DNSKEY) {
		push->ttl_s = rr->ttl;
	} else if (rr->type == KNOT_TYPE_CDS && push->cds_count < DS_PUSH_CDS_MAX &&
			rr->rdata.len <= sizeof(push->cds[0].rdata)) {
		memcpy(push->cds[push->cds_count].rdata, rr->rdata.data, rr->rdata.len);
		push->cds[push->cds_count++].len = (uint8_t)rr->rdata.len;
	}
	return true;
}

/* NULL: there are no servers, or no memory. */
static ds_push_t *ds_push_new(server_t *server, knot_name_t name)
{
	conf_zone_t zone;
	RCU_READ_SECTION(guard);
	const state_t *state = state_load(&server->root, guard);
	if (!state_settings(state, name, &zone) || !zone.dnssec_signing || name.label_count == 0) {
		return NULL;
	}
	conf_groups_t targets = ds_push_targets(conf_zone_policy(state->conf, &zone), &zone);
	ds_push_t *push = question_count_remotes(&targets) > 0 ? question_new(server, state->conf, name, EVENT_DS_PUSH,
										 "DS push", sizeof(*push))
							       : NULL;
	if (push != NULL) {
		push->targets = targets;
		push->base.request.on_message = ds_push_on_message;
		push->base.request.on_end = ds_push_on_end;
	}
	return push;
}

knot_err_t server_run_ds_push(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	const zone_contents_t *contents = zone_contents(entry_zone(entry));
	(void)how;
	outcome->load = LOAD_UNCHANGED;
	outcome->keeps_result = true;
	ds_push_t *push = contents != NULL && question_may_begin(server, entry, EVENT_DS_PUSH)
					  ? ds_push_new(server, entry_name(entry))
					  : NULL;
	if (push == NULL) {
		return KNOT_OK;
	}
	knot_err_t err = zone_read_apex(contents, ds_push_take_record, push);
	if (err != KNOT_OK || push->cds_count == 0) {
		question_free(&push->base);
		return err;
	}
	question_begin(&push->base);
	ds_push_ask_soa(push, 1, question_remote(&push->targets, 0), 0);
	return KNOT_OK;
}

/* Planned by signing_end(), which knows the records, and by the end of a push. */
void server_plan_ds_push(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	(void)server, (void)entry, (void)ended, (void)outcome;
}
