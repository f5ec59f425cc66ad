/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/lookup/ask.h"

#include "src/present/codes.h"
#include "src/present/host.h"
#include "src/present/json.h"
#include "src/sys/clock.h"
#include "src/tools/lookup/servers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- What replies have to be ---- */

bool ask_read(ask_t *ask, knot_bytes_t wire, present_message_t *ret_message)
{
	if (present_read(wire, ret_message)) {
		if (ret_message->end < wire.len) {
			lookup_warn(ask->lookup, "malformed reply packet (trailing data)");
		}
		return true;
	}
	lookup_error(ask->lookup, "malformed reply packet from %s", exchange_peer_text(ask->exchange));
	if (ask->query->style.format != PRESENT_JSON) {
		present_wreck_put(&ask->lookup->out, &ask->query->style, ret_message);
	}
	return false;
}

static bool ask_has_asked(const ask_t *ask, const present_message_t *reply)
{
	const lookup_question_t *question = ask->question;
	return question->name.len == reply->qname.len &&
	       memcmp(question->name.wire, reply->qname.wire, reply->qname.len) == 0 &&
	       reply->qtype == ask->query->type && reply->qclass == ask->query->class;
}

void ask_check_reply(ask_t *ask, const present_message_t *reply)
{
	if (!(reply->flags & KNOT_FLAG_QR)) {
		lookup_warn(ask->lookup, "response QR bit not set");
	}
	if (!reply->has_question) {
		lookup_warn(ask->lookup, "response doesn't have question section");
	} else if (!ask_has_asked(ask, reply)) {
		lookup_warn(ask->lookup, "query/response question sections are different");
	}
}

void ask_verify(ask_t *ask, knot_bytes_t wire)
{
	if (ask->chain == NULL) {
		return;
	}
	knot_err_t err = knot_tsig_verify(ask->chain, wire, sys_clock_wall());
	if (err != KNOT_OK) {
		const char *why = err == KNOT_EMALF ? "expected a TSIG or SIG(0)" : knot_strerror(err);
		lookup_warn(ask->lookup, "reply verification for %s (%s)", exchange_peer_text(ask->exchange), why);
	}
}

/* ---- Printing ---- */

static bool ask_take_json(void *context, const char *bytes, size_t len)
{
	present_text_t *out = context;
	present_text_put(out, bytes, len);
	return !out->failed;
}

knot_json_t ask_json(lookup_t *lookup)
{
	return knot_json_of(ask_take_json, &lookup->out);
}

void ask_put_foot(ask_t *ask, size_t len, bool is_query, bool is_transfer, size_t messages, size_t records)
{
	struct timespec now = sys_clock_real();
	present_foot_t foot = {
		.is_query = is_query,
		.is_transfer = is_transfer,
		.len = len,
		.messages = messages,
		.records = records,
		.elapsed_ms = (double)(sys_clock_ns() - ask->sent_ns) / 1e6,
		.peer = exchange_peer_text(ask->exchange),
	};
	if (ask->query->style.shows & PRESENT_STATS) {
		localtime_r(&now.tv_sec, &foot.when);
		present_foot_put(&ask->lookup->out, &foot);
	}
}

void ask_put_json(ask_t *ask, const present_message_t *message, const char *name, knot_json_t *json)
{
	struct timespec now = sys_clock_real();
	struct tm when;
	localtime_r(&now.tv_sec, &when);
	present_json_put(json, name, &ask->query->style, message, &when, now.tv_sec);
}

