/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/state/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static const conf_host_t host = { .cpu_count = 2, .nofile_max = 1024, .hostname = "ns1.example", .version = "Test 1" };

static void no_fault(void *ctx, const conf_fault_t *fault)
{
	(void)ctx;
	print_error("%s\n", fault->text);
}

static conf_t *load(const char *text)
{
	conf_t *conf = NULL;
	assert_int_equal(conf_load_text("test", knot_str_of(text), &host, (conf_sink_t){ .fault = no_fault }, &conf),
			KNOT_OK);
	return conf;
}

static const struct {
	const char *what, *text, *identity, *version, *nsid;
	uint16_t max4, max6;
	bool rotate, subnet;
} rows[] = {
	{ "defaults are the host's", "", "ns1.example", "Test 1", "ns1.example", 1232, 1232, false, false },
	{ "empty switches off", "server:\n  identity: \"\"\n  version: \"\"\n  nsid: \"\"\n", "", "", "", 1232, 1232,
			false, false },
	{ "own values",
			"server:\n  identity: i\n  version: v\n  nsid: 0x6162\n  answer-rotation: on\n  "
			"edns-client-subnet: on\n",
			"i", "v", "ab", 1232, 1232, true, true },
	{ "one limit for both families", "server:\n  udp-max-payload: 1400\n", "ns1.example", "Test 1", "ns1.example",
			1400, 1400, false, false },
	{ "a family's own limit", "server:\n  udp-max-payload: 1400\n  udp-max-payload-ipv6: 1300\n", "ns1.example",
			"Test 1", "ns1.example", 1400, 1300, false, false },
};

static void expect_bytes(const char *what, knot_bytes_t got, const char *want)
{
	if (got.len != strlen(want) || (got.len > 0 && memcmp(got.data, want, got.len) != 0)) {
		fail_msg("%s: got %zu bytes, want \"%s\"", what, got.len, want);
	}
}

static void test_env_of_configuration(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		conf_t *conf = load(rows[i].text);
		answer_env_t env = state_env(conf);
		expect_bytes(rows[i].what, env.identity, rows[i].identity);
		expect_bytes(rows[i].what, env.version, rows[i].version);
		expect_bytes(rows[i].what, env.nsid, rows[i].nsid);
		assert_int_equal(env.udp_payload_max_ipv4, rows[i].max4);
		assert_int_equal(env.udp_payload_max_ipv6, rows[i].max6);
		assert_int_equal(env.rotate, rows[i].rotate);
		assert_int_equal(env.client_subnet, rows[i].subnet);
		conf_free(conf);
	}
}

/* Readers see one snapshot or the other; the old one comes back to be freed. */
static void test_publish(void **unused)
{
	(void)unused;
	sys_rcu_register();
	state_root_t root = { 0 };
	state_t *first, *second;
	assert_int_equal(state_new(load("server:\n  identity: one\n"), zonedb_new(NULL, 0), &first), KNOT_OK);
	assert_int_equal(state_new(load("server:\n  identity: two\n"), zonedb_new(NULL, 0), &second), KNOT_OK);
	assert_null(first->modules);
	assert_null(state_publish(&root, first));
	{
		RCU_READ_SECTION(guard);
		assert_ptr_equal(state_load(&root, guard), first);
	}
	assert_ptr_equal(state_publish(&root, second), first);
	state_free(first);
	{
		RCU_READ_SECTION(guard);
		expect_bytes("published", state_load(&root, guard)->env.identity, "two");
	}
	state_free(second);
	sys_rcu_unregister();
}

/* Chains of zones that are in the set, but can't be found by name yet. */
static void test_modules_of_new_zones(void **unused)
{
	(void)unused;
	static const char text[] = "zone:\n  - domain: a\n  - domain: b\n    module: mod-stats\n";
	sys_rcu_register();
	zone_t *zones[] = { zone_new(knot_name_of((const uint8_t *)"\1a")),
		zone_new(knot_name_of((const uint8_t *)"\1b")) };
	zonedb_t *one = zonedb_new(zones, 1), *two = zonedb_next(one, zones, 2);
	state_t *state;
	assert_null(zonedb_find(two, zone_name(zones[1])));
	assert_int_equal(state_new(load(text), two, &state), KNOT_OK);
	assert_null(state_zone_modules(state, zones[0]));
	assert_non_null(state_zone_modules(state, zones[1]));
	zonedb_link(two);
	zonedb_free(one);
	assert_ptr_equal(zonedb_find(two, zone_name(zones[1])), zones[1]);
	state_free(state);
	zone_free(zones[0]);
	zone_free(zones[1]);
	sys_rcu_unregister();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_env_of_configuration),
		cmocka_unit_test(test_publish),
		cmocka_unit_test(test_modules_of_new_zones),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
