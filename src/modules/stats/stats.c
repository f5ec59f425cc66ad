/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mod-stats: counts requests and replies by protocol, operation, size, code, type and options.
 *
 * Items, their sub-keys and how each is counted are rows of a table. Only items that are switched on take memory and
 * time. Counting never blocks and never writes a line that another thread writes.
 */
#include "src/modules/module.h"

#include "libknot/msg/rcode.h"
#include "libknot/rr/rrtype.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	ID_TEXT_MAX = 40,
	OPTION_OTHER = 20,    /* codes 0–19 have a counter each */
	QUERY_SIZE_END = 288, /* bytes from which on there is one last bucket */
	REPLY_SIZE_END = 4096,
	BUCKET = 16, /* bytes */
};

typedef struct {
	module_instance_t base;
	sys_counters_t *counters; /* owned; NULL when every item is off */
	struct stats_use *uses;   /* owned; the items that are on */
	unsigned use_count;
} stats_t;

typedef struct stats_tally tally_t;

/** Where an item that is on has its counters. */
typedef struct stats_use {
	void (*add)(const tally_t *t, unsigned first); /* the item's */
	const struct stats_item *item;
	unsigned first;
} stats_use_t;

/** An item: its row of the configuration, its sub-keys in their order, and what it counts. */
typedef struct stats_item {
	sys_counter_info_t info;
	size_t flag_off; /* of the bool in conf_mod_stats_t */
	unsigned count;  /* sub-keys */
	/** The sub-key of counter `index`, written to `scratch` if it is no constant; NULL: this counter is never
	 * shown. */
	const char *(*id)(unsigned index, char scratch[static ID_TEXT_MAX]);
	void (*add)(const tally_t *t, unsigned first);
} stats_item_t;

/* What is asked for, as Knot distinguishes it. */
typedef enum {
	OPERATION_QUERY,
	OPERATION_UPDATE,
	OPERATION_NOTIFY,
	OPERATION_AXFR,
	OPERATION_IXFR,
	OPERATION_INVALID,
} operation_t;

/** An answer being counted: what all items want to know of it is found out once. */
struct stats_tally {
	const module_answered_t *what;
	sys_counters_t *counters;
	_Atomic uint64_t *row; /* the thread's own; NULL: it has none */
	operation_t operation;
};

static inline void stats_tally_add(const tally_t *t, unsigned index, uint64_t n)
{
	if (__builtin_expect(t->row == NULL, 0)) {
		sys_counters_add_shared(t->counters, index, n);
		return;
	}
	sys_counters_add_own(t->row, index, n);
}

static operation_t stats_operation_of(const knot_query_t *query)
{
	unsigned opcode = query->opcode;
	if (query->question_len == 0) {
		return OPERATION_INVALID;
	}
	switch (opcode) {
	case KNOT_OPCODE_QUERY:
		return query->qtype == KNOT_TYPE_AXFR   ? OPERATION_AXFR
		       : query->qtype == KNOT_TYPE_IXFR ? OPERATION_IXFR
		       : query->qtype == 0              ? OPERATION_INVALID
							: OPERATION_QUERY;
	case KNOT_OPCODE_NOTIFY: return OPERATION_NOTIFY;
	case KNOT_OPCODE_UPDATE: return OPERATION_UPDATE;
	default: return OPERATION_INVALID;
	}
}

static bool stats_is_sent(const tally_t *t)
{
	return t->what->response_len > 0;
}

/* Types and sizes are counted of ordinary queries only. */
static bool stats_is_query(const tally_t *t)
{
	return t->operation == OPERATION_QUERY;
}

/* ---- request-protocol ---- */

static const char *stats_protocol_id(unsigned index, char scratch[static ID_TEXT_MAX])
{
	(void)scratch;
	return answer_protocol_name((answer_protocol_t)index);
}

static void stats_add_protocol(const tally_t *t, unsigned first)
{
	stats_tally_add(t, first + t->what->protocol, 1);
}

/* ---- server-operation ---- */

static const char *stats_operation_id(unsigned index, char scratch[static ID_TEXT_MAX])
{
	static const char *const ids[] = { "query", "update", "notify", "axfr", "ixfr", "invalid" };
	(void)scratch;
	return ids[index];
}

static void stats_add_operation(const tally_t *t, unsigned first)
{
	stats_tally_add(t, first + t->operation, 1);
}

/* ---- request-bytes, response-bytes ---- */

