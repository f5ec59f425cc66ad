/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/thread.h"

#include <assert.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/sys/counters.h"
#include "src/sys/rcu.h"

#ifdef SYS_RCU_TSAN
char sys_rcu_tsan_tag;
#endif

/* If a call fails, the thread keeps its normal priority. */
static void be_humble(void)
{
	enum {
		NICE = 10,
		IOPRIO_WHO_PROCESS = 1,
		IOPRIO_LOWEST = 2 << 13 | 7
	}; /* linux/ioprio.h: best effort, level 7 */
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_LOWEST);
}

/* What the kernel calls struct sched_attr (sched_setattr(2)); some C libraries declare it, others don't. */
typedef struct {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime; /* ns */
	uint64_t deadline;
	uint64_t period;
} sched_values_t;

/*
 * Ask for short slices of CPU time, and so to come first where threads of equal rights meet: an answer doesn't wait
 * until a commit or a program has used up its slice, which are some milliseconds. The thread's share of the CPU stays
 * the same, as a higher priority would change it: commands must get through a flood of queries, too. Kernels before
 * 6.12 take no notice; if a call fails, or the operator has chosen another policy, all stays as it is.
 */
static void be_prompt(void)
{
	enum {
		SLICE_NS = 100 * 1000, /* the shortest that the kernel gives */
	};
	sched_values_t values = { .size = sizeof(values) };
	if (syscall(SYS_sched_getattr, 0, &values, sizeof(values), 0) == 0 && values.policy == SCHED_OTHER) {
		values.runtime = SLICE_NS;
		(void)syscall(SYS_sched_setattr, 0, &values, 0);
	}
}

static void *thread_main(void *arg)
{
	sys_thread_t *thread = arg;
	if (thread->yields) {
		be_humble();
	}
	if (thread->answers) {
		be_prompt();
	}
	sys_rcu_register();
	if (thread->counts) {
		sys_slot_take();
	}
	thread->run(thread->arg);
	if (thread->counts) {
		sys_slot_give();
	}
	sys_rcu_unregister();
	return NULL;
}

knot_err_t sys_thread_start(sys_thread_t *thread)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = pthread_create(&thread->id, NULL, thread_main, thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err != 0) {
		return knot_err_of_errno(err);
	}
	thread->started = true;
	pthread_setname_np(thread->id, thread->name);
	if (thread->cpu >= 0) {
		cpu_set_t set;
		CPU_ZERO(&set);
		CPU_SET((unsigned)thread->cpu, &set);
		/* A CPU outside of our cpuset: the thread then runs where it may, and the start still succeeds. */
		(void)pthread_setaffinity_np(thread->id, sizeof(set), &set);
	}
	return KNOT_OK;
}

void sys_thread_join(sys_thread_t *thread)
{
	assert(!sys_rcu_is_reading()); /* it may be waited for by the thread that ends */
	if (thread->started) {
		pthread_join(thread->id, NULL);
		thread->started = false;
	}
}

unsigned sys_cpu_count(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);
	return count > 0 ? (unsigned)count : 1;
}
