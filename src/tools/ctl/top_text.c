/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Samples of `knotc top` for other programs: lines of words, or JSON.
 */
#include "libknot/base/json.h"
#include "libknot/base/number.h"
#include "src/tools/ctl/top_screen.h"

/* "panel sub/key" or "panel key". */
static void top_text_print_name(const char *panel, const top_row_t *row, FILE *out)
{
	fprintf(out, "%s %s%s%s", panel, row->sub, row->sub[0] != '\0' ? "/" : "", row->key);
}

void top_text(const top_rates_t *rates, FILE *out)
{
	fprintf(out, "queries %.1f %llu\n", rates->queries, (unsigned long long)rates->total);
	for (size_t i = 0; i < TOP_PANELS; i++) {
		for (size_t j = 0; j < rates->panels[i].count; j++) {
			const top_row_t *row = &rates->panels[i].rows[j];
			top_text_print_name(top_panel_names[i], row, out);
			if (i == TOP_SERVER) {
				fprintf(out, " %s\n", row->text);
			} else {
				fprintf(out, " %.1f %llu\n", row->rate, (unsigned long long)row->total);
			}
		}
	}
	for (size_t i = 0; i < rates->latency_count; i++) {
		fprintf(out, "latency %s", rates->latencies[i].protocol);
		for (size_t j = 0; j < TOP_QUANTILES; j++) {
			double ns = rates->latencies[i].ns[j];
			fprintf(out, " %s=%s%.0fns", top_quantile_names[j], ns < 0 ? ">" : "", ns < 0 ? -ns : ns);
		}
		fputc('\n', out);
	}
}

/* Of zones and types there is only what was counted in the interval. Their `total` has been the same number since
 * before `interval` was there; programs may read it. */
static void top_text_write_row(knot_json_t *json, const top_row_t *row, top_panel_t panel)
{
	uint64_t number;
	knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	if (row->sub[0] != '\0') {
		knot_json_text(json, "item", row->sub);
	}
	knot_json_text(json, "id", row->key);
	if (panel != TOP_SERVER) {
		knot_json_fixed(json, "rate", row->rate, 3);
		if (panel == TOP_ZONE || panel == TOP_TYPE) {
			knot_json_uint(json, "interval", row->total);
		}
		knot_json_uint(json, "total", row->total);
	} else if (knot_number_of(row->text, 0, UINT64_MAX, &number)) {
		knot_json_uint(json, "data", number);
	} else {
		knot_json_text(json, "data", row->text);
	}
	knot_json_close(json);
}

static void top_text_write_latency(knot_json_t *json, const top_latency_t *latency)
{
	knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	knot_json_text(json, "id", latency->protocol);
	knot_json_fixed(json, "rate", latency->rate, 3);
	for (size_t i = 0; i < TOP_QUANTILES; i++) {
		/* In the last bucket, which has no end. */
		double ns = latency->ns[i];
		knot_json_fixed(json, top_quantile_names[i], ns < 0 ? -ns : ns, 0);
		if (ns < 0) {
			char name[24];
			snprintf(name, sizeof(name), "%s-exceeded", top_quantile_names[i]);
			knot_json_bool(json, name, true);
		}
	}
	knot_json_close(json);
}

void top_json(const top_rates_t *rates, FILE *out)
{
	knot_json_t json = knot_json_of(knot_json_to_file, out);
	knot_json_open(&json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	knot_json_fixed(&json, "seconds", rates->seconds, 3);
	knot_json_open(&json, "queries", KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	knot_json_fixed(&json, "rate", rates->queries, 3);
	knot_json_uint(&json, "total", rates->total);
	knot_json_close(&json);
	for (size_t i = 0; i < TOP_PANELS; i++) {
		if (i == TOP_LATENCY) {
			continue;
		}
		knot_json_open(&json, top_panel_names[i], KNOT_JSON_LIST, KNOT_JSON_LINE);
		for (size_t j = 0; j < rates->panels[i].count; j++) {
			top_text_write_row(&json, &rates->panels[i].rows[j], (top_panel_t)i);
		}
		knot_json_close(&json);
	}
	knot_json_open(&json, "latency", KNOT_JSON_LIST, KNOT_JSON_LINE);
	for (size_t i = 0; i < rates->latency_count; i++) {
		top_text_write_latency(&json, &rates->latencies[i]);
	}
	knot_json_close(&json);
	knot_json_close(&json);
	(void)!knot_json_end(&json); /* what couldn't be written is found when the tool ends */
}
