/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/message.h"

#include "libknot/msg/message.h"

#include <string.h>

enum { DIGITS = 12, LABEL_SEED = 0x1abe1, COOKIE_SEED = 0xc00c1e, UPDATE_TTL_S = 60, POINTER_TO_QUESTION = 0xC00C };

/* PREFIX and 12 hexadecimal digits, as a label; returns its length with the length byte. */
static size_t message_put_label(const message_plan_t *plan, uint64_t number, uint8_t *to)
{
	static const char digits[] = "0123456789abcdef";
	const char *prefix = plan->prefix != NULL ? plan->prefix : "";
	size_t prefix_len = strlen(prefix);
	memcpy(to + 1, prefix, prefix_len);
	/* An update has names that follow on one another, so that a later run can go on where this one ended. */
	uint64_t value = hash_number(plan->seed ^ hash_number(number ^ LABEL_SEED));
	for (unsigned i = 0; i < DIGITS; i++) {
		to[1 + prefix_len + i] = (uint8_t)digits[value >> 4 * i & 15];
	}
	to[0] = (uint8_t)(prefix_len + DIGITS);
	return 1 + prefix_len + DIGITS;
}

/* An address for a new name: PREFIX and digits in front of the zone. RFC 2136 2.5.1 */
static size_t message_put_update(const message_plan_t *plan, uint64_t number, uint8_t *bytes, size_t len)
{
	uint8_t *at = bytes + len;
	at += message_put_label(plan, number, at);
	store_be16(at, POINTER_TO_QUESTION);
	store_be16(at + 2, KNOT_TYPE_A);
	store_be16(at + 4, 1);
	store_be32(at + 6, UPDATE_TTL_S);
	store_be16(at + 10, 4);
	store_be32(at + 12, 10u << 24 | ((uint32_t)number & 0xFFFFFF));
	store_be16(bytes + 8, 1);
	return (size_t)(at + 16 - bytes);
}

static size_t message_put_name(const message_plan_t *plan, const query_t *query, uint64_t number, uint8_t *bytes)
{
	const uint8_t *from = queries_message(plan->queries, query);
	uint8_t label[64];
	size_t label_len = message_put_label(plan, number, label);
	if (query->qname_len == 0 || query->qname_len + label_len > KNOT_NAME_MAX) {
		memcpy(bytes, from, query->len);
		return query->len;
	}
	memcpy(bytes, from, KNOT_MSG_HEADER_LEN);
	memcpy(bytes + KNOT_MSG_HEADER_LEN, label, label_len);
	memcpy(bytes + KNOT_MSG_HEADER_LEN + label_len, from + KNOT_MSG_HEADER_LEN,
			query->len - (size_t)KNOT_MSG_HEADER_LEN);
	return query->len + label_len;
}

uint64_t message_client_cookie(const message_plan_t *plan, uint32_t address)
{
	return hash_number(plan->seed ^ hash_number(COOKIE_SEED + (uint64_t)address));
}

/* At the end of the OPT, which is the message's last record. */
static size_t message_put_cookie(const message_plan_t *plan, const message_params_t *params, const query_t *query,
		uint8_t *bytes, size_t len)
{
	size_t cookie_len = MESSAGE_COOKIE_CLIENT_LEN + params->cookie->server_len;
	if ((query->flags & QUERY_EDNS) == 0 || load_be16(bytes + len - 2) != 0) {
		return len;
	}
	store_be16(bytes + len - 2, (uint16_t)(KNOT_OPTION_HEAD_LEN + cookie_len));
	uint8_t *at = bytes + len;
	store_be16(at, KNOT_EDNS_COOKIE);
	store_be16(at + 2, (uint16_t)cookie_len);
	store_be64(at + 4, message_client_cookie(plan, params->address));
	memcpy(at + 12, params->cookie->server, params->cookie->server_len);
	return len + KNOT_OPTION_HEAD_LEN + cookie_len;
}

