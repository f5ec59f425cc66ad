/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/conf/io.h"
#include "libknot/text/conf_grammar.h"
#include "src/conf/test_conf.h"
#include "src/conf/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

/* ---- Reading and listing ---- */

typedef struct {
	char text[16384];
	size_t units, max;
} units_t;

/** "section[id].item=data", one per line; "+" before further values, before that the sign of a difference. */
static bool collect(const conf_unit_t *unit, void *ctx)
{
	units_t *units = ctx;
	size_t len = strlen(units->text);
	const char sign[] = { unit->sign, '\0' };
	(void)snprintf(units->text + len, sizeof(units->text) - len, "%s%s%s%s%s%s%s%s%s%s%s", len > 0 ? "\n" : "",
			sign, unit->is_next ? "+" : "", unit->section, unit->id != NULL ? "[" : "",
			unit->id != NULL ? unit->id : "", unit->id != NULL ? "]" : "", unit->item != NULL ? "." : "",
			unit->item != NULL ? unit->item : "", unit->data != NULL ? "=" : "",
			unit->data != NULL ? unit->data : "");
	return ++units->units < units->max;
}

static const char sample[] =
		"server:\n    identity: \"a b\"\n    nsid: 0x01ab\n    listen: [ 127.0.0.1@5353, ::1 ]\n    "
		"tcp-idle-timeout: "
		"1m\n"
		"    rundir: /r\n"
		"log:\n  - target: stderr\n    any: debug\n  - target: /l\n    zone: info\n    server: info\n"
		"key:\n  - id: K1\n    secret: Zm9vYmFy\n"
		"mod-stats:\n  - id: s1\n    query-type: on\n"
		"remote:\n  - id: r1\n    address: /x\n  - id: \"r 2\"\n    key: k1\n    address: [ 10.0.0.1, "
		"10.0.0.2@54 ]\n"
		"acl:\n  - id: \"a]b\"\n    action: [ transfer, notify ]\n    address: [ 10.0.0.0/8, 10.0.0.1-10.0.0.9 "
		"]\n"
		"template:\n  - id: t\n    file: \"x\\\"y\"\n  - id: default\n    semantic-checks: true\n"
		"    global-module: [ mod-stats, mod-stats/s1 ]\n    storage: /st\n"
		"zone:\n  - domain: example.com\n    template: t\n  - domain: a.b.c\n  - domain: zz\n    comment: \"a "
		"[x], "
		"b\"\n"
		"  - domain: b\n    zonefile-sync: -1\n    dnssec-policy: default\n  - domain: a\n    module: "
		"mod-stats\n"
		"    module: mod-stats/s1\n  - domain: .\n  - domain: example\\.x.org\n    comment: a\\032b\\\"\\\\\n";

typedef knot_err_t (*view_function_t)(conf_view_t view, const conf_where_t *where, conf_unit_cb cb, void *ctx);

static knot_err_t list_schema(conf_view_t view, const conf_where_t *where, conf_unit_cb cb, void *ctx)
{
	(void)view;
	return conf_io_list_schema(where, cb, ctx);
}

#define LOG_UNITS "log.target=/l\nlog[/l].server=info\nlog[/l].zone=info\nlog.target=stderr\nlog[stderr].any=debug"
#define REMOTE_UNITS                                                                                                   \
	"remote.id=r 2\nremote[r 2].address=10.0.0.1\n+remote[r 2].address=10.0.0.2@54\nremote[r "                     \
	"2].key=k1.\nremote.id=r1\n"                                                                                   \
	"remote[r1].address=/x"
#define ZONE_UNITS                                                                                                     \
	"zone.domain=.\nzone.domain=a.\nzone[a.].module=mod-stats\n+zone[a.].module=mod-stats/"                        \
	"s1\nzone.domain=a.b.c.\n"                                                                                     \
	"zone.domain=b.\nzone[b.].zonefile-sync=-1\nzone[b.].dnssec-policy=default\nzone.domain=zz.\n"                 \
	"zone[zz.].comment=a [x], "                                                                                    \
	"b\nzone.domain=example.com.\nzone[example.com.].template=t\nzone.domain=example\\.x.org.\n"                   \
	"zone[example\\.x.org.].comment=a\\032b\"\\\\"
