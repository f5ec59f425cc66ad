/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The configuration as one immutable snapshot of typed values.
 *
 * Owns the contents of `knot.conf`, with defaults, templates and path bases applied. conf_load() reads, checks and
 * builds the whole snapshot or nothing; afterwards it never changes, so any thread may read it for as long as its
 * owner keeps it (the daemon publishes it with RCU). All pointers in it live as long as the snapshot. Not here: acting
 * on a value, printing (faults are values handed to the caller), files other than the configuration itself.
 *
 * Every section and item is a row of schema.h; the fields below are where the rows put their values. A field without
 * a row's value holds the row's default, so no caller has defaults of its own.
 *
 * Zones: a zone costs its name and the items set in its own block; conf_zone() joins them with the template when asked.
 * A million zones load in a few seconds.
 */
#pragma once

#include "src/conf/policy.h"
#include "src/conf/rules.h"

typedef struct {
	const char *const *data;
	size_t count;
} conf_strs_t;

/** One `xdp.listen`: an interface by name, or by an IP address of it. */
typedef struct {
	char ifname[IF_NAMESIZE]; /* "": find the interface that has `addr` */
	struct sockaddr_storage
			addr; /* AF_INET or AF_INET6: only this destination address; AF_UNSPEC when ifname is set */
	uint16_t port;        /* host order, default 53 */
	const char *text;     /* as configured, for messages */
} conf_xdp_listen_t;

typedef struct {
	const conf_xdp_listen_t *data;
	size_t count;
} conf_xdp_listens_t;

/** One `xdp.block`: sources that are dropped, or limited, before they reach the server. */
typedef struct {
	uint8_t addr[16];    /* IPv6, or IPv4 as ::ffff:a.b.c.d; bits behind the prefix are 0 */
	uint8_t prefix_len;  /* bits of `addr`, 0–128: an IPv4 prefix has 96 more */
	uint32_t per_second; /* queries let through; 0: none */
	const char *text;    /* as configured; NULL when it is not from a configuration */
} conf_xdp_block_t;

typedef struct {
	const conf_xdp_block_t *data;
	size_t count;
} conf_xdp_blocks_t;

/** Values of metrics-listen: each address has a server of its own. */
enum { CONF_METRICS_LISTEN_MAX = 16 };

/** Values of dbus-event: bits of a set. */
enum {
	CONF_DBUS_RUNNING = 1,
	CONF_DBUS_ZONE_UPDATED = 2,
	CONF_DBUS_EXTERNAL_VERIFY = 3,
	CONF_DBUS_KEYS_UPDATED = 4,
	CONF_DBUS_KSK_SUBMISSION = 5,
	CONF_DBUS_DNSSEC_INVALID = 6,
};

/** Section `server`. */
typedef struct {
	const char *identity; /* CH TXT id.server; "": don't answer. Default: FQDN of the host */
	const char *version;  /* CH TXT version.server; "": don't answer. Default: name and version of the program */
	knot_bytes_t nsid;    /* EDNS NSID; len 0: don't send. Default: FQDN of the host */
	const char *rundir;
	const char *user;            /* "user[:group]"; NULL: keep the current one. See conf_user() */
	const char *pidfile;         /* path, joined with rundir */
	unsigned udp_workers;        /* 1–256; default: CPUs */
	unsigned tcp_workers;        /* 1–256; default: max(CPUs, 10) */
	unsigned background_workers; /* 1–512; default: min(CPUs, 10) */
	bool async_start;
	uint32_t tcp_idle_timeout_s;       /* 1– */
	uint32_t tcp_io_timeout_ms;        /* 0: no limit */
	uint32_t tcp_remote_io_timeout_ms; /* outgoing connections; 0: no limit */
	uint32_t remote_pool_limit;        /* idle outgoing connections that are kept */
	uint32_t remote_pool_timeout_s;    /* … for so long */
	uint32_t remote_retry_delay_ms;    /* a remote that can't be reached isn't tried meanwhile */
	uint32_t tcp_max_clients;          /* default: half of RLIMIT_NOFILE */
	bool tcp_reuseport;
	bool socket_affinity;
	uint16_t udp_payload_max_ipv4; /* bytes, 1220–4096; udp-max-payload where the family has no value of its own */
	uint16_t udp_payload_max_ipv6;
	uint16_t udp_payload_max; /* the value for both families; use the two above */
	bool edns_client_subnet;
	bool answer_rotation;
	bool automatic_acl;
	conf_set_t dbus_events; /* 1 << CONF_DBUS_… */
	uint32_t dbus_init_delay_s;
	conf_addrs_t metrics_listen; /* HTTP; UNIX paths joined with rundir; port 9433 where none was given */
	conf_addrs_t listen;         /* UDP and TCP; UNIX paths joined with rundir; port 53 where none was given */
} conf_server_t;

