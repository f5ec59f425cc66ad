/* SPDX-License-Identifier: BSD-2-Clause */
/* A zone that is written and read again is the same zone: every type, every kind of name, at random and by rows. */
#include "src/zone/dump.h"
#include "src/zone/dump_parts.h"
#include "src/zone/txn.h"

#include "src/zone/test_dump.h"

#include "libknot/rr/rdata_random.h"
#include "libknot/rr/rrdesc.h"
#include "libknot/rr/rrtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static uint8_t origin_wire[] = "\4zone";
static const zone_build_params_t params = {
	.origin = { origin_wire, 6, 1 }, .default_ttl = 60, .checks = ZONE_CHECKS_SOFT
};

static zone_contents_t *build(const char *text)
{
	zone_contents_t *zone;
	assert_int_equal(zone_build_text(knot_str_of(text), "test", &params, &zone), KNOT_OK);
	return zone;
}

static const zone_dump_params_t how = { .program = "Test 1", .now_s = 86400 };

/* What a file has, to be freed. The file is closed. */
static char *read_file(int fd)
{
	off_t len = lseek(fd, 0, SEEK_END);
	char *text = calloc(1, (size_t)len + 1);
	assert_non_null(text);
	assert_int_equal(pread(fd, text, (size_t)len, 0), len);
	close(fd);
	return text;
}

