/* SPDX-License-Identifier: BSD-2-Clause */
/* Zones from text: what lookups say of names, what nodes hold, and which record denies a name. */
#include "src/zone/build.h"
#include "src/zone/lookup.h"
#include "src/zone/test_dump.h"

#include "libknot/rr/rrtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

typedef struct {
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
} owned_name_t;

static knot_name_t scan(const char *text, owned_name_t *ret)
{
	uint8_t origin[] = "\4zone";
	assert_int_equal(knot_name_scan(knot_str_of(text), (knot_name_t){ origin, 6, 1 }, ret->wire, &ret->name),
			KNOT_OK);
	return ret->name;
}

static zone_contents_t *build(const char *text)
{
	owned_name_t origin;
	zone_build_params_t params = { .origin = scan("@", &origin), .default_ttl = 60 };
	zone_contents_t *zone = NULL;
	assert_int_equal(zone_build_text(knot_str_of(text), "test", &params, &zone), KNOT_OK);
	return zone;
}

#define HEAD "@ 60 SOA ns r 7 2 3 4 30\n@ 90 NS ns\nns 60 A 192.0.2.1\n"

static const char lookup_zone[] =
		HEAD "a.b.c 60 A 192.0.2.1\n"
		     "cut 60 NS ns.cut\nns.cut 60 A 192.0.2.2\n\\*.cut 60 A 192.0.2.2\nns.below.cut 60 NS ns.out.\n"
		     "d 60 DNAME out.\n"
		     "*.w 60 A 192.0.2.3\nx.w 60 TXT x\ny.z.w 60 TXT y\n"
		     "*.*.ww 60 A 192.0.2.4\n"
		     "\\000\\255 60 A 192.0.2.5\n";

static void test_lookup(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		zone_lookup_kind_t want;
		const char *want_node, *want_encloser;
	} rows[] = {
		{ "@", ZONE_FOUND, "@", "@" },
		{ "ns", ZONE_FOUND, "ns", "ns" },
		{ "b.c", ZONE_FOUND, "b.c", "b.c" }, /* an empty non-terminal */
		{ "c", ZONE_FOUND, "c", "c" },
		{ "x.c", ZONE_NXDOMAIN, NULL, "c" },
		{ "x.a.b.c", ZONE_NXDOMAIN, NULL, "a.b.c" },
		{ "nope", ZONE_NXDOMAIN, NULL, "@" },
		{ "x.y.nope", ZONE_NXDOMAIN, NULL, "@" },
		{ "n", ZONE_NXDOMAIN, NULL, "@" },
		{ "nsx", ZONE_NXDOMAIN, NULL, "@" },
		{ "cut", ZONE_FOUND, "cut", "cut" },
		{ "ns.cut", ZONE_DELEGATION, "cut", "cut" },
		{ "x.y.cut", ZONE_DELEGATION, "cut", "cut" },
		{ "*.cut", ZONE_DELEGATION, "cut", "cut" },
		{ "x.below.cut", ZONE_DELEGATION, "cut", "cut" },
		{ "d", ZONE_FOUND, "d", "d" },
		{ "x.y.d", ZONE_DNAME, "d", "d" },
		{ "w", ZONE_FOUND, "w", "w" },
		{ "*.w", ZONE_FOUND, "*.w", "*.w" },
		{ "q.w", ZONE_WILDCARD, "*.w", "w" },
		{ "p.q.w", ZONE_WILDCARD, "*.w", "w" },
		{ "q.x.w", ZONE_NXDOMAIN, NULL, "x.w" }, /* RFC 4592 2.2.1: x exists */
		{ "z.w", ZONE_FOUND, "z.w", "z.w" },
		{ "q.z.w", ZONE_NXDOMAIN, NULL, "z.w" },
		{ "q.*.w", ZONE_NXDOMAIN, NULL, "*.w" },
		{ "q.ww", ZONE_WILDCARD, "*.ww", "ww" },
		{ "q.*.ww", ZONE_WILDCARD, "*.*.ww", "*.ww" },
		{ "\\000\\255", ZONE_FOUND, "\\000\\255", "\\000\\255" },
		{ "\\000\\254", ZONE_NXDOMAIN, NULL, "@" },
	};
	zone_contents_t *zone = build(lookup_zone);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		owned_name_t name, node, encloser;
		zone_lookup_t found = zone_lookup(zone, scan(rows[i].name, &name));
		bool is_right = found.kind == rows[i].want && (found.node != NULL) == (rows[i].want_node != NULL) &&
				(found.node == NULL || knot_name_eq(zone_node_owner(found.node),
								       scan(rows[i].want_node, &node))) &&
				knot_name_eq(zone_node_owner(found.encloser), scan(rows[i].want_encloser, &encloser));
		if (!is_right) {
			fail_msg("%s: kind %d", rows[i].name, found.kind);
		}
	}
	assert_int_equal(zone->glue.count, 3);
	assert_int_equal(zone->serial, 7);
	assert_int_equal(zone->soa_minimum_ttl, 30);
	assert_int_equal(zone->max_ttl, 90);
	assert_false(zone->is_signed);
	zone_contents_free(zone);
}

