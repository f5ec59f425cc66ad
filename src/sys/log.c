/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/log.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "src/sys/clock.h"
#include "src/sys/file.h"
#include "src/sys/lock.h"
#include "src/sys/log_output.h"

typedef struct {
	sys_log_kind_t kind;
	log_output_t output;
	uint8_t levels[SYS_LOG_SOURCE_COUNT];
	_Atomic unsigned lost; /* lines that could not be written since the last that could */
} target_t;

typedef struct {
	target_t *targets; /* owned */
	size_t count;
	uint8_t any[SYS_LOG_SOURCE_COUNT]; /* levels that some target wants */
	bool timestamp;
	bool prefix_info;
	bool verbose;
} log_t;

static sys_rwlock_t log_lock = SYS_RWLOCK_INIT; /* shared by those that write lines */
static log_t current SYS_GUARDED_BY_VARIABLE(log_lock);

static const struct {
	int level;
	const char *text;
} level_names[] = {
	{ LOG_DEBUG, "debug: " },
	{ LOG_INFO, "info: " },
	{ LOG_NOTICE, "notice: " },
	{ LOG_WARNING, "warning: " },
	{ LOG_ERR, "error: " },
	{ LOG_CRIT, "critical: " },
};

static const char *log_find_level_name(int level)
{
	for (size_t i = 0; i < KNOT_LEN(level_names); i++) {
		if (level_names[i].level == level) {
			return level_names[i].text;
		}
	}
	return "";
}

/* "2026-01-31T12:00:00.123+01:00 " */
static size_t log_put_timestamp(char *out, size_t max, const struct timespec *when)
{
	struct tm local;
	if (localtime_r(&when->tv_sec, &local) == NULL) {
		return 0;
	}
	long offset_min = local.tm_gmtoff / 60;
	char sign = offset_min < 0 ? '-' : '+';
	offset_min = labs(offset_min);
	int len = snprintf(out, max, "%04d-%02d-%02dT%02d:%02d:%02d.%03ld%c%02ld:%02ld ",
			(local.tm_year + 1900) % 10000, local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min,
			local.tm_sec, when->tv_nsec / 1000000, sign, offset_min / 60, offset_min % 60);
	return len > 0 && (size_t)len < max ? (size_t)len : 0;
}

size_t sys_log_format(char ret_line[static SYS_LOG_LINE_MAX], const struct timespec *when, bool prefix_info, int level,
		knot_name_t zone, const char *format, va_list args)
{
	size_t start = when != NULL ? log_put_timestamp(ret_line, SYS_LOG_LINE_MAX - SYS_LOG_MESSAGE_MAX, when) : 0;
	char *message = ret_line + start;
	size_t len = 0;
	if (level != LOG_INFO || prefix_info) {
		len = (size_t)snprintf(message, SYS_LOG_MESSAGE_MAX + 1, "%s", log_find_level_name(level));
	}
	if (zone.wire != NULL) {
		char text[KNOT_NAME_TEXT_MAX];
		knot_name_print(zone, text);
		int put = snprintf(message + len, SYS_LOG_MESSAGE_MAX + 1 - len, "[%s] ", text);
		len += put > 0 ? (size_t)put : 0;
	}
	if (len < SYS_LOG_MESSAGE_MAX) {
		int put = vsnprintf(message + len, SYS_LOG_MESSAGE_MAX + 1 - len, format, args);
		len += put > 0 ? (size_t)put : 0;
	}
	if (len > SYS_LOG_MESSAGE_MAX) {
		len = SYS_LOG_MESSAGE_MAX;
	}
	/* A line stays one line: names and paths in it may hold anything. */
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)message[i] < ' ') {
			message[i] = ' ';
		}
	}
	message[len++] = '\n';
	message[len] = '\0';
	assert(start + len < SYS_LOG_LINE_MAX);
	return start + len;
}

__attribute__((format(printf, 4, 5))) static size_t log_format_own(
		char line[static SYS_LOG_LINE_MAX], bool timestamp, bool prefix_info, const char *format, ...)
{
	struct timespec now = sys_clock_real();
	va_list args;
	va_start(args, format);
	size_t len = sys_log_format(
			line, timestamp ? &now : NULL, prefix_info, LOG_WARNING, (knot_name_t){ 0 }, format, args);
	va_end(args);
	return len;
}

/*
 * While a disk or a pipe is full, nothing can be reported there; so the number of lost lines goes to the place where
 * they are missing. False: it can't be written yet.
 */
