/* SPDX-License-Identifier: BSD-2-Clause */
/** The calendar of a zone's keys (src/keys/plan.h), as the running server will act by it. Any thread, outside of read
 * sections; the key database is read. */
#pragma once

#include "src/event/server.h"
#include "src/keys/plan.h"

/** Make it; free it with keys_plan_done(). KNOT_ENOZONE. KNOT_ENOTSUP: the zone isn't signed here. Errors of the key
 * database and of keys_plan(). */
KNOT_MUST_USE knot_err_t server_plan_keys(server_t *server, knot_name_t name, keys_plan_t *ret_plan);
