/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/lookup/denial.h"

#include "libknot/base/encode.h"
#include "src/zone/nsec3_hash.h"

enum {
	DENIAL_OPT_OUT_FLAG = 1,     /* RFC 5155 3.1.2.1 */
	DENIAL_ITERATIONS_MAX = 500, /* with more, a record proves nothing: RFC 9276 3.2 */
};

static bool denial_bitmap_has(knot_bytes_t bitmap, uint16_t type)
{
	for (size_t i = 0; i + 2 <= bitmap.len && i + 2 + bitmap.data[i + 1] <= bitmap.len;
			i += 2U + bitmap.data[i + 1]) {
		unsigned byte = (type & 0xFF) / 8U;
		if (bitmap.data[i] == type >> 8) {
			return byte < bitmap.data[i + 1] && (bitmap.data[i + 2 + byte] & 0x80 >> type % 8);
		}
	}
	return false;
}

static bool denial_is_delegation(knot_bytes_t bitmap)
{
	return denial_bitmap_has(bitmap, KNOT_TYPE_NS) && !denial_bitmap_has(bitmap, KNOT_TYPE_SOA);
}

/* The record of a name says nothing of the names below it (RFC 6840 4.1). */
static bool denial_is_cut(knot_bytes_t bitmap)
{
	return denial_is_delegation(bitmap) || denial_bitmap_has(bitmap, KNOT_TYPE_DNAME);
}

/* A record at a name says that the type isn't there: of a delegation only for DS (RFC 6840 4.1). */
static bool denial_bitmap_denies(knot_bytes_t bitmap, uint16_t type)
{
	bool is_wrong_side =
			type == KNOT_TYPE_DS ? denial_bitmap_has(bitmap, KNOT_TYPE_SOA) : denial_is_delegation(bitmap);
	return !is_wrong_side && !denial_bitmap_has(bitmap, type) && !denial_bitmap_has(bitmap, KNOT_TYPE_CNAME);
}

/* ---- NSEC ---- */

static knot_bytes_t nsec_bitmap(const denial_record_t *record, knot_name_t *ret_next)
{
	if (knot_name_read(record->rdata, ret_next) != KNOT_OK) {
		*ret_next = knot_name_root;
		return (knot_bytes_t){ NULL, 0 };
	}
	return (knot_bytes_t){ record->rdata.data + ret_next->len, record->rdata.len - ret_next->len };
}

static const denial_record_t *nsec_match(const denial_record_t *records, size_t count, knot_name_t name)
{
	for (size_t i = 0; i < count; i++) {
		if (records[i].type == KNOT_TYPE_NSEC && knot_name_eq(records[i].owner, name)) {
			return &records[i];
		}
	}
	return NULL;
}

/* The record between whose owner and next name a name would be; not one of a delegation or DNAME above it. */
static const denial_record_t *nsec_cover(const denial_record_t *records, size_t count, knot_name_t name)
{
	for (size_t i = 0; i < count; i++) {
		knot_name_t next;
		if (records[i].type != KNOT_TYPE_NSEC) {
			continue;
		}
		knot_bytes_t bitmap = nsec_bitmap(&records[i], &next);
		bool is_last = knot_name_cmp(next, records[i].owner) <= 0;
		bool is_between =
				knot_name_cmp(records[i].owner, name) < 0 && (is_last || knot_name_cmp(name, next) < 0);
		if (is_between && !(denial_is_cut(bitmap) && knot_name_in(name, records[i].owner))) {
			return &records[i];
		}
	}
	return NULL;
}

static denial_t nsec_find(const denial_record_t *records, size_t count, knot_name_t name, uint16_t type)
{
	uint8_t wildcard_wire[KNOT_NAME_MAX];
	knot_name_t next, wildcard;
	const denial_record_t *match = nsec_match(records, count, name);
	if (match != NULL) {
		return denial_bitmap_denies(nsec_bitmap(match, &next), type) ? DENIAL_NODATA : DENIAL_NONE;
	}
	const denial_record_t *cover = nsec_cover(records, count, name);
	if (cover == NULL) {
		return DENIAL_NONE;
	}
	(void)nsec_bitmap(cover, &next);
	if (knot_name_in(next, name)) { /* an empty non-terminal */
		return DENIAL_NODATA;
	}
	unsigned by_owner = knot_name_shared_labels(name, cover->owner), by_next = knot_name_shared_labels(name, next);
	unsigned labels = by_owner > by_next ? by_owner : by_next;
	knot_name_t encloser = knot_name_strip(name, name.label_count - labels);
	if (!knot_name_wildcard_below(encloser, wildcard_wire, &wildcard)) {
		return DENIAL_NXDOMAIN;
	}
	match = nsec_match(records, count, wildcard);
	if (match != NULL) {
		return denial_bitmap_denies(nsec_bitmap(match, &next), type) ? DENIAL_NODATA : DENIAL_NONE;
	}
	return nsec_cover(records, count, wildcard) != NULL ? DENIAL_NXDOMAIN : DENIAL_NONE;
}

/* ---- NSEC3 ---- */

/** The fields of an NSEC3 record. */
typedef struct {
	zone_nsec3_params_t params;
	uint8_t flags;
	knot_bytes_t next, bitmap;
} nsec3_t;

