/* SPDX-License-Identifier: BSD-2-Clause */
/* Journals as Knot DNS writes them, made here by LMDB: right ones, ones that contradict themselves, damaged files. */
#include "src/journal/knot.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[40] = "/dev/shm/bowline-knot-XXXXXX";
static char data_path[64], lock_path[64];

/* ---- Writing ---- */

typedef struct {
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;
} writer_t;

static void begin(writer_t *w)
{
	assert_int_equal(mdb_env_create(&w->env), 0);
	assert_int_equal(mdb_env_set_mapsize(w->env, 64 << 20), 0);
	assert_int_equal(mdb_env_open(w->env, dir, MDB_NOSYNC, 0600), 0);
	assert_int_equal(mdb_txn_begin(w->env, NULL, 0, &w->txn), 0);
	assert_int_equal(mdb_dbi_open(w->txn, NULL, 0, &w->dbi), 0);
}

static void end(writer_t *w)
{
	assert_int_equal(mdb_txn_commit(w->txn), 0);
	mdb_env_close(w->env);
}

static size_t key_of(const char *zone, uint8_t *key)
{
	knot_name_t name;
	size_t len = 0;
	if (zone != NULL) {
		assert_int_equal(knot_name_scan(knot_str_of(zone), knot_name_root, key, &name), KNOT_OK);
		len = name.len;
	}
	memset(key + len, 0, 4);
	return len + 4;
}

static void put(writer_t *w, const uint8_t *key, size_t key_len, const void *bytes, size_t len)
{
	MDB_val k = { key_len, (void *)key }, v = { len, (void *)bytes };
	assert_int_equal(mdb_put(w->txn, w->dbi, &k, &v, 0), 0);
}

static void put_text(writer_t *w, const char *zone, const char *text, const void *bytes, size_t len)
{
	uint8_t key[300];
	size_t key_len = key_of(zone, key);
	memcpy(key + key_len, text, strlen(text) + 1);
	put(w, key, key_len + strlen(text) + 1, bytes, len);
}

static void put_u32(writer_t *w, const char *zone, const char *text, uint32_t number)
{
	uint8_t bytes[4];
	store_be32(bytes, number);
	put_text(w, zone, text, bytes, sizeof(bytes));
}

typedef struct {
	uint32_t from, to, chunk, said;
	size_t len;
} chunk_t;

static void put_chunk(writer_t *w, const char *zone, const chunk_t *chunk, bool is_whole)
{
	uint8_t key[300];
	static uint8_t value[80000];
	size_t key_len = key_of(zone, key);
	if (is_whole) {
		memcpy(key + key_len, "bootstrap", 10);
		key_len += 10;
	} else {
		store_be32(key + key_len, chunk->from);
		key_len += 4;
	}
	store_be32(key + key_len, chunk->chunk);
	memset(value, 0, 32);
	store_be32(value, chunk->to);
	store_be32(value + 4, chunk->said);
	store_be64(value + 16, 1700000000 + chunk->to);
	memset(value + 32, (int)(chunk->to + chunk->chunk), chunk->len);
	put(w, key, key_len + 4, value, 32 + chunk->len);
}

static void put_change(writer_t *w, const char *zone, uint32_t from, uint32_t to)
{
	put_chunk(w, zone, &(chunk_t){ .from = from, .to = to, .len = 100 }, false);
}

static void put_metas(writer_t *w, const char *zone, uint32_t first, uint32_t last, uint32_t flags, uint32_t merged)
{
	put_u32(w, zone, "first_serial", first);
	put_u32(w, zone, "last_serial_to", last);
	put_u32(w, zone, "flags", flags);
	put_u32(w, zone, "merged_serial", merged);
	put_u32(w, zone, "flushed_upto", first);
	put_u32(w, zone, "changeset_count", last - first);
	put_text(w, zone, "occupied", "\0\0\0\0\0\0\x20\0", 8);
}

