/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * RDATA in uncompressed wire form: checking, the names inside, canonical form, order.
 *
 * Everything walks the field rows of rr/rrtype.def. No allocation, no state, any thread.
 * RFC 3597 4 (which names may be compressed), RFC 4034 6.2 (lower case) with RFC 6840 5.1, RFC 4034 6.3 (order).
 */
#pragma once

#include "libknot/name/name.h"
#include "libknot/rr/rrtype.h"

#include <assert.h>

enum {
	KNOT_RDATA_MAX = 65535,   /* bytes */
	KNOT_RDATA_NAMES_MAX = 2, /* names in one RDATA: SOA, RP, MINFO, PX have two */
};

enum {
	KNOT_RDATA_COMPRESS = 1 << 0,   /* may be compressed when sent (RFC 1035 types, RFC 3597 4) */
	KNOT_RDATA_LOWER = 1 << 1,      /* lower-cased in canonical form (RFC 4034 6.2) */
	KNOT_RDATA_ADDITIONAL = 1 << 2, /* its addresses belong in ADDITIONAL: NS, MX, SRV, SVCB, HTTPS targets */
};

/* A SOA ends with five numbers: serial, refresh, retry, expire, minimum (RFC 1035 3.3.13). */
enum {
	KNOT_SOA_NUMBERS_LEN = 20,
	KNOT_SOA_LEN_MAX = 2 * KNOT_NAME_MAX + KNOT_SOA_NUMBERS_LEN,
};

/** Where the serial is in checked RDATA of a SOA. */
static inline size_t knot_soa_serial_off(size_t rdata_len)
{
	assert(rdata_len >= KNOT_SOA_NUMBERS_LEN + 2 && rdata_len <= KNOT_SOA_LEN_MAX);
	return rdata_len - KNOT_SOA_NUMBERS_LEN;
}

/** The serial in checked RDATA of a SOA. */
static inline uint32_t knot_soa_serial(knot_bytes_t rdata)
{
	return load_be32(rdata.data + knot_soa_serial_off(rdata.len));
}

/** Set it. */
static inline void knot_soa_set_serial(knot_mut_bytes_t rdata, uint32_t serial)
{
	store_be32(rdata.data + knot_soa_serial_off(rdata.len), serial);
}

/** One name within RDATA: `wire[off..off+len)` of the RDATA. */
typedef struct {
	uint16_t off;  /* bytes from the start of the RDATA */
	uint8_t len;   /* 1–255 bytes */
	uint8_t flags; /* KNOT_RDATA_* */
} knot_rdata_name_t;

/**
 * Check that `rdata` is a whole, valid, uncompressed RDATA of `type` (types without a row: always).
 * KNOT_EMALF: wrong length, bad name, bad bitmap …; the record must not be stored.
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_rdata_check(uint16_t type, knot_bytes_t rdata);

/** The names within checked RDATA, in order; returns how many (0–KNOT_RDATA_NAMES_MAX). */
KNOT_EXPORT unsigned knot_rdata_names(
		uint16_t type, knot_bytes_t rdata, knot_rdata_name_t ret_names[static KNOT_RDATA_NAMES_MAX]);

/** Bring the letters of the names that canonical form lower-cases to lower case, in place. rdata: checked. */
KNOT_EXPORT void knot_rdata_canonical(uint16_t type, knot_mut_bytes_t rdata);

/** The key tag of checked RDATA of a DNSKEY, CDNSKEY or KEY, RFC 4034 B. */
KNOT_EXPORT uint16_t knot_dnskey_tag(knot_bytes_t rdata);

/** Canonical order of two RDATA in canonical form: as byte strings, RFC 4034 6.3. <0, 0, >0. */
KNOT_EXPORT int knot_rdata_cmp(knot_bytes_t a, knot_bytes_t b);

/**
 * Expand the possibly compressed RDATA of a message into `ret`.
 * msg: whole message; pos, len: the RDATA within it. ret_len: bytes written, at most `ret.len`.
 * KNOT_EMALF: as knot_rdata_check(). KNOT_ESPACE: `ret` is too short (KNOT_RDATA_MAX always suffices).
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_rdata_unpack(
		uint16_t type, knot_bytes_t msg, size_t pos, uint16_t len, knot_mut_bytes_t ret, uint16_t *ret_len);
