/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/flush.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/sys/clock.h"
#include "src/sys/file.h"
#include "src/zone/dump.h"

/* Make the folders that a path leads through. */
static knot_err_t flush_make_folders(const char *path)
{
	char folder[PATH_MAX];
	snprintf(folder, sizeof(folder), "%s", path);
	for (char *at = strchr(folder + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(folder, 0770) != 0 && errno != EEXIST) {
			return knot_err_of_errno(errno);
		}
		*at = '/';
	}
	return KNOT_OK;
}

/* Owner and mode of the file that is replaced. Attributes that the process may not set stay those of a new file. */
static void flush_copy_owner(int fd, const struct stat *old)
{
	struct stat new;
	if (fstat(fd, &new) != 0) {
		return;
	}
	if (new.st_uid != old->st_uid && fchown(fd, old->st_uid, (gid_t)-1) != 0) {
		errno = 0;
	}
	if (new.st_gid != old->st_gid && fchown(fd, (uid_t)-1, old->st_gid) != 0) {
		errno = 0;
	}
	(void)fchmod(fd, old->st_mode & 0777);
}

/* The umask can't be read without setting it, which other threads would notice; /proc tells it. */
static mode_t flush_mode_of(void)
{
	unsigned mask = 0;
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];
	while (status != NULL && fgets(line, sizeof(line), status) != NULL && sscanf(line, "Umask: %o", &mask) != 1) {}
	if (status != NULL) {
		fclose(status);
	}
	return 0660 & ~(mode_t)mask;
}

/** What is written: a version of a zone, or the bytes of a file. */
typedef struct {
	const zone_contents_t *contents; /* NULL: the file */
	const zone_skip_t *skip;
	int from; /* descriptor of the file */
} flush_what_t;

static knot_err_t flush_copy_bytes(int from, int fd)
{
	enum { PART_LEN = 64 * 1024 };
	uint8_t *part = malloc(PART_LEN);
	knot_err_t err = part != NULL ? KNOT_OK : KNOT_ENOMEM;
	ssize_t len = 1;
	while (err == KNOT_OK && len > 0) {
		len = read(from, part, PART_LEN);
		err = len < 0 ? knot_err_of_errno(errno) : sys_file_write(fd, part, (size_t)len);
	}
	free(part);
	return err;
}

static knot_err_t flush_write_new(const flush_what_t *what, int fd, const struct stat *old, unsigned how)
{
	zone_dump_params_t params = { .program = PACKAGE_STRING, .now_s = sys_clock_wall(), .skip = what->skip };
	knot_err_t err = what->contents != NULL ? zone_dump(what->contents, fd, &params)
						: flush_copy_bytes(what->from, fd);
	if (err != KNOT_OK) {
		return err;
	}
	if (old != NULL) {
		flush_copy_owner(fd, old);
	} else {
		(void)fchmod(fd, flush_mode_of());
	}
	return (how & FLUSH_SYNCS_LATER) != 0 || fsync(fd) == 0 ? KNOT_OK : knot_err_of_errno(errno);
}

/* Note the state of the file before it gets its name, while no other process can change it: then any later change is
 * seen. */
static knot_err_t flush_describe(int fd, const char *path, uint64_t settings, sources_t **ret_sources)
{
	struct stat info;
	sources_t *sources = fstat(fd, &info) == 0 ? calloc(1, sizeof(*sources)) : NULL;
	if (sources == NULL) {
		return KNOT_ENOMEM;
	}
	sources->settings = settings;
	sources_add(sources, path, &info);
	knot_err_t err = sources->failed;
	if (err != KNOT_OK) {
		sources_free(sources);
		return err;
	}
	*ret_sources = sources;
	return KNOT_OK;
}

/** Which file is replaced. */
typedef struct {
	const char *path;       /* its name as configured */
	char target[PATH_MAX];  /* where it is */
	const struct stat *old; /* NULL: there is none */
	unsigned how;           /* FLUSH_… */
} flush_place_t;

static bool flush_is_unchanged(const flush_place_t *place)
{
	struct stat now;
	const struct stat *old = place->old;
	bool is_there = stat(place->target, &now) == 0;
	if (old == NULL || !is_there) {
		return old == NULL && !is_there;
	}
	return now.st_ino == old->st_ino && now.st_size == old->st_size && now.st_mtim.tv_sec == old->st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == old->st_mtim.tv_nsec;
}

static knot_err_t flush_rename(const flush_place_t *place, const char *beside)
{
	/* Writing a large zone takes seconds, in which an operator may edit its file. */
	if ((place->how & FLUSH_KEEPS_NEWER) != 0 && !flush_is_unchanged(place)) {
		return KNOT_EAGAIN;
	}
	return rename(beside, place->target) == 0 ? KNOT_OK : knot_err_of_errno(errno);
}

static knot_err_t flush_replace(
		const flush_what_t *what, const flush_place_t *place, uint64_t settings, sources_t **ret_sources)
{
	char beside[PATH_MAX + 8];
	snprintf(beside, sizeof(beside), "%s.XXXXXX", place->target);
	int fd = mkostemp(beside, O_CLOEXEC);
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	sources_t *sources = NULL;
	knot_err_t err = flush_write_new(what, fd, place->old, place->how);
	if (err == KNOT_OK && ret_sources != NULL) {
		err = flush_describe(fd, place->path, settings, &sources);
	}
	if (close(fd) != 0 && err == KNOT_OK) {
		err = knot_err_of_errno(errno);
	}
	err = err == KNOT_OK ? flush_rename(place, beside) : err;
	if (err != KNOT_OK) {
		(void)unlink(beside);
	} else if ((place->how & FLUSH_SYNCS_LATER) == 0) {
		err = sys_file_sync_folder(place->target);
	}
	if (err != KNOT_OK) {
		sources_free(sources);
	} else if (ret_sources != NULL) {
		*ret_sources = sources;
	}
	return err;
}

static knot_err_t flush_write(
		const flush_what_t *what, const char *path, uint64_t settings, unsigned how, sources_t **ret_sources)
{
	struct stat old;
	bool is_there = stat(path, &old) == 0;
	flush_place_t place = { .path = path, .old = is_there ? &old : NULL, .how = how };
	if (is_there && !S_ISREG(old.st_mode)) {
		return KNOT_EFILE;
	}
	if (!is_there || realpath(path, place.target) == NULL) {
		if (is_there || errno != ENOENT) {
			return knot_err_of_errno(errno);
		}
		snprintf(place.target, sizeof(place.target), "%s", path);
		knot_err_t err = flush_make_folders(place.target);
		if (err != KNOT_OK) {
			return err;
		}
	}
	return flush_replace(what, &place, settings, ret_sources);
}

knot_err_t flush_to_file(const zone_contents_t *contents, const zone_skip_t *skip, const char *path, uint64_t settings,
		unsigned how, sources_t **ret_sources)
{
	const flush_what_t what = { .contents = contents, .skip = skip, .from = -1 };
	return flush_write(&what, path, settings, how, ret_sources);
}

knot_err_t flush_copy_file(const char *from, const char *path, unsigned how)
{
	struct stat info;
	flush_what_t what = { .from = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
	if (what.from < 0) {
		return knot_err_of_errno(errno);
	}
	bool is_regular = fstat(what.from, &info) == 0 && S_ISREG(info.st_mode);
	knot_err_t err = is_regular ? flush_write(&what, path, 0, how, NULL) : KNOT_EFILE;
	close(what.from);
	return err;
}
