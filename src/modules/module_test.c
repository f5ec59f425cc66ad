/* SPDX-License-Identifier: BSD-2-Clause */
/* Modules at the stages that change answers, by one made for this test: no module of ours takes part in them yet. */
#include "src/modules/module.h"

#include "libknot/msg/message.h"
#include "src/answer/answer_test_query.h"
#include "src/answer/answer_test_zones.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { OPTION_CODE = 65001, OPTION_LEN = 4 };

/** What it does and what it saw. */
typedef struct {
	module_instance_t base;
	answer_refusal_t refusal; /* at the gate */
	bool replaces;            /* what was decided, by a record */
	unsigned order[ANSWER_STAGE_END];
	answer_outcome_kind_t decided; /* what it was given */
	bool had_room;
} probe_t;

static unsigned calls; /* of all probes */

static answer_refusal_t probe_gate(module_instance_t *instance, const answer_source_t *source,
		const answer_request_t *request, module_notes_t *notes)
{
	probe_t *probe = (probe_t *)instance;
	notes->finish_len = (uint16_t)(notes->finish_len + KNOT_OPTION_HEAD_LEN + OPTION_LEN);
	assert_int_equal(source->protocol, ANSWER_UDP4);
	assert_int_equal(request->query.qclass, KNOT_CLASS_IN);
	probe->order[ANSWER_STAGE_GATE] = ++calls;
	return probe->refusal;
}

static void probe_decide(module_instance_t *instance, const answer_source_t *source, const answer_request_t *request,
		const zonedb_t *zones, answer_outcome_t *outcome)
{
	probe_t *probe = (probe_t *)instance;
	(void)source, (void)request, (void)zones;
	probe->order[ANSWER_STAGE_DECIDE] = ++calls;
	probe->decided = outcome->kind;
	if (probe->replaces) {
		outcome->kind = ANSWER_OUTCOME_RECORD;
		outcome->record.type = KNOT_TYPE_A;
		outcome->record.class = KNOT_CLASS_IN;
		outcome->record.ttl = 7;
		outcome->record.authoritative = true;
		outcome->record.rdata_len = 4;
		memcpy(outcome->record.rdata, "\12\0\0\1", 4);
	}
}

static uint32_t probe_finish(module_instance_t *instance, module_notes_t *notes, knot_msg_writer_t *w)
{
	probe_t *probe = (probe_t *)instance;
	(void)notes;
	probe->order[ANSWER_STAGE_FINISH] = ++calls;
	uint8_t *to = w->opt_off != 0 ? knot_msg_open_option(w, OPTION_CODE, OPTION_LEN) : NULL;
	probe->had_room = to != NULL;
	if (to != NULL) {
		memcpy(to, "mark", OPTION_LEN);
	}
	return to != NULL ? 1u << 30 : 0;
}

static void probe_answered(module_instance_t *instance, const module_answered_t *what)
{
	probe_t *probe = (probe_t *)instance;
	(void)what;
	probe->order[ANSWER_STAGE_ANSWERED] = ++calls;
}

static void probe_free(module_instance_t *instance)
{
	(void)instance; /* static */
}

static const module_api_t probe_api = {
	.name = "mod-probe",
	.free = probe_free,
	.gate = probe_gate,
	.decide = probe_decide,
	.finish = probe_finish,
	.answered = probe_answered,
};

static const module_api_t gate_api = { .name = "mod-gate", .free = probe_free, .gate = probe_gate };
static const module_api_t limiting_api = {
	.name = "mod-limiting", .free = probe_free, .gate = probe_gate, .gates_refused = true
};
static const module_api_t finishing_api = { .name = "mod-finishing", .free = probe_free, .finish = probe_finish };
static const module_api_t deciding_api = { .name = "mod-deciding", .free = probe_free, .decide = probe_decide };
static const module_api_t idle_api = { .name = "mod-idle", .free = probe_free };

static module_chain_t *chain_of(probe_t *probe, const module_api_t *api)
{
	probe->base.api = api;
	module_instance_t *instances[] = { &probe->base };
	module_chain_t *chain = NULL;
	assert_int_equal(module_chain_of(instances, 1, &chain), KNOT_OK);
	return chain;
}

/* ---- Requests ---- */

static const char zone_text[] = "$ORIGIN ex.\n$TTL 60\n@ SOA ns h 1 2 3 4 5\n@ NS ns.other.\na A 192.0.2.1\n"
				"full TXT \"%0*u\" \"%0*u\" \"%0*u\"\n"
				"fuller TXT \"%0*u\" \"%0*u\" \"%0*u\"\n";

static test_zones_t zones;
static answer_report_t report;
static uint8_t reply[1400];

