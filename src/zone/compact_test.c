/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A zone of many names under random commits, with a slice of compaction now and then: its memory stays within half more
 * than a zone takes that is built from the same records, and neither commits nor slices take long.
 * A zone that grows is built again beside its commits, none of which does that. KNOT_NAMES=n KNOT_COMMITS=n: another
 * size (of the first); KNOT_SEED=n: other commits. patch_test has small slices in small zones.
 */
#include "src/zone/compact.h"

#include "src/zone/image.h"
#include "src/zone/records.h"
#include "src/zone/renew.h"
#include "src/zone/test_dump.h"
#include "src/zone/test_use.h"
#include "src/zone/txn.h"

#include "libknot/rr/rrtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

enum { NAMES = 8000, COMMITS = 40000, CHANGES_MAX = 3, CHECKED = 97 };

static uint8_t origin_wire[] = "\4zone";
static const knot_name_t origin = { origin_wire, 6, 1 };
static const zone_build_params_t params = {
	.origin = { origin_wire, 6, 1 }, .default_ttl = 60, .checks = ZONE_CHECKS_SOFT
};

static uint64_t random_state;

static unsigned draw(unsigned below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % below;
}

static unsigned long number_of(const char *variable, unsigned long otherwise)
{
	const char *text = getenv(variable);
	return text != NULL ? strtoul(text, NULL, 10) : otherwise;
}

static uint64_t cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- Records ---- */

static knot_name_t numbered(const char *format, unsigned number, uint8_t *wire)
{
	char text[32];
	snprintf(text, sizeof(text), format, number);
	knot_name_t name;
	assert_int_equal(knot_name_scan(knot_str_of(text), origin, wire, &name), KNOT_OK);
	return name;
}

static void change(zone_txn_t *txn, bool is_in, knot_name_t owner, uint16_t type, knot_bytes_t rdata)
{
	assert_int_equal(is_in ? zone_txn_remove(txn, owner, type, rdata) : zone_txn_put(txn, owner, type, 60, rdata),
			KNOT_OK);
}

/* Put what a name has, or take it away: a delegation to one of some operators or with glue, a host, a mail server. */
static void toggle(zone_txn_t *txn, unsigned number, bool is_in)
{
	uint8_t wire[KNOT_NAME_MAX], ns_wire[KNOT_NAME_MAX], bytes[KNOT_NAME_MAX + 2] = { 0 };
	knot_name_t owner = numbered("d%u", number, wire), ns = numbered("ns.d%u", number, ns_wire);
	if (number % 8 < 4) {
		int len = snprintf(
				(char *)bytes, sizeof(bytes), "%cns1-server-operator-%u%chosters", 21, number % 7, 7);
		change(txn, is_in, owner, KNOT_TYPE_NS, (knot_bytes_t){ bytes, (size_t)len + 1 });
	} else if (number % 8 == 4) {
		store_be32(bytes, number);
		change(txn, is_in, owner, KNOT_TYPE_NS, (knot_bytes_t){ ns.wire, ns.len });
		change(txn, is_in, ns, KNOT_TYPE_A, (knot_bytes_t){ bytes, 4 });
	} else if (number % 8 == 5) { /* to one of the hosts, which may come and go */
		knot_name_t mail = numbered("d%u", number + 1, ns_wire);
		memcpy(bytes + 2, mail.wire, mail.len);
		change(txn, is_in, owner, KNOT_TYPE_MX, (knot_bytes_t){ bytes, (size_t)mail.len + 2 });
	} else {
		store_be32(bytes, number);
		change(txn, is_in, owner, KNOT_TYPE_AAAA, (knot_bytes_t){ bytes, 16 });
	}
}

static void put_soa(zone_txn_t *txn, uint32_t serial)
{
	static uint8_t rdata[] = "\1m\0\1r\0\0\0\0\0\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0";
	store_be32(rdata + 6, serial);
	knot_err_t err = zone_txn_remove_all(txn, origin, KNOT_TYPE_SOA);
	assert_true(err == KNOT_OK || err == KNOT_ENONODE); /* a new zone has none */
	assert_int_equal(zone_txn_put(txn, origin, KNOT_TYPE_SOA, 60, (knot_bytes_t){ rdata, sizeof(rdata) }), KNOT_OK);
}

