/* SPDX-License-Identifier: BSD-2-Clause */
/* One run tells all errors, each once with what to do about it, and what isn't supported yet with a summary. */
#include "src/conf/test_conf.h"
#include "src/conf/unsupported.h"

#include <stdlib.h>

/** As collect_message(), with "  HINT" behind each line that has one. */
static void collect_hints(void *ctx, const conf_fault_t *fault)
{
	messages_t *all = ctx;
	collect_message(ctx, fault);
	size_t len = strlen(all->text);
	if (fault->hint != NULL) {
		(void)snprintf(all->text + len, sizeof(all->text) - len, "\n  %s", fault->hint);
	}
}

static knot_err_t load_hints(const char *text, bool is_checked, messages_t *ret_messages)
{
	conf_t *conf = NULL;
	const conf_host_t host = { .cpu_count = 1, .hostname = "h", .version = "v", .is_checked = is_checked };
	ret_messages->text[0] = '\0';
	knot_err_t err = conf_load_text(
			"F", knot_str_of(text), &host, (conf_sink_t){ collect_hints, ret_messages }, &conf);
	conf_free(conf);
	return err;
}

#define LINE(number) "config, file 'F', line " #number ", "

static const struct {
	const char *what, *text, *want;
	knot_err_t err;
} rows[] = {
	{ "misspelled item", "server:\n  lisen: ::1\n",
			LINE(2) "item 'lisen', value '::1' (invalid item)\n  did you mean 'listen'?", KNOT_CONF_EITEM },
	{ "swapped letters, capitals", "server:\n  Verison: x\n",
			LINE(2) "item 'Verison', value 'x' (invalid item)\n  did you mean 'version'?",
			KNOT_CONF_EITEM },
	{ "nothing is similar", "server:\n  qqqqqq: x\n", LINE(2) "item 'qqqqqq', value 'x' (invalid item)",
			KNOT_CONF_EITEM },
	{ "item of another section", "server:\n  ring-size: 1\n",
			LINE(2) "item 'ring-size', value '1' (invalid item)\n  'ring-size' is an item of section 'xdp'",
			KNOT_CONF_EITEM },
	{ "misspelled item of another section", "zone:\n  - domain: a\n    udp-worker: 1\n",
			LINE(3) "item 'udp-worker', value '1' (invalid item)\n"
				"  did you mean 'udp-workers' of section 'server'?",
			KNOT_CONF_EITEM },
	{ "misspelled section, whose items are skipped", "sever:\n  foo: x\n  - bar\nlog:\n  - target: x\n    any: y\n",
			LINE(1) "item 'sever' (invalid item)\n  did you mean 'server'?\n" LINE(
					6) "item 'any', value 'y' (invalid parameter)\n"
					   "  allowed values: critical, error, warning, notice, info, debug",
			KNOT_CONF_EITEM },
	{ "item in column 0", "udp-workers: 2\n",
			LINE(1) "item 'udp-workers', value '2' (invalid item)\n"
				"  an item of section 'server': indent it",
			KNOT_CONF_EITEM },
	{ "module that there isn't", "mod-rll:\n  - id: x\n",
			LINE(1) "unknown module 'mod-rll'\n  did you mean 'mod-rrl'?", KNOT_CONF_EITEM },
	{ "ranges and units", "server:\n  udp-workers: 0\n  tcp-idle-timeout: 1h30m\n  tcp-io-timeout: x\n",
			LINE(2) "item 'udp-workers', value '0' (value is out of range)\n  1 to 256\n" LINE(
					3) "item 'tcp-idle-timeout', value '1h30m' (invalid parameter)\n"
					   "  one unit only: 90m instead of 1h30m\n" LINE(
							   4) "item 'tcp-io-timeout', value 'x' (invalid parameter)\n"
							      "  a number",
			KNOT_CONF_ERANGE },
	{ "sizes", "zone:\n  - domain: a\n    zone-max-size: 1M1K\n",
			LINE(3) "item 'zone-max-size', value '1M1K' (invalid parameter)\n"
				"  one unit only: 1025K instead of 1M1K",
			KNOT_EINVAL },
	{ "options", "zone:\n  - domain: a\n    semantic-checks: maybe\nxdp:\n  udp: x\n",
			LINE(3) "item 'semantic-checks', value 'maybe' (invalid parameter)\n"
				"  allowed values: off, on, soft\n" LINE(
						5) "item 'udp', value 'x' (invalid parameter)\n"
						   "  allowed values: on, off",
			KNOT_EINVAL },
	{ "references",
			"template:\n  - id: secondary\nzone:\n  - domain: a\n    template: secodary\n"
			"  - domain: b\n    template: x\n",
			LINE(5) "item 'template', value 'secodary' (invalid reference)\n  did you mean "
				"'secondary'?\n" LINE(7) "item 'template', value 'x' (invalid reference)\n"
							 "  section 'template' has no block with this identifier "
							 "before this line",
			KNOT_ENOENT },
	{ "a reference to what couldn't be read says nothing new",
			"tempate:\n  - id: t\nzone:\n  - domain: a\n    template: t\n",
			LINE(1) "item 'tempate' (invalid item)\n  did you mean 'template'?", KNOT_CONF_EITEM },
	{ "a wrong identifier: the items are checked", "zone:\n  - domain: a..b\n    zone-max-size: x\n  - domain: c\n",
			LINE(2) "item 'domain', value 'a..b' (invalid parameter)\n" LINE(
					3) "item 'zone-max-size', value 'x' (invalid parameter)\n"
					   "  a number of bytes, or a number with one of the units B, K, M, G",
			KNOT_EINVAL },
	{ "a wrong item: the block isn't checked as a whole", "key:\n  - id: k\n    secret: x\n    algorithm: y\n",
			LINE(3) "item 'secret' (invalid base64 string length)\n" LINE(
					4) "item 'algorithm', value 'y' (invalid parameter)\n"
					   "  allowed values: hmac-md5, hmac-sha1, hmac-sha224, hmac-sha256, "
					   "hmac-sha384, "
					   "hmac-sha512",
			KNOT_EB64LEN },
	{ "no identifier, said once", "zone:\n  file: x\n  storage: y\n",
			LINE(2) "item 'file', value 'x' (missing identifier)\n  begin the block with '- domain: ...'",
			KNOT_CONF_ENOID },
	{ "bracket that isn't closed", "server:\n  listen: [ ::1, ::2\n",
			LINE(2) "item 'listen', value '::2' (parser failed)\n"
				"  a quote or bracket isn't closed in this line",
			KNOT_EPARSEFAIL },
	{ "values without brackets", "server:\n  listen: ::1 ::2\n",
			LINE(2) "item 'listen', value '::1' (parser failed)\n"
				"  several values are a list: [ a, b ]; a value with spaces needs quotes",
			KNOT_EPARSEFAIL },
	{ "key without a colon behind a good item", "server:\n  listen: ::1\n  rundir /x\n",
			LINE(3) "item 'rundir' (parser failed)", KNOT_EPARSEFAIL },
	{ "wrong secret, which is not shown", "key:\n  - id: k\n    secret: QUJ!\n",
			LINE(3) "item 'secret' (invalid base64 character)", KNOT_EB64CHAR },
	{ "misspelled secret", "key:\n  - id: k\n    secrt: QUJD\n    secret: QUJD\n",
			LINE(3) "item 'secrt' (invalid item)\n  did you mean 'secret'?", KNOT_CONF_EITEM },
	{ "secret in column 0", "key:\n  - id: k\nsecret: QUJD\n",
			LINE(2) "section 'key[k.]' (no key secret defined)\n" LINE(
					3) "item 'secret' (invalid item)\n  an item of section 'key': indent it",
			KNOT_EINVAL },
	{ "secret in two words", "key:\n  - id: k\n    secret: QUJD QUJD\n",
			LINE(3) "item 'secret' (parser failed)\n"
				"  several values are a list: [ a, b ]; a value with spaces needs quotes",
			KNOT_EPARSEFAIL },
	{ "what isn't secret beside a secret", "key:\n  - id: k\n    algorithm: x\n    secret: QUJD\n",
			LINE(3) "item 'algorithm', value 'x' (invalid parameter)\n"
				"  allowed values: hmac-md5, hmac-sha1, hmac-sha224, hmac-sha256, hmac-sha384, "
				"hmac-sha512",
			KNOT_EINVAL },
	{ "grammar goes on", "server:\n  listen:::1\n\tnsid: x\n  nsid: y\n  udp-workers: 0\n",
			LINE(2) "item 'listen' (parser failed)\n  a space follows the colon\n"
				"config, file 'F', line 3 (tabulator character is not allowed)\n"
				"  indent and separate with spaces\n" LINE(
						5) "item 'udp-workers', value '0' (value is out of range)\n  1 to 256",
			KNOT_EPARSEFAIL },
	{ "one column of a block is wrong", "server:\n  nsid: x\n   version: y\n  identity: z\n  foo: x\n",
			"config, file 'F', line 3 (invalid indentation)\n"
			"  the items of a block begin in the same column\n" LINE(
					5) "item 'foo', value 'x' (invalid item)",
			KNOT_CONF_EINDENT },
	{ "all of a block in the wrong column", "zone:\n  - domain: x\n   file: y\n   storage: z\n   foo: x\n",
			"config, file 'F', line 3 (invalid indentation)\n"
			"  the items of a block begin in the same column\n" LINE(
					5) "item 'foo', value 'x' (invalid item)",
			KNOT_CONF_EINDENT },
	{ "before the first section, said once", "  listen: ::1\n  nsid: x\nserver:\n  foo: y\n",
			LINE(1) "item 'listen', value '::1' (invalid indentation)\n  a section begins in column "
				"0\n" LINE(4) "item 'foo', value 'y' (invalid item)",
			KNOT_CONF_EINDENT },
	{ "two mistakes in a line", "server:\n  udp-workers: 0 x\n",
			LINE(2) "item 'udp-workers', value '0' (value is out of range)\n  1 to 256", KNOT_CONF_ERANGE },
	{ "byte order mark", "\xef\xbb\xbfserver:\n  foo: x\n",
			"config, file 'F', line 1 (parser failed)\n"
			"  the file begins with a UTF-8 byte order mark: save it without\n" LINE(
					2) "item 'foo', value 'x' (invalid item)",
			KNOT_EPARSEFAIL },
	{ "unsupported items come last, with what they ask for",
			"remote:\n  - id: r\n    address: ::1\n"
			"template:\n  - id: default\n    zone-db-output: 2\n  - id: t\n    deleg-aware: on\n"
			"zone:\n  - domain: a\n  - domain: b\n    template: t\n  - domain: c\n    template: t\n"
			"    module: [ mod-probe, mod-whoami ]\n  - domain: d\n    semantic-checks: x\n",
			LINE(17) "item 'semantic-checks', value 'x' (invalid parameter)\n  allowed values: off, on, "
				 "soft\n" LINE(6) "item 'zone-db-output', value '2' (not supported yet)\n"
						  "  2 zones use template 'default'; supported: -1\n" LINE(
								  8) "item 'deleg-aware', value 'on' (not "
								     "supported yet)\n  "
								     "2 zones use template 't'; supported: auto "
								     "off\n" LINE(15) "item "
										      "'module', "
										      "value "
										      "'mod-probe' "
										      "(not "
										      "supported "
										      "yet)"
										      "\n" LINE(15) "item 'module', "
												    "value "
												    "'mod-whoami' "
												    "(not supported "
												    "yet)\n"
												    "config, not "
												    "supported yet: "
												    "zone database "
												    "(Redis) (1), "
												    "delegations with "
												    "DELEG (1), "
												    "mod-probe "
												    "(1), "
												    "mod-whoami "
												    "(1); "
												    "4 items, 2 "
												    "templates and "
												    "4 zones "
												    "affected",
			KNOT_EINVAL },
};

