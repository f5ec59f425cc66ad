/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/interval.h"

#include "libknot/base/err.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

void sys_interval_print(int64_t seconds, char *ret_text, size_t max)
{
	static const struct {
		char letter;
		int64_t seconds;
	} units[] = {
		{ 'Y', 365 * 86400 },
		{ 'M', 30 * 86400 },
		{ 'D', 86400 },
		{ 'h', 3600 },
		{ 'm', 60 },
		{ 's', 1 },
	};
	size_t len = (size_t)snprintf(ret_text, max, "%c", seconds < 0 ? '-' : '+');
	/* Unsigned, as a damaged file can name any time. */
	uint64_t left = seconds < 0 ? 0 - (uint64_t)seconds : (uint64_t)seconds;
	for (size_t i = 0; i < KNOT_LEN(units) && len < max; i++) {
		uint64_t count = left / (uint64_t)units[i].seconds;
		left %= (uint64_t)units[i].seconds;
		bool is_only = units[i].seconds == 1 && len == 1;
		if (count > 0 || is_only) {
			len += (size_t)snprintf(ret_text + len, max - len, "%" PRIu64 "%c", count, units[i].letter);
		}
	}
}