static const char *stats_request_bytes_id(unsigned index, char scratch[static ID_TEXT_MAX])
{
	static const char *const ids[] = { "query", "update", "other" };
	(void)scratch;
	return ids[index];
}

static void stats_add_request_bytes(const tally_t *t, unsigned first)
{
	operation_t operation = t->operation;
	unsigned index = operation == OPERATION_QUERY ? 0 : operation == OPERATION_UPDATE ? 1 : 2;
	stats_tally_add(t, first + index, t->what->request_len);
}

static const char *stats_response_bytes_id(unsigned index, char scratch[static ID_TEXT_MAX])
{
	static const char *const ids[] = { "reply", "transfer", "other" };
	(void)scratch;
	return ids[index];
}

static void stats_add_response_bytes(const tally_t *t, unsigned first)
{
	if (!stats_is_sent(t)) {
		return;
	}
	operation_t operation = t->operation;
	bool is_transfer = operation == OPERATION_AXFR || operation == OPERATION_IXFR;
	unsigned index = operation == OPERATION_QUERY ? 0 : is_transfer ? 1 : 2;
	stats_tally_add(t, first + index, t->what->response_len);
}

/* ---- edns-presence, flag-presence ---- */

static const char *stats_edns_id(unsigned index, char scratch[static ID_TEXT_MAX])
{
	(void)scratch;
	return index == 0 ? "request" : "response";
}

static void stats_add_edns(const tally_t *t, unsigned first)
{
	if (t->what->query->edns.present) {
		stats_tally_add(t, first, 1);
	}
	if (stats_is_sent(t) && t->what->report->has_opt) {
		stats_tally_add(t, first + 1, 1);
	}
}

static const char *stats_flag_id(unsigned index, char scratch[static ID_TEXT_MAX])
{
	(void)scratch;
	return index == 0 ? "DO" : "TC";
}

static void stats_add_flags(const tally_t *t, unsigned first)
{
	if (t->what->query->edns.present && t->what->query->edns.dnssec_ok) {
		stats_tally_add(t, first, 1);
	}
	if (stats_is_sent(t) && t->what->report->truncated) {
		stats_tally_add(t, first + 1, 1);
	}
}

/* ---- response-code ---- */

static const char *stats_rcode_id(unsigned index, char scratch[static ID_TEXT_MAX])
{
	(void)scratch;
	return knot_rcode_slot_name(index);
}

static void stats_add_rcode(const tally_t *t, unsigned first)
{
	if (stats_is_sent(t)) {
		stats_tally_add(t, first + knot_rcode_slot(t->what->report->rcode), 1);
	}
}

/* ---- request-edns-option, response-edns-option ---- */

static const char *stats_option_id(unsigned index, char scratch[static ID_TEXT_MAX])
{
	static const char *const ids[OPTION_OTHER + 1] = {
		"CODE0",
		"LLQ",
		"UL",
		"NSID",
		"CODE4",
		"DAU",
		"DHU",
		"N3U",
		"EDNS-CLIENT-SUBNET",
		"EDNS-EXPIRE",
		"COOKIE",
		"EDNS-TCP-KEEPALIVE",
		"PADDING",
		"CHAIN",
		"EDNS-KEY-TAG",
		"CODE15",
		"CODE16",
		"CODE17",
		"CODE18",
		"CODE19",
		"other",
	};
	(void)scratch;
	return ids[index];
}

static void stats_add_option_bits(const tally_t *t, unsigned first, uint32_t bits)
{
	while (bits != 0) {
		unsigned code = (unsigned)__builtin_ctz(bits);
		stats_tally_add(t, first + (code < OPTION_OTHER ? code : OPTION_OTHER), 1);
		bits &= bits - 1;
	}
}

static void stats_add_request_options(const tally_t *t, unsigned first)
{
	stats_add_option_bits(t, first, t->what->query->edns.option_bits);
}

static void stats_add_response_options(const tally_t *t, unsigned first)
{
	if (stats_is_sent(t)) {
		stats_add_option_bits(t, first, t->what->report->reply_options);
	}
}

/* ---- reply-nodata ---- */

static const char *stats_nodata_id(unsigned index, char scratch[static ID_TEXT_MAX])
{
	static const char *const ids[] = { "A", "AAAA", "other" };
	(void)scratch;
	return ids[index];
}

