/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/rr/rrtype.h"

#include <assert.h>
#include <stdio.h>

#include "libknot/base/number.h"
#include "libknot/rr/rdata.h"
#include "libknot/rr/rrdesc.h"

/* RFC 4034 A.1 and the IANA registry of DNSSEC algorithms. */
static const knot_field_enum_t algorithms = { .rows = {
							      { "RSAMD5", 1 },
							      { "DH", 2 },
							      { "DSA", 3 },
							      { "RSASHA1", 5 },
							      { "DSA-NSEC3-SHA1", 6 },
							      { "RSASHA1-NSEC3-SHA1", 7 },
							      { "RSASHA256", 8 },
							      { "RSASHA512", 10 },
							      { "ECC-GOST", 12 },
							      { "ECDSAP256SHA256", 13 },
							      { "ECDSAP384SHA384", 14 },
							      { "ED25519", 15 },
							      { "ED448", 16 },
							      { "INDIRECT", 252 },
							      { "PRIVATEDNS", 253 },
							      { "PRIVATEOID", 254 },
					      } };

/* RFC 4398 2.1. */
static const knot_field_enum_t cert_types = { .rows = {
							      { "PKIX", 1 },
							      { "SPKI", 2 },
							      { "PGP", 3 },
							      { "IPKIX", 4 },
							      { "ISPKI", 5 },
							      { "IPGP", 6 },
							      { "ACPKIX", 7 },
							      { "IACPKIX", 8 },
							      { "URI", 253 },
							      { "OID", 254 },
					      } };

/* RFC 9859 2.2. */
static const knot_field_enum_t dsync_schemes = { .is_printed = true, .rows = { { "NOTIFY", 1 } } };

#define F(k, w)                                                                                                        \
	{                                                                                                              \
		.kind = FIELD_##k, .what = (w)                                                                         \
	}
#define ENUM(k, w, e)                                                                                                  \
	{                                                                                                              \
		.kind = FIELD_##k, .what = (w), .names = (e)                                                           \
	}
#define REST(k, w, m)                                                                                                  \
	{                                                                                                              \
		.kind = FIELD_##k, .what = (w), .min = (m)                                                             \
	}
#define NAME(w, f)                                                                                                     \
	{                                                                                                              \
		.kind = FIELD_NAME, .what = (w), .flags = (f)                                                          \
	}
/* A field that begins a line; the key or signature at the end. */
#define LINE(k, w)                                                                                                     \
	{                                                                                                              \
		.kind = FIELD_##k, .what = (w), .flags = FIELD_NEW_LINE                                                \
	}
#define CRYPTO(w, m)                                                                                                   \
	{                                                                                                              \
		.kind = FIELD_BASE64, .what = (w), .min = (m), .flags = FIELD_NEW_LINE | FIELD_CRYPTO                  \
	}
/* Bytes to the end that may have many digits. */
#define DIGITS(k, w, m)                                                                                                \
	{                                                                                                              \
		.kind = FIELD_##k, .what = (w), .min = (m), .flags = FIELD_NEW_LINE                                    \
	}
#define ALGORITHM     ENUM(U8, "algorithm", &algorithms)
#define DS_FIELDS     F(U16, "key tag"), ALGORITHM, F(U8, "digest type"), DIGITS(HEX, "digest", 1)
#define DNSKEY_FIELDS F(U16, "flags"), F(U8, "protocol"), ALGORITHM, CRYPTO("public key", 1)
#define TLSA_FIELDS   F(U8, "certificate usage"), F(U8, "selector"), F(U8, "matching type"), DIGITS(HEX, "data", 1)
#define SIGNATURE_FIELDS                                                                                               \
	F(TYPE, "type covered"), ALGORITHM, F(U8, "labels"), F(U32, "original TTL"),                                   \
			F(TIMESTAMP, "signature expiration"), LINE(TIMESTAMP, "signature inception"),                  \
			F(U16, "key tag"), NAME("signer's name", L), CRYPTO("signature", 1)

enum { OBSOLETE = ROW_GENERIC | ROW_NUMBERED };
enum { C = KNOT_RDATA_COMPRESS, D = FIELD_DECOMPRESS, L = KNOT_RDATA_LOWER, A = KNOT_RDATA_ADDITIONAL };

