/* SPDX-License-Identifier: BSD-2-Clause */
/* What is accepted, and a long list of what isn't: one row each, which differs from a good case in one thing. */
#include "src/delegation/child_ds.h"
#include "src/delegation/test_child.h"

/* Keys of the child. OLD is the one that the parent knows; BOTH_… are sets of DNSKEY. */
enum { OLD, NEW, EDWARDS, REVOKED, NO_ZONE, KEYS };

static const struct {
	uint8_t algorithm;
	uint16_t flags;
} key_rows[KEYS] = {
	[OLD] = { DNSSEC_ECDSAP256SHA256, 257 },
	[NEW] = { DNSSEC_ECDSAP256SHA256, 257 },
	[EDWARDS] = { DNSSEC_ED25519, 257 },
	[REVOKED] = { DNSSEC_ECDSAP256SHA256, 257 | DNSSEC_FLAG_REVOKE },
	[NO_ZONE] = { DNSSEC_ECDSAP256SHA256, 1 },
};

static dnssec_key_t *keys[KEYS];

/* Bits of keys. */
enum { O = 1 << OLD, N = 1 << NEW, E = 1 << EDWARDS, R = 1 << REVOKED, Z = 1 << NO_ZONE };

/* What isn't as it should be, of the last server or signal. */
typedef enum {
	FINE,
	UNSIGNED_CDS,
	WRONG_SIGNATURE,
	EXPIRED,
	NOT_YET_GOOD,
	SIGNED_BY_OTHER, /* CDS: by the new key, which no present DS is of */
	DNSKEY_UNSIGNED,
	DNSKEY_BY_OTHER,   /* by the new key only */
	OTHER_SIGNER,      /* the signer is another zone */
	NOT_AUTHORITATIVE, /* a referral */
	TRUNCATED,
	SERVER_FAILS,
	NO_SUCH_NAME,
	ALIAS,
	OTHER_QUESTION,
	OVERSIZED,
	MANY_SIGNATURES,
	GARBAGE,
	DISAGREES, /* CDS of another key */
	LACKS,     /* no CDS */
	OLDER,     /* signed before what was accepted last */
	NO_SIGNAL,
	SIGNAL_NOT_VALID, /* without AD */
	SIGNAL_DIFFERS,
	SIGNAL_FAILS,
} fault_t;

typedef struct {
	unsigned present; /* DS records, bits of keys */
	unsigned dnskey;  /* that the child has */
	unsigned signers; /* of the DNSKEY set and of CDS, CDNSKEY */
	unsigned cds, cdnskey;
	unsigned digest;                   /* of CDS; 0: SHA-256 */
	bool deletes_cds, deletes_cdnskey; /* records that ask for removal, beside the others */
	fault_t fault;
	unsigned forbids; /* bits: update, delete, bootstrap */
	unsigned servers; /* 0: two */
	child_verdict_t want;
	unsigned want_ds;   /* bits of keys */
	const char *reason; /* in it */
} row_t;

enum { NO_UPDATE = 1, NO_DELETE = 2, NO_BOOTSTRAP = 4 };

