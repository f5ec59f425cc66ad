/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Changes of zones of delegations: what an edit costs, and what a commit costs, without the journal's disk and the
 * control socket. A row is a size of the zone and the records of a commit; commits add delegations, and the next ones
 * remove them.
 *
 * By itself it prints microseconds of CPU per record, the best of several runs; tests/bench/count_instructions runs it
 * under callgrind and prints instructions: only what measure_edit() and measure_commit() do is counted. An argument
 * is the number of the only row to run.
 */
#include "src/answer/answer_test_zones.h"
#include "src/update/edit.h"
#include "src/update/update.h"

#include <time.h>

enum {
	RUNS = 5,
	LINE_MAX_LEN = 128,
};

typedef struct {
	const char *what;
	size_t names;
	unsigned commits, records; /* commits, and records of each */
} row_t;

static const row_t rows[] = {
	{ "100 delegations, 1 record", 100, 200, 1 },
	{ "10,000 delegations, 1 record", 10000, 200, 1 },
	{ "10,000 delegations, 10,000 records", 10000, 2, 10000 },
	{ "100,000 delegations, 1 record", 100000, 200, 1 },
	{ "100,000 delegations, 10,000 records", 100000, 2, 10000 },
	{ "1,000,000 delegations, 1 record", 1000000, 200, 1 },
	{ "1,000,000 delegations, 10,000 records", 1000000, 2, 10000 },
};
enum { COUNTED = 5 }; /* rows whose instructions are counted: the larger zones take too long to make then */

static uint8_t origin_wire[KNOT_NAME_MAX];
static knot_name_t origin;

/* Delegations in no order of their names, two name servers each. */
static zone_contents_t *make_zone(size_t names)
{
	size_t max = (names + 2) * LINE_MAX_LEN, len = 0;
	char *text = malloc(max);
	test_zones_check(text != NULL, "memory");
	len += (size_t)snprintf(text, max, "@ 3600 SOA ns hostmaster 1 1800 900 604800 900\n@ 3600 NS ns.elsewhere.\n");
	for (size_t i = 0; i < names; i++) {
		uint32_t number = (uint32_t)i * 2654435761u, hoster = (uint32_t)i * 40503u % 5000;
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

/* ---- What is measured ---- */

__attribute__((noinline)) static void measure_edit(const edit_t *edit, const edit_words_t *words, bool is_added)
{
	edit_note_t note;
	knot_err_t err = is_added ? edit_set(edit, words, &note) : edit_unset(edit, words, &note);
	test_zones_check(err == KNOT_OK, "edit");
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
	double edit_us, commit_us; /* of all commits */
} cost_t;

/* Commit `number`: even ones add what the next removes. */
static cost_t change(const row_t *row, zone_contents_t **zone, unsigned number)
{
	update_t update;
	test_zones_check(update_begin(origin, UPDATE_CONTROL, *zone, &update) == KNOT_OK, "begin");
	const edit_t edit = { .txn = update.txn, .origin = origin, .default_ttl = 3600 };
	double begin = now_us();
	for (unsigned i = 0; i < row->records; i++) {
		char owner[32], data[32];
		unsigned each = number / 2 * row->records + i;
		snprintf(owner, sizeof(owner), "bench-%07u", each);
		snprintf(data, sizeof(data), "ns%u.hoster.test.", each % 50);
		const edit_words_t words = { .owner = owner, .ttl = "3600", .type = "NS", .data = data };
		measure_edit(&edit, &words, number % 2 == 0);
	}
	double middle = now_us();
	measure_commit(&update, zone);
	return (cost_t){ middle - begin, now_us() - middle };
}

__attribute__((noinline)) static void run_row(const row_t *row, unsigned runs)
{
	zone_contents_t *zone = make_zone(row->names);
	cost_t best = { 0 };
	for (unsigned run = 0; run < runs; run++) {
		cost_t sum = { 0 };
		for (unsigned i = 0; i < row->commits; i++) {
			cost_t cost = change(row, &zone, run * row->commits + i);
			sum = (cost_t){ sum.edit_us + cost.edit_us, sum.commit_us + cost.commit_us };
		}
		best.edit_us = run == 0 || sum.edit_us < best.edit_us ? sum.edit_us : best.edit_us;
		best.commit_us = run == 0 || sum.commit_us < best.commit_us ? sum.commit_us : best.commit_us;
	}
	double records = (double)row->commits * row->records;
	printf("change, %s: edit %.2f us, commit %.2f us per record\n", row->what, best.edit_us / records,
			best.commit_us / records);
	zone_contents_free(zone);
}

int main(int argc, char **argv)
{
	bool counts = argc > 1 && strcmp(argv[1], "count") == 0;
	if (argc > 1 && strcmp(argv[1], "rows") == 0) {
		for (size_t i = 0; i < 2 * COUNTED; i++) {
			const row_t *row = &rows[i / 2];
			const char *what = i % 2 == 0 ? "edit" : "commit";
			printf("%u\tmeasure_%s*\t%s, %s\n", row->commits * row->records, what, what, row->what);
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
