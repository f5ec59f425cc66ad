/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/modules/module_test_gate.h"

#include "libknot/msg/message.h"
#include "src/answer/answer_test_query.h"
#include "src/answer/answer_test_zones.h"

#define SIGNATURE " 13 1 60 20300101000000 20200101000000 1 c. AAAA\n"

static const char *const texts[] = {
	"$ORIGIN _signal.ns1.op.\n$TTL 60\n@ SOA ns h 1 2 3 4 5\n@ NS ns1.op.\n_dsboot.own CDS 7 13 2 00\nhere A "
	"192.0.2.1\n"
	"cut NS ns.cut\nns.cut A 192.0.2.2\n_dsboot.alias CNAME nowhere\n",
	/* Of two labels, so that the name between is one of several. */
	"$ORIGIN child.ex.\n$TTL 300\n@ SOA ns h 1 2 3 4 5\n@ NS ns1.op.\n@ CDS 1 13 2 AA\n@ CDS 2 13 2 BB\n"
	"@ RRSIG CDS" SIGNATURE "@ CDNSKEY 257 3 13 AAAA\n",
	"$ORIGIN bare.\n$TTL 300\n@ SOA ns h 1 2 3 4 5\n@ NS ns1.op.\n",
	"$ORIGIN hidden.\n$TTL 300\n@ SOA ns h 1 2 3 4 5\n@ NS ns1.op.\n@ CDS 1 13 2 AA\n",
	NULL,
};
enum { HIDDEN = 3 };

static test_zones_t zones;

static int setup(void **state)
{
	(void)state;
	zones = test_zones_new(texts, "empty.");
	zone_restrict_queries(zones.zones[HIDDEN], true);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	test_zones_free(&zones);
	return 0;
}

typedef struct {
	unsigned rcode;
	bool is_authoritative;
	unsigned answers, others; /* records of the type asked for, which have the question's name; others of ANSWER */
	unsigned authorities;
	uint32_t ttl;
} reply_t;

static reply_t ask(const char *qname, uint16_t type, module_chain_t *chain)
{
	uint8_t message[512], out[1400], wire[KNOT_NAME_MAX];
	static const struct sockaddr_in client = { .sin_family = AF_INET };
	const answer_source_t source = { .protocol = ANSWER_UDP4, .remote = (const struct sockaddr *)&client };
	const answer_env_t env = { .udp_payload_max_ipv4 = 1232, .udp_payload_max_ipv6 = 1232 };
	const test_query_t query = { .qtype = type, .udp_payload = 1232, .dnssec_ok = true };
	knot_bytes_t bytes = { message, test_query_put(&query, qname, message, sizeof(message)) };
	module_chains_t chains = { .zone = chain, .zones = zones.db };
	answer_guests_t guests = module_guests(&chains);
	answer_request_t request;
	answer_report_t report;
	test_zones_enter(&zones);
	answer_read(&env, zones.db, &bytes, 1, &request);
	size_t len = answer_message(&env, &source, &request, &guests, (knot_mut_bytes_t){ out, sizeof(out) }, &report);
	test_zones_leave(&zones);

	knot_message_t view;
	knot_message_rr_t rr;
	knot_name_t name;
	assert_int_equal(knot_name_scan(knot_str_of(qname), knot_name_root, wire, &name), KNOT_OK);
	assert_int_equal(knot_message_begin((knot_bytes_t){ out, len }, &view), KNOT_OK);
	reply_t reply = { .rcode = view.flags & KNOT_RCODE_MASK, .is_authoritative = (view.flags & KNOT_FLAG_AA) != 0 };
	while (knot_message_next(&view, &rr)) {
		bool is_answer = rr.section == KNOT_SECTION_ANSWER;
		bool is_wanted = is_answer && rr.type == type && knot_name_eq(rr.owner, name);
		reply.answers += is_wanted;
		reply.others += is_answer && !is_wanted;
		reply.authorities += rr.section == KNOT_SECTION_AUTHORITY;
		reply.ttl = is_wanted ? rr.ttl : reply.ttl;
	}
	assert_true(knot_message_is_whole(&view));
	return reply;
}

