/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/jobs.h"

#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "src/sys/clock.h"

/* A pool of one worker and two zones, whose events do nothing but leave a letter and may fail. */
static jobs_t jobs;
static entry_t *zones[2];
static char ran[64]; /* under the lock of the jobs: "L" a load of the first zone, "f" a flush of the second */
static knot_err_t results[EVENT_COUNT];
static entry_t *urgent;
static cpu_set_t cpus;  /* that the worker had in the last event; under the lock */
static bool is_blocked; /* loads wait until it is false */
static bool is_outside; /* and that it is something outside that they wait for is said */
static bool may_stall;  /* or only that it may be */
static unsigned told;   /* stalls that were found */

static knot_err_t run_event(entry_t *entry, event_t event, unsigned how, job_outcome_t *ret_outcome, void *ctx)
{
	(void)ctx;
	char letter = event == EVENT_LOAD ? 'l' : 'f';
	bool is_stepping = event == EVENT_LOAD && is_outside, is_stalling = event == EVENT_LOAD && may_stall;
	jobs_stall_t stall;
	if (is_stalling) {
		jobs_may_stall(&jobs, entry, &stall);
	}
	if (is_stepping) {
		jobs_step_out(&jobs);
	}
	sys_mutex_lock(&jobs.lock);
	pthread_cond_broadcast(&jobs.ended);
	while (event == EVENT_LOAD && is_blocked) {
		jobs_wait(&jobs);
	}
	sys_mutex_unlock(&jobs.lock);
	if (is_stepping) {
		jobs_step_in(&jobs);
	}
	if (is_stalling) {
		jobs_goes_on(&jobs, &stall);
	}
	sys_mutex_lock(&jobs.lock);
	(void)sched_getaffinity(0, sizeof(cpus), &cpus);
	size_t len = strlen(ran);
	assert(len + 3 < sizeof(ran));
	ran[len] = (char)(entry == zones[0] ? letter - 'a' + 'A' : letter);
	ran[len + 1] = (how & EVENT_BY_FORCE) != 0 ? '!' : '\0';
	ran[len + 2] = '\0';
	ret_outcome->load = event == EVENT_LOAD && results[event] != KNOT_OK ? LOAD_FAILED : LOAD_UNCHANGED;
	knot_err_t err = results[event];
	sys_mutex_unlock(&jobs.lock);
	return err;
}

static entry_t *urgent_zone(void *ctx)
{
	(void)ctx;
	return urgent;
}

static void after_event(entry_t *entry, event_t event, knot_err_t result, job_outcome_t outcome, void *ctx)
{
	(void)entry, (void)event, (void)result, (void)outcome, (void)ctx;
}

static int setup(void **state)
{
	(void)state;
	static const uint8_t a[] = { 1, 'a', 0 }, b[] = { 1, 'b', 0 };
	const jobs_params_t calls = { .run = run_event, .urgent = urgent_zone, .after = after_event };
	sys_rcu_register();
	ran[0] = '\0';
	memset(results, 0, sizeof(results));
	urgent = NULL;
	zones[0] = entry_new(knot_name_of(a));
	zones[1] = entry_new(knot_name_of(b));
	jobs_init(&jobs, 1, &calls);
	jobs.untried = 2;
	sys_mutex_lock(&jobs.lock);
	knot_err_t err = jobs_reserve(&jobs, 2);
	sys_mutex_unlock(&jobs.lock);
	return zones[0] != NULL && zones[1] != NULL && err == KNOT_OK ? 0 : -1;
}

/* Two workers that have slept since there was nothing to do. */
static int setup_two(void **state)
{
	int result = setup(state);
	jobs.worker_count = 2;
	return result;
}

static int teardown(void **state)
{
	(void)state;
	jobs_stop(&jobs);
	for (size_t i = 0; i < 2; i++) {
		if (zones[i] != NULL) {
			entry_free(zones[i]);
		}
	}
	jobs_deinit(&jobs);
	sys_rcu_unregister();
	return 0;
}

/* Let the worker do all that may run, and compare what it did since the last time. Under lock. */
static void expect(const char *want) SYS_REQUIRES(jobs.lock)
{
	while (!jobs_are_idle(&jobs)) {
		jobs_wait(&jobs);
	}
	assert_string_equal(ran, want);
	ran[0] = '\0';
}

