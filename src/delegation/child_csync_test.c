/* SPDX-License-Identifier: BSD-2-Clause */
/* What is accepted of CSYNC, and what isn't: one row each, which differs from a good case in one thing. */
#include "src/delegation/child_csync.h"
#include "src/delegation/test_child.h"

enum { SERVERS = 2, NS_MAX = 3 };

typedef enum {
	FINE,
	NO_KEY, /* DNSKEY: signed by a key that no DS is of */
	UNSIGNED_CSYNC,
	WRONG_CSYNC, /* its signature */
	UNSIGNED_NS,
	UNSIGNED_SOA,
	UNSIGNED_ADDRESS,
	NS_DIFFERS,
	CSYNC_DIFFERS,
	LACKS_CSYNC,
	TWO_CSYNCS,
	ADDRESS_DIFFERS,
	ADDRESS_BELOW_CUT, /* a referral */
	ADDRESS_BY_OTHER,  /* signed by a zone below */
	ADDRESS_ALIAS,
	SERIAL_MOVES,
	SERIAL_LOW, /* lower than that of the record */
	SERIAL_OLD, /* lower than last time */
	INSECURE,
	FAILS,
} fault_t;

/* Bitmaps of types. */
#define NS_ONLY          "\0\1\x20"
#define ADDRESSES        "\0\4\x40\0\0\x08"
#define NS_AND_ADDRESSES "\0\4\x60\0\0\x08"
#define WITH_MX          "\0\2\x20\1"
#define BITMAP(text)     (text), sizeof(text) - 1

typedef struct {
	const char *bitmap;
	size_t bitmap_len;
	unsigned flags;
	const char *present_ns[NS_MAX], *ns[NS_MAX];
	const char *glue, *a, *aaaa; /* of ns1.child.test.: one address each; NULL: none */
	fault_t fault;
	bool is_approved, is_forbidden;
	child_verdict_t plan, want;
	size_t hosts;
	const char *reason;
} row_t;

