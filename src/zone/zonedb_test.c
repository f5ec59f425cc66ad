/* SPDX-License-Identifier: BSD-2-Clause */
/* The set of zones, and publishing contents under readers (run it under TSan too). */
#include "src/zone/txn.h"
#include "src/zone/image.h"
#include "src/zone/lookup.h"
#include "src/zone/compact.h"
#include "src/zone/zonedb.h"
#include "src/sys/rcu.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

typedef struct {
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
} owned_name_t;

static knot_name_t scan(const char *text, owned_name_t *ret)
{
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, ret->wire, &ret->name), KNOT_OK);
	return ret->name;
}

static const char *const apexes[] = { "cz.", "Example.CZ.", "a.b.example.cz.", "org.", "com.", "x.com.",
	"in-addr.arpa." };

static void test_find(void **state)
{
	(void)state;
	static const struct {
		const char *name, *want_suffix;
		bool want_exact;
	} rows[] = {
		{ "cz.", "cz.", true },
		{ "CZ.", "cz.", true },
		{ "example.cz.", "example.cz.", true },
		{ "www.cz.", "cz.", false },
		{ "b.example.cz.", "example.cz.", false },
		{ "x.a.b.EXAMPLE.cz.", "a.b.example.cz.", false },
		{ "net.", NULL, false },
		{ ".", NULL, false },
		{ "comx.", NULL, false },
		{ "y.x.com.", "x.com.", false },
		{ "1.0.in-addr.arpa.", "in-addr.arpa.", false },
		{ "arpa.", NULL, false },
	};
	zone_t *zones[KNOT_LEN(apexes)];
	owned_name_t name;
	for (size_t i = 0; i < KNOT_LEN(apexes); i++) {
		zones[i] = zone_new(scan(apexes[i], &name));
	}
	zonedb_t *db = zonedb_new(zones, KNOT_LEN(apexes));
	assert_non_null(db);
	assert_int_equal(zonedb_count(db), KNOT_LEN(apexes));
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		zone_t *exact = zonedb_find(db, scan(rows[i].name, &name)), *suffix = zonedb_find_suffix(db, name.name);
		owned_name_t want;
		bool is_right = (exact != NULL) == rows[i].want_exact &&
				(suffix != NULL) == (rows[i].want_suffix != NULL) &&
				(suffix == NULL || knot_name_eq(zone_name(suffix), scan(rows[i].want_suffix, &want)));
		if (!is_right) {
			fail_msg("%s", rows[i].name);
		}
	}
	zonedb_free(db);
	db = zonedb_new(NULL, 0);
	assert_null(zonedb_find_suffix(db, scan("cz.", &name)));
	zonedb_free(db);
	for (size_t i = 0; i < KNOT_LEN(apexes); i++) {
		zone_free(zones[i]);
	}
}

/* ---- Against an oracle ---- */

enum { MANY = 3000, QUESTIONS = 6000 };

static uint64_t random_state = 88172645463325252u;

static unsigned pick(unsigned below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned)(random_state >> 32) % below;
}

/* A name of up to `labels_max` labels out of a small world, so that names are often above, below and next to each
 * other. */
static knot_name_t random_name(unsigned labels_max, owned_name_t *ret)
{
	static const char letters[] = "aAbBcC-\x01\xffzZ09_";
	unsigned label_count = pick(labels_max + 1);
	size_t len = 0;
	for (unsigned i = 0; i < label_count; i++) {
		/* Now and then a label that doesn't fit one step of the hash. */
		unsigned label_len = pick(8) == 0 ? 9 + pick(20) : 1 + pick(2);
		ret->wire[len++] = (uint8_t)label_len;
		for (unsigned j = 0; j < label_len; j++) {
			bool is_last = j == label_len - 1;
			ret->wire[len++] = (uint8_t)letters[label_len > 2 && !is_last ? 0 : pick(sizeof(letters) - 1)];
		}
	}
	ret->wire[len] = 0;
	ret->name = knot_name_of(ret->wire);
	return ret->name;
}

