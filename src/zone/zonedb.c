/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why a hash table: a query's zone is found by whole labels from the root, never by order. So the order of a trie
 * isn't needed, and its walk over a million apexes would cost four to six dependent cache misses. A slot holds the
 * zone's address and 16 bits of the hash, so that of the suffixes that aren't apexes (www.example.com before
 * example.com) only one in 65536 costs a look at a zone. Suffixes are only tried with as many labels as some apex has.
 *
 * The hash runs over the lookup key, whose prefixes are the keys of the name's suffixes: one pass gives the hashes of
 * all. It is seeded with random bits, as customers and not the operator may choose the names of zones.
 */
#include "src/zone/zonedb.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "libknot/base/assert.h"
#include "src/sys/rcu.h"
#include "src/zone/slab.h"

struct zone {
	zone_contents_t *contents_rcu; /* owned */
	zone_member_t *member_rcu;     /* owned; NULL: none */
	uint8_t head_len;              /* bytes of the allocation before this struct */
	uint8_t name_len, label_count; /* of wire[] */
	_Atomic uint8_t noted;         /* NOTED_… */
	uint8_t wire[];
};

enum {
	NOTED_ASKED = 1,       /* there was a query */
	NOTED_WANTED = 2,      /* ... while there were no contents, and the zone was put on the list */
	NOTED_FROZEN = 4,      /* no transfers */
	NOTED_RESTRICTED = 8,  /* queries need permission */
	NOTED_RENUMBERED = 16, /* its serials aren't those of its primaries */
	NOTED_PARENT = 32,     /* it follows its children */
};

zone_t *zone_new(knot_name_t name)
{
	return zone_new_with_head(name, 0);
}

zone_t *zone_new_with_head(knot_name_t name, size_t head_len)
{
	assert(head_len <= ZONE_HEAD_MAX && head_len % 8 == 0);
	size_t len = head_len + offsetof(zone_t, wire) + name.len;
	uint8_t *head = zone_slab_alloc(len);
	if (head == NULL) {
		return NULL;
	}
	memset(head, 0, len);
	zone_t *zone = (zone_t *)(head + head_len);
	zone->head_len = (uint8_t)head_len;
	zone->name_len = name.len;
	zone->label_count = name.label_count;
	knot_name_lower(name, zone->wire);
	return zone;
}

void *zone_head(zone_t *zone)
{
	return (uint8_t *)zone - zone->head_len;
}

void zone_free(zone_t *take_zone)
{
	if (take_zone != NULL) {
		zone_contents_free(take_zone->contents_rcu);
		free(take_zone->member_rcu);
		zone_slab_free(zone_head(take_zone),
				take_zone->head_len + offsetof(zone_t, wire) + take_zone->name_len);
	}
}

knot_name_t zone_name(const zone_t *zone)
{
	return (knot_name_t){ zone->wire, zone->name_len, zone->label_count };
}

const zone_contents_t *zone_contents(const zone_t *zone)
{
	return SYS_RCU_DEREFERENCE(zone->contents_rcu);
}

const zone_contents_t *zone_ask(const zone_t *zone, bool *ret_is_noted)
{
	/* One test, so that the rare zone that is restricted costs others nothing. */
	*ret_is_noted = (atomic_load_explicit(&zone->noted, memory_order_relaxed) & (NOTED_ASKED | NOTED_RESTRICTED)) ==
			NOTED_ASKED;
	return zone_contents(zone);
}

void zone_note_asked(zone_t *zone)
{
	if ((atomic_load_explicit(&zone->noted, memory_order_relaxed) & NOTED_ASKED) == 0) {
		atomic_fetch_or_explicit(&zone->noted, NOTED_ASKED, memory_order_relaxed);
	}
}

bool zone_take_asked(zone_t *zone)
{
	return (atomic_load_explicit(&zone->noted, memory_order_relaxed) & NOTED_ASKED) != 0 &&
	       (atomic_fetch_and_explicit(&zone->noted, (uint8_t)~NOTED_ASKED, memory_order_relaxed) & NOTED_ASKED) !=
			       0;
}