static void test_flags(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint16_t want;
	} rows[] = {
		{ "@", ZONE_NODE_APEX | ZONE_NODE_CHILDREN },
		{ "ns", 0 },
		{ "c", ZONE_NODE_CHILDREN },
		{ "a.b.c", 0 },
		{ "cut", ZONE_NODE_CUT },
		{ "ns.cut", ZONE_NODE_GLUE },
		{ "d", ZONE_NODE_DNAME },
		{ "w", ZONE_NODE_CHILDREN | ZONE_NODE_WILDCARD_CHILD },
		{ "*.w", ZONE_NODE_WILDCARD },
		{ "*.ww", ZONE_NODE_WILDCARD | ZONE_NODE_WILDCARD_CHILD | ZONE_NODE_CHILDREN },
	};
	zone_contents_t *zone = build(lookup_zone);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		owned_name_t name;
		const zone_node_t *node = zone_find_node(zone, scan(rows[i].name, &name));
		assert_non_null(node);
		if ((node->flags & ZONE_NODE_FACTS) != rows[i].want) {
			fail_msg("%s: flags %x", rows[i].name, node->flags);
		}
	}
	zone_contents_free(zone);
}

static void hex(const uint8_t *bytes, size_t len, char *ret)
{
	for (size_t i = 0; i < len; i++) {
		sprintf(ret + 2 * i, "%02x", bytes[i]);
	}
}

