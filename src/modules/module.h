/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Query modules: what takes part in answering at typed stages, and counts what it saw.
 *
 * A module is a row (module_api_t) with a function per stage; an instance is made from a reference in the
 * configuration (`module: mod-stats/id`); a chain is the instances of one place, in order: one chain for the server
 * (template `default`), one per zone that has modules. Chains are immutable but for their counters, which are rows per
 * thread (sys/counters.h). Every configuration makes new ones, so counters restart with a reload, as Knot's do.
 *
 * Stages are those of src/answer/stage.h. A chain knows at which of them it has an instance, so that nothing is called
 * in vain. Bytes that are no request (shorter than a header, or an answer) reach no stage. A stage may not allocate,
 * lock, log (but one line per period), or keep what it is given. Readers: within an RCU read section, or holding what
 * keeps the chain alive.
 */
#pragma once

#include "src/answer/stage.h"
#include "src/conf/conf.h"
#include "src/sys/counters.h"

typedef struct module_instance module_instance_t;

/** What modules find out about one request, for those that come later. Zero it to begin. */
typedef struct {
	bool is_source_known; /* the source address isn't forged: a cookie that was made for it came back */
	uint8_t cookie_len;   /* bytes of `cookie`; 0: no module has made one */
	uint8_t cookie[24];   /* for the reply, client's part first (RFC 9018 4) */
	uint16_t finish_len;  /* bytes of options, heads included, that finish() will put: gates add theirs */
	uint64_t started_ns;  /* when a module began to measure the time that the request takes; 0: none does */
	uint64_t used_ns;     /* CPU that the thread had used then, or a moment before */
	const module_instance_t *limiter; /* of mod-rrl, the last that looked at the request; NULL: none did */
} module_notes_t;

/** Stage ANSWERED: what is known of a request and its reply. Borrowed during the call. */
typedef struct {
	const knot_query_t *query; /* of its views only scalar fields may be used: the request may be overwritten */
	const answer_report_t *report;
	const answer_source_t *source;
	const module_notes_t *notes;
	answer_protocol_t protocol;
	uint32_t request_len;  /* bytes, without TCP's length prefix */
	uint32_t response_len; /* as above; 0: nothing was sent */
} module_answered_t;

/** Receives one counter. info: static; id: borrowed, NULL: the item has one counter only. Return false to end. */
typedef bool (*module_counter_cb)(const sys_counter_info_t *info, const char *id, uint64_t value, void *ctx);

/** One module. */
typedef struct {
	const char *name; /* "mod-stats" */
	/** Make an instance from the block that `ref` names. KNOT_ENOMEM. */
	knot_err_t (*make)(const conf_t *conf, const conf_modref_t *ref, module_instance_t **ret_instance);
	void (*free)(module_instance_t *instance);
	/* Stages, in their order; NULL: not at this one. What each may do: answer_guests_t. */
	answer_refusal_t (*gate)(module_instance_t *instance, const answer_source_t *source,
			const answer_request_t *request, module_notes_t *notes);
	/**
	 * The gate also sees requests that a module before has refused, except with SILENT: their replies go to forged
	 * sources as well. What it says, unless NONE, comes in place of that refusal.
	 */
	bool gates_refused;
	/** zones: all that answer, in this read section. */
	void (*decide)(module_instance_t *instance, const answer_source_t *source, const answer_request_t *request,
			const zonedb_t *zones, answer_outcome_t *outcome);
	/** Its gate has added the length to notes->finish_len: there is room, unless the reply has hardly any. */
	uint32_t (*finish)(module_instance_t *instance, module_notes_t *notes, knot_msg_writer_t *w);
	void (*answered)(module_instance_t *instance, const module_answered_t *what);
	/**
	 * The index-th item that the instance counts, static; NULL: there are no more. instance NULL: of those that an
	 * instance can count. Of a module that has counters.
	 */
	const sys_counter_info_t *(*item)(const module_instance_t *instance, unsigned index);
	/**
	 * Report the counters of an item (only NULL: of all), also zeros, in the order of documentation. False: the
	 * callback ended it. NULL: has none.
	 */
	bool (*counters)(const module_instance_t *instance, const char *only, module_counter_cb cb, void *ctx);
} module_api_t;

#define MODULE(name) extern const module_api_t module_##name##_api;
#include "src/modules/modules.def"
#undef MODULE

struct module_instance {
	const module_api_t *api; /* first member of each module's own struct */
};

typedef struct module_chain {
	unsigned count;
	uint8_t stages;                 /* bit n: an instance takes part in answer_stage_t n */
	module_instance_t *instances[]; /* owned; in order of execution */
} module_chain_t;

/**
 * Make the chain of a list of references: conf->global_modules, or a zone's own modules.
 * ret_chain: NULL when the list is empty. The chain keeps no pointer into conf.
 * KNOT_ENOTSUP: a module that doesn't exist (the configuration's check refuses those before).  KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t module_chain_new(const conf_t *conf, conf_modrefs_t refs, module_chain_t **ret_chain);

/** A chain of `count` > 0 instances, which it owns on success. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t module_chain_of(
		module_instance_t *const *take_instances, size_t count, module_chain_t **ret_chain);

/** Free a chain that no reader has. NULL is allowed. */
void module_chain_free(module_chain_t *take_chain);

/** The chains that a request passes, in this order; NULL: none. And what they find out. */
typedef struct {
	const module_chain_t *server, *zone;
	const zonedb_t *zones; /* all that answer; borrowed */
	module_notes_t notes;
} module_chains_t;

/** Stages at which a chain has an instance: bits. */
static inline unsigned module_chain_stages(const module_chain_t *chain)
{
	return chain != NULL ? chain->stages : 0;
}

/**
 * Instances that take part before the reply is complete, as answer_message() wants them. chains: must live as long as
 * the guests.
 */
answer_guests_t module_guests(module_chains_t *chains);

/** Stage ANSWERED of a chain; NULL: none. Call for the server's chain and, if a zone answered, for the zone's. */
static inline void module_chain_answered(const module_chain_t *chain, const module_answered_t *what)
{
	if ((module_chain_stages(chain) >> ANSWER_STAGE_ANSWERED & 1) == 0 || what->report->verdict == KNOT_MSG_DROP) {
		return;
	}
	for (unsigned i = 0; i < chain->count; i++) {
		module_instance_t *instance = chain->instances[i];
		if (instance->api->answered != NULL) {
			instance->api->answered(instance, what);
		}
	}
}

/**
 * For module_api_t.counters: items that have one counter each, the i-th of a set.
 */
bool module_counters_plain(const sys_counters_t *counters, const sys_counter_info_t *items, unsigned count,
		const char *only, module_counter_cb cb, void *ctx);

/** Report the counters of all instances, of an item or (only NULL) of all; false when the callback ended it. NULL:
 * none. */
bool module_chain_counters(const module_chain_t *chain, const char *only, module_counter_cb cb, void *ctx);

/** Name the items that instances count, without summing anything up. An item may be named several times. NULL: none. */
void module_chain_items(const module_chain_t *chain, void (*cb)(const sys_counter_info_t *item, void *ctx), void *ctx);

/** The index-th module that there is; NULL: there are no more. */
const module_api_t *module_at(unsigned index);

/** The module of this name, or NULL. */
const module_api_t *module_find(const char *name);
