/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/request_log.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/un.h>

#include "libknot/base/assert.h"
#include "src/sys/log.h"

enum {
	KEY_TEXT_MAX = sizeof("key , ") + KNOT_NAME_TEXT_MAX,
	TEXT_MAX = 256,
};

/* "192.0.2.1@53"; of UNIX sockets the path. */
static const char *request_log_source(const answer_source_t *source, char ret_text[static CONF_ADDR_TEXT_MAX])
{
	static const size_t lens[] = {
		[AF_UNIX] = sizeof(struct sockaddr_un),
		[AF_INET] = sizeof(struct sockaddr_in),
		[AF_INET6] = sizeof(struct sockaddr_in6),
	};
	conf_addr_t from = { .len = 0 };
	sa_family_t family = source->remote->sa_family;
	assert(family < KNOT_LEN(lens) && lens[family] > 0);
	memcpy(&from.ss, source->remote, lens[family]);
	return conf_addr_print(&from, ret_text);
}

static void request_log_key(const answer_aside_t *aside, char ret_text[static KEY_TEXT_MAX])
{
	char name[KNOT_NAME_TEXT_MAX];
	ret_text[0] = '\0';
	if (aside->has_tsig) {
		knot_name_print(aside->key, name);
		(void)snprintf(ret_text, KEY_TEXT_MAX, "key %s, ", name);
	}
}

/* ---- Permission and signature ---- */

static void request_log_verdict(
		const answer_source_t *source, const answer_report_t *report, const answer_aside_t *aside)
{
	static const char *const actions[] = {
		[CONF_ACTION_QUERY] = "query",
		[CONF_ACTION_NOTIFY] = "notify",
		[CONF_ACTION_TRANSFER] = "transfer",
		[CONF_ACTION_UPDATE] = "update",
	};
	char from[CONF_ADDR_TEXT_MAX], key[KNOT_NAME_TEXT_MAX] = "";
	if (aside->has_tsig) {
		knot_name_print(aside->key, key);
	}
	log_zone(LOG_DEBUG, zone_name(report->zone), "ACL, %s, action %s, remote %s %s%s%s%s",
			aside->verdict.is_allowed ? "allowed" : "denied", actions[aside->action],
			request_log_source(source, from), answer_is_udp(source->protocol) ? "UDP" : "TCP",
			aside->has_tsig ? ", key " : "", key, aside->verdict.is_automatic ? ", automatic" : "");
}

static void request_log_tsig(const answer_report_t *report, const answer_aside_t *aside)
{
	knot_name_t zone = zone_name(report->zone);
	char key[KNOT_NAME_TEXT_MAX];
	if (aside->tsig == ANSWER_TSIG_FAILED) {
		log_zone(LOG_ERR, zone, "TSIG, verification failed (%s)", knot_strerror(KNOT_ERROR));
	} else if (aside->tsig != ANSWER_TSIG_OK) {
		knot_name_print(aside->key, key);
		log_zone(LOG_DEBUG, zone, "TSIG, key '%s', verification failed '%s'", key,
				aside->tsig == ANSWER_TSIG_BADSIG ? "BADSIG" : "BADTIME");
	}
}

/* ---- What was asked for ---- */

typedef struct {
	int level;
	const char *operation; /* NULL: AXFR or IXFR */
	/* Writes the text behind the peer. */
	void (*print)(const answer_aside_t *aside, char ret_text[static TEXT_MAX]);
} request_log_row_t;

static void request_log_print_notify(const answer_aside_t *aside, char ret_text[static TEXT_MAX])
{
	(void)snprintf(ret_text, TEXT_MAX, aside->has_serial ? "serial %u" : "serial none", aside->serial);
}

static void request_log_print_invalid(const answer_aside_t *aside, char ret_text[static TEXT_MAX])
{
	(void)aside;
	(void)snprintf(ret_text, TEXT_MAX, "invalid query");
}

static void request_log_print_child(const answer_aside_t *aside, char ret_text[static TEXT_MAX])
{
	(void)snprintf(ret_text, TEXT_MAX, "%s of a child", aside->child_type == KNOT_TYPE_CDS ? "CDS" : "CSYNC");
}

static void request_log_print_up_to_date(const answer_aside_t *aside, char ret_text[static TEXT_MAX])
{
	(void)snprintf(ret_text, TEXT_MAX, "zone is up-to-date, serial %u", aside->serial);
}

static void request_log_print_frozen(const answer_aside_t *aside, char ret_text[static TEXT_MAX])
{
	(void)snprintf(ret_text, TEXT_MAX, "outgoing %s frozen", aside->is_ixfr ? "IXFR" : "AXFR");
}

static void request_log_print_malformed(const answer_aside_t *aside, char ret_text[static TEXT_MAX])
{
	(void)aside;
	(void)snprintf(ret_text, TEXT_MAX, "malformed query");
}

static const request_log_row_t request_log_rows[ANSWER_NOTE_END] = {
	[ANSWER_NOTE_NOTIFY] = { LOG_INFO, "notify, incoming", request_log_print_notify },
	[ANSWER_NOTE_NOTIFY_INVALID] = { LOG_DEBUG, "notify, incoming", request_log_print_invalid },
	[ANSWER_NOTE_NOTIFY_CHILD] = { LOG_DEBUG, "notify, incoming", request_log_print_child },
	[ANSWER_NOTE_UP_TO_DATE] = { LOG_INFO, NULL, request_log_print_up_to_date },
	[ANSWER_NOTE_FROZEN] = { LOG_INFO, NULL, request_log_print_frozen },
	[ANSWER_NOTE_MALFORMED] = { LOG_DEBUG, NULL, request_log_print_malformed },
};

static void request_log_line(const answer_source_t *source, const answer_report_t *report, const answer_aside_t *aside,
		int level, const char *operation, const char *text)
{
	const char *transfer = aside->is_ixfr ? "IXFR, outgoing" : "AXFR, outgoing";
	char from[CONF_ADDR_TEXT_MAX], key[KEY_TEXT_MAX];
	request_log_key(aside, key);
	log_zone(level, zone_name(report->zone), "%s, remote %s%s, %s%s", operation != NULL ? operation : transfer,
			request_log_source(source, from), answer_is_udp(source->protocol) ? "" : " TCP", key, text);
}

static void request_log_note(const answer_source_t *source, const answer_report_t *report, const answer_aside_t *aside)
{
	const request_log_row_t *row = &request_log_rows[aside->note];
	char text[TEXT_MAX];
	if (row->print == NULL) {
		return;
	}
	if (aside->has_bad_record) {
		request_log_line(source, report, aside, LOG_NOTICE, row->operation, "bad record in answer section");
	}
	row->print(aside, text);
	request_log_line(source, report, aside, row->level, row->operation, text);
}

void request_log(const answer_source_t *source, const answer_report_t *report, const answer_aside_t *aside)
{
	assert(report->zone != NULL && aside->note < ANSWER_NOTE_END);
	if (sys_log_wants(SYS_LOG_ZONE, LOG_DEBUG)) {
		request_log_verdict(source, report, aside);
	}
	request_log_tsig(report, aside);
	request_log_note(source, report, aside);
}
