/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/options.h"

#include "libknot/base/encode.h"
#include "libknot/base/number.h"
#include "src/conf/version.h"
#include "xdp/kxdp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RATE_MAX = 100000000, DURATION_MAX_S = 86400 * 365 };

static bool options_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

static bool options_error(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fputs("error: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	return false;
}

/* ---- Values ---- */

static bool options_read_double(const char *what, const char *text, double min, double max, double *ret_value)
{
	char *end;
	errno = 0;
	double value = strtod(text, &end);
	if (end == text || *end != '\0' || errno != 0 || !(value >= min && value <= max)) {
		return options_error("invalid %s '%s'", what, text);
	}
	*ret_value = value;
	return true;
}

static bool options_read_number(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
	if (!knot_number_of(text, min, max, ret_value)) {
		return options_error("invalid %s '%s', %llu to %llu is possible", what, text, (unsigned long long)min,
				(unsigned long long)max);
	}
	return true;
}

static bool options_read_mac(const char *what, const char *text, uint8_t ret_mac[static 6])
{
	unsigned bytes[6];
	char end;
	if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%c", &bytes[0], &bytes[1], &bytes[2], &bytes[3], &bytes[4], &bytes[5],
			    &end) != 6) {
		return options_error("invalid %s MAC address '%s'", what, text);
	}
	for (unsigned i = 0; i < 6; i++) {
		ret_mac[i] = (uint8_t)bytes[i];
	}
	return true;
}

/* [<cpu_start>][s<cpu_step>] */
static bool options_read_affinity(const char *text, options_t *o)
{
	char *end = (char *)(uintptr_t)text;
	unsigned long start = 0, step = 1;
	if (*text >= '0' && *text <= '9') {
		start = strtoul(text, &end, 10);
	}
	if (*end == 's' && end[1] >= '0' && end[1] <= '9') {
		step = strtoul(end + 1, &end, 10);
	}
	if (*end != '\0' || end == text || start > 4095 || step > 4095) {
		return options_error("invalid affinity '%s', as in '2', 's2' or '4s2'", text);
	}
	o->cpu_start = (unsigned)start;
	o->cpu_step = (unsigned)step;
	o->has_affinity = true;
	return true;
}

static bool options_read_local(const char *text, options_t *o)
{
	char address[INET6_ADDRSTRLEN + 1];
	const char *slash = strchr(text, '/');
	size_t len = slash != NULL ? (size_t)(slash - text) : strlen(text);
	if (len >= sizeof(address)) {
		return options_error("invalid local address '%s'", text);
	}
	memcpy(address, text, len);
	address[len] = '\0';
	struct sockaddr_in *in = (struct sockaddr_in *)&o->local;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&o->local;
	uint64_t bits = 0;
	if (inet_pton(AF_INET, address, &in->sin_addr) == 1) {
		o->local.ss_family = AF_INET;
	} else if (inet_pton(AF_INET6, address, &in6->sin6_addr) == 1) {
		o->local.ss_family = AF_INET6;
	} else {
		return options_error("invalid local address '%s'", text);
	}
	bool is_ipv6 = o->local.ss_family == AF_INET6;
	if (slash != NULL &&
			!options_read_number("prefix length", slash + 1, is_ipv6 ? 64 : 0, is_ipv6 ? 128 : 32, &bits)) {
		return false;
	}
	o->local_prefix = slash != NULL ? (int)bits : -1;
	return true;
}

static bool options_read_interfaces(const char *text, options_t *o)
{
	free(o->interface_text);
	o->interface_count = 0;
	o->interface_text = strdup(text);
	if (o->interface_text == NULL) {
		return options_error("not enough memory");
	}
	char *rest = o->interface_text;
	for (char *name; (name = strsep(&rest, ",")) != NULL;) {
		if (*name == '\0' || strlen(name) >= IF_NAMESIZE || o->interface_count == OPTIONS_INTERFACES_MAX) {
			return options_error("invalid list of interfaces '%s', up to %d names with commas between",
					text, OPTIONS_INTERFACES_MAX);
		}
		o->interfaces[o->interface_count++] = name;
	}
	return true;
}

