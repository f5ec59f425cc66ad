/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/metrics_render.h"

#include <stdlib.h>

enum {
	/* Zones between two looks at the published state: some 100 µs. */
	ZONES_PER_STEP = 1000,
	HEALTHS_PER_STEP = 64,
	ITEMS_MAX = 64,    /* items that modules of zones count */
	SAMPLES_MAX = 512, /* sub-keys of an item: the most are the 257 of reply-size */
	ID_MAX = 48,
};

typedef struct {
	char id[ID_MAX], section[32];
	uint64_t value;
} sample_t;

struct metrics_render {
	metrics_source_t source;
	metrics_text_t text; /* made and not given yet, from `given` on */
	size_t given;
	unsigned parts;
	unsigned health_family; /* the next of those */
	unsigned family;        /* of zones: the next, then items */
	bool is_begun;          /* its head was written */
	server_zone_health_t healths[HEALTHS_PER_STEP];
	bool is_over;
	/* The zone written last: zones come and go meanwhile. */
	bool has_last;
	uint8_t last[KNOT_NAME_MAX];
	size_t position; /* where the one after it was */
	/* What modules of zones count. */
	bool has_items;  /* all of them are noted */
	size_t items_at; /* zones with modules that were looked at */
	unsigned item_count;
	const sys_counter_info_t *items[ITEMS_MAX]; /* static */
	char family_name[METRICS_NAME_MAX];
	metrics_family_t item_family;
	/* Counters of a zone. */
	sample_t samples[SAMPLES_MAX];
	unsigned sample_count;
};

/* ---- Families of single zones: ours, then the facts of `zone-stats`, then what modules count ---- */

typedef struct {
	metrics_family_t family;
	bool (*value)(const zone_contents_t *contents, uint64_t *ret_value); /* false: the zone has no sample */
} zone_family_t;

static bool render_read_serial(const zone_contents_t *contents, uint64_t *ret_value)
{
	*ret_value = contents != NULL ? contents->serial : 0;
	return contents != NULL;
}

static const zone_family_t zone_families[] = {
	{ { "knot_zone_serial", METRICS_GAUGE, NULL, "Serial of the zone that is served" }, render_read_serial },
};

static unsigned render_count_facts(void)
{
	unsigned count = 0;
	while (counters_zone_fact(count) != NULL) {
		count++;
	}
	return count;
}

/* The fact that the family at hand is about; NULL: it is another family. */
static const counter_zone_fact_t *render_find_fact(const metrics_render_t *render)
{
	unsigned first = KNOT_LEN(zone_families);
	return render->family < first ? NULL : counters_zone_fact(render->family - first);
}

static void render_write_zone(metrics_render_t *render, const zone_t *zone)
{
	const counter_zone_fact_t *fact = render_find_fact(render);
	uint64_t value;
	if (fact != NULL) {
		value = fact->read(zone_contents(zone));
	} else if (!zone_families[render->family].value(zone_contents(zone), &value)) {
		return;
	}
	char name[KNOT_NAME_TEXT_MAX];
	(void)knot_name_print(zone_name(zone), name);
	const metrics_label_t labels[METRICS_LABELS_MAX] = {
		{ "zone", name },
		{ fact != NULL ? "module" : NULL, "zone" }, /* and an empty `type`: as knot-exporter gives them */
		{ "type", "" },
	};
	metrics_sample(&render->text, labels, value);
}

/* ---- What modules of zones count ---- */

static void render_note_item(const sys_counter_info_t *item, void *ctx)
{
	metrics_render_t *render = ctx;
	for (unsigned i = 0; i < render->item_count; i++) {
		if (render->items[i] == item) {
			return;
		}
	}
	if (render->item_count < ITEMS_MAX) {
		render->items[render->item_count++] = item;
	}
}

/* Of some zones. Those that come to lie elsewhere meanwhile may be missed, and their items with them if no other zone
 * has these. */
static void render_note_items(metrics_render_t *render, const state_t *state)
{
	size_t end = render->items_at + ZONES_PER_STEP;
	for (; render->items_at < end && render->items_at < state->zone_modules_count; render->items_at++) {
		module_chain_items(state_zone_modules(state, state->zone_modules[render->items_at].zone),
				render_note_item, render);
	}
	render->has_items = render->items_at >= state->zone_modules_count;
}

