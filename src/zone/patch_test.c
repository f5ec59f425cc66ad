/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random commits to random zones: after each, the version that was made of the one before must show the same as one
 * that is built from the same records alone. A world is a set of records that may be in the zone, owners and targets
 * from few names, so that cuts, glue, wildcards, empty non-terminals, aliases and both kinds of denial come and go
 * under each other. KNOT_SEED=n replays from world n on, KNOT_COMMITS=n makes so many.
 */
#include "src/zone/compact.h"
#include "src/zone/diff.h"
#include "src/zone/image.h"
#include "src/zone/nsec3_hash.h"
#include "src/zone/test_dump.h"
#include "src/zone/test_use.h"
#include "src/zone/txn.h"

#include "libknot/base/assert.h"
#include "libknot/rr/rrtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum {
	COMMITS = 6000, /* the simulations make more: ./dev test sim commits */
	NAMES = 14,
	RECORDS = 120,
	ROUNDS = 150, /* commits to a world */
	CHANGES = 5,  /* in a commit, at most */
	SLICES = 3,   /* of compaction after a commit, less than */
	SLICE_STEPS = 100,
	COMPARED = 7, /* and every such one is compared with those before */
	LINE = 300,
};

typedef struct {
	char line[LINE];
	uint8_t owner_wire[KNOT_NAME_MAX];
	knot_name_t owner;
	uint16_t type;
	uint32_t ttl;
	uint8_t rdata[LINE];
	size_t rdata_len;
} record_t;

typedef struct {
	char names[NAMES][KNOT_NAME_MAX]; /* relative to the apex */
	record_t records[RECORDS];
	size_t count;
	bool is_in[RECORDS];
} world_t;

/* ---- Memory that runs out ---- */

#if defined(__GLIBC__) && !defined(KNOT_IS_SANITIZED)
#define CAN_FAIL 1
#else
#define CAN_FAIL 0 /* the sanitizers have an allocator of their own */
#endif

static volatile struct {
	bool is_on;      /* count; and the allocation after `left` more fails */
	long left, held; /* left < 0: none fails (any more) */
} heap = { .left = -1 };

#if CAN_FAIL
extern void *__libc_malloc(size_t len);
extern void *__libc_calloc(size_t count, size_t len);
extern void *__libc_realloc(void *old, size_t len);
extern void __libc_free(void *at);

static bool heap_fails(void)
{
	return heap.is_on && heap.left >= 0 && heap.left-- == 0;
}

void *malloc(size_t len)
{
	void *at = heap_fails() ? NULL : __libc_malloc(len);
	heap.held += heap.is_on && at != NULL;
	return at;
}

void *calloc(size_t count, size_t len)
{
	void *at = heap_fails() ? NULL : __libc_calloc(count, len);
	heap.held += heap.is_on && at != NULL;
	return at;
}

void *realloc(void *old, size_t len)
{
	void *at = heap_fails() ? NULL : __libc_realloc(old, len);
	heap.held += heap.is_on && old == NULL && at != NULL;
	return at;
}

void free(void *at)
{
	heap.held -= heap.is_on && at != NULL;
	__libc_free(at);
}
#endif

static uint64_t random_state;

static unsigned draw(unsigned below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % below;
}

static uint8_t origin_wire[] = "\4zone";
static const knot_name_t origin = { origin_wire, 6, 1 };
static const zone_build_params_t params = {
	.origin = { origin_wire, 6, 1 }, .default_ttl = 60, .checks = ZONE_CHECKS_SOFT
};

/* ---- Worlds ---- */

static void draw_name(char *to)
{
	static const char *const labels[] = { "a", "b", "c", "ns", "*" };
	size_t len = 0;
	for (unsigned i = draw(4) + 1; i > 0; i--) {
		const char *label = labels[draw(len == 0 ? 5 : 4)];
		len += (size_t)sprintf(to + len, "%s%s", len > 0 ? "." : "", label);
	}
}

/* The owner of the NSEC3 of a name, relative to the apex. */
static void hash_name(const char *text, char ret_label[static ZONE_NSEC3_LABEL_LEN + 1])
{
	static const zone_nsec3_params_t nsec3 = { .algorithm = 1 };
	uint8_t wire[KNOT_NAME_MAX], hashed_wire[KNOT_NAME_MAX];
	knot_name_t name, hashed;
	assert_int_equal(knot_name_scan(knot_str_of(text), origin, wire, &name), KNOT_OK);
	assert_true(zone_nsec3_owner(&nsec3, name, origin, hashed_wire, &hashed));
	memcpy(ret_label, hashed_wire + 1, ZONE_NSEC3_LABEL_LEN);
	ret_label[ZONE_NSEC3_LABEL_LEN] = '\0';
}

