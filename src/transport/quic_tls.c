/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The handshake inside QUIC (RFC 9001), and tickets: what GnuTLS resumes a session with, behind the limits that the
 * server had told, as a client needs them before it hears from the server again (RFC 9000 7.4.1).
 */
#include "src/transport/quic_conn.h"

#include <ngtcp2/ngtcp2_crypto_gnutls.h>

#include <stdlib.h>

/* RFC 9001 4.2, 5.3: TLS 1.3, ciphers with header protection; no compatibility records. */
#define QUIC_PRIORITY                                                                                                  \
	"%DISABLE_TLS13_COMPAT_MODE:NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:"              \
	"+CHACHA20-POLY1305:+AES-128-CCM:-GROUP-ALL:+GROUP-SECP256R1:+GROUP-X25519:+GROUP-SECP384R1:+GROUP-SECP521R1"

static const char quic_alpn[] = "doq";

static ngtcp2_conn *quic_tls_get_conn(ngtcp2_crypto_conn_ref *ref)
{
	return ((quic_t *)ref->user_data)->conn;
}

static int quic_tls_verify(gnutls_session_t session)
{
	ngtcp2_crypto_conn_ref *ref = gnutls_session_get_ptr(session);
	quic_t *quic = ref->user_data;
	return tls_session_check_peer(session, &quic->check) ? 0 : GNUTLS_E_CERTIFICATE_ERROR;
}

knot_err_t quic_tls_init(quic_t *quic, const transport_tls_params_t *params)
{
	tls_begin_t begin = { .params = params,
		.alpn = quic_alpn,
		.priority = QUIC_PRIORITY,
		.flags = GNUTLS_NO_END_OF_EARLY_DATA | (quic->uses_early ? GNUTLS_ENABLE_EARLY_DATA : 0) };
	knot_err_t err = tls_session_new(&begin, &quic->check, &quic->session);
	if (err != KNOT_OK) {
		return err;
	}
	quic->ref = (ngtcp2_crypto_conn_ref){ .get_conn = quic_tls_get_conn, .user_data = quic };
	gnutls_session_set_ptr(quic->session, &quic->ref);
	if (params->role == TRANSPORT_SERVER) {
		(void)gnutls_record_set_max_early_data_size(quic->session, UINT32_MAX); /* RFC 9001 4.6.1 */
		return ngtcp2_crypto_gnutls_configure_server_session(quic->session) == 0 ? KNOT_OK : KNOT_ENOMEM;
	}
	gnutls_session_set_verify_function(quic->session, quic_tls_verify);
	return ngtcp2_crypto_gnutls_configure_client_session(quic->session) == 0 ? KNOT_OK : KNOT_ENOMEM;
}

bool quic_tls_has_alpn(const quic_t *quic)
{
	gnutls_datum_t alpn;
	return gnutls_alpn_get_selected_protocol(quic->session, &alpn) == GNUTLS_E_SUCCESS &&
	       alpn.size == sizeof(quic_alpn) - 1 && memcmp(alpn.data, quic_alpn, alpn.size) == 0;
}

/* ---- Tickets ---- */

/** Limits of a server that a client may rely on in 0-RTT, in the order of a ticket; 8 bytes each. */
static const size_t quic_tls_limits[] = {
	offsetof(ngtcp2_transport_params, initial_max_stream_data_bidi_local),
	offsetof(ngtcp2_transport_params, initial_max_stream_data_bidi_remote),
	offsetof(ngtcp2_transport_params, initial_max_stream_data_uni),
	offsetof(ngtcp2_transport_params, initial_max_data),
	offsetof(ngtcp2_transport_params, initial_max_streams_bidi),
	offsetof(ngtcp2_transport_params, initial_max_streams_uni),
	offsetof(ngtcp2_transport_params, active_connection_id_limit),
};

enum { LIMIT_LEN = 8, LIMITS_LEN = KNOT_LEN(quic_tls_limits) * LIMIT_LEN };

knot_bytes_t quic_tls_ticket_part(knot_bytes_t ticket)
{
	return ticket.len <= LIMITS_LEN ? (knot_bytes_t){ .len = 0 }
					: (knot_bytes_t){ ticket.data + LIMITS_LEN, ticket.len - LIMITS_LEN };
}

bool quic_tls_set_early(quic_t *quic, knot_bytes_t ticket)
{
	ngtcp2_transport_params params;
	if (ticket.len <= LIMITS_LEN) {
		return false;
	}
	memset(&params, 0, sizeof(params));
	for (size_t i = 0; i < KNOT_LEN(quic_tls_limits); i++) {
		uint64_t value = load_be64(ticket.data + i * LIMIT_LEN);
		memcpy((uint8_t *)&params + quic_tls_limits[i], &value, sizeof(value));
	}
	ngtcp2_conn_set_early_remote_transport_params(quic->conn, &params);
	return true;
}

knot_err_t quic_tls_ticket(const quic_t *quic, knot_mut_bytes_t *ret_ticket)
{
	knot_mut_bytes_t part;
	const ngtcp2_transport_params *params = ngtcp2_conn_get_remote_transport_params(quic->conn);
	knot_err_t err = params == NULL || !quic->is_open ? KNOT_ENOENT : tls_session_ticket(quic->session, &part);
	if (err != KNOT_OK) {
		return err;
	}
	uint8_t *ticket = malloc(LIMITS_LEN + part.len);
	if (ticket != NULL) {
		for (size_t i = 0; i < KNOT_LEN(quic_tls_limits); i++) {
			uint64_t value;
			memcpy(&value, (const uint8_t *)params + quic_tls_limits[i], sizeof(value));
			store_be64(ticket + i * LIMIT_LEN, value);
		}
		memcpy(ticket + LIMITS_LEN, part.data, part.len);
		*ret_ticket = (knot_mut_bytes_t){ ticket, LIMITS_LEN + part.len };
	}
	free(part.data);
	return ticket != NULL ? KNOT_OK : KNOT_ENOMEM;
}
