/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/update/update.h"

#include "libdnssec/key.h"
#include "src/update/steps.h"
#include "src/zone/zonemd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint8_t origin_wire[] = "\1z";
static const knot_name_t origin = { origin_wire, 3, 1 };
static const char base_text[] = "@ 60 SOA ns h 7 1 1 1 1\n@ 60 NS ns\nns 60 A 192.0.2.1\nns 60 A 192.0.2.2\n";

static zone_contents_t *build(const char *text)
{
	const zone_build_params_t params = { .origin = origin, .default_ttl = 60 };
	zone_contents_t *zone;
	assert_int_equal(zone_build_text(knot_str_of(text), "z.zone", &params, &zone), KNOT_OK);
	return zone;
}

static const update_policy_t policy = {
	.build = { .origin = { origin_wire, 3, 1 }, .default_ttl = 60, .now_s = 1000 },
	.serials = { .policy = CONF_SERIAL_INCREMENT },
	.stores = UPDATE_STORES_CHANGES,
};

/* What the steps did outside. */
typedef struct {
	update_record_t record;
	char text[2000]; /* of the payload: "-" or "+", type, owner's length; a line per record */
	unsigned stored, published;
	knot_err_t store_err;
	knot_err_t step_err;     /* of steps only */
	zone_contents_t *served; /* owned */
} world_t;

static bool print_change(const changeset_rr_t *rr, bool is_added, void *ctx)
{
	world_t *world = ctx;
	size_t len = strlen(world->text);
	char owner[KNOT_NAME_TEXT_MAX];
	knot_name_print(rr->owner, owner);
	snprintf(world->text + len, sizeof(world->text) - len, "%c %s %u\n", is_added ? '+' : '-', owner, rr->type);
	return true;
}

static knot_err_t store(const update_record_t *record, char *reason, void *ctx)
{
	world_t *world = ctx;
	world->stored++;
	world->record = *record;
	world->text[0] = '\0';
	knot_err_t err = record->is_whole || world->step_err == KNOT_OK ? world->store_err : world->step_err;
	if (err != KNOT_OK) {
		snprintf(reason, UPDATE_REASON_MAX, "no room");
		return err;
	}
	if (record->payload.len > 0) {
		changeset_kind_t kind = record->is_whole ? CHANGESET_WHOLE : CHANGESET_STEP;
		assert_int_equal(changeset_each(record->payload, kind, print_change, world), KNOT_OK);
	}
	return KNOT_OK;
}

static void publish(zone_contents_t *take_contents, void *ctx)
{
	world_t *world = ctx;
	assert_int_equal(world->published, 0);
	world->published++;
	world->served = take_contents;
}

static update_env_t env_of(world_t *world)
{
	return (update_env_t){ .store = store, .publish = publish, .ctx = world };
}

static const uint8_t ns_wire[] = "\2ns\1z", new_wire[] = "\1n\1z";
static const knot_name_t ns = { ns_wire, 6, 2 }, new_name = { new_wire, 5, 2 };
static const uint8_t first[] = { 192, 0, 2, 1 };
static const knot_bytes_t address = { first, 4 };

/* Begin with one record removed and one added. */
static update_t begin_edits(const zone_contents_t *base)
{
	update_t update;
	assert_int_equal(update_begin(origin, UPDATE_CONTROL, base, &update), KNOT_OK);
	assert_int_equal(zone_txn_remove(update.txn, ns, KNOT_TYPE_A, address), KNOT_OK);
	assert_int_equal(zone_txn_put(update.txn, new_name, KNOT_TYPE_A, 5, address), KNOT_OK);
	return update;
}

static bool print_rr(const zone_rr_t *rr, void *ctx)
{
	const changeset_rr_t same = { rr->owner, rr->type, rr->ttl, rr->rdata };
	return print_change(&same, true, ctx);
}

