/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/xdp_lane.h"

#include <errno.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <unistd.h>

int xdp_lane_timer(void)
{
	return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
}

bool xdp_lane_wait(lane_t *lane, int timer_fd, uint64_t sleep_ns)
{
	if (sleep_ns == 0) {
		return true; /* the next query is due in a moment: look again, without a system call */
	}
	const struct itimerspec when = { .it_value = { .tv_sec = (time_t)(sleep_ns / 1000000000),
							 .tv_nsec = (long)(sleep_ns % 1000000000) } };
	const uint64_t planned_ns = gun_now(lane->gun) + sleep_ns;
	(void)timerfd_settime(timer_fd, 0, &when, NULL);
	unsigned what = kxdp_wait(lane->queue, 1000, timer_fd);
	if ((what & KXDP_WAIT_WOKEN) != 0) {
		uint64_t expirations;
		(void)!read(timer_fd, &expirations, sizeof(expirations));
		uint64_t now_ns = gun_now(lane->gun);
		lane_note_wake(lane, now_ns > planned_ns ? now_ns - planned_ns : 0);
	}
	if ((what & KXDP_WAIT_GONE) != 0) {
		snprintf(lane->error, sizeof(lane->error), "interface %s has gone",
				lane->gun->interfaces[lane->interface].route.ifname);
		return false;
	}
	return true;
}
