/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The transactions that are open as far as a prompt knows from the replies to its own commands: what its prompt shows,
 * and what it warns of at the end.
 *
 * No request is made for it, so a transaction that another client begins is known with the first command that works in
 * it, and the end of one with the first command that is refused. Pure, but for memory, whose lack ends the tool.
 */
#pragma once

#include "src/tools/ctl/action.h"

#include <stdio.h>

typedef struct {
	char *zone;   /* owned, in lower case with a final dot; "--": of all zones; NULL: of the configuration */
	bool is_ours; /* begun at this prompt */
} transaction_t;

/** All zero at first; free with transactions_free(). */
typedef struct {
	transaction_t *list; /* owned */
	size_t count;
} transactions_t;

void transactions_free(transactions_t *transactions);

/** A command whose reply is being read. */
typedef struct {
	transactions_t *transactions; /* borrowed; NULL: the command has nothing to do with transactions */
	txn_effect_t effect;
	char **zones; /* owned: of each unit of the request, as in transaction_t */
	bool *failed; /* owned: for each of them */
	size_t count;
} transactions_reply_t;

/** Begin with a request. transactions: NULL if nothing is to be kept. */
void transactions_reply_begin(transactions_reply_t *ret_reply, transactions_t *transactions, const action_t *action,
		const request_t *request);

/** A unit of the reply: looks for errors. */
void transactions_reply_unit(transactions_reply_t *reply, const knot_ctl_data_t *unit);

/** The end of the reply. is_whole: it came to its end; else nothing is known of what the command did. */
void transactions_reply_end(transactions_reply_t *reply, bool is_whole);

enum { TRANSACTIONS_TEXT_MAX = 64 };

/** In short, for a prompt: "conf", "example.com.", "3 zones"; "" if none is open. */
void transactions_print(const transactions_t *transactions, char ret_text[static TRANSACTIONS_TEXT_MAX]);

/** Print a warning for each that was begun here, with the commands that end it. False: there is none. */
bool transactions_warn(const transactions_t *transactions, FILE *out);