/* What the transaction changes, as text in world->text. */
static void print_edits(const update_t *update, world_t *world)
{
	world->text[0] = '\0';
	assert_int_equal(zone_txn_diff(update->txn, false, print_rr, world), KNOT_OK);
	assert_int_equal(zone_txn_diff(update->txn, true, print_rr, world), KNOT_OK);
}

static void test_commit(void **state)
{
	(void)state;
	zone_contents_t *base = build(base_text);
	update_t update = begin_edits(base);
	update.who = "uid 5";
	world_t world = { .stored = 0 };
	const update_env_t env = env_of(&world);
	update_effects_t effects;
	assert_int_equal(update_commit(&update, base, &policy, &env, &effects), KNOT_OK);
	assert_string_equal(world.text, "- z. 6\n- ns.z. 1\n+ z. 6\n+ n.z. 1\n");
	assert_true(world.record.serial_from == 7 && world.record.serial_to == 8 && !world.record.is_whole);
	assert_true(world.record.removed == 2 && world.record.added == 2 && world.record.has_base);
	assert_string_equal(world.record.who, "uid 5");
	assert_string_equal(update_source_name(world.record.source), "control");
	assert_true(effects.is_published && effects.is_ahead && effects.serial_from == 7 && effects.serial_to == 8);
	assert_int_equal(world.served->serial, 8);
	assert_int_equal(world.record.zone_size, world.served->wire_size);
	update_end(&update);
	zone_contents_free(world.served);
	zone_contents_free(base);
}

static knot_err_t fail_step(update_t *update)
{
	(void)update;
	return KNOT_EFILE;
}

/* A step that fails, at each place but behind the last, which can't be undone. */
static void test_failing_steps(void **state)
{
	(void)state;
	size_t count;
	const update_step_t *steps = update_steps(&count);
	zone_contents_t *base = build(base_text);
	for (size_t at = 0; at < count; at++) {
		update_t update = begin_edits(base);
		world_t world = { .stored = 0 }, before = { .stored = 0 };
		const update_env_t env = env_of(&world);
		print_edits(&update, &before);
		update.policy = &policy;
		update.env = &env;
		update.mark = update_mark(&update);
		update_step_t failing[16];
		memcpy(failing, steps, at * sizeof(*steps));
		failing[at] = (update_step_t){ .name = "fails", .run = fail_step };
		memcpy(failing + at + 1, steps + at, (count - at) * sizeof(*steps));
		assert_int_equal(update_run(&update, failing, count + 1), KNOT_EFILE);
		assert_int_equal(world.published, 0);
		assert_null(update.next);
		assert_null(update.payload);
		print_edits(&update, &world);
		assert_string_equal(world.text, before.text);

		/* It can be committed as if nothing had happened. */
		update_effects_t effects;
		assert_int_equal(update_commit(&update, base, &policy, &env, &effects), KNOT_OK);
		assert_string_equal(world.text, "- z. 6\n- ns.z. 1\n+ z. 6\n+ n.z. 1\n");
		assert_int_equal(effects.serial_to, 8);
		update_end(&update);
		zone_contents_free(world.served);
	}
	zone_contents_free(base);
}

/* The steps' own failures. */
static void test_failures(void **state)
{
	(void)state;
	char reason[UPDATE_REASON_MAX] = "";
	zone_contents_t *base = build(base_text);
	update_t update = begin_edits(base);
	world_t world = { .store_err = KNOT_ESPACE };
	const update_env_t env = env_of(&world);
	update_effects_t effects;
	update.reason = reason;
	assert_int_equal(update_commit(&update, base, &policy, &env, &effects), KNOT_ESPACE);
	assert_string_equal(reason, "no room");
	assert_true(world.stored == 1 && world.published == 0 && !effects.is_published);

	update_policy_t small = policy;
	small.build.size_max = 50;
	assert_int_equal(update_commit(&update, base, &small, &env, &effects), KNOT_EZONESIZE);
	assert_int_equal(world.stored, 1);

	size_t mark = update_mark(&update);
	assert_int_equal(zone_txn_remove_all(update.txn, origin, KNOT_TYPE_SOA), KNOT_OK);
	reason[0] = '\0';
	assert_int_equal(update_commit(&update, base, &policy, &env, &effects), KNOT_ESEMCHECK);
	assert_string_equal(reason, "missing SOA at the zone apex");
	assert_int_equal(world.published, 0);
	(void)mark;
	update_end(&update);
	zone_contents_free(base);
}

