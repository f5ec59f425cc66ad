/* SPDX-License-Identifier: BSD-2-Clause */
/* What the journal stores and drops, and why it refuses: one zone, one thread. */
#include "src/journal/journal_test.h"

enum { MAP = 64 << 20 };

static journal_t *begin(void)
{
	test_remove_files();
	return test_open(MAP);
}

static journal_t *reopen(journal_t *journal)
{
	journal_close(journal);
	return test_open(MAP);
}

/* ---- Storing and reading ---- */

static void test_missing_is_empty(void **state)
{
	(void)state;
	journal_t *journal = begin();
	test_spell_t s = { .left = 9 };
	journal_info_t info;
	assert_int_equal(journal_each(journal, zone_a, test_spell, &s), KNOT_ENOENT);
	assert_int_equal(journal_each_from(journal, zone_a, 1, test_spell, &s), KNOT_ENOENT);
	assert_int_equal(journal_read_zone(journal, zone_a, test_spell, &s), KNOT_ENOENT);
	assert_int_equal(journal_info(journal, zone_a, &info), KNOT_ENOENT);
	assert_int_equal(access(test_path, F_OK), -1); /* reading made nothing */
	assert_int_equal(journal_drop(journal, zone_a, NULL), KNOT_ENOENT);
	assert_int_equal(test_append_to(journal, zone_a, 1, 2, 10, &wide), KNOT_OK);
	assert_int_equal(journal_drop(journal, zone_a, NULL), KNOT_OK);
	assert_int_equal(journal_info(journal, zone_a, &info), KNOT_ENOENT);
	journal_close(journal);
}

