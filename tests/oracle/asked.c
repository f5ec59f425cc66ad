/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/oracle/asked.h"

#include "libknot/base/assert.h"
#include "libknot/rr/rrtype.h"
#include "src/answer/answer.h"
#include "src/answer/answer_test_query.h"
#include "src/sys/rcu.h"
#include "tests/oracle/chain.h"

#include <netinet/in.h>
#include <stdio.h>

enum { SIDES = 2, REPLY_MAX = 4096, TYPE_ABSENT = 65000, TEXT = 400, TYPES_MAX = 80 };

struct asked {
	zone_t *zones[SIDES];
	zonedb_t *dbs[SIDES];
	const zone_contents_t *contents[SIDES];
	uint64_t count;
	char text[TEXT];
};

static const struct sockaddr_in client = { .sin_family = AF_INET };
static const answer_source_t udp = { .protocol = ANSWER_UDP4, .remote = (const struct sockaddr *)&client };
static const answer_env_t env = { .udp_payload_max_ipv4 = REPLY_MAX, .udp_payload_max_ipv6 = REPLY_MAX };

asked_t *asked_new(knot_name_t origin)
{
	asked_t *asked = calloc(1, sizeof(*asked));
	chain_check(asked != NULL, "memory");
	sys_rcu_register();
	for (unsigned i = 0; i < SIDES; i++) {
		asked->zones[i] = zone_new(origin);
		chain_check(asked->zones[i] != NULL, "memory");
		asked->dbs[i] = zonedb_new(&asked->zones[i], 1);
		chain_check(asked->dbs[i] != NULL, "memory");
	}
	return asked;
}

void asked_free(asked_t *take_asked)
{
	for (unsigned i = 0; i < SIDES; i++) {
		zonedb_free(take_asked->dbs[i]);
		zone_free(take_asked->zones[i]);
	}
	free(take_asked);
	sys_rcu_unregister();
}

void asked_begin(asked_t *asked, zone_contents_t *zone, zone_contents_t *want)
{
	zone_contents_t *const sides[SIDES] = { zone, want };
	for (unsigned i = 0; i < SIDES; i++) {
		asked->contents[i] = sides[i];
		chain_check(zone_publish(asked->zones[i], sides[i]) == NULL, "a version is left");
	}
}

void asked_end(asked_t *asked)
{
	for (unsigned i = 0; i < SIDES; i++) {
		(void)zone_publish(asked->zones[i], NULL);
	}
}

static size_t reply_of(asked_t *asked, unsigned side, knot_bytes_t message, uint8_t *out)
{
	answer_request_t request;
	answer_report_t report;
	rcu_guard_t guard = sys_rcu_enter();
	answer_read(&env, asked->dbs[side], &message, 1, &request);
	size_t len = answer_message(&env, &udp, &request, NULL, (knot_mut_bytes_t){ out, REPLY_MAX }, &report);
	sys_rcu_leave(&guard);
	return len;
}

static bool is_answered_alike(asked_t *asked, knot_name_t name, const test_query_t *query)
{
	uint8_t message[512], out[SIDES][REPLY_MAX];
	size_t message_len = test_query_about(query, name, message, sizeof(message));
	size_t len = reply_of(asked, 0, (knot_bytes_t){ message, message_len }, out[0]);
	size_t want_len = reply_of(asked, 1, (knot_bytes_t){ message, message_len }, out[1]);
	asked->count++;
	if (len > 0 && len == want_len && memcmp(out[0], out[1], len) == 0) {
		return true;
	}
	char owner[KNOT_NAME_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX];
	knot_name_print(name, owner);
	knot_rrtype_print(query->qtype, type);
	snprintf(asked->text, sizeof(asked->text), "%.300s %s, DO %d, payload %u", owner, type, query->dnssec_ok,
			(unsigned)query->udp_payload);
	return false;
}

/* ---- What is asked ---- */

enum { WAYS = 4 };

/* With little room, and with room for all. */
static test_query_t query_of(uint16_t type, unsigned way)
{
	static const test_query_t ways[WAYS] = { { .udp_payload = 0 }, { .udp_payload = REPLY_MAX, .dnssec_ok = true },
		{ .udp_payload = REPLY_MAX }, { .udp_payload = 512, .dnssec_ok = true } };
	test_query_t query = ways[way % WAYS];
	query.qtype = type;
	query.id = 1;
	return query;
}

