/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/conf/db.h"

#include "src/conf/db_record.h"
#include "src/conf/fault.h"
#include "src/sys/clock.h"
#include "src/sys/lmdb_check.h"

#include <assert.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	DIR_MODE = 0770,
	FILE_MODE = 0660,
	LOCK_WAIT_MS = 10,
	LOCK_TRIES = 500,   /* of readers and commits: 5 s, much longer than either takes with a million zones */
	REPLACED_TRIES = 3, /* replacing the file takes longer than opening it */
	HOLD_TRIES = 20,    /* of a transaction: another holder may keep it for days */
	PUT_BATCH = 100 *
		    1000, /* blocks per LMDB transaction of a new file, which readers don't see before it is whole */
};

static const char data_name[] = "data.mdb", new_name[] = "data.mdb.new", format_key[] = "!format";

struct conf_db {
	char *path;
	unsigned size_mib;
	int dir_fd;
	bool is_held;
	struct stat checked; /* the file when it was checked last; st_ino 0: never */
};

/** The file while it is open: descriptor, lock, LMDB. */
typedef struct {
	conf_db_t *db;
	conf_sink_t sink;
	int fd;         /* -1: none */
	bool is_locked; /* `fd`, by this process */
	MDB_env *env;   /* NULL: none */
	MDB_txn *txn;
	MDB_dbi dbi;
} file_t;

/* ---- Faults ---- */

/** What an error of LMDB or the system means, and what to do about it. */
typedef struct {
	int code;
	knot_err_t err;
	const char *advice; /* NULL: nothing */
} failure_t;

static const failure_t failures[] = {
	{ ENOENT, KNOT_ENOENT, "make one with 'knotc conf-init' or 'knotc conf-import'" },
	{ ENOSPC, KNOT_ESPACE, "free some space" },
	{ EDQUOT, KNOT_ESPACE, "free some space" },
	{ EFBIG, KNOT_ESPACE, "free some space" },
	{ EIO, KNOT_EFILE, "look for a full disk, a quota, and faults of the disk in the kernel's log" },
	{ MDB_BAD_VALSIZE, KNOT_CONF_ERANGE,
			"shorten the identifiers of more than 480 bytes: they are keys of the database" },
	{ ENOMEM, KNOT_ENOMEM, NULL },
	{ EACCES, KNOT_EACCES, "check owner and mode of the folder and its files" },
	{ EPERM, KNOT_EACCES, "check owner and mode of the folder and its files" },
	{ EROFS, KNOT_EACCES, "check owner and mode of the folder and its files" },
};

static knot_err_t db_tell(const conf_db_t *db, conf_sink_t sink, knot_err_t err, const char *what, const char *reason,
		const char *advice)
{
	const conf_place_t place = { 0 };
	return conf_tell_text(sink, CONF_ERROR, err, &place, reason, "configuration database '%s', %s (%s)%s%s",
			db->path, what, reason, advice != NULL ? ", " : "", advice != NULL ? advice : "");
}

/** code: of LMDB or errno. */
static knot_err_t db_fail(const conf_db_t *db, conf_sink_t sink, int code, const char *what)
{
	if (code == MDB_MAP_FULL) {
		char advice[96];
		(void)snprintf(advice, sizeof(advice),
				"its size is limited to %u MiB, increase it with --max-conf-size", db->size_mib);
		return db_tell(db, sink, KNOT_ESPACE, what, "it is full", advice);
	}
	for (size_t i = 0; i < KNOT_LEN(failures); i++) {
		if (failures[i].code == code) {
			return db_tell(db, sink, failures[i].err, what, mdb_strerror(code), failures[i].advice);
		}
	}
	return db_tell(db, sink, code > 0 ? KNOT_EFILE : KNOT_EMALF, what, mdb_strerror(code), NULL);
}

static knot_err_t damaged(const conf_db_t *db, conf_sink_t sink, const char *reason)
{
	return db_tell(db, sink, KNOT_EMALF, "it is damaged", reason,
			"move the folder away, and import a file or put a copy in its place");
}

