/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What making the messages of an AXFR costs, without sending them: a TLD of 1,000,000 delegations, or the zone file
 * that is the first argument (its origin, with the final dot, is the second one), without TSIG and with each algorithm.
 * Prints milliseconds of CPU per transfer, the best of several.
 */
#include "src/answer/answer_test_zones.h"
#include "src/transfer/out.h"

#include <netinet/in.h>
#include <time.h>

enum { RUNS = 5, NAMES = 1000000, LINES_MAX = 400 };

static uint8_t origin_wire[KNOT_NAME_MAX];

/* Two name servers each, a fifth with DS, a seventh with servers below the delegation. */
static char *make_text(size_t *ret_len)
{
	size_t max = (size_t)NAMES * LINES_MAX, len = 0;
	char *text = malloc(max);
	test_zones_check(text != NULL, "memory");
	len += (size_t)snprintf(text, max, "@ 3600 SOA ns hostmaster 1 1800 900 604800 900\n@ 3600 NS ns.elsewhere.\n");
	for (size_t i = 0; i < NAMES; i++) {
		uint32_t number = (uint32_t)i * 2654435761u, hoster = (uint32_t)i * 40503u % 5000;
		bool has_glue = number % 7 == 0, has_ds = number % 5 == 0;
		for (unsigned ns = 1; ns <= 2; ns++) {
			if (has_glue) {
				len += (size_t)snprintf(text + len, max - len,
						"d%08x 3600 NS ns%u.d%08x\nns%u.d%08x 3600 A 192.0.2.%u\n", number, ns,
						number, ns, number, ns);
			} else {
				len += (size_t)snprintf(text + len, max - len, "d%08x 3600 NS ns%u.hoster%u.net.\n",
						number, ns, hoster);
			}
		}
		if (has_ds) {
			len += (size_t)snprintf(text + len, max - len,
					"d%08x 3600 DS %u 13 2 "
					"%08X0102030405060708090A0B0C0D0E0F101112131415161718191A1B1C\n",
					number, number & 0xFFFF, number);
		}
	}
	*ret_len = len;
	return text;
}

static zone_contents_t *load(int argc, char **argv)
{
	knot_name_t origin;
	test_zones_check(knot_name_scan(knot_str_of(argc > 2 ? argv[2] : "example."), knot_name_root, origin_wire,
					 &origin) == KNOT_OK,
			"origin");
	const zone_build_params_t params = {
		.origin = origin, .default_ttl = 3600, .on_message = test_zones_on_message
	};
	zone_contents_t *zone;
	if (argc > 1) {
		test_zones_check(zone_build_file(argv[1], &params, &zone) == KNOT_OK, argv[1]);
		return zone;
	}
	size_t len;
	char *text = make_text(&len);
	test_zones_check(zone_build_text((knot_str_t){ text, len }, "bench", &params, &zone) == KNOT_OK, "zone");
	free(text);
	return zone;
}

static double cpu_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static transfer_out_facts_t run(const zone_contents_t *zone, const knot_tsig_chain_t *chain)
{
	static const struct sockaddr_in remote = { .sin_family = AF_INET };
	static uint8_t room[KNOT_MSG_MAX];
	uint8_t reply[TRANSFER_OUT_TEMPLATE_MAX] = { 0, 1, 0x84, 0, 0, 1 };
	knot_name_t apex = zone_node_owner(zone->apex);
	memcpy(reply + KNOT_MSG_HEADER_LEN, apex.wire, apex.len);
	uint8_t *at = reply + KNOT_MSG_HEADER_LEN + apex.len;
	store_be16(at, KNOT_TYPE_AXFR);
	store_be16(at + 2, KNOT_CLASS_IN);
	transfer_out_t *out = transfer_out_new(&(transfer_out_ask_t){ .contents = zone,
			.reply = { reply, (size_t)(at + 4 - reply) },
			.chain = chain,
			.remote = (const struct sockaddr *)&remote });
	test_zones_check(out != NULL, "memory");
	while (transfer_out_state(out) == TRANSFER_OUT_READY) {
		(void)transfer_out_next(out, (knot_mut_bytes_t){ room, sizeof(room) }, 1700000000);
	}
	transfer_out_facts_t facts = transfer_out_facts(out);
	test_zones_check(facts.state == TRANSFER_OUT_DONE, "the transfer failed");
	transfer_out_free(out);
	return facts;
}

static void measure(const char *what, const zone_contents_t *zone, const knot_tsig_key_t *key)
{
	double best = 0;
	transfer_out_facts_t facts = { .message_count = 0 };
	for (unsigned i = 0; i < RUNS; i++) {
		knot_tsig_chain_t chain;
		if (key != NULL) {
			knot_tsig_chain_begin(&chain, key);
			chain.position = KNOT_TSIG_AT_FIRST; /* as if it had verified the request */
			chain.mac_len = (uint8_t)knot_tsig_mac_len(key->algorithm);
			memset(chain.mac, 1, chain.mac_len);
		}
		double begin = cpu_ms();
		facts = run(zone, key != NULL ? &chain : NULL);
		double took = cpu_ms() - begin;
		best = i == 0 || took < best ? took : best;
	}
	printf("%-24s %7.1f ms, %llu messages, %.1f MB\n", what, best, (unsigned long long)facts.message_count,
			(double)facts.byte_count / 1e6);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		knot_tsig_algorithm_t algorithm;
	} rows[] = { { "hmac-md5", KNOT_TSIG_HMAC_MD5 }, { "hmac-sha1", KNOT_TSIG_HMAC_SHA1 },
		{ "hmac-sha256", KNOT_TSIG_HMAC_SHA256 }, { "hmac-sha512", KNOT_TSIG_HMAC_SHA512 } };
	zone_contents_t *zone = load(argc, argv);
	printf("%llu records\n", (unsigned long long)zone->record_count);
	measure("no TSIG", zone, NULL);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		const knot_tsig_key_t key = { .name = { (const uint8_t *)"\3key", 5, 1 },
			.algorithm = rows[i].algorithm,
			.secret = { (const uint8_t *)"0123456789abcdef0123456789abcdef", 32 } };
		measure(rows[i].name, zone, &key);
	}
	zone_contents_free(zone);
	return 0;
}
