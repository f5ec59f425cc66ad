/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A configuration and its schema as text: what conf-list, conf-read, conf-get, conf-diff, conf-export and completion show.
 *
 * Walks the schema's rows and a view; sends everything to a callback; keeps nothing. Used by control commands and by knotc's local actions alike.
 */
#pragma once

#include "src/conf/txn.h"

#include <stdio.h>

/** Which part: NULL means every one. */
typedef struct {
	const char *section, *id, *item;
} conf_where_t;

/** One value. Strings borrowed during the call; NULL: not given. */
typedef struct {
	const char *section;
	const char *id;    /* of the block; an identifier itself comes as item `id`, `target` or `domain` with it in `data` */
	const char *item;
	const char *data;
	bool is_next;      /* a further value of the same item: EXTRA */
	char sign;         /* conf-diff: '+' or '-'; else 0 */
} conf_unit_t;

/** Return false to end. */
typedef bool (*conf_unit_cb)(const conf_unit_t *unit, void *ctx);

/** What is set, in the order of the schema. KNOT_CONF_EITEM, KNOT_CONF_EID, KNOT_CONF_ENOTEXIST: no such part. */
KNOT_MUST_USE knot_err_t conf_io_read(conf_view_t view, const conf_where_t *where, conf_unit_cb cb, void *ctx);

/** What the transaction of `view` changed: old values with '-', new ones with '+'. */
KNOT_MUST_USE knot_err_t conf_io_diff(conf_view_t view, const conf_where_t *where, conf_unit_cb cb, void *ctx);

/** Sections that have something, items that are set in a block, identifiers of a section. */
KNOT_MUST_USE knot_err_t conf_io_list(conf_view_t view, const conf_where_t *where, conf_unit_cb cb, void *ctx);

/** The same of the schema: sections, items of a section, names of an item's options (filter "s"). */
KNOT_MUST_USE knot_err_t conf_io_list_schema(const conf_where_t *where, conf_unit_cb cb, void *ctx);

/** Write all as a file that can be read back (config-reference.md §1.7). False: a write failed. */
bool conf_io_export(conf_view_t view, FILE *out);

/** Write the schema as JSON Schema, draft 2020-12. False: a write failed. */
bool conf_io_export_schema(FILE *out);