/* A version that breaks a guard rail: held back with the reason, or published by force, which the effects say. */
static void test_rails(void **state)
{
	(void)state;
	static const char want[] = "publish-max-shrink 20 %, records 4 -> 2, -50.0 %";
	update_policy_t careful = policy;
	careful.rails = (rails_policy_t){ .kept_min = 80 };
	for (unsigned forced = 0; forced < 2; forced++) {
		char reason[UPDATE_REASON_MAX] = "";
		zone_contents_t *base = build(base_text);
		update_t update;
		update_effects_t effects;
		world_t world = { .stored = 0 };
		const update_env_t env = env_of(&world);
		assert_int_equal(update_begin(origin, UPDATE_CONTROL, base, &update), KNOT_OK);
		assert_int_equal(zone_txn_remove_all(update.txn, ns, 0), KNOT_OK);
		update.is_forced = forced;
		update.reason = reason;
		knot_err_t err = update_commit(&update, base, &careful, &env, &effects);
		assert_int_equal(err, forced ? KNOT_OK : KNOT_EGUARDRAIL);
		assert_int_equal(effects.is_published, forced);
		assert_int_equal(world.stored, forced);
		assert_string_equal(forced ? effects.rail : reason, want);
		update_end(&update);
		zone_contents_free(world.served);
		zone_contents_free(base);
	}
}

/* What is stored of each kind of change. */
static void test_stores(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		bool is_whole, has_base;
		update_store_t stores;
		const char *payload; /* NULL: nothing is stored */
		bool is_payload_whole;
	} rows[] = {
		{ "edits", false, true, UPDATE_STORES_NOTHING, NULL, false },
		{ "edits", false, true, UPDATE_STORES_CHANGES, "- z. 6\n- ns.z. 1\n+ z. 6\n+ n.z. 1\n", false },
		{ "edits", false, true, UPDATE_STORES_ALL, "- z. 6\n- ns.z. 1\n+ z. 6\n+ n.z. 1\n", false },
		{ "the first version", false, false, UPDATE_STORES_NOTHING, NULL, false },
		{ "the first version", false, false, UPDATE_STORES_CHANGES, "+ z. 6\n+ n.z. 1\n", true },
		{ "a whole version", true, true, UPDATE_STORES_NOTHING, NULL, false },
		{ "a whole version", true, true, UPDATE_STORES_CHANGES, "", false },
		{ "a whole version", true, true, UPDATE_STORES_ALL, "+ z. 6\n+ z. 2\n", true },
	};
	static const uint8_t soa[] = "\0\0\0\0\0\7\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0";
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		zone_contents_t *base = rows[i].has_base ? build(base_text) : NULL;
		update_t update;
		if (rows[i].is_whole) {
			update_begin_whole(origin, UPDATE_FILE, base, build("@ 60 SOA ns h 9 1 1 1 1\n@ 60 NS ns.\n"),
					&update);
		} else if (base != NULL) {
			update = begin_edits(base);
		} else {
			assert_int_equal(update_begin(origin, UPDATE_CONTROL, NULL, &update), KNOT_OK);
			assert_int_equal(zone_txn_put(update.txn, origin, KNOT_TYPE_SOA, 5, (knot_bytes_t){ soa, 22 }),
					KNOT_OK);
			assert_int_equal(zone_txn_put(update.txn, new_name, KNOT_TYPE_A, 5, address), KNOT_OK);
		}
		world_t world = { .stored = 0 };
		const update_env_t env = env_of(&world);
		update_policy_t chosen = policy;
		chosen.stores = rows[i].stores;
		update_effects_t effects;
		assert_int_equal(update_commit(&update, base, &chosen, &env, &effects), KNOT_OK);
		assert_int_equal(world.published, 1);
		assert_int_equal(world.stored, rows[i].payload != NULL);
		if (rows[i].payload != NULL) {
			assert_string_equal(world.text, rows[i].payload);
			assert_int_equal(world.record.is_whole, rows[i].is_payload_whole);
		}
		update_end(&update);
		zone_contents_free(world.served);
		zone_contents_free(base);
	}
}

