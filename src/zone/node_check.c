/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The node is read from front to back as bytes. Nothing of node.h that follows a length is called before that length
 * was found to be within the node.
 */
#include "src/zone/node_check.h"

#include "libknot/rr/rdata.h"

enum { OWNER_PTR = 0xC000, CLASS_OFF = 4 };

enum { SEEN_CNAME = 1, SEEN_DNAME = 2, SEEN_NS = 4 };

/* What the parts of a node are checked against. */
typedef struct {
	const zone_node_t *node;
	const zone_arena_view_t *view;
	knot_name_t owner;
	bool is_wide;
	unsigned types_seen; /* SEEN_* */
} node_check_t;

/* Numbers of a node are in host byte order: `narrow` bytes, or twice as many. */
static uint32_t read_number(knot_reader_t *r, bool is_wide, size_t narrow)
{
	size_t len = is_wide ? 2 * narrow : narrow;
	const uint8_t *p = knot_read(r, len);
	if (p == NULL) {
		return 0;
	}
	return len == 1 ? *p : len == 2 ? zone_load_u16(p) : zone_load_u32(p);
}

static const char *fault_unless(bool is_right, const char *what)
{
	return is_right ? NULL : what;
}

/* ---- Blocks ---- */

/* Records of one type from the start of `bytes` to its end. Returns their number; 0: not so. covered: what each RRSIG
 * must cover; 0: not asked. */
static size_t count_records(knot_bytes_t bytes, uint16_t type, bool same_ttl, uint16_t covered)
{
	size_t count = 0;
	for (size_t at = 0; at < bytes.len; count++) {
		const uint8_t *rr = bytes.data + at;
		if (bytes.len - at < ZONE_RR_RDATA_OFF) {
			return 0;
		}
		size_t rdata_len = load_be16(rr + ZONE_RR_RDATA_LEN_OFF);
		if (load_be16(rr) != OWNER_PTR || load_be16(rr + ZONE_RR_TYPE_OFF) != type ||
				load_be16(rr + CLASS_OFF) != KNOT_CLASS_IN ||
				(same_ttl && load_be32(rr + ZONE_RR_TTL_OFF) !=
								load_be32(bytes.data + ZONE_RR_TTL_OFF)) ||
				rdata_len > bytes.len - at - ZONE_RR_RDATA_OFF) {
			return 0;
		}
		if (covered != 0 && (rdata_len < 2 || load_be16(rr + ZONE_RR_RDATA_OFF) != covered)) {
			return 0;
		}
		at += ZONE_RR_RDATA_OFF + rdata_len;
	}
	return count;
}

/* True if the name that begins `to` bytes into the owner is a suffix of it, and not the whole of a wildcard. */
static bool is_owner_suffix(const node_check_t *check, unsigned to)
{
	unsigned at = 0;
	while (at < to && check->owner.wire[at] != 0) {
		at += 1u + check->owner.wire[at];
	}
	return at == to && to + 1u < check->owner.len && !(to == 0 && knot_name_is_wildcard(check->owner));
}

/* Placeholders: ascending, each within the RDATA of one record, leading backwards. */
static const char *check_pointers(
		const node_check_t *check, knot_bytes_t body, const uint8_t *positions, size_t count, bool is_wide)
{
	size_t rr_end = 0, rdata_at = 0, last_end = 0;
	for (size_t i = 0; i < count; i++) {
		size_t at = is_wide ? zone_load_u16(positions + 2 * i) : positions[i];
		if (at < last_end || at + 2 > body.len) {
			return "placeholders overlap or lie outside of the body";
		}
		while (rr_end <= at) {
			rdata_at = rr_end + ZONE_RR_RDATA_OFF;
			rr_end = rdata_at + load_be16(body.data + rr_end + ZONE_RR_RDATA_LEN_OFF);
		}
		if (at < rdata_at || at + 2 > rr_end) {
			return "a placeholder lies outside of RDATA";
		}
		unsigned to = load_be16(body.data + at);
		if ((to & OWNER_PTR) != OWNER_PTR) {
			return "a placeholder's position names other bytes";
		}
		to &= ZONE_PTR_MSG_MAX;
		if (to & ZONE_PTR_BODY ? (to & ZONE_PTR_BODY_MAX) >= at : !is_owner_suffix(check, to)) {
			return "a placeholder leads to no name";
		}
		last_end = at + 2;
	}
	return NULL;
}