/* Blocks byte by byte: placeholders, order, duplicates. */
static void test_blocks(void **state)
{
	(void)state;
	static const struct {
		const char *what, *zone, *owner;
		uint16_t type;
		const char *want;          /* body */
		const char *want_pointers; /* in RDATA */
	} rows[] = {
		{ "owner and address", HEAD, "ns", KNOT_TYPE_A, "c000000100010000003c0004c0000201", "" },
		{ "a suffix of the owner", HEAD "x.y 60 MX 1 y\n", "x.y", KNOT_TYPE_MX,
				"c000000f00010000003c00040001c002", "14 " },
		{ "the owner itself", HEAD "x 60 MX 1 x\n", "x", KNOT_TYPE_MX, "c000000f00010000003c00040001c000",
				"14 " },
		{ "not the name of a wildcard", HEAD "*.x 60 MX 1 *.x\n", "*.x", KNOT_TYPE_MX,
				"c000000f00010000003c00060001012ac002", "16 " },
		{ "earlier name of the body", HEAD "x 60 MX 1 a.out.\nx 60 MX 2 b.out.\n", "x", KNOT_TYPE_MX,
				"c000000f00010000003c0009000101"
				"61036f757400"
				"c000000f00010000003c00060002"
				"0162"
				"e010",
				"37 " },
		{ "order and duplicates", HEAD "x 60 A 192.0.2.9\nx 60 A 192.0.2.1\nx 60 A 192.0.2.9\n", "x",
				KNOT_TYPE_A, "c000000100010000003c0004c0000201c000000100010000003c0004c0000209", "" },
		{ "SRV isn't compressed", HEAD "x 60 SRV 1 2 3 x\n", "x", KNOT_TYPE_SRV,
				"c000002100010000003c000e000100020003"
				"0178047a6f6e6500",
				"" },
		{ "case of RDATA names", HEAD "x 60 NS A.OuT.\n", "x", KNOT_TYPE_NS,
				"c000000200010000003c00070161036f757400", "" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		zone_contents_t *zone = build(rows[i].zone);
		owned_name_t owner;
		const zone_node_t *node = zone_find_node(zone, scan(rows[i].owner, &owner));
		zone_block_t block = zone_rrset_body(zone_node_rrset(&zone->arena, node, rows[i].type));
		char text[512], fixups[64] = "";
		hex(block.bytes, block.len, text);
		for (unsigned j = 0, len = 0; j < block.pointer_count; j++) {
			len += (unsigned)sprintf(fixups + len, "%u ", zone_block_pointer(&block, j));
		}
		if (strcmp(text, rows[i].want) != 0 || strcmp(fixups, rows[i].want_pointers) != 0) {
			fail_msg("%s: %s @ %s", rows[i].what, text, fixups);
		}
		zone_contents_free(zone);
	}
}

static void test_extras(void **state)
{
	(void)state;
	static const struct {
		const char *what, *zone, *owner;
		uint16_t type;
		const char *want; /* per extra: type, flags, what it links to */
	} rows[] = {
		{ "in-domain glue is copied", HEAD "a 60 NS ns.a\nns.a 60 A 192.0.2.1\nns.a 60 AAAA ::1\n", "a",
				KNOT_TYPE_NS, "1+1 28+1 " },
		{ "glue at the cut", HEAD "a 60 NS a\na 60 A 192.0.2.1\na 60 A 192.0.2.2\n", "a", KNOT_TYPE_NS,
				"1+2 " },
		{ "glue beside NSEC3 records that belong to no chain",
				HEAD "a 60 NS ns.a\na.a 60 NSEC3 1 0 0 - 0123456789abcdefghijklmnopqrstuv A\nns.a 60 A "
				     "192.0.2.1\n",
				"a", KNOT_TYPE_NS, "1+1 " },
		{ "sibling glue is linked", HEAD "a 60 NS ns.b\nb 60 NS ns.b\nns.b 60 A 192.0.2.1\n", "a", KNOT_TYPE_NS,
				"ns.b.zone. " },
		{ "a name of the zone is linked", HEAD "a 60 NS ns\n", "a", KNOT_TYPE_NS, "ns.zone. " },
		{ "once per target", HEAD "a 60 SRV 1 1 1 ns\na 60 SRV 1 1 2 ns\n", "a", KNOT_TYPE_SRV, "ns.zone. " },
		{ "a wildcard's addresses", HEAD "a 60 MX 1 x.w\n*.w 60 A 192.0.2.1\n", "a", KNOT_TYPE_MX,
				"*.w.zone. " },
		{ "a name without address, which may get one", HEAD "a 60 MX 1 t\nt 60 TXT x\n", "a", KNOT_TYPE_MX,
				"t.zone. " },
		{ "a name that may come", HEAD "a 60 MX 1 t\nb 60 MX 1 t\n", "a", KNOT_TYPE_MX, "none " },
		{ "none out of the zone", HEAD "a 60 MX 1 mail.out.\n", "a", KNOT_TYPE_MX, "" },
		{ "none for CNAME", HEAD "a 60 CNAME ns\n", "a", KNOT_TYPE_CNAME, "" },
		{ "own NS of the apex", HEAD, "@", KNOT_TYPE_NS, "ns.zone. " },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		zone_contents_t *zone = build(rows[i].zone);
		owned_name_t owner;
		const zone_node_t *node = zone_find_node(zone, scan(rows[i].owner, &owner));
		const zone_rrset_t *set = zone_node_rrset(&zone->arena, node, rows[i].type);
		char text[8 * KNOT_NAME_TEXT_MAX] = "";
		size_t len = 0;
		zone_extra_iter_t iter = zone_extras_begin(node, set);
		for (zone_extra_t extra; zone_extras_next(&iter, &extra);) {
			char name[KNOT_NAME_TEXT_MAX];
			if (extra.type != 0) {
				assert_int_equal(extra.block.pointer_count, 0);
				assert_int_equal(extra.block.len,
						extra.block.rr_count * (extra.type == KNOT_TYPE_A ? 16 : 28));
				len += (size_t)sprintf(text + len, "%u+%u ", extra.type, extra.block.rr_count);
			} else {
				const zone_node_t *linked = zone_link_get(zone, extra.link);
				if (linked != NULL) {
					knot_name_print(zone_node_owner(linked), name);
				}
				len += (size_t)snprintf(
						text + len, sizeof(text) - len, "%s ", linked != NULL ? name : "none");
			}
		}
		if (strcmp(text, rows[i].want) != 0) {
			fail_msg("%s: %s", rows[i].what, text);
		}
		zone_contents_free(zone);
	}
}

static void test_huge(void **state)
{
	(void)state;
	enum { COUNT = 4000 };
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	fprintf(to, HEAD);
	for (unsigned i = 0; i < COUNT; i++) {
		fprintf(to, "big 60 MX %u host%05u.big\n", i, i);
	}
	fclose(to);
	zone_contents_t *zone = build(text);
	free(text);
	owned_name_t name;
	const zone_node_t *node = zone_find_node(zone, scan("big", &name));
	const zone_rrset_t *set = zone_node_rrset(&zone->arena, node, KNOT_TYPE_MX);
	assert_true(zone_rrset_is_huge(set));
	assert_int_equal(zone_rrset_rr_count(set), COUNT);
	assert_int_equal(zone_rrset_body(set).pointer_count, 0);
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	zone_rr_iter_t iter = zone_rr_begin(node, set, false);
	uint32_t ttl;
	knot_bytes_t rdata;
	unsigned count = 0;
	while (zone_rr_next(&iter, (knot_mut_bytes_t){ scratch, KNOT_RDATA_MAX }, &ttl, &rdata)) {
		assert_int_equal(load_be16(rdata.data), count++);
		assert_int_equal(rdata.len, 2 + 20);
	}
	assert_int_equal(count, COUNT);
	free(scratch);
	zone_contents_free(zone);
}

/* A name server with more addresses than an entry counts has several entries; each address once, in order. */
static void test_many_addresses(void **state)
{
	(void)state;
	static const unsigned counts[] = { 255, 256, 510, 700 };
	for (size_t i = 0; i < KNOT_LEN(counts); i++) {
		char *text = NULL;
		size_t len;
		FILE *to = open_memstream(&text, &len);
		fprintf(to, HEAD "a 60 NS ns.a\nns.a 60 AAAA ::1\n");
		for (unsigned k = counts[i]; k-- > 0;) {
			fprintf(to, "ns.a 60 A 10.0.%u.%u\nns.a 60 A 10.0.%u.%u\n", k / 256, k % 256, k / 256, k % 256);
		}
		fclose(to);
		zone_contents_t *zone = build(text);
		free(text);
		owned_name_t name;
		const zone_node_t *node = zone_find_node(zone, scan("a", &name));
		zone_extra_iter_t iter = zone_extras_begin(node, zone_node_rrset(&zone->arena, node, KNOT_TYPE_NS));
		unsigned a_count = 0, aaaa_count = 0;
		for (zone_extra_t extra; zone_extras_next(&iter, &extra);) {
			aaaa_count += extra.type == KNOT_TYPE_AAAA ? extra.block.rr_count : 0;
			for (unsigned k = 0; extra.type == KNOT_TYPE_A && k < extra.block.rr_count; k++) {
				assert_int_equal(load_be32(extra.block.bytes + 16 * k + 12), 10u << 24 | a_count++);
			}
		}
		assert_int_equal(a_count, counts[i]);
		assert_int_equal(aaaa_count, 1);
		zone_contents_free(zone);
	}
}

static void test_nsec_cover(void **state)
{
	(void)state;
	static const struct {
		const char *name, *want;
	} rows[] = {
		{ "@", "@" },
		{ "a", "@" },
		{ "b", "b" },
		{ "c", "b" },
		{ "z.b", "b" },
		{ "x", "b" },
		{ "y.x", "y.x" },
		{ "a.y.x", "y.x" },
		{ "zz", "y.x" },
		{ "x.cut", "b" },
	};
	zone_contents_t *zone = build(HEAD
			"@ 60 NSEC b SOA\nb 60 NSEC y.x A\nb 60 A 192.0.2.1\ny.x 60 NSEC @ A\ny.x 60 A 192.0.2.1\n");
	assert_true(zone->has_nsec);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		owned_name_t name, want;
		const zone_node_t *node = zone_nsec_cover(zone, scan(rows[i].name, &name));
		if (node == NULL || !knot_name_eq(zone_node_owner(node), scan(rows[i].want, &want))) {
			fail_msg("%s", rows[i].name);
		}
	}
	zone_contents_free(zone);
}

