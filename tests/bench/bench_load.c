/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The core of the load generator without any network: nanoseconds to make a query and match its reply, with and without
 * verification, of a list of 100,000 names. And one wrong answer among ten million, which must be found.
 */
#include "src/tools/load/judge.h"
#include "src/tools/load/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NAMES = 100000, WINDOW = 1 << 16, PORTS = 60000, RUN = 2000000, MANY = 10000000, WRONG_AT = 7654321 };

static queries_t queries;
static model_t *model;
static schedule_piece_t piece = { 0, UINT64_MAX / 2, 1e9 };
static worker_plan_t plan;

static double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* whatever else runs on the machine */
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool set_up(void)
{
	char why[QUERIES_ERROR_MAX], line[64], *text = NULL;
	size_t len = 0;
	FILE *zone = open_memstream(&text, &len);
	if (zone == NULL) {
		return false;
	}
	fputs("$ORIGIN example.\n$TTL 60\n@ SOA ns host 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n", zone);
	const queries_params_t params = { .edns_size = 1232 };
	for (unsigned i = 0; i < NAMES; i++) {
		fprintf(zone, "h%u A 192.0.2.7\n", i);
		snprintf(line, sizeof(line), "h%u.example A", i);
		if (!queries_add_line(&queries, knot_str_of(line), &params, why)) {
			return false;
		}
	}
	fclose(zone);
	char error[MODEL_ERROR_MAX];
	bool is_good = model_load_text(
			knot_str_of(text), (knot_name_t){ (const uint8_t *)"\7example", 9, 1 }, &model, error);
	free(text);
	plan = (worker_plan_t){ .message = { .queries = &queries },
		.schedule = { .pieces = &piece, .piece_count = 1, .end_ns = piece.end_ns, .batch = 1, .threads = 1 },
		.timeout_ns = 1000000000,
		.step_count = 1,
		.addresses = 1 };
	pick_in_turn(&plan.message.pick, queries.count);
	return is_good;
}

/* A query, and a reply with an address that is right but for one of all. */
static void exchange(worker_t *w, uint64_t number, uint64_t wrong_at)
{
	static const uint8_t record[] = { 0xC0, 0x0C, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7 };
	uint8_t message[MESSAGE_MAX + sizeof(record)];
	worker_query_t query;
	worker_next(w, worker_due(w), false, message, &query);
	store_be16(message + 2, 0x8500);
	store_be16(message + 6, 1);
	memcpy(message + query.len, record, sizeof(record));
	message[query.len + sizeof(record) - 1] ^= number == wrong_at;
	const worker_reply_t reply = {
		.port = query.port, .now_ns = number, .message = { message, query.len + sizeof(record) }
	};
	(void)worker_receive(w, w, &reply);
}

static double run_ns(worker_t *w, uint64_t count, uint64_t wrong_at)
{
	double begin = now_s();
	for (uint64_t i = 0; i < count; i++) {
		exchange(w, i, wrong_at);
	}
	return (now_s() - begin) * 1e9 / (double)count;
}

int main(void)
{
	worker_t w;
	if (!set_up() || !worker_init(&w, &plan, &(worker_params_t){ .window = WINDOW, .ports = PORTS, .first = 1 })) {
		return 1;
	}
	(void)run_ns(&w, RUN, UINT64_MAX);
	printf("load generator, query made and reply matched: %.1f ns\n", run_ns(&w, RUN, UINT64_MAX));
	w.judge = judge_new(model, &queries, false, 0, 10);
	if (w.judge == NULL) {
		return 1;
	}
	(void)run_ns(&w, RUN, UINT64_MAX);
	const worker_counts_t before = w.counts;
	double ns = run_ns(&w, MANY, WRONG_AT);
	printf("load generator, the same with --verify: %.1f ns\n", ns);
	printf("load generator, %llu answers verified, %llu wrong, the first:\n",
			(unsigned long long)(w.counts.verified - before.verified), (unsigned long long)w.counts.wrong);
	if (judge_wrong_count(w.judge) > 0) {
		judge_wrong_t wrong = judge_wrong(w.judge, 0);
		printf("%s: %s\nexpected:\n%scame:\n%s", wrong.question, wrong.fault, wrong.expected, wrong.came);
	}
	bool is_right = w.counts.wrong == 1 && w.counts.matched == w.counts.sent;
	judge_free(w.judge);
	worker_done(&w);
	queries_free(&queries);
	model_free(model);
	return is_right ? 0 : 1;
}
