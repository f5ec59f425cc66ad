/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/conf/hint.h"
#include "src/conf/row_text.h"
#include "src/conf/txn.h"
#include "src/conf/value.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>

enum {
	WORD_MAX = 63,        /* bytes of a word that has a similar one: longer ones are no names of items */
	CANDIDATES_MAX = 4096 /* blocks that are compared with a reference */
};

/* ---- Similar words ---- */

/** The best candidate so far. */
typedef struct {
	knot_str_t word;
	size_t distance_max; /* that of the best one, or what is near enough */
	char best[WORD_MAX + 1];
} nearest_t;

/** As many mistakes as a word of this length may have to be still the same word. */
static size_t hint_mistakes_max(size_t len)
{
	return len < 4 ? 1 : len < 8 ? 2 : 3;
}

static nearest_t hint_nearest_begin(knot_str_t word)
{
	return (nearest_t){ .word = word, .distance_max = hint_mistakes_max(word.len) + 1 };
}

static size_t hint_least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/** Characters added, left out, changed or swapped with the next: optimal string alignment over three rows. */
static size_t hint_distance(knot_str_t a, knot_str_t b)
{
	size_t rows[3][WORD_MAX + 1];
	assert(a.len <= WORD_MAX && b.len <= WORD_MAX);
	for (size_t j = 0; j <= b.len; j++) {
		rows[0][j] = j;
	}
	for (size_t i = 1; i <= a.len; i++) {
		const size_t *before = rows[(i + 1) % 3], *above = rows[(i - 1) % 3];
		size_t *row = rows[i % 3];
		row[0] = i;
		for (size_t j = 1; j <= b.len; j++) {
			int ca = tolower((unsigned char)a.data[i - 1]), cb = tolower((unsigned char)b.data[j - 1]);
			row[j] = hint_least(hint_least(above[j], row[j - 1]) + 1, above[j - 1] + (ca != cb));
			bool is_swapped = i > 1 && j > 1 && ca == tolower((unsigned char)b.data[j - 2]) &&
					  cb == tolower((unsigned char)a.data[i - 2]);
			if (is_swapped) {
				row[j] = hint_least(row[j], before[j - 2] + 1);
			}
		}
	}
	return rows[a.len % 3][b.len];
}

static void hint_nearest_add(nearest_t *nearest, const char *candidate)
{
	knot_str_t text = knot_str_of(candidate);
	if (text.len == 0 || text.len > WORD_MAX || nearest->word.len == 0 || nearest->word.len > WORD_MAX) {
		return;
	}
	size_t distance = hint_distance(nearest->word, text);
	/* A short word that shares nothing with the other isn't similar, however few letters there are. */
	if (distance < nearest->distance_max && distance < text.len) {
		nearest->distance_max = distance;
		memcpy(nearest->best, candidate, text.len + 1);
	}
}

/** Returns whether there was something to write. */
static bool hint_put_nearest(const nearest_t *nearest, char ret_hint[static CONF_HINT_MAX])
{
	if (nearest->best[0] != '\0') {
		(void)snprintf(ret_hint, CONF_HINT_MAX, "did you mean '%s'?", nearest->best);
	}
	return nearest->best[0] != '\0';
}

/* ---- Names ---- */

size_t conf_hint_nearest_section(knot_str_t name)
{
	nearest_t nearest = hint_nearest_begin(name);
	for (size_t i = 0; i < conf_section_count; i++) {
		hint_nearest_add(&nearest, conf_sections[i]->name);
	}
	return conf_section_find(knot_str_of(nearest.best));
}

/** The first section but `but` that has an item of this name; NULL: none has. */
static const conf_section_t *hint_find_owner(const conf_section_t *but, knot_str_t name)
{
	for (size_t i = 0; i < conf_section_count; i++) {
		const conf_section_t *section = conf_sections[i];
		bool has_items = section->kind != CONF_DIRECTIVE && section != but;
		if (has_items && conf_row_find(section, name) < section->row_count) {
			return section;
		}
	}
	return NULL;
}

