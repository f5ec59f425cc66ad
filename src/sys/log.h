/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The log: lines of text by source and level to standard output, standard error, syslog and files.
 *
 * Owns the targets. Not here: the configuration (conf/), and which message is worth a line (the callers: event, net,
 * control and knotd only; libraries return values instead). Any thread may log; targets are replaced as a whole under
 * a lock, so a line goes either to the old ones or to the new ones. Never called per packet.
 *
 * A line: `2026-01-31T12:00:00.123+01:00 info: [example.com.] message`; without the timestamp in syslog and in the
 * tools. At most SYS_LOG_MESSAGE_MAX bytes after the timestamp, longer ones are cut.
 *
 * Lines that a target doesn't take (a full disk, a pipe or a journal without a reader) are counted. The first line
 * that it takes again follows one that says how many are missing. A target that hangs holds up a logging thread for
 * SYS_LOG_WAIT_MS, once; tools wait. Messages that traffic or a lasting failure can trigger without end go through
 * sys_log_repeated(). Messages once per zone or per command don't, however many those are: operators need to know
 * which zone failed.
 */
#pragma once

#include "libknot/name/name.h"
#include "src/sys/limits.h"

#include <stdarg.h>
#include <sys/types.h>
#include <syslog.h>
#include <time.h>

typedef enum {
	SYS_LOG_SERVER,
	SYS_LOG_CONTROL,
	SYS_LOG_ZONE,
	SYS_LOG_QUIC,
	SYS_LOG_SOURCE_COUNT,
} sys_log_source_t;

typedef enum { SYS_LOG_TO_STDOUT, SYS_LOG_TO_STDERR, SYS_LOG_TO_SYSLOG, SYS_LOG_TO_FILE } sys_log_kind_t;

/** One target: which levels of each source go there, as LOG_MASK() bits of <syslog.h>. */
typedef struct {
	sys_log_kind_t kind;
	const char *path; /* SYS_LOG_TO_FILE only; borrowed during sys_log_open() */
	uint8_t levels[SYS_LOG_SOURCE_COUNT];
} sys_log_target_t;

/** Start with errors and warnings to standard error, notices and info to standard output; `verbose`: debug as well. */
void sys_log_init(bool verbose);

/**
 * Replace all targets; files are opened for appending (created 0660 less umask) and given to uid:gid when running as
 * root, see sys_file_open(); a symbolic link must lead to an existing file, whose owner doesn't change. A file that
 * can't be opened is left out and reported as an error line to the other targets; its error is returned.
 */
KNOT_MUST_USE knot_err_t sys_log_open(const sys_log_target_t *targets, size_t count, uid_t uid, gid_t gid);

/** Close files; later lines go nowhere. */
void sys_log_close(void);

/** True if a line of this source and level would be written somewhere: guards costly arguments. */
bool sys_log_wants(sys_log_source_t source, int level);

/** Write a line. level: LOG_DEBUG … LOG_CRIT. zone: wire NULL when the line is of no zone. */
void sys_log(sys_log_source_t source, int level, knot_name_t zone, const char *format, ...)
		__attribute__((format(printf, 4, 5)));

/** The same of a line with one more field for the journal: "NAME=value", without a newline. */
void sys_log_field(sys_log_source_t source, int level, knot_name_t zone, const char *field, const char *format, ...)
		__attribute__((format(printf, 5, 6)));

/**
 * Repeats of one message that traffic or a lasting failure can trigger as often as they like; static, one per message,
 * all zero at first.
 */
typedef struct sys_log_repeats {
	uint64_t begin_ms;       /* start of the period in which they are counted; 0: none yet */
	unsigned count;          /* lines written in the period */
	unsigned held;           /* messages held back in the period */
	sys_log_source_t source; /* of the last message held back, as are level and text */
	int level;
	char text[SYS_LOG_MESSAGE_MAX - 64];
	struct sys_log_repeats *next; /* in the list of those that hold messages back */
} sys_log_repeats_t;

/**
 * Write a line, up to SYS_LOG_REPEAT_MAX times in SYS_LOG_REPEAT_MS. Further ones in that time become one line at its
 * end: `… , message repeated N times`, with the text of the last one. Any thread.
 */
void sys_log_repeated(sys_log_repeats_t *repeats, sys_log_source_t source, int level, const char *format, ...)
		__attribute__((format(printf, 4, 5)));

/** Write the held-back messages whose period is over, or all of them (before the process ends). Call it every few
 * seconds. */
void sys_log_tell_repeats(bool all);

/** Lines that wait to be written with those that follow, see sys_log_gather(). */
typedef struct {
	size_t len;
	sys_log_source_t source; /* of all waiting lines, as is the level */
	int level;
	char text[8192];
} sys_log_gathered_t;

/**
 * From here to sys_log_write_gathered() lines of this thread for files and streams, up to level LOG_NOTICE, are
 * written several at a time: for callers that write many at once. A line that is worse, for syslog, or of another
 * source or level first writes those that wait, so the order stays. A crash loses the lines that wait: do nothing long
 * or dangerous in between. `lines` is the caller's until then; not nested.
 */
void sys_log_gather(sys_log_gathered_t *lines);

/** End gathering: write the lines that wait. */
void sys_log_write_gathered(void);

/** Copies of the worst lines of a thread, see sys_log_capture(). */
typedef struct {
	size_t count; /* lines that there were; the first SYS_LOG_CAPTURE_MAX are below */
	struct {
		int level;
		char text[SYS_LOG_MESSAGE_MAX + 2]; /* without timestamp, level and newline */
	} lines[SYS_LOG_CAPTURE_MAX];
} sys_log_captured_t;

/**
 * From here to sys_log_end_capture() lines of this thread of level LOG_WARNING and worse are copied, too, whether a
 * target takes them or not: for a command whose reply says what went wrong. `lines` is the caller's until then; not
 * nested.
 */
void sys_log_capture(sys_log_captured_t *lines);
void sys_log_end_capture(void);

#define log_server(level, ...)     sys_log(SYS_LOG_SERVER, (level), (knot_name_t){ 0 }, __VA_ARGS__)
#define log_control(level, ...)    sys_log(SYS_LOG_CONTROL, (level), (knot_name_t){ 0 }, __VA_ARGS__)
#define log_zone(level, zone, ...) sys_log(SYS_LOG_ZONE, (level), (zone), __VA_ARGS__)
/** A control line about a zone: `[zone.] control, …`. */
#define log_control_zone(level, zone, ...) sys_log(SYS_LOG_CONTROL, (level), (zone), __VA_ARGS__)

/** Space for one formatted line: timestamp, message, newline, NUL. */
enum { SYS_LOG_LINE_MAX = 32 + SYS_LOG_MESSAGE_MAX + 2 };

/**
 * Format a line as it is written, pure: no clock, no state.
 * when: NULL leaves the timestamp out. prefix_info: write `info: ` before info lines (the tools don't).
 * Ends in a newline and NUL. Returns the length without NUL.
 */
size_t sys_log_format(char ret_line[static SYS_LOG_LINE_MAX], const struct timespec *when, bool prefix_info, int level,
		knot_name_t zone, const char *format, va_list args) __attribute__((format(printf, 6, 0)));
