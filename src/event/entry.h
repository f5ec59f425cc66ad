/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * One configured zone as the server sees it: the zone and where its work stands. Within src/event only.
 *
 * There may be a million: a byte here is a megabyte there.
 */
#pragma once

#include "src/event/load.h"
#include "src/event/server.h"

enum { JOB_NONE, JOB_PENDING, JOB_RUNNING };

enum {
	SAVE_NONE,    /* the newest version is on disk, or can't be there */
	SAVE_WAITING, /* to be taken by the writer of images */
	SAVE_TAKEN,
	SAVE_FAILED,  /* to be taken later */
};

/**
 * Owned by the server's list, freed with entry_free(). The queue of jobs of a zone is a state and a flag, as there is one
 * kind of job, loading, and asking for it twice before it starts is asking once. Under the lock of the jobs.
 */
typedef struct entry {
	zone_t *zone;           /* owned */
	struct entry *next_job; /* in the queue of the pool */
	uint8_t job;            /* JOB_… */
	uint8_t save;           /* SAVE_…: of the newest version */
	uint8_t outcome;        /* load_outcome_t of the last job; written by it */
	bool has_contents;
	bool from_image;        /* that's where the contents came from */
	bool again;             /* asked for while it was running */
	bool gone;              /* not configured any more: freed by its running job */
	bool tried;             /* loaded or failed at least once */
	knot_err_t result;      /* of the last job that ended */
	uint64_t since_s;       /* wall clock: when it came into its state */
	server_ticket_t asked;  /* last job asked for */
	server_ticket_t done;   /* last job that ended */
	load_source_t source;   /* what the contents were made from; used by the job and, while none runs, under lock */
} entry_t;

/** NULL: out of memory. */
entry_t *entry_new(knot_name_t name);

/** With its zone and that one's modules; no reader has it and it has no job. */
void entry_free(entry_t *entry);

/** The apex, lower case. */
knot_name_t entry_name(const entry_t *entry);

/** The entry of a zone (name in any case) in a list in canonical order, or NULL. */
entry_t *entry_find(entry_t *const *entries, size_t count, knot_name_t name);
