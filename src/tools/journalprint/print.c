/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/journalprint/print.h"

#include "libknot/rr/rrtype.h"
#include "libknot/text/rdata_text.h"
#include "libknot/text/rr_text.h"
#include "src/journal/changeset.h"
#include "src/sys/interval.h"

#include <inttypes.h>
#include <stdlib.h>

static const char yellow[] = "\x1b[93m", red[] = "\x1b[31m", green[] = "\x1b[32m", plain[] = "\x1b[0m";

/* ---- What is in an entry ---- */

enum { TYPES = 1 << 16 };

typedef struct {
	uint32_t serials[2], counts[2]; /* [is_added]; SOAs are counted */
	uint16_t *types;                /* owned: in order of appearance, without SOA */
	size_t type_count;
	uint8_t seen[TYPES / 8];
} print_facts_t;

static bool print_note(const changeset_rr_t *rr, bool is_added, void *ctx)
{
	print_facts_t *facts = ctx;
	facts->counts[is_added]++;
	if (rr->type == KNOT_TYPE_SOA) {
		facts->serials[is_added] = knot_soa_serial(rr->rdata);
	} else if ((facts->seen[rr->type / 8] >> rr->type % 8 & 1) == 0) {
		facts->seen[rr->type / 8] |= (uint8_t)(1u << rr->type % 8);
		facts->types[facts->type_count++] = rr->type;
	}
	return true;
}

/* ---- The brief form ---- */

static void print_brief(print_t *print, const journal_entry_t *entry, const print_facts_t *facts)
{
	if (entry->kind == JOURNAL_WHOLE) {
		fprintf(print->out, "Zone-in-journal %u  +++: %u\t size: %zu\t", facts->serials[1], facts->counts[1],
				entry->change.payload.len);
	} else {
		fprintf(print->out, "%u -> %u  ---: %u\t  +++: %u\t size: %zu\t", facts->serials[0], facts->serials[1],
				facts->counts[0], facts->counts[1], entry->change.payload.len);
	}
	char text[KNOT_TYPE_TEXT_MAX > 64 ? KNOT_TYPE_TEXT_MAX : 64];
	sys_interval_print((int64_t)(entry->change.time_s - print->now_s), text, sizeof(text));
	fprintf(print->out, " timestamp: %s\t", text);
	for (size_t i = 0; i < facts->type_count; i++) {
		knot_rrtype_print(facts->types[i], text);
		fprintf(print->out, " %s", text);
	}
	fputc('\n', print->out);
	if (entry->kind != JOURNAL_STEP && !print->is_chain) {
		fputs("---------------------------------------------\n", print->out);
	}
}

/* ---- The form with all records ---- */

static const char *print_paint(const print_t *print, const char *color)
{
	return print->has_color ? color : "";
}

static void print_line(const print_t *print, const char *color, const char *text)
{
	fprintf(print->out, "%s%s%s\n", print_paint(print, color), text, print_paint(print, plain));
}

typedef struct {
	const print_t *print;
	char *rdata;   /* owned, KNOT_RDATA_TEXT_MAX */
	bool is_added; /* of JSON: which records are printed */
} print_records_t;

static bool print_record(const changeset_rr_t *rr, bool is_added, void *ctx)
{
	const print_records_t *records = ctx;
	const print_t *print = records->print;
	const char *color = print_paint(print, is_added ? green : red), *end = print_paint(print, plain);
	bool is_soa = rr->type == KNOT_TYPE_SOA;
	if (is_soa) {
		print_line(print, is_added ? green : red, is_added ? ";; Added" : ";; Removed");
	}
	char owner[KNOT_RR_OWNER_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX];
	int owner_len = (int)knot_rr_print_owner(rr->owner, owner);
	knot_rrtype_print(rr->type, type);
	(void)knot_rdata_print(rr->type, rr->rdata, records->rdata, KNOT_RDATA_TEXT_MAX);
	/* Knot paints the SOA once more, around the whole line. */
	fprintf(print->out, "%s%s%.*s%u\t%s\t%s%s\n%s", is_soa ? color : "", color, owner_len, owner, rr->ttl, type,
			records->rdata, end, is_soa ? end : "");
	return true;
}