static void draw_line(const world_t *w, bool has_nsec3, char *line)
{
	static const char *const simple[] = { "A 192.0.2.1", "A 192.0.2.2", "AAAA 2001:db8::1", "TXT x", "DS 1 8 1 AA",
		"RRSIG A 8 2 60 20300101000000 20200101000000 1 zone. AAAA",
		"RRSIG NS 8 2 60 20300101000000 20200101000000 1 zone. AAAA" };
	static const char *const referring[] = { "NS %s", "NS %s", "NS %s", "MX 10 %s", "SRV 1 2 3 %s", "SVCB 1 %s",
		"HTTPS 1 %s", "CNAME %s", "DNAME %s", "NSEC %s A RRSIG NSEC" };
	const char *owner = draw(8) == 0 ? "@" : w->names[draw(NAMES)];
	const char *target = draw(12) == 0 ? "long-name-of-a-server.example." : w->names[draw(NAMES)];
	unsigned kind = draw(has_nsec3 ? 12 : 9);
	if (kind >= 9 && draw(6) == 0) {
		sprintf(line, "@ 60 NSEC3PARAM 1 0 %s\n", draw(4) > 0 ? "0 -" : "1 AB");
	} else if (kind >= 9) {
		char own[ZONE_NSEC3_LABEL_LEN + 1], next[ZONE_NSEC3_LABEL_LEN + 1];
		hash_name(owner, own);
		hash_name(target, next);
		sprintf(line, "%s 60 %s\n", own, "RRSIG NSEC3 8 2 60 20300101000000 20200101000000 1 zone. AAAA");
		if (draw(6) > 0) {
			sprintf(line, "%s 60 NSEC3 1 1 %s %s A\n", own, draw(8) > 0 ? "0 -" : "1 AB", next);
		}
	} else if (kind >= 4) {
		sprintf(line, "%s 60 ", owner);
		sprintf(line + strlen(line), referring[draw(KNOT_LEN(referring))], target);
		strcat(line, "\n");
	} else {
		sprintf(line, "%s 60 %s\n", owner, simple[draw(KNOT_LEN(simple))]);
	}
}

static bool keep_record(const knot_zone_record_t *record, void *ctx)
{
	record_t *to = ctx;
	knot_name_lower(record->owner, to->owner_wire);
	to->owner = (knot_name_t){ to->owner_wire, record->owner.len, record->owner.label_count };
	to->type = record->type;
	to->ttl = record->ttl;
	to->rdata_len = record->rdata.len;
	assert_true(record->rdata.len <= sizeof(to->rdata));
	memcpy(to->rdata, record->rdata.data, record->rdata.len);
	return true;
}

static bool is_known(const world_t *w, const record_t *record)
{
	for (size_t i = 0; i < w->count; i++) {
		const record_t *r = &w->records[i];
		if (r->type == record->type && r->rdata_len == record->rdata_len &&
				knot_name_eq(r->owner, record->owner) &&
				memcmp(r->rdata, record->rdata, r->rdata_len) == 0) {
			return true;
		}
	}
	return false;
}

static void make_world(world_t *w)
{
	memset(w, 0, sizeof(*w));
	bool has_nsec3 = draw(2);
	for (unsigned i = 0; i < NAMES; i++) {
		draw_name(w->names[i]);
	}
	for (unsigned i = 0; i < RECORDS; i++) {
		record_t *record = &w->records[w->count];
		draw_line(w, has_nsec3, record->line);
		knot_zonefile_params_t scan = {
			.origin = origin, .default_ttl = 60, .on_record = keep_record, .ctx = record
		};
		assert_int_equal(knot_zonefile_scan_text(knot_str_of(record->line), "line", &scan), KNOT_OK);
		record->owner.wire = record->owner_wire;
		w->count += !is_known(w, record);
	}
}

/* ---- Zones ---- */

static knot_bytes_t soa_of(uint32_t serial)
{
	static uint8_t rdata[] = "\1m\0\1r\0\0\0\0\0\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0";
	store_be32(rdata + 6, serial);
	return (knot_bytes_t){ rdata, sizeof(rdata) };
}

