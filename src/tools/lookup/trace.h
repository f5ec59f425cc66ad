/* SPDX-License-Identifier: BSD-2-Clause */
/** dnstap files (-E, -G): what is sent and received goes into one, or is printed out of one. */
#pragma once

#include "src/tools/lookup/ask.h"

/** A file for messages. Opened once for each path, whatever queries write to it; closed by lookup_traces_close(). */
typedef struct lookup_trace lookup_trace_t;

/** NULL: it can't be opened, which is said. */
lookup_trace_t *lookup_trace_open(lookup_t *lookup, const char *path);

/** Write a message of the exchange, if the query has a file. */
void lookup_trace_query(const ask_t *ask);
void lookup_trace_reply(const ask_t *ask, knot_bytes_t message);

/** Close all files. False: something couldn't be written, which is said. */
bool lookup_traces_close(lookup_t *lookup);

/** Print the messages of a file in the query's style: replies, with +qr queries, too. False: it can't be read, which is
 * said. */
bool lookup_replay(lookup_t *lookup, const lookup_query_t *query);

/** Whether a file can be opened as one of dnstap; if not, it is said. */
bool lookup_replay_check(lookup_t *lookup, const char *path);