static const row_t rows[] = {
	/* ---- Secure: rollovers ---- */
	{ .present = O, .dnskey = O | N, .signers = O | N, .cds = N, .cdnskey = N, .want = CHILD_CHANGE, .want_ds = N },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = O | N,
			.cdnskey = O | N,
			.want = CHILD_CHANGE,
			.want_ds = O | N },
	{ .present = O | N,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.want = CHILD_CHANGE,
			.want_ds = N },
	{ .present = O, .dnskey = O | N, .signers = O | N, .cds = N, .want = CHILD_CHANGE, .want_ds = N },
	{ .present = O, .dnskey = O | N, .signers = O | N, .cdnskey = N, .want = CHILD_CHANGE, .want_ds = N },
	{ .present = O, .dnskey = O | E, .signers = O | E, .cds = E, .cdnskey = E, .want = CHILD_CHANGE, .want_ds = E },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.servers = 1,
			.want = CHILD_CHANGE,
			.want_ds = N },
	/* A standby key that isn't published, beside one that is. */
	{ .present = O,
			.dnskey = O,
			.signers = O,
			.cds = O | N,
			.cdnskey = O | N,
			.want = CHILD_CHANGE,
			.want_ds = O | N },
	{ .present = O, .dnskey = O, .signers = O, .cds = O, .cdnskey = O, .want = CHILD_KEEP },
	{ .present = O, .dnskey = O, .signers = O, .want = CHILD_NOTHING, .reason = "no CDS or CDNSKEY" },
	/* ---- Secure: what would break the child ---- */
	{ .present = O,
			.dnskey = O,
			.signers = O,
			.cds = N,
			.cdnskey = N,
			.want = CHILD_REFUSED,
			.reason = "no key of algorithm 13" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O,
			.cds = N,
			.cdnskey = N,
			.want = CHILD_REFUSED,
			.reason = "no key of algorithm 13" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N | E,
			.cdnskey = N | E,
			.want = CHILD_REFUSED,
			.reason = "no key of algorithm 15" },
	{ .present = O,
			.dnskey = O | E,
			.signers = O,
			.cds = O | E,
			.cdnskey = O | E,
			.want = CHILD_REFUSED,
			.reason = "no key of algorithm 15" },
	{ .present = O,
			.dnskey = O | R,
			.signers = O | R,
			.cds = R,
			.cdnskey = R,
			.want = CHILD_REFUSED,
			.reason = "no key of algorithm 13" },
	{ .present = O,
			.dnskey = O | Z,
			.signers = O | Z,
			.cds = Z,
			.cdnskey = Z,
			.want = CHILD_REFUSED,
			.reason = "no key of algorithm 13" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = O,
			.want = CHILD_REFUSED,
			.reason = "of different keys" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = O | N,
			.want = CHILD_REFUSED,
			.reason = "of different keys" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.digest = DNSSEC_DIGEST_SHA1,
			.want = CHILD_REFUSED,
			.reason = "digest that may be used" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.digest = DNSSEC_DIGEST_SHA384,
			.want = CHILD_CHANGE,
			.want_ds = N },
	/* ---- Secure: who says it ---- */
	{ .present = N,
			.dnskey = O,
			.signers = O,
			.cds = O,
			.cdnskey = O,
			.want = CHILD_REFUSED,
			.reason = "DNSKEY records aren't signed by a key that a present DS" },
	{ .present = R,
			.dnskey = R | N,
			.signers = R | N,
			.cds = N,
			.cdnskey = N,
			.want = CHILD_REFUSED,
			.reason = "DNSKEY records aren't signed by a key that a present DS" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.fault = UNSIGNED_CDS,
			.want = CHILD_REFUSED,
			.reason = "CDS records aren't signed" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.fault = WRONG_SIGNATURE,
			.want = CHILD_REFUSED,
			.reason = "CDS records aren't signed" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.fault = EXPIRED,
			.want = CHILD_REFUSED,
			.reason = "CDS records aren't signed" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.fault = NOT_YET_GOOD,
			.want = CHILD_REFUSED,
			.reason = "CDS records aren't signed" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.fault = SIGNED_BY_OTHER,
			.want = CHILD_REFUSED,
			.reason = "CDS records aren't signed" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.fault = OTHER_SIGNER,
			.want = CHILD_REFUSED,
			.reason = "CDS records aren't signed" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.fault = DNSKEY_UNSIGNED,
			.want = CHILD_REFUSED,
			.reason = "DNSKEY records aren't signed" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.fault = DNSKEY_BY_OTHER,
			.want = CHILD_REFUSED,
			.reason = "DNSKEY records aren't signed" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.fault = OLDER,
			.want = CHILD_REFUSED,
			.reason = "older than those accepted before" },
	/* ---- Secure: what servers do ---- */
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.fault = NOT_AUTHORITATIVE,
			.want = CHILD_REFUSED,
			.reason = "isn't authoritative" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.fault = TRUNCATED,
			.want = CHILD_REFUSED,
			.reason = "isn't whole" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.fault = SERVER_FAILS,
			.want = CHILD_REFUSED,
			.reason = "is an error" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.fault = NO_SUCH_NAME,
			.want = CHILD_REFUSED,
			.reason = "doesn't exist" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.fault = ALIAS,
			.want = CHILD_REFUSED,
			.reason = "has an alias" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.fault = OTHER_QUESTION,
			.want = CHILD_REFUSED,
			.reason = "another question" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.fault = OVERSIZED,
			.want = CHILD_REFUSED,
			.reason = "is too large" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.fault = MANY_SIGNATURES,
			.want = CHILD_REFUSED,
			.reason = "too many signatures" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.fault = GARBAGE,
			.want = CHILD_REFUSED,
			.reason = "can't be read" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.fault = DISAGREES,
			.want = CHILD_REFUSED,
			.reason = "have different CDS" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.fault = LACKS,
			.want = CHILD_REFUSED,
			.reason = "have different CDS" },
	{ .present = O,
			.dnskey = O | N,
			.signers = O | N,
			.cds = N,
			.cdnskey = N,
			.forbids = NO_UPDATE,
			.want = CHILD_REFUSED,
			.reason = "'ds-update'" },
	/* ---- Removal ---- */
	{ .present = O, .dnskey = O, .signers = O, .deletes_cds = true, .deletes_cdnskey = true, .want = CHILD_CHANGE },
	{ .present = O, .dnskey = O, .signers = O, .deletes_cds = true, .want = CHILD_CHANGE },
	{ .present = O,
			.dnskey = O,
			.signers = O,
			.deletes_cdnskey = true,
			.forbids = NO_UPDATE,
			.want = CHILD_CHANGE },
	{ .present = O,
			.dnskey = O,
			.signers = O,
			.deletes_cds = true,
			.deletes_cdnskey = true,
			.forbids = NO_DELETE,
			.want = CHILD_REFUSED,
			.reason = "'ds-delete'" },
	{ .present = O,
			.dnskey = O,
			.signers = O,
			.deletes_cds = true,
			.cds = O,
			.want = CHILD_REFUSED,
			.reason = "other records beside" },
	{ .present = O,
			.dnskey = O,
			.signers = O,
			.deletes_cds = true,
			.cdnskey = O,
			.want = CHILD_REFUSED,
			.reason = "other records beside" },
	{ .present = O,
			.dnskey = O,
			.signers = O,
			.deletes_cdnskey = true,
			.cds = O,
			.want = CHILD_REFUSED,
			.reason = "other records beside" },
	{ .present = O,
			.dnskey = O,
			.signers = O,
			.deletes_cds = true,
			.fault = UNSIGNED_CDS,
			.want = CHILD_REFUSED,
			.reason = "CDS records aren't signed" },
	{ .present = O,
			.dnskey = O,
			.signers = O,
			.deletes_cds = true,
			.fault = WRONG_SIGNATURE,
			.want = CHILD_REFUSED,
			.reason = "CDS records aren't signed" },
	{ .present = O,
			.dnskey = O,
			.signers = O,
			.deletes_cds = true,
			.fault = LACKS,
			.want = CHILD_REFUSED,
			.reason = "have different CDS" },
	{ .present = O,
			.dnskey = O,
			.signers = O,
			.deletes_cds = true,
			.fault = OLDER,
			.want = CHILD_REFUSED,
			.reason = "older than" },
	{ .dnskey = O, .signers = O, .deletes_cds = true, .deletes_cdnskey = true, .want = CHILD_KEEP },
	/* ---- Bootstrapping ---- */
	{ .dnskey = O, .signers = O, .cds = O, .cdnskey = O, .want = CHILD_CHANGE, .want_ds = O },
	{ .dnskey = O | E, .signers = O | E, .cds = O | E, .cdnskey = O | E, .want = CHILD_CHANGE, .want_ds = O | E },
	{ .dnskey = O,
			.signers = O,
			.cds = O,
			.cdnskey = O,
			.forbids = NO_BOOTSTRAP,
			.want = CHILD_REFUSED,
			.reason = "'ds-bootstrap'" },
	{ .dnskey = O,
			.signers = O,
			.cds = O,
			.cdnskey = O,
			.forbids = NO_UPDATE | NO_DELETE,
			.want = CHILD_CHANGE,
			.want_ds = O },
	{ .dnskey = O,
			.signers = O,
			.cds = O,
			.cdnskey = O,
			.fault = NO_SIGNAL,
			.want = CHILD_REFUSED,
			.reason = "no name server of the child can have a signal" },
	{ .dnskey = O,
			.signers = O,
			.cds = O,
			.cdnskey = O,
			.fault = SIGNAL_NOT_VALID,
			.want = CHILD_REFUSED,
			.reason = "isn't validated" },
	{ .dnskey = O,
			.signers = O,
			.cds = O,
			.cdnskey = O,
			.fault = SIGNAL_DIFFERS,
			.want = CHILD_REFUSED,
			.reason = "signal isn't what the child has" },
	{ .dnskey = O,
			.signers = O,
			.cds = O,
			.cdnskey = O,
			.fault = SIGNAL_FAILS,
			.want = CHILD_REFUSED,
			.reason = "is an error" },
	{ .dnskey = O,
			.signers = O,
			.cds = O,
			.cdnskey = O,
			.fault = DISAGREES,
			.want = CHILD_REFUSED,
			.reason = "have different CDS" },
	{ .dnskey = O,
			.signers = O,
			.cds = O,
			.cdnskey = O,
			.fault = UNSIGNED_CDS,
			.want = CHILD_REFUSED,
			.reason = "CDS records aren't signed" },
	{ .dnskey = O,
			.signers = O,
			.cds = O,
			.cdnskey = O,
			.fault = DNSKEY_UNSIGNED,
			.want = CHILD_REFUSED,
			.reason = "no key of algorithm" },
	{ .dnskey = O, .signers = O, .cds = N, .cdnskey = N, .want = CHILD_REFUSED, .reason = "no key of algorithm" },
	{ .dnskey = O,
			.signers = O,
			.cds = O | E,
			.cdnskey = O | E,
			.want = CHILD_REFUSED,
			.reason = "no key of algorithm 15" },
};

