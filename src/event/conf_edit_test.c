/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/conf_edit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/conf/test_conf.h"
#include "src/event/internal.h"
#include "src/event/test_server.h"
#include "src/sys/log.h"
#include "src/sys/thread.h"

enum { MINE = 0, OTHER = 1 };

static char db_path[80];
static const char *const zone_names[] = { "a", "b", "c" };
static const char no_images[] = "  image-db: \"\"\n";

/** A server and, if it has one, its database. */
typedef struct {
	server_t *server;
	conf_db_t *db;
	messages_t faults;
} world_t;

static conf_sink_t sink_of(world_t *world)
{
	return messages_sink(&world->faults);
}

static conf_store_t *read_conf(const char *zones)
{
	write_conf_file(no_images, zones);
	conf_store_t *store = conf_store_new();
	assert_non_null(store);
	assert_int_equal(conf_read(store, conf_path, NULL, false, server_conf_sink()), KNOT_OK);
	assert_int_equal(conf_store_seal(store), KNOT_OK);
	return store;
}

/** Put a configuration into the database, as knotc does in another process. */
static void import(const char *zones, unsigned size_mib)
{
	conf_db_t *db;
	conf_store_t *store = read_conf(zones);
	assert_int_equal(conf_db_open(db_path, size_mib, true, server_conf_sink(), &db), KNOT_OK);
	assert_int_equal(conf_db_hold(db, server_conf_sink()), KNOT_OK);
	assert_int_equal(conf_db_replace(db, store, server_conf_sink()), KNOT_OK);
	conf_db_close(db);
	conf_store_free(store);
}

static void start(world_t *world, const char *zones, bool has_db)
{
	conf_t *conf;
	uint64_t db_version = 0;
	if (has_db) {
		import(zones, 16);
		assert_int_equal(conf_db_open(db_path, 1, false, server_conf_sink(), &world->db), KNOT_OK);
		assert_int_equal(server_read_conf_db(world->db, &host, &db_version, &conf), KNOT_OK);
	} else {
		write_conf_file(no_images, zones);
		conf = load_conf_file();
	}
	world->server = make_server(conf, world->db, db_version);
	assert_int_equal(server_start(world->server), KNOT_OK);
	server_load_zones(world->server);
	server_wait_idle(world->server);
}

static void end(world_t *world)
{
	server_stop(world->server);
	server_free(world->server);
	conf_db_close(world->db);
	*world = (world_t){ 0 };
}

