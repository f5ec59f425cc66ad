/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random commits to a zone of many names, unsigned and signed with NSEC3 and opt-out: each version is compared with one
 * that is built from the same records alone, name by name, and answers about what changed and some other names. Slices
 * of compaction come between. KNOT_NAMES=n KNOT_COMMITS=n: another size, and so many commits to each zone; KNOT_SEED=n:
 * other commits.
 */
#include "tests/oracle/asked.h"
#include "tests/oracle/same.h"
#include "tests/oracle/world.h"

#include "libknot/base/encode.h"
#include "libknot/rr/rrtype.h"
#include "src/zone/compact.h"
#include "src/zone/compile.h"
#include "src/zone/nsec3_hash.h"
#include "src/zone/test_use.h"
#include "src/zone/txn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

/* One thread: nothing for ThreadSanitizer to find. The simulations have a larger one: ./dev test sim commits. */
#if defined(__SANITIZE_THREAD__)
enum { NAMES = 1000, COMMITS = 30 };
#else
enum { NAMES = 3000, COMMITS = 200 /* to each zone */ };
#endif

enum {
	CHANGES_MAX = 4,
	OWNERS_MAX = 3, /* of a number */
	SETS_MAX = 4,   /* of an owner */
	QUESTIONS = 20,
	USE_EACH = 50,
	SEARCH_PARTS = 16,
	RDATA_ROOM = 600,
};

static const zone_build_params_t params = {
	.origin = { (const uint8_t *)"\4zone", 6, 1 }, .default_ttl = 60, .checks = ZONE_CHECKS_OFF
};
static const zone_nsec3_params_t nsec3 = { .algorithm = 1 };

/* ---- What a number stands for ---- */

typedef struct {
	uint16_t type;
	uint8_t rdata[KNOT_NAME_MAX + 8];
	size_t len;
} large_set_t;

/* A name and its sets, of one record each; without sets: an empty non-terminal. */
typedef struct {
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	large_set_t sets[SETS_MAX];
	size_t count;
	bool is_cut, is_glue;
} large_owner_t;

static large_owner_t *large_owner(large_owner_t *owners, size_t *count, const char *format, unsigned number)
{
	char text[64];
	large_owner_t *owner = &owners[(*count)++];
	*owner = (large_owner_t){ .count = 0 };
	snprintf(text, sizeof(text), format, number);
	assert_int_equal(knot_name_scan(knot_str_of(text), world_origin, owner->wire, &owner->name), KNOT_OK);
	return owner;
}

/* RDATA of some bytes and a name. */
static void large_put_name(large_owner_t *owner, uint16_t type, size_t skip, const char *format, unsigned number)
{
	char text[64];
	large_set_t *set = &owner->sets[owner->count++];
	*set = (large_set_t){ .type = type };
	knot_name_t name;
	snprintf(text, sizeof(text), format, number);
	assert_int_equal(knot_name_scan(knot_str_of(text), world_origin, set->rdata + skip, &name), KNOT_OK);
	set->len = skip + name.len;
}

static void large_put_number(large_owner_t *owner, uint16_t type, size_t len, unsigned number)
{
	large_set_t *set = &owner->sets[owner->count++];
	*set = (large_set_t){ .type = type, .len = len };
	store_be32(set->rdata + len - 4, number + 1);
	set->rdata[0] = type == KNOT_TYPE_TXT ? (uint8_t)(len - 1) : set->rdata[0];
}

/* Delegations to one of some operators most of all, secure ones, with glue, to a host of the zone; hosts; mail to a
 * host, which may be there or not; wildcards, empty non-terminals, aliases. Returns how many names. */