static const row_t rows[] = {
	/* ---- Accepted ---- */
	{ BITMAP(NS_ONLY), 3, { "ns.op." }, { "ns.other." }, .plan = CHILD_CHANGE, .want = CHILD_CHANGE },
	{ BITMAP(NS_ONLY), 1, { "ns.op." }, { "ns.other." }, .plan = CHILD_CHANGE, .want = CHILD_CHANGE },
	{ BITMAP(NS_ONLY), 3, { "ns.op." }, { "ns.op." }, .plan = CHILD_CHANGE, .want = CHILD_KEEP },
	{ BITMAP(NS_AND_ADDRESSES), 3, { "ns.op." }, { "ns1.child.test.", "ns.op." }, NULL, "\300\0\2\1", NULL,
			.plan = CHILD_CHANGE, .want = CHILD_CHANGE, .hosts = 1 },
	{ BITMAP(NS_AND_ADDRESSES), 3, { "ns1.child.test." }, { "ns1.child.test." }, "\300\0\2\1", "\300\0\2\1", NULL,
			.plan = CHILD_CHANGE, .want = CHILD_KEEP, .hosts = 1 },
	{ BITMAP(NS_AND_ADDRESSES), 3, { "ns1.child.test." }, { "ns1.child.test." }, "\300\0\2\1", "\300\0\2\2", NULL,
			.plan = CHILD_CHANGE, .want = CHILD_CHANGE, .hosts = 1 },
	{ BITMAP(ADDRESSES), 3, { "ns1.child.test." }, { "ns.elsewhere." }, "\300\0\2\1", "\300\0\2\2",
			"0123456789abcdef", .plan = CHILD_CHANGE, .want = CHILD_CHANGE, .hosts = 1 },
	/* That there is no address isn't proven, so the present one stays. */
	{ BITMAP(NS_AND_ADDRESSES), 3, { "ns1.child.test." }, { "ns1.child.test." }, "\300\0\2\1", NULL, NULL,
			.plan = CHILD_CHANGE, .want = CHILD_KEEP, .hosts = 1 },
	{ BITMAP(NS_ONLY), 2, { "ns.op." }, { "ns.other." }, .is_approved = true, .plan = CHILD_CHANGE,
			.want = CHILD_CHANGE },
	/* ---- Nothing to do ---- */
	{ BITMAP(""), 3, { "ns.op." }, { "ns.other." }, .plan = CHILD_NOTHING, .reason = "has no types" },
	/* ---- Refused at once ---- */
	{ BITMAP(NS_ONLY), 2, { "ns.op." }, { "ns.other." }, .plan = CHILD_REFUSED, .reason = "isn't immediate" },
	{ BITMAP(NS_ONLY), 7, { "ns.op." }, { "ns.other." }, .plan = CHILD_REFUSED, .reason = "unknown flags" },
	{ BITMAP(WITH_MX), 3, { "ns.op." }, { "ns.other." }, .plan = CHILD_REFUSED,
			.reason = "other than NS, A and AAAA" },
	{ BITMAP(NS_ONLY), 3, { "ns.op." }, { NULL }, .plan = CHILD_REFUSED, .reason = "no NS records" },
	{ BITMAP(NS_ONLY), 3, { "ns.op." }, { "ns.other." }, .is_forbidden = true, .plan = CHILD_REFUSED,
			.reason = "'csync'" },
	{ BITMAP(NS_ONLY), 3, { "ns.op." }, { "ns.other." }, .fault = INSECURE, .plan = CHILD_REFUSED,
			.reason = "isn't secure" },
	{ BITMAP(NS_ONLY), 3, { "ns.op." }, { "ns.other." }, .fault = NO_KEY, .plan = CHILD_REFUSED,
			.reason = "DNSKEY records aren't signed" },
	{ BITMAP(NS_ONLY), 3, { "ns.op." }, { "ns.other." }, .fault = UNSIGNED_CSYNC, .plan = CHILD_REFUSED,
			.reason = "CSYNC records aren't signed" },
	{ BITMAP(NS_ONLY), 3, { "ns.op." }, { "ns.other." }, .fault = WRONG_CSYNC, .plan = CHILD_REFUSED,
			.reason = "CSYNC records aren't signed" },
	{ BITMAP(NS_ONLY), 3, { "ns.op." }, { "ns.other." }, .fault = UNSIGNED_NS, .plan = CHILD_REFUSED,
			.reason = "NS records aren't signed" },
	{ BITMAP(NS_ONLY), 3, { "ns.op." }, { "ns.other." }, .fault = UNSIGNED_SOA, .plan = CHILD_REFUSED,
			.reason = "SOA records aren't signed" },
	{ BITMAP(NS_ONLY), 3, { "ns.op." }, { "ns.other." }, .fault = NS_DIFFERS, .plan = CHILD_REFUSED,
			.reason = "different CSYNC or NS" },
	{ BITMAP(NS_ONLY), 3, { "ns.op." }, { "ns.other." }, .fault = CSYNC_DIFFERS, .plan = CHILD_REFUSED,
			.reason = "different CSYNC or NS" },
	{ BITMAP(NS_ONLY), 3, { "ns.op." }, { "ns.other." }, .fault = LACKS_CSYNC, .plan = CHILD_REFUSED,
			.reason = "different CSYNC or NS" },
	{ BITMAP(NS_ONLY), 3, { "ns.op." }, { "ns.other." }, .fault = TWO_CSYNCS, .plan = CHILD_REFUSED,
			.reason = "different CSYNC or NS" },
	{ BITMAP(NS_ONLY), 3, { "ns.op." }, { "ns.other." }, .fault = SERIAL_LOW, .plan = CHILD_REFUSED,
			.reason = "lower than that of the CSYNC" },
	{ BITMAP(NS_ONLY), 1, { "ns.op." }, { "ns.other." }, .fault = SERIAL_LOW, .plan = CHILD_CHANGE,
			.want = CHILD_CHANGE },
	{ BITMAP(NS_ONLY), 3, { "ns.op." }, { "ns.other." }, .fault = SERIAL_OLD, .plan = CHILD_REFUSED,
			.reason = "lower than that of the last" },
	{ BITMAP(NS_ONLY), 3, { "ns.op." }, { "ns.other." }, .fault = FAILS, .plan = CHILD_REFUSED,
			.reason = "is an error" },
	/* ---- Refused when the addresses are known ---- */
	{ BITMAP(NS_AND_ADDRESSES), 3, { "ns.op." }, { "ns1.child.test." }, .plan = CHILD_CHANGE, .want = CHILD_REFUSED,
			.hosts = 1, .reason = "would have no address" },
	{ BITMAP(NS_ONLY), 3, { "ns.op." }, { "ns1.child.test." }, NULL, "\300\0\2\1", NULL, .plan = CHILD_CHANGE,
			.want = CHILD_REFUSED, .hosts = 1, .reason = "would have no address" },
	{ BITMAP(NS_AND_ADDRESSES), 3, { "ns.op." }, { "ns1.child.test." }, NULL, "\300\0\2\1", NULL, UNSIGNED_ADDRESS,
			.plan = CHILD_CHANGE, .want = CHILD_REFUSED, .hosts = 1, .reason = "A records aren't signed" },
	{ BITMAP(NS_AND_ADDRESSES), 3, { "ns.op." }, { "ns1.child.test." }, NULL, "\300\0\2\1", NULL, ADDRESS_DIFFERS,
			.plan = CHILD_CHANGE, .want = CHILD_REFUSED, .hosts = 1, .reason = "different addresses" },
	{ BITMAP(NS_AND_ADDRESSES), 3, { "ns.op." }, { "ns1.child.test." }, NULL, "\300\0\2\1", NULL, ADDRESS_BELOW_CUT,
			.plan = CHILD_CHANGE, .want = CHILD_REFUSED, .hosts = 1, .reason = "isn't authoritative" },
	{ BITMAP(NS_AND_ADDRESSES), 3, { "ns.op." }, { "ns1.child.test." }, NULL, "\300\0\2\1", NULL, ADDRESS_BY_OTHER,
			.plan = CHILD_CHANGE, .want = CHILD_REFUSED, .hosts = 1, .reason = "A records aren't signed" },
	{ BITMAP(NS_AND_ADDRESSES), 3, { "ns.op." }, { "ns1.child.test." }, NULL, "\300\0\2\1", NULL, ADDRESS_ALIAS,
			.plan = CHILD_CHANGE, .want = CHILD_REFUSED, .hosts = 1, .reason = "has an alias" },
	{ BITMAP(NS_AND_ADDRESSES), 3, { "ns.op." }, { "ns1.child.test." }, NULL, "\300\0\2\1", NULL, SERIAL_MOVES,
			.plan = CHILD_CHANGE, .want = CHILD_REFUSED, .hosts = 1, .reason = "changed meanwhile" },
};

