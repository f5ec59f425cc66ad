/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/lmdb_env.h"

#include "src/sys/clock.h"
#include "src/sys/lmdb_check.h"
#include "src/sys/lmdb_file.h"

#include <assert.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
	READERS_MAX = 256, /* read transactions at once, of all processes */
	DIR_MODE = 0770,
	FILE_MODE = 0660,
	MAP_UNIT = 64 * 1024, /* a multiple of any machine's pages */
	LOCK_FILE_LEN = READERS_MAX * 64 +
			4096, /* at least as long as LMDB makes lock.mdb: a line of cache per reader */
	LOCK_TRIES = 20,
	LOCK_WAIT_MS = 25,
	FULL_BYTES = 32 << 20, /* with less room on the disk, a short write is because of that */
	DAMAGED_MAX = 100,     /* files that were set aside */
};

static const char data_name[] = "data.mdb", lock_name[] = "lock.mdb";

void sys_lmdb_say(sys_lmdb_reason_t *ret_reason, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(ret_reason->text, sizeof(ret_reason->text), format, args);
	va_end(args);
}

/* LMDB returns EIO for a short write, the first sign of a full disk. */
static bool lmdb_is_disk_full(const sys_lmdb_t *lmdb)
{
	struct statvfs info;
	return fstatvfs(lmdb->dir_fd, &info) == 0 && (uint64_t)info.f_bavail * info.f_frsize < FULL_BYTES;
}

/** What an error of LMDB or the system means, and what to do about it. */
typedef struct {
	int code;
	knot_err_t err;
	const char *advice; /* behind the error's own text; NULL: nothing; %s: the configuration's item of the folder */
} failure_t;

#define ADVICE_ROOM  "free some space or move '%s'"
#define ADVICE_OWNER "check owner and mode of the folder and its files"

static const failure_t failures[] = {
	{ ENOSPC, KNOT_ESPACE, ADVICE_ROOM },
	{ EDQUOT, KNOT_ESPACE, ADVICE_ROOM },
	{ EFBIG, KNOT_ESPACE, ADVICE_ROOM },
	{ EIO, KNOT_EFILE, "look for a quota, and for faults of the disk in the kernel's log" },
	{ ENOMEM, KNOT_ENOMEM, NULL },
	{ EACCES, KNOT_EACCES, ADVICE_OWNER },
	{ EPERM, KNOT_EACCES, ADVICE_OWNER },
	{ EROFS, KNOT_EACCES, ADVICE_OWNER },
	{ MDB_READERS_FULL, KNOT_EBUSY, NULL },
	{ MDB_PANIC, KNOT_EFILE, "writing has failed before, restart after checking the disk" },
};

static failure_t lmdb_failure_of(int code)
{
	for (size_t i = 0; i < KNOT_LEN(failures); i++) {
		if (failures[i].code == code) {
			return failures[i];
		}
	}
	return (failure_t){ code, code > 0 ? KNOT_EFILE : KNOT_EMALF, NULL };
}

knot_err_t sys_lmdb_fail(const sys_lmdb_t *lmdb, int code, const char *what, sys_lmdb_reason_t *ret_reason)
{
	assert(code != 0);
	const char *item = lmdb->options.item;
	if (code == MDB_MAP_FULL) {
		sys_lmdb_say(ret_reason, "%s: the database has its full size of %llu MiB, increase '%s-max-size'", what,
				(unsigned long long)(lmdb->map_len >> 20), item);
		return KNOT_ESPACE;
	}
	failure_t failure = lmdb_failure_of(code == EIO && lmdb_is_disk_full(lmdb) ? ENOSPC : code);
	sys_lmdb_say(ret_reason, "%s: %s%s", what, mdb_strerror(failure.code), failure.advice != NULL ? ", " : "");
	size_t len = strlen(ret_reason->text);
	if (failure.advice != NULL && strcmp(failure.advice, ADVICE_ROOM) == 0) {
		snprintf(ret_reason->text + len, sizeof(ret_reason->text) - len, ADVICE_ROOM, item);
	} else if (failure.advice != NULL) {
		snprintf(ret_reason->text + len, sizeof(ret_reason->text) - len, "%s", failure.advice);
	}
	return failure.err;
}

/* ---- The folder ---- */