static bool options_read_mode(const char *text, const char *possible, options_t *o)
{
	if (text == NULL) {
		return true;
	}
	if (*text == '=') {
		text++;
	}
	if (*text == '\0' || text[1] != '\0' || strchr(possible, *text) == NULL) {
		return options_error("invalid mode '%s', one of %s is possible", text, possible);
	}
	o->mode = *text;
	/* Without a mode, QUIC resumes sessions; 0 doesn't, and is the same else. */
	o->full_handshakes = o->protocol == PROTOCOL_QUIC && o->mode == MODE_NORMAL;
	return true;
}

static bool options_read_xdp_mode(const char *text, options_t *o)
{
	static const struct {
		const char *name;
		int mode;
		bool copy;
		options_inject_t inject;
	} rows[] = {
		{ "auto", KXDP_MODE_AUTO, false, INJECT_WHERE_FASTER },
		{ "copy", KXDP_MODE_AUTO, true, INJECT_NEVER },
		{ "generic", KXDP_MODE_EMULATED, true, INJECT_NEVER },
		{ "inject", KXDP_MODE_NATIVE, false, INJECT_ALWAYS },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(text, rows[i].name) == 0) {
			o->xdp_mode = rows[i].mode;
			o->xdp_copy = rows[i].copy;
			o->inject = rows[i].inject;
			return true;
		}
	}
	return options_error("invalid mode '%s', one of auto, copy, generic, inject is possible", text);
}

/* FROM:TO:STEP[:SECONDS] */
static bool options_read_ramp(const char *text, options_t *o)
{
	double values[4] = { 0, 0, 0, 5 };
	unsigned count = 0;
	const char *at = text;
	for (; count < 4; count++) {
		char *end;
		values[count] = strtod(at, &end);
		if (end == at || (*end != ':' && *end != '\0')) {
			break;
		}
		at = end;
		if (*end == '\0') {
			count++;
			break;
		}
		at++;
	}
	bool is_good = count >= 3 && *at == '\0' && values[0] >= 1 && values[1] >= 1 && values[0] <= RATE_MAX &&
		       values[1] <= RATE_MAX && values[2] != 0 && isfinite(values[2]) && values[3] >= 0.1 &&
		       values[3] <= 3600;
	if (!is_good) {
		return options_error(
				"invalid ramp '%s', as in 10000:100000:10000:5 (from, to, step in queries per second; "
				"seconds per step)",
				text);
	}
	o->ramp = (ramp_t){ values[0], values[1], values[2], values[3] };
	o->has_ramp = true;
	return true;
}

/* LOSS%:P99MS, each may be left out */
static bool options_read_knee(const char *text, options_t *o)
{
	char *end;
	double loss = *text != ':' ? strtod(text, &end) : (end = (char *)(uintptr_t)text, o->ramp_loss_percent);
	double p99 = o->ramp_p99_ms;
	if (*end == ':') {
		const char *at = end + 1;
		p99 = strtod(at, &end);
		end = end == at ? (char *)(uintptr_t)text - 1 : end;
	}
	if (end < text || *end != '\0' || !(loss >= 0 && loss <= 100) || !(p99 > 0)) {
		return options_error("invalid knee '%s', as in 0.1:10 (percent lost, milliseconds of p99)", text);
	}
	o->ramp_loss_percent = loss;
	o->ramp_p99_ms = p99;
	return true;
}