/* The longest suffix by looking at all of them. */
static zone_t *find_slowly(zone_t *const *zones, size_t count, knot_name_t name)
{
	zone_t *best = NULL;
	for (size_t i = 0; i < count; i++) {
		knot_name_t apex = zone_name(zones[i]);
		if (knot_name_in(name, apex) && (best == NULL || apex.label_count > zone_name(best).label_count)) {
			best = zones[i];
		}
	}
	return best;
}

static size_t make_zones(unsigned labels_max, zone_t **ret_zones)
{
	size_t count = 0;
	for (unsigned i = 0; i < MANY; i++) {
		owned_name_t name;
		random_name(labels_max, &name);
		bool is_there = false;
		for (size_t j = 0; j < count && !is_there; j++) {
			is_there = knot_name_eq(zone_name(ret_zones[j]), name.name);
		}
		if (!is_there) {
			ret_zones[count++] = zone_new_with_head(name.name, 8 * pick(5));
		}
	}
	return count;
}

static void check_batches(const zonedb_t *db, zone_t *const *zones, size_t count, unsigned labels_max)
{
	static owned_name_t names[ZONEDB_BATCH_MAX];
	static uint8_t keys[ZONEDB_BATCH_MAX][KNOT_NAME_KEY_MAX];
	zonedb_search_t searches[ZONEDB_BATCH_MAX];
	for (unsigned asked = 0; asked < QUESTIONS;) {
		size_t batch = 1 + pick(ZONEDB_BATCH_MAX);
		for (size_t i = 0; i < batch; i++) {
			/* An apex, or anything: near one, far from all. */
			knot_name_t name = pick(3) == 0 ? zone_name(zones[pick((unsigned)count)])
							: random_name(labels_max + 1, &names[i]);
			searches[i] = (zonedb_search_t){
				.name = name, .key = keys[i], .key_len = knot_name_key(name, keys[i])
			};
		}
		zonedb_find_suffixes(db, searches, batch);
		for (size_t i = 0; i < batch; i++) {
			zone_t *want = find_slowly(zones, count, searches[i].name);
			zone_t *exact = want != NULL && knot_name_eq(zone_name(want), searches[i].name) ? want : NULL;
			assert_ptr_equal(searches[i].zone, want);
			assert_ptr_equal(zonedb_find_suffix(db, searches[i].name), want);
			assert_ptr_equal(zonedb_find(db, searches[i].name), exact);
		}
		asked += (unsigned)batch;
	}
}

/* With six labels there are more numbers of labels than a batch handles side by side. */
static void test_oracle(void **state)
{
	(void)state;
	static zone_t *zones[MANY];
	static const unsigned depths[] = { 1, 2, 6 };
	for (size_t d = 0; d < KNOT_LEN(depths); d++) {
		size_t count = make_zones(depths[d], zones);
		zonedb_t *db = zonedb_new(zones, count);
		assert_non_null(db);
		assert_int_equal(zonedb_count(db), count);
		check_batches(db, zones, count, depths[d]);
		for (size_t i = 1; i < count; i++) {
			assert_true(knot_name_cmp(zone_name(zonedb_zones(db)[i - 1]), zone_name(zonedb_zones(db)[i])) <
					0);
		}
		/* Made again from the sorted list, and shared. */
		zonedb_t *again = zonedb_new(zonedb_zones(db), count), *shared = zonedb_ref(again);
		zonedb_free(again);
		check_batches(shared, zones, count, depths[d]);
		zonedb_free(shared);
		zonedb_free(db);
		for (size_t i = 0; i < count; i++) {
			zone_free(zones[i]);
		}
	}
}

enum { READERS = 3 };

/* ---- One set after another ---- */

