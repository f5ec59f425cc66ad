/* SPDX-License-Identifier: BSD-2-Clause */
/* Dynamic updates from a transport to the served version, and back to the transport. */
#include "src/event/zone_update.h"

#include "src/event/test_server.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

#include "src/event/internal.h"
#include "src/event/zone_flush.h"
#include "src/sys/clock.h"
#include "src/sys/thread.h"

enum { WAIT_MS = 10000, REQUESTS = 40 };

static atomic_uint answered;
static _Atomic uint16_t rcodes[REQUESTS];

typedef struct {
	update_request_t base;
	struct sockaddr_in remote;
	unsigned number;
	bool is_made;
	uint8_t message[256];
} request_t;

static void make_answer(update_request_t *request)
{
	((request_t *)request)->is_made = true;
}

static void note_answer(update_request_t *take_request)
{
	request_t *request = (request_t *)take_request;
	assert_true(request->is_made);
	rcodes[request->number] = take_request->rcode;
	free(request);
	answered++;
}

static void append(request_t *request, const void *bytes, size_t len)
{
	assert_true(request->base.message.len + len <= sizeof(request->message));
	memcpy(request->message + request->base.message.len, bytes, len);
	request->base.message.len += len;
}

/* Adds an address to hNUMBER of the zone, or, if it is bad, to a name of another zone. */
static update_put_t put(server_t *server, const char *zone, unsigned number, bool is_bad)
{
	static const uint8_t rest[] = { 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7 };
	uint8_t head[] = { 0, 1, 0x28, 0, 0, 1, 0, 0, 0, 1, 0, 0 }, label[8] = { 3, 'h' }, wire[KNOT_NAME_MAX];
	knot_name_t name = name_of(zone, wire);
	request_t *request = calloc(1, sizeof(*request));
	assert_non_null(request);
	request->number = number;
	request->remote.sin_family = AF_INET;
	request->remote.sin_port = htons(4711);
	request->remote.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	request->base = (update_request_t){ .remote = (const struct sockaddr *)&request->remote,
		.message = { request->message, 0 },
		.size = sizeof(*request),
		.make = make_answer,
		.done = note_answer };
	label[2] = (uint8_t)('0' + number / 10);
	label[3] = (uint8_t)('0' + number % 10);
	append(request, head, sizeof(head));
	append(request, name.wire, name.len);
	append(request, (uint8_t[]){ 0, 6, 0, 1 }, 4);
	append(request, label, 4);
	append(request, is_bad ? (const uint8_t *)"\5other" : name.wire, is_bad ? 7 : name.len);
	append(request, rest, sizeof(rest));
	update_put_t result = server_update_put(server, name, &request->base);
	if (result != UPDATE_WAITS) {
		free(request);
	}
	return result;
}

static void wait_answers(unsigned count)
{
	uint64_t until_ms = sys_clock_ms() + WAIT_MS;
	while (answered < count && sys_clock_ms() < until_ms) {
		usleep(1000);
	}
	assert_int_equal(answered, count);
}

static void set_frozen(server_t *server, bool is_frozen)
{
	uint8_t wire[KNOT_NAME_MAX];
	server_ticket_t ticket;
	assert_int_equal(server_zone_freeze(server, name_of("a", wire), is_frozen, &ticket), KNOT_OK);
}

static void check_log(const char *text)
{
	static char log[1 << 16];
	read_file("log", log, sizeof(log));
	if (strstr(log, text) == NULL) {
		fail_msg("not in the log: %s\n%s", text, log);
	}
}

static server_t *start(const char *zones)
{
	write_conf_file("", zones);
	server_t *server = make_server(load_conf_file(), NULL, 0);
	assert_int_equal(server_start(server), KNOT_OK);
	server_load_zones(server);
	assert_true(server_wait_loaded(server, WAIT_MS));
	answered = 0;
	return server;
}

static void end(server_t *server)
{
	server_stop(server);
	server_free(server);
}

/* Updates are gathered for as long as update-delay says from the first one on, and what comes meanwhile joins them. */
static void test_delay(void **state)
{
	(void)state;
	write_zone("a", 1);
	server_t *server = start("zone:\n  - domain: a\n    update-delay: 1\n");
	uint64_t begin_ms = sys_clock_ms();
	assert_int_equal(put(server, "a", 0, false), UPDATE_WAITS);
	usleep(200 * 1000);
	assert_int_equal(put(server, "a", 1, false), UPDATE_WAITS);
	wait_answers(2);
	assert_true(sys_clock_ms() - begin_ms >= 990);
	assert_int_equal(serial_of(server, "a"), 2);
	assert_int_equal(put(server, "a", 2, false), UPDATE_WAITS);
	end(server);
	assert_int_equal(answered, 3);
	assert_int_equal(rcodes[2], KNOT_RCODE_SERVFAIL); /* the server ended before */
}

