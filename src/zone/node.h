/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A node of a compiled zone: one owner name, its RRsets as wire-form blocks ready to be copied into a message.
 *
 * Nodes live in a zone arena, are built by node_build.c, and never change once their version is published. This header
 * is the read side, used by lookup, by the answer engine and by code that lists records. Byte layout and reasons:
 * doc/formats/zone-node.md. No allocation, no locks, any thread within an RCU read section.
 *
 * Blocks. A block is a run of whole RRs of one RRset: owner pointer (2 bytes), type, class, TTL, RDLENGTH, RDATA.
 * Names in it are already compressed, but the offsets that a compression pointer needs are known only when the
 * block is put into a message. So each pointer field is a placeholder; those in RDATA are listed by their positions:
 *
 *     11 0 00000 rrrrrrrr   OWNER-relative: the name that starts `r` bytes into the node's owner name
 *     11 1 xxxxx xxxxxxxx   BODY-relative: the name that starts `x` bytes after the start of the RRset's body block
 *
 * The owner of every RR is the placeholder OWNER 0. With P the message offset where the owner name stands: r == 0
 * becomes P. r > 0 becomes the place of that suffix of the owner (for an owner that is a suffix of QNAME: counted from
 * the end of QNAME. This is also right for a wildcard's node, where P is QNAME itself: RDATA names are never
 * compressed against r == 0 of a wildcard owner). RRSIG signer and NSEC next names are never compressed (RFC 4034
 * 3.1.7, 4.1.1); RFC 3597 4 types only. A body over 65535 bytes fits no message and is stored with all RDATA names
 * spelled out, see ZONE_RRSET_HUGE.
 */
#pragma once

#include "libknot/name/name.h"
#include "src/zone/ref.h"

/** Stable number of a node that others refer to (see links in contents.h); 0 is none. */
typedef uint32_t zone_link_t;

enum {
	ZONE_PTR_BODY = 0x2000,     /* placeholder bit: BODY-relative */
	ZONE_PTR_BODY_MAX = 0x1FFF, /* largest BODY-relative offset */
	ZONE_PTR_MSG_MAX = 0x3FFF,  /* largest offset that a compression pointer can name, RFC 1035 4.1.4 */
};

enum {
	ZONE_NODE_APEX = 1 << 0,
	ZONE_NODE_CUT = 1 << 1, /* delegation point: NS, not the apex */
	ZONE_NODE_DNAME = 1 << 2,
	ZONE_NODE_CNAME = 1 << 3,
	ZONE_NODE_WILDCARD_CHILD = 1 << 4, /* "*.<owner>" exists */
	ZONE_NODE_WILDCARD = 1 << 5,       /* the owner's first label is "*" */
	ZONE_NODE_GLUE = 1 << 6,           /* below a cut: never authoritative; lives in the glue tree */
	ZONE_NODE_NSEC3 = 1 << 7,          /* in the NSEC3 tree: only NSEC3 and its RRSIGs */
	ZONE_NODE_CHILDREN = 1 << 8,       /* some authoritative name lies below */
	ZONE_NODE_FACTS = (1 << 9) - 1,    /* of the name; the flags from here on are about the layout of the node */
	ZONE_NODE_HAS_SELF = 1 << 9,
	ZONE_NODE_HAS_NSEC3 = 1 << 10,
	ZONE_NODE_HAS_NSEC3_WILDCARD = 1 << 11,
	ZONE_NODE_NSEC3_IS_MATCH = 1 << 12,
	ZONE_NODE_NSEC3_WILDCARD_IS_MATCH = 1 << 13,
	ZONE_NODE_HAS_GLUE = 1 << 14, /* copied addresses of the targets of its NS */
	ZONE_NODE_WIDE = 1 << 15,     /* large numbers in the table of RRsets */
};

/* Layout: doc/formats/zone-node.md. Behind the owner nothing is aligned. */
typedef struct {
	uint16_t flags;    /* ZONE_NODE_* */
	uint8_t owner_len; /* 1–255 */
	uint8_t owner_label_count;
	uint8_t rrset_count; /* read by zone_node_rrset_count() */
	uint8_t owner[];     /* wire form, lower case */
} zone_node_t;

