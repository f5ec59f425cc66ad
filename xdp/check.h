/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Self-test before one goes live: what kernel, process and interface offer to XDP, what is in the way, and what to do.
 *
 * Changes nothing and opens nothing that lasts; reads netlink, ethtool, /proc and /sys in the caller's network
 * namespace. What the caller may not see (programs' names, for example) is left out and said. Any thread; takes some
 * milliseconds.
 */
#pragma once

#include "libknot/base/err.h"

#include <net/if.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
	KXDP_CHECK_OK,
	KXDP_CHECK_WARNING, /* works, but slower or not as one may think */
	KXDP_CHECK_ERROR,   /* XDP can't work like this: ordinary sockets will serve */
} kxdp_severity_t;

/** "ok", "warning", "error"; static. */
const char *kxdp_severity_name(kxdp_severity_t severity);

typedef struct {
	const char *id; /* what was looked at, "driver", "channels", …: stable, for scripts; static */
	kxdp_severity_t severity;
	char text[192];   /* what was found: "4 channels of 8"; without final dot */
	char advice[224]; /* what to do, usually a command; "" when there is nothing to do */
} kxdp_finding_t;

enum {
	KXDP_FINDINGS_MAX = 64, /* more than one call returns */
};

typedef struct {
	const char *ifname; /* NULL: kernel and process only */
	uint32_t ring_size; /* as configured (xdp.ring-size): how much memory is locked; 0: the default */
} kxdp_check_t;

/**
 * Look at everything.
 *
 * ret_findings[0..max): filled in, in a fixed order. Returns their number. An interface that doesn't exist is a finding
 * (KXDP_CHECK_ERROR, "interface"). The whole can't work if any of them is KXDP_CHECK_ERROR.
 */
size_t kxdp_check(const kxdp_check_t *check, kxdp_finding_t *ret_findings, size_t max);

/** Interfaces that may be checked when none was named: all that are up but loopback. Returns their number. */
size_t kxdp_check_interfaces(char (*ret_names)[IF_NAMESIZE], size_t max);
