/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stage READ. A lookup is a chain of loads, each of which needs the one before: levels of the set of zones, the zone,
 * its version, its chunks, levels of its tree, the node. For one request, each load waits for memory. Here the requests
 * of a batch take each step together and prefetch what the next step reads. A step ends where a load needs the result
 * of another.
 */
#include "src/answer/answer.h"

#include "src/answer/finish.h"

#include <assert.h>

_Static_assert((int)ANSWER_BATCH_MAX <= (int)ZONE_TREE_WALKS_MAX && (int)ANSWER_BATCH_MAX <= (int)ZONEDB_BATCH_MAX,
		"one call");
_Static_assert(sizeof(answer_request_t) / 64 % 2 == 1 && sizeof(answer_request_t) % 64 == 0, "as answer.h says");

enum {
	OVERLAP_MIN = 3,     /* fewer walks at once don't hide a miss */
	RECORDS_MIN = 10000, /* smaller zones stay in the cache anyway, if they are few */
	ZONES_MIN = 256,     /* fewer of them stay in the cache */
};

static inline knot_name_t read_name_of(const answer_request_t *request)
{
	const knot_query_t *q = &request->query;
	return (knot_name_t){ q->qname_lower, q->qname.len, q->qname.label_count };
}

/* ---- Options and kind ---- */

/* RFC 7871 6: the address has just the bytes of the source prefix, bits beyond it are 0. The scope is ignored. */
static bool read_ecs_is_valid(knot_bytes_t data)
{
	if (data.len < 4) {
		return false;
	}
	unsigned bits = data.data[2];
	unsigned family = load_be16(data.data);
	size_t len = (bits + 7) / 8;
	if (family < 1 || family > 2 || bits > (family == 1 ? 32u : 128u) || data.len != 4 + len) {
		return false;
	}
	return bits % 8 == 0 || (data.data[3 + len] & 0xFF >> bits % 8) == 0;
}

/* Note the options that are answered. False: FORMERR. */
static bool read_options(const answer_env_t *env, answer_request_t *request)
{
	size_t pos = 0;
	knot_edns_option_t option;
	while (knot_edns_next(request->query.edns.options, &pos, &option)) {
		switch (option.code) {
		case KNOT_EDNS_NSID:
			request->options |=
					env->nsid.len > 0 && env->nsid.len <= ANSWER_NSID_MAX ? ANSWER_OPTION_NSID : 0;
			break;
		case KNOT_EDNS_EXPIRE: request->options |= ANSWER_OPTION_EXPIRE; break;
		case KNOT_EDNS_ZONEVERSION:
			/* The last one counts. */
			request->options &= (uint8_t)~ANSWER_OPTION_ZONEVERSION;
			request->options |= option.data.len == 0 ? ANSWER_OPTION_ZONEVERSION : 0;
			break;
		case KNOT_EDNS_SUBNET:
			if (!env->client_subnet) {
				break;
			}
			if (!read_ecs_is_valid(option.data)) {
				return false;
			}
			request->options |= ANSWER_OPTION_SUBNET;
			memcpy(request->ecs, option.data.data, option.data.len);
			request->ecs_len = (uint8_t)option.data.len;
			break;
		default: break;
		}
	}
	return true;
}

/* By opcode, and for QUERY by type: what a request is about, its class and question aside. */
static answer_kind_t read_kind_of(const knot_query_t *q)
{
	unsigned opcode = q->opcode;
	switch (opcode) {
	case KNOT_OPCODE_QUERY:
		return q->qtype == KNOT_TYPE_AXFR   ? ANSWER_KIND_AXFR
		       : q->qtype == KNOT_TYPE_IXFR ? ANSWER_KIND_IXFR
						    : ANSWER_KIND_LOOKUP;
	case KNOT_OPCODE_NOTIFY: return ANSWER_KIND_NOTIFY;
	case KNOT_OPCODE_UPDATE: return ANSWER_KIND_UPDATE;
	default: return ANSWER_KIND_UNKNOWN;
	}
}