/** Section `xdp`. */
typedef struct {
	conf_xdp_listens_t listen; /* one per interface */
	bool udp;
	bool tcp;
	bool quic; /* false until QUIC is supported */
	uint16_t quic_port;
	uint32_t tcp_max_clients;     /* this and the two sizes: of all workers together */
	uint64_t tcp_inbuf_max_size;  /* bytes */
	uint64_t tcp_outbuf_max_size; /* bytes */
	uint32_t tcp_idle_close_timeout_s;
	uint32_t tcp_idle_reset_timeout_s;
	uint32_t tcp_resend_timeout_s;
	bool route_check;
	bool zero_copy;               /* false: ask for copy mode */
	uint16_t ring_size;           /* descriptors, 4–32768; a power of two */
	uint16_t busypoll_budget;     /* packets; 0: off */
	uint16_t busypoll_timeout_us; /* 1–65535 */
	conf_xdp_blocks_t block;      /* no prefix twice */
} conf_xdp_t;

/** Section `control`. */
typedef struct {
	conf_strs_t listen; /* 1–4 paths of UNIX sockets, joined with rundir */
	unsigned backlog;
	uint32_t timeout_s; /* 0: no limit */
} conf_control_t;

typedef enum { CONF_LOG_STDOUT, CONF_LOG_STDERR, CONF_LOG_SYSLOG, CONF_LOG_FILE } conf_log_kind_t;
typedef enum {
	CONF_LOG_SERVER,
	CONF_LOG_CONTROL,
	CONF_LOG_ZONE,
	CONF_LOG_QUIC,
	CONF_LOG_SOURCE_COUNT,
} conf_log_source_t;

/** One block of section `log`. Without any there are the three that Knot then uses, so this is always complete. */
typedef struct {
	conf_log_kind_t kind;
	const char *target;                    /* as configured; the path when kind is CONF_LOG_FILE */
	uint8_t levels[CONF_LOG_SOURCE_COUNT]; /* per source: LOG_MASK() bits of <syslog.h> to write; `any` is folded in
						*/
	uint8_t set[CONF_LOG_SOURCE_COUNT +
			1]; /* as configured: severity + 1 per item, the last is `any`; use `levels` */
} conf_log_t;

/** Section `statistics`. */
typedef struct {
	uint32_t timer_s; /* 0: no dumps */
	const char *file; /* path, joined with rundir */
	bool append;
} conf_statistics_t;

/** Whether the journal waits for the disk. */
typedef enum { CONF_JOURNAL_ROBUST, CONF_JOURNAL_ASYNCHRONOUS } conf_journal_mode_t;

/** `timer-db-sync`, if it isn't a number of seconds. */
enum { CONF_TIMERS_IMMEDIATE = 0, CONF_TIMERS_NEVER = -1, CONF_TIMERS_SHUTDOWN = -2 };

/** Section `database`. */
typedef struct {
	const char *storage;
	const char *journal_db;       /* these five: paths, joined with storage */
	uint64_t journal_db_max_size; /* bytes */
	conf_journal_mode_t journal_mode;
	const char *kasp_db;
	uint64_t kasp_db_max_size; /* bytes */
	const char *timer_db;
	uint64_t timer_db_max_size; /* bytes */
	int64_t timer_db_sync_s;    /* CONF_TIMERS_…, or seconds */
	const char *catalog_db;
	uint64_t catalog_db_max_size; /* bytes */
	const char *image_db;
	uint64_t image_db_max_size; /* bytes */
} conf_database_t;

