/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What to do about an error in a configuration: "did you mean 'listen'?", the values that an item takes, its range.
 *
 * The words of an error are Knot's; a hint is ours and stands behind them. Each function writes a text without a final
 * dot, or an empty one if it has no suggestion. Pure: names, ranges and options come from the schema's rows. Cost: one
 * comparison of words per candidate; only on errors.
 */
#pragma once

#include "src/conf/schema.h"

/** Bytes of a hint with its NUL. */
enum { CONF_HINT_MAX = 384 };

/** For an unknown section, or a line in column 0 that isn't one. */
void conf_hint_section(knot_str_t name, char ret_hint[static CONF_HINT_MAX]);

/** For an item that the section doesn't have: an item with a similar name, or the section that has the item. */
void conf_hint_item(const conf_section_t *section, knot_str_t name, char ret_hint[static CONF_HINT_MAX]);

/** For a text that conf_value_scan() refuses with `err`: the values that the row takes. */
void conf_hint_value(const conf_row_t *row, knot_str_t text, knot_err_t err, char ret_hint[static CONF_HINT_MAX]);

/** For a reference to a block or module that doesn't exist: one with a similar name. */
void conf_hint_target(const conf_check_value_t *check, knot_str_t text, conf_view_t view,
		char ret_hint[static CONF_HINT_MAX]);

/** Section whose name is similar enough to be the one that is meant; conf_section_count: none. */
size_t conf_hint_nearest_section(knot_str_t name);
