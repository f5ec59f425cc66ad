/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/backup_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/sys/clock.h"

enum { DIR_MODE = 0770, LOCK_MODE = 0660, WALK_FDS = 16 };

static const char label_name[] = "knot_backup.label", lock_name[] = "lock.knot_backup";

bool backup_dir_path(const backup_dir_t *dir, const char *name, char ret_path[static PATH_MAX])
{
	return snprintf(ret_path, PATH_MAX, "%s/%s", dir->path, name) < PATH_MAX;
}

/* ---- Where it must not be ---- */

static bool backup_is_same(const struct stat *one, const char *path)
{
	struct stat other;
	return path != NULL && stat(path, &other) == 0 && one->st_dev == other.st_dev && one->st_ino == other.st_ino;
}

static bool backup_is_parent(const struct stat *folder, const char *path)
{
	char parent[PATH_MAX];
	if (path == NULL || snprintf(parent, sizeof(parent), "%s/..", path) >= (int)sizeof(parent)) {
		return false;
	}
	return backup_is_same(folder, parent);
}

bool backup_dir_is_storage(const char *path, const conf_database_t *conf)
{
	struct stat folder;
	if (stat(path, &folder) != 0) {
		return false;
	}
	const char *const bases[] = { conf->journal_db, conf->kasp_db, conf->timer_db, conf->catalog_db,
		conf->image_db };
	bool is_storage = backup_is_same(&folder, conf->storage);
	for (size_t i = 0; i < KNOT_LEN(bases); i++) {
		is_storage |= backup_is_same(&folder, bases[i]) || backup_is_parent(&folder, bases[i]);
	}
	return is_storage;
}

/* ---- Making one ---- */

static bool backup_has(const backup_dir_t *dir, const char *name)
{
	char path[PATH_MAX];
	return backup_dir_path(dir, name, path) && access(path, F_OK) == 0;
}

/* True if no process makes a backup here now. */
static bool backup_is_left_over(const backup_dir_t *dir)
{
	char path[PATH_MAX];
	int fd = backup_dir_path(dir, lock_name, path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	bool is_free = fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0;
	if (fd >= 0) {
		close(fd);
	}
	return is_free;
}

static int backup_remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
	(void)info, (void)kind, (void)at;
	return remove(path);
}

/* Only what a backup has, whatever else the folder has. The label goes first. */
static knot_err_t backup_remove_old(const backup_dir_t *dir)
{
	static const char *const names[] = { label_name, "zonefiles", "journal", "timers", "catalog", "keys", "quic",
		lock_name };
	for (size_t i = 0; i < KNOT_LEN(names); i++) {
		char path[PATH_MAX];
		if (!backup_dir_path(dir, names[i], path)) {
			return KNOT_ESPACE;
		}
		if (nftw(path, backup_remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT) {
			return knot_err_of_errno(errno);
		}
	}
	return KNOT_OK;
}

static knot_err_t backup_make_lock(backup_dir_t *dir)
{
	char path[PATH_MAX];
	if (!backup_dir_path(dir, lock_name, path)) {
		return KNOT_ESPACE;
	}
	dir->lock_fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, LOCK_MODE);
	if (dir->lock_fd < 0) {
		return errno == EEXIST ? KNOT_ECTLBUSY : knot_err_of_errno(errno);
	}
	return flock(dir->lock_fd, LOCK_EX | LOCK_NB) == 0 ? KNOT_OK : KNOT_ECTLBUSY;
}

knot_err_t backup_dir_begin(backup_dir_t *dir, bool is_forced)
{
	struct stat info;
	dir->lock_fd = -1;
	dir->format = BACKUP_FORMAT;
	dir->started_s = sys_clock_wall();
	if (mkdir(dir->path, DIR_MODE) != 0 && errno != EEXIST) {
		return knot_err_of_errno(errno);
	}
	if (stat(dir->path, &info) != 0) {
		return knot_err_of_errno(errno);
	}
	if (!S_ISDIR(info.st_mode)) {
		return KNOT_EEXIST;
	}
	if (!backup_is_left_over(dir)) {
		return KNOT_ECTLBUSY;
	}
	if (!is_forced && backup_has(dir, label_name)) {
		return KNOT_EEXIST;
	}
	if (!is_forced && backup_has(dir, lock_name)) {
		return KNOT_ECTLBUSY;
	}
	knot_err_t err = is_forced ? backup_remove_old(dir) : KNOT_OK;
	return err == KNOT_OK ? backup_make_lock(dir) : err;
}

void backup_dir_leave(backup_dir_t *dir)
{
	if (dir->lock_fd >= 0) {
		close(dir->lock_fd);
		dir->lock_fd = -1;
	}
}

knot_err_t backup_dir_end(backup_dir_t *dir, size_t zone_count)
{
	char label[PATH_MAX], lock[PATH_MAX];
	if (!backup_dir_path(dir, label_name, label) || !backup_dir_path(dir, lock_name, lock)) {
		return KNOT_ESPACE;
	}
	/* All parts first: then a label means that they are there, also after a power cut. */
	knot_err_t err = syncfs(dir->lock_fd) == 0 ? KNOT_OK : knot_err_of_errno(errno);
	err = err == KNOT_OK ? backup_label_write(dir, label, zone_count) : err;
	if (err == KNOT_OK && unlink(lock) != 0) {
		err = knot_err_of_errno(errno);
	}
	backup_dir_leave(dir);
	return err;
}

/* ---- Restoring one ---- */

knot_err_t backup_dir_open(backup_dir_t *dir, unsigned wanted, bool is_forced)
{
	enum { DATABASES = BACKUP_JOURNAL | BACKUP_TIMERS | BACKUP_KASPDB | BACKUP_KEYSONLY | BACKUP_CATALOG };
	struct stat info;
	char path[PATH_MAX];
	backup_label_t label;
	dir->lock_fd = -1;
	if (stat(dir->path, &info) != 0) {
		return knot_err_of_errno(errno);
	}
	if (!S_ISDIR(info.st_mode)) {
		return -ENOTDIR;
	}
	if (backup_has(dir, lock_name)) {
		return KNOT_ECTLBUSY;
	}
	if (!backup_dir_path(dir, label_name, path)) {
		return KNOT_ESPACE;
	}
	knot_err_t err = backup_label_read(path, &label);
	if (is_forced && (err == KNOT_ENOENT || err == KNOT_EMALF)) {
		dir->format = BACKUP_FORMAT_OLD;
		dir->parts = (1u << BACKUP_PARTS) - 1;
		return KNOT_OK;
	}
	if (err != KNOT_OK) {
		return err == KNOT_ENOENT ? KNOT_EMALF : err;
	}
	dir->format = label.format;
	dir->parts = label.parts;
	return label.format > BACKUP_FORMAT                                  ? KNOT_ENOTSUP
	       : label.is_foreign && (wanted & label.parts & DATABASES) != 0 ? KNOT_ECPUCOMPAT
									     : KNOT_OK;
}
