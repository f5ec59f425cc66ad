/* SPDX-License-Identifier: BSD-2-Clause */
/* Text → store: items of the grammar are looked up in the schema, converted, checked and kept. */
#include "src/conf/load_internal.h"
#include "src/conf/fault.h"
#include "src/conf/hint.h"
#include "src/conf/value.h"

#include <assert.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>

/* Not an int: a value beyond it makes all values of its enum unsigned (since GCC 13). */
enum { ITEMS_MAX = UINT32_MAX /* bytes of a block's items */ };

/* ---- Faults ---- */

/** Room for the strings of a place. */
typedef struct {
	char id[CONF_VALUE_MAX];
	char item[KNOT_CONF_KEY_MAX + 1];
	char value[KNOT_CONF_VALUE_MAX + 1];
} strings_t;

/** The block that the loader is in, if it is in one. */
static void load_place_block(const loader_t *loader, strings_t *strings, conf_place_t *place)
{
	const conf_section_t *section = conf_sections[loader->section];
	place->section = section->name;
	if (loader->state == BLOCK_KEPT && section->kind == CONF_MULTI) {
		const conf_block_t *block = &loader->store->tables[loader->section].blocks[loader->block];
		(void)conf_value_print(conf_id_row(section), (knot_bytes_t){ block->id, block->id_len }, strings->id,
				sizeof(strings->id));
		place->id = strings->id;
	}
}

/** The current line, with item and value as far as they are known. */
static conf_place_t load_place(const loader_t *loader, strings_t *strings)
{
	const place_t *at = &loader->place;
	conf_place_t place = { .file = at->file, .line = at->line };
	if (at->key.len == 0) {
		return place;
	}
	if (loader->section < conf_section_count) {
		load_place_block(loader, strings, &place);
	}
	memcpy(strings->item, at->key.data, at->key.len);
	strings->item[at->key.len] = '\0';
	place.item = strings->item;
	if (at->value.len > 0) {
		memcpy(strings->value, at->value.data, at->value.len);
		strings->value[at->value.len] = '\0';
		place.value = strings->value;
	}
	return place;
}

static knot_err_t load_tell_item(
		const loader_t *loader, conf_severity_t severity, knot_err_t err, const char *reason, const char *hint)
{
	strings_t strings;
	conf_place_t place = load_place(loader, &strings);
	place.hint = hint;
	return conf_tell(loader->sink, severity, err, &place, reason);
}

knot_err_t load_tell_text(const loader_t *loader, conf_severity_t severity, knot_err_t err, const char *hint,
		const char *format, ...)
{
	char text[2 * PATH_MAX];
	const conf_place_t place = { .file = loader->place.file, .line = loader->place.line, .hint = hint };
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return conf_tell_text(loader->sink, severity, err, &place, NULL, "%s", text);
}

knot_err_t load_fail_item(const loader_t *loader, knot_err_t err, const char *reason, const char *hint)
{
	return load_tell_item(loader, CONF_ERROR, err, reason, hint);
}

knot_err_t load_fail_code(const loader_t *loader, knot_err_t err)
{
	return load_fail_item(loader, err, knot_strerror(err), NULL);
}

/** A name that isn't in the schema. */
static knot_err_t load_fail_name(const loader_t *loader)
{
	char hint[CONF_HINT_MAX];
	if (loader->section < conf_section_count) {
		conf_hint_item(conf_sections[loader->section], loader->place.key, hint);
	} else {
		conf_hint_section(loader->place.key, hint);
	}
	return load_fail_item(loader, KNOT_CONF_EITEM, knot_strerror(KNOT_CONF_EITEM), hint);
}

/** The section has no block yet that the item could belong to. */
static knot_err_t load_fail_no_id(const loader_t *loader)
{
	char hint[CONF_HINT_MAX];
	(void)snprintf(hint, sizeof(hint), "begin the block with '- %s: ...'",
			conf_id_row(conf_sections[loader->section])->name);
	return load_fail_item(loader, KNOT_CONF_ENOID, knot_strerror(KNOT_CONF_ENOID), hint);
}

/** The item asks for what we can't do: all such items are reported, in one run. */
static void load_refuse_item(loader_t *loader, const conf_check_value_t *check)
{
	strings_t strings;
	conf_place_t place = load_place(loader, &strings);
	conf_unsupported_add(&loader->unsupported, &place, check);
}

