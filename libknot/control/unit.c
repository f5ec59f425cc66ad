/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/control/unit.h"

enum { ITEM_CODE = 16 };    /* code of item 0; lower bytes are types */

static bool has_items(knot_ctl_type_t type)
{
	return type == KNOT_CTL_TYPE_DATA || type == KNOT_CTL_TYPE_EXTRA;
}

knot_ctl_scan_t knot_ctl_scan(knot_bytes_t bytes, knot_ctl_unit_t *ret_unit, size_t *ret_used)
{
	knot_ctl_unit_t unit = { 0 };
	bool has_type = false;
	size_t pos = 0;
	while (pos < bytes.len) {
		uint8_t code = bytes.data[pos];
		if (code <= KNOT_CTL_TYPE_BLOCK) {
			if (has_type) {
				*ret_unit = unit;
				*ret_used = pos;
				return KNOT_CTL_SCAN_UNIT;
			}
			unit.type = (knot_ctl_type_t)code;
			has_type = true;
			pos++;
			if (!has_items(unit.type)) {
				*ret_unit = unit;
				*ret_used = pos;
				return KNOT_CTL_SCAN_UNIT;
			}
			continue;
		}
		if (code < ITEM_CODE || code >= ITEM_CODE + KNOT_CTL_IDX__COUNT) {
			return KNOT_CTL_SCAN_BAD;
		}
		if (bytes.len - pos < 3) {
			return KNOT_CTL_SCAN_MORE;
		}
		size_t len = load_be16(bytes.data + pos + 1);
		if (bytes.len - pos - 3 < len) {
			return KNOT_CTL_SCAN_MORE;
		}
		unit.items[code - ITEM_CODE] = (knot_bytes_t){ bytes.data + pos + 3, len };
		pos += 3 + len;
	}
	return KNOT_CTL_SCAN_MORE;
}

knot_err_t knot_ctl_unit_len(knot_ctl_type_t type, const knot_ctl_data_t *data, size_t *ret_len)
{
	if ((unsigned)type > KNOT_CTL_TYPE_BLOCK) {
		return KNOT_ECTLTYPE;
	}
	size_t len = 1;
	for (unsigned i = 0; data != NULL && has_items(type) && i < KNOT_CTL_IDX__COUNT; i++) {
		if ((*data)[i] == NULL) {
			continue;
		}
		size_t item_len = strlen((*data)[i]);
		if (item_len > KNOT_CTL_ITEM_MAX) {
			return KNOT_ERANGE;
		}
		len += 3 + item_len;
	}
	*ret_len = len;
	return KNOT_OK;
}

void knot_ctl_unit_write(knot_writer_t *writer, knot_ctl_type_t type, const knot_ctl_data_t *data)
{
	knot_write_u8(writer, (uint8_t)type);
	for (unsigned i = 0; data != NULL && has_items(type) && i < KNOT_CTL_IDX__COUNT; i++) {
		if ((*data)[i] == NULL) {
			continue;
		}
		size_t len = strlen((*data)[i]);
		knot_write_u8(writer, (uint8_t)(ITEM_CODE + i));
		knot_write_u16(writer, (uint16_t)len);
		knot_write(writer, (*data)[i], len);
	}
}
