/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * kcatalogprint: prints the members of catalogs that a catalog database holds; see doc/man/kcatalogprint.8.
 */
#include "libknot/base/json.h"
#include "src/catalog/catalog_db.h"
#include "src/conf/version.h"
#include "src/sys/file.h"
#include "src/present/text.h"
#include "src/tools/conf_choice.h"

#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/** A name to look for. */
typedef struct {
	knot_name_t name; /* wire NULL: any */
	uint8_t wire[KNOT_NAME_MAX];
} filter_t;

typedef struct {
	conf_choice_t choice;
	filter_t catalog, member;
	bool is_json;
	knot_json_t json; /* the list, while it is printed */
	uint64_t count;   /* printed */
} params_t;

__attribute__((format(printf, 1, 2))) static void catalogprint_error(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fflush(stdout);
	fputs("error: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

static void catalogprint_help(void)
{
	printf("Usage: kcatalogprint [-c | -C | -D <path>] [parameters]\n"
	       "\n"
	       "Parameters:\n"
	       " -c, --config <file>   Path to a textual configuration file.\n"
	       "                        (default %s)\n"
	       " -C, --confdb <dir>    Path to a configuration database directory.\n"
	       "                        (default %s)\n"
	       " -D, --dir <path>      Path to a catalog database directory, use default\n"
	       "                       configuration.\n"
	       " -a, --catalog <name>  Filter the output by catalog zone name.\n"
	       " -m, --member <name>   Filter the output by member zone name.\n"
	       " -j, --json            Print JSON.\n"
	       " -h, --help            Print the program help.\n"
	       " -V, --version         Print the program version.\n",
			conf_choice_default_config(), conf_choice_default_confdb());
}

/* ---- Printing ---- */

static bool catalogprint_is_wanted(const filter_t *filter, knot_name_t name)
{
	return filter->name.wire == NULL || knot_name_eq(filter->name, name);
}

static void catalogprint_json(const catalog_record_t *record, const char *member, const char *owner,
		const char *catalog, knot_json_t *json)
{
	knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	knot_json_text(json, "zone", member);
	knot_json_text(json, "owner", owner);
	knot_json_text(json, "catalog", catalog);
	knot_json_str(json, "group", (knot_str_t){ (const char *)record->entry.group.data, record->entry.group.len });
	knot_json_close(json);
}

/* A producer's text: it controls no terminal, and begins no line. */
static void catalogprint_group(knot_bytes_t group)
{
	present_text_t text = { 0 };
	present_text_foreign(&text, group);
	printf("%.*s\n", (int)text.len, text.data != NULL ? text.data : "");
	present_text_done(&text);
}

static bool catalogprint_record(const catalog_record_t *record, void *ctx)
{
	params_t *params = ctx;
	if (!catalogprint_is_wanted(&params->catalog, record->catalog) ||
			!catalogprint_is_wanted(&params->member, record->entry.member)) {
		return true;
	}
	char member[KNOT_NAME_TEXT_MAX], owner[KNOT_NAME_TEXT_MAX], catalog[KNOT_NAME_TEXT_MAX];
	knot_name_print(record->entry.member, member);
	knot_name_print(record->entry.owner, owner);
	knot_name_print(record->catalog, catalog);
	params->count++;
	if (params->is_json) {
		catalogprint_json(record, member, owner, catalog, &params->json);
		return true;
	}
	printf("%s  %s  %s  ", member, owner, catalog);
	catalogprint_group(record->entry.group);
	return true;
}

static void catalogprint_begin(params_t *params)
{
	if (params->is_json) {
		params->json = knot_json_of(knot_json_to_file, stdout);
		knot_json_open(&params->json, NULL, KNOT_JSON_LIST, KNOT_JSON_LINES);
	} else {
		puts(";; <member zone> <record owner> <catalog zone> <group>");
	}
}

/* False: JSON couldn't be written. */
static bool catalogprint_end(params_t *params, bool is_good)
{
	if (params->is_json) {
		knot_json_close(&params->json);
		return knot_json_end(&params->json);
	}
	if (is_good) {
		printf("Total records: %" PRIu64 "\n", params->count);
	}
	return true;
}

/* Without JSON a failure isn't one of the exit status: scripts count on that of Knot's. */
static bool catalogprint_run(params_t *params, const char *path)
{
	catalog_db_t *db = catalog_db_new(&(catalog_db_params_t){ .path = path, .read_only = true });
	catalogprint_begin(params);
	sys_lmdb_reason_t reason;
	size_t damaged = 0;
	knot_err_t err = db != NULL ? catalog_db_open(db, &reason) : KNOT_ENOMEM;
	err = err == KNOT_OK ? catalog_db_each(db, catalogprint_record, params, &damaged, &reason) : err;
	bool is_written = catalogprint_end(params, err == KNOT_OK);
	if (err == KNOT_ENOENT) {
		catalogprint_error("failed to print catalog (database does not exist)");
	} else if (err != KNOT_OK) {
		catalogprint_error("failed to print catalog (%s)", db != NULL ? reason.text : knot_strerror(err));
	}
	if (damaged > 0) {
		catalogprint_error("%zu damaged records were passed over", damaged);
	}
	catalog_db_close(db);
	return !params->is_json || (err == KNOT_OK && damaged == 0 && is_written);
}

/* ---- Options ---- */

typedef enum { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_WRONG, OPTIONS_REFUSED } options_t;

static bool catalogprint_choose(const char **choice, const char *value, conf_choice_t *choices)
{
	if (conf_choice_is_made(choices)) {
		catalogprint_error("configuration already initialized");
		return false;
	}
	*choice = value;
	return true;
}

static bool catalogprint_filter(filter_t *filter, const char *text)
{
	knot_err_t err = knot_name_scan(knot_str_of(text), knot_name_root, filter->wire, &filter->name);
	if (err != KNOT_OK) {
		catalogprint_error("invalid zone name '%s' (%s)", text, knot_strerror(err));
	}
	return err == KNOT_OK;
}

static options_t catalogprint_option(int c, params_t *params)
{
	conf_choice_t *choice = &params->choice;
	switch (c) {
	case 'c': return catalogprint_choose(&choice->config, optarg, choice) ? OPTIONS_RUN : OPTIONS_REFUSED;
	case 'C': return catalogprint_choose(&choice->confdb, optarg, choice) ? OPTIONS_RUN : OPTIONS_REFUSED;
	case 'D': return catalogprint_choose(&choice->dir, optarg, choice) ? OPTIONS_RUN : OPTIONS_REFUSED;
	case 'a': return catalogprint_filter(&params->catalog, optarg) ? OPTIONS_RUN : OPTIONS_REFUSED;
	case 'm': return catalogprint_filter(&params->member, optarg) ? OPTIONS_RUN : OPTIONS_REFUSED;
	case 'j': params->is_json = true; return OPTIONS_RUN;
	case 'h': catalogprint_help(); return OPTIONS_DONE;
	case 'V': conf_version_print("kcatalogprint", optarg != NULL); return OPTIONS_DONE;
	default: return OPTIONS_WRONG;
	}
}

static options_t catalogprint_options(int argc, char **argv, params_t *params)
{
	static const struct option known[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "confdb", required_argument, NULL, 'C' },
		{ "dir", required_argument, NULL, 'D' },
		{ "catalog", required_argument, NULL, 'a' },
		{ "member", required_argument, NULL, 'm' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", optional_argument, NULL, 'V' },
		{ 0 },
	};
	int c;
	while ((c = getopt_long(argc, argv, "c:C:D:a:m:jhV::", known, NULL)) != -1) {
		options_t found = catalogprint_option(c, params);
		if (found != OPTIONS_RUN) {
			return found;
		}
	}
	if (argc > optind) {
		/* The database's folder as an argument, as it was once; Knot ignores what follows it. */
		fputs("warning: obsolete parameter specified\n", stderr);
		return catalogprint_choose(&params->choice.dir, argv[optind], &params->choice) ? OPTIONS_RUN
											       : OPTIONS_REFUSED;
	}
	return OPTIONS_RUN;
}

static const char *catalogprint_pick(const conf_t *conf)
{
	return conf->database.catalog_db;
}

int main(int argc, char **argv)
{
	if (!sys_file_hold_streams()) {
		return EXIT_FAILURE;
	}
	params_t params = { .choice = { .pick = catalogprint_pick } };
	char path[PATH_MAX], error[CONF_CHOICE_ERROR_MAX];
	options_t options = catalogprint_options(argc, argv, &params);
	bool is_good = options == OPTIONS_DONE;
	if (options == OPTIONS_WRONG) {
		catalogprint_help();
	} else if (options == OPTIONS_RUN) {
		is_good = conf_choice_folder(&params.choice, path, error);
		if (is_good) {
			is_good = catalogprint_run(&params, path);
		} else {
			catalogprint_error("%s", error);
		}
	}
	bool is_written = sys_file_end_output();
	return is_good && is_written ? EXIT_SUCCESS : EXIT_FAILURE;
}
