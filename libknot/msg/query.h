/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A DNS request, parsed once without copying. Strict bounds; every later stage reads this struct.
 *
 * Covers header, question and the OPT record (RFC 6891), and where the rest starts. RFC 1035 4.1, RFC 9619
 * (QDCOUNT), RFC 6891 6.1.1 (one OPT, owner root), RFC 8945 5.1 (TSIG last).
 */
#pragma once

#include "libknot/msg/rcode.h"
#include "libknot/name/name.h"
#include "libknot/rr/rrtype.h"

enum {
	KNOT_MSG_HEADER_LEN = 12,
	KNOT_MSG_MAX = 65535,
	KNOT_MSG_QNAME_OFF = 12, /* the question's name: what 0xC00C points to */
};

/** Header flag bits as in bytes 2–3 of the header. */
enum {
	KNOT_FLAG_QR = 0x8000,
	KNOT_FLAG_AA = 0x0400,
	KNOT_FLAG_TC = 0x0200,
	KNOT_FLAG_RD = 0x0100,
	KNOT_FLAG_RA = 0x0080,
	KNOT_FLAG_AD = 0x0020,
	KNOT_FLAG_CD = 0x0010,
	KNOT_OPCODE_MASK = 0x7800,
	KNOT_RCODE_MASK = 0x000F,
};

typedef enum {
	KNOT_OPCODE_QUERY = 0,
	KNOT_OPCODE_IQUERY = 1,
	KNOT_OPCODE_STATUS = 2,
	KNOT_OPCODE_NOTIFY = 4,
	KNOT_OPCODE_UPDATE = 5,
} knot_opcode_t;

typedef enum {
	KNOT_MSG_OK,      /* answer it */
	KNOT_MSG_DROP,    /* no answer: shorter than a header, or QR set */
	KNOT_MSG_FORMERR, /* answer FORMERR; `id`, `flags` are set, and the question if `question_len` > 0 */
} knot_msg_verdict_t;

typedef struct {
	bool present;
	bool dnssec_ok; /* DO */
	uint8_t version;
	uint8_t ext_rcode;
	uint16_t udp_payload; /* requestor's size as sent; values below 512 mean 512 (RFC 6891 6.2.3) */
	uint16_t flags;       /* the 16 flag bits */
	uint32_t option_bits; /* bit n: option code n is there (0–30); bit 31: any other code */
	knot_bytes_t options; /* OPT RDATA, each option's bounds already checked */
} knot_edns_t;

typedef struct {
	knot_bytes_t wire; /* the whole message, borrowed */
	uint16_t id;
	uint16_t flags; /* KNOT_FLAG_*, opcode and rcode bits */
	uint16_t qdcount, ancount, nscount, arcount;
	knot_opcode_t opcode;
	knot_name_t qname; /* view into wire; never compressed */
	uint16_t qtype;
	uint16_t question_len; /* bytes of the question section, 0 when there is none */
	union {
		struct {
			uint16_t qclass;
			uint16_t has_tsig; /* 1: the last record is a TSIG; else 0 */
		};
		uint32_t class_and_tsig; /* both: see knot_query_is_unsigned_in() */
	};
	uint16_t additional_off; /* where what follows the question starts */
	knot_edns_t edns;
	/* qname with letters in lower case, for compares. Last: what is read of a query lies together. */
	uint8_t qname_lower[KNOT_NAME_MAX];
} knot_query_t;

/** Class IN and no TSIG, as nearly all queries: one compare. */
static inline bool knot_query_is_unsigned_in(const knot_query_t *query)
{
	static const knot_query_t usual = { .qclass = 1 /* KNOT_CLASS_IN */, .has_tsig = 0 };
	return query->class_and_tsig == usual.class_and_tsig;
}

/** Parse a request. ret_query is set as far as the verdict says. Never reads past wire, never allocates. */
KNOT_EXPORT knot_msg_verdict_t knot_query_parse(knot_bytes_t wire, knot_query_t *ret_query);

typedef struct {
	uint16_t code;
	knot_bytes_t data;
} knot_edns_option_t;

/** Step through checked options: start with *pos = 0; false at the end. */
KNOT_EXPORT bool knot_edns_next(knot_bytes_t options, size_t *pos, knot_edns_option_t *ret_option);

enum {
	KNOT_EDNS_NSID = 3,
	KNOT_EDNS_SUBNET = 8,
	KNOT_EDNS_EXPIRE = 9,
	KNOT_EDNS_COOKIE = 10,
	KNOT_EDNS_KEEPALIVE = 11,
	KNOT_EDNS_PADDING = 12,
	KNOT_EDNS_EDE = 15,
	KNOT_EDNS_REPORT_CHANNEL = 18,
	KNOT_EDNS_ZONEVERSION = 19,
};

/** Extended DNS errors that we send (RFC 8914 4, as Knot). */
enum { KNOT_EDE_NONE = 0xFFFF, KNOT_EDE_NOT_READY = 14, KNOT_EDE_NOT_AUTH = 20, KNOT_EDE_INVALID_DATA = 24 };
