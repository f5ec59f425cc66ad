/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Zones that are built from scratch without a new source (zone/renew.h). Small ones in their turn; of the larger ones
 * one at a time, by a thread of its own that yields to others, as that takes seconds and as much memory again. Commits
 * go on meanwhile: the thread follows them until little is left, and the rest is done in the zone's turn. Internal to
 * src/event.
 */
#pragma once

#include "src/event/entry.h"
#include "src/sys/lock.h"
#include "src/sys/thread.h"

typedef enum {
	RENEWAL_NONE,
	RENEWAL_WORKS, /* the thread has the versions */
	RENEWAL_READY, /* the zone's turn is next */
	RENEWAL_TURN,  /* the zone's turn has the versions */
	RENEWAL_DROPS, /* the thread is to free the versions */
} renewal_state_t;

/** Versions, owned. */
typedef struct {
	zone_contents_t *held;  /* `fresh` has its records, or will have */
	zone_contents_t *next;  /* to be followed to; NULL: none */
	zone_contents_t *fresh; /* NULL: to be built */
} renewal_versions_t;

/** Under the lock of the jobs. */
typedef struct {
	sys_thread_t thread; /* started when it is needed for the first time */
	pthread_cond_t work;
	renewal_state_t state;
	entry_t *entry; /* whose zone; NULL: none, or it was removed */
	renewal_versions_t versions;
	unsigned rounds;        /* how often it was followed */
	uint64_t began_ms;      /* the attempt */
	uint64_t rest_until_ms; /* after a failure */
} renewal_t;

typedef struct server server_t;

void renewal_init(renewal_t *renewal);

/** Stop the thread and free what it made. After jobs_stop(); not under the lock of the jobs. */
void renewal_done(server_t *server);

/** Forget a zone that is being removed, or whose contents are dropped. Under the lock of the jobs. */
void renewal_forget(server_t *server, const entry_t *entry);

/** True while the zone is being renewed: its memory is not to be compacted, as nothing would be given back. Under the
 * lock of the jobs. */
bool renewal_has(const server_t *server, const entry_t *entry);

/** In how many ms the zone's turn should be asked for; 0: not now. Under the lock of the jobs. */
unsigned renewal_wait_ms(const server_t *server, const entry_t *entry, const zone_contents_t *contents);

/** What is to be done in the zone's turn. Without lock. */
void renewal_run(server_t *server, entry_t *entry);
