/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/test_server.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/event/internal.h"
#include "src/event/zone_edit.h"
#include "src/event/zone_flush.h"
#include "src/sys/clock.h"
#include "src/sys/thread.h"

enum { WAIT_MS = 10000 };

static unsigned worker_count = 2;

/* names: separated by spaces. */
static void write_conf(const char *names)
{
	char text[1024], copy[512];
	int len = snprintf(text, sizeof(text), "server:\n  background-workers: %u\nzone:\n", worker_count);
	snprintf(copy, sizeof(copy), "%s", names);
	char *save = NULL;
	for (char *name = strtok_r(copy, " ", &save); name != NULL; name = strtok_r(NULL, " ", &save)) {
		len += snprintf(text + len, sizeof(text) - (size_t)len, "  - domain: %s\n", name);
	}
	write_conf_file("", text);
}

static knot_err_t load_now(server_t *server, const char *text)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name = name_of(text, wire);
	server_ticket_t ticket = 0;
	knot_err_t err = server_zone_ask(server, name, EVENT_LOAD, 0, &ticket);
	return err == KNOT_OK ? server_zone_wait(server, name, ticket) : err;
}

/* Nothing is loaded before server_start(). */
static server_t *make(const char *names)
{
	write_conf(names);
	return make_server(load_conf_file(), NULL, 0);
}

static server_t *start(const char *names)
{
	server_t *server = make(names);
	assert_int_equal(server_start(server), KNOT_OK);
	return server;
}

static void end(server_t *server)
{
	server_stop(server);
	server_free(server);
}

static int setup(void **state)
{
	(void)state;
	sys_rcu_register();
	return make_dir("server_test") ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	sys_rcu_unregister();
	static const char *const files[] = { "knot.conf", "log", "a.zone", "b.zone", "c.zone", "bad.zone", "part",
		"images/data.mdb", "images/lock.mdb", "images/asked", "images", "journal/data.mdb", "journal/lock.mdb",
		"journal" };
	for (size_t i = 0; i < KNOT_LEN(files); i++) {
		char path[128];
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		(void)remove(path);
	}
	return rmdir(dir);
}

static void test_loading_at_start(void **state)
{
	(void)state;
	write_zone("a", 1);
	write_file("bad.zone", "@ 3600 SOA ns\n");
	server_t *server = start("a bad missing");
	assert_true(server_is_loading(server));
	assert_int_equal(serial_of(server, "a"), 0);
	server_load_zones(server);
	assert_true(server_wait_loaded(server, WAIT_MS));
	assert_false(server_is_loading(server));
	assert_int_equal(serial_of(server, "a"), 1);
	assert_int_equal(serial_of(server, "bad"), 0);
	assert_int_equal(serial_of(server, "missing"), 0);
	assert_int_equal(serial_of(server, "other"), -1);
	assert_int_equal(server_workers(server).workers, 2);
	end(server);
}

static void test_results_of_jobs(void **state)
{
	(void)state;
	write_zone("a", 1);
	server_t *server = start("a missing");
	assert_int_equal(load_now(server, "A."), KNOT_OK);
	write_zone("a", 2);
	assert_int_equal(load_now(server, "a"), KNOT_OK);
	assert_int_equal(serial_of(server, "a"), 2);
	/* The old version stays when the new one is bad. */
	write_file("a.zone", "nonsense\n");
	assert_int_equal(load_now(server, "a"), KNOT_EPARSEFAIL);
	assert_int_equal(serial_of(server, "a"), 2);
	assert_int_equal(load_now(server, "missing"), KNOT_ENOENT);
	assert_int_equal(load_now(server, "other"), KNOT_ENOZONE);
	end(server);
}

