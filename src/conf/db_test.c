/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/conf/db.h"
#include "src/conf/test_conf.h"
#include "src/conf/value.h"

#include <fcntl.h>
#include <limits.h>
#include <lmdb.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- Tools ---- */

typedef struct {
	char folder[64], db[80], data[96];
	messages_t faults;
} world_t;

static conf_sink_t sink_of(world_t *world)
{
	return messages_sink(&world->faults);
}

static int make_world(void **state)
{
	world_t *world = calloc(1, sizeof(*world));
	(void)snprintf(world->folder, sizeof(world->folder), "/tmp/conf_db_test.XXXXXX");
	if (mkdtemp(world->folder) == NULL) {
		return 1;
	}
	(void)snprintf(world->db, sizeof(world->db), "%s/confdb", world->folder);
	(void)snprintf(world->data, sizeof(world->data), "%s/data.mdb", world->db);
	*state = world;
	return 0;
}

static int end_world(void **state)
{
	world_t *world = *state;
	char command[128];
	(void)snprintf(command, sizeof(command), "rm -rf %s", world->folder);
	int status = system(command);
	free(world);
	return status;
}

/** Blocks in binary form: nothing is lost by printing and scanning. */
static bool same_stores(const conf_store_t *a, const conf_store_t *b)
{
	for (size_t section = 0; section < CONF_S_COUNT; section++) {
		conf_cursor_t x = { .view = { .store = a }, .section = section },
			      y = { .view = { .store = b }, .section = section };
		conf_block_view_t p, q;
		for (;;) {
			bool has_p = conf_view_next(&x, &p), has_q = conf_view_next(&y, &q);
			if (!has_p || !has_q) {
				if (has_p != has_q) {
					return false;
				}
				break;
			}
			if (p.id.len != q.id.len || memcmp(p.id.data, q.id.data, p.id.len) != 0 ||
					p.items.len != q.items.len ||
					memcmp(p.items.data, q.items.data, p.items.len) != 0) {
				return false;
			}
		}
	}
	return true;
}

static conf_db_t *open_db(world_t *world, bool create)
{
	conf_db_t *db = NULL;
	knot_err_t err = conf_db_open(world->db, 16, create, sink_of(world), &db);
	if (err != KNOT_OK) {
		fail_msg("%s: %s", knot_strerror(err), world->faults.text);
	}
	return db;
}

static conf_store_t *read_db(world_t *world, conf_db_t *db, uint64_t *ret_version)
{
	conf_store_t *store = NULL;
	knot_err_t err = conf_db_read(db, sink_of(world), &store, ret_version);
	if (err != KNOT_OK) {
		fail_msg("%s: %s", knot_strerror(err), world->faults.text);
	}
	return store;
}

static conf_db_t *open_held(world_t *world, bool create)
{
	conf_db_t *db = open_db(world, create);
	assert_int_equal(conf_db_hold(db, sink_of(world)), KNOT_OK);
	return db;
}

/** Read it whole. Returns the version. */
static uint64_t expect_stored(world_t *world, conf_db_t *db, const conf_store_t *want)
{
	uint64_t version;
	conf_store_t *have = read_db(world, db, &version);
	assert_true(same_stores(have, want));
	conf_store_free(have);
	return version;
}

/** Put one configuration in. */
static void fill(world_t *world, const char *text)
{
	conf_db_t *db = open_held(world, true);
	conf_store_t *store = read_text(text);
	assert_int_equal(conf_db_replace(db, store, sink_of(world)), KNOT_OK);
	conf_store_free(store);
	conf_db_close(db);
}

static size_t read_whole(const char *path, uint8_t **ret_data)
{
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	size_t len = (size_t)ftell(file);
	rewind(file);
	*ret_data = malloc(len + 1);
	assert_int_equal(fread(*ret_data, 1, len, file), len);
	(void)fclose(file);
	return len;
}

