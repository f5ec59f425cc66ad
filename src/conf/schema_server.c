/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of the sections that configure the server as a whole. */
#include "src/conf/schema_rows.h"

/* clang-format off: tables */

static const conf_option_t dbus_events[] = {
	{ "none", 0 }, { "running", 1 }, { "zone-updated", 2 }, { "external-verify", 3 }, { "keys-updated", 4 },
	{ "ksk-submission", 5 }, { "dnssec-invalid", 6 }, { NULL, 0 },
};

static const conf_option_t journal_modes[] = { { "robust", 0 }, { "asynchronous", 1 }, { NULL, 0 } };

static const conf_option_t timer_syncs[] = { { "immediate", 0 }, { "never", -1 }, { "shutdown", -2 }, { NULL, 0 } };

/* Numbers: severity of syslog(3) + 1, so that 0 is "nothing". */
static const conf_option_t severities[] = {
	{ "critical", 3 }, { "error", 4 }, { "warning", 5 }, { "notice", 6 }, { "info", 7 }, { "debug", 8 },
	  { NULL, 0 },
};

static const conf_row_t module_rows[] = {
	{ .name = "id", STR, .check = conf_check_module_prefix, .pattern = "^mod-", REFUSED,
	  .doc = "Name of the module, with the prefix mod-." },
	{ .name = "file", STR, TUNING, .doc = "Path of the shared library with the module." },
	COMMENT,
};
const conf_section_t conf_section_module = {
	.name = "module", .kind = CONF_MULTI, ROWS(module_rows),
	.doc = "Query modules that are loaded from shared libraries. The modules of this server are built in.",
};

