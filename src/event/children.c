/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/children.h"

#include "src/event/child_apply.h"
#include "src/event/load.h"
#include "src/event/turn.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"

#include <assert.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHILD_RETRY_MS = 60 * 1000 /* after a commit that failed */ };

/* ---- What is known ---- */

static int children_compare(const void *va, const void *vb)
{
	const child_t *a = va, *b = vb;
	return knot_name_cmp(a->name, b->name);
}

static child_t *children_find(const children_t *children, knot_name_t name)
{
	const child_t wanted = { .name = name };
	child_t **found = tfind(&wanted, &children->map, children_compare);
	return found != NULL ? *found : NULL;
}

static bool child_is_idle(const child_t *child)
{
	return child->wants == 0 && child->run_wants == 0;
}

/* Forget those that neither wait nor are checked. keep: but for those that were checked later than that. */
static void children_sweep(children_t *children, knot_name_t parent, uint64_t keep_ms)
{
	for (child_t **at = &children->first; *at != NULL;) {
		child_t *child = *at;
		bool is_of = parent.wire == NULL || knot_name_eq(child->parent, parent);
		if (!is_of || !child_is_idle(child) || child->checked_ms > keep_ms) {
			at = &child->next;
			continue;
		}
		*at = child->next;
		tdelete(child, &children->map, children_compare);
		children->count--;
		free(child);
	}
}

/* Made if need be, behind the others. NULL: out of memory, or there are too many that wait. */
static child_t *children_get(children_t *children, knot_name_t parent, knot_name_t name)
{
	child_t *child = children_find(children, name);
	if (child != NULL) {
		return child;
	}
	if (children->count >= CHILDREN_KEPT_MAX) {
		children_sweep(children, (knot_name_t){ .wire = NULL }, UINT64_MAX);
	}
	child = children->count < CHILDREN_KEPT_MAX ? calloc(1, sizeof(*child)) : NULL;
	if (child == NULL) {
		return NULL;
	}
	knot_name_lower(name, child->wire);
	child->name = (knot_name_t){ child->wire, name.len, name.label_count };
	knot_name_lower(parent, child->parent_wire);
	child->parent = (knot_name_t){ child->parent_wire, parent.len, parent.label_count };
	if (tsearch(child, &children->map, children_compare) == NULL) {
		free(child);
		return NULL;
	}
	child->next = children->first;
	children->first = child;
	children->count++;
	return child;
}

void children_free(children_t *take_children)
{
	children_t *children = take_children;
	while (children != NULL && children->first != NULL) {
		child_t *child = children->first;
		children->first = child->next;
		tdelete(child, &children->map, children_compare);
		child_run_free(child->run);
		free(child);
	}
	free(children);
}

/* ---- Lists ---- */

/* It waits for so much; 0: it doesn't. */
static void child_set_wants(children_t *children, child_t *child, unsigned wants)
{
	if (wants != 0 && child->wants == 0) {
		child->next_waiting = children->waiting;
		children->waiting = child;
	} else if (wants == 0 && child->wants != 0) {
		child_t **at = &children->waiting;
		while (*at != child) {
			at = &(*at)->next_waiting;
		}
		*at = child->next_waiting;
	}
	child->wants = wants;
}

static void child_begin_run(children_t *children, child_t *child)
{
	assert(children->run_count < CHILDREN_RUNS_MAX && child->run_wants == 0);
	children->running[children->run_count++] = child;
	child->run_wants = child->wants;
	child_set_wants(children, child, 0);
}

static void child_end_run(children_t *children, child_t *child)
{
	size_t at = 0;
	while (children->running[at] != child) {
		at++;
	}
	children->running[at] = children->running[--children->run_count];
	child_run_free(child->run);
	child->run = NULL;
	child->run_wants = 0;
	child->is_answered = false;
}

void children_forget(server_t *server, knot_name_t parent)
{
	children_t *children = server->children;
	for (child_t *child = children->first; child != NULL; child = child->next) {
		bool is_of = knot_name_eq(child->parent, parent);
		if (is_of) {
			child_set_wants(children, child, 0);
		}
		if (is_of && child->is_answered) {
			child_end_run(children, child);
		}
	}
	children_sweep(children, parent, UINT64_MAX);
}

/* ---- Waiting ---- */

