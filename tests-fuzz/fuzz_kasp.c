/* SPDX-License-Identifier: BSD-2-Clause */
/* The key database. Records: what is read is written as the same. Whole files: refused, or read without harm. */
#include "src/kasp/kasp.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { ZONES_MAX = 16, WHEN_S = 2000000000 };

static char folder[64];

typedef struct {
	uint8_t wires[ZONES_MAX][KNOT_NAME_MAX];
	unsigned count;
	uint64_t sum;
} seen_t;

/* ---- Records ---- */

static const char id[] = "0123456789abcdef0123456789abcdef01234567";

static void fuzz_kasp_key(knot_bytes_t value)
{
	uint8_t bytes[KASP_VALUE_MAX];
	kasp_key_t key, again;
	if (kasp_key_read(id, value, &key) != KNOT_OK) {
		return;
	}
	size_t len = kasp_key_write(&key, bytes);
	if (kasp_key_read(id, (knot_bytes_t){ bytes, len }, &again) != KNOT_OK || again.tag != key.tag ||
			again.flags != key.flags || memcmp(&again.times, &key.times, sizeof(key.times)) != 0) {
		abort();
	}
}

static void fuzz_kasp_trash(knot_bytes_t value)
{
	kasp_trash_t trash;
	uint8_t bytes[KASP_TRASH_LEN];
	if (kasp_trash_read(id, value, &trash) == KNOT_OK) {
		kasp_trash_write(&trash, bytes);
	}
}

static void fuzz_kasp_lmdb_key(knot_bytes_t value)
{
	knot_name_t zone;
	const char *text;
	if (kasp_db_key_read(value, &zone, &text) == KNOT_OK && zone.len > KNOT_NAME_MAX) {
		abort();
	}
}

/* ---- Whole files ---- */

static void fuzz_kasp_path(char *ret_path, size_t size, const char *name)
{
	snprintf(ret_path, size, "%s/%s", folder, name);
}

static void fuzz_kasp_end(void)
{
	char path[128];
	fuzz_kasp_path(path, sizeof(path), "data.mdb");
	(void)unlink(path);
	fuzz_kasp_path(path, sizeof(path), "lock.mdb");
	(void)unlink(path);
	(void)rmdir(folder);
}

/* LMDB wants a folder: one in memory where there is such. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	snprintf(folder, sizeof(folder), "%s/fuzz-kasp-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(folder) == NULL || atexit(fuzz_kasp_end) != 0) {
		abort();
	}
	return 0;
}

static void fuzz_kasp_take_zone(knot_name_t zone, void *ctx)
{
	seen_t *seen = ctx;
	if (seen->count < ZONES_MAX) {
		memcpy(seen->wires[seen->count++], zone.wire, zone.len);
	}
}

static bool fuzz_kasp_take_key(const kasp_key_t *key, void *ctx)
{
	seen_t *seen = ctx;
	seen->sum += key->tag + key->times.created + strlen(key->id);
	for (size_t i = 0; i < key->public.len; i++) {
		seen->sum += key->public.data[i];
	}
	return true;
}

static bool fuzz_kasp_take_time(uint64_t when_s, void *ctx)
{
	((seen_t *)ctx)->sum += when_s;
	return true;
}

static bool fuzz_kasp_take_trash(knot_name_t zone, const kasp_trash_t *trash, void *ctx)
{
	((seen_t *)ctx)->sum += zone.len + trash->tag;
	return true;
}

static void fuzz_kasp_read_zone(kasp_txn_t *txn, knot_name_t zone, seen_t *seen)
{
	uint8_t salt[KASP_SALT_MAX];
	size_t salt_len;
	uint64_t made_s;
	uint32_t number, other;
	kasp_offline_t offline;
	(void)!kasp_each_key(txn, zone, fuzz_kasp_take_key, seen);
	(void)!kasp_get_salt(txn, zone, salt, &salt_len, &made_s);
	(void)!kasp_get_serial(txn, KASP_PRIMARY_SERIAL, zone, &number);
	(void)!kasp_get_serial(txn, KASP_SIGNED_SERIAL, zone, &number);
	(void)!kasp_get_ttls(txn, zone, &number, &other);
	(void)!kasp_each_offline(txn, zone, fuzz_kasp_take_time, seen);
	if (kasp_get_offline(txn, zone, WHEN_S, &offline) == KNOT_OK) {
		kasp_offline_done(&offline);
	}
}

static void fuzz_kasp_read(kasp_t *kasp)
{
	static seen_t seen;
	kasp_txn_t *txn;
	kasp_key_t shared;
	seen.count = 0;
	if (kasp_begin(kasp, false, &txn) != KNOT_OK) {
		return;
	}
	(void)!kasp_each_zone(txn, fuzz_kasp_take_zone, &seen);
	for (unsigned i = 0; i < seen.count; i++) {
		fuzz_kasp_read_zone(txn, knot_name_of(seen.wires[i]), &seen);
	}
	(void)!kasp_get_shared(txn, "p", &shared);
	(void)!kasp_each_trash(txn, fuzz_kasp_take_trash, &seen);
	kasp_abort(txn);
}

static void fuzz_kasp_file(knot_bytes_t file)
{
	char path[128], reason[KASP_REASON_MAX];
	fuzz_kasp_path(path, sizeof(path), "data.mdb");
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, file.data, file.len) != (ssize_t)file.len || close(fd) != 0) {
		abort();
	}
	kasp_t *kasp;
	const kasp_params_t params = { .path = folder, .size_max = 1 << 22, .read_only = true };
	if (kasp_open(&params, reason, &kasp) == KNOT_OK) {
		fuzz_kasp_read(kasp);
		kasp_close(kasp);
	} else if (reason[0] == '\0') {
		abort();
	}
}

/* data: what it is, then that. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static void (*const kinds[])(
			knot_bytes_t) = { fuzz_kasp_file, fuzz_kasp_key, fuzz_kasp_trash, fuzz_kasp_lmdb_key };
	if (len > 0) {
		kinds[data[0] % (sizeof(kinds) / sizeof(kinds[0]))]((knot_bytes_t){ data + 1, len - 1 });
	}
	return 0;
}
