/* SPDX-License-Identifier: BSD-2-Clause */
/** Names of the numbers in messages, as Knot's utilities print them. Constant tables; any thread. */
#pragma once

#include "libknot/msg/query.h"

/** Room for a name below, with the NUL. */
enum { PRESENT_CODE_MAX = 16 };

/** "QUERY", or "OPCODE 3". Returns ret_text or a static text. */
const char *present_opcode(unsigned opcode, char ret_text[static PRESENT_CODE_MAX]);

/** "NOERROR", or "RCODE 11"; an extended one, 0 to 4095. */
const char *present_rcode(unsigned rcode, char ret_text[static PRESENT_CODE_MAX]);

/** "BADSIG": of the error in a TSIG (RFC 8945 3), which calls 16 so; "Unknown". Static. */
const char *present_tsig_error(unsigned error);

/** What an extended DNS error (RFC 8914 4, IANA's registry) means; NULL: no such code. Static. */
const char *present_ede(unsigned code);