static void put_globals(writer_t *w, const char *version)
{
	put_text(w, NULL, "version", version, strlen(version) + 1);
	put_text(w, NULL, "journal_count", "\0\0\0\0\0\0\0\1", 8);
	put_text(w, NULL, "last_inserter_zone", "\1a", 3);
	put_text(w, NULL, "last_total_occupied", "\0\0\0\0\0\0\x30\0", 8);
}

/* ---- Reading ---- */

static journal_knot_t *open_it(knot_err_t want)
{
	journal_knot_t *knot = NULL;
	journal_reason_t reason;
	knot_err_t err = journal_knot_open(data_path, &knot, &reason);
	if (err != want) {
		fail_msg("%s: %s", knot_strerror(err), reason.text);
	}
	assert_true((err == KNOT_OK) == (reason.text[0] == '\0'));
	return knot;
}

typedef struct {
	char text[4096];
	size_t len, stop_at;
	bool is_wrong;
} seen_t;

static bool note_entry(const journal_entry_t *entry, void *ctx)
{
	seen_t *seen = ctx;
	static const char letters[] = { [JOURNAL_STEP] = 's', [JOURNAL_MERGED] = 'm', [JOURNAL_WHOLE] = 'w' };
	const journal_change_t *change = &entry->change;
	if (change->time_s != 1700000000 + (uint64_t)change->serial_to) {
		seen->is_wrong = true;
	}
	seen->len += (size_t)snprintf(seen->text + seen->len, sizeof(seen->text) - seen->len, "%llu%c%u-%u/%zu ",
			(unsigned long long)entry->number, letters[entry->kind], change->serial_from, change->serial_to,
			change->payload.len);
	return seen->stop_at == 0 || entry->number < seen->stop_at;
}

static bool note_zone(knot_name_t zone, void *ctx)
{
	seen_t *seen = ctx;
	char text[KNOT_NAME_TEXT_MAX];
	knot_name_print(zone, text);
	seen->len += (size_t)snprintf(seen->text + seen->len, sizeof(seen->text) - seen->len, "%s ", text);
	return true;
}

static knot_err_t each(journal_knot_t *knot, const char *zone, seen_t *ret_seen)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	assert_int_equal(knot_name_scan(knot_str_of(zone), knot_name_root, wire, &name), KNOT_OK);
	*ret_seen = (seen_t){ .stop_at = ret_seen->stop_at };
	return journal_knot_each(knot, name, note_entry, ret_seen);
}

static void expect(journal_knot_t *knot, const char *zone, knot_err_t err, const char *text)
{
	seen_t seen = { .stop_at = 0 };
	assert_int_equal(each(knot, zone, &seen), err);
	assert_string_equal(seen.text, text);
	assert_false(seen.is_wrong);
}

static void expect_from(journal_knot_t *knot, const char *zone, uint32_t serial, knot_err_t err, const char *text)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	seen_t seen = { .stop_at = 0 };
	assert_int_equal(knot_name_scan(knot_str_of(zone), knot_name_root, wire, &name), KNOT_OK);
	assert_int_equal(journal_knot_each_from(knot, name, serial, note_entry, &seen), err);
	assert_string_equal(seen.text, text);
}

static int remove_files(void **state)
{
	(void)state;
	(void)unlink(data_path);
	(void)unlink(lock_path);
	return 0;
}

/* ---- Tests ---- */

