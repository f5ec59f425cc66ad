/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The signer: keys' records at the apex, the chain of NSEC or NSEC3, and signatures, as changes of a zone.
 *
 * It reads the records as they are in a transaction, and the plan; it knows neither policy nor clock nor key database.
 * What is right already stays, so that a change is as small as it can be. SOA and ZONEMD are signed as all the rest:
 * put the placeholder of a ZONEMD before, and after the serial and the digest are set, call sign_apex_set(). Any
 * thread, one call at a time for a transaction; sign_zone() uses others beside it. Nothing is published or logged. RFC
 * 4034, 4035, 5155, 6781.
 */
#pragma once

#include "src/sign/plan.h"
#include "src/zone/builder.h"
#include "src/zone/txn.h"

/** Records go to a builder, in which they may come in any order. */
sign_sink_t sign_to_builder(zone_builder_t *builder);

/**
 * Sign the whole zone. sink NULL: the transaction is changed. Otherwise the sink gets all records of the signed
 * zone, which the transaction then needn't hold: for a zone that is signed for the first time, or goes to a file; of
 * the transaction only the apex is changed. Cost: time of the signatures that have to be made or verified, and a walk;
 * memory for 24 bytes for each name of an NSEC3 chain, and for what is changed. KNOT_ENOSOA: the zone has no SOA.
 * KNOT_ENAMELEN: its name is too long for NSEC3. KNOT_ENOMEM, errors of libdnssec and of the sink: discard the
 * transaction and what the sink has got.
 */
KNOT_MUST_USE knot_err_t sign_zone(
		zone_txn_t *txn, const sign_sink_t *sink, const sign_plan_t *plan, sign_result_t *ret_result);

/**
 * Sign what a transaction changed on top of a version that sign_zone() signed by the same plan, but for times.
 * *ret_all: the change was one of keys, of the chain or of its TTL, and so the whole zone was signed. Cost: that of the
 * change, unless *ret_all; a delegation that comes or goes counts the names below it. earliest_expiration_s: of the
 * names that were changed. Errors as above.
 */
KNOT_MUST_USE knot_err_t sign_change(
		zone_txn_t *txn, const sign_plan_t *plan, bool *ret_all, sign_result_t *ret_result);

/** Sign one RRset of the apex anew: SOA after the step of the serial, ZONEMD after the digest. Its old signatures go.
 * Errors as above. */
KNOT_MUST_USE knot_err_t sign_apex_set(
		zone_txn_t *txn, uint16_t type, const sign_plan_t *plan, sign_result_t *ret_result);
