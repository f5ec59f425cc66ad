/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of the sections that configure the server as a whole. */
#include "src/conf/schema_rows.h"

/* Tables: each row stays together. clang-format breaks them at every comma. */
/* clang-format off */

static const conf_option_t dbus_events[] = {
	{ "none", 0 }, { "running", CONF_DBUS_RUNNING }, { "zone-updated", CONF_DBUS_ZONE_UPDATED }, { "external-verify", CONF_DBUS_EXTERNAL_VERIFY }, { "keys-updated", CONF_DBUS_KEYS_UPDATED },
	{ "ksk-submission", CONF_DBUS_KSK_SUBMISSION }, { "dnssec-invalid", CONF_DBUS_DNSSEC_INVALID }, { NULL, 0 },
};

static const conf_option_t journal_modes[] = {
	{ "robust", CONF_JOURNAL_ROBUST }, { "asynchronous", CONF_JOURNAL_ASYNCHRONOUS }, { NULL, 0 },
};

static const conf_option_t timer_syncs[] = { { "immediate", CONF_TIMERS_IMMEDIATE }, { "never", CONF_TIMERS_NEVER },
	{ "shutdown", CONF_TIMERS_SHUTDOWN }, { NULL, 0 } };

/* Numbers: severity of syslog(3) + 1, so that 0 is "nothing". */
static const conf_option_t severities[] = {
	{ "critical", 3 }, { "error", 4 }, { "warning", 5 }, { "notice", 6 }, { "info", 7 }, { "debug", 8 },
	{ NULL, 0 },
};

static const conf_row_t module_rows[] = {
	{ .name = "id", STR, .check = conf_check_module_prefix, .pattern = "^mod-", REFUSED, FOR("modules"),
	  .doc = "Name of the module, with the prefix mod-." },
	{ .name = "file", STR, TUNING, .doc = "Path of the shared library with the module." },
	COMMENT,
};
const conf_section_t conf_section_module = {
	.name = "module",
	.kind = CONF_MULTI,
	ROWS(module_rows),
	.doc = "Query modules that are loaded from shared libraries. The modules of this server are built in.",
};