static void errors_are_told_once_with_hints(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		messages_t messages;
		knot_err_t err = load_hints(rows[i].text, false, &messages);
		if (err != rows[i].err || strcmp(messages.text, rows[i].want) != 0) {
			fail_msg("%s: %s\ngot:\n%s\nwant:\n%s", rows[i].what, knot_strerror(err), messages.text,
					rows[i].want);
		}
	}
}

static void lints_are_for_checks_only(void **state)
{
	(void)state;
	static const struct {
		const char *text, *want;
		knot_err_t err;
	} lints[] = {
		{ "server:\n  user: no.such.user:nogroup\n",
				"W:" LINE(2) "item 'user', value 'no.such.user:nogroup' (no such user)\n"
					     "  create it with 'useradd --system', or name an existing one",
				KNOT_OK },
		{ "server:\n  user: root:no.such.group\n",
				"W:" LINE(2) "item 'user', value 'root:no.such.group' (no such group)", KNOT_OK },
		{ "server:\n  listen: [ localhost@53, 192.0.2.1:53, knot.sock, /run/x@53 ]\n",
				"W:" LINE(2) "item 'listen', value 'localhost@53' (not an IP address, makes a UNIX "
					     "socket of this name)\n"
					     "  write ADDRESS@PORT with an IP address, or a path with a slash\n"
					     "W:" LINE(2) "item 'listen', value '192.0.2.1:53' (not an IP address, "
							  "makes a UNIX "
							  "socket of this name)\n"
							  "  write ADDRESS@PORT with an IP address, or a path with a "
							  "slash",
				KNOT_OK },
		{ "server:\n  listen: [ ::1, ::1@54, ::1@53, 127.0.0.1 ]\n",
				"W:" LINE(2) "item 'listen', value '::1@53' (the same address twice)", KNOT_OK },
		/* Items of other types before it are not addresses. */
		{ "server:\n  rundir: /run\n  udp-workers: 3\n  listen: [ ::1, ::1@53 ]\n",
				"W:" LINE(4) "item 'listen', value '::1@53' (the same address twice)", KNOT_OK },
		{ "xdp:\n  listen: [ no.such.if@53, 192.0.2.99 ]\n",
				LINE(2) "item 'listen', value 'no.such.if@53' (invalid XDP interface specification)\n"
					"  this machine has no interface of this name; 'ip link' lists those it "
					"has\n" LINE(2) "item 'listen', value '192.0.2.99' (invalid XDP interface "
							"specification)\n"
							"  no interface of this machine has the address",
				KNOT_EINVAL },
		{ "xdp:\n  listen: lo\n", "", KNOT_OK },
		{ "zone:\n  - domain: a\n    storage: /dev\n    file: no.such\n  - domain: b\n    file: /no.such/1\n"
		  "  - domain: c\n    file: /no.such/2\n  - domain: d\n    file: /dev/null\n",
				"W:config, item 'zone[a.].file', value '/dev/no.such' (no such file)\n"
				"W:config, item 'zone[b.].storage', value '/no.such' (no such folder)",
				KNOT_OK },
	};
	for (size_t i = 0; i < KNOT_LEN(lints); i++) {
		messages_t messages;
		knot_err_t err = load_hints(lints[i].text, true, &messages);
		if (err != lints[i].err || strcmp(messages.text, lints[i].want) != 0) {
			fail_msg("%s: %s", knot_strerror(err), messages.text);
		}
		assert_int_equal(load_hints(lints[i].text, false, &messages), KNOT_OK);
		assert_string_equal(messages.text, "");
	}
}

