/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/conf/unsupported.h"
#include "src/conf/hint.h"
#include "src/conf/load.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/** One item with a copy of its place. */
struct conf_unsupported_item {
	conf_place_t place;
	const conf_row_t *row;
	char *strings; /* owned: file, id and value */
};

/* ---- Collecting ---- */

static void unsupported_count_feature(conf_unsupported_t *list, const char *name)
{
	size_t i = 0;
	while (i < list->feature_count && strcmp(list->features[i].name, name) != 0) {
		i++;
	}
	assert(i < CONF_FEATURES_MAX); /* the schema has fewer, see rows_test.c */
	if (i == list->feature_count) {
		list->features[i].name = name;
		list->feature_count++;
	}
	list->features[i].count++;
}

static conf_unsupported_item_t *unsupported_new_item(conf_unsupported_t *list)
{
	if (list->item_count == CONF_UNSUPPORTED_TOLD_MAX) {
		return NULL;
	}
	if (list->item_count == list->item_max) {
		size_t max = 2 * list->item_max + 16;
		conf_unsupported_item_t *items = realloc(list->items, max * sizeof(*items));
		if (items == NULL) {
			return NULL;
		}
		list->items = items;
		list->item_max = max;
	}
	return &list->items[list->item_count];
}

/** Append a string, move the cursor behind it; NULL stays NULL. */
static const char *unsupported_copy(char **cursor, const char *text)
{
	if (text == NULL) {
		return NULL;
	}
	char *copy = *cursor;
	*cursor = stpcpy(copy, text) + 1;
	return copy;
}

static size_t unsupported_room(const char *text)
{
	return text != NULL ? strlen(text) + 1 : 0;
}

void conf_unsupported_add(conf_unsupported_t *list, const conf_place_t *place, const conf_check_value_t *check)
{
	assert(place->section != NULL && place->item != NULL);
	bool is_module = check->row->type == CONF_MODREF;
	const char *feature = check->row->feature;
	if (is_module) {
		size_t section = conf_section_find(knot_str_of((const char *)check->value.data));
		assert(section < conf_section_count); /* a reference to another one is an error */
		feature = conf_sections[section]->name;
	}
	assert(feature != NULL);
	list->count++;
	unsupported_count_feature(list, feature);
	conf_unsupported_item_t *item = unsupported_new_item(list);
	size_t room = unsupported_room(place->file) + unsupported_room(place->id) + unsupported_room(place->value);
	char *strings = item != NULL ? malloc(room + 1) : NULL;
	if (strings == NULL) {
		return;
	}
	*item = (conf_unsupported_item_t){ .place = *place, .row = check->row, .strings = strings };
	item->place.file = unsupported_copy(&strings, place->file);
	item->place.id = unsupported_copy(&strings, place->id);
	item->place.value = unsupported_copy(&strings, place->value);
	item->place.item = check->row->name;
	list->item_count++;
}

/* ---- Counting ---- */

/** What is affected. */
typedef struct {
	size_t *zones_of; /* per template: how many zones have it; owned, NULL: not known */
	size_t templates, zones;
} affected_t;

static bool unsupported_is_in(const conf_section_t *section, knot_bytes_t items)
{
	conf_item_t item;
	size_t pos = 0;
	bool is_in = false;
	while (!is_in && conf_item_next(items, &pos, &item)) {
		const conf_check_value_t check = { .row = &section->rows[item.row], .value = item.value };
		is_in = conf_check_support(&check) != KNOT_OK;
	}
	return is_in;
}

/** Index of the template that the zone inherits from; the count of templates: of none. */
static size_t unsupported_template_of(const conf_store_t *store, knot_bytes_t items)
{
	static const char dflt[] = "default";
	const conf_table_t *table = &store->tables[CONF_S_TEMPLATE];
	const conf_block_view_t zone = { .section = &conf_section_zone, .items = items };
	knot_bytes_t id = conf_block_find(&zone, "template");
	if (id.data == NULL) {
		id = (knot_bytes_t){ (const uint8_t *)dflt, sizeof(dflt) };
	}
	const conf_block_t *block = conf_store_find(store, CONF_S_TEMPLATE, id);
	return block != NULL ? (size_t)(block - table->blocks) : table->count;
}

/** has: per template, whether it asks for something that isn't supported. */
static void unsupported_count_zone(const conf_store_t *store, knot_bytes_t items, const bool *has, affected_t *affected)
{
	size_t templ = unsupported_template_of(store, items);
	affected->zones_of[templ]++;
	affected->zones += has[templ] || unsupported_is_in(&conf_section_zone, items);
}

