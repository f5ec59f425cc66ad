/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Interactive mode, and completion for shells.
 */
#include "src/conf/conf.h"
#include "src/tools/ctl/complete.h"
#include "src/tools/ctl/knotc.h"
#include "src/tools/editor.h"

#include <histedit.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ASK_TIMEOUT_MS = 2000 };

typedef struct {
	params_t params; /* with `transactions` below */
	transactions_t transactions;
	bool is_terminal; /* both input and output; scripts get Knot's output and nothing else */
	bool is_warned;   /* of open transactions, and no command was run since */
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

/* ---- The prompt ---- */

/* "(example.com.) knotc> ": ends like Knot's, for programs that wait for it. */
static const char *interactive_make_prompt(void *ctx)
{
	shell_t *shell = ctx;
	char open[TRANSACTIONS_TEXT_MAX];
	transactions_print(&shell->transactions, open);
	bool is_open = shell->is_terminal && open[0] != '\0';
	snprintf(shell->prompt, sizeof(shell->prompt), "%s%s%sknotc> ", is_open ? "(" : "", open, is_open ? ") " : "");
	return shell->prompt;
}

static void interactive_complete(void *ctx, const complete_line_t *line, candidates_t *ret_found)
{
	complete_source_t source = { interactive_ask_names, ctx };
	complete(line, &source, ret_found);
}

static void interactive_list_all(void *ctx)
{
	(void)ctx;
	knotc_print_actions(stdout);
}

static bool interactive_is_exit(const shell_t *shell, const char *word)
{
	/* Knot has no `quit`: to a script it stays an error. */
	return strcmp(word, "exit") == 0 || (shell->is_terminal && strcmp(word, "quit") == 0);
}

/* Run one line. False: it ends the prompt. */
static bool interactive_run_line(void *ctx, const char *line)
{
	shell_t *shell = ctx;
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
static bool interactive_may_leave(void *ctx, bool has_line)
{
	shell_t *shell = ctx;
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

int knotc_interactive(const params_t *params)
{
	shell_t shell = { .params = *params, .is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) };
	shell.params.transactions = &shell.transactions;
	const editor_t editor = {
		.program = "knotc",
		.ctx = &shell,
		.prompt = interactive_make_prompt,
		.complete = interactive_complete,
		.list_all = interactive_list_all,
		.run = interactive_run_line,
		.may_leave = interactive_may_leave,
	};
	bool is_started = editor_run(&editor);
	transactions_free(&shell.transactions);
	return is_started ? EXIT_SUCCESS : EXIT_FAILURE;
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