static size_t message_put_tsig(const message_plan_t *plan, const message_params_t *params, uint8_t *bytes, size_t len)
{
	knot_msg_writer_t w = { .data = bytes, .len = len, .max = MESSAGE_MAX };
	for (unsigned i = 0; i < 4; i++) {
		w.counts[i] = load_be16(bytes + 4 + 2 * i);
	}
	size_t signed_len = len;
	knot_tsig_chain_begin(params->chain, plan->tsig);
	/* Room there is: lists have no messages so long. Without GnuTLS's help it goes unsigned and is refused. */
	return knot_tsig_sign(params->chain, &w, params->now_s, &signed_len) == KNOT_OK ? signed_len : len;
}

void message_build(const message_plan_t *plan, const message_params_t *params, uint8_t bytes[static MESSAGE_MAX],
		message_t *ret_message)
{
	uint64_t index = pick_query(&plan->pick, params->number);
	const query_t *query = &plan->queries->items[index];
	*ret_message = (message_t){ .query = (uint32_t)index, .question = query->question };
	size_t len = query->len;
	if (plan->prefix != NULL && plan->profile != PROFILE_UPDATE) {
		len = message_put_name(plan, query, params->number, bytes);
		ret_message->question =
				message_question_hash(bytes + KNOT_MSG_HEADER_LEN, queries_question_len(bytes, len));
	} else {
		memcpy(bytes, queries_message(plan->queries, query), len);
	}
	store_be16(bytes, params->id);
	if (plan->profile == PROFILE_UPDATE) {
		len = message_put_update(plan, params->number, bytes, len);
	}
	if (plan->cookies) {
		len = message_put_cookie(plan, params, query, bytes, len);
	}
	if (plan->tsig != NULL) {
		len = message_put_tsig(plan, params, bytes, len);
	}
	ret_message->len = len;
}

typedef struct {
	knot_bytes_t options;
	uint8_t rcode; /* the upper bits */
} message_opt_t;

/* The OPT of a message. */
static bool message_find_opt(knot_bytes_t reply, message_opt_t *ret_opt)
{
	knot_message_t message;
	knot_message_rr_t rr;
	if (knot_message_begin(reply, &message) != KNOT_OK) {
		return false;
	}
	while (knot_message_next(&message, &rr)) {
		if (rr.section == KNOT_SECTION_ADDITIONAL && rr.type == KNOT_TYPE_OPT) {
			ret_opt->options = (knot_bytes_t){ reply.data + rr.rdata_off, rr.rdata_len };
			ret_opt->rcode = (uint8_t)(rr.ttl >> 24);
			return true;
		}
	}
	return false;
}

uint16_t message_rcode(knot_bytes_t reply)
{
	uint16_t low = reply.data[3] & KNOT_RCODE_MASK;
	/* Only BADVERS (16) and BADCOOKIE (23) have upper bits: others aren't worth a look at the records. */
	bool is_empty = load_be16(reply.data + 6) == 0 && load_be16(reply.data + 8) == 0;
	bool may_be_more = low == (KNOT_RCODE_BADCOOKIE & KNOT_RCODE_MASK) || (low == 0 && is_empty);
	message_opt_t opt;
	if (!may_be_more || load_be16(reply.data + 10) == 0 || !message_find_opt(reply, &opt)) {
		return low;
	}
	return (uint16_t)(opt.rcode << 4 | low);
}

bool message_learn_cookie(const message_plan_t *plan, uint32_t address, knot_bytes_t reply, message_cookie_t *io_cookie)
{
	message_opt_t opt;
	if (!message_find_opt(reply, &opt)) {
		return false;
	}
	/* Options of a message that a peer made: their bounds are checked here. */
	for (knot_reader_t r = knot_reader_of(opt.options); knot_reader_left(&r) >= KNOT_OPTION_HEAD_LEN;) {
		uint16_t code = knot_read_u16(&r), len = knot_read_u16(&r);
		const uint8_t *data = knot_read(&r, len);
		if (data == NULL) {
			return false;
		}
		size_t server_len = len - (size_t)MESSAGE_COOKIE_CLIENT_LEN;
		if (code == KNOT_EDNS_COOKIE && len >= MESSAGE_COOKIE_CLIENT_LEN + 8 &&
				server_len <= MESSAGE_COOKIE_SERVER_MAX &&
				load_be64(data) == message_client_cookie(plan, address)) {
			memcpy(io_cookie->server, data + MESSAGE_COOKIE_CLIENT_LEN, server_len);
			io_cookie->server_len = (uint8_t)server_len;
			return true;
		}
	}
	return false;
}
