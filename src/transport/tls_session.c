/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transport/tls_session.h"

#include "libknot/base/encode.h"
#include "src/transport/ops.h"

#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <arpa/inet.h>
#include <stdlib.h>

enum { DN_MAX = 512, SAN_MAX = 256 };

/* ---- New ---- */

static bool tls_session_is_address(const char *name)
{
	uint8_t address[16];
	return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
}

/* Names in certificates and in the first flight have no dot at the end (RFC 6066 3, RFC 6125 6.4). */
static size_t tls_session_name_len(const char *name)
{
	size_t len = strlen(name);
	return len > 1 && name[len - 1] == '.' ? len - 1 : len;
}

/* The name in the first flight: only names, RFC 6066 3. */
static int tls_session_set_name(gnutls_session_t session, const transport_tls_params_t *params)
{
	const char *sni = params->sni;
	if (sni == NULL && params->hostname != NULL && !tls_session_is_address(params->hostname)) {
		sni = params->hostname;
	}
	return sni == NULL ? GNUTLS_E_SUCCESS
			   : gnutls_server_name_set(session, GNUTLS_NAME_DNS, sni, tls_session_name_len(sni));
}

static int tls_session_set_client(gnutls_session_t session, const transport_tls_params_t *params)
{
	int code = tls_session_set_name(session, params);
	if (code >= 0 && params->ticket.len > 0) {
		code = gnutls_session_set_data(session, params->ticket.data, params->ticket.len);
	}
	return code;
}

static int tls_session_set_server(gnutls_session_t session, const transport_identity_t *identity)
{
	if (identity->anti_replay != NULL) {
		gnutls_anti_replay_enable(session, identity->anti_replay);
	}
	return gnutls_session_ticket_enable_server(session, &identity->ticket_key);
}

static int tls_session_set(gnutls_session_t session, const tls_begin_t *begin, void *credentials)
{
	const transport_tls_params_t *params = begin->params;
	gnutls_datum_t alpn = { (unsigned char *)begin->alpn, (unsigned)strlen(begin->alpn) };
	int code = begin->priority == NULL ? gnutls_set_default_priority(session)
					   : gnutls_priority_set_direct(session, begin->priority, NULL);
	if (code >= 0) {
		code = gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials);
	}
	if (code >= 0) {
		code = gnutls_alpn_set_protocols(session, &alpn, 1, 0);
	}
	if (code >= 0) {
		code = params->role == TRANSPORT_CLIENT ? tls_session_set_client(session, params)
							: tls_session_set_server(session, params->identity);
	}
	return code;
}

