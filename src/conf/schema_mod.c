/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of the query modules' sections. */
#include "src/conf/schema_rows.h"

/* Tables: each row stays together. clang-format breaks them at every comma. */
/* clang-format off */

#define MOD_ID                                                                                                         \
	{ .name = "id", STR, .doc = "Name by which zones and templates refer to the module, as mod-name/id." }, COMMENT
#define MOD_ID_OF(settings)                                                                                            \
	{ .name = "id", STR, CONF_AT(settings, id),                                                                    \
	  .doc = "Name by which zones and templates refer to the module, as mod-name/id." }, COMMENT
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
	.doc = "Answers ALIAS records with addresses that this server has for the target.",
};
const conf_section_t conf_section_mod_authsignal = {
	MODULE("mod-authsignal"),
	SCOPE_ZONE,
	ROWS(plain_rows),
	.doc = "Answers queries of DNSSEC bootstrapping (RFC 9615) in a zone _signal with the CDS and CDNSKEY records of "
	       "zones that this server has. They are not signed.",
};
const conf_section_t conf_section_mod_whoami = {
	MODULE("mod-whoami"),
	SCOPE_ZONE,
	REFUSED,
	ROWS(plain_rows),
	.doc = "Answers with the client's own address.",
};

static const conf_row_t cookies_rows[] = {
	MOD_ID_OF(conf_mod_cookies_t),
	{ .name = "secret-lifetime", TIME(1, 36 * DAY), CONF_AT(conf_mod_cookies_t, secret_lifetime_s), .dflt = "26h",
	  .doc = "How long a random secret is used before the next one. No effect on those of item secret." },
	{ .name = "badcookie-slip", INT(1, MAX31), CONF_AT(conf_mod_cookies_t, badcookie_slip), .dflt = "1",
	  .doc = "Answer one of this number of queries over UDP without a good server cookie with BADCOOKIE, and drop the "
	         "others. Each worker counts by itself." },
	{ .name = "secret", .type = CONF_HEX, .secret = true, MULTI, .count_max = 2,
	  CONF_AT(conf_mod_cookies_t, secrets), .dflt_doc = "random",
	  .doc = "Secrets, each 16 bytes as 0x and hexadecimal digits. Set the same on all instances of an anycast "
	         "address. The second one is accepted as well, for changing secrets." },
};
const conf_section_t conf_section_mod_cookies = {
	MODULE("mod-cookies"),
	SCOPE_BOTH,
	ROWS(cookies_rows),
	.struct_size = sizeof(conf_mod_cookies_t),
	.check = conf_check_cookies,
	.doc = "DNS cookies (RFC 7873, RFC 9018), which let a server recognize clients that don't forge their "
	       "address.",
};

static const conf_row_t dnserr_rows[] = {
	MOD_ID,
	{ .name = "report-channel", .type = CONF_DNAME, TUNING,
	  .doc = "Agent domain to which resolvers report errors. Either this or agent must be set." },
	{ .name = "agent", BOOL, .dflt = "off", TUNING,
	  .doc = "Receive reports, as the agent that a report-channel names." },
	{ .name = "cache-size", INT(1, MAX31), .dflt = "1000", TUNING,
	  .doc = "Number of reports to remember, so that repeated ones are logged once." },
	{ .name = "cache-lifetime", TIME(1, 36 * DAY), .dflt = "10", TUNING,
	  .doc = "How long a report is remembered." },
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
	{ .name = "remote", REF1("remote"), .required = true, .missing = "no remote server specified", TUNING,
	  .doc = "Server to which queries are forwarded." },
	{ .name = "timeout", INT(0, MAX31), .dflt = "500", TUNING,
	  .doc = "Time in milliseconds to wait for that server's answer." },
	{ .name = "address", .type = CONF_NET, MULTI, TUNING,
	  .doc = "Source addresses and networks whose queries are forwarded." },
	{ .name = "fallback", BOOL, .dflt = "on", TUNING,
	  .doc = "Forward only queries for names in no zone of this server. Switch it off to forward all." },
	{ .name = "tcp-fastopen", BOOL, .dflt = "off", .support = CONF_OBSOLETE,
	  .doc = "Accepted for compatibility with older configurations and ignored. Remove it." },
	{ .name = "catch-nxdomain", BOOL, .dflt = "off", TUNING,
	  .doc = "Forward queries for names that don't exist in their zone, too." },
};
const conf_section_t conf_section_mod_dnsproxy = {
	MODULE("mod-dnsproxy"),
	SCOPE_BOTH,
	NEEDS_ID,
	REFUSED,
	ROWS(dnsproxy_rows),
	.doc = "Forwards queries to another server.",
};

