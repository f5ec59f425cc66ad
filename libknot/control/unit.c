/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/control/unit.h"

enum { ITEM_CODE = 16 }; /* code of item 0; lower bytes are types */

static bool has_items(knot_ctl_type_t type)
{
	return type == KNOT_CTL_TYPE_DATA || type == KNOT_CTL_TYPE_EXTRA;
}

static knot_ctl_scan_t end_unit(
		knot_ctl_scanner_t *scanner, knot_bytes_t bytes, knot_ctl_unit_t *ret_unit, size_t *ret_used)
{
	*ret_unit = (knot_ctl_unit_t){ .type = scanner->type };
	for (unsigned i = 0; i < KNOT_CTL_IDX__COUNT; i++) {
		if (scanner->items[i].off != 0) {
			ret_unit->items[i] =
					(knot_bytes_t){ bytes.data + scanner->items[i].off, scanner->items[i].len };
		}
	}
	*ret_used = scanner->pos;
	*scanner = (knot_ctl_scanner_t){ 0 };
	return KNOT_CTL_SCAN_UNIT;
}

knot_ctl_scan_t knot_ctl_scan_on(
		knot_ctl_scanner_t *scanner, knot_bytes_t bytes, knot_ctl_unit_t *ret_unit, size_t *ret_used)
{
	while (scanner->pos < bytes.len) {
		uint8_t code = bytes.data[scanner->pos];
		if (code <= KNOT_CTL_TYPE_BLOCK) {
			if (scanner->has_type) {
				return end_unit(scanner, bytes, ret_unit, ret_used);
			}
			scanner->type = (knot_ctl_type_t)code;
			scanner->has_type = true;
			scanner->pos++;
			if (!has_items(scanner->type)) {
				return end_unit(scanner, bytes, ret_unit, ret_used);
			}
			continue;
		}
		if (code < ITEM_CODE || code >= ITEM_CODE + KNOT_CTL_IDX__COUNT) {
			return KNOT_CTL_SCAN_BAD;
		}
		size_t left = bytes.len - scanner->pos;
		if (left < 3 || left - 3 < load_be16(bytes.data + scanner->pos + 1)) {
			return KNOT_CTL_SCAN_MORE;
		}
		size_t len = load_be16(bytes.data + scanner->pos + 1);
		scanner->items[code - ITEM_CODE].off = scanner->pos + 3;
		scanner->items[code - ITEM_CODE].len = len;
		scanner->pos += 3 + len;
	}
	return KNOT_CTL_SCAN_MORE;
}

knot_ctl_scan_t knot_ctl_scan(knot_bytes_t bytes, knot_ctl_unit_t *ret_unit, size_t *ret_used)
{
	knot_ctl_scanner_t scanner = { 0 };
	return knot_ctl_scan_on(&scanner, bytes, ret_unit, ret_used);
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