static void start(void) SYS_ACQUIRES(jobs.lock)
{
	assert_int_equal(jobs_start(&jobs), KNOT_OK);
	sys_mutex_lock(&jobs.lock);
}

static void test_order(void **state)
{
	(void)state;
	uint64_t now_ms = sys_clock_ms();
	sys_mutex_lock(&jobs.lock);
	/* Equal times: by the table within a zone, in the order of planning between zones. */
	jobs_plan(&jobs, zones[1], EVENT_FLUSH, now_ms, 0);
	jobs_plan(&jobs, zones[0], EVENT_FLUSH, now_ms, EVENT_BY_FORCE);
	jobs_plan(&jobs, zones[0], EVENT_LOAD, now_ms, 0);
	sys_mutex_unlock(&jobs.lock);
	start();
	expect("fLF!");
	/* The earlier time first, whatever the table says; the earlier of two times holds. */
	now_ms = sys_clock_ms() + 20;
	jobs_plan(&jobs, zones[0], EVENT_LOAD, now_ms + 20, 0);
	jobs_plan(&jobs, zones[0], EVENT_FLUSH, now_ms + 60000, 0);
	jobs_plan(&jobs, zones[0], EVENT_FLUSH, now_ms, 0);
	jobs_plan(&jobs, zones[0], EVENT_FLUSH, now_ms + 30000, 0);
	while (zones[0]->events != 0) {
		jobs_wait(&jobs);
	}
	expect("FL");
	assert_true(sys_clock_ms() >= now_ms + 20);
	sys_mutex_unlock(&jobs.lock);
}

static void test_urgent_zone_is_loaded_first(void **state)
{
	(void)state;
	sys_mutex_lock(&jobs.lock);
	jobs_ask(&jobs, zones[0], EVENT_LOAD, 0);
	jobs_ask(&jobs, zones[0], EVENT_FLUSH, 0);
	jobs_ask(&jobs, zones[1], EVENT_LOAD, 0);
	urgent = zones[1];
	sys_mutex_unlock(&jobs.lock);
	start();
	expect("lLF");
	sys_mutex_unlock(&jobs.lock);
}

/* While the job of the worker that slept until the first event was due takes long, the other one runs the second. */
static void test_long_job_delays_no_other_zone(void **state)
{
	(void)state;
	struct timespec end = sys_clock_until(CLOCK_MONOTONIC, 20000);
	is_blocked = true;
	start();
	while (jobs.idle < 2) {
		sys_mutex_unlock(&jobs.lock);
		sys_clock_sleep_ns(1000000);
		sys_mutex_lock(&jobs.lock);
	}
	jobs_plan(&jobs, zones[0], EVENT_LOAD, sys_clock_ms() + 50, 0);
	jobs_plan(&jobs, zones[1], EVENT_FLUSH, sys_clock_ms() + 100, 0);
	bool is_late = false;
	while ((zones[1]->events != 0 || zones[1]->is_running) && !is_late) {
		is_late = !sys_mutex_wait_until(&jobs.lock, &jobs.ended, &end);
	}
	is_blocked = false;
	pthread_cond_broadcast(&jobs.ended);
	sys_mutex_unlock(&jobs.lock);
	assert_false(is_late);
	sys_mutex_lock(&jobs.lock);
	expect("fL");
	sys_mutex_unlock(&jobs.lock);
}

static void test_frozen(void **state)
{
	(void)state;
	start();
	zones[0]->frozen = true;
	uint64_t now_ms = sys_clock_ms();
	jobs_plan(&jobs, zones[0], EVENT_LOAD, now_ms - 1, 0);
	jobs_plan(&jobs, zones[0], EVENT_FLUSH, now_ms - 2, 0);
	expect("");
	assert_false(jobs_is_pending(&jobs, zones[0], zones[0]->events));
	/* By name it runs, and only what was named. */
	jobs_ask(&jobs, zones[0], EVENT_LOAD, EVENT_BY_OPERATOR);
	expect("L");
	jobs_plan(&jobs, zones[0], EVENT_LOAD, now_ms - 1, 0);
	expect("");
	/* What waited runs in the order of its time. */
	zones[0]->frozen = false;
	jobs_release(&jobs, zones[0]);
	assert_true(jobs_is_pending(&jobs, zones[0], zones[0]->events));
	expect("FL");
	sys_mutex_unlock(&jobs.lock);
}

