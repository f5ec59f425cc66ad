/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static conf_xdp_block_t rule_of(const char *text)
{
	conf_xdp_block_t rule;
	assert_null(conf_xdp_block_scan(knot_str_of(text), &rule));
	return rule;
}

/* "192.0.2.0/24@5* …": * marks rules of the configuration. */
static void expect(const block_list_t *list, const char *want)
{
	char got[512] = "";
	for (size_t i = 0; i < list->count; i++) {
		char text[CONF_XDP_BLOCK_TEXT_MAX];
		size_t len = strlen(got);
		snprintf(got + len, sizeof(got) - len, "%s%s%s", len > 0 ? " " : "",
				conf_xdp_block_print(&list->rules[i].rule, text), list->rules[i].is_conf ? "*" : "");
	}
	assert_string_equal(got, want);
}

static void prefixes_are_in_order_and_once(void **state)
{
	(void)state;
	static const struct {
		bool removes;
		const char *text, *want;
	} steps[] = {
		{ false, "192.0.2.0/24", "192.0.2.0/24" },
		{ false, "2001:db8::/32@7", "192.0.2.0/24 2001:db8::/32@7" },
		{ false, "192.0.2.0/25", "192.0.2.0/24 192.0.2.0/25 2001:db8::/32@7" },
		{ false, "192.0.2.0/24@9", "192.0.2.0/24@9 192.0.2.0/25 2001:db8::/32@7" },
		{ true, "192.0.2.0/25", "192.0.2.0/24@9 2001:db8::/32@7" },
		{ false, "::/0", "::/0 192.0.2.0/24@9 2001:db8::/32@7" },
		{ true, "2001:db8::/32", "::/0 192.0.2.0/24@9" },
		{ true, "192.0.2.0/24", "::/0" },
		{ true, "::/0", "" },
	};
	block_list_t list = { 0 };
	for (size_t i = 0; i < KNOT_LEN(steps); i++) {
		conf_xdp_block_t rule = rule_of(steps[i].text);
		if (steps[i].removes) {
			assert_true(block_list_remove(&list, &rule));
			assert_false(block_list_remove(&list, &rule));
			assert_null(block_list_find(&list, &rule));
		} else {
			assert_int_equal(block_list_set(&list, &(net_block_t){ .rule = rule }), KNOT_OK);
			assert_int_equal(block_list_find(&list, &rule)->rule.per_second, rule.per_second);
		}
		expect(&list, steps[i].want);
	}
	block_list_done(&list);
}

static void run_time_hides_configuration(void **state)
{
	(void)state;
	conf_xdp_block_t rules[] = { rule_of("192.0.2.0/24"), rule_of("198.51.100.1@5") };
	conf_xdp_blocks_t conf = { rules, KNOT_LEN(rules) };
	block_list_t run_time = { 0 }, merged;
	assert_int_equal(block_list_merge(conf, &run_time, &merged), KNOT_OK);
	expect(&merged, "192.0.2.0/24* 198.51.100.1/32@5*");
	block_list_done(&merged);

	conf_xdp_block_t rule = rule_of("192.0.2.0/24@100");
	assert_int_equal(block_list_set(&run_time, &(net_block_t){ .rule = rule }), KNOT_OK);
	rule = rule_of("::1");
	assert_int_equal(block_list_set(&run_time, &(net_block_t){ .rule = rule }), KNOT_OK);
	assert_int_equal(block_list_merge(conf, &run_time, &merged), KNOT_OK);
	expect(&merged, "::1/128 192.0.2.0/24@100 198.51.100.1/32@5*");
	block_list_done(&merged);

	rule = rule_of("192.0.2.0/24");
	assert_true(block_list_remove(&run_time, &rule));
	assert_int_equal(block_list_merge(conf, &run_time, &merged), KNOT_OK);
	expect(&merged, "::1/128 192.0.2.0/24* 198.51.100.1/32@5*");
	block_list_done(&merged);
	block_list_done(&run_time);
}

static void copies_are_their_own(void **state)
{
	(void)state;
	block_list_t list = { 0 }, copy;
	assert_int_equal(block_list_copy(&list, &copy), KNOT_OK);
	assert_int_equal(copy.count, 0);
	net_block_t block = { .rule = rule_of("192.0.2.0/24@9"), .end_ms = 7, .comment = "why", .matched = 5 };
	assert_int_equal(block_list_set(&list, &block), KNOT_OK);
	assert_int_equal(block_list_copy(&list, &copy), KNOT_OK);
	assert_true(block_list_remove(&list, &block.rule));
	expect(&copy, "192.0.2.0/24@9");
	assert_int_equal(copy.rules[0].end_ms, 7);
	assert_int_equal(copy.rules[0].matched, 0);
	assert_string_equal(copy.rules[0].comment, "why");
	block_list_done(&copy);
	block_list_done(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefixes_are_in_order_and_once),
		cmocka_unit_test(copies_are_their_own),
		cmocka_unit_test(run_time_hides_configuration),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
