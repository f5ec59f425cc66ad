/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sim/image_zones.h"
#include "tests/sim/tcp_random.h"
#include "src/zone/compact.h"
#include "src/zone/test_dump.h"

#include <stdarg.h>
#include <stdlib.h>
#include <xxhash.h>

const sim_zone_row_t sim_zone_rows[SIM_ZONES] = {
	{ "small0.", SIM_SMALL, 1, 1 },
	{ "small1.", SIM_SMALL, 2, 3 },
	{ "small2.example.", SIM_SMALL, 3, 2 },
	{ "grow.", SIM_GROWING, 12, 8 },
	{ "grow.example.", SIM_GROWING, 120, 30 },
	{ "a.grow.example.", SIM_GROWING, 400, 130 },
	{ "rebuilt.", SIM_REBUILT, 200, 2 },
	{ "passing.", SIM_PASSING, 2, 1 },
	{ "passing.example.", SIM_PASSING, 60, 5 },
	{ "signed.example.", SIM_SIGNED, 40, 9 },
	{ "large.", SIM_LARGE, 360, 90 },
};

static void give_up(const char *what, unsigned zone, uint32_t serial)
{
	fprintf(stderr, "image_sim: %s, zone %s serial %u\n", what, sim_zone_rows[zone].name, (unsigned)serial);
	abort();
}

knot_name_t sim_zone_name(unsigned zone, sim_name_t *ret)
{
	if (knot_name_scan(knot_str_of(sim_zone_rows[zone].name), knot_name_root, ret->wire, &ret->name) != KNOT_OK) {
		abort();
	}
	return ret->name;
}

/* ---- Text ---- */

typedef struct {
	char *text; /* owned */
	size_t len, size;
} text_t;