/* A process that only reads holds the lock while it checks the file, so wait for it for a moment. */
static knot_err_t lmdb_lock_folder(const sys_lmdb_t *lmdb, sys_lmdb_reason_t *ret_reason)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(lmdb->dir_fd, LOCK_EX | LOCK_NB) == 0) {
			return KNOT_OK;
		}
		if (errno != EWOULDBLOCK) {
			return sys_lmdb_fail(lmdb, errno, "locking the folder", ret_reason);
		}
		sys_clock_sleep_ns(LOCK_WAIT_MS * UINT64_C(1000000));
	}
	sys_lmdb_say(ret_reason, "another process writes to it; does a server run with the same '%s'?",
			lmdb->options.item);
	return KNOT_EBUSY;
}

knot_err_t sys_lmdb_lock(sys_lmdb_t *lmdb, const sys_lmdb_options_t *options, sys_lmdb_reason_t *ret_reason)
{
	assert(options->path != NULL && options->item != NULL && !lmdb->is_locked && lmdb->env == NULL);
	lmdb->options = *options;
	lmdb->dir_fd = -1;
	if (!options->read_only && mkdir(options->path, DIR_MODE) != 0 && errno != EEXIST) {
		return sys_lmdb_fail(lmdb, errno, "making the folder", ret_reason);
	}
	lmdb->dir_fd = open(options->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lmdb->dir_fd < 0) {
		bool is_missing = errno == ENOENT;
		knot_err_t err = sys_lmdb_fail(lmdb, errno, "opening the folder", ret_reason);
		return is_missing ? KNOT_ENOENT : err;
	}
	lmdb->is_locked = true;
	return options->read_only ? KNOT_OK : lmdb_lock_folder(lmdb, ret_reason);
}

/* ---- The file ---- */

/* LMDB trusts its pages, so they are checked before it sees them. While another process writes, they change; it has
 * checked them. */
static knot_err_t lmdb_check_data(sys_lmdb_t *lmdb, sys_lmdb_reason_t *ret_reason)
{
	bool read_only = lmdb->options.read_only;
	if (read_only && flock(lmdb->dir_fd, LOCK_SH | LOCK_NB) != 0) {
		return errno == EWOULDBLOCK ? KNOT_OK : sys_lmdb_fail(lmdb, errno, "locking the folder", ret_reason);
	}
	knot_err_t err = KNOT_OK;
	struct stat info;
	/* Opening a pipe would wait for its other end. */
	int fd = openat(lmdb->dir_fd, data_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))) {
		sys_lmdb_say(ret_reason, "it is no regular file");
		err = KNOT_EMALF;
		close(fd);
	} else if (fd >= 0) {
		sys_lmdb_check_t check;
		const char *what = "";
		switch (lmdb->options.depth) {
		case SYS_LMDB_CHECK_PAGES: err = sys_lmdb_check(fd, &check, &what); break;
		case SYS_LMDB_CHECK_HEADS: err = sys_lmdb_check_heads(fd, &check, &what); break;
		case SYS_LMDB_CHECK_TOUCHED: err = sys_lmdb_guard_begin(fd, &lmdb->guard, &what); break;
		}
		sys_lmdb_say(ret_reason, "%s", what);
		close(fd);
	} else {
		/* If LMDB is opened to write, it makes a file. */
		bool is_missing = errno == ENOENT;
		err = sys_lmdb_fail(lmdb, errno, "opening the database", ret_reason);
		err = !is_missing ? err : read_only ? KNOT_ENOENT : KNOT_OK;
	}
	if (read_only) {
		/* LMDB would make a table of readers, which the server's user might not be allowed to write to. */
		lmdb->is_alone = faccessat(lmdb->dir_fd, lock_name, F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
		(void)(lmdb->is_alone || flock(lmdb->dir_fd, LOCK_UN));
	}
	/* An empty file: cut off, or made by a process that ended before it wrote. Which of the two isn't known, so the
	 * reason reports it. */
	return err == KNOT_ENOENT && !read_only ? KNOT_EMALF : err;
}

/*
 * The folder's owner could have put a symbolic link there, so a process of root works in it with the owner's rights.
 * LMDB writes to lock.mdb even if it only reads the data.
 */
static int lmdb_open_as_owner(const sys_lmdb_t *lmdb, unsigned flags)
{
	struct stat folder;
	const sys_lmdb_options_t *options = &lmdb->options;
	if (!options->read_only || geteuid() != 0 || fstat(lmdb->dir_fd, &folder) != 0 || folder.st_uid == 0) {
		return mdb_env_open(lmdb->env, options->path, flags, FILE_MODE);
	}
	(void)setfsgid(folder.st_gid);
	(void)setfsuid(folder.st_uid);
	int code = mdb_env_open(lmdb->env, options->path, flags, FILE_MODE);
	(void)setfsuid(0);
	(void)setfsgid(getegid());
	return code;
}