/* ---- Locks ---- */

static void act_as_owner_of(const struct stat *folder)
{
	if (geteuid() == 0 && folder->st_uid != 0) {
		(void)setfsgid(folder->st_gid);
		(void)setfsuid(folder->st_uid);
	}
}

/** The folder's owner could have put symbolic links there, so root opens files with the owner's rights. */
static void act_as_owner(const conf_db_t *db)
{
	struct stat folder;
	if (fstat(db->dir_fd, &folder) == 0) {
		act_as_owner_of(&folder);
	}
}

static void act_as_self(void)
{
	if (geteuid() == 0) {
		(void)setfsuid(0);
		(void)setfsgid(getegid());
	}
}

static knot_err_t lock(const conf_db_t *db, int fd, int kind, unsigned tries, conf_sink_t sink)
{
	assert(fd >= 0 && tries > 0);
	for (unsigned i = 0; i < tries; i++) {
		if (flock(fd, kind | LOCK_NB) == 0) {
			return KNOT_OK;
		}
		if (errno != EWOULDBLOCK && errno != EINTR) {
			return db_fail(db, sink, errno, "failed to lock it");
		}
		sys_clock_sleep_ns(LOCK_WAIT_MS * UINT64_C(1000000));
	}
	return db_tell(db, sink, KNOT_EBUSY, "another process changes it", knot_strerror(KNOT_EBUSY),
			"end the transaction that is open there");
}

static bool is_same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/**
 * The folder may have been moved away and replaced: the next use is then of the new one. A held database stays the old
 * one, as the changes to be written are based on it.
 */
static knot_err_t find_folder(conf_db_t *db, conf_sink_t sink)
{
	struct stat info, known;
	bool is_there = stat(db->path, &info) == 0;
	if (is_there && db->dir_fd >= 0 && fstat(db->dir_fd, &known) == 0 && is_same_inode(&info, &known)) {
		return KNOT_OK;
	}
	if (is_there && db->is_held) {
		return db_tell(db, sink, KNOT_EBUSY, "another folder is in its place", knot_strerror(KNOT_EBUSY),
				"put the first one back, or abort the transaction and begin it again");
	}
	int fd = open(db->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		return db_fail(db, sink, errno, "failed to open it");
	}
	if (db->dir_fd >= 0) {
		(void)close(db->dir_fd);
	}
	db->dir_fd = fd;
	return KNOT_OK;
}

knot_err_t conf_db_hold(conf_db_t *db, conf_sink_t sink)
{
	assert(!db->is_held);
	knot_err_t err = find_folder(db, sink);
	err = err == KNOT_OK ? lock(db, db->dir_fd, LOCK_EX, HOLD_TRIES, sink) : err;
	db->is_held = err == KNOT_OK;
	return err;
}

void conf_db_release(conf_db_t *db)
{
	if (db->is_held) {
		db->is_held = false;
		(void)flock(db->dir_fd, LOCK_UN);
	}
}

/* ---- The file ---- */

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino != 0 && is_same_inode(a, b) && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/** Check the pages, unless the file is unchanged since the last check. Under the file's lock. */
static knot_err_t check_pages(file_t *file)
{
	assert(file->is_locked);
	conf_db_t *db = file->db;
	struct stat info;
	if (fstat(file->fd, &info) != 0) {
		return db_fail(db, file->sink, errno, "failed to look at it");
	}
	if (is_same_file(&db->checked, &info)) {
		return KNOT_OK;
	}
	sys_lmdb_check_t check;
	const char *what = "";
	knot_err_t err = sys_lmdb_check(file->fd, &check, &what);
	if (err == KNOT_OK) {
		db->checked = info;
		return KNOT_OK;
	}
	db->checked.st_ino = 0;
	if (err == KNOT_EMALF || err == KNOT_ENOENT) {
		return damaged(db, file->sink, what);
	}
	return db_tell(db, file->sink, err, "failed to read it", what, NULL);
}

