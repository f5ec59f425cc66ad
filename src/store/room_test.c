/* SPDX-License-Identifier: BSD-2-Clause */
/* A full map and a full disk: what doesn't fit is refused with a reason, all else is there as before, and goes on when
 * there is room. */
#include "src/store/store_test.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

enum { MIB = 1 << 20, COUNT = 64 };

static char names[COUNT][16];

static test_image_t image_of(int i, uint64_t lineage, uint64_t len)
{
	snprintf(names[i], sizeof(names[i]), "z%d.", i);
	return (test_image_t){ names[i], lineage, 1, 1, { len } };
}

static void test_a_large_one_does_not_fit(void **state)
{
	(void)state;
	store_t *store = test_open(16 * MIB);
	test_image_t before[] = { image_of(0, 1, 5 * MIB), image_of(1, 2, 300) };
	assert_int_equal(test_save(store, before, 2, NULL, NULL), KNOT_OK);
	test_image_t images[] = { image_of(0, 11, 15 * MIB), image_of(1, 12, 400), image_of(2, 13, 100000) };
	store_saved_t saved;
	store_reason_t reason;
	assert_int_equal(test_save(store, images, 3, &saved, &reason), KNOT_OK);
	assert_int_equal(saved.skipped, 1);
	assert_int_equal(saved.written, 100400);
	assert_non_null(strstr(reason.text, "image-db-max-size"));
	assert_non_null(strstr(reason.text, "16 MiB"));
	assert_non_null(strstr(reason.text, "zone z0.: "));
	assert_int_equal(test_compare(store, &before[0], NULL), KNOT_OK);
	assert_int_equal(test_compare(store, &images[1], NULL), KNOT_OK);
	assert_int_equal(test_compare(store, &images[2], NULL), KNOT_OK);
	store_close(store);
	/* With a larger map it fits. */
	store = test_open(64 * MIB);
	assert_int_equal(test_compare(store, &before[0], NULL), KNOT_OK);
	assert_int_equal(test_save(store, images, 3, &saved, &reason), KNOT_OK);
	assert_int_equal(saved.skipped, 0);
	assert_int_equal(test_compare(store, &images[0], NULL), KNOT_OK);
	store_close(store);
	/* With a map that is smaller than what is there, that stays. */
	store = test_open(MIB);
	assert_int_equal(test_compare(store, &images[0], NULL), KNOT_OK);
	store_close(store);
	test_remove_files();
}

/* Images until there is no room, then again and again others, some removed in between: each is what was saved last. */
static void test_a_full_map_in_use(void **state)
{
	(void)state;
	enum { ROUNDS = 60 };
	store_t *store = test_open(8 * MIB);
	test_image_t now[COUNT] = { 0 };
	unsigned skipped = 0, stored = 0;
	uint64_t x = 42;
	for (int round = 0; round < ROUNDS; round++) {
		test_image_t images[COUNT];
		size_t count = 0;
		for (int i = round % 5; i < COUNT; i += 5) {
			x = x * 6364136223846793005 + 1442695040888963407;
			images[count++] = image_of(i, 1000 + (uint64_t)(round * COUNT + i),
					(x >> 33) % ((x >> 20) % 3 == 0 ? 900000 : 9000));
		}
		store_saved_t saved;
		store_reason_t reason;
		assert_int_equal(test_save(store, images, count, &saved, &reason), KNOT_OK);
		assert_true((saved.skipped > 0) == (reason.text[0] != '\0'));
		uint32_t missing = 0;
		for (size_t k = 0; k < count; k++) {
			test_image_t *old = &now[(size_t)strtol(images[k].zone + 1, NULL, 10)];
			knot_err_t err = test_compare(store, &images[k], NULL);
			if (err == KNOT_OK) {
				*old = images[k];
				stored++;
				continue;
			}
			missing++;
			assert_int_equal(old->zone != NULL ? test_compare(store, old, NULL) : KNOT_OK, KNOT_OK);
		}
		assert_int_equal(missing, saved.skipped);
		skipped += missing;
		/* Full or not, removing works. */
		uint8_t wire[KNOT_NAME_MAX];
		int gone = round % COUNT;
		knot_name_t name = test_name(image_of(gone, 0, 0).zone, wire);
		size_t removed;
		assert_int_equal(store_remove(store, &name, 1, &removed, &reason), KNOT_OK);
		assert_int_equal(removed, now[gone].zone != NULL);
		now[gone].zone = NULL;
	}
	print_message("%u stored, %u skipped, %llu of %llu bytes used\n", stored, skipped,
			(unsigned long long)store_room(store).used, (unsigned long long)store_room(store).max);
	assert_true(skipped > 20 && stored > 100);
	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(now[i].zone != NULL ? test_compare(store, &now[i], NULL) : KNOT_OK, KNOT_OK);
	}
	store_close(store);
	test_remove_files();
}

