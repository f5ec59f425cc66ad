/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Interactive mode: line editing, history and completion with libedit.
 */
#include "src/tools/ctl/knotc.h"

#include <histedit.h>
#include <limits.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HISTORY_LINES = 1000, CANDIDATES_MAX = 1000 };

typedef struct {
	const params_t *params;
	EditLine *el;
	Tokenizer *tok;     /* for completion; lines that are run have their own */
} shell_t;

/* Words that fit what has been typed of one; owned. */
typedef struct {
	char *words[CANDIDATES_MAX];
	size_t count;
	const char *prefix;
	size_t prefix_len;
} candidates_t;

static void add_candidate(candidates_t *found, const char *word)
{
	if (strncmp(word, found->prefix, found->prefix_len) != 0 || found->count == CANDIDATES_MAX) {
		return;
	}
	char *copy = strdup(word);
	if (copy != NULL) {
		found->words[found->count++] = copy;
	}
}

static void free_candidates(candidates_t *found)
{
	for (size_t i = 0; i < found->count; i++) {
		free(found->words[i]);
	}
}

/* ---- What can stand at the cursor ---- */

static void add_actions(candidates_t *found)
{
	for (size_t i = 0; i < action_count; i++) {
		if (actions[i].name != NULL) {
			add_candidate(found, actions[i].name);
		}
	}
}

static void add_filters(candidates_t *found, const filter_t *filters)
{
	for (; filters != NULL && filters->word != NULL; filters++) {
		add_candidate(found, filters->word);
	}
}

static void add_zone(void *ctx, knot_ctl_type_t type, const knot_ctl_data_t *unit)
{
	(void)type;
	if ((*unit)[KNOT_CTL_IDX_ERROR] == NULL && (*unit)[KNOT_CTL_IDX_ID] != NULL) {
		add_candidate(ctx, (*unit)[KNOT_CTL_IDX_ID]);
	}
}

static void add_item(void *ctx, knot_ctl_type_t type, const knot_ctl_data_t *unit)
{
	(void)type;
	const char *section = (*unit)[KNOT_CTL_IDX_SECTION], *item = (*unit)[KNOT_CTL_IDX_ITEM];
	if ((*unit)[KNOT_CTL_IDX_ERROR] != NULL || section == NULL) {
		return;
	}
	char text[256];
	snprintf(text, sizeof(text), "%s%s%s", section, item != NULL ? "." : "", item != NULL ? item : "");
	add_candidate(ctx, text);
}

/* Ask the server; one that doesn't answer completes nothing. */
static void ask(const shell_t *shell, knot_ctl_data_t unit, void (*add)(void *, knot_ctl_type_t, const knot_ctl_data_t *),
                candidates_t *found)
{
	params_t params = *shell->params;
	params.timeout_given = true;
	params.timeout_ms = 2000;
	unit[KNOT_CTL_IDX_CMD] = "conf-list";
	request_t request = { .units = (knot_ctl_data_t *)unit, .count = 1 };
	char error[KNOTC_ERROR_MAX];
	(void)knotc_exchange(&params, &request, add, found, error);
}

static void add_zones(const shell_t *shell, candidates_t *found)
{
	knot_ctl_data_t unit = { [KNOT_CTL_IDX_SECTION] = "zone", [KNOT_CTL_IDX_FILTERS] = "z" };
	ask(shell, unit, add_zone, found);
	add_candidate(found, "--");
}

/* A section's name, or the items of the section that has been typed. */
static void add_items(const shell_t *shell, candidates_t *found)
{
	char section[64];
	size_t len = strcspn(found->prefix, ".[");
	knot_ctl_data_t unit = { [KNOT_CTL_IDX_FILTERS] = "s" };
	if (len < found->prefix_len && len < sizeof(section) && found->prefix[len] == '.') {
		memcpy(section, found->prefix, len);
		section[len] = '\0';
		unit[KNOT_CTL_IDX_SECTION] = section;
	}
	ask(shell, unit, add_item, found);
}

static void add_details(candidates_t *found)
{
	static const char *const details[] = { "version", "workers", "configure", "cert-key" };
	for (size_t i = 0; i < KNOT_LEN(details); i++) {
		add_candidate(found, details[i]);
	}
}

static void add_interfaces(candidates_t *found)
{
	struct if_nameindex *all = if_nameindex();
	for (size_t i = 0; all != NULL && all[i].if_index != 0; i++) {
		add_candidate(found, all[i].if_name);
	}
	if_freenameindex(all);
}

/* position: of the word at the cursor, 1 is the first behind the action. */
static void complete_argument(const shell_t *shell, const action_t *action, int position, candidates_t *found)
{
	if (found->prefix[0] == '+') {
		add_filters(found, action->filters);
		return;
	}
	switch (action->args) {
	case ARGS_DETAIL:
		add_details(found);
		return;
	case ARGS_ZONES:
	case ARGS_ZONES_NEEDED:
		add_zones(shell, found);
		add_filters(found, action->filters);
		return;
	case ARGS_ZONE_COUNTER:
	case ARGS_NODE:
	case ARGS_ZONE:
	case ARGS_ADD:
	case ARGS_REMOVE:
	case ARGS_SERIAL:
		if (position == 1) {
			add_zones(shell, found);
		}
		return;
	case ARGS_ROLLOVER:
		if (position == 1) {
			add_zones(shell, found);
		} else {
			add_candidate(found, "ksk");
			add_candidate(found, "zsk");
		}
		return;
	case ARGS_ITEMS:
		add_items(shell, found);
		return;
	case ARGS_SET:
	case ARGS_UNSET:
		if (position == 1) {
			add_items(shell, found);
		}
		return;
	case ARGS_INTERFACE:
		add_interfaces(found);
		return;
	case ARGS_BLOCK:
		if (position == 1) {
			add_candidate(found, "add");
			add_candidate(found, "remove");
			add_candidate(found, "list");
		}
		return;
	case ARGS_NONE:
	case ARGS_COUNTER:
	case ARGS_FILE:
	case ARGS_FILE_NEEDED:
		return;
	}
}

