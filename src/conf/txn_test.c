/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/conf/test_conf.h"
#include "src/conf/txn_internal.h"
#include "src/conf/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- Tools ---- */

static const char base_text[] = "server:\n    identity: old\n    listen: [127.0.0.1@5301, ::1@5301]\n"
				"template:\n  - id: default\n    storage: /a\n  - id: t\n"
				"mod-stats:\n  - id: s1\n"
				"zone:\n  - domain: b.test\n    file: b.zone\n  - domain: a.test\n    template: t\n    "
				"module: mod-stats/s1\n  - domain: test\n";

typedef struct {
	char *text;
	size_t len;
	FILE *file;
} dump_t;

static void dump_block(FILE *file, size_t section, knot_bytes_t id, knot_bytes_t items)
{
	char text[1024];
	const conf_section_t *schema = conf_sections[section];
	fprintf(file, "%s", schema->name);
	if (schema->kind == CONF_MULTI) {
		conf_value_print(conf_id_row(schema), id, text, sizeof(text));
		fprintf(file, "[%s]", text);
	}
	conf_item_t item;
	size_t pos = 0;
	while (conf_item_next(items, &pos, &item)) {
		conf_value_print(&schema->rows[item.row], item.value, text, sizeof(text));
		fprintf(file, " %s=%s", schema->rows[item.row].name, text);
	}
	fprintf(file, "\n");
}

/** All blocks of a view, one line each; to free(). */
static char *dump(const conf_store_t *store, const conf_txn_t *txn)
{
	dump_t out = { 0 };
	out.file = open_memstream(&out.text, &out.len);
	for (size_t section = 0; section < CONF_S_COUNT; section++) {
		conf_cursor_t cursor = { .view = { store, txn }, .section = section };
		conf_block_view_t block, found;
		while (conf_view_next(&cursor, &block)) {
			dump_block(out.file, section, block.id, block.items);
			assert_true(conf_view_find(cursor.view, section, block.id, &found));
			assert_int_equal(found.items.len, block.items.len);
		}
	}
	fclose(out.file);
	return out.text;
}

static char *dump_changes(const conf_txn_t *txn)
{
	dump_t out = { 0 };
	out.file = open_memstream(&out.text, &out.len);
	conf_change_t change;
	size_t pos = 0;
	while (conf_txn_next_change(txn, &pos, &change)) {
		if (change.has_old) {
			fprintf(out.file, "-");
			dump_block(out.file, change.section, change.id, change.old_items);
		}
		if (change.has_new) {
			fprintf(out.file, "+");
			dump_block(out.file, change.section, change.id, change.new_items);
		}
	}
	fclose(out.file);
	return out.text;
}

/** "section[id].item=data", with "-" before it to unset; each part but the section may be absent. */
static knot_err_t apply(conf_txn_t *txn, const char *text)
{
	char buffer[512];
	bool is_unset = text[0] == '-';
	snprintf(buffer, sizeof(buffer), "%s", text + is_unset);
	conf_edit_t edit = { .section = buffer };
	char *data = strchr(buffer, '=');
	if (data != NULL) {
		*data = '\0';
		edit.data = data + 1;
	}
	char *id = strchr(buffer, '['), *end = id != NULL ? strchr(id, ']') : NULL;
	char *item = strchr(end != NULL ? end : buffer, '.');
	if (item != NULL) {
		*item = '\0';
		edit.item = item + 1;
	}
	if (id != NULL) {
		*id = *end = '\0';
		edit.id = id + 1;
	}
	if (buffer[0] == '\0' && text[is_unset] != '[') {
		edit.section = NULL;
	}
	return is_unset ? conf_txn_unset(txn, &edit) : conf_txn_set(txn, &edit, (conf_sink_t){ 0 });
}

static void expect_changes(const char *what, const conf_txn_t *txn, const char *want)
{
	char *changes = dump_changes(txn);
	if (strcmp(changes, want) != 0) {
		fail_msg("%s: changes\n%swant\n%s", what, changes, want);
	}
	assert_int_equal(conf_txn_is_empty(txn), want[0] == '\0');
	free(changes);
}

/* ---- One edit after the other ---- */

/** An edit and the changes of the transaction after it; want: NULL means the same as in the row before. */
typedef struct {
	const char *edit;
	knot_err_t err;
	const char *want;
} edit_row_t;

