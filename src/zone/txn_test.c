/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transactions against a fresh build: random records come and go in a zone full of cuts, glue, wildcards, empty
 * non-terminals, additional data and NSEC3; after each commit the version must equal one that is built from the same
 * records alone, and versions before it must not have changed. KNOT_SEED=n replays.
 */
#include "src/zone/compact.h"
#include "src/zone/renew.h"
#include "src/zone/txn.h"

#include "src/zone/test_dump.h"

#include "libknot/rr/rrtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { COMMITS = 150, KEPT = 4 };

static uint64_t random_state;

static unsigned draw(unsigned below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % below;
}

static const char *const lines[] = {
	"@ 60 NS ns",
	"@ 60 NS ns.cut",
	"@ 60 NS ns.out.",
	"ns 60 A 192.0.2.1",
	"ns 60 AAAA 2001:db8::1",
	"cut 60 NS ns.cut",
	"cut 60 NS ns.other",
	"cut 60 NS cut",
	"cut 60 A 192.0.2.2",
	"ns.cut 60 A 192.0.2.3",
	"ns.cut 60 A 192.0.2.4",
	"ns.cut 60 AAAA 2001:db8::2",
	"a.b.cut 60 TXT x",
	"cut 60 DS 1 8 1 AA",
	"other 60 NS ns.cut",
	"other 60 NS ns.other",
	"ns.other 60 A 192.0.2.5",
	"b.ns.other 60 NS x.",
	"* 60 A 192.0.2.6",
	"*.w 60 A 192.0.2.7",
	"w 60 MX 10 x.w",
	"w 60 MX 10 ns",
	"w 60 MX 20 ns.cut",
	"a.b.c.d 60 TXT deep",
	"c.d 60 TXT up",
	"b.c.d 60 NS ns",
	"srv 60 SRV 1 2 3 ns",
	"srv 60 SRV 1 2 3 srv",
	"srv 60 A 192.0.2.8",
	"@ 60 NSEC3PARAM 1 0 0 -",
	"@ 60 MX 5 ns.cut",
	"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom 60 NSEC3 1 1 0 - 2t7b4g4vsa5smi47k61mv5bv1a22bojr A RRSIG",
	"2t7b4g4vsa5smi47k61mv5bv1a22bojr 60 NSEC3 1 1 0 - gjeqe526plbf1g8mklp59enfd789njgi A RRSIG",
	"gjeqe526plbf1g8mklp59enfd789njgi 60 NSEC3 1 1 0 - 0p9mhaveqvm6t7vbl5lop2u3t2rp3tom A RRSIG",
	"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom 60 RRSIG NSEC3 8 2 60 20300101000000 20200101000000 1 zone. AAAA",
	"ns 60 RRSIG A 8 2 60 20300101000000 20200101000000 1 zone. AAAA",
	"@ 60 RRSIG SOA 8 1 60 20300101000000 20200101000000 1 zone. AAAA",
	"w 60 RRSIG TXT 8 2 60 20300101000000 20200101000000 1 zone. AAAA",
	"dn 60 DNAME ns.out.",
	"cn 60 CNAME w",
};

typedef struct {
	uint8_t owner_wire[KNOT_NAME_MAX];
	knot_name_t owner;
	uint16_t type;
	uint32_t ttl;
	uint8_t *rdata; /* owned */
	size_t rdata_len;
} record_t;

static record_t records[KNOT_LEN(lines)];

static bool keep_record(const knot_zone_record_t *record, void *ctx)
{
	record_t *to = ctx;
	memcpy(to->owner_wire, record->owner.wire, record->owner.len);
	to->owner = (knot_name_t){ to->owner_wire, record->owner.len, record->owner.label_count };
	to->type = record->type;
	to->ttl = record->ttl;
	to->rdata_len = record->rdata.len;
	to->rdata = malloc(record->rdata.len);
	assert_non_null(to->rdata);
	memcpy(to->rdata, record->rdata.data, record->rdata.len);
	return true;
}

static uint8_t origin_wire[] = "\4zone";
static const knot_name_t origin = { origin_wire, 6, 1 };

static int scan_records(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(lines); i++) {
		char line[200];
		int len = snprintf(line, sizeof(line), "%s\n", lines[i]);
		knot_zonefile_params_t params = {
			.origin = origin, .default_ttl = 60, .on_record = keep_record, .ctx = &records[i]
		};
		assert_int_equal(
				knot_zonefile_scan_text((knot_str_t){ line, (size_t)len }, lines[i], &params), KNOT_OK);
		assert_non_null(records[i].rdata);
	}
	return 0;
}

static int free_records(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(lines); i++) {
		free(records[i].rdata);
	}
	return 0;
}

static const zone_build_params_t params = {
	.origin = { origin_wire, 6, 1 }, .default_ttl = 60, .checks = ZONE_CHECKS_SOFT
};

static knot_bytes_t soa_of(uint8_t serial)
{
	static uint8_t rdata[] = "\1m\0\1r\0\0\0\0\0\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0";
	rdata[9] = serial;
	return (knot_bytes_t){ rdata, sizeof(rdata) };
}

static zone_contents_t *build_fresh(const bool *is_in, uint8_t serial)
{
	zone_txn_t *txn;
	zone_contents_t *zone;
	assert_int_equal(zone_txn_begin(NULL, &params, &txn), KNOT_OK);
	assert_int_equal(zone_txn_put(txn, origin, KNOT_TYPE_SOA, 60, soa_of(serial)), KNOT_OK);
	for (size_t i = 0; i < KNOT_LEN(lines); i++) {
		const record_t *r = &records[i];
		if (is_in[i]) {
			assert_int_equal(zone_txn_put(txn, r->owner, r->type, r->ttl,
							 (knot_bytes_t){ r->rdata, r->rdata_len }),
					KNOT_OK);
		}
	}
	assert_int_equal(zone_txn_commit(txn, &zone), KNOT_OK);
	return zone;
}

