/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Messages as they are sent: (plan, number) → bytes. What a message of the list doesn't have yet: its id, a random
 * label, the record of an update, a cookie, a TSIG.
 */
#pragma once

#include "src/tools/load/pick.h"
#include "src/tools/load/queries.h"

enum {
	MESSAGE_MAX = 1460, /* room for a message that is built */
	MESSAGE_PREFIX_MAX = 48,
	MESSAGE_COOKIE_CLIENT_LEN = 8, /* RFC 7873 4 */
	MESSAGE_COOKIE_SERVER_MAX = 32,
};

/** The same for all threads; read-only while they run. */
typedef struct {
	const queries_t *queries;
	pick_t pick;
	uint64_t seed;
	profile_t profile;
	const char *prefix; /* of a random label in front of each name, NUL-terminated; NULL: names as they are */
	bool cookies;
	const knot_tsig_key_t *tsig; /* NULL: unsigned */
} message_plan_t;

/** What a client address knows of the server (RFC 7873). */
typedef struct {
	uint8_t server_len; /* 0: nothing yet */
	uint8_t server[MESSAGE_COOKIE_SERVER_MAX];
} message_cookie_t;

/** What differs from message to message. */
typedef struct {
	uint64_t number; /* of all threads' messages together */
	uint16_t id;
	uint32_t address;               /* which of the local addresses sends it */
	const message_cookie_t *cookie; /* with plan->cookies */
	knot_tsig_chain_t *chain;       /* with plan->tsig: begun here */
	uint64_t now_s;                 /* 〃 UNIX time */
} message_params_t;

typedef struct {
	size_t len;
	uint32_t query;    /* index in the list */
	uint32_t question; /* hash of the question */
} message_t;

/** Write it to bytes[0..MESSAGE_MAX). */
void message_build(const message_plan_t *plan, const message_params_t *params, uint8_t bytes[static MESSAGE_MAX],
		message_t *ret_message);

/** The client's part of the cookie of an address. */
uint64_t message_client_cookie(const message_plan_t *plan, uint32_t address);

/** Take the server's cookie out of a reply. False: there is none, or the client's part isn't ours. */
bool message_learn_cookie(
		const message_plan_t *plan, uint32_t address, knot_bytes_t reply, message_cookie_t *io_cookie);

/** The whole rcode of a reply, with what the OPT has of it (RFC 6891 6.1.3). reply: at least a header. */
uint16_t message_rcode(knot_bytes_t reply);

/** Hash of a question section, as in query_t. */
static inline uint32_t message_question_hash(const uint8_t *question, size_t len)
{
	return (uint32_t)hash_bytes(0, question, len);
}
