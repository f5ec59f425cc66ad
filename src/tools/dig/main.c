/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * kdig: asks DNS servers; see doc/man/kdig.1.
 *
 * The command line is read twice: once to see that all of it is good, once to ask each query as soon as its settings
 * are complete. So a mistake in the last word is told before anything is asked, and a hundred thousand queries need no
 * memory.
 */
#include "src/conf/version.h"
#include "src/sys/file.h"
#include "src/sys/lines.h"
#include "src/tools/dig/options.h"
#include "src/tools/lookup/trace.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/** Where the reading of a command line is. */
typedef struct {
	lookup_t *lookup;
	lookup_query_t common, query;
	bool has_query;                 /* `query` is being read; before, words are common settings */
	bool has_type;                  /* of the common settings: said */
	bool is_inner;                  /* a line of a file */
	bool has_batch;                 /* a file of queries was named */
	bool runs;                      /* ask; else only look */
	bool is_good;                   /* all answers so far */
	bool is_over;                   /* help or version were asked for */
	lookup_hosts_t *own_servers;    /* of the query, owned: its @ replace those of the common settings */
	const char *own_name;           /* of the query, owned: made by IDNA */
	lookup_key_t *own_key;          /* of the query, owned: its -y */
	lookup_hosts_t *common_servers; /* owned; a line of a file has those of the command line, too */
	lookup_key_t *common_key;       /* owned */
	option_data_t *own_data;        /* of the query, owned: of its + options */
	option_data_t *common_data;     /* owned */
	size_t count;                   /* queries */
} reading_t;

/* ---- Help ---- */

static void dig_help(void)
{
	size_t count;
	const option_row_t *rows = dig_options(&count);
	printf("Usage: kdig [-4] [-6] [-d] [-b address] [-c class] [-p port]\n"
	       "            [-q name] [-t type] [-x address] [-k keyfile]\n"
	       "            [-y [algo:]keyname:key] [-E tapfile] [-G tapfile] [-f file]\n"
	       "            name [type] [class] [@server]\n"
	       "\n"
	       "       -4, -6                     Use IPv4 only, IPv6 only.\n"
	       "       -b ADDRESS[#PORT]          Ask from this address.\n"
	       "       -c CLASS                   Class to ask for (IN).\n"
	       "       -t TYPE                    Type to ask for (A); IXFR=SERIAL, NOTIFY[=SERIAL].\n"
	       "       -q NAME                    Name to ask for; the same as NAME alone.\n"
	       "       -x ADDRESS                 Ask for the name of an address (PTR).\n"
	       "       -p PORT                    Port of servers without one (53; TLS, QUIC: 853; HTTPS: 443).\n"
	       "       -y [ALG:]NAME:SECRET       Sign with a TSIG key.\n"
	       "       -k FILE                    Sign with the TSIG key in a file.\n"
	       "       -f FILE                    Ask all queries of a file; - is standard input.\n"
	       "       -E FILE                    Write all messages to a dnstap file.\n"
	       "       -G FILE                    Print the replies of a dnstap file.\n"
	       "       -d                         Print what is done; -dd also names in certificates.\n"
	       "       @SERVER[#PORT]             Server to ask (those of /etc/resolv.conf).\n"
	       "\n");
	for (size_t i = 0; i < count; i++) {
		char name[64];
		if (rows[i].is_hidden) {
			continue;
		}
		const char *form = rows[i].argument == OPTION_TAKES      ? "%s=%s"
				   : rows[i].argument == OPTION_MAY_TAKE ? "%s[=%s]"
									 : "%s";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
		snprintf(name, sizeof(name), form, rows[i].name, rows[i].value);
#pragma GCC diagnostic pop
		printf("       +[no]%-21s %s\n", name, rows[i].doc);
	}
	printf("\n       -h, --help                 Print this help.\n"
	       "       -V, --version              Print the version; -VV how it was built, too.\n");
}

/* ---- Queries ---- */

static lookup_query_t *reading_query(reading_t *reading)
{
	return reading->has_query ? &reading->query : &reading->common;
}

/* What only the query has. */
static void reading_free_own(reading_t *reading)
{
	free(reading->own_servers);
	reading->own_servers = NULL;
	free((char *)reading->own_name);
	reading->own_name = NULL;
	lookup_key_free(reading->own_key);
	reading->own_key = NULL;
	dig_options_free(reading->lookup, &reading->own_data);
}

