/* SPDX-License-Identifier: BSD-2-Clause */
/** What is inside of credentials. For this folder only. */
#pragma once

#include "src/transport/tls_params.h"

#include <gnutls/gnutls.h>

struct transport_trust {
	gnutls_certificate_credentials_t credentials;
	bool is_strict;
	unsigned pin_count;
	uint8_t pins[TRANSPORT_PINS_MAX][TRANSPORT_PIN_LEN];
	uint32_t ocsp_age_max_s;
};

struct transport_identity {
	gnutls_certificate_credentials_t credentials;
	gnutls_datum_t ticket_key;
	gnutls_anti_replay_t anti_replay; /* NULL: early data is refused */
	transport_replay_cb is_new;
	void *is_new_ctx;
};

/** Where notes go. */
typedef struct {
	transport_note_cb cb; /* NULL: nowhere */
	void *ctx;
} trust_notes_t;

void trust_note(const trust_notes_t *notes, transport_note_level_t level, const char *format, ...)
		__attribute__((format(printf, 3, 4)));
