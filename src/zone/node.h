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
 * block is put into a message. So each pointer field is a placeholder, listed by its position in the fix-ups:
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

/** One RRset of a node. `*_off` are bytes from the start of the node; fix-ups are uint16_t, 2-byte aligned. */
typedef struct {
	uint16_t type;
	uint16_t flags;              /* ZONE_RRSET_* */
	uint16_t rr_count;           /* RRs in the body; saturates at 65535 for huge sets */
	uint16_t sig_count;          /* RRSIGs in the signature block */
	uint32_t ttl;                /* seconds, of the set (RFC 2181 5.2) */
	uint32_t body_off;
	uint32_t body_len;           /* bytes */
	uint32_t sigs_len;           /* bytes; the signature block follows the body */
	uint16_t body_fix_count;
	uint16_t sigs_fix_count;     /* their fix-ups follow the body's */
	uint32_t fix_off;
	uint16_t extra_count;        /* additional data, zone_extra_t[] at extra_off */
	uint16_t reserved;
	uint32_t extra_off;
} zone_rrset_t;

enum {
	ZONE_EXTRA_MANDATORY = 1 << 0,   /* in-domain glue of a referral: TC when it does not fit (RFC 9471) */
};

/** Additional data for one target name of an RRset's body: either a copied block or a link to the target's node. */
typedef struct {
	uint16_t type;               /* A or AAAA: copied block; 0: link, send what the node has of A and AAAA (and sigs) */
	uint16_t name_off;           /* bytes from the body's start to the target name in the body: the owner of what is sent */
	uint16_t flags;              /* ZONE_EXTRA_* */
	uint16_t rr_count;           /* RRs in the copied block */
	uint16_t len;                /* bytes of the copied block; its owners are BODY name_off */
	uint16_t fix_count;
	uint32_t off;                /* copied block: bytes from the node's start, fix-ups after it (2-aligned) */
	zone_link_t link;            /* when type == 0 */
} zone_extra_t;

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

static inline const zone_rrset_t *zone_node_rrsets(const zone_node_t *node)
{
	size_t off = (offsetof(zone_node_t, owner) + node->owner_len + 3) & ~(size_t)3;
	return (const zone_rrset_t *)((const uint8_t *)node + off);
}

/** The node's RRset of `type`, or NULL. Linear: nodes have few. Types are in ascending order. */
static inline const zone_rrset_t *zone_node_rrset(const zone_node_t *node, uint16_t type)
{
	const zone_rrset_t *sets = zone_node_rrsets(node);
	for (unsigned i = 0; i < node->rrset_count; i++) {
		if (sets[i].type == type) {
			return &sets[i];
		}
	}
	return NULL;
}

/** A block with its fix-ups: positions of the placeholders, ascending; the first is 0 (the first RR's owner). */
typedef struct {
	const uint8_t *bytes;
	const uint16_t *fixups;
	uint32_t len;
	uint16_t fixup_count;
	uint16_t rr_count;
} zone_block_t;

static inline zone_block_t zone_rrset_body(const zone_node_t *node, const zone_rrset_t *set)
{
	const uint8_t *base = (const uint8_t *)node;
	return (zone_block_t){ base + set->body_off, (const uint16_t *)(base + set->fix_off), set->body_len,
	                       set->body_fix_count, set->rr_count };
}

static inline zone_block_t zone_rrset_sigs(const zone_node_t *node, const zone_rrset_t *set)
{
	const uint8_t *base = (const uint8_t *)node;
	return (zone_block_t){ base + set->body_off + set->body_len,
	                       (const uint16_t *)(base + set->fix_off) + set->body_fix_count, set->sigs_len,
	                       set->sigs_fix_count, set->sig_count };
}

static inline const zone_extra_t *zone_rrset_extras(const zone_node_t *node, const zone_rrset_t *set)
{
	return (const zone_extra_t *)((const uint8_t *)node + set->extra_off);
}

static inline zone_block_t zone_extra_block(const zone_node_t *node, const zone_extra_t *extra)
{
	const uint8_t *base = (const uint8_t *)node + extra->off;
	return (zone_block_t){ base, (const uint16_t *)(base + ((extra->len + 1u) & ~1u)), extra->len,
	                       extra->fix_count, extra->rr_count };
}

/** Steps through the records of an RRset (or of its signatures) in expanded form. */
typedef struct {
	const zone_node_t *node;
	const zone_rrset_t *set;
	uint32_t pos;            /* bytes into the block */
	uint32_t fix;            /* next of the block's fix-ups */
	bool sigs;
} zone_rr_iter_t;

/** Start at the first record of the body, or of the signatures when `sigs`. */
zone_rr_iter_t zone_rr_begin(const zone_node_t *node, const zone_rrset_t *set, bool sigs);

/**
 * The next record's TTL and RDATA with all names expanded, into scratch; false at the end.
 * scratch.len >= KNOT_RDATA_MAX. ret_rdata borrows from scratch.
 */
bool zone_rr_next(zone_rr_iter_t *iter, knot_mut_bytes_t scratch, uint32_t *ret_ttl, knot_bytes_t *ret_rdata);
