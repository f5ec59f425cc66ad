/* SPDX-License-Identifier: BSD-2-Clause */
/* keystore-test and keystore-bench: what a keystore can do, and how fast. Keys that are made for it are removed. */
#include "src/tools/managekeys/keymgr.h"

#include "libdnssec/sign.h"
#include "libdnssec/store.h"
#include "libknot/base/number.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BENCH_S = 3, THREADS_MAX = 256, NAME_MAX_LEN = 32 };

/** Keys that are tried, in the order of the output. */
static const struct {
	uint8_t algorithm;
	uint16_t bits;
} kinds[] = {
	{ DNSSEC_RSASHA256, 1024 },
	{ DNSSEC_RSASHA256, 2048 },
	{ DNSSEC_RSASHA256, 4096 },
	{ DNSSEC_RSASHA512, 1024 },
	{ DNSSEC_RSASHA512, 2048 },
	{ DNSSEC_RSASHA512, 4096 },
	{ DNSSEC_ECDSAP256SHA256, 256 },
	{ DNSSEC_ECDSAP384SHA384, 384 },
	{ DNSSEC_ED25519, 256 },
	{ DNSSEC_ED448, 456 },
};

static void keystore_name_kind(size_t kind, char ret_name[static NAME_MAX_LEN])
{
	snprintf(ret_name, NAME_MAX_LEN, "%s %ub", dnssec_algorithm_find(kinds[kind].algorithm)->name,
			kinds[kind].bits);
}

/* ---- The store ---- */

/* Complains. */
static knot_err_t keystore_open(const keymgr_t *run, const conf_keystore_t **ret_conf, dnssec_store_t **ret_store)
{
	const conf_keystore_t *conf = conf_keystore_find(run->conf, run->subject != NULL ? run->subject : "");
	if (conf == NULL) {
		(void)keymgr_complain("keystore '%s' not configured", run->subject);
		return KNOT_CONF_ENOTEXIST;
	}
	knot_err_t err = zone_keys_open_store(&run->env, conf, ret_store);
	if (err != KNOT_OK) {
		(void)keymgr_complain("failed to open '%s' keystore (%s)",
				run->subject != NULL ? run->subject : "default", knot_strerror(err));
		return err;
	}
	*ret_conf = conf;
	return KNOT_OK;
}

static void keystore_print_head(const conf_keystore_t *conf)
{
	const char *type = conf->backend == CONF_KEYSTORE_PKCS11 ? "PKCS #11" : "PEM";
	if (conf->id[0] == '\0') {
		printf("Keystore default, type %s", type);
	} else {
		printf("Keystore id '%s', type %s", conf->id, type);
	}
}

/* ---- Test ---- */

static bool keystore_can_use(const dnssec_key_t *key)
{
	const knot_bytes_t piece = { (const uint8_t *)"keymgr", 6 };
	uint8_t signature[DNSSEC_SIGNATURE_MAX];
	size_t len;
	dnssec_signer_t *signer = NULL;
	dnssec_verifier_t *verifier = NULL;
	bool is_good = dnssec_signer_new(key, false, &signer) == KNOT_OK &&
		       dnssec_signer_sign(signer, &piece, 1, signature, &len) == KNOT_OK &&
		       dnssec_verifier_new(key, &verifier) == KNOT_OK &&
		       dnssec_verifier_verify(verifier, &piece, 1, (knot_bytes_t){ signature, len }) == KNOT_OK;
	dnssec_signer_free(signer);
	dnssec_verifier_free(verifier);
	return is_good;
}

/** What a store can do with a kind of key. */
typedef struct {
	bool generates, imports, removes, uses;
} keystore_can_t;

/* A key that was stored: can it be used, and removed? */
static void keystore_try_key(const dnssec_store_t *store, const char *id, dnssec_key_t *key, keystore_can_t *can)
{
	can->uses = dnssec_store_get(store, id, key) == KNOT_OK && keystore_can_use(key);
	can->removes = dnssec_store_remove(store, id) == KNOT_OK && !dnssec_store_has(store, id);
}

