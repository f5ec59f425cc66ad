/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of members, and what is done about them. */
#include "src/catalog/interpret.h"

#include <assert.h>
#include <stdio.h>
#include <syslog.h>

static bool changes_is_same_name(knot_name_t a, knot_name_t b)
{
	return a.len == b.len && memcmp(a.wire, b.wire, a.len) == 0;
}

static bool changes_is_same_group(knot_bytes_t a, knot_bytes_t b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static catalog_note_t changes_note_of(const catalog_member_t *member)
{
	return member->has_more_groups ? CATALOG_MANY_GROUPS : CATALOG_NOTHING;
}

/* ---- Comparing lists ---- */

typedef struct {
	catalog_set_t *set;
	size_t at;
} walk_t;

/* The next member; false: there is none. */
static bool changes_peek(const walk_t *walk, catalog_member_t *ret_member)
{
	bool is_there = walk->at < walk->set->count;
	if (is_there) {
		*ret_member = catalog_set_get(walk->set, walk->at);
	}
	return is_there;
}

/* Pass a member and the entries that name it once more. False: `visit` ended it. */
static bool changes_pass(
		walk_t *walk, const catalog_member_t *member, bool is_addition, catalog_change_cb visit, void *ctx)
{
	catalog_member_t next;
	walk->at++;
	while (changes_peek(walk, &next) && changes_is_same_name(next.member, member->member)) {
		catalog_change_t twice = { .kind = CATALOG_KEEP,
			.note = is_addition ? CATALOG_ADDED_TWICE : CATALOG_REMOVED_TWICE,
			.before = next,
			.after = next };
		if (!visit(&twice, ctx)) {
			return false;
		}
		walk->at++;
	}
	return true;
}

static catalog_change_t changes_between(const catalog_member_t *before, const catalog_member_t *after)
{
	catalog_kind_t kind = CATALOG_KEEP;
	if (!changes_is_same_name(before->owner, after->owner)) {
		kind = CATALOG_RENEW;
	} else if (!changes_is_same_group(before->group, after->group)) {
		kind = CATALOG_REGROUP;
	}
	return (catalog_change_t){ .kind = kind,
		.note = kind == CATALOG_KEEP ? CATALOG_NOTHING : changes_note_of(after),
		.before = *before,
		.after = *after };
}

void catalog_compare(catalog_set_t *before_set, catalog_set_t *after_set, catalog_change_cb visit, void *ctx)
{
	catalog_set_sort(before_set);
	catalog_set_sort(after_set);
	walk_t old = { before_set, 0 }, new = { after_set, 0 };
	bool goes_on = true;
	while (goes_on) {
		catalog_member_t before, after;
		bool has_before = changes_peek(&old, &before), has_after = changes_peek(&new, &after);
		if (!has_before && !has_after) {
			return;
		}
		int order = !has_before ? 1 : !has_after ? -1 : catalog_cmp(before.member, after.member);
		catalog_change_t change;
		if (order < 0) {
			change = (catalog_change_t){ .kind = CATALOG_REMOVE, .before = before };
		} else if (order > 0) {
			change = (catalog_change_t){
				.kind = CATALOG_ADD, .note = changes_note_of(&after), .after = after
			};
		} else {
			change = changes_between(&before, &after);
		}
		goes_on = (change.kind == CATALOG_KEEP || visit(&change, ctx)) &&
			  (order > 0 || changes_pass(&old, &before, false, visit, ctx)) &&
			  (order < 0 || changes_pass(&new, &after, true, visit, ctx));
	}
}

/* ---- Deciding ---- */

static catalog_change_t changes_refuse(const catalog_change_t *change, catalog_note_t note)
{
	catalog_change_t refused = *change;
	refused.kind = CATALOG_KEEP;
	refused.note = note;
	return refused;
}

/* The catalog says that the member is there, and the database has it. */
static catalog_change_t changes_decide_stored(
		const catalog_change_t *change, knot_name_t catalog, const catalog_facts_t *facts)
{
	if (!changes_is_same_name(facts->catalog, catalog)) {
		return changes_refuse(change, CATALOG_OTHER_CATALOG);
	}
	catalog_change_t decided = changes_between(&facts->entry, &change->after);
	bool is_known = change->kind == CATALOG_RENEW && changes_is_same_name(facts->entry.owner, change->before.owner);
	if (decided.kind == CATALOG_RENEW && !is_known) {
		return changes_refuse(change, CATALOG_ADDED_ALREADY);
	}
	return decided;
}

static catalog_change_t changes_decide_removal(
		const catalog_change_t *change, knot_name_t catalog, const catalog_facts_t *facts)
{
	if (facts->is_configured) {
		return changes_refuse(change, CATALOG_NOTHING); /* no catalog takes away what the operator configured */
	}
	if (!facts->is_stored) {
		return changes_refuse(change, CATALOG_REMOVED_UNKNOWN);
	}
	bool is_right = changes_is_same_name(facts->catalog, catalog) &&
			changes_is_same_name(facts->entry.owner, change->before.owner);
	return is_right ? *change : changes_refuse(change, CATALOG_REMOVED_WRONG);
}

catalog_change_t catalog_decide(const catalog_change_t *change, knot_name_t catalog, const catalog_facts_t *facts)
{
	if (change->kind == CATALOG_KEEP) {
		return *change;
	}
	if (change->kind == CATALOG_REMOVE) {
		return changes_decide_removal(change, catalog, facts);
	}
	if (facts->is_configured) {
		return changes_refuse(change, CATALOG_CONFIGURED);
	}
	if (facts->is_stored) {
		return changes_decide_stored(change, catalog, facts);
	}
	return (catalog_change_t){
		.kind = CATALOG_ADD, .note = changes_note_of(&change->after), .after = change->after
	};
}

/* ---- Log lines ---- */

static const struct {
	int level;
	const char *text;
} note_rows[] = {
#define CATALOG_NOTE(name, level, text) [CATALOG_##name] = { level, text },
#include "src/catalog/notes.def"
#undef CATALOG_NOTE
};

int catalog_note_level(catalog_note_t note)
{
	assert(note != CATALOG_NOTHING);
	return note_rows[note].level;
}

/* A group may be any bytes: what would break a line of the log is a question mark. */
void catalog_note_print(const catalog_change_t *change, char ret_text[static CATALOG_NOTE_TEXT_MAX])
{
	assert(change->note != CATALOG_NOTHING);
	const char *text = note_rows[change->note].text, *mark = strstr(text, "%s");
	if (mark == NULL) {
		snprintf(ret_text, CATALOG_NOTE_TEXT_MAX, "%s", text);
		return;
	}
	char group[CATALOG_GROUP_MAX + 1];
	size_t len = change->after.group.len;
	for (size_t i = 0; i < len; i++) {
		uint8_t byte = change->after.group.data[i];
		group[i] = byte >= ' ' && byte != 0x7f ? (char)byte : '?';
	}
	group[len] = '\0';
	snprintf(ret_text, CATALOG_NOTE_TEXT_MAX, "%.*s%s%s", (int)(mark - text), text, group, mark + 2);
}