static void test_chain(void **state)
{
	(void)state;
	journal_t *journal = begin();
	/* Within a page, with a page of its own, in pieces. */
	static const size_t sizes[] = { 10, 1500, 3900, 4080, 16360, 16368, 16376, 50000, 100000, 1000000 };
	for (uint32_t i = 0; i < KNOT_LEN(sizes); i++) {
		assert_int_equal(test_append_to(journal, zone_a, i + 1, i + 2, sizes[i], &wide), KNOT_OK);
		assert_int_equal(test_append_to(journal, zone_b, i + 1, i + 2, sizes[i], &wide), KNOT_OK);
	}
	assert_int_equal(test_append_to(journal, zone_root, 7, 8, 10, &wide), KNOT_OK);
	for (int i = 0; i < 2; i++) {
		test_expect(journal, zone_a, "1-2 2-3 3-4 4-5 5-6 6-7 7-8 8-9 9-10 10-11 ");
		test_expect(journal, zone_b, "1-2 2-3 3-4 4-5 5-6 6-7 7-8 8-9 9-10 10-11 ");
		test_expect(journal, zone_root, "7-8 ");
		journal = reopen(journal);
	}
	static const struct {
		uint32_t from;
		size_t left;
		knot_err_t want;
		const char *text;
	} rows[] = {
		{ 1, 99, KNOT_OK, "1-2 2-3 3-4 4-5 5-6 6-7 7-8 8-9 9-10 10-11 " },
		{ 9, 99, KNOT_OK, "9-10 10-11 " },
		{ 9, 1, KNOT_OK, "9-10 " },
		{ 10, 99, KNOT_OK, "10-11 " },
		{ 11, 99, KNOT_ENOENT, "" },
		{ 0, 99, KNOT_ENOENT, "" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		test_spell_t s = { .left = rows[i].left };
		assert_int_equal(journal_each_from(journal, zone_a, rows[i].from, test_spell, &s), rows[i].want);
		assert_string_equal(s.text, rows[i].text);
		assert_false(s.wrong);
	}
	journal_info_t info;
	assert_int_equal(journal_info(journal, zone_a, &info), KNOT_OK);
	assert_true(info.has_changes && !info.has_whole && !info.has_flushed);
	assert_int_equal(info.serial_first, 1);
	assert_int_equal(info.serial_last, 11);
	assert_int_equal(info.changes, 10);
	assert_in_range(info.bytes, 1190000, 1400000);
	journal_close(journal);
}

static bool count_zone(knot_name_t zone, void *ctx)
{
	char *text = ctx, name[KNOT_NAME_TEXT_MAX];
	knot_name_print(zone, name);
	strcat(strcat(text, name), " ");
	return true;
}

static void test_zones(void **state)
{
	(void)state;
	journal_t *journal = begin();
	char text[1000] = "";
	assert_int_equal(journal_each_zone(journal, count_zone, text), KNOT_OK);
	assert_string_equal(text, "");
	assert_int_equal(test_append_to(journal, zone_a, 1, 2, 10, &wide), KNOT_OK);
	assert_int_equal(test_append_to(journal, zone_b, 1, 2, 99999, &wide), KNOT_OK);
	assert_int_equal(test_append_to(journal, zone_root, 1, 2, 10, &wide), KNOT_OK);
	assert_int_equal(journal_each_zone(journal, count_zone, text), KNOT_OK);
	assert_string_equal(text, ". a. b.a. ");
	journal_usage_t usage = journal_usage(journal);
	assert_in_range(usage.used, 100000, 200000);
	assert_int_equal(usage.max, MAP);
	assert_int_equal(journal_drop(journal, zone_b, NULL), KNOT_OK);
	test_expect(journal, zone_b, "");
	test_expect(journal, zone_a, "1-2 ");
	test_expect(journal, zone_root, "1-2 ");
	text[0] = '\0';
	assert_int_equal(journal_each_zone(journal, count_zone, text), KNOT_OK);
	assert_string_equal(text, ". a. ");
	journal_close(journal);
}

/* ---- Rules: a line of steps, each with what it must return, and what is stored then ---- */

typedef struct {
	const char *what;
	journal_limits_t limits;
	/* Words: "1-2" append; "1-2*9" so many bytes; "N1-2" a note; "W5" a whole zone; "F3" flushed; "=" with a text
	 * after it, what is stored. A trailing ! means KNOT_ESEMCHECK, ? KNOT_EAGAIN, # KNOT_ESPACE. */
	const char *steps;
	const char *want;
} rule_t;

static void run_rule(journal_t *journal, const rule_t *rule)
{
	char steps[512];
	snprintf(steps, sizeof(steps), "%s", rule->steps);
	char *save;
	for (char *word = strtok_r(steps, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
		size_t len = strlen(word);
		char last = word[len - 1];
		knot_err_t want = last == '!'   ? KNOT_ESEMCHECK
				  : last == '?' ? KNOT_EAGAIN
				  : last == '#' ? KNOT_ESPACE
						: KNOT_OK;
		unsigned from = 0, to = 0, size = 10;
		knot_err_t err;
		if (sscanf(word, "F%u", &to) == 1) {
			err = journal_mark_flushed(journal, zone_a, to, NULL);
		} else if (sscanf(word, "W%u*%u", &to, &size) >= 1) {
			err = test_put_zone(journal, zone_a, to, size, &rule->limits);
		} else if (sscanf(word, "N%u-%u", &from, &to) == 2) {
			journal_change_t note = { .serial_from = from, .serial_to = to, .time_s = 1700000000 + to };
			err = journal_append(journal, zone_a, &note, &rule->limits, NULL);
		} else {
			assert_true(sscanf(word, "%u-%u*%u", &from, &to, &size) >= 2);
			err = test_append_to(journal, zone_a, from, to, size, &rule->limits);
		}
		if (err != want) {
			fail_msg("%s: %s: %s", rule->what, word, knot_strerror(err));
		}
	}
}

#define KEEP                                                                                                           \
	{                                                                                                              \
		.usage_max = 100 << 20, .depth_max = 4                                                                 \
	}
#define MERGE                                                                                                          \
	{                                                                                                              \
		.usage_max = 100 << 20, .depth_max = 4, .may_merge = true                                              \
	}
#define FROM_FILE                                                                                                      \
	{                                                                                                              \
		.usage_max = 100 << 20, .depth_max = 4, .drops_whole = true                                            \
	}
#define SMALL                                                                                                          \
	{                                                                                                              \
		.usage_max = 40000, .depth_max = 1000                                                                  \
	}

/* ctx: two serials, 0 for none. */
static size_t give_borders(uint32_t ret_serials[static JOURNAL_BORDERS_MAX], void *ctx)
{
	const uint32_t *serials = ctx;
	size_t count = 0;
	for (size_t i = 0; i < 2; i++) {
		if (serials[i] != 0) {
			ret_serials[count++] = serials[i];
		}
	}
	return count;
}

#define BORDER(depth, ...)                                                                                             \
	{                                                                                                              \
		.usage_max = 100 << 20, .depth_max = (depth), .may_merge = true, .borders = give_borders,              \
		.borders_ctx = (uint32_t[2])                                                                           \
		{                                                                                                      \
			__VA_ARGS__                                                                                    \
		}                                                                                                      \
	}

static const rule_t rules[] = {
	{ "the limit of depth, nothing flushed", KEEP, "1-2 2-3 3-4 4-5 5-6?", "1-2 2-3 3-4 4-5 " },
	{ "flushed changes go one by one", KEEP, "1-2 2-3 3-4 4-5 F4 5-6 6-7", "3-4 4-5 5-6 6-7 " },
	{ "after a flush it goes on", KEEP, "1-2 2-3 3-4 4-5 5-6? F5 5-6", "2-3 3-4 4-5 5-6 " },
	{ "only flushed ones go", KEEP, "1-2 2-3 3-4 4-5 F3 5-6 6-7 7-8?", "3-4 4-5 5-6 6-7 " },
	{ "a flush of an unknown serial says nothing", KEEP, "1-2 2-3 3-4 4-5 F77 5-6?", "1-2 2-3 3-4 4-5 " },
	{ "a change as large as the limit", SMALL, "1-2*40000#", "" },
	{ "a change below the limit", SMALL, "1-2*30000", "1-2 " },
	{ "usage, nothing flushed", SMALL, "1-2*15000 2-3*15000 3-4*15000?", "1-2 2-3 " },
	{ "usage, flushed", SMALL, "1-2*15000 2-3*15000 F2 3-4*15000", "2-3 3-4 " },
	{ "a refused change drops nothing", SMALL, "1-2*15000 2-3*15000 F2 3-4*30000?", "1-2 2-3 " },
	{ "a gap drops what was stored", KEEP, "1-2 2-3 5-6", "5-6 " },
	{ "a gap with a lower serial", KEEP, "1-2 2-3 6-5!", "1-2 2-3 " },
	{ "the same serial", KEEP, "1-1!", "" },
	{ "a gap behind a whole zone", KEEP, "W5 6-7!", "W5 " },
	{ "a gap behind a whole zone, with a zone file", FROM_FILE, "W5 5-6 N6-8 8-9 9-10", "N6-8 8-9 9-10 " },
	{ "a gap with a lower serial behind a whole zone", FROM_FILE, "W5 5-6 4-3!", "W5 5-6 " },
	{ "changes behind a whole zone", KEEP, "W5 5-6 6-7", "W5 5-6 6-7 " },
	{ "a whole zone replaces all", KEEP, "1-2 2-3 N3-5 W5 N5-6", "W5 N3-5 N5-6 " },
	{ "a whole zone replaces another", KEEP, "W5 5-6 W9 9-10", "W9 9-10 " },
	{ "a whole zone above the limit", SMALL, "W5*39900#", "" },
	{ "serials that grow over the end", KEEP, "4294967295-0 0-1", "4294967295-0 0-1 " },
	{ "a serial set back", KEEP, "5-6 6-7 7-2 2-3", "5-6 6-7 7-2 2-3 " },
	{ "back to a serial that a change begins at", KEEP, "5-6 6-7 7-8 8-6", "7-8 8-6 " },
	{ "back to where the journal begins", KEEP, "5-6 6-7 7-5", "6-7 7-5 " },
	{ "twice around", KEEP, "0-2000000000 2000000000-4000000000 4000000000-0 0-5",
			"2000000000-4000000000 4000000000-0 0-5 " },
	{ "notes break no chain", KEEP, "1-2 N2-3 2-3", "1-2 N2-3 2-3 " },
	{ "notes don't count", KEEP, "1-2 2-3 3-4 N1-2 N1-2 N1-2 4-5", "1-2 2-3 3-4 N1-2 N1-2 N1-2 4-5 " },
	{ "without flushing all changes are merged", MERGE, "1-2 2-3 3-4 4-5 5-6", "M1-5 5-6 " },
	{ "merged again while that is cheap", MERGE, "1-2 2-3 3-4 4-5 5-6 6-7 7-8 8-9", "M1-8 8-9 " },
	{ "a large one is left out", MERGE, "1-2*50000 2-3 3-4 4-5 5-6", "1-2 M2-5 5-6 " },
	{ "as long as there is room", MERGE, "1-2*50000 2-3*9000 3-4*2000 4-5 5-6 6-7 7-8", "1-2 2-3 M3-7 7-8 " },
	{ "merged into a whole zone", MERGE, "W1 1-2 2-3 3-4 4-5 5-6", "W5 5-6 " },
	{ "a large whole zone is left out", MERGE, "W1*50000 1-2 2-3 3-4 4-5 5-6", "W1 M1-5 5-6 " },
	{ "a whole zone is merged whatever is flushed", KEEP, "W1 1-2 2-3 3-4 4-5 F5 5-6", "W5 5-6 " },
	{ "merging for usage", { .usage_max = 40000, .depth_max = 1000, .may_merge = true },
			"1-2*9000 2-3*9000 3-4*9000 4-5*9000#", "1-2 2-3 3-4 " },
	{ "flushed ones go before anything is merged", MERGE, "1-2 2-3 3-4 4-5 F3 5-6", "2-3 3-4 4-5 5-6 " },
	{ "apart at a border, the newer ones first", BORDER(4, 3), "1-2 2-3 3-4 4-5 5-6", "1-2 2-3 M3-5 5-6 " },
	{ "the older ones if that is cheaper", BORDER(4, 3), "1-2 2-3 3-4*9000 4-5*9000 5-6", "M1-3 3-4 4-5 5-6 " },
	{ "the only part where there are two", BORDER(4, 4), "1-2*9000 2-3 3-4 4-5 5-6", "1-2 M2-4 4-5 5-6 " },
	{ "a border at the end", BORDER(4, 5), "1-2 2-3 3-4 4-5 5-6 6-7 7-8", "M1-5 5-6 6-7 7-8 " },
	{ "many changes around a border", BORDER(4, 5),
			"1-2 2-3 3-4 4-5 5-6 6-7 7-8 8-9 9-10 10-11 11-12 12-13 13-14 14-15 15-16",
			"M1-5 M5-14 14-15 15-16 " },
	{ "two borders", BORDER(4, 3, 4), "1-2 2-3 3-4 4-5 5-6 6-7 7-8", "M1-3 3-4 M4-7 7-8 " },
	{ "a depth with no room for borders", BORDER(2, 2, 3), "1-2 2-3 3-4 4-5 5-6", "M1-5 5-6 " },
	{ "a depth with room for one of two", BORDER(3, 2, 3), "1-2 2-3 3-4 4-5", "M1-4 4-5 " },
	{ "a border that is gone", BORDER(4, 77), "1-2 2-3 3-4 4-5 5-6", "M1-5 5-6 " },
	{ "a whole zone and changes up to a border", BORDER(4, 4), "W1 1-2 2-3 3-4 4-5*9000 5-6", "W4 4-5 5-6 " },
	{ "for usage, borders don't hold",
			{ .usage_max = 40000,
					.depth_max = 1000,
					.may_merge = true,
					.borders = give_borders,
					.borders_ctx = (uint32_t[2]){ 2, 3 } },
			"1-2*9000 2-3*9000 3-4*9000 4-5*9000#", "1-2 2-3 3-4 " },
	{ "the smallest depth", { .usage_max = 100 << 20, .depth_max = 2, .may_merge = true }, "1-2 2-3 3-4 4-5",
			"M1-4 4-5 " },
};

static void test_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rules); i++) {
		journal_t *journal = begin();
		run_rule(journal, &rules[i]);
		test_spell_t s = { .left = 1000 };
		(void)!journal_each(journal, zone_a, test_spell, &s);
		if (strcmp(s.text, rules[i].want) != 0 || s.wrong) {
			fail_msg("%s: is '%s'%s", rules[i].what, s.text, s.wrong ? ", wrong" : "");
		}
		journal = reopen(journal);
		test_expect(journal, zone_a, rules[i].want);
		journal_close(journal);
	}
}