/* A step that doesn't fit to what is stored: with the whole zone in the journal, the new version takes its place. */
static void test_step_that_does_not_fit(void **state)
{
	(void)state;
	static const struct {
		update_store_t stores;
		knot_err_t step_err, store_err, err;
		unsigned stored;
	} rows[] = {
		{ UPDATE_STORES_CHANGES, KNOT_ESEMCHECK, KNOT_OK, KNOT_ESEMCHECK, 1 },
		{ UPDATE_STORES_ALL, KNOT_ESEMCHECK, KNOT_OK, KNOT_OK, 2 },
		{ UPDATE_STORES_ALL, KNOT_EMALF, KNOT_OK, KNOT_OK, 2 },
		{ UPDATE_STORES_ALL, KNOT_ESPACE, KNOT_OK, KNOT_ESPACE, 1 },
		{ UPDATE_STORES_ALL, KNOT_EMALF, KNOT_ESPACE, KNOT_ESPACE, 2 },
	};
	zone_contents_t *base = build(base_text);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		char reason[UPDATE_REASON_MAX] = "";
		update_t update = begin_edits(base);
		world_t world = { .step_err = rows[i].step_err, .store_err = rows[i].store_err };
		const update_env_t env = env_of(&world);
		update_policy_t chosen = policy;
		chosen.stores = rows[i].stores;
		update_effects_t effects;
		update.reason = reason;
		assert_int_equal(update_commit(&update, base, &chosen, &env, &effects), rows[i].err);
		assert_int_equal(world.stored, rows[i].stored);
		assert_int_equal(world.published, rows[i].err == KNOT_OK);
		assert_string_equal(reason, rows[i].err == KNOT_OK ? "" : "no room");
		assert_int_equal(world.record.is_whole, rows[i].stored == 2);
		if (rows[i].err == KNOT_OK) {
			assert_non_null(strstr(world.text, "+ z. 6\n"));
			assert_null(strchr(world.text, '-'));
			assert_true(world.record.removed == 2 && world.record.added == 2);
			assert_true(effects.removed == 2 && effects.added == 2);
		}
		update_end(&update);
		zone_contents_free(world.served);
	}
	zone_contents_free(base);
}

/* ---- ZONEMD ---- */

typedef struct {
	unsigned calls;
	knot_err_t err;
} verified_t;

static verified_t verified;

static void note_zonemd(knot_name_t name, knot_err_t err, void *ctx)
{
	(void)ctx;
	assert_true(knot_name_eq(name, origin));
	verified.calls++;
	verified.err = err;
}

/* A record that is for another serial. */
static const char stale_text[] =
		"@ 60 SOA ns h 7 1 1 1 1\n@ 60 NS ns\nns 60 A 192.0.2.1\nns 60 A 192.0.2.2\n"
		"@ 60 ZONEMD 6 1 1 00000000000000000000000000000000000000000000000000000000000000000000"
		"0000000000000000000000000000\n";

