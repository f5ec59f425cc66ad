/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/worker.h"

#include "libknot/msg/message.h"
#include "libknot/rr/rdata.h"
#include "src/tools/load/judge.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMING_LEN = 2 };

bool worker_init(worker_t *w, const worker_plan_t *plan, const worker_params_t *params)
{
	assert(params->first > 0);
	*w = (worker_t){ .plan = plan,
		.thread = params->thread,
		.first = params->first,
		.number = params->first,
		.zero_ids = params->zero_ids };
	schedule_begin(&plan->schedule, params->thread, &w->cursor);
	w->steps = calloc(plan->step_count, sizeof(*w->steps));
	w->latency = calloc(plan->step_count, sizeof(*w->latency));
	w->delay = calloc(plan->step_count, sizeof(*w->delay));
	bool is_good = flight_init(&w->flight, params->window, params->ports, params->shared) && w->steps != NULL &&
		       w->latency != NULL && w->delay != NULL;
	if (is_good && plan->message.cookies) {
		w->cookies = calloc(plan->addresses, sizeof(*w->cookies));
		is_good = w->cookies != NULL;
	}
	if (is_good && plan->message.tsig != NULL) {
		w->chains = calloc(params->window, sizeof(*w->chains));
		is_good = w->chains != NULL;
	}
	if (!is_good) {
		worker_done(w);
	}
	return is_good;
}

void worker_done(worker_t *w)
{
	for (uint64_t i = 0; w->chains != NULL && i <= w->flight.mask; i++) {
		if (w->chains[i].key != NULL) {
			knot_tsig_chain_done(&w->chains[i]);
		}
	}
	flight_done(&w->flight);
	free(w->steps);
	free(w->latency);
	free(w->delay);
	free(w->cookies);
	free(w->chains);
	w->steps = NULL;
	w->latency = NULL;
	w->delay = NULL;
	w->cookies = NULL;
	w->chains = NULL;
}

/* ---- Sending ---- */

static unsigned worker_step(const worker_t *w, uint64_t due_ns)
{
	if (w->plan->step_count == 1) {
		return 0;
	}
	uint64_t step = due_ns / w->plan->step_ns;
	return step < w->plan->step_count ? (unsigned)step : w->plan->step_count - 1;
}

static uint32_t worker_address(const worker_t *w, uint64_t number)
{
	return w->plan->addresses == 1 ? 0 : (uint32_t)(number / w->flight.ports % w->plan->addresses);
}

static knot_tsig_chain_t *worker_chain(const worker_t *w, uint64_t number)
{
	return w->chains != NULL ? &w->chains[number & w->flight.mask] : NULL;
}

static message_params_t worker_message_params(worker_t *w, uint64_t number)
{
	const message_params_t params = {
		.number = (number - w->first) * w->plan->schedule.threads + w->thread,
		.id = w->zero_ids ? 0 : flight_id(&w->flight, number),
		.address = worker_address(w, number),
		.cookie = w->cookies != NULL ? &w->cookies[worker_address(w, number)] : NULL,
		.chain = worker_chain(w, number),
		.now_s = w->now_s,
	};
	if (params.chain != NULL && params.chain->key != NULL) {
		knot_tsig_chain_done(params.chain);
	}
	return params;
}

size_t worker_make_again(worker_t *w, uint64_t number, uint8_t *bytes)
{
	const message_params_t params = worker_message_params(w, number);
	message_t message;
	message_build(&w->plan->message, &params, bytes, &message);
	return message.len;
}

void worker_next(worker_t *w, uint64_t now_ns, bool tcp_framing, uint8_t *bytes, worker_query_t *ret_query)
{
	const worker_plan_t *plan = w->plan;
	const uint64_t number = w->number++, due_ns = w->cursor.due_ns;
	const message_params_t params = worker_message_params(w, number);
	message_t message;
	uint8_t *at = tcp_framing ? bytes + FRAMING_LEN : bytes;
	message_build(&plan->message, &params, at, &message);
	if (tcp_framing) {
		store_be16(bytes, (uint16_t)message.len);
		message.len += FRAMING_LEN;
	}
	flight_send(&w->flight, &(flight_slot_t){ number, due_ns, now_ns, message.query, message.question });
	*ret_query = (worker_query_t){
		.len = message.len,
		.number = number,
		.port = flight_port(&w->flight, number),
		.address = params.address,
		.id = params.id,
	};
	unsigned step = worker_step(w, due_ns);
	histogram_add(&w->delay[step], now_ns > due_ns ? now_ns - due_ns : 0);
	worker_add(&w->counts.sent, 1);
	worker_add(&w->counts.sent_bytes, message.len);
	worker_add(&w->steps[step].sent, 1);
	schedule_advance(&w->cursor);
}

