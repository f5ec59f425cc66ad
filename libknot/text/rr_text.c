/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/text/rr_text.h"

size_t knot_rr_print_owner(knot_name_t owner, char ret_text[static KNOT_RR_OWNER_TEXT_MAX])
{
	size_t len = knot_name_print(owner, ret_text);
	bool is_long = len >= KNOT_RR_OWNER_LONG;
	while (len < KNOT_RR_OWNER_WIDTH) {
		ret_text[len++] = ' ';
	}
	ret_text[len++] = is_long ? ' ' : '\t';
	return len;
}