static void change(zone_txn_t *txn, bool *is_in)
{
	for (unsigned n = 1 + draw(4); n > 0; n--) {
		unsigned i = draw(KNOT_LEN(lines));
		const record_t *r = &records[i];
		knot_bytes_t rdata = { r->rdata, r->rdata_len };
		if (draw(2)) {
			knot_err_t want = is_in[i] ? KNOT_EISRECORD : KNOT_OK;
			assert_int_equal(zone_txn_put(txn, r->owner, r->type, r->ttl, rdata), want);
			is_in[i] = true;
		} else {
			knot_err_t want = is_in[i] ? KNOT_OK : KNOT_ENORECORD;
			assert_int_equal(zone_txn_remove(txn, r->owner, r->type, rdata), want);
			is_in[i] = false;
		}
	}
}

/* ---- What a transaction shows of itself ---- */

/* Lines of records, sorted: the order of an NSEC3 chain among the others is of no importance. */
typedef struct {
	char *lines[400]; /* owned */
	size_t count;
} listing_t;

static bool list_rr(const zone_rr_t *rr, void *ctx)
{
	listing_t *list = ctx;
	char owner[KNOT_NAME_TEXT_MAX];
	knot_name_print(rr->owner, owner);
	size_t max = strlen(owner) + 40 + 2 * rr->rdata.len;
	char *line = malloc(max);
	assert_non_null(line);
	size_t len = (size_t)snprintf(line, max, "%s %u %u ", owner, (unsigned)rr->ttl, rr->type);
	for (size_t i = 0; i < rr->rdata.len; i++) {
		len += (size_t)snprintf(line + len, max - len, "%02x", rr->rdata.data[i]);
	}
	assert_true(list->count < KNOT_LEN(list->lines));
	list->lines[list->count++] = line;
	return true;
}

static int cmp_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_listing(listing_t *list)
{
	qsort(list->lines, list->count, sizeof(char *), cmp_lines);
}

static listing_t list_zone(const zone_contents_t *zone)
{
	static uint8_t scratch[KNOT_RDATA_MAX];
	listing_t list = { .count = 0 };
	assert_true(zone_each_record(zone, scratch, list_rr, &list));
	sort_listing(&list);
	return list;
}

static void free_listing(listing_t *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->lines[i]);
	}
	list->count = 0;
}

static void assert_same_listing(const listing_t *a, const listing_t *b)
{
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		assert_string_equal(a->lines[i], b->lines[i]);
	}
}

/* Take the lines of `part`, each of which must be there, out of `from`. */
static void subtract(listing_t *from, listing_t *part)
{
	for (size_t i = 0; i < part->count; i++) {
		char **found = bsearch(&part->lines[i], from->lines, from->count, sizeof(char *), cmp_lines);
		assert_non_null(found);
		free(*found);
		size_t at = (size_t)(found - from->lines);
		memmove(found, found + 1, (from->count - at - 1) * sizeof(char *));
		from->count--;
	}
}

/* What it lists is what it builds, and its differences lead from the base to that. */
static void check_listing(const zone_txn_t *txn, const zone_contents_t *base, const zone_contents_t *built)
{
	listing_t now = { .count = 0 }, removed = { .count = 0 }, added = { .count = 0 };
	listing_t want = list_zone(built), changed = list_zone(base);
	assert_int_equal(zone_txn_each(txn, list_rr, &now), KNOT_OK);
	sort_listing(&now);
	assert_same_listing(&now, &want);

	assert_int_equal(zone_txn_diff(txn, false, list_rr, &removed), KNOT_OK);
	assert_int_equal(zone_txn_diff(txn, true, list_rr, &added), KNOT_OK);
	assert_true(strncmp(added.lines[0], "zone. 60 6 ", 11) == 0 &&
			strncmp(removed.lines[0], "zone. 60 6 ", 11) == 0);
	subtract(&changed, &removed);
	memcpy(changed.lines + changed.count, added.lines, added.count * sizeof(char *));
	changed.count += added.count;
	sort_listing(&changed);
	assert_same_listing(&changed, &want);
	free_listing(&now);
	free_listing(&want);
	free_listing(&changed);
	free_listing(&removed);
}

/* Fails with the first line that differs and the name that it is about. */
static void assert_same_dump(const char *got, const char *want)
{
	size_t line = 0, name = 0, i = 0;
	for (; got[i] == want[i]; i++) {
		if (got[i] == '\0') {
			return;
		}
		line = got[i] == '\n' ? i + 1 : line;
		name = got[i] == '\n' && got[i + 1] != ' ' ? i + 1 : name;
	}
	fail_msg("at %.*s\n got: %.*s\nwant: %.*s", (int)strcspn(got + name, "\n"), got + name,
			(int)strcspn(got + line, "\n"), got + line, (int)strcspn(want + line, "\n"), want + line);
}

typedef struct {
	zone_contents_t *zone;
	char *dump;
} kept_t;

static void check_kept(const kept_t *kept)
{
	if (kept->zone != NULL) {
		char *again = dump_zone(kept->zone);
		assert_string_equal(again, kept->dump);
		free(again);
	}
}

static void drop_kept(kept_t *kept)
{
	zone_contents_free(kept->zone);
	free(kept->dump);
	*kept = (kept_t){ 0 };
}

/* A step with any outcome: records go, alone or all of a type or name, and come with other TTLs. */
static void go_somewhere(zone_txn_t *txn)
{
	const record_t *r = &records[draw(KNOT_LEN(lines))];
	knot_bytes_t rdata = { r->rdata, r->rdata_len };
	knot_err_t err;
	if (draw(2)) {
		err = zone_txn_put(txn, r->owner, r->type, 60 + draw(4), rdata);
		assert_true(err == KNOT_OK || err == KNOT_EISRECORD);
	} else if (draw(3)) {
		err = zone_txn_remove(txn, r->owner, r->type, rdata);
		assert_true(err == KNOT_OK || err == KNOT_ENORECORD);
	} else {
		err = zone_txn_remove_all(txn, r->owner, draw(2) ? r->type : 0);
		assert_true(err == KNOT_OK || err == KNOT_ENONODE || err == KNOT_ENOENT);
	}
}

