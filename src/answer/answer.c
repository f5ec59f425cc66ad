/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/answer/answer.h"

#include "libknot/base/assert.h"
#include "libknot/msg/tsig.h"
#include "src/answer/encode.h"
#include "src/answer/finish.h"
#include "src/answer/stage.h"

#include <assert.h>

/* A request on its way. A stage reads what earlier ones wrote, and writes what is marked as its own. */
typedef struct {
	const answer_env_t *env;
	const answer_source_t *source;
	const answer_request_t *request;
	const answer_guests_t *guests; /* NULL: none */
	answer_report_t *report;       /* of all stages */
	/* Of the gate that refuses with BAD_KEY: the request's key, read before the reply takes the request's place. */
	knot_tsig_t tsig;
	uint8_t tsig_key[KNOT_NAME_MAX], tsig_algorithm[KNOT_NAME_MAX];
	answer_outcome_t outcome; /* of DECIDE */
	bool is_udp;
	uint16_t payload_max; /* bytes of UDP payload that we take and send; 0: without EDNS, where it isn't said */
	knot_msg_writer_t w;  /* of encoder and FINISH */
	uint16_t flags;       /* of the encoder: AA, TC */
	uint16_t rcode, ede;  /* of the encoder */
} job_t;

/* ---- GATE: may the request be answered? ---- */

static answer_refusal_t gate_open(job_t *job)
{
	(void)job;
	return ANSWER_REFUSAL_NONE;
}

/* What reading it found. */
static answer_refusal_t gate_refused(job_t *job)
{
	assert(job->request->refusal != ANSWER_REFUSAL_NONE);
	return (answer_refusal_t)job->request->refusal;
}

static answer_refusal_t gate_unknown(job_t *job)
{
	(void)job;
	return ANSWER_REFUSAL_NOT_IMPLEMENTED;
}

/* A signed request: no key is known. */
__attribute__((noinline)) static answer_refusal_t gate_signed(job_t *job)
{
	const knot_query_t *q = &job->request->query;
	knot_tsig_t *tsig = &job->tsig;
	if (knot_tsig_read(q->wire, job->tsig_key, tsig) != KNOT_OK) {
		return ANSWER_REFUSAL_MALFORMED;
	}
	knot_name_lower(tsig->algorithm, job->tsig_algorithm);
	tsig->algorithm.wire = job->tsig_algorithm;
	/* Nothing of the request is left to borrow: the reply may be written over it. */
	tsig->mac = tsig->other = (knot_bytes_t){ NULL, 0 };
	tsig->original_id = q->id;
	tsig->error = KNOT_RCODE_BADKEY;
	return ANSWER_REFUSAL_BAD_KEY;
}

static inline answer_refusal_t gate_lookup(job_t *job)
{
	const answer_request_t *request = job->request;
	if (request->zone == NULL) {
		return ANSWER_REFUSAL_NO_ZONE;
	}
	if (request->query.has_tsig) {
		return gate_signed(job);
	}
	return request->contents != NULL ? ANSWER_REFUSAL_NONE : ANSWER_REFUSAL_NOT_LOADED;
}

/* Transfers, NOTIFY and UPDATE aren't served: no source has the permission. */
static answer_refusal_t gate_zone(job_t *job)
{
	if (job->request->zone == NULL) {
		return ANSWER_REFUSAL_NOT_AUTH;
	}
	return job->request->query.has_tsig ? gate_signed(job) : ANSWER_REFUSAL_NOT_ALLOWED;
}

static answer_refusal_t gate_axfr(job_t *job)
{
	return job->is_udp ? ANSWER_REFUSAL_NEEDS_STREAM : gate_zone(job);
}

static answer_refusal_t gate_update(job_t *job)
{
	return job->request->query.qtype != KNOT_TYPE_SOA ? ANSWER_REFUSAL_BAD_UPDATE : gate_zone(job);
}

/* ---- DECIDE: what is sent ---- */

static inline void decide_lookup(job_t *job)
{
	const answer_request_t *request = job->request;
	const knot_query_t *q = &request->query;
	knot_name_t name = { q->qname_lower, q->qname.len, q->qname.label_count };
	job->outcome.kind = ANSWER_OUTCOME_PLAN;
	answer_plan(request->contents, q,
			zone_lookup_walked(request->contents, name, request->key, request->key_len, request->deepest),
			&job->outcome.plan);
}

