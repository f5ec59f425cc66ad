/* SPDX-License-Identifier: BSD-2-Clause */
/* Every row of the schema, each in a configuration of its own: what it accepts, what it refuses, its messages, how
 * it is printed. */
#include "src/conf/test_conf.h"
#include "src/conf/unsupported.h"
#include "src/conf/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

/* ---- Texts ---- */

/* Blocks for references to lead to, and blocks that items may stand in need of. */
static const char before[] = "key:\n  - id: k\n    secret: YQ==\n"
			     "remote:\n  - id: r\n    address: ::1\n"
			     "remotes:\n  - id: rs\n    remote: r\n"
			     "acl:\n  - id: a\n"
			     "keystore:\n  - id: ks\n"
			     "submission:\n  - id: s\n"
			     "dnskey-sync:\n  - id: d\n    remote: r\n"
			     "policy:\n  - id: p\n"
			     "external:\n  - id: e\n"
			     "delegation:\n  - id: dg\n"
			     "template:\n  - id: t\n";

/**
 * What a row needs besides itself, or a sample where the type's is not good enough. Item NULL: all of the section that
 * have no line before it; sample NULL: the type's; more NULL: nothing.
 */
static const struct {
	const char *section, *item, *sample, *more;
} special[] = {
	{ "module", "id", "mod-x", NULL },
	{ "module", "file", "x", "" },
	{ "module", "comment", "x", "" },
	{ "server", "dbus-event", "keys-updated", NULL }, /* running and zone-updated are taken */
	{ "server", "key-file", "x", "    cert-file: y\n" },
	{ "server", "cert-file", "x", "    key-file: y\n" },
	{ "server", "listen-tls", "::1@853", "    listen: ::1\n" },
	{ "xdp", "listen", "eth0@54", NULL },
	{ "xdp", "ring-size", "4096", NULL },
	{ "xdp", "block", "192.0.2.0/24@5", NULL },
	{ "keystore", "key-label", "on", "    backend: pkcs11\n" },
	{ "policy", "algorithm", "ed25519", NULL },
	{ "policy", "keytag-modulo", "1/3", NULL },
	{ "policy", "ksk-size", "256", NULL },
	{ "policy", "zsk-size", "256", NULL },
	{ "policy", "dnskey-ttl", "1", NULL },
	{ "policy", "ksk-lifetime", "1y", NULL },
	{ "policy", "zsk-lifetime", "1y", NULL },
	{ "policy", "rrsig-refresh", "1d", NULL },
	{ "policy", "dnskey-management", "incremental", "    delete-delay: 1\n" },
	{ "delegation", "ds-bootstrap", "on", "    resolver: r\n" },
	{ "zone", "template", "t", NULL },
	{ "zone", "deleg-aware", "on", NULL },
	{ "zone", "journal-content", "all", "    zonefile-load: none\n" },
	{ "zone", "zonefile-skip", "dnssec", NULL },
	{ "zone", "zonefile-load", "none", NULL },
	{ "zone", "serial-modulo", "1/3+5", "    dnssec-signing: on\n    zonefile-load: none\n" },
	{ "zone", "include-from", "b.a.", NULL },
	{ "zone", "catalog-template", "t", "    catalog-role: interpret\n" },
	{ "zone", "catalog-zone", "c.", "    catalog-role: member\n" },
	{ "zone", "catalog-role", "generate", NULL },
	{ "mod-cookies", "secret", "0x000102030405060708090a0b0c0d0e0f", NULL },
	{ "mod-geoip", "mode", "geodb", "    geodb-file: x\n" },
	{ "mod-onlinesign", "nsec-bitmap", "TYPE65", NULL },
	{ "mod-rrl", "instant-limit", "1", "    rate-limit: 1000\n" },
	{ "mod-synthrecord", "type", "forward", "    network: ::/0\n" },
	{ "mod-synthrecord", "network", "::/0", "    type: forward\n" },
	{ "mod-synthrecord", "origin", "o.", "    type: reverse\n    network: ::/0\n" },
	{ "mod-synthrecord", "reverse-short", "off", "    type: reverse\n    network: ::/0\n    origin: o.\n" },
	{ "mod-synthrecord", NULL, NULL, "    type: forward\n    network: ::/0\n" },
	{ "mod-dnserr", "agent", "on", NULL },
	{ "mod-dnserr", "report-channel", NULL, NULL },
	{ "mod-dnserr", NULL, NULL, "    agent: on\n" },
	{ "template", "id", "x", NULL },
};