static void zone_note(zone_t *zone, uint8_t flag, bool is_set)
{
	if (is_set) {
		atomic_fetch_or_explicit(&zone->noted, flag, memory_order_relaxed);
	} else {
		atomic_fetch_and_explicit(&zone->noted, (uint8_t)~flag, memory_order_relaxed);
	}
}

void zone_freeze_transfers(zone_t *zone, bool is_frozen)
{
	zone_note(zone, NOTED_FROZEN, is_frozen);
}

bool zone_has_frozen_transfers(const zone_t *zone)
{
	return (atomic_load_explicit(&zone->noted, memory_order_relaxed) & NOTED_FROZEN) != 0;
}

void zone_restrict_queries(zone_t *zone, bool is_restricted)
{
	if (is_restricted != zone_has_restricted_queries(zone)) {
		zone_note(zone, NOTED_RESTRICTED, is_restricted);
	}
}

bool zone_has_restricted_queries(const zone_t *zone)
{
	return (atomic_load_explicit(&zone->noted, memory_order_relaxed) & NOTED_RESTRICTED) != 0;
}

void zone_renumber(zone_t *zone, bool is_renumbered)
{
	if (is_renumbered != zone_is_renumbered(zone)) {
		zone_note(zone, NOTED_RENUMBERED, is_renumbered);
	}
}

bool zone_is_renumbered(const zone_t *zone)
{
	return (atomic_load_explicit(&zone->noted, memory_order_relaxed) & NOTED_RENUMBERED) != 0;
}

void zone_follow_children(zone_t *zone, bool is_following)
{
	if (is_following != zone_follows_children(zone)) {
		zone_note(zone, NOTED_PARENT, is_following);
	}
}

bool zone_follows_children(const zone_t *zone)
{
	return (atomic_load_explicit(&zone->noted, memory_order_relaxed) & NOTED_PARENT) != 0;
}

zone_member_t *zone_member_new(knot_name_t catalog, knot_bytes_t group)
{
	assert(group.len <= UINT8_MAX);
	zone_member_t *member = malloc(sizeof(*member) + catalog.len + group.len);
	if (member != NULL) {
		*member = (zone_member_t){ catalog.len, catalog.label_count, (uint8_t)group.len };
		knot_name_lower(catalog, member->bytes);
		if (group.len > 0) {
			memcpy(member->bytes + catalog.len, group.data, group.len);
		}
	}
	return member;
}

const zone_member_t *zone_member(const zone_t *zone)
{
	return SYS_RCU_DEREFERENCE(zone->member_rcu);
}

zone_member_t *zone_set_member(zone_t *zone, zone_member_t *take_member)
{
	zone_member_t *old = zone->member_rcu;
	RCU_PUBLISH(zone->member_rcu, take_member);
	return old;
}

void zone_unwant(zone_t *zone)
{
	if ((atomic_load_explicit(&zone->noted, memory_order_relaxed) & NOTED_WANTED) != 0) {
		atomic_fetch_and_explicit(&zone->noted, (uint8_t)~NOTED_WANTED, memory_order_relaxed);
	}
}

zone_contents_t *zone_publish(zone_t *zone, zone_contents_t *take_contents)
{
	zone_contents_t *old = zone->contents_rcu;
	RCU_PUBLISH(zone->contents_rcu, take_contents);
	return old;
}

/* ---- The set ---- */

enum {
	WANTED_MAX = 64,
	TAG_SHIFT = 48,           /* a slot: tag above, address below; 0: free */
	HUGE_PAGE = 1 << 21,      /* bytes */
	HUGE_MIN = HUGE_PAGE / 4, /* bytes of slots from which huge pages pay */
	DEPTHS_FAST = 4,          /* numbers of labels that a batch handles side by side */
};
#define ADDRESS_MASK ((UINT64_C(1) << TAG_SHIFT) - 1)

/** Zones that were queried while they had no contents: a ring that forgets the oldest. */
typedef struct {
	_Atomic(zone_t *) zones[WANTED_MAX];
	atomic_uint put; /* zones put in since the start */
	unsigned taken;  /* `put` when it was found empty last */
} wanted_t;

/*
 * The hash table of a set, and of the sets that were made of it by zonedb_next(). Slots are changed in place, each by
 * one store, while there are readers: a free one gets a zone, and one with a zone gets `taken_out`. So readers pay
 * nothing for it, and a zone more costs no copy of the table.
 */
