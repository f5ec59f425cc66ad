/* SPDX-License-Identifier: BSD-2-Clause */
/** The columns of a record in a zone file, as Knot has them. Pure; any thread. */
#pragma once

#include "libknot/name/name.h"

enum {
	KNOT_RR_OWNER_WIDTH = 20, /* columns; longer names go beyond */
	KNOT_RR_OWNER_LONG = 32,  /* from this length on, a space follows the name, and no tab */
	KNOT_RR_OWNER_TEXT_MAX = KNOT_NAME_TEXT_MAX + KNOT_RR_OWNER_WIDTH,
};

/** Print the first column and what separates it from the second. Returns its length; no NUL. */
size_t knot_rr_print_owner(knot_name_t owner, char ret_text[static KNOT_RR_OWNER_TEXT_MAX]);

/** The same for a name that has been printed: `len` characters of `text`, which has room for KNOT_RR_OWNER_WIDTH more.
 */
size_t knot_rr_pad_owner(char *text, size_t len);
