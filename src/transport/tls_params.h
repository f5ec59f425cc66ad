/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What a client demands of the server it connects to by TLS, and what it shows of itself: the settings of RFC 8310.
 *
 * Without CA, pins and hostname the profile is opportunistic: encrypted, and anybody's. With a CA, the chain and the
 * name must be right; with pins, the public key of a certificate of the chain must be among them; with both, both. All
 * strings are borrowed while transport_trust_new() runs, and copied there.
 */
#pragma once

#include "src/transport/transport.h"

enum { TRANSPORT_PIN_LEN = 32, TRANSPORT_CA_FILES_MAX = 32, TRANSPORT_PINS_MAX = 32 };

typedef struct {
	bool is_strict;         /* the certificate has to be trusted: some +tls-ca or +tls-hostname */
	bool uses_system_ca;    /* CAs of the system */
	unsigned ca_file_count; /* PEM files with CAs, beside those of the system */
	const char *ca_files[TRANSPORT_CA_FILES_MAX];
	unsigned pin_count; /* SHA-256 of SubjectPublicKeyInfo, RFC 7469 2.4 */
	uint8_t pins[TRANSPORT_PINS_MAX][TRANSPORT_PIN_LEN];
	const char *cert_file, *key_file; /* of the client, PEM; both or none (NULL) */
	uint32_t ocsp_age_max_s;          /* demand a stapled OCSP response, at most so old; 0: don't */
} transport_trust_params_t;

/** Levels of what is said on the way. */
typedef enum {
	TRANSPORT_NOTE_DETAIL, /* more than Knot 3.2 says: names in certificates, alerts (kdig -dd) */
	TRANSPORT_NOTE_DEBUG,  /* kdig -d */
	TRANSPORT_NOTE_WARNING,
} transport_note_level_t;

/** Takes a line about a handshake in Knot's words, without prefix ("TLS, imported 1 certificates from 'ca.pem'"). */
typedef void (*transport_note_cb)(void *ctx, transport_note_level_t level, const char *text);

/** CAs, pins and certificates as loaded: shared by any number of connections and threads, never changed. */
typedef struct transport_trust transport_trust_t;

/**
 * Load the files. Something that can't be used is said to `note` and refused: KNOT_ENOENT (a file can't be opened),
 * KNOT_EMALF (its content), KNOT_EINVAL (certificate without key), KNOT_ENOMEM. note may be NULL.
 */
KNOT_MUST_USE knot_err_t transport_trust_new(const transport_trust_params_t *params, transport_note_cb note,
		void *note_ctx, transport_trust_t **ret_trust);

/** NULL is allowed. No connection uses it any more. */
void transport_trust_free(transport_trust_t *take_trust);

/** What a server shows of itself, and the key of its tickets: shared as above. */
typedef struct transport_identity transport_identity_t;

/** PEM of the certificate chain, the server's own first, and of its key. KNOT_EMALF: not that; KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t transport_identity_new(
		knot_bytes_t chain_pem, knot_bytes_t key_pem, transport_identity_t **ret_identity);

/** A stapled OCSP response for its certificate, DER. KNOT_EMALF: it isn't one for it; KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t transport_identity_staple(transport_identity_t *identity, knot_bytes_t ocsp_der);

/**
 * Accept early data (RFC 8446 8): `is_new` remembers what it is shown until expiry_s, and says false to what it has
 * been shown before, or can't remember; the client then sends again after the handshake. Called by any thread that
 * drives connections. Without this early data is refused.
 */
typedef bool (*transport_replay_cb)(void *ctx, knot_bytes_t key, uint64_t expiry_s);
KNOT_MUST_USE knot_err_t transport_identity_allow_early_data(
		transport_identity_t *identity, transport_replay_cb is_new, void *ctx);

/** NULL is allowed. No connection uses it any more. */
void transport_identity_free(transport_identity_t *take_identity);

/** One end of a session. Strings and the ticket are borrowed by the call that takes this, and copied there. */
typedef struct {
	transport_role_t role;
	const transport_trust_t *trust;       /* client: borrowed while the connection lives; NULL: opportunistic */
	const transport_identity_t *identity; /* server: the same; not NULL */
	const char *hostname;                 /* client: that the certificate must have; NULL: none */
	const char *sni;                      /* client: NULL: `hostname` if that is a name, else nothing */
	/* Client: from transport_ticket(), of a session with the same trust and hostname, as a session that is resumed
	 * shows no certificate. len 0: none. */
	knot_bytes_t ticket;
	bool uses_early_data;   /* client with a ticket: messages leave with the first flight; they may be replayed */
	uint64_t wall_s;        /* seconds since 1970, for ages of OCSP responses */
	transport_note_cb note; /* NULL: nobody listens */
	void *note_ctx;
} transport_tls_params_t;

/** What the session can be resumed with, once the server has sent it. KNOT_ENOENT: not yet, KNOT_ENOMEM. Owned by the
 * caller, free(). */
KNOT_MUST_USE knot_err_t transport_ticket(const transport_t *t, knot_mut_bytes_t *ret_ticket);
