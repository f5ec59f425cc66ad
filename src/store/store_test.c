/* SPDX-License-Identifier: BSD-2-Clause */
/* The store's contract: what is saved is read, of a lineage only what is new is written, what doesn't fit is refused
 * and nothing else lost. */
#include "src/store/store_test.h"

#include <pthread.h>

enum { MIB = 1 << 20 };

static void expect_same(store_t *store, const test_image_t *image, const char *what)
{
	knot_err_t err = test_compare(store, image, NULL);
	if (err != KNOT_OK) {
		fail_msg("%s: %s: %s", what, image->zone, knot_strerror(err));
	}
}

static const test_image_t kinds[] = {
	{ "small.", 1, 1, 1, { 500 } },
	{ "empty.", 2, 1, 0, { 0 } },
	{ "several-small.", 3, 1, 3, { 100, 0, 7 } },
	{ "page.", 4, 1, 1, { 3500 } },
	{ "inline-or-not.", 5, 1, 1, { 16200 } },
	{ "medium.", 6, 1, 2, { 100000, 30000 } },
	{ "hole.", 7, 1, 3, { 100000, 0, 2 * MIB } },
	{ "steps.", 8, 0xffffffff, 20,
			{ 2 * MIB, 2 * MIB, 2 * MIB, 2 * MIB, 2 * MIB, 2 * MIB, 2 * MIB, 2 * MIB, 2 * MIB, 2 * MIB,
					2 * MIB, 2 * MIB, 2 * MIB, 2 * MIB, 2 * MIB, 2 * MIB, 2 * MIB, 2 * MIB, 2 * MIB,
					1 } },
	{ ".", 9, 1, 1, { 9 } },
	{ "\\000\\255.a\\032b.", 10, 1, 1, { 10 } },
};

static void test_what_is_saved_is_read(void **state)
{
	(void)state;
	store_t *store = test_open(256 * MIB);
	store_saved_t saved;
	store_reason_t reason;
	assert_int_equal(test_save(store, kinds, KNOT_LEN(kinds), &saved, &reason), KNOT_OK);
	assert_string_equal(reason.text, "");
	assert_int_equal(saved.skipped, 0);
	uint64_t sum = 0;
	for (size_t i = 0; i < KNOT_LEN(kinds); i++) {
		expect_same(store, &kinds[i], "after saving");
		for (uint32_t c = 0; c < kinds[i].chunk_count; c++) {
			sum += kinds[i].lens[c];
		}
	}
	assert_int_equal(saved.written, sum);
	store_close(store);
	store = test_open(256 * MIB);
	for (size_t i = 0; i < KNOT_LEN(kinds); i++) {
		expect_same(store, &kinds[i], "after opening again");
	}
	test_image_t none = { .zone = "none." }, upper = kinds[0];
	upper.zone = "SMALL.";
	assert_int_equal(test_compare(store, &none, NULL), KNOT_ENOENT);
	expect_same(store, &upper, "upper case");
	store_close(store);
	test_remove_files();
}

static bool add_name(knot_name_t name, void *ctx)
{
	char text[KNOT_NAME_TEXT_MAX], *all = ctx;
	knot_name_print(name, text);
	strcat(strcat(all, text), " ");
	return strstr(all, "hole") == NULL;
}

