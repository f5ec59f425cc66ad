/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What a hostile daemon may send to the privileged helper: only requests with every field in its range reach an action,
 * and no field is used that wasn't checked.
 *
 * Input: messages, each of one byte of length (times 4, so that every request fits) and that many bytes. The actions
 * check what they are given anew, written down a second time and in another way than the checks under test.
 */
#include "xdp/priv_wire.h"

#include "libknot/base/bytes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static unsigned calls;

/* Ports 53, 853 and 5300, and port 0, which no policy can allow. */
static bool is_allowed(uint16_t port)
{
	return port == 53 || port == 853 || port == 5300;
}

static const priv_policy_t policy = {
	.ports = { [0] = 1, [53 / 8] = 1 << 53 % 8, [853 / 8] = 1 << 853 % 8, [5300 / 8] = 1 << 5300 % 8 }
};

static void check_name(const char name[static PRIV_DEVICE_MAX])
{
	const char *end = memchr(name, '\0', PRIV_DEVICE_MAX);
	check(end != NULL && end > name && strpbrk(name, "/: \t\n") == NULL);
	for (const char *p = end; p < name + PRIV_DEVICE_MAX; p++) {
		check(*p == '\0');
	}
}

static void check_config(const priv_config_t *c)
{
	check(c->flags < 8 && c->listen_count - 1 < KXDP_LISTEN_MAX);
	for (size_t i = 0; i < KXDP_LISTEN_MAX; i++) {
		bool used = i < c->listen_count;
		check(used ? is_allowed(c->listens[i].port) : c->listens[i].port == 0);
		check(c->listens[i].any_addr < 2 && c->listens[i].reserved == 0);
		for (size_t k = 0; k < 16 && (!used || c->listens[i].any_addr == 1); k++) {
			check(c->listens[i].addr[k] == 0);
		}
	}
}

static void check_prefix(const uint8_t addr[static 16], uint32_t len)
{
	check(len <= 128);
	for (uint32_t bit = len; bit < 128; bit++) {
		check((addr[bit / 8] >> (7 - bit % 8) & 1) == 0);
	}
}

static void check_open(const priv_open_t *r)
{
	check_name(r->ifname);
	check(r->mode == KXDP_MODE_AUTO || r->mode == KXDP_MODE_NATIVE || r->mode == KXDP_MODE_EMULATED);
	check_config(&r->config);
}

static void check_configure(const priv_configure_t *r)
{
	check(r->iface < PRIV_IFACES_MAX);
	check_config(&r->config);
}

static void check_close(const priv_close_t *r)
{
	check(r->iface < PRIV_IFACES_MAX);
}

static void check_queue(const priv_queue_t *r)
{
	check(r->iface < PRIV_IFACES_MAX && r->queue < PRIV_QUEUE_END && __builtin_popcount(r->ring_size) == 1 &&
			r->ring_size >= KXDP_RING_MIN && r->ring_size <= KXDP_RING_MAX &&
			r->busypoll_budget <= PRIV_BUSYPOLL_MAX);
}

static void check_start(const priv_start_t *r)
{
	check(r->iface < PRIV_IFACES_MAX && r->queue < PRIV_QUEUE_END && (r->start == 0 || r->start == 1));
}

static void check_rule_set(const priv_rule_set_t *r)
{
	check(r->iface < PRIV_IFACES_MAX);
	check_prefix(r->addr, r->prefix_len);
}

static void check_rule_remove(const priv_rule_remove_t *r)
{
	check(r->iface < PRIV_IFACES_MAX && r->per_second == 0);
	check_prefix(r->addr, r->prefix_len);
}

static void check_bind(const priv_bind_t *r)
{
	check(is_allowed(r->port) && r->port < 1024);
	check(r->type == SOCK_STREAM || r->type == SOCK_DGRAM);
	check(r->family == AF_INET6 || (r->family == AF_INET && r->scope == 0 && load_be32(r->addr + 12) == 0));
	check(r->reuseport == 0 || r->reuseport == 1);
	if (r->device[0] != '\0') {
		check_name(r->device);
	} else {
		check(memcmp(r->device, (const char[PRIV_DEVICE_MAX]){ 0 }, PRIV_DEVICE_MAX) == 0);
	}
}

static void check_raw(const priv_raw_t *r)
{
	check(r->family == AF_INET || r->family == AF_INET6);
}

static void check_know(const priv_know_t *r)
{
	check(r->iface < PRIV_IFACES_MAX && r->count - 1 < PRIV_KNOWN_MAX);
	for (size_t i = 0; i < PRIV_KNOWN_MAX; i++) {
		const priv_known_t *k = &r->entries[i];
		check(k->value <= 2 && k->reserved == 0 && k->kind <= FILTER_KNOWN_BROADCAST);
		check(i < r->count || (k->value == 0 && k->kind == 0 && k->bits == 0));
		check(k->kind != FILTER_KNOWN_MAC || k->bits == 48);
		check(k->kind != FILTER_KNOWN_VLAN || k->bits == 64);
		check(k->kind != FILTER_KNOWN_BROADCAST || k->bits == 128);
		check_prefix(k->data, k->bits);
	}
}

static void check_host(const priv_host_t *r)
{
	check(r->iface < PRIV_IFACES_MAX && r->flags < 8 && r->host.ipv4_count < 5 && r->host.ipv6_count < 5);
}

#define ACT(constant, name, what)                                                                                      \
	static knot_err_t act_##name(                                                                                  \
			void *state, const priv_##name##_t *request, priv_answer_t *answer, kxdp_fault_t *ret_fault)   \
	{                                                                                                              \
		(void)ret_fault;                                                                                       \
		check(state == &calls && request->kind == constant && answer->reply.fd_count == 0);                    \
		check_##name(request);                                                                                 \
		calls++;                                                                                               \
		return KNOT_OK;                                                                                        \
	}
PRIV_REQUESTS(ACT)
#define ACTION(constant, name, what) .name = act_##name,
static const priv_actions_t actions = { PRIV_REQUESTS(ACTION) };

static void serve(const uint8_t *message, size_t len)
{
	uint8_t *exact = malloc(len > 0 ? len : 1); /* a read of one byte more is seen */
	memcpy(exact, message, len);
	priv_answer_t answer;
	calls = 0;
	kxdp_priv_serve(&actions, &calls, &policy, exact, len, &answer);
	free(exact);
	check(calls <= 1 && answer.reply.fd_count == 0);
	check((calls == 1) == (answer.reply.err == KNOT_OK));
	check(memchr(answer.reply.text, '\0', sizeof(answer.reply.text)) != NULL);
	check((answer.reply.text[0] == '\0') == (answer.reply.err == KNOT_OK));
	check(answer.reply.err == KNOT_OK || answer.reply.err == KNOT_EINVAL || answer.reply.err == KNOT_EACCES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	while (size > 0) {
		size_t len = data[0] * 4u;
		len = len < size - 1 ? len : size - 1;
		serve(data + 1, len);
		data += 1 + len;
		size -= 1 + len;
	}
	return 0;
}