static void test_reload(void **state)
{
	(void)state;
	write_zone("a", 1);
	write_zone("b", 1);
	write_zone("c", 1);
	server_t *server = start("a b");
	server_load_zones(server);
	assert_true(server_wait_loaded(server, WAIT_MS));

	write_conf("b c");
	write_zone("b", 5);
	assert_int_equal(server_reload(server), KNOT_OK);
	server_wait_idle(server);
	assert_int_equal(serial_of(server, "a"), -1);
	assert_int_equal(serial_of(server, "b"), 5);
	assert_int_equal(serial_of(server, "c"), 1);

	/* A fault anywhere: everything stays. */
	write_file("knot.conf", "zone:\n  - domain: a\n    nonsense: on\n");
	assert_int_not_equal(server_reload(server), KNOT_OK);
	server_wait_idle(server);
	assert_int_equal(serial_of(server, "a"), -1);
	assert_int_equal(serial_of(server, "c"), 1);
	end(server);
}

/* Contents of a zone whose file did not change stay the very same object. */
static void test_unchanged_zone_is_not_loaded(void **state)
{
	(void)state;
	write_zone("a", 1);
	write_zone("b", 1);
	server_t *server = start("a b");
	server_load_zones(server);
	assert_true(server_wait_loaded(server, WAIT_MS));
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name = name_of("a", wire);
	const zone_contents_t *before[2], *after[2];
	for (int round = 0; round < 2; round++) {
		{
			RCU_READ_SECTION(guard);
			before[round] = zone_contents(
					zonedb_find(state_load(server_state(server), guard)->zones, name));
		}
		write_zone("b", (unsigned)round + 2);
		if (round == 0) {
			assert_int_equal(server_reload(server), KNOT_OK);
		} else {
			server_reload_zones(server);
		}
		server_wait_idle(server);
		assert_int_equal(serial_of(server, "b"), round + 2);
		RCU_READ_SECTION(guard);
		after[round] = zone_contents(zonedb_find(state_load(server_state(server), guard)->zones, name));
		assert_ptr_equal(before[round], after[round]);
	}
	end(server);
}

static void test_stop_ends_waiting(void **state)
{
	(void)state;
	char path[128];
	snprintf(path, sizeof(path), "%s/a.zone", dir);
	unlink(path);
	server_t *server = start("a b");
	server_load_zones(server);
	/* Waits for nothing that is still to come. */
	server_stop(server);
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name = name_of("a", wire);
	server_ticket_t ticket;
	assert_int_equal(server_zone_ask(server, name, EVENT_LOAD, 0, &ticket), KNOT_OK);
	assert_int_equal(server_zone_wait(server, name, ticket), KNOT_ECTLBUSY);
	assert_int_equal(server_zone_event(server, name, EVENT_LOAD).state, SERVER_EVENT_PENDING);
	server_wait_idle(server);
	server_free(server);
}

static size_t place_in_log(const char *text)
{
	char log[65536];
	read_file("log", log, sizeof(log));
	const char *found = strstr(log, text);
	assert_non_null(found);
	return (size_t)(found - log);
}

/* A zone that is asked for before it is there is loaded before those that were to be loaded first. */
static void test_asked_zone_goes_first(void **state)
{
	(void)state;
	char path[128];
	snprintf(path, sizeof(path), "%s/log", dir);
	unlink(path);
	worker_count = 1;
	server_t *server = make("q00 q01 q02 q03 q04 q05 q06 q07 q08 q09");
	server_load_zones(server);
	uint8_t wire[KNOT_NAME_MAX];
	{
		RCU_READ_SECTION(guard);
		const zonedb_t *zones = state_load(server_state(server), guard)->zones;
		zone_t *zone = zonedb_find(zones, name_of("q09", wire));
		assert_non_null(zone);
		zonedb_want(zones, zone);
		zonedb_want(zones, zone);
	}
	assert_int_equal(server_start(server), KNOT_OK);
	assert_true(server_wait_loaded(server, WAIT_MS));
	server_wait_idle(server);
	end(server);
	worker_count = 2;
	/* They don't exist; how they fail doesn't matter. */
	size_t place = place_in_log("[q09.] zone not found");
	assert_true(place < place_in_log("[q00.] zone not found"));
	assert_true(place < place_in_log("[q08.] zone not found"));
}

