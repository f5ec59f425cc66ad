/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Items of a configuration that aren't supported yet: collected while it is read or checked, reported at the end.
 *
 * Each item is reported once, with its place and value, up to CONF_UNSUPPORTED_TOLD_MAX of them. A summary of the
 * features follows, with the numbers of affected templates and zones. An item of a template says how many zones have
 * the template. Zones are only counted when there is something to report.
 */
#pragma once

#include "src/conf/fault.h"
#include "src/conf/store.h"

typedef struct conf_unsupported_item conf_unsupported_item_t;

enum { CONF_FEATURES_MAX = 48 }; /* features of the schema's rows, and modules */

/** Begins zeroed; ends with conf_unsupported_tell(). */
typedef struct {
	conf_unsupported_item_t *items; /* owned */
	size_t item_count, item_max;
	size_t count; /* of all items, including those not kept */
	struct {
		const char *name; /* static */
		size_t count;
	} features[CONF_FEATURES_MAX]; /* in the order in which they were met */
	size_t feature_count;
} conf_unsupported_t;

/** Note one. place: copied. Out of memory, the item loses its own line, not its place in the summary. */
void conf_unsupported_add(conf_unsupported_t *list, const conf_place_t *place, const conf_check_value_t *check);

/** Report all of them and free the list. store: whose templates and zones are counted, sealed or not. */
void conf_unsupported_tell(conf_unsupported_t *list, const conf_store_t *store, conf_sink_t sink);
