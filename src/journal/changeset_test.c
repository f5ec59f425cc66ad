/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/journal/changeset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* The zone of all tests: "a.", and a SOA whose serial is the only thing that differs. */
static const uint8_t apex_wire[] = { 1, 'a', 0 };
static const knot_name_t apex = { apex_wire, 3, 1 };

typedef struct {
	uint8_t bytes[22];
} soa_t;

static changeset_rr_t soa(uint32_t serial, soa_t *ret_data)
{
	memset(ret_data, 0, sizeof(*ret_data)); /* two roots as names */
	store_be32(ret_data->bytes + 2, serial);
	return (changeset_rr_t){ apex, KNOT_TYPE_SOA, 3600, { ret_data->bytes, sizeof(ret_data->bytes) } };
}

typedef struct {
	uint8_t bytes[6];
} name_t;

/* "<letter>.a. <ttl> TYPE65280 <byte>": a type of any data. */
static changeset_rr_t rr(char letter, uint32_t ttl, const char *byte, name_t *ret_name)
{
	memcpy(ret_name->bytes, (uint8_t[]){ 1, (uint8_t)letter, 1, 'a', 0 }, 5);
	return (changeset_rr_t){ { ret_name->bytes, 5, 2 }, 65280, ttl,
		{ (const uint8_t *)byte, byte == NULL ? 0 : 1 } };
}

/* Spells what is visited: "-SOA 1 -b/60=x +SOA 2 ". */
typedef struct {
	char text[1024];
	size_t len, left; /* left: visits before it ends */
} spell_t;

static bool spell(const changeset_rr_t *rr, bool is_added, void *ctx)
{
	spell_t *s = ctx;
	size_t room = sizeof(s->text) - s->len;
	int len = rr->type == KNOT_TYPE_SOA ? snprintf(s->text + s->len, room, "%cSOA %u ", is_added ? '+' : '-',
							      knot_soa_serial(rr->rdata))
					    : snprintf(s->text + s->len, room, "%c%c/%u=%.*s ", is_added ? '+' : '-',
							      rr->owner.wire[1], rr->ttl, (int)rr->rdata.len,
							      rr->rdata.len > 0 ? (const char *)rr->rdata.data : "");
	s->len += (size_t)len;
	return --s->left > 0;
}

static knot_err_t spell_all(knot_bytes_t payload, changeset_kind_t kind, size_t visits, spell_t *ret)
{
	*ret = (spell_t){ .left = visits };
	return changeset_each(payload, kind, spell, ret);
}

typedef struct {
	uint8_t *data;
	size_t len;
} made_t;

static made_t finish(changeset_writer_t *writer, changeset_kind_t kind)
{
	made_t made;
	assert_int_equal(changeset_finish(writer, kind, &made.data, &made.len), KNOT_OK);
	return made;
}

/* A step 1 -> 2 whose records come in another order than they are stored in. */
static made_t make_step(void)
{
	changeset_writer_t w = { 0 };
	soa_t before, after;
	name_t b, c;
	changeset_rr_t rrs[] = { rr('b', 60, "x", &b), rr('c', 70, "y", &c), soa(2, &after), soa(1, &before) };
	changeset_put(&w, &rrs[1], true);
	changeset_put(&w, &rrs[2], true);
	changeset_put(&w, &rrs[0], false);
	rrs[0].rdata.data = (const uint8_t *)"z";
	changeset_put(&w, &rrs[0], false);
	changeset_put(&w, &rrs[3], false);
	rrs[1].rdata.len = 0;
	changeset_put(&w, &rrs[1], true);
	assert_int_equal(w.count[0], 3);
	assert_int_equal(w.count[1], 3);
	return finish(&w, CHANGESET_STEP);
}

