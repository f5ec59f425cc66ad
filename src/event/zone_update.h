/* SPDX-License-Identifier: BSD-2-Clause */
/** Dynamic updates of zones: from transports to the event that applies them. */
#pragma once

#include "src/event/server.h"
#include "src/event/updates.h"

/** Let an update wait for its zone: see update_sink_t. Takes the lock of the jobs. */
KNOT_MUST_USE update_put_t server_update_put(server_t *server, knot_name_t zone, update_request_t *take_request);

/** The sink for transports; valid as long as the server. After server_stop() it takes no request. */
update_sink_t server_update_sink(server_t *server);
