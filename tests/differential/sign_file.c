/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * For tests/differential/test_sign.py: signs a zone file with new keys and writes the result to standard output.
 *
 *     sign_file ORIGIN FILE nsec|nsec3|opt-out SALT ITERATIONS THREADS NOW [FILE-AFTER]
 *
 * SALT is hexadecimal or "-", NOW in seconds since 1970. With FILE-AFTER the zone of FILE is signed, and then what the
 * zone of FILE-AFTER has otherwise is signed as a change on top of it; the result must be that zone. Standard error
 * says how much was signed.
 */
#include "src/sign/sign.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "libknot/base/encode.h"
#include "src/zone/diff.h"
#include "src/zone/dump.h"

static void check(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "sign_file: %s failed\n", what);
		exit(1);
	}
}

typedef struct {
	uint8_t origin_wire[KNOT_NAME_MAX], salt[255];
	zone_build_params_t params;
	sign_plan_t plan;
	sign_key_t keys[2];
	knot_bytes_t dnskeys[2];
} work_t;

static void work_keys(work_t *work)
{
	dnssec_key_t *ksk, *zsk;
	check(dnssec_key_generate(13, 256, 257, &ksk) == KNOT_OK, "making a KSK");
	check(dnssec_key_generate(13, 256, 256, &zsk) == KNOT_OK, "making a ZSK");
	work->keys[0] = (sign_key_t){ ksk, true, false };
	work->keys[1] = (sign_key_t){ zsk, false, true };
	work->dnskeys[0] = dnssec_key_rdata(ksk);
	work->dnskeys[1] = dnssec_key_rdata(zsk);
	work->plan.keys = work->keys;
	work->plan.key_count = 2;
	work->plan.dnskey = (sign_key_set_t){ .ttl = 3600, .rdatas = work->dnskeys, .rdata_count = 2 };
}

static void work_read(work_t *work, char **args)
{
	knot_name_t origin;
	knot_str_t salt = strcmp(args[4], "-") == 0 ? knot_str_of("") : knot_str_of(args[4]);
	size_t salt_len = 0;
	check(knot_name_scan(knot_str_of(args[1]), knot_name_root, work->origin_wire, &origin) == KNOT_OK, "ORIGIN");
	check(salt.len < sizeof(work->salt) && knot_hex_scan(salt, work->salt, &salt_len), "SALT");
	bool is_nsec = strcmp(args[3], "nsec") == 0;
	work->plan = (sign_plan_t){ .chain = is_nsec ? SIGN_CHAIN_NSEC : SIGN_CHAIN_NSEC3,
		.nsec3 = { .algorithm = 1,
				.salt_len = (uint8_t)salt_len,
				.salt = work->salt,
				.iterations = (uint16_t)atoi(args[5]) },
		.is_opt_out = strcmp(args[3], "opt-out") == 0,
		.thread_count = (unsigned)atoi(args[6]),
		.now_s = strtoull(args[7], NULL, 10),
		.lifetime_s = 14 * 86400,
		.refresh_s = 86400 };
	work->params = (zone_build_params_t){ .origin = origin, .default_ttl = 3600, .checks = ZONE_CHECKS_SOFT };
	work->params.now_s = work->plan.now_s;
	work_keys(work);
}

static zone_contents_t *work_load(const work_t *work, const char *path)
{
	zone_contents_t *zone;
	check(zone_build_file(path, &work->params, &zone) == KNOT_OK, path);
	return zone;
}

/* From a version to a signed one, by way of a builder. */
static zone_contents_t *work_sign(const work_t *work, const zone_contents_t *zone)
{
	zone_txn_t *txn;
	zone_contents_t *signed_zone;
	sign_result_t result;
	zone_builder_t *builder = zone_builder_new(work->params.origin);
	const sign_sink_t sink = sign_to_builder(builder);
	check(builder != NULL, "a builder");
	check(zone_txn_begin(zone, &work->params, &txn) == KNOT_OK, "beginning");
	check(sign_zone(txn, &sink, &work->plan, &result) == KNOT_OK, "signing");
	zone_txn_discard(txn);
	check(zone_builder_finish(builder, &work->params, &signed_zone) == KNOT_OK, "building");
	fprintf(stderr, "signatures %" PRIu64 "\n", result.rrsig_count);
	return signed_zone;
}

static bool edit(const zone_rr_t *rr, bool added, void *ctx)
{
	zone_txn_t *txn = ctx;
	knot_err_t err = added ? zone_txn_put(txn, rr->owner, rr->type, rr->ttl, rr->rdata)
			       : zone_txn_remove(txn, rr->owner, rr->type, rr->rdata);
	check(err == KNOT_OK || err == KNOT_EISRECORD, "editing");
	return true;
}

static zone_contents_t *work_change(const work_t *work, const zone_contents_t *signed_zone,
		const zone_contents_t *before, const zone_contents_t *after)
{
	zone_txn_t *txn;
	zone_contents_t *changed;
	sign_result_t result;
	bool is_all;
	check(zone_txn_begin(signed_zone, &work->params, &txn) == KNOT_OK, "beginning a change");
	check(zone_diff(before, after, edit, txn) == KNOT_OK, "comparing");
	check(sign_change(txn, &work->plan, &is_all, &result) == KNOT_OK, "signing the change");
	check(zone_txn_commit(txn, &changed) == KNOT_OK, "building the change");
	fprintf(stderr, "change %s signatures %" PRIu64 "\n", is_all ? "all" : "part", result.rrsig_count);
	return changed;
}

int main(int argc, char **argv)
{
	static work_t work;
	if (argc != 8 && argc != 9) {
		fprintf(stderr, "arguments?\n");
		return 2;
	}
	work_read(&work, argv);
	zone_contents_t *before = work_load(&work, argv[2]), *result = work_sign(&work, before);
	if (argc == 9) {
		zone_contents_t *after = work_load(&work, argv[8]), *base = result;
		result = work_change(&work, base, before, after);
		zone_contents_free(after);
		zone_contents_free(base);
	}
	const zone_dump_params_t dump = { .program = "sign_file", .now_s = work.plan.now_s };
	check(zone_dump(result, STDOUT_FILENO, &dump) == KNOT_OK, "writing");
	zone_contents_free(before);
	zone_contents_free(result);
	dnssec_key_free((dnssec_key_t *)(uintptr_t)work.keys[0].key);
	dnssec_key_free((dnssec_key_t *)(uintptr_t)work.keys[1].key);
	return 0;
}
