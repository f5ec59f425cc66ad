/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What a catalog zone says (RFC 9432): who is a member, and what two versions say differently.
 *
 *   version, or two that differ → members → changes of members → what is done about each, and what is logged
 *
 * Two versions are compared by zone_diff(), so a change of a catalog costs what it changes, however many members there
 * are. Members are the targets of PTR records exactly one label below `zones`; their property `group` (RFC 9432 4.3.2)
 * is looked at, others (`coo`, 4.3.1, too, as Knot DNS) and other records are ignored, as 3 demands. Pure; any thread
 * that holds the versions. The database that remembers members: catalog_db.h.
 */
#pragma once

#include "src/catalog/set.h"
#include "src/zone/contents.h"

/**
 * Whether a version is a catalog: `version.<catalog>` has a TXT record "2". KNOT_EZONEINVAL. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t catalog_check(const zone_contents_t *zone);

/**
 * Add all members of a version to `set`, in order of their owners. KNOT_EISRECORD: a unique id has several PTR records.
 * KNOT_EMALF: the group of a member is no single string. KNOT_ENOMEM. With any of them, nothing of the version is to be
 * used.
 */
KNOT_MUST_USE knot_err_t catalog_read(const zone_contents_t *zone, catalog_set_t *set);

/**
 * Add the members at unique ids that differ: what `before` says of them, and what `after` says. Errors as
 * catalog_read(), of `after`; what can't be used of `before` is taken for no member. Cost: what differs.
 */
KNOT_MUST_USE knot_err_t catalog_read_diff(const zone_contents_t *before, const zone_contents_t *after,
		catalog_set_t *before_set, catalog_set_t *after_set);

/* ---- Changes ---- */

typedef enum {
	CATALOG_KEEP,    /* nothing is done */
	CATALOG_ADD,     /* a zone is to be added */
	CATALOG_REMOVE,  /* it goes, with all its data */
	CATALOG_RENEW,   /* its unique id is another: its data go, and it begins as a new zone (RFC 9432 5.4) */
	CATALOG_REGROUP, /* it has another group, thus maybe other settings; its data stay */
} catalog_kind_t;

/** What is to be logged of a member: CATALOG_NOTE(name, level of <syslog.h>, text) in notes.def. */
typedef enum {
	CATALOG_NOTHING,
#define CATALOG_NOTE(name, level, text) CATALOG_##name,
#include "src/catalog/notes.def"
#undef CATALOG_NOTE
} catalog_note_t;

/** A change of a member. Names and groups are borrowed from the lists. */
typedef struct {
	catalog_kind_t kind;
	catalog_note_t note;
	catalog_member_t before; /* not of CATALOG_ADD */
	catalog_member_t after;  /* not of CATALOG_REMOVE */
} catalog_change_t;

/** Looks at a change; false ends the comparison. */
typedef bool (*catalog_change_cb)(const catalog_change_t *change, void *ctx);

/**
 * Visit what makes one list into the other, by members in order of catalog_cmp(); both are sorted. Of several entries
 * of `after` that name the same member the first counts, each other is CATALOG_KEEP with a note; likewise of `before`.
 */
void catalog_compare(catalog_set_t *before, catalog_set_t *after, catalog_change_cb visit, void *ctx);

/** What is known of a member elsewhere. */
typedef struct {
	bool is_configured;     /* the configuration itself has the zone */
	bool is_stored;         /* the database has the member: the next two */
	knot_name_t catalog;    /* that has added it */
	catalog_member_t entry; /* what that catalog says of it */
} catalog_facts_t;

/**
 * What is to be done about a change that a version of `catalog` brings. The configuration wins over catalogs, and of
 * these the first that had the member. The database may be ahead of, or behind, the version that a change was compared
 * with: what is stored counts.
 */
catalog_change_t catalog_decide(const catalog_change_t *change, knot_name_t catalog, const catalog_facts_t *facts);

/** The level of a note's log line. note: not CATALOG_NOTHING. */
int catalog_note_level(catalog_note_t note);

enum { CATALOG_NOTE_TEXT_MAX = 384 };

/** The log line of a change's note, which is about the zone change->after.member (of a removal: before). */
void catalog_note_print(const catalog_change_t *change, char ret_text[static CATALOG_NOTE_TEXT_MAX]);
