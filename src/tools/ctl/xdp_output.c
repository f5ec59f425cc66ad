/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Replies that are tables: packets of XDP interfaces by fate, block rules.
 */
#include "src/tools/ctl/output.h"

#include <stdlib.h>
#include <string.h>

enum { TIME_TEXT_MAX = 48 };

/* TYPEs that are not rows: facts about the interface, and whether the sums match. */
#define TYPE_FACT       "interface"
#define TYPE_DIFFERENCE "difference"

static void xdp_output_end_table(output_t *output)
{
	if (output->table == NULL) {
		return;
	}
	if (output->table_name[0] != '\0') {
		/* A blank line between tables. */
		fprintf(output->out, "%s%s%s\n", output->table_count > 0 ? "\n" : "", output->table_name,
				output->facts);
	}
	table_print(output->table, output->out, output->zeros || output->action->layout == LAYOUT_XDP_BLOCK);
	if (strcmp(output->difference, "0") == 0) {
		fputs("Every packet received is in one of the other rows.\n", output->out);
	} else if (output->difference[0] != '\0') {
		fprintf(output->out,
				"Received and the sum of the other rows differ by %s: "
				"while traffic flows, rows are of different moments.\n",
				output->difference);
	}
	table_free(output->table);
	output->table = NULL;
	output->table_count++;
}

static void xdp_output_begin_table(output_t *output, const char *name, const char *corner)
{
	output->table = table_new(corner);
	snprintf(output->table_name, sizeof(output->table_name), "%s", name);
	output->facts[0] = output->difference[0] = '\0';
}

static void xdp_output_add_fact(output_t *output, const char *name, const char *value)
{
	size_t len = strlen(output->facts);
	snprintf(output->facts + len, sizeof(output->facts) - len, "%s %s %s", len > 0 ? "," : ":", name, value);
}

static void xdp_output_add_status(output_t *output, const knot_ctl_data_t *unit)
{
	const char *section = (*unit)[KNOT_CTL_IDX_SECTION], *item = (*unit)[KNOT_CTL_IDX_ITEM];
	const char *id = (*unit)[KNOT_CTL_IDX_ID], *type = (*unit)[KNOT_CTL_IDX_TYPE],
		   *value = (*unit)[KNOT_CTL_IDX_DATA];
	if (section == NULL || item == NULL || value == NULL) {
		return;
	}
	if (output->table == NULL || strcmp(output->table_name, section) != 0) {
		xdp_output_end_table(output);
		xdp_output_begin_table(output, section, "");
	}
	if (type != NULL && strcmp(type, TYPE_FACT) == 0) {
		xdp_output_add_fact(output, item, value);
	} else if (type != NULL && strcmp(type, TYPE_DIFFERENCE) == 0) {
		snprintf(output->difference, sizeof(output->difference), "%s", value);
	} else {
		table_set(output->table, type, item, id != NULL ? id : "sum", value);
	}
}

/* Seconds in the two largest units, such as "1h 5m" or "10m 0s". */
static void xdp_output_print_time(const char *value, char text[static TIME_TEXT_MAX])
{
	static const struct {
		char letter;
		unsigned long long seconds;
	} units[] = { { 'w', 604800 }, { 'd', 86400 }, { 'h', 3600 }, { 'm', 60 }, { 's', 1 } };
	char *end;
	unsigned long long left = strtoull(value, &end, 10);
	if (*end != '\0' || left == 0) {
		snprintf(text, TIME_TEXT_MAX, "%.20ss", value);
		return;
	}
	size_t i = 0;
	while (left < units[i].seconds) {
		i++;
	}
	int len = snprintf(text, TIME_TEXT_MAX, "%llu%c", left / units[i].seconds, units[i].letter);
	left %= units[i].seconds;
	if (i + 1 < KNOT_LEN(units)) {
		snprintf(text + len, TIME_TEXT_MAX - (size_t)len, " %llu%c", left / units[i + 1].seconds,
				units[i + 1].letter);
	}
}

static void xdp_output_add_rule(output_t *output, const knot_ctl_data_t *unit)
{
	const char *id = (*unit)[KNOT_CTL_IDX_ID], *item = (*unit)[KNOT_CTL_IDX_ITEM],
		   *value = (*unit)[KNOT_CTL_IDX_DATA];
	if (id == NULL || item == NULL || value == NULL) {
		return;
	}
	if (output->table == NULL) {
		xdp_output_begin_table(output, "", "prefix");
	}
	char time[TIME_TEXT_MAX];
	if (strcmp(item, "remaining") == 0) {
		xdp_output_print_time(value, time);
		value = time;
	}
	/* A rate of 0 lets nothing pass. */
	bool is_drop = strcmp(item, "rate") == 0 && strcmp(value, "0") == 0;
	table_set(output->table, NULL, id, item, is_drop ? "drop" : value);
}

void output_table_unit(output_t *output, const knot_ctl_data_t *unit)
{
	if (output->action->layout == LAYOUT_XDP_STATUS) {
		xdp_output_add_status(output, unit);
	} else {
		xdp_output_add_rule(output, unit);
	}
	output->printed = true;
}

void output_table_end(output_t *output)
{
	xdp_output_end_table(output);
}