knot_err_t load_recover(loader_t *loader, knot_err_t err)
{
	assert(err != KNOT_OK);
	if (loader->first_err == KNOT_OK) {
		loader->first_err = err;
	}
	loader->is_damaged = true;
	loader->is_fatal = loader->is_fatal || err == KNOT_ENOMEM;
	return loader->is_fatal ? err : KNOT_OK;
}

/* ---- Blocks ---- */

static const conf_section_t *load_section(const loader_t *loader)
{
	return conf_sections[loader->section];
}

static conf_block_view_t load_view(const loader_t *loader)
{
	conf_block_view_t view = { .section = load_section(loader), .items = { loader->items, loader->items_len } };
	if (loader->state == BLOCK_KEPT) {
		const conf_block_t *block = &loader->store->tables[loader->section].blocks[loader->block];
		view.id = (knot_bytes_t){ block->id, block->id_len };
	}
	return view;
}

static knot_err_t load_reserve_items(loader_t *loader, size_t len)
{
	size_t need = loader->items_len + len;
	if (need <= loader->items_max) {
		return KNOT_OK;
	}
	size_t max = 2 * need + 256;
	uint8_t *items = max <= ITEMS_MAX ? realloc(loader->items, max) : NULL;
	if (items == NULL) {
		return KNOT_ENOMEM;
	}
	loader->items = items;
	loader->items_max = max;
	return KNOT_OK;
}

static knot_err_t load_append_item(loader_t *loader, size_t row, knot_bytes_t value)
{
	knot_err_t err = load_reserve_items(loader, value.len + 4);
	if (err == KNOT_OK) {
		loader->items_len += conf_item_put(loader->items + loader->items_len, row, value);
	}
	return err;
}

static knot_err_t load_open_block(loader_t *loader, knot_bytes_t id)
{
	conf_block_t *block = conf_store_find(loader->store, loader->section, id);
	if (block == NULL) {
		knot_err_t err = conf_store_add(loader->store, loader->section, id, &block);
		if (err != KNOT_OK) {
			return load_fail_code(loader, err);
		}
	}
	/* A group may come several times: its items so far go on. */
	loader->items_len = 0;
	if (load_reserve_items(loader, block->items_len) != KNOT_OK) {
		return load_fail_code(loader, KNOT_ENOMEM);
	}
	if (block->items_len > 0) {
		memcpy(loader->items, block->items, block->items_len);
	}
	loader->items_len = block->items_len;
	loader->block = (size_t)(block - loader->store->tables[loader->section].blocks);
	loader->state = BLOCK_KEPT;
	loader->is_damaged = false;
	return KNOT_OK;
}

/** The block's identifier is wrong or missing: its items are checked, but there is nothing to keep them in. */
static knot_err_t load_lose_block(loader_t *loader, knot_err_t err)
{
	loader->has_lost[loader->section] = true;
	loader->state = BLOCK_LOST;
	loader->items_len = 0;
	return err;
}

/** The section isn't known: what is in it can't be checked. nearest: the one that may be meant. */
static knot_err_t load_lose_section(loader_t *loader, size_t nearest, knot_err_t err)
{
	if (nearest < conf_section_count) {
		loader->has_lost[nearest] = true;
	}
	loader->section = NO_SECTION;
	loader->state = BLOCK_UNREAD;
	return err;
}

static knot_err_t load_fail_block(const loader_t *loader, const char *reason)
{
	strings_t strings;
	conf_place_t place = { .file = loader->place.file, .line = loader->place.line };
	load_place_block(loader, &strings, &place);
	return conf_tell(loader->sink, CONF_ERROR, KNOT_EINVAL, &place, reason);
}

/** Checks that need all of a block. */
static knot_err_t load_check_block(const loader_t *loader)
{
	const conf_section_t *section = load_section(loader);
	const conf_block_view_t view = load_view(loader);
	const conf_view_t all = { .store = loader->store };
	for (size_t i = 0; i < KNOT_LEN(section->notices) && section->notices[i] != NULL; i++) {
		char notice[CONF_NOTICE_MAX];
		if (section->notices[i](&view, all, notice)) {
			(void)load_tell_text(loader, CONF_NOTICE, KNOT_OK, NULL, "config, %s", notice);
		}
	}
	const char *reason = conf_check_block(&view, all);
	return reason != NULL ? load_fail_block(loader, reason) : KNOT_OK;
}