/* ---- libedit ---- */

static char *prompt(EditLine *el)
{
	(void)el;
	static char text[] = "knotc> ";
	return text;
}

/* Insert what all candidates share; list them if that adds nothing. */
static unsigned char use_candidates(EditLine *el, const candidates_t *found)
{
	if (found->count == 0) {
		return CC_ERROR;
	}
	size_t shared = strlen(found->words[0]);
	for (size_t i = 1; i < found->count; i++) {
		size_t len = 0;
		while (len < shared && found->words[i][len] == found->words[0][len]) {
			len++;
		}
		shared = len;
	}
	if (shared > found->prefix_len || found->count == 1) {
		char *text = strndup(found->words[0] + found->prefix_len, shared - found->prefix_len);
		if (text != NULL) {
			(void)el_insertstr(el, text);
			free(text);
		}
		if (found->count == 1) {
			(void)el_insertstr(el, " ");
		}
		return CC_REFRESH;
	}
	putchar('\n');
	for (size_t i = 0; i < found->count; i++) {
		printf(" %s\n", found->words[i]);
	}
	return CC_REDISPLAY;
}

static unsigned char complete(EditLine *el, int key)
{
	(void)key;
	shell_t *shell;
	el_get(el, EL_CLIENTDATA, &shell);
	const LineInfo *line = el_line(el);
	int argc, word, offset;
	const char **argv;
	tok_reset(shell->tok);
	if (tok_line(shell->tok, line, &argc, &argv, &word, &offset) != 0) {
		return CC_ERROR;
	}
	if (argc == 0) {
		putchar('\n');
		knotc_print_help(stdout);
		return CC_REDISPLAY;
	}
	candidates_t found = { .prefix = word < argc ? argv[word] : "", .prefix_len = word < argc ? (size_t)offset : 0 };
	if (word == 0) {
		add_actions(&found);
	} else {
		const action_t *action = action_find(argv[0]);
		if (action != NULL) {
			complete_argument(shell, action, word, &found);
		}
	}
	unsigned char result = use_candidates(el, &found);
	free_candidates(&found);
	return result;
}

/* Run one line. False: it was `exit`. */
static bool run_line(const shell_t *shell, const char *line)
{
	Tokenizer *tok = tok_init(NULL);
	int argc = 0;
	const char **argv;
	bool go_on = true;
	if (tok != NULL && tok_str(tok, line, &argc, &argv) == 0 && argc > 0) {
		if (strcmp(argv[0], "exit") == 0) {
			go_on = false;
		} else {
			(void)knotc_run(shell->params, argc, (char *const *)argv);
		}
	}
	tok_end(tok);
	return go_on;
}

static void history_path(char path[static PATH_MAX])
{
	const char *home = getenv("HOME");
	int len = home != NULL ? snprintf(path, PATH_MAX, "%s/.knotc_history", home) : -1;
	if (len < 0 || len >= PATH_MAX) {
		path[0] = '\0';
	}
}

int knotc_interactive(const params_t *params)
{
	shell_t shell = { .params = params, .el = el_init("knotc", stdin, stdout, stderr), .tok = tok_init(NULL) };
	History *lines = history_init();
	if (shell.el == NULL || shell.tok == NULL || lines == NULL) {
		fputs("error: failed to start the interactive mode\n", stderr);
		return EXIT_FAILURE;
	}
	HistEvent event;
	char path[PATH_MAX];
	history_path(path);
	history(lines, &event, H_SETSIZE, HISTORY_LINES);
	history(lines, &event, H_SETUNIQUE, 1);
	if (path[0] != '\0') {
		history(lines, &event, H_LOAD, path);
	}
	el_set(shell.el, EL_PROMPT, prompt);
	el_set(shell.el, EL_EDITOR, "emacs");
	el_set(shell.el, EL_HIST, history, lines);
	el_set(shell.el, EL_CLIENTDATA, &shell);
	el_set(shell.el, EL_ADDFN, "knotc-complete", "complete the word", complete);
	el_set(shell.el, EL_BIND, "^I", "knotc-complete", NULL);
	el_source(shell.el, NULL);

	int len;
	const char *line;
	while ((line = el_gets(shell.el, &len)) != NULL && len > 0) {
		if (strspn(line, " \t\n") == (size_t)len) {
			continue;
		}
		history(lines, &event, H_ENTER, line);
		if (path[0] != '\0') {
			history(lines, &event, H_SAVE, path);
		}
		if (!run_line(&shell, line)) {
			break;
		}
		(void)fflush(stdout);
	}
	history_end(lines);
	tok_end(shell.tok);
	el_end(shell.el);
	return EXIT_SUCCESS;
}
