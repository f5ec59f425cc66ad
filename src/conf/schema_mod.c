/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of the query modules' sections. */
#include "src/conf/schema_rows.h"

/* clang-format off: tables */

#define MOD_ID        { .name = "id", STR, .doc = "Name to refer to, as mod-name/id." }, COMMENT
#define MODULE(title) .name = (title), .kind = CONF_MULTI, .is_module = true
#define SCOPE_BOTH    .module_global = true, .module_zone = true
#define SCOPE_ZONE    .module_zone = true
#define NEEDS_ID      .module_needs_id = true

static const conf_row_t plain_rows[] = { MOD_ID };

const conf_section_t conf_section_mod_alias = {
	MODULE("mod-alias"),
	SCOPE_ZONE,
	REFUSED,
	ROWS(plain_rows),
	.doc = "ALIAS records answered with local addresses.",
};
const conf_section_t conf_section_mod_authsignal = {
	MODULE("mod-authsignal"),
	SCOPE_ZONE,
	REFUSED,
	ROWS(plain_rows),
	.doc = "DNSSEC bootstrapping signals (RFC 9615).",
};
const conf_section_t conf_section_mod_whoami = {
	MODULE("mod-whoami"),
	SCOPE_ZONE,
	REFUSED,
	ROWS(plain_rows),
	.doc = "Answers with the address of who asks.",
};

static const conf_row_t cookies_rows[] = {
	MOD_ID,
	{ .name = "secret-lifetime", TIME(1, 36 * DAY), .dflt = "26h", TUNING, .doc = "How long a secret is used." },
	{ .name = "badcookie-slip", INT(1, MAX31), .dflt = "1", TUNING, .doc = "Answer one in so many bad cookies." },
	{ .name = "secret",
			.type = CONF_HEX,
			MULTI,
			.count_max = 2,
			TUNING,
			.dflt_doc = "random",
			.doc = "16 bytes as 0x and hexadecimal digits." },
};
const conf_section_t conf_section_mod_cookies = {
	MODULE("mod-cookies"),
	SCOPE_BOTH,
	REFUSED,
	ROWS(cookies_rows),
	.check = conf_check_cookies,
	.doc = "DNS cookies (RFC 7873, RFC 9018).",
};

static const conf_row_t dnserr_rows[] = {
	MOD_ID,
	{ .name = "report-channel",
			.type = CONF_DNAME,
			TUNING,
			.doc = "Agent domain that resolvers are told of; it or agent must be set." },
	{ .name = "agent", BOOL, .dflt = "off", TUNING, .doc = "Be the agent." },
	{ .name = "cache-size", INT(1, MAX31), .dflt = "1000", TUNING, .doc = "Reports remembered." },
	{ .name = "cache-lifetime", TIME(1, 36 * DAY), .dflt = "10", TUNING, .doc = "How long." },
};
const conf_section_t conf_section_mod_dnserr = {
	MODULE("mod-dnserr"),
	SCOPE_ZONE,
	NEEDS_ID,
	REFUSED,
	ROWS(dnserr_rows),
	.check = conf_check_dnserr,
	.doc = "DNS error reporting (RFC 9567).",
};

static const conf_row_t dnsproxy_rows[] = {
	MOD_ID,
	{ .name = "remote",
			REF1("remote"),
			.required = true,
			.missing = "no remote server specified",
			TUNING,
			.doc = "Server that queries are sent on to." },
	{ .name = "timeout", INT(0, MAX31), .dflt = "500", TUNING, .doc = "Milliseconds to wait for its answer." },
	{ .name = "address", .type = CONF_NET, MULTI, TUNING, .doc = "Sources of such queries." },
	{ .name = "fallback", BOOL, .dflt = "on", TUNING, .doc = "Only if no zone here has the name." },
	{ .name = "tcp-fastopen", BOOL, .dflt = "off", .support = CONF_OBSOLETE, .doc = "Has no effect." },
	{ .name = "catch-nxdomain", BOOL, .dflt = "off", TUNING, .doc = "Also if the name does not exist." },
};
const conf_section_t conf_section_mod_dnsproxy = {
	MODULE("mod-dnsproxy"),
	SCOPE_BOTH,
	NEEDS_ID,
	REFUSED,
	ROWS(dnsproxy_rows),
	.doc = "Queries sent on to another server.",
};

