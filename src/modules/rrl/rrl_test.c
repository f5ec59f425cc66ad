/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/modules/module_test_gate.h"

static const char conf_text[] =
		"mod-rrl:\n  - id: a\n    instant-limit: 3\n    rate-limit: 1\n    log-period: 0\n"
		"  - id: slip\n    instant-limit: 3\n    rate-limit: 1\n    log-period: 0\n    slip: 2\n"
		"  - id: drop\n    instant-limit: 3\n    rate-limit: 1\n    log-period: 0\n    slip: 0\n"
		"  - id: dry\n    instant-limit: 3\n    rate-limit: 1\n    log-period: 0\n    dry-run: on\n"
		"  - id: white\n    instant-limit: 3\n    rate-limit: 1\n    whitelist: 192.0.2.0/28\n"
		"  - id: off\n    instant-limit: 3\n    rate-limit: 0\n    time-rate-limit: 0\n"
		"  - id: slow\n    time-instant-limit: 1000000\n    time-rate-limit: 1\n"
		"  - id: time\n    time-instant-limit: 1\n    time-rate-limit: 1\n    log-period: 0\n";

static const answer_turn_t at_once = { .now_us = 1000000 };

/* '.': passes, T: truncated, '-': silence. */
static const char *ask(const module_chain_t *chain, answer_protocol_t protocol, const char *remote,
		const answer_request_t *request, bool is_known, unsigned count)
{
	static char text[32];
	for (unsigned i = 0; i < count; i++) {
		module_notes_t notes = { .is_source_known = is_known };
		answer_refusal_t refusal = test_gate_ask(chain, protocol, remote, NULL, request, &at_once, &notes);
		text[i] = refusal == ANSWER_REFUSAL_NONE ? '.' : refusal == ANSWER_REFUSAL_TRUNCATED ? 'T' : '-';
		assert_true(text[i] != '-' || refusal == ANSWER_REFUSAL_SILENT);
	}
	text[count] = '\0';
	return text;
}

static char counts[64];

static bool list(const sys_counter_info_t *info, const char *id, uint64_t value, void *ctx)
{
	size_t len = strlen(counts);
	(void)ctx, (void)info;
	assert_null(id);
	(void)snprintf(counts + len, sizeof(counts) - len, "%lu ", (unsigned long)value);
	return true;
}

static void test_outcomes(void **state)
{
	(void)state;
	static const struct {
		const char *id, *remote;
		answer_protocol_t protocol;
		answer_kind_t kind;
		knot_opcode_t opcode;
		bool is_known;
		const char *want, *want_counts; /* slipped, dropped, dropped-time */
	} rows[] = {
		{ "a", "192.0.2.1", ANSWER_UDP4, ANSWER_KIND_LOOKUP, KNOT_OPCODE_QUERY, false, "...TTTT", "4 0 0 " },
		{ "a", "2001:db8::1", ANSWER_UDP6_XDP, ANSWER_KIND_LOOKUP, KNOT_OPCODE_QUERY, false, "...TTTT",
				"4 0 0 " },
		{ "a", "192.0.2.1", ANSWER_UDP4, ANSWER_KIND_LOOKUP, KNOT_OPCODE_QUERY, true, ".......", "0 0 0 " },
		{ "a", "192.0.2.1", ANSWER_TCP4, ANSWER_KIND_LOOKUP, KNOT_OPCODE_QUERY, false, ".......", "0 0 0 " },
		{ "a", "", ANSWER_UDP4, ANSWER_KIND_LOOKUP, KNOT_OPCODE_QUERY, false, ".......", "0 0 0 " },
		{ "a", "192.0.2.1", ANSWER_UDP4, ANSWER_KIND_REFUSED, KNOT_OPCODE_QUERY, false, "...----", "0 4 0 " },
		{ "a", "192.0.2.1", ANSWER_UDP4, ANSWER_KIND_UPDATE, KNOT_OPCODE_UPDATE, false, "...----", "0 4 0 " },
		{ "slip", "192.0.2.1", ANSWER_UDP4, ANSWER_KIND_LOOKUP, KNOT_OPCODE_QUERY, false, "...-T-T", "2 2 0 " },
		{ "drop", "192.0.2.1", ANSWER_UDP4, ANSWER_KIND_LOOKUP, KNOT_OPCODE_QUERY, false, "...----", "0 4 0 " },
		{ "dry", "192.0.2.1", ANSWER_UDP4, ANSWER_KIND_LOOKUP, KNOT_OPCODE_QUERY, false, ".......", "4 0 0 " },
		{ "white", "192.0.2.15", ANSWER_UDP4, ANSWER_KIND_LOOKUP, KNOT_OPCODE_QUERY, false, ".......",
				"0 0 0 " },
		{ "off", "192.0.2.1", ANSWER_UDP4, ANSWER_KIND_LOOKUP, KNOT_OPCODE_QUERY, false, ".......", "0 0 0 " },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		module_chain_t *chain = test_gate_chain(conf_text, "mod-rrl", rows[i].id);
		const answer_request_t request = { .kind = (uint8_t)rows[i].kind, .query.opcode = rows[i].opcode };
		const char *got = ask(chain, rows[i].protocol, rows[i].remote, &request, rows[i].is_known, 7);
		counts[0] = '\0';
		(void)module_chain_counters(chain, NULL, list, NULL);
		if (strcmp(got, rows[i].want) != 0 || strcmp(counts, rows[i].want_counts) != 0) {
			fail_msg("row %zu: %s, %s", i, got, counts);
		}
		module_chain_free(chain);
	}
}

