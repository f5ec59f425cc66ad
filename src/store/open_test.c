/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening: whose the folder is, what was made by others or is of another format, and what interrupted saves have left.
 */
#include "src/store/internal.h"
#include "src/store/store_test.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>

enum { MIB = 1 << 20, ROUNDS = 40 };

static knot_err_t open_as(uint32_t format, bool read_only, store_t **ret_store, store_reason_t *ret_reason)
{
	return store_open(&(store_options_t){ .path = test_path,
					  .size_max = 64 * MIB,
					  .format = format,
					  .read_only = read_only },
			ret_store, ret_reason);
}

static void expect_text(const store_reason_t *reason, const char *part)
{
	if (strstr(reason->text, part) == NULL) {
		fail_msg("\"%s\" lacks \"%s\"", reason->text, part);
	}
}

static const test_image_t small = { "small.", 1, 1, 1, { 300 } }, medium = { "medium.", 2, 1, 2, { 200000, 7 } };

static void make(void)
{
	store_t *store = test_open(64 * MIB);
	assert_int_equal(test_save(store, &small, 1, NULL, NULL), KNOT_OK);
	assert_int_equal(test_save(store, &medium, 1, NULL, NULL), KNOT_OK);
	store_close(store);
}

static void test_one_process_writes(void **state)
{
	(void)state;
	make();
	struct stat info;
	assert_int_equal(stat(test_path, &info), 0);
	assert_int_equal(info.st_mode & 0007, 0);
	int ready[2];
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		store_t *store = test_open(64 * MIB);
		assert_int_equal(write(ready[1], "x", 1), 1);
		pause();
		store_close(store);
		_exit(0);
	}
	char byte;
	assert_int_equal(read(ready[0], &byte, 1), 1);
	store_t *store = NULL;
	store_reason_t reason;
	assert_int_equal(open_as(TEST_FORMAT, false, &store, &reason), KNOT_EBUSY);
	expect_text(&reason, "another process");
	assert_int_equal(open_as(TEST_FORMAT, true, &store, &reason), KNOT_OK);
	assert_int_equal(test_compare(store, &medium, NULL), KNOT_OK);
	store_close(store);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	store = test_open(64 * MIB);
	assert_int_equal(test_compare(store, &small, NULL), KNOT_OK);
	store_close(store);
	test_remove_files();
}

static void test_looking_makes_nothing(void **state)
{
	(void)state;
	store_t *store = NULL;
	store_reason_t reason;
	char path[128];
	(void)rmdir(test_path);
	assert_int_equal(open_as(0, true, &store, &reason), KNOT_ENOENT);
	assert_int_equal(access(test_path, F_OK), -1);
	assert_int_equal(mkdir(test_path, 0700), 0);
	assert_int_equal(open_as(0, true, &store, &reason), KNOT_ENOENT);
	snprintf(path, sizeof(path), "%s/lock.mdb", test_path);
	assert_int_equal(access(path, F_OK), -1);
	snprintf(path, sizeof(path), "%s/nothing/here", test_path);
	assert_int_equal(store_open(&(store_options_t){ .path = path, .size_max = MIB }, &store, &reason), KNOT_EFILE);
	expect_text(&reason, "No such file");
}

/* Without a table of readers, a process that only reads makes none, which might be one that the server can't write to;
 * meanwhile no process writes. */
static void test_looking_without_a_table_of_readers(void **state)
{
	(void)state;
	make();
	char path[128];
	snprintf(path, sizeof(path), "%s/lock.mdb", test_path);
	assert_int_equal(unlink(path), 0);
	store_t *store = NULL, *other;
	store_reason_t reason;
	assert_int_equal(open_as(TEST_FORMAT, true, &store, &reason), KNOT_OK);
	assert_int_equal(test_compare(store, &medium, NULL), KNOT_OK);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(open_as(TEST_FORMAT, false, &other, &reason), KNOT_EBUSY);
	store_close(store);
	store = test_open(64 * MIB);
	store_close(store);
	test_remove_files();
}