/* A set with some zones fewer and others more; zones[0..*count) are in it. gone: gets those that aren't any more. */
static zonedb_t *step_set(const zonedb_t *old, zone_t **zones, size_t *count, zone_t **spare, size_t *spare_count)
{
	size_t kept = 0, dropped = 0, left = *spare_count;
	zone_t *gone[MANY];
	for (size_t i = 0; i < *count; i++) {
		if (pick(50) == 0) {
			gone[dropped++] = zones[i];
		} else {
			zones[kept++] = zones[i];
		}
	}
	for (unsigned i = pick(60); i > 0 && left > 0; i--) {
		zones[kept++] = spare[--left];
	}
	zonedb_t *sorted = zonedb_new(zones, kept);
	zonedb_t *db = zonedb_next(old, zonedb_zones(sorted), kept);
	assert_non_null(db);
	zonedb_free(sorted);
	memcpy(&spare[left], gone, dropped * sizeof(zone_t *));
	*spare_count = left + dropped;
	*count = kept;
	return db;
}

/* Many sets that follow on one another, now and then one that is given up. */
static void test_next(void **state)
{
	(void)state;
	static zone_t *zones[MANY], *spare[MANY], *tried[MANY], *tried_spare[MANY];
	size_t made = make_zones(3, zones), count = made / 2, spare_count = made - count;
	memcpy(spare, zones + count, spare_count * sizeof(zone_t *));
	zonedb_t *db = zonedb_new(zones, count);
	for (unsigned i = 0; i < 60; i++) {
		size_t tried_count = count, tried_left = spare_count;
		memcpy(tried, zones, sizeof(zones));
		memcpy(tried_spare, spare, sizeof(spare));
		zonedb_free(step_set(db, tried, &tried_count, tried_spare, &tried_left));
		zonedb_t *next = step_set(db, zones, &count, spare, &spare_count);
		zonedb_link(next);
		zonedb_free(db);
		db = next;
		assert_int_equal(zonedb_count(db), count);
		for (size_t j = 0; j < spare_count; j++) {
			assert_null(zonedb_find(db, zone_name(spare[j])));
		}
		for (size_t j = 0; j < count; j++) {
			assert_ptr_equal(zonedb_find(db, zone_name(zones[j])), zones[j]);
		}
		if (i % 20 == 0) {
			check_batches(db, zones, count, 3);
		}
	}
	zonedb_free(db);
	for (size_t i = 0; i < count; i++) {
		zone_free(zones[i]);
	}
	for (size_t i = 0; i < spare_count; i++) {
		zone_free(spare[i]);
	}
}

/* From none to many and back, zone by zone: sets are made from nothing and from others. */
static void test_next_one(void **state)
{
	(void)state;
	enum { ONES = 40 };
	static zone_t *zones[MANY];
	size_t made = make_zones(2, zones), count = made < ONES ? made : ONES;
	zonedb_t *all = zonedb_new(zones, count), *db = zonedb_new(NULL, 0);
	zone_t *const *sorted = zonedb_zones(all);
	for (size_t i = 1; i < 2 * count; i++) {
		size_t first = i <= count ? 0 : i - count, end = i <= count ? i : count;
		zonedb_t *next = zonedb_next(db, sorted + first, end - first);
		assert_non_null(next);
		zonedb_link(next);
		zonedb_free(db);
		db = next;
		for (size_t j = 0; j < count; j++) {
			bool is_in = j >= first && j < end;
			assert_ptr_equal(zonedb_find(db, zone_name(sorted[j])), is_in ? sorted[j] : NULL);
		}
	}
	zonedb_free(db);
	zonedb_free(all);
	for (size_t i = 0; i < made; i++) {
		zone_free(zones[i]);
	}
}

typedef struct {
	const zonedb_t *db_rcu;
	zone_t *stays;
	knot_name_t comes;
	atomic_bool stop;
	atomic_ulong reads, finds;
} set_race_t;

static void find_once(set_race_t *race)
{
	RCU_READ_SECTION(guard);
	const zonedb_t *db = RCU_LOAD(guard, race->db_rcu);
	zone_t *found = zonedb_find(db, race->comes);
	if (zonedb_find(db, zone_name(race->stays)) != race->stays ||
			(found != NULL && !knot_name_eq(zone_name(found), race->comes))) {
		abort();
	}
	atomic_fetch_add_explicit(&race->finds, found != NULL, memory_order_relaxed);
	atomic_fetch_add_explicit(&race->reads, 1, memory_order_relaxed);
}