/** True if one of them has the address; its port doesn't matter. addr NULL: not known, so none has it. O(count). */
bool conf_nets_have(conf_nets_t nets, const struct sockaddr *addr);

typedef struct {
	const knot_bytes_t *data;
	size_t count;
} conf_bytes_list_t;

/** Modules that have settings. The struct of each begins with the block's id; "" in the built-in instance. */
typedef enum {
	CONF_MOD_COOKIES,
	CONF_MOD_NOUDP,
	CONF_MOD_QUERYACL,
	CONF_MOD_RRL,
	CONF_MOD_STATS,
	CONF_MOD_END,
} conf_mod_t;

/** One block of section `mod-cookies`. */
typedef struct {
	const char *id;
	uint32_t secret_lifetime_s; /* of secrets that the server makes; at least 1 */
	uint32_t badcookie_slip;    /* every n-th query with a bad cookie is answered; at least 1 */
	conf_bytes_list_t secrets;  /* of 16 bytes; none: the server makes them */
} conf_mod_cookies_t;

/** One block of section `mod-noudp`: which replies over UDP are truncated. */
typedef struct {
	const char *id;
	uint32_t allow_rate;    /* all but every n-th; 0: as truncate_rate says */
	uint32_t truncate_rate; /* every n-th; at least 1 */
} conf_mod_noudp_t;

/** One block of section `mod-queryacl`; an empty list admits all. */
typedef struct {
	const char *id;
	conf_nets_t addresses;  /* of clients */
	conf_nets_t interfaces; /* of this server */
} conf_mod_queryacl_t;

/** One block of section `mod-rrl`. A rate of 0 is no limit. */
typedef struct {
	const char *id;
	uint64_t rate_limit;         /* answers per second to an address; at most 1000 * instant_limit */
	uint32_t instant_limit;      /* answers at once */
	uint32_t slip;               /* every n-th beyond the limit is truncated; 0: none is */
	uint32_t time_rate_limit;    /* microseconds of CPU time per second */
	uint32_t time_instant_limit; /* microseconds at once */
	uint32_t table_size;         /* entries */
	uint32_t log_period_ms;      /* 0: no log */
	conf_nets_t whitelist;
	bool dry_run;
} conf_mod_rrl_t;

/** One block of section `mod-stats`: which counters are kept. */
typedef struct {
	const char *id;
	bool request_protocol, server_operation, request_bytes, response_bytes, edns_presence, flag_presence,
			response_code, request_edns_option, response_edns_option, reply_nodata, query_type, query_size,
			reply_size;
} conf_mod_stats_t;

/** A reference to a module: `mod-stats` or `mod-stats/id`. */
typedef struct {
	const char *name; /* "mod-stats" */
	const char *id;   /* "": without configuration */
} conf_modref_t;

typedef struct {
	const conf_modref_t *data; /* in order of execution */
	size_t count;
} conf_modrefs_t;

/** What a version must have to be published: bits of conf_zone_t.publish_require. */
enum {
	CONF_REQUIRE_APEX_NS = 1,
	CONF_REQUIRE_NEWER_SERIAL = 2,
	CONF_REQUIRE_SIGNED = 4,
	CONF_REQUIRE_COMMON_KEY = 8,
};

typedef enum { CONF_SEMCHECKS_OFF, CONF_SEMCHECKS_ON, CONF_SEMCHECKS_SOFT } conf_semchecks_t;
typedef enum {
	CONF_ZONEFILE_NONE,
	CONF_ZONEFILE_DIFFERENCE,
	CONF_ZONEFILE_DIFFERENCE_NO_SERIAL,
	CONF_ZONEFILE_WHOLE,
} conf_zonefile_load_t;

typedef enum { CONF_JOURNAL_NONE, CONF_JOURNAL_CHANGES, CONF_JOURNAL_ALL } conf_journal_content_t;

