/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Catalog zones (RFC 9432) in the server: what versions of interpreted ones say becomes zones of the server, and
 * generated ones list zones. Internal to src/event; src/catalog decides. doc/adr/0046
 *
 * A commit reads the members and puts them into a queue (publish.c). The thread "catalogs" takes from it, stores what
 * is decided, and changes the set of zones under the reload lock, with the configuration that there is.
 */
#pragma once

#include "src/catalog/catalog_db.h"
#include "src/conf/conf.h"
#include "src/event/zone_set.h"
#include "src/sys/lock.h"
#include "src/sys/thread.h"

typedef struct server server_t;

/** What a version of a catalog says. Owned by whoever holds it. */
typedef struct catalog_work {
	struct catalog_work *next;
	catalog_set_t before, after; /* members at the unique ids that differ */
	bool is_whole;               /* `after` is all that there are; `before` is what the database has */
	uint8_t name_len, label_count;
	uint8_t name[KNOT_NAME_MAX];
} catalog_work_t;

typedef struct {
	catalog_db_t *db;      /* owned; takes care of its threads itself */
	sys_thread_t thread;   /* started when there is work for the first time */
	pthread_cond_t work;   /* something was put, or the server stops; with the lock of the jobs */
	catalog_work_t *first; /* owned, in order; under that lock */
	catalog_work_t **last;
} catalogs_t;

/** Begin, without opening anything. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t catalogs_init(catalogs_t *catalogs, const conf_database_t *conf);

/** End the thread: after jobs_stop(). Work that waits is dropped: the next start finds it by the catalogs' versions. */
void catalogs_stop(server_t *server);

/** Free what it owns. */
void catalogs_deinit(catalogs_t *catalogs);

/**
 * What the database has of the catalogs that a configuration interprets and `old` (NULL: none) doesn't. Sorted. Logs
 * what is wrong. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t catalogs_read_new(
		catalogs_t *catalogs, const conf_t *old, const conf_t *conf, members_t *ret_members);

/** Remove zones that are configured now from the database: those of `members` that go, and `leaving`. Logs a failure.
 */
void catalogs_forget(catalogs_t *catalogs, const members_t *members, zone_t *const *leaving, size_t leaving_count);

/** Read what a version says, compared with the one before (NULL: none). ret_work: owned by the caller. KNOT_EZONEINVAL,
 * KNOT_EISRECORD, KNOT_EMALF: it is no catalog, logged. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t catalogs_read(knot_name_t catalog, const zone_contents_t *before, const zone_contents_t *after,
		catalog_work_t **ret_work);

/** Put what a version says into the queue when the version is served. */
void catalogs_put(server_t *server, catalog_work_t *take_work);

/** Free what isn't put. NULL is allowed. */
void catalogs_drop(catalog_work_t *take_work);

/** Compare all that the served version of an interpreted catalog says with the database. In its turn. */
KNOT_MUST_USE knot_err_t catalogs_repeat(server_t *server, knot_name_t catalog, const zone_contents_t *contents);

/** Make a generated catalog list the zones of the configuration that name it. In its turn. ret_is_new: there is another
 * version. is_first: of this process. */
KNOT_MUST_USE knot_err_t catalogs_list(server_t *server, entry_t *entry, bool is_first, bool *ret_is_new);

/** Change the set of zones by members that come, go or change (reload.c). Under the reload lock. KNOT_ENOMEM … */
KNOT_MUST_USE knot_err_t server_apply_members(server_t *server, members_t *members);

/** Remove what is kept of zones that went (zone_purge.c): of `members` those that go. */
void server_purge_members(server_t *server, const conf_t *conf, members_t *members);
