/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Stage FINISH: the options of a reply. Which ones it's asked for is known from reading the request; their bytes are
 * kept free while records are put.
 */
#pragma once

#include "libknot/msg/writer.h"
#include "src/answer/answer.h"

enum {
	ANSWER_UDP_MIN = 512,       /* RFC 1035 4.2.1; also the least a requestor can announce, RFC 6891 6.2.3 */
	ANSWER_ZONEVERSION_LEN = 6, /* label count, type SOA-SERIAL, serial (RFC 9660 2) */
	ANSWER_EXPIRE_LEN = 4,      /* RFC 7314 2 */
	/* Longest NSID that is sent: the header, the longest question and all other options fit 512 bytes with it. */
	ANSWER_NSID_MAX = ANSWER_UDP_MIN - KNOT_MSG_HEADER_LEN - (KNOT_NAME_MAX + 4) - KNOT_OPT_LEN -
			  5 * KNOT_OPTION_HEAD_LEN - ANSWER_ECS_MAX - ANSWER_ZONEVERSION_LEN - ANSWER_EXPIRE_LEN -
			  KNOT_EDE_LEN,
};

/** Bytes of the options that `request` is answered with; of those that say something of a zone, if one answers. */
size_t answer_options_len(const answer_env_t *env, const answer_request_t *request);

/** Put them behind the OPT that was put last; there is room. Returns a bit for each code below 16. */
uint32_t answer_put_options(const answer_env_t *env, const answer_request_t *request, knot_msg_writer_t *w);
