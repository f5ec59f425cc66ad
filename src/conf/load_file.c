/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that a configuration is read from, and those that they include. */
#include "src/conf/load_internal.h"
#include "src/conf/hint.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	INCLUDE_DEPTH_MAX = 6, /* the main file has depth 0 */
	FILE_MIB_MAX = 1024,   /* some million zones; what is larger is another file that a pattern has met */
};

/* ---- Files ---- */

static knot_err_t load_read_whole(int fd, size_t size, char **ret_text, size_t *ret_len)
{
	char *text = malloc(size + 1);
	if (text == NULL) {
		return KNOT_ENOMEM;
	}
	size_t len = 0;
	while (len < size) {
		ssize_t count = read(fd, text + len, size - len);
		if (count < 0 && errno == EINTR) {
			continue;
		}
		if (count < 0) {
			free(text);
			return knot_err_of_errno(errno);
		}
		if (count == 0) {
			break;
		}
		len += (size_t)count;
	}
	*ret_text = text;
	*ret_len = len;
	return KNOT_OK;
}

/** ret_reason: in words, on failure. */
static knot_err_t load_read_file(const char *path, char **ret_text, size_t *ret_len, const char **ret_reason)
{
	/* Not blocking: a pipe in place of the file must not stop us. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat info;
	knot_err_t err = fd >= 0 && fstat(fd, &info) == 0 ? KNOT_OK : knot_err_of_errno(errno);
	if (err == KNOT_OK && !S_ISREG(info.st_mode)) {
		err = KNOT_EFILE;
	}
	bool is_large = err == KNOT_OK && info.st_size > (off_t)FILE_MIB_MAX << 20;
	if (is_large) {
		err = KNOT_ESPACE;
	}
	if (err == KNOT_OK) {
		err = load_read_whole(fd, (size_t)info.st_size, ret_text, ret_len);
	}
	if (fd >= 0) {
		(void)close(fd);
	}
	_Static_assert(FILE_MIB_MAX == 1024, "as the reason says");
	*ret_reason = is_large ? "larger than 1024 MiB" : knot_strerror(err);
	return err;
}

knot_err_t load_file(loader_t *loader, const char *path, const char *hint)
{
	char *text = NULL;
	size_t len = 0;
	const char *reason;
	knot_err_t err = load_read_file(path, &text, &len, &reason);
	loader->place.file = path;
	if (err != KNOT_OK) {
		loader->place.line = 0;
		return load_tell_text(
				loader, CONF_ERROR, err, hint, "config, failed to load file '%s' (%s)", path, reason);
	}
	err = load_text(loader, (knot_str_t){ text, len });
	free(text);
	return err;
}

/** glob() gives its error function no context. */
static _Thread_local const loader_t *glob_loader;

static int load_warn_of_access(const char *path, int errnum)
{
	(void)load_tell_text(glob_loader, CONF_WARNING, KNOT_OK, NULL, "config, failed to access '%s' (%s)", path,
			knot_strerror(knot_err_of_errno(errnum)));
	return 0;
}

/** The pattern, made absolute with the directory of the file that includes. */
static knot_err_t load_include_pattern(const loader_t *loader, char ret_pattern[static 2 * PATH_MAX])
{
	knot_str_t value = loader->place.value;
	char dir[PATH_MAX] = "";
	if (value.len >= PATH_MAX) {
		return KNOT_ESPACE;
	}
	if (value.data[0] != '/') {
		char *slash;
		if (loader->place.file == NULL || realpath(loader->place.file, dir) == NULL ||
				(slash = strrchr(dir, '/')) == NULL) {
			(void)snprintf(dir, sizeof(dir), "./"); /* text that is not from a file */
		} else {
			slash[1] = '\0';
		}
	}
	(void)snprintf(ret_pattern, 2 * PATH_MAX, "%s%.*s", dir, (int)value.len, value.data);
	return KNOT_OK;
}

static knot_err_t load_include_match(loader_t *loader, const char *path)
{
	struct stat info;
	if (stat(path, &info) != 0) {
		/* A link that leads nowhere, or a file that went since the pattern met it. */
		(void)load_tell_text(loader, CONF_WARNING, KNOT_OK, NULL, "config, failed to get file status for '%s'",
				path);
		return KNOT_OK;
	}
	if (S_ISDIR(info.st_mode)) {
		return KNOT_OK;
	}
	if (!S_ISREG(info.st_mode)) {
		(void)load_tell_text(loader, CONF_WARNING, KNOT_OK, NULL, "config, invalid include file '%s'", path);
		return KNOT_OK;
	}
	place_t place = loader->place;
	size_t section = loader->section;
	char hint[CONF_HINT_MAX];
	(void)snprintf(hint, sizeof(hint), "included in line %zu of '%.300s'", place.line,
			place.file != NULL ? place.file : "the transaction");
	loader->place = (place_t){ .depth = place.depth + 1 };
	knot_err_t err = load_file(loader, path, hint);
	err = err == KNOT_OK ? KNOT_OK : load_recover(loader, err);
	loader->place = place;
	loader->section = section;
	return err;
}

/** Every level down to the file that includes itself stands open: its faults would only repeat themselves. */
static knot_err_t load_fail_loop(loader_t *loader)
{
	loader->is_fatal = true;
	(void)load_tell_text(loader, CONF_ERROR, KNOT_EPARSEFAIL, NULL, "config, %s", knot_strerror(KNOT_ELOOP));
	return load_fail_code(loader, KNOT_EPARSEFAIL);
}

knot_err_t load_include(loader_t *loader)
{
	char pattern[2 * PATH_MAX];
	if (loader->place.depth >= INCLUDE_DEPTH_MAX) {
		return load_fail_loop(loader);
	}
	knot_err_t err = load_include_pattern(loader, pattern);
	if (err != KNOT_OK) {
		return load_fail_code(loader, err);
	}
	glob_t matches;
	glob_loader = loader;
	int status = glob(pattern, 0, load_warn_of_access, &matches);
	if (status == GLOB_NOMATCH) {
		bool may_be_empty = memchr(loader->place.value.data, '*', loader->place.value.len) != NULL;
		return may_be_empty ? KNOT_OK
				    : load_fail_item(loader, KNOT_EFILE, knot_strerror(KNOT_EFILE), "no such file");
	}
	if (status != 0) {
		return load_fail_code(loader, status == GLOB_NOSPACE ? KNOT_ENOMEM : KNOT_EFILE);
	}
	for (size_t i = 0; i < matches.gl_pathc && err == KNOT_OK; i++) {
		err = load_include_match(loader, matches.gl_pathv[i]);
	}
	globfree(&matches);
	return err;
}
