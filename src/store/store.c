/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/store/internal.h"

#include "src/sys/clock.h"
#include "src/sys/lmdb_check.h"

#include <assert.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The value of STORE_KEY_FORMAT. */
typedef struct {
	char magic[8];
	uint32_t byte_order;
	uint16_t format;
	uint8_t word_len;
	uint8_t zero;
} format_t;

static_assert(sizeof(format_t) == 16, "no padding on disk");

static const format_t our_format = { "bowline", 0x01020304, STORE_FORMAT, sizeof(size_t), 0 };

enum {
	READERS_MAX = 256, /* read transactions at once, of all processes */
	DIR_MODE = 0770,
	FILE_MODE = 0660,
	MAP_UNIT = 64 * 1024, /* a multiple of any machine's pages */
	LOCK_FILE_LEN = READERS_MAX * 64 +
			4096, /* at least as long as LMDB makes lock.mdb: a line of cache per reader */
	LOCK_TRIES = 20,
	LOCK_WAIT_MS = 25,
};

void store_say(store_reason_t *ret_reason, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(ret_reason->text, sizeof(ret_reason->text), format, args);
	va_end(args);
}

/* LMDB returns EIO for a short write, the first sign of a full disk. */
static bool is_disk_full(const store_t *store)
{
	struct statvfs info;
	return fstatvfs(store->dir_fd, &info) == 0 &&
	       (uint64_t)info.f_bavail * info.f_frsize < 2 * (uint64_t)STORE_STEP_BYTES;
}

/** What an error of LMDB or the system means, and what to do about it. */
typedef struct {
	int code;
	knot_err_t err;
	const char *advice; /* behind the error's own text; NULL: nothing */
} failure_t;

static const failure_t failures[] = {
	{ ENOSPC, KNOT_ESPACE, "free some space or move 'database.image-db'" },
	{ EDQUOT, KNOT_ESPACE, "free some space or move 'database.image-db'" },
	{ EFBIG, KNOT_ESPACE, "free some space or move 'database.image-db'" },
	{ EIO, KNOT_EFILE, "look for a quota, and for faults of the disk in the kernel's log" },
	{ ENOMEM, KNOT_ENOMEM, NULL },
	{ EACCES, KNOT_EACCES, "check owner and mode of the folder and its files" },
	{ EPERM, KNOT_EACCES, "check owner and mode of the folder and its files" },
	{ EROFS, KNOT_EACCES, "check owner and mode of the folder and its files" },
	{ MDB_READERS_FULL, KNOT_EBUSY, NULL },
	{ MDB_PANIC, KNOT_EFILE, "writing has failed before, restart after checking the disk" },
};

static failure_t failure_of(int code)
{
	for (size_t i = 0; i < KNOT_LEN(failures); i++) {
		if (failures[i].code == code) {
			return failures[i];
		}
	}
	return (failure_t){ code, code > 0 ? KNOT_EFILE : KNOT_EMALF, NULL };
}

knot_err_t store_fail(const store_t *store, int code, const char *what, store_reason_t *ret_reason)
{
	assert(code != 0);
	if (code == MDB_MAP_FULL) {
		store_say(ret_reason,
				"%s: the database has its full size of %llu MiB, increase 'database.image-db-max-size'",
				what, (unsigned long long)(store->map_len >> 20));
		return KNOT_ESPACE;
	}
	failure_t failure = failure_of(code == EIO && is_disk_full(store) ? ENOSPC : code);
	bool is_advised = failure.advice != NULL;
	store_say(ret_reason, "%s: %s%s%s", what, mdb_strerror(failure.code), is_advised ? ", " : "",
			is_advised ? failure.advice : "");
	return failure.err;
}

/* ---- Keys ---- */

void store_key_head(knot_name_t zone, store_key_t *ret_key)
{
	assert(zone.len > 0 && zone.len <= KNOT_NAME_MAX);
	ret_key->bytes[0] = STORE_KEY_HEAD;
	ret_key->len = (uint16_t)(1 + knot_name_key(zone, ret_key->bytes + 1));
}

static void put_u64(uint8_t *to, uint64_t v)
{
	store_be32(to, (uint32_t)(v >> 32));
	store_be32(to + 4, (uint32_t)v);
}