/* Instances of a module that count the same are added up. */
static bool render_take_sample(const sys_counter_info_t *info, const char *id, uint64_t value, void *ctx)
{
	metrics_render_t *render = ctx;
	id = id != NULL ? id : "";
	if (value == 0) {
		return true;
	}
	for (unsigned i = 0; i < render->sample_count; i++) {
		sample_t *sample = &render->samples[i];
		if (strcmp(sample->id, id) == 0 && strcmp(sample->section, info->section) == 0) {
			sample->value += value;
			return true;
		}
	}
	if (render->sample_count < SAMPLES_MAX) {
		sample_t *sample = &render->samples[render->sample_count++];
		snprintf(sample->id, sizeof(sample->id), "%s", id);
		snprintf(sample->section, sizeof(sample->section), "%s", info->section);
		sample->value = value;
	}
	return true;
}

static void render_write_zone_item(metrics_render_t *render, const state_t *state, const zone_t *zone)
{
	const module_chain_t *chain = state_zone_modules(state, zone);
	if (chain == NULL) {
		return;
	}
	/* This item's counters only: summing up all of them for each item would cost ten times as much. */
	render->sample_count = 0;
	(void)module_chain_counters(chain,
			render->items[render->family - KNOT_LEN(zone_families) - render_count_facts()]->item,
			render_take_sample, render);
	char name[KNOT_NAME_TEXT_MAX];
	(void)knot_name_print(zone_name(zone), name);
	for (unsigned i = 0; i < render->sample_count; i++) {
		const metrics_label_t labels[METRICS_LABELS_MAX] = {
			{ "zone", name },
			{ "module", render->samples[i].section },
			{ "type", render->samples[i].id },
		};
		metrics_sample(&render->text, labels, render->samples[i].value);
	}
}

/* ---- Zone after zone ---- */