/* RFC 5155 A: salt aabbccdd, 12 iterations, of the zone "example". */
static void test_nsec3(void **state)
{
	(void)state;
	static const char text[] =
			"$ORIGIN example.\n@ 60 SOA ns r 1 2 3 4 5\n@ 60 NS ns.out.\n@ 60 NSEC3PARAM 1 0 12 aabbccdd\n"
			"ai 60 A 192.0.2.1\n*.w 60 A 192.0.2.1\nx.y.w 60 A 192.0.2.1\n"
			"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom 60 NSEC3 1 1 12 aabbccdd gjeqe526plbf1g8mklp59enfd789njgi "
			"SOA\n"
			"gjeqe526plbf1g8mklp59enfd789njgi 60 NSEC3 1 1 12 aabbccdd r53bq7cc2uvmubfu5ocmm6pers9tk9en A\n"
			"r53bq7cc2uvmubfu5ocmm6pers9tk9en 60 NSEC3 1 1 12 aabbccdd 0p9mhaveqvm6t7vbl5lop2u3t2rp3tom "
			"A\n";
	static const struct {
		const char *name;
		bool want_match;
		char want_first; /* first letter of the NSEC3's owner */
	} rows[] = {
		{ "example.", true, '0' }, { "ai.example.", true, 'g' }, { "*.w.example.", true, 'r' },
		{ "ns1.example.", false, '0' }, /* 2t7b4g4v... */
		{ "w.example.", false, 'g' },   /* k8udemvp... */
		{ "xx.example.", false, 'r' },  /* t644ebqk... */
		{ "a.example.", false, '0' },   /* 35mthgpg... */
	};
	uint8_t origin[] = "\7example";
	zone_build_params_t params = { .origin = { origin, 9, 1 }, .default_ttl = 60 };
	zone_contents_t *zone = NULL;
	assert_int_equal(zone_build_text(knot_str_of(text), "test", &params, &zone), KNOT_OK);
	assert_int_equal(zone->nsec3_params.algorithm, 1);
	assert_int_equal(zone->nsec3.count, 3);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		owned_name_t name;
		zone_nsec3_t found = zone_nsec3_find(zone, scan(rows[i].name, &name));
		if (found.node == NULL || found.is_match != rows[i].want_match ||
				found.node->owner[1] != rows[i].want_first) {
			fail_msg("%s", rows[i].name);
		}
		const zone_node_t *node = zone_find_node(zone, name.name);
		if (node != NULL) { /* the prepared link says the same */
			zone_nsec3_t linked = zone_nsec3_of(zone, node);
			assert_ptr_equal(linked.node, found.node);
			assert_int_equal(linked.is_match, found.is_match);
		}
	}
	owned_name_t name;
	zone_nsec3_t wildcard = zone_nsec3_of_wildcard(zone, zone_find_node(zone, scan("w.example.", &name)));
	assert_int_equal(wildcard.node->owner[1], 'r');
	assert_true(wildcard.is_match);
	zone_contents_free(zone);
}