/** A client without settings: shows no certificate, trusts any. One for all, made at first use and never freed. */
static gnutls_certificate_credentials_t tls_session_plain_credentials(void)
{
	static gnutls_certificate_credentials_t credentials;
	gnutls_certificate_credentials_t found = __atomic_load_n(&credentials, __ATOMIC_ACQUIRE);
	if (found != NULL) {
		return found;
	}
	gnutls_certificate_credentials_t made;
	if (gnutls_certificate_allocate_credentials(&made) != GNUTLS_E_SUCCESS) {
		return NULL;
	}
	if (__atomic_compare_exchange_n(&credentials, &found, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		return made;
	}
	gnutls_certificate_free_credentials(made);
	return found;
}

static gnutls_certificate_credentials_t tls_session_credentials(const transport_tls_params_t *params)
{
	if (params->role == TRANSPORT_SERVER) {
		return params->identity->credentials;
	}
	return params->trust != NULL ? params->trust->credentials : tls_session_plain_credentials();
}

knot_err_t tls_session_new(const tls_begin_t *begin, tls_check_t *ret_check, gnutls_session_t *ret_session)
{
	const transport_tls_params_t *params = begin->params;
	gnutls_certificate_credentials_t credentials = tls_session_credentials(params);
	unsigned role = params->role == TRANSPORT_CLIENT ? GNUTLS_CLIENT : GNUTLS_SERVER;
	bool has_early = params->role == TRANSPORT_SERVER && params->identity->anti_replay != NULL;
	unsigned flags = role | begin->flags | (has_early ? GNUTLS_ENABLE_EARLY_DATA : 0);
	tls_check_t check = {
		.trust = params->trust, .wall_s = params->wall_s, .notes = { params->note, params->note_ctx }
	};
	gnutls_session_t session = NULL;
	*ret_check = (tls_check_t){ 0 };
	*ret_session = NULL;
	if (params->hostname != NULL) {
		check.hostname = strndup(params->hostname, tls_session_name_len(params->hostname));
	}
	if (credentials == NULL || (params->hostname != NULL && check.hostname == NULL) ||
			gnutls_init(&session, flags) != GNUTLS_E_SUCCESS) {
		free(check.hostname);
		return KNOT_ENOMEM;
	}
	int code = tls_session_set(session, begin, credentials);
	if (code < 0) {
		tls_session_done(&check, session);
		return code == GNUTLS_E_MEMORY_ERROR ? KNOT_ENOMEM : KNOT_EINVAL;
	}
	*ret_check = check;
	*ret_session = session;
	return KNOT_OK;
}

void tls_session_done(tls_check_t *check, gnutls_session_t session)
{
	if (session != NULL) {
		gnutls_deinit(session);
	}
	free(check->hostname);
	check->hostname = NULL;
}

/* ---- The check of the server's certificate ---- */

/* Names of the certificate, for those who ask for details. */
static void tls_session_note_names(gnutls_x509_crt_t crt, const trust_notes_t *notes)
{
	for (unsigned i = 0; notes->cb != NULL; i++) {
		char san[SAN_MAX], address[INET6_ADDRSTRLEN];
		size_t len = sizeof(san) - 1;
		int type = gnutls_x509_crt_get_subject_alt_name(crt, i, san, &len, NULL);
		if (type < 0) {
			return;
		}
		san[len < sizeof(san) ? len : sizeof(san) - 1] = '\0';
		if (type == GNUTLS_SAN_IPADDRESS && (len == 4 || len == 16)) {
			(void)inet_ntop(len == 4 ? AF_INET : AF_INET6, san, address, sizeof(address));
			trust_note(notes, TRANSPORT_NOTE_DETAIL, "     SAN: %s", address);
		} else if (type == GNUTLS_SAN_DNSNAME || type == GNUTLS_SAN_URI || type == GNUTLS_SAN_RFC822NAME) {
			trust_note(notes, TRANSPORT_NOTE_DETAIL, "     SAN: %s", san);
		}
	}
}

/* RFC 7469 2.4: SHA-256 of the public key with its algorithm. */
static bool tls_session_find_pin(gnutls_x509_crt_t crt, uint8_t ret_pin[static TRANSPORT_PIN_LEN])
{
	size_t len = TRANSPORT_PIN_LEN;
	return gnutls_x509_crt_get_key_id(crt, GNUTLS_KEYID_USE_SHA256, ret_pin, &len) == GNUTLS_E_SUCCESS &&
	       len == TRANSPORT_PIN_LEN;
}

static bool tls_session_is_pinned(const transport_trust_t *trust, const uint8_t pin[static TRANSPORT_PIN_LEN])
{
	bool is_pinned = false;
	for (unsigned i = 0; trust != NULL && i < trust->pin_count; i++) {
		is_pinned = is_pinned || memcmp(trust->pins[i], pin, TRANSPORT_PIN_LEN) == 0;
	}
	return is_pinned;
}

/* One certificate of the chain; true if its key is among the pins. */
static bool tls_session_look_at(unsigned number, const gnutls_datum_t *der, tls_check_t *check)
{
	gnutls_x509_crt_t crt;
	char dn[DN_MAX] = "", text[KNOT_BASE64_LEN(TRANSPORT_PIN_LEN) + 1];
	size_t dn_len = sizeof(dn);
	uint8_t pin[TRANSPORT_PIN_LEN];
	if (gnutls_x509_crt_init(&crt) != GNUTLS_E_SUCCESS) {
		return false;
	}
	bool is_pinned = false;
	if (gnutls_x509_crt_import(crt, der, GNUTLS_X509_FMT_DER) == GNUTLS_E_SUCCESS &&
			tls_session_find_pin(crt, pin)) {
		is_pinned = tls_session_is_pinned(check->trust, pin);
		(void)gnutls_x509_crt_get_dn(crt, dn, &dn_len);
		text[knot_base64_print((knot_bytes_t){ pin, sizeof(pin) }, text)] = '\0';
		trust_note(&check->notes, TRANSPORT_NOTE_DEBUG, " #%u, %s", number, dn);
		tls_session_note_names(crt, &check->notes);
		trust_note(&check->notes, TRANSPORT_NOTE_DEBUG, "     SHA-256 PIN: %s%s", text,
				is_pinned ? ", MATCH" : "");
	}
	gnutls_x509_crt_deinit(crt);
	return is_pinned;
}

static bool tls_session_check_pins(gnutls_session_t session, tls_check_t *check)
{
	unsigned count = 0, pinned_count = 0;
	const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &count);
	if (chain == NULL || count == 0) {
		trust_note(&check->notes, TRANSPORT_NOTE_DEBUG, "TLS, empty certificate list");
		return false;
	}
	trust_note(&check->notes, TRANSPORT_NOTE_DEBUG, "TLS, received certificate hierarchy:");
	for (unsigned i = 0; i < count; i++) {
		pinned_count += tls_session_look_at(i + 1, &chain[i], check);
	}
	if (check->trust == NULL || check->trust->pin_count == 0) {
		trust_note(&check->notes, TRANSPORT_NOTE_DEBUG, "TLS, skipping certificate PIN check");
		return true;
	}
	if (pinned_count == 0) {
		trust_note(&check->notes, TRANSPORT_NOTE_DEBUG, "TLS, no certificate PIN match");
	}
	return pinned_count > 0;
}