static const conf_row_t server_rows[] = {
	{ .name = "identity", STR, CONF_AT(conf_server_t, identity), .dflt_doc = "FQDN of the host", .rfc = "RFC 4892",
	  .doc = "Text of the answer to the CHAOS TXT queries id.server and hostname.bind. With anycast it shows which "
	         "instance answers. If you don't want to reveal the host's name, set another text, or an empty one, "
	         "which disables the answer." },
	{ .name = "version", STR, CONF_AT(conf_server_t, version), .dflt_doc = "name and version of the program",
	  .rfc = "RFC 4892",
	  .doc = "Text of the answer to the CHAOS TXT queries version.server and version.bind. Set an empty value to "
	         "disable the answer, for example to not reveal the version." },
	{ .name = "nsid", .type = CONF_HEX, CONF_AT(conf_server_t, nsid), .dflt_doc = "FQDN of the host",
	  .rfc = "RFC 5001",
	  .doc = "Identifier of this instance, sent in the EDNS option NSID to clients that ask for it: text, or bytes "
	         "as 0x and hexadecimal digits. Set a short name for each anycast instance. An empty value disables "
	         "it." },
	{ .name = "rundir", STR, CONF_AT(conf_server_t, rundir), .dflt = KNOT_RUN_DIR, .path = CONF_PATH_START, RESTART,
	  .doc = "Directory for the PID file and the sockets. Other relative run-time paths are relative to it." },
	{ .name = "user", STR, CONF_AT(conf_server_t, user), .dflt_doc = "the user that starts the server", RESTART,
	  .lint = conf_lint_user,
	  .doc = "user[:group] that the server becomes after it has opened its sockets. Set it if knotd is started as "
	         "root. A systemd unit with User= doesn't need it." },
	{ .name = "pidfile", STR, CONF_AT(conf_server_t, pidfile), .dflt = "knot.pid", .path = CONF_PATH_RUNDIR,
	  RESTART,
	  .doc = "Path of the file with the server's process ID, relative to rundir." },
	{ .name = "udp-workers", INT(1, 256), CONF_AT(conf_server_t, udp_workers), .dflt_doc = "number of online CPUs",
	  RESTART,
	  .doc = "Number of threads that answer over UDP sockets. The default suits a machine that serves DNS only. "
	         "Set fewer if other services, or XDP workers, need the CPUs." },
	{ .name = "tcp-workers", INT(1, 256), CONF_AT(conf_server_t, tcp_workers),
	  .dflt_doc = "number of online CPUs, at least 10", RESTART,
	  .doc = "Number of threads that answer over TCP sockets." },
	{ .name = "background-workers", INT(1, 512), CONF_AT(conf_server_t, background_workers),
	  .dflt_doc = "number of online CPUs, at most 10", RESTART,
	  .doc = "Number of threads that load and maintain zones. More threads load many zones faster, but take CPU "
	         "time from answering during a reload." },
	{ .name = "async-start", BOOL, CONF_AT(conf_server_t, async_start), .dflt = "off", RESTART,
	  .doc = "Answer before all zones are loaded. Queries for zones that aren't loaded yet get SERVFAIL. Without "
	         "it, queries wait until every zone has been tried. Use it if loading takes long and the zones that "
	         "are ready should be served meanwhile." },
	{ .name = "tcp-idle-timeout", TIME(1, MAX31), CONF_AT(conf_server_t, tcp_idle_timeout_s), .dflt = "10",
	  .rfc = "RFC 7766 6.2.3",
	  .doc = "Close a TCP connection if the server has answered no query on it for this time. A longer time lets "
	         "resolvers reuse connections, a shorter one frees connections sooner when many clients connect." },
	{ .name = "tcp-io-timeout", INT(0, MAX31), CONF_AT(conf_server_t, tcp_io_timeout_ms), .dflt = "500",
	  .doc = "Time limit in milliseconds for receiving or sending one message over an incoming TCP connection; 0 "
	         "means no limit. Raise it for clients on slow links. A low limit protects against clients that send "
	         "or read slowly on purpose." },
	{ .name = "tcp-remote-io-timeout", INT(0, MAX31), CONF_AT(conf_server_t, tcp_remote_io_timeout_ms),
	  .dflt = "5000",
	  .doc = "Time limit in milliseconds for receiving or sending one message over an outgoing TCP connection, as "
	         "for transfers from a remote; 0 means no limit." },
	{ .name = "tcp-max-clients", INT(0, MAX31), CONF_AT(conf_server_t, tcp_max_clients),
	  .dflt_doc = "half of the limit of open files",
	  .doc = "Largest number of TCP connections at the same time. Each needs a file descriptor and memory. One "
	         "source (an IPv4 address or an IPv6 /64) has at most an eighth of them, or 1024 if that is more, but "
	         "never more than half. When all are in use and another client connects, the longest idle connection "
	         "of the source that has the most is closed." },
	{ .name = "tcp-reuseport", BOOL, CONF_AT(conf_server_t, tcp_reuseport), .dflt = "off", RESTART,
	  .doc = "Give every TCP worker a listening socket of its own, so that the kernel spreads new connections over "
	         "the workers. Use it if very many connections are opened per second. The trade-off: a connection that "
	         "waits for a busy worker can't be taken by another one." },
	{ .name = "tcp-fastopen", BOOL, .dflt = "off", .support = CONF_OBSOLETE,
	  .doc = "Accepted for compatibility with older configurations and ignored. Remove it." },
	{ .name = "quic-max-clients", INT(128, MAX31), .dflt = "10000", RESTART, TUNING,
	  .doc = "Largest number of QUIC connections at the same time." },
	{ .name = "quic-outbuf-max-size", SIZE(MEGA, MAX48), .dflt = "100M", RESTART, TUNING,
	  .doc = "Largest amount of memory per worker for QUIC data that clients haven't acknowledged." },
	{ .name = "quic-idle-close-timeout", TIME(1, MAX31), .dflt = "4", RESTART, TUNING,
	  .doc = "Close a QUIC connection that has been idle for this time." },
	{ .name = "remote-pool-limit", INT(0, MAX31), CONF_AT(conf_server_t, remote_pool_limit), .dflt = "0",
	  .doc = "Number of outgoing connections to keep open for reuse; 0 closes each after its use. Set it if many "
	         "zones exchange data with the same remotes." },
	{ .name = "remote-pool-timeout", TIME(1, MAX31), CONF_AT(conf_server_t, remote_pool_timeout_s), .dflt = "5",
	  .doc = "How long an unused outgoing connection is kept open. See remote-pool-limit." },
	{ .name = "remote-retry-delay", INT(0, MAX31), CONF_AT(conf_server_t, remote_retry_delay_ms), .dflt = "0",
	  .doc = "Time in milliseconds during which a remote that couldn't be reached is not tried again. Set it if "
	         "many zones share remotes that may be down." },
	{ .name = "socket-affinity", BOOL, CONF_AT(conf_server_t, socket_affinity), .dflt = "off", RESTART,
	  .doc = "Hand each UDP packet to the worker whose number is that of the CPU that received it. It can improve "
	         "cache use if the network card spreads packets evenly over its queues and there are as many UDP "
	         "workers as CPUs. If the card delivers most packets to a few CPUs, leave it off, or most workers stay "
	         "idle." },
	{ .name = "udp-max-payload", SIZE(1220, 4096), CONF_AT(conf_server_t, udp_payload_max), .dflt = "1232",
	  .rfc = "RFC 6891 6.2.5",
	  .doc = "Largest answer over UDP, in bytes, for both address families. The default avoids fragmentation on "
	         "common paths. Larger answers are truncated, and the client repeats the query over TCP. A higher "
	         "limit saves TCP connections, but large answers are more often lost, and help amplification "
	         "attacks." },
	{ .name = "udp-max-payload-ipv4", SIZE(1220, 4096), CONF_AT(conf_server_t, udp_payload_max_ipv4),
	  .dflt_doc = "udp-max-payload",
	  .doc = "Largest answer over UDP on IPv4, in bytes. Set it if the limit must differ from that of IPv6; see "
	         "udp-max-payload." },
	{ .name = "udp-max-payload-ipv6", SIZE(1220, 4096), CONF_AT(conf_server_t, udp_payload_max_ipv6),
	  .dflt_doc = "udp-max-payload",
	  .doc = "Largest answer over UDP on IPv6, in bytes. Set it if the limit must differ from that of IPv4; see "
	         "udp-max-payload." },
	{ .name = "cert-file", STR, REFUSED_BUT("\"\""), FOR("TLS and QUIC"),
	  .doc = "Path of the certificate for TLS and QUIC. Set key-file, too." },
	{ .name = "key-file", STR, REFUSED_BUT("\"\""), FOR("TLS and QUIC"),
	  .doc = "Path of the private key for TLS and QUIC. Set cert-file, too." },
	{ .name = "ca-file", STR, MULTI, REFUSED, FOR("TLS and QUIC"),
	  .doc = "Paths of files with the certificates of authorities that may sign the certificates of remotes." },
	{ .name = "edns-client-subnet", BOOL, CONF_AT(conf_server_t, edns_client_subnet), .dflt = "off",
	  .rfc = "RFC 7871",
	  .doc = "Return the EDNS option Client Subnet with scope 0 to clients that send it: the answer is valid for "
	         "all networks. Without it the option is ignored, which has the same meaning for resolvers." },
	{ .name = "answer-rotation", BOOL, CONF_AT(conf_server_t, answer_rotation), .dflt = "off",
	  .doc = "Rotate the records of an RRset from answer to answer, so that clients that use the first record "
	         "spread over all of them." },
	{ .name = "automatic-acl", BOOL, CONF_AT(conf_server_t, automatic_acl), .dflt = "off",
	  .doc = "Allow the remotes to which a zone refers as master or notify without an ACL." },
	{ .name = "proxy-allowlist", .type = CONF_NET, MULTI, REFUSED, FOR("PROXY protocol"),
	  .doc = "Addresses and networks of proxies whose queries have a PROXYv2 header with the client's address." },
	{ .name = "dbus-event", OPT(dbus_events), MULTI, CONF_AT(conf_server_t, dbus_events), .dflt = "none", RESTART,
	  .doc = "Events that the server announces on the system's D-Bus: running, that all zones are served and that "
	         "the server stops; zone-updated, that a zone has a new version, or that an update of it failed; "
	         "external-verify, that a version waits for external validation; keys-updated, that keys of a zone have "
	         "changed; ksk-submission, that a KSK waits for its DS record; dnssec-invalid, that signatures of a zone "
	         "with dnssec-validation expire soon, or that it isn't valid." },
	{ .name = "dbus-init-delay", TIME(0, MAX31), CONF_AT(conf_server_t, dbus_init_delay_s), .dflt = "1", RESTART,
	  .doc = "Time that the server waits at start once it is connected to D-Bus, so that programs that listen for "
	         "events can connect. Without dbus-event it doesn't wait." },
	{ .name = "listen", .type = CONF_ADDR, MULTI, CONF_AT(conf_server_t, listen), .port = 53,
	  .path = CONF_PATH_RUNDIR, RESTART, .check = conf_check_port, .lint = conf_lint_listen,
	  .doc = "Addresses on which the server answers over UDP and TCP: an IP address, optionally with @port, or the "
	         "path of a UNIX socket. Name addresses rather than 0.0.0.0 or :: if other programs of this machine "
	         "use the port on other addresses. Addresses that the machine doesn't have yet are allowed." },
	{ .name = "metrics-listen", .type = CONF_ADDR, MULTI, CONF_AT(conf_server_t, metrics_listen), .port = 9433,
	  .count_max = CONF_METRICS_LISTEN_MAX, .path = CONF_PATH_RUNDIR, .check = conf_check_port,
	  .doc = "Addresses of an HTTP server that answers GET /metrics with the counters in OpenMetrics text: an IP "
	         "address, optionally with @port, or the path of a UNIX socket. Only Bowline has this item. There is "
	         "no authentication, and the text has the names of all zones: use loopback addresses or a private "
	         "network." },
	{ .name = "listen-quic", .type = CONF_ADDR, MULTI, .port = 853, RESTART, REFUSED, FOR("TLS and QUIC"),
	  .check = conf_check_port, .rfc = "RFC 9250",
	  .doc = "Addresses on which the server answers over QUIC." },
	{ .name = "listen-tls", .type = CONF_ADDR, MULTI, .port = 853, RESTART, REFUSED, FOR("TLS and QUIC"),
	  .check = conf_check_port, .rfc = "RFC 7858",
	  .doc = "Addresses on which the server answers over TLS." },
	COMMENT,
};
const conf_section_t conf_section_server = {
	.name = "server",
	.kind = CONF_GROUP,
	ROWS(server_rows),
	.struct_size = sizeof(conf_server_t),
	.check = conf_check_server,
	.doc = "Settings of the server as a whole.",
};