static bool decide_name_is(const knot_query_t *q, const char *wire, size_t len)
{
	return q->qname.len == len && memcmp(q->qname_lower, wire, len) == 0;
}

/* CH TXT: the server's identity and version (RFC 4892). */
static void decide_chaos(job_t *job)
{
	static const struct {
		const char *wire;
		size_t len;
		bool is_version;
	} names[] = {
		{ "\2id\6server", 11, false },
		{ "\10hostname\4bind", 15, false },
		{ "\7version\6server", 16, true },
		{ "\7version\4bind", 14, true },
	};
	const knot_query_t *q = &job->request->query;
	answer_outcome_t *outcome = &job->outcome;
	knot_bytes_t text = { NULL, 0 };
	for (size_t i = 0; i < KNOT_LEN(names) && q->qtype == KNOT_TYPE_TXT; i++) {
		if (decide_name_is(q, names[i].wire, names[i].len)) {
			text = names[i].is_version ? job->env->version : job->env->identity;
		}
	}
	if (text.len == 0) {
		outcome->kind = ANSWER_OUTCOME_REFUSAL;
		outcome->refusal = ANSWER_REFUSAL_NO_TEXT;
		return;
	}
	size_t len = text.len < ANSWER_RECORD_MAX - 1 ? text.len : ANSWER_RECORD_MAX - 1;
	outcome->kind = ANSWER_OUTCOME_RECORD;
	outcome->record.type = KNOT_TYPE_TXT;
	outcome->record.class = KNOT_CLASS_CH;
	outcome->record.ttl = 0;
	outcome->record.authoritative = false;
	outcome->record.rdata_len = (uint16_t)(1 + len);
	outcome->record.rdata[0] = (uint8_t)len;
	memcpy(outcome->record.rdata + 1, text.data, len);
}

/* The engine's own stages, by kind of request. */
static const struct {
	answer_refusal_t (*gate)(job_t *job);
	void (*decide)(job_t *job); /* NULL: the gate lets none through */
} kinds[ANSWER_KIND_END] = {
	[ANSWER_KIND_LOOKUP] = { gate_lookup, decide_lookup },
	[ANSWER_KIND_CHAOS] = { gate_open, decide_chaos },
	[ANSWER_KIND_AXFR] = { gate_axfr, NULL },
	[ANSWER_KIND_IXFR] = { gate_zone, NULL },
	[ANSWER_KIND_NOTIFY] = { gate_zone, NULL },
	[ANSWER_KIND_UPDATE] = { gate_update, NULL },
	[ANSWER_KIND_UNKNOWN] = { gate_unknown, NULL },
	[ANSWER_KIND_REFUSED] = { gate_refused, NULL },
};

static inline bool answer_has_guest(const job_t *job, answer_stage_t stage)
{
	return __builtin_expect(job->guests != NULL, 0) && (job->guests->stages >> stage & 1) != 0;
}

/* Guests may replace the outcome, but not where there is no question to answer, or none that can be trusted. */
__attribute__((noinline)) static void answer_let_guests_decide(job_t *job)
{
	answer_outcome_t *outcome = &job->outcome;
	if (job->request->query.question_len == 0 || outcome->refusal == ANSWER_REFUSAL_MALFORMED) {
		return;
	}
	job->guests->decide(job->guests->ctx, job->source, job->request, outcome);
	if (outcome->kind != ANSWER_OUTCOME_REFUSAL) {
		outcome->refusal = ANSWER_REFUSAL_NONE;
	}
}

/* GATE and DECIDE. The functions of most requests' row are known. */
static inline void answer_decide(job_t *job)
{
	const answer_request_t *request = job->request;
	answer_outcome_t *outcome = &job->outcome;
	bool is_lookup = request->kind == ANSWER_KIND_LOOKUP;
	outcome->refusal = ANSWER_REFUSAL_NONE;
	if (answer_has_guest(job, ANSWER_STAGE_GATE)) {
		outcome->refusal = job->guests->gate(job->guests->ctx, job->source, request);
		assert(outcome->refusal != ANSWER_REFUSAL_BAD_KEY && outcome->refusal != ANSWER_REFUSAL_MALFORMED);
	}
	if (outcome->refusal == ANSWER_REFUSAL_NONE) {
		outcome->refusal = is_lookup ? gate_lookup(job) : kinds[request->kind].gate(job);
	}
	if (outcome->refusal != ANSWER_REFUSAL_NONE) {
		outcome->kind = ANSWER_OUTCOME_REFUSAL;
	} else if (is_lookup) {
		decide_lookup(job);
	} else {
		assert(kinds[request->kind].decide != NULL);
		kinds[request->kind].decide(job);
	}
	if (answer_has_guest(job, ANSWER_STAGE_DECIDE)) {
		answer_let_guests_decide(job);
	}
}

