/* SPDX-License-Identifier: BSD-2-Clause */
/** The message that a query sends. Pure but for random numbers. */
#pragma once

#include "src/tools/lookup/lookup.h"

typedef struct {
	knot_bytes_t wire; /* in `room` */
	uint16_t id;
	knot_name_t name;                         /* in `name_wire`; len 0: there is no question */
	uint8_t cookie[LOOKUP_COOKIE_CLIENT_LEN]; /* the client's part that was sent */
	uint8_t name_wire[KNOT_NAME_MAX];
	uint8_t room[KNOT_MSG_MAX];
} lookup_question_t;

/**
 * Make the message. server_cookie: what a BADCOOKIE reply gave, as a whole option; len 0: nothing. chain: begun with
 * the query's key, if there is one; it signs. False: *ret_reason says why it can't be made; static, NULL: nothing to
 * say. Must not be copied.
 */
bool lookup_question_make(const lookup_query_t *query, bool is_encrypted, knot_bytes_t server_cookie,
		knot_tsig_chain_t *chain, uint64_t now_s, lookup_question_t *ret_question);

/** Random bytes, for IDs and cookies, which nobody may guess who can't read them. Without a source of them it aborts.
 */
void lookup_draw(void *ret_bytes, size_t len);

/** The question's name of a query. False: it isn't one. */
bool lookup_question_name(const lookup_query_t *query, uint8_t ret_wire[static KNOT_NAME_MAX], knot_name_t *ret_name);