static zone_contents_t *build_fresh(const bool *is_in, unsigned names, uint32_t serial)
{
	zone_txn_t *txn;
	zone_contents_t *zone;
	assert_int_equal(zone_txn_begin(NULL, &params, &txn), KNOT_OK);
	put_soa(txn, serial);
	for (unsigned i = 0; i < names; i++) {
		if (is_in[i]) {
			toggle(txn, i, false);
		}
	}
	assert_int_equal(zone_txn_commit(txn, &zone), KNOT_OK);
	return zone;
}

/* ---- A run ---- */

typedef struct {
	unsigned names;
	bool *is_in; /* owned */
	zone_contents_t *zone;
	zone_compaction_t *pass;
	size_t fresh_size, size_max;
	uint64_t commit_max_ns, slice_max_ns, commits_ns, slices_ns;
	unsigned slices, passes, lineages;
} run_t;

static void run_publish(run_t *run, zone_contents_t *take_next)
{
	/* Both versions are there until the readers of the old one are gone. */
	size_t size = zone_arena_size(run->zone->store);
	for (uint32_t i = 0; i < take_next->arena.chunk_count; i++) {
		bool is_shared = i < run->zone->arena.chunk_count &&
				 run->zone->arena.chunks[i] == take_next->arena.chunks[i];
		size += is_shared ? 0 : zone_arena_chunk_use(take_next->store, i).len;
	}
	run->size_max = size > run->size_max ? size : run->size_max;
	run->lineages += zone_image_lineage(take_next) != zone_image_lineage(run->zone);
	zone_contents_free(run->zone);
	run->zone = take_next;
}

static void run_commit(run_t *run, uint32_t serial)
{
	zone_txn_t *txn;
	zone_contents_t *next;
	uint64_t begin = cpu_ns();
	assert_int_equal(zone_txn_begin(run->zone, &params, &txn), KNOT_OK);
	put_soa(txn, serial);
	for (unsigned i = draw(CHANGES_MAX) + 1; i > 0; i--) {
		unsigned number = draw(run->names);
		toggle(txn, number, run->is_in[number]);
		run->is_in[number] = !run->is_in[number];
	}
	assert_int_equal(zone_txn_commit(txn, &next), KNOT_OK);
	uint64_t took = cpu_ns() - begin;
	run->commits_ns += took;
	run->commit_max_ns = took > run->commit_max_ns ? took : run->commit_max_ns;
	run_publish(run, next);
}

/* What the background does between two commits. */
static void run_slice(run_t *run)
{
	if (run->pass == NULL && !zone_needs_compaction(run->zone, 0)) {
		return;
	}
	run->pass = run->pass != NULL ? run->pass : zone_compaction_new();
	assert_non_null(run->pass);
	zone_contents_t *next;
	bool is_done;
	uint64_t begin = cpu_ns();
	assert_int_equal(zone_compact_slice(run->pass, run->zone, ZONE_COMPACT_STEPS, &next, &is_done), KNOT_OK);
	uint64_t took = cpu_ns() - begin;
	run->slices++;
	run->slices_ns += took;
	run->slice_max_ns = took > run->slice_max_ns ? took : run->slice_max_ns;
	if (next != NULL) {
		run_publish(run, next);
	}
	if (is_done) {
		zone_compaction_free(run->pass);
		run->pass = NULL;
		run->passes++;
	}
}

static void run_print(const run_t *run, unsigned long commits)
{
	print_message("%lu commits to %u names: %zu KiB at most, %zu from scratch: %.2f times\n", commits, run->names,
			run->size_max / 1024, run->fresh_size / 1024, (double)run->size_max / (double)run->fresh_size);
	print_message("a commit: %.3f ms on average, %.3f at most; a slice: %.3f and %.3f\n",
			(double)run->commits_ns / 1e6 / (double)commits, (double)run->commit_max_ns / 1e6,
			(double)run->slices_ns / 1e6 / (run->slices > 0 ? run->slices : 1),
			(double)run->slice_max_ns / 1e6);
	print_message("%u slices in %u passes, %u lineages\n", run->slices, run->passes, run->lineages);
}