static void put(text_t *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void reserve(text_t *text, size_t len)
{
	if (text->size - text->len < len) {
		text->size = 2 * text->size + len;
		text->text = realloc(text->text, text->size);
		if (text->text == NULL) {
			abort();
		}
	}
}

static void put(text_t *text, const char *format, ...)
{
	enum { LINES_MAX = 1024 };
	reserve(text, LINES_MAX);
	va_list arguments;
	va_start(arguments, format);
	int len = vsnprintf(text->text + text->len, text->size - text->len, format, arguments);
	va_end(arguments);
	if (len < 0 || len >= LINES_MAX) {
		abort();
	}
	text->len += (size_t)len;
}

/* When slot n changes: each in another version. */
static uint64_t turn_of(uint64_t seed, unsigned zone, uint32_t slot, uint32_t serial)
{
	uint32_t period = sim_zone_rows[zone].period;
	return (serial + sim_mix(seed + zone + slot * 64ull) % period) / period;
}

/* Tens of kilobytes of any bytes. */
static void put_large(text_t *text, uint32_t slot, uint64_t dice)
{
	enum { LARGE = 50000 };
	static const char digits[] = "0123456789abcdef";
	size_t len = LARGE + dice % 8192;
	put(text, "h%u 60 TYPE65280 \\# %zu ", (unsigned)slot, len);
	reserve(text, 2 * len);
	for (size_t i = 0; i < len; i++) {
		uint8_t byte = (uint8_t)(sim_stream_word(dice, i / 8) >> i % 8 * 8);
		text->text[text->len++] = digits[byte >> 4];
		text->text[text->len++] = digits[byte & 15];
	}
	put(text, "\n");
}

/* The records of a slot share no owner and type with another slot's, so that they can be removed alone. */
static void put_slot(text_t *text, uint64_t seed, unsigned zone, uint32_t slot, uint32_t serial)
{
	uint64_t dice = sim_mix(sim_mix(seed + zone * 77ull) + slot + (turn_of(seed, zone, slot, serial) << 20));
	unsigned a = (unsigned)(dice >> 8) & 255, b = (unsigned)(dice >> 16) & 255, n = slot;
	if (sim_zone_rows[zone].kind == SIM_LARGE) {
		put_large(text, slot, dice);
		return;
	}
	switch (dice % 9) {
	case 0: break; /* nothing in this turn */
	case 1: put(text, "h%u 60 A 10.%u.%u.1\n", n, a, b); break;
	case 2: put(text, "h%u 60 A 10.%u.%u.1\nh%u 60 AAAA 2001:db8:%x::%x\n", n, a, b, n, a, b); break;
	case 3: put(text, "h%u 60 NS ns%u.h%u\nns%u.h%u 60 A 10.%u.%u.2\n", n, a, n, a, n, a, b); break;
	case 4: put(text, "h%u 60 NS ns.out%u.\nh%u 60 DS 1 8 1 %02X%02X\n", n, a, n, a, b); break;
	case 5: put(text, "h%u 60 MX 10 mail\nh%u 60 MX %u ns\n", n, n, a); break;
	case 6: put(text, "*.h%u 60 TXT \"%u %u\"\n", n, a, b); break;
	case 7: put(text, "a.b.h%u 60 TXT \"%0*u\"\n", n, (int)(1 + b % 200), a); break;
	case 8: put(text, "h%u 60 CNAME h%u\n", n, a); break;
	default: abort();
	}
}

static const char *const signed_lines =
		"@ 60 NSEC3PARAM 1 0 0 -\n"
		"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom 60 NSEC3 1 1 0 - 2t7b4g4vsa5smi47k61mv5bv1a22bojr A RRSIG\n"
		"2t7b4g4vsa5smi47k61mv5bv1a22bojr 60 NSEC3 1 1 0 - gjeqe526plbf1g8mklp59enfd789njgi A RRSIG\n"
		"gjeqe526plbf1g8mklp59enfd789njgi 60 NSEC3 1 1 0 - 0p9mhaveqvm6t7vbl5lop2u3t2rp3tom A RRSIG\n"
		"ns 60 RRSIG A 8 2 60 20300101000000 20200101000000 1 @ AAAA\n";

static void put_head(text_t *text, unsigned zone, uint32_t serial)
{
	put(text, "@ 60 SOA ns admin %u 2 3 4 5\nversion 60 TXT \"%u\"\n", (unsigned)serial, (unsigned)serial);
	if (sim_zone_rows[zone].kind == SIM_SIGNED) {
		put(text, "@ 60 RRSIG SOA 8 1 60 20300101000000 20200101000000 %u @ AAAA\n", (unsigned)serial % 60000);
	}
}

static text_t whole_text(uint64_t seed, unsigned zone, uint32_t serial)
{
	text_t text = { 0 };
	put_head(&text, zone, serial);
	put(&text, "@ 60 NS ns\nns 60 A 192.0.2.1\n");
	if (sim_zone_rows[zone].kind != SIM_SMALL) {
		put(&text, "mail 60 A 192.0.2.2\n");
	}
	if (sim_zone_rows[zone].kind == SIM_SIGNED) {
		put(&text, "%s", signed_lines);
	}
	for (uint32_t slot = 0; slot < sim_zone_rows[zone].slots; slot++) {
		put_slot(&text, seed, zone, slot, serial);
	}
	return text;
}

/* ---- Versions ---- */

/* Nothing is checked beyond what makes a zone a zone: records are random. */
static zone_build_params_t params_of(unsigned zone, sim_name_t *name)
{
	return (zone_build_params_t){
		.origin = sim_zone_name(zone, name), .default_ttl = 60, .checks = ZONE_CHECKS_SOFT
	};
}

zone_contents_t *sim_zone_build(uint64_t seed, unsigned zone, uint32_t serial)
{
	sim_name_t name;
	zone_build_params_t params = params_of(zone, &name);
	zone_contents_t *contents = NULL;
	text_t text = whole_text(seed, zone, serial);
	if (zone_build_text((knot_str_t){ text.text, text.len }, "sim", &params, &contents) != KNOT_OK) {
		give_up("a version can't be built", zone, serial);
	}
	free(text.text);
	return contents;
}

typedef struct {
	zone_txn_t *txn;
	knot_err_t err;
	bool is_removal;
} change_t;

static bool change_record(const knot_zone_record_t *record, void *ctx)
{
	change_t *change = ctx;
	change->err = change->is_removal ? zone_txn_remove(change->txn, record->owner, record->type, record->rdata)
					 : zone_txn_put(change->txn, record->owner, record->type, record->ttl,
							   record->rdata);
	return change->err == KNOT_OK;
}

static void change_by(zone_txn_t *txn, const text_t *text, bool is_removal, unsigned zone, uint32_t serial)
{
	sim_name_t name;
	change_t change = { .txn = txn, .is_removal = is_removal };
	knot_zonefile_params_t params = {
		.origin = sim_zone_name(zone, &name),
		.default_ttl = 60,
		.on_record = change_record,
		.ctx = &change,
	};
	knot_err_t err = knot_zonefile_scan_text((knot_str_t){ text->text, text->len }, "sim", &params);
	if (err != KNOT_OK || change.err != KNOT_OK) {
		give_up(is_removal ? "a record can't be removed" : "a record can't be added", zone, serial);
	}
}

/* Some slices of compaction, now and then a whole pass: images are of versions in all its states. */
static zone_contents_t *compacted(zone_contents_t *take_contents, uint64_t seed, uint32_t serial)
{
	enum { STEPS = 500, OFTEN = 3, SLICES = 12 };
	uint64_t chance = (seed ^ serial * UINT64_C(0x9E3779B97F4A7C15)) >> 20;
	zone_compaction_t *pass = chance % OFTEN == 0 ? zone_compaction_new() : NULL;
	bool is_done = pass == NULL;
	for (unsigned left = (unsigned)(chance / OFTEN % SLICES) + 1; !is_done && left > 0; left--) {
		zone_contents_t *next;
		if (zone_compact_slice(pass, take_contents, STEPS, &next, &is_done) != KNOT_OK) {
			abort();
		}
		if (next != NULL) {
			zone_contents_free(take_contents);
			take_contents = next;
		}
	}
	zone_compaction_free(pass);
	return take_contents;
}

zone_contents_t *sim_zone_step(
		uint64_t seed, unsigned zone, const zone_contents_t *base, uint32_t from, uint32_t serial)
{
	sim_name_t name;
	zone_build_params_t params = params_of(zone, &name);
	text_t old = { 0 }, new = { 0 };
	put_head(&old, zone, from);
	put_head(&new, zone, serial);
	for (uint32_t slot = 0; slot < sim_zone_rows[zone].slots; slot++) {
		if (turn_of(seed, zone, slot, from) != turn_of(seed, zone, slot, serial)) {
			put_slot(&old, seed, zone, slot, from);
			put_slot(&new, seed, zone, slot, serial);
		}
	}
	zone_txn_t *txn;
	zone_contents_t *contents = NULL;
	if (zone_txn_begin(base, &params, &txn) != KNOT_OK) {
		give_up("a transaction can't begin", zone, serial);
	}
	change_by(txn, &old, true, zone, serial);
	change_by(txn, &new, false, zone, serial);
	if (zone_txn_commit(txn, &contents) != KNOT_OK) {
		give_up("a transaction can't be committed", zone, serial);
	}
	free(old.text);
	free(new.text);
	return compacted(contents, seed, serial);
}

uint64_t sim_zone_digest(const zone_contents_t *contents)
{
	char *text = dump_zone(contents);
	if (text == NULL) {
		abort();
	}
	uint64_t digest = XXH64(text, strlen(text), 0);
	free(text);
	return digest;
}
