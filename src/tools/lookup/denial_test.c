/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/lookup/denial.h"

#include "libknot/rr/rdata.h"
#include "src/zone/nsec3_hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

/** The name and the types of a zone's node, in canonical order; the zone is "z". */
typedef struct {
	const char *name;
	uint16_t types[4];
	bool is_empty;    /* a non-terminal: it has an NSEC3 record only */
	bool is_insecure; /* a delegation without DS: no NSEC3 record with opt-out */
} node_t;

static const node_t nodes[] = {
	{ .name = "z", .types = { KNOT_TYPE_SOA, KNOT_TYPE_NS } },
	{ .name = "alias.z", .types = { KNOT_TYPE_CNAME } },
	{ .name = "dname.z", .types = { KNOT_TYPE_DNAME } },
	{ .name = "ent.z", .is_empty = true },
	{ .name = "a.ent.z", .types = { KNOT_TYPE_A } },
	{ .name = "insecure.z", .types = { KNOT_TYPE_NS }, .is_insecure = true },
	{ .name = "secure.z", .types = { KNOT_TYPE_NS, KNOT_TYPE_DS } },
	{ .name = "wild.z", .types = { KNOT_TYPE_TXT } },
	{ .name = "*.wild.z", .types = { KNOT_TYPE_A } },
	{ .name = "x.wild.z", .types = { KNOT_TYPE_A } },
	{ .name = "www.z", .types = { KNOT_TYPE_A, KNOT_TYPE_AAAA } },
};

/* ---- Chains ---- */

enum { BITMAP_BYTES = 8, RDATA_ROOM = 512 };

/** One record and the bytes it points to. */
typedef struct {
	uint8_t owner[KNOT_NAME_MAX], hash[ZONE_NSEC3_HASH_LEN], rdata[RDATA_ROOM];
	denial_record_t record;
	const node_t *node;
} link_t;

typedef struct {
	link_t links[KNOT_LEN(nodes)];
	denial_record_t records[KNOT_LEN(nodes)];
	size_t count;
} chain_t;

static knot_name_t name_of(const char *text, uint8_t wire[static KNOT_NAME_MAX])
{
	knot_name_t name;
	assert_int_equal(knot_name_scan((knot_str_t){ text, strlen(text) }, knot_name_root, wire, &name), KNOT_OK);
	return name;
}

static void write_bitmap(knot_writer_t *w, const node_t *node)
{
	uint8_t bits[BITMAP_BYTES] = { 0 };
	for (size_t i = 0; i < KNOT_LEN(node->types) && node->types[i] != 0; i++) {
		bits[node->types[i] / 8] |= (uint8_t)(0x80 >> node->types[i] % 8);
	}
	if (!node->is_empty) {
		knot_write_u8(w, 0);
		knot_write_u8(w, sizeof(bits));
		knot_write(w, bits, sizeof(bits));
	}
}

static void chain_end(chain_t *chain)
{
	for (size_t i = 0; i < chain->count; i++) {
		chain->records[i] = chain->links[i].record;
	}
}

static chain_t make_nsec(void)
{
	static chain_t chain;
	chain = (chain_t){ 0 };
	for (size_t i = 0; i < KNOT_LEN(nodes); i++) {
		if (!nodes[i].is_empty) {
			chain.links[chain.count].node = &nodes[i];
			chain.count++;
		}
	}
	for (size_t i = 0; i < chain.count; i++) {
		link_t *link = &chain.links[i];
		uint8_t wire[KNOT_NAME_MAX];
		knot_name_t next = name_of(chain.links[(i + 1) % chain.count].node->name, wire);
		knot_writer_t w = knot_writer_of((knot_mut_bytes_t){ link->rdata, sizeof(link->rdata) });
		knot_write(&w, next.wire, next.len);
		write_bitmap(&w, link->node);
		link->record = (denial_record_t){ name_of(link->node->name, link->owner), KNOT_TYPE_NSEC,
			{ link->rdata, w.len } };
	}
	chain_end(&chain);
	return chain;
}

static int compare_hashes(const void *a, const void *b)
{
	return memcmp(((const link_t *)a)->hash, ((const link_t *)b)->hash, ZONE_NSEC3_HASH_LEN);
}