static keystore_can_t keystore_try(const dnssec_store_t *store, size_t kind)
{
	char id[DNSSEC_KEY_ID_MAX + 1];
	keystore_can_t can = { 0 };
	dnssec_key_t *key, *public;
	uint8_t algorithm = kinds[kind].algorithm;
	can.generates = dnssec_store_generate(store, algorithm, kinds[kind].bits, DNSSEC_FLAG_ZONE, "", id, &key) ==
			KNOT_OK;
	if (can.generates) {
		keystore_try_key(store, id, key, &can);
		dnssec_key_free(key);
	}
	if (dnssec_key_generate(algorithm, kinds[kind].bits, DNSSEC_FLAG_ZONE, &key) != KNOT_OK) {
		return can;
	}
	can.imports = dnssec_store_put(store, key, "", id) == KNOT_OK;
	if (can.imports && dnssec_key_from_rdata(dnssec_key_rdata(key), &public) == KNOT_OK) {
		keystore_can_t imported = { 0 };
		keystore_try_key(store, id, public, &imported);
		can.uses = imported.uses && (can.uses || !can.generates);
		can.removes = imported.removes && (can.removes || !can.generates);
		dnssec_key_free(public);
	}
	dnssec_key_free(key);
	return can;
}

done_t keymgr_run_keystore_test(const keymgr_t *run)
{
	const conf_keystore_t *conf;
	dnssec_store_t *store;
	knot_err_t err = keystore_open(run, &conf, &store);
	if (err != KNOT_OK) {
		return (done_t){ .err = err, .is_told = true };
	}
	keystore_print_head(conf);
	printf("\n\n%-20s %9s %9s %9s %9s\n", "Algorithm", "Generate", "Import", "Remove", "Use");
	for (size_t i = 0; i < KNOT_LEN(kinds); i++) {
		char name[NAME_MAX_LEN];
		keystore_name_kind(i, name);
		keystore_can_t can = keystore_try(store, i);
		printf("%-20s %9s %9s %9s %9s\n", name, can.generates ? "yes" : "no", can.imports ? "yes" : "no",
				can.removes ? "yes" : "no", can.uses ? "yes" : "no");
		fflush(stdout);
	}
	dnssec_store_close(store);
	return keymgr_shown(KNOT_OK);
}

/* ---- Bench ---- */

/** What the threads of a row share. */
typedef struct {
	const dnssec_key_t *key;
	struct timespec end;
	atomic_uint_fast64_t count;
	atomic_bool has_failed;
} keystore_bench_t;

static bool bench_is_over(const keystore_bench_t *bench)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > bench->end.tv_sec || (now.tv_sec == bench->end.tv_sec && now.tv_nsec >= bench->end.tv_nsec);
}

static void *bench_sign(void *ctx)
{
	keystore_bench_t *bench = ctx;
	uint8_t data[32] = { 0 }, signature[DNSSEC_SIGNATURE_MAX];
	const knot_bytes_t piece = { data, sizeof(data) };
	size_t len;
	uint64_t count = 0;
	dnssec_signer_t *signer = NULL;
	knot_err_t err = dnssec_signer_new(bench->key, false, &signer);
	while (err == KNOT_OK && !bench_is_over(bench)) {
		err = dnssec_signer_sign(signer, &piece, 1, signature, &len);
		data[count++ % sizeof(data)]++;
	}
	dnssec_signer_free(signer);
	atomic_fetch_add(&bench->count, count);
	if (err != KNOT_OK) {
		atomic_store(&bench->has_failed, true);
	}
	return NULL;
}

static bool bench_run(const dnssec_key_t *key, unsigned threads, uint64_t *ret_per_s)
{
	pthread_t ids[THREADS_MAX];
	keystore_bench_t bench = { .key = key };
	unsigned started = 0;
	(void)clock_gettime(CLOCK_MONOTONIC, &bench.end);
	bench.end.tv_sec += BENCH_S;
	while (started < threads && pthread_create(&ids[started], NULL, bench_sign, &bench) == 0) {
		started++;
	}
	for (unsigned i = 0; i < started; i++) {
		(void)pthread_join(ids[i], NULL);
	}
	*ret_per_s = atomic_load(&bench.count) / BENCH_S;
	return started == threads && !atomic_load(&bench.has_failed);
}