static bool options_read_profile(const char *text, options_t *o)
{
	char copy[128];
	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy)) {
		return options_error("invalid profile '%s'", text);
	}
	char *rest = copy;
	for (char *word; (word = strsep(&rest, ",")) != NULL;) {
		bool found = strcmp(word, "cookies") == 0;
		o->cookies |= found;
		for (unsigned i = 0; i < PROFILE_COUNT && !found; i++) {
			found = strcmp(word, profile_names[i]) == 0;
			o->profile = found ? (profile_t)i : o->profile;
		}
		if (!found) {
			return options_error(
					"unknown profile '%s', query, axfr, ixfr, notify, update, cookies are possible",
					word);
		}
	}
	return true;
}

/* [ALG:]NAME:KEY */
static bool options_read_tsig(const char *text, options_t *o)
{
	static const struct {
		const char *name;
		knot_tsig_algorithm_t algorithm;
	} rows[] = {
		{ "hmac-md5:", KNOT_TSIG_HMAC_MD5 },
		{ "hmac-sha1:", KNOT_TSIG_HMAC_SHA1 },
		{ "hmac-sha224:", KNOT_TSIG_HMAC_SHA224 },
		{ "hmac-sha256:", KNOT_TSIG_HMAC_SHA256 },
		{ "hmac-sha384:", KNOT_TSIG_HMAC_SHA384 },
		{ "hmac-sha512:", KNOT_TSIG_HMAC_SHA512 },
	};
	const char *at = text;
	o->tsig.algorithm = KNOT_TSIG_HMAC_SHA256;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strncmp(text, rows[i].name, strlen(rows[i].name)) == 0) {
			o->tsig.algorithm = rows[i].algorithm;
			at = text + strlen(rows[i].name);
		}
	}
	const char *colon = strchr(at, ':');
	knot_name_t name;
	if (colon == NULL || knot_name_scan((knot_str_t){ at, (size_t)(colon - at) }, knot_name_root, o->tsig_name,
					     &name) != KNOT_OK) {
		return options_error("invalid TSIG key, as in hmac-sha256:name:c2VjcmV0");
	}
	knot_name_lower(name, o->tsig_name);
	knot_str_t digits = { colon + 1, strlen(colon + 1) };
	size_t len = 0;
	knot_base64_state_t state = { 0 };
	knot_mut_bytes_t room = { o->tsig_secret, sizeof(o->tsig_secret) };
	if (knot_base64_add(&state, digits, room, &len) != KNOT_DECODE_OK || len == 0 || state.digit_count != 0) {
		return options_error("invalid secret of the TSIG key, base64 of up to %zu bytes is possible",
				sizeof(o->tsig_secret));
	}
	o->tsig.name = (knot_name_t){ o->tsig_name, name.len, name.label_count };
	o->tsig.secret = (knot_bytes_t){ o->tsig_secret, len };
	o->has_tsig = true;
	return true;
}

