/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lane's second thread: it is in the kernel, which fills and sends frames from the injector's ring for as long as the
 * lane runs. Both have one processor: the lane comes first, and sleeps for a moment whenever it has filled the ring, so
 * that the sender gets what the lane leaves.
 */
#include "src/tools/load/gun.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	STOP_SIGNAL = SIGUSR2,
	LANE_NICE = -10,
	SENDER_NICE = 10,
	YIELD_NS = 50000,
	DRAIN_MS = 200,
	STOP_STEP_MS = 5,
};

static void inject_on_signal(int number)
{
	(void)number; /* it ends the system call */
}

static void inject_set_nice(int nice_value)
{
	/* Of this thread, as Linux has it; without the privilege both are equal, and it works all the same. */
	(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), nice_value);
}

static void *inject_run(void *arg)
{
	lane_t *lane = arg;
	sigset_t stop;
	sigemptyset(&stop);
	sigaddset(&stop, STOP_SIGNAL);
	pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
	/* Of real-time threads with one priority a lane that wakes would wait for the sender, which never sleeps. */
	(void)sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ .sched_priority = 0 });
	inject_set_nice(SENDER_NICE);
	kxdp_fault_t fault;
	if (kxdp_injector_run(lane->injector, &fault) != KNOT_OK) {
		snprintf(lane->sender_error, sizeof(lane->sender_error), "%s", fault.text);
		__atomic_store_n(&lane->has_sender_failed, true, __ATOMIC_RELEASE);
	}
	return NULL;
}

bool lane_start_sender(lane_t *lane)
{
	if (lane->injector == NULL) {
		return true;
	}
	const struct sigaction action = { .sa_handler = inject_on_signal };
	(void)sigaction(STOP_SIGNAL, &action, NULL);
	int errnum = pthread_create(&lane->sender, NULL, inject_run, lane); /* inherits the lane's processor */
	lane->has_sender = errnum == 0;
	inject_set_nice(LANE_NICE);
	if (errnum != 0) {
		snprintf(lane->error, sizeof(lane->error), "can't start a thread (%s)", strerror(errnum));
	}
	return errnum == 0;
}

/* The sender has ended. */
static void inject_count_failed(lane_t *lane)
{
	lane->has_sender = false;
	if (lane->has_sender_failed && lane->error[0] == '\0') {
		memcpy(lane->error, lane->sender_error, sizeof(lane->error));
	}
	worker_add(&lane->worker.counts.unsent, kxdp_injector_failed(lane->injector));
}

void lane_release_sender(lane_t *lane)
{
	if (!lane->has_sender || kxdp_injector_waiting(lane->injector) > 0) {
		return;
	}
	const uint64_t now_ns = gun_now(lane->gun);
	if (pthread_tryjoin_np(lane->sender, NULL) == 0) {
		inject_count_failed(lane);
	} else if (now_ns - lane->sender_told_ns >= STOP_STEP_MS * 1000000ull) {
		lane->sender_told_ns = now_ns; /* a signal between two of its calls ends none: so again */
		(void)pthread_kill(lane->sender, STOP_SIGNAL);
	}
}

static void inject_sleep(long ns)
{
	(void)nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

void lane_stop_sender(lane_t *lane)
{
	if (!lane->has_sender) {
		return;
	}
	for (unsigned i = 0; i < DRAIN_MS && kxdp_injector_waiting(lane->injector) > 0 && !lane_has_failed(lane); i++) {
		inject_sleep(1000000);
	}
	/* A signal that comes between two calls ends none: so again, until the thread has ended. */
	int errnum = EBUSY;
	while (errnum != 0) {
		struct timespec limit;
		(void)pthread_kill(lane->sender, STOP_SIGNAL);
		clock_gettime(CLOCK_REALTIME, &limit);
		limit.tv_nsec += STOP_STEP_MS * 1000000l;
		limit.tv_sec += limit.tv_nsec / 1000000000;
		limit.tv_nsec %= 1000000000;
		errnum = pthread_timedjoin_np(lane->sender, NULL, &limit);
	}
	inject_count_failed(lane);
}

void lane_yield(const lane_t *lane)
{
	if (lane->has_sender && kxdp_injector_waiting(lane->injector) > 0) {
		inject_sleep(YIELD_NS);
	}
}