/* A key of the store, generated there or, if it can't, imported. On failure none is left behind. */
static bool bench_make_key(const dnssec_store_t *store, size_t kind, char *ret_id, dnssec_key_t **ret_key)
{
	uint8_t algorithm = kinds[kind].algorithm;
	dnssec_key_t *key, *public = NULL;
	if (dnssec_store_generate(store, algorithm, kinds[kind].bits, DNSSEC_FLAG_ZONE, "", ret_id, ret_key) ==
			KNOT_OK) {
		return true;
	}
	if (dnssec_key_generate(algorithm, kinds[kind].bits, DNSSEC_FLAG_ZONE, &key) != KNOT_OK) {
		return false;
	}
	bool is_there = dnssec_store_put(store, key, "", ret_id) == KNOT_OK;
	bool is_good = is_there && dnssec_key_from_rdata(dnssec_key_rdata(key), &public) == KNOT_OK &&
		       dnssec_store_get(store, ret_id, public) == KNOT_OK;
	dnssec_key_free(key);
	if (!is_good) {
		knot_err_t removed = is_there ? dnssec_store_remove(store, ret_id) : KNOT_OK;
		(void)removed;
		dnssec_key_free(public);
		return false;
	}
	*ret_key = public;
	return true;
}

static void bench_print(const dnssec_store_t *store, size_t kind, unsigned threads)
{
	char name[NAME_MAX_LEN], id[DNSSEC_KEY_ID_MAX + 1];
	dnssec_key_t *key = NULL;
	uint64_t per_s = 0;
	keystore_name_kind(kind, name);
	printf("%-20s ", name);
	bool is_made = bench_make_key(store, kind, id, &key);
	if (is_made && bench_run(key, threads, &per_s)) {
		printf("%9llu\n", (unsigned long long)per_s);
	} else {
		printf("%9s\n", "n/a");
	}
	fflush(stdout);
	if (is_made) {
		knot_err_t err = dnssec_store_remove(store, id);
		(void)err;
	}
	dnssec_key_free(key);
}

/* Threads and algorithm, 0: all. Complains. */
static bool bench_read(const keymgr_t *run, unsigned *ret_threads, const dnssec_algorithm_t **ret_algorithm)
{
	uint64_t threads = 1;
	*ret_algorithm = NULL;
	if (run->argument_count > 0 && !knot_number_of(run->arguments[0], 1, THREADS_MAX, &threads)) {
		return keymgr_complain("invalid number of threads '%s', use 1 to %d", run->arguments[0], THREADS_MAX);
	}
	*ret_threads = (unsigned)threads;
	if (run->argument_count < 2) {
		return true;
	}
	const dnssec_algorithm_t *row = dnssec_algorithm_find_name(run->arguments[1]);
	for (size_t i = 0; i < KNOT_LEN(kinds) && row != NULL; i++) {
		if (kinds[i].algorithm == row->number) {
			*ret_algorithm = row;
			return true;
		}
	}
	return keymgr_complain("%s algorithm '%s'", row == NULL ? "unknown" : "unsupported", run->arguments[1]);
}

done_t keymgr_run_keystore_bench(const keymgr_t *run)
{
	unsigned threads = 1;
	const dnssec_algorithm_t *algorithm;
	const conf_keystore_t *conf;
	dnssec_store_t *store;
	if (!bench_read(run, &threads, &algorithm)) {
		return (done_t){ .err = KNOT_EPARAM, .is_told = true };
	}
	knot_err_t err = keystore_open(run, &conf, &store);
	if (err != KNOT_OK) {
		return (done_t){ .err = err, .is_told = true };
	}
	keystore_print_head(conf);
	printf(", threads %u", threads);
	if (algorithm != NULL) {
		printf(", algorithm %s", algorithm->name);
	}
	printf("\n\n%-20s %9s\n", "Algorithm", "Sigs/sec");
	for (size_t i = 0; i < KNOT_LEN(kinds); i++) {
		if (algorithm == NULL || kinds[i].algorithm == algorithm->number) {
			bench_print(store, i, threads);
		}
	}
	dnssec_store_close(store);
	return keymgr_shown(KNOT_OK);
}