void conf_hint_section(knot_str_t name, char ret_hint[static CONF_HINT_MAX])
{
	ret_hint[0] = '\0';
	size_t section = conf_hint_nearest_section(name);
	const conf_section_t *owner = hint_find_owner(NULL, name);
	if (section < conf_section_count) {
		(void)snprintf(ret_hint, CONF_HINT_MAX, "did you mean '%s'?", conf_sections[section]->name);
	} else if (owner != NULL) {
		(void)snprintf(ret_hint, CONF_HINT_MAX, "an item of section '%s': indent it", owner->name);
	}
}

/** An item of another section whose name is similar. */
static void hint_put_elsewhere(const conf_section_t *but, knot_str_t name, char ret_hint[static CONF_HINT_MAX])
{
	nearest_t nearest = hint_nearest_begin(name);
	for (size_t i = 0; i < conf_section_count; i++) {
		const conf_section_t *section = conf_sections[i];
		size_t before = nearest.distance_max;
		for (size_t j = 0; j < section->row_count && section->kind != CONF_DIRECTIVE && section != but; j++) {
			hint_nearest_add(&nearest, section->rows[j].name);
		}
		if (nearest.distance_max < before) {
			(void)snprintf(ret_hint, CONF_HINT_MAX, "did you mean '%s' of section '%s'?", nearest.best,
					section->name);
		}
	}
}

void conf_hint_item(const conf_section_t *section, knot_str_t name, char ret_hint[static CONF_HINT_MAX])
{
	nearest_t nearest = hint_nearest_begin(name);
	ret_hint[0] = '\0';
	for (size_t i = 0; i < section->row_count; i++) {
		if (conf_row_in(section, &section->rows[i])) {
			hint_nearest_add(&nearest, section->rows[i].name);
		}
	}
	const conf_section_t *owner = hint_find_owner(section, name);
	if (owner != NULL) {
		(void)snprintf(ret_hint, CONF_HINT_MAX, "'%.*s' is an item of section '%s'", (int)name.len, name.data,
				owner->name);
	} else if (!hint_put_nearest(&nearest, ret_hint)) {
		hint_put_elsewhere(section, name, ret_hint);
	}
}

/* ---- Values ---- */

/** True if an option before this one means the same: only the name that is printed is listed. */
static bool hint_is_alias(const conf_option_t *options, const conf_option_t *option)
{
	while (options != option && options->id != option->id) {
		options++;
	}
	return options != option;
}

static void hint_put_options(const conf_row_t *row, knot_str_t text, char ret_hint[static CONF_HINT_MAX])
{
	size_t len = 0;
	nearest_t nearest = hint_nearest_begin(text);
	for (const conf_option_t *option = row->options; option->name != NULL && len < CONF_HINT_MAX; option++) {
		if (hint_is_alias(row->options, option)) {
			continue;
		}
		int put = snprintf(ret_hint + len, CONF_HINT_MAX - len, "%s%s",
				option == row->options ? "allowed values: " : ", ", option->name);
		len += put > 0 ? (size_t)put : 0;
		hint_nearest_add(&nearest, option->name);
	}
	if (len >= CONF_HINT_MAX) {
		ret_hint[0] = '\0'; /* too many to list */
		(void)hint_put_nearest(&nearest, ret_hint);
	}
}

/** Sum of `1h30m`, in base units. False: the text isn't several numbers with a unit each. */
static bool hint_sum_units(const conf_row_t *row, knot_str_t text, int64_t *ret_sum)
{
	int64_t sum = 0;
	size_t pos = 0, parts = 0;
	while (pos < text.len) {
		size_t start = pos;
		uint8_t part[CONF_HINT_MAX];
		size_t len;
		while (pos < text.len && isdigit((unsigned char)text.data[pos])) {
			pos++;
		}
		bool is_part = pos > start && pos < text.len && pos + 1 - start < sizeof(part);
		/* Zero is in few ranges: each part is scanned without the row's. */
		const conf_row_t loose = { .type = CONF_INT, .unit = row->unit, .max = INT64_MAX };
		knot_str_t word = { text.data + start, pos + 1 - start };
		if (!is_part || conf_value_scan(&loose, word, part, &len) != KNOT_OK ||
				__builtin_add_overflow(sum, conf_value_int((knot_bytes_t){ part, len }), &sum)) {
			return false;
		}
		pos++;
		parts++;
	}
	*ret_sum = sum;
	return parts > 1;
}

