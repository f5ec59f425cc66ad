/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/oracle/world.h"

#include "tests/oracle/chain.h"

#include "libknot/base/assert.h"
#include "libknot/rr/rrtype.h"
#include "libknot/text/zonefile.h"
#include "src/zone/nsec3_hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t origin_wire[] = "\4zone";
const knot_name_t world_origin = { origin_wire, 6, 1 };

uint64_t world_number(uint64_t *random)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return *random >> 33;
}

unsigned world_draw(uint64_t *random, unsigned below)
{
	return (unsigned)(world_number(random) % below);
}

/* ---- Records ---- */

#define SIG(type) "RRSIG " type " 8 2 60 20300101000000 20200101000000 1 zone. AAAA"

const char *const world_simple_rdata[] = { "A 192.0.2.1", "A 192.0.2.2", "A 192.0.2.3", "AAAA 2001:db8::1",
	"AAAA 2001:db8::2", "TXT x", "TXT \"two\" \"strings\"", "DS 1 8 1 AA", "DS 2 13 2 AB", SIG("A"), SIG("NS"),
	SIG("TXT"), SIG("CNAME"), "HINFO cpu os", "RP a b", "KEY 256 3 8 AAAA",
	"SIG A 8 2 60 20300101000000 20200101000000 1 zone. AAAA",
	"LOC 52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000m 10m", "NAPTR 1 2 \"S\" \"x\" \"\" a", "CERT 1 2 3 AAAA",
	"APL 1:192.0.2.0/24", "SSHFP 1 1 AABB", "IPSECKEY 1 1 2 192.0.2.1 AAAA", "DHCID AAAA", "DNSKEY 257 3 8 AAAA",
	"TLSA 3 1 1 AABB", "SMIMEA 3 1 1 AABB", "CDS 1 8 1 AA", "CDS 0 0 0 00",
	"CDNSKEY 0 3 0 AA==", "CDNSKEY 257 3 8 AAAA", "OPENPGPKEY AAAA", "CSYNC 1 3 A NS", "ZONEMD 1 1 1 AABB",
	"DSYNC CDS NOTIFY 53 a", "SPF v=spf1", "NID 1 0:0:0:1", "L32 1 192.0.2.1", "L64 1 0:0:0:1",
	"EUI48 00-11-22-33-44-55", "EUI64 00-11-22-33-44-55-66-77", "URI 1 2 \"x:\"", "CAA 0 issue \"x\"", "RESINFO x",
	"WALLET x y", "NULL \\# 2 0102", "NXT \\# 6 0161000140 00", "DELEG \\# 1 01", "DELEGPARAM \\# 1 01",
	"TYPE65280 \\# 1 01" };
const size_t world_simple_rdata_count = KNOT_LEN(world_simple_rdata);

/* What delegates and refers comes often, and what is only a name now and then. */
static const char *const often_rdata[] = { "NS %s", "NS %s", "NS %s", "NS %s", "MX 10 %s", "SRV 1 2 3 %s", "SVCB 1 %s",
	"HTTPS 1 %s", "CNAME %s", "DNAME %s" };
static const char *const seldom_rdata[] = { "PTR %s", "MD %s", "MF %s", "MB %s", "MG %s", "MR %s", "MINFO %s a",
	"AFSDB 1 %s", "RT 1 %s", "PX 1 %s a", "KX 1 %s", "LP 1 %s", "ALIAS %s", "SVCB 0 %s", "MX 20 %s" };

static void draw_name(uint64_t *random, char *to)
{
	static const char *const labels[] = { "a", "b", "c", "ns", "*" };
	size_t len = 0;
	for (unsigned i = world_draw(random, 4) + 1; i > 0; i--) {
		const char *label = labels[world_draw(random, len == 0 ? 5 : 4)];
		len += (size_t)snprintf(to + len, KNOT_NAME_MAX - len, "%s%s", len > 0 ? "." : "", label);
	}
}

/* The owner of the NSEC3 of a name, relative to the apex. */
static void hash_name(const char *text, char ret_label[static ZONE_NSEC3_LABEL_LEN + 1])
{
	static const zone_nsec3_params_t nsec3 = { .algorithm = 1 };
	uint8_t wire[KNOT_NAME_MAX], hashed_wire[KNOT_NAME_MAX];
	knot_name_t name, hashed;
	bool is_made = knot_name_scan(knot_str_of(text), world_origin, wire, &name) == KNOT_OK &&
		       zone_nsec3_owner(&nsec3, name, world_origin, hashed_wire, &hashed);
	chain_check(is_made, "the hash of a name");
	memcpy(ret_label, hashed_wire + 1, ZONE_NSEC3_LABEL_LEN);
	ret_label[ZONE_NSEC3_LABEL_LEN] = '\0';
}

