/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A question to another server: what is asked, whom, and what is called with the answer.
 *
 * The one who asks owns the request, fills in the first part, and keeps it in place until on_end() was called, which is
 * exactly once. Answers may be several messages (transfers); each has been verified if there is a key. Writing a
 * question is pure. RFC 1034 4.3.5, RFC 1995 3, RFC 1996 3.7, RFC 7314 4.
 */
#pragma once

#include "libknot/msg/sign.h"
#include "src/conf/rules.h"

/** What is asked. Borrowed views. */
typedef struct {
	knot_opcode_t opcode; /* QUERY, NOTIFY or UPDATE */
	uint16_t type;        /* of the question */
	knot_name_t zone;
	uint32_t soa_ttl;
	knot_bytes_t soa;  /* RDATA: of IXFR ours (in the authority section), of NOTIFY the new one; none: len 0 */
	bool is_recursive; /* RD */
	bool has_edns;
	bool wants_signatures; /* with EDNS: DO */
	bool has_expire;       /* with EDNS: ask when the zone expires */
	knot_name_t reports; /* with EDNS: the agent domain to which errors are reported (RFC 9567 5.1); len 0: none */
	/* UPDATE: the whole message, which is sent with another ID; without TSIG, unless it is foreign: then it is sent
	   as it is, and neither signed nor verified here. */
	knot_bytes_t message;
	bool is_foreign;
} remote_query_t;

enum {
	REMOTE_QUERY_MAX =
			1280, /* bytes of a question: two names of a zone, an agent domain, a SOA and a TSIG are less */
	REMOTE_PAYLOAD = 1232, /* what the OPT says; no question goes over UDP */
};

/** What becomes of an answer after one of its messages. */
typedef enum {
	REMOTE_MORE, /* more messages of it come */
	REMOTE_DONE, /* it is whole */
	REMOTE_DROP, /* it is of no use; what follows isn't read */
} remote_verdict_t;

typedef struct remote_request remote_request_t;
struct remote_request {
	/* Of the one who asks. */
	remote_query_t query;
	const conf_remote_t *remote; /* borrowed, with its key */
	unsigned address;            /* which of its addresses */
	bool keeps_connection;       /* ask on the connection of the request's last answer, if it is still open */
	bool is_stream;              /* a transfer: on a connection of its own, if it doesn't keep one */
	bool is_urgent;              /* before others */
	/* A message of the answer, borrowed; with the thread of src/remote. */
	remote_verdict_t (*on_message)(remote_request_t *request, knot_bytes_t message);
	/* The end: KNOT_OK if on_message() said DONE or DROP. The request may be used again from then on. As above. */
	void (*on_end)(remote_request_t *request, knot_err_t err);

	/* Facts, good while a callback runs. */
	uint16_t id;      /* of the question */
	bool is_answered; /* something has come */
	bool is_pooled;   /* the connection had been used before */

	/* Internal. */
	remote_request_t *next;
	uint64_t since_ms; /* sent, or its last message came */
	uint32_t took_ms;  /* from sending to the first message */
	uint64_t link;     /* number of the connection */
	uint8_t try_count;
	bool is_counted;
	knot_tsig_chain_t chain;
};

/** The key that signs what is sent to a remote, or NULL. */
const knot_tsig_key_t *remote_key(const conf_remote_t *remote);

enum { REMOTE_PEER_TEXT_MAX = 512 };

/** "remote 192.0.2.1@53 TCP, key name., ", as log lines have it. transport: " TCP", or ""; a UNIX socket has none. */
void remote_print_peer(const conf_remote_t *remote, unsigned address, const char *transport,
		char ret_text[static REMOTE_PEER_TEXT_MAX]);

/** The key that a request is signed with, and its answer verified; NULL: none. */
const knot_tsig_key_t *remote_request_key(const remote_request_t *request);

/** Where messages to the n-th address come from: the last `via` of its family among the first n; NULL: any. */
const conf_addr_t *remote_via(const conf_remote_t *remote, unsigned address);

/** Bytes that are enough for remote_query_write(). */
size_t remote_query_max(const remote_query_t *query);

/**
 * Write a question; with a key it is signed, and chain begun. now_s: UNIX time. Errors of knot_tsig_sign();
 * KNOT_ESPACE: no room.
 */
KNOT_MUST_USE knot_err_t remote_query_write(const remote_query_t *query, uint16_t id, const knot_tsig_key_t *key,
		uint64_t now_s, knot_mut_bytes_t room, knot_tsig_chain_t *chain, size_t *ret_len);
