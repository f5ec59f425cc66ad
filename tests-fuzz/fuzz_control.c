/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Bytes of a control socket of any shape: every unit lies within the input, its items lie within the unit, what has
 * been scanned can be written and scanned again to the same unit, and a unit is whole or not wherever the input is cut.
 */
#include "libknot/control/unit.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static void check_views(const knot_ctl_unit_t *unit, const uint8_t *start, size_t used)
{
	for (unsigned i = 0; i < KNOT_CTL_IDX__COUNT; i++) {
		if (unit->items[i].data != NULL) {
			check(unit->items[i].data >= start + 3 &&
					unit->items[i].data + unit->items[i].len <= start + used);
		}
	}
}

static bool same_text(knot_bytes_t item, const char *text)
{
	return item.data == NULL ? text == NULL
				 : text != NULL && item.len == strlen(text) && memcmp(item.data, text, item.len) == 0;
}

/* Items as strings (cut at a NUL), written, followed by an END, scanned. */
static void check_round_trip(const knot_ctl_unit_t *unit)
{
	knot_ctl_data_t texts = { NULL };
	char *owned[KNOT_CTL_IDX__COUNT] = { NULL };
	bool has_items = unit->type == KNOT_CTL_TYPE_DATA || unit->type == KNOT_CTL_TYPE_EXTRA;
	for (unsigned i = 0; i < KNOT_CTL_IDX__COUNT && has_items; i++) {
		if (unit->items[i].data != NULL) {
			owned[i] = strndup((const char *)unit->items[i].data, unit->items[i].len);
			check(owned[i] != NULL);
			texts[i] = owned[i];
		}
	}
	size_t len;
	check(knot_ctl_unit_len(unit->type, (const knot_ctl_data_t *)&texts, &len) == KNOT_OK &&
			len <= KNOT_CTL_UNIT_MAX);
	uint8_t *bytes = malloc(len + 1);
	check(bytes != NULL);
	knot_writer_t writer = knot_writer_of((knot_mut_bytes_t){ bytes, len });
	knot_ctl_unit_write(&writer, unit->type, (const knot_ctl_data_t *)&texts);
	check(!writer.failed && writer.len == len);
	bytes[len] = KNOT_CTL_TYPE_END;
	knot_ctl_unit_t again;
	size_t used;
	check(knot_ctl_scan((knot_bytes_t){ bytes, len + 1 }, &again, &used) == KNOT_CTL_SCAN_UNIT && used == len);
	check(again.type == unit->type);
	for (unsigned i = 0; i < KNOT_CTL_IDX__COUNT; i++) {
		check(same_text(again.items[i], texts[i]));
		free(owned[i]);
	}
	free(bytes);
}

static bool same_unit(const knot_ctl_unit_t *a, const knot_ctl_unit_t *b)
{
	bool same = a->type == b->type;
	for (unsigned i = 0; i < KNOT_CTL_IDX__COUNT; i++) {
		same = same && a->items[i].data == b->items[i].data && a->items[i].len == b->items[i].len;
	}
	return same;
}

/* Coming in pieces of the length that the last byte says, the units are the same. */
static void check_pieces(const uint8_t *data, size_t size)
{
	size_t piece = size > 0 ? data[size - 1] % 7 + 1 : 1, pos = 0, there = 0;
	knot_ctl_scanner_t scanner = { 0 };
	while (there < size) {
		there = size - there > piece ? there + piece : size;
		knot_ctl_scan_t scan = KNOT_CTL_SCAN_UNIT;
		while (scan == KNOT_CTL_SCAN_UNIT) {
			knot_ctl_unit_t unit, whole;
			size_t used, whole_used;
			scan = knot_ctl_scan_on(&scanner, (knot_bytes_t){ data + pos, there - pos }, &unit, &used);
			check(scan == knot_ctl_scan((knot_bytes_t){ data + pos, there - pos }, &whole, &whole_used));
			if (scan == KNOT_CTL_SCAN_UNIT) {
				check(used == whole_used && same_unit(&unit, &whole));
				pos += used;
			}
		}
		if (scan == KNOT_CTL_SCAN_BAD) {
			return;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_pieces(data, size);
	size_t pos = 0;
	knot_ctl_scan_t scan = KNOT_CTL_SCAN_UNIT;
	while (scan == KNOT_CTL_SCAN_UNIT) {
		knot_ctl_unit_t unit;
		size_t used;
		scan = knot_ctl_scan((knot_bytes_t){ data + pos, size - pos }, &unit, &used);
		if (scan == KNOT_CTL_SCAN_UNIT) {
			check(used > 0 && used <= size - pos);
			check_views(&unit, data + pos, used);
			check_round_trip(&unit);
			knot_ctl_unit_t cut;
			size_t cut_used;
			check(knot_ctl_scan((knot_bytes_t){ data + pos, used - 1 }, &cut, &cut_used) ==
					KNOT_CTL_SCAN_MORE);
			pos += used;
		}
	}
	return 0;
}