/* With +qr: the query. */
static void ask_put_query(ask_t *ask)
{
	present_message_t message;
	if (!ask->query->shows_query || !present_read(ask->question->wire, &message)) {
		return;
	}
	if (ask->query->style.format == PRESENT_JSON) {
		ask->json = ask_json(ask->lookup);
		knot_json_open(&ask->json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
		ask_put_json(ask, &message, "queryMessage", &ask->json);
		ask->has_query_json = true;
	} else {
		present_message_put(&ask->lookup->out, &ask->query->style, &message);
		ask_put_foot(ask, ask->question->wire.len, true, false, 0, 0);
		present_text_char(&ask->lookup->out, '\n');
	}
}

static void ask_put_reply(ask_t *ask, const present_message_t *reply)
{
	const lookup_query_t *query = ask->query;
	present_text_t *out = &ask->lookup->out;
	if (query->style.format == PRESENT_JSON) {
		knot_json_t json = ask->has_query_json ? ask->json : ask_json(ask->lookup);
		ask_put_json(ask, reply, ask->has_query_json ? "responseMessage" : NULL, &json);
		if (ask->has_query_json) {
			knot_json_close(&json);
			ask->has_query_json = false;
		}
		out->failed |= !knot_json_end(&json);
	} else if (query->style.format == PRESENT_HOST) {
		present_host_put(out, &query->style, reply, query->hides_alias);
	} else {
		present_message_put(out, &query->style, reply);
	}
}

void ask_put_session(ask_t *ask)
{
	(void)ask;
}

/* ---- Receiving ---- */

static bool ask_is_late(const ask_t *ask, uint64_t since_ns)
{
	uint32_t limit_ms = ask->query->timeout_ms;
	return limit_ms != 0 && sys_clock_ns() - since_ns > (uint64_t)limit_ms * 1000000;
}

bool ask_receive(ask_t *ask, bool stops_at_id, knot_bytes_t *ret_message)
{
	uint64_t since_ns = sys_clock_ns();
	for (;;) {
		knot_bytes_t message;
		exchange_end_t end = exchange_receive(ask->exchange, &message);
		if (end == EXCHANGE_SOURCE && !ask_is_late(ask, since_ns)) {
			lookup_warn(ask->lookup, "%s", exchange_problem(ask->exchange));
			continue;
		}
		if (end != EXCHANGE_OK) {
			lookup_warn(ask->lookup, "%s", exchange_problem(ask->exchange));
			return false;
		}
		uint16_t id = message.len >= 2 ? load_be16(message.data) : ask->question->id;
		if (id == ask->question->id || message.len < KNOT_MSG_HEADER_LEN) {
			*ret_message = message;
			return true;
		}
		lookup_warn(ask->lookup, "reply ID (%u) is different from query ID (%u)", id, ask->question->id);
		if (stops_at_id) {
			lookup_error(ask->lookup, "reply ID mismatch from %s", exchange_peer_text(ask->exchange));
			return false;
		}
		if (ask_is_late(ask, since_ns)) {
			lookup_warn(ask->lookup, "response timeout for %s", exchange_peer_text(ask->exchange));
			return false;
		}
	}
}

/* The server's cookie of a BADCOOKIE reply, which must be to ours. False, and it is said: there is none. */
static bool ask_take_cookie(ask_t *ask, const present_message_t *reply)
{
	knot_edns_option_t option;
	if (!reply->has_opt) {
		lookup_error(ask->lookup, "bad cookie, missing EDNS section");
		return false;
	}
	for (size_t pos = 0; knot_edns_next(reply->options, &pos, &option);) {
		size_t server_len = option.data.len - LOOKUP_COOKIE_CLIENT_LEN;
		if (option.code != KNOT_EDNS_COOKIE) {
			continue;
		}
		if (option.data.len < 2 * LOOKUP_COOKIE_CLIENT_LEN || server_len > LOOKUP_COOKIE_SERVER_MAX ||
				memcmp(option.data.data, ask->question->cookie, LOOKUP_COOKIE_CLIENT_LEN) != 0) {
			lookup_error(ask->lookup, "bad cookie, invalid COOKIE option");
			return false;
		}
		memcpy(ask->cookie, option.data.data, option.data.len);
		ask->cookie_len = (uint8_t)option.data.len;
		return true;
	}
	lookup_error(ask->lookup, "bad cookie, missing COOKIE option");
	return false;
}

static ask_result_t ask_single(ask_t *ask)
{
	static present_message_t reply;
	const lookup_query_t *query = ask->query;
	knot_bytes_t wire;
	if (!ask_receive(ask, false, &wire) || !ask_read(ask, wire, &reply)) {
		return ASK_FAILED;
	}
	if ((reply.flags & KNOT_FLAG_TC) && ask->kind == EXCHANGE_UDP && !query->ignores_tc) {
		lookup_warn(ask->lookup, "truncated reply from %s, retrying over TCP\n",
				exchange_peer_text(ask->exchange));
		return ASK_TRUNCATED;
	}
	ask_check_reply(ask, &reply);
	ask_verify(ask, wire);
	ask_put_session(ask);
	ask_put_reply(ask, &reply);
	if (query->style.format == PRESENT_FULL || query->style.format == PRESENT_SHORT) {
		ask_put_foot(ask, wire.len, false, false, 0, 0);
	}
	if (reply.rcode == KNOT_RCODE_BADCOOKIE && query->badcookies > 0) {
		lookup_warn(ask->lookup, "bad cookie from %s, retrying with the received one\n",
				exchange_peer_text(ask->exchange));
		present_text_char(&ask->lookup->out, '\n');
		return ask_take_cookie(ask, &reply) ? ASK_BADCOOKIE : ASK_FAILED;
	}
	return ASK_DONE;
}

/* ---- One question ---- */

static ask_result_t ask_once(ask_t *ask)
{
	lookup_t *lookup = ask->lookup;
	ask->sent_ns = sys_clock_ns();
	ask->sent_at = sys_clock_real();
	if (!exchange_is_open(ask->exchange)) {
		exchange_end_t opened = exchange_open(ask->exchange);
		if (opened != EXCHANGE_OK) {
			lookup_warn(lookup, "%s", exchange_problem(ask->exchange));
			return ASK_FAILED;
		}
	}
	ask->sent_ns = sys_clock_ns();
	if (exchange_send(ask->exchange, ask->question->wire) != EXCHANGE_OK) {
		lookup_warn(lookup, "%s", exchange_problem(ask->exchange));
		return ASK_FAILED;
	}
	ask_put_query(ask);
	bool is_transfer = ask->query->operation == LOOKUP_AXFR || ask->query->operation == LOOKUP_IXFR;
	ask_result_t result = is_transfer ? ask_transfer(ask) : ask_single(ask);
	if (ask->has_query_json) { /* no reply came */
		knot_json_close(&ask->json);
		lookup->out.failed |= !knot_json_end(&ask->json);
		ask->has_query_json = false;
	}
	return result;
}

static exchange_kind_t ask_kind(const lookup_query_t *query)
{
	bool is_transfer = query->operation == LOOKUP_AXFR || query->operation == LOOKUP_IXFR;
	if (query->uses_https) {
		return EXCHANGE_HTTPS;
	}
	if (query->uses_tls) {
		return EXCHANGE_TLS;
	}
	if (query->uses_quic) {
		return EXCHANGE_QUIC;
	}
	return query->is_tcp || (is_transfer && !query->is_udp) ? EXCHANGE_TCP : EXCHANGE_UDP;
}

static void ask_note(void *context, transport_note_level_t level, const char *text)
{
	lookup_t *lookup = context;
	if (level == TRANSPORT_NOTE_WARNING) {
		lookup_warn(lookup, "%s", text);
	} else {
		lookup_debug(lookup, "%s", text);
	}
}

static exchange_params_t ask_params(lookup_t *lookup, const lookup_query_t *query, exchange_kind_t kind,
		const exchange_address_t *server, const exchange_address_t *local)
{
	return (exchange_params_t){
		.kind = kind,
		.server = *server,
		.local = *local,
		.timeout_ms = query->timeout_ms,
		.uses_fast_open = query->uses_fast_open,
		.proxy_source = query->proxy_source,
		.proxy_destination = query->proxy_destination,
		.hostname = query->hostname,
		.sni = query->sni,
		.http = { query->uses_http_get, query->http_authority, query->http_path },
		.note = ask_note,
		.note_ctx = lookup,
	};
}

/* ---- Connections that are kept ---- */

static bool ask_same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool ask_may_share(const exchange_params_t *a, const exchange_params_t *b)
{
	return a->kind == b->kind && memcmp(&a->server, &b->server, sizeof(a->server)) == 0 &&
	       memcmp(&a->local, &b->local, sizeof(a->local)) == 0 && a->trust == b->trust &&
	       ask_same_text(a->hostname, b->hostname) && ask_same_text(a->sni, b->sni) &&
	       a->proxy_source == b->proxy_source && a->proxy_destination == b->proxy_destination &&
	       a->http.uses_get == b->http.uses_get && ask_same_text(a->http.authority, b->http.authority) &&
	       ask_same_text(a->http.path, b->http.path);
}

static exchange_t *ask_begin_exchange(lookup_t *lookup, const lookup_query_t *query, const exchange_params_t *params)
{
	bool may_share = lookup->kept != NULL && ask_may_share(&lookup->kept_params, params);
	if (may_share && exchange_is_open(lookup->kept)) {
		exchange_t *kept = lookup->kept;
		lookup->kept = NULL;
		return kept;
	}
	if (lookup->kept != NULL && !may_share) {
		bool has_dot = query->name == NULL || query->name[0] == '\0' ||
			       query->name[strlen(query->name) - 1] == '.';
		lookup_warn(lookup, "connection parameters mismatch for query (%s%s), ignoring keepopen",
				query->name != NULL ? query->name : "", has_dot ? "" : ".");
	}
	exchange_free(lookup->kept);
	lookup->kept = NULL;
	return exchange_new(params);
}

static void ask_end_exchange(ask_t *ask, const exchange_params_t *params)
{
	if (ask->query->keeps_open && ask->kind != EXCHANGE_UDP && exchange_is_open(ask->exchange)) {
		ask->lookup->kept = ask->exchange;
		ask->lookup->kept_params = *params;
	} else {
		exchange_free(ask->exchange);
	}
	ask->exchange = NULL;
}

/* ---- One query ---- */

/** A query on its way to one server. */
typedef struct {
	lookup_t *lookup;
	const lookup_query_t *query;
	const exchange_address_t *server, *local;
	exchange_kind_t kind;
	unsigned badcookies; /* repeats that are left */
	uint8_t cookie[LOOKUP_COOKIE_CLIENT_LEN + LOOKUP_COOKIE_SERVER_MAX];
	uint8_t cookie_len;
} attempt_t;

/* Make the question and ask it once. False: it can't be made. */
static bool ask_attempt(attempt_t *attempt, ask_result_t *ret_result)
{
	static lookup_question_t question;
	const lookup_query_t *query = attempt->query;
	lookup_t *lookup = attempt->lookup;
	lookup_query_t limited = *query;
	knot_tsig_chain_t chain;
	bool is_encrypted = attempt->kind > EXCHANGE_TCP;
	limited.badcookies = attempt->badcookies;
	if (query->key != NULL) {
		knot_tsig_chain_begin(&chain, &query->key->key);
	}
	if (!lookup_question_make(query, is_encrypted, (knot_bytes_t){ attempt->cookie, attempt->cookie_len },
			    query->key != NULL ? &chain : NULL, sys_clock_wall(), &question)) {
		return false;
	}
	exchange_params_t params = ask_params(lookup, query, attempt->kind, attempt->server, attempt->local);
	ask_t ask = {
		.lookup = lookup,
		.query = &limited,
		.exchange = ask_begin_exchange(lookup, query, &params),
		.kind = attempt->kind,
		.question = &question,
		.chain = query->key != NULL ? &chain : NULL,
	};
	if (ask.exchange == NULL) {
		lookup_error(lookup, "out of memory");
		*ret_result = ASK_FAILED;
	} else {
		*ret_result = ask_once(&ask);
		memcpy(attempt->cookie, ask.cookie, ask.cookie_len);
		attempt->cookie_len = ask.cookie_len > 0 ? ask.cookie_len : attempt->cookie_len;
		ask_end_exchange(&ask, &params);
	}
	if (ask.chain != NULL) {
		knot_tsig_chain_done(&chain);
	}
	return true;
}

/* "192.0.2.1@53(UDP)" without an exchange. */
static void ask_print_peer(const attempt_t *attempt, char ret_text[static EXCHANGE_TEXT_MAX + 16])
{
	static const char *const protocols[] = { "UDP", "TCP", "TCP", "TCP", "QUIC" };
	exchange_address_print(attempt->server, ret_text);
	size_t len = strlen(ret_text);
	snprintf(ret_text + len, EXCHANGE_TEXT_MAX + 16 - len, "(%s)", protocols[attempt->kind]);
}

/* Ask one server until it answers, attempts are used up, or it is no use. */
static bool ask_server(attempt_t *attempt)
{
	char peer[EXCHANGE_TEXT_MAX + 16];
	uint32_t retries = attempt->kind == EXCHANGE_UDP ? attempt->query->retries : 0;
	for (uint32_t tries = 0; tries <= retries;) {
		ask_result_t result;
		if (!ask_attempt(attempt, &result)) {
			return false;
		}
		switch (result) {
		case ASK_DONE: return true;
		case ASK_FAILED: tries++; break;
		case ASK_TRUNCATED:
			present_text_char(&attempt->lookup->out, '\n');
			attempt->kind = EXCHANGE_TCP;
			retries = tries;
			break;
		case ASK_BADCOOKIE: attempt->badcookies--; break;
		}
		if (attempt->lookup->has_failed_output) {
			return false;
		}
	}
	ask_print_peer(attempt, peer);
	lookup_error(attempt->lookup, "failed to query server %s", peer);
	return false;
}

static bool ask_check_name(lookup_t *lookup, const lookup_query_t *query)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	if (query->name == NULL || lookup_question_name(query, wire, &name)) {
		return true;
	}
	bool has_dot = query->name[0] != '\0' && query->name[strlen(query->name) - 1] == '.';
	lookup_error(lookup, "'%s%s' is not a valid domain name", query->name, has_dot ? "" : ".");
	lookup_error(lookup, "can't create query packet");
	return false;
}

