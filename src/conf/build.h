/* SPDX-License-Identifier: BSD-2-Clause */
/** Between build.c, which makes typed structs of rows, and build_rules.c, which makes those that refer to each other.
 */
#pragma once

#include "src/conf/store.h"

/** Directories that paths of rows are relative to; they are set by rows that stand before those. */
typedef struct {
	const char *start;
	const char *const *rundir;
	const char *const *storage;
} conf_bases_t;

/** Fill a zeroed struct: for each row the block's items, or the default. block NULL: defaults only. */
KNOT_MUST_USE knot_err_t conf_build_struct(conf_store_t *store, const conf_section_t *section,
		const conf_block_t *block, conf_bases_t bases, void *ret_struct);

/** Make the typed blocks of keys, remotes, groups and rules: `keys` to `groups` of the store. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t conf_build_rules(conf_store_t *store, conf_bases_t bases);

/** Bytes of an element of a list of these, 0: not one of them. */
size_t conf_rule_element_size(conf_field_t field);

/** True for a reference to nothing: the empty one, or to a block that a `clear` took away. */
bool conf_rule_is_void(const conf_store_t *store, const conf_row_t *row, knot_bytes_t value);

/** Make an element of a value that isn't void. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t conf_rule_set_element(
		conf_store_t *store, const conf_row_t *row, knot_bytes_t value, void *ret_element);
