/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sorting groups, which are too many for the cache and together too large to exist twice.
 *
 * Partition. Blocks are read one after the other, and their groups are distributed to buckets, which are ranges of
 * names. Blocks that have been read are reused for writing, so memory grows by only one block for each bucket.
 *
 * Sort. The buckets, each small enough for the cache, are sorted one after the other: a radix sort of (prefix,
 * address), where names are compared if ten positions don't differ. Then the groups are copied in order and those of
 * one owner joined. The bucket's blocks are reused, too.
 *
 * Groups that are in order already stay where they are. A few runs that are in order are merged: each group is copied
 * once.
 */
#include "src/zone/collect_blocks.h"

#include <assert.h>
#include <stdlib.h>

enum {
	BUCKET_SIZE = 1024 * 1024, /* bytes of groups; half a second-level cache */
	BUCKETS_MAX = 128,
	RADIX_BITS = 8,
	RADIX_SIZE = 1 << RADIX_BITS,
	RADIX_PASSES = 8,
	RADIX_MIN = 128, /* entries from which on a radix sort is faster than one by comparisons */
};

typedef struct {
	uint64_t prefix;
	zone_group_t *group;
	size_t seq; /* order of appearance */
} entry_t;

typedef struct {
	zone_collect_t *collect;
	zone_blocks_t buckets[BUCKETS_MAX];
	uint64_t bounds[BUCKETS_MAX]; /* a bucket's smallest prefix */
	unsigned bucket_count;
	entry_t *entries, *spare; /* room for the entries of a bucket, twice */
	size_t entry_max;
	zone_blocks_t out;
	zone_group_t *last; /* of `out` */
	size_t out_count;
} sort_t;

static int cmp_u64(const void *va, const void *vb)
{
	uint64_t a = *(const uint64_t *)va, b = *(const uint64_t *)vb;
	return (a > b) - (a < b);
}

/* Choose the buckets' bounds from the first group of each block. KNOT_ENOMEM. */
static knot_err_t choose_bounds(sort_t *s)
{
	size_t blocks = 0, size = 0, count = 0;
	for (const zone_block_mem_t *b = s->collect->groups.first; b != NULL; b = b->next) {
		blocks++;
		size += b->used;
	}
	s->bucket_count = 1;
	size_t wanted = size / BUCKET_SIZE < BUCKETS_MAX ? size / BUCKET_SIZE : BUCKETS_MAX;
	if (wanted < 2) {
		return KNOT_OK;
	}
	uint64_t *sample = malloc(blocks * sizeof(*sample));
	if (sample == NULL) {
		return KNOT_ENOMEM;
	}
	for (const zone_block_mem_t *b = s->collect->groups.first; b != NULL; b = b->next) {
		const zone_group_t *group = zone_block_next(b, NULL);
		if (group != NULL) {
			sample[count++] = group->prefix;
		}
	}
	qsort(sample, count, sizeof(*sample), cmp_u64);
	for (size_t i = 1; i < wanted; i++) {
		uint64_t bound = sample[i * count / wanted];
		if (bound > s->bounds[s->bucket_count - 1]) {
			s->bounds[s->bucket_count++] = bound;
		}
	}
	free(sample);
	return KNOT_OK;
}

static unsigned sort_bucket_of(const sort_t *s, uint64_t prefix)
{
	unsigned low = 0, high = s->bucket_count;
	while (high - low > 1) {
		unsigned middle = (low + high) / 2;
		if (s->bounds[middle] <= prefix) {
			low = middle;
		} else {
			high = middle;
		}
	}
	return low;
}

static knot_err_t partition(sort_t *s)
{
	zone_collect_t *collect = s->collect;
	zone_block_mem_t *block;
	while ((block = collect->groups.first) != NULL) {
		for (const zone_group_t *group = NULL; (group = zone_block_next(block, group)) != NULL;) {
			void *to = zone_blocks_room(
					collect, &s->buckets[sort_bucket_of(s, group->prefix)], group->size);
			if (to == NULL) {
				return KNOT_ENOMEM;
			}
			memcpy(to, group, group->size);
		}
		collect->groups.first = block->next;
		zone_blocks_recycle(collect, block);
	}
	for (unsigned i = 0; i < s->bucket_count; i++) {
		zone_blocks_end(&s->buckets[i]);
	}
	return KNOT_OK;
}

/* ---- One bucket ---- */

static int cmp_entries(const void *va, const void *vb)
{
	const entry_t *a = va, *b = vb;
	int order = zone_group_order(a->group, b->group);
	return order != 0 ? order : (a->seq > b->seq) - (a->seq < b->seq);
}