#define ZONE_IDS "zone=.\nzone=a.\nzone=a.b.c.\nzone=b.\nzone=zz.\nzone=example.com.\nzone=example\\.x.org."

/* Units as Knot DNS 3.2.6 sends them of such a configuration. */
static const struct {
	view_function_t function;
	conf_where_t where;
	knot_err_t err;
	const char *want; /* ...: begins with what is before */
} rows[] = {
	{ conf_io_read, { "log", NULL, NULL }, KNOT_OK, LOG_UNITS },
	{ conf_io_read, { "remote", NULL, NULL }, KNOT_OK, REMOTE_UNITS },
	{ conf_io_read, { "remote", "", NULL }, KNOT_OK, REMOTE_UNITS },
	{ conf_io_read, { "remote", NULL, "" }, KNOT_OK, REMOTE_UNITS },
	{ conf_io_read, { "zone", NULL, NULL }, KNOT_OK, ZONE_UNITS },
	{ conf_io_read, { "server", NULL, NULL }, KNOT_OK,
			"server.identity=a b\nserver.nsid=0x01AB\nserver.rundir=/r\nserver.tcp-idle-timeout=60\n"
			"server.listen=127.0.0.1@5353\n+server.listen=::1" },
	{ conf_io_read, { NULL, NULL, NULL }, KNOT_OK, "server.identity=a b\nserver.nsid=0x01AB\n..." },
	{ conf_io_read, { NULL, "x", NULL }, KNOT_OK, "server.identity=a b\n..." },
	{ conf_io_read, { "server", NULL, "version" }, KNOT_OK, "" },
	{ conf_io_read, { "server", NULL, "listen" }, KNOT_OK, "server.listen=127.0.0.1@5353\n+server.listen=::1" },
	{ conf_io_read, { "server", "x", "listen" }, KNOT_CONF_EIDUNSUP, "" },
	{ conf_io_read, { "template", NULL, NULL }, KNOT_OK,
			"template.id=default\ntemplate[default].global-module=mod-stats\n+template[default].global-"
			"module=mod-stats/"
			"s1\n"
			"template[default].storage=/"
			"st\ntemplate[default].semantic-checks=on\ntemplate.id=t\ntemplate[t].file=x\"y" },
	{ conf_io_read, { "acl", NULL, NULL }, KNOT_OK,
			"acl.id=a]b\nacl[a]b].address=10.0.0.0/"
			"8\n+acl[a]b].address=10.0.0.1-10.0.0.9\nacl[a]b].action=transfer\n"
			"+acl[a]b].action=notify" },
	{ conf_io_read, { "zone", "Example.com", NULL }, KNOT_OK,
			"zone.domain=example.com.\nzone[example.com.].template=t" },
	{ conf_io_read, { "zone", "example.com", "template" }, KNOT_OK, "zone[example.com.].template=t" },
	{ conf_io_read, { "zone", "a.", "domain" }, KNOT_OK, "zone.domain=a." },
	{ conf_io_read, { "zone", "a.", "id" }, KNOT_CONF_EITEM, "" },
	{ conf_io_read, { "zone", "a.", "file" }, KNOT_OK, "" },
	{ conf_io_read, { "zone", "q", "file" }, KNOT_CONF_EID, "" },
	{ conf_io_read, { "zone", "a..b", NULL }, KNOT_EINVAL, "" },
	{ conf_io_read, { "zone", NULL, "dnssec-policy" }, KNOT_OK, "zone[b.].dnssec-policy=default" },
	{ conf_io_read, { "remote", NULL, "id" }, KNOT_OK, "remote.id=r 2\nremote.id=r1" },
	{ conf_io_read, { "xdp", NULL, NULL }, KNOT_OK, "" },
	{ conf_io_read, { "key", "K1", NULL }, KNOT_OK, "key.id=k1.\nkey[k1.].secret=Zm9vYmFy" },
	{ conf_io_read, { "foo", NULL, NULL }, KNOT_CONF_EITEM, "" },
	{ conf_io_read, { "", NULL, NULL }, KNOT_CONF_EITEM, "" },
	{ conf_io_read, { NULL, NULL, "listen" }, KNOT_CONF_EITEM, "" },
	{ conf_io_read, { "include", NULL, NULL }, KNOT_ENOTSUP, "" },
	{ conf_io_read, { "clear", NULL, NULL }, KNOT_ENOTSUP, "" },
	{ conf_io_read, { "include", NULL, "file" }, KNOT_CONF_EITEM, "" },

	{ conf_io_list, { NULL, NULL, NULL }, KNOT_OK,
			"module\nserver\nxdp\ncontrol\nlog\nstatistics\ndatabase\nkeystore\nkey\nremote\n..." },
	{ conf_io_list, { NULL, "x", "y" }, KNOT_OK, "module\nserver\n..." },
	{ conf_io_list, { "server", NULL, NULL }, KNOT_ENOTSUP, "" },
	{ conf_io_list, { "server", "x", NULL }, KNOT_CONF_EIDUNSUP, "" },
	{ conf_io_list, { "server", NULL, "listen" }, KNOT_OK, "server.listen=127.0.0.1@5353\n+server.listen=::1" },
	{ conf_io_list, { "zone", "q", NULL }, KNOT_OK,
			"zone[.]\nzone[a.]\nzone[a.b.c.]\nzone[b.]\nzone[zz.]\nzone[example.com.]\nzone[example\\.x."
			"org.]" },
	{ conf_io_list, { "zone", "a..b", NULL }, KNOT_EINVAL, "" },
	{ conf_io_list, { "zone", NULL, "domain" }, KNOT_OK, ZONE_IDS },
	{ conf_io_list, { "zone", "a", "domain" }, KNOT_OK, ZONE_IDS },
	{ conf_io_list, { "zone", NULL, "template" }, KNOT_OK, "" },
	{ conf_io_list, { "zone", "example.com", "template" }, KNOT_OK, "zone[example.com.].template=t" },
	{ conf_io_list, { "zone", "q", "template" }, KNOT_CONF_EID, "" },
	{ conf_io_list, { "remote", NULL, NULL }, KNOT_OK, "remote[r 2]\nremote[r1]" },
	{ conf_io_list, { "include", NULL, NULL }, KNOT_OK, "" },
	{ conf_io_list, { "foo", NULL, NULL }, KNOT_CONF_EITEM, "" },

	{ list_schema, { NULL, NULL, NULL }, KNOT_OK, "module\nserver\nxdp\n..." },
	{ list_schema, { "zone", NULL, NULL }, KNOT_OK, "zone.domain\nzone.template\nzone.storage\nzone.file\n..." },
	{ list_schema, { "zone", "nn", NULL }, KNOT_OK, "zone.domain\nzone.template\n..." },
	{ list_schema, { "template", NULL, NULL }, KNOT_OK,
			"template.id\ntemplate.global-module\ntemplate.storage\n..." },
	{ list_schema, { "zone", "a..b", NULL }, KNOT_EINVAL, "" },
	{ list_schema, { "server", "x", NULL }, KNOT_CONF_EIDUNSUP, "" },
	{ list_schema, { "server", NULL, "listen" }, KNOT_OK, "" },
	{ list_schema, { "zone", NULL, "semantic-checks" }, KNOT_OK,
			"zone.semantic-checks=off\nzone.semantic-checks=off\nzone.semantic-checks=on\nzone.semantic-"
			"checks=on\n"
			"zone.semantic-checks=soft" },
	{ list_schema, { "zone", "NN", "semantic-checks" }, KNOT_OK, "zone[nn.].semantic-checks=off\n..." },
	{ list_schema, { "template", NULL, "domain" }, KNOT_CONF_EITEM, "" },
	{ list_schema, { "include", NULL, NULL }, KNOT_OK, "" },
	{ list_schema, { "", NULL, NULL }, KNOT_CONF_EITEM, "" },
};