/* ---- An RRset ---- */

/* The body with its placeholders. */
static const char *check_body(
		const node_check_t *check, knot_reader_t *r, uint8_t flags, uint16_t type, knot_bytes_t *ret_body)
{
	bool is_wide = flags & ZONE_RRSET_WIDE;
	size_t count = read_number(r, is_wide, 1), len = read_number(r, is_wide, 2);
	*ret_body = (knot_bytes_t){ knot_read(r, len), len };
	if (r->failed || len == 0) {
		return "a body is empty or ends behind the RRset";
	}
	size_t found = count_records(*ret_body, type, type != KNOT_TYPE_RRSIG, 0);
	if (found == 0 || count != (found < UINT16_MAX ? found : UINT16_MAX)) {
		return "a body has other records than its head says";
	}
	if (flags & ZONE_RRSET_HUGE) {
		return fault_unless((flags & (ZONE_RRSET_WIDE | ZONE_RRSET_HAS_POINTERS)) == ZONE_RRSET_WIDE,
				"a huge RRset is narrow or has placeholders");
	}
	if (!(flags & ZONE_RRSET_HAS_POINTERS)) {
		return fault_unless(!(flags & ZONE_RRSET_WIDE_POINTERS), "wide positions of no placeholder");
	}
	bool wide_pointers = flags & ZONE_RRSET_WIDE_POINTERS;
	size_t pointers = read_number(r, is_wide, 1);
	const uint8_t *positions = knot_read(r, pointers << wide_pointers);
	if (r->failed || pointers == 0 || wide_pointers != (len > UINT8_MAX)) {
		return "placeholders are missing, or their positions have the wrong width";
	}
	return check_pointers(check, *ret_body, positions, pointers, wide_pointers);
}

static const char *check_sigs(knot_reader_t *r, bool is_wide, uint16_t type)
{
	size_t count = read_number(r, is_wide, 1), len = read_number(r, is_wide, 2);
	knot_bytes_t sigs = { knot_read(r, len), len };
	if (r->failed || len == 0) {
		return "signatures end behind the RRset";
	}
	size_t found = count_records(sigs, KNOT_TYPE_RRSIG, false, type);
	return fault_unless(found != 0 && count == (found < UINT16_MAX ? found : UINT16_MAX),
			"signatures cover something else, or are not as many as their head says");
}

static const char *check_links(knot_reader_t *r, bool is_wide, size_t body_len)
{
	size_t count = read_number(r, is_wide, 1);
	for (size_t i = 0; i < count; i++) {
		size_t name_off = read_number(r, false, 2);
		if (read_number(r, true, 2) == 0 || name_off < ZONE_RR_RDATA_OFF || name_off >= body_len) {
			return "a link to nothing, or for no name of the body";
		}
	}
	return fault_unless(count > 0 && !r->failed, "no links, or they end behind the RRset");
}

/* One RRset at the place of `r`, which moves behind it. */
static const char *check_rrset(const node_check_t *check, knot_reader_t *r, uint16_t type, knot_bytes_t *ret_body)
{
	enum { KNOWN_FLAGS = 2 * ZONE_RRSET_HAS_LINKS - 1 };
	uint8_t flags = knot_read_u8(r);
	if (flags & ~KNOWN_FLAGS) {
		return "an RRset has unknown flags";
	}
	const char *fault = check_body(check, r, flags, type, ret_body);
	if (fault == NULL && (flags & ZONE_RRSET_HAS_SIGS)) {
		fault = check_sigs(r, flags & ZONE_RRSET_WIDE, type);
	}
	if (fault == NULL && (flags & ZONE_RRSET_HAS_LINKS)) {
		fault = check_links(r, flags & ZONE_RRSET_WIDE, ret_body->len);
	}
	return fault;
}

/* The RRset, or the reference that stands for it, at the place of `r`. */
static const char *check_entry(
		const node_check_t *check, knot_reader_t *r, uint16_t type, bool is_shared, knot_bytes_t *ret_body)
{
	if (!is_shared) {
		return check_rrset(check, r, type, ret_body);
	}
	zone_ref_t ref = read_number(r, true, 2);
	if (r->failed || ref == 0) {
		return "a shared RRset is nowhere";
	}
	const zone_rrset_t *set = zone_at(check->view, ref);
	size_t len = zone_rrset_size(set);
	knot_reader_t shared = knot_reader_of((knot_bytes_t){ (const uint8_t *)set, len });
	return check_rrset(check, &shared, type, ret_body);
}

