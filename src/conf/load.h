/* SPDX-License-Identifier: BSD-2-Clause */
/** The two halves of conf_load(): text → store (load.c), store → snapshot (build.c). */
#pragma once

#include "src/conf/store.h"

/** Tell the sink of something that has no line. */
void conf_tell(conf_sink_t sink, conf_severity_t severity, knot_err_t err, const char *file, const char *text);

/**
 * Read a file with its includes, or, when `text` is not NULL, that text under the name `path`, into an empty store.
 * On any failure the sink was told.
 */
KNOT_MUST_USE knot_err_t conf_read(conf_store_t *store, const char *path, const knot_str_t *text, conf_sink_t sink);

/** Build the typed structs of a sealed store into `conf`, whose `store` it becomes. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t conf_build(conf_t *conf, const conf_host_t *host);

/**
 * Fill the member of one row from packed items; nothing happens if the row is not among them.
 * base_dir: what relative paths of the row are joined with, NULL: nothing.  ret_struct: the struct that the row names.
 */
KNOT_MUST_USE knot_err_t conf_build_member(conf_store_t *store, const conf_row_t *row, size_t row_index,
					   knot_bytes_t items, const char *base_dir, void *ret_struct);

/** Put the items of the zone at `index` over what `zone` has. No allocation: lists were made with the snapshot. */
void conf_apply_zone_items(const conf_store_t *store, size_t index, conf_zone_t *zone);

/** True if the member of the row is the same in both structs. */
bool conf_member_same(const conf_row_t *row, const void *a, const void *b);
