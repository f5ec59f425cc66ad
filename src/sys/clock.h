/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The only reader of clocks: all other code gets time as an argument. No state, any thread.
 */
#pragma once

#include <stdint.h>
#include <time.h>

/** Monotonic milliseconds since some fixed point; for timeouts. Never 0. */
static inline uint64_t sys_clock_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 + 1;
}

/** Monotonic nanoseconds; for measuring. */
static inline uint64_t sys_clock_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/** Nanoseconds of CPU that the calling thread has used. A system call, unlike the other clocks. */
static inline uint64_t sys_clock_thread_ns(void)
{
	struct timespec used;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

/** Wall clock: seconds since 1970. */
static inline uint64_t sys_clock_wall(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec;
}

/** The same as of the kernel's last tick, some milliseconds ago: a third of the time. */
static inline uint64_t sys_clock_wall_coarse(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return (uint64_t)now.tv_sec;
}

/** Wall clock with its fraction. */
static inline struct timespec sys_clock_real(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return now;
}

/** Wall clock in nanoseconds since 1970. */
static inline uint64_t sys_clock_real_ns(void)
{
	struct timespec now = sys_clock_real();
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/** `ms` from now on a clock, as functions that wait until a time take it. */
static inline struct timespec sys_clock_until(clockid_t clock, uint64_t ms)
{
	struct timespec until;
	clock_gettime(clock, &until);
	uint64_t ns = (uint64_t)until.tv_nsec + ms % 1000 * 1000000;
	until.tv_sec += (time_t)(ms / 1000 + ns / 1000000000);
	until.tv_nsec = (long)(ns % 1000000000);
	return until;
}

/** Sleep; shorter if a signal comes. */
static inline void sys_clock_sleep_ns(uint64_t ns)
{
	struct timespec time = { .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };
	(void)nanosleep(&time, NULL);
}
