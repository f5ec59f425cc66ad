/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Whether the parent has the DS record of a KSK that waits for it (conf `submission`). Internal to src/event.
 *
 * The event `DS-check` begins a question (question.h), which asks all parents one after the other without holding the
 * zone. When it has found all of them to have the record, the event comes a second time and confirms the key in the
 * zone's turn; if not, it comes again later. RFC 7344 and 7583 3.3 have the reasons.
 */
#pragma once

#include "src/event/internal.h"
#include "src/keys/zone_keys.h"

/** True if a key of the set waits for a parent that can be asked. */
bool ds_check_is_due(const conf_policy_t *policy, const keys_set_t *set, uint64_t now_s);
