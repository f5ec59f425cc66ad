/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Signed messages (TSIG, RFC 8945): keys, MACs, and chains of messages, in which each MAC covers the one before.
 *
 * A chain is one exchange: a request and what answers it, one message or the many of a transfer. Both sides step
 * through it with the same two functions, which know by the chain's position what a MAC covers:
 *
 *     client: chain_begin, sign (request), verify … verify (answers), is_complete
 *     server: chain_begin, verify (request), sign … sign (answers)
 *
 * As Knot does: MACs have their full length, received ones too (anything shorter is a wrong one, RFC 8945 5.2.2.1);
 * the fudge that is sent is 300 seconds; a received fudge of 0, or a time of 0, is out of the window.
 * Time is an argument. Nothing here allocates but GnuTLS for a message above KNOT_TSIG_AT_ONCE_MAX bytes or one that
 * comes unsigned within a stream. Any thread; a chain is its owner's.
 */
#pragma once

#include "libknot/msg/tsig.h"

typedef enum {
	KNOT_TSIG_HMAC_MD5,
	KNOT_TSIG_HMAC_SHA1,
	KNOT_TSIG_HMAC_SHA224,
	KNOT_TSIG_HMAC_SHA256,
	KNOT_TSIG_HMAC_SHA384,
	KNOT_TSIG_HMAC_SHA512,
	KNOT_TSIG_ALGORITHM_END,
} knot_tsig_algorithm_t;

enum {
	KNOT_TSIG_MAC_MAX = 64,
	KNOT_TSIG_FUDGE_S = 300,
	KNOT_TSIG_TIME_LEN = 6,       /* other data of BADTIME: the server's time */
	KNOT_TSIG_UNSIGNED_MAX = 99,  /* messages in a row within a stream, RFC 8945 5.3.1 */
	KNOT_TSIG_AT_ONCE_MAX = 2048, /* bytes that a MAC covers and that are gathered on the stack for it */
};

/** Borrowed views. */
typedef struct {
	knot_name_t name; /* lower case */
	knot_tsig_algorithm_t algorithm;
	knot_bytes_t secret;
} knot_tsig_key_t;

/** The algorithm's name in messages, lower case: hmac-sha256, and hmac-md5.sig-alg.reg.int. Static. */
knot_name_t knot_tsig_algorithm_name(knot_tsig_algorithm_t algorithm);

/** Bytes of its MACs. */
size_t knot_tsig_mac_len(knot_tsig_algorithm_t algorithm);

/** True if a message's TSIG names this key and its algorithm, in any case. */
bool knot_tsig_is_of(const knot_tsig_t *tsig, const knot_tsig_key_t *key);

typedef enum {
	KNOT_TSIG_AT_REQUEST, /* the next message is the request */
	KNOT_TSIG_AT_FIRST,   /* the first answer */
	KNOT_TSIG_AT_LATER,   /* another answer */
} knot_tsig_position_t;

/** To be looked at by the functions below, but for `error`. Not to be copied: it may own `pending`. */
typedef struct {
	const knot_tsig_key_t *key; /* borrowed */
	knot_tsig_position_t position;
	uint16_t error;         /* what verifying the request found: 0, or BADSIG (16), BADTIME: sign() says it */
	uint8_t mac_len;        /* of `mac` */
	uint8_t unsigned_count; /* answers since the last signed one */
	uint64_t time_s;        /* of the last message with a TSIG */
	uint8_t mac[KNOT_TSIG_MAC_MAX]; /* of the last signed message */
	void *pending;                  /* owned: what the next MAC covers so far; NULL: nothing */
} knot_tsig_chain_t;

/** Start an exchange. Nothing needs to be released on the server's side; the client's needs chain_done(). */
static inline void knot_tsig_chain_begin(knot_tsig_chain_t *ret_chain, const knot_tsig_key_t *key)
{
	ret_chain->key = key;
	ret_chain->position = KNOT_TSIG_AT_REQUEST;
	ret_chain->error = 0;
	ret_chain->mac_len = ret_chain->unsigned_count = 0;
	ret_chain->time_s = 0;
	ret_chain->pending = NULL;
}

/** Release what an exchange holds, finished or not. */
void knot_tsig_chain_done(knot_tsig_chain_t *chain);

/** Bytes that knot_tsig_sign() will put: to be reserved before records are. */
size_t knot_tsig_len(const knot_tsig_chain_t *chain);

/**
 * Put the TSIG of a message that knot_msg_finish() has completed: the record is the last, and the header counts it.
 * Returns the message's length by ret_len. now_s: UNIX time; if it is before that of the message before, that one is
 * put. After a request that failed with BADSIG it is an unsigned one that says so (RFC 8945 5.3.2); with BADTIME it has
 * the client's time, and the server's as other data (5.2.3). KNOT_ESPACE: no room; KNOT_ERROR: GnuTLS doesn't do the
 * algorithm (FIPS mode). The message is as it was then.
 */
KNOT_MUST_USE knot_err_t knot_tsig_sign(
		knot_tsig_chain_t *chain, knot_msg_writer_t *w, uint64_t now_s, size_t *ret_len);

/**
 * Verify a message whose TSIG was read before (the server has to, to find the key; a reader of transfers passes it by
 * anyway). tsig: NULL for an answer that has none, see knot_tsig_verify(). KNOT_OK: it is authentic.
 * KNOT_TSIG_EBADKEY: of another key or algorithm, or, for the client, the server says that. KNOT_TSIG_EBADSIG,
 * KNOT_TSIG_EBADTIME: as named, or said by the server. KNOT_ERROR: GnuTLS failed.
 * On the server `error` is set for the answer.
 */
KNOT_MUST_USE knot_err_t knot_tsig_verify_read(
		knot_tsig_chain_t *chain, knot_bytes_t message, const knot_tsig_t *tsig, uint64_t now_s);

/**
 * Verify an answer, with or without a TSIG. KNOT_OK for an unsigned one: tolerated, the next signed one covers it, see
 * knot_tsig_is_complete(). KNOT_EMALF: the TSIG can't be read, the first answer has none, or too many of a row have
 * none. Others as above. After a failure the chain is of no use.
 */
KNOT_MUST_USE knot_err_t knot_tsig_verify(knot_tsig_chain_t *chain, knot_bytes_t message, uint64_t now_s);

/**
 * True if there were answers and the last was signed: all of them are authentic. Ask at the end of a transfer; no:
 * malformed data.
 */
static inline bool knot_tsig_is_complete(const knot_tsig_chain_t *chain)
{
	return chain->position == KNOT_TSIG_AT_LATER && chain->unsigned_count == 0;
}
