/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Keys whose last step isn't served. A rollover goes on when caches have what its last step made, and counts that from
 * a timer. If the version with the step was refused, or could not be signed, caches have had nothing of it: the key has
 * to wait, as otherwise the version in the end takes two steps at once. Pure; any thread. RFC 7583 3.
 */
#pragma once

#include "src/keys/caches.h"

/**
 * The timer of the key's last step, if the version that is served doesn't show that step; it is to be set to now_s.
 * asks_parent: a KSK that is ready has CDS or CDNSKEY. NULL: the step is served, or nothing counts on it, or nothing is
 * served.
 */
uint64_t *keys_unserved_timer(kasp_key_t *key, const keys_view_t *served, bool asks_parent, uint64_t now_s);