static const conf_row_t dnstap_rows[] = {
	MOD_ID,
	{ .name = "sink", STR, .required = true, .missing = "no sink specified", TUNING,
	  .doc = "Where the log is written: a file, unix:PATH or tcp:ADDRESS@PORT." },
	{ .name = "identity", STR, .dflt_doc = "host name", TUNING, .doc = "Identity of the server in the log." },
	{ .name = "version", STR, .dflt_doc = "version of the server", TUNING,
	  .doc = "Version of the server in the log." },
	{ .name = "log-queries", BOOL, .dflt = "on", TUNING, .doc = "Log queries." },
	{ .name = "log-responses", BOOL, .dflt = "on", TUNING, .doc = "Log responses." },
	{ .name = "responses-with-queries", BOOL, .dflt = "off", TUNING,
	  .doc = "Log each response together with its query." },
};
const conf_section_t conf_section_mod_dnstap = {
	MODULE("mod-dnstap"),
	SCOPE_BOTH,
	NEEDS_ID,
	REFUSED,
	ROWS(dnstap_rows),
	.doc = "Logs traffic in dnstap format.",
};

static const conf_option_t geoip_modes[] = { { "subnet", 0 }, { "geodb", 1 }, { "weighted", 2 }, { NULL, 0 } };
static const conf_row_t geoip_rows[] = {
	MOD_ID,
	{ .name = "config-file", STR, .required = true, .missing = "no configuration file specified", TUNING,
	  .doc = "Path of the file with the records." },
	{ .name = "ttl", TIME(0, MAX32), .dflt = "60", TUNING, .doc = "TTL of the records." },
	{ .name = "mode", OPT(geoip_modes), .dflt = "subnet", TUNING,
	  .doc = "How a record is chosen: by the client's network, by its place in a geographic database, or by "
	         "weight." },
	{ .name = "dnssec", BOOL, .dflt_doc = "as the zone", TUNING, .doc = "Sign the records." },
	{ .name = "policy", REF1("policy"), .or_default = true, TUNING,
	  .doc = "Policy by which the records are signed." },
	{ .name = "geodb-file", STR, TUNING, .doc = "Path of the geographic database. It must exist with mode geodb." },
	{ .name = "geodb-key", STR, MULTI, .count_max = 8, .dflt = "country/iso_code", TUNING,
	  .doc = "Keys of the geographic database by which records are chosen." },
};
const conf_section_t conf_section_mod_geoip = {
	MODULE("mod-geoip"),
	SCOPE_ZONE,
	NEEDS_ID,
	REFUSED,
	ROWS(geoip_rows),
	.check = conf_check_geoip,
	.doc = "Answers by the client's place or network, or by weight.",
};

static const conf_row_t noudp_rows[] = {
	MOD_ID_OF(conf_mod_noudp_t),
	{ .name = "udp-allow-rate", INT(0, MAX32), CONF_AT(conf_mod_noudp_t, allow_rate), .dflt = "0",
	  .doc = "Answer one of this number of queries over UDP normally, and truncate the others; not together with "
	         "udp-truncate-rate. Each worker counts by itself." },
	{ .name = "udp-truncate-rate", INT(1, MAX32), CONF_AT(conf_mod_noudp_t, truncate_rate), .dflt = "1",
	  .doc = "Truncate one of this number of answers over UDP; not together with udp-allow-rate. Each worker counts "
	         "by itself." },
};
const conf_section_t conf_section_mod_noudp = {
	MODULE("mod-noudp"),
	SCOPE_BOTH,
	ROWS(noudp_rows),
	.struct_size = sizeof(conf_mod_noudp_t),
	.check = conf_check_noudp,
	.doc = "Truncates answers over UDP, so that clients repeat the query over TCP.",
};

