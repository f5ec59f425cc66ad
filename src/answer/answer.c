/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/answer/answer.h"

#include "libknot/base/assert.h"
#include "src/answer/encode.h"
#include "src/answer/finish.h"
#include "src/answer/permit.h"
#include "src/answer/stage.h"

#include <assert.h>

/* A request on its way. A stage reads what earlier ones wrote, and writes what is marked as its own. */
typedef struct {
	const answer_env_t *env;
	const answer_source_t *source;
	const answer_request_t *request;
	const answer_guests_t *guests; /* NULL: none */
	answer_report_t *report;       /* of all stages */
	answer_outcome_t outcome;      /* of DECIDE */
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

/* Permission of the source, and the request's signature. */
__attribute__((noinline)) static answer_refusal_t gate_permit(job_t *job, conf_action_t action)
{
	const answer_turn_t *turn = job->source->turn;
	if (turn == NULL || turn->aside == NULL) {
		return ANSWER_REFUSAL_NOT_ALLOWED;
	}
	job->report->effects |= ANSWER_EFFECT_NOTED;
	return answer_permit(job->env, job->source, job->request, action, turn->aside);
}

/* What gate_permit() has written, if it let the request through. */
static inline answer_aside_t *answer_aside_of(const job_t *job)
{
	return job->source->turn->aside;
}

static answer_refusal_t gate_note(job_t *job, answer_note_t note, answer_refusal_t refusal)
{
	answer_aside_of(job)->note = note;
	return refusal;
}

static inline answer_refusal_t gate_lookup(job_t *job)
{
	const answer_request_t *request = job->request;
	if (request->zone == NULL) {
		return ANSWER_REFUSAL_NO_ZONE;
	}
	return request->contents != NULL ? ANSWER_REFUSAL_NONE : ANSWER_REFUSAL_NOT_LOADED;
}

/* Not inlined, as a plain query doesn't pass it. */
__attribute__((noinline)) static answer_refusal_t gate_signed(job_t *job)
{
	const answer_request_t *request = job->request;
	if (request->zone == NULL) {
		return ANSWER_REFUSAL_NO_ZONE;
	}
	answer_refusal_t refusal = gate_permit(job, CONF_ACTION_QUERY);
	return refusal != ANSWER_REFUSAL_NONE || request->contents != NULL ? refusal : ANSWER_REFUSAL_NOT_LOADED;
}

/* What is about a zone itself needs permission, signed or not. */
static answer_refusal_t gate_zone(job_t *job, conf_action_t action)
{
	return job->request->zone == NULL ? ANSWER_REFUSAL_NOT_AUTH : gate_permit(job, action);
}

static answer_refusal_t gate_transfer(job_t *job)
{
	answer_refusal_t refusal = gate_zone(job, CONF_ACTION_TRANSFER);
	return refusal != ANSWER_REFUSAL_NONE || job->request->contents != NULL ? refusal : ANSWER_REFUSAL_NOT_LOADED;
}

static answer_refusal_t gate_frozen(job_t *job)
{
	return zone_has_frozen_transfers(job->request->zone) ? gate_note(job, ANSWER_NOTE_FROZEN, ANSWER_REFUSAL_FROZEN)
							     : ANSWER_REFUSAL_NONE;
}

static answer_refusal_t gate_axfr(job_t *job)
{
	answer_refusal_t refusal = job->is_udp ? ANSWER_REFUSAL_NEEDS_STREAM : gate_transfer(job);
	return refusal != ANSWER_REFUSAL_NONE ? refusal : gate_frozen(job);
}

static answer_refusal_t gate_ixfr(job_t *job)
{
	answer_refusal_t refusal = gate_transfer(job);
	if (refusal != ANSWER_REFUSAL_NONE) {
		return refusal;
	}
	answer_aside_t *aside = answer_aside_of(job);
	aside->is_ixfr = true;
	if (answer_read_soa(&job->request->query, KNOT_SECTION_AUTHORITY, &aside->serial) != ANSWER_SOA_FOUND) {
		return gate_note(job, ANSWER_NOTE_MALFORMED, ANSWER_REFUSAL_BAD_IXFR);
	}
	/* Over UDP it's a question for the serial, which is answered. */
	return job->is_udp ? ANSWER_REFUSAL_NONE : gate_frozen(job);
}

/* Only what is delegated from the zone. */
static answer_refusal_t gate_child(const answer_request_t *request)
{
	const zone_contents_t *contents = zone_contents(request->zone);
	if (contents == NULL) {
		return ANSWER_REFUSAL_NOT_LOADED;
	}
	const knot_query_t *q = &request->query;
	const zone_lookup_t found =
			zone_lookup(contents, (knot_name_t){ q->qname_lower, q->qname.len, q->qname.label_count });
	bool is_cut = found.kind == ZONE_FOUND && (found.node->flags & ZONE_NODE_CUT) != 0;
	return is_cut ? ANSWER_REFUSAL_NONE : ANSWER_REFUSAL_NOT_AUTH;
}

static answer_refusal_t gate_notify(job_t *job)
{
	answer_refusal_t refusal = gate_zone(job, CONF_ACTION_NOTIFY);
	if (refusal == ANSWER_REFUSAL_NONE && answer_is_about_child(job->request)) {
		return gate_child(job->request);
	}
	bool is_valid = job->request->query.qtype == KNOT_TYPE_SOA;
	return refusal != ANSWER_REFUSAL_NONE || is_valid
			       ? refusal
			       : gate_note(job, ANSWER_NOTE_NOTIFY_INVALID, ANSWER_REFUSAL_BAD_NOTIFY);
}

static answer_refusal_t gate_update(job_t *job)
{
	return job->request->query.qtype != KNOT_TYPE_SOA ? ANSWER_REFUSAL_BAD_UPDATE
							  : gate_zone(job, CONF_ACTION_UPDATE);
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

/* The caller does the rest, if it is one that can. */
static void decide_effect(job_t *job, uint8_t effect, answer_outcome_kind_t kind)
{
	bool is_taken = (job->source->turn->takes & effect) != 0;
	job->outcome.kind = is_taken ? kind : ANSWER_OUTCOME_REFUSAL;
	job->outcome.refusal = is_taken ? ANSWER_REFUSAL_NONE : ANSWER_REFUSAL_NOT_TAKEN;
	job->report->effects |= is_taken ? effect : 0;
}

static void decide_stream(job_t *job)
{
	answer_aside_of(job)->contents = job->request->contents;
	decide_effect(job, ANSWER_EFFECT_STREAM, ANSWER_OUTCOME_STREAM);
}

/* RFC 1982 3.2; numbers that are 2^31 apart have no order, so none is newer. */
static bool decide_is_newer(uint32_t serial, uint32_t than)
{
	return serial != than && serial - than < UINT32_C(1) << 31;
}

/* RFC 1995 2 and 4: over UDP always, and where the client has the newest version, the SOA alone. As with Knot, a zone
   that gives no differences is sent whole, whatever the client has. */
static void decide_ixfr(job_t *job)
{
	answer_aside_t *aside = answer_aside_of(job);
	const zone_contents_t *contents = job->request->contents;
	bool is_current = aside->provides_ixfr &&
			  (aside->serial == contents->serial || decide_is_newer(aside->serial, contents->serial));
	if (!job->is_udp && !is_current) {
		decide_stream(job);
		return;
	}
	aside->note = job->is_udp ? ANSWER_NOTE_NONE : ANSWER_NOTE_UP_TO_DATE;
	job->outcome.kind = ANSWER_OUTCOME_PLAN;
	answer_plan_soa(contents, &job->request->query, &job->outcome.plan);
}

/* RFC 1996 3.7 and 3.11: the serial that is sent along says whether there's something to do. */
static void decide_notify(job_t *job)
{
	answer_aside_t *aside = answer_aside_of(job);
	if (answer_is_about_child(job->request)) {
		aside->note = ANSWER_NOTE_NOTIFY_CHILD;
		aside->child_type = job->request->query.qtype;
		decide_effect(job, ANSWER_EFFECT_CHILD, ANSWER_OUTCOME_EMPTY);
		return;
	}
	const zone_contents_t *contents = zone_contents(job->request->zone);
	answer_soa_t soa = answer_read_soa(&job->request->query, KNOT_SECTION_ANSWER, &aside->serial);
	aside->has_serial = soa == ANSWER_SOA_FOUND;
	aside->has_bad_record = soa == ANSWER_SOA_OTHER;
	aside->note = ANSWER_NOTE_NOTIFY;
	job->outcome.kind = ANSWER_OUTCOME_EMPTY;
	if (!aside->has_serial || contents == NULL || contents->serial != aside->serial ||
			zone_is_renumbered(job->request->zone)) {
		decide_effect(job, ANSWER_EFFECT_REFRESH, ANSWER_OUTCOME_EMPTY);
	}
}

static void decide_update(job_t *job)
{
	decide_effect(job, ANSWER_EFFECT_UPDATE, ANSWER_OUTCOME_LATER);
}

/* The engine's own stages, by kind of request. */
static const struct {
	answer_refusal_t (*gate)(job_t *job);
	void (*decide)(job_t *job); /* NULL: the gate lets none through */
} kinds[ANSWER_KIND_END] = {
	[ANSWER_KIND_LOOKUP] = { gate_lookup, decide_lookup },
	[ANSWER_KIND_SIGNED] = { gate_signed, decide_lookup },
	[ANSWER_KIND_CHAOS] = { gate_open, decide_chaos },
	[ANSWER_KIND_AXFR] = { gate_axfr, decide_stream },
	[ANSWER_KIND_IXFR] = { gate_ixfr, decide_ixfr },
	[ANSWER_KIND_NOTIFY] = { gate_notify, decide_notify },
	[ANSWER_KIND_UPDATE] = { gate_update, decide_update },
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
		assert(outcome->refusal != ANSWER_REFUSAL_MALFORMED);
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

/* The outcomes that are no plan. False: nothing is sent. */
__attribute__((noinline)) static bool answer_encode_other(job_t *job)
{
	job->rcode = job->report->rcode = KNOT_RCODE_NOERROR;
	if (job->outcome.kind == ANSWER_OUTCOME_RECORD) {
		answer_encode_record(job);
	}
	if (job->outcome.kind == ANSWER_OUTCOME_STREAM) {
		job->flags = KNOT_FLAG_AA;
	}
	return job->outcome.kind != ANSWER_OUTCOME_LATER;
}

/* The chain that signs the reply; NULL: it isn't signed, or by the caller. */
static knot_tsig_chain_t *answer_chain_of(const job_t *job)
{
	bool is_signed = (job->report->effects & ANSWER_EFFECT_NOTED) != 0 &&
			 job->outcome.kind != ANSWER_OUTCOME_STREAM && answer_aside_of(job)->chain.key != NULL;
	return is_signed ? &answer_aside_of(job)->chain : NULL;
}

/* Bytes of options and TSIG. */
__attribute__((noinline)) static size_t answer_extra_len(const job_t *job)
{
	const knot_tsig_chain_t *chain = answer_chain_of(job);
	return answer_options_len(job->env, job->request) + (chain != NULL ? knot_tsig_len(chain) : 0);
}

/*
 * Options always fit, by ANSWER_NSID_MAX, but a TSIG with long names may not, nor may it without records (RFC
 * 8945 5.3): then the reply says over UDP that it has to be asked for over TCP.
 */
__attribute__((noinline, cold)) static bool answer_truncate(job_t *job)
{
	assert(job->is_udp && answer_chain_of(job) != NULL);
	job->flags = KNOT_FLAG_TC;
	job->rcode = job->report->rcode = KNOT_RCODE_NOERROR;
	job->report->truncated = true;
	return true;
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
		reserved += answer_extra_len(job);
	}
	if (!knot_msg_reserve(&job->w, reserved)) {
		return answer_truncate(job);
	}
	if (answer_has_guest(job, ANSWER_STAGE_FINISH) && request->query.edns.present) {
		/* Where there is no room a guest's option isn't put. */
		(void)knot_msg_reserve(&job->w, job->guests->finish_len(job->guests->ctx));
	}
	if (job->outcome.kind == ANSWER_OUTCOME_PLAN) {
		answer_encode_plan(job);
	} else if (!answer_encode_other(job)) {
		return false;
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

/* The TSIG; of a transfer, what each message begins with. `len` bytes are complete. */
__attribute__((noinline)) static size_t answer_finish_more(job_t *job, size_t len)
{
	if (job->outcome.kind == ANSWER_OUTCOME_STREAM) {
		answer_aside_of(job)->template = (knot_bytes_t){ job->w.data, len };
		return 0;
	}
	knot_tsig_chain_t *chain = answer_chain_of(job);
	size_t max = answer_reply_max(job);
	if (chain == NULL || len > max) {
		return len;
	}
	/* Where there is no room the rcode has to do. */
	knot_msg_limit(&job->w, max);
	(void)!knot_tsig_sign(chain, &job->w, job->source->turn->wall_s, &len);
	return len;
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
	size_t len = knot_msg_finish(&job->w, q->id, knot_msg_reply_flags(q, job->flags, job->rcode));
	return __builtin_expect((request->options & ANSWER_OPTION_MORE) != 0, 0) ? answer_finish_more(job, len) : len;
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
