/* SPDX-License-Identifier: BSD-2-Clause */
/** Transfers as workers begin them: between what the engine says of a request and transfer/out.h. */
#pragma once

#include "src/answer/aside.h"
#include "src/transfer/out_service.h"

/**
 * Begin the transfer that the engine decided on, in the read section of the request: what is needed of its version and
 * key is held or copied. now_us: monotonic. NULL: out of memory; close the connection.
 */
transfer_out_t *transfers_begin(transfer_service_t *service, transfer_waker_t *waker, const answer_source_t *source,
		const answer_aside_t *aside, uint64_t now_us);