static void reading_done(reading_t *reading)
{
	reading_free_own(reading);
	free(reading->common_servers);
	lookup_key_free(reading->common_key);
	dig_options_free(reading->lookup, &reading->common_data);
}

/* The query is complete: ask it. */
static void reading_end_query(reading_t *reading)
{
	if (!reading->has_query) {
		return;
	}
	reading->count++;
	if (reading->runs && !reading->lookup->has_failed_output) {
		reading->is_good &= lookup_run(reading->lookup, &reading->query);
		lookup_progress(reading->lookup, "queries", reading->lookup->count);
	}
	reading_free_own(reading);
	reading->has_query = false;
}

/*
 * A list of servers that can be changed: of the query alone, or of the common settings, where those of the command line
 * stay as they are for the other lines of a file. NULL, which has been said: out of memory.
 */
static lookup_hosts_t *reading_make_servers(reading_t *reading)
{
	lookup_query_t *query = reading_query(reading);
	lookup_hosts_t **own = reading->has_query ? &reading->own_servers : &reading->common_servers;
	if (*own == NULL) {
		*own = calloc(1, sizeof(**own));
		if (*own == NULL) {
			lookup_error(reading->lookup, "out of memory");
			return NULL;
		}
		if (!reading->has_query && query->servers != NULL) {
			**own = *query->servers;
		}
		query->servers = *own;
	}
	return *own;
}

/* The servers of the common settings keep their port, whatever a query says. False: out of memory. */
static bool reading_fix_ports(reading_t *reading)
{
	const lookup_query_t *common = &reading->common;
	assert(!reading->has_query);
	if (common->servers == NULL || common->port == NULL) {
		return true;
	}
	lookup_hosts_t *servers = reading_make_servers(reading);
	for (size_t i = 0; servers != NULL && i < servers->count; i++) {
		lookup_host_t *host = &servers->hosts[i];
		host->service = host->service != NULL ? host->service : common->port;
	}
	return servers != NULL;
}

static bool reading_begin_query(reading_t *reading, const char *name)
{
	reading_end_query(reading);
	if (!reading_fix_ports(reading)) {
		return false;
	}
	reading->lookup->separates = reading->common.style.format == PRESENT_FULL;
	reading->query = reading->common;
	reading->query.name = name;
	reading->has_query = true;
	return true;
}

static bool reading_add_server(reading_t *reading, const char *text)
{
	lookup_host_t host;
	if (!lookup_scan_host(text, &host)) {
		lookup_error(reading->lookup, "invalid server @%s", text);
		return false;
	}
	lookup_hosts_t *servers = reading_make_servers(reading);
	if (servers == NULL) {
		return false;
	}
	if (servers->count == LOOKUP_SERVERS_MAX) {
		lookup_error(reading->lookup, "too many servers, at most %d: @%s", LOOKUP_SERVERS_MAX, text);
		return false;
	}
	servers->hosts[servers->count++] = host;
	return true;
}

/* ---- Options of one letter ---- */

static bool letter_set_class(reading_t *reading, const char *value)
{
	if (knot_rrclass_scan(knot_str_of(value), &reading_query(reading)->class) != KNOT_OK) {
		lookup_error(reading->lookup, "bad class %s", value);
		return false;
	}
	return true;
}

static bool letter_set_type(reading_t *reading, const char *value)
{
	reading->has_type = true;
	if (!lookup_set_type(reading_query(reading), value)) {
		lookup_error(reading->lookup, "bad type %s", value);
		return false;
	}
	return true;
}

/* The next query. fault: what to call a name that can't be one. */
static bool reading_take_name(reading_t *reading, const char *value, const char *fault)
{
	const char *reason = "out of memory";
	if (!reading->common.idn_in || value == NULL) {
		return reading_begin_query(reading, value);
	}
	const char *name = lookup_idn_in(value, &reason);
	if (name == NULL) {
		lookup_error(reading->lookup, "IDNA (%s)", reason);
		lookup_error(reading->lookup, "%s%s", fault, value);
		return false;
	}
	bool is_good = reading_begin_query(reading, name);
	reading->own_name = name != value ? name : NULL;
	return is_good;
}

static bool letter_set_name(reading_t *reading, const char *value)
{
	return reading_take_name(reading, value, "bad query name ");
}

