/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What ngtcp2 tells a connection. Callbacks only write into the connection and its streams: most of ngtcp2 must not be
 * called from them.
 */
#include "src/transport/quic_conn.h"

#include <gnutls/crypto.h>

static void quic_on_rand(uint8_t *dest, size_t len, const ngtcp2_rand_ctx *ctx)
{
	(void)ctx;
	(void)gnutls_rnd(GNUTLS_RND_NONCE, dest, len);
}

static int quic_on_new_cid(ngtcp2_conn *conn, ngtcp2_cid *cid, uint8_t *token, size_t len, void *ctx)
{
	(void)conn, (void)ctx;
	cid->datalen = len;
	return gnutls_rnd(GNUTLS_RND_NONCE, cid->data, len) == 0 &&
					       gnutls_rnd(GNUTLS_RND_KEY, token, NGTCP2_STATELESS_RESET_TOKENLEN) == 0
			       ? 0
			       : NGTCP2_ERR_CALLBACK_FAILURE;
}

static int quic_on_handshake(ngtcp2_conn *conn, void *ctx)
{
	quic_t *quic = ctx;
	quic->is_open = true;
	if (quic->role == TRANSPORT_CLIENT && quic->uses_early &&
			(gnutls_session_get_flags(quic->session) & GNUTLS_SFLAGS_EARLY_DATA) == 0) {
		quic_stream_restart_all(quic);
		return quic_conn_refuse_early(conn) == 0 ? 0 : NGTCP2_ERR_CALLBACK_FAILURE;
	}
	return 0;
}

/* Bytes for no stream of ours, as of one that was cancelled before it was opened, are given back. */
static int quic_on_data(ngtcp2_conn *conn, uint32_t flags, int64_t id, uint64_t offset, const uint8_t *data, size_t len,
		void *ctx, void *stream_ctx)
{
	quic_t *quic = ctx;
	quic_stream_t *stream = stream_ctx;
	(void)conn, (void)offset, (void)id;
	if (stream == NULL) {
		quic->given_back_len += len;
		return 0;
	}
	if (!quic_stream_receive(quic, stream, (knot_bytes_t){ data, len })) {
		return NGTCP2_ERR_CALLBACK_FAILURE;
	}
	stream->has_fin = stream->has_fin || (flags & NGTCP2_STREAM_DATA_FLAG_FIN) != 0;
	return 0;
}

static int quic_on_acked(ngtcp2_conn *conn, int64_t id, uint64_t offset, uint64_t len, void *ctx, void *stream_ctx)
{
	(void)conn, (void)id;
	if (stream_ctx != NULL) {
		quic_stream_note_acked(ctx, stream_ctx, offset + len);
	}
	return 0;
}

static int quic_on_open(ngtcp2_conn *conn, int64_t id, void *ctx)
{
	quic_stream_t *stream;
	if (quic_stream_new(ctx, id, &stream) != KNOT_OK) {
		return NGTCP2_ERR_CALLBACK_FAILURE;
	}
	return ngtcp2_conn_set_stream_user_data(conn, id, stream) == 0 ? 0 : NGTCP2_ERR_CALLBACK_FAILURE;
}

static int quic_on_reset(ngtcp2_conn *conn, int64_t id, uint64_t final_size, uint64_t code, void *ctx, void *stream_ctx)
{
	quic_stream_t *stream = stream_ctx;
	(void)conn, (void)id, (void)final_size, (void)ctx;
	if (stream != NULL) {
		stream->is_reset = true;
		stream->code = code;
	}
	return 0;
}

static int quic_on_stateless_reset(ngtcp2_conn *conn, const ngtcp2_pkt_stateless_reset *reset, void *ctx)
{
	quic_t *quic = ctx;
	(void)conn, (void)reset;
	quic->is_reset = true;
	return 0;
}

static int quic_on_close(ngtcp2_conn *conn, uint32_t flags, int64_t id, uint64_t code, void *ctx, void *stream_ctx)
{
	quic_t *quic = ctx;
	quic_stream_t *stream = stream_ctx;
	(void)conn, (void)id;
	if (stream != NULL) {
		stream->code = (flags & NGTCP2_STREAM_CLOSE_FLAG_APP_ERROR_CODE_SET) != 0 ? code : stream->code;
		quic_stream_note_closed(quic, stream);
	}
	return 0;
}

const ngtcp2_callbacks quic_callbacks = {
	.client_initial = ngtcp2_crypto_client_initial_cb,
	.recv_client_initial = ngtcp2_crypto_recv_client_initial_cb,
	.recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb,
	.handshake_completed = quic_on_handshake,
	.encrypt = ngtcp2_crypto_encrypt_cb,
	.decrypt = ngtcp2_crypto_decrypt_cb,
	.hp_mask = ngtcp2_crypto_hp_mask_cb,
	.recv_stream_data = quic_on_data,
	.acked_stream_data_offset = quic_on_acked,
	.stream_open = quic_on_open,
	.stream_close = quic_on_close,
	.recv_retry = ngtcp2_crypto_recv_retry_cb,
	.rand = quic_on_rand,
	.get_new_connection_id = quic_on_new_cid,
	.update_key = ngtcp2_crypto_update_key_cb,
	.recv_stateless_reset = quic_on_stateless_reset,
	.stream_reset = quic_on_reset,
	.delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb,
	.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb,
	.get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb,
	.version_negotiation = ngtcp2_crypto_version_negotiation_cb,
};
