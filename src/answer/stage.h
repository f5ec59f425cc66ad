/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The stages that a request passes on its way to a reply, as a guest sees them: gate → decide → finish.
 *
 * A guest is what takes part in stages and isn't of the engine: modules (src/modules), to which the engine, being below
 * them, makes no call but through the functions here. Each stage tests one bit that says whether there is one. A guest
 * reads what earlier stages made and changes nothing but what its stage gives it. It may not allocate, lock or log (but
 * mod-rrl writes a line per log-period).
 */
#pragma once

#include "libknot/msg/writer.h"
#include "src/answer/answer.h"
#include "src/answer/plan.h"

typedef enum {
	ANSWER_STAGE_GATE,     /* may the request be answered? */
	ANSWER_STAGE_DECIDE,   /* what is sent */
	ANSWER_STAGE_FINISH,   /* options of the reply */
	ANSWER_STAGE_ANSWERED, /* the reply is complete: nothing can be changed any more. Run by the engine's caller */
	ANSWER_STAGE_END,
} answer_stage_t;

typedef enum {
	ANSWER_OUTCOME_PLAN,    /* RRsets of a zone */
	ANSWER_OUTCOME_RECORD,  /* one record, made for this request; its owner is the question */
	ANSWER_OUTCOME_EMPTY,   /* NOERROR without records */
	ANSWER_OUTCOME_STREAM,  /* a transfer: what each of its messages begins with; the rest is the caller's */
	ANSWER_OUTCOME_LATER,   /* nothing yet: the caller answers */
	ANSWER_OUTCOME_REFUSAL, /* an error */
} answer_outcome_kind_t;

enum { ANSWER_RECORD_MAX = 256 /* bytes of RDATA */ };

/** What is sent for a request: made by stage DECIDE, spelled by the encoder. */
typedef struct {
	answer_outcome_kind_t kind;
	answer_refusal_t refusal; /* REFUSAL: why */
	struct {
		uint16_t type, class;
		uint32_t ttl;
		bool authoritative; /* AA */
		uint16_t rdata_len;
		uint8_t rdata[ANSWER_RECORD_MAX];
	} record;           /* RECORD */
	answer_plan_t plan; /* PLAN */
} answer_outcome_t;

struct answer_guests {
	uint8_t stages; /* bit n: there is a guest at answer_stage_t n */
	void *ctx;      /* for the functions below, each of which is called only if its stage's bit is set */
	/** A reason to refuse the request (not MALFORMED), or NONE. Before the engine's own gate. */
	answer_refusal_t (*gate)(void *ctx, const answer_source_t *source, const answer_request_t *request);
	/**
	 * May replace the outcome, by a record or a refusal (not MALFORMED). Not called for a request that
	 * can't be read or has no question.
	 */
	void (*decide)(void *ctx, const answer_source_t *source, const answer_request_t *request,
			answer_outcome_t *outcome);
	/** Bytes of options that finish() will put, heads included. Asked behind the gate, kept free if they can be. */
	size_t (*finish_len)(void *ctx);
	/**
	 * May put options of an OPT, if there is one (w->opt_off != 0). Returns which: bit n is option code n (0–30).
	 */
	uint32_t (*finish)(void *ctx, const answer_source_t *source, const answer_request_t *request,
			knot_msg_writer_t *w);
};
