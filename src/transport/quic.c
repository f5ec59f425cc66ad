/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transport/quic.h"

#include "src/transport/quic_conn.h"

#include <gnutls/crypto.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>

enum {
	HANDSHAKE_MS = 10000,
	IDLE_MS = 30000,
	STREAMS_OF_PEER = 100, /* RFC 9250 5.5.1: as many queries as that at once */
	MS_IN_NS = 1000000,
};

_Static_assert(STREAMS_OF_PEER <= (int)TRANSPORT_STREAMS_MAX, "a client can't open more than there is room for");

const ngtcp2_path *quic_path(void)
{
	static struct sockaddr_in local = { .sin_family = AF_INET }, remote = { .sin_family = AF_INET };
	static const ngtcp2_path path = {
		.local = { (struct sockaddr *)&local, sizeof(local) },
		.remote = { (struct sockaddr *)&remote, sizeof(remote) },
	};
	return &path;
}

/* ---- The end ---- */

static const char *quic_code_name(uint64_t code)
{
	static const char *const names[] = { "DOQ_NO_ERROR", "DOQ_INTERNAL_ERROR", "DOQ_PROTOCOL_ERROR",
		"DOQ_REQUEST_CANCELLED", "DOQ_EXCESSIVE_LOAD", "DOQ_UNSPECIFIED_ERROR" };
	return code < KNOT_LEN(names) ? names[code] : "unknown error code";
}

/* CONNECTION_CLOSE becomes the pending packet, in place of what was. */
static void quic_write_close(quic_t *quic, const quic_error_t *error, uint64_t now_ns)
{
	ngtcp2_pkt_info info;
	ngtcp2_ssize len = ngtcp2_conn_write_connection_close(
			quic->conn, NULL, &info, quic->packet, sizeof(quic->packet), error, now_ns);
	quic->packet_len = len > 0 ? (size_t)len : 0;
}

/* The peer has closed the connection. */
static void quic_stop_by_peer(quic_t *quic)
{
	quic_error_t error = quic_error_of_peer(quic->conn);
	transport_t *t = &quic->base;
	if (quic->is_reset) {
		transport_stop(t, TRANSPORT_END_REFUSED, "QUIC, peer has reset the connection");
	} else if (quic_error_is_of_application(&error)) {
		transport_stop(t, error.error_code == DOQ_NO_ERROR ? TRANSPORT_END_BY_PEER : TRANSPORT_END_REFUSED,
				"QUIC, peer has closed the connection (%s)", quic_code_name(error.error_code));
	} else if (error.error_code == NGTCP2_NO_ERROR) {
		transport_stop(t, TRANSPORT_END_BY_PEER, "QUIC, peer has closed the connection");
	} else if ((error.error_code & ~0xffull) == NGTCP2_CRYPTO_ERROR) {
		const char *name = gnutls_alert_get_name((gnutls_alert_description_t)(error.error_code & 0xff));
		transport_stop(t, TRANSPORT_END_REFUSED, "QUIC, handshake failed (the peer says: %s)",
				name != NULL ? name : "an unknown alert");
	} else {
		transport_stop(t, TRANSPORT_END_REFUSED, "QUIC, peer has closed the connection (error 0x%llx)",
				(unsigned long long)error.error_code);
	}
}

/* Something of TLS is wrong: the certificate, or what the peer says. */
static void quic_stop_by_tls(quic_t *quic, uint64_t now_ns)
{
	uint8_t alert = ngtcp2_conn_get_tls_alert(quic->conn);
	bool is_untrusted = quic->check.has_failed;
	if (alert == 0) {
		alert = is_untrusted ? GNUTLS_A_BAD_CERTIFICATE : GNUTLS_A_HANDSHAKE_FAILURE;
	}
	quic_error_t error = quic_error_of_alert(alert);
	quic_write_close(quic, &error, now_ns);
	const char *name = gnutls_alert_get_name((gnutls_alert_description_t)alert);
	transport_stop(&quic->base, is_untrusted ? TRANSPORT_END_UNTRUSTED : TRANSPORT_END_HANDSHAKE,
			"QUIC, handshake failed (%s)",
			is_untrusted   ? gnutls_strerror(GNUTLS_E_CERTIFICATE_ERROR)
			: name != NULL ? name
				       : "unknown alert");
}