/* ---- A row's replies ---- */

static const dnssec_key_t *first_key(unsigned bits)
{
	for (unsigned i = 0; i < KEYS; i++) {
		if (bits >> i & 1) {
			return keys[i];
		}
	}
	return NULL;
}

/* How the reply about CDS is made, its keys aside. */
static const test_how_t fault_hows[] = {
	[WRONG_SIGNATURE] = { .is_spoilt = true },
	[EXPIRED] = { .inception = -7200, .expiration = -1 },
	[NOT_YET_GOOD] = { .inception = 1 },
	[OLDER] = { .inception = -100000 },
	[OTHER_SIGNER] = { .signer = "test." },
	[NOT_AUTHORITATIVE] = { .no_flags = KNOT_FLAG_AA },
	[TRUNCATED] = { .flags = KNOT_FLAG_TC },
	[SERVER_FAILS] = { .flags = KNOT_RCODE_SERVFAIL },
	[NO_SUCH_NAME] = { .flags = KNOT_RCODE_NXDOMAIN },
	[ALIAS] = { .is_alias = true },
	[OTHER_QUESTION] = { .asked = KNOT_TYPE_DS },
	[MANY_SIGNATURES] = { .copies = REPLY_SIGS_MAX + 1 },
	[SIGNAL_FAILS] = { 0 },
};

