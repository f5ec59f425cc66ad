/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transport/tls_layer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { CIPHER_IN_MAX = 1 << 16 };

/* ---- GnuTLS and the buffers ---- */

static ssize_t tls_layer_push(gnutls_transport_ptr_t ptr, const void *data, size_t len)
{
	tls_layer_t *layer = ptr;
	knot_err_t err = transport_out_add(&layer->out, data, len);
	if (err == KNOT_OK) {
		return (ssize_t)len;
	}
	gnutls_transport_set_errno(layer->session, err == KNOT_EAGAIN ? EIO : ENOMEM);
	return -1;
}

static ssize_t tls_layer_pull(gnutls_transport_ptr_t ptr, void *data, size_t len)
{
	tls_layer_t *layer = ptr;
	size_t kept = layer->in.len - layer->in.pos;
	if (kept == 0) {
		gnutls_transport_set_errno(layer->session, EAGAIN);
		return layer->has_eof ? 0 : -1;
	}
	len = len < kept ? len : kept;
	memcpy(data, layer->in.data + layer->in.pos, len);
	layer->in.pos += len;
	return (ssize_t)len;
}

static int tls_layer_pull_timeout(gnutls_transport_ptr_t ptr, unsigned ms)
{
	tls_layer_t *layer = ptr;
	(void)ms;
	return layer->in.len > layer->in.pos || layer->has_eof;
}

static int tls_layer_verify(gnutls_session_t session)
{
	tls_layer_t *layer = gnutls_session_get_ptr(session);
	return tls_session_check_peer(session, &layer->check) ? 0 : GNUTLS_E_CERTIFICATE_ERROR;
}

/* ---- Life ---- */

knot_err_t tls_layer_init(tls_layer_t *layer, const transport_tls_params_t *params, const char *alpn)
{
	tls_begin_t begin = { .params = params, .alpn = alpn, .flags = GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL };
	*layer = (tls_layer_t){ .begins = true };
	knot_err_t err = tls_session_new(&begin, &layer->check, &layer->session);
	if (err != KNOT_OK) {
		return err;
	}
	layer->wants_early = params->uses_early_data && params->ticket.len > 0;
	gnutls_session_set_ptr(layer->session, layer);
	gnutls_transport_set_ptr(layer->session, layer);
	gnutls_transport_set_push_function(layer->session, tls_layer_push);
	gnutls_transport_set_pull_function(layer->session, tls_layer_pull);
	gnutls_transport_set_pull_timeout_function(layer->session, tls_layer_pull_timeout);
	gnutls_handshake_set_timeout(layer->session, GNUTLS_INDEFINITE_TIMEOUT); /* the shell's business */
	if (params->role == TRANSPORT_CLIENT) {
		gnutls_session_set_verify_function(layer->session, tls_layer_verify);
	}
	return KNOT_OK;
}

void tls_layer_done(tls_layer_t *layer)
{
	tls_session_done(&layer->check, layer->session);
	layer->session = NULL;
	transport_in_done(&layer->in);
	transport_out_done(&layer->out);
}

/* ---- Handshake ---- */

static const trust_notes_t *tls_layer_notes(const tls_layer_t *layer)
{
	return &layer->check.notes;
}

static void tls_layer_note_alert(const tls_layer_t *layer)
{
	const char *name = gnutls_alert_get_name(gnutls_alert_get(layer->session));
	trust_note(tls_layer_notes(layer), TRANSPORT_NOTE_DETAIL, "TLS, the peer says: %s",
			name != NULL ? name : "an unknown alert");
}

static transport_end_t tls_layer_handshake_end(const tls_layer_t *layer, int code)
{
	if (layer->check.has_failed) {
		return TRANSPORT_END_UNTRUSTED;
	}
	switch (code) {
	case GNUTLS_E_MEMORY_ERROR: return TRANSPORT_END_MEMORY;
	case GNUTLS_E_FATAL_ALERT_RECEIVED: return TRANSPORT_END_REFUSED;
	default: return layer->has_eof ? TRANSPORT_END_CUT : TRANSPORT_END_HANDSHAKE;
	}
}

/* GnuTLS has several names for an end that comes too early. */
static const char *tls_layer_error_text(transport_end_t end, int code)
{
	return gnutls_strerror(end == TRANSPORT_END_CUT ? GNUTLS_E_PREMATURE_TERMINATION : code);
}

static void tls_layer_fail_handshake(tls_layer_t *layer, transport_t *owner, int code)
{
	transport_end_t end = tls_layer_handshake_end(layer, code);
	if (code == GNUTLS_E_FATAL_ALERT_RECEIVED) {
		tls_layer_note_alert(layer);
	} else {
		(void)gnutls_alert_send_appropriate(layer->session, code);
	}
	transport_stop(owner, end, "TLS, handshake failed (%s)", tls_layer_error_text(end, code));
}

static void tls_layer_note_open(tls_layer_t *layer)
{
	gnutls_datum_t alpn;
	layer->is_open = true;
	layer->has_alpn = gnutls_alpn_get_selected_protocol(layer->session, &alpn) == GNUTLS_E_SUCCESS;
	bool has_early = (gnutls_session_get_flags(layer->session) & GNUTLS_SFLAGS_EARLY_DATA) != 0;
	layer->is_early_taken = layer->sent_early && has_early;
	layer->reads_early = !layer->sent_early && has_early;
}

