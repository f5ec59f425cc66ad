/* SPDX-License-Identifier: BSD-2-Clause */
/* What is decided about a catalog's members is stored, then reported; a failure does neither. */
#include "src/catalog/apply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/dev/shm/bowline-apply-XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) != NULL ? 0 : -1;
}

static void remove_files(void)
{
	static const char *const names[] = { "data.mdb", "lock.mdb" };
	for (size_t i = 0; i < KNOT_LEN(names); i++) {
		char path[128];
		snprintf(path, sizeof(path), "%s/db/%s", dir, names[i]);
		(void)unlink(path);
	}
	char path[128];
	snprintf(path, sizeof(path), "%s/db", dir);
	(void)rmdir(path);
}

static int remove_dir(void **state)
{
	(void)state;
	remove_files();
	return rmdir(dir);
}

static catalog_db_t *new_db(void)
{
	char path[128];
	sys_lmdb_reason_t reason;
	snprintf(path, sizeof(path), "%s/db", dir);
	catalog_db_t *db = catalog_db_new(&(catalog_db_params_t){ .path = path, .size_max = 1 << 20 });
	assert_non_null(db);
	assert_int_equal(catalog_db_open(db, &reason), KNOT_ENOENT);
	return db;
}

static knot_name_t scan(const char *text, uint8_t wire[static KNOT_NAME_MAX])
{
	knot_name_t name;
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, wire, &name), KNOT_OK);
	return name;
}

/* "member owner group ..."; group "-": none. */
static catalog_set_t list_of(const char *text)
{
	catalog_set_t set = { 0 };
	char member[64], owner[64], group[64];
	for (int len; sscanf(text, " %63s %63s %63s%n", member, owner, group, &len) == 3; text += len) {
		uint8_t member_wire[KNOT_NAME_MAX], owner_wire[KNOT_NAME_MAX];
		const catalog_member_t entry = { .member = scan(member, member_wire),
			.owner = scan(owner, owner_wire),
			.group = { (const uint8_t *)group, strcmp(group, "-") != 0 ? strlen(group) : 0 } };
		assert_int_equal(catalog_set_put(&set, &entry), KNOT_OK);
	}
	assert_string_equal(text, "");
	return set;
}

static void print_name(FILE *to, knot_name_t name)
{
	char text[KNOT_NAME_TEXT_MAX];
	knot_name_print(name, text);
	fprintf(to, " %s", text);
}

typedef struct {
	FILE *to;
	const char *configured;
} sinking_t;

static bool is_configured(knot_name_t member, void *ctx)
{
	char text[KNOT_NAME_TEXT_MAX];
	knot_name_print(member, text);
	return strcmp(text, ((const sinking_t *)ctx)->configured) == 0;
}

static void visit(const catalog_change_t *change, void *ctx)
{
	static const char *const kinds[] = { "keep", "add", "remove", "renew", "regroup" };
	FILE *to = ((const sinking_t *)ctx)->to;
	const catalog_member_t *entry = change->kind == CATALOG_REMOVE || change->note == CATALOG_REMOVED_WRONG ||
									change->note == CATALOG_REMOVED_UNKNOWN
							? &change->before
							: &change->after;
	fputs(kinds[change->kind], to);
	print_name(to, entry->member);
	fprintf(to, change->note != CATALOG_NOTHING ? "!;" : ";");
}

static bool show_record(const catalog_record_t *record, void *ctx)
{
	print_name(ctx, record->entry.member);
	print_name(ctx, record->entry.owner);
	fprintf(ctx, " %.*s;", (int)record->entry.group.len, (const char *)record->entry.group.data);
	return true;
}