/* Root that looks at another user's folder must not write where links in it lead. */
static void test_looking_follows_no_link_as_root(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		skip();
	}
	enum { SOMEBODY = 65534 };
	static const char *const names[] = { "data.mdb", "lock.mdb" };
	char path[128], precious[128];
	make();
	assert_int_equal(chmod(test_dir, 0711), 0);
	assert_int_equal(chown(test_path, SOMEBODY, SOMEBODY), 0);
	for (size_t i = 0; i < KNOT_LEN(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", test_path, names[i]);
		assert_int_equal(chown(path, SOMEBODY, SOMEBODY), 0);
	}
	store_t *store = NULL;
	store_reason_t reason;
	assert_int_equal(open_as(TEST_FORMAT, true, &store, &reason), KNOT_OK);
	assert_int_equal(test_compare(store, &medium, NULL), KNOT_OK);
	store_close(store);
	snprintf(precious, sizeof(precious), "%s/precious", test_dir);
	FILE *file = fopen(precious, "w");
	assert_true(file != NULL && fputs("precious", file) >= 0 && fclose(file) == 0);
	assert_int_equal(chmod(precious, 0600), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(precious, path), 0);
	assert_int_equal(open_as(TEST_FORMAT, true, &store, &reason), KNOT_EACCES);
	struct stat info;
	assert_int_equal(stat(precious, &info), 0);
	assert_int_equal(info.st_size, 8);
	assert_int_equal(unlink(precious), 0);
	test_remove_files();
	assert_int_equal(rmdir(test_path), 0);
}

static void test_another_format_of_images(void **state)
{
	(void)state;
	make();
	store_t *store;
	store_reason_t reason;
	assert_int_equal(open_as(TEST_FORMAT + 1, false, &store, &reason), KNOT_OK);
	uint8_t wire[KNOT_NAME_MAX];
	store_reader_t *reader;
	store_view_t view;
	assert_int_equal(store_read_begin(store, test_name("medium.", wire), &reader, &view, &reason), KNOT_ENOTSUP);
	assert_string_equal(reason.text, "it has format 7, not 8");
	/* Saved again, it is of the new one, and nothing of the old one is left. */
	uint64_t used = store_room(store).used;
	assert_int_equal(test_save(store, &medium, 1, NULL, NULL), KNOT_OK);
	assert_int_equal(store_read_begin(store, test_name("medium.", wire), &reader, &view, &reason), KNOT_OK);
	assert_int_equal(view.format, 8);
	store_read_end(reader);
	assert_true(store_room(store).used < used + 65536);
	store_close(store);
	test_remove_files();
}

/* Change bytes of the closed file. */
static void change_file(void (*change)(uint8_t *file, size_t len))
{
	char path[128];
	snprintf(path, sizeof(path), "%s/data.mdb", test_path);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat info;
	assert_true(fd >= 0 && fstat(fd, &info) == 0);
	uint8_t *file = malloc((size_t)info.st_size);
	assert_non_null(file);
	assert_int_equal(pread(fd, file, (size_t)info.st_size, 0), info.st_size);
	change(file, (size_t)info.st_size);
	assert_int_equal(pwrite(fd, file, (size_t)info.st_size, 0), info.st_size);
	free(file);
	close(fd);
}

static void swap_magic(uint8_t *file, size_t len)
{
	(void)len;
	for (int i = 0; i < 2; i++) {
		uint32_t magic;
		memcpy(&magic, file + 4096 * i + 16, sizeof(magic));
		magic = __builtin_bswap32(magic);
		memcpy(file + 4096 * i + 16, &magic, sizeof(magic));
	}
}

static void change_version(uint8_t *file, size_t len)
{
	(void)len;
	file[20] = file[4096 + 20] = 2;
}