static knot_err_t print_full(
		print_t *print, const journal_entry_t *entry, const print_facts_t *facts, changeset_kind_t kind)
{
	char text[128];
	if (kind == CHANGESET_WHOLE) {
		snprintf(text, sizeof(text),
				";; Zone-in-journal, serial: %u, changeset: %" PRIu64 ", timestamp: %" PRIu64,
				facts->serials[1], print->count, entry->change.time_s);
	} else {
		snprintf(text, sizeof(text),
				";; Changes between zone versions: %u -> %u, changeset: %" PRIu64
				", timestamp: %" PRIu64,
				facts->serials[0], facts->serials[1], print->count, entry->change.time_s);
	}
	print_records_t records = { .print = print, .rdata = malloc(KNOT_RDATA_TEXT_MAX) };
	if (records.rdata == NULL) {
		return KNOT_ENOMEM;
	}
	print_line(print, yellow, text);
	knot_err_t err = changeset_each(entry->change.payload, kind, print_record, &records);
	free(records.rdata);
	return err;
}

/* ---- JSON ---- */

static bool print_json_record(const changeset_rr_t *rr, bool is_added, void *ctx)
{
	const print_records_t *records = ctx;
	knot_json_t *json = records->print->json;
	char owner[KNOT_NAME_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX];
	if (is_added != records->is_added) {
		return true;
	}
	knot_name_print(rr->owner, owner);
	knot_rrtype_print(rr->type, type);
	(void)knot_rdata_print(rr->type, rr->rdata, records->rdata, KNOT_RDATA_TEXT_MAX);
	knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINE);
	knot_json_text(json, "owner", owner);
	knot_json_uint(json, "ttl", rr->ttl);
	knot_json_text(json, "type", type);
	knot_json_text(json, "rdata", records->rdata);
	knot_json_close(json);
	return !json->failed;
}

static knot_err_t print_json_records(print_t *print, const journal_entry_t *entry, changeset_kind_t kind)
{
	static const char *const names[] = { "removed", "added" };
	print_records_t records = { .print = print, .rdata = malloc(KNOT_RDATA_TEXT_MAX) };
	knot_err_t err = records.rdata != NULL ? KNOT_OK : KNOT_ENOMEM;
	for (unsigned i = 0; i < KNOT_LEN(names) && err == KNOT_OK; i++) {
		records.is_added = i == 1;
		knot_json_open(print->json, names[i], KNOT_JSON_LIST, KNOT_JSON_LINES);
		err = changeset_each(entry->change.payload, kind, print_json_record, &records);
		knot_json_close(print->json);
	}
	free(records.rdata);
	return err;
}

static knot_err_t print_json(
		print_t *print, const journal_entry_t *entry, const print_facts_t *facts, changeset_kind_t kind)
{
	knot_json_t *json = print->json;
	knot_json_open(json, NULL, KNOT_JSON_OBJECT, print->is_brief ? KNOT_JSON_LINE : KNOT_JSON_LINES);
	knot_json_text(json, "kind", kind == CHANGESET_WHOLE ? "zone" : "changes");
	if (kind == CHANGESET_STEP) {
		knot_json_uint(json, "serial-from", facts->serials[0]);
	}
	knot_json_uint(json, "serial-to", facts->serials[1]);
	knot_json_uint(json, "timestamp", entry->change.time_s);
	knot_json_uint(json, "size", entry->change.payload.len);
	knot_json_uint(json, "removed-count", facts->counts[0]);
	knot_json_uint(json, "added-count", facts->counts[1]);
	knot_json_open(json, "types", KNOT_JSON_LIST, KNOT_JSON_LINE);
	for (size_t i = 0; i < facts->type_count; i++) {
		char text[KNOT_TYPE_TEXT_MAX];
		knot_rrtype_print(facts->types[i], text);
		knot_json_text(json, NULL, text);
	}
	knot_json_close(json);
	knot_err_t err = print->is_brief ? KNOT_OK : print_json_records(print, entry, kind);
	knot_json_close(json);
	return err;
}

bool print_entry(const journal_entry_t *entry, void *ctx)
{
	print_t *print = ctx;
	print_facts_t *facts = calloc(1, sizeof(*facts));
	changeset_kind_t kind = entry->kind == JOURNAL_WHOLE ? CHANGESET_WHOLE : CHANGESET_STEP;
	print->err = KNOT_ENOMEM;
	if (facts != NULL && (facts->types = malloc(TYPES * sizeof(*facts->types))) != NULL) {
		print->err = changeset_each(entry->change.payload, kind, print_note, facts);
	}
	if (print->err == KNOT_OK && print->skip > 0) {
		print->skip--;
	} else if (print->err == KNOT_OK) {
		print->count++;
		if (print->json != NULL) {
			print->err = print_json(print, entry, facts, kind);
		} else if (print->is_brief) {
			print_brief(print, entry, facts);
		} else {
			print->err = print_full(print, entry, facts, kind);
		}
	}
	if (facts != NULL) {
		free(facts->types);
	}
	free(facts);
	return print->err == KNOT_OK;
}