static void make_many(void)
{
	writer_t w;
	begin(&w);
	put_globals(&w, "2.0");
	for (uint32_t serial = 7; serial < 10; serial++) {
		put_change(&w, "chain.", serial, serial + 1);
	}
	put_metas(&w, "chain.", 7, 10, 2, 0);
	/* A merged change, and those behind it; a whole zone, and those behind it. */
	put_change(&w, "merged.", 1, 5);
	put_change(&w, "merged.", 4, 5);
	put_change(&w, "merged.", 5, 6);
	put_metas(&w, "merged.", 4, 6, 6, 1);
	put_chunk(&w, "whole.", &(chunk_t){ .to = 3, .len = 15000 }, true);
	put_chunk(&w, "whole.", &(chunk_t){ .to = 3, .chunk = 1, .len = 500 }, true);
	put_change(&w, "whole.", 3, 4);
	put_metas(&w, "whole.", 3, 4, 2, 0);
	/* Serials that wrap; chunks, as many as the first ones say; the root zone; a serial that reads as text. */
	put_chunk(&w, ".", &(chunk_t){ .from = UINT32_MAX, .to = 1, .said = 2, .len = 70000 }, false);
	put_chunk(&w, ".", &(chunk_t){ .from = UINT32_MAX, .to = 1, .chunk = 1, .said = 2, .len = 9 }, false);
	put_change(&w, ".", 1, 0x666c6167);
	put_change(&w, ".", 0x666c6167, 0x66700000);
	put_metas(&w, ".", UINT32_MAX, 0x66700000, 2, 0);
	put_chunk(&w, "only-whole.", &(chunk_t){ .to = 3, .len = 50 }, true);
	put_metas(&w, "dropped.", 8, 8, 2, 0);
	end(&w);
}

static void test_all_kinds(void **state)
{
	(void)state;
	make_many();
	journal_knot_t *knot = open_it(KNOT_OK);
	expect(knot, "Chain.", KNOT_OK, "1s7-8/100 2s8-9/100 3s9-10/100 ");
	expect(knot, "merged.", KNOT_OK, "1m1-5/100 2s4-5/100 3s5-6/100 ");
	expect(knot, "whole.", KNOT_OK, "1w3-3/15500 2s3-4/100 ");
	expect(knot, ".", KNOT_OK, "1s4294967295-1/70009 2s1-1718378855/100 3s1718378855-1718616064/100 ");
	expect(knot, "only-whole.", KNOT_OK, "1w3-3/50 ");
	expect(knot, "dropped.", KNOT_OK, "");
	expect(knot, "none.", KNOT_ENOENT, "");
	expect(knot, "a.chain.", KNOT_ENOENT, "");
	expect_from(knot, "merged.", 1, KNOT_OK, "1m1-5/100 2s5-6/100 ");
	expect_from(knot, "merged.", 4, KNOT_OK, "1s4-5/100 2s5-6/100 ");
	expect_from(knot, "merged.", 6, KNOT_OK, "");
	expect_from(knot, "merged.", 7, KNOT_ENOENT, "");
	expect_from(knot, "none.", 6, KNOT_ENOENT, "");
	seen_t seen = { .stop_at = 2 };
	assert_int_equal(each(knot, "chain.", &seen), KNOT_OK);
	assert_string_equal(seen.text, "1s7-8/100 2s8-9/100 ");
	seen = (seen_t){ .stop_at = 0 };
	assert_int_equal(journal_knot_each_zone(knot, note_zone, &seen), KNOT_OK);
	assert_string_equal(seen.text, ". chain. whole. merged. dropped. only-whole. ");
	journal_knot_info_t info;
	assert_int_equal(journal_knot_info(knot, knot_name_of((const uint8_t *)"\6merged"), &info), KNOT_OK);
	assert_true(info.has_changes && info.has_merged && !info.has_flushed);
	assert_int_equal(info.serial_first, 4);
	assert_int_equal(info.serial_last, 6);
	assert_int_equal(info.serial_merged, 1);
	assert_int_equal(info.changes, 2);
	assert_int_equal(info.occupied, 0x2000); /* the last inserter is another zone */
	assert_true(journal_knot_usage(knot) > 80000);
	journal_knot_close(knot);
}