/* A chain with another salt, as while a zone changes it, is zone data but no denial. */
static void test_nsec3_other_chain(void **state)
{
	(void)state;
	static const char text[] =
			"$ORIGIN example.\n@ 60 SOA ns r 1 2 3 4 5\n@ 60 NS ns.out.\n@ 60 NSEC3PARAM 1 0 12 aabbccdd\n"
			"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom 60 NSEC3 1 1 12 aabbccdd r53bq7cc2uvmubfu5ocmm6pers9tk9en "
			"SOA\n"
			"30000000000000000000000000000000 60 NSEC3 1 1 12 - s0000000000000000000000000000000 A\n"
			"r53bq7cc2uvmubfu5ocmm6pers9tk9en 60 NSEC3 1 1 12 aabbccdd 0p9mhaveqvm6t7vbl5lop2u3t2rp3tom A\n"
			"s0000000000000000000000000000000 60 NSEC3 1 1 12 - 30000000000000000000000000000000 SOA\n";
	uint8_t origin[] = "\7example";
	zone_build_params_t params = { .origin = { origin, 9, 1 }, .default_ttl = 60 };
	zone_contents_t *zone = NULL;
	assert_int_equal(zone_build_text(knot_str_of(text), "test", &params, &zone), KNOT_OK);
	assert_int_equal(zone->nsec3.count, 2);
	owned_name_t name;
	assert_int_equal(zone_nsec3_find(zone, scan("a.example.", &name)).node->owner[1], '0');  /* 35mthgpg... */
	assert_int_equal(zone_nsec3_find(zone, scan("xx.example.", &name)).node->owner[1], 'r'); /* t644ebqk... */
	assert_non_null(zone_find_node(zone, scan("30000000000000000000000000000000.example.", &name)));
	assert_int_equal(zone->record_count, 7);
	zone_contents_free(zone);
}