static void ask_debug_query(lookup_t *lookup, const lookup_query_t *query, const attempt_t *attempt)
{
	char text[EXCHANGE_TEXT_MAX + 16], reverse[80];
	const char *name = query->name != NULL ? query->name : "";
	static const char *const protocols[] = { "UDP", "TCP", "TCP", "TCP", "UDP" };
	if (!lookup->is_debug) {
		return;
	}
	if (query->is_reverse && lookup_reverse(name, reverse)) {
		name = reverse;
	}
	exchange_address_print(attempt->server, text);
	char *at = strrchr(text, '@');
	if (at != NULL) {
		*at++ = '\0';
	}
	bool has_dot = name[0] != '\0' && name[strlen(name) - 1] == '.';
	lookup_debug(lookup, "Querying for owner(%s%s), class(%u), type(%u), server(%s), port(%s), protocol(%s)", name,
			has_dot ? "" : ".", query->class, query->type, text, at != NULL ? at : "",
			protocols[attempt->kind]);
}

bool lookup_run(lookup_t *lookup, const lookup_query_t *query)
{
	static exchange_address_t servers[LOOKUP_ADDRESSES_MAX];
	exchange_address_t local;
	present_text_str(&lookup->out, lookup->count++ > 0 && lookup->separates ? "\n" : "");
	if (!ask_check_name(lookup, query)) {
		lookup_flush(lookup);
		return false;
	}
	size_t count = lookup_local(lookup, query, &local) ? lookup_servers(lookup, query, servers) : 0;
	if (count == 0) {
		lookup_warn(lookup, "no servers to query");
	}
	bool is_good = false;
	for (size_t i = 0; i < count && !is_good; i++) {
		attempt_t attempt = {
			.lookup = lookup,
			.query = query,
			.server = &servers[i],
			.local = &local,
			.kind = ask_kind(query),
			.badcookies = query->badcookies,
		};
		ask_debug_query(lookup, query, &attempt);
		is_good = ask_server(&attempt);
	}
	lookup_flush(lookup);
	return is_good;
}

bool lookup_done(lookup_t *lookup)
{
	lookup_flush(lookup);
	exchange_free(lookup->kept);
	present_text_done(&lookup->out);
	return !lookup->has_failed_output;
}
