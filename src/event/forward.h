/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Dynamic updates of secondary zones, which their primary applies (doc/adr/0049-forwarding-of-updates.md).
 * Internal to src/event.
 */
#pragma once

#include "src/event/internal.h"

/**
 * Forward the requests, if that is what is to be done with those of this zone: to its `ddns-master`, or else to its
 * first `master`. Each is answered with what that server says, by the thread of src/remote. False: the zone is
 * primary, or its configuration says that they are applied here; the caller still has them.
 */
bool forward_updates(server_t *server, knot_name_t zone, update_list_t *list);
