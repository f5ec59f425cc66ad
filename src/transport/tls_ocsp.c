/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The OCSP response that a server staples to its certificate (RFC 6066 8, RFC 6960), checked step by step: each step
 * has its own sentence, those of Knot's utilities.
 */
#include "src/transport/tls_session.h"

#include <gnutls/ocsp.h>
#include <gnutls/x509.h>

/** What the steps collect. */
typedef struct {
	gnutls_session_t session;
	const tls_check_t *check;
	gnutls_datum_t der;
	gnutls_ocsp_resp_t response;
	gnutls_x509_crt_t server, issuer;
	unsigned status;
	unsigned cert_status;
	time_t this_update, next_update;
} tls_ocsp_t;

static bool tls_ocsp_find(tls_ocsp_t *o)
{
	return gnutls_ocsp_status_request_get(o->session, &o->der) == GNUTLS_E_SUCCESS;
}

static bool tls_ocsp_begin(tls_ocsp_t *o)
{
	return gnutls_ocsp_resp_init(&o->response) == GNUTLS_E_SUCCESS;
}

static bool tls_ocsp_import(tls_ocsp_t *o)
{
	return gnutls_ocsp_resp_import(o->response, &o->der) == GNUTLS_E_SUCCESS;
}

static bool tls_ocsp_begin_server(tls_ocsp_t *o)
{
	return gnutls_x509_crt_init(&o->server) == GNUTLS_E_SUCCESS;
}

static bool tls_ocsp_import_server(tls_ocsp_t *o)
{
	unsigned count = 0;
	const gnutls_datum_t *chain = gnutls_certificate_get_peers(o->session, &count);
	return chain != NULL && count > 0 &&
	       gnutls_x509_crt_import(o->server, &chain[0], GNUTLS_X509_FMT_DER) == GNUTLS_E_SUCCESS;
}

static bool tls_ocsp_begin_issuer(tls_ocsp_t *o)
{
	return gnutls_x509_crt_init(&o->issuer) == GNUTLS_E_SUCCESS;
}

/* The CA that we trust; if we trust none, the one that the server says. */
static bool tls_ocsp_find_issuer(tls_ocsp_t *o)
{
	gnutls_datum_t der = { 0 };
	gnutls_x509_crt_t trusted;
	unsigned count = 0;
	const gnutls_datum_t *chain = gnutls_certificate_get_peers(o->session, &count);
	if (gnutls_certificate_get_issuer(o->check->trust->credentials, o->server, &trusted, 0) == GNUTLS_E_SUCCESS) {
		bool is_good = gnutls_x509_crt_export2(trusted, GNUTLS_X509_FMT_DER, &der) == GNUTLS_E_SUCCESS &&
			       gnutls_x509_crt_import(o->issuer, &der, GNUTLS_X509_FMT_DER) == GNUTLS_E_SUCCESS;
		gnutls_free(der.data);
		return is_good;
	}
	for (unsigned i = 1; chain != NULL && i < count; i++) {
		if (gnutls_x509_crt_import(o->issuer, &chain[i], GNUTLS_X509_FMT_DER) != GNUTLS_E_SUCCESS) {
			return false;
		}
		if (gnutls_x509_crt_check_issuer(o->server, o->issuer) != 0) {
			return true;
		}
		gnutls_x509_crt_deinit(o->issuer);
		o->issuer = NULL;
		if (!tls_ocsp_begin_issuer(o)) {
			return false;
		}
	}
	return false;
}

static bool tls_ocsp_is_for_server(tls_ocsp_t *o)
{
	return gnutls_ocsp_resp_check_crt(o->response, 0, o->server) == GNUTLS_E_SUCCESS;
}

static bool tls_ocsp_verify(tls_ocsp_t *o)
{
	return gnutls_ocsp_resp_verify_direct(o->response, o->issuer, &o->status, 0) == GNUTLS_E_SUCCESS;
}

static bool tls_ocsp_is_verified(tls_ocsp_t *o)
{
	return o->status == 0;
}

static bool tls_ocsp_read(tls_ocsp_t *o)
{
	return gnutls_ocsp_resp_get_single(o->response, 0, NULL, NULL, NULL, NULL, &o->cert_status, &o->this_update,
			       &o->next_update, NULL, NULL) == GNUTLS_E_SUCCESS;
}

/* "Unknown" (RFC 6960 2.2) vouches for nothing either. */
static bool tls_ocsp_is_not_revoked(tls_ocsp_t *o)
{
	return o->cert_status == GNUTLS_OCSP_CERT_GOOD;
}

static bool tls_ocsp_is_young(tls_ocsp_t *o)
{
	uint64_t since_s = o->this_update > 0 ? (uint64_t)o->this_update : 0;
	return o->check->wall_s <= since_s + o->check->trust->ocsp_age_max_s;
}

static bool tls_ocsp_is_newest(tls_ocsp_t *o)
{
	return o->next_update == (time_t)-1 || o->check->wall_s <= (uint64_t)o->next_update;
}

static const struct {
	bool (*step)(tls_ocsp_t *o);
	const char *failure;
} tls_ocsp_steps[] = {
	{ tls_ocsp_find, "TLS, unable to retrieve stapled OCSP data" },
	{ tls_ocsp_begin, "TLS, unable to init OCSP data" },
	{ tls_ocsp_import, "TLS, unable to import OCSP response" },
	{ tls_ocsp_begin_server, "TLS, unable to init server cert when verifying OCSP" },
	{ tls_ocsp_import_server, "TLS, unable to import server cert when verifying OCSP" },
	{ tls_ocsp_begin_issuer, "TLS, unable to init issuer cert when verifying OCSP" },
	{ tls_ocsp_find_issuer, "TLS, unable to get issuer (CA) cert when verifying OCSP" },
	{ tls_ocsp_is_for_server, "TLS, OCSP response either empty or not for provided server cert" },
	{ tls_ocsp_verify, "TLS, unable to verify OCSP response against issuer cert" },
	{ tls_ocsp_is_verified, "TLS, got a non-zero status when verifying OCSP response against issuer cert" },
	{ tls_ocsp_read, "TLS, error reading OCSP response" },
	{ tls_ocsp_is_not_revoked, "TLS, OCSP data shows that cert was revoked" },
	{ tls_ocsp_is_young, "TLS, OCSP response is out of date." },
	{ tls_ocsp_is_newest, "TLS, a newer OCSP response is available but was not sent" },
};

bool tls_ocsp_is_good(gnutls_session_t session, tls_check_t *check)
{
	tls_ocsp_t o = { .session = session, .check = check };
	size_t i = 0;
	while (i < KNOT_LEN(tls_ocsp_steps) && tls_ocsp_steps[i].step(&o)) {
		i++;
	}
	bool is_good = i == KNOT_LEN(tls_ocsp_steps);
	if (!is_good) {
		trust_note(&check->notes, TRANSPORT_NOTE_WARNING, "%s", tls_ocsp_steps[i].failure);
		trust_note(&check->notes, TRANSPORT_NOTE_WARNING, "TLS, failed to validate required OCSP data");
	}
	if (o.response != NULL) {
		gnutls_ocsp_resp_deinit(o.response);
	}
	if (o.server != NULL) {
		gnutls_x509_crt_deinit(o.server);
	}
	if (o.issuer != NULL) {
		gnutls_x509_crt_deinit(o.issuer);
	}
	return is_good;
}