/* Stable, by prefix, from the last digit to the first; digits that are the same everywhere are skipped. */
static void radix_sort(sort_t *s, size_t count)
{
	static_assert(RADIX_BITS * RADIX_PASSES >= ZONE_PREFIX_BITS * ZONE_PREFIX_POSITIONS, "all of a prefix");
	uint32_t counts[RADIX_PASSES][RADIX_SIZE] = { 0 };
	for (size_t i = 0; i < count; i++) {
		for (unsigned pass = 0; pass < RADIX_PASSES; pass++) {
			counts[pass][s->entries[i].prefix >> RADIX_BITS * pass & (RADIX_SIZE - 1)]++;
		}
	}
	for (unsigned pass = 0; pass < RADIX_PASSES; pass++) {
		unsigned shift = RADIX_BITS * pass;
		uint32_t at = 0, *starts = counts[pass];
		if (starts[s->entries[0].prefix >> shift & (RADIX_SIZE - 1)] == count) {
			continue;
		}
		for (unsigned i = 0; i < RADIX_SIZE; i++) {
			uint32_t here = starts[i];
			starts[i] = at;
			at += here;
		}
		for (size_t i = 0; i < count; i++) {
			s->spare[starts[s->entries[i].prefix >> shift & (RADIX_SIZE - 1)]++] = s->entries[i];
		}
		entry_t *sorted = s->spare;
		s->spare = s->entries;
		s->entries = sorted;
	}
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && s->entries[end].prefix == s->entries[i].prefix;) {
			end++;
		}
		if (end - i > 1) {
			qsort(s->entries + i, end - i, sizeof(*s->entries), cmp_entries);
		}
	}
}

static bool make_entries(sort_t *s, const zone_blocks_t *bucket, size_t *ret_count)
{
	size_t count = 0;
	for (const zone_block_mem_t *b = bucket->first; b != NULL; b = b->next) {
		for (zone_group_t *group = NULL; (group = zone_block_next(b, group)) != NULL; count++) {
			if (count == s->entry_max) {
				size_t max = 2 * count + 32;
				entry_t *grown = realloc(s->entries, max * sizeof(*grown));
				s->entries = grown != NULL ? grown : s->entries;
				entry_t *spare = grown != NULL ? realloc(s->spare, max * sizeof(*spare)) : NULL;
				if (spare == NULL) {
					return false;
				}
				s->spare = spare;
				s->entry_max = max;
			}
			s->entries[count] = (entry_t){ group->prefix, group, count };
		}
	}
	*ret_count = count;
	return true;
}

/* Append a group to the result, its records to the last group if that is of the same owner. */
static knot_err_t put_group(sort_t *s, const zone_group_t *group)
{
	zone_group_t *last = s->last;
	bool is_same = last != NULL && last->prefix == group->prefix && last->owner_len == group->owner_len &&
		       memcmp(last->owner, group->owner, group->owner_len) == 0;
	if (!is_same) {
		s->last = zone_blocks_room(s->collect, &s->out, group->size);
		if (s->last == NULL) {
			return KNOT_ENOMEM;
		}
		memcpy(s->last, group, group->size);
		s->out_count++;
		return KNOT_OK;
	}
	size_t head = sizeof(*group) + group->owner_len, len = group->size - head;
	knot_err_t err = zone_group_grow(s->collect, &s->out, &s->last, len);
	if (err == KNOT_OK) {
		memcpy((uint8_t *)s->last + s->last->size - len, (const uint8_t *)group + head, len);
		s->last->kinds |= group->kinds;
	}
	return err;
}

static knot_err_t sort_bucket(sort_t *s, zone_blocks_t *bucket)
{
	size_t count;
	if (!make_entries(s, bucket, &count)) {
		return KNOT_ENOMEM;
	}
	if (count >= RADIX_MIN) {
		radix_sort(s, count);
	} else if (count > 0) {
		qsort(s->entries, count, sizeof(*s->entries), cmp_entries);
	}
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < count && err == KNOT_OK; i++) {
		err = put_group(s, s->entries[i].group);
	}
	for (zone_block_mem_t *b; err == KNOT_OK && (b = bucket->first) != NULL;) {
		bucket->first = b->next;
		zone_blocks_recycle(s->collect, b);
	}
	return err;
}

/* On failure the remaining blocks become one list again, to be freed with the collection. */
static void give_back(sort_t *s)
{
	zone_blocks_t *groups = &s->collect->groups;
	for (unsigned i = 0; i < s->bucket_count; i++) {
		for (zone_block_mem_t *b; (b = s->buckets[i].first) != NULL;) {
			s->buckets[i].first = b->next;
			b->next = groups->first;
			groups->first = b;
		}
	}
	for (zone_block_mem_t *b; (b = s->out.first) != NULL;) {
		s->out.first = b->next;
		b->next = groups->first;
		groups->first = b;
	}
}