/** The block ends: it is checked, then its items are kept. Faults name the line before. */
static knot_err_t load_close_block(loader_t *loader)
{
	block_state_t state = loader->state;
	loader->state = BLOCK_NONE;
	if (state != BLOCK_KEPT) {
		return KNOT_OK;
	}
	loader->state = BLOCK_KEPT;
	place_t place = loader->place;
	loader->place.line--;
	loader->place.key.len = loader->place.value.len = 0;
	knot_err_t err = loader->is_damaged ? KNOT_OK : load_check_block(loader);
	conf_block_t *block = &loader->store->tables[loader->section].blocks[loader->block];
	block->items = conf_store_bytes(loader->store, loader->section, loader->items, loader->items_len);
	block->items_len = (uint32_t)loader->items_len;
	if (block->items == NULL) {
		err = load_fail_code(loader, KNOT_ENOMEM);
	}
	loader->state = BLOCK_NONE;
	loader->place = place;
	return err;
}

/* ---- Values ---- */

static void load_tell_obsolete(const loader_t *loader, const conf_row_t *row)
{
	strings_t strings;
	conf_place_t place = load_place(loader, &strings);
	(void)conf_tell_text(loader->sink, CONF_NOTICE, KNOT_OK, &place, NULL,
			"config, line %zu, option '%s.%s' is obsolete and has no effect", place.line,
			load_section(loader)->name, row->name);
}

/** A value that the row doesn't take. */
static knot_err_t load_fail_value(const loader_t *loader, const conf_row_t *row, knot_err_t err)
{
	char hint[CONF_HINT_MAX];
	conf_hint_value(row, loader->place.value, err, hint);
	/* What a listen address of xdp must be is said by its check, whatever is wrong with it. */
	bool is_xdp_listen = loader->section == CONF_S_XDP && row->type == CONF_ADDR;
	const char *reason = is_xdp_listen ? "invalid XDP interface specification" : knot_strerror(err);
	return load_fail_item(loader, err, reason, hint);
}

/** True if the block that is meant may be one that couldn't be read, which was reported. */
static bool load_has_lost_target(const loader_t *loader, const conf_row_t *row, knot_str_t text)
{
	bool has_lost = false;
	for (size_t i = 0; i < KNOT_LEN(row->ref) && row->ref[i] != NULL; i++) {
		has_lost = has_lost || loader->has_lost[conf_section_find(knot_str_of(row->ref[i]))];
	}
	if (row->type == CONF_MODREF) {
		const char *slash = memchr(text.data, '/', text.len);
		size_t len = slash != NULL ? (size_t)(slash - text.data) : text.len;
		size_t section = conf_section_find((knot_str_t){ text.data, len });
		has_lost = section < conf_section_count && loader->has_lost[section];
	}
	return has_lost;
}

/** A value of the right form that is wrong all the same. */
static knot_err_t load_fail_check(
		const loader_t *loader, const conf_check_value_t *check, knot_err_t err, const char *reason)
{
	char hint[CONF_HINT_MAX] = "";
	const conf_row_t *row = check->row;
	bool is_target = (row->type == CONF_REF && err == KNOT_ENOENT) || row->type == CONF_MODREF;
	if (is_target && load_has_lost_target(loader, row, loader->place.value)) {
		return err;
	}
	if (is_target) {
		conf_hint_target(check, loader->place.value, (conf_view_t){ .store = loader->store }, hint);
	}
	return load_fail_item(loader, err, reason, hint);
}

/** What there is to say of a value that is right. Fails if a lint does. */
static knot_err_t load_tell_more(const loader_t *loader, const conf_check_value_t *check)
{
	const conf_row_t *row = check->row;
	const char *reason = row->warn != NULL ? row->warn(check) : NULL;
	if (reason != NULL) {
		(void)load_tell_item(loader, CONF_WARNING, KNOT_OK, reason, NULL);
	}
	if (row->support == CONF_OBSOLETE) {
		load_tell_obsolete(loader, row);
	}
	conf_lint_result_t found;
	if (!loader->is_checked || row->lint == NULL || !row->lint(check, &found)) {
		return KNOT_OK;
	}
	knot_err_t err = found.severity == CONF_ERROR ? KNOT_EINVAL : KNOT_OK;
	return load_tell_item(loader, found.severity, err, found.reason, found.hint);
}