static void hint_put_number(const conf_row_t *row, knot_str_t text, char ret_hint[static CONF_HINT_MAX])
{
	int64_t sum;
	char number[CONF_ROW_NUMBER_MAX];
	if (row->unit != CONF_UNIT_NONE && hint_sum_units(row, text, &sum)) {
		(void)snprintf(ret_hint, CONF_HINT_MAX, "one unit only: %s instead of %.*s",
				conf_row_number(row, sum, number), (int)text.len, text.data);
		return;
	}
	static const char *const forms[] = {
		[CONF_UNIT_NONE] = "a number",
		[CONF_UNIT_TIME] = "a number of seconds, or a number with one of the units s, m, h, d, w, M, y",
		[CONF_UNIT_SIZE] = "a number of bytes, or a number with one of the units B, K, M, G",
	};
	(void)snprintf(ret_hint, CONF_HINT_MAX, "%s", forms[row->unit]);
}

void conf_hint_value(const conf_row_t *row, knot_str_t text, knot_err_t err, char ret_hint[static CONF_HINT_MAX])
{
	ret_hint[0] = '\0';
	bool is_number = row->type == CONF_INT || row->type == CONF_OPTINT;
	if (is_number && err == KNOT_CONF_ERANGE) {
		char range[CONF_ROW_RANGE_MAX];
		(void)snprintf(ret_hint, CONF_HINT_MAX, "%s", conf_row_range(row, range));
	} else if (row->type == CONF_BOOL) {
		(void)snprintf(ret_hint, CONF_HINT_MAX, "allowed values: on, off");
	} else if (row->type == CONF_INT) {
		hint_put_number(row, text, ret_hint);
	} else if (row->options != NULL) {
		hint_put_options(row, text, ret_hint);
	}
}

/* ---- What a value refers to ---- */

/** The binary form of identifiers is the text, or a name. */
static void hint_add_blocks(nearest_t *nearest, size_t section, conf_view_t view)
{
	conf_cursor_t cursor = { .view = view, .section = section };
	conf_block_view_t block;
	for (size_t i = 0; i < CANDIDATES_MAX && conf_view_next(&cursor, &block); i++) {
		char id[WORD_MAX + 1];
		size_t len = conf_value_print(conf_id_row(conf_sections[section]), block.id, id, sizeof(id));
		if (len < sizeof(id)) {
			hint_nearest_add(nearest, id);
		}
	}
}

void conf_hint_target(
		const conf_check_value_t *check, knot_str_t text, conf_view_t view, char ret_hint[static CONF_HINT_MAX])
{
	nearest_t nearest = hint_nearest_begin(text);
	const conf_row_t *row = check->row;
	ret_hint[0] = '\0';
	for (size_t i = 0; i < KNOT_LEN(row->ref) && row->ref[i] != NULL; i++) {
		hint_add_blocks(&nearest, conf_section_find(knot_str_of(row->ref[i])), view);
	}
	for (size_t i = 0; i < conf_section_count && row->type == CONF_MODREF; i++) {
		if (conf_sections[i]->is_module) {
			hint_nearest_add(&nearest, conf_sections[i]->name);
		}
	}
	if (!hint_put_nearest(&nearest, ret_hint) && row->type == CONF_REF) {
		(void)snprintf(ret_hint, CONF_HINT_MAX,
				"section '%s%s%s' has no block with this identifier before this "
				"line",
				row->ref[0], row->ref[1] != NULL ? "' or '" : "",
				row->ref[1] != NULL ? row->ref[1] : "");
	}
}
