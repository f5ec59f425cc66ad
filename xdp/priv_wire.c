/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/priv_wire.h"

#include "libknot/base/bytes.h"
#include "xdp/iface.h"

#include <string.h>

enum { LOW_PORT_END = 1024 };

_Static_assert(sizeof(priv_listen_t) == 20, "no padding");
_Static_assert(sizeof(priv_config_t) == 8 + KXDP_LISTEN_MAX * sizeof(priv_listen_t), "no padding");
_Static_assert(sizeof(priv_open_t) == 24 + sizeof(priv_config_t), "no padding");
_Static_assert(sizeof(priv_configure_t) == 8 + sizeof(priv_config_t), "no padding");
_Static_assert(sizeof(priv_queue_t) == 20, "no padding");
_Static_assert(sizeof(priv_rule_set_t) == 32, "no padding");
_Static_assert(sizeof(priv_bind_t) == 48, "no padding");
_Static_assert(sizeof(priv_known_t) == 20, "no padding");
_Static_assert(sizeof(priv_know_t) == 12 + PRIV_KNOWN_MAX * sizeof(priv_known_t), "no padding");
_Static_assert(sizeof(struct filter_host) == 8 + FILTER_NEAR_MAX * 20 + 8, "no padding");
_Static_assert(sizeof(priv_host_t) == 12 + sizeof(struct filter_host), "no padding");

/* ---- Fields ---- */

static bool is_zero(const void *data, size_t len)
{
	const uint8_t *p = data;
	for (size_t i = 0; i < len; i++) {
		if (p[i] != 0) {
			return false;
		}
	}
	return true;
}