/* Of a zone: how many wait, in all and for a source. */
typedef struct {
	size_t all, of_net;
} children_waiting_t;

static bool child_is_of_net(const child_t *child, const notice_addr_t *net)
{
	return child->net.family == net->family && memcmp(child->net.bytes, net->bytes, sizeof(net->bytes)) == 0;
}

static children_waiting_t children_count_waiting(
		const children_t *children, knot_name_t parent, const notice_addr_t *net)
{
	children_waiting_t waiting = { 0 };
	for (const child_t *child = children->waiting; child != NULL; child = child->next_waiting) {
		if (!child->is_by_operator && knot_name_eq(child->parent, parent)) {
			waiting.all++;
			waiting.of_net += child_is_of_net(child, net);
		}
	}
	return waiting;
}

/* The rules of the zone above a child; false: there are none. Within the lock, as settings are read in a section. */
static bool children_rules(
		const server_t *server, knot_name_t child, knot_name_t *ret_parent, conf_delegation_t *ret_rules)
{
	conf_zone_t zone;
	RCU_READ_SECTION(guard);
	const state_t *state = state_load(&server->root, guard);
	const zone_t *parent =
			child.label_count > 0 ? zonedb_find_suffix(state->zones, knot_name_strip(child, 1)) : NULL;
	if (parent == NULL || !state_settings(state, zone_name(parent), &zone) || zone.delegation.count == 0) {
		return false;
	}
	*ret_rules = *zone.delegation.data[0];
	*ret_parent = knot_name_strip(child, child.label_count - zone_name(parent).label_count);
	return true;
}

static void child_wait(server_t *server, child_t *child, unsigned wants, uint64_t due_ms)
		SYS_REQUIRES(server->jobs.lock)
{
	entry_t *entry = server_find_entry(server, child->parent);
	child->due_ms = child->wants == 0 || due_ms < child->due_ms ? due_ms : child->due_ms;
	child_set_wants(server->children, child, child->wants | wants);
	if (entry != NULL) {
		(void)jobs_plan(&server->jobs, entry, EVENT_DELEGATION, child->due_ms, 0);
	}
}

void children_take(server_t *server, const notice_t *notice)
{
	enum { SHARE = 8 };
	children_t *children = server->children;
	knot_name_t name = knot_name_of(notice->zone), parent;
	conf_delegation_t rules;
	if (!children_rules(server, name, &parent, &rules)) {
		return;
	}
	unsigned wants = notice->child_type == KNOT_TYPE_CSYNC ? CHILD_WANTS_CSYNC : CHILD_WANTS_DS;
	child_t *child = children_find(children, name);
	if (child == NULL || child->wants == 0) {
		notice_addr_t net = notice_addr_net(notice->from);
		children_waiting_t waiting = children_count_waiting(children, parent, &net);
		size_t share = rules.children_max / SHARE > 0 ? rules.children_max / SHARE : 1;
		bool has_room = waiting.all < rules.children_max && waiting.of_net < share;
		child = has_room ? children_get(children, parent, name) : NULL;
		if (child == NULL) {
			children->dropped++;
			return;
		}
		child->net = net;
	}
	uint64_t now_ms = sys_clock_ms(), next_ms = child->checked_ms + rules.min_interval_s * UINT64_C(1000);
	child_wait(server, child, wants, child->checked_ms != 0 && next_ms > now_ms ? next_ms : now_ms);
}

/* ---- Checks ---- */

static void children_on_done(child_run_t *run)
{
	server_t *server = child_run_server(run);
	sys_mutex_lock(&server->jobs.lock);
	child_t *child = children_find(server->children, child_run_child(run));
	entry_t *entry = server_find_entry(server, child->parent);
	if (entry != NULL && !child_run_is_stopped(run)) {
		child->is_answered = true;
		(void)jobs_plan(&server->jobs, entry, EVENT_DELEGATION, sys_clock_ms(), 0);
	} else {
		/* The zone is gone, or the server ends. */
		child_end_run(server->children, child);
	}
	sys_mutex_unlock(&server->jobs.lock);
}

/* Checks that go on for a source. */
static size_t children_count_runs(const children_t *children, const notice_addr_t *net)
{
	size_t count = 0;
	for (size_t i = 0; i < children->run_count; i++) {
		count += child_is_of_net(children->running[i], net);
	}
	return count;
}