static void stats_add_nodata(const tally_t *t, unsigned first)
{
	if (!stats_is_query(t) || !stats_is_sent(t) || !t->what->report->is_nodata) {
		return;
	}
	uint16_t type = t->what->query->qtype;
	stats_tally_add(t, first + (type == KNOT_TYPE_A ? 0u : type == KNOT_TYPE_AAAA ? 1u : 2u), 1);
}

/* ---- query-type ---- */

/* Runs of types that have a counter each; index 0 is all others. */
static const struct {
	uint16_t first, last;
} type_runs[] = { { 1, 65 }, { 99, 110 }, { 255, 260 } };

enum { TYPE_COUNT = 1 + 65 + 12 + 6 };

static unsigned stats_type_index(uint16_t type)
{
	unsigned index = 1;
	for (unsigned i = 0; i < KNOT_LEN(type_runs); i++) {
		if (type >= type_runs[i].first && type <= type_runs[i].last) {
			return index + type - type_runs[i].first;
		}
		index += type_runs[i].last - type_runs[i].first + 1u;
	}
	return 0;
}

static const char *stats_type_id(unsigned index, char scratch[static ID_TEXT_MAX])
{
	if (index == 0) {
		return "other";
	}
	index--;
	for (unsigned i = 0; i < KNOT_LEN(type_runs); i++) {
		unsigned run = type_runs[i].last - type_runs[i].first + 1u;
		if (index < run) {
			static_assert((int)ID_TEXT_MAX >= (int)KNOT_TYPE_TEXT_MAX, "room for a type");
			(void)knot_rrtype_print((uint16_t)(type_runs[i].first + index), scratch);
			return scratch;
		}
		index -= run;
	}
	return NULL;
}

static void stats_add_type(const tally_t *t, unsigned first)
{
	if (stats_is_query(t)) {
		stats_tally_add(t, first + stats_type_index(t->what->query->qtype), 1);
	}
}

/* ---- query-size, reply-size ---- */

static const char *stats_bucket_id(unsigned index, unsigned end, char scratch[static ID_TEXT_MAX])
{
	unsigned from = index * BUCKET;
	assert(from <= end);
	snprintf(scratch, ID_TEXT_MAX, "%u-%u", from, from < end ? from + BUCKET - 1 : 65535u);
	return scratch;
}

static unsigned stats_bucket_of(uint32_t len, unsigned end)
{
	return (len < end ? len : end) / BUCKET;
}

static const char *stats_query_size_id(unsigned index, char scratch[static ID_TEXT_MAX])
{
	return stats_bucket_id(index, QUERY_SIZE_END, scratch);
}

static void stats_add_query_size(const tally_t *t, unsigned first)
{
	if (stats_is_query(t)) {
		stats_tally_add(t, first + stats_bucket_of(t->what->request_len, QUERY_SIZE_END), 1);
	}
}

static const char *stats_reply_size_id(unsigned index, char scratch[static ID_TEXT_MAX])
{
	return stats_bucket_id(index, REPLY_SIZE_END, scratch);
}

static void stats_add_reply_size(const tally_t *t, unsigned first)
{
	if (stats_is_query(t) && stats_is_sent(t)) {
		stats_tally_add(t, first + stats_bucket_of(t->what->response_len, REPLY_SIZE_END), 1);
	}
}

/* ---- The table ---- */

#define FLAG(field) offsetof(conf_mod_stats_t, field)
#define ITEM(name, help)                                                                                               \
	{                                                                                                              \
		"mod-stats", name, SYS_COUNTER_COUNT, help                                                             \
	}

