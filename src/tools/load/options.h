/* SPDX-License-Identifier: BSD-2-Clause */
/** The command line of kxdpgun, as values. Reads no file and no network. */
#pragma once

#include "src/tools/load/message.h"

#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>

enum {
	OPTIONS_INTERFACES_MAX = 8,
	OPTIONS_ZONES_MAX = 64,
	OPTIONS_PORT_NUMBER_MAX = 65535,
};

typedef enum { PROTOCOL_UDP, PROTOCOL_TCP, PROTOCOL_QUIC } protocol_t;

/** Debug modes of TCP and QUIC, as characters: '0' is the ordinary one. */
typedef enum {
	MODE_NORMAL = '0',
	MODE_SYN = '1',        /* SYN or Initial, and nothing more */
	MODE_HANDSHAKE = '2',  /* connect, close when the server does */
	MODE_SILENT = '3',     /* connect, ignore the rest */
	MODE_INCOMPLETE = '5', /* send a query less its last byte, ignore the rest */
	MODE_NO_ACK = '7',     /* send a query, acknowledge nothing */
	MODE_NO_CLOSE = '8',   /* don't close, and ignore that the server does */
	MODE_NO_FIN_ACK = '9', /* don't acknowledge the last FIN */
	MODE_REUSE = 'R',      /* keep connections for further queries */
} mode_t_load;

/** Whether frames are sent by a program in the kernel (xdp/inject.h). */
typedef enum {
	INJECT_WHERE_FASTER, /* at rates near those that a socket without zero copy reaches, if the device can */
	INJECT_NEVER,
	INJECT_ALWAYS,
} options_inject_t;

typedef enum { QUERIES_TEXT, QUERIES_BINARY, QUERIES_PCAP } queries_format_t;

typedef struct {
	double from, to, step;
	double seconds; /* of a step */
} ramp_t;

typedef struct {
	double duration_s;
	protocol_t protocol;
	char mode;            /* mode_t_load */
	bool full_handshakes; /* mode 0 of QUIC: no tickets */
	double qps;
	bool has_qps;   /* on the command line */
	unsigned batch; /* 0: the protocol's default */
	bool drop;
	uint16_t port; /* 0: the protocol's default */
	unsigned cpu_start, cpu_step;
	bool has_affinity;
	const char *infile;
	queries_format_t format;
	bool keeps_times;                               /* of a recording */
	const char *interfaces[OPTIONS_INTERFACES_MAX]; /* from `interface_text`, owned */
	size_t interface_count;
	char *interface_text;
	struct sockaddr_storage local; /* family AF_UNSPEC: not given */
	int local_prefix;              /* bits; -1: one address */
	uint8_t local_mac[6], remote_mac[6];
	bool has_local_mac, has_remote_mac;
	uint16_t vlan; /* 0: none */
	uint16_t edns_size;
	int xdp_mode; /* kxdp_mode_t */
	bool xdp_copy;
	options_inject_t inject;
	const char *qlog_dir;
	bool json;
	uint32_t stats_ms;  /* 0: none */
	const char *target; /* address or name, `@port` taken off; from `target_text`, owned */
	char *target_text;
	/* Not in Knot's: */
	bool sockets;
	unsigned threads; /* of --sockets; 0: as many as processors */
	unsigned clients; /* sockets per thread, or connections at a time over TCP and QUIC; 0: default */
	double timeout_s;
	const char *latency_file;
	const char *verify[OPTIONS_ZONES_MAX];
	size_t verify_count;
	unsigned verify_show;
	bool has_ramp;
	ramp_t ramp;
	double ramp_loss_percent, ramp_p99_ms; /* the knee's limits */
	double zipf;                           /* exponent; below 0: in turn */
	const char *prefix;                    /* of random labels; NULL: none */
	uint64_t seed;
	profile_t profile;
	bool cookies;
	uint32_t serial;
	bool has_tsig;
	knot_tsig_key_t tsig; /* into the two below */
	uint8_t tsig_name[KNOT_NAME_MAX];
	uint8_t tsig_secret[256];
	bool top;
} options_t;

typedef enum { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_WRONG } options_verdict_t;

/** Parse; errors go to standard error, help and version to standard output. */
options_verdict_t options_parse(int argc, char **argv, options_t *ret_options);
void options_free(options_t *options);

void options_help(FILE *out);
