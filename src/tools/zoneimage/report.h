/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What kzoneimage prints: lines for people, or with -j one JSON document, whose form is published in
 * doc/formats/kzoneimage.schema.json. Errors are lines on standard error, or messages of the document.
 */
#pragma once

#include "libknot/base/json.h"
#include "src/store/store.h"

#include <stdio.h>

typedef struct {
	char *zone; /* owned; NULL: of no zone */
	char *text; /* owned */
} report_message_t;

/** All zero but `is_json` before report_begin(). */
typedef struct {
	bool is_json;
	bool lists_sources; /* lines name all files of an image; JSON always does */
	int64_t now_s;
	uint64_t shown, size; /* images and their bytes */
	bool has_result;      /* the list of images was begun */
	knot_json_t json;
	knot_json_buffer_t buffer;  /* owned: what wasn't printed yet */
	report_message_t *messages; /* owned */
	size_t message_count;
} report_t;

void report_begin(report_t *report);

/** The images that follow are of this directory. */
void report_directory(report_t *report, const char *path);

typedef enum { REPORT_NOT_VERIFIED, REPORT_VERIFIED, REPORT_DAMAGED } report_verdict_t;

/**
 * Make the text of an image. It is printed by report_print(), when reading has ended: standard output may be a pager
 * that takes its time.
 */
void report_image(report_t *report, const char *zone, const store_view_t *view, report_verdict_t verdict);
void report_print(report_t *report);

/** An error, of a zone or of none (NULL). What was made before is printed first. */
void report_error(report_t *report, const char *zone, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** The totals, behind the last image. */
void report_totals(report_t *report, const store_room_t *room, bool is_verified);

/** The end. False: it could not be written. */
bool report_end(report_t *report, bool is_good);