/* ---- Encoding ---- */

static inline uint16_t answer_payload_max(const answer_env_t *env, const answer_source_t *source)
{
	bool is_ipv6 = source->remote != NULL && source->remote->sa_family == AF_INET6;
	return is_ipv6 ? env->udp_payload_max_ipv6 : env->udp_payload_max_ipv4;
}

/* How long the reply may be, the room for it aside. */
static inline size_t answer_reply_max(const job_t *job)
{
	if (!job->is_udp) {
		return KNOT_MSG_MAX;
	}
	uint16_t ours = job->payload_max, theirs = job->request->query.edns.udp_payload; /* both 0 without EDNS */
	uint16_t least = theirs < ours ? theirs : ours;
	return least > ANSWER_UDP_MIN ? least : ANSWER_UDP_MIN;
}

static inline void answer_refuse(job_t *job, answer_refusal_t refusal)
{
	const answer_refusal_row_t *row = &answer_refusal_rows[refusal];
	job->rcode = row->rcode;
	job->ede = job->request->query.edns.present ? row->ede : KNOT_EDE_NONE;
	job->report->rcode = row->counted;
	job->report->ede = job->ede;
	if (__builtin_expect(row->way == ANSWER_REFUSAL_TRUNCATE, 0)) {
		job->flags = KNOT_FLAG_TC;
		job->report->truncated = true;
	}
}

static inline void answer_encode_plan(job_t *job)
{
	const answer_plan_t *plan = &job->outcome.plan;
	answer_encoded_t enc = answer_encode(&job->outcome.plan, &job->w, job->is_udp,
			job->env->rotate ? job->request->query.id : ANSWER_ROTATE_NONE);
	if (enc.too_big) {
		answer_refuse(job, ANSWER_REFUSAL_TOO_BIG);
		return;
	}
	const uint16_t *counts = job->w.counts;
	job->flags = (plan->authoritative ? KNOT_FLAG_AA : 0) | (enc.truncated ? KNOT_FLAG_TC : 0);
	job->rcode = job->report->rcode = (uint16_t)plan->rcode;
	job->report->truncated = enc.truncated;
	job->report->is_nodata = plan->rcode == KNOT_RCODE_NOERROR && !enc.truncated &&
				 counts[KNOT_SECTION_ANSWER] == 0 &&
				 (counts[KNOT_SECTION_AUTHORITY] == 0 || enc.first_authority_is_soa);
}

__attribute__((noinline)) static void answer_encode_record(job_t *job)
{
	const answer_outcome_t *outcome = &job->outcome;
	knot_msg_names_t names;
	job->flags = outcome->record.authoritative ? KNOT_FLAG_AA : 0;
	knot_msg_compress(&job->w, &names);
	if (knot_msg_put_rr(&job->w, KNOT_SECTION_ANSWER, job->request->query.qname, outcome->record.type,
			    outcome->record.class, outcome->record.ttl,
			    (knot_bytes_t){ outcome->record.rdata, outcome->record.rdata_len }) != KNOT_OK) {
		job->flags |= KNOT_FLAG_TC;
		job->report->truncated = true;
	}
	job->w.names = NULL;
}

