/* SPDX-License-Identifier: BSD-2-Clause */
/** Internal: a question beside the one that was asked, to the same server in the same way; nothing is printed. */
#pragma once

#include "src/tools/lookup/ask.h"

/**
 * Ask for a name and a type, with DO. False: there was no good reply. *ret_reply points into memory that the next call
 * uses again.
 */
bool lookup_fetch(ask_t *ask, const char *name, uint16_t type, present_message_t *ret_reply);
