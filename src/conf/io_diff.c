/* SPDX-License-Identifier: BSD-2-Clause */
/* What a transaction changed, as units. */
#include "src/conf/io_walk.h"

#include <stdlib.h>

typedef struct {
	io_writer_t writer;
	io_target_t target;
	conf_change_t *changes; /* of the target; owned */
	size_t count;
} diff_t;

static bool is_meant(const io_target_t *target, const conf_change_t *change)
{
	return target->section == conf_section_count ||
	       (target->section == change->section && (!target->has_id || io_compare_ids(target->id, change->id) == 0));
}

static int compare_changes(const void *a, const void *b)
{
	const conf_change_t *x = a, *y = b;
	int order = (x->section > y->section) - (x->section < y->section);
	return order != 0 ? order : io_compare_ids(x->id, y->id);
}

static knot_err_t diff_collect(diff_t *diff, const conf_txn_t *txn)
{
	conf_change_t change;
	size_t pos = 0, max = 0;
	while (conf_txn_next_change(txn, &pos, &change)) {
		if (!is_meant(&diff->target, &change)) {
			continue;
		}
		if (diff->count == max) {
			max = max > 0 ? max * 2 : 64;
			conf_change_t *more = realloc(diff->changes, max * sizeof(*more));
			if (more == NULL) {
				return KNOT_ENOMEM;
			}
			diff->changes = more;
		}
		diff->changes[diff->count++] = change;
	}
	if (diff->count > 0) {
		qsort(diff->changes, diff->count, sizeof(*diff->changes), compare_changes);
	}
	return KNOT_OK;
}

/** The next value of the row; false: there are no more. */
static bool diff_next_value(knot_bytes_t items, size_t row, size_t *pos, knot_bytes_t *ret_value)
{
	conf_item_t item;
	while (conf_item_next(items, pos, &item)) {
		if (item.row == row) {
			*ret_value = item.value;
			return true;
		}
	}
	return false;
}

/** True if the row has the same values in the same order. */
static bool same_row(const conf_change_t *change, size_t row)
{
	size_t old_pos = 0, new_pos = 0;
	for (;;) {
		knot_bytes_t old_value, new_value;
		bool has_old = diff_next_value(change->old_items, row, &old_pos, &old_value);
		bool has_new = diff_next_value(change->new_items, row, &new_pos, &new_value);
		if (!has_old || !has_new) {
			return has_old == has_new;
		}
		if (io_compare_ids(old_value, new_value) != 0) {
			return false;
		}
	}
}

static void put_change(diff_t *diff, const conf_change_t *change)
{
	const conf_section_t *section = conf_sections[change->section];
	const conf_block_view_t old = { .section = section, .id = change->id, .items = change->old_items },
				new = { .section = section, .id = change->id, .items = change->new_items };
	if (!change->has_old || !change->has_new) {
		io_put_block(&diff->writer, &diff->target, change->has_new ? &new : &old, change->has_new ? '+' : '-');
		return;
	}
	io_print_id(&diff->writer, section, change->id);
	for (size_t i = 0; i < section->row_count && !diff->writer.is_ended; i++) {
		if (io_wants(&diff->target, i) && !same_row(change, i)) {
			io_put_row(&diff->writer, &old, i, '-');
			io_put_row(&diff->writer, &new, i, '+');
		}
	}
}

static knot_err_t diff_target(conf_view_t view, diff_t *diff)
{
	const io_target_t *target = &diff->target;
	if (target->section < conf_section_count && conf_sections[target->section]->kind == CONF_DIRECTIVE) {
		return KNOT_ENOTSUP;
	}
	knot_err_t err = diff_collect(diff, view.txn);
	conf_block_view_t block;
	if (err == KNOT_OK && diff->count == 0 && target->has_id &&
			!conf_view_find(view, target->section, target->id, &block)) {
		err = KNOT_CONF_EID;
	}
	for (size_t i = 0; i < diff->count && err == KNOT_OK && !diff->writer.is_ended; i++) {
		put_change(diff, &diff->changes[i]);
	}
	return err;
}

knot_err_t conf_io_diff(conf_view_t view, const conf_where_t *where, conf_unit_cb cb, void *ctx)
{
	diff_t *diff = calloc(1, sizeof(*diff));
	if (diff == NULL) {
		return KNOT_ENOMEM;
	}
	diff->writer.cb = cb;
	diff->writer.ctx = ctx;
	knot_err_t err = io_find(where, &diff->target);
	if (err == KNOT_OK) {
		err = diff_target(view, diff);
	}
	free(diff->changes);
	free(diff);
	return err;
}