/* Types that are asked for at each name, there or not, and those that are there. */
static unsigned types_of(const asked_t *asked, knot_name_t name, uint16_t *types)
{
	static const uint16_t always[] = { KNOT_TYPE_A, KNOT_TYPE_DS, KNOT_TYPE_NS, KNOT_TYPE_MX, KNOT_TYPE_ANY,
		TYPE_ABSENT };
	unsigned count = 0;
	for (; count < KNOT_LEN(always); count++) {
		types[count] = always[count];
	}
	for (unsigned side = 0; side < SIDES; side++) {
		const zone_node_t *node = zone_find_node(asked->contents[side], name);
		unsigned sets = node != NULL ? zone_node_rrset_count(node) : 0;
		for (unsigned i = 0; i < sets && count < TYPES_MAX; i++) {
			types[count++] = zone_rrset_type(zone_node_rrset_at(&asked->contents[side]->arena, node, i));
		}
	}
	return count;
}

enum { NEIGHBOURS = 6 };

/* Names near one that exist or don't: wire[]'s. False: it would be too long. */
static bool neighbour_of(knot_name_t name, unsigned which, uint8_t *wire, knot_name_t *ret_name)
{
	/* A label to put before it, or instead of its first one. */
	static const struct {
		const char *label;
		bool is_instead;
	} ways[NEIGHBOURS] = { { "", false }, { "\3new", false }, { "\1*", false }, { "\2!0", true }, { "\2zz", true },
		{ "\1y\1a", false } };
	knot_name_t rest = ways[which].is_instead && name.label_count > 1 ? knot_name_strip(name, 1) : name;
	size_t len = strlen(ways[which].label);
	if (len + rest.len > KNOT_NAME_MAX) {
		return false;
	}
	memcpy(wire, ways[which].label, len);
	memcpy(wire + len, rest.wire, rest.len);
	*ret_name = knot_name_of(wire);
	return true;
}

bool asked_all_of(asked_t *asked, knot_name_t name)
{
	uint16_t types[TYPES_MAX];
	bool is_same = true;
	for (unsigned which = 0; which < NEIGHBOURS && is_same; which++) {
		uint8_t wire[KNOT_NAME_MAX];
		knot_name_t about;
		if (!neighbour_of(name, which, wire, &about)) {
			continue;
		}
		unsigned count = types_of(asked, about, types), ways = which == 0 ? WAYS : 2;
		for (unsigned i = 0; i < count * ways && is_same; i++) {
			test_query_t query = query_of(types[i / ways], i);
			is_same = is_answered_alike(asked, about, &query);
		}
	}
	return is_same;
}

bool asked_one_of(asked_t *asked, knot_name_t name, uint64_t random)
{
	uint16_t types[TYPES_MAX];
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t about;
	if (!neighbour_of(name, random % 16 < NEIGHBOURS ? (unsigned)(random % 16) : 0, wire, &about)) {
		return true;
	}
	random /= 16;
	test_query_t query = query_of(types[random % types_of(asked, about, types)], (unsigned)(random >> 20));
	return is_answered_alike(asked, about, &query);
}

bool asked_everything(asked_t *asked, knot_name_t *ret_at)
{
	static zone_node_iter_t iter; /* large */
	bool is_same = true;
	for (unsigned side = 0; side < SIDES && is_same; side++) {
		zone_nodes_begin(asked->contents[side], &iter);
		for (const zone_node_t *node;
				is_same && (node = zone_nodes_next(asked->contents[side], &iter)) != NULL;) {
			*ret_at = zone_node_owner(node);
			/* Names of both are asked about once. */
			bool is_done = side > 0 && zone_find_node(asked->contents[0], *ret_at) != NULL;
			is_same = is_done || asked_all_of(asked, *ret_at);
		}
	}
	return is_same;
}

uint64_t asked_count(const asked_t *asked)
{
	return asked->count;
}

const char *asked_text(const asked_t *asked)
{
	return asked->text;
}