static void units_are_knots(void **state)
{
	(void)state;
	conf_store_t *store = read_text(sample);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		units_t units = { .max = SIZE_MAX };
		knot_err_t err = rows[i].function((conf_view_t){ .store = store }, &rows[i].where, collect, &units);
		size_t len = strlen(rows[i].want);
		bool is_prefix = len >= 3 && strcmp(rows[i].want + len - 3, "...") == 0;
		bool is_same = is_prefix ? strncmp(units.text, rows[i].want, len - 3) == 0 && strlen(units.text) > len
					 : strcmp(units.text, rows[i].want) == 0;
		if (err != rows[i].err || !is_same) {
			fail_msg("row %zu, %s[%s].%s: %s\n%s", i, rows[i].where.section, rows[i].where.id,
					rows[i].where.item, knot_strerror(err), units.text);
		}
	}
	conf_store_free(store);
}

static void callback_ends_it(void **state)
{
	(void)state;
	conf_store_t *store = read_text(sample);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		for (size_t max = 1; max < 4; max++) {
			units_t units = { .max = max };
			(void)!rows[i].function((conf_view_t){ .store = store }, &rows[i].where, collect, &units);
			assert_true(units.units <= max);
		}
	}
	conf_store_free(store);
}

/* ---- Differences ---- */

