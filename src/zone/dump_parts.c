/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/dump_parts.h"

#include "src/zone/dump_text.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * The head and the SOA are written when the SOA comes; what other data the apex has is held until then, and all data
 * goes to the file itself.
 */
struct zone_dump_parts {
	int fd;
	char folder[PATH_MAX];
	zone_dump_params_t params; /* program: in `program` */
	char program[256];
	bool has_soa;
	bool is_open[DUMP_PARTS];
	zone_dump_text_t texts[DUMP_PARTS];
};

/* ---- Files without a name ---- */

static knot_err_t parts_open_file(const char *folder, int *ret_fd)
{
	char path[PATH_MAX];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 && snprintf(path, sizeof(path), "%s/.part.XXXXXX", folder) < (int)sizeof(path)) {
		fd = mkostemp(path, O_CLOEXEC); /* the file system doesn't have such */
		if (fd >= 0) {
			(void)unlink(path);
		}
	}
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	*ret_fd = fd;
	return KNOT_OK;
}

static knot_err_t parts_copy_by_hand(int from, int to)
{
	enum { PIECE = 65536 };
	char *piece = malloc(PIECE);
	ssize_t got = piece != NULL ? 1 : 0;
	knot_err_t err = piece != NULL ? KNOT_OK : KNOT_ENOMEM;
	while (err == KNOT_OK && got > 0) {
		got = read(from, piece, PIECE);
		for (ssize_t done = 0; err == KNOT_OK && done < got;) {
			ssize_t written = write(to, piece + done, (size_t)(got - done));
			done += written > 0 ? written : 0;
			err = written >= 0 ? KNOT_OK : errno == EINTR ? KNOT_OK : knot_err_of_errno(errno);
		}
		err = err == KNOT_OK && got < 0 ? knot_err_of_errno(errno) : err;
	}
	free(piece);
	return err;
}

/* Append one file, from its beginning, to another. */
static knot_err_t parts_append(int from, int to)
{
	enum { PIECE = 1 << 30 };
	if (lseek(from, 0, SEEK_SET) != 0) {
		return knot_err_of_errno(errno);
	}
	ssize_t copied;
	do {
		copied = copy_file_range(from, NULL, to, NULL, PIECE, 0);
	} while (copied > 0 || (copied < 0 && errno == EINTR));
	return parts_copy_by_hand(from, to); /* the rest: none, or all if the file systems can't */
}

/* ---- Parts ---- */

static knot_err_t parts_open(zone_dump_parts_t *parts, zone_dump_part_t part)
{
	int fd = parts->fd;
	knot_err_t err = part == DUMP_DATA ? KNOT_OK : parts_open_file(parts->folder, &fd);
	if (err != KNOT_OK) {
		return err;
	}
	parts->is_open[part] = true;
	err = zone_dump_text_init(&parts->texts[part], fd);
	parts->texts[part].is_held = part == DUMP_DATA;
	if (err == KNOT_OK && zone_dump_heading(part) != NULL) {
		zone_dump_text_put(&parts->texts[part], zone_dump_heading(part));
	}
	return err;
}

static knot_err_t parts_put_soa(zone_dump_parts_t *parts, const zone_rr_t *rr)
{
	zone_dump_text_t *text = &parts->texts[DUMP_SOA];
	knot_err_t err = zone_dump_text_init(text, parts->fd);
	if (err != KNOT_OK) {
		return err;
	}
	zone_dump_text_put_head(text, parts->params.program);
	if (!zone_skip_has(parts->params.skip, rr->type)) {
		zone_dump_text_put_rr(text, rr);
	}
	zone_dump_text_flush(text);
	parts->has_soa = true;
	parts->texts[DUMP_DATA].is_held = false;
	return text->err;
}

knot_err_t zone_dump_parts_begin(
		int fd, const char *folder, const zone_dump_params_t *params, zone_dump_parts_t **ret_parts)
{
	zone_dump_parts_t *parts = calloc(1, sizeof(*parts));
	if (parts == NULL) {
		return KNOT_ENOMEM;
	}
	parts->fd = fd;
	parts->params = *params;
	parts->params.program = parts->program;
	snprintf(parts->program, sizeof(parts->program), "%s", params->program);
	if (snprintf(parts->folder, sizeof(parts->folder), "%s", folder) >= (int)sizeof(parts->folder)) {
		free(parts);
		return KNOT_ESPACE;
	}
	knot_err_t err = parts_open(parts, DUMP_DATA);
	if (err != KNOT_OK) {
		zone_dump_parts_free(parts);
		return err;
	}
	*ret_parts = parts;
	return KNOT_OK;
}

knot_err_t zone_dump_parts_put(zone_dump_parts_t *parts, const zone_rr_t *rr)
{
	zone_dump_part_t part = zone_dump_part_of(rr->type, rr->rdata);
	if (part == DUMP_SOA) {
		return parts_put_soa(parts, rr);
	}
	if (zone_skip_has(parts->params.skip, rr->type)) {
		return KNOT_OK;
	}
	knot_err_t err = parts->is_open[part] ? KNOT_OK : parts_open(parts, part);
	if (err != KNOT_OK) {
		return err;
	}
	zone_dump_text_put_rr(&parts->texts[part], rr);
	return parts->texts[part].err;
}

knot_err_t zone_dump_parts_end(zone_dump_parts_t *parts)
{
	zone_dump_text_t *data = &parts->texts[DUMP_DATA];
	uint64_t count = 0;
	if (!parts->has_soa) {
		return KNOT_ENOSOA;
	}
	zone_dump_text_flush(data);
	knot_err_t err = data->err;
	for (unsigned part = 0; err == KNOT_OK && part < DUMP_PARTS; part++) {
		zone_dump_text_t *text = &parts->texts[part];
		count += text->count;
		if (part > DUMP_DATA && parts->is_open[part]) {
			zone_dump_text_flush(text);
			err = text->err == KNOT_OK ? parts_append(text->fd, parts->fd) : text->err;
		}
	}
	if (err == KNOT_OK) {
		zone_dump_text_put_end(data, count, parts->params.now_s);
		zone_dump_text_flush(data);
		err = data->err;
	}
	return err;
}

void zone_dump_parts_free(zone_dump_parts_t *parts)
{
	if (parts == NULL) {
		return;
	}
	for (unsigned part = 0; part < DUMP_PARTS; part++) {
		zone_dump_text_done(&parts->texts[part]);
		if (part > DUMP_DATA && parts->is_open[part]) {
			(void)close(parts->texts[part].fd);
		}
	}
	free(parts);
}
