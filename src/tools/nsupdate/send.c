/* SPDX-License-Identifier: BSD-2-Clause */
/* The update as a message, and its exchange with a server. */
#include "src/sys/clock.h"
#include "src/tools/lookup/question.h"
#include "src/tools/lookup/servers.h"
#include "src/tools/lookup/trust.h"
#include "src/tools/nsupdate/session.h"

enum { SEND_UDP_MAX = 512 /* RFC 1035 4.2.1: without EDNS */ };

/** A message on its way. */
typedef struct {
	session_t *session;
	const lookup_query_t *settings;
	exchange_t *exchange;
	knot_tsig_chain_t *chain; /* NULL: unsigned */
	knot_bytes_t message;
	uint16_t id;
	bool is_sent; /* a server may have it */
} send_t;

/* ---- The message ---- */

static bool send_build(session_t *session, knot_msg_writer_t *w, size_t tail)
{
	const draft_t *draft = &session->script.draft;
	size_t fit;
	if (draft_write(draft, session->script.class, tail, w, &fit) == KNOT_OK) {
		return true;
	}
	lookup_error(&session->lookup, "failed to build UPDATE message (not enough space provided)");
	lookup_error(&session->lookup, "%zu of %zu records fit into %d bytes: send them in parts", fit, draft->count,
			KNOT_MSG_MAX);
	return false;
}

static uint16_t send_draw_id(void)
{
	uint16_t id;
	lookup_draw(&id, sizeof(id));
	return id;
}

static void send_put_message(session_t *session, knot_bytes_t wire)
{
	static present_message_t message;
	present_text_t *out = &session->lookup.out;
	if (present_read(wire, &message)) {
		present_message_put(out, &session->settings.style, &message);
	} else {
		present_wreck_put(out, &session->settings.style, &message);
	}
}

bool session_show(session_t *session)
{
	static uint8_t room[KNOT_MSG_MAX];
	knot_msg_writer_t w;
	knot_msg_begin(&w, (knot_mut_bytes_t){ room, sizeof(room) });
	if (!send_build(session, &w, 0)) {
		return false;
	}
	size_t len = knot_msg_finish(&w, send_draw_id(), KNOT_OPCODE_UPDATE << 11);
	present_text_str(&session->lookup.out, "Update query:\n");
	send_put_message(session, (knot_bytes_t){ room, len });
	present_text_char(&session->lookup.out, '\n');
	lookup_flush(&session->lookup);
	return true;
}

void session_show_answer(session_t *session)
{
	if (session->answer_len == 0) {
		lookup_warn(&session->lookup, "there is no answer yet");
		return;
	}
	present_text_str(&session->lookup.out, "Answer:\n");
	send_put_message(session, (knot_bytes_t){ session->answer, session->answer_len });
	lookup_flush(&session->lookup);
}

/* ---- The answer ---- */

static bool send_fail(send_t *send)
{
	session_t *session = send->session;
	send_put_message(session, (knot_bytes_t){ session->answer, session->answer_len });
	lookup_flush(&session->lookup);
	return false;
}

/* The server has answered: what? False: the update failed. */
static bool send_judge(send_t *send, knot_bytes_t wire)
{
	static present_message_t reply;
	session_t *session = send->session;
	lookup_t *lookup = &session->lookup;
	char code[PRESENT_CODE_MAX];
	memcpy(session->answer, wire.data, wire.len);
	session->answer_len = wire.len;
	bool is_good = present_read((knot_bytes_t){ session->answer, wire.len }, &reply);
	if (!is_good || reply.end < wire.len) {
		lookup_error(lookup, "malformed reply packet from %s%s", exchange_peer_text(send->exchange),
				is_good ? " (trailing data)" : "");
		return send_fail(send);
	}
	if (!(reply.flags & KNOT_FLAG_QR) || present_flags_opcode(reply.flags) != KNOT_OPCODE_UPDATE) {
		lookup_error(lookup, "what %s has sent is no reply to an update", exchange_peer_text(send->exchange));
		return send_fail(send);
	}
	knot_err_t err = KNOT_OK;
	uint64_t now_s = sys_clock_wall();
	if (send->chain != NULL) {
		err = knot_tsig_verify(send->chain, (knot_bytes_t){ session->answer, wire.len }, now_s);
	}
	if (err != KNOT_OK) {
		char why[LOOKUP_REASON_MAX];
		lookup_error(lookup, "reply verification (%s)", lookup_tsig_reason(err, &reply, now_s, why));
		return send_fail(send);
	}
	if (reply.rcode != KNOT_RCODE_NOERROR) {
		lookup_error(lookup, "update failed with error '%s'", present_status(&reply, code));
		return send_fail(send);
	}
	lookup_debug(lookup, "update success");
	return true;
}

