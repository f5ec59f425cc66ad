/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A node of a compiled zone: one owner name, its RRsets as wire-form blocks ready to be copied into a message.
 *
 * Nodes live in a zone arena, are built by node_build.c, and never change once their version is published. This
 * header is the read side, used by lookup, by the answer engine and by whatever lists records. Byte layout and
 * reasons: doc/formats/zone-node.md. No allocation, no locks, any thread within an RCU read section.
 *
 * Blocks. A block is a run of whole RRs of one RRset: owner pointer (2 bytes), type, class, TTL, RDLENGTH, RDATA.
 * Names in it are already compressed, but the offsets that a compression pointer needs are known only when the
 * block is put into a message. So each pointer field is a placeholder; those in RDATA are listed by their positions:
 *
 *     11 0 00000 rrrrrrrr   OWNER-relative: the name that starts `r` bytes into the node's owner name
 *     11 1 xxxxx xxxxxxxx   BODY-relative: the name that starts `x` bytes after the start of the RRset's body block
 *
 * The owner of every RR is the placeholder OWNER 0. With P the message offset where the owner name stands:
 * r == 0 becomes P. r > 0 becomes the place of that suffix of the owner (for an owner that is a suffix of the
 * question's name: counted from the end of the question's name, which is also right for a wildcard's node, where
 * P is the question's name itself; RDATA names are never compressed against r == 0 of a wildcard owner).
 * RRSIG signer and NSEC next names are never compressed (RFC 4034 3.1.7, 4.1.1); RFC 3597 4 types only.
 * A body over 65535 bytes fits no message and is stored with all RDATA names spelled out, see ZONE_RRSET_HUGE.
 */
#pragma once

#include "libknot/name/name.h"

/** Arena reference in units of 8 bytes; 0 is none. See arena.h. */
typedef uint32_t zone_ref_t;

/** Stable number of a node that others refer to (see links in contents.h); 0 is none. */
typedef uint32_t zone_link_t;

enum {
	ZONE_PTR_BODY = 0x2000,      /* placeholder bit: BODY-relative */
	ZONE_PTR_BODY_MAX = 0x1FFF,  /* largest BODY-relative offset */
	ZONE_PTR_MSG_MAX = 0x3FFF,   /* largest offset that a compression pointer can name, RFC 1035 4.1.4 */
};

enum {
	ZONE_NODE_APEX = 1 << 0,
	ZONE_NODE_CUT = 1 << 1,          /* delegation point: NS, not the apex */
	ZONE_NODE_DNAME = 1 << 2,
	ZONE_NODE_CNAME = 1 << 3,
	ZONE_NODE_WILDCARD_CHILD = 1 << 4, /* "*.<owner>" exists */
	ZONE_NODE_WILDCARD = 1 << 5,     /* the owner's first label is "*" */
	ZONE_NODE_GLUE = 1 << 6,         /* below a cut: never authoritative; lives in the glue tree */
	ZONE_NODE_NSEC3 = 1 << 7,        /* in the NSEC3 tree: only NSEC3 and its RRSIGs */
	ZONE_NODE_CHILDREN = 1 << 8,     /* some authoritative name lies below */
};

enum {
	ZONE_RRSET_HUGE = 1 << 0,        /* body over 65535 bytes: fits no message; no fix-ups at all; list its RRs with zone_rr_next() */
};

/** One RRset of a node, read through the functions below. `*_off` are bytes from this struct; pointer positions are uint16_t. */
typedef struct {
	uint16_t type;
	uint16_t flags;              /* ZONE_RRSET_* */
	uint16_t rr_count;           /* RRs in the body; saturates at 65535 for huge sets */
	uint16_t sig_count;          /* RRSIGs in the signature block */
	uint32_t ttl;                /* seconds, of the set (RFC 2181 5.2) */
	uint32_t body_off;
	uint32_t body_len;           /* bytes */
	uint32_t sigs_len;           /* bytes; the signature block follows the body */
	uint16_t pointer_count;      /* placeholders in RDATA of the body */
	uint16_t reserved2;
	uint32_t pointer_off;
	uint16_t extra_count;        /* additional data, zone_extra_t[] at extra_off */
	uint16_t reserved;
	uint32_t extra_off;
} zone_rrset_t;

/** Additional data for one target name of an RRset's body as it is stored: either a copied block or a link. */
typedef struct {
	uint16_t type;
	uint16_t name_off;
	uint16_t rr_count;
	uint16_t len;                /* bytes of the copied block */
	uint32_t off;                /* copied block: bytes from the node's start */
	zone_link_t link;            /* when type == 0 */
} zone_extra_data_t;

typedef struct {
	uint16_t flags;              /* ZONE_NODE_* */
	uint16_t rrset_count;        /* 0: empty non-terminal */
	zone_link_t self;            /* own number when something links here, else 0 */
	zone_link_t nsec3;           /* NSEC3 zones: node whose NSEC3 matches the owner's hash, or covers it (opt-out) */
	zone_link_t nsec3_wildcard;  /* NSEC3 zones: node whose NSEC3 covers (or matches) the hash of "*.<owner>" */
	uint32_t size;               /* bytes of the whole node */
	bool nsec3_is_match;         /* `nsec3` matches, otherwise it covers */
	bool nsec3_wildcard_is_match;
	uint8_t owner_len;           /* 1–255 */
	uint8_t owner_label_count;
	uint8_t owner[];             /* wire form, lower case; then padding to 4, then zone_rrset_t[rrset_count] */
} zone_node_t;

static inline knot_name_t zone_node_owner(const zone_node_t *node)
{
	return (knot_name_t){ node->owner, node->owner_len, node->owner_label_count };
}

struct zone_arena_view;

/** Own number when something links to the node, else 0. */
static inline zone_link_t zone_node_self(const zone_node_t *node)
{
	return node->self;
}

/** NSEC3 zones: the node whose NSEC3 matches the owner's hash, or covers it (opt-out). */
static inline zone_link_t zone_node_nsec3(const zone_node_t *node)
{
	return node->nsec3;
}

static inline bool zone_node_nsec3_is_match(const zone_node_t *node)
{
	return node->nsec3_is_match;
}

/** The same for the hash of "*.<owner>"; 0 at cuts, where nothing is synthesized. */
static inline zone_link_t zone_node_nsec3_wildcard(const zone_node_t *node)
{
	return node->nsec3_wildcard;
}

static inline bool zone_node_nsec3_wildcard_is_match(const zone_node_t *node)
{
	return node->nsec3_wildcard_is_match;
}

/** RRsets of a node; 0: an empty non-terminal. */
static inline unsigned zone_node_rrset_count(const zone_node_t *node)
{
	return node->rrset_count;
}

/** The node's RRset number `i`; types are in ascending order. */
static inline const zone_rrset_t *zone_node_rrset_at(const struct zone_arena_view *arena, const zone_node_t *node, unsigned i)
{
	(void)arena;
	size_t off = (offsetof(zone_node_t, owner) + node->owner_len + 3) & ~(size_t)3;
	return (const zone_rrset_t *)((const uint8_t *)node + off) + i;
}

static inline uint16_t zone_rrset_type(const zone_rrset_t *set)
{
	return set->type;
}

/** Seconds, of the whole set: RFC 2181 5.2. */
static inline uint32_t zone_rrset_ttl(const zone_rrset_t *set)
{
	return set->ttl;
}

/** Records of the set; saturates at 65535 for huge sets. */
static inline uint16_t zone_rrset_rr_count(const zone_rrset_t *set)
{
	return set->rr_count;
}

/** Signatures that cover the set. */
static inline uint16_t zone_rrset_sig_count(const zone_rrset_t *set)
{
	return set->sig_count;
}

/** Body over 65535 bytes: fits no message; all RDATA names are spelled out. List its records with zone_rr_next(). */
static inline bool zone_rrset_is_huge(const zone_rrset_t *set)
{
	return set->flags & ZONE_RRSET_HUGE;
}

static inline bool zone_rrset_has_sigs(const zone_rrset_t *set)
{
	return set->sig_count > 0;
}

/** The node's RRset of `type`, or NULL. Linear: nodes have few. */
static inline const zone_rrset_t *zone_node_rrset(const struct zone_arena_view *arena, const zone_node_t *node, uint16_t type)
{
	for (unsigned i = 0; i < node->rrset_count; i++) {
		const zone_rrset_t *set = zone_node_rrset_at(arena, node, i);
		if (set->type == type) {
			return set;
		}
	}
	return NULL;
}

/**
 * A run of whole RRs. The owner of each is a placeholder (OWNER 0) that is not listed: an RR ends where its RDLENGTH says.
 * The placeholders in RDATA are listed, ascending: zone_block_pointer().
 */
typedef struct {
	const uint8_t *bytes;
	const uint8_t *pointers;     /* positions as they are stored; not aligned */
	uint32_t len;
	uint16_t rr_count;
	uint16_t pointer_count;
} zone_block_t;

/** Where placeholder `i` in RDATA stands: bytes from the block's start. */
static inline uint32_t zone_block_pointer(const zone_block_t *block, unsigned i)
{
	uint16_t pos;
	memcpy(&pos, block->pointers + 2 * (size_t)i, sizeof(pos));
	return pos;
}

static inline zone_block_t zone_rrset_body(const zone_rrset_t *set)
{
	const uint8_t *base = (const uint8_t *)set;
	return (zone_block_t){ base + set->body_off, base + set->pointer_off, set->body_len, set->rr_count, set->pointer_count };
}

/** The signatures as a block: their RDATA holds no pointers (RFC 4034 3.1.7). */
static inline zone_block_t zone_rrset_sigs(const zone_rrset_t *set)
{
	const uint8_t *base = (const uint8_t *)set;
	return (zone_block_t){ base + set->body_off + set->body_len, NULL, set->sigs_len, set->sig_count, 0 };
}

/**
 * Additional data for one target name of an RRset's body: either copied addresses, which are in-domain glue of a referral
 * and mandatory (TC when they don't fit, RFC 9471), or a link to the target's node.
 */
typedef struct {
	uint16_t type;               /* A or AAAA: copied block; 0: link, send what the node has of A and AAAA (and sigs) */
	uint16_t name_off;           /* bytes from the body's start to the target name in the body: the owner of what is sent */
	zone_link_t link;            /* when type == 0 */
	zone_block_t block;          /* when type != 0; the owners are the name at name_off */
} zone_extra_t;

/** Steps through the additional data of an RRset: copied blocks first. */
typedef struct {
	const zone_node_t *node;
	const zone_extra_data_t *next;
	unsigned left;
} zone_extra_iter_t;

static inline bool zone_rrset_has_extras(const zone_node_t *node, const zone_rrset_t *set)
{
	(void)node;
	return set->extra_count > 0;
}

static inline zone_extra_iter_t zone_extras_begin(const zone_node_t *node, const zone_rrset_t *set)
{
	return (zone_extra_iter_t){ node, (const zone_extra_data_t *)((const uint8_t *)set + set->extra_off), set->extra_count };
}

/** The next one; false at the end. */
static inline bool zone_extras_next(zone_extra_iter_t *iter, zone_extra_t *ret_extra)
{
	if (iter->left == 0) {
		return false;
	}
	const zone_extra_data_t *data = iter->next++;
	iter->left--;
	*ret_extra = (zone_extra_t){ .type = data->type, .name_off = data->name_off, .link = data->link,
	                             .block = { (const uint8_t *)iter->node + data->off, NULL, data->len, data->rr_count, 0 } };
	return true;
}

/** Steps through the records of an RRset (or of its signatures) in expanded form. */
typedef struct {
	const zone_node_t *node;
	const zone_rrset_t *set;
	uint32_t pos;            /* bytes into the block */
	uint32_t pointer;        /* next of the block's placeholders */
	bool sigs;
} zone_rr_iter_t;

/** Start at the first record of the body, or of the signatures when `sigs`. */
zone_rr_iter_t zone_rr_begin(const zone_node_t *node, const zone_rrset_t *set, bool sigs);

/**
 * The next record's TTL and RDATA with all names expanded, into scratch; false at the end.
 * scratch.len >= KNOT_RDATA_MAX. ret_rdata borrows from scratch.
 */
bool zone_rr_next(zone_rr_iter_t *iter, knot_mut_bytes_t scratch, uint32_t *ret_ttl, knot_bytes_t *ret_rdata);
