/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/journal/knot.h"

#include "src/journal/changeset.h"
#include "src/journal/knot_internal.h"
#include "src/sys/lmdb_reader.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	CHANGE_KEY_TAIL = 8, /* serial and chunk */
	VERSION_MIN = 1,
	VERSION_MAX = 3,
};

struct journal_knot {
	int fd;
	sys_lmdb_reader_t *reader;
};

/* ---- Single values ---- */

typedef struct {
	knot_bytes_t key;
	uint8_t bytes[KNOT_NAME_MAX + 1];
	size_t len;
	bool is_found;
} knot_value_t;

static bool knot_take_value(knot_bytes_t key, knot_bytes_t value, void *ctx)
{
	knot_value_t *found = ctx;
	if (key.len == found->key.len && memcmp(key.data, found->key.data, key.len) == 0) {
		found->len = value.len < sizeof(found->bytes) ? value.len : sizeof(found->bytes);
		memcpy(found->bytes, value.data, found->len);
		found->is_found = true;
	}
	return false;
}

static knot_err_t knot_get(journal_knot_t *knot, const knot_key_t *key, knot_value_t *ret_value)
{
	const char *what;
	*ret_value = (knot_value_t){ .key = knot_key_bytes(key) };
	knot_err_t err = sys_lmdb_reader_each(knot->reader, ret_value->key, knot_take_value, ret_value, &what);
	return err != KNOT_OK ? err : ret_value->is_found ? KNOT_OK : KNOT_ENOENT;
}

/* A number of 4 or 8 bytes. */
static knot_err_t knot_get_number(journal_knot_t *knot, knot_name_t zone, const char *text, uint64_t *ret_number)
{
	knot_key_t key = knot_key_text(zone, text);
	knot_value_t value;
	knot_err_t err = knot_get(knot, &key, &value);
	if (err != KNOT_OK) {
		return err;
	}
	if (value.len != 4 && value.len != 8) {
		return KNOT_EMALF;
	}
	*ret_number = value.len == 4 ? load_be32(value.bytes) : load_be64(value.bytes);
	return KNOT_OK;
}

/* ---- Opening ---- */

static knot_err_t knot_check_version(journal_knot_t *knot, journal_reason_t *ret_reason)
{
	knot_key_t key = knot_key_text((knot_name_t){ 0 }, KNOT_VERSION_TEXT);
	knot_value_t value;
	knot_err_t err = knot_get(knot, &key, &value);
	if (err == KNOT_ENOENT) {
		sys_lmdb_say(ret_reason, "it is no journal of Knot DNS");
		return KNOT_EEXIST;
	}
	if (err != KNOT_OK) {
		sys_lmdb_say(ret_reason, "it is damaged");
		return err;
	}
	unsigned major = value.bytes[0] - (unsigned)'0';
	if (value.len < 3 || value.bytes[1] != '.' || major < VERSION_MIN || major > VERSION_MAX) {
		sys_lmdb_say(ret_reason, "it is a journal of Knot DNS of an unknown version");
		return KNOT_ENOTSUP;
	}
	return KNOT_OK;
}

static knot_err_t knot_open_file(journal_knot_t *knot, const char *path, journal_reason_t *ret_reason)
{
	knot->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (knot->fd < 0) {
		knot_err_t err = knot_err_of_errno(errno);
		sys_lmdb_say(ret_reason, "opening it: %s", knot_strerror(err));
		return err == -ENOTDIR ? KNOT_ENOENT : err;
	}
	const char *what;
	knot_err_t err = sys_lmdb_reader_begin(knot->fd, &knot->reader, &what);
	if (err != KNOT_OK) {
		sys_lmdb_say(ret_reason, "%s", what);
		return err;
	}
	return KNOT_OK;
}

