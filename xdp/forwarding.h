/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The kernel's route look-up from the XDP program as if the packet came from this machine (interface lo), so that
 * policy rules for local packets apply. It answers only for an interface that forwards: net.ipv4.conf.lo.forwarding and
 * net.ipv6.conf.lo.forwarding are set to 1 while it is needed and restored afterwards. Alone this forwards nothing:
 * what arrives elsewhere is judged by that interface's setting, and nothing but this machine's own packets arrives on
 * lo.
 *
 * Where it can't be set (read-only /proc/sys), the program leaves replies to the kernel: slower, not wrong.
 */
#pragma once

#include <stdint.h>

typedef struct {
	unsigned users;
	int8_t before[2]; /* per family: the value to restore, -1: none */
} kxdp_forwarding_t;

/** One more user. */
void kxdp_forwarding_hold(kxdp_forwarding_t *f);

/** One less; the last one restores. */
void kxdp_forwarding_release(kxdp_forwarding_t *f);
