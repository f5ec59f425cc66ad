/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What kdig and khost share: the settings of one query, and asking it.
 *
 * A program fills a lookup_query_t from its command line, once for what is common and a copy for each query, and calls
 * lookup_run(). Strings in it are borrowed from the command line, lists are owned by what made them and shared by
 * copies; both live as long as the program. One thread.
 */
#pragma once

#include "libknot/msg/sign.h"
#include "src/exchange/exchange.h"
#include "src/present/message.h"

enum {
	LOOKUP_SERVERS_MAX = 64,
	LOOKUP_OPTIONS_MAX = 64,       /* +ednsopt of one query */
	LOOKUP_BADCOOKIES_MAX = 10,    /* repeats after BADCOOKIE */
	LOOKUP_BUFSIZE_DEFAULT = 1232, /* bytes, DNS flag day 2020 */
	LOOKUP_PADDING_BLOCK = 128,    /* bytes, RFC 8467 4.1 */
	LOOKUP_COOKIE_CLIENT_LEN = 8,  /* RFC 7873 4 */
	LOOKUP_COOKIE_SERVER_MAX = 32,
};

/** A server, or a local address, as it was written. */
typedef struct {
	const char *host; /* name, address, or (with '/') path of a UNIX-domain socket; not terminated by `host_len` */
	size_t host_len;
	const char *service; /* port or name of a service; NULL: that of the query */
} lookup_host_t;

typedef struct {
	lookup_host_t hosts[LOOKUP_SERVERS_MAX];
	size_t count;
} lookup_hosts_t;

/** An EDNS option of +ednsopt. */
typedef struct {
	uint16_t code;
	const char *hex; /* its data, checked; NULL: none */
} lookup_option_t;

typedef enum { LOOKUP_QUERY, LOOKUP_NOTIFY, LOOKUP_AXFR, LOOKUP_IXFR } lookup_operation_t;

/** Padding (RFC 7830). */
typedef enum {
	LOOKUP_PAD_AUTO, /* with encryption only */
	LOOKUP_PAD_NEVER,
	LOOKUP_PAD_POLICY, /* RFC 8467 4.1 */
	LOOKUP_PAD_BYTES,
} lookup_padding_t;

/** A TSIG key that was read: secret and name are here. */
typedef struct {
	knot_tsig_key_t key; /* borrows the two below */
	uint8_t name[KNOT_NAME_MAX];
	uint8_t secret[512];
} lookup_key_t;

typedef struct {
	/* Whom */
	lookup_hosts_t *servers; /* NULL: those of resolv.conf */
	int family;              /* AF_UNSPEC, AF_INET, AF_INET6 */
	const char *port;        /* NULL: that of the transport */
	lookup_host_t local;     /* host NULL: any */

	/* What */
	const char *name; /* as it was written; NULL: there is no question */
	bool is_reverse;  /* the name is an address: PTR of it */
	uint16_t type, class;
	lookup_operation_t operation;
	bool has_serial; /* of NOTIFY and IXFR */
	uint32_t serial;
	uint16_t flags; /* KNOT_FLAG_*, and 0x0040 */

	/* How */
	bool is_tcp, is_udp; /* said so; neither: by the type */
	bool ignores_tc;
	bool keeps_open;
	bool uses_fast_open;
	transport_trust_params_t *tls;        /* NULL: nothing is said; is_strict follows from the rest, and hostname */
	bool uses_tls, uses_https, uses_quic; /* HTTPS: where uses_tls is true, too */
	const char *hostname, *sni;
	bool uses_http_get;
	const char *http_server;                            /* that to ask, if there are no `servers`: of the URL */
	const char *http_authority, *http_path;             /* NULL: hostname or the server, /dns-query */
	exchange_address_t proxy_source, proxy_destination; /* AF_UNSPEC: none */
	uint32_t timeout_ms;                                /* 0: no limit */
	uint32_t retries;                                   /* of UDP */
	uint32_t delay_ms;                                  /* between messages of transfers */
	const lookup_key_t *key;

	/* EDNS */
	int edns;    /* version; -1: none */
	int bufsize; /* -1: not set */
	bool wants_nsid, wants_expire, wants_zoneversion;
	bool flag_do, flag_de;
	lookup_padding_t padding;
	uint16_t padding_bytes, padding_block; /* block: 0: not said; it wins */
	bool has_subnet;
	uint8_t subnet[20]; /* the option's data */
	uint8_t subnet_len;
	bool has_cookie;
	uint8_t cookie[LOOKUP_COOKIE_CLIENT_LEN + LOOKUP_COOKIE_SERVER_MAX];
	uint8_t cookie_len;             /* 0: a client cookie is drawn */
	unsigned badcookies;            /* repeats that are left */
	const lookup_option_t *options; /* one list for all */
	size_t option_count;

	/* What is shown */
	present_style_t style;
	bool shows_query;
	bool hides_alias; /* PRESENT_HOST: an earlier query about the name has shown it */
	bool idn_in, idn_out;
	int validates; /* verbosity 1 to 3; 0: doesn't */

	/* dnstap */
	struct lookup_trace *trace; /* where messages go, trace.h; NULL: nowhere */
	const char *replay_path;    /* the file that is printed instead of asking; NULL: none */
} lookup_query_t;