static bool letter_set_reverse(reading_t *reading, const char *value)
{
	char name[80];
	if (!lookup_reverse(value, name)) {
		lookup_error(reading->lookup, "bad reverse name %s", value);
		return false;
	}
	if (!reading_begin_query(reading, value)) {
		return false;
	}
	reading->query.is_reverse = true;
	return lookup_set_type(&reading->query, "PTR");
}

static bool letter_set_local(reading_t *reading, const char *value)
{
	if (!lookup_scan_host(value, &reading_query(reading)->local)) {
		lookup_error(reading->lookup, "bad address %s", value);
		return false;
	}
	return true;
}

static bool letter_set_port(reading_t *reading, const char *value)
{
	if (!lookup_is_port(value)) {
		lookup_error(reading->lookup, "bad port %s", value);
		return false;
	}
	reading_query(reading)->port = value;
	return true;
}

/* True if what is read of a path can be read again, as the command line is: a pipe has it only once. */
static bool letter_can_read_again(const char *path)
{
	struct stat st;
	return stat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
}

static bool letter_set_key(reading_t *reading, const char *value)
{
	const char *reason;
	lookup_key_t *key = lookup_key_scan(value, &reason);
	if (key == NULL) { /* logs aren't the place for a secret */
		lookup_error(reading->lookup, "bad key (%s)", reason);
		return false;
	}
	lookup_key_t **own = reading->has_query ? &reading->own_key : &reading->common_key;
	lookup_key_free(*own);
	*own = key;
	reading_query(reading)->key = key;
	return true;
}

/** A key that was read: files of queries may name its file in each line, and a pipe has it only once. */
typedef struct keyfile {
	struct keyfile *next;
	char *path;
	lookup_key_t *key;
} keyfile_t;

static lookup_key_t *letter_find_keyfile(const char *path, const char **ret_reason)
{
	static keyfile_t *files; /* never freed */
	for (const keyfile_t *file = files; file != NULL; file = file->next) {
		if (strcmp(file->path, path) == 0) {
			return file->key;
		}
	}
	lookup_key_t *key = lookup_key_read(path, ret_reason);
	keyfile_t *file = key != NULL ? malloc(sizeof(*file)) : NULL;
	char *copy = file != NULL ? strdup(path) : NULL;
	if (copy != NULL) {
		*file = (keyfile_t){ files, copy, key };
		files = file;
		return key;
	}
	*ret_reason = key != NULL ? "out of memory" : *ret_reason;
	free(file);
	free(key);
	return NULL;
}

static bool letter_set_keyfile(reading_t *reading, const char *value)
{
	const char *reason;
	lookup_key_t *key = letter_find_keyfile(value, &reason);
	if (key == NULL) {
		lookup_error(reading->lookup, "bad keyfile %s (%s)", value, reason);
		return false;
	}
	reading_query(reading)->key = key;
	return true;
}

static bool letter_set_batch(reading_t *reading, const char *path);

static bool letter_set_trace(reading_t *reading, const char *value)
{
	reading_query(reading)->trace = lookup_trace_open(reading->lookup, value);
	return reading_query(reading)->trace != NULL;
}

static bool letter_set_replay(reading_t *reading, const char *value)
{
	if (!reading->runs && letter_can_read_again(value) && !lookup_replay_check(reading->lookup, value)) {
		return false;
	}
	if (!reading_begin_query(reading, NULL)) {
		return false;
	}
	reading->query.replay_path = value;
	return true;
}

typedef struct {
	char letter;
	const char *what; /* what its value is */
	bool (*set)(reading_t *reading, const char *value);
} letter_row_t;

static const letter_row_t letter_rows[] = {
	{ 'b', "address", letter_set_local },
	{ 'c', "class", letter_set_class },
	{ 'E', "filename", letter_set_trace },
	{ 'G', "filename", letter_set_replay },
	{ 'f', "filename", letter_set_batch },
	{ 'k', "filename", letter_set_keyfile },
	{ 'p', "port", letter_set_port },
	{ 'q', NULL, letter_set_name },
	{ 't', "type", letter_set_type },
	{ 'x', "address", letter_set_reverse },
	{ 'y', "key", letter_set_key },
};

/* -V, --version; -VV, --version=x: with how it was built. False: it isn't one of them. */
static bool letter_take_version(reading_t *reading, const char *word)
{
	bool is_plain = strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0;
	bool with_build = strcmp(word, "-VV") == 0 || strncmp(word, "--version=", 10) == 0;
	if (is_plain || with_build) {
		conf_version_print("kdig", with_build);
		reading->is_over = true;
	}
	return is_plain || with_build;
}

