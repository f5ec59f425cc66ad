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

/* A ticket: two bytes of length, the server's limits, GnuTLS's part. */
static bool quic_tls_split(knot_bytes_t ticket, knot_bytes_t *ret_limits, knot_bytes_t *ret_part)
{
	knot_reader_t r = knot_reader_of(ticket);
	size_t len = knot_read_u16(&r);
	const uint8_t *limits = knot_read(&r, len);
	if (r.failed || len == 0 || knot_reader_left(&r) == 0) {
		return false;
	}
	*ret_limits = (knot_bytes_t){ limits, len };
	*ret_part = (knot_bytes_t){ ticket.data + r.pos, knot_reader_left(&r) };
	return true;
}

knot_bytes_t quic_tls_ticket_part(knot_bytes_t ticket)
{
	knot_bytes_t limits, part = { .len = 0 };
	(void)quic_tls_split(ticket, &limits, &part);
	return part;
}

bool quic_tls_set_early(quic_t *quic, knot_bytes_t ticket)
{
	knot_bytes_t limits, part;
	return quic_tls_split(ticket, &limits, &part) && quic_conn_scan_limits(quic->conn, limits);
}

knot_err_t quic_tls_ticket(const quic_t *quic, knot_mut_bytes_t *ret_ticket)
{
	knot_mut_bytes_t part;
	uint8_t limits[QUIC_LIMITS_MAX];
	size_t limits_len = quic->is_open ? quic_conn_print_limits(quic->conn, limits) : 0;
	knot_err_t err = limits_len == 0 ? KNOT_ENOENT : tls_session_ticket(quic->session, &part);
	if (err != KNOT_OK) {
		return err;
	}
	size_t len = 2 + limits_len + part.len;
	uint8_t *ticket = malloc(len);
	if (ticket != NULL) {
		knot_writer_t w = knot_writer_of((knot_mut_bytes_t){ ticket, len });
		knot_write_u16(&w, (uint16_t)limits_len);
		knot_write(&w, limits, limits_len);
		knot_write(&w, part.data, part.len);
		*ret_ticket = (knot_mut_bytes_t){ ticket, len };
	}
	explicit_bzero(part.data, part.len);
	free(part.data);
	return ticket != NULL ? KNOT_OK : KNOT_ENOMEM;
}