static bool log_tell_lost(const log_t *log, target_t *target) SYS_REQUIRES_SHARED(log_lock)
{
	unsigned lost = atomic_exchange(&target->lost, 0);
	if (lost == 0) {
		return true;
	}
	log_output_t *output = &target->output;
	char note[SYS_LOG_LINE_MAX];
	bool is_system = target->kind == SYS_LOG_TO_SYSLOG, is_told;
	size_t len = log_format_own(note, log->timestamp && !is_system, log->prefix_info, "log, %u lines lost (%s)",
			lost, knot_strerror(knot_err_of_errno(atomic_load(&output->errnum))));
	if (is_system) {
		note[len - 1] = '\0'; /* the newline */
		is_told = log_output_send(output, LOG_WARNING, NULL, NULL, note);
	} else {
		is_told = log_output_write(output, note, len) == len;
	}
	if (!is_told) {
		atomic_fetch_add(&target->lost, lost);
	}
	return is_told;
}

/* Count the lines of the text that were not written to their end as lost. */
static void log_write_target(const log_t *log, target_t *target, const char *text, size_t len)
		SYS_REQUIRES_SHARED(log_lock)
{
	size_t used = log_tell_lost(log, target) ? log_output_write(&target->output, text, len) : 0;
	unsigned lost = 0;
	for (size_t i = used; i < len; i++) {
		lost += text[i] == '\n';
	}
	if (lost > 0) {
		atomic_fetch_add(&target->lost, lost);
	}
}

static _Thread_local const char *line_field; /* of the line that is written: for the journal; NULL: none */

/* The journal gets the zone as a field of its own, which syslog can't carry. */
static void log_write_system(const log_t *log, target_t *target, int level, knot_name_t zone, const char *message)
		SYS_REQUIRES_SHARED(log_lock)
{
	char name[KNOT_NAME_TEXT_MAX];
	if (zone.wire != NULL) {
		knot_name_print(zone, name);
	}
	if (!log_tell_lost(log, target) || !log_output_send(&target->output, level, zone.wire != NULL ? name : NULL,
							   line_field, message)) {
		atomic_fetch_add(&target->lost, 1);
	}
}

/* ---- Gathered lines: of this thread ---- */

static _Thread_local sys_log_gathered_t *gathered; /* NULL: lines are written at once */

/* The targets may have changed since the lines were made: each gets the levels that it wants now. */
static void log_write_gathered(const log_t *log) SYS_REQUIRES_SHARED(log_lock)
{
	for (size_t i = 0; gathered->len > 0 && i < log->count; i++) {
		target_t *target = &log->targets[i];
		if (target->kind != SYS_LOG_TO_SYSLOG &&
				(target->levels[gathered->source] & LOG_MASK(gathered->level)) != 0) {
			log_write_target(log, target, gathered->text, gathered->len);
		}
	}
	gathered->len = 0;
}

static bool log_wants_syslog(const log_t *log, sys_log_source_t source, int level)
{
	for (size_t i = 0; i < log->count; i++) {
		if (log->targets[i].kind == SYS_LOG_TO_SYSLOG &&
				(log->targets[i].levels[source] & LOG_MASK(level)) != 0) {
			return true;
		}
	}
	return false;
}

/* False: the line is to be written at once. */
static bool log_gather_line(const log_t *log, sys_log_source_t source, int level, const char *line, size_t len)
		SYS_REQUIRES_SHARED(log_lock)
{
	if (gathered == NULL) {
		return false;
	}
	if (gathered->source != source || gathered->level != level || len > sizeof(gathered->text) - gathered->len) {
		log_write_gathered(log);
	}
	if (level < LOG_NOTICE || len > sizeof(gathered->text) || log_wants_syslog(log, source, level)) {
		return false;
	}
	gathered->source = source;
	gathered->level = level;
	memcpy(gathered->text + gathered->len, line, len);
	gathered->len += len;
	return true;
}

void sys_log_gather(sys_log_gathered_t *lines)
{
	assert(gathered == NULL);
	lines->len = 0;
	lines->source = SYS_LOG_SERVER;
	lines->level = LOG_INFO;
	gathered = lines;
}

void sys_log_write_gathered(void)
{
	assert(gathered != NULL);
	sys_rwlock_read_brief(&log_lock);
	log_write_gathered(&current);
	sys_rwlock_end_read(&log_lock);
	gathered = NULL;
}