static void wait_for_end(void *arg)
{
	sem_wait(arg);
}

/* Only at a start loads use the CPUs of threads that answer. */
static void test_processors(void **state)
{
	(void)state;
	cpu_set_t all;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	if (CPU_COUNT(&all) < 2) {
		print_message("one CPU: there is nowhere to step\n");
		return;
	}
	int cpu = 0;
	while (!CPU_ISSET(cpu, &all)) {
		cpu++;
	}
	sem_t end;
	sem_init(&end, 0, 0);
	sys_thread_t answering = { .name = "answers", .cpu = cpu, .answers = true, .run = wait_for_end, .arg = &end };
	assert_int_equal(sys_thread_start(&answering), KNOT_OK);
	start();
	jobs_ask(&jobs, zones[0], EVENT_LOAD, 0);
	expect("L");
	assert_true(CPU_EQUAL(&cpus, &all));
	jobs_ask(&jobs, zones[0], EVENT_FLUSH, 0);
	expect("F");
	assert_false(CPU_ISSET(cpu, &cpus));
	jobs_ask(&jobs, zones[1], EVENT_LOAD, 0);
	expect("l");
	assert_true(CPU_EQUAL(&cpus, &all));
	jobs_ask(&jobs, zones[1], EVENT_LOAD, 0);
	expect("l");
	assert_false(CPU_ISSET(cpu, &cpus));
	assert_int_equal(CPU_COUNT(&cpus), CPU_COUNT(&all) - 1);
	sys_mutex_unlock(&jobs.lock);
	sem_post(&end);
	sys_thread_join(&answering);
	sem_destroy(&end);
}

static void test_edited(void **state)
{
	(void)state;
	start();
	zones[0]->edited = true;
	jobs_ask(&jobs, zones[0], EVENT_LOAD, EVENT_BY_OPERATOR);
	jobs_ask(&jobs, zones[0], EVENT_FLUSH, 0);
	expect("F");
	zones[0]->edited = false;
	jobs_release(&jobs, zones[0]);
	expect("L");
	sys_mutex_unlock(&jobs.lock);
}

static void test_cancelling(void **state)
{
	(void)state;
	start();
	zones[0]->frozen = true;
	server_ticket_t ticket = jobs_ask(&jobs, zones[0], EVENT_FLUSH, 0);
	assert_false(jobs_has_ended(&jobs, zones[0], ticket));
	jobs_cancel(&jobs, zones[0], EVENT_FLUSH);
	jobs_cancel(&jobs, zones[0], EVENT_LOAD);
	assert_true(jobs_has_ended(&jobs, zones[0], ticket));
	assert_int_equal(zones[0]->events, 0);
	/* What an operator requested stays. */
	zones[0]->edited = true;
	ticket = jobs_ask(&jobs, zones[0], EVENT_LOAD, EVENT_BY_OPERATOR);
	jobs_cancel(&jobs, zones[0], EVENT_LOAD);
	assert_false(jobs_has_ended(&jobs, zones[0], ticket));
	expect("");
	zones[0]->edited = false;
	jobs_release(&jobs, zones[0]);
	expect("L");
	assert_true(jobs_has_ended(&jobs, zones[0], ticket));
	sys_mutex_unlock(&jobs.lock);
}

/* A thread that has the zone's turn holds its events back, and no others. */
static void test_turn(void **state)
{
	(void)state;
	start();
	jobs_begin(&jobs, zones[0]);
	server_ticket_t ticket = jobs_ask(&jobs, zones[0], EVENT_LOAD, EVENT_BY_OPERATOR);
	server_ticket_t other = jobs_ask(&jobs, zones[1], EVENT_FLUSH, 0);
	while (!jobs_has_ended(&jobs, zones[1], other)) {
		jobs_wait(&jobs);
	}
	assert_string_equal(ran, "f");
	assert_false(jobs_has_ended(&jobs, zones[0], ticket));
	server_ticket_t turn = zones[0]->ticket; /* of the turn itself: freezing waits for it */
	assert_false(jobs_has_ended(&jobs, zones[0], turn));
	assert_true(jobs_is_pending(&jobs, zones[0], zones[0]->events));
	jobs_end(&jobs, zones[0], (job_outcome_t){ .load = LOAD_UNCHANGED, .keeps_result = true }, KNOT_OK);
	assert_true(jobs_has_ended(&jobs, zones[0], turn));
	expect("fL");
	assert_true(jobs_has_ended(&jobs, zones[0], ticket));
	sys_mutex_unlock(&jobs.lock);
}

