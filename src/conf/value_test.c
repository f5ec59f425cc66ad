/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/conf/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static const conf_option_t options[] = { { "off", 0 }, { "false", 0 }, { "on", 1 }, { "soft", 2 }, { NULL, 0 } };
static const conf_option_t syncs[] = { { "immediate", 0 }, { "never", -1 }, { NULL, 0 } };

static const conf_row_t
		r_int = { .type = CONF_INT, .min = -5, .max = 100 },
		r_time = { .type = CONF_INT, .min = 0, .max = INT64_C(4294967295), .unit = CONF_UNIT_TIME },
		r_big = { .type = CONF_INT, .min = INT64_MIN, .max = INT64_MAX, .unit = CONF_UNIT_TIME },
		r_size = { .type = CONF_INT, .min = 0, .max = INT64_C(1) << 48, .unit = CONF_UNIT_SIZE },
		r_percent = { .type = CONF_INT, .min = 0, .max = 1000, .unit = CONF_UNIT_TIME, .percent = true },
		r_bool = { .type = CONF_BOOL }, r_str = { .type = CONF_STR }, r_hex = { .type = CONF_HEX },
		r_b64 = { .type = CONF_B64 }, r_name = { .type = CONF_DNAME }, r_addr = { .type = CONF_ADDR },
		r_net = { .type = CONF_NET }, r_opt = { .type = CONF_OPT, .options = options },
		r_optint = { .type = CONF_OPTINT, .options = syncs, .min = 1, .max = 1000, .unit = CONF_UNIT_TIME },
		r_ref = { .type = CONF_REF, .ref = { "key" }, .or_empty = true },
		r_ref_str = { .type = CONF_REF, .ref = { "remote" } }, r_mod = { .type = CONF_MODREF },
		r_type = { .type = CONF_RRTYPE };

