/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/text/rdata_text.h"

#include "libknot/text/rdata_scan.h"

const char *knot_name_text_fault(knot_str_t text)
{
	bool is_apex = text.len == 1 && text.data[0] == '@'; /* the origin */
	return is_apex ? NULL : scan_name_chars(text);
}

knot_err_t knot_ttl_scan(knot_str_t text, uint32_t *ret_ttl, const char **ret_reason)
{
	const char *reason = scan_period(text.data, text.len, ret_ttl);
	if (reason != NULL) {
		*ret_reason = reason;
	}
	return reason == NULL ? KNOT_OK : KNOT_EPARSEFAIL;
}

knot_err_t knot_rdata_scan(uint16_t type, knot_str_t text, knot_name_t origin, knot_mut_bytes_t ret, uint16_t *ret_len,
		const char **ret_reason)
{
	lexer_t lex = { .pos = text.data, .end = text.data + text.len, .line = 1, .is_final = true };
	rdata_scanner_t s;
	rdata_scanner_init(&s, &lex, ret.data, ret.len);
	s.origin = origin;
	scan_status_t status = rdata_scan_record(&s, knot_rrdesc(type), type);
	if (status == SCAN_OK && lex.pos != lex.end) {
		status = SCAN_FAULT;
		s.reason = "unexpected data";
	}
	if (status != SCAN_OK) {
		if (ret_reason != NULL) {
			*ret_reason = s.reason;
		}
		return s.is_full && s.max < KNOT_RDATA_MAX ? KNOT_ESPACE : KNOT_EPARSEFAIL;
	}
	*ret_len = (uint16_t)s.len;
	return KNOT_OK;
}