static void test_notes_are_bounded(void **state)
{
	(void)state;
	journal_t *journal = begin();
	assert_int_equal(test_append_to(journal, zone_a, 1, 2, 10, &wide), KNOT_OK);
	for (uint32_t i = 0; i < 3 * JOURNAL_NOTES_MAX; i++) {
		journal_change_t note = { .serial_from = i, .serial_to = i + 1, .time_s = 1700000001 + i };
		assert_int_equal(journal_append(journal, zone_a, &note, &wide, NULL), KNOT_OK);
	}
	journal_info_t info;
	assert_int_equal(journal_info(journal, zone_a, &info), KNOT_OK);
	assert_int_equal(info.notes, JOURNAL_NOTES_MAX);
	assert_int_equal(info.changes, 1);
	test_spell_t s = { .left = 2 };
	assert_int_equal(journal_each(journal, zone_a, test_spell, &s), KNOT_OK);
	assert_string_equal(s.text, "1-2 N200-201 ");
	journal_close(journal);
}

static bool keep_entry(const journal_entry_t *entry, void *ctx)
{
	journal_entry_t *kept = ctx;
	*kept = *entry;
	return true;
}

static void test_what_is_kept_of_a_change(void **state)
{
	(void)state;
	journal_t *journal = begin();
	assert_int_equal(test_append_to(journal, zone_a, 1, 2, 10, &wide), KNOT_OK);
	journal_change_t note = {
		.serial_from = 2, .serial_to = 3, .time_s = 5, .source = 9, .zone_size = 77, .removed = 1, .added = 2
	};
	memset(note.who, 'x', sizeof(note.who)); /* too long: cut */
	assert_int_equal(journal_append(journal, zone_a, &note, &wide, NULL), KNOT_OK);
	journal_entry_t kept;
	assert_int_equal(journal_each_from(journal, zone_a, 1, keep_entry, &kept), KNOT_OK);
	assert_int_equal(kept.change.time_s, 1700000002);
	assert_int_equal(kept.change.source, 3);
	assert_string_equal(kept.change.who, "uid 0");
	assert_int_equal(kept.change.zone_size, 1002);
	assert_int_equal(journal_each(journal, zone_a, keep_entry, &kept), KNOT_OK);
	assert_int_equal(kept.kind, JOURNAL_NOTE);
	assert_int_equal(strlen(kept.change.who), JOURNAL_WHO_MAX - 1);
	assert_true(kept.change.source == 9 && kept.change.zone_size == 77 && kept.change.removed == 1 &&
			kept.change.added == 2);
	journal_close(journal);
}