/* Changes that are taken back must leave no trace, also within others that are taken back. */
static void go_astray(zone_txn_t *txn, const bool *is_in)
{
	bool lost[KNOT_LEN(lines)];
	size_t mark = zone_txn_mark(txn);
	for (unsigned round = 0; round < 3; round++) {
		memcpy(lost, is_in, sizeof(lost));
		change(txn, lost);
		size_t inner = zone_txn_mark(txn);
		for (unsigned n = 1 + draw(8); n > 0; n--) {
			go_somewhere(txn);
		}
		zone_txn_rollback(txn, inner);
		change(txn, lost);
		zone_txn_rollback(txn, mark);
	}
	if (draw(2)) {
		zone_txn_unmark(txn);
	}
}

static void test_against_fresh_build(void **state)
{
	(void)state;
	const char *seed = getenv("KNOT_SEED");
	random_state = seed != NULL ? strtoull(seed, NULL, 10) : 1;
	print_message("KNOT_SEED=%llu\n", (unsigned long long)random_state);

	bool is_in[KNOT_LEN(lines)] = { false };
	kept_t kept[KEPT] = { { build_fresh(is_in, 0), NULL } };
	kept[0].dump = dump_zone(kept[0].zone);
	for (unsigned i = 1; i < COMMITS; i++) {
		const zone_contents_t *base = kept[(i - 1) % KEPT].zone;
		zone_txn_t *txn;
		zone_contents_t *zone;
		if (draw(5) == 0) { /* one that is given up first */
			bool lost[KNOT_LEN(lines)];
			memcpy(lost, is_in, sizeof(lost));
			assert_int_equal(zone_txn_begin(base, &params, &txn), KNOT_OK);
			change(txn, lost);
			zone_txn_discard(txn);
		}
		assert_int_equal(zone_txn_begin(base, &params, &txn), KNOT_OK);
		assert_int_equal(zone_txn_remove(txn, origin, KNOT_TYPE_SOA, soa_of((uint8_t)(i - 1))), KNOT_OK);
		assert_int_equal(zone_txn_put(txn, origin, KNOT_TYPE_SOA, 60, soa_of((uint8_t)i)), KNOT_OK);
		go_astray(txn, is_in);
		change(txn, is_in);
		knot_err_t err;
		assert_true(zone_txn_is_changed(txn, &err));
		assert_int_equal(zone_txn_build(txn, base, &params, &zone), KNOT_OK);
		check_listing(txn, base, zone);
		zone_txn_discard(txn);

		zone_contents_t *fresh = build_fresh(is_in, (uint8_t)i);
		char *want = dump_zone(fresh);
		kept_t next = { zone, dump_zone(zone) };
		assert_same_dump(next.dump, want);
		free(want);
		zone_contents_free(fresh);
		for (unsigned j = 0; j < KEPT; j++) {
			check_kept(&kept[j]);
		}
		drop_kept(&kept[i % KEPT]);
		kept[i % KEPT] = next;
	}
	for (unsigned j = 0; j < KEPT; j++) {
		drop_kept(&kept[j]);
	}
}

static void test_errors(void **state)
{
	(void)state;
	zone_txn_t *txn;
	zone_contents_t *zone = NULL;
	assert_int_equal(zone_txn_begin(NULL, &params, &txn), KNOT_OK);
	assert_int_equal(zone_txn_put(txn, knot_name_root, KNOT_TYPE_A, 60, (knot_bytes_t){ origin_wire, 4 }),
			KNOT_EOUTOFZONE);
	assert_int_equal(zone_txn_remove(txn, origin, KNOT_TYPE_A, (knot_bytes_t){ origin_wire, 4 }), KNOT_ENORECORD);
	assert_int_equal(zone_txn_commit(txn, &zone), KNOT_ENOSOA);
	assert_null(zone);
	zone_txn_discard(NULL);
}

static bool count_rr(const zone_rr_t *rr, void *ctx)
{
	(void)rr;
	++*(unsigned *)ctx;
	return true;
}

static unsigned count_at(const zone_txn_t *txn, knot_name_t owner, knot_err_t want)
{
	unsigned count = 0;
	assert_int_equal(zone_txn_each_of(txn, owner, count_rr, &count), want);
	return count;
}

