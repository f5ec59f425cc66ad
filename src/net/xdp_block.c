/* SPDX-License-Identifier: BSD-2-Clause */
/* Block rules on all interfaces: from the lists of block.h into kernel programs, and their counters back. */
#include "src/net/interfaces.h"

#include <stdlib.h>
#include <string.h>

#include "src/sys/log.h"

static kxdp_rule_t rule_of(const conf_xdp_block_t *block)
{
	kxdp_rule_t rule = { .prefix_len = block->prefix_len, .per_second = block->per_second };
	memcpy(rule.addr, block->addr, sizeof(rule.addr));
	return rule;
}

static knot_err_t told(const char *doing, const conf_xdp_block_t *block, kxdp_iface_t *iface, knot_err_t err,
		const kxdp_fault_t *fault)
{
	if (err != KNOT_OK) {
		char text[CONF_XDP_BLOCK_TEXT_MAX];
		log_server(LOG_ERR, "failed to %s block rule %s on XDP interface %s (%s)", doing,
				conf_xdp_block_print(block, text), kxdp_iface_name(iface), fault->text);
	}
	return err;
}

static knot_err_t set_rule(kxdp_iface_t *iface, const conf_xdp_block_t *block)
{
	kxdp_fault_t fault = { 0 };
	kxdp_rule_t rule = rule_of(block);
	return told("set", block, iface, kxdp_rule_set(iface, &rule, &fault), &fault);
}

static knot_err_t remove_rule(kxdp_iface_t *iface, const conf_xdp_block_t *block)
{
	kxdp_fault_t fault = { 0 };
	kxdp_rule_t rule = rule_of(block);
	knot_err_t err = kxdp_rule_remove(iface, &rule, &fault);
	return told("remove", block, iface, err == KNOT_ENOENT ? KNOT_OK : err, &fault); /* it was never taken */
}

void interfaces_set_blocks(const interfaces_t *set, kxdp_iface_t *iface)
{
	for (size_t i = 0; i < set->blocks.count; i++) {
		(void)set_rule(iface, &set->blocks.rules[i].rule);
	}
}

/*
 * Set new rules, then remove old ones, so that a source whose rule only moves to another prefix never gets through.
 */
static knot_err_t change_rules(kxdp_iface_t *iface, const block_list_t *from, const block_list_t *to)
{
	knot_err_t first = KNOT_OK;
	for (size_t i = 0; i < to->count; i++) {
		const net_block_t *before = block_list_find(from, &to->rules[i].rule);
		if (before == NULL || before->rule.per_second != to->rules[i].rule.per_second) {
			knot_err_t err = set_rule(iface, &to->rules[i].rule);
			first = first == KNOT_OK ? err : first;
		}
	}
	for (size_t i = 0; i < from->count; i++) {
		if (block_list_find(to, &from->rules[i].rule) == NULL) {
			knot_err_t err = remove_rule(iface, &from->rules[i].rule);
			first = first == KNOT_OK ? err : first;
		}
	}
	return first;
}

knot_err_t interfaces_follow_blocks(interfaces_t *set)
{
	block_list_t next;
	conf_xdp_blocks_t conf = set->conf != NULL ? set->conf->block : (conf_xdp_blocks_t){ 0 };
	knot_err_t first = block_list_merge(conf, &set->run_time, &next);
	if (first != KNOT_OK) {
		log_server(LOG_ERR, "failed to change block rules (%s)", knot_strerror(first));
		return first;
	}
	for (size_t i = 0; i < set->count; i++) {
		if (set->items[i]->iface != NULL) {
			knot_err_t err = change_rules(set->items[i]->iface, &set->blocks, &next);
			first = first == KNOT_OK ? err : first;
		}
	}
	block_list_done(&set->blocks);
	set->blocks = next;
	return first;
}

/* On all interfaces or on none: a rule that isn't in force must not be listed. */
static knot_err_t add_rule(interfaces_t *set, const conf_xdp_block_t *rule)
{
	const net_block_t *there = block_list_find(&set->run_time, rule);
	const bool is_new = there == NULL;
	const conf_xdp_block_t before = is_new ? *rule : there->rule;
	knot_err_t err = block_list_set(&set->run_time, rule, false);
	if (err != KNOT_OK) {
		return err;
	}
	err = interfaces_follow_blocks(set);
	if (err != KNOT_OK) {
		if (is_new) {
			(void)block_list_remove(&set->run_time, rule);
		} else {
			(void)!block_list_set(&set->run_time, &before, false);
		}
		(void)interfaces_follow_blocks(set);
	}
	return err;
}

knot_err_t interfaces_block(interfaces_t *set, const conf_xdp_block_t *rule)
{
	pthread_mutex_lock(&set->change);
	knot_err_t err = interfaces_lost_helper(set) ? KNOT_ECONNCLOSED : add_rule(set, rule);
	pthread_mutex_unlock(&set->change);
	return err;
}

knot_err_t interfaces_unblock(interfaces_t *set, const conf_xdp_block_t *rule)
{
	pthread_mutex_lock(&set->change);
	knot_err_t err = KNOT_OK;
	if (interfaces_lost_helper(set)) {
		err = KNOT_ECONNCLOSED; /* the kernel program would go on obeying it */
	} else if (block_list_remove(&set->run_time, rule)) {
		err = interfaces_follow_blocks(set);
	} else {
		err = block_list_find(&set->blocks, rule) != NULL ? KNOT_EPERM : KNOT_ENOENT;
	}
	pthread_mutex_unlock(&set->change);
	return err;
}

/* ---- Counters ---- */

static void add_counts(const block_list_t *list, net_block_t *rules, kxdp_iface_t *iface, kxdp_rule_count_t *counts,
		size_t max)
{
	size_t count = kxdp_iface_rules(iface, counts, max);
	for (size_t i = 0; i < count && i < max; i++) {
		conf_xdp_block_t key = { .prefix_len = counts[i].rule.prefix_len };
		memcpy(key.addr, counts[i].rule.addr, sizeof(key.addr));
		const net_block_t *found = block_list_find(list, &key);
		if (found != NULL) {
			net_block_t *rule = &rules[found - list->rules];
			rule->matched += counts[i].matched;
			rule->dropped += counts[i].dropped;
		}
	}
}

knot_err_t interfaces_blocks(interfaces_t *set, net_block_t **ret_rules, size_t *ret_count)
{
	pthread_mutex_lock(&set->change);
	size_t count = set->blocks.count;
	net_block_t *rules = NULL;
	kxdp_rule_count_t *counts = NULL;
	knot_err_t err = KNOT_OK;
	if (count > 0) {
		rules = malloc(count * sizeof(*rules));
		counts = malloc(count * sizeof(*counts));
		err = rules != NULL && counts != NULL ? KNOT_OK : KNOT_ENOMEM;
	}
	if (err == KNOT_OK && count > 0) {
		memcpy(rules, set->blocks.rules, count * sizeof(*rules));
		for (size_t i = 0; i < set->count; i++) {
			if (set->items[i]->iface != NULL) {
				add_counts(&set->blocks, rules, set->items[i]->iface, counts, count);
			}
		}
	}
	pthread_mutex_unlock(&set->change);
	free(counts);
	if (err != KNOT_OK) {
		free(rules);
		return err;
	}
	*ret_rules = rules;
	*ret_count = count;
	return KNOT_OK;
}
