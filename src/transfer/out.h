/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A transfer to a secondary as a cursor: AXFR from a version of a zone, IXFR from its changes, message by message.
 *
 * Owns a hold on the version (so it is one snapshot, and a slow client costs memory and never a grace period), a copy
 * of the key, and where it is. It neither waits nor knows who asks: a transport asks for the next message when it has
 * room for one. Records of a version are copied from its compiled blocks; offsets beyond what a compression pointer can
 * name end a message, so no other way is needed. Whole RRsets; the question, OPT and TSIG are in every message.
 * RFC 5936, RFC 1995, RFC 8945 5.3.1. doc/adr/0044-transfers-out.md.
 *
 * One thread at a time, except what transfer_out_prepare() says. No I/O, clock or log; what the log says of a transfer
 * comes out as a value.
 */
#pragma once

#include "libknot/msg/query.h"
#include "libknot/msg/sign.h"
#include "src/transfer/steps_out.h"
#include "src/zone/contents.h"

#include <stdatomic.h>
#include <sys/socket.h>

enum {
	TRANSFER_OUT_ENOUGH = 16383,     /* a message with more bytes is closed */
	TRANSFER_OUT_TEMPLATE_MAX = 512, /* bytes of a reply without records: header, question, OPT and its options */
};

/** What is to be sent. Borrowed for the call. */
typedef struct {
	const zone_contents_t *contents; /* published: within the read section that it was loaded in */
	bool is_ixfr;
	bool may_ixfr;                  /* conf `provide-ixfr` */
	uint32_t serial;                /* IXFR: the client's, which isn't the version's or a newer one */
	knot_bytes_t reply;             /* without records and TSIG, AA set; TRANSFER_OUT_TEMPLATE_MAX bytes at most */
	const knot_tsig_chain_t *chain; /* that verified the request; NULL: it wasn't signed */
	const struct sockaddr *remote;  /* for the log; AF_INET, AF_INET6, AF_UNIX */
	uint64_t now_us;                /* monotonic, for the log */
} transfer_out_ask_t;

/** Where a transfer stands. */
typedef enum {
	TRANSFER_OUT_UNPREPARED, /* IXFR whose changes have to be read: transfer_out_prepare() */
	TRANSFER_OUT_READY,      /* there is a next message */
	TRANSFER_OUT_DONE,       /* everything was given out */
	TRANSFER_OUT_FAILED,     /* … and the last message said SERVFAIL */
} transfer_out_state_t;

typedef struct transfer_out transfer_out_t;

/** Begin. Cost: some allocations, and a count per chunk table of the version. NULL: out of memory. */
transfer_out_t *transfer_out_new(const transfer_out_ask_t *ask);

/** Where it stands. Any thread. */
transfer_out_state_t transfer_out_state(const transfer_out_t *out);

/**
 * Read the changes that an unprepared one needs, or find that it has to be AXFR. Waits for the disk. By one thread,
 * while its owner does nothing with it but look at its state or end it. find: gives steps with a user of their own,
 * from where they are shared or from the journal (steps_out_read()). transfer_out_release() must follow.
 */
void transfer_out_prepare(transfer_out_t *out,
		steps_out_verdict_t (*find)(knot_name_t zone, uint32_t serial_from, uint32_t serial_to, size_t len_max,
				steps_out_t **ret_steps, void *ctx),
		void *ctx);

/** A prepared one is READY, and its owner's again. */
void transfer_out_release(transfer_out_t *out);

/**
 * Make the next message of a transfer that is READY. room: KNOT_MSG_MAX bytes. now_s: UNIX time, for the TSIG.
 * Returns its length; the state says whether another one follows. A transfer that can't go on ends with a message that
 * says SERVFAIL.
 */
size_t transfer_out_next(transfer_out_t *out, knot_mut_bytes_t room, uint64_t now_s);

/** The owner drops it, at any point; now_us: monotonic, as in `ask`. For the log: nothing else may follow but free. */
void transfer_out_end(transfer_out_t *out, uint64_t now_us);

/** Free it with its hold, which may unmap the version's memory: not in a thread that answers. NULL is allowed. */
void transfer_out_free(transfer_out_t *take_out);

/* ---- For its service (out_service.h) ---- */

/** A place in a queue. */
typedef struct transfer_out_link {
	struct transfer_out_link *next;
	transfer_out_t *out;
} transfer_out_link_t;

typedef enum { TRANSFER_OUT_LINK_BEGIN, TRANSFER_OUT_LINK_END, TRANSFER_OUT_LINK_COUNT } transfer_out_link_kind_t;

/** One of its links; belongs to it. */
transfer_out_link_t *transfer_out_link(transfer_out_t *out, transfer_out_link_kind_t kind);

/** The link is the one of that kind. */
bool transfer_out_link_is(const transfer_out_link_t *link, transfer_out_link_kind_t kind);

/** What the service keeps with it; NULL at first. */
void transfer_out_set_waker(transfer_out_t *out, void *waker);
void *transfer_out_waker(const transfer_out_t *out);

/* ---- What the log says of it ---- */

/** Facts, valid until it is freed. */
typedef struct {
	knot_name_t zone;
	const struct sockaddr *remote;
	knot_name_t key; /* len 0: none */
	bool is_ixfr;    /* was asked for */
	bool is_axfr;    /* is sent */
	uint32_t serial_from, serial_to;
	steps_out_verdict_t history; /* IXFR: why it is none; OK also when may_ixfr is false */
	bool may_ixfr;
	transfer_out_state_t state;
	bool has_ended_early;               /* the client or the server ended it */
	knot_err_t err;                     /* FAILED: why */
	uint64_t message_count, byte_count; /* TSIG included, lengths before messages not */
	uint64_t time_us;                   /* from the request to the end */
} transfer_out_facts_t;

/** All of them: by its owner, or behind its end. */
transfer_out_facts_t transfer_out_facts(const transfer_out_t *out);

/** Those that don't change once it is prepared, the others being 0: by any thread. */
transfer_out_facts_t transfer_out_facts_at_begin(const transfer_out_t *out);

enum { TRANSFER_OUT_TEXT_MAX = 768, TRANSFER_OUT_LINES_MAX = 3 };

typedef struct {
	int level; /* LOG_* of syslog(3) */
	char text[TRANSFER_OUT_TEXT_MAX];
} transfer_out_line_t;

/** Log lines when it begins (it is prepared), and when it has ended. Returns how many. */
size_t transfer_out_print_begin(
		const transfer_out_facts_t *facts, transfer_out_line_t ret_lines[TRANSFER_OUT_LINES_MAX]);
size_t transfer_out_print_end(const transfer_out_facts_t *facts, transfer_out_line_t ret_lines[TRANSFER_OUT_LINES_MAX]);