/* What the kernel takes as a name: no slash, blank, control character or colon, not "." or "..", then zeros. */
static bool is_device(const char name[static PRIV_DEVICE_MAX])
{
	size_t len = strnlen(name, PRIV_DEVICE_MAX);
	if (len == 0 || len == PRIV_DEVICE_MAX || !is_zero(name + len, PRIV_DEVICE_MAX - len)) {
		return false;
	}
	for (size_t i = 0; i < len; i++) {
		uint8_t c = (uint8_t)name[i];
		if (c <= ' ' || c == 0x7F || c == '/' || c == ':') {
			return false;
		}
	}
	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/*
 * What a check finds: KNOT_OK, KNOT_EINVAL (a field that can't be) or KNOT_EACCES (a port against the policy).
 * Each kind of request has one check, which looks at every field, so that no port gets past the policy.
 */
typedef struct {
	knot_err_t err;
	uint16_t port; /* KNOT_EACCES: that is refused */
} verdict_t;

static verdict_t verdict_fields(bool are_good)
{
	return (verdict_t){ .err = are_good ? KNOT_OK : KNOT_EINVAL };
}

static bool policy_allows(const priv_policy_t *policy, uint16_t port)
{
	return port != 0 && (policy->ports[port / 8] >> port % 8 & 1) != 0;
}

static knot_err_t policy_refuse_port(uint16_t port, kxdp_fault_t *ret_fault)
{
	return kxdp_fault(ret_fault, KNOT_EACCES,
			"port %u was not in the configuration at start; restart the server to use it", port);
}

static verdict_t verdict_port(const priv_policy_t *policy, uint16_t port)
{
	return (verdict_t){ .err = policy_allows(policy, port) ? KNOT_OK : KNOT_EACCES, .port = port };
}

static bool is_listen(const priv_listen_t *l)
{
	return l->port != 0 && l->any_addr <= 1 && l->reserved == 0 &&
	       (l->any_addr == 0 || is_zero(l->addr, sizeof(l->addr)));
}

static verdict_t check_config(const priv_policy_t *policy, const priv_config_t *c)
{
	const bool is_client = (c->flags & PRIV_CONFIG_CLIENT) != 0;
	const uint32_t without = is_client ? PRIV_CONFIG_ROUTE_CHECK : PRIV_CONFIG_DROP;
	bool are_good = (c->flags & ~(uint32_t)PRIV_CONFIG_ALL) == 0 && (c->flags & without) == 0 &&
			c->listen_count >= 1 && c->listen_count <= KXDP_LISTEN_MAX;
	for (size_t i = 0; are_good && i < c->listen_count; i++) {
		are_good = is_listen(&c->listens[i]);
	}
	if (!are_good || !is_zero(&c->listens[c->listen_count],
					 (KXDP_LISTEN_MAX - c->listen_count) * sizeof(c->listens[0]))) {
		return verdict_fields(false);
	}
	verdict_t verdict = verdict_fields(true);
	for (size_t i = 0; verdict.err == KNOT_OK && i < c->listen_count; i++) {
		verdict = verdict_port(policy, c->listens[i].port);
	}
	return verdict;
}

static bool is_prefix(const uint8_t addr[static 16], uint32_t prefix_len)
{
	if (prefix_len > 128) {
		return false;
	}
	size_t whole = prefix_len / 8;
	if (prefix_len % 8 != 0) {
		if ((addr[whole] & (0xFF >> prefix_len % 8)) != 0) {
			return false;
		}
		whole++;
	}
	return is_zero(addr + whole, 16 - whole);
}

/* ---- Messages ---- */

static verdict_t check_open(const priv_policy_t *policy, const priv_open_t *r)
{
	bool are_good = is_device(r->ifname) && r->mode <= KXDP_MODE_EMULATED;
	return are_good ? check_config(policy, &r->config) : verdict_fields(false);
}

static verdict_t check_configure(const priv_policy_t *policy, const priv_configure_t *r)
{
	bool are_good = r->iface < PRIV_IFACES_MAX && (r->config.flags & PRIV_CONFIG_CLIENT) == 0;
	return are_good ? check_config(policy, &r->config) : verdict_fields(false);
}

static verdict_t check_close(const priv_policy_t *policy, const priv_close_t *r)
{
	(void)policy;
	return verdict_fields(r->iface < PRIV_IFACES_MAX);
}

static verdict_t check_queue(const priv_policy_t *policy, const priv_queue_t *r)
{
	(void)policy;
	return verdict_fields(r->iface < PRIV_IFACES_MAX && r->queue < PRIV_QUEUE_END &&
			      r->ring_size >= KXDP_RING_MIN && r->ring_size <= KXDP_RING_MAX &&
			      (r->ring_size & (r->ring_size - 1)) == 0 && r->busypoll_budget <= PRIV_BUSYPOLL_MAX);
}

static verdict_t check_start(const priv_policy_t *policy, const priv_start_t *r)
{
	(void)policy;
	return verdict_fields(r->iface < PRIV_IFACES_MAX && r->queue < PRIV_QUEUE_END && r->start <= 1);
}

static verdict_t check_rule_set(const priv_policy_t *policy, const priv_rule_set_t *r)
{
	(void)policy;
	return verdict_fields(r->iface < PRIV_IFACES_MAX && is_prefix(r->addr, r->prefix_len));
}

static verdict_t check_rule_remove(const priv_policy_t *policy, const priv_rule_remove_t *r)
{
	return r->per_second == 0 ? check_rule_set(policy, r) : verdict_fields(false);
}

/* High ports need no privilege: the daemon binds them itself. */
static verdict_t check_bind(const priv_policy_t *policy, const priv_bind_t *r)
{
	bool ipv4 = r->family == AF_INET && r->scope == 0 && is_zero(r->addr + 4, 12);
	bool are_good = (ipv4 || r->family == AF_INET6) && (r->type == SOCK_DGRAM || r->type == SOCK_STREAM) &&
			r->reuseport <= 1 && (is_zero(r->device, sizeof(r->device)) || is_device(r->device));
	if (!are_good) {
		return verdict_fields(false);
	}
	return r->port < LOW_PORT_END ? verdict_port(policy, r->port) : (verdict_t){ KNOT_EACCES, r->port };
}

static verdict_t check_raw(const priv_policy_t *policy, const priv_raw_t *r)
{
	(void)policy;
	return verdict_fields(r->family == AF_INET || r->family == AF_INET6);
}

static bool is_known(const priv_known_t *k)
{
	/* Fewest and most bits by kind: an address may be a prefix, the others are whole. */
	static const struct {
		uint8_t min, max;
	} bits[FILTER_KNOWN_KINDS] = {
		[FILTER_KNOWN_ADDRESS] = { 0, 128 },
		[FILTER_KNOWN_MAC] = { 48, 48 },
		[FILTER_KNOWN_VLAN] = { 64, 64 },
		[FILTER_KNOWN_BROADCAST] = { 128, 128 },
	};
	return k->kind < FILTER_KNOWN_KINDS && k->bits >= bits[k->kind].min && k->bits <= bits[k->kind].max &&
	       k->value <= FILTER_KNOWN_NO && k->reserved == 0 && is_prefix(k->data, k->bits);
}

static verdict_t check_know(const priv_policy_t *policy, const priv_know_t *r)
{
	(void)policy;
	bool are_good = r->iface < PRIV_IFACES_MAX && r->count >= 1 && r->count <= PRIV_KNOWN_MAX;
	for (size_t i = 0; are_good && i < r->count; i++) {
		are_good = is_known(&r->entries[i]);
	}
	return verdict_fields(are_good &&
			      is_zero(r->entries + r->count, (PRIV_KNOWN_MAX - r->count) * sizeof(r->entries[0])));
}

static verdict_t check_host(const priv_policy_t *policy, const priv_host_t *r)
{
	(void)policy;
	return verdict_fields(r->iface < PRIV_IFACES_MAX && (r->flags & ~(uint32_t)PRIV_HOST_ALL) == 0 &&
			      r->host.ipv4_count <= FILTER_NEAR_MAX && r->host.ipv6_count <= FILTER_NEAR_MAX);
}

typedef struct {
	size_t len;
	verdict_t (*check)(const priv_policy_t *policy, const priv_request_t *request);
	knot_err_t (*act)(const priv_actions_t *actions, void *state, const priv_request_t *request,
			priv_answer_t *answer, kxdp_fault_t *ret_fault);
} row_t;

/* Per row: check and action of its struct, called through the union. */
#define ROW_FUNCTIONS(constant, name, what)                                                                            \
	static verdict_t row_check_##name(const priv_policy_t *policy, const priv_request_t *request)                  \
	{                                                                                                              \
		return check_##name(policy, &request->name);                                                           \
	}                                                                                                              \
	static knot_err_t row_act_##name(const priv_actions_t *actions, void *state, const priv_request_t *request,    \
			priv_answer_t *answer, kxdp_fault_t *ret_fault)                                                \
	{                                                                                                              \
		return actions->name(state, &request->name, answer, ret_fault);                                        \
	}