/* Blocks of the base as they are printed. */
#define SERVER      "server identity=old" LISTEN "\n"
#define LISTEN      " listen=127.0.0.1@5301 listen=::1@5301"
#define ZONE_TEST   "zone[test.]\n"
#define ZONE_A_TEST "zone[a.test.] template=t module=mod-stats/s1\n"
#define ZONE_B_TEST "zone[b.test.] file=b.zone\n"
#define TEMPLATES   "-template[default] storage=/a\n-template[t]\n"

static const edit_row_t edits[] = {
	{ "", KNOT_EINVAL, "" },
	{ "nosuch", KNOT_CONF_EITEM, "" },
	{ "SERVER.identity=x", KNOT_CONF_EITEM, "" },
	{ "mod-nosuch[x]", KNOT_CONF_EITEM, "" },
	{ "server", KNOT_ENOTSUP, "" },
	{ "server=x", KNOT_CONF_EVALUE, "" },
	{ "server[id]", KNOT_CONF_EIDUNSUP, "" },
	{ "server[id].nosuch", KNOT_CONF_EIDUNSUP, "" },
	{ "server.nosuch", KNOT_CONF_EITEM, "" },
	{ "server.identity", KNOT_CONF_ENODATA, "" },
	{ "server.udp-workers=0", KNOT_CONF_ERANGE, "" },
	{ "server.udp-workers=many", KNOT_EINVAL, "" },
	{ "server.identity=old", KNOT_OK, "" },
	{ "server.listen=::1@5301", KNOT_OK, "" },
	{ "server.identity=new", KNOT_OK, "-" SERVER "+server" LISTEN " identity=new\n" },
	{ "-server.identity=old", KNOT_ENOENT, NULL },
	{ "-server.nosuch", KNOT_CONF_EITEM, NULL },
	{ "-server.identity=new", KNOT_OK, "-" SERVER "+server" LISTEN "\n" },
	{ "-server.identity", KNOT_ENOENT, NULL },
	{ "-server.listen=127.0.0.1@5301", KNOT_OK, "-" SERVER "+server listen=::1@5301\n" },
	{ "-server.listen", KNOT_OK, "-" SERVER },
	{ "server.identity=old", KNOT_OK, "-" SERVER "+server identity=old\n" },
	{ "server.listen=127.0.0.1@5301", KNOT_OK, "-" SERVER "+server identity=old listen=127.0.0.1@5301\n" },
	{ "-server", KNOT_OK, "-" SERVER },
	{ "-server", KNOT_OK, NULL },
	{ "-xdp", KNOT_OK, NULL },
	{ "-include", KNOT_ENOTSUP, NULL },
	{ "-server[x]", KNOT_CONF_EIDUNSUP, NULL },
};