/* want: how conf-read prints the value, or NULL and the error. */
static const struct {
	const char *what;
	const conf_row_t *row;
	const char *text, *want;
	knot_err_t err;
} rows[] = {
	{ "integer", &r_int, "42", "42", 0 },
	{ "sign", &r_int, "+5", "5", 0 },
	{ "negative", &r_int, "-5", "-5", 0 },
	{ "space before", &r_int, " 5", "5", 0 },
	{ "space behind", &r_int, "5 ", NULL, KNOT_EINVAL },
	{ "leading zeros are decimal", &r_int, "010", "10", 0 },
	{ "hexadecimal", &r_int, "0x5", NULL, KNOT_EINVAL },
	{ "no number", &r_int, "abc", NULL, KNOT_EINVAL },
	{ "empty", &r_int, "", NULL, KNOT_EINVAL },
	{ "unit where there is none", &r_int, "5s", NULL, KNOT_EINVAL },
	{ "below the range", &r_int, "-6", NULL, KNOT_CONF_ERANGE },
	{ "above the range", &r_int, "101", NULL, KNOT_CONF_ERANGE },
	{ "beyond 64 bits", &r_int, "99999999999999999999", NULL, KNOT_CONF_ERANGE },
	{ "seconds", &r_time, "5s", "5", 0 },
	{ "minutes", &r_time, "5m", "300", 0 },
	{ "hours", &r_time, "2h", "7200", 0 },
	{ "days", &r_time, "1d", "86400", 0 },
	{ "weeks", &r_time, "1w", "604800", 0 },
	{ "months of 30 days", &r_time, "1M", "2592000", 0 },
	{ "years of 365 days", &r_time, "1y", "31536000", 0 },
	{ "units are case-sensitive", &r_time, "1H", NULL, KNOT_EINVAL },
	{ "no composite time", &r_time, "1h30m", NULL, KNOT_EINVAL },
	{ "space before the unit", &r_time, "1 s", NULL, KNOT_EINVAL },
	{ "unit without number", &r_time, "s", NULL, KNOT_EINVAL },
	{ "unit of the other kind", &r_time, "1K", NULL, KNOT_EINVAL },
	{ "out of range by the unit", &r_time, "200y", NULL, KNOT_CONF_ERANGE },
	{ "overflow by the unit", &r_big, "9223372036854775807y", NULL, KNOT_CONF_ERANGE },
	{ "bytes", &r_size, "7B", "7", 0 },
	{ "kilobytes", &r_size, "2K", "2048", 0 },
	{ "megabytes", &r_size, "1M", "1048576", 0 },
	{ "gigabytes", &r_size, "1G", "1073741824", 0 },
	{ "no terabytes", &r_size, "1T", NULL, KNOT_EINVAL },
	{ "percent", &r_percent, "10%", "10%", 0 },
	{ "more than all", &r_percent, "101%", NULL, KNOT_CONF_ERANGE },
	{ "time where percent is allowed", &r_percent, "1m", "60", 0 },
	{ "percent where it isn't", &r_time, "10%", NULL, KNOT_EINVAL },
	{ "on", &r_bool, "on", "on", 0 },
	{ "true in any case", &r_bool, "TRUE", "on", 0 },
	{ "off", &r_bool, "Off", "off", 0 },
	{ "false", &r_bool, "false", "off", 0 },
	{ "prefix of on", &r_bool, "o", "on", 0 },
	{ "prefix of off", &r_bool, "of", "off", 0 },
	{ "prefix of true", &r_bool, "tr", "on", 0 },
	{ "prefix of false", &r_bool, "f", "off", 0 },
	{ "no value is on", &r_bool, "", "on", 0 },
	{ "longer than the word", &r_bool, "offf", NULL, KNOT_EINVAL },
	{ "yes", &r_bool, "yes", NULL, KNOT_EINVAL },
	{ "one", &r_bool, "1", NULL, KNOT_EINVAL },
	{ "option in any case", &r_opt, "SOFT", "soft", 0 },
	{ "alias of an option prints the first", &r_opt, "false", "off", 0 },
	{ "prefix of an option", &r_opt, "so", NULL, KNOT_EINVAL },
	{ "empty option", &r_opt, "", NULL, KNOT_EINVAL },
	{ "option or integer: name", &r_optint, "Never", "never", 0 },
	{ "option or integer: integer", &r_optint, "1m", "60", 0 },
	{ "option or integer: a number out of range", &r_optint, "-1", NULL, KNOT_CONF_ERANGE },
	{ "option or integer: neither", &r_optint, "later", NULL, KNOT_EINVAL },
	{ "text", &r_str, "a b\xc3\xa9", "a b\xc3\xa9", 0 },
	{ "empty text", &r_str, "", "", 0 },
	{ "hex", &r_hex, "0x01aBff", "0x01ABFF", 0 },
	{ "hex that is text", &r_hex, "0x414243", "ABC", 0 },
	{ "text as hex", &r_hex, "host.example", "host.example", 0 },
	{ "odd hex", &r_hex, "0x123", NULL, KNOT_EINVAL },
	{ "bad hex", &r_hex, "0x12gg", NULL, KNOT_EINVAL },
	{ "empty hex", &r_hex, "", "", 0 },
	{ "base64", &r_b64, "Zm9vYmFy", "Zm9vYmFy", 0 },
	{ "base64 padded", &r_b64, "Zm8=", "Zm8=", 0 },
	{ "base64 padded twice", &r_b64, "Zg==", "Zg==", 0 },
	{ "empty base64", &r_b64, "", "", 0 },
	{ "base64 of odd length", &r_b64, "Zm9", NULL, KNOT_EB64LEN },
	{ "base64 with a space", &r_b64, "Zm 9", NULL, KNOT_EB64CHAR },
	{ "base64 with padding inside", &r_b64, "Z===", NULL, KNOT_EB64CHAR },
	{ "name", &r_name, "Example.COM", "example.com.", 0 },
	{ "name with a dot", &r_name, "example.com.", "example.com.", 0 },
	{ "root", &r_name, ".", ".", 0 },
	{ "escapes in a name", &r_name, "\\097\\.b", "a\\.b.", 0 },
	{ "empty label", &r_name, "a..b", NULL, KNOT_EINVAL },
	{ "empty name", &r_name, "", NULL, KNOT_EINVAL },
	{ "IPv4", &r_addr, "192.0.2.1", "192.0.2.1", 0 },
	{ "IPv4 and port", &r_addr, "192.0.2.1@5353", "192.0.2.1@5353", 0 },
	{ "IPv6", &r_addr, "2001:DB8::1", "2001:db8::1", 0 },
	{ "IPv6 and port", &r_addr, "::1@53", "::1@53", 0 },
	{ "IPv4 in IPv6", &r_addr, "::ffff:1.2.3.4", "::ffff:1.2.3.4", 0 },
	{ "port with a sign", &r_addr, "::1@+5", "::1@5", 0 },
	{ "port 0 is the check's business", &r_addr, "::1@0", "::1@0", 0 },
	{ "port too big", &r_addr, "::1@65536", NULL, KNOT_CONF_ERANGE },
	{ "negative port", &r_addr, "::1@-1", NULL, KNOT_CONF_ERANGE },
	{ "empty port", &r_addr, "::1@", NULL, KNOT_EINVAL },
	{ "two ports", &r_addr, "192.0.2.1@1@2", NULL, KNOT_EINVAL },
	{ "bad IPv4", &r_addr, "192.0.2.444", NULL, KNOT_EINVAL },
	{ "IPv4 with a leading zero", &r_addr, "01.2.3.4", NULL, KNOT_EINVAL },
	{ "bad IPv6", &r_addr, "1:2:g::", NULL, KNOT_EINVAL },
	{ "IPv6 in brackets", &r_addr, "[::1]", NULL, KNOT_EINVAL },
	{ "device of a wildcard", &r_addr, "::%eth0@53", "::%eth0@53", 0 },
	{ "device of the IPv4 wildcard", &r_addr, "0.0.0.0%eth0.100", "0.0.0.0%eth0.100", 0 },
	{ "scope of a link-local address", &r_addr, "fe80::1%eth0@53", "fe80::1%eth0@53", 0 },
	{ "device of another IPv4 address", &r_addr, "192.0.2.1%eth0", NULL, KNOT_EINVAL },
	{ "device of another IPv6 address", &r_addr, "2001:db8::1%eth0", NULL, KNOT_EINVAL },
	{ "empty device", &r_addr, "::%", NULL, KNOT_EINVAL },
	{ "device name too long", &r_addr, "::%averyveryverylong", NULL, KNOT_EINVAL },
	{ "three numbers are a path", &r_addr, "10.0.0", "10.0.0", 0 },
	{ "host name is a path", &r_addr, "host.example@53", "host.example@53", 0 },
	{ "interface is a path", &r_addr, "eth0@53", "eth0@53", 0 },
	{ "slash makes a path", &r_addr, "1.2.3.4/24", "1.2.3.4/24", 0 },
	{ "colons and a slash", &r_addr, "/run/a:b:c", "/run/a:b:c", 0 },
	{ "one address as a network", &r_net, "192.0.2.1", "192.0.2.1", 0 },
	{ "network", &r_net, "192.0.2.0/24", "192.0.2.0/24", 0 },
	{ "IPv6 network", &r_net, "2001:db8::/32", "2001:db8::/32", 0 },
	{ "range", &r_net, "192.0.2.1-192.0.2.9", "192.0.2.1-192.0.2.9", 0 },
	{ "range of two families", &r_net, "192.0.2.1-::1", NULL, KNOT_EINVAL },
	{ "range without end", &r_net, "192.0.2.1-", NULL, KNOT_EINVAL },
	{ "prefix too long", &r_net, "192.0.2.0/33", NULL, KNOT_CONF_ERANGE },
	{ "IPv6 prefix too long", &r_net, "::/129", NULL, KNOT_CONF_ERANGE },
	{ "empty prefix", &r_net, "192.0.2.0/", NULL, KNOT_EINVAL },
	{ "UNIX path as a network", &r_net, "/run/x.sock", "/run/x.sock", 0 },
	{ "anything else is no network", &r_net, "hello", NULL, KNOT_EINVAL },
	{ "port in a network", &r_net, "192.0.2.1@53", NULL, KNOT_EINVAL },
	{ "reference to a name", &r_ref, "Key.Example", "key.example.", 0 },
	{ "empty reference", &r_ref, "", "", 0 },
	{ "reference to a text", &r_ref_str, "Primary", "Primary", 0 },
	{ "module", &r_mod, "mod-stats", "mod-stats", 0 },
	{ "module with an id", &r_mod, "mod-stats/a/b", "mod-stats/a/b", 0 },
	{ "module with an empty id", &r_mod, "mod-stats/", NULL, KNOT_EINVAL },
	{ "type", &r_type, "aaaa", "AAAA", 0 },
	{ "type by number", &r_type, "TYPE65280", "TYPE65280", 0 },
	{ "no type", &r_type, "FOO", NULL, KNOT_EINVAL },
};

