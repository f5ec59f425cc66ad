/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * One configured zone as the server sees it: the zone and the state of its work. Internal to src/event.
 *
 * There may be a million entries, so each byte counts. An entry is the head of its zone (zone_new_with_head()), in one
 * allocation with the zone and its name; neither queues nor times are in it (queue.h, agenda.h).
 */
#pragma once

#include "src/event/agenda.h"
#include "src/event/load.h"
#include "src/event/server.h"

enum {
	SAVE_NONE,    /* the newest version is on disk, or can't be there */
	SAVE_WAITING, /* to be taken by the writer of images */
	SAVE_TAKEN,
	SAVE_FAILED, /* to be tried again later */
};

/**
 * Owned by the server's list, freed with entry_free(). Under the lock of the jobs. When its events are due is in the
 * agenda of the jobs, as most zones have none.
 */
struct zone_entry {
	load_source_t source;   /* what the contents were made from; used by the job and, while none runs, under lock */
	event_set_t events;     /* those that are planned */
	server_ticket_t ticket; /* of the running job, or of the last one */
	uint32_t since_s;       /* wall clock: when that began; good until 2106 */
	int result : 12;        /* knot_err_t of the failure that is still there; KNOT_OK: none */
	unsigned failed : 5;    /* event_t that failed so */
	bool is_running : 1;    /* the zone is worked on, by a job or by a thread that has its turn */
	bool from_image : 1;    /* the contents came from its image */
	bool gone : 1;          /* not configured any more: freed by its running job */
	bool tried : 1;         /* loaded or failed at least once */
	bool frozen : 1;        /* events that freezing holds wait */
	bool edited : 1;        /* a transaction is open (zone_edit.h): events that it holds wait */
	unsigned save : 2;      /* SAVE_…: of the newest version */
	bool is_saving : 1;     /* a version is being saved, whose memory stays meanwhile */
	bool is_compacted : 1;  /* a pass of compaction goes on: saving waits for its end (saves.c) */
	bool is_signed : 1;     /* this process has made or verified the signatures of the contents */
	bool is_proven : 1;     /* this process has proven the signatures of the contents, or those of all before */
	bool has_keys : 1;      /* this process has proven all private keys of the zone */
	bool had_expired : 1;   /* this process found the signatures of the contents expired */
	bool is_behind : 1;     /* the journal can't be read: the contents lack what only it may have */
};

_Static_assert(sizeof(entry_t) == 32, "a million of them");
_Static_assert((int)KNOT_ERR_BASE - 512 > -(1 << 11), "an error fits `result`");

/** NULL: out of memory. */
entry_t *entry_new(knot_name_t name);

/** Free it with its zone; no reader may have it, and it must have no job. */
void entry_free(entry_t *entry);

/** Its zone. */
static inline zone_t *entry_zone(entry_t *entry)
{
	return zone_of_head(entry, sizeof(*entry));
}

/** The entry of a zone that entry_new() made. */
static inline entry_t *entry_of(zone_t *zone)
{
	return zone_head(zone);
}

/** The apex, lower case. */
knot_name_t entry_name(entry_t *entry);