/* Its records point into memory that the next chain of as many iterations, modulo 2, is made in. */
static chain_t make_nsec3(bool has_opt_out, uint16_t iterations)
{
	static chain_t chains[2];
	uint8_t wire[KNOT_NAME_MAX], apex_wire[KNOT_NAME_MAX];
	const zone_nsec3_params_t params = {
		.algorithm = 1, .iterations = iterations, .salt = (const uint8_t *)"salt", .salt_len = 4
	};
	chain_t *chain = &chains[iterations % KNOT_LEN(chains)];
	*chain = (chain_t){ 0 };
	for (size_t i = 0; i < KNOT_LEN(nodes); i++) {
		link_t *link = &chain->links[chain->count];
		if (!has_opt_out || !nodes[i].is_insecure) {
			link->node = &nodes[i];
			assert_true(zone_nsec3_hash(&params, name_of(nodes[i].name, wire), link->hash));
			chain->count++;
		}
	}
	qsort(chain->links, chain->count, sizeof(link_t), compare_hashes);
	for (size_t i = 0; i < chain->count; i++) {
		link_t *link = &chain->links[i];
		knot_writer_t w = knot_writer_of((knot_mut_bytes_t){ link->rdata, sizeof(link->rdata) });
		knot_name_t owner;
		assert_true(zone_nsec3_owner(&params, name_of(link->node->name, wire), name_of("z", apex_wire),
				link->owner, &owner));
		knot_write_u8(&w, params.algorithm);
		knot_write_u8(&w, has_opt_out);
		knot_write_u16(&w, iterations);
		knot_write_u8(&w, params.salt_len);
		knot_write(&w, params.salt, params.salt_len);
		knot_write_u8(&w, ZONE_NSEC3_HASH_LEN);
		knot_write(&w, chain->links[(i + 1) % chain->count].hash, ZONE_NSEC3_HASH_LEN);
		write_bitmap(&w, link->node);
		link->record = (denial_record_t){ owner, KNOT_TYPE_NSEC3, { link->rdata, w.len } };
	}
	chain_end(chain);
	return *chain;
}

/* ---- Denials ---- */

/** What the three chains prove of a name and a type. */
static const struct {
	const char *name;
	uint16_t type;
	denial_t by_nsec, by_nsec3, by_opt_out;
} rows[] = {
	{ "z", KNOT_TYPE_SOA, DENIAL_NONE, DENIAL_NONE, DENIAL_NONE },
	{ "z", KNOT_TYPE_MX, DENIAL_NODATA, DENIAL_NODATA, DENIAL_NODATA },
	{ "z", KNOT_TYPE_DS, DENIAL_NONE, DENIAL_NONE, DENIAL_NONE }, /* the parent's to say */
	{ "www.z", KNOT_TYPE_A, DENIAL_NONE, DENIAL_NONE, DENIAL_NONE },
	{ "www.z", KNOT_TYPE_MX, DENIAL_NODATA, DENIAL_NODATA, DENIAL_NODATA },
	{ "www.z", KNOT_TYPE_CAA, DENIAL_NODATA, DENIAL_NODATA, DENIAL_NODATA }, /* in a window that isn't there */
	{ "alias.z", KNOT_TYPE_MX, DENIAL_NONE, DENIAL_NONE, DENIAL_NONE },
	{ "ent.z", KNOT_TYPE_A, DENIAL_NODATA, DENIAL_NODATA, DENIAL_NODATA },
	{ "nx.z", KNOT_TYPE_A, DENIAL_NXDOMAIN, DENIAL_NXDOMAIN, DENIAL_NXDOMAIN },
	{ "zz.z", KNOT_TYPE_A, DENIAL_NXDOMAIN, DENIAL_NXDOMAIN, DENIAL_NXDOMAIN }, /* behind the last */
	{ "a.b.nx.z", KNOT_TYPE_A, DENIAL_NXDOMAIN, DENIAL_NXDOMAIN, DENIAL_NXDOMAIN },
	{ "b.ent.z", KNOT_TYPE_A, DENIAL_NXDOMAIN, DENIAL_NXDOMAIN, DENIAL_NXDOMAIN },
	{ "b.a.ent.z", KNOT_TYPE_A, DENIAL_NXDOMAIN, DENIAL_NXDOMAIN, DENIAL_NXDOMAIN },
	{ "new.wild.z", KNOT_TYPE_A, DENIAL_NONE, DENIAL_NONE, DENIAL_NONE }, /* it's made of the wildcard */
	{ "new.wild.z", KNOT_TYPE_MX, DENIAL_NODATA, DENIAL_NODATA, DENIAL_NODATA },
	{ "new.x.wild.z", KNOT_TYPE_A, DENIAL_NXDOMAIN, DENIAL_NXDOMAIN, DENIAL_NXDOMAIN },
	{ "insecure.z", KNOT_TYPE_DS, DENIAL_NODATA, DENIAL_NODATA, DENIAL_OPT_OUT },
	{ "insecure.z", KNOT_TYPE_MX, DENIAL_NONE, DENIAL_NONE, DENIAL_NXDOMAIN }, /* as far as opt-out goes */
	{ "nx.z", KNOT_TYPE_DS, DENIAL_NXDOMAIN, DENIAL_NXDOMAIN, DENIAL_OPT_OUT },
	{ "a.insecure.z", KNOT_TYPE_A, DENIAL_NONE, DENIAL_NONE, DENIAL_NXDOMAIN }, /* behind the cut */
	{ "secure.z", KNOT_TYPE_DS, DENIAL_NONE, DENIAL_NONE, DENIAL_NONE },
	{ "a.secure.z", KNOT_TYPE_A, DENIAL_NONE, DENIAL_NONE, DENIAL_NONE },
	{ "a.dname.z", KNOT_TYPE_A, DENIAL_NONE, DENIAL_NONE, DENIAL_NONE },
	{ "www.other", KNOT_TYPE_A, DENIAL_NONE, DENIAL_NONE, DENIAL_NONE },
};

