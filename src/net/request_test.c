/* SPDX-License-Identifier: BSD-2-Clause */
/* What request_answer() does with what the engine returns: effects, counts, modules. */
#include "src/net/request.h"

#include "src/answer/answer_test_query.h"
#include "src/answer/answer_test_zones.h"

#include "src/conf/test_conf.h"
#include "src/sys/log.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

static const char ex_text[] = "$ORIGIN ex.\n$TTL 60\n@ SOA ns h 1 2 3 4 5\n@ NS ns.other.\na A 192.0.2.1\n";
static const char sub_text[] = "$ORIGIN sub.ex.\n$TTL 60\n@ SOA ns h 1 2 3 4 5\n@ NS ns.other.\n";
enum { ZONE_EX, ZONE_SUB, ZONE_EMPTY };

static test_zones_t zones;
static state_t served;
static traffic_batch_t traffic;

static int setup(void **state)
{
	(void)state;
	const char *const texts[] = { ex_text, sub_text, NULL };
	zones = test_zones_new(texts, "empty.");
	served.zones = zones.db;
	served.env = (answer_env_t){ .udp_payload_max_ipv4 = 1232, .udp_payload_max_ipv6 = 1232 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	test_zones_free(&zones);
	return 0;
}

static size_t ask_from(uint16_t port, const char *qname, uint16_t type)
{
	const struct sockaddr_in client = { .sin_family = AF_INET, .sin_port = htons(port) };
	const answer_source_t source = { .protocol = ANSWER_UDP4, .remote = (const struct sockaddr *)&client };
	static uint8_t reply[1232];
	static request_limits_t limits;
	uint8_t message[512];
	const test_query_t query = { .qtype = type };
	const knot_bytes_t bytes = { message, test_query_put(&query, qname, message, sizeof(message)) };
	answer_request_t request;
	test_zones_enter(&zones);
	answer_read(&served.env, served.zones, &bytes, 1, &request);
	size_t len = request_answer(
			&traffic, &limits, &served, &source, &request, (knot_mut_bytes_t){ reply, sizeof(reply) });
	test_zones_leave(&zones);
	return len;
}

static size_t ask(const char *qname, uint16_t type)
{
	return ask_from(5353, qname, type);
}

/* The zone that answers is noted, once; a zone that has no contents is wanted. Reading a request alone does neither. */
static void test_effects(void **state)
{
	(void)state;
	assert_true(ask("a.ex.", KNOT_TYPE_A) > 0);
	assert_true(zone_take_asked(zones.zones[ZONE_EX]));
	assert_false(zone_take_asked(zones.zones[ZONE_EX]));
	assert_false(zone_take_asked(zones.zones[ZONE_SUB]));
	assert_null(zonedb_take_wanted(zones.db));

	/* DS at a cut is the parent's, so it's the parent that is asked. */
	assert_true(ask("sub.ex.", KNOT_TYPE_DS) > 0);
	assert_true(zone_take_asked(zones.zones[ZONE_EX]));
	assert_false(zone_take_asked(zones.zones[ZONE_SUB]));

	assert_true(ask("x.empty.", KNOT_TYPE_A) > 0);
	assert_true(zone_take_asked(zones.zones[ZONE_EMPTY]));
	assert_ptr_equal(zonedb_take_wanted(zones.db), zones.zones[ZONE_EMPTY]);

	/* What is about no name in a zone leaves no mark. */
	assert_true(ask("a.elsewhere.", KNOT_TYPE_A) > 0);
	assert_true(ask("ex.", KNOT_TYPE_AXFR) > 0);
	for (unsigned i = 0; i <= ZONE_EMPTY; i++) {
		assert_false(zone_take_asked(zones.zones[i]));
	}
	/* Nor does a request that isn't answered. */
	assert_int_equal(ask_from(7, "a.ex.", KNOT_TYPE_A), 0);
	assert_false(zone_take_asked(zones.zones[ZONE_EX]));
}

/* ---- Modules ---- */

typedef struct {
	module_instance_t base;
	unsigned gates, answers;
	answer_refusal_t refusal;
} probe_t;

static answer_refusal_t probe_gate(module_instance_t *instance, const answer_source_t *source,
		const answer_request_t *request, module_notes_t *notes)
{
	(void)source, (void)request, (void)notes;
	((probe_t *)instance)->gates++;
	return ((probe_t *)instance)->refusal;
}

static void probe_answered(module_instance_t *instance, const module_answered_t *what)
{
	assert_true(what->request_len > 12 && what->response_len > 12);
	((probe_t *)instance)->answers++;
}

static void probe_free(module_instance_t *instance)
{
	(void)instance; /* static */
}

static const module_api_t both_api = { .free = probe_free, .gate = probe_gate, .answered = probe_answered };
static const module_api_t counting_api = { .free = probe_free, .answered = probe_answered };

static module_chain_t *chain_of(probe_t *probe, const module_api_t *api)
{
	*probe = (probe_t){ .base.api = api };
	module_instance_t *instances[] = { &probe->base };
	module_chain_t *chain = NULL;
	assert_int_equal(module_chain_of(instances, 1, &chain), KNOT_OK);
	return chain;
}

/* A request passes the server's chain and, if a zone answers, that zone's: at the stages where they take part. */
static void test_modules(void **state)
{
	(void)state;
	probe_t server, zone;
	state_zone_modules_t own = { zones.zones[ZONE_EX], chain_of(&zone, &both_api) };
	served.zone_modules = &own;
	served.zone_modules_count = 1;
	assert_true(ask("a.ex.", KNOT_TYPE_A) > 0);
	assert_true(zone.gates == 1 && zone.answers == 1);
	assert_true(ask("sub.ex.", KNOT_TYPE_A) > 0); /* another zone */
	assert_true(zone.gates == 1 && zone.answers == 1);

	served.modules = chain_of(&server, &counting_api);
	assert_true(ask("a.ex.", KNOT_TYPE_A) > 0);
	assert_true(ask("a.elsewhere.", KNOT_TYPE_A) > 0);
	assert_true(zone.gates == 2 && zone.answers == 2);
	assert_true(server.gates == 0 && server.answers == 2);

	zone.refusal = ANSWER_REFUSAL_NOT_LOADED;
	uint32_t before = traffic.noted[TRAFFIC_RCODES + KNOT_RCODE_SERVFAIL];
	assert_true(ask("a.ex.", KNOT_TYPE_A) > 0);
	assert_int_equal(traffic.noted[TRAFFIC_RCODES + KNOT_RCODE_SERVFAIL], before + 1);
	assert_true(zone.gates == 3 && zone.answers == 3);

	module_chain_free(own.chain);
	module_chain_free(served.modules);
	served.zone_modules_count = 0;
	served.modules = NULL;
}

/* ---- What a worker takes ---- */

typedef struct {
	unsigned streams, updates, refreshes;
	uint32_t serial; /* of the last one */
} taken_t;

static void take_stream(void *ctx, const state_t *state, const answer_source_t *source, const answer_request_t *request,
		const answer_report_t *report, const answer_aside_t *aside)
{
	(void)state, (void)source, (void)request;
	assert_ptr_equal(report->zone, zones.zones[ZONE_EX]);
	assert_true(aside->template.len > 12 && aside->contents == zone_contents(report->zone));
	((taken_t *)ctx)->streams++;
}

static void take_update(void *ctx, const state_t *state, const answer_source_t *source, const answer_request_t *request,
		const answer_report_t *report, const answer_aside_t *aside)
{
	(void)state, (void)source, (void)aside;
	assert_ptr_equal(report->zone, zones.zones[ZONE_EX]);
	assert_true(request->query.wire.len > 12);
	((taken_t *)ctx)->updates++;
}

static const request_takers_t takers = {
	.takes = ANSWER_EFFECT_STREAM | ANSWER_EFFECT_UPDATE,
	.stream = take_stream,
	.update = take_update,
};

/* serial: of the SOA that a NOTIFY or an IXFR has; 0: none. */
static size_t ask_for(request_turn_t *turn, answer_protocol_t protocol, knot_opcode_t opcode, uint16_t type,
		uint32_t serial, const char *host)
{
	struct sockaddr_in client = { .sin_family = AF_INET, .sin_port = htons(5353) };
	assert_int_equal(inet_pton(AF_INET, host, &client.sin_addr), 1);
	const answer_source_t source = {
		.protocol = protocol, .remote = (const struct sockaddr *)&client, .turn = &turn->answer
	};
	static const uint8_t ex[] = "\2ex";
	uint8_t message[512], soa[22] = { 0 };
	static uint8_t reply[1232];
	knot_msg_writer_t w;
	knot_msg_begin(&w, (knot_mut_bytes_t){ message, sizeof(message) });
	assert_int_equal(knot_msg_put_question(&w, knot_name_of(ex), type, KNOT_CLASS_IN), KNOT_OK);
	store_be32(soa + 2, serial);
	knot_section_t section = opcode == KNOT_OPCODE_NOTIFY ? KNOT_SECTION_ANSWER : KNOT_SECTION_AUTHORITY;
	if (serial > 0) {
		assert_int_equal(knot_msg_put_rr(&w, section, knot_name_of(ex), KNOT_TYPE_SOA, KNOT_CLASS_IN, 0,
						 (knot_bytes_t){ soa, sizeof(soa) }),
				KNOT_OK);
	}
	const knot_bytes_t bytes = { message, knot_msg_finish(&w, 1, (uint16_t)(opcode << 11)) };
	static request_limits_t limits;
	answer_request_t request;
	request_turn_begin(turn, 1);
	test_zones_enter(&zones);
	answer_read(&served.env, served.zones, &bytes, 1, &request);
	size_t len = request_answer(&traffic, answer_is_udp(protocol) ? &limits : NULL, &served, &source, &request,
			(knot_mut_bytes_t){ reply, sizeof(reply) });
	test_zones_leave(&zones);
	return len;
}

static void read_log(const char *path, char *ret_text, size_t max)
{
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	ret_text[0] = '\0';
	char line[1024];
	while (fgets(line, sizeof(line), file) != NULL) {
		const char *text = strchr(line, ' ');
		assert_non_null(text);
		(void)snprintf(ret_text + strlen(ret_text), max - strlen(ret_text), "%s", text + 1);
	}
	(void)fclose(file);
}

/* Transfers, updates and NOTIFYs reach the worker that takes them, once, and are counted and logged as Knot does. */
static void test_takers(void **state)
{
	(void)state;
	static const char want[] =
			"debug: [ex.] ACL, allowed, action transfer, remote 192.0.2.1@5353 TCP\n"
			"debug: [ex.] ACL, allowed, action transfer, remote 192.0.2.1@5353 TCP\n"
			"info: [ex.] IXFR, outgoing, remote 192.0.2.1@5353 TCP, zone is up-to-date, serial 1\n"
			"debug: [ex.] ACL, allowed, action update, remote 192.0.2.1@5353 UDP\n"
			"debug: [ex.] ACL, allowed, action notify, remote 192.0.2.1@5353 UDP\n"
			"info: [ex.] notify, incoming, remote 192.0.2.1@5353, serial 5\n"
			"debug: [ex.] ACL, allowed, action notify, remote 192.0.2.1@5353 TCP\n"
			"info: [ex.] notify, incoming, remote 192.0.2.1@5353 TCP, serial 1\n"
			"debug: [ex.] ACL, denied, action transfer, remote 192.0.2.2@5353 TCP\n"
			"debug: [ex.] ACL, allowed, action transfer, remote 192.0.2.1@5353 TCP\n"
			"info: [ex.] AXFR, outgoing, remote 192.0.2.1@5353 TCP, outgoing AXFR frozen\n";
	char path[] = "/tmp/request_test.XXXXXX", got[4096];
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	sys_log_target_t target = { .kind = SYS_LOG_TO_FILE, .path = path };
	target.levels[SYS_LOG_ZONE] = 0xFF;
	assert_int_equal(sys_log_open(&target, 1, getuid(), getgid()), KNOT_OK);
	conf_t *conf = build_text("acl:\n  - id: a\n    address: 192.0.2.1\n    action: [transfer, notify, update]\n"
				  "zone:\n  - domain: ex\n    acl: a\n");
	served.env.conf = conf;
	taken_t taken = { 0 };
	notice_t notice;
	assert_int_equal(notices_new(&served.notices), KNOT_OK);
	request_turn_t turn = { .takers = &takers, .ctx = &taken };
	traffic = (traffic_batch_t){ 0 };

	assert_int_equal(ask_for(&turn, ANSWER_TCP4, KNOT_OPCODE_QUERY, KNOT_TYPE_AXFR, 0, "192.0.2.1"), 0);
	assert_true(ask_for(&turn, ANSWER_TCP4, KNOT_OPCODE_QUERY, KNOT_TYPE_IXFR, 1, "192.0.2.1") > 12);
	assert_int_equal(ask_for(&turn, ANSWER_UDP4, KNOT_OPCODE_UPDATE, KNOT_TYPE_SOA, 0, "192.0.2.1"), 0);
	assert_true(taken.streams == 1 && taken.updates == 1);
	assert_false(notices_take(served.notices, &notice));
	assert_true(ask_for(&turn, ANSWER_UDP4, KNOT_OPCODE_NOTIFY, KNOT_TYPE_SOA, 5, "192.0.2.1") > 0);
	assert_true(notices_take(served.notices, &notice) && memcmp(notice.zone, "\2ex", 4) == 0);
	assert_true(notice.from.family == AF_INET && notice.from.bytes[3] == 1);
	assert_true(ask_for(&turn, ANSWER_TCP4, KNOT_OPCODE_NOTIFY, KNOT_TYPE_SOA, 1, "192.0.2.1") > 0);
	assert_true(ask_for(&turn, ANSWER_TCP4, KNOT_OPCODE_QUERY, KNOT_TYPE_AXFR, 0, "192.0.2.2") > 0);
	zone_freeze_transfers(zones.zones[ZONE_EX], true);
	assert_true(ask_for(&turn, ANSWER_TCP4, KNOT_OPCODE_QUERY, KNOT_TYPE_AXFR, 0, "192.0.2.1") > 0);
	zone_freeze_transfers(zones.zones[ZONE_EX], false);
	assert_true(taken.streams == 1 && taken.updates == 1);
	assert_false(notices_take(served.notices, &notice));
	notices_free(served.notices);
	served.notices = NULL;

	/* The update is counted when it's answered; a denied request counts as BADKEY, as Knot's do. */
	assert_int_equal(traffic.noted[TRAFFIC_REQUESTS + ANSWER_TCP4], 5);
	assert_int_equal(traffic.noted[TRAFFIC_REQUESTS + ANSWER_UDP4], 1);
	assert_int_equal(traffic.noted[TRAFFIC_RCODES + KNOT_RCODE_NOERROR], 4);
	assert_int_equal(traffic.noted[TRAFFIC_RCODES + KNOT_RCODE_BADKEY], 1);
	assert_int_equal(traffic.noted[TRAFFIC_RCODES + KNOT_RCODE_REFUSED], 1);
	for (unsigned i = TRAFFIC_DROPS; i < TRAFFIC_NOTED; i++) {
		assert_int_equal(traffic.noted[i], 0);
	}
	sys_log_close();
	read_log(path, got, sizeof(got));
	assert_string_equal(got, want);
	served.env.conf = NULL;
	conf_free(conf);
	(void)close(fd);
	(void)unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_effects),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_takers),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
