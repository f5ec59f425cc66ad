/* SPDX-License-Identifier: BSD-2-Clause */
/* Block rules on all interfaces: from the lists of block.h into kernel programs, and their counters back. */
#include "src/net/interfaces.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "src/sys/clock.h"
#include "src/sys/log.h"

static kxdp_rule_t xdp_block_rule_of(const conf_xdp_block_t *block)
{
	kxdp_rule_t rule = { .prefix_len = block->prefix_len, .per_second = block->per_second };
	memcpy(rule.addr, block->addr, sizeof(rule.addr));
	return rule;
}

static knot_err_t xdp_block_tell_fault(const char *doing, const conf_xdp_block_t *block, kxdp_iface_t *iface,
		knot_err_t err, const kxdp_fault_t *fault)
{
	if (err != KNOT_OK) {
		char text[CONF_XDP_BLOCK_TEXT_MAX];
		log_server(LOG_ERR, "failed to %s block rule %s on XDP interface %s (%s)", doing,
				conf_xdp_block_print(block, text), kxdp_iface_name(iface), fault->text);
	}
	return err;
}

static knot_err_t xdp_block_set_rule(kxdp_iface_t *iface, const conf_xdp_block_t *block)
{
	kxdp_fault_t fault = { 0 };
	kxdp_rule_t rule = xdp_block_rule_of(block);
	return xdp_block_tell_fault("set", block, iface, kxdp_rule_set(iface, &rule, &fault), &fault);
}

static knot_err_t xdp_block_remove_rule(kxdp_iface_t *iface, const conf_xdp_block_t *block)
{
	kxdp_fault_t fault = { 0 };
	kxdp_rule_t rule = xdp_block_rule_of(block);
	knot_err_t err = kxdp_rule_remove(iface, &rule, &fault);
	return xdp_block_tell_fault(
			"remove", block, iface, err == KNOT_ENOENT ? KNOT_OK : err, &fault); /* it was never taken */
}

void interfaces_set_blocks(const interfaces_t *set, kxdp_iface_t *iface)
{
	for (size_t i = 0; i < set->blocks.count; i++) {
		(void)xdp_block_set_rule(iface, &set->blocks.rules[i].rule);
	}
}

/*
 * Set new rules, then remove old ones, so that a source whose rule only moves to another prefix never gets through.
 */
static knot_err_t xdp_block_change_rules(kxdp_iface_t *iface, const block_list_t *from, const block_list_t *to)
{
	knot_err_t first = KNOT_OK;
	for (size_t i = 0; i < to->count; i++) {
		const net_block_t *before = block_list_find(from, &to->rules[i].rule);
		if (before == NULL || before->rule.per_second != to->rules[i].rule.per_second) {
			knot_err_t err = xdp_block_set_rule(iface, &to->rules[i].rule);
			first = first == KNOT_OK ? err : first;
		}
	}
	for (size_t i = 0; i < from->count; i++) {
		if (block_list_find(to, &from->rules[i].rule) == NULL) {
			knot_err_t err = xdp_block_remove_rule(iface, &from->rules[i].rule);
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
			knot_err_t err = xdp_block_change_rules(set->items[i]->iface, &set->blocks, &next);
			first = first == KNOT_OK ? err : first;
		}
	}
	for (size_t i = 0; i < next.count; i++) {
		const net_block_t *before = block_list_find(&set->blocks, &next.rules[i].rule);
		next.rules[i].matched = before != NULL ? before->matched : 0;
		next.rules[i].dropped = before != NULL ? before->dropped : 0;
	}
	block_list_done(&set->blocks);
	set->blocks = next;
	return first;
}

