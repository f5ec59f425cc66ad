/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transport/trust.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { NOTE_MAX = 1024 };

void trust_note(const trust_notes_t *notes, transport_note_level_t level, const char *format, ...)
{
	char text[NOTE_MAX];
	va_list args;
	if (notes->cb == NULL) {
		return;
	}
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	notes->cb(notes->ctx, level, text);
}

static knot_err_t trust_error(int code)
{
	switch (code) {
	case GNUTLS_E_MEMORY_ERROR: return KNOT_ENOMEM;
	case GNUTLS_E_FILE_ERROR: return KNOT_ENOENT;
	default: return KNOT_EMALF;
	}
}

/* ---- A client's ---- */

static knot_err_t trust_add_system(transport_trust_t *trust, const trust_notes_t *notes)
{
	int count = gnutls_certificate_set_x509_system_trust(trust->credentials);
	if (count < 0) {
		trust_note(notes, TRANSPORT_NOTE_WARNING, "TLS, failed to import system certificates (%s)",
				gnutls_strerror_name(count));
		return trust_error(count);
	}
	trust_note(notes, TRANSPORT_NOTE_DEBUG, "TLS, imported %i system certificates", count);
	return KNOT_OK;
}

static knot_err_t trust_add_file(transport_trust_t *trust, const char *file, const trust_notes_t *notes)
{
	int count = gnutls_certificate_set_x509_trust_file(trust->credentials, file, GNUTLS_X509_FMT_PEM);
	if (count < 0) {
		trust_note(notes, TRANSPORT_NOTE_WARNING, "TLS, failed to import certificate file '%s' (%s)", file,
				gnutls_strerror_name(count));
		return trust_error(count);
	}
	trust_note(notes, TRANSPORT_NOTE_DEBUG, "TLS, imported %i certificates from '%s'", count, file);
	return KNOT_OK;
}

static knot_err_t trust_add_client(
		transport_trust_t *trust, const char *cert_file, const char *key_file, const trust_notes_t *notes)
{
	if (cert_file == NULL && key_file == NULL) {
		return KNOT_OK;
	}
	if (cert_file == NULL || key_file == NULL) {
		trust_note(notes, TRANSPORT_NOTE_WARNING,
				cert_file == NULL ? "TLS, cannot use client keyfile without a certfile"
						  : "TLS, cannot use client certfile without a keyfile");
		return KNOT_EINVAL;
	}
	int code = gnutls_certificate_set_x509_key_file(trust->credentials, cert_file, key_file, GNUTLS_X509_FMT_PEM);
	if (code < 0) {
		trust_note(notes, TRANSPORT_NOTE_WARNING, "TLS, failed to add client certfile '%s' and keyfile '%s'",
				cert_file, key_file);
		trust_note(notes, TRANSPORT_NOTE_DETAIL, "TLS, %s", gnutls_strerror(code));
		return trust_error(code);
	}
	trust_note(notes, TRANSPORT_NOTE_DEBUG, "TLS, added client certfile '%s' and keyfile '%s'", cert_file,
			key_file);
	return KNOT_OK;
}

static knot_err_t trust_load(
		transport_trust_t *trust, const transport_trust_params_t *params, const trust_notes_t *notes)
{
	knot_err_t err = params->uses_system_ca ? trust_add_system(trust, notes) : KNOT_OK;
	for (unsigned i = 0; i < params->ca_file_count && err == KNOT_OK; i++) {
		err = trust_add_file(trust, params->ca_files[i], notes);
	}
	return err == KNOT_OK ? trust_add_client(trust, params->cert_file, params->key_file, notes) : err;
}