static void quic_stop_by_error(quic_t *quic, int code, uint64_t now_ns)
{
	quic_error_t error = quic_error_of_library(code);
	quic_write_close(quic, &error, now_ns);
	bool is_ours = code == NGTCP2_ERR_NOMEM || code == NGTCP2_ERR_CALLBACK_FAILURE;
	transport_end_t end = is_ours                                     ? TRANSPORT_END_MEMORY
			      : code == NGTCP2_ERR_CRYPTO_BUFFER_EXCEEDED ? TRANSPORT_END_LIMIT
									  : TRANSPORT_END_PROTOCOL;
	transport_stop(&quic->base, end, "QUIC, %s (%s)",
			quic->is_open ? "failed to receive reply" : "handshake failed", ngtcp2_strerror(code));
}

/* What ends a connection, by the library's code. */
static void quic_stop(quic_t *quic, int code, uint64_t now_ns)
{
	transport_t *t = &quic->base;
	switch (code) {
	case NGTCP2_ERR_DRAINING: quic_stop_by_peer(quic); break;
	case NGTCP2_ERR_CRYPTO: quic_stop_by_tls(quic, now_ns); break;
	case NGTCP2_ERR_IDLE_CLOSE: transport_stop(t, TRANSPORT_END_TIMEOUT, "QUIC, the connection was idle"); break;
	case NGTCP2_ERR_HANDSHAKE_TIMEOUT:
		transport_stop(t, TRANSPORT_END_TIMEOUT, "QUIC, peer took too long to respond");
		break;
	case NGTCP2_ERR_RECV_VERSION_NEGOTIATION:
		transport_stop(t, TRANSPORT_END_HANDSHAKE, "QUIC, handshake failed (no version in common)");
		break;
	case NGTCP2_ERR_DROP_CONN:
	case NGTCP2_ERR_RETRY:
		transport_stop(t, TRANSPORT_END_HANDSHAKE, "QUIC, handshake failed (nothing to answer)");
		break;
	case NGTCP2_ERR_CLOSING: break;
	default: quic_stop_by_error(quic, code, now_ns); break;
	}
}

static void quic_close_with(quic_t *quic, uint64_t code, uint64_t now_ns)
{
	quic_error_t error = quic_error_of_application(code);
	quic_write_close(quic, &error, now_ns);
}

/* A client that nobody has answered has nobody to say it to. */
static void quic_close(transport_t *t, uint64_t now_ns)
{
	quic_close_with(quic_of(t), DOQ_NO_ERROR, now_ns);
}

/* ---- In ---- */

static knot_mut_bytes_t quic_room(transport_t *t)
{
	quic_t *quic = quic_of(t);
	if (quic->room == NULL) {
		quic->room = malloc(TRANSPORT_QUIC_DATAGRAM_MAX);
	}
	return (knot_mut_bytes_t){ quic->room, quic->room != NULL ? TRANSPORT_QUIC_DATAGRAM_MAX : 0 };
}

/* The handshake is over: ALPN has to be ours, RFC 9250 4.1.1. */
static void quic_note_open(quic_t *quic, uint64_t now_ns)
{
	if (!quic->is_open || quic->base.state != TRANSPORT_OPENING) {
		return;
	}
	if (quic_tls_has_alpn(quic)) {
		quic->base.state = TRANSPORT_OPEN;
		return;
	}
	quic_error_t error = quic_error_of_alert(GNUTLS_A_NO_APPLICATION_PROTOCOL);
	quic_write_close(quic, &error, now_ns);
	transport_stop(&quic->base, TRANSPORT_END_HANDSHAKE, "QUIC, handshake failed (the peer doesn't speak DoQ)");
}