static void write_whole(const char *path, const uint8_t *data, size_t len)
{
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

/* A value of each type that knows more than one spelling, lists, empty texts, escapes. */
static const char whole[] =
		"server:\n    identity: \"quoted \\\"text\\\" [x], y\"\n    version: \"\"\n    nsid: 0x00ff\n    "
		"listen: [127.0.0.1@5301, ::1, fe80::1%eth0@54, /run/x.sock]\n"
		"    udp-workers: 3\n    tcp-idle-timeout: 1h\n    edns-client-subnet: on\n"
		"control:\n    listen: [a.sock, b.sock]\n    timeout: 7\n"
		"log:\n  - target: stderr\n    any: debug\n  - target: \"/var/log/x y.log\"\n    server: info\n"
		"statistics:\n    timer: 1d\n    file: s.yaml\n"
		"database:\n    image-db-max-size: 1G\n"
		"key:\n  - id: Key.Name\n    algorithm: hmac-sha256\n    secret: AAECAwQFBgc=\n"
		"remote:\n  - id: r1\n    address: [192.0.2.1@54, 2001:db8::1]\n    key: key.name\n"
		"acl:\n  - id: a1\n    address: [192.0.2.0/24, 10.0.0.1-10.0.0.9]\n    action: [transfer, notify]\n    "
		"update-type: [A, TYPE65280]\n"
		"mod-stats:\n  - id: s1\n    edns-presence: on\n"
		"template:\n  - id: default\n    storage: /a\n    global-module: mod-stats/s1\n  - id: t\n    file: "
		"\"%s.zone\"\n"
		"zone:\n  - domain: .\n  - domain: b.test\n    file: \"\"\n  - domain: \"a\\\\.b\\\\000.test\"\n    "
		"template: t\n    module: [mod-stats, mod-stats/s1]\n";

/* ---- What is kept ---- */

static void test_round_trip(void **state)
{
	world_t *world = *state;
	conf_store_t *want = read_text(whole);
	assert_false(conf_db_exists(world->db));
	conf_db_t *db = open_db(world, true);
	assert_true(conf_db_exists(world->db));
	uint64_t version, before;
	conf_store_t *empty = read_db(world, db, &before);
	assert_int_equal((uint32_t)before, 0);
	assert_int_equal(empty->zones.count, 0);
	conf_store_free(empty);
	assert_int_equal(conf_db_hold(db, sink_of(world)), KNOT_OK);
	assert_int_equal(conf_db_replace(db, want, sink_of(world)), KNOT_OK);
	conf_db_release(db);
	conf_store_t *have = read_db(world, db, &version);
	assert_int_equal((uint32_t)version, 1);
	assert_int_not_equal(version >> 32, before >> 32);
	before = version;
	assert_true(same_stores(have, want));
	conf_db_close(db);

	/* Changes of a transaction, read by another handle. */
	conf_txn_t *txn = conf_txn_begin(have);
	set_in(txn, "zone", "new.test", NULL, NULL);
	set_in(txn, "zone", "new.test", "template", "t");
	set_in(txn, "server", NULL, "listen", "192.0.2.9@53");
	conf_edit_t gone = { .section = "zone", .id = "b.test" }, gone_group = { .section = "statistics" };
	assert_int_equal(conf_txn_unset(txn, &gone), KNOT_OK);
	assert_int_equal(conf_txn_unset(txn, &gone_group), KNOT_OK);
	db = open_held(world, false);
	assert_int_equal(conf_db_write(db, txn, sink_of(world), &version), KNOT_OK);
	assert_int_equal(version, before + 1);
	conf_db_close(db);
	conf_store_t *merged;
	assert_int_equal(conf_txn_merge(txn, &merged), KNOT_OK);
	db = open_db(world, false);
	assert_int_equal(expect_stored(world, db, merged), before + 1);
	assert_false(same_stores(merged, want));
	conf_db_close(db);
	conf_txn_free(txn);
	conf_store_free(merged);
	conf_store_free(have);
	conf_store_free(want);
}

static void move_away(const world_t *world)
{
	char away[100];
	(void)snprintf(away, sizeof(away), "%s.away", world->db);
	assert_int_equal(rename(world->db, away), 0);
}

/* A folder that was moved away is not what is read on. */
static void test_moved_folder(void **state)
{
	world_t *world = *state;
	uint64_t version;
	fill(world, "zone:\n  - domain: one.test\n");
	conf_db_t *db = open_db(world, false);
	move_away(world);
	conf_store_t *store;
	assert_int_equal(conf_db_read(db, sink_of(world), &store, &version), KNOT_ENOENT);
	fill(world, "zone:\n  - domain: one.test\n  - domain: two.test\n");
	store = read_db(world, db, &version);
	assert_int_equal(store->zones.count, 2);
	conf_store_free(store);
	conf_db_close(db);
}

static void expect_files(const world_t *world, const char *want)
{
	char command[160], line[64] = "";
	(void)snprintf(command, sizeof(command), "ls %s | tr '\\n' ' '", world->db);
	FILE *list = popen(command, "r");
	assert_non_null(list);
	assert_non_null(fgets(line, sizeof(line), list));
	assert_int_equal(pclose(list), 0);
	assert_string_equal(line, want);
}

/* Another folder took the place of the one that is held: changes of the one are none of the other's. */
static void test_exchanged_folder(void **state)
{
	world_t *world = *state;
	char command[300];
	uint64_t version;
	fill(world, "zone:\n  - domain: one.test\n");
	conf_db_t *db = open_held(world, false);
	conf_store_t *base = read_db(world, db, &version), *want = read_text("zone:\n  - domain: other.test\n"), *have;
	conf_txn_t *txn = conf_txn_begin(base);
	set_in(txn, "zone", "new.test", NULL, NULL);
	move_away(world);
	fill(world, "zone:\n  - domain: other.test\n");

	assert_int_equal(conf_db_write(db, txn, sink_of(world), &version), KNOT_EBUSY);
	assert_non_null(strstr(world->faults.text, "another folder is in its place"));
	assert_int_equal(conf_db_replace(db, base, sink_of(world)), KNOT_EBUSY);
	assert_int_equal(conf_db_read(db, sink_of(world), &have, &version), KNOT_EBUSY);
	expect_files(world, "data.mdb ");

	/* Released, it is the other one; and when the first is back, that is as it was. */
	conf_db_release(db);
	(void)expect_stored(world, db, want);
	(void)snprintf(command, sizeof(command), "rm -rf %s && mv %s.away %s", world->db, world->db, world->db);
	assert_int_equal(system(command), 0);
	(void)expect_stored(world, db, base);
	conf_db_close(db);
	conf_txn_free(txn);
	conf_store_free(base);
	conf_store_free(want);
}

/* A file may have an identifier that is no key of LMDB: it is said what to do, and what was there stays. */
static void test_long_identifier(void **state)
{
	world_t *world = *state;
	char text[700];
	uint64_t version;
	fill(world, "zone:\n  - domain: one.test\n");
	(void)snprintf(text, sizeof(text), "remote:\n  - id: %0600d\n    address: 192.0.2.1\n", 0);
	conf_store_t *store = read_text(text);
	conf_db_t *db = open_held(world, false);
	assert_int_equal(conf_db_replace(db, store, sink_of(world)), KNOT_CONF_ERANGE);
	assert_non_null(strstr(world->faults.text, "shorten the identifiers"));
	conf_store_free(store);
	store = read_db(world, db, &version);
	assert_int_equal(store->zones.count, 1);
	expect_files(world, "data.mdb ");
	conf_store_free(store);
	conf_db_close(db);
}

/* ---- What isn't ours ---- */

/** An LMDB file with one entry. */
static void make_foreign(const world_t *world, const void *key, size_t key_len, const void *value, size_t value_len)
{
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;
	assert_int_equal(mkdir(world->db, 0755), 0);
	assert_int_equal(mdb_env_create(&env), 0);
	assert_int_equal(mdb_env_open(env, world->db, MDB_NOLOCK, 0644), 0);
	assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
	assert_int_equal(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
	MDB_val k = { key_len, (void *)key }, v = { value_len, (void *)value };
	assert_int_equal(mdb_put(txn, dbi, &k, &v, 0), 0);
	assert_int_equal(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
}

static void test_foreign(void **state)
{
	world_t *world = *state;
	uint8_t later[40] = "bowline confdb";
	later[19] = 9;
	const struct {
		const char *what;
		const void *key, *value;
		size_t key_len, value_len;
		knot_err_t err;
		const char *text;
	} rows[] = {
		{ "Knot", "\x00\xff", "\x02", 2, 1, KNOT_ENOTSUP, "it was made by Knot DNS" },
		{ "another", "k", "v", 1, 1, KNOT_ENOTSUP, "it was made by another program" },
		{ "later", "!format", later, 7, sizeof(later), KNOT_ENOTSUP, "a later release made it" },
		{ "damaged", "!format", "x", 7, 1, KNOT_EMALF, "its format can't be read" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		make_foreign(world, rows[i].key, rows[i].key_len, rows[i].value, rows[i].value_len);
		uint8_t *before, *after;
		size_t len = read_whole(world->data, &before);
		for (int create = 0; create < 2; create++) {
			conf_db_t *db;
			assert_int_equal(conf_db_open(world->db, 16, create != 0, sink_of(world), &db), rows[i].err);
			if (strstr(world->faults.text, rows[i].text) == NULL) {
				fail_msg("%s: %s", rows[i].what, world->faults.text);
			}
		}
		assert_int_equal(read_whole(world->data, &after), len);
		assert_memory_equal(before, after, len);
		free(before);
		free(after);
		assert_int_equal(unlink(world->data), 0);
		assert_int_equal(rmdir(world->db), 0);
	}
	conf_db_t *db;
	assert_int_equal(conf_db_open(world->db, 16, false, sink_of(world), &db), KNOT_ENOENT);
	assert_non_null(strstr(world->faults.text, "conf-init"));
}

static uint64_t fnv(uint64_t sum, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		sum = (sum ^ data[i]) * UINT64_C(1099511628211);
	}
	return sum;
}

/** What another release might have written is an error that names it, and nothing is dropped. */
static void test_unknown_names(void **state)
{
	world_t *world = *state;
	/* The text that is replaced; a record of `server` with one item, before it checksum, identifier and length of
	 * the name. */
	enum { HEAD = 8 + 1 + 4 + 1, RECORD = HEAD + 11 + 4 + 1 };
	static const struct {
		const char *name, *value;
		bool has_sum;
		knot_err_t err;
		const char *text;
	} rows[] = {
		{ "udp-workers", "3", true, KNOT_OK, "" },
		{ "udp-workers", "4", false, KNOT_EMALF, "the checksum of a block is wrong" },
		{ "xdp-workers", "3", true, KNOT_CONF_EITEM, "config, item 'server.xdp-workers' (invalid item)" },
		{ "udp-workers", "0", true, KNOT_CONF_ERANGE,
				"config, item 'server.udp-workers', value '0' (value is out of range)" },
		{ "udp-workers", "x", true, KNOT_EINVAL,
				"config, item 'server.udp-workers', value 'x' (invalid parameter)" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		uint8_t *data;
		fill(world, "server:\n    udp-workers: 3\n");
		size_t len = read_whole(world->data, &data);
		uint8_t *at = memmem(data, len, "udp-workers", 11);
		assert_non_null(at);
		uint8_t *record = at - HEAD;
		memcpy(at, rows[i].name, 11);
		at[11 + 4] = (uint8_t)rows[i].value[0];
		uint64_t sum = fnv(fnv(UINT64_C(14695981039346656037), (const uint8_t *)"server", 7), record + 8,
				RECORD - 8);
		for (size_t j = 0; j < 8 && rows[i].has_sum; j++) {
			record[j] = (uint8_t)(sum >> (56 - 8 * j));
		}
		write_whole(world->data, data, len);
		free(data);
		conf_db_t *db = open_db(world, false);
		conf_store_t *store = NULL;
		uint64_t version;
		assert_int_equal(conf_db_read(db, sink_of(world), &store, &version), rows[i].err);
		assert_non_null(strstr(world->faults.text, rows[i].text));
		conf_store_free(store);
		conf_db_close(db);
	}
}

/* ---- Damage ---- */

/* Whatever byte changes: an error, or what was there. */
static void test_damage(void **state)
{
	world_t *world = *state;
	conf_store_t *want = read_text(whole);
	fill(world, whole);
	uint8_t *data;
	size_t len = read_whole(world->data, &data), harmless = 0, found = 0;
	for (size_t at = 0; at < len; at += data[at] != 0 ? 1 : 5) {
		uint8_t keep = data[at];
		data[at] ^= (uint8_t)(1 + at % 255);
		write_whole(world->data, data, len);
		data[at] = keep;
		conf_db_t *db;
		conf_store_t *store;
		uint64_t version;
		knot_err_t err = conf_db_open(world->db, 16, false, sink_of(world), &db);
		if (err == KNOT_OK) {
			err = conf_db_read(db, sink_of(world), &store, &version);
			conf_db_close(db);
		}
		if (err == KNOT_OK) {
			if (!same_stores(store, want)) {
				fail_msg("byte %zu: a damage went unnoticed", at);
			}
			conf_store_free(store);
			harmless++;
		} else {
			assert_true(strstr(world->faults.text, "configuration database") != NULL);
			found++;
		}
	}
	printf("%zu bytes changed and noticed, %zu without effect\n", found, harmless);
	assert_true(found > 500);
	for (size_t cut = 0; cut < len; cut += 512) {
		write_whole(world->data, data, cut);
		conf_db_t *db;
		assert_int_not_equal(conf_db_open(world->db, 16, false, sink_of(world), &db), KNOT_OK);
		assert_true(world->faults.text[0] != '\0');
	}
	free(data);
	conf_store_free(want);
}

/* ---- No room, no right ---- */

static void test_full(void **state)
{
	world_t *world = *state;
	fill(world, "zone:\n  - domain: first.test\n");
	conf_db_t *db;
	assert_int_equal(conf_db_open(world->db, 1, false, sink_of(world), &db), KNOT_OK);
	uint64_t version;
	conf_store_t *store = read_db(world, db, &version);
	conf_txn_t *txn = conf_txn_begin(store);
	set_zones_in(txn, 20000, "zone-with-a-rather-long-name-", NULL);
	assert_int_equal(conf_db_hold(db, sink_of(world)), KNOT_OK);
	assert_int_equal(conf_db_write(db, txn, sink_of(world), NULL), KNOT_ESPACE);
	assert_non_null(strstr(world->faults.text, "1 MiB, increase it with --max-conf-size"));
	conf_store_t *merged;
	assert_int_equal(conf_txn_merge(txn, &merged), KNOT_OK);
	assert_int_equal(conf_db_replace(db, merged, sink_of(world)), KNOT_ESPACE);
	assert_int_equal((uint32_t)expect_stored(world, db, store), 1);
	conf_db_close(db);
	/* With room it goes on. */
	db = open_held(world, false);
	assert_int_equal(conf_db_write(db, txn, sink_of(world), &version), KNOT_OK);
	(void)expect_stored(world, db, merged);
	conf_db_close(db);
	conf_txn_free(txn);
	conf_store_free(merged);
	conf_store_free(store);
}

/** Run it in a process of its own, as nobody if we are root. Returns what it returns. */
static int in_child(world_t *world, int (*run)(world_t *world))
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
			_exit(99);
		}
		_exit(run(world));
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/** What another user finds: the database's folder and its file, in a folder that is open to all. */
static void set_modes(const world_t *world, mode_t db, mode_t data)
{
	assert_int_equal(chmod(world->folder, 0755), 0);
	assert_int_equal(chmod(world->data, data), 0);
	assert_int_equal(chmod(world->db, db), 0);
}

/** Another user finds one zone stored, and what it runs returns 0. */
static void expect_use(world_t *world, int (*run)(world_t *world), mode_t db, mode_t data)
{
	fill(world, "zone:\n  - domain: first.test\n");
	set_modes(world, db, data);
	assert_int_equal(in_child(world, run), 0);
	assert_int_equal(chmod(world->db, 0755), 0);
}

static int use_read_only(world_t *world)
{
	conf_db_t *db;
	conf_store_t *store;
	uint64_t version;
	if (conf_db_open(world->db, 16, false, sink_of(world), &db) != KNOT_OK ||
			conf_db_read(db, sink_of(world), &store, &version) != KNOT_OK || store->zones.count != 1) {
		return 1;
	}
	conf_txn_t *txn = conf_txn_begin(store);
	conf_edit_t edit = { .section = "zone", .id = "new.test" };
	if (conf_txn_set(txn, &edit, (conf_sink_t){ 0 }) != KNOT_OK || conf_db_hold(db, sink_of(world)) != KNOT_OK) {
		return 2;
	}
	if (conf_db_write(db, txn, sink_of(world), NULL) != KNOT_EACCES ||
			strstr(world->faults.text, "check owner and mode") == NULL) {
		return 3;
	}
	return conf_db_replace(db, store, sink_of(world)) == KNOT_EACCES ? 0 : 4;
}

static void test_read_only(void **state)
{
	expect_use(*state, use_read_only, 0555, 0444);
}

static int find_closed(world_t *world)
{
	conf_db_t *db;
	if (!conf_db_exists(world->db)) {
		return 1;
	}
	return conf_db_open(world->db, 16, false, sink_of(world), &db) == KNOT_EACCES && world->faults.text[0] != '\0'
			       ? 0
			       : 2;
}

/* Whoever may not look into the folder is not to go on with the file in its stead. */
static void test_closed_folder(void **state)
{
	expect_use(*state, find_closed, 0000, 0644);
}

/* ---- Other processes ---- */

static int hold_elsewhere(world_t *world)
{
	conf_db_t *db;
	conf_store_t *store;
	uint64_t version;
	if (conf_db_open(world->db, 16, false, sink_of(world), &db) != KNOT_OK ||
			conf_db_hold(db, sink_of(world)) != KNOT_EBUSY) {
		return 1;
	}
	if (strstr(world->faults.text, "another process changes it") == NULL) {
		return 2;
	}
	/* Reading goes on. */
	return conf_db_read(db, sink_of(world), &store, &version) == KNOT_OK ? 0 : 3;
}

static void test_one_writer(void **state)
{
	world_t *world = *state;
	fill(world, "zone:\n  - domain: first.test\n");
	set_modes(world, 0755, 0644);
	conf_db_t *db = open_held(world, false);
	assert_int_equal(in_child(world, hold_elsewhere), 0);
	conf_db_release(db);
	assert_int_equal(in_child(world, hold_elsewhere), 1); /* it can be held now, which the child doesn't expect */
	conf_db_close(db);
}

/** Commit after commit: the n-th sets the identity and adds a zone with that number. */
static void commit_for_ever(world_t *world, int report_fd)
{
	conf_db_t *db;
	conf_store_t *store;
	uint64_t version;
	if (conf_db_open(world->db, 64, false, sink_of(world), &db) != KNOT_OK ||
			conf_db_hold(db, sink_of(world)) != KNOT_OK) {
		_exit(1);
	}
	for (;;) {
		if (conf_db_read(db, sink_of(world), &store, &version) != KNOT_OK) {
			_exit(2);
		}
		conf_txn_t *txn = conf_txn_begin(store);
		char number[32];
		(void)snprintf(number, sizeof(number), "%llu", (unsigned long long)(uint32_t)version + 1);
		conf_edit_t identity = { "server", NULL, "identity", number },
			    zone = { .section = "zone", .id = number };
		if (conf_txn_set(txn, &identity, (conf_sink_t){ 0 }) != KNOT_OK ||
				conf_txn_set(txn, &zone, (conf_sink_t){ 0 }) != KNOT_OK ||
				conf_db_write(db, txn, sink_of(world), &version) != KNOT_OK) {
			_exit(3);
		}
		/* Each fourth time everything is replaced. */
		conf_store_t *merged;
		if (version % 4 == 0 && (conf_txn_merge(txn, &merged) != KNOT_OK ||
							conf_db_replace(db, merged, sink_of(world)) != KNOT_OK)) {
			_exit(4);
		}
		if (write(report_fd, &version, sizeof(version)) != sizeof(version)) {
			_exit(5);
		}
		conf_txn_free(txn);
		conf_store_free(store);
	}
}

/* A process that is killed, wherever it is, leaves the last state that it reported or the one it was making. */
static void test_kill(void **state)
{
	world_t *world = *state;
	fill(world, "server:\n    identity: 1\n");
	uint64_t reported = 1;
	for (unsigned round = 0; round < 60; round++) {
		int report[2];
		assert_int_equal(pipe(report), 0);
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			close(report[0]);
			commit_for_ever(world, report[1]);
		}
		close(report[1]);
		uint64_t version;
		assert_int_equal(read(report[0], &version, sizeof(version)), sizeof(version));
		(void)nanosleep(&(struct timespec){ .tv_nsec = (long)(round * 7919 % 10000) * 1000 }, NULL);
		assert_int_equal(kill(pid, SIGKILL), 0);
		int status;
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		do {
			reported = version;
		} while (read(report[0], &version, sizeof(version)) == sizeof(version));
		close(report[0]);
		conf_db_t *db = open_db(world, false);
		conf_store_t *store = read_db(world, db, &version);
		version = (uint32_t)version;
		reported = (uint32_t)reported;
		assert_true(version >= reported && version <= reported + 2);
		conf_block_view_t server;
		assert_true(conf_view_find(
				(conf_view_t){ .store = store }, CONF_S_SERVER, (knot_bytes_t){ 0 }, &server));
		unsigned long identity = strtoul((const char *)conf_block_find(&server, "identity").data, NULL, 10);
		/* Replacing everything counts as a commit, too, and sets no identity. */
		assert_true(identity == version || (identity + 1 == version && identity % 4 == 0));
		conf_store_free(store);
		conf_db_close(db);
	}
}

static void test_many(void **state)
{
	world_t *world = *state;
	enum { COUNT = 100000 };
	conf_db_t *db;
	assert_int_equal(conf_db_open(world->db, 500, true, sink_of(world), &db), KNOT_OK);
	uint64_t version;
	conf_store_t *store = read_db(world, db, &version), *merged;
	conf_txn_t *txn = conf_txn_begin(store);
	set_zones_in(txn, COUNT, "zone", NULL);
	assert_int_equal(conf_db_hold(db, sink_of(world)), KNOT_OK);
	double start = cpu_s();
	assert_int_equal(conf_db_write(db, txn, sink_of(world), NULL), KNOT_OK);
	double written = cpu_s();
	conf_store_free(store);
	conf_txn_free(txn);
	store = read_db(world, db, &version);
	double was_read = cpu_s();
	assert_int_equal(store->zones.count, COUNT);
	txn = conf_txn_begin(store);
	set_in(txn, "zone", "one.more", NULL, NULL);
	assert_int_equal(conf_db_write(db, txn, sink_of(world), NULL), KNOT_OK);
	double one = cpu_s();
	assert_int_equal(conf_txn_merge(txn, &merged), KNOT_OK);
	double begin_replace = cpu_s();
	assert_int_equal(conf_db_replace(db, merged, sink_of(world)), KNOT_OK);
	printf("%d zones: %.0f ms to write, %.0f ms to read, one more %.1f ms, %.0f ms to replace all\n", COUNT,
			1e3 * (written - start), 1e3 * (was_read - written), 1e3 * (one - was_read),
			1e3 * (cpu_s() - begin_replace));
	conf_txn_free(txn);
	conf_store_free(merged);
	conf_store_free(store);
	conf_db_close(db);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, end_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_round_trip),
		TEST(test_moved_folder),
		TEST(test_exchanged_folder),
		TEST(test_long_identifier),
		TEST(test_foreign),
		TEST(test_unknown_names),
		TEST(test_damage),
		TEST(test_full),
		TEST(test_read_only),
		TEST(test_closed_folder),
		TEST(test_one_writer),
		TEST(test_kill),
		TEST(test_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
