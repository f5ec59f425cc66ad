/* SPDX-License-Identifier: BSD-2-Clause */
/** Serial numbers of zones (RFC 1982): the next one, and reading and setting the serial of a transaction. No state. */
#pragma once

#include "src/conf/conf.h"
#include "src/zone/txn.h"

/** True if `a` is newer than `b` (RFC 1982 3.2). */
bool update_serial_is_newer(uint32_t a, uint32_t b);

/** The lowest serial from `serial` on that the rule allows; when they wrap around, the lowest of all. */
uint32_t update_serial_allowed(uint32_t serial, const conf_serial_rule_t *rule);

/**
 * The serial of the version after the one with `serial`: what the rule's policy says and its shift, or `serial` + 1 if
 * that isn't newer; and from there on the first one that is allowed. now_s: seconds since 1970. Dates are in UTC.
 */
uint32_t update_serial_next(uint32_t serial, const conf_serial_rule_t *rule, uint64_t now_s);

/** The serial in a transaction. False: no SOA, or out of memory. origin: the apex, lower case. */
bool update_serial(const zone_txn_t *txn, knot_name_t origin, uint32_t *ret_serial);

/** Give the SOA in a transaction another serial. KNOT_ENOSOA. KNOT_ENOMEM: the SOA may be gone, so discard the
 * transaction. */
KNOT_MUST_USE knot_err_t update_set_serial(zone_txn_t *txn, knot_name_t origin, uint32_t serial);