/* ---- Opening ---- */

static void test_one_writer(void **state)
{
	(void)state;
	journal_t *journal = begin(), *second;
	journal_reason_t reason;
	assert_int_equal(test_append_to(journal, zone_a, 1, 2, 10, &wide), KNOT_OK);
	journal_params_t params = { .path = test_path, .size_max = MAP };
	assert_int_equal(journal_open(&params, &second, &reason), KNOT_OK);
	assert_non_null(strstr(reason.text, "another process writes to it"));
	journal_change_t change = test_change(2, 3, 10);
	assert_int_equal(journal_append(second, zone_a, &change, &wide, &reason), KNOT_EBUSY);
	assert_non_null(strstr(reason.text, "another process writes to it"));
	journal_info_t info;
	bool was_closed;
	assert_int_equal(journal_info(second, zone_a, &info), KNOT_EFILE); /* and not: nothing */
	assert_int_equal(journal_reopen(second, &was_closed, &reason), KNOT_EBUSY);
	assert_non_null(strstr(reason.text, "another process writes to it"));
	assert_true(was_closed);
	/* A tool reads meanwhile. */
	journal_t *reader;
	params.read_only = true;
	assert_int_equal(journal_open(&params, &reader, &reason), KNOT_OK);
	test_expect(reader, zone_a, "1-2 ");
	assert_int_equal(test_append_to(journal, zone_a, 2, 3, 10, &wide), KNOT_OK);
	test_expect(reader, zone_a, "1-2 2-3 ");
	journal_close(reader);
	/* Once the other process has gone, the second one works by itself. */
	journal_close(journal);
	change.serial_from = 3;
	assert_int_equal(test_append_to(second, zone_a, 3, 4, 10, &wide), KNOT_OK);
	test_expect(second, zone_a, "1-2 2-3 3-4 ");
	free((void *)change.payload.data);
	journal_close(second);
}