static const conf_row_t xdp_rows[] = {
	{ .name = "listen", .type = CONF_ADDR, MULTI, CONF_AT(conf_xdp_t, listen), .port = 53,
	  .check = conf_check_xdp_listen, .lint = conf_lint_xdp_listen,
	  .doc = "Network interfaces on which the server answers through AF_XDP: the name of an interface, or one of "
	         "its IP addresses, optionally with @port. Give one entry for each interface. With an address, the "
	         "server answers only packets to that address. AF_XDP answers more queries per CPU than sockets, but "
	         "the packets bypass the kernel's firewall. Run knotc xdp-check first." },
	{ .name = "udp", BOOL, CONF_AT(conf_xdp_t, udp), .dflt = "on",
	  .doc = "Answer UDP over AF_XDP. Switch it off to use AF_XDP for TCP only." },
	{ .name = "tcp", BOOL, CONF_AT(conf_xdp_t, tcp), .dflt = "off", .rfc = "RFC 7766",
	  .doc = "Answer TCP over AF_XDP, with the server's own TCP stack. Use it if many clients query over TCP: it "
	         "needs less CPU time and memory per connection than sockets. Without it, TCP to these interfaces "
	         "needs server.listen." },
	{ .name = "quic", BOOL, CONF_AT(conf_xdp_t, quic), .dflt = "off", RESTART, REFUSED_BUT("off"),
	  FOR("TLS and QUIC"),
	  .doc = "Answer QUIC over AF_XDP." },
	{ .name = "quic-port", INT(1, 65535), CONF_AT(conf_xdp_t, quic_port), .dflt = "853", RESTART, TUNING,
	  .doc = "Port for QUIC over AF_XDP." },
	{ .name = "tcp-max-clients", INT(1024, MAX31), CONF_AT(conf_xdp_t, tcp_max_clients), .dflt = "1000000",
	  .doc = "Largest number of TCP connections at the same time over AF_XDP, on all interfaces together. The "
	         "limit is divided among the queues." },
	{ .name = "tcp-inbuf-max-size", SIZE(MEGA, MAX48), CONF_AT(conf_xdp_t, tcp_inbuf_max_size), .dflt = "100M",
	  .doc = "Memory in bytes for incomplete TCP messages over AF_XDP, on all interfaces together. The limit is "
	         "divided among the queues." },
	{ .name = "tcp-outbuf-max-size", SIZE(MEGA, MAX48), CONF_AT(conf_xdp_t, tcp_outbuf_max_size), .dflt = "100M",
	  .doc = "Memory in bytes for TCP data over AF_XDP that clients haven't acknowledged, on all interfaces "
	         "together. The limit is divided among the queues. Raise it if tcp-dropped-outbuf in knotc xdp-status "
	         "grows." },
	{ .name = "tcp-idle-close-timeout", TIME(1, MAX31), CONF_AT(conf_xdp_t, tcp_idle_close_timeout_s), .dflt = "10",
	  .doc = "Close a TCP connection over AF_XDP that has been idle for this time. A longer time lets resolvers "
	         "reuse connections and takes more memory." },
	{ .name = "tcp-idle-reset-timeout", TIME(1, MAX31), CONF_AT(conf_xdp_t, tcp_idle_reset_timeout_s), .dflt = "20",
	  .doc = "Reset a TCP connection over AF_XDP that has been idle for this time because the client didn't react "
	         "to its closing. Set it higher than tcp-idle-close-timeout." },
	{ .name = "tcp-resend-timeout", TIME(1, MAX31), CONF_AT(conf_xdp_t, tcp_resend_timeout_s), .dflt = "5",
	  .doc = "Upper bound of the first timeout after which unacknowledged TCP data is sent again. The timeout "
	         "follows the measured round-trip time, so the default rarely needs a change." },
	{ .name = "route-check", BOOL, CONF_AT(conf_xdp_t, route_check), .dflt = "off",
	  .doc = "Send each reply to the next hop that the routing table names, policy rules included. Without it a "
	         "reply goes back to the MAC address from which the query came, on the same interface, which is "
	         "fastest. Use it if the host has several uplinks, or if replies must take another way than queries." },
	{ .name = "zero-copy", BOOL, CONF_AT(conf_xdp_t, zero_copy), .dflt = "on",
	  .doc = "Use the driver's zero-copy mode if it has one, which is fastest. Switch it off only if the driver "
	         "has errors in that mode." },
	{ .name = "ring-size", INT(4, 32768), CONF_AT(conf_xdp_t, ring_size), .dflt = "2048",
	  .check = conf_check_power_of_two,
	  .doc = "Number of descriptors in each of the four rings of an AF_XDP socket; a power of two. A longer ring "
	         "absorbs longer bursts, takes more memory (4 KiB per descriptor and queue), and lets queries wait "
	         "longer. Raise it if dropped-ring-full in knotc xdp-status grows." },
	{ .name = "busypoll-budget", INT(0, 65535), CONF_AT(conf_xdp_t, busypoll_budget), .dflt = "0",
	  .doc = "Number of packets per preferred busy poll; 0 switches busy polling off. With it, workers poll the "
	         "driver instead of waiting for interrupts: latency is lower, but CPU time is spent without traffic, "
	         "too. Try 64." },
	{ .name = "busypoll-timeout", INT(1, 65535), CONF_AT(conf_xdp_t, busypoll_timeout_us), .dflt = "20",
	  .doc = "Duration of a preferred busy poll, in microseconds. It applies only with busypoll-budget." },
	{ .name = "block", STR, MULTI, CONF_AT(conf_xdp_t, block), .check = conf_check_xdp_block,
	  .pattern = "^([0-9A-Fa-f:.]+(/[0-9]{1,3})?(@[0-9]{1,7})?)?$",
	  .doc = "Sources whose queries the kernel program drops or limits before they reach the server, on every "
	         "interface of listen: an address or a prefix, optionally with @ and the number of queries per second, "
	         "1 to 1000000, to let through. The longest matching prefix decides. ::/0 is IPv6 only, 0.0.0.0/0 IPv4 "
	         "only. Use knotc xdp-block for rules that need not last." },
	COMMENT,
};
const conf_section_t conf_section_xdp = {
	.name = "xdp",
	.kind = CONF_GROUP,
	ROWS(xdp_rows),
	.struct_size = sizeof(conf_xdp_t),
	.check = conf_check_xdp,
	.doc = "Answering through AF_XDP, which bypasses the kernel's network stack.",
};

