/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/slots.h"

#include "src/sys/clock.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

/*
 * Connections whose threads do what a test says, and nothing else: each says that it waits, since IDLE_MS and AGE_MS
 * less for each that came later, and reads nothing until its connection is shut down.
 */
enum { IDLE_MS = 10000, AGE_MS = 100, PATIENCE_MS = 20000 };

typedef struct {
	slots_t *slots;
	struct sockaddr_un addr;
	socklen_t addr_len;
	int listener;
	peer_wait_for_t what; /* of all connections */
	_Atomic unsigned served;
} scene_t;

static void scene_serve(void *ctx, int take_fd, unsigned socket, peer_wait_t *wait)
{
	(void)socket;
	scene_t *scene = ctx;
	uint64_t since_ms = sys_clock_ms() - IDLE_MS + (uint64_t)AGE_MS * atomic_load(&scene->served);
	peer_wait_begin(wait, scene->what, since_ms);
	atomic_fetch_add(&scene->served, 1);
	struct pollfd pfd = { .fd = take_fd, .events = POLLRDHUP };
	(void)poll(&pfd, 1, -1);
	close(take_fd);
}

static void scene_begin(scene_t *scene, peer_wait_for_t what)
{
	*scene = (scene_t){ .what = what, .addr.sun_family = AF_UNIX };
	scene->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	/* In the abstract name space: nothing is left behind. */
	int len = snprintf(scene->addr.sun_path + 1, sizeof(scene->addr.sun_path) - 1, "slots-test-%d", (int)getpid());
	scene->addr_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
	assert_int_equal(bind(scene->listener, (struct sockaddr *)&scene->addr, scene->addr_len), 0);
	assert_int_equal(listen(scene->listener, 16), 0);
	scene->slots = slots_new(&scene->listener, 1, scene_serve, scene);
	assert_non_null(scene->slots);
	assert_int_equal(slots_start(scene->slots), KNOT_OK);
}

static void scene_wait_served(scene_t *scene, unsigned count)
{
	uint64_t end_ms = sys_clock_ms() + PATIENCE_MS;
	while (atomic_load(&scene->served) < count && sys_clock_ms() < end_ms) {
		(void)poll(NULL, 0, 1);
	}
	assert_int_equal(atomic_load(&scene->served), count);
}

/* Connect and be served. */
static int scene_connect(scene_t *scene)
{
	unsigned served = atomic_load(&scene->served);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&scene->addr, scene->addr_len), 0);
	scene_wait_served(scene, served + 1);
	return fd;
}

static void scene_end(scene_t *scene, const int *fds, size_t count)
{
	slots_stop(scene->slots);
	slots_free(scene->slots);
	for (size_t i = 0; i < count; i++) {
		close(fds[i]);
	}
	close(scene->listener);
}

static bool is_closed(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLRDHUP };
	return poll(&pfd, 1, 0) > 0;
}

static void test_the_longest_wait_makes_room(void **state)
{
	(void)state;
	scene_t scene;
	int fds[SLOTS_MAX + 1];
	scene_begin(&scene, PEER_WAIT_INPUT);
	for (size_t i = 0; i <= SLOTS_MAX; i++) {
		fds[i] = scene_connect(&scene);
	}
	for (size_t i = 0; i <= SLOTS_MAX; i++) {
		assert_int_equal(is_closed(fds[i]), i == 0);
	}
	scene_end(&scene, fds, SLOTS_MAX + 1);
}

/* Its request lies in the socket: the thread that serves it hasn't run. Others that have waited for less go. */
static void test_an_unread_request_is_not_idle(void **state)
{
	(void)state;
	scene_t scene;
	int fds[SLOTS_MAX + 1];
	scene_begin(&scene, PEER_WAIT_INPUT);
	for (size_t i = 0; i <= SLOTS_MAX; i++) {
		fds[i] = scene_connect(&scene);
		if (i == 0 || i == 1) {
			assert_int_equal(send(fds[i], "request", 7, 0), 7);
		}
	}
	for (size_t i = 0; i <= SLOTS_MAX; i++) {
		assert_int_equal(is_closed(fds[i]), i == 2);
	}
	scene_end(&scene, fds, SLOTS_MAX + 1);
}

/* Waits for room in the socket: one whose reply was read isn't idle, and what it sends says nothing. */
static void test_a_reply_that_was_read_is_not_idle(void **state)
{
	(void)state;
	scene_t scene;
	int fds[SLOTS_MAX + 1];
	scene_begin(&scene, PEER_WAIT_ROOM);
	for (size_t i = 0; i < SLOTS_MAX; i++) {
		fds[i] = scene_connect(&scene); /* each has room */
	}
	uint64_t begin_ms = sys_clock_ms();
	fds[SLOTS_MAX] = scene_connect(&scene);
	assert_true(sys_clock_ms() - begin_ms >= SLOTS_SPARE_MS - 1);
	scene_end(&scene, fds, SLOTS_MAX + 1);
}

/* Peers that send without end and complete nothing are spared once, in every slot, however often others come. */
static void test_greedy_peers_make_room(void **state)
{
	(void)state;
	scene_t scene;
	int fds[2 * SLOTS_MAX];
	scene_begin(&scene, PEER_WAIT_INPUT);
	for (size_t i = 0; i < SLOTS_MAX; i++) {
		fds[i] = scene_connect(&scene);
		assert_int_equal(send(fds[i], "endless", 7, 0), 7);
	}
	uint64_t begin_ms = sys_clock_ms();
	for (size_t i = SLOTS_MAX; i < KNOT_LEN(fds); i++) {
		fds[i] = scene_connect(&scene);
		assert_int_equal(send(fds[i], "endless", 7, 0), 7);
	}
	assert_true(sys_clock_ms() - begin_ms >= SLOTS_SPARE_MS - 1);
	for (size_t i = 0; i < KNOT_LEN(fds); i++) {
		assert_int_equal(is_closed(fds[i]), i < SLOTS_MAX);
	}
	scene_end(&scene, fds, KNOT_LEN(fds));
}

/* However long it lasts. */
static void test_a_wait_is_spared_once(void **state)
{
	(void)state;
	uint64_t now_ms = 100000;
	peer_ready_t greedy = { 0 };
	const uint64_t since_ms = 90000;
	assert_true(peer_ready_is_spared(&greedy, since_ms, now_ms, SLOTS_SPARE_MS));
	assert_true(peer_ready_is_spared(&greedy, since_ms, now_ms + SLOTS_SPARE_MS - 1, SLOTS_SPARE_MS));
	assert_false(peer_ready_is_spared(&greedy, since_ms, now_ms + SLOTS_SPARE_MS, SLOTS_SPARE_MS));
	assert_false(peer_ready_is_spared(&greedy, since_ms, now_ms + 100 * SLOTS_SPARE_MS, SLOTS_SPARE_MS));
	/* Another wait of the same slot: another command's, or another connection's. */
	now_ms += 1000000;
	assert_true(peer_ready_is_spared(&greedy, now_ms - 300, now_ms, SLOTS_SPARE_MS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_longest_wait_makes_room),
		cmocka_unit_test(test_an_unread_request_is_not_idle),
		cmocka_unit_test(test_a_reply_that_was_read_is_not_idle),
		cmocka_unit_test(test_greedy_peers_make_room),
		cmocka_unit_test(test_a_wait_is_spared_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
