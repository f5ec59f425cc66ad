/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/modules/module_test_gate.h"

static const char conf_text[] = "mod-queryacl:\n  - id: from\n    address: [ 192.0.2.77/25, 10.0.0.9-10.0.1.2, "
				"2001:db8:1::/47, 203.0.113.5 ]\n"
				"  - id: to\n    interface: [ 192.0.2.1, ::/0 ]\n"
				"  - id: both\n    address: 10.0.0.0/8\n    interface: 192.0.2.1\n"
				"  - id: unix\n    address: /run/x\n  - id: none\n";

static void test_addresses(void **state)
{
	(void)state;
	static const struct {
		const char *id, *remote, *local;
		bool admits;
	} rows[] = {
		{ "from", "192.0.2.0", NULL, true }, /* host bits of the prefix don't count */
		{ "from", "192.0.2.127", NULL, true },
		{ "from", "192.0.2.128", NULL, false },
		{ "from", "192.0.1.255", NULL, false },
		{ "from", "10.0.0.8", NULL, false },
		{ "from", "10.0.0.9", NULL, true },
		{ "from", "10.0.0.255", NULL, true },
		{ "from", "10.0.1.2", NULL, true },
		{ "from", "10.0.1.3", NULL, false },
		{ "from", "203.0.113.5", NULL, true },
		{ "from", "203.0.113.4", NULL, false },
		{ "from", "2001:db8:1:ffff::1", NULL, true },
		{ "from", "2001:db8:0:1::1", NULL, true },
		{ "from", "2001:db8:2::1", NULL, false },
		{ "from", "", NULL, false }, /* over a UNIX socket */
		{ "to", "198.51.100.1", "192.0.2.1", true },
		{ "to", "198.51.100.1", "192.0.2.2", false },
		{ "to", "2001:db8::1", "2001:db8::53", true },
		{ "to", "198.51.100.1", NULL, false }, /* not known */
		{ "both", "10.1.2.3", "192.0.2.1", true },
		{ "both", "10.1.2.3", "192.0.2.2", false },
		{ "both", "11.1.2.3", "192.0.2.1", false },
		{ "unix", "", NULL, true },
		{ "unix", "10.1.2.3", NULL, false },
		{ "none", "10.1.2.3", NULL, true },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		module_chain_t *chain = test_gate_chain(conf_text, "mod-queryacl", rows[i].id);
		const answer_request_t request = { .kind = ANSWER_KIND_LOOKUP };
		module_notes_t notes = { 0 };
		answer_refusal_t got = test_gate_ask(
				chain, ANSWER_UDP4, rows[i].remote, rows[i].local, &request, NULL, &notes);
		if (got != (rows[i].admits ? ANSWER_REFUSAL_NONE : ANSWER_REFUSAL_NOT_ADMITTED)) {
			fail_msg("%s: %s to %s: %d", rows[i].id, rows[i].remote, rows[i].local, got);
		}
		module_chain_free(chain);
	}
}

/* Queries only: transfers, updates and NOTIFY have rules of their own. */
static void test_kinds(void **state)
{
	(void)state;
	module_chain_t *chain = test_gate_chain(conf_text, "mod-queryacl", "both");
	for (unsigned kind = 0; kind < ANSWER_KIND_END; kind++) {
		const answer_request_t request = { .kind = (uint8_t)kind };
		module_notes_t notes = { 0 };
		bool is_query = kind == ANSWER_KIND_LOOKUP || kind == ANSWER_KIND_SIGNED || kind == ANSWER_KIND_CHAOS;
		assert_int_equal(test_gate_ask(chain, ANSWER_TCP4, "192.0.2.9", "192.0.2.9", &request, NULL, &notes),
				is_query ? ANSWER_REFUSAL_NOT_ADMITTED : ANSWER_REFUSAL_NONE);
	}
	module_chain_free(chain);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_addresses), cmocka_unit_test(test_kinds) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