/* The next configuration's instance goes on where this one is; without one, all is forgotten. */
static void test_outlives_a_reload(void **state)
{
	(void)state;
	const answer_request_t request = { .kind = ANSWER_KIND_LOOKUP };
	module_chain_t *old = test_gate_chain(conf_text, "mod-rrl", "a");
	assert_string_equal(ask(old, ANSWER_UDP4, "192.0.2.1", &request, false, 4), "...T");
	module_chain_t *new = test_gate_chain(conf_text, "mod-rrl", "a");
	module_chain_t *other = test_gate_chain(conf_text, "mod-rrl", "slip");
	module_chain_free(old);
	assert_string_equal(ask(new, ANSWER_UDP4, "192.0.2.1", &request, false, 1), "T");
	assert_string_equal(ask(other, ANSWER_UDP4, "192.0.2.1", &request, false, 1), ".");
	module_chain_free(new);
	module_chain_free(other);
	new = test_gate_chain(conf_text, "mod-rrl", "a");
	assert_string_equal(ask(new, ANSWER_UDP4, "192.0.2.1", &request, false, 4), "...T");
	module_chain_free(new);
}

/* Over TCP the time that requests took is limited, here to a microsecond. */
static void test_time(void **state)
{
	(void)state;
	module_chain_t *chain = test_gate_chain(conf_text, "mod-rrl", "time");
	const answer_request_t request = { .kind = ANSWER_KIND_LOOKUP };
	struct sockaddr_storage from = test_gate_address("192.0.2.1");
	const answer_source_t source = {
		.protocol = ANSWER_TCP4, .remote = (const struct sockaddr *)&from, .turn = &at_once
	};
	answer_report_t report = { .verdict = KNOT_MSG_OK };
	module_notes_t notes = { 0 };
	module_instance_t *instance = chain->instances[0];
	assert_int_equal(instance->api->gate(instance, &source, &request, &notes), ANSWER_REFUSAL_NONE);
	assert_true(notes.started_ns > 0);
	notes.started_ns -= 60000; /* it takes 60 us */
	notes.used_ns -= 60000;
	const module_answered_t answered = {
		.report = &report, .source = &source, .notes = &notes, .response_len = 100
	};
	module_chain_answered(chain, &answered);
	notes = (module_notes_t){ 0 };
	assert_int_equal(instance->api->gate(instance, &source, &request, &notes), ANSWER_REFUSAL_SILENT);
	assert_string_equal(ask(chain, ANSWER_TCP4, "198.51.100.1", &request, false, 1), ".");
	assert_string_equal(ask(chain, ANSWER_UDP4, "192.0.2.1", &request, false, 1), ".");
	counts[0] = '\0';
	(void)module_chain_counters(chain, NULL, list, NULL);
	assert_string_equal(counts, "0 0 1 ");
	module_chain_free(chain);
}