static void text_to_value_to_text(void **state)
{
	(void)state;
	static uint8_t value[CONF_VALUE_MAX], again[CONF_VALUE_MAX];
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		size_t len, again_len, text_len = strlen(rows[i].text);
		char *copy = malloc(text_len + 1), printed[256];
		memcpy(copy, rows[i].text, text_len); /* no terminator */
		knot_err_t err = conf_value_scan(rows[i].row, (knot_str_t){ copy, text_len }, value, &len);
		free(copy);
		if (err != rows[i].err) {
			fail_msg("%s: %s", rows[i].what, knot_strerror(err));
		}
		if (err != KNOT_OK) {
			continue;
		}
		size_t printed_len =
				conf_value_print(rows[i].row, (knot_bytes_t){ value, len }, printed, sizeof(printed));
		if (printed_len != strlen(printed) || (rows[i].want != NULL && strcmp(printed, rows[i].want) != 0)) {
			fail_msg("%s: printed '%s'", rows[i].what, printed);
		}
		/* What is printed means the same again. */
		if (conf_value_scan(rows[i].row, knot_str_of(printed), again, &again_len) != KNOT_OK ||
				again_len != len || memcmp(value, again, len) != 0) {
			fail_msg("%s: '%s' is not the same value", rows[i].what, printed);
		}
	}
}

