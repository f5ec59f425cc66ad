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
	return epoll_ctl(waker->fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

bool xdp_lane_open_waker(lane_t *lane, xdp_waker_t *ret_waker)
{
	*ret_waker = (xdp_waker_t){
		.timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
		.fd = epoll_create1(EPOLL_CLOEXEC),
	};
	bool is_good = ret_waker->fd >= 0 && waker_add(ret_waker, ret_waker->timer_fd) &&
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

static bool waker_tell(lane_t *lane, unsigned what)
{
	if ((what & KXDP_WAIT_GONE) == 0) {
		return true;
	}
	snprintf(lane->error, sizeof(lane->error), "interface %s has gone",
			lane->gun->interfaces[lane->interface].route.ifname);
	return false;
}

bool xdp_lane_is_there(lane_t *lane, xdp_waker_t *waker)
{
	uint64_t now_ns = gun_now(lane->gun);
	if (now_ns < waker->check_ns) {
		return true;
	}
	waker->check_ns = now_ns + CHECK_NS;
	return waker_tell(lane, kxdp_wait(lane->queue, 0, -1));
}

bool xdp_lane_wait(lane_t *lane, const xdp_waker_t *waker, uint64_t sleep_ns)
{
	/* If the next query is due in a moment, look again, without a system call. */
	if (sleep_ns == 0 || (lane->inbox != NULL && !inbox_begin_wait(lane->inbox))) {
		return true;
	}
	unsigned what = waker_sleep(lane, waker, sleep_ns);
	if (lane->inbox != NULL) {
		inbox_end_wait(lane->inbox);
	}
	return waker_tell(lane, what);
}
