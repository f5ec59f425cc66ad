/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A run of knsupdate: settings of the command line, the script, and what servers have answered. One thread.
 */
#pragma once

#include "src/tools/nsupdate/script.h"

typedef struct {
	lookup_t lookup;
	lookup_query_t settings; /* of the command line: transport, port, key, time */
	script_t script;
	uint8_t answer[KNOT_MSG_MAX]; /* the last one */
	size_t answer_len;            /* 0: there was none */
	bool is_warned;               /* of an update that isn't sent, and no command was run since */
} session_t;

/** Run one line. False: it was wrong, or sending failed, which has been said. *ret_over: the script ends. */
bool session_run(session_t *session, knot_str_t line, bool *ret_over);

/** Prompt for lines. False: it can't be started. */
bool session_prompt(session_t *session);

/** Say how many records are left that weren't sent. False: there are none. */
bool session_warn_unsent(session_t *session);

/** Send the update and take the answer. False: it failed, which has been said. */
bool session_send(session_t *session);

/** Print the update as it is so far. */
bool session_show(session_t *session);

/** Print the last answer. */
void session_show_answer(session_t *session);
