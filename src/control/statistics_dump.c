/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/statistics_dump.h"

#include "src/sys/clock.h"
#include "src/sys/file.h"
#include "src/sys/lock.h"
#include "src/sys/log.h"
#include "src/sys/thread.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

struct statistics_dump {
	server_t *server;
	net_t *net;
	sys_thread_t thread;
	sys_mutex_t lock;
	pthread_cond_t changed;
	bool stopping SYS_GUARDED_BY(lock), reconfigured SYS_GUARDED_BY(lock);
};

/* ---- Printing ---- */

typedef struct {
	FILE *out;
	const state_t *state;
	unsigned indent;  /* spaces before a section */
	const char *zone; /* to be printed before its first section; NULL: done, or none */
	bool zones_started;
	char section[64], item[64]; /* printed last */
} printer_t;

/*
 * A word as Knot writes it, bare, if it can only be text in any YAML: a letter, then letters, digits, hyphens and dots,
 * as type names, flags and host names are, but none of the words for null and truth values. Bare, too, are the sizes of
 * a counter ("16-31"): no YAML takes two numbers with one hyphen for anything but text. Everything else is quoted.
 */
static bool dump_is_bare_word(const char *word)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	static const char rest[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.";
	static const char digits[] = "0123456789";
	static const char *const values[] = { "null", "true", "false", "yes", "no", "on", "off", "y", "n" };
	for (size_t i = 0; i < KNOT_LEN(values); i++) {
		if (strcasecmp(values[i], word) == 0) {
			return false;
		}
	}
	size_t low = strspn(word, digits);
	bool is_range = low > 0 && word[low] == '-' && word[low + 1] != '\0' &&
			strspn(word + low + 1, digits) == strlen(word + low + 1);
	return is_range || (word[0] != '\0' && strchr(letters, word[0]) != NULL && strspn(word, rest) == strlen(word));
}

static void dump_print_word(FILE *out, const char *word)
{
	if (dump_is_bare_word(word)) {
		fputs(word, out);
		return;
	}
	fputc('"', out);
	for (const char *c = word; *c != '\0'; c++) {
		unsigned char byte = (unsigned char)*c;
		if (byte < ' ' || byte == 0x7f) {
			fprintf(out, "\\x%02x", byte);
		} else {
			fprintf(out, "%s%c", byte == '\\' || byte == '"' ? "\\" : "", byte);
		}
	}
	fputc('"', out);
}

/* A counter that isn't 0, with the headings that are new since the one before. */
static bool dump_print_counter(const counter_t *counter, void *ctx)
{
	printer_t *printer = ctx;
	if (counter->value == 0) {
		return true;
	}
	FILE *out = printer->out;
	if (printer->zone != NULL) {
		if (!printer->zones_started) {
			printer->zones_started = true;
			fputs("zone:\n", out);
		}
		fprintf(out, " \"%s\":\n", printer->zone);
		printer->zone = NULL;
	}
	int indent = (int)printer->indent;
	if (strcmp(printer->section, counter->section) != 0) {
		snprintf(printer->section, sizeof(printer->section), "%s", counter->section);
		printer->item[0] = '\0';
		fprintf(out, "%*s%s:\n", indent, "", counter->section);
	}
	if (counter->id == NULL) {
		fprintf(out, "%*s%s: %" PRIu64 "\n", indent + 1, "", counter->item, counter->value);
		return ferror(out) == 0;
	}
	if (strcmp(printer->item, counter->item) != 0) {
		snprintf(printer->item, sizeof(printer->item), "%s", counter->item);
		fprintf(out, "%*s%s:\n", indent + 1, "", counter->item);
	}
	fprintf(out, "%*s", indent + 2, "");
	dump_print_word(out, counter->id);
	fprintf(out, ": %" PRIu64 "\n", counter->value);
	return ferror(out) == 0;
}

/* A double-quoted YAML scalar keeps a name's backslashes only if they are doubled. */
static void dump_quote_name(knot_name_t name, char text[static 2 * KNOT_NAME_TEXT_MAX])
{
	char plain[KNOT_NAME_TEXT_MAX];
	size_t len = knot_name_print(name, plain), out = 0;
	for (size_t i = 0; i < len; i++) {
		if (plain[i] == '\\' || plain[i] == '"') {
			text[out++] = '\\';
		}
		text[out++] = plain[i];
	}
	text[out] = '\0';
}

static bool dump_print_zone(zone_t *zone, void *ctx)
{
	printer_t *printer = ctx;
	if (state_zone_modules(printer->state, zone) == NULL) {
		return true;
	}
	char name[2 * KNOT_NAME_TEXT_MAX];
	dump_quote_name(zone_name(zone), name);
	printer->zone = name;
	printer->section[0] = printer->item[0] = '\0';
	bool go_on = counters_zone(printer->state, zone, false, dump_print_counter, printer);
	printer->zone = NULL;
	return go_on;
}

bool statistics_print(FILE *out, const struct timespec *when, const state_t *state, const net_t *net,
		const counters_reading_t *reading)
{
	struct tm local;
	char stamp[64] = "";
	if (localtime_r(&when->tv_sec, &local) != NULL) {
		(void)strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S%z", &local);
	}
	fprintf(out, "---\ntime: %s\n", stamp);
	if (state->conf->server.identity != NULL && *state->conf->server.identity != '\0') {
		fputs("identity: ", out);
		dump_print_word(out, state->conf->server.identity);
		fputc('\n', out);
	}
	printer_t printer = { .out = out, .state = state };
	if (counters_server(state, net, reading, dump_print_counter, &printer)) {
		printer.indent = 2;
		zonedb_each(state->zones, dump_print_zone, &printer);
	}
	return ferror(out) == 0;
}

/* ---- Files ---- */