static void change_all(uint8_t *file, size_t len, const void *from, const void *to, size_t part_len)
{
	unsigned found = 0;
	for (size_t i = 0; i + part_len <= len; i++) {
		if (memcmp(file + i, from, part_len) == 0) {
			memcpy(file + i, to, part_len);
			found++;
		}
	}
	assert_true(found > 0);
}

static void change_store_format(uint8_t *file, size_t len)
{
	change_all(file, len, "bowline\0\4\3\2\1\1\0", "bowline\0\4\3\2\1\2\0", 14);
}

static void change_byte_order_mark(uint8_t *file, size_t len)
{
	change_all(file, len, "bowline\0\4\3\2\1\1\0", "bowline\0\1\2\3\4\0\1", 14);
}

static void write_text(uint8_t *file, size_t len)
{
	memset(file, 'x', len);
}

static void test_not_ours(void **state)
{
	(void)state;
	static const struct {
		void (*change)(uint8_t *file, size_t len);
		const char *text;
		knot_err_t err;
	} rows[] = {
		{ swap_magic, "another byte order", KNOT_ENOTSUP },
		{ change_version, "another version of LMDB", KNOT_ENOTSUP },
		{ change_store_format, "another format", KNOT_ENOTSUP },
		{ change_byte_order_mark, "another format or byte order", KNOT_ENOTSUP },
		{ write_text, "does not begin like", KNOT_EMALF },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		make();
		change_file(rows[i].change);
		store_t *store;
		store_reason_t reason;
		assert_int_equal(open_as(0, true, &store, &reason), rows[i].err);
		expect_text(&reason, rows[i].text);
		assert_int_equal(open_as(TEST_FORMAT, false, &store, &reason), KNOT_OK);
		expect_text(&reason, rows[i].text);
		expect_text(&reason, "renamed to data.mdb.damaged");
		assert_int_equal(test_compare(store, &small, NULL), KNOT_ENOENT);
		assert_int_equal(test_save(store, &small, 1, NULL, NULL), KNOT_OK);
		store_close(store);
		store = test_open(64 * MIB);
		assert_int_equal(test_compare(store, &small, NULL), KNOT_OK);
		store_close(store);
		test_remove_files();
	}
}