#define ZONE_DIFFERENCES                                                                                               \
	"-zone[a.].module=mod-stats\n-+zone[a.].module=mod-stats/s1\n+zone[a.].module=mod-stats\n-zone.domain=zz.\n"   \
	"-zone[zz.].comment=a [x], b\n+zone.domain=new."

static void differences_are_knots(void **state)
{
	(void)state;
	static const struct {
		bool is_set;
		conf_edit_t edit;
	} edits[] = {
		{ true, { "zone", "new", NULL, NULL } },
		{ true, { "server", NULL, "tcp-idle-timeout", "5" } },
		{ true, { "remote", "r1", "address", "1.2.3.4" } },
		{ false, { "zone", "a", "module", "mod-stats/s1" } },
		{ false, { "zone", "zz", NULL, NULL } },
		{ false, { "log", "stderr", "any", NULL } },
		{ true, { "zone", "b", "comment", "x" } }, /* and back again: no difference */
		{ false, { "zone", "b", "comment", NULL } },
	};
	static const struct {
		conf_where_t where;
		knot_err_t err;
		const char *want;
	} wanted[] = {
		{ { NULL, NULL, NULL }, KNOT_OK,
				"-server.tcp-idle-timeout=60\n+server.tcp-idle-timeout=5\n-log[stderr].any=debug\n-"
				"remote[r1]."
				"address=/x\n"
				"+remote[r1].address=/x\n++remote[r1].address=1.2.3.4\n" ZONE_DIFFERENCES },
		{ { "zone", NULL, NULL }, KNOT_OK, ZONE_DIFFERENCES },
		{ { "zone", "new", NULL }, KNOT_OK, "+zone.domain=new." },
		{ { "zone", "zz", "comment" }, KNOT_OK, "-zone[zz.].comment=a [x], b" },
		{ { "zone", NULL, "domain" }, KNOT_OK, "-zone.domain=zz.\n+zone.domain=new." },
		{ { "zone", "b", NULL }, KNOT_OK, "" },
		{ { "zone", "nosuch", NULL }, KNOT_CONF_EID, "" },
		{ { "zone", "a..b", NULL }, KNOT_EINVAL, "" },
		{ { "server", NULL, "listen" }, KNOT_OK, "" },
		{ { "server", "x", NULL }, KNOT_CONF_EIDUNSUP, "" },
		{ { "include", NULL, NULL }, KNOT_ENOTSUP, "" },
		{ { "foo", NULL, NULL }, KNOT_CONF_EITEM, "" },
	};
	conf_store_t *store = read_text(sample);
	conf_txn_t *txn = conf_txn_begin(store);
	assert_non_null(txn);
	for (size_t i = 0; i < KNOT_LEN(edits); i++) {
		assert_int_equal(edits[i].is_set ? conf_txn_set(txn, &edits[i].edit, (conf_sink_t){ 0 })
						 : conf_txn_unset(txn, &edits[i].edit),
				KNOT_OK);
	}
	for (size_t i = 0; i < KNOT_LEN(wanted); i++) {
		units_t units = { .max = SIZE_MAX };
		knot_err_t err = conf_io_diff((conf_view_t){ store, txn }, &wanted[i].where, collect, &units);
		if (err != wanted[i].err || strcmp(units.text, wanted[i].want) != 0) {
			fail_msg("row %zu: %s\n%s", i, knot_strerror(err), units.text);
		}
	}
	conf_txn_free(txn);
	conf_store_free(store);
}

