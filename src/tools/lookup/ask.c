/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/lookup/ask.h"

#include "src/present/codes.h"
#include "src/present/host.h"
#include "src/present/json.h"
#include "src/sys/clock.h"
#include "src/tools/lookup/keep.h"
#include "src/tools/lookup/servers.h"
#include "src/tools/lookup/trace.h"
#include "src/tools/lookup/trust.h"
#include "src/tools/lookup/validate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- What replies have to be ---- */

void ask_fail_malformed(ask_t *ask, const present_message_t *message)
{
	lookup_error(ask->lookup, "malformed reply packet from %s", exchange_peer_text(ask->exchange));
	if (ask->query->style.format != PRESENT_JSON) {
		present_wreck_put(&ask->lookup->out, &ask->query->style, message);
	} else { /* which has its bytes, and no place for comments */
		lookup_error(ask->lookup, "from byte %zu on: %s", message->end, message->fault);
	}
}

bool ask_read(ask_t *ask, knot_bytes_t wire, present_message_t *ret_message)
{
	if (present_read(wire, ret_message)) {
		if (ret_message->end < wire.len) {
			lookup_warn(ask->lookup, "malformed reply packet (trailing data)");
		}
		return true;
	}
	ask_fail_malformed(ask, ret_message);
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

bool ask_verify(ask_t *ask, knot_bytes_t wire, const present_message_t *reply, ask_say_cb say)
{
	if (ask->chain == NULL) {
		return true;
	}
	char why[LOOKUP_REASON_MAX];
	uint64_t now_s = sys_clock_wall();
	knot_err_t err = knot_tsig_verify(ask->chain, wire, now_s);
	if (err != KNOT_OK) {
		say(ask->lookup, "reply verification for %s (%s)", exchange_peer_text(ask->exchange),
				lookup_tsig_reason(err, reply, now_s, why));
	}
	return err == KNOT_OK;
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

void ask_put_json_at(const lookup_query_t *query, const present_message_t *message, time_t when_s, const char *name,
		knot_json_t *json)
{
	struct tm when;
	localtime_r(&when_s, &when);
	present_json_put(json, name, &query->style, message, &when, when_s);
}

void ask_put_json(ask_t *ask, const present_message_t *message, const char *name, knot_json_t *json)
{
	ask_put_json_at(ask->query, message, (time_t)sys_clock_wall(), name, json);
}

/* Lines about the session of an encrypted transport: those that begin with a word. */
static void ask_put_session(ask_t *ask, const char *word)
{
	const present_style_t *style = &ask->query->style;
	transport_session_t session = { 0 };
	if (ask->kind <= EXCHANGE_TCP || style->format > PRESENT_SHORT || !(style->shows & PRESENT_HEADER)) {
		return;
	}
	exchange_describe(ask->exchange, &session);
	for (unsigned i = 0; i < session.count; i++) {
		const char *line = session.lines[i]; /* an authority may be from the server, by a redirection */
		if (strncmp(line, word, strlen(word)) == 0) {
			present_text_str(&ask->lookup->out, ";; ");
			present_text_foreign(&ask->lookup->out, (knot_bytes_t){ (const uint8_t *)line, strlen(line) });
			present_text_char(&ask->lookup->out, '\n');
		}
	}
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
		ask_put_session(ask, "");
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

/* ---- Receiving ---- */

/* No message came. */
static bool ask_fail_receive(ask_t *ask, exchange_end_t end)
{
	ask->is_stale = ask->is_kept && (end == EXCHANGE_CLOSED || end == EXCHANGE_RECEIVE);
	if (ask->is_stale) {
		return false;
	}
	if (end == EXCHANGE_HTTP) { /* its status tells why */
		ask_put_session(ask, "HTTP");
	}
	lookup_warn_exchange(ask->lookup, ask->exchange);
	return false;
}

/* What comes from others, or with another ID, is passed by, and doesn't make the time longer. */
static bool ask_receive_ours(ask_t *ask, bool stops_at_id, lookup_passed_t *passed, knot_bytes_t *ret_message)
{
	uint64_t until_ns = exchange_until_ns(ask->exchange);
	for (;;) {
		knot_bytes_t message;
		exchange_end_t end = exchange_receive(ask->exchange, until_ns, &message);
		if (end == EXCHANGE_SOURCE) {
			lookup_pass_by(ask->lookup, passed, "%s", exchange_problem(ask->exchange));
			continue;
		}
		if (end != EXCHANGE_OK) {
			lookup_end_passed(ask->lookup, passed);
			return ask_fail_receive(ask, end);
		}
		ask->is_kept = false;
		lookup_trace_reply(ask, message);
		uint16_t id = message.len >= 2 ? load_be16(message.data) : ask->question->id;
		if (id == ask->question->id || message.len < KNOT_MSG_HEADER_LEN) {
			*ret_message = message;
			return true;
		}
		lookup_pass_by(ask->lookup, passed, "reply ID (%u) is different from query ID (%u)", id,
				ask->question->id);
		if (stops_at_id) {
			lookup_error(ask->lookup, "reply ID mismatch from %s", exchange_peer_text(ask->exchange));
			return false;
		}
	}
}

bool ask_receive(ask_t *ask, bool stops_at_id, knot_bytes_t *ret_message)
{
	lookup_passed_t passed = { 0 };
	bool is_good = ask_receive_ours(ask, stops_at_id, &passed, ret_message);
	lookup_end_passed(ask->lookup, &passed);
	return is_good;
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
	if (!ask_receive(ask, false, &wire)) {
		return ASK_FAILED;
	}
	if (!ask_read(ask, wire, &reply)) {
		if (query->style.format == PRESENT_JSON) {
			ask_put_reply(ask, &reply);
		}
		return ASK_FAILED;
	}
	if ((reply.flags & KNOT_FLAG_TC) && ask->kind == EXCHANGE_UDP && !query->ignores_tc) {
		lookup_warn(ask->lookup, "truncated reply from %s, retrying over TCP\n",
				exchange_peer_text(ask->exchange));
		return ASK_TRUNCATED;
	}
	ask_check_reply(ask, &reply);
	(void)ask_verify(ask, wire, &reply, lookup_warn);
	ask_put_session(ask, "");
	ask_put_reply(ask, &reply);
	if (query->style.format == PRESENT_FULL || query->style.format == PRESENT_SHORT) {
		ask_put_foot(ask, wire.len, false, false, 0, 0);
	}
	if (query->validates > 0 && !lookup_validate(ask, &reply)) {
		ask->is_bogus = true;
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
	if (!ask->is_kept) {
		exchange_end_t opened = exchange_open(ask->exchange);
		if (opened != EXCHANGE_OK) {
			lookup_warn_exchange(lookup, ask->exchange);
			return ASK_FAILED;
		}
	}
	ask->sent_ns = sys_clock_ns();
	if (exchange_send(ask->exchange, ask->question->wire) != EXCHANGE_OK) {
		if (ask->is_kept) {
			return ASK_STALE;
		}
		lookup_warn_exchange(lookup, ask->exchange);
		return ASK_FAILED;
	}
	lookup_trace_query(ask);
	ask_put_query(ask);
	bool is_transfer = ask->query->operation == LOOKUP_AXFR || ask->query->operation == LOOKUP_IXFR;
	ask_result_t result = is_transfer ? ask_transfer(ask) : ask_single(ask);
	if (ask->has_query_json) { /* no reply came */
		knot_json_close(&ask->json);
		lookup->out.failed |= !knot_json_end(&ask->json);
		ask->has_query_json = false;
	}
	return ask->is_stale ? ASK_STALE : result;
}

static exchange_kind_t ask_kind(const lookup_query_t *query)
{
	bool is_transfer = query->operation == LOOKUP_AXFR || query->operation == LOOKUP_IXFR;
	if (query->uses_tls) {
		return query->uses_https ? EXCHANGE_HTTPS : EXCHANGE_TLS;
	}
	if (query->uses_quic) {
		return EXCHANGE_QUIC;
	}
	return query->is_tcp || (is_transfer && !query->is_udp) ? EXCHANGE_TCP : EXCHANGE_UDP;
}

/** A query on its way to one server. */
typedef struct {
	lookup_t *lookup;
	const lookup_query_t *query;
	const lookup_host_t *host; /* as it was called */
	const exchange_address_t *server, *local;
	exchange_kind_t kind;
	unsigned badcookies; /* repeats that are left */
	bool is_bogus;       /* +validate found the reply wrong */
	uint8_t cookie[LOOKUP_COOKIE_CLIENT_LEN + LOOKUP_COOKIE_SERVER_MAX];
	uint8_t cookie_len;
} attempt_t;

/* ---- Connections that are kept ---- */

static exchange_t *ask_begin_exchange(
		lookup_t *lookup, const lookup_query_t *query, const exchange_params_t *params, bool *ret_kept)
{
	bool may_share = lookup->kept != NULL && lookup_may_share(&lookup->kept_params, params);
	*ret_kept = may_share && exchange_is_open(lookup->kept);
	if (*ret_kept) {
		exchange_t *kept = lookup->kept;
		lookup->kept = NULL;
		lookup_drop_kept(lookup);
		return kept;
	}
	if (lookup->kept != NULL && !may_share) {
		bool has_dot = query->name == NULL || query->name[0] == '\0' ||
			       query->name[strlen(query->name) - 1] == '.';
		lookup_warn(lookup, "connection parameters mismatch for query (%s%s), ignoring keepopen",
				query->name != NULL ? query->name : "", has_dot ? "" : ".");
	}
	lookup_drop_kept(lookup);
	return exchange_new(params);
}

static void ask_end_exchange(ask_t *ask, const exchange_params_t *params)
{
	if (ask->query->keeps_open && ask->kind != EXCHANGE_UDP && exchange_is_open(ask->exchange)) {
		lookup_keep(ask->lookup, ask->exchange, params);
	} else {
		exchange_free(ask->exchange);
	}
	ask->exchange = NULL;
}

static exchange_params_t ask_params(const attempt_t *attempt)
{
	lookup_t *lookup = attempt->lookup;
	const lookup_query_t *query = attempt->query;
	bool is_encrypted = attempt->kind > EXCHANGE_TCP;
	return (exchange_params_t){
		.kind = attempt->kind,
		.server = *attempt->server,
		.local = *attempt->local,
		.timeout_ms = query->timeout_ms,
		.uses_fast_open = query->uses_fast_open,
		.proxy_source = query->proxy_source,
		.proxy_destination = query->proxy_destination,
		.trust = is_encrypted ? lookup->trust : NULL,
		.hostname = is_encrypted ? lookup_hostname(query, attempt->host) : NULL,
		.sni = query->sni,
		.http = { query->uses_http_get, query->http_authority != NULL ? query->http_authority : query->hostname,
				query->http_path },
		.note = lookup_note,
		.note_ctx = lookup,
	};
}

/* ---- One query ---- */

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
	bool is_trusted = !is_encrypted || lookup_trust(lookup, query);
	exchange_params_t params = ask_params(attempt);
	ask_t ask = {
		.lookup = lookup,
		.query = &limited,
		.kind = attempt->kind,
		.params = &params,
		.question = &question,
		.chain = query->key != NULL ? &chain : NULL,
	};
	ask.exchange = ask_begin_exchange(lookup, query, &params, &ask.is_kept);
	if (ask.exchange == NULL) {
		lookup_error(lookup, "out of memory");
		*ret_result = ASK_FAILED;
	} else if (!is_trusted) {
		exchange_free(ask.exchange);
		*ret_result = ASK_FAILED;
	} else {
		*ret_result = ask_once(&ask);
		memcpy(attempt->cookie, ask.cookie, ask.cookie_len);
		attempt->is_bogus |= ask.is_bogus;
		attempt->cookie_len = ask.cookie_len > 0 ? ask.cookie_len : attempt->cookie_len;
		ask_end_exchange(&ask, &params);
	}
	if (ask.chain != NULL) {
		knot_tsig_chain_done(&chain);
	}
	return true;
}

/* Ask one server until it answers, attempts are used up, or it is no use. */
static bool ask_server(attempt_t *attempt)
{
	uint32_t retries = attempt->kind == EXCHANGE_UDP ? attempt->query->retries : 0;
	for (uint32_t tries = 0; tries <= retries;) {
		ask_result_t result;
		if (!ask_attempt(attempt, &result)) {
			return false;
		}
		switch (result) {
		case ASK_DONE: return true; /* which may be bogus */
		case ASK_FAILED: tries++; break;
		case ASK_STALE: break;
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
	if (lookup->debug == 0) {
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
	lookup_debug(lookup, "Querying for owner(%s%s), class(%u), type(%u), server(%.*s), port(%s), protocol(%s)",
			name, has_dot ? "" : ".", query->class, query->type, (int)attempt->host->host_len,
			attempt->host->host, at != NULL ? at : "", protocols[attempt->kind]);
}

/* "localhost@53(UDP)": the server as it was called. */
static void ask_say_failure(const attempt_t *attempt)
{
	static const char *const protocols[] = { "UDP", "TCP", "TCP", "TCP", "UDP" };
	const lookup_host_t *host = attempt->host;
	bool is_path = host->host_len > 0 && host->host[0] == '/';
	lookup_error(attempt->lookup, "failed to query server %.*s@%s(%s)", (int)host->host_len, host->host,
			is_path ? "UNIX" : host->service, protocols[attempt->kind]);
}

/* All addresses of a server, until one answers. *ret_count: how many there are. */
static bool ask_host(lookup_t *lookup, const lookup_query_t *query, const lookup_host_t *host,
		const exchange_address_t *local, size_t *ret_count)
{
	static exchange_address_t addresses[LOOKUP_ADDRESSES_MAX];
	attempt_t attempt = {
		.lookup = lookup,
		.query = query,
		.host = host,
		.local = local,
	};
	bool is_good = false;
	*ret_count = lookup_resolve(lookup, query, host, addresses);
	for (size_t i = 0; i < *ret_count && !is_good; i++) {
		attempt.server = &addresses[i];
		attempt.kind = ask_kind(query);
		attempt.badcookies = query->badcookies;
		attempt.cookie_len = 0;
		ask_debug_query(lookup, query, &attempt);
		is_good = ask_server(&attempt);
	}
	if (!is_good && *ret_count > 0) {
		ask_say_failure(&attempt);
	}
	lookup->has_bogus |= attempt.is_bogus;
	return is_good;
}

static bool ask_hosts(lookup_t *lookup, const lookup_query_t *query)
{
	static lookup_hosts_t hosts;
	exchange_address_t local;
	size_t total = 0, count;
	bool is_good = false;
	if (lookup_local(lookup, query, &local)) {
		lookup_servers(query, &hosts);
		for (size_t i = 0; i < hosts.count && !is_good; i++) {
			is_good = ask_host(lookup, query, &hosts.hosts[i], &local, &count);
			total += count;
		}
	}
	if (total == 0) {
		lookup_warn(lookup, "no servers to query");
	}
	return is_good;
}

bool lookup_run(lookup_t *lookup, const lookup_query_t *query)
{
	if (query->replay_path == NULL) {
		present_text_str(&lookup->out, lookup->count++ > 0 && lookup->separates ? "\n" : "");
	}
	lookup->has_bogus = false;
	bool is_good = query->replay_path != NULL ? lookup_replay(lookup, query)
						  : ask_check_name(lookup, query) && ask_hosts(lookup, query);
	lookup_flush(lookup);
	return is_good && !lookup->has_bogus;
}
