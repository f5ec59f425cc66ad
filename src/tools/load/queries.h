/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The list of queries: messages as they are sent, but for their ids. From Knot's text files, files of dnsperf, binary
 * files, and recordings (playback.h).
 *
 * Text: `name type [E|D]` a line; E sends EDNS, D EDNS with DO; lines that are empty or start with ';' or '#' are
 * skipped, so files of dnsperf are read as they are. Binary: 16 bits of length in network order and the message, again
 * and again. Messages of a binary file or a recording keep everything but their ids.
 *
 * Memory: 24 bytes per query and its message. Read-only once it is loaded; any thread.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"
#include "libknot/msg/sign.h"

enum {
	QUERIES_MESSAGE_MAX = 1400, /* bytes of a message that is sent */
	QUERIES_ERROR_MAX = 512,
};

/** Bits of query_t.flags. */
enum {
	QUERY_EDNS = 1, /* ends with an OPT */
	QUERY_DO = 2,
	QUERY_OTHER = 4, /* isn't one question of class IN that --verify knows the answer of */
};

typedef struct {
	uint64_t off; /* of the message in `bytes` */
	uint16_t len;
	uint8_t qname_len; /* 0: no question */
	uint8_t flags;
	uint32_t question; /* hash of the question's bytes */
} query_t;

typedef struct {
	query_t *items; /* owned */
	size_t count, room;
	uint8_t *bytes; /* owned */
	size_t used, size;
	uint64_t *times_ns; /* owned: of a recording, since its first query; NULL: none */
	size_t times_room;
} queries_t;

/** What is made of names and types. */
typedef enum {
	PROFILE_QUERY,
	PROFILE_AXFR,
	PROFILE_IXFR,
	PROFILE_NOTIFY,
	PROFILE_UPDATE,
	PROFILE_COUNT,
} profile_t;

extern const char *const profile_names[PROFILE_COUNT]; /* "query", "axfr" … */

typedef struct {
	profile_t profile;
	uint16_t edns_size;
	uint32_t serial;  /* of IXFR: the client's; of NOTIFY: the new one, 0: none */
	bool always_edns; /* cookies need it */
	uint64_t max;     /* queries to load at most */
} queries_params_t;

/** Read a text file ("-": standard input). ret_error: says file, line and what is wrong. */
bool queries_load_text(queries_t *queries, const char *path, const queries_params_t *params,
		char ret_error[static QUERIES_ERROR_MAX]);

bool queries_load_binary(queries_t *queries, const char *path, const queries_params_t *params,
		char ret_error[static QUERIES_ERROR_MAX]);

/** A line of text. False: ret_why says what is wrong with it; a line that is skipped is no error. */
bool queries_add_line(queries_t *queries, knot_str_t line, const queries_params_t *params,
		char ret_why[static QUERIES_ERROR_MAX]);

/** A message, with its time if the list has times. False: no memory, or not a message that can be sent. */
bool queries_add_message(queries_t *queries, knot_bytes_t message, const uint64_t *time_ns);

/** As queries_add_message() would; false: it isn't a query (QR set, no whole header, too long). */
bool queries_is_query(knot_bytes_t message);

void queries_free(queries_t *queries);

static inline const uint8_t *queries_message(const queries_t *queries, const query_t *query)
{
	return queries->bytes + query->off;
}

/**
 * Length of the question section at message + 12 with one question, 0: it is none, or cut short. message[0..len).
 * Names are walked, not checked for more than their end.
 */
static inline size_t queries_question_len(const uint8_t *message, size_t len)
{
	size_t at = 12;
	while (at < len && message[at] != 0) {
		if (message[at] > 63) {
			return 0;
		}
		at += message[at] + (size_t)1;
	}
	at += 5; /* the root label, type, class */
	return at <= len && at - 12 <= 255 + 4 ? at - 12 : 0;
}
