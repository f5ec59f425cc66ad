/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/journalprint/source.h"

#include "libknot/rr/rrtype.h"
#include "src/journal/changeset.h"

#include <limits.h>
#include <stdio.h>

knot_err_t source_open(const char *path, source_t *ret_source, journal_reason_t *ret_reason)
{
	source_t source = { 0 };
	char file[PATH_MAX];
	if (snprintf(file, sizeof(file), "%s/data.mdb", path) >= (int)sizeof(file)) {
		sys_lmdb_say(ret_reason, "the path is too long");
		return KNOT_EINVAL;
	}
	knot_err_t err = journal_knot_open(file, &source.knot, ret_reason);
	if (err == KNOT_EEXIST) {
		/* It is no journal of Knot's. */
		err = journal_open(&(journal_params_t){ .path = path, .read_only = true }, &source.ours, ret_reason);
	}
	if (err == KNOT_OK) {
		*ret_source = source;
	}
	return err;
}

void source_close(source_t *source)
{
	journal_close(source->ours);
	journal_knot_close(source->knot);
}

knot_err_t source_each_zone(const source_t *source, bool (*visit)(knot_name_t zone, void *ctx), void *ctx)
{
	return source->ours != NULL ? journal_each_zone(source->ours, visit, ctx)
				    : journal_knot_each_zone(source->knot, visit, ctx);
}

static bool source_note_kind(const journal_entry_t *entry, void *ctx)
{
	*(bool *)ctx = entry->kind == JOURNAL_WHOLE;
	return false;
}

knot_err_t source_zone(const source_t *source, knot_name_t zone, source_zone_t *ret_zone)
{
	if (source->ours != NULL) {
		journal_info_t info;
		knot_err_t err = journal_info(source->ours, zone, &info);
		if (err == KNOT_OK && !info.has_whole && !info.has_changes) {
			err = KNOT_ENOENT;
		}
		if (err == KNOT_OK) {
			*ret_zone = (source_zone_t){ info.has_whole,
				info.has_changes ? info.serial_first : info.serial_last, info.serial_last, info.bytes };
		}
		return err;
	}
	journal_knot_info_t info;
	bool has_whole = false;
	knot_err_t err = journal_knot_info(source->knot, zone, &info);
	if (err == KNOT_OK && !info.has_changes) {
		err = KNOT_ENOENT;
	}
	if (err == KNOT_OK) {
		err = journal_knot_each(source->knot, zone, source_note_kind, &has_whole);
		err = err == KNOT_ENOENT ? KNOT_OK : err;
	}
	if (err == KNOT_OK) {
		*ret_zone = (source_zone_t){ has_whole, info.has_merged ? info.serial_merged : info.serial_first,
			info.serial_last, info.occupied };
	}
	return err;
}

typedef struct {
	journal_visit_t visit;
	void *ctx;
} source_filter_t;

static bool source_skip_notes(const journal_entry_t *entry, void *ctx)
{
	const source_filter_t *filter = ctx;
	return entry->kind == JOURNAL_NOTE || filter->visit(entry, filter->ctx);
}

knot_err_t source_each(
		const source_t *source, knot_name_t zone, const uint32_t *serial, journal_visit_t visit, void *ctx)
{
	if (source->knot != NULL) {
		return serial != NULL ? journal_knot_each_from(source->knot, zone, *serial, visit, ctx)
				      : journal_knot_each(source->knot, zone, visit, ctx);
	}
	source_filter_t filter = { visit, ctx };
	if (serial == NULL) {
		return journal_each(source->ours, zone, source_skip_notes, &filter);
	}
	knot_err_t err = journal_each_from(source->ours, zone, *serial, source_skip_notes, &filter);
	journal_info_t info;
	bool is_last = err == KNOT_ENOENT && journal_info(source->ours, zone, &info) == KNOT_OK &&
		       info.serial_last == *serial;
	return is_last ? KNOT_OK : err;
}

uint64_t source_usage(const source_t *source)
{
	return source->ours != NULL ? journal_usage(source->ours).used : journal_knot_usage(source->knot);
}

/* ---- Checking ---- */

typedef struct {
	uint32_t serials[2]; /* of the SOAs: removed, added */
	bool has[2];
} source_soas_t;

static bool source_note_soa(const changeset_rr_t *rr, bool is_added, void *ctx)
{
	source_soas_t *soas = ctx;
	if (rr->type == KNOT_TYPE_SOA && !soas->has[is_added]) {
		soas->serials[is_added] = knot_soa_serial(rr->rdata);
		soas->has[is_added] = true;
	}
	return true;
}

typedef struct {
	bool is_ours; /* merged changes are counted like others, and there may be several */
	uint64_t changes;
	bool has_whole, has_merged;
	source_soas_t merged, first, last;
	knot_err_t err;
} source_seen_t;

static bool source_note_entry(const journal_entry_t *entry, void *ctx)
{
	source_seen_t *seen = ctx;
	source_soas_t soas = { 0 };
	bool is_whole = entry->kind == JOURNAL_WHOLE;
	seen->err = changeset_each(
			entry->change.payload, is_whole ? CHANGESET_WHOLE : CHANGESET_STEP, source_note_soa, &soas);
	bool is_merged = entry->kind == JOURNAL_MERGED && !seen->is_ours;
	if (is_merged) {
		seen->has_merged = true;
		seen->merged = soas;
	}
	seen->has_whole |= is_whole;
	if (!is_whole && !is_merged && seen->changes++ == 0) {
		seen->first = soas;
	}
	seen->last = soas;
	return seen->err == KNOT_OK;
}

/* In the order in which Knot checks. */
static unsigned source_judge(const source_seen_t *seen, const journal_knot_info_t *info)
{
	const struct {
		unsigned code;
		bool is_broken;
	} rules[] = {
		{ 101, !seen->last.has[1] },
		{ 102, seen->last.serials[1] != info->serial_last },
		{ 103, info->has_merged && seen->has_whole },
		{ 105, seen->has_merged && seen->merged.serials[0] != info->serial_merged },
		{ 111, seen->changes > 0 && seen->first.serials[0] != info->serial_first },
		{ 112, seen->changes != info->changes },
		{ 113, seen->has_merged && seen->changes == 0 },
	};
	for (size_t i = 0; i < KNOT_LEN(rules); i++) {
		if (rules[i].is_broken) {
			return rules[i].code;
		}
	}
	return 0;
}

unsigned source_check(const source_t *source, knot_name_t zone, knot_err_t *ret_err)
{
	source_seen_t seen = { .is_ours = source->ours != NULL, .err = KNOT_OK };
	journal_knot_info_t info = { .has_changes = true };
	if (source->knot != NULL) {
		*ret_err = journal_knot_info(source->knot, zone, &info);
	} else {
		journal_info_t ours;
		*ret_err = journal_info(source->ours, zone, &ours);
		if (*ret_err == KNOT_OK) {
			info.serial_first = ours.serial_first;
			info.serial_last = ours.serial_last;
			info.changes = ours.changes;
		}
	}
	if (*ret_err != KNOT_OK) {
		return 0;
	}
	*ret_err = source_each(source, zone, NULL, source_note_entry, &seen);
	*ret_err = *ret_err == KNOT_OK ? seen.err : *ret_err;
	return *ret_err == KNOT_OK ? source_judge(&seen, &info) : 0;
}
