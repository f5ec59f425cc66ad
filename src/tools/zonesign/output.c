/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/zonesign/output.h"

#include "src/sys/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NEW_FILE_MODE = 0640 };

/* Owner and mode of the file that is replaced, as far as this user may set them. */
static void output_copy_owner(int fd, const char *path)
{
	struct stat old;
	if (stat(path, &old) != 0) {
		(void)fchmod(fd, NEW_FILE_MODE);
		return;
	}
	if (fchown(fd, old.st_uid, old.st_gid) != 0) {
		errno = 0;
	}
	(void)fchmod(fd, old.st_mode & 0777);
}

/* The folder of the file: "." of a name alone. */
static void output_folder(const char *path, char ret_folder[static PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	int len = slash == NULL ? 0 : slash == path ? 1 : (int)(slash - path);
	snprintf(ret_folder, PATH_MAX, "%.*s", len > 0 ? len : 1, len > 0 ? path : ".");
}

knot_err_t output_begin(output_t *output, const char *path, const zone_dump_params_t *params, uint64_t size_max)
{
	char folder[PATH_MAX];
	*output = (output_t){ .size_max = size_max };
	bool fits = snprintf(output->path, sizeof(output->path), "%s", path) < (int)sizeof(output->path) &&
		    snprintf(output->temporary, sizeof(output->temporary), "%s.XXXXXX", path) <
				    (int)sizeof(output->temporary);
	if (!fits) {
		return KNOT_ESPACE;
	}
	output->fd = mkstemp(output->temporary);
	if (output->fd < 0) {
		return knot_err_of_errno(errno);
	}
	output_copy_owner(output->fd, path);
	output_folder(path, folder);
	knot_err_t err = zone_dump_parts_begin(output->fd, folder, params, &output->parts);
	if (err != KNOT_OK) {
		(void)close(output->fd);
		(void)unlink(output->temporary);
	}
	return err;
}

static knot_err_t output_put(void *ctx, const zone_rr_t *rr)
{
	enum { RR_FIXED_LEN = 10 }; /* type, class, TTL, RDLENGTH */
	output_t *output = ctx;
	output->size += rr->owner.len + RR_FIXED_LEN + rr->rdata.len;
	bool is_too_large = output->size_max != 0 && output->size > output->size_max;
	output->err = is_too_large ? KNOT_EZONESIZE : zone_dump_parts_put(output->parts, rr);
	return output->err;
}

sign_sink_t output_sink(output_t *output)
{
	return (sign_sink_t){ output_put, output };
}

static knot_err_t output_finish(output_t *output)
{
	knot_err_t err = zone_dump_parts_end(output->parts);
	err = err == KNOT_OK && fsync(output->fd) != 0 ? knot_err_of_errno(errno) : err;
	zone_dump_parts_free(output->parts);
	output->parts = NULL;
	err = close(output->fd) != 0 && err == KNOT_OK ? knot_err_of_errno(errno) : err;
	return err == KNOT_OK && rename(output->temporary, output->path) != 0 ? knot_err_of_errno(errno) : err;
}

knot_err_t output_end(output_t *output)
{
	knot_err_t err = output_finish(output);
	if (err != KNOT_OK) {
		(void)unlink(output->temporary);
		return err;
	}
	return sys_file_sync_folder(output->path);
}

void output_done(output_t *output)
{
	if (output->parts != NULL) {
		zone_dump_parts_free(output->parts);
		output->parts = NULL;
		(void)close(output->fd);
		(void)unlink(output->temporary);
	}
}
