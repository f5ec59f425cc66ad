/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/text/rr_text.h"

size_t knot_rr_pad_owner(char *text, size_t len)
{
	bool is_long = len >= KNOT_RR_OWNER_LONG;
	while (len < KNOT_RR_OWNER_WIDTH) {
		text[len++] = ' ';
	}
	text[len++] = is_long ? ' ' : '\t';
	return len;
}

size_t knot_rr_print_owner(knot_name_t owner, char ret_text[static KNOT_RR_OWNER_TEXT_MAX])
{
	return knot_rr_pad_owner(ret_text, knot_name_print(owner, ret_text));
}