/* The document in memory, so that no read section waits for a disk. text: free it; NULL: no memory. */
static char *dump_make_document(const statistics_dump_t *dump, size_t *ret_len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_len);
	if (out == NULL) {
		return NULL;
	}
	struct timespec now = sys_clock_real();
	bool is_whole = false;
	counters_reading_t *reading = counters_read(dump->server, dump->net);
	if (reading != NULL) {
		RCU_READ_SECTION(guard);
		is_whole = statistics_print(
				out, &now, state_load(server_state(dump->server), guard), dump->net, reading);
	}
	counters_reading_free(reading);
	if (fclose(out) != 0 || !is_whole) {
		free(text);
		return NULL;
	}
	return text;
}

/* ret_what: what failed, for the log: in Knot's words. */
static knot_err_t dump_append_file(const char *path, const char *text, size_t len, const char **ret_what)
{
	*ret_what = "append";
	/* Not blocking: a pipe that nobody reads must not keep the server from ending. A link could lead to a file that
	 * the owner of the folder may not write. */
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0640);
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	struct stat info;
	bool is_file = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
	knot_err_t err = sys_file_write(fd, text, len);
	if (err != KNOT_OK && is_file) {
		(void)!ftruncate(fd, info.st_size); /* half a document would spoil those behind it */
	}
	close(fd);
	return err;
}

static knot_err_t dump_replace_file(const char *path, const char *text, size_t len, const char **ret_what)
{
	bool is_made;
	knot_err_t err = sys_file_replace(path, text, len, 0640, &is_made);
	*ret_what = is_made ? "access" : "open";
	return err;
}

/* The settings of the current configuration; false: no dumps. */
static bool dump_read_settings(
		const statistics_dump_t *dump, uint32_t *ret_timer_s, bool *ret_append, char path[static PATH_MAX])
{
	RCU_READ_SECTION(guard);
	const conf_statistics_t *conf = &state_load(server_state(dump->server), guard)->conf->statistics;
	*ret_timer_s = conf->timer_s;
	*ret_append = conf->append;
	snprintf(path, PATH_MAX, "%s", conf->file);
	return conf->timer_s > 0;
}

static void dump_write_document(const statistics_dump_t *dump, const char *path, bool append)
{
	size_t len;
	char *text = dump_make_document(dump, &len);
	const char *what = "access";
	knot_err_t err = text == NULL ? KNOT_ENOMEM
			 : append     ? dump_append_file(path, text, len, &what)
				      : dump_replace_file(path, text, len, &what);
	free(text);
	if (err != KNOT_OK) {
		static sys_log_repeats_t repeats;
		sys_log_repeated(&repeats, SYS_LOG_SERVER, LOG_ERR, "stats, failed to %s file '%s' (%s)", what, path,
				sys_file_strerror(path, err));
	} else {
		log_server(LOG_DEBUG, "stats, dumped into file '%s'", path);
	}
}

/* ---- The thread ---- */

/* Sleep until it is time to dump (true), or something changed (false). */
static bool dump_sleep_until_due(statistics_dump_t *dump, bool has_timer, uint32_t timer_s) SYS_REQUIRES(dump->lock)
{
	struct timespec end = sys_clock_until(CLOCK_MONOTONIC, (uint64_t)timer_s * 1000);
	while (!dump->stopping && !dump->reconfigured) {
		if (!has_timer) {
			sys_mutex_wait(&dump->lock, &dump->changed);
		} else if (!sys_mutex_wait_until(&dump->lock, &dump->changed, &end)) {
			return !dump->stopping;
		}
	}
	dump->reconfigured = false;
	return false;
}

static void dump_run_thread(void *arg)
{
	statistics_dump_t *dump = arg;
	char path[PATH_MAX];
	uint32_t timer_s;
	bool append;
	sys_mutex_lock(&dump->lock);
	while (!dump->stopping) {
		sys_mutex_unlock(&dump->lock);
		bool has_timer = dump_read_settings(dump, &timer_s, &append, path);
		sys_mutex_lock(&dump->lock);
		if (dump_sleep_until_due(dump, has_timer, timer_s)) {
			sys_mutex_unlock(&dump->lock);
			dump_write_document(dump, path, append);
			sys_mutex_lock(&dump->lock);
		}
	}
	sys_mutex_unlock(&dump->lock);
}

statistics_dump_t *statistics_dump_new(server_t *server, net_t *net)
{
	statistics_dump_t *dump = calloc(1, sizeof(*dump));
	if (dump == NULL) {
		return NULL;
	}
	dump->server = server;
	dump->net = net;
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&dump->changed, &attr);
	pthread_condattr_destroy(&attr);
	sys_mutex_init(&dump->lock);
	return dump;
}

knot_err_t statistics_dump_start(statistics_dump_t *dump)
{
	dump->thread = (sys_thread_t){ .name = "statistics", .cpu = -1, .run = dump_run_thread, .arg = dump };
	return sys_thread_start(&dump->thread);
}

static void dump_wake_thread(statistics_dump_t *dump, bool stop)
{
	sys_mutex_lock(&dump->lock);
	dump->reconfigured = true;
	dump->stopping |= stop;
	pthread_cond_signal(&dump->changed);
	sys_mutex_unlock(&dump->lock);
}

void statistics_dump_reconfigure(statistics_dump_t *dump)
{
	dump_wake_thread(dump, false);
}

void statistics_dump_stop(statistics_dump_t *dump)
{
	dump_wake_thread(dump, true);
	sys_thread_join(&dump->thread);
}

void statistics_dump_free(statistics_dump_t *dump)
{
	if (dump != NULL) {
		pthread_cond_destroy(&dump->changed);
		sys_mutex_done(&dump->lock);
		free(dump);
	}
}