/*
 * LMDB maps lock.mdb and writes to the map. On a full disk the file would be a hole, and the first write to it SIGBUS.
 * Blocks behind the file's end stay reserved when LMDB lengthens the file. A file system that can't reserve blocks goes
 * without.
 */
static int lmdb_reserve_lock_file(const sys_lmdb_t *lmdb)
{
	int fd = openat(lmdb->dir_fd, lock_name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
	if (fd < 0) {
		return errno;
	}
	int code = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, LOCK_FILE_LEN) == 0 ? 0 : errno;
	(void)close(fd);
	return code == EOPNOTSUPP || code == ENOSYS || code == EINTR ? 0 : code;
}

/* The handle of the unnamed database becomes the environment's with the commit. */
static int lmdb_open_dbi(sys_lmdb_t *lmdb)
{
	MDB_txn *txn;
	int code = mdb_txn_begin(lmdb->env, NULL, MDB_RDONLY, &txn);
	if (code != 0) {
		return code;
	}
	code = mdb_dbi_open(txn, NULL, 0, &lmdb->dbi);
	if (code != 0) {
		mdb_txn_abort(txn);
		return code;
	}
	return mdb_txn_commit(txn);
}

static void lmdb_note_length(sys_lmdb_t *lmdb)
{
	struct stat info;
	if (fstat(lmdb->fd, &info) == 0) {
		atomic_store_explicit(&lmdb->file_len, (uint64_t)info.st_size, memory_order_release);
	}
}

static int lmdb_open_env(sys_lmdb_t *lmdb)
{
	const sys_lmdb_options_t *options = &lmdb->options;
	int code = mdb_env_create(&lmdb->env);
	if (code == 0) {
		code = mdb_env_set_maxreaders(lmdb->env, READERS_MAX);
	}
	if (code == 0 && !options->read_only) {
		code = mdb_env_set_mapsize(lmdb->env, options->size_max / MAP_UNIT * MAP_UNIT);
	}
	if (code == 0) {
		code = lmdb_open_as_owner(lmdb, MDB_NOTLS | options->flags | (options->read_only ? MDB_RDONLY : 0) |
								(lmdb->is_alone ? MDB_NOLOCK : 0));
	}
	MDB_envinfo info;
	MDB_stat stat;
	if (code == 0) {
		code = mdb_env_info(lmdb->env, &info);
	}
	if (code == 0) {
		code = mdb_env_stat(lmdb->env, &stat);
	}
	if (code == 0) {
		code = mdb_env_get_fd(lmdb->env, &lmdb->fd);
	}
	if (code == 0) {
		code = lmdb_open_dbi(lmdb);
	}
	if (code == 0) {
		lmdb->map_len = info.me_mapsize;
		lmdb->page_len = stat.ms_psize;
		lmdb_note_length(lmdb);
	}
	return code;
}

static void lmdb_close_env(sys_lmdb_t *lmdb)
{
	if (lmdb->env != NULL) {
		mdb_env_close(lmdb->env);
		lmdb->env = NULL;
	}
	sys_lmdb_guard_end(lmdb->guard);
	lmdb->guard = NULL;
}

knot_err_t sys_lmdb_open(sys_lmdb_t *lmdb, sys_lmdb_reason_t *ret_reason)
{
	assert(lmdb->is_locked && lmdb->env == NULL);
	knot_err_t err = lmdb_check_data(lmdb, ret_reason);
	if (err != KNOT_OK) {
		return err;
	}
	int code = lmdb->options.read_only ? 0 : lmdb_reserve_lock_file(lmdb);
	if (code != 0) {
		return sys_lmdb_fail(lmdb, code, "making the table of readers", ret_reason);
	}
	code = lmdb_open_env(lmdb);
	if (code != 0) {
		lmdb_close_env(lmdb);
		return sys_lmdb_fail(lmdb, code, "opening the database", ret_reason);
	}
	if (!lmdb->options.read_only) {
		int dead;
		(void)mdb_reader_check(lmdb->env, &dead);
	}
	ret_reason->text[0] = '\0';
	return KNOT_OK;
}