/* Wait for the message with our ID. What is passed by until then doesn't make the time longer. */
static exchange_end_t send_receive_ours(send_t *send, lookup_passed_t *passed, knot_bytes_t *ret_message)
{
	lookup_t *lookup = &send->session->lookup;
	uint64_t until_ns = exchange_until_ns(send->exchange);
	for (;;) {
		knot_bytes_t message;
		exchange_end_t end = exchange_receive(send->exchange, until_ns, &message);
		if (end == EXCHANGE_SOURCE) {
			lookup_pass_by(lookup, passed, "%s", exchange_problem(send->exchange));
			continue;
		}
		if (end != EXCHANGE_OK) {
			return end;
		}
		uint16_t id = message.len >= KNOT_MSG_HEADER_LEN ? load_be16(message.data) : send->id;
		if (id == send->id) {
			*ret_message = message;
			return EXCHANGE_OK;
		}
		lookup_pass_by(lookup, passed, "reply ID (%u) is different from query ID (%u)", id, send->id);
	}
}

/* False: there is no message within the time, which is said. */
static bool send_receive(send_t *send, knot_bytes_t *ret_message)
{
	lookup_t *lookup = &send->session->lookup;
	lookup_passed_t passed = { 0 };
	exchange_end_t end = send_receive_ours(send, &passed, ret_message);
	lookup_end_passed(lookup, &passed);
	if (end != EXCHANGE_OK) {
		lookup_warn_exchange(lookup, send->exchange);
		return false;
	}
	lookup_debug(lookup, "received %zu bytes", ret_message->len);
	return true;
}

/* ---- The exchange ---- */

static exchange_kind_t send_kind(const lookup_query_t *settings, size_t len)
{
	if (settings->uses_quic) {
		return EXCHANGE_QUIC;
	}
	if (settings->uses_tls) {
		return EXCHANGE_TLS;
	}
	return settings->is_tcp || len > SEND_UDP_MAX ? EXCHANGE_TCP : EXCHANGE_UDP;
}

/*
 * Ask one address. Over UDP again and again from the same port, so that a late answer to an earlier copy is seen: the
 * update may have been done. *ret_answered: there was an answer, good or bad.
 */
static bool send_to(send_t *send, const exchange_params_t *params, bool *ret_answered)
{
	lookup_t *lookup = &send->session->lookup;
	uint32_t retries = params->kind == EXCHANGE_UDP ? send->settings->retries : 0;
	send->exchange = exchange_new(params);
	bool is_good = false;
	if (send->exchange == NULL) {
		lookup_error(lookup, "out of memory");
		return false;
	}
	bool is_open = exchange_open(send->exchange) == EXCHANGE_OK;
	for (uint64_t tries = 0; is_open && tries <= retries && !*ret_answered; tries++) {
		knot_bytes_t reply;
		lookup_debug(lookup, "sending %zu bytes to %s", send->message.len, exchange_peer_text(send->exchange));
		is_open = exchange_send(send->exchange, send->message) == EXCHANGE_OK;
		send->is_sent |= is_open;
		if (is_open && send_receive(send, &reply)) {
			*ret_answered = true;
			is_good = send_judge(send, reply);
		}
	}
	if (!is_open) {
		lookup_warn_exchange(lookup, send->exchange);
	}
	exchange_free(send->exchange);
	return is_good;
}

