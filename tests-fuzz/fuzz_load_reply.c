/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Replies of any shape to the load generator's queries: each has one verdict, counters add up, and an answer is right
 * only if it is whole.
 *
 * Input: one byte that chooses the query (low bits) and what is done (0x40: the reply gets the query's id and question
 * in front, so that it is matched; 0x80: it is a message of a transfer), then the reply from its header on.
 */
#include "src/tools/load/judge.h"
#include "src/tools/load/worker.h"

#include <stdlib.h>
#include <string.h>

enum { QUERIES = 8, MATCHED = 0x40, TRANSFER = 0x80, WINDOW = 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char zone_text[] =
		"$ORIGIN example.\n$TTL 100\n@ SOA ns host 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\nns AAAA ::1\n"
		"mx MX 1 ns\nalias CNAME ns\n*.w TXT w\ncut NS ns.cut\nns.cut A 192.0.2.2\nd DNAME ns\n";
static const char *const lines[QUERIES] = { "ns.example A", "mx.example MX E", "alias.example A D", "x.w.example TXT",
	"x.cut.example A", "x.d.example A", "nx.example A D", "other A" };

static queries_t queries;
static model_t *model;
static schedule_piece_t piece = { 0, UINT64_MAX / 2, 1e6 };
static worker_plan_t plan;
static worker_t worker;
static uint64_t given;

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static void set_up(void)
{
	char why[QUERIES_ERROR_MAX], error[MODEL_ERROR_MAX];
	const queries_params_t params = { .edns_size = 1232 };
	for (size_t i = 0; i < QUERIES; i++) {
		check(queries_add_line(&queries, knot_str_of(lines[i]), &params, why));
	}
	check(model_load_text(
			knot_str_of(zone_text), (knot_name_t){ (const uint8_t *)"\7example", 9, 1 }, &model, error));
	plan = (worker_plan_t){ .message = { .queries = &queries },
		.schedule = { .pieces = &piece, .piece_count = 1, .end_ns = piece.end_ns, .batch = 1, .threads = 1 },
		.timeout_ns = 1000000,
		.step_count = 1,
		.addresses = 1 };
	pick_in_turn(&plan.message.pick, QUERIES);
	check(worker_init(&worker, &plan, &(worker_params_t){ .window = WINDOW, .ports = 3, .first = 1 }));
	worker.judge = judge_new(model, &queries, false, 0, 1);
	check(worker.judge != NULL);
}

/* The reply with id, QR and question of the query. Returns its length. */
static size_t as_reply(const uint8_t *query, const uint8_t *data, size_t size, uint8_t *ret_reply)
{
	size_t question_len = queries_question_len(query, MESSAGE_MAX), head = size < 12 ? size : 12;
	memset(ret_reply, 0, 12);
	memcpy(ret_reply, data, head);
	memcpy(ret_reply, query, 2);
	ret_reply[2] |= 0x80;
	store_be16(ret_reply + 4, 1);
	memcpy(ret_reply + 12, query + 12, question_len);
	memcpy(ret_reply + 12 + question_len, data + head, size - head);
	return 12 + question_len + size - head;
}

static void receive(const uint8_t *data, size_t size, bool is_matched, unsigned chosen)
{
	uint8_t query[MESSAGE_MAX] = { 0 };
	worker_query_t sent;
	do { /* up to the chosen one of the list */
		worker_next(&worker, 0, false, query, &sent);
	} while ((sent.number - 1) % QUERIES != chosen);
	uint8_t *reply = malloc(size + 12 + 260); /* of exact size below, so that a byte too far is seen */
	size_t len = is_matched ? as_reply(query, data, size, reply) : (memcpy(reply, data, size), size);
	uint8_t *exact = malloc(len > 0 ? len : 1);
	memcpy(exact, reply, len);
	free(reply);
	const worker_counts_t before = worker.counts;
	flight_verdict_t verdict = worker_receive(&worker, &worker,
			&(worker_reply_t){ .port = sent.port, .now_ns = 1, .message = { exact, len } });
	const worker_counts_t *c = &worker.counts;
	free(exact);
	given++;
	check(c->replies == given && c->matched + c->duplicate + c->late + c->unexpected + c->malformed == given);
	check(!is_matched || verdict == FLIGHT_MATCHED);
	if (verdict == FLIGHT_MATCHED) {
		check(c->verified + c->unverified == before.verified + before.unverified + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (model == NULL) {
		set_up();
	}
	if (size < 1 || size > KNOT_MSG_MAX - 300) {
		return 0;
	}
	if ((data[0] & TRANSFER) != 0) {
		worker_transfer_t transfer = { 0 };
		(void)worker_receive_transfer(&worker, &transfer, (knot_bytes_t){ data + 1, size - 1 });
		return 0;
	}
	receive(data + 1, size - 1, (data[0] & MATCHED) != 0, data[0] % QUERIES);
	return 0;
}