static size_t large_owners(unsigned number, large_owner_t owners[OWNERS_MAX])
{
	size_t count = 0;
	unsigned kind = number % 16;
	if (kind == 13) {
		(void)large_owner(owners, &count, "d%07u", number);
		large_put_number(large_owner(owners, &count, "*.d%07u", number), KNOT_TYPE_TXT, 5, number);
		return count;
	}
	if (kind == 14) {
		(void)large_owner(owners, &count, "d%07u", number);
		(void)large_owner(owners, &count, "b.d%07u", number);
		large_put_number(large_owner(owners, &count, "a.b.d%07u", number), KNOT_TYPE_A, 4, number);
		return count;
	}
	large_owner_t *owner = large_owner(owners, &count, "d%07u", number);
	owner->is_cut = kind < 10;
	if (kind < 8) {
		large_put_name(owner, KNOT_TYPE_NS, 0, "ns1-server-operator-%u.hosters.", number % 7);
	}
	if (kind == 6 || kind == 7) {
		large_put_number(owner, KNOT_TYPE_DS, 24, number);
	}
	if (kind == 8) {
		large_put_name(owner, KNOT_TYPE_NS, 0, "ns.d%07u", number);
		large_owner_t *glue = large_owner(owners, &count, "ns.d%07u", number);
		large_put_number(glue, KNOT_TYPE_A, 4, number);
		glue->is_glue = true;
	} else if (kind == 9) {
		large_put_name(owner, KNOT_TYPE_NS, 0, "d%07u", number + 1);
	} else if (kind == 10 || kind == 11) {
		large_put_number(owner, kind == 10 ? KNOT_TYPE_A : KNOT_TYPE_AAAA, kind == 10 ? 4 : 16, number);
	} else if (kind == 12) {
		large_put_name(owner, KNOT_TYPE_MX, 2, "d%07u", number - 1);
	} else if (kind == 15) {
		large_put_name(owner, number / 16 % 2 ? KNOT_TYPE_CNAME : KNOT_TYPE_DNAME, 0, "d%07u", number - 5);
	}
	return count;
}

static bool is_signed_set(const large_owner_t *owner, uint16_t type)
{
	return !owner->is_glue && (!owner->is_cut || type == KNOT_TYPE_DS);
}

static size_t large_sign(knot_name_t owner, uint16_t type, knot_bytes_t rdata, uint8_t *ret_rdata)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < rdata.len; i++) {
		sum = 31 * sum + rdata.data[i];
	}
	return chain_rrsig(type, owner.label_count - knot_name_is_wildcard(owner), world_origin, sum, ret_rdata);
}

/* ---- The chain ---- */

/* A name that has an NSEC3 when its number is in the zone. */
typedef struct {
	uint8_t hash[ZONE_NSEC3_HASH_LEN];
	unsigned number; /* APEX: always there */
	uint16_t types[SETS_MAX + 4];
	size_t count;
} large_link_t;

#define APEX UINT32_MAX

typedef struct {
	unsigned names;
	bool is_signed;
	large_link_t *links; /* owned; by hash */
	size_t link_count;
	uint8_t *bytes;   /* owned: records of all numbers, as large_keep_record() packs them */
	size_t len, max;  /* of bytes */
	uint32_t *places; /* owned: where those of each number begin; and the end */
} large_t;

typedef void (*large_visit_t)(knot_name_t owner, uint16_t type, knot_bytes_t rdata, void *ctx);

static int cmp_large_links(const void *a, const void *b)
{
	return memcmp(((const large_link_t *)a)->hash, ((const large_link_t *)b)->hash, ZONE_NSEC3_HASH_LEN);
}

static const uint16_t apex_types[] = { KNOT_TYPE_NS, KNOT_TYPE_SOA, KNOT_TYPE_RRSIG, KNOT_TYPE_DNSKEY,
	KNOT_TYPE_NSEC3PARAM };

/* Insecure delegations are opted out. */
static void large_link(large_t *l, unsigned number, const large_owner_t *owner)
{
	bool is_insecure = owner->is_cut && owner->sets[owner->count - 1].type != KNOT_TYPE_DS;
	if (owner->is_glue || is_insecure) {
		return;
	}
	large_link_t *link = &l->links[l->link_count++];
	*link = (large_link_t){ .number = number };
	assert_true(zone_nsec3_hash(&nsec3, owner->name, link->hash));
	for (size_t i = 0; i < owner->count; i++) {
		if (owner->sets[i].type > KNOT_TYPE_RRSIG && link->count == i) {
			link->types[link->count++] = KNOT_TYPE_RRSIG;
		}
		link->types[link->count++] = owner->sets[i].type;
	}
	if (owner->count > 0) {
		link->types[link->count++] = KNOT_TYPE_RRSIG;
	}
}

/* Making records takes longer than to build a zone of them: they are kept. Length of the owner, length of RDATA, type,
 * then the bytes of both. */