/* ---- The node ---- */

/* Copied addresses: `glue` begins behind the number of targets. ns: the body of the NS. */
static const char *check_glue(knot_reader_t *glue, size_t count, knot_bytes_t ns)
{
	for (size_t i = 0; i < count; i++) {
		size_t name_off = read_number(glue, false, 2);
		size_t a_len = knot_read_u8(glue) * (size_t)ZONE_A_RR_LEN;
		size_t aaaa_len = knot_read_u8(glue) * (size_t)ZONE_AAAA_RR_LEN;
		knot_bytes_t a = { knot_read(glue, a_len), a_len }, aaaa = { knot_read(glue, aaaa_len), aaaa_len };
		if (glue->failed || name_off < ZONE_RR_RDATA_OFF || name_off >= ns.len || a_len + aaaa_len == 0) {
			return "glue of nothing, or for no name server of the node";
		}
		if (count_records(a, KNOT_TYPE_A, true, 0) != a_len / ZONE_A_RR_LEN ||
				count_records(aaaa, KNOT_TYPE_AAAA, true, 0) != aaaa_len / ZONE_AAAA_RR_LEN) {
			return "glue has other records than addresses";
		}
	}
	return fault_unless(knot_reader_left(glue) == 0 && count > 0, "glue ends somewhere else");
}

static const char *check_head(const node_check_t *check, knot_reader_t *r)
{
	uint8_t lower[KNOT_NAME_MAX];
	const zone_node_t *node = check->node;
	knot_name_t name;
	knot_bytes_t rest = { node->owner, knot_reader_left(r) };
	if (knot_name_read(rest, &name) != KNOT_OK || name.len != node->owner_len ||
			name.label_count != node->owner_label_count) {
		return "the owner is not a name of the length that the head says";
	}
	knot_name_lower(name, lower);
	if (memcmp(lower, name.wire, name.len) != 0) {
		return "the owner is not in lower case";
	}
	if (!(node->flags & ZONE_NODE_WILDCARD) != !knot_name_is_wildcard(name)) {
		return "the flag of a wildcard is wrong";
	}
	unsigned matches = node->flags & (ZONE_NODE_NSEC3_IS_MATCH | ZONE_NODE_NSEC3_WILDCARD_IS_MATCH);
	if ((matches & ZONE_NODE_NSEC3_IS_MATCH && !(node->flags & ZONE_NODE_HAS_NSEC3)) ||
			(matches & ZONE_NODE_NSEC3_WILDCARD_IS_MATCH &&
					!(node->flags & ZONE_NODE_HAS_NSEC3_WILDCARD))) {
		return "the match of an NSEC3 that is not linked";
	}
	(void)knot_read(r, name.len);
	return fault_unless(!check->is_wide || node->rrset_count == 0, "a wide node counts its RRsets twice");
}

/* The links, behind the table: what is linked has a number. Nodes of the NSEC3 chain have prefixes in place of links.
 */
static const char *check_node_links(const zone_node_t *node, knot_reader_t *r)
{
	static const unsigned flags[] = { ZONE_NODE_HAS_SELF, ZONE_NODE_HAS_NSEC3, ZONE_NODE_HAS_NSEC3_WILDCARD };
	for (size_t i = 0; i < KNOT_LEN(flags); i++) {
		bool is_link = i == 0 || !(node->flags & ZONE_NODE_NSEC3);
		if ((node->flags & flags[i]) && read_number(r, true, 2) == 0 && is_link) {
			return "a link has no number";
		}
	}
	if ((node->flags & ZONE_NODE_HAS_NSEC3) && !(node->flags & ZONE_NODE_NSEC3_IS_MATCH)) {
		(void)read_number(r, true, 2);
	}
	if ((node->flags & ZONE_NODE_HAS_NSEC3_WILDCARD) && !(node->flags & ZONE_NODE_NSEC3_WILDCARD_IS_MATCH)) {
		(void)read_number(r, true, 2);
	}
	return fault_unless(!r->failed, "links end behind the node");
}

