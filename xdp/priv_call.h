/* SPDX-License-Identifier: BSD-2-Clause */
/** The daemon's side of the protocol in priv_wire.h. */
#pragma once

#include "xdp/priv_wire.h"

/**
 * Send a request and wait for its reply.
 *
 * request: one of the structs of PRIV_REQUESTS, its kind set. priv: NULL: KNOT_EPERM.
 * ret_answer: written on success; its descriptors (fd_count of them, exactly `fd_count` or one less when the kind's
 * last one is optional) are the caller's, close-on-exec. KNOT_ECONNCLOSED: the helper has ended, nothing can be changed
 * any more. Others: as the helper says. Any thread.
 */
KNOT_MUST_USE knot_err_t kxdp_priv_call(
		kxdp_priv_t *priv, const void *request, priv_answer_t *ret_answer, kxdp_fault_t *ret_fault);
