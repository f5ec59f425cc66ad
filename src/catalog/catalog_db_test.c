/* SPDX-License-Identifier: BSD-2-Clause */
/* The database of members: its bytes are Knot's, and nothing in its file is trusted. */
#include "src/catalog/catalog_db.h"

#include "src/sys/test_damage.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/dev/shm/bowline-catalog-XXXXXX";
static char folder[64];

static const char *in_folder(const char *name)
{
	static char path[128];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int make_dir(void **state)
{
	(void)state;
	bool is_made = mkdtemp(dir) != NULL;
	snprintf(folder, sizeof(folder), "%s/catalog", dir);
	return is_made ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	return rmdir(dir);
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

static catalog_db_t *open_db(bool read_only, knot_err_t want)
{
	sys_lmdb_reason_t reason;
	catalog_db_t *db = catalog_db_new(
			&(catalog_db_params_t){ .path = folder, .size_max = 1 << 20, .read_only = read_only });
	assert_non_null(db);
	knot_err_t err = catalog_db_open(db, &reason);
	if (err != want) {
		fail_msg("%s: %s", knot_strerror(err), reason.text);
	}
	return db;
}

static knot_name_t name_of(const char *text, uint8_t wire[static KNOT_NAME_MAX])
{
	knot_name_t name;
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, wire, &name), KNOT_OK);
	return name;
}

static void put(catalog_db_t *db, const char *member, const char *owner, unsigned labels, const char *group)
{
	uint8_t member_wire[KNOT_NAME_MAX], owner_wire[KNOT_NAME_MAX];
	catalog_write_t *write;
	sys_lmdb_reason_t reason;
	catalog_record_t record = { .entry = { .member = name_of(member, member_wire),
						    .owner = name_of(owner, owner_wire),
						    .group = { (const uint8_t *)group, strlen(group) } } };
	record.catalog = knot_name_strip(record.entry.owner, labels);
	assert_int_equal(catalog_db_begin(db, &write, &reason), KNOT_OK);
	assert_int_equal(catalog_write_put(write, &record), KNOT_OK);
	assert_int_equal(catalog_write_commit(write, &reason), KNOT_OK);
}

static bool show(const catalog_record_t *record, void *ctx)
{
	FILE *to = ctx;
	const knot_name_t names[] = { record->entry.member, record->entry.owner, record->catalog };
	for (size_t i = 0; i < KNOT_LEN(names); i++) {
		char text[KNOT_NAME_TEXT_MAX];
		knot_name_print(names[i], text);
		fprintf(to, "%s ", text);
	}
	fprintf(to, "%.*s\n", (int)record->entry.group.len, (const char *)record->entry.group.data);
	return true;
}

static void check(catalog_db_t *db, const char *want, size_t want_damaged)
{
	char *got = NULL;
	size_t len, damaged;
	sys_lmdb_reason_t reason;
	FILE *to = open_memstream(&got, &len);
	assert_int_equal(catalog_db_each(db, show, to, &damaged, &reason), KNOT_OK);
	fclose(to);
	assert_string_equal(got, want);
	assert_int_equal(damaged, want_damaged);
	free(got);
}

/* ---- What is stored ---- */

static void test_records(void **state)
{
	(void)state;
	uint8_t wire[KNOT_NAME_MAX];
	catalog_record_room_t room;
	catalog_record_t record;
	catalog_write_t *write;
	sys_lmdb_reason_t reason;
	struct stat info;
	catalog_db_t *db = open_db(false, KNOT_ENOENT);
	check(db, "", 0);
	assert_int_equal(catalog_db_read(db, knot_name_root, &room, &record), KNOT_ENOENT);
	assert_int_not_equal(stat(folder, &info), 0);
	put(db, "M2.Test.", "Id2.zones.cat.test.", 2, "bgroup");
	put(db, ".", "id6.zones.cat.test.", 2, "");
	put(db, "m1.test.", "id1.zones.cat.test.", 2, "");
	put(db, "x.", "a.", 1, "of the root catalog");
	catalog_db_close(db);

	db = open_db(false, KNOT_OK);
	check(db,
			". id6.zones.cat.test. cat.test. \nx. a. . of the root catalog\n"
			"m1.test. id1.zones.cat.test. cat.test. \nm2.test. id2.zones.cat.test. cat.test. bgroup\n",
			0);
	assert_int_equal(catalog_db_read(db, name_of("m2.TEST.", wire), &room, &record), KNOT_OK);
	char *got = NULL;
	size_t len;
	FILE *to = open_memstream(&got, &len);
	show(&record, to);
	fclose(to);
	assert_string_equal(got, "m2.test. id2.zones.cat.test. cat.test. bgroup\n");
	free(got);
	put(db, "m2.test.", "id3.zones.dog.", 2, "");
	assert_int_equal(catalog_db_begin(db, &write, &reason), KNOT_OK);
	assert_int_equal(catalog_write_drop(write, knot_name_root), KNOT_OK);
	assert_int_equal(catalog_write_drop(write, name_of("nosuch.", wire)), KNOT_OK);
	assert_int_equal(catalog_write_commit(write, &reason), KNOT_OK);
	const char *want = "x. a. . of the root catalog\nm1.test. id1.zones.cat.test. cat.test. \n"
			   "m2.test. id3.zones.dog. dog. \n";
	check(db, want, 0);
	assert_int_equal(catalog_db_begin(db, &write, &reason), KNOT_OK);
	assert_int_equal(catalog_write_drop(write, name_of("x.", wire)), KNOT_OK);
	catalog_write_discard(write, &reason);
	assert_string_equal(reason.text, "");
	check(db, want, 0);

	/* Others read while it is open. */
	catalog_db_t *reader = open_db(true, KNOT_OK);
	check(reader, want, 0);
	catalog_db_close(reader);
	catalog_db_close(db);
}

