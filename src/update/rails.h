/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Guard rails: what a new version of a zone must keep of the one that is served, as `publish-max-shrink` and
 * `publish-require` say. A version that breaks a rail isn't published.
 *
 * Rails hold for what replaces a version. If nothing is served, any version is better than none, and a broken rail is
 * only mentioned. Pure; from counts that versions keep and records of the apex, so the cost doesn't follow the size of
 * the zone, but for CONF_REQUIRE_NEWER_SERIAL when the serial stays: then the versions are compared (zone/diff.h).
 * doc/adr/0037-guard-rails-and-history.md
 */
#pragma once

#include "src/conf/conf.h"
#include "src/zone/contents.h"

/** A value; all 0: no rails. */
typedef struct {
	unsigned kept_min; /* percent of the records that must stay: what publish-max-shrink leaves */
	unsigned required; /* CONF_REQUIRE_… */
} rails_policy_t;

enum { RAILS_REASON_MAX = 256 };

/**
 * Check a new version against the one that is served; old NULL: none is.
 *
 * KNOT_OK: publish it. If it breaks a rail all the same, as it was forced or as nothing is served, ret_reason says
 * which; else that is "". KNOT_EGUARDRAIL: it breaks the rail that ret_reason names. KNOT_ENOMEM, if versions had to be
 * compared: not checked.
 */
KNOT_MUST_USE knot_err_t rails_check(const rails_policy_t *policy, const zone_contents_t *old,
		const zone_contents_t *next, bool is_forced, char ret_reason[static RAILS_REASON_MAX]);