static void *finding_reader(void *ctx)
{
	set_race_t *race = ctx;
	sys_rcu_register();
	while (!atomic_load_explicit(&race->stop, memory_order_relaxed)) {
		for (unsigned i = 0; i < 100; i++) {
			find_once(race);
		}
		usleep(50); /* so that the writer on a busy machine isn't kept waiting */
	}
	sys_rcu_unregister();
	return NULL;
}

/* A zone comes, and goes and is freed, while others are looked for in the same table. */
static void test_next_race(void **state)
{
	(void)state;
	enum { OTHERS = 64, SETS_MIN = 400 };
	zone_t *zones[OTHERS + 1];
	owned_name_t name, first;
	for (unsigned i = 0; i < OTHERS; i++) {
		char text[16];
		snprintf(text, sizeof(text), "z%02u.", i);
		zones[i + 1] = zone_new(scan(text, &name));
	}
	set_race_t race = {
		.db_rcu = zonedb_new(zones + 1, OTHERS), .stays = zones[1 + OTHERS / 2], .comes = scan("a.", &first)
	};
	pthread_t threads[READERS];
	sys_rcu_register();
	for (unsigned i = 0; i < READERS; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, finding_reader, &race), 0);
	}
	for (unsigned i = 0; i < SETS_MIN || atomic_load(&race.finds) == 0; i++) {
		bool comes = i % 2 == 0;
		zones[0] = comes ? zone_new(race.comes) : zones[0];
		const zonedb_t *old = race.db_rcu;
		zonedb_t *next = zonedb_next(old, comes ? zones : zones + 1, comes ? OTHERS + 1 : OTHERS);
		assert_non_null(next);
		zonedb_link(next);
		RCU_PUBLISH(race.db_rcu, next);
		sys_rcu_wait();
		zonedb_free((zonedb_t *)(uintptr_t)old);
		if (!comes) {
			zone_free(zones[0]);
		}
	}
	atomic_store(&race.stop, true);
	for (unsigned i = 0; i < READERS; i++) {
		pthread_join(threads[i], NULL);
	}
	sys_rcu_unregister();
	bool has_first = zonedb_count(race.db_rcu) > OTHERS;
	zonedb_free((zonedb_t *)(uintptr_t)race.db_rcu);
	for (unsigned i = has_first ? 0 : 1; i <= OTHERS; i++) {
		zone_free(zones[i]);
	}
}

static void test_head(void **state)
{
	(void)state;
	owned_name_t name;
	zone_t *zone = zone_new_with_head(scan("Example.", &name), 24);
	uint8_t *head = zone_head(zone), zeros[24] = { 0 };
	assert_memory_equal(head, zeros, sizeof(zeros));
	memset(head, 0xff, sizeof(zeros));
	assert_ptr_equal(zone_of_head(head, 24), zone);
	assert_true(knot_name_eq(zone_name(zone), scan("example.", &name)));
	assert_null(zone_contents(zone));
	zone_free(zone);
}

enum { VERSIONS = 200 };

typedef struct {
	zone_t *zone;
	atomic_bool stop;
	atomic_ulong reads;
} race_t;

static zone_contents_t *build_version(unsigned serial)
{
	uint8_t origin[] = "\4zone";
	char text[256];
	/* The serial stands in two places: a reader that sees two versions mixed sees them differ. */
	int len = snprintf(text, sizeof(text), "@ 60 SOA ns r %u 2 3 4 5\n@ 60 NS ns.out.\na.b 60 TXT %u\n%s", serial,
			serial, serial % 2 ? "x.b 60 A 192.0.2.1\n" : "");
	zone_build_params_t params = { .origin = { origin, 6, 1 }, .default_ttl = 60 };
	zone_contents_t *zone = NULL;
	assert_int_equal(zone_build_text((knot_str_t){ text, (size_t)len }, "test", &params, &zone), KNOT_OK);
	return zone;
}

