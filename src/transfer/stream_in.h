/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The answers of a primary, read message by message: AXFR and IXFR streams, and the answer to a SOA query.
 *
 * A stream_in_t finds out what kind of answer it is, checks its structure and size, and hands its records to a sink. It
 * says after each message whether more has to come. Pure: no socket, clock, allocation or log. It takes about 700 bytes
 * however long the stream is; the sink holds the rest. Signatures of messages (TSIG) are checked before.
 *
 * Nothing that a peer sends is trusted. Bounds: each record counts towards size_max. What brings nothing (empty
 * messages, records of other zones, repeated records, empty changesets) is counted in useless_count, which ends the
 * stream at STREAM_IN_USELESS_MAX: without that, a peer could keep a stream going for ever at the price of no memory.
 * How long a message may take is the caller's to watch. RFC 5936 2.2, RFC 1995 4, RFC 7314 3.
 */
#pragma once

#include "libknot/msg/message.h"
#include "src/zone/records.h"

enum {
	/** What brings nothing: 1 for a record or a changeset, STREAM_IN_EMPTY_COST for a message. No known server
	 * sends more than some thousand records outside the zone, and none sends empty messages. */
	STREAM_IN_USELESS_MAX = 1000000,
	STREAM_IN_EMPTY_COST = 1000,
};

typedef enum {
	STREAM_IN_UNKNOWN, /* IXFR: the messages so far don't say */
	STREAM_IN_AXFR,    /* a whole zone, perhaps as the answer to IXFR */
	STREAM_IN_IXFR,    /* changesets */
} stream_in_kind_t;

/** Where a stream stands. */
typedef enum {
	STREAM_IN_MORE,       /* read the next message */
	STREAM_IN_DONE,       /* everything has come; the sink's result may be applied */
	STREAM_IN_UP_TO_DATE, /* IXFR: the primary has nothing newer; nothing reached the sink */
	STREAM_IN_FAILED,     /* for the reason in `fault`; drop what reached the sink */
} stream_in_state_t;

/** Why a stream failed. stream_in_print() has the texts. */
typedef enum {
	STREAM_IN_MALFORMED,     /* a message can't be read, or answers something else, or records are out of order */
	STREAM_IN_TRUNCATED,     /* a message says that records are missing (TC), which none in a stream may */
	STREAM_IN_RCODE,         /* the primary answered with an error: `rcode` */
	STREAM_IN_UNSUPPORTED,   /* IXFR was answered without records */
	STREAM_IN_BAD_SOA,       /* the answer doesn't begin with the zone's SOA */
	STREAM_IN_ZONE_SIZE,     /* AXFR: larger than size_max */
	STREAM_IN_TRANSFER_SIZE, /* IXFR: larger than twice size_max */
	STREAM_IN_EXPIRED,       /* the primary says that its zone has expired */
	STREAM_IN_ENDLESS,       /* too much that brings nothing */
	STREAM_IN_SINK,          /* the sink refused a record: `err` */
	STREAM_IN_FAULT_COUNT
} stream_in_fault_t;

/** Where records go. An error ends the stream. */
typedef struct {
	/** The kind is known; comes once, before the first record. */
	knot_err_t (*begin)(stream_in_kind_t kind, uint32_t serial, void *ctx);
	/** A record of the zone, RDATA checked; borrowed. AXFR: is_added, SOA first and once. IXFR: of each changeset
	 * the old SOA, what is removed, the new SOA, what is added. */
	knot_err_t (*record)(const zone_rr_t *rr, bool is_added, void *ctx);
	/** IXFR: a changeset is whole. */
	knot_err_t (*changeset)(uint32_t from, uint32_t to, void *ctx);
	/** AXFR: a record that is left out as it belongs to another zone; may be NULL. Told of the first
	 * STREAM_IN_FOREIGN_MAX only, as they end in the log; foreign_count has all. */
	void (*foreign)(knot_name_t owner, void *ctx);
	void *ctx;
} stream_in_sink_t;

enum { STREAM_IN_FOREIGN_MAX = 100 };

/** What was asked for. */
typedef struct {
	knot_name_t zone;   /* the apex, lower case; borrowed as long as the stream */
	uint16_t id;        /* of the query */
	uint16_t type;      /* of the query: KNOT_TYPE_AXFR, KNOT_TYPE_IXFR, KNOT_TYPE_SOA */
	uint32_t serial;    /* IXFR: ours, which the query named */
	uint64_t size_max;  /* bytes, conf `zone-max-size`; 0: no limit */
	bool is_one_by_one; /* IXFR: end after the first changeset, conf `ixfr-by-one` */
} stream_in_query_t;

typedef struct {
	stream_in_query_t query;
	stream_in_sink_t sink;
	stream_in_state_t state;
	stream_in_kind_t kind;
	/* Facts, for the log and for what follows. */
	stream_in_fault_t fault; /* when it failed */
	knot_err_t err;          /* of the sink */
	uint16_t rcode;          /* extended */
	uint32_t serial;         /* of the primary, as its first SOA says */
	uint32_t serial_reached; /* when it is done: what the records lead to; ixfr-by-one: perhaps less than serial */
	uint32_t from, to;       /* IXFR: the changeset that was read last */
	uint32_t changeset_count, message_count, foreign_count;
	uint64_t byte_count;   /* of messages */
	uint64_t record_bytes; /* of records in uncompressed wire form */
	bool has_expire;
	uint32_t expire_s; /* EDNS EXPIRE option, RFC 7314 */
	/* Internal. */
	uint8_t step;
	uint16_t answer_count; /* of the message that is being read */
	uint32_t useless_count, changeset_records;
	uint64_t previous_hash; /* of the last record */
	uint32_t soa_ttl;       /* the first SOA, until the kind is known */
	uint16_t soa_len;
	uint8_t soa[KNOT_SOA_LEN_MAX];
} stream_in_t;

/** Begin. The query's type is AXFR or IXFR. */
void stream_in_begin(stream_in_t *stream, const stream_in_query_t *query, const stream_in_sink_t *sink);

/**
 * Read the next message, without the length in front. Only while the state is STREAM_IN_MORE. scratch:
 * KNOT_RDATA_MAX bytes, of the thread. Returns the state after it.
 */
stream_in_state_t stream_in_read(stream_in_t *stream, knot_bytes_t message, uint8_t *scratch);

enum { STREAM_IN_TEXT_MAX = 128 };

/** What the log says of a stream that failed, behind the prefix: "failed (malformed data)". */
void stream_in_print(const stream_in_t *stream, char ret_text[static STREAM_IN_TEXT_MAX]);

enum { STREAM_IN_RCODE_TEXT_MAX = 16 };

/** "REFUSED", or the number of an rcode without a name. */
void stream_in_print_rcode(uint16_t rcode, char ret_text[static STREAM_IN_RCODE_TEXT_MAX]);

/** The error of a stream that failed, as `fallback to AXFR (<text>)` names it. */
knot_err_t stream_in_error(const stream_in_t *stream);

/** What a primary answered to a SOA query. */
typedef struct {
	enum { SOA_ANSWER_OK, SOA_ANSWER_RCODE, SOA_ANSWER_MALFORMED } verdict;
	uint16_t rcode; /* extended */
	uint32_t serial;
	bool has_expire;
	uint32_t expire_s;
} soa_answer_t;

/** Read the answer to a SOA query. query: of type SOA; of it, zone and id are used. scratch: KNOT_RDATA_MAX bytes. */
soa_answer_t soa_answer_read(const stream_in_query_t *query, knot_bytes_t message, uint8_t *scratch);