/* The same for sections of blocks. */
static const edit_row_t block_edits[] = {
	{ "zone", KNOT_CONF_ENOID, "" },
	{ "zone[bad..name]", KNOT_EINVAL, "" },
	{ "zone[a.test]", KNOT_CONF_EDUPID, "" },
	{ "zone[A.TEST.]", KNOT_CONF_EDUPID, "" },
	{ "zone[new.test]=data", KNOT_CONF_EVALUE, "" },
	{ "zone.domain", KNOT_CONF_ENOID, "" },
	{ "zone[w.test].domain=w.test", KNOT_CONF_EVALUE, "" },
	{ "zone[nosuch.test].file=x", KNOT_CONF_EID, "" },
	{ "zone[nosuch.test].file", KNOT_CONF_ENODATA, "" },
	{ "zone[nosuch.test].nosuch", KNOT_CONF_EITEM, "" },
	{ "zone[a.test].template=nosuch", KNOT_ENOENT, "" },
	{ "zone[a.test].module=mod-stats/nosuch", KNOT_ENOENT, "" },
	{ "zone[a.test].module=mod-foo", KNOT_EINVAL, "" },
	{ "zone[a.test].zone-db-output=2", KNOT_CONF_ENOTSUP, "" },
	{ "zone[a.test].semantic-checks=maybe", KNOT_EINVAL, "" },
	{ "-zone[nosuch.test]", KNOT_CONF_EID, "" },
	{ "-zone.domain=nosuch.test", KNOT_CONF_EID, "" },
	{ "-zone[nosuch.test].file", KNOT_CONF_EID, "" },
	{ "-zone[a.test].domain=a.test", KNOT_CONF_EVALUE, "" },
	{ "-zone[test].file", KNOT_ENOENT, "" },
	{ "-remote.address", KNOT_OK, "" },
	{ "remote.address=192.0.2.1", KNOT_OK, "" },
	{ "zone[new.test]", KNOT_OK, "+zone[new.test.]\n" },
	{ "zone[new.test]", KNOT_CONF_EDUPID, NULL },
	{ "zone.domain=aa.test", KNOT_OK, "+zone[aa.test.]\n+zone[new.test.]\n" },
	{ "-zone[new.test].domain", KNOT_OK, "+zone[aa.test.]\n" },
	{ "-zone.domain=aa.test", KNOT_OK, "" },
	{ "zone.file=x", KNOT_OK,
			"-" ZONE_TEST "+zone[test.] file=x\n"
			"-" ZONE_A_TEST "+zone[a.test.] template=t module=mod-stats/s1 file=x\n"
			"-" ZONE_B_TEST "+zone[b.test.] file=x\n" },
	{ "-zone.file", KNOT_OK, "-" ZONE_B_TEST "+zone[b.test.]\n" },
	{ "-zone.domain", KNOT_OK, "-" ZONE_TEST "-" ZONE_A_TEST "-" ZONE_B_TEST },
	{ "zone[b.test]", KNOT_OK, "-" ZONE_TEST "-" ZONE_A_TEST "-" ZONE_B_TEST "+zone[b.test.]\n" },
	{ "zone[b.test].file=b.zone", KNOT_OK, "-" ZONE_TEST "-" ZONE_A_TEST },
	{ "zone[b.test].file=", KNOT_OK, "-" ZONE_TEST "-" ZONE_A_TEST "-" ZONE_B_TEST "+zone[b.test.] file=\n" },
	{ "-zone[b.test].file=x", KNOT_ENOENT, NULL },
};

/* What removes a lot, and what is read from files. */
static const edit_row_t whole_edits[] = {
	{ "include", KNOT_CONF_ENODATA, "" },
	{ "include[id]=x", KNOT_CONF_EIDUNSUP, "" },
	{ "include.item=x", KNOT_CONF_EITEM, "" },
	{ "include=", KNOT_OK, "" },
	{ "include=/nonexistent", KNOT_EFILE, "" },
	{ "include=conf_txn_test_good.conf", KNOT_OK,
			"-" SERVER "+server identity=old" LISTEN " version=v\n"
			"+zone[inc.test.] template=t\n" },
	{ "include=conf_txn_test_good.conf", KNOT_CONF_EDUPID, NULL },
	{ "include=conf_txn_test_bad.conf", KNOT_CONF_EITEM, NULL },
	{ "include=conf_txn_test_*d.conf", KNOT_CONF_EITEM, NULL },
	{ "-zone[inc.test]", KNOT_OK, "-" SERVER "+server identity=old" LISTEN " version=v\n" },
	{ "clear", KNOT_CONF_ENODATA, NULL },
	{ "clear=nosuch", KNOT_OK, NULL },
	{ "-server.version", KNOT_OK, "" },
	{ "clear=t*", KNOT_OK, TEMPLATES },
	{ "clear=mod-*", KNOT_OK, TEMPLATES "-mod-stats[s1]\n" },
	{ "-", KNOT_OK, "-" SERVER TEMPLATES "-" ZONE_TEST "-" ZONE_A_TEST "-" ZONE_B_TEST "-mod-stats[s1]\n" },
	{ "-", KNOT_OK, NULL },
};

static void run_rows(const edit_row_t *rows, size_t count)
{
	conf_store_t *store = read_text(base_text);
	conf_txn_t *txn = conf_txn_begin(store);
	const char *want = "";
	for (size_t i = 0; i < count; i++) {
		knot_err_t err = apply(txn, rows[i].edit);
		if (err != rows[i].err) {
			fail_msg("%s: %s, want %s", rows[i].edit, knot_strerror(err), knot_strerror(rows[i].err));
		}
		bool is_told = rows[i].want != NULL;
		want = is_told ? rows[i].want : want;
		if (is_told || rows[i].err != KNOT_OK) {
			expect_changes(rows[i].edit, txn, want);
		}
	}
	conf_txn_free(txn);
	conf_store_free(store);
}

static void test_items(void **state)
{
	(void)state;
	run_rows(edits, KNOT_LEN(edits));
}