static const char *special_of(const conf_section_t *section, const conf_row_t *row, bool is_sample)
{
	for (size_t i = 0; i < KNOT_LEN(special); i++) {
		bool is_section = strcmp(special[i].section, section->name) == 0;
		bool is_shared = section == &conf_section_template &&
				 strcmp(special[i].section, "zone") == 0; /* the same rows */
		bool is_item = special[i].item == NULL || strcmp(special[i].item, row->name) == 0;
		if ((is_section || is_shared) && is_item) {
			return is_sample ? special[i].sample : special[i].more;
		}
	}
	return NULL;
}

/** A valid text, not the default where there is a choice. */
static void sample_of(const conf_section_t *section, const conf_row_t *row, char ret_text[static 64])
{
	static const char *const by_type[] = {
		[CONF_STR] = "x",
		[CONF_HEX] = "0x0102ff",
		[CONF_DNAME] = "example.",
		[CONF_ADDR] = "192.0.2.1@5353",
		[CONF_NET] = "192.0.2.0/24",
		[CONF_MODREF] = "mod-stats",
		[CONF_RRTYPE] = "TYPE65280",
		[CONF_B64] = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
	};
	static const struct {
		const char *section, *id;
	} ids[] = { { "key", "k" }, { "remote", "r" }, { "remotes", "rs" }, { "acl", "a" }, { "keystore", "ks" },
		{ "submission", "s" }, { "dnskey-sync", "d" }, { "policy", "p" }, { "external", "e" },
		{ "delegation", "dg" }, { "template", "t" } };
	const char *text = special_of(section, row, true);
	if (text == NULL && row->options != NULL) {
		text = row->options[row->options[1].name != NULL ? 1 : 0].name;
	}
	if (text == NULL && row->type == CONF_BOOL) {
		text = row->dflt != NULL && strcmp(row->dflt, "on") == 0 ? "off" : "on";
	}
	for (size_t i = 0; text == NULL && row->ref[0] != NULL && i < KNOT_LEN(ids); i++) {
		text = strcmp(ids[i].section, row->ref[0]) == 0 ? ids[i].id : NULL;
	}
	if (text == NULL && row->type == CONF_INT) {
		(void)snprintf(ret_text, 64, "%lld", (long long)(row->min < 1 && row->max > 0 ? 1 : row->min));
		return;
	}
	assert_true(text != NULL || row->type < KNOT_LEN(by_type));
	(void)snprintf(ret_text, 64, "%s", text != NULL ? text : by_type[row->type]);
}

/** A configuration with one item, on line *ret_line; value NULL: without the item's line. Free it. */
static char *configuration(const conf_section_t *section, const conf_row_t *row, const char *value, size_t *ret_line)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	assert_non_null(out);
	bool is_id = section->kind == CONF_MULTI && row == conf_id_row(section);
	(void)fprintf(out, "%s%s:\n", before, section->name);
	if (section->kind == CONF_MULTI) {
		bool is_default = section == &conf_section_template && row->only_in == CONF_ONLY_TEMPLATE && !is_id;
		const char *id = section == &conf_section_zone                        ? "a."
				 : section->name[0] == 'm' && section->name[3] == 'u' ? "mod-x"
										      : "x";
		(void)fprintf(out, "  - %s: \"%s\"\n", conf_id_row(section)->name,
				is_id && value != NULL ? value
				: is_default           ? "default"
						       : id);
	}
	if (!is_id) {
		(void)fprintf(out, "    %s: \"%s\"\n", row->name, value != NULL ? value : "");
	}
	const char *more = special_of(section, row, false);
	(void)fputs(more != NULL ? more : "", out);
	for (size_t i = 0; i < section->row_count; i++) {
		const conf_row_t *other = &section->rows[i];
		if (other != row && other->required && (more == NULL || strstr(more, other->name) == NULL)) {
			char sample[64];
			sample_of(section, other, sample);
			(void)fprintf(out, "    %s: \"%s\"\n", other->name, sample);
		}
	}
	assert_int_equal(fclose(out), 0);
	size_t line = 2;
	for (const char *at = before; *at != '\0'; at++) {
		line += *at == '\n';
	}
	*ret_line = line + (section->kind == CONF_MULTI && !is_id ? 1 : 0);
	return text;
}

