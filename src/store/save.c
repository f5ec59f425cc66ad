/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/store/internal.h"
#include "src/store/plan.h"
#include "src/sys/clock.h"

#include "libknot/base/assert.h"

#include <malloc.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* One call of store_save(). */
typedef struct {
	store_t *store;
	const store_image_t **images; /* in canonical order of names: neighbours share pages of LMDB's tree */
	size_t count;
	uint64_t saved_s;
	uint64_t room; /* bytes that may be written before the map is full, about */
	bool settled;  /* pages that were freed may be used again */
	store_saved_t saved;
	store_reason_t *reason;
} saver_t;

enum {
	KEEP_FREE_PAGES = 64, /* deleting needs room, too, for changed pages of the trees … */
	KEEP_FREE_PART = 256, /* … and for the list of what becomes free: 8 bytes for each page */
	NODE_COST = 64,       /* bytes around a value, at most about */
	IDS_PER_TXN = 1 << 20,
};

/* ---- Room ---- */

static uint64_t pages_of(const store_t *store, uint64_t len)
{
	assert(store->lmdb.page_len > 0);
	return (len + STORE_PAGE_HEADER + store->lmdb.page_len - 1) / store->lmdb.page_len;
}

static void look_for_room(saver_t *saver)
{
	store_room_t room = store_room(saver->store);
	uint64_t keep = room.max / KEEP_FREE_PART + (uint64_t)KEEP_FREE_PAGES * saver->store->lmdb.page_len;
	saver->room = room.max > room.used + keep ? room.max - room.used - keep : 0;
}

/* Bytes of pages that a plan fills or changes. */
static uint64_t cost_of(const store_t *store, const store_plan_t *plan)
{
	uint64_t pages = pages_of(store, plan->record_len + NODE_COST + KNOT_NAME_KEY_MAX);
	for (uint32_t i = 0; i < plan->part_count; i++) {
		pages += pages_of(store, plan->pieces[plan->parts[i].index].len);
	}
	return pages * store->lmdb.page_len;
}

/* ---- One image ---- */

static int put_part(const store_t *store, MDB_txn *txn, store_plan_t *plan, const store_part_t *part)
{
	store_piece_t *piece = &plan->pieces[part->index];
	assert(part->index < plan->record.piece_count && part->chunk < plan->image->chunk_count);
	assert(part->offset + piece->len <= plan->image->chunks[part->chunk].len);
	const uint8_t *from = plan->image->chunks[part->chunk].data + part->offset;
	store_key_t piece_key;
	store_key_piece(plan->record.id, piece->number, &piece_key);
	MDB_val key = store_key_val(&piece_key), value = { piece->len, NULL };
	int code = mdb_put(txn, store->lmdb.dbi, &key, &value, MDB_RESERVE);
	if (code == 0) {
		memcpy(value.mv_data, from, piece->len);
		piece->checksum = XXH3_64bits(from, piece->len);
	}
	return code;
}

static int put_record(const store_t *store, MDB_txn *txn, store_plan_t *plan)
{
	store_key_t head_key;
	store_key_head(plan->image->zone, &head_key);
	MDB_val key = store_key_val(&head_key), value = { plan->record_len, NULL };
	/* Appended, a page is left full; otherwise LMDB leaves half of it for keys in between. */
	int code = mdb_put(txn, store->lmdb.dbi, &key, &value, MDB_RESERVE | MDB_APPEND);
	plan->is_appended = code == 0;
	if (code == MDB_KEYEXIST) {
		code = mdb_put(txn, store->lmdb.dbi, &key, &value, MDB_RESERVE);
	}
	if (code == 0) {
		store_record_write(&plan->record, plan->image->sources, plan->image->chunks, value.mv_data);
	}
	return code;
}

/* The last transaction of an image: it adds the new record and removes what only the old one needs. */
static int put_end(const store_t *store, MDB_txn *txn, store_plan_t *plan)
{
	int code = plan->replaces ? store_delete_pieces(store, txn, plan->replaced_id, 0) : 0;
	for (uint32_t i = 0; code == 0 && i < plan->dropped_count; i++) {
		store_key_t piece_key;
		store_key_piece(plan->record.id, plan->dropped[i], &piece_key);
		MDB_val key = store_key_val(&piece_key);
		code = mdb_del(txn, store->lmdb.dbi, &key, NULL);
		code = code == MDB_NOTFOUND ? 0 : code;
	}
	return code == 0 ? put_record(store, txn, plan) : code;
}

/* Find what is stored for the image's zone, and plan what must be written. The pieces of a record that can't be read
 * are left for a sweep. */