enum { KEPT_HEAD = 6 };

static void large_keep_record(large_t *l, knot_name_t owner, uint16_t type, knot_bytes_t rdata)
{
	size_t len = KEPT_HEAD + owner.len + rdata.len;
	if (l->len + len > l->max) {
		l->max = 2 * (l->max + len);
		l->bytes = realloc(l->bytes, l->max);
		assert_non_null(l->bytes);
	}
	uint8_t *to = l->bytes + l->len;
	store_be16(to, owner.len);
	store_be16(to + 2, (uint16_t)rdata.len);
	store_be16(to + 4, type);
	memcpy(to + KEPT_HEAD, owner.wire, owner.len);
	memcpy(to + KEPT_HEAD + owner.len, rdata.data, rdata.len);
	l->len += len;
}

static void large_keep_number(large_t *l, unsigned number)
{
	large_owner_t owners[OWNERS_MAX];
	size_t count = large_owners(number, owners);
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < owners[i].count; k++) {
			const large_set_t *set = &owners[i].sets[k];
			uint8_t sig[RDATA_ROOM];
			knot_bytes_t rdata = { set->rdata, set->len };
			large_keep_record(l, owners[i].name, set->type, rdata);
			if (l->is_signed && is_signed_set(&owners[i], set->type)) {
				size_t len = large_sign(owners[i].name, set->type, rdata, sig);
				large_keep_record(l, owners[i].name, KNOT_TYPE_RRSIG, (knot_bytes_t){ sig, len });
			}
		}
	}
}

static void large_visit_number(const large_t *l, unsigned number, large_visit_t visit, void *ctx)
{
	for (const uint8_t *p = l->bytes + l->places[number]; p < l->bytes + l->places[number + 1];) {
		size_t owner_len = load_be16(p);
		knot_bytes_t rdata = { p + KEPT_HEAD + owner_len, load_be16(p + 2) };
		visit(knot_name_of(p + KEPT_HEAD), load_be16(p + 4), rdata, ctx);
		p = rdata.data + rdata.len;
	}
}

static void large_begin(large_t *l, unsigned names, bool is_signed)
{
	*l = (large_t){ .names = names, .is_signed = is_signed };
	l->places = calloc(names + 1, sizeof(*l->places));
	assert_non_null(l->places);
	for (unsigned number = 0; number < names; number++) {
		large_keep_number(l, number);
		l->places[number + 1] = (uint32_t)l->len;
	}
	if (!is_signed) {
		return;
	}
	l->links = calloc((size_t)names * OWNERS_MAX + 1, sizeof(*l->links));
	assert_non_null(l->links);
	for (unsigned number = 0; number < names; number++) {
		large_owner_t owners[OWNERS_MAX];
		size_t count = large_owners(number, owners);
		for (size_t i = 0; i < count; i++) {
			large_link(l, number, &owners[i]);
		}
	}
	large_link_t *apex = &l->links[l->link_count++];
	apex->number = APEX;
	assert_true(zone_nsec3_hash(&nsec3, world_origin, apex->hash));
	memcpy(apex->types, apex_types, sizeof(apex_types));
	apex->count = sizeof(apex_types) / sizeof(apex_types[0]);
	qsort(l->links, l->link_count, sizeof(*l->links), cmp_large_links);
}

static bool is_linked(const large_t *l, size_t at, const bool *is_in)
{
	return l->links[at].number == APEX || is_in[l->links[at].number];
}

/* The link that is there before or behind one: the apex ends each search. */
static size_t large_step(const large_t *l, size_t at, size_t by, const bool *is_in)
{
	do {
		at = (at + by) % l->link_count;
	} while (!is_linked(l, at, is_in));
	return at;
}

