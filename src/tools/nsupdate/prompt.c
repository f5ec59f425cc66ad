/* SPDX-License-Identifier: BSD-2-Clause */
/* Interactive mode. */
#include "src/tools/editor.h"
#include "src/tools/nsupdate/session.h"

#include <stdio.h>

static const char *prompt_text(void *ctx)
{
	(void)ctx;
	return "knsupdate> ";
}

/* ---- Completion ---- */

static void prompt_add_commands(candidates_t *found, unsigned place)
{
	size_t count;
	const script_command_t *rows = script_commands(&count);
	for (size_t i = 0; i < count; i++) {
		if ((rows[i].places & place) && !(rows[i].places & SCRIPT_FOREIGN)) {
			candidates_add_any_case(found, rows[i].name);
		}
	}
}

static void prompt_add_types(candidates_t *found)
{
	enum { TYPES_KNOWN_MAX = 512 };
	char text[KNOT_TYPE_TEXT_MAX];
	for (uint16_t type = 1; type < TYPES_KNOWN_MAX; type++) {
		(void)knot_rrtype_print(type, text);
		if (strncmp(text, "TYPE", 4) != 0 && !knot_rrtype_is_meta(type)) {
			candidates_add_any_case(found, text);
		}
	}
}

static void prompt_add_algorithms(candidates_t *found)
{
	for (unsigned i = 0; i < KNOT_TSIG_ALGORITHM_END; i++) {
		char text[KNOT_NAME_TEXT_MAX], word[KNOT_NAME_TEXT_MAX];
		size_t len = knot_name_print(knot_tsig_algorithm_name((knot_tsig_algorithm_t)i), text);
		snprintf(word, sizeof(word), "%.*s:", (int)len - 1, text);
		candidates_add_any_case(found, word);
	}
}

/** What stands behind the words of a command. */
static const struct {
	const char *command;
	size_t first, last; /* which words */
	void (*add)(candidates_t *found);
} prompt_rows[] = {
	{ "add", 2, 4, prompt_add_types },
	{ "del", 2, 4, prompt_add_types },
	{ "delete", 2, 4, prompt_add_types },
	{ "key", 1, 1, prompt_add_algorithms },
	{ "nxrrset", 2, 3, prompt_add_types },
	{ "yxrrset", 2, 3, prompt_add_types },
};

/* True if an earlier word of the record's columns was a type: data follows. */
static bool prompt_has_type(const complete_line_t *line, size_t from)
{
	for (size_t i = from; i < line->at; i++) {
		uint16_t type;
		if (knot_rrtype_scan(knot_str_of(line->words[i]), &type) == KNOT_OK) {
			return true;
		}
	}
	return false;
}

static void prompt_add_arguments(
		candidates_t *found, const complete_line_t *line, const char *command, size_t command_at)
{
	size_t position = line->at - command_at;
	for (size_t i = 0; i < KNOT_LEN(prompt_rows); i++) {
		bool is_it = strcmp(prompt_rows[i].command, command) == 0 && position >= prompt_rows[i].first &&
			     position <= prompt_rows[i].last;
		if (is_it && !prompt_has_type(line, command_at + 2)) {
			prompt_rows[i].add(found);
		}
	}
}

static void prompt_complete(void *ctx, const complete_line_t *line, candidates_t *ret_found)
{
	(void)ctx;
	candidates_t found = { .end = " " };
	unsigned place = SCRIPT_FIRST;
	candidates_set_stem_of(&found, line);
	for (size_t i = 0; i <= line->at; i++) {
		bool is_ambiguous;
		if (i == line->at) {
			prompt_add_commands(&found, place);
			break;
		}
		const script_command_t *row = script_find(knot_str_of(line->words[i]), place, &is_ambiguous);
		bool has_more = row != NULL && place == SCRIPT_FIRST &&
				(strcmp(row->name, "prereq") == 0 || strcmp(row->name, "update") == 0);
		if (!has_more) {
			prompt_add_arguments(&found, line, row != NULL ? row->name : "", i);
			break;
		}
		place = row->name[0] == 'p' ? SCRIPT_PREREQ : SCRIPT_UPDATE;
	}
	candidates_sort(&found);
	*ret_found = found;
}

/* ---- Lines ---- */

static bool prompt_run(void *ctx, const char *line)
{
	session_t *session = ctx;
	bool is_over;
	(void)session_run(session, knot_str_of(line), &is_over);
	session->is_warned &= is_over;
	return !is_over;
}

/* Secrets aren't written to files. */
static bool prompt_may_remember(void *ctx, const char *text)
{
	(void)ctx;
	bool is_ambiguous;
	script_line_t line = { text, text + strlen(text) };
	const script_command_t *row = script_find(script_word(&line), SCRIPT_FIRST, &is_ambiguous);
	return row == NULL || strcmp(row->name, "key") != 0;
}

/* The first attempt warns of what isn't sent. */
static bool prompt_may_leave(void *ctx, bool has_line)
{
	session_t *session = ctx;
	if (!has_line) {
		putchar('\n');
	}
	(void)fflush(stdout);
	if (session->is_warned || !session_warn_unsent(session)) {
		return true;
	}
	fputs("Leave again to drop it.\n", stderr);
	session->is_warned = true;
	return false;
}

bool session_prompt(session_t *session)
{
	const editor_t editor = {
		.program = "knsupdate",
		.ctx = session,
		.prompt = prompt_text,
		.complete = prompt_complete,
		.run = prompt_run,
		.may_remember = prompt_may_remember,
		.may_leave = prompt_may_leave,
	};
	return editor_run(&editor);
}
