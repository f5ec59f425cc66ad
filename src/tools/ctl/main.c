/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * knotc: controls a running knotd over its control socket; see doc/man/knotc.8.
 */
#include "src/tools/ctl/knotc.h"

#include "libknot/base/number.h"
#include "src/conf/db.h"
#include "src/conf/version.h"
#include "src/sys/file.h"
#include "src/tools/colors.h"

#include <getopt.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Not in the help: scripts use it. */
enum { OPTION_COMPLETE = 256 };

typedef enum { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_BAD } options_verdict_t;

static options_verdict_t main_refuse_options(const char *text)
{
	fprintf(stderr, "error: %s\n", text);
	return OPTIONS_BAD;
}

/* As with an unknown option, print the help; then the error, at the end, where you see it. */
static options_verdict_t main_refuse_value(const char *text)
{
	knotc_print_help(stdout);
	(void)fflush(stdout);
	return main_refuse_options(text);
}

static bool main_scan_format(const char *text, format_t *ret_format)
{
	static const struct {
		const char *name;
		format_t format;
	} formats[] = { { "3.5", FORMAT_35 }, { "3.6", FORMAT_36 }, { "json", FORMAT_JSON }, { "raw", FORMAT_RAW } };
	for (size_t i = 0; i < KNOT_LEN(formats); i++) {
		if (strcmp(formats[i].name, text) == 0) {
			*ret_format = formats[i].format;
			return true;
		}
	}
	return false;
}

/* Behind -j the word "raw", which names no action, chooses the protocol's units. */
static format_t main_scan_json_kind(int argc, char **argv)
{
	if (optind < argc && strcmp(argv[optind], "raw") == 0) {
		optind++;
		return FORMAT_RAW;
	}
	return FORMAT_JSON;
}

static options_verdict_t main_read_options(int argc, char **argv, params_t *ret_params)
{
	static const struct option known[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "confdb", required_argument, NULL, 'C' },
		{ "max-conf-size", required_argument, NULL, 'm' },
		{ "socket", required_argument, NULL, 's' },
		{ "timeout", required_argument, NULL, 't' },
		{ "blocking", no_argument, NULL, 'b' },
		{ "extended", no_argument, NULL, 'e' },
		{ "force", no_argument, NULL, 'f' },
		{ "json", no_argument, NULL, 'j' },
		{ "format", required_argument, NULL, 'F' },
		{ "mono", no_argument, NULL, 'x' },
		{ "color", no_argument, NULL, 'X' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "complete", no_argument, NULL, OPTION_COMPLETE },
		{ "help", no_argument, NULL, 'h' },
		{ "version", optional_argument, NULL, 'V' },
		{ 0 },
	};
	static socket_found_t socket_found;
	params_t params = { .confdb_size_mib = CONF_DB_SIZE_DEFAULT, .socket_found = &socket_found };
	bool is_color_chosen = false;
	uint64_t number;
	int c;
	/* The leading '+': options end at the action. */
	while ((c = getopt_long(argc, argv, "+c:C:m:s:t:befjF:xXvhV::", known, NULL)) != -1) {
		switch (c) {
		case 'c': params.config = optarg; break;
		case 'C': params.confdb = optarg; break;
		case 'm':
			if (!knot_number_of(optarg, 1, CONF_DB_SIZE_MAX, &number)) {
				return main_refuse_value(
						"invalid size of the configuration database, use 1 to 10000 MiB");
			}
			params.confdb_size_mib = (unsigned)number;
			break;
		case 's': params.socket = optarg; break;
		case 't':
			if (!knot_number_of(optarg, 0, KNOTC_TIMEOUT_MAX_S, &number)) {
				return main_refuse_value("invalid timeout, use 0 to 86400 seconds");
			}
			params.timeout_ms = (int)number * 1000;
			params.timeout_given = true;
			break;
		case 'b': params.flags.blocking = true; break;
		case 'e': params.extended = true; break;
		case 'f': params.flags.force = true; break;
		case 'j': params.format = main_scan_json_kind(argc, argv); break;
		case 'F':
			if (!main_scan_format(optarg, &params.format)) {
				return main_refuse_value("invalid format, use 3.5, 3.6 or json");
			}
			break;
		case 'x':
		case 'X':
			params.color = c == 'X';
			is_color_chosen = true;
			break;
		case 'v': params.verbose = true; break;
		case OPTION_COMPLETE: params.is_completion = true; break;
		case 'h': knotc_print_help(stdout); return OPTIONS_DONE;
		case 'V': conf_version_print("knotc", optarg != NULL); return OPTIONS_DONE;
		default: knotc_print_help(stdout); return OPTIONS_BAD;
		}
	}
	if (params.confdb != NULL && params.config != NULL) {
		return main_refuse_options("ambiguous configuration source");
	}
	if (!is_color_chosen) {
		/* As Knot: not in extended output. */
		params.color = colors_are_wanted() && !params.extended;
	}
	*ret_params = params;
	return OPTIONS_RUN;
}

int main(int argc, char **argv)
{
	if (!sys_file_hold_streams()) {
		return EXIT_FAILURE;
	}
	/* The prompt and `top` need to know which bytes make a character. */
	(void)setlocale(LC_CTYPE, "");
	params_t params;
	options_verdict_t verdict = main_read_options(argc, argv, &params);
	bool is_good = verdict == OPTIONS_DONE;
	if (verdict == OPTIONS_RUN && params.is_completion) {
		return knotc_complete(&params, argc - optind, argv + optind);
	}
	if (verdict == OPTIONS_RUN && optind == argc) {
		return knotc_interactive(&params);
	}
	if (verdict == OPTIONS_RUN) {
		is_good = knotc_run(&params, argc - optind, argv + optind);
	}
	bool is_written = sys_file_end_output();
	return is_good && is_written ? EXIT_SUCCESS : EXIT_FAILURE;
}