static bool options_read_prefix(const char *text, options_t *o)
{
	size_t len = strlen(text);
	bool is_good = len <= MESSAGE_PREFIX_MAX;
	for (size_t i = 0; i < len; i++) {
		is_good &= (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z') ||
			   (text[i] >= '0' && text[i] <= '9') || text[i] == '-' || text[i] == '_';
	}
	if (!is_good) {
		return options_error("invalid prefix '%s', up to %d letters, digits, '-' and '_' are possible", text,
				MESSAGE_PREFIX_MAX);
	}
	o->prefix = text;
	return true;
}

/* ---- Options ---- */

enum {
	OPT_SOCKETS = 256,
	OPT_THREADS,
	OPT_CLIENTS,
	OPT_TIMEOUT,
	OPT_LATENCY,
	OPT_VERIFY,
	OPT_SHOW_WRONG,
	OPT_RAMP,
	OPT_KNEE,
	OPT_ZIPF,
	OPT_RANDOM,
	OPT_SEED,
	OPT_PROFILE,
	OPT_TSIG,
	OPT_SERIAL,
	OPT_PCAP,
	OPT_TIMES,
	OPT_TOP,
};

static const char short_options[] = "hV::t:T::U::Q:b:rp:F:i:I:l:L:R:v:e:m:BG:jS:";

static const struct option long_options[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "version", optional_argument, NULL, 'V' },
	{ "duration", required_argument, NULL, 't' },
	{ "tcp", optional_argument, NULL, 'T' },
	{ "quic", optional_argument, NULL, 'U' },
	{ "qps", required_argument, NULL, 'Q' },
	{ "batch", required_argument, NULL, 'b' },
	{ "drop", no_argument, NULL, 'r' },
	{ "port", required_argument, NULL, 'p' },
	{ "affinity", required_argument, NULL, 'F' },
	{ "infile", required_argument, NULL, 'i' },
	{ "interface", required_argument, NULL, 'I' },
	{ "local", required_argument, NULL, 'l' },
	{ "local-mac", required_argument, NULL, 'L' },
	{ "remote-mac", required_argument, NULL, 'R' },
	{ "vlan", required_argument, NULL, 'v' },
	{ "edns-size", required_argument, NULL, 'e' },
	{ "mode", required_argument, NULL, 'm' },
	{ "binary", no_argument, NULL, 'B' },
	{ "qlog", required_argument, NULL, 'G' },
	{ "json", no_argument, NULL, 'j' },
	{ "stats-period", required_argument, NULL, 'S' },
	{ "sockets", no_argument, NULL, OPT_SOCKETS },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "clients", required_argument, NULL, OPT_CLIENTS },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "latency", required_argument, NULL, OPT_LATENCY },
	{ "verify", required_argument, NULL, OPT_VERIFY },
	{ "show-wrong", required_argument, NULL, OPT_SHOW_WRONG },
	{ "ramp", required_argument, NULL, OPT_RAMP },
	{ "knee", required_argument, NULL, OPT_KNEE },
	{ "zipf", required_argument, NULL, OPT_ZIPF },
	{ "random", required_argument, NULL, OPT_RANDOM },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "profile", required_argument, NULL, OPT_PROFILE },
	{ "tsig", required_argument, NULL, OPT_TSIG },
	{ "serial", required_argument, NULL, OPT_SERIAL },
	{ "pcap", no_argument, NULL, OPT_PCAP },
	{ "times", no_argument, NULL, OPT_TIMES },
	{ "top", no_argument, NULL, OPT_TOP },
	{ NULL, 0, NULL, 0 },
};

/* Numbers: option, what it is, bounds, where it goes. */
static bool options_set_number(int option, const char *text, options_t *o)
{
	static const struct {
		int option;
		const char *what;
		uint64_t min, max;
	} rows[] = {
		{ 'b', "batch size", 1, 2048 },
		{ 'p', "port", 1, OPTIONS_PORT_NUMBER_MAX },
		{ 'v', "VLAN id", 1, 4094 },
		{ 'e', "EDNS size", 512, 4096 },
		{ 'S', "period", 1, 86400000 },
		{ OPT_THREADS, "number of threads", 1, 256 },
		{ OPT_CLIENTS, "number of clients", 1, 60000 },
		{ OPT_SHOW_WRONG, "number", 0, 1000000 },
		{ OPT_SEED, "seed", 0, UINT64_MAX },
		{ OPT_SERIAL, "serial", 0, UINT32_MAX },
	};
	size_t row = 0;
	while (rows[row].option != option) {
		row++;
	}
	uint64_t value;
	if (!options_read_number(rows[row].what, text, rows[row].min, rows[row].max, &value)) {
		return false;
	}
	switch (option) {
	case 'b': o->batch = (unsigned)value; break;
	case 'p': o->port = (uint16_t)value; break;
	case 'v': o->vlan = (uint16_t)value; break;
	case 'e': o->edns_size = (uint16_t)value; break;
	case 'S': o->stats_ms = (uint32_t)value; break;
	case OPT_THREADS: o->threads = (unsigned)value; break;
	case OPT_CLIENTS: o->clients = (unsigned)value; break;
	case OPT_SHOW_WRONG: o->verify_show = (unsigned)value; break;
	case OPT_SEED: o->seed = value; break;
	default: o->serial = (uint32_t)value; break;
	}
	return true;
}