static knot_err_t knot_open(
		const char *path, bool may_lack_version, journal_knot_t **ret_knot, journal_reason_t *ret_reason)
{
	ret_reason->text[0] = '\0';
	journal_knot_t *knot = calloc(1, sizeof(*knot));
	if (knot == NULL) {
		sys_lmdb_say(ret_reason, "out of memory");
		return KNOT_ENOMEM;
	}
	knot_err_t err = knot_open_file(knot, path, ret_reason);
	err = err == KNOT_OK ? knot_check_version(knot, ret_reason) : err;
	if (err == KNOT_EEXIST && may_lack_version) {
		ret_reason->text[0] = '\0';
		err = KNOT_OK;
	}
	if (err != KNOT_OK) {
		journal_knot_close(knot);
		return err;
	}
	*ret_knot = knot;
	return KNOT_OK;
}

knot_err_t journal_knot_open(const char *path, journal_knot_t **ret_knot, journal_reason_t *ret_reason)
{
	return knot_open(path, false, ret_knot, ret_reason);
}

knot_err_t journal_knot_open_copy(const char *path, journal_knot_t **ret_knot, journal_reason_t *ret_reason)
{
	return knot_open(path, true, ret_knot, ret_reason);
}

void journal_knot_close(journal_knot_t *take_knot)
{
	if (take_knot == NULL) {
		return;
	}
	sys_lmdb_reader_end(take_knot->reader);
	if (take_knot->fd >= 0) {
		close(take_knot->fd);
	}
	free(take_knot);
}

uint64_t journal_knot_usage(const journal_knot_t *knot)
{
	return sys_lmdb_reader_usage(knot->reader);
}

/* ---- Zones ---- */

typedef struct {
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t zone; /* wire NULL: none was found */
} knot_found_t;

/* The zone of a key. The keys of the journal as a whole begin as those of the root zone would, but with a fifth byte
 * that isn't 0. */
static bool knot_take_zone(knot_bytes_t key, knot_bytes_t value, void *ctx)
{
	(void)value;
	static const uint8_t zeros[4] = { 0 };
	knot_found_t *found = ctx;
	knot_name_t zone;
	if (knot_name_read(key, &zone) != KNOT_OK || key.len < zone.len + sizeof(zeros) ||
			memcmp(key.data + zone.len, zeros, sizeof(zeros)) != 0) {
		return true;
	}
	memcpy(found->wire, zone.wire, zone.len);
	found->zone = knot_name_of(found->wire);
	return false;
}

knot_err_t journal_knot_each_zone(journal_knot_t *knot, bool (*visit)(knot_name_t zone, void *ctx), void *ctx)
{
	knot_key_t from = { .len = 0 };
	for (;;) {
		const char *what;
		knot_found_t found = { .zone = { 0 } };
		knot_err_t err = sys_lmdb_reader_each(
				knot->reader, knot_key_bytes(&from), knot_take_zone, &found, &what);
		if (err != KNOT_OK || found.zone.wire == NULL || !visit(found.zone, ctx)) {
			return err;
		}
		/* Behind all keys of the zone. */
		from = knot_key_of(found.zone);
		from.bytes[from.len - 1] = 1;
	}
}

/* KNOT_OK also if it isn't there. */
static knot_err_t knot_get_optional(journal_knot_t *knot, knot_name_t zone, const char *text, uint64_t *ret_number)
{
	knot_err_t err = knot_get_number(knot, zone, text, ret_number);
	if (err == KNOT_ENOENT) {
		*ret_number = 0;
		return KNOT_OK;
	}
	return err;
}

static knot_err_t knot_has_any(journal_knot_t *knot, knot_name_t zone)
{
	const char *what;
	knot_key_t from = knot_key_of(zone);
	knot_found_t found = { .zone = { 0 } };
	knot_err_t err = sys_lmdb_reader_each(knot->reader, knot_key_bytes(&from), knot_take_zone, &found, &what);
	bool is_there = found.zone.wire != NULL && knot_name_eq(found.zone, zone);
	return err != KNOT_OK ? err : is_there ? KNOT_OK : KNOT_ENOENT;
}

