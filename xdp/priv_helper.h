/* SPDX-License-Identifier: BSD-2-Clause */
/** The helper's process: see priv.h for what it is, priv_wire.h for what it is asked. */
#pragma once

#include "xdp/priv_wire.h"

/**
 * Be the helper: give up what isn't needed, serve requests from `fd` until its other end closes, clean up. detached:
 * keep no standard stream open. Never returns; the process ends.
 */
_Noreturn void kxdp_priv_helper(int fd, const priv_policy_t *policy, char **argv, bool detached);