/* Removing by name and type, and a transaction that outlives a failed build. */
static void test_remove_all(void **state)
{
	(void)state;
	const bool none[KNOT_LEN(lines)] = { false };
	uint8_t ns_wire[] = "\2ns\4zone", upper_wire[] = "\2NS\4ZONE", x_wire[] = "\1x\4zone";
	knot_name_t ns = knot_name_of(ns_wire), upper = knot_name_of(upper_wire), x = knot_name_of(x_wire);
	zone_contents_t *base = build_fresh(none, 1), *zone;
	zone_txn_t *txn;
	knot_err_t err;
	assert_int_equal(zone_txn_begin(base, &params, &txn), KNOT_OK);
	assert_false(zone_txn_is_changed(txn, &err));
	assert_int_equal(err, KNOT_OK);
	assert_int_equal(zone_txn_put(txn, upper, KNOT_TYPE_A, 60, (knot_bytes_t){ ns_wire, 4 }), KNOT_OK);
	assert_int_equal(zone_txn_put(txn, ns, KNOT_TYPE_A, 61, (knot_bytes_t){ x_wire, 4 }), KNOT_OK);
	assert_int_equal(zone_txn_put(txn, ns, KNOT_TYPE_AAAA, 60, (knot_bytes_t){ soa_of(0).data, 16 }), KNOT_OK);
	assert_int_equal(count_at(txn, ns, KNOT_OK), 3);
	assert_int_equal(zone_txn_remove_all(txn, x, 0), KNOT_ENONODE);
	assert_int_equal(zone_txn_remove_all(txn, ns, KNOT_TYPE_TXT), KNOT_ENOENT);
	assert_int_equal(zone_txn_remove_all(txn, ns, KNOT_TYPE_A), KNOT_OK);
	assert_int_equal(count_at(txn, ns, KNOT_OK), 1);
	assert_int_equal(zone_txn_remove_all(txn, upper, 0), KNOT_OK);
	assert_int_equal(count_at(txn, ns, KNOT_ENONODE), 0);
	assert_int_equal(zone_txn_find(txn, upper), KNOT_ENONODE);
	assert_false(zone_txn_is_changed(txn, &err));
	assert_int_equal(zone_txn_remove_all(txn, origin, 0), KNOT_OK); /* the SOA stays */
	assert_int_equal(count_at(txn, origin, KNOT_OK), 1);
	assert_int_equal(zone_txn_remove_all(txn, origin, KNOT_TYPE_SOA), KNOT_OK);
	assert_int_equal(zone_txn_build(txn, base, &params, &zone), KNOT_ENOSOA);
	assert_int_equal(zone_txn_put(txn, origin, KNOT_TYPE_SOA, 60, soa_of(2)), KNOT_OK);
	assert_int_equal(zone_txn_build(txn, base, &params, &zone), KNOT_OK);
	assert_int_equal(zone->serial, 2);
	zone_contents_free(zone);
	zone_txn_discard(txn);
	zone_contents_free(base);
}

/* All names of up to three labels out of three, below the apex. */
enum { BELOW_NAMES = 3 + 9 + 27 };

static knot_name_t below_name(unsigned i, uint8_t wire[static 16])
{
	unsigned depth = i < 3 ? 1 : i < 3 + 9 ? 2 : 3, rest = i - (depth > 1 ? 3 : 0) - (depth > 2 ? 9 : 0);
	size_t len = 0;
	for (unsigned j = 0; j < depth; j++, rest /= 3) {
		wire[len++] = 1;
		wire[len++] = (uint8_t)('p' + rest % 3);
	}
	memcpy(wire + len, "\4zone", 6);
	return knot_name_of(wire);
}

typedef struct {
	knot_name_t name;
	bool found;
} below_seen_t;

static bool see_below(const zone_rr_t *rr, void *ctx)
{
	below_seen_t *seen = ctx;
	seen->found |= rr->owner.len > seen->name.len && knot_name_in(rr->owner, seen->name);
	return true;
}

static void below_step(zone_txn_t *txn, size_t *mark)
{
	static const knot_bytes_t target = { (const uint8_t *)"\1x\4zone", 8 };
	uint8_t wire[16];
	knot_err_t err;
	knot_name_t name = below_name(draw(BELOW_NAMES), wire);
	switch (draw(8)) {
	case 0: *mark = zone_txn_mark(txn); break;
	case 1: zone_txn_rollback(txn, *mark); break;
	case 2:
	case 3:
	case 4:
		err = name.label_count == 2 && wire[1] == 'p'
				      ? zone_txn_put(txn, name, KNOT_TYPE_NS, 60, target)
				      : zone_txn_put(txn, name, KNOT_TYPE_A, 60, (knot_bytes_t){ wire, 4 });
		assert_true(err == KNOT_OK || err == KNOT_EISRECORD);
		break;
	default:
		err = zone_txn_remove_all(txn, name, 0);
		assert_true(err == KNOT_OK || err == KNOT_ENONODE);
		break;
	}
}

/* What is below a name, by a walk through all records, whatever happened before. */
static void test_below(void **state)
{
	(void)state;
	enum { WORLDS = 100, STEPS = 100 };
	const bool none[KNOT_LEN(lines)] = { false };
	zone_contents_t *base = build_fresh(none, 1), *next;
	zone_txn_t *txn;
	for (unsigned world = 0; world < WORLDS; world++) {
		assert_int_equal(zone_txn_begin(base, &params, &txn), KNOT_OK);
		size_t mark = zone_txn_mark(txn);
		for (unsigned step = 0; step < STEPS; step++) {
			uint8_t wire[16];
			below_step(txn, &mark);
			below_seen_t seen = { .name = below_name(draw(BELOW_NAMES), wire) };
			assert_int_equal(zone_txn_each(txn, see_below, &seen), KNOT_OK);
			assert_int_equal(zone_txn_find_below(txn, seen.name), seen.found ? KNOT_OK : KNOT_ENONODE);
		}
		zone_txn_unmark(txn);
		assert_int_equal(zone_txn_commit(txn, &next), KNOT_OK);
		zone_contents_free(base);
		base = next;
	}
	zone_contents_free(base);
}