static const conf_row_t control_rows[] = {
	{ .name = "listen", STR, MULTI, CONF_AT(conf_control_t, listen), .dflt = "knot.sock", .count_max = 4,
	  .path = CONF_PATH_RUNDIR, RESTART,
	  .doc = "Paths of the control sockets, relative to server.rundir; at most four. Give programs that keep "
	         "connections busy a socket of their own, so that knotc is never kept waiting." },
	{ .name = "backlog", INT(0, 65535), CONF_AT(conf_control_t, backlog), .dflt = "5", RESTART,
	  .doc = "Number of connections that may wait for the server to accept them, per control socket." },
	{ .name = "timeout", TIME(0, 2147483), CONF_AT(conf_control_t, timeout_s), .dflt = "5",
	  .doc = "Close a control connection if nothing can be read or written for this time, and give up waiting for "
	         "the lock of a command after it; 0 means no limit. Raise it if scripts send their commands slowly." },
	COMMENT,
};
const conf_section_t conf_section_control = {
	.name = "control",
	.kind = CONF_GROUP,
	ROWS(control_rows),
	.struct_size = sizeof(conf_control_t),
	.doc = "The sockets to which knotc(8) connects.",
};

#define LOG_ROW(item, index, what)                                                                                     \
	{                                                                                                              \
		.name = item, OPT(severities), CONF_AT(conf_log_t, set[index]),                                        \
		.doc = "Least severe level of messages about " what " that are written to this target."                \
	}
