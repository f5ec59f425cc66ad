/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * RR types and classes: numbers, mnemonics, and the row of facts per type that every consumer walks.
 *
 * The rows are in rr/rrtype.def: number, mnemonic, RFC, and the list of RDATA fields. Wire check, canonical form,
 * compression, presentation form both ways, fuzz dictionaries and documentation all follow from the row. A type
 * without a row is opaque data in RFC 3597 form. Constant tables, no state.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"

typedef enum {
	KNOT_CLASS_IN = 1,
	KNOT_CLASS_CH = 3,
	KNOT_CLASS_NONE = 254,
	KNOT_CLASS_ANY = 255,
} knot_rrclass_t;

/** Type numbers that code names. An RR type travels as uint16_t, because any value may come from a peer. */
enum {
	KNOT_TYPE_A = 1,
	KNOT_TYPE_NS = 2,
	KNOT_TYPE_CNAME = 5,
	KNOT_TYPE_SOA = 6,
	KNOT_TYPE_PTR = 12,
	KNOT_TYPE_MX = 15,
	KNOT_TYPE_TXT = 16,
	KNOT_TYPE_SIG = 24,
	KNOT_TYPE_KEY = 25,
	KNOT_TYPE_AAAA = 28,
	KNOT_TYPE_SRV = 33,
	KNOT_TYPE_DNAME = 39,
	KNOT_TYPE_OPT = 41,
	KNOT_TYPE_DS = 43,
	KNOT_TYPE_RRSIG = 46,
	KNOT_TYPE_NSEC = 47,
	KNOT_TYPE_DNSKEY = 48,
	KNOT_TYPE_NSEC3 = 50,
	KNOT_TYPE_NSEC3PARAM = 51,
	KNOT_TYPE_CDS = 59,
	KNOT_TYPE_CDNSKEY = 60,
	KNOT_TYPE_CSYNC = 62,
	KNOT_TYPE_ZONEMD = 63,
	KNOT_TYPE_SVCB = 64,
	KNOT_TYPE_HTTPS = 65,
	KNOT_TYPE_DSYNC = 66,
	KNOT_TYPE_NXNAME = 128,
	KNOT_TYPE_TKEY = 249,
	KNOT_TYPE_TSIG = 250,
	KNOT_TYPE_IXFR = 251,
	KNOT_TYPE_AXFR = 252,
	KNOT_TYPE_ANY = 255,
	KNOT_TYPE_URI = 256,
	KNOT_TYPE_CAA = 257,
};

enum { KNOT_TYPE_TEXT_MAX = 32 }; /* longest mnemonic with NUL; "TYPE65535" is shorter */

/**
 * Number of a mnemonic ("AAAA", any case) or of "TYPE123" (RFC 3597 5). KNOT_EPARAM: neither.
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_rrtype_scan(knot_str_t text, uint16_t *ret_type);

/** Mnemonic of a type, or "TYPEn". Returns its length without NUL. */
KNOT_EXPORT size_t knot_rrtype_print(uint16_t type, char ret_text[static KNOT_TYPE_TEXT_MAX]);

/** As the two above for classes: IN, CH, NONE, ANY, "CLASSn". */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_rrclass_scan(knot_str_t text, uint16_t *ret_class);
KNOT_EXPORT size_t knot_rrclass_print(uint16_t rrclass, char ret_text[static KNOT_TYPE_TEXT_MAX]);

/**
 * True for types that are never zone data: OPT, NXNAME (RFC 9824 3.1), TKEY, TSIG, query types 251–255 (RFC 6895 3.1).
 */
KNOT_EXPORT bool knot_rrtype_is_meta(uint16_t type);

/** True for types that may stand beside a CNAME: RRSIG, NSEC, KEY and their forerunners SIG, NXT (RFC 4034 3, RFC
 * 2181 10.1). */
KNOT_EXPORT bool knot_rrtype_beside_cname(uint16_t type);
