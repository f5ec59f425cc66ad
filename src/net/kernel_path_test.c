/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/kernel_path.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* 127.0.0.1 to 127.0.0.1, IP_PROTO_UDP, header only. */
static const uint8_t packet[20] = { 0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1 };

static void test_rate(void **state)
{
	(void)state;
	/* A datagram socket in the place of a raw one, for which one needs a privilege: it refuses port 0. What a raw
	 * socket sends is seen by tests/functional/test_xdp_route.py. */
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	assert_true(fd >= 0);
	kernel_path_t path;
	uint64_t now_us = 1000000;
	kernel_path_init(&path, fd, -1, now_us);
	for (unsigned i = 0; i < KERNEL_PATH_BURST; i++) {
		assert_int_equal(kernel_path_send(&path, 0, packet, sizeof(packet), now_us), KERNEL_PATH_FAILED);
	}
	assert_int_equal(kernel_path_send(&path, 0, packet, sizeof(packet), now_us), KERNEL_PATH_LIMITED);
	now_us += 1000000 / KERNEL_PATH_RATE;
	assert_int_equal(kernel_path_send(&path, 0, packet, sizeof(packet), now_us), KERNEL_PATH_FAILED);
	assert_int_equal(kernel_path_send(&path, 0, packet, sizeof(packet), now_us), KERNEL_PATH_LIMITED);
	now_us += 3600ull * 1000000; /* an hour saves no more than the burst */
	for (unsigned i = 0; i < KERNEL_PATH_BURST; i++) {
		assert_int_equal(kernel_path_send(&path, 0, packet, sizeof(packet), now_us), KERNEL_PATH_FAILED);
	}
	assert_int_equal(kernel_path_send(&path, 0, packet, sizeof(packet), now_us), KERNEL_PATH_LIMITED);
	close(fd);
}

static void test_no_socket(void **state)
{
	(void)state;
	kernel_path_t path;
	kernel_path_init(&path, -1, -1, 0);
	assert_int_equal(kernel_path_send(&path, 0, packet, sizeof(packet), 0), KERNEL_PATH_FAILED);
	assert_int_equal(kernel_path_send(&path, 0, packet, 3, 0), KERNEL_PATH_FAILED);
	assert_int_equal(kernel_path_send(&path, 0, (const uint8_t *)"garbage that is no IP packet", 28, 0),
			KERNEL_PATH_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_no_socket),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
