/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * xdp-block: rules of the kernel program that drop or limit sources. Request: TYPE what to do, ID the prefix, DATA the
 * rate, TTL how long the rule holds, ITEM a comment; "add" has a unit for each rule. Reply of "list": per rule, under
 * its prefix as ID, the items below.
 */
#include "src/control/session.h"

#include "src/sys/clock.h"
#include "src/sys/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_TEXT_MAX = 24 };

/* Seconds until it ends automatically, rounded up; 0: it doesn't, or ends right now. */
static uint64_t xdp_block_remaining_s(const net_block_t *block)
{
	const uint64_t now = sys_clock_ms();
	return block->end_ms > now ? (block->end_ms - now + 999) / 1000 : 0;
}

static knot_err_t xdp_block_refuse(session_t *session, const char *text)
{
	log_control(LOG_DEBUG, "control, command 'xdp-block' (%s)", text);
	session_send_error(session, text);
	return KNOT_OK;
}

/* The rule that the request names. False: refused, the reply says why. */
static bool xdp_block_scan_rule(session_t *session, conf_xdp_block_t *ret_rule)
{
	const char *prefix = session->args[KNOT_CTL_IDX_ID], *rate = session->args[KNOT_CTL_IDX_DATA];
	if (prefix == NULL || strchr(prefix, '@') != NULL) {
		(void)xdp_block_refuse(session, prefix == NULL ? "missing prefix" : "invalid prefix");
		return false;
	}
	char text[CONF_XDP_BLOCK_TEXT_MAX + VALUE_TEXT_MAX];
	int len = snprintf(text, sizeof(text), "%s%s%s", prefix, rate != NULL ? "@" : "", rate != NULL ? rate : "");
	const char *fault =
			len < (int)sizeof(text) ? conf_xdp_block_scan(knot_str_of(text), ret_rule) : "invalid prefix";
	if (fault != NULL) {
		(void)xdp_block_refuse(session, fault);
	}
	return fault == NULL;
}

/* "192.0.2.0/24", without the rate behind it. */
static void xdp_block_print_prefix(const conf_xdp_block_t *rule, char text[static CONF_XDP_BLOCK_TEXT_MAX])
{
	(void)conf_xdp_block_print(rule, text);
	text[strcspn(text, "@")] = '\0';
}

/* Failures whose code alone would not say what to do. */
static knot_err_t xdp_block_end(session_t *session, knot_err_t err)
{
	static const struct {
		knot_err_t err;
		const char *text;
	} texts[] = {
		{ KNOT_ENOENT, "no rule has this prefix" },
		{ KNOT_ESPACE, "too many rules" },
		{ KNOT_ECONNCLOSED, "the privileged helper has ended, restart the server" },
	};
	for (size_t i = 0; i < KNOT_LEN(texts); i++) {
		if (texts[i].err == err) {
			return xdp_block_refuse(session, texts[i].text);
		}
	}
	return err;
}

/* What is blocked and how, in words: the line of the receipt doesn't say. */
static void xdp_block_log(const char *verb, const net_block_t *block)
{
	char prefix[CONF_XDP_BLOCK_TEXT_MAX], rate[VALUE_TEXT_MAX + 16] = "all dropped", end[VALUE_TEXT_MAX + 16] = "";
	xdp_block_print_prefix(&block->rule, prefix);
	if (block->rule.per_second > 0) {
		snprintf(rate, sizeof(rate), "rate %" PRIu32 " per second", block->rule.per_second);
	}
	if (block->end_ms != 0) {
		snprintf(end, sizeof(end), ", for %" PRIu64 " s", xdp_block_remaining_s(block));
	}
	log_control(LOG_NOTICE, "control, xdp-block, %s %s, %s%s%s%s%s", verb, prefix, rate, end,
			block->comment[0] != '\0' ? ", comment '" : "", block->comment,
			block->comment[0] != '\0' ? "'" : "");
}

/* Bytes that would break the lines of a log or a table are refused. NULL: fine. */
static const char *xdp_block_scan_comment(const char *text, char ret_comment[static NET_BLOCK_COMMENT_MAX])
{
	if (strlen(text) >= NET_BLOCK_COMMENT_MAX) {
		return "the comment is too long, it may have 127 bytes";
	}
	for (const char *c = text; *c != '\0'; c++) {
		if ((unsigned char)*c < ' ' || *c == '\x7f') {
			return "the comment has control characters";
		}
	}
	memcpy(ret_comment, text, strlen(text) + 1);
	return NULL;
}

