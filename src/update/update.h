/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A change of a zone on its way to being served: the one way for all that can change a zone.
 *
 *   source → update_t: edits of a version, or a whole new one → steps → effects
 *
 * The steps (the table in update.c) sign, number, build, check, prove, compare, store and publish. Each reads what
 * earlier ones made; if one fails, those before it are undone, nothing was published, and the edits are as they were,
 * so that they can be mended and tried again. A source knows no step, a step no source. Pure but for two functions of
 * update_env_t, which get values. What should follow is returned as effects. One caller per zone at a time.
 */
#pragma once

#include "src/conf/conf.h"
#include "src/journal/changeset.h"
#include "src/sign/plan.h"
#include "src/update/rails.h"
#include "src/validate/validate.h"
#include "src/zone/txn.h"
#include "src/zone/zonemd.h"

/** What can change a zone, and its word in the log and in the zone's history. The numbers are stored: add at the end.
 */
#define UPDATE_SOURCES(ROW)                                                                                            \
	ROW(FILE, "file")                                                                                              \
	ROW(CONTROL, "control")                                                                                        \
	ROW(DDNS, "ddns")                                                                                              \
	ROW(TRANSFER, "transfer")                                                                                      \
	ROW(SIGNER, "signer")                                                                                          \
	ROW(CATALOG, "catalog")                                                                                        \
	ROW(JOURNAL, "journal")                                                                                        \
	ROW(REVERT, "revert")                                                                                          \
	ROW(DERIVED, "derived")                                                                                        \
	ROW(CHILD, "child")
typedef enum {
#define UPDATE_SOURCE_ROW(id, name) UPDATE_##id,
	UPDATE_SOURCES(UPDATE_SOURCE_ROW)
#undef UPDATE_SOURCE_ROW
			UPDATE_SOURCE_COUNT
} update_source_t;

/** The word of a source; "unknown" for another number. */
const char *update_source_name(unsigned source);

/** What is stored of a change. */
typedef enum {
	UPDATE_STORES_NOTHING,
	UPDATE_STORES_CHANGES, /* the records that came and went; of a whole version only that there was one */
	UPDATE_STORES_ALL,     /* the same, but whole versions with their records */
} update_store_t;

/** How a version is signed. Borrowed during the commit. */
typedef struct {
	const sign_plan_t *plan;
	bool is_full;      /* the whole zone is looked at, also without edits; else what the edits reach */
	bool steps_serial; /* the serial is the next one even if the edits set another */
	bool has_floor;    /* the next is known */
	uint32_t floor;    /* a whole version's serial is newer: that of the last one that was signed */
} update_signing_t;

/** How a version is proven to be validly signed. Borrowed during the commit. */
typedef struct {
	validate_options_t options;
	bool has_proven_base; /* what is served was proven, so only what differs has to be */
} update_proof_t;

/** What came of it. */
typedef struct {
	bool is_done;
	knot_err_t err; /* of validate_change() */
	validate_result_t result;
} update_proven_t;

/** Bytes of the place of a fault with their NUL. */
enum { UPDATE_HINT_MAX = KNOT_NAME_TEXT_MAX + 32 };

/** Owner and type of the fault; "": it has no place. */
void update_print_hint(const validate_result_t *result, char ret_text[static UPDATE_HINT_MAX]);

/** How versions are made. A value; what its pointers lead to is borrowed. */
typedef struct {
	zone_build_params_t build; /* checks; its callbacks get the messages */
	conf_serial_rule_t serials;
	update_store_t stores;
	rails_policy_t rails;
	bool verifies_zonemd;
	conf_zonemd_t zonemd;            /* what becomes of ZONEMD records */
	const update_signing_t *signing; /* NULL: the zone isn't signed here */
	const update_proof_t *proof;     /* NULL: its signatures aren't looked at */
} update_policy_t;

/** A change as it is to be stored. Borrowed during the call. */
typedef struct {
	knot_name_t origin;
	update_source_t source;
	const char *who; /* "": nothing is known of the author */
	bool is_whole;   /* the payload is a whole version; else the step from one version to the next */
	/* A step that KNOT_ESEMCHECK or KNOT_EMALF refuses, as it doesn't fit to what is stored, comes back as a whole
	 * version */
	bool may_be_whole;
	bool has_base; /* the next is known */
	uint32_t serial_from;
	uint32_t serial_to;
	uint32_t removed, added; /* records with SOAs, of the step even if the payload is whole in its place */
	uint64_t zone_size;      /* wire size of the new version */
	knot_bytes_t payload;    /* journal/changeset.h; empty: only that there is another version */
} update_record_t;

enum { UPDATE_REASON_MAX = 384 }; /* bytes of details with their NUL */

