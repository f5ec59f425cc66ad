/* SPDX-License-Identifier: BSD-2-Clause */
/** Formatters of `zone.file`; conf_zone_file() of conf.h expands them. */
#pragma once

typedef enum {
	CONF_ZONEFILE_OK,
	CONF_ZONEFILE_IGNORED, /* an unknown formatter, or a percent sign at the end: left out */
	CONF_ZONEFILE_INVALID, /* an index that is not [N] or [N-M]: no zone file can be named */
} conf_zonefile_verdict_t;

/** The worst that is wrong with a format, whatever the zone. */
conf_zonefile_verdict_t conf_zonefile_check(const char *format);