enum {
	ZONE_RRSET_WIDE = 1 << 0, /* lengths of 32 bits, counts of 16 */
	ZONE_RRSET_HUGE = 1 << 1,
	ZONE_RRSET_HAS_POINTERS = 1 << 2,
	ZONE_RRSET_WIDE_POINTERS = 1 << 3, /* positions of 16 bits */
	ZONE_RRSET_HAS_SIGS = 1 << 4,
	ZONE_RRSET_HAS_LINKS = 1 << 5,
};

/** One RRset of a node, perhaps shared by several nodes: read through the functions below. */
typedef struct {
	uint8_t flags; /* ZONE_RRSET_* */
	uint8_t bytes[];
} zone_rrset_t;

static inline uint16_t zone_load_u16(const uint8_t *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t zone_load_u32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

/* ---- The node ---- */

static inline knot_name_t zone_node_owner(const zone_node_t *node)
{
	return (knot_name_t){ node->owner, node->owner_len, node->owner_label_count };
}

/* ---- Its RRsets ---- */

enum {
	ZONE_ENTRY_LEN = 4,         /* type and place, 16 bits each */
	ZONE_ENTRY_SHARED = 0x8000, /* the place holds a reference to the RRset */
	ZONE_WIDE_ENTRY_LEN = 6,    /* place of 32 bits; the table begins with a count of 16 bits */
	ZONE_WIDE_TABLE_HEAD = 2,
};
#define ZONE_WIDE_ENTRY_SHARED 0x80000000u

/* The table of RRsets; places count from here. */
static inline const uint8_t *zone_node_table(const zone_node_t *node)
{
	return node->owner + node->owner_len;
}

static inline bool zone_node_is_wide(const zone_node_t *node)
{
	return __builtin_expect((node->flags & ZONE_NODE_WIDE) != 0, false);
}

/** RRsets of a node; 0: an empty non-terminal. */
static inline unsigned zone_node_rrset_count(const zone_node_t *node)
{
	return zone_node_is_wide(node) ? zone_load_u16(zone_node_table(node)) : node->rrset_count;
}

/* zone_node_rrset_at() and zone_node_rrset() for nodes with wide tables. */
const zone_rrset_t *zone_wide_rrset_at(const zone_arena_view_t *arena, const zone_node_t *node, unsigned i);
const zone_rrset_t *zone_wide_rrset(const zone_arena_view_t *arena, const zone_node_t *node, uint16_t type);

static inline const zone_rrset_t *zone_entry_rrset(const zone_arena_view_t *arena, const uint8_t *table, unsigned place)
{
	const uint8_t *p = table + (place & ~(unsigned)ZONE_ENTRY_SHARED);
	return place & ZONE_ENTRY_SHARED ? zone_at(arena, zone_load_u32(p)) : (const zone_rrset_t *)p;
}

/** The node's RRset number `i`; types are in ascending order. */
static inline const zone_rrset_t *zone_node_rrset_at(
		const zone_arena_view_t *arena, const zone_node_t *node, unsigned i)
{
	if (zone_node_is_wide(node)) {
		return zone_wide_rrset_at(arena, node, i);
	}
	const uint8_t *table = zone_node_table(node);
	return zone_entry_rrset(arena, table, zone_load_u16(table + (size_t)i * ZONE_ENTRY_LEN + 2));
}

/** The node's RRset of `type`, or NULL. Linear: nodes have few. */
static inline const zone_rrset_t *zone_node_rrset(
		const zone_arena_view_t *arena, const zone_node_t *node, uint16_t type)
{
	if (zone_node_is_wide(node)) {
		return zone_wide_rrset(arena, node, type);
	}
	const uint8_t *table = zone_node_table(node);
	const uint8_t *end = table + (size_t)node->rrset_count * ZONE_ENTRY_LEN;
	for (const uint8_t *entry = table; entry < end; entry += ZONE_ENTRY_LEN) {
		if (zone_load_u16(entry) == type) {
			return zone_entry_rrset(arena, table, zone_load_u16(entry + 2));
		}
	}
	return NULL;
}

/**
 * Prefetch the RRsets that the node, which is in the cache, shares with others: they lie elsewhere. Always inlined:
 * gcc finds that a function which only prefetches does nothing, and drops calls of it.
 */
static inline __attribute__((always_inline)) void zone_node_prefetch_shared(
		const zone_arena_view_t *arena, const zone_node_t *node)
{
	const uint8_t *table = zone_node_table(node);
	for (unsigned i = 0; !zone_node_is_wide(node) && i < node->rrset_count; i++) {
		unsigned place = zone_load_u16(table + (size_t)i * ZONE_ENTRY_LEN + 2);
		if (place & ZONE_ENTRY_SHARED) {
			const uint8_t *set = (const uint8_t *)zone_entry_rrset(arena, table, place);
			__builtin_prefetch(set);
			__builtin_prefetch(set + 64);
		}
	}
}

/* ---- Its links ---- */

/* Behind the table, in the order of their flags, then the prefixes of hashes that are covered. */
static inline const uint8_t *zone_node_links(const zone_node_t *node)
{
	const uint8_t *table = zone_node_table(node);
	return zone_node_is_wide(node)
			       ? table + ZONE_WIDE_TABLE_HEAD + (size_t)zone_load_u16(table) * ZONE_WIDE_ENTRY_LEN
			       : table + (size_t)node->rrset_count * ZONE_ENTRY_LEN;
}

enum { ZONE_NODE_LINKS_MAX = 5 }; /* links and prefixes of a node */

/* Bytes of links and prefixes: 4 for HAS_SELF, 4 or 8 for each NSEC3, depending on whether it matches or covers. */
static inline size_t zone_node_links_len(const zone_node_t *node)
{
	/* By the five flags from HAS_SELF on. */
	static const uint8_t lens[32] = { 0, 4, 8, 12, 8, 12, 16, 20, 0, 4, 4, 8, 8, 12, 12, 16, 0, 4, 8, 12, 4, 8, 12,
		16, 0, 4, 4, 8, 4, 8, 8, 12 };
	return lens[node->flags / ZONE_NODE_HAS_SELF & 31];
}

static inline zone_link_t zone_node_link(const zone_node_t *node, unsigned flag)
{
	unsigned before = node->flags & (flag - 1);
	const uint8_t *p = zone_node_links(node);
	p += before & ZONE_NODE_HAS_SELF ? sizeof(zone_link_t) : 0;
	p += before & ZONE_NODE_HAS_NSEC3 ? sizeof(zone_link_t) : 0;
	return node->flags & flag ? zone_load_u32(p) : 0;
}

/** Own number when something links to the node, else 0. */
static inline zone_link_t zone_node_self(const zone_node_t *node)
{
	return zone_node_link(node, ZONE_NODE_HAS_SELF);
}

/**
 * NSEC3 zones: what is known of the hash of the owner, or of "*.<owner>".
 *
 * A link names the node whose NSEC3 matches the hash, or covers it. A number is never given to another owner, so a link
 * that matches is right as long as the node is there. A link that covers was right when the node was made; the chain
 * may have changed since, so the first 32 bits of the hash are kept to see that from the interval of the NSEC3
 * (zone_nsec3_covers()). What isn't right any more is searched by its hash.
 */
typedef struct {
	zone_link_t link; /* 0: nothing is known */
	bool is_match;
	uint32_t prefix; /* if it doesn't match */
} zone_nsec3_hint_t;

/** The hint for the owner's own hash. */
static inline zone_nsec3_hint_t zone_node_nsec3(const zone_node_t *node)
{
	const uint8_t *p = zone_node_links(node) + (node->flags & ZONE_NODE_HAS_SELF ? sizeof(zone_link_t) : 0);
	zone_nsec3_hint_t hint = { .is_match = node->flags & ZONE_NODE_NSEC3_IS_MATCH };
	if (node->flags & ZONE_NODE_HAS_NSEC3) {
		hint.link = zone_load_u32(p);
		if (!hint.is_match) {
			p += node->flags & ZONE_NODE_HAS_NSEC3_WILDCARD ? 2 * sizeof(zone_link_t) : sizeof(zone_link_t);
			hint.prefix = zone_load_u32(p);
		}
	}
	return hint;
}

/** The hint for the hash of "*.<owner>"; none at cuts, where nothing is synthesized. */
static inline zone_nsec3_hint_t zone_node_nsec3_wildcard(const zone_node_t *node)
{
	zone_nsec3_hint_t hint = { .link = zone_node_link(node, ZONE_NODE_HAS_NSEC3_WILDCARD),
		.is_match = node->flags & ZONE_NODE_NSEC3_WILDCARD_IS_MATCH };
	if (hint.link != 0 && !hint.is_match) {
		hint.prefix = zone_load_u32(zone_node_links(node) + zone_node_links_len(node) - sizeof(hint.prefix));
	}
	return hint;
}

/**
 * True if the NSEC3 of a node of the chain covers each hash that begins with these 32 bits. False: it doesn't, or the
 * bits don't show it. Nodes of the chain keep the prefixes of their own and of the next hash in the place of hints.
 */
static inline bool zone_nsec3_covers(const zone_node_t *nsec3, uint32_t prefix)
{
	const uint8_t *p = zone_node_links(nsec3) + (nsec3->flags & ZONE_NODE_HAS_SELF ? sizeof(zone_link_t) : 0);
	uint32_t own = zone_load_u32(p), next = zone_load_u32(p + sizeof(own));
	return prefix - own - 1 < next - own - 1; /* modulo 2^32: the last one covers the ends of the ring */
}

/* ---- Blocks ---- */

/**
 * A run of whole RRs. The owner of each is a placeholder (OWNER 0) that is not listed: an RR ends where its RDLENGTH
 * says. The placeholders in RDATA are listed, ascending: zone_block_pointer().
 */
typedef struct {
	const uint8_t *bytes;
	const uint8_t *pointers; /* positions as they are stored */
	uint32_t len;
	uint16_t rr_count;
	uint16_t pointer_count;
	bool wide_pointers;
} zone_block_t;

/** Where placeholder `i` in RDATA stands: bytes from the block's start. */
static inline uint32_t zone_block_pointer(const zone_block_t *block, unsigned i)
{
	return block->wide_pointers ? zone_load_u16(block->pointers + 2 * (size_t)i) : block->pointers[i];
}

enum {
	/* In the records of a block: pointer to the owner, type, class, TTL, RDLENGTH, RDATA. */
	ZONE_RR_TYPE_OFF = 2,
	ZONE_RR_TTL_OFF = 6,
	ZONE_RR_RDATA_LEN_OFF = 10,
	ZONE_RR_RDATA_OFF = 12,
	ZONE_RRSET_BODY_OFF = 3,
	ZONE_RRSET_WIDE_BODY_OFF = 6, /* in bytes[] */
};

static inline bool zone_rrset_is_wide(const zone_rrset_t *set)
{
	return __builtin_expect((set->flags & ZONE_RRSET_WIDE) != 0, false);
}

static inline const uint8_t *zone_rrset_first_rr(const zone_rrset_t *set)
{
	return set->bytes + (zone_rrset_is_wide(set) ? ZONE_RRSET_WIDE_BODY_OFF : ZONE_RRSET_BODY_OFF);
}

static inline uint16_t zone_rrset_type(const zone_rrset_t *set)
{
	return load_be16(zone_rrset_first_rr(set) + ZONE_RR_TYPE_OFF);
}

/** Seconds, of the whole set: RFC 2181 5.2. */
static inline uint32_t zone_rrset_ttl(const zone_rrset_t *set)
{
	return load_be32(zone_rrset_first_rr(set) + ZONE_RR_TTL_OFF);
}

/** Records of the set; saturates at 65535 for huge sets. */
static inline uint16_t zone_rrset_rr_count(const zone_rrset_t *set)
{
	return zone_rrset_is_wide(set) ? zone_load_u16(set->bytes) : set->bytes[0];
}

/** Body over 65535 bytes: fits no message; all RDATA names are spelled out. List its records with zone_rr_next(). */
static inline bool zone_rrset_is_huge(const zone_rrset_t *set)
{
	return set->flags & ZONE_RRSET_HUGE;
}

static inline bool zone_rrset_has_sigs(const zone_rrset_t *set)
{
	return set->flags & ZONE_RRSET_HAS_SIGS;
}

/* zone_rrset_body() of a wide set. */
zone_block_t zone_wide_body(const zone_rrset_t *set);

static inline zone_block_t zone_rrset_body(const zone_rrset_t *set)
{
	if (zone_rrset_is_wide(set)) {
		return zone_wide_body(set);
	}
	zone_block_t block = { .bytes = set->bytes + ZONE_RRSET_BODY_OFF,
		.rr_count = set->bytes[0],
		.len = zone_load_u16(set->bytes + 1) };
	if (set->flags & ZONE_RRSET_HAS_POINTERS) {
		block.pointers = block.bytes + block.len + 1;
		block.pointer_count = block.pointers[-1];
		block.wide_pointers = set->flags & ZONE_RRSET_WIDE_POINTERS;
	}
	return block;
}

/* What follows the body's pointers: signatures or links. */
static inline const uint8_t *zone_rrset_behind_pointers(const zone_rrset_t *set)
{
	zone_block_t body = zone_rrset_body(set);
	return set->flags & ZONE_RRSET_HAS_POINTERS ? body.pointers + ((size_t)body.pointer_count << body.wide_pointers)
						    : body.bytes + body.len;
}

/** The signatures that cover the set as a block: their RDATA holds no pointers (RFC 4034 3.1.7). */
static inline zone_block_t zone_rrset_sigs(const zone_rrset_t *set)
{
	if (!(set->flags & ZONE_RRSET_HAS_SIGS)) {
		return (zone_block_t){ .bytes = set->bytes };
	}
	const uint8_t *p = zone_rrset_behind_pointers(set);
	if (set->flags & ZONE_RRSET_WIDE) {
		return (zone_block_t){ .bytes = p + 6, .len = zone_load_u32(p + 2), .rr_count = zone_load_u16(p) };
	}
	return (zone_block_t){ .bytes = p + 3, .len = zone_load_u16(p + 1), .rr_count = *p };
}

/* ---- Additional data ---- */

/**
 * Additional data for one target name of an RRset's body: either copied addresses, which are in-domain glue of a
 * referral and mandatory (TC when they don't fit, RFC 9471), or a link to the target's node.
 */
typedef struct {
	uint16_t type;      /* A or AAAA: copied block; 0: link, send what the node has of A and AAAA (and sigs) */
	uint16_t name_off;  /* bytes from the body's start to the target name in the body: the owner of what is sent */
	zone_link_t link;   /* when type == 0 */
	zone_block_t block; /* when type != 0; the owners are the name at name_off */
} zone_extra_t;

enum {
	ZONE_GLUE_ENTRY_LEN = 4, /* u16 name_off, u8 number of A, u8 number of AAAA; the records follow */
	ZONE_LINK_ENTRY_LEN = 6, /* u16 name_off, u32 link */
	ZONE_A_RR_LEN = 12 + 4,
	ZONE_AAAA_RR_LEN = 12 + 16,
};

/** Steps through the additional data of an RRset: copied blocks first. */
typedef struct {
	const uint8_t *glue, *links; /* the next of each */
	uint16_t glue_left, links_left;
	uint16_t name_off; /* of the target whose AAAA come next */
	uint8_t aaaa_count;
} zone_extra_iter_t;

/* The glue of the node's NS: the number of targets, and where they begin. */
static inline const uint8_t *zone_node_glue(const zone_node_t *node, uint16_t *ret_count)
{
	const uint8_t *p = zone_node_links(node) + zone_node_links_len(node);
	*ret_count = zone_load_u16(p);
	return p + 2;
}

/* Type NS is 2 (RFC 1035 3.2.2). */
static inline bool zone_node_glue_is_of(const zone_node_t *node, const zone_rrset_t *set)
{
	return (node->flags & ZONE_NODE_HAS_GLUE) && zone_rrset_type(set) == 2;
}

static inline bool zone_rrset_has_extras(const zone_node_t *node, const zone_rrset_t *set)
{
	return (set->flags & ZONE_RRSET_HAS_LINKS) || zone_node_glue_is_of(node, set);
}

static inline zone_extra_iter_t zone_extras_begin(const zone_node_t *node, const zone_rrset_t *set)
{
	zone_extra_iter_t iter = { .glue = NULL };
	if (zone_node_glue_is_of(node, set)) {
		iter.glue = zone_node_glue(node, &iter.glue_left);
	}
	if (set->flags & ZONE_RRSET_HAS_LINKS) {
		zone_block_t sigs = zone_rrset_sigs(set);
		const uint8_t *p = set->flags & ZONE_RRSET_HAS_SIGS ? sigs.bytes + sigs.len
								    : zone_rrset_behind_pointers(set);
		bool is_wide = set->flags & ZONE_RRSET_WIDE;
		iter.links_left = is_wide ? zone_load_u16(p) : *p;
		iter.links = p + 1 + is_wide;
	}
	return iter;
}

static inline void zone_extra_take(
		zone_extra_iter_t *iter, uint16_t type, uint32_t rr_len, uint16_t count, zone_extra_t *ret_extra)
{
	*ret_extra = (zone_extra_t){ .type = type,
		.name_off = iter->name_off,
		.block = { .bytes = iter->glue, .len = rr_len * count, .rr_count = count } };
	iter->glue += ret_extra->block.len;
}

/** The next one; false at the end. */
static inline bool zone_extras_next(zone_extra_iter_t *iter, zone_extra_t *ret_extra)
{
	enum { TYPE_A = 1, TYPE_AAAA = 28 };
	if (iter->aaaa_count == 0 && iter->glue_left > 0) {
		uint8_t a_count = iter->glue[2];
		iter->glue_left--;
		iter->name_off = zone_load_u16(iter->glue);
		iter->aaaa_count = iter->glue[3];
		iter->glue += ZONE_GLUE_ENTRY_LEN;
		if (a_count > 0) {
			zone_extra_take(iter, TYPE_A, ZONE_A_RR_LEN, a_count, ret_extra);
			return true;
		}
	}
	if (iter->aaaa_count > 0) {
		zone_extra_take(iter, TYPE_AAAA, ZONE_AAAA_RR_LEN, iter->aaaa_count, ret_extra);
		iter->aaaa_count = 0;
		return true;
	}
	if (iter->links_left == 0) {
		return false;
	}
	*ret_extra = (zone_extra_t){ .name_off = zone_load_u16(iter->links), .link = zone_load_u32(iter->links + 2) };
	iter->links += ZONE_LINK_ENTRY_LEN;
	iter->links_left--;
	return true;
}

/* ---- Listing ---- */

/** Steps through the records of an RRset (or of its signatures) in expanded form. */
typedef struct {
	const zone_node_t *node;
	const zone_rrset_t *set;
	uint32_t pos;     /* bytes into the block */
	uint32_t pointer; /* next of the block's placeholders */
	bool sigs;
} zone_rr_iter_t;

/** Start at the first record of the body, or of the signatures when `sigs`. */
zone_rr_iter_t zone_rr_begin(const zone_node_t *node, const zone_rrset_t *set, bool sigs);

/**
 * The next record's TTL and RDATA with all names expanded, into scratch; false at the end.
 * scratch.len >= KNOT_RDATA_MAX. ret_rdata borrows from scratch.
 */
bool zone_rr_next(zone_rr_iter_t *iter, knot_mut_bytes_t scratch, uint32_t *ret_ttl, knot_bytes_t *ret_rdata);

/** The reference that the node has instead of its own RRset number `i`, or 0. */
zone_ref_t zone_node_shared_ref(const zone_node_t *node, unsigned i);

/** Bytes of a node and of an RRset as they are stored. Cost: steps over the parts. */
size_t zone_node_size(const zone_node_t *node);
size_t zone_rrset_size(const zone_rrset_t *set);