static void test_zonemd(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		bool verifies;
		conf_zonemd_t how;
		bool is_whole, keeps;
		knot_err_t err;
		unsigned calls;       /* of the callback about verification */
		knot_err_t published; /* what verification says of the version that is published */
	} rows[] = {
		{ "edits, no item", false, CONF_ZONEMD_NONE, false, false, KNOT_OK, 0, KNOT_ENOTSUP },
		{ "edits, verified", true, CONF_ZONEMD_NONE, false, false, KNOT_ENOTSUP, 1, KNOT_OK },
		{ "edits, generated", false, CONF_ZONEMD_SHA384, false, false, KNOT_OK, 0, KNOT_OK },
		{ "edits, generated for verification", true, CONF_ZONEMD_SHA512, false, false, KNOT_OK, 0, KNOT_OK },
		{ "edits, kept", false, CONF_ZONEMD_SHA384, false, true, KNOT_OK, 0, KNOT_ENOTSUP },
		{ "edits, removed", false, CONF_ZONEMD_REMOVE, false, false, KNOT_OK, 0, KNOT_CONF_ENOTEXIST },
		{ "whole, verified", true, CONF_ZONEMD_NONE, true, false, KNOT_ENOTSUP, 1, KNOT_OK },
		{ "whole, verified first", true, CONF_ZONEMD_SHA384, true, false, KNOT_ENOTSUP, 1, KNOT_OK },
		{ "whole, generated", false, CONF_ZONEMD_SHA512, true, false, KNOT_OK, 0, KNOT_OK },
		{ "whole, kept", false, CONF_ZONEMD_SHA512, true, true, KNOT_OK, 0, KNOT_ENOTSUP },
		{ "whole, removed", false, CONF_ZONEMD_REMOVE, true, false, KNOT_OK, 0, KNOT_CONF_ENOTEXIST },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		char reason[UPDATE_REASON_MAX] = "";
		update_policy_t chosen = policy;
		chosen.verifies_zonemd = rows[i].verifies;
		chosen.zonemd = rows[i].how;
		zone_contents_t *base = build(stale_text);
		update_t update;
		if (rows[i].is_whole) {
			update_begin_whole(origin, UPDATE_TRANSFER, base, build(stale_text), &update);
		} else {
			update = begin_edits(base);
		}
		update.keeps_zonemd = rows[i].keeps;
		update.reason = reason;
		world_t world = { .stored = 0 };
		update_env_t env = env_of(&world);
		env.on_zonemd = note_zonemd;
		verified = (verified_t){ 0 };
		update_effects_t effects;
		knot_err_t err = update_commit(&update, base, &chosen, &env, &effects);
		if (err != rows[i].err || verified.calls != rows[i].calls) {
			fail_msg("%s: %s, %u calls", rows[i].name, knot_strerror(err), verified.calls);
		}
		assert_int_equal(verified.err, err);
		assert_int_equal(update.has_bad_zonemd, err != KNOT_OK);
		assert_string_equal(reason, err != KNOT_OK ? "ZONEMD, verification failed" : "");
		if (err == KNOT_OK) {
			assert_int_equal(zonemd_verify(world.served), rows[i].published);
			assert_int_equal(world.served->serial, rows[i].is_whole ? 7 : 8);
		} else if (!rows[i].is_whole) {
			print_edits(&update, &world);
			assert_string_equal(world.text, "+ ns.z. 1\n+ n.z. 1\n");
		}
		update_end(&update);
		zone_contents_free(world.served);
		zone_contents_free(base);
	}
}

/* A generated record is taken back with the rest if a later step fails, and it is part of what is stored. */
static void test_generated_zonemd_is_part_of_the_change(void **state)
{
	(void)state;
	update_policy_t chosen = policy;
	chosen.zonemd = CONF_ZONEMD_SHA384;
	zone_contents_t *base = build(base_text);
	update_t update = begin_edits(base);
	world_t world = { .store_err = KNOT_ESPACE };
	const update_env_t env = env_of(&world);
	update_effects_t effects;
	assert_int_equal(update_commit(&update, base, &chosen, &env, &effects), KNOT_ESPACE);
	print_edits(&update, &world);
	assert_null(strstr(world.text, " 63\n"));
	world.store_err = KNOT_OK;
	assert_int_equal(update_commit(&update, base, &chosen, &env, &effects), KNOT_OK);
	assert_non_null(strstr(world.text, "+ z. 63\n"));
	assert_int_equal(effects.added, 3); /* SOA, ZONEMD, address */
	bool is_due;
	assert_int_equal(update_zonemd_is_due(world.served, CONF_ZONEMD_SHA384, &is_due), KNOT_OK);
	assert_false(is_due);
	assert_int_equal(update_zonemd_is_due(world.served, CONF_ZONEMD_SHA512, &is_due), KNOT_OK);
	assert_true(is_due);
	assert_int_equal(update_zonemd_is_due(world.served, CONF_ZONEMD_NONE, &is_due), KNOT_OK);
	assert_false(is_due);
	assert_int_equal(update_zonemd_is_due(world.served, CONF_ZONEMD_REMOVE, &is_due), KNOT_OK);
	assert_true(is_due);
	update_end(&update);
	zone_contents_free(world.served);
	zone_contents_free(base);
}

