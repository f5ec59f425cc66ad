/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/modules/cookies/cookie.h"
#include "src/modules/module_test_gate.h"

static const char conf_text[] =
		"mod-cookies:\n  - id: one\n    secret: 0xe5e973e5a6b2a43f48e7dc849e37bfcf\n"
		"  - id: two\n    secret: [ 0x445536bcd2513298075a5d379663c962, 0xdd3bdf9344b678b185a6f5cb60fca715 ]\n"
		"  - id: slip\n    secret: 0xe5e973e5a6b2a43f48e7dc849e37bfcf\n    badcookie-slip: 3\n"
		"  - id: random\n    secret-lifetime: 100\n";

/* Bytes of hexadecimal digits; returns their number. */
static size_t bytes_of(const char *hex, uint8_t *out)
{
	size_t len = strlen(hex) / 2;
	for (size_t i = 0; i < len; i++) {
		unsigned byte;
		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		out[i] = (uint8_t)byte;
	}
	return len;
}

typedef struct {
	answer_refusal_t refusal;
	module_notes_t notes;
	char cookie[2 * COOKIE_LEN + 1]; /* of the reply, as digits */
} got_t;

/* A request with a cookie (NULL: none) from `remote`. */
static got_t ask_over(answer_protocol_t protocol, const module_chain_t *chain, const char *hex, const char *remote,
		uint32_t now_s)
{
	uint8_t option[4 + 64];
	answer_request_t request = { .kind = ANSWER_KIND_LOOKUP };
	const answer_turn_t turn = { .wall_s = now_s };
	got_t got = { 0 };
	if (hex != NULL) {
		size_t len = bytes_of(hex, option + 4);
		store_be16(option, KNOT_EDNS_COOKIE);
		store_be16(option + 2, (uint16_t)len);
		request.query.edns = (knot_edns_t){
			.present = true, .option_bits = 1u << KNOT_EDNS_COOKIE, .options = { option, 4 + len }
		};
	}
	got.refusal = test_gate_ask(chain, protocol, remote, NULL, &request, &turn, &got.notes);
	for (unsigned i = 0; i < got.notes.cookie_len; i++) {
		(void)sprintf(got.cookie + 2 * i, "%02x", got.notes.cookie[i]);
	}
	return got;
}

static got_t ask(const module_chain_t *chain, const char *hex, const char *remote, uint32_t now_s)
{
	return ask_over(ANSWER_UDP4, chain, hex, remote, now_s);
}

static unsigned count_of;

static bool take_count(const sys_counter_info_t *info, const char *id, uint64_t value, void *ctx)
{
	assert_null(id);
	if (strcmp(info->item, ctx) == 0) {
		count_of = (unsigned)value;
	}
	return true;
}

static unsigned counter(const module_chain_t *chain, char *item)
{
	count_of = 0;
	(void)module_chain_counters(chain, NULL, take_count, item);
	return count_of;
}

/* RFC 9018 appendix A: a new client, its renewal, reserved bits that are set, IPv6 and a secret that was changed. */
static void test_vectors(void **state)
{
	(void)state;
	module_chain_t *one = test_gate_chain(conf_text, "mod-cookies", "one");
	got_t got = ask(one, "2464c4abcf10c957", "198.51.100.100", 1559731985);
	assert_int_equal(got.refusal, ANSWER_REFUSAL_BAD_COOKIE);
	assert_false(got.notes.is_source_known);
	assert_string_equal(got.cookie, "2464c4abcf10c957010000005cf79f111f8130c3eee29480");

	got = ask(one, "2464c4abcf10c957010000005cf79f111f8130c3eee29480", "198.51.100.100", 1559734385);
	assert_int_equal(got.refusal, ANSWER_REFUSAL_NONE);
	assert_true(got.notes.is_source_known);
	assert_string_equal(got.cookie, "2464c4abcf10c957010000005cf7a871d4a564a1442aca77");

	got = ask(one, "fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5", "203.0.113.203", 1559727985);
	assert_int_equal(got.refusal, ANSWER_REFUSAL_NONE);
	module_chain_free(one);

	module_chain_t *two = test_gate_chain(conf_text, "mod-cookies", "two");
	got = ask(two, "22681ab97d52c298010000005cf7c57926556bd0934c72f8", "2001:db8:220:1:59de:d0f4:8769:82b8",
			1559741961);
	assert_int_equal(got.refusal, ANSWER_REFUSAL_NONE);
	assert_string_equal(got.cookie, "22681ab97d52c298010000005cf7c609a6bb79d16625507a");
	module_chain_free(two);
}

