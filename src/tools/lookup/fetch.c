/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/lookup/fetch.h"

/* One exchange. What comes with another ID is passed by, as often and as long as the limits let it. */
static bool fetch_once(const exchange_params_t *params, const lookup_query_t *query, uint8_t *room,
		present_message_t *ret_reply)
{
	enum { REPLIES_MAX = 16 };
	static lookup_question_t question;
	bool is_encrypted = params->kind > EXCHANGE_TCP;
	if (!lookup_question_make(query, is_encrypted, (knot_bytes_t){ NULL, 0 }, NULL, 0, &question)) {
		return false;
	}
	exchange_t *exchange = exchange_new(params);
	bool is_good = false;
	if (exchange != NULL && exchange_open(exchange) == EXCHANGE_OK &&
			exchange_send(exchange, question.wire) == EXCHANGE_OK) {
		knot_bytes_t wire;
		uint64_t until_ns = exchange_until_ns(exchange);
		for (unsigned i = 0; i < REPLIES_MAX && !is_good &&
				     exchange_receive(exchange, until_ns, &wire) == EXCHANGE_OK;
				i++) {
			memcpy(room, wire.data, wire.len);
			is_good = wire.len >= KNOT_MSG_HEADER_LEN && load_be16(wire.data) == question.id &&
				  present_read((knot_bytes_t){ room, wire.len }, ret_reply);
		}
	}
	exchange_free(exchange);
	return is_good;
}

bool lookup_fetch(ask_t *ask, const char *name, uint16_t type, present_message_t *ret_reply)
{
	static uint8_t room[KNOT_MSG_MAX];
	lookup_query_t query = *ask->query;
	exchange_params_t params = *ask->params;
	query.name = name;
	query.is_reverse = query.has_serial = query.has_cookie = false;
	query.type = type;
	query.operation = LOOKUP_QUERY;
	query.key = NULL;
	query.flag_do = true;
	params.note = NULL;
	if (!fetch_once(&params, &query, room, ret_reply)) {
		return false;
	}
	if ((ret_reply->flags & KNOT_FLAG_TC) && params.kind == EXCHANGE_UDP) {
		params.kind = EXCHANGE_TCP;
		return fetch_once(&params, &query, room, ret_reply);
	}
	return true;
}
