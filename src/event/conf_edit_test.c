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

#include "src/conf/load.h"
#include "src/event/internal.h"
#include "src/sys/log.h"
#include "src/sys/thread.h"

enum { MINE = 0, OTHER = 1 };

static char dir[64], conf_path[80], db_path[80];
static const conf_host_t host = { .cpu_count = 2, .nofile_max = 1024, .hostname = "ns.example", .version = "Test" };

/** A server and, if it has one, its database. */
typedef struct {
	server_t *server;
	conf_db_t *db;
	char faults[1024];
} world_t;

static void collect(void *ctx, const conf_fault_t *fault)
{
	world_t *world = ctx;
	size_t len = strlen(world->faults);
	(void)snprintf(world->faults + len, sizeof(world->faults) - len, "%s\n", fault->text);
}

static conf_sink_t sink_of(world_t *world)
{
	world->faults[0] = '\0';
	return (conf_sink_t){ collect, world };
}

static void write_file(const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static conf_store_t *read_conf(const char *zones)
{
	char text[1024];
	(void)snprintf(text, sizeof(text),
		       "log:\n  - target: %s/log\n    any: debug\ndatabase:\n  storage: %s\n  image-db: \"\"\n"
		       "template:\n  - id: default\n    storage: %s\n%s",
		       dir, dir, dir, zones);
	write_file("knot.conf", text);
	conf_store_t *store = conf_store_new();
	assert_non_null(store);
	assert_int_equal(conf_read(store, conf_path, NULL, server_conf_sink()), KNOT_OK);
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
	server_params_t params = { .conf_path = conf_path, .host = &host, .uid = getuid(), .gid = getgid() };
	conf_t *conf;
	if (has_db) {
		import(zones, 16);
		assert_int_equal(conf_db_open(db_path, 1, false, server_conf_sink(), &world->db), KNOT_OK);
		assert_int_equal(server_read_conf_db(world->db, &host, &params.db_version, &conf), KNOT_OK);
		params.db = world->db;
	} else {
		conf_store_free(read_conf(zones));
		assert_int_equal(conf_load(conf_path, &host, server_conf_sink(), &conf), KNOT_OK);
	}
	(void)server_open_logs(conf, getuid(), getgid());
	assert_int_equal(server_new(conf, &params, &world->server), KNOT_OK);
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
	(void)snprintf(dir, sizeof(dir), "/tmp/conf_edit_test.XXXXXX");
	if (mkdtemp(dir) == NULL) {
		return 1;
	}
	(void)snprintf(conf_path, sizeof(conf_path), "%s/knot.conf", dir);
	(void)snprintf(db_path, sizeof(db_path), "%s/confdb", dir);
	static const char zone[] = "@ 3600 SOA ns admin 1 3600 600 86400 300\n@ 3600 NS ns\nns 3600 A 192.0.2.1\n";
	for (const char *const *name = (const char *const[]){ "a.zone", "b.zone", "c.zone", NULL }; *name != NULL; name++) {
		write_file(*name, zone);
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

static knot_name_t name_of(const char *text, uint8_t wire[KNOT_NAME_MAX])
{
	knot_name_t name;
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, wire, &name), KNOT_OK);
	return name;
}

/* True if readers see the zone with contents. */
static bool is_served(const server_t *server, const char *text)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name = name_of(text, wire);
	RCU_READ_SECTION(guard);
	const zone_t *zone = zonedb_find(state_load(server_state(server), guard)->zones, name);
	return zone != NULL && zone_contents(zone) != NULL;
}

static void set(world_t *world, const char *section, const char *id, const char *item, const char *data)
{
	conf_txn_t *txn;
	conf_edit_t edit = { section, id, item, data };
	assert_int_equal(server_conf_txn(world->server, MINE, &txn), KNOT_OK);
	assert_int_equal(conf_txn_set(txn, &edit, sink_of(world)), KNOT_OK);
}

static void unset(world_t *world, const char *section, const char *id)
{
	conf_txn_t *txn;
	conf_edit_t edit = { .section = section, .id = id };
	assert_int_equal(server_conf_txn(world->server, MINE, &txn), KNOT_OK);
	assert_int_equal(conf_txn_unset(txn, &edit), KNOT_OK);
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
	end(&world);        /* with the transaction open */
}