/* A source has no more checks at a time than are free for others: slow servers of its children hold up these alone. */
static bool children_may_begin(const children_t *children, const child_t *child)
{
	size_t free_count = CHILDREN_RUNS_MAX - children->run_count;
	return child->is_by_operator ? free_count > 0 : children_count_runs(children, &child->net) < free_count;
}

/* The one that is next: of those that are due, an operator's, else the oldest of the source with the fewest checks. */
static child_t *children_pick(const children_t *children, knot_name_t parent, uint64_t now_ms)
{
	child_t *best = NULL;
	size_t best_runs = 0;
	for (child_t *child = children->waiting; child != NULL; child = child->next_waiting) {
		bool is_due = child->run_wants == 0 && child->due_ms <= now_ms && knot_name_eq(child->parent, parent);
		if (!is_due || !children_may_begin(children, child)) {
			continue;
		}
		if (child->is_by_operator) {
			return child;
		}
		size_t runs = children_count_runs(children, &child->net);
		if (best == NULL || runs < best_runs || (runs == best_runs && child->due_ms < best->due_ms)) {
			best = child;
			best_runs = runs;
		}
	}
	return best;
}

/* The check has ended. */
static void child_end(server_t *server, child_t *child, bool is_refused) SYS_REQUIRES(server->jobs.lock)
{
	child->checked_ms = sys_clock_ms();
	child->check_count++;
	child->is_refused = is_refused;
	server->children->checks++;
	server->children->refused += is_refused;
}

__attribute__((format(printf, 4, 5))) static void child_tell(
		child_t *child, int level, const char *what, const char *format, ...)
{
	char text[CHILD_REASON_MAX + 64], name[KNOT_NAME_TEXT_MAX];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	(void)knot_name_print(child->name, name);
	size_t len = strlen(child->said);
	(void)snprintf(child->said + len, sizeof(child->said) - len, "%s%s, %s", len > 0 ? "; " : "", what, text);
	log_zone(level, child->parent, "delegation, %s, %s, %s", name, what, text);
}

static const char *child_wants_text(unsigned wants)
{
	return wants == CHILD_WANTS_DS ? "CDS" : wants == CHILD_WANTS_CSYNC ? "CSYNC" : "CDS and CSYNC";
}

/* What a run begins with, taken under the lock. */
static bool children_begin(server_t *server, entry_t *entry, child_run_params_t *ret_params, child_t **ret_child)
{
	children_t *children = server->children;
	sys_mutex_lock(&server->jobs.lock);
	child_t *child = children_pick(children, entry_name(entry), sys_clock_ms());
	if (child != NULL) {
		*ret_params = (child_run_params_t){ .server = server,
			.parent = child->parent,
			.child = child->name,
			.wants = child->wants,
			.is_approved = child->is_approved,
			.has_inception = child->has_inception,
			.has_serial = child->has_serial,
			.inception = child->inception,
			.serial = child->serial,
			.on_done = children_on_done };
		child_begin_run(children, child);
		child->is_by_operator = child->is_approved = child->is_answered = false;
		child->said[0] = '\0';
		*ret_child = child;
	}
	sys_mutex_unlock(&server->jobs.lock);
	return child != NULL;
}

static conf_t *children_hold_conf(server_t *server, knot_name_t name, const conf_delegation_t **ret_rules)
{
	conf_zone_t zone;
	RCU_READ_SECTION(guard);
	const state_t *state = state_load(&server->root, guard);
	if (!state_settings(state, name, &zone) || zone.delegation.count == 0) {
		return NULL;
	}
	*ret_rules = zone.delegation.data[0];
	return conf_hold(state->conf);
}