/* While the zone is frozen eight wait; then all are one version, and the one that is bad is refused alone. */
static void test_frozen(void **state)
{
	(void)state;
	write_zone("a", 1);
	server_t *server = start("zone:\n  - domain: a\n");
	set_frozen(server, true);
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(put(server, "a", i, i == 3), UPDATE_WAITS);
	}
	assert_int_equal(put(server, "a", 8, false), UPDATE_FROZEN);
	assert_int_equal(put(server, "b", 8, false), UPDATE_NO_ZONE);
	server_wait_idle(server);
	assert_int_equal(answered, 0);
	assert_int_equal(serial_of(server, "a"), 1);
	set_frozen(server, false);
	wait_answers(8);
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(rcodes[i], i == 3 ? KNOT_RCODE_NOTZONE : KNOT_RCODE_NOERROR);
	}
	assert_int_equal(serial_of(server, "a"), 2);
	check_log("[a.] DDNS, processing 8 updates");
	check_log("[a.] DDNS, incoming, remote 127.0.0.1@4711 TCP, broken update format (name does not belong to the "
		  "zone)");
	check_log("[a.] DDNS, finished, serial 1 -> 2, ");
	end(server);
}

/* Without a change there is no version; a transaction on the zone is waited for. */
static void test_edited(void **state)
{
	(void)state;
	write_zone("a", 5);
	server_t *server = start("zone:\n  - domain: a\n    journal-content: none\n");
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name = name_of("a", wire);
	long before = serial_of(server, "a");
	assert_int_equal(put(server, "a", 1, true), UPDATE_WAITS);
	wait_answers(1);
	assert_int_equal(serial_of(server, "a"), before);
	check_log("[a.] DDNS, finished, no changes to the zone were made");
	assert_int_equal(server_edit_begin(server, name, false), KNOT_OK);
	assert_int_equal(put(server, "a", 2, false), UPDATE_WAITS);
	server_wait_idle(server);
	assert_int_equal(answered, 1);
	check_log("[a.] blocked zone update due to open control transaction");
	assert_int_equal(server_zone_event(server, name, EVENT_UPDATE).state, SERVER_EVENT_FROZEN);
	assert_int_equal(server_edit_abort(server, name), KNOT_OK);
	wait_answers(2);
	assert_int_equal(rcodes[2], KNOT_RCODE_NOERROR);
	assert_int_equal(serial_of(server, "a"), before + 1);
	end(server);
}

/* A batch that would make the zone too large is refused, and leaves it as it was. */
static void test_too_large(void **state)
{
	(void)state;
	write_zone("s", 1);
	server_t *server = start("zone:\n  - domain: s\n    zone-max-size: 150\n    journal-content: none\n");
	assert_int_equal(serial_of(server, "s"), 1);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(put(server, "s", i, i == 0), UPDATE_WAITS);
	}
	wait_answers(6);
	assert_int_equal(rcodes[0], KNOT_RCODE_NOTZONE);
	assert_int_equal(rcodes[5], KNOT_RCODE_REFUSED);
	check_log("updates in a bulk");
	check_log("[s.] DDNS, processing failed (zone size exceeded)");
	end(server);
}

/* What still waits when the process ends, or when the zone is removed, is answered. */
static void test_end(void **state)
{
	(void)state;
	write_zone("a", 1);
	write_zone("c", 1);
	server_t *server = start("zone:\n  - domain: a\n  - domain: c\n");
	set_frozen(server, true);
	assert_int_equal(put(server, "a", 1, false), UPDATE_WAITS);
	write_conf_file("", "zone:\n  - domain: c\n");
	assert_int_equal(server_reload(server), KNOT_OK);
	wait_answers(1);
	assert_int_equal(rcodes[1], KNOT_RCODE_NOTAUTH);
	write_conf_file("", "zone:\n  - domain: a\n  - domain: c\n");
	assert_int_equal(server_reload(server), KNOT_OK);
	assert_true(server_wait_loaded(server, WAIT_MS));
	set_frozen(server, true);
	assert_int_equal(put(server, "a", 2, false), UPDATE_WAITS);
	end(server);
	assert_int_equal(answered, 2);
	assert_int_equal(rcodes[2], KNOT_RCODE_SERVFAIL);
}

static int setup(void **state)
{
	(void)state;
	sys_rcu_register();
	return make_dir("zone_update_test") ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	char command[128];
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	sys_rcu_unregister();
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frozen),
		cmocka_unit_test(test_delay),
		cmocka_unit_test(test_edited),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_end),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