static void test_size_limit(void **state)
{
	(void)state;
	owned_name_t origin;
	zone_build_params_t params = { .origin = scan("@", &origin), .default_ttl = 60, .size_max = 100 };
	zone_contents_t *zone = NULL;
	assert_int_equal(zone_build_text(KNOT_STR(HEAD), "test", &params, &zone), KNOT_EZONESIZE);
	params.size_max = 1000;
	assert_int_equal(zone_build_text(KNOT_STR(HEAD), "test", &params, &zone), KNOT_OK);
	zone_contents_free(zone);
	assert_int_not_equal(zone_build_file("/nonexistent/zone", &params, &zone), KNOT_OK);
}

enum { SHUFFLED_NAMES = 14000, SHUFFLED_LINES = 72000, SHUFFLED_LINE_MAX = 240 };

/*
 * Delegations with glue, prefixes that don't tell names apart, more TTLs than are kept once, empty non-terminals, a
 * name whose records exceed a block, and one with records of each owner in several places once they are shuffled.
 */
static size_t write_lines(char (*lines)[SHUFFLED_LINE_MAX])
{
	size_t count = 0;
	for (unsigned i = 0; i < SHUFFLED_NAMES; i++) {
		unsigned ttl = 60 + i % 700;
		snprintf(lines[count++], SHUFFLED_LINE_MAX, "d%u %u NS ns1.d%u\n", i * 7919 % SHUFFLED_NAMES, ttl,
				i * 7919 % SHUFFLED_NAMES);
		snprintf(lines[count++], SHUFFLED_LINE_MAX, "ns1.d%u %u A 192.0.2.%u\n", i, ttl, i % 250);
		snprintf(lines[count++], SHUFFLED_LINE_MAX, "ns1.d%u %u AAAA 2001:db8::%x\n", i, ttl, i);
		snprintf(lines[count++], SHUFFLED_LINE_MAX, "a-prefix-longer-than-ten-bytes-%u.x%u 60 TXT %u\n", i,
				i % 3, i);
		snprintf(lines[count++], SHUFFLED_LINE_MAX, "a-prefix-longer-than-ten-bytes-%u.x%u 60 MX 1 ns1.d%u\n",
				i, i % 3, i / 2);
	}
	for (unsigned i = 0; i < 2000; i++) {
		snprintf(lines[count++], SHUFFLED_LINE_MAX, "big 60 TXT \"%u %0200u\"\n", i, i);
	}
	return count;
}