static void test_step_is_read_in_order(void **state)
{
	(void)state;
	made_t made = make_step();
	spell_t s;
	assert_int_equal(spell_all((knot_bytes_t){ made.data, made.len }, CHANGESET_STEP, 99, &s), KNOT_OK);
	assert_string_equal(s.text, "-SOA 1 -b/60=x -b/60=z +SOA 2 +c/70=y +c/70= ");
	assert_int_equal(spell_all((knot_bytes_t){ made.data, made.len }, CHANGESET_STEP, 2, &s), KNOT_OK);
	assert_string_equal(s.text, "-SOA 1 -b/60=x ");
	/* As a whole zone it has a SOA too many. */
	assert_int_equal(spell_all((knot_bytes_t){ made.data, made.len }, CHANGESET_WHOLE, 99, &s), KNOT_EMALF);
	free(made.data);
}

/* The bytes are those that Knot's journal has. */
static void test_bytes(void **state)
{
	(void)state;
	made_t made = make_step();
	static const uint8_t start[] = { 1, 'a', 0, 0, 6, 0, 1, 0, 1, 0, 0, 14, 16, 0, 22 };
	static const uint8_t removed[] = { 1, 'b', 1, 'a', 0, 255, 0, 0, 1, 0, 2, 0, 0, 0, 60, 0, 1, 'x', 0, 0, 0, 60,
		0, 1, 'z' };
	static const uint8_t added[] = { 1, 'c', 1, 'a', 0, 255, 0, 0, 1, 0, 2, 0, 0, 0, 70, 0, 1, 'y', 0, 0, 0, 70, 0,
		0 };
	size_t soa_len = sizeof(start) + 22;
	assert_int_equal(made.len, 2 * soa_len + sizeof(removed) + sizeof(added));
	assert_memory_equal(made.data, start, sizeof(start));
	assert_memory_equal(made.data + soa_len, removed, sizeof(removed));
	assert_memory_equal(made.data + soa_len + sizeof(removed), start, sizeof(start));
	assert_memory_equal(made.data + 2 * soa_len + sizeof(removed), added, sizeof(added));
	free(made.data);
}

static void test_whole(void **state)
{
	(void)state;
	changeset_writer_t w = { 0 };
	soa_t data;
	name_t b;
	changeset_rr_t rrs[] = { rr('b', 60, "x", &b), soa(7, &data) };
	changeset_put(&w, &rrs[0], true);
	changeset_put(&w, &rrs[1], true);
	made_t made = finish(&w, CHANGESET_WHOLE);
	spell_t s;
	assert_int_equal(spell_all((knot_bytes_t){ made.data, made.len }, CHANGESET_WHOLE, 99, &s), KNOT_OK);
	assert_string_equal(s.text, "+SOA 7 +b/60=x ");
	/* As a step it lacks the SOA after. */
	assert_int_equal(spell_all((knot_bytes_t){ made.data, made.len }, CHANGESET_STEP, 99, &s), KNOT_EMALF);
	free(made.data);
}

static void test_finish_refuses(void **state)
{
	(void)state;
	soa_t data;
	name_t b;
	changeset_rr_t some_soa = soa(7, &data), some = rr('b', 60, "x", &b);
	static const struct {
		const char *what;
		const char *puts; /* s, S: SOA removed, added; r, R: a record */
		changeset_kind_t kind;
		knot_err_t want;
	} rows[] = {
		{ "an empty step", "", CHANGESET_STEP, KNOT_ENOSOA },
		{ "a step without the SOA before", "rRS", CHANGESET_STEP, KNOT_ENOSOA },
		{ "a step without the SOA after", "rRs", CHANGESET_STEP, KNOT_ENOSOA },
		{ "a step of SOAs only", "sS", CHANGESET_STEP, KNOT_OK },
		{ "SOAs given twice", "sSsS", CHANGESET_STEP, KNOT_OK },
		{ "a zone without SOA", "R", CHANGESET_WHOLE, KNOT_ENOSOA },
		{ "a zone with a removed record", "SRr", CHANGESET_WHOLE, KNOT_EINVAL },
		{ "a zone of its SOA", "S", CHANGESET_WHOLE, KNOT_OK },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		changeset_writer_t w = { 0 };
		for (const char *p = rows[i].puts; *p != '\0'; p++) {
			changeset_put(&w, *p == 's' || *p == 'S' ? &some_soa : &some, *p == 'S' || *p == 'R');
		}
		made_t made = { 0 };
		knot_err_t err = changeset_finish(&w, rows[i].kind, &made.data, &made.len);
		if (err != rows[i].want) {
			fail_msg("%s: %s", rows[i].what, knot_strerror(err));
		}
		assert_int_equal(w.count[0] + w.count[1], 0);
		spell_t s;
		if (err == KNOT_OK) {
			assert_int_equal(spell_all((knot_bytes_t){ made.data, made.len }, rows[i].kind, 99, &s),
					KNOT_OK);
		}
		free(made.data);
	}
}