/** Count of the values that the item has already; ret_is_there: this one is among them. */
static size_t load_count_values(const loader_t *loader, size_t row, knot_bytes_t value, bool *ret_is_there)
{
	knot_bytes_t items = { loader->items, loader->items_len };
	conf_item_t item;
	size_t pos = 0, count = 0;
	*ret_is_there = false;
	while (conf_item_next(items, &pos, &item)) {
		if (item.row == row) {
			count++;
			*ret_is_there = *ret_is_there ||
					(item.value.len == value.len &&
							memcmp(item.value.data, value.data, value.len) == 0);
		}
	}
	return count;
}

/** True if the block has the value already. */
static bool load_has_value(const loader_t *loader, const conf_check_value_t *check)
{
	bool is_there = false;
	if (check->block.section != NULL && check->row->multi) {
		(void)load_count_values(
				loader, (size_t)(check->row - check->block.section->rows), check->value, &is_there);
	}
	return is_there;
}

/** Convert and check the value at the current place. ret_value borrows the loader's buffer. */
static knot_err_t load_scan_value(loader_t *loader, const conf_row_t *row, knot_bytes_t *ret_value)
{
	size_t len;
	knot_err_t err = conf_value_scan(row, loader->place.value, loader->value, &len);
	if (err != KNOT_OK) {
		return load_fail_value(loader, row, err);
	}
	conf_check_value_t check = { .row = row, .value = { loader->value, len } };
	if (loader->state != BLOCK_NONE) {
		check.block = load_view(loader);
	}
	const char *reason = NULL;
	err = conf_check_value(&check, (conf_view_t){ .store = loader->store }, &reason);
	if (err != KNOT_OK && err != KNOT_CONF_ENOTSUP) {
		return load_fail_check(loader, &check, err, reason);
	}
	if (err == KNOT_CONF_ENOTSUP && !load_has_value(loader, &check)) {
		load_refuse_item(loader, &check);
	}
	*ret_value = check.value;
	return load_tell_more(loader, &check);
}

/** Take the earlier value of a single-valued item out: the last one wins. */
static void load_remove_item(loader_t *loader, size_t row)
{
	knot_bytes_t items = { loader->items, loader->items_len };
	conf_item_t item;
	size_t pos = 0, start = 0;
	while (conf_item_next(items, &pos, &item)) {
		if (item.row == row) {
			memmove(loader->items + start, loader->items + pos, loader->items_len - pos);
			loader->items_len -= pos - start;
			return;
		}
		start = pos;
	}
}

static knot_err_t load_set_item(loader_t *loader, size_t row_index)
{
	const conf_row_t *row = &load_section(loader)->rows[row_index];
	knot_bytes_t value;
	knot_err_t err = load_scan_value(loader, row, &value);
	if (err != KNOT_OK) {
		return err;
	}
	if (!row->multi) {
		load_remove_item(loader, row_index);
	} else {
		bool is_there;
		size_t count = load_count_values(loader, row_index, value, &is_there);
		if (is_there) {
			return KNOT_OK;
		}
		if (row->count_max > 0 && count >= row->count_max) {
			char hint[CONF_HINT_MAX];
			(void)snprintf(hint, sizeof(hint), "at most %zu", row->count_max);
			return load_fail_item(loader, KNOT_EINVAL, "too many values", hint);
		}
	}
	err = load_append_item(loader, row_index, value);
	return err == KNOT_OK ? KNOT_OK : load_fail_code(loader, err);
}

/* ---- Events ---- */

bool conf_is_cleared(size_t section, const char *pattern)
{
	return conf_sections[section]->kind != CONF_DIRECTIVE &&
	       fnmatch(pattern, conf_sections[section]->name, FNM_NOESCAPE | FNM_EXTMATCH) == 0;
}

/** Forget the sections whose names match. */
static void load_clear_sections(loader_t *loader)
{
	char pattern[KNOT_CONF_VALUE_MAX + 1];
	memcpy(pattern, loader->place.value.data, loader->place.value.len);
	pattern[loader->place.value.len] = '\0';
	for (size_t i = 0; i < conf_section_count; i++) {
		if (conf_is_cleared(i, pattern)) {
			conf_store_clear(loader->store, i);
		}
	}
}

