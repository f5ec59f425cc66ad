/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * For bench_sign.py: what signing a zone file costs beside the signatures themselves, what proving it costs, and what
 * 100 changed names cost afterwards. Writes a line of JSON: seconds of CPU time of all threads, bytes of memory at
 * most, of the whole program.
 *
 *     bench_sign ORIGIN FILE nsec|nsec3|opt-out THREADS SIGNED-FILE
 */
#include "libdnssec/sign.h"
#include "src/sign/sign.h"
#include "src/validate/validate.h"
#include "src/zone/dump.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { CHANGED_NAMES = 100, CHANGES = 10, KEYS = 2, CHANGE_SAMPLE = 16 };

static void check(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "bench_sign: %s failed\n", what);
		exit(1);
	}
}

static double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* CPU time since the last call. */
static double lap_s(void)
{
	static double last;
	double now = cpu_s(), lap = now - last;
	last = now;
	return lap;
}

static long peak_bytes(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss * 1024;
}

static double wall_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Signatures of 150 bytes, as of a DS, one after the other. */
static double bare_s(const dnssec_key_t *key)
{
	enum { COUNT = 20000, LEN = 150 };
	dnssec_signer_t *signer;
	uint8_t data[LEN] = { 0 }, sig[DNSSEC_SIGNATURE_MAX];
	size_t len;
	check(dnssec_signer_new(key, false, &signer) == KNOT_OK, "a signer");
	(void)lap_s();
	for (unsigned i = 0; i < COUNT; i++) {
		store_be32(data, i);
		check(dnssec_signer_sign(signer, &(knot_bytes_t){ data, LEN }, 1, sig, &len) == KNOT_OK, "a signature");
	}
	double each = lap_s() / COUNT;
	dnssec_signer_free(signer);
	return each;
}

static zone_contents_t *load(const char *path, const zone_build_params_t *params)
{
	zone_contents_t *zone;
	(void)lap_s();
	check(zone_build_file(path, params, &zone) == KNOT_OK, path);
	printf("{\"load_s\": %.3f", lap_s());
	return zone;
}

static zone_contents_t *sign(zone_contents_t *take_zone, const zone_build_params_t *params, const sign_plan_t *plan)
{
	zone_txn_t *txn;
	sign_result_t result;
	zone_contents_t *zone;
	double each = bare_s(plan->keys[1].key);
	zone_builder_t *builder = zone_builder_new(params->origin);
	const sign_sink_t sink = sign_to_builder(builder);
	check(builder != NULL, "a builder");
	check(zone_txn_begin(take_zone, params, &txn) == KNOT_OK, "beginning");
	(void)lap_s();
	double began = wall_s();
	check(sign_zone(txn, &sink, plan, &result) == KNOT_OK, "signing");
	printf(", \"sign_s\": %.3f, \"sign_wall_s\": %.3f", lap_s(), wall_s() - began);
	each = (each + bare_s(plan->keys[1].key)) / 2; /* before and after: the machine may be busy */
	zone_txn_discard(txn);
	zone_contents_free(take_zone);
	(void)lap_s();
	check(zone_builder_finish(builder, params, &zone) == KNOT_OK, "building");
	printf(", \"build_s\": %.3f, \"peak_bytes\": %ld", lap_s(), peak_bytes());
	printf(", \"signatures\": %" PRIu64 ", \"bare_s\": %.3f", result.rrsig_count,
			each * (double)result.rrsig_count);
	return zone;
}

/* One check of the whole zone. */
static void prove(const zone_contents_t *zone, const sign_plan_t *plan, unsigned sample)
{
	const validate_options_t options = {
		.now_s = plan->now_s, .thread_count = plan->thread_count, .sample = sample
	};
	validate_result_t result;
	(void)lap_s();
	double began = wall_s();
	check(validate_zone(zone, &options, &result) == KNOT_OK, "proving");
	printf(", \"prove_%u_s\": %.3f, \"prove_%u_wall_s\": %.3f", sample, lap_s(), sample, wall_s() - began);
}

static void dump(const zone_contents_t *zone, const zone_build_params_t *params, const char *path)
{
	const zone_dump_params_t how = { .program = "bench_sign", .now_s = params->now_s };
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	(void)lap_s();
	check(fd >= 0 && zone_dump(zone, fd, &how) == KNOT_OK && close(fd) == 0, "writing");
	printf(", \"write_s\": %.3f", lap_s());
}

