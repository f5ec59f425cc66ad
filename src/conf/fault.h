/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Reporting a fault of a configuration to a sink: the message is made of the place and the reason, see conf_fault_t.
 *
 * Pure but for the call of the sink. Values and identifiers are cut after 300 bytes in the message, and whole in the
 * fault's members. The message goes to the log, so it leaves out what may be a secret: one with a wrong character is
 * wrong for the server only.
 */
#pragma once

#include "src/conf/conf.h"

#include <stdarg.h>

/** The place of a fault; borrowed. NULL: not known, or not concerned. */
typedef struct {
	const char *file; /* NULL: not from a file */
	size_t line;
	const char *section, *id, *item, *value;
	const char *hint; /* NULL or "": there is none */
} conf_place_t;

/** Report a fault of an item, with its value if there is one; without an item, of a block; without a section, of the
 * line. Returns err. */
knot_err_t conf_tell(conf_sink_t sink, conf_severity_t severity, knot_err_t err, const conf_place_t *place,
		const char *reason);

/** Report a fault with a message of its own. reason: may be NULL. Returns err. */
__attribute__((format(printf, 6, 7))) knot_err_t conf_tell_text(conf_sink_t sink, conf_severity_t severity,
		knot_err_t err, const conf_place_t *place, const char *reason, const char *format, ...);
