/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signatures by a key in a token, of threads that each have a session: by the signer of libdnssec, and by a bare client
 * that calls the PKCS #11 module itself. The two take turns; JSON on standard output.
 *
 * bench_token URI MODULE PIN THREADS TURNS
 */
#include "libdnssec/sign.h"
#include "libdnssec/store.h"
#include "libknot/base/encode.h"

#include <dlfcn.h>
#include <p11-kit/pkcs11.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS_MAX = 64, TURN_MS = 500, HASH_LEN = 32, PREFIX_LEN = 19 };

/* DigestInfo of SHA-256 (RFC 8017 9.2). */
static const uint8_t rsa_prefix[PREFIX_LEN] = { 0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03,
	0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20 };

static struct {
	CK_FUNCTION_LIST *module;
	CK_SLOT_ID slot;
	const char *pin;
	const dnssec_key_t *key;
	uint8_t id[DNSSEC_KEY_ID_LEN / 2];
	atomic_bool is_over;
	atomic_uint_fast64_t count;
} bench;

static void fail(const char *what, unsigned long code)
{
	fprintf(stderr, "bench_token: %s (%lx)\n", what, code);
	exit(EXIT_FAILURE);
}

static void *sign_ours(void *ctx)
{
	uint8_t data[HASH_LEN] = { 0 }, signature[DNSSEC_SIGNATURE_MAX];
	const knot_bytes_t piece = { data, sizeof(data) };
	size_t len;
	uint64_t count = 0;
	dnssec_signer_t *signer;
	if (dnssec_signer_new(bench.key, false, &signer) != KNOT_OK) {
		fail("no signer", 0);
	}
	for (; !atomic_load_explicit(&bench.is_over, memory_order_relaxed); count++) {
		data[count % sizeof(data)]++;
		if (dnssec_signer_sign(signer, &piece, 1, signature, &len) != KNOT_OK) {
			fail("no signature", 0);
		}
	}
	dnssec_signer_free(signer);
	atomic_fetch_add(&bench.count, count);
	return ctx;
}

static CK_OBJECT_HANDLE find_key(CK_SESSION_HANDLE session)
{
	CK_OBJECT_CLASS class = CKO_PRIVATE_KEY;
	CK_ATTRIBUTE wanted[] = { { CKA_CLASS, &class, sizeof(class) }, { CKA_ID, bench.id, sizeof(bench.id) } };
	CK_OBJECT_HANDLE object = 0;
	CK_ULONG found = 0;
	CK_RV result = bench.module->C_FindObjectsInit(session, wanted, 2);
	result = result == CKR_OK ? bench.module->C_FindObjects(session, &object, 1, &found) : result;
	(void)bench.module->C_FindObjectsFinal(session);
	if (result != CKR_OK || found != 1) {
		fail("no key", result);
	}
	return object;
}

static void *sign_bare(void *ctx)
{
	bool is_rsa = dnssec_key_algorithm(bench.key) == DNSSEC_RSASHA256;
	CK_SESSION_HANDLE session;
	CK_MECHANISM mechanism = { is_rsa ? CKM_RSA_PKCS : CKM_ECDSA, NULL, 0 };
	uint8_t data[PREFIX_LEN + HASH_LEN], signature[DNSSEC_SIGNATURE_MAX];
	CK_ULONG data_len = is_rsa ? sizeof(data) : HASH_LEN;
	uint64_t count = 0;
	memset(data, 0, sizeof(data));
	memcpy(data, rsa_prefix, is_rsa ? PREFIX_LEN : 0);
	CK_RV result = bench.module->C_OpenSession(bench.slot, CKF_SERIAL_SESSION, NULL, NULL, &session);
	if (result != CKR_OK) {
		fail("no session", result);
	}
	(void)bench.module->C_Login(session, CKU_USER, (CK_UTF8CHAR *)(uintptr_t)bench.pin, strlen(bench.pin));
	CK_OBJECT_HANDLE key = find_key(session);
	for (; !atomic_load_explicit(&bench.is_over, memory_order_relaxed); count++) {
		CK_ULONG len = sizeof(signature);
		data[data_len - 1 - count % HASH_LEN]++;
		result = bench.module->C_SignInit(session, &mechanism, key);
		result = result == CKR_OK ? bench.module->C_Sign(session, data, data_len, signature, &len) : result;
		if (result != CKR_OK) {
			fail("no signature", result);
		}
	}
	(void)bench.module->C_CloseSession(session);
	atomic_fetch_add(&bench.count, count);
	return ctx;
}

