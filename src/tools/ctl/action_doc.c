/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Print the part of knotc(8) about actions, in roff, from the rows of commands.def. Runs while the tree is built.
 */
#include "src/tools/ctl/action.h"

#include <stdio.h>
#include <string.h>

static void action_doc_put_char(char c)
{
	switch (c) {
	case '\\': fputs("\\e", stdout); break;
	case '-': fputs("\\-", stdout); break;
	case '\'': fputs("\\(aq", stdout); break;
	default: putchar(c);
	}
}

static void action_doc_put_text(const char *text)
{
	for (; *text != '\0'; text++) {
		action_doc_put_char(*text);
	}
}

/* A paragraph, with the words between backquotes in bold. */
static void action_doc_put_paragraph(const char *text)
{
	bool is_bold = false;
	for (; *text != '\0'; text++) {
		if (*text == '`') {
			is_bold = !is_bold;
			fputs(is_bold ? "\\fB" : "\\fR", stdout);
		} else {
			action_doc_put_char(*text);
		}
	}
	putchar('\n');
}

/* Arguments: "<x>" is an italic x, brackets and bars stand as they are, other words are typed. */
static void action_doc_put_usage(const char *usage)
{
	static const char plain[] = "[]|. ";
	while (*usage != '\0') {
		size_t len = *usage == '<' ? strcspn(usage, ">") + 1 : strcspn(usage, "[]|. <");
		if (strchr(plain, *usage) != NULL) {
			putchar(*usage++);
			continue;
		}
		fputs(*usage == '<' ? "\\fI" : "\\fB", stdout);
		for (size_t i = 0; i < len; i++) {
			if (usage[i] != '<' && usage[i] != '>') {
				action_doc_put_char(usage[i]);
			}
		}
		fputs("\\fR", stdout);
		usage += len;
	}
}

/* The manual page lists the filters where the help has "[<filter>...]". */
static void action_doc_put_arguments(const action_t *action)
{
	static const char hint[] = "[<filter>...]";
	char head[256];
	const char *found = action->usage != NULL ? strstr(action->usage, hint) : NULL;
	if (found == NULL) {
		action_doc_put_usage(action->usage != NULL ? action->usage : "");
		return;
	}
	(void)snprintf(head, sizeof(head), "%.*s", (int)(found - action->usage), action->usage);
	action_doc_put_usage(head);
	for (const filter_t *filter = action->filters; filter->word != NULL; filter++) {
		if (strstr(head, filter->word) != NULL) {
			continue; /* required, so the usage has it */
		}
		(void)snprintf(head, sizeof(head), "[%s%s%s]%s", filter->word, filter->argument != NULL ? " " : "",
				filter->argument != NULL ? filter->argument : "", filter[1].word != NULL ? " " : "");
		action_doc_put_usage(head);
	}
}

static void action_doc_put_action(const action_t *action)
{
	fputs(".TP\n\\fB", stdout);
	action_doc_put_text(action->name);
	fputs(action->usage != NULL ? "\\fR " : "\\fR", stdout);
	action_doc_put_arguments(action);
	fputs((action->flags & COMMAND_CONF) != 0 ? " (*)" : "", stdout);
	fputs((action->flags & COMMAND_WAITS) != 0 ? " (#)" : "", stdout);
	putchar('\n');
	fputs(action->is_absent ? "Not supported yet. " : "", stdout);
	action_doc_put_paragraph(action->doc);
}

int main(void)
{
	for (size_t i = 0; i < action_count; i++) {
		if (actions[i].name == NULL) {
			fputs(".SS \"", stdout);
			action_doc_put_text(actions[i].title);
			fputs("\"\n", stdout);
		} else {
			action_doc_put_action(&actions[i]);
		}
	}
	return fflush(stdout) == 0 ? 0 : 1;
}