static void check_end(const run_t *run, uint32_t serial)
{
	zone_contents_t *fresh = build_fresh(run->is_in, run->names, serial);
	char *got = dump_zone(run->zone), *want = dump_zone(fresh);
	assert_true(got != NULL && want != NULL && strcmp(got, want) == 0);
	free(got);
	free(want);
	zone_contents_free(fresh);
}

static void test_memory(void **state)
{
	(void)state;
	unsigned long commits = number_of("KNOT_COMMITS", COMMITS);
	run_t run = { .names = (unsigned)number_of("KNOT_NAMES", NAMES) };
	random_state = number_of("KNOT_SEED", 1);
	run.is_in = calloc(run.names, sizeof(*run.is_in));
	assert_non_null(run.is_in);
	for (unsigned i = 0; i < run.names; i++) {
		run.is_in[i] = draw(2);
	}
	run.zone = build_fresh(run.is_in, run.names, 1);
	run.fresh_size = zone_arena_size(run.zone->store);
	for (unsigned long i = 0; i < commits; i++) {
		run_commit(&run, (uint32_t)i + 2);
		run_slice(&run);
		if (i % CHECKED == 0 && run.names <= NAMES) {
			assert_null(use_fault(run.zone));
		}
	}
	assert_null(use_fault(run.zone));
	run_print(&run, commits);
	check_end(&run, (uint32_t)commits + 1);
	assert_true(run.passes > 0);
	assert_true(2 * run.size_max <= 3 * run.fresh_size);
	zone_compaction_free(run.pass);
	zone_contents_free(run.zone);
	free(run.is_in);
}

/* ---- What a slice does at most ---- */

/* Bytes that a version has allocated in chunks of the one before and in new ones. */
static size_t allocated(const zone_contents_t *before, const zone_contents_t *after)
{
	size_t len = 0;
	for (uint32_t i = 0; i < after->arena.chunk_count; i++) {
		bool is_shared = i < before->arena.chunk_count && before->arena.chunks[i] == after->arena.chunks[i];
		len += zone_image_chunk(after, i).len - (is_shared ? zone_image_chunk(before, i).len : 0);
	}
	return len;
}

/* Hosts whose numbers were given out in another order than that of their names: each is in another page of the table.
 * And one name with much more than a slice copies. */
static zone_contents_t *build_scattered(unsigned hosts, unsigned texts)
{
	zone_txn_t *txn;
	zone_contents_t *zone;
	assert_int_equal(zone_txn_begin(NULL, &params, &txn), KNOT_OK);
	put_soa(txn, 1);
	for (unsigned i = 0; i < hosts; i++) {
		uint8_t wire[KNOT_NAME_MAX], host_wire[KNOT_NAME_MAX], bytes[KNOT_NAME_MAX + 2] = { 0, 1 };
		knot_name_t owner = numbered("a%06u", i, wire);
		knot_name_t host = numbered("h%06u", (unsigned)(((uint64_t)i * 7919) % hosts), host_wire);
		memcpy(bytes + 2, host.wire, host.len);
		change(txn, false, owner, KNOT_TYPE_MX, (knot_bytes_t){ bytes, (size_t)host.len + 2 });
		store_be32(bytes, i);
		change(txn, false, host, KNOT_TYPE_A, (knot_bytes_t){ bytes, 4 });
	}
	for (unsigned i = 0; i < texts; i++) {
		uint8_t wire[KNOT_NAME_MAX], text[256] = { 255 };
		store_be32(text + 1, i);
		change(txn, false, numbered("texts%u", 0, wire), KNOT_TYPE_TXT, (knot_bytes_t){ text, sizeof(text) });
	}
	assert_int_equal(zone_txn_commit(txn, &zone), KNOT_OK);
	return zone;
}

/* What a slice copies is bounded by its steps, wherever numbers are and however long an RRset is. */
static void test_slices_are_bounded(void **state)
{
	(void)state;
	enum { HOSTS = 20000, TEXTS = 12000, STEPS = 2000, BYTES_MAX = 48 * STEPS + 64 * 1024 };
	run_t run = { .zone = build_scattered(HOSTS, TEXTS) };
	size_t most = 0;
	run.pass = zone_compaction_new();
	assert_non_null(run.pass);
	for (bool is_done = false; !is_done; run.slices++) {
		zone_contents_t *next;
		assert_int_equal(zone_compact_slice(run.pass, run.zone, STEPS, &next, &is_done), KNOT_OK);
		if (next != NULL) {
			size_t len = allocated(run.zone, next);
			most = len > most ? len : most;
			run_publish(&run, next);
		}
	}
	print_message("%zu bytes at most in one of %u slices\n", most, run.slices);
	assert_null(use_fault(run.zone));
	assert_in_range(most, 1, BYTES_MAX);
	zone_compaction_free(run.pass);
	zone_contents_free(run.zone);
}

