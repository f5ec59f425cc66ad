/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/modules/module_test_gate.h"
#include "src/sys/counters.h"

static const char conf_text[] = "mod-noudp:\n  - id: allow\n    udp-allow-rate: 3\n  - id: cut\n"
				"    udp-truncate-rate: 3\n  - id: all\n    udp-allow-rate: 1\n";

/* T: truncated, '.': answered; of `count` requests. */
static const char *sent(
		const module_chain_t *chain, answer_protocol_t protocol, const answer_request_t *request, size_t count)
{
	static char text[32];
	for (size_t i = 0; i < count; i++) {
		module_notes_t notes = { 0 };
		answer_refusal_t refusal = test_gate_ask(chain, protocol, "192.0.2.1", NULL, request, NULL, &notes);
		assert_true(refusal == ANSWER_REFUSAL_NONE || refusal == ANSWER_REFUSAL_TRUNCATED);
		text[i] = refusal == ANSWER_REFUSAL_NONE ? '.' : 'T';
	}
	text[count] = '\0';
	return text;
}

/* As Knot: the last of each `rate` is the special one. With a row of counters and with the shared one. */
static void test_rates(void **state)
{
	(void)state;
	const answer_request_t request = { .kind = ANSWER_KIND_LOOKUP };
	for (unsigned turn = 0; turn < 2; turn++) {
		static const struct {
			const char *id, *want;
		} rows[] = { { "", "TTTTTTT" }, { "allow", "TT.TT.T" }, { "cut", "..T..T." }, { "all", "......." } };
		for (size_t i = 0; i < KNOT_LEN(rows); i++) {
			module_chain_t *chain = test_gate_chain(conf_text, "mod-noudp", rows[i].id);
			assert_string_equal(sent(chain, ANSWER_UDP4, &request, 7), rows[i].want);
			assert_string_equal(sent(chain, ANSWER_TCP4, &request, 7), ".......");
			module_chain_free(chain);
		}
		assert_int_not_equal(sys_slot_take(), 0);
	}
	sys_slot_give();
}

/* By protocol and kind of request. */
static void test_which(void **state)
{
	(void)state;
	static const struct {
		answer_protocol_t protocol;
		answer_kind_t kind;
		knot_opcode_t opcode;
		const char *want;
	} rows[] = {
		{ ANSWER_UDP6, ANSWER_KIND_LOOKUP, KNOT_OPCODE_QUERY, "T" },
		{ ANSWER_UDP4_XDP, ANSWER_KIND_LOOKUP, KNOT_OPCODE_QUERY, "T" },
		{ ANSWER_UDP6_XDP, ANSWER_KIND_IXFR, KNOT_OPCODE_QUERY, "T" },
		{ ANSWER_UDP4, ANSWER_KIND_CHAOS, KNOT_OPCODE_QUERY, "T" },
		{ ANSWER_UDP4, ANSWER_KIND_REFUSED, KNOT_OPCODE_QUERY, "." },
		{ ANSWER_UDP4, ANSWER_KIND_NOTIFY, KNOT_OPCODE_NOTIFY, "." },
		{ ANSWER_UDP4, ANSWER_KIND_UPDATE, KNOT_OPCODE_UPDATE, "." },
		{ ANSWER_TCP6_XDP, ANSWER_KIND_LOOKUP, KNOT_OPCODE_QUERY, "." },
	};
	module_chain_t *chain = test_gate_chain(conf_text, "mod-noudp", "");
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		const answer_request_t request = { .kind = (uint8_t)rows[i].kind, .query.opcode = rows[i].opcode };
		assert_string_equal(sent(chain, rows[i].protocol, &request, 1), rows[i].want);
	}
	module_chain_free(chain);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rates), cmocka_unit_test(test_which) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
