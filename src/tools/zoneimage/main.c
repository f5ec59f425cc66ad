/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * kzoneimage: shows and verifies stored zone images, also while a server runs; see doc/man/kzoneimage.8.
 */
#include "src/conf/conf.h"
#include "src/conf/version.h"
#include "src/store/store.h"
#include "src/sys/clock.h"
#include "src/sys/file.h"
#include "src/tools/zoneimage/report.h"

#include <getopt.h>
#include <stdlib.h>

typedef struct {
	const char *config;
	const char *dir; /* NULL: the configuration says */
	bool verify;
} params_t;

typedef struct {
	const params_t *params;
	report_t *report;
	store_t *store;
	uint64_t bad;  /* damaged ones, or asked for and not there */
	bool is_asked; /* zones are named; else one that isn't there was removed just now */
} listing_t;

static void image_print_help(FILE *out)
{
	fprintf(out,
			"Usage: kzoneimage [parameters] [zone ...]\n"
			"\n"
			"Show the images of zones that a server starts from; all of them without arguments.\n"
			"\n"
			"Parameters:\n"
			" -c, --config <file>   Take the directory from this configuration file.\n"
			"                        (default %s)\n"
			" -d, --dir <dir>       Use this directory of images, and no configuration.\n"
			" -j, --json            Print JSON.\n"
			" -s, --sources         List all files that each image was made from.\n"
			" -v, --verify          Read the images as a whole and compare their checksums.\n"
			" -h, --help            Print the program help.\n"
			" -V, --version         Print the program version.\n",
			conf_default_path());
}

/* ---- One image ---- */

static knot_err_t image_verify(store_reader_t *reader, const store_view_t *view, store_reason_t *reason)
{
	for (uint32_t i = 0; i < view->chunk_count; i++) {
		uint8_t *bytes = malloc(view->chunk_lens[i] + 1);
		if (bytes == NULL) {
			snprintf(reason->text, sizeof(reason->text), "out of memory");
			return KNOT_ENOMEM;
		}
		knot_err_t err = store_read_chunk(reader, i, bytes, reason);
		free(bytes);
		if (err != KNOT_OK) {
			return err;
		}
	}
	return KNOT_OK;
}

static knot_err_t image_read(listing_t *listing, knot_name_t zone, const char *name, store_reason_t *ret_reason)
{
	store_reader_t *reader;
	store_view_t view;
	report_verdict_t verdict = REPORT_NOT_VERIFIED;
	knot_err_t err = store_read_begin(listing->store, zone, &reader, &view, ret_reason);
	if (err != KNOT_OK) {
		return err;
	}
	if (listing->params->verify) {
		err = image_verify(reader, &view, ret_reason);
		verdict = err == KNOT_OK ? REPORT_VERIFIED : REPORT_DAMAGED;
	}
	report_image(listing->report, name, &view, verdict);
	store_read_end(reader);
	return err;
}

static bool image_show(knot_name_t zone, void *ctx)
{
	listing_t *listing = ctx;
	char name[KNOT_NAME_TEXT_MAX];
	knot_name_print(zone, name);
	store_reason_t reason;
	knot_err_t err = image_read(listing, zone, name, &reason);
	report_print(listing->report);
	if (err != KNOT_OK && (err != KNOT_ENOENT || listing->is_asked)) {
		report_error(listing->report, name, "zone image, %s", reason.text);
		listing->bad++;
	}
	return true;
}

/* ---- All ---- */

static bool image_show_named(listing_t *listing, char **names, int count)
{
	for (int i = 0; i < count; i++) {
		uint8_t wire[KNOT_NAME_MAX];
		knot_name_t zone;
		knot_err_t err = knot_name_scan(knot_str_of(names[i]), knot_name_root, wire, &zone);
		if (err != KNOT_OK) {
			report_error(listing->report, names[i], "invalid zone name (%s)", knot_strerror(err));
			return false;
		}
		knot_name_lower(zone, wire);
		image_show(zone, listing);
	}
	return true;
}

static bool image_show_all(listing_t *listing)
{
	knot_err_t err = store_each(listing->store, image_show, listing);
	size_t damaged = 0;
	if (err == KNOT_OK) {
		err = store_count_damaged(listing->store, &damaged);
	}
	if (err != KNOT_OK) {
		report_error(listing->report, NULL, "reading zone images failed (%s)", knot_strerror(err));
		return false;
	}
	if (damaged > 0) {
		report_error(listing->report, NULL,
				"%zu records of images are damaged; the server builds those zones from their sources",
				damaged);
	}
	listing->bad += damaged;
	return true;
}

static bool image_list(const params_t *params, report_t *report, const char *dir, char **names, int count)
{
	listing_t listing = { .params = params, .report = report, .is_asked = count > 0 };
	store_reason_t reason;
	knot_err_t err = store_open(&(store_options_t){ .path = dir, .read_only = true }, &listing.store, &reason);
	if (err != KNOT_OK) {
		report_error(report, NULL, "zone images in '%s', %s", dir, reason.text);
		return false;
	}
	report_directory(report, dir);
	bool is_good = count > 0 ? image_show_named(&listing, names, count) : image_show_all(&listing);
	is_good &= listing.bad == 0;
	store_room_t room = store_room(listing.store);
	report_totals(report, &room, params->verify && is_good);
	store_close(listing.store);
	return is_good;
}

static void image_report_fault(void *ctx, const conf_fault_t *fault)
{
	if (fault->severity == CONF_ERROR) {
		report_error(ctx, NULL, "%s", fault->text);
	}
}

static bool image_run(const params_t *params, report_t *report, char **names, int count)
{
	if (params->dir != NULL) {
		return image_list(params, report, params->dir, names, count);
	}
	const char *path = params->config != NULL ? params->config : conf_default_path();
	conf_host_t host = conf_host_offline();
	host.version = PACKAGE_STRING;
	conf_t *conf;
	knot_err_t err = conf_load(path, &host, (conf_sink_t){ image_report_fault, report }, &conf);
	if (err != KNOT_OK) {
		report_error(report, NULL, "failed to load configuration file '%s' (%s)", path, knot_strerror(err));
		return false;
	}
	bool is_good = image_list(params, report, conf->database.image_db, names, count);
	conf_free(conf);
	return is_good;
}

static int image_end_output(void)
{
	return sys_file_end_output() ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	if (!sys_file_hold_streams()) {
		return EXIT_FAILURE;
	}
	static const struct option known[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "dir", required_argument, NULL, 'd' },
		{ "json", no_argument, NULL, 'j' },
		{ "sources", no_argument, NULL, 's' },
		{ "verify", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", optional_argument, NULL, 'V' },
		{ 0 },
	};
	params_t params = { 0 };
	report_t report = { .now_s = (int64_t)sys_clock_wall() };
	int c;
	while ((c = getopt_long(argc, argv, "c:d:jsvhV::", known, NULL)) != -1) {
		switch (c) {
		case 'c': params.config = optarg; break;
		case 'd': params.dir = optarg; break;
		case 'j': report.is_json = true; break;
		case 's': report.lists_sources = true; break;
		case 'v': params.verify = true; break;
		case 'h': image_print_help(stdout); return image_end_output();
		case 'V': conf_version_print("kzoneimage", optarg != NULL); return image_end_output();
		default: image_print_help(stderr); return EXIT_FAILURE;
		}
	}
	report_begin(&report);
	bool is_good = image_run(&params, &report, argv + optind, argc - optind);
	return report_end(&report, is_good) && is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
