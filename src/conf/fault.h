/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Tell a sink of something wrong in a configuration: the message is made of the place and the reason, see conf_fault_t.
 *
 * Pure but for the call of the sink. Values and identifiers are cut after 300 bytes in the message, and whole in the
 * fault's members.
 */
#pragma once

#include "src/conf/conf.h"

#include <stdarg.h>

/** Where something is wrong; borrowed. NULL: not known, or not about one. */
typedef struct {
	const char *file; /* NULL: not from a file */
	size_t line;
	const char *section, *id, *item, *value;
	const char *hint; /* NULL or "": there is none */
} conf_place_t;

/** About an item, with its value if there is one; without an item about a block; without a section about the line.
 * Returns err. */
knot_err_t conf_tell(conf_sink_t sink, conf_severity_t severity, knot_err_t err, const conf_place_t *place,
		const char *reason);

/** With a message in words of its own. reason: may be NULL. Returns err. */
__attribute__((format(printf, 6, 7))) knot_err_t conf_tell_text(conf_sink_t sink, conf_severity_t severity,
		knot_err_t err, const conf_place_t *place, const char *reason, const char *format, ...);
