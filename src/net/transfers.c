/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/transfers.h"

transfer_out_t *transfers_begin(transfer_service_t *service, transfer_waker_t *waker, const answer_source_t *source,
		const answer_aside_t *aside, uint64_t now_us)
{
	transfer_out_t *out = transfer_out_new(&(transfer_out_ask_t){
			.contents = aside->contents,
			.is_ixfr = aside->is_ixfr,
			.may_ixfr = aside->provides_ixfr,
			.serial = aside->serial,
			.reply = aside->template,
			.chain = aside->chain.key != NULL ? &aside->chain : NULL,
			.remote = source->remote,
			.now_us = now_us,
	});
	if (out != NULL) {
		transfer_service_begin(service, out, waker);
	}
	return out;
}