/* ---- A zone that grows ---- */

/* A commit that puts a name that isn't there, and perhaps toggles another. It shares the memory of the version before.
 */
static void grow_commit(run_t *run, uint32_t serial, unsigned number)
{
	zone_txn_t *txn;
	zone_contents_t *next;
	assert_int_equal(zone_txn_begin(run->zone, &params, &txn), KNOT_OK);
	put_soa(txn, serial);
	toggle(txn, number, false);
	run->is_in[number] = true;
	if (number % 8 == 0) {
		unsigned other = draw(number);
		toggle(txn, other, run->is_in[other]);
		run->is_in[other] = !run->is_in[other];
	}
	assert_int_equal(zone_txn_commit(txn, &next), KNOT_OK);
	assert_true(use_shares_chunk(next, run->zone)); /* a build from scratch takes as long as the zone is large */
	run_publish(run, next);
}

/* What the background does for a zone that has grown, with so many commits in each of its steps. Returns the name that
 * comes next. */
static unsigned grow_renew(run_t *run, uint32_t *serial, unsigned number)
{
	enum { MEANWHILE = 300, RECORDS_MAX = 64 };
	zone_contents_t *held = zone_image_hold(run->zone), *fresh = zone_renew(held, NULL, NULL);
	assert_true(held != NULL && fresh != NULL);
	for (unsigned commits = MEANWHILE; commits > 0; commits /= 60) {
		for (unsigned i = 0; i < commits; i++) {
			grow_commit(run, ++*serial, number++);
		}
		assert_false(zone_is_same_version(held, run->zone));
		if (commits > RECORDS_MAX) {
			assert_int_equal(zone_renew_follow(held, run->zone, RECORDS_MAX, &fresh), KNOT_ERANGE);
		}
		zone_contents_t *now = zone_image_hold(run->zone);
		assert_non_null(now);
		size_t records_max = commits > RECORDS_MAX ? SIZE_MAX : RECORDS_MAX;
		assert_int_equal(zone_renew_follow(held, now, records_max, &fresh), KNOT_OK);
		zone_contents_free(held);
		held = now;
	}
	char *got = dump_zone(fresh), *want = dump_zone(run->zone);
	assert_true(got != NULL && want != NULL && strcmp(got, want) == 0);
	free(got);
	free(want);
	assert_null(use_fault(fresh));
	assert_false(zone_needs_renewal(fresh));
	assert_int_equal(zone_renew_follow(fresh, held, SIZE_MAX, &fresh), KNOT_ETRYAGAIN); /* not of one lineage */
	zone_renew_end(fresh, run->zone);
	assert_true(zone_is_same_version(held, fresh)); /* a transaction that began before goes on */
	zone_contents_free(run->zone);
	run->zone = fresh;
	grow_commit(run, ++*serial, number++);
	assert_false(zone_is_same_version(held, run->zone));
	zone_contents_free(held);
	return number;
}

static void test_growth(void **state)
{
	(void)state;
	enum { FIRST = 4000, ALL = FIRST * 8 / 5 };
	run_t run = { .names = FIRST };
	random_state = number_of("KNOT_SEED", 1);
	run.is_in = calloc(ALL, sizeof(*run.is_in));
	assert_non_null(run.is_in);
	for (unsigned i = 0; i < FIRST; i++) {
		run.is_in[i] = true;
	}
	run.zone = build_fresh(run.is_in, FIRST, 1);
	unsigned number = FIRST, renewals = 0;
	uint32_t serial = 1;
	while (number < ALL - 500) {
		grow_commit(&run, ++serial, number++);
		run_slice(&run);
		if (zone_needs_renewal(run.zone)) {
			number = grow_renew(&run, &serial, number);
			renewals++;
		}
	}
	assert_in_range(renewals, 1, 3);
	assert_null(use_fault(run.zone));
	run.names = ALL;
	check_end(&run, serial);
	zone_compaction_free(run.pass);
	zone_contents_free(run.zone);
	free(run.is_in);
}