/* Names that are there, with records or only above others that have some, through what is put and removed. */
static void test_names(void **state)
{
	(void)state;
	enum { X, C_X, B_C_X, OUT, APEX };
	uint8_t wires[][16] = { "\1x\4zone", "\1c\1x\4zone", "\1B\1c\1x\4zone", "\4else", "\4zone" };
	static const struct {
		char what; /* '+' put, '-' remove the A record, 'b' begin on what there is then */
		unsigned name;
		bool there[3]; /* x, c.x and b.c.x afterwards */
	} steps[] = {
		{ '+', B_C_X, { true, true, true } },
		{ 'b', 0, { true, true, true } },
		{ '-', B_C_X, { false, false, false } },
		{ '+', C_X, { true, true, false } },
		{ '-', C_X, { false, false, false } },
		{ '+', X, { true, false, false } },
		{ '+', B_C_X, { true, true, true } },
		{ '-', X, { true, true, true } },
	};
	const bool none[KNOT_LEN(lines)] = { false };
	zone_contents_t *base = build_fresh(none, 1), *next;
	zone_txn_t *txn;
	assert_int_equal(zone_txn_begin(base, &params, &txn), KNOT_OK);
	for (size_t i = 0; i < KNOT_LEN(steps); i++) {
		knot_name_t name = knot_name_of(wires[steps[i].name]);
		if (steps[i].what == '+') {
			assert_int_equal(zone_txn_put(txn, name, KNOT_TYPE_A, 60, (knot_bytes_t){ wires[X], 4 }),
					KNOT_OK);
		} else if (steps[i].what == '-') {
			assert_int_equal(zone_txn_remove_all(txn, name, KNOT_TYPE_A), KNOT_OK);
		} else {
			assert_int_equal(zone_txn_commit(txn, &next), KNOT_OK);
			zone_contents_free(base);
			base = next;
			assert_int_equal(zone_txn_begin(base, &params, &txn), KNOT_OK);
			(void)count_at(txn, knot_name_of(wires[C_X]), KNOT_ENONODE);
		}
		for (unsigned j = 0; j < 3; j++) {
			assert_int_equal(zone_txn_find(txn, knot_name_of(wires[j])),
					steps[i].there[j] ? KNOT_OK : KNOT_ENONODE);
			bool is_above = j + 1 < 3 && steps[i].there[j + 1];
			assert_int_equal(zone_txn_find_below(txn, knot_name_of(wires[j])),
					is_above ? KNOT_OK : KNOT_ENONODE);
		}
	}
	assert_int_equal(zone_txn_find(txn, knot_name_of(wires[OUT])), KNOT_ENONODE);
	assert_int_equal(zone_txn_find(txn, knot_name_root), KNOT_ENONODE);
	assert_int_equal(zone_txn_find_below(txn, knot_name_root), KNOT_ENONODE);
	zone_txn_discard(txn);
	zone_contents_free(base);
	assert_int_equal(zone_txn_begin(NULL, &params, &txn), KNOT_OK);
	assert_int_equal(zone_txn_find(txn, knot_name_of(wires[APEX])), KNOT_OK);
	assert_int_equal(zone_txn_find(txn, knot_name_of(wires[X])), KNOT_ENONODE);
	zone_txn_discard(txn);
}

typedef struct {
	uint16_t type;
	unsigned count;
	uint32_t ttl;
} ttl_t;

static bool see_ttl(const zone_rr_t *rr, void *ctx)
{
	ttl_t *seen = ctx;
	if (rr->type == seen->type) {
		assert_int_equal(rr->ttl, seen->ttl);
		seen->count++;
	}
	return true;
}

/* All records of the type at a name, and what is found of them, have this TTL. */
static void assert_ttl(const zone_txn_t *txn, knot_name_t owner, unsigned count, uint32_t ttl)
{
	ttl_t seen = { .type = KNOT_TYPE_A, .ttl = ttl };
	uint32_t found = 0;
	assert_int_equal(zone_txn_each_of(txn, owner, see_ttl, &seen), KNOT_OK);
	assert_int_equal(seen.count, count);
	assert_int_equal(zone_txn_find_ttl(txn, owner, KNOT_TYPE_A, &found), KNOT_OK);
	assert_int_equal(found, ttl);
}

