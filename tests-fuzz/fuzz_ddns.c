/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * UPDATE messages of any bytes, several in one transaction, each with its length of two bytes before it.
 *
 * A message that isn't answered with NOERROR leaves the edits as they were; the others keep what a zone can't do
 * without: one SOA and a NS at the apex, nothing but the alias at a name that got one, no type that isn't zone data.
 * What differs leads from the zone to what the transaction lists. An input of odd length begins with an empty zone.
 */
#include "src/update/ddns.h"

#include "libknot/rr/rrtype.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MESSAGES_MAX = 16 };

static uint8_t origin_wire[] = "\4zone";
static const zone_build_params_t params = {
	.origin = { origin_wire, 6, 1 }, .default_ttl = 60, .checks = ZONE_CHECKS_SOFT
};
static uint8_t scratch[KNOT_RDATA_MAX];

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

/* A sum that doesn't depend on the order: of each record's bytes. */
static bool add_rr(const zone_rr_t *rr, void *ctx)
{
	uint64_t hash = 0xcbf29ce484222325 ^ rr->ttl ^ (uint64_t)rr->type << 32;
	for (size_t i = 0; i < rr->owner.len + rr->rdata.len; i++) {
		hash = (hash ^ (i < rr->owner.len ? rr->owner.wire[i] : rr->rdata.data[i - rr->owner.len])) *
		       0x100000001b3;
	}
	*(uint64_t *)ctx += hash;
	return true;
}

static uint64_t sum_of_edits(const zone_txn_t *txn)
{
	uint64_t sum = 0;
	check(zone_txn_each(txn, add_rr, &sum) == KNOT_OK);
	return sum;
}

static uint64_t sum_of_differences(const zone_txn_t *txn)
{
	uint64_t removed = 0, added = 0;
	check(zone_txn_diff(txn, false, add_rr, &removed) == KNOT_OK);
	check(zone_txn_diff(txn, true, add_rr, &added) == KNOT_OK);
	return added - removed;
}

/* What is at the name that is listed. */
typedef struct {
	bool has_zone; /* began with a SOA and NS */
	unsigned soa_count, ns_count;
	uint8_t owner[KNOT_NAME_MAX];
	unsigned alias_count, other_count; /* at the owner */
} seen_t;

static bool look_at(const zone_rr_t *rr, void *ctx)
{
	seen_t *seen = ctx;
	check(rr->type != 0 && !knot_rrtype_is_meta(rr->type) && knot_name_in(rr->owner, params.origin));
	if (memcmp(seen->owner, rr->owner.wire, rr->owner.len) != 0) {
		memcpy(seen->owner, rr->owner.wire, rr->owner.len);
		seen->alias_count = seen->other_count = 0;
	}
	seen->alias_count += rr->type == KNOT_TYPE_CNAME;
	seen->other_count += rr->type != KNOT_TYPE_CNAME;
	check(seen->alias_count + (seen->other_count > 0) <= 1 || seen->alias_count == 0);
	bool is_apex = rr->owner.len == params.origin.len;
	check(rr->type != KNOT_TYPE_SOA || is_apex);
	seen->soa_count += rr->type == KNOT_TYPE_SOA;
	seen->ns_count += rr->type == KNOT_TYPE_NS && is_apex;
	return true;
}

static void check_edits(const zone_txn_t *txn, bool has_zone)
{
	seen_t seen = { .has_zone = has_zone };
	check(zone_txn_each(txn, look_at, &seen) == KNOT_OK);
	check(seen.soa_count == 1 || (!has_zone && seen.soa_count == 0));
	check(seen.ns_count > 0 || !has_zone);
}

static void note_message(const ddns_message_t *message, void *ctx)
{
	(void)ctx;
	check(strlen(message->text) < DDNS_TEXT_MAX);
}

static void apply(ddns_t *ddns, update_t *update, knot_bytes_t message)
{
	uint64_t before = sum_of_edits(update->txn);
	ddns_result_t result = ddns_apply(ddns, message);
	check((result.rcode == KNOT_RCODE_NOERROR) == (result.err == KNOT_OK && result.what == NULL));
	check(result.rcode == KNOT_RCODE_NOERROR || sum_of_edits(update->txn) == before);
	check_edits(update->txn, update->base != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char text[] = "@ 60 SOA ns admin 5 1 2 3 4\n@ NS ns\n@ NS n\nns A 192.0.2.1\nmail 300 MX 10 ns\n"
				   "mail 300 MX 20 n\nc CNAME ns\nd DNAME ns\nsub NS ns.sub\nns.sub A 192.0.2.2\n"
				   "b.e A 192.0.2.3\n";
	static zone_contents_t *zone;
	if (zone == NULL) {
		check(zone_build_text((knot_str_t){ text, sizeof(text) - 1 }, "fuzz", &params, &zone) == KNOT_OK);
	}
	const zone_contents_t *base = size % 2 == 0 ? zone : NULL;
	update_t update;
	ddns_t *ddns;
	check(update_begin(params.origin, UPDATE_DDNS, base, &update) == KNOT_OK);
	check(ddns_begin(&update, note_message, NULL, &ddns) == KNOT_OK);
	uint64_t sum_before = 0;
	if (base != NULL) {
		(void)zone_each_record(base, scratch, add_rr, &sum_before);
	}
	for (unsigned i = 0; size >= 2 && i < MESSAGES_MAX; i++) {
		size_t len = load_be16(data);
		len = len < size - 2 ? len : size - 2;
		uint8_t *exact = malloc(len + 1); /* a byte more, so never empty; the message ends at its end */
		check(exact != NULL);
		memcpy(exact + 1, data + 2, len);
		apply(ddns, &update, (knot_bytes_t){ exact + 1, len });
		free(exact);
		data += len + 2;
		size -= len + 2;
	}
	check(sum_of_edits(update.txn) == sum_before + sum_of_differences(update.txn));
	ddns_end(ddns);
	zone_contents_t *next;
	if (zone_txn_build(update.txn, base, &params, &next) == KNOT_OK) {
		uint64_t built = 0;
		(void)zone_each_record(next, scratch, add_rr, &built);
		check(built == sum_of_edits(update.txn));
		zone_contents_free(next);
	}
	update_end(&update);
	return 0;
}