/* A slip of the finger, such as 0.0.0.0/0, must not silence the server. NULL: the rule may be added. */
static const char *xdp_block_find_slip(const session_t *session, const conf_xdp_block_t *rule)
{
	static const uint8_t any_ipv4[16] = { [10] = 0xff, 0xff };
	if (rule->per_second > 0 || session_flag(session, 'F')) {
		return NULL;
	}
	if (rule->prefix_len == 96 && memcmp(rule->addr, any_ipv4, sizeof(any_ipv4)) == 0) {
		return "it drops all queries over IPv4, use force option";
	}
	return rule->prefix_len == 0 ? "it drops all queries over IPv6, use force option" : NULL;
}

/* The rule with its end and comment. False: refused, the reply says why. */
static bool xdp_block_scan_unit(session_t *session, net_block_t *ret_block)
{
	net_block_t block = { 0 };
	if (!xdp_block_scan_rule(session, &block.rule)) {
		return false;
	}
	const char *duration = session->args[KNOT_CTL_IDX_TTL], *comment = session->args[KNOT_CTL_IDX_ITEM];
	uint32_t seconds = 0;
	const char *fault = duration != NULL ? conf_xdp_block_scan_time(duration, &seconds) : NULL;
	if (fault == NULL && comment != NULL) {
		fault = xdp_block_scan_comment(comment, block.comment);
	}
	fault = fault == NULL ? xdp_block_find_slip(session, &block.rule) : fault;
	if (fault != NULL) {
		(void)xdp_block_refuse(session, fault);
		return false;
	}
	block.end_ms = duration != NULL ? sys_clock_ms() + (uint64_t)seconds * 1000 : 0;
	*ret_block = block;
	return true;
}

/* The rules of all units of the request; *ret_rules is to be freed in any case. False: refused. */
static bool xdp_block_collect(session_t *session, net_block_t **ret_rules, size_t *ret_count)
{
	size_t max = 0;
	do {
		if (*ret_count == max) {
			max = max == 0 ? 1 : 2 * max;
			net_block_t *rules =
					max <= 2 * NET_BLOCK_MAX ? realloc(*ret_rules, max * sizeof(*rules)) : NULL;
			if (rules == NULL) {
				(void)xdp_block_refuse(session, "too many rules");
				return false;
			}
			*ret_rules = rules;
		}
		if (!xdp_block_scan_unit(session, &(*ret_rules)[*ret_count])) {
			return false;
		}
		(*ret_count)++;
	} while (session_next(session));
	return !session->broken;
}

/* All or none. */
static knot_err_t xdp_block_add(session_t *session)
{
	net_block_t *rules = NULL;
	size_t count = 0;
	const char *first = session->args[KNOT_CTL_IDX_ID];
	char prefix[CONF_XDP_BLOCK_TEXT_MAX];
	snprintf(prefix, sizeof(prefix), "%s", first != NULL ? first : "");
	if (!xdp_block_collect(session, &rules, &count)) {
		free(rules);
		return KNOT_OK;
	}
	knot_err_t err = net_block_add(session->net, rules, count);
	for (size_t i = 0; i < count && err == KNOT_OK; i++) {
		xdp_block_log("added", &rules[i]);
	}
	free(rules);
	/* The request's items are gone: an error about one rule names it, one about many is about all of them. */
	session->args[KNOT_CTL_IDX_ID] = count == 1 ? prefix : NULL;
	err = xdp_block_end(session, err);
	session->args[KNOT_CTL_IDX_ID] = NULL;
	return err;
}

/* All rules that were added by command; the first error ends it. */
static knot_err_t xdp_block_remove_all(session_t *session)
{
	net_block_t *rules;
	size_t count;
	knot_err_t err = net_block_list(session->net, &rules, &count);
	if (err != KNOT_OK) {
		return err;
	}
	for (size_t i = 0; i < count && err == KNOT_OK; i++) {
		if (rules[i].is_conf) {
			continue;
		}
		err = net_block_remove(session->net, &rules[i].rule);
		if (err == KNOT_OK) {
			xdp_block_log("removed", &rules[i]);
		} else if (err == KNOT_ENOENT) {
			err = KNOT_OK; /* another command removed it meanwhile */
		}
	}
	free(rules);
	return xdp_block_end(session, err);
}

