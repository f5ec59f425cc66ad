/* SPDX-License-Identifier: BSD-2-Clause */
/* SvcParams of SVCB and HTTPS: the rows of known keys and the check of the wire form (RFC 9460). */
#include "libknot/base/number.h"
#include "libknot/rr/rrdesc.h"

static const knot_svcparam_t rows[] = {
	{ SVCKEY_MANDATORY, SVCPARAM_MANDATORY, "mandatory" },                                       /* RFC 9460 8 */
	{ SVCKEY_ALPN, SVCPARAM_ALPN, "alpn" },                                                      /* RFC 9460 7.1 */
	{ SVCKEY_NO_DEFAULT_ALPN, SVCPARAM_EMPTY, "no-default-alpn" }, { 3, SVCPARAM_PORT, "port" }, /* RFC 9460 7.2 */
	{ 4, SVCPARAM_IPV4, "ipv4hint" },                                                            /* RFC 9460 7.3 */
	{ 5, SVCPARAM_BASE64, "ech" },                                                               /* RFC 9848 */
	{ 6, SVCPARAM_IPV6, "ipv6hint" }, { 7, SVCPARAM_DOHPATH, "dohpath" },                        /* RFC 9461 5 */
	{ 8, SVCPARAM_EMPTY, "ohttp" },                                                              /* RFC 9540 4 */
};

static const knot_svcparam_t opaque_row = { .kind = SVCPARAM_OPAQUE };

const knot_svcparam_t *knot_svcparam(uint16_t key)
{
	return key < KNOT_LEN(rows) ? &rows[key] : &opaque_row; /* rows[i].key == i */
}

/* RFC 9460 2.1: "key" and a decimal number without leading zeros; key65535 is reserved as invalid (14.3.2). */
static bool scan_numbered_key(knot_str_t name, uint16_t *ret_key)
{
	if (name.len < 4 || name.len > 8 || memcmp(name.data, "key", 3) != 0 || (name.data[3] == '0' && name.len > 4)) {
		return false;
	}
	uint64_t key;
	knot_str_t digits = { name.data + 3, name.len - 3 };
	if (knot_number_scan(digits, SVCKEY_INVALID - 1, &key) != KNOT_NUMBER_OK) {
		return false;
	}
	*ret_key = (uint16_t)key;
	return true;
}

bool knot_svcparam_key(knot_str_t name, uint16_t *ret_key)
{
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		if (knot_str_eq(name, knot_str_of(rows[i].name))) {
			*ret_key = rows[i].key;
			return true;
		}
	}
	return scan_numbered_key(name, ret_key);
}

static bool is_valid_utf8(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len;) {
		unsigned tail;
		uint32_t code, least;
		if (p[i] < 0x80) {
			tail = 0, code = p[i], least = 0;
		} else if ((p[i] & 0xE0) == 0xC0) {
			tail = 1, code = p[i] & 0x1F, least = 0x80;
		} else if ((p[i] & 0xF0) == 0xE0) {
			tail = 2, code = p[i] & 0x0F, least = 0x800;
		} else if ((p[i] & 0xF8) == 0xF0) {
			tail = 3, code = p[i] & 0x07, least = 0x10000;
		} else {
			return false;
		}
		if (tail > len - i - 1) {
			return false;
		}
		for (unsigned k = 1; k <= tail; k++) {
			if ((p[i + k] & 0xC0) != 0x80) {
				return false;
			}
			code = code << 6 | (p[i + k] & 0x3F);
		}
		if (code < least || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
			return false;
		}
		i += 1 + tail;
	}
	return true;
}

static bool check_value(knot_svcparam_kind_t kind, const uint8_t *p, size_t len)
{
	switch (kind) {
	case SVCPARAM_OPAQUE: return true;
	case SVCPARAM_MANDATORY:
		if (len == 0 || len % 2 != 0) {
			return false;
		}
		for (size_t i = 0; i < len; i += 2) {
			if (load_be16(p + i) == SVCKEY_MANDATORY ||
					(i > 0 && load_be16(p + i) <= load_be16(p + i - 2))) {
				return false;
			}
		}
		return true;
	case SVCPARAM_ALPN:
		for (size_t i = 0; i < len; i += 1U + p[i]) {
			if (p[i] == 0 || p[i] > len - i - 1) {
				return false;
			}
		}
		return len > 0;
	case SVCPARAM_EMPTY: return len == 0;
	case SVCPARAM_PORT: return len == 2;
	case SVCPARAM_IPV4: return len > 0 && len % 4 == 0;
	case SVCPARAM_IPV6: return len > 0 && len % 16 == 0;
	case SVCPARAM_BASE64: return len > 0;
	case SVCPARAM_DOHPATH: return len > 0 && is_valid_utf8(p, len);
	}
	return false;
}

/* RFC 9460 8: every key of the list is there. Both are well-formed and ascending: one walk over each. */
static bool has_keys(knot_bytes_t params, knot_bytes_t mandatory)
{
	size_t at = 0;
	for (size_t i = 0; i < mandatory.len; i += 2) {
		uint16_t key = load_be16(mandatory.data + i);
		while (at < params.len && load_be16(params.data + at) < key) {
			at += 4U + load_be16(params.data + at + 2);
		}
		if (at >= params.len || load_be16(params.data + at) != key) {
			return false;
		}
	}
	return true;
}

bool knot_svcparams_check(knot_bytes_t params)
{
	knot_bytes_t mandatory = { 0 };
	bool has_alpn = false, has_no_default_alpn = false;
	int32_t previous = -1;
	knot_reader_t r = knot_reader_of(params);
	while (knot_reader_left(&r) > 0) {
		uint16_t key = knot_read_u16(&r);
		uint16_t len = knot_read_u16(&r);
		const uint8_t *value = knot_read(&r, len);
		if (r.failed || key <= previous || key == SVCKEY_INVALID ||
				!check_value(knot_svcparam(key)->kind, value, len)) {
			return false;
		}
		previous = key;
		if (key == SVCKEY_MANDATORY) {
			mandatory = (knot_bytes_t){ value, len };
		}
		has_alpn |= key == SVCKEY_ALPN;
		has_no_default_alpn |= key == SVCKEY_NO_DEFAULT_ALPN;
	}
	if (has_no_default_alpn && !has_alpn) { /* RFC 9460 7.1.1 */
		return false;
	}
	return has_keys(params, mandatory);
}