typedef enum { CONF_SERIAL_INCREMENT = 1, CONF_SERIAL_UNIXTIME, CONF_SERIAL_DATESERIAL } conf_serial_policy_t;

/** Which serials the server may choose: those that have `remainder` when divided by `modulus`. */
typedef struct {
	conf_serial_policy_t policy;
	uint16_t remainder, modulus; /* modulus 0: as 1, any */
	int32_t shift;               /* added to what the policy says */
} conf_serial_rule_t;

/** Where the serial that was signed last is kept. */
typedef enum { CONF_METADATA_KASP, CONF_METADATA_TIMER } conf_metadata_db_t;

/** ZONEMD records: left as they are, generated with a hash algorithm (its number, RFC 8976 5.3), or removed. */
typedef enum {
	CONF_ZONEMD_NONE = 0,
	CONF_ZONEMD_SHA384 = 1,
	CONF_ZONEMD_SHA512 = 2,
	CONF_ZONEMD_REMOVE = 255,
} conf_zonemd_t;

typedef enum {
	CONF_CATALOG_NONE,
	CONF_CATALOG_INTERPRET, /* the zone configures its members */
	CONF_CATALOG_GENERATE,  /* the zone lists the zones that name it */
	CONF_CATALOG_MEMBER,    /* the zone names a catalog of that kind */
} conf_catalog_role_t;

/** A zone's settings: own items over its template over the defaults. A value: conf_zone() makes it, nothing to free. */
typedef struct {
	knot_name_t name;        /* lower case */
	const char *template_id; /* template that was applied; NULL: none */
	const char *directory;   /* what a relative path of the file is joined with; NULL: nothing */
	const char *storage;
	const char *file; /* with formatters, as configured; use conf_zone_file() */
	conf_semchecks_t semantic_checks;
	conf_zonefile_load_t zonefile_load;
	conf_journal_content_t journal_content;
	uint64_t journal_max_usage;         /* bytes */
	uint64_t journal_max_depth;         /* changes */
	uint32_t default_ttl;               /* seconds */
	conf_strs_t zonefile_skip;          /* types that the zone file neither gives nor gets; "dnssec": many */
	int64_t zonefile_sync_s;            /* write the zone file this long after a change: 0 at once, -1 never */
	conf_serial_policy_t serial_policy; /* of changes that don't say which serial the zone gets */
	const char *serial_modulo;          /* "R/M+A", either part may be missing; use conf_zone_serials() */
	conf_zonemd_t zonemd_generate;
	bool zonemd_verify;            /* a version whose ZONEMD records don't verify is refused */
	uint64_t zone_max_size;        /* bytes of wire format */
	uint32_t nsec3_max_iterations; /* a zone with more is refused; 65535: no limit */
	uint32_t publish_max_shrink;   /* percent of its records that the zone may lose at once; 100: all */
	conf_bits_t publish_require;   /* CONF_REQUIRE_… */
	conf_modrefs_t modules;        /* the zone's own; global modules come before them: conf_t.global_modules */
	const char *comment;           /* NULL: none */
	bool provide_ixfr;             /* answer IXFR with differences */
	uint32_t update_delay_s;       /* changes from outside are gathered for so long */
	/* As long as the schema refuses them, none of these are set in a configuration that was checked. */
	uint32_t refresh_min_s, refresh_max_s; /* limits of what the SOA says; a maximum of 0: none */
	uint32_t retry_min_s, retry_max_s;
	uint32_t expire_min_s, expire_max_s;
	int64_t refresh_jitter; /* seconds, or with CONF_PERCENT (value.h) percent of the interval */
	uint32_t master_pin_tolerance_s;
	bool ixfr_benevolent, ixfr_by_one, ixfr_from_axfr;
	conf_groups_t master;      /* servers that the zone is transferred from, in order */
	conf_groups_t notify;      /* servers that are notified of changes */
	uint32_t notify_delay_s;   /* how long after one */
	conf_groups_t ddns_master; /* at most one; set, but with none: updates aren't forwarded */
	conf_acls_t acl;           /* rules, in order: src/access */
	bool dnssec_signing, dnssec_validation;
	conf_metadata_db_t metadata_db;
	conf_policies_t policy;        /* at most one; use conf_zone_policy() */
	conf_groups_t ds_push;         /* the parent's servers; NULL data: those of the policy */
	conf_externals_t external;     /* at most one: who decides about new versions */
	conf_delegations_t delegation; /* at most one: what is done by what children publish */
	conf_catalog_role_t catalog_role;
	conf_bytes_list_t catalog_templates; /* of an interpreted catalog: identifiers; use conf_member() */
	knot_bytes_t catalog_zone;           /* of a member: wire name of its catalog, lower case */
	const char *catalog_group;           /* NULL: none */
	/* Wire names, lower case, of zones that this one is made of; at most one of both has any. Other members then
	   say what that implies: conf_zone_is_derived(). */
	conf_bytes_list_t reverse_generate, include_from;
} conf_zone_t;