/** What the steps do outside. */
typedef struct {
	/* Look at the version that is to be served, before anything is stored. An error ends the commit. NULL: nothing
	 * to look for. */
	knot_err_t (*inspect)(const zone_contents_t *base, const zone_contents_t *next, void *ctx);
	/* The version's ZONEMD records were verified. NULL: nobody wants to know. */
	void (*on_zonemd)(knot_name_t origin, knot_err_t err, void *ctx);
	/* Store the change durably. Not called for UPDATE_STORES_NOTHING. An error ends the commit; reason: as
	 * update_t.reason, "" at first. */
	knot_err_t (*store)(const update_record_t *record, char *reason, void *ctx);
	/* Serve the version. Nothing can fail any more. */
	void (*publish)(zone_contents_t *take_contents, void *ctx);
	void *ctx;
} update_env_t;

/** What came of a commit, and what is to follow. */
typedef struct {
	bool is_published; /* there is a new version; save it, notify, and if is_ahead write the zone file */
	bool is_ahead;     /* the zone file doesn't have it */
	bool has_base;     /* the next is known */
	uint32_t serial_from;
	uint32_t serial_to;
	uint32_t removed, added; /* records with SOAs; 0 if whole versions replace each other */
	bool is_signed;          /* the next two are known, also if there was nothing to publish */
	bool is_signed_whole;    /* the whole zone was looked at */
	sign_result_t signing;
	char rail[RAILS_REASON_MAX]; /* the guard rail that was broken and held nothing up; "": none */
} update_effects_t;

/** A change. Begin with update_begin() or update_begin_whole(); end with update_end(). */
typedef struct {
	knot_name_t origin; /* lower case; borrowed */
	update_source_t source;
	const char *who;             /* borrowed; "" at first */
	bool is_forced;              /* guard rails hold nothing up */
	bool is_ahead;               /* the zone file won't have the new version; true at first */
	bool keeps_zonemd;           /* no ZONEMD record is generated: the version stays as its source has it */
	const zone_contents_t *base; /* the version that is changed; borrowed; NULL: there is none */
	zone_txn_t *txn;             /* owned: the edits; NULL: a whole version replaces the zone */
	char *reason; /* UPDATE_REASON_MAX bytes for the details of a failure, "" at first; borrowed; NULL: none */

	/* For the steps: */
	const update_policy_t *policy;
	const update_env_t *env;
	zone_contents_t *next;      /* owned: the new version until it is published */
	bool has_bad_zonemd;        /* its ZONEMD records don't verify: why the commit failed */
	bool has_zonemd;            /* the next is known */
	zonemd_record_t zonemd;     /* that was generated */
	bool has_unsigned;          /* it could not be signed: why the commit failed */
	update_proven_t proof;      /* also why the commit failed */
	bool is_over;               /* a step found that nothing differs: the others needn't run */
	size_t mark;                /* of the transaction before the first step */
	changeset_writer_t changes; /* what differs */
	uint8_t *payload;           /* owned */
	size_t payload_len;
	update_effects_t effects;
} update_t;

/** Begin with edits of `base`, which must stay until the end; NULL: of an empty zone. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t update_begin(
		knot_name_t origin, update_source_t source, const zone_contents_t *base, update_t *ret_update);

/** Begin with a version that is to replace `base`. It is checked already. */
void update_begin_whole(knot_name_t origin, update_source_t source, const zone_contents_t *base,
		zone_contents_t *take_next, update_t *ret_update);

/** Drop what wasn't published. */
void update_end(update_t *update);

/** Mark what the edits are now. Marks are as zone_txn_mark() says. */
size_t update_mark(update_t *update);

/** Take back the edits since the mark. */
void update_rollback(update_t *update, size_t mark);

/**
 * Run the steps. base: the version that is served, which update->base is or is a hold on. Without a change nothing
 * happens, and effects->is_published is false. KNOT_ESEMCHECK, KNOT_EZONESIZE: a check failed. KNOT_EGUARDRAIL:
 * update->reason says which rail the version breaks. Errors of zonemd_verify() (zone/zonemd.h), with
 * update->has_bad_zonemd, of the signer with update->has_unsigned, of validate_change() with
 * update->proof, and of env->store(). KNOT_ENOMEM. On failure the
 * edits are as they were.
 */
KNOT_MUST_USE knot_err_t update_commit(update_t *update, const zone_contents_t *base, const update_policy_t *policy,
		const update_env_t *env, update_effects_t *ret_effects);

/** True in *ret_is_due if a commit with these would give the version another ZONEMD record, or take it away. Cost: a
 * digest of all of it, if one is wanted. KNOT_ENOMEM, KNOT_EHASH. */
KNOT_MUST_USE knot_err_t update_zonemd_is_due(const zone_contents_t *zone, conf_zonemd_t how, bool *ret_is_due);
