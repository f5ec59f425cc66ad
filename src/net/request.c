/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/request.h"

#include <assert.h>
#include <netinet/in.h>

#include "libknot/base/assert.h"
#include "src/net/request_log.h"
#include "src/sys/limits.h"

enum { PORT_OFF = 2 /* of the port in the addresses of both families */ };
_Static_assert(offsetof(struct sockaddr_in, sin_port) == PORT_OFF, "IPv4");
_Static_assert(offsetof(struct sockaddr_in6, sin6_port) == PORT_OFF, "IPv6");

/*
 * UDP services that answer any packet: with a forged source, such a service and a server that answers errors would
 * send to each other forever. Queries don't come from these ports: clients use ports from 1024 on, or 53.
 */
static const uint16_t reflector_ports[] = {
	0,   /* reserved: no reply can be sent there */
	7,   /* echo, RFC 862 */
	13,  /* daytime, RFC 867 */
	17,  /* quote of the day, RFC 865 */
	19,  /* character generator, RFC 864 */
	37,  /* time, RFC 868 */
	464, /* Kerberos password change, RFC 3244: answers errors with errors (CVE-2002-2443) */
};
enum { REFLECTOR_PORT_MAX = 464 };

/* Seldom called: for ports up to REFLECTOR_PORT_MAX. */
__attribute__((noinline, cold)) static bool request_port_reflects(const struct sockaddr *remote, uint16_t port)
{
	if (remote->sa_family == AF_UNIX) {
		return false;
	}
	for (size_t i = 0; i < KNOT_LEN(reflector_ports); i++) {
		assert(reflector_ports[i] <= REFLECTOR_PORT_MAX);
		if (reflector_ports[i] == port) {
			return true;
		}
	}
	return false;
}

/* The peer's port is one of those; of any other it takes two instructions to see. */
static inline bool request_is_reflected(const struct sockaddr *remote)
{
	uint16_t port = load_be16((const uint8_t *)remote + PORT_OFF);
	return __builtin_expect(port <= REFLECTOR_PORT_MAX, 0) && request_port_reflects(remote, port);
}

/* The reply says that the request wasn't understood: rcodes of which garbage gets one or the other. */
static inline bool request_is_garbage(const answer_report_t *report)
{
	enum {
		ERRORS = 1 << KNOT_RCODE_FORMERR | 1 << KNOT_RCODE_NOTIMP | 1 << KNOT_RCODE_BADVERS,
		RCODES_MAX = 32,
	};
	return report->rcode < RCODES_MAX && (ERRORS >> report->rcode & 1) != 0;
}

/* Most replies: no error of the request's. One test, behind which the counter of the rcode is known to be its own. */
static inline bool request_is_usual(uint16_t rcode)
{
	enum { USUAL = 1 << KNOT_RCODE_NOERROR | 1 << KNOT_RCODE_NXDOMAIN | 1 << KNOT_RCODE_REFUSED };
	return rcode <= KNOT_RCODE_REFUSED && (USUAL >> rcode & 1) != 0;
}

/* Count a reply of any other rcode, but not one above the limit. False: it isn't sent. */
__attribute__((noinline, cold)) static bool request_note_rare(traffic_batch_t *batch, request_limits_t *limits,
		const answer_source_t *source, const answer_report_t *report, size_t reply_len)
{
	if (limits != NULL && request_is_garbage(report) &&
			!knot_rate_take(&limits->errors, limits->now_us, NET_ERRORS_PER_S)) {
		traffic_drop(batch, TRAFFIC_DROP_ERROR_LIMIT);
		return false;
	}
	traffic_request(batch, source->protocol, report, reply_len);
	return true;
}

/* Answer with modules that take part before the reply is complete. */
__attribute__((noinline)) static size_t request_answer_with_guests(const state_t *state, const answer_source_t *source,
		const answer_request_t *request, module_chains_t *chains, knot_mut_bytes_t out,
		answer_report_t *ret_report)
{
	answer_guests_t guests = module_guests(chains);
	return answer_message(&state->env, source, request, &guests, out, ret_report);
}

static inline void request_tell_modules(const module_chains_t *chains, const answer_source_t *source,
		const answer_request_t *request, const answer_report_t *report, size_t request_len, size_t reply_len)
{
	module_answered_t answered = {
		.query = &request->query,
		.report = report,
		.source = source,
		.notes = &chains->notes,
		.protocol = source->protocol,
		.request_len = (uint32_t)request_len,
		.response_len = (uint32_t)reply_len,
	};
	module_chain_answered(chains->server, &answered);
	module_chain_answered(chains->zone, &answered);
}