static void quic_note_received(transport_t *t, size_t len, uint64_t now_ns)
{
	quic_t *quic = quic_of(t);
	ngtcp2_pkt_info info = { 0 };
	assert(len <= TRANSPORT_QUIC_DATAGRAM_MAX);
	/* ngtcp2 calls an empty datagram an error, but anybody can send one. */
	int code = len == 0 ? 0 : ngtcp2_conn_read_pkt(quic->conn, quic_path(), &info, quic->room, len, now_ns);
	if (code != 0) {
		quic_stop(quic, code, now_ns);
	}
	quic_note_open(quic, now_ns);
}

static bool quic_take(transport_t *t, transport_event_t *ret_event)
{
	return quic_stream_take(quic_of(t), ret_event);
}

/* ---- Out ---- */

/* One try to write a packet: with a piece of a stream, or whatever else is due. False: another stream may do. */
static bool quic_write_packet(quic_t *quic, quic_stream_t *stream, uint64_t now_ns)
{
	bool is_last = false;
	ngtcp2_pkt_info info;
	ngtcp2_ssize taken = -1;
	knot_bytes_t piece = stream != NULL ? quic_stream_next_piece(stream, &is_last) : (knot_bytes_t){ .len = 0 };
	ngtcp2_vec vec = { (uint8_t *)piece.data, piece.len };
	ngtcp2_ssize len = ngtcp2_conn_writev_stream(quic->conn, NULL, &info, quic->packet, sizeof(quic->packet),
			&taken, is_last ? NGTCP2_WRITE_STREAM_FLAG_FIN : NGTCP2_WRITE_STREAM_FLAG_NONE,
			stream != NULL ? stream->id : -1, &vec, piece.len > 0, now_ns);
	if (stream != NULL && taken >= 0) {
		stream->out_sent += (uint64_t)taken;
		stream->has_sent_fin = is_last && (size_t)taken == piece.len;
	}
	if (len >= 0) {
		quic->packet_len = (size_t)len;
		return true;
	}
	if (stream == NULL || (len != NGTCP2_ERR_STREAM_DATA_BLOCKED && len != NGTCP2_ERR_STREAM_NOT_FOUND &&
					      len != NGTCP2_ERR_STREAM_SHUT_WR)) {
		quic_stop(quic, (int)len, now_ns);
		return true;
	}
	if (len == NGTCP2_ERR_STREAM_DATA_BLOCKED) {
		stream->is_blocked = true;
	} else { /* the peer wants no more of it: STOP_SENDING */
		stream->out_sent = stream->out_end;
		stream->has_sent_fin = true;
	}
	return false;
}

/* The peer may send as much as was taken, and open as many streams as are over and taken. */
static void quic_give_back(quic_t *quic)
{
	ngtcp2_conn_extend_max_offset(quic->conn, quic->given_back_len);
	if (quic->role == TRANSPORT_SERVER && quic->given_back_streams > 0) {
		ngtcp2_conn_extend_max_streams_bidi(quic->conn, quic->given_back_streams);
	}
	quic->given_back_len = quic->given_back_streams = 0;
}

static knot_bytes_t quic_pending(transport_t *t, uint64_t now_ns)
{
	quic_t *quic = quic_of(t);
	if (quic->packet_len == 0 && t->state != TRANSPORT_ENDED) {
		quic_give_back(quic);
		quic_stream_open_waiting(quic);
		while (!quic_write_packet(quic, quic_stream_find_sender(quic), now_ns)) {}
	}
	return (knot_bytes_t){ quic->packet, quic->packet_len };
}

