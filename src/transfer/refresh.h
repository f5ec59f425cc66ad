/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What a secondary zone asks which primary, until it is refreshed or all have failed.
 *
 * A refresh_t decides and does nothing: each step takes what happened and when, and returns what is to be done next,
 * with what the log should say. It sees no socket, clock or zone. The caller asks the primaries (one question at a
 * time), applies transfers, and keeps refresh_t.state when the last step has come. A run ends after at most three
 * questions per remote and one per further address. One thread; no allocation. It lives as long as the run, params with
 * it.
 *
 * Order of primaries: the one that sent NOTIFY, then the pinned one, then all others as configured, until one delivers.
 * An up-to-date primary doesn't end the run: the next one may be newer. RFC 1034 4.3.5, RFC 1995 4, RFC 7314.
 */
#pragma once

#include "src/transfer/stream_in.h"
#include "src/transfer/timers.h"

enum { REFRESH_NO_REMOTE = UINT16_MAX };

typedef struct {
	uint16_t address_count; /* at least one */
	bool has_no_edns;       /* conf `no-edns` */
} refresh_remote_t;

/** What a run begins with. */
typedef struct {
	knot_name_t zone;                /* lower case */
	const refresh_remote_t *remotes; /* conf `master`, groups expanded */
	uint16_t remote_count;           /* at least one */
	uint16_t notifier;               /* the remote that sent the last NOTIFY, or REFRESH_NO_REMOTE */
	bool has_more_notifiers;         /* several sent NOTIFY since the last refresh */
	uint16_t pinned;                 /* the remote of the last transfer, or REFRESH_NO_REMOTE */
	uint32_t pin_tolerance_s;        /* conf `master-pin-tolerance`; 0: none is pinned */
	bool is_retransfer;              /* AXFR whatever the serial: knotc zone-retransfer */
	bool is_by_operator;             /* zone-refresh, zone-retransfer: the back-off begins again */
	bool is_always_whole;            /* AXFR whatever the serial: include-from, reverse-generate */
	bool is_one_by_one;              /* conf `ixfr-by-one` */
	bool wants_difference;           /* conf `ixfr-from-axfr` */
	bool is_soft;                    /* conf `semantic-checks: soft`: a malformed SOA answer isn't the end */
	bool has_contents;
	uint32_t serial;  /* with contents: what is compared with the primary's */
	timers_soa_t soa; /* with contents */
	timers_conf_t conf;
	timers_state_t state;
	uint32_t random; /* any number, for the back-off */
} refresh_params_t;

/* ---- What is to be done ---- */

typedef enum {
	REFRESH_ASK_SOA,
	REFRESH_ASK_IXFR,
	REFRESH_ASK_AXFR,
	REFRESH_APPLY, /* the transfer, which is whole */
	REFRESH_END,   /* keep refresh->state, and plan state.next_refresh_s */
} refresh_action_kind_t;

typedef struct {
	refresh_action_kind_t kind;
	uint16_t remote, address;
	bool keeps_connection; /* ask on the connection of the answer before */
	bool has_edns;         /* with an empty EXPIRE option */
	bool is_difference;    /* REFRESH_APPLY of a whole zone: apply and store what differs */
} refresh_action_t;

/* ---- What the log says ---- */

typedef enum {
#define REFRESH_NOTE(name, level, prefix, text) REFRESH_NOTE_##name,
#include "src/transfer/refresh.def"
#undef REFRESH_NOTE
	REFRESH_NOTE_KIND_COUNT
} refresh_note_kind_t;

typedef enum {
	REFRESH_PREFIX_PEER,
	REFRESH_PREFIX_IXFR,
	REFRESH_PREFIX_NOPROTO,
	REFRESH_PREFIX_PLAIN,
	REFRESH_PREFIX_BARE,
} refresh_prefix_t;

typedef enum { REFRESH_ROLE_NONE, REFRESH_ROLE_NOTIFIER, REFRESH_ROLE_PINNED } refresh_role_t;

typedef struct {
	refresh_note_kind_t kind;
	refresh_role_t role;
	uint16_t remote, address;
	knot_err_t err;
	uint16_t rcode;
	uint32_t serial, old_serial;
	bool has_old_serial;
	bool has_remote_serial; /* the primary has another one than the zone: */
	uint32_t remote_serial;
	bool has_expire;
	uint64_t expire_s; /* from now */
	uint64_t time_s;   /* of the next retry */
	uint64_t took_ms;
	timers_trim_t trim;
	const char *timer; /* "refresh", "retry", "expire" */
} refresh_note_t;

enum { REFRESH_NOTES_MAX = 8 };

