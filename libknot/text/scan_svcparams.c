/* SPDX-License-Identifier: BSD-2-Clause */
/* SvcParams (RFC 9460 2.1 and appendix A): key=value in any order in the text, sorted by key in the RDATA. */
#include "libknot/text/scan_fields.h"

/*
 * Next item of a comma-separated list in raw text (appendix A.1). Text escapes are resolved first, then, for lists of
 * texts (`is_escaped`), the list's own: backslash before comma or backslash.
 */
static bool svcparam_next_item(
		knot_str_t text, size_t *pos, bool is_escaped, uint8_t *item, size_t max, size_t *ret_len)
{
	size_t len = 0;
	while (*pos < text.len) {
		uint8_t c;
		size_t at = *pos;
		if (!scan_char(text.data, text.len, &at, &c)) {
			return false;
		}
		if (c == ',') {
			break;
		}
		if (is_escaped && c == '\\' && (at == text.len || !scan_char(text.data, text.len, &at, &c))) {
			return false;
		}
		if (len == max) {
			return false;
		}
		item[len++] = c;
		*pos = at;
	}
	*ret_len = len;
	return len > 0;
}

static void svcparam_put_mandatory(rdata_scanner_t *s, size_t start)
{
	/* Keys were appended in any order; insertion sort in place, duplicates are a fault. */
	for (size_t i = start + 2; i < s->len; i += 2) {
		uint16_t key = load_be16(s->out + i);
		size_t k = i;
		for (; k > start && load_be16(s->out + k - 2) > key; k -= 2) {
			store_be16(s->out + k, load_be16(s->out + k - 2));
		}
		store_be16(s->out + k, key);
	}
	for (size_t i = start; i + 4 <= s->len; i += 2) {
		if (load_be16(s->out + i) == load_be16(s->out + i + 2)) {
			scan_set_fault(s, "duplicate SvcParam key");
		}
	}
}

static void svcparam_put_list_item(rdata_scanner_t *s, knot_svcparam_kind_t kind, const uint8_t *item, size_t len)
{
	uint8_t address[16];
	uint16_t key;
	const char *text = (const char *)item;
	if (kind == SVCPARAM_ALPN) {
		(void)(scan_put_u8(s, (uint8_t)len) && scan_put_bytes(s, item, len));
	} else if (kind == SVCPARAM_IPV4 && scan_parse_ipv4(text, len, address)) {
		scan_put_bytes(s, address, 4);
	} else if (kind == SVCPARAM_IPV6 && scan_parse_ipv6(text, len, address)) {
		scan_put_bytes(s, address, 16);
	} else if (kind == SVCPARAM_MANDATORY && knot_svcparam_key((knot_str_t){ text, len }, &key)) {
		scan_put_u16(s, key);
	} else {
		scan_set_fault(s, "invalid SvcParam value");
	}
}

static void svcparam_put_list(rdata_scanner_t *s, knot_svcparam_kind_t kind, knot_str_t text)
{
	uint8_t item[UINT8_MAX];
	size_t start = s->len, pos = 0, len;
	bool has_more = true;
	while (has_more && s->status == SCAN_OK) {
		if (!svcparam_next_item(text, &pos, kind == SVCPARAM_ALPN, item, sizeof(item), &len)) {
			scan_set_fault(s, "invalid SvcParam value");
			return;
		}
		svcparam_put_list_item(s, kind, item, len);
		has_more = pos < text.len; /* at a comma, however it is spelt; one at the end leaves an empty item */
		if (has_more) {
			uint8_t comma;
			(void)scan_char(text.data, text.len, &pos, &comma);
		}
	}
	if (kind == SVCPARAM_MANDATORY && s->status == SCAN_OK) {
		svcparam_put_mandatory(s, start);
	}
}

static void svcparam_put_text(rdata_scanner_t *s, knot_str_t text)
{
	size_t len;
	const char *reason = scan_text(text.data, text.len, s->out + s->len, s->max - s->len, &len);
	if (reason != NULL) {
		s->is_full = text.len > s->max - s->len;
		scan_set_fault(s, reason);
		return;
	}
	s->len += len;
}