/* Records of a chain that is right by chance only. */
static void draw_denial(uint64_t *random, const char *owner, const char *target, bool has_nsec3, char *line)
{
	if (!has_nsec3 || world_draw(random, 4) == 0) {
		snprintf(line, WORLD_LINE_MAX, "%s 60 NSEC %s A RRSIG NSEC\n", owner, target);
		return;
	}
	if (world_draw(random, 6) == 0) {
		snprintf(line, WORLD_LINE_MAX, "@ 60 NSEC3PARAM 1 0 %s\n", world_draw(random, 4) > 0 ? "0 -" : "1 AB");
		return;
	}
	char own[ZONE_NSEC3_LABEL_LEN + 1], next[ZONE_NSEC3_LABEL_LEN + 1];
	hash_name(owner, own);
	hash_name(target, next);
	if (world_draw(random, 6) == 0) {
		snprintf(line, WORLD_LINE_MAX, "%s 60 %s\n", own, SIG("NSEC3"));
	} else {
		snprintf(line, WORLD_LINE_MAX, "%s 60 NSEC3 1 %u %s %s A\n", own, world_draw(random, 2),
				world_draw(random, 8) > 0 ? "0 -" : "1 AB", next);
	}
}

static void draw_line(const world_t *w, uint64_t *random, bool has_nsec3, char *line)
{
	const char *owner = world_draw(random, 8) == 0 ? "@" : w->names[world_draw(random, w->name_count)];
	const char *target = world_draw(random, 12) == 0 ? "long-name-of-a-server.example."
							 : w->names[world_draw(random, w->name_count)];
	enum { OFTEN_SIMPLE = 9 }; /* addresses, TXT, DS: the first of them */
	unsigned kind = world_draw(random, w->is_signed ? 17 : has_nsec3 ? 24 : 20);
	if (kind >= 17) {
		draw_denial(random, owner, target, has_nsec3, line);
	} else if (kind >= 16) {
		const char *format = seldom_rdata[world_draw(random, KNOT_LEN(seldom_rdata))];
		int len = snprintf(line, WORLD_LINE_MAX, "%s 60 ", owner);
		len += snprintf(line + len, (size_t)(WORLD_LINE_MAX - len), format, target);
		snprintf(line + len, (size_t)(WORLD_LINE_MAX - len), "\n");
	} else if (kind >= 8) {
		const char *format = often_rdata[world_draw(random, KNOT_LEN(often_rdata))];
		int len = snprintf(line, WORLD_LINE_MAX, "%s 60 ", owner);
		len += snprintf(line + len, (size_t)(WORLD_LINE_MAX - len), format, target);
		snprintf(line + len, (size_t)(WORLD_LINE_MAX - len), "\n");
	} else {
		unsigned which = world_draw(random, kind >= 2 ? OFTEN_SIMPLE : (unsigned)KNOT_LEN(world_simple_rdata));
		snprintf(line, WORLD_LINE_MAX, "%s 60 %s\n", owner, world_simple_rdata[which]);
	}
}

static bool keep_record(const knot_zone_record_t *record, void *ctx)
{
	world_record_t *to = ctx;
	knot_name_lower(record->owner, to->owner_wire);
	to->owner = (knot_name_t){ to->owner_wire, record->owner.len, record->owner.label_count };
	to->type = record->type;
	to->rdata_len = record->rdata.len;
	chain_check(record->rdata.len <= sizeof(to->rdata), "room for the RDATA");
	memcpy(to->rdata, record->rdata.data, record->rdata.len);
	return true;
}

/* Signatures come with those of other types in a signed world. */
static bool may_be(const world_t *w, const world_record_t *record)
{
	bool is_denial = record->type == KNOT_TYPE_RRSIG || record->type == KNOT_TYPE_DNSKEY;
	bool is_known = w->is_signed && is_denial;
	for (size_t i = 0; i < w->count && !is_known; i++) {
		const world_record_t *r = &w->records[i];
		is_known = r->type == record->type && r->rdata_len == record->rdata_len &&
			   knot_name_eq(r->owner, record->owner) && memcmp(r->rdata, record->rdata, r->rdata_len) == 0;
	}
	return !is_known;
}