/** True if the zone has records of other zones (`reverse-generate`, `include-from`). */
static inline bool conf_zone_is_derived(const conf_zone_t *zone)
{
	return zone->reverse_generate.count > 0 || zone->include_from.count > 0;
}

typedef struct conf_store conf_store_t;

/** The snapshot. Read any field but the last; conf_load() and conf_make() make one, conf_free() frees it. */
typedef struct conf {
	const char *path; /* of the main file, as given */
	conf_server_t server;
	conf_xdp_t xdp;
	conf_control_t control;
	const conf_log_t *logs; /* in order of their targets */
	size_t log_count;
	conf_statistics_t statistics;
	conf_database_t database;
	struct {
		const void *blocks; /* structs of the module's settings, and behind them, not counted, the built-in one
				     */
		size_t count;
	} mods[CONF_MOD_END];
	conf_modrefs_t global_modules; /* of template `default` */
	size_t zone_count;
	conf_store_t *store; /* owned; zones, and every block as it was set (store.h) */
	unsigned holds;      /* owners besides the one that made it: conf_hold() */
} conf_t;

/* ---- Loading ---- */

/** Facts of this machine that computed defaults depend on. */
typedef struct {
	unsigned cpu_count;    /* online */
	uint64_t nofile_max;   /* soft RLIMIT_NOFILE */
	char hostname[256];    /* FQDN if the resolver was queried and knows one */
	const char *version;   /* static, e.g. PACKAGE_STRING */
	const char *directory; /* what relative paths are joined with, borrowed while a configuration is made; NULL:
				  they stay relative */
	bool is_checked;       /* look also at users, interfaces and zone files of this machine: for conf-check */
} conf_host_t;

/** Get the facts from the system. May wait for the resolver, as hostname(1) --fqdn does: 10 seconds if none answers. */
conf_host_t conf_host(void);

/** As above without the resolver, `hostname` as gethostname(2) gives it: for tools, which check and show configurations
 * but don't answer queries for the name. */
conf_host_t conf_host_offline(void);

typedef enum { CONF_ERROR, CONF_WARNING, CONF_NOTICE } conf_severity_t;

/**
 * Something wrong in a configuration. Strings are valid during the callback only.
 *
 * The message names the place as Knot does: "config, file 'F', line N, item 'K', value 'V' (reason)" and "config, file
 * 'F', line N, section 'S[id]' (reason)"; for faults outside of files: "config, item 'S[id].K', value 'V' (reason)"
 * and "config, section 'S[id]' (reason)". It never has the value of an item that is, or may be, a secret.
 */
typedef struct {
	conf_severity_t severity;
	knot_err_t err;                          /* KNOT_OK in warnings and notices */
	const char *file;                        /* NULL: not from a file */
	size_t line;                             /* from 1; 0: the whole file */
	const char *text;                        /* the whole message */
	const char *reason;                      /* what stands in parentheses; NULL: the message has none */
	const char *section, *id, *item, *value; /* as text; NULL: not about one */
	const char *hint;                        /* what to do about it, without a final dot; NULL: none */
} conf_fault_t;

/** Errors that one run tells in full, and unsupported items: more of them have the same few causes. */
enum { CONF_ERRORS_TOLD_MAX = 100, CONF_UNSUPPORTED_TOLD_MAX = 1000 };

