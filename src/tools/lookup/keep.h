/* SPDX-License-Identifier: BSD-2-Clause */
/** Internal: the connection that +keepopen leaves for the next query. */
#pragma once

#include "src/tools/lookup/lookup.h"

/** Keep a connection, instead of the one that is kept. params: copied with its strings, but for `trust`. */
void lookup_keep(lookup_t *lookup, exchange_t *take_exchange, const exchange_params_t *params);

/** Close the connection that is kept, if there is one. */
void lookup_drop_kept(lookup_t *lookup);

/** True if a connection with these parameters is as good as one with those. */
bool lookup_may_share(const exchange_params_t *a, const exchange_params_t *b);