static test_how_t how_of(const row_t *row, fault_t fault, uint16_t type)
{
	bool is_dnskey = type == KNOT_TYPE_DNSKEY;
	bool is_spoilt = type == KNOT_TYPE_CDS || (!is_dnskey && fault == OLDER);
	test_how_t how = is_spoilt ? fault_hows[fault] : fault_hows[FINE];
	how.key = first_key(row->signers);
	how.other_key = first_key(row->signers & (row->signers - 1));
	if (is_dnskey ? fault == DNSKEY_UNSIGNED : is_spoilt && fault == UNSIGNED_CDS) {
		how.key = how.other_key = NULL;
	}
	if (is_dnskey ? fault == DNSKEY_BY_OTHER : is_spoilt && fault == SIGNED_BY_OTHER) {
		how.key = keys[NEW];
		how.other_key = NULL;
	}
	return how;
}

static knot_bytes_t reply_of(const row_t *row, fault_t fault, uint16_t type, const test_how_t *how)
{
	static const uint8_t no_cds[] = { 0, 0, 0, 0, 0 }, no_cdnskey[] = { 0, 0, 3, 0, 0 };
	uint8_t room[KEYS][DNSSEC_DS_MAX];
	knot_bytes_t rdata[KEYS + 1] = { { NULL, 0 } };
	size_t count = 0;
	bool is_cds = type == KNOT_TYPE_CDS, is_key = type == KNOT_TYPE_DNSKEY;
	unsigned bits = is_key ? row->dnskey : is_cds ? row->cds : row->cdnskey;
	if (is_cds && fault == DISAGREES) {
		bits ^= O | N;
	}
	bool is_empty = is_cds && fault == LACKS;
	for (unsigned i = 0; i < KEYS && !is_empty; i++) {
		if (bits >> i & 1) {
			rdata[count++] =
					is_cds ? test_ds(keys[i], row->digest != 0 ? row->digest : DNSSEC_DIGEST_SHA256,
								 room[i])
					       : dnssec_key_rdata(keys[i]);
		}
	}
	if (!is_empty && ((is_cds && row->deletes_cds) || (!is_cds && !is_key && row->deletes_cdnskey))) {
		rdata[count++] = (knot_bytes_t){ is_cds ? no_cds : no_cdnskey, 5 };
	}
	knot_bytes_t reply = test_reply(type, rdata, count, how);
	if (is_cds && fault == OVERSIZED) {
		reply.len = REPLY_MESSAGE_MAX + 1;
	} else if (is_cds && fault == GARBAGE) {
		reply.len -= 3;
	}
	return reply;
}