static void test_answers(void **state)
{
	(void)state;
	static const struct {
		const char *qname;
		uint16_t type;
		unsigned rcode, answers, others, authorities;
		bool is_authoritative;
	} rows[] = {
		/* The child's records, without its signatures, in any case of letters. */
		{ "_dsboot.child.ex._signal.ns1.op.", KNOT_TYPE_CDS, 0, 2, 0, 0, true },
		{ "_DSboot.CHILD.ex._signal.ns1.op.", KNOT_TYPE_CDNSKEY, 0, 1, 0, 0, true },
		/* Another type, another label in front, nothing between: no records, but no NXDOMAIN. */
		{ "_dsboot.child.ex._signal.ns1.op.", KNOT_TYPE_A, 0, 0, 0, 1, true },
		{ "_dsboot.child.ex._signal.ns1.op.", KNOT_TYPE_DS, 0, 0, 0, 1, true },
		{ "_other.child.ex._signal.ns1.op.", KNOT_TYPE_CDS, 0, 0, 0, 1, true },
		{ "_dsboot._signal.ns1.op.", KNOT_TYPE_CDS, 0, 0, 0, 1, true },
		{ "x._dsboot.child.ex._signal.ns1.op.", KNOT_TYPE_CDS, 0, 0, 0, 1, true },
		{ "child.ex._signal.ns1.op.", KNOT_TYPE_CDS, 0, 0, 0, 1, true },
		/* A zone without such records; one that isn't here, or isn't for everybody; one without contents. */
		{ "_dsboot.bare._signal.ns1.op.", KNOT_TYPE_CDS, 0, 0, 0, 1, true },
		{ "_dsboot.unknown.ex._signal.ns1.op.", KNOT_TYPE_CDS, KNOT_RCODE_NXDOMAIN, 0, 0, 1, true },
		{ "_dsboot.x.child.ex._signal.ns1.op.", KNOT_TYPE_CDS, KNOT_RCODE_NXDOMAIN, 0, 0, 1, true },
		{ "_dsboot.hidden._signal.ns1.op.", KNOT_TYPE_CDS, KNOT_RCODE_NXDOMAIN, 0, 0, 1, true },
		{ "_dsboot.empty._signal.ns1.op.", KNOT_TYPE_CDS, KNOT_RCODE_SERVFAIL, 0, 0, 0, false },
		/* What the zone itself has comes first: records, referrals, chains. */
		{ "_dsboot.own._signal.ns1.op.", KNOT_TYPE_CDS, 0, 1, 0, 0, true },
		{ "here._signal.ns1.op.", KNOT_TYPE_A, 0, 1, 0, 0, true },
		{ "_dsboot.child.ex.cut._signal.ns1.op.", KNOT_TYPE_CDS, 0, 0, 0, 1, false },
		{ "_dsboot.alias._signal.ns1.op.", KNOT_TYPE_CDS, KNOT_RCODE_NXDOMAIN, 0, 1, 1, true },
	};
	module_chain_t *chain = test_gate_chain("", "mod-authsignal", "");
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		reply_t got = ask(rows[i].qname, rows[i].type, chain);
		if (got.rcode != rows[i].rcode || got.answers != rows[i].answers || got.others != rows[i].others ||
				got.authorities != rows[i].authorities ||
				got.is_authoritative != rows[i].is_authoritative) {
			fail_msg("row %zu: rcode %u, AA %u, %u answers, %u others, %u authorities", i, got.rcode,
					got.is_authoritative, got.answers, got.others, got.authorities);
		}
	}
	assert_int_equal(ask(rows[0].qname, rows[0].type, chain).ttl, 300);
	module_chain_free(chain);
}

/* Names as long as they may be. */
static void test_long_names(void **state)
{
	(void)state;
	char qname[KNOT_NAME_MAX + 8] = "_dsboot.";
	while (strlen(qname) + strlen("_signal.ns1.op.") + 64 < KNOT_NAME_MAX - 2) {
		strcat(qname, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz0123456789.");
	}
	strcat(qname, "_signal.ns1.op.");
	module_chain_t *chain = test_gate_chain("", "mod-authsignal", "");
	assert_int_equal(ask(qname, KNOT_TYPE_CDS, chain).rcode, KNOT_RCODE_NXDOMAIN);
	module_chain_free(chain);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_answers), cmocka_unit_test(test_long_names) };
	return cmocka_run_group_tests(tests, setup, teardown);
}