/* Why a request can't have an answer, whatever zones there are. The order is Knot's. */
static answer_refusal_t read_refusal_of(const answer_env_t *env, answer_request_t *request)
{
	const knot_query_t *q = &request->query;
	if (request->verdict == KNOT_MSG_FORMERR) {
		return ANSWER_REFUSAL_MALFORMED;
	}
	if (q->edns.options.len > 0 && !read_options(env, request)) {
		return ANSWER_REFUSAL_BAD_OPTION;
	}
	if (q->edns.present && q->edns.version != 0) {
		return ANSWER_REFUSAL_BAD_VERSION;
	}
	if (request->kind == ANSWER_KIND_UNKNOWN) {
		return ANSWER_REFUSAL_NONE; /* of its gate's */
	}
	if (q->question_len == 0) {
		return ANSWER_REFUSAL_NO_QUESTION;
	}
	if (q->opcode == KNOT_OPCODE_QUERY && q->qtype == 0) {
		return ANSWER_REFUSAL_NOT_IMPLEMENTED;
	}
	if (q->qclass == KNOT_CLASS_CH) {
		return request->kind == ANSWER_KIND_LOOKUP ? ANSWER_REFUSAL_NONE : ANSWER_REFUSAL_NOT_IMPLEMENTED;
	}
	return q->qclass == KNOT_CLASS_IN || q->qclass == KNOT_CLASS_ANY ? ANSWER_REFUSAL_NONE : ANSWER_REFUSAL_CLASS;
}

/* Most queries: everything else about them is known without looking again. */
static inline bool read_is_plain(const answer_request_t *request)
{
	const knot_query_t *q = &request->query;
	_Static_assert(KNOT_MSG_OK == 0 && KNOT_OPCODE_QUERY == 0, "one test for several");
	return (request->verdict | q->opcode | q->edns.version | q->edns.options.len) == 0 &&
	       knot_query_is_unsigned_in(q) && q->qtype != 0 && q->qtype != KNOT_TYPE_AXFR &&
	       q->qtype != KNOT_TYPE_IXFR;
}

/* A request about a zone itself. */
static void read_note_about_zone(answer_request_t *request)
{
	bool is_transfer = request->kind == ANSWER_KIND_AXFR || request->kind == ANSWER_KIND_IXFR;
	if (is_transfer && request->zone != NULL) {
		request->contents = zone_contents(request->zone);
	}
	request->options |= is_transfer || request->query.has_tsig ? ANSWER_OPTION_MORE : 0;
}

/* RFC 9859 4: the zone above the name, if it follows its children. */
static zone_t *read_find_delegating(const zonedb_t *zones, const answer_request_t *request)
{
	const knot_query_t *q = &request->query;
	bool is_about_child = request->kind == ANSWER_KIND_NOTIFY && q->qname.label_count > 0 &&
			      (q->qtype == KNOT_TYPE_CDS || q->qtype == KNOT_TYPE_CSYNC);
	zone_t *parent = is_about_child ? zonedb_find_suffix(zones, knot_name_strip(read_name_of(request), 1)) : NULL;
	return parent != NULL && zone_follows_children(parent) ? parent : NULL;
}

/* Any other request. Those that are about a zone name it. True: a lookup after all, or a signed one. */
__attribute__((noinline)) static bool read_classify(
		const answer_env_t *env, const zonedb_t *zones, answer_request_t *request)
{
	const knot_query_t *q = &request->query;
	if (request->verdict == KNOT_MSG_DROP) {
		request->kind = ANSWER_KIND_REFUSED;
		return false;
	}
	request->kind = (uint8_t)read_kind_of(q);
	request->refusal = (uint8_t)read_refusal_of(env, request);
	if (request->refusal != ANSWER_REFUSAL_NONE) {
		request->kind = ANSWER_KIND_REFUSED;
	} else if (request->kind == ANSWER_KIND_LOOKUP) {
		if (q->qclass == KNOT_CLASS_CH) {
			request->kind = ANSWER_KIND_CHAOS;
			return false;
		}
		if (q->has_tsig) {
			request->kind = ANSWER_KIND_SIGNED;
			request->options |= ANSWER_OPTION_MORE;
		}
		return true;
	} else if (request->kind != ANSWER_KIND_UNKNOWN || (q->question_len > 0 && q->qclass == KNOT_CLASS_IN)) {
		/* Of an unknown opcode the zone's statistics count the request. */
		zone_t *parent = read_find_delegating(zones, request);
		request->zone = parent != NULL ? parent : zonedb_find(zones, read_name_of(request));
		read_note_about_zone(request);
	}
	return false;
}