static knot_err_t load_do_directive(loader_t *loader)
{
	if (loader->place.value.len == 0) {
		return load_fail_code(loader, KNOT_CONF_ENODATA);
	}
	if (loader->section == CONF_S_INCLUDE) {
		return load_include(loader);
	}
	load_clear_sections(loader);
	return KNOT_OK;
}

/** A section that the schema doesn't have. */
static knot_err_t load_fail_section(loader_t *loader)
{
	knot_str_t key = loader->place.key;
	loader->section = NO_SECTION;
	knot_err_t err;
	if (key.len < 4 || memcmp(key.data, "mod-", 4) != 0) {
		err = load_fail_name(loader);
	} else {
		char hint[CONF_HINT_MAX];
		conf_hint_section(key, hint);
		err = load_tell_text(loader, CONF_ERROR, KNOT_CONF_EITEM, hint,
				"config, file '%s', line %zu, unknown module '%.*s'", loader->place.file,
				loader->place.line, (int)key.len, key.data);
	}
	return load_lose_section(loader, conf_hint_nearest_section(key), err);
}

static knot_err_t load_take_section(loader_t *loader)
{
	knot_err_t err = load_close_block(loader);
	if (err != KNOT_OK && (err = load_recover(loader, err)) != KNOT_OK) {
		return err;
	}
	loader->section = conf_section_find(loader->place.key);
	if (loader->section == conf_section_count) {
		return load_fail_section(loader);
	}
	if (load_section(loader)->kind == CONF_DIRECTIVE) {
		return load_do_directive(loader);
	}
	bool is_group = load_section(loader)->kind == CONF_GROUP;
	err = is_group ? load_open_block(loader, (knot_bytes_t){ 0 }) : KNOT_OK;
	return err == KNOT_OK && loader->place.value.len > 0 ? load_fail_code(loader, KNOT_CONF_EVALUE) : err;
}

/** An item where only an identifier may be, or the other way round. A wrong value is reported first, as Knot does. */
static knot_err_t load_fail_out_of_place(loader_t *loader, const conf_row_t *row, knot_err_t err)
{
	size_t len;
	knot_err_t value_err = conf_value_scan(row, loader->place.value, loader->value, &len);
	return load_fail_code(loader, value_err != KNOT_OK ? value_err : err);
}

/** An item or identifier before the first section. */
static knot_err_t load_fail_no_section(loader_t *loader)
{
	knot_err_t err = load_fail_item(
			loader, KNOT_CONF_EINDENT, knot_strerror(KNOT_CONF_EINDENT), "a section begins in column 0");
	return load_lose_section(loader, conf_section_count, err);
}

static knot_err_t load_take_item(loader_t *loader)
{
	if (loader->state == BLOCK_UNREAD) {
		return KNOT_OK;
	}
	if (loader->section == NO_SECTION) {
		return load_fail_no_section(loader);
	}
	const conf_section_t *section = load_section(loader);
	size_t row = conf_row_find(section, loader->place.key);
	if (row == section->row_count) {
		return load_fail_name(loader);
	}
	if (section->kind == CONF_MULTI && &section->rows[row] == conf_id_row(section)) {
		return load_fail_out_of_place(loader, &section->rows[row], KNOT_CONF_EIDUNSUP);
	}
	if (loader->state == BLOCK_NONE) {
		return load_lose_block(loader, load_fail_no_id(loader));
	}
	return load_set_item(loader, row);
}

/** The identifier of a block, whose row is known. */
static knot_err_t load_begin_block(loader_t *loader, const conf_row_t *row)
{
	if (loader->place.value.len == 0) {
		return load_fail_code(loader, KNOT_CONF_ENODATA);
	}
	knot_bytes_t id;
	knot_err_t err = load_scan_value(loader, row, &id);
	if (err != KNOT_OK) {
		return err;
	}
	if (conf_store_find(loader->store, loader->section, id) != NULL) {
		return load_fail_code(loader, KNOT_CONF_EDUPID);
	}
	return load_open_block(loader, id);
}

