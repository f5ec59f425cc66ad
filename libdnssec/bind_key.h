/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Private keys as BIND's dnssec-keygen writes them: lines `Name: value` of a `.private` file ("Private-key-format:
 * v1.2" and later), numbers in base64, times in digits. Pure; any thread. What is private is cleared in memory.
 */
#pragma once

#include "libdnssec/key.h"

/**
 * Give a public key, that of the `.key` file beside it, the private one of such a text. KNOT_EMALF: the text isn't of
 * this kind. KNOT_EKEYALGORITHM: it is of another algorithm. KNOT_EPRIVATEKEY: numbers are missing, or they belong to
 * another public key. KNOT_ENOMEM. Not of a key that is shared.
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_bind_get(knot_bytes_t text, dnssec_key_t *key);

/** A time of the text, seconds since 1970; 0: it isn't said. name: as "Activate". KNOT_EMALF: it isn't 14 digits of a
 * date and time (UTC). */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_bind_time(knot_bytes_t text, const char *name, uint64_t *ret_s);
