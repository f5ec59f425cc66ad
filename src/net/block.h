/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Block rules as a list: those of the configuration and those set at run time, merged. Pure.
 *
 * A list is in order of prefixes (address, then length) and has no prefix twice. A rule of the run time hides the one
 * of the configuration with the same prefix.
 */
#pragma once

#include "src/net/net.h"

typedef struct {
	net_block_t *rules; /* owned */
	size_t count;
} block_list_t;

void block_list_done(block_list_t *list);

/** The rule with this prefix, NULL: none. */
net_block_t *block_list_find(const block_list_t *list, const conf_xdp_block_t *rule);

/** Add a rule with its counters at 0, or replace the one with this prefix. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t block_list_set(block_list_t *list, const net_block_t *rule);

/** Remove the rule with this prefix. False: there is none. */
bool block_list_remove(block_list_t *list, const conf_xdp_block_t *rule);

/** *ret_list: another list with the same rules. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t block_list_copy(const block_list_t *list, block_list_t *ret_list);

/** What is in force. *ret_list: another list. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t block_list_merge(conf_xdp_blocks_t conf, const block_list_t *run_time, block_list_t *ret_list);
