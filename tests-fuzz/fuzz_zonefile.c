/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Zone files of any bytes: scanning ends, says each fault with a line of the file and a text, and gives only valid
 * records. Each record printed and scanned again, typed and in generic form, gives the same bytes; so does its owner.
 */
#include "libknot/text/rdata_text.h"
#include "libknot/text/zonefile.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TYPE_WITHOUT_ROW = 65279 };

static char text[KNOT_RDATA_TEXT_MAX];
static uint8_t again[KNOT_RDATA_MAX];

typedef struct {
	uint64_t line_max;
	size_t faults;
} seen_t;

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

/* The text must give exactly this RDATA; cut in half it gives something or a reason. */
static void check_text(uint16_t type, size_t text_len, knot_bytes_t rdata)
{
	uint16_t len = 0;
	const char *reason = NULL;
	check(text_len > 0 && text[text_len] == '\0');
	check(knot_rdata_scan(type, (knot_str_t){ text, text_len }, (knot_name_t){ 0 },
			      (knot_mut_bytes_t){ again, sizeof(again) }, &len, &reason) == KNOT_OK);
	check(len == rdata.len && (len == 0 || memcmp(again, rdata.data, len) == 0));
	if (text_len > 1) {
		knot_err_t err = knot_rdata_scan(type, (knot_str_t){ text, text_len / 2 }, knot_name_root,
				(knot_mut_bytes_t){ again, sizeof(again) }, &len, &reason);
		check(err == KNOT_OK || reason != NULL);
	}
}

static bool on_record(const knot_zone_record_t *record, void *ctx)
{
	const seen_t *seen = ctx;
	check(record->line >= 1 && record->line <= seen->line_max && record->rrclass == KNOT_CLASS_IN);
	check(knot_rdata_check(record->type, record->rdata) == KNOT_OK);

	char owner[KNOT_NAME_TEXT_MAX];
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	size_t owner_len = knot_name_print(record->owner, owner);
	check(knot_name_scan((knot_str_t){ owner, owner_len }, (knot_name_t){ 0 }, wire, &name) == KNOT_OK);
	check(name.len == record->owner.len && name.label_count == record->owner.label_count);
	check(memcmp(wire, record->owner.wire, name.len) == 0);

	check_text(record->type, knot_rdata_print(record->type, record->rdata, text, sizeof(text)), record->rdata);
	check_text(record->type, knot_rdata_print(TYPE_WITHOUT_ROW, record->rdata, text, sizeof(text)), record->rdata);
	return true;
}

static bool on_fault(const knot_zone_fault_t *fault, void *ctx)
{
	seen_t *seen = ctx;
	check(fault->err != KNOT_OK && fault->reason[0] != '\0' && fault->line >= 1 && fault->line <= seen->line_max);
	return ++seen->faults < 1000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t origin[] = "\7example";
	seen_t seen = { .line_max = 1 };
	for (size_t i = 0; i < size; i++) {
		seen.line_max += data[i] == '\n';
	}
	knot_zonefile_params_t params = {
		.origin = { origin, 9, 1 },
		.default_ttl = 3600,
		.on_record = on_record,
		.on_fault = on_fault,
		.ctx = &seen,
	};
	knot_err_t err =
			knot_zonefile_scan_text((knot_str_t){ (const char *)data, size }, "/nonexistent/zone", &params);
	check(err == (seen.faults > 0 ? KNOT_EPARSEFAIL : KNOT_OK));
	return 0;
}