static affected_t unsupported_count(const conf_store_t *store)
{
	const conf_table_t *templates = &store->tables[CONF_S_TEMPLATE], *zones = &store->tables[CONF_S_ZONE];
	affected_t affected = { .zones_of = calloc(templates->count + 1, sizeof(size_t)) };
	bool *has = calloc(templates->count + 1, sizeof(*has));
	if (affected.zones_of == NULL || has == NULL) {
		free(affected.zones_of);
		free(has);
		return (affected_t){ 0 };
	}
	for (size_t i = 0; i < templates->count; i++) {
		has[i] = unsupported_is_in(&conf_section_template, conf_block_items(&templates->blocks[i]));
		affected.templates += has[i];
	}
	for (size_t i = 0; i < store->zones.count; i++) {
		unsupported_count_zone(store, conf_zones_items(&store->zones, i), has, &affected);
	}
	for (size_t i = 0; i < zones->count; i++) {
		unsupported_count_zone(store, conf_block_items(&zones->blocks[i]), has, &affected);
	}
	free(has);
	return affected;
}

/* ---- Telling ---- */

static const char *unsupported_plural(size_t count)
{
	return count == 1 ? "" : "s";
}

/** What to know about one item: whose it is, and what may stand instead. */
static void unsupported_hint(const conf_unsupported_item_t *item, const conf_store_t *store, const affected_t *affected,
		char ret_hint[static CONF_HINT_MAX])
{
	int len = 0;
	ret_hint[0] = '\0';
	const conf_place_t *place = &item->place;
	if (place->id != NULL && strcmp(place->section, conf_section_template.name) == 0 &&
			affected->zones_of != NULL) {
		knot_bytes_t id = { (const uint8_t *)place->id, strlen(place->id) + 1 };
		const conf_block_t *block = conf_store_find(store, CONF_S_TEMPLATE, id);
		size_t zones = block != NULL ? affected->zones_of[block - store->tables[CONF_S_TEMPLATE].blocks] : 0;
		len = snprintf(ret_hint, CONF_HINT_MAX, "%zu zone%s use%s template '%.64s'", zones,
				unsupported_plural(zones), zones == 1 ? "s" : "", place->id);
	}
	bool has_words = item->row->harmless != NULL && strcmp(item->row->harmless, "\"\"") != 0;
	if (has_words && len >= 0) {
		(void)snprintf(ret_hint + len, CONF_HINT_MAX - (size_t)len, "%ssupported: %s", len > 0 ? "; " : "",
				item->row->harmless);
	}
}

/** "config, not supported yet: transfers (6), mod-rrl (1); 7 items, 3 templates and 41 zones affected". */
static void unsupported_summarize(const conf_unsupported_t *list, const affected_t *affected, conf_sink_t sink)
{
	char text[2048];
	size_t len = 0;
	const conf_place_t nowhere = { 0 };
	text[0] = '\0';
	for (size_t i = 0; i < list->feature_count && len < sizeof(text); i++) {
		int put = snprintf(text + len, sizeof(text) - len, "%s%s (%zu)", i > 0 ? ", " : "",
				list->features[i].name, list->features[i].count);
		len += put > 0 ? (size_t)put : 0;
	}
	if (affected->zones_of == NULL) {
		(void)conf_tell_text(sink, CONF_ERROR, KNOT_CONF_ENOTSUP, &nowhere, NULL,
				"config, not supported yet: %s; %zu items", text, list->count);
		return;
	}
	(void)conf_tell_text(sink, CONF_ERROR, KNOT_CONF_ENOTSUP, &nowhere, NULL,
			"config, not supported yet: %s; %zu items, %zu template%s and %zu zone%s affected", text,
			list->count, affected->templates, unsupported_plural(affected->templates), affected->zones,
			unsupported_plural(affected->zones));
}

void conf_unsupported_tell(conf_unsupported_t *list, const conf_store_t *store, conf_sink_t sink)
{
	affected_t affected = list->count > 0 ? unsupported_count(store) : (affected_t){ 0 };
	for (size_t i = 0; i < list->item_count; i++) {
		conf_unsupported_item_t *item = &list->items[i];
		char hint[CONF_HINT_MAX];
		unsupported_hint(item, store, &affected, hint);
		item->place.hint = hint;
		(void)conf_tell(sink, CONF_ERROR, KNOT_CONF_ENOTSUP, &item->place, knot_strerror(KNOT_CONF_ENOTSUP));
		free(item->strings);
	}
	/* A summary of one item would only repeat it. */
	if (list->count > 1 || list->item_count < list->count) {
		unsupported_summarize(list, &affected, sink);
	}
	free(affected.zones_of);
	free(list->items);
	*list = (conf_unsupported_t){ 0 };
}