/** Load a configuration with one item; the snapshot is only tried. */
static knot_err_t load(const conf_section_t *section, const conf_row_t *row, const char *value, messages_t *ret_told,
		size_t *ret_line)
{
	char *text = configuration(section, row, value, ret_line);
	knot_err_t err;
	conf_free(load_text(text, ret_told, &err));
	free(text);
	return err;
}

typedef void (*row_test_t)(const conf_section_t *section, const conf_row_t *row);

static void each_row(row_test_t test)
{
	for (size_t i = 0; i < conf_section_count; i++) {
		for (size_t j = 0; j < conf_sections[i]->row_count && conf_sections[i]->kind != CONF_DIRECTIVE; j++) {
			if (conf_row_in(conf_sections[i], &conf_sections[i]->rows[j])) {
				test(conf_sections[i], &conf_sections[i]->rows[j]);
			}
		}
	}
}

/* ---- Tests ---- */

static void expect_sample(const conf_section_t *section, const conf_row_t *row)
{
	char sample[64], want[512] = "";
	messages_t told;
	size_t line;
	sample_of(section, row, sample);
	knot_err_t err = load(section, row, sample, &told, &line);
	if (row->support == CONF_OBSOLETE) {
		(void)snprintf(want, sizeof(want), "N:config, line %zu, option '%s.%s' is obsolete and has no effect",
				line, section->name, row->name);
	} else if (row->support == CONF_REFUSED) {
		(void)snprintf(want, sizeof(want),
				"config, file 'F', line %zu, item '%s', value '%s' (not supported yet)", line,
				row->name, sample);
	}
	/* What stands beside the item may be refused, too. */
	bool is_first = strncmp(told.text, want, strlen(want)) == 0;
	bool is_refused_beside = special_of(section, row, false) != NULL && err == KNOT_CONF_ENOTSUP;
	bool is_right = is_refused_beside ? is_first : strcmp(told.text, want) == 0;
	bool want_refused = row->support == CONF_REFUSED;
	if (!is_right || (want_refused && err != KNOT_CONF_ENOTSUP) ||
			(!want_refused && err != KNOT_OK && !is_refused_beside)) {
		fail_msg("%s.%s: %s (%s): %s", section->name, row->name, sample, knot_strerror(err), told.text);
	}
}

static void samples_are_taken_or_refused(void **state)
{
	(void)state;
	each_row(expect_sample);
}

/** Values that ask for nothing are taken without a word. */
static void expect_harmless(const conf_section_t *section, const conf_row_t *row)
{
	const char *word = row->harmless;
	while (word != NULL && *word != '\0') {
		char value[64];
		messages_t told;
		size_t len = strcspn(word, " "), line;
		(void)snprintf(value, sizeof(value), "%.*s", (int)len, strncmp(word, "\"\"", 2) == 0 ? "" : word);
		bool stands_alone = special_of(section, row, false) == NULL;
		knot_err_t err = load(section, row, value, &told, &line);
		if (stands_alone && (err != KNOT_OK || told.text[0] != '\0')) {
			fail_msg("%s.%s: %s: %s", section->name, row->name, value, told.text);
		}
		word += len;
		word += *word == ' ';
	}
}