static const conf_row_t onlinesign_rows[] = {
	MOD_ID,
	{ .name = "policy", REF1("policy"), .or_default = true, TUNING, .doc = "Policy by which answers are signed." },
	{ .name = "nsec-bitmap", STR, MULTI, .dflt_doc = "A, AAAA", .check = conf_check_rrtype, TUNING,
	  .doc = "Record types in the NSEC records that deny names." },
};
const conf_section_t conf_section_mod_onlinesign = {
	MODULE("mod-onlinesign"),
	SCOPE_ZONE,
	REFUSED,
	ROWS(onlinesign_rows),
	.doc = "Signs answers when they are sent, instead of the whole zone in advance.",
};

static const conf_row_t probe_rows[] = {
	MOD_ID,
	{ .name = "path", STR, .dflt_doc = "server.rundir", TUNING,
	  .doc = "Directory of the sockets to which other programs connect." },
	{ .name = "channels", INT(1, 65535), .dflt = "1", TUNING, .doc = "Number of sockets." },
	{ .name = "max-rate", INT(0, MAX32), .dflt = "100000", TUNING,
	  .doc = "Largest number of queries per second that are reported." },
};
const conf_section_t conf_section_mod_probe = {
	MODULE("mod-probe"),
	SCOPE_BOTH,
	REFUSED,
	ROWS(probe_rows),
	.doc = "Gives traffic data to other programs.",
};

static const conf_row_t queryacl_rows[] = {
	MOD_ID_OF(conf_mod_queryacl_t),
	{ .name = "address", .type = CONF_NET, MULTI, CONF_AT(conf_mod_queryacl_t, addresses), .dflt_doc = "any",
	  .doc = "Source addresses, networks and ranges that may query." },
	{ .name = "interface", .type = CONF_NET, MULTI, CONF_AT(conf_mod_queryacl_t, interfaces), .dflt_doc = "any",
	  .doc = "Addresses, networks and ranges of this server at which queries are allowed." },
};
const conf_section_t conf_section_mod_queryacl = {
	MODULE("mod-queryacl"),
	SCOPE_BOTH,
	NEEDS_ID,
	ROWS(queryacl_rows),
	.struct_size = sizeof(conf_mod_queryacl_t),
	.doc = "Restricts which clients may query, and at which addresses of the server. Others get NOTAUTH. "
	       "Transfers, updates and NOTIFY have rules of their own.",
};