/* More records than an RRset's count can say go on in a second RRset. */
static void test_many_records(void **state)
{
	(void)state;
	enum { MANY = 70000 };
	changeset_writer_t w = { 0 };
	soa_t before, after;
	name_t b;
	changeset_rr_t some = rr('b', 60, "x", &b), soas[] = { soa(1, &before), soa(2, &after) };
	changeset_put(&w, &soas[0], false);
	changeset_put(&w, &soas[1], true);
	for (int i = 0; i < MANY; i++) {
		changeset_put(&w, &some, true);
	}
	assert_int_equal(w.count[1], MANY + 1);
	made_t made = finish(&w, CHANGESET_STEP);
	spell_t s = { .left = 3 };
	assert_int_equal(changeset_each((knot_bytes_t){ made.data, made.len }, CHANGESET_STEP, spell, &s), KNOT_OK);
	size_t one = 4 + 2 + 1, head = 5 + 6;
	assert_int_equal(made.len, 2 * (3 + 6 + 6 + 22) + 2 * head + MANY * one);
	free(made.data);
}

/* Cut anywhere a step is no step, and no changed byte leads out of it (the sanitizer looks). */
static void test_damage(void **state)
{
	(void)state;
	made_t made = make_step();
	spell_t s;
	for (size_t len = 0; len < made.len; len++) {
		uint8_t *cut = malloc(len + 1);
		assert_non_null(cut);
		memcpy(cut, made.data, len);
		uint8_t *exact = realloc(cut, len > 0 ? len : 1);
		assert_non_null(exact);
		/* A step may end where an RRset ends: then what is left is a step. */
		knot_err_t err = spell_all((knot_bytes_t){ exact, len }, CHANGESET_STEP, 99, &s);
		if (err != KNOT_EMALF && len != made.len - 24) {
			fail_msg("cut to %zu bytes: %s", len, knot_strerror(err));
		}
		free(exact);
	}
	for (size_t at = 0; at < made.len; at++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			made.data[at] ^= (uint8_t)(1 << bit);
			(void)!spell_all((knot_bytes_t){ made.data, made.len }, CHANGESET_STEP, 99, &s);
			made.data[at] ^= (uint8_t)(1 << bit);
		}
	}
	free(made.data);
}

static void test_malformed(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		size_t at;
		uint8_t byte;
	} rows[] = {
		{ "another class", 6, 3 },
		{ "no record in an RRset", 8, 0 },
		{ "two SOAs in an RRset", 8, 2 },
		{ "no SOA first", 4, 2 },
		{ "an owner that is no name", 0, 64 },
		{ "a record of a type that is never data", 37 + 5, 0 }, /* 65280 becomes 0x00fb, IXFR: see below */
		{ "an owner out of the zone", 37 + 3, 'q' },
		{ "data that is no SOA's", 15, 1 },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		made_t made = make_step();
		made.data[rows[i].at] = rows[i].byte;
		if (rows[i].at == 37 + 5) {
			made.data[37 + 6] = KNOT_TYPE_IXFR;
		}
		spell_t s;
		knot_err_t err = spell_all((knot_bytes_t){ made.data, made.len }, CHANGESET_STEP, 99, &s);
		if (err != KNOT_EMALF) {
			fail_msg("%s: %s", rows[i].what, knot_strerror(err));
		}
		free(made.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_step_is_read_in_order),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_finish_refuses),
		cmocka_unit_test(test_many_records),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_malformed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