static void test_each_and_remove(void **state)
{
	(void)state;
	store_t *store = test_open(256 * MIB);
	char all[4096] = "";
	assert_int_equal(store_each(store, add_name, all), KNOT_OK);
	assert_string_equal(all, "");
	assert_int_equal(test_save(store, kinds, KNOT_LEN(kinds), NULL, NULL), KNOT_OK);
	assert_int_equal(store_each(store, add_name, all), KNOT_OK);
	assert_string_equal(all, ". \\000\\255.a\\032b. empty. hole. ");
	uint64_t used = store_room(store).used;
	uint8_t wires[KNOT_LEN(kinds) + 1][KNOT_NAME_MAX];
	knot_name_t names[KNOT_LEN(kinds) + 1];
	for (size_t i = 0; i < KNOT_LEN(kinds); i++) {
		names[i] = test_name(kinds[i].zone, wires[i]);
	}
	names[KNOT_LEN(kinds)] = test_name("none.", wires[KNOT_LEN(kinds)]);
	size_t removed;
	store_reason_t reason;
	assert_int_equal(store_remove(store, names + 1, KNOT_LEN(kinds), &removed, &reason), KNOT_OK);
	assert_int_equal(removed, KNOT_LEN(kinds) - 1);
	expect_same(store, &kinds[0], "after removing all others");
	assert_int_equal(test_compare(store, &kinds[7], NULL), KNOT_ENOENT);
	assert_true(used > 40 * MIB && store_room(store).used < MIB);
	store_close(store);
	test_remove_files();
}

static void test_a_lineage_grows(void **state)
{
	(void)state;
	store_t *store = test_open(256 * MIB);
	test_image_t image = { "grows.", 1, 1, 1, { 100000 } };
	store_saved_t saved;
	store_reason_t reason;
	uint32_t pieces;
	assert_int_equal(test_save(store, &image, 1, &saved, &reason), KNOT_OK);
	assert_int_equal(saved.written, 100000);
	assert_int_equal(test_save(store, &image, 1, &saved, &reason), KNOT_OK);
	assert_int_equal(saved.written, 0);
	uint64_t written = 0, joined = 0;
	for (uint32_t i = 1; i <= 300; i++) {
		uint64_t grows = i * 7 % 4001;
		image.serial++;
		image.lens[image.chunk_count - 1] += grows;
		if (i % 100 == 0) {
			image.lens[image.chunk_count++] = 3 * MIB;
			grows += 3 * MIB;
		}
		assert_int_equal(test_save(store, &image, 1, &saved, &reason), KNOT_OK);
		assert_true(saved.written >= grows);
		joined += saved.written > grows;
		written += saved.written;
		if (i % 10 == 0 || saved.written > grows) {
			assert_int_equal(test_compare(store, &image, &pieces), KNOT_OK);
			assert_true(pieces <= 2 * image.chunk_count + 64 + 10);
		}
	}
	/* Pieces of chunks that have many are joined, at times. */
	assert_true(joined >= 3 && joined <= 5);
	assert_true(written < 24 * MIB);
	/* Less of a chunk, fewer chunks, another lineage: not what was there with something behind it. */
	image.lens[0] -= 1;
	assert_int_equal(test_save(store, &image, 1, &saved, &reason), KNOT_OK);
	expect_same(store, &image, "a chunk that shrank");
	image.chunk_count--;
	assert_int_equal(test_save(store, &image, 1, &saved, &reason), KNOT_OK);
	expect_same(store, &image, "a chunk less");
	image.lineage++;
	assert_int_equal(test_save(store, &image, 1, &saved, &reason), KNOT_OK);
	expect_same(store, &image, "another lineage");
	image = (test_image_t){ "grows.", 3, 1, 1, { 100 } };
	assert_int_equal(test_save(store, &image, 1, &saved, &reason), KNOT_OK);
	expect_same(store, &image, "a small one");
	assert_true(store_room(store).used < MIB);
	store_close(store);
	test_remove_files();
}

/* ---- Threads ---- */

enum { READERS = 3, VERSIONS = 60 };

typedef struct {
	store_t *store;
	_Atomic bool stop;
	_Atomic unsigned reads, faults;
} world_t;

/* One of two kinds of images, alternately: small within its record, and in pieces. */
static test_image_t version_of(uint32_t number)
{
	test_image_t image = { "changes.", number, number, 1 + number % 3, { 100 } };
	for (uint32_t i = 0; number % 2 == 0 && i < image.chunk_count; i++) {
		image.lens[i] = 600000 + number;
	}
	return image;
}

