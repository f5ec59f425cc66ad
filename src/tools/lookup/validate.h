/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * +validate: the signatures in a reply and what it denies are checked by the keys of the zones that signed, which are
 * asked for from the same server. There is no chain of trust: who controls the server controls the keys.
 *
 * The code for keys is in the shared library libbowline-dnssec, which is loaded when it is needed: it takes longer to
 * load than a question to answer.
 */
#pragma once

#include "src/tools/lookup/ask.h"

/** Check a reply and tell about it, behind what was printed of it. False: it is bogus, or can't be checked. */
bool lookup_validate(ask_t *ask, const present_message_t *reply);