typedef struct {
	atomic_uint owners; /* sets */
	uint64_t seed;
	uint64_t *slots;  /* owned: open addressing */
	size_t slots_len; /* bytes */
	uint32_t slot_count;
	uint32_t used; /* slots that aren't free, two thirds of all at first, three quarters at most */
} table_t;

struct zonedb {
	wanted_t *wanted; /* owned */
	atomic_uint owners;
	uint64_t seed; /* of the table, as the next two: no reader goes through its address */
	uint64_t *slots;
	uint32_t slot_count;
	uint32_t count;
	table_t *table;  /* owned with others */
	zone_t **zones;  /* owned, in canonical order */
	zone_t **coming; /* owned: zones that zonedb_link() puts into the table; behind them those that it takes out */
	size_t coming_count, going_count;
	uint8_t depth_max;                               /* most labels of an apex */
	uint64_t depths[2];                              /* bit n: some apex has n labels */
	uint32_t depth_counts[KNOT_LABEL_COUNT_MAX + 1]; /* apexes of n labels; for the set after this one */
};

/* In place of a zone that was taken out: it has more labels than a name can have, so it is never what is looked for. */
static const zone_t taken_out = { .label_count = UINT8_MAX };

static bool has_depth(const zonedb_t *db, unsigned depth)
{
	return db->depths[depth >> 6] >> (depth & 63) & 1;
}

/* One step of the hash over up to ten positions of a key (6 bits each). */
static inline uint64_t mix(uint64_t hash, uint64_t positions)
{
	hash = (hash ^ positions) * UINT64_C(0x9E3779B97F4A7C15);
	return hash ^ hash >> 29;
}

/* The last step, so that every bit of what went in reaches the upper half. */
static inline uint64_t zonedb_finish(uint64_t hash)
{
	hash *= UINT64_C(0xBF58476D1CE4E5B9);
	return hash ^ hash >> 32;
}

typedef struct {
	uint64_t hash;
	unsigned depth; /* labels */
} suffix_t;

/*
 * Hashes of the suffixes that may be apexes, the shortest first; returns how many. The key must be of whole labels.
 * ret_suffixes: room for `max`; longer ones are left out.
 */
static inline size_t hash_suffixes(
		const zonedb_t *db, const uint8_t *key, size_t key_len, suffix_t *ret_suffixes, size_t max)
{
	uint64_t hash = db->seed;
	unsigned depth = 0;
	size_t count = 0;
	KNOT_ASSERT_SLOW(key_len == 0 || key[key_len - 1] == KNOT_KEY_END);
	if (has_depth(db, 0) && count < max) {
		ret_suffixes[count++] = (suffix_t){ zonedb_finish(hash), 0 };
	}
	for (size_t i = 0; i < key_len && depth < db->depth_max;) {
		uint64_t positions = 1; /* rises to bit 60 with the tenth, as many as mix() takes */
		uint8_t position;
		do {
			position = key[i++];
			positions = positions << 6 | position;
		} while (position != KNOT_KEY_END && positions >> 60 == 0);
		hash = mix(hash, positions);
		if (position == KNOT_KEY_END && has_depth(db, ++depth) && count < max) {
			ret_suffixes[count++] = (suffix_t){ zonedb_finish(hash), depth };
		}
	}
	return count;
}

static inline uint32_t first_slot(const zonedb_t *db, uint64_t hash)
{
	return (uint32_t)((hash >> 32) * db->slot_count >> 32);
}

static inline uint64_t tag_of(uint64_t hash)
{
	return (hash & 0xFFFF) << TAG_SHIFT;
}

/* The next zone with the hash's tag from slot *at on, which moves behind it; NULL: there is none. */
static inline zone_t *next_tagged(const zonedb_t *db, uint64_t hash, uint32_t *at)
{
	for (uint64_t slot; (slot = __atomic_load_n(&db->slots[*at], __ATOMIC_ACQUIRE)) != 0;) {
		*at = *at + 1 < db->slot_count ? *at + 1 : 0;
		if ((slot & ~ADDRESS_MASK) == tag_of(hash)) {
			return (zone_t *)(uintptr_t)(slot & ADDRESS_MASK);
		}
	}
	return NULL;
}

