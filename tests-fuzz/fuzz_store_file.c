/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole database files: what the check of its pages lets pass, LMDB and the store must be able to read and to write. */
#include "src/sys/lmdb_check.h"
#include "src/store/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[] = "/dev/shm/fuzz-store-XXXXXX";
static char data_path[64], lock_path[64], damaged_path[64];

static void remove_files(void)
{
	(void)unlink(data_path);
	(void)unlink(lock_path);
	(void)unlink(damaged_path);
}

static void remove_dir(void)
{
	remove_files();
	(void)rmdir(dir);
}

static void make_dir(void)
{
	if (data_path[0] != '\0') {
		return;
	}
	if (mkdtemp(dir) == NULL) {
		abort();
	}
	snprintf(data_path, sizeof(data_path), "%s/data.mdb", dir);
	snprintf(lock_path, sizeof(lock_path), "%s/lock.mdb", dir);
	snprintf(damaged_path, sizeof(damaged_path), "%s/data.mdb.damaged", dir);
	(void)atexit(remove_dir);
}

static void write_file(const uint8_t *data, size_t len)
{
	int fd = open(data_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len || close(fd) != 0) {
		abort();
	}
}

static bool is_let_pass(void)
{
	int fd = open(data_path, O_RDONLY | O_CLOEXEC);
	sys_lmdb_check_t check;
	const char *what;
	knot_err_t err = sys_lmdb_check(fd, &check, &what);
	close(fd);
	return err == KNOT_OK;
}

static bool read_image(knot_name_t zone, void *ctx)
{
	store_reader_t *reader;
	store_view_t view;
	store_reason_t reason;
	if (store_read_begin(ctx, zone, &reader, &view, &reason) != KNOT_OK) {
		return true;
	}
	for (uint32_t i = 0; i < view.chunk_count && view.chunk_lens[i] < 1 << 24; i++) {
		uint8_t *bytes = malloc(view.chunk_lens[i] + 1);
		if (bytes == NULL || store_read_chunk(reader, i, bytes, &reason) != KNOT_OK) {
			free(bytes);
			break;
		}
		free(bytes);
	}
	store_read_end(reader);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	make_dir();
	write_file(data, len);
	if (!is_let_pass()) {
		return 0;
	}
	store_t *store;
	store_reason_t reason;
	if (store_open(&(store_options_t){ .path = dir, .size_max = 4 << 20, .format = 1 }, &store, &reason) ==
			KNOT_OK) {
		(void)!store_each(store, read_image, store);
		static uint8_t bytes[30000];
		knot_bytes_t chunk = { bytes, sizeof(bytes) };
		store_image_t image = { .zone = knot_name_root, .lineage = 1, .chunks = &chunk, .chunk_count = 1 };
		store_saved_t saved;
		(void)!store_save(store, &image, 1, &saved, &reason);
		(void)!store_each(store, read_image, store);
		store_close(store);
	}
	remove_files();
	return 0;
}