static void write_key(const char *key_text, const char *value_text)
{
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;
	MDB_val key = { strlen(key_text), (void *)key_text }, value = { strlen(value_text), (void *)value_text };
	(void)mkdir(test_path, 0700);
	assert_int_equal(mdb_env_create(&env), 0);
	assert_int_equal(mdb_env_open(env, test_path, 0, 0600), 0);
	assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
	assert_int_equal(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
	assert_int_equal(mdb_put(txn, dbi, &key, &value, 0), 0);
	assert_int_equal(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
}

/* Nothing of another program's database is lost by naming its folder. */
static void test_something_elses(void **state)
{
	(void)state;
	static const char *const keys[] = { "key", "\4key" };
	for (size_t i = 0; i < KNOT_LEN(keys); i++) {
		write_key(keys[i], "value");
		for (int read_only = 0; read_only < 2; read_only++) {
			store_t *store;
			store_reason_t reason;
			assert_int_equal(open_as(TEST_FORMAT, read_only, &store, &reason), KNOT_EEXIST);
			expect_text(&reason, "something else");
		}
		char path[128];
		snprintf(path, sizeof(path), "%s/data.mdb.damaged", test_path);
		assert_int_equal(access(path, F_OK), -1);
		test_remove_files();
	}
}

static void test_lost_format(void **state)
{
	(void)state;
	make();
	store_t *store = test_open(64 * MIB);
	uint8_t kind = STORE_KEY_FORMAT;
	MDB_txn *txn;
	assert_int_equal(mdb_txn_begin(store->lmdb.env, NULL, 0, &txn), 0);
	assert_int_equal(mdb_del(txn, store->lmdb.dbi, &(MDB_val){ 1, &kind }, NULL), 0);
	assert_int_equal(mdb_txn_commit(txn), 0);
	store_close(store);
	store_reason_t reason;
	assert_int_equal(open_as(TEST_FORMAT, true, &store, &reason), KNOT_EMALF);
	assert_int_equal(open_as(TEST_FORMAT, false, &store, &reason), KNOT_OK);
	expect_text(&reason, "no record of its format");
	expect_text(&reason, "renamed");
	store_close(store);
	test_remove_files();
}

/* ---- Records ---- */

/* Change the record of a zone in the open database. */
static void change_record(store_t *store, const char *zone, size_t at, uint8_t bits)
{
	uint8_t wire[KNOT_NAME_MAX], bytes[4096];
	store_key_t head_key;
	store_key_head(test_name(zone, wire), &head_key);
	MDB_txn *txn;
	MDB_val key = store_key_val(&head_key), value;
	assert_int_equal(mdb_txn_begin(store->lmdb.env, NULL, 0, &txn), 0);
	assert_int_equal(mdb_get(txn, store->lmdb.dbi, &key, &value), 0);
	assert_true(value.mv_size <= sizeof(bytes));
	memcpy(bytes, value.mv_data, value.mv_size);
	bytes[at] ^= bits;
	value.mv_data = bytes;
	assert_int_equal(mdb_put(txn, store->lmdb.dbi, &key, &value, 0), 0);
	assert_int_equal(mdb_txn_commit(txn), 0);
}

static uint64_t count_keys(store_t *store)
{
	MDB_txn *txn;
	MDB_stat stat;
	assert_int_equal(mdb_txn_begin(store->lmdb.env, NULL, MDB_RDONLY, &txn), 0);
	assert_int_equal(mdb_stat(txn, store->lmdb.dbi, &stat), 0);
	mdb_txn_abort(txn);
	return stat.ms_entries;
}

static void test_damaged_records(void **state)
{
	(void)state;
	make();
	store_t *store = test_open(64 * MIB);
	uint64_t keys = count_keys(store);
	/*
	 * Pieces of a record that can't be read belong to no record. A later save removes them, or the next opening.
	 */
	size_t damaged;
	assert_int_equal(store_count_damaged(store, &damaged), KNOT_OK);
	assert_int_equal(damaged, 0);
	change_record(store, "medium.", 100, 1);
	assert_int_equal(test_compare(store, &medium, NULL), KNOT_EMALF);
	assert_int_equal(store_count_damaged(store, &damaged), KNOT_OK);
	assert_int_equal(damaged, 1);
	assert_int_equal(test_save(store, &medium, 1, NULL, NULL), KNOT_OK);
	assert_int_equal(test_compare(store, &medium, NULL), KNOT_OK);
	assert_true(count_keys(store) > keys);
	assert_int_equal(test_save(store, &small, 1, NULL, NULL), KNOT_OK);
	assert_int_equal(count_keys(store), keys);
	assert_int_equal(test_compare(store, &medium, NULL), KNOT_OK);
	change_record(store, "medium.", 0, 1);
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name = test_name("medium.", wire);
	size_t removed;
	store_reason_t reason;
	assert_int_equal(store_remove(store, &name, 1, &removed, &reason), KNOT_OK);
	assert_int_equal(removed, 1);
	store_close(store);
	store = test_open(64 * MIB);
	assert_int_equal(count_keys(store), 2);
	store_close(store);
	test_remove_files();
}

static uint64_t now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* A save is killed at some moment; what it wrote is there as a whole or is removed. */
static void test_interrupted_saves(void **state)
{
	(void)state;
	make();
	test_image_t image = { "medium.", 3, 1, 30, { 0 } };
	for (uint32_t i = 0; i < image.chunk_count; i++) {
		image.lens[i] = MIB;
	}
	/* The first child is left alone: how long it takes says when to kill the others. On a busy machine others may
	 * be quicker. */
	enum { WHOLE_US_MAX = 300000 };
	uint64_t whole_us = 0;
	unsigned as_before = 0, work = 0;
	for (unsigned round = 0; round <= ROUNDS; round++) {
		fflush(NULL);
		uint64_t from_us = now_us();
		pid_t pid = fork();
		if (pid == 0) {
			store_t *store = test_open(64 * MIB);
			(void)!test_save(store, &image, 1, NULL, NULL);
			_exit(0);
		}
		if (round > 0) {
			usleep((useconds_t)(whole_us * (ROUNDS + 3 * round) / (4 * ROUNDS)));
			kill(pid, SIGKILL);
		}
		waitpid(pid, NULL, 0);
		if (round == 0) {
			whole_us = now_us() - from_us;
			whole_us = whole_us < WHOLE_US_MAX ? whole_us : WHOLE_US_MAX;
		}
		store_t *store;
		store_reason_t reason;
		assert_int_equal(open_as(0, true, &store, &reason), KNOT_OK);
		uint64_t keys = count_keys(store);
		store_close(store);
		store = test_open(64 * MIB);
		bool is_old = test_compare(store, &medium, NULL) == KNOT_OK;
		assert_int_equal(is_old ? KNOT_OK : test_compare(store, &image, NULL), KNOT_OK);
		uint64_t left = count_keys(store);
		assert_int_equal(left, is_old ? 5 : 3 + 60);
		as_before += is_old;
		work += keys != left;
		assert_int_equal(test_save(store, &medium, 1, NULL, NULL), KNOT_OK);
		store_close(store);
	}
	print_message("%u of %d saves were interrupted, %u of them between two transactions\n", as_before, ROUNDS,
			work);
	test_remove_files();
}

/* What a reader sees stays as it is; one that was killed must not keep it so. */
static void test_a_reader_is_killed(void **state)
{
	(void)state;
	make();
	store_t *store = test_open(64 * MIB);
	int ready[2];
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		store_t *mine = NULL;
		store_reason_t reason;
		store_reader_t *reader;
		store_view_t view;
		uint8_t wire[KNOT_NAME_MAX];
		bool ok = open_as(0, true, &mine, &reason) == KNOT_OK &&
			  store_read_begin(mine, test_name("medium.", wire), &reader, &view, &reason) == KNOT_OK;
		_exit(write(ready[1], ok ? "y" : "n", 1) == 1 ? pause() : 1);
	}
	char byte;
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 'y');
	unsigned skipped[2] = { 0, 0 };
	for (unsigned i = 0; i < 20; i++) {
		if (i == 10) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
		test_image_t image = { "medium.", 10 + i, 1, 2, { 6 * MIB, 6 * MIB } };
		store_saved_t saved;
		assert_int_equal(test_save(store, &image, 1, &saved, NULL), KNOT_OK);
		skipped[i / 10] += saved.skipped;
	}
	assert_true(skipped[0] > 0);
	assert_int_equal(skipped[1], 0);
	store_close(store);
	close(ready[0]);
	close(ready[1]);
	test_remove_files();
}

/* The file is cut while it is in use. */
static void test_cut_while_open(void **state)
{
	(void)state;
	make();
	store_t *store = test_open(64 * MIB);
	char path[128];
	snprintf(path, sizeof(path), "%s/data.mdb", test_path);
	assert_int_equal(truncate(path, 8192), 0);
	assert_int_equal(test_compare(store, &small, NULL), KNOT_EMALF);
	store_reason_t reason;
	assert_int_equal(test_save(store, &medium, 1, NULL, &reason), KNOT_EMALF);
	store_close(store);
	test_remove_files();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_process_writes),
		cmocka_unit_test(test_looking_makes_nothing),
		cmocka_unit_test(test_looking_without_a_table_of_readers),
		cmocka_unit_test(test_looking_follows_no_link_as_root),
		cmocka_unit_test(test_another_format_of_images),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_something_elses),
		cmocka_unit_test(test_lost_format),
		cmocka_unit_test(test_damaged_records),
		cmocka_unit_test(test_interrupted_saves),
		cmocka_unit_test(test_a_reader_is_killed),
		cmocka_unit_test(test_cut_while_open),
	};
	return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