static void log_write_line(const log_t *log, sys_log_source_t source, int level, knot_name_t zone, const char *format,
		va_list args) SYS_REQUIRES_SHARED(log_lock)
{
	if ((log->any[source] & LOG_MASK(level)) == 0) {
		return;
	}
	struct timespec now = sys_clock_real();
	char line[SYS_LOG_LINE_MAX];
	va_list again;
	va_copy(again, args);
	size_t len = sys_log_format(line, log->timestamp ? &now : NULL, log->prefix_info, level, zone, format, again);
	va_end(again);
	if (log_gather_line(log, source, level, line, len)) {
		return;
	}
	for (size_t i = 0; i < log->count; i++) {
		target_t *target = &log->targets[i];
		if ((target->levels[source] & LOG_MASK(level)) == 0) {
			continue;
		}
		if (target->kind != SYS_LOG_TO_SYSLOG) {
			log_write_target(log, target, line, len);
			continue;
		}
		char bare[SYS_LOG_LINE_MAX];
		va_copy(again, args);
		size_t bare_len = sys_log_format(bare, NULL, true, level, zone, format, again);
		va_end(again);
		bare[bare_len - 1] = '\0';
		log_write_system(log, target, level, zone, bare);
	}
}

/* ---- Captured lines: of this thread ---- */

static _Thread_local sys_log_captured_t *captured; /* NULL: none */

void sys_log_capture(sys_log_captured_t *lines)
{
	assert(captured == NULL);
	lines->count = 0;
	captured = lines;
}

void sys_log_end_capture(void)
{
	assert(captured != NULL);
	captured = NULL;
}

static void log_capture_line(int level, knot_name_t zone, const char *format, va_list args)
{
	size_t index = captured->count++;
	if (index >= SYS_LOG_CAPTURE_MAX) {
		return;
	}
	char line[SYS_LOG_LINE_MAX];
	size_t len = sys_log_format(line, NULL, true, level, zone, format, args);
	size_t skip = strlen(log_find_level_name(level));
	captured->lines[index].level = level;
	snprintf(captured->lines[index].text, sizeof(captured->lines[index].text), "%.*s", (int)(len - 1 - skip),
			line + skip);
}

static void log_write(sys_log_source_t source, int level, knot_name_t zone, const char *format, va_list args)
{
	if (captured != NULL && level <= LOG_WARNING) {
		va_list again;
		va_copy(again, args);
		log_capture_line(level, zone, format, again);
		va_end(again);
	}
	sys_rwlock_read_brief(&log_lock);
	log_write_line(&current, source, level, zone, format, args);
	sys_rwlock_end_read(&log_lock);
}

void sys_log(sys_log_source_t source, int level, knot_name_t zone, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	log_write(source, level, zone, format, args);
	va_end(args);
}

void sys_log_field(sys_log_source_t source, int level, knot_name_t zone, const char *field, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	line_field = field;
	log_write(source, level, zone, format, args);
	line_field = NULL;
	va_end(args);
}

/* ---- Repeated messages ---- */

static sys_mutex_t repeats_lock = SYS_MUTEX_INIT; /* every sys_log_repeats_t, and the list */
static sys_log_repeats_t *repeats_held SYS_GUARDED_BY_VARIABLE(repeats_lock); /* those with messages held back */

/* Write what was held back as one line. */
static void log_write_held(sys_log_repeats_t *repeats) SYS_REQUIRES(repeats_lock)
{
	sys_log(repeats->source, repeats->level, (knot_name_t){ 0 }, "%s, message repeated %u times", repeats->text,
			repeats->held);
	repeats->held = 0;
	repeats->count = 0;
	repeats->begin_ms = 0;
}

/* True: to be written; else it was counted. */
static bool log_admit_repeat(sys_log_repeats_t *repeats, sys_log_source_t source, int level, uint64_t now_ms)
		SYS_REQUIRES(repeats_lock)
{
	if (repeats->begin_ms == 0 || (repeats->held == 0 && now_ms - repeats->begin_ms >= SYS_LOG_REPEAT_MS)) {
		repeats->begin_ms = now_ms;
		repeats->count = 0;
	}
	if (repeats->count < SYS_LOG_REPEAT_MAX) {
		repeats->count++;
		return true;
	}
	if (repeats->held++ == 0) {
		repeats->next = repeats_held;
		repeats_held = repeats;
	}
	repeats->source = source;
	repeats->level = level;
	return false;
}