static void test_opened_later(void **state)
{
	(void)state;
	journal_t *journal = begin(), *second;
	journal_reason_t reason;
	bool was_closed;
	assert_int_equal(journal_reopen(journal, &was_closed, &reason), KNOT_OK);
	assert_false(was_closed); /* there is nothing */
	assert_int_equal(access(test_path, F_OK), -1);
	assert_int_equal(test_append_to(journal, zone_a, 1, 2, 10, &wide), KNOT_OK);
	journal_params_t params = { .path = test_path, .size_max = MAP };
	assert_int_equal(journal_open(&params, &second, &reason), KNOT_OK);
	journal_close(journal);
	int tries = 0;
	while (journal_reopen(second, &was_closed, &reason) != KNOT_OK) {
		assert_true(was_closed && ++tries < 1000); /* an attempt per second */
		usleep(20000);
	}
	assert_true(tries > 0 && was_closed);
	assert_string_equal(reason.text, "");
	test_expect(second, zone_a, "1-2 ");
	assert_int_equal(journal_reopen(second, &was_closed, &reason), KNOT_OK);
	assert_false(was_closed);
	journal_close(second);
}

static void test_read_only_makes_nothing(void **state)
{
	(void)state;
	test_remove_files();
	journal_t *journal;
	journal_reason_t reason;
	journal_params_t params = { .path = test_path, .size_max = MAP, .read_only = true };
	assert_int_equal(journal_open(&params, &journal, &reason), KNOT_ENOENT);
	assert_int_equal(mkdir(test_path, 0700), 0);
	assert_int_equal(journal_open(&params, &journal, &reason), KNOT_ENOENT);
	assert_int_equal(rmdir(test_path), 0);
}