knot_err_t journal_knot_info(journal_knot_t *knot, knot_name_t zone, journal_knot_info_t *ret_info)
{
	enum { FLAGS, FIRST, LAST, MERGED, FLUSHED, COUNT, OCCUPIED, NUMBERS };
	static const char *const texts[NUMBERS] = { "flags", "first_serial", "last_serial_to", "merged_serial",
		"flushed_upto", "changeset_count", "occupied" };
	uint64_t numbers[NUMBERS] = { 0 };
	knot_err_t err = knot_has_any(knot, zone);
	for (unsigned i = 0; err == KNOT_OK && i < NUMBERS; i++) {
		err = knot_get_optional(knot, zone, texts[i], &numbers[i]);
	}
	if (err != KNOT_OK) {
		return err;
	}
	/* The pages that the last change took are charged to its zone with the next one. */
	knot_key_t key = knot_key_text((knot_name_t){ 0 }, "last_inserter_zone");
	knot_value_t inserter;
	knot_name_t last;
	uint64_t total = 0, usage = journal_knot_usage(knot);
	if (knot_get(knot, &key, &inserter) == KNOT_OK &&
			knot_name_read((knot_bytes_t){ inserter.bytes, inserter.len }, &last) == KNOT_OK &&
			knot_name_eq(last, zone) &&
			knot_get_number(knot, (knot_name_t){ 0 }, "last_total_occupied", &total) == KNOT_OK) {
		numbers[OCCUPIED] += usage > total ? usage - total : 0;
	}
	*ret_info = (journal_knot_info_t){
		.has_changes = (numbers[FLAGS] & KNOT_FLAG_LAST) != 0,
		.has_merged = (numbers[FLAGS] & KNOT_FLAG_MERGED) != 0,
		.has_flushed = (numbers[FLAGS] & KNOT_FLAG_FLUSHED) != 0 || numbers[FLUSHED] != numbers[FIRST],
		.serial_first = (uint32_t)numbers[FIRST],
		.serial_last = (uint32_t)numbers[LAST],
		.serial_merged = (uint32_t)numbers[MERGED],
		.serial_flushed = (uint32_t)numbers[FLUSHED],
		.changes = numbers[COUNT],
		.occupied = numbers[OCCUPIED],
	};
	return KNOT_OK;
}

/* ---- Chunks ---- */

typedef struct {
	const knot_key_t *key; /* of its first chunk but for the number of that, which is at its end */
	uint8_t *payload;      /* owned */
	size_t len, max;
	uint32_t chunks, chunks_said, serial_to;
	uint64_t time_s;
	knot_err_t err;
} knot_entry_t;

static bool knot_reserve(knot_entry_t *entry, size_t more)
{
	if (more > entry->max - entry->len) {
		size_t max = 2 * entry->max + more;
		uint8_t *grown = realloc(entry->payload, max);
		if (grown == NULL) {
			entry->err = KNOT_ENOMEM;
			return false;
		}
		entry->payload = grown;
		entry->max = max;
	}
	return true;
}

static bool knot_take_chunk(knot_bytes_t key, knot_bytes_t value, void *ctx)
{
	knot_entry_t *entry = ctx;
	size_t stem = entry->key->len - 4;
	if (key.len != entry->key->len || memcmp(key.data, entry->key->bytes, stem) != 0) {
		return false;
	}
	knot_reader_t in = knot_reader_of(value);
	uint32_t serial_to = knot_read_u32(&in), chunks_said = knot_read_u32(&in);
	(void)knot_read_u64(&in);
	uint64_t time_s = knot_read_u64(&in);
	(void)knot_read_u64(&in);
	bool is_first = entry->chunks == 0;
	if (in.failed || load_be32(key.data + stem) != entry->chunks ||
			(!is_first && (serial_to != entry->serial_to || chunks_said != entry->chunks_said))) {
		entry->err = KNOT_EMALF;
		return false;
	}
	entry->serial_to = serial_to;
	entry->chunks_said = chunks_said;
	entry->time_s = time_s;
	entry->chunks++;
	size_t len = knot_reader_left(&in);
	if (!knot_reserve(entry, len)) {
		return false;
	}
	memcpy(entry->payload + entry->len, value.data + KNOT_CHUNK_HEADER, len);
	entry->len += len;
	return true;
}

