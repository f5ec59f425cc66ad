/* SPDX-License-Identifier: BSD-2-Clause */
/** Keys and values of the configuration database: doc/formats/conf-db.md. Pure. Only for db.c. */
#pragma once

#include "src/conf/store.h"

enum { CONF_DB_FORMAT_LEN = 40, CONF_DB_KEY_MAX = 511 };

/** The record of the format. version: as of conf_db_version(). */
void conf_db_format_put(uint64_t version, uint8_t ret_value[static CONF_DB_FORMAT_LEN]);

/** Read the record of the format. KNOT_EMALF: not one of ours. KNOT_ENOTSUP: of a later format. */
KNOT_MUST_USE knot_err_t conf_db_format_get(knot_bytes_t value, uint64_t *ret_version);

/** A buffer that grows; free() its data. */
typedef struct {
	uint8_t *data;
	size_t len, max;
} conf_db_buffer_t;

/** Key of a block. Returns its length; 0: the identifier is too long. */
size_t conf_db_key_put(size_t section, knot_bytes_t id, uint8_t ret_key[static CONF_DB_KEY_MAX]);

/** Value of a block, in place of what the buffer has. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t conf_db_block_put(
		knot_bytes_t key, size_t section, knot_bytes_t id, knot_bytes_t items, conf_db_buffer_t *buffer);

/**
 * Append a block to a store that is sealed next; keys must be different. scratch: is overwritten. The sink gets
 * faults. KNOT_EMALF: damaged. KNOT_CONF_EITEM: this release doesn't know a name. KNOT_EINVAL, KNOT_CONF_ERANGE …: it
 * doesn't know a value. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t conf_db_block_get(
		knot_bytes_t key, knot_bytes_t value, conf_sink_t sink, conf_store_t *store, conf_db_buffer_t *scratch);
