/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * One configured zone as the server sees it: the zone and the state of its work. Internal to src/event.
 *
 * There may be a million entries, so each byte counts. An entry is the head of its zone (zone_new_with_head()), in one
 * allocation with the zone and its name, and queues aren't linked through it (queue.h).
 */
#pragma once

#include "src/event/load.h"
#include "src/event/server.h"

enum { JOB_NONE, JOB_PENDING, JOB_RUNNING };

/** What a job is to do: bits. */
enum {
	WORK_LOAD = 1,  /* the zone file or the image, if it is needed */
	WORK_FLUSH = 2, /* write the zone file */
	WORK_FORCE = 4, /* with WORK_FLUSH: overwrite any file */
};

enum {
	SAVE_NONE,    /* the newest version is on disk, or can't be there */
	SAVE_WAITING, /* to be taken by the writer of images */
	SAVE_TAKEN,
	SAVE_FAILED, /* to be tried again later */
};

/**
 * Owned by the server's list, freed with entry_free(). A zone's queue of jobs is a state and a few flags, because
 * asking twice for the same work before it starts is the same as asking once. Under the lock of the jobs.
 */
typedef struct zone_entry {
	load_source_t source;  /* what the contents were made from; used by the job and, while none runs, under lock */
	server_ticket_t asked; /* last job asked for */
	server_ticket_t done;  /* last job that ended */
	uint32_t since_s;      /* wall clock: when it entered its state; good until 2106 */
	int16_t result;        /* knot_err_t of the last job that ended */
	uint8_t job : 2;       /* JOB_… */
	uint8_t save : 2;      /* SAVE_…: of the newest version */
	bool from_image : 1;   /* the contents came from its image */
	bool gone : 1; /* not configured any more: freed by the thread that takes it out of the queue, or by its running
			  job */
	bool queued : 1;   /* in the queue, even if its job was done meanwhile */
	bool tried : 1;    /* loaded or failed at least once */
	uint8_t work : 3;  /* WORK_…: requested and not begun */
	uint8_t doing : 2; /* WORK_…: what the running job does; 0 with JOB_RUNNING: something else */
	bool frozen : 1;   /* only loads and flushes that were requested by name */
	bool edited : 1;   /* a transaction is open (zone_edit.h) */
	bool held : 1;     /* request a load when it is neither frozen nor edited any more */
} entry_t;

_Static_assert(sizeof(entry_t) == 32, "a million of them");

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