static void quic_note_sent(transport_t *t, size_t len, uint64_t now_ns)
{
	quic_t *quic = quic_of(t);
	(void)len;
	quic->packet_len = 0;
	/*
	 * Before the first round trip pacing is by a guess of 333 ms, which holds back the client's Finished, and the
	 * query behind it, for 25 ms. A handshake is less than the initial window, so it may be a burst (RFC 9002 7.7).
	 */
	if (t->state != TRANSPORT_ENDED && ngtcp2_conn_get_handshake_completed(quic->conn)) {
		ngtcp2_conn_update_pkt_tx_time(quic->conn, now_ns);
	}
}

/* A client's query, or the beginning of one, on a stream of its own. */
static knot_err_t quic_open_put(quic_t *quic, knot_bytes_t message, size_t len, quic_stream_t **ret_stream)
{
	knot_err_t err = quic_stream_new(quic, -1, ret_stream);
	if (err != KNOT_OK) {
		return err;
	}
	err = quic_stream_put_part(quic, *ret_stream, message, len);
	if (err != KNOT_OK) {
		quic_stream_drop(quic, *ret_stream);
	}
	return err;
}

/* A client opens a stream and closes its half; a server answers on the one that it names. */
static knot_err_t quic_put(transport_t *t, knot_bytes_t message, uint64_t *number)
{
	quic_t *quic = quic_of(t);
	if (quic->role == TRANSPORT_SERVER) {
		quic_stream_t *stream = quic_stream_find(quic, *number);
		return stream == NULL || stream->wants_fin || stream->is_closed
				       ? KNOT_ECONNRESET
				       : quic_stream_put(quic, stream, message);
	}
	quic_stream_t *stream;
	knot_err_t err = quic_open_put(quic, message, message.len, &stream);
	if (err == KNOT_OK) {
		stream->wants_fin = true;
		*number = stream->number;
	}
	return err;
}

static void quic_finish(transport_t *t, uint64_t number)
{
	quic_stream_t *stream = quic_stream_find(quic_of(t), number);
	if (stream != NULL) {
		stream->wants_fin = true;
	}
}

static void quic_cancel(transport_t *t, uint64_t number)
{
	quic_t *quic = quic_of(t);
	quic_stream_t *stream = quic_stream_find(quic, number);
	if (stream == NULL) {
		return;
	}
	if (stream->id < 0 || stream->is_closed) {
		quic_stream_drop(quic, stream);
		return;
	}
	(void)quic_conn_shutdown_stream(quic->conn, stream->id, DOQ_REQUEST_CANCELLED);
	stream->is_cancelled = true;
}

/* ---- Time ---- */

static uint64_t quic_deadline_ns(const transport_t *t)
{
	return ngtcp2_conn_get_expiry(((const quic_t *)t)->conn);
}

static void quic_expire(transport_t *t, uint64_t now_ns)
{
	quic_t *quic = quic_of(t);
	int code = ngtcp2_conn_handle_expiry(quic->conn, now_ns);
	if (code != 0) {
		quic_stop(quic, code, now_ns);
	}
}

/* ---- Life ---- */

static void quic_describe(const transport_t *t, transport_session_t *ret_session)
{
	const quic_t *quic = (const quic_t *)t;
	if (quic->is_open) {
		uint32_t version = ngtcp2_conn_get_negotiated_version(quic->conn);
		tls_session_describe(quic->session,
				version == NGTCP2_PROTO_VER_V1 ? "QUIC session (QUICv1)-" : "QUIC session (QUICv2)-",
				ret_session);
	}
}

static knot_err_t quic_ticket(const transport_t *t, knot_mut_bytes_t *ret_ticket)
{
	return quic_tls_ticket((const quic_t *)t, ret_ticket);
}

static void quic_free(transport_t *take_t)
{
	quic_t *quic = quic_of(take_t);
	if (quic->conn != NULL) {
		ngtcp2_conn_del(quic->conn);
	}
	tls_session_done(&quic->check, quic->session);
	while (quic->streams != NULL) {
		quic_stream_drop(quic, quic->streams);
	}
	free(quic->room);
	free(quic);
}

