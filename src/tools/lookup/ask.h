/* SPDX-License-Identifier: BSD-2-Clause */
/** Internal: one question to one server, over one transport, until its replies are printed. */
#pragma once

#include "libknot/base/json.h"
#include "src/tools/lookup/question.h"

typedef enum {
	ASK_DONE,      /* a well-formed reply */
	ASK_FAILED,    /* nothing that helps: another attempt may */
	ASK_TRUNCATED, /* ask again over TCP */
	ASK_BADCOOKIE, /* ask again with the server's cookie */
	ASK_STALE,     /* the connection that was kept is closed: ask again over a new one */
} ask_result_t;

typedef struct {
	lookup_t *lookup;
	const lookup_query_t *query;
	exchange_t *exchange; /* borrowed */
	bool is_kept;         /* the exchange is open: of an earlier query, and nothing has come on it for this one */
	bool is_stale;        /* it was closed in the meantime */
	exchange_kind_t kind;
	const exchange_params_t *params; /* of the exchange */
	lookup_question_t *question;
	knot_tsig_chain_t *chain; /* NULL: unsigned */
	uint64_t sent_ns;         /* monotonic */
	struct timespec sent_at;
	uint8_t cookie[LOOKUP_COOKIE_CLIENT_LEN + LOOKUP_COOKIE_SERVER_MAX]; /* of ASK_BADCOOKIE */
	uint8_t cookie_len;
	bool is_bogus;       /* +validate found the reply wrong */
	bool has_query_json; /* the JSON of the query is open */
	knot_json_t json;
} ask_t;

/** Print a message's foot: it came (was sent) now. */
void ask_put_foot(ask_t *ask, size_t len, bool is_query, bool is_transfer, size_t messages, size_t records);

/**
 * Take the next message with the question's ID, within the time limit. False: there is none, which is said.
 * stops_at_id: another ID ends it (a transfer), instead of being passed by.
 */
bool ask_receive(ask_t *ask, bool stops_at_id, knot_bytes_t *ret_message);

/** Say what a first reply gets wrong without being malformed: QR, question. */
void ask_check_reply(ask_t *ask, const present_message_t *reply);

/** Say that a message is malformed, and show it; of JSON the caller does. */
void ask_fail_malformed(ask_t *ask, const present_message_t *message);

/** Read a message; one that can't be read is said and shown as above. */
bool ask_read(ask_t *ask, knot_bytes_t wire, present_message_t *ret_message);

/** lookup_warn(), lookup_error() */
typedef void (*ask_say_cb)(lookup_t *lookup, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Verify a reply's TSIG. False: something is wrong, and `say` has said what. */
bool ask_verify(ask_t *ask, knot_bytes_t wire, const present_message_t *reply, ask_say_cb say);

/** Put a message as the member `name`, or (NULL) as an element or document. */
void ask_put_json(ask_t *ask, const present_message_t *message, const char *name, knot_json_t *json);

/** The same of a query that isn't asked, at a time. */
void ask_put_json_at(const lookup_query_t *query, const present_message_t *message, time_t when_s, const char *name,
		knot_json_t *json);

/** The replies of a transfer, transfer.c. */
ask_result_t ask_transfer(ask_t *ask);

/** A JSON writer to what is printed. */
knot_json_t ask_json(lookup_t *lookup);
