/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * DNS over QUIC (RFC 9250 over RFC 9000): a bidirectional stream for each query, two bytes of length before each
 * message.
 *
 * What is received and pending is datagrams, and transport_deadline_ns() must be kept: loss is repaired by time. A
 * client closes its half of a stream behind the query (RFC 9250 4.2), a server with transport_finish(). A reply is
 * followed by TRANSPORT_STREAM_END when the server closes its half; what is reset, or ends within a message, is
 * TRANSPORT_STREAM_CUT with the code. Queries wait when the server allows no more streams now. With a ticket and
 * uses_early_data they leave in 0-RTT, and once more by themselves if the server doesn't take that: only what does no
 * harm when repeated may be put then (RFC 9250 4.5). Retry and version negotiation are answered as a client has to.
 *
 * The path is the caller's: one socket, one address, no migration. ngtcp2 0.12 is behind this; it takes connection IDs
 * from GnuTLS's random numbers.
 */
#pragma once

#include "src/transport/tls_params.h"

enum {
	TRANSPORT_QUIC_CID_LEN = 16,            /* of connection IDs that we give */
	TRANSPORT_QUIC_DATAGRAM_MAX = 4096,     /* the longest that is received */
	TRANSPORT_QUIC_STREAM_WINDOW = 1 << 18, /* bytes of one stream that aren't taken yet */
	TRANSPORT_QUIC_WINDOW = 1 << 20,        /* of all streams together */
};

/** Error codes of RFC 9250 8.4, for events and in what a peer says. */
enum {
	DOQ_NO_ERROR = 0,
	DOQ_INTERNAL_ERROR = 1,
	DOQ_PROTOCOL_ERROR = 2,
	DOQ_REQUEST_CANCELLED = 3,
	DOQ_EXCESSIVE_LOAD = 4,
	DOQ_UNSPECIFIED_ERROR = 5,
};

typedef struct {
	uint32_t handshake_ms; /* how long the handshake may take; 0: 10 s */
	uint32_t idle_ms;      /* silence that ends the connection, if the peer doesn't want less; 0: 30 s */
	/* Server, after a Retry: the connection ID that the client's first packet went to, which the caller has from
	 * the token (RFC 9000 17.2.5). len 0: there was no Retry. */
	knot_bytes_t original_cid;
	/* Takes qlog (JSON text, in pieces) until the connection is freed; NULL: nobody. */
	void (*qlog)(void *ctx, knot_bytes_t piece);
	void *qlog_ctx;
} transport_quic_params_t;

/** A client's. now_ns: of the clock that all calls use. KNOT_EINVAL: as transport_tls_new(); KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t transport_quic_new(const transport_tls_params_t *tls, const transport_quic_params_t *quic,
		uint64_t now_ns, transport_t **ret_t);

/**
 * A server's, for the first datagram of a client, which is then to be received as any other. KNOT_EMALF: it begins no
 * connection of a known version; KNOT_ENOMEM. Addresses that have to be proven first (Retry), other versions and the
 * way from connection IDs to connections are the caller's.
 */
KNOT_MUST_USE knot_err_t transport_quic_accept(const transport_tls_params_t *tls, const transport_quic_params_t *quic,
		knot_bytes_t datagram, uint64_t now_ns, transport_t **ret_t);

/**
 * To test servers: a client's query of which only the first `len` bytes are sent, behind the length of the whole, on a
 * stream that stays open. Errors as of transport_put().
 */
KNOT_MUST_USE knot_err_t transport_quic_put_part(
		transport_t *t, knot_bytes_t message, size_t len, uint64_t *ret_stream);