static const stats_item_t items[] = {
	{ ITEM("request-protocol", "Requests by protocol"), FLAG(request_protocol), ANSWER_PROTOCOL_END,
			stats_protocol_id, stats_add_protocol },
	{ ITEM("server-operation", "Requests by what they ask for"), FLAG(server_operation), OPERATION_INVALID + 1,
			stats_operation_id, stats_add_operation },
	{ ITEM("request-bytes", "Bytes of requests by what they ask for, without the length prefix of TCP"),
			FLAG(request_bytes), 3, stats_request_bytes_id, stats_add_request_bytes },
	{ ITEM("response-bytes", "Bytes of replies by what they carry, without the length prefix of TCP"),
			FLAG(response_bytes), 3, stats_response_bytes_id, stats_add_response_bytes },
	{ ITEM("edns-presence", "Requests and replies with EDNS"), FLAG(edns_presence), 2, stats_edns_id,
			stats_add_edns },
	{ ITEM("flag-presence", "Requests with the flag DO, replies with the flag TC"), FLAG(flag_presence), 2,
			stats_flag_id, stats_add_flags },
	{ ITEM("response-code", "Replies by response code"), FLAG(response_code), KNOT_RCODE_SLOTS, stats_rcode_id,
			stats_add_rcode },
	{ ITEM("request-edns-option", "EDNS options in requests, by name or number"), FLAG(request_edns_option),
			OPTION_OTHER + 1, stats_option_id, stats_add_request_options },
	{ ITEM("response-edns-option", "EDNS options in replies, by name or number"), FLAG(response_edns_option),
			OPTION_OTHER + 1, stats_option_id, stats_add_response_options },
	{ ITEM("reply-nodata", "Replies without data (NODATA) by the type of the query"), FLAG(reply_nodata), 3,
			stats_nodata_id, stats_add_nodata },
	{ ITEM("query-type", "Queries by type"), FLAG(query_type), TYPE_COUNT, stats_type_id, stats_add_type },
	{ ITEM("query-size", "Queries by size in bytes"), FLAG(query_size), QUERY_SIZE_END / BUCKET + 1,
			stats_query_size_id, stats_add_query_size },
	{ ITEM("reply-size", "Replies by size in bytes"), FLAG(reply_size), REPLY_SIZE_END / BUCKET + 1,
			stats_reply_size_id, stats_add_reply_size },
};

static void stats_free(module_instance_t *instance)
{
	stats_t *stats = (stats_t *)instance;
	sys_counters_free(stats->counters);
	free(stats->uses);
	free(stats);
}

static knot_err_t stats_make(const conf_t *conf, const conf_modref_t *ref, module_instance_t **ret_instance)
{
	const conf_mod_stats_t *settings = conf_mod(conf, CONF_MOD_STATS, ref->id);
	stats_t *stats = calloc(1, sizeof(*stats));
	if (stats == NULL) {
		return KNOT_ENOMEM;
	}
	stats->base.api = &module_stats_api;
	stats->uses = calloc(KNOT_LEN(items), sizeof(*stats->uses));
	unsigned count = 0;
	for (size_t i = 0; stats->uses != NULL && i < KNOT_LEN(items); i++) {
		if (*(const bool *)((const char *)settings + items[i].flag_off)) {
			assert(items[i].count > 0);
			stats->uses[stats->use_count++] = (stats_use_t){ items[i].add, &items[i], count };
			count += items[i].count;
		}
	}
	stats->counters = count > 0 ? sys_counters_new(count) : NULL;
	if (stats->uses == NULL || (count > 0 && stats->counters == NULL)) {
		stats_free(&stats->base);
		return KNOT_ENOMEM;
	}
	*ret_instance = &stats->base;
	return KNOT_OK;
}

static void stats_answered(module_instance_t *instance, const module_answered_t *what)
{
	const stats_t *stats = (const stats_t *)instance;
	if (stats->use_count == 0) {
		return;
	}
	const tally_t tally = {
		.what = what,
		.counters = stats->counters,
		.row = sys_counters_own_row(stats->counters),
		.operation = stats_operation_of(what->query),
	};
	for (unsigned i = 0; i < stats->use_count; i++) {
		stats->uses[i].add(&tally, stats->uses[i].first);
	}
}

static const sys_counter_info_t *stats_item(const module_instance_t *instance, unsigned index)
{
	const stats_t *stats = (const stats_t *)instance;
	if (stats == NULL) {
		return index < KNOT_LEN(items) ? &items[index].info : NULL;
	}
	return index < stats->use_count ? &stats->uses[index].item->info : NULL;
}

static bool stats_counters(const module_instance_t *instance, const char *only, module_counter_cb cb, void *ctx)
{
	const stats_t *stats = (const stats_t *)instance;
	for (unsigned i = 0; i < stats->use_count; i++) {
		const stats_use_t *use = &stats->uses[i];
		bool is_wanted = only == NULL || strcmp(only, use->item->info.item) == 0;
		for (unsigned j = 0; is_wanted && j < use->item->count; j++) {
			char scratch[ID_TEXT_MAX];
			const char *id = use->item->id(j, scratch);
			if (id != NULL && !cb(&use->item->info, id, sys_counters_sum(stats->counters, use->first + j),
							  ctx)) {
				return false;
			}
		}
	}
	return true;
}

const module_api_t module_stats_api = {
	.name = "mod-stats",
	.make = stats_make,
	.free = stats_free,
	.answered = stats_answered,
	.item = stats_item,
	.counters = stats_counters,
};