/* What proves nothing. */
static void test_bad(void **state)
{
	(void)state;
	enum { MADE = 1559731985 };
	static const char good[] = "2464c4abcf10c957010000005cf79f111f8130c3eee29480";
	static const struct {
		const char *cookie, *remote;
		uint32_t now_s;
		bool is_good;
	} rows[] = {
		{ good, "198.51.100.100", MADE, true },
		{ good, "198.51.100.100", MADE + 3600, true },
		{ good, "198.51.100.100", MADE + 3601, false },
		{ good, "198.51.100.100", MADE - 300, true },
		{ good, "198.51.100.100", MADE - 301, false },
		{ good, "198.51.100.101", MADE, false },
		{ good, "2001:db8::1", MADE, false },
		{ "2464c4abcf10c958010000005cf79f111f8130c3eee29480", "198.51.100.100", MADE, false },
		{ "2464c4abcf10c957010000005cf79f111f8130c3eee29481", "198.51.100.100", MADE, false },
		{ "2464c4abcf10c957010000015cf79f111f8130c3eee29480", "198.51.100.100", MADE, false },
		{ "2464c4abcf10c957020000005cf79f111f8130c3eee29480", "198.51.100.100", MADE, false },
		{ "2464c4abcf10c957010000005cf79f111f8130c3eee2948000", "198.51.100.100", MADE, false },
		{ "2464c4abcf10c9570100000000000000", "198.51.100.100", MADE, false },
	};
	module_chain_t *chain = test_gate_chain(conf_text, "mod-cookies", "one");
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		got_t got = ask(chain, rows[i].cookie, rows[i].remote, rows[i].now_s);
		if (got.notes.is_source_known != rows[i].is_good ||
				got.refusal != (rows[i].is_good ? ANSWER_REFUSAL_NONE : ANSWER_REFUSAL_BAD_COOKIE)) {
			fail_msg("row %zu", i);
		}
		/* Whatever came, the next one is good. */
		got = ask(chain, got.cookie, rows[i].remote, rows[i].now_s);
		assert_true(got.notes.is_source_known);
		/* The source of a stream isn't forged. */
		assert_int_equal(ask_over(ANSWER_TCP4, chain, rows[i].cookie, rows[i].remote, rows[i].now_s).refusal,
				ANSWER_REFUSAL_NONE);
	}
	static const char *const malformed[] = { "", "01", "01020304050607", "010203040506070809",
		"010203040506070801020304050607",
		"0102030405060708010203040506070801020304050607080102030405060708010203040506070801" };
	for (size_t i = 0; i < KNOT_LEN(malformed); i++) {
		got_t got = ask(chain, malformed[i], "198.51.100.100", MADE);
		assert_int_equal(got.refusal, ANSWER_REFUSAL_BAD_OPTION);
		assert_int_equal(got.notes.cookie_len, 0);
	}
	unsigned before = counter(chain, "presence");
	assert_int_equal(ask(chain, NULL, "198.51.100.100", MADE).refusal, ANSWER_REFUSAL_NONE);
	assert_int_equal(counter(chain, "presence"), before);
	assert_int_equal(before, 3 * KNOT_LEN(rows) + KNOT_LEN(malformed));
	module_chain_free(chain);
}

static void test_slip(void **state)
{
	(void)state;
	module_chain_t *chain = test_gate_chain(conf_text, "mod-cookies", "slip");
	for (unsigned i = 1; i <= 9; i++) {
		assert_int_equal(ask(chain, "2464c4abcf10c957", "198.51.100.100", 1).refusal,
				i % 3 == 0 ? ANSWER_REFUSAL_BAD_COOKIE : ANSWER_REFUSAL_SILENT);
	}
	assert_int_equal(counter(chain, "dropped"), 6);
	assert_int_equal(counter(chain, "presence"), 9);
	module_chain_free(chain);
}

/* Random secrets: by period, and the same ones in a new instance. */
static void test_random(void **state)
{
	(void)state;
	module_chain_t *chain = test_gate_chain(conf_text, "mod-cookies", "random");
	got_t first = ask(chain, "2464c4abcf10c957", "198.51.100.100", 1099);
	got_t again = ask(chain, first.cookie, "198.51.100.100", 1101); /* another period */
	assert_int_equal(again.refusal, ANSWER_REFUSAL_NONE);
	assert_true(again.notes.is_source_known);
	got_t next = ask(chain, "2464c4abcf10c957", "198.51.100.100", 1101);
	assert_string_not_equal(next.cookie + 32, first.cookie + 32);
	module_chain_free(chain);
	chain = test_gate_chain(conf_text, "mod-cookies", "random");
	assert_true(ask(chain, next.cookie, "198.51.100.100", 1101).notes.is_source_known);
	/* The number of the period is a secret's, not of the cookie alone: another time doesn't fit the hash. */
	next.cookie[31] = next.cookie[31] == '0' ? '1' : '0';
	assert_false(ask(chain, next.cookie, "198.51.100.100", 1101).notes.is_source_known);
	module_chain_free(chain);
}

/* A client over a UNIX socket has no address that could be forged. */
static void test_unix_socket(void **state)
{
	(void)state;
	module_chain_t *chain = test_gate_chain(conf_text, "mod-cookies", "one");
	got_t got = ask(chain, "2464c4abcf10c957", "", 1);
	assert_int_equal(got.refusal, ANSWER_REFUSAL_NONE);
	assert_int_equal(got.notes.cookie_len, COOKIE_LEN);
	module_chain_free(chain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_slip),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_unix_socket),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