/* ---- Bytes ---- */

static void put_raw(const void *key_bytes, size_t key_len, const void *bytes, size_t len)
{
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;
	MDB_val key = { key_len, (void *)key_bytes }, value = { len, (void *)bytes };
	assert_int_equal(mdb_env_create(&env), 0);
	assert_int_equal(mdb_env_open(env, folder, 0, 0600), 0);
	assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
	assert_int_equal(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
	assert_int_equal(mdb_put(txn, dbi, &key, &value, 0), 0);
	assert_int_equal(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
}

static bool is_raw(const void *key_bytes, size_t key_len, const void *bytes, size_t len)
{
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;
	MDB_val key = { key_len, (void *)key_bytes }, value;
	assert_int_equal(mdb_env_create(&env), 0);
	assert_int_equal(mdb_env_open(env, folder, MDB_RDONLY, 0600), 0);
	assert_int_equal(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
	assert_int_equal(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
	bool is_same = mdb_get(txn, dbi, &key, &value) == 0 && value.mv_size == len &&
		       memcmp(value.mv_data, bytes, len) == 0;
	mdb_txn_abort(txn);
	mdb_env_close(env);
	return is_same;
}

#define BYTES(text) text, sizeof(text) - 1
#define OWNER       "\3id2\5zones\3cat\4test\0"

/* As knotd 3.2.6 wrote them. */
static void test_bytes_are_knots(void **state)
{
	(void)state;
	catalog_db_t *db = open_db(false, KNOT_ENOENT);
	put(db, "m2.test.", "id2.zones.cat.test.", 2, "bgroup");
	catalog_db_close(db);
	assert_true(is_raw(BYTES("\0\2m2\4test\0"), BYTES("\0\12" OWNER "bgroup\0")));
	assert_true(is_raw(BYTES("\1version"), BYTES("1.0")));
}

static const struct {
	const char *what, *key;
	size_t key_len;
	const char *value;
	size_t value_len;
} bad_rows[] = {
	{ "key of another kind", BYTES("\2\1m\0"), BYTES("\0\12" OWNER "\0") },
	{ "key without a name", BYTES("\0"), BYTES("\0\12" OWNER "\0") },
	{ "key cut short", BYTES("\0\5m\0"), BYTES("\0\12" OWNER "\0") },
	{ "key with bytes behind the name", BYTES("\0\1m\0x"), BYTES("\0\12" OWNER "\0") },
	{ "key in upper case", BYTES("\0\1M\0"), BYTES("\0\12" OWNER "\0") },
	{ "no value", BYTES("\0\1m\0"), BYTES("") },
	{ "value of another kind", BYTES("\0\1m\0"), BYTES("\1\12" OWNER "\0") },
	{ "value without an owner", BYTES("\0\1m\0"), BYTES("\0\12") },
	{ "owner cut short", BYTES("\0\1m\0"), BYTES("\0\12\3id2\5zo") },
	{ "owner in upper case", BYTES("\0\1m\0"), BYTES("\0\2\1A\1b\0\0") },
	{ "no group", BYTES("\0\1m\0"), BYTES("\0\12" OWNER) },
	{ "group without an end", BYTES("\0\1m\0"), BYTES("\0\12" OWNER "g") },
	{ "bytes behind the group", BYTES("\0\1m\0"), BYTES("\0\12" OWNER "g\0x\0") },
	{ "catalog within a label", BYTES("\0\1m\0"), BYTES("\0\11" OWNER "\0") },
	{ "catalog at the owner", BYTES("\0\1m\0"), BYTES("\0\0" OWNER "\0") },
	{ "catalog behind the owner", BYTES("\0\1m\0"), BYTES("\0\377" OWNER "\0") },
};

static void test_damaged_records_are_passed_over(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(bad_rows); i++) {
		catalog_db_t *db = open_db(false, KNOT_ENOENT);
		put(db, "ok.", "id.zones.cat.", 2, "g");
		catalog_db_close(db);
		put_raw(bad_rows[i].key, bad_rows[i].key_len, bad_rows[i].value, bad_rows[i].value_len);
		db = open_db(false, KNOT_OK);
		print_message("%s\n", bad_rows[i].what);
		check(db, "ok. id.zones.cat. cat. g\n", 1);
		uint8_t wire[KNOT_NAME_MAX];
		catalog_record_room_t room;
		catalog_record_t record;
		knot_err_t err = catalog_db_read(db, name_of("m.", wire), &room, &record);
		bool is_found = memcmp(bad_rows[i].key, "\0\1m", bad_rows[i].key_len < 4 ? 1 : 3) == 0 &&
				bad_rows[i].key_len == 4;
		assert_int_equal(err, is_found ? KNOT_EMALF : KNOT_ENOENT);
		catalog_db_close(db);
		remove_files(NULL);
	}
}

static void test_other_versions(void **state)
{
	(void)state;
	sys_lmdb_reason_t reason;
	catalog_write_t *write;
	assert_int_equal(mkdir(folder, 0770), 0);
	put_raw(BYTES("\1version"), BYTES("1.7"));
	catalog_db_close(open_db(false, KNOT_OK));
	put_raw(BYTES("\1version"), BYTES("2.0"));
	catalog_db_t *db = open_db(false, KNOT_ENOTSUP);
	assert_int_equal(catalog_db_begin(db, &write, &reason), KNOT_ENOTSUP);
	assert_non_null(strstr(reason.text, "another version"));
	catalog_db_close(db);
	assert_true(is_raw(BYTES("\1version"), BYTES("2.0")));
}

/* ---- Damaged files ---- */

static size_t read_file(uint8_t *ret_bytes, size_t max)
{
	int fd = open(in_folder("data.mdb"), O_RDONLY);
	ssize_t len = read(fd, ret_bytes, max);
	assert_true(fd >= 0 && len > 0);
	close(fd);
	return (size_t)len;
}

static void write_file(const uint8_t *bytes, size_t len)
{
	int fd = open(in_folder("data.mdb"), O_WRONLY | O_TRUNC);
	assert_true(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
	close(fd);
}

/* Whatever is in the file: an error, or records that are names. */
static void test_random_damage(void **state)
{
	(void)state;
	static uint8_t good[1 << 18], bad[1 << 18];
	catalog_db_t *db = open_db(false, KNOT_ENOENT);
	for (unsigned i = 0; i < 120; i++) {
		char member[32], owner[48];
		snprintf(member, sizeof(member), "m%u.example.", i);
		snprintf(owner, sizeof(owner), "id%u.zones.cat.example.", i);
		put(db, member, owner, 2, "group");
	}
	catalog_db_close(db);
	size_t good_len = read_file(good, sizeof(good));
	unsigned refused = 0;
	test_random_state = 20261122;
	for (unsigned i = 0; i < 900; i++) {
		size_t len = good_len, damaged;
		memcpy(bad, good, len);
		damage_kinds[i % KNOT_LEN(damage_kinds)].damage(bad, &len);
		write_file(bad, len);
		sys_lmdb_reason_t reason;
		db = catalog_db_new(&(catalog_db_params_t){ .path = folder, .size_max = 1 << 20, .read_only = true });
		char *got = NULL;
		size_t got_len;
		FILE *to = open_memstream(&got, &got_len);
		if (catalog_db_open(db, &reason) != KNOT_OK) {
			refused++;
		} else {
			(void)!catalog_db_each(db, show, to, &damaged, &reason);
		}
		fclose(to);
		free(got);
		catalog_db_close(db);
	}
	assert_true(refused > 300);
	/* A damaged file is set aside by who may write. */
	size_t len = good_len;
	memcpy(bad, good, len);
	memset(bad, 0xff, 8192);
	write_file(bad, len);
	db = open_db(false, KNOT_OK);
	check(db, "", 0);
	put(db, "m.", "id.zones.cat.", 2, "");
	check(db, "m. id.zones.cat. cat. \n", 0);
	assert_int_equal(access(in_folder("data.mdb.damaged"), F_OK), 0);
	catalog_db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_records, remove_files),
		cmocka_unit_test_teardown(test_bytes_are_knots, remove_files),
		cmocka_unit_test_teardown(test_damaged_records_are_passed_over, remove_files),
		cmocka_unit_test_teardown(test_other_versions, remove_files),
		cmocka_unit_test_teardown(test_random_damage, remove_files),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
