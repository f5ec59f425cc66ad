/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/answer/refusal.h"

enum { KNOT_RCODE_COUNTED_BADSIG = KNOT_RCODE_SLOT_BADSIG };

const answer_refusal_row_t answer_refusal_rows[ANSWER_REFUSAL_END] = {
	[ANSWER_REFUSAL_NONE] = { ANSWER_REFUSAL_ERROR, KNOT_RCODE_NOERROR, KNOT_EDE_NONE, KNOT_RCODE_NOERROR },
#define REFUSAL(name, rcode, ede, counted)                                                                             \
	[ANSWER_REFUSAL_##name] = { ANSWER_REFUSAL_ERROR, KNOT_RCODE_##rcode, KNOT_EDE_##ede, KNOT_RCODE_##counted },
#define REFUSAL_WAY(name, way)                                                                                         \
	[ANSWER_REFUSAL_##name] = { ANSWER_REFUSAL_##way, KNOT_RCODE_NOERROR, KNOT_EDE_NONE, KNOT_RCODE_NOERROR },
#include "src/answer/refusal.def"
#undef REFUSAL
#undef REFUSAL_WAY
};