static void put(zone_txn_t *txn, const record_t *r)
{
	assert_int_equal(zone_txn_put(txn, r->owner, r->type, r->ttl, (knot_bytes_t){ r->rdata, r->rdata_len }),
			KNOT_OK);
}

static zone_contents_t *build_fresh(const world_t *w, const bool *is_in, uint32_t serial)
{
	zone_txn_t *txn;
	zone_contents_t *zone;
	assert_int_equal(zone_txn_begin(NULL, &params, &txn), KNOT_OK);
	assert_int_equal(zone_txn_put(txn, origin, KNOT_TYPE_SOA, 60, soa_of(serial)), KNOT_OK);
	for (size_t i = 0; i < w->count; i++) {
		if (is_in[i]) {
			put(txn, &w->records[i]);
		}
	}
	assert_int_equal(zone_txn_commit(txn, &zone), KNOT_OK);
	return zone;
}

/* The version after `base` in which the records that differ between the sets are changed. */
static zone_contents_t *commit(
		const world_t *w, const zone_contents_t *base, const bool *before, const bool *after, uint32_t serial)
{
	zone_txn_t *txn;
	zone_contents_t *zone;
	assert_int_equal(zone_txn_begin(base, &params, &txn), KNOT_OK);
	assert_int_equal(zone_txn_remove_all(txn, origin, KNOT_TYPE_SOA), KNOT_OK);
	assert_int_equal(zone_txn_put(txn, origin, KNOT_TYPE_SOA, 60, soa_of(serial)), KNOT_OK);
	for (size_t i = 0; i < w->count; i++) {
		const record_t *r = &w->records[i];
		if (!before[i] && after[i]) {
			put(txn, r);
		} else if (before[i] && !after[i]) {
			assert_int_equal(zone_txn_remove(txn, r->owner, r->type,
							 (knot_bytes_t){ r->rdata, r->rdata_len }),
					KNOT_OK);
		}
	}
	assert_int_equal(zone_txn_build(txn, base, &params, &zone), KNOT_OK);
	zone_txn_discard(txn);
	return zone;
}

/* Where two dumps differ, or -1. */
static long first_difference(const zone_contents_t *a, const zone_contents_t *b, char **ret_a, char **ret_b)
{
	*ret_a = dump_zone(a);
	*ret_b = dump_zone(b);
	assert_non_null(*ret_a);
	assert_non_null(*ret_b);
	long at = 0;
	while ((*ret_a)[at] == (*ret_b)[at]) {
		if ((*ret_a)[at] == '\0') {
			return -1;
		}
		at++;
	}
	return at;
}

static bool is_same(const zone_contents_t *a, const zone_contents_t *b)
{
	char *dump_a, *dump_b;
	long at = first_difference(a, b, &dump_a, &dump_b);
	free(dump_a);
	free(dump_b);
	return at < 0;
}

/* True if a commit from a version that was built from scratch goes wrong. */
static bool goes_wrong(const world_t *w, const bool *before, const bool *after)
{
	zone_contents_t *base = build_fresh(w, before, 1), *want = build_fresh(w, after, 2);
	zone_contents_t *zone = commit(w, base, before, after, 2);
	bool is_wrong = !is_same(zone, want);
	zone_contents_free(zone);
	zone_contents_free(want);
	zone_contents_free(base);
	return is_wrong;
}

/* Leave out of both sets whatever the fault doesn't need, and print what is left. */
static void shrink(const world_t *w, bool *before, bool *after)
{
	if (!goes_wrong(w, before, after)) {
		print_message("the fault needs the commits before it\n");
		return;
	}
	for (bool has_shrunk = true; has_shrunk;) {
		has_shrunk = false;
		for (size_t i = 0; i < w->count; i++) {
			bool was[2] = { before[i], after[i] };
			const bool tries[2][2] = { { false, false }, { was[0], was[0] } };
			for (unsigned k = 0; k < 2 && (before[i] != tries[k][0] || after[i] != tries[k][1]); k++) {
				before[i] = tries[k][0];
				after[i] = tries[k][1];
				if (goes_wrong(w, before, after)) {
					has_shrunk = true;
					break;
				}
				before[i] = was[0];
				after[i] = was[1];
			}
		}
	}
	for (size_t i = 0; i < w->count; i++) {
		if (before[i] || after[i]) {
			print_message("%c %s", before[i] == after[i] ? ' ' : after[i] ? '+' : '-', w->records[i].line);
		}
	}
}