/* Everything that a version says of its serial is the same: else it is two mixed, or half of one. */
static void check_version(const zone_contents_t *zone)
{
	uint8_t name[] = "\1a\1b\4zone", other[] = "\1x\1b\4zone", scratch[512];
	zone_lookup_t found = zone_lookup(zone, (knot_name_t){ name, sizeof(name), 3 });
	if (found.kind != ZONE_FOUND) {
		abort();
	}
	zone_rr_iter_t iter =
			zone_rr_begin(found.node, zone_node_rrset(&zone->arena, found.node, KNOT_TYPE_TXT), false);
	uint32_t ttl;
	knot_bytes_t rdata;
	if (!zone_rr_next(&iter, (knot_mut_bytes_t){ scratch, sizeof(scratch) }, &ttl, &rdata)) {
		abort();
	}
	unsigned serial = 0;
	for (size_t i = 1; i < rdata.len; i++) {
		serial = 10 * serial + (unsigned)(rdata.data[i] - '0');
	}
	bool has_other = zone_lookup(zone, (knot_name_t){ other, sizeof(other), 3 }).kind == ZONE_FOUND;
	if (serial != zone->serial || has_other != (serial % 2 == 1)) {
		abort();
	}
}

static void read_once(race_t *race)
{
	RCU_READ_SECTION(guard);
	check_version(zone_contents(race->zone));
	atomic_fetch_add_explicit(&race->reads, 1, memory_order_relaxed);
	(void)guard;
}

static void *reader(void *ctx)
{
	race_t *race = ctx;
	sys_rcu_register();
	while (!atomic_load_explicit(&race->stop, memory_order_relaxed)) {
		read_once(race);
	}
	sys_rcu_unregister();
	return NULL;
}

static void test_publish(void **state)
{
	(void)state;
	owned_name_t name;
	race_t race = { .zone = zone_new(scan("zone.", &name)) };
	assert_null(zone_contents(race.zone));
	assert_null(zone_publish(race.zone, build_version(0)));
	sys_rcu_register();
	pthread_t threads[READERS];
	for (unsigned i = 0; i < READERS; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, reader, &race), 0);
	}
	for (unsigned i = 1; i <= VERSIONS || atomic_load(&race.reads) < VERSIONS; i++) {
		zone_contents_t *old = zone_publish(race.zone, build_version(i));
		assert_non_null(old);
		sys_rcu_wait();
		zone_contents_free(old);
	}
	atomic_store(&race.stop, true);
	for (unsigned i = 0; i < READERS; i++) {
		pthread_join(threads[i], NULL);
	}
	sys_rcu_unregister();
	zone_free(race.zone);
}

/* ---- Versions that share chunks, saved while newer ones are made ---- */

/* With naps, so that the publisher on a busy machine isn't kept waiting for readers that wait for a CPU. */
static void *napping_reader(void *ctx)
{
	race_t *race = ctx;
	sys_rcu_register();
	while (!atomic_load_explicit(&race->stop, memory_order_relaxed)) {
		read_once(race);
		usleep(100);
	}
	sys_rcu_unregister();
	return NULL;
}

enum { NAMES = 1200, STEPS = 500, SAVES_MIN = 20 };

/* Records of the version `serial`: of all names, or of those alone that differ from the version before and after. */
static void step_text(FILE *to, unsigned serial)
{
	fprintf(to, "@ 60 SOA ns r %u 2 3 4 5\na.b 60 TXT %u\n", serial, serial);
	if (serial % 2) {
		fprintf(to, "x.b 60 A 192.0.2.1\n");
	}
	/* Some more that comes and goes, so that chunks fill up with what is dead and the zone is compacted now and
	 * then. */
	for (unsigned i = 0; i < 5; i++) {
		fprintf(to, "n%u.c 60 TXT \"%0*u\"\n", (serial + i * 61) % NAMES, 1 + (int)(serial * 7 + i) % 200,
				serial);
	}
}

typedef struct {
	zone_txn_t *txn;
	bool is_removal;
} step_t;

static bool step_record(const knot_zone_record_t *record, void *ctx)
{
	step_t *step = ctx;
	knot_err_t err = step->is_removal ? zone_txn_remove(step->txn, record->owner, record->type, record->rdata)
					  : zone_txn_put(step->txn, record->owner, record->type, record->ttl,
							    record->rdata);
	assert_int_equal(err, KNOT_OK);
	return true;
}