static const conf_row_t server_rows[] = {
	{ .name = "identity", STR, CONF_AT(conf_server_t, identity), .dflt_doc = "FQDN of the host",
	  .rfc = "RFC 4892",
	  .doc = "Answer to the CHAOS TXT queries id.server and hostname.bind. An empty value disables it." },
	{ .name = "version", STR, CONF_AT(conf_server_t, version), .dflt_doc = "name and version of the program",
	  .rfc = "RFC 4892",
	  .doc = "Answer to the CHAOS TXT queries version.server and version.bind. An empty value disables it." },
	{ .name = "nsid", .type = CONF_HEX, CONF_AT(conf_server_t, nsid), .dflt_doc = "FQDN of the host", .rfc = "RFC 5001",
	  .doc = "Identifier sent in the EDNS option NSID: text, or bytes as 0x and hexadecimal digits. An empty value disables "
	         "it." },
	{ .name = "rundir", STR, CONF_AT(conf_server_t, rundir), .dflt = KNOT_RUN_DIR, .path = CONF_PATH_START, RESTART,
	  .doc = "Directory for the pid file, the sockets and what other relative run-time paths mean." },
	{ .name = "user", STR, CONF_AT(conf_server_t, user), .dflt_doc = "the user that starts the server", RESTART,
	  .doc = "user[:group] to become once sockets are open." },
	{ .name = "pidfile", STR, CONF_AT(conf_server_t, pidfile), .dflt = "knot.pid", .path = CONF_PATH_RUNDIR,
	  RESTART,
	  .doc = "Path of the file with the server's process id, relative to rundir." },
	{ .name = "udp-workers", INT(1, 256), CONF_AT(conf_server_t, udp_workers),
	  .dflt_doc = "number of online CPUs", RESTART,
	  .doc = "Threads that answer over UDP." },
	{ .name = "tcp-workers", INT(1, 256), CONF_AT(conf_server_t, tcp_workers),
	  .dflt_doc = "number of online CPUs, at least 10", RESTART, .doc = "Threads that answer over TCP." },
	{ .name = "background-workers", INT(1, 512), CONF_AT(conf_server_t, background_workers),
	  .dflt_doc = "number of online CPUs, at most 10", RESTART, .doc = "Threads that load and maintain zones." },
	{ .name = "async-start", BOOL, CONF_AT(conf_server_t, async_start), .dflt = "off", RESTART,
	  .doc = "Answer before all zones are loaded; those that aren't get SERVFAIL." },
	{ .name = "tcp-idle-timeout", TIME(1, MAX31), CONF_AT(conf_server_t, tcp_idle_timeout_s), .dflt = "10",
	  .rfc = "RFC 7766 6.2.3", .doc = "Close a TCP connection on which nothing arrived for this long." },
	{ .name = "tcp-io-timeout", INT(0, MAX31), CONF_AT(conf_server_t, tcp_io_timeout_ms), .dflt = "500",
	  .doc = "Milliseconds in which a message must be received or sent over an incoming TCP connection; 0: no limit." },
	{ .name = "tcp-remote-io-timeout", INT(0, MAX31), CONF_AT(conf_server_t, tcp_remote_io_timeout_ms),
	  .dflt = "5000",
	  .doc = "The same for outgoing connections." },
	{ .name = "tcp-max-clients", INT(0, MAX31), CONF_AT(conf_server_t, tcp_max_clients),
	  .dflt_doc = "half of the limit of open files", .doc = "TCP connections at the same time." },
	{ .name = "tcp-reuseport", BOOL, CONF_AT(conf_server_t, tcp_reuseport), .dflt = "off", RESTART,
	  .doc = "A listening TCP socket of its own for every TCP worker." },
	{ .name = "tcp-fastopen", BOOL, .dflt = "off", .support = CONF_OBSOLETE, .doc = "Has no effect." },
	{ .name = "quic-max-clients", INT(128, MAX31), .dflt = "10000", RESTART, TUNING,
	  .doc = "QUIC connections at the same time." },
	{ .name = "quic-outbuf-max-size", SIZE(MEGA, MAX48), .dflt = "100M", RESTART, TUNING,
	  .doc = "Memory per worker for QUIC data that was not acknowledged." },
	{ .name = "quic-idle-close-timeout", TIME(1, MAX31), .dflt = "4", RESTART, TUNING,
	  .doc = "Close a QUIC connection that is idle for this long." },
	{ .name = "remote-pool-limit", INT(0, MAX31), .dflt = "0", RESTART, TUNING,
	  .doc = "Outgoing connections kept open for later use." },
	{ .name = "remote-pool-timeout", TIME(1, MAX31), .dflt = "5", TUNING, .doc = "How long they are kept." },
	{ .name = "remote-retry-delay", INT(0, MAX31), .dflt = "0", TUNING,
	  .doc = "Milliseconds during which an unreachable remote is not tried again." },
	{ .name = "socket-affinity", BOOL, CONF_AT(conf_server_t, socket_affinity), .dflt = "off", RESTART,
	  .doc = "Hand a packet to the socket of the CPU that received it." },
	{ .name = "udp-max-payload", SIZE(1220, 4096), CONF_AT(conf_server_t, udp_payload_max), .dflt = "1232",
	  .rfc = "RFC 6891 6.2.5", .doc = "Largest answer over UDP, for both address families." },
	{ .name = "udp-max-payload-ipv4", SIZE(1220, 4096), CONF_AT(conf_server_t, udp_payload_max_ipv4),
	  .dflt_doc = "udp-max-payload", .doc = "Largest answer over UDP on IPv4." },
	{ .name = "udp-max-payload-ipv6", SIZE(1220, 4096), CONF_AT(conf_server_t, udp_payload_max_ipv6),
	  .dflt_doc = "udp-max-payload", .doc = "Largest answer over UDP on IPv6." },
	{ .name = "cert-file", STR, REFUSED_BUT("\"\""), .doc = "Certificate for TLS and QUIC; key-file must be set, too." },
	{ .name = "key-file", STR, REFUSED_BUT("\"\""), .doc = "Private key for TLS and QUIC; cert-file must be set, too." },
	{ .name = "ca-file", STR, MULTI, REFUSED, .doc = "Certificates of authorities that sign those of remotes." },
	{ .name = "edns-client-subnet", BOOL, CONF_AT(conf_server_t, edns_client_subnet), .dflt = "off", .rfc = "RFC 7871",
	  .doc = "Process the EDNS option Client Subnet." },
	{ .name = "answer-rotation", BOOL, CONF_AT(conf_server_t, answer_rotation), .dflt = "off",
	  .doc = "Rotate the records of a set from answer to answer." },
	{ .name = "automatic-acl", BOOL, .dflt = "off", TUNING,
	  .doc = "Let the remotes that a zone refers to as master and notify pass without an ACL." },
	{ .name = "proxy-allowlist", .type = CONF_NET, MULTI, REFUSED,
	  .doc = "Sources of queries with a PROXYv2 header." },
	{ .name = "dbus-event", OPT(dbus_events), MULTI, .dflt = "none", RESTART, REFUSED_BUT("none"),
	  .doc = "Events that are announced over D-Bus." },
	{ .name = "dbus-init-delay", TIME(0, MAX31), .dflt = "1", RESTART, TUNING,
	  .doc = "Wait this long before the first D-Bus event." },
	{ .name = "listen", .type = CONF_ADDR, MULTI, CONF_AT(conf_server_t, listen), .port = 53,
	  .path = CONF_PATH_RUNDIR,
	  RESTART, .check = conf_check_port,
	  .doc = "Addresses to answer on over UDP and TCP: an IP address, optionally with @port, or the path of a UNIX socket." },
	{ .name = "metrics-listen", .type = CONF_ADDR, MULTI, CONF_AT(conf_server_t, metrics_listen), .port = 9433,
	  .count_max = CONF_METRICS_LISTEN_MAX,
	  .path = CONF_PATH_RUNDIR, .check = conf_check_port,
	  .doc = "Addresses of an HTTP server that answers GET /metrics with the counters in OpenMetrics text, or the path of a "
	         "UNIX socket. An item of this server only. Whoever reaches the address can read the names of all zones." },
	{ .name = "listen-quic", .type = CONF_ADDR, MULTI, .port = 853, RESTART, REFUSED, .check = conf_check_port,
	  .rfc = "RFC 9250", .doc = "Addresses to answer on over QUIC." },
	{ .name = "listen-tls", .type = CONF_ADDR, MULTI, .port = 853, RESTART, REFUSED, .check = conf_check_port,
	  .rfc = "RFC 7858", .doc = "Addresses to answer on over TLS." },
	COMMENT,
};
const conf_section_t conf_section_server = {
	.name = "server", .kind = CONF_GROUP, ROWS(server_rows), .struct_size = sizeof(conf_server_t),
	  .check = conf_check_server,
	.doc = "The server as a whole.",
};

