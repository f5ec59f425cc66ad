/* SPDX-License-Identifier: BSD-2-Clause */
/* Everything in a store that was not read from a file: its values and blocks, with messages that name no line. */
#include "src/conf/fault.h"
#include "src/conf/hint.h"
#include "src/conf/load.h"
#include "src/conf/unsupported.h"
#include "src/conf/value.h"

#include <stdlib.h>

typedef struct {
	conf_view_t all;
	conf_sink_t sink;
	bool is_checked; /* lint values: conf_host_t.is_checked */
	knot_err_t first_err;
	size_t error_count;
	conf_unsupported_t unsupported;
	char id[CONF_VALUE_MAX], value[4 * CONF_VALUE_MAX];
} checker_t;

/** Report an error, unless the sink got enough of them. hint: may be NULL. */
static void check_store_fail(
		checker_t *checker, knot_err_t err, conf_place_t place, const char *reason, const char *hint)
{
	place.hint = hint;
	if (checker->first_err == KNOT_OK) {
		checker->first_err = err;
	}
	if (++checker->error_count <= CONF_ERRORS_TOLD_MAX) {
		(void)conf_tell(checker->sink, CONF_ERROR, err, &place, reason);
	}
}

/** The block, and the value if there is one, in the checker's strings. */
static conf_place_t place_of(checker_t *checker, const conf_block_view_t *block, const conf_item_t *item)
{
	const conf_section_t *section = block->section;
	conf_place_t place = { .section = section->name };
	if (section->kind == CONF_MULTI) {
		(void)conf_value_print(conf_id_row(section), block->id, checker->id, sizeof(checker->id));
		place.id = checker->id;
	}
	if (item != NULL) {
		const conf_row_t *row = &section->rows[item->row];
		place.item = row->name;
		(void)conf_value_print(row, item->value, checker->value, sizeof(checker->value));
		place.value = checker->value;
	}
	return place;
}

/** What is said of a value that is taken. */
static void tell_more(checker_t *checker, const conf_block_view_t *block, const conf_item_t *item,
		const conf_check_value_t *check)
{
	const char *warning = check->row->warn != NULL ? check->row->warn(check) : NULL;
	if (warning != NULL) {
		conf_place_t place = place_of(checker, block, item);
		(void)conf_tell(checker->sink, CONF_WARNING, KNOT_OK, &place, warning);
	}
	if (check->row->support == CONF_OBSOLETE) {
		conf_place_t place = place_of(checker, block, item);
		(void)conf_tell_text(checker->sink, CONF_NOTICE, KNOT_OK, &place, NULL,
				"config, option '%s.%s' is obsolete and has no effect", block->section->name,
				check->row->name);
	}
}

/** True if the values of the row that stand before are as many as it may have. */
static bool is_full(const conf_row_t *row, knot_bytes_t before, size_t index)
{
	conf_item_t item;
	size_t pos = 0, count = 0;
	while (row->count_max > 0 && conf_item_next(before, &pos, &item)) {
		count += item.row == index;
	}
	return row->count_max > 0 && count >= row->count_max;
}

/** Lint a value that is right. */
static void check_store_lint(checker_t *checker, const conf_block_view_t *block, const conf_item_t *item,
		const conf_check_value_t *check)
{
	conf_lint_result_t found;
	if (!checker->is_checked || check->row->lint == NULL || !check->row->lint(check, &found)) {
		return;
	}
	conf_place_t place = place_of(checker, block, item);
	if (found.severity == CONF_ERROR) {
		check_store_fail(checker, KNOT_EINVAL, place, found.reason, found.hint);
	} else {
		place.hint = found.hint;
		(void)conf_tell(checker->sink, found.severity, KNOT_OK, &place, found.reason);
	}
}

