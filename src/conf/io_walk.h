/* SPDX-License-Identifier: BSD-2-Clause */
/** What the files behind io.h share: the part to read, the order of blocks, and units. Only for them. */
#pragma once

#include "src/conf/io.h"
#include "src/conf/value.h"

enum { IO_TEXT_MAX = 2 * CONF_VALUE_MAX + 8 /* of any value: hexadecimal digits take most */ };

/** A part of a configuration, looked up in the schema. */
typedef struct {
	size_t section; /* index; conf_section_count: all */
	size_t row;     /* of the section; row_count: all */
	bool has_id;
	knot_bytes_t id; /* binary form, in `id_value` */
	uint8_t id_value[CONF_VALUE_MAX];
} io_target_t;

/**
 * Look up a part; an empty text is as if it wasn't given.
 * KNOT_CONF_EITEM: no such section or item.  KNOT_CONF_EIDUNSUP: an identifier of a section that has none.  KNOT_EINVAL
 * and others of conf_value_scan(): the text can't be an identifier of the section.
 */
KNOT_MUST_USE knot_err_t io_find(const conf_where_t *where, io_target_t *ret_target);

/** True if all rows are meant, or this one. */
bool io_wants(const io_target_t *target, size_t row);

typedef struct {
	conf_unit_cb cb;
	void *ctx;
	bool is_ended; /* the callback returned false */
	char id[IO_TEXT_MAX], data[IO_TEXT_MAX];
} io_writer_t;

/** Send one unit, unless the callback has ended it. */
void io_put(io_writer_t *writer, const conf_unit_t *unit);

/** Send the values of a block that the target means, in the order of the schema. sign: of each unit. */
void io_put_block(io_writer_t *writer, const io_target_t *target, const conf_block_view_t *block, char sign);

/** Send the values of one row; the block's identifier is in writer->id. */
void io_put_row(io_writer_t *writer, const conf_block_view_t *block, size_t row, char sign);

/** Print the block's identifier to writer->id; "" in a group. */
void io_print_id(io_writer_t *writer, const conf_section_t *section, knot_bytes_t id);

/** Return false to end. */
typedef bool (*io_block_cb)(const conf_block_view_t *block, void *ctx);

/**
 * Call for each block of a section in binary order of the identifiers, which for zones is not their canonical order:
 * wire form, byte by byte, is what Knot keeps them by. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t io_each_block(conf_view_t view, size_t section, io_block_cb cb, void *ctx);

/** Order of identifiers: as memcmp(), a prefix first. */
int io_compare_ids(knot_bytes_t a, knot_bytes_t b);