static void test_contradictions(void **state)
{
	(void)state;
	writer_t w;
	begin(&w);
	put_globals(&w, "2.0");
	put_change(&w, "loop.", 1, 2);
	put_change(&w, "loop.", 2, 3);
	put_change(&w, "loop.", 3, 2);
	put_metas(&w, "loop.", 1, 4, 2, 0);
	put_change(&w, "self.", 1, 1);
	put_metas(&w, "self.", 1, 2, 2, 0);
	put_change(&w, "gap.", 1, 2);
	put_change(&w, "gap.", 3, 4);
	put_metas(&w, "gap.", 1, 4, 2, 0);
	put_change(&w, "chunk.", 1, 2);
	put_chunk(&w, "chunk.", &(chunk_t){ .from = 2, .to = 3, .len = 10 }, false);
	put_chunk(&w, "chunk.", &(chunk_t){ .from = 2, .to = 4, .chunk = 1, .len = 10 }, false);
	put_metas(&w, "chunk.", 1, 3, 2, 0);
	put_chunk(&w, "missing.", &(chunk_t){ .from = 2, .to = 3, .len = 10 }, false);
	put_chunk(&w, "missing.", &(chunk_t){ .from = 2, .to = 3, .chunk = 2, .len = 10 }, false);
	put_metas(&w, "missing.", 2, 3, 2, 0);
	put_chunk(&w, "said.", &(chunk_t){ .from = 2, .to = 3, .said = 2, .len = 10 }, false);
	put_metas(&w, "said.", 2, 3, 2, 0);
	put_change(&w, "nomerged.", 4, 5);
	put_metas(&w, "nomerged.", 4, 5, 6, 1);
	put_change(&w, "nofirst.", 1, 5);
	put_metas(&w, "nofirst.", 4, 5, 6, 1);
	put_change(&w, "number.", 4, 5);
	put_metas(&w, "number.", 4, 5, 2, 0);
	put_text(&w, "number.", "flags", "\1\2\3", 3);
	uint8_t key[300];
	size_t len = key_of("short.", key);
	memset(key + len, 0, 8);
	put_metas(&w, "short.", 0, 1, 2, 0);
	put(&w, key, len + 8, "\0\0\0\1", 4);
	end(&w);
	journal_knot_t *knot = open_it(KNOT_OK);
	expect(knot, "loop.", KNOT_ECHAINLOOP, "1s1-2/100 2s2-3/100 3s3-2/100 ");
	expect(knot, "self.", KNOT_ECHAINLOOP, "1s1-1/100 ");
	expect(knot, "gap.", KNOT_OK, "1s1-2/100 ");
	expect(knot, "chunk.", KNOT_EMALF, "1s1-2/100 ");
	expect(knot, "missing.", KNOT_EMALF, "");
	expect(knot, "said.", KNOT_EMALF, "");
	expect(knot, "nomerged.", KNOT_ENOENT, "");
	expect(knot, "nofirst.", KNOT_ENOENT, "1m1-5/100 ");
	expect(knot, "number.", KNOT_EMALF, "");
	expect(knot, "short.", KNOT_EMALF, "");
	journal_knot_close(knot);
}

static void test_what_is_opened(void **state)
{
	static const struct {
		const char *version; /* NULL: none */
		knot_err_t err;
	} rows[] = { { "1.0", KNOT_OK }, { "2.0", KNOT_OK }, { "3.7", KNOT_OK }, { "0.9", KNOT_ENOTSUP },
		{ "4.0", KNOT_ENOTSUP }, { "x", KNOT_ENOTSUP }, { "20.", KNOT_ENOTSUP }, { NULL, KNOT_EEXIST } };
	(void)open_it(KNOT_ENOENT);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		writer_t w;
		begin(&w);
		if (rows[i].version != NULL) {
			put_globals(&w, rows[i].version);
		} else {
			put_text(&w, "a.", "flags", "x", 1);
		}
		end(&w);
		journal_knot_t *knot = open_it(rows[i].err);
		journal_knot_close(knot);
		(void)remove_files(state);
	}
	int fd = open(data_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	(void)open_it(KNOT_ENOENT);
	assert_int_equal(write(fd, "no database", 11), 11);
	close(fd);
	(void)open_it(KNOT_EMALF);
}

