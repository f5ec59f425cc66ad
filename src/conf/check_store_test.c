/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/conf/test_conf.h"
#include "src/conf/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

/** One value of a store; item NULL: a block without any so far. */
typedef struct {
	const char *section, *id, *item, *value;
} entry_t;

static knot_bytes_t scan(const conf_row_t *row, const char *text, uint8_t *ret_value)
{
	size_t len;
	assert_int_equal(conf_value_scan(row, knot_str_of(text), ret_value, &len), KNOT_OK);
	return (knot_bytes_t){ ret_value, len };
}

/** What no file could be: the values' types are checked, nothing else is. */
static conf_store_t *make_store(const entry_t *entries)
{
	static uint8_t id_value[CONF_VALUE_MAX], value[CONF_VALUE_MAX];
	conf_store_t *store = conf_store_new();
	assert_non_null(store);
	for (const entry_t *entry = entries; entry->section != NULL; entry++) {
		size_t index = conf_section_find(knot_str_of(entry->section));
		const conf_section_t *section = conf_sections[index];
		knot_bytes_t id = { 0 };
		if (section->kind == CONF_MULTI) {
			id = scan(conf_id_row(section), entry->id, id_value);
		}
		conf_block_t *block = conf_store_find(store, index, id);
		if (block == NULL) {
			assert_int_equal(conf_store_add(store, index, id, &block), KNOT_OK);
		}
		if (entry->item == NULL) {
			continue;
		}
		size_t row = conf_row_find(section, knot_str_of(entry->item));
		uint8_t items[4096];
		size_t len = block->items_len;
		memcpy(items, block->items != NULL ? block->items : items, len);
		len += conf_item_put(items + len, row, scan(&section->rows[row], entry->value, value));
		block->items = conf_store_bytes(store, index, items, len);
		block->items_len = (uint32_t)len;
	}
	assert_int_equal(conf_store_seal(store), KNOT_OK);
	return store;
}

typedef struct {
	messages_t all;
	char place[256]; /* of the last: section|id|item|value|reason */
} told_t;

static void collect(void *ctx, const conf_fault_t *fault)
{
	told_t *told = ctx;
	collect_message(&told->all, fault);
	const char *parts[] = { fault->section, fault->id, fault->item, fault->value, fault->reason };
	told->place[0] = '\0';
	for (size_t i = 0; i < KNOT_LEN(parts); i++) {
		size_t len = strlen(told->place);
		(void)snprintf(told->place + len, sizeof(told->place) - len, "%s%s", i > 0 ? "|" : "",
				parts[i] != NULL ? parts[i] : "-");
	}
	assert_null(fault->file);
	assert_int_equal(fault->line, 0);
}