/** What all queries of a run share: what is printed, a connection that is kept. Starts as zeros. */
typedef struct lookup {
	present_text_t out;
	bool has_failed_output;
	bool has_bogus; /* a reply that +validate found wrong */
	unsigned debug; /* 0: no, 1, 2: with details of certificates */
	bool separates; /* a blank line stands between two queries */
	size_t count;   /* of queries */
	bool shows_progress,
			has_progress;  /* on standard error, a terminal, while output goes elsewhere; a line is there */
	uint64_t progress_ns;          /* when the next is due */
	exchange_t *kept;              /* of +keepopen; NULL: none */
	exchange_params_t kept_params; /* of it; its strings are owned */
	const transport_trust_params_t *trust_params; /* borrowed: what `trust` was made of */
	transport_trust_t *trust;
	struct lookup_trace *traces; /* owned: dnstap files that are written */
} lookup_t;

/** The settings that a query has if nothing is said. */
lookup_query_t lookup_query_default(void);

/** True if EDNS is sent. */
bool lookup_has_edns(const lookup_query_t *query);

/** Ask, and print what comes. False: there was no good answer. */
bool lookup_run(lookup_t *lookup, const lookup_query_t *query);

/** Write what is to be printed. */
void lookup_flush(lookup_t *lookup);

/** Release all but dnstap files (trace.h). False: some output couldn't be written. */
bool lookup_done(lookup_t *lookup);

/* ---- Saying ---- */

/** ";; ERROR: …" to standard error, behind what was to be printed. */
__attribute__((format(printf, 2, 3))) void lookup_error(lookup_t *lookup, const char *format, ...);

/** ";; WARNING: …". */
__attribute__((format(printf, 2, 3))) void lookup_warn(lookup_t *lookup, const char *format, ...);

/** The same of the last failure of an exchange, with its reason: "can't connect to 192.0.2.1@53(TCP) (Connection
 * refused)". */
void lookup_warn_exchange(lookup_t *lookup, const exchange_t *exchange);

enum { LOOKUP_REASON_MAX = 128 };

/** Why knot_tsig_verify() has found a reply wrong; of clocks that differ, by how much. now_s: that it was verified at.
 */
const char *lookup_tsig_reason(knot_err_t err, const present_message_t *reply, uint64_t now_s,
		char ret_text[static LOOKUP_REASON_MAX]);

/** What was passed by while a reply was waited for. Starts as zeros. */
typedef struct {
	size_t count;
} lookup_passed_t;

/** A warning about something that is passed by: said of the first LOOKUP_PASSED_MAX, so that a flood of them is none of
 * text. */
enum { LOOKUP_PASSED_MAX = 20 };
__attribute__((format(printf, 3, 4))) void lookup_pass_by(
		lookup_t *lookup, lookup_passed_t *passed, const char *format, ...);

/** Say how many more there were, once. */
void lookup_end_passed(lookup_t *lookup, lookup_passed_t *passed);

/** ";; DEBUG: …" to standard output, if asked for. */
__attribute__((format(printf, 2, 3))) void lookup_debug(lookup_t *lookup, const char *format, ...);

/** Long work goes on: so much of `what` is done. Shown once a second, where somebody sees it. */
void lookup_progress(lookup_t *lookup, const char *what, size_t count);

/** Take the line away. */
void lookup_end_progress(lookup_t *lookup);

/* ---- The line's words ---- */

/** A type: mnemonic, TYPEn, AXFR, IXFR=serial, NOTIFY, NOTIFY=serial; sets type, operation, serial. False: it isn't. */
bool lookup_set_type(lookup_query_t *query, const char *text);

/** True for the number of a port, or what may be a service's name. */
bool lookup_is_port(const char *text);

/** A server: host, addr:port, [addr]:port, addr@port, addr#port, /path. False: it can't be one. */
bool lookup_scan_host(const char *text, lookup_host_t *ret_host);

/** The name under which an address' PTR stands, "1.2.0.192.in-addr.arpa."; false: it is no address. */
bool lookup_reverse(const char *address, char ret_name[static 80]);

/** [alg:]name:secret of -y. NULL: bad, *ret_reason says why, without the secret. The caller owns the key. */
lookup_key_t *lookup_key_scan(const char *text, const char **ret_reason);

/** Wipe and free it. NULL: nothing. */
void lookup_key_free(lookup_key_t *take_key);

/** The first in a file: a line like that, or what keymgr -t prints. */
lookup_key_t *lookup_key_read(const char *path, const char **ret_reason);

/* ---- Names ---- */

/**
 * To ASCII by IDNA (RFC 5890) in the user's locale; the name itself, if it is. NULL, with a static reason: it can't be.
 * What isn't `name` is the caller's, to be freed.
 */
const char *lookup_idn_in(const char *name, const char **ret_reason);

/** A name as knot_name_print(); in the user's characters if its locale has them, and IDNA permits each (RFC 5891 5.4).
 */
size_t lookup_idn_print(knot_name_t name, char ret_text[static KNOT_NAME_TEXT_MAX]);