static void test_commits(void **state)
{
	(void)state;
	for (int has_db = 0; has_db < 2; has_db++) {
		world_t world = { 0 };
		start(&world, "zone:\n  - domain: a\n  - domain: b\n", has_db != 0);
		begin(&world);
		set(&world, "zone", "c", NULL, NULL);
		unset(&world, "zone", "b");
		assert_false(is_served(world.server, "c"));
		assert_int_equal(commit(&world), KNOT_OK);
		assert_true(is_served(world.server, "a") && !is_served(world.server, "b") && is_served(world.server, "c"));
		assert_false(server_conf_is_open(world.server));
		begin(&world);
		assert_int_equal(commit(&world), KNOT_OK);      /* of nothing */
		begin(&world);
		set(&world, "zone", "b", NULL, NULL);
		set(&world, "zone", "b", "file", "a.zone");
		assert_int_equal(commit(&world), KNOT_OK);
		assert_true(is_served(world.server, "b"));
		/* What a reload finds: the file, which knows nothing of it, or the database. */
		assert_int_equal(server_reload(world.server), KNOT_OK);
		server_wait_idle(world.server);
		assert_int_equal(is_served(world.server, "c"), has_db != 0);
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
	set(&world, "zone", "c", NULL, NULL);
	set(&world, "key", "k", NULL, NULL);
	assert_int_not_equal(commit(&world), KNOT_OK);
	assert_non_null(strstr(world.faults, "section 'key[k.]'"));
	assert_false(is_served(world.server, "c"));
	assert_true(server_conf_is_open(world.server));
	unset(&world, "key", NULL);
	/* The database is full at 1 MiB: when everything else has been made. */
	for (unsigned i = 0; i < 20000; i++) {
		char id[64];
		(void)snprintf(id, sizeof(id), "zone-with-a-rather-long-name-%u", i);
		set(&world, "zone", id, NULL, NULL);
	}
	assert_int_equal(commit(&world), KNOT_ESPACE);
	assert_non_null(strstr(world.faults, "--max-conf-size"));
	assert_false(is_served(world.server, "c"));
	assert_true(is_served(world.server, "a"));
	unset(&world, "zone", NULL);
	set(&world, "zone", "c", NULL, NULL);
	assert_int_equal(commit(&world), KNOT_OK);
	assert_true(is_served(world.server, "c") && !is_served(world.server, "a"));
	end(&world);
}

/* Another process changed the database: a transaction is on top of that, whether the server was told of it or not. */
static void test_changed_by_others(void **state)
{
	(void)state;
	world_t world = { 0 };
	start(&world, "zone:\n  - domain: a\n", true);
	import("zone:\n  - domain: b\n", 16);
	begin(&world);
	set(&world, "zone", "c", NULL, NULL);
	assert_int_equal(commit(&world), KNOT_OK);
	assert_true(!is_served(world.server, "a") && is_served(world.server, "b") && is_served(world.server, "c"));
	import("zone:\n  - domain: a\n", 16);
	begin(&world);
	assert_int_equal(commit(&world), KNOT_OK);      /* of nothing but that */
	assert_true(is_served(world.server, "a") && !is_served(world.server, "b"));
	import("zone:\n  - domain: b\n", 16);
	begin(&world);
	assert_int_equal(server_conf_abort(world.server, MINE), KNOT_OK);
	assert_true(is_served(world.server, "a"));
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
	begin(&world);
	set(&world, "zone", "c", NULL, NULL);
	assert_int_equal(commit(&world), KNOT_OK);
	assert_true(!is_served(world.server, "a") && is_served(world.server, "b") && is_served(world.server, "c"));
	end(&world);
}

/*
 * A reload by a signal, which takes no lock of the control's commands, may have looked for open transactions just before one began on a
 * zone that it removes: nobody could end that one.
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
	conf_t *conf;
	conf_store_free(read_conf("zone:\n  - domain: b\n"));
	assert_int_equal(conf_load(conf_path, &host, server_conf_sink(), &conf), KNOT_OK);
	pthread_mutex_lock(&server->reload_lock);
	assert_int_equal(server_apply(server, conf, &(server_change_t){ 0 }), KNOT_OK);
	pthread_mutex_unlock(&server->reload_lock);
	assert_true(server_edits_are_open(server));
	assert_int_equal(server_edit_abort(server, name_of("b", wire_b)), KNOT_OK);
	assert_false(server_edits_are_open(server));
	assert_int_equal(server_reload(server), KNOT_OK);
	end(&world);
}

static uint32_t serial_in_file(void)
{
	char path[128], text[256] = "";
	(void)snprintf(path, sizeof(path), "%s/a.zone", dir);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	(void)!fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
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
	server_ticket_t ticket;
	assert_int_equal(server_set_serial(server, name, &next, &ticket), KNOT_OK);
	assert_int_equal(serial_in_file(), 1);
	entry_t *entry;
	pthread_mutex_lock(&server->jobs.lock);
	assert_int_equal(server_begin_work(server, name, &entry), KNOT_OK);
	pthread_mutex_unlock(&server->jobs.lock);
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, stop, server), 0);
	usleep(50000);
	assert_int_equal(serial_in_file(), 1);
	pthread_mutex_lock(&server->jobs.lock);
	jobs_end(&server->jobs, entry, (job_outcome_t){ .load = LOAD_UNCHANGED }, KNOT_OK);
	pthread_mutex_unlock(&server->jobs.lock);
	pthread_join(thread, NULL);
	assert_int_equal(serial_in_file(), 5);
	assert_int_equal(server_set_serial(server, name, &next, &ticket), KNOT_ECTLBUSY);
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
