/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * VLAN devices of the host, so that a route which names one (`dev eth0.5`) becomes the device below and a tag.
 *
 * An immutable table, which its maker publishes (RCU). Parsing is pure; vlan_table_new() gets the devices from the
 * kernel by rtnetlink.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"
#include "xdp/path.h"

#include <stdbool.h>
#include <stddef.h>

enum { VLAN_DEVICES_MAX = 4096 };

/** A device made by `ip link add … type vlan`. */
typedef struct {
	uint32_t ifindex;
	uint32_t lower_ifindex; /* the device it is made on; may be a VLAN device itself */
	kxdp_tag_t tag;         /* priority 0 */
} vlan_device_t;

typedef struct {
	size_t count;
	vlan_device_t devices[]; /* by ifindex */
} vlan_table_t;

/** The VLAN devices of this network namespace now. Free with free(). KNOT_ENOMEM, errors of sockets. */
KNOT_MUST_USE knot_err_t vlan_table_new(vlan_table_t **ret_table);

/**
 * Read the devices again and publish them in *table_rcu (free with free()) if they have changed; none when they are not
 * wanted. By one thread at a time, registered for RCU, not within a read section. On failure the old ones stay.
 */
void vlan_follow(vlan_table_t **table_rcu, bool wanted);

/** A table of devices[0..count), in any order; NULL: no memory. */
vlan_table_t *vlan_table_of(const vlan_device_t *devices, size_t count);

/**
 * Turn a path that names a VLAN device into one that names the device below, with the tags in front. Paths of other
 * devices stay as they are. False: more VLAN devices on each other than KXDP_TAGS_MAX. table: NULL: empty.
 */
bool vlan_resolve(const vlan_table_t *table, kxdp_path_t *path);

/** Where devices are gathered. */
typedef struct {
	vlan_device_t *devices; /* [max] */
	size_t count, max;
} vlan_gather_t;

/** Add the VLAN device that a message of the answer to RTM_GETLINK is about; ctx: vlan_gather_t. See sys/netlink.h. */
void vlan_see(unsigned type, knot_bytes_t body, void *ctx);