/* On all interfaces or on none: a rule that isn't in force must not be listed. */
static knot_err_t xdp_block_add_all(interfaces_t *set, const net_block_t *rules, size_t count) SYS_REQUIRES(set->change)
{
	block_list_t before;
	knot_err_t err = block_list_copy(&set->run_time, &before);
	if (err != KNOT_OK) {
		return err;
	}
	for (size_t i = 0; i < count && err == KNOT_OK; i++) {
		assert(!rules[i].is_conf);
		err = block_list_set(&set->run_time, &rules[i]);
	}
	err = err == KNOT_OK && set->run_time.count > NET_BLOCK_MAX ? KNOT_ESPACE : err;
	err = err == KNOT_OK ? interfaces_follow_blocks(set) : err;
	if (err == KNOT_OK) {
		block_list_done(&before);
		return KNOT_OK;
	}
	block_list_done(&set->run_time);
	set->run_time = before;
	(void)interfaces_follow_blocks(set);
	return err;
}

knot_err_t interfaces_block(interfaces_t *set, const net_block_t *rules, size_t count)
{
	sys_mutex_lock(&set->change);
	knot_err_t err = interfaces_lost_helper(set) ? KNOT_ECONNCLOSED : xdp_block_add_all(set, rules, count);
	sys_mutex_unlock(&set->change);
	return err;
}

/* Takes the rules whose time is over out of the list; backwards, as the ones behind move up. True: there were some. */
static bool xdp_block_take_ended(block_list_t *list)
{
	const uint64_t now = sys_clock_ms();
	bool has_ended = false;
	for (size_t i = list->count; i > 0; i--) {
		const net_block_t *block = &list->rules[i - 1];
		if (block->end_ms == 0 || block->end_ms > now) {
			continue;
		}
		const conf_xdp_block_t rule = block->rule;
		char text[CONF_XDP_BLOCK_TEXT_MAX];
		(void)conf_xdp_block_print(&rule, text);
		text[strcspn(text, "@")] = '\0';
		log_control(LOG_NOTICE, "control, xdp-block, removed %s, its time is over", text);
		(void)block_list_remove(list, &rule);
		has_ended = true;
	}
	return has_ended;
}

bool interfaces_end_blocks(interfaces_t *set)
{
	sys_mutex_lock(&set->change);
	/* Without the helper the kernel program goes on obeying it: it stays in the list. */
	if (!interfaces_lost_helper(set) && xdp_block_take_ended(&set->run_time)) {
		(void)interfaces_follow_blocks(set); /* logs */
	}
	bool has_ends = false;
	for (size_t i = 0; i < set->run_time.count && !has_ends; i++) {
		has_ends = set->run_time.rules[i].end_ms != 0;
	}
	sys_mutex_unlock(&set->change);
	return has_ends;
}

knot_err_t interfaces_unblock(interfaces_t *set, const conf_xdp_block_t *rule)
{
	sys_mutex_lock(&set->change);
	knot_err_t err = KNOT_OK;
	if (interfaces_lost_helper(set)) {
		err = KNOT_ECONNCLOSED; /* the kernel program would go on obeying it */
	} else if (block_list_remove(&set->run_time, rule)) {
		err = interfaces_follow_blocks(set);
	} else {
		err = block_list_find(&set->blocks, rule) != NULL ? KNOT_EPERM : KNOT_ENOENT;
	}
	sys_mutex_unlock(&set->change);
	return err;
}

/* ---- Counters ---- */

static void xdp_block_add_counts(const block_list_t *list, net_block_t *rules, kxdp_iface_t *iface,
		kxdp_rule_count_t *counts, size_t max)
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

void interfaces_keep_block_counts(interfaces_t *set, kxdp_iface_t *iface)
{
	size_t max = set->blocks.count;
	kxdp_rule_count_t *counts = max > 0 ? malloc(max * sizeof(*counts)) : NULL;
	if (counts != NULL) {
		xdp_block_add_counts(&set->blocks, set->blocks.rules, iface, counts, max);
	}
	free(counts);
}

knot_err_t interfaces_blocks(interfaces_t *set, net_block_t **ret_rules, size_t *ret_count)
{
	sys_mutex_lock(&set->change);
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
				xdp_block_add_counts(&set->blocks, rules, set->items[i]->iface, counts, count);
			}
		}
	}
	sys_mutex_unlock(&set->change);
	free(counts);
	if (err != KNOT_OK) {
		free(rules);
		return err;
	}
	*ret_rules = rules;
	*ret_count = count;
	return KNOT_OK;
}
