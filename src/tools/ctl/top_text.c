/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Samples of `knotc top` for other programs: lines of words, or JSON.
 */
#include "src/tools/ctl/output.h"
#include "src/tools/ctl/top_screen.h"

/* "panel sub/key" or "panel key". */
static void print_name(const char *panel, const top_row_t *row, FILE *out)
{
	fprintf(out, "%s %s%s%s", panel, row->sub, row->sub[0] != '\0' ? "/" : "", row->key);
}

void top_text(const top_rates_t *rates, FILE *out)
{
	fprintf(out, "queries %.1f %llu\n", rates->queries, (unsigned long long)rates->total);
	for (size_t i = 0; i < TOP_PANELS; i++) {
		for (size_t j = 0; j < rates->panels[i].count; j++) {
			const top_row_t *row = &rates->panels[i].rows[j];
			print_name(top_panel_names[i], row, out);
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
			fprintf(out, " %s=%s%.0f", top_quantile_names[j], ns < 0 ? ">" : "", ns < 0 ? -ns : ns);
		}
		fputc('\n', out);
	}
}

static void json_member(FILE *out, const char *name, const char *value)
{
	output_json_string(out, name);
	fputs(": ", out);
	output_json_string(out, value);
}

static void json_row(const top_row_t *row, bool is_fact, FILE *out)
{
	fputc('{', out);
	if (row->sub[0] != '\0') {
		json_member(out, "item", row->sub);
		fputs(", ", out);
	}
	json_member(out, "id", row->key);
	if (is_fact) {
		fputs(", ", out);
		json_member(out, "data", row->text);
		fputc('}', out);
	} else {
		fprintf(out, ", \"rate\": %.3f, \"total\": %llu}", row->rate, (unsigned long long)row->total);
	}
}

static void json_latency(const top_latency_t *latency, FILE *out)
{
	fputc('{', out);
	json_member(out, "id", latency->protocol);
	fprintf(out, ", \"rate\": %.3f", latency->rate);
	for (size_t i = 0; i < TOP_QUANTILES; i++) {
		/* Longer than what the last bucket begins with: how much longer is not known. */
		double ns = latency->ns[i];
		fprintf(out, ", \"%s\": %.0f%s%s%s", top_quantile_names[i], ns < 0 ? -ns : ns, ns < 0 ? ", \"" : "",
				ns < 0 ? top_quantile_names[i] : "", ns < 0 ? "-exceeded\": true" : "");
	}
	fputc('}', out);
}

void top_json(const top_rates_t *rates, FILE *out)
{
	fprintf(out, "{\"seconds\": %.3f, \"queries\": {\"rate\": %.3f, \"total\": %llu}", rates->seconds,
			rates->queries, (unsigned long long)rates->total);
	for (size_t i = 0; i < TOP_PANELS; i++) {
		if (i == TOP_LATENCY) {
			continue;
		}
		fprintf(out, ", \"%s\": [", top_panel_names[i]);
		for (size_t j = 0; j < rates->panels[i].count; j++) {
			fputs(j > 0 ? ", " : "", out);
			json_row(&rates->panels[i].rows[j], i == TOP_SERVER, out);
		}
		fputc(']', out);
	}
	fputs(", \"latency\": [", out);
	for (size_t i = 0; i < rates->latency_count; i++) {
		fputs(i > 0 ? ", " : "", out);
		json_latency(&rates->latencies[i], out);
	}
	fputs("]}\n", out);
}
