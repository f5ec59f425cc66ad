/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Dynamic updates of a zone of delegations: what the engine makes of a message, and what the commit of a batch costs,
 * without the journal's disk, transports and signatures.
 *
 * By itself it prints microseconds of CPU per message, the best of several runs; tests/bench/count_instructions runs it
 * under callgrind and prints instructions: only what measure_message() and measure_commit() do is counted. An argument
 * is the number of the only row to run.
 */
#include "src/answer/answer_test_zones.h"
#include "src/update/ddns.h"

#include "libknot/msg/query.h"

#include <time.h>

enum { RUNS = 5, LINE_MAX_LEN = 128, MESSAGE_MAX = 512 };

typedef enum { ADD, ADD_IF_ABSENT, REPLACE } kind_t;

typedef struct {
	const char *what;
	size_t names;
	kind_t kind;
	unsigned batches, messages; /* commits, and messages of each */
} row_t;

static const row_t rows[] = {
	{ "10,000 delegations, add a record, 1 in a batch", 10000, ADD, 200, 1 },
	{ "100,000 delegations, add a record, 1 in a batch", 100000, ADD, 200, 1 },
	{ "100,000 delegations, add a record, 64 in a batch", 100000, ADD, 20, 64 },
	{ "100,000 delegations, add if the name is absent, 1,000 in a batch", 100000, ADD_IF_ABSENT, 4, 1000 },
	{ "100,000 delegations, replace a RRset, 1,000 in a batch", 100000, REPLACE, 4, 1000 },
	{ "1,000,000 delegations, add a record, 1 in a batch", 1000000, ADD, 200, 1 },
	{ "1,000,000 delegations, add a record, 64 in a batch", 1000000, ADD, 20, 64 },
	{ "1,000,000 delegations, add if the name is absent, 1,000 in a batch", 1000000, ADD_IF_ABSENT, 4, 1000 },
	{ "1,000,000 delegations, replace a RRset, 1,000 in a batch", 1000000, REPLACE, 4, 1000 },
};
enum { COUNTED = 5 }; /* rows whose instructions are counted: the larger zones take too long to make then */

static uint8_t origin_wire[KNOT_NAME_MAX];
static knot_name_t origin;

static uint32_t number_of(size_t i)
{
	return (uint32_t)i * 2654435761u; /* in no order of the names */
}

/* Delegations in no order of their names, two name servers each. */
static zone_contents_t *make_zone(size_t names)
{
	size_t max = (names + 2) * LINE_MAX_LEN, len = 0;
	char *text = malloc(max);
	test_zones_check(text != NULL, "memory");
	len += (size_t)snprintf(text, max, "@ 3600 SOA ns hostmaster 1 1800 900 604800 900\n@ 3600 NS ns.elsewhere.\n");
	for (size_t i = 0; i < names; i++) {
		uint32_t number = number_of(i), hoster = (uint32_t)i * 40503u % 5000;
		len += (size_t)snprintf(text + len, max - len,
				"d%08x 3600 NS ns1.hoster%u.net.\nd%08x 3600 NS ns2.hoster%u.net.\n", number, hoster,
				number, hoster);
	}
	const zone_build_params_t params = { .origin = origin, .on_message = test_zones_on_message };
	zone_contents_t *zone;
	test_zones_check(zone_build_text((knot_str_t){ text, len }, "bench", &params, &zone) == KNOT_OK, "zone");
	free(text);
	return zone;
}

/* ---- Messages ---- */

typedef struct {
	uint8_t bytes[MESSAGE_MAX];
	size_t len;
} message_t;

static void put(message_t *message, const void *bytes, size_t len)
{
	test_zones_check(message->len + len <= sizeof(message->bytes), "room");
	memcpy(message->bytes + message->len, bytes, len);
	message->len += len;
}

/* A record of a name below the apex, which a pointer names; text: the first label. */
static void put_record(message_t *message, const char *text, uint16_t type, uint16_t class, uint32_t ttl,
		const void *rdata, uint16_t len)
{
	uint8_t label_len = (uint8_t)strlen(text), rest[12] = { 0xC0, KNOT_MSG_QNAME_OFF };
	put(message, &label_len, 1);
	put(message, text, label_len);
	store_be16(rest + 2, type);
	store_be16(rest + 4, class);
	store_be32(rest + 6, ttl);
	store_be16(rest + 10, len);
	put(message, rest, sizeof(rest));
	put(message, rdata, len);
	message->bytes[class == KNOT_CLASS_NONE ? 7
						: 9]++; /* prerequisites, updates: NONE is among the former only here */
}