static dnssec_key_t *known, *stranger;

static knot_bytes_t reply(uint16_t type, const char *owner, const knot_bytes_t *rdata, size_t count, test_how_t how)
{
	how.owner = owner;
	return test_reply(type, rdata, count, &how);
}

static size_t names_of(const char *const *texts, test_name_t *rooms, knot_bytes_t *ret_rdata)
{
	size_t count = 0;
	for (; count < NS_MAX && texts[count] != NULL; count++) {
		knot_name_t name = test_name(texts[count], &rooms[count]);
		ret_rdata[count] = (knot_bytes_t){ name.wire, name.len };
	}
	return count;
}

static knot_bytes_t soa_reply(uint32_t serial, bool is_signed)
{
	uint8_t rdata[22] = { 0 };
	store_be32(rdata + 2, serial);
	const knot_bytes_t bytes = { rdata, sizeof(rdata) };
	return reply(KNOT_TYPE_SOA, NULL, &bytes, 1, (test_how_t){ .key = is_signed ? known : NULL });
}

static knot_bytes_t csync_reply(const row_t *row, fault_t fault)
{
	uint8_t rdata[2][32];
	knot_bytes_t bytes[2];
	for (unsigned i = 0; i < 2; i++) {
		store_be32(rdata[i], 10 + i + (fault == CSYNC_DIFFERS ? 5 : 0));
		store_be16(rdata[i] + 4, (uint16_t)row->flags);
		memcpy(rdata[i] + 6, row->bitmap, row->bitmap_len);
		bytes[i] = (knot_bytes_t){ rdata[i], 6 + row->bitmap_len };
	}
	size_t count = fault == LACKS_CSYNC ? 0 : fault == TWO_CSYNCS ? 2 : 1;
	return reply(KNOT_TYPE_CSYNC, NULL, bytes, count,
			(test_how_t){ .key = fault == UNSIGNED_CSYNC ? NULL : known,
					.is_spoilt = fault == WRONG_CSYNC,
					.flags = fault == FAILS ? KNOT_RCODE_REFUSED : 0 });
}