/* ---- Exporting ---- */

/** The file that a view is exported as. Free it. */
static char *export_text(const conf_store_t *store)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	assert_non_null(out);
	assert_true(conf_io_export((conf_view_t){ .store = store }, out));
	assert_int_equal(fclose(out), 0);
	return text;
}

static void export_has_knots_form(void **state)
{
	(void)state;
	static const char want[] =
			"# Configuration export (" PACKAGE_STRING ")\n\n"
			"server:\n    identity: \"a b\"\n    nsid: \"0x01AB\"\n    rundir: \"/r\"\n    "
			"tcp-idle-timeout: "
			"\"60\"\n"
			"    listen: [ \"127.0.0.1@5353\", \"::1\" ]\n\n"
			"log:\n  - target: \"/l\"\n    server: \"info\"\n    zone: \"info\"\n\n  - target: "
			"\"stderr\"\n    "
			"any: \"debug\"\n\n"
			"key:\n  - id: \"k1.\"\n    secret: \"Zm9vYmFy\"\n\n"
			"remote:\n  - id: \"r 2\"\n    address: [ \"10.0.0.1\", \"10.0.0.2@54\" ]\n    key: \"k1.\"\n\n"
			"  - id: \"r1\"\n    address: \"/x\"\n\n"
			"acl:\n  - id: \"a]b\"\n    address: [ \"10.0.0.0/8\", \"10.0.0.1-10.0.0.9\" ]\n"
			"    action: [ \"transfer\", \"notify\" ]\n\n"
			"mod-stats:\n  - id: \"s1\"\n    query-type: \"on\"\n\n"
			"template:\n  - id: \"default\"\n    global-module: [ \"mod-stats\", \"mod-stats/s1\" ]\n    "
			"storage: "
			"\"/st\"\n"
			"    semantic-checks: \"on\"\n\n  - id: \"t\"\n    file: \"x\\\"y\"\n\n"
			"zone:\n  - domain: \".\"\n\n  - domain: \"a.\"\n    module: [ \"mod-stats\", \"mod-stats/s1\" "
			"]\n\n"
			"  - domain: \"a.b.c.\"\n\n  - domain: \"b.\"\n    zonefile-sync: \"-1\"\n    dnssec-policy: "
			"\"default\"\n\n"
			"  - domain: \"zz.\"\n    comment: \"a [x], b\"\n\n  - domain: \"example.com.\"\n    template: "
			"\"t\"\n\n"
			"  - domain: \"example\\.x.org.\"\n    comment: \"a\\032b\\\"\\\\\"\n\n";
	conf_store_t *store = read_text(sample);
	char *text = export_text(store);
	assert_string_equal(text, want);
	free(text);
	conf_store_free(store);
}

/* Binary order, but for a template that refers to another one. */
static void templates_come_before_who_refers_to_them(void **state)
{
	(void)state;
	conf_store_t *store = read_text("template:\n  - id: d\n  - id: c\n    catalog-template: d\n  - id: b\n    "
					"catalog-template: [ d, c ]\n"
					"  - id: a\n    catalog-template: a\n");
	char *text = export_text(store);
	const char *want = "# Configuration export (" PACKAGE_STRING
			   ")\n\ntemplate:\n  - id: \"a\"\n    catalog-template: \"a\"\n\n"
			   "  - id: \"d\"\n\n  - id: \"c\"\n    catalog-template: \"d\"\n\n"
			   "  - id: \"b\"\n    catalog-template: [ \"d\", \"c\" ]\n\n";
	assert_string_equal(text, want);
	conf_store_free(read_text(text));
	conf_store_free(store);
	free(text);
}

static void failed_write_is_told(void **state)
{
	(void)state;
	conf_store_t *store = read_text(sample);
	FILE *full = fopen("/dev/full", "w");
	assert_non_null(full);
	assert_false(conf_io_export((conf_view_t){ .store = store }, full));
	(void)fclose(full);
	conf_store_free(store);
}

/* ---- Export, read, the same ---- */

static uint32_t random_state;

static uint32_t random_below(uint32_t end)
{
	random_state = random_state * 1664525 + 1013904223;
	return (uint32_t)(((uint64_t)random_state * end) >> 32);
}