static void test_nothing(void **state)
{
	(void)state;
	zone_contents_t *base = build(base_text);
	update_t update = begin_edits(base);
	world_t world = { .stored = 0 };
	const update_env_t env = env_of(&world);
	update_effects_t effects;
	size_t mark = update_mark(&update);
	assert_int_equal(zone_txn_put(update.txn, ns, KNOT_TYPE_A, 60, address), KNOT_OK);
	assert_int_equal(zone_txn_remove(update.txn, new_name, KNOT_TYPE_A, address), KNOT_OK);
	assert_int_equal(update_commit(&update, base, &policy, &env, &effects), KNOT_OK);
	assert_true(world.stored == 0 && world.published == 0 && !effects.is_published);
	update_rollback(&update, mark);
	assert_int_equal(update_commit(&update, base, &policy, &env, &effects), KNOT_OK);
	assert_true(effects.is_published);
	assert_string_equal(update_source_name(UPDATE_SOURCE_COUNT), "unknown");
	update_end(&update);
	zone_contents_free(world.served);
	zone_contents_free(base);
}

/* ---- Signing ---- */

static dnssec_key_t *csk;
static sign_key_t signing_key;
static knot_bytes_t dnskey;
static sign_plan_t plan;

static int set_up_key(void **state)
{
	(void)state;
	assert_int_equal(dnssec_key_generate(13, 256, 257, &csk), KNOT_OK);
	signing_key = (sign_key_t){ csk, true, true };
	dnskey = dnssec_key_rdata(csk);
	plan = (sign_plan_t){ .keys = &signing_key,
		.key_count = 1,
		.dnskey = { .ttl = 60, .rdatas = &dnskey, .rdata_count = 1 },
		.now_s = 100000,
		.lifetime_s = 1000,
		.refresh_s = 10,
		.trusts_signatures = true };
	return 0;
}

static int tear_down_key(void **state)
{
	(void)state;
	dnssec_key_free(csk);
	return 0;
}

static update_policy_t signing_policy(const update_signing_t *signing)
{
	update_policy_t signed_policy = policy;
	signed_policy.signing = signing;
	return signed_policy;
}

/* Publish `text` signed, as a whole version. */
static zone_contents_t *build_signed(const char *text, const update_signing_t *signing, update_effects_t *ret_effects)
{
	update_t update;
	world_t world = { 0 };
	const update_env_t env = env_of(&world);
	const update_policy_t signed_policy = signing_policy(signing);
	update_begin_whole(origin, UPDATE_FILE, NULL, build(text), &update);
	assert_int_equal(update_commit(&update, NULL, &signed_policy, &env, ret_effects), KNOT_OK);
	update_end(&update);
	assert_non_null(world.served);
	return world.served;
}