static void faults_name_their_place(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		entry_t entries[7];
		const char *text, *place;
		knot_err_t err;
	} rows[] = {
		{ "value of a group", { { "server", NULL, "listen", "::1@0" } },
				"config, item 'server.listen', value '::1@0' (invalid port)",
				"server|-|listen|::1@0|invalid port", KNOT_EINVAL },
		{ "reference of a zone", { { "zone", "Example.com", "template", "nosuch" } },
				"config, item 'zone[example.com.].template', value 'nosuch' (invalid reference)",
				"zone|example.com.|template|nosuch|invalid reference", KNOT_ENOENT },
		{ "reference to two",
				{ { "remote", "r", "address", "::1" }, { "remotes", "r", "remote", "r" },
						{ "acl", "a", "remote", "r" } },
				"config, item 'acl[a].remote', value 'r' (ambiguous reference)",
				"acl|a|remote|r|ambiguous reference", KNOT_ENOENT },
		{ "module instance", { { "zone", "a", "module", "mod-stats/x" } },
				"config, item 'zone[a.].module', value 'mod-stats/x' (invalid module reference)",
				"zone|a.|module|mod-stats/x|invalid module reference", KNOT_ENOENT },
		{ "required item", { { "key", "k", NULL, NULL } }, "config, section 'key[k.]' (no key secret defined)",
				"key|k.|-|-|no key secret defined", KNOT_EINVAL },
		{ "check of a block", { { "xdp", NULL, "listen", "eth0" }, { "xdp", NULL, "udp", "off" } },
				"config, section 'xdp' (XDP processing requires UDP, TCP, or QUIC enabled)",
				"xdp|-|-|-|XDP processing requires UDP, TCP, or QUIC enabled", KNOT_EINVAL },
		{ "check of a value beside earlier ones",
				{ { "xdp", NULL, "listen", "eth0" }, { "xdp", NULL, "listen", "eth0@5" } },
				"config, item 'xdp.listen', value 'eth0@5' (duplicate XDP interface specification)",
				"xdp|-|listen|eth0@5|duplicate XDP interface specification", KNOT_EINVAL },
		{ "check of an identifier", { { "keystore", "-x", NULL, NULL } },
				"config, item 'keystore[-x].id', value '-x' (leading '-' is not allowed)",
				"keystore|-x|id|-x|leading '-' is not allowed", KNOT_EINVAL },
		{ "too many values",
				{ { "control", NULL, "listen", "a" }, { "control", NULL, "listen", "b" },
						{ "control", NULL, "listen", "c" }, { "control", NULL, "listen", "d" },
						{ "control", NULL, "listen", "e" } },
				"config, item 'control.listen', value 'e' (too many values)",
				"control|-|listen|e|too many values", KNOT_EINVAL },
		{ "inherited items that don't go together",
				{ { "template", "default", "refresh-min-interval", "5" },
						{ "zone", "a", "refresh-max-interval", "4" },
						{ "template", "t", "comment", "x" }, { "zone", "b", "template", "t" },
						{ "zone", "b", "refresh-max-interval", "4" } },
				"config, section 'zone[a.]' ('refresh-min-interval' is higher than "
				"'refresh-max-interval')",
				"zone|a.|-|-|'refresh-min-interval' is higher than 'refresh-max-interval'",
				KNOT_EINVAL },
		{ "notice of a block", { { "policy", "p", "algorithm", "rsasha1" } },
				"N:config, algorithm 5 is deprecated and shouldn't be used for DNSSEC signing",
				"policy|p|-|-|-", KNOT_OK },
		{ "all that is not supported yet",
				{ { "xdp", NULL, "quic", "on" }, { "zone", "a", "zone-db-output", "2" } },
				"config, item 'xdp.quic', value 'on' (not supported yet)\n"
				"config, item 'zone[a.].zone-db-output', value '2' (not supported yet)\n"
				"config, not supported yet: TLS and QUIC (1), zone database (Redis) (1); 2 items, 0 "
				"templates "
				"and 1 zone affected",
				"-|-|-|-|-", KNOT_CONF_ENOTSUP },
		{ "all errors",
				{ { "control", NULL, "listen", "a" }, { "control", NULL, "listen", "b" },
						{ "control", NULL, "listen", "c" }, { "control", NULL, "listen", "d" },
						{ "control", NULL, "listen", "e" }, { "zone", "a", "template", "t" } },
				"config, item 'control.listen', value 'e' (too many values)\n"
				"config, item 'zone[a.].template', value 't' (invalid reference)",
				"zone|a.|template|t|invalid reference", KNOT_EINVAL },
		{ "warning", { { "zone", "a", "file", "x%y" } },
				"W:config, item 'zone[a.].file', value 'x%y' (ignoring unknown zonefile formatter)",
				"zone|a.|file|x%y|ignoring unknown zonefile formatter", KNOT_OK },
		{ "notice", { { "server", NULL, "tcp-fastopen", "on" } },
				"N:config, option 'server.tcp-fastopen' is obsolete and has no effect",
				"server|-|tcp-fastopen|on|-", KNOT_OK },
		{ "nothing", { { "zone", "a", "file", "x" } }, "", "", KNOT_OK },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		told_t told = { 0 };
		conf_t *conf = NULL;
		knot_err_t err = conf_make(
				make_store(rows[i].entries), "P", NULL, (conf_sink_t){ collect, &told }, &conf);
		if (err != rows[i].err || strcmp(told.all.text, rows[i].text) != 0 ||
				strcmp(told.place, rows[i].place) != 0) {
			fail_msg("%s: %s: %s (%s)", rows[i].what, knot_strerror(err), told.all.text, told.place);
		}
		assert_true((conf != NULL) == (err == KNOT_OK));
		conf_free(conf);
	}
}

static void snapshot_is_that_of_a_file(void **state)
{
	(void)state;
	static const entry_t entries[] = {
		{ "zone", "b", "module", "mod-stats" },
		{ "zone", "b", "module", "mod-stats/x" },
		{ "zone", "a", "template", "t" },
		{ "template", "t", "storage", "/t" },
		{ "mod-stats", "x", "query-type", "on" },
		{ "server", NULL, "rundir", "/r" },
		{ "server", NULL, "listen", "x.sock" },
		{ NULL, NULL, NULL, NULL },
	};
	static const char text[] =
			"server:\n  rundir: /r\n  listen: x.sock\nmod-stats:\n  - id: x\n    query-type: on\n"
			"template:\n  - id: t\n    storage: /t\nzone:\n  - domain: a\n    template: t\n"
			"  - domain: b\n    module: [ mod-stats, mod-stats/x ]\n";
	conf_t *made, *loaded;
	assert_int_equal(conf_make(make_store(entries), "P", NULL, (conf_sink_t){ 0 }, &made), KNOT_OK);
	assert_int_equal(conf_load_text("P", knot_str_of(text), NULL, (conf_sink_t){ 0 }, &loaded), KNOT_OK);
	conf_diff_t diff = conf_diff(made, loaded);
	assert_false(diff.logs || diff.server || diff.modules || diff.statistics || diff.restart_count > 0);
	assert_int_equal(made->zone_count, loaded->zone_count);
	assert_string_equal(made->path, "P");
	for (size_t i = 0; i < made->zone_count; i++) {
		conf_zone_t a = conf_zone(made, i), b = conf_zone(loaded, i);
		assert_true(conf_zone_same(&a, &b));
		assert_int_equal(a.modules.count, b.modules.count);
	}
	conf_zone_t b = conf_zone(made, 1);
	assert_string_equal(b.modules.data[1].id, "x");
	assert_true(conf_has_zone_modules(made));
	conf_free(made);
	conf_free(loaded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_name_their_place),
		cmocka_unit_test(snapshot_is_that_of_a_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
