/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/editor.h"

#include "src/tools/columns.h"
#include "src/tools/terminal.h"

#include <histedit.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	HISTORY_LINES = 1000,
	LISTED_MAX = 100, /* candidates that are listed without a question first; as libedit and readline have it */
};

typedef struct {
	const editor_t *editor;
	EditLine *el;
	Tokenizer *tok; /* for completion */
	History *history;
	char history_path[PATH_MAX]; /* "": there is no home */
} session_t;

static char *editor_make_prompt(EditLine *el)
{
	session_t *session;
	el_get(el, EL_CLIENTDATA, &session);
	const char *prompt = session->editor->prompt(session->editor->ctx);
	return (char *)(uintptr_t)prompt; /* libedit only reads it */
}

/* Insert a part of a candidate, quoted so that it stays one word. */
static void editor_insert_text(EditLine *el, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char piece[3] = { text[i] };
		if (strchr(" \t\"'\\", text[i]) != NULL) {
			piece[0] = '\\';
			piece[1] = text[i];
		}
		(void)el_insertstr(el, piece);
	}
}

/* Whether to list so many. */
static bool editor_confirm_list(EditLine *el, size_t count)
{
	char key = 'n';
	printf("Display all %zu possibilities? (y or n)", count);
	(void)fflush(stdout);
	do {
		if (el_getc(el, &key) != 1) {
			key = 'n';
		}
	} while (key == '\0' || strchr("yYnN \t\n\r\x7f", key) == NULL);
	putchar('\n');
	return strchr("yY \t", key) != NULL;
}

/* Insert what all candidates share; list them if that adds nothing. */
static unsigned char editor_use_candidates(EditLine *el, const candidates_t *found)
{
	if (found->count == 0) {
		return CC_ERROR;
	}
	size_t shared = candidates_shared(found), stem_len = strlen(found->stem);
	if (shared > stem_len || found->count == 1) {
		editor_insert_text(el, found->words[0] + stem_len, shared - stem_len);
		if (found->count == 1) {
			(void)el_insertstr(el, found->end);
		}
		return CC_REFRESH;
	}
	putchar('\n');
	if (found->count <= LISTED_MAX || editor_confirm_list(el, found->count)) {
		unsigned width, height;
		terminal_size(&width, &height);
		columns_print(stdout, found->words, found->count, width);
	}
	return CC_REDISPLAY;
}

static unsigned char editor_complete_line(EditLine *el, int key)
{
	(void)key;
	session_t *session;
	el_get(el, EL_CLIENTDATA, &session);
	const editor_t *editor = session->editor;
	int argc, word, offset;
	const char **argv;
	tok_reset(session->tok);
	/* If a quote is still open, the words before it are cut nevertheless. */
	if (tok_line(session->tok, el_line(el), &argc, &argv, &word, &offset) < 0) {
		return CC_ERROR;
	}
	if (argc == 0 && editor->list_all != NULL) {
		putchar('\n');
		editor->list_all(editor->ctx);
		return CC_REDISPLAY;
	}
	complete_line_t line = { .words = argv, .count = (size_t)argc, .at = (size_t)word, .offset = (size_t)offset };
	candidates_t found;
	editor->complete(editor->ctx, &line, &found);
	unsigned char result = editor_use_candidates(el, &found);
	candidates_free(&found);
	return result;
}

/* ---- History ---- */

static void editor_print_history_path(const char *program, char path[static PATH_MAX])
{
	const char *home = getenv("HOME");
	int len = home != NULL ? snprintf(path, PATH_MAX, "%s/.%s_history", home, program) : -1;
	if (len < 0 || len >= PATH_MAX) {
		path[0] = '\0';
	}
}

static void editor_load_history(session_t *session)
{
	HistEvent event;
	editor_print_history_path(session->editor->program, session->history_path);
	history(session->history, &event, H_SETSIZE, HISTORY_LINES);
	history(session->history, &event, H_SETUNIQUE, 1);
	if (session->history_path[0] != '\0') {
		history(session->history, &event, H_LOAD, session->history_path);
	}
}

static void editor_remember(session_t *session, const char *line)
{
	HistEvent event;
	const editor_t *editor = session->editor;
	if (editor->may_remember != NULL && !editor->may_remember(editor->ctx, line)) {
		return;
	}
	history(session->history, &event, H_ENTER, line);
	if (session->history_path[0] != '\0') {
		history(session->history, &event, H_SAVE, session->history_path); /* of mode 0600 */
	}
}

/* ---- The loop ---- */

static void editor_set_up(session_t *session)
{
	EditLine *el = session->el;
	el_set(el, EL_EDITOR, "emacs");
	el_set(el, EL_HIST, history, session->history);
	/* libedit restores the terminal at Ctrl-C and Ctrl-Z, draws the line again after Ctrl-Z, and follows a new
	 * size. */
	el_set(el, EL_SIGNAL, 1);
	el_set(el, EL_CLIENTDATA, session);
	el_set(el, EL_PROMPT, editor_make_prompt);
	el_set(el, EL_ADDFN, "complete-word", "complete the word", editor_complete_line);
	el_set(el, EL_BIND, "^I", "complete-word", NULL);
	el_source(el, NULL);
}

static void editor_prompt_lines(session_t *session)
{
	const editor_t *editor = session->editor;
	for (;;) {
		int len;
		const char *line = el_gets(session->el, &len);
		bool has_line = line != NULL && len > 0;
		if (has_line && strspn(line, " \t\n") == (size_t)len) {
			continue;
		}
		if (has_line) {
			editor_remember(session, line);
		}
		bool wants_leave = !has_line || !editor->run(editor->ctx, line);
		if (wants_leave && (editor->may_leave == NULL || editor->may_leave(editor->ctx, has_line))) {
			return;
		}
		(void)fflush(stdout);
	}
}

bool editor_run(const editor_t *editor)
{
	session_t session = {
		.editor = editor,
		.el = el_init(editor->program, stdin, stdout, stderr),
		.tok = tok_init(NULL),
		.history = history_init(),
	};
	if (session.el == NULL || session.tok == NULL || session.history == NULL) {
		fputs("error: failed to start the interactive mode\n", stderr);
		return false;
	}
	editor_load_history(&session);
	editor_set_up(&session);
	editor_prompt_lines(&session);
	history_end(session.history);
	tok_end(session.tok);
	el_end(session.el);
	return true;
}
