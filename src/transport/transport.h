/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * One connection that carries DNS messages, without its socket: bytes or datagrams and time in, bytes or datagrams,
 * whole messages and the next deadline out.
 *
 * All kinds have the same calls, so that one shell drives them: plain datagrams and framed streams (RFC 1035 4.2), TLS
 * (RFC 7858), HTTP/2 (RFC 8484), QUIC (RFC 9250). What a kind needs to begin is in its own header. Both roles have the
 * calls: a client puts queries and takes replies, a server the other way round.
 *
 * The shell's turn: receive into transport_room(), transport_note_received(), transport_take() until it says no, send
 * transport_pending(), transport_expire() when transport_deadline_ns() has come. After TRANSPORT_ENDED only what is
 * pending (an alert, a close) is still sent.
 *
 * Nothing here reads a clock, a socket or a random number of its own, but for what GnuTLS does inside a handshake. What
 * a peer sends can end the connection or one exchange on it, and costs no more memory than the limits below. An object
 * belongs to one thread at a time.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"

enum {
	TRANSPORT_MESSAGE_MAX = 65535,     /* of a DNS message, RFC 1035 4.2.2 */
	TRANSPORT_PENDING_MAX = 4 << 20,   /* bytes that wait to be sent: transport_put() refuses more */
	TRANSPORT_STREAMS_MAX = 256,       /* exchanges on one connection that aren't over: HTTP/2, QUIC */
	TRANSPORT_HANDSHAKE_MAX = 1 << 18, /* bytes of handshakes that a peer may send */
	TRANSPORT_REASON_MAX = 256,        /* of transport_reason(), with the NUL */
};

#define TRANSPORT_NEVER_NS UINT64_MAX

typedef enum { TRANSPORT_CLIENT, TRANSPORT_SERVER } transport_role_t;

typedef enum {
	TRANSPORT_DATAGRAM, /* each datagram is a message */
	TRANSPORT_STREAM,   /* two bytes of length before each message */
	TRANSPORT_TLS,      /* the same inside TLS */
	TRANSPORT_HTTP,     /* HTTP/2 inside TLS, or plain */
	TRANSPORT_QUIC,
} transport_kind_t;

typedef enum {
	TRANSPORT_OPENING, /* the handshake goes on; messages may be put, and leave when it is over (or as early data)
			    */
	TRANSPORT_OPEN,
	TRANSPORT_ENDED,
} transport_state_t;

/** Why a connection ended. Each comes with a sentence, transport_reason(). */
typedef enum {
	TRANSPORT_END_NONE,    /* it hasn't */
	TRANSPORT_END_CLOSED,  /* by us */
	TRANSPORT_END_BY_PEER, /* in order: close_notify, GOAWAY, CONNECTION_CLOSE without error, FIN between messages
				*/
	TRANSPORT_END_CUT, /* FIN within a message or handshake, or without close_notify: something may be missing */
	TRANSPORT_END_HANDSHAKE, /* no agreement: alert, versions, ALPN */
	TRANSPORT_END_UNTRUSTED, /* the peer's certificate isn't what was asked for */
	TRANSPORT_END_PROTOCOL,  /* the peer broke the protocol */
	TRANSPORT_END_REFUSED,   /* the peer says that we broke it, or doesn't want us: alert, error code */
	TRANSPORT_END_TIMEOUT,   /* QUIC: idle, or the handshake took too long */
	TRANSPORT_END_LIMIT,     /* the peer went past a limit of this page */
	TRANSPORT_END_MEMORY,    /* out of memory, or the library failed */
} transport_end_t;

/** What transport_take() has. */
typedef enum {
	TRANSPORT_MESSAGE,     /* a whole message; with streams more may follow (transfers) */
	TRANSPORT_STREAM_END,  /* the peer has ended the stream, after its messages */
	TRANSPORT_STREAM_CUT,  /* the peer has reset the stream, or ended it within a message */
	TRANSPORT_HTTP_STATUS, /* no message: an HTTP status other than 200, in `code` */
	TRANSPORT_HTTP_TYPE,   /* no message: another content type than application/dns-message */
} transport_event_kind_t;