/* Begin checks that are due. A child stays while it is checked. */
static knot_err_t children_begin_all(
		server_t *server, entry_t *entry, const zone_contents_t *contents, bool *ret_has_rules)
{
	child_run_params_t params;
	child_t *child = NULL;
	const conf_delegation_t *rules = NULL;
	knot_err_t err = KNOT_OK;
	conf_t *conf = children_hold_conf(server, entry_name(entry), &rules);
	*ret_has_rules = conf != NULL;
	while (conf != NULL && err != KNOT_ENOMEM && children_begin(server, entry, &params, &child)) {
		char reason[CHILD_REASON_MAX];
		child_run_t *run;
		params.conf = conf;
		params.rules = rules;
		params.contents = contents;
		err = child_run_new(&params, reason, &run);
		sys_mutex_lock(&server->jobs.lock);
		if (err == KNOT_OK) {
			child->run = run;
		} else {
			child_tell(child, LOG_NOTICE, child_wants_text(params.wants), "refused (%s)",
					err == KNOT_ENOTSUP  ? reason
					: err == KNOT_ENOENT ? "there is no such delegation"
							     : knot_strerror(err));
			child_end(server, child, true);
			child_end_run(server->children, child);
		}
		sys_mutex_unlock(&server->jobs.lock);
		if (err == KNOT_OK) {
			child_run_start(run);
		}
	}
	conf_free(conf);
	return err == KNOT_ENOMEM ? err : KNOT_OK;
}

/* ---- Results ---- */

/* A run that waits for the event; NULL: none. It is the caller's, but stays the child's. */
static child_t *children_take_answered(server_t *server, knot_name_t parent)
{
	sys_mutex_lock(&server->jobs.lock);
	const children_t *children = server->children;
	child_t *child = NULL;
	for (size_t i = 0; i < children->run_count && child == NULL; i++) {
		child_t *one = children->running[i];
		child = one->is_answered && knot_name_eq(one->parent, parent) ? one : NULL;
	}
	if (child != NULL) {
		child->is_answered = false;
	}
	sys_mutex_unlock(&server->jobs.lock);
	return child;
}

/* What was decided together, and is one commit. */
typedef struct {
	child_t *children[CHILDREN_RUNS_MAX];
	knot_err_t errs[CHILDREN_RUNS_MAX];
	size_t count;
	bool has_changes;
} children_batch_t;

static bool child_has_change(const child_result_t *result)
{
	return ((result->wants & CHILD_WANTS_DS) != 0 && result->ds_answer.verdict == CHILD_CHANGE) ||
	       ((result->wants & CHILD_WANTS_CSYNC) != 0 && result->csync_answer.verdict == CHILD_CHANGE);
}

static void children_decide(server_t *server, knot_name_t parent, children_batch_t *batch)
{
	child_t *child;
	while (batch->count < CHILDREN_RUNS_MAX && (child = children_take_answered(server, parent)) != NULL) {
		if (child_run_decide(child->run)) {
			batch->has_changes |= child_has_change(child_run_result(child->run));
			batch->errs[batch->count] = KNOT_OK;
			batch->children[batch->count++] = child;
		}
	}
}

static knot_err_t children_commit(const turn_t *turn, children_batch_t *batch)
{
	update_t update;
	knot_err_t err = update_begin(turn->name, UPDATE_CHILD, turn->current, &update);
	if (err != KNOT_OK) {
		return err;
	}
	bool is_any = false;
	for (size_t i = 0; i < batch->count && err == KNOT_OK; i++) {
		const child_result_t *result = child_run_result(batch->children[i]->run);
		if (child_has_change(result)) {
			batch->errs[i] = child_apply(update.txn, child_run_child(batch->children[i]->run), result);
			err = batch->errs[i] == KNOT_ENOMEM ? KNOT_ENOMEM : KNOT_OK;
			is_any |= batch->errs[i] == KNOT_OK;
		}
	}
	err = err == KNOT_OK && is_any ? turn_publish(turn, &update) : err;
	update_end(&update);
	return err;
}

/* err: of the commit, or of the child's own edits. Returns true if it was refused. */
static bool child_tell_verdict(child_t *child, const char *what, child_verdict_t verdict, const char *reason,
		const char *changed, knot_err_t err)
{
	if (verdict == CHILD_CHANGE && err == KNOT_OK) {
		child_tell(child, LOG_INFO, what, "%s", changed);
	} else if (verdict == CHILD_CHANGE) {
		child_tell(child, LOG_WARNING, what, "failed (%s)",
				err == KNOT_ETRYAGAIN ? "the delegation has changed meanwhile" : knot_strerror(err));
	} else if (verdict == CHILD_REFUSED) {
		child_tell(child, LOG_NOTICE, what, "refused (%s)", reason);
	} else {
		child_tell(child, LOG_INFO, what, "%s", verdict == CHILD_KEEP ? "nothing to change" : reason);
	}
	return verdict == CHILD_REFUSED || (verdict == CHILD_CHANGE && err != KNOT_OK);
}

