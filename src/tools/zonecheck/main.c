/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * kzonecheck: checks a zone file; see doc/man/kzonecheck.1.
 */
#include "libknot/base/number.h"
#include "src/conf/version.h"
#include "src/sys/file.h"
#include "src/tools/zonecheck/result.h"
#include "src/tools/zonecheck/source.h"
#include "src/tools/zonecheck/when.h"
#include "src/validate/report.h"
#include "src/zone/build.h"
#include "src/zone/dump.h"
#include "src/zone/zonemd.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DEFAULT_TTL_S = 3600, THREADS_MAX = 1024 };

typedef struct {
	const char *file;
	const char *origin; /* NULL: that of the SOA */
	zone_dnssec_t dnssec;
	bool verifies_zonemd, prints;
	uint64_t now_s;
	unsigned thread_count;
	result_t result;
} zonecheck_t;

static void zonecheck_help(void)
{
	printf("Usage: kzonecheck [parameters] <filename>\n"
	       "\n"
	       "Parameters:\n"
	       " -o, --origin <zone_origin>  Zone name.\n"
	       "                              (default owner of the SOA record)\n"
	       " -d, --dnssec <on|off>       Also check DNSSEC-related records.\n"
	       "                              (default on if the SOA record is signed)\n"
	       " -z, --zonemd                Also check the ZONEMD hash.\n"
	       " -t, --time <timestamp>      Current time specification.\n"
	       "                              (default current UNIX time)\n"
	       " -j, --jobs <num>            Number of threads for checking signatures.\n"
	       "                              (default number of processors)\n"
	       " -l, --lines                 Show lines of the file, and more details.\n"
	       " -J, --json                  Print JSON.\n"
	       " -p, --print                 Print the zone on standard output.\n"
	       " -v, --verbose               Enable debug output.\n"
	       " -h, --help                  Print the program help.\n"
	       " -V, --version               Print the program version.\n"
	       "\n");
}

/* ---- The check ---- */

static bool zonecheck_print(zonecheck_t *check, const zone_contents_t *zone)
{
	const zone_dump_params_t params = { .program = PACKAGE_STRING, .now_s = (uint64_t)time(NULL) };
	fflush(stdout);
	knot_err_t err = zone_dump(zone, STDOUT_FILENO, &params);
	if (err != KNOT_OK) {
		result_error(&check->result, "failed to print the zone (%s)", knot_strerror(err));
	}
	return err == KNOT_OK;
}

/* As in Knot, what is found of the digest stands for all that doesn't make the zone unusable. */
static bool zonecheck_judge(zonecheck_t *check, const zone_contents_t *zone)
{
	if (!check->verifies_zonemd) {
		return !check->result.has_faults;
	}
	knot_err_t err = zonemd_verify(zone);
	if (err != KNOT_OK) {
		result_error(&check->result, "invalid ZONEMD (%s)", knot_strerror(err));
	}
	return err == KNOT_OK && !check->result.is_serious;
}

static bool zonecheck_load(zonecheck_t *check, const source_t *source, zone_contents_t **ret_zone)
{
	const zone_build_params_t params = {
		.origin = source->origin,
		.default_ttl = DEFAULT_TTL_S,
		.checks = ZONE_CHECKS_REPORT,
		.dnssec = check->dnssec,
		.prove = validate_report,
		.thread_count = check->thread_count,
		.now_s = check->now_s,
		.on_message = result_add,
		.lines = check->result.is_json || check->result.has_lines ? ZONE_LINES_ALL : ZONE_LINES_NONE,
		.ctx = &check->result,
	};
	knot_err_t err = source->text.data != NULL ? zone_build_text(source->text, source->path, &params, ret_zone)
						   : zone_build_file(source->path, &params, ret_zone);
	struct stat st;
	bool is_folder = stat(source->path, &st) == 0 && S_ISDIR(st.st_mode);
	if (err == KNOT_EFILE || err == KNOT_ENOENT || err == KNOT_EACCES) {
		result_error(&check->result, "failed to load the zone file '%s' (%s)", source->path,
				is_folder ? "is a directory" : knot_strerror(err));
	} else if (err != KNOT_OK && !check->result.has_faults) {
		result_error(&check->result, "failed to run semantic checks (%s)", knot_strerror(err));
	}
	return err == KNOT_OK;
}

static bool zonecheck_check(zonecheck_t *check, const source_t *source)
{
	zone_contents_t *zone = NULL;
	result_begin(&check->result, source->origin, source->path);
	bool is_good = zonecheck_load(check, source, &zone);
	if (is_good) {
		is_good = zonecheck_judge(check, zone);
		is_good = (!check->prints || zonecheck_print(check, zone)) && is_good;
	}
	if (is_good && check->result.is_verbose && !check->prints && !check->result.is_json) {
		printf("No error found\n");
	}
	is_good = result_end(&check->result, is_good) && is_good;
	zone_contents_free(zone);
	return is_good;
}