static void close_file(file_t *file)
{
	if (file->txn != NULL) {
		mdb_txn_abort(file->txn);
	}
	if (file->env != NULL) {
		mdb_env_close(file->env);
	}
	if (file->fd >= 0) {
		(void)close(file->fd); /* and with it the lock */
	}
}

static int open_env(file_t *file, const char *name, unsigned flags)
{
	const conf_db_t *db = file->db;
	char path[PATH_MAX];
	if (snprintf(path, sizeof(path), "%s/%s", db->path, name) >= (int)sizeof(path)) {
		return ENAMETOOLONG;
	}
	int code = mdb_env_create(&file->env);
	if (code == 0) {
		code = mdb_env_set_mapsize(file->env, (size_t)db->size_mib << 20);
	}
	if (code == 0) {
		act_as_owner(db);
		code = mdb_env_open(file->env, path, MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS | flags, FILE_MODE);
		act_as_self();
	}
	return code;
}

/** True if LMDB, which opens by name, has the file that is locked and was checked: a new one may have taken its place
 * meanwhile. */
static bool is_locked_one(const file_t *file)
{
	struct stat locked, opened;
	int fd;
	return mdb_env_get_fd(file->env, &fd) == 0 && fstat(fd, &opened) == 0 && fstat(file->fd, &locked) == 0 &&
	       is_same_inode(&opened, &locked);
}

static int db_begin(file_t *file, unsigned flags)
{
	assert(file->env != NULL && file->txn == NULL);
	int code = mdb_txn_begin(file->env, NULL, flags, &file->txn);
	if (code == 0) {
		code = mdb_dbi_open(file->txn, NULL, 0, &file->dbi);
	}
	return code;
}

/** Commit. Ends the transaction, also on failure. */
static int db_commit(file_t *file)
{
	assert(file->txn != NULL);
	MDB_txn *txn = file->txn;
	file->txn = NULL;
	return mdb_txn_commit(txn);
}

/** Find the program that made it, if the record of our format is missing. */
static knot_err_t judge_foreign(file_t *file)
{
	static const uint8_t knot_key[] = { 0x00, 0xff }; /* of Knot's version, one byte */
	MDB_val key = { sizeof(knot_key), (void *)knot_key }, value;
	const conf_db_t *db = file->db;
	MDB_stat stat;
	if (mdb_get(file->txn, file->dbi, &key, &value) == 0 && value.mv_size == 1) {
		return db_tell(db, file->sink, KNOT_ENOTSUP, "it was made by Knot DNS", knot_strerror(KNOT_ENOTSUP),
				"export it with the knotc of that ('knotc -C DIR conf-export FILE'), move the folder "
				"away, and "
				"import the file with this knotc ('knotc -C DIR conf-import FILE')");
	}
	if (mdb_stat(file->txn, file->dbi, &stat) == 0 && stat.ms_entries == 0) {
		return damaged(db, file->sink, "it has no entry");
	}
	return db_tell(db, file->sink, KNOT_ENOTSUP, "it was made by another program", knot_strerror(KNOT_ENOTSUP),
			"use another folder");
}

static knot_err_t read_format(file_t *file, uint64_t *ret_version)
{
	MDB_val key = { sizeof(format_key) - 1, (void *)format_key }, value;
	int code = mdb_get(file->txn, file->dbi, &key, &value);
	if (code == MDB_NOTFOUND) {
		return judge_foreign(file);
	}
	if (code != 0) {
		return db_fail(file->db, file->sink, code, "failed to read it");
	}
	knot_err_t err = conf_db_format_get((knot_bytes_t){ value.mv_data, value.mv_size }, ret_version);
	if (err == KNOT_ENOTSUP) {
		return db_tell(file->db, file->sink, err, "a later release made it", knot_strerror(err),
				"use that release, or export it there and import it here");
	}
	return err == KNOT_OK ? err : damaged(file->db, file->sink, "its format can't be read");
}

