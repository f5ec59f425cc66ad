/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The answer engine: (messages, source, environment) → replies and effects. Pure: no I/O, no clock, no allocation, no
 * lock, no write to memory that others read.
 *
 * Stages (doc/adr/0035-requests-in-stages.md): answer_read() makes requests out of a batch of messages: parsed, with
 * their zones, versions and the walks to their names. answer_message() takes one of them through gate (may it be
 * answered), decide (what is sent), encode and finish (options, TSIG, header). What should happen because of a request
 * is returned as effects; the caller acts on them.
 * RFC 1034 4.3.2, 2181, 2308, 4035, 4592, 5155, 6672, 6891, 8482, 8914, 9471, 9619.
 * Called within an RCU read section; what it returns holds no pointer into zones but `zone`, valid in that section.
 */
#pragma once

#include "libknot/msg/query.h"
#include "src/answer/protocol.h"
#include "src/answer/refusal.h"
#include "src/zone/zonedb.h"

#include <sys/socket.h>

struct answer_aside; /* aside.h */
struct conf;         /* src/conf/conf.h */

/** What requests of a batch share: when they are answered, and what their worker lends and takes. */
typedef struct {
	uint64_t now_us;            /* monotonic */
	uint64_t wall_s;            /* seconds since 1970 */
	struct answer_aside *aside; /* borrowed; NULL: what needs permission is denied */
	uint8_t takes;              /* ANSWER_EFFECT_STREAM, _UPDATE, _REFRESH: those that the caller acts on */
} answer_turn_t;

typedef struct {
	answer_protocol_t protocol;
	const struct sockaddr *remote; /* borrowed; AF_INET, AF_INET6 or AF_UNIX; decides which payload limit applies */
	/* Borrowed. */
	const struct sockaddr *local; /* address of this server that was asked; may be AF_UNIX; NULL: not known */
	const answer_turn_t *turn;    /* NULL: there are no guests, and what needs permission is denied */
} answer_source_t;

/** What answers depend on apart from zones. Immutable; made from one configuration snapshot. */
typedef struct {
	knot_bytes_t nsid;             /* EDNS NSID payload; len 0: not sent */
	knot_bytes_t identity;         /* CH TXT id.server / hostname.bind; len 0: REFUSED */
	knot_bytes_t version;          /* CH TXT version.server / version.bind; len 0: REFUSED */
	uint16_t udp_payload_max_ipv4; /* bytes, 1220–4096 */
	uint16_t udp_payload_max_ipv6;
	const struct conf *conf; /* keys and rules, for requests that need them; NULL: there are none */
	bool rotate;             /* server.answer-rotation: rotate RRsets by message id */
	bool client_subnet;      /* server.edns-client-subnet: echo ECS with scope 0 */
} answer_env_t;

/** What is asked for: by opcode, and for QUERY by type and class. Each has a row of stage functions in answer.c. */
typedef enum {
	ANSWER_KIND_LOOKUP,  /* QUERY about a name */
	ANSWER_KIND_SIGNED,  /* the same with a TSIG */
	ANSWER_KIND_CHAOS,   /* QUERY in class CH */
	ANSWER_KIND_AXFR,    /* these are about a zone, named by the question */
	ANSWER_KIND_IXFR,    /* 〃 */
	ANSWER_KIND_NOTIFY,  /* 〃 */
	ANSWER_KIND_UPDATE,  /* 〃 */
	ANSWER_KIND_UNKNOWN, /* another opcode */
	ANSWER_KIND_REFUSED, /* reading it found a reason to refuse it; no zone was looked for */
	ANSWER_KIND_END,
} answer_kind_t;

/** What should happen because of a request: bits. The caller of answer_message() does it. */
enum {
	ANSWER_EFFECT_ASKED = 1,  /* zone_note_asked(): the zone's first query since that was taken note of */
	ANSWER_EFFECT_WANTED = 2, /* zonedb_want(): the zone has no contents, and should be loaded before others */
	/* With the values in the aside. */
	ANSWER_EFFECT_NOTED = 4,   /* permission or a key was looked at: lines for the log */
	ANSWER_EFFECT_REFRESH = 8, /* a NOTIFY that may be news: refresh the zone. It was answered */
	ANSWER_EFFECT_UPDATE = 16, /* apply the message, which is unchanged, and answer it then */
	ANSWER_EFFECT_STREAM = 32, /* send a transfer */
	ANSWER_EFFECT_CHILD =
			64, /* a NOTIFY about a child of the zone, which is named by the question. It was answered */
};

enum { ANSWER_ECS_MAX = 4 + 16 /* family, source and scope prefix length, address (RFC 7871 6) */ };