/* We hold the lock on the folder, so no other process writes and the name stays free. */
static void lmdb_name_damaged(const sys_lmdb_t *lmdb, char name[static 32])
{
	snprintf(name, 32, "%s.damaged", data_name);
	for (unsigned i = 1; i < DAMAGED_MAX && !lmdb->options.is_cache &&
			     faccessat(lmdb->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
			i++) {
		snprintf(name, 32, "%s.damaged.%u", data_name, i);
	}
}

knot_err_t sys_lmdb_set_aside(sys_lmdb_t *lmdb, sys_lmdb_reason_t *reason)
{
	assert(lmdb->is_locked && !lmdb->options.read_only);
	lmdb_close_env(lmdb); /* LMDB must not have the files open */
	char name[32];
	lmdb_name_damaged(lmdb, name);
	if (renameat(lmdb->dir_fd, data_name, lmdb->dir_fd, name) != 0 ||
			(unlinkat(lmdb->dir_fd, lock_name, 0) != 0 && errno != ENOENT)) {
		return sys_lmdb_fail(lmdb, errno, "setting aside the old database", reason);
	}
	char why[SYS_LMDB_REASON_MAX];
	memcpy(why, reason->text, sizeof(why));
	sys_lmdb_say(reason, "%.160s; it was renamed to %s, a new one is made", why, name);
	return KNOT_OK;
}

void sys_lmdb_close(sys_lmdb_t *lmdb)
{
	lmdb_close_env(lmdb);
	if (lmdb->is_locked) {
		close(lmdb->dir_fd);
		lmdb->is_locked = false;
	}
}

/* ---- Transactions ---- */

/* Compare with the noted length: meanwhile the file may have grown. */
static bool lmdb_is_whole(const sys_lmdb_t *lmdb)
{
	uint64_t noted = atomic_load_explicit(&lmdb->file_len, memory_order_acquire);
	struct stat info;
	return fstat(lmdb->fd, &info) == 0 && (uint64_t)info.st_size >= noted;
}

int sys_lmdb_begin(const sys_lmdb_t *lmdb, unsigned flags, MDB_txn **ret_txn)
{
	assert(lmdb->env != NULL && (!lmdb->options.read_only || (flags & MDB_RDONLY) != 0));
	return lmdb_is_whole(lmdb) ? mdb_txn_begin(lmdb->env, NULL, flags, ret_txn) : MDB_CORRUPTED;
}

int sys_lmdb_touch(const sys_lmdb_t *lmdb, MDB_txn *txn, bool writes, knot_bytes_t first, knot_bytes_t last)
{
	if (lmdb->guard == NULL) {
		return 0;
	}
	/* A writing transaction begins with what the one before has made. */
	knot_err_t err = sys_lmdb_guard_check(lmdb->guard, lmdb->fd, mdb_txn_id(txn) - writes, first, last);
	if (err == KNOT_OK) {
		return 0;
	}
	if (err == KNOT_ENOMEM || (err == KNOT_EAGAIN && !writes)) {
		return err == KNOT_ENOMEM ? ENOMEM : EAGAIN;
	}
	return err == KNOT_EFILE ? EIO : MDB_CORRUPTED;
}

int sys_lmdb_commit(sys_lmdb_t *lmdb, MDB_txn *take_txn)
{
	assert(!lmdb->options.read_only);
	uint64_t number = mdb_txn_id(take_txn);
	int code = mdb_txn_commit(take_txn);
	lmdb->failed_txn = code == 0 ? 0 : number;
	lmdb_note_length(lmdb);
	return code;
}

int sys_lmdb_put_back(const sys_lmdb_t *lmdb)
{
	MDB_envinfo info;
	assert(lmdb->env != NULL && !lmdb->options.read_only);
	if (!lmdb_is_whole(lmdb)) {
		return 0; /* it was truncated: the map can't be read, and opening it says what is wrong */
	}
	int code = mdb_env_info(lmdb->env, &info);
	if (code != 0) {
		return code;
	}
	uint64_t next = lmdb->failed_txn != 0 ? lmdb->failed_txn : info.me_last_txnid + 1;
	return lmdb_file_put_back_meta(lmdb->fd, lmdb->page_len, next) ? 0 : errno;
}

int sys_lmdb_settle(sys_lmdb_t *lmdb)
{
	int code = sys_lmdb_put_back(lmdb);
	if (code == 0 && (lmdb->options.flags & MDB_NOSYNC) == 0 && fdatasync(lmdb->fd) != 0) {
		code = errno;
	}
	lmdb->failed_txn = code == 0 ? 0 : lmdb->failed_txn;
	return code;
}

/* The values of LMDB's first database are lists of such pages, each begins with its length. */
uint64_t sys_lmdb_free_pages(MDB_txn *txn)
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