#define RRL_MAX (MAX32 / 768 - 1)
static const conf_row_t rrl_rows[] = {
	MOD_ID_OF(conf_mod_rrl_t),
	{ .name = "rate-limit", INT(0, RRL_MAX * 1000), CONF_AT(conf_mod_rrl_t, rate_limit), .dflt = "50",
	  .doc = "Answers over UDP per second to one address; at most 1000 times instant-limit. Networks may get multiples: "
	         "an IPv4 /24 32, a /20 256, a /18 768; an IPv6 /64 2, a /56 3, a /48 4, a /32 64 times as many. 0: no limit." },
	{ .name = "instant-limit", INT(1, RRL_MAX), CONF_AT(conf_mod_rrl_t, instant_limit), .dflt = "125",
	  .doc = "Answers over UDP to one address that may be sent at once, in a burst; networks as above." },
	{ .name = "slip", INT(0, 100), CONF_AT(conf_mod_rrl_t, slip), .dflt = "1",
	  .doc = "Truncate one of this number of answers that exceed the limit and drop the others; 0 drops all. "
	         "Truncated answers let real clients repeat the query over TCP. Each worker counts by itself." },
	{ .name = "time-rate-limit", INT(0, 1000000000), CONF_AT(conf_mod_rrl_t, time_rate_limit), .dflt = "5000",
	  .doc = "CPU time in microseconds per second for the queries of one address over other transports than UDP; "
	         "networks as above. What exceeds it is dropped. 0: no limit." },
	{ .name = "time-instant-limit", INT(1, 1000000), CONF_AT(conf_mod_rrl_t, time_instant_limit), .dflt = "5000",
	  .doc = "CPU time in microseconds for the queries of one address at once, in a burst." },
	{ .name = "table-size", INT(1, MAX31), CONF_AT(conf_mod_rrl_t, table_size), .dflt = "524288",
	  .doc = "Number of entries in the table of addresses and networks, rounded up to a power of two; 8 bytes each, "
	         "for each of the two limits. A larger one is more exact." },
	{ .name = "whitelist", .type = CONF_NET, MULTI, CONF_AT(conf_mod_rrl_t, whitelist),
	  .doc = "Addresses, networks and ranges without a limit." },
	{ .name = "log-period", INT(0, MAX31), CONF_AT(conf_mod_rrl_t, log_period_ms), .dflt = "30000",
	  .doc = "Least time in milliseconds between log lines about limited addresses; 0: no such lines." },
	{ .name = "dry-run", BOOL, CONF_AT(conf_mod_rrl_t, dry_run), .dflt = "off",
	  .doc = "Count and log what exceeds the limits, but limit nothing. Use it to find the right limits." },
};
const conf_section_t conf_section_mod_rrl = {
	MODULE("mod-rrl"),
	SCOPE_BOTH,
	ROWS(rrl_rows),
	.struct_size = sizeof(conf_mod_rrl_t),
	.check = conf_check_rrl,
	.doc = "Response rate limiting, against amplification attacks.",
};

#define STATS_ROW(item, member, on, what)                                                                              \
	{                                                                                                              \
		.name = item, BOOL, CONF_AT(conf_mod_stats_t, member), .dflt = on, .doc = "Count " what "."            \
	}
static const conf_row_t stats_rows[] = {
	{ .name = "id", STR, CONF_AT(conf_mod_stats_t, id),
	  .doc = "Name by which zones and templates refer to the module, as mod-stats/id." },
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
	.doc = "Counters of queries and answers, which knotc stats and zone-stats show.",
};

static const conf_option_t synth_types[] = { { "forward", 1 }, { "reverse", 2 }, { NULL, 0 } };
static const conf_row_t synthrecord_rows[] = {
	MOD_ID,
	{ .name = "type", OPT(synth_types), .required = true, .missing = "no synthesis type specified", TUNING,
	  .doc = "Direction: addresses from names (forward), or names from addresses (reverse)." },
	{ .name = "prefix", STR, .check = conf_check_no_dot, .pattern = "^[^.]*$", TUNING,
	  .doc = "Beginning of the names, without a dot." },
	{ .name = "origin", .type = CONF_DNAME, TUNING, .doc = "End of the names. Only allowed with type reverse." },
	{ .name = "ttl", TIME(0, MAX32), .dflt = "3600", TUNING, .doc = "TTL of the records." },
	{ .name = "network", .type = CONF_NET, MULTI, .required = true, .missing = "no network subnet specified",
	  TUNING,
	  .doc = "Addresses for which there are names." },
	{ .name = "reverse-short", BOOL, .dflt = "on", TUNING,
	  .doc = "Write IPv6 addresses in names in short form. Only allowed with type reverse." },
};
const conf_section_t conf_section_mod_synthrecord = {
	MODULE("mod-synthrecord"),
	SCOPE_ZONE,
	NEEDS_ID,
	REFUSED,
	ROWS(synthrecord_rows),
	.check = conf_check_synthrecord,
	.doc = "Synthesizes names and addresses from each other.",
};