/** before: the items of the block that stand before it, which is what a check sees when a file is read. */
static void check_item(checker_t *checker, const conf_block_view_t *block, size_t before, const conf_item_t *item)
{
	conf_check_value_t check = { .row = &block->section->rows[item->row], .value = item->value, .block = *block };
	check.block.items.len = before;
	const char *reason = NULL;
	knot_err_t err = conf_check_value(&check, checker->all, &reason);
	if (err == KNOT_OK && is_full(check.row, check.block.items, item->row)) {
		err = KNOT_EINVAL;
		reason = "too many values";
	}
	if (err != KNOT_OK && err != KNOT_CONF_ENOTSUP) {
		char hint[CONF_HINT_MAX] = "";
		conf_place_t place = place_of(checker, block, item);
		if (check.row->type == CONF_REF || check.row->type == CONF_MODREF) {
			conf_hint_target(&check, knot_str_of(place.value), checker->all, hint);
		}
		check_store_fail(checker, err, place, reason, hint);
		return;
	}
	tell_more(checker, block, item, &check);
	check_store_lint(checker, block, item, &check);
	if (err == KNOT_CONF_ENOTSUP) {
		conf_place_t place = place_of(checker, block, item);
		conf_unsupported_add(&checker->unsupported, &place, &check);
	}
}

/** The identifier is a value, too, but not among the items. */
static void check_id(checker_t *checker, const conf_block_view_t *block)
{
	if (block->section->kind != CONF_MULTI) {
		return;
	}
	const conf_row_t *row = conf_id_row(block->section);
	if (row->check == NULL && row->support == CONF_WORKS) {
		return;
	}
	const conf_item_t item = { .row = (size_t)(row - block->section->rows), .value = block->id };
	check_item(checker, block, 0, &item);
}

static void tell_notices(checker_t *checker, const conf_block_view_t *block)
{
	const conf_section_t *section = block->section;
	for (size_t i = 0; i < KNOT_LEN(section->notices) && section->notices[i] != NULL; i++) {
		char notice[CONF_NOTICE_MAX];
		if (section->notices[i](block, checker->all, notice)) {
			conf_place_t place = place_of(checker, block, NULL);
			(void)conf_tell_text(checker->sink, CONF_NOTICE, KNOT_OK, &place, NULL, "config, %s", notice);
		}
	}
}

static void check_block(checker_t *checker, const conf_block_view_t *block)
{
	conf_item_t item;
	size_t pos = 0, before = 0, errors = checker->error_count;
	check_id(checker, block);
	while (conf_item_next(block->items, &pos, &item)) {
		check_item(checker, block, before, &item);
		before = pos;
	}
	if (checker->error_count > errors) {
		return; /* what the block lacks may be what was wrong */
	}
	tell_notices(checker, block);
	const char *reason = conf_check_block(block, checker->all);
	if (reason != NULL) {
		check_store_fail(checker, KNOT_EINVAL, place_of(checker, block, NULL), reason, NULL);
	}
}

knot_err_t conf_check_store(const conf_store_t *store, bool is_checked, conf_sink_t sink)
{
	const conf_place_t nowhere = { 0 };
	checker_t *checker = calloc(1, sizeof(*checker));
	if (checker == NULL) {
		return conf_tell_text(sink, CONF_ERROR, KNOT_ENOMEM, &nowhere, NULL, "config, not enough memory");
	}
	checker->all = (conf_view_t){ .store = store };
	checker->sink = sink;
	checker->is_checked = is_checked;
	for (size_t i = 0; i < conf_section_count; i++) {
		conf_cursor_t cursor = { .view = checker->all, .section = i };
		conf_block_view_t block;
		while (conf_view_next(&cursor, &block)) {
			check_block(checker, &block);
		}
	}
	knot_err_t err = checker->first_err;
	if (checker->error_count > CONF_ERRORS_TOLD_MAX) {
		(void)conf_tell_text(sink, CONF_ERROR, err, &nowhere, NULL, "config, and %zu more errors",
				checker->error_count - CONF_ERRORS_TOLD_MAX);
	}
	if (err == KNOT_OK && checker->unsupported.count > 0) {
		err = KNOT_CONF_ENOTSUP;
	}
	conf_unsupported_tell(&checker->unsupported, store, sink);
	free(checker);
	return err;
}