static knot_err_t load_take_id(loader_t *loader)
{
	if (loader->state == BLOCK_UNREAD) {
		return KNOT_OK;
	}
	if (loader->section == NO_SECTION) {
		return load_fail_no_section(loader);
	}
	/* Whatever the line has, the block before it has ended. */
	const conf_section_t *section = load_section(loader);
	bool is_multi = section->kind == CONF_MULTI, is_first = is_multi && loader->state == BLOCK_NONE;
	knot_err_t err = load_close_block(loader);
	if (err != KNOT_OK && (err = load_recover(loader, err)) != KNOT_OK) {
		return err;
	}
	size_t row = conf_row_find(section, loader->place.key);
	if (row == section->row_count) {
		err = load_fail_name(loader);
	} else if (!is_multi || &section->rows[row] != conf_id_row(section)) {
		err = is_first ? load_fail_no_id(loader)
			       : load_fail_out_of_place(loader, &section->rows[row], KNOT_CONF_EID);
	} else {
		err = load_begin_block(loader, &section->rows[row]);
	}
	return err == KNOT_OK ? KNOT_OK : load_lose_block(loader, err);
}

static knot_err_t load_take(loader_t *loader, const knot_conf_item_t *item)
{
	loader->place.line = item->line;
	loader->place.key = item->key;
	loader->place.value = item->value;
	switch (item->kind) {
	case KNOT_CONF_KEY0: return load_take_section(loader);
	case KNOT_CONF_KEY1: return load_take_item(loader);
	case KNOT_CONF_ID: return load_take_id(loader);
	}
	return KNOT_EINVAL;
}

/** What the characters at a fault of the grammar suggest; NULL: nothing. */
static const char *load_hint_fault(const knot_conf_parser_t *parser)
{
	bool has_char = parser->pos < parser->text.len;
	unsigned char at = has_char ? (unsigned char)parser->text.data[parser->pos] : '\n';
	char before = parser->pos > parser->line_start ? parser->text.data[parser->pos - 1] : '\0';
	static const struct {
		knot_err_t err;
		const char *hint;
	} hints[] = {
		{ KNOT_CONF_ETAB, "indent and separate with spaces" },
		{ KNOT_CONF_EINDENT, "the items of a block begin in the same column" },
		{ KNOT_ESPACE, "keys have at most 127 bytes, values 32767" },
	};
	for (size_t i = 0; i < KNOT_LEN(hints); i++) {
		if (hints[i].err == parser->err) {
			return hints[i].hint;
		}
	}
	if (before == ':' && has_char && at != '\n') {
		return "a space follows the colon";
	}
	if (before == '-' && at > ' ') {
		return "a space follows the dash";
	}
	if (parser->item.key.len > 0 && parser->item.value.len == 0 && !parser->in_list && at == '\n') {
		return parser->item.kind == KNOT_CONF_ID ? "an identifier follows the colon" : NULL;
	}
	if (parser->err == KNOT_EPARSEFAIL && parser->item.value.len > 0 && parser->item.key.len > 0) {
		return at == '\n' ? "a quote or bracket isn't closed in this line"
				  : "several values are a list: [ a, b ]; a value with spaces needs quotes";
	}
	return NULL;
}

/** A line that the grammar doesn't know: report it, then skip the section or block that it may have begun. */
static knot_err_t load_take_fault(loader_t *loader, const knot_conf_parser_t *parser, const knot_conf_item_t *item)
{
	loader->place.line = item->line;
	loader->place.key = item->key;
	loader->place.value = item->value;
	bool is_skipped = loader->state == BLOCK_UNREAD && item->kind != KNOT_CONF_KEY0;
	if (is_skipped || loader->fault_line == item->line) {
		return KNOT_OK; /* of two mistakes in a line only the first is reported */
	}
	knot_err_t err = load_fail_item(loader, parser->err, knot_strerror(parser->err), load_hint_fault(parser));
	bool is_line_lost = parser->err == KNOT_CONF_ETAB || parser->err == KNOT_CONF_EINDENT;
	if (is_line_lost || item->kind == KNOT_CONF_KEY1) {
		return err; /* an item of the same block, most probably */
	}
	loader->is_damaged = true;
	(void)load_close_block(loader);
	if (item->kind == KNOT_CONF_KEY0) {
		return load_lose_section(loader, conf_hint_nearest_section(item->key), err);
	}
	return loader->section != NO_SECTION ? load_lose_block(loader, err) : err;
}

/** Steps over a byte order mark, which is an error, as in Knot. */
static knot_err_t load_skip_bom(loader_t *loader, knot_str_t *text)
{
	static const char bom[] = "\xef\xbb\xbf";
	if (text->len < 3 || memcmp(text->data, bom, 3) != 0) {
		return KNOT_OK;
	}
	*text = (knot_str_t){ text->data + 3, text->len - 3 };
	loader->place.line = 1;
	loader->place.key.len = loader->place.value.len = 0;
	return load_recover(loader, load_fail_item(loader, KNOT_EPARSEFAIL, knot_strerror(KNOT_EPARSEFAIL),
						    "the file begins with a UTF-8 byte order mark: save it without"));
}