static test_name_t child, signal_name;

enum { SERVERS = 3 };

static void ask(const row_t *row, child_ds_answer_t *ret_answer)
{
	child_ds_server_t servers[SERVERS];
	child_ds_signal_t signals[2];
	uint8_t room[KEYS][DNSSEC_DS_MAX];
	reply_set_t present;
	size_t count = row->servers != 0 ? row->servers : 2, signal_count = row->fault == NO_SIGNAL ? 0 : 2;
	reply_set_begin(&present, KNOT_TYPE_DS);
	for (unsigned i = 0; i < KEYS; i++) {
		assert_true((row->present >> i & 1) == 0 ||
				reply_set_add(&present, 60, test_ds(keys[i], DNSSEC_DIGEST_SHA256, room[i])));
	}
	for (size_t i = 0; i < count; i++) {
		fault_t fault = i + 1 == count ? row->fault : FINE;
		test_how_t dnskey = how_of(row, fault, KNOT_TYPE_DNSKEY), cds = how_of(row, fault, KNOT_TYPE_CDS),
			   cdnskey = how_of(row, fault, KNOT_TYPE_CDNSKEY);
		servers[i] = (child_ds_server_t){ .who = i == 0 ? "first" : "last",
			.dnskey = reply_of(row, fault, KNOT_TYPE_DNSKEY, &dnskey),
			.cds = reply_of(row, fault, KNOT_TYPE_CDS, &cds),
			.cdnskey = reply_of(row, fault, KNOT_TYPE_CDNSKEY, &cdnskey) };
	}
	for (size_t i = 0; i < signal_count; i++) {
		fault_t fault = i == 1 ? row->fault : FINE;
		test_how_t how = { .owner = "_dsboot.child.test._signal.ns.op.", .no_flags = KNOT_FLAG_AA };
		how.flags = fault == SIGNAL_NOT_VALID ? 0 : KNOT_FLAG_AD;
		how.flags |= fault == SIGNAL_FAILS ? KNOT_RCODE_SERVFAIL : 0;
		signals[i] = (child_ds_signal_t){ .who = "signal",
			.names = signal_name.name,
			.cds = reply_of(row, fault == SIGNAL_DIFFERS ? LACKS : FINE, KNOT_TYPE_CDS, &how),
			.cdnskey = reply_of(row, FINE, KNOT_TYPE_CDNSKEY, &how) };
	}
	const child_ds_question_t question = { .child = child.name,
		.now_s = TEST_NOW_S,
		.present = &present,
		.servers = servers,
		.server_count = count,
		.signals = signals,
		.signal_count = signal_count,
		.may_update = (row->forbids & NO_UPDATE) == 0,
		.may_delete = (row->forbids & NO_DELETE) == 0,
		.may_bootstrap = (row->forbids & NO_BOOTSTRAP) == 0,
		.has_last = row->fault == OLDER,
		.last_inception = (uint32_t)(TEST_NOW_S - 50000) };
	assert_int_equal(child_ds_decide(&question, ret_answer), KNOT_OK);
	for (size_t i = 0; i < count; i++) {
		test_free_reply(servers[i].dnskey);
		test_free_reply(servers[i].cds);
		test_free_reply(servers[i].cdnskey);
	}
	for (size_t i = 0; i < signal_count; i++) {
		test_free_reply(signals[i].cds);
		test_free_reply(signals[i].cdnskey);
	}
}

