/* SPDX-License-Identifier: BSD-2-Clause */
/** Serial numbers of zones (RFC 1982): the next one, and reading and setting the serial of a transaction. No state. */
#pragma once

#include "src/conf/conf.h"
#include "src/zone/txn.h"

/** True if `a` is newer than `b` (RFC 1982 3.2). */
bool update_serial_is_newer(uint32_t a, uint32_t b);

/**
 * The serial of the version after the one with `serial`: by the policy, or `serial` + 1 if the policy's number isn't
 * newer. now_s: seconds since 1970. Dates are in UTC.
 */
uint32_t update_serial_next(uint32_t serial, conf_serial_policy_t policy, uint64_t now_s);

/** The serial in a transaction. False: no SOA, or out of memory. origin: the apex, lower case. */
bool update_serial(const zone_txn_t *txn, knot_name_t origin, uint32_t *ret_serial);

/** Give the SOA in a transaction another serial. KNOT_ENOSOA. KNOT_ENOMEM: the SOA may be gone, so discard the
 * transaction. */
KNOT_MUST_USE knot_err_t update_set_serial(zone_txn_t *txn, knot_name_t origin, uint32_t serial);
