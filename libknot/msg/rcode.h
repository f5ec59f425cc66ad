/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Response codes: their numbers, their names, and their places in a table that counts replies by rcode.
 *
 * An rcode is the extended one: the header's four bits with OPT's eight above them (RFC 6891 6.1.3). Codes from 16 on
 * are also what TSIG's error field says (RFC 8945 3). Constants only; any thread.
 */
#pragma once

#include "libknot/base/err.h"

#include <stdbool.h>
#include <stdint.h>

/**
 * ROW(name, number, text) for each rcode with a name of its own: RFC 1035 4.1.1, RFC 2136 2.2, RFC 6891 9, RFC 8945 3,
 * RFC 2930 2.6, RFC 7873 8. The text is Knot's, which says NOTIMPL.
 */
#define KNOT_RCODE_ROWS(ROW)                                                                                           \
	ROW(NOERROR, 0, "NOERROR")                                                                                     \
	ROW(FORMERR, 1, "FORMERR")                                                                                     \
	ROW(SERVFAIL, 2, "SERVFAIL")                                                                                   \
	ROW(NXDOMAIN, 3, "NXDOMAIN")                                                                                   \
	ROW(NOTIMP, 4, "NOTIMPL")                                                                                      \
	ROW(REFUSED, 5, "REFUSED")                                                                                     \
	ROW(YXDOMAIN, 6, "YXDOMAIN")                                                                                   \
	ROW(YXRRSET, 7, "YXRRSET")                                                                                     \
	ROW(NXRRSET, 8, "NXRRSET")                                                                                     \
	ROW(NOTAUTH, 9, "NOTAUTH")                                                                                     \
	ROW(NOTZONE, 10, "NOTZONE")                                                                                    \
	ROW(BADVERS, 16, "BADVERS")                                                                                    \
	ROW(BADKEY, 17, "BADKEY")                                                                                      \
	ROW(BADTIME, 18, "BADTIME")                                                                                    \
	ROW(BADMODE, 19, "BADMODE")                                                                                    \
	ROW(BADNAME, 20, "BADNAME")                                                                                    \
	ROW(BADALG, 21, "BADALG")                                                                                      \
	ROW(BADTRUNC, 22, "BADTRUNC")                                                                                  \
	ROW(BADCOOKIE, 23, "BADCOOKIE")

typedef enum {
#define KNOT_RCODE_NUMBER(name, number, text) KNOT_RCODE_##name = (number),
	KNOT_RCODE_ROWS(KNOT_RCODE_NUMBER)
#undef KNOT_RCODE_NUMBER
} knot_rcode_t;

/** Slots of a table of counts: one per rcode above, by its number, and two more. */
enum {
	/* TSIG's BADSIG has the number of BADVERS, 16. As in Knot it is counted under this one, which no rcode has. */
	KNOT_RCODE_SLOT_BADSIG = 15,
	KNOT_RCODE_SLOT_OTHER = 24, /* all codes without a name */
	KNOT_RCODE_SLOTS,
};

/** Slot of an rcode: below KNOT_RCODE_SLOTS. Slots 11 to 14 stay empty, as these codes are unassigned. */
static inline unsigned knot_rcode_slot(uint16_t rcode)
{
	bool has_slot = rcode < KNOT_RCODE_SLOT_OTHER &&
			(rcode <= KNOT_RCODE_NOTZONE || rcode >= KNOT_RCODE_SLOT_BADSIG);
	return has_slot ? rcode : KNOT_RCODE_SLOT_OTHER;
}

/** Text of a slot as statistics show it: "NOERROR", "other". Static; NULL: the slot stays empty. */
KNOT_EXPORT const char *knot_rcode_slot_name(unsigned slot);