static void test_whole_version_is_signed(void **state)
{
	(void)state;
	static const struct {
		bool has_floor;
		uint32_t floor, serial;
	} rows[] = {
		{ false, 0, 8 },
		{ true, 5, 8 },
		{ true, 7, 8 },
		{ true, 8, 9 },
		{ true, 1000, 1001 },
		{ true, UINT32_MAX, 8 },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		update_effects_t effects;
		const update_signing_t signing = {
			.plan = &plan, .is_full = true, .has_floor = rows[i].has_floor, .floor = rows[i].floor
		};
		zone_contents_t *zone = build_signed(base_text, &signing, &effects);
		assert_int_equal(zone->serial, rows[i].serial);
		assert_true(zone->is_signed && zone->has_nsec);
		assert_true(effects.is_published && effects.is_signed && effects.is_signed_whole);
		assert_int_equal(effects.signing.rrsig_count, 6); /* SOA, NS, DNSKEY, A, two of NSEC */
		assert_int_equal(effects.signing.earliest_expiration_s, plan.now_s + plan.lifetime_s);
		zone_contents_free(zone);
	}
}

/* Nothing is due: nothing is published, but what was looked at is reported. */
static void test_signed_version_needs_nothing(void **state)
{
	(void)state;
	update_t update;
	world_t world = { 0 };
	update_effects_t effects;
	const update_signing_t signing = { .plan = &plan, .is_full = true };
	const update_policy_t signed_policy = signing_policy(&signing);
	const update_env_t env = env_of(&world);
	zone_contents_t *base = build_signed(base_text, &signing, &effects);
	assert_int_equal(update_begin(origin, UPDATE_SIGNER, base, &update), KNOT_OK);
	assert_int_equal(update_commit(&update, base, &signed_policy, &env, &effects), KNOT_OK);
	assert_false(effects.is_published);
	assert_true(effects.is_signed);
	assert_int_equal(effects.signing.rrsig_count, 0);
	assert_int_equal(effects.signing.earliest_expiration_s, plan.now_s + plan.lifetime_s);
	assert_int_equal(world.published + world.stored, 0);
	update_end(&update);
	zone_contents_free(base);
}

/* Edits are signed with their serial; if the change can't be stored, they are as they were. */
static void test_edits_are_signed(void **state)
{
	(void)state;
	update_effects_t effects;
	const update_signing_t signing = { .plan = &plan }, full = { .plan = &plan, .is_full = true };
	const update_policy_t signed_policy = signing_policy(&signing);
	zone_contents_t *base = build_signed(base_text, &full, &effects);
	world_t world = { .store_err = KNOT_ESPACE }, before = { 0 };
	const update_env_t env = env_of(&world);
	update_t update = begin_edits(base);
	print_edits(&update, &before);
	assert_int_equal(update_commit(&update, base, &signed_policy, &env, &effects), KNOT_ESPACE);
	print_edits(&update, &world);
	assert_string_equal(world.text, before.text);
	world.store_err = KNOT_OK;
	assert_int_equal(update_commit(&update, base, &signed_policy, &env, &effects), KNOT_OK);
	assert_int_equal(world.served->serial, base->serial + 1);
	assert_true(effects.is_signed && !effects.is_signed_whole);
	/* SOA, both addresses, NSEC of the apex and of the new name */
	assert_int_equal(effects.signing.rrsig_count, 5);
	update_end(&update);
	zone_contents_free(world.served);
	zone_contents_free(base);
}

/* A key without its private part: the reason is said, nothing is published. */
static void test_unsigned_edits_are_not_published(void **state)
{
	(void)state;
	update_effects_t effects;
	const update_signing_t full = { .plan = &plan, .is_full = true };
	zone_contents_t *base = build_signed(base_text, &full, &effects);
	dnssec_key_t *public;
	assert_int_equal(dnssec_key_from_rdata(dnskey, &public), KNOT_OK);
	const sign_key_t key = { public, true, true };
	sign_plan_t broken = plan;
	broken.keys = &key;
	const update_signing_t signing = { .plan = &broken };
	const update_policy_t signed_policy = signing_policy(&signing);
	world_t world = { 0 };
	const update_env_t env = env_of(&world);
	update_t update = begin_edits(base);
	assert_int_not_equal(update_commit(&update, base, &signed_policy, &env, &effects), KNOT_OK);
	assert_true(update.has_unsigned);
	assert_int_equal(world.published + world.stored, 0);
	update_end(&update);
	dnssec_key_free(public);
	zone_contents_free(base);
}

