/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/check.h"

knot_err_t zone_check(const zone_contents_t *zone, zone_checks_t checks, uint64_t now_s, zone_message_cb on_message, void *ctx)
{
	(void)zone, (void)checks, (void)now_s, (void)on_message, (void)ctx;
	return KNOT_OK;
}