/** The summary of a migration has a name for each, and room for all. */
static void refused_rows_have_features(void **state)
{
	(void)state;
	size_t count = 0;
	for (size_t i = 0; i < conf_section_count; i++) {
		count += conf_sections[i]->is_module;
		for (size_t j = 0; j < conf_sections[i]->row_count; j++) {
			const conf_row_t *row = &conf_sections[i]->rows[j];
			assert_int_equal(row->support == CONF_REFUSED, row->feature != NULL);
			count += row->feature != NULL && row->only_in != CONF_ONLY_TEMPLATE;
		}
	}
	assert_true(count > 0);
	/* Features have several rows each, and zones and templates share theirs. */
	assert_true(count / 2 <= CONF_FEATURES_MAX);
}

static void harmless_values_are_taken(void **state)
{
	(void)state;
	each_row(expect_harmless);
}

static void expect_fault(const conf_section_t *section, const conf_row_t *row, const char *value, const char *reason)
{
	char want[512], shown[256] = "";
	messages_t told;
	size_t line;
	knot_err_t err = load(section, row, value, &told, &line);
	if (!row->secret) {
		(void)snprintf(shown, sizeof(shown), ", value '%s'", value);
	}
	(void)snprintf(want, sizeof(want), "config, file 'F', line %zu, item '%s'%s (%s)", line, row->name, shown,
			reason);
	/* An item beside it may be refused, too, and is reported behind it. */
	bool is_first = strncmp(told.text, want, strlen(want)) == 0;
	if (err == KNOT_OK || !is_first || strchr("\n", told.text[strlen(want)]) == NULL) {
		fail_msg("%s.%s: want %s\ngot %s", section->name, row->name, want, told.text);
	}
}

static void expect_range(const conf_section_t *section, const conf_row_t *row)
{
	static uint8_t value[CONF_VALUE_MAX];
	char text[64];
	size_t len;
	if (row->type != CONF_INT && row->type != CONF_OPTINT) {
		return;
	}
	const int64_t inside[] = { row->min, row->max }, outside[] = { row->min - 1, row->max + 1 };
	for (size_t i = 0; i < KNOT_LEN(inside); i++) {
		(void)snprintf(text, sizeof(text), "%lld", (long long)inside[i]);
		if (conf_value_scan(row, knot_str_of(text), value, &len) != KNOT_OK) {
			fail_msg("%s.%s: %s", section->name, row->name, text);
		}
		(void)snprintf(text, sizeof(text), "%lld", (long long)outside[i]);
		expect_fault(section, row, text, "value is out of range");
	}
	expect_fault(section, row, "5x", "invalid parameter");
	expect_fault(section, row, "1h30m", "invalid parameter");
	if (!row->percent) {
		expect_fault(section, row, "10%", "invalid parameter");
	}
}

static void ranges_are_those_of_the_rows(void **state)
{
	(void)state;
	each_row(expect_range);
}

/** What can't be a value of the type. Texts and paths can be anything. */
static void expect_invalid(const conf_section_t *section, const conf_row_t *row)
{
	static const struct {
		conf_type_t type;
		const char *text, *reason;
	} invalid[] = {
		{ CONF_BOOL, "yes", "invalid parameter" },
		{ CONF_OPT, "nonsense", "invalid parameter" },
		{ CONF_OPTINT, "nonsense", "invalid parameter" },
		{ CONF_HEX, "0x123", "invalid parameter" },
		{ CONF_B64, "YQ=", "invalid base64 string length" },
		{ CONF_B64, "Y Q=", "invalid base64 character" },
		{ CONF_DNAME, "a..b", "invalid parameter" },
		{ CONF_ADDR, "192.0.2.1@70000", "value is out of range" },
		{ CONF_NET, "192.0.2.0/33", "value is out of range" },
		{ CONF_NET, "host.example", "invalid parameter" },
		{ CONF_REF, "nosuch", "invalid reference" },
		{ CONF_MODREF, "nosuch", "unknown module" },
		{ CONF_MODREF, "mod-stats/nosuch", "invalid module reference" },
		{ CONF_RRTYPE, "NOSUCH", "invalid parameter" },
	};
	for (size_t i = 0; i < KNOT_LEN(invalid); i++) {
		bool is_xdp_listen = section == &conf_section_xdp && row->type == CONF_ADDR;
		if (invalid[i].type == row->type) {
			expect_fault(section, row, invalid[i].text,
					is_xdp_listen ? "invalid XDP interface specification" : invalid[i].reason);
		}
	}
}

