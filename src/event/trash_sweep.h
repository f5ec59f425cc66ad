/* SPDX-License-Identifier: BSD-2-Clause */
/** Deleted keys whose time in the trash is over: their private keys go. Part of the event `re-sign` of any zone. */
#pragma once

#include "src/event/internal.h"
#include "src/keys/zone_keys.h"

enum { TRASH_SWEEP_S = 3600 /* between two sweeps */ };

/** Discard what has expired, of all zones, unless that was done within the last hour. like: configuration, database and
 * time. A failure is logged, and the key tried again the next time. */
void trash_sweep(server_t *server, const zone_keys_env_t *like) SYS_EXCLUDES(server->kasp_lock);
