/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * One control connection: the units of a block come in, a row of the command table runs, its reply goes out.
 *
 * Within src/control only. A session lives on the stack of its thread; commands keep nothing behind their return.
 */
#pragma once

#include "libknot/control/command.h"
#include "libknot/control/control.h"
#include "src/control/control.h"
#include "src/control/peer_wait.h"
#include "src/event/zone_edit.h"
#include "src/sys/lock.h"
#include "src/sys/log.h"

#include <assert.h>

enum {
	/* Reply bytes gathered while others wait for what the session has (session_hold(), a command that runs alone),
	 * before the client is waited for: only listings of the largest transactions are longer, and that wait has one
	 * time limit in all. */
	SESSION_BUFFER_MAX = 64 << 20,
	/* Bytes of one block, each unit counted with SESSION_UNIT_COST more: a million zones with some items each. A
	   client that sends more means no end. */
	SESSION_BLOCK_MAX = 256 << 20,
	SESSION_UNIT_COST = 64,
	SESSION_REASON_MAX = 2048, /* names a zone three times */
	SESSION_WHO_MAX = 16,      /* "uid 4294967295" */
};

typedef struct session {
	control_t *control; /* follows a new configuration */
	server_t *server;
	net_t *net;
	knot_ctl_t *ctl;
	unsigned socket;                 /* index of the listening socket that the connection came to */
	peer_wait_t *wait;               /* kept up to date while the connection waits for its peer */
	uint64_t skip_since_ms;          /* units of a block are being skipped since then; 0: they are not */
	sys_rwlock_t *lock;              /* commands that only read and trigger share it, reload has it alone */
	const char *command;             /* name of the command that runs; static */
	command_flags_t command_flags;   /* of that command */
	bool has_uid;                    /* uid is known */
	uid_t uid;                       /* of the peer, when it connected */
	knot_ctl_type_t type;            /* of the unit received last */
	knot_ctl_data_t args;            /* its items, valid until the next is received */
	char zone[KNOT_NAME_TEXT_MAX];   /* its ZONE in lower case; what is longer is no name and stays as it is */
	bool is_locked;                  /* this thread holds `lock` */
	bool is_alone;                   /* … and no other thread does: replies wait until it is given up */
	bool is_holding;                 /* between session_hold() and session_release() */
	int timeout_ms;                  /* of ctl; 0: none */
	uint64_t locked_since_ms;        /* when the lock was taken */
	uint64_t locked_wait_ms;         /* waited for the peer since then, or since session_hold() */
	size_t block_bytes;              /* received in this block, see SESSION_BLOCK_MAX */
	char reason[SESSION_REASON_MAX]; /* room for the text that command_result_t.reason may point to */
	struct server_backup *backup;    /* held while zones are named to it: zone_backup.c; NULL: none */
	struct xdp_capture *capture;     /* owned: of this connection, NULL: none; see xdp_capture.c */
	look_t *look;                    /* owned: of this connection, NULL: none; see top.c */
	bool broken;                     /* the connection is of no use any more */
	bool stop;                       /* COMMAND_DID_STOP */
} session_t;

/** Serve blocks until the peer ends, fails, or asked to stop. */
void session_serve(session_t *session);

/** Receive the next unit of the block into session->args. False: it was not DATA; or broken. */
bool session_next(session_t *session);

/** Send a unit of the reply; a failure is remembered in `broken`. */
void session_send(session_t *session, knot_ctl_type_t type, knot_ctl_data_t *data);

/** Log that the command was received, with the unit that session->args has: as its flags say. See received.c. */
void session_log_received(const session_t *session);

/** Send the request's items with an error text. */
void session_send_error(session_t *session, const char *text);

/** True if the request's FLAGS or FILTERS have this letter. */
bool session_flag(const session_t *session, char letter);
bool session_filter(const session_t *session, char letter);

/** A zone. name: lower case, text with final dot; it was configured a moment ago. */
typedef struct {
	knot_name_t name;
	const char *text;
} session_zone_t;

/** Print `when` (seconds since 1970) as the request wants times: "-5m3s" from now, or as it is with the flag (or
 * filter) "u". */
void session_print_time(const session_t *session, uint64_t when_s, char *text, size_t max);