static void child_note_ds(server_t *server, child_t *child, const child_ds_answer_t *answer, knot_err_t err)
		SYS_REQUIRES(server->jobs.lock)
{
	if (answer->verdict == CHILD_CHANGE && err == KNOT_OK) {
		child->has_inception = true;
		child->inception = answer->inception;
		server->children->changes++;
	}
}

static void child_note_csync(server_t *server, child_t *child, const child_csync_answer_t *answer, knot_err_t err)
		SYS_REQUIRES(server->jobs.lock)
{
	bool is_done = answer->verdict == CHILD_KEEP || (answer->verdict == CHILD_CHANGE && err == KNOT_OK);
	child->has_serial |= is_done;
	child->serial = is_done ? answer->serial : child->serial;
	server->children->changes += is_done && answer->verdict == CHILD_CHANGE;
}

/* Tell what came of it, and let the child go. */
static void children_conclude(server_t *server, child_t *child, knot_err_t err) SYS_REQUIRES(server->jobs.lock)
{
	char changed[64];
	bool is_refused = false;
	const child_result_t *result = child_run_result(child->run);
	if (result->wants & CHILD_WANTS_DS) {
		const child_ds_answer_t *ds = &result->ds_answer;
		(void)snprintf(changed, sizeof(changed), "DS records changed, %zu -> %zu", result->ds.set.count,
				ds->ds.count);
		is_refused |= child_tell_verdict(child, "CDS", ds->verdict, ds->reason, changed, err);
		child_note_ds(server, child, ds, err);
	}
	if (result->wants & CHILD_WANTS_CSYNC) {
		const child_csync_answer_t *csync = &result->csync_answer;
		(void)snprintf(changed, sizeof(changed), "name servers changed, %zu -> %zu", result->ns.set.count,
				csync->ns.count);
		is_refused |= child_tell_verdict(child, "CSYNC", csync->verdict, csync->reason, changed, err);
		child_note_csync(server, child, csync, err);
	}
	bool is_again = child_has_change(result) && err != KNOT_OK;
	unsigned wants = child->run_wants;
	child_end(server, child, is_refused);
	child_end_run(server->children, child);
	/* If the delegation has changed it is decided about once more, with that. */
	if (is_again) {
		child_wait(server, child, wants, sys_clock_ms() + (err == KNOT_ETRYAGAIN ? 0 : CHILD_RETRY_MS));
	}
}

/* ---- The event ---- */

/* When something is due again, or may be begun. */
static void children_plan(server_t *server, entry_t *entry, bool is_held_up) SYS_REQUIRES(server->jobs.lock)
{
	enum { LATER_MS = 1000 }; /* while others have the checks, or there is no version of the zone */
	const children_t *children = server->children;
	uint64_t later_ms = sys_clock_ms() + LATER_MS, due_ms = UINT64_MAX;
	for (const child_t *child = children->waiting; child != NULL; child = child->next_waiting) {
		if (child->run_wants == 0 && child->due_ms < due_ms && knot_name_eq(child->parent, entry_name(entry))) {
			bool waits = child->due_ms < later_ms && (is_held_up || !children_may_begin(children, child));
			uint64_t at_ms = waits ? later_ms : child->due_ms;
			due_ms = at_ms < due_ms ? at_ms : due_ms;
		}
	}
	for (size_t i = 0; i < children->run_count; i++) {
		const child_t *child = children->running[i];
		due_ms = child->is_answered && knot_name_eq(child->parent, entry_name(entry)) ? 0 : due_ms;
	}
	if (due_ms != UINT64_MAX) {
		(void)jobs_plan(&server->jobs, entry, EVENT_DELEGATION, due_ms, 0);
	}
}

