/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What kzonecheck found: each fault is printed as it comes, as text or as a member of a JSON document, and counted for
 * the summary. One thread, one zone.
 */
#pragma once

#include "libknot/base/json.h"
#include "libknot/name/name.h"
#include "src/zone/check.h"

/** Zero but for the first three: nothing found yet. */
typedef struct {
	bool is_json;
	bool is_verbose; /* all of what the loader says, on standard output */
	bool has_lines;  /* places, and details that Knot DNS hasn't */
	char zone[KNOT_NAME_TEXT_MAX];
	knot_json_t json;
	bool has_list; /* of faults or messages: it is open */
	uint64_t counts[ZONE_FAULT_COUNT];
	bool has_faults, is_serious;
} result_t;

/** The zone's name is known: the JSON document begins. */
void result_begin(result_t *result, knot_name_t zone, const char *file);

/** A zone_message_cb with a result_t. */
void result_add(const zone_message_t *message, void *result);

/** An error that isn't a fault of the zone's contents. */
__attribute__((format(printf, 2, 3))) void result_error(result_t *result, const char *format, ...);

/** The summary, or the end of the document. is_good: how the program ends. False: it can't be written. */
KNOT_MUST_USE bool result_end(result_t *result, bool is_good);