static unsigned group_of(const world_t *w, const world_record_t *record)
{
	unsigned i = 0;
	while (i < w->count &&
			(w->records[i].type != record->type || !knot_name_eq(w->records[i].owner, record->owner))) {
		i++;
	}
	return i;
}

void world_make(world_t *w, uint64_t seed)
{
	uint64_t random = seed * 0x9E3779B97F4A7C15u;
	(void)world_number(&random);
	memset(w, 0, sizeof(*w));
	w->params = (zone_build_params_t){ .origin = world_origin, .default_ttl = 60, .now_s = CHAIN_NOW_S };
	w->params.checks = world_draw(&random, 4) > 0   ? ZONE_CHECKS_REPORT
			   : world_draw(&random, 3) > 0 ? ZONE_CHECKS_ON
							: ZONE_CHECKS_OFF;
	w->is_signed = world_draw(&random, 5) < 2;
	bool has_nsec3 = world_draw(&random, 2);
	/* Small ones most of all: they cost less, and each name meets each other one sooner. */
	w->name_count = 4 + world_draw(&random, world_draw(&random, 4) > 0 ? 5 : WORLD_NAMES_MAX - 3);
	w->change_max = world_draw(&random, 4) > 0 ? 2 : 6;
	unsigned lines = w->name_count * 4 + world_draw(&random, w->name_count * 4 + 1);
	for (unsigned i = 0; i < w->name_count; i++) {
		draw_name(&random, w->names[i]);
	}
	for (unsigned i = 0; i < lines && w->count < WORLD_RECORDS_MAX; i++) {
		world_record_t *record = &w->records[w->count];
		draw_line(w, &random, has_nsec3, record->line);
		knot_zonefile_params_t scan = {
			.origin = world_origin, .default_ttl = 60, .on_record = keep_record, .ctx = record
		};
		chain_check(knot_zonefile_scan_text(knot_str_of(record->line), "line", &scan) == KNOT_OK, record->line);
		record->group = group_of(w, record);
		w->count += may_be(w, record);
	}
}

/* ---- States ---- */

void world_begin(const world_t *w, uint64_t *random, world_state_t *ret_state)
{
	memset(ret_state, 0, sizeof(*ret_state));
	for (size_t i = 0; i < w->count && w->params.checks == ZONE_CHECKS_REPORT; i++) {
		ret_state->is_in[i] = world_draw(random, 2);
	}
	ret_state->chain = w->is_signed ? (uint8_t)(1 + world_draw(random, CHAIN_COUNT - 1)) : CHAIN_NONE;
	ret_state->seed = world_number(random);
}

void world_change(const world_t *w, uint64_t *random, const world_state_t *before, world_state_t *ret_after)
{
	*ret_after = *before;
	for (unsigned i = world_draw(random, w->change_max) + 1; i > 0 && w->count > 0; i--) {
		unsigned which = world_draw(random, (unsigned)w->count);
		if (world_draw(random, 12) == 0 && w->records[which].type != KNOT_TYPE_RRSIG) {
			ret_after->ttls[w->records[which].group] = (uint8_t)world_draw(random, WORLD_TTLS);
		} else {
			ret_after->is_in[which] = !ret_after->is_in[which];
		}
	}
	if (w->is_signed && world_draw(random, 40) == 0) {
		ret_after->chain = (uint8_t)world_draw(random, CHAIN_COUNT);
	}
	if (w->is_signed && world_draw(random, 20) == 0) {
		ret_after->missing = world_draw(random, 2) ? (uint16_t)world_draw(random, 40) : 0;
	}
	ret_after->seed = world_number(random);
}

static uint32_t ttl_of(const world_record_t *r, const world_state_t *state)
{
	static const uint32_t ttls[WORLD_TTLS] = { 60, 30, 90 };
	return ttls[state->ttls[r->group]];
}

bool world_differs(const world_t *w, size_t record, const world_state_t *a, const world_state_t *b)
{
	const world_record_t *r = &w->records[record];
	return a->is_in[record] != b->is_in[record] || (a->is_in[record] && ttl_of(r, a) != ttl_of(r, b));
}

/* ---- Zones ---- */

knot_bytes_t world_soa(uint32_t serial, uint8_t ret_rdata[static 32])
{
	static const uint8_t rdata[] = "\1m\0\1r\0\0\0\0\0\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0";
	memcpy(ret_rdata, rdata, sizeof(rdata));
	store_be32(ret_rdata + 6, serial);
	return (knot_bytes_t){ ret_rdata, sizeof(rdata) };
}