/* Question, records, and room for what FINISH puts. False: nothing is sent. */
static inline bool answer_spell(job_t *job, knot_mut_bytes_t out)
{
	const answer_request_t *request = job->request;
	knot_msg_begin_reply(&job->w, out, &request->query);
	job->flags = 0;
	if (job->outcome.kind == ANSWER_OUTCOME_REFUSAL) {
		answer_refuse(job, job->outcome.refusal); /* fits ANSWER_UDP_MIN */
		return answer_refusal_rows[job->outcome.refusal].way != ANSWER_REFUSAL_DROP;
	}
	job->ede = KNOT_EDE_NONE;
	knot_msg_limit(&job->w, answer_reply_max(job));
	size_t reserved = request->query.edns.present ? KNOT_OPT_LEN : 0;
	if (__builtin_expect(request->options != 0, 0)) {
		reserved += answer_options_len(job->env, request);
	}
	bool has_room = knot_msg_reserve(&job->w, reserved);
	assert(has_room); /* by ANSWER_NSID_MAX */
	(void)has_room;
	if (answer_has_guest(job, ANSWER_STAGE_FINISH) && request->query.edns.present) {
		/* Where there is no room a guest's option isn't put. */
		(void)knot_msg_reserve(&job->w, job->guests->finish_len(job->guests->ctx));
	}
	if (job->outcome.kind == ANSWER_OUTCOME_PLAN) {
		answer_encode_plan(job);
	} else {
		job->rcode = KNOT_RCODE_NOERROR;
		answer_encode_record(job);
	}
	knot_msg_release(&job->w);
	return true;
}

/* ---- FINISH ---- */

static inline void answer_put_opt(job_t *job)
{
	const knot_query_t *q = &job->request->query;
	bool has_room = knot_msg_put_opt(&job->w, job->payload_max, job->rcode, 0, q->edns.dnssec_ok ? 0x8000 : 0) ==
			KNOT_OK; /* RFC 3225 3, RFC 6891 6.1.3 */
	assert(has_room);        /* reserved, or the message has no records */
	(void)has_room;
	uint32_t codes = 0;
	/* A reply that only says "ask over TCP" isn't larger than the request, whose source may be forged. */
	if (__builtin_expect(job->request->options != 0, 0) &&
			answer_refusal_rows[job->outcome.refusal].way != ANSWER_REFUSAL_TRUNCATE) {
		codes = answer_put_options(job->env, job->request, &job->w);
	}
	if (job->ede != KNOT_EDE_NONE) {
		uint8_t *to = knot_msg_open_option(&job->w, KNOT_EDNS_EDE, KNOT_EDE_LEN);
		assert(to != NULL); /* as above */
		store_be16(to, job->ede);
		codes |= 1u << KNOT_EDNS_EDE;
	}
	job->report->reply_options = codes;
	job->report->has_opt = true;
}

static inline size_t answer_finish(job_t *job)
{
	const answer_request_t *request = job->request;
	const knot_query_t *q = &request->query;
	answer_refusal_t refusal = job->outcome.refusal;
	if (q->edns.present && refusal != ANSWER_REFUSAL_MALFORMED) {
		answer_put_opt(job);
	}
	if (answer_has_guest(job, ANSWER_STAGE_FINISH)) {
		job->report->reply_options |= job->guests->finish(job->guests->ctx, job->source, request, &job->w);
	}
	if (refusal == ANSWER_REFUSAL_BAD_KEY) {
		/* Where there is no room the rcode has to do. */
		knot_msg_limit(&job->w, answer_reply_max(job));
		(void)!knot_tsig_put(&job->w, &job->tsig);
	}
	return knot_msg_finish(&job->w, q->id, knot_msg_reply_flags(q, job->flags, job->rcode));
}

size_t answer_message(const answer_env_t *env, const answer_source_t *source, const answer_request_t *request,
		const answer_guests_t *guests, knot_mut_bytes_t out, answer_report_t *ret_report)
{
	assert(out.len >= ANSWER_UDP_MIN);
	const knot_query_t *query = &request->query;
	KNOT_ASSERT_SLOW(out.data == query->wire.data || out.data + out.len <= query->wire.data ||
			 query->wire.data + query->wire.len <= out.data);
	*ret_report = (answer_report_t){
		.zone = request->zone,
		.ede = KNOT_EDE_NONE,
		.verdict = (knot_msg_verdict_t)request->verdict,
		.effects = request->effects,
		.query = query,
	};
	if (request->verdict == KNOT_MSG_DROP) {
		return 0;
	}
	job_t job;
	job.env = env;
	job.source = source;
	job.request = request;
	job.guests = guests;
	job.report = ret_report;
	job.is_udp = answer_is_udp(source->protocol);
	job.payload_max = query->edns.present ? answer_payload_max(env, source) : 0;
	answer_decide(&job);
	return answer_spell(&job, out) ? answer_finish(&job) : 0;
}
