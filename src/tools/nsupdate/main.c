/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * knsupdate: sends dynamic updates to DNS servers; see doc/man/knsupdate.1.
 */
#include "src/sys/file.h"
#include "src/sys/lines.h"
#include "src/tools/lookup/trust.h"
#include "src/tools/nsupdate/session.h"

#include "libknot/base/number.h"
#include "src/conf/version.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RETRIES_DEFAULT = 3, TIMEOUT_DEFAULT_MS = 12000, OPTION_COUNT_MAX = 32 };

/** What the command line is read into. */
typedef struct {
	session_t *session;
	transport_trust_params_t tls;
	bool has_tls; /* something is said about it */
} arguments_t;

/* ---- Options ---- */

static bool main_fail(arguments_t *arguments, const char *what, const char *value)
{
	lookup_error(&arguments->session->lookup, "invalid %s '%s'", what, value);
	return false;
}

static bool main_set_tcp(arguments_t *arguments, const char *value)
{
	(void)value;
	arguments->session->settings.is_tcp = true;
	return true;
}

static bool main_set_tls(arguments_t *arguments, const char *value)
{
	(void)value;
	arguments->session->settings.uses_tls = true;
	arguments->session->settings.uses_quic = false;
	return true;
}

static bool main_set_quic(arguments_t *arguments, const char *value)
{
	(void)value;
	arguments->session->settings.uses_quic = true;
	arguments->session->settings.uses_tls = false;
	return true;
}

static bool main_set_debug(arguments_t *arguments, const char *value)
{
	(void)value;
	arguments->session->lookup.debug = 1;
	return true;
}

static bool main_set_port(arguments_t *arguments, const char *value)
{
	uint64_t none; /* of a client's address 0 is any port, but nobody listens there */
	bool is_port = lookup_is_port(value) && !knot_number_of(value, 0, 0, &none);
	arguments->session->settings.port = value;
	return is_port || main_fail(arguments, "port", value);
}

static bool main_set_retries(arguments_t *arguments, const char *value)
{
	uint64_t count;
	if (!knot_number_of(value, 0, UINT32_MAX, &count)) {
		return main_fail(arguments, "retries", value);
	}
	arguments->session->settings.retries = (uint32_t)count;
	return true;
}

static bool main_set_timeout(arguments_t *arguments, const char *value)
{
	uint64_t seconds;
	if (!knot_number_of(value, 0, UINT32_MAX / 1000, &seconds)) {
		return main_fail(arguments, "timeout", value);
	}
	arguments->session->settings.timeout_ms = (uint32_t)seconds * 1000;
	return true;
}

static bool main_take_key(arguments_t *arguments, lookup_key_t *key)
{
	lookup_query_t *settings = &arguments->session->settings;
	if (settings->key != NULL) {
		lookup_key_free(key);
		lookup_error(&arguments->session->lookup, "more than one key: -k and -y exclude each other");
		return false;
	}
	settings->key = key;
	return true;
}

static bool main_set_key(arguments_t *arguments, const char *value)
{
	const char *reason;
	lookup_key_t *key = lookup_key_scan(value, &reason);
	if (key == NULL) { /* logs aren't the place for a secret */
		lookup_error(&arguments->session->lookup, "failed to parse key (%s)", reason);
		return false;
	}
	return main_take_key(arguments, key);
}

static bool main_set_keyfile(arguments_t *arguments, const char *value)
{
	const char *reason;
	lookup_key_t *key = lookup_key_read(value, &reason);
	if (key == NULL) {
		lookup_error(&arguments->session->lookup, "failed to parse keyfile '%s' (%s)", value, reason);
		return false;
	}
	return main_take_key(arguments, key);
}

static bool main_set_ca(arguments_t *arguments, const char *value)
{
	transport_trust_params_t *tls = &arguments->tls;
	if (value == NULL) {
		tls->uses_system_ca = true;
	} else if (tls->ca_file_count == TRANSPORT_CA_FILES_MAX) {
		return main_fail(arguments, "CA file, there are too many", value);
	} else {
		tls->ca_files[tls->ca_file_count++] = value;
	}
	arguments->has_tls = true;
	return true;
}

