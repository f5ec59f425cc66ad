/* SPDX-License-Identifier: BSD-2-Clause */
/** Capabilities of the helper: what it keeps, and the one that it has at hand but switched off. */
#pragma once

#include <stdbool.h>

/** True if this process has a privilege that a helper would be good for. */
bool kxdp_caps_any(void);

/**
 * Give up all but CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF, CAP_PERFMON, CAP_IPC_LOCK, CAP_NET_BIND_SERVICE, and
 * CAP_SYS_ADMIN, which is switched off (unless CAP_BPF or CAP_PERFMON are missing). What isn't there stays away.
 */
void kxdp_caps_limit(void);

/**
 * Switch CAP_SYS_ADMIN on or off, if it is there. On only while looking at programs that others attached
 * (BPF_PROG_GET_FD_BY_ID, BPF_MAP_GET_FD_BY_ID), which nothing less allows.
 */
void kxdp_caps_admin(bool on);
