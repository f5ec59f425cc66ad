/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Interactive mode: line editing, history and completion with libedit.
 */
#include "src/conf/conf.h"
#include "src/tools/ctl/columns.h"
#include "src/tools/ctl/complete.h"
#include "src/tools/ctl/knotc.h"
#include "src/tools/terminal.h"

#include <histedit.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	HISTORY_LINES = 1000,
	ASK_TIMEOUT_MS = 2000,
	LISTED_MAX = 100, /* candidates that are listed without a question first; as libedit and readline have it */
};

typedef struct {
	params_t params; /* with `transactions` below */
	transactions_t transactions;
	bool is_terminal; /* both input and output; scripts get Knot's output and nothing else */
	bool is_warned;   /* of open transactions, and no command was run since */
	EditLine *el;
	Tokenizer *tok; /* for completion; lines that are run have their own */
	char prompt[TRANSACTIONS_TEXT_MAX + 16];
} shell_t;

/* ---- Names for completion ---- */

static void interactive_ignore_fault(void *ctx, const conf_fault_t *fault)
{
	(void)ctx;
	(void)fault;
}

/* The configuration's zones: what local actions take. */
static void interactive_ask_configuration(const params_t *params, complete_unit_t on_unit, void *unit_ctx)
{
	conf_t *conf;
	if (knotc_conf(params, NULL, (conf_sink_t){ interactive_ignore_fault, NULL }, &conf) != KNOT_OK) {
		return;
	}
	for (size_t i = 0; i < conf->zone_count; i++) {
		char name[KNOT_NAME_TEXT_MAX];
		(void)knot_name_print(conf_zone_name(conf, i), name);
		knot_ctl_data_t unit = { [KNOT_CTL_IDX_SECTION] = "zone", [KNOT_CTL_IDX_ID] = name };
		on_unit(unit_ctx, KNOT_CTL_TYPE_DATA, (const knot_ctl_data_t *)&unit);
	}
	conf_free(conf);
}

/* A server that doesn't answer completes nothing. */
static void interactive_ask_names(
		void *ctx, bool is_local, const knot_ctl_data_t *unit, complete_unit_t on_unit, void *unit_ctx)
{
	const shell_t *shell = ctx;
	params_t params = shell->params;
	params.verbose = false;
	if (is_local) {
		interactive_ask_configuration(&params, on_unit, unit_ctx);
		return;
	}
	params.timeout_given = true;
	params.timeout_ms = ASK_TIMEOUT_MS;
	knot_ctl_data_t copy;
	memcpy(copy, *unit, sizeof(copy));
	request_t request = { .units = &copy, .count = 1 };
	char error[KNOTC_ERROR_MAX];
	(void)knotc_exchange(&params, &request, on_unit, unit_ctx, error);
}

/* ---- libedit ---- */

/* "(example.com.) knotc> ": ends like Knot's, for programs that wait for it. */
static char *interactive_make_prompt(EditLine *el)
{
	shell_t *shell;
	char open[TRANSACTIONS_TEXT_MAX];
	el_get(el, EL_CLIENTDATA, &shell);
	transactions_print(&shell->transactions, open);
	bool is_open = shell->is_terminal && open[0] != '\0';
	snprintf(shell->prompt, sizeof(shell->prompt), "%s%s%sknotc> ", is_open ? "(" : "", open, is_open ? ") " : "");
	return shell->prompt;
}

/* Insert a part of a candidate, quoted so that it stays one word. */
static void interactive_insert_text(EditLine *el, const char *text, size_t len)
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
static bool interactive_confirm_list(EditLine *el, size_t count)
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
static unsigned char interactive_use_candidates(EditLine *el, const candidates_t *found)
{
	if (found->count == 0) {
		return CC_ERROR;
	}
	size_t shared = candidates_shared(found), stem_len = strlen(found->stem);
	if (shared > stem_len || found->count == 1) {
		interactive_insert_text(el, found->words[0] + stem_len, shared - stem_len);
		if (found->count == 1) {
			(void)el_insertstr(el, found->end);
		}
		return CC_REFRESH;
	}
	putchar('\n');
	if (found->count <= LISTED_MAX || interactive_confirm_list(el, found->count)) {
		unsigned width, height;
		terminal_size(&width, &height);
		columns_print(stdout, found->words, found->count, width);
	}
	return CC_REDISPLAY;
}

static unsigned char interactive_complete_line(EditLine *el, int key)
{
	(void)key;
	shell_t *shell;
	el_get(el, EL_CLIENTDATA, &shell);
	int argc, word, offset;
	const char **argv;
	tok_reset(shell->tok);
	/* If a quote is still open, the words before it are cut nevertheless. */
	if (tok_line(shell->tok, el_line(el), &argc, &argv, &word, &offset) < 0) {
		return CC_ERROR;
	}
	if (argc == 0) {
		putchar('\n');
		knotc_print_actions(stdout);
		return CC_REDISPLAY;
	}
	complete_line_t line = { .words = argv, .count = (size_t)argc, .at = (size_t)word, .offset = (size_t)offset };
	complete_source_t source = { interactive_ask_names, shell };
	candidates_t found;
	complete(&line, &source, &found);
	unsigned char result = interactive_use_candidates(el, &found);
	candidates_free(&found);
	return result;
}

static bool interactive_is_exit(const shell_t *shell, const char *word)
{
	/* Knot has no `quit`: to a script it stays an error. */
	return strcmp(word, "exit") == 0 || (shell->is_terminal && strcmp(word, "quit") == 0);
}