/* Chain and name, RFC 8310 8.1. */
static bool tls_session_check_chain(gnutls_session_t session, tls_check_t *check)
{
	unsigned status = 0;
	gnutls_datum_t text = { 0 };
	if (check->trust == NULL || !check->trust->is_strict) {
		trust_note(&check->notes, TRANSPORT_NOTE_DEBUG, "TLS, skipping certificate verification");
		return true;
	}
	if (check->hostname == NULL) {
		trust_note(&check->notes, TRANSPORT_NOTE_WARNING,
				"TLS, no hostname provided, will not verify certificate owner");
	}
	if (gnutls_certificate_verify_peers3(session, check->hostname, &status) != GNUTLS_E_SUCCESS) {
		trust_note(&check->notes, TRANSPORT_NOTE_WARNING, "TLS, failed to verify peer certificate");
		return false;
	}
	if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) == GNUTLS_E_SUCCESS) {
		trust_note(&check->notes, TRANSPORT_NOTE_DEBUG, "TLS, %s", (const char *)text.data);
		gnutls_free(text.data);
	}
	return status == 0;
}

bool tls_session_check_peer(gnutls_session_t session, tls_check_t *check)
{
	bool is_good = false;
	if (gnutls_certificate_type_get(session) != GNUTLS_CRT_X509) {
		trust_note(&check->notes, TRANSPORT_NOTE_DEBUG, "TLS, invalid certificate type");
	} else if (tls_session_check_pins(session, check)) {
		bool wants_ocsp = check->trust != NULL && check->trust->ocsp_age_max_s > 0;
		is_good = (!wants_ocsp || tls_ocsp_is_good(session, check)) && tls_session_check_chain(session, check);
	}
	check->has_failed = !is_good;
	return is_good;
}

/* ---- What is known of it ---- */

void tls_session_describe(gnutls_session_t session, const char *before, transport_session_t *ret_session)
{
	char *text = gnutls_session_get_desc(session);
	if (text != NULL) {
		transport_session_add(ret_session, "%s%s", before, text);
		gnutls_free(text);
	}
}

knot_err_t tls_session_ticket(gnutls_session_t session, knot_mut_bytes_t *ret_ticket)
{
	gnutls_datum_t data;
	bool is_13 = gnutls_protocol_get_version(session) == GNUTLS_TLS1_3;
	/* Before a ticket of TLS 1.3 has come, gnutls_session_get_data2() would wait for it. */
	if (is_13 && (gnutls_session_get_flags(session) & GNUTLS_SFLAGS_SESSION_TICKET) == 0) {
		return KNOT_ENOENT;
	}
	int code = gnutls_session_get_data2(session, &data);
	if (code != GNUTLS_E_SUCCESS) {
		return code == GNUTLS_E_MEMORY_ERROR ? KNOT_ENOMEM : KNOT_ENOENT;
	}
	uint8_t *copy = malloc(data.size);
	if (copy != NULL) {
		memcpy(copy, data.data, data.size);
		*ret_ticket = (knot_mut_bytes_t){ copy, data.size };
	}
	gnutls_memset(data.data, 0, data.size);
	gnutls_free(data.data);
	return copy != NULL ? KNOT_OK : KNOT_ENOMEM;
}
