/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Exchange of DNSKEY, CDNSKEY and CDS records among several signers of one zone (conf `dnskey-sync`; RFC 8901 model 2).
 * Internal to src/event.
 *
 * Each signer owns the keys whose tags fit its `keytag-modulo`. It asks the others for their records, compares those of
 * its own keys with what it has, and sends what differs by dynamic update.
 */
#pragma once

#include "src/event/internal.h"

/** Plan the event after a version was signed. In the zone's turn. */
void dnskey_sync_follow(server_t *server, entry_t *entry, const conf_policy_t *policy) SYS_EXCLUDES(server->jobs.lock);