/* Read an entry; entry->payload is kept from call to call. KNOT_ENOENT: there is none. */
static knot_err_t knot_read_entry(journal_knot_t *knot, const knot_key_t *key, knot_entry_t *entry)
{
	const char *what;
	*entry = (knot_entry_t){ .key = key, .payload = entry->payload, .max = entry->max, .err = KNOT_OK };
	knot_err_t err = sys_lmdb_reader_each(knot->reader, knot_key_bytes(key), knot_take_chunk, entry, &what);
	err = err == KNOT_OK ? entry->err : err;
	if (err == KNOT_OK && entry->chunks > 0 && entry->chunks_said != 0 && entry->chunks_said != entry->chunks) {
		err = KNOT_EMALF;
	}
	return err == KNOT_OK && entry->chunks == 0 ? KNOT_ENOENT : err;
}

/* ---- Entries ---- */

/* Serials at which changes were visited: a hash table. */
typedef struct {
	uint64_t *slots; /* owned; serial + 1, 0: empty */
	size_t count, max;
} knot_seen_t;

static uint64_t *knot_seen_slot(const knot_seen_t *seen, uint64_t key)
{
	size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (seen->max - 1);
	while (seen->slots[at] != 0 && seen->slots[at] != key) {
		at = (at + 1) & (seen->max - 1);
	}
	return &seen->slots[at];
}

static knot_err_t knot_seen_grow(knot_seen_t *seen)
{
	knot_seen_t grown = { .max = seen->max > 0 ? 2 * seen->max : 64, .count = seen->count };
	grown.slots = calloc(grown.max, sizeof(*grown.slots));
	if (grown.slots == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i < seen->max; i++) {
		if (seen->slots[i] != 0) {
			*knot_seen_slot(&grown, seen->slots[i]) = seen->slots[i];
		}
	}
	free(seen->slots);
	*seen = grown;
	return KNOT_OK;
}

/* KNOT_ECHAINLOOP: it was there. */
static knot_err_t knot_seen_put(knot_seen_t *seen, uint32_t serial)
{
	knot_err_t err = 2 * (seen->count + 1) > seen->max ? knot_seen_grow(seen) : KNOT_OK;
	if (err != KNOT_OK) {
		return err;
	}
	uint64_t *slot = knot_seen_slot(seen, (uint64_t)serial + 1);
	if (*slot != 0) {
		return KNOT_ECHAINLOOP;
	}
	*slot = (uint64_t)serial + 1;
	seen->count++;
	return KNOT_OK;
}

typedef struct {
	journal_knot_t *knot;
	knot_name_t zone;
	journal_visit_t visit;
	void *ctx;
	knot_entry_t entry;
	uint64_t number;
	bool has_ended; /* the visitor wants no more */
} knot_walk_t;

/* Knot has one TTL for all signatures of a name; each goes with what it covers (RFC 4034 3), and its RDATA says so. */
static bool knot_mend_ttl(const changeset_rr_t *rr, bool is_added, void *ctx)
{
	enum { TTL_BEFORE_RDATA = 6, ORIGINAL_TTL_AT = 4, ORIGINAL_TTL_LEN = 4 };
	knot_entry_t *entry = ctx;
	(void)is_added;
	if (rr->type == KNOT_TYPE_RRSIG && rr->rdata.len >= ORIGINAL_TTL_AT + ORIGINAL_TTL_LEN) {
		size_t at = (size_t)(rr->rdata.data - entry->payload) - TTL_BEFORE_RDATA;
		store_be32(entry->payload + at, load_be32(rr->rdata.data + ORIGINAL_TTL_AT));
	}
	return true;
}