void store_key_piece(uint64_t id, uint32_t number, store_key_t *ret_key)
{
	ret_key->bytes[0] = STORE_KEY_PIECE;
	put_u64(ret_key->bytes + 1, id);
	store_be32(ret_key->bytes + 9, number);
	static_assert(STORE_PIECE_KEY_LEN == 1 + sizeof(id) + sizeof(number), "kind, id, number");
	ret_key->len = STORE_PIECE_KEY_LEN;
}

void store_key_work(uint64_t id, store_key_t *ret_key)
{
	ret_key->bytes[0] = STORE_KEY_WORK;
	put_u64(ret_key->bytes + 1, id);
	ret_key->len = STORE_WORK_KEY_LEN;
}

bool store_key_is_piece(const MDB_val *key, uint64_t *ret_id, uint32_t *ret_number)
{
	const uint8_t *bytes = key->mv_data;
	if (key->mv_size != STORE_PIECE_KEY_LEN || bytes[0] != STORE_KEY_PIECE) {
		return false;
	}
	*ret_id = (uint64_t)load_be32(bytes + 1) << 32 | load_be32(bytes + 5);
	*ret_number = load_be32(bytes + 9);
	return true;
}

/* ---- Opening ---- */

/* A process that only reads holds the lock while it checks the file, so wait for it for a moment. */
static knot_err_t lock_folder(const store_t *store, store_reason_t *ret_reason)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(store->dir_fd, LOCK_EX | LOCK_NB) == 0) {
			return KNOT_OK;
		}
		if (errno != EWOULDBLOCK) {
			return store_fail(store, errno, "locking the folder", ret_reason);
		}
		sys_clock_sleep_ns(LOCK_WAIT_MS * UINT64_C(1000000));
	}
	store_say(ret_reason, "another process writes to it; does a server run with the same 'database.image-db'?");
	return KNOT_EBUSY;
}

static knot_err_t open_folder(store_t *store, const store_options_t *options, store_reason_t *ret_reason)
{
	if (!options->read_only && mkdir(options->path, DIR_MODE) != 0 && errno != EEXIST) {
		return store_fail(store, errno, "making the folder", ret_reason);
	}
	store->dir_fd = open(options->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store->dir_fd < 0) {
		bool is_missing = errno == ENOENT;
		knot_err_t err = store_fail(store, errno, "opening the folder", ret_reason);
		return is_missing ? KNOT_ENOENT : err;
	}
	return options->read_only ? KNOT_OK : lock_folder(store, ret_reason);
}

/* LMDB trusts its pages, so they are checked before it sees them. While another process writes, they change; it has
 * checked them. */
