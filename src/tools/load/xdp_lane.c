/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/xdp_lane.h"
#include "src/tools/load/inbox.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { CHECK_NS = 100000000 };

static bool waker_add(const xdp_waker_t *waker, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	return fd >= 0 && epoll_ctl(waker->fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

bool xdp_lane_open_waker(lane_t *lane, xdp_waker_t *ret_waker)
{
	*ret_waker = (xdp_waker_t){
		.timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
		.fd = epoll_create1(EPOLL_CLOEXEC),
	};
	bool is_good = waker_add(ret_waker, ret_waker->timer_fd) &&
		       (lane->inbox == NULL || waker_add(ret_waker, inbox_fd(lane->inbox)));
	if (!is_good) {
		snprintf(lane->error, sizeof(lane->error), "can't make a timer (%s)", strerror(errno));
	}
	return is_good;
}

void xdp_lane_close_waker(xdp_waker_t *waker)
{
	if (waker->timer_fd >= 0) {
		close(waker->timer_fd);
	}
	if (waker->fd >= 0) {
		close(waker->fd);
	}
	*waker = (xdp_waker_t){ .timer_fd = -1, .fd = -1 };
}

/* What kxdp_wait() says. */
static unsigned waker_sleep(lane_t *lane, const xdp_waker_t *waker, uint64_t sleep_ns)
{
	const uint64_t planned_ns = gun_now(lane->gun) + sleep_ns;
	const struct itimerspec when = { .it_value = { .tv_sec = (time_t)(sleep_ns / 1000000000),
							 .tv_nsec = (long)(sleep_ns % 1000000000) } };
	(void)timerfd_settime(waker->timer_fd, 0, &when, NULL);
	unsigned what = kxdp_wait(lane->queue, 1000, waker->fd);
	uint64_t expirations;
	if ((what & KXDP_WAIT_WOKEN) != 0 && read(waker->timer_fd, &expirations, sizeof(expirations)) > 0) {
		uint64_t now_ns = gun_now(lane->gun);
		lane_note_wake(lane, now_ns > planned_ns ? now_ns - planned_ns : 0);
	}
	return what;
}

/*
 * A wait that the timer ends doesn't tell that the interface has gone, one without time does. A queue that sends would
 * be told as well; a lane that injects, or only receives, never.
 */
static unsigned waker_check(lane_t *lane, xdp_waker_t *waker)
{
	uint64_t now_ns = gun_now(lane->gun);
	if (now_ns < waker->check_ns) {
		return 0;
	}
	waker->check_ns = now_ns + CHECK_NS;
	return kxdp_wait(lane->queue, 0, -1);
}

bool xdp_lane_wait(lane_t *lane, xdp_waker_t *waker, uint64_t sleep_ns)
{
	unsigned what = waker_check(lane, waker);
	/* If the next query is due in a moment, look again, without a system call. */
	bool sleeps = what == 0 && sleep_ns > 0;
	if (sleeps && (lane->inbox == NULL || inbox_begin_wait(lane->inbox))) {
		what = waker_sleep(lane, waker, sleep_ns);
		if (lane->inbox != NULL) {
			inbox_end_wait(lane->inbox);
		}
	}
	if ((what & KXDP_WAIT_GONE) != 0) {
		snprintf(lane->error, sizeof(lane->error), "interface %s has gone",
				lane->gun->interfaces[lane->interface].route.ifname);
		return false;
	}
	return true;
}
