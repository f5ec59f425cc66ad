/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/modules/module.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static void no_fault(void *ctx, const conf_fault_t *fault)
{
	(void)ctx;
	fail_msg("%s", fault->text);
}

#define ALL_ON                                                                                                         \
	"    edns-presence: on\n    flag-presence: on\n    reply-nodata: on\n    query-type: on\n"                     \
	"    query-size: on\n    reply-size: on\n    request-edns-option: on\n    response-edns-option: on\n"

static const char conf_text[] =
		"mod-stats:\n"
		"  - id: all\n" ALL_ON
		"  - id: none\n    request-protocol: off\n    server-operation: off\n    request-bytes: off\n"
		"    response-bytes: off\n    response-code: off\n"
		"template:\n  - id: default\n    global-module: [mod-stats/all, mod-stats/none, mod-stats]\n";

static conf_t *load(void)
{
	conf_t *conf;
	knot_str_t text = { conf_text, sizeof(conf_text) - 1 };
	assert_int_equal(conf_load_text("test", text, NULL, (conf_sink_t){ no_fault, NULL }, &conf), KNOT_OK);
	return conf;
}

static module_chain_t *chain_of(const conf_t *conf, const char *id)
{
	conf_modref_t ref = { "mod-stats", id };
	module_chain_t *chain;
	assert_int_equal(module_chain_new(conf, (conf_modrefs_t){ &ref, 1 }, &chain), KNOT_OK);
	assert_non_null(chain);
	return chain;
}

typedef struct {
	char text[4096];
	size_t len;
	bool zeros;
} listing_t;

static bool list(const sys_counter_info_t *info, const char *id, uint64_t value, void *ctx)
{
	listing_t *listing = ctx;
	assert_string_equal(info->section, "mod-stats");
	if (value > 0 || listing->zeros) {
		int len = snprintf(listing->text + listing->len, sizeof(listing->text) - listing->len, "%s[%s]=%llu ",
				info->item, id, (unsigned long long)value);
		assert_true(len > 0 && (size_t)len < sizeof(listing->text) - listing->len);
		listing->len += (size_t)len;
	}
	return true;
}

typedef struct {
	const char *what;
	module_answered_t in;
	knot_query_t query;
	answer_report_t report;
	const char *want;
} row_t;

#define QUERY(type, ...) .query = { .opcode = KNOT_OPCODE_QUERY, .question_len = 17, .qtype = (type), __VA_ARGS__ }

