/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Prints the manual's tables of counters, one per run: `counters_doc server|drops|xdp|queues|mod-stats|zone`. They are
 * made of src/sys/counters.def and of the tables that it names, so that nothing is listed by hand.
 */
#include "src/conf/schema.h"
#include "src/control/xdp_sheet.h"
#include "src/modules/module.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	IDS_SHOWN = 24, /* sub-keys of an item; of more only the first and the last are shown */
	CONF_TEXT_MAX = 4096,
};

typedef struct {
	const char *item, *help;
} doc_row_t;

static const doc_row_t server_rows[] = {
#define COUNTER_READ(reader, item, kind, help) { item, help },
#define COUNTER_WORKER(name, item, help)       { item, help },
#define COUNTER_DROP_SHOWN(name, reason, help) { reason, help },
#include "src/sys/counters.def"
};

static const doc_row_t drop_rows[] = {
#define COUNTER_DROP(name, reason, help) { reason, help },
#include "src/sys/counters.def"
};

static const doc_row_t xdp_rows[] = {
#define COUNTER_XDP(item, field, kind, help) { item, help },
#include "src/sys/counters.def"
};

static const doc_row_t zone_rows[] = {
#define COUNTER_ZONE(reader, item, kind, help) { item, help },
#include "src/sys/counters.def"
};

/* ---- reStructuredText ---- */

static void doc_print_head(void)
{
	puts(".. list-table::\n   :widths: 35 65\n");
}

/* Length of the item of the configuration that a text begins with, "server.tcp-idle-timeout" say; 0: none. */
static size_t doc_item_len(const char *text)
{
	static const char *const sections[] = { "server.", "xdp." };
	for (size_t i = 0; i < KNOT_LEN(sections); i++) {
		size_t len = strlen(sections[i]);
		if (strncmp(text, sections[i], len) == 0 && islower((unsigned char)text[len])) {
			return len + strspn(text + len, "abcdefghijklmnopqrstuvwxyz-");
		}
	}
	return 0;
}

/* As a sentence fragment of the manual: small first letter, but for abbreviations; items of the configuration linked.
 */
static void doc_print_help(const char *help)
{
	bool is_abbreviation = isupper((unsigned char)help[0]) && !islower((unsigned char)help[1]);
	for (const char *c = help; *c != '\0';) {
		size_t len = c == help || c[-1] == ' ' ? doc_item_len(c) : 0;
		if (len > 0) {
			printf(":item:`%.*s`", (int)len, c);
			c += len;
			continue;
		}
		putchar(c == help && !is_abbreviation ? tolower((unsigned char)*c) : *c);
		c++;
	}
}

static void doc_print_row(const char *item, const char *help)
{
	printf("   * - ``%s``\n     - ", item);
	doc_print_help(help);
	putchar('\n');
}

static void doc_print_table(const doc_row_t *rows, size_t count)
{
	doc_print_head();
	for (size_t i = 0; i < count; i++) {
		doc_print_row(rows[i].item, rows[i].help);
	}
}

static bool doc_print_sheet_row(const xdp_row_t *row, void *ctx)
{
	(void)ctx;
	doc_print_row(row->name, row->help);
	return true;
}

/* ---- Modules ---- */

typedef struct {
	const module_chain_t *by_default; /* an instance without settings */
	const char *item;                 /* whose sub-keys are being printed */
	unsigned count, shown;
	bool is_default;
} doc_module_t;

static bool doc_count_id(const sys_counter_info_t *info, const char *id, uint64_t value, void *ctx)
{
	doc_module_t *module = ctx;
	(void)info, (void)value;
	module->count += id != NULL;
	return true;
}

static bool doc_print_id(const sys_counter_info_t *info, const char *id, uint64_t value, void *ctx)
{
	doc_module_t *module = ctx;
	(void)info, (void)value;
	if (id == NULL) { /* the item's only counter */
		return true;
	}
	bool is_last = ++module->shown == module->count;
	if (module->count <= IDS_SHOWN || module->shown <= 3 || is_last) {
		printf("%s``%s``",
				module->shown == 1                     ? ": "
				: is_last && module->count > IDS_SHOWN ? ", …, "
								       : ", ",
				id);
	}
	return true;
}

static void doc_note_default(const sys_counter_info_t *item, void *ctx)
{
	doc_module_t *module = ctx;
	module->is_default |= strcmp(item->item, module->item) == 0;
}