/* Records of many new names, or their end. */
typedef struct {
	uint16_t type;
	unsigned count, same; /* names, and how many of them have the same RDATA */
	bool is_in;           /* they end */
	uint8_t len;          /* of texts */
} weigh_change_t;

static void weigh_commit(run_t *run, uint32_t serial, const weigh_change_t *all)
{
	zone_txn_t *txn;
	zone_contents_t *next;
	assert_int_equal(zone_txn_begin(run->zone, &params, &txn), KNOT_OK);
	put_soa(txn, serial);
	for (unsigned i = 0; i < all->count; i++) {
		uint8_t wire[KNOT_NAME_MAX], mail_wire[KNOT_NAME_MAX], bytes[KNOT_NAME_MAX + 2] = { 0, 1 };
		knot_name_t mail = numbered("no-such-host-%06u", i, mail_wire);
		size_t len = all->len;
		if (all->type == KNOT_TYPE_MX) {
			memcpy(bytes + 2, mail.wire, mail.len);
			len = (size_t)mail.len + 2;
		} else {
			bytes[0] = all->len - 1;
			store_be32(bytes + 1, i / all->same);
		}
		change(txn, all->is_in, numbered("w%u", i, wire), all->type, (knot_bytes_t){ bytes, len });
	}
	assert_int_equal(zone_txn_commit(txn, &next), KNOT_OK);
	run_publish(run, next);
}

/* What is said to save memory does, and what isn't would not; run->zone is replaced. */
static void check_weighed(run_t *run, bool pays)
{
	assert_true(zone_needs_renewal(run->zone));
	assert_int_equal(zone_renewal_pays(run->zone, NULL, NULL), pays);
	zone_contents_t *fresh = zone_renew(run->zone, NULL, NULL), *later = zone_renew_later(run->zone);
	assert_true(fresh != NULL && later != NULL);
	assert_int_equal(fresh->live_size < run->zone->live_size - run->zone->live_size / 8, pays);
	assert_false(zone_needs_renewal(later));
	assert_true(zone_is_same_version(run->zone, later));
	assert_null(use_fault(later));
	assert_int_equal(zone_arena_size(later->store), zone_arena_size(run->zone->store));
	char *got = dump_zone(later), *want = dump_zone(fresh);
	assert_true(got != NULL && want != NULL && strcmp(got, want) == 0);
	free(got);
	free(want);
	run_publish(run, later);
	if (pays) {
		run_publish(run, fresh);
	} else {
		zone_contents_free(fresh);
	}
}

static bool stop_at_once(void *ctx)
{
	(void)ctx;
	return true;
}

static void test_renewal_pays(void **state)
{
	(void)state;
	enum { HOSTS = 3000, COUNT = 2000 };
	run_t same = { .zone = build_scattered(HOSTS, 0) }, other = { .zone = build_scattered(HOSTS, 0) };
	weigh_commit(&same, 2, &(weigh_change_t){ KNOT_TYPE_TXT, COUNT, COUNT, false, 64 });
	assert_false(zone_renewal_pays(same.zone, stop_at_once, NULL));
	check_weighed(&same, true);
	assert_false(zone_renewal_pays(same.zone, NULL, NULL));
	weigh_commit(&other, 2, &(weigh_change_t){ KNOT_TYPE_TXT, COUNT, 1, false, 64 });
	check_weighed(&other, false);
	/* Names that don't exist: kept for as long as records refer to them, and longer. */
	run_t absent = { .zone = build_scattered(HOSTS, 0) };
	const weigh_change_t mails = { KNOT_TYPE_MX, COUNT, 1, false, 0 },
			     no_mails = { KNOT_TYPE_MX, COUNT, 1, true, 0 };
	weigh_commit(&absent, 2, &mails);
	check_weighed(&absent, false);
	weigh_commit(&absent, 3, &no_mails);
	assert_true(zone_renewal_pays(absent.zone, NULL, NULL));
	zone_contents_free(same.zone);
	zone_contents_free(other.zone);
	zone_contents_free(absent.zone);
}