static const conf_row_t dnstap_rows[] = {
	MOD_ID,
	{ .name = "sink",
			STR,
			.required = true,
			.missing = "no sink specified",
			TUNING,
			.doc = "File, unix:PATH or tcp:ADDRESS@PORT." },
	{ .name = "identity", STR, .dflt_doc = "host name", TUNING, .doc = "Identity of the server." },
	{ .name = "version", STR, .dflt_doc = "version of the server", TUNING, .doc = "Its version." },
	{ .name = "log-queries", BOOL, .dflt = "on", TUNING, .doc = "Write queries." },
	{ .name = "log-responses", BOOL, .dflt = "on", TUNING, .doc = "Write responses." },
	{ .name = "responses-with-queries", BOOL, .dflt = "off", TUNING, .doc = "Write both together." },
};
const conf_section_t conf_section_mod_dnstap = {
	MODULE("mod-dnstap"),
	SCOPE_BOTH,
	NEEDS_ID,
	REFUSED,
	ROWS(dnstap_rows),
	.doc = "Traffic log in dnstap format.",
};

static const conf_option_t geoip_modes[] = { { "subnet", 0 }, { "geodb", 1 }, { "weighted", 2 }, { NULL, 0 } };
static const conf_row_t geoip_rows[] = {
	MOD_ID,
	{ .name = "config-file",
			STR,
			.required = true,
			.missing = "no configuration file specified",
			TUNING,
			.doc = "File with the records." },
	{ .name = "ttl", TIME(0, MAX32), .dflt = "60", TUNING, .doc = "Their TTL." },
	{ .name = "mode", OPT(geoip_modes), .dflt = "subnet", TUNING, .doc = "How a record is chosen." },
	{ .name = "dnssec", BOOL, .dflt_doc = "as the zone", TUNING, .doc = "Sign the records." },
	{ .name = "policy", REF1("policy"), .or_default = true, TUNING, .doc = "How." },
	{ .name = "geodb-file", STR, TUNING, .doc = "Geographic database; with mode geodb it must be there." },
	{ .name = "geodb-key", STR, MULTI, .count_max = 8, .dflt = "country/iso_code", TUNING, .doc = "Keys in it." },
};
const conf_section_t conf_section_mod_geoip = {
	MODULE("mod-geoip"),
	SCOPE_ZONE,
	NEEDS_ID,
	REFUSED,
	ROWS(geoip_rows),
	.check = conf_check_geoip,
	.doc = "Answers by place, network or weight.",
};

static const conf_row_t noudp_rows[] = {
	MOD_ID,
	{ .name = "udp-allow-rate",
			INT(0, MAX32),
			.dflt = "0",
			TUNING,
			.doc = "Answer one in so many over UDP; not together with udp-truncate-rate." },
	{ .name = "udp-truncate-rate",
			INT(1, MAX32),
			.dflt = "1",
			TUNING,
			.doc = "Truncate one in so many; not together with udp-allow-rate." },
};
const conf_section_t conf_section_mod_noudp = {
	MODULE("mod-noudp"),
	SCOPE_BOTH,
	REFUSED,
	ROWS(noudp_rows),
	.check = conf_check_noudp,
	.doc = "Truncated answers over UDP.",
};

static const conf_row_t onlinesign_rows[] = {
	MOD_ID,
	{ .name = "policy", REF1("policy"), .or_default = true, TUNING, .doc = "How to sign." },
	{ .name = "nsec-bitmap",
			STR,
			MULTI,
			.dflt_doc = "A, AAAA",
			.check = conf_check_rrtype,
			TUNING,
			.doc = "Types in NSEC records." },
};
const conf_section_t conf_section_mod_onlinesign = {
	MODULE("mod-onlinesign"),
	SCOPE_ZONE,
	REFUSED,
	ROWS(onlinesign_rows),
	.doc = "Signing while answering.",
};

static const conf_row_t probe_rows[] = {
	MOD_ID,
	{ .name = "path", STR, .dflt_doc = "server.rundir", TUNING, .doc = "Directory of the sockets." },
	{ .name = "channels", INT(1, 65535), .dflt = "1", TUNING, .doc = "Number of sockets." },
	{ .name = "max-rate", INT(0, MAX32), .dflt = "100000", TUNING, .doc = "Queries per second." },
};
const conf_section_t conf_section_mod_probe = {
	MODULE("mod-probe"),
	SCOPE_BOTH,
	REFUSED,
	ROWS(probe_rows),
	.doc = "Traffic data for other programs.",
};

static const conf_row_t queryacl_rows[] = {
	MOD_ID,
	{ .name = "address", .type = CONF_NET, MULTI, TUNING, .doc = "Sources that may ask." },
	{ .name = "interface", .type = CONF_NET, MULTI, TUNING, .doc = "Addresses where they may." },
};
const conf_section_t conf_section_mod_queryacl = {
	MODULE("mod-queryacl"),
	SCOPE_BOTH,
	NEEDS_ID,
	REFUSED,
	ROWS(queryacl_rows),
	.doc = "Who may ask.",
};

