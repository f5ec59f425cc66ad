/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/thread.h"

#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "libknot/base/err.h"
#include "src/sys/rcu.h"

static cpu_set_t cpus_now(void)
{
	cpu_set_t set;
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	return set;
}

static int first_of(const cpu_set_t *set)
{
	int cpu = 0;
	while (!CPU_ISSET(cpu, set)) {
		cpu++;
	}
	return cpu;
}

typedef struct {
	sys_thread_t thread;
	sem_t end;
} answering_t;

static void run_until(void *arg)
{
	sem_wait(arg);
}

static void run_look(void *arg)
{
	CPU_ZERO((cpu_set_t *)arg);
	(void)sched_getaffinity(0, sizeof(cpu_set_t), arg);
}

static void start_answering(answering_t *answering, int cpu)
{
	sem_init(&answering->end, 0, 0);
	answering->thread = (sys_thread_t){
		.name = "answers", .cpu = cpu, .answers = true, .run = run_until, .arg = &answering->end
	};
	assert_int_equal(sys_thread_start(&answering->thread), KNOT_OK);
}

static void stop_answering(answering_t *answering)
{
	sem_post(&answering->end);
	sys_thread_join(&answering->thread);
	sem_destroy(&answering->end);
}

/* Two CPUs, whatever the machine has more: {first, second}. False: it has one. */
static bool have_two(cpu_set_t *ret_two)
{
	cpu_set_t all = cpus_now();
	CPU_ZERO(ret_two);
	for (int i = 0; i < 2 && CPU_COUNT(&all) > 0; i++) {
		int cpu = first_of(&all);
		CPU_CLR(cpu, &all);
		CPU_SET(cpu, ret_two);
	}
	if (CPU_COUNT(ret_two) < 2) {
		print_message("one CPU: there is nowhere to step\n");
		return false;
	}
	assert_int_equal(sched_setaffinity(0, sizeof(*ret_two), ret_two), 0);
	return true;
}

static void steps_aside_and_back(void **state)
{
	(void)state;
	cpu_set_t before = cpus_now(), two, now, seen;
	if (!have_two(&two)) {
		return;
	}
	int taken = first_of(&two);
	cpu_set_t other = two;
	CPU_CLR(taken, &other);

	answering_t answering;
	sys_thread_t plain = { .name = "plain", .cpu = -1, .run = run_look, .arg = &seen };
	start_answering(&answering, taken);
	now = cpus_now();
	assert_true(CPU_EQUAL(&now, &two)); /* only what asks for it steps aside */
	sys_thread_step_aside();
	now = cpus_now();
	assert_true(CPU_EQUAL(&now, &other));

	/* What it starts doesn't. */
	assert_int_equal(sys_thread_start(&plain), KNOT_OK);
	sys_thread_join(&plain);
	assert_true(CPU_EQUAL(&seen, &two));
	now = cpus_now();
	assert_true(CPU_EQUAL(&now, &other));

	sys_thread_step_back();
	now = cpus_now();
	assert_true(CPU_EQUAL(&now, &two));
	sys_thread_step_aside();
	stop_answering(&answering);
	sys_thread_step_aside();
	now = cpus_now();
	assert_true(CPU_EQUAL(&now, &two));
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

static void stays_where_nothing_is_free(void **state)
{
	(void)state;
	cpu_set_t before = cpus_now(), two, now;
	if (!have_two(&two)) {
		return;
	}
	cpu_set_t rest = two;
	int taken = first_of(&two);
	CPU_CLR(taken, &rest);
	answering_t answering[2];
	start_answering(&answering[0], taken);
	sys_thread_step_aside();
	start_answering(&answering[1], first_of(&rest));
	sys_thread_step_aside();
	now = cpus_now();
	assert_true(CPU_EQUAL(&now, &two));
	stop_answering(&answering[0]);
	sys_thread_step_aside();
	now = cpus_now();
	assert_int_equal(CPU_COUNT(&now), 1);
	assert_true(CPU_ISSET(taken, &now));
	stop_answering(&answering[1]);
	sys_thread_step_aside();
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

static void heeds_the_operator(void **state)
{
	(void)state;
	cpu_set_t before = cpus_now(), two, one, now;
	if (!have_two(&two)) {
		return;
	}
	int taken = first_of(&two);
	CPU_ZERO(&one);
	CPU_SET(taken, &one);
	answering_t answering;
	start_answering(&answering, taken);
	sys_thread_step_aside();
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0); /* taskset */
	sys_thread_step_back();
	now = cpus_now();
	assert_true(CPU_EQUAL(&now, &one));
	sys_thread_step_aside();
	now = cpus_now();
	assert_true(CPU_EQUAL(&now, &one)); /* it has no other */
	stop_answering(&answering);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

/* Workers are pinned within the daemon's CPUs, also where the first of the machine isn't among them. */
static void pins_within_what_it_has(void **state)
{
	(void)state;
	cpu_set_t before = cpus_now(), two, one;
	if (!have_two(&two)) {
		return;
	}
	cpu_set_t rest = two;
	int first = first_of(&two);
	CPU_CLR(first, &rest);
	int second = first_of(&rest);
	const int want[] = { first, second, first, second };
	for (unsigned i = 0; i < KNOT_LEN(want); i++) {
		assert_int_equal(sys_cpu_nth(i), want[i]);
	}

	/* The same for a thread that has stepped aside. */
	answering_t answering;
	start_answering(&answering, first);
	sys_thread_step_aside();
	assert_int_equal(sys_cpu_nth(0), first);
	sys_thread_step_back();
	stop_answering(&answering);

	CPU_ZERO(&one);
	CPU_SET(second, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(sys_cpu_nth(i), second);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_aside_and_back),
		cmocka_unit_test(stays_where_nothing_is_free),
		cmocka_unit_test(heeds_the_operator),
		cmocka_unit_test(pins_within_what_it_has),
	};
	sys_rcu_register();
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	sys_rcu_unregister();
	return failed;
}