static void invalid_values_have_a_reason(void **state)
{
	(void)state;
	each_row(expect_invalid);
}

static void expect_identity(const conf_section_t *section, const conf_row_t *row, const char *text)
{
	static uint8_t first[CONF_VALUE_MAX], second[CONF_VALUE_MAX];
	static char printed[4096];
	size_t first_len, second_len;
	assert_int_equal(conf_value_scan(row, knot_str_of(text), first, &first_len), KNOT_OK);
	size_t len = conf_value_print(row, (knot_bytes_t){ first, first_len }, printed, sizeof(printed));
	assert_true(len < sizeof(printed) && len == strlen(printed));
	if (conf_value_scan(row, knot_str_of(printed), second, &second_len) != KNOT_OK || first_len != second_len ||
			memcmp(first, second, first_len) != 0) {
		fail_msg("%s.%s: '%s' is printed as '%s', which is another value", section->name, row->name, text,
				printed);
	}
}

static void expect_identities(const conf_section_t *section, const conf_row_t *row)
{
	char text[64];
	sample_of(section, row, text);
	expect_identity(section, row, text);
	if (row->dflt != NULL) {
		expect_identity(section, row, row->dflt);
	}
	for (const conf_option_t *option = row->options; option != NULL && option->name != NULL; option++) {
		expect_identity(section, row, option->name);
	}
	for (unsigned i = 0; i < 2 && (row->type == CONF_INT || row->type == CONF_OPTINT); i++) {
		(void)snprintf(text, sizeof(text), "%lld", (long long)(i == 0 ? row->min : row->max));
		expect_identity(section, row, text);
	}
	if (row->percent) {
		expect_identity(section, row, "10%");
	}
}

static void printed_values_are_read_as_the_same(void **state)
{
	(void)state;
	each_row(expect_identities);
}

/** A list takes as many values as its row says. */
static void expect_count(const conf_section_t *section, const conf_row_t *row)
{
	char value[1024] = "";
	messages_t told;
	size_t line;
	if (row->count_max == 0) {
		return;
	}
	bool names_types = strcmp(row->name, "zonefile-skip") == 0;
	/* Different values of the type: the limit counts no repetitions. */
	for (size_t i = 0; i <= row->count_max; i++) {
		size_t len = strlen(value);
		(void)snprintf(value + len, sizeof(value) - len,
				row->type == CONF_B64   ? "%s%cAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
				: row->type == CONF_HEX ? "%s0x%02x0102030405060708090a0b0c0d0e0f"
				: names_types           ? "%sTYPE%d"
							: "%sv%c",
				i > 0 ? "\", \"" : "[ \"",
				row->type == CONF_HEX || names_types ? (int)i : 'A' + (int)i);
	}
	char *text = configuration(section, row, "@@", &line), *at = strstr(text, "\"@@\"");
	assert_non_null(at);
	char *whole = malloc(strlen(text) + sizeof(value) + 8);
	assert_non_null(whole);
	(void)sprintf(whole, "%.*s%s\" ]%s", (int)(at - text), text, value, at + 4);
	knot_err_t err;
	assert_null(load_text(whole, &told, &err));
	assert_int_not_equal(err, KNOT_OK);
	if (strstr(told.text, "(too many values)") == NULL) {
		fail_msg("%s.%s: %s: %s", section->name, row->name, value, told.text);
	}
	free(text);
	free(whole);
}

static void lists_have_limits(void **state)
{
	(void)state;
	each_row(expect_count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_taken_or_refused),
		cmocka_unit_test(refused_rows_have_features),
		cmocka_unit_test(harmless_values_are_taken),
		cmocka_unit_test(ranges_are_those_of_the_rows),
		cmocka_unit_test(invalid_values_have_a_reason),
		cmocka_unit_test(printed_values_are_read_as_the_same),
		cmocka_unit_test(lists_have_limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