/* What passes while others have the CPU isn't charged: of 900 ms that each request takes it used 900, 0 and 200, of a
 * second that there is. */
static void test_time_of_others(void **state)
{
	(void)state;
	module_chain_t *chain = test_gate_chain(conf_text, "mod-rrl", "slow");
	const answer_request_t request = { .kind = ANSWER_KIND_LOOKUP };
	struct sockaddr_storage from = test_gate_address("192.0.2.1");
	const answer_source_t source = { ANSWER_TCP4, .remote = (const struct sockaddr *)&from, .turn = &at_once };
	answer_report_t report = { .verdict = KNOT_MSG_OK };
	static const uint64_t used_ns[] = { 900000000, 0, 200000000, 0 };
	for (unsigned i = 0; i < KNOT_LEN(used_ns); i++) {
		module_chains_t chains = { .server = chain };
		answer_guests_t guests = module_guests(&chains);
		assert_int_equal(guests.gate(guests.ctx, &source, &request),
				i == 3 ? ANSWER_REFUSAL_SILENT : ANSWER_REFUSAL_NONE);
		chains.notes.started_ns -= 900000000;
		chains.notes.used_ns -= used_ns[i];
		const module_answered_t answered = { .report = &report, .source = &source, .notes = &chains.notes };
		module_chain_answered(chain, &answered);
	}
	module_chain_free(chain);
}

/* A block that both the server and the zone refer to counts a request once; another block counts by itself. */
static void test_server_and_zone(void **state)
{
	(void)state;
	static const struct {
		const char *zone_id, *want;
	} rows[] = { { "a", "...T" }, { "off", "...T" }, { "drop", "...-" } };
	const answer_request_t request = { .kind = ANSWER_KIND_LOOKUP };
	struct sockaddr_storage from = test_gate_address("192.0.2.1");
	const answer_source_t source = { ANSWER_UDP4, .remote = (const struct sockaddr *)&from, .turn = &at_once };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		module_chain_t *server = test_gate_chain(conf_text, "mod-rrl", "a");
		module_chain_t *zone = test_gate_chain(conf_text, "mod-rrl", rows[i].zone_id);
		for (const char *want = rows[i].want; *want != '\0'; want++) {
			module_chains_t chains = { .server = server, .zone = zone };
			answer_guests_t guests = module_guests(&chains);
			assert_int_equal(guests.gate(guests.ctx, &source, &request),
					*want == '.'   ? ANSWER_REFUSAL_NONE
					: *want == 'T' ? ANSWER_REFUSAL_TRUNCATED
						       : ANSWER_REFUSAL_SILENT);
		}
		module_chain_free(server);
		module_chain_free(zone);
	}
}

/* The same for time: a request is charged once. */
static void test_time_of_server_and_zone(void **state)
{
	(void)state;
	module_chain_t *server = test_gate_chain(conf_text, "mod-rrl", "slow");
	module_chain_t *zone = test_gate_chain(conf_text, "mod-rrl", "slow");
	const answer_request_t request = { .kind = ANSWER_KIND_LOOKUP };
	struct sockaddr_storage from = test_gate_address("192.0.2.1");
	const answer_source_t source = { ANSWER_TCP4, .remote = (const struct sockaddr *)&from, .turn = &at_once };
	answer_report_t report = { .verdict = KNOT_MSG_OK };
	/* 600 of 1000 ms: once they are within the limit, twice they are beyond. */
	for (unsigned i = 0; i < 2; i++) {
		module_chains_t chains = { .server = server, .zone = zone };
		answer_guests_t guests = module_guests(&chains);
		assert_int_equal(guests.gate(guests.ctx, &source, &request), ANSWER_REFUSAL_NONE);
		chains.notes.started_ns -= i == 0 ? 600000000 : 0;
		chains.notes.used_ns -= i == 0 ? 600000000 : 0;
		const module_answered_t answered = { .report = &report, .source = &source, .notes = &chains.notes };
		module_chain_answered(server, &answered);
		module_chain_answered(zone, &answered);
	}
	module_chain_free(server);
	module_chain_free(zone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outcomes),
		cmocka_unit_test(test_outlives_a_reload),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_time_of_others),
		cmocka_unit_test(test_server_and_zone),
		cmocka_unit_test(test_time_of_server_and_zone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