static void fail_at(const world_t *w, uint64_t seed, bool *before, bool *after, const zone_contents_t *zone,
		const zone_contents_t *want)
{
	char *got_text, *want_text;
	long at = first_difference(zone, want, &got_text, &want_text);
	shrink(w, before, after);
	while (at > 0 && got_text[at - 1] != '\n') {
		at--;
	}
	fail_msg("KNOT_SEED=%llu\n got: %.*s\nwant: %.*s", (unsigned long long)seed, (int)strcspn(got_text + at, "\n"),
			got_text + at, (int)strcspn(want_text + at, "\n"), want_text + at);
}

/* ---- Compaction ---- */

/* Hints that don't lead to an NSEC3 without hashing. */
static unsigned wrong_hints(const zone_contents_t *zone)
{
	unsigned count = 0;
	zone_tree_iter_t iter;
	zone_tree_begin(&zone->arena, &zone->auth, &iter);
	for (zone_ref_t ref; (ref = zone_tree_next(&iter)) != 0;) {
		const zone_node_t *node = zone_at(&zone->arena, ref);
		zone_nsec3_hint_t hints[] = { zone_node_nsec3(node), zone_node_nsec3_wildcard(node) };
		for (unsigned i = 0; i < 2; i++) {
			count += hints[i].link != 0 && !zone_nsec3_hint_is_right(zone, hints[i]);
		}
	}
	return count;
}

static unsigned long slices, renewed_hints;

/* Do a slice of a pass, or begin one. */
static zone_contents_t *compact_zone(zone_contents_t *take_zone, zone_compaction_t **pass)
{
	zone_contents_t *next;
	bool is_done;
	*pass = *pass != NULL ? *pass : zone_compaction_new();
	assert_non_null(*pass);
	assert_int_equal(zone_compact_slice(*pass, take_zone, 1 + draw(SLICE_STEPS), &next, &is_done), KNOT_OK);
	if (is_done) {
		zone_compaction_free(*pass);
		*pass = NULL;
	}
	if (next == NULL) {
		return take_zone;
	}
	assert_ptr_equal(zone_at(&next->arena, zone_tree_find(&next->arena, &next->auth, origin)), take_zone->apex);
	unsigned before = wrong_hints(take_zone), after = wrong_hints(next);
	assert_true(after <= before);
	slices++;
	renewed_hints += before - after;
	zone_contents_free(take_zone);
	check_use(next);
	return next;
}

/* ---- Differences ---- */

static bool apply_record(const zone_rr_t *rr, bool is_added, void *ctx)
{
	zone_txn_t *txn = ctx;
	assert_int_equal(is_added ? zone_txn_put(txn, rr->owner, rr->type, rr->ttl, rr->rdata)
				  : zone_txn_remove(txn, rr->owner, rr->type, rr->rdata),
			KNOT_OK);
	return true;
}

/* What differs between two versions makes the second one of the first. */
static void check_diff(uint64_t seed, const zone_contents_t *from, const zone_contents_t *to)
{
	zone_txn_t *txn;
	zone_contents_t *zone;
	assert_int_equal(zone_txn_begin(from, &params, &txn), KNOT_OK);
	assert_int_equal(zone_diff(from, to, apply_record, txn), KNOT_OK);
	assert_int_equal(zone_txn_build(txn, from, &params, &zone), KNOT_OK);
	zone_txn_discard(txn);
	if (!is_same(zone, to)) {
		fail_msg("KNOT_SEED=%llu, serial %u to %u: the difference leads elsewhere", (unsigned long long)seed,
				(unsigned)from->serial, (unsigned)to->serial);
	}
	zone_contents_free(zone);
}