static void test_blocks(void **state)
{
	(void)state;
	run_rows(block_edits, KNOT_LEN(block_edits));
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void test_whole(void **state)
{
	(void)state;
	char folder[] = "/tmp/conf_txn_test.XXXXXX", before[4096];
	assert_non_null(getcwd(before, sizeof(before)));
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	write_file("conf_txn_test_good.conf",
			"server:\n    version: v\nzone:\n  - domain: inc.test\n    template: t\n");
	write_file("conf_txn_test_bad.conf", "zone:\n  - domain: inc2.test\n  - domain: inc3.test\n    fil: x\n");
	run_rows(whole_edits, KNOT_LEN(whole_edits));
	assert_int_equal(unlink("conf_txn_test_good.conf"), 0);
	assert_int_equal(unlink("conf_txn_test_bad.conf"), 0);
	assert_int_equal(chdir(before), 0);
	assert_int_equal(rmdir(folder), 0);
}

/* Faults of a directive name it, not a file that there isn't; what can't be a configuration isn't read. */
static void test_include_faults(void **state)
{
	(void)state;
	char path[] = "/tmp/conf_txn_test.XXXXXX", want[512];
	messages_t faults;
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	conf_store_t *store = read_text(base_text);
	conf_txn_t *txn = conf_txn_begin(store);
	conf_edit_t edit = { .section = "include", .data = "/nonexistent" };
	assert_int_equal(conf_txn_set(txn, &edit, messages_sink(&faults)), KNOT_EFILE);
	assert_string_equal(faults.text, "config, item 'include', value '/nonexistent' (file error)");

	edit.data = path;
	assert_int_equal(write(fd, "nosuch:\n", 8), 8);
	assert_int_equal(conf_txn_set(txn, &edit, messages_sink(&faults)), KNOT_CONF_EITEM);
	(void)snprintf(want, sizeof(want), "config, file '%s', line 1, item 'nosuch' (invalid item)", path);
	assert_string_equal(faults.text, want);

	assert_int_equal(ftruncate(fd, ((off_t)1024 << 20) + 1), 0);
	assert_int_equal(conf_txn_set(txn, &edit, messages_sink(&faults)), KNOT_ESPACE);
	(void)snprintf(want, sizeof(want), "config, failed to load file '%s' (larger than 1024 MiB)", path);
	assert_memory_equal(faults.text, want, strlen(want));
	assert_true(conf_txn_is_empty(txn));
	conf_txn_free(txn);
	conf_store_free(store);
	close(fd);
	assert_int_equal(unlink(path), 0);
}

/* ---- Steps ---- */

static void test_steps(void **state)
{
	(void)state;
	conf_store_t *store = read_text(base_text);
	conf_txn_t *txn = conf_txn_begin(store);
	assert_int_equal(conf_txn_push(txn), KNOT_OK);
	assert_int_equal(apply(txn, "zone[n1.test]"), KNOT_OK);
	assert_int_equal(apply(txn, "server.identity=new"), KNOT_OK);
	conf_txn_undo(txn);
	expect_changes("one undone", txn, "");

	assert_int_equal(conf_txn_push(txn), KNOT_OK);
	assert_int_equal(apply(txn, "zone[n1.test]"), KNOT_OK);
	conf_txn_pop(txn);
	expect_changes("one kept", txn, "+zone[n1.test.]\n");

	/* An inner step that is kept goes with the outer one. */
	assert_int_equal(conf_txn_push(txn), KNOT_OK);
	assert_int_equal(apply(txn, "zone[n1.test].file=outer"), KNOT_OK);
	assert_int_equal(conf_txn_push(txn), KNOT_OK);
	assert_int_equal(apply(txn, "zone[n1.test].file=inner"), KNOT_OK);
	assert_int_equal(apply(txn, "-zone[n1.test]"), KNOT_OK);
	conf_txn_undo(txn);
	expect_changes("inner undone", txn, "+zone[n1.test.] file=outer\n");
	assert_int_equal(conf_txn_push(txn), KNOT_OK);
	assert_int_equal(apply(txn, "-zone[n1.test]"), KNOT_OK);
	assert_int_equal(apply(txn, "zone[n2.test]"), KNOT_OK);
	conf_txn_pop(txn);
	assert_int_equal(apply(txn, "zone[n1.test]"), KNOT_OK);
	conf_txn_undo(txn);
	expect_changes("outer undone", txn, "+zone[n1.test.]\n");

	for (unsigned i = 0; i < CONF_TXN_DEPTH_MAX; i++) {
		assert_int_equal(conf_txn_push(txn), KNOT_OK);
		char text[64];
		snprintf(text, sizeof(text), "zone[n1.test].file=%u", i);
		assert_int_equal(apply(txn, text), KNOT_OK);
	}
	assert_int_equal(conf_txn_push(txn), KNOT_ETXNMANY);
	assert_int_equal(apply(txn, "zone[nosuch.test].file=x"), KNOT_CONF_EID);
	for (unsigned i = CONF_TXN_DEPTH_MAX; i-- > 0;) {
		char want[64];
		snprintf(want, sizeof(want), "+zone[n1.test.] file=%u\n", i);
		expect_changes("depth", txn, want);
		conf_txn_undo(txn);
	}
	expect_changes("all undone", txn, "+zone[n1.test.]\n");
	conf_txn_free(txn);
	conf_store_free(store);
}

/*
 * A step keeps one state of a block, however many inner ones change it: 3,000 values of one item are no 3,000 copies.
 */
static void test_steps_keep_one(void **state)
{
	(void)state;
	enum { VALUES = 3000 };
	conf_store_t *store = read_text(base_text);
	conf_txn_t *txn = conf_txn_begin(store);
	assert_int_equal(conf_txn_push(txn), KNOT_OK);
	assert_int_equal(apply(txn, "acl[many]"), KNOT_OK);
	assert_int_equal(conf_txn_push(txn), KNOT_OK);
	for (unsigned i = 0; i < VALUES; i++) {
		char text[64];
		snprintf(text, sizeof(text), "acl[many].address=10.1.%u.%u", i / 256, i % 256);
		assert_int_equal(apply(txn, text), KNOT_OK);
		assert_true(txn->undo_count <= 2);
	}
	conf_txn_undo(txn);
	expect_changes("back to the outer step", txn, "+acl[many]\n");
	assert_int_equal(apply(txn, "acl[many].address=10.1.0.1"), KNOT_OK);
	assert_int_equal(conf_txn_push(txn), KNOT_OK);
	assert_int_equal(apply(txn, "acl[many].address=10.1.0.2"), KNOT_OK);
	conf_txn_pop(txn);
	assert_int_equal(txn->undo_count, 1);
	conf_txn_undo(txn);
	expect_changes("back to the beginning", txn, "");
	conf_txn_free(txn);
	conf_store_free(store);
}

/* ---- Against a configuration that is read from text ---- */

enum { MODEL_ZONES = 40, MODEL_FILES = 3, MODEL_STEPS = 4 };

/** What a zone has: 0 none, else 1 + number of its file (0: without). */
typedef struct {
	uint8_t zones[MODEL_ZONES];
} model_t;

static char *model_text(const model_t *model, bool is_packed)
{
	dump_t out = { 0 };
	out.file = open_memstream(&out.text, &out.len);
	fprintf(out.file, is_packed ? "server:\n    identity: x\nzone:\n" : "");
	for (unsigned i = 0; i < MODEL_ZONES; i++) {
		if (model->zones[i] > 0) {
			fprintf(out.file, "  - domain: z%u.test\n", i);
		}
		if (model->zones[i] > 1) {
			fprintf(out.file, "    file: f%u\n", model->zones[i]);
		}
	}
	fclose(out.file);
	return out.text;
}

static void model_edit(conf_txn_t *txn, model_t *model)
{
	char text[64];
	unsigned zone = (unsigned)random() % MODEL_ZONES, file = 2 + (unsigned)random() % MODEL_FILES;
	uint8_t *have = &model->zones[zone];
	knot_err_t want;
	switch (random() % 4) {
	case 0:
		snprintf(text, sizeof(text), "zone[z%u.test]", zone);
		want = *have > 0 ? KNOT_CONF_EDUPID : KNOT_OK;
		*have = *have > 0 ? *have : 1;
		break;
	case 1:
		snprintf(text, sizeof(text), "zone[z%u.test].file=f%u", zone, file);
		want = *have > 0 ? KNOT_OK : KNOT_CONF_EID;
		*have = *have > 0 ? (uint8_t)file : 0;
		break;
	case 2:
		snprintf(text, sizeof(text), "-zone[z%u.test].file", zone);
		want = *have == 0 ? KNOT_CONF_EID : *have == 1 ? KNOT_ENOENT : KNOT_OK;
		*have = *have > 1 ? 1 : *have;
		break;
	default:
		snprintf(text, sizeof(text), "-zone[z%u.test]", zone);
		want = *have > 0 ? KNOT_OK : KNOT_CONF_EID;
		*have = 0;
		break;
	}
	knot_err_t err = apply(txn, text);
	if (err != want) {
		fail_msg("%s: %s, want %s", text, knot_strerror(err), knot_strerror(want));
	}
}

static void expect_same(
		const char *what, const conf_store_t *store, const conf_txn_t *txn, const conf_store_t *want_store)
{
	char *have = dump(store, txn), *want = dump(want_store, NULL);
	if (strcmp(have, want) != 0) {
		fail_msg("%s:\n%swant\n%s", what, have, want);
	}
	free(have);
	free(want);
}

static void check_model(const conf_store_t *base, const conf_txn_t *txn, const model_t *model)
{
	char *text = model_text(model, true);
	conf_store_t *want = read_text(text), *merged;
	free(text);
	expect_same("view", base, txn, want);
	assert_int_equal(conf_txn_merge(txn, &merged), KNOT_OK);
	expect_same("merged", merged, NULL, want);
	assert_int_equal(merged->zones.count, want->zones.count);
	conf_store_free(merged);
	conf_store_free(want);
}

/* A stream of edits with steps, compared with a list of zones. */
static void test_model(void **state)
{
	(void)state;
	const char *given = getenv("KNOT_SEED");
	unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : 1;
	printf("KNOT_SEED=%u\n", seed);
	srandom(seed);
	for (unsigned round = 0; round < 30; round++) {
		model_t models[MODEL_STEPS + 1] = { 0 };
		for (unsigned i = 0; i < MODEL_ZONES; i++) {
			models[0].zones[i] = (uint8_t)(random() % 5);
		}
		char *text = model_text(&models[0], true);
		conf_store_t *base = read_text(text);
		free(text);
		conf_txn_t *txn = conf_txn_begin(base);
		unsigned depth = 0;
		for (unsigned i = 0; i < 300; i++) {
			long what = random() % 20;
			if (what == 0 && depth < MODEL_STEPS) {
				assert_int_equal(conf_txn_push(txn), KNOT_OK);
				models[depth + 1] = models[depth];
				depth++;
			} else if (what == 1 && depth > 0) {
				conf_txn_undo(txn);
				depth--;
			} else if (what == 2 && depth > 0) {
				conf_txn_pop(txn);
				models[depth - 1] = models[depth];
				depth--;
			} else {
				model_edit(txn, &models[depth]);
			}
			if (i % 10 == 0) {
				check_model(base, txn, &models[depth]);
			}
		}
		conf_txn_free(txn);
		conf_store_free(base);
	}
}

/* ---- Many ---- */

/*
 * A change must not depend on the size of the whole: 100,000 of them are done in what a copy each would take for a few.
 */
static void test_many(void **state)
{
	(void)state;
	enum { COUNT = 100000 };
	conf_store_t *base = read_text("template:\n  - id: default\n"), *merged;
	conf_txn_t *txn = conf_txn_begin(base);
	double start = cpu_s();
	set_zones_in(txn, COUNT, "zone", "x");
	double set = cpu_s();
	assert_int_equal(conf_txn_merge(txn, &merged), KNOT_OK);
	double merge = cpu_s();
	assert_int_equal(merged->zones.count, COUNT);
	conf_txn_free(txn);
	/* One more in a transaction on top of these. */
	txn = conf_txn_begin(merged);
	double begun = cpu_s();
	assert_int_equal(apply(txn, "zone[one.example]"), KNOT_OK);
	double one = cpu_s();
	conf_store_t *second;
	assert_int_equal(conf_txn_merge(txn, &second), KNOT_OK);
	double end = cpu_s();
	printf("%d zones: %.0f ms to set, %.0f ms to merge; one more: %.3f ms, %.0f ms to merge\n", COUNT,
			1e3 * (set - start), 1e3 * (merge - set), 1e3 * (one - begun), 1e3 * (end - one));
	/* Copying the whole for each would take hours. Instrumented builds are slow. */
	assert_true(end - start < 20);
	conf_txn_free(txn);
	conf_store_free(second);
	conf_store_free(merged);
	conf_store_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_items),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_include_faults),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_steps_keep_one),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
