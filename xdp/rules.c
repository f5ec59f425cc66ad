/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Block rules of one interface: the trie finds a source's rule, by index; limits and counters are in a map in memory.
 * Orders of writing are those of bpf/abi.h: packets flow all the time.
 */
#include "xdp/attach.h"
#include "xdp/bpf/limit.h"
#include "xdp/iface.h"

#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const size_t rules_len = FILTER_RULE_MAX * sizeof(struct filter_rule);

int kxdp_rules_init(kxdp_attach_t *a)
{
	a->prefixes = calloc(FILTER_RULE_MAX, sizeof(*a->prefixes));
	a->rules_used = calloc(FILTER_RULE_MAX, sizeof(*a->rules_used));
	if (a->prefixes == NULL || a->rules_used == NULL) {
		return ENOMEM;
	}
	void *rules = mmap(NULL, rules_len, PROT_READ | PROT_WRITE, MAP_SHARED, a->rules_fd, 0);
	if (rules == MAP_FAILED) {
		return errno;
	}
	a->rules = rules;
	return 0;
}

void kxdp_rules_done(kxdp_attach_t *a)
{
	if (a->rules != NULL) {
		munmap(a->rules, rules_len);
	}
	free(a->prefixes);
	free(a->rules_used);
}

static struct filter_prefix rules_make_prefix(const uint8_t addr[static 16], uint32_t len)
{
	struct filter_prefix prefix = { .len = len };
	memcpy(prefix.addr, addr, sizeof(prefix.addr));
	return prefix;
}

/* FILTER_RULE_MAX: there is none. */
static uint32_t rules_find_rule(const kxdp_attach_t *a, const struct filter_prefix *prefix)
{
	for (uint32_t i = 0; i < FILTER_RULE_MAX; i++) {
		if (a->rules_used[i] && memcmp(&a->prefixes[i], prefix, sizeof(*prefix)) == 0) {
			return i;
		}
	}
	return FILTER_RULE_MAX;
}

static uint32_t rules_find_free(kxdp_attach_t *a)
{
	for (uint32_t i = 0; i < FILTER_RULE_MAX; i++) {
		uint32_t index = (a->rule_next + i) % FILTER_RULE_MAX;
		if (!a->rules_used[index]) {
			a->rule_next = index + 1;
			return index;
		}
	}
	return FILTER_RULE_MAX;
}

/* The program looks for rules only when there are some. */
static int rules_set_count(kxdp_attach_t *a, uint32_t count)
{
	const struct filter_config before = a->config;
	a->config.flags = (before.flags & ~(uint32_t)FILTER_RULES) | (count > 0 ? FILTER_RULES : 0);
	int errnum = a->config.flags != before.flags ? kxdp_attach_write_config(a) : 0;
	if (errnum != 0) {
		a->config = before;
		return errnum;
	}
	a->rule_count = count;
	return 0;
}

static int rules_add_rule(kxdp_attach_t *a, const struct filter_prefix *prefix, struct filter_rule rule, uint32_t index)
{
	rule.prefix_len = prefix->len;
	/* Before the prefix: the kernel publishes that with a release store. */
	a->rules[index] = rule;
	if (bpf_map_update_elem(a->prefixes_fd, prefix, &index, BPF_ANY) != 0) {
		return errno;
	}
	int errnum = rules_set_count(a, a->rule_count + 1);
	if (errnum != 0) {
		(void)bpf_map_delete_elem(a->prefixes_fd, prefix);
		return errnum;
	}
	a->prefixes[index] = *prefix;
	a->rules_used[index] = true;
	return 0;
}

knot_err_t kxdp_attach_rule_set(
		kxdp_attach_t *a, const priv_rule_set_t *request, uint32_t *ret_index, kxdp_fault_t *ret_fault)
{
	if (request->per_second > FILTER_RATE_MAX) {
		return kxdp_fault(ret_fault, KNOT_ERANGE, "rate %u is above %d per second", request->per_second,
				FILTER_RATE_MAX);
	}
	const struct filter_prefix prefix = rules_make_prefix(request->addr, request->prefix_len);
	const struct filter_rule rule = filter_rule_of(request->per_second);
	uint32_t index = rules_find_rule(a, &prefix);
	if (index < FILTER_RULE_MAX) {
		__atomic_store_n(&a->rules[index].tolerance, rule.tolerance, __ATOMIC_RELAXED);
		__atomic_store_n(&a->rules[index].interval, rule.interval, __ATOMIC_RELEASE);
		*ret_index = index;
		return KNOT_OK;
	}
	index = rules_find_free(a);
	if (index == FILTER_RULE_MAX) {
		return kxdp_fault(ret_fault, KNOT_ESPACE, "no more than %d rules per interface", FILTER_RULE_MAX);
	}
	int errnum = rules_add_rule(a, &prefix, rule, index);
	if (errnum != 0) {
		return kxdp_fault_errno(ret_fault, errnum, a->name, "adding a rule");
	}
	*ret_index = index;
	return KNOT_OK;
}

knot_err_t kxdp_attach_rule_remove(
		kxdp_attach_t *a, const priv_rule_remove_t *request, uint32_t *ret_index, kxdp_fault_t *ret_fault)
{
	const struct filter_prefix prefix = rules_make_prefix(request->addr, request->prefix_len);
	uint32_t index = rules_find_rule(a, &prefix);
	if (index == FILTER_RULE_MAX) {
		return kxdp_fault(ret_fault, KNOT_ENOENT, "no such rule");
	}
	if (bpf_map_delete_elem(a->prefixes_fd, &prefix) != 0) {
		return kxdp_fault_errno(ret_fault, errno, a->name, "removing a rule");
	}
	a->rules_used[index] = false;
	*ret_index = index;
	/* If the kernel doesn't take it, packets look into an empty trie: correct, only slower. */
	if (rules_set_count(a, a->rule_count - 1) != 0) {
		a->rule_count--;
	}
	return KNOT_OK;
}