static void large_visit_link(const large_t *l, size_t at, const bool *is_in, large_visit_t visit, void *ctx)
{
	uint8_t wire[KNOT_NAME_MAX] = { ZONE_NSEC3_LABEL_LEN }, rdata[RDATA_ROOM], sig[RDATA_ROOM];
	const large_link_t *link = &l->links[at];
	(void)knot_base32hex_print((knot_bytes_t){ link->hash, ZONE_NSEC3_HASH_LEN }, (char *)wire + 1);
	memcpy(wire + 1 + ZONE_NSEC3_LABEL_LEN, world_origin.wire, world_origin.len);
	knot_name_t owner = knot_name_of(wire);
	const uint8_t *next = l->links[large_step(l, at, 1, is_in)].hash;
	knot_bytes_t bytes = { rdata, chain_nsec3(&nsec3, true, next, link->types, link->count, rdata) };
	visit(owner, KNOT_TYPE_NSEC3, bytes, ctx);
	visit(owner, KNOT_TYPE_RRSIG, (knot_bytes_t){ sig, large_sign(owner, KNOT_TYPE_NSEC3, bytes, sig) }, ctx);
}

/* The apex but for the SOA. */
static void large_visit_apex(const large_t *l, large_visit_t visit, void *ctx)
{
	static const struct {
		uint16_t type;
		const char *rdata;
		size_t len;
	} rows[] = { { KNOT_TYPE_NS, "\2ns\3out", 8 }, { KNOT_TYPE_DNSKEY, "\1\1\3\15key", 7 },
		{ KNOT_TYPE_NSEC3PARAM, "\1\0\0\0", 5 } };
	for (size_t i = 0; i < (l->is_signed ? sizeof(rows) / sizeof(rows[0]) : 1); i++) {
		uint8_t sig[RDATA_ROOM];
		knot_bytes_t rdata = { (const uint8_t *)rows[i].rdata, rows[i].len };
		visit(world_origin, rows[i].type, rdata, ctx);
		if (l->is_signed) {
			size_t len = large_sign(world_origin, rows[i].type, rdata, sig);
			visit(world_origin, KNOT_TYPE_RRSIG, (knot_bytes_t){ sig, len }, ctx);
		}
	}
}

static void large_visit_soa(const large_t *l, uint32_t serial, large_visit_t visit, void *ctx)
{
	uint8_t soa[32], sig[RDATA_ROOM];
	knot_bytes_t rdata = world_soa(serial, soa);
	visit(world_origin, KNOT_TYPE_SOA, rdata, ctx);
	if (l->is_signed) {
		size_t len = large_sign(world_origin, KNOT_TYPE_SOA, rdata, sig);
		visit(world_origin, KNOT_TYPE_RRSIG, (knot_bytes_t){ sig, len }, ctx);
	}
}

/* ---- Versions ---- */

static void collect_record(knot_name_t owner, uint16_t type, knot_bytes_t rdata, void *ctx)
{
	assert_int_equal(zone_collect_owner(ctx, owner), KNOT_OK);
	assert_int_equal(zone_collect_record(ctx, type, 60, rdata), KNOT_OK);
}

static zone_contents_t *build_fresh(const large_t *l, const bool *is_in, uint32_t serial)
{
	zone_collect_t *collect = malloc(sizeof(*collect));
	zone_contents_t *zone;
	assert_non_null(collect);
	zone_collect_init(collect, world_origin);
	large_visit_soa(l, serial, collect_record, collect);
	large_visit_apex(l, collect_record, collect);
	for (unsigned number = 0; number < l->names; number++) {
		if (is_in[number]) {
			large_visit_number(l, number, collect_record, collect);
		}
	}
	for (size_t at = 0; at < l->link_count; at++) {
		if (is_linked(l, at, is_in)) {
			large_visit_link(l, at, is_in, collect_record, collect);
		}
	}
	assert_int_equal(zone_compile(collect, &params, &zone), KNOT_OK);
	zone_collect_done(collect);
	free(collect);
	return zone;
}

static void put_record(knot_name_t owner, uint16_t type, knot_bytes_t rdata, void *ctx)
{
	assert_int_equal(zone_txn_put(ctx, owner, type, 60, rdata), KNOT_OK);
}

static void remove_record(knot_name_t owner, uint16_t type, knot_bytes_t rdata, void *ctx)
{
	assert_int_equal(zone_txn_remove(ctx, owner, type, rdata), KNOT_OK);
}