/* The RRsets stand in the order of the table, without gaps, up to the end of the node. table: its entries. */
static const char *check_rrsets(node_check_t *check, knot_reader_t table, size_t table_at, size_t count,
		knot_reader_t *r, knot_bytes_t *ret_ns)
{
	const uint32_t shared_bit = check->is_wide ? ZONE_WIDE_ENTRY_SHARED : ZONE_ENTRY_SHARED;
	unsigned last_type = 0;
	for (size_t i = 0; i < count; i++) {
		uint16_t type = (uint16_t)read_number(&table, false, 2);
		uint32_t place = read_number(&table, check->is_wide, 2);
		knot_bytes_t body;
		if (type <= last_type && i > 0) {
			return "types of RRsets don't ascend";
		}
		if (r->failed || (place & ~shared_bit) != r->pos - table_at) {
			return "an RRset is not where the table says";
		}
		const char *fault = check_entry(check, r, type, place & shared_bit, &body);
		if (fault != NULL) {
			return fault;
		}
		check->types_seen |= type == KNOT_TYPE_CNAME ? SEEN_CNAME : 0;
		check->types_seen |= type == KNOT_TYPE_DNAME ? SEEN_DNAME : 0;
		if (type == KNOT_TYPE_NS) {
			check->types_seen |= SEEN_NS;
			*ret_ns = body;
		}
		last_type = type;
	}
	return fault_unless(!r->failed && knot_reader_left(r) == 0, "the node does not end with its last RRset");
}

static const char *check_facts(const node_check_t *check)
{
	unsigned flags = check->node->flags, seen = check->types_seen;
	if (!(flags & ZONE_NODE_CNAME) != !(seen & SEEN_CNAME) || !(flags & ZONE_NODE_DNAME) != !(seen & SEEN_DNAME)) {
		return "flags of CNAME or DNAME are wrong";
	}
	return fault_unless(!(flags & ZONE_NODE_HAS_GLUE) || (seen & SEEN_NS), "glue of a node without NS");
}

/* Where the glue ends, which has no length: at the first RRset. A place that can't be is found later. */
static size_t end_of_glue(const node_check_t *check, const uint8_t *entries, size_t count, size_t table_at)
{
	if (count == 0) {
		return 0;
	}
	uint32_t place = check->is_wide ? zone_load_u32(entries + 2) & ~ZONE_WIDE_ENTRY_SHARED
					: zone_load_u16(entries + 2) & ~(uint32_t)ZONE_ENTRY_SHARED;
	return table_at + place;
}

/* What stands behind the owner. */
static const char *check_parts(node_check_t *check, knot_reader_t *r)
{
	const zone_node_t *node = check->node;
	bool has_glue = node->flags & ZONE_NODE_HAS_GLUE;
	size_t table_at = r->pos, entry_len = check->is_wide ? ZONE_WIDE_ENTRY_LEN : ZONE_ENTRY_LEN;
	size_t count = check->is_wide ? read_number(r, false, 2) : node->rrset_count;
	knot_bytes_t entries = { knot_read(r, count * entry_len), count * entry_len }, glue = { 0 }, ns = { 0 };
	const char *fault = r->failed ? "the table ends behind the node" : check_node_links(node, r);
	if (fault != NULL) {
		return fault;
	}
	size_t glue_count = has_glue ? read_number(r, false, 2) : 0;
	if (has_glue) {
		size_t end = end_of_glue(check, entries.data, count, table_at);
		glue.len = end > r->pos ? end - r->pos : 0;
		glue.data = knot_read(r, glue.len);
	}
	fault = check_rrsets(check, knot_reader_of(entries), table_at, count, r, &ns);
	fault = fault != NULL ? fault : check_facts(check);
	if (fault == NULL && has_glue) {
		knot_reader_t glue_reader = knot_reader_of(glue);
		fault = check_glue(&glue_reader, glue_count, ns);
	}
	return fault;
}

const char *zone_node_fault(const zone_arena_view_t *view, const zone_node_t *node, size_t size)
{
	knot_reader_t r = knot_reader_of((knot_bytes_t){ (const uint8_t *)node, size });
	if (knot_read(&r, offsetof(zone_node_t, owner)) == NULL) {
		return "the node is shorter than its head";
	}
	node_check_t check = { .node = node, .view = view, .is_wide = node->flags & ZONE_NODE_WIDE };
	const char *fault = check_head(&check, &r);
	check.owner = zone_node_owner(node);
	return fault != NULL ? fault : check_parts(&check, &r);
}