void sys_log_repeated(sys_log_repeats_t *repeats, sys_log_source_t source, int level, const char *format, ...)
{
	if (!sys_log_wants(source, level)) {
		return;
	}
	char text[SYS_LOG_MESSAGE_MAX];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	sys_log_tell_repeats(false);
	sys_mutex_lock_brief(&repeats_lock);
	bool written = log_admit_repeat(repeats, source, level, sys_clock_ms());
	if (!written) {
		/* Room for what follows it. */
		snprintf(repeats->text, sizeof(repeats->text), "%.*s", (int)sizeof(repeats->text) - 1, text);
	}
	sys_mutex_unlock(&repeats_lock);
	if (written) {
		sys_log(source, level, (knot_name_t){ 0 }, "%s", text);
	}
}

void sys_log_tell_repeats(bool all)
{
	uint64_t now_ms = sys_clock_ms();
	sys_mutex_lock_brief(&repeats_lock);
	for (sys_log_repeats_t **at = &repeats_held; *at != NULL;) {
		sys_log_repeats_t *repeats = *at;
		if (all || now_ms - repeats->begin_ms >= SYS_LOG_REPEAT_MS) {
			*at = repeats->next;
			log_write_held(repeats);
		} else {
			at = &repeats->next;
		}
	}
	sys_mutex_unlock(&repeats_lock);
}

bool sys_log_wants(sys_log_source_t source, int level)
{
	sys_rwlock_read_brief(&log_lock);
	bool wants = (current.any[source] & LOG_MASK(level)) != 0;
	sys_rwlock_end_read(&log_lock);
	return wants;
}

static void log_free_targets(log_t *log)
{
	for (size_t i = 0; i < log->count; i++) {
		if (log->targets[i].kind == SYS_LOG_TO_FILE) {
			close(log->targets[i].output.fd);
		} else {
			log_output_close(&log->targets[i].output);
		}
	}
	free(log->targets);
	*log = (log_t){ 0 };
}

static knot_err_t log_open_file(const sys_log_target_t *target, uid_t uid, gid_t gid, int *ret_fd)
{
	/* Not blocking: a pipe that no process opens to read, or reads, must not stop a commit. */
	const int flags = O_WRONLY | O_APPEND | O_NONBLOCK;
	knot_err_t err = sys_file_open(target->path, flags | O_CREAT, 0660, uid, gid, ret_fd);
	if (err == knot_err_of_errno(ELOOP)) {
		/* A link, for example to /dev/stdout. It is followed, but its target is neither made nor given to
		 * another owner. */
		int fd = open(target->path, flags | O_CLOEXEC | O_NOCTTY);
		err = fd >= 0 ? KNOT_OK : knot_err_of_errno(errno);
		*ret_fd = fd;
	}
	return err;
}

static void log_add_levels(log_t *log, target_t *target, const uint8_t levels[SYS_LOG_SOURCE_COUNT])
{
	for (size_t i = 0; i < SYS_LOG_SOURCE_COUNT; i++) {
		target->levels[i] = levels[i];
		/* knotd -v: whatever goes to standard output goes there with debug lines. */
		if (log->verbose && target->kind == SYS_LOG_TO_STDOUT && levels[i] != 0) {
			target->levels[i] |= LOG_MASK(LOG_DEBUG);
		}
		log->any[i] |= target->levels[i];
	}
}

static bool log_is_same_target(const target_t *a, const target_t *b)
{
	struct stat a_info, b_info;
	return a->kind == b->kind &&
	       (a->kind != SYS_LOG_TO_FILE ||
			       (fstat(a->output.fd, &a_info) == 0 && fstat(b->output.fd, &b_info) == 0 &&
					       a_info.st_ino == b_info.st_ino && a_info.st_dev == b_info.st_dev));
}

/* The count of lines that a target didn't take, and that it isn't waited for, carry over to the next configuration. */
static void log_inherit_losses(log_t *next, const log_t *old) SYS_REQUIRES(log_lock)
{
	for (size_t i = 0; i < next->count; i++) {
		for (size_t j = 0; j < old->count; j++) {
			target_t *to = &next->targets[i];
			const target_t *from = &old->targets[j];
			if (atomic_load(&from->lost) > 0 && log_is_same_target(to, from)) {
				atomic_store(&to->lost, atomic_load(&from->lost));
				atomic_store(&to->output.errnum, atomic_load(&from->output.errnum));
				atomic_store(&to->output.is_torn, atomic_load(&from->output.is_torn));
				atomic_store(&to->output.is_stalled, atomic_load(&from->output.is_stalled));
			}
		}
	}
}