/* The links of a number and those that they come between: what is there before or after is another record. */
static size_t large_links_of(const large_t *l, unsigned number, const bool *before, const bool *after, size_t *ret_at)
{
	large_owner_t owners[OWNERS_MAX];
	size_t count = large_owners(number, owners), found = 0;
	for (size_t i = 0; i < count && l->is_signed; i++) {
		large_link_t wanted;
		assert_true(zone_nsec3_hash(&nsec3, owners[i].name, wanted.hash));
		const large_link_t *link = bsearch(&wanted, l->links, l->link_count, sizeof(*link), cmp_large_links);
		if (link != NULL) {
			size_t at = (size_t)(link - l->links);
			ret_at[found++] = at;
			ret_at[found++] = large_step(l, at, l->link_count - 1, before);
			ret_at[found++] = large_step(l, at, l->link_count - 1, after);
		}
	}
	return found;
}

enum { AROUND = 3 * OWNERS_MAX, TOUCHED_MAX = AROUND * CHANGES_MAX };

typedef struct {
	unsigned numbers[CHANGES_MAX];
	size_t count;
} large_change_t;

static void commit_links(
		const large_t *l, const large_change_t *change, const bool *before, const bool *after, zone_txn_t *txn)
{
	size_t touched[TOUCHED_MAX], count = 0;
	for (size_t i = 0; i < change->count; i++) {
		count += large_links_of(l, change->numbers[i], before, after, touched + count);
	}
	for (size_t i = 0; i < count; i++) {
		bool is_done = false;
		for (size_t k = 0; k < i; k++) {
			is_done = is_done || touched[k] == touched[i];
		}
		touched[i] = is_done ? SIZE_MAX : touched[i];
	}
	for (unsigned is_after = 0; is_after < 2; is_after++) {
		for (size_t i = 0; i < count; i++) {
			const bool *is_in = is_after ? after : before;
			if (touched[i] != SIZE_MAX && is_linked(l, touched[i], is_in)) {
				large_visit_link(l, touched[i], is_in, is_after ? put_record : remove_record, txn);
			}
		}
	}
}

static zone_contents_t *commit(const large_t *l, const zone_contents_t *base, const large_change_t *change,
		const bool *before, const bool *after, uint32_t serial)
{
	zone_txn_t *txn;
	zone_contents_t *zone;
	assert_int_equal(zone_txn_begin(base, &params, &txn), KNOT_OK);
	large_visit_soa(l, serial - 1, remove_record, txn);
	large_visit_soa(l, serial, put_record, txn);
	for (size_t i = 0; i < change->count; i++) {
		unsigned number = change->numbers[i];
		large_visit_number(l, number, before[number] ? remove_record : put_record, txn);
	}
	commit_links(l, change, before, after, txn);
	assert_int_equal(zone_txn_build(txn, base, &params, &zone), KNOT_OK);
	zone_txn_discard(txn);
	return zone;
}

/* ---- A run ---- */

typedef struct {
	large_t large;
	asked_t *asked;
	uint64_t seed, random;
	bool *before, *after; /* owned: which numbers are in the zone */
	zone_contents_t *zone;
	zone_compaction_t *pass;
	unsigned slices, shared;
} large_run_t;

static void large_fail(const large_run_t *run, uint32_t serial, const char *what, knot_name_t at, const char *detail)
{
	char owner[KNOT_NAME_TEXT_MAX];
	knot_name_print(at, owner);
	fail_msg("KNOT_SEED=%llu, %u numbers, %s, serial %u, at %s: %s %s", (unsigned long long)run->seed,
			run->large.names, run->large.is_signed ? "signed" : "unsigned", (unsigned)serial, owner, what,
			detail);
}

static void large_compare(
		const large_run_t *run, uint32_t serial, const zone_contents_t *zone, const zone_contents_t *want)
{
	knot_name_t at = world_origin;
	const char *fault = same_fault(zone, want, SEARCH_PARTS, serial, &at);
	fault = fault == NULL && serial % USE_EACH == 0 ? use_fault(zone) : fault;
	if (fault != NULL) {
		large_fail(run, serial, fault, at, "");
	}
}

/* About names that changed, and others. */
static void large_ask(large_run_t *run, uint32_t serial, const large_change_t *change, zone_contents_t *want)
{
	asked_begin(run->asked, run->zone, want);
	for (unsigned i = 0; i < QUESTIONS + change->count; i++) {
		large_owner_t owners[OWNERS_MAX];
		bool is_changed = i < change->count;
		size_t count = large_owners(
				is_changed ? change->numbers[i] : world_draw(&run->random, run->large.names), owners);
		knot_name_t name = owners[world_draw(&run->random, (unsigned)count)].name;
		bool is_same = is_changed ? asked_all_of(run->asked, name)
					  : asked_one_of(run->asked, name, world_number(&run->random));
		if (!is_same) {
			large_fail(run, serial, "another answer:", name, asked_text(run->asked));
		}
	}
	asked_end(run->asked);
}

