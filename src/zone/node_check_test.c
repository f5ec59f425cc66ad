/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes as they are built are sound; damaged ones are not, and are never read behind their end. */
#include "src/zone/node_check.h"

#include "src/zone/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static const char text[] =
		"@ 60 SOA ns r 7 2 3 4 30\n@ 90 NS ns\nns 60 A 192.0.2.1\n"
		"cut 60 NS ns.cut\ncut 60 NS ns.out.\nns.cut 60 A 192.0.2.2\nns.cut 60 AAAA 2001:db8::2\n"
		"alias 60 CNAME long.name.of.no.wildcard\n*.w 60 TXT x\n"
		"sub.mail 60 MX 1 a.mail\nsub.mail 60 MX 2 b.mail\na.mail 60 A 192.0.2.3\nb.mail 60 A 192.0.2.4\n"
		"sub.mail 60 RRSIG MX 13 3 60 20300101000000 20200101000000 1 @ AAAA\n";

static knot_name_t scan(const char *name, uint8_t wire[static KNOT_NAME_MAX])
{
	uint8_t origin[] = "\4zone";
	knot_name_t ret;
	assert_int_equal(knot_name_scan(knot_str_of(name), (knot_name_t){ origin, 6, 1 }, wire, &ret), KNOT_OK);
	return ret;
}

static zone_contents_t *build(void)
{
	uint8_t wire[KNOT_NAME_MAX];
	zone_build_params_t params = { .origin = scan("@", wire), .default_ttl = 60 };
	zone_contents_t *zone = NULL;
	assert_int_equal(zone_build_text(knot_str_of(text), "test", &params, &zone), KNOT_OK);
	return zone;
}

/* A copy in memory of its own, so that AddressSanitizer sees each byte that is read behind its end. */
static zone_node_t *copy_of(const zone_contents_t *zone, const char *name, size_t *ret_size)
{
	uint8_t wire[KNOT_NAME_MAX];
	const zone_node_t *node = zone_find_node(zone, scan(name, wire));
	assert_non_null(node);
	*ret_size = zone_node_size(node);
	uint8_t *copy = malloc(*ret_size);
	assert_non_null(copy);
	memcpy(copy, node, *ret_size);
	return (zone_node_t *)(void *)copy;
}

static const char *const names[] = { "@", "ns", "cut", "ns.cut", "alias", "*.w", "sub.mail", "mail" };

static void test_sound(void **state)
{
	(void)state;
	zone_contents_t *zone = build();
	for (size_t i = 0; i < KNOT_LEN(names); i++) {
		size_t size;
		zone_node_t *node = copy_of(zone, names[i], &size);
		const char *fault = zone_node_fault(&zone->arena, node, size);
		if (fault != NULL) {
			fail_msg("%s: %s", names[i], fault);
		}
		free(node);
	}
	zone_contents_free(zone);
}

/* Offsets from the start of the node, or from one of its parts. */
typedef enum { HEAD, OWNER, TABLE, GLUE, SET } part_t;

