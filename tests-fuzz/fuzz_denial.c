/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * NSEC and NSEC3 records of any content: a name that an NSEC record is at is never proven to be missing, and without a
 * record nothing is proven.
 *
 * Input: the name and the type (2 bytes) that are asked for; then records: an owner, its kind (1 byte, bit 0: NSEC3),
 * the length of its RDATA (1 byte), RDATA. Names are in wire form, of lower case. The zone is "z".
 */
#include "libknot/base/bytes.h"
#include "src/tools/lookup/denial.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RECORDS_MAX = 16 };

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static bool take_name(knot_reader_t *r, uint8_t *lower, knot_name_t *ret_name)
{
	knot_name_t name;
	knot_bytes_t left = { r->data + r->pos, knot_reader_left(r) };
	if (r->failed || knot_name_read(left, &name) != KNOT_OK) {
		return false;
	}
	(void)knot_read(r, name.len);
	knot_name_lower(name, lower);
	*ret_name = (knot_name_t){ 0 };
	return knot_name_read((knot_bytes_t){ lower, name.len }, ret_name) == KNOT_OK;
}

static size_t take_records(knot_reader_t *r, denial_record_t *records, uint8_t owners[][KNOT_NAME_MAX])
{
	size_t count = 0;
	while (count < RECORDS_MAX && take_name(r, owners[count], &records[count].owner)) {
		records[count].type = knot_read_u8(r) & 1 ? KNOT_TYPE_NSEC3 : KNOT_TYPE_NSEC;
		records[count].rdata.len = knot_read_u8(r);
		records[count].rdata.data = knot_read(r, records[count].rdata.len);
		count += !r->failed;
	}
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t zone_wire[] = { 1, 'z', 0 };
	static denial_record_t records[RECORDS_MAX];
	static uint8_t owners[RECORDS_MAX][KNOT_NAME_MAX];
	uint8_t lower[KNOT_NAME_MAX];
	knot_name_t zone, name;
	knot_reader_t r = knot_reader_of((knot_bytes_t){ data, size });
	if (knot_name_read((knot_bytes_t){ zone_wire, sizeof(zone_wire) }, &zone) != KNOT_OK ||
			!take_name(&r, lower, &name)) {
		return 0;
	}
	uint16_t type = knot_read_u16(&r);
	size_t count = take_records(&r, records, owners);
	denial_t found = denial_find(records, count, zone, name, type);
	check(count > 0 || found == DENIAL_NONE);
	for (size_t i = 0; i < count; i++) {
		bool is_there = records[i].type == KNOT_TYPE_NSEC && knot_name_eq(records[i].owner, name);
		check(!is_there || found != DENIAL_NXDOMAIN);
	}
	for (unsigned labels = 0; labels <= name.label_count; labels++) {
		bool is_closer = denial_of_closer(records, count, name, labels);
		check(!is_closer || count > 0);
	}
	return 0;
}
