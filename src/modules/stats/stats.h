/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * mod-stats: counts requests and replies by protocol, operation, size, code, type and options.
 *
 * Items, their sub-keys and how each is counted are rows of a table in stats.c. Only items that are switched on take
 * memory and time. Counting never blocks and never writes a line that another thread writes.
 */
#pragma once

#include "src/modules/module.h"

extern const module_api_t module_stats_api;