PRIV_REQUESTS(ROW_FUNCTIONS)

#define ROW(constant, name, what) [constant] = { sizeof(priv_##name##_t), row_check_##name, row_act_##name },
static const row_t rows[PRIV_KIND_END] = { PRIV_REQUESTS(ROW) };

static knot_err_t wire_serve_request(const priv_actions_t *actions, void *state, const priv_policy_t *policy,
		const void *message, size_t len, priv_answer_t *answer, kxdp_fault_t *ret_fault)
{
	priv_request_t request = { 0 };
	if (len < sizeof(request.kind) || len > sizeof(request)) {
		return kxdp_fault(ret_fault, KNOT_EINVAL, "request of %zu bytes", len);
	}
	memcpy(&request, message, len);
	if (kxdp_priv_request_len(request.kind) != len) {
		return kxdp_fault(ret_fault, KNOT_EINVAL, "request of unknown kind or wrong length");
	}
	const row_t *row = &rows[request.kind];
	verdict_t verdict = row->check(policy, &request);
	if (verdict.err == KNOT_EACCES) {
		return policy_refuse_port(verdict.port, ret_fault);
	}
	if (verdict.err != KNOT_OK) {
		return kxdp_fault(
				ret_fault, verdict.err, "request of kind %u with a value that can't be", request.kind);
	}
	return row->act(actions, state, &request, answer, ret_fault);
}

void kxdp_priv_serve(const priv_actions_t *actions, void *state, const priv_policy_t *policy, const void *message,
		size_t len, priv_answer_t *ret_answer)
{
	memset(ret_answer, 0, sizeof(*ret_answer));
	kxdp_fault_t fault = { 0 };
	knot_err_t err = wire_serve_request(actions, state, policy, message, len, ret_answer, &fault);
	ret_answer->reply.err = err;
	if (err != KNOT_OK) {
		memcpy(ret_answer->reply.text, fault.text, sizeof(fault.text));
	}
}

void kxdp_priv_policy_allow(priv_policy_t *policy, uint16_t port)
{
	policy->ports[port / 8] |= (uint8_t)(1 << port % 8);
}

knot_err_t kxdp_priv_policy_check(const priv_policy_t *policy, uint16_t port, kxdp_fault_t *ret_fault)
{
	return policy_allows(policy, port) ? KNOT_OK : policy_refuse_port(port, ret_fault);
}

size_t kxdp_priv_request_len(uint32_t kind)
{
	return kind < PRIV_KIND_END ? rows[kind].len : 0;
}