/* The zone of exactly this suffix of `name`, or NULL. */
static zone_t *find_hashed(const zonedb_t *db, knot_name_t name, suffix_t suffix)
{
	uint32_t at = first_slot(db, suffix.hash);
	zone_t *zone;
	while ((zone = next_tagged(db, suffix.hash, &at)) != NULL &&
			(zone->label_count != suffix.depth || !knot_name_in(name, zone_name(zone)))) {}
	return zone;
}

zone_t *zonedb_find_suffix_key(const zonedb_t *db, knot_name_t name, const uint8_t *key, size_t key_len)
{
	suffix_t suffixes[KNOT_LABEL_COUNT_MAX + 1];
	for (size_t i = hash_suffixes(db, key, key_len, suffixes, KNOT_LEN(suffixes)); i > 0; i--) {
		zone_t *zone = find_hashed(db, name, suffixes[i - 1]);
		if (zone != NULL) {
			return zone;
		}
	}
	return NULL;
}

zone_t *zonedb_find_suffix(const zonedb_t *db, knot_name_t name)
{
	uint8_t key[KNOT_NAME_KEY_MAX];
	size_t key_len = knot_name_key(name, key);
	return zonedb_find_suffix_key(db, name, key, key_len);
}

zone_t *zonedb_find(const zonedb_t *db, knot_name_t apex)
{
	uint8_t key[KNOT_NAME_KEY_MAX];
	suffix_t suffixes[KNOT_LABEL_COUNT_MAX + 1];
	if (apex.label_count > db->depth_max || !has_depth(db, apex.label_count)) {
		return NULL;
	}
	size_t key_len = knot_name_key(apex, key);
	size_t count = hash_suffixes(db, key, key_len, suffixes, KNOT_LEN(suffixes));
	return find_hashed(db, apex, suffixes[count - 1]);
}

/* ---- Many at once ---- */

/* A search between its stages. */
typedef struct {
	suffix_t suffixes[DEPTHS_FAST];
	unsigned count; /* of them; 0: nothing to do side by side */
	zone_t *likely; /* zone of the longest suffix whose tag is there, not compared */
	unsigned depth; /* of that suffix */
} stage_t;

static void begin_search(const zonedb_t *db, const zonedb_search_t *search, stage_t *stage)
{
	stage->likely = NULL;
	stage->count = (unsigned)hash_suffixes(db, search->key, search->key_len, stage->suffixes, DEPTHS_FAST);
	for (unsigned i = 0; i < stage->count; i++) {
		__builtin_prefetch(&db->slots[first_slot(db, stage->suffixes[i].hash)]);
	}
}

static void find_likely(const zonedb_t *db, stage_t *stage)
{
	for (unsigned i = stage->count; i > 0 && stage->likely == NULL; i--) {
		uint32_t at = first_slot(db, stage->suffixes[i - 1].hash);
		stage->likely = next_tagged(db, stage->suffixes[i - 1].hash, &at);
		stage->depth = stage->suffixes[i - 1].depth;
	}
	if (stage->likely != NULL) {
		__builtin_prefetch(stage->likely);
		__builtin_prefetch((const uint8_t *)stage->likely + offsetof(zone_t, wire) + 32);
	}
}

static void end_search(const zonedb_t *db, zonedb_search_t *search, const stage_t *stage)
{
	/* More suffixes than were looked at, or a tag that matched by chance: search for this one alone. */
	bool is_found = stage->likely != NULL && stage->count < DEPTHS_FAST &&
			stage->likely->label_count == stage->depth &&
			knot_name_in(search->name, zone_name(stage->likely));
	bool is_none = stage->likely == NULL && stage->count < DEPTHS_FAST;
	search->zone = is_found  ? stage->likely
		       : is_none ? NULL
				 : zonedb_find_suffix_key(db, search->name, search->key, search->key_len);
}

