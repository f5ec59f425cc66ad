/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/journal/knot_write.h"

#include "src/journal/changeset.h"
#include "src/journal/knot_internal.h"
#include "src/sys/lock.h"

#include <stdlib.h>

enum {
	CHUNK_FULL = 15 * 1024, /* bytes of payload: the next record begins another chunk */
	CHUNK_MAX = 70 * 1024,  /* bytes that Knot reads */
	TXN_CHUNKS = 4096,      /* in a transaction: its pages are in memory until the commit */
	RRSET_FIXED = 6,        /* type, class, count */
	RR_FIXED = 6,           /* TTL, length */
};

_Static_assert(KNOT_NAME_MAX + RRSET_FIXED + RR_FIXED + KNOT_RDATA_MAX <= CHUNK_MAX, "a record fits a chunk");

struct journal_knot_writer {
	sys_lmdb_t lmdb;
	sys_mutex_t lock; /* one zone at a time */
};

/** A zone that is being copied. */
typedef struct {
	journal_knot_writer_t *writer;
	knot_name_t zone;
	MDB_txn *txn;         /* NULL: none is open */
	int code;             /* the first failure, of LMDB; 0: none */
	knot_err_t err;       /* … of the bytes */
	unsigned puts;        /* in this transaction */
	uint32_t first, last; /* serials */
	uint32_t changes;
	uint64_t bytes;
	/* The entry that is being written. */
	const journal_entry_t *entry;
	uint32_t chunk;                               /* number of the next one */
	size_t len;                                   /* of the chunk's payload */
	size_t rrset_at;                              /* of the last RRset in it */
	uint16_t rrset_count;                         /* its records; 0: there is no RRset in the chunk */
	bool was_added;                               /* the last record was */
	uint8_t value[KNOT_CHUNK_HEADER + CHUNK_MAX]; /* the chunk */
} copying_t;

knot_err_t journal_knot_make(
		const char *path, uint64_t size_max, journal_knot_writer_t **ret_writer, journal_reason_t *ret_reason)
{
	journal_knot_writer_t *writer = calloc(1, sizeof(*writer));
	if (writer == NULL) {
		sys_lmdb_say(ret_reason, "out of memory");
		return KNOT_ENOMEM;
	}
	/* It is flushed once, at the end: a backup that was interrupted is of no use. */
	const sys_lmdb_options_t options = { .path = path,
		.item = "backupdir",
		.size_max = size_max,
		.flags = MDB_NOSYNC,
		.depth = SYS_LMDB_CHECK_HEADS };
	sys_mutex_init(&writer->lock);
	knot_err_t err = sys_lmdb_lock(&writer->lmdb, &options, ret_reason);
	err = err == KNOT_OK ? sys_lmdb_open(&writer->lmdb, ret_reason) : err;
	if (err != KNOT_OK) {
		sys_lmdb_close(&writer->lmdb);
		sys_mutex_done(&writer->lock);
		free(writer);
		return err;
	}
	*ret_writer = writer;
	return KNOT_OK;
}

knot_err_t journal_knot_finish(journal_knot_writer_t *take_writer, journal_reason_t *ret_reason)
{
	if (take_writer == NULL) {
		return KNOT_OK;
	}
	int code = mdb_env_sync(take_writer->lmdb.env, 1);
	knot_err_t err = code == 0 ? KNOT_OK : sys_lmdb_fail(&take_writer->lmdb, code, "writing", ret_reason);
	sys_lmdb_close(&take_writer->lmdb);
	sys_mutex_done(&take_writer->lock);
	free(take_writer);
	return err;
}

/* ---- Values ---- */

