/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Typed blocks of the sections key, remote, remotes and acl: what zones refer to. Part of a snapshot (conf.h), with
 * its lifetime: references between blocks are pointers. A zone that refers to none of them has none of their cost.
 *
 * A list whose data is NULL wasn't set. One that was set may have no elements: of references that lead nowhere, as the
 * section was cleared after them. So a rule that had keys is never taken for one without.
 */
#pragma once

#include "libknot/msg/sign.h"

#include <net/if.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>

/** A socket address to bind to or to connect to. */
typedef struct {
	struct sockaddr_storage ss; /* AF_INET or AF_INET6 with port (and scope id for link-local), or AF_UNIX */
	socklen_t len;              /* valid bytes of `ss`, what bind() wants */
	char device[IF_NAMESIZE];   /* "" or the interface to bind a wildcard address to (0.0.0.0%eth0, ::%eth0) */
} conf_addr_t;

typedef struct {
	const conf_addr_t *data;
	size_t count;
} conf_addrs_t;

/** Which options of a list are set: bit n for the option with number n. */
typedef struct {
	uint32_t bits;
} conf_set_t;

/** Which options of a list are set: their numbers joined with |. */
typedef struct {
	uint32_t bits;
} conf_bits_t;

/** A block of section `key`. */
typedef struct {
	knot_tsig_key_t tsig;
	uint8_t number; /* of the algorithm as configured; use tsig.algorithm */
} conf_key_t;

typedef struct {
	const conf_key_t *const *data;
	size_t count;
} conf_keys_t;

/** A block of section `remote`. */
typedef struct {
	const char *id;
	conf_addrs_t addresses; /* port 53 where none was given */
	conf_addrs_t via;
	conf_keys_t key; /* at most one */
	bool quic, tls;
	bool has_cert; /* names keys or hosts of certificates */
	bool block_notify_after_transfer, no_edns, automatic_acl;
} conf_remote_t;

/** What a reference to a remote or to a group of them names: a block of section `remote` is a group of one. */
typedef struct {
	const char *id;
	const conf_remote_t *const *remotes;
	size_t count;
} conf_group_t;

typedef struct {
	const conf_group_t *const *data;
	size_t count;
} conf_groups_t;

/** Addresses of one family, from `first` to `last`, or those of UNIX sockets. IPv4: the first four bytes. */
typedef struct {
	sa_family_t family; /* AF_INET, AF_INET6 or AF_UNIX */
	uint8_t first[16], last[16];
} conf_net_t;

typedef struct {
	const conf_net_t *data;
	size_t count;
} conf_nets_t;

/** Sources: addresses, or a UNIX socket by its path. */
typedef struct {
	conf_net_t net;
	const char *path; /* AF_UNIX; else NULL */
} conf_peer_t;

typedef struct {
	const conf_peer_t *data;
	size_t count;
} conf_peers_t;

typedef struct {
	const uint16_t *data;
	size_t count;
} conf_types_t;

/** A name that may be relative to a zone: its wire form, lower case, then with the root label behind its labels. */
typedef struct {
	knot_name_t name;
	bool is_relative;
} conf_owner_t;

typedef struct {
	const conf_owner_t *data;
	size_t count;
} conf_owners_t;

/** Numbers of the options of `action`. */
typedef enum { CONF_ACTION_QUERY, CONF_ACTION_NOTIFY, CONF_ACTION_TRANSFER, CONF_ACTION_UPDATE } conf_action_t;
/** Numbers of the options of `protocol`. */
enum { CONF_OVER_UDP = 1, CONF_OVER_TCP = 2, CONF_OVER_TLS = 4, CONF_OVER_QUIC = 8 };
/** Numbers of the options of `update-owner`; 0: not set. */
typedef enum { CONF_OWNER_ANY, CONF_OWNER_KEY, CONF_OWNER_ZONE, CONF_OWNER_NAME } conf_update_owner_t;
/** Numbers of the options of `update-owner-match`. */
typedef enum { CONF_MATCH_SUB_OR_EQUAL, CONF_MATCH_EQUAL, CONF_MATCH_SUB, CONF_MATCH_PATTERN } conf_update_match_t;

/** A block of section `acl`. */
typedef struct {
	const char *id;
	conf_peers_t addresses;
	conf_keys_t keys;
	conf_groups_t remotes;
	conf_set_t actions;    /* 1 << CONF_ACTION_… */
	conf_bits_t protocols; /* CONF_OVER_…; 0: any */
	bool has_cert;         /* names keys or hosts of certificates */
	bool deny;
	conf_types_t update_types;
	uint8_t update_owner; /* conf_update_owner_t */
	uint8_t update_match; /* conf_update_match_t */
	conf_owners_t update_names;
} conf_acl_t;

typedef struct {
	const conf_acl_t *const *data;
	size_t count;
} conf_acls_t;

/** A block of section `external`. Files: with formatters, use conf_zone_path(); NULL: not written. */
typedef struct {
	const char *id;
	uint32_t timeout_s;
	const char *dump_new_zone, *dump_removals, *dump_additions;
} conf_external_t;

typedef struct {
	const conf_external_t *const *data;
	size_t count;
} conf_externals_t;