/* The first zone after the one written last. */
static size_t render_find_next_zone(const metrics_render_t *render, const zonedb_t *zones)
{
	zone_t *const *all = zonedb_zones(zones);
	size_t low = 0, high = zonedb_count(zones);
	if (!render->has_last) {
		return 0;
	}
	knot_name_t last = knot_name_of(render->last);
	if (render->position > 0 && render->position <= high &&
			knot_name_cmp(zone_name(all[render->position - 1]), last) == 0) {
		return render->position;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (knot_name_cmp(zone_name(all[middle]), last) <= 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

/* Some zones of the family. False: there are no more. */
static bool render_write_some_zones(metrics_render_t *render, const state_t *state)
{
	zone_t *const *all = zonedb_zones(state->zones);
	size_t count = zonedb_count(state->zones), at = render_find_next_zone(render, state->zones);
	size_t end = count - at < ZONES_PER_STEP ? count : at + ZONES_PER_STEP;
	for (; at < end; at++) {
		if (render->family < KNOT_LEN(zone_families) + render_count_facts()) {
			render_write_zone(render, all[at]);
		} else {
			render_write_zone_item(render, state, all[at]);
		}
	}
	if (at == count) {
		return false;
	}
	knot_name_t last = zone_name(all[at - 1]);
	memcpy(render->last, last.wire, last.len);
	render->has_last = true;
	render->position = at;
	return true;
}

static void render_begin_family(metrics_render_t *render)
{
	render->is_begun = true;
	render->has_last = false;
	if (render->family < KNOT_LEN(zone_families)) {
		metrics_family(&render->text, &zone_families[render->family].family);
		return;
	}
	const counter_zone_fact_t *fact = render_find_fact(render);
	const sys_counter_info_t *item =
			fact != NULL ? &fact->info
				     : render->items[render->family - KNOT_LEN(zone_families) - render_count_facts()];
	render->item_family = metrics_item_family(
			"knot_zone_stats_", item->item, item->kind, item->help, render->family_name);
	metrics_family(&render->text, &render->item_family);
}

static void render_write_load(metrics_render_t *render, const server_zone_health_t *health, const char *name)
{
	const metrics_label_t labels[METRICS_LABELS_MAX] = { { "zone", name } };
	if (health->is_tried && !health->is_failed) {
		metrics_sample(&render->text, labels, health->since_s);
	}
}

static void render_write_refresh(metrics_render_t *render, const server_zone_health_t *health, const char *name)
{
	const metrics_label_t labels[METRICS_LABELS_MAX] = { { "zone", name }, { "remote", health->refreshed_from } };
	if (health->refreshed_from != NULL) {
		metrics_sample(&render->text, labels, health->refreshed_s);
	}
}

/** Families whose samples are known under the lock of the jobs. */
typedef struct {
	metrics_family_t family;
	void (*write)(metrics_render_t *render, const server_zone_health_t *health, const char *name);
} health_family_t;

static const health_family_t health_families[] = {
	{ { "knot_zone_last_load_timestamp_seconds", METRICS_GAUGE, "seconds",
			  "When the last load or change of the zone began, in seconds since 1970; none while it has "
			  "failed" },
			render_write_load },
	{ { "knot_zone_last_refresh_timestamp_seconds", METRICS_GAUGE, "seconds",
			  "When a primary last had just what the secondary zone has, in seconds since 1970, and which "
			  "it was" },
			render_write_refresh },
};

/* One step of such a family, outside of a read section. */
static void render_step_healths(metrics_render_t *render)
{
	const health_family_t *row = &health_families[render->health_family];
	if (!render->is_begun) {
		metrics_family(&render->text, &row->family);
		render->is_begun = true;
	}
	size_t count = server_zone_healths(render->source.server, render->has_last ? render->last : NULL, false,
			render->healths, HEALTHS_PER_STEP);
	for (size_t i = 0; i < count; i++) {
		char name[KNOT_NAME_TEXT_MAX];
		(void)knot_name_print(knot_name_of(render->healths[i].name), name);
		row->write(render, &render->healths[i], name);
	}
	render->has_last = count == HEALTHS_PER_STEP;
	if (count == HEALTHS_PER_STEP) {
		memcpy(render->last, render->healths[count - 1].name, sizeof(render->last));
	} else {
		render->health_family++;
		render->is_begun = false;
	}
}

/* One step of the zones. False: all was written. */
static bool render_step_zones(metrics_render_t *render)
{
	if (render->health_family < KNOT_LEN(health_families)) {
		render_step_healths(render);
		return true;
	}
	RCU_READ_SECTION(guard);
	const state_t *state = state_load(server_state(render->source.server), guard);
	if (!render->has_items) {
		render_note_items(render, state);
		return true;
	}
	if (render->family == KNOT_LEN(zone_families) + render_count_facts() + render->item_count) {
		return false;
	}
	if (!render->is_begun) {
		render_begin_family(render);
	}
	if (!render_write_some_zones(render, state)) {
		render->family++;
		render->is_begun = false;
	}
	return true;
}

static void render_write_step(metrics_render_t *render)
{
	if ((render->parts & METRICS_SERVER) != 0) {
		metrics_server(&render->text, &render->source);
		render->parts &= ~(unsigned)METRICS_SERVER;
	} else if ((render->parts & METRICS_ZONES) == 0 || !render_step_zones(render)) {
		metrics_end(&render->text);
		render->is_over = true;
	}
}

/* ---- The whole ---- */

metrics_render_t *metrics_render_new(const metrics_source_t *source, metrics_format_t format, unsigned parts)
{
	metrics_render_t *render = calloc(1, sizeof(*render));
	if (render != NULL) {
		render->source = *source;
		render->text.format = format;
		render->parts = parts;
	}
	return render;
}

void metrics_render_free(metrics_render_t *take_render)
{
	if (take_render != NULL) {
		metrics_text_done(&take_render->text);
		free(take_render);
	}
}

long metrics_render_read(metrics_render_t *render, char *buffer, size_t max)
{
	metrics_text_t *text = &render->text;
	while (render->given == text->len && !render->is_over && !text->failed) {
		render->given = text->len = 0;
		render_write_step(render);
	}
	if (text->failed) {
		return -1;
	}
	size_t rest = text->len - render->given, len = rest < max ? rest : max;
	if (len > 0) {
		memcpy(buffer, text->data + render->given, len);
		render->given += len;
	}
	return (long)len;
}
