/* SPDX-License-Identifier: BSD-2-Clause */
/* Versions as images and back: the same to readers, a base for transactions, chunks that only grow; damaged heads are
 * refused. */
#include "src/zone/txn.h"
#include "src/zone/image.h"
#include "src/zone/compact.h"

#include "src/zone/test_dump.h"
#include "src/zone/test_use.h"

#include "libknot/rr/rrtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static uint8_t origin_wire[] = "\4zone";
static const knot_name_t origin = { origin_wire, 6, 1 };
static const zone_build_params_t params = { .origin = { origin_wire, 6, 1 }, .default_ttl = 60 };

static const char zone_text[] =
		"@ SOA ns r 7 2 3 4 30\n@ NS ns\nns A 192.0.2.1\n@ MX 1 ns\na.b.c TXT deep\n*.w A 192.0.2.2\n"
		"cut NS ns.cut\ncut NS ns\nns.cut A 192.0.2.3\nns.cut AAAA 2001:db8::1\n"
		"@ NSEC3PARAM 1 0 0 ABCD\n"
		"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom NSEC3 1 1 0 ABCD gjeqe526plbf1g8mklp59enfd789njgi A RRSIG\n"
		"gjeqe526plbf1g8mklp59enfd789njgi NSEC3 1 1 0 ABCD 0p9mhaveqvm6t7vbl5lop2u3t2rp3tom A RRSIG\n"
		"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom RRSIG NSEC3 8 2 60 20300101000000 20200101000000 1 zone. AAAA\n";

/* The zone, with `more` names of a few records for chunks of all sizes. */
static zone_contents_t *build(unsigned more)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	assert_non_null(to);
	fprintf(to, "%s", zone_text);
	for (unsigned i = 0; i < more; i++) {
		fprintf(to, "d%u NS ns.d%u\nns.d%u A 192.0.2.%u\n", i, i, i, i % 256);
	}
	fclose(to);
	zone_contents_t *zone = NULL;
	assert_int_equal(zone_build_text((knot_str_t){ text, len }, "test", &params, &zone), KNOT_OK);
	free(text);
	return zone;
}

/* An image as it lies in a store. */
typedef struct {
	uint8_t *head;
	uint64_t *lens;
	uint8_t **chunks;
	uint32_t count;
} image_t;

static image_t save(const zone_contents_t *zone)
{
	image_t image = { .head = malloc(zone_image_head_len), .count = zone_image_chunk_count(zone) };
	image.lens = calloc(image.count, sizeof(*image.lens));
	image.chunks = calloc(image.count, sizeof(*image.chunks));
	assert_true(image.head != NULL && image.lens != NULL && image.chunks != NULL);
	zone_image_write_head(zone, image.head);
	for (uint32_t i = 0; i < image.count; i++) {
		knot_bytes_t chunk = zone_image_chunk(zone, i);
		image.lens[i] = chunk.len;
		image.chunks[i] = malloc(chunk.len + 1);
		assert_non_null(image.chunks[i]);
		if (chunk.len > 0) {
			memcpy(image.chunks[i], chunk.data, chunk.len);
		}
	}
	return image;
}

static void free_image(image_t *image)
{
	for (uint32_t i = 0; i < image->count; i++) {
		free(image->chunks[i]);
	}
	free(image->chunks);
	free(image->lens);
	free(image->head);
}

static knot_err_t restore(const image_t *image, knot_name_t name, zone_contents_t **ret_zone)
{
	zone_image_reader_t *reader;
	knot_err_t err = zone_image_read_begin(
			(knot_bytes_t){ image->head, zone_image_head_len }, image->lens, image->count, &reader);
	if (err != KNOT_OK) {
		return err;
	}
	for (uint32_t i = 0; i < image->count; i++) {
		if (image->lens[i] > 0) {
			memcpy(zone_image_read_chunk(reader, i), image->chunks[i], image->lens[i]);
		}
	}
	return zone_image_read_end(reader, name, ret_zone);
}

static void assert_same(const zone_contents_t *a, const zone_contents_t *b)
{
	char *a_dump = dump_zone(a), *b_dump = dump_zone(b);
	assert_string_equal(a_dump, b_dump);
	free(a_dump);
	free(b_dump);
}

static zone_contents_t *change(const zone_contents_t *base, uint32_t number)
{
	static uint8_t rdata[] = "\3new";
	uint8_t owner[] = "\4xxxx\4zone";
	owner[1] = (uint8_t)('a' + number % 26);
	owner[2] = (uint8_t)('a' + number / 26 % 26);
	zone_txn_t *txn;
	zone_contents_t *zone;
	assert_int_equal(zone_txn_begin(base, &params, &txn), KNOT_OK);
	assert_int_equal(
			zone_txn_put(txn, (knot_name_t){ owner, 11, 2 }, KNOT_TYPE_TXT, 60, (knot_bytes_t){ rdata, 4 }),
			KNOT_OK);
	assert_int_equal(zone_txn_commit(txn, &zone), KNOT_OK);
	return zone;
}

