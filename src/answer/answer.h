/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The answer engine: (message, source, environment) → message. Pure: no I/O, no clock, no allocation, no lock.
 *
 * Stages: knot_query_parse() → zone_lookup() → answer_plan() (which blocks, plan.h) → answer_encode() (bytes,
 * truncation, EDNS; encode.h). RFC 1034 4.3.2, 2181, 2308, 4035, 4592, 5155, 6672, 6891, 8482, 8914, 9471, 9619.
 * Called within an RCU read section; what it returns holds no pointer into zones but `zone`, valid in that section.
 */
#pragma once

#include "libknot/msg/query.h"
#include "src/answer/protocol.h"
#include "src/zone/zonedb.h"

#include <sys/socket.h>

typedef struct {
	answer_protocol_t protocol;
	const struct sockaddr *remote; /* borrowed; AF_INET, AF_INET6 or AF_UNIX; decides which payload limit applies */
} answer_source_t;

/** What answers depend on apart from zones. Immutable; made from one configuration snapshot. */
typedef struct {
	knot_bytes_t nsid;             /* EDNS NSID payload; len 0: not sent */
	knot_bytes_t identity;         /* CH TXT id.server / hostname.bind; len 0: REFUSED */
	knot_bytes_t version;          /* CH TXT version.server / version.bind; len 0: REFUSED */
	uint16_t udp_payload_max_ipv4; /* bytes, 1220–4096 */
	uint16_t udp_payload_max_ipv6;
	bool rotate;        /* server.answer-rotation: rotate RRsets by message id */
	bool client_subnet; /* server.edns-client-subnet: echo ECS with scope 0 */
} answer_env_t;

/** What statistics, modules and limits want to know of an answer. */
typedef struct {
	zone_t *zone;   /* zone that answered, NULL when none matched */
	uint16_t rcode; /* extended; for statistics, and BADKEY where the request lacks a key that is known */
	uint16_t ede;   /* KNOT_EDE_* or KNOT_EDE_NONE */
	knot_msg_verdict_t verdict;
	bool truncated;
	bool has_opt;              /* the reply carries an OPT record */
	uint32_t reply_options;    /* bit n: EDNS option code n is in the reply (0–30) */
	bool is_nodata;            /* NOERROR, no TC, no answer, and first authority RR (if any) is SOA */
	const knot_query_t *query; /* the parsed request: of the hint if there was one, else *ret_query */
} answer_report_t;

/**
 * What answer_warm() found out about a request on its way. Valid in the same read section; 15 cache lines, of which a
 * usual name touches 5. An odd number of them, so that those of a batch don't share their sets of the cache.
 */
typedef struct {
	zone_t *zone;                    /* the longest match, NULL: none */
	const zone_contents_t *contents; /* its version that was walked; NULL: none */
	zone_ref_t deepest;              /* where the walk ended; 0: none was made */
	uint16_t key_len;
	bool has_key; /* the lookup key was made and the zone looked for */
	knot_msg_verdict_t verdict;
	knot_query_t query;                          /* the request parsed, as far as the verdict says */
	_Alignas(16) uint8_t key[KNOT_NAME_KEY_MAX]; /* of the question's name */
	uint8_t unused[64];
} answer_hint_t;

/**
 * Answer one request.
 *
 * hint: what answer_warm() gave for this request, or NULL: no difference but the time it takes.
 * request: the whole message. out.data may equal request.data (a reply is built in the frame of its query);
 * otherwise they must not overlap. out.len: room, at least 512 bytes; the engine itself applies the UDP limits.
 * ret_query: room for the parsed request, where there is no hint; what was parsed is ret_report->query, for the
 * caller's statistics; its views into `request` are stale if out aliases it. Returns the reply's length in bytes, or 0:
 * send nothing (verdict MSG_DROP).
 */
size_t answer_message(const answer_env_t *env, const zonedb_t *zones, const answer_source_t *source,
		const answer_hint_t *hint, knot_bytes_t request, knot_mut_bytes_t out, knot_query_t *ret_query,
		answer_report_t *ret_report);

enum { ANSWER_BATCH_MAX = 64 };

/**
 * Do for a batch of requests that answer_message() is called for next, in the same read section, what is better done
 * for all at once: they are parsed, and the walks to their zones and names are made together, so that cache misses
 * overlap (doc/adr/0016-batches.md). Changes no answer. requests: must not change until each is answered.
 * ret_hints[0..count), count <= ANSWER_BATCH_MAX.
 */
void answer_warm(const zonedb_t *zones, const knot_bytes_t *requests, size_t count, answer_hint_t *ret_hints);