static int setup(void **state)
{
	(void)state;
	/*
	 * full.ex. TXT leaves no byte of 512 when the reply has OPT: three strings of 200, 200 and 61 bytes; fuller.ex.
	 * TXT when it has none.
	 */
	static char text[2048];
	snprintf(text, sizeof(text), zone_text, 200, 0, 200, 0, 61, 0, 200, 0, 200, 0, 70, 0);
	const char *const texts[] = { text, NULL };
	zones = test_zones_new(texts, "empty.");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	test_zones_free(&zones);
	return 0;
}

/* Ask over UDP; returns the reply's length. chains NULL: without modules. */
static size_t ask_message(knot_bytes_t message, module_chains_t *chains)
{
	static const struct sockaddr_in client = { .sin_family = AF_INET };
	const answer_source_t source = { .protocol = ANSWER_UDP4, .remote = (const struct sockaddr *)&client };
	const answer_env_t env = { .udp_payload_max_ipv4 = 1232, .udp_payload_max_ipv6 = 1232 };
	answer_request_t request;
	test_zones_enter(&zones);
	answer_read(&env, zones.db, &message, 1, &request);
	size_t len;
	if (chains != NULL) {
		answer_guests_t guests = module_guests(chains);
		len = answer_message(
				&env, &source, &request, &guests, (knot_mut_bytes_t){ reply, sizeof(reply) }, &report);
		module_answered_t answered = { .query = &request.query, .report = &report };
		module_chain_answered(chains->server, &answered);
		module_chain_answered(chains->zone, &answered);
	} else {
		len = answer_message(
				&env, &source, &request, NULL, (knot_mut_bytes_t){ reply, sizeof(reply) }, &report);
	}
	test_zones_leave(&zones);
	knot_message_t m;
	knot_message_rr_t rr;
	assert_int_equal(knot_message_begin((knot_bytes_t){ reply, len }, &m), KNOT_OK);
	while (knot_message_next(&m, &rr)) {}
	assert_true(knot_message_is_whole(&m));
	return len;
}

static size_t ask(const char *qname, uint16_t type, bool edns, module_chains_t *chains)
{
	uint8_t message[512];
	const test_query_t query = { .qtype = type, .udp_payload = edns ? 512 : 0 };
	return ask_message((knot_bytes_t){ message, test_query_put(&query, qname, message, sizeof(message)) }, chains);
}

static unsigned rcode_of_reply(void)
{
	return reply[3] & KNOT_RCODE_MASK;
}

/* ---- Tests ---- */

/* Each stage is run once, in order, the server's chain before the zone's; what the module puts is in the reply. */
static void test_order(void **state)
{
	(void)state;
	size_t plain = ask("a.ex.", KNOT_TYPE_A, true, NULL);
	probe_t first = { .refusal = ANSWER_REFUSAL_NONE }, second = first;
	module_chain_t *server = chain_of(&first, &probe_api), *zone = chain_of(&second, &probe_api);
	module_chains_t chains = { .server = server, .zone = zone };
	calls = 0;
	size_t len = ask("a.ex.", KNOT_TYPE_A, true, &chains);
	for (unsigned stage = 0; stage < ANSWER_STAGE_END; stage++) {
		assert_int_equal(first.order[stage], 2 * stage + 1);
		assert_int_equal(second.order[stage], 2 * stage + 2);
	}
	assert_int_equal(first.decided, ANSWER_OUTCOME_PLAN);
	assert_int_equal(len, plain + 2 * (KNOT_OPTION_HEAD_LEN + OPTION_LEN));
	assert_memory_equal(reply + len - OPTION_LEN, "mark", OPTION_LEN);
	assert_int_equal(rcode_of_reply(), KNOT_RCODE_NOERROR);
	/* Without an OPT there is nothing to put options into. */
	(void)ask("a.ex.", KNOT_TYPE_A, false, &chains);
	assert_false(first.had_room);
	module_chain_free(server);
	module_chain_free(zone);
}

