/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The kernel program on one interface, as the helper holds it: loaded, attached, configured.
 *
 * Needs the privileges of kxdp.h. One thread. Arguments come from requests that passed priv_wire.h's checks.
 */
#pragma once

#include "xdp/bpf/abi.h"
#include "xdp/priv_wire.h"
#include "xdp/socket.h"

struct bpf_object;
struct xdp_program;

typedef struct {
	char name[IF_NAMESIZE];
	unsigned index;
	uint32_t queue_max; /* that the maps have room for */
	bool native;
	struct bpf_object *object;  /* owned */
	struct xdp_program *shared; /* owned; in libxdp's dispatcher; NULL: on a link of its own */
	bool plain;                 /* the program that can't do route check */
	int name_fd;                /* owned: says that we live, when shared; else -1 */
	int link_fd;                /* owned; -1 when shared */
	int sockets_fd, config_fd, active_fd, counts_fd, rules_fd, prefixes_fd, known_fd; /* of `object` */
	struct filter_config config;
	uint32_t active;                /* slot of filter_config in use */
	struct filter_rule *rules;      /* mapped: FILTER_RULE_MAX */
	struct filter_prefix *prefixes; /* owned: FILTER_RULE_MAX, by index in `rules` */
	bool *rules_used;               /* owned: 〃 */
	uint32_t rule_count;
	int waiting_fd; /* owned: socket between kxdp_attach_queue() and kxdp_attach_start(); -1: none */
	uint32_t waiting_queue;
	uint32_t rule_next; /* where to look for a free one: freed ones rest, packets in flight may still count there */
} kxdp_attach_t;

/** Attach as kxdp_iface_open() says. On failure nothing is left. */
KNOT_MUST_USE knot_err_t kxdp_attach(const priv_open_t *request, kxdp_attach_t *ret_attach, kxdp_fault_t *ret_fault);

/** Detach and free; programs of others stay. */
void kxdp_detach(kxdp_attach_t *attach);

KNOT_MUST_USE knot_err_t kxdp_attach_configure(
		kxdp_attach_t *attach, const priv_config_t *config, kxdp_fault_t *ret_fault);

/** Change what the program knows of the host. Forgetting what it doesn't know is fine. KNOT_ESPACE: too much. */
KNOT_MUST_USE knot_err_t kxdp_attach_know(kxdp_attach_t *attach, const priv_know_t *request, kxdp_fault_t *ret_fault);
KNOT_MUST_USE knot_err_t kxdp_attach_host(kxdp_attach_t *attach, const priv_host_t *request, kxdp_fault_t *ret_fault);

/**
 * Make a queue's socket. A copy of its descriptor waits for kxdp_attach_start(); one that waits already is forgotten.
 */
KNOT_MUST_USE knot_err_t kxdp_attach_queue(
		kxdp_attach_t *attach, const priv_queue_t *request, kxdp_socket_t *ret_socket, kxdp_fault_t *ret_fault);

/** Send the queue's packets to the socket that waits, or forget it. */
KNOT_MUST_USE knot_err_t kxdp_attach_start(kxdp_attach_t *attach, const priv_start_t *request, kxdp_fault_t *ret_fault);

/** Rules; *ret_index is the rule's place in the map of rules. rules.c. */
KNOT_MUST_USE knot_err_t kxdp_attach_rule_set(
		kxdp_attach_t *attach, const priv_rule_set_t *request, uint32_t *ret_index, kxdp_fault_t *ret_fault);
KNOT_MUST_USE knot_err_t kxdp_attach_rule_remove(
		kxdp_attach_t *attach, const priv_rule_remove_t *request, uint32_t *ret_index, kxdp_fault_t *ret_fault);

/**
 * For rules.c: memory for rules, once the program is loaded; and the configuration to the kernel. 0 or errno values.
 */
KNOT_MUST_USE int kxdp_rules_init(kxdp_attach_t *attach);
void kxdp_rules_done(kxdp_attach_t *attach);
KNOT_MUST_USE int kxdp_attach_write_config(kxdp_attach_t *attach);
