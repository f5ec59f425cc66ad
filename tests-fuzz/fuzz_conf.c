/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Configuration text of any shape: the grammar ends, keeps its limits and gives only views of its input; loading it
 * gives a snapshot that can be used, or a fault with a text. What was loaded is exported, and read as the same again.
 */
#include "libknot/text/conf_grammar.h"
#include "src/conf/io.h"

#include <limits.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static void grammar(knot_str_t text)
{
	static knot_conf_parser_t parser;
	knot_conf_item_t item;
	knot_conf_parser_init(&parser, text);
	size_t item_count = 0, line = 1;
	while (knot_conf_next(&parser, &item) == KNOT_CONF_ITEM) {
		check(item.key.len > 0 && item.key.len <= KNOT_CONF_KEY_MAX && item.value.len <= KNOT_CONF_VALUE_MAX);
		check(item.line >= line && ++item_count <= text.len);
		line = item.line;
	}
	check((parser.err == KNOT_OK) == (knot_conf_next(&parser, &item) == KNOT_CONF_END));
}

static void count_fault(void *ctx, const conf_fault_t *fault)
{
	check(fault->text != NULL && fault->text[0] != '\0');
	*(size_t *)ctx += fault->severity == CONF_ERROR;
}

/** Includes would read files of the machine: such inputs exercise the grammar only. */
static bool has_include(knot_str_t text)
{
	return memmem(text.data, text.len, "include", 7) != NULL;
}

/** The configuration as a file. Free it. */
static char *export(const conf_t *conf)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	check(out != NULL && conf_io_export((conf_view_t){ .store = conf->store }, out) && fclose(out) == 0);
	return text;
}

static void expect_same_after_export(const conf_t *conf)
{
	conf_t *again = NULL;
	size_t error_count = 0;
	char *text = export(conf);
	conf_sink_t sink = { count_fault, &error_count };
	check(conf_load_text("export", knot_str_of(text), NULL, sink, &again) == KNOT_OK && error_count == 0);
	conf_diff_t diff = conf_diff(conf, again);
	check(!diff.logs && !diff.server && !diff.modules && !diff.statistics && diff.restart_count == 0);
	check(conf->zone_count == again->zone_count);
	for (size_t i = 0; i < conf->zone_count; i++) {
		conf_zone_t a = conf_zone(conf, i), b = conf_zone(again, i);
		check(conf_zone_same(&a, &b));
	}
	char *same = export(again);
	check(strcmp(text, same) == 0);
	free(same);
	free(text);
	conf_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	knot_str_t text = { (const char *)data, size };
	grammar(text);
	if (has_include(text)) {
		return 0;
	}
	conf_t *conf = NULL;
	size_t error_count = 0;
	knot_err_t err = conf_load_text("fuzz", text, NULL, (conf_sink_t){ count_fault, &error_count }, &conf);
	check((err == KNOT_OK) == (error_count == 0));
	if (err != KNOT_OK) {
		return 0;
	}
	for (size_t i = 0; i < conf->zone_count; i++) {
		char path[PATH_MAX];
		size_t found;
		conf_zone_t zone = conf_zone(conf, i);
		check(conf_zone_find(conf, zone.name, &found) && found == i);
		(void)!conf_zone_file(&zone, path, sizeof(path));
	}
	conf_diff_t diff = conf_diff(conf, conf);
	check(!diff.logs && !diff.server && !diff.modules && diff.restart_count == 0);
	expect_same_after_export(conf);
	conf_free(conf);
	return 0;
}
