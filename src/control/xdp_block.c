/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * xdp-block: rules of the kernel program that drop or limit sources. Request: TYPE what to do, ID the prefix, DATA the
 * rate. Reply of "list": per rule, under its prefix as ID, the items below.
 */
#include "src/control/session.h"

#include "src/sys/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { VALUE_TEXT_MAX = 24 };

static knot_err_t refuse(session_t *session, const char *text)
{
	log_control(LOG_DEBUG, "control, command 'xdp-block' (%s)", text);
	session_send_error(session, text);
	return KNOT_OK;
}

/* The rule that the request names. False: refused, the client has been told why. */
static bool scan_rule(session_t *session, conf_xdp_block_t *ret_rule)
{
	const char *prefix = session->args[KNOT_CTL_IDX_ID], *rate = session->args[KNOT_CTL_IDX_DATA];
	if (prefix == NULL || strchr(prefix, '@') != NULL) {
		(void)refuse(session, prefix == NULL ? "missing prefix" : "invalid prefix");
		return false;
	}
	char text[CONF_XDP_BLOCK_TEXT_MAX + VALUE_TEXT_MAX];
	int len = snprintf(text, sizeof(text), "%s%s%s", prefix, rate != NULL ? "@" : "", rate != NULL ? rate : "");
	const char *fault =
			len < (int)sizeof(text) ? conf_xdp_block_scan(knot_str_of(text), ret_rule) : "invalid prefix";
	if (fault != NULL) {
		(void)refuse(session, fault);
	}
	return fault == NULL;
}

/* "192.0.2.0/24", without the rate behind it. */
static void print_prefix(const conf_xdp_block_t *rule, char text[static CONF_XDP_BLOCK_TEXT_MAX])
{
	(void)conf_xdp_block_print(rule, text);
	text[strcspn(text, "@")] = '\0';
}

/* Failures whose code alone would not say what to do. */
static knot_err_t tell(session_t *session, knot_err_t err)
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
			return refuse(session, texts[i].text);
		}
	}
	return err;
}

/* Who blocked what, in words: the line of the receipt doesn't say. */
static void xdp_block_log(const char *verb, const conf_xdp_block_t *rule)
{
	char prefix[CONF_XDP_BLOCK_TEXT_MAX];
	print_prefix(rule, prefix);
	if (rule->per_second > 0) {
		log_control(LOG_NOTICE, "control, xdp-block, %s %s, rate %" PRIu32 " per second", verb, prefix,
				rule->per_second);
	} else {
		log_control(LOG_NOTICE, "control, xdp-block, %s %s, all dropped", verb, prefix);
	}
}

static knot_err_t add_rule(session_t *session)
{
	conf_xdp_block_t rule;
	if (!scan_rule(session, &rule)) {
		return KNOT_OK;
	}
	knot_err_t err = net_block_add(session->net, &rule);
	if (err == KNOT_OK) {
		xdp_block_log("added", &rule);
	}
	return tell(session, err);
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
			xdp_block_log("removed", &rules[i].rule);
		} else if (err == KNOT_ENOENT) {
			err = KNOT_OK; /* another command removed it meanwhile */
		}
	}
	free(rules);
	return tell(session, err);
}

static knot_err_t remove_rule(session_t *session)
{
	conf_xdp_block_t rule;
	const char *prefix = session->args[KNOT_CTL_IDX_ID];
	if (prefix != NULL && strcmp(prefix, "all") == 0) {
		return xdp_block_remove_all(session);
	}
	if (!scan_rule(session, &rule)) {
		return KNOT_OK;
	}
	knot_err_t err = net_block_remove(session->net, &rule);
	if (err == KNOT_OK) {
		char text[CONF_XDP_BLOCK_TEXT_MAX];
		print_prefix(&rule, text);
		log_control(LOG_NOTICE, "control, xdp-block, removed %s", text);
	}
	return err == KNOT_EPERM ? refuse(session, "rule is from the configuration, change 'xdp.block' and reload")
				 : tell(session, err);
}

static void send_rule(session_t *session, const net_block_t *block)
{
	char prefix[CONF_XDP_BLOCK_TEXT_MAX], rate[VALUE_TEXT_MAX], matched[VALUE_TEXT_MAX], dropped[VALUE_TEXT_MAX];
	print_prefix(&block->rule, prefix);
	snprintf(rate, sizeof(rate), "%" PRIu32, block->rule.per_second);
	snprintf(matched, sizeof(matched), "%" PRIu64, block->matched);
	snprintf(dropped, sizeof(dropped), "%" PRIu64, block->dropped);
	const struct {
		const char *name, *value;
	} items[] = {
		{ "rate", rate },
		{ "matched", matched },
		{ "dropped", dropped },
		{ "source", block->is_conf ? "configuration" : "command" },
	};
	for (size_t i = 0; i < KNOT_LEN(items); i++) {
		knot_ctl_data_t unit = {
			[KNOT_CTL_IDX_SECTION] = "xdp-block",
			[KNOT_CTL_IDX_ITEM] = items[i].name,
			[KNOT_CTL_IDX_ID] = prefix,
			[KNOT_CTL_IDX_DATA] = items[i].value,
		};
		session_send(session, i == 0 ? KNOT_CTL_TYPE_DATA : KNOT_CTL_TYPE_EXTRA, &unit);
	}
}

static bool same_prefix(const conf_xdp_block_t *a, const conf_xdp_block_t *b)
{
	return a->prefix_len == b->prefix_len && memcmp(a->addr, b->addr, sizeof(a->addr)) == 0;
}

static knot_err_t list_rules(session_t *session)
{
	bool is_one = session->args[KNOT_CTL_IDX_ID] != NULL;
	conf_xdp_block_t wanted;
	if (is_one && !scan_rule(session, &wanted)) {
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
		if (!is_one || same_prefix(&rules[i].rule, &wanted)) {
			is_found = true;
			send_rule(session, &rules[i]);
		}
	}
	free(rules);
	return is_one && !is_found ? tell(session, KNOT_ENOENT) : KNOT_OK;
}

command_result_t command_xdp_block(session_t *session)
{
	static const struct {
		const char *verb;
		knot_err_t (*run)(session_t *session);
	} verbs[] = { { "add", add_rule }, { "remove", remove_rule }, { "list", list_rules } };
	const char *verb = session->args[KNOT_CTL_IDX_TYPE];
	for (size_t i = 0; verb != NULL && i < KNOT_LEN(verbs); i++) {
		if (strcmp(verbs[i].verb, verb) == 0) {
			return command_result(verbs[i].run(session));
		}
	}
	return command_result(KNOT_EPARAM);
}