static bool zonecheck_run(zonecheck_t *check)
{
	source_t source;
	char error[SOURCE_ERROR_MAX];
	if (!source_open(check->file, check->origin, &source, error)) {
		result_error(&check->result, "%s", error);
		return false;
	}
	if (check->origin == NULL && check->result.is_verbose && !check->result.is_json) {
		char origin[KNOT_NAME_TEXT_MAX];
		(void)knot_name_print(source.origin, origin);
		printf("detected zone origin %s\n", origin);
	}
	bool is_good = zonecheck_check(check, &source);
	source_close(&source);
	return is_good;
}

/* ---- Options ---- */

typedef enum { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_WRONG } options_t;

/* Words that begin like 1, yes or true, as in Knot, and their opposites. A slip of the pen must not skip checks. */
static options_t zonecheck_read_dnssec(zonecheck_t *check)
{
	bool is_on = (optarg[0] != '\0' && strchr("1yt", optarg[0]) != NULL) || strcmp(optarg, "on") == 0;
	bool is_off = (optarg[0] != '\0' && strchr("0nf", optarg[0]) != NULL) || strcmp(optarg, "off") == 0;
	if (!is_on && !is_off) {
		result_error(&check->result, "invalid value '%s' of --dnssec, use on or off", optarg);
		return OPTIONS_WRONG;
	}
	check->dnssec = is_on ? ZONE_DNSSEC_ON : ZONE_DNSSEC_OFF;
	return OPTIONS_RUN;
}

static options_t zonecheck_read_time(zonecheck_t *check)
{
	if (when_read(optarg, check->now_s, &check->now_s)) {
		return OPTIONS_RUN;
	}
	result_error(&check->result, "unknown time format '%s', use YYYYMMDDhhmmss, seconds since 1970, or +5D or -30m",
			optarg);
	return OPTIONS_WRONG;
}

static options_t zonecheck_read_jobs(zonecheck_t *check)
{
	uint64_t number;
	if (!knot_number_of(optarg, 1, THREADS_MAX, &number)) {
		result_error(&check->result, "invalid number of threads '%s'", optarg);
		return OPTIONS_WRONG;
	}
	check->thread_count = (unsigned)number;
	return OPTIONS_RUN;
}

static options_t zonecheck_option(int c, zonecheck_t *check)
{
	switch (c) {
	case 'o': check->origin = optarg; return OPTIONS_RUN;
	case 'd': return zonecheck_read_dnssec(check);
	case 'z': check->verifies_zonemd = true; return OPTIONS_RUN;
	case 't': return zonecheck_read_time(check);
	case 'j': return zonecheck_read_jobs(check);
	case 'l': check->result.has_lines = true; return OPTIONS_RUN;
	case 'J': check->result.is_json = true; return OPTIONS_RUN;
	case 'p': check->prints = true; return OPTIONS_RUN;
	case 'v': check->result.is_verbose = true; return OPTIONS_RUN;
	case 'h': zonecheck_help(); return OPTIONS_DONE;
	case 'V': conf_version_print("kzonecheck", optarg != NULL); return OPTIONS_DONE;
	default: zonecheck_help(); return OPTIONS_WRONG;
	}
}

static options_t zonecheck_options(int argc, char **argv, zonecheck_t *check)
{
	static const struct option known[] = {
		{ "origin", required_argument, NULL, 'o' },
		{ "dnssec", required_argument, NULL, 'd' },
		{ "zonemd", no_argument, NULL, 'z' },
		{ "time", required_argument, NULL, 't' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "lines", no_argument, NULL, 'l' },
		{ "json", no_argument, NULL, 'J' },
		{ "print", no_argument, NULL, 'p' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", optional_argument, NULL, 'V' },
		{ 0 },
	};
	int c;
	while ((c = getopt_long(argc, argv, "o:d:zt:j:lJpvhV::", known, NULL)) != -1) {
		options_t found = zonecheck_option(c, check);
		if (found != OPTIONS_RUN) {
			return found;
		}
	}
	if (argc == optind) {
		result_error(&check->result, "expected zone file name");
		zonecheck_help();
		return OPTIONS_WRONG;
	}
	if (argc > optind + 1) {
		result_error(&check->result, "superfluous argument '%s', one file is checked", argv[optind + 1]);
		return OPTIONS_WRONG;
	}
	check->file = argv[optind];
	if (check->prints && check->result.is_json) {
		result_error(&check->result, "the zone and JSON can't both be printed");
		return OPTIONS_WRONG;
	}
	return OPTIONS_RUN;
}

static unsigned zonecheck_count_processors(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);
	return count > 0 && count <= THREADS_MAX ? (unsigned)count : 1;
}

int main(int argc, char **argv)
{
	if (!sys_file_hold_streams()) {
		return EXIT_FAILURE;
	}
	zonecheck_t check = { .dnssec = ZONE_DNSSEC_IF_SIGNED,
		.now_s = (uint64_t)time(NULL),
		.thread_count = zonecheck_count_processors() };
	options_t options = zonecheck_options(argc, argv, &check);
	bool is_good = options == OPTIONS_DONE || (options == OPTIONS_RUN && zonecheck_run(&check));
	bool is_written = sys_file_end_output();
	return is_good && is_written ? EXIT_SUCCESS : EXIT_FAILURE;
}
