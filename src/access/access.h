/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Who may do what with a zone: facts about a request and the zone's settings → verdict.
 *
 * The rules are the typed blocks of the configuration (src/conf/rules.h); nothing is compiled per zone, so zones
 * without rules cost nothing, and a request that needs no permission never comes here (doc/adr/0039). Pure: no state,
 * clock, allocation; any thread that may read the snapshot. The MAC of a signed request is verified afterwards, with
 * the key that the verdict names (src/answer). Cost: the rules that are looked at, each with its lists.
 */
#pragma once

#include "src/conf/conf.h"

/** What is known of a request. */
typedef struct {
	conf_action_t action;
	unsigned protocol;             /* one of CONF_OVER_… */
	const struct sockaddr *source; /* borrowed: AF_INET, AF_INET6, AF_UNIX; NULL matches no address */
	const knot_tsig_t *tsig;       /* borrowed: as read of the message; NULL: unsigned */
	knot_bytes_t message;          /* UPDATE: the whole message, which was parsed well */
} access_facts_t;

typedef struct {
	bool is_allowed;
	bool is_automatic;           /* allowed by automatic-acl, without a rule */
	const conf_acl_t *rule;      /* that decided; NULL: none did */
	const conf_remote_t *remote; /* that matched, of the rule or of automatic-acl; NULL: none */
	const conf_key_t *key; /* allowed: to verify the request with; NULL: it isn't signed, or updates are forwarded
				  and the key is the primary's */
} access_verdict_t;

/**
 * Decide. has_automatic: server.automatic-acl. The first remote that automatic-acl allows, else the first rule that
 * matches, decides; if there is none, the request is denied.
 */
access_verdict_t access_check(bool has_automatic, const conf_zone_t *zone, const access_facts_t *facts);
