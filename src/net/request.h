/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * One request from whichever transport: answer it, note it, tell the modules. The step between receive and send.
 */
#pragma once

#include "src/net/traffic.h"

/**
 * Answer a request; see answer_message(). Returns the reply's length, 0: send nothing.
 * batch: of the worker, begun with `state`. Within a read section that `state` was loaded in. No allocation, lock or
 * system call.
 */
size_t request_answer(traffic_batch_t *batch, const state_t *state, const answer_source_t *source,
		const answer_hint_t *hint, module_protocol_t protocol, knot_bytes_t request, knot_mut_bytes_t out);
