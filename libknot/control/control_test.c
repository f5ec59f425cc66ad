/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/control/unit.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

/* Both ends of a connection, with a time limit that ends a test that hangs. */
typedef struct {
	knot_ctl_t *near, *far;
	int far_fd;
} pair_t;

static pair_t pair_new(void)
{
	int fds[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	pair_t pair = { knot_ctl_alloc(), knot_ctl_alloc(), fds[1] };
	assert_non_null(pair.near);
	assert_non_null(pair.far);
	knot_ctl_adopt(pair.near, fds[0]);
	knot_ctl_adopt(pair.far, fds[1]);
	knot_ctl_set_timeout(pair.near, 20000);
	knot_ctl_set_timeout(pair.far, 20000);
	return pair;
}

static void pair_free(pair_t *pair)
{
	knot_ctl_free(pair->near);
	knot_ctl_free(pair->far);
}

static void units_arrive_in_order(void **state)
{
	(void)state;
	pair_t pair = pair_new();
	knot_ctl_data_t first = { [KNOT_CTL_IDX_CMD] = "stats", [KNOT_CTL_IDX_FLAGS] = "" };
	knot_ctl_data_t second = { [KNOT_CTL_IDX_CMD] = "stats", [KNOT_CTL_IDX_FILTERS] = "x" };
	assert_int_equal(knot_ctl_send(pair.near, KNOT_CTL_TYPE_DATA, &first), KNOT_OK);
	assert_int_equal(knot_ctl_send(pair.near, KNOT_CTL_TYPE_EXTRA, &second), KNOT_OK);
	assert_int_equal(knot_ctl_send(pair.near, KNOT_CTL_TYPE_BLOCK, NULL), KNOT_OK);
	assert_int_equal(knot_ctl_send(pair.near, KNOT_CTL_TYPE_END, NULL), KNOT_OK);

	knot_ctl_type_t type;
	knot_ctl_data_t got;
	assert_int_equal(knot_ctl_receive(pair.far, &type, &got), KNOT_OK);
	assert_int_equal(type, KNOT_CTL_TYPE_DATA);
	assert_string_equal(got[KNOT_CTL_IDX_CMD], "stats");
	assert_string_equal(got[KNOT_CTL_IDX_FLAGS], "");
	assert_null(got[KNOT_CTL_IDX_FILTERS]);
	assert_int_equal(knot_ctl_receive(pair.far, &type, &got), KNOT_OK);
	assert_int_equal(type, KNOT_CTL_TYPE_EXTRA);
	assert_null(got[KNOT_CTL_IDX_FLAGS]);
	assert_string_equal(got[KNOT_CTL_IDX_FILTERS], "x");
	assert_int_equal(knot_ctl_receive(pair.far, &type, &got), KNOT_OK);
	assert_int_equal(type, KNOT_CTL_TYPE_BLOCK);
	assert_int_equal(knot_ctl_receive(pair.far, &type, NULL), KNOT_OK);
	assert_int_equal(type, KNOT_CTL_TYPE_END);
	knot_ctl_set_timeout(pair.far, 50);
	assert_int_equal(knot_ctl_receive(pair.far, &type, &got), KNOT_ETIMEOUT);
	knot_ctl_close(pair.near);
	assert_int_equal(knot_ctl_receive(pair.far, &type, &got), KNOT_ECONNCLOSED);
	pair_free(&pair);
}

static void *drain(void *ctx)
{
	knot_ctl_t *ctl = ctx;
	knot_ctl_type_t type = KNOT_CTL_TYPE_DATA;
	knot_ctl_data_t got;
	size_t sum = 0;
	while (knot_ctl_receive(ctl, &type, &got) == KNOT_OK && type != KNOT_CTL_TYPE_BLOCK) {
		for (unsigned i = 0; i < KNOT_CTL_IDX__COUNT; i++) {
			sum += got[i] != NULL ? strlen(got[i]) : 0;
		}
	}
	return type == KNOT_CTL_TYPE_BLOCK ? (void *)sum : NULL;
}

/* more than any socket buffer, in the largest units there are */
static void large_units(void **state)
{
	(void)state;
	pair_t pair = pair_new();
	pthread_t reader;
	assert_int_equal(pthread_create(&reader, NULL, drain, pair.far), 0);
	static char value[KNOT_CTL_ITEM_MAX + 1];
	memset(value, 'v', KNOT_CTL_ITEM_MAX);
	knot_ctl_data_t data;
	for (unsigned i = 0; i < KNOT_CTL_IDX__COUNT; i++) {
		data[i] = value;
	}
	enum { UNITS = 5 };
	for (unsigned i = 0; i < UNITS; i++) {
		assert_int_equal(knot_ctl_send(pair.near, KNOT_CTL_TYPE_DATA, &data), KNOT_OK);
	}
	assert_int_equal(knot_ctl_send(pair.near, KNOT_CTL_TYPE_BLOCK, NULL), KNOT_OK);
	void *sum;
	pthread_join(reader, &sum);
	assert_int_equal((size_t)sum, (size_t)UNITS * KNOT_CTL_IDX__COUNT * KNOT_CTL_ITEM_MAX);
	pair_free(&pair);
}

static void bad_bytes_end_it(void **state)
{
	(void)state;
	pair_t pair = pair_new();
	assert_int_equal(write(pair.far_fd, "\1\20\0\1a\5", 6), 6);
	knot_ctl_type_t type;
	knot_ctl_data_t got;
	assert_int_equal(knot_ctl_receive(pair.near, &type, &got), KNOT_EINVAL);
	pair_free(&pair);
}

static void *flood(void *ctx)
{
	static uint8_t item[3 + KNOT_CTL_ITEM_MAX] = { 16, 0xFF, 0xFF };
	int fd = *(int *)ctx;
	for (unsigned i = 0; i < 2 * KNOT_CTL_IDX__COUNT; i++) {
		for (size_t pos = 0; pos < sizeof(item);) {
			ssize_t len = send(fd, item + pos, sizeof(item) - pos, MSG_NOSIGNAL);
			if (len > 0) {
				pos += (size_t)len;
			} else if (errno != EAGAIN && errno != EINTR) {
				return NULL;
			}
		}
	}
	return NULL;
}

/* items without end don't make us grow without end */
static void endless_unit(void **state)
{
	(void)state;
	pair_t pair = pair_new();
	pthread_t writer;
	assert_int_equal(pthread_create(&writer, NULL, flood, &pair.far_fd), 0);
	knot_ctl_type_t type;
	knot_ctl_data_t got;
	assert_int_equal(knot_ctl_receive(pair.near, &type, &got), KNOT_ERANGE);
	knot_ctl_close(pair.near);
	pthread_join(writer, NULL);
	pair_free(&pair);
}

static void connect_errors(void **state)
{
	(void)state;
	knot_ctl_t *ctl = knot_ctl_alloc();
	assert_non_null(ctl);
	char dir[] = "/tmp/control_test.XXXXXX";
	assert_non_null(mkdtemp(dir));
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/sock", dir);
	assert_int_equal(knot_ctl_connect(ctl, addr.sun_path), KNOT_ENOENT);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(knot_ctl_connect(ctl, addr.sun_path), KNOT_ECONNREFUSED);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(knot_ctl_connect(ctl, addr.sun_path), KNOT_OK);
	char path[sizeof(addr.sun_path) + 2];
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(knot_ctl_connect(ctl, path), KNOT_ESPACE);
	assert_int_equal(knot_ctl_connect(ctl, ""), KNOT_EINVAL);
	knot_ctl_data_t data = { NULL };
	knot_ctl_close(ctl);
	assert_int_equal(knot_ctl_send(ctl, KNOT_CTL_TYPE_DATA, &data), KNOT_ECONNCLOSED);
	close(fd);
	unlink(addr.sun_path);
	rmdir(dir);
	knot_ctl_free(ctl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_arrive_in_order),
		cmocka_unit_test(large_units),
		cmocka_unit_test(bad_bytes_end_it),
		cmocka_unit_test(endless_unit),
		cmocka_unit_test(connect_errors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