static const row_t rows[] = {
	{ .what = "plain A over UDP",
			.in = { .protocol = ANSWER_UDP4, .request_len = 29, .response_len = 45 },
			QUERY(KNOT_TYPE_A),
			.report = { .rcode = 0 },
			.want = "request-protocol[udp4]=1 server-operation[query]=1 request-bytes[query]=29 "
				"response-bytes[reply]=45 "
				"response-code[NOERROR]=1 query-type[A]=1 query-size[16-31]=1 reply-size[32-47]=1 " },
	{ .what = "EDNS with DO and options, NODATA for AAAA over XDP",
			.in = { .protocol = ANSWER_UDP6_XDP, .request_len = 287, .response_len = 4095 },
			QUERY(KNOT_TYPE_AAAA, .edns = { .present = true,
							      .dnssec_ok = true,
							      .option_bits = 1u << 3 | 1u << 10 | 1u << 19 | 1u << 25 |
									     1u << 31 }),
			.report = { .has_opt = true, .reply_options = 1u << 15 | 1u << 3, .is_nodata = true },
			.want = "request-protocol[udp6-xdp]=1 server-operation[query]=1 request-bytes[query]=287 "
				"response-bytes[reply]=4095 edns-presence[request]=1 edns-presence[response]=1 "
				"flag-presence[DO]=1 "
				"response-code[NOERROR]=1 request-edns-option[NSID]=1 request-edns-option[COOKIE]=1 "
				"request-edns-option[CODE19]=1 request-edns-option[other]=2 "
				"response-edns-option[NSID]=1 "
				"response-edns-option[CODE15]=1 reply-nodata[AAAA]=1 query-type[AAAA]=1 "
				"query-size[272-287]=1 "
				"reply-size[4080-4095]=1 " },
	{ .what = "truncated, the last buckets, a type between the runs",
			.in = { .protocol = ANSWER_TCP4, .request_len = 288, .response_len = 4096 },
			QUERY(66),
			.report = { .truncated = true, .rcode = 3 },
			.want = "request-protocol[tcp4]=1 server-operation[query]=1 request-bytes[query]=288 "
				"response-bytes[reply]=4096 flag-presence[TC]=1 response-code[NXDOMAIN]=1 "
				"query-type[other]=1 "
				"query-size[288-65535]=1 reply-size[4096-65535]=1 " },
	{ .what = "nothing sent: only the request counts",
			.in = { .protocol = ANSWER_TCP6, .request_len = 12 },
			QUERY(KNOT_TYPE_CAA),
			.report = { .rcode = 1, .is_nodata = true, .has_opt = true, .truncated = true },
			.want = "request-protocol[tcp6]=1 server-operation[query]=1 request-bytes[query]=12 "
				"query-type[CAA]=1 "
				"query-size[0-15]=1 " },
	{ .what = "transfer",
			.in = { .protocol = ANSWER_TCP4, .request_len = 30, .response_len = 60000 },
			QUERY(KNOT_TYPE_AXFR),
			.report = { .rcode = 9 },
			.want = "request-protocol[tcp4]=1 server-operation[axfr]=1 request-bytes[other]=30 "
				"response-bytes[transfer]=60000 response-code[NOTAUTH]=1 " },
	{ .what = "NOTIFY",
			.in = { .protocol = ANSWER_UDP4, .request_len = 30, .response_len = 30 },
			.query = { .opcode = KNOT_OPCODE_NOTIFY, .question_len = 17, .qtype = KNOT_TYPE_SOA },
			.report = { .rcode = 15 },
			.want = "request-protocol[udp4]=1 server-operation[notify]=1 request-bytes[other]=30 "
				"response-bytes[other]=30 "
				"response-code[BADSIG]=1 " },
	{ .what = "UPDATE",
			.in = { .protocol = ANSWER_UDP4, .request_len = 30, .response_len = 30 },
			.query = { .opcode = KNOT_OPCODE_UPDATE, .question_len = 17, .qtype = KNOT_TYPE_SOA },
			.report = { .rcode = 12 },
			.want = "request-protocol[udp4]=1 server-operation[update]=1 request-bytes[update]=30 "
				"response-bytes[other]=30 "
				"response-code[other]=1 " },
	{ .what = "unknown opcode",
			.in = { .protocol = ANSWER_UDP4, .request_len = 12, .response_len = 12 },
			.query = { .opcode = (knot_opcode_t)9, .question_len = 17 },
			.report = { .rcode = 4000 },
			.want = "request-protocol[udp4]=1 server-operation[invalid]=1 request-bytes[other]=12 "
				"response-bytes[other]=12 "
				"response-code[other]=1 " },
	{ .what = "no question",
			.in = { .protocol = ANSWER_UDP4, .request_len = 12, .response_len = 12 },
			.query = { .opcode = KNOT_OPCODE_QUERY },
			.report = { .rcode = 1, .verdict = KNOT_MSG_FORMERR },
			.want = "request-protocol[udp4]=1 server-operation[invalid]=1 request-bytes[other]=12 "
				"response-bytes[other]=12 "
				"response-code[FORMERR]=1 " },
	{ .what = "no request at all",
			.in = { .protocol = ANSWER_UDP4, .request_len = 11 },
			.query = { .opcode = KNOT_OPCODE_QUERY },
			.report = { .verdict = KNOT_MSG_DROP },
			.want = "" },
};

static void counting_rules(void **state)
{
	(void)state;
	conf_t *conf = load();
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		module_chain_t *chain = chain_of(conf, "all");
		module_answered_t what = rows[i].in;
		what.query = &rows[i].query;
		what.report = &rows[i].report;
		module_chain_answered(chain, &what);
		listing_t listing = { 0 };
		assert_true(module_chain_counters(chain, NULL, list, &listing));
		if (strcmp(listing.text, rows[i].want) != 0) {
			fail_msg("%s:\n%s\n%s", rows[i].what, listing.text, rows[i].want);
		}
		module_chain_free(chain);
	}
	conf_free(conf);
}