/* The time limit is that of all copies together. */
static uint32_t send_limit_ms(const lookup_query_t *settings, exchange_kind_t kind)
{
	uint64_t copies = kind == EXCHANGE_UDP ? (uint64_t)settings->retries + 1 : 1;
	uint32_t each_ms = (uint32_t)(settings->timeout_ms / copies);
	return settings->timeout_ms > 0 && each_ms == 0 ? 1 : each_ms;
}

static lookup_host_t send_server(const session_t *session)
{
	const lookup_query_t *settings = &session->settings;
	static const char here[] = "127.0.0.1";
	lookup_host_t host = session->script.server.text != NULL ? session->script.server.host
								 : (lookup_host_t){ here, sizeof(here) - 1, NULL };
	const char *standard = settings->uses_tls || settings->uses_quic ? "853" : "53";
	const char *port = settings->port != NULL ? settings->port : standard;
	host.service = host.service != NULL ? host.service : port;
	return host;
}

/* All addresses of the server, until one answers. */
static bool send_to_any(send_t *send)
{
	static exchange_address_t addresses[LOOKUP_ADDRESSES_MAX];
	session_t *session = send->session;
	lookup_t *lookup = &session->lookup;
	lookup_query_t settings = session->settings;
	lookup_host_t host = send_server(session);
	exchange_kind_t kind = send_kind(&settings, send->message.len);
	bool is_encrypted = kind > EXCHANGE_TCP, is_answered = false, is_good = false;
	settings.local = session->script.local.text != NULL ? session->script.local.host : settings.local;
	exchange_params_t params = {
		.kind = kind,
		.timeout_ms = send_limit_ms(&settings, kind),
		.hostname = is_encrypted ? lookup_hostname(&settings, &host) : NULL,
		.sni = settings.sni,
		.note = lookup_note,
		.note_ctx = lookup,
	};
	if (!lookup_local(lookup, &settings, &params.local) || (is_encrypted && !lookup_trust(lookup, &settings))) {
		return false;
	}
	params.trust = is_encrypted ? lookup->trust : NULL;
	size_t count = lookup_resolve(lookup, &settings, &host, addresses);
	for (size_t i = 0; i < count && !is_answered; i++) {
		params.server = addresses[i];
		is_good = send_to(send, &params, &is_answered);
	}
	if (is_answered) { /* done or refused, it is over */
		draft_clear(&session->script.draft);
	} else if (session->script.draft.count > 0) {
		lookup_error(lookup, send->is_sent ? "no answer: whether the update was done isn't known"
						   : "the update wasn't sent");
	}
	return is_good;
}

static bool send_signed(send_t *send, knot_msg_writer_t *w)
{
	size_t len = knot_msg_finish(w, send->id, KNOT_OPCODE_UPDATE << 11);
	if (send->chain != NULL && knot_tsig_sign(send->chain, w, sys_clock_wall(), &len) != KNOT_OK) {
		lookup_error(&send->session->lookup, "failed to sign the UPDATE message");
		return false;
	}
	send->message = (knot_bytes_t){ w->data, len };
	return send_to_any(send);
}

bool session_send(session_t *session)
{
	static uint8_t room[KNOT_MSG_MAX];
	const lookup_query_t *settings = &session->settings;
	const lookup_key_t *key = session->script.key != NULL ? session->script.key : settings->key;
	knot_tsig_chain_t chain;
	knot_msg_writer_t w;
	send_t send = {
		.session = session,
		.settings = settings,
		.id = settings->uses_quic ? 0 : send_draw_id(), /* RFC 9250 4.2.1 */
	};
	if (session->script.draft.zone.len == 0) {
		lookup_error(&session->lookup, "no zone specified");
		return false;
	}
	if (key != NULL) {
		knot_tsig_chain_begin(&chain, &key->key);
		send.chain = &chain;
	}
	knot_msg_begin(&w, (knot_mut_bytes_t){ room, sizeof(room) });
	bool is_good = send_build(session, &w, key != NULL ? knot_tsig_len(&chain) : 0) && send_signed(&send, &w);
	if (key != NULL) {
		knot_tsig_chain_done(&chain);
	}
	return is_good;
}
