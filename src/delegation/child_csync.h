/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What a parent does with the CSYNC record of a child: new NS records, new addresses of name servers in the child, or
 * nothing. Pure. RFC 7477.
 *
 * In two steps, as only the first says whose addresses are wanted: child_csync_plan() looks at SOA, CSYNC and NS of
 * all servers, child_csync_decide() at the addresses, and at a second SOA, which must be the first one's. Only of
 * secure children, and everything is signed.
 */
#pragma once

#include "src/delegation/child_ds.h"

enum { CHILD_HOSTS_MAX = 16 };

/** A name server in the child, whose addresses are glue. */
typedef struct {
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;         /* of wire[], lower case */
	reply_set_t addresses[2]; /* A and AAAA */
} child_host_t;

/** What one server of the child answered. Messages are borrowed. */
typedef struct {
	const char *who;
	knot_bytes_t dnskey, soa, csync, ns;
	/* For child_csync_decide(): of each host of the answer A and AAAA, len 0 for a type that isn't wanted. */
	const knot_bytes_t (*hosts)[2];
	knot_bytes_t soa_after;
} child_csync_server_t;

typedef struct {
	knot_name_t child; /* lower case */
	uint64_t now_s;
	const reply_set_t *ds, *ns; /* that the parent has now */
	const child_host_t *glue;   /* 〃 */
	size_t glue_count;
	const child_csync_server_t *servers;
	size_t server_count;
	bool may_update;
	bool is_approved; /* by an operator: the flag immediate isn't needed */
	/* Serial of the child when its CSYNC was last followed; has_last: it is known. RFC 7477 3.1 */
	bool has_last;
	uint32_t last_serial;
} child_csync_question_t;

typedef struct {
	child_verdict_t verdict;
	bool has_ns, has_address[2]; /* which types are to be like the child's */
	reply_set_t ns;              /* has_ns: the child's, else the parent's */
	size_t host_count;
	child_host_t hosts[CHILD_HOSTS_MAX]; /* those of ns that are in the child */
	uint32_t serial;
	char reason[CHILD_REASON_MAX];
} child_csync_answer_t;

/** CHANGE: ask for the addresses of hosts, if there are any, and decide. Else it is decided. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t child_csync_plan(const child_csync_question_t *question, child_csync_answer_t *ret_answer);

/**
 * Go on with what child_csync_plan() gave. A host without records of a wanted type keeps those that the parent has, as
 * that there are none isn't proven. CHANGE: all of ns and hosts is to be there. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t child_csync_decide(const child_csync_question_t *question, child_csync_answer_t *answer);

/** NS names as hosts in the child. False: there are too many. */
bool child_hosts_of(const reply_set_t *ns, knot_name_t child, child_host_t ret_hosts[static CHILD_HOSTS_MAX],
		size_t *ret_count);