void zonedb_find_suffixes(const zonedb_t *db, zonedb_search_t *searches, size_t count)
{
	assert(count <= ZONEDB_BATCH_MAX);
	stage_t stages[ZONEDB_BATCH_MAX];
	for (size_t i = 0; i < count; i++) {
		begin_search(db, &searches[i], &stages[i]);
	}
	for (size_t i = 0; i < count; i++) {
		find_likely(db, &stages[i]);
	}
	for (size_t i = 0; i < count; i++) {
		end_search(db, &searches[i], &stages[i]);
	}
}

/* ---- Making and walking ---- */

static int compare_zones(const void *a, const void *b)
{
	return knot_name_cmp(zone_name(*(zone_t *const *)a), zone_name(*(zone_t *const *)b));
}

/* Note which numbers of labels there are. */
static void set_depths(zonedb_t *db)
{
	for (unsigned depth = 0; depth <= KNOT_LABEL_COUNT_MAX; depth++) {
		if (db->depth_counts[depth] > 0) {
			db->depths[depth >> 6] |= UINT64_C(1) << (depth & 63);
			db->depth_max = (uint8_t)depth;
		}
	}
}

/* Copy the zones in canonical order. */
static void set_zones(zonedb_t *db, zone_t *const *zones)
{
	bool is_sorted = true;
	for (size_t i = 0; i < db->count; i++) {
		db->zones[i] = zones[i];
		db->depth_counts[zones[i]->label_count]++;
		is_sorted = is_sorted && (i == 0 || compare_zones(&zones[i - 1], &zones[i]) < 0);
	}
	if (!is_sorted) {
		qsort(db->zones, db->count, sizeof(*db->zones), compare_zones);
	}
	set_depths(db);
}

/* The hash of the whole name, whichever numbers of labels the set's apexes have: of a zone that goes, none may be left.
 */
static uint64_t hash_zone(const zonedb_t *db, const zone_t *zone)
{
	const zonedb_t any = {
		.seed = db->seed, .depths = { UINT64_MAX, UINT64_MAX }, .depth_max = KNOT_LABEL_COUNT_MAX
	};
	uint8_t key[KNOT_NAME_KEY_MAX];
	suffix_t suffixes[KNOT_LABEL_COUNT_MAX + 1];
	size_t key_len = knot_name_key(zone_name(zone), key);
	return suffixes[hash_suffixes(&any, key, key_len, suffixes, KNOT_LEN(suffixes)) - 1].hash;
}

static void put_slot(zonedb_t *db, zone_t *zone, uint64_t hash)
{
	assert((uintptr_t)zone >> TAG_SHIFT == 0);
	uint32_t at = first_slot(db, hash);
	while (db->slots[at] != 0) {
		at = at + 1 < db->slot_count ? at + 1 : 0;
	}
	__atomic_store_n(&db->slots[at], (uintptr_t)zone | tag_of(hash), __ATOMIC_RELEASE);
	db->table->used++;
}

static void take_slot(zonedb_t *db, const zone_t *zone)
{
	uint64_t hash = hash_zone(db, zone), mine = (uintptr_t)zone | tag_of(hash);
	uint32_t at = first_slot(db, hash);
	while (db->slots[at] != mine) {
		assert(db->slots[at] != 0);
		at = at + 1 < db->slot_count ? at + 1 : 0;
	}
	__atomic_store_n(&db->slots[at], (uintptr_t)&taken_out | tag_of(hash), __ATOMIC_RELEASE);
}

/* Hashes ahead of the slots, which lie anywhere: their misses overlap. */
static void fill_slots(zonedb_t *db)
{
	enum { AHEAD = 32 };
	uint64_t hashes[AHEAD];
	for (size_t i = 0; i < db->count + AHEAD; i++) {
		if (i >= AHEAD) {
			put_slot(db, db->zones[i - AHEAD], hashes[i % AHEAD]);
		}
		if (i < db->count) {
			hashes[i % AHEAD] = hash_zone(db, db->zones[i]);
			__builtin_prefetch(&db->slots[first_slot(db, hashes[i % AHEAD])], 1);
		}
	}
}