/** A named value of a line that a command prints about a zone. */
typedef struct {
	const char *name, *text;
} session_field_t;

/** Send a line: a unit of data for the first field, and one of more data for each other. */
void session_send_fields(session_t *session, const session_zone_t *zone, const session_field_t *fields, size_t count);

/** The zone of the unit, which need not be configured; text: KNOT_NAME_TEXT_MAX bytes. KNOT_EPARAM: no name.
 * KNOT_ENOZONE: "@". */
KNOT_MUST_USE knot_err_t session_scan_zone(
		const session_t *session, uint8_t wire[static KNOT_NAME_MAX], char *text, session_zone_t *ret_zone);

/** Who sent the command, and whether with force. room: for the text. */
server_author_t session_author(const session_t *session, char room[static SESSION_WHO_MAX]);

/** What a command leaves to its caller to do; bits. */
enum {
	COMMAND_DID_CONF = 1, /* a configuration was published: those that follow it are to be notified */
	COMMAND_DID_STOP = 2, /* `stop` was asked for: the process ends after the reply */
};

/** What came of a command. */
typedef struct {
	knot_err_t err;         /* sent to the client as its text */
	const char *reason;     /* follows that text; NULL: nothing. Valid until the session's next command */
	server_ticket_t ticket; /* of the job that it started, which the flag "B" waits for; 0: of none */
	unsigned effects;       /* COMMAND_DID_… */
} command_result_t;

/** Of a command that leaves nothing but its error. */
static inline command_result_t command_result(knot_err_t err)
{
	return (command_result_t){ .err = err };
}

/** Of a command that failed: the reason is the first of the lines that it logged meanwhile. */
command_result_t session_failure(session_t *session, knot_err_t err, const sys_log_captured_t *lines);

/** True if the client asks for warnings: filter "w", which knotc sends with COMMAND_WARNINGS. Others get none, so that
 * the reply is that of Knot DNS. */
bool session_wants_warnings(const session_t *session);

/** A unit of TYPE "warning", if the client asks for them. */
void session_send_warning(session_t *session, const char *text);

/** Each of the lines as a warning. */
void session_send_warnings(session_t *session, const sys_log_captured_t *lines);

/** A command that gets the whole block. */
typedef command_result_t (*session_command_t)(session_t *session);

/** A command for one zone. */
typedef command_result_t (*session_zone_command_t)(session_t *session, const session_zone_t *zone);

/**
 * Run a command on the zones of the block: one unit each, or all zones if the first unit has no ZONE. Errors are sent
 * per zone, or for all zones as one KNOT_ECTLZONES, which is returned. waits: for the jobs that `run` starts, without
 * the session's lock.
 */
KNOT_MUST_USE knot_err_t session_each_zone(session_t *session, session_zone_command_t run, bool waits);

/** Let other commands run: before waiting for something that may take long. */
void session_unlock(session_t *session);

/**
 * From here to session_release() others wait for what this thread has, a read section say: replies are gathered in
 * memory, up to SESSION_BUFFER_MAX. What is longer is sent meanwhile, within one control.timeout in all (5 s where that
 * is 0). Not nested.
 */
void session_hold(session_t *session);
void session_release(session_t *session);

/**
 * Have no other command run until the end of this one: for a unit that needs that though the first of its block didn't.
 * Others may run in between. KNOT_ECTLBUSY: they don't end within control.timeout.
 */
KNOT_MUST_USE knot_err_t session_be_alone(session_t *session);

/** What changes the configuration, or removes zones, begins with it: commands.def says COMMAND_ALONE. */
static inline void session_assert_alone(const session_t *session)
{
	assert(session->is_locked && session->is_alone);
	(void)session;
}

/* The commands, one function per row of commands.def. */
#define RUN(function)                    command_result_t function(session_t *session);
#define ZONES(function)                  command_result_t function(session_t *session, const session_zone_t *zone);
#define SERVER_COMMAND(name, how, ...)   how
#define INTERNAL_COMMAND(name, how, ...) how
#include "libknot/control/commands.def"

/** End what the connection's `top` counts, if it does. */
void top_end(session_t *session);

/** End the connection's capture, if there is one. */
void xdp_capture_end(session_t *session);