void worker_unsend(worker_t *w, const worker_query_t *query)
{
	flight_slot_t *slot = &w->flight.slots[query->number & w->flight.mask];
	(void)flight_give_up(&w->flight, query->number);
	worker_add(&w->counts.unsent, 1);
	worker_add(&w->counts.sent, (uint64_t)-1);
	worker_add(&w->counts.sent_bytes, (uint64_t)0 - query->len);
	worker_add(&w->steps[worker_step(w, slot->due_ns)].sent, (uint64_t)-1);
}

void worker_lose(worker_t *w, uint64_t number)
{
	(void)flight_give_up(&w->flight, number);
	worker_add(&w->counts.refused, 1);
}

/* ---- Receiving ---- */

static void worker_count_reply(worker_t *w, knot_bytes_t message)
{
	worker_add(&w->counts.replies, 1);
	worker_add(&w->counts.reply_bytes, message.len);
	if (message.len >= KNOT_MSG_HEADER_LEN) {
		worker_add(&w->counts.rcodes[knot_rcode_slot(message_rcode(message))], 1);
	}
}

/* The question as matching wants it. False: this is no reply. */
static bool worker_read_question(knot_bytes_t message, flight_reply_t *reply)
{
	if (message.len < KNOT_MSG_HEADER_LEN || (message.data[2] & 0x80) == 0) {
		return false;
	}
	reply->id = load_be16(message.data);
	unsigned questions = load_be16(message.data + 4);
	if (questions == 0) {
		/* What couldn't be read, or isn't done, may come back without its question (RFC 1035 4.1.1). */
		unsigned rcode = message.data[3] & KNOT_RCODE_MASK;
		reply->has_question = false;
		return rcode == KNOT_RCODE_FORMERR || rcode == KNOT_RCODE_NOTIMP || rcode == KNOT_RCODE_REFUSED ||
		       rcode == KNOT_RCODE_SERVFAIL;
	}
	size_t len = queries_question_len(message.data, message.len);
	reply->has_question = true;
	reply->question = len > 0 ? message_question_hash(message.data + KNOT_MSG_HEADER_LEN, len) : 0;
	return questions == 1 && len > 0;
}

/* A matched reply: when, and whether it is right. */
static void worker_take(worker_t *w, worker_t *owner, const worker_reply_t *reply, const flight_slot_t *query)
{
	const unsigned step = worker_step(w, query->due_ns);
	histogram_add(&w->latency[step], reply->now_ns > query->due_ns ? reply->now_ns - query->due_ns : 0);
	worker_add(&w->steps[step].matched, 1);
	bool is_truncated = (reply->message.data[2] & 2) != 0;
	worker_add(&w->counts.truncated, is_truncated);
	if (w->cookies != NULL) {
		(void)message_learn_cookie(
				&w->plan->message, reply->address, reply->message, &w->cookies[reply->address]);
	}
	knot_tsig_chain_t *chain = worker_chain(owner, query->number);
	if (chain != NULL && owner == w) {
		bool is_good = knot_tsig_verify(chain, reply->message, w->now_s) == KNOT_OK;
		worker_add(&w->counts.bad_tsig, !is_good);
	}
	if (w->judge == NULL) {
		return;
	}
	switch (judge_reply(w->judge, query->query, reply->message)) {
	case JUDGE_RIGHT: worker_add(&w->counts.verified, 1); break;
	case JUDGE_WRONG:
		worker_add(&w->counts.verified, 1);
		worker_add(&w->counts.wrong, 1);
		break;
	case JUDGE_UNKNOWN: worker_add(&w->counts.unverified, 1); break;
	}
}

static flight_verdict_t worker_match(worker_t *w, worker_t *owner, flight_slot_t *slot, const worker_reply_t *reply)
{
	flight_reply_t match = { .port = reply->port, .now_ns = reply->now_ns, .timeout_ns = w->plan->timeout_ns };
	worker_count_reply(w, reply->message);
	if (!worker_read_question(reply->message, &match)) {
		worker_add(&w->counts.malformed, 1);
		return FLIGHT_UNEXPECTED;
	}
	if (slot == NULL) {
		slot = flight_slot(&owner->flight, reply->port, match.id);
	}
	flight_slot_t query;
	uint64_t number = __atomic_load_n(&slot->number, __ATOMIC_RELAXED) >> 2;
	if (owner->zero_ids) {
		/* Any other id is as wrong as that of another query. */
		match.id ^= flight_id(&owner->flight, number);
	}
	flight_verdict_t verdict = worker_address(owner, number) == reply->address
						   ? flight_receive(&owner->flight, slot, &match, &query)
						   : FLIGHT_UNEXPECTED;
	switch (verdict) {
	case FLIGHT_MATCHED:
		worker_add(&w->counts.matched, 1);
		worker_take(w, owner, reply, &query);
		break;
	case FLIGHT_DUPLICATE: worker_add(&w->counts.duplicate, 1); break;
	case FLIGHT_LATE: worker_add(&w->counts.late, 1); break;
	case FLIGHT_UNEXPECTED:
	case FLIGHT_VERDICT_COUNT: worker_add(&w->counts.unexpected, 1); break;
	}
	return verdict;
}