static knot_err_t children_publish(server_t *server, entry_t *entry, children_batch_t *batch, job_outcome_t *outcome)
{
	static const server_author_t author = { .who = "" };
	server_commit_t commit = { .reason = "" };
	turn_t turn = {
		.server = server, .entry = entry, .name = entry_name(entry), .author = &author, .commit = &commit
	};
	turn.current = zone_contents(entry_zone(entry));
	knot_err_t err = turn_may_change(server, entry) ? load_settings(&server->root, turn.name, &turn.settings)
							: KNOT_EAGAIN;
	err = err == KNOT_OK ? children_commit(&turn, batch) : err;
	bool is_new = zone_contents(entry_zone(entry)) != turn.current;
	outcome->load = is_new ? LOAD_EDITED : LOAD_UNCHANGED;
	outcome->keeps_result = !is_new;
	outcome->reason = commit.reason[0] != '\0' && err != KNOT_OK ? strdup(commit.reason) : NULL;
	return err;
}

knot_err_t server_run_delegation(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	children_batch_t batch = { .count = 0 };
	knot_err_t err = KNOT_OK;
	(void)how;
	outcome->load = LOAD_UNCHANGED;
	outcome->keeps_result = true;
	children_decide(server, entry_name(entry), &batch);
	if (batch.has_changes) {
		err = children_publish(server, entry, &batch, outcome);
	}
	sys_mutex_lock(&server->jobs.lock);
	for (size_t i = 0; i < batch.count; i++) {
		children_conclude(server, batch.children[i], err != KNOT_OK ? err : batch.errs[i]);
	}
	sys_mutex_unlock(&server->jobs.lock);
	const zone_contents_t *contents = zone_contents(entry_zone(entry));
	bool has_rules = true;
	if (contents != NULL) {
		knot_err_t begun = children_begin_all(server, entry, contents, &has_rules);
		err = err == KNOT_OK ? begun : err;
	}
	sys_mutex_lock(&server->jobs.lock);
	if (has_rules) {
		children_plan(server, entry, contents == NULL);
	} else {
		children_forget(server, entry_name(entry));
	}
	sys_mutex_unlock(&server->jobs.lock);
	return err;
}

/* Planned by what has a child wait, and by checks that end. */
void server_plan_delegation(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	(void)server, (void)entry, (void)ended, (void)outcome;
}

/* ---- Operators ---- */

knot_err_t server_child_check(server_t *server, knot_name_t zone, knot_name_t child, bool is_approved,
		server_child_result_t *ret_result)
{
	conf_delegation_t rules;
	knot_name_t parent;
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_lower(child, wire);
	const knot_name_t name = { wire, child.len, child.label_count };
	if (!children_rules(server, name, &parent, &rules) || !knot_name_eq(parent, zone)) {
		return KNOT_ENOTSUP;
	}
	sys_mutex_lock(&server->jobs.lock);
	child_t *known = children_get(server->children, parent, name);
	if (known == NULL) {
		sys_mutex_unlock(&server->jobs.lock);
		return KNOT_ESPACE;
	}
	/* One that goes on began before this: its answers may be older. */
	uint64_t wanted = known->check_count + (known->run_wants != 0 ? 2 : 1);
	known->is_by_operator = true;
	known->is_approved |= is_approved;
	child_wait(server, known, CHILD_WANTS_DS | CHILD_WANTS_CSYNC, sys_clock_ms());
	knot_err_t err = KNOT_OK;
	for (;;) {
		known = children_find(server->children, name);
		const entry_t *entry = server_find_entry(server, zone);
		if (known == NULL || entry == NULL) {
			err = KNOT_ENOZONE;
			break;
		}
		/* It is checked when the zone is thawed, or its transaction has ended, which may be days later. */
		if (entry->frozen || entry->edited) {
			err = entry->edited ? KNOT_ETXNMANY : KNOT_ECTLBUSY;
			break;
		}
		if (known->check_count >= wanted) {
			ret_result->is_refused = known->is_refused;
			(void)snprintf(ret_result->said, sizeof(ret_result->said), "%s", known->said);
			break;
		}
		if (server->jobs.stopping) {
			err = KNOT_ECTLBUSY;
			break;
		}
		jobs_wait(&server->jobs);
	}
	sys_mutex_unlock(&server->jobs.lock);
	return err;
}

server_children_t server_children(const server_t *server)
{
	sys_mutex_t *lock = server_lock(server);
	sys_mutex_lock(lock);
	const children_t *children = server->children;
	server_children_t counts = { children->checks, children->changes, children->refused, children->dropped };
	sys_mutex_unlock(lock);
	counts.dropped += notices_limited(server->notices);
	return counts;
}
