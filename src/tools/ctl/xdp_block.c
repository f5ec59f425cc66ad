/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The file of `xdp-block add +file`. A line is PREFIX[@RATE] [for TIME] [# comment], or empty. All faults are
 * printed, with file and line, before anything is sent.
 */
#include "src/tools/ctl/knotc.h"
#include "src/tools/ctl/message.h"
#include "src/tools/must.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* As many as the server takes (NET_BLOCK_MAX). */
enum { RULES_MAX = 4096 };

typedef struct {
	conf_xdp_block_t rule;
	size_t line;
} xdp_block_seen_t;

typedef struct {
	request_t *request;
	knot_ctl_data_t base; /* what each unit starts with */
	const char *name;     /* of the file, for messages */
	size_t line;
	xdp_block_seen_t *seen; /* owned: the rules so far */
	size_t count;
	bool failed;
} xdp_block_file_t;

static void xdp_block_tell_fault(xdp_block_file_t *file, const char *value, const char *reason)
{
	char text[KNOTC_ERROR_MAX];
	snprintf(text, sizeof(text), "file '%s', line %zu, '%s' (%s)", file->name, file->line, value, reason);
	message_tell(&(message_t){ .level = MESSAGE_ERROR,
			.line = file->line,
			.members = { [MESSAGE_TEXT] = text,
					[MESSAGE_FILE] = file->name,
					[MESSAGE_VALUE] = value,
					[MESSAGE_REASON] = reason } });
	file->failed = true;
}

/* The line of a rule with the same prefix; 0: there is none. */
static size_t xdp_block_find_prefix(const xdp_block_file_t *file, const conf_xdp_block_t *rule)
{
	for (size_t i = 0; i < file->count; i++) {
		const conf_xdp_block_t *other = &file->seen[i].rule;
		if (other->prefix_len == rule->prefix_len && memcmp(other->addr, rule->addr, sizeof(rule->addr)) == 0) {
			return file->seen[i].line;
		}
	}
	return 0;
}

static bool xdp_block_check_prefix(xdp_block_file_t *file, const char *word)
{
	conf_xdp_block_t rule;
	const char *fault = conf_xdp_block_scan(knot_str_of(word), &rule);
	char text[64];
	size_t line = fault == NULL ? xdp_block_find_prefix(file, &rule) : 0;
	if (line != 0) {
		snprintf(text, sizeof(text), "line %zu has the same prefix", line);
		fault = text;
	} else if (fault == NULL && file->count == RULES_MAX) {
		fault = "the file has more than 4096 rules";
	}
	if (fault != NULL) {
		xdp_block_tell_fault(file, word, fault);
		return false;
	}
	file->seen = must(realloc(file->seen, (file->count + 1) * sizeof(*file->seen)));
	file->seen[file->count++] = (xdp_block_seen_t){ .rule = rule, .line = file->line };
	return true;
}

static void xdp_block_add_unit(xdp_block_file_t *file, char *prefix, const char *duration, const char *comment)
{
	request_t *request = file->request;
	knot_ctl_data_t *unit = request_add_unit(request, (const knot_ctl_data_t *)&file->base);
	char *rate = strchr(prefix, '@');
	if (rate != NULL) {
		*rate++ = '\0';
		(*unit)[KNOT_CTL_IDX_DATA] = request_keep_all(request, rate);
	}
	(*unit)[KNOT_CTL_IDX_ID] = request_keep_all(request, prefix);
	if (duration != NULL) {
		(*unit)[KNOT_CTL_IDX_TTL] = request_keep_all(request, duration);
	}
	if (comment != NULL) {
		(*unit)[KNOT_CTL_IDX_ITEM] = request_keep_all(request, comment);
	}
}

/* Cut the comment off the line and return it: the text behind '#', without blanks around it. NULL: none. */
static char *xdp_block_take_comment(char *line)
{
	char *comment = strchr(line, '#');
	if (comment == NULL) {
		return NULL;
	}
	*comment++ = '\0';
	comment += strspn(comment, " \t");
	size_t len = strlen(comment);
	while (len > 0 && strchr(" \t", comment[len - 1]) != NULL) {
		comment[--len] = '\0';
	}
	return len > 0 ? comment : NULL;
}

static void xdp_block_read_line(xdp_block_file_t *file, char *line)
{
	static const char blanks[] = " \t";
	line[strcspn(line, "\r\n")] = '\0';
	char *rest = NULL, *comment = xdp_block_take_comment(line);
	char *prefix = strtok_r(line, blanks, &rest);
	if (prefix == NULL) {
		return;
	}
	char *word = strtok_r(NULL, blanks, &rest), *duration = NULL;
	if (word != NULL && strcmp(word, "for") == 0) {
		duration = strtok_r(NULL, blanks, &rest);
		if (duration == NULL) {
			xdp_block_tell_fault(file, word, "the time is missing");
			return;
		}
		word = strtok_r(NULL, blanks, &rest);
	}
	uint32_t seconds;
	const char *fault = duration != NULL ? conf_xdp_block_scan_time(duration, &seconds) : NULL;
	if (word != NULL) {
		xdp_block_tell_fault(file, word, "unexpected word, a line is PREFIX[@RATE] [for TIME] [# comment]");
	} else if (fault != NULL) {
		xdp_block_tell_fault(file, duration, fault);
	} else if (comment != NULL && strlen(comment) > 127) {
		xdp_block_tell_fault(file, comment, "the comment is too long, it may have 127 bytes");
	} else if (xdp_block_check_prefix(file, prefix)) {
		xdp_block_add_unit(file, prefix, duration, comment);
	}
}

static bool xdp_block_read_stream(xdp_block_file_t *file, FILE *stream)
{
	char *line = NULL;
	size_t size = 0;
	errno = 0;
	for (ssize_t len; (len = getline(&line, &size, stream)) >= 0;) {
		file->line++;
		if (strlen(line) != (size_t)len) {
			xdp_block_tell_fault(file, line, "the line has a NUL byte");
		} else {
			xdp_block_read_line(file, line);
		}
	}
	bool is_whole = ferror(stream) == 0;
	free(line);
	return is_whole;
}

bool knotc_read_blocks(request_t *request)
{
	assert(request->file != NULL && request->count == 1);
	bool is_stdin = strcmp(request->file, "-") == 0;
	xdp_block_file_t file = { .request = request, .name = is_stdin ? "standard input" : request->file };
	memcpy(file.base, request->units[0], sizeof(file.base));
	request->count = 0;
	FILE *stream = is_stdin ? stdin : fopen(request->file, "re");
	if (stream == NULL || !xdp_block_read_stream(&file, stream)) {
		file.failed = !message_error("failed to read file '%s' (%s)", file.name, strerror(errno));
	} else if (!file.failed && file.count == 0) {
		file.failed = !message_error("file '%s' has no rules", file.name);
	}
	if (stream != NULL && !is_stdin) {
		(void)fclose(stream);
	}
	free(file.seen);
	return !file.failed;
}