/* True: a lookup, which has a key. */
static inline bool read_message(
		const answer_env_t *env, const zonedb_t *zones, knot_bytes_t message, answer_request_t *ret_request)
{
	ret_request->verdict = (uint8_t)knot_query_parse(message, &ret_request->query);
	ret_request->zone = NULL;
	ret_request->contents = NULL;
	ret_request->deepest = 0;
	ret_request->kind = ANSWER_KIND_LOOKUP;
	ret_request->refusal = ANSWER_REFUSAL_NONE;
	ret_request->effects = ret_request->options = 0;
	if (__builtin_expect(!read_is_plain(ret_request), 0) && !read_classify(env, zones, ret_request)) {
		return false;
	}
	ret_request->key_len = (uint16_t)knot_name_key(ret_request->query.qname, ret_request->key);
	return true;
}

/* ---- Zones ---- */

/* Usually it is the zone of the request before; certainly so if no zone is deeper. */
static inline void read_find_few(const zonedb_t *zones, answer_request_t **lookups, size_t count)
{
	zone_t *zone = NULL;
	for (size_t i = 0; i < count; i++) {
		knot_name_t name = read_name_of(lookups[i]);
		if (zone == NULL || !knot_name_in(name, zone_name(zone))) {
			zone = zonedb_find_suffix_key(zones, name, lookups[i]->key, lookups[i]->key_len);
		}
		lookups[i]->zone = zone;
		if (zone != NULL && zone_name(zone).label_count < zonedb_depth_max(zones)) {
			zone = NULL;
		}
	}
}

static void read_find_zones(const zonedb_t *zones, answer_request_t **lookups, size_t count)
{
	if (count < OVERLAP_MIN || zonedb_count(zones) < ZONES_MIN) {
		read_find_few(zones, lookups, count);
		return;
	}
	zonedb_search_t searches[ANSWER_BATCH_MAX];
	for (size_t i = 0; i < count; i++) {
		searches[i] = (zonedb_search_t){
			.name = read_name_of(lookups[i]), .key = lookups[i]->key, .key_len = lookups[i]->key_len
		};
	}
	zonedb_find_suffixes(zones, searches, count);
	for (size_t i = 0; i < count; i++) {
		lookups[i]->zone = searches[i].zone;
	}
}

/* DS at the apex of a zone: the parent's zone answers if it is served here (RFC 4035 3.1.4.1). */
__attribute__((noinline)) static zone_t *read_find_parent(
		const zonedb_t *zones, zone_t *zone, const answer_request_t *request)
{
	knot_name_t name = read_name_of(request);
	if (name.label_count == 0 || zonedb_find(zones, name) != zone) {
		return zone;
	}
	zone_t *parent = zonedb_find_suffix(zones, knot_name_strip(name, 1));
	return parent != NULL ? parent : zone;
}

/* The version of the zone that answers. */
static inline void read_find_version(const zonedb_t *zones, answer_request_t *lookup)
{
	zone_t *zone = lookup->zone;
	if (zone == NULL) {
		return;
	}
	if (__builtin_expect(lookup->query.qtype == KNOT_TYPE_DS, 0)) {
		lookup->zone = zone = read_find_parent(zones, zone, lookup);
	}
	bool is_noted;
	lookup->contents = zone_ask(zone, &is_noted);
	if (__builtin_expect(!is_noted, 0) && lookup->kind == ANSWER_KIND_LOOKUP && zone_has_restricted_queries(zone)) {
		lookup->kind = ANSWER_KIND_SIGNED; /* it needs permission as if it were */
	}
	lookup->effects = (uint8_t)((is_noted ? 0 : ANSWER_EFFECT_ASKED) |
				    (lookup->contents != NULL ? 0 : ANSWER_EFFECT_WANTED));
}