/* A refusal at the gate: later ones of the stage aren't asked, the row of the table is sent, later stages see it. */
static void test_gate(void **state)
{
	(void)state;
	static const struct {
		const char *qname;
		answer_refusal_t refusal;
		unsigned want_rcode;
		uint16_t want_ede;
	} rows[] = {
		{ "a.ex.", ANSWER_REFUSAL_CLASS, KNOT_RCODE_REFUSED, KNOT_EDE_NONE },
		{ "a.ex.", ANSWER_REFUSAL_NOT_LOADED, KNOT_RCODE_SERVFAIL, KNOT_EDE_INVALID_DATA },
		{ "a.elsewhere.", ANSWER_REFUSAL_NOT_IMPLEMENTED, KNOT_RCODE_NOTIMP, KNOT_EDE_NONE },
		{ "a.elsewhere.", ANSWER_REFUSAL_NONE, KNOT_RCODE_REFUSED, KNOT_EDE_NOT_AUTH },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		probe_t first = { .refusal = rows[i].refusal }, second = { .refusal = ANSWER_REFUSAL_NONE };
		module_chain_t *server = chain_of(&first, &probe_api), *zone = chain_of(&second, &gate_api);
		module_chains_t chains = { .server = server, .zone = zone };
		(void)ask(rows[i].qname, KNOT_TYPE_A, true, &chains);
		assert_int_equal(rcode_of_reply(), rows[i].want_rcode);
		assert_int_equal(report.ede, rows[i].want_ede);
		assert_int_equal(report.rcode, rows[i].want_rcode);
		assert_int_equal(second.order[ANSWER_STAGE_GATE] != 0, rows[i].refusal == ANSWER_REFUSAL_NONE);
		assert_int_equal(first.decided, ANSWER_OUTCOME_REFUSAL);
		assert_true(first.had_room); /* options of modules are on errors, too */
		module_chain_free(server);
		module_chain_free(zone);
	}
}

/* A module that limits what is sent at all sees what others have refused, and may refuse it in its own way. */
static void test_gate_after_refusal(void **state)
{
	(void)state;
	static const struct {
		answer_refusal_t first, own;
		bool want_called;
		answer_refusal_t want;
	} rows[] = {
		{ ANSWER_REFUSAL_NONE, ANSWER_REFUSAL_NONE, true, ANSWER_REFUSAL_NONE },
		{ ANSWER_REFUSAL_BAD_COOKIE, ANSWER_REFUSAL_NONE, true, ANSWER_REFUSAL_BAD_COOKIE },
		{ ANSWER_REFUSAL_BAD_COOKIE, ANSWER_REFUSAL_TRUNCATED, true, ANSWER_REFUSAL_TRUNCATED },
		{ ANSWER_REFUSAL_TRUNCATED, ANSWER_REFUSAL_SILENT, true, ANSWER_REFUSAL_SILENT },
		{ ANSWER_REFUSAL_SILENT, ANSWER_REFUSAL_TRUNCATED, false, ANSWER_REFUSAL_SILENT },
	};
	const answer_source_t source = { .protocol = ANSWER_UDP4 };
	const answer_request_t request = { .query.qclass = KNOT_CLASS_IN };
	for (size_t row = 0; row < KNOT_LEN(rows); row++) {
		probe_t first = { .refusal = rows[row].first }, other = { .refusal = ANSWER_REFUSAL_CLASS },
			limiter = { .refusal = rows[row].own };
		first.base.api = &gate_api;
		other.base.api = &gate_api;
		limiter.base.api = &limiting_api;
		module_instance_t *both[] = { &other.base, &limiter.base };
		/* The limiter is of the zone, behind one that isn't asked after a refusal. */
		unsigned skip = rows[row].first == ANSWER_REFUSAL_NONE;
		module_chain_t *server = chain_of(&first, &gate_api), *zone = NULL;
		assert_int_equal(module_chain_of(both + skip, 2 - skip, &zone), KNOT_OK);
		module_chains_t chains = { .server = server, .zone = zone };
		answer_guests_t guests = module_guests(&chains);
		assert_int_equal(guests.gate(guests.ctx, &source, &request), rows[row].want);
		assert_int_equal(limiter.order[ANSWER_STAGE_GATE] != 0, rows[row].want_called);
		assert_int_equal(other.order[ANSWER_STAGE_GATE], 0);
		module_chain_free(server);
		module_chain_free(zone);
	}
}

/* An outcome replaced by a record: also where the request was refused. */
static void test_decide(void **state)
{
	(void)state;
	static const char *const names[] = { "a.ex.", "nx.ex.", "a.elsewhere." };
	for (size_t i = 0; i < KNOT_LEN(names); i++) {
		probe_t probe = { .replaces = true };
		module_chain_t *chain = chain_of(&probe, &probe_api);
		module_chains_t chains = { .server = chain };
		(void)ask(names[i], KNOT_TYPE_A, true, &chains);
		assert_int_equal(rcode_of_reply(), KNOT_RCODE_NOERROR);
		knot_message_t m;
		knot_message_rr_t rr;
		assert_int_equal(knot_message_begin((knot_bytes_t){ reply, sizeof(reply) }, &m), KNOT_OK);
		assert_int_equal(m.flags & (KNOT_FLAG_AA | KNOT_FLAG_TC), KNOT_FLAG_AA);
		assert_int_equal(m.counts[KNOT_SECTION_ANSWER], 1);
		assert_int_equal(m.counts[KNOT_SECTION_AUTHORITY], 0);
		assert_true(knot_message_next(&m, &rr) && knot_message_next(&m, &rr));
		assert_int_equal(rr.off + 2 + 10, rr.rdata_off); /* the owner points to the question */
		assert_int_equal(rr.ttl, 7);
		assert_memory_equal(reply + rr.rdata_off, "\12\0\0\1", 4);
		module_chain_free(chain);
	}
}

