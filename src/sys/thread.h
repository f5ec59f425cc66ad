/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Threads of the daemon: named, optionally pinned, with all signals blocked (one thread of knotd takes them),
 * registered for RCU, and, if they answer, holding a row of the counters.
 */
#pragma once

#include "libknot/base/err.h"

#include <pthread.h>
#include <stdbool.h>

typedef struct {
	char name[16]; /* as ps -T shows it; NUL-terminated */
	int cpu;       /* pin to this CPU; -1: don't */
	bool counts;   /* take a row of the counters (sys/counters.h) */
	bool yields;   /* other threads get CPU and disk first */
	bool answers;  /* it gets a CPU soon after it wakes up, also where another thread runs */
	void (*run)(void *arg);
	void *arg;    /* borrowed for as long as the thread runs */
	pthread_t id; /* set by sys_thread_start() */
	bool started;
	bool is_alone; /* others step aside from its CPU; set by sys_thread_start() */
} sys_thread_t;

/** Start the thread that *thread describes; *thread must stay in place until it is joined. It has the CPUs that the
 * calling thread has, or had before that stepped aside. An errno code on failure. */
KNOT_MUST_USE knot_err_t sys_thread_start(sys_thread_t *thread);

/** Wait for the end of a thread; nothing if it was never started. The calling thread must not be in a read section. */
void sys_thread_join(sys_thread_t *thread);

/**
 * Leave the CPUs that threads which answer are pinned to: of the CPUs that the calling thread has it keeps the others,
 * or all of them if the others are less than a quarter. Call it before a unit of work that may take a while, as such
 * threads come and go; if none has since the last call, that costs a load. If the operator has chosen other CPUs
 * meanwhile (taskset), these count.
 */
void sys_thread_step_aside(void);

/** The calling thread has the CPUs again that sys_thread_step_aside() took from it. */
void sys_thread_step_back(void);

/** The number-th of the CPUs that the calling thread has, or had before it stepped aside; after the last comes the
 * first again. So a worker can be pinned wherever the operator lets the daemon run (cpuset, taskset). */
int sys_cpu_nth(unsigned number);

/** Online CPUs, at least 1. */
unsigned sys_cpu_count(void);