/* Returns the version after a slice of compaction, or the same. */
static void large_compact(large_run_t *run)
{
	zone_contents_t *next;
	bool is_done;
	run->pass = run->pass != NULL ? run->pass : zone_compaction_new();
	assert_non_null(run->pass);
	size_t steps = 1 + world_draw(&run->random, run->large.names / 4);
	assert_int_equal(zone_compact_slice(run->pass, run->zone, steps, &next, &is_done), KNOT_OK);
	if (is_done) {
		zone_compaction_free(run->pass);
		run->pass = NULL;
	}
	if (next != NULL) {
		zone_contents_free(run->zone);
		run->zone = next;
		run->slices++;
	}
}

static void large_step_once(large_run_t *run, uint32_t serial)
{
	large_change_t change = { .count = 0 };
	memcpy(run->after, run->before, run->large.names * sizeof(*run->after));
	for (unsigned i = world_draw(&run->random, CHANGES_MAX) + 1; i > 0; i--) {
		unsigned number = world_draw(&run->random, run->large.names);
		if (run->after[number] == run->before[number]) {
			run->after[number] = !run->after[number];
			change.numbers[change.count++] = number;
		}
	}
	zone_contents_t *next = commit(&run->large, run->zone, &change, run->before, run->after, serial);
	zone_contents_t *want = build_fresh(&run->large, run->after, serial);
	run->shared += use_shares_chunk(next, run->zone);
	zone_contents_free(run->zone);
	run->zone = next;
	if (world_draw(&run->random, 2)) { /* the comparison is of what compaction makes of it */
		large_compact(run);
	}
	large_compare(run, serial, run->zone, want);
	large_ask(run, serial, &change, want);
	zone_contents_free(want);
	memcpy(run->before, run->after, run->large.names * sizeof(*run->after));
}

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
	const char *text = getenv(variable);
	return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static void play_large(bool is_signed)
{
	/* Names that are there: of a number about 1.1, with the chain's about 1.7. */
	unsigned names = (unsigned)number_of("KNOT_NAMES", NAMES) / 100 * (is_signed ? 59 : 92);
	unsigned commits = (unsigned)number_of("KNOT_COMMITS", COMMITS);
	large_run_t run = { .asked = asked_new(world_origin), .seed = number_of("KNOT_SEED", 1) };
	run.random = run.seed;
	large_begin(&run.large, names, is_signed);
	run.before = calloc(names, sizeof(*run.before));
	run.after = calloc(names, sizeof(*run.after));
	assert_true(run.before != NULL && run.after != NULL);
	for (unsigned i = 0; i < names; i++) {
		run.before[i] = world_draw(&run.random, 8) > 0;
	}
	run.zone = build_fresh(&run.large, run.before, 1);
	for (unsigned i = 0; i < commits; i++) {
		large_step_once(&run, i + 2);
	}
	const zone_contents_t *zone = run.zone;
	unsigned count = zone->auth.count + zone_glue_tree(zone)->count + zone_nsec3_tree(zone)->count;
	print_message("%u commits to a zone of %u names and %llu records, %u of which shared the version before; %u "
		      "slices of "
		      "compaction, %llu questions\n",
			commits, count, (unsigned long long)zone->record_count, run.shared, run.slices,
			(unsigned long long)asked_count(run.asked));
	assert_int_equal(run.shared, commits);
	assert_true(run.slices > 0);
	zone_compaction_free(run.pass);
	zone_contents_free(run.zone);
	asked_free(run.asked);
	free(run.large.links);
	free(run.large.bytes);
	free(run.large.places);
	free(run.before);
	free(run.after);
}

static void test_unsigned(void **state)
{
	(void)state;
	play_large(false);
}

static void test_opt_out(void **state)
{
	(void)state;
	play_large(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_unsigned), cmocka_unit_test(test_opt_out) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
