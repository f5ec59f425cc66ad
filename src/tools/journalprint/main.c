/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * kjournalprint: prints the changes of zones that a journal holds; see doc/man/kjournalprint.8.
 */
#include "src/conf/version.h"
#include "src/journal/changeset_merge.h"
#include "src/sys/clock.h"
#include "src/sys/file.h"
#include "src/tools/conf_choice.h"
#include "src/tools/colors.h"
#include "src/tools/journalprint/print.h"
#include "src/tools/journalprint/source.h"

#include "libknot/base/number.h"

#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct {
	conf_choice_t choice;
	const char *zone;
	bool lists_zones, is_checked, is_brief, is_merged, is_json, has_color;
	bool has_serial, has_limit;
	uint32_t serial;
	uint32_t limit;
} params_t;

__attribute__((format(printf, 1, 2))) static void journalprint_error(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fflush(stdout);
	fputs("error: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

static void journalprint_help(void)
{
	printf("Usage:\n"
	       " kjournalprint [-c | -C | -D <path>] [parameters] <zone_name>\n"
	       " kjournalprint [-c | -C | -D <path>] -z\n"
	       "\n"
	       "Parameters:\n"
	       " -c, --config <file>  Path to a textual configuration file.\n"
	       "                       (default %s)\n"
	       " -C, --confdb <dir>   Path to a configuration database directory.\n"
	       "                       (default %s)\n"
	       " -D, --dir <path>     Path to a journal database directory, use default configuration.\n"
	       " -z, --zone-list      Instead of reading the journal, display the list\n"
	       "                      of zones in the DB.\n"
	       " -l, --limit <num>    Read only <num> newest changes.\n"
	       " -s, --serial <soa>   Start with a specific SOA serial.\n"
	       " -M, --merge          Print all changes merged into one.\n"
	       " -H, --check          Additional journal semantic checks.\n"
	       " -d, --debug          Debug mode output.\n"
	       " -j, --json           Print JSON.\n"
	       " -x, --mono           Get output without coloring.\n"
	       " -n, --no-color       An alias for -x, deprecated.\n"
	       " -X, --color          Force output coloring.\n"
	       " -h, --help           Print the program help.\n"
	       " -V, --version        Print the program version.\n",
			conf_choice_default_config(), conf_choice_default_confdb());
}

/* ---- Zones ---- */

typedef struct {
	const params_t *params;
	const source_t *source;
	knot_json_t json;
	uint64_t count;
	knot_err_t err;
} journalprint_zones_t;

static void journalprint_zone_json(knot_json_t *json, const char *name, const source_zone_t *info)
{
	knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	knot_json_text(json, "zone", name);
	if (info != NULL) {
		knot_json_uint(json, "occupied", info->occupied);
		knot_json_uint(json, "serial-first", info->serial_first);
		knot_json_uint(json, "serial-last", info->serial_last);
		knot_json_bool(json, "full-zone", info->has_whole);
	}
	knot_json_close(json);
}

static bool journalprint_zone(knot_name_t zone, void *ctx)
{
	journalprint_zones_t *zones = ctx;
	char name[KNOT_NAME_TEXT_MAX];
	source_zone_t info;
	knot_name_print(zone, name);
	if (zones->params->is_brief) {
		zones->err = source_zone(zones->source, zone, &info);
		if (zones->err == KNOT_ENOENT) {
			zones->err = KNOT_OK;
			return true;
		}
		if (zones->err != KNOT_OK) {
			return false;
		}
	}
	if (zones->params->is_json) {
		journalprint_zone_json(&zones->json, name, zones->params->is_brief ? &info : NULL);
	} else if (zones->params->is_brief) {
		printf("%-28s %8" PRIu64 " %10u %10u %s\n", name, info.occupied / 1024, info.serial_first,
				info.serial_last, info.has_whole ? "yes" : "no");
	} else {
		puts(name);
	}
	zones->count++;
	return true;
}

static bool journalprint_list_zones(const params_t *params, const source_t *source)
{
	journalprint_zones_t zones = {
		.params = params, .source = source, .json = knot_json_of(knot_json_to_file, stdout)
	};
	bool is_written = true;
	if (params->is_json) {
		knot_json_open(&zones.json, NULL, KNOT_JSON_LIST, KNOT_JSON_LINES);
	} else if (params->is_brief) {
		puts(";; <zone name>              <occupied KiB> <first serial> <last serial> <full zone>");
	}
	knot_err_t err = source_each_zone(source, journalprint_zone, &zones);
	err = err == KNOT_OK ? zones.err : err;
	if (params->is_json) {
		knot_json_close(&zones.json);
		is_written = knot_json_end(&zones.json);
	}
	if (err != KNOT_OK) {
		journalprint_error("failed to load zone list (%s)", knot_strerror(err));
		return false;
	}
	if (params->is_json) {
		return is_written;
	}
	if (zones.count == 0) {
		puts("No zones in journal DB");
	} else if (params->is_brief) {
		printf(";; Occupied all zones together: %" PRIu64 " KiB\n", source_usage(source) / 1024);
	}
	return true;
}

/* ---- Merging ---- */

typedef struct {
	changeset_merger_t *merger;
	uint8_t **payloads; /* owned, with what they point to: the merger borrows them */
	size_t count, max;
	journal_entry_t entry; /* what becomes the result */
	bool has_skipped;      /* changes before the one that continues the first entry */
	knot_err_t err;
} journalprint_merge_t;

static uint8_t *journalprint_keep(journalprint_merge_t *merge, knot_bytes_t payload)
{
	if (merge->count == merge->max) {
		size_t max = 2 * merge->max + 16;
		uint8_t **grown = realloc(merge->payloads, max * sizeof(*grown));
		if (grown == NULL) {
			return NULL;
		}
		merge->payloads = grown;
		merge->max = max;
	}
	uint8_t *kept = malloc(payload.len + 1);
	if (kept != NULL) {
		memcpy(kept, payload.data, payload.len);
		merge->payloads[merge->count++] = kept;
	}
	return kept;
}

static bool journalprint_merge_entry(const journal_entry_t *entry, void *ctx)
{
	journalprint_merge_t *merge = ctx;
	const journal_change_t *change = &entry->change;
	bool is_first = merge->count == 0;
	if (!is_first && change->serial_from != merge->entry.change.serial_to) {
		/* The first entry may stand for several of those that follow it. */
		merge->has_skipped = true;
		merge->err = merge->count > 1 ? KNOT_ESEMCHECK : KNOT_OK;
		return merge->err == KNOT_OK;
	}
	merge->has_skipped = false;
	uint8_t *kept = journalprint_keep(merge, change->payload);
	changeset_kind_t kind = entry->kind == JOURNAL_WHOLE ? CHANGESET_WHOLE : CHANGESET_STEP;
	merge->err = kept == NULL ? KNOT_ENOMEM
				  : changeset_merge_add(
						    merge->merger, (knot_bytes_t){ kept, change->payload.len }, kind);
	if (is_first) {
		merge->entry = *entry;
		merge->entry.kind = entry->kind == JOURNAL_WHOLE ? JOURNAL_WHOLE : JOURNAL_STEP;
	}
	merge->entry.change.serial_to = change->serial_to;
	merge->entry.change.time_s = change->time_s;
	return merge->err == KNOT_OK;
}

static knot_err_t journalprint_finish_merge(journalprint_merge_t *merge, print_t *print)
{
	uint8_t *data;
	size_t len;
	journal_change_t *change = &merge->entry.change;
	knot_err_t err = changeset_merge_finish(merge->merger, &data, &len, &change->removed, &change->added);
	merge->merger = NULL;
	if (err == KNOT_OK) {
		change->payload = (knot_bytes_t){ data, len };
		(void)print_entry(&merge->entry, print);
		err = print->err;
		free(data);
	}
	return err;
}

static knot_err_t journalprint_merged(const params_t *params, const source_t *source, knot_name_t zone, print_t *print)
{
	journalprint_merge_t merge = { .err = KNOT_OK };
	knot_err_t err = changeset_merge_begin(&merge.merger);
	if (err == KNOT_OK) {
		err = source_each(source, zone, params->has_serial ? &params->serial : NULL, journalprint_merge_entry,
				&merge);
		err = err == KNOT_OK ? merge.err : err;
	}
	err = err == KNOT_OK && merge.has_skipped ? KNOT_ESEMCHECK : err;
	err = err == KNOT_OK ? journalprint_finish_merge(&merge, print) : err;
	changeset_merge_discard(merge.merger);
	for (size_t i = 0; i < merge.count; i++) {
		free(merge.payloads[i]);
	}
	free(merge.payloads);
	return err;
}

/* ---- Changes of a zone ---- */

static bool journalprint_count(const journal_entry_t *entry, void *ctx)
{
	(void)entry;
	++*(uint64_t *)ctx;
	return true;
}

static knot_err_t journalprint_changes(const params_t *params, const source_t *source, knot_name_t zone, print_t *print)
{
	const uint32_t *serial = params->has_serial ? &params->serial : NULL;
	if (params->is_merged) {
		return journalprint_merged(params, source, zone, print);
	}
	if (params->has_limit) {
		uint64_t count = 0;
		knot_err_t err = source_each(source, zone, serial, journalprint_count, &count);
		if (err != KNOT_OK) {
			return err;
		}
		print->skip = count > params->limit ? count - params->limit : 0;
	}
	knot_err_t err = source_each(source, zone, serial, print_entry, print);
	return err == KNOT_OK ? print->err : err;
}

/* The document around the entries of a zone. */
static void journalprint_begin_json(const params_t *params, const char *zone, knot_json_t *json)
{
	*json = knot_json_of(knot_json_to_file, stdout);
	if (params->is_json) {
		knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
		knot_json_text(json, "zone", zone);
		knot_json_open(json, "changesets", KNOT_JSON_LIST, KNOT_JSON_LINES);
	}
}

/* occupied: by the zone, bytes; err: why entries are missing. */
static bool journalprint_end_json(
		const params_t *params, knot_json_t *json, uint64_t occupied, const source_t *source, knot_err_t err)
{
	if (!params->is_json) {
		return true;
	}
	knot_json_close(json);
	knot_json_uint(json, "occupied", occupied);
	knot_json_uint(json, "occupied-all-zones", source_usage(source));
	if (err != KNOT_OK && err != KNOT_ENOENT) {
		knot_json_text(json, "error", knot_strerror(err));
	}
	knot_json_close(json);
	return knot_json_end(json);
}

static bool journalprint_empty(const params_t *params)
{
	puts(params->has_serial ? "The journal is empty or the serial not present" : "The journal is empty");
	return true;
}

/* What there is of a zone that can't be looked into. */
static bool journalprint_nothing(const params_t *params, const source_t *source, const char *zone, knot_err_t err)
{
	knot_json_t json;
	if (!params->is_json) {
		return err == KNOT_ENOENT && journalprint_empty(params);
	}
	journalprint_begin_json(params, zone, &json);
	return journalprint_end_json(params, &json, 0, source, err) && err == KNOT_ENOENT;
}

static knot_err_t journalprint_check(const source_t *source, knot_name_t zone)
{
	knot_err_t err;
	unsigned code = source_check(source, zone, &err);
	if (code != 0) {
		journalprint_error("semantic check failed with code %u", code);
		return KNOT_ESEMCHECK;
	}
	if (err != KNOT_OK) {
		journalprint_error("semantic check failed (%s)", knot_strerror(err));
	}
	return err;
}

static bool journalprint_print(const params_t *params, const source_t *source, knot_name_t zone, uint64_t occupied)
{
	knot_json_t json;
	char name[KNOT_NAME_TEXT_MAX];
	knot_name_print(zone, name);
	print_t print = { .out = stdout,
		.json = params->is_json ? &json : NULL,
		.now_s = sys_clock_wall(),
		.is_brief = params->is_brief,
		.is_chain = params->has_serial || params->is_merged,
		.has_color = params->has_color,
		.err = KNOT_OK };
	knot_err_t err = params->is_checked ? journalprint_check(source, zone) : KNOT_OK;
	journalprint_begin_json(params, name, &json);
	err = err == KNOT_OK ? journalprint_changes(params, source, zone, &print) : err;
	bool is_written = journalprint_end_json(params, &json, occupied, source, err);
	if (err == KNOT_ENOENT) {
		return params->is_json ? is_written : journalprint_empty(params);
	}
	if (err != KNOT_OK) {
		journalprint_error("failed to load changesets (%s)", knot_strerror(err));
		return false;
	}
	if (params->is_json) {
		return is_written;
	}
	if (params->is_brief) {
		printf("Total number of changesets:  %" PRIu64 "\n", print.count);
		printf("Occupied this zone (approx): %" PRIu64 " KiB\n", occupied / 1024);
		printf("Occupied all zones together: %" PRIu64 " KiB\n", source_usage(source) / 1024);
	}
	return true;
}

static bool journalprint_zone_by_name(const params_t *params, const source_t *source, const char *path)
{
	uint8_t wire[KNOT_NAME_MAX];
	char text[KNOT_NAME_TEXT_MAX];
	const char *name = params->zone;
	knot_name_t zone;
	source_zone_t info = { 0 };
	knot_err_t err = knot_name_scan(knot_str_of(params->zone), knot_name_root, wire, &zone);
	if (err == KNOT_OK) {
		knot_name_lower(zone, wire);
		knot_name_print(zone, text);
		name = text;
		err = source_zone(source, zone, &info);
	} else {
		err = KNOT_ENOENT;
	}
	if (err == KNOT_ENOENT) {
		journalprint_error("zone not exists in the journal DB %s", path);
		return journalprint_nothing(params, source, name, err);
	}
	if (err != KNOT_OK && !params->is_checked) {
		journalprint_error("failed to load changesets (%s)", knot_strerror(err));
		return journalprint_nothing(params, source, name, err);
	}
	return journalprint_print(params, source, zone, info.occupied);
}

static bool journalprint_run(const params_t *params)
{
	char path[PATH_MAX], error[CONF_CHOICE_ERROR_MAX];
	if (!conf_choice_folder(&params->choice, path, error)) {
		journalprint_error("%s", error);
		return false;
	}
	source_t source;
	journal_reason_t reason;
	knot_err_t err = source_open(path, &source, &reason);
	if (err == KNOT_ENOENT) {
		journalprint_error("the journal DB does not exist, folder '%s'", path);
		return false;
	}
	if (err != KNOT_OK) {
		journalprint_error("the journal DB is broken (%s)", reason.text);
		return false;
	}
	bool is_good = params->lists_zones ? journalprint_list_zones(params, &source)
					   : journalprint_zone_by_name(params, &source, path);
	source_close(&source);
	return is_good;
}

/* ---- Options ---- */

typedef enum { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_WRONG, OPTIONS_REFUSED } options_t;

static bool journalprint_choose(const char **choice, const char *value, conf_choice_t *choices)
{
	if (conf_choice_is_made(choices)) {
		journalprint_error("configuration already initialized");
		return false;
	}
	*choice = value;
	return true;
}

static bool journalprint_number(const char *what, const char *text, uint32_t *ret_number)
{
	uint64_t number;
	if (!knot_number_of(text, 0, UINT32_MAX, &number)) {
		journalprint_error("invalid %s '%s', use a number up to %u", what, text, UINT32_MAX);
		return false;
	}
	*ret_number = (uint32_t)number;
	return true;
}

static options_t journalprint_option(int c, params_t *params)
{
	conf_choice_t *choice = &params->choice;
	switch (c) {
	case 'c': return journalprint_choose(&choice->config, optarg, choice) ? OPTIONS_RUN : OPTIONS_REFUSED;
	case 'C': return journalprint_choose(&choice->confdb, optarg, choice) ? OPTIONS_RUN : OPTIONS_REFUSED;
	case 'D': return journalprint_choose(&choice->dir, optarg, choice) ? OPTIONS_RUN : OPTIONS_REFUSED;
	case 'l':
		params->has_limit = true;
		return journalprint_number("limit", optarg, &params->limit) ? OPTIONS_RUN : OPTIONS_WRONG;
	case 's':
		params->has_serial = true;
		return journalprint_number("serial", optarg, &params->serial) ? OPTIONS_RUN : OPTIONS_WRONG;
	case 'M': params->is_merged = true; return OPTIONS_RUN;
	case 'z': params->lists_zones = true; return OPTIONS_RUN;
	case 'H': params->is_checked = true; return OPTIONS_RUN;
	case 'd': params->is_brief = true; return OPTIONS_RUN;
	case 'j': params->is_json = true; return OPTIONS_RUN;
	case 'x':
	case 'n': params->has_color = false; return OPTIONS_RUN;
	case 'X': params->has_color = true; return OPTIONS_RUN;
	case 'h': journalprint_help(); return OPTIONS_DONE;
	case 'V': conf_version_print("kjournalprint", optarg != NULL); return OPTIONS_DONE;
	default: return OPTIONS_WRONG;
	}
}

static options_t journalprint_options(int argc, char **argv, params_t *params)
{
	static const struct option known[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "confdb", required_argument, NULL, 'C' },
		{ "dir", required_argument, NULL, 'D' },
		{ "limit", required_argument, NULL, 'l' },
		{ "serial", required_argument, NULL, 's' },
		{ "merge", no_argument, NULL, 'M' },
		{ "zone-list", no_argument, NULL, 'z' },
		{ "check", no_argument, NULL, 'H' },
		{ "debug", no_argument, NULL, 'd' },
		{ "json", no_argument, NULL, 'j' },
		{ "mono", no_argument, NULL, 'x' },
		{ "no-color", no_argument, NULL, 'n' },
		{ "color", no_argument, NULL, 'X' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", optional_argument, NULL, 'V' },
		{ 0 },
	};
	int c;
	while ((c = getopt_long(argc, argv, "c:C:D:l:s:MzHdjxnXhV::", known, NULL)) != -1) {
		options_t found = journalprint_option(c, params);
		if (found != OPTIONS_RUN) {
			return found;
		}
	}
	int left = argc - optind, wanted = params->lists_zones ? 0 : 1;
	if (left == wanted + 1) {
		/* The journal's folder as the first argument, as it was once. */
		fputs("warning: obsolete parameter specified\n", stderr);
		if (!journalprint_choose(&params->choice.dir, argv[optind], &params->choice)) {
			return OPTIONS_REFUSED;
		}
	} else if (left != wanted) {
		if (left < wanted) {
			journalprint_error("missing zone name");
		} else {
			journalprint_error("superfluous argument '%s'", argv[optind + wanted]);
		}
		return OPTIONS_WRONG;
	}
	params->zone = wanted > 0 ? argv[argc - 1] : NULL;
	return OPTIONS_RUN;
}

static const char *journalprint_pick(const conf_t *conf)
{
	return conf->database.journal_db;
}

int main(int argc, char **argv)
{
	if (!sys_file_hold_streams()) {
		return EXIT_FAILURE;
	}
	params_t params = { .choice = { .pick = journalprint_pick }, .has_color = colors_are_wanted() };
	options_t options = journalprint_options(argc, argv, &params);
	bool is_good = options == OPTIONS_DONE;
	if (options == OPTIONS_WRONG) {
		journalprint_help();
	} else if (options == OPTIONS_RUN) {
		is_good = journalprint_run(&params);
	}
	bool is_written = sys_file_end_output();
	return is_good && is_written ? EXIT_SUCCESS : EXIT_FAILURE;
}