/* ---- Runs ---- */

/* A place in a run that isn't empty. */
typedef struct {
	zone_blocks_t *run;
	const zone_group_t *next; /* in the run's first block; NULL: before its beginning or at its end */
} reader_t;

/* Step on; blocks that have been read are reused. */
static void read_next(zone_collect_t *collect, reader_t *reader)
{
	zone_block_mem_t *block = reader->run->first;
	reader->next = zone_block_next(block, reader->next);
	while (reader->next == NULL && block != NULL) {
		reader->run->first = block->next;
		zone_blocks_recycle(collect, block);
		block = reader->run->first;
		reader->next = block != NULL ? zone_block_next(block, NULL) : NULL;
	}
}

/* Of one owner, the group in the first run came first. */
static knot_err_t merge_runs(sort_t *s, unsigned count)
{
	reader_t readers[ZONE_RUNS_MAX];
	for (unsigned i = 0; i < count; i++) {
		readers[i] = (reader_t){ &s->collect->runs[i], NULL };
		read_next(s->collect, &readers[i]);
	}
	for (;;) {
		reader_t *least = NULL;
		for (unsigned i = 0; i < count; i++) {
			bool is_less = readers[i].next != NULL &&
				       (least == NULL || zone_group_order(readers[i].next, least->next) < 0);
			least = is_less ? &readers[i] : least;
		}
		if (least == NULL) {
			return KNOT_OK;
		}
		knot_err_t err = put_group(s, least->next);
		if (err != KNOT_OK) {
			return err;
		}
		read_next(s->collect, least);
	}
}

/* Merge the runs and the groups that fit no run into one list: groups of one owner in order of appearance. */
static void join_lists(zone_collect_t *collect)
{
	zone_blocks_t *lists[ZONE_RUNS_MAX + 1];
	for (unsigned i = 0; i < ZONE_RUNS_MAX; i++) {
		lists[i] = &collect->runs[i];
	}
	lists[ZONE_RUNS_MAX] = &collect->rest;
	for (unsigned i = 0; i <= ZONE_RUNS_MAX; i++) {
		if (lists[i]->first != NULL) {
			if (collect->groups.last != NULL) {
				collect->groups.last->next = lists[i]->first;
			} else {
				collect->groups.first = lists[i]->first;
			}
			collect->groups.last = lists[i]->last;
			*lists[i] = (zone_blocks_t){ 0 };
		}
	}
}

static unsigned count_runs(const zone_collect_t *collect)
{
	unsigned count = 0;
	while (count < ZONE_RUNS_MAX && collect->runs[count].first != NULL) {
		count++;
	}
	return count;
}

static knot_err_t sort_groups(sort_t *s)
{
	zone_collect_t *collect = s->collect;
	if (collect->rest.first == NULL) {
		return merge_runs(s, count_runs(collect));
	}
	join_lists(collect);
	knot_err_t err = choose_bounds(s);
	if (err == KNOT_OK && s->bucket_count > 1) {
		err = partition(s);
	} else if (err == KNOT_OK) {
		s->buckets[0] = collect->groups;
		collect->groups.first = NULL;
	}
	for (unsigned i = 0; i < s->bucket_count && err == KNOT_OK; i++) {
		err = sort_bucket(s, &s->buckets[i]);
	}
	return err;
}

static void take_result(sort_t *s)
{
	zone_collect_t *collect = s->collect;
	zone_blocks_end(&s->out);
	collect->groups = s->out;
	collect->last = s->last;
	collect->group_count = s->out_count;
}

knot_err_t zone_collect_sort(zone_collect_t *collect)
{
	for (unsigned i = 0; i < ZONE_RUNS_MAX; i++) {
		zone_blocks_end(&collect->runs[i]);
	}
	zone_blocks_end(&collect->rest);
	if (count_runs(collect) < 2) {
		join_lists(collect);
		return KNOT_OK;
	}
	sort_t *s = calloc(1, sizeof(*s));
	if (s == NULL) {
		return KNOT_ENOMEM;
	}
	s->collect = collect;
	knot_err_t err = sort_groups(s);
	if (err == KNOT_OK) {
		take_result(s);
	} else {
		give_back(s);
	}
	zone_blocks_drop_spare(collect);
	free(s->entries);
	free(s->spare);
	free(s);
	return err;
}
