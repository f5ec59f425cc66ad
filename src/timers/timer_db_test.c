/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/timers/timer_db.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[32] = "/dev/shm/bowline-timer-XXXXXX";
static char folder[64];

static const char *in_folder(const char *name)
{
	static char path[128];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static knot_name_t name_of(const char *text, uint8_t wire[static KNOT_NAME_MAX])
{
	knot_name_t name;
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, wire, &name), KNOT_OK);
	return name;
}

static timer_db_t *open_db(uint64_t size_max, knot_err_t want, sys_lmdb_reason_t *ret_reason)
{
	sys_lmdb_reason_t reason;
	timer_db_t *db = timer_db_new(folder, size_max, 0);
	assert_non_null(db);
	knot_err_t err = timer_db_open(db, ret_reason != NULL ? ret_reason : &reason);
	if (err != want) {
		fail_msg("%s: %s", knot_strerror(err), (ret_reason != NULL ? ret_reason : &reason)->text);
	}
	return db;
}

static void put(timer_db_t *db, const char *zone, timer_kind_t kind, uint64_t value)
{
	uint8_t wire[KNOT_NAME_MAX];
	timer_write_t *write;
	sys_lmdb_reason_t reason;
	timer_values_t values = { .at = { 0 } };
	values.at[kind] = value;
	assert_int_equal(timer_db_begin(db, &write, &reason), KNOT_OK);
	assert_int_equal(timer_write_put(write, name_of(zone, wire), &values, 1u << kind), KNOT_OK);
	assert_int_equal(timer_write_commit(write, &reason), KNOT_OK);
}

/* UINT64_MAX: there is no record. */
static uint64_t get(timer_db_t *db, const char *zone, timer_kind_t kind)
{
	uint8_t wire[KNOT_NAME_MAX];
	timer_values_t values;
	knot_err_t err = timer_db_read(db, name_of(zone, wire), &values);
	assert_true(err == KNOT_OK || err == KNOT_ENOENT);
	return err == KNOT_OK ? values.at[kind] : UINT64_MAX;
}

static int remove_files(void **state)
{
	(void)state;
	static const char *const names[] = { "data.mdb", "lock.mdb", "data.mdb.damaged", "data.mdb.damaged.1" };
	for (size_t i = 0; i < KNOT_LEN(names); i++) {
		(void)unlink(in_folder(names[i]));
	}
	(void)rmdir(folder);
	return 0;
}

