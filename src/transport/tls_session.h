/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A GnuTLS session as its parameters want it, and the check of the server's certificate: what TLS and QUIC share. For
 * this folder only.
 */
#pragma once

#include "src/transport/trust.h"

/** What the check needs while the handshake goes on. */
typedef struct {
	const transport_trust_t *trust; /* NULL: opportunistic */
	char *hostname;                 /* owned; NULL: none */
	uint64_t wall_s;
	trust_notes_t notes;
	bool has_failed; /* the certificate isn't what was asked for */
} tls_check_t;

/** How a session begins. */
typedef struct {
	const transport_tls_params_t *params;
	const char *alpn;
	unsigned flags;       /* of gnutls_init(), beside the role */
	const char *priority; /* NULL: that of the system */
} tls_begin_t;

/**
 * Session and check, with credentials, names, ticket. The caller sets the session's pointer and verify function. On
 * failure both are empty. KNOT_EINVAL: the hostname or ticket can't be used; KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t tls_session_new(
		const tls_begin_t *begin, tls_check_t *ret_check, gnutls_session_t *ret_session);

/** Ends both; NULL session: nothing. */
void tls_session_done(tls_check_t *check, gnutls_session_t session);

/**
 * Is the server the one that was asked for? True or false, and has_failed. To be called by the session's verify
 * function, which then returns 0 or GNUTLS_E_CERTIFICATE_ERROR.
 */
bool tls_session_check_peer(gnutls_session_t session, tls_check_t *check);

/** The stapled OCSP response is there, for this certificate, good and young; else notes say what isn't. */
bool tls_ocsp_is_good(gnutls_session_t session, tls_check_t *check);

/** "(TLS1.3)-(ECDHE-X25519)-…" as a line "TLS session …". */
void tls_session_describe(gnutls_session_t session, const char *before, transport_session_t *ret_session);

/** What resumes it; as transport_ticket(). */
KNOT_MUST_USE knot_err_t tls_session_ticket(gnutls_session_t session, knot_mut_bytes_t *ret_ticket);
