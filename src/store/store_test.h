/* SPDX-License-Identifier: BSD-2-Clause */
/** Images whose bytes are functions of a few numbers, and folders for them: for the tests of the store. */
#pragma once

#include "src/store/store.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { TEST_CHUNKS_MAX = 40, TEST_FORMAT = 7 };

/* An image: chunk i has the first lens[i] bytes of the stream that `lineage` and i begin. */
typedef struct {
	const char *zone;
	uint64_t lineage;
	uint32_t serial;
	uint32_t chunk_count;
	uint64_t lens[TEST_CHUNKS_MAX];
} test_image_t;

/* In memory if possible: there flushing costs nothing, and nothing here depends on it. */
static char test_dir[32] = "/dev/shm/bowline-store-XXXXXX";
static char test_path[64];

static inline void test_bytes(uint64_t lineage, uint32_t chunk, uint64_t len, uint8_t *to)
{
	uint64_t x = lineage * 0x9e3779b97f4a7c15 + chunk * 0xbf58476d1ce4e5b9 + 1;
	for (uint64_t i = 0; i < len; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		to[i] = (uint8_t)x;
	}
}

static inline knot_name_t test_name(const char *text, uint8_t wire[static KNOT_NAME_MAX])
{
	knot_name_t name;
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, wire, &name), KNOT_OK);
	return name;
}

static const store_source_t test_sources[] = {
	{ { "/zones/a.zone", 13 }, 123456, 77, 1700000000, 123456789 },
	{ { "/zones/include", 14 }, 1, 78, -5, 0 },
};

/* Save, and expect that. ret_saved may be NULL. */
static inline knot_err_t test_save(store_t *store, const test_image_t *images, size_t count, store_saved_t *ret_saved,
		store_reason_t *ret_reason)
{
	store_image_t *wants = calloc(count, sizeof(*wants));
	knot_bytes_t(*chunks)[TEST_CHUNKS_MAX] = calloc(count, sizeof(*chunks));
	uint8_t(*names)[KNOT_NAME_MAX] = calloc(count, sizeof(*names));
	assert_true(wants != NULL && chunks != NULL && names != NULL);
	for (size_t i = 0; i < count; i++) {
		const test_image_t *image = &images[i];
		for (uint32_t c = 0; c < image->chunk_count; c++) {
			uint8_t *bytes = malloc(image->lens[c] + 1);
			assert_non_null(bytes);
			test_bytes(image->lineage, c, image->lens[c], bytes);
			chunks[i][c] = (knot_bytes_t){ bytes, image->lens[c] };
		}
		wants[i] = (store_image_t){
			.zone = test_name(image->zone, names[i]),
			.sources = test_sources,
			.source_count = KNOT_LEN(test_sources),
			.serial = image->serial,
			.is_ahead = image->serial % 2,
			.settings = image->lineage + 1,
			.lineage = image->lineage,
			.head = { (const uint8_t *)"the head", 8 },
			.chunks = chunks[i],
			.chunk_count = image->chunk_count,
		};
	}
	store_saved_t saved;
	store_reason_t reason;
	knot_err_t err = store_save(store, wants, count, ret_saved != NULL ? ret_saved : &saved,
			ret_reason != NULL ? ret_reason : &reason);
	for (size_t i = 0; i < count; i++) {
		for (uint32_t c = 0; c < images[i].chunk_count; c++) {
			free((void *)chunks[i][c].data);
		}
	}
	free(names);
	free(chunks);
	free(wants);
	return err;
}

/*
 * KNOT_OK: what is stored is `image` with all that belongs to it; KNOT_ERROR: it is something else. Errors of reading.
 */
static inline knot_err_t test_compare(store_t *store, const test_image_t *image, uint32_t *ret_pieces)
{
	uint8_t wire[KNOT_NAME_MAX];
	store_reader_t *reader;
	store_view_t view;
	store_reason_t reason;
	knot_err_t err = store_read_begin(store, test_name(image->zone, wire), &reader, &view, &reason);
	if (err != KNOT_OK) {
		return err;
	}
	bool same = view.serial == image->serial && view.is_ahead == image->serial % 2 &&
		    view.settings == image->lineage + 1 && view.lineage == image->lineage &&
		    view.format == TEST_FORMAT && view.chunk_count == image->chunk_count && view.head.len == 8 &&
		    memcmp(view.head.data, "the head", 8) == 0 && view.source_count == KNOT_LEN(test_sources) &&
		    view.saved_s > 1700000000;
	for (uint32_t i = 0; same && i < KNOT_LEN(test_sources); i++) {
		const store_source_t *a = &view.sources[i], *b = &test_sources[i];
		same = knot_str_eq(a->path, b->path) && a->size == b->size && a->inode == b->inode &&
		       a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns;
	}
	for (uint32_t c = 0; same && err == KNOT_OK && c < image->chunk_count; c++) {
		same = view.chunk_lens[c] == image->lens[c];
		uint8_t *bytes = malloc(image->lens[c] + 1), *want = malloc(image->lens[c] + 1);
		assert_true(bytes != NULL && want != NULL);
		if (same) {
			err = store_read_chunk(reader, c, bytes, &reason);
			test_bytes(image->lineage, c, image->lens[c], want);
			same = err != KNOT_OK || memcmp(bytes, want, image->lens[c]) == 0;
		}
		free(bytes);
		free(want);
	}
	if (ret_pieces != NULL) {
		*ret_pieces = view.piece_count;
	}
	store_read_end(reader);
	return err != KNOT_OK ? err : same ? KNOT_OK : KNOT_ERROR;
}

static inline store_t *test_open(uint64_t size_max)
{
	store_t *store = NULL;
	store_reason_t reason;
	knot_err_t err =
			store_open(&(store_options_t){ .path = test_path, .size_max = size_max, .format = TEST_FORMAT },
					&store, &reason);
	if (err != KNOT_OK || reason.text[0] != '\0') {
		fail_msg("%s: %s", knot_strerror(err), reason.text);
	}
	return store;
}

static inline void test_remove_files(void)
{
	static const char *const names[] = { "data.mdb", "lock.mdb", "data.mdb.damaged" };
	char path[128];
	for (size_t i = 0; i < KNOT_LEN(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", test_path, names[i]);
		(void)unlink(path);
	}
}

static inline int test_setup(void **state)
{
	(void)state;
	if (mkdtemp(test_dir) == NULL) {
		snprintf(test_dir, sizeof(test_dir), "/tmp/bowline-store-XXXXXX");
		assert_non_null(mkdtemp(test_dir));
	}
	snprintf(test_path, sizeof(test_path), "%s/images", test_dir);
	return 0;
}

static inline int test_teardown(void **state)
{
	(void)state;
	test_remove_files();
	(void)rmdir(test_path);
	(void)rmdir(test_dir);
	return 0;
}