static void at_sign_is_a_label(void **state)
{
	(void)state;
	uint8_t value[CONF_VALUE_MAX];
	size_t len;
	assert_int_equal(conf_value_scan(&r_name, KNOT_STR("@"), value, &len), KNOT_OK);
	assert_int_equal(len, 3);
	assert_memory_equal(value, "\1@", 3);
}

static void printing_is_cut_to_its_room(void **state)
{
	(void)state;
	uint8_t value[CONF_VALUE_MAX];
	size_t len;
	char small[8];
	assert_int_equal(conf_value_scan(&r_str, KNOT_STR("0123456789"), value, &len), KNOT_OK);
	assert_int_equal(conf_value_print(&r_str, (knot_bytes_t){ value, len }, small, sizeof(small)), 10);
	assert_string_equal(small, "0123456");
	assert_int_equal(conf_value_print(&r_str, (knot_bytes_t){ value, len }, NULL, 0), 10);
}

static void longest_values_fit(void **state)
{
	(void)state;
	uint8_t *value = malloc(CONF_VALUE_MAX);
	enum { LONGEST = 32767, UNIT_MAX = 65535 /* of the control protocol */ };
	char *text = malloc(UNIT_MAX);
	size_t len;
	memset(text, 'a', UNIT_MAX);
	const conf_row_t *const all[] = { &r_str, &r_hex, &r_b64, &r_name, &r_addr, &r_net, &r_opt, &r_ref, &r_mod,
		&r_int, &r_type };
	for (size_t i = 0; i < KNOT_LEN(all); i++) {
		for (size_t text_len = LONGEST - 4; text_len <= LONGEST; text_len++) {
			if (conf_value_scan(all[i], (knot_str_t){ text, text_len }, value, &len) == KNOT_OK) {
				assert_true(len <= CONF_VALUE_MAX);
			}
		}
		assert_int_equal(conf_value_scan(all[i], (knot_str_t){ text, LONGEST + 1 }, value, &len),
				KNOT_CONF_ERANGE);
		assert_int_equal(
				conf_value_scan(all[i], (knot_str_t){ text, UNIT_MAX }, value, &len), KNOT_CONF_ERANGE);
	}
	memset(text, '/', LONGEST);
	assert_int_equal(conf_value_scan(&r_addr, (knot_str_t){ text, LONGEST }, value, &len), KNOT_EINVAL);
	assert_int_equal(conf_value_scan(&r_addr, (knot_str_t){ text, LONGEST - 1 }, value, &len), KNOT_OK);
	free(text);
	free(value);
}

/** Rows must be sound: defaults are values of their type, harmless values are too, references exist. */
static void schema_is_sound(void **state)
{
	(void)state;
	static uint8_t value[CONF_VALUE_MAX];
	size_t len;
	for (size_t s = 0; s < conf_section_count; s++) {
		const conf_section_t *section = conf_sections[s];
		assert_int_equal(conf_section_find(knot_str_of(section->name)), s);
		for (size_t i = 0; i < section->row_count; i++) {
			const conf_row_t *row = &section->rows[i];
			if (section->kind == CONF_DIRECTIVE || !conf_row_in(section, row)) {
				continue;
			}
			if (conf_row_find(section, knot_str_of(row->name)) != i || row->doc == NULL ||
					row->doc[0] == '\0') {
				fail_msg("%s.%s: name twice or no text", section->name, row->name);
			}
			if (row->dflt != NULL && conf_value_scan(row, knot_str_of(row->dflt), value, &len) != KNOT_OK) {
				fail_msg("%s.%s: default", section->name, row->name);
			}
			bool is_number = row->type == CONF_INT || row->type == CONF_OPTINT;
			if (is_number != (row->max != 0) || row->min > row->max) {
				fail_msg("%s.%s: range", section->name, row->name);
			}
			bool has_options = row->type == CONF_OPT || row->type == CONF_OPTINT;
			if (has_options != (row->options != NULL)) {
				fail_msg("%s.%s: options", section->name, row->name);
			}
			for (size_t r = 0; r < KNOT_LEN(row->ref) && row->ref[r] != NULL; r++) {
				size_t target = conf_section_find(knot_str_of(row->ref[r]));
				assert_true(target < conf_section_count && conf_sections[target]->kind == CONF_MULTI);
			}
			assert_true((row->type == CONF_REF) == (row->ref[0] != NULL));
			assert_true(row->required == (row->missing != NULL));
			assert_true(row->harmless == NULL || row->support == CONF_REFUSED);
			if (row->multi && row->field != CONF_FIELD_NONE) {
				assert_true(row->field >= CONF_FIELD_STRS);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_to_value_to_text),
		cmocka_unit_test(at_sign_is_a_label),
		cmocka_unit_test(printing_is_cut_to_its_room),
		cmocka_unit_test(longest_values_fit),
		cmocka_unit_test(schema_is_sound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
