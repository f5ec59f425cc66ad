/* SPDX-License-Identifier: BSD-2-Clause */
/** Journals in folders of their own, and changes that are functions of a few numbers: for the tests of the journal. */
#pragma once

#include "src/journal/changeset.h"
#include "src/journal/journal.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* In memory if possible: there flushing costs nothing, and nothing here depends on it. */
static char test_dir[32] = "/dev/shm/bowline-journal-XXXXXX";
static char test_path[64];

static const uint8_t zone_a_wire[] = { 1, 'a', 0 }, zone_b_wire[] = { 1, 'B', 1, 'a', 0 }, zone_root_wire[] = { 0 };
static const knot_name_t zone_a = { zone_a_wire, 3, 1 }, zone_b = { zone_b_wire, 5, 2 },
			 zone_root = { zone_root_wire, 1, 0 };

static const journal_limits_t wide = { .usage_max = 100 << 20, .depth_max = 1000 };

static inline changeset_rr_t test_soa(uint32_t serial, uint8_t data[static 22])
{
	memset(data, 0, 22); /* two roots as names */
	store_be32(data + 2, serial);
	return (changeset_rr_t){ zone_a, KNOT_TYPE_SOA, 3600, { data, 22 } };
}

/* A record "b.a. 60 TYPE65280" whose data are `len` bytes that `seed` begins. */
static inline void test_put(changeset_writer_t *writer, uint32_t seed, size_t len, bool is_added)
{
	static const uint8_t owner[] = { 1, 'b', 1, 'a', 0 };
	uint8_t data[KNOT_RDATA_MAX];
	uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (size_t i = 0; i < len; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		data[i] = (uint8_t)x;
	}
	store_be32(data, seed);
	changeset_put(writer, &(changeset_rr_t){ { owner, 5, 2 }, 65280, 60, { data, len } }, is_added);
}

/* A change that adds the record `to` and removes the record `from`, each of `len` bytes, in records of at most
 * KNOT_RDATA_MAX bytes. The payload: free(). */
static inline journal_change_t test_change(uint32_t from, uint32_t to, size_t len)
{
	enum { EACH = 60000 };
	changeset_writer_t writer = { 0 };
	uint8_t before[22], after[22];
	changeset_rr_t soas[] = { test_soa(from, before), test_soa(to, after) };
	changeset_put(&writer, &soas[0], false);
	changeset_put(&writer, &soas[1], true);
	for (size_t done = 0, i = 0; done < len; done += EACH, i++) {
		size_t some = len - done < EACH ? len - done : EACH;
		some = some < 8 ? 8 : some;
		test_put(&writer, to + (uint32_t)i * 100000, some, true);
	}
	journal_change_t change = { .serial_from = from,
		.serial_to = to,
		.time_s = 1700000000 + to,
		.source = 3,
		.who = "uid 0",
		.removed = writer.count[0],
		.added = writer.count[1],
		.zone_size = 1000 + to };
	uint8_t *data;
	assert_int_equal(changeset_finish(&writer, CHANGESET_STEP, &data, &change.payload.len), KNOT_OK);
	change.payload.data = data;
	return change;
}

static inline knot_err_t test_append_to(journal_t *journal, knot_name_t zone, uint32_t from, uint32_t to, size_t len,
		const journal_limits_t *limits)
{
	journal_change_t change = test_change(from, to, len);
	journal_reason_t reason;
	knot_err_t err = journal_append(journal, zone, &change, limits, &reason);
	if ((err == KNOT_OK) != (reason.text[0] == '\0')) {
		fail_msg("%u -> %u: %s: '%s'", from, to, knot_strerror(err), reason.text);
	}
	free((void *)change.payload.data);
	return err;
}

static inline knot_err_t test_put_zone(
		journal_t *journal, knot_name_t zone, uint32_t serial, size_t len, const journal_limits_t *limits)
{
	changeset_writer_t writer = { 0 };
	uint8_t data[22];
	changeset_rr_t soa = test_soa(serial, data);
	changeset_put(&writer, &soa, true);
	test_put(&writer, serial, len < 8 ? 8 : len, true);
	journal_change_t whole = { .serial_to = serial, .time_s = 1700000000 + serial, .added = writer.count[1] };
	uint8_t *payload;
	assert_int_equal(changeset_finish(&writer, CHANGESET_WHOLE, &payload, &whole.payload.len), KNOT_OK);
	whole.payload.data = payload;
	knot_err_t err = journal_put_zone(journal, zone, &whole, limits, NULL);
	free(payload);
	return err;
}