static knot_bytes_t ns_reply(const row_t *row, fault_t fault)
{
	static const char *const other[NS_MAX] = { "ns.differs." };
	test_name_t rooms[NS_MAX];
	knot_bytes_t rdata[NS_MAX];
	size_t count = names_of(fault == NS_DIFFERS ? other : row->ns, rooms, rdata);
	return reply(KNOT_TYPE_NS, NULL, rdata, count, (test_how_t){ .key = fault == UNSIGNED_NS ? NULL : known });
}

static knot_bytes_t address_reply(const row_t *row, fault_t fault, bool is_ipv6)
{
	const char *address = is_ipv6 ? row->aaaa : row->a;
	address = address != NULL && !is_ipv6 && fault == ADDRESS_DIFFERS ? "\300\0\2\7" : address;
	const knot_bytes_t rdata = { (const uint8_t *)address, is_ipv6 ? 16 : 4 };
	return reply(is_ipv6 ? KNOT_TYPE_AAAA : KNOT_TYPE_A, "ns1.child.test.", &rdata, address != NULL ? 1 : 0,
			(test_how_t){ .key = fault == UNSIGNED_ADDRESS ? NULL : known,
					.signer = fault == ADDRESS_BY_OTHER ? "ns1.child.test." : NULL,
					.no_flags = fault == ADDRESS_BELOW_CUT ? KNOT_FLAG_AA : 0,
					.is_alias = fault == ADDRESS_ALIAS });
}