static void test_damage(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		part_t part;
		unsigned offset; /* bytes from there */
		uint8_t flip;    /* bits of that byte */
		const char *want;
	} rows[] = {
		{ "ns", HEAD, 2, 1, "the owner is not a name of the length that the head says" },
		{ "ns", HEAD, 3, 1, "the owner is not a name of the length that the head says" },
		{ "ns", HEAD, 4, 1, "the node does not end with its last RRset" },
		{ "ns", HEAD, 0, ZONE_NODE_WILDCARD, "the flag of a wildcard is wrong" },
		{ "*.w", HEAD, 0, ZONE_NODE_WILDCARD, "the flag of a wildcard is wrong" },
		{ "alias", HEAD, 0, ZONE_NODE_CNAME, "flags of CNAME or DNAME are wrong" },
		{ "ns", HEAD, 0, ZONE_NODE_DNAME, "flags of CNAME or DNAME are wrong" },
		{ "ns", HEAD, 1, ZONE_NODE_NSEC3_IS_MATCH >> 8, "the match of an NSEC3 that is not linked" },
		{ "ns", HEAD, 1, ZONE_NODE_HAS_NSEC3 >> 8, "an RRset is not where the table says" },
		{ "ns", OWNER, 1, 0x20, "the owner is not in lower case" },
		{ "@", TABLE, 4, 0x04, "types of RRsets don't ascend" },
		{ "ns", TABLE, 0, 0x04, "a body has other records than its head says" },
		{ "ns", TABLE, 2, 1, "an RRset is not where the table says" },
		{ "cut", GLUE, 0, 1, "glue ends somewhere else" },
		{ "cut", GLUE, 3, 0x40, "glue of nothing, or for no name server of the node" },
		{ "cut", GLUE, 4, 1, "glue has other records than addresses" },
		{ "ns", SET, 0, 0x80, "an RRset has unknown flags" },
		{ "ns", SET, 0, ZONE_RRSET_HAS_SIGS, "signatures end behind the RRset" },
		{ "sub.mail", SET, 0, ZONE_RRSET_HUGE, "a huge RRset is narrow or has placeholders" },
		{ "sub.mail", SET, 1, 1, "a body has other records than its head says" },
		{ "sub.mail", SET, 2, 1, "a body has other records than its head says" },
		{ "sub.mail", SET, 4, 0x80,
				"a body has other records than its head says" }, /* the owner's placeholder */
		{ "sub.mail", SET, 4 + 9, 1, "a body has other records than its head says" }, /* one TTL of two */
	};
	zone_contents_t *zone = build();
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		size_t size;
		zone_node_t *node = copy_of(zone, rows[i].name, &size);
		uint8_t *bytes = (uint8_t *)node;
		uint16_t glue_count;
		uint8_t *parts[] = {
			[HEAD] = bytes,
			[OWNER] = node->owner,
			[TABLE] = node->owner + node->owner_len,
			[GLUE] = (uint8_t *)zone_node_glue(node, &glue_count) - sizeof(glue_count),
			[SET] = (uint8_t *)zone_node_rrset_at(&zone->arena, node, 0),
		};
		parts[rows[i].part][rows[i].offset] ^= rows[i].flip;
		const char *fault = zone_node_fault(&zone->arena, node, size);
		if (fault == NULL || strcmp(fault, rows[i].want) != 0) {
			fail_msg("%s, part %d, byte %u: %s", rows[i].name, (int)rows[i].part, rows[i].offset,
					fault != NULL ? fault : "no fault");
		}
		free(node);
	}
	zone_contents_free(zone);
}

/* Any byte may be wrong. A node that isn't shared refers to nothing outside, so only the checks themselves can fail. */
static void test_every_byte(void **state)
{
	(void)state;
	static const uint8_t flips[] = { 1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80, 0xff };
	zone_contents_t *zone = build();
	unsigned found = 0, all = 0;
	for (size_t i = 0; i < KNOT_LEN(names); i++) {
		size_t size;
		zone_node_t *node = copy_of(zone, names[i], &size);
		uint8_t *bytes = (uint8_t *)node;
		size_t table_at = (size_t)(zone_node_table(node) - bytes);
		size_t table_end = table_at + (size_t)node->rrset_count * ZONE_ENTRY_LEN;
		for (size_t at = 0; at < size; at++) {
			for (size_t j = 0; j < KNOT_LEN(flips); j++) {
				/* The bit that makes a place one of a shared RRset would make a reference of other
				 * bytes. */
				bool is_place = at >= table_at && at < table_end &&
						(at - table_at) % ZONE_ENTRY_LEN == 3;
				if (is_place && (flips[j] & 0x80)) {
					continue;
				}
				bytes[at] ^= flips[j];
				found += zone_node_fault(&zone->arena, node, size) != NULL;
				bytes[at] ^= flips[j];
				all++;
			}
		}
		for (size_t len = 0; len < size; len++) {
			if (zone_node_fault(&zone->arena, node, len) == NULL) {
				fail_msg("%s: sound with %zu of %zu bytes", names[i], len, size);
			}
		}
		free(node);
	}
	assert_true(found > all / 2); /* the rest is RDATA and TTLs, which may be anything */
	zone_contents_free(zone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sound),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_every_byte),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
