/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/lock.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* What is tried in a process of its own; a copy for each. */
static sys_mutex_t mutex;
static sys_rwlock_t rwlock;

static void try_mutex(void)
{
	sys_mutex_lock(&mutex);
	sys_mutex_unlock(&mutex);
}

static void try_mutex_brief(void)
{
	sys_mutex_lock_brief(&mutex);
	sys_mutex_unlock(&mutex);
}

static void try_mutex_at_once(void)
{
	if (sys_mutex_try(&mutex)) {
		sys_mutex_unlock(&mutex);
	}
}

static void try_read(void)
{
	sys_rwlock_read(&rwlock);
	sys_rwlock_end_read(&rwlock);
}

static void try_read_brief(void)
{
	sys_rwlock_read_brief(&rwlock);
	sys_rwlock_end_read(&rwlock);
}

static void try_write(void)
{
	sys_rwlock_write(&rwlock);
	sys_rwlock_end_write(&rwlock);
}

static void try_rcu_wait(void)
{
	sys_rcu_wait();
}

static void try_second_section(void)
{
	RCU_READ_SECTION(guard);
	(void)guard;
}

static void try_twice(void) SYS_UNCHECKED_LOCKS
{
	sys_mutex_lock(&mutex);
	sys_mutex_lock(&mutex);
}

static void try_unlock(void) SYS_UNCHECKED_LOCKS
{
	sys_mutex_unlock(&mutex);
}

static void try_held(void)
{
	sys_mutex_assert_held(&mutex);
}

static void run_in_child(void (*try)(void), bool in_section)
{
	const struct rlimit none = { 0, 0 };
	(void)setrlimit(RLIMIT_CORE, &none);
	(void)signal(SIGABRT, SIG_DFL); /* the test's own handler would report a failure */
	(void)freopen("/dev/null", "w", stderr);
	sys_rcu_register();
	if (in_section) {
		RCU_READ_SECTION(guard);
		(void)guard;
		try();
	} else {
		try();
	}
	_exit(0);
}

/* True if the assertion ends the process. */
static bool dies(void (*try)(void), bool in_section)
{
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		run_in_child(try, in_section);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true((WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) ||
			(WIFEXITED(status) && WEXITSTATUS(status) == 0));
	return WIFSIGNALED(status);
}

static void test_rules(void **state)
{
	(void)state;
#ifdef NDEBUG
	skip(); /* a build without assertions */
#endif
	static const struct {
		const char *what;
		void (*try)(void);
		bool dies_outside, dies_in_section;
	} rows[] = {
		{ "a lock", try_mutex, false, true },
		{ "a brief lock", try_mutex_brief, false, false },
		{ "a lock if it is free", try_mutex_at_once, false, false },
		{ "a lock for readers", try_read, false, true },
		{ "a brief lock for readers", try_read_brief, false, false },
		{ "a lock for a writer", try_write, false, true },
		{ "waiting for readers", try_rcu_wait, false, true },
		{ "a section", try_second_section, false, true },
		{ "a lock that the thread holds", try_twice, true, true },
		{ "giving back what isn't held", try_unlock, true, true },
		{ "saying that it is held", try_held, true, true },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool outside = dies(rows[i].try, false), in_section = dies(rows[i].try, true);
		if (outside != rows[i].dies_outside || in_section != rows[i].dies_in_section) {
			fail_msg("%s: outside %d, in a section %d", rows[i].what, outside, in_section);
		}
	}
}

int main(void)
{
	sys_mutex_init(&mutex);
	sys_rwlock_init(&rwlock);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
