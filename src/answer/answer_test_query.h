/* SPDX-License-Identifier: BSD-2-Clause */
/** Queries for tests and benchmarks. Aborts on failure: the texts and buffers are ours. */
#pragma once

#include "libknot/msg/writer.h"

#include <stdlib.h>

typedef struct {
	uint16_t qtype;
	uint16_t id;
	uint16_t udp_payload; /* of OPT, 0: no OPT */
	bool dnssec_ok;
} test_query_t;

static inline void test_query_check(bool holds)
{
	if (!holds) {
		abort();
	}
}

/* Class IN. out: room for it. Returns its length. */
static inline size_t test_query_about(const test_query_t *query, knot_name_t qname, uint8_t *out, size_t max)
{
	knot_msg_writer_t w;
	knot_msg_begin(&w, (knot_mut_bytes_t){ out, max });
	test_query_check(knot_msg_put_question(&w, qname, query->qtype, KNOT_CLASS_IN) == KNOT_OK);
	if (query->udp_payload > 0) {
		uint16_t flags = query->dnssec_ok ? 0x8000 : 0;
		test_query_check(knot_msg_put_opt(&w, query->udp_payload, 0, 0, flags) == KNOT_OK);
	}
	return knot_msg_finish(&w, query->id, 0);
}

/* As above with the name as text. */
static inline size_t test_query_put(const test_query_t *query, const char *qname, uint8_t *out, size_t max)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	test_query_check(knot_name_scan(knot_str_of(qname), knot_name_root, wire, &name) == KNOT_OK);
	return test_query_about(query, name, out, max);
}