typedef struct {
	refresh_action_t action;
	unsigned note_count;
	refresh_note_t notes[REFRESH_NOTES_MAX];
} refresh_step_t;

/** Words that the machine doesn't know. */
typedef struct {
	const char *remote, *address; /* "<id>", "<addr>@<port>" */
	const char *time;             /* note.time_s as the log shows it */
} refresh_words_t;

enum { REFRESH_TEXT_MAX = 512 };

/** The text of a note behind its prefix. *ret_level: of <syslog.h>. */
void refresh_print(const refresh_note_t *note, const refresh_words_t *words, char ret_text[static REFRESH_TEXT_MAX],
		int *ret_level, refresh_prefix_t *ret_prefix);

/* ---- What happened ---- */

typedef enum {
	REFRESH_EVENT_LOST,    /* no connection, or it ended or fell silent: `err` */
	REFRESH_EVENT_FORGED,  /* the answer's signature is missing or wrong: `err` */
	REFRESH_EVENT_SOA,     /* the SOA query was answered: `answer` */
	REFRESH_EVENT_STREAM,  /* the transfer came to its end: `stream` */
	REFRESH_EVENT_APPLIED, /* REFRESH_APPLY was done: `applied` */
} refresh_event_kind_t;

/** Why a transfer can't be used, as far as it matters to what follows. */
typedef enum {
	REFRESH_FINE,
	REFRESH_BAD_STREAM, /* stream_in.h's faults but those below */
	REFRESH_EXPIRED,    /* the primary has no valid zone itself */
	REFRESH_UNFIT,      /* the changes don't fit the zone */
	REFRESH_UNRELATED,  /* a signing secondary: the changes begin at another serial than the last one */
	REFRESH_INVALID,    /* semantic checks or ZONEMD */
	REFRESH_REJECTED,   /* external validation */
	REFRESH_UNSIGNED,   /* signing failed */
	REFRESH_UNSTORED,   /* the commit failed: journal … */
	REFRESH_LOCAL,      /* out of memory … */
	REFRESH_FAILURE_COUNT
} refresh_failure_t;

typedef struct {
	refresh_event_kind_t kind;
	uint64_t now_s;
	knot_err_t err;   /* of LOST, FORGED, and of a failure */
	bool is_answered; /* LOST: something had come from this address since it was first asked */
	soa_answer_t answer;
	struct {
		stream_in_state_t state; /* not STREAM_IN_MORE */
		stream_in_kind_t kind;
		refresh_failure_t failure; /* of a stream that failed */
		uint32_t serial, serial_reached;
		timers_option_t expire;
	} stream;
	struct {
		refresh_failure_t failure;
		uint32_t serial; /* what is compared from now on */
		bool has_own;    /* the zone has serials of its own, as it is signed here: */
		uint32_t own_serial, own_old;
		bool has_own_old;
		timers_soa_t soa; /* of the zone from now on */
		uint64_t took_ms; /* since the transfer began */
	} applied;
} refresh_event_t;

/* ---- A run ---- */

typedef struct {
	const refresh_params_t *params; /* borrowed */
	timers_state_t state;           /* to be kept */
	/* Facts when the run has ended. */
	knot_err_t err;                  /* KNOT_OK: success */
	bool is_updated;                 /* the zone was updated, from: */
	uint16_t source, source_address; /* which is pinned from now on */
	uint16_t confirmer;              /* the last remote that had just what the zone has now; REFRESH_NO_REMOTE */
	/* Internal. */
	uint8_t phase, role, trial;
	bool has_contents, is_answered, is_over, is_partial, is_changes, wants_again;
	uint16_t remote, address, next_remote;
	uint16_t tried_count, outdated_count;
	uint32_t serial;
	uint64_t wait_s; /* when the pinned primary's time is over; 0: it isn't waited for */
	timers_soa_t soa;
	timers_option_t option; /* of the transfer that is being applied */
} refresh_t;

/** Begin a run: the first thing to be done. */
void refresh_begin(refresh_t *refresh, const refresh_params_t *params, uint64_t now_s, refresh_step_t *ret_step);

/** The next thing. The event answers the last action; not after REFRESH_END. */
void refresh_next(refresh_t *refresh, const refresh_event_t *event, refresh_step_t *ret_step);

/** The zone has expired and its contents are dropped, while the run goes on: a slow primary holds up no expiration. */
void refresh_expire(refresh_t *refresh, uint64_t now_s);

/** The class of a stream's fault. The caller knows what refused a record (STREAM_IN_SINK) and may say so instead. */
refresh_failure_t refresh_failure_of(const stream_in_t *stream);