/** A text for a value of the row's type; often one that it refuses. */
static void random_text(const conf_row_t *row, char ret_text[static 64])
{
	static const char *const words[] = { "1", "-1", "0", "1h", "10%", "65535", "on", "off", "::1", "10.0.0.1@53",
		"/a b", "10.0.0.0/8", "eth0", "YQ==", "0x5c2200", "0x30783132", "mod-stats", "1/2", "default",
		"example.", "a\\.b.", "A", "TYPE65280", "@", "\"x\" y", "16-byte secret..",
		"0x000102030405060708090a0b0c0d0e0f" };
	static const char letters[] = "ab \"#,[]:\\\\.@%/-0x\xc3\xa9";
	uint32_t kind = random_below(3);
	if (kind == 0 && row->options != NULL) {
		size_t count = 0;
		while (row->options[count].name != NULL) {
			count++;
		}
		(void)snprintf(ret_text, 64, "%s", row->options[random_below((uint32_t)count)].name);
	} else if (kind < 2) {
		(void)snprintf(ret_text, 64, "%s", words[random_below(KNOT_LEN(words))]);
	} else {
		size_t len = random_below(12);
		for (size_t i = 0; i < len; i++) {
			ret_text[i] = letters[random_below(sizeof(letters) - 1)];
		}
		ret_text[len] = '\0';
	}
}

/** Set items of any values that their rows take, references to nothing left out: what a database could hold. */
static void add_random_items(conf_store_t *store, size_t index, conf_block_t *block)
{
	static uint8_t value[CONF_VALUE_MAX];
	const conf_section_t *section = conf_sections[index];
	uint8_t items[8192];
	size_t len = 0;
	for (size_t i = 0; i < section->row_count; i++) {
		const conf_row_t *row = &section->rows[i];
		bool is_id = section->kind == CONF_MULTI && row == conf_id_row(section);
		bool is_usable = conf_row_in(section, row) && !is_id && row->type != CONF_REF &&
				 row->type != CONF_MODREF;
		for (unsigned tries = is_usable ? 4 : 0; tries > 0; tries--) {
			char text[64];
			size_t value_len;
			random_text(row, text);
			if (conf_value_scan(row, knot_str_of(text), value, &value_len) == KNOT_OK) {
				len += conf_item_put(items + len, i, (knot_bytes_t){ value, value_len });
				tries = row->multi ? tries : 1;
			}
		}
	}
	block->items = conf_store_bytes(store, index, items, len);
	block->items_len = (uint32_t)len;
	assert_non_null(block->items);
}

static conf_store_t *random_store(void)
{
	static uint8_t id[CONF_VALUE_MAX];
	conf_store_t *store = conf_store_new();
	assert_non_null(store);
	for (size_t i = 0; i < conf_section_count; i++) {
		conf_block_t *block;
		uint32_t count = conf_sections[i]->kind == CONF_DIRECTIVE ? 0
				 : conf_sections[i]->kind == CONF_GROUP   ? 1
									  : 3;
		for (uint32_t j = 0; j < count; j++) {
			size_t len = 0;
			char text[64];
			if (conf_sections[i]->kind == CONF_MULTI) {
				random_text(conf_id_row(conf_sections[i]), text);
				if (text[0] == '\0' ||
						conf_value_scan(conf_id_row(conf_sections[i]), knot_str_of(text), id,
								&len) != KNOT_OK ||
						conf_store_find(store, i, (knot_bytes_t){ id, len }) != NULL) {
					continue;
				}
			}
			assert_int_equal(conf_store_add(store, i, (knot_bytes_t){ id, len }, &block), KNOT_OK);
			add_random_items(store, i, block);
		}
	}
	assert_int_equal(conf_store_seal(store), KNOT_OK);
	return store;
}