static knot_err_t check_data(store_t *store, store_reason_t *ret_reason)
{
	if (store->read_only && flock(store->dir_fd, LOCK_SH | LOCK_NB) != 0) {
		return errno == EWOULDBLOCK ? KNOT_OK : store_fail(store, errno, "locking the folder", ret_reason);
	}
	knot_err_t err = KNOT_OK;
	int fd = openat(store->dir_fd, "data.mdb", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		sys_lmdb_check_t check;
		const char *what = "";
		err = sys_lmdb_check(fd, &check, &what);
		store_say(ret_reason, "%s", what);
		close(fd);
	} else {
		/* If LMDB is opened to write, it makes a file. */
		bool is_missing = errno == ENOENT;
		err = store_fail(store, errno, "opening the database", ret_reason);
		err = !is_missing ? err : store->read_only ? KNOT_ENOENT : KNOT_OK;
	}
	if (store->read_only) {
		/* LMDB would make a table of readers, which the server's user might not be allowed to write to. */
		store->is_alone =
				faccessat(store->dir_fd, "lock.mdb", F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
		(void)(store->is_alone || flock(store->dir_fd, LOCK_UN));
	}
	/* An empty file: cut off, or made by a process that ended before it wrote. Which of the two isn't known, so the
	 * reason reports it. */
	return err == KNOT_ENOENT && !store->read_only ? KNOT_EMALF : err;
}

/*
 * The folder's owner could have put a symbolic link there, so a process of root works in it with the owner's rights.
 * LMDB writes to lock.mdb even if it only reads the data.
 */
static int open_as_owner(const store_t *store, const char *path, unsigned flags)
{
	struct stat folder;
	if (!store->read_only || geteuid() != 0 || fstat(store->dir_fd, &folder) != 0 || folder.st_uid == 0) {
		return mdb_env_open(store->env, path, flags, FILE_MODE);
	}
	(void)setfsgid(folder.st_gid);
	(void)setfsuid(folder.st_uid);
	int code = mdb_env_open(store->env, path, flags, FILE_MODE);
	(void)setfsuid(0);
	(void)setfsgid(getegid());
	return code;
}

/*
 * LMDB maps lock.mdb and writes to the map. On a full disk the file would be a hole, and the first write to it SIGBUS.
 * Blocks behind the file's end stay reserved when LMDB lengthens the file. A file system that can't reserve blocks goes
 * without.
 */
static int reserve_lock_file(const store_t *store)
{
	int fd = openat(store->dir_fd, "lock.mdb", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
	if (fd < 0) {
		return errno;
	}
	int code = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, LOCK_FILE_LEN) == 0 ? 0 : errno;
	(void)close(fd);
	return code == EOPNOTSUPP || code == ENOSYS || code == EINTR ? 0 : code;
}

static knot_err_t open_env(store_t *store, const store_options_t *options, store_reason_t *ret_reason)
{
	int code = store->read_only ? 0 : reserve_lock_file(store);
	if (code != 0) {
		return store_fail(store, code, "making the table of readers", ret_reason);
	}
	code = mdb_env_create(&store->env);
	if (code == 0) {
		code = mdb_env_set_maxreaders(store->env, READERS_MAX);
	}
	if (code == 0 && !store->read_only) {
		code = mdb_env_set_mapsize(store->env, options->size_max / MAP_UNIT * MAP_UNIT);
	}
	if (code == 0) {
		code = open_as_owner(store, options->path,
				MDB_NOTLS | (store->read_only ? MDB_RDONLY : 0) | (store->is_alone ? MDB_NOLOCK : 0));
	}
	MDB_envinfo info;
	MDB_stat stat;
	if (code == 0) {
		code = mdb_env_info(store->env, &info);
	}
	if (code == 0) {
		code = mdb_env_stat(store->env, &stat);
	}
	if (code == 0) {
		code = mdb_env_get_fd(store->env, &store->fd);
	}
	if (code != 0) {
		return store_fail(store, code, "opening the database", ret_reason);
	}
	store_note_length(store);
	store->map_len = info.me_mapsize;
	store->page_len = stat.ms_psize;
	return KNOT_OK;
}

/*
 * LMDB doesn't say where it has mapped the file, but each page has its number in it: so the page with the format's
 * record shows the start of the map. With that, a value's pages can be read from the file, and a failing disk is an
 * error, not a signal.
 */
static void find_map(store_t *store, const void *value)
{
	assert(store->page_len != 0 && (store->page_len & (store->page_len - 1)) == 0);
	const uint8_t *page = (const uint8_t *)((uintptr_t)value & ~(uintptr_t)(store->page_len - 1));
	uint64_t number;
	memcpy(&number, page, sizeof(number));
	store->map = page - number * store->page_len;
}

static int put_format(store_t *store)
{
	MDB_txn *txn;
	int code = store_begin(store, 0, &txn);
	if (code != 0) {
		return code;
	}
	uint8_t kind = STORE_KEY_FORMAT;
	MDB_val key = { 1, &kind }, value = { sizeof(our_format), (void *)&our_format };
	code = mdb_dbi_open(txn, NULL, 0, &store->dbi);
	if (code == 0) {
		code = mdb_put(txn, store->dbi, &key, &value, 0);
	}
	if (code != 0) {
		mdb_txn_abort(txn);
		return code;
	}
	return store_commit(store, txn);
}

/* value: sizeof(format_t) bytes. */
static knot_err_t compare_format(const MDB_val *value, store_reason_t *ret_reason)
{
	format_t format;
	memcpy(&format, value->mv_data, sizeof(format));
	if (memcmp(&format, &our_format, sizeof(format)) == 0) {
		return KNOT_OK;
	}
	store_say(ret_reason, "it has another format or byte order");
	return KNOT_ENOTSUP;
}

/* The format's record is missing. A database of ours is then damaged. A database of another program is not ours to set
 * aside. */
static knot_err_t judge_without_format(const store_t *store, MDB_txn *txn, store_reason_t *ret_reason)
{
	MDB_cursor *cursor;
	MDB_val key, value;
	int code = mdb_cursor_open(txn, store->dbi, &cursor);
	if (code == 0) {
		code = mdb_cursor_get(cursor, &key, &value, MDB_LAST);
		mdb_cursor_close(cursor);
	}
	if (code != 0) {
		return store_fail(store, code, "opening the database", ret_reason);
	}
	if (*(const uint8_t *)key.mv_data == STORE_KEY_HEAD &&
			store_record_is_one((knot_bytes_t){ value.mv_data, value.mv_size })) {
		store_say(ret_reason, "it has no record of its format");
		return KNOT_EMALF;
	}
	store_say(ret_reason, "it is the database of something else, set 'database.image-db' to a folder of its own");
	return KNOT_EEXIST;
}

/* Look at the format's record. KNOT_ENOENT: the environment is empty. */
static knot_err_t read_format(store_t *store, store_reason_t *ret_reason)
{
	MDB_txn *txn;
	int code = store_begin(store, MDB_RDONLY, &txn);
	if (code != 0) {
		return store_fail(store, code, "opening the database", ret_reason);
	}
	uint8_t kind = STORE_KEY_FORMAT;
	MDB_val key = { 1, &kind }, value;
	MDB_stat stat = { 0 };
	code = mdb_dbi_open(txn, NULL, 0, &store->dbi);
	if (code == 0) {
		code = mdb_stat(txn, store->dbi, &stat);
	}
	if (code == 0) {
		code = mdb_get(txn, store->dbi, &key, &value);
	}
	knot_err_t err;
	if (code == 0) {
		err = value.mv_size == sizeof(our_format) ? compare_format(&value, ret_reason)
							  : judge_without_format(store, txn, ret_reason);
		find_map(store, value.mv_data);
	} else if (code == MDB_NOTFOUND && stat.ms_entries == 0) {
		store_say(ret_reason, "it is empty");
		err = KNOT_ENOENT;
	} else if (code == MDB_NOTFOUND) {
		err = judge_without_format(store, txn, ret_reason);
	} else {
		err = store_fail(store, code, "opening the database", ret_reason);
	}
	/* A handle opened in a read transaction becomes the environment's with the commit. */
	int committed = mdb_txn_commit(txn);
	return err == KNOT_OK && committed != 0 ? store_fail(store, committed, "opening the database", ret_reason)
						: err;
}

static knot_err_t open_checked(store_t *store, const store_options_t *options, store_reason_t *ret_reason)
{
	knot_err_t err = check_data(store, ret_reason);
	if (err == KNOT_OK) {
		err = open_env(store, options, ret_reason);
	}
	if (err == KNOT_OK) {
		err = read_format(store, ret_reason);
	}
	if (err == KNOT_ENOENT && !store->read_only) {
		int code = put_format(store);
		err = code != 0 ? store_fail(store, code, "writing to the new database", ret_reason)
				: read_format(store, ret_reason);
	}
	return err;
}

static void close_env(store_t *store)
{
	if (store->env != NULL) {
		mdb_env_close(store->env);
		store->env = NULL;
	}
}

/* We hold the lock on the folder, so no other process writes. A reader that has the old files open keeps them. */
static knot_err_t set_aside(store_t *store, store_reason_t *reason)
{
	assert(!store->read_only && store->env == NULL); /* LMDB must not have the files open */
	if (renameat(store->dir_fd, "data.mdb", store->dir_fd, "data.mdb.damaged") != 0 ||
			(unlinkat(store->dir_fd, "lock.mdb", 0) != 0 && errno != ENOENT)) {
		return store_fail(store, errno, "setting aside the old database", reason);
	}
	char why[STORE_REASON_MAX];
	memcpy(why, reason->text, sizeof(why));
	store_say(reason, "%.160s; it was renamed to data.mdb.damaged, a new one is made", why);
	return KNOT_OK;
}

static knot_err_t open_all(store_t *store, const store_options_t *options, store_reason_t *reason)
{
	knot_err_t err = open_folder(store, options, reason);
	if (err != KNOT_OK) {
		return err;
	}
	err = open_checked(store, options, reason);
	if ((err == KNOT_EMALF || err == KNOT_ENOTSUP) && !store->read_only) {
		close_env(store);
		err = set_aside(store, reason);
		store_reason_t second = { "" };
		if (err == KNOT_OK && (err = open_checked(store, options, &second)) != KNOT_OK) {
			*reason = second;
		}
	} else if (err == KNOT_OK) {
		reason->text[0] = '\0';
	}
	if (err == KNOT_OK && !store->read_only) {
		int dead;
		(void)mdb_reader_check(store->env, &dead);
		store_reason_t ignored;
		store->has_leftovers = store_remove_leftovers(store, &ignored) != KNOT_OK;
	}
	return err;
}

knot_err_t store_open(const store_options_t *options, store_t **ret_store, store_reason_t *ret_reason)
{
	assert(options->path != NULL && (options->read_only || options->size_max >= STORE_SIZE_MIN));
	store_t *store = calloc(1, sizeof(*store));
	if (store == NULL) {
		store_say(ret_reason, "out of memory");
		return KNOT_ENOMEM;
	}
	store->dir_fd = -1;
	store->read_only = options->read_only;
	store->format = options->format;
	ret_reason->text[0] = '\0';
	knot_err_t err = open_all(store, options, ret_reason);
	if (err != KNOT_OK) {
		store_close(store);
		return err;
	}
	*ret_store = store;
	return KNOT_OK;
}

void store_close(store_t *take_store)
{
	if (take_store == NULL) {
		return;
	}
	close_env(take_store);
	if (take_store->dir_fd >= 0) {
		close(take_store->dir_fd);
	}
	free(take_store);
}

void store_unmap(const store_t *store)
{
	assert(store->map != NULL);
	/* A failure does no harm: only a count of memory stays larger. */
	(void)madvise((void *)store->map, store->map_len, MADV_DONTNEED);
}

/* ---- The file's length ---- */

void store_note_length(store_t *store)
{
	struct stat info;
	if (fstat(store->fd, &info) == 0) {
		atomic_store_explicit(&store->file_len, (uint64_t)info.st_size, memory_order_release);
	}
}

bool store_is_whole(const store_t *store)
{
	/* Compare with the noted length: meanwhile the file may have grown. */
	uint64_t noted = atomic_load_explicit(&store->file_len, memory_order_acquire);
	struct stat info;
	return fstat(store->fd, &info) == 0 && (uint64_t)info.st_size >= noted;
}

int store_begin(const store_t *store, unsigned flags, MDB_txn **ret_txn)
{
	assert(!store->read_only || (flags & MDB_RDONLY) != 0);
	return store_is_whole(store) ? mdb_txn_begin(store->env, NULL, flags, ret_txn) : MDB_CORRUPTED;
}

int store_commit(store_t *store, MDB_txn *take_txn)
{
	assert(!store->read_only);
	int code = mdb_txn_commit(take_txn);
	store_note_length(store);
	return code;
}

/* ---- Room ---- */

/* Pages that LMDB may use again: the values of its first database are lists of them, each begins with its length. */
static uint64_t free_pages(MDB_txn *txn)
{
	uint64_t pages = 0, length;
	MDB_cursor *cursor;
	if (mdb_cursor_open(txn, 0, &cursor) != 0) {
		return 0;
	}
	MDB_val key, value;
	while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
		memcpy(&length, value.mv_data, sizeof(length));
		pages += length;
	}
	mdb_cursor_close(cursor);
	return pages;
}

store_room_t store_room(const store_t *store)
{
	store_room_t room = { .max = store->map_len };
	MDB_txn *txn;
	if (store_begin(store, MDB_RDONLY, &txn) != 0) {
		return room;
	}
	MDB_envinfo info;
	if (mdb_env_info(store->env, &info) == 0) {
		room.used = (info.me_last_pgno + 1 - free_pages(txn)) * store->page_len;
	}
	mdb_txn_abort(txn);
	return room;
}

bool store_source_is(const store_source_t *source, const struct stat *now)
{
	return (uint64_t)now->st_size == source->size && (uint64_t)now->st_ino == source->inode &&
	       now->st_mtim.tv_sec == source->mtime_s && (uint32_t)now->st_mtim.tv_nsec == source->mtime_ns;
}