static knot_err_t xdp_block_remove(session_t *session)
{
	conf_xdp_block_t rule;
	const char *prefix = session->args[KNOT_CTL_IDX_ID];
	if (prefix != NULL && strcmp(prefix, "all") == 0) {
		return xdp_block_remove_all(session);
	}
	if (!xdp_block_scan_rule(session, &rule)) {
		return KNOT_OK;
	}
	knot_err_t err = net_block_remove(session->net, &rule);
	if (err == KNOT_OK) {
		char text[CONF_XDP_BLOCK_TEXT_MAX];
		xdp_block_print_prefix(&rule, text);
		log_control(LOG_NOTICE, "control, xdp-block, removed %s", text);
	}
	return err == KNOT_EPERM ? xdp_block_refuse(session,
						   "rule is from the configuration, change 'xdp.block' and reload")
				 : xdp_block_end(session, err);
}

static void xdp_block_send_rule(session_t *session, const net_block_t *block)
{
	char prefix[CONF_XDP_BLOCK_TEXT_MAX], rate[VALUE_TEXT_MAX], matched[VALUE_TEXT_MAX], dropped[VALUE_TEXT_MAX];
	char remaining[VALUE_TEXT_MAX];
	xdp_block_print_prefix(&block->rule, prefix);
	snprintf(rate, sizeof(rate), "%" PRIu32, block->rule.per_second);
	snprintf(matched, sizeof(matched), "%" PRIu64, block->matched);
	snprintf(dropped, sizeof(dropped), "%" PRIu64, block->dropped);
	snprintf(remaining, sizeof(remaining), "%" PRIu64, xdp_block_remaining_s(block));
	const struct {
		const char *name, *value; /* NULL: this rule has none */
	} items[] = {
		{ "rate", rate },
		{ "matched", matched },
		{ "dropped", dropped },
		{ "source", block->is_conf ? "configuration" : "command" },
		{ "remaining", block->end_ms != 0 ? remaining : NULL },
		{ "comment", block->comment[0] != '\0' ? block->comment : NULL },
	};
	for (size_t i = 0; i < KNOT_LEN(items); i++) {
		if (items[i].value == NULL) {
			continue;
		}
		knot_ctl_data_t unit = {
			[KNOT_CTL_IDX_SECTION] = "xdp-block",
			[KNOT_CTL_IDX_ITEM] = items[i].name,
			[KNOT_CTL_IDX_ID] = prefix,
			[KNOT_CTL_IDX_DATA] = items[i].value,
		};
		session_send(session, i == 0 ? KNOT_CTL_TYPE_DATA : KNOT_CTL_TYPE_EXTRA, &unit);
	}
}

static bool xdp_block_is_same_prefix(const conf_xdp_block_t *a, const conf_xdp_block_t *b)
{
	return a->prefix_len == b->prefix_len && memcmp(a->addr, b->addr, sizeof(a->addr)) == 0;
}

static knot_err_t xdp_block_list(session_t *session)
{
	bool is_one = session->args[KNOT_CTL_IDX_ID] != NULL;
	conf_xdp_block_t wanted;
	if (is_one && !xdp_block_scan_rule(session, &wanted)) {
		return KNOT_OK;
	}
	net_block_t *rules;
	size_t count;
	knot_err_t err = net_block_list(session->net, &rules, &count);
	if (err != KNOT_OK) {
		return err;
	}
	bool is_found = false;
	for (size_t i = 0; i < count && !session->broken; i++) {
		if (!is_one || xdp_block_is_same_prefix(&rules[i].rule, &wanted)) {
			is_found = true;
			xdp_block_send_rule(session, &rules[i]);
		}
	}
	free(rules);
	return is_one && !is_found ? xdp_block_end(session, KNOT_ENOENT) : KNOT_OK;
}

command_result_t command_xdp_block(session_t *session)
{
	static const struct {
		const char *verb;
		knot_err_t (*run)(session_t *session);
	} verbs[] = { { "add", xdp_block_add }, { "remove", xdp_block_remove }, { "list", xdp_block_list } };
	const char *verb = session->args[KNOT_CTL_IDX_TYPE];
	for (size_t i = 0; verb != NULL && i < KNOT_LEN(verbs); i++) {
		if (strcmp(verbs[i].verb, verb) == 0) {
			return command_result(verbs[i].run(session));
		}
	}
	return command_result(KNOT_EPARAM);
}