static void doc_fail(void *ctx, const conf_fault_t *fault)
{
	(void)ctx;
	fprintf(stderr, "%s\n", fault->text);
	exit(1);
}

/* An instance of a module with every item on (id "all"), or with what is on by default (""). */
static module_chain_t *doc_make_instance(const conf_t *conf, const module_api_t *api, const char *id)
{
	conf_modref_t ref = { api->name, id };
	module_chain_t *chain;
	if (module_chain_new(conf, (conf_modrefs_t){ &ref, 1 }, &chain) != KNOT_OK) {
		fprintf(stderr, "no memory\n");
		exit(1);
	}
	return chain;
}

static void doc_print_item(doc_module_t *module, const module_chain_t *all, const sys_counter_info_t *info)
{
	module->item = info->item;
	module->count = module->shown = 0;
	module->is_default = false;
	module_chain_items(module->by_default, doc_note_default, module);
	printf("   * - ``%s``\n     - ", info->item);
	doc_print_help(info->help);
	(void)module_chain_counters(all, info->item, doc_count_id, module);
	(void)module_chain_counters(all, info->item, doc_print_id, module);
	puts(module->is_default ? "" : ". Off by default");
}

/* True if an item of the configuration switches these counters. */
static bool doc_has_switch(const module_api_t *api, const char *item)
{
	const conf_section_t *section = conf_sections[conf_section_find(knot_str_of(api->name))];
	return conf_row_find(section, knot_str_of(item)) < section->row_count;
}

static void doc_print_module(const module_api_t *api)
{
	char text[CONF_TEXT_MAX];
	int len = snprintf(text, sizeof(text), "%s:\n  - id: all\n", api->name);
	const sys_counter_info_t *info;
	for (unsigned i = 0; (info = api->item(NULL, i)) != NULL; i++) {
		if (doc_has_switch(api, info->item)) {
			len += snprintf(text + len, sizeof(text) - (size_t)len, "    %s: on\n", info->item);
		}
		assert((size_t)len < sizeof(text));
	}
	len += snprintf(text + len, sizeof(text) - (size_t)len,
			"template:\n  - id: default\n    global-module: [%s/all, %s]\n", api->name, api->name);
	assert((size_t)len < sizeof(text));
	conf_t *conf;
	knot_str_t conf_text = { text, (size_t)len };
	if (conf_load_text("counters", conf_text, NULL, (conf_sink_t){ doc_fail, NULL }, &conf) != KNOT_OK) {
		exit(1);
	}
	module_chain_t *all = doc_make_instance(conf, api, "all"), *by_default = doc_make_instance(conf, api, "");
	doc_module_t module = { .by_default = by_default };
	doc_print_head();
	for (unsigned i = 0; (info = api->item(NULL, i)) != NULL; i++) {
		doc_print_item(&module, all, info);
	}
	module_chain_free(all);
	module_chain_free(by_default);
	conf_free(conf);
}

/* ---- Tables ---- */

static void doc_print_server(void)
{
	doc_print_table(server_rows, KNOT_LEN(server_rows));
}

static void doc_print_drops(void)
{
	doc_print_table(drop_rows, KNOT_LEN(drop_rows));
}

static void doc_print_xdp(void)
{
	doc_print_table(xdp_rows, KNOT_LEN(xdp_rows));
}

static void doc_print_zone(void)
{
	doc_print_table(zone_rows, KNOT_LEN(zone_rows));
}

static void doc_print_queues(void)
{
	doc_print_head();
	(void)xdp_sheet_describe(doc_print_sheet_row, NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*print)(void);
	} tables[] = {
		{ "server", doc_print_server },
		{ "drops", doc_print_drops },
		{ "xdp", doc_print_xdp },
		{ "queues", doc_print_queues },
		{ "zone", doc_print_zone },
	};
	for (size_t i = 0; argc == 2 && i < KNOT_LEN(tables); i++) {
		if (strcmp(argv[1], tables[i].name) == 0) {
			tables[i].print();
			return 0;
		}
	}
	const module_api_t *api;
	for (unsigned i = 0; argc == 2 && (api = module_at(i)) != NULL; i++) {
		if (strcmp(argv[1], api->name) == 0 && api->item != NULL) {
			doc_print_module(api);
			return 0;
		}
	}
	fprintf(stderr, "usage: counters_doc server|drops|xdp|queues|zone|MODULE\n");
	return 2;
}
