/* SPDX-License-Identifier: BSD-2-Clause */
/* Transfers handed over by several threads at once: each is prepared, logged and freed once, in its order. */
#include "src/transfer/out_service.h"

#include "src/journal/changeset.h"
#include "src/sys/log.h"
#include "src/sys/rcu.h"
#include "src/zone/build.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const uint8_t apex_wire[] = "\4zone";
static const knot_name_t apex = { apex_wire, 6, 1 };
static char dir[] = "/dev/shm/bowline-transfers-XXXXXX", path[64];
static journal_t *journal;
static zone_contents_t *zone;

static zone_contents_t *build(uint32_t serial)
{
	char text[200];
	const zone_build_params_t params = { .origin = apex, .default_ttl = 60, .checks = ZONE_CHECKS_OFF };
	zone_contents_t *contents;
	snprintf(text, sizeof(text), "@ SOA . . %u 1 2 3 4\n@ NS ns\n", serial);
	assert_int_equal(zone_build_text(knot_str_of(text), "test", &params, &contents), KNOT_OK);
	return contents;
}

/* A change that only raises the serial. */
static void store_step(uint32_t from, uint32_t to)
{
	uint8_t soa[2][22] = { { 0 }, { 0 } };
	changeset_writer_t writer = { 0 };
	store_be32(soa[0] + 2, from);
	store_be32(soa[1] + 2, to);
	changeset_put(&writer, &(changeset_rr_t){ apex, KNOT_TYPE_SOA, 60, { soa[0], 22 } }, false);
	changeset_put(&writer, &(changeset_rr_t){ apex, KNOT_TYPE_SOA, 60, { soa[1], 22 } }, true);
	uint8_t *data;
	journal_change_t change = { .serial_from = from, .serial_to = to, .time_s = 1 };
	assert_int_equal(changeset_finish(&writer, CHANGESET_STEP, &data, &change.payload.len), KNOT_OK);
	change.payload.data = data;
	const journal_limits_t wide = { .usage_max = 32 << 20, .depth_max = 1000 };
	assert_int_equal(journal_append(journal, apex, &change, &wide, NULL), KNOT_OK);
	free(data);
}

static int set_up(void **state)
{
	(void)state;
	sys_rcu_register();
	sys_log_close(); /* thousands of lines */
	journal_reason_t reason;
	if (mkdtemp(dir) == NULL) {
		return -1;
	}
	snprintf(path, sizeof(path), "%s/j", dir);
	if (journal_open(&(journal_params_t){ .path = path, .size_max = 64 << 20 }, &journal, &reason) != KNOT_OK) {
		return -1;
	}
	store_step(10, 11);
	store_step(11, 12);
	zone = build(12);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	journal_close(journal);
	zone_contents_free(zone);
	static const char *const files[] = { "/j/data.mdb", "/j/lock.mdb", "/j", "" };
	for (size_t i = 0; i < KNOT_LEN(files); i++) {
		char file[128];
		snprintf(file, sizeof(file), "%s%s", dir, files[i]);
		(void)remove(file);
	}
	return 0;
}

static transfer_out_t *make(bool is_ixfr, uint32_t serial)
{
	static const struct sockaddr_in remote = { .sin_family = AF_INET };
	uint8_t reply[] = { 0, 1, 0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0, 4, 'z', 'o', 'n', 'e', 0, 0, 251, 0, 1 };
	transfer_out_t *out = transfer_out_new(&(transfer_out_ask_t){ .contents = zone,
			.is_ixfr = is_ixfr,
			.may_ixfr = true,
			.serial = serial,
			.reply = { reply, sizeof(reply) },
			.remote = (const struct sockaddr *)&remote });
	assert_non_null(out);
	return out;
}

/* Take what has been prepared to its end. Returns the number of messages. */
static unsigned finish(transfer_service_t *service, transfer_out_t *out)
{
	static _Thread_local uint8_t room[KNOT_MSG_MAX];
	unsigned messages = 0;
	for (; transfer_out_state(out) == TRANSFER_OUT_READY; messages++) {
		(void)transfer_out_next(out, (knot_mut_bytes_t){ room, sizeof(room) }, 1);
	}
	assert_int_equal(transfer_out_state(out), TRANSFER_OUT_DONE);
	transfer_service_end(service, out, 1);
	return messages;
}

enum { THREADS = 4, ROUNDS = 300 };

/* IXFR that is waited for, IXFR that is dropped at once, and AXFR. */
static void *work(void *arg)
{
	transfer_service_t *service = arg;
	transfer_waker_t *waker;
	assert_int_equal(transfer_waker_new(-1, &waker), KNOT_OK);
	for (unsigned i = 0; i < ROUNDS; i++) {
		transfer_out_t *ixfr = make(true, i % 3 == 0 ? 5 : 9 + i % 3);
		transfer_service_begin(service, ixfr, waker);
		transfer_out_t *axfr = make(false, 0);
		transfer_service_begin(service, axfr, waker);
		assert_int_equal(finish(service, axfr), 1);
		if (i % 4 == 0) {
			transfer_service_end(service, ixfr, 1);
			continue;
		}
		while (transfer_out_state(ixfr) == TRANSFER_OUT_UNPREPARED) {
			struct pollfd wait = { .fd = transfer_waker_fd(waker), .events = POLLIN };
			assert_int_equal(poll(&wait, 1, 60000), 1);
			assert_true(transfer_waker_clear(waker));
		}
		assert_int_equal(finish(service, ixfr), 1);
	}
	transfer_waker_drop(waker); /* the service may still have some of ours */
	return NULL;
}

static void test_threads(void **state)
{
	(void)state;
	transfer_service_t *service;
	pthread_t threads[THREADS];
	assert_int_equal(transfer_service_new(journal, &service), KNOT_OK);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, work, service), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	}
	transfer_service_free(service); /* asserts that nothing is left */
	transfer_service_free(NULL);
	transfer_waker_drop(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_threads) };
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