static uint8_t step_origin_wire[] = "\4zone";
static const knot_name_t step_origin = { step_origin_wire, 6, 1 };
static const zone_build_params_t step_params = { .origin = { step_origin_wire, 6, 1 }, .default_ttl = 60 };

static void step_by(zone_txn_t *txn, unsigned serial, bool is_removal)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	assert_non_null(to);
	step_text(to, serial);
	fclose(to);
	step_t step = { txn, is_removal };
	knot_zonefile_params_t params = {
		.origin = step_origin, .default_ttl = 60, .on_record = step_record, .ctx = &step
	};
	assert_int_equal(knot_zonefile_scan_text((knot_str_t){ text, len }, "test", &params), KNOT_OK);
	free(text);
}

static zone_contents_t *build_first(void)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	assert_non_null(to);
	step_text(to, 0);
	fprintf(to, "@ 60 NS ns.out.\n");
	for (unsigned i = 0; i < NAMES; i++) {
		fprintf(to, "h%u 60 A 192.0.2.%u\n", i, i % 256);
	}
	fclose(to);
	zone_contents_t *zone = NULL;
	assert_int_equal(zone_build_text((knot_str_t){ text, len }, "test", &step_params, &zone), KNOT_OK);
	free(text);
	return zone;
}

typedef struct {
	race_t race;
	atomic_ulong saves;
} saving_race_t;

/* As the thread that saves images does: hold a version, give back the readers' section, copy the bytes at leisure. */
static void save_once(zone_t *zone)
{
	zone_contents_t *held, *again = NULL;
	{
		RCU_READ_SECTION(guard);
		held = zone_image_hold(zone_contents(zone));
		(void)guard;
	}
	uint32_t count = zone_image_chunk_count(held);
	uint8_t *head = malloc(zone_image_head_len);
	uint64_t *lens = calloc(count, sizeof(*lens));
	zone_image_reader_t *reader;
	if (head == NULL || lens == NULL) {
		abort();
	}
	zone_image_write_head(held, head);
	for (uint32_t i = 0; i < count; i++) {
		lens[i] = zone_image_chunk(held, i).len;
	}
	if (zone_image_read_begin((knot_bytes_t){ head, zone_image_head_len }, lens, count, &reader) != KNOT_OK) {
		abort();
	}
	for (uint32_t i = 0; i < count; i++) {
		if (lens[i] > 0) {
			memcpy(zone_image_read_chunk(reader, i), zone_image_chunk(held, i).data, lens[i]);
		}
	}
	check_version(held);
	zone_contents_free(held);
	if (zone_image_read_end(reader, step_origin, &again) != KNOT_OK) {
		abort();
	}
	check_version(again);
	zone_contents_free(again);
	free(head);
	free(lens);
}

static void *saver(void *ctx)
{
	saving_race_t *saving = ctx;
	sys_rcu_register();
	while (!atomic_load_explicit(&saving->race.stop, memory_order_relaxed)) {
		save_once(saving->race.zone);
		atomic_fetch_add_explicit(&saving->saves, 1, memory_order_relaxed);
		usleep(100);
	}
	sys_rcu_unregister();
	return NULL;
}

static void publish_step(zone_t *zone, unsigned serial)
{
	zone_txn_t *txn;
	zone_contents_t *next, *old;
	/* The zone's job: only it publishes, so published contents stay. */
	assert_int_equal(zone_txn_begin(zone_contents(zone), &step_params, &txn), KNOT_OK);
	step_by(txn, serial - 1, true);
	step_by(txn, serial, false);
	assert_int_equal(zone_txn_commit(txn, &next), KNOT_OK);
	old = zone_publish(zone, next);
	sys_rcu_wait();
	zone_contents_free(old);
}

/* Returns how many versions a pass of compaction made. */
static unsigned publish_compacted(zone_t *zone)
{
	zone_compaction_t *pass = zone_compaction_new();
	assert_non_null(pass);
	unsigned count = 0;
	for (bool is_done = false; !is_done;) {
		zone_contents_t *next;
		assert_int_equal(zone_compact_slice(pass, zone_contents(zone), ZONE_COMPACT_STEPS, &next, &is_done),
				KNOT_OK);
		if (next != NULL) {
			zone_contents_t *old = zone_publish(zone, next);
			sys_rcu_wait();
			zone_contents_free(old);
			count++;
		}
	}
	zone_compaction_free(pass);
	return count;
}