static void test_round_trip(void **state)
{
	(void)state;
	static const unsigned sizes[] = { 0, 3, 100, 3000, 40000 };
	for (size_t i = 0; i < KNOT_LEN(sizes); i++) {
		zone_contents_t *zone = build(sizes[i]), *again = NULL;
		image_t image = save(zone);
		assert_int_equal(restore(&image, origin, &again), KNOT_OK);
		assert_same(again, zone);
		assert_true(zone_image_lineage(again) == zone_image_lineage(zone));
		assert_int_equal(again->nsec3_params.salt_len, 2);
		assert_memory_equal(again->nsec3_params.salt, "\xAB\xCD", 2);
		/* What is saved of what was read is the same image. */
		image_t second = save(again);
		assert_int_equal(second.count, image.count);
		assert_memory_equal(second.head, image.head, zone_image_head_len);
		assert_memory_equal(second.lens, image.lens, image.count * sizeof(*image.lens));
		for (uint32_t j = 0; j < image.count; j++) {
			assert_memory_equal(second.chunks[j], image.chunks[j], image.lens[j]);
		}
		free_image(&second);
		free_image(&image);
		zone_contents_free(again);
		zone_contents_free(zone);
	}
}

/* Transactions on a version that was read come out as on the one that was saved. */
static void test_goes_on(void **state)
{
	(void)state;
	zone_contents_t *zone = build(100), *read = NULL;
	image_t image = save(zone);
	assert_int_equal(restore(&image, origin, &read), KNOT_OK);
	for (uint32_t i = 0; i < 60; i++) {
		zone_contents_t *next = change(zone, i), *next_read = change(read, i);
		assert_same(next, next_read);
		zone_contents_free(zone);
		zone_contents_free(read);
		zone = next;
		read = next_read;
	}
	free_image(&image);
	zone_contents_free(zone);
	zone_contents_free(read);
}

/* A slice of compaction. */
static zone_contents_t *compact(zone_contents_t *take_zone, zone_compaction_t **pass)
{
	zone_contents_t *next;
	bool is_done;
	*pass = *pass != NULL ? *pass : zone_compaction_new();
	assert_non_null(*pass);
	assert_int_equal(zone_compact_slice(*pass, take_zone, 2000, &next, &is_done), KNOT_OK);
	if (is_done) {
		zone_compaction_free(*pass);
		*pass = NULL;
	}
	if (next == NULL) {
		return take_zone;
	}
	assert_same(next, take_zone);
	zone_contents_free(take_zone);
	return next;
}

/* Within a lineage a chunk of a later version begins with the bytes of the older one, or has become empty for good;
 * what is held stays as it was. */
static void test_lineage(void **state)
{
	(void)state;
	zone_contents_t *zone = build(1000), *other = build(1000);
	assert_true(zone_image_lineage(zone) != zone_image_lineage(other));
	zone_contents_free(other);
	zone_compaction_t *pass = NULL;
	unsigned empty = 0;
	for (uint32_t i = 0; i < 300; i++) {
		image_t before = save(zone);
		zone_contents_t *held = zone_image_hold(zone), *next = change(zone, i % 600);
		assert_non_null(held);
		zone_contents_free(zone);
		next = i % 3 == 0 ? compact(next, &pass) : next;
		image_t after = save(held);
		assert_int_equal(after.count, before.count);
		assert_memory_equal(after.head, before.head, zone_image_head_len);
		for (uint32_t j = 0; j < before.count; j++) {
			assert_int_equal(after.lens[j], before.lens[j]);
			assert_memory_equal(after.chunks[j], before.chunks[j], before.lens[j]);
		}
		if (zone_image_lineage(next) == zone_image_lineage(held)) {
			assert_true(zone_image_chunk_count(next) >= before.count);
			for (uint32_t j = 0; j < before.count; j++) {
				knot_bytes_t chunk = zone_image_chunk(next, j);
				empty += chunk.len == 0 && before.lens[j] > 0;
				if (chunk.len > 0) {
					assert_true(chunk.len >= before.lens[j]);
					assert_memory_equal(chunk.data, before.chunks[j], before.lens[j]);
				}
			}
		}
		free_image(&after);
		free_image(&before);
		zone_contents_free(held);
		zone = next;
	}
	assert_true(empty > 0);
	zone_compaction_free(pass);
	zone_contents_free(zone);
}