static bool count_bytes(const journal_entry_t *entry, void *ctx)
{
	for (size_t i = 0; i < entry->change.payload.len; i++) {
		*(unsigned *)ctx += entry->change.payload.data[i];
	}
	return true;
}

/* One reader visits zones while it reads another: so remember names. */
static bool take_name(knot_name_t zone, void *ctx)
{
	uint8_t(*names)[KNOT_NAME_MAX] = ctx;
	for (unsigned i = 0; i < 8; i++) {
		if (names[i][0] == 0xff) {
			memcpy(names[i], zone.wire, zone.len);
			return true;
		}
	}
	return false;
}

static knot_err_t read_all(unsigned *sum)
{
	journal_knot_t *knot;
	journal_reason_t reason;
	knot_err_t err = journal_knot_open(data_path, &knot, &reason);
	if (err != KNOT_OK) {
		return err;
	}
	uint8_t names[8][KNOT_NAME_MAX];
	memset(names, 0xff, sizeof(names));
	err = journal_knot_each_zone(knot, take_name, names);
	for (unsigned i = 0; i < 8 && names[i][0] != 0xff; i++) {
		knot_err_t zone_err = journal_knot_each(knot, knot_name_of(names[i]), count_bytes, sum);
		err = err == KNOT_OK && zone_err != KNOT_ENOENT ? zone_err : err;
	}
	journal_knot_close(knot);
	return err;
}

/* Whatever bit changes, and wherever the file ends: an error, or other bytes, but nothing else. */
static void test_damage_anywhere(void **state)
{
	(void)state;
#ifdef __SANITIZE_THREAD__
	enum { ROUNDS = 500 }; /* there is one thread, and each round takes long */
#else
	enum { ROUNDS = 20000 };
#endif
	make_many();
	struct stat info;
	unsigned sum = 0, errors = 0;
	uint32_t x = 2463534242;
	assert_int_equal(read_all(&sum), KNOT_OK);
	int fd = open(data_path, O_RDWR | O_CLOEXEC);
	assert_int_equal(fstat(fd, &info), 0);
	for (unsigned round = 0; round < ROUNDS; round++) {
		x ^= x << 13, x ^= x >> 17, x ^= x << 5;
		/* Half of them where the pages of the tree are. */
		off_t at = (off_t)(round % 2 != 0 ? x % (unsigned)info.st_size : x % 16384);
		uint8_t byte, changed;
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		changed = byte ^ (uint8_t)(x >> 24);
		assert_int_equal(pwrite(fd, &changed, 1, at), 1);
		errors += read_all(&sum) != KNOT_OK;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	print_message("%u of %u changed bytes were noticed\n", errors, (unsigned)ROUNDS);
	assert_true(errors > ROUNDS / 100);
	for (off_t len = info.st_size - 1; len > 0; len -= 977) {
		assert_int_equal(ftruncate(fd, len), 0);
		knot_err_t err = read_all(&sum);
		assert_true(err != KNOT_OK || len > info.st_size / 2); /* the last pages may be free ones */
	}
	close(fd);
}

static int set_up(void **state)
{
	(void)state;
	if (mkdtemp(dir) == NULL) {
		snprintf(dir, sizeof(dir), "/tmp/bowline-knot-XXXXXX");
		assert_non_null(mkdtemp(dir));
	}
	snprintf(data_path, sizeof(data_path), "%s/data.mdb", dir);
	snprintf(lock_path, sizeof(lock_path), "%s/lock.mdb", dir);
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
		cmocka_unit_test_teardown(test_all_kinds, remove_files),
		cmocka_unit_test_teardown(test_contradictions, remove_files),
		cmocka_unit_test_teardown(test_what_is_opened, remove_files),
		cmocka_unit_test_teardown(test_damage_anywhere, remove_files),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
