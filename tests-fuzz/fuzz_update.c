/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Operators' words of any bytes applied to a zone: `+` sets and `-` unsets, with up to four words behind, each ending
 * in a byte 0; a record ends in a byte 1. What a transaction says is different leads from the zone to what it lists;
 * what it builds, written as a zone file, is read as the same records.
 */
#include "src/update/edit.h"
#include "src/update/serial.h"
#include "src/zone/dump.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS = 4, CHANGES_MAX = 64 };

static uint8_t origin_wire[] = "\4zone";
static const zone_build_params_t params = {
	.origin = { origin_wire, 6, 1 }, .default_ttl = 60, .checks = ZONE_CHECKS_SOFT
};
static uint8_t scratch[KNOT_RDATA_MAX];

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static zone_contents_t *build(const char *text, size_t len)
{
	zone_contents_t *zone;
	check(zone_build_text((knot_str_t){ text, len }, "fuzz", &params, &zone) == KNOT_OK);
	return zone;
}

/* A sum that doesn't depend on the order: of each record's bytes. */
static bool add_rr(const zone_rr_t *rr, void *ctx)
{
	uint64_t hash = 0xcbf29ce484222325 ^ rr->ttl ^ (uint64_t)rr->type << 32;
	for (size_t i = 0; i < rr->owner.len + rr->rdata.len; i++) {
		hash = (hash ^ (i < rr->owner.len ? rr->owner.wire[i] : rr->rdata.data[i - rr->owner.len])) *
		       0x100000001b3;
	}
	*(uint64_t *)ctx += hash * 0x9e3779b97f4a7c15;
	return true;
}

static uint64_t sum_of_zone(const zone_contents_t *zone)
{
	uint64_t sum = 0;
	check(zone_each_record(zone, scratch, add_rr, &sum));
	return sum;
}

static void check_differences(const zone_txn_t *txn, const zone_contents_t *base)
{
	uint64_t removed = 0, added = 0, listed = 0;
	check(zone_txn_diff(txn, false, add_rr, &removed) == KNOT_OK &&
			zone_txn_diff(txn, true, add_rr, &added) == KNOT_OK);
	check(zone_txn_each(txn, add_rr, &listed) == KNOT_OK);
	check(sum_of_zone(base) - removed + added == listed);
}

static void check_build(const zone_txn_t *txn, const zone_contents_t *base)
{
	zone_contents_t *zone;
	if (zone_txn_build(txn, base, &params, &zone) != KNOT_OK) {
		return;
	}
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	check(fd >= 0 && zone_dump(zone, fd, &(zone_dump_params_t){ .program = "fuzz" }) == KNOT_OK);
	size_t len = (size_t)lseek(fd, 0, SEEK_END);
	char *text = malloc(len);
	check(text != NULL && pread(fd, text, len, 0) == (ssize_t)len);
	close(fd);
	zone_contents_t *again = build(text, len);
	check(sum_of_zone(again) == sum_of_zone(zone) && again->serial == zone->serial);
	free(text);
	zone_contents_free(again);
	zone_contents_free(zone);
}

/* Takes a change off the input, which ends in a byte 0. */
static size_t apply(const edit_t *edit, const char *text, size_t len)
{
	const char *words[WORDS] = { NULL };
	size_t pos = 1;
	for (unsigned i = 0; i < WORDS && pos < len && text[pos] != 1; i++) {
		words[i] = text[pos] == 2 ? NULL : text + pos;
		pos += strlen(text + pos) + 1;
	}
	edit_words_t named = { words[0], words[1], words[2], words[3] };
	edit_note_t note;
	knot_err_t err = text[0] == '-' ? edit_unset(edit, &named, &note) : edit_set(edit, &named, &note);
	check(err != KNOT_EPARSEFAIL || note.reason != NULL);
	return pos < len ? pos + 1 : len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char zone[] = "@ 60 SOA ns admin 5 1 2 3 4\n@ NS ns\nns A 192.0.2.1\nmail 300 MX 10 ns\nsub NS "
				   "ns.sub\nns.sub A 192.0.2.2\n"
				   "*.w TXT a\nc CNAME ns\n";
	zone_contents_t *base = build(zone, sizeof(zone) - 1);
	edit_t edit = { .origin = params.origin, .default_ttl = 77, .is_benevolent = size % 2 };
	check(zone_txn_begin(base, &params, &edit.txn) == KNOT_OK);
	char *text = calloc(1, size + 1);
	check(text != NULL);
	if (size > 0) {
		memcpy(text, data, size);
	}
	size_t pos = 0;
	for (unsigned changes = 0; pos < size && changes < CHANGES_MAX; changes++) {
		pos += apply(&edit, text + pos, size - pos);
	}
	free(text);
	uint32_t serial;
	check(update_serial(edit.txn, params.origin, &serial));
	check_differences(edit.txn, base);
	check_build(edit.txn, base);
	zone_txn_discard(edit.txn);
	zone_contents_free(base);
	return 0;
}
