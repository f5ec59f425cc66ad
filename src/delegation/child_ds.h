/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What a parent does with the CDS and CDNSKEY records of a child: change the DS records, remove them, or nothing. A
 * pure decision: what all of the child's servers said, the present DS records, the rules and the time in, a verdict
 * out.
 *
 * Accepted is only what every server says, what is signed as it must be, and what leaves the child valid: with the new
 * DS records, each of their algorithms has a key that has signed the DNSKEY set of every server. A child that is secure
 * signs with a key that a present DS record is of (RFC 7344 4.1); one that isn't has signals below its servers' names,
 * which a resolver has validated (RFC 9615 4.2). RFC 8078 4: how the records are removed.
 */
#pragma once

#include "src/delegation/reply.h"

enum { CHILD_REASON_MAX = 256, CHILD_SERVERS_MAX = 32 };

/** What one server of the child answered. Messages are borrowed. */
typedef struct {
	const char *who; /* for reasons: name and address */
	knot_bytes_t dnskey, cds, cdnskey;
} child_ds_server_t;

/** What the resolver says of the signals below one name server that isn't in the child. */
typedef struct {
	const char *who;
	knot_name_t names; /* _dsboot.<child>._signal.<server> */
	knot_bytes_t cds, cdnskey;
} child_ds_signal_t;

typedef struct {
	knot_name_t child; /* lower case */
	uint64_t now_s;
	const reply_set_t *present; /* DS; empty: the child isn't secure */
	const child_ds_server_t *servers;
	size_t server_count;
	const child_ds_signal_t *signals;
	size_t signal_count;
	/* What the parent allows. */
	bool may_update, may_delete, may_bootstrap;
	/* Inception of the newest signature of CDS or CDNSKEY records that were accepted; has_last: it is known. Older
	 * ones are replayed. RFC 7344 6.2 */
	bool has_last;
	uint32_t last_inception;
} child_ds_question_t;

typedef enum {
	CHILD_NOTHING, /* the child asks for nothing */
	CHILD_KEEP,    /* what it asks for is there */
	CHILD_CHANGE,
	CHILD_REFUSED, /* for the reason */
} child_verdict_t;

typedef struct {
	child_verdict_t verdict;
	reply_set_t ds; /* CHANGE: the new ones; empty: they go */
	uint32_t inception;
	char reason[CHILD_REASON_MAX]; /* of NOTHING and REFUSED; no new line, no text of the child's */
} child_ds_answer_t;

/** KNOT_ENOMEM. Cost: at most REPLY_BUDGET signatures are verified. */
KNOT_MUST_USE knot_err_t child_ds_decide(const child_ds_question_t *question, child_ds_answer_t *ret_answer);

/** Write the reason of a refusal. */
__attribute__((format(printf, 2, 3))) void child_say(char reason[static CHILD_REASON_MAX], const char *format, ...);