static double seconds_of(clockid_t clock)
{
	struct timespec now;
	(void)clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

typedef struct {
	double wall_s, cpu_s, count;
} turn_t;

static void run_turn(void *(*sign)(void *ctx), unsigned threads, turn_t *turn)
{
	pthread_t ids[THREADS_MAX];
	const struct timespec wait = { 0, TURN_MS * 1000000L };
	double wall_s = seconds_of(CLOCK_MONOTONIC), cpu_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	atomic_store(&bench.is_over, false);
	atomic_store(&bench.count, 0);
	for (unsigned i = 0; i < threads; i++) {
		if (pthread_create(&ids[i], NULL, sign, NULL) != 0) {
			fail("no thread", 0);
		}
	}
	(void)nanosleep(&wait, NULL);
	atomic_store(&bench.is_over, true);
	for (unsigned i = 0; i < threads; i++) {
		(void)pthread_join(ids[i], NULL);
	}
	turn->wall_s += seconds_of(CLOCK_MONOTONIC) - wall_s;
	turn->cpu_s += seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_s;
	turn->count += (double)atomic_load(&bench.count);
}

static void run(const dnssec_store_t *store, const dnssec_algorithm_t *row, unsigned threads, unsigned turns,
		bool is_last)
{
	char id[DNSSEC_KEY_ID_LEN + 1];
	dnssec_key_t *key;
	turn_t ours = { 0 }, bare = { 0 };
	size_t len;
	if (dnssec_store_generate(store, row->number, 0, DNSSEC_FLAG_ZONE, "bench", id, &key) != KNOT_OK ||
			!knot_hex_scan(knot_str_of(id), bench.id, &len)) {
		fail("no key", 0);
	}
	bench.key = key;
	for (unsigned i = 0; i < turns; i++) {
		run_turn(sign_bare, threads, &bare);
		run_turn(sign_ours, threads, &ours);
	}
	printf("\"%s\": {\"bare_per_s\": %.0f, \"ours_per_s\": %.0f, \"bare_cpu_us\": %.2f, \"ours_cpu_us\": %.2f, "
	       "\"speed_per_bare\": %.3f, \"cpu_per_bare\": %.3f}%s\n",
			row->name, bare.count / bare.wall_s, ours.count / ours.wall_s, bare.cpu_s / bare.count * 1e6,
			ours.cpu_s / ours.count * 1e6, (ours.count / ours.wall_s) / (bare.count / bare.wall_s),
			(ours.cpu_s / ours.count) / (bare.cpu_s / bare.count), is_last ? "" : ",");
	dnssec_key_free(key);
	if (dnssec_store_remove(store, id) != KNOT_OK) {
		fail("the key stays", 0);
	}
}

/* The same module that libdnssec has loaded: its state is the process's. */
static void load_module(const char *path)
{
	CK_SLOT_ID slots[16];
	CK_ULONG count = 16;
	CK_C_GetFunctionList get;
	void *module = dlopen(path, RTLD_NOW);
	*(void **)&get = module != NULL ? dlsym(module, "C_GetFunctionList") : NULL;
	if (get == NULL || get(&bench.module) != CKR_OK ||
			bench.module->C_GetSlotList(CK_TRUE, slots, &count) != CKR_OK || count == 0) {
		fail("no module", 0);
	}
	bench.slot = slots[0];
}

int main(int argc, char **argv)
{
	static const uint8_t algorithms[] = { DNSSEC_RSASHA256, DNSSEC_ECDSAP256SHA256 };
	char place[512];
	dnssec_store_t *store;
	if (argc != 6) {
		fail("URI MODULE PIN THREADS TURNS", 0);
	}
	unsigned threads = (unsigned)atoi(argv[4]), turns = (unsigned)atoi(argv[5]);
	snprintf(place, sizeof(place), "%s %s", argv[1], argv[2]);
	if (threads == 0 || threads > THREADS_MAX || dnssec_store_open(DNSSEC_STORE_PKCS11, place, &store) != KNOT_OK) {
		fail("no token", 0);
	}
	bench.pin = argv[3];
	load_module(argv[2]);
	printf("{\n");
	for (size_t i = 0; i < sizeof(algorithms); i++) {
		run(store, dnssec_algorithm_find(algorithms[i]), threads, turns, i + 1 == sizeof(algorithms));
	}
	printf("}\n");
	dnssec_store_close(store);
	return EXIT_SUCCESS;
}
