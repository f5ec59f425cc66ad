/* SPDX-License-Identifier: BSD-2-Clause */
/** For tests: a compiled zone as text that shows everything readers can see, whatever its references and link numbers
 * are. */
#pragma once

#include "libknot/base/encode.h"
#include "src/zone/lookup.h"

#include <stdio.h>

static void dump_name(FILE *to, const char *what, knot_name_t name)
{
	char text[KNOT_NAME_TEXT_MAX];
	knot_name_print(name, text);
	fprintf(to, "%s%s", what, text);
}

static void dump_hex(FILE *to, const char *what, const uint8_t *bytes, size_t len)
{
	fprintf(to, "%s", what);
	for (size_t i = 0; i < len; i++) {
		char digits[KNOT_HEX_LEN(1)];
		fwrite(digits, 1, knot_hex_print((knot_bytes_t){ bytes + i, 1 }, KNOT_HEX_LOWER, digits), to);
	}
}

static void dump_link(FILE *to, const char *what, const zone_contents_t *zone, zone_link_t link)
{
	const zone_node_t *node = zone_link_get(zone, link);
	if (node != NULL) {
		dump_name(to, what, zone_node_owner(node));
	}
}

static void dump_block(FILE *to, const char *what, zone_block_t block)
{
	dump_hex(to, what, block.bytes, block.len);
	for (unsigned i = 0; i < block.pointer_count; i++) {
		fprintf(to, " @%u", zone_block_pointer(&block, i));
	}
}

static void dump_nsec3(FILE *to, const char *what, zone_nsec3_t found)
{
	if (found.node != NULL) {
		fprintf(to, "%s%s", what, found.is_match ? "=" : "~");
		dump_name(to, " ", zone_node_owner(found.node));
	}
}

static void dump_node(FILE *to, const zone_contents_t *zone, const zone_node_t *node)
{
	dump_name(to, "\n", zone_node_owner(node));
	fprintf(to, " flags %x", node->flags & ZONE_NODE_FACTS);
	if (!(node->flags & (ZONE_NODE_NSEC3 | ZONE_NODE_GLUE))) {
		zone_nsec3_t own = zone_nsec3_of(zone, node);
		dump_nsec3(to, " nsec3", own);
		zone_nsec3_t wildcard = zone_nsec3_of_wildcard(zone, node);
		dump_nsec3(to, " wildcard", (node->flags & ZONE_NODE_CUT) ? (zone_nsec3_t){ NULL, false } : wildcard);
	}
	for (unsigned i = 0; i < zone_node_rrset_count(node); i++) {
		const zone_rrset_t *set = zone_node_rrset_at(&zone->arena, node, i);
		fprintf(to, "\n  type %u huge %d count %u+%u ttl %u", zone_rrset_type(set), zone_rrset_is_huge(set),
				zone_rrset_rr_count(set), zone_rrset_sigs(set).rr_count, (unsigned)zone_rrset_ttl(set));
		dump_block(to, " body ", zone_rrset_body(set));
		dump_block(to, " sigs ", zone_rrset_sigs(set));
		zone_extra_iter_t iter = zone_extras_begin(node, set);
		for (zone_extra_t extra; zone_extras_next(&iter, &extra);) {
			fprintf(to, "\n    extra %u name %u", extra.type, extra.name_off);
			if (extra.type == 0) {
				dump_link(to, " link ", zone, extra.link);
			} else {
				dump_block(to, " block ", extra.block);
			}
		}
	}
}

/** The dump, to be freed; NULL: out of memory. */
static char *dump_zone(const zone_contents_t *zone)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	if (to == NULL) {
		return NULL;
	}
	fprintf(to, "serial %u minimum %u signed %d nsec %d nsec3 %u/%u size %llu records %llu ttl %u",
			(unsigned)zone->serial, (unsigned)zone->soa_minimum_ttl, zone->is_signed, zone->has_nsec,
			zone_nsec3_params(zone)->algorithm, zone_nsec3_params(zone)->iterations,
			(unsigned long long)zone->wire_size, (unsigned long long)zone->record_count,
			(unsigned)zone->max_ttl);
	const zone_tree_t *const trees[] = { &zone->auth, zone_glue_tree(zone), zone_nsec3_tree(zone) };
	static const char *const names[] = { "auth", "glue", "nsec3" };
	for (size_t i = 0; i < KNOT_LEN(trees); i++) {
		fprintf(to, "\n== %s %u", names[i], trees[i]->count);
		zone_tree_iter_t iter;
		zone_tree_begin(&zone->arena, trees[i], &iter);
		for (zone_ref_t ref; (ref = zone_tree_next(&iter)) != 0;) {
			dump_node(to, zone, zone_at(&zone->arena, ref));
		}
	}
	fprintf(to, "\n");
	fclose(to);
	return text;
}
