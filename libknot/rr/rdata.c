/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/rr/rdata.h"

#include "libknot/base/assert.h"
#include "libknot/rr/rrdesc.h"

enum { FIELD_BAD = -1 };

bool knot_bitmap_check(knot_bytes_t bitmap)
{
	int previous = -1;
	for (size_t i = 0; i < bitmap.len;) {
		if (bitmap.len - i < 2) {
			return false;
		}
		uint8_t window = bitmap.data[i], len = bitmap.data[i + 1];
		if (window <= previous || len < 1 || len > 32 || len > bitmap.len - i - 2 ||
				bitmap.data[i + 1 + len] == 0) {
			return false;
		}
		previous = window;
		i += 2U + len;
	}
	return true;
}

/* RFC 3123 4: family, prefix length, negation and length of the address, address without trailing zero bytes. */
static bool check_apl(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len;) {
		if (len - i < 4) {
			return false;
		}
		uint16_t family = load_be16(p + i);
		uint8_t prefix = p[i + 2], address_len = p[i + 3] & 0x7F;
		if (address_len > len - i - 4 || (address_len > 0 && p[i + 3 + address_len] == 0) ||
				(family == 1 && (prefix > 32 || address_len > 4)) ||
				(family == 2 && (prefix > 128 || address_len > 16))) {
			return false;
		}
		i += 4U + address_len;
	}
	return true;
}

/* RFC 1876 2: version 0; size and precisions are digit and power of ten; degrees within their range. */
static bool check_loc(const uint8_t *p)
{
	/* Two: a value beyond int makes all values of its enum unsigned (since GCC 13). */
	enum { EQUATOR = 1U << 31 };
	enum { DEGREE = 3600 * 1000 };
	for (unsigned i = 1; i <= 3; i++) {
		if ((p[i] >> 4) > 9 || (p[i] & 0x0F) > 9) {
			return false;
		}
	}
	int64_t latitude = (int64_t)load_be32(p + 4) - EQUATOR, longitude = (int64_t)load_be32(p + 8) - EQUATOR;
	return p[0] == 0 && latitude >= -90 * DEGREE && latitude <= 90 * DEGREE && longitude >= -180 * DEGREE &&
	       longitude <= 180 * DEGREE;
}

static bool check_strings(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i += 1U + p[i]) {
		if (p[i] > len - i - 1) {
			return false;
		}
	}
	return len > 0;
}

static int name_len(const uint8_t *p, size_t left)
{
	knot_name_t name;
	return knot_name_read((knot_bytes_t){ p, left }, &name) == KNOT_OK ? name.len : FIELD_BAD;
}

/* Length of the counted field (length byte and bytes) at `p`. */
static int counted_len(const uint8_t *p, size_t left)
{
	return left >= 1 && p[0] < left ? 1 + p[0] : FIELD_BAD;
}

static int fixed_len(size_t left, size_t len)
{
	return left >= len ? (int)len : FIELD_BAD;
}

/* RFC 4025 2.5: what the gateway is stands two bytes before it. */
static int gateway_len(const uint8_t *rdata, size_t pos, size_t left)
{
	assert(pos >= 2); /* rows of rrtype.def have two fields before it */
	switch (rdata[pos - 2]) {
	case 0: return 0;
	case 1: return fixed_len(left, 4);
	case 2: return fixed_len(left, 16);
	case 3: return name_len(rdata + pos, left);
	default: return FIELD_BAD;
	}
}

static int rest_len(const knot_field_t *field, size_t left, bool is_valid)
{
	return left >= field->min && is_valid ? (int)left : FIELD_BAD;
}