static bool main_set_pin(arguments_t *arguments, const char *value)
{
	transport_trust_params_t *tls = &arguments->tls;
	if (tls->pin_count == TRANSPORT_PINS_MAX) {
		return main_fail(arguments, "pin, there are too many", value);
	}
	if (!lookup_scan_pin(value, tls->pins[tls->pin_count])) {
		return main_fail(arguments, "pin", value);
	}
	tls->pin_count++;
	arguments->has_tls = true;
	return true;
}

static bool main_set_hostname(arguments_t *arguments, const char *value)
{
	arguments->session->settings.hostname = value;
	arguments->has_tls = true;
	return true;
}

static bool main_set_sni(arguments_t *arguments, const char *value)
{
	arguments->session->settings.sni = value;
	arguments->has_tls = true;
	return true;
}

static bool main_set_certfile(arguments_t *arguments, const char *value)
{
	arguments->tls.cert_file = value;
	arguments->has_tls = true;
	return true;
}

static bool main_set_tls_keyfile(arguments_t *arguments, const char *value)
{
	arguments->tls.key_file = value;
	arguments->has_tls = true;
	return true;
}

/** One option. argument: as the help prints it behind the long name. */
typedef struct {
	char letter;
	const char *name;
	int takes; /* no_argument ... */
	const char *argument, *doc;
	bool (*set)(arguments_t *arguments, const char *value);
} option_row_t;

static const option_row_t main_options[] = {
	{ 'T', "tcp", no_argument, "", "Send over TCP.", main_set_tcp },
	{ 'v', NULL, no_argument, "", "The same, as nsupdate has it.", main_set_tcp },
	{ 'S', "tls", no_argument, "", "Send over TLS.", main_set_tls },
	{ 'Q', "quic", no_argument, "", "Send over QUIC.", main_set_quic },
	{ 'p', "port", required_argument, " PORT", "Port of servers without one (53; TLS and QUIC: 853).",
			main_set_port },
	{ 'r', "retry", required_argument, " COUNT", "How often to repeat over UDP (3).", main_set_retries },
	{ 't', "timeout", required_argument, " SECONDS",
			"How long to wait for an answer, all in all (12); 0: for ever.", main_set_timeout },
	{ 'y', "tsig", required_argument, " [ALG:]NAME:SECRET", "Sign with a TSIG key.", main_set_key },
	{ 'k', "tsigfile", required_argument, " FILE", "Sign with the TSIG key in a file.", main_set_keyfile },
	{ 'H', "hostname", required_argument, " NAME", "Verify that the server's certificate is NAME's.",
			main_set_hostname },
	{ 'P', "pin", required_argument, " BASE64", "Verify the server by the SHA-256 of its public key.",
			main_set_pin },
	{ 'A', "ca", optional_argument, "[=FILE]", "Verify the server by CAs in FILE or of the system.", main_set_ca },
	{ 'E', "certfile", required_argument, " FILE", "Certificate of the client.", main_set_certfile },
	{ 'K', "keyfile", required_argument, " FILE", "Private key of the client's certificate.",
			main_set_tls_keyfile },
	{ 's', "sni", required_argument, " NAME", "Ask for the server NAME.", main_set_sni },
	{ 'd', "debug", no_argument, "", "Print what is done.", main_set_debug },
	{ 'h', "help", no_argument, "", "Print this help.", NULL },
	{ 'V', "version", optional_argument, "", "Print the version; -VV how it was built, too.", NULL },
};

static void main_help(void)
{
	printf("Usage: knsupdate [-T | -S | -Q] [options] [file...]\n\n"
	       "Sends the updates that the commands in files, or on standard input, describe.\n\n");
	for (size_t i = 0; i < KNOT_LEN(main_options); i++) {
		const option_row_t *row = &main_options[i];
		char form[64];
		snprintf(form, sizeof(form), "-%c%s%s%s", row->letter, row->name != NULL ? ", --" : "",
				row->name != NULL ? row->name : "", row->argument);
		printf("  %-30s %s\n", form, row->doc);
	}
}