static knot_err_t make_plan(
		saver_t *saver, MDB_txn *txn, const store_image_t *image, uint32_t sequence, store_plan_t *ret_plan)
{
	store_t *store = saver->store;
	void *copy = NULL;
	store_record_t old;
	const char *what = "";
	int code;
	knot_err_t err = store_load_record(store, txn, image->zone, &copy, &old, &what, &code);
	if (err == KNOT_ENOENT && code != MDB_NOTFOUND) {
		return sys_lmdb_fail(&store->lmdb, code, "saving zone images", saver->reason);
	}
	if (err == KNOT_EMALF || err == KNOT_ENOTSUP) {
		uint8_t kind = STORE_KEY_SWEEP;
		code = mdb_put(txn, store->lmdb.dbi, &(MDB_val){ 1, &kind }, &(MDB_val){ 1, &kind }, 0);
		if (code != 0) {
			return sys_lmdb_fail(&store->lmdb, code, "saving zone images", saver->reason);
		}
		store->has_leftovers = true;
	}
	uint64_t new_id = mdb_txn_id(txn) * IDS_PER_TXN + sequence;
	err = err == KNOT_ENOMEM ? err
				 : store_plan(image, err == KNOT_OK ? &old : NULL, new_id, store->format,
						   saver->saved_s, ret_plan);
	free(copy);
	if (err == KNOT_ENOMEM) {
		sys_lmdb_say(saver->reason, "saving zone images: out of memory");
	}
	return err;
}

/* ---- A large image, in steps ---- */

/* The old record of the zone stays valid until the last step, so no record names pieces from this number on before. */
static int put_work(const store_t *store, MDB_txn *txn, uint64_t id, uint32_t first_number)
{
	store_key_t work_key;
	store_key_work(id, &work_key);
	MDB_val key = store_key_val(&work_key), value = { sizeof(first_number), &first_number };
	return mdb_put(txn, store->lmdb.dbi, &key, &value, 0);
}

static int delete_work(const store_t *store, MDB_txn *txn, uint64_t id)
{
	store_key_t work_key;
	store_key_work(id, &work_key);
	MDB_val key = store_key_val(&work_key);
	int code = mdb_del(txn, store->lmdb.dbi, &key, NULL);
	return code == MDB_NOTFOUND ? 0 : code;
}

/* Bytes of an image that a transaction writes: little beside those that its zone has in memory. */
static uint64_t save_step_len(const store_image_t *image)
{
	uint64_t len = 0;
	for (uint32_t i = 0; i < image->chunk_count; i++) {
		len += image->chunks[i].len;
	}
	len /= STORE_STEP_PART;
	return len < STORE_STEP_MIN ? STORE_STEP_MIN : len > STORE_STEP_MAX ? STORE_STEP_MAX : len;
}

/* Write pieces in the open transaction until it is large enough. */
static int put_step(const store_t *store, MDB_txn *txn, store_plan_t *plan, uint32_t *part)
{
	uint64_t bytes = 0, step_len = save_step_len(plan->image);
	int code = 0;
	while (code == 0 && *part < plan->part_count && bytes < step_len) {
		bytes += plan->pieces[plan->parts[*part].index].len;
		code = put_part(store, txn, plan, &plan->parts[(*part)++]);
	}
	return code;
}

/* Ends `take_txn`. The first transaction notes the work, the last one ends it. */
static int save_steps(store_t *store, MDB_txn *take_txn, store_plan_t *plan, bool *ret_began)
{
	assert(plan->part_count > 0); /* only pieces make an image large */
	uint32_t part = 0, first_number = plan->pieces[plan->parts[0].index].number;
	*ret_began = false;
	for (MDB_txn *txn = take_txn;;) {
		int code = *ret_began ? 0 : put_work(store, txn, plan->record.id, first_number);
		if (code == 0) {
			code = put_step(store, txn, plan, &part);
		}
		bool is_last = part == plan->part_count;
		if (code == 0 && is_last) {
			code = put_end(store, txn, plan);
		}
		if (code == 0 && is_last) {
			code = delete_work(store, txn, plan->record.id);
		}
		if (code != 0) {
			mdb_txn_abort(txn);
			return code;
		}
		code = sys_lmdb_commit(&store->lmdb, txn);
		if (code != 0 || is_last) {
			return code;
		}
		*ret_began = true;
		code = sys_lmdb_begin(&store->lmdb, 0, &txn);
		if (code != 0) {
			return code;
		}
	}
}

/* ---- A group of images ---- */

enum { NAME_SHOWN_MAX = 80 }; /* bytes of a zone's name in a reason */

