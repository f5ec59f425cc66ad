/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * kzoneimage: shows and verifies stored zone images, also while a server runs; see doc/man/kzoneimage.8.
 */
#include "src/conf/conf.h"
#include "src/store/store.h"
#include "src/sys/clock.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

typedef struct {
	const char *config;
	const char *dir; /* NULL: the configuration says */
	bool verify;
	bool list_sources;
} params_t;

typedef struct {
	const params_t *params;
	store_t *store;
	time_t now;
	uint64_t shown, size;
	uint64_t bad;  /* damaged ones, or asked for and not there */
	bool is_asked; /* zones are named; else one that isn't there was removed just now */
} listing_t;

static void print_help(FILE *out)
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
			" -s, --sources         List all files that each image was made from.\n"
			" -v, --verify          Read the images as a whole and compare their checksums.\n"
			" -h, --help            Print the program help.\n"
			" -V, --version         Print the program version.\n",
			conf_default_path());
}

/* ---- One image ---- */

static const char *size_text(uint64_t size, char text[static 24])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)size;
	size_t unit = 0;
	while (value >= 1024 && unit + 1 < KNOT_LEN(units)) {
		value /= 1024;
		unit++;
	}
	snprintf(text, 24, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
	return text;
}

static const char *age_text(int64_t age_s, char text[static 24])
{
	static const struct {
		int64_t unit_s;
		const char *name;
	} units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "m" }, { 1, "s" } };
	size_t i = 0;
	while (i + 1 < KNOT_LEN(units) && age_s < 2 * units[i].unit_s) {
		i++;
	}
	snprintf(text, 24, "%" PRId64 "%s", age_s / units[i].unit_s, units[i].name);
	return text;
}

/* What became of a file since the image was made from it. */
static const char *state_of(const store_source_t *source)
{
	char path[STORE_PATH_MAX + 1];
	struct stat info;
	memcpy(path, source->path.data, source->path.len);
	path[source->path.len] = '\0';
	if (stat(path, &info) != 0) {
		return errno == ENOENT ? "missing" : "unknown";
	}
	return store_source_is(source, &info) ? "same" : "changed";
}

static const char *state_of_all(const store_view_t *view)
{
	const char *state = "-";
	for (uint32_t i = 0; i < view->source_count; i++) {
		state = state_of(&view->sources[i]);
		if (strcmp(state, "same") != 0) {
			return state;
		}
	}
	return state;
}

static knot_err_t verify(store_reader_t *reader, const store_view_t *view, store_reason_t *reason)
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

static void print_image(FILE *out, const listing_t *listing, const char *name, const store_view_t *view)
{
	char size[24], age[24], saved[32];
	struct tm tm;
	time_t saved_s = (time_t)view->saved_s;
	strftime(saved, sizeof(saved), "%Y-%m-%dT%H:%M:%S", gmtime_r(&saved_s, &tm));
	fprintf(out, "%-32s %10" PRIu32 " %10s %6" PRIu32 " %6" PRIu32 "  %s %6s  %-7s", name, view->serial,
			size_text(view->size, size), view->piece_count, view->format, saved,
			age_text((int64_t)listing->now - (int64_t)saved_s, age), state_of_all(view));
	if (view->source_count == 0) {
		fprintf(out, " -");
	}
	uint32_t shown = listing->params->list_sources || view->source_count == 0 ? view->source_count : 1;
	for (uint32_t i = 0; i < shown; i++) {
		fprintf(out, " %.*s", (int)view->sources[i].path.len, view->sources[i].path.data);
	}
	if (view->source_count > shown) {
		fprintf(out, " (and %" PRIu32 " more)", view->source_count - shown);
	}
	putc('\n', out);
}

/* The line of an image, to be freed. Standard output may be a pager that takes its time: nothing is printed before
 * reading has ended. */
static knot_err_t look_at(
		listing_t *listing, knot_name_t zone, const char *name, char **ret_line, store_reason_t *ret_reason)
{
	store_reader_t *reader;
	store_view_t view;
	size_t len;
	FILE *out = open_memstream(ret_line, &len);
	if (out == NULL) {
		snprintf(ret_reason->text, sizeof(ret_reason->text), "out of memory");
		return KNOT_ENOMEM;
	}
	knot_err_t err = store_read_begin(listing->store, zone, &reader, &view, ret_reason);
	if (err == KNOT_OK) {
		print_image(out, listing, name, &view);
		listing->shown++;
		listing->size += view.size;
		err = listing->params->verify ? verify(reader, &view, ret_reason) : KNOT_OK;
		store_read_end(reader);
	}
	fclose(out);
	return err;
}

