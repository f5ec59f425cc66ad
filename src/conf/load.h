/* SPDX-License-Identifier: BSD-2-Clause */
/** The two halves of conf_load(): text → store (load.c, load_file.c), store → snapshot (build.c). */
#pragma once

#include "src/conf/txn.h"

/**
 * Read a file with its includes, or, when `text` is not NULL, that text under the name `path`, into an empty store.
 * is_checked: lint values, too, see conf_host_t. On any failure the sink got a fault; the code is that of the first
 * error.
 */
KNOT_MUST_USE knot_err_t conf_read(
		conf_store_t *store, const char *path, const knot_str_t *text, bool is_checked, conf_sink_t sink);

/**
 * Read the files that match a pattern into a store that may have blocks already; a relative one is below the working
 * directory. On any failure the sink got a fault, and the store has a part of the blocks.
 */
KNOT_MUST_USE knot_err_t conf_include(conf_store_t *store, const char *pattern, conf_sink_t sink);

/** True if `clear: pattern` empties the section. */
bool conf_is_cleared(size_t section, const char *pattern);

/**
 * Check that the block or module to which a value refers exists in `view`. KNOT_ENOENT, KNOT_EINVAL, KNOT_CONF_ENOID:
 * wrong, *ret_reason is a static text. KNOT_CONF_ENOTSUP: a module that can't be used yet.
 */
KNOT_MUST_USE knot_err_t conf_check_target(const conf_check_value_t *check, conf_view_t view, const char **ret_reason);

/** Check that the row's value is supported: KNOT_OK or KNOT_CONF_ENOTSUP. */
KNOT_MUST_USE knot_err_t conf_check_support(const conf_check_value_t *check);

/**
 * Check a value that was scanned: its reference or module among the blocks of `view`, its row's own check, and whether
 * it is supported. KNOT_ENOENT, KNOT_EINVAL, KNOT_CONF_ENOID: wrong, *ret_reason is a static text. KNOT_CONF_ENOTSUP:
 * right, but not supported.
 */
KNOT_MUST_USE knot_err_t conf_check_value(const conf_check_value_t *check, conf_view_t view, const char **ret_reason);

/** Check a whole block, with what it inherits: returns what is missing or contradictory as a static text; NULL:
 * nothing. */
const char *conf_check_block(const conf_block_view_t *block, conf_view_t all);

/**
 * Check each value and block of a sealed store, as reading a file does. The sink gets all errors, then all items that
 * are not supported yet; the code is that of the first error. KNOT_CONF_ENOTSUP, KNOT_ENOENT, KNOT_EINVAL,
 * KNOT_CONF_ENOID. is_checked: lint values, too, see conf_host_t.
 */
KNOT_MUST_USE knot_err_t conf_check_store(const conf_store_t *store, bool is_checked, conf_sink_t sink);

/** Warn of answers that don't fit a frame of AF_XDP, or the MTU of an existing interface. */
void conf_check_xdp_payload(const conf_t *conf, conf_sink_t sink);

/** Build the typed structs of a sealed store into `conf`, whose `store` it becomes. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t conf_build(conf_t *conf, const conf_host_t *host);

/**
 * Fill the member of one row from packed items; nothing happens if the row is not among them.
 * base_dir: what relative paths of the row are joined with, NULL: nothing.  ret_struct: the struct that the row names.
 */
KNOT_MUST_USE knot_err_t conf_build_member(conf_store_t *store, const conf_row_t *row, size_t row_index,
		knot_bytes_t items, const char *base_dir, void *ret_struct);

/** Apply the items of the zone at `index` on top of `zone`. No allocation: lists were made with the snapshot. */
void conf_apply_zone_items(const conf_store_t *store, size_t index, conf_zone_t *zone);

/** True if the member of the row is the same in both structs. */
bool conf_member_same(const conf_row_t *row, const void *a, const void *b);
