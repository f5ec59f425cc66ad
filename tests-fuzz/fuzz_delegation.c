/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Replies of a child's servers of any shape: nothing crashes, the same replies get the same verdict, and with another
 * DS record, or unsigned, nothing is changed, whatever they say.
 *
 * Input: pieces, each behind its length (two bytes): RDATA of the DS record that the parent has, then the replies for
 * DNSKEY, CDS, CDNSKEY, SOA, CSYNC, NS, and for the first name server in the child A, AAAA, and SOA again.
 */
#include "libdnssec/digest.h"
#include "src/delegation/child_csync.h"
#include "src/delegation/dsync.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	PIECE_DS,
	PIECE_DNSKEY,
	PIECE_CDS,
	PIECE_CDNSKEY,
	PIECE_SOA,
	PIECE_CSYNC,
	PIECE_NS,
	PIECE_A,
	PIECE_AAAA,
	PIECE_AFTER,
	PIECES
};
enum { NOW_S = 1800000000 };

static const uint8_t child_wire[] = "\5child\4test";
static const knot_name_t child = { child_wire, sizeof(child_wire), 2 };

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static void split(const uint8_t *data, size_t size, knot_bytes_t ret_pieces[static PIECES])
{
	size_t pos = 0;
	for (unsigned i = 0; i < PIECES; i++) {
		size_t len = pos + 2 <= size ? load_be16(data + pos) : 0;
		pos = pos + 2 <= size ? pos + 2 : size;
		len = len < size - pos ? len : size - pos;
		ret_pieces[i] = (knot_bytes_t){ data + pos, len };
		pos += len;
	}
}

static child_verdict_t decide_ds(const knot_bytes_t *pieces, const reply_set_t *ds)
{
	static child_ds_answer_t answer;
	const child_ds_server_t server = { "server", pieces[PIECE_DNSKEY], pieces[PIECE_CDS], pieces[PIECE_CDNSKEY] };
	const child_ds_question_t question = { .child = child,
		.now_s = NOW_S,
		.present = ds,
		.servers = &server,
		.server_count = 1,
		.may_update = true,
		.may_delete = true,
		.may_bootstrap = true };
	check(child_ds_decide(&question, &answer) == KNOT_OK);
	check(memchr(answer.reason, '\0', sizeof(answer.reason)) != NULL);
	return answer.verdict;
}

static child_verdict_t decide_csync(const knot_bytes_t *pieces, const reply_set_t *ds)
{
	static child_csync_answer_t answer;
	static knot_bytes_t hosts[CHILD_HOSTS_MAX][2];
	reply_set_t ns;
	reply_set_begin(&ns, KNOT_TYPE_NS);
	check(reply_set_add(&ns, 60, (knot_bytes_t){ child_wire, sizeof(child_wire) }));
	for (unsigned i = 0; i < CHILD_HOSTS_MAX; i++) {
		hosts[i][0] = pieces[PIECE_A];
		hosts[i][1] = pieces[PIECE_AAAA];
	}
	const child_csync_server_t server = { .who = "server",
		.dnskey = pieces[PIECE_DNSKEY],
		.soa = pieces[PIECE_SOA],
		.csync = pieces[PIECE_CSYNC],
		.ns = pieces[PIECE_NS],
		.hosts = hosts,
		.soa_after = pieces[PIECE_AFTER] };
	const child_csync_question_t question = { .child = child,
		.now_s = NOW_S,
		.ds = ds,
		.ns = &ns,
		.servers = &server,
		.server_count = 1,
		.may_update = true };
	check(child_csync_plan(&question, &answer) == KNOT_OK);
	if (answer.verdict == CHILD_CHANGE) {
		check(answer.ns.count > 0);
		check(child_csync_decide(&question, &answer) == KNOT_OK);
	}
	return answer.verdict;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	knot_bytes_t pieces[PIECES];
	uint8_t other[DNSSEC_DS_MAX];
	reply_set_t ds, none;
	dsync_answer_t dsync;
	split(data, size, pieces);
	(void)dsync_read_answer(pieces[PIECE_SOA], &dsync);
	reply_set_begin(&ds, KNOT_TYPE_DS);
	reply_set_begin(&none, KNOT_TYPE_DS);
	check(decide_ds(pieces, &none) != CHILD_CHANGE && decide_csync(pieces, &none) != CHILD_CHANGE);
	knot_bytes_t rdata = pieces[PIECE_DS];
	if (rdata.len <= 4 || rdata.len > sizeof(other) || !reply_set_add(&ds, 60, rdata)) {
		return 0;
	}
	check(decide_ds(pieces, &ds) == decide_ds(pieces, &ds));
	bool changes = decide_ds(pieces, &ds) == CHILD_CHANGE || decide_csync(pieces, &ds) == CHILD_CHANGE;
	/* Of no key that can be found by trying. */
	memcpy(other, rdata.data, rdata.len);
	other[rdata.len - 1] ^= 1;
	reply_set_begin(&ds, KNOT_TYPE_DS);
	if (changes && reply_set_add(&ds, 60, (knot_bytes_t){ other, rdata.len })) {
		check(decide_ds(pieces, &ds) != CHILD_CHANGE && decide_csync(pieces, &ds) != CHILD_CHANGE);
	}
	return 0;
}