#define RR_TYPE(name, number, row_flags, rfc_text, ...)                                                                \
	{ .type = (number),                                                                                            \
		.flags = (row_flags),                                                                                  \
		.mnemonic = #name,                                                                                     \
		.mnemonic_len = sizeof(#name) - 1,                                                                     \
		.rfc = (rfc_text),                                                                                     \
		.fields = { __VA_ARGS__ } },
static const knot_rrdesc_t rows[] = {
#include "libknot/rr/rrtype.def"
};
#undef RR_TYPE

static const knot_rrdesc_t opaque_row = { .fields = { F(OPAQUE, "data") } };

/* Row number + 1 of each type; 0: no row. 64 KiB of zeros that are never touched beat a search per record. */
enum {
#define RR_TYPE(name, ...) ROW_OF_##name,
#include "libknot/rr/rrtype.def"
#undef RR_TYPE
	ROW_COUNT
};
static_assert(ROW_COUNT < 255, "row numbers fit a byte");
static const uint8_t row_of_type[65536] = {
#define RR_TYPE(name, number, ...) [number] = ROW_OF_##name + 1,
#include "libknot/rr/rrtype.def"
#undef RR_TYPE
};

static const struct {
	const char *text;
	uint16_t rrclass;
} classes[] = {
	{ "IN", KNOT_CLASS_IN },
	{ "CH", KNOT_CLASS_CH },
	{ "NONE", KNOT_CLASS_NONE },
	{ "ANY", KNOT_CLASS_ANY },
};

const knot_rrdesc_t *knot_rrdesc(uint16_t type)
{
	uint8_t row = row_of_type[type];
	return row != 0 ? &rows[row - 1] : &opaque_row;
}

const knot_rrdesc_t *knot_rrdesc_rows(size_t *ret_count)
{
	*ret_count = KNOT_LEN(rows);
	return rows;
}

static bool text_eq(knot_str_t text, const char *upper, size_t upper_len)
{
	if (text.len != upper_len) {
		return false;
	}
	for (size_t i = 0; i < upper_len; i++) {
		char c = text.data[i];
		if ((c >= 'a' && c <= 'z' ? c - 32 : c) != upper[i]) {
			return false;
		}
	}
	return true;
}

/* RFC 3597 5: TYPE and CLASS followed by a decimal number of 0–65535. */
static bool scan_numbered(knot_str_t text, const char *prefix, uint16_t *ret)
{
	size_t prefix_len = strlen(prefix);
	if (text.len <= prefix_len || text.len > prefix_len + 5 ||
			!text_eq((knot_str_t){ text.data, prefix_len }, prefix, prefix_len)) {
		return false;
	}
	uint64_t number;
	knot_str_t digits = { text.data + prefix_len, text.len - prefix_len };
	if (knot_number_scan(digits, UINT16_MAX, &number) != KNOT_NUMBER_OK) {
		return false;
	}
	*ret = (uint16_t)number;
	return true;
}

knot_err_t knot_rrtype_scan(knot_str_t text, uint16_t *ret_type)
{
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		if (text_eq(text, rows[i].mnemonic, rows[i].mnemonic_len)) {
			*ret_type = rows[i].type;
			return KNOT_OK;
		}
	}
	return scan_numbered(text, "TYPE", ret_type) ? KNOT_OK : KNOT_EPARAM;
}

size_t knot_rrtype_print(uint16_t type, char ret_text[static KNOT_TYPE_TEXT_MAX])
{
	const knot_rrdesc_t *row = knot_rrdesc(type);
	if (row->mnemonic == NULL || (row->flags & ROW_NUMBERED)) {
		return (size_t)snprintf(ret_text, KNOT_TYPE_TEXT_MAX, "TYPE%u", type);
	}
	memcpy(ret_text, row->mnemonic, row->mnemonic_len + 1U);
	return row->mnemonic_len;
}

knot_err_t knot_rrclass_scan(knot_str_t text, uint16_t *ret_class)
{
	for (size_t i = 0; i < KNOT_LEN(classes); i++) {
		if (text_eq(text, classes[i].text, strlen(classes[i].text))) {
			*ret_class = classes[i].rrclass;
			return KNOT_OK;
		}
	}
	return scan_numbered(text, "CLASS", ret_class) ? KNOT_OK : KNOT_EPARAM;
}

size_t knot_rrclass_print(uint16_t rrclass, char ret_text[static KNOT_TYPE_TEXT_MAX])
{
	for (size_t i = 0; i < KNOT_LEN(classes); i++) {
		if (classes[i].rrclass == rrclass) {
			return (size_t)snprintf(ret_text, KNOT_TYPE_TEXT_MAX, "%s", classes[i].text);
		}
	}
	return (size_t)snprintf(ret_text, KNOT_TYPE_TEXT_MAX, "CLASS%u", rrclass);
}

bool knot_rrtype_is_meta(uint16_t type)
{
	return (knot_rrdesc(type)->flags & ROW_META) != 0;
}

bool knot_rrtype_beside_cname(uint16_t type)
{
	return (knot_rrdesc(type)->flags & ROW_BESIDE_CNAME) != 0;
}
