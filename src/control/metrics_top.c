/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/metrics_top.h"

#include "libknot/base/json.h"
#include "libknot/rr/rrtype.h"
#include "src/sys/clock.h"

#include <stdio.h>
#include <stdlib.h>

/* A failure leaves the page without numbers for a second; the next request tries again. */
static void metrics_top_take(metrics_top_t *top, looks_t *looks, const state_root_t *root, uint64_t now_ms)
{
	if (top->look == NULL) {
		top->is_busy = look_start(looks, &top->look) == KNOT_EBUSY;
		top->taken_ms = now_ms;
		top->period_ms = 0;
		return;
	}
	if (now_ms - top->taken_ms >= METRICS_TOP_PERIOD_MS) {
		knot_err_t err = look_take(looks, top->look, root, &top->result);
		top->period_ms = err == KNOT_OK ? now_ms - top->taken_ms : 0;
		top->taken_ms = now_ms;
	}
}

static void metrics_top_write(const metrics_top_t *top, FILE *out)
{
	const look_result_t *result = &top->result;
	bool is_known = top->period_ms > 0;
	char name[KNOT_NAME_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX];
	knot_json_t json = knot_json_of(knot_json_to_file, out);
	knot_json_open(&json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	knot_json_bool(&json, "busy", top->is_busy);
	knot_json_fixed(&json, "seconds", (double)top->period_ms / 1000, 3);
	knot_json_open(&json, "zones", KNOT_JSON_LIST, KNOT_JSON_LINE);
	for (unsigned i = 0; is_known && i < result->zone_count; i++) {
		(void)knot_name_print(knot_name_of(result->zones[i].name), name);
		knot_json_open(&json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
		knot_json_text(&json, "zone", name);
		knot_json_uint(&json, "queries", result->zones[i].count);
		knot_json_close(&json);
	}
	knot_json_close(&json);
	knot_json_open(&json, "types", KNOT_JSON_LIST, KNOT_JSON_LINE);
	for (unsigned i = 0; is_known && i < result->type_count; i++) {
		(void)knot_rrtype_print(result->types[i].type, type);
		knot_json_open(&json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
		knot_json_text(&json, "type", type);
		knot_json_uint(&json, "queries", result->types[i].count);
		knot_json_close(&json);
	}
	knot_json_close(&json);
	knot_json_close(&json);
	(void)!knot_json_end(&json); /* memory that was missing: fclose() says so */
}

char *metrics_top_answer(metrics_top_t *top, looks_t *looks, const state_root_t *root, size_t *ret_len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_len);
	if (out == NULL) {
		return NULL;
	}
	top->asked_ms = sys_clock_ms();
	metrics_top_take(top, looks, root, top->asked_ms);
	metrics_top_write(top, out);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

void metrics_top_end_idle(metrics_top_t *top, looks_t *looks)
{
	if (top->look != NULL && sys_clock_ms() - top->asked_ms >= METRICS_TOP_IDLE_MS) {
		metrics_top_stop(top, looks);
	}
}

void metrics_top_stop(metrics_top_t *top, looks_t *looks)
{
	look_stop(looks, top->look);
	top->look = NULL;
}