/* -h and those that only switch something on. False: it isn't one of them. */
static bool letter_take_switch(reading_t *reading, const char *word, bool *ret_good)
{
	lookup_query_t *query = reading_query(reading);
	bool is_help = strcmp(word, "--help") == 0;
	if (!is_help && strchr("46dhV", word[1]) == NULL) {
		return false;
	}
	bool is_plain = word[1] != '\0' && (word[2] == '\0' || is_help || strcmp(word, "-dd") == 0);
	*ret_good = is_plain;
	if (!is_plain) {
		lookup_error(reading->lookup, "invalid option %s", word);
		dig_help();
		return true;
	}
	switch (is_help ? 'h' : word[1]) {
	case '4': query->family = AF_INET; break;
	case '6': query->family = AF_INET6; break;
	case 'd': reading->lookup->debug = word[2] == 'd' ? 2 : 1; break;
	default:
		dig_help();
		reading->is_over = true;
		break;
	}
	return true;
}

/* One option; its value is in the word or the next one. */
static bool letter_take(reading_t *reading, const char *word, const char *next, bool *ret_uses_next)
{
	bool is_good = false;
	*ret_uses_next = false;
	if (letter_take_version(reading, word)) {
		return true;
	}
	if (word[1] != '\0' && letter_take_switch(reading, word, &is_good)) {
		return is_good;
	}
	for (size_t i = 0; i < KNOT_LEN(letter_rows); i++) {
		const letter_row_t *row = &letter_rows[i];
		if (row->letter != word[1]) {
			continue;
		}
		*ret_uses_next = word[2] == '\0' && next != NULL;
		const char *value = word[2] != '\0' ? word + 2 : next;
		if (value == NULL && row->what != NULL) {
			lookup_error(reading->lookup, "missing %s", row->what);
			return false;
		}
		return row->set(reading, value != NULL && *value == '\0' && row->what == NULL ? NULL : value);
	}
	lookup_error(reading->lookup, "invalid option: %s", word);
	dig_help();
	return false;
}

/* ---- All words ---- */

static bool reading_take_plus(reading_t *reading, const char *word)
{
	option_context_t context = {
		.lookup = reading->lookup,
		.query = reading_query(reading),
		.data = reading->has_query ? &reading->own_data : &reading->common_data,
		.is_quiet = reading->runs,
	};
	bool wants_usage = false;
	bool is_good = dig_option_take(&context, word, &wants_usage);
	if (wants_usage) {
		dig_help();
	}
	return is_good;
}

/* A word without a sign: a type, a class, or the name of the next query. */
static bool reading_take_bare(reading_t *reading, const char *word)
{
	uint16_t class;
	if (lookup_set_type(reading_query(reading), word)) {
		reading->has_type = true;
		return true;
	}
	if (knot_rrclass_scan(knot_str_of(word), &class) == KNOT_OK) {
		reading_query(reading)->class = class;
		return true;
	}
	return reading_take_name(reading, word, "invalid parameter: ");
}

static bool reading_take_all(reading_t *reading, int count, char **words)
{
	for (int i = 0; i < count && !reading->is_over; i++) {
		const char *next = i + 1 < count ? words[i + 1] : NULL;
		bool is_good, uses_next = false;
		switch (words[i][0]) {
		case '@': is_good = reading_add_server(reading, words[i] + 1); break;
		case '-': is_good = letter_take(reading, words[i], next, &uses_next); break;
		case '+': is_good = reading_take_plus(reading, words[i]); break;
		default: is_good = reading_take_bare(reading, words[i]); break;
		}
		if (!is_good) {
			return false;
		}
		i += uses_next;
	}
	reading_end_query(reading);
	return true;
}

/* ---- Files of queries ---- */

enum { BATCH_WORDS_MAX = 256 };

/* The words of a line, separated by blanks; # or ; at its start makes it a comment. -1: there are too many. */
static int batch_split(char *line, char *ret_words[static BATCH_WORDS_MAX])
{
	static const char blanks[] = " \t\r\n";
	int count = 0;
	char *save = NULL;
	for (char *word = strtok_r(line, blanks, &save); word != NULL; word = strtok_r(NULL, blanks, &save)) {
		if (count == 0 && (*word == '#' || *word == ';')) {
			return 0;
		}
		if (count == BATCH_WORDS_MAX) {
			return -1;
		}
		ret_words[count++] = word;
	}
	return count;
}

