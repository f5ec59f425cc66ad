/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/answer/permit.h"

#include "libknot/msg/message.h"
#include "libknot/rr/rdata.h"
#include "src/catalog/settings.h"

#include <assert.h>

static unsigned permit_protocol_of(answer_protocol_t protocol)
{
	static const uint8_t rows[ANSWER_PROTOCOL_END] = {
		[ANSWER_UDP4] = CONF_OVER_UDP,
		[ANSWER_TCP4] = CONF_OVER_TCP,
		[ANSWER_QUIC4] = CONF_OVER_QUIC,
		[ANSWER_TLS4] = CONF_OVER_TLS,
		[ANSWER_UDP6] = CONF_OVER_UDP,
		[ANSWER_TCP6] = CONF_OVER_TCP,
		[ANSWER_QUIC6] = CONF_OVER_QUIC,
		[ANSWER_TLS6] = CONF_OVER_TLS,
		[ANSWER_UDP4_XDP] = CONF_OVER_UDP,
		[ANSWER_TCP4_XDP] = CONF_OVER_TCP,
		[ANSWER_QUIC4_XDP] = CONF_OVER_QUIC,
		[ANSWER_UDP6_XDP] = CONF_OVER_UDP,
		[ANSWER_TCP6_XDP] = CONF_OVER_TCP,
		[ANSWER_QUIC6_XDP] = CONF_OVER_QUIC,
	};
	assert(protocol < ANSWER_PROTOCOL_END);
	return rows[protocol];
}

/* The MAC, with the key that the rules admit. Where the reply has no TSIG the chain ends without a key. */
static answer_refusal_t permit_verify(
		knot_bytes_t message, const knot_tsig_t *tsig, uint64_t now_s, answer_aside_t *aside)
{
	knot_tsig_chain_begin(&aside->chain, &aside->verdict.key->tsig);
	knot_err_t err = knot_tsig_verify_read(&aside->chain, message, tsig, now_s);
	if (err == KNOT_OK) {
		return ANSWER_REFUSAL_NONE;
	}
	if (err == KNOT_TSIG_EBADSIG || err == KNOT_TSIG_EBADTIME) {
		bool is_late = err == KNOT_TSIG_EBADTIME;
		aside->tsig = is_late ? ANSWER_TSIG_BADTIME : ANSWER_TSIG_BADSIG;
		return is_late ? ANSWER_REFUSAL_BAD_TIME : ANSWER_REFUSAL_BAD_SIG;
	}
	aside->tsig = ANSWER_TSIG_FAILED;
	aside->chain.key = NULL;
	return ANSWER_REFUSAL_NOT_VERIFIED;
}

answer_refusal_t answer_permit(const answer_env_t *env, const answer_source_t *source, const answer_request_t *request,
		conf_action_t action, answer_aside_t *ret_aside)
{
	const knot_query_t *query = &request->query;
	answer_aside_t *aside = ret_aside;
	aside->action = action;
	aside->verdict = (access_verdict_t){ 0 };
	aside->has_tsig = query->has_tsig;
	aside->tsig = ANSWER_TSIG_OK;
	aside->note = ANSWER_NOTE_NONE;
	aside->is_ixfr = aside->provides_ixfr = aside->has_serial = aside->has_bad_record = false;
	aside->serial = 0;
	aside->contents = NULL;
	aside->template = (knot_bytes_t){ NULL, 0 };
	knot_tsig_chain_begin(&aside->chain, NULL);

	knot_tsig_t tsig;
	conf_zone_t zone;
	if (query->has_tsig) {
		if (knot_tsig_read(query->wire, aside->key_wire, &tsig) != KNOT_OK) {
			aside->has_tsig = false;
			return ANSWER_REFUSAL_MALFORMED;
		}
		aside->key = tsig.key;
	}
	if (env->conf == NULL || !catalog_zone_settings(env->conf, request->zone, &zone)) {
		return ANSWER_REFUSAL_NOT_ALLOWED;
	}
	aside->provides_ixfr = zone.provide_ixfr;
	const access_facts_t facts = {
		.action = action,
		.protocol = permit_protocol_of(source->protocol),
		.source = source->remote,
		.tsig = query->has_tsig ? &tsig : NULL,
		.message = query->wire,
	};
	aside->verdict = access_check(env->conf->server.automatic_acl, &zone, &facts);
	if (!aside->verdict.is_allowed) {
		return ANSWER_REFUSAL_NOT_ALLOWED;
	}
	return aside->verdict.key != NULL ? permit_verify(query->wire, &tsig, source->turn->wall_s, aside)
					  : ANSWER_REFUSAL_NONE;
}

/* ---- SOA ---- */

enum { SERIAL_FROM_END = 20 /* five numbers end its RDATA, of which the serial is the first */ };

/* The SOA's serial; false: the RDATA can't be read. */
static bool permit_serial_of(knot_bytes_t message, const knot_message_rr_t *rr, uint32_t *ret_serial)
{
	uint8_t rdata[2 * KNOT_NAME_MAX + SERIAL_FROM_END];
	uint16_t len;
	if (knot_rdata_unpack(KNOT_TYPE_SOA, message, rr->rdata_off, rr->rdata_len,
			    (knot_mut_bytes_t){ rdata, sizeof(rdata) }, &len) != KNOT_OK ||
			len < SERIAL_FROM_END) {
		return false;
	}
	*ret_serial = load_be32(rdata + len - SERIAL_FROM_END);
	return true;
}

answer_soa_t answer_read_soa(const knot_query_t *query, knot_section_t section, uint32_t *ret_serial)
{
	knot_message_t view;
	knot_message_rr_t rr;
	if (knot_message_begin(query->wire, &view) != KNOT_OK) {
		return ANSWER_SOA_NONE;
	}
	while (knot_message_next(&view, &rr)) {
		if (rr.section < section) {
			continue;
		}
		if (rr.section > section) {
			return ANSWER_SOA_NONE;
		}
		bool is_soa = rr.type == KNOT_TYPE_SOA && knot_name_eq(rr.owner, query->qname) &&
			      permit_serial_of(query->wire, &rr, ret_serial);
		return is_soa ? ANSWER_SOA_FOUND : ANSWER_SOA_OTHER;
	}
	return ANSWER_SOA_NONE;
}
