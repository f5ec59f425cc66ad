/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * For the oracle: what semantic checks say of a version, and whether the check of a commit says what the check of the
 * whole zone says, as far as the change can have broken it.
 *
 * A commit looks at the names that it touches. What refers to them is looked at when the whole zone is checked: names
 * of servers, NSEC3 records of which other names depend, the chain of a zone whose apex has just become signed. All
 * this is optional and never refuses a version.
 */
#pragma once

#include "src/zone/check.h"

enum { SAID_MAX = 400, SAID_TEXT_MAX = 200, SAID_OWNERS_MAX = 400 };

typedef struct {
	size_t count;
	char texts[SAID_MAX][SAID_TEXT_MAX];
	char owners[SAID_MAX][SAID_TEXT_MAX]; /* beside texts; "": none */
} said_t;

/** A zone_message_cb with a said_t. */
void said_add(const zone_message_t *message, void *said);

/** Names whose records a commit changes. */
typedef struct {
	size_t count;
	char owners[SAID_OWNERS_MAX][SAID_TEXT_MAX];
} said_touched_t;

void said_touch(said_touched_t *touched, knot_name_t owner);

/**
 * NULL, or what is wrong with what a commit said. whole: of the new version; before: of the one before.
 * ret_text: the message that is missing, or shouldn't be there.
 */
const char *said_fault(const said_t *commit, const said_t *whole, const said_t *before, const said_touched_t *touched,
		const char **ret_text);
