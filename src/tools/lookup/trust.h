/* SPDX-License-Identifier: BSD-2-Clause */
/** Encrypted transports of a query: what servers are verified by, and what handshakes say. */
#pragma once

#include "src/tools/lookup/lookup.h"

/** A transport_note_cb that prints warnings, and the rest with -d. ctx: the lookup_t. */
void lookup_note(void *ctx, transport_note_level_t level, const char *text);

/** Load what certificates are verified by into lookup->trust. False: files can't be read, which is said. */
bool lookup_trust(lookup_t *lookup, const lookup_query_t *query);

/** Drop what was loaded, and the connection that uses it: the settings it was made of are about to end. */
void lookup_forget_trust(lookup_t *lookup);

/** The name that the server has to prove: what was said, or that by which it was called; NULL: none. Static. */
const char *lookup_hostname(const lookup_query_t *query, const lookup_host_t *host);

/** A pin: the SHA-256 of a public key, in base64. False: it can't be one. */
bool lookup_scan_pin(const char *text, uint8_t ret_pin[static TRANSPORT_PIN_LEN]);