/* The rows by one chain; and with any of its records lost, nothing else is proven than with all. */
static void check_rows(const chain_t *chain, size_t column)
{
	uint8_t wire[KNOT_NAME_MAX], zone_wire[KNOT_NAME_MAX];
	knot_name_t zone = name_of("z", zone_wire);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		const denial_t by[] = { rows[i].by_nsec, rows[i].by_nsec3, rows[i].by_opt_out };
		knot_name_t name = name_of(rows[i].name, wire);
		denial_t found = denial_find(chain->records, chain->count, zone, name, rows[i].type);
		if (found != by[column]) {
			fail_msg("%s %u by chain %zu: %d, not %d", rows[i].name, rows[i].type, column, found,
					by[column]);
		}
		assert_int_equal(denial_find(NULL, 0, zone, name, rows[i].type), DENIAL_NONE);
		size_t needed = 0;
		for (size_t lost = 0; lost < chain->count; lost++) {
			denial_record_t left[KNOT_LEN(nodes)];
			memcpy(left, chain->records, lost * sizeof(left[0]));
			memcpy(left + lost, chain->records + lost + 1, (chain->count - lost - 1) * sizeof(left[0]));
			denial_t less = denial_find(left, chain->count - 1, zone, name, rows[i].type);
			needed += less != found;
			if (less != found && less != DENIAL_NONE && less != DENIAL_OPT_OUT) {
				fail_msg("%s %u by chain %zu without record %zu: %d", rows[i].name, rows[i].type,
						column, lost, less);
			}
		}
		assert_true(needed <= 3 && (found == DENIAL_NONE || needed > 0));
	}
}

static void test_nsec(void **state)
{
	(void)state;
	chain_t chain = make_nsec();
	check_rows(&chain, 0);
}

static void test_nsec3(void **state)
{
	(void)state;
	for (uint16_t iterations = 0; iterations <= 10; iterations++) { /* the order of the hashes differs in each */
		chain_t chain = make_nsec3(false, iterations);
		check_rows(&chain, 1);
	}
}

static void test_opt_out(void **state)
{
	(void)state;
	for (uint16_t iterations = 0; iterations <= 10; iterations++) {
		chain_t chain = make_nsec3(true, iterations);
		check_rows(&chain, 2);
	}
}