/* A request without a question, and one that can't be read: there is nothing that a record could be the answer to. */
static void test_nothing_to_decide(void **state)
{
	(void)state;
	static const uint8_t no_question[12] = { 0x12, 0x34 };
	static const uint8_t trailing_byte[] = { 0x12, 0x34, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 'e', 'x', 0, 0, 1, 0, 1,
		9 };
	const knot_bytes_t messages[] = { { no_question, sizeof(no_question) },
		{ trailing_byte, sizeof(trailing_byte) } };
	for (size_t i = 0; i < KNOT_LEN(messages); i++) {
		probe_t probe = { .replaces = true };
		module_chain_t *chain = chain_of(&probe, &deciding_api);
		module_chains_t chains = { .server = chain };
		(void)ask_message(messages[i], &chains);
		assert_int_equal(rcode_of_reply(), KNOT_RCODE_FORMERR);
		assert_int_equal(probe.order[ANSWER_STAGE_DECIDE], 0);
		module_chain_free(chain);
	}
}

/* A module that may put an option, but not into this reply, costs no room, nor does one where there is no OPT. */
static void test_finish_takes_no_room_in_vain(void **state)
{
	(void)state;
	probe_t finishing = { .replaces = false }, announcing = finishing;
	module_chain_t *chain = chain_of(&finishing, &finishing_api), *full = chain_of(&announcing, &probe_api);
	module_chains_t chains = { .zone = chain }, more = { .zone = full };
	size_t plain = ask("full.ex.", KNOT_TYPE_TXT, true, NULL);
	assert_int_equal(ask("full.ex.", KNOT_TYPE_TXT, true, &chains), plain);
	assert_false(report.truncated);
	plain = ask("fuller.ex.", KNOT_TYPE_TXT, false, NULL);
	assert_int_equal(plain, 512);
	assert_int_equal(ask("fuller.ex.", KNOT_TYPE_TXT, false, &more), plain);
	assert_false(report.truncated);
	module_chain_free(chain);
	module_chain_free(full);
}

/* A module's option is kept room for: records give way to it. */
static void test_finish_has_room(void **state)
{
	(void)state;
	assert_int_equal(ask("full.ex.", KNOT_TYPE_TXT, true, NULL), 512);
	assert_false(report.truncated);
	probe_t probe = { .refusal = ANSWER_REFUSAL_NONE };
	module_chain_t *chain = chain_of(&probe, &probe_api);
	module_chains_t chains = { .zone = chain };
	assert_true(ask("full.ex.", KNOT_TYPE_TXT, true, &chains) <= 512);
	assert_true(report.truncated);
	assert_true(probe.had_room);
	module_chain_free(chain);
}

/* Chains know where they take part; a guest is called nowhere else. */
static void test_stages(void **state)
{
	(void)state;
	probe_t gate = { .refusal = ANSWER_REFUSAL_NONE }, idle = gate, all = gate;
	gate.base.api = &gate_api;
	idle.base.api = &idle_api;
	all.base.api = &probe_api;
	module_instance_t *both[] = { &idle.base, &gate.base };
	module_chain_t *chain = NULL, *full = chain_of(&all, &probe_api);
	assert_int_equal(module_chain_of(both, KNOT_LEN(both), &chain), KNOT_OK);
	assert_int_equal(module_chain_stages(chain), 1u << ANSWER_STAGE_GATE);
	assert_int_equal(module_chain_stages(full), (1u << ANSWER_STAGE_END) - 1);
	assert_int_equal(module_chain_stages(NULL), 0);
	module_chains_t chains = { .server = chain }, more = { .server = chain, .zone = full };
	assert_int_equal(module_guests(&chains).stages, 1u << ANSWER_STAGE_GATE);
	assert_int_equal(module_guests(&more).stages, (1u << ANSWER_STAGE_END) - 1);
	(void)ask("a.ex.", KNOT_TYPE_A, true, &chains);
	assert_int_not_equal(gate.order[ANSWER_STAGE_GATE], 0);
	assert_int_equal(gate.order[ANSWER_STAGE_DECIDE] + gate.order[ANSWER_STAGE_ANSWERED], 0);
	module_chain_free(chain);
	module_chain_free(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_gate),
		cmocka_unit_test(test_gate_after_refusal),
		cmocka_unit_test(test_decide),
		cmocka_unit_test(test_nothing_to_decide),
		cmocka_unit_test(test_finish_has_room),
		cmocka_unit_test(test_finish_takes_no_room_in_vain),
		cmocka_unit_test(test_stages),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
