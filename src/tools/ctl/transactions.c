/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/ctl/transactions.h"

#include "libknot/name/name.h"
#include "src/tools/must.h"

#include <assert.h>
#include <string.h>

#define TRANSACTIONS_ALL_ZONES "--"

enum {
	TRANSACTIONS_WARNED_MAX = 8, /* zones that the warning names */
	TRANSACTIONS_NAME_MAX = 40,  /* bytes of a zone's name in the prompt */
};

/* ---- The list ---- */

static bool transactions_is_zone(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static size_t transactions_find(const transactions_t *transactions, const char *zone)
{
	size_t i = 0;
	while (i < transactions->count && !transactions_is_zone(transactions->list[i].zone, zone)) {
		i++;
	}
	return i;
}

static void transactions_add(transactions_t *transactions, const char *zone, bool is_ours)
{
	size_t at = transactions_find(transactions, zone);
	if (at == transactions->count) {
		transactions->list = must(realloc(transactions->list, (at + 1) * sizeof(*transactions->list)));
		transactions->list[at] = (transaction_t){ .zone = zone != NULL ? must(strdup(zone)) : NULL };
		transactions->count++;
	}
	transactions->list[at].is_ours |= is_ours;
}

static void transactions_remove_at(transactions_t *transactions, size_t at)
{
	assert(at < transactions->count);
	free(transactions->list[at].zone);
	transactions->count--;
	memmove(&transactions->list[at], &transactions->list[at + 1],
			(transactions->count - at) * sizeof(*transactions->list));
}

/* "--" removes those of all zones. */
static void transactions_remove(transactions_t *transactions, const char *zone)
{
	bool is_all = zone != NULL && strcmp(zone, TRANSACTIONS_ALL_ZONES) == 0;
	for (size_t i = transactions->count; i > 0; i--) {
		const char *open = transactions->list[i - 1].zone;
		if (transactions_is_zone(open, zone) || (is_all && open != NULL)) {
			transactions_remove_at(transactions, i - 1);
		}
	}
}

void transactions_free(transactions_t *transactions)
{
	for (size_t i = 0; i < transactions->count; i++) {
		free(transactions->list[i].zone);
	}
	free(transactions->list);
	*transactions = (transactions_t){ 0 };
}

/* ---- A reply ---- */

/* The name as servers print it; of what is no name a copy. Owned. */
static char *transactions_make_name(const char *zone)
{
	uint8_t wire[KNOT_NAME_MAX];
	char text[KNOT_NAME_TEXT_MAX];
	knot_name_t name;
	if (knot_name_scan(knot_str_of(zone), knot_name_root, wire, &name) != KNOT_OK) {
		return must(strdup(zone));
	}
	knot_name_lower(name, wire);
	(void)knot_name_print(name, text);
	return must(strdup(text));
}

void transactions_reply_begin(transactions_reply_t *ret_reply, transactions_t *transactions, const action_t *action,
		const request_t *request)
{
	*ret_reply = (transactions_reply_t){ .effect = action->txn };
	if (transactions == NULL || action->txn == TXN_NONE || request->count == 0) {
		return;
	}
	if (action->txn == TXN_NEEDS && action->layout != LAYOUT_CONF &&
			request->units[0][KNOT_CTL_IDX_FILTERS] != NULL) {
		return; /* zone-diff +file: of the zone file */
	}
	ret_reply->transactions = transactions;
	ret_reply->count = request->count;
	ret_reply->zones = must(calloc(request->count, sizeof(char *)));
	ret_reply->failed = must(calloc(request->count, sizeof(bool)));
	for (size_t i = 0; i < request->count && action->layout != LAYOUT_CONF; i++) {
		const char *zone = request->units[i][KNOT_CTL_IDX_ZONE];
		ret_reply->zones[i] =
				zone != NULL ? transactions_make_name(zone) : must(strdup(TRANSACTIONS_ALL_ZONES));
	}
}

void transactions_reply_unit(transactions_reply_t *reply, const knot_ctl_data_t *unit)
{
	const char *error = (*unit)[KNOT_CTL_IDX_ERROR], *zone = (*unit)[KNOT_CTL_IDX_ZONE];
	if (reply->transactions == NULL || error == NULL) {
		return;
	}
	char *name = zone != NULL ? transactions_make_name(zone) : NULL;
	if (strcmp(error, knot_strerror(KNOT_ETXNNONE)) == 0) {
		transactions_remove(reply->transactions, name);
	}
	/* An error without a zone is about all units. If it is "failed for some zones", those that began are not known.
	 */
	for (size_t i = 0; i < reply->count; i++) {
		reply->failed[i] |= name == NULL || transactions_is_zone(reply->zones[i], name);
	}
	free(name);
}

static void transactions_apply(transactions_t *transactions, txn_effect_t effect, const char *zone)
{
	bool is_all = zone != NULL && strcmp(zone, TRANSACTIONS_ALL_ZONES) == 0;
	switch (effect) {
	case TXN_NONE: return;
	case TXN_BEGINS: transactions_add(transactions, zone, true); return;
	case TXN_ENDS: transactions_remove(transactions, zone); return;
	case TXN_NEEDS:
		/* Of all zones those are meant that have one: their names are not known here. */
		if (!is_all && (zone == NULL || transactions_find(transactions, TRANSACTIONS_ALL_ZONES) ==
								transactions->count)) {
			transactions_add(transactions, zone, false);
		}
		return;
	}
}

void transactions_reply_end(transactions_reply_t *reply, bool is_whole)
{
	for (size_t i = 0; i < reply->count; i++) {
		if (is_whole && !reply->failed[i]) {
			transactions_apply(reply->transactions, reply->effect, reply->zones[i]);
		}
		free(reply->zones[i]);
	}
	free(reply->zones);
	free(reply->failed);
	*reply = (transactions_reply_t){ 0 };
}

/* ---- Texts ---- */

void transactions_print(const transactions_t *transactions, char ret_text[static TRANSACTIONS_TEXT_MAX])
{
	bool has_conf = transactions_find(transactions, NULL) < transactions->count;
	size_t zones = transactions->count - has_conf;
	const char *before = has_conf ? "conf, " : "";
	ret_text[0] = '\0';
	if (zones == 0) {
		snprintf(ret_text, TRANSACTIONS_TEXT_MAX, "%s", has_conf ? "conf" : "");
	} else if (transactions_find(transactions, TRANSACTIONS_ALL_ZONES) < transactions->count) {
		snprintf(ret_text, TRANSACTIONS_TEXT_MAX, "%sall zones", before);
	} else if (zones > 1) {
		snprintf(ret_text, TRANSACTIONS_TEXT_MAX, "%s%zu zones", before, zones);
	} else {
		const char *zone = transactions->list[transactions->list[0].zone == NULL].zone;
		bool is_long = strlen(zone) > TRANSACTIONS_NAME_MAX;
		snprintf(ret_text, TRANSACTIONS_TEXT_MAX, "%s%.*s%s", before, TRANSACTIONS_NAME_MAX, zone,
				is_long ? "..." : "");
	}
}

bool transactions_warn(const transactions_t *transactions, FILE *out)
{
	size_t ours = 0;
	for (size_t i = 0; i < transactions->count; i++) {
		const transaction_t *open = &transactions->list[i];
		ours += open->is_ours;
		if (!open->is_ours || ours > TRANSACTIONS_WARNED_MAX) {
			continue;
		}
		if (open->zone == NULL) {
			fputs("warning: a configuration transaction is open, end it with 'conf-commit' or "
			      "'conf-abort'\n",
					out);
		} else if (strcmp(open->zone, TRANSACTIONS_ALL_ZONES) == 0) {
			fputs("warning: transactions of all zones are open, end them with 'zone-commit --' or "
			      "'zone-abort --'\n",
					out);
		} else {
			fprintf(out,
					"warning: a transaction of zone %s is open, end it with 'zone-commit %s' or "
					"'zone-abort %s'\n",
					open->zone, open->zone, open->zone);
		}
	}
	if (ours > TRANSACTIONS_WARNED_MAX) {
		fprintf(out,
				"warning: transactions of %zu more zones are open, end those of all zones with "
				"'zone-commit "
				"--' or 'zone-abort --'\n",
				ours - TRANSACTIONS_WARNED_MAX);
	}
	return ours > 0;
}