static void save_refuse_image(saver_t *saver, knot_name_t zone)
{
	char name[KNOT_NAME_TEXT_MAX];
	knot_name_print(zone, name);
	saver->saved.refused++;
	if (saver->reason->text[0] == '\0') {
		sys_lmdb_say(saver->reason,
				"zone %.*s has more chunks or included files than can be stored, which is %u files",
				NAME_SHOWN_MAX, name, (unsigned)STORE_SOURCE_MAX);
	}
}

static void skip_for_room(saver_t *saver, knot_name_t zone, uint64_t cost)
{
	char name[KNOT_NAME_TEXT_MAX];
	knot_name_print(zone, name);
	saver->saved.skipped++;
	sys_lmdb_say(saver->reason,
			"no room for %llu KiB of zone %.*s: the database has at most %llu MiB, increase "
			"'database.image-db-max-size'",
			(unsigned long long)(cost >> 10), NAME_SHOWN_MAX, name,
			(unsigned long long)(saver->store->lmdb.map_len >> 20));
}

/* Commit twice: pages become reusable when two transactions have passed and no reader holds an older one. True if it
 * may help. */
static bool settle(saver_t *saver)
{
	if (saver->settled) {
		return false;
	}
	saver->settled = true;
	for (int i = 0; i < 2; i++) {
		MDB_txn *txn;
		uint8_t kind = STORE_KEY_SWEEP;
		if (sys_lmdb_begin(&saver->store->lmdb, 0, &txn) != 0) {
			return false;
		}
		/* A transaction that changes nothing writes nothing; this one adds and removes a key, unless a sweep is
		 * due anyway. */
		MDB_val key = { 1, &kind }, value = { 1, &kind };
		int code = mdb_put(txn, saver->store->lmdb.dbi, &key, &value, MDB_NOOVERWRITE);
		if (code == 0) {
			code = mdb_del(txn, saver->store->lmdb.dbi, &key, NULL);
		} else if (code == MDB_KEYEXIST) {
			code = mdb_put(txn, saver->store->lmdb.dbi, &key, &(MDB_val){ 1, &kind }, 0);
		}
		if (code != 0) {
			mdb_txn_abort(txn);
			return false;
		}
		if (sys_lmdb_commit(&saver->store->lmdb, txn) != 0) {
			return false;
		}
	}
	return true;
}

/* The state of a group's transaction. */
typedef struct {
	size_t done;      /* images from its start on that are saved, skipped or refused */
	uint64_t changed; /* bytes of pages that are changed, about: records that are appended share theirs */
	uint32_t skipped; /* of these */
	uint64_t written;
	int code;       /* of LMDB */
	knot_err_t err; /* KNOT_OK, or an error that has its text already */
} group_t;

/* Save the image that is alone in its transaction in steps. Ends `take_txn`. */
static void save_large(saver_t *saver, MDB_txn *take_txn, store_plan_t *plan, group_t *group)
{
	bool began;
	group->code = save_steps(saver->store, take_txn, plan, &began);
	/* Steps are many times the size of what is allocated otherwise; the heap would keep the last one. */
	(void)malloc_trim(0);
	if (group->code == 0) {
		group->done++;
		group->written += plan->part_bytes;
	} else if (began) {
		store_reason_t ignored;
		saver->store->has_leftovers = store_remove_leftovers(saver->store, &ignored) != KNOT_OK;
	}
}

static int put_image(const store_t *store, MDB_txn *txn, store_plan_t *plan)
{
	int code = 0;
	for (uint32_t i = 0; code == 0 && i < plan->part_count; i++) {
		code = put_part(store, txn, plan, &plan->parts[i]);
	}
	return code == 0 ? put_end(store, txn, plan) : code;
}

/* Add the next image to the group. True: go on with the one after. A large image ends the transaction, as *txn = NULL
 * says. */