static void test_publish_while_saving(void **state)
{
	(void)state;
	owned_name_t name;
	saving_race_t saving = { .race.zone = zone_new(scan("zone.", &name)) };
	zone_t *zone = saving.race.zone;
	assert_null(zone_publish(zone, build_first()));
	sys_rcu_register();
	pthread_t threads[READERS + 1];
	for (unsigned i = 0; i < READERS; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, napping_reader, &saving.race), 0);
	}
	assert_int_equal(pthread_create(&threads[READERS], NULL, saver, &saving), 0);
	unsigned compacted = 0;
	for (unsigned i = 1;
			i <= STEPS || atomic_load(&saving.race.reads) < STEPS || atomic_load(&saving.saves) < SAVES_MIN;
			i++) {
		publish_step(zone, i);
		compacted += i % 5 == 0 ? publish_compacted(zone) : 0;
	}
	atomic_store(&saving.race.stop, true);
	for (unsigned i = 0; i <= READERS; i++) {
		pthread_join(threads[i], NULL);
	}
	sys_rcu_unregister();
	assert_true(compacted > 0);
	zone_free(zone);
}

/* What queries leave behind for the thread that orders the loading. */
static void test_noted_questions(void **state)
{
	(void)state;
	zone_t *zones[100];
	for (unsigned i = 0; i < KNOT_LEN(zones); i++) {
		const uint8_t wire[] = { 3, 'z', (uint8_t)('0' + i / 10), (uint8_t)('0' + i % 10), 0 };
		zones[i] = zone_new(knot_name_of(wire));
	}
	zonedb_t *db = zonedb_new(zones, KNOT_LEN(zones));
	assert_false(zone_take_asked(zones[5]));
	bool is_noted = true;
	assert_null(zone_ask(zones[5], &is_noted));
	assert_false(is_noted);
	assert_false(zone_take_asked(zones[5])); /* asking alone leaves nothing behind */
	zone_note_asked(zones[5]);
	assert_null(zone_ask(zones[5], &is_noted));
	assert_true(is_noted);
	assert_true(zone_take_asked(zones[5]));
	assert_false(zone_take_asked(zones[5]));

	assert_null(zonedb_take_wanted(db));
	zonedb_want(db, zones[7]);
	zonedb_want(db, zones[7]);
	assert_ptr_equal(zonedb_take_wanted(db), zones[7]);
	assert_null(zonedb_take_wanted(db));
	zonedb_want(db, zones[7]); /* still to be loaded, and known */
	assert_null(zonedb_take_wanted(db));
	zone_unwant(zones[7]);
	/* More than there is room for: some are forgotten, none comes twice. */
	for (unsigned i = 0; i < KNOT_LEN(zones); i++) {
		zonedb_want(db, zones[i]);
	}
	bool seen[KNOT_LEN(zones)] = { 0 };
	unsigned count = 0;
	for (const zone_t *zone; (zone = zonedb_take_wanted(db)) != NULL; count++) {
		unsigned i = (unsigned)(zone_name(zone).wire[2] - '0') * 10 + (unsigned)(zone_name(zone).wire[3] - '0');
		assert_false(seen[i]);
		seen[i] = true;
	}
	assert_true(count >= 32 && count <= KNOT_LEN(zones));
	assert_true(seen[99]);
	zonedb_free(db);
	for (unsigned i = 0; i < KNOT_LEN(zones); i++) {
		zone_free(zones[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_find), cmocka_unit_test(test_oracle),
		cmocka_unit_test(test_head), cmocka_unit_test(test_next), cmocka_unit_test(test_next_one),
		cmocka_unit_test(test_next_race), cmocka_unit_test(test_publish),
		cmocka_unit_test(test_publish_while_saving), cmocka_unit_test(test_noted_questions) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