knot_err_t transport_trust_new(const transport_trust_params_t *params, transport_note_cb note, void *note_ctx,
		transport_trust_t **ret_trust)
{
	trust_notes_t notes = { note, note_ctx };
	transport_trust_t *trust = calloc(1, sizeof(*trust));
	if (trust == NULL || gnutls_certificate_allocate_credentials(&trust->credentials) != GNUTLS_E_SUCCESS) {
		free(trust);
		return KNOT_ENOMEM;
	}
	trust->is_strict = params->is_strict;
	trust->pin_count = params->pin_count;
	trust->ocsp_age_max_s = params->ocsp_age_max_s;
	memcpy(trust->pins, params->pins, sizeof(trust->pins));
	knot_err_t err = trust_load(trust, params, &notes);
	if (err != KNOT_OK) {
		transport_trust_free(trust);
		return err;
	}
	*ret_trust = trust;
	return KNOT_OK;
}

void transport_trust_free(transport_trust_t *take_trust)
{
	if (take_trust != NULL) {
		gnutls_certificate_free_credentials(take_trust->credentials);
		free(take_trust);
	}
}

/* ---- A server's ---- */

static gnutls_datum_t trust_datum(knot_bytes_t bytes)
{
	return (gnutls_datum_t){ (unsigned char *)bytes.data, (unsigned)bytes.len };
}

knot_err_t transport_identity_new(knot_bytes_t chain_pem, knot_bytes_t key_pem, transport_identity_t **ret_identity)
{
	gnutls_datum_t chain = trust_datum(chain_pem), key = trust_datum(key_pem);
	transport_identity_t *identity = calloc(1, sizeof(*identity));
	if (identity == NULL || gnutls_certificate_allocate_credentials(&identity->credentials) != GNUTLS_E_SUCCESS) {
		free(identity);
		return KNOT_ENOMEM;
	}
	int code = gnutls_certificate_set_x509_key_mem(identity->credentials, &chain, &key, GNUTLS_X509_FMT_PEM);
	if (code >= 0) {
		code = gnutls_session_ticket_key_generate(&identity->ticket_key);
	}
	if (code < 0) {
		transport_identity_free(identity);
		return trust_error(code);
	}
	*ret_identity = identity;
	return KNOT_OK;
}

knot_err_t transport_identity_staple(transport_identity_t *identity, knot_bytes_t ocsp_der)
{
	gnutls_datum_t response = trust_datum(ocsp_der);
	int code = gnutls_certificate_set_ocsp_status_request_mem(
			identity->credentials, &response, 0, GNUTLS_X509_FMT_DER);
	return code < 0 ? trust_error(code) : KNOT_OK;
}

static int trust_add_replay(void *ctx, time_t expiry, const gnutls_datum_t *key, const gnutls_datum_t *data)
{
	const transport_identity_t *identity = ctx;
	(void)data;
	bool is_new = identity->is_new(identity->is_new_ctx, (knot_bytes_t){ key->data, key->size }, (uint64_t)expiry);
	return is_new ? 0 : GNUTLS_E_DB_ENTRY_EXISTS;
}

knot_err_t transport_identity_allow_early_data(transport_identity_t *identity, transport_replay_cb is_new, void *ctx)
{
	if (gnutls_anti_replay_init(&identity->anti_replay) != GNUTLS_E_SUCCESS) {
		return KNOT_ENOMEM;
	}
	identity->is_new = is_new;
	identity->is_new_ctx = ctx;
	gnutls_anti_replay_set_add_function(identity->anti_replay, trust_add_replay);
	gnutls_anti_replay_set_ptr(identity->anti_replay, identity);
	return KNOT_OK;
}

void transport_identity_free(transport_identity_t *take_identity)
{
	if (take_identity == NULL) {
		return;
	}
	if (take_identity->anti_replay != NULL) {
		gnutls_anti_replay_deinit(take_identity->anti_replay);
	}
	if (take_identity->ticket_key.data != NULL) {
		gnutls_memset(take_identity->ticket_key.data, 0, take_identity->ticket_key.size);
		gnutls_free(take_identity->ticket_key.data);
	}
	gnutls_certificate_free_credentials(take_identity->credentials);
	free(take_identity);
}