static void knot_write_put(copying_t *copying, const knot_key_t *key, const void *bytes, size_t len)
{
	sys_lmdb_t *lmdb = &copying->writer->lmdb;
	if (copying->code == 0 && copying->txn == NULL) {
		copying->code = sys_lmdb_begin(lmdb, 0, &copying->txn);
	}
	if (copying->code != 0) {
		return;
	}
	MDB_val k = { key->len, (void *)(uintptr_t)key->bytes }, v = { len, (void *)(uintptr_t)bytes };
	copying->code = mdb_put(copying->txn, lmdb->dbi, &k, &v, 0);
	copying->bytes += key->len + len;
	if (copying->code == 0 && ++copying->puts >= TXN_CHUNKS) {
		copying->code = sys_lmdb_commit(lmdb, copying->txn);
		copying->txn = NULL;
		copying->puts = 0;
	}
}

static void knot_write_number(copying_t *copying, const char *text, uint32_t number)
{
	uint8_t bytes[4];
	knot_key_t key = knot_key_text(copying->zone, text);
	store_be32(bytes, number);
	knot_write_put(copying, &key, bytes, sizeof(bytes));
}

static void knot_write_long(copying_t *copying, knot_name_t zone, const char *text, uint64_t number)
{
	uint8_t bytes[8];
	knot_key_t key = knot_key_text(zone, text);
	store_be64(bytes, number);
	knot_write_put(copying, &key, bytes, sizeof(bytes));
}

/* ---- Entries ---- */

static void knot_write_chunk(copying_t *copying)
{
	const journal_change_t *change = &copying->entry->change;
	knot_key_t key = knot_key_of(copying->zone);
	if (copying->entry->kind == JOURNAL_WHOLE) {
		key = knot_key_text(copying->zone, KNOT_WHOLE_TEXT);
	} else {
		knot_key_put_u32(&key, change->serial_from);
	}
	knot_key_put_u32(&key, copying->chunk++);
	memset(copying->value, 0, KNOT_CHUNK_HEADER);
	store_be32(copying->value, change->serial_to);
	store_be64(copying->value + 16, change->time_s);
	knot_write_put(copying, &key, copying->value, KNOT_CHUNK_HEADER + copying->len);
	copying->len = 0;
	copying->rrset_count = 0;
}

static bool knot_write_continues(const copying_t *copying, const changeset_rr_t *rr, bool is_added)
{
	const uint8_t *at = copying->value + KNOT_CHUNK_HEADER + copying->rrset_at;
	return copying->rrset_count > 0 && copying->rrset_count < UINT16_MAX && is_added == copying->was_added &&
	       copying->len - copying->rrset_at >= (size_t)rr->owner.len + RRSET_FIXED &&
	       memcmp(at, rr->owner.wire, rr->owner.len) == 0 && load_be16(at + rr->owner.len) == rr->type &&
	       rr->type != KNOT_TYPE_SOA;
}

/* A chunk ends between records: what continues an RRset begins another of the same name and type. */
static bool knot_write_record(const changeset_rr_t *rr, bool is_added, void *ctx)
{
	copying_t *copying = ctx;
	size_t most = (size_t)rr->owner.len + RRSET_FIXED + RR_FIXED + rr->rdata.len;
	if (copying->len > 0 && (copying->len >= CHUNK_FULL || copying->len + most > CHUNK_MAX)) {
		knot_write_chunk(copying);
	}
	uint8_t *payload = copying->value + KNOT_CHUNK_HEADER;
	if (!knot_write_continues(copying, rr, is_added)) {
		uint8_t *at = payload + copying->len;
		memcpy(at, rr->owner.wire, rr->owner.len);
		store_be16(at + rr->owner.len, rr->type);
		store_be16(at + rr->owner.len + 2, KNOT_CLASS_IN);
		copying->rrset_at = copying->len;
		copying->rrset_count = 0;
		copying->len += (size_t)rr->owner.len + RRSET_FIXED;
	}
	store_be16(payload + copying->rrset_at + rr->owner.len + 4, ++copying->rrset_count);
	store_be32(payload + copying->len, rr->ttl);
	store_be16(payload + copying->len + 4, (uint16_t)rr->rdata.len);
	if (rr->rdata.len > 0) {
		memcpy(payload + copying->len + RR_FIXED, rr->rdata.data, rr->rdata.len);
	}
	copying->len += RR_FIXED + rr->rdata.len;
	copying->was_added = is_added;
	return copying->code == 0;
}

