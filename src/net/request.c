/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/request.h"

#include <assert.h>
#include <netinet/in.h>

#include "libknot/base/assert.h"
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

size_t request_answer(traffic_batch_t *batch, request_limits_t *limits, const state_t *state,
		const answer_source_t *source, const answer_hint_t *hint, knot_bytes_t request, knot_mut_bytes_t out)
{
	KNOT_ASSERT_SLOW((limits != NULL) == answer_is_udp(source->protocol));
	if (limits != NULL && request_is_reflected(source->remote)) {
		traffic_drop(batch, TRAFFIC_DROP_REFLECTOR_PORT);
		return 0;
	}
	knot_query_t query;
	answer_report_t report;
	size_t reply_len = answer_message(&state->env, state->zones, source, hint, request, out, &query, &report);
	if (__builtin_expect(request_is_usual(report.rcode), 1)) {
		traffic_request(batch, source->protocol, &report, reply_len);
	} else if (!request_note_rare(batch, limits, source, &report, reply_len)) {
		return 0;
	}
	const module_chain_t *chain = report.zone != NULL ? state_zone_modules(state, report.zone) : NULL;
	if (state->modules == NULL && chain == NULL) {
		return reply_len;
	}
	module_answered_t answered = {
		.query = report.query,
		.report = &report,
		.protocol = source->protocol,
		.request_len = (uint32_t)request.len,
		.response_len = (uint32_t)reply_len,
	};
	module_chain_answered(state->modules, &answered);
	module_chain_answered(chain, &answered);
	return reply_len;
}
