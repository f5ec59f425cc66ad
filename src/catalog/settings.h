/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The settings of a zone, whether it is configured or a catalog lists it: the one place that knows both ways.
 *
 * The configuration wins over catalogs. Pure; any thread.
 */
#pragma once

#include "src/conf/conf.h"
#include "src/zone/zonedb.h"

/**
 * The settings of a zone that isn't configured: those of its catalog's template. False: no catalog of this
 * configuration lists it. Within a read section, or by the writer of zone_set_member(). *ret_zone lives as long as
 * `conf` and the zone.
 */
static inline bool catalog_member_settings(const conf_t *conf, const zone_t *zone, conf_zone_t *ret_zone)
{
	const zone_member_t *member = zone_member(zone);
	return member != NULL &&
	       conf_member(conf, zone_name(zone), zone_member_catalog(member), zone_member_group(member), ret_zone);
}

/** True if queries for the zone need permission: it says which zones servers have. */
static inline bool catalog_is_restricted(const conf_zone_t *zone)
{
	return zone->catalog_role == CONF_CATALOG_INTERPRET || zone->catalog_role == CONF_CATALOG_GENERATE;
}

/** The settings of any zone. False: it is gone. Else as above. */
static inline bool catalog_zone_settings(const conf_t *conf, const zone_t *zone, conf_zone_t *ret_zone)
{
	size_t index;
	if (!conf_zone_find(conf, zone_name(zone), &index)) {
		return catalog_member_settings(conf, zone, ret_zone);
	}
	*ret_zone = conf_zone(conf, index);
	return true;
}
