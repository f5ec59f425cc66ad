/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads a zone file and looks names up: zone_bench FILE ORIGIN [lookups]
 * Prints processor time to load, memory, nanoseconds per lookup (existing names and missing ones, both in random order).
 */
#include "src/zone/build.h"
#include "src/zone/lookup.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);      /* other load on the machine should not count */
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double resident_mb(void)
{
	long pages = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (f != NULL) {
		if (fscanf(f, "%ld %ld", &pages, &resident) != 2) {
			resident = 0;
		}
		fclose(f);
	}
	return (double)resident * 4096 / 1e6;
}

static void on_message(zone_message_level_t level, const char *text, void *ctx)
{
	static const char *const names[] = { "notice", "warning", "error" };
	unsigned *left = ctx;
	if (*left > 0) {
		(*left)--;
		fprintf(stderr, "%s: %s\n", names[level], text);
	}
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

typedef struct {
	uint8_t wire[64];
	uint8_t len, label_count;
} query_t;

static query_t make_query(const zone_node_t *node, bool is_missing, uint64_t random)
{
	query_t q = { .len = node->owner_len, .label_count = node->owner_label_count };
	if (q.len > sizeof(q.wire) || (is_missing && (node->flags & ZONE_NODE_APEX))) {
		q.len = 0;
		return q;
	}
	memcpy(q.wire, node->owner, node->owner_len);
	for (unsigned i = 0; is_missing && i < 6 && i < q.wire[0]; i++) {
		q.wire[1 + i] = (uint8_t)('a' + (random >> 5 * i) % 26);
	}
	return q;
}

static void run(const zone_contents_t *zone, const char *what, const query_t *queries, size_t count)
{
	unsigned kinds[5] = { 0 };
	double begin = now_s();
	for (size_t i = 0; i < count; i++) {
		kinds[zone_lookup(zone, (knot_name_t){ queries[i].wire, queries[i].len, queries[i].label_count }).kind]++;
	}
	printf("%-8s %6.1f ns per lookup (found %u, delegation %u, nxdomain %u)\n", what, (now_s() - begin) * 1e9 / (double)count,
	       kinds[ZONE_FOUND], kinds[ZONE_DELEGATION], kinds[ZONE_NXDOMAIN]);
}

static void bench_lookups(const zone_contents_t *zone, size_t count)
{
	const zone_node_t **nodes = malloc(zone->auth.count * sizeof(*nodes));
	query_t *queries = malloc(count * sizeof(*queries));
	zone_tree_iter_t *iter = malloc(sizeof(*iter));
	if (nodes == NULL || queries == NULL || iter == NULL) {
		exit(1);
	}
	size_t have = 0;
	zone_tree_begin(&zone->arena, &zone->auth, iter);
	for (zone_ref_t ref; (ref = zone_tree_next(iter)) != 0;) {
		nodes[have++] = zone_at(&zone->arena, ref);
	}
	uint64_t state = 88172645463325252u;
	for (unsigned missing = 0; missing < 2; missing++) {
		size_t made = 0;
		while (made < count) {
			uint64_t r = next_random(&state);
			const zone_node_t *node = nodes[r % have];
			queries[made] = make_query(node, missing, next_random(&state));
			made += queries[made].len > 0;
		}
		run(zone, missing ? "miss" : "hit", queries, count);
	}
	free(nodes);
	free(queries);
	free(iter);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: zone_bench FILE ORIGIN [lookups]\n");
		return 1;
	}
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t origin;
	if (knot_name_scan(knot_str_of(argv[2]), knot_name_root, wire, &origin) != KNOT_OK) {
		return 1;
	}
	unsigned messages_left = 10;
	zone_build_params_t params = { .origin = origin, .default_ttl = 3600, .now_s = (uint64_t)time(NULL),
	                               .on_message = on_message, .ctx = &messages_left };
	double before_mb = resident_mb(), begin = now_s();
	zone_contents_t *zone;
	knot_err_t err = zone_build_file(argv[1], &params, &zone);
	if (err != KNOT_OK) {
		fprintf(stderr, "%s\n", knot_strerror(err));
		return 1;
	}
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("load     %6.2f s of processor time, %.1f MB resident, %.1f MB peak\n", now_s() - begin, resident_mb() - before_mb,
	       (double)usage.ru_maxrss / 1e3);
	printf("names    %u auth, %u glue, %u nsec3; %llu records, %.1f MB in chunks, %.1f bytes per name\n", zone->auth.count,
	       zone_glue_tree(zone)->count, zone_nsec3_tree(zone)->count, (unsigned long long)zone->record_count,
	       (double)zone_arena_size(zone->store) / 1e6,
	       (double)zone_arena_size(zone->store) / (zone->auth.count + zone_glue_tree(zone)->count + zone_nsec3_tree(zone)->count));
	size_t lookups = argc > 3 ? strtoul(argv[3], NULL, 10) : 1000000;
	if (lookups > 0) {
		bench_lookups(zone, lookups);
	}
	zone_contents_free(zone);
	return 0;
}