static void knot_visit(knot_walk_t *walk, journal_kind_t kind, uint32_t serial_from)
{
	/* What is damaged stays so: who visits finds it. */
	(void)!changeset_each((knot_bytes_t){ walk->entry.payload, walk->entry.len },
			kind == JOURNAL_WHOLE ? CHANGESET_WHOLE : CHANGESET_STEP, knot_mend_ttl, &walk->entry);
	journal_entry_t entry = { .kind = kind,
		.number = ++walk->number,
		.change = { .serial_from = serial_from,
				.serial_to = walk->entry.serial_to,
				.time_s = walk->entry.time_s,
				.payload = { walk->entry.payload, walk->entry.len } } };
	walk->has_ended = !walk->visit(&entry, walk->ctx);
}

static knot_err_t knot_walk_whole(knot_walk_t *walk)
{
	knot_key_t key = knot_key_text(walk->zone, KNOT_WHOLE_TEXT);
	knot_key_put_u32(&key, 0);
	knot_err_t err = knot_read_entry(walk->knot, &key, &walk->entry);
	if (err == KNOT_OK) {
		knot_visit(walk, JOURNAL_WHOLE, walk->entry.serial_to);
	}
	return err;
}

/* The change that begins at a serial. */
static knot_err_t knot_walk_change(knot_walk_t *walk, journal_kind_t kind, uint32_t serial)
{
	knot_key_t key = knot_key_of(walk->zone);
	knot_key_put_u32(&key, serial);
	knot_key_put_u32(&key, 0);
	knot_err_t err = knot_read_entry(walk->knot, &key, &walk->entry);
	if (err == KNOT_OK) {
		knot_visit(walk, kind, serial);
	}
	return err;
}

/* Changes as they continue, up to the first that isn't there. KNOT_ENOENT: that is the first one, and the zone isn't at
 * this serial. */
static knot_err_t knot_walk_chain(knot_walk_t *walk, uint32_t serial, const journal_knot_info_t *info)
{
	knot_seen_t seen = { 0 };
	knot_err_t err = KNOT_OK;
	bool is_last = serial == info->serial_last;
	while (err == KNOT_OK && !walk->has_ended) {
		err = knot_seen_put(&seen, serial);
		err = err == KNOT_OK ? knot_walk_change(walk, JOURNAL_STEP, serial) : err;
		serial = walk->entry.serial_to;
	}
	bool is_end = err == KNOT_ENOENT && (is_last || seen.count > 1);
	free(seen.slots);
	return is_end ? KNOT_OK : err;
}

knot_err_t journal_knot_each(journal_knot_t *knot, knot_name_t zone, journal_visit_t visit, void *ctx)
{
	journal_knot_info_t info;
	knot_walk_t walk = { .knot = knot, .zone = zone, .visit = visit, .ctx = ctx };
	knot_err_t err = journal_knot_info(knot, zone, &info);
	if (err == KNOT_OK) {
		err = knot_walk_whole(&walk);
		err = err == KNOT_ENOENT ? KNOT_OK : err;
	}
	if (err == KNOT_OK && info.has_merged && walk.number == 0) {
		err = knot_walk_change(&walk, JOURNAL_MERGED, info.serial_merged);
	}
	if (err == KNOT_OK && info.has_changes && !walk.has_ended) {
		err = knot_walk_chain(&walk, info.serial_first, &info);
	}
	free(walk.entry.payload);
	return err;
}

knot_err_t journal_knot_each_from(
		journal_knot_t *knot, knot_name_t zone, uint32_t serial, journal_visit_t visit, void *ctx)
{
	journal_knot_info_t info;
	knot_walk_t walk = { .knot = knot, .zone = zone, .visit = visit, .ctx = ctx };
	knot_err_t err = journal_knot_info(knot, zone, &info);
	if (err == KNOT_OK && info.has_merged && info.serial_merged == serial) {
		err = knot_walk_change(&walk, JOURNAL_MERGED, serial);
		serial = walk.entry.serial_to;
	}
	if (err == KNOT_OK && !walk.has_ended) {
		err = knot_walk_chain(&walk, serial, &info);
		/* A merged change alone is fine. */
		err = err == KNOT_ENOENT && walk.number > 0 ? KNOT_OK : err;
	}
	free(walk.entry.payload);
	return err;
}