static char *build_lines(char (*lines)[SHUFFLED_LINE_MAX], size_t count)
{
	static char text[SHUFFLED_LINES * SHUFFLED_LINE_MAX];
	size_t len = (size_t)sprintf(text, HEAD);
	for (size_t i = 0; i < count; i++) {
		len += (size_t)sprintf(text + len, "%s", lines[i]);
	}
	zone_contents_t *zone = build(text);
	char *dump = dump_zone(zone);
	assert_non_null(dump);
	zone_contents_free(zone);
	return dump;
}

/* The order of records in the source makes no difference. */
static void test_shuffled(void **state)
{
	(void)state;
	static char lines[SHUFFLED_LINES][SHUFFLED_LINE_MAX], spare[SHUFFLED_LINE_MAX];
	size_t count = write_lines(lines);
	assert_true(count <= SHUFFLED_LINES);
	char *want = build_lines(lines, count);
	unsigned random = 1;
	for (size_t i = count - 1; i > 0; i--) {
		random = random * 1103515245u + 12345u;
		size_t k = (random >> 8) % (i + 1);
		memcpy(spare, lines[i], sizeof(spare));
		memcpy(lines[i], lines[k], sizeof(spare));
		memcpy(lines[k], spare, sizeof(spare));
	}
	char *got = build_lines(lines, count);
	assert_true(strcmp(got, want) == 0);
	free(got);
	free(want);
}

typedef struct {
	unsigned count;
	struct stat info;
} seen_files_t;

static void on_file(const char *path, const struct stat *info, void *ctx)
{
	seen_files_t *seen = ctx;
	assert_non_null(path);
	seen->count++;
	seen->info = *info;
}

static void test_on_file(void **state)
{
	(void)state;
	char path[] = "/tmp/build_test.XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, HEAD, sizeof(HEAD) - 1), sizeof(HEAD) - 1);
	struct stat info;
	assert_int_equal(fstat(fd, &info), 0);
	owned_name_t origin;
	seen_files_t seen = { 0 };
	zone_build_params_t params = {
		.origin = scan("@", &origin), .default_ttl = 60, .on_file = on_file, .ctx = &seen
	};
	zone_contents_t *zone = NULL;
	assert_int_equal(zone_build_file(path, &params, &zone), KNOT_OK);
	zone_contents_free(zone);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.info.st_ino, info.st_ino);
	assert_int_equal(seen.info.st_size, sizeof(HEAD) - 1);
	assert_int_equal(seen.info.st_mtim.tv_nsec, info.st_mtim.tv_nsec);
	close(fd);
	unlink(path);
	params.on_file = NULL;
	assert_int_equal(zone_build_text(KNOT_STR(HEAD), path, &params, &zone), KNOT_OK);
	zone_contents_free(zone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookup),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_extras),
		cmocka_unit_test(test_huge),
		cmocka_unit_test(test_many_addresses),
		cmocka_unit_test(test_nsec_cover),
		cmocka_unit_test(test_nsec3),
		cmocka_unit_test(test_nsec3_other_chain),
		cmocka_unit_test(test_size_limit),
		cmocka_unit_test(test_on_file),
		cmocka_unit_test(test_shuffled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