/* What a wildcard's records need. */
static void test_closer(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		unsigned encloser_labels;
		bool is_proven;
	} closer[] = {
		{ "new.wild.z", 2, true },
		{ "a.new.wild.z", 2, true },
		{ "x.wild.z", 2, false },
		{ "new.wild.z", 3, false },
		{ "new.wild.z", 9, false },
	};
	uint8_t wire[KNOT_NAME_MAX];
	const chain_t nsec = make_nsec(), nsec3 = make_nsec3(false, 0);
	for (size_t i = 0; i < KNOT_LEN(closer); i++) {
		knot_name_t name = name_of(closer[i].name, wire);
		assert_int_equal(denial_of_closer(nsec.records, nsec.count, name, closer[i].encloser_labels),
				closer[i].is_proven);
		assert_int_equal(denial_of_closer(nsec3.records, nsec3.count, name, closer[i].encloser_labels),
				closer[i].is_proven);
		assert_false(denial_of_closer(NULL, 0, name, closer[i].encloser_labels));
	}
}

/* Only records with the parameters of the first one prove something: what a name costs doesn't grow with them. */
static void test_many_parameters(void **state)
{
	(void)state;
	uint8_t wire[KNOT_NAME_MAX], zone_wire[KNOT_NAME_MAX];
	knot_name_t zone = name_of("z", zone_wire), name = name_of("nx.z", wire);
	const chain_t first = make_nsec3(false, 1), others = make_nsec3(false, 2);
	denial_record_t mixed[2 * KNOT_LEN(nodes)];
	assert_int_equal(denial_find(first.records, first.count, zone, name, KNOT_TYPE_A), DENIAL_NXDOMAIN);
	for (size_t kept = 1; kept <= first.count; kept++) { /* the others make up for nothing that is missing */
		denial_t alone = denial_find(first.records, kept, zone, name, KNOT_TYPE_A);
		memcpy(mixed, first.records, kept * sizeof(mixed[0]));
		memcpy(mixed + kept, others.records, others.count * sizeof(mixed[0]));
		assert_int_equal(denial_find(mixed, kept + others.count, zone, name, KNOT_TYPE_A), alone);
	}
}

/* Records that nobody should send, and that can't be read. */
static void test_odd_records(void **state)
{
	(void)state;
	uint8_t wire[KNOT_NAME_MAX], zone_wire[KNOT_NAME_MAX];
	knot_name_t zone = name_of("z", zone_wire), name = name_of("nx.z", wire);
	chain_t chain = make_nsec3(false, 501);
	assert_int_equal(denial_find(chain.records, chain.count, zone, name, KNOT_TYPE_A), DENIAL_NONE);
	chain_t chains[] = { make_nsec(), make_nsec3(false, 0) };
	for (size_t k = 0; k < KNOT_LEN(chains); k++) {
		for (size_t len = 0; len < RDATA_ROOM / 4; len++) {
			denial_record_t cut[KNOT_LEN(nodes)];
			uint8_t *bytes[KNOT_LEN(nodes)];
			for (size_t i = 0; i < chains[k].count; i++) {
				size_t left = chains[k].records[i].rdata.len < len ? chains[k].records[i].rdata.len
										   : len;
				bytes[i] = malloc(left > 0 ? left : 1); /* a sanitizer sees reads behind it */
				assert_non_null(bytes[i]);
				memcpy(bytes[i], chains[k].records[i].rdata.data, left);
				cut[i] = chains[k].records[i];
				cut[i].rdata = (knot_bytes_t){ bytes[i], left };
			}
			(void)denial_find(cut, chains[k].count, zone, name, KNOT_TYPE_A);
			(void)denial_find(cut, chains[k].count, zone, zone, KNOT_TYPE_MX);
			(void)denial_of_closer(cut, chains[k].count, name, 1);
			for (size_t i = 0; i < chains[k].count; i++) {
				free(bytes[i]);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nsec),
		cmocka_unit_test(test_nsec3),
		cmocka_unit_test(test_opt_out),
		cmocka_unit_test(test_closer),
		cmocka_unit_test(test_many_parameters),
		cmocka_unit_test(test_odd_records),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
