/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Whether a tool prints colours unless an option says so: on a terminal that has them, to a user who wants them.
 */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** NO_COLOR: a user who doesn't want colours in any program sets it to anything but "" (no-color.org). */
static inline bool colors_are_refused(void)
{
	const char *refused = getenv("NO_COLOR");
	return refused != NULL && *refused != '\0';
}

/** Standard output is a terminal, TERM doesn't say that it is a plain one, and nobody refuses them. */
static inline bool colors_are_wanted(void)
{
	const char *terminal = getenv("TERM");
	bool is_plain = terminal != NULL && strcmp(terminal, "dumb") == 0;
	return isatty(STDOUT_FILENO) != 0 && !is_plain && !colors_are_refused();
}
