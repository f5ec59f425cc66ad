/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Prints `knotc -h`, `help` and `help <action>` from the rows of the action table.
 */
#include "src/tools/ctl/knotc.h"

#include "src/conf/db.h"
#include "src/tools/ctl/message.h"

#include <string.h>

enum {
	HELP_NAME_WIDTH = 18,
	HELP_USAGE_WIDTH = 38,
	HELP_LINE_WIDTH = 79, /* of paragraphs */
};

void knotc_print_help(FILE *out)
{
	fprintf(out,
			"Usage: knotc [parameters] <action> [action_args]\n"
			"\n"
			"Parameters:\n"
			" -c, --config <file>        Use a textual configuration file.\n"
			"                             (default %s)\n"
			" -C, --confdb <dir>         Use a binary configuration database directory.\n"
			"                             (default %s)\n"
			" -m, --max-conf-size <MiB>  Set maximum size of the configuration database (max %d MiB).\n"
			"                             (default %d MiB)\n"
			" -s, --socket <path>        Use a control UNIX socket path.\n"
			"                             (default %s)\n"
			" -t, --timeout <sec>        Use a control socket timeout (max %d seconds, 0 for none).\n"
			"                             (default 60 seconds)\n"
			" -b, --blocking             Zone event trigger commands wait until the event is finished.\n"
			" -e, --extended             Show extended output.\n"
			" -f, --force                Forced operation. Overrides some checks.\n"
			" -j, --json [raw]           Print replies as JSON, raw: as the protocol has them.\n"
			" -F, --format <format>      Print replies as Knot DNS 3.5 or 3.6 does, or as JSON: 3.5, 3.6, "
			"json.\n"
			"                             (default 3.5)\n"
			" -x, --mono                 Don't color the output.\n"
			" -X, --color                Force output colorization.\n"
			" -v, --verbose              Enable debug output.\n"
			" -h, --help                 Print the program help.\n"
			" -V, --version              Print the program version.\n"
			"\n",
			conf_default_path(), conf_db_default_path(), CONF_DB_SIZE_MAX, CONF_DB_SIZE_DEFAULT,
			KNOT_RUN_DIR "/knot.sock", KNOTC_TIMEOUT_MAX_S);
	knotc_print_actions(out);
}

/* Arguments as in the help, which only hints at filters if there are many. */
static const char *help_usage(const action_t *action)
{
	return action->usage != NULL ? action->usage : "";
}

static void help_print_marks(const action_t *action, FILE *out)
{
	fprintf(out, "%s%s%s", (action->flags & COMMAND_CONF) != 0 ? " (*)" : "",
			(action->flags & COMMAND_WAITS) != 0 ? " (#)" : "",
			action->is_absent ? " (not supported yet)" : "");
}

void knotc_print_actions(FILE *out)
{
	fputs("Actions:\n", out);
	for (size_t i = 0; i < action_count; i++) {
		const action_t *action = &actions[i];
		if (action->name == NULL) {
			fputs(i == 0 ? "" : "\n", out);
			continue;
		}
		fprintf(out, " %-*s %-*s %s", HELP_NAME_WIDTH, action->name, HELP_USAGE_WIDTH, help_usage(action),
				action->help);
		help_print_marks(action, out);
		fputc('\n', out);
	}
	fputs("\n"
	      "Note:\n"
	      " Use @ owner to denote the zone name.\n"
	      " Empty or '--' <zone> parameter means all zones or all zones with a transaction.\n"
	      " Type <item> parameter in the form of <section>[<identifier>].<name>.\n"
	      " (*) indicates a local operation which requires a configuration.\n"
	      " (#) indicates an optionally blocking operation.\n"
	      " The '-b' and '-f' options can be placed right after the command name.\n",
			out);
}

/* A paragraph without backquotes, in lines of HELP_LINE_WIDTH. */
static void help_print_paragraph(const char *text, FILE *out)
{
	size_t column = 0;
	while (*text != '\0') {
		size_t len = strcspn(text, " "), shown = 0;
		for (size_t i = 0; i < len; i++) {
			shown += text[i] != '`';
		}
		if (column > 0 && column + 1 + shown > HELP_LINE_WIDTH) {
			fputc('\n', out);
			column = 0;
		}
		fputs(column > 0 ? " " : "", out);
		column += shown + (column > 0);
		for (size_t i = 0; i < len; i++) {
			if (text[i] != '`') {
				fputc(text[i], out);
			}
		}
		text += len + strspn(text + len, " ");
	}
	fputc('\n', out);
}

static void help_print_action(const action_t *action, FILE *out)
{
	fprintf(out, "%s%s%s", action->name, *help_usage(action) != '\0' ? " " : "", help_usage(action));
	help_print_marks(action, out);
	fputc('\n', out);
	for (const filter_t *filter = action->filters; filter != NULL && filter->word != NULL; filter++) {
		fprintf(out, " %s%s%s\n", filter->word, filter->argument != NULL ? " " : "",
				filter->argument != NULL ? filter->argument : "");
	}
	help_print_paragraph(action->doc, out);
}

bool knotc_help(const char *name)
{
	if (name == NULL) {
		knotc_print_actions(stdout);
		return true;
	}
	const action_t *action = action_find(name);
	if (action == NULL) {
		return message_error("invalid command '%s'", name);
	}
	help_print_action(action, stdout);
	return true;
}