knot_err_t load_text(loader_t *loader, knot_str_t text)
{
	knot_conf_parser_t *parser = malloc(sizeof(*parser));
	if (parser == NULL) {
		return load_fail_code(loader, KNOT_ENOMEM);
	}
	loader->section = NO_SECTION;
	loader->state = BLOCK_NONE;
	loader->fault_line = 0;
	knot_conf_item_t item;
	knot_conf_verdict_t verdict;
	knot_err_t err = load_skip_bom(loader, &text);
	knot_conf_parser_init(parser, text);
	while (err == KNOT_OK && (verdict = knot_conf_next(parser, &item)) != KNOT_CONF_END) {
		bool is_item = verdict == KNOT_CONF_ITEM;
		err = is_item ? load_take(loader, &item) : load_take_fault(loader, parser, &item);
		if (!is_item) {
			knot_conf_skip_line(parser);
		}
		if (err != KNOT_OK) {
			loader->fault_line = item.line;
			err = load_recover(loader, err);
		}
	}
	if (err == KNOT_OK) {
		loader->place.line = item.line;
		err = load_close_block(loader);
		err = err == KNOT_OK ? KNOT_OK : load_recover(loader, err);
	}
	free(parser);
	return err;
}

/* ---- A reading ---- */

/** The loader's own sink: after CONF_ERRORS_TOLD_MAX errors the rest is only counted. */
static void load_count_fault(void *ctx, const conf_fault_t *fault)
{
	loader_t *loader = ctx;
	if (fault->severity == CONF_ERROR && ++loader->error_count > CONF_ERRORS_TOLD_MAX) {
		return;
	}
	if (loader->outer.fault != NULL) {
		loader->outer.fault(loader->outer.ctx, fault);
	}
}

/** A loader for one reading. NULL: no memory, which was reported. */
static loader_t *load_new(conf_store_t *store, const char *path, bool is_checked, conf_sink_t sink)
{
	loader_t *loader = calloc(1, sizeof(*loader));
	if (loader == NULL) {
		const conf_place_t place = { .file = path };
		(void)conf_tell_text(sink, CONF_ERROR, KNOT_ENOMEM, &place, NULL, "config, not enough memory");
		return NULL;
	}
	loader->store = store;
	loader->outer = sink;
	loader->sink = (conf_sink_t){ load_count_fault, loader };
	loader->is_checked = is_checked;
	loader->section = NO_SECTION;
	loader->place.file = path;
	return loader;
}

/** Report what is reported at the end. err: the error that ended the reading. */
static knot_err_t load_end(loader_t *loader, knot_err_t err)
{
	const conf_place_t nowhere = { 0 };
	err = loader->first_err != KNOT_OK ? loader->first_err : err;
	if (loader->error_count > CONF_ERRORS_TOLD_MAX) {
		(void)conf_tell_text(loader->outer, CONF_ERROR, err, &nowhere, NULL, "config, and %zu more errors",
				loader->error_count - CONF_ERRORS_TOLD_MAX);
	}
	if (err == KNOT_OK && loader->unsupported.count > 0) {
		err = KNOT_CONF_ENOTSUP;
	}
	conf_unsupported_tell(&loader->unsupported, loader->store, loader->outer);
	free(loader->items);
	free(loader);
	return err;
}

knot_err_t conf_include(conf_store_t *store, const char *pattern, conf_sink_t sink)
{
	loader_t *loader = load_new(store, NULL, false, sink);
	if (loader == NULL) {
		return KNOT_ENOMEM;
	}
	loader->place.key = KNOT_STR("include");
	loader->place.value = knot_str_of(pattern);
	return load_end(loader, load_include(loader));
}

knot_err_t conf_read(conf_store_t *store, const char *path, const knot_str_t *text, bool is_checked, conf_sink_t sink)
{
	loader_t *loader = load_new(store, path, is_checked, sink);
	if (loader == NULL) {
		return KNOT_ENOMEM;
	}
	return load_end(loader, text != NULL ? load_text(loader, *text) : load_file(loader, path, NULL));
}
