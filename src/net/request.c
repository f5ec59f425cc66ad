/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/request.h"

size_t request_answer(traffic_batch_t *batch, const state_t *state, const answer_source_t *source,
		const answer_hint_t *hint, module_protocol_t protocol, knot_bytes_t request, knot_mut_bytes_t out)
{
	knot_query_t query;
	answer_report_t report;
	size_t reply_len = answer_message(&state->env, state->zones, source, hint, request, out, &query, &report);
	traffic_request(batch, protocol, &report, reply_len);
	const module_chain_t *chain = report.zone != NULL ? state_zone_modules(state, report.zone) : NULL;
	if (state->modules == NULL && chain == NULL) {
		return reply_len;
	}
	module_answered_t answered = {
		.query = report.query,
		.report = &report,
		.protocol = protocol,
		.request_len = (uint32_t)request.len,
		.response_len = (uint32_t)reply_len,
	};
	module_chain_answered(state->modules, &answered);
	module_chain_answered(chain, &answered);
	return reply_len;
}
