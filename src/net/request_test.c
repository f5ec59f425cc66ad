/* SPDX-License-Identifier: BSD-2-Clause */
/* What request_answer() does with what the engine returns: effects, counts, modules. */
#include "src/net/request.h"

#include "src/answer/answer_test_query.h"
#include "src/answer/answer_test_zones.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_effects),
		cmocka_unit_test(test_modules),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