static void expect_same_blocks(const conf_store_t *a, const conf_store_t *b, const char *text)
{
	for (size_t i = 0; i < conf_section_count; i++) {
		conf_cursor_t x = { .view.store = a, .section = i }, y = { .view.store = b, .section = i };
		conf_block_view_t p, q;
		bool has_p, has_q;
		while ((has_p = conf_view_next(&x, &p)), (has_q = conf_view_next(&y, &q)), has_p && has_q) {
			bool is_same = p.id.len == q.id.len &&
				       (p.id.len == 0 || memcmp(p.id.data, q.id.data, p.id.len) == 0) &&
				       p.items.len == q.items.len &&
				       (p.items.len == 0 || memcmp(p.items.data, q.items.data, p.items.len) == 0);
			if (!is_same) {
				fail_msg("section %s differs:\n%s", conf_sections[i]->name, text);
			}
		}
		bool is_empty_group = has_p && !has_q && conf_sections[i]->kind == CONF_GROUP && p.items.len == 0;
		assert_true(has_p == has_q || is_empty_group);
	}
}

typedef struct {
	conf_store_t *store;
	size_t section;
	conf_block_t *block;
	uint8_t items[65536], value[CONF_VALUE_MAX];
	size_t len;
} reader_t;

static void end_block(reader_t *reader)
{
	if (reader->block != NULL) {
		reader->block->items = conf_store_bytes(reader->store, reader->section, reader->items, reader->len);
		reader->block->items_len = (uint32_t)reader->len;
	}
	reader->block = NULL;
	reader->len = 0;
}

static void begin_block(reader_t *reader, knot_bytes_t id)
{
	assert_null(conf_store_find(reader->store, reader->section, id));
	assert_int_equal(conf_store_add(reader->store, reader->section, id, &reader->block), KNOT_OK);
}

static void take_item(reader_t *reader, const knot_conf_item_t *item)
{
	if (item->kind != KNOT_CONF_KEY1) {
		end_block(reader);
	}
	if (item->kind == KNOT_CONF_KEY0) {
		reader->section = conf_section_find(item->key);
		if (conf_sections[reader->section]->kind == CONF_GROUP) {
			begin_block(reader, (knot_bytes_t){ 0 });
		}
		return;
	}
	const conf_section_t *section = conf_sections[reader->section];
	size_t row = conf_row_find(section, item->key), len;
	assert_true(row < section->row_count);
	knot_err_t err = conf_value_scan(&section->rows[row], item->value, reader->value, &len);
	if (err != KNOT_OK) {
		fail_msg("%s: '%.*s' %s", section->rows[row].name, (int)item->value.len, item->value.data,
				knot_strerror(err));
	}
	if (item->kind == KNOT_CONF_ID) {
		begin_block(reader, (knot_bytes_t){ reader->value, len });
	} else {
		reader->len += conf_item_put(reader->items + reader->len, row, (knot_bytes_t){ reader->value, len });
	}
}

/** Read without the checks that a random configuration fails: grammar and values are what is tested here. */
static conf_store_t *read_values(const char *text)
{
	static reader_t reader;
	static knot_conf_parser_t parser;
	knot_conf_item_t item;
	knot_conf_verdict_t verdict;
	reader = (reader_t){ .store = conf_store_new() };
	assert_non_null(reader.store);
	knot_conf_parser_init(&parser, knot_str_of(text));
	while ((verdict = knot_conf_next(&parser, &item)) == KNOT_CONF_ITEM) {
		take_item(&reader, &item);
	}
	if (verdict != KNOT_CONF_END) {
		fail_msg("line %zu: %s\n%.*s", item.line, knot_strerror(parser.err), 300, text + parser.line_start);
	}
	end_block(&reader);
	assert_int_equal(conf_store_seal(reader.store), KNOT_OK);
	return reader.store;
}

static void exported_is_read_as_the_same(void **state)
{
	(void)state;
	for (random_state = 1; random_state < 300;) {
		uint32_t seed = random_state;
		conf_store_t *store = random_store();
		char *text = export_text(store);
		conf_store_t *again = read_values(text);
		expect_same_blocks(store, again, text);
		conf_store_free(again);
		conf_store_free(store);
		free(text);
		random_state = seed + 1;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_are_knots),
		cmocka_unit_test(callback_ends_it),
		cmocka_unit_test(differences_are_knots),
		cmocka_unit_test(export_has_knots_form),
		cmocka_unit_test(templates_come_before_who_refers_to_them),
		cmocka_unit_test(failed_write_is_told),
		cmocka_unit_test(exported_is_read_as_the_same),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
