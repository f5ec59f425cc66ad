/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/thread.h"

#include <assert.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
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

/* ---- CPUs of threads that answer ---- */

/* What steps aside needs a quarter of the CPUs: few would hold up what all background threads have to do. */
enum { SHARE_MIN = 4 };

/* How many threads that answer are pinned to each CPU, and how often that has changed. */
static _Atomic unsigned alone_on[CPU_SETSIZE];
static _Atomic unsigned alone_changes;

/* Of a thread that steps aside: the state of alone_changes that it knows, the CPUs that it had and those that it kept.
 */
static _Thread_local struct {
	unsigned changes;
	bool is_aside;
	cpu_set_t had, kept;
} own;

static void thread_begin_alone(sys_thread_t *thread)
{
	thread->is_alone = true;
	atomic_fetch_add(&alone_on[thread->cpu], 1);
	atomic_fetch_add(&alone_changes, 1);
}

static void thread_end_alone(sys_thread_t *thread)
{
	thread->is_alone = false;
	atomic_fetch_sub(&alone_on[thread->cpu], 1);
	atomic_fetch_add(&alone_changes, 1);
}

void sys_thread_step_back(void)
{
	cpu_set_t now;
	if (own.is_aside && sched_getaffinity(0, sizeof(now), &now) == 0 && CPU_EQUAL(&now, &own.kept)) {
		(void)sched_setaffinity(0, sizeof(own.had), &own.had);
	}
	own.is_aside = false;
	own.changes = 0;
}

void sys_thread_step_aside(void)
{
	unsigned changes = atomic_load(&alone_changes);
	if (changes == own.changes) {
		return;
	}
	sys_thread_step_back();
	own.changes = changes;
	if (sched_getaffinity(0, sizeof(own.had), &own.had) != 0) {
		return; /* more CPUs than a set has room for */
	}
	CPU_ZERO(&own.kept);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &own.had) && atomic_load(&alone_on[cpu]) == 0) {
			CPU_SET(cpu, &own.kept);
		}
	}
	bool has_room = CPU_COUNT(&own.kept) * SHARE_MIN >= CPU_COUNT(&own.had) && !CPU_EQUAL(&own.kept, &own.had);
	own.is_aside = has_room && sched_setaffinity(0, sizeof(own.kept), &own.kept) == 0;
}

/* ---- Start and end ---- */

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

static knot_err_t thread_create(sys_thread_t *thread)
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
	thread->is_alone = false;
	if (thread->cpu >= 0 && thread->cpu < CPU_SETSIZE) {
		cpu_set_t set;
		CPU_ZERO(&set);
		CPU_SET((unsigned)thread->cpu, &set);
		/* A CPU outside of our cpuset: the thread then runs where it may, and the start still succeeds. */
		if (pthread_setaffinity_np(thread->id, sizeof(set), &set) == 0 && thread->answers) {
			thread_begin_alone(thread);
		}
	}
	return KNOT_OK;
}

knot_err_t sys_thread_start(sys_thread_t *thread)
{
	bool is_aside = own.is_aside;
	sys_thread_step_back(); /* it begins with the CPUs of the one that starts it */
	knot_err_t err = thread_create(thread);
	if (is_aside) {
		sys_thread_step_aside();
	}
	return err;
}

void sys_thread_join(sys_thread_t *thread)
{
	assert(!sys_rcu_is_reading()); /* it may be waited for by the thread that ends */
	if (thread->started) {
		pthread_join(thread->id, NULL);
		thread->started = false;
		if (thread->is_alone) {
			thread_end_alone(thread);
		}
	}
}

int sys_cpu_nth(unsigned number)
{
	cpu_set_t set = own.had;
	if (!own.is_aside && sched_getaffinity(0, sizeof(set), &set) != 0) {
		return (int)(number % sys_cpu_count()); /* more CPUs than a set has room for */
	}
	unsigned left = number % (unsigned)CPU_COUNT(&set);
	int cpu = 0;
	while (!CPU_ISSET((unsigned)cpu, &set) || left-- > 0) {
		cpu++;
	}
	return cpu;
}

unsigned sys_cpu_count(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);
	return count > 0 ? (unsigned)count : 1;
}
