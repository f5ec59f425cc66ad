/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * khost: asks a DNS server and says in sentences what it answers; see doc/man/khost.1.
 */
#include "src/tools/lookup/lookup.h"

#include "libknot/base/number.h"
#include "src/conf/version.h"
#include "src/sys/file.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/** The types that are asked for a name if none is given. */
static const char *const host_types[] = { "A", "AAAA", "MX" };

/** What the options have said beside what is in the query. */
typedef struct {
	lookup_t *lookup;
	lookup_query_t query;
	const char *type; /* NULL: not said */
	bool is_verbose;
	const char *own_name; /* of the query, owned: made by IDNA */
} host_t;

static void host_help(void)
{
	puts("Usage: khost [-4] [-6] [-adhrTvVw] [-c class] [-t type]\n"
	     "             [-R retries] [-W time] name [server]\n"
	     "\n"
	     "       -4             Use IPv4 only.\n"
	     "       -6             Use IPv6 only.\n"
	     "       -a             The same as -t ANY -v.\n"
	     "       -d             Print debug messages.\n"
	     "       -h, --help     Print this help.\n"
	     "       -r             Don't ask for recursion.\n"
	     "       -T             Ask over TCP.\n"
	     "       -v             Print whole messages.\n"
	     "       -V, --version  Print the version; -VV how it was built, too.\n"
	     "       -w             Wait for ever.\n"
	     "       -c             Class to ask for.\n"
	     "       -t             Type to ask for.\n"
	     "       -R             How often to repeat over UDP (1).\n"
	     "       -W             How long to wait for each reply, in seconds (2).");
}

/* ---- Options ---- */

static bool host_set_class(host_t *host, const char *value)
{
	return knot_rrclass_scan(knot_str_of(value), &host->query.class) == KNOT_OK;
}

static bool host_set_type(host_t *host, const char *value)
{
	host->type = value;
	return lookup_set_type(&host->query, value);
}

static bool host_set_retries(host_t *host, const char *value)
{
	uint64_t count;
	bool is_good = knot_number_of(value, 0, UINT32_MAX, &count);
	host->query.retries = is_good ? (uint32_t)count : 0;
	return is_good;
}

static bool host_set_wait(host_t *host, const char *value)
{
	uint64_t seconds;
	bool is_good = knot_number_of(value, 0, UINT32_MAX / 1000, &seconds);
	host->query.timeout_ms = is_good ? (uint32_t)seconds * 1000 : 0;
	return is_good;
}

static const struct {
	int letter;
	const char *what;
	bool (*set)(host_t *host, const char *value);
} host_values[] = {
	{ 'c', "class", host_set_class },
	{ 't', "type", host_set_type },
	{ 'R', "retries", host_set_retries },
	{ 'W', "wait", host_set_wait },
};

static bool host_take_value(host_t *host, int letter, const char *value)
{
	for (size_t i = 0; i < KNOT_LEN(host_values); i++) {
		if (host_values[i].letter == letter) {
			bool is_good = host_values[i].set(host, value);
			if (!is_good) {
				lookup_error(host->lookup, "invalid %s '%s'", host_values[i].what, value);
			}
			return is_good;
		}
	}
	return false;
}

static void host_take_switch(host_t *host, int letter)
{
	lookup_query_t *query = &host->query;
	switch (letter) {
	case '4': query->family = AF_INET; break;
	case '6': query->family = AF_INET6; break;
	case 'a':
		(void)host_set_type(host, "ANY");
		host->is_verbose = true;
		break;
	case 'd': host->lookup->debug = 1; break;
	case 'r': query->flags &= (uint16_t)~KNOT_FLAG_RD; break;
	case 'T': query->is_tcp = true; break;
	case 'v': host->is_verbose = true; break;
	case 'w': query->timeout_ms = 0; break;
	default: break;
	}
}

/* ---- Queries ---- */

/* The name to be asked; an address is asked for its name, if no other type is. */
static bool host_set_name(host_t *host, const char *name)
{
	char reverse[80];
	const char *reason = "out of memory";
	bool is_address = lookup_reverse(name, reverse);
	bool is_pointer = host->type != NULL && strcasecmp(host->type, "PTR") == 0;
	if (is_pointer && !is_address) {
		lookup_error(host->lookup, "invalid IPv4/IPv6 address %s", name);
		return false;
	}
	host->query.name = name;
	if (is_pointer || (host->type == NULL && is_address)) {
		host->query.is_reverse = true;
		return host_set_type(host, "PTR");
	}
	host->query.name = lookup_idn_in(name, &reason);
	if (host->query.name == NULL) {
		lookup_error(host->lookup, "IDNA (%s)", reason);
	}
	host->own_name = host->query.name != name ? host->query.name : NULL;
	return host->query.name != NULL;
}

static bool host_ask(host_t *host)
{
	bool is_good = true;
	if (host->is_verbose) {
		host->query.style.format = PRESENT_FULL;
		host->lookup->separates = true;
	}
	if (host->type != NULL) {
		return lookup_run(host->lookup, &host->query);
	}
	for (size_t i = 0; i < KNOT_LEN(host_types); i++) {
		is_good &= lookup_set_type(&host->query, host_types[i]);
		host->query.hides_alias = i > 0;
		is_good &= lookup_run(host->lookup, &host->query);
	}
	return is_good;
}

/* Behind the options: name, and maybe a server. */
static bool host_run(host_t *host, int count, char **words)
{
	static lookup_hosts_t servers;
	if (count == 0 || count > 2) {
		host_help();
		return false;
	}
	if (count == 2) {
		if (!lookup_scan_host(words[1], &servers.hosts[0])) {
			lookup_error(host->lookup, "invalid server %s", words[1]);
			return false;
		}
		servers.count = 1;
		host->query.servers = &servers;
	}
	return host_set_name(host, words[0]) && host_ask(host);
}

int main(int argc, char **argv)
{
	if (!sys_file_hold_streams()) {
		return EXIT_FAILURE;
	}
	static const struct option known[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", optional_argument, NULL, 'V' },
		{ 0 },
	};
	static lookup_t lookup;
	host_t host = { .lookup = &lookup, .query = lookup_query_default() };
	host.query.retries = 1;
	host.query.timeout_ms = 2000;
	host.query.edns = -1;
	host.query.flags = KNOT_FLAG_RD;
	host.query.style.format = PRESENT_HOST;
	host.query.style.shows &= ~(uint32_t)(PRESENT_COMMENTS | PRESENT_TSIG);
	bool is_good = true, is_over = false;
	int letter;
	while (is_good && !is_over && (letter = getopt_long(argc, argv, "46adhrTvV::wc:t:R:W:", known, NULL)) != -1) {
		is_over = letter == 'h' || letter == 'V' || letter == '?';
		if (letter == 'h' || letter == '?') {
			host_help();
			is_good = letter == 'h';
		} else if (letter == 'V') {
			conf_version_print("khost", optarg != NULL);
		} else if (optarg != NULL) {
			is_good = host_take_value(&host, letter, optarg);
		} else {
			host_take_switch(&host, letter);
		}
	}
	if (is_good && !is_over) {
		is_good = host_run(&host, argc - optind, argv + optind);
	}
	free((char *)host.own_name);
	is_good &= lookup_done(&lookup);
	is_good &= sys_file_end_output();
	return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