/** Receives faults in file order, but what isn't supported yet last. */
typedef struct {
	void (*fault)(void *ctx, const conf_fault_t *fault);
	void *ctx;
} conf_sink_t;

/**
 * Load a configuration file with its includes.
 *
 * host: NULL gives 1 CPU and the name "localhost". sink: gets every warning and error, at most CONF_ERRORS_TOLD_MAX of
 * the latter, and then all items that are not supported yet with a summary. ret_conf: free with conf_free(). On any
 * failure, whose code is that of the first error, the sink got at least one fault; add "failed to load configuration
 * file 'F' (reason)" with knot_strerror() of the code, don't start, or keep the old snapshot.
 */
KNOT_MUST_USE knot_err_t conf_load(const char *path, const conf_host_t *host, conf_sink_t sink, conf_t **ret_conf);

/** Same for text in memory; `name` stands for the file in messages, includes are relative to the working directory. */
KNOT_MUST_USE knot_err_t conf_load_text(
		const char *name, knot_str_t text, const conf_host_t *host, conf_sink_t sink, conf_t **ret_conf);

/**
 * Check a sealed store (store.h) that was not read from a file, and build a snapshot of it: for the commit of a
 * transaction and for the configuration database.
 *
 * take_store: belongs to the snapshot afterwards; freed on failure. path: the snapshot's `path`; copied. Errors as
 * conf_load(); faults have no file and line, but section, id, item and value.
 */
KNOT_MUST_USE knot_err_t conf_make(conf_store_t *take_store, const char *path, const conf_host_t *host,
		conf_sink_t sink, conf_t **ret_conf);

/**
 * A small copy of the sections server, xdp, control, statistics and database, without zones or anything else: the
 * settings of a server's start, for comparing later. host: as when `conf` was made. NULL: out of memory; else free it
 * with conf_free().
 */
conf_t *conf_copy_groups(const conf_t *conf, const conf_host_t *host);

/**
 * One more owner of a published snapshot, to be released with conf_free(): for callers that read it for long, outside
 * of the read section in which they found it. Any thread that may read it.
 */
conf_t *conf_hold(const conf_t *conf);

/** Release a snapshot; the last owner frees it. conf may be NULL. */
void conf_free(conf_t *conf);

/** Where the configuration is looked for without -c: KNOT_CONFIG_DIR "/knot.conf". */
const char *conf_default_path(void);

/* ---- Using ---- */

/** Settings of the zone at `index` < zone_count; zones are in canonical order of their names. Some 100 ns. */
conf_zone_t conf_zone(const conf_t *conf, size_t index);

/** True if some zone may have modules of its own; if not, callers needn't look at all zones. */
bool conf_has_zone_modules(const conf_t *conf);

/** False: no zone has a role in catalogs. True: some may have one. Cost: templates. */
bool conf_has_catalogs(const conf_t *conf);

/** Name of the zone at `index` without the rest. */
knot_name_t conf_zone_name(const conf_t *conf, size_t index);

/** Index of the zone with exactly this name, any case. False: not configured. O(log zones). */
bool conf_zone_find(const conf_t *conf, knot_name_t name, size_t *ret_index);

/**
 * Settings of a zone that isn't configured, but is a member of an interpreted catalog: those of the catalog's template
 * that has the name of the group, else of its first one. name, catalog: any case; `name` is borrowed by the result.
 * False: the catalog isn't configured as one. O(log zones).
 */
bool conf_member(const conf_t *conf, knot_name_t name, knot_name_t catalog, knot_bytes_t group, conf_zone_t *ret_zone);

/** The rule that a zone's serials follow. */
conf_serial_rule_t conf_zone_serials(const conf_zone_t *zone);

/**
 * Path of the zone's file: `file` with its formatters expanded, joined with `storage`.
 * ret_path: NUL-terminated. KNOT_ESPACE: more than 1023 bytes without storage, or
 * more than path_max with it.  KNOT_EINVAL: a formatter has no valid index (the sink was warned). No file then: the
 * zone can't be loaded.
 */