/* What was asked for before a restart is loaded first, and so is what was asked for before the restart before that. */
static void test_lately_asked_zones_go_first(void **state)
{
	(void)state;
	const char *names = "q00 q01 q02 q03 q04 q05 q06 q07 q08 q09";
	static const char *const asked[] = { "q09", "q08" };
	worker_count = 1;
	uint8_t wire[KNOT_NAME_MAX];
	for (int round = 0; round < 3; round++) {
		char path[128];
		snprintf(path, sizeof(path), "%s/log", dir);
		unlink(path);
		server_t *server = make(names);
		server_load_zones(server);
		assert_int_equal(server_start(server), KNOT_OK);
		assert_true(server_wait_loaded(server, WAIT_MS));
		if (round < 2) {
			RCU_READ_SECTION(guard);
			zone_note_asked(zonedb_find(
					state_load(server_state(server), guard)->zones, name_of(asked[round], wire)));
		}
		end(server);
	}
	worker_count = 2;
	assert_true(place_in_log("[q09.] zone not found") < place_in_log("[q00.] zone not found"));
	assert_true(place_in_log("[q08.] zone not found") < place_in_log("[q00.] zone not found"));
}

/* Readers, loads, reloads that add and remove the zones being loaded: worth a run under ThreadSanitizer. */
typedef struct {
	server_t *server;
	unsigned number;
	uint64_t until_ms;
	unsigned long rounds;
} storm_t;

static void run_storm(void *arg)
{
	storm_t *storm = arg;
	static const char *const names[] = { "a", "b", "c" };
	while (sys_clock_ms() < storm->until_ms) {
		const char *name = names[storm->rounds++ % 3];
		if (storm->number == 0) {
			write_conf(storm->rounds % 2 == 0 ? "a b" : "b c");
			assert_int_equal(server_reload(storm->server), KNOT_OK);
		} else if (storm->number == 1) {
			(void)load_now(storm->server, name);
		} else if (storm->number == 2) {
			uint8_t wire[KNOT_NAME_MAX];
			knot_err_t err = server_zone_ask(storm->server, name_of(name, wire), EVENT_LOAD, 0, NULL);
			assert_true(err == KNOT_OK || err == KNOT_ENOZONE);
			(void)server_workers(storm->server);
		} else {
			long serial = serial_of(storm->server, name);
			assert_true(serial >= -1 && serial <= 1);
		}
	}
}

static void test_storm(void **state)
{
	(void)state;
	write_zone("a", 1);
	write_zone("b", 1);
	write_zone("c", 1);
	server_t *server = start("a b c");
	server_load_zones(server);
	storm_t storms[4];
	sys_thread_t threads[4];
	uint64_t until_ms = sys_clock_ms() + 700;
	for (unsigned i = 0; i < 4; i++) {
		storms[i] = (storm_t){ .server = server, .number = i, .until_ms = until_ms };
		threads[i] = (sys_thread_t){ .name = "storm", .cpu = -1, .run = run_storm, .arg = &storms[i] };
		assert_int_equal(sys_thread_start(&threads[i]), KNOT_OK);
	}
	for (unsigned i = 0; i < 4; i++) {
		sys_thread_join(&threads[i]);
		assert_true(storms[i].rounds > 3);
	}
	server_wait_idle(server);
	assert_int_equal(serial_of(server, "b"), 1);
	end(server);
}

/* A commit that waits for the zone file, and the zone is frozen before a worker writes it. */
static void test_no_wait_for_what_is_held_back(void **state)
{
	(void)state;
	write_zone("a", 1);
	server_t *server = make("a"); /* without workers */
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name = name_of("a", wire);
	server_ticket_t running = 0;
	sys_mutex_lock(&server->jobs.lock);
	server_ticket_t ticket = jobs_ask(&server->jobs, server_find_entry(server, name), EVENT_FLUSH, 0);
	sys_mutex_unlock(&server->jobs.lock);
	assert_int_equal(server_zone_freeze(server, name, true, &running), KNOT_OK);
	assert_int_equal(running, 0);
	alarm(60);
	assert_int_equal(server_zone_wait(server, name, ticket), KNOT_OK);
	alarm(0);
	end(server);
}

