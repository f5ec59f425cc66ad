/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/nsupdate/session.h"

#include <stdio.h>

static void session_print_help(lookup_t *lookup)
{
	size_t count;
	const script_command_t *rows = script_commands(&count);
	for (size_t i = 0; i < count; i++) {
		char form[64];
		if (rows[i].places & SCRIPT_FOREIGN) {
			continue;
		}
		snprintf(form, sizeof(form), "%s %s", rows[i].name, rows[i].arguments);
		present_text_format(&lookup->out, "%-48s %s\n", form, rows[i].doc);
	}
	lookup_flush(lookup);
}

bool session_run(session_t *session, knot_str_t line, bool *ret_over)
{
	lookup_t *lookup = &session->lookup;
	script_step_t step = script_take(&session->script, line);
	*ret_over = step == SCRIPT_EXIT;
	if (session->script.warning[0] != '\0') {
		lookup_warn(lookup, "%s", session->script.warning);
	}
	switch (step) {
	case SCRIPT_GO_ON:
	case SCRIPT_EXIT: return true;
	case SCRIPT_FAULT: lookup_error(lookup, "%s", session->script.fault); return false;
	case SCRIPT_SHOW: return session_show(session);
	case SCRIPT_SEND: return session_send(session);
	case SCRIPT_ANSWER: session_show_answer(session); return true;
	case SCRIPT_DEBUG: lookup->debug = 1; return true;
	case SCRIPT_HELP: session_print_help(lookup); return true;
	}
	return false;
}

bool session_warn_unsent(session_t *session)
{
	size_t count = session->script.draft.count;
	if (count > 0) {
		lookup_warn(&session->lookup, "an update with %zu %s wasn't sent: there is no 'send' behind it", count,
				count == 1 ? "record" : "records");
	}
	return count > 0;
}