static void put(zone_txn_t *txn, const world_record_t *r, const world_state_t *state)
{
	knot_err_t err = zone_txn_put(
			txn, r->owner, r->type, ttl_of(r, state), (knot_bytes_t){ r->rdata, r->rdata_len });
	chain_check(err == KNOT_OK || err == KNOT_EISRECORD, r->line);
}

static void put_soa(zone_txn_t *txn, uint32_t serial)
{
	uint8_t rdata[32];
	chain_check(zone_txn_put(txn, world_origin, KNOT_TYPE_SOA, 60, world_soa(serial, rdata)) == KNOT_OK, "the SOA");
}

static void put_chained(zone_txn_t *txn, const chained_t *r)
{
	chain_check(zone_txn_put(txn, r->owner, r->type, 60, r->rdata) == KNOT_OK, "a record of a chain");
}

knot_err_t world_build(const world_t *w, const world_state_t *state, const chain_t *chain, uint32_t serial,
		const zone_build_params_t *params, zone_contents_t **ret_zone)
{
	zone_txn_t *txn;
	chain_check(zone_txn_begin(NULL, params, &txn) == KNOT_OK, "a transaction");
	put_soa(txn, serial);
	for (size_t i = 0; i < w->count; i++) {
		if (state->is_in[i]) {
			put(txn, &w->records[i], state);
		}
	}
	for (size_t i = 0; i < chain->count; i++) {
		put_chained(txn, &chain->records[i]);
	}
	knot_err_t err = zone_txn_build(txn, NULL, params, ret_zone);
	zone_txn_discard(txn);
	return err;
}

/* The records of a state without those of its chain. */
static knot_err_t build_plain(const world_t *w, const world_state_t *state, uint32_t serial, zone_contents_t **ret_zone)
{
	zone_build_params_t params = w->params;
	params.checks = ZONE_CHECKS_SOFT;
	params.on_message = NULL;
	world_state_t plain = *state;
	plain.chain = CHAIN_NONE;
	return world_build(w, &plain, &(chain_t){ .count = 0 }, serial, &params, ret_zone);
}

chain_t world_chain(const world_t *w, const world_state_t *state, uint32_t serial)
{
	zone_contents_t *plain;
	chain_t chain = { .count = 0 };
	if (state->chain != CHAIN_NONE) {
		chain_check(build_plain(w, state, serial, &plain) == KNOT_OK, "a zone without chain");
		chain = chain_make(plain, (chain_kind_t)state->chain, state->missing);
		zone_contents_free(plain);
	}
	return chain;
}

/* Both lists are in order. */
static void commit_chain(zone_txn_t *txn, const chain_t *before, const chain_t *after)
{
	size_t i = 0, k = 0;
	while (i < before->count || k < after->count) {
		int order = i == before->count  ? 1
			    : k == after->count ? -1
						: chain_cmp(&before->records[i], &after->records[k]);
		if (order < 0) {
			const chained_t *r = &before->records[i];
			chain_check(zone_txn_remove(txn, r->owner, r->type, r->rdata) == KNOT_OK,
					"a record of a chain to remove");
		} else if (order > 0) {
			put_chained(txn, &after->records[k]);
		}
		i += order <= 0;
		k += order >= 0;
	}
}

knot_err_t world_commit(const world_t *w, const zone_contents_t *base, const world_step_t *step, uint32_t serial,
		const zone_build_params_t *params, zone_contents_t **ret_zone)
{
	zone_txn_t *txn;
	chain_check(zone_txn_begin(base, params, &txn) == KNOT_OK, "a transaction");
	chain_check(zone_txn_remove_all(txn, world_origin, KNOT_TYPE_SOA) == KNOT_OK, "the SOA to remove");
	put_soa(txn, serial);
	const world_state_t *before = step->before, *after = step->after;
	for (size_t i = 0; i < w->count; i++) {
		const world_record_t *r = &w->records[i];
		if (before->is_in[i] && !after->is_in[i]) {
			knot_err_t err = zone_txn_remove(
					txn, r->owner, r->type, (knot_bytes_t){ r->rdata, r->rdata_len });
			chain_check(err == KNOT_OK, r->line);
		}
	}
	for (size_t i = 0; i < w->count; i++) {
		if (after->is_in[i] && world_differs(w, i, before, after)) {
			put(txn, &w->records[i], after);
		}
	}
	commit_chain(txn, step->chain_before, step->chain_after);
	knot_err_t err = zone_txn_build(txn, base, params, ret_zone);
	zone_txn_discard(txn);
	return err;
}