/* Everything that asks for events or has a zone's turn, at once: also for ThreadSanitizer. */
static void run_event_storm(void *arg)
{
	storm_t *storm = arg;
	static const char *const names[] = { "a", "b", "c" };
	while (sys_clock_ms() < storm->until_ms) {
		uint8_t wire[KNOT_NAME_MAX];
		knot_name_t name = name_of(names[storm->rounds++ % 3], wire);
		const server_author_t nobody = { .who = "" };
		server_commit_t commit;
		server_ticket_t ticket = 0;
		knot_err_t err = KNOT_OK;
		if (storm->number == 0) {
			err = server_zone_freeze(storm->server, name, storm->rounds % 2 == 0, &ticket);
			err = err == KNOT_OK && ticket != 0 ? server_zone_wait(storm->server, name, ticket) : err;
		} else if (storm->number == 1) {
			const server_serial_t serial = { .is_increment = true, .number = 1 };
			err = server_set_serial(storm->server, name, &serial, &nobody, &commit);
			assert_true(err == KNOT_OK || err == KNOT_ETXNMANY || err == KNOT_EEMPTYZONE);
		} else if (storm->number == 2) {
			err = server_zone_flush(storm->server, name, true, &ticket);
			err = err == KNOT_OK ? server_zone_wait(storm->server, name, ticket) : err;
			assert_int_equal(err, KNOT_OK);
		} else if (storm->number == 3) {
			assert_int_equal(server_edit_begin(storm->server, name, false), KNOT_OK);
			err = storm->rounds % 2 == 0 ? server_edit_abort(storm->server, name)
						     : server_edit_commit(storm->server, name, &nobody, &commit);
			assert_int_equal(err, KNOT_OK);
		} else {
			for (int event = 0; event < EVENT_COUNT; event++) {
				(void)server_zone_event(storm->server, name, (event_t)event);
			}
			(void)server_counts(storm->server);
			assert_int_equal(server_zone_ask(storm->server, name, EVENT_LOAD, 0, NULL), KNOT_OK);
		}
	}
}

static void test_storm_of_events(void **state)
{
	(void)state;
	write_zone("a", 1);
	write_zone("b", 1);
	write_zone("c", 1);
	server_t *server = start("a b c");
	server_load_zones(server);
	assert_true(server_wait_loaded(server, WAIT_MS));
	storm_t storms[5];
	sys_thread_t threads[5];
	uint64_t until_ms = sys_clock_ms() + 1000;
	for (unsigned i = 0; i < 5; i++) {
		storms[i] = (storm_t){ .server = server, .number = i, .until_ms = until_ms };
		threads[i] = (sys_thread_t){ .name = "storm", .cpu = -1, .run = run_event_storm, .arg = &storms[i] };
		assert_int_equal(sys_thread_start(&threads[i]), KNOT_OK);
	}
	for (unsigned i = 0; i < 5; i++) {
		sys_thread_join(&threads[i]);
		assert_true(storms[i].rounds > 3);
	}
	static const char *const names[] = { "a", "b", "c" };
	assert_false(server_edits_are_open(server));
	for (size_t i = 0; i < 3; i++) {
		uint8_t wire[KNOT_NAME_MAX];
		knot_name_t name = name_of(names[i], wire);
		server_ticket_t ticket;
		assert_int_equal(server_zone_freeze(server, name, false, &ticket), KNOT_OK);
		server_wait_idle(server);
		for (int event = 0; event < EVENT_COUNT; event++) {
			assert_int_equal(server_zone_event(server, name, (event_t)event).state, SERVER_EVENT_IDLE);
		}
		assert_true(serial_of(server, names[i]) > 1);
	}
	end(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loading_at_start),
		cmocka_unit_test(test_results_of_jobs),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_unchanged_zone_is_not_loaded),
		cmocka_unit_test(test_stop_ends_waiting),
		cmocka_unit_test(test_asked_zone_goes_first),
		cmocka_unit_test(test_lately_asked_zones_go_first),
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_no_wait_for_what_is_held_back),
		cmocka_unit_test(test_storm_of_events),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
