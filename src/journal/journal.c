/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/journal/internal.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/sys/clock.h"

enum {
	REOPEN_MS = 1000, /* between attempts: a million zones may ask */
	FORMAT = 1,
	BATCH_BYTES = 8 << 20, /* payloads of a transaction, about: LMDB keeps the pages in memory until the commit */
	BATCH_MAX = 1024,      /* operations of a transaction */
};

/* The value of JOURNAL_KEY_FORMAT. */
typedef struct {
	char magic[8];
	uint32_t byte_order;
	uint16_t format;
	uint16_t zero;
} format_t;

static_assert(sizeof(format_t) == 16, "no padding on disk");

static const format_t our_format = { "bowl-jrn", 0x01020304, FORMAT, 0 };
static const uint8_t format_key = JOURNAL_KEY_FORMAT;
/* Knot's journal has its version there. */
static const uint8_t knot_key[] = "\0\0\0\0version";
static const char data_name[] = "data.mdb", knot_name[] = "data.mdb.knot", taken_name[] = "data.mdb.knot.taken";

/* ---- Opening ---- */

/* True if there is a database with data, or if that can't be found out. */
static bool journal_is_there(const journal_t *journal)
{
	struct stat info;
	int dir = open(journal->params.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool is_found = dir >= 0 && fstatat(dir, data_name, &info, AT_SYMLINK_NOFOLLOW) == 0;
	bool is_missing = !is_found && (errno == ENOENT || errno == ENOTDIR);
	if (dir >= 0) {
		close(dir);
	}
	return is_found ? info.st_size > 0 : !is_missing;
}

/* The record of the format is missing. A database of Knot's makes way, any other one is left as it is. */
static knot_err_t journal_judge(const journal_t *journal, MDB_txn *txn, journal_reason_t *ret_reason, bool *ret_is_knot)
{
	MDB_val key = { sizeof(knot_key), (void *)knot_key }, value;
	MDB_stat stat = { 0 };
	int code = sys_lmdb_touch(&journal->lmdb, txn, false, journal_bytes(&key), journal_bytes(&key));
	if (code != 0) {
		return sys_lmdb_fail(&journal->lmdb, code, "opening the database", ret_reason);
	}
	if (mdb_get(txn, journal->lmdb.dbi, &key, &value) == 0) {
		*ret_is_knot = true;
		sys_lmdb_say(ret_reason, "it is a journal of Knot DNS");
		return KNOT_EEXIST;
	}
	if (mdb_stat(txn, journal->lmdb.dbi, &stat) == 0 && stat.ms_entries == 0) {
		sys_lmdb_say(ret_reason, "it is empty");
		return KNOT_ENOENT;
	}
	sys_lmdb_say(ret_reason,
			"it is the database of something else, set 'database.journal-db' to a folder of its own");
	return KNOT_EEXIST;
}

static knot_err_t journal_read_format(journal_t *journal, journal_reason_t *ret_reason, bool *ret_is_knot)
{
	MDB_txn *txn;
	int code = sys_lmdb_begin(&journal->lmdb, MDB_RDONLY, &txn);
	if (code != 0) {
		return sys_lmdb_fail(&journal->lmdb, code, "opening the database", ret_reason);
	}
	MDB_val key = { sizeof(format_key), (void *)&format_key }, value;
	code = sys_lmdb_touch(&journal->lmdb, txn, false, journal_bytes(&key), journal_bytes(&key));
	code = code != 0 ? code : mdb_get(txn, journal->lmdb.dbi, &key, &value);
	knot_err_t err = KNOT_OK;
	if (code == MDB_NOTFOUND) {
		err = journal_judge(journal, txn, ret_reason, ret_is_knot);
	} else if (code != 0) {
		err = sys_lmdb_fail(&journal->lmdb, code, "opening the database", ret_reason);
	} else if (value.mv_size != sizeof(our_format) || memcmp(value.mv_data, &our_format, value.mv_size) != 0) {
		sys_lmdb_say(ret_reason, "it has another format or byte order");
		err = KNOT_ENOTSUP;
	}
	mdb_txn_abort(txn);
	return err;
}

static knot_err_t journal_put_format(journal_t *journal, journal_reason_t *ret_reason)
{
	MDB_txn *txn;
	MDB_val key = { sizeof(format_key), (void *)&format_key }, value = { sizeof(our_format), (void *)&our_format };
	int code = sys_lmdb_begin(&journal->lmdb, 0, &txn);
	if (code == 0) { /* the database is empty: there is nothing to touch */
		code = mdb_put(txn, journal->lmdb.dbi, &key, &value, 0);
		if (code == 0) {
			code = sys_lmdb_commit(&journal->lmdb, txn);
		} else {
			mdb_txn_abort(txn);
		}
	}
	return code == 0 ? KNOT_OK : sys_lmdb_fail(&journal->lmdb, code, "writing to the new database", ret_reason);
}

/* Open the file that is there, or make one. *ret_is_knot: KNOT_EEXIST for Knot's sake. */
static knot_err_t journal_open_file(journal_t *journal, journal_reason_t *ret_reason, bool *ret_is_knot)
{
	*ret_is_knot = false;
	knot_err_t err = sys_lmdb_open(&journal->lmdb, ret_reason);
	if (err == KNOT_OK) {
		err = journal_read_format(journal, ret_reason, ret_is_knot);
	}
	if (err == KNOT_ENOENT && !journal->params.read_only) {
		err = journal_put_format(journal, ret_reason);
		ret_reason->text[0] = err == KNOT_OK ? '\0' : ret_reason->text[0];
	}
	return err;
}

/* The folder is locked: no other process writes. */
static knot_err_t journal_make_way(journal_t *journal, journal_reason_t *reason)
{
	mdb_env_close(journal->lmdb.env);
	journal->lmdb.env = NULL;
	/* A mark is that of an earlier one, which Knot DNS was given back: what is here now wasn't taken over. */
	if ((unlinkat(journal->lmdb.dir_fd, taken_name, 0) != 0 && errno != ENOENT) ||
			renameat(journal->lmdb.dir_fd, data_name, journal->lmdb.dir_fd, knot_name) != 0 ||
			(unlinkat(journal->lmdb.dir_fd, "lock.mdb", 0) != 0 && errno != ENOENT)) {
		return sys_lmdb_fail(&journal->lmdb, errno, "renaming the journal of Knot DNS", reason);
	}
	sys_lmdb_say(reason, "it was a journal of Knot DNS; it was renamed to %s, a new one is made", knot_name);
	return KNOT_OK;
}

static knot_err_t journal_try_env(journal_t *journal, journal_reason_t *ret_reason)
{
	const journal_params_t *params = &journal->params;
	sys_lmdb_options_t options = {
		.path = params->path,
		.item = "database.journal-db",
		.size_max = params->size_max,
		.flags = params->is_asynchronous ? MDB_NOSYNC : 0,
		.depth = SYS_LMDB_CHECK_TOUCHED,
		.read_only = params->read_only,
	};
	bool is_knot = false;
	journal->lmdb = (sys_lmdb_t){ 0 };
	ret_reason->text[0] = '\0';
	knot_err_t err = sys_lmdb_lock(&journal->lmdb, &options, ret_reason);
	if (err == KNOT_OK) {
		err = journal_open_file(journal, ret_reason, &is_knot);
		bool is_bad = err == KNOT_EMALF || err == KNOT_ENOTSUP;
		if (!params->read_only && (is_bad || is_knot)) {
			err = is_bad ? sys_lmdb_set_aside(&journal->lmdb, ret_reason)
				     : journal_make_way(journal, ret_reason);
			journal_reason_t second = { "" };
			if (err == KNOT_OK && (err = journal_open_file(journal, &second, &is_knot)) != KNOT_OK) {
				*ret_reason = second;
			}
		}
	}
	if (err != KNOT_OK) {
		sys_lmdb_close(&journal->lmdb);
	}
	return err;
}

/* Whatever fails, the environment is closed then. With env_lock, or before other threads know the journal. */
static knot_err_t journal_open_env(journal_t *journal, journal_reason_t *ret_reason)
{
	knot_err_t err = journal_try_env(journal, ret_reason);
	journal->closed = err != KNOT_OK && journal_is_there(journal) ? err : KNOT_OK;
	journal->is_settled = false;
	journal->tried_ms = sys_clock_ms();
	journal->said = *ret_reason;
	return err;
}

knot_err_t journal_open(const journal_params_t *params, journal_t **ret_journal, journal_reason_t *ret_reason)
{
	journal_t *journal = calloc(1, sizeof(*journal));
	if (journal == NULL) {
		sys_lmdb_say(ret_reason, "out of memory");
		return KNOT_ENOMEM;
	}
	journal->params = *params;
	journal->params.path = strdup(params->path);
	if (journal->params.path == NULL) {
		free(journal);
		sys_lmdb_say(ret_reason, "out of memory");
		return KNOT_ENOMEM;
	}
	journal->queue_end = &journal->queue;
	sys_mutex_init(&journal->lock);
	/* Reading may take long, and a writer that waits for it must not be starved. */
	sys_rwlock_init_for_writers(&journal->env_lock);
	ret_reason->text[0] = '\0';
	knot_err_t err = KNOT_OK;
	if (params->read_only || journal_is_there(journal)) {
		err = journal_open_env(journal, ret_reason);
	}
	if (err != KNOT_OK && (params->read_only || err == KNOT_ENOMEM)) {
		journal_close(journal);
		return err;
	}
	*ret_journal = journal;
	return KNOT_OK;
}

void journal_close(journal_t *take_journal)
{
	if (take_journal == NULL) {
		return;
	}
	assert(take_journal->queue == NULL && !take_journal->is_led);
	if (take_journal->lmdb.env != NULL && take_journal->params.is_asynchronous) {
		(void)mdb_env_sync(take_journal->lmdb.env, 1);
	}
	if (take_journal->lmdb.env != NULL && take_journal->lmdb.failed_txn != 0) {
		(void)!sys_lmdb_settle(&take_journal->lmdb); /* else the next start may find what was refused */
	}
	sys_lmdb_close(&take_journal->lmdb);
	while (take_journal->deep != NULL) {
		journal_deep_t *first = take_journal->deep;
		take_journal->deep = first->next;
		free(first);
	}
	sys_rwlock_done(&take_journal->env_lock);
	sys_mutex_done(&take_journal->lock);
	free((char *)take_journal->params.path);
	free(take_journal);
}

/* ---- Reading ---- */

/* The lock is given back by journal_end_read(), which no annotation can say. */
int journal_begin_read(journal_t *journal, knot_bytes_t first, knot_bytes_t last, MDB_txn **ret_txn) SYS_UNCHECKED_LOCKS
{
	sys_rwlock_read(&journal->env_lock);
	int code = journal->closed == KNOT_OK ? MDB_NOTFOUND : EBADF;
	for (bool again = journal->lmdb.env != NULL; again;) {
		MDB_txn *txn;
		code = sys_lmdb_begin(&journal->lmdb, MDB_RDONLY, &txn);
		if (code != 0) {
			break;
		}
		code = sys_lmdb_touch(&journal->lmdb, txn, false, first, last);
		if (code != 0) {
			mdb_txn_abort(txn);
		} else {
			*ret_txn = txn;
		}
		again = code == EAGAIN;
	}
	if (code != 0) {
		sys_rwlock_end_read(&journal->env_lock);
	}
	return code;
}

int journal_begin_read_zone(journal_t *journal, knot_name_t zone, MDB_txn **ret_txn)
{
	journal_key_t first, last;
	journal_key(zone, JOURNAL_KEY_META, 0, 0, &first);
	journal_key(zone, JOURNAL_KEY_END, 0, 0, &last);
	return journal_begin_read(journal, (knot_bytes_t){ first.bytes, first.len },
			(knot_bytes_t){ last.bytes, last.len }, ret_txn);
}

void journal_end_read(journal_t *journal, MDB_txn *take_txn) SYS_UNCHECKED_LOCKS
{
	mdb_txn_abort(take_txn);
	sys_rwlock_end_read(&journal->env_lock);
}

knot_err_t journal_read_error(int code)
{
	switch (code) {
	case 0: return KNOT_OK;
	case MDB_NOTFOUND: return KNOT_ENOENT;
	case ENOMEM: return KNOT_ENOMEM;
	case MDB_READERS_FULL: return KNOT_EBUSY;
	case MDB_PANIC: return KNOT_EFILE; /* until a write opens it again */
	default: return code > 0 ? KNOT_EFILE : KNOT_EMALF;
	}
}

/* ---- Writing: the leader ---- */

static void journal_fail_op(const journal_t *journal, journal_op_t *op, int code)
{
	op->err = sys_lmdb_fail(&journal->lmdb, code, "writing to the journal", &op->reason);
	op->may_retry = code == MDB_MAP_FULL || op->err == KNOT_ESPACE;
	op->needs_merge = op->is_deep = false; /* of a transaction that failed */
}

/* True if the file that is open isn't the one in the folder: what is written to it wouldn't be found at a start. */
static bool journal_is_gone(const journal_t *journal)
{
	char path[PATH_MAX];
	struct stat ours, there;
	int len = snprintf(path, sizeof(path), "%s/%s", journal->params.path, data_name);
	if (len < 0 || (size_t)len >= sizeof(path) || fstat(journal->lmdb.fd, &ours) != 0) {
		return false;
	}
	if (stat(path, &there) != 0) {
		return errno == ENOENT || errno == ENOTDIR;
	}
	return there.st_ino != ours.st_ino || there.st_dev != ours.st_dev;
}

/* Take back what a failed commit may have left, before anything else is written. */
static knot_err_t journal_settle(journal_t *journal, journal_reason_t *ret_reason)
{
	int code = journal->is_settled ? 0 : sys_lmdb_settle(&journal->lmdb);
	journal->is_settled = code == 0;
	return code == 0 ? KNOT_OK : sys_lmdb_fail(&journal->lmdb, code, "writing to the journal", ret_reason);
}

/* Open it if it isn't, if LMDB has given up on it, or if its file was removed or replaced. */
static knot_err_t journal_prepare(journal_t *journal, journal_reason_t *ret_reason)
{
	bool is_gone = journal->lmdb.env != NULL && journal_is_gone(journal);
	if (journal->lmdb.env != NULL && !is_gone) {
		int code = journal->is_broken ? sys_lmdb_put_back(&journal->lmdb) : 0;
		if (code != 0) {
			return sys_lmdb_fail(&journal->lmdb, code, "writing to the journal", ret_reason);
		}
		if (!journal->is_broken) {
			return journal_settle(journal, ret_reason);
		}
	}
	sys_rwlock_write(&journal->env_lock);
	if (journal->lmdb.is_locked) {
		sys_lmdb_close(&journal->lmdb);
	}
	knot_err_t err = journal_open_env(journal, ret_reason);
	journal->is_broken = false;
	sys_rwlock_end_write(&journal->env_lock);
	if (err == KNOT_OK && is_gone && ret_reason->text[0] == '\0') {
		sys_lmdb_say(ret_reason, "its file was removed or replaced while it was in use, the one that is there "
					 "now is used");
	}
	if (err == KNOT_OK && ret_reason->text[0] != '\0' && journal->params.on_notice != NULL) {
		journal->params.on_notice(journal->params.path, ret_reason->text);
	}
	return err == KNOT_OK ? journal_settle(journal, ret_reason) : err;
}

static int journal_touch(const journal_t *journal, MDB_txn *txn, knot_name_t zone)
{
	journal_key_t first, last;
	journal_key(zone, JOURNAL_KEY_META, 0, 0, &first);
	journal_key(zone, JOURNAL_KEY_END, 0, 0, &last);
	return sys_lmdb_touch(&journal->lmdb, txn, true, (knot_bytes_t){ first.bytes, first.len },
			(knot_bytes_t){ last.bytes, last.len });
}

/* Run operations in one transaction; 0: it is on disk. */
static int journal_run(journal_t *journal, journal_op_t *first, const journal_op_t *end)
{
	MDB_txn *txn;
	int code = sys_lmdb_begin(&journal->lmdb, 0, &txn);
	if (code != 0) {
		return code;
	}
	for (journal_op_t *op = first; op != end && code == 0; op = op->next) {
		op->err = KNOT_OK;
		op->needs_merge = op->may_retry = op->is_deep = false;
		code = journal_touch(journal, txn, op->zone);
		code = code != 0 ? code : op->run(journal, txn, op);
	}
	if (code != 0) {
		mdb_txn_abort(txn);
		return code;
	}
	code = sys_lmdb_commit(&journal->lmdb, txn);
	journal->is_settled = code == 0;
	return code;
}

/* Codes after which LMDB, or what was checked of the file when it was opened, isn't to be trusted any more. */
static bool journal_is_given_up(int code)
{
	static const int codes[] = { MDB_PANIC, MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_PAGE_FULL, MDB_CURSOR_FULL,
		MDB_BAD_TXN };
	bool is_found = false;
	for (size_t i = 0; i < KNOT_LEN(codes); i++) {
		is_found = is_found || codes[i] == code;
	}
	return is_found;
}

/* LMDB does nothing any more, not even read, when it couldn't write a meta page. */
static bool journal_has_panicked(const journal_t *journal)
{
	MDB_txn *txn;
	int code = sys_lmdb_begin(&journal->lmdb, MDB_RDONLY, &txn);
	if (code == 0) {
		mdb_txn_abort(txn);
	}
	return code == MDB_PANIC;
}

/* Write operations in a transaction. KNOT_OK: *ret_code says what came of it; otherwise nothing can be written. */
static knot_err_t journal_try(journal_t *journal, journal_op_t *first, const journal_op_t *end, int *ret_code,
		journal_reason_t *ret_reason)
{
	knot_err_t err = journal_prepare(journal, ret_reason);
	if (err != KNOT_OK) {
		return err;
	}
	*ret_code = journal_run(journal, first, end);
	journal->is_broken = journal_is_given_up(*ret_code);
	if (!journal->is_settled) {
		/* At once, so that readers can go on; the next write tries again what fails of this. */
		journal_reason_t ignored;
		journal->is_broken = journal->is_broken || journal_has_panicked(journal);
		(void)!journal_prepare(journal, &ignored);
	}
	return KNOT_OK;
}

static void journal_write(journal_t *journal, journal_op_t *first)
{
	journal_reason_t reason = { "" };
	int code;
	knot_err_t err = journal_try(journal, first, NULL, &code, &reason);
	if (err == KNOT_OK && code == 0) {
		return;
	}
	/* One that can't be written must not hinder the others. */
	for (journal_op_t *op = first; op != NULL; op = op->next) {
		if (err == KNOT_OK && first->next != NULL) {
			err = journal_try(journal, op, op->next, &code, &reason);
		}
		if (err != KNOT_OK) {
			op->err = err;
			op->reason = reason;
			op->needs_merge = op->may_retry = op->is_deep = false;
		} else if (code != 0) {
			journal_fail_op(journal, op, code);
		}
	}
}

/* Take operations from the queue for one transaction: at least one. */
static journal_op_t *journal_take_batch(journal_t *journal) SYS_REQUIRES(&journal->lock)
{
	journal_op_t *first = journal->queue, **end = &journal->queue;
	size_t bytes = 0;
	for (unsigned count = 0; *end != NULL && count < BATCH_MAX && bytes < BATCH_BYTES; count++) {
		journal_op_t *op = *end;
		bytes += op->bytes;
		end = &op->next;
	}
	journal->queue = *end;
	if (journal->queue == NULL) {
		journal->queue_end = &journal->queue;
	}
	*end = NULL;
	return first;
}

static void journal_lead(journal_t *journal, const journal_op_t *mine)
{
	sys_mutex_lock(&journal->lock);
	journal_op_t *batch = journal_take_batch(journal);
	sys_mutex_unlock(&journal->lock);
	assert(batch == mine);
	journal_write(journal, batch);
	sys_mutex_lock(&journal->lock);
	journal_op_t *next = journal->queue;
	journal->is_led = next != NULL;
	sys_mutex_unlock(&journal->lock);
	/* The disk first: the next leader can write while the others are woken. */
	if (next != NULL) {
		sem_post(&next->wake);
	}
	for (journal_op_t *op = batch->next; op != NULL; op = next) {
		next = op->next; /* once woken it is gone */
		op->is_done = true;
		sem_post(&op->wake);
	}
}

void journal_submit(journal_t *journal, journal_op_t *op)
{
	assert(!journal->params.read_only);
	op->next = NULL;
	op->is_done = false;
	sem_init(&op->wake, 0, 0);
	sys_mutex_lock(&journal->lock);
	*journal->queue_end = op;
	journal->queue_end = &op->next;
	bool leads = !journal->is_led;
	journal->is_led = true;
	sys_mutex_unlock(&journal->lock);
	if (!leads) {
		while (sem_wait(&op->wake) != 0) {}
		leads = !op->is_done;
	}
	if (leads) {
		journal_lead(journal, op);
	}
	sem_destroy(&op->wake);
}

/* ---- Opening it later ---- */

/* What was said when it was opened, or why it isn't; *ret_is_due: it may be tried again. */
static knot_err_t journal_look(journal_t *journal, journal_reason_t *ret_reason, bool *ret_is_due)
{
	sys_rwlock_read(&journal->env_lock);
	knot_err_t err = journal->closed;
	*ret_reason = journal->said;
	*ret_is_due = sys_clock_ms() >= journal->tried_ms + REOPEN_MS;
	sys_rwlock_end_read(&journal->env_lock);
	return err;
}

/* Nothing: a write opens the environment. */
static int op_nothing(journal_t *journal, MDB_txn *txn, journal_op_t *op)
{
	(void)journal, (void)txn, (void)op;
	return 0;
}

knot_err_t journal_reopen(journal_t *journal, bool *ret_was_closed, journal_reason_t *ret_reason)
{
	static const uint8_t root[] = { 0 };
	bool is_due;
	knot_err_t err = journal_look(journal, ret_reason, &is_due);
	*ret_was_closed = err != KNOT_OK;
	if (err == KNOT_OK || !is_due) {
		return err;
	}
	journal_op_t op = { .run = op_nothing, .zone = knot_name_of(root) };
	journal_submit(journal, &op);
	return journal_look(journal, ret_reason, &is_due);
}