static void make_message(message_t *message, kind_t kind, unsigned number)
{
	static const uint8_t head[KNOT_MSG_HEADER_LEN] = { 0, 1, 0x28, 0, 0, 1 }, question[4] = { 0, 6, 0, 1 };
	static const uint8_t ns[] = "\2ns\6hoster\4test";
	char label[32];
	message->len = 0;
	put(message, head, sizeof(head));
	put(message, origin.wire, origin.len);
	put(message, question, sizeof(question));
	snprintf(label, sizeof(label), kind == REPLACE ? "d%08x" : "bench-%07u",
			kind == REPLACE ? number_of(number) : number);
	if (kind == ADD_IF_ABSENT) {
		put_record(message, label, KNOT_TYPE_ANY, KNOT_CLASS_NONE, 0, NULL, 0);
	} else if (kind == REPLACE) {
		put_record(message, label, KNOT_TYPE_NS, KNOT_CLASS_ANY, 0, NULL, 0);
	}
	put_record(message, label, KNOT_TYPE_NS, KNOT_CLASS_IN, 3600, ns, sizeof(ns));
}

/* ---- What is measured ---- */

__attribute__((noinline)) static void measure_message(ddns_t *ddns, knot_bytes_t message)
{
	test_zones_check(ddns_apply(ddns, message).rcode == KNOT_RCODE_NOERROR, "message");
}

static knot_err_t on_store(const update_record_t *record, char *reason, void *ctx)
{
	(void)reason, (void)ctx;
	return record->payload.len > 0 ? KNOT_OK : KNOT_EINVAL;
}

static void on_publish(zone_contents_t *take_contents, void *ctx)
{
	zone_contents_t **current = ctx;
	zone_contents_free(*current);
	*current = take_contents;
}

__attribute__((noinline)) static void measure_commit(update_t *update, zone_contents_t **zone)
{
	const update_policy_t policy = { .build = { .origin = origin, .checks = ZONE_CHECKS_SOFT },
		.stores = UPDATE_STORES_CHANGES };
	const update_env_t env = { .store = on_store, .publish = on_publish, .ctx = zone };
	update_effects_t effects;
	test_zones_check(update_commit(update, *zone, &policy, &env, &effects) == KNOT_OK && effects.is_published,
			"commit");
	update_end(update);
}

/* ---- Rows ---- */

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

typedef struct {
	double message_us, commit_us; /* of all batches */
} cost_t;

static cost_t run_batch(const row_t *row, zone_contents_t **zone, unsigned number)
{
	update_t update;
	ddns_t *ddns;
	message_t *messages = malloc(row->messages * sizeof(*messages));
	test_zones_check(messages != NULL, "memory");
	for (unsigned i = 0; i < row->messages; i++) {
		make_message(&messages[i], row->kind, number * row->messages + i);
	}
	test_zones_check(update_begin(origin, UPDATE_DDNS, *zone, &update) == KNOT_OK, "begin");
	test_zones_check(ddns_begin(&update, NULL, NULL, &ddns) == KNOT_OK, "begin");
	double begin = now_us();
	for (unsigned i = 0; i < row->messages; i++) {
		measure_message(ddns, (knot_bytes_t){ messages[i].bytes, messages[i].len });
	}
	double middle = now_us();
	ddns_end(ddns);
	measure_commit(&update, zone);
	cost_t cost = { middle - begin, now_us() - middle };
	free(messages);
	return cost;
}

__attribute__((noinline)) static void run_row(const row_t *row, unsigned runs)
{
	zone_contents_t *zone = make_zone(row->names);
	cost_t best = { 0 };
	for (unsigned run = 0; run < runs; run++) {
		cost_t sum = { 0 };
		for (unsigned i = 0; i < row->batches; i++) {
			cost_t cost = run_batch(row, &zone, run * row->batches + i);
			sum = (cost_t){ sum.message_us + cost.message_us, sum.commit_us + cost.commit_us };
		}
		best.message_us = run == 0 || sum.message_us < best.message_us ? sum.message_us : best.message_us;
		best.commit_us = run == 0 || sum.commit_us < best.commit_us ? sum.commit_us : best.commit_us;
	}
	double messages = (double)row->batches * row->messages;
	printf("update, %s: message %.2f us, commit %.2f us per message\n", row->what, best.message_us / messages,
			best.commit_us / messages);
	zone_contents_free(zone);
}

int main(int argc, char **argv)
{
	bool counts = argc > 1 && strcmp(argv[1], "count") == 0;
	if (argc > 1 && strcmp(argv[1], "rows") == 0) {
		for (size_t i = 0; i < 2 * COUNTED; i++) {
			const row_t *row = &rows[i / 2];
			const char *what = i % 2 == 0 ? "message" : "commit";
			printf("%u\tmeasure_%s*\t%s, %s\n", row->batches * row->messages, what, what, row->what);
		}
		return 0;
	}
	test_zones_check(knot_name_scan(KNOT_STR("bench.test."), knot_name_root, origin_wire, &origin) == KNOT_OK,
			"name");
	size_t first = argc > 1 && !counts ? strtoul(argv[1], NULL, 10) : 0;
	size_t end = counts ? COUNTED : argc > 1 ? first + 1 : KNOT_LEN(rows);
	for (size_t i = first; i < end && i < KNOT_LEN(rows); i++) {
		run_row(&rows[i], counts ? 1 : RUNS);
	}
	return 0;
}