static bool nsec3_read(const denial_record_t *record, nsec3_t *ret_nsec3)
{
	knot_reader_t r = knot_reader_of(record->rdata);
	nsec3_t read = { 0 };
	read.params.algorithm = knot_read_u8(&r);
	read.flags = knot_read_u8(&r);
	read.params.iterations = knot_read_u16(&r);
	read.params.salt_len = knot_read_u8(&r);
	read.params.salt = knot_read(&r, read.params.salt_len);
	read.next.len = knot_read_u8(&r);
	read.next.data = knot_read(&r, read.next.len);
	read.bitmap = (knot_bytes_t){ r.data + r.pos, knot_reader_left(&r) };
	*ret_nsec3 = read;
	return record->type == KNOT_TYPE_NSEC3 && !r.failed && read.next.len == ZONE_NSEC3_HASH_LEN &&
	       read.params.iterations <= DENIAL_ITERATIONS_MAX;
}

/* The hash in a record's owner. */
static bool nsec3_owner_hash(const denial_record_t *record, uint8_t ret_hash[static ZONE_NSEC3_HASH_LEN])
{
	return record->owner.label_count > 0 && record->owner.wire[0] == ZONE_NSEC3_LABEL_LEN &&
	       knot_base32hex_scan(
			       (knot_str_t){ (const char *)record->owner.wire + 1, ZONE_NSEC3_LABEL_LEN }, ret_hash);
}

static bool nsec3_same_params(const zone_nsec3_params_t *a, const zone_nsec3_params_t *b)
{
	return a->algorithm == b->algorithm && a->iterations == b->iterations && a->salt_len == b->salt_len &&
	       (a->salt_len == 0 || memcmp(a->salt, b->salt, a->salt_len) == 0);
}

/*
 * The record that matches a name's hash, or (is_cover) covers it. The name is hashed once: records of its zone with
 * other parameters than the first one's prove nothing (RFC 5155 8.2), however many there are.
 */
static bool nsec3_find_record(
		const denial_record_t *records, size_t count, knot_name_t name, bool is_cover, nsec3_t *ret_nsec3)
{
	uint8_t hash[ZONE_NSEC3_HASH_LEN];
	zone_nsec3_params_t params = { 0 };
	bool is_hashed = false;
	for (size_t i = 0; i < count; i++) {
		uint8_t owner[ZONE_NSEC3_HASH_LEN];
		nsec3_t nsec3;
		if (!nsec3_read(&records[i], &nsec3) || !nsec3_owner_hash(&records[i], owner) ||
				!knot_name_in(name, knot_name_strip(records[i].owner, 1))) {
			continue;
		}
		if (!is_hashed) {
			params = nsec3.params;
			is_hashed = zone_nsec3_hash(&params, name, hash);
		}
		if (!is_hashed || !nsec3_same_params(&params, &nsec3.params)) {
			continue;
		}
		int to_owner = memcmp(hash, owner, sizeof(hash)), to_next = memcmp(hash, nsec3.next.data, sizeof(hash));
		bool is_last = memcmp(nsec3.next.data, owner, sizeof(owner)) <= 0;
		bool is_between = is_last ? to_owner > 0 || to_next < 0 : to_owner > 0 && to_next < 0;
		if (is_cover ? is_between : to_owner == 0) {
			*ret_nsec3 = nsec3;
			return true;
		}
	}
	return false;
}

static denial_t nsec3_find(
		const denial_record_t *records, size_t count, knot_name_t zone, knot_name_t name, uint16_t type)
{
	uint8_t wildcard_wire[KNOT_NAME_MAX];
	knot_name_t wildcard;
	nsec3_t match, cover;
	if (nsec3_find_record(records, count, name, false, &match)) {
		return denial_bitmap_denies(match.bitmap, type) ? DENIAL_NODATA : DENIAL_NONE;
	}
	for (unsigned strip = 1; strip <= name.label_count; strip++) {
		knot_name_t encloser = knot_name_strip(name, strip);
		if (!knot_name_in(encloser, zone)) {
			break;
		}
		if (!nsec3_find_record(records, count, encloser, false, &match)) {
			continue;
		}
		if (denial_is_cut(match.bitmap) ||
				!nsec3_find_record(records, count, knot_name_strip(name, strip - 1), true, &cover)) {
			return DENIAL_NONE;
		}
		bool is_opt_out = cover.flags & DENIAL_OPT_OUT_FLAG;
		if (!knot_name_wildcard_below(encloser, wildcard_wire, &wildcard)) {
			return DENIAL_NXDOMAIN;
		}
		if (nsec3_find_record(records, count, wildcard, false, &match)) {
			return denial_bitmap_denies(match.bitmap, type) ? DENIAL_NODATA : DENIAL_NONE;
		}
		bool is_covered = nsec3_find_record(records, count, wildcard, true, &match);
		if (is_opt_out && (type == KNOT_TYPE_DS || !is_covered)) {
			return DENIAL_OPT_OUT;
		}
		return is_covered ? DENIAL_NXDOMAIN : DENIAL_NONE;
	}
	return DENIAL_NONE;
}

/* ---- Both ---- */

denial_t denial_find(const denial_record_t *records, size_t count, knot_name_t zone, knot_name_t name, uint16_t type)
{
	denial_t found = count == 0 ? DENIAL_NONE : nsec_find(records, count, name, type);
	return found != DENIAL_NONE || count == 0 ? found : nsec3_find(records, count, zone, name, type);
}

bool denial_of_closer(const denial_record_t *records, size_t count, knot_name_t name, unsigned encloser_labels)
{
	nsec3_t cover;
	if (encloser_labels >= name.label_count) {
		return false;
	}
	knot_name_t closer = knot_name_strip(name, name.label_count - encloser_labels - 1);
	return nsec_cover(records, count, name) != NULL || nsec3_find_record(records, count, closer, true, &cover);
}