/** Open, lock, check, begin. On failure everything is closed; ret_is_replaced: because a new file took its place; the
 * sink got nothing. */
static knot_err_t open_once(conf_db_t *db, bool is_writing, conf_sink_t sink, file_t *ret_file, uint64_t *ret_version,
		bool *ret_is_replaced)
{
	file_t file = { .db = db, .sink = sink };
	knot_err_t err = find_folder(db, sink);
	if (err != KNOT_OK) {
		return err;
	}
	act_as_owner(db);
	file.fd = openat(db->dir_fd, data_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	act_as_self();
	if (file.fd < 0) {
		return db_fail(db, sink, errno, "failed to open it");
	}
	err = lock(db, file.fd, is_writing ? LOCK_EX : LOCK_SH, LOCK_TRIES, sink);
	file.is_locked = err == KNOT_OK;
	err = err == KNOT_OK ? check_pages(&file) : err;
	if (err == KNOT_OK) {
		unsigned flags = is_writing ? 0 : MDB_RDONLY;
		int code = open_env(&file, data_name, flags);
		*ret_is_replaced = code == 0 && !is_locked_one(&file);
		if (*ret_is_replaced) {
			err = KNOT_EBUSY;
		} else {
			code = code == 0 ? db_begin(&file, flags) : code;
			err = code == 0 ? read_format(&file, ret_version)
					: db_fail(db, sink, code, "failed to open it");
		}
	}
	if (err != KNOT_OK) {
		close_file(&file);
		return err;
	}
	*ret_file = file;
	return KNOT_OK;
}

static knot_err_t db_open_file(
		conf_db_t *db, bool is_writing, conf_sink_t sink, file_t *ret_file, uint64_t *ret_version)
{
	for (unsigned i = 0; i < REPLACED_TRIES; i++) {
		bool is_replaced = false;
		knot_err_t err = open_once(db, is_writing, sink, ret_file, ret_version, &is_replaced);
		if (!is_replaced) {
			return err;
		}
	}
	return db_tell(db, sink, KNOT_EBUSY, "other processes replace it all the time", knot_strerror(KNOT_EBUSY),
			"try again");
}

/* ---- Reading ---- */

static knot_err_t read_block(
		file_t *file, const MDB_val *key, const MDB_val *value, conf_store_t *store, conf_db_buffer_t *scratch)
{
	knot_err_t err = conf_db_block_get((knot_bytes_t){ key->mv_data, key->mv_size },
			(knot_bytes_t){ value->mv_data, value->mv_size }, file->sink, store, scratch);
	if (err == KNOT_EMALF) {
		(void)damaged(file->db, file->sink, "the checksum of a block is wrong");
	}
	return err;
}

/** The part of a database to read. */
typedef struct {
	const size_t *groups; /* NULL: everything */
	size_t group_count;
} extent_t;

static knot_err_t read_groups(file_t *file, const extent_t *extent, conf_store_t *store)
{
	conf_db_buffer_t scratch = { 0 };
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; err == KNOT_OK && i < extent->group_count; i++) {
		assert(conf_sections[extent->groups[i]]->kind == CONF_GROUP);
		uint8_t key_bytes[CONF_DB_KEY_MAX];
		size_t key_len = conf_db_key_put(extent->groups[i], (knot_bytes_t){ 0 }, key_bytes);
		MDB_val key = { key_len, key_bytes }, value;
		int code = mdb_get(file->txn, file->dbi, &key, &value);
		if (code == 0) {
			err = read_block(file, &key, &value, store, &scratch);
		} else if (code != MDB_NOTFOUND) {
			err = db_fail(file->db, file->sink, code, "failed to read it");
		}
	}
	free(scratch.data);
	return err;
}