/* ---- Damage ---- */

/* Change a byte of a stored change, wherever LMDB has put it. */
static void damage_change(uint32_t from, uint32_t to, size_t len)
{
	enum { PART = 200 }; /* of the payload: no page ends within it */
	char path[128];
	snprintf(path, sizeof(path), "%s/data.mdb", test_path);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat info;
	assert_true(fd >= 0 && fstat(fd, &info) == 0);
	uint8_t *file = malloc((size_t)info.st_size);
	assert_non_null(file);
	assert_int_equal(pread(fd, file, (size_t)info.st_size, 0), info.st_size);
	journal_change_t change = test_change(from, to, len);
	const uint8_t *at = file, *end = file + info.st_size;
	unsigned found = 0;
	while ((at = memmem(at, (size_t)(end - at), change.payload.data, PART)) != NULL) {
		uint8_t wrong = at[PART - 1] ^ 1;
		assert_int_equal(pwrite(fd, &wrong, 1, at - file + PART - 1), 1);
		at++;
		found++;
	}
	assert_true(found > 0);
	free((void *)change.payload.data);
	free(file);
	close(fd);
}

/* A start gets as far as the damage, and the next change begins there. */
static void test_goes_on_before_damage(void **state)
{
	(void)state;
	static const size_t lens[] = { 200, 30000 }; /* in one value, and in pieces */
	for (size_t i = 0; i < 2 * KNOT_LEN(lens); i++) {
		bool has_whole = i % 2 == 0;
		size_t len = lens[i / 2];
		journal_t *journal = begin();
		if (has_whole) {
			assert_int_equal(test_put_zone(journal, zone_a, 1, 10, &wide), KNOT_OK);
		}
		for (uint32_t serial = 1; serial < 5; serial++) {
			assert_int_equal(test_append_to(journal, zone_a, serial, serial + 1, len, &wide), KNOT_OK);
		}
		journal_close(journal);
		damage_change(3, 4, len);
		journal = test_open(MAP);
		assert_int_equal(test_append_to(journal, zone_a, 3, 7, len, &wide), KNOT_OK);
		test_expect(journal, zone_a, has_whole ? "W1 1-2 2-3 3-7 " : "1-2 2-3 3-7 ");
		assert_int_equal(test_append_to(journal, zone_a, 7, 8, len, &wide), KNOT_OK);
		test_expect(journal, zone_a, has_whole ? "W1 1-2 2-3 3-7 7-8 " : "1-2 2-3 3-7 7-8 ");
		journal_close(journal);
	}
}