static const transport_ops_t quic_ops = {
	.kind = TRANSPORT_QUIC,
	.is_datagram = true,
	.free = quic_free,
	.room = quic_room,
	.note_received = quic_note_received,
	.take = quic_take,
	.put = quic_put,
	.finish = quic_finish,
	.cancel = quic_cancel,
	.pending = quic_pending,
	.note_sent = quic_note_sent,
	.deadline_ns = quic_deadline_ns,
	.expire = quic_expire,
	.close = quic_close,
	.describe = quic_describe,
	.ticket = quic_ticket,
};

static void quic_set_params(const quic_t *quic, const transport_quic_params_t *params, ngtcp2_settings *ret_settings,
		ngtcp2_transport_params *ret_params)
{
	bool is_server = quic->role == TRANSPORT_SERVER;
	uint32_t handshake_ms = params->handshake_ms > 0 ? params->handshake_ms : HANDSHAKE_MS;
	uint32_t idle_ms = params->idle_ms > 0 ? params->idle_ms : IDLE_MS;
	ngtcp2_settings_default(ret_settings);
	ret_settings->handshake_timeout = (uint64_t)handshake_ms * MS_IN_NS;
	ret_settings->max_tx_udp_payload_size = sizeof(quic->packet);
	ret_settings->no_pmtud = 1;
	ngtcp2_transport_params_default(ret_params);
	ret_params->initial_max_stream_data_bidi_local = TRANSPORT_QUIC_STREAM_WINDOW;
	ret_params->initial_max_stream_data_bidi_remote = TRANSPORT_QUIC_STREAM_WINDOW;
	ret_params->initial_max_data = TRANSPORT_QUIC_WINDOW;
	ret_params->initial_max_streams_bidi = is_server ? STREAMS_OF_PEER : 0;
	ret_params->initial_max_streams_uni = 0;
	ret_params->max_idle_timeout = (uint64_t)idle_ms * MS_IN_NS;
	ret_params->max_udp_payload_size = TRANSPORT_QUIC_DATAGRAM_MAX;
	ret_params->disable_active_migration = 1;
}

static void quic_on_qlog(void *ctx, uint32_t flags, const void *data, size_t len)
{
	const quic_t *quic = ctx;
	(void)flags;
	if (len > 0) {
		quic->qlog(quic->qlog_ctx, (knot_bytes_t){ data, len });
	}
}

static bool quic_new_cid(ngtcp2_cid *cid)
{
	cid->datalen = TRANSPORT_QUIC_CID_LEN;
	return gnutls_rnd(GNUTLS_RND_NONCE, cid->data, cid->datalen) == 0;
}

/** How a connection begins. */
typedef struct {
	const transport_tls_params_t *tls;
	const transport_quic_params_t *quic;
	const ngtcp2_pkt_hd *first; /* a server's: the head of the client's first packet */
	uint64_t now_ns;
} quic_begin_t;

static int quic_new_conn(quic_t *quic, const quic_begin_t *begin)
{
	ngtcp2_settings settings;
	ngtcp2_transport_params params;
	ngtcp2_cid dcid, scid;
	if (!quic_new_cid(&dcid) || !quic_new_cid(&scid)) {
		return NGTCP2_ERR_NOMEM;
	}
	quic_set_params(quic, begin->quic, &settings, &params);
	settings.initial_ts = begin->now_ns;
	if (quic->qlog != NULL) {
		quic_settings_set_qlog(&settings, quic_on_qlog);
	}
	if (begin->first == NULL) {
		return ngtcp2_conn_client_new(&quic->conn, &dcid, &scid, quic_path(), NGTCP2_PROTO_VER_V1,
				&quic_callbacks, &settings, &params, NULL, quic);
	}
	quic_params_set_original(&params, &begin->first->dcid);
	if (begin->quic->original_cid.len > 0) {
		ngtcp2_cid original;
		ngtcp2_cid_init(&original, begin->quic->original_cid.data, begin->quic->original_cid.len);
		quic_params_set_original(&params, &original);
		params.retry_scid = begin->first->dcid;
		params.retry_scid_present = 1;
	}
	return ngtcp2_conn_server_new(&quic->conn, &begin->first->scid, &scid, quic_path(), begin->first->version,
			&quic_callbacks, &settings, &params, NULL, quic);
}

