/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: what a row of rr/rrtype.def is made of, and finding the row of a type.
 *
 * A row lists the fields of the RDATA from first to last. Everything that looks into RDATA (check, names, canonical
 * form, presentation both ways) walks that list and knows field kinds, not types; so a new type of known kinds is one
 * line. Constant tables only.
 */
#pragma once

#include "libknot/rr/rrtype.h"

typedef enum {
	FIELD_END = 0, /* closes the list; bytes left over are malformed */
	FIELD_U8,
	FIELD_U16,
	FIELD_U32,
	FIELD_PERIOD,    /* u32 seconds; text may use units (1h30m) */
	FIELD_TIMESTAMP, /* u32 seconds since 1970, RFC 4034 3.2; text YYYYMMDDHHMMSS or a number */
	FIELD_TYPE,      /* u16 RR type */
	FIELD_IPV4,      /* 4 bytes */
	FIELD_IPV6,      /* 16 bytes */
	FIELD_EUI48,     /* 6 bytes as hex pairs with dashes, RFC 7043 */
	FIELD_EUI64,     /* 8 bytes as hex pairs with dashes, RFC 7043 */
	FIELD_NODE_ID,   /* 8 bytes as four hex groups with colons, RFC 6742 */
	FIELD_NAME,      /* uncompressed name, flags KNOT_RDATA_* and FIELD_DECOMPRESS */
	FIELD_STRING,    /* length byte and that many bytes, RFC 1035 3.3 */
	FIELD_TAG, /* length byte and 1+ bytes, unquoted; RFC 8659 4.1 wants letters and digits, Knot serves others too
		    */
	FIELD_STRINGS,   /* one or more FIELD_STRING to the end */
	FIELD_TEXT,      /* bytes to the end, one quoted text */
	FIELD_HEX,       /* bytes to the end */
	FIELD_BASE64,    /* bytes to the end */
	FIELD_SALT,      /* length byte and bytes, hex or "-" when empty, RFC 5155 3.3 */
	FIELD_HASH,      /* length byte and bytes, base32hex, RFC 5155 3.3 */
	FIELD_BITMAP,    /* type bitmap windows to the end, RFC 4034 4.1.2 */
	FIELD_APL,       /* address prefixes to the end, RFC 3123 4 */
	FIELD_LOC,       /* 16 bytes, RFC 1876 2 */
	FIELD_GATEWAY,   /* by the gateway type two bytes before it, RFC 4025 2.5 */
	FIELD_SVCPARAMS, /* SvcParams to the end, RFC 9460 2.2 */
	FIELD_OPAQUE,    /* bytes to the end with no presentation form but \#, RFC 3597 5 */
} knot_field_kind_t;

enum {
	/* Beside KNOT_RDATA_COMPRESS, _LOWER, _ADDITIONAL (rdata.h): */
	FIELD_DECOMPRESS = 1 << 3, /* name that a peer may have compressed, RFC 3597 4 */
	/* Printing, text/rdata_text.h: */
	FIELD_NEW_LINE = 1 << 4, /* begins a line where records are printed on several */
	FIELD_CRYPTO = 1 << 5,   /* key or signature: nothing that people read */
};

/** Mnemonics of a number field, accepted when scanning, printed only where `is_printed`. */
typedef struct {
	bool is_printed;
	struct {
		const char *text; /* NULL ends the list */
		uint16_t value;
	} rows[20];
} knot_field_enum_t;

typedef struct {
	uint8_t kind; /* knot_field_kind_t */
	uint8_t flags;
	uint8_t min;                    /* least bytes of a field that runs to the end */
	const char *what;               /* the RFC's name of the field, for messages */
	const knot_field_enum_t *names; /* mnemonics of a number, or NULL */
} knot_field_t;

enum { FIELD_COUNT_MAX = 9 }; /* RRSIG */

enum {
	ROW_META = 1 << 0, /* never zone data */
	ROW_BESIDE_CNAME = 1 << 1,
	/* Printed as Knot prints obsolete types: */
	ROW_GENERIC = 1 << 2,  /* RDATA as \# */
	ROW_NUMBERED = 1 << 3, /* type as TYPEn */
	ROW_KEY = 1 << 4,      /* RDATA of DNSKEY's form: has a key tag */
};

typedef struct {
	uint16_t type;
	uint8_t flags; /* ROW_* */
	uint8_t mnemonic_len;
	const char *mnemonic;
	const char *rfc;
	knot_field_t fields[FIELD_COUNT_MAX + 1];
} knot_rrdesc_t;

/** The row of a type. A type without a row gets the row of opaque data (mnemonic NULL). Never NULL. */
const knot_rrdesc_t *knot_rrdesc(uint16_t type);

/** All rows, in the order of rrtype.def. */
const knot_rrdesc_t *knot_rrdesc_rows(size_t *ret_count);

/** How the value of a SvcParam looks, RFC 9460 14.3.2. */
typedef enum {
	SVCPARAM_OPAQUE,    /* any bytes, text */
	SVCPARAM_MANDATORY, /* keys in ascending order */
	SVCPARAM_ALPN,      /* character strings, none empty */
	SVCPARAM_EMPTY,
	SVCPARAM_PORT, /* u16 */
	SVCPARAM_IPV4, /* one or more addresses */
	SVCPARAM_IPV6,
	SVCPARAM_BASE64,
	SVCPARAM_DOHPATH, /* URI template with the variable dns, RFC 9461 5 */
} knot_svcparam_kind_t;

enum {
	SVCKEY_MANDATORY = 0,
	SVCKEY_ALPN = 1,
	SVCKEY_NO_DEFAULT_ALPN = 2,
	SVCKEY_INVALID = 65535,
};

typedef struct {
	uint16_t key;
	knot_svcparam_kind_t kind;
	const char *name;
} knot_svcparam_t;

/** The row of a key; an unknown key gets a row of kind SVCPARAM_OPAQUE with name NULL. */
const knot_svcparam_t *knot_svcparam(uint16_t key);

/** Key of a name ("alpn", "key123"), lower case only (RFC 9460 2.1); false: neither. */
bool knot_svcparam_key(knot_str_t name, uint16_t *ret_key);

/** True if the SvcParams are well-formed: keys ascending, values valid, mandatory ones present (RFC 9460 2.2, 8). */
bool knot_svcparams_check(knot_bytes_t params);

/** True if `bitmap` is a well-formed type bitmap (RFC 4034 4.1.2): windows ascending, 1–32 bytes, no trailing zero. */
bool knot_bitmap_check(knot_bytes_t bitmap);
