/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole database files as a journal of Knot DNS: refused or read, and what is read is consistent. */
#include "src/journal/changeset.h"
#include "src/journal/knot.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ZONES_MAX = 16, ENTRIES_MAX = 10000 };

typedef struct {
	uint8_t wires[ZONES_MAX][KNOT_NAME_MAX];
	unsigned count;
} zones_t;

static bool take_zone(knot_name_t zone, void *ctx)
{
	zones_t *zones = ctx;
	memcpy(zones->wires[zones->count++], zone.wire, zone.len);
	return zones->count < ZONES_MAX;
}

typedef struct {
	uint64_t number, sum;
	uint32_t serial;
	bool has_entry;
} seen_t;

static bool take_record(const changeset_rr_t *rr, bool is_added, void *ctx)
{
	seen_t *seen = ctx;
	seen->sum += rr->type + is_added;
	for (size_t i = 0; i < rr->rdata.len; i++) {
		seen->sum += rr->rdata.data[i];
	}
	return true;
}

/* Numbers ascend by one, changes are steps of a chain behind a whole zone or a merged change, which come first. */
static bool take_entry(const journal_entry_t *entry, void *ctx)
{
	seen_t *seen = ctx;
	const journal_change_t *change = &entry->change;
	if (entry->number != ++seen->number || (seen->has_entry && entry->kind != JOURNAL_STEP) ||
			entry->kind == JOURNAL_NOTE) {
		abort();
	}
	/* What follows the whole zone or the merged change begins where the zone's meta says. */
	if (seen->number > 2 && change->serial_from != seen->serial) {
		abort();
	}
	for (size_t i = 0; i < change->payload.len; i++) {
		seen->sum += change->payload.data[i];
	}
	(void)!changeset_each(change->payload, entry->kind == JOURNAL_WHOLE ? CHANGESET_WHOLE : CHANGESET_STEP,
			take_record, seen);
	seen->serial = change->serial_to;
	seen->has_entry = true;
	return seen->number < ENTRIES_MAX;
}

static void read_zone(journal_knot_t *knot, knot_name_t zone)
{
	journal_knot_info_t info;
	seen_t seen = { 0 }, from = { 0 };
	if (journal_knot_info(knot, zone, &info) == KNOT_OK) {
		(void)!journal_knot_each(knot, zone, take_entry, &seen);
		(void)!journal_knot_each_from(knot, zone, info.has_merged ? info.serial_merged : info.serial_first,
				take_entry, &from);
	}
}

static void read_file(const char *path)
{
	journal_knot_t *knot;
	journal_reason_t reason;
	if (journal_knot_open(path, &knot, &reason) != KNOT_OK) {
		if (reason.text[0] == '\0') {
			abort();
		}
		return;
	}
	static zones_t zones;
	zones.count = 0;
	(void)!journal_knot_each_zone(knot, take_zone, &zones);
	for (unsigned i = 0; i < zones.count; i++) {
		read_zone(knot, knot_name_of(zones.wires[i]));
	}
	(void)journal_knot_usage(knot);
	journal_knot_close(knot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char path[32];
	int fd = memfd_create("journal", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len) {
		abort();
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	read_file(path);
	close(fd);
	return 0;
}
