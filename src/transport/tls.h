/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * DNS over TLS: framed messages (RFC 7858 3.3) in TLS 1.3 or 1.2, profiles of RFC 8310.
 *
 * A client's messages that are put before the handshake leave right behind it, or as early data (RFC 8446 2.3) if
 * params->uses_early_data and they fit; if the server doesn't take those, they are sent again after the handshake. A
 * client sends nothing before transport_pending() is called for the first time: what is to be early data must be put
 * before that. ALPN is "dot" (RFC 7301); a peer that doesn't know it is good, too.
 */
#pragma once

#include "src/transport/tls_params.h"

/** KNOT_EINVAL: hostname, sni or ticket can't be used; KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t transport_tls_new(const transport_tls_params_t *params, transport_t **ret_t);