/* The zone as a file, to be freed. */
static char *write_zone(const zone_contents_t *zone)
{
	int fd = memfd_create("dump", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(zone_dump(zone, fd, &how), KNOT_OK);
	return read_file(fd);
}

static bool put_part(const zone_rr_t *rr, void *ctx)
{
	assert_int_equal(zone_dump_parts_put(ctx, rr), KNOT_OK);
	return true;
}

/* The same, record by record. */
static char *write_parts(const zone_contents_t *zone)
{
	zone_dump_parts_t *parts;
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	int fd = memfd_create("parts", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_non_null(scratch);
	assert_int_equal(zone_dump_parts_begin(fd, "/tmp", &how, &parts), KNOT_OK);
	assert_true(zone_each_record(zone, scratch, put_part, parts));
	assert_int_equal(zone_dump_parts_end(parts), KNOT_OK);
	zone_dump_parts_free(parts);
	free(scratch);
	return read_file(fd);
}

static void check_round_trip(const zone_contents_t *zone)
{
	char *text = write_zone(zone);
	zone_contents_t *again = build(text);
	char *want = dump_zone(zone), *is = dump_zone(again), *text_again = write_zone(again),
	     *parts = write_parts(zone);
	assert_string_equal(is, want);
	assert_string_equal(text_again, text);
	assert_string_equal(parts, text);
	free(parts);
	free(want);
	free(is);
	free(text);
	free(text_again);
	zone_contents_free(again);
}

static void test_columns(void **state)
{
	(void)state;
	zone_contents_t *zone =
			build("@ 3600 SOA ns admin 5 1 2 3 4\nwww 300 A 192.0.2.1\nWWW 300 TXT \"a b\" c\\\"\\200\n"
			      "@ A 192.0.2.2\n@ NS ns\na-name-that-is-longer-than-its-column TYPE65280 \\# 2 ABCD\n"
			      "sub NS ns.sub\nns.sub AAAA 2001:db8::1\n\\032\\.\\000 A 192.0.2.3\n");
	char *text = write_zone(zone);
	assert_string_equal(text, ";; Zone dump (Test 1)\n"
				  "zone.               \t3600\tSOA\tns.zone. admin.zone. 5 1 2 3 4\n"
				  "zone.               \t60\tA\t192.0.2.2\n"
				  "zone.               \t60\tNS\tns.zone.\n"
				  "\\032\\.\\000.zone.    \t60\tA\t192.0.2.3\n"
				  "a-name-that-is-longer-than-its-column.zone. 60\tTYPE65280\t\\# 2 ABCD\n"
				  "sub.zone.           \t60\tNS\tns.sub.zone.\n"
				  "ns.sub.zone.        \t60\tAAAA\t2001:db8::1\n"
				  "www.zone.           \t300\tA\t192.0.2.1\n"
				  "www.zone.           \t300\tTXT\t\"a b\" \"c\\\"\\200\"\n"
				  ";; Written 9 records\n;; Time 1970-01-02 00:00:00 UTC\n");
	free(text);
	check_round_trip(zone);
	zone_contents_free(zone);
}

static void test_full_disk(void **state)
{
	(void)state;
	zone_contents_t *zone = build("@ SOA ns admin 5 1 2 3 4\n");
	FILE *full = fopen("/dev/full", "w");
	assert_non_null(full);
	assert_int_equal(zone_dump(zone, fileno(full), &(zone_dump_params_t){ .program = "" }), KNOT_ENOSPC);
	fclose(full);
	zone_contents_free(zone);
}

/* Types that a zone may have, with RDATA as random as the type allows; not those whose TTL or place depends on their
 * RDATA. */
static void test_random_zones(void **state)
{
	(void)state;
	random_seed();
	static uint8_t rdata[KNOT_RDATA_MAX];
	static const uint8_t soa[] = "\1m\0\1r\0\0\0\0\7\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0";
	for (unsigned round = 0; round < 30; round++) {
		zone_txn_t *txn;
		zone_contents_t *zone;
		assert_int_equal(zone_txn_begin(NULL, &params, &txn), KNOT_OK);
		assert_int_equal(
				zone_txn_put(txn, params.origin, KNOT_TYPE_SOA, 60, (knot_bytes_t){ soa, sizeof(soa) }),
				KNOT_OK);
		for (unsigned type = 1; type < 300; type++) {
			const knot_rrdesc_t *row = knot_rrdesc((uint16_t)type);
			if (type == KNOT_TYPE_SOA || type == KNOT_TYPE_OPT || type == KNOT_TYPE_RRSIG ||
					type == KNOT_TYPE_NSEC3PARAM || type == KNOT_TYPE_NSEC3 ||
					(type >= 249 && type <= 255)) {
				continue;
			}
			uint8_t wire[KNOT_NAME_MAX] = { 4, (uint8_t)random(), (uint8_t)random(), (uint8_t)type,
				(uint8_t)(type >> 8), 4, 'z', 'o', 'n', 'e', 0 };
			size_t len = random_rdata(row, rdata, sizeof(rdata));
			assert_int_equal(zone_txn_put(txn, knot_name_of(wire), (uint16_t)type, (uint32_t)random(),
							 (knot_bytes_t){ rdata, len }),
					KNOT_OK);
		}
		assert_int_equal(zone_txn_commit(txn, &zone), KNOT_OK);
		check_round_trip(zone);
		zone_contents_free(zone);
	}
}

/* What stands in front of the SOA at the apex is held until it comes, however much that is. */
static void test_large_apex(void **state)
{
	(void)state;
	enum { ADDRESSES = 20000, LINE = 32 };
	char *text = calloc(ADDRESSES + 2, LINE), *end = text;
	assert_non_null(text);
	for (unsigned i = 0; i < ADDRESSES; i++) {
		end += snprintf(end, LINE, "@ 60 A 192.0.%u.%u\n", i / 256, i % 256);
	}
	snprintf(end, LINE, "@ SOA ns admin 5 1 2 3 4\n");
	zone_contents_t *zone = build(text);
	check_round_trip(zone);
	zone_contents_free(zone);
	free(text);
}

/* Parts fail by themselves: without a SOA, without a place, on a full disk. */
static void test_failing_parts(void **state)
{
	(void)state;
	static const uint8_t rdata[] = { 0, 1, 1, 0, 1, 2, 0, 6, 0x40, 0, 0, 0, 0, 3 };
	static const uint8_t soa[] = "\1m\0\1r\0\0\0\0\7\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0";
	const zone_rr_t nsec = { params.origin, KNOT_TYPE_NSEC, 60, { rdata, sizeof(rdata) } };
	const zone_rr_t first = { params.origin, KNOT_TYPE_SOA, 60, { soa, sizeof(soa) } };
	zone_dump_parts_t *parts;
	FILE *file = tmpfile(), *full = fopen("/dev/full", "w");
	assert_non_null(file);
	assert_non_null(full);
	assert_int_equal(zone_dump_parts_begin(fileno(file), "/tmp", &how, &parts), KNOT_OK);
	assert_int_equal(zone_dump_parts_end(parts), KNOT_ENOSOA);
	zone_dump_parts_free(parts);
	assert_int_equal(zone_dump_parts_begin(fileno(file), "/nowhere/at/all", &how, &parts), KNOT_OK);
	assert_int_equal(zone_dump_parts_put(parts, &first), KNOT_OK);
	assert_int_equal(zone_dump_parts_put(parts, &nsec), KNOT_ENOENT);
	zone_dump_parts_free(parts);
	assert_int_equal(zone_dump_parts_begin(fileno(full), "/tmp", &how, &parts), KNOT_OK);
	assert_int_equal(zone_dump_parts_put(parts, &first), KNOT_ENOSPC);
	zone_dump_parts_free(parts);
	fclose(file);
	fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_columns), cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_random_zones), cmocka_unit_test(test_large_apex),
		cmocka_unit_test(test_failing_parts) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