bool tls_layer_shake(tls_layer_t *layer, transport_t *owner)
{
	if (layer->is_open || owner->state == TRANSPORT_ENDED) {
		return layer->is_open;
	}
	int code;
	layer->begins = false;
	do {
		code = gnutls_handshake(layer->session);
	} while (code < 0 && code != GNUTLS_E_AGAIN && gnutls_error_is_fatal(code) == 0);
	if (code == GNUTLS_E_SUCCESS) {
		tls_layer_note_open(layer);
	} else if (code != GNUTLS_E_AGAIN) {
		tls_layer_fail_handshake(layer, owner, code);
	} else if (layer->handshake_len > TRANSPORT_HANDSHAKE_MAX) {
		transport_stop(owner, TRANSPORT_END_LIMIT, "TLS, handshake failed (too long)");
	}
	return layer->is_open;
}

bool tls_layer_write_early(tls_layer_t *layer, knot_bytes_t plain)
{
	assert(tls_layer_takes_early(layer));
	if (gnutls_record_send_early_data(layer->session, plain.data, plain.len) < 0) {
		layer->wants_early = false;
		return false;
	}
	layer->sent_early = true;
	return true;
}

/* ---- Bytes ---- */

knot_mut_bytes_t tls_layer_room(tls_layer_t *layer)
{
	if (layer->in.pos < layer->in.len) {
		return (knot_mut_bytes_t){ .len = 0 };
	}
	return transport_in_room(&layer->in, CIPHER_IN_MAX);
}

void tls_layer_note_received(tls_layer_t *layer, size_t len, transport_t *owner)
{
	assert(len <= layer->in.max - layer->in.len);
	layer->in.len += len;
	layer->handshake_len += layer->is_open ? 0 : len;
	(void)tls_layer_shake(layer, owner);
}

static transport_end_t tls_layer_read_end(const tls_layer_t *layer, int code)
{
	switch (code) {
	case GNUTLS_E_MEMORY_ERROR: return TRANSPORT_END_MEMORY;
	case GNUTLS_E_FATAL_ALERT_RECEIVED: return TRANSPORT_END_REFUSED;
	default: return layer->has_eof ? TRANSPORT_END_CUT : TRANSPORT_END_PROTOCOL;
	}
}

static void tls_layer_fail_read(tls_layer_t *layer, transport_t *owner, int code)
{
	if (code == 0) {
		transport_stop(owner, TRANSPORT_END_BY_PEER, "TLS, peer has closed the connection");
		return;
	}
	if (code == GNUTLS_E_FATAL_ALERT_RECEIVED) {
		tls_layer_note_alert(layer);
	} else {
		(void)gnutls_alert_send_appropriate(layer->session, code);
	}
	transport_end_t end = tls_layer_read_end(layer, code);
	transport_stop(owner, end, "TLS, failed to receive reply (%s)", tls_layer_error_text(end, code));
}

/* A server's: GnuTLS has kept it, within its own bound. */
static size_t tls_layer_read_early(tls_layer_t *layer, knot_mut_bytes_t room)
{
	ssize_t len = layer->reads_early ? gnutls_record_recv_early_data(layer->session, room.data, room.len) : 0;
	layer->reads_early = len > 0;
	return len > 0 ? (size_t)len : 0;
}

size_t tls_layer_read(tls_layer_t *layer, knot_mut_bytes_t room, transport_t *owner)
{
	ssize_t len;
	if (owner->state == TRANSPORT_ENDED || !tls_layer_shake(layer, owner)) {
		return 0;
	}
	size_t early_len = tls_layer_read_early(layer, room);
	if (early_len > 0) {
		return early_len;
	}
	/* Tickets, new keys and warnings give no plaintext; each costs bytes that came. A wish of TLS 1.2 to negotiate
	 * again is passed over, which RFC 5246 7.4.1.1 allows. */
	size_t before;
	do {
		before = layer->in.pos;
		len = gnutls_record_recv(layer->session, room.data, room.len);
	} while (len < 0 && gnutls_error_is_fatal((int)len) == 0 && layer->in.pos != before);
	if (len > 0) {
		return (size_t)len;
	}
	if (len != GNUTLS_E_AGAIN) {
		tls_layer_fail_read(layer, owner, (int)len);
	}
	return 0;
}

bool tls_layer_write(tls_layer_t *layer, knot_bytes_t plain, transport_t *owner)
{
	assert(layer->is_open);
	for (size_t pos = 0; pos < plain.len && owner->state != TRANSPORT_ENDED;) {
		ssize_t len = gnutls_record_send(layer->session, plain.data + pos, plain.len - pos);
		if (len < 0) {
			transport_stop(owner, TRANSPORT_END_MEMORY, "TLS, failed to send (%s)",
					gnutls_strerror((int)len));
			return false;
		}
		pos += (size_t)len;
	}
	return owner->state != TRANSPORT_ENDED;
}

void tls_layer_close(tls_layer_t *layer)
{
	if (layer->is_open) {
		(void)gnutls_bye(layer->session, GNUTLS_SHUT_WR);
	}
}