/* The value of one SvcParam from raw text, behind what is written. */
static void svcparam_put_value(rdata_scanner_t *s, knot_svcparam_kind_t kind, knot_str_t text)
{
	uint32_t port;
	knot_base64_state_t base64 = { 0 };
	if (kind == SVCPARAM_EMPTY ? text.len > 0 : kind != SVCPARAM_OPAQUE && text.len == 0) {
		scan_set_fault(s, text.len > 0 ? "unexpected SvcParam value" : "missing SvcParam value");
		return;
	}
	switch (kind) {
	case SVCPARAM_OPAQUE:
	case SVCPARAM_DOHPATH: svcparam_put_text(s, text); break;
	case SVCPARAM_EMPTY: break;
	case SVCPARAM_PORT:
		if (scan_number(text.data, text.len, UINT16_MAX, &port) != NULL) {
			scan_set_fault(s, "invalid SvcParam value");
		} else {
			scan_put_u16(s, (uint16_t)port);
		}
		break;
	case SVCPARAM_BASE64:
		if (scan_put_base64(s, text.data, text.len, &base64) && base64.digit_count != 0) {
			scan_set_fault(s, "incomplete base64 data");
		}
		break;
	case SVCPARAM_MANDATORY:
	case SVCPARAM_ALPN:
	case SVCPARAM_IPV4:
	case SVCPARAM_IPV6: svcparam_put_list(s, kind, text); break;
	}
}

/* Moves the parameter at `at` to its place among the sorted ones from `start`. False: its key is there already. */
static bool svcparam_sort(rdata_scanner_t *s, size_t start, size_t at)
{
	uint16_t key = load_be16(s->out + at);
	size_t pos = start;
	while (pos < at && load_be16(s->out + pos) < key) {
		pos += 4U + load_be16(s->out + pos + 2);
	}
	if (pos == at) {
		return true;
	}
	if (load_be16(s->out + pos) == key) {
		return false;
	}
	/* Rotate [pos..at)[at..len) by three reversals: no scratch memory. */
	size_t bounds[][2] = { { pos, at }, { at, s->len }, { pos, s->len } };
	for (size_t i = 0; i < KNOT_LEN(bounds); i++) {
		for (size_t a = bounds[i][0], b = bounds[i][1]; a + 1 < b; a++) {
			b--;
			uint8_t byte = s->out[a];
			s->out[a] = s->out[b];
			s->out[b] = byte;
		}
	}
	return true;
}

/* Takes the quotes off `value` in place. False: quotes elsewhere than around the whole value. */
static bool svcparam_unquote(knot_str_t *value)
{
	if (value->len < 2 || value->data[0] != '"' || value->data[value->len - 1] != '"') {
		return false;
	}
	*value = (knot_str_t){ value->data + 1, value->len - 2 };
	for (size_t i = 0; i < value->len; i += value->data[i] == '\\' ? 2 : 1) {
		if (value->data[i] == '"') {
			return false;
		}
	}
	return true;
}

/* key or key=value or key="value" */
static void svcparam_scan_one(rdata_scanner_t *s, size_t start)
{
	knot_str_t key_text = { s->tok.data, s->tok.len }, value = { s->tok.data, 0 };
	const char *equals = memchr(s->tok.data, '=', s->tok.len);
	if (equals != NULL) {
		key_text.len = (size_t)(equals - s->tok.data);
		value = (knot_str_t){ equals + 1, s->tok.len - key_text.len - 1 };
	}
	uint16_t key;
	if (!knot_svcparam_key(key_text, &key)) {
		scan_set_fault(s, "invalid SvcParam key");
		return;
	}
	if (s->tok.has_quote && !svcparam_unquote(&value)) {
		scan_set_fault(s, "invalid SvcParam value");
		return;
	}
	size_t at = s->len;
	if (!scan_put_u16(s, key) || !scan_put_u16(s, 0)) {
		return;
	}
	svcparam_put_value(s, knot_svcparam(key)->kind, value);
	if (s->status != SCAN_OK) {
		return;
	}
	store_be16(s->out + at + 2, (uint16_t)(s->len - at - 4));
	if (!svcparam_sort(s, start, at)) {
		scan_set_fault(s, "duplicate SvcParam key");
		return;
	}
	scan_advance(s);
}

void scan_svcparams(rdata_scanner_t *s)
{
	size_t start = s->len;
	while (!scan_at_end(s)) {
		if (s->tok.kind != TOKEN_WORD) {
			scan_set_fault(s, "invalid SvcParam key");
			return;
		}
		svcparam_scan_one(s, start);
	}
	if (s->status == SCAN_OK && !knot_svcparams_check((knot_bytes_t){ s->out + start, s->len - start })) {
		scan_set_fault(s, "invalid SvcParams, mandatory key missing or invalid value");
	}
}
