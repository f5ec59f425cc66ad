/* SPDX-License-Identifier: BSD-2-Clause */
/* The label of a backup: lines of "key: value", in Knot's words. */
#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libknot/base/number.h"
#include "src/event/backup_dir.h"
#include "src/sys/clock.h"
#include "src/sys/file.h"

enum {
	LABEL_MAX = 16 * 1024, /* bytes */
	TIME_MAX = 64,
	LABEL_MODE = 0660,
};

static const char first_line[] = "label: Knot DNS Backup\n";

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BACKUP_BYTE_ORDER "LE"
#else
#define BACKUP_BYTE_ORDER "BE"
#endif

static const char *const part_names[BACKUP_PARTS] = { "zonefile", "journal", "timers", "kaspdb", "keysonly", "catalog",
	"quic" };

void backup_parts_print(unsigned parts, char ret_text[static BACKUP_NAMES_MAX])
{
	size_t len = 0;
	ret_text[0] = '\0';
	for (unsigned i = 0; i < BACKUP_PARTS; i++) {
		if ((parts >> i & 1) != 0) {
			len += (size_t)snprintf(ret_text + len, BACKUP_NAMES_MAX - len, "%s%s", len > 0 ? ", " : "",
					part_names[i]);
		}
	}
}

/* ---- Writing ---- */

static void label_print_time(uint64_t when_s, char text[static TIME_MAX])
{
	time_t when = (time_t)when_s;
	struct tm parts;
	if (localtime_r(&when, &parts) == NULL || strftime(text, TIME_MAX, "%Y-%m-%d %H:%M:%S %Z", &parts) == 0) {
		snprintf(text, TIME_MAX, "-");
	}
}

/* "+zonefile +nojournal …": which parts were asked for, and where the backup was made. */
static void label_print_parts(const backup_dir_t *dir, char *text, size_t max)
{
	size_t len = 0;
	for (unsigned i = 0; i < BACKUP_PARTS; i++) {
		bool is_there = (dir->parts >> i & 1) != 0;
		len += (size_t)snprintf(text + len, max - len, "+%s%s ", is_there ? "" : "no", part_names[i]);
	}
}

knot_err_t backup_label_write(const backup_dir_t *dir, const char *path, size_t zone_count)
{
	enum { TEXT_MAX = PATH_MAX + BACKUP_IDENTITY_MAX + 1024 };
	char parts[256], started[TIME_MAX], finished[TIME_MAX];
	char *text = malloc(TEXT_MAX);
	if (text == NULL) {
		return KNOT_ENOMEM;
	}
	label_print_parts(dir, parts, sizeof(parts));
	label_print_time(dir->started_s, started);
	label_print_time(sys_clock_wall(), finished);
	int len = snprintf(text, TEXT_MAX,
			"%sbackup_format: %u\nserver_identity: %s\nstarted_time: %s\nfinished_time: %s\n"
			"knot_version: %s\nlmdb_version: %d.%d.%d\narchitecture: %zu%s\n"
			"parameters: %s+backupdir %s\nzone_count: %zu\n",
			first_line, BACKUP_FORMAT, dir->identity, started, finished, PACKAGE_VERSION, MDB_VERSION_MAJOR,
			MDB_VERSION_MINOR, MDB_VERSION_PATCH, 8 * sizeof(void *), BACKUP_BYTE_ORDER, parts, dir->path,
			zone_count);
	bool is_made;
	knot_err_t err = len > 0 && len < TEXT_MAX ? sys_file_replace(path, text, (size_t)len, LABEL_MODE, &is_made)
						   : KNOT_ESPACE;
	free(text);
	return err;
}

/* ---- Reading ---- */

static bool label_is_key(const char *line, const char *key, const char **ret_value)
{
	size_t len = strlen(key);
	if (strncmp(line, key, len) != 0 || line[len] != ':') {
		return false;
	}
	*ret_value = line + len + 1 + strspn(line + len + 1, " ");
	return true;
}

/* The words before +backupdir, which is the last as it may have spaces. */
static unsigned label_scan_parts(char *value)
{
	unsigned parts = 0;
	char *rest;
	for (char *word = strtok_r(value, " ", &rest); word != NULL && strcmp(word, "+backupdir") != 0;
			word = strtok_r(NULL, " ", &rest)) {
		for (unsigned i = 0; i < BACKUP_PARTS; i++) {
			if (word[0] == '+' && strcmp(word + 1, part_names[i]) == 0) {
				parts |= 1u << i;
			}
		}
	}
	return parts;
}

static knot_err_t label_scan_line(char *line, backup_label_t *label)
{
	const char *value;
	if (label_is_key(line, "backup_format", &value)) {
		uint64_t format;
		if (knot_number_scan(knot_str_of(value), UINT32_MAX, &format) != KNOT_NUMBER_OK) {
			return KNOT_EMALF;
		}
		label->format = (unsigned)format;
	} else if (label_is_key(line, "architecture", &value)) {
		char ours[16];
		snprintf(ours, sizeof(ours), "%zu%s", 8 * sizeof(void *), BACKUP_BYTE_ORDER);
		label->is_foreign = strcmp(value, ours) != 0;
	} else if (label_is_key(line, "parameters", &value)) {
		label->parts = label_scan_parts(line + (value - line));
	}
	return KNOT_OK;
}

static knot_err_t label_read_text(const char *path, char text[static LABEL_MAX + 1])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	ssize_t got = 1;
	size_t len = 0;
	while (got > 0 && len < LABEL_MAX) {
		got = read(fd, text + len, LABEL_MAX - len);
		len += got > 0 ? (size_t)got : 0;
	}
	knot_err_t err = got < 0 ? knot_err_of_errno(errno) : KNOT_OK;
	close(fd);
	text[len] = '\0';
	bool is_label = strncmp(text, first_line, strlen(first_line)) == 0 && strlen(text) == len;
	return err != KNOT_OK ? err : is_label ? KNOT_OK : KNOT_EMALF;
}

knot_err_t backup_label_read(const char *path, backup_label_t *ret_label)
{
	char *text = malloc(LABEL_MAX + 1), *rest;
	if (text == NULL) {
		return KNOT_ENOMEM;
	}
	*ret_label = (backup_label_t){ .format = 0 };
	knot_err_t err = label_read_text(path, text);
	if (err == KNOT_OK) {
		for (char *line = strtok_r(text, "\n", &rest); line != NULL && err == KNOT_OK;
				line = strtok_r(NULL, "\n", &rest)) {
			err = label_scan_line(line, ret_label);
		}
		err = err == KNOT_OK && ret_label->format == 0 ? KNOT_EMALF : err;
	}
	free(text);
	return err;
}