static void test_rows(void **state)
{
	(void)state;
	child_ds_answer_t *got = malloc(sizeof(*got));
	assert_non_null(got);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		const row_t *row = &rows[i];
		ask(row, got);
		if (got->verdict != row->want || (row->reason != NULL && strstr(got->reason, row->reason) == NULL)) {
			fail_msg("row %zu: verdict %d, '%s'", i, got->verdict, got->reason);
		}
		unsigned count = 0;
		for (unsigned j = 0; j < KEYS && row->want == CHILD_CHANGE; j++) {
			uint8_t room[DNSSEC_DS_MAX];
			unsigned digest = row->digest != 0 ? row->digest : DNSSEC_DIGEST_SHA256;
			bool is_wanted = (row->want_ds >> j & 1) != 0;
			assert_int_equal(reply_set_has(&got->ds, test_ds(keys[j], digest, room)), is_wanted);
			count += is_wanted;
		}
		assert_int_equal(got->ds.count, count);
		assert_true((got->reason[0] != '\0') == (row->want == CHILD_REFUSED || row->want == CHILD_NOTHING));
		if (row->want == CHILD_CHANGE) {
			assert_int_equal(got->inception, TEST_NOW_S - 3600);
		}
	}
	free(got);
}

static void test_no_server(void **state)
{
	(void)state;
	reply_set_t present;
	child_ds_answer_t *got = malloc(sizeof(*got));
	reply_set_begin(&present, KNOT_TYPE_DS);
	const child_ds_question_t question = { .child = child.name, .now_s = TEST_NOW_S, .present = &present };
	assert_int_equal(child_ds_decide(&question, got), KNOT_OK);
	assert_int_equal(got->verdict, CHILD_REFUSED);
	free(got);
}