static void fail_with(event_t event, knot_err_t err) SYS_REQUIRES(jobs.lock)
{
	results[event] = err;
	jobs_ask(&jobs, zones[0], event, 0);
	expect(event == EVENT_LOAD ? "L" : "F");
}

/* A failure ends with the event that failed, or with what renews the zone. */
static void test_failures(void **state)
{
	(void)state;
	start();
	fail_with(EVENT_LOAD, KNOT_EPARSEFAIL);
	fail_with(EVENT_FLUSH, KNOT_OK);
	assert_int_equal(zones[0]->result, KNOT_EPARSEFAIL);
	assert_int_equal(zones[0]->failed, EVENT_LOAD);
	fail_with(EVENT_FLUSH, KNOT_ENOSPC);
	assert_int_equal(zones[0]->result, KNOT_ENOSPC);
	fail_with(EVENT_FLUSH, KNOT_OK);
	assert_int_equal(zones[0]->result, KNOT_OK);
	fail_with(EVENT_FLUSH, KNOT_ENOSPC);
	fail_with(EVENT_LOAD, KNOT_OK);
	assert_int_equal(zones[0]->result, KNOT_OK);
	fail_with(EVENT_LOAD, KNOT_EPARSEFAIL);
	jobs_begin(&jobs, zones[0]);
	jobs_end(&jobs, zones[0], (job_outcome_t){ .load = LOAD_EDITED }, KNOT_OK);
	assert_int_equal(zones[0]->result, KNOT_OK);
	fail_with(EVENT_BACKUP, KNOT_EMALF);
	fail_with(EVENT_LOAD, KNOT_OK); /* follows a restore; whoever waits for that may look later */
	assert_int_equal(zones[0]->result, KNOT_EMALF);
	fail_with(EVENT_BACKUP, KNOT_OK);
	assert_int_equal(zones[0]->result, KNOT_OK);
	assert_int_equal(jobs.errors, 4);
	sys_mutex_unlock(&jobs.lock);
}

/* The greatest and least errors that there are fit the bits. */
static void test_errors_fit(void **state)
{
	(void)state;
	static const knot_err_t errs[] = {
#define KNOT_ERR(name, text) name,
#include "libknot/base/err.def"
#undef KNOT_ERR
		KNOT_ENOENT, KNOT_ERR_BASE, (knot_err_t)-133 /* EHWPOISON, Linux's last */
	};
	for (size_t i = 0; i < KNOT_LEN(errs); i++) {
		zones[0]->result = errs[i];
		assert_int_equal(zones[0]->result, errs[i]);
	}
	zones[0]->result = KNOT_OK;
}

static void test_removed_zones(void **state)
{
	(void)state;
	start();
	zones[0]->frozen = true;
	server_ticket_t ticket = jobs_ask(&jobs, zones[0], EVENT_FLUSH, 0);
	jobs_plan(&jobs, zones[0], EVENT_LOAD, sys_clock_ms() + 60000, 0);
	assert_true(jobs_let_go(&jobs, zones[0])); /* none works on it: it is the caller's to free */
	assert_true(jobs_has_ended(&jobs, zones[0], ticket));
	assert_int_equal(jobs.agenda.count, 0);
	jobs_begin(&jobs, zones[1]);
	jobs_ask(&jobs, zones[1], EVENT_LOAD, 0);
	assert_false(jobs_let_go(&jobs, zones[1]));
	assert_int_equal(jobs.agenda.count, 0);
	jobs_end(&jobs, zones[1], (job_outcome_t){ .load = LOAD_UNCHANGED }, KNOT_OK); /* frees it */
	zones[1] = NULL;
	expect("");
	sys_mutex_unlock(&jobs.lock);
}