/* An image that doesn't fit at all is named, and doesn't keep others from being saved. */
static void test_more_sources_than_can_be_stored(void **state)
{
	(void)state;
	store_t *store = test_open(16 * MIB);
	store_source_t *sources = calloc(STORE_SOURCE_MAX + 1, sizeof(*sources));
	assert_non_null(sources);
	uint8_t wires[3][KNOT_NAME_MAX];
	knot_bytes_t chunk = { (const uint8_t *)"chunk", 5 };
	store_image_t images[3];
	for (uint32_t i = 0; i < 3; i++) {
		images[i] = (store_image_t){ .zone = test_name(image_of((int)i, 0, 0).zone, wires[i]),
			.sources = sources,
			.source_count = STORE_SOURCE_MAX + (i == 1),
			.chunks = &chunk,
			.chunk_count = 1 };
	}
	store_saved_t saved;
	store_reason_t reason;
	assert_int_equal(store_save(store, images, 3, &saved, &reason), KNOT_OK);
	assert_int_equal(saved.refused, 1);
	assert_int_equal(saved.skipped, 0);
	assert_non_null(strstr(reason.text, "zone z1. "));
	for (uint32_t i = 0; i < 3; i++) {
		store_reader_t *reader;
		store_view_t view;
		knot_err_t err = store_read_begin(store, images[i].zone, &reader, &view, &reason);
		assert_int_equal(err, i == 1 ? KNOT_ENOENT : KNOT_OK);
		if (err == KNOT_OK) {
			store_read_end(reader);
		}
	}
	free(sources);
	store_close(store);
	test_remove_files();
}

/* ---- The disk ---- */

static void expect_after_full_disk(store_t *store, const test_image_t *before, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(test_compare(store, &before[i], NULL), KNOT_OK);
	}
}

/* A file of at most 6 MiB (its size) or a file system of 6 MiB. What was there before stays; then, with room, all is
 * saved. */
static void fill_disk(bool is_mounted)
{
	test_image_t before[] = { image_of(0, 1, 2 * MIB), image_of(1, 2, 300) };
	test_image_t large = image_of(0, 11, 40 * MIB), medium = image_of(2, 12, 6 * MIB), small = image_of(1, 13, 400);
	store_t *store = test_open(256 * MIB);
	assert_int_equal(test_save(store, before, 2, NULL, NULL), KNOT_OK);
	store_reason_t reason;
	/* A limit of the file's size looks like a fault of the disk. */
	knot_err_t want = is_mounted ? KNOT_ESPACE : KNOT_EFILE;
	assert_int_equal(test_save(store, &large, 1, NULL, &reason), want);
	assert_non_null(strstr(reason.text, is_mounted ? "free some space" : "quota"));
	expect_after_full_disk(store, before, 2);
	assert_int_equal(test_save(store, &medium, 1, NULL, &reason), want);
	expect_after_full_disk(store, before, 2);
	store_close(store);
	store = test_open(256 * MIB);
	expect_after_full_disk(store, before, 2);
	if (is_mounted) {
		assert_int_equal(mount("tmpfs", test_dir, "tmpfs", MS_REMOUNT, "size=128m"), 0);
	} else {
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }), 0);
	}
	test_image_t all[] = { large, medium, small };
	assert_int_equal(test_save(store, all, 3, NULL, &reason), KNOT_OK);
	expect_after_full_disk(store, all, 3);
	store_close(store);
}

static void test_a_full_disk(void **state)
{
	(void)state;
	bool is_mounted = mount("tmpfs", test_dir, "tmpfs", 0, "size=6m,mode=700") == 0;
	if (!is_mounted) {
		signal(SIGXFSZ, SIG_IGN);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 6 * MIB, RLIM_INFINITY }), 0);
	}
	fill_disk(is_mounted);
	test_remove_files();
	if (is_mounted) {
		assert_int_equal(umount2(test_dir, MNT_DETACH), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_large_one_does_not_fit),
		cmocka_unit_test(test_a_full_map_in_use),
		cmocka_unit_test(test_more_sources_than_can_be_stored),
		cmocka_unit_test(test_a_full_disk),
	};
	return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