static const conf_row_t log_rows[] = {
	{ .name = "target", STR, CONF_AT(conf_log_t, target),
	  .doc = "Where the messages go: stdout, stderr, syslog or the path of a file." },
	LOG_ROW("server", CONF_LOG_SERVER, "the server"),
	LOG_ROW("control", CONF_LOG_CONTROL, "control connections"),
	LOG_ROW("zone", CONF_LOG_ZONE, "zones"),
	LOG_ROW("quic", CONF_LOG_QUIC, "QUIC"),
	LOG_ROW("any", CONF_LOG_SOURCE_COUNT, "everything but QUIC"),
	COMMENT,
};
const conf_section_t conf_section_log = {
	.name = "log",
	.kind = CONF_MULTI,
	ROWS(log_rows),
	.struct_size = sizeof(conf_log_t),
	.doc = "Where messages go, and which. Without this section, warnings and errors go to standard error and to "
	       "syslog, notices and information to standard output.",
};

static const conf_row_t statistics_rows[] = {
	{ .name = "timer", TIME(1, MAX32), CONF_AT(conf_statistics_t, timer_s), .dflt_doc = "no dumps",
	  .doc = "Interval at which the server writes the statistics to a file. Without it, no file is written." },
	{ .name = "file", STR, CONF_AT(conf_statistics_t, file), .dflt = "stats.yaml", .path = CONF_PATH_RUNDIR,
	  .doc = "Path of the statistics file, relative to server.rundir." },
	{ .name = "append", BOOL, CONF_AT(conf_statistics_t, append), .dflt = "off",
	  .doc = "Append each dump to the file instead of replacing it. The file then grows without limit, so rotate "
	         "it." },
	COMMENT,
};
const conf_section_t conf_section_statistics = {
	.name = "statistics",
	.kind = CONF_GROUP,
	ROWS(statistics_rows),
	.struct_size = sizeof(conf_statistics_t),
	.doc = "Periodic dump of the counters to a file.",
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
	  .doc = "Directory to which the other paths of this section are relative." },
	{ .name = "journal-db", STR, CONF_AT(conf_database_t, journal_db), .dflt = "journal", .path = CONF_PATH_STORAGE,
	  RESTART,
	  .doc = "Directory of the journal. It is made with the first change of a zone." },
	{ .name = "journal-db-mode", OPT(journal_modes), .dflt = "robust", RESTART,
	  CONF_AT(conf_database_t, journal_mode),
	  .doc = "How the journal is written: robust survives a crash of the system, asynchronous is faster." },
	{ .name = "journal-db-max-size", SIZE(MEGA, MAP_MAX(100 * TERA)), .dflt = MAP_DFLT("20G"), RESTART,
	  CONF_AT(conf_database_t, journal_db_max_size),
	  .doc = "Largest size of the journal on disk. When it is full, changes are refused." },
	{ .name = "kasp-db", STR, CONF_AT(conf_database_t, kasp_db), .dflt = "keys", .path = CONF_PATH_STORAGE,
	  .doc = "Directory of the database of DNSSEC keys." },
	{ .name = "kasp-db-max-size", SIZE(5 * MEGA, MAP_MAX(100 * GIGA)), .dflt = MAP_DFLT("10G"), TUNING,
	  CONF_AT(conf_database_t, kasp_db_max_size),
	  .doc = "Largest size of the key database on disk." },
	{ .name = "timer-db", STR, CONF_AT(conf_database_t, timer_db), .dflt = "timers", .path = CONF_PATH_STORAGE,
	  RESTART,
	  .doc = "Directory of the database with the timers of zones." },
	{ .name = "timer-db-max-size", SIZE(MEGA, MAP_MAX(100 * GIGA)), .dflt = MAP_DFLT("5G"), RESTART,
	  CONF_AT(conf_database_t, timer_db_max_size),
	  .doc = "Largest size of the timer database on disk." },
	{ .name = "timer-db-sync", .type = CONF_OPTINT, .options = timer_syncs, .min = 1, .max = MAX32,
	  .unit = CONF_UNIT_TIME, .dflt = "shutdown", CONF_AT(conf_database_t, timer_db_sync_s),
	  .doc = "When timers are written to disk: immediate, never, shutdown, or at this interval." },
	{ .name = "catalog-db", STR, CONF_AT(conf_database_t, catalog_db), .dflt = "catalog", .path = CONF_PATH_STORAGE,
	  RESTART, .doc = "Directory of the catalog database." },
	{ .name = "catalog-db-max-size", SIZE(5 * MEGA, MAP_MAX(100 * GIGA)), CONF_AT(conf_database_t, catalog_db_max_size),
	  .dflt = MAP_DFLT("20G"), RESTART,
	  .doc = "Largest size of the catalog database on disk." },
	{ .name = "image-db", STR, CONF_AT(conf_database_t, image_db), .dflt = "images", .path = CONF_PATH_STORAGE,
	  RESTART,
	  .doc = "Directory of the images of compiled zones. A start or a reload loads a zone from its image if the "
	         "zone file didn't change, which is much faster than parsing. Put it on a fast disk. The server "
	         "creates the directory if its parent exists. Only Bowline has this item." },
	{ .name = "image-db-max-size", SIZE(MEGA, MAP_MAX(100 * TERA)), .dflt = MAP_DFLT("20G"), RESTART,
	  CONF_AT(conf_database_t, image_db_max_size),
	  .doc = "Largest size of the images on disk. Zones that no longer fit are served, but read from their files "
	         "at the next start. kzoneimage(8) shows how much is in use. Only Bowline has this item." },
	{ .name = "zone-db-listen", .type = CONF_ADDR, MULTI, .port = 6379, REFUSED, FOR("zone database (Redis)"),
	  .doc = "Addresses of Redis servers that store zones." },
	{ .name = "zone-db-tls", BOOL, .dflt = "off", REFUSED_BUT("off"), FOR("zone database (Redis)"),
	  .doc = "Connect to the Redis servers over TLS." },
	{ .name = "zone-db-cert-key", .type = CONF_B64, MULTI, .count_max = 4, REFUSED, FOR("zone database (Redis)"),
	  .check = conf_check_pin,
	  .doc = "Pins of the public keys of Redis servers." },
	{ .name = "zone-db-cert-hostname", STR, MULTI, .count_max = 4, REFUSED, FOR("zone database (Redis)"),
	  .doc = "Names of which one must be in the certificate of a Redis server." },
	COMMENT,
};
const conf_section_t conf_section_database = {
	.name = "database",
	.kind = CONF_GROUP,
	ROWS(database_rows),
	.struct_size = sizeof(conf_database_t),
	.doc = "Databases on disk.",
};

static const conf_row_t directive_rows[] = {
	{ .name = "", STR, .doc = "" },
};
const conf_section_t conf_section_include = {
	.name = "include",
	.kind = CONF_DIRECTIVE,
	ROWS(directive_rows),
	.doc = "Read another file, or every file that the pattern matches, at this place. A relative path is relative "
	       "to the file that contains the directive. Includes may be nested five levels deep. It is an error if "
	       "no file matches, unless the pattern has a *.",
};
const conf_section_t conf_section_clear = {
	.name = "clear",
	.kind = CONF_DIRECTIVE,
	ROWS(directive_rows),
	.doc = "Discard everything read so far in the sections whose names match the pattern. Use it after include to "
	       "replace a section of a common configuration.",
};
