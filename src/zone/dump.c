/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/dump.h"

#include "src/zone/diff.h"
#include "src/zone/dump_text.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
	zone_dump_text_t text;
	zone_dump_part_t part; /* what is shown */
	bool has[DUMP_PARTS];  /* parts that have records */
	bool is_begun;         /* the part has its heading */
	const zone_skip_t *skip;
} dump_t;

static bool put_record(const zone_rr_t *rr, void *ctx)
{
	dump_t *dump = ctx;
	zone_dump_part_t part = zone_dump_part_of(rr->type, rr->rdata);
	dump->has[part] = true;
	if (part != dump->part || zone_skip_has(dump->skip, rr->type)) {
		return true;
	}
	if (!dump->is_begun && zone_dump_heading(part) != NULL) {
		zone_dump_text_put(&dump->text, zone_dump_heading(part));
	}
	dump->is_begun = true;
	zone_dump_text_put_rr(&dump->text, rr);
	return dump->text.err == KNOT_OK;
}

knot_err_t zone_dump(const zone_contents_t *zone, int fd, const zone_dump_params_t *params)
{
	dump_t dump = { .skip = params->skip };
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	knot_err_t err = zone_dump_text_init(&dump.text, fd);
	if (err != KNOT_OK || scratch == NULL) {
		zone_dump_text_done(&dump.text);
		free(scratch);
		return KNOT_ENOMEM;
	}
	zone_dump_text_put_head(&dump.text, params->program);
	(void)zone_each_of_node(zone, zone->apex, scratch, put_record, &dump);
	for (dump.part = DUMP_DATA; dump.part < DUMP_PARTS; dump.part++) {
		dump.is_begun = false;
		if (dump.part == DUMP_DATA || dump.has[dump.part]) {
			(void)zone_each_record(zone, scratch, put_record, &dump);
		}
	}
	zone_dump_text_put_end(&dump.text, dump.text.count, params->now_s);
	zone_dump_text_flush(&dump.text);
	free(scratch);
	zone_dump_text_done(&dump.text);
	return dump.text.err;
}

/** Differences on their way into a file. */
typedef struct {
	zone_dump_text_t text;
	bool is_added; /* those that are new; else those that are gone */
} dump_diff_t;

static bool put_difference(const zone_rr_t *rr, bool is_added, void *ctx)
{
	dump_diff_t *diff = ctx;
	if (is_added == diff->is_added) {
		zone_dump_text_put_rr(&diff->text, rr);
	}
	return diff->text.err == KNOT_OK;
}

knot_err_t zone_dump_diff(
		const zone_contents_t *before, const zone_contents_t *after, bool is_added, const char *head, int fd)
{
	dump_diff_t diff = { .is_added = is_added };
	char comment[256];
	knot_err_t err = zone_dump_text_init(&diff.text, fd);
	if (err != KNOT_OK) {
		return err;
	}
	snprintf(comment, sizeof(comment), ";; %.200s\n", head);
	zone_dump_text_put(&diff.text, comment);
	err = zone_diff(before, after, put_difference, &diff);
	zone_dump_text_flush(&diff.text);
	zone_dump_text_done(&diff.text);
	return err == KNOT_OK ? diff.text.err : err;
}
