/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/catalog/apply.h"

#include <stdlib.h>

/* Changes that were decided, while they are gathered. */
typedef struct {
	catalog_db_t *db;
	knot_name_t catalog;
	const catalog_sink_t *sink;
	catalog_change_t *changes; /* owned; what they say is borrowed from the two lists */
	size_t count, max, kept;   /* kept: of them, those that only have a note */
	knot_err_t err;
} apply_t;

static knot_err_t apply_find_facts(
		const apply_t *apply, knot_name_t member, catalog_record_room_t *room, catalog_facts_t *ret_facts)
{
	catalog_record_t record;
	*ret_facts = (catalog_facts_t){ .is_configured = apply->sink->is_configured(member, apply->sink->ctx) };
	knot_err_t err = catalog_db_read(apply->db, member, room, &record);
	if (err == KNOT_OK) {
		ret_facts->is_stored = true;
		ret_facts->catalog = record.catalog;
		ret_facts->entry = record.entry;
	}
	return err == KNOT_ENOENT || err == KNOT_EMALF ? KNOT_OK : err;
}

static knot_err_t apply_note(apply_t *apply, const catalog_change_t *change)
{
	if (apply->count == apply->max) {
		size_t max = 2 * apply->max + 16;
		catalog_change_t *changes = realloc(apply->changes, max * sizeof(*changes));
		if (changes == NULL) {
			return KNOT_ENOMEM;
		}
		apply->changes = changes;
		apply->max = max;
	}
	apply->changes[apply->count++] = *change;
	apply->kept += change->kind == CATALOG_KEEP ? 1 : 0;
	return KNOT_OK;
}

static bool apply_decide(const catalog_change_t *change, void *ctx)
{
	apply_t *apply = ctx;
	catalog_record_room_t room;
	catalog_facts_t facts;
	knot_name_t member = change->kind == CATALOG_ADD ? change->after.member : change->before.member;
	apply->err = apply_find_facts(apply, member, &room, &facts);
	if (apply->err != KNOT_OK) {
		return false;
	}
	catalog_change_t decided = catalog_decide(change, apply->catalog, &facts);
	if (decided.kind == CATALOG_RENEW || decided.kind == CATALOG_REGROUP) {
		decided.before = (catalog_member_t){ .has_more_groups = false }; /* it may be in `room` */
	}
	if (decided.kind != CATALOG_KEEP || decided.note != CATALOG_NOTHING) {
		apply->err = apply_note(apply, &decided);
	}
	return apply->err == KNOT_OK;
}

static knot_err_t apply_store_one(const apply_t *apply, const catalog_change_t *change, catalog_write_t *write)
{
	if (change->kind == CATALOG_KEEP) {
		return KNOT_OK;
	}
	if (change->kind == CATALOG_REMOVE) {
		return catalog_write_drop(write, change->before.member);
	}
	const catalog_record_t record = { .entry = change->after, .catalog = apply->catalog };
	return catalog_write_put(write, &record);
}

static knot_err_t apply_store(const apply_t *apply, sys_lmdb_reason_t *ret_reason)
{
	catalog_write_t *write;
	if (apply->count == apply->kept) {
		return KNOT_OK;
	}
	knot_err_t err = catalog_db_begin(apply->db, &write, ret_reason);
	if (err != KNOT_OK) {
		return err;
	}
	for (size_t i = 0; i < apply->count && err == KNOT_OK; i++) {
		err = apply_store_one(apply, &apply->changes[i], write);
	}
	if (err != KNOT_OK) {
		catalog_write_discard(write, ret_reason);
		return err;
	}
	return catalog_write_commit(write, ret_reason);
}

knot_err_t catalog_apply(catalog_db_t *db, knot_name_t catalog, catalog_set_t *before, catalog_set_t *after,
		const catalog_sink_t *sink, size_t *ret_changed, sys_lmdb_reason_t *ret_reason)
{
	apply_t apply = { .db = db, .catalog = catalog, .sink = sink, .err = KNOT_OK };
	ret_reason->text[0] = '\0';
	catalog_compare(before, after, apply_decide, &apply);
	knot_err_t err = apply.err == KNOT_OK ? apply_store(&apply, ret_reason) : apply.err;
	for (size_t i = 0; i < apply.count && err == KNOT_OK; i++) {
		sink->visit(&apply.changes[i], sink->ctx);
	}
	*ret_changed = err == KNOT_OK ? apply.count - apply.kept : 0;
	free(apply.changes);
	return err;
}