typedef struct {
	size_t errors, unsupported;
	char last[512];
} counts_t;

static void count_faults(void *ctx, const conf_fault_t *fault)
{
	counts_t *counts = ctx;
	counts->errors += fault->err != KNOT_CONF_ENOTSUP;
	counts->unsupported += fault->err == KNOT_CONF_ENOTSUP;
	(void)snprintf(counts->last, sizeof(counts->last), "%s", fault->text);
}

/** Load `count` lines of the same kind behind a start. */
static counts_t load_repeated(const char *start, const char *format, unsigned count)
{
	size_t max = strlen(start) + count * (strlen(format) + 16) + 1;
	char *text = malloc(max), *end = text;
	assert_non_null(text);
	end = stpcpy(end, start);
	for (unsigned i = 0; i < count; i++) {
		end += sprintf(end, format, i);
	}
	counts_t counts = { 0 };
	conf_t *conf;
	assert_int_not_equal(conf_load_text("F", (knot_str_t){ text, (size_t)(end - text) }, NULL,
					     (conf_sink_t){ count_faults, &counts }, &conf),
			KNOT_OK);
	free(text);
	return counts;
}

static void faults_are_bounded(void **state)
{
	(void)state;
	counts_t counts = load_repeated("server:\n", "  foo%u: x\n", CONF_ERRORS_TOLD_MAX);
	assert_int_equal(counts.errors, CONF_ERRORS_TOLD_MAX);
	counts = load_repeated("server:\n", "  foo%u: x\n", CONF_ERRORS_TOLD_MAX + 7);
	assert_int_equal(counts.errors, CONF_ERRORS_TOLD_MAX + 1);
	assert_string_equal(counts.last, "config, and 7 more errors");
	counts = load_repeated("zone:\n", "  - domain: a%u\n    zone-db-output: 2\n", CONF_UNSUPPORTED_TOLD_MAX + 5);
	assert_int_equal(counts.errors, 0);
	assert_int_equal(counts.unsupported, CONF_UNSUPPORTED_TOLD_MAX + 1);
	assert_string_equal(counts.last, "config, not supported yet: zone database (Redis) (1005); 1005 items, 0 "
					 "templates and 1005 zones "
					 "affected");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_are_told_once_with_hints),
		cmocka_unit_test(lints_are_for_checks_only),
		cmocka_unit_test(faults_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