static const conf_row_t xdp_rows[] = {
	{ .name = "listen", .type = CONF_ADDR, MULTI, CONF_AT(conf_xdp_t, listen), .port = 53,
	  .check = conf_check_xdp_listen,
	  .doc = "Network interfaces to answer on through AF_XDP: the name of an interface, or an IP address of it, optionally "
	         "with @port; one entry for each interface. With an address, only what is sent to it is answered." },
	{ .name = "udp", BOOL, CONF_AT(conf_xdp_t, udp), .dflt = "on", .doc = "Answer over UDP." },
	{ .name = "tcp", BOOL, CONF_AT(conf_xdp_t, tcp), .dflt = "off",
	  .rfc = "RFC 7766", .doc = "Answer over TCP." },
	{ .name = "quic", BOOL, CONF_AT(conf_xdp_t, quic), .dflt = "off", RESTART, REFUSED_BUT("off"),
	  .doc = "Answer over QUIC." },
	{ .name = "quic-port", INT(1, 65535), CONF_AT(conf_xdp_t, quic_port), .dflt = "853", RESTART, TUNING,
	  .doc = "Port for QUIC." },
	{ .name = "tcp-max-clients", INT(1024, MAX31), CONF_AT(conf_xdp_t, tcp_max_clients), .dflt = "1000000",
	  .doc = "TCP connections at the same time, on all interfaces together." },
	{ .name = "tcp-inbuf-max-size", SIZE(MEGA, MAX48), CONF_AT(conf_xdp_t, tcp_inbuf_max_size),
	  .dflt = "100M",
	  .doc = "Bytes of memory for TCP messages that are not complete, on all interfaces together." },
	{ .name = "tcp-outbuf-max-size", SIZE(MEGA, MAX48), CONF_AT(conf_xdp_t, tcp_outbuf_max_size),
	  .dflt = "100M",
	  .doc = "Bytes of memory for TCP data that was not acknowledged, on all interfaces together." },
	{ .name = "tcp-idle-close-timeout", TIME(1, MAX31), CONF_AT(conf_xdp_t, tcp_idle_close_timeout_s), .dflt = "10",
	  .doc = "Close a TCP connection that is idle for this long." },
	{ .name = "tcp-idle-reset-timeout", TIME(1, MAX31), CONF_AT(conf_xdp_t, tcp_idle_reset_timeout_s),
	  .dflt = "20",
	  .doc = "Reset a TCP connection that is idle for this long." },
	{ .name = "tcp-resend-timeout", TIME(1, MAX31), CONF_AT(conf_xdp_t, tcp_resend_timeout_s), .dflt = "5",
	  .doc = "Send TCP data again that was not acknowledged for this long." },
	{ .name = "route-check", BOOL, CONF_AT(conf_xdp_t, route_check), .dflt = "off",
	  .doc = "Send answers where the routing table says rather than where the query came from." },
	{ .name = "zero-copy", BOOL, CONF_AT(conf_xdp_t, zero_copy), .dflt = "on",
	  .doc = "Use the driver's zero-copy mode where it has one." },
	{ .name = "ring-size", INT(4, 32768), CONF_AT(conf_xdp_t, ring_size), .dflt = "2048",
	  .check = conf_check_power_of_two, .doc = "Descriptors in each of a socket's four rings; a power of two." },
	{ .name = "busypoll-budget", INT(0, 65535), CONF_AT(conf_xdp_t, busypoll_budget), .dflt = "0",
	  .doc = "Packets per preferred busy poll; 0: off." },
	{ .name = "busypoll-timeout", INT(1, 65535), CONF_AT(conf_xdp_t, busypoll_timeout_us), .dflt = "20",
	  .doc = "Microseconds of a preferred busy poll." },
	{ .name = "block", STR, MULTI, CONF_AT(conf_xdp_t, block), .check = conf_check_xdp_block,
	  .pattern = "^([0-9A-Fa-f:.]+(/[0-9]{1,3})?(@[0-9]{1,7})?)?$",
	  .doc = "Sources whose queries don't reach the server: an address or a prefix, optionally with @ and a number of "
	         "queries per second, 1 to 1000000, to let through. The longest prefix that matches decides. It is done in the "
	         "network driver, on every interface of listen. ::/0 is IPv6 only, 0.0.0.0/0 IPv4." },
	COMMENT,
};
const conf_section_t conf_section_xdp = {
	.name = "xdp", .kind = CONF_GROUP, ROWS(xdp_rows), .struct_size = sizeof(conf_xdp_t), .check = conf_check_xdp,
	.doc = "Answering through AF_XDP, past the kernel's network stack.",
};