/* An RRset has one TTL, whichever of its records comes or goes, there and back. */
static void test_ttl(void **state)
{
	(void)state;
	static uint8_t wire[] = "\1x\4zone", data[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static const struct {
		char what;     /* '+' put, '-' remove */
		unsigned from; /* RDATA: four bytes from here on */
		uint32_t ttl;
		unsigned count; /* afterwards */
		uint32_t ttl_after;
	} steps[] = {
		{ '+', 2, 60, 1, 60 },
		{ '+', 4, 61, 2, 61 },
		{ '+', 0, 62, 3, 62 },
		{ '+', 0, 63, 3, 63 },
		{ '-', 0, 0, 2, 63 },
		{ '+', 1, 63, 3, 63 },
		{ '+', 4, 64, 3, 64 },
		{ '-', 1, 0, 2, 64 },
		{ '-', 2, 0, 1, 64 },
		{ '+', 3, 65, 2, 65 },
	};
	zone_txn_t *txn;
	size_t marks[KNOT_LEN(steps)];
	knot_name_t x = knot_name_of(wire);
	assert_int_equal(zone_txn_begin(NULL, &params, &txn), KNOT_OK);
	for (size_t i = 0; i < KNOT_LEN(steps); i++) {
		knot_bytes_t rdata = { data + steps[i].from, 4 };
		marks[i] = zone_txn_mark(txn);
		if (steps[i].what == '+') {
			knot_err_t err = zone_txn_put(txn, x, KNOT_TYPE_A, steps[i].ttl, rdata);
			assert_true(err == KNOT_OK || err == KNOT_EISRECORD);
		} else {
			assert_int_equal(zone_txn_remove(txn, x, KNOT_TYPE_A, rdata), KNOT_OK);
		}
		assert_ttl(txn, x, steps[i].count, steps[i].ttl_after);
		knot_err_t err;
		assert_true(zone_txn_is_changed(txn, &err)); /* reads all: must not disturb what comes back */
	}
	for (size_t i = KNOT_LEN(steps) - 1; i > 0; i--) {
		zone_txn_rollback(txn, marks[i]);
		assert_ttl(txn, x, steps[i - 1].count, steps[i - 1].ttl_after);
	}
	zone_txn_discard(txn);
}

/* What is below a DNAME, of the base or of the transaction. */
static void test_dname(void **state)
{
	(void)state;
	enum { APEX, D, X_D, Y_X_D, DD, B, X_B, OUT };
	static uint8_t wires[][20] = { "\4zone", "\1d\4zone", "\1X\1d\4Zone", "\1y\1x\1d\4zone", "\1d\1d\4zone",
		"\1b\4zone", "\1x\1b\4zone", "\4else" };
	static uint8_t target[] = "\1t";
	static const struct {
		char what; /* '+' put, '-' remove a DNAME; 'm' mark, 'r' roll back */
		unsigned name;
		const char *below; /* of each name above: 'b' if it is below a DNAME */
	} steps[] = {
		{ 'm', 0, "......b." }, /* the base has one at b */
		{ '+', D, "..bbb.b." },
		{ '-', B, "..bbb..." },
		{ '-', D, "........" },
		{ '+', APEX, ".bbbbbb." },
		{ '-', APEX, "........" },
		{ '+', X_D, "...b...." },
		{ 'r', 0, "......b." },
	};
	const bool none[KNOT_LEN(lines)] = { false };
	zone_contents_t *empty = build_fresh(none, 1), *base;
	zone_txn_t *txn;
	const knot_bytes_t rdata = { target, sizeof(target) };
	assert_int_equal(zone_txn_begin(empty, &params, &txn), KNOT_OK);
	assert_int_equal(zone_txn_put(txn, knot_name_of(wires[B]), KNOT_TYPE_DNAME, 60, rdata), KNOT_OK);
	assert_int_equal(zone_txn_commit(txn, &base), KNOT_OK);
	zone_contents_free(empty);
	assert_int_equal(zone_txn_begin(base, &params, &txn), KNOT_OK);
	size_t mark = 0;
	for (size_t i = 0; i < KNOT_LEN(steps); i++) {
		knot_name_t name = knot_name_of(wires[steps[i].name]);
		switch (steps[i].what) {
		case '+': assert_int_equal(zone_txn_put(txn, name, KNOT_TYPE_DNAME, 60, rdata), KNOT_OK); break;
		case '-': assert_int_equal(zone_txn_remove_all(txn, name, KNOT_TYPE_DNAME), KNOT_OK); break;
		case 'm': mark = zone_txn_mark(txn); break;
		default: zone_txn_rollback(txn, mark);
		}
		for (unsigned j = 0; j < KNOT_LEN(wires); j++) {
			assert_int_equal(
					zone_txn_is_below_dname(txn, knot_name_of(wires[j])), steps[i].below[j] == 'b');
		}
	}
	zone_txn_discard(txn);
	zone_contents_free(base);
}

/* ---- Memory ---- */

/* The same records in a zone that is built from scratch. */
static zone_contents_t *rebuild(const zone_contents_t *zone)
{
	zone_txn_t *txn;
	zone_contents_t *fresh;
	zone_node_iter_t iter;
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	assert_non_null(scratch);
	assert_int_equal(zone_txn_begin(NULL, &params, &txn), KNOT_OK);
	zone_nodes_begin(zone, &iter);
	for (const zone_node_t *node; (node = zone_nodes_next(zone, &iter)) != NULL;) {
		for (unsigned i = 0; i < zone_node_rrset_count(node); i++) {
			const zone_rrset_t *set = zone_node_rrset_at(&zone->arena, node, i);
			zone_rr_iter_t rrs = zone_rr_begin(node, set, false);
			uint32_t ttl;
			knot_bytes_t rdata;
			while (zone_rr_next(&rrs, (knot_mut_bytes_t){ scratch, KNOT_RDATA_MAX }, &ttl, &rdata)) {
				assert_int_equal(zone_txn_put(txn, zone_node_owner(node), zone_rrset_type(set), ttl,
								 rdata),
						KNOT_OK);
			}
		}
	}
	free(scratch);
	assert_int_equal(zone_txn_commit(txn, &fresh), KNOT_OK);
	return fresh;
}

/* A name of "d<number>.zone." or "ns.d<number>.zone." */
static knot_name_t numbered(const char *format, unsigned number, uint8_t *wire)
{
	char text[32];
	snprintf(text, sizeof(text), format, number);
	knot_name_t name;
	assert_int_equal(knot_name_scan(knot_str_of(text), origin, wire, &name), KNOT_OK);
	return name;
}

/* Put what name `number` has, one of four kinds, or take it away. */
static void toggle(zone_txn_t *txn, unsigned number, bool is_in)
{
	uint8_t wire[KNOT_NAME_MAX], ns_wire[KNOT_NAME_MAX], hoster[64], bytes[600] = { 0 };
	knot_name_t owner = numbered("d%u", number, wire), ns = numbered("ns.d%u", number, ns_wire);
	int hoster_len = 1 + snprintf((char *)hoster, sizeof(hoster), "%cns1-server-operator%c%u%chosters", 19, 1,
					     number % 8, 7);
	store_be32(bytes, number);
	const struct {
		knot_name_t owner;
		uint16_t type;
		knot_bytes_t rdata;
	} kinds[4][2] = {
		{ { owner, KNOT_TYPE_NS, { hoster, (size_t)hoster_len } } },
		{ { owner, KNOT_TYPE_NS, { ns.wire, ns.len } }, { ns, KNOT_TYPE_A, { bytes, 4 } } },
		{ { owner, KNOT_TYPE_AAAA, { bytes, 16 } } },
		{ { owner, 65280, { bytes, number % 600 } } },
	};
	for (unsigned i = 0; i < 2 && kinds[number % 4][i].owner.len > 0; i++) {
		knot_name_t at = kinds[number % 4][i].owner;
		uint16_t type = kinds[number % 4][i].type;
		knot_bytes_t rdata = kinds[number % 4][i].rdata;
		assert_int_equal(is_in ? zone_txn_remove(txn, at, type, rdata) : zone_txn_put(txn, at, type, 60, rdata),
				KNOT_OK);
	}
}

/* What the background does if commits leave it time. */
static zone_contents_t *compacted(zone_contents_t *take_zone)
{
	if (zone_needs_renewal(take_zone)) {
		zone_contents_t *fresh = zone_renew(take_zone, NULL, NULL);
		assert_non_null(fresh);
		zone_contents_free(take_zone);
		take_zone = fresh;
	}
	zone_compaction_t *pass = zone_compaction_new();
	assert_non_null(pass);
	for (bool is_done = !zone_needs_compaction(take_zone, 0); !is_done;) {
		zone_contents_t *next;
		assert_int_equal(zone_compact_slice(pass, take_zone, ZONE_COMPACT_STEPS, &next, &is_done), KNOT_OK);
		if (next != NULL) {
			zone_contents_free(take_zone);
			take_zone = next;
		}
	}
	zone_compaction_free(pass);
	return take_zone;
}

/*
 * What old versions leave behind does not pile up: never more than half of what the zone takes when it is built from
 * scratch.
 */
static void test_memory_is_bounded(void **state)
{
	(void)state;
	static const struct {
		unsigned names, edits, per_edit, checked;
	} rows[] = { { 4, 2000, 1, 1 }, { 60, 2000, 2, 10 }, { 1500, 300, 3, 10 }, { 6000, 60, 20, 3 },
		{ 3000, 12, 2500, 1 } };
	for (size_t row = 0; row < KNOT_LEN(rows); row++) {
		const bool none[KNOT_LEN(lines)] = { false };
		bool *is_in = calloc(rows[row].names, sizeof(*is_in));
		zone_contents_t *zone = build_fresh(none, 0);
		assert_non_null(is_in);
		for (unsigned edit = 0; edit < rows[row].edits; edit++) {
			zone_txn_t *txn;
			zone_contents_t *next;
			unsigned changes = edit == 0 ? rows[row].names : rows[row].per_edit;
			assert_int_equal(zone_txn_begin(zone, &params, &txn), KNOT_OK);
			for (unsigned i = 0; i < changes; i++) {
				unsigned number = edit == 0 ? i : draw(rows[row].names);
				toggle(txn, number, is_in[number]);
				is_in[number] = !is_in[number];
			}
			assert_int_equal(zone_txn_commit(txn, &next), KNOT_OK);
			zone_contents_free(zone);
			zone = compacted(next);
			if (edit % rows[row].checked != 0) {
				continue;
			}
			zone_contents_t *fresh = rebuild(zone);
			size_t size = zone_arena_size(zone->store), fresh_size = zone_arena_size(fresh->store);
			if (2 * size > 3 * fresh_size) {
				fail_msg("%u names, edit %u: %zu bytes, from scratch %zu", rows[row].names, edit, size,
						fresh_size);
			}
			assert_in_range(zone->live_size, fresh_size * 9 / 10, fresh_size * 11 / 10);
			zone_contents_free(fresh);
		}
		free(is_in);
		zone_contents_free(zone);
	}
}

/* Commits themselves bound what a small zone wastes, by building it from scratch now and then, not each time. */
static void test_small_zones(void **state)
{
	(void)state;
	enum { NAMES = 100, EDITS = 1000, WASTED_MAX = 80 * 1024, BUILDS_MAX = EDITS / 10 };
	bool is_in[NAMES] = { false };
	const bool none[KNOT_LEN(lines)] = { false };
	zone_contents_t *zone = build_fresh(none, 0);
	unsigned builds = 0;
	for (unsigned edit = 0; edit < EDITS; edit++) {
		zone_txn_t *txn;
		zone_contents_t *next;
		unsigned number = draw(NAMES);
		assert_int_equal(zone_txn_begin(zone, &params, &txn), KNOT_OK);
		toggle(txn, number, is_in[number]);
		is_in[number] = !is_in[number];
		assert_int_equal(zone_txn_commit(txn, &next), KNOT_OK);
		builds += zone_arena_lineage(next->store) != zone_arena_lineage(zone->store);
		zone_contents_free(zone);
		zone = next;
		assert_true(zone_wasted(zone) <= WASTED_MAX);
	}
	assert_in_range(builds, 1, BUILDS_MAX);
	zone_contents_t *fresh = zone_renew(zone, NULL, NULL);
	assert_non_null(fresh);
	assert_int_equal(zone_needs_renewal(fresh), false);
	zone_contents_free(fresh);
	zone_contents_free(zone);
}

/* The root's MX leads to another name that doesn't exist with each commit: the table of numbers doesn't grow forever.
 */
static void test_links_are_bounded(void **state)
{
	(void)state;
	enum { NAMES = 1000, EDITS = 12000, LINKS_MAX = 5 * NAMES };
	zone_txn_t *txn;
	zone_contents_t *zone;
	assert_int_equal(zone_txn_begin(NULL, &params, &txn), KNOT_OK);
	assert_int_equal(zone_txn_put(txn, origin, KNOT_TYPE_SOA, 60, soa_of(0)), KNOT_OK);
	for (unsigned i = 0; i < NAMES; i++) {
		uint8_t wire[] = "\5n----\4zone";
		snprintf((char *)wire + 1, 6, "n%04u", i);
		wire[6] = 4;
		assert_int_equal(zone_txn_put(txn, (knot_name_t){ wire, sizeof(wire), 2 }, KNOT_TYPE_A, 60,
						 (knot_bytes_t){ (const uint8_t *)"\1\2\3\4", 4 }),
				KNOT_OK);
	}
	assert_int_equal(zone_txn_commit(txn, &zone), KNOT_OK);
	for (uint32_t serial = 1; serial <= EDITS; serial++) {
		zone_contents_t *next;
		uint8_t rdata[] = "\0\1\6m-----\4zone";
		snprintf((char *)rdata + 3, 7, "m%05u", serial);
		rdata[9] = 4;
		assert_int_equal(zone_txn_begin(zone, &params, &txn), KNOT_OK);
		assert_int_equal(zone_txn_remove_all(txn, origin, KNOT_TYPE_MX), serial > 1 ? KNOT_OK : KNOT_ENOENT);
		assert_int_equal(zone_txn_put(txn, origin, KNOT_TYPE_MX, 60, (knot_bytes_t){ rdata, sizeof(rdata) }),
				KNOT_OK);
		assert_int_equal(zone_txn_commit(txn, &next), KNOT_OK);
		zone_contents_free(zone);
		zone = compacted(next);
		assert_in_range(zone->links.count, 1, LINKS_MAX);
	}
	zone_contents_free(zone);
}

/* A zone whose commits waste so little that it is never built from scratch, nor compacted: its chunks come and go. */
static void test_chunks_are_bounded(void **state)
{
	(void)state;
	enum { NAMES = 100, CHUNKS_MAX = 200, ROUNDS = 2000 };
	const bool none[KNOT_LEN(lines)] = { false };
	zone_contents_t *zone = build_fresh(none, 0);
	for (unsigned round = 0; round < ROUNDS; round++) {
		zone_txn_t *txn;
		zone_contents_t *next;
		const uint8_t address[4] = { 192, 0, 2, 1 };
		assert_int_equal(zone_txn_begin(zone, &params, &txn), KNOT_OK);
		for (unsigned number = round == 0 ? 0 : NAMES; number <= NAMES; number++) {
			uint8_t wire[KNOT_NAME_MAX];
			knot_name_t owner = numbered("d%u", number, wire);
			knot_err_t err = round % 2 == 0 ? zone_txn_put(txn, owner, KNOT_TYPE_A, 60,
									  (knot_bytes_t){ address, 4 })
							: zone_txn_remove_all(txn, owner, KNOT_TYPE_A);
			assert_int_equal(err, KNOT_OK);
		}
		assert_int_equal(zone_txn_commit(txn, &next), KNOT_OK);
		zone_contents_free(zone);
		zone = next;
		assert_true(zone->arena.chunk_count < CHUNKS_MAX);
	}
	zone_contents_free(zone);
}

/* The NSEC3PARAM is there, its first NSEC3 comes: answers go by the chain, even if the apex doesn't change. */
static void test_chain_comes(void **state)
{
	(void)state;
	uint8_t hashed[] = "\x20"
			   "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom\4zone";
	const uint8_t param[] = { 1, 0, 0, 0, 0 }, nsec3[26] = { 1, 0, 0, 0, 0, 20 }, address[4] = { 192, 0, 2, 1 };
	zone_txn_t *txn;
	zone_contents_t *base, *zone;
	assert_int_equal(zone_txn_begin(NULL, &params, &txn), KNOT_OK);
	assert_int_equal(zone_txn_put(txn, origin, KNOT_TYPE_SOA, 60, soa_of(1)), KNOT_OK);
	assert_int_equal(zone_txn_put(txn, origin, KNOT_TYPE_NSEC3PARAM, 60, (knot_bytes_t){ param, 5 }), KNOT_OK);
	for (char label = 'a'; label < 'i'; label++) {
		uint8_t wire[] = { 1, (uint8_t)label, 4, 'z', 'o', 'n', 'e', 0 };
		assert_int_equal(zone_txn_put(txn, (knot_name_t){ wire, sizeof(wire), 2 }, KNOT_TYPE_A, 60,
						 (knot_bytes_t){ address, sizeof(address) }),
				KNOT_OK);
	}
	assert_int_equal(zone_txn_commit(txn, &base), KNOT_OK);
	assert_int_equal(zone_nsec3_params(base)->algorithm, 0);
	assert_int_equal(zone_txn_begin(base, &params, &txn), KNOT_OK);
	assert_int_equal(zone_txn_put(txn, (knot_name_t){ hashed, sizeof(hashed), 2 }, KNOT_TYPE_NSEC3, 60,
					 (knot_bytes_t){ nsec3, sizeof(nsec3) }),
			KNOT_OK);
	assert_int_equal(zone_txn_commit(txn, &zone), KNOT_OK);
	assert_int_equal(zone_nsec3_params(zone)->algorithm, 1);
	zone_contents_free(zone);
	zone_contents_free(base);
}

/* Delegations that come one by one to a new operator share their RRset when the zone has grown. */
static void test_growth_is_shared(void **state)
{
	(void)state;
	enum { FIRST = 1500, ALL = 6000 }; /* a small zone is often built from scratch */
	const bool none[KNOT_LEN(lines)] = { false };
	zone_contents_t *zone = build_fresh(none, 0);
	uint8_t hoster[] = "\23ns1-server-operator\3new\7hosters";
	for (unsigned number = 0; number < ALL;) {
		zone_txn_t *txn;
		zone_contents_t *next;
		assert_int_equal(zone_txn_begin(zone, &params, &txn), KNOT_OK);
		for (unsigned end = number < FIRST ? FIRST : number + 1; number < end; number++) {
			uint8_t wire[KNOT_NAME_MAX];
			knot_name_t owner = numbered("d%u", number, wire);
			hoster[21] = number < FIRST ? 'o' : 'n';
			assert_int_equal(zone_txn_put(txn, owner, KNOT_TYPE_NS, 60,
							 (knot_bytes_t){ hoster, sizeof(hoster) }),
					KNOT_OK);
		}
		assert_int_equal(zone_txn_commit(txn, &next), KNOT_OK);
		zone_contents_free(zone);
		zone = compacted(next);
	}
	zone_contents_t *fresh = rebuild(zone);
	assert_true(zone_arena_size(zone->store) < 2 * zone_arena_size(fresh->store));
	assert_true(zone->live_size <= fresh->live_size * 3 / 2);
	zone_contents_free(fresh);
	zone_contents_free(zone);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_against_fresh_build),
		cmocka_unit_test(test_memory_is_bounded), cmocka_unit_test(test_small_zones),
		cmocka_unit_test(test_growth_is_shared), cmocka_unit_test(test_links_are_bounded),
		cmocka_unit_test(test_chunks_are_bounded), cmocka_unit_test(test_errors),
		cmocka_unit_test(test_remove_all), cmocka_unit_test(test_names), cmocka_unit_test(test_below),
		cmocka_unit_test(test_ttl), cmocka_unit_test(test_dname), cmocka_unit_test(test_chain_comes) };
	return cmocka_run_group_tests(tests, scan_records, free_records);
}