#define RRL_MAX (MAX32 / 768 - 1)
static const conf_row_t rrl_rows[] = {
	MOD_ID,
	{ .name = "rate-limit",
			INT(0, RRL_MAX * 1000),
			.dflt = "50",
			TUNING,
			.doc = "Answers per second to an address; at most 1000 times instant-limit." },
	{ .name = "instant-limit", INT(1, RRL_MAX), .dflt = "125", TUNING, .doc = "Answers at once." },
	{ .name = "slip",
			INT(0, 100),
			.dflt = "1",
			TUNING,
			.doc = "Truncate one in so many of what exceeds it; 0: drop all." },
	{ .name = "time-rate-limit",
			INT(0, 1000000000),
			.dflt = "5000",
			TUNING,
			.doc = "Microseconds of work per second for an address." },
	{ .name = "time-instant-limit", INT(1, 1000000), .dflt = "5000", TUNING, .doc = "Microseconds at once." },
	{ .name = "table-size", INT(1, MAX31), .dflt = "524288", TUNING, .doc = "Entries of the table." },
	{ .name = "whitelist", .type = CONF_NET, MULTI, TUNING, .doc = "Addresses and networks without limit." },
	{ .name = "log-period", INT(0, MAX31), .dflt = "30000", TUNING, .doc = "Milliseconds between log lines." },
	{ .name = "dry-run", BOOL, .dflt = "off", TUNING, .doc = "Count only." },
};
const conf_section_t conf_section_mod_rrl = {
	MODULE("mod-rrl"),
	SCOPE_BOTH,
	REFUSED,
	ROWS(rrl_rows),
	.check = conf_check_rrl,
	.doc = "Response rate limiting.",
};

#define STATS_ROW(item, member, on, what)                                                                              \
	{                                                                                                              \
		.name = item, BOOL, CONF_AT(conf_mod_stats_t, member), .dflt = on, .doc = "Count " what "."            \
	}
static const conf_row_t stats_rows[] = {
	{ .name = "id", STR, CONF_AT(conf_mod_stats_t, id), .doc = "Name to refer to, as mod-stats/id." },
	COMMENT,
	STATS_ROW("request-protocol", request_protocol, "on", "requests by transport protocol"),
	STATS_ROW("server-operation", server_operation, "on", "requests by kind"),
	STATS_ROW("request-bytes", request_bytes, "on", "bytes of requests"),
	STATS_ROW("response-bytes", response_bytes, "on", "bytes of responses"),
	STATS_ROW("edns-presence", edns_presence, "off", "messages with EDNS"),
	STATS_ROW("flag-presence", flag_presence, "off", "requests with DO and responses with TC"),
	STATS_ROW("response-code", response_code, "on", "responses by code"),
	STATS_ROW("request-edns-option", request_edns_option, "off", "EDNS options in requests"),
	STATS_ROW("response-edns-option", response_edns_option, "off", "EDNS options in responses"),
	STATS_ROW("reply-nodata", reply_nodata, "off", "responses without data"),
	STATS_ROW("query-type", query_type, "off", "queries by type"),
	STATS_ROW("query-size", query_size, "off", "queries by size"),
	STATS_ROW("reply-size", reply_size, "off", "responses by size"),
};
const conf_section_t conf_section_mod_stats = {
	MODULE("mod-stats"),
	SCOPE_BOTH,
	ROWS(stats_rows),
	.struct_size = sizeof(conf_mod_stats_t),
	.doc = "Counters of queries and answers, seen with knotc stats and zone-stats.",
};

static const conf_option_t synth_types[] = { { "forward", 1 }, { "reverse", 2 }, { NULL, 0 } };
static const conf_row_t synthrecord_rows[] = {
	MOD_ID,
	{ .name = "type",
			OPT(synth_types),
			.required = true,
			.missing = "no synthesis type specified",
			TUNING,
			.doc = "Names to addresses, or addresses to names." },
	{ .name = "prefix",
			STR,
			.check = conf_check_no_dot,
			.pattern = "^[^.]*$",
			TUNING,
			.doc = "What names begin with; without a dot." },
	{ .name = "origin", .type = CONF_DNAME, TUNING, .doc = "What names end with: only of addresses to names." },
	{ .name = "ttl", TIME(0, MAX32), .dflt = "3600", TUNING, .doc = "TTL of the records." },
	{ .name = "network",
			.type = CONF_NET,
			MULTI,
			.required = true,
			.missing = "no network subnet specified",
			TUNING,
			.doc = "Addresses that have names." },
	{ .name = "reverse-short",
			BOOL,
			.dflt = "on",
			TUNING,
			.doc = "Short form of IPv6 addresses in names: only of addresses to names." },
};
const conf_section_t conf_section_mod_synthrecord = {
	MODULE("mod-synthrecord"),
	SCOPE_ZONE,
	NEEDS_ID,
	REFUSED,
	ROWS(synthrecord_rows),
	.check = conf_check_synthrecord,
	.doc = "Names and addresses made from each other.",
};