/* An update or a transfer, which the worker takes: shown to modules here. An update is counted with its reply. */
static void request_give(traffic_batch_t *batch, const state_t *state, const answer_source_t *source,
		const answer_request_t *request, const answer_report_t *report, const module_chains_t *chains)
{
	const request_turn_t *turn = (const request_turn_t *)source->turn;
	bool is_stream = (report->effects & ANSWER_EFFECT_STREAM) != 0;
	size_t len = is_stream ? turn->aside.template.len : 0;
	if (is_stream) {
		traffic_note(batch, TRAFFIC_REQUESTS + source->protocol);
		traffic_note(batch, TRAFFIC_RCODES + knot_rcode_slot(report->rcode));
	}
	if (batch->row_count > 0) {
		traffic_look(batch, report);
	}
	if (state_has_modules(state)) {
		request_tell_modules(chains, source, request, report, request->query.wire.len, len);
	}
	if (is_stream) {
		turn->takers->stream(turn->ctx, state, source, request, report, &turn->aside);
	} else {
		turn->takers->update(turn->ctx, state, source, request, report, &turn->aside);
	}
}

/*
 * What should happen because of a request. Writes to memory that other threads read, once in a while, and to the log,
 * for requests with permission. True: the worker has taken the request.
 */
__attribute__((noinline, cold)) static bool request_act(traffic_batch_t *batch, const state_t *state,
		const answer_source_t *source, const answer_request_t *request, const answer_report_t *report,
		const module_chains_t *chains)
{
	enum { TAKEN = ANSWER_EFFECT_STREAM | ANSWER_EFFECT_UPDATE };
	assert(report->zone != NULL);
	if (report->effects & ANSWER_EFFECT_ASKED) {
		zone_note_asked(report->zone);
	}
	if (report->effects & ANSWER_EFFECT_WANTED) {
		zonedb_want(state->zones, report->zone);
	}
	if ((report->effects & ANSWER_EFFECT_NOTED) == 0) {
		return false;
	}
	const request_turn_t *turn = (const request_turn_t *)source->turn;
	request_log(source, report, &turn->aside);
	if (report->effects & ANSWER_EFFECT_REFRESH) {
		/* Lost only if thousands come at once; whoever takes them logs that. */
		(void)notices_put(state->notices, zone_name(report->zone), source->remote);
	}
	if (report->effects & ANSWER_EFFECT_CHILD) {
		const knot_query_t *q = &request->query;
		(void)notices_put_child(state->notices,
				(knot_name_t){ q->qname_lower, q->qname.len, q->qname.label_count },
				turn->aside.child_type, source->remote, turn->answer.now_us);
	}
	if ((report->effects & TAKEN) == 0) {
		return false;
	}
	request_give(batch, state, source, request, report, chains);
	return true;
}

size_t request_answer(traffic_batch_t *batch, request_limits_t *limits, const state_t *state,
		const answer_source_t *source, const answer_request_t *request, knot_mut_bytes_t out)
{
	enum { BEFORE_ANSWERED = (1 << ANSWER_STAGE_ANSWERED) - 1 /* bits of the stages before */ };
	KNOT_ASSERT_SLOW((limits != NULL) == answer_is_udp(source->protocol));
	if (limits != NULL && request_is_reflected(source->remote)) {
		traffic_drop(batch, TRAFFIC_DROP_REFLECTOR_PORT);
		return 0;
	}
	module_chains_t chains;
	bool has_modules = state_has_modules(state);
	if (has_modules) {
		chains = state_modules_of(state, request->zone);
	}
	answer_report_t report;
	size_t reply_len;
	if (has_modules &&
			((module_chain_stages(chains.server) | module_chain_stages(chains.zone)) & BEFORE_ANSWERED)) {
		reply_len = request_answer_with_guests(state, source, request, &chains, out, &report);
	} else {
		reply_len = answer_message(&state->env, source, request, NULL, out, &report);
	}
	if (__builtin_expect(report.effects != 0, 0) && request_act(batch, state, source, request, &report, &chains)) {
		return 0;
	}
	if (__builtin_expect(request_is_usual(report.rcode), 1)) {
		traffic_request(batch, source->protocol, &report, reply_len);
	} else if (!request_note_rare(batch, limits, source, &report, reply_len)) {
		return 0;
	}
	if (has_modules) {
		request_tell_modules(&chains, source, request, &report, request->query.wire.len, reply_len);
	}
	return reply_len;
}

void request_take_later(later_outbox_t *outbox, traffic_batch_t *batch, const state_t *state,
		const answer_source_t *source, const answer_request_t *request, const answer_aside_t *aside)
{
	bool is_ipv6 = source->remote->sa_family == AF_INET6;
	uint16_t payload_max = is_ipv6 ? state->env.udp_payload_max_ipv6 : state->env.udp_payload_max_ipv4;
	if (!later_take(outbox, source, request, &aside->chain, payload_max)) {
		traffic_drop(batch, TRAFFIC_DROP_NO_MEMORY);
	}
}

void request_note_later(sys_counters_t *counters, const later_t *later, uint64_t now_ns)
{
	traffic_batch_t batch = { .row_count = 0 };
	traffic_note(&batch, TRAFFIC_REQUESTS + later->protocol);
	traffic_note(&batch, TRAFFIC_RCODES + knot_rcode_slot(later->request.rcode));
	traffic_end(counters, &batch, now_ns - later->begin_ns);
}