/* One step of a catalog: what was done, how many members changed, and what is stored then. */
static void apply(catalog_db_t *db, const char *catalog, const char *before_text, const char *after_text,
		const char *configured, const char *want, size_t want_changed)
{
	uint8_t wire[KNOT_NAME_MAX];
	catalog_set_t before = list_of(before_text), after = list_of(after_text);
	char *got = NULL;
	size_t len, changed, damaged;
	sinking_t sinking = { open_memstream(&got, &len), configured };
	const catalog_sink_t sink = { is_configured, visit, &sinking };
	sys_lmdb_reason_t reason;
	assert_int_equal(catalog_apply(db, scan(catalog, wire), &before, &after, &sink, &changed, &reason), KNOT_OK);
	fputs(" |", sinking.to);
	assert_int_equal(catalog_db_each(db, show_record, sinking.to, &damaged, &reason), KNOT_OK);
	fclose(sinking.to);
	assert_string_equal(got, want);
	assert_int_equal(changed, want_changed);
	assert_int_equal(damaged, 0);
	free(got);
	catalog_set_done(&before);
	catalog_set_done(&after);
}

static void test_steps(void **state)
{
	(void)state;
	char path[128];
	struct stat info;
	catalog_db_t *db = new_db();
	/* Nothing is written for nothing, and for what is refused. */
	apply(db, "cat.", "", "", "", " |", 0);
	apply(db, "cat.", "", "x. 1.zones.cat. -", "x.", "keep x.!; |", 0);
	snprintf(path, sizeof(path), "%s/db", dir);
	assert_int_not_equal(stat(path, &info), 0);

	apply(db, "cat.", "", "b. 2.zones.cat. g a. 1.zones.cat. - x. 3.zones.cat. -", "x.",
			"add a.;add b.;keep x.!; | a. 1.zones.cat. ; b. 2.zones.cat. g;", 2);
	/* The first catalog keeps its member. */
	apply(db, "other.", "", "a. 9.zones.other. - c. 8.zones.other. -", "",
			"keep a.!;add c.; | a. 1.zones.cat. ; b. 2.zones.cat. g; c. 8.zones.other. ;", 1);
	apply(db, "other.", "a. 9.zones.other. -", "", "",
			"keep a.!; | a. 1.zones.cat. ; b. 2.zones.cat. g; c. 8.zones.other. ;", 0);
	/* Another group, another id; the version before isn't what is stored. */
	apply(db, "cat.", "a. 1.zones.cat. - b. 2.zones.cat. g", "a. 5.zones.cat. - b. 2.zones.cat. h", "",
			"renew a.;regroup b.; | a. 5.zones.cat. ; b. 2.zones.cat. h; c. 8.zones.other. ;", 2);
	apply(db, "cat.", "", "a. 5.zones.cat. - b. 2.zones.cat. h", "",
			" | a. 5.zones.cat. ; b. 2.zones.cat. h; c. 8.zones.other. ;", 0);
	apply(db, "cat.", "a. 5.zones.cat. - b. 2.zones.cat. h d. 6.zones.cat. -", "", "",
			"remove a.;remove b.;keep d.!; | c. 8.zones.other. ;", 2);
	catalog_db_close(db);
	remove_files();
}

/* The folder can't be made: nothing was done, and a later attempt does all. */
static void test_failure(void **state)
{
	(void)state;
	char path[128];
	uint8_t wire[KNOT_NAME_MAX];
	catalog_set_t before = { 0 }, after = list_of("a. 1.zones.cat. -");
	char *got = NULL;
	size_t len, changed = 1;
	sinking_t sinking = { open_memstream(&got, &len), "" };
	const catalog_sink_t sink = { is_configured, visit, &sinking };
	sys_lmdb_reason_t reason;
	catalog_db_t *db = new_db();
	snprintf(path, sizeof(path), "%s/db", dir);
	FILE *file = fopen(path, "w"); /* in place of the folder */
	assert_non_null(file);
	fclose(file);
	assert_int_not_equal(catalog_apply(db, scan("cat.", wire), &before, &after, &sink, &changed, &reason), KNOT_OK);
	assert_string_not_equal(reason.text, "");
	fclose(sinking.to);
	assert_string_equal(got, "");
	assert_int_equal(changed, 0);
	free(got);
	assert_int_equal(unlink(path), 0);
	apply(db, "cat.", "", "a. 1.zones.cat. -", "", "add a.; | a. 1.zones.cat. ;", 1);
	catalog_set_done(&before);
	catalog_set_done(&after);
	catalog_db_close(db);
	remove_files();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_failure),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