static bool options_add_zone(const char *path, options_t *o)
{
	if (o->verify_count == OPTIONS_ZONES_MAX) {
		return options_error("too many zones to verify with, %d are possible", OPTIONS_ZONES_MAX);
	}
	o->verify[o->verify_count++] = path;
	return true;
}

/* Options with a value that have a reader of their own. */
static bool options_set_value(int option, char *text, options_t *o)
{
	switch (option) {
	case 't': return options_read_double("duration", text, 0.001, DURATION_MAX_S, &o->duration_s);
	case 'Q': o->has_qps = true; return options_read_double("QPS", text, 0.001, RATE_MAX, &o->qps);
	case 'F': return options_read_affinity(text, o);
	case 'I': return options_read_interfaces(text, o);
	case 'l': return options_read_local(text, o);
	case 'L': return (o->has_local_mac = options_read_mac("local", text, o->local_mac));
	case 'R': return (o->has_remote_mac = options_read_mac("remote", text, o->remote_mac));
	case 'm': return options_read_xdp_mode(text, o);
	case OPT_TIMEOUT: return options_read_double("timeout", text, 0.001, 3600, &o->timeout_s);
	case OPT_VERIFY: return options_add_zone(text, o);
	case OPT_RAMP: return options_read_ramp(text, o);
	case OPT_KNEE: return options_read_knee(text, o);
	case OPT_ZIPF: return options_read_double("exponent", text, 0, 20, &o->zipf);
	case OPT_RANDOM: return options_read_prefix(text, o);
	case OPT_PROFILE: return options_read_profile(text, o);
	case OPT_TSIG: return options_read_tsig(text, o);
	default: return options_set_number(option, text, o);
	}
}

static bool options_set(int option, char *text, options_t *o)
{
	switch (option) {
	case 'T': o->protocol = PROTOCOL_TCP; return options_read_mode(text, "01235789R", o);
	case 'U': o->protocol = PROTOCOL_QUIC; return options_read_mode(text, "0123578R", o);
	case 'r': o->drop = true; return true;
	case 'i': o->infile = text; return true;
	case 'B': o->format = QUERIES_BINARY; return true;
	case 'G': o->qlog_dir = text; return true;
	case 'j': o->json = true; return true;
	case OPT_SOCKETS: o->sockets = true; return true;
	case OPT_LATENCY: o->latency_file = text; return true;
	case OPT_PCAP: o->format = QUERIES_PCAP; return true;
	case OPT_TIMES: o->keeps_times = true; return true;
	case OPT_TOP: o->top = true; return true;
	default: return options_set_value(option, text, o);
	}
}

/* TARGET[@PORT] */
static bool options_read_target(const char *text, options_t *o)
{
	o->target_text = strdup(text);
	if (o->target_text == NULL) {
		return options_error("not enough memory");
	}
	o->target = o->target_text;
	char *at = strrchr(o->target_text, '@');
	uint64_t port;
	if (at == NULL) {
		return true;
	}
	*at = '\0';
	if (!options_read_number("port", at + 1, 1, OPTIONS_PORT_NUMBER_MAX, &port)) {
		return false;
	}
	o->port = (uint16_t)port;
	return true;
}

