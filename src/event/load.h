/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Loading a zone: decide whether it is needed, take the image or read the file, check, compile, publish and log. Holds
 * no state. Any thread registered for RCU, outside of read sections; one caller per zone at a time.
 */
#pragma once

#include <limits.h>

#include "src/event/faults.h"
#include "src/event/images.h"
#include "src/journal/journal.h"
#include "src/state/state.h"
#include "src/update/update.h"

typedef enum {
	LOAD_FAILED,    /* nothing changed */
	LOAD_UNCHANGED, /* contents are what the file would give: nothing was done */
	LOAD_FROM_FILE,
	LOAD_FROM_IMAGE,
	LOAD_FROM_IMAGE_AND_CHANGES, /* the image, and changes of the journal that are newer */
	LOAD_FROM_JOURNAL,
	LOAD_EDITED,  /* a change was committed */
	LOAD_DROPPED, /* by publish_drop() */
} load_outcome_t;

/** What loading needs of the server. */
typedef struct {
	const state_root_t *root;
	images_t *images;
	journal_t *journal;
	const bool *stopping;   /* read atomically; true ends reading a file without a message: KNOT_ESTOPPED */
	int64_t *ret_sync_s;    /* gets the zone's zonefile-sync, if it is configured */
	bool *is_behind;        /* in and out: the journal can't be read, so what is served may lack what only it has */
	bool is_forced;         /* guard rails hold nothing up */
	bool has_primaries;     /* a zone without a file will come from one: that it has none isn't logged */
	struct server *server;  /* gets what catalogs say */
	bool is_made_otherwise; /* than when it was loaded last: of other zones, or of none any more */
	struct derived_set *derived; /* borrowed: the zone is made of others; NULL: it isn't */
} load_env_t;

/**
 * Load the zone with the settings of the current state and publish its contents; the old version keeps serving when it
 * fails. Logs what Knot logs. source: of the contents; updated. Not within a read section; one caller per zone at a
 * time. ret_outcome: set in any case. On failure ret_reason has the details, without the text of the error.
 *
 * If the journal can't be read, and nothing is served, the image or the file is served alone, so that there are
 * answers; this fails all the same, with *env->is_behind. The zone mustn't be changed then: a change would begin at a
 * version that isn't the last one. Load it again later.
 */
KNOT_MUST_USE knot_err_t load_zone(const load_env_t *env, zone_t *zone, load_source_t *source,
		load_outcome_t *ret_outcome, char ret_reason[static FAULT_REASON_MAX]);

/** The settings that edits and the file of a zone need. A copy, as a reload may free the configuration meanwhile. */
typedef struct {
	char path[PATH_MAX];  /* of the zone file; "": it can't be named */
	uint64_t number;      /* settings_number() */
	uint32_t default_ttl; /* seconds */
	zone_checks_t checks;
	zone_dnssec_t dnssec;          /* of files */
	unsigned threads;              /* that prove their signatures */
	uint64_t size_max;             /* bytes of wire form; 0: no limit */
	uint32_t nsec3_iterations_end; /* zone_check_params_t */
	int64_t sync_s;                /* zonefile-sync */
	zone_skip_t skip;              /* zonefile-skip */
	conf_serial_rule_t serials;
	conf_zonefile_load_t load;
	conf_journal_content_t content;
	journal_limits_t limits;
	rails_policy_t rails;
	bool verifies_zonemd;
	conf_zonemd_t zonemd; /* zonemd-generate */
	bool is_signed;       /* dnssec-signing */
	conf_catalog_role_t catalog_role;
} load_settings_t;

/** KNOT_ENOZONE: the zone isn't configured. Else the error of conf_zone_file(), with all but the path set. */
knot_err_t load_settings(const state_root_t *root, knot_name_t name, load_settings_t *ret_settings);

/** Messages of checks as lines of the zone's log, at most FAULT_LINES_MAX for each file. */
typedef struct {
	knot_name_t name;
	const char *path; /* of the zone file, for the line that says that there are more; NULL: a transaction's */
	unsigned lines;
	sources_t *sources;   /* files that are read are noted here; may be NULL */
	const bool *stopping; /* see load_zone(); NULL: never */
	char *reason; /* FAULT_REASON_MAX bytes, "" at first: gets the details of the first error; may be NULL */
} load_report_t;

/** Warn of a serial that secondaries don't regard as newer: it went back, or stays the same with other contents. */
void load_warn_of_serial(knot_name_t name, uint32_t before, uint32_t after, bool is_same);

/** How versions of a zone with these settings are made. report: gets the messages; borrowed as long as the policy. */
update_policy_t load_policy(const load_settings_t *settings, load_report_t *report);

/**
 * Read, check and compile the zone file; nothing is published. report->sources: gets the files; may be NULL. Errors of
 * source_stat() and zone_build_file().
 */
KNOT_MUST_USE knot_err_t load_build(
		const load_settings_t *settings, load_report_t *report, zone_contents_t **ret_contents);

/** Remove the zone's file as configured. Logs a failure. KNOT_OK also when there is none. */
KNOT_MUST_USE knot_err_t load_remove_file(const state_root_t *root, knot_name_t name);