/* getopt's form of the rows. */
static void main_print_getopt(
		char letters[static 3 * OPTION_COUNT_MAX], struct option longs[static OPTION_COUNT_MAX + 1])
{
	size_t count = 0;
	for (size_t i = 0; i < KNOT_LEN(main_options); i++) {
		const option_row_t *row = &main_options[i];
		*letters++ = row->letter;
		for (int n = 0; n < row->takes; n++) {
			*letters++ = ':';
		}
		if (row->name != NULL) {
			longs[count++] = (struct option){ row->name, row->takes, NULL, row->letter };
		}
	}
	*letters = '\0';
	longs[count] = (struct option){ 0 };
}

/* False: something is wrong. *ret_over: nothing is left to be done. */
static bool main_take_options(arguments_t *arguments, int argc, char **argv, bool *ret_over)
{
	char letters[3 * OPTION_COUNT_MAX];
	struct option longs[OPTION_COUNT_MAX + 1];
	int letter;
	main_print_getopt(letters, longs);
	*ret_over = false;
	while ((letter = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (letter == 'h' || letter == '?') {
			main_help();
			*ret_over = true;
			return letter == 'h';
		}
		if (letter == 'V') {
			conf_version_print("knsupdate", optarg != NULL);
			*ret_over = true;
			return true;
		}
		for (size_t i = 0; i < KNOT_LEN(main_options); i++) {
			if (main_options[i].letter == letter && !main_options[i].set(arguments, optarg)) {
				return false;
			}
		}
	}
	lookup_query_t *settings = &arguments->session->settings;
	if (arguments->has_tls) { /* who names the server's certificate doesn't want to send in the clear */
		settings->tls = &arguments->tls;
		settings->uses_tls |= !settings->uses_quic;
	}
	return true;
}

/* ---- Files ---- */

/* Run a file's lines up to the first that fails. */
static bool main_run_lines(session_t *session, int fd, const char *name, bool *ret_over)
{
	sys_lines_t lines = sys_lines_of(fd);
	lookup_t *lookup = &session->lookup;
	char *line;
	size_t len;
	bool is_good = true;
	while (is_good && !*ret_over && sys_lines_next(&lines, &line, &len)) {
		is_good = session_run(session, (knot_str_t){ line, len }, ret_over);
	}
	sys_lines_done(&lines);
	if (lines.error != 0) {
		lookup_error(lookup, "failed to read '%s' (%s)", name, strerror(lines.error));
		return false;
	}
	if (lines.fault != NULL) {
		lookup_error(lookup, "%s", lines.fault);
	}
	if (!is_good || lines.fault != NULL) {
		lookup_error(lookup, "in %s, line %zu", name, lines.number);
	}
	return is_good && lines.fault == NULL;
}

static bool main_run_file(session_t *session, const char *path, bool *ret_over)
{
	if (strcmp(path, "-") == 0) {
		return main_run_lines(session, STDIN_FILENO, "standard input", ret_over);
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		lookup_error(&session->lookup, "failed to open '%s' (%s)", path, strerror(errno));
		return false;
	}
	bool is_good = main_run_lines(session, fd, path, ret_over);
	close(fd);
	return is_good;
}

static bool main_run(session_t *session, int count, char **paths)
{
	bool is_over = false, is_good = true;
	if (count == 0 && isatty(STDIN_FILENO)) {
		return session_prompt(session);
	}
	if (count == 0) {
		is_good = main_run_file(session, "-", &is_over);
	}
	for (int i = 0; i < count && is_good && !is_over; i++) {
		is_good = main_run_file(session, paths[i], &is_over);
	}
	if (is_good) {
		(void)session_warn_unsent(session);
	}
	return is_good;
}

int main(int argc, char **argv)
{
	if (!sys_file_hold_streams()) {
		return EXIT_FAILURE;
	}
	static session_t session;
	arguments_t arguments = { .session = &session };
	bool is_over;
	script_init(&session.script);
	session.settings = lookup_query_default();
	session.settings.retries = RETRIES_DEFAULT;
	session.settings.timeout_ms = TIMEOUT_DEFAULT_MS;
	session.settings.style.shows &= ~(uint32_t)PRESENT_STATS;
	bool is_good = main_take_options(&arguments, argc, argv, &is_over);
	if (is_good && !is_over) {
		is_good = main_run(&session, argc - optind, argv + optind);
	}
	script_done(&session.script);
	is_good &= lookup_done(&session.lookup);
	is_good &= sys_file_end_output();
	return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