/* What doesn't go together. Rows: true if so, and what to say. */
static bool options_check(const options_t *o)
{
	bool is_transfer = o->profile == PROFILE_AXFR || o->profile == PROFILE_IXFR;
	const struct {
		bool is_so;
		const char *text;
	} rows[] = {
		{ o->sockets && o->drop, "--drop needs AF_XDP, not --sockets" },
		{ o->sockets && o->interface_count > 0,
				"--interface needs AF_XDP; with --sockets choose the source by --local" },
		{ o->sockets && o->local_prefix >= 0 && o->local_prefix < (o->local.ss_family == AF_INET6 ? 128 : 32),
				"--sockets takes one local address, not a prefix" },
		{ o->sockets && o->mode != MODE_NORMAL && o->mode != MODE_REUSE,
				"--sockets does the ordinary mode and mode R (and 0 of QUIC); the others need AF_XDP" },
		{ is_transfer && o->protocol == PROTOCOL_UDP,
				"profiles axfr and ixfr need TCP or QUIC: -T --sockets, -U" },
		{ is_transfer && o->protocol == PROTOCOL_TCP && !o->sockets,
				"profiles axfr and ixfr over TCP need sockets: -T --sockets" },
		{ o->protocol == PROTOCOL_QUIC && o->local_prefix >= 0 &&
						o->local_prefix < (o->local.ss_family == AF_INET6 ? 128 : 32),
				"QUIC takes one local address, not a prefix" },
		{ o->qlog_dir != NULL && o->protocol != PROTOCOL_QUIC, "--qlog is for QUIC (-U)" },
		{ o->qlog_dir != NULL && access(o->qlog_dir, W_OK | X_OK) != 0,
				"can't write to the directory of --qlog" },
		{ is_transfer && o->mode != MODE_NORMAL, "profiles axfr and ixfr take a connection per transfer" },
		{ o->drop && o->protocol != PROTOCOL_UDP,
				"--drop is for UDP: TCP and QUIC without replies go nowhere" },
		{ o->drop && o->verify_count > 0, "--verify needs replies, --drop drops them" },
		{ o->profile != PROFILE_QUERY && o->verify_count > 0, "--verify is for profile query" },
		{ o->profile != PROFILE_QUERY && o->format != QUERIES_TEXT, "profiles need a text file of names" },
		{ o->format != QUERIES_TEXT && o->cookies, "cookies need a text file of names" },
		{ o->keeps_times && o->format != QUERIES_PCAP, "--times is for recordings (--pcap)" },
		{ o->keeps_times && (o->has_ramp || o->has_qps),
				"--times plays at the recording's times, not by --qps or --ramp" },
		{ o->keeps_times && o->zipf >= 0, "--times plays in order, not by --zipf" },
		{ o->has_ramp && o->has_qps, "--ramp has its own rates, leave out --qps" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].is_so) {
			return options_error("%s", rows[i].text);
		}
	}
	return true;
}

options_verdict_t options_parse(int argc, char **argv, options_t *o)
{
	*o = (options_t){
		.duration_s = 5,
		.mode = MODE_NORMAL,
		.qps = 1000,
		.inject = INJECT_WHERE_FASTER,
		.cpu_step = 1,
		.local_prefix = -1,
		.edns_size = 1232,
		.timeout_s = 1,
		.verify_show = 10,
		.ramp_loss_percent = 0.1,
		.ramp_p99_ms = 10,
		.zipf = -1,
		.seed = 1,
	};
	for (int option; (option = getopt_long(argc, argv, short_options, long_options, NULL)) != -1;) {
		if (option == 'h') {
			options_help(stdout);
			return OPTIONS_DONE;
		}
		if (option == 'V') {
			conf_version_print("kxdpgun", optarg != NULL);
			return OPTIONS_DONE;
		}
		if (option == '?') {
			fputs("Try 'kxdpgun --help' for the list of parameters.\n", stderr);
			return OPTIONS_WRONG;
		}
		if (!options_set(option, optarg, o)) {
			return OPTIONS_WRONG;
		}
	}
	if (o->infile == NULL || argc - optind != 1) {
		options_error("%s", o->infile == NULL   ? "no queries, use -i"
				    : argc - optind < 1 ? "no target"
							: "more than one target");
		options_help(stderr);
		return OPTIONS_WRONG;
	}
	return options_read_target(argv[optind], o) && options_check(o) ? OPTIONS_RUN : OPTIONS_WRONG;
}

void options_free(options_t *o)
{
	free(o->interface_text);
	free(o->target_text);
}