static int setup(void **state)
{
	(void)state;
	sys_rcu_register();
	if (!make_dir("conf_edit_test")) {
		return 1;
	}
	(void)snprintf(db_path, sizeof(db_path), "%s/confdb", dir);
	for (size_t i = 0; i < KNOT_LEN(zone_names); i++) {
		write_zone(zone_names[i], 1);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	char command[128];
	(void)snprintf(command, sizeof(command), "rm -rf %s", dir);
	sys_log_close();
	sys_rcu_unregister();
	return system(command);
}

/** Of the zones that there are files of, readers see these with contents. names: a letter each. */
static void expect_served(const world_t *world, const char *names)
{
	for (size_t i = 0; i < KNOT_LEN(zone_names); i++) {
		bool is_served = serial_of(world->server, zone_names[i]) > 0;
		if (is_served != (strstr(names, zone_names[i]) != NULL)) {
			fail_msg("%s is %sserved", zone_names[i], is_served ? "" : "not ");
		}
	}
}

static conf_txn_t *txn_of(const world_t *world)
{
	conf_txn_t *txn;
	assert_int_equal(server_conf_txn(world->server, MINE, &txn), KNOT_OK);
	return txn;
}

static void set(const world_t *world, const char *section, const char *id)
{
	set_in(txn_of(world), section, id, NULL, NULL);
}

static void unset(const world_t *world, const char *section, const char *id)
{
	conf_edit_t edit = { .section = section, .id = id };
	assert_int_equal(conf_txn_unset(txn_of(world), &edit), KNOT_OK);
}

static void begin(world_t *world)
{
	assert_int_equal(server_conf_begin(world->server, MINE, sink_of(world)), KNOT_OK);
}

static knot_err_t commit(world_t *world)
{
	knot_err_t err = server_conf_commit(world->server, MINE, sink_of(world));
	server_wait_idle(world->server);
	return err;
}

/** In a transaction of its own. */
static void add_zone(world_t *world, const char *name)
{
	begin(world);
	set(world, "zone", name);
	assert_int_equal(commit(world), KNOT_OK);
}

static void test_owners(void **state)
{
	(void)state;
	world_t world = { 0 };
	conf_txn_t *txn;
	start(&world, "zone:\n  - domain: a\n", false);
	server_t *server = world.server;
	assert_false(server_conf_is_open(server));
	assert_int_equal(server_conf_txn(server, MINE, &txn), KNOT_ETXNNONE);
	assert_int_equal(server_conf_commit(server, MINE, sink_of(&world)), KNOT_ETXNNONE);
	assert_int_equal(server_conf_abort(server, MINE), KNOT_OK);
	begin(&world);
	assert_true(server_conf_is_open(server));
	assert_int_equal(server_conf_begin(server, MINE, sink_of(&world)), KNOT_ETXNMANY);
	assert_int_equal(server_conf_begin(server, OTHER, sink_of(&world)), KNOT_ETXNMANY);
	assert_int_equal(server_conf_txn(server, OTHER, &txn), KNOT_ETXNTHREAD);
	assert_int_equal(server_conf_commit(server, OTHER, sink_of(&world)), KNOT_ECTLBUSY);
	assert_int_equal(server_conf_abort(server, OTHER), KNOT_ECTLBUSY);
	assert_int_equal(server_reload(server), KNOT_ETXNMANY);
	assert_int_equal(server_conf_abort(server, MINE), KNOT_OK);
	assert_false(server_conf_is_open(server));
	assert_int_equal(server_reload(server), KNOT_OK);
	uint8_t wire[KNOT_NAME_MAX];
	assert_int_equal(server_edit_begin(server, name_of("a", wire), false), KNOT_OK);
	assert_int_equal(server_conf_begin(server, MINE, sink_of(&world)), KNOT_ETXNMANY);
	assert_int_equal(server_edit_abort(server, name_of("a", wire)), KNOT_OK);
	begin(&world);
	assert_int_equal(server_edit_begin(server, name_of("a", wire), false), KNOT_ETXNMANY);
	end(&world); /* with the transaction open */
}

static void test_commits(void **state)
{
	(void)state;
	for (int has_db = 0; has_db < 2; has_db++) {
		world_t world = { 0 };
		start(&world, "zone:\n  - domain: a\n  - domain: b\n", has_db != 0);
		begin(&world);
		set(&world, "zone", "c");
		unset(&world, "zone", "b");
		expect_served(&world, "ab");
		assert_int_equal(commit(&world), KNOT_OK);
		expect_served(&world, "ac");
		assert_false(server_conf_is_open(world.server));
		begin(&world);
		assert_int_equal(commit(&world), KNOT_OK); /* of nothing */
		begin(&world);
		set(&world, "zone", "b");
		set_in(txn_of(&world), "zone", "b", "file", "a.zone");
		assert_int_equal(commit(&world), KNOT_OK);
		expect_served(&world, "abc");
		/* What a reload finds: the file, which knows nothing of it, or the database. */
		assert_int_equal(server_reload(world.server), KNOT_OK);
		server_wait_idle(world.server);
		expect_served(&world, has_db != 0 ? "abc" : "ab");
		end(&world);
	}
}

/* Whatever fails, nothing has changed, and the transaction is still there. */
static void test_failures(void **state)
{
	(void)state;
	world_t world = { 0 };
	start(&world, "zone:\n  - domain: a\n", true);
	begin(&world);
	set(&world, "zone", "c");
	set(&world, "key", "k");
	assert_int_not_equal(commit(&world), KNOT_OK);
	assert_non_null(strstr(world.faults.text, "section 'key[k.]'"));
	expect_served(&world, "a");
	assert_true(server_conf_is_open(world.server));
	unset(&world, "key", NULL);
	/* The database is full at 1 MiB: when everything else has been made. */
	set_zones_in(txn_of(&world), 20000, "zone-with-a-rather-long-name-", NULL);
	assert_int_equal(commit(&world), KNOT_ESPACE);
	assert_non_null(strstr(world.faults.text, "--max-conf-size"));
	expect_served(&world, "a");
	unset(&world, "zone", NULL);
	set(&world, "zone", "c");
	assert_int_equal(commit(&world), KNOT_OK);
	expect_served(&world, "c");
	end(&world);
}

/* Another process changed the database: a transaction is on top of that, whether the server was told of it or not. */
static void test_changed_by_others(void **state)
{
	(void)state;
	world_t world = { 0 };
	start(&world, "zone:\n  - domain: a\n", true);
	import("zone:\n  - domain: b\n", 16);
	add_zone(&world, "c");
	expect_served(&world, "bc");
	import("zone:\n  - domain: a\n", 16);
	begin(&world);
	assert_int_equal(commit(&world), KNOT_OK); /* of nothing but that */
	expect_served(&world, "a");
	import("zone:\n  - domain: b\n", 16);
	begin(&world);
	assert_int_equal(server_conf_abort(world.server, MINE), KNOT_OK);
	expect_served(&world, "a");
	/* Held by the transaction. */
	conf_db_t *db;
	begin(&world);
	assert_int_equal(conf_db_open(db_path, 16, false, sink_of(&world), &db), KNOT_OK);
	assert_int_equal(conf_db_hold(db, sink_of(&world)), KNOT_EBUSY);
	assert_int_equal(server_conf_abort(world.server, MINE), KNOT_OK);
	assert_int_equal(conf_db_hold(db, sink_of(&world)), KNOT_OK);
	assert_int_equal(server_conf_begin(world.server, MINE, sink_of(&world)), KNOT_EBUSY);
	assert_false(server_conf_is_open(world.server));
	conf_db_close(db);
	begin(&world);
	end(&world);
}

/* Another database in the place of the one that is served, with as many changes as that. */
static void test_another_database(void **state)
{
	(void)state;
	world_t world = { 0 };
	char command[200];
	start(&world, "zone:\n  - domain: a\n", true);
	(void)snprintf(command, sizeof(command), "mv %s %s.away", db_path, db_path);
	assert_int_equal(system(command), 0);
	import("zone:\n  - domain: b\n", 16);
	add_zone(&world, "c");
	expect_served(&world, "bc");
	end(&world);
}

/*
 * A reload by a signal, which takes no lock of the control's commands, may have looked for open transactions just
 * before one began on a zone that it removes: no command could end that one.
 */
static void test_zone_goes_under_edit(void **state)
{
	(void)state;
	world_t world = { 0 };
	uint8_t wire_a[KNOT_NAME_MAX], wire_b[KNOT_NAME_MAX];
	start(&world, "zone:\n  - domain: a\n  - domain: b\n", false);
	server_t *server = world.server;
	assert_int_equal(server_edit_begin(server, name_of("a", wire_a), false), KNOT_OK);
	assert_int_equal(server_edit_begin(server, name_of("b", wire_b), false), KNOT_OK);
	write_conf_file(no_images, "zone:\n  - domain: b\n");
	conf_t *conf = load_conf_file();
	sys_mutex_lock(&server->reload_lock);
	assert_int_equal(server_apply(server, conf, &(server_change_t){ 0 }), KNOT_OK);
	sys_mutex_unlock(&server->reload_lock);
	assert_true(server_edits_are_open(server));
	assert_int_equal(server_edit_abort(server, name_of("b", wire_b)), KNOT_OK);
	assert_false(server_edits_are_open(server));
	assert_int_equal(server_reload(server), KNOT_OK);
	end(&world);
}

static uint32_t serial_in_file(void)
{
	char text[256];
	read_file("a.zone", text, sizeof(text));
	const char *soa = strstr(text, "SOA");
	unsigned serial = 0;
	assert_true(soa != NULL && sscanf(soa, "SOA %*s %*s %u", &serial) == 1);
	return serial;
}

static void *stop(void *server)
{
	sys_rcu_register();
	server_stop(server);
	sys_rcu_unregister();
	return NULL;
}

/* The end writes zone files after a command that works on the zone, and no other command begins on one. */
static void test_end_waits_for_commands(void **state)
{
	(void)state;
	world_t world = { 0 };
	start(&world, "    zonefile-sync: 3600\nzone:\n  - domain: a\n", false);
	server_t *server = world.server;
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name = name_of("a", wire);
	const server_serial_t next = { .is_increment = true, .number = 4 };
	const server_author_t nobody = { .who = "" };
	server_commit_t commit;
	assert_int_equal(server_set_serial(server, name, &next, &nobody, &commit), KNOT_OK);
	assert_int_equal(serial_in_file(), 1);
	entry_t *entry;
	sys_mutex_lock(&server->jobs.lock);
	assert_int_equal(server_begin_work(server, name, &entry), KNOT_OK);
	sys_mutex_unlock(&server->jobs.lock);
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, stop, server), 0);
	usleep(50000);
	assert_int_equal(serial_in_file(), 1);
	sys_mutex_lock(&server->jobs.lock);
	jobs_end(&server->jobs, entry, (job_outcome_t){ .load = LOAD_UNCHANGED }, KNOT_OK);
	sys_mutex_unlock(&server->jobs.lock);
	pthread_join(thread, NULL);
	assert_int_equal(serial_in_file(), 5);
	assert_int_equal(server_set_serial(server, name, &next, &nobody, &commit), KNOT_ECTLBUSY);
	assert_int_equal(server_edit_begin(server, name, false), KNOT_ECTLBUSY);
	server_free(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_owners, setup, teardown),
		cmocka_unit_test_setup_teardown(test_commits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failures, setup, teardown),
		cmocka_unit_test_setup_teardown(test_changed_by_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_database, setup, teardown),
		cmocka_unit_test_setup_teardown(test_zone_goes_under_edit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_end_waits_for_commands, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