/* Bytes that are mapped for the slots: many of them fill huge pages. */
static size_t slots_room(size_t len)
{
	return len < HUGE_MIN ? len : (len + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
}

/* Pages of its own, so that they can be huge ones and go back to the system. */
static uint64_t *map_slots(size_t room)
{
	size_t around = room < HUGE_PAGE ? room : room + HUGE_PAGE;
	uint8_t *mapped = mmap(NULL, around, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapped == MAP_FAILED) {
		return NULL;
	}
	if (room < HUGE_PAGE) {
		return (uint64_t *)(void *)mapped;
	}
	/* A huge page must lie at a multiple of its size: map more, and unmap what surrounds it. */
	uint8_t *base = (uint8_t *)(((uintptr_t)mapped + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
	if (base > mapped) {
		munmap(mapped, (size_t)(base - mapped));
	}
	if (base + room < mapped + around) {
		munmap(base + room, (size_t)(mapped + around - (base + room)));
	}
	(void)madvise(base, room, MADV_HUGEPAGE); /* advice: without huge pages it is slower, not wrong */
	return (uint64_t *)(void *)base;
}

static void free_table(table_t *take_table)
{
	if (take_table != NULL && atomic_fetch_sub_explicit(&take_table->owners, 1, memory_order_acq_rel) == 1) {
		if (take_table->slots != NULL) {
			munmap(take_table->slots, take_table->slots_len);
		}
		free(take_table);
	}
}

/* A table without zones; NULL: out of memory. */
static table_t *new_table(size_t count)
{
	table_t *table = calloc(1, sizeof(*table));
	if (table == NULL) {
		return NULL;
	}
	assert(count <= UINT32_MAX / 2);
	atomic_init(&table->owners, 1);
	table->slot_count = (uint32_t)(count + count / 2 + 2);
	table->slots_len = slots_room(table->slot_count * sizeof(*table->slots));
	table->slots = map_slots(table->slots_len);
	if (table->slots == NULL || getrandom(&table->seed, sizeof(table->seed), 0) != sizeof(table->seed)) {
		free_table(table);
		return NULL;
	}
	return table;
}

/* A set with room for its zones; NULL: out of memory. take_table: owned also then; may be NULL. */
static zonedb_t *new_set(table_t *take_table, size_t count)
{
	zonedb_t *db = take_table != NULL ? calloc(1, sizeof(*db)) : NULL;
	if (db == NULL) {
		free_table(take_table);
		return NULL;
	}
	atomic_init(&db->owners, 1);
	db->table = take_table;
	db->seed = take_table->seed;
	db->slots = take_table->slots;
	db->slot_count = take_table->slot_count;
	db->count = (uint32_t)count;
	db->wanted = calloc(1, sizeof(*db->wanted));
	db->zones = malloc((count + 1) * sizeof(zone_t *));
	if (db->zones == NULL || db->wanted == NULL) {
		zonedb_free(db);
		return NULL;
	}
	return db;
}

zonedb_t *zonedb_new(zone_t *const *zones, size_t count)
{
	zonedb_t *db = new_set(new_table(count), count);
	if (db != NULL) {
		set_zones(db, zones);
		fill_slots(db);
	}
	return db;
}

/* ---- A set after another ---- */

typedef struct {
	zone_t **zones;    /* NULL: they are only counted */
	size_t count, max; /* max: how many there are, if `zones` isn't NULL */
} missing_t;

/* Zones of `a` that aren't in `b`; both are in canonical order. */
static void find_missing(zone_t *const *a, size_t a_count, zone_t *const *b, size_t b_count, missing_t *missing)
{
	size_t at = 0;
	for (size_t i = 0; i < a_count && (missing->zones == NULL || missing->count < missing->max); i++) {
		while (at < b_count && b[at] != a[i] && knot_name_cmp(zone_name(b[at]), zone_name(a[i])) < 0) {
			at++;
		}
		if (at < b_count && b[at] == a[i]) {
			at++;
			continue;
		}
		if (missing->zones != NULL) {
			missing->zones[missing->count] = a[i];
		}
		missing->count++;
	}
}

/* Copy the zones, looking only at those that come and go. */
static void set_zones_after(zonedb_t *db, const zonedb_t *old, zone_t *const *zones)
{
	if (db->count > 0) {
		memcpy(db->zones, zones, db->count * sizeof(zone_t *));
	}
	memcpy(db->depth_counts, old->depth_counts, sizeof(db->depth_counts));
	for (size_t i = 0; i < db->coming_count; i++) {
		db->depth_counts[db->coming[i]->label_count]++;
	}
	for (size_t i = 0; i < db->going_count; i++) {
		db->depth_counts[db->coming[db->coming_count + i]->label_count]--;
	}
	set_depths(db);
}

zonedb_t *zonedb_next(const zonedb_t *old, zone_t *const *zones, size_t count)
{
	missing_t coming = { .count = 0 }, going;
	table_t *table = old->table;
	find_missing(zones, count, old->zones, old->count, &coming);
	size_t going_count = old->count - (count - coming.count); /* of those before, all that weren't found */
	if (table->used + coming.count > (uint64_t)table->slot_count * 3 / 4) {
		return zonedb_new(zones, count);
	}
	atomic_fetch_add_explicit(&table->owners, 1, memory_order_relaxed);
	zonedb_t *db = new_set(table, count);
	if (db == NULL) {
		return NULL;
	}
	db->coming = malloc((coming.count + going_count + 1) * sizeof(zone_t *));
	if (db->coming == NULL) {
		zonedb_free(db);
		return NULL;
	}
	db->coming_count = coming.count;
	db->going_count = going_count;
	coming = (missing_t){ .zones = db->coming, .max = db->coming_count };
	going = (missing_t){ .zones = db->coming + db->coming_count, .max = going_count };
	find_missing(zones, count, old->zones, old->count, &coming);
	find_missing(old->zones, old->count, zones, count, &going);
	set_zones_after(db, old, zones);
	return db;
}

void zonedb_link(zonedb_t *db)
{
	for (size_t i = 0; i < db->coming_count; i++) {
		put_slot(db, db->coming[i], hash_zone(db, db->coming[i]));
	}
	for (size_t i = 0; i < db->going_count; i++) {
		take_slot(db, db->coming[db->coming_count + i]);
	}
	free(db->coming);
	db->coming = NULL;
	db->coming_count = db->going_count = 0;
}

zonedb_t *zonedb_ref(const zonedb_t *db)
{
	zonedb_t *shared = (zonedb_t *)(uintptr_t)db;
	atomic_fetch_add_explicit(&shared->owners, 1, memory_order_relaxed);
	return shared;
}

void zonedb_free(zonedb_t *take_db)
{
	if (take_db != NULL && atomic_fetch_sub_explicit(&take_db->owners, 1, memory_order_acq_rel) == 1) {
		free_table(take_db->table);
		free(take_db->coming);
		free(take_db->zones);
		free(take_db->wanted);
		free(take_db);
	}
}

void zonedb_want(const zonedb_t *db, zone_t *zone)
{
	if ((atomic_load_explicit(&zone->noted, memory_order_relaxed) & NOTED_WANTED) != 0 ||
			(atomic_fetch_or_explicit(&zone->noted, NOTED_WANTED, memory_order_relaxed) & NOTED_WANTED) !=
					0) {
		return;
	}
	unsigned number = atomic_fetch_add_explicit(&db->wanted->put, 1, memory_order_relaxed);
	atomic_store_explicit(&db->wanted->zones[number % WANTED_MAX], zone, memory_order_release);
}

zone_t *zonedb_take_wanted(const zonedb_t *db)
{
	wanted_t *wanted = db->wanted;
	unsigned put = atomic_load_explicit(&wanted->put, memory_order_relaxed);
	if (put == wanted->taken) {
		return NULL;
	}
	for (unsigned i = 0; i < WANTED_MAX; i++) {
		zone_t *zone = atomic_exchange_explicit(&wanted->zones[i], NULL, memory_order_acquire);
		if (zone != NULL) {
			return zone;
		}
	}
	wanted->taken = put;
	return NULL;
}

size_t zonedb_count(const zonedb_t *db)
{
	return db->count;
}

unsigned zonedb_depth_max(const zonedb_t *db)
{
	return db->depth_max;
}

zone_t *const *zonedb_zones(const zonedb_t *db)
{
	return db->zones;
}

void zonedb_each(const zonedb_t *db, bool (*visit)(zone_t *zone, void *ctx), void *ctx)
{
	for (size_t i = 0; i < db->count && visit(db->zones[i], ctx); i++) {}
}