/* Whatever version is found, it is whole. */
static void *read_again_and_again(void *arg)
{
	world_t *world = arg;
	static const uint8_t wire[] = "\7changes";
	while (!world->stop) {
		store_reader_t *reader;
		store_view_t view;
		store_reason_t reason;
		if (store_read_begin(world->store, knot_name_of(wire), &reader, &view, &reason) != KNOT_OK) {
			world->faults++;
			continue;
		}
		test_image_t want = version_of(view.serial);
		bool same = view.chunk_count == want.chunk_count && view.lineage == want.lineage;
		for (uint32_t i = 0; same && i < view.chunk_count; i++) {
			static __thread uint8_t got[700000], bytes[700000];
			same = view.chunk_lens[i] == want.lens[i] &&
			       store_read_chunk(reader, i, got, &reason) == KNOT_OK;
			test_bytes(want.lineage, i, same ? want.lens[i] : 0, bytes);
			same = same && memcmp(got, bytes, want.lens[i]) == 0;
		}
		store_read_end(reader);
		world->faults += !same;
		world->reads++;
	}
	return NULL;
}

static void test_reading_while_saving(void **state)
{
	(void)state;
	world_t world = { .store = test_open(64 * MIB) };
	test_image_t image = version_of(0);
	assert_int_equal(test_save(world.store, &image, 1, NULL, NULL), KNOT_OK);
	pthread_t threads[READERS];
	for (int i = 0; i < READERS; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, read_again_and_again, &world), 0);
	}
	knot_err_t err = KNOT_OK;
	for (uint32_t i = 1; i <= VERSIONS && err == KNOT_OK; i++) {
		image = version_of(i);
		err = test_save(world.store, &image, 1, NULL, NULL);
	}
	world.stop = true;
	for (int i = 0; i < READERS; i++) {
		pthread_join(threads[i], NULL);
	}
	assert_int_equal(err, KNOT_OK);
	assert_int_equal(world.faults, 0);
	assert_true(world.reads > 0);
	store_close(world.store);
	test_remove_files();
}

/* ---- A visitor that takes its time ---- */

enum { MANY = 700 };

typedef struct {
	store_t *store;
	unsigned visited;
} visitor_t;

static bool save_and_remove(knot_name_t name, void *ctx)
{
	visitor_t *visitor = ctx;
	if (visitor->visited++ % 35 == 0) {
		test_image_t image = { "large.", visitor->visited, 1, 1, { 2 * MIB } };
		assert_int_equal(test_save(visitor->store, &image, 1, NULL, NULL), KNOT_OK);
	}
	size_t removed;
	store_reason_t reason;
	assert_int_equal(store_remove(visitor->store, &name, 1, &removed, &reason), KNOT_OK);
	assert_int_equal(removed, 1);
	return true;
}

/* A process that reads all images for long, as `kzoneimage | less` does, doesn't make the database grow. */
static void test_visiting_keeps_no_pages(void **state)
{
	(void)state;
	static char names[MANY][8];
	test_image_t *images = calloc(MANY, sizeof(*images));
	assert_non_null(images);
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "%s%03u", i == 0 ? "." : "a", i);
		names[i][1] = i == 0 ? '\0' : names[i][1];
		images[i] = (test_image_t){ names[i], i, 1, 1, { 200 } };
	}
	visitor_t visitor = { .store = test_open(64 * MIB) };
	assert_int_equal(test_save(visitor.store, images, MANY, NULL, NULL), KNOT_OK);
	assert_int_equal(store_each(visitor.store, save_and_remove, &visitor), KNOT_OK);
	assert_true(visitor.visited >= MANY);
	char path[128];
	struct stat info;
	snprintf(path, sizeof(path), "%s/data.mdb", test_path);
	assert_int_equal(stat(path, &info), 0);
	assert_true(info.st_size < 12 * MIB);
	free(images);
	store_close(visitor.store);
	test_remove_files();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_saved_is_read),
		cmocka_unit_test(test_each_and_remove),
		cmocka_unit_test(test_a_lineage_grows),
		cmocka_unit_test(test_reading_while_saving),
		cmocka_unit_test(test_visiting_keeps_no_pages),
	};
	return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
