/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A client's exchange with one server, over any transport: a socket, and the shell around src/transport.
 *
 *     exchange_t *x = exchange_new(&params);                 one server address, one transport
 *     exchange_end_t end = exchange_open(x);                 socket, connection, handshake
 *     end = exchange_send(x, query);
 *     uint64_t until_ns = exchange_until_ns(x);
 *     end = exchange_receive(x, until_ns, &reply);           again after a wrong one, or for each message of a transfer
 *     end = exchange_send(x, next_query);                    the connection stays open
 *     exchange_free(x);                                      closes in order
 *
 * Calls block up to `timeout_ms` each and no longer; nothing is retried, and nothing is looked at inside messages: IDs,
 * questions and signatures are the caller's. What went wrong is one of exchange_end_t, and exchange_problem() is the
 * sentence about it in the words of Knot's utilities, which the caller prints behind ";; WARNING: ". What is said on
 * the way goes to `note`. An exchange that has failed can only be freed, and every call fails as before; but UDP goes
 * on after everything, and the others after EXCHANGE_TIMEOUT of exchange_receive(), EXCHANGE_HTTP and EXCHANGE_STREAM.
 *
 * One thread at a time. SIGPIPE isn't raised. Names are not resolved here.
 */
#pragma once

#include "src/transport/tls_params.h"
#include "src/transport/transport.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

typedef enum { EXCHANGE_UDP, EXCHANGE_TCP, EXCHANGE_TLS, EXCHANGE_HTTPS, EXCHANGE_QUIC } exchange_kind_t;

/**
 * An address with its port, or the path of a UNIX-domain socket; AF_UNSPEC: none. Compared as bytes: begin with
 * `.storage` as zeros.
 */
typedef union {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
	struct sockaddr_storage storage;
} exchange_address_t;

/** How a call ended. */
typedef enum {
	EXCHANGE_OK,
	EXCHANGE_SOCKET,    /* no socket: family unknown, too many files */
	EXCHANGE_BIND,      /* the local address can't be used */
	EXCHANGE_CONNECT,   /* refused, unreachable, no such path */
	EXCHANGE_SEND,      /* the system can't send it */
	EXCHANGE_RECEIVE,   /* reset, refused (ICMP) */
	EXCHANGE_TIMEOUT,   /* nothing within timeout_ms */
	EXCHANGE_CLOSED,    /* the server has ended the connection */
	EXCHANGE_STREAM,    /* HTTPS, QUIC: the server has ended this query's stream, and the connection goes on */
	EXCHANGE_HANDSHAKE, /* TLS or QUIC didn't come about */
	EXCHANGE_UNTRUSTED, /* the server's certificate isn't what was asked for */
	EXCHANGE_PROTOCOL,  /* the server breaks TLS, HTTP/2 or QUIC */
	EXCHANGE_HTTP,      /* HTTP status that isn't 200, or another content type; see exchange_describe() */
	EXCHANGE_SOURCE,    /* UDP: dropped a datagram from somebody else; receiving may go on */
	EXCHANGE_MEMORY,
} exchange_end_t;

/** Where HTTP requests go: https://authority/path. */
typedef struct {
	bool uses_get;         /* GET instead of POST */
	const char *authority; /* NULL: the server's address */
	const char *path;      /* with its '/'; NULL: "/dns-query" */
} exchange_http_t;

typedef struct {
	exchange_kind_t kind;
	exchange_address_t server; /* AF_UNIX: UDP is a datagram socket, all others streams; not for QUIC */
	exchange_address_t local;  /* AF_UNSPEC: any; port 0: any */
	uint32_t timeout_ms;       /* of each call; 0: no limit */
	bool uses_fast_open;       /* TCP Fast Open, RFC 7413, of all kinds over TCP */

	/* Both, of one family (which is asserted): a PROXYv2 header before each datagram, or at the start of the
	 * stream. AF_UNSPEC: none. Not for QUIC. */
	exchange_address_t proxy_source, proxy_destination;

	const transport_trust_t *trust; /* TLS, HTTPS, QUIC: borrowed while the exchange lives; NULL: opportunistic */
	const char *hostname;           /* that the certificate has to have; NULL: none is asked for */
	const char *sni;                /* NULL: `hostname`, or nothing */
	bool uses_early_data;           /* TLS, QUIC: send the first message in 0-RTT if there is a ticket */
	knot_bytes_t ticket;  /* resumption: what exchange_ticket() gave; len 0: none. Borrowed by exchange_new() */
	exchange_http_t http; /* HTTPS; strings borrowed by exchange_new() */

	transport_note_cb note; /* NULL: nobody listens */
	void *note_ctx;
} exchange_params_t;

typedef struct exchange exchange_t;

/** NULL: out of memory. All but `trust` and the context of `note` is copied. */
exchange_t *exchange_new(const exchange_params_t *params);

/** Closes in order what is open, without waiting. NULL is allowed. */
void exchange_free(exchange_t *take_x);

/** Socket, connection and handshake. With TCP Fast Open or early data a part of it waits for exchange_send(). */
KNOT_MUST_USE exchange_end_t exchange_open(exchange_t *x);

/**
 * Send one message of 1 to 65,535 bytes, whole. HTTPS and QUIC: its ID should be 0 (RFC 8484 4.1, RFC 9250 4.2.1); the
 * replies that exchange_receive() gives belong to the message sent last, what comes for others is dropped.
 */
KNOT_MUST_USE exchange_end_t exchange_send(exchange_t *x, knot_bytes_t message);

/** When a call that begins now has reached its time limit: monotonic, UINT64_MAX: never. */
uint64_t exchange_until_ns(const exchange_t *x);

/**
 * The next message, borrowed until the next call; unwritten on failure. until_ns: exchange_until_ns(), of one reply and
 * all that is passed by before it.
 */
KNOT_MUST_USE exchange_end_t exchange_receive(exchange_t *x, uint64_t until_ns, knot_bytes_t *ret_message);

/** The sentence about the last failure ("response timeout for 192.0.2.1@53(UDP)"), without prefix, dot and newline. */
const char *exchange_problem(const exchange_t *x);

/** Why, in the words of the system or of the transport ("Connection refused"); "" where the sentence says it all. */
const char *exchange_reason(const exchange_t *x);

/** "192.0.2.1@53(UDP)": as in exchange_problem(), and behind ";; From ". */
const char *exchange_peer_text(const exchange_t *x);

/** The server's address. */
const exchange_address_t *exchange_remote(const exchange_t *x);

/** The local address once there is a socket, else AF_UNSPEC. */
const exchange_address_t *exchange_local(exchange_t *x);

/** Lines "TLS session (TLS1.3)-…", "HTTP session (HTTP/2-POST)-…", "QUIC session (QUICv1)-…" as they are known now. */
void exchange_describe(const exchange_t *x, transport_session_t *ret_session);

/** True while the connection can take another message (for +keepopen). */
bool exchange_is_open(const exchange_t *x);

/** What resumes this session later, borrowed until the next call; len 0: the server gave none, or not yet. */
knot_bytes_t exchange_ticket(exchange_t *x);

/** "192.0.2.1@53", "/run/x.sock@UNIX": room for EXCHANGE_TEXT_MAX with the NUL. */
enum { EXCHANGE_TEXT_MAX = 160 };
void exchange_address_print(const exchange_address_t *address, char ret_text[static EXCHANGE_TEXT_MAX]);

/** Length of the address for system calls. */
socklen_t exchange_address_len(const exchange_address_t *address);