/**
 * A request that was read: all that is known of it before it's decided what it gets. Valid in the same read section; 15
 * cache lines, of which a usual name touches 5. An odd number of them, so that those of a batch don't share their sets
 * of the cache.
 */
typedef struct {
	zone_t *zone;                    /* that answers, or that the request names; NULL: none */
	const zone_contents_t *contents; /* the zone's version; NULL: none, or NOTIFY, UPDATE, UNKNOWN */
	zone_ref_t deepest;              /* LOOKUP, SIGNED: where the walk to the name ended; 0: none was made */
	uint16_t key_len;                /* of `key` */
	uint8_t verdict;                 /* knot_msg_verdict_t */
	uint8_t kind;                    /* answer_kind_t */
	uint8_t refusal;                 /* answer_refusal_t of kind REFUSED, else NONE */
	uint8_t effects;                 /* ANSWER_EFFECT_* */
	uint8_t options;                 /* ANSWER_OPTION_* that the reply is asked for */
	knot_query_t query;              /* parsed, as far as the verdict says; its views are into the message */
	_Alignas(16) uint8_t key[KNOT_NAME_KEY_MAX]; /* LOOKUP, SIGNED: lookup key of the question's name */
	uint8_t ecs_len;                             /* of the client subnet to echo */
	uint8_t ecs[ANSWER_ECS_MAX];
	uint8_t unused[45];
} answer_request_t;

enum {
	ANSWER_OPTION_NSID = 1,
	ANSWER_OPTION_EXPIRE = 2,
	ANSWER_OPTION_ZONEVERSION = 4,
	ANSWER_OPTION_SUBNET = 8,
	ANSWER_OPTION_MORE = 16, /* no option: FINISH does something behind them, sign the reply for example */
};

/** True for a NOTIFY about a child of `zone`, a delegation: of CDS or CSYNC (RFC 9859 4). */
static inline bool answer_is_about_child(const answer_request_t *request)
{
	return request->kind == ANSWER_KIND_NOTIFY && request->zone != NULL &&
	       request->query.qname.label_count > zone_name(request->zone).label_count;
}

/** True for queries about names: no transfer, NOTIFY or UPDATE, and nothing that can't be read. */
static inline bool answer_kind_is_query(answer_kind_t kind)
{
	return kind <= ANSWER_KIND_CHAOS;
}

/** What statistics, modules and limits want to know of an answer. */
typedef struct {
	zone_t *zone;   /* zone that answered, NULL when none matched */
	uint16_t rcode; /* extended; for statistics, and what is wrong with the key where it is that */
	uint16_t ede;   /* KNOT_EDE_* or KNOT_EDE_NONE */
	knot_msg_verdict_t verdict;
	bool truncated;
	bool has_opt;              /* the reply carries an OPT record */
	bool is_nodata;            /* NOERROR, no TC, no answer, and first authority RR (if any) is SOA */
	uint8_t effects;           /* ANSWER_EFFECT_*, on `zone` */
	uint32_t reply_options;    /* bit n: EDNS option code n is in the reply (0–30) */
	const knot_query_t *query; /* the request's; its views are stale if the reply was made in the request's place */
} answer_report_t;

enum { ANSWER_BATCH_MAX = 64 };

/**
 * Read a batch of messages, which answer_message() is called for next, in the same read section: parse them, and walk
 * to their zones and names, all together, so that cache misses overlap (doc/adr/0016-batches.md). What a message gets
 * does not depend on the others of its batch. messages: must not change until each is answered, but that a reply may
 * be built in the place of its own. count <= ANSWER_BATCH_MAX. ret_requests[0..count).
 */
void answer_read(const answer_env_t *env, const zonedb_t *zones, const knot_bytes_t *messages, size_t count,
		answer_request_t *ret_requests);

typedef struct answer_guests answer_guests_t;

/**
 * Answer one request.
 *
 * env: as it was read with. guests: which others take part (stage.h), or NULL. out.data may equal the message's (a
 * reply is built in the frame of its query); otherwise they must not overlap. out.len: room, at least 512 bytes; the
 * engine itself applies the UDP limits. Returns the reply's length in bytes, or 0: send nothing (verdict MSG_DROP, or a
 * guest refused the request with SILENT), or not yet:
 *
 * - ANSWER_EFFECT_UPDATE: the message is as it was, in its place. The reply is header and question, never OPT, and
 * signed by aside.chain.
 * - ANSWER_EFFECT_STREAM: `out` has aside.template, which each message of the transfer begins with but for its counts
 *   and records: header, question, OPT with its options, if there is one. Then comes the TSIG by aside.chain.
 */
size_t answer_message(const answer_env_t *env, const answer_source_t *source, const answer_request_t *request,
		const answer_guests_t *guests, knot_mut_bytes_t out, answer_report_t *ret_report);
