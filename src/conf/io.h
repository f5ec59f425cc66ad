/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A configuration and its schema as text: for conf-list, conf-read, conf-get, conf-diff, conf-export and completion.
 *
 * Walks the schema's rows and a view and sends everything to a callback. No state. Used by control commands and by
 * knotc's local actions. Sections and items come in the order of the schema, blocks in binary order of their
 * identifiers (zones: of their names in wire form), values of an item in the order in which they were set: as Knot has
 * them.
 */
#pragma once

#include "src/conf/txn.h"

#include <stdio.h>

/** A part of a configuration; NULL or "": all. `item` may be the identifier's: `domain`, `target`, `id`. */
typedef struct {
	const char *section, *id, *item;
} conf_where_t;

/** One value. Strings borrowed during the call; NULL: not given. */
typedef struct {
	const char *section;
	const char *id; /* of the block; an identifier itself comes as item `id`, `target` or `domain` with it in `data`
			 */
	const char *item;
	const char *data;
	bool is_next; /* a further value of the same item: EXTRA */
	char sign;    /* conf-diff: '+' or '-'; else 0 */
} conf_unit_t;

/** Gets a unit; returns false to end. */
typedef bool (*conf_unit_cb)(const conf_unit_t *unit, void *ctx);

/*
 * All of these give KNOT_CONF_EITEM (no such section or item), KNOT_CONF_EIDUNSUP (an identifier of a section without),
 * KNOT_CONF_EID (no such block), KNOT_EINVAL (can't be an identifier), KNOT_ENOTSUP (`include` and `clear` can't be
 * read) or KNOT_ENOMEM; knot_strerror() has the text of the control reply. Nothing was sent then.
 */

/** Send what is set (conf-read; conf-get with a transaction in the view). */
KNOT_MUST_USE knot_err_t conf_io_read(conf_view_t view, const conf_where_t *where, conf_unit_cb cb, void *ctx);

/** Send what the transaction of `view` changed: all old values of an item with '-', then all new ones with '+'. */
KNOT_MUST_USE knot_err_t conf_io_diff(conf_view_t view, const conf_where_t *where, conf_unit_cb cb, void *ctx);

/**
 * Send candidates for completion (conf-list without filter "s"): without a section all of them; with a section its
 * identifiers, as `id`; with the identifier's item the same as `data`; with an item and an identifier the item's
 * values. KNOT_ENOTSUP: a section without identifiers.
 */
KNOT_MUST_USE knot_err_t conf_io_list(conf_view_t view, const conf_where_t *where, conf_unit_cb cb, void *ctx);

/** Send candidates from the schema (filter "s"): sections, items of a section, names of an item's options as `data`. */
KNOT_MUST_USE knot_err_t conf_io_list_schema(const conf_where_t *where, conf_unit_cb cb, void *ctx);

/**
 * True if the value of an item may be shown to readers of the log: no item of its section is secret. False for items
 * that the schema doesn't have, too: the value may be a secret behind a slip of the pen.
 */
bool conf_io_is_public(const conf_where_t *where);

/** Write everything as a file that gives the same configuration when it is read. False: a write
 * failed. */
bool conf_io_export(conf_view_t view, FILE *out);

/** Write the schema as JSON Schema, draft 2020-12. False: a write failed. */
bool conf_io_export_schema(FILE *out);