static knot_err_t quic_begin(const quic_begin_t *begin, transport_t **ret_t)
{
	transport_tls_params_t tls = *begin->tls;
	quic_t *quic = calloc(1, sizeof(*quic));
	if (quic == NULL) {
		return KNOT_ENOMEM;
	}
	quic->base = (transport_t){ .ops = &quic_ops, .state = TRANSPORT_OPENING };
	quic->role = tls.role;
	quic->streams_end = &quic->streams;
	quic->qlog = begin->quic->qlog;
	quic->qlog_ctx = begin->quic->qlog_ctx;
	quic->uses_early = tls.role == TRANSPORT_CLIENT && tls.uses_early_data && tls.ticket.len > 0;
	tls.ticket = quic_tls_ticket_part(begin->tls->ticket);
	knot_err_t err = begin->tls->ticket.len > 0 && tls.ticket.len == 0 ? KNOT_EINVAL : quic_tls_init(quic, &tls);
	if (err == KNOT_OK && quic_new_conn(quic, begin) != 0) {
		err = KNOT_ENOMEM;
	}
	if (err != KNOT_OK) {
		quic_free(&quic->base);
		return err;
	}
	ngtcp2_conn_set_tls_native_handle(quic->conn, quic->session);
	if (quic->uses_early && !quic_tls_set_early(quic, begin->tls->ticket)) {
		quic_free(&quic->base);
		return KNOT_EINVAL;
	}
	*ret_t = &quic->base;
	return KNOT_OK;
}

knot_err_t transport_quic_new(const transport_tls_params_t *tls, const transport_quic_params_t *quic, uint64_t now_ns,
		transport_t **ret_t)
{
	assert(tls->role == TRANSPORT_CLIENT);
	return quic_begin(&(quic_begin_t){ .tls = tls, .quic = quic, .now_ns = now_ns }, ret_t);
}

knot_err_t transport_quic_put_part(transport_t *t, knot_bytes_t message, size_t len, uint64_t *ret_stream)
{
	quic_t *quic = quic_of(t);
	quic_stream_t *stream;
	assert(transport_kind(t) == TRANSPORT_QUIC && quic->role == TRANSPORT_CLIENT);
	if (transport_state(t) == TRANSPORT_ENDED) {
		return KNOT_ECONNRESET;
	}
	if (message.len == 0 || message.len > TRANSPORT_MESSAGE_MAX || len > message.len) {
		return KNOT_ERANGE;
	}
	knot_err_t err = quic_open_put(quic, message, len, &stream);
	if (err == KNOT_OK) {
		*ret_stream = stream->number;
	}
	return err;
}

knot_err_t transport_quic_accept(const transport_tls_params_t *tls, const transport_quic_params_t *quic,
		knot_bytes_t datagram, uint64_t now_ns, transport_t **ret_t)
{
	ngtcp2_pkt_hd first;
	assert(tls->role == TRANSPORT_SERVER && tls->identity != NULL && quic->original_cid.len <= NGTCP2_MAX_CIDLEN);
	if (ngtcp2_accept(&first, datagram.data, datagram.len) != 0) {
		return KNOT_EMALF;
	}
	return quic_begin(&(quic_begin_t){ .tls = tls, .quic = quic, .first = &first, .now_ns = now_ns }, ret_t);
}