/* Versions in all states of a pass are restored as they were; passes and commits go on with what was restored. */
static void test_compaction(void **state)
{
	(void)state;
	zone_contents_t *zone = build(1000);
	zone_compaction_t *pass = NULL;
	unsigned passes = 0;
	for (uint32_t i = 0; i < 400; i++) {
		zone_contents_t *next = change(zone, i % 600);
		zone_contents_free(zone);
		zone = compact(next, &pass);
		assert_null(use_fault(zone));
		passes += pass == NULL;
		if (i % 37 != 0) {
			continue;
		}
		image_t image = save(zone);
		zone_contents_t *again;
		assert_int_equal(restore(&image, origin, &again), KNOT_OK);
		assert_same(again, zone);
		assert_null(use_fault(again));
		free_image(&image);
		zone_contents_free(zone);
		zone = again;
		zone_compaction_free(pass);
		pass = NULL;
	}
	assert_true(passes > 10);
	zone_compaction_free(pass);
	zone_contents_free(zone);
}

/* A big set has a chunk of its own, larger than all others. */
static void test_big_chunk(void **state)
{
	(void)state;
	enum { COUNT = 150, RDATA_LEN = 60000 };
	uint8_t *rdata = calloc(1, RDATA_LEN);
	assert_non_null(rdata);
	zone_contents_t *base = build(10), *zone, *read = NULL;
	zone_txn_t *txn;
	assert_int_equal(zone_txn_begin(base, &params, &txn), KNOT_OK);
	for (unsigned i = 0; i < COUNT; i++) {
		store_be16(rdata, (uint16_t)i);
		assert_int_equal(zone_txn_put(txn, origin, 65280, 60, (knot_bytes_t){ rdata, RDATA_LEN }), KNOT_OK);
	}
	free(rdata);
	assert_int_equal(zone_txn_commit(txn, &zone), KNOT_OK);
	zone_contents_free(base);
	image_t image = save(zone);
	assert_true(image.lens[image.count - 1] > COUNT * RDATA_LEN || image.lens[image.count - 2] > COUNT * RDATA_LEN);
	assert_int_equal(restore(&image, origin, &read), KNOT_OK);
	assert_same(read, zone);
	free_image(&image);
	zone_contents_t *next = change(read, 1);
	zone_contents_free(read);
	zone_contents_free(next);
	zone_contents_free(zone);
}

static void test_refusals(void **state)
{
	(void)state;
	zone_contents_t *zone = build(2000), *read = NULL;
	image_t image = save(zone);
	assert_true(image.count > 1);
	static uint8_t other_wire[] = "\5other", upper_wire[] = "\4ZONE";
	assert_int_equal(restore(&image, (knot_name_t){ other_wire, 7, 1 }, &read), KNOT_EMALF);
	assert_int_equal(restore(&image, knot_name_root, &read), KNOT_EMALF);
	assert_int_equal(restore(&image, (knot_name_t){ upper_wire, 6, 1 }, &read), KNOT_OK);
	zone_contents_free(read);

	/* Fewer chunks, shorter or odd ones. */
	read = NULL;
	image_t part = image;
	part.count = 1;
	assert_int_equal(restore(&part, origin, &read), KNOT_EMALF);
	part.count = 0;
	assert_int_equal(restore(&part, origin, &read), KNOT_EMALF);
	uint64_t *lens = calloc(image.count, sizeof(*lens));
	part = image;
	part.lens = lens;
	for (uint64_t wrong = 0; wrong < 3; wrong++) {
		memcpy(lens, image.lens, image.count * sizeof(*lens));
		lens[0] = wrong == 2 ? 8 : wrong; /* the apex is in this one */
		assert_int_equal(restore(&part, origin, &read), KNOT_EMALF);
	}
	free(lens);
	zone_image_reader_t *reader;
	assert_int_equal(zone_image_read_begin((knot_bytes_t){ image.head, zone_image_head_len - 1 }, image.lens,
					 image.count, &reader),
			KNOT_EMALF);
	zone_image_read_discard(NULL);

	/* Each byte of the head wrong in turn: refused, or a version whose roots at least lie in the chunks. */
	unsigned refused = 0;
	for (size_t i = 0; i < zone_image_head_len; i++) {
		image.head[i] ^= 0xFF;
		knot_err_t err = restore(&image, origin, &read);
		assert_true(err == KNOT_OK || err == KNOT_EMALF);
		if (err == KNOT_OK) {
			zone_contents_free(read);
		}
		refused += err == KNOT_EMALF;
		image.head[i] ^= 0xFF;
	}
	assert_true(refused >= 30);
	free_image(&image);
	zone_contents_free(zone);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_round_trip), cmocka_unit_test(test_goes_on),
		cmocka_unit_test(test_lineage), cmocka_unit_test(test_compaction), cmocka_unit_test(test_big_chunk),
		cmocka_unit_test(test_refusals) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