/* Random bytes in the place of each reply are refused, whatever they are. */
static void test_damage(void **state)
{
	(void)state;
	uint64_t random = 1;
	const row_t *row = &rows[0];
	child_ds_answer_t *got = malloc(sizeof(*got));
	uint8_t room[DNSSEC_DS_MAX];
	reply_set_t present;
	reply_set_begin(&present, KNOT_TYPE_DS);
	assert_true(reply_set_add(&present, 60, test_ds(keys[OLD], DNSSEC_DIGEST_SHA256, room)));
	const uint16_t types[] = { KNOT_TYPE_DNSKEY, KNOT_TYPE_CDS, KNOT_TYPE_CDNSKEY };
	knot_bytes_t good[3];
	for (unsigned i = 0; i < 3; i++) {
		test_how_t how = how_of(row, FINE, types[i]);
		good[i] = reply_of(row, FINE, types[i], &how);
	}
	for (unsigned turn = 0; turn < 600; turn++) {
		unsigned at = turn % 3;
		uint8_t copy[TEST_MESSAGE_MAX];
		memcpy(copy, good[at].data, good[at].len);
		random = random * 6364136223846793005u + 1442695040888963407u;
		size_t bit = (random >> 33) % ((good[at].len - 2) * 8);
		copy[2 + bit / 8] ^= (uint8_t)(1 << bit % 8);
		child_ds_server_t server = { "damaged", good[0], good[1], good[2] };
		knot_bytes_t *replies[] = { &server.dnskey, &server.cds, &server.cdnskey };
		*replies[at] = (knot_bytes_t){ copy, good[at].len };
		const child_ds_question_t question = { .child = child.name,
			.now_s = TEST_NOW_S,
			.present = &present,
			.servers = &server,
			.server_count = 1,
			.may_update = true,
			.may_delete = true,
			.may_bootstrap = true };
		assert_int_equal(child_ds_decide(&question, got), KNOT_OK);
		/* A bit may be one that says nothing; but what is accepted is what was asked for. */
		if (got->verdict == CHILD_CHANGE) {
			assert_int_equal(got->ds.count, 1);
			assert_true(reply_set_has(&got->ds, test_ds(keys[NEW], DNSSEC_DIGEST_SHA256, room)));
		}
	}
	for (unsigned i = 0; i < 3; i++) {
		test_free_reply(good[i]);
	}
	free(got);
}

static void test_verified_work_is_bounded(void **state)
{
	(void)state;
	/* Many keys of one tag can't be made here; the budget is spent by copies of signatures that are wrong. */
	unsigned budget = 3;
	test_how_t how = { .key = keys[OLD], .is_spoilt = true, .copies = REPLY_SIGS_MAX };
	knot_bytes_t dnskey_rdata[] = { dnssec_key_rdata(keys[OLD]) };
	knot_bytes_t reply = test_reply(KNOT_TYPE_DNSKEY, dnskey_rdata, 1, &how);
	reply_set_t set;
	assert_null(reply_read(reply, REPLY_OF_SERVER, child.name, KNOT_TYPE_DNSKEY, &set));
	assert_false(reply_is_signed(&set, child.name, child.name, &set, 1, TEST_NOW_S, &budget, NULL));
	assert_int_equal(budget, 0);
	budget = 100;
	assert_false(reply_is_signed(&set, child.name, child.name, &set, 1, TEST_NOW_S, &budget, NULL));
	assert_int_equal(budget, 100 - REPLY_SIGS_MAX);
	test_free_reply(reply);
}

static int setup(void **state)
{
	(void)state;
	test_name("child.test.", &child);
	test_name("_dsboot.child.test._signal.ns.op.", &signal_name);
	for (unsigned i = 0; i < KEYS; i++) {
		keys[i] = test_key(key_rows[i].algorithm, key_rows[i].flags);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < KEYS; i++) {
		dnssec_key_free(keys[i]);
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_no_server),
		cmocka_unit_test(test_damage), cmocka_unit_test(test_verified_work_is_bounded) };
	return cmocka_run_group_tests(tests, setup, teardown);
}