/* One line is read like a command line behind what is common so far. */
static bool batch_take_line(reading_t *reading, char *line)
{
	char *words[BATCH_WORDS_MAX];
	int count = batch_split(line, words);
	if (count <= 0) {
		if (count < 0) {
			lookup_error(reading->lookup, "more than %d words", BATCH_WORDS_MAX);
		}
		return count == 0;
	}
	reading_t inner = {
		.lookup = reading->lookup,
		.common = reading->common,
		.has_type = reading->has_type,
		.is_inner = true,
		.runs = reading->runs,
		.is_good = true,
	};
	bool is_good = reading_take_all(&inner, count, words);
	reading->is_good &= inner.is_good;
	reading->count += inner.count;
	reading_done(&inner);
	return is_good;
}

/* Ask what is in the lines, or (first turn) look at it. */
static bool batch_take_lines(reading_t *reading, int fd, const char *path)
{
	sys_lines_t lines = sys_lines_of(fd);
	char *line;
	size_t len;
	bool is_good = true;
	while (is_good && sys_lines_next(&lines, &line, &len)) {
		is_good = batch_take_line(reading, line);
	}
	sys_lines_done(&lines);
	if (lines.error != 0) {
		lookup_error(reading->lookup, "unable to read file of queries %s (%s)", path, strerror(lines.error));
		return false;
	}
	if (lines.fault != NULL) {
		lookup_error(reading->lookup, "%s", lines.fault);
	}
	if (!is_good || lines.fault != NULL) {
		lookup_error(reading->lookup, "in file %s, line %zu", path, lines.number);
	}
	return is_good && lines.fault == NULL;
}

static bool letter_set_batch(reading_t *reading, const char *path)
{
	if (reading->is_inner) {
		lookup_error(reading->lookup, "a file of queries within one: %s", path);
		return false;
	}
	reading->has_batch = true;
	reading_end_query(reading);
	if (!reading_fix_ports(reading)) {
		return false;
	}
	bool is_stdin = strcmp(path, "-") == 0;
	if (!reading->runs && (is_stdin || !letter_can_read_again(path))) {
		return true;
	}
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		lookup_error(reading->lookup, "unable to open file of queries %s (%s)", path, strerror(errno));
		return false;
	}
	bool is_good = batch_take_lines(reading, fd, path);
	if (!is_stdin) {
		close(fd);
	}
	return is_good;
}

/* Without a name the root is asked, for NS unless there is another type. A file of queries may have none. */
static void reading_default(reading_t *reading)
{
	if (reading->count > 0 || reading->has_batch || reading->is_over) {
		return;
	}
	if (!reading_begin_query(reading, ".")) {
		reading->is_good = false;
		return;
	}
	if (!reading->has_type) {
		(void)lookup_set_type(&reading->query, "NS");
	}
	reading_end_query(reading);
}

/* How much is done is for somebody who waits at a terminal that can erase a line, and doesn't see the output. */
static bool dig_may_show_progress(void)
{
	const char *terminal = getenv("TERM");
	bool can_erase = terminal != NULL && strcmp(terminal, "dumb") != 0;
	return can_erase && isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
}

int main(int argc, char **argv)
{
	if (!sys_file_hold_streams()) {
		return EXIT_FAILURE;
	}
	static lookup_t lookup;
	bool is_good = true;
	lookup.shows_progress = dig_may_show_progress();
	for (int turn = 0; turn < 2 && is_good; turn++) {
		reading_t reading = {
			.lookup = &lookup,
			.common = lookup_query_default(),
			.runs = turn == 1,
			.is_good = true,
		};
		if (isatty(STDOUT_FILENO)) {
			reading.common.idn_out = true;
			reading.common.style.rdata.print_name = lookup_idn_print;
		}
		is_good = reading_take_all(&reading, argc - 1, argv + 1);
		if (is_good) {
			reading_default(&reading);
		}
		is_good &= reading.is_good;
		reading_done(&reading);
		if (reading.is_over) {
			break;
		}
	}
	is_good &= lookup_traces_close(&lookup);
	is_good &= lookup_done(&lookup);
	is_good &= sys_file_end_output();
	return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