/* Returns how many commits were made of the version before them, without a build from scratch. */
static unsigned play(world_t *w, uint64_t seed)
{
	random_state = seed * 0x9E3779B97F4A7C15u;
	draw(1);
	make_world(w);
	for (size_t i = 0; i < w->count; i++) {
		w->is_in[i] = draw(2);
	}
	zone_contents_t *zone = build_fresh(w, w->is_in, 1), *past = zone_image_hold(zone);
	assert_non_null(past);
	zone_compaction_t *pass = NULL;
	unsigned shared = 0;
	for (uint32_t round = 2; round < ROUNDS + 2; round++) {
		bool after[RECORDS];
		memcpy(after, w->is_in, sizeof(after));
		for (unsigned i = draw(CHANGES) + 1; i > 0; i--) {
			unsigned which = draw((unsigned)w->count);
			after[which] = !after[which];
		}
		zone_contents_t *next = commit(w, zone, w->is_in, after, round), *want = build_fresh(w, after, round);
		shared += zone_arena_lineage(next->store) == zone_arena_lineage(zone->store);
		if (!is_same(next, want)) {
			fail_at(w, seed, w->is_in, after, next, want);
		}
		check_use(next);
		for (unsigned i = draw(SLICES); i > 0; i--) {
			next = compact_zone(next, &pass);
			if (!is_same(next, want)) {
				fail_msg("KNOT_SEED=%llu, serial %u: compaction changes it", (unsigned long long)seed,
						(unsigned)round);
			}
		}
		if (round % COMPARED == 0) {
			check_diff(seed, zone, want); /* without common memory */
			check_diff(seed, next, past); /* backwards, over many commits */
			zone_contents_free(past);
			past = zone_image_hold(next);
			assert_non_null(past);
		}
		memcpy(w->is_in, after, sizeof(after));
		zone_contents_free(want);
		zone_contents_free(zone);
		zone = next;
	}
	zone_compaction_free(pass);
	zone_contents_free(past);
	zone_contents_free(zone);
	return shared;
}

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
	const char *text = getenv(variable);
	return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static void test_random_commits(void **state)
{
	(void)state;
	uint64_t seed = number_of("KNOT_SEED", 1), commits = number_of("KNOT_COMMITS", COMMITS), shared = 0;
	world_t *w = malloc(sizeof(*w));
	assert_non_null(w);
	for (uint64_t done = 0; done < commits; done += ROUNDS, seed++) {
		shared += play(w, seed);
	}
	free(w);
	print_message("%llu of %llu commits shared the version before\n", (unsigned long long)shared,
			(unsigned long long)commits);
	print_message("%lu slices of compaction, which renewed %lu hints\n", slices, renewed_hints);
	assert_true(shared > commits / 2);
	assert_true(slices > commits / 2 && renewed_hints > 0);
}

/* Let each allocation of a build fail in turn: nothing leaks, and the version before stays as it is. */
static void build_without_memory(const zone_txn_t *txn, const zone_contents_t *base)
{
	char *before = dump_zone(base);
	assert_non_null(before);
	for (long fail_at = 0, left = -1; left < 0; fail_at++) {
		zone_contents_t *zone = NULL;
		heap.held = 0;
		heap.left = fail_at;
		heap.is_on = true;
		knot_err_t err = zone_txn_build(txn, base, &params, &zone);
		left = heap.left;
		heap.left = -1;
		zone_contents_free(zone);
		heap.is_on = false;
		assert_true(err == KNOT_OK || err == KNOT_ENOMEM); /* sharing and caches do without */
		assert_int_equal(heap.held, 0);
		char *after = dump_zone(base);
		assert_non_null(after);
		assert_string_equal(after, before);
		free(after);
	}
	free(before);
}

/* MX records whose targets don't exist: each takes a number. */
static void put_targets(zone_txn_t *txn, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		uint8_t rdata[] = "\0\0\3m--\4zone";
		rdata[4] = (uint8_t)('0' + i / 10);
		rdata[5] = (uint8_t)('0' + i % 10);
		assert_int_equal(zone_txn_put(txn, origin, KNOT_TYPE_MX, 60, (knot_bytes_t){ rdata, sizeof(rdata) }),
				KNOT_OK);
	}
}

static void test_without_memory(void **state)
{
	(void)state;
	enum { WORLDS = 150, TARGETS = 60 };
	world_t *w = CAN_FAIL ? malloc(sizeof(*w)) : NULL;
	for (uint64_t seed = 1; w != NULL && seed <= WORLDS; seed++) {
		random_state = seed * 0x9E3779B97F4A7C15u;
		make_world(w);
		bool is_in[RECORDS];
		for (size_t i = 0; i < w->count; i++) {
			is_in[i] = draw(2);
		}
		zone_contents_t *base = build_fresh(w, is_in, 1);
		zone_txn_t *txn;
		assert_int_equal(zone_txn_begin(base, &params, &txn), KNOT_OK);
		for (unsigned i = 0, left = CHANGES; i < w->count && left > 0; i++) {
			if (!is_in[i]) {
				put(txn, &w->records[i]);
				left--;
			}
		}
		put_targets(txn, draw(TARGETS));
		build_without_memory(txn, base);
		zone_txn_discard(txn);
		zone_contents_free(base);
	}
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_commits),
		cmocka_unit_test(test_without_memory) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