/* ---- Versions and walks ---- */

/* Always inlined, see zone_node_prefetch_shared(). */
static inline __attribute__((always_inline)) void read_prefetch_bytes(const void *p, size_t len)
{
	for (size_t at = 0; at < len; at += 64) {
		__builtin_prefetch((const char *)p + at);
	}
}

/* The version of each zone, and what of it is read before its tree is. */
static void read_find_versions(const zonedb_t *zones, answer_request_t **lookups, size_t count)
{
	const zone_t *before = NULL;
	for (size_t i = 0; i < count; i++) {
		read_find_version(zones, lookups[i]);
		if (lookups[i]->zone != before && lookups[i]->contents != NULL) {
			read_prefetch_bytes(lookups[i]->contents, sizeof(*lookups[i]->contents));
		}
		before = lookups[i]->zone;
	}
	const zone_contents_t *known = NULL;
	for (size_t i = 0; i < count; i++) {
		const zone_contents_t *contents = lookups[i]->contents;
		if (contents != known && contents != NULL) {
			__builtin_prefetch(contents->arena.chunks);
			__builtin_prefetch(contents->apex);
		}
		known = contents;
	}
}

static void read_walk(const zonedb_t *zones, answer_request_t **lookups, size_t count)
{
	zone_tree_walk_t walks[ANSWER_BATCH_MAX];
	answer_request_t *walkers[ANSWER_BATCH_MAX];
	size_t walk_count = 0;
	bool are_many = zonedb_count(zones) >= ZONES_MIN;
	for (size_t i = 0; i < count; i++) {
		const zone_contents_t *contents = lookups[i]->contents;
		if (contents != NULL && (are_many || contents->record_count >= RECORDS_MIN)) {
			walkers[walk_count] = lookups[i];
			walks[walk_count++] = (zone_tree_walk_t){
				.view = &contents->arena,
				.tree = &contents->auth,
				.key = lookups[i]->key,
				.key_len = lookups[i]->key_len,
			};
		}
	}
	zone_tree_warm(walks, walk_count);
	for (size_t i = 0; i < walk_count; i++) {
		walkers[i]->deepest = walks[i].deepest;
		if (walks[i].deepest != 0) {
			zone_node_prefetch_shared(walks[i].view, zone_at(walks[i].view, walks[i].deepest));
		}
	}
}

/* A batch of one: nothing overlaps. */
static inline void read_single(
		const answer_env_t *env, const zonedb_t *zones, knot_bytes_t message, answer_request_t *ret_request)
{
	if (read_message(env, zones, message, ret_request)) {
		ret_request->zone = zonedb_find_suffix_key(
				zones, read_name_of(ret_request), ret_request->key, ret_request->key_len);
		read_find_version(zones, ret_request);
	}
}

/* Noinline, as its frame is large. */
__attribute__((noinline)) static void read_batch(const answer_env_t *env, const zonedb_t *zones,
		const knot_bytes_t *messages, size_t count, answer_request_t *ret_requests)
{
	answer_request_t *lookups[ANSWER_BATCH_MAX];
	size_t lookup_count = 0;
	for (size_t i = 0; i < count; i++) {
		lookups[lookup_count] = &ret_requests[i];
		lookup_count += read_message(env, zones, messages[i], &ret_requests[i]);
	}
	read_find_zones(zones, lookups, lookup_count);
	read_find_versions(zones, lookups, lookup_count);
	if (lookup_count >= OVERLAP_MIN) {
		read_walk(zones, lookups, lookup_count);
	}
}

void answer_read(const answer_env_t *env, const zonedb_t *zones, const knot_bytes_t *messages, size_t count,
		answer_request_t *ret_requests)
{
	assert(count <= ANSWER_BATCH_MAX);
	if (count == 1) {
		read_single(env, zones, messages[0], ret_requests);
	} else {
		read_batch(env, zones, messages, count, ret_requests);
	}
}
