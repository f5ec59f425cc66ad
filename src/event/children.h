/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Children of zones that follow what these publish (conf `delegation`): which wait for a check, and what is known of
 * them. Internal to src/event.
 *
 * A NOTIFY of CDS or CSYNC, or an operator, has a child wait; several for one child are one check. The event
 * `delegation` of the parent begins checks that are due (child_run.h), at most CHILDREN_RUNS_MAX at a time of all
 * zones, decides about those whose servers have answered, and changes the zone: all that is decided then is one commit.
 * A child that is checked isn't checked again for `min-interval`, but a NOTIFY that comes meanwhile is followed then.
 *
 * Limits, as anybody may send NOTIFY: only names of delegations count; a source network may have an eighth of the
 * places waiting, and of those that wait, one of the source with the fewest checks going on is next. A source has no
 * more checks going on than are left for others, so a single one has half of them at most. What is known of a child
 * besides waiting (when it was checked, what was accepted last) is forgotten when there are too many. Of what was
 * accepted last nothing outlives the process. All under the lock of the jobs.
 */
#pragma once

#include "src/event/child_run.h"
#include "src/event/zone_edit.h"

enum {
	CHILDREN_RUNS_MAX = 32,
	CHILDREN_KEPT_MAX = 16384,
};

typedef struct child child_t;

/** What is known of a child. */
struct child {
	child_t *next;         /* of all */
	child_t *next_waiting; /* of those that wait */
	uint8_t parent_wire[KNOT_NAME_MAX], wire[KNOT_NAME_MAX];
	knot_name_t parent, name; /* of these, lower case */
	unsigned wants;           /* CHILD_WANTS_…; 0: it doesn't wait */
	bool is_by_operator, is_approved;
	notice_addr_t net;    /* who made it wait */
	uint64_t due_ms;      /* when it may be checked */
	uint64_t checked_ms;  /* when it was last; 0: not yet */
	child_run_t *run;     /* owned; NULL: no check goes on */
	unsigned run_wants;   /* of the check that goes on, from when it is begun; 0: none does */
	bool is_answered;     /* the run waits for the event */
	uint64_t check_count; /* that have ended */
	bool has_inception, has_serial;
	uint32_t inception, serial;
	char said[512]; /* of the last check, as the log has it */
	bool is_refused;
};

/** Zero at first; freed with children_free(). */
typedef struct children {
	void *map;        /* owned: of tsearch(), by name */
	child_t *first;   /* all */
	child_t *waiting; /* those that wait */
	size_t count, run_count;
	child_t *running[CHILDREN_RUNS_MAX]; /* with a check */
	/* Since the start. */
	uint64_t checks, changes, refused, dropped;
} children_t;

/** A NOTIFY about a child came. In the thread "remote". */
void children_take(server_t *server, const notice_t *notice) SYS_REQUIRES(server->jobs.lock);

/** Free all, after the threads of src/remote and the workers have ended. NULL is allowed. */
void children_free(children_t *take_children);

/** Forget those of a zone that is being removed, but for checks that go on. */
void children_forget(server_t *server, knot_name_t parent) SYS_REQUIRES(server->jobs.lock);
