/* SPDX-License-Identifier: BSD-2-Clause */
/** What a device's driver can do with XDP. Internal to xdp/. */
#pragma once

#include <stdbool.h>

/** XDP features as the kernel tells them (netdev family of generic netlink, Linux 6.3). */
typedef struct {
	bool native;
	bool redirect;
	bool transmit; /* ndo_xdp_xmit() is ready: it sends what is redirected to it */
	bool zero_copy;
} kxdp_features_t;

/** False: the kernel doesn't tell. */
bool kxdp_features_query(unsigned ifindex, kxdp_features_t *ret_features);
