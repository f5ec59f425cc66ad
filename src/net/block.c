/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/block.h"

#include <stdlib.h>
#include <string.h>
#include <assert.h>

static int block_compare_prefixes(const conf_xdp_block_t *a, const conf_xdp_block_t *b)
{
	int order = memcmp(a->addr, b->addr, sizeof(a->addr));
	return order != 0 ? order : (int)a->prefix_len - (int)b->prefix_len;
}

/* Index of the rule with this prefix, or where it belongs. */
static size_t block_find_place(const block_list_t *list, const conf_xdp_block_t *rule, bool *ret_is_there)
{
	size_t low = 0, high = list->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = block_compare_prefixes(rule, &list->rules[middle].rule);
		if (order == 0) {
			*ret_is_there = true;
			return middle;
		}
		if (order < 0) {
			high = middle;
		} else {
			low = middle + 1;
		}
	}
	*ret_is_there = false;
	return low;
}

void block_list_done(block_list_t *list)
{
	free(list->rules);
	*list = (block_list_t){ 0 };
}

net_block_t *block_list_find(const block_list_t *list, const conf_xdp_block_t *rule)
{
	bool is_there;
	size_t at = block_find_place(list, rule, &is_there);
	return is_there ? &list->rules[at] : NULL;
}

knot_err_t block_list_set(block_list_t *list, const net_block_t *rule)
{
	bool is_there;
	size_t at = block_find_place(list, &rule->rule, &is_there);
	if (!is_there) {
		net_block_t *rules = realloc(list->rules, (list->count + 1) * sizeof(*rules));
		if (rules == NULL) {
			return KNOT_ENOMEM;
		}
		memmove(rules + at + 1, rules + at, (list->count - at) * sizeof(*rules));
		list->rules = rules;
		list->count++;
	}
	assert(at == 0 || block_compare_prefixes(&list->rules[at - 1].rule, &rule->rule) < 0);
	assert(at + 1 == list->count || block_compare_prefixes(&rule->rule, &list->rules[at + 1].rule) < 0);
	list->rules[at] = *rule;
	list->rules[at].rule.text = NULL;
	list->rules[at].matched = list->rules[at].dropped = 0;
	return KNOT_OK;
}

bool block_list_remove(block_list_t *list, const conf_xdp_block_t *rule)
{
	bool is_there;
	size_t at = block_find_place(list, rule, &is_there);
	if (is_there) {
		list->count--;
		memmove(list->rules + at, list->rules + at + 1, (list->count - at) * sizeof(*list->rules));
	}
	return is_there;
}

knot_err_t block_list_copy(const block_list_t *list, block_list_t *ret_list)
{
	block_list_t copy = { 0 };
	if (list->count > 0) {
		copy.rules = malloc(list->count * sizeof(*copy.rules));
		if (copy.rules == NULL) {
			return KNOT_ENOMEM;
		}
		memcpy(copy.rules, list->rules, list->count * sizeof(*copy.rules));
		copy.count = list->count;
	}
	*ret_list = copy;
	return KNOT_OK;
}

knot_err_t block_list_merge(conf_xdp_blocks_t conf, const block_list_t *run_time, block_list_t *ret_list)
{
	block_list_t merged = { 0 };
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < conf.count && err == KNOT_OK; i++) {
		err = block_list_set(&merged, &(net_block_t){ .rule = conf.data[i], .is_conf = true });
	}
	for (size_t i = 0; i < run_time->count && err == KNOT_OK; i++) {
		err = block_list_set(&merged, &run_time->rules[i]);
	}
	if (err != KNOT_OK) {
		block_list_done(&merged);
		return err;
	}
	*ret_list = merged;
	return KNOT_OK;
}