/* Length of the field at `pos` of the RDATA if it is whole and valid, else FIELD_BAD. */
static int field_len(const knot_field_t *field, knot_bytes_t rdata, size_t pos)
{
	KNOT_ASSERT_SLOW(pos <= rdata.len);
	const uint8_t *p = rdata.data + pos;
	size_t left = rdata.len - pos;
	int len;
	switch ((knot_field_kind_t)field->kind) {
	case FIELD_U8: return fixed_len(left, 1);
	case FIELD_U16:
	case FIELD_TYPE: return fixed_len(left, 2);
	case FIELD_U32:
	case FIELD_PERIOD:
	case FIELD_TIMESTAMP:
	case FIELD_IPV4: return fixed_len(left, 4);
	case FIELD_IPV6: return fixed_len(left, 16);
	case FIELD_EUI48: return fixed_len(left, 6);
	case FIELD_EUI64:
	case FIELD_NODE_ID: return fixed_len(left, 8);
	case FIELD_NAME: return name_len(p, left);
	case FIELD_STRING:
	case FIELD_SALT: return counted_len(p, left);
	case FIELD_HASH:
	case FIELD_TAG: len = counted_len(p, left); return len > 1 ? len : FIELD_BAD;
	case FIELD_STRINGS: return rest_len(field, left, check_strings(p, left));
	case FIELD_TEXT:
	case FIELD_HEX:
	case FIELD_BASE64:
	case FIELD_OPAQUE: return rest_len(field, left, true);
	case FIELD_BITMAP: return rest_len(field, left, knot_bitmap_check((knot_bytes_t){ p, left }));
	case FIELD_APL: return rest_len(field, left, check_apl(p, left));
	case FIELD_LOC: return left >= 16 && check_loc(p) ? 16 : FIELD_BAD;
	case FIELD_GATEWAY: return gateway_len(rdata.data, pos, left);
	case FIELD_SVCPARAMS: return rest_len(field, left, knot_svcparams_check((knot_bytes_t){ p, left }));
	case FIELD_END: break;
	}
	return FIELD_BAD;
}

knot_err_t knot_rdata_check(uint16_t type, knot_bytes_t rdata)
{
	size_t pos = 0;
	if (rdata.len > KNOT_RDATA_MAX) {
		return KNOT_EMALF;
	}
	for (const knot_field_t *field = knot_rrdesc(type)->fields; field->kind != FIELD_END; field++) {
		int len = field_len(field, rdata, pos);
		if (len == FIELD_BAD) {
			return KNOT_EMALF;
		}
		pos += (size_t)len;
	}
	return pos == rdata.len ? KNOT_OK : KNOT_EMALF;
}

/* True if no name can follow this field: the walk over names may stop here. */
static bool is_rest(uint8_t kind)
{
	return kind == FIELD_STRINGS || kind == FIELD_TEXT || kind == FIELD_HEX || kind == FIELD_BASE64 ||
	       kind == FIELD_OPAQUE || kind == FIELD_BITMAP || kind == FIELD_APL || kind == FIELD_SVCPARAMS;
}

static uint8_t names_flags(const knot_field_t *field)
{
	return field->flags & (KNOT_RDATA_COMPRESS | KNOT_RDATA_LOWER | KNOT_RDATA_ADDITIONAL);
}

unsigned knot_rdata_names(uint16_t type, knot_bytes_t rdata, knot_rdata_name_t ret_names[static KNOT_RDATA_NAMES_MAX])
{
	unsigned count = 0;
	size_t pos = 0;
	const knot_field_t *fields = knot_rrdesc(type)->fields;
	if (fields[1].kind == FIELD_END && rdata.len > 0 && rdata.len <= KNOT_NAME_MAX) { /* NS, A, AAAA, most of all */
		ret_names[0] = (knot_rdata_name_t){ .len = (uint8_t)rdata.len, .flags = names_flags(&fields[0]) };
		return fields[0].kind == FIELD_NAME;
	}
	for (const knot_field_t *field = fields; field->kind != FIELD_END; field++) {
		if (is_rest(field->kind)) {
			break;
		}
		int len = field_len(field, rdata, pos);
		if (len == FIELD_BAD) {
			break;
		}
		bool is_name = field->kind == FIELD_NAME || (field->kind == FIELD_GATEWAY && rdata.data[pos - 2] == 3);
		if (is_name && count < KNOT_RDATA_NAMES_MAX) {
			ret_names[count++] = (knot_rdata_name_t){
				.off = (uint16_t)pos,
				.len = (uint8_t)len,
				.flags = names_flags(field),
			};
		}
		pos += (size_t)len;
	}
	return count;
}