flight_verdict_t worker_receive(worker_t *receiver, worker_t *owner, const worker_reply_t *reply)
{
	return worker_match(receiver, owner, NULL, reply);
}

flight_verdict_t worker_receive_number(worker_t *w, uint64_t number, const worker_reply_t *reply)
{
	flight_slot_t *slot = &w->flight.slots[number & w->flight.mask];
	worker_reply_t known = *reply;
	known.port = flight_port(&w->flight, number);
	known.address = worker_address(w, number);
	/* A slot that was taken again has another number: ids then differ but for one in 65536, unless all are 0. */
	if (w->zero_ids && __atomic_load_n(&slot->number, __ATOMIC_RELAXED) >> 2 != number) {
		worker_count_reply(w, reply->message);
		worker_add(&w->counts.late, 1);
		return FLIGHT_LATE;
	}
	return worker_match(w, w, slot, &known);
}

/* ---- Transfers ---- */

/* RFC 5936 2.2, RFC 1995 4: the SOA that it begins with ends it; differences have two SOAs each before that. */
static worker_transfer_state_t worker_count_soa(worker_transfer_t *t, bool is_ixfr, uint32_t serial)
{
	t->soas++;
	if (t->soas == 1) {
		t->serial = serial;
		return TRANSFER_MORE;
	}
	t->is_increments |= is_ixfr && t->records == 1; /* the second record: differences follow */
	bool ends = serial == t->serial && (!t->is_increments || (t->soas % 2 == 0 && t->soas > 2));
	return ends ? TRANSFER_DONE : TRANSFER_MORE;
}

worker_transfer_state_t worker_receive_transfer(worker_t *w, worker_transfer_t *t, knot_bytes_t bytes)
{
	knot_message_t message;
	knot_message_rr_t rr;
	worker_transfer_state_t state = TRANSFER_MORE;
	if (knot_message_begin(bytes, &message) != KNOT_OK || (bytes.data[3] & KNOT_RCODE_MASK) != 0) {
		return TRANSFER_BAD;
	}
	uint16_t answers = message.counts[KNOT_SECTION_ANSWER];
	while (state == TRANSFER_MORE && knot_message_next(&message, &rr)) {
		if (rr.section != KNOT_SECTION_ANSWER) {
			continue;
		}
		if (rr.type == KNOT_TYPE_SOA) {
			if (rr.rdata_len < KNOT_SOA_NUMBERS_LEN) {
				return TRANSFER_BAD;
			}
			uint32_t serial = load_be32(bytes.data + rr.rdata_off + rr.rdata_len - KNOT_SOA_NUMBERS_LEN);
			state = worker_count_soa(t, w->plan->message.profile == PROFILE_IXFR, serial);
		}
		t->records++;
		worker_add(&w->counts.records, 1);
	}
	worker_add(&w->counts.messages, 1);
	if (message.failed) {
		return TRANSFER_BAD;
	}
	/* An IXFR that says that nothing is newer is one SOA (RFC 1995 4). */
	bool is_up_to_date = state == TRANSFER_MORE && t->records == 1 && answers == 1 && t->soas == 1 &&
			     w->plan->message.profile == PROFILE_IXFR;
	return is_up_to_date ? TRANSFER_DONE : state;
}

/* ---- Sums ---- */

void worker_counts_add(worker_counts_t *sum, const worker_counts_t *part)
{
	const uint64_t *from = (const uint64_t *)part;
	uint64_t *to = (uint64_t *)sum;
	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++) {
		to[i] += __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	}
}

void worker_times_add(histogram_t *latency, histogram_t *delay, const worker_t *w)
{
	for (unsigned i = 0; i < w->plan->step_count; i++) {
		histogram_merge(latency, &w->latency[i]);
		histogram_merge(delay, &w->delay[i]);
	}
}