typedef struct {
	transport_event_kind_t kind;
	uint64_t stream;      /* as transport_put() gave it; 0 for kinds without streams */
	knot_bytes_t message; /* TRANSPORT_MESSAGE: borrowed until the next call of transport_take() or _note_received()
			       */
	uint64_t code; /* TRANSPORT_STREAM_CUT: the error code (RFC 9250 4.3, RFC 9113 7); TRANSPORT_HTTP_STATUS */
} transport_event_t;

typedef struct transport transport_t;

/** NULL is allowed. Says nothing to the peer: that is transport_close(). */
void transport_free(transport_t *take_t);

transport_kind_t transport_kind(const transport_t *t);
transport_state_t transport_state(const transport_t *t);

/** Why it ended; TRANSPORT_END_NONE before. */
transport_end_t transport_end(const transport_t *t);

/** The same for people, without final dot: what the library or the peer said, at most TRANSPORT_REASON_MAX. Never NULL.
 */
const char *transport_reason(const transport_t *t);

/** True if each received piece is a datagram, and each pending one has to leave as one. */
bool transport_is_datagram(const transport_t *t);

/**
 * Where the next bytes (the next datagram) are to be received. len 0: take what there is first, or it has ended.
 * Valid until the next call for `t`.
 */
knot_mut_bytes_t transport_room(transport_t *t);

/** So many bytes have come there. now_ns: of a monotonic clock; it never goes back. */
void transport_note_received(transport_t *t, size_t len, uint64_t now_ns);

/** The peer sends no more: FIN of TCP. */
void transport_note_eof(transport_t *t, uint64_t now_ns);

/** The next event; false: there is none. */
bool transport_take(transport_t *t, transport_event_t *ret_event);

/**
 * Send a message. *ret_stream is told apart from others by it; a client's queries each open one, a server passes that
 * of the query in *stream. A client's message must have ID 0 for HTTP/2 and QUIC; that is not looked at.
 * KNOT_EAGAIN: too much is pending, or the peer allows no more streams now. KNOT_ECONNRESET: ended. KNOT_ERANGE: longer
 * than TRANSPORT_MESSAGE_MAX or empty. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t transport_put(transport_t *t, knot_bytes_t message, uint64_t *stream);

/** No message follows on this stream (server). Kinds without streams: nothing. */
void transport_finish(transport_t *t, uint64_t stream);

/** The client doesn't want the rest of a stream: STOP_SENDING, RST_STREAM. Kinds without streams: nothing. */
void transport_cancel(transport_t *t, uint64_t stream);

/** What is to be sent now: bytes, or one datagram; len 0: nothing. Valid until the next call for `t`. */
knot_bytes_t transport_pending(transport_t *t, uint64_t now_ns);

/** So many of them were sent; a datagram was sent whole (or is lost, which is the same to QUIC). */
void transport_note_sent(transport_t *t, size_t len, uint64_t now_ns);

/** When transport_expire() has something to do; TRANSPORT_NEVER_NS: nothing before something is received. */
uint64_t transport_deadline_ns(const transport_t *t);
void transport_expire(transport_t *t, uint64_t now_ns);

/** End it in order: close_notify, GOAWAY, CONNECTION_CLOSE become pending. */
void transport_close(transport_t *t, uint64_t now_ns);

/** Lines for people about the session, as kdig prints them after ";; ", each NUL-terminated. */
enum { TRANSPORT_SESSION_LINES_MAX = 2, TRANSPORT_SESSION_LINE_MAX = 512 };
typedef struct {
	unsigned count;
	char lines[TRANSPORT_SESSION_LINES_MAX][TRANSPORT_SESSION_LINE_MAX];
} transport_session_t;

/** What is known by now: of TLS and QUIC after the handshake, of HTTP after the first status. */
void transport_describe(const transport_t *t, transport_session_t *ret_session);