/* defaults as documented; unassigned rcodes 11–14 aren't listed */
static void defaults(void **state)
{
	(void)state;
	static const char want[] =
			"request-protocol[udp4]=0 request-protocol[tcp4]=0 request-protocol[quic4]=0 "
			"request-protocol[tls4]=0 "
			"request-protocol[udp6]=0 request-protocol[tcp6]=0 request-protocol[quic6]=0 "
			"request-protocol[tls6]=0 "
			"request-protocol[udp4-xdp]=0 request-protocol[tcp4-xdp]=0 request-protocol[quic4-xdp]=0 "
			"request-protocol[udp6-xdp]=0 request-protocol[tcp6-xdp]=0 request-protocol[quic6-xdp]=0 "
			"server-operation[query]=0 server-operation[update]=0 server-operation[notify]=0 "
			"server-operation[axfr]=0 "
			"server-operation[ixfr]=0 server-operation[invalid]=0 request-bytes[query]=0 "
			"request-bytes[update]=0 "
			"request-bytes[other]=0 response-bytes[reply]=0 response-bytes[transfer]=0 "
			"response-bytes[other]=0 "
			"response-code[NOERROR]=0 response-code[FORMERR]=0 response-code[SERVFAIL]=0 "
			"response-code[NXDOMAIN]=0 "
			"response-code[NOTIMPL]=0 response-code[REFUSED]=0 response-code[YXDOMAIN]=0 "
			"response-code[YXRRSET]=0 "
			"response-code[NXRRSET]=0 response-code[NOTAUTH]=0 response-code[NOTZONE]=0 "
			"response-code[BADSIG]=0 "
			"response-code[BADVERS]=0 response-code[BADKEY]=0 response-code[BADTIME]=0 "
			"response-code[BADMODE]=0 "
			"response-code[BADNAME]=0 response-code[BADALG]=0 response-code[BADTRUNC]=0 "
			"response-code[BADCOOKIE]=0 "
			"response-code[other]=0 ";
	conf_t *conf = load();
	module_chain_t *chain = chain_of(conf, "");
	listing_t listing = { .zeros = true };
	assert_true(module_chain_counters(chain, NULL, list, &listing));
	assert_string_equal(listing.text, want);
	module_chain_free(chain);
	conf_free(conf);
}

static bool stop_at_once(const sys_counter_info_t *info, const char *id, uint64_t value, void *ctx)
{
	(void)info, (void)id, (void)value;
	++*(unsigned *)ctx;
	return false;
}

static void list_item(const sys_counter_info_t *item, void *ctx)
{
	char *text = ctx;
	size_t len = strlen(text);
	(void)snprintf(text + len, 1024 - len, "%s ", item->item);
}

/* For who wants one item of many zones: names without sums, and that item's counters only. */
static void single_items(void **state)
{
	(void)state;
	conf_t *conf = load();
	module_chain_t *chain = chain_of(conf, "");
	char items[1024] = "";
	module_chain_items(chain, list_item, items);
	assert_string_equal(items, "request-protocol server-operation request-bytes response-bytes response-code ");
	listing_t listing = { .zeros = true };
	assert_true(module_chain_counters(chain, "request-bytes", list, &listing));
	assert_string_equal(listing.text, "request-bytes[query]=0 request-bytes[update]=0 request-bytes[other]=0 ");
	listing = (listing_t){ .zeros = true };
	assert_true(module_chain_counters(chain, "no-such-item", list, &listing));
	assert_string_equal(listing.text, "");
	module_chain_items(NULL, list_item, items);
	module_chain_free(chain);
	conf_free(conf);
}

static void chain_of_several(void **state)
{
	(void)state;
	conf_t *conf = load();
	module_chain_t *chain;
	assert_int_equal(module_chain_new(conf, conf->global_modules, &chain), KNOT_OK);
	assert_int_equal(chain->count, 3);
	module_answered_t what = rows[0].in;
	what.query = &rows[0].query;
	what.report = &rows[0].report;
	module_chain_answered(chain, &what);
	listing_t listing = { 0 };
	assert_true(module_chain_counters(chain, NULL, list, &listing));
	const char *first = strstr(listing.text, "request-protocol[udp4]=1");
	assert_non_null(first);
	assert_non_null(strstr(first + 1, "request-protocol[udp4]=1")); /* the third instance counts by itself */
	unsigned calls = 0;
	assert_false(module_chain_counters(chain, NULL, stop_at_once, &calls));
	assert_int_equal(calls, 1);
	module_chain_free(chain);

	assert_int_equal(module_chain_new(conf, (conf_modrefs_t){ NULL, 0 }, &chain), KNOT_OK);
	assert_null(chain);
	module_chain_answered(chain, &what);
	assert_true(module_chain_counters(chain, NULL, list, &listing));
	conf_modref_t unknown = { "mod-nothing", "" };
	assert_int_equal(module_chain_new(conf, (conf_modrefs_t){ &unknown, 1 }, &chain), KNOT_ENOTSUP);
	conf_free(conf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counting_rules),
		cmocka_unit_test(defaults),
		cmocka_unit_test(single_items),
		cmocka_unit_test(chain_of_several),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