static const conf_row_t control_rows[] = {
	{ .name = "listen", STR, MULTI, CONF_AT(conf_control_t, listen), .dflt = "knot.sock", .count_max = 4,
	  .path = CONF_PATH_RUNDIR, RESTART,
	  .doc = "Paths of the control sockets, relative to server.rundir; at most four." },
	{ .name = "backlog", INT(0, 65535), CONF_AT(conf_control_t, backlog), .dflt = "5", RESTART,
	  .doc = "Connections that may wait to be accepted." },
	{ .name = "timeout", TIME(0, 2147483), CONF_AT(conf_control_t, timeout_s), .dflt = "5",
	  .doc = "End a control connection on which nothing can be read or written for this long; 0: no limit." },
	COMMENT,
};
const conf_section_t conf_section_control = {
	.name = "control", .kind = CONF_GROUP, ROWS(control_rows), .struct_size = sizeof(conf_control_t),
	.doc = "The sockets that knotc(8) talks to.",
};

#define LOG_ROW(item, index, what) \
	{ .name = item, OPT(severities), CONF_AT(conf_log_t, set[index]), \
	  .doc = "Least severity of messages about " what "." }
static const conf_row_t log_rows[] = {
	{ .name = "target", STR, CONF_AT(conf_log_t, target),
	  .doc = "stdout, stderr, syslog or the path of a file." },
	LOG_ROW("server", CONF_LOG_SERVER, "the server"),
	LOG_ROW("control", CONF_LOG_CONTROL, "control connections"),
	LOG_ROW("zone", CONF_LOG_ZONE, "zones"),
	LOG_ROW("quic", CONF_LOG_QUIC, "QUIC"),
	LOG_ROW("any", CONF_LOG_SOURCE_COUNT, "everything but QUIC"),
	COMMENT,
};
const conf_section_t conf_section_log = {
	.name = "log", .kind = CONF_MULTI, ROWS(log_rows), .struct_size = sizeof(conf_log_t),
	.doc = "Where messages go. Without this section: warnings and errors to standard error and to syslog, notices and "
	       "information to standard output.",
};

static const conf_row_t statistics_rows[] = {
	{ .name = "timer", TIME(1, MAX32), CONF_AT(conf_statistics_t, timer_s), .dflt_doc = "no dumps",
	  .doc = "Write the statistics to a file at this interval." },
	{ .name = "file", STR, CONF_AT(conf_statistics_t, file), .dflt = "stats.yaml", .path = CONF_PATH_RUNDIR,
	  .doc = "The file, relative to server.rundir." },
	{ .name = "append", BOOL, CONF_AT(conf_statistics_t, append), .dflt = "off",
	  .doc = "Append to the file instead of replacing it." },
	COMMENT,
};
const conf_section_t conf_section_statistics = {
	.name = "statistics", .kind = CONF_GROUP, ROWS(statistics_rows), .struct_size = sizeof(conf_statistics_t),
	.doc = "Periodic dump of the counters.",
};

/* A map is address space, which 64 bits have plenty of. */
#if UINTPTR_MAX > UINT32_MAX
#define MAP_MAX(max)   (max)
#define MAP_DFLT(dflt) (dflt)
#else
#define MAP_MAX(max)   (500 * MEGA)
#define MAP_DFLT(dflt) "500M"
#endif

