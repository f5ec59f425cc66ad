/* SPDX-License-Identifier: BSD-2-Clause */
/** Messages as JSON (RFC 8427), with the members of Knot's kdig in its order. Pure. */
#pragma once

#include "libknot/base/json.h"
#include "src/present/read.h"
#include "src/present/style.h"

#include <time.h>

/**
 * One message as an object, the member `name` of the open object, or (NULL) an element of the open list or the whole
 * document. when: in the user's zone; when_s: the same as UNIX time. What couldn't be read or follows the last record
 * is in messageOctetsHEX.
 */
void present_json_put(knot_json_t *json, const char *name, const present_style_t *style,
		const present_message_t *message, const struct tm *when, time_t when_s);