/* Every so many-th delegation gets a DS. */
static void change_names(const zone_contents_t *zone, zone_txn_t *txn, uint16_t number)
{
	zone_tree_iter_t *iter = malloc(sizeof(*iter));
	size_t step = zone->auth.count / (CHANGED_NAMES + 2), seen = number;
	uint8_t ds[4 + 32] = { (uint8_t)(number >> 8), (uint8_t)number, 13, 2 };
	unsigned changed = 0;
	check(iter != NULL, "memory");
	zone_tree_begin(&zone->arena, &zone->auth, iter);
	for (zone_ref_t ref; changed < CHANGED_NAMES && (ref = zone_tree_next(iter)) != 0;) {
		const zone_node_t *node = zone_at(&zone->arena, ref);
		if ((node->flags & ZONE_NODE_CUT) == 0 || ++seen < step) {
			continue;
		}
		seen = 0;
		knot_err_t err = zone_txn_put(
				txn, zone_node_owner(node), KNOT_TYPE_DS, 3600, (knot_bytes_t){ ds, sizeof(ds) });
		check(err == KNOT_OK || err == KNOT_EISRECORD, "a change");
		changed++;
	}
	free(iter);
	check(changed == CHANGED_NAMES, "finding names to change");
}

/* 100 delegations get a DS, again and again. */
static zone_contents_t *sign_changes(
		zone_contents_t *take_zone, const zone_build_params_t *params, const sign_plan_t *plan)
{
	double signing = 0, building = 0, proving = 0, proving_some = 0;
	uint64_t rrsig_count = 0;
	for (uint16_t i = 1; i <= CHANGES; i++) {
		zone_txn_t *txn;
		sign_result_t result;
		bool is_all;
		zone_contents_t *next;
		check(zone_txn_begin(take_zone, params, &txn) == KNOT_OK, "beginning");
		change_names(take_zone, txn, i);
		(void)lap_s();
		check(sign_change(txn, plan, &is_all, &result) == KNOT_OK && !is_all, "signing a change");
		signing += lap_s();
		check(zone_txn_commit(txn, &next) == KNOT_OK, "building a change");
		building += lap_s();
		rrsig_count += result.rrsig_count;
		validate_options_t options = { .now_s = plan->now_s };
		validate_result_t proven;
		check(validate_change(take_zone, next, &options, &proven) == KNOT_OK && !proven.is_whole, "proving");
		check(proven.verified_count >= result.rrsig_count, "proving all of a change");
		proving += lap_s();
		options.sample = CHANGE_SAMPLE;
		check(validate_change(take_zone, next, &options, &proven) == KNOT_OK, "proving");
		proving_some += lap_s();
		zone_contents_free(take_zone);
		take_zone = next;
	}
	printf(", \"change_prove_s\": %.6f, \"change_prove_some_s\": %.6f", proving / CHANGES, proving_some / CHANGES);
	printf(", \"change_sign_s\": %.6f, \"change_build_s\": %.6f, \"change_signatures\": %" PRIu64 "}\n",
			signing / CHANGES, building / CHANGES, rrsig_count / CHANGES);
	return take_zone;
}

int main(int argc, char **argv)
{
	uint8_t origin[KNOT_NAME_MAX];
	zone_build_params_t params = { .default_ttl = 3600, .checks = ZONE_CHECKS_SOFT, .now_s = (uint64_t)time(NULL) };
	dnssec_key_t *keys[KEYS];
	sign_key_t sign_keys[KEYS];
	knot_bytes_t dnskeys[KEYS];
	if (argc != 6) {
		fprintf(stderr, "bench_sign: arguments?\n");
		return 2;
	}
	check(knot_name_scan(knot_str_of(argv[1]), knot_name_root, origin, &params.origin) == KNOT_OK, "ORIGIN");
	for (unsigned i = 0; i < KEYS; i++) {
		check(dnssec_key_generate(13, 256, i == 0 ? 257 : 256, &keys[i]) == KNOT_OK, "a key");
		sign_keys[i] = (sign_key_t){ keys[i], i == 0, i != 0 };
		dnskeys[i] = dnssec_key_rdata(keys[i]);
	}
	const sign_plan_t plan = { .keys = sign_keys,
		.key_count = KEYS,
		.dnskey = { .ttl = 3600, .rdatas = dnskeys, .rdata_count = KEYS },
		.chain = strcmp(argv[3], "nsec") == 0 ? SIGN_CHAIN_NSEC : SIGN_CHAIN_NSEC3,
		.nsec3 = { .algorithm = 1, .salt = (const uint8_t *)"" },
		.is_opt_out = strcmp(argv[3], "opt-out") == 0,
		.now_s = params.now_s,
		.lifetime_s = 14 * 86400,
		.refresh_s = 86400,
		.thread_count = (unsigned)atoi(argv[4]) };
	zone_contents_t *zone = sign(load(argv[2], &params), &params, &plan);
	static const unsigned samples[] = { 1, 8, 64 };
	for (unsigned i = 0; i < KNOT_LEN(samples); i++) {
		prove(zone, &plan, samples[i]);
	}
	dump(zone, &params, argv[5]);
	zone_contents_free(sign_changes(zone, &params, &plan));
	for (unsigned i = 0; i < KEYS; i++) {
		dnssec_key_free(keys[i]);
	}
	return 0;
}
