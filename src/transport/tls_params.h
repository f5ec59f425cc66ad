/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What a client demands of the server it connects to by TLS, and what it shows of itself: the settings of RFC 8310.
 *
 * Without CA, pins and hostname the profile is opportunistic: encrypted, and anybody's. With a CA, the chain and the
 * name must be right; with pins, the public key of a certificate of the chain must be among them; with both, both. All
 * strings are borrowed while transport_trust_new() runs, and copied there.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"

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
typedef enum { TRANSPORT_NOTE_DEBUG, TRANSPORT_NOTE_WARNING } transport_note_level_t;

/** Takes a line about a handshake in Knot's words, without prefix ("TLS, imported 1 certificates from 'ca.pem'"). */
typedef void (*transport_note_cb)(void *ctx, transport_note_level_t level, const char *text);

/** CAs, pins and certificates as loaded: shared by any number of connections and threads, never changed. */
typedef struct transport_trust transport_trust_t;

/**
 * Load the files. Something that can't be used is said to `note` and refused: KNOT_ENOENT, KNOT_EACCES, KNOT_EMALF
 * (a file), KNOT_EINVAL (certificate without key, too many), KNOT_ENOMEM. note may be NULL.
 */
KNOT_MUST_USE knot_err_t transport_trust_new(const transport_trust_params_t *params, transport_note_cb note,
		void *note_ctx, transport_trust_t **ret_trust);

/** NULL is allowed. No connection uses it any more. */
void transport_trust_free(transport_trust_t *take_trust);