/* Damage that comes while the journal is open: changes are stored on, and others are merged. */
static void test_stores_beside_damage(void **state)
{
	(void)state;
	static const size_t lens[] = { 200, 30000 }; /* in one value, and in pieces */
	static const bool never;
	const journal_limits_t merging = { .usage_max = 100 << 20, .depth_max = 4, .may_merge = true };
	for (size_t i = 0; i < KNOT_LEN(lens); i++) {
		journal_t *journal = begin();
		for (uint32_t serial = 1; serial < 5; serial++) {
			assert_int_equal(test_append_to(journal, zone_a, serial, serial + 1, lens[i], &merging),
					KNOT_OK);
		}
		damage_change(2, 3, lens[i]);
		for (uint32_t serial = 5; serial < 300; serial++) {
			assert_int_equal(test_append_to(journal, zone_a, serial, serial + 1, lens[i], &merging),
					KNOT_OK);
			if (serial % 7 == 0) {
				assert_int_equal(journal_merge(journal, zone_a, &merging, &never, NULL), KNOT_OK);
			}
		}
		test_spell_t s = { .left = 1000 };
		assert_int_equal(journal_each(journal, zone_a, test_spell, &s), KNOT_EMALF);
		assert_non_null(strstr(s.text, "-300 "));
		journal_info_t info;
		assert_int_equal(journal_info(journal, zone_a, &info), KNOT_OK);
		assert_in_range(info.changes, 2, 4 + JOURNAL_DEPTH_MORE);
		journal_close(journal);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_missing_is_empty),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_zones),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_notes_are_bounded),
		cmocka_unit_test(test_what_is_kept_of_a_change),
		cmocka_unit_test(test_one_writer),
		cmocka_unit_test(test_opened_later),
		cmocka_unit_test(test_read_only_makes_nothing),
		cmocka_unit_test(test_goes_on_before_damage),
		cmocka_unit_test(test_stores_beside_damage),
	};
	return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
