/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A year of secondary zones: refresh, retry and expire with primaries that die and return, answers that are lost,
 * NOTIFY, slow and broken transfers, restarts and crashes of the secondary. See refresh_world.h.
 *
 *     refresh_sim [-s seed] [-n zones of each part] [-d days] [-z the only zone]
 */
#include "tests/sim/refresh_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { HOUR = 3600, DAY = 24 * HOUR };

static const world_weather_t parts[] = {
	{ "calm", 0, 0, 0, 0, 4000 * (uint64_t)DAY, HOUR, 0, 6 * HOUR },
	{ "loss", 100000, 10000, 10000, 300000, 4000 * (uint64_t)DAY, HOUR, 0, 6 * HOUR },
	{ "deaths", 10000, 1000, 1000, 100000, 10 * DAY, DAY, 0, 6 * HOUR },
	{ "restarts", 10000, 1000, 1000, 100000, 30 * DAY, 6 * HOUR, 5 * DAY, 6 * HOUR },
	{ "all of it", 200000, 50000, 50000, 500000, 5 * DAY, 2 * DAY, 5 * DAY, 3 * HOUR },
};

/* What a part is about happens in it, or it checks nothing. */
static bool has_happened(const world_weather_t *part, const world_counts_t *counts)
{
	bool is_calm = part->lost == 0;
	return counts->updates > 0 && counts->waits > 0 && (is_calm || counts->failed_runs > 0) &&
	       (part->up_s > 100 * (uint64_t)DAY || counts->expirations > 0) &&
	       (part->restart_s == 0 || counts->restarts > 0);
}

static bool run_part(const world_weather_t *part, uint64_t seed, uint64_t zones, uint64_t days, int64_t only)
{
	world_counts_t counts = { 0 };
	char fault[WORLD_FAULT_MAX];
	for (uint64_t i = only >= 0 ? (uint64_t)only : 0; i < (only >= 0 ? (uint64_t)only + 1 : zones); i++) {
		uint64_t zone_seed = sim_mix(seed * 1000003 + i) + (uint64_t)(part - parts);
		if (!world_run(zone_seed, part, days * DAY, &counts, fault)) {
			printf("not ok %s: zone %llu, %s; again: tests/sim/refresh_sim -s %llu -d %llu -z %llu\n",
					part->name, (unsigned long long)i, fault, (unsigned long long)seed,
					(unsigned long long)days, (unsigned long long)i);
			return false;
		}
	}
	bool is_fine = only >= 0 || zones < 100 || has_happened(part, &counts);
	printf("%s %s: %llu runs, %llu failed, %llu questions, %llu updates, %llu NOTIFY, %llu expirations, %llu "
	       "restarts, "
	       "%llu waits for the pinned primary; behind at most %llu s\n",
			is_fine ? "ok" : "not ok", part->name, (unsigned long long)counts.runs,
			(unsigned long long)counts.failed_runs, (unsigned long long)counts.questions,
			(unsigned long long)counts.updates, (unsigned long long)counts.notifies,
			(unsigned long long)counts.expirations, (unsigned long long)counts.restarts,
			(unsigned long long)counts.waits, (unsigned long long)counts.behind_max_s);
	return is_fine;
}

int main(int argc, char *argv[])
{
	uint64_t seed = 1, zones = 200, days = 365;
	int64_t only = -1;
	for (int option; (option = getopt(argc, argv, "s:n:d:z:")) != -1;) {
		switch (option) {
		case 's': seed = strtoull(optarg, NULL, 10); break;
		case 'n': zones = strtoull(optarg, NULL, 10); break;
		case 'd': days = strtoull(optarg, NULL, 10); break;
		case 'z': only = (int64_t)strtoull(optarg, NULL, 10); break;
		default: return 2;
		}
	}
	bool is_fine = true;
	for (size_t i = 0; i < KNOT_LEN(parts); i++) {
		is_fine = run_part(&parts[i], seed, zones, days, only) && is_fine;
	}
	return is_fine ? 0 : 1;
}