/* Signed by a key that the zone doesn't publish, as with private keys that were swapped: the proof holds it back. */
static void test_bogus_version_is_not_published(void **state)
{
	(void)state;
	dnssec_key_t *other;
	update_effects_t effects;
	assert_int_equal(dnssec_key_generate(13, 256, 257, &other), KNOT_OK);
	const sign_key_t key = { other, true, true };
	sign_plan_t bogus = plan;
	bogus.keys = &key;
	const update_signing_t right = { .plan = &plan, .is_full = true }, wrong = { .plan = &bogus };
	const update_signing_t wrong_all = { .plan = &bogus, .is_full = true };
	const update_proof_t proof = { .options = { .now_s = plan.now_s } };
	const update_proof_t difference = { .options = { .now_s = plan.now_s }, .has_proven_base = true };
	zone_contents_t *base = build_signed(base_text, &right, &effects);
	for (unsigned i = 0; i < 4; i++) {
		char reason[UPDATE_REASON_MAX] = "";
		world_t world = { 0 };
		const update_env_t env = env_of(&world);
		update_policy_t signed_policy = signing_policy(i < 2 ? &wrong : &wrong_all);
		signed_policy.proof = i % 2 == 0 ? &proof : &difference;
		update_t update = begin_edits(base);
		update.reason = reason;
		assert_int_equal(update_commit(&update, base, &signed_policy, &env, &effects), KNOT_ENOSIG);
		assert_true(update.proof.is_done && update.proof.err == KNOT_ENOSIG && update.proof.result.has_hint);
		assert_non_null(strstr(reason, "DNSSEC validation, "));
		assert_int_equal(world.published + world.stored, 0);
		signed_policy.signing = &right;
		assert_int_equal(update_commit(&update, base, &signed_policy, &env, &effects), KNOT_OK);
		zone_contents_free(world.served);
		update_end(&update);
	}
	zone_contents_free(base);
	dnssec_key_free(other);
}

/* The digest covers what is signed, and is signed itself. */
static void test_digest_of_signed_version(void **state)
{
	(void)state;
	update_effects_t effects;
	const update_signing_t full = { .plan = &plan, .is_full = true }, signing = { .plan = &plan };
	update_policy_t signed_policy = signing_policy(&full);
	signed_policy.zonemd = CONF_ZONEMD_SHA384;
	world_t first_world = { 0 }, world = { 0 };
	update_env_t env = env_of(&first_world);
	update_t update;
	update_begin_whole(origin, UPDATE_FILE, NULL, build(base_text), &update);
	assert_int_equal(update_commit(&update, NULL, &signed_policy, &env, &effects), KNOT_OK);
	update_end(&update);
	assert_int_equal(zonemd_verify(first_world.served), KNOT_OK);
	env = env_of(&world);
	signed_policy.signing = &signing;
	update = begin_edits(first_world.served);
	assert_int_equal(update_commit(&update, first_world.served, &signed_policy, &env, &effects), KNOT_OK);
	update_end(&update);
	assert_int_equal(zonemd_verify(world.served), KNOT_OK);
	zone_contents_free(first_world.served);
	zone_contents_free(world.served);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_commit), cmocka_unit_test(test_failing_steps),
		cmocka_unit_test(test_failures), cmocka_unit_test(test_rails), cmocka_unit_test(test_stores),
		cmocka_unit_test(test_step_that_does_not_fit), cmocka_unit_test(test_zonemd),
		cmocka_unit_test(test_generated_zonemd_is_part_of_the_change), cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_whole_version_is_signed), cmocka_unit_test(test_signed_version_needs_nothing),
		cmocka_unit_test(test_edits_are_signed), cmocka_unit_test(test_unsigned_edits_are_not_published),
		cmocka_unit_test(test_bogus_version_is_not_published),
		cmocka_unit_test(test_digest_of_signed_version) };
	return cmocka_run_group_tests(tests, set_up_key, tear_down_key);
}
