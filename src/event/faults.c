/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/faults.h"

#include <assert.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	knot_name_t name;    /* of `wire` */
	fault_facts_t facts; /* the reason is behind the name in `wire` */
	uint8_t wire[];
} fault_t;

static int fault_compare_names(const void *va, const void *vb)
{
	const fault_t *a = va, *b = vb;
	return knot_name_cmp(a->name, b->name);
}

static fault_t *fault_find_node(const faults_t *faults, knot_name_t name)
{
	const fault_t wanted = { .name = name };
	fault_t **found = tfind(&wanted, &faults->map, fault_compare_names);
	return found != NULL ? *found : NULL;
}

static fault_t *fault_new_node(knot_name_t name, const char *reason)
{
	size_t size = strlen(reason) + 1;
	fault_t *fault = malloc(sizeof(*fault) + name.len + size);
	if (fault != NULL) {
		memcpy(fault->wire, name.wire, name.len);
		memcpy(fault->wire + name.len, reason, size);
		fault->name = knot_name_of(fault->wire);
		fault->facts.reason = (const char *)fault->wire + name.len;
	}
	return fault;
}

void faults_put(faults_t *faults, knot_name_t name, knot_err_t err, const char *reason, uint64_t now_s)
{
	assert(strlen(reason) < FAULT_REASON_MAX);
	const fault_facts_t *kept = faults_find(faults, name);
	if (kept != NULL && kept->err == err && strcmp(kept->reason, reason) == 0) {
		return;
	}
	faults_drop(faults, name);
	fault_t *fault = faults->count < FAULTS_MAX ? fault_new_node(name, reason) : NULL;
	if (fault == NULL) {
		return;
	}
	fault->facts.err = err;
	fault->facts.since_s = now_s;
	if (tsearch(fault, &faults->map, fault_compare_names) == NULL) {
		free(fault);
		return;
	}
	faults->count++;
}

void faults_drop(faults_t *faults, knot_name_t name)
{
	fault_t *fault = faults->count > 0 ? fault_find_node(faults, name) : NULL;
	if (fault != NULL) {
		(void)tdelete(fault, &faults->map, fault_compare_names);
		free(fault);
		faults->count--;
	}
}

const fault_facts_t *faults_find(const faults_t *faults, knot_name_t name)
{
	const fault_t *fault = faults->count > 0 ? fault_find_node(faults, name) : NULL;
	return fault != NULL ? &fault->facts : NULL;
}

void faults_free(faults_t *faults)
{
	while (faults->map != NULL) {
		fault_t *fault = *(fault_t **)faults->map;
		(void)tdelete(fault, &faults->map, fault_compare_names);
		free(fault);
	}
	faults->count = 0;
}

/* ---- Lines of the log ---- */

/* Skip the part that names the component, which doesn't say what is wrong. */
static const char *fault_skip_prefix(const char *line)
{
	static const char *const prefixes[] = {
		"zone loader, error in zone, ",
		"zone loader, failed to load zone, ",
		"zone loader, ",
		"check, ",
		"config, ",
		"control, ",
	};
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (strncmp(line, prefixes[i], strlen(prefixes[i])) == 0) {
			return line + strlen(prefixes[i]);
		}
	}
	return line;
}

/* The place of the " (" of a final part in parentheses; the end of the line if there is none. */
static size_t fault_find_detail(const char *line)
{
	size_t len = strlen(line), depth = 0;
	if (len == 0 || line[len - 1] != ')') {
		return len;
	}
	for (size_t i = len; i-- > 1;) {
		depth += line[i] == ')';
		depth -= line[i] == '(';
		if (depth == 0) {
			return line[i - 1] == ' ' ? i - 1 : len;
		}
	}
	return len;
}

void fault_reason_print(const char *line, knot_err_t err, char ret_reason[static FAULT_REASON_MAX])
{
	line = fault_skip_prefix(line);
	size_t len = strlen(line), head = fault_find_detail(line);
	size_t detail_len = head < len ? len - head - 3 : 0;
	const char *detail = line + head + 2, *text = knot_strerror(err);
	bool says_more = head < len && !(detail_len == strlen(text) && strncmp(detail, text, detail_len) == 0);
	snprintf(ret_reason, FAULT_REASON_MAX, "%.*s%s%.*s", (int)head, line, says_more ? ", " : "",
			says_more ? (int)detail_len : 0, says_more ? detail : "");
}