static void log_swap_targets(log_t *next)
{
	sys_rwlock_write(&log_lock);
	log_t old = current;
	log_inherit_losses(next, &old);
	current = *next;
	sys_rwlock_end_write(&log_lock);
	log_free_targets(&old);
}

static knot_err_t log_open_target(const sys_log_target_t *target, uid_t uid, gid_t gid, log_output_t *ret_output)
{
	int fd;
	knot_err_t err = KNOT_OK;
	switch (target->kind) {
	case SYS_LOG_TO_STDOUT: *ret_output = log_output_of(STDOUT_FILENO, false); break;
	case SYS_LOG_TO_STDERR: *ret_output = log_output_of(STDERR_FILENO, false); break;
	case SYS_LOG_TO_SYSLOG:
		/* Where systemd runs, its journal in the place of syslog. */
		*ret_output = (log_output_t){ .kind = sd_booted() > 0 ? LOG_OUTPUT_JOURNAL : LOG_OUTPUT_SYSLOG,
			.fd = -1 };
		break;
	case SYS_LOG_TO_FILE:
		err = log_open_file(target, uid, gid, &fd);
		if (err == KNOT_OK) {
			*ret_output = log_output_of(fd, true);
		}
		break;
	}
	return err;
}

/* Report files that could not be opened, once the new targets are in place. Returns the first error. */
static knot_err_t log_report_failures(const sys_log_target_t *targets, const knot_err_t *errs, size_t count)
{
	knot_err_t first = KNOT_OK;
	for (size_t i = 0; i < count; i++) {
		if (errs[i] != KNOT_OK) {
			log_server(LOG_ERR, "failed to open log, file '%s' (%s)", targets[i].path,
					sys_file_strerror(targets[i].path, errs[i]));
			first = first == KNOT_OK ? errs[i] : first;
		}
	}
	return first;
}

static bool log_is_verbose(void)
{
	sys_rwlock_read(&log_lock);
	bool is_verbose = current.verbose;
	sys_rwlock_end_read(&log_lock);
	return is_verbose;
}

knot_err_t sys_log_open(const sys_log_target_t *targets, size_t count, uid_t uid, gid_t gid)
{
	log_t next = { .timestamp = true, .prefix_info = true, .verbose = log_is_verbose() };
	knot_err_t *errs = calloc(count + 1, sizeof(*errs));
	next.targets = calloc(count + 1, sizeof(*next.targets));
	if (next.targets == NULL || errs == NULL) {
		free(next.targets);
		free(errs);
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		target_t *target = &next.targets[next.count];
		*target = (target_t){ .kind = targets[i].kind };
		errs[i] = log_open_target(&targets[i], uid, gid, &target->output);
		if (errs[i] == KNOT_OK) {
			next.count++;
			log_add_levels(&next, target, targets[i].levels);
		}
	}
	if (count > 0 && next.count == 0) {
		/* No target would be left to report it to: keep the old ones. */
		log_free_targets(&next);
	} else {
		log_swap_targets(&next);
	}
	knot_err_t err = log_report_failures(targets, errs, count);
	free(errs);
	return err;
}

void sys_log_init(bool verbose)
{
	enum { PROBLEMS = LOG_MASK(LOG_CRIT) | LOG_MASK(LOG_ERR) | LOG_MASK(LOG_WARNING) };
	const uint8_t normal = LOG_MASK(LOG_NOTICE) | LOG_MASK(LOG_INFO) | (verbose ? LOG_MASK(LOG_DEBUG) : 0);
	log_t next = { .timestamp = true, .prefix_info = true, .verbose = verbose };
	next.targets = calloc(2, sizeof(*next.targets));
	if (next.targets == NULL) {
		return;
	}
	next.count = 2;
	next.targets[0] = (target_t){ .kind = SYS_LOG_TO_STDERR, .output = log_output_of(STDERR_FILENO, false) };
	next.targets[1] = (target_t){ .kind = SYS_LOG_TO_STDOUT, .output = log_output_of(STDOUT_FILENO, false) };
	uint8_t problems[SYS_LOG_SOURCE_COUNT], normals[SYS_LOG_SOURCE_COUNT];
	memset(problems, PROBLEMS, sizeof(problems));
	memset(normals, normal, sizeof(normals));
	log_add_levels(&next, &next.targets[0], problems);
	log_add_levels(&next, &next.targets[1], normals);
	log_swap_targets(&next);
}

void sys_log_close(void)
{
	log_t none = { 0 };
	log_swap_targets(&none);
}
