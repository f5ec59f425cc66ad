/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Is an answer what the zone says? A model of authoritative answers that shares nothing with the server: its own store
 * of the records (model.c), its own way from a question to sections (expect.c), its own comparison (judge.c).
 *
 * For each question the model makes what must be in the answer; digests of that, one per section and independent of
 * order, are compared with those of the reply. Where they differ, record by record decides: see doc/adr/0068.
 *
 * Threads: a model is read-only once loaded. A judge is its thread's.
 */
#pragma once

#include "src/tools/load/queries.h"

#include <stdio.h>

enum { MODEL_ERROR_MAX = 512 };

typedef struct model model_t;
typedef struct judge judge_t;

/** Load zone files; each one's origin is the owner of its SOA, which must come first. */
bool model_load(const char *const *paths, size_t count, model_t **ret_model, char ret_error[static MODEL_ERROR_MAX]);

/** A zone from text, for tests. origin: lower case. */
bool model_load_text(knot_str_t text, knot_name_t origin, model_t **ret_model, char ret_error[static MODEL_ERROR_MAX]);
void model_free(model_t *model);

typedef enum {
	JUDGE_RIGHT,
	JUDGE_WRONG,
	JUDGE_UNKNOWN, /* the model doesn't know what is right: another opcode or class, a meta type */
} judge_verdict_t;

/**
 * queries: the list that replies are to; for the DO bit, and to remember what is expected. own_questions: questions
 * aren't those of the list (random labels), nothing is remembered. show: wrong answers kept for judge_show(). NULL: no
 * memory.
 */
judge_t *judge_new(const model_t *model, const queries_t *queries, bool own_questions, unsigned thread, unsigned show);
void judge_free(judge_t *judge);

/** Judge a reply to query `query` of the list; its question has been matched. */
judge_verdict_t judge_reply(judge_t *judge, uint32_t query, knot_bytes_t reply);

/** A wrong answer that was kept. Text is owned by the judge. */
typedef struct {
	uint64_t number;      /* of this judge's wrong ones, from 1 */
	const char *question; /* "name type" */
	const char *fault;    /* what is wrong, one line */
	const char *expected; /* lines */
	const char *came;     /* lines */
} judge_wrong_t;

/** How many were kept, and each. After the thread has ended. */
size_t judge_wrong_count(const judge_t *judge);
judge_wrong_t judge_wrong(const judge_t *judge, size_t index);
