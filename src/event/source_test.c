/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/source.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/sys/clock.h"

static char dir[64];

static const char *path_of(const char *name, char path[static 128])
{
	snprintf(path, 128, "%s/%s", dir, name);
	return path;
}

static void write_file(const char *name, const char *text, int64_t mtime_s, long mtime_ns)
{
	char path[128];
	FILE *file = fopen(path_of(name, path), "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = mtime_s, .tv_nsec = mtime_ns } };
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void add(sources_t *sources, const char *name)
{
	char path[128];
	struct stat info;
	assert_int_equal(source_stat(path_of(name, path), &info), KNOT_OK);
	sources_add(sources, path, &info);
}

/* What a zone of two files and default settings is known by. */
static uint64_t print_of(const conf_zone_t *zone)
{
	sources_t *sources = calloc(1, sizeof(*sources));
	assert_non_null(sources);
	sources->settings = settings_number(zone);
	add(sources, "zone");
	add(sources, "part");
	uint64_t print = sources_print(sources);
	sources_free(sources);
	return print;
}

static void reset_files(void)
{
	write_file("zone", "zone", 1000000000, 5);
	write_file("part", "part", 1000000000, 6);
}

static void replace_zone(void)
{
	char from[128], to[128];
	write_file("other", "zone", 1000000000, 5);
	assert_int_equal(rename(path_of("other", from), path_of("zone", to)), 0);
}

static void longer_zone(void)
{
	write_file("zone", "zone+", 1000000000, 5);
}

static void later_zone(void)
{
	write_file("zone", "zone", 1000000000, 6);
}

static void earlier_second(void)
{
	write_file("zone", "zone", 999999999, 5);
}

static void later_part(void)
{
	write_file("part", "trap", 1000000000, 7);
}

static void nothing(void)
{
	reset_files();
}

static const struct {
	const char *what;
	void (*change)(void);
	bool same;
} changes[] = {
	{ "nothing", nothing, true },
	{ "inode", replace_zone, false },
	{ "size", longer_zone, false },
	{ "time by a nanosecond", later_zone, false },
	{ "time by a second, backwards", earlier_second, false },
	{ "included file", later_part, false },
};

static void test_changes_of_files(void **state)
{
	(void)state;
	const conf_zone_t zone = { .default_ttl = 3600 };
	for (size_t i = 0; i < KNOT_LEN(changes); i++) {
		reset_files();
		uint64_t before = print_of(&zone);
		assert_true(before != 0);
		changes[i].change();
		if ((print_of(&zone) == before) != changes[i].same) {
			fail_msg("changed %s", changes[i].what);
		}
	}
}

static void test_changes_of_settings(void **state)
{
	(void)state;
	reset_files();
	static const conf_zone_t zones[] = {
		{ .default_ttl = 3600 },
		{ .default_ttl = 3601 },
		{ .default_ttl = 3600, .semantic_checks = CONF_SEMCHECKS_ON },
		{ .default_ttl = 3600, .semantic_checks = CONF_SEMCHECKS_SOFT },
		{ .default_ttl = 3600, .zone_max_size = 1 },
	};
	for (size_t i = 0; i < KNOT_LEN(zones); i++) {
		for (size_t j = 0; j < KNOT_LEN(zones); j++) {
			assert_int_equal(print_of(&zones[i]) == print_of(&zones[j]), i == j);
		}
	}
}

static void test_single_source(void **state)
{
	(void)state;
	reset_files();
	sources_t *sources = calloc(1, sizeof(*sources));
	add(sources, "zone");
	sources_t *copy = sources_copy(sources->data, sources->count, 7);
	assert_int_equal(copy->count, 1);
	assert_int_equal(copy->settings, 7);
	sources_free(sources);
	assert_true(source_is_same(&copy->data[0]));
	later_zone();
	assert_false(source_is_same(&copy->data[0]));
	char path[128];
	assert_int_equal(unlink(path_of("zone", path)), 0);
	assert_false(source_is_same(&copy->data[0]));
	sources_free(copy);
}

/* Fresh files: whether noting one waits, and whether its identity is worth something. */
static void test_fresh_files(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		int64_t age_ns;
		bool whole_second;
		bool waits, settled;
	} rows[] = {
		{ "old", 3600 * INT64_C(1000000000), false, false, true },
		{ "a second ago", 1000000000, false, false, true },
		{ "just now", 1000000, false, true, true },
		{ "in a moment: another clock", -500000000, false, false, false },
		{ "far in the future: set by hand", -3600 * INT64_C(1000000000), false, false, true },
		{ "whole seconds, lately", 500000000, true, false, false },
		{ "whole seconds, long ago", 3600 * INT64_C(1000000000), true, false, true },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		int64_t at_ns = (int64_t)sys_clock_real_ns() - rows[i].age_ns;
		struct stat info = { .st_mode = S_IFREG,
			.st_mtim = { .tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000 } };
		info.st_mtim.tv_nsec = rows[i].whole_second ? 0 : info.st_mtim.tv_nsec | 1;
		sources_t *sources = calloc(1, sizeof(*sources));
		sources->settings = 1;
		sources_add(sources, "x", &info);
		if (rows[i].waits && (int64_t)sys_clock_real_ns() < at_ns + 20000000) {
			fail_msg("%s: did not wait until the tick was over", rows[i].what);
		}
		if ((sources_print(sources) != 0) != rows[i].settled) {
			fail_msg("%s: settled or not", rows[i].what);
		}
		sources_free(sources);
	}
}

/* A FIFO's time of change may be the one from before its writer began. */
static void test_fifo(void **state)
{
	(void)state;
	char path[128];
	struct stat info;
	assert_int_equal(mkfifo(path_of("other", path), 0600), 0);
	assert_int_equal(utimensat(AT_FDCWD, path,
					 (struct timespec[2]){ { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } }, 0),
			0);
	assert_int_equal(source_stat(path, &info), KNOT_OK);
	sources_t *sources = calloc(1, sizeof(*sources));
	assert_non_null(sources);
	sources->settings = 1;
	sources_add(sources, path, &info);
	assert_int_equal(sources_print(sources), 0);
	sources_free(sources);
}

/* ---- Contents ahead of their file ---- */

enum { SETTINGS = 7, OTHER_SETTINGS = 8 };

/* As a load of the zone file leaves it: one file, known by its print. */
static load_source_t source_of_zone(char ret_path[static 128])
{
	const char *path = path_of("zone", ret_path);
	reset_files();
	sources_t *sources = sources_of_file(path, SETTINGS);
	assert_non_null(sources);
	load_source_t source = { .print = sources_print(sources), .files = sources };
	source_trim(&source);
	return source;
}

/* Neither are the contents what a load would make nor may they be: the end of a source. */
static void expect_outdated(load_source_t *source, const char *path)
{
	assert_false(source_is_current(source, path, SETTINGS));
	assert_false(source_may_be_replaced(source, path, SETTINGS));
	source_clear(source);
}

static void test_ahead(void **state)
{
	(void)state;
	char path[128];
	uint32_t serial = 5;
	load_source_t source = source_of_zone(path);
	assert_null(source.files);
	assert_false(source_is_ahead(&source));
	assert_false(source_is_current(&source, path, OTHER_SETTINGS));
	assert_true(source_may_be_replaced(&source, path, SETTINGS));

	assert_int_equal(source_go_ahead(&source, path, SETTINGS, &serial), KNOT_OK);
	source_trim(&source);
	assert_true(source_is_ahead(&source) && source.files->has_serial && source.files->serial == 5);
	assert_true(source_is_current(&source, path, SETTINGS) && source_is_current(&source, path, OTHER_SETTINGS));
	assert_true(source_may_be_replaced(&source, path, OTHER_SETTINGS));
	serial = 6; /* what the file has doesn't change with the next transaction */
	assert_int_equal(source_go_ahead(&source, path, SETTINGS, &serial), KNOT_OK);
	assert_int_equal(source.files->serial, 5);

	sources_t *copy = sources_copy_all(source.files);
	assert_true(copy->is_ahead && copy->serial == 5 && sources_print(copy) == source.print);
	sources_free(copy);

	replace_zone();
	expect_outdated(&source, path);
}

static void test_ahead_of_a_changed_file(void **state)
{
	(void)state;
	char path[128];
	uint32_t serial = 5;
	load_source_t source = source_of_zone(path);
	replace_zone();
	assert_int_equal(source_go_ahead(&source, path, SETTINGS, &serial), KNOT_OK);
	assert_true(source_is_ahead(&source) && source.print == 0);
	expect_outdated(&source, path);
}

static void test_ahead_of_no_file(void **state)
{
	(void)state;
	char path[128];
	path_of("zone", path);
	unlink(path);
	load_source_t source = { 0 };
	assert_false(source_is_current(&source, path, SETTINGS));
	assert_int_equal(source_go_ahead(&source, path, SETTINGS, NULL), KNOT_OK);
	assert_true(source_is_ahead(&source) && !source.files->has_serial && source.print != 0);
	assert_true(source_is_current(&source, path, SETTINGS) && source_may_be_replaced(&source, path, SETTINGS));
	reset_files();
	expect_outdated(&source, path);
}

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/bowline-source-XXXXXX");
	return mkdtemp(dir) != NULL ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	static const char *const files[] = { "zone", "part", "other" };
	for (size_t i = 0; i < KNOT_LEN(files); i++) {
		char path[128];
		unlink(path_of(files[i], path));
	}
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes_of_files),
		cmocka_unit_test(test_changes_of_settings),
		cmocka_unit_test(test_ahead),
		cmocka_unit_test(test_ahead_of_a_changed_file),
		cmocka_unit_test(test_ahead_of_no_file),
		cmocka_unit_test(test_single_source),
		cmocka_unit_test(test_fresh_files),
		cmocka_unit_test(test_fifo),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
