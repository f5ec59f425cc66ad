/* SPDX-License-Identifier: BSD-2-Clause */
/** For tests: what was reported of a configuration, configurations of texts, changes of many zones. */
#pragma once

#include "src/conf/load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/** All that was reported, one per line, with "W:" or "N:" before warnings and notices; what has no room is cut off. */
typedef struct {
	char text[4096];
} messages_t;

static inline void collect_message(void *ctx, const conf_fault_t *fault)
{
	messages_t *all = ctx;
	size_t len = strlen(all->text);
	const char *prefix = fault->severity == CONF_ERROR ? "" : fault->severity == CONF_WARNING ? "W:" : "N:";
	(void)snprintf(all->text + len, sizeof(all->text) - len, "%s%s%s", len > 0 ? "\n" : "", prefix, fault->text);
}

/** Collects faults from now on. */
static inline conf_sink_t messages_sink(messages_t *ret_messages)
{
	ret_messages->text[0] = '\0';
	return (conf_sink_t){ collect_message, ret_messages };
}

/** A snapshot of a text that has the name "F"; NULL: it failed. Free it with conf_free(). */
static inline conf_t *load_text(const char *text, messages_t *ret_messages, knot_err_t *ret_err)
{
	conf_t *conf = NULL;
	*ret_err = conf_load_text("F", knot_str_of(text), NULL, messages_sink(ret_messages), &conf);
	return conf;
}

/** A sealed store of a text without faults. Free it with conf_store_free(). */
static inline conf_store_t *read_text(const char *text)
{
	messages_t messages;
	conf_store_t *store = conf_store_new();
	const knot_str_t str = knot_str_of(text);
	assert_non_null(store);
	if (conf_read(store, "F", &str, false, messages_sink(&messages)) != KNOT_OK || messages.text[0] != '\0') {
		fail_msg("%s\n%s", text, messages.text);
	}
	assert_int_equal(conf_store_seal(store), KNOT_OK);
	return store;
}

/** A snapshot of a text that may have items that the schema refuses as yet, but no other fault. Free with conf_free().
 */
static inline conf_t *build_text(const char *text)
{
	messages_t messages;
	conf_t *conf = calloc(1, sizeof(*conf));
	assert_non_null(conf);
	conf->store = conf_store_new();
	assert_non_null(conf->store);
	const knot_str_t str = knot_str_of(text);
	knot_err_t err = conf_read(conf->store, "F", &str, false, messages_sink(&messages));
	if (err != KNOT_OK && err != KNOT_CONF_ENOTSUP) {
		fail_msg("%s\n%s", text, messages.text);
	}
	assert_int_equal(conf_store_seal(conf->store), KNOT_OK);
	assert_int_equal(conf_build(conf, NULL), KNOT_OK);
	return conf;
}

/** An edit that must be right; NULL: the edit has no such part. */
static inline void set_in(conf_txn_t *txn, const char *section, const char *id, const char *item, const char *data)
{
	messages_t messages;
	const conf_edit_t edit = { section, id, item, data };
	if (conf_txn_set(txn, &edit, messages_sink(&messages)) != KNOT_OK) {
		fail_msg("%s", messages.text);
	}
}

/** Zones PREFIX0.test to PREFIX(count - 1).test. file: of each; NULL: none is set. */
static inline void set_zones_in(conf_txn_t *txn, unsigned count, const char *prefix, const char *file)
{
	for (unsigned i = 0; i < count; i++) {
		char id[64];
		(void)snprintf(id, sizeof(id), "%s%u.test", prefix, i);
		set_in(txn, "zone", id, NULL, NULL);
		if (file != NULL) {
			set_in(txn, "zone", id, "file", file);
		}
	}
}

/** CPU time of the process in seconds. */
static inline double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