void knot_rdata_canonical(uint16_t type, knot_mut_bytes_t rdata)
{
	KNOT_ASSERT_SLOW(knot_rdata_check(type, (knot_bytes_t){ rdata.data, rdata.len }) == KNOT_OK);
	const knot_field_t *fields = knot_rrdesc(type)->fields;
	if (fields[1].kind == FIELD_END && rdata.len > 0 &&
			rdata.len <= KNOT_NAME_MAX) { /* an address or a name, most of all */
		if (fields[0].kind == FIELD_NAME && (fields[0].flags & KNOT_RDATA_LOWER)) {
			/* The lengths of labels are no letters. */
			knot_name_lower((knot_name_t){ rdata.data, (uint8_t)rdata.len, 0 }, rdata.data);
		}
		return;
	}
	knot_rdata_name_t names[KNOT_RDATA_NAMES_MAX];
	unsigned count = knot_rdata_names(type, (knot_bytes_t){ rdata.data, rdata.len }, names);
	for (unsigned i = 0; i < count; i++) {
		if (names[i].flags & KNOT_RDATA_LOWER) {
			knot_name_lower(knot_name_of(rdata.data + names[i].off), rdata.data + names[i].off);
		}
	}
}

int knot_rdata_cmp(knot_bytes_t a, knot_bytes_t b)
{
	size_t common = a.len < b.len ? a.len : b.len;
	int order = common > 0 ? memcmp(a.data, b.data, common) : 0;
	return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* Expand the name at *pos, which must end within `end`. */
static knot_err_t unpack_name(knot_bytes_t msg, size_t *pos, size_t end, knot_writer_t *w)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	knot_err_t err = knot_name_unpack((knot_bytes_t){ msg.data, end }, pos, wire, &name);
	if (err != KNOT_OK) {
		return err;
	}
	knot_write(w, name.wire, name.len);
	return KNOT_OK;
}

knot_err_t knot_rdata_unpack(
		uint16_t type, knot_bytes_t msg, size_t pos, uint16_t len, knot_mut_bytes_t ret, uint16_t *ret_len)
{
	if (pos > msg.len || len > msg.len - pos) {
		return KNOT_EMALF;
	}
	size_t end = pos + len;
	knot_bytes_t packed = { msg.data, end }; /* pointers lead backwards only, so nothing behind `end` is needed */
	knot_writer_t w = knot_writer_of(
			(knot_mut_bytes_t){ ret.data, ret.len < KNOT_RDATA_MAX ? ret.len : KNOT_RDATA_MAX });
	for (const knot_field_t *field = knot_rrdesc(type)->fields; field->kind != FIELD_END; field++) {
		if (field->kind == FIELD_NAME && (field->flags & FIELD_DECOMPRESS)) {
			knot_err_t err = unpack_name(packed, &pos, end, &w);
			if (err != KNOT_OK) {
				return KNOT_EMALF;
			}
			continue;
		}
		/* No field looks back further than the RDATA's start; FIELD_GATEWAY's type has no compressed name
		 * before it. */
		int field_bytes = field_len(field, packed, pos);
		if (field_bytes == FIELD_BAD) {
			return KNOT_EMALF;
		}
		knot_write(&w, msg.data + pos, (size_t)field_bytes);
		pos += (size_t)field_bytes;
	}
	if (pos != end) {
		return KNOT_EMALF;
	}
	if (w.failed) {
		return KNOT_ESPACE;
	}
	KNOT_ASSERT_SLOW(knot_rdata_check(type, (knot_bytes_t){ w.data, w.len }) == KNOT_OK);
	*ret_len = (uint16_t)w.len;
	return KNOT_OK;
}

uint16_t knot_dnskey_tag(knot_bytes_t rdata)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < rdata.len; i++) {
		sum += i % 2 == 0 ? (uint32_t)rdata.data[i] << 8 : rdata.data[i];
	}
	return (uint16_t)(sum + (sum >> 16));
}
