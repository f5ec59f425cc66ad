/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/takeover.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/event/changes.h"
#include "src/event/faults.h"
#include "src/sys/log.h"
#include "src/update/update.h"

static const char database[] = "data.mdb.knot", mark[] = "data.mdb.knot.taken", who[] = "Knot DNS";

static bool takeover_path(const char *folder, const char *name, char path[static PATH_MAX])
{
	return snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

knot_err_t takeover_begin(takeover_t *takeover, journal_t *journal, const char *folder)
{
	char path[PATH_MAX], reason[FAULT_REASON_MAX];
	bool is_there = takeover_path(folder, database, path) && access(path, F_OK) == 0;
	bool is_taken = takeover_path(folder, mark, path) && access(path, F_OK) == 0;
	bool is_closed = changes_reopen(journal, reason) != KNOT_OK;
	if ((is_there || is_closed) && !is_taken && (takeover->folder = strdup(folder)) == NULL) {
		return KNOT_ENOMEM;
	}
	return KNOT_OK;
}

void takeover_done(takeover_t *takeover)
{
	free(takeover->folder);
}

/* ---- A zone ---- */

typedef struct {
	journal_t *journal;
	knot_name_t zone;
	bool has_serial; /* `serial` is where the next change begins */
	uint32_t serial;
	uint64_t count;
	knot_err_t err;
	journal_reason_t reason;
} takeover_zone_t;

static bool takeover_count(const changeset_rr_t *rr, bool is_added, void *ctx)
{
	(void)rr;
	journal_change_t *change = ctx;
	change->removed += !is_added;
	change->added += is_added;
	return true;
}

/* A whole zone or a merged change comes first, and stands for some of the changes behind it. */
static bool takeover_entry(const journal_entry_t *entry, void *ctx)
{
	takeover_zone_t *taking = ctx;
	bool is_whole = entry->kind == JOURNAL_WHOLE;
	if (!is_whole && taking->has_serial && entry->change.serial_from != taking->serial) {
		return true;
	}
	const journal_limits_t limits = { .usage_max = UINT64_MAX, .depth_max = UINT64_MAX };
	journal_change_t change = entry->change;
	change.source = UPDATE_JOURNAL;
	snprintf(change.who, sizeof(change.who), "%s", who);
	taking->err = changeset_each(
			change.payload, is_whole ? CHANGESET_WHOLE : CHANGESET_STEP, takeover_count, &change);
	if (taking->err == KNOT_OK && is_whole) {
		taking->err = journal_put_zone(taking->journal, taking->zone, &change, &limits, &taking->reason);
	} else if (taking->err == KNOT_OK) {
		taking->err = journal_append(taking->journal, taking->zone, &change, &limits, &taking->reason);
	}
	taking->serial = change.serial_to;
	taking->has_serial = true;
	taking->count += taking->err == KNOT_OK;
	return taking->err == KNOT_OK;
}

static bool takeover_note_who(const journal_entry_t *entry, void *ctx)
{
	*(bool *)ctx = strcmp(entry->change.who, who) == 0;
	return true;
}

/* Take over all, or, if the process ended in between, the rest. What has changes of our own since then is complete. */
static knot_err_t takeover_read(journal_knot_t *knot, takeover_zone_t *taking)
{
	journal_info_t ours;
	knot_err_t err = journal_info(taking->journal, taking->zone, &ours);
	if (err == KNOT_ENOENT) {
		return journal_knot_each(knot, taking->zone, takeover_entry, taking);
	}
	bool is_theirs = false;
	err = err == KNOT_OK ? journal_each(taking->journal, taking->zone, takeover_note_who, &is_theirs) : err;
	if (err != KNOT_OK || !is_theirs) {
		return err;
	}
	taking->serial = ours.serial_last;
	taking->has_serial = true;
	return journal_knot_each_from(knot, taking->zone, ours.serial_last, takeover_entry, taking);
}

static knot_err_t takeover_read_zone(journal_knot_t *knot, takeover_zone_t *taking)
{
	journal_knot_info_t info;
	knot_err_t err = journal_knot_info(knot, taking->zone, &info);
	if (err == KNOT_OK) {
		err = takeover_read(knot, taking);
	}
	err = err == KNOT_ENOENT ? KNOT_OK : err;
	err = err == KNOT_OK ? taking->err : err;
	if (err == KNOT_OK && taking->count > 0 && info.has_flushed) {
		err = journal_mark_flushed(taking->journal, taking->zone, info.serial_flushed, &taking->reason);
	}
	return err;
}

knot_err_t takeover_from(const char *path, journal_t *journal, knot_name_t zone, takeover_result_t *ret_result)
{
	journal_knot_t *knot = NULL;
	takeover_zone_t taking = { .journal = journal, .zone = zone, .err = KNOT_OK };
	knot_err_t err = journal_knot_open_copy(path, &knot, &taking.reason);
	if (err == KNOT_OK) {
		err = takeover_read_zone(knot, &taking);
		journal_knot_close(knot);
	}
	*ret_result = (takeover_result_t){ .count = taking.count, .serial = taking.serial, .reason = taking.reason };
	return err;
}

void takeover_zone(takeover_t *takeover, journal_t *journal, knot_name_t zone)
{
	char reason[FAULT_REASON_MAX];
	if (takeover->folder == NULL) {
		return;
	}
	if (changes_reopen(journal, reason) != KNOT_OK) {
		atomic_store(&takeover->is_put_off, true);
		return;
	}
	char path[PATH_MAX];
	takeover_result_t taken = { 0 };
	knot_err_t err = takeover_path(takeover->folder, database, path) ? takeover_from(path, journal, zone, &taken)
									 : KNOT_EINVAL;
	if (err != KNOT_OK && err != KNOT_ENOENT) {
		log_zone(LOG_ERR, zone, "failed to take over the journal of Knot DNS (%s)%s%s, serial %u",
				knot_strerror(err), taken.reason.text[0] != '\0' ? ", " : "", taken.reason.text,
				taken.serial);
		atomic_fetch_add(&takeover->failed, 1);
	}
	atomic_fetch_add(&takeover->changes, taken.count);
	atomic_fetch_add(&takeover->zones, taken.count > 0);
}

void takeover_end(takeover_t *takeover)
{
	char path[PATH_MAX];
	if (takeover->folder == NULL || atomic_load(&takeover->is_put_off) ||
			!takeover_path(takeover->folder, mark, path)) {
		return;
	}
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0660);
	bool is_marked = fd >= 0 && fsync(fd) == 0;
	int failure = errno;
	if (fd >= 0) {
		(void)close(fd);
	}
	log_server(LOG_INFO,
			"journal of Knot DNS taken over, %" PRIu64 " zones, %" PRIu64 " changes, %" PRIu64
			" failed; it stays as '%s/%s'",
			atomic_load(&takeover->zones), atomic_load(&takeover->changes), atomic_load(&takeover->failed),
			takeover->folder, database);
	if (!is_marked) {
		log_server(LOG_ERR, "failed to note that in '%s' (%s), the next start reads it again", path,
				knot_strerror(knot_err_of_errno(failure)));
	}
}
