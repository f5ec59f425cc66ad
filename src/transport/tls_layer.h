/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * TLS without a socket: ciphertext in and out, plaintext in and out. What DNS over TLS and HTTP/2 stand on; for this
 * folder only.
 *
 * How it ends goes to the transport that owns it (transport_stop()). Plaintext is read only when the owner asks for it,
 * and ciphertext is received only when what came before is used up, so a peer fills one buffer and no more.
 */
#pragma once

#include "src/transport/ops.h"
#include "src/transport/tls_session.h"

typedef struct {
	gnutls_session_t session;
	tls_check_t check;
	transport_in_t in;
	transport_out_t out;
	size_t handshake_len; /* bytes of the handshake that came */
	bool has_eof;
	bool is_open;        /* the handshake is over */
	bool has_alpn;       /* ALPN was agreed on */
	bool sent_early;     /* early data was put into the first flight */
	bool is_early_taken; /* and the server took it */
	bool reads_early;    /* a server's early data is there to be read */
	bool wants_early;
	bool begins; /* the first flight hasn't been made */
} tls_layer_t;

/** KNOT_EINVAL: hostname or ticket can't be used; KNOT_ENOMEM. Then it is empty. */
KNOT_MUST_USE knot_err_t tls_layer_init(tls_layer_t *layer, const transport_tls_params_t *params, const char *alpn);
void tls_layer_done(tls_layer_t *layer);

/** May early data be put before the first flight is made? */
static inline bool tls_layer_takes_early(const tls_layer_t *layer)
{
	return layer->wants_early && layer->begins;
}

/** Put plaintext into the first flight. False: it doesn't fit, or the ticket allows none; it has to be written later.
 */
bool tls_layer_write_early(tls_layer_t *layer, knot_bytes_t plain);

/** Go on with the handshake as far as what has come allows; true if it is over. */
bool tls_layer_shake(tls_layer_t *layer, transport_t *owner);

/** As transport_room(), transport_note_received(). */
knot_mut_bytes_t tls_layer_room(tls_layer_t *layer);
void tls_layer_note_received(tls_layer_t *layer, size_t len, transport_t *owner);

/** Decrypt into room. Returns the number of bytes, 0: nothing now, or it has ended. */
size_t tls_layer_read(tls_layer_t *layer, knot_mut_bytes_t room, transport_t *owner);

/** Encrypt. False: it has ended, out of memory. Callers keep what is pending below TRANSPORT_PENDING_MAX / 2. */
bool tls_layer_write(tls_layer_t *layer, knot_bytes_t plain, transport_t *owner);

/** close_notify becomes pending. */
void tls_layer_close(tls_layer_t *layer);
