/* SPDX-License-Identifier: BSD-2-Clause */
/** A QUIC connection from inside, for quic*.c. These files alone see ngtcp2, whose API is another one in each version.
 */
#pragma once

#include "src/transport/ops.h"
#include "src/transport/quic.h"
#include "src/transport/quic_version.h"
#include "src/transport/tls_session.h"

/** Bytes of a stream that ngtcp2 may still want to send (again). */
typedef struct quic_chunk {
	struct quic_chunk *next;
	uint64_t begin; /* offset in the stream */
	size_t len;
	uint8_t data[];
} quic_chunk_t;

typedef struct quic_stream {
	struct quic_stream *next;
	uint64_t number; /* the caller's name for it */
	int64_t id;      /* QUIC's; -1: it isn't open yet */
	/* Out. */
	quic_chunk_t *chunks; /* from the first one that isn't acknowledged; owned */
	uint64_t out_end;     /* offset behind the last one */
	uint64_t out_sent;
	bool wants_fin, has_sent_fin, is_blocked;
	/* In. */
	transport_in_t in;
	bool has_fin, is_reset;
	uint64_t code; /* of the reset */
	/* Life. */
	bool is_closed;    /* ngtcp2 has forgotten it */
	bool is_cancelled; /* nobody wants what comes */
	bool has_ended;    /* its last event was taken */
} quic_stream_t;

typedef struct {
	transport_t base;
	transport_role_t role;
	ngtcp2_conn *conn;
	gnutls_session_t session;
	tls_check_t check;
	ngtcp2_crypto_conn_ref ref; /* what GnuTLS has a pointer to */
	void (*qlog)(void *ctx, knot_bytes_t piece);
	void *qlog_ctx;
	bool uses_early;
	bool is_open;  /* the handshake is over */
	bool is_reset; /* by a peer that knows nothing of it any more (RFC 9000 10.3) */
	quic_stream_t *streams, **streams_end;
	unsigned stream_count;
	uint64_t next_number;
	size_t waiting_len;          /* bytes in chunks */
	uint64_t given_back_len;     /* of flow control of the connection, for the next moment outside of callbacks */
	unsigned given_back_streams; /* a server's: as many more may be opened, the same */
	uint8_t *room;               /* for a received datagram */
	uint8_t packet[NGTCP2_MAX_UDP_PAYLOAD_SIZE];
	size_t packet_len; /* pending; 0: none */
} quic_t;

static inline quic_t *quic_of(transport_t *t)
{
	return (quic_t *)t;
}

/** The one path: addresses don't matter, as the socket is the caller's. */
const ngtcp2_path *quic_path(void);

/* ---- quic_stream.c ---- */

/** KNOT_EAGAIN: too many; KNOT_ENOMEM. id: -1 to open it when that is allowed. */
KNOT_MUST_USE knot_err_t quic_stream_new(quic_t *quic, int64_t id, quic_stream_t **ret_stream);

/** Unlink and free it; what it has not given back of the connection's flow control is given back. */
void quic_stream_drop(quic_t *quic, quic_stream_t *take_stream);

quic_stream_t *quic_stream_find(quic_t *quic, uint64_t number);

/** Append a message with its length. KNOT_EAGAIN: too much waits; KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t quic_stream_put(quic_t *quic, quic_stream_t *stream, knot_bytes_t message);

/** The same, but only the first `len` bytes of the message. */
KNOT_MUST_USE knot_err_t quic_stream_put_part(quic_t *quic, quic_stream_t *stream, knot_bytes_t message, size_t len);

/** All before this offset has arrived. */
void quic_stream_note_acked(quic_t *quic, quic_stream_t *stream, uint64_t end);

/** ngtcp2 has no part in it any more. */
void quic_stream_note_closed(quic_t *quic, quic_stream_t *stream);

/** Bytes have come; false: out of memory. */
KNOT_MUST_USE bool quic_stream_receive(quic_t *quic, quic_stream_t *stream, knot_bytes_t bytes);

/** Early data was refused: everything is sent again on new streams. */
void quic_stream_restart_all(quic_t *quic);

/** Open what waits, as far as the peer allows. */
void quic_stream_open_waiting(quic_t *quic);

/** The next stream with something to send that isn't blocked; NULL: none. */
quic_stream_t *quic_stream_find_sender(quic_t *quic);

/** The next piece of a stream: its data from `out_sent` on, in one chunk. *ret_is_last: FIN belongs behind it. */
knot_bytes_t quic_stream_next_piece(const quic_stream_t *stream, bool *ret_is_last);

/** The next event of any stream. */
bool quic_stream_take(quic_t *quic, transport_event_t *ret_event);

/* ---- quic_tls.c ---- */

/** Session for QUIC and its check. */
KNOT_MUST_USE knot_err_t quic_tls_init(quic_t *quic, const transport_tls_params_t *params);

/** Was "doq" agreed on? */
bool quic_tls_has_alpn(const quic_t *quic);

/** Take the parameters that the server had when it gave the ticket; false: the ticket can't be used. */
bool quic_tls_set_early(quic_t *quic, knot_bytes_t ticket);

/** The part of a ticket that is GnuTLS's; len 0: it isn't a ticket of QUIC. */
knot_bytes_t quic_tls_ticket_part(knot_bytes_t ticket);

/** GnuTLS's ticket and the server's parameters, as transport_ticket(). */
KNOT_MUST_USE knot_err_t quic_tls_ticket(const quic_t *quic, knot_mut_bytes_t *ret_ticket);

/* ---- quic_callbacks.c ---- */

/** What ngtcp2 calls. */
extern const ngtcp2_callbacks quic_callbacks;