static void check_row(size_t index, const row_t *row, child_csync_answer_t *got)
{
	static reply_set_t ds, ns;
	static child_host_t glue[CHILD_HOSTS_MAX];
	child_csync_server_t servers[SERVERS];
	knot_bytes_t hosts[SERVERS][1][2], rdata[NS_MAX], key_rdata = dnssec_key_rdata(known);
	uint8_t room[DNSSEC_DS_MAX];
	test_name_t child, rooms[NS_MAX];
	test_name("child.test.", &child);
	reply_set_begin(&ds, KNOT_TYPE_DS);
	assert_true(row->fault == INSECURE || reply_set_add(&ds, 60, test_ds(known, DNSSEC_DIGEST_SHA256, room)));
	reply_set_begin(&ns, KNOT_TYPE_NS);
	size_t count = names_of(row->present_ns, rooms, rdata), glue_count;
	for (size_t i = 0; i < count; i++) {
		assert_true(reply_set_add(&ns, 60, rdata[i]));
	}
	assert_true(child_hosts_of(&ns, child.name, glue, &glue_count));
	if (row->glue != NULL) {
		assert_true(reply_set_add(&glue[0].addresses[0], 60, (knot_bytes_t){ (const uint8_t *)row->glue, 4 }));
	}
	for (size_t i = 0; i < SERVERS; i++) {
		fault_t fault = i + 1 == SERVERS ? row->fault : FINE;
		const knot_bytes_t keys[] = { key_rdata, dnssec_key_rdata(stranger) };
		uint32_t serial = fault == SERIAL_LOW ? 9 : 20;
		servers[i] = (child_csync_server_t){ .who = "server",
			.dnskey = reply(KNOT_TYPE_DNSKEY, NULL, keys, 2,
					(test_how_t){ .key = fault == NO_KEY ? stranger : known }),
			.soa = soa_reply(serial, fault != UNSIGNED_SOA),
			.csync = csync_reply(row, fault),
			.ns = ns_reply(row, fault),
			.hosts = hosts[i],
			.soa_after = soa_reply(fault == SERIAL_MOVES ? serial + 1 : serial, true) };
		hosts[i][0][0] = address_reply(row, fault, false);
		hosts[i][0][1] = address_reply(row, fault, true);
	}
	const child_csync_question_t question = { .child = child.name,
		.now_s = TEST_NOW_S,
		.ds = &ds,
		.ns = &ns,
		.glue = glue,
		.glue_count = glue_count,
		.servers = servers,
		.server_count = SERVERS,
		.may_update = !row->is_forbidden,
		.is_approved = row->is_approved,
		.has_last = row->fault == SERIAL_OLD,
		.last_serial = 21 };
	assert_int_equal(child_csync_plan(&question, got), KNOT_OK);
	child_verdict_t want = row->plan, verdict = got->verdict;
	if (verdict == CHILD_CHANGE && row->plan == CHILD_CHANGE) {
		assert_int_equal(got->host_count, row->hosts);
		assert_int_equal(child_csync_decide(&question, got), KNOT_OK);
		want = row->want;
		verdict = got->verdict;
	}
	if (verdict != want || (row->reason != NULL && strstr(got->reason, row->reason) == NULL)) {
		fail_msg("row %zu: verdict %d, '%s'", index, verdict, got->reason);
	}
	for (size_t i = 0; i < SERVERS; i++) {
		const knot_bytes_t all[] = { servers[i].dnskey, servers[i].soa, servers[i].csync, servers[i].ns,
			servers[i].soa_after, hosts[i][0][0], hosts[i][0][1] };
		for (size_t j = 0; j < KNOT_LEN(all); j++) {
			test_free_reply(all[j]);
		}
	}
}

static void test_rows(void **state)
{
	(void)state;
	child_csync_answer_t *got = malloc(sizeof(*got));
	assert_non_null(got);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		check_row(i, &rows[i], got);
	}
	free(got);
}

/* What is to be there: names of the child's own, with the addresses that all servers have. */
static void test_contents(void **state)
{
	(void)state;
	static const row_t row = { BITMAP(NS_AND_ADDRESSES), 3, { "ns.op." }, { "ns1.child.test.", "ns.op." }, NULL,
		"\300\0\2\1", "0123456789abcdef", .plan = CHILD_CHANGE, .want = CHILD_CHANGE, .hosts = 1 };
	child_csync_answer_t *got = malloc(sizeof(*got));
	assert_non_null(got);
	check_row(0, &row, got);
	test_name_t name;
	assert_int_equal(got->ns.count, 2);
	assert_true(knot_name_eq(got->hosts[0].name, test_name("ns1.child.test.", &name)));
	assert_true(reply_set_has(&got->hosts[0].addresses[0], (knot_bytes_t){ (const uint8_t *)row.a, 4 }));
	assert_true(reply_set_has(&got->hosts[0].addresses[1], (knot_bytes_t){ (const uint8_t *)row.aaaa, 16 }));
	assert_int_equal(got->serial, 20);
	free(got);
}

static int setup(void **state)
{
	(void)state;
	known = test_key(DNSSEC_ED25519, 257);
	stranger = test_key(DNSSEC_ED25519, 257);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	dnssec_key_free(known);
	dnssec_key_free(stranger);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_contents) };
	return cmocka_run_group_tests(tests, setup, teardown);
}
