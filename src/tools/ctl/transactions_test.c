/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/ctl/transactions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define NONE "no active transaction"

/* A command line, the errors in its reply as "ZONE:TEXT" ("" for no zone), and what the prompt shows behind it. */
typedef struct {
	const char *line, *errors[2], *want;
} step_t;

static const struct {
	const char *what;
	step_t steps[6];
	const char *warns; /* a word that the warning has; NULL: there is none */
} rows[] = {
	{ "configuration",
			{ { "conf-begin", { 0 }, "conf" }, { "conf-set server.nsid x", { 0 }, "conf" },
					{ "conf-commit", { 0 }, "" } },
			NULL },
	{ "left open", { { "conf-begin", { 0 }, "conf" } }, "'conf-commit' or 'conf-abort'" },
	{ "refused", { { "conf-begin", { ":too many transactions" }, "" } }, NULL },
	{ "a commit that fails", { { "conf-begin", { 0 }, "conf" }, { "conf-commit", { ":invalid item" }, "conf" } },
			"conf-abort" },
	{ "begun elsewhere", { { "conf-diff", { 0 }, "conf" } }, NULL },
	{ "ended elsewhere", { { "conf-begin", { 0 }, "conf" }, { "conf-get", { ":" NONE }, "" } }, NULL },
	{ "of no transaction", { { "conf-read", { 0 }, "" }, { "zone-read a", { 0 }, "" }, { "status", { 0 }, "" } },
			NULL },
	{ "one zone",
			{ { "zone-begin A", { 0 }, "a." }, { "zone-set a. x A 192.0.2.1", { 0 }, "a." },
					{ "zone-abort a", { 0 }, "" } },
			NULL },
	{ "one of two fails", { { "zone-begin a b", { "b:no such zone found" }, "a." } },
			"'zone-commit a.' or 'zone-abort a.'" },
	{ "two zones", { { "zone-begin a b", { 0 }, "2 zones" }, { "zone-commit b", { 0 }, "a." } }, "zone a." },
	{ "one not ours",
			{ { "zone-begin a", { 0 }, "a." }, { "zone-diff b", { 0 }, "2 zones" },
					{ "zone-abort a", { 0 }, "b." } },
			NULL },
	{ "all zones", { { "zone-begin --", { 0 }, "all zones" }, { "zone-set a x A 192.0.2.1", { 0 }, "all zones" } },
			"'zone-abort --'" },
	{ "end of all zones", { { "zone-begin a b", { 0 }, "2 zones" }, { "zone-abort --", { 0 }, "" } }, NULL },
	{ "the end of all zones fails", { { "zone-begin a", { 0 }, "a." }, { "zone-commit --", { ":failed" }, "a." } },
			"zone a." },
	{ "the zone of an error in another case", { { "zone-begin A b", { "a:x", "B.:x" }, "" } }, NULL },
	{ "both", { { "conf-begin", { 0 }, "conf" }, { "zone-diff a", { 0 }, "conf, a." } }, "configuration" },
	{ "of the zone file", { { "zone-diff a +file", { 0 }, "" } }, NULL },
	{ "many", { { "zone-begin a b c d e f g h i j", { 0 }, "10 zones" } }, "2 more zones" },
	{ "a long name",
			{ { "zone-begin aaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbb", { 0 },
					"aaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbb..." } },
			"aaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbb." },
};

static void take_error(transactions_reply_t *reply, const char *error)
{
	char zone[64];
	size_t len = strcspn(error, ":");
	snprintf(zone, sizeof(zone), "%.*s", (int)len, error);
	knot_ctl_data_t unit = { [KNOT_CTL_IDX_ZONE] = len > 0 ? zone : NULL, [KNOT_CTL_IDX_ERROR] = error + len + 1 };
	transactions_reply_unit(reply, (const knot_ctl_data_t *)&unit);
}

static void take_step(transactions_t *transactions, const step_t *step, bool is_whole)
{
	char line[256], *words[16], *rest = NULL, error[ACTION_ERROR_MAX];
	size_t count = 0;
	snprintf(line, sizeof(line), "%s", step->line);
	for (char *word = strtok_r(line, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
		words[count++] = word;
	}
	const action_t *action = action_find(words[0]);
	request_t request;
	assert_true(action_request(action, (request_flags_t){ 0 }, words + 1, count - 1, &request, error));
	transactions_reply_t reply;
	transactions_reply_begin(&reply, transactions, action, &request);
	for (size_t i = 0; i < KNOT_LEN(step->errors) && step->errors[i] != NULL; i++) {
		take_error(&reply, step->errors[i]);
	}
	transactions_reply_end(&reply, is_whole);
	request_free(&request);
}

static void expect_warning(const char *what, const transactions_t *transactions, const char *want)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	assert_non_null(out);
	bool has_warned = transactions_warn(transactions, out);
	fclose(out);
	if (has_warned != (want != NULL) || (want != NULL ? strstr(text, want) == NULL : len > 0)) {
		fail_msg("%s: %s", what, text);
	}
	free(text);
}

static void follows_replies(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		transactions_t transactions = { 0 };
		for (size_t j = 0; j < KNOT_LEN(rows[i].steps) && rows[i].steps[j].line != NULL; j++) {
			char text[TRANSACTIONS_TEXT_MAX];
			take_step(&transactions, &rows[i].steps[j], true);
			transactions_print(&transactions, text);
			if (strcmp(text, rows[i].steps[j].want) != 0) {
				fail_msg("%s, %s: '%s'", rows[i].what, rows[i].steps[j].line, text);
			}
		}
		expect_warning(rows[i].what, &transactions, rows[i].warns);
		transactions_free(&transactions);
	}
}

/* Of a reply that broke off nothing is known. */
static void keeps_what_it_knew(void **state)
{
	(void)state;
	transactions_t transactions = { 0 };
	char text[TRANSACTIONS_TEXT_MAX];
	take_step(&transactions, &(step_t){ .line = "zone-begin a" }, true);
	take_step(&transactions, &(step_t){ .line = "zone-abort a" }, false);
	take_step(&transactions, &(step_t){ .line = "zone-begin b" }, false);
	transactions_print(&transactions, text);
	assert_string_equal(text, "a.");
	transactions_free(&transactions);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(follows_replies), cmocka_unit_test(keeps_what_it_knew) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