static const conf_row_t database_rows[] = {
	{ .name = "storage", STR, CONF_AT(conf_database_t, storage), .dflt = KNOT_STORAGE_DIR, .path = CONF_PATH_START,
	  .doc = "Directory that the other paths are relative to." },
	{ .name = "journal-db", STR, CONF_AT(conf_database_t, journal_db), .dflt = "journal", .path = CONF_PATH_STORAGE,
	  .doc = "Directory of the journal." },
	{ .name = "journal-db-mode", OPT(journal_modes), .dflt = "robust", TUNING, .doc = "Safe or fast journal." },
	{ .name = "journal-db-max-size", SIZE(MEGA, MAP_MAX(100 * TERA)), .dflt = MAP_DFLT("20G"), TUNING,
	  .doc = "Largest size of the journal." },
	{ .name = "kasp-db", STR, CONF_AT(conf_database_t, kasp_db), .dflt = "keys", .path = CONF_PATH_STORAGE,
	  .doc = "Directory of the key database." },
	{ .name = "kasp-db-max-size", SIZE(5 * MEGA, MAP_MAX(100 * GIGA)), .dflt = MAP_DFLT("10G"), TUNING,
	  .doc = "Largest size of the key database." },
	{ .name = "timer-db", STR, CONF_AT(conf_database_t, timer_db), .dflt = "timers", .path = CONF_PATH_STORAGE,
	  .doc = "Directory of the zones' timers." },
	{ .name = "timer-db-max-size", SIZE(MEGA, MAP_MAX(100 * GIGA)), .dflt = MAP_DFLT("5G"), TUNING,
	  .doc = "Largest size of the timer database." },
	{ .name = "timer-db-sync", .type = CONF_OPTINT, .options = timer_syncs, .min = 1, .max = MAX32,
	  .unit = CONF_UNIT_TIME,
	  .dflt = "shutdown", TUNING,
	  .doc = "When timers are written: immediate, never, shutdown, or at this interval." },
	{ .name = "catalog-db", STR, CONF_AT(conf_database_t, catalog_db), .dflt = "catalog", .path = CONF_PATH_STORAGE,
	  .doc = "Directory of the catalog database." },
	{ .name = "catalog-db-max-size", SIZE(5 * MEGA, MAP_MAX(100 * GIGA)), .dflt = MAP_DFLT("20G"), TUNING,
	  .doc = "Largest size of the catalog database." },
	{ .name = "image-db", STR, CONF_AT(conf_database_t, image_db), .dflt = "images", .path = CONF_PATH_STORAGE,
	  RESTART,
	  .doc = "Directory of the images of compiled zones, from which a start and a reload take zones whose files did not "
		 "change. Made if its parent is there." },
	{ .name = "image-db-max-size", SIZE(MEGA, MAP_MAX(100 * TERA)), .dflt = MAP_DFLT("20G"), RESTART,
	  CONF_AT(conf_database_t, image_db_max_size),
	  .doc = "Largest size of the images on disk; zones that no longer fit are served, and read from their files at the "
		 "next start." },
	{ .name = "zone-db-listen", .type = CONF_ADDR, MULTI, .port = 6379, REFUSED,
	  .doc = "Addresses of Redis servers." },
	{ .name = "zone-db-tls", BOOL, .dflt = "off", REFUSED_BUT("off"), .doc = "TLS towards Redis." },
	{ .name = "zone-db-cert-key", .type = CONF_B64, MULTI, .count_max = 4, REFUSED, .check = conf_check_pin,
	  .doc = "Pins of Redis servers' public keys." },
	{ .name = "zone-db-cert-hostname", STR, MULTI, .count_max = 4, REFUSED,
	  .doc = "Names in Redis servers' certificates." },
	COMMENT,
};
const conf_section_t conf_section_database = {
	.name = "database", .kind = CONF_GROUP, ROWS(database_rows), .struct_size = sizeof(conf_database_t),
	.doc = "Databases on disk.",
};

static const conf_row_t directive_rows[] = {
	{ .name = "", STR, .doc = "" },
};
const conf_section_t conf_section_include = {
	.name = "include", .kind = CONF_DIRECTIVE, ROWS(directive_rows),
	.doc = "Read another file, or every file that the pattern matches, in this place. A relative path is relative to the file "
	       "that has the directive. At most five levels. Without a match it is an error, unless the pattern has a *.",
};
const conf_section_t conf_section_clear = {
	.name = "clear", .kind = CONF_DIRECTIVE, ROWS(directive_rows),
	.doc = "Forget everything read so far in the sections whose names match the pattern.",
};