static bool knot_write_entry(const journal_entry_t *entry, void *ctx)
{
	copying_t *copying = ctx;
	if (entry->kind == JOURNAL_NOTE) {
		return true;
	}
	bool is_whole = entry->kind == JOURNAL_WHOLE;
	copying->entry = entry;
	copying->chunk = 0;
	copying->err = changeset_each(
			entry->change.payload, is_whole ? CHANGESET_WHOLE : CHANGESET_STEP, knot_write_record, copying);
	knot_write_chunk(copying);
	if (is_whole) {
		copying->first = entry->change.serial_to;
	} else if (copying->changes++ == 0) {
		copying->first = entry->change.serial_from;
	}
	copying->last = entry->change.serial_to;
	return copying->err == KNOT_OK && copying->code == 0;
}

/* What Knot knows of a zone's journal. */
static void knot_write_info(copying_t *copying, const journal_info_t *info)
{
	knot_write_number(copying, "first_serial", copying->first);
	knot_write_number(copying, "last_serial_to", copying->last);
	knot_write_number(copying, "flushed_upto", info->has_flushed ? info->serial_flushed : copying->first);
	knot_write_number(copying, "merged_serial", 0);
	knot_write_number(copying, "changeset_count", copying->changes);
	knot_write_number(copying, "flags", KNOT_FLAG_LAST);
	knot_write_long(copying, copying->zone, "occupied", copying->bytes);
	knot_key_t version = knot_key_text((knot_name_t){ 0 }, KNOT_VERSION_TEXT);
	knot_write_put(copying, &version, "2.0", sizeof("2.0"));
	knot_write_long(copying, (knot_name_t){ 0 }, KNOT_TOTAL_TEXT, 0);
}

static knot_err_t knot_write_end(copying_t *copying, knot_err_t err, journal_reason_t *ret_reason)
{
	sys_lmdb_t *lmdb = &copying->writer->lmdb;
	err = err == KNOT_OK ? copying->err : err;
	if (copying->txn != NULL && err == KNOT_OK && copying->code == 0) {
		copying->code = sys_lmdb_commit(lmdb, copying->txn);
	} else if (copying->txn != NULL) {
		mdb_txn_abort(copying->txn);
	}
	if (err != KNOT_OK) {
		sys_lmdb_say(ret_reason, "the journal is damaged");
		return err;
	}
	return copying->code == 0 ? KNOT_OK : sys_lmdb_fail(lmdb, copying->code, "writing", ret_reason);
}

knot_err_t journal_knot_copy(
		journal_knot_writer_t *writer, journal_t *journal, knot_name_t zone, journal_reason_t *ret_reason)
{
	journal_info_t info;
	ret_reason->text[0] = '\0';
	knot_err_t err = journal_info(journal, zone, &info);
	if (err != KNOT_OK || (!info.has_whole && !info.has_changes)) {
		return err == KNOT_OK ? KNOT_ENOENT : err;
	}
	copying_t *copying = malloc(sizeof(*copying));
	if (copying == NULL) {
		return KNOT_ENOMEM;
	}
	*copying = (copying_t){ .writer = writer, .zone = zone };
	sys_mutex_lock(&writer->lock);
	err = journal_each(journal, zone, knot_write_entry, copying);
	if (err == KNOT_OK && copying->err == KNOT_OK && copying->code == 0) {
		knot_write_info(copying, &info);
	}
	err = knot_write_end(copying, err, ret_reason);
	sys_mutex_unlock(&writer->lock);
	free(copying);
	return err;
}