static knot_err_t read_blocks(file_t *file, conf_store_t *store)
{
	MDB_cursor *cursor;
	MDB_val key, value;
	conf_db_buffer_t scratch = { 0 };
	int code = mdb_cursor_open(file->txn, file->dbi, &cursor);
	if (code != 0) {
		return db_fail(file->db, file->sink, code, "failed to read it");
	}
	knot_err_t err = KNOT_OK;
	while (err == KNOT_OK && (code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
		if (key.mv_size == sizeof(format_key) - 1 && memcmp(key.mv_data, format_key, key.mv_size) == 0) {
			continue;
		}
		err = read_block(file, &key, &value, store, &scratch);
	}
	mdb_cursor_close(cursor);
	free(scratch.data);
	if (err == KNOT_OK && code != MDB_NOTFOUND) {
		err = db_fail(file->db, file->sink, code, "failed to read it");
	}
	return err;
}

static knot_err_t read_extent(conf_db_t *db, const extent_t *extent, conf_sink_t sink, conf_store_t **ret_store,
		uint64_t *ret_version)
{
	file_t file;
	uint64_t version;
	knot_err_t err = db_open_file(db, false, sink, &file, &version);
	if (err != KNOT_OK) {
		return err;
	}
	conf_store_t *store = conf_store_new();
	err = store == NULL            ? KNOT_ENOMEM
	      : extent->groups != NULL ? read_groups(&file, extent, store)
				       : read_blocks(&file, store);
	close_file(&file);
	err = err == KNOT_OK ? conf_store_seal(store) : err;
	if (err == KNOT_ENOMEM) {
		(void)db_fail(db, sink, ENOMEM, "failed to read it");
	}
	if (err != KNOT_OK) {
		conf_store_free(store);
		return err;
	}
	*ret_store = store;
	*ret_version = version;
	return KNOT_OK;
}

knot_err_t conf_db_read(conf_db_t *db, conf_sink_t sink, conf_store_t **ret_store, uint64_t *ret_version)
{
	return read_extent(db, &(extent_t){ .groups = NULL }, sink, ret_store, ret_version);
}

knot_err_t conf_db_read_groups(
		conf_db_t *db, const size_t *sections, size_t count, conf_sink_t sink, conf_store_t **ret_store)
{
	uint64_t version;
	return read_extent(db, &(extent_t){ sections, count }, sink, ret_store, &version);
}

knot_err_t conf_db_version(conf_db_t *db, conf_sink_t sink, uint64_t *ret_version)
{
	file_t file;
	knot_err_t err = db_open_file(db, false, sink, &file, ret_version);
	if (err == KNOT_OK) {
		close_file(&file);
	}
	return err;
}

/* ---- Writing ---- */

static int put_format(file_t *file, uint64_t version)
{
	uint8_t record[CONF_DB_FORMAT_LEN];
	conf_db_format_put(version, record);
	MDB_val key = { sizeof(format_key) - 1, (void *)format_key }, value = { sizeof(record), record };
	return mdb_put(file->txn, file->dbi, &key, &value, 0);
}

/** After one more change of the same file. */
static uint64_t next_version(uint64_t version)
{
	return (version & ~(uint64_t)UINT32_MAX) | (uint32_t)(version + 1);
}

/** items NULL: remove the block. */
static int db_put_block(
		file_t *file, size_t section, knot_bytes_t id, const knot_bytes_t *items, conf_db_buffer_t *buffer)
{
	uint8_t key_bytes[CONF_DB_KEY_MAX];
	size_t key_len = conf_db_key_put(section, id, key_bytes);
	if (key_len == 0) {
		return MDB_BAD_VALSIZE;
	}
	MDB_val key = { key_len, key_bytes };
	if (items == NULL) {
		int code = mdb_del(file->txn, file->dbi, &key, NULL);
		return code == MDB_NOTFOUND ? 0 : code;
	}
	if (conf_db_block_put((knot_bytes_t){ key_bytes, key_len }, section, id, *items, buffer) != KNOT_OK) {
		return ENOMEM;
	}
	MDB_val value = { buffer->len, buffer->data };
	return mdb_put(file->txn, file->dbi, &key, &value, 0);
}

static int put_changes(file_t *file, const conf_txn_t *txn)
{
	conf_db_buffer_t buffer = { 0 };
	conf_change_t change;
	size_t pos = 0;
	int code = 0;
	while (code == 0 && conf_txn_next_change(txn, &pos, &change)) {
		code = db_put_block(
				file, change.section, change.id, change.has_new ? &change.new_items : NULL, &buffer);
	}
	free(buffer.data);
	return code;
}

knot_err_t conf_db_write(conf_db_t *db, const conf_txn_t *txn, conf_sink_t sink, uint64_t *ret_version)
{
	assert(db->is_held);
	file_t file;
	uint64_t version;
	knot_err_t err = db_open_file(db, true, sink, &file, &version);
	if (err != KNOT_OK) {
		return err;
	}
	int code = put_changes(&file, txn);
	code = code == 0 ? put_format(&file, next_version(version)) : code;
	code = code == 0 ? db_commit(&file) : code;
	/* LMDB wrote it itself, so the next call needn't check it. */
	if (code != 0 || fstat(file.fd, &db->checked) != 0) {
		db->checked.st_ino = 0;
	}
	close_file(&file);
	if (code != 0) {
		return db_fail(db, sink, code, "failed to write to it");
	}
	if (ret_version != NULL) {
		*ret_version = next_version(version);
	}
	return KNOT_OK;
}

/* ---- A new file ---- */

static int put_store(file_t *file, const conf_store_t *store)
{
	conf_db_buffer_t buffer = { 0 };
	size_t count = 0;
	int code = 0;
	for (size_t section = 0; section < CONF_S_COUNT && code == 0; section++) {
		conf_cursor_t cursor = { .view = { .store = store }, .section = section };
		conf_block_view_t block;
		while (code == 0 && conf_view_next(&cursor, &block)) {
			code = db_put_block(file, section, block.id, &block.items, &buffer);
			if (code == 0 && ++count % PUT_BATCH == 0) {
				code = db_commit(file);
				code = code == 0 ? db_begin(file, 0) : code;
			}
		}
	}
	free(buffer.data);
	return code;
}

/** Flush and give it its name. */
static int finish_new(file_t *file)
{
	int dir_fd = file->db->dir_fd;
	int code = mdb_env_sync(file->env, 1);
	close_file(file);
	act_as_owner(file->db);
	if (code == 0 && (renameat(dir_fd, new_name, dir_fd, data_name) != 0 || fsync(dir_fd) != 0)) {
		code = errno;
	}
	act_as_self();
	return code;
}

/** Changes like those of `version`, but with a mark of its own. Returns errno. */
static int mark_version(uint64_t version, uint64_t *ret_version)
{
	uint32_t mark;
	if (getrandom(&mark, sizeof(mark), 0) != (ssize_t)sizeof(mark)) {
		return errno;
	}
	*ret_version = (uint64_t)mark << 32 | (uint32_t)version;
	return 0;
}

/** store NULL: nothing in it. version: its count of changes. Under the folder's lock. */
static knot_err_t make_new(conf_db_t *db, const conf_store_t *store, uint64_t version, conf_sink_t sink)
{
	assert(db->is_held);
	file_t file = { .db = db, .sink = sink, .fd = -1 };
	act_as_owner(db);
	(void)unlinkat(db->dir_fd, new_name, 0); /* of one that was killed */
	act_as_self();
	/* It is flushed once, before it is renamed. */
	int code = mark_version(version, &version);
	code = code == 0 ? open_env(&file, new_name, MDB_NOSYNC) : code;
	code = code == 0 ? db_begin(&file, 0) : code;
	code = code == 0 && store != NULL ? put_store(&file, store) : code;
	code = code == 0 ? put_format(&file, version) : code;
	code = code == 0 ? db_commit(&file) : code;
	if (code == 0) {
		code = finish_new(&file);
	} else {
		close_file(&file);
	}
	if (code != 0) {
		act_as_owner(db);
		(void)unlinkat(db->dir_fd, new_name, 0);
		act_as_self();
		return db_fail(db, sink, code, "failed to write it");
	}
	return KNOT_OK;
}

knot_err_t conf_db_replace(conf_db_t *db, const conf_store_t *store, conf_sink_t sink)
{
	assert(db->is_held);
	uint64_t version;
	knot_err_t err = conf_db_version(db, sink, &version);
	return err == KNOT_OK ? make_new(db, store, next_version(version), sink) : err;
}

/* ---- Life ---- */

const char *conf_db_default_path(void)
{
	return KNOT_STORAGE_DIR "/confdb";
}

bool conf_db_exists(const char *path)
{
	char name[PATH_MAX];
	struct stat info;
	if (snprintf(name, sizeof(name), "%s/%s", path, data_name) >= (int)sizeof(name)) {
		return false;
	}
	/* Don't take a folder that we may not look into for an empty one: opening it reports the fault. */
	return stat(name, &info) == 0 || (errno == EACCES && stat(path, &info) == 0);
}

const char *conf_db_path(const conf_db_t *db)
{
	return db->path;
}

static int make_folder(const char *path)
{
	return mkdir(path, DIR_MODE) == 0 || errno == EEXIST ? 0 : errno;
}

/**
 * In a folder that isn't root's, root makes it for the folder's owner: the server couldn't start with a database that
 * root owns. Returns errno.
 */
static int make_folder_for_owner(const char *path)
{
	char above[PATH_MAX];
	struct stat folder;
	if (snprintf(above, sizeof(above), "%s", path) >= (int)sizeof(above)) {
		return ENAMETOOLONG;
	}
	if (stat(dirname(above), &folder) == 0) {
		act_as_owner_of(&folder);
	}
	int code = make_folder(path);
	act_as_self();
	/* The owner may be unable to reach the folder, or to write there. */
	return code == EACCES ? make_folder(path) : code;
}

static knot_err_t open_folder(conf_db_t *db, bool create, conf_sink_t sink)
{
	int code = create ? make_folder_for_owner(db->path) : 0;
	if (code != 0) {
		return db_fail(db, sink, code, "failed to make the folder");
	}
	return find_folder(db, sink);
}

/** Make an empty one if there is none; two processes may want to at once. */
static knot_err_t make_if_missing(conf_db_t *db, conf_sink_t sink)
{
	if (faccessat(db->dir_fd, data_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		return KNOT_OK;
	}
	knot_err_t err = conf_db_hold(db, sink);
	if (err == KNOT_OK && faccessat(db->dir_fd, data_name, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
		err = make_new(db, NULL, 0, sink);
	}
	conf_db_release(db);
	return err;
}

knot_err_t conf_db_open(const char *path, unsigned size_mib, bool create, conf_sink_t sink, conf_db_t **ret_db)
{
	conf_db_t *db = calloc(1, sizeof(*db));
	char *copy = strdup(path);
	if (db == NULL || copy == NULL) {
		const conf_db_t nameless = { .path = (char *)path };
		free(db);
		free(copy);
		return db_fail(&nameless, sink, ENOMEM, "failed to open it");
	}
	*db = (conf_db_t){ .path = copy, .size_mib = size_mib, .dir_fd = -1 };
	uint64_t version;
	knot_err_t err = open_folder(db, create, sink);
	err = err == KNOT_OK && create ? make_if_missing(db, sink) : err;
	err = err == KNOT_OK ? conf_db_version(db, sink, &version) : err;
	if (err != KNOT_OK) {
		conf_db_close(db);
		return err;
	}
	*ret_db = db;
	return KNOT_OK;
}

void conf_db_close(conf_db_t *take_db)
{
	if (take_db != NULL) {
		conf_db_release(take_db);
		if (take_db->dir_fd >= 0) {
			(void)close(take_db->dir_fd);
		}
		free(take_db->path);
		free(take_db);
	}
}