KNOT_MUST_USE knot_err_t conf_zone_file(const conf_zone_t *zone, char *ret_path, size_t path_max);

/** The policy by which the zone is signed; the built-in one if it names none. Never NULL. */
const conf_policy_t *conf_zone_policy(const conf_t *conf, const conf_zone_t *zone);

/** The policy of that identifier; NULL: there is none. */
const conf_policy_t *conf_find_policy(const conf_t *conf, const char *id);

/** The stores of a policy's private keys, in order; at least the built-in one. */
conf_keystores_t conf_policy_keystores(const conf_t *conf, const conf_policy_t *policy);

/** The index-th keystore, in the order of the configuration, and behind them the built-in one; NULL: there are no more.
 */
const conf_keystore_t *conf_keystore_at(const conf_t *conf, size_t index);

/** The keystore of an id; "default", unless there is such a block, and "" are the built-in one. NULL: none. */
const conf_keystore_t *conf_keystore_find(const conf_t *conf, const char *id);

/** Path of another file of the zone, by the same formatters and with the same errors. */
KNOT_MUST_USE knot_err_t conf_zone_path(const conf_zone_t *zone, const char *format, char *ret_path, size_t path_max);

/**
 * The settings of the module that a reference names, conf_mod_<name>_t; the built-in ones (all defaults) for id "".
 * Never NULL: references are checked when the configuration is loaded.
 */
const void *conf_mod(const conf_t *conf, conf_mod_t mod, const char *id);

/**
 * Ids of `server.user`, group defaulting to the current one; the current ids if it isn't set.
 * KNOT_ENOENT: no such user or group; ret_fault says which, as a line of the log. Don't start.
 */
enum { CONF_USER_FAULT_MAX = 320 };
KNOT_MUST_USE knot_err_t conf_user(
		const conf_t *conf, uid_t *ret_uid, gid_t *ret_gid, char ret_fault[static CONF_USER_FAULT_MAX]);

/** "192.0.2.1@53", "::1@53", "fe80::1%eth0@53", "/run/x.sock": as log lines have it. Returns ret_text. */
enum { CONF_ADDR_TEXT_MAX = 192 };
const char *conf_addr_print(const conf_addr_t *addr, char ret_text[static CONF_ADDR_TEXT_MAX]);

/**
 * Read `PREFIX[@RATE]`: an address or an address with /length, and queries per second, 1–1000000; without a rate
 * nothing is let through. Bits behind the prefix must be 0. ret_block->text is NULL. Returns NULL, or why the text is
 * wrong: a static string.
 */
const char *conf_xdp_block_scan(knot_str_t text, conf_xdp_block_t *ret_block);

/**
 * Read how long a rule holds: a number with a unit (s, m, h, d, w; none: seconds), 1 second to 52 weeks. Returns NULL,
 * or why the text is wrong: a static string.
 */
const char *conf_xdp_block_scan_time(const char *text, uint32_t *ret_seconds);

/** Print it as it is configured, "192.0.2.0/24@100". Returns ret_text. */
enum { CONF_XDP_BLOCK_TEXT_MAX = 64 };
const char *conf_xdp_block_print(const conf_xdp_block_t *block, char ret_text[static CONF_XDP_BLOCK_TEXT_MAX]);

/** A copy that doesn't need the snapshot, without the rules' texts; one allocation, to free(). NULL: no memory. */
conf_xdp_t *conf_xdp_copy(const conf_xdp_t *xdp);

/* ---- Comparing, for a reload ---- */

/** What a reload has to do. */
typedef struct {
	bool logs;    /* reopen the log */
	bool server;  /* values of server, xdp or statistics that apply at once */
	bool modules; /* module instances or global modules: rebuild the module chain */
	bool statistics;
	const char *restart[32]; /* X of "changes of X require restart to take effect"; static strings */
	size_t restart_count;
} conf_diff_t;

conf_diff_t conf_diff(const conf_t *old, const conf_t *new);

/** True if the zone's settings that matter for loading it (file, checks, TTL, size) are the same in both. */
bool conf_zone_same(const conf_zone_t *a, const conf_zone_t *b);