static bool show(knot_name_t zone, void *ctx)
{
	listing_t *listing = ctx;
	char name[KNOT_NAME_TEXT_MAX];
	knot_name_print(zone, name);
	char *line = NULL;
	store_reason_t reason;
	knot_err_t err = look_at(listing, zone, name, &line, &reason);
	if (line != NULL) {
		fputs(line, stdout);
	}
	free(line);
	if (err != KNOT_OK && (err != KNOT_ENOENT || listing->is_asked)) {
		fflush(stdout);
		fprintf(stderr, "error: [%s] zone image, %s\n", name, reason.text);
		listing->bad++;
	}
	return true;
}

/* ---- All ---- */

static bool show_named(listing_t *listing, char **names, int count)
{
	for (int i = 0; i < count; i++) {
		uint8_t wire[KNOT_NAME_MAX];
		knot_name_t zone;
		knot_err_t err = knot_name_scan(knot_str_of(names[i]), knot_name_root, wire, &zone);
		if (err != KNOT_OK) {
			fprintf(stderr, "error: [%s] invalid zone name (%s)\n", names[i], knot_strerror(err));
			return false;
		}
		knot_name_lower(zone, wire);
		show(zone, listing);
	}
	return true;
}

static bool show_all(listing_t *listing)
{
	knot_err_t err = store_each(listing->store, show, listing);
	size_t damaged = 0;
	if (err == KNOT_OK) {
		err = store_count_damaged(listing->store, &damaged);
	}
	if (err != KNOT_OK) {
		fprintf(stderr, "error: reading zone images failed (%s)\n", knot_strerror(err));
		return false;
	}
	if (damaged > 0) {
		fflush(stdout);
		fprintf(stderr,
				"error: %zu records of images are damaged; the server builds those zones from their "
				"sources\n",
				damaged);
	}
	listing->bad += damaged;
	return true;
}

static bool list(const params_t *params, const char *dir, char **names, int count)
{
	listing_t listing = { .params = params, .now = (time_t)sys_clock_wall(), .is_asked = count > 0 };
	store_reason_t reason;
	knot_err_t err = store_open(&(store_options_t){ .path = dir, .read_only = true }, &listing.store, &reason);
	if (err != KNOT_OK) {
		fprintf(stderr, "error: zone images in '%s', %s\n", dir, reason.text);
		return false;
	}
	printf("%-32s %10s %10s %6s %6s  %-19s %6s  %-7s %s\n", "zone", "serial", "size", "pieces", "format",
			"saved (UTC)", "age", "source", "file");
	bool ok = count > 0 ? show_named(&listing, names, count) : show_all(&listing);
	store_room_t room = store_room(listing.store);
	char size[24], used[24], max[24];
	printf("%" PRIu64 " images, %s; %s of %s in use%s\n", listing.shown, size_text(listing.size, size),
			size_text(room.used, used), size_text(room.max, max),
			params->verify && listing.bad == 0 && ok ? "; verified" : "");
	store_close(listing.store);
	return ok && listing.bad == 0;
}

static void tell(void *ctx, const conf_fault_t *fault)
{
	(void)ctx;
	if (fault->severity == CONF_ERROR) {
		fprintf(stderr, "error: %s\n", fault->text);
	}
}

static bool run(const params_t *params, char **names, int count)
{
	if (params->dir != NULL) {
		return list(params, params->dir, names, count);
	}
	const char *path = params->config != NULL ? params->config : conf_default_path();
	conf_host_t host = conf_host_offline();
	host.version = PACKAGE_STRING;
	conf_t *conf;
	knot_err_t err = conf_load(path, &host, (conf_sink_t){ tell, NULL }, &conf);
	if (err != KNOT_OK) {
		fprintf(stderr, "error: failed to load configuration file '%s' (%s)\n", path, knot_strerror(err));
		return false;
	}
	bool ok = list(params, conf->database.image_db, names, count);
	conf_free(conf);
	return ok;
}

int main(int argc, char **argv)
{
	static const struct option known[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "dir", required_argument, NULL, 'd' },
		{ "sources", no_argument, NULL, 's' },
		{ "verify", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	params_t params = { 0 };
	int c;
	while ((c = getopt_long(argc, argv, "c:d:svhV", known, NULL)) != -1) {
		switch (c) {
		case 'c': params.config = optarg; break;
		case 'd': params.dir = optarg; break;
		case 's': params.list_sources = true; break;
		case 'v': params.verify = true; break;
		case 'h': print_help(stdout); return EXIT_SUCCESS;
		case 'V': printf("kzoneimage (%s), version %s\n", PACKAGE_NAME, PACKAGE_VERSION); return EXIT_SUCCESS;
		default: print_help(stderr); return EXIT_FAILURE;
		}
	}
	return run(&params, argv + optind, argc - optind) ? EXIT_SUCCESS : EXIT_FAILURE;
}