/* Spells entries: "W5 1-2 M2-7 N3-4 ". */
typedef struct {
	char text[4096];
	size_t len, left;
	bool wrong; /* a payload isn't what was stored */
	uint64_t number;
} test_spell_t;

typedef struct {
	uint32_t serials[2];
	uint32_t counts[2];
	bool has[2];
} test_seen_t;

static inline bool test_see(const changeset_rr_t *rr, bool is_added, void *ctx)
{
	test_seen_t *seen = ctx;
	seen->counts[is_added]++;
	if (rr->type == KNOT_TYPE_SOA) {
		seen->serials[is_added] = knot_soa_serial(rr->rdata);
		seen->has[is_added] = true;
	}
	return true;
}

static inline bool test_spell(const journal_entry_t *entry, void *ctx)
{
	test_spell_t *s = ctx;
	static const char *const kinds[] = { "", "M", "W", "N" };
	const journal_change_t *change = &entry->change;
	size_t room = sizeof(s->text) - s->len;
	int len = entry->kind == JOURNAL_WHOLE ? snprintf(s->text + s->len, room, "W%u ", change->serial_to)
					       : snprintf(s->text + s->len, room, "%s%u-%u ", kinds[entry->kind],
								 change->serial_from, change->serial_to);
	s->len += (size_t)len;
	test_seen_t seen = { 0 };
	if (entry->kind != JOURNAL_NOTE) {
		bool whole = entry->kind == JOURNAL_WHOLE;
		s->wrong = s->wrong ||
			   changeset_each(change->payload, whole ? CHANGESET_WHOLE : CHANGESET_STEP, test_see, &seen) !=
					   KNOT_OK ||
			   seen.serials[1] != change->serial_to || (!whole && seen.serials[0] != change->serial_from) ||
			   seen.counts[0] != change->removed || seen.counts[1] != change->added ||
			   (!whole && entry->number <= s->number) || change->time_s != 1700000000 + change->serial_to;
		s->number = whole ? 0 : entry->number;
	}
	return --s->left > 0;
}

static inline void test_expect(journal_t *journal, knot_name_t zone, const char *want)
{
	test_spell_t s = { .left = 10000 };
	knot_err_t err = journal_each(journal, zone, test_spell, &s);
	if (err != (want[0] == '\0' ? KNOT_ENOENT : KNOT_OK) || strcmp(s.text, want) != 0 || s.wrong) {
		fail_msg("wanted '%s', is '%s' (%s%s)", want, s.text, knot_strerror(err),
				s.wrong ? ", wrong payload" : "");
	}
}

static inline journal_t *test_open(uint64_t size_max)
{
	journal_t *journal = NULL;
	journal_reason_t reason;
	knot_err_t err =
			journal_open(&(journal_params_t){ .path = test_path, .size_max = size_max }, &journal, &reason);
	if (err != KNOT_OK || reason.text[0] != '\0') {
		fail_msg("%s: %s", knot_strerror(err), reason.text);
	}
	return journal;
}

/** Whatever the folder holds: each repair of a damaged journal leaves another file. */
static inline void test_remove_files(void)
{
	DIR *dir = opendir(test_path);
	if (dir == NULL) {
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
		(void)unlinkat(dirfd(dir), entry->d_name, 0); // "." and ".." are refused
	}
	(void)closedir(dir);
	(void)rmdir(test_path);
}

static inline int test_setup(void **state)
{
	(void)state;
	if (mkdtemp(test_dir) == NULL) {
		snprintf(test_dir, sizeof(test_dir), "/tmp/bowline-journal-XXXXXX");
		assert_non_null(mkdtemp(test_dir));
	}
	snprintf(test_path, sizeof(test_path), "%s/journal", test_dir);
	return 0;
}

static inline int test_teardown(void **state)
{
	(void)state;
	test_remove_files();
	(void)rmdir(test_dir);
	return 0;
}