/* Of two that are the same one is stored with its node, and one for all that come later. */
static void test_renewal_of_pairs(void **state)
{
	(void)state;
	enum { HOSTS = 3000, COUNT = 2000 };
	run_t run = { .zone = build_scattered(HOSTS, 0) };
	weigh_commit(&run, 2, &(weigh_change_t){ KNOT_TYPE_TXT, COUNT, 2, false, 200 });
	check_weighed(&run, false);
	zone_contents_free(run.zone);
}

/* However many names a zone has, what few of them have in common with each other, or many, is found. */
static void test_renewal_of_large_zones(void **state)
{
	(void)state;
	enum { HOSTS = 17000, COUNT = 11000 };
	static const unsigned same[] = { COUNT, 16 };
	for (size_t i = 0; i < KNOT_LEN(same); i++) {
		run_t run = { .zone = build_scattered(HOSTS, 0) };
		weigh_commit(&run, 2, &(weigh_change_t){ KNOT_TYPE_TXT, COUNT, same[i], false, 64 });
		check_weighed(&run, true);
		zone_contents_free(run.zone);
	}
}

static bool stop_third(void *ctx)
{
	unsigned *asked = ctx;
	return ++*asked == 3;
}

/* A build that isn't needed any more ends soon, wherever it is. */
static void test_renewal_stops(void **state)
{
	(void)state;
	enum { HOSTS = 10000, OFTEN = 11 }; /* 20,000 names, read and compiled */
	zone_contents_t *zone = build_scattered(HOSTS, 0);
	unsigned asked = 0;
	assert_null(zone_renew(zone, stop_third, &asked));
	assert_int_equal(asked, 3);
	zone_contents_t *fresh = zone_renew(zone, stop_third, &asked);
	assert_non_null(fresh);
	assert_in_range(asked - 3, 8, OFTEN);
	zone_contents_free(fresh);
	zone_contents_free(zone);
}

/* A pass ends if all was built from scratch meanwhile: there is nothing to be gained by copying it. */
static void test_pass_ends_in_fresh_version(void **state)
{
	(void)state;
	enum { HOSTS = 2000, STEPS = 1000 };
	run_t run = { .zone = build_scattered(HOSTS, 0) };
	run.pass = zone_compaction_new();
	assert_non_null(run.pass);
	zone_contents_t *next = NULL;
	bool is_done = false;
	while (next == NULL) {
		assert_int_equal(zone_compact_slice(run.pass, run.zone, STEPS, &next, &is_done), KNOT_OK);
		assert_false(is_done);
	}
	run_publish(&run, next);
	run_publish(&run, zone_renew(run.zone, NULL, NULL));
	assert_int_equal(zone_compact_slice(run.pass, run.zone, STEPS, &next, &is_done), KNOT_OK);
	assert_null(next);
	assert_true(is_done);
	zone_compaction_free(run.pass);
	zone_contents_free(run.zone);
}

/* ---- A small zone ---- */

/* One that was just built stays, though a long RRset leaves most of a chunk unused before it; after a commit it may be
 * built again, once. */
static void test_small_zone_rests(void **state)
{
	(void)state;
	enum { HOSTS = 4, TEXTS = 17 };
	run_t run = { .zone = build_scattered(HOSTS, TEXTS), .names = 1, .is_in = (bool[]){ false } };
	assert_true(zone_wasted(run.zone) > run.zone->live_size / 4);
	assert_false(zone_needs_renewal(run.zone));
	run_commit(&run, 2);
	assert_true(zone_needs_renewal(run.zone));
	run_publish(&run, zone_renew(run.zone, NULL, NULL));
	assert_false(zone_needs_renewal(run.zone));
	zone_contents_free(run.zone);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_memory), cmocka_unit_test(test_growth),
		cmocka_unit_test(test_renewal_pays), cmocka_unit_test(test_renewal_of_pairs),
		cmocka_unit_test(test_renewal_of_large_zones), cmocka_unit_test(test_slices_are_bounded),
		cmocka_unit_test(test_renewal_stops), cmocka_unit_test(test_pass_ends_in_fresh_version),
		cmocka_unit_test(test_small_zone_rests) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