/* Run one line. False: it ends the prompt. */
static bool interactive_run_line(shell_t *shell, const char *line)
{
	/* What tok_str() returns of a line that would go on behind its end. */
	static const char *const unfinished[] = {
		[1] = "a single quote is not closed",
		[2] = "a double quote is not closed",
		[3] = "nothing follows the last backslash",
	};
	Tokenizer *tok = tok_init(NULL);
	int argc = 0;
	const char **argv;
	bool go_on = true;
	int state = tok != NULL ? tok_str(tok, line, &argc, &argv) : -1;
	if (state == 0 && argc > 0 && interactive_is_exit(shell, argv[0])) {
		go_on = false;
	} else if (state == 0 && argc > 0) {
		shell->is_warned = false;
		(void)knotc_run(&shell->params, argc, (char *const *)argv);
	} else if (state != 0) {
		fprintf(stderr, "error: %s\n",
				state > 0 && state < (int)KNOT_LEN(unfinished) ? unfinished[state]
									       : knot_strerror(KNOT_ENOMEM));
	}
	tok_end(tok);
	return go_on;
}

/*
 * Whether the prompt may end: at a terminal the first attempt warns of transactions that were begun here. has_line:
 * the cursor is at the beginning of a line.
 */
static bool interactive_may_leave(shell_t *shell, bool has_line)
{
	if (!shell->is_terminal) {
		return true;
	}
	if (!has_line) {
		putchar('\n');
	}
	(void)fflush(stdout);
	if (shell->is_warned || !transactions_warn(&shell->transactions, stderr)) {
		return true;
	}
	fputs("Leave again to keep what is open.\n", stderr);
	shell->is_warned = true;
	return false;
}

static void interactive_print_history_path(char path[static PATH_MAX])
{
	const char *home = getenv("HOME");
	int len = home != NULL ? snprintf(path, PATH_MAX, "%s/.knotc_history", home) : -1;
	if (len < 0 || len >= PATH_MAX) {
		path[0] = '\0';
	}
}

int knotc_interactive(const params_t *params)
{
	shell_t shell = { .params = *params,
		.is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO),
		.el = el_init("knotc", stdin, stdout, stderr),
		.tok = tok_init(NULL) };
	History *lines = history_init();
	if (shell.el == NULL || shell.tok == NULL || lines == NULL) {
		fputs("error: failed to start the interactive mode\n", stderr);
		return EXIT_FAILURE;
	}
	shell.params.transactions = &shell.transactions;
	HistEvent event;
	char path[PATH_MAX];
	interactive_print_history_path(path);
	history(lines, &event, H_SETSIZE, HISTORY_LINES);
	history(lines, &event, H_SETUNIQUE, 1);
	if (path[0] != '\0') {
		history(lines, &event, H_LOAD, path);
	}
	el_set(shell.el, EL_EDITOR, "emacs");
	el_set(shell.el, EL_HIST, history, lines);
	/*
	 * libedit restores the terminal at Ctrl-C and Ctrl-Z, draws the line again after Ctrl-Z, and follows a new
	 * size.
	 */
	el_set(shell.el, EL_SIGNAL, 1);
	el_set(shell.el, EL_CLIENTDATA, &shell);
	el_set(shell.el, EL_PROMPT, interactive_make_prompt);
	el_set(shell.el, EL_ADDFN, "knotc-complete", "complete the word", interactive_complete_line);
	el_set(shell.el, EL_BIND, "^I", "knotc-complete", NULL);
	el_source(shell.el, NULL);

	while (true) {
		int len;
		const char *line = el_gets(shell.el, &len);
		bool has_line = line != NULL && len > 0;
		if (has_line && strspn(line, " \t\n") == (size_t)len) {
			continue;
		}
		if (has_line) {
			history(lines, &event, H_ENTER, line);
			if (path[0] != '\0') {
				history(lines, &event, H_SAVE, path);
			}
		}
		if ((!has_line || !interactive_run_line(&shell, line)) && interactive_may_leave(&shell, has_line)) {
			break;
		}
		(void)fflush(stdout);
	}
	history_end(lines);
	tok_end(shell.tok);
	el_end(shell.el);
	transactions_free(&shell.transactions);
	return EXIT_SUCCESS;
}

/*
 * For completion by a shell, which has cut the line into words: the last is the one at the cursor, up to there. Shells
 * replace that word as a whole, so what is before the stem is printed, too ("zone[a.]." of "zone[a.].sto"). A word that
 * is the only one comes with what follows it.
 */
int knotc_complete(const params_t *params, int argc, char *const argv[])
{
	if (argc == 0) {
		return EXIT_FAILURE;
	}
	shell_t shell = { .params = *params };
	complete_line_t line = {
		.words = (const char *const *)argv,
		.count = (size_t)argc,
		.at = (size_t)argc - 1,
		.offset = strlen(argv[argc - 1]),
	};
	candidates_t found;
	complete(&line, &(complete_source_t){ interactive_ask_names, &shell }, &found);
	const char *typed = argv[argc - 1];
	size_t kept = strlen(typed) - strlen(found.stem);
	for (size_t i = 0; i < found.count; i++) {
		printf("%.*s%s%s\n", (int)kept, typed, found.words[i], found.count == 1 ? found.end : "");
	}
	candidates_free(&found);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