/* So many refreshes go on that others wait, but for one that is asked for by NOTIFY. */
static void test_refreshes_wait(void **state)
{
	(void)state;
	start();
	jobs.refreshing = JOBS_REFRESHES_MAX;
	jobs_plan(&jobs, zones[0], EVENT_REFRESH, sys_clock_ms() - 100, 0);
	jobs_plan(&jobs, zones[1], EVENT_REFRESH, JOBS_DUE_BY_NOTIFY, 0);
	expect("f");
	assert_int_equal(jobs.refreshing, JOBS_REFRESHES_MAX);
	jobs.refreshing--;
	jobs_ask(&jobs, zones[1], EVENT_LOAD, 0);
	expect("Fl"); /* by time, as other events */
	jobs.refreshing = 0;
	sys_mutex_unlock(&jobs.lock);
}

/* The only worker waits for something outside: another thread does what is due, and ends when the worker is back. */
static void test_substitute(void **state)
{
	(void)state;
	is_blocked = is_outside = true;
	start();
	for (unsigned round = 0; round < 3; round++) {
		jobs_ask(&jobs, zones[0], EVENT_LOAD, 0);
		for (unsigned i = 0; i < 2; i++) { /* the second one finds the substitute idle */
			server_ticket_t ticket = jobs_ask(&jobs, zones[1], EVENT_FLUSH, 0);
			while (!jobs_has_ended(&jobs, zones[1], ticket)) {
				jobs_wait(&jobs);
			}
		}
		assert_string_equal(ran, "ff");
		assert_int_equal(jobs.outside, 1);
		is_blocked = false;
		pthread_cond_broadcast(&jobs.ended);
		expect("ffL");
		assert_int_equal(jobs.outside, 0);
		is_blocked = true;
	}
	jobs_ask(&jobs, zones[0], EVENT_LOAD, 0);
	while (jobs.outside == 0) {
		jobs_wait(&jobs);
	}
	is_blocked = is_outside = false;
	pthread_cond_broadcast(&jobs.ended);
	expect("L");
	sys_mutex_unlock(&jobs.lock);
	jobs_stop(&jobs);
	assert_int_equal(jobs.spare_count, 0);
	assert_null(jobs.spares);
}

static void count_stall(knot_name_t zone)
{
	assert_true(knot_name_eq(zone, entry_name(zones[0])));
	told++;
}

/* What lasts too long is found by who looks, once, and another thread does what is due; what doesn't last is left
 * alone. */
static void test_stall(void **state)
{
	(void)state;
	is_blocked = may_stall = true;
	told = 0;
	start();
	jobs_ask(&jobs, zones[0], EVENT_LOAD, 0);
	while (jobs.stalls == NULL) {
		jobs_wait(&jobs);
	}
	uint64_t since_ms = jobs.stalls->since_ms;
	sys_mutex_unlock(&jobs.lock);
	jobs_look_for_stalls(&jobs, since_ms + JOBS_STALL_MS - 1, count_stall);
	assert_int_equal(told, 0);
	jobs_look_for_stalls(&jobs, since_ms + JOBS_STALL_MS, count_stall);
	jobs_look_for_stalls(&jobs, since_ms + 2 * JOBS_STALL_MS, count_stall);
	assert_int_equal(told, 1);
	sys_mutex_lock(&jobs.lock);
	server_ticket_t ticket = jobs_ask(&jobs, zones[1], EVENT_FLUSH, 0);
	while (!jobs_has_ended(&jobs, zones[1], ticket)) {
		jobs_wait(&jobs);
	}
	assert_string_equal(ran, "f");
	assert_int_equal(jobs.outside, 1);
	is_blocked = may_stall = false;
	pthread_cond_broadcast(&jobs.ended);
	expect("fL");
	assert_int_equal(jobs.outside, 0);
	assert_null(jobs.stalls);
	sys_mutex_unlock(&jobs.lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_urgent_zone_is_loaded_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_job_delays_no_other_zone, setup_two, teardown),
		cmocka_unit_test_setup_teardown(test_frozen, setup, teardown),
		cmocka_unit_test_setup_teardown(test_processors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_edited, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refreshes_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cancelling, setup, teardown),
		cmocka_unit_test_setup_teardown(test_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failures, setup, teardown),
		cmocka_unit_test_setup_teardown(test_errors_fit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_removed_zones, setup, teardown),
		cmocka_unit_test_setup_teardown(test_substitute, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stall, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
