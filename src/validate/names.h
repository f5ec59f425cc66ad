/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: one name in the chain of NSEC or NSEC3: whether its record is there, is the only one, has the right bitmap,
 * and whether it may lack one. Links between records are for others.
 */
#pragma once

#include "src/validate/chain.h"

/** A name of the tree `auth` in a zone with NSEC. Errors as validate_zone(). */
KNOT_MUST_USE knot_err_t validate_name_nsec(validate_checker_t *checker, const zone_node_t *node);

/** A name below a cut, which has none. */
KNOT_MUST_USE knot_err_t validate_below_nsec(validate_checker_t *checker, const zone_node_t *node);

/** A name of the tree `auth` in a zone with NSEC3. chain NULL: its records are looked up in the version. */
KNOT_MUST_USE knot_err_t validate_name_nsec3(
		validate_checker_t *checker, const validate_chain_t *chain, const zone_node_t *node);

/** Whether a name of the tree `auth` is in a chain of NSEC. RFC 4035 2.3. */
static inline bool validate_is_member(const zone_contents_t *zone, const zone_node_t *node)
{
	return validate_has_data(zone, node);
}