/* Another program's way to a record. */
static void put_raw(const char *zone, const void *bytes, size_t len)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name = name_of(zone, wire);
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;
	MDB_val key = { name.len, wire }, value = { len, (void *)bytes };
	assert_int_equal(mdb_env_create(&env), 0);
	assert_int_equal(mdb_env_open(env, folder, 0, 0600), 0);
	assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
	assert_int_equal(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
	assert_int_equal(mdb_put(txn, dbi, &key, &value, 0), 0);
	assert_int_equal(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
}

static void test_made_by_the_first_record(void **state)
{
	(void)state;
	timer_db_t *db = open_db(1 << 20, KNOT_ENOENT, NULL);
	assert_int_equal(get(db, "a.", TIMER_LAST_FLUSH), UINT64_MAX);
	struct stat info;
	assert_int_not_equal(stat(folder, &info), 0);
	mode_t mask = umask(0007);
	put(db, "A.", TIMER_LAST_FLUSH, 17);
	(void)umask(mask);
	assert_int_equal(stat(folder, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0770);
	assert_int_equal(stat(in_folder("data.mdb"), &info), 0);
	assert_int_equal(info.st_mode & 0777, 0660);
	assert_int_equal(get(db, "a.", TIMER_LAST_FLUSH), 17);
	timer_db_close(db);
	db = open_db(1 << 20, KNOT_OK, NULL);
	assert_int_equal(get(db, "a.", TIMER_LAST_FLUSH), 17);
	/* Other values stay; a record without values goes. */
	put(db, "a.", TIMER_NEXT_EXPIRE, 18);
	assert_int_equal(get(db, "a.", TIMER_LAST_FLUSH), 17);
	put(db, "a.", TIMER_LAST_FLUSH, 0);
	assert_int_equal(get(db, "a.", TIMER_NEXT_EXPIRE), 18);
	put(db, "a.", TIMER_NEXT_EXPIRE, 0);
	assert_int_equal(get(db, "a.", TIMER_NEXT_EXPIRE), UINT64_MAX);
	timer_db_close(db);
}

static void test_what_is_unknown_stays(void **state)
{
	(void)state;
	static const uint8_t raw[] = "\xf0\0\0\0\0\0\0\0\1\x81\0\0\0\0\0\0\0\2\x8b"
				     "0123456789012345678901234567";
	static const uint8_t want[] = "\x81\0\0\0\0\0\0\0\3\xf0\0\0\0\0\0\0\0\1\x8b"
				      "0123456789012345678901234567";
	assert_int_equal(mkdir(folder, 0770), 0);
	put_raw("a.", raw, sizeof(raw) - 1);
	timer_db_t *db = open_db(1 << 20, KNOT_OK, NULL);
	put(db, "a.", TIMER_LAST_FLUSH, 3);
	timer_db_close(db);
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;
	MDB_val key = { 3, "\1a" }, value;
	assert_int_equal(mdb_env_create(&env), 0);
	assert_int_equal(mdb_env_open(env, folder, MDB_RDONLY, 0600), 0);
	assert_int_equal(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
	assert_int_equal(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
	assert_int_equal(mdb_get(txn, dbi, &key, &value), 0);
	assert_int_equal(value.mv_size, sizeof(want) - 1);
	assert_memory_equal(value.mv_data, want, sizeof(want) - 1);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

static void test_a_damaged_record_is_its_zones_only(void **state)
{
	(void)state;
	uint8_t wire[KNOT_NAME_MAX];
	timer_values_t values = { .at = { 77 } };
	assert_int_equal(mkdir(folder, 0770), 0);
	put_raw("a.", "\x81\0\0", 3);
	put_raw("b.", "\x81\0\0\0\0\0\0\0\5", 9);
	timer_db_t *db = open_db(1 << 20, KNOT_OK, NULL);
	assert_int_equal(timer_db_read(db, name_of("a.", wire), &values), KNOT_EMALF);
	assert_int_equal(values.at[0], 77);
	assert_int_equal(get(db, "b.", TIMER_LAST_FLUSH), 5);
	put(db, "a.", TIMER_NEXT_REFRESH, 6);
	assert_int_equal(get(db, "a.", TIMER_NEXT_REFRESH), 6);
	assert_int_equal(get(db, "a.", TIMER_LAST_FLUSH), 0);
	timer_db_close(db);
}

static bool is_second_letter_even(knot_name_t zone, void *ctx)
{
	++*(unsigned *)ctx;
	return zone.wire[1] % 2 == 0;
}

static void test_dropping(void **state)
{
	(void)state;
	unsigned asked = 0;
	size_t count;
	bool is_found = false;
	uint8_t wire[KNOT_NAME_MAX];
	sys_lmdb_reason_t reason;
	timer_write_t *write;
	timer_db_t *db = open_db(1 << 20, KNOT_ENOENT, NULL);
	assert_int_equal(timer_db_drop_if(db, is_second_letter_even, &asked, &count, &reason), KNOT_OK);
	assert_int_equal(count, 0);
	static const char *const zones[] = { "a.", "b.", "c.", "d.", "f.", "." };
	for (size_t i = 0; i < KNOT_LEN(zones); i++) {
		put(db, zones[i], TIMER_LAST_FLUSH, 9);
	}
	assert_int_equal(timer_db_begin(db, &write, &reason), KNOT_OK);
	assert_int_equal(timer_write_drop(write, name_of("C.", wire), &is_found), KNOT_OK);
	assert_true(is_found);
	assert_int_equal(timer_write_drop(write, name_of("x.", wire), &is_found), KNOT_OK);
	assert_false(is_found);
	assert_int_equal(timer_write_commit(write, &reason), KNOT_OK);
	timer_db_close(db);
	put_raw("e.", "x", 1); /* damaged records of zones go, too */
	db = open_db(1 << 20, KNOT_OK, NULL);
	put(db, ".", TIMER_LAST_FLUSH, 0); /* its name has no second letter */
	assert_int_equal(timer_db_drop_if(db, is_second_letter_even, &asked, &count, &reason), KNOT_OK);
	assert_int_equal(asked, 5);
	assert_int_equal(count, 3);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(get(db, zones[i], TIMER_LAST_FLUSH), i == 0 ? 9 : UINT64_MAX);
	}
	timer_db_close(db);
}

/* What doesn't fit changes nothing, and is said with the item to change. */
static void test_full(void **state)
{
	(void)state;
	enum { COUNT = 4000 };
	timer_db_t *db = open_db(128 << 10, KNOT_ENOENT, NULL);
	sys_lmdb_reason_t reason;
	put(db, "a.", TIMER_LAST_FLUSH, 1);
	timer_write_t *write;
	assert_int_equal(timer_db_begin(db, &write, &reason), KNOT_OK);
	knot_err_t err = KNOT_OK;
	for (unsigned i = 0; err == KNOT_OK && i < COUNT; i++) {
		char zone[16];
		uint8_t wire[KNOT_NAME_MAX];
		timer_values_t values = { .at = { i + 1, i + 1 } };
		snprintf(zone, sizeof(zone), "z%u.", i);
		err = timer_write_put(write, name_of(zone, wire), &values, 3);
	}
	assert_int_equal(err, KNOT_ESPACE);
	timer_write_discard(write, &reason);
	assert_non_null(strstr(reason.text, "database.timer-db-max-size"));
	assert_int_equal(get(db, "a.", TIMER_LAST_FLUSH), 1);
	assert_int_equal(get(db, "z0.", TIMER_LAST_FLUSH), UINT64_MAX);
	put(db, "b.", TIMER_LAST_FLUSH, 2);
	timer_db_close(db);
	db = open_db(1 << 20, KNOT_OK, NULL);
	assert_int_equal(get(db, "b.", TIMER_LAST_FLUSH), 2);
	timer_db_close(db);
}

static void flip(off_t at, uint8_t mask)
{
	int fd = open(in_folder("data.mdb"), O_RDWR | O_CLOEXEC);
	uint8_t byte;
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= mask;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

/* A bit of the file changes: the database is used or set aside, records are right, damaged or different, and whatever
 * it is, a new record can be written. */
static void test_damage_anywhere(void **state)
{
	enum { ZONES = 60, ROUNDS = 3000 };
	unsigned set_aside = 0;
	uint32_t x = 12345;
	for (unsigned round = 0; round < ROUNDS; round++) {
		timer_db_t *db = open_db(1 << 20, KNOT_ENOENT, NULL);
		sys_lmdb_reason_t reason;
		timer_write_t *write;
		assert_int_equal(timer_db_begin(db, &write, &reason), KNOT_OK);
		for (unsigned i = 0; i < ZONES; i++) {
			char zone[16];
			uint8_t wire[KNOT_NAME_MAX];
			timer_values_t values = { .at = { i + 1, i + 1, 1, timer_of_serial(i), 0, 0, 0, i } };
			snprintf(zone, sizeof(zone), "z%u.", i);
			assert_int_equal(timer_write_put(write, name_of(zone, wire), &values, 0xff), KNOT_OK);
		}
		assert_int_equal(timer_write_commit(write, &reason), KNOT_OK);
		timer_db_close(db);
		struct stat info;
		assert_int_equal(stat(in_folder("data.mdb"), &info), 0);
		x ^= x << 13, x ^= x >> 17, x ^= x << 5;
		flip((off_t)(x % (unsigned)info.st_size), (uint8_t)(1u << x % 8));
		db = open_db(1 << 20, KNOT_OK, &reason);
		set_aside += reason.text[0] != '\0';
		for (unsigned i = 0; i < ZONES; i++) {
			char zone[16];
			uint8_t wire[KNOT_NAME_MAX];
			timer_values_t values;
			snprintf(zone, sizeof(zone), "z%u.", i);
			knot_err_t err = timer_db_read(db, name_of(zone, wire), &values);
			assert_true(err == KNOT_OK || err == KNOT_ENOENT || err == KNOT_EMALF);
		}
		put(db, "new.", TIMER_LAST_FLUSH, 5);
		assert_int_equal(get(db, "new.", TIMER_LAST_FLUSH), 5);
		timer_db_close(db);
		(void)remove_files(state);
	}
	print_message("%u of %u damaged files were set aside\n", set_aside, (unsigned)ROUNDS);
	assert_true(set_aside > ROUNDS / 100);
}

/* What was set aside stays, also when that happens again: it is no cache. */
static void test_set_aside(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		timer_db_t *db = open_db(1 << 20, i == 0 ? KNOT_ENOENT : KNOT_OK, NULL);
		put(db, "a.", TIMER_LAST_FLUSH, 1);
		timer_db_close(db);
		flip(16, 1); /* magic number of the first meta page */
		sys_lmdb_reason_t reason;
		db = open_db(1 << 20, KNOT_OK, &reason);
		assert_non_null(strstr(reason.text, i == 0 ? "to data.mdb.damaged," : "to data.mdb.damaged.1,"));
		assert_int_equal(get(db, "a.", TIMER_LAST_FLUSH), UINT64_MAX);
		timer_db_close(db);
	}
	assert_int_equal(access(in_folder("data.mdb.damaged"), F_OK), 0);
	assert_int_equal(access(in_folder("data.mdb.damaged.1"), F_OK), 0);
}

static void test_one_process_writes(void **state)
{
	(void)state;
	timer_db_t *db = open_db(1 << 20, KNOT_ENOENT, NULL);
	put(db, "a.", TIMER_LAST_FLUSH, 1);
	sys_lmdb_reason_t reason;
	timer_db_t *other = open_db(1 << 20, KNOT_EBUSY, &reason);
	assert_non_null(strstr(reason.text, "database.timer-db"));
	timer_db_close(db);
	/* It tries again. */
	put(other, "b.", TIMER_LAST_FLUSH, 2);
	assert_int_equal(get(other, "a.", TIMER_LAST_FLUSH), 1);
	timer_db_close(other);
}

static int set_up(void **state)
{
	(void)state;
	if (mkdtemp(dir) == NULL) {
		snprintf(dir, sizeof(dir), "/tmp/bowline-timer-XXXXXX");
		assert_non_null(mkdtemp(dir));
	}
	snprintf(folder, sizeof(folder), "%s/timers", dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)remove_files(state);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_made_by_the_first_record, remove_files),
		cmocka_unit_test_teardown(test_what_is_unknown_stays, remove_files),
		cmocka_unit_test_teardown(test_a_damaged_record_is_its_zones_only, remove_files),
		cmocka_unit_test_teardown(test_dropping, remove_files),
		cmocka_unit_test_teardown(test_full, remove_files),
		cmocka_unit_test_teardown(test_damage_anywhere, remove_files),
		cmocka_unit_test_teardown(test_set_aside, remove_files),
		cmocka_unit_test_teardown(test_one_process_writes, remove_files),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