static bool add_image(saver_t *saver, MDB_txn **txn, const store_image_t *image, uint64_t *bytes, group_t *group)
{
	assert(*txn != NULL && group->code == 0 && group->err == KNOT_OK);
	store_plan_t plan;
	knot_err_t err = make_plan(saver, *txn, image, (uint32_t)group->done, &plan);
	if (err == KNOT_ERANGE) {
		save_refuse_image(saver, image->zone);
		group->done++;
		return true;
	}
	if (err != KNOT_OK) {
		group->err = err;
		return false;
	}
	uint64_t cost = cost_of(saver->store, &plan);
	bool goes_on = false;
	if (cost > saver->room - (*bytes < saver->room ? *bytes : saver->room)) {
		/* The costs of a group are estimates: when it has ended, the free room is measured. */
		if (*bytes == 0) {
			skip_for_room(saver, image->zone, cost);
			group->done++;
			goes_on = true;
		}
	} else if (plan.part_bytes > save_step_len(image)) {
		if (*bytes == 0) {
			save_large(saver, *txn, &plan, group);
			*txn = NULL;
		}
	} else if (*bytes == 0 || group->changed + cost <= STORE_GROUP_BYTES) {
		group->code = put_image(saver->store, *txn, &plan);
		*bytes += cost;
		group->changed += plan.is_appended && plan.part_count == 0 ? plan.record_len + NODE_COST : cost;
		group->written += plan.part_bytes;
		group->done++;
		goes_on = group->code == 0;
	}
	store_plan_done(&plan);
	return goes_on;
}

/* As many images from `from` on as fit one transaction, at most `count`. */
static group_t save_group(saver_t *saver, size_t from, size_t count)
{
	assert(count > 0 && count <= saver->count - from);
	group_t group = { .err = KNOT_OK };
	MDB_txn *txn;
	uint64_t bytes = 0;
	group.code = sys_lmdb_begin(&saver->store->lmdb, 0, &txn);
	if (group.code != 0) {
		return group;
	}
	while (group.done < count && add_image(saver, &txn, saver->images[from + group.done], &bytes, &group)) {}
	if (txn == NULL) {
		return group;
	}
	if (group.code != 0 || group.err != KNOT_OK) {
		mdb_txn_abort(txn);
	} else {
		group.code = sys_lmdb_commit(&saver->store->lmdb, txn);
	}
	return group;
}

static knot_err_t save_all(saver_t *saver)
{
	size_t from = 0, count = IDS_PER_TXN;
	while (from < saver->count) {
		look_for_room(saver);
		store_saved_t before = saver->saved;
		size_t left = saver->count - from;
		group_t group = save_group(saver, from, left < count ? left : count);
		if (group.err != KNOT_OK) {
			return group.err;
		}
		if (group.code == 0) {
			assert(group.done > 0); /* otherwise it would never end */
			from += group.done;
			saver->saved.written += group.written;
			saver->settled = false;
			count = IDS_PER_TXN;
			continue;
		}
		saver->saved = before;
		if (group.code != MDB_MAP_FULL) {
			return sys_lmdb_fail(&saver->store->lmdb, group.code, "saving zone images", saver->reason);
		}
		if (settle(saver)) {
			continue;
		}
		/* There is room, but no run of free pages is long enough. */
		if (group.done > 1) {
			count = group.done / 2;
		} else {
			(void)sys_lmdb_fail(&saver->store->lmdb, group.code, "saving zone images", saver->reason);
			saver->saved.skipped++;
			from++;
		}
	}
	return KNOT_OK;
}

static int compare_images(const void *a, const void *b)
{
	return knot_name_cmp((*(const store_image_t *const *)a)->zone, (*(const store_image_t *const *)b)->zone);
}

/* images: in order. */
static bool save_has_twins(const store_image_t *const *images, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (knot_name_eq(images[i - 1]->zone, images[i]->zone)) {
			return true;
		}
	}
	return false;
}

knot_err_t store_save(store_t *store, const store_image_t *images, size_t count, store_saved_t *ret_saved,
		store_reason_t *ret_reason)
{
	assert(!store->lmdb.options.read_only);
	*ret_saved = (store_saved_t){ 0 };
	ret_reason->text[0] = '\0';
	if (count == 0) {
		return KNOT_OK;
	}
	/* A reader that was killed would keep pages from being used again. */
	int dead;
	(void)mdb_reader_check(store->lmdb.env, &dead);
	if (store->has_leftovers) {
		/* Numbers of pieces are reused when an image grows: later removals would hit the wrong ones. */
		knot_err_t err = store_remove_leftovers(store, ret_reason);
		if (err != KNOT_OK) {
			return err;
		}
		store->has_leftovers = false;
	}
	const store_image_t **sorted = malloc(count * sizeof(*sorted));
	if (sorted == NULL) {
		sys_lmdb_say(ret_reason, "saving zone images: out of memory");
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		sorted[i] = &images[i];
	}
	qsort(sorted, count, sizeof(const store_image_t *), compare_images);
	KNOT_ASSERT_SLOW(!save_has_twins(sorted, count));
	saver_t saver = {
		.store = store, .images = sorted, .count = count, .saved_s = sys_clock_wall(), .reason = ret_reason
	};
	knot_err_t err = save_all(&saver);
	*ret_saved = saver.saved;
	free(sorted);
	return err;
}
